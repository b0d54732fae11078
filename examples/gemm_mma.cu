// C = A*B on tensor cores: A is m x k and B is k x n, row-major halves; C is row-major floats. The block is fixed: 128
// threads, four warps in a 2 x 2 square, each with 32 x 32 of the block's 64 x 64 outputs. Slabs of A and B, 32 deep, go
// through shared memory, whose rows are padded by 16 bytes so that ldmatrix meets no bank conflict. m and n are
// multiples of 64, k of 32.
#include <cuda_fp16.h>

#define TILE 64
#define DEPTH 32
#define PITCH_A (DEPTH + 8)
#define PITCH_B (TILE + 8)

__device__ __forceinline__ unsigned shared_address(const void *p)
{
    return (unsigned)__cvta_generic_to_shared(p);
}

extern "C" __global__ void __launch_bounds__(128) gemm_mma(const half *a, const half *b, float *c, int m, int n, int k)
{
    __shared__ __align__(16) half slab_a[TILE * PITCH_A];
    __shared__ __align__(16) half slab_b[DEPTH * PITCH_B];
    int tid = threadIdx.x, lane = tid % 32, warp = tid / 32;
    int row0 = blockIdx.y * TILE, col0 = blockIdx.x * TILE;
    int warp_row = warp / 2 * 32, warp_col = warp % 2 * 32;
    float sum[2][4][4] = {};

    for (int k0 = 0; k0 < k; k0 += DEPTH) {
        // 16 bytes a thread and step: four threads a row of A, eight a row of B.
        for (int i = tid; i < TILE * DEPTH / 8; i += 128) {
            int r = i / (DEPTH / 8), d = i % (DEPTH / 8) * 8;
            *(uint4 *)&slab_a[r * PITCH_A + d] = *(const uint4 *)&a[(size_t)(row0 + r) * k + k0 + d];
            int s = i / (TILE / 8), e = i % (TILE / 8) * 8;
            *(uint4 *)&slab_b[s * PITCH_B + e] = *(const uint4 *)&b[(size_t)(k0 + s) * n + col0 + e];
        }
        __syncthreads();
#pragma unroll
        for (int d = 0; d < DEPTH; d += 16) {
            unsigned fa[2][4], fb[4][2];
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                unsigned at = shared_address(&slab_a[(warp_row + i * 16 + lane % 16) * PITCH_A + d + lane / 16 * 8]);
                asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                             : "=r"(fa[i][0]), "=r"(fa[i][1]), "=r"(fa[i][2]), "=r"(fa[i][3]) : "r"(at));
            }
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                unsigned at = shared_address(&slab_b[(d + lane % 16) * PITCH_B + warp_col + j * 8]);
                asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
                             : "=r"(fb[j][0]), "=r"(fb[j][1]) : "r"(at));
            }
#pragma unroll
            for (int i = 0; i < 2; ++i)
#pragma unroll
                for (int j = 0; j < 4; ++j)
                    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                                 : "+f"(sum[i][j][0]), "+f"(sum[i][j][1]), "+f"(sum[i][j][2]), "+f"(sum[i][j][3])
                                 : "r"(fa[i][0]), "r"(fa[i][1]), "r"(fa[i][2]), "r"(fa[i][3]), "r"(fb[j][0]), "r"(fb[j][1]));
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 2; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            int row = row0 + warp_row + i * 16 + lane / 4, col = col0 + warp_col + j * 8 + lane % 4 * 2;
            *(float2 *)&c[(size_t)row * n + col] = make_float2(sum[i][j][0], sum[i][j][1]);
            *(float2 *)&c[(size_t)(row + 8) * n + col] = make_float2(sum[i][j][2], sum[i][j][3]);
        }
}
