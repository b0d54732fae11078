#!/usr/bin/env python3
"""tune and source inputs from outside, with compilers that are absent, present, broken and slow. test_tune.py [CLASS...], as test_cli.py.

The compilers are small scripts of our own, so that nothing of CUDA is needed; with a real nvcc on PATH or in /usr/local/cuda the last class
runs that too."""
import csv
import io
import json
import os
import resource
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from test_cli import AXPY, FLIPFLOP, SOURCE, CLEAN, Case, main, run, validator  # noqa: E402

# Answers as nvcc does; "compiles" by writing the PTX beside it with the macros in a comment. What SAY holds is run first.
FAKE_NVCC = """#!/bin/sh
here=$(dirname "$0")
case "$1" in
    --version) echo "Cuda compilation tools, release 13.0, V13.0.99"; exit 0;;
    --list-gpu-arch) echo compute_80; echo compute_90; exit 0;;
esac
echo "$@" >> "$here/calls"
out=
last=
for a in "$@"; do
    [ "$last" = -o ] && out=$a
    last=$a
done
SAY
cp "$here/kernel.ptx" "$out" || exit 1
for a in "$@"; do case "$a" in -D*) echo "// $a" >> "$out";; esac; done
"""
SPEC = {
    "ConfigurationSpace": {
        "TuningParameters": [
            {"Name": "block_size_x", "Type": "int", "Values": "[32 * i for i in range(1, 5)]", "Default": 64},
            {"Name": "mode", "Type": "int", "Values": "[0, 1]", "Default": 0},
        ],
        "Conditions": [{"Expression": "block_size_x > 32 or mode == 0", "Parameters": ["block_size_x", "mode"]}],
    },
    "KernelSpecification": {
        "Language": "CUDA", "KernelName": "axpy", "KernelFile": "axpy.cu", "CompilerOptions": ["-std=c++17"],
        "LocalSize": {"X": "block_size_x", "Y": "1", "Z": "1"}, "ProblemSize": [1048576], "GridDivX": ["block_size_x"],
    },
}
SOURCE_TEXT = "// axpy\n__global__ void axpy(int n, float a, const float *x, float *y) {}\n"


class TuneCase(Case):
    def setUp(self):
        super().setUp()
        os.mkdir(self.path("bin"))
        self.source = self.file("axpy.cu", SOURCE_TEXT)
        self.spec = self.file("spec.json", json.dumps(SPEC))
        self.env = {"PATH": self.path("bin") + ":/usr/bin:/bin", "XDG_CACHE_HOME": self.path("cache"), "CUDA_HOME": "", "HOME": self.folder.name}

    def nvcc(self, say=":"):
        self.file("bin/kernel.ptx", AXPY)
        os.chmod(self.file("bin/nvcc", FAKE_NVCC.replace("SAY", say)), 0o755)

    def calls(self):
        try:
            with open(self.path("bin/calls")) as file:
                return file.read().splitlines()
        except FileNotFoundError:
            return []

    def tune(self, code, *arguments, **more):
        return self.expect(code, "tune", *arguments, env={**self.env, **more.pop("env", {})}, **more)

    def rows(self, *arguments, code=0, **more):
        done = self.tune(code, self.spec, "--gpu", "a100", "--ptxas", "off", "--compiler", "nvcc", "--format", "json", *arguments, **more)
        report = json.loads(done.out)
        return report, report["results"][0]["configs"], done


