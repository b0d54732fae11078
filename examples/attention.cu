// Multi-head attention, forward: out = softmax(Q K^T / sqrt(d)) V for each head, in 32-bit floats.
// Q, K, V and out are [heads][length][dim]. blockIdx.y is the head; a block takes blockDim.y queries at a time and
// steps over all of them with the grid; the blockDim.x threads of a query step over the keys, then over the head's
// dimension. Reductions work for any blockDim.x, powers of two or not; barriers are met by every thread of the block.
// So every block shape and every grid computes the same, up to the order of additions.
// Dynamic shared memory: blockDim.y * (length + blockDim.x) floats.

// The sum (or the largest) of the `count` values of one query's row, left in values[0]. All threads of the block call it.
template <bool Largest>
__device__ __forceinline__ float reduce_row(float *values, int count, int lane)
{
    __syncthreads();
    for (int n = count; n > 1;) {
        int half = (n + 1) / 2;
        if (lane < n - half)
            values[lane] = Largest ? fmaxf(values[lane], values[lane + half]) : values[lane] + values[lane + half];
        __syncthreads();
        n = half;
    }
    float result = values[0];
    __syncthreads();
    return result;
}

extern "C" __global__ void attention(const float *q, const float *k, const float *v, float *out, int length, int dim,
                                     float scale)
{
    extern __shared__ float shared[];
    int lane = threadIdx.x;
    int lanes = blockDim.x;
    float *scores = shared + threadIdx.y * length;                             // of this query, one a key
    float *partial = shared + blockDim.y * length + threadIdx.y * blockDim.x;  // of this query, one a thread
    size_t head = (size_t)blockIdx.y * length * dim;

    for (int first = blockIdx.x * blockDim.y; first < length; first += gridDim.x * blockDim.y) {
        int query = first + threadIdx.y;
        bool live = query < length;
        const float *row = q + head + (size_t)query * dim;

        float largest = -3.402823466e38f;
        if (live)
            for (int key = lane; key < length; key += lanes) {
                float dot = 0.0f;
                for (int d = 0; d < dim; ++d)
                    dot += row[d] * k[head + (size_t)key * dim + d];
                scores[key] = dot * scale;
                largest = fmaxf(largest, dot * scale);
            }
        partial[lane] = largest;
        largest = reduce_row<true>(partial, lanes, lane);

        float sum = 0.0f;
        if (live)
            for (int key = lane; key < length; key += lanes) {
                float weight = __expf(scores[key] - largest);
                scores[key] = weight;
                sum += weight;
            }
        partial[lane] = sum;
        sum = reduce_row<false>(partial, lanes, lane);

        if (live)
            for (int d = lane; d < dim; d += lanes) {
                float result = 0.0f;
                for (int key = 0; key < length; ++key)
                    result += scores[key] * v[head + (size_t)key * dim + d];
                out[head + (size_t)query * dim + d] = result / sum;
            }
        __syncthreads();
    }
}
