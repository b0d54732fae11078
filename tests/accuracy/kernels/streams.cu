// Double-precision streams, one element a thread, with a shared array that pins two blocks to a multiprocessor.
#define STREAM(name, body) \
    extern "C" __global__ void name(double* a, const double* b, const double* c, long long n, bool never) { \
        __shared__ double spoiler[768]; \
        const long long i = (long long)blockDim.x * blockIdx.x + threadIdx.x; \
        if (i >= n - 2 || i < 2) return; \
        if (never) spoiler[threadIdx.x] = b[threadIdx.x]; \
        body; \
        if (never) a[i] = spoiler[threadIdx.x ^ 1]; \
    }

STREAM(stream_init, a[i] = 1.1)
STREAM(stream_read, double t = b[i]; if (t == 123.0) a[i] = t + 1.0)
STREAM(stream_scale, a[i] = b[i] * 1.2)
STREAM(stream_triad, a[i] = b[i] * 1.2 + c[i])
STREAM(stream_3pt, a[i] = 0.5 * b[i - 1] - 1.0 * b[i] + 0.5 * b[i + 1])
STREAM(stream_5pt, a[i] = 0.25 * b[i - 2] + 0.25 * b[i - 1] - 1.0 * b[i] + 0.5 * b[i + 1] + 0.5 * b[i + 2])
