// A thermal stencil with temporal tiling: a block keeps its tile and a halo in shared memory, makes
// temporal_tiling_factor steps, and writes the tile. The literal 2.0 is a double, as in the measured kernel, and makes part of it FP64.
#define HALO temporal_tiling_factor
#define OUT_W (block_size_x * tile_size_x)
#define OUT_H (block_size_y * tile_size_y)
#define TILE_W (OUT_W + 2 * HALO)
#define TILE_H (OUT_H + 2 * HALO)
#define INPUT_W (grid_width + 2 * max_tfactor)
#define INPUT_H (grid_height + 2 * max_tfactor)

extern "C" __global__
#if blocks_per_sm > 0
__launch_bounds__(block_size_x * block_size_y, blocks_per_sm)
#endif
void hotspot(const float* power, const float* temperature, float* result, float rx, float ry, float rz, float step) {
    __shared__ float tile[2][TILE_H][TILE_W];
#if sh_power
    __shared__ float power_tile[TILE_H][TILE_W];
#endif
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int x0 = blockIdx.x * OUT_W + max_tfactor - HALO, y0 = blockIdx.y * OUT_H + max_tfactor - HALO;
    for (int y = ty; y < TILE_H; y += block_size_y)
        for (int x = tx; x < TILE_W; x += block_size_x) {
            if (y0 + y < INPUT_H && x0 + x < INPUT_W) {
                tile[0][y][x] = temperature[(y0 + y) * INPUT_W + x0 + x];
#if sh_power
                power_tile[y][x] = power[(y0 + y) * INPUT_W + x0 + x];
#endif
            } else {
                tile[0][y][x] = 0.0f;
#if sh_power
                power_tile[y][x] = 0.0f;
#endif
            }
        }
    __syncthreads();
    int now = 0;
#pragma unroll loop_unroll_factor_t
    for (int margin = 1; margin <= temporal_tiling_factor; ++margin) {
        for (int y = margin + ty; y < TILE_H - margin; y += block_size_y)
            for (int x = margin + tx; x < TILE_W - margin; x += block_size_x) {
#if sh_power
                const float heat = power_tile[y][x];
#else
                const float heat = y0 + y < INPUT_H && x0 + x < INPUT_W ? power[(y0 + y) * INPUT_W + x0 + x] : 0.0f;
#endif
                const float old = tile[now][y][x];
                tile[1 - now][y][x] = old + step * (heat + (tile[now][y + 1][x] + tile[now][y - 1][x] - 2.0 * old) * ry +
                                                    (tile[now][y][x + 1] + tile[now][y][x - 1] - 2.0 * old) * rx + (80.0f - old) * rz);
            }
        __syncthreads();
        now = 1 - now;
    }
    for (int j = 0; j < tile_size_y; ++j)
        for (int i = 0; i < tile_size_x; ++i) {
            const int x = tx + i * block_size_x, y = ty + j * block_size_y;
            const int gx = blockIdx.x * OUT_W + x, gy = blockIdx.y * OUT_H + y;
            if (gx < grid_width && gy < grid_height) result[gy * grid_width + gx] = tile[now][y + HALO][x + HALO];
        }
}
