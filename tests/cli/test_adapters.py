#!/usr/bin/env python3
"""Every outside tool absent, present, broken and slow: test_adapters.py [CLASS...], as test_cli.py.

ptxas, nvcc, clang and llc are small scripts, NVRTC a small library: what they do is what the name of the test says."""
import json
import os
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from test_cli import AXPY, FLIPFLOP, Case, CLEAN, main  # noqa: E402

CUDA = "__global__ void axpy(float *x, float *y, float a, int n) {}\n"
LLVM = "; ModuleID = 'k'\nsource_filename = \"k\"\ndefine void @axpy() {\n ret void\n}\n"

# How each answers when asked its version, and what makes its output; OUT is the file behind -o.
TOOLS = {
    "ptxas": {"version": "Cuda compilation tools, release 13.0, V13.0.99", "input": "axpy.ptx", "content": AXPY, "flags": [],
              "good": "echo \"ptxas info    : Compiling entry function 'axpy' for 'sm_80'\" >&2; echo 'ptxas info    : Used 77 registers, used 0 barriers' >&2; : > OUT"},
    "nvcc": {"version": "Cuda compilation tools, release 13.0, V13.0.99", "input": "axpy.cu", "content": CUDA, "flags": ["--compiler", "nvcc", "--ptxas", "off"],
             "good": 'cat "$here/kernel.ptx" > OUT'},
    "clang": {"version": "clang version 19.1.7", "input": "axpy.cu", "content": CUDA, "flags": ["--compiler", "clang", "--ptxas", "off"], "good": 'cat "$here/kernel.ptx" > OUT'},
    "llc": {"version": "LLVM version 19.1.7", "input": "axpy.ll", "content": LLVM, "flags": ["--ptxas", "off"], "good": 'cat "$here/kernel.ptx" > OUT'},
}
SCRIPT = """#!/bin/sh
here=$(dirname "$0")
case "$1" in
    --version) VERSION;;
    --list-gpu-arch) echo compute_80; exit 0;;
esac
out=/dev/null
last=
for a in "$@"; do
    [ "$last" = -o ] && out=$a
    last=$a
done
DO
"""
NVRTC = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static const char *ptx, *log_text = "";
int nvrtcVersion(int *a, int *b) { *a = 13; *b = 0; VERSION; return 0; }
int nvrtcGetNumSupportedArchs(int *n) { *n = 1; return 0; }
int nvrtcGetSupportedArchs(int *a) { a[0] = 80; return 0; }
int nvrtcCreateProgram(void **p, const char *s, const char *n, int c, const char *const *h, const char *const *i) { *p = (void *)1; return 0; }
int nvrtcCompileProgram(void *p, int n, const char *const *o) { DO }
int nvrtcGetPTXSize(void *p, size_t *n) { *n = strlen(ptx) + 1; return 0; }
int nvrtcGetPTX(void *p, char *to) { strcpy(to, ptx); return 0; }
int nvrtcGetProgramLogSize(void *p, size_t *n) { *n = strlen(log_text) + 1; return 0; }
int nvrtcGetProgramLog(void *p, char *to) { strcpy(to, log_text); return 0; }
int nvrtcDestroyProgram(void **p) { return 0; }
"""

# What a tool may do wrong, when asked to work: in the shell, in C, and the words that tell of it.
WRONGS = {
    "exits 1 in silence": ("exit 1", "return 6;", ("ended with code 1", "failed", "gives no PTX")),
    "prints an error": ("echo 'axpy(3): error: too odd' >&2; exit 2", 'log_text = "axpy(3): error: too odd"; return 6;', ("too odd",)),
    "prints garbage and exits 1": ("head -c 3000 /dev/urandom >&2; exit 1", 'log_text = "\\x01\\x02\\xff\\x1b[31m"; return 6;', ("ended with code 1", "failed", "gives no PTX")),
    "crashes": ("kill -SEGV $$", "abort();", ("crashed",)),
    "hangs": ("sleep 600", "sleep(600); return 0;", ("took longer than 1 s",)),
    "ends well and leaves nothing": ("exit 0", 'ptx = ""; return 0;', ("left no PTX", "no kernel in the output", "gives no PTX")),
    "leaves garbage": ("head -c 3000 /dev/urandom > OUT; exit 0", 'ptx = "\\x7f\\x02 not PTX"; return 0;', ("no kernel", "FF0", "left no PTX")),
}


class AdapterCase(Case):
    def setUp(self):
        super().setUp()
        os.mkdir(self.path("bin"))
        os.mkdir(self.path("tmp"))
        self.file("bin/kernel.ptx", AXPY)
        self.env = {"PATH": self.path("bin") + ":/usr/bin:/bin", "XDG_CACHE_HOME": self.path("cache"), "CUDA_HOME": self.path("cuda"), "HOME": self.folder.name, "TMPDIR": self.path("tmp")}
        self.bare = {**self.env, "PATH": self.path("bin")}

    def put(self, name, do, version=None):
        """A tool that answers --version (or does `version`) and does `do` when asked to work."""
        tool = TOOLS[name]
        script = SCRIPT.replace("VERSION", version or f"echo '{tool['version']}'; exit 0").replace("DO", do).replace("OUT", '"$out"')
        for file in {"clang": ("clang++-19", "clang++"), "llc": ("llc-19",)}.get(name, (name,)):
            os.chmod(self.file("bin/" + file, script), 0o755)

    def put_nvrtc(self, do, version=""):
        compiler = shutil.which("cc") or shutil.which("gcc")
        if not compiler:
            self.skipTest("no C compiler for a library that stands for NVRTC")
        os.makedirs(self.path("cuda/lib64"), exist_ok=True)
        source = self.file("nvrtc.c", NVRTC.replace("VERSION", version or ";").replace("DO", do.replace("GOOD_PTX", json.dumps(AXPY))))
        subprocess.run([compiler, "-shared", "-fPIC", "-w", "-o", self.path("cuda/lib64/libnvrtc.so"), source], check=True)

    def ask(self, name, code, *more, env=None, **options):
        tool = TOOLS[name]
        path = self.file(tool["input"], tool["content"])
        return self.expect(code, "analyze", path, "--gpu", "a100", "--format", "json", *tool["flags"], *more, env=env or self.env, **options)

    def nothing_is_left(self):
        self.assertEqual(os.listdir(self.path("tmp")), [], "temporary folders")


class Compilers(AdapterCase):
    """nvcc, clang and llc are required where the input is theirs: exit 4, or 3 where the source is at fault."""

    def test_absent(self):
        for name in ("nvcc", "clang", "llc"):
            with self.subTest(name):
                self.ask(name, 4, env=self.bare, says="FF0610")

    def test_present(self):
        for name in ("nvcc", "clang", "llc"):
            with self.subTest(name):
                self.put(name, TOOLS[name]["good"])
                report = json.loads(self.ask(name, 0, env=self.env).out)
                self.assertEqual(report["used"][name], {"nvcc": "13.0.99"}.get(name, "19.1.7"))
                self.assertEqual([k["name"] for k in report["kernels"]], ["axpy"])
                self.nothing_is_left()

    def test_broken_and_slow(self):
        for name in ("nvcc", "clang", "llc"):
            for wrong, (do, _, words) in WRONGS.items():
                with self.subTest(f"{name} {wrong}"):
                    self.put(name, do)
                    code = 3 if wrong in ("prints an error", "leaves garbage") else 4
                    done = self.ask(name, code, "--compile-timeout", "1", env=self.env)
                    self.assertTrue(any(w in done.err for w in words), done.err)
                    self.assertLess(len(done.err), 8000)
                    self.nothing_is_left()

    def test_no_answer_to_the_version(self):
        for name in ("nvcc", "clang", "llc"):
            for version in ("exit 1", "exit 0", "head -c 3000 /dev/urandom", "kill -SEGV $$"):
                with self.subTest(f"{name} {version}"):
                    self.put(name, TOOLS[name]["good"], version)
                    self.ask(name, 4, says="FF0611")


class Assembler(AdapterCase):
    """ptxas is used where it works; else registers are estimated, with a word; exit 4 only where it was required."""

    def test_absent(self):
        report = json.loads(self.ask("ptxas", 0, env=self.bare).out)
        self.assertIsNone(report["used"]["ptxas"])
        self.ask("ptxas", 4, "--ptxas", "require", env=self.bare, says="FF0601")

    def test_present(self):
        self.put("ptxas", TOOLS["ptxas"]["good"] + "; echo x >> \"$here/calls\"")
        first = self.ask("ptxas", 0)
        resources = json.loads(first.out)["kernels"][0]["results"][0]["resources"]
        self.assertEqual((resources["registers_per_thread"], resources["registers_basis"]), (77, "ptxas"))
        # Kept by content: the second run asks it nothing but its version, and says the same.
        self.assertEqual(self.ask("ptxas", 0).out, first.out)
        with open(self.path("bin/calls")) as calls:
            self.assertEqual(len(calls.read().split()), 1)
        self.ask("ptxas", 0, "--no-cache")
        with open(self.path("bin/calls")) as calls:
            self.assertEqual(len(calls.read().split()), 2)
        # Another version is another answer.
        self.put("ptxas", TOOLS["ptxas"]["good"].replace("77", "78"), "echo 'release 13.1, V13.1.5'; exit 0")
        self.assertEqual(json.loads(self.ask("ptxas", 0).out)["kernels"][0]["results"][0]["resources"]["registers_per_thread"], 78)
        self.nothing_is_left()

    def test_broken_and_slow(self):
        for wrong, (do, _, words) in WRONGS.items():
            with self.subTest(wrong):
                self.put("ptxas", do)
                done = self.ask("ptxas", 0, "--compile-timeout", "1", says="ptxas was not used")
                self.assertTrue(any(w in done.err for w in words), done.err)
                resources = json.loads(done.out)["kernels"][0]["results"][0]["resources"]
                self.assertEqual(resources["registers_basis"], "estimate")
                self.ask("ptxas", 4, "--ptxas", "require", "--compile-timeout", "1")
                self.nothing_is_left()

    def test_no_answer_to_the_version(self):
        for version in ("exit 1", "exit 0", "head -c 3000 /dev/urandom", "kill -SEGV $$"):
            with self.subTest(version):
                self.put("ptxas", TOOLS["ptxas"]["good"], version)
                self.assertIsNone(json.loads(self.ask("ptxas", 0, says="FF060").out)["used"]["ptxas"])
                self.ask("ptxas", 4, "--ptxas", "require")

    def test_one_that_hangs_is_not_waited_for_again_and_again(self):
        self.put("ptxas", "sleep 600")
        kernels = "".join(AXPY.replace("axpy", f"k{i}") if i == 0 else AXPY.replace("axpy", f"k{i}").split("64\n", 1)[1] for i in range(6))
        start = time.monotonic()
        done = self.expect(0, "analyze", self.file("six.ptx", kernels), "--gpu", "a100", "--compile-timeout", "1", "-j", "1", env=self.env, says=("took longer than 1 s", "was not run again"))
        self.assertEqual(done.err.count("took longer than"), 1, "once, not once a kernel")
        self.assertLess(time.monotonic() - start, 60)


class Library(AdapterCase):
    """NVRTC runs in a process of its own; what it does wrong is a row with its error, or another compiler's turn."""

    GOOD = "ptx = GOOD_PTX; return 0;"

    def tune(self, code, *more, **options):
        self.file("axpy.cu", CUDA)
        return self.expect(code, "tune", self.path("axpy.cu"), "--define", "block_size_x=64,128", "--gpu", "a100", "--ptxas", "off", "--format", "json", *more, env=self.env, **options)

    def test_absent(self):
        self.tune(4, "--compiler", "nvrtc", says="FF0610")

    def test_present(self):
        self.put_nvrtc(self.GOOD)
        report = json.loads(self.tune(0, "--compiler", "nvrtc").out)
        self.assertEqual(report["used"]["nvrtc"], "13.0")
        self.assertEqual(report["results"][0]["counts"]["compiled"], 2)

    def test_broken_and_slow(self):
        for wrong, (_, do, words) in WRONGS.items():
            with self.subTest(wrong):
                self.put_nvrtc(do)
                code = 4 if wrong in ("crashes", "hangs") else 3
                done = self.tune(code, "--compiler", "nvrtc", "--compile-timeout", "1")
                self.assertTrue(any(w in done.err for w in words), done.err)
                # nvcc takes its place where it is there.
                self.put("nvcc", TOOLS["nvcc"]["good"])
                if wrong != "leaves garbage":
                    report = json.loads(self.tune(0, "--compile-timeout", "1").out)
                    self.assertEqual(report["results"][0]["counts"]["compiled"], 2)
                os.unlink(self.path("bin/nvcc"))
                self.nothing_is_left()

    def test_not_a_library(self):
        os.makedirs(self.path("cuda/lib64"))
        self.file("cuda/lib64/libnvrtc.so", b"\x7fELF no library")
        self.tune(4, "--compiler", "nvrtc", says="does not work as NVRTC")
        self.put_nvrtc(self.GOOD, version="abort()")
        self.tune(4, "--compiler", "nvrtc", says="does not work as NVRTC")


