// One step of a particle simulation. Positions and velocities are arrays of their own (structure of arrays).
extern "C" __global__ void advance(float *x, float *y, float *z, const float *vx, const float *vy, const float *vz, float dt, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {   // one way out
        x[i] += dt * vx[i];
        y[i] += dt * vy[i];
        z[i] += dt * vz[i];
    }
}

extern "C" __global__ void kinetic_energy(const float *vx, const float *vy, const float *vz, const float *mass, float *energy, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        energy[i] = 0.5f * mass[i] * (vx[i] * vx[i] + vy[i] * vy[i] + vz[i] * vz[i]);
}
