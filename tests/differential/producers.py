#!/usr/bin/env python3
"""PTX of the compilers on this machine, made on the spot and read: producers.py FLIPFLOP

nvcc, clang and LLVM (llc), Triton and Numba (of $FLIPFLOP_PYTHON or this Python; neither needs a GPU) compile the small
sources below for several targets, with and without optimisation and debug information. `flipflop inspect` must read
every text without an error and know every instruction. Nothing that they print is kept. A compiler that is not there is
named, and the test is skipped (77) when none is.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

CUDA = r"""
template <int N> struct Box { float values[N]; int count; };
__device__ __noinline__ float helper(const float* p, int i) { return p[i] * 2.0f + sinf(p[i]); }
template <class T, int N> __global__ void reduce(T* out, const T* in, Box<N> box, int n) {
    __shared__ T partial[256];
    T sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += in[i] * T(box.values[i % N]) / T(box.count);
    partial[threadIdx.x] = sum;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s) partial[threadIdx.x] += partial[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0) atomicAdd(out, partial[0]);
}
template __global__ void reduce<float, 4>(float*, const float*, Box<4>, int);
template __global__ void reduce<double, 3>(double*, const double*, Box<3>, int);
__constant__ float table[16];
__device__ int counter;
extern __shared__ unsigned char dynamic[];
extern "C" __global__ void __launch_bounds__(128, 2) mixed(float* out, const float* in, unsigned long long* keys, int mode) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = helper(in, i);
    switch (mode) {
        case 0: x = __expf(x); break;
        case 1: x = rsqrtf(x); break;
        case 2: x = table[i & 15]; break;
        case 3: x = __shfl_down_sync(0xffffffffu, x, 1); break;
        case 4: x = float(__popcll(keys[i])); break;
        case 5: x = float(atomicInc(reinterpret_cast<unsigned*>(&counter), 9u)); break;
        default: dynamic[threadIdx.x] = (unsigned char)x; __syncthreads(); x = dynamic[threadIdx.x ^ 1];
    }
    if (mode == 77) printf("%d %f\n", i, x);
    out[i] = x;
}
"""

# Without any header of CUDA, so that clang alone will do.
CLANG = r"""
#define GLOBAL __attribute__((global))
#define SHARED __attribute__((shared))
#define DEVICE __attribute__((device))
DEVICE __attribute__((noinline)) float twice(float x) { return x * 2 + 1; }
extern "C" GLOBAL void stencil(float* out, const float* in, int w, int h) {
    const int x = __nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() + __nvvm_read_ptx_sreg_tid_x();
    const int y = __nvvm_read_ptx_sreg_ctaid_y() * __nvvm_read_ptx_sreg_ntid_y() + __nvvm_read_ptx_sreg_tid_y();
    SHARED static float tile[34][34];
    tile[y & 31][x & 31] = in[y * w + x];
    __syncthreads();
    if (x > 0 && y > 0 && x < w - 1 && y < h - 1)
        out[y * w + x] = twice(tile[y & 31][x & 31]) + __builtin_sqrtf(in[y * w + x - 1]) + in[(y - 1) * w + x] / 3.0f;
}
extern "C" GLOBAL void integers(long long* out, const int* in, unsigned n) {
    long long sum = 0;
    for (unsigned i = __nvvm_read_ptx_sreg_tid_x(); i < n; i += 32) sum += (long long)in[i] % 7 + __builtin_popcount(in[i]) + (in[i] >> 3) * (sum ^ i);
    __nvvm_atom_add_gen_i((int*)out, (int)sum);
    out[1] = sum;
}
"""

LLVM = r"""
target triple = "nvptx64-nvidia-cuda"
@lut = addrspace(4) constant [4 x i32] [i32 1, i32 2, i32 3, i32 4]
@state = addrspace(1) global { i64, [2 x float], ptr } { i64 7, [2 x float] [float 0x3FF8000000000000, float 0.0], ptr addrspacecast (ptr addrspace(4) @lut to ptr) }
@tile = internal addrspace(3) global [64 x double] undef, align 16
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.barrier0()
declare double @llvm.fma.f64(double, double, double)
declare i32 @llvm.ctlz.i32(i32, i1)
declare i32 @llvm.bitreverse.i32(i32)
declare i32 @llvm.fshl.i32(i32, i32, i32)
define internal i32 @callee(i32 %a, [3 x i16] %b) noinline { %e = extractvalue [3 x i16] %b, 1  %w = sext i16 %e to i32  %r = add i32 %a, %w  ret i32 %r }
define ptx_kernel void @vectors(ptr addrspace(1) %p, <4 x float> %v, { i8, i64 } %s, ptr %f) {
entry:
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %q = getelementptr <4 x float>, ptr addrspace(1) %p, i32 %t
  %x = load <4 x float>, ptr addrspace(1) %q
  %y = fadd <4 x float> %x, %v
  store <4 x float> %y, ptr addrspace(1) %q
  %d = getelementptr [64 x double], ptr addrspace(3) @tile, i32 0, i32 %t
  %i = uitofp i32 %t to double
  %m = call double @llvm.fma.f64(double %i, double %i, double 1.5)
  store double %m, ptr addrspace(3) %d
  call void @llvm.nvvm.barrier0()
  %z = call i32 @llvm.ctlz.i32(i32 %t, i1 false)
  %b = call i32 @llvm.bitreverse.i32(i32 %z)
  %h = call i32 @llvm.fshl.i32(i32 %b, i32 %t, i32 5)
  %c = call i32 @callee(i32 %h, [3 x i16] [i16 1, i16 2, i16 3])
  %n = call i32 %f(i32 %c)
  switch i32 %n, label %last [ i32 0, label %zero  i32 1, label %one  i32 2, label %two  i32 3, label %zero  i32 4, label %two ]
zero:
  %old = atomicrmw add ptr addrspace(1) @state, i64 3 seq_cst
  br label %last
one:
  store i32 %n, ptr addrspace(1) %p
  br label %last
two:
  %k = extractvalue { i8, i64 } %s, 1
  store volatile i64 %k, ptr addrspace(1) %p
  br label %last
last:
  ret void
}
"""

TRITON = r"""
import sys
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

