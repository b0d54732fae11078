// One step of a particle simulation. A particle is a structure: position, velocity, mass and charge.
struct Particle { float x, y, z, vx, vy, vz, mass, charge; };

extern "C" __global__ void advance(Particle *particles, float dt, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    Particle *p = particles + i;
    p->x += dt * p->vx;
    p->y += dt * p->vy;
    p->z += dt * p->vz;
}

extern "C" __global__ void kinetic_energy(const float *vx, const float *vy, const float *vz, const float *mass, float *energy, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        energy[i] = 0.5f * mass[i] * (vx[i] * vx[i] + vy[i] * vy[i] + vz[i] * vz[i]);
}
