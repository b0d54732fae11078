// Inclusive prefix sum in one pass. Each block sums its part, waits for the sum of all before it, and passes the whole on:
// a chain through the grid. The wait is a spin on a flag; how long it takes is no property of the code. Right for every
// multiple of 32. Blocks must start in order; state holds, per block, the running sum and a flag, and is zero at the start.
struct State {
    int sum, ready;
};

extern "C" __global__ void scan_chained(const int *in, int *out, State *state, int n)
{
    __shared__ int of_warp[32];
    __shared__ int before;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    int sum = i < n ? in[i] : 0;
    for (int apart = 1; apart < 32; apart *= 2) {
        int other = __shfl_up_sync(0xffffffffu, sum, apart);
        if (lane >= apart)
            sum += other;
    }
    if (lane == 31)
        of_warp[warp] = sum;
    __syncthreads();
    for (int w = 0; w < warp; ++w)
        sum += of_warp[w];

    if (threadIdx.x == blockDim.x - 1) {
        int carry = 0;
        if (blockIdx.x > 0) {
            int ready;
            do
                asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(ready) : "l"(&state[blockIdx.x - 1].ready) : "memory");
            while (!ready);
            carry = state[blockIdx.x - 1].sum;
        }
        state[blockIdx.x].sum = carry + sum;
        asm volatile("st.release.gpu.global.s32 [%0], 1;" ::"l"(&state[blockIdx.x].ready) : "memory");
        before = carry;
    }
    __syncthreads();
    if (i < n)
        out[i] = before + sum;
}
