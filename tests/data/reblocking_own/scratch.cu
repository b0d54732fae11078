// Shared memory and its size.

// Rows of 32: a wider block runs from one row into the next.
extern "C" __global__ void rows_of_32(float *out, const float *in, int width)
{
    __shared__ float tile[16][32];
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    tile[threadIdx.y][threadIdx.x] = in[y * width + x];
    __syncthreads();
    out[y * width + x] = tile[threadIdx.y][threadIdx.x ^ 1];
}

// Neighbours exchanged through dynamic shared memory.
extern "C" __global__ void dynamic_swap(float *out, const float *in)
{
    extern __shared__ float s[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    s[threadIdx.x] = in[i];
    __syncthreads();
    out[i] = s[threadIdx.x ^ 1];
}

// Two arrays in dynamic shared memory, the second behind 256 elements of the first.
extern "C" __global__ void dynamic_two(float *out, const float *a, const float *b)
{
    extern __shared__ float s[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    s[threadIdx.x] = a[i];
    s[256 + threadIdx.x] = b[i];
    __syncthreads();
    out[i] = s[threadIdx.x ^ 1] + s[256 + (threadIdx.x ^ 1)];
}

// A transpose whose tile is as wide as the block must be; rows in steps of the block's height.
extern "C" __global__ void transpose_rows(float *out, const float *in, int width, int height)
{
    __shared__ float tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x;
    for (int j = threadIdx.y; j < 32; j += blockDim.y) tile[j][threadIdx.x] = in[(blockIdx.y * 32 + j) * width + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    for (int j = threadIdx.y; j < 32; j += blockDim.y) out[(blockIdx.x * 32 + j) * height + x] = tile[threadIdx.x][j];
}

// Inclusive scan of what a block holds (Hillis and Steele): the result is the block's.
extern "C" __global__ void block_scan(float *out, const float *in)
{
    __shared__ float s[2][1024];
    int t = threadIdx.x, now = 0;
    s[0][t] = in[blockIdx.x * blockDim.x + t];
    __syncthreads();
    for (int d = 1; d < blockDim.x; d *= 2) {
        s[1 - now][t] = t >= d ? s[now][t] + s[now][t - d] : s[now][t];
        now = 1 - now;
        __syncthreads();
    }
    out[blockIdx.x * blockDim.x + t] = s[now][t];
}

// Scan of segments of 64, whatever the block.
extern "C" __global__ void segment_scan(float *out, const float *in)
{
    __shared__ float s[2][1024];
    int t = threadIdx.x, now = 0;
    s[0][t] = in[blockIdx.x * blockDim.x + t];
    __syncthreads();
    for (int d = 1; d < 64; d *= 2) {
        s[1 - now][t] = t % 64 >= d ? s[now][t] + s[now][t - d] : s[now][t];
        now = 1 - now;
        __syncthreads();
    }
    out[blockIdx.x * blockDim.x + t] = s[now][t];
}

// Two buffers in turn: one barrier a step.
extern "C" __global__ void double_buffer(float *out, const float *in, int steps, int n)
{
    __shared__ float s[2][1024];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < steps; ++k) {
        s[k & 1][threadIdx.x] = in[k * n + i];
        __syncthreads();
        out[k * n + i] = s[k & 1][threadIdx.x ^ 3];
    }
}

// Sums of three neighbours with a halo of one element at both ends of the block.
extern "C" __global__ void halo(float *out, const float *in, int n)
{
    __shared__ float s[1026];
    int i = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x + 1;
    s[t] = i < n ? in[i] : 0.0f;
    if (threadIdx.x == 0) s[0] = i > 0 ? in[i - 1] : 0.0f;
    if (threadIdx.x == blockDim.x - 1) s[t + 1] = i + 1 < n ? in[i + 1] : 0.0f;
    __syncthreads();
    if (i < n) out[i] = s[t - 1] + s[t] + s[t + 1];
}
