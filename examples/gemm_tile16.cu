// C = A*B, row-major, the textbook kernel: tiles of 16x16 and a block that must be 16x16 too. Nothing in the code says
// so; another block shape computes something else, which is what the verdict `safe` is for.
// m, n and k are multiples of 16.
#define TILE 16

extern "C" __global__ void gemm_tile16(const float *a, const float *b, float *c, int m, int n, int k)
{
    __shared__ float tile_a[TILE][TILE];
    __shared__ float tile_b[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y;
    int col = blockIdx.x * TILE + threadIdx.x;

    float sum = 0.0f;
    for (int k0 = 0; k0 < k; k0 += TILE) {
        tile_a[threadIdx.y][threadIdx.x] = a[row * k + k0 + threadIdx.x];
        tile_b[threadIdx.y][threadIdx.x] = b[(k0 + threadIdx.y) * n + col];
        __syncthreads();
        for (int d = 0; d < TILE; ++d)
            sum += tile_a[threadIdx.y][d] * tile_b[d][threadIdx.x];
        __syncthreads();
    }
    c[row * n + col] = sum;
}
