// sum += all n elements of x. Threads step over the array with the grid, a block folds its threads' sums in shared
// memory (any block size, powers of two or not), one atomic addition a block.
// Dynamic shared memory: blockDim.x floats.
extern "C" __global__ void reduction(const float *x, float *sum, int n)
{
    extern __shared__ float partial[];
    float own = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        own += x[i];
    partial[threadIdx.x] = own;
    __syncthreads();
    for (int count = blockDim.x; count > 1;) {
        int half = (count + 1) / 2;
        if ((int)threadIdx.x < count - half)
            partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
        count = half;
    }
    if (threadIdx.x == 0)
        atomicAdd(sum, partial[0]);
}