class Tune(TuneCase):
    def test_every_configuration_is_a_row_best_first(self):
        self.nvcc()
        report, rows, _ = self.rows()
        self.assertEqual(report["schema"], "flipflop.tune/1")
        self.assertEqual(report["space"]["size"], 7)
        self.assertEqual(len(rows), 7)
        self.assertEqual([r["rank"] for r in rows], list(range(1, 8)))
        self.assertEqual(report["used"]["nvcc"], "13.0.99")
        for row in rows:
            self.assertEqual(row["block_x"], row["block_size_x"])
            self.assertEqual(row["grid_x"], -(-1048576 // row["block_size_x"]))
            for key in ("registers", "occupancy", "time_us", "power_w", "energy_mj"):
                self.assertGreater(row[key], 0, key)
            self.assertIsNone(row["safe"], "nobody said what is in use")
            self.assertIsNone(row["error"])
        self.assertTrue(rows[0]["kept"] and rows[0]["recommended"])
        self.assertTrue(report["results"][0]["recommendation"]["reasons"])
        # Times grow down the list but for ties, which the ranking breaks by energy.
        self.assertTrue(all(a["time_us"] <= b["time_us"] * (1 + 1e-9) for a, b in zip(rows, rows[1:])))
        # The compiler was given the macros, the file's options and the GPU's architecture.
        call = next(c for c in self.calls() if "-Dblock_size_x=32 " in c)
        for word in ("-Dblock_size_x=32", "-Dmode=0", "-Dkernel_tuner=1", "-std=c++17", "-arch=compute_80"):
            self.assertIn(word, call.split())

    def test_csv_has_the_same_rows(self):
        self.nvcc()
        _, rows, _ = self.rows()
        done = self.tune(0, self.spec, "--gpu", "a100", "--ptxas", "off", "--compiler", "nvcc", "--format", "csv")
        table = list(csv.DictReader(io.StringIO(done.out)))
        self.assertEqual([int(r["rank"]) for r in table], [r["rank"] for r in rows])
        self.assertEqual([float(r["time_us"]) for r in table], [r["time_us"] for r in rows])
        for column in ("block_size_x", "mode", "block_x", "block_y", "block_z", "grid_x", "grid_y", "grid_z", "registers", "occupancy", "time_us", "power_w", "energy_mj", "safe", "kept", "rank", "error"):
            self.assertIn(column, table[0])

    def test_a_second_run_compiles_nothing_and_says_the_same(self):
        self.nvcc()
        first = self.rows()[2].out
        calls = len(self.calls())
        self.assertEqual(calls, 7)
        self.assertEqual(self.rows()[2].out, first)
        self.assertEqual(len(self.calls()), calls, "all came from the cache")
        self.file("axpy.cu", SOURCE_TEXT + "// changed\n")
        self.rows()
        self.assertEqual(len(self.calls()), 2 * calls, "another source is another content")
        self.rows("--no-cache")
        self.assertEqual(len(self.calls()), 3 * calls)

    def test_an_included_file_is_content_too(self):
        self.nvcc()
        self.file("axpy.cu", '#include "more.h"\n' + SOURCE_TEXT)
        self.file("more.h", "#define A 1\n")
        self.rows()
        calls = len(self.calls())
        self.file("more.h", "#define A 2\n")
        self.rows()
        self.assertEqual(len(self.calls()), 2 * calls)

    def test_one_that_does_not_compile_is_a_row_with_its_error(self):
        self.nvcc('case "$*" in *block_size_x=96*) echo "axpy.cu(7): error: too odd" >&2; exit 2;; esac')
        report, rows, _ = self.rows()
        bad = [r for r in rows if r["block_size_x"] == 96]
        self.assertEqual(len(bad), 2)
        for row in bad:
            self.assertEqual((row["error"], row["error_stage"], row["rank"], row["time_us"], row["kept"]), ("axpy.cu:7: too odd", "compile", None, None, False))
        self.assertEqual(report["results"][0]["counts"], {"compiled": 5, "failed": 2, "launchable": 5, "kept": report["results"][0]["counts"]["kept"]})

    def test_one_that_cannot_be_launched_is_a_row_with_its_error(self):
        self.nvcc()
        _, rows, _ = self.rows("--define", "block_size_x=64,2048")
        self.assertEqual([r["rank"] is None for r in rows], [False, False, True, True])
        self.assertEqual(rows[-1]["error_stage"], "launch")
        self.assertIn("1024", rows[-1]["error"])

    def test_safe_between_variants(self):
        # mode 1 reads one element further on: other bytes.
        other = AXPY.replace("mul.wide.s32 %rd5, %r1, 4;", "mul.wide.s32 %rd5, %r1, 4;\n\tadd.s64 %rd5, %rd5, 4;")
        self.assertNotEqual(other, AXPY)
        self.nvcc()
        self.file("bin/other.ptx", other)
        self.nvcc('case "$*" in *-Dmode=1*) cp "$here/other.ptx" "$out"; exit 0;; esac')
        report, rows, _ = self.rows("--reference", "block_size_x=64,mode=0", "--arg", "3=1048576")
        reference = [r for r in rows if r["reference"]]
        self.assertEqual([(r["block_size_x"], r["mode"], r["safe"]) for r in reference], [(64, 0, True)])
        self.assertTrue(any(r["safe"] and not r["reference"] for r in rows), "another block of the same code")
        for row in rows:
            if row["mode"] == 1:
                self.assertIsNot(row["safe"], True)
                self.assertFalse(row["kept"] and row["safe"] is False)
        self.assertEqual(rows[0]["mode"], 0)

    def test_defines_without_a_file(self):
        self.nvcc()
        done = self.tune(0, self.source, "--define", "TILE=32,64,128", "--restrict", "TILE < 100", "--block", "TILE", "--work", "1048576", "--gpu", "a100", "--ptxas", "off",
                         "--compiler", "nvcc", "--format", "json")
        rows = json.loads(done.out)["results"][0]["configs"]
        self.assertEqual(sorted((r["TILE"], r["block_x"], r["grid_x"]) for r in rows), [(32, 32, 32768), (64, 64, 16384)])
        done = self.tune(0, self.source, "--define", "TILE=32,64", "--block", "TILE", "--grid-x", "ceil(4096 / (2 * TILE))", "--gpu", "a100", "--ptxas", "off", "--compiler", "nvcc", "--format", "json")
        self.assertEqual(sorted(r["grid_x"] for r in json.loads(done.out)["results"][0]["configs"]), [32, 64])

    def test_sample_seed_configs_and_list(self):
        self.nvcc()
        names = [sorted((r["block_size_x"], r["mode"]) for r in self.rows("--sample", "3", "--seed", seed)[1]) for seed in ("1", "1", "2", "3")]
        self.assertEqual(names[0], names[1])
        self.assertTrue(names[0] != names[2] or names[0] != names[3])
        table = self.file("configs.csv", "mode,block_size_x\n0,32\n1,32\n1,48\n")
        _, rows, _ = self.rows("--configs", table)
        self.assertEqual(len(rows), 3)
        self.assertEqual([(r["block_size_x"], r["mode"], r["error_stage"]) for r in rows if r["error"]], [(32, 1, "constraints")])
        listed = self.tune(0, self.spec, "--list", "--format", "csv")
        self.assertEqual(len(listed.out.splitlines()), 8)

    def test_text_and_progress(self):
        self.nvcc()
        done = self.tune(0, self.spec, "--gpu", "a100", "--ptxas", "off", "--compiler", "nvcc")
        self.assertIn("Recommended for time", done.out)
        self.assertEqual(done.err, "", "progress is for terminals")
        self.assertNotIn(self.folder.name + "/bin", done.out)

    def test_two_runs_share_one_cache(self):
        self.nvcc("sleep 0.05")
        command = [FLIPFLOP, "tune", self.spec, "--gpu", "a100", "--ptxas", "off", "--compiler", "nvcc", "--format", "csv"]
        both = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**CLEAN, **self.env}) for _ in range(3)]
        outputs = [p.communicate(timeout=120) for p in both]
        self.assertEqual([p.returncode for p in both], [0, 0, 0], outputs)
        self.assertEqual(len({out for out, _ in outputs}), 1)
        calls = len(self.calls())
        self.assertEqual(self.rows()[0]["used"]["nvcc"], "13.0.99")
        self.assertEqual(len(self.calls()), calls, "what they left is whole")
        self.assertEqual([f for _, _, files in os.walk(self.path("cache")) for f in files if "." in f], [], "nothing half-written is left")

    def test_a_damaged_cache_is_made_anew(self):
        self.nvcc()
        first = self.rows()[2].out
        calls = len(self.calls())
        for folder, _, files in os.walk(self.path("cache")):
            for i, name in enumerate(files):
                with open(os.path.join(folder, name), "r+b") as file:
                    file.truncate(40) if i % 2 else file.write(b"garbage")
        self.assertEqual(self.rows()[2].out, first)
        self.assertEqual(len(self.calls()), 2 * calls)


