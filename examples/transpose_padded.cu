// out = transpose(in), through a tile in shared memory whose rows are one word longer than the tile, so that a column
// lies in 32 different banks. The tile is 32x32 whatever the block is: threads step over it, any block shape is right.
// Grid: one block a tile. Fewer than 2^31 elements.
#define TILE 32

extern "C" __global__ void transpose_padded(const float *in, float *out, int width, int height)
{
    __shared__ float tile[TILE][TILE + 1];
    int x0 = blockIdx.x * TILE;
    int y0 = blockIdx.y * TILE;

    for (int i = threadIdx.x; i < TILE; i += blockDim.x)
        for (int j = threadIdx.y; j < TILE; j += blockDim.y)
            if (x0 + i < width && y0 + j < height)
                tile[j][i] = in[(y0 + j) * width + x0 + i];
    __syncthreads();
    for (int i = threadIdx.x; i < TILE; i += blockDim.x)
        for (int j = threadIdx.y; j < TILE; j += blockDim.y)
            if (y0 + i < height && x0 + j < width)
                out[(x0 + j) * height + y0 + i] = tile[i][j];
}
