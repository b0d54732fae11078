// A bulk copy that one thread starts and an mbarrier ends: not followed.
#include <cstdint>
extern "C" __global__ void bulk_swap(float *out, const float *in)
{
    __shared__ alignas(128) float s[1024];
    __shared__ alignas(8) uint64_t bar;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned b = (unsigned)__cvta_generic_to_shared(&bar), to = (unsigned)__cvta_generic_to_shared(s);
    if (threadIdx.x == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(b) : "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        unsigned bytes = blockDim.x * 4;
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(b), "r"(bytes) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                     :: "r"(to), "l"(in + blockIdx.x * blockDim.x), "r"(bytes), "r"(b) : "memory");
    }
    asm volatile("{ .reg .pred p; W: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0; @!p bra W; }" :: "r"(b) : "memory");
    out[i] = s[threadIdx.x ^ 1];
}
