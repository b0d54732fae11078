// Each row's largest value, with roles for warps (sm_90). Warp 0 produces: it asks the copy engine for slabs of SLAB floats
// (cp.async.bulk) and waits for nothing but an empty slot. Warps 1 to 4 consume what has arrived. Two mbarriers a slot say
// "full" and "empty". The roles are hard-wired: the block is 160 threads and cannot be another. columns is a multiple of SLAB.
#define SLAB 1024
#define SLOTS 3
#define CONSUMERS 128

__device__ __forceinline__ unsigned shared_address(const void *p)
{
    return (unsigned)__cvta_generic_to_shared(p);
}

__device__ __forceinline__ void wait_for(unsigned barrier, unsigned parity)
{
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "again:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@!done bra again;\n"
                 "}" ::"r"(barrier), "r"(parity) : "memory");
}

extern "C" __global__ void __block_size__((160, 1, 1)) warp_roles(const float *matrix, float *largest, int rows, int columns)
{
    __shared__ __align__(128) float slots[SLOTS][SLAB];
    __shared__ __align__(8) unsigned long long full[SLOTS], empty[SLOTS];
    __shared__ float partial[CONSUMERS / 32];
    if (threadIdx.x == 0)
        for (int s = 0; s < SLOTS; ++s) {
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&full[s])));
            asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(&empty[s])), "n"(CONSUMERS));
        }
    asm volatile("fence.mbarrier_init.release.cluster;");
    __syncthreads();

    int slabs = columns / SLAB;
    if (threadIdx.x < 32) {
        if (threadIdx.x == 0) {
            int turn = 0;
            for (int row = blockIdx.x; row < rows; row += gridDim.x)
#pragma unroll 1
                for (int s = 0; s < slabs; ++s, ++turn) {
                    int slot = turn % SLOTS;
                    unsigned barrier = shared_address(&full[slot]);
                    wait_for(shared_address(&empty[slot]), (turn / SLOTS & 1) ^ 1);
                    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "n"(SLAB * 4));
                    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
                                     "r"(shared_address(slots[slot])), "l"(matrix + (size_t)row * columns + s * SLAB), "n"(SLAB * 4),
                                 "r"(barrier) : "memory");
                }
        }
    } else {
        int tid = threadIdx.x - 32, turn = 0;
        for (int row = blockIdx.x; row < rows; row += gridDim.x) {
            float best = -3.402823466e38f;
#pragma unroll 1
            for (int s = 0; s < slabs; ++s, ++turn) {
                int slot = turn % SLOTS;
                wait_for(shared_address(&full[slot]), turn / SLOTS & 1);
                for (int i = tid; i < SLAB; i += CONSUMERS)
                    best = fmaxf(best, slots[slot][i]);
                asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(&empty[slot])) : "memory");
            }
            for (int apart = 16; apart > 0; apart /= 2)
                best = fmaxf(best, __shfl_xor_sync(0xffffffffu, best, apart));
            if (tid % 32 == 0)
                partial[tid / 32] = best;
            asm volatile("bar.sync 1, 128;" ::: "memory");
            if (tid == 0)
                largest[row] = fmaxf(fmaxf(partial[0], partial[1]), fmaxf(partial[2], partial[3]));
            asm volatile("bar.sync 1, 128;" ::: "memory");
        }
    }
}
