// Dimensions, parameters, loops and local arrays.

extern "C" __global__ void one_dimension(float *out, const float *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i] + 1.0f;
}

extern "C" __global__ void two_dimensions(float *out, const float *in, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) out[y * width + x] = in[x * height + y];
}

// A row for each block's y: threads of another y do the same again.
extern "C" __global__ void ignores_y(float *out, const float *in, int width)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x < width) out[blockIdx.y * width + x] = in[blockIdx.y * width + x] * 2.0f;
}

struct Work { float *out; const float *in; int n; float scale; };
extern "C" __global__ void struct_parameter(Work w)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < w.n) w.out[i] = w.in[i] * w.scale;
}

extern "C" __global__ void grid_stride(float *out, const float *in, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) out[i] = in[n - 1 - i];
}

// Every thread a piece of the same length: how many threads there are decides where pieces begin and end.
extern "C" __global__ void pieces(float *out, const float *in, int n)
{
    int threads = gridDim.x * blockDim.x, each = n / threads, first = (blockIdx.x * blockDim.x + threadIdx.x) * each;
    for (int i = first; i < first + each; ++i) out[i] = in[i] * 3.0f;
}

extern "C" __global__ void local_array(float *out, const float *in, const int shift)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v[8];
    for (int k = 0; k < 8; ++k) v[k] = in[i * 8 + k];
    for (int k = 0; k < 8; ++k) out[i * 8 + k] = v[(k + shift) % 8];
}

// What is stored depends on the block's size by a factor.
extern "C" __global__ void scaled_by_block(float *out, const float *in)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i] * (float)blockDim.x;
}

// ... by a factor that is the same for all launches of as many threads.
extern "C" __global__ void scaled_by_threads(float *out, const float *in)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i] * (float)(blockDim.x * gridDim.x);
}

// ... by the element's place in the block.
extern "C" __global__ void scaled_by_place(float *out, const float *in)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i] * (float)threadIdx.x;
}

// ... by the element's place in the array.
extern "C" __global__ void scaled_by_index(int *out, const int *in)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i] * (i + 1);
}

// Four elements a thread, the tail one by one.
extern "C" __global__ void vector_tail(float *out, const float *in, int n)
{
    int i = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    if (i + 3 < n) {
        float4 v = *(const float4 *)(in + i);
        v.x += 1.0f; v.y += 1.0f; v.z += 1.0f; v.w += 1.0f;
        *(float4 *)(out + i) = v;
    } else {
        for (; i < n; ++i) out[i] = in[i] + 1.0f;
    }
}
