// Matrices and asynchronous copies.
#include <cstdint>
#include <mma.h>

// A tile of 16x8 by ldmatrix and mma for each warp of the grid.
extern "C" __global__ void ldmatrix_tiles(float *out, const uint4 *a, const uint2 *b)
{
    extern __shared__ uint4 pool[];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, tile = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    uint4 *sa = pool + warp * 48;
    uint2 *sb = (uint2 *)(sa + 32);
    sa[lane] = a[tile * 32 + lane];
    sb[lane] = b[tile * 32 + lane];
    __syncthreads();
    unsigned fa = (unsigned)__cvta_generic_to_shared(sa + lane), fb = (unsigned)__cvta_generic_to_shared((uint4 *)sb + lane % 16);
    unsigned r0, r1, r2, r3, q0, q1;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(r0), "=r"(r1), "=r"(r2), "=r"(r3) : "r"(fa) : "memory");
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];" : "=r"(q0), "=r"(q1) : "r"(fb) : "memory");
    float c0 = 0, c1 = 0, c2 = 0, c3 = 0;
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(c0), "+f"(c1), "+f"(c2), "+f"(c3) : "r"(r0), "r"(r1), "r"(r2), "r"(r3), "r"(q0), "r"(q1));
    ((float4 *)out)[tile * 32 + lane] = make_float4(c0, c1, c2, c3);
}

// The same with four tiles a block, one for each of the four warps that it must have.
extern "C" __global__ void ldmatrix_four(float *out, const uint4 *a)
{
    __shared__ uint4 pool[4 * 32];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, tile = blockIdx.x * 4 + warp;
    uint4 *sa = pool + warp * 32;
    sa[lane] = a[tile * 32 + lane];
    __syncthreads();
    unsigned fa = (unsigned)__cvta_generic_to_shared(sa + lane);
    unsigned r0, r1, r2, r3;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(r0), "=r"(r1), "=r"(r2), "=r"(r3) : "r"(fa) : "memory");
    ((uint4 *)out)[tile * 32 + lane] = make_uint4(r0, r1, r2, r3);
}

// Fragments of 16x16 for each warp of the grid.
extern "C" __global__ void wmma_tiles(float *out, const __half *a, const __half *b)
{
    using namespace nvcuda::wmma;
    int tile = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    fragment<matrix_a, 16, 16, 16, __half, row_major> fa;
    fragment<matrix_b, 16, 16, 16, __half, col_major> fb;
    fragment<accumulator, 16, 16, 16, float> c;
    fill_fragment(c, 0.0f);
    load_matrix_sync(fa, a + tile * 256, 16);
    load_matrix_sync(fb, b + tile * 256, 16);
    mma_sync(c, fa, fb, c);
    store_matrix_sync(out + tile * 256, c, 16, mem_row_major);
}

// Eight tiles a block, one for each warp that it must have.
extern "C" __global__ void wmma_eight(float *out, const __half *a, const __half *b)
{
    using namespace nvcuda::wmma;
    int tile = blockIdx.x * 8 + threadIdx.x / 32;
    fragment<matrix_a, 16, 16, 16, __half, row_major> fa;
    fragment<matrix_b, 16, 16, 16, __half, col_major> fb;
    fragment<accumulator, 16, 16, 16, float> c;
    fill_fragment(c, 0.0f);
    load_matrix_sync(fa, a + tile * 256, 16);
    load_matrix_sync(fb, b + tile * 256, 16);
    mma_sync(c, fa, fb, c);
    store_matrix_sync(out + tile * 256, c, 16, mem_row_major);
}

// Sixteen bytes a thread by cp.async, read by a neighbour.
extern "C" __global__ void async_swap(float4 *out, const float4 *in)
{
    __shared__ float4 s[1024];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned to = (unsigned)__cvta_generic_to_shared(s + threadIdx.x);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(to), "l"(in + i) : "memory");
    asm volatile("cp.async.commit_group;" ::: "memory");
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    __syncthreads();
    out[i] = s[threadIdx.x ^ 1];
}

// The block's elements backwards: another block, other elements.
extern "C" __global__ void async_reverse(float *out, const float *in)
{
    __shared__ float s[1024];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned to = (unsigned)__cvta_generic_to_shared(s + threadIdx.x);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(to), "l"(in + i) : "memory");
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
    out[i] = s[blockDim.x - 1 - threadIdx.x];
}
