// C = A*B, row-major. A block computes blockDim.x * blockDim.y elements of C and brings slabs of A and B, DEPTH deep,
// into dynamic shared memory: DEPTH * (blockDim.x + blockDim.y) floats. All loops step by the block's size, so that
// every block shape is right and only speed differs.
#define DEPTH 16

extern "C" __global__ void gemm_tiled(const float *a, const float *b, float *c, int m, int n, int k)
{
    extern __shared__ float slabs[];
    float *slab_a = slabs;                          // blockDim.y rows of DEPTH
    float *slab_b = slabs + blockDim.y * DEPTH;     // DEPTH rows of blockDim.x
    int tid = threadIdx.y * blockDim.x + threadIdx.x;
    int threads = blockDim.x * blockDim.y;
    int row0 = blockIdx.y * blockDim.y;
    int col0 = blockIdx.x * blockDim.x;
    int row = row0 + threadIdx.y;
    int col = col0 + threadIdx.x;

    float sum = 0.0f;
    for (int k0 = 0; k0 < k; k0 += DEPTH) {
        for (int i = tid; i < (int)blockDim.y * DEPTH; i += threads) {
            int r = i / DEPTH, d = i % DEPTH;
            slab_a[i] = (row0 + r < m && k0 + d < k) ? a[(size_t)(row0 + r) * k + k0 + d] : 0.0f;
        }
        for (int d = threadIdx.y; d < DEPTH; d += blockDim.y)
            slab_b[d * blockDim.x + threadIdx.x] = (k0 + d < k && col < n) ? b[(size_t)(k0 + d) * n + col] : 0.0f;
        __syncthreads();
#pragma unroll
        for (int d = 0; d < DEPTH; ++d)
            sum += slab_a[threadIdx.y * DEPTH + d] * slab_b[d * blockDim.x + threadIdx.x];
        __syncthreads();
    }
    if (row < m && col < n)
        c[(size_t)row * n + col] = sum;
}
