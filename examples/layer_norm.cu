// Layer norm of each row of a rows x columns matrix. A warp takes a row: its sums go through shuffles, no shared memory and
// no barrier, so that the block's size is free in steps of 32 and only says how many rows a block takes.
__device__ __forceinline__ float sum_of_warp(float own)
{
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2)
        own += __shfl_xor_sync(0xffffffffu, own, distance);
    return own;
}

extern "C" __global__ void layer_norm(const float *in, const float *gain, const float *bias, float *out, int rows, int columns,
                                      float epsilon)
{
    int lane = threadIdx.x % 32;
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (row >= rows)
        return;
    const float *x = in + (size_t)row * columns;
    float *y = out + (size_t)row * columns;

    float sum = 0.0f;
    for (int i = lane; i < columns; i += 32)
        sum += x[i];
    float mean = sum_of_warp(sum) / columns;

    float squares = 0.0f;
    for (int i = lane; i < columns; i += 32)
        squares += (x[i] - mean) * (x[i] - mean);
    float scale = rsqrtf(sum_of_warp(squares) / columns + epsilon);

    for (int i = lane; i < columns; i += 32)
        y[i] = (x[i] - mean) * scale * gain[i] + bias[i];
}
