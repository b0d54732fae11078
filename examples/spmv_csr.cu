// y = A*x for a sparse matrix in compressed rows, one row a thread. How long the rows are decides how many lanes of a warp
// still work; which columns they name decides what the reads of x cost. Both are data: --data row_begin=..., column=...
extern "C" __global__ void spmv_csr(const int *row_begin, const int *column, const float *value, const float *x, float *y, int rows)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    float sum = 0.0f;
#pragma unroll 1
    for (int i = row_begin[row]; i < row_begin[row + 1]; ++i)
        sum += value[i] * x[column[i]];
    y[row] = sum;
}
