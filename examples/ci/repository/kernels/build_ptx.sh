#!/bin/sh
# What the build of this repository does: PTX with a line table. File names are relative to the repository.
set -eu
cd "$(dirname "$0")/.."
"${NVCC:-nvcc}" -ptx -arch=sm_80 -lineinfo -o kernels/particles.ptx kernels/particles.cu
sed -i -E 's|^([[:space:]]*\.file[[:space:]]+[0-9]+[[:space:]]+")(.*/)?(kernels/[^/"]+")|\1\3|' kernels/particles.ptx
