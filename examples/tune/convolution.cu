// 2-D convolution of a 4096 x 4096 image with a small filter, written to be tuned: the macros below are given to the
// compiler by the tuner (examples/convolution.t1.json lists their values). A block makes a tile of
// block_size_x * tile_size_x by block_size_y * tile_size_y pixels; the pixels of one thread lie a block apart.
#ifndef block_size_x
#define block_size_x 32
#define block_size_y 8
#define tile_size_x 1
#define tile_size_y 1
#define read_only 0
#define use_padding 0
#define use_shmem 1
#define filter_width 15
#define filter_height 15
#endif

// 1: a row of the filter at a time. All of its 225 steps in one piece take the compiler ten times as long, and let it keep
// pixels in registers that two outputs of a thread share.
#ifndef unroll_rows
#define unroll_rows 1
#endif
constexpr int kUnrollRows = unroll_rows;   // a pragma takes a constant; not every compiler expands a macro there

#define image_width 4096
#define image_height 4096
#define border_x (filter_width - 1)
#define border_y (filter_height - 1)
#define input_width (image_width + border_x)
#define tile_width (block_size_x * tile_size_x)
#define tile_height (block_size_y * tile_size_y)

// Where tiles fill the image exactly, nothing needs to be asked.
#if image_width % tile_width || image_height % tile_height
#define INSIDE(x, y, width, height) ((x) < (width) && (y) < (height))
#else
#define INSIDE(x, y, width, height) true
#endif

// With a block that is no multiple of a warp, the rows of a warp start at other banks: columns that nobody reads put
// them apart.
#if use_padding
#define padding ((32 - (border_x + tile_width - block_size_x)) & 31)
#else
#define padding 0
#endif

#if read_only
#define LOAD(address) __ldg(address)
#else
#define LOAD(address) (*(address))
#endif

__constant__ float d_filter[filter_height * filter_width];

extern "C" __global__ void convolution_kernel(float *output, const float *input)
{
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int left = blockIdx.x * tile_width, top = blockIdx.y * tile_height;

#if use_shmem
    __shared__ float pixels[tile_height + border_y][tile_width + border_x + padding];
    for (int y = ty; y < tile_height + border_y; y += block_size_y)
        for (int x = tx; x < tile_width + border_x; x += block_size_x)
            if (INSIDE(left + x, top + y, input_width, image_height + border_y))
                pixels[y][x] = LOAD(&input[(top + y) * input_width + left + x]);
    __syncthreads();
#endif

    float sum[tile_size_y][tile_size_x];
#pragma unroll
    for (int j = 0; j < tile_size_y; ++j)
#pragma unroll
        for (int i = 0; i < tile_size_x; ++i)
            sum[j][i] = 0.0f;

#pragma unroll kUnrollRows
    for (int fy = 0; fy < filter_height; ++fy)
#pragma unroll
        for (int fx = 0; fx < filter_width; ++fx) {
#pragma unroll
            for (int j = 0; j < tile_size_y; ++j)
#pragma unroll
                for (int i = 0; i < tile_size_x; ++i) {
                    const int x = tx + i * block_size_x + fx, y = ty + j * block_size_y + fy;
#if use_shmem
                    sum[j][i] += pixels[y][x] * d_filter[fy * filter_width + fx];
#else
                    if (INSIDE(left + x, top + y, input_width, image_height + border_y))
                        sum[j][i] += LOAD(&input[(top + y) * input_width + left + x]) * d_filter[fy * filter_width + fx];
#endif
                }
        }

#pragma unroll
    for (int j = 0; j < tile_size_y; ++j)
#pragma unroll
        for (int i = 0; i < tile_size_x; ++i) {
            const int x = left + tx + i * block_size_x, y = top + ty + j * block_size_y;
            if (INSIDE(x, y, image_width, image_height))
                output[y * image_width + x] = sum[j][i];
        }
}
