// 2-D convolution of an image with a 15x15 filter in constant memory, one output a thread. The input has a border of
// 7 on each side: it is (width + 14) x (height + 14).
#define FILTER 15

__constant__ float weights[FILTER * FILTER];

extern "C" __global__ void convolution(const float *in, float *out, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    int pitch = width + FILTER - 1;
    float sum = 0.0f;
    for (int j = 0; j < FILTER; ++j)
#pragma unroll
        for (int i = 0; i < FILTER; ++i)
            sum += weights[j * FILTER + i] * in[(size_t)(y + j) * pitch + x + i];
    out[(size_t)y * width + x] = sum;
}
