// Reductions of a block.

extern "C" __global__ void tree_halving(float *out, const float *in)
{
    __shared__ float s[1024];
    int t = threadIdx.x;
    s[t] = in[blockIdx.x * blockDim.x + t];
    __syncthreads();
    for (int k = blockDim.x / 2; k > 0; k /= 2) {
        if (t < k) s[t] += s[t + k];
        __syncthreads();
    }
    if (t == 0) atomicAdd(out, s[0]);
}

// Halves are rounded up: right for any block.
extern "C" __global__ void tree_any(float *out, const float *in)
{
    __shared__ float s[1024];
    int t = threadIdx.x;
    s[t] = in[blockIdx.x * blockDim.x + t];
    __syncthreads();
    for (int n = blockDim.x; n > 1;) {
        int half = (n + 1) / 2;
        if (t < n / 2) s[t] += s[t + half];
        n = half;
        __syncthreads();
    }
    if (t == 0) atomicAdd(out, s[0]);
}

// A row a block; the largest of it. Where the count is odd the middle one is met twice, which a maximum does not mind.
extern "C" __global__ void max_twice(float *out, const float *in, int width)
{
    __shared__ float s[1024];
    int t = threadIdx.x;
    float v = in[blockIdx.x * width + t % width];
    for (int i = t; i < width; i += blockDim.x) v = fmaxf(v, in[blockIdx.x * width + i]);
    s[t] = v;
    __syncthreads();
    for (int n = blockDim.x; n > 1;) {
        int half = (n + 1) / 2;
        float w = t < half ? s[min(t + half, n - 1)] : 0.0f;
        __syncthreads();
        if (t < half) s[t] = fmaxf(s[t], w);
        n = half;
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = s[0];
}

// The largest of a row, but the last step takes the first eight warps for all.
extern "C" __global__ void max_eight_warps(float *out, const float *in, int width)
{
    __shared__ float s[32];
    int t = threadIdx.x;
    float v = in[blockIdx.x * width + t % width];
    for (int i = t; i < width; i += blockDim.x) v = fmaxf(v, in[blockIdx.x * width + i]);
    for (int d = 16; d > 0; d >>= 1) v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, d));
    if (t % 32 == 0) s[t / 32] = v;
    __syncthreads();
    if (t == 0) {
        for (int w = 1; w < 8; ++w) v = fmaxf(v, s[w]);
        out[blockIdx.x] = v;
    }
}

// Mean of a row by running means (Welford), joined in a tree.
extern "C" __global__ void welford(float *out, const float *in, int width)
{
    __shared__ float mean[1024], count[1024];
    int t = threadIdx.x;
    float m = 0.0f, c = 0.0f;
    for (int i = t; i < width; i += blockDim.x) {
        c += 1.0f;
        m += (in[blockIdx.x * width + i] - m) / c;
    }
    mean[t] = m;
    count[t] = c;
    __syncthreads();
    for (int n = blockDim.x; n > 1;) {
        int half = (n + 1) / 2;
        if (t < n / 2) {
            float ca = count[t], cb = count[t + half], all = ca + cb;
            float d = mean[t + half] - mean[t];
            if (all > 0.0f) mean[t] += d * cb / all;
            count[t] = all;
        }
        n = half;
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = mean[0];
}

// Compensated sums (Kahan) of a row's elements, one thread after the other added at the end.
extern "C" __global__ void kahan(float *out, const float *in, int width)
{
    __shared__ float s[1024];
    int t = threadIdx.x;
    float sum = 0.0f, lost = 0.0f;
    for (int i = t; i < width; i += blockDim.x) {
        float y = in[blockIdx.x * width + i] - lost, u = sum + y;
        lost = (u - sum) - y;
        sum = u;
    }
    s[t] = sum;
    __syncthreads();
    if (t == 0) {
        float all = 0.0f;
        for (int k = 0; k < blockDim.x; ++k) all += s[k];
        out[blockIdx.x] = all;
    }
}

// Where the largest of a row stands; the first of equals.
extern "C" __global__ void arg_max(int *out, const float *in, int width)
{
    __shared__ float s[1024];
    __shared__ int where[1024];
    int t = threadIdx.x;
    float best = -1e30f;
    int at = 0;
    for (int i = t; i < width; i += blockDim.x) {
        float v = in[blockIdx.x * width + i];
        if (v > best) { best = v; at = i; }
    }
    s[t] = best;
    where[t] = at;
    __syncthreads();
    for (int n = blockDim.x; n > 1;) {
        int half = (n + 1) / 2;
        if (t < n / 2) {
            float a = s[t], b = s[t + half];
            int wa = where[t], wb = where[t + half];
            bool other = b > a || (b == a && wb < wa);
            s[t] = other ? b : a;
            where[t] = other ? wb : wa;
        }
        n = half;
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = where[0];
}

// The same with the thread's number instead of the element's.
extern "C" __global__ void arg_max_thread(int *out, const float *in)
{
    int t = threadIdx.x;
    float v = in[blockIdx.x * blockDim.x + t], w = __shfl_xor_sync(0xffffffffu, v, 1);
    int other = t ^ 1;
    if (t % 2 == 0) out[(blockIdx.x * blockDim.x + t) / 2] = w > v ? other : t;
}

// Softmax denominators in one pass: a running maximum and a sum that is rescaled.
extern "C" __global__ void online_softmax(float *out, const float *in, int width)
{
    __shared__ float top[1024], sum[1024];
    int t = threadIdx.x;
    float m = -1e30f, d = 0.0f;
    for (int i = t; i < width; i += blockDim.x) {
        float v = in[blockIdx.x * width + i], n = fmaxf(m, v);
        d = d * exp2f(m - n) + exp2f(v - n);
        m = n;
    }
    top[t] = m;
    sum[t] = d;
    __syncthreads();
    for (int n = blockDim.x; n > 1;) {
        int half = (n + 1) / 2;
        if (t < n / 2) {
            float a = top[t], b = top[t + half], both = fmaxf(a, b);
            sum[t] = sum[t] * exp2f(a - both) + sum[t + half] * exp2f(b - both);
            top[t] = both;
        }
        n = half;
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = sum[0];
}
