#!/usr/bin/env python3
"""Real CUDA toolkits: what ptxas -v says, what its cubins say, and what flipflop reads of both. test_toolkits.py [CLASS...], as test_cli.py.

FLIPFLOP_TOOLKITS names folders (divided by ':') with a ptxas anywhere inside; FLIPFLOP_FETCH=1 allows fetching CUDA 11.8, 12 and 13 from PyPI (100 MB).
Without either, the ptxas on PATH or in /usr/local/cuda is tried alone; without that the tests are skipped."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from test_cli import Case, main, run  # noqa: E402

PACKAGES = ("nvidia-cuda-nvcc-cu11", "nvidia-cuda-nvcc-cu12", "nvidia-cuda-nvcc")
BOARDS = {"sm_75": "t4", "sm_80": "a100", "sm_86": "rtx-a4000", "sm_89": "l4", "sm_90": "h100", "sm_100": "b200", "sm_120": "5090"}
ARCHITECTURES = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_100f", "sm_103a", "sm_120")

# Static and dynamic shared memory, named barriers and ones by register, a stack frame, launch bounds, a call.
KERNELS = """.version 7.0
.target sm_75
.address_size 64

.extern .shared .align 16 .b8 dynamic[];

.func (.param .b32 result) callee(.param .b32 x)
{
    .reg .f32 %f<3>;
    ld.param.f32 %f1, [x];
    mul.f32 %f2, %f1, 0f40400000;
    st.param.f32 [result], %f2;
    ret;
}

.visible .entry shared(.param .u64 p) .maxntid 192, 1, 1
{
    .reg .b64 %rd<4>;
    .reg .b32 %r<8>;
    .reg .f32 %f<4>;
    .shared .align 4 .b8 tile[1200];
    ld.param.u64 %rd1, [p];
    mov.u32 %r1, %tid.x;
    shl.b32 %r2, %r1, 2;
    mov.u32 %r3, tile;
    add.s32 %r4, %r3, %r2;
    mov.u32 %r5, dynamic;
    add.s32 %r6, %r5, %r2;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
    ld.global.f32 %f1, [%rd3];
    st.shared.f32 [%r4], %f1;
    st.shared.f32 [%r6], %f1;
    bar.sync 0;
    ld.shared.f32 %f2, [%r4+4];
    st.global.f32 [%rd3], %f2;
    ret;
}

.visible .entry barriers(.param .u64 p) .reqntid 64, 2, 1
{
    .reg .b64 %rd<2>;
    .reg .b32 %r<3>;
    ld.param.u64 %rd1, [p];
    bar.sync 3, 64;
    mov.u32 %r1, %tid.x;
    st.global.u32 [%rd1], %r1;
    bar.sync 0;
    ret;
}

.visible .entry any_barrier(.param .u64 p, .param .u32 id)
{
    .reg .b32 %r<2>;
    .reg .b64 %rd<2>;
    ld.param.u32 %r1, [id];
    ld.param.u64 %rd1, [p];
    bar.sync %r1, 64;
    st.global.u32 [%rd1], %r1;
    ret;
}

.visible .entry stack(.param .u64 p, .param .u32 i)
{
    .local .align 16 .b8 frame[256];
    .reg .b64 %rd<8>;
    .reg .b32 %r<4>;
    mov.u64 %rd1, frame;
    ld.param.u64 %rd2, [p];
    ld.param.u32 %r1, [i];
    mul.wide.u32 %rd3, %r1, 4;
    add.s64 %rd4, %rd1, %rd3;
    st.local.u32 [%rd4], %r1;
    ld.local.u32 %r2, [%rd1+64];
    ld.local.u32 %r3, [%rd1+128];
    add.s32 %r2, %r2, %r3;
    st.global.u32 [%rd2], %r2;
    ret;
}

.visible .entry calls(.param .u64 p)
{
    .reg .b64 %rd<2>;
    .reg .f32 %f<3>;
    ld.param.u64 %rd1, [p];
    ld.global.f32 %f1, [%rd1];
    {
    .param .b32 x;
    .param .b32 y;
    st.param.f32 [x], %f1;
    call.uni (y), callee, (x);
    ld.param.f32 %f2, [y];
    }
    st.global.f32 [%rd1], %f2;
    ret;
}

