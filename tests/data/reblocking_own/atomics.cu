// Atomic operations, histograms, and kernels whose blocks wait for each other.

extern "C" __global__ void atomic_spread(float *out, const float *in, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&out[i % 1000], in[i]);
}

// 64 counters of the block's own, cleared and added by as many threads as there are.
extern "C" __global__ void private_bins(unsigned *out, const unsigned *in, int n)
{
    __shared__ unsigned bins[64];
    for (int b = threadIdx.x; b < 64; b += blockDim.x) bins[b] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&bins[i % 64], in[i]);
    __syncthreads();
    for (int b = threadIdx.x; b < 64; b += blockDim.x) atomicAdd(&out[b], bins[b]);
}

// The first 64 threads do it: a block of 32 leaves half of the counters as they were.
extern "C" __global__ void first_64_bins(unsigned *out, const unsigned *in, int n)
{
    __shared__ unsigned bins[64];
    if (threadIdx.x < 64) bins[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&bins[i % 64], in[i]);
    __syncthreads();
    if (threadIdx.x < 64) atomicAdd(&out[threadIdx.x], bins[threadIdx.x]);
}

// Who comes first gets the first place.
extern "C" __global__ void ticket(float *out, const float *in, unsigned *counter)
{
    unsigned place = atomicAdd(counter, 1u);
    out[place] = in[blockIdx.x * blockDim.x + threadIdx.x];
}

// What an atomic returned is stored: it depends on order.
extern "C" __global__ void returned(unsigned *out, unsigned *counter)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = atomicAdd(&counter[i % 16], 1u);
}

// Blocks meet at a counter, then read what others wrote.
extern "C" __global__ void grid_barrier(float *out, float *middle, const float *in, volatile unsigned *arrived, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    middle[i] = in[i] * 2.0f;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd((unsigned *)arrived, 1u);
        while (*arrived < gridDim.x) { }
    }
    __syncthreads();
    out[i] = middle[n - 1 - i];
}

// The last block to finish adds what the blocks left.
extern "C" __global__ void last_block(float *out, float *partial, const float *in, unsigned *done)
{
    __shared__ float s[1024];
    __shared__ bool last;
    int t = threadIdx.x;
    s[t] = in[blockIdx.x * blockDim.x + t];
    __syncthreads();
    for (int k = blockDim.x / 2; k > 0; k /= 2) {
        if (t < k) s[t] += s[t + k];
        __syncthreads();
    }
    if (t == 0) {
        partial[blockIdx.x] = s[0];
        __threadfence();
        last = atomicAdd(done, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && t == 0) {
        float all = 0.0f;
        for (int b = 0; b < gridDim.x; ++b) all += partial[b];
        *out = all;
    }
}