class Interrupted(AdapterCase):
    """A signal ends flipflop as it would have; no compiler and no temporary folder is left."""

    def test_signals(self):
        for name in ("nvcc", "ptxas"):
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                with self.subTest(f"{name} {number}"):
                    # It notes its number, leaves a file in TMPDIR, and has a child of its own.
                    self.put(name, 'echo $$ > "$here/running"; : > "$TMPDIR/of_the_compiler"; sleep 600 & sleep 600')
                    running = self.path("bin/running")
                    if os.path.exists(running):
                        os.unlink(running)
                    path = self.file(TOOLS[name]["input"], TOOLS[name]["content"])
                    process = subprocess.Popen([FLIPFLOP, "analyze", path, "--gpu", "a100", *TOOLS[name]["flags"]], env={**CLEAN, **self.env}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                    for _ in range(400):
                        if os.path.exists(running) and os.path.getsize(running) > 0:
                            break
                        time.sleep(0.05)
                    with open(running) as file:
                        leader = int(file.read())
                    process.send_signal(number)
                    self.assertEqual(process.wait(timeout=30), -number)
                    for _ in range(100):
                        try:
                            os.killpg(leader, 0)
                        except ProcessLookupError:
                            break
                        time.sleep(0.05)
                    else:
                        self.fail("the compiler still runs")
                    self.nothing_is_left()
                    os.unlink(self.path("bin/" + name))


class Cache(AdapterCase):
    """What is kept stays below its limit, the longest unused first to go."""

    def test_limit(self):
        self.put("nvcc", TOOLS["nvcc"]["good"] + '; head -c 300000 /dev/zero | tr "\\0" "/" >> OUT')
        self.file("axpy.cu", CUDA)
        arguments = ["tune", self.path("axpy.cu"), "--gpu", "a100", "--ptxas", "off", "--compiler", "nvcc", "--cache-limit", "1", "--format", "json"]
        self.expect(0, *arguments, "--define", "block_size_x=[32*i for i in range(1, 9)]", env=self.env)
        sizes = [os.path.getsize(os.path.join(folder, f)) for folder, _, files in os.walk(self.path("cache")) for f in files]
        self.assertLessEqual(sum(sizes), 1 << 20)
        self.assertGreater(len(sizes), 0)
        self.expect(2, *arguments[:-4], "--cache-limit", "0", "--define", "block_size_x=32", env=self.env)


if __name__ == "__main__":
    main(sys.modules[__name__])
