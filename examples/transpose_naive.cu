// out = transpose(in). A warp reads one row and writes one column: each lane of the store has a sector to itself.
extern "C" __global__ void transpose_naive(const float *in, float *out, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height)
        out[(size_t)x * height + y] = in[(size_t)y * width + x];
}
