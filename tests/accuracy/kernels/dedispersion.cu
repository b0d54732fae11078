// Sums the channels of a radio signal along the delay of each dispersion measure: bytes in, one float a sample and DM out.
// No register tiling: each of a thread's items has a channel loop of its own.
#define CHANNELS 1536
#define SAMPLES 25000
#define SAMPLES_PADDED 25650
#define DMS 2048
#define DM_FIRST 0.0f
#define DM_STEP 0.02f

extern "C" __global__ void dedispersion(const unsigned char* input, float* output, const float* shifts) {
    const int column = blockIdx.x * block_size_x, row = blockIdx.y * block_size_y;
#if tile_stride_x
    const int first_sample = column * tile_size_x + threadIdx.x;
    const int sample_step = block_size_x;
#else
    const int first_sample = (column + threadIdx.x) * tile_size_x;
    const int sample_step = 1;
#endif
#if tile_stride_y
    const int first_dm = row * tile_size_y + threadIdx.y;
    const int dm_step = block_size_y;
#else
    const int first_dm = (row + threadIdx.y) * tile_size_y;
    const int dm_step = 1;
#endif
    for (int j = 0; j < tile_size_y; ++j) {
        const int dm = first_dm + j * dm_step;
        for (int i = 0; i < tile_size_x; ++i) {
            const int sample = first_sample + i * sample_step;
            if (dm < DMS && sample < SAMPLES) {
                const float measure = DM_FIRST + dm * DM_STEP;
                float sum = 0.0f;
#if loop_unroll_factor_channel > 0
#pragma unroll loop_unroll_factor_channel
#endif
                for (int channel = 0; channel < CHANNELS; ++channel) {
                    const unsigned int shift = (unsigned int)(measure * shifts[channel]);
                    sum += (float)input[channel * SAMPLES_PADDED + sample + shift];
                }
                output[dm * SAMPLES + sample] = sum;
            }
        }
    }
}