class TuneBadInput(TuneCase):
    def spec_with(self, **changes):
        spec = json.loads(json.dumps(SPEC))
        for path, value in changes.items():
            target, *keys = [spec[path.split("__")[0]]] + path.split("__")[1:]
            for key in keys[:-1]:
                target = target[int(key)] if key.isdigit() else target[key]
            if value is None:
                del target[keys[-1]]
            else:
                target[keys[-1]] = value
        return self.file("bad.json", json.dumps(spec))

    def test_an_expression_that_is_not_allowed(self):
        marker = self.path("marker")
        for expression in (f"__import__('os').system('touch {marker}')", f"open('{marker}', 'w')", "(1).__class__", "lambda: [1]"):
            self.tune(3, self.spec_with(ConfigurationSpace__TuningParameters__0__Values=expression), "--gpu", "a100", says=("FF0841", "block_size_x"))
            self.tune(3, self.spec_with(ConfigurationSpace__Conditions__0__Expression=expression), "--gpu", "a100", says="condition 1")
        self.assertFalse(os.path.exists(marker), "nothing is executed")

    def test_files_and_parameters(self):
        self.nvcc()
        self.tune(3, self.spec_with(KernelSpecification__KernelFile="gone.cu"), "--gpu", "a100", says=("gone.cu", "KernelFile"))
        self.tune(3, self.path("gone.json"), "--gpu", "a100", says="gone.json")
        self.tune(3, self.spec_with(ConfigurationSpace__TuningParameters__1__Values="[]"), "--gpu", "a100", says=("'mode' has no values"))
        self.tune(3, self.spec_with(ConfigurationSpace__TuningParameters__1__Values=None), "--gpu", "a100", says=("'mode' has no Values"))
        self.tune(3, self.file("broken.json", '{"a": 1,\n oops}'), "--gpu", "a100", says="broken.json:2")
        self.tune(3, self.spec_with(ConfigurationSpace__Conditions__0__Expression="False"), "--gpu", "a100", says="no configuration satisfies")
        self.tune(3, self.spec_with(KernelSpecification__Language="OpenCL"), "--gpu", "a100", says="OpenCL")
        done = self.tune(3, self.spec_with(KernelSpecification__KernelName="nobody"), "--gpu", "a100", "--compiler", "nvcc", "--ptxas", "off", says="there is no kernel 'nobody' (there is axpy")
        self.assertIn("nobody", done.err)

    def test_usage(self):
        self.nvcc()
        self.tune(2, self.spec, says="--gpu")
        self.tune(2, self.spec, "--gpu", "nothing", says="nothing")
        self.tune(2, self.source, "--gpu", "a100", says="no tuning parameter is defined")
        self.tune(2, self.source, "--define", "TILE=", "--gpu", "a100", says="TILE")
        self.tune(2, self.source, "--define", "TILE=1,2", "--restrict", "open('x')", "--gpu", "a100", says="open")
        self.tune(2, self.spec, "--reference", "nobody=3", "--gpu", "a100", says="nobody")
        self.tune(2, self.spec, "--reference", "mode=7", "--gpu", "a100", says="7")
        self.tune(2, self.spec, "--export", "excel", "--gpu", "a100", says="excel")
        self.tune(2, self.spec, "--configs", self.path("gone.csv"), "--gpu", "a100", says="gone.csv")
        self.tune(2, self.spec, "--sample", "0", "--gpu", "a100")

    def test_a_space_of_a_billion_is_refused_with_its_count(self):
        parameters = [{"Name": f"p{i}", "Type": "int", "Values": "list(range(1000))"} for i in range(3)]
        spec = json.loads(json.dumps(SPEC))
        spec["ConfigurationSpace"] = {"TuningParameters": parameters, "Conditions": [{"Expression": "p0 != p1", "Parameters": ["p0", "p1"]}]}
        spec["KernelSpecification"]["LocalSize"] = {"X": "64"}
        spec["KernelSpecification"]["GridDivX"] = [64]
        path = self.file("huge.json", json.dumps(spec))
        start = time.monotonic()
        self.tune(3, path, "--gpu", "a100", says=("999000000", "--sample"))
        done = self.tune(0, path, "--list", "--sample", "5", "--format", "json")
        self.assertEqual(len(json.loads(done.out)["configs"]), 5)
        self.assertLess(time.monotonic() - start, 20)

    def test_no_compiler_is_exit_4(self):
        self.env["PATH"] = self.path("bin")
        self.tune(4, self.spec, "--gpu", "a100", says=("FF0610", "nvcc"))
        self.tune(4, self.spec, "--gpu", "a100", "--compiler", self.path("nothing"), says="nothing")

    def test_a_compiler_that_does_not_work(self):
        for say, words in (("kill -SEGV $$", "crashed"), ("exit 3", "ended with code 3"), ("exit 0", "left no PTX")):
            self.nvcc(say)
            self.tune(4, self.spec, "--gpu", "a100", "--compiler", "nvcc", says=words)
        os.chmod(self.file("bin/nvcc", "#!/bin/sh\nexit 1\n"), 0o755)
        self.tune(4, self.spec, "--gpu", "a100", "--compiler", "nvcc", says="--version")

    def test_a_compiler_that_hangs_is_cut(self):
        self.nvcc("sleep 1000")
        start = time.monotonic()
        self.tune(4, self.spec, "--gpu", "a100", "--compiler", "nvcc", "--compile-timeout", "1", says="took longer than 1 s")
        self.assertLess(time.monotonic() - start, 30)
        # One that hangs for one variant only costs that one.
        self.nvcc('case "$*" in *block_size_x=96*-Dmode=1*) sleep 1000;; esac')
        _, rows, _ = self.rows("--compile-timeout", "2")
        self.assertEqual([(r["block_size_x"], r["mode"]) for r in rows if r["error"]], [(96, 1)])

    def test_a_compiler_that_prints_100_mb(self):
        chatter = 'yes "nothing of interest" | head -c 100000000 >&2;'
        self.nvcc(chatter + " exit 1")
        done = self.tune(4, self.spec, "--gpu", "a100", "--compiler", "nvcc", "--sample", "1", says="more than 1 MiB of messages")
        self.assertLess(len(done.err), 20000)
        self.nvcc('echo "axpy.cu(3): error: enough" >&2; ' + chatter + " exit 1")
        self.tune(3, self.spec, "--gpu", "a100", "--compiler", "nvcc", "--sample", "1", says="axpy.cu:3: enough")
        self.nvcc(chatter)
        self.assertEqual({r["error"] for r in self.rows("--sample", "2")[1]}, {None})

    def test_a_full_disk(self):
        self.nvcc()
        whole = self.rows("--no-cache")[2].out

        def small():
            resource.setrlimit(resource.RLIMIT_FSIZE, (600, 600))
        # The cache cannot be written and neither can the compiler's output: words, not a crash.
        self.tune(4, self.spec, "--gpu", "a100", "--compiler", "nvcc", preexec_fn=small)
        # Only the cache has no room: the run is as good as any, and says so.
        self.file("cache", "not a folder")
        report, _, done = self.rows()
        self.assertIn("FF0615", done.err)
        self.assertEqual(json.loads(whole)["results"], report["results"])


