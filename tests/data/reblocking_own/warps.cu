// What a kernel takes for granted about its warps.

// Eight results a block, one a warp: a block has eight warps, and nothing says so.
extern "C" __global__ void warp_table(float *out, const float *in)
{
    float v = in[blockIdx.x * blockDim.x + threadIdx.x];
    for (int d = 16; d > 0; d >>= 1) v += __shfl_down_sync(0xffffffffu, v, d);
    if (threadIdx.x % 32 == 0) out[blockIdx.x * 8 + threadIdx.x / 32] = v;
}

// One result a warp, by the number of the warp in the grid.
extern "C" __global__ void warp_results(float *out, const float *in)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = in[i];
    for (int d = 16; d > 0; d >>= 1) v += __shfl_xor_sync(0xffffffffu, v, d);
    if (threadIdx.x % 32 == 0) out[i / 32] = v;
}

// The warp's number chooses a coefficient from a table of eight.
extern "C" __global__ void warp_coefficient(float *out, const float *in, const float *table)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i] * table[threadIdx.x / 32 % 8];
}

// Sums of eight neighbours by shuffles of width 8.
extern "C" __global__ void width_eight(float *out, const float *in)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = in[i];
    for (int d = 4; d > 0; d >>= 1) v += __shfl_down_sync(0xffffffffu, v, d, 8);
    if (i % 8 == 0) out[i / 8] = v;
}

// A scan within sixteen lanes.
extern "C" __global__ void warp_scan(float *out, const float *in)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = in[i];
    for (int d = 1; d < 16; d *= 2) {
        float w = __shfl_up_sync(0xffffffffu, v, d, 16);
        if (threadIdx.x % 16 >= d) v += w;
    }
    out[i] = v;
}

// The member mask is what the block's first warp has.
extern "C" __global__ void mask_of_block(float *out, const float *in)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned mask = blockDim.x >= 32 ? 0xffffffffu : (1u << blockDim.x) - 1;
    float v = in[i];
    v += __shfl_xor_sync(mask, v, 1);
    out[i] = v;
}
