// out = a*(1-weight) + b*weight over an image of padded rows. A persistent kernel: the grid is as many blocks as the GPU
// holds at once (gpu.sms*blocks_per_sm), and each steps over the pixels with the grid. The images come as structs by value.
struct Image {
    float *data;
    int width, height, pitch;   // pitch in floats
};

extern "C" __global__ void blend_persistent(Image a, Image b, Image out, float weight)
{
    int pixels = out.width * out.height;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < pixels; i += gridDim.x * blockDim.x) {
        int y = i / out.width, x = i % out.width;
        out.data[y * out.pitch + x] = a.data[y * a.pitch + x] * (1.0f - weight) + b.data[y * b.pitch + x] * weight;
    }
}
