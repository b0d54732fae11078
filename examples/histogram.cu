// Counts of 256 byte values. A block counts into bins of its own in shared memory with atomics, then adds them to the
// result. Which bins collide depends on the data: no static tool can know, and flipflop says so.
#define BINS 256

extern "C" __global__ void histogram(const unsigned char *data, unsigned int *counts, int n)
{
    __shared__ unsigned int bins[BINS];
    for (int i = threadIdx.x; i < BINS; i += blockDim.x)
        bins[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&bins[data[i]], 1u);
    __syncthreads();
    for (int i = threadIdx.x; i < BINS; i += blockDim.x)
        atomicAdd(&counts[i], bins[i]);
}
