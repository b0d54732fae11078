#!/bin/sh
# Makes the committed PTX anew: NAME.ptx by nvcc, and NAME.clang.ptx by clang for three. Needs nvcc 13 (NVCC=...) and
# clang-19 (CLANG=...); a compiler that is missing is said and its files stay as they are.
# Run anywhere; file names in the PTX are relative to this folder.
set -eu
cd "$(dirname "$0")"
NVCC=${NVCC:-nvcc}
CLANG=${CLANG:-clang-19}

# The compilers write where the source lay; what is committed must not.
relative_paths() {
    sed -i -E "s|^([[:space:]]*\.file[[:space:]]+[0-9]+[[:space:]]+\")(.*/)?([^/\"]+\")|\1\3|" "$1"
}

if command -v "$NVCC" >/dev/null 2>&1; then
    for source in *.cu; do
        name=${source%.cu}
        case $name in
            warp_roles) arch=sm_90 ;;   # mbarriers with a parity, cp.async.bulk
            *) arch=sm_80 ;;
        esac
        "$NVCC" -ptx -arch="$arch" -lineinfo -o "$name.ptx" "$source"
        relative_paths "$name.ptx"
    done
else
    echo "build_ptx.sh: no $NVCC: NAME.ptx left as they are" >&2
fi

if command -v "$CLANG" >/dev/null 2>&1; then
    for name in axpy transpose_padded gemm_tile16; do
        "$CLANG" -x cuda --cuda-device-only --cuda-gpu-arch=sm_80 -nocudainc -nocudalib -Wno-unknown-cuda-version \
            -fdeclspec -include cuda_subset.h -O2 -gline-directives-only -S -o "$name.clang.ptx" "$name.cu"
        relative_paths "$name.clang.ptx"
    done
else
    echo "build_ptx.sh: no $CLANG: NAME.clang.ptx left as they are" >&2
fi
