// A FILTER x FILTER single-precision convolution of a padded image, tiled through shared memory: the algorithm that the tuning
// caches describe (block_size_*, tile_size_*, use_padding, read_only), written for this repository.
#ifndef IMAGE
#define IMAGE 4096
#endif
#define BORDER (FILTER - 1)
#define INPUT (IMAGE + BORDER)
#define OUT_W (block_size_x * tile_size_x)
#define OUT_H (block_size_y * tile_size_y)
#define TILE_W (OUT_W + BORDER)
#define TILE_H (OUT_H + BORDER)
#if use_padding && block_size_x % 32 != 0 && (TILE_W - block_size_x) % 32 != 0
#define PADDING ((32 - (TILE_W - block_size_x)) & 31)
#else
#define PADDING 0
#endif
#define EVEN (IMAGE % OUT_W == 0 && IMAGE % OUT_H == 0)
#if read_only
#define READ(pointer) __ldg(pointer)
#else
#define READ(pointer) (*(pointer))
#endif

__constant__ float weights[33 * 33];

extern "C" __global__ void convolution(float* output, const float* input) {
    __shared__ float tile[TILE_H][TILE_W + PADDING];
    const int left = threadIdx.x, top = threadIdx.y;
    const int x0 = blockIdx.x * OUT_W, y0 = blockIdx.y * OUT_H;
#pragma unroll
    for (int y = top; y < TILE_H; y += block_size_y) {
#pragma unroll
        for (int x = left; x < TILE_W; x += block_size_x) {
#if EVEN
            tile[y][x] = READ(&input[(y0 + y) * INPUT + x0 + x]);
#else
            if (y0 + y < INPUT && x0 + x < INPUT) tile[y][x] = READ(&input[(y0 + y) * INPUT + x0 + x]);
#endif
        }
    }
    __syncthreads();
    float sum[tile_size_y][tile_size_x];
#pragma unroll
    for (int j = 0; j < tile_size_y; ++j)
#pragma unroll
        for (int i = 0; i < tile_size_x; ++i) sum[j][i] = 0.0f;
#pragma unroll
    for (int row = 0; row < FILTER; ++row)
#pragma unroll
        for (int column = 0; column < FILTER; ++column)
#pragma unroll
            for (int j = 0; j < tile_size_y; ++j)
#pragma unroll
                for (int i = 0; i < tile_size_x; ++i)
                    sum[j][i] += tile[top + j * block_size_y + row][left + i * block_size_x + column] * weights[row * FILTER + column];
#pragma unroll
    for (int j = 0; j < tile_size_y; ++j)
#pragma unroll
        for (int i = 0; i < tile_size_x; ++i) {
            const int x = x0 + left + i * block_size_x, y = y0 + top + j * block_size_y;
#if EVEN
            output[y * IMAGE + x] = sum[j][i];
#else
            if (x < IMAGE && y < IMAGE) output[y * IMAGE + x] = sum[j][i];
#endif
        }
}