class Sources(TuneCase):
    """analyze, inspect and explain of source code."""

    def test_cu_goes_through_nvcc_with_flags_macros_and_folders(self):
        self.nvcc()
        done = self.expect(0, "analyze", self.source, "--gpu", "a100", "--ptxas", "off", "-D", "A=1", "-I", "inc", "--format", "json", "--", "-use_fast_math", "-DB=2", env=self.env)
        report = json.loads(done.out)
        self.assertEqual(report["inputs"][0]["kind"], "cuda")
        self.assertEqual(report["used"]["nvcc"], "13.0.99")
        self.assertEqual([k["name"] for k in report["kernels"]], ["axpy"])
        words = self.calls()[0].split()
        for word in ("-DA=1", "-Iinc", "-use_fast_math", "-DB=2", "-arch=compute_80", "-lineinfo"):
            self.assertIn(word, words)
        again = self.expect(0, "analyze", self.source, "--gpu", "a100", "--ptxas", "off", "-D", "A=1", "-I", "inc", "--format", "json", "--", "-use_fast_math", "-DB=2", env=self.env)
        self.assertEqual((again.out, len(self.calls())), (done.out, 1))
        inspected = json.loads(self.expect(0, "inspect", self.source, "--format", "json", env=self.env).out)
        self.assertEqual(inspected["inputs"][0]["kind"], "cuda")
        self.expect(0, "explain", self.source, "--gpu", "a100", "--ptxas", "off", "--block", "128", env=self.env)

    def test_the_oldest_gpu_decides_the_architecture(self):
        self.nvcc()
        self.expect(0, "analyze", self.source, "--gpu", "h100", "--ptxas", "off", env=self.env)
        self.assertIn("-arch=compute_90", self.calls()[-1])
        self.expect(0, "analyze", self.source, "--gpu", "h100", "--gpu", "a100", "--ptxas", "off", env=self.env)
        self.assertIn("-arch=compute_80", self.calls()[-1])
        self.expect(4, "analyze", self.source, "--gpu", "v100", "--compiler", "nvcc", "--ptxas", "off", env=self.env, says=("FF0613", "compute_70"))

    def test_compiler_errors_come_with_their_lines(self):
        self.nvcc('echo "$last(12): error: identifier \\"oops\\" is undefined" >&2; echo "$last(13): error: and more" >&2; exit 1')
        done = self.expect(3, "analyze", self.source, "--gpu", "a100", env=self.env, says=("axpy.cu:12", "oops", "axpy.cu:13"))
        self.assertNotIn("internal", done.err)

    def test_compile_commands(self):
        self.nvcc()
        self.file("compile_commands.json", json.dumps([
            {"directory": self.folder.name, "file": "other.cu", "command": "nvcc -DWRONG -c other.cu"},
            {"directory": self.folder.name, "file": "axpy.cu", "command": "nvcc -DFROM_DB='a b' -Isub -std=c++17 -O2 -Xcompiler -fPIC --generate-code=arch=compute_70 -c axpy.cu -o x.o"}]))
        self.expect(0, "analyze", self.source, "--gpu", "a100", "--ptxas", "off", "--compile-commands", self.folder.name, env=self.env)
        call = self.calls()[0]
        self.assertIn("-DFROM_DB=a b", call)
        self.assertIn("-I" + self.path("sub"), call)
        for word in ("WRONG", "-fPIC", "compute_70", "x.o", "-O2"):
            self.assertNotIn(word, call)
        self.expect(2, "analyze", self.source, "--gpu", "a100", "--compile-commands", self.path("gone"), env=self.env, says="gone")

    def test_absent_broken_and_slow(self):
        none = {**self.env, "PATH": self.path("bin")}
        self.expect(4, "analyze", self.source, "--gpu", "a100", env=none, says="FF0610")
        self.expect(4, "inspect", self.source, env=none, says="FF0610")
        ir = self.file("k.ll", "; ModuleID = 'k'\nsource_filename = \"k\"\ndefine void @k() {\n ret void\n}\n")
        self.expect(4, "analyze", ir, "--gpu", "a100", env=none, says=("FF0610", "llc"))
        self.nvcc("kill -SEGV $$")
        self.expect(4, "analyze", self.source, "--gpu", "a100", "--compiler", "nvcc", env=self.env, says="crashed")
        self.nvcc("sleep 1000")
        self.expect(4, "analyze", self.source, "--gpu", "a100", "--compiler", "nvcc", "--compile-timeout", "1", env=self.env, says="took longer")

    def test_llvm_through_llc(self):
        llc = shutil.which("llc-19")
        if not llc:
            self.skipTest("llc-19 is not installed")
        text = ('target datalayout = "e-i64:64-i128:128-v16:16-v32:32-n16:32:64"\ntarget triple = "nvptx64-nvidia-cuda"\n'
                "declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n"
                "define ptx_kernel void @k(ptr addrspace(1) %p) {\n  %i = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n  %q = getelementptr float, ptr addrspace(1) %p, i32 %i\n"
                "  store float 1.0, ptr addrspace(1) %q\n  ret void\n}\n!nvvm.annotations = !{!0}\n!0 = !{ptr @k, !\"kernel\", i32 1}\n")
        ir = self.file("k.ll", text)
        report = json.loads(self.expect(0, "analyze", ir, "--gpu", "a100", "--ptxas", "off", "--format", "json", env=self.env).out)
        self.assertEqual((report["inputs"][0]["kind"], [k["name"] for k in report["kernels"]]), ("llvm-ir", ["k"]))
        self.assertTrue(report["used"]["llc"].startswith("19"))
        assembler = shutil.which("llvm-as-19")
        if assembler:
            subprocess.run([assembler, ir, "-o", self.path("k.bc")], check=True)
            report = json.loads(self.expect(0, "analyze", self.path("k.bc"), "--gpu", "a100", "--ptxas", "off", "--format", "json", env=self.env).out)
            self.assertEqual(report["inputs"][0]["kind"], "llvm-bitcode")
        self.expect(3, "analyze", self.file("bad.ll", text.replace("ret void", "ret nonsense")), "--gpu", "a100", env=self.env, says="bad.ll:8")


