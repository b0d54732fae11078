"""Variants to PTX (NVRTC, else nvcc) and PTX to ptxas's report, both kept by content outside the tree."""
import ctypes
import glob
import hashlib
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path


class Missing(Exception):
    """A tool that is not here: the step is skipped with this reason."""


def cache_folder():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    folder = Path(base) / "flipflop" / "accuracy"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def find_nvrtc():
    """The toolkit's library, or that of the PyPI package nvidia-cuda-nvrtc."""
    places = [os.path.join(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "lib64", "libnvrtc.so")]
    for folder in sys.path:
        places += glob.glob(os.path.join(folder, "nvidia", "*", "lib", "libnvrtc.so.*"))
    for place in places:
        if os.path.exists(place):
            return ctypes.CDLL(place)
    return None


def find_tool(name):
    return shutil.which(name) or next((p for p in [os.path.join(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "bin", name)] if os.path.exists(p)), None)


class Compiler:
    def __init__(self, kernels):
        self.kernels = Path(kernels)
        self.nvrtc, self.nvcc, self.ptxas = find_nvrtc(), find_tool("nvcc"), find_tool("ptxas")
        if not self.nvrtc and not self.nvcc:
            raise Missing("neither NVRTC (pip install nvidia-cuda-nvrtc) nor nvcc is here to compile the kernels")
        self.version = self.describe()
        self.folder = cache_folder()
        self.fresh = 0

    def describe(self):
        if self.nvrtc:
            major, minor = ctypes.c_int(), ctypes.c_int()
            self.nvrtc.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
            return f"NVRTC {major.value}.{minor.value}"
        return subprocess.run([self.nvcc, "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[-1]

    def include(self):
        home = os.environ.get("CUDA_HOME", "/usr/local/cuda")
        return [f"-I{home}/include", f"-I{home}/include/cccl"] if os.path.isdir(f"{home}/include") else []

    def ptx(self, source, macros, capability):
        text = (self.kernels / f"{source}.cu").read_text()
        defines = [f"-D{name}={value}" for name, value in sorted(macros.items())]
        digest = hashlib.sha256("\0".join([text, self.version, str(capability), *defines]).encode()).hexdigest()
        path = self.folder / f"{digest}.ptx"
        if not path.exists():
            self.fresh += 1
            made = self.by_nvrtc(text, source, defines, capability) if self.nvrtc else self.by_nvcc(source, defines, capability)
            partial = path.with_suffix(f".{os.getpid()}.{threading.get_ident()}")
            partial.write_text(made)
            partial.rename(path)
        return path

    def by_nvcc(self, source, defines, capability):
        done = subprocess.run([self.nvcc, "-ptx", "-std=c++17", f"-arch=compute_{capability}", *defines, "-o", "/dev/stdout", str(self.kernels / f"{source}.cu")], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stderr[:2000])
        return done.stdout

    def by_nvrtc(self, text, source, defines, capability):
        lib, program = self.nvrtc, ctypes.c_void_p()
        options = [o.encode() for o in [f"-arch=compute_{capability}", "-std=c++17", *self.include(), *defines]]
        if lib.nvrtcCreateProgram(ctypes.byref(program), text.encode(), f"{source}.cu".encode(), 0, None, None):
            raise RuntimeError("NVRTC does not start")
        failed = lib.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
        size_of, get = (lib.nvrtcGetProgramLogSize, lib.nvrtcGetProgramLog) if failed else (lib.nvrtcGetPTXSize, lib.nvrtcGetPTX)
        size = ctypes.c_size_t()
        size_of(program, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        get(program, buffer)
        lib.nvrtcDestroyProgram(ctypes.byref(program))
        if failed:
            raise RuntimeError(buffer.value.decode()[:2000])
        return buffer.value.decode()

    def log(self, ptx, capability):
        """ptxas -v for sm_CAPABILITY, or None: no ptxas, or it refuses (spills of old architectures are then estimated)."""
        if not self.ptxas or capability < 75:
            return None
        path = ptx.with_suffix(f".sm_{capability}.log")
        if not path.exists():
            done = subprocess.run([self.ptxas, "-v", f"-arch=sm_{capability}", "-o", "/dev/null", str(ptx)], capture_output=True, text=True)
            if done.returncode:
                return None
            partial = path.with_suffix(f".{os.getpid()}.{threading.get_ident()}")
            partial.write_text(done.stderr)
            partial.rename(path)
        return path
