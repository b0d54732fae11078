// Sums of squared distances between one query and each row of a matrix of rows x columns. A block takes a row at a time
// and streams it through a ring of STAGES slabs of blockDim.x * 4 floats in dynamic shared memory: while one slab is worked
// on, the next three are on their way (cp.async). columns is a multiple of 4.
#define STAGES 4

extern "C" __global__ void pipeline(const float *matrix, const float *query, float *distance, int rows, int columns)
{
    extern __shared__ __align__(16) float ring[];
    int slab = blockDim.x * 4;
    int slabs = (columns + slab - 1) / slab;
    int own = threadIdx.x * 4;

    for (int row = blockIdx.x; row < rows; row += gridDim.x) {
        const float *from = matrix + (size_t)row * columns;
        auto fetch = [&](int s) {
            int at = s * slab + own;
            if (s < slabs && at < columns) {
                unsigned to = (unsigned)__cvta_generic_to_shared(&ring[s % STAGES * slab + own]);
                asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from + at));
            }
            asm volatile("cp.async.commit_group;");
        };
        for (int s = 0; s < STAGES - 1; ++s)
            fetch(s);
        float sum = 0.0f;
        for (int s = 0; s < slabs; ++s) {
            asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2));
            fetch(s + STAGES - 1);
            // Each thread reads what it fetched itself: no barrier is needed between the copy and its use.
            int at = s * slab + own;
            if (at < columns) {
                float4 v = *(const float4 *)&ring[s % STAGES * slab + own];
                float4 q = *(const float4 *)&query[at];
                sum += (v.x - q.x) * (v.x - q.x) + (v.y - q.y) * (v.y - q.y) + (v.z - q.z) * (v.z - q.z) + (v.w - q.w) * (v.w - q.w);
            }
        }
        for (int apart = 16; apart > 0; apart /= 2)
            sum += __shfl_xor_sync(0xffffffffu, sum, apart);
        if (threadIdx.x % 32 == 0)
            atomicAdd(&distance[row], sum);
    }
}
