// Accelerations of n bodies on each other. A block brings blockDim.x bodies at a time into shared memory and every thread
// reads them all, in step: one broadcast for 32 lanes. Bound by arithmetic; the block's size is the slab's.
extern "C" __global__ void nbody(const float4 *body, float4 *acceleration, int n, float softening)
{
    extern __shared__ float4 slab[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 own = i < n ? body[i] : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    float ax = 0.0f, ay = 0.0f, az = 0.0f;
    for (int first = 0; first < n; first += blockDim.x) {
        int j = first + threadIdx.x;
        slab[threadIdx.x] = j < n ? body[j] : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        __syncthreads();
#pragma unroll 8
        for (int k = 0; k < (int)blockDim.x; ++k) {
            float4 other = slab[k];
            float dx = other.x - own.x, dy = other.y - own.y, dz = other.z - own.z;
            float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + softening);
            float pull = other.w * inverse * inverse * inverse;
            ax += dx * pull;
            ay += dy * pull;
            az += dz * pull;
        }
        __syncthreads();
    }
    if (i < n)
        acceleration[i] = make_float4(ax, ay, az, 0.0f);
}