class TuneSchema(TuneCase):
    def test_json_and_t4(self):
        schema = validator(self, "tune")
        self.nvcc('case "$*" in *block_size_x=96*) echo "axpy.cu(7): error: too odd" >&2; exit 2;; esac')
        for arguments in ((), ("--reference", "block_size_x=64"), ("--sample", "2")):
            report, rows, _ = self.rows(*arguments)
            self.assertEqual([e.message for e in schema.iter_errors(report)], [])
        self.assertEqual([e.message for e in schema.iter_errors(json.loads(self.tune(0, self.spec, "--list", "--format", "json").out))], [])
        wrong = json.loads(json.dumps(report))
        del wrong["results"][0]["configs"][0]["rank"]
        self.assertTrue(list(schema.iter_errors(wrong)), "the schema asks for what it should")
        t4 = json.loads(self.tune(0, self.spec, "--gpu", "a100", "--ptxas", "off", "--compiler", "nvcc", "--export", "t4").out)
        self.assertEqual(t4["schema_version"], "1.0.0")
        self.assertEqual(len(t4["results"]), 7)
        for result in t4["results"]:
            self.assertEqual(set(result) & {"configuration", "times", "invalidity", "correctness"}, {"configuration", "times", "invalidity", "correctness"})
        self.assertEqual(sorted({r["invalidity"] for r in t4["results"]}), ["compile", "correct"])

    def test_the_script_is_python(self):
        self.nvcc()
        script = self.tune(0, self.spec, "--gpu", "a100", "--ptxas", "off", "--compiler", "nvcc", "--export", "kernel-tuner").out
        compile(script, "tune.py", "exec")
        self.assertIn("kernel_tuner.tune_kernel(", script)
        self.tune(0, self.spec, "--gpu", "a100", "--ptxas", "off", "--compiler", "nvcc", "--export", "kernel-tuner=" + self.path("tune.py"))
        with open(self.path("tune.py")) as file:
            self.assertEqual(file.read(), script)
        self.tune(2, self.spec, "--gpu", "a100", "--format", "json", "--export", "t4", says="standard output")