@triton.jit
def softmax(out, x, stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    v = tl.load(x + row * stride + at, mask=at < n, other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(out + row * stride + at, e / tl.sum(e, axis=0), mask=at < n)

@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    j = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for s in range(0, K, BK):
        x = tl.load(a + i[:, None] * K + (s + k)[None, :])
        y = tl.load(b + (s + k)[:, None] * N + j[None, :])
        acc += tl.dot(x, y)
    tl.store(c + i[:, None] * N + j[None, :], acc.to(tl.float16))

@triton.jit
def histogram(keys, bins, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    k = tl.load(keys + at, mask=at < n, other=0)
    tl.atomic_add(bins + k, 1, mask=at < n)

jobs = [(softmax, {"out": "*fp32", "x": "*fp32", "stride": "i32", "n": "i32", "BLOCK": "constexpr"}, {"BLOCK": 1024}),
        (matmul, {"a": "*fp16", "b": "*fp16", "c": "*fp16", "M": "i32", "N": "i32", "K": "i32", "BM": "constexpr", "BN": "constexpr", "BK": "constexpr"}, {"BM": 64, "BN": 64, "BK": 32}),
        (histogram, {"keys": "*i32", "bins": "*i32", "n": "i32", "BLOCK": "constexpr"}, {"BLOCK": 512})]
for cc in (75, 80, 89, 90, 100, 120):
    for fn, signature, constexprs in jobs:
        try:
            made = triton.compile(ASTSource(fn, signature, constexprs), target=GPUTarget("cuda", cc, 32))
        except Exception as error:                  # a target that this version of Triton does not have
            print(f"note: {fn.__name__} for sm_{cc}: {str(error).splitlines()[0]}", file=sys.stderr)
            continue
        with open(f"{sys.argv[1]}/{fn.__name__}_{cc}.ptx", "w") as file:
            file.write(made.asm["ptx"])
"""

NUMBA = r"""
import sys
from numba import cuda, float32, float64, int32, types

def saxpy(out, x, a):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a * x[i] + out[i]

def reduce(out, x):
    tile = cuda.shared.array(128, float64)
    t = cuda.threadIdx.x
    tile[t] = x[cuda.grid(1)] ** 2
    cuda.syncthreads()
    s = 64
    while s > 0:
        if t < s:
            tile[t] += tile[t + s]
        cuda.syncthreads()
        s //= 2
    if t == 0:
        cuda.atomic.add(out, 0, tile[0])

for cc in ((7, 5), (8, 0), (9, 0)):
    for fn, signature in ((saxpy, (float32[:], float32[:], float32)), (reduce, (float64[:], float64[::1]))):
        for debug in (False, True):
            try:
                texts = [cuda.compile_ptx(fn, signature, cc=cc, debug=debug, opt=not debug)[0]]
            except Exception as error:               # some versions cannot give one text of code with debug information
                print(f"note: {fn.__name__} for sm_{cc[0]}{cc[1]}{', debug' if debug else ''}: {str(error).splitlines()[0]}", file=sys.stderr)
                continue
            for number, text in enumerate(texts):
                with open(f"{sys.argv[1]}/{fn.__name__}_{cc[0]}{cc[1]}_{'debug' if debug else 'fast'}_{number}.ptx", "w" if isinstance(text, str) else "wb") as file:
                    file.write(text)
"""


TOO_LONG = 124


def run(command, **more):
    try:
        return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=280, check=False, **more)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, TOO_LONG, b"", b"took more than 280 s")


def compile_all(folder, name, jobs):
    """Runs each job, a command without its output file; how many made a text, and what the others said."""
    made, complaints = 0, []
    for number, command in enumerate(jobs):
        done = run([*command, "-o", str(folder / f"{name}_{number}.ptx")])
        made += done.returncode == 0
        if done.returncode != 0:
            complaints.append(done.stderr.decode(errors="replace").strip().splitlines()[:1])
    return made, complaints


def from_nvcc(folder):
    nvcc = shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")
    if not nvcc:
        return "no nvcc"
    source = folder / "source.cu"
    source.write_text(CUDA)
    known = set(run([nvcc, "--list-gpu-arch"]).stdout.decode().split())
    jobs = [[nvcc, "-ptx", f"-arch={arch}", *flags, str(source)] for arch in ("compute_75", "compute_80", "compute_90", "compute_120") if arch in known
            for flags in (["-O3"], ["-G"])] + [[nvcc, "-ptx", "-arch=compute_90", "-lineinfo", "-rdc=true", "-use_fast_math", str(source)]]
    return compile_all(folder, "nvcc", jobs)


def from_clang(folder):
    clang = next((found for name in ("clang++-19", "clang++", "clang") if (found := shutil.which(name))), None)
    if not clang:
        return "no clang"
    source = folder / "source.clang.cu"
    source.write_text(CLANG)
    flags = ["-x", "cuda", "--cuda-device-only", "-nocudainc", "-nocudalib", "-S", "-Wno-unknown-cuda-version"]
    return compile_all(folder, "clang", [[clang, *flags, f"--cuda-gpu-arch={sm}", *more, str(source)] for sm in ("sm_50", "sm_80", "sm_90")
                                         for more in (["-O0"], ["-O2"], ["-O2", "-g"], ["-O3", "-ffast-math"])])


def from_llc(folder):
    llc = next((found for name in ("llc-19", "llc") if (found := shutil.which(name))), None)
    if not llc:
        return "no llc"
    source = folder / "source.ll"
    source.write_text(LLVM)
    return compile_all(folder, "llc", [[llc, f"-mcpu={sm}", *more, str(source)] for sm in ("sm_30", "sm_60", "sm_75", "sm_90") for more in (["-O0"], ["-O3"])])


def from_python(folder, module, program):
    python = os.environ.get("FLIPFLOP_PYTHON", sys.executable)
    if run([python, "-c", f"import {module}"]).returncode != 0:
        return f"no {module} in {pathlib.Path(python).name} (FLIPFLOP_PYTHON names another Python)"
    script = folder / f"{module.split('.')[0]}_program.py"
    script.write_text(program)
    environment = {**os.environ, "TRITON_CACHE_DIR": str(folder / "triton_cache"), "HOME": str(folder)}
    done = run([python, str(script), str(folder)], env=environment)
    if done.returncode == TOO_LONG:
        return f"{module} took more than 280 s"
    sys.stderr.write("".join(line + "\n" for line in done.stderr.decode(errors="replace").splitlines() if line.startswith("note:")))
    script.unlink()
    shutil.copytree(folder / "triton_cache", folder / "cache", dirs_exist_ok=True) if (folder / "triton_cache").is_dir() else None
    return len(list(folder.glob("*.ptx"))), [done.stderr.decode(errors="replace").strip().splitlines()[-1:]] if done.returncode != 0 else []


def inspect(flipflop, folder):
    """The summary of all texts in the folder, and what was said of them."""
    done = run([flipflop, "inspect", "--format", "json", *sorted(str(p) for p in folder.glob("*.ptx"))])
    return (json.loads(done.stdout)["summary"] if done.stdout else {}), done.stderr.decode(errors="replace"), done.returncode


def main():
    flipflop = os.path.abspath(sys.argv[1])
    producers = {"nvcc": from_nvcc, "clang": from_clang, "LLVM": from_llc, "Triton": lambda f: from_python(f, "triton", TRITON),
                 "Numba": lambda f: from_python(f, "numba.cuda", NUMBA)}
    failed = tried = 0
    for name, make in producers.items():
        with tempfile.TemporaryDirectory() as place:
            folder = pathlib.Path(place)
            made = make(folder)
            if isinstance(made, str):
                print(f"skipped: {name}: {made}")
                continue
            if made[0] == 0:
                print(f"{name}: made nothing: {made[1]}")
                failed += 1
                continue
            tried += 1
            summary, said, code = inspect(flipflop, folder)
            good = code == 0 and not made[1] and summary["errors"] == summary["unknown_instructions"] == 0 and summary["kernels"] > 0
            if (folder / "cache").is_dir():     # the whole cache, as a user would name it
                cache = run([flipflop, "inspect", "--format", "json", str(folder / "cache")])
                kinds = {entry["kind"] for entry in json.loads(cache.stdout)["inputs"]} if cache.stdout else set()
                good = good and cache.returncode == 0 and kinds == {"triton"}
                print(f"{name}: its cache directory: {len(json.loads(cache.stdout)['inputs']) if cache.stdout else 0} inputs of kind {', '.join(sorted(kinds))}")
            print(f"{name}: {summary.get('modules')} modules, {summary.get('kernels')} kernels, {summary.get('instructions')} instructions, "
                  f"{summary.get('unknown_instructions')} unknown, {summary.get('errors')} errors, {summary.get('warnings')} warnings{'' if good else ': FAILED'}")
            failed += not good
            if not good:
                print(f"{made[1]}\n{said[:3000]}")
    if not tried and not failed:
        return 77
    return 1 if failed else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main())