.visible .entry empty()
{
    ret;
}
"""


def executables(folder):
    found = []
    for where, _, files in os.walk(folder):
        if "ptxas" in files:
            path = os.path.join(where, "ptxas")
            os.chmod(path, os.stat(path).st_mode | 0o111)
            found.append(path)
    return found


def fetched():
    folder = tempfile.mkdtemp(prefix="flipflop-toolkits-")
    for package in PACKAGES:
        target = os.path.join(folder, package)
        done = subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", target, package], capture_output=True, text=True)
        for wheel in os.listdir(target) if done.returncode == 0 else []:
            shutil.unpack_archive(os.path.join(target, wheel), target, "zip")
    return folder


class Toolkits(Case):
    @classmethod
    def setUpClass(cls):
        cls.fetched = fetched() if os.environ.get("FLIPFLOP_FETCH") == "1" and not os.environ.get("FLIPFLOP_TOOLKITS") else None
        folders = [f for f in os.environ.get("FLIPFLOP_TOOLKITS", cls.fetched or "").split(":") if f]
        cls.ptxas = [path for folder in folders for path in executables(folder)]
        for path in (shutil.which("ptxas"), "/usr/local/cuda/bin/ptxas"):
            if path and os.path.exists(path) and not folders and not cls.ptxas:
                cls.ptxas.append(path)
        if not cls.ptxas:
            raise unittest.SkipTest("no ptxas: FLIPFLOP_TOOLKITS names folders that hold one, FLIPFLOP_FETCH=1 fetches three from PyPI")

    @classmethod
    def tearDownClass(cls):
        if cls.fetched:
            shutil.rmtree(cls.fetched)

    def setUp(self):
        super().setUp()
        self.kernels = self.file("kernels.ptx", KERNELS)
        self.env = {"XDG_CACHE_HOME": self.path("cache")}

    def assembled(self):
        """(ptxas, its version, architecture, cubin, log) for each pair that works together."""
        for ptxas in self.ptxas:
            version = re.search(r", V([\d.]+)", subprocess.run([ptxas, "--version"], capture_output=True, text=True).stdout).group(1)
            count = 0
            for architecture in ARCHITECTURES:
                cubin = self.path("k.cubin")
                done = subprocess.run([ptxas, "-v", "-arch=" + architecture, self.kernels, "-o", cubin], capture_output=True, text=True)
                if done.returncode == 0:
                    count += 1
                    with self.subTest(f"{version} {architecture}"):
                        yield ptxas, version, architecture, cubin, done.stderr
            print(f"ptxas {version}: {count} architectures")
            self.assertGreater(count, 0, version)

    @staticmethod
    def facts_of(log):
        """As a person reads the log, apart from flipflop."""
        kernels = {}
        for part in log.split("Compiling entry function ")[1:]:
            name = part.split("'")[1]
            frame = re.search(rf"Function properties for {name}\s*\n\s*(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", part)
            used = re.search(r"Used (\d+) registers(.*)", part)
            barriers, shared = re.search(r"used (\d+) barriers", used.group(2)), re.search(r"(\d+) bytes smem", used.group(2))
            kernels[name] = {"registers_per_thread": int(used.group(1)), "local_bytes": int(frame.group(1)), "spill_store_bytes": int(frame.group(2)), "spill_load_bytes": int(frame.group(3)),
                             "static_shared_bytes": int(shared.group(1)) if shared else 0, "barriers": int(barriers.group(1)) if barriers else None}
        return kernels

    def test_logs(self):
        for _, _, architecture, _, log in self.assembled():
            wanted = self.facts_of(log)
            self.assertEqual(len(wanted), 6)
            if architecture not in BOARDS:
                continue
            arguments = ("analyze", self.kernels, "--gpu", BOARDS[architecture], "--ptxas", "off", "--ptxas-log", self.file("log", log), "--format", "json")
            for kernel in json.loads(self.expect(0, *arguments, env=self.env).out)["kernels"]:
                got = kernel["results"][0]["resources"]
                self.assertEqual(got["registers_basis"], "ptxas")
                for key, value in wanted[kernel["name"]].items():
                    if value is not None:
                        self.assertEqual(got[key], value, (kernel["name"], key))

    def test_cubins(self):
        for _, version, architecture, cubin, log in self.assembled():
            report = json.loads(self.expect(0, "inspect", cubin, "--format", "json", env=self.env, says="FF0806").out)
            entry, = report["inputs"][0]["cubins"]
            self.assertEqual(entry["architecture"], architecture)
            wanted = self.facts_of(log)
            self.assertEqual({k["name"] for k in entry["kernels"]}, set(wanted))
            for kernel in entry["kernels"]:
                for key in ("registers_per_thread", "local_bytes", "static_shared_bytes", "barriers"):
                    value = wanted[kernel["name"]][key]
                    if value is not None:   # CUDA 11 does not say the barriers; its cubins do
                        self.assertEqual(kernel[key], value, (version, kernel["name"], key))
                self.assertEqual(kernel["max_block"], [192, 1, 1] if kernel["name"] == "shared" else kernel["max_block"])
                self.assertEqual(kernel["required_block"], [64, 2, 1] if kernel["name"] == "barriers" else None)
            barriers = {k["name"]: k["barriers"] for k in entry["kernels"]}
            self.assertEqual((barriers["barriers"], barriers["any_barrier"], barriers["shared"], barriers["empty"]), (4, 16, 1, 0))

    def test_machine_code_alone(self):
        for _, _, architecture, cubin, log in self.assembled():
            plain = architecture.rstrip("af")
            if plain not in BOARDS:
                continue
            done = self.expect(3, "analyze", cubin, "--gpu", BOARDS[plain], "--format", "json", env=self.env, says=("FF0806", f"-gencode arch=compute_{architecture[3:]},code=compute_{architecture[3:]}"))
            kernels = json.loads(done.out)["machine_kernels"]
            self.assertEqual(len(kernels), 6)
            for kernel in kernels:
                self.assertEqual(kernel["runs"], "cubin " + architecture)
                self.assertEqual(kernel["registers_per_thread"], self.facts_of(log)[kernel["name"]]["registers_per_thread"])
                alone = run("occupancy", "--gpu", BOARDS[plain], "--regs", str(kernel["registers_per_thread"]), "--block", str(kernel["block_threads"]), "--smem", str(kernel["static_shared_bytes"]),
                            "--barriers", str(kernel["barriers"]), "--format", "json")
                self.assertEqual(kernel["occupancy"]["active_warps_per_sm"], json.loads(alone.out)["active_warps_per_sm"])

    def test_fatbins(self):
        """Machine code for the GPU goes before PTX; its registers are the ones that count."""
        for ptxas, _, architecture, cubin, log in self.assembled():
            fatbinary = os.path.join(os.path.dirname(ptxas), "fatbinary")
            if architecture not in BOARDS or not os.path.exists(fatbinary):
                continue
            os.chmod(fatbinary, os.stat(fatbinary).st_mode | 0o111)
            fatbin = self.path("k.fatbin")
            subprocess.run([fatbinary, "-64", "--create=" + fatbin, f"--image3=kind=elf,sm={architecture[3:]},file={cubin}", f"--image3=kind=ptx,sm=75,file={self.kernels}"], check=True, capture_output=True)
            report = json.loads(self.expect(0, "analyze", fatbin, "--gpu", BOARDS[architecture], "--ptxas", "off", "--format", "json", env=self.env).out)
            wanted = self.facts_of(log)
            for kernel in report["kernels"]:
                result = kernel["results"][0]
                self.assertEqual(result["code"]["runs"], "cubin " + architecture)
                self.assertEqual(result["resources"]["registers_basis"], "cubin")
                for key in ("registers_per_thread", "static_shared_bytes", "local_bytes"):
                    self.assertEqual(result["resources"][key], wanted[kernel["name"]][key], (kernel["name"], key))
            # On another architecture the PTX runs, and nothing of the machine code counts.
            other = "v100" if architecture != "sm_75" else "a100"
            report = json.loads(run("analyze", fatbin, "--gpu", other, "--ptxas", "off", "--format", "json").stdout)
            for kernel in report["kernels"]:
                self.assertNotIn("cubin", kernel["results"][0]["code"]["runs"])
                self.assertEqual(kernel["results"][0]["resources"]["registers_basis"], "estimate")


if __name__ == "__main__":
    main(sys.modules[__name__])
