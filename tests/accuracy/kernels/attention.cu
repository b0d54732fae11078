// One query a sequence and head against `steps` keys and values, single precision: block b is head b % heads of batch b / heads.
// As measured by others: only threadIdx.x is used, so block.y > 1 repeats the work, and the reductions are over 256 threads.
#define REDUCE_THREADS 256
#define WARPS (REDUCE_THREADS / 32)

struct Sum { __device__ float operator()(float a, float b) const { return a + b; } };
struct Max { __device__ float operator()(float a, float b) const { return a > b ? a : b; } };

template <typename Operation> __device__ float block_reduce(float value, float* slots, Operation apply) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
        const float other = __shfl_down_sync(0xffffffffu, value, step);
        if (lane + step < 32) value = apply(value, other);
    }
    if (lane == 0) slots[warp] = value;
    __syncthreads();
    if (threadIdx.x == 0) {
#pragma unroll
        for (int i = 1; i < WARPS; ++i) value = apply(value, slots[i]);
    }
    return value;
}

extern "C" __global__ void attention(const float* q, const float* k, const float* v, int batch, int steps, int width_q, int width_k, int heads,
                                     float scale, int clip, float* out) {
    extern __shared__ float dynamic[];
    const int dim = width_q / heads;
    float* query = dynamic;
    float* logits = dynamic + dim;
    const int candidate = blockIdx.x / heads, head = blockIdx.x % heads, tx = threadIdx.x;
    if (tx < dim) query[tx] = q[candidate * width_q + head * dim + tx];
    __syncthreads();
    float score = -1e20f;
    if (tx < steps) {
        const float* key = k + candidate * width_k * steps + tx * width_k + head * dim;
        float sum = 0.0f;
        for (int i = 0; i < dim; ++i) sum += query[i] * key[i];
        score = sum * scale;
    }
    __shared__ float slots[WARPS];
    __shared__ float largest, total;
    const float top = block_reduce(score, slots, Max());
    if (tx == 0) largest = top;
    __syncthreads();
    float shifted = score - largest;
    if (shifted < -clip) shifted = -clip;
    const float weight = tx < steps ? expf(shifted) : 0.0f;
    const float all = block_reduce(weight, slots, Sum());
    if (tx == 0) total = all;
    __syncthreads();
    if (tx < steps) logits[tx] = weight / total;
    __syncthreads();
    if (tx < dim) {
        float sum = 0.0f;
        for (int t = 0; t < steps; ++t) sum += logits[t] * v[candidate * width_k * steps + t * width_k + head * dim + tx];
        out[candidate * width_q + head * dim + tx] = sum;
    }
}
