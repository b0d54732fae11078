// Barriers that count threads, and barriers that some threads miss.

// The first 128 threads exchange neighbours behind a barrier of their own, the others read directly.
extern "C" __global__ void named_128(float *out, const float *in)
{
    __shared__ float s[128];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    if (t < 128) {
        s[t] = in[i];
        asm volatile("bar.sync 1, 128;" ::: "memory");
        out[i] = s[t ^ 1];
    } else {
        out[i] = in[i ^ 1];
    }
}

// A thread without an element leaves before the barrier.
extern "C" __global__ void early_return(float *out, const float *in, int n)
{
    __shared__ float s[1024];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    s[threadIdx.x] = in[i];
    __syncthreads();
    out[i] = s[threadIdx.x ^ 1];
}

// Warps exchange within themselves, but the barrier is left out for blocks of one warp.
extern "C" __global__ void no_barrier(float *out, const float *in)
{
    __shared__ float s[1024];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    s[threadIdx.x] = in[i];
    if (blockDim.x <= 64) __syncthreads();
    out[i] = s[threadIdx.x ^ 32];
}
