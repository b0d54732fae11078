// One output a thread, no shared memory; TILE_X and TILE_Y are how far blocks lie apart, which need not be the block's size.
#if PRECISION == 16
#include <cuda_fp16.h>
typedef __half Real;
#define CONSTANT(x) __float2half(x)
#elif PRECISION == 64
typedef double Real;
#define CONSTANT(x) double(x)
#else
typedef float Real;
#define CONSTANT(x) float(x)
#endif

extern "C" __global__ void gemm_naive(int m, int n, int k, const Real* a, const Real* b, Real* c) {
    const int row = blockIdx.y * TILE_Y + threadIdx.y, column = blockIdx.x * TILE_X + threadIdx.x;
    if (row < m && column < n) {
        Real sum = CONSTANT(0);
        for (int i = 0; i < k; ++i) sum += a[row * k + i] * b[i * n + column];
        c[row * n + column] = CONSTANT(2) * sum + CONSTANT(0.5) * c[row * n + column];
    }
}
