// C[i] = A[i]*B[i] for many small square matrices, a matrix a thread, as a template: its three kernels have mangled names.
// Each thread reads N*N floats in a row: neighbouring lanes are a whole matrix apart, and nearly every read is a gather of
// sectors. The registers grow with N*N.
template <int N>
__global__ void small_matrices(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    float left[N * N], right[N * N];
#pragma unroll
    for (int e = 0; e < N * N; ++e) {
        left[e] = a[i * N * N + e];
        right[e] = b[i * N * N + e];
    }
#pragma unroll
    for (int row = 0; row < N; ++row)
#pragma unroll
        for (int col = 0; col < N; ++col) {
            float sum = 0.0f;
#pragma unroll
            for (int e = 0; e < N; ++e)
                sum += left[row * N + e] * right[e * N + col];
            c[i * N * N + row * N + col] = sum;
        }
}

template __global__ void small_matrices<2>(const float *, const float *, float *, int);
template __global__ void small_matrices<4>(const float *, const float *, float *, int);
template __global__ void small_matrices<6>(const float *, const float *, float *, int);
