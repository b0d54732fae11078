// Textbook kernels over unsigned integers and floats: matrix products, matrix times vector, histogram, one-dimensional convolution.
#define MASK 5
__constant__ float mask[MASK];

extern "C" __global__ void mat_mul_simple(const unsigned* a, const unsigned* b, unsigned* c, unsigned rows, unsigned inner, unsigned columns) {
    const unsigned row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows || column >= columns) return;
    unsigned sum = 0;
    for (unsigned k = 0; k < inner; ++k) sum += a[row * inner + k] * b[k * columns + column];
    c[row * columns + column] = sum;
}

#ifdef TILE
extern "C" __global__ void mat_mul_tiles(const unsigned* a, const unsigned* b, unsigned* c, unsigned rows, unsigned inner, unsigned columns) {
    __shared__ unsigned left[TILE][TILE], right[TILE][TILE];
    const unsigned row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
    unsigned sum = 0;
    for (unsigned k = 0; k < inner; k += TILE) {
        left[threadIdx.y][threadIdx.x] = row < rows && k + threadIdx.x < inner ? a[row * inner + k + threadIdx.x] : 0;
        right[threadIdx.y][threadIdx.x] = column < columns && k + threadIdx.y < inner ? b[(k + threadIdx.y) * columns + column] : 0;
        __syncthreads();
        for (unsigned i = 0; i < TILE; ++i) sum += left[threadIdx.y][i] * right[i][threadIdx.x];
        __syncthreads();
    }
    if (row < rows && column < columns) c[row * columns + column] = sum;
}
#endif

extern "C" __global__ void mat_vec_simple(const unsigned* a, const unsigned* x, unsigned* y, unsigned rows, unsigned columns) {
    const unsigned row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    unsigned sum = 0;
    for (unsigned k = 0; k < columns; ++k) sum += a[row * columns + k] * x[k];
    y[row] = sum;
}

extern "C" __global__ void histogram_global(const unsigned* items, unsigned* bins, unsigned count, unsigned bin_count) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count && items[i] < bin_count) atomicAdd(&bins[items[i]], 1);
}

extern "C" __global__ void convolution_tiled(const float* input, float* output, unsigned count) {
    extern __shared__ float tile[];
    const int i = blockIdx.x * blockDim.x + threadIdx.x, halo = MASK / 2;
    const int left = (int)(blockIdx.x - 1) * blockDim.x + threadIdx.x;
    if (threadIdx.x >= blockDim.x - halo) tile[threadIdx.x - (blockDim.x - halo)] = left < 0 ? 0.0f : input[left];
    tile[halo + threadIdx.x] = i < count ? input[i] : 0.0f;
    const int right = (int)(blockIdx.x + 1) * blockDim.x + threadIdx.x;
    if (threadIdx.x < halo) tile[halo + blockDim.x + threadIdx.x] = right >= (int)count ? 0.0f : input[right];
    __syncthreads();
    float sum = 0.0f;
    for (int j = 0; j < MASK; ++j) sum += tile[threadIdx.x + j] * mask[j];
    if (i < count) output[i] = sum;
}