class RealCompiler(TuneCase):
    def setUp(self):
        super().setUp()
        nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
        if not os.path.exists(nvcc):
            self.skipTest("nvcc is not installed")
        self.env["PATH"] = os.path.dirname(nvcc) + ":/usr/bin:/bin"
        self.spec = os.path.join(SOURCE, "examples", "convolution.t1.json")
        self.few = ("--restrict", "tile_size_x == 1 and tile_size_y == 1 and block_size_x in [32, 64] and block_size_y == 4", "--gpu", "a100", "--format", "json")

    def test_the_example_by_nvcc_and_nvrtc(self):
        answers = {}
        for compiler in ("nvcc", "nvrtc", "auto"):
            done = run("tune", self.spec, *self.few, "--compiler", compiler, env=self.env)
            if done.returncode == 4 and compiler == "nvrtc":
                continue  # a toolkit without the library
            self.assertEqual(done.returncode, 0, done.err)
            report = json.loads(done.out)
            rows = report["results"][0]["configs"]
            self.assertEqual({r["error"] for r in rows}, {None})
            answers[compiler] = {(r["block_size_x"], r["read_only"], r["use_shmem"]): r["time_us"] for r in rows}
        # Two front ends, one back end: nearly the same code.
        for compiler, times in answers.items():
            for key, time_us in times.items():
                self.assertAlmostEqual(time_us / answers["nvcc"][key], 1, delta=0.05, msg=f"{compiler} {key}")

    def test_safe_between_shared_memory_and_none(self):
        done = self.expect(0, "tune", self.spec, *self.few, "--reference", "block_size_x=32,block_size_y=4,use_shmem=1", env=self.env)
        rows = json.loads(done.out)["results"][0]["configs"]
        self.assertEqual([r["safe"] for r in rows if r["reference"]], [True])
        self.assertNotIn(False, [r["safe"] for r in rows], "all variants of the example compute the same")
        self.assertTrue(any(r["safe"] and not r["reference"] for r in rows), [r["safe_reason"] for r in rows if r["kept"]])

    def test_host_code_goes_to_nvcc(self):
        source = self.file("host.cu", "#include <cstdio>\n__global__ void k(float *p) { p[blockIdx.x * blockDim.x + threadIdx.x] = TILE; }\nint main() { std::printf(\"x\"); }\n")
        done = self.expect(0, "tune", source, "--define", "TILE=1,2", "--block", "128", "--gpu", "a100", "--format", "json", env=self.env)
        report = json.loads(done.out)
        self.assertIn("nvcc", report["used"])
        self.assertEqual({r["error"] for r in report["results"][0]["configs"]}, {None})


if __name__ == "__main__":
    main(sys.modules[__name__])
