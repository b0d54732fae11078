#!/usr/bin/env python3
"""Kernels of Triton and Numba, compiled on the spot without a GPU. test_triton.py [CLASS...], as test_cli.py.

Needs triton and numba-cuda (PyPI), each for its own class; FLIPFLOP_TRITON_PYTHON may name a Python that has them. Skipped, with the reason, without."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from test_cli import CLEAN, Case, main, run  # noqa: E402

PYTHON = os.environ.get("FLIPFLOP_TRITON_PYTHON", sys.executable)

# Row by row: y = softmax(x). BLOCK is compiled in, and so are the options num_warps and num_stages.
TRITON = """
import sys, triton
import triton.language as tl
from triton.compiler import ASTSource
from triton.backends.compiler import GPUTarget

@triton.jit
def softmax(x, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    v = tl.load(x + row * n + at, mask=at < n, other=-float("inf"))
    v = tl.exp(v - tl.max(v, 0))
    tl.store(y + row * n + at, v / tl.sum(v, 0), mask=at < n)

@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    j = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for k0 in range(0, K, BK):
        acc += tl.dot(tl.load(a + i[:, None] * K + k0 + k[None, :]), tl.load(b + (k0 + k)[:, None] * N + j[None, :]))
    tl.store(c + i[:, None] * N + j[None, :], acc)

def compile(kernel, signature, constants, **options):
    names = list(signature) + list(constants)
    source = ASTSource(kernel, {**signature, **{k: "constexpr" for k in constants}}, {(names.index(k),): v for k, v in constants.items()})
    triton.compile(source, target=GPUTarget("cuda", 80, 32), options=options)

print(triton.__version__)
if sys.argv[1] == "softmax":
    for block in (1024, 4096):
        for warps in (4, 8):
            compile(softmax, {"x": "*fp32", "y": "*fp32", "n": "i32"}, {"BLOCK": block}, num_warps=warps)
else:
    for stages in (2, 4):
        compile(matmul, {"a": "*fp16", "b": "*fp16", "c": "*fp32", "M": "i32", "N": "i32", "K": "i32"}, {"BM": 64, "BN": 64, "BK": 32}, num_warps=4, num_stages=stages)
"""
NUMBA = """
import sys
from numba import cuda, types
def axpy(x, y, a):
    i = cuda.grid(1)
    if i < y.size:
        y[i] += a * x[i]
ptx, _ = cuda.compile_ptx(axpy, (types.float32[::1], types.float32[::1], types.float32), cc=(8, 0))
open(sys.argv[1], "w").write(ptx)
"""


def missing(module):
    done = subprocess.run([PYTHON, "-c", "import " + module], capture_output=True, text=True)
    return "" if done.returncode == 0 else f"{module} is not installed (PyPI); FLIPFLOP_TRITON_PYTHON may name a Python that has it"


class Triton(Case):
    def setUp(self):
        super().setUp()
        if missing("triton"):
            self.skipTest(missing("triton"))

    def cache(self, which):
        os.makedirs(self.path("cache"), exist_ok=True)
        done = subprocess.run([PYTHON, self.file("kernels.py", TRITON), which], capture_output=True, text=True, env={**CLEAN, "TRITON_CACHE_DIR": self.path("cache"), "HOME": self.folder.name})
        self.assertEqual(done.returncode, 0, done.stderr)
        print("triton", done.stdout.strip())
        return self.path("cache")

    def report(self, *arguments, **more):
        return json.loads(self.expect(0, "analyze", *arguments, "--gpu", "a100", "--variants", "--format", "json", **more).out)

    def test_which_constants_are_in_the_metadata(self):
        cache = self.cache("softmax")
        report = self.report(cache, "--ptxas", "off", "--grid", "4096", "--arg", "2=1000")
        ranking = report["variants"][0]["ranking"]
        self.assertEqual(len(ranking), 4)
        # num_warps, num_stages and shared are there; the constexpr BLOCK is nowhere, and two variants look alike.
        for variant in ranking:
            self.assertIn("num_warps", variant["parameters"])
            self.assertNotIn("BLOCK", variant["parameters"])
        for kernel in report["kernels"]:
            metadata = kernel["metadata"]
            for key in ("num_warps", "num_stages", "shared", "target.arch"):
                self.assertIn(key, metadata)
            self.assertNotIn("BLOCK", json.dumps(metadata))
            result = kernel["results"][0]
            self.assertEqual(result["configs"][0]["block"], [32 * int(metadata["num_warps"]), 1, 1])
            self.assertEqual(result["configs"][0]["dynamic_shared_bytes"], int(metadata["shared"]))
            # What Triton launches is the cubin that it keeps beside the PTX.
            self.assertEqual((result["code"]["runs"], result["resources"]["registers_basis"]), ("cubin sm_80", "cubin"))
        # A grid that depends on BLOCK: refused with what helps, and then told by a table.
        rule = ("--grid-x", "ceil(1000000 / BLOCK)")
        self.expect(2, "analyze", cache, "--gpu", "a100", "--ptxas", "off", "--variants", *rule, says=("'BLOCK' is not known", "--variant-table"))
        table = "variant,BLOCK\n" + "".join(f"{folder},{block}\n" for folder, block in self.blocks(cache).items())
        report = self.report(cache, "--ptxas", "off", *rule, "--arg", "2=1000", "--variant-table", self.file("blocks.csv", table))
        for variant in report["variants"][0]["ranking"]:
            self.assertEqual(variant["grid"][0], -(-1000000 // int(variant["parameters"]["BLOCK"])))
        self.assertEqual({v["parameters"]["BLOCK"] for v in report["variants"][0]["ranking"]}, {"1024", "4096"})

    @staticmethod
    def blocks(cache):
        """BLOCK by folder: the intermediate code, which flipflop does not read, has it as the width of a tensor."""
        found = {}
        for folder, _, files in os.walk(cache):
            if "softmax.ttir" in files:
                with open(os.path.join(folder, "softmax.ttir")) as file:
                    found[os.path.basename(folder)] = 4096 if "tensor<4096x" in file.read() else 1024
        return found

    def test_stages_and_shared_memory_come_from_the_metadata(self):
        report = self.report(self.cache("matmul"), "--ptxas", "off", "--grid", "16,16", "--arg", "3=1024", "--arg", "4=1024", "--arg", "5=1024")
        by_stages = {v["parameters"]["num_stages"]: v for v in report["variants"][0]["ranking"]}
        self.assertEqual(set(by_stages), {"2", "4"})
        for variant in by_stages.values():
            self.assertGreater(variant["dynamic_shared_bytes"], 0)
            self.assertEqual(variant["dynamic_shared_bytes"], int(variant["parameters"].get("shared", variant["dynamic_shared_bytes"])))
        for kernel in report["kernels"]:
            self.assertEqual(kernel["results"][0]["code"]["runs"], "cubin sm_80")
            self.assertEqual(kernel["results"][0]["configs"][0]["dynamic_shared_bytes"], int(kernel["metadata"]["shared"]))


class Numba(Case):
    def test_ptx_as_dumped(self):
        if missing("numba.cuda"):
            self.skipTest(missing("numba.cuda"))
        done = subprocess.run([PYTHON, self.file("kernel.py", NUMBA), self.path("numba.ptx")], capture_output=True, text=True, env={**CLEAN, "HOME": self.folder.name})
        if not os.path.exists(self.path("numba.ptx")):
            self.skipTest("numba-cuda cannot compile here: " + done.stderr.strip().splitlines()[-1])
        report = json.loads(self.expect(0, "analyze", self.path("numba.ptx"), "--gpu", "a100", "--ptxas", "off", "--work", "1000000", "--format", "json").out)
        kernel, = report["kernels"]
        self.assertIn("axpy", kernel["demangled"] or kernel["name"])
        self.assertTrue(kernel["results"][0]["recommendation"])
        # An array is seven scalars to Numba: two addresses, sizes, strides.
        self.assertEqual([p["type"] for p in kernel["parameters"]].count("u64") >= 8, True)
        text = run("inspect", self.path("numba.ptx"))
        self.assertEqual(text.returncode, 0)


if __name__ == "__main__":
    main(sys.modules[__name__])
