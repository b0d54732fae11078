// The little of CUDA C++ that axpy.cu, transpose_padded.cu and gemm_tile16.cu use, so that clang compiles them to PTX
// without any CUDA toolkit: clang-19 refuses headers of CUDA 13. Used by build_ptx.sh only.
#pragma once

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))

typedef decltype(sizeof(0)) size_t;

// nodebug: a use of threadIdx keeps the line where it is used.
#define FLIPFLOP_SPECIAL(type, reg)                                                                                  \
    struct type {                                                                                                    \
        __declspec(property(get = get_x)) unsigned x;                                                                \
        __declspec(property(get = get_y)) unsigned y;                                                                \
        __device__ __attribute__((nodebug)) unsigned get_x() const { return __nvvm_read_ptx_sreg_##reg##_x(); }      \
        __device__ __attribute__((nodebug)) unsigned get_y() const { return __nvvm_read_ptx_sreg_##reg##_y(); }      \
    };
FLIPFLOP_SPECIAL(ThreadIdx, tid)
FLIPFLOP_SPECIAL(BlockIdx, ctaid)
FLIPFLOP_SPECIAL(BlockDim, ntid)
FLIPFLOP_SPECIAL(GridDim, nctaid)
extern const __device__ ThreadIdx threadIdx;
extern const __device__ BlockIdx blockIdx;
extern const __device__ BlockDim blockDim;
extern const __device__ GridDim gridDim;
