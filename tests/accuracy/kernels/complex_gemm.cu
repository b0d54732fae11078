// Complex half-precision GEMM with a single-precision sum on tensor cores: real and imaginary planes apart, operands laid out as
// [M / M_PER_BLOCK][K / 16][2][M_PER_BLOCK][16], a ring of NBUFFER tiles in shared memory filled by asynchronous copies.
#include <mma.h>
using namespace nvcuda;

#define SIZE 4096
#define STEPS (SIZE / 16)
#define WARPS_N block_size_y
#define WARPS_M block_size_z
#define THREADS (32 * WARPS_N * WARPS_M)
#define M_PER_WARP (M_PER_BLOCK / WARPS_M)
#define N_PER_WARP (N_PER_BLOCK / WARPS_N)
#define FRAGMENTS_M (M_PER_WARP / 16)
#define FRAGMENTS_N (N_PER_WARP / 16)

__device__ __forceinline__ void copy16(void* to, const void* from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(from));
}
__device__ __forceinline__ void commit() { asm volatile("cp.async.commit_group;"); }
template <int LEFT> __device__ __forceinline__ void wait() { asm volatile("cp.async.wait_group %0;" ::"n"(LEFT)); }

extern "C" __global__ void complex_gemm(float* c, const half* a, const half* b) {
    __shared__ __align__(16) half a_ring[NBUFFER][2][M_PER_BLOCK][16];
    __shared__ __align__(16) half b_ring[NBUFFER][2][N_PER_BLOCK][16];
    const int thread = threadIdx.x + 32 * (threadIdx.y + WARPS_N * threadIdx.z);
    const int block_n = blockIdx.x, block_m = blockIdx.y, warp_n = threadIdx.y, warp_m = threadIdx.z;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum[2][FRAGMENTS_M][FRAGMENTS_N];
#pragma unroll
    for (int part = 0; part < 2; ++part)
#pragma unroll
        for (int m = 0; m < FRAGMENTS_M; ++m)
#pragma unroll
            for (int n = 0; n < FRAGMENTS_N; ++n) wmma::fill_fragment(sum[part][m][n], 0.0f);

    const half* a_from = a + (size_t)block_m * STEPS * 2 * M_PER_BLOCK * 16;
    const half* b_from = b + (size_t)block_n * STEPS * 2 * N_PER_BLOCK * 16;
    auto fetch = [&](int step) {
        half* a_to = &a_ring[step % NBUFFER][0][0][0];
        half* b_to = &b_ring[step % NBUFFER][0][0][0];
        for (int i = thread; i < 2 * M_PER_BLOCK * 16 / 8; i += THREADS) copy16(a_to + i * 8, a_from + (size_t)step * 2 * M_PER_BLOCK * 16 + i * 8);
        for (int i = thread; i < 2 * N_PER_BLOCK * 16 / 8; i += THREADS) copy16(b_to + i * 8, b_from + (size_t)step * 2 * N_PER_BLOCK * 16 + i * 8);
    };
#if NBUFFER > 1
    for (int step = 0; step < NBUFFER - 1; ++step) {
        fetch(step);
        commit();
    }
#endif
    for (int step = 0; step < STEPS; ++step) {
        if (step + NBUFFER - 1 < STEPS) fetch(step + NBUFFER - 1);
        commit();
        wait<NBUFFER - 1>();
        __syncthreads();
        wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> left[2][FRAGMENTS_M];
        wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> right[2][FRAGMENTS_N];
        const int slot = step % NBUFFER;
#pragma unroll
        for (int part = 0; part < 2; ++part) {
#pragma unroll
            for (int m = 0; m < FRAGMENTS_M; ++m) wmma::load_matrix_sync(left[part][m], &a_ring[slot][part][warp_m * M_PER_WARP + m * 16][0], 16);
#pragma unroll
            for (int n = 0; n < FRAGMENTS_N; ++n) wmma::load_matrix_sync(right[part][n], &b_ring[slot][part][warp_n * N_PER_WARP + n * 16][0], 16);
        }
#pragma unroll
        for (int m = 0; m < FRAGMENTS_M; ++m)
#pragma unroll
            for (int n = 0; n < FRAGMENTS_N; ++n) {
                wmma::mma_sync(sum[0][m][n], left[0][m], right[0][n], sum[0][m][n]);
                wmma::mma_sync(sum[1][m][n], left[0][m], right[1][n], sum[1][m][n]);
            }
#pragma unroll
        for (int n = 0; n < FRAGMENTS_N; ++n)
#pragma unroll
            for (int i = 0; i < right[1][n].num_elements; ++i) right[1][n].x[i] = -right[1][n].x[i];
#pragma unroll
        for (int m = 0; m < FRAGMENTS_M; ++m)
#pragma unroll
            for (int n = 0; n < FRAGMENTS_N; ++n) {
                wmma::mma_sync(sum[0][m][n], left[1][m], right[1][n], sum[0][m][n]);
                wmma::mma_sync(sum[1][m][n], left[1][m], right[0][n], sum[1][m][n]);
            }
        __syncthreads();
    }
#pragma unroll
    for (int part = 0; part < 2; ++part)
#pragma unroll
        for (int m = 0; m < FRAGMENTS_M; ++m)
#pragma unroll
            for (int n = 0; n < FRAGMENTS_N; ++n) {
                const int row = block_m * M_PER_BLOCK + warp_m * M_PER_WARP + m * 16, column = block_n * N_PER_BLOCK + warp_n * N_PER_WARP + n * 16;
                wmma::store_matrix_sync(c + (size_t)part * SIZE * SIZE + (size_t)row * SIZE + column, sum[part][m][n], SIZE, wmma::mem_row_major);
            }
}
