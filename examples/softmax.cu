// Softmax of each row of a rows x columns matrix. A block takes a row at a time and steps over the rows with the grid;
// its threads step over the columns. Right for every block size. Dynamic shared memory: blockDim.x floats.
template <bool Largest>
__device__ __forceinline__ float reduce_block(float *partial, float own)
{
    partial[threadIdx.x] = own;
    __syncthreads();
    for (int count = blockDim.x; count > 1;) {
        int half = (count + 1) / 2;
        if ((int)threadIdx.x < count - half) {
            float other = partial[threadIdx.x + half];
            partial[threadIdx.x] = Largest ? fmaxf(partial[threadIdx.x], other) : partial[threadIdx.x] + other;
        }
        __syncthreads();
        count = half;
    }
    float result = partial[0];
    __syncthreads();
    return result;
}

extern "C" __global__ void softmax(const float *in, float *out, int rows, int columns)
{
    extern __shared__ float partial[];
    for (int row = blockIdx.x; row < rows; row += gridDim.x) {
        const float *x = in + (size_t)row * columns;
        float *y = out + (size_t)row * columns;

        float largest = -3.402823466e38f;
        for (int i = threadIdx.x; i < columns; i += blockDim.x)
            largest = fmaxf(largest, x[i]);
        largest = reduce_block<true>(partial, largest);

        float sum = 0.0f;
        for (int i = threadIdx.x; i < columns; i += blockDim.x)
            sum += __expf(x[i] - largest);
        sum = reduce_block<false>(partial, sum);

        float scale = 1.0f / sum;
        for (int i = threadIdx.x; i < columns; i += blockDim.x)
            y[i] = __expf(x[i] - largest) * scale;
    }
}
