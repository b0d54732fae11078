// C = alpha A B^T + beta C in single precision with the parameters of CLBlast's classic kernel: A is K x M and B is K x N, both
// contiguous along M and N. An MWG x NWG tile a block, (MWG/MDIMC) x (NWG/NDIMC) outputs a thread in vectors of VWM and VWN.
#define MWI (MWG / MDIMC)
#define NWI (NWG / NDIMC)
#define KDIMA ((MDIMC * NDIMC) / MDIMA)
#define KDIMB ((MDIMC * NDIMC) / NDIMB)
#define MWA (MWG / MDIMA)
#define KWA (KWG / KDIMA)
#define KWB (KWG / KDIMB)
#define NWB (NWG / NDIMB)
// OpenCL's float8 is two 16-byte accesses; a CUDA struct of eight floats is eight of four bytes.
#ifndef VECTOR8_ALIGN
#define VECTOR8_ALIGN 4
#endif

template <int WIDTH> struct Vector;
template <> struct __align__(4) Vector<1> { float v[1]; };
template <> struct __align__(8) Vector<2> { float v[2]; };
template <> struct __align__(16) Vector<4> { float v[4]; };
template <> struct __align__(VECTOR8_ALIGN) Vector<8> { float v[8]; };
typedef Vector<VWM> VectorM;
typedef Vector<VWN> VectorN;

extern "C" __global__
#ifdef FIXED_BLOCK
__launch_bounds__(MDIMC * NDIMC)
#endif
void gemm(int size_m, int size_n, int size_k, float alpha, float beta, const VectorM* __restrict__ a, const VectorN* __restrict__ b, VectorM* c) {
    const int lane_m = threadIdx.x, lane_n = threadIdx.y, thread = lane_n * MDIMC + lane_m;
#if SA
    __shared__ VectorM a_tile[KWG * MWG / VWM];
    const int a_m = MDIMC == MDIMA ? lane_m : thread % MDIMA, a_k = MDIMC == MDIMA ? lane_n : thread / MDIMA;
#endif
#if SB
    __shared__ VectorN b_tile[KWG * NWG / VWN];
    const int b_n = MDIMC == NDIMB ? lane_m : thread % NDIMB, b_k = MDIMC == NDIMB ? lane_n : thread / NDIMB;
#endif
    float sum[NWI][MWI];
#pragma unroll
    for (int n = 0; n < NWI; ++n)
#pragma unroll
        for (int m = 0; m < MWI; ++m) sum[n][m] = 0.0f;
    for (int k0 = 0; k0 < size_k; k0 += KWG) {
#if SA
#pragma unroll
        for (int i = 0; i < MWA / VWM; ++i)
#pragma unroll
            for (int j = 0; j < KWA; ++j) {
                const int m = STRM ? a_m + i * MDIMA : i + a_m * (MWA / VWM), k = j + a_k * KWA;
                a_tile[k * (MWG / VWM) + m] = a[(k + k0) * (size_m / VWM) + m + blockIdx.x * (MWG / VWM)];
            }
#endif
#if SB
#pragma unroll
        for (int j = 0; j < KWB; ++j)
#pragma unroll
            for (int i = 0; i < NWB / VWN; ++i) {
                const int n = STRN ? b_n + i * NDIMB : i + b_n * (NWB / VWN), k = j + b_k * KWB;
                b_tile[k * (NWG / VWN) + n] = b[(k + k0) * (size_n / VWN) + n + blockIdx.y * (NWG / VWN)];
            }
#endif
#if SA || SB
        __syncthreads();
#endif
        for (int k1 = 0; k1 < KWG; k1 += KWI) {
#pragma unroll
            for (int k2 = 0; k2 < KWI; ++k2) {
                const int k = k1 + k2;
                VectorM a_part[MWI / VWM];
                VectorN b_part[NWI / VWN];
#pragma unroll
                for (int i = 0; i < MWI / VWM; ++i) {
                    const int m = STRM ? lane_m + i * MDIMC : i + lane_m * (MWI / VWM);
#if SA
                    a_part[i] = a_tile[k * (MWG / VWM) + m];
#else
                    a_part[i] = a[(k + k0) * (size_m / VWM) + m + blockIdx.x * (MWG / VWM)];
#endif
                }
#pragma unroll
                for (int i = 0; i < NWI / VWN; ++i) {
                    const int n = STRN ? lane_n + i * NDIMC : i + lane_n * (NWI / VWN);
#if SB
                    b_part[i] = b_tile[k * (NWG / VWN) + n];
#else
                    b_part[i] = b[(k + k0) * (size_n / VWN) + n + blockIdx.y * (NWG / VWN)];
#endif
                }
#pragma unroll
                for (int n = 0; n < NWI; ++n)
#pragma unroll
                    for (int m = 0; m < MWI; ++m) sum[n][m] += a_part[m / VWM].v[m % VWM] * b_part[n / VWN].v[n % VWN];
            }
        }
#if SA || SB
        __syncthreads();
#endif
    }
#pragma unroll
    for (int n = 0; n < NWI; ++n) {
        const int j = n / VWN, row = (STRN ? (lane_n + j * NDIMC) * VWN : (j + lane_n * (NWI / VWN)) * VWN) + n % VWN + blockIdx.y * NWG;
#pragma unroll
        for (int i = 0; i < MWI / VWM; ++i) {
            const int m = (STRM ? lane_m + i * MDIMC : i + lane_m * (MWI / VWM)) + blockIdx.x * (MWG / VWM);
            VectorM old = c[row * (size_m / VWM) + m];
#pragma unroll
            for (int v = 0; v < VWM; ++v) old.v[v] = alpha * sum[n][i * VWM + v] + beta * old.v[v];
            c[row * (size_m / VWM) + m] = old;
        }
    }
}
