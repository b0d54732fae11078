#!/usr/bin/env python3
"""What a user asks for, from outside: names of fields and parameters, what is assumed where nothing was said, operating points
that no board has, and launches that cannot be. As test_cli.py."""
import json
import os
import shutil
import struct
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from test_cli import AXPY, SOURCE, main, run  # noqa: E402
from test_launches import FILE, STRUCT, LaunchCase  # noqa: E402

ROWS = """.version 7.8
.target sm_80
.address_size 64
.visible .entry rows(.param .u64 rows_param_0, .param .u32 rows_param_1, .param .u32 rows_param_2, .param .u32 rows_param_3)
{
    .reg .pred %p<3>;
    .reg .b32 %r<12>;
    .reg .b64 %rd<5>;
    ld.param.u64 %rd1, [rows_param_0];
    ld.param.u32 %r1, [rows_param_1];
    ld.param.u32 %r2, [rows_param_2];
    ld.param.u32 %r3, [rows_param_3];
    mov.u32 %r4, %ctaid.x;
    mov.u32 %r5, %ntid.x;
    mov.u32 %r6, %tid.x;
    mad.lo.s32 %r7, %r4, %r5, %r6;
    mov.u32 %r8, %ctaid.y;
    mov.u32 %r9, %ntid.y;
    mov.u32 %r10, %tid.y;
    mad.lo.s32 %r11, %r8, %r9, %r10;
    setp.ge.s32 %p1, %r7, %r1;
    @%p1 bra DONE;
    setp.ge.s32 %p2, %r11, %r2;
    @%p2 bra DONE;
    mad.lo.s32 %r11, %r11, %r3, %r7;
    cvta.to.global.u64 %rd2, %rd1;
    mul.wide.s32 %rd3, %r11, 4;
    add.s64 %rd4, %rd2, %rd3;
    st.global.u32 [%rd4], %r7;
DONE:
    ret;
}
"""

# A program of Triton's making: TILE elements from program to program, 128 threads of which each takes TILE / 128.
PROGRAM = """.version 7.8
.target sm_80
.address_size 64
.visible .entry fill(.param .u64 fill_param_0, .param .u32 fill_param_1)
.reqntid 128, 1, 1
{{
    .reg .pred %p<2>;
    .reg .b32 %r<9>;
    .reg .b64 %rd<5>;
    ld.param.u64 %rd1, [fill_param_0];
    ld.param.u32 %r1, [fill_param_1];
    mov.u32 %r2, %ctaid.x;
    {index}
    mov.u32 %r4, %tid.x;
    add.s32 %r5, %r3, %r4;
    cvta.to.global.u64 %rd2, %rd1;
    mov.u32 %r6, 0;
LOOP:
    setp.ge.s32 %p1, %r5, %r1;
    @%p1 bra NEXT;
    mul.wide.s32 %rd3, %r5, 4;
    add.s64 %rd4, %rd2, %rd3;
    st.global.u32 [%rd4], %r5;
NEXT:
    add.s32 %r5, %r5, 128;
    add.s32 %r6, %r6, 128;
    setp.lt.s32 %p1, %r6, {tile};
    @%p1 bra LOOP;
    ret;
}}
"""


def npy(kind, values, code):
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': ({len(values)},), }}"
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack(f"<{len(values)}{code}", *values)


class Fields(LaunchCase):
    def test_a_field_in_an_expression(self):
        pack = self.file("pack.ptx", STRUCT)
        kernel = self.only("--arg", "0+16:u32=100000", "--work", "param_0+16:u32", "--block", "128", path=pack)
        self.assertEqual(kernel["results"][0]["configs"][0]["grid"], [782, 1, 1])
        kernel = self.only("--arg", "0+16:u32=100000", "--grid-x", "ceil(pack_param_0+16:u32 / block.x) + 1", "--block", "128", path=pack)
        self.assertEqual(kernel["results"][0]["configs"][0]["grid"], [783, 1, 1])
        kernel = self.only("--arg", "0+16:s32=-3", "--grid-x", "2 - param_0+16:s32", "--block", "128", path=pack)
        self.assertEqual(kernel["results"][0]["configs"][0]["grid"], [5, 1, 1])

    def test_a_field_that_is_not_given_rules_no_work(self):
        pack = self.file("pack.ptx", STRUCT)
        self.expect(2, "analyze", pack, "--gpu", "a100", "--ptxas", "off", "--work", "param_0+16:u32", says=("a field of one", "--arg param_0+16:u32=VALUE"))
        for text, says in (("param_0+16:u31", "'u31' is not a type"), ("param_0+x:u32", "not a number of bytes"), ("param_0+99:u32", "not known")):
            self.expect(2, "analyze", pack, "--gpu", "a100", "--ptxas", "off", "--grid-x", text, says=says)

    def test_fields_with_names(self):
        pack = self.file("pack.ptx", STRUCT)
        text = '[[kernel]]\nmatch = "pack"\nparams = [{name = "image", fields = {n = "16:u32"}}]\n'
        kernel = self.only("--block", "128", "--launches", self.launches(text + 'work = "image.n"\nargs = {"image.n" = 100000}\n'), path=pack)
        self.assertEqual(kernel["results"][0]["configs"][0]["grid"], [782, 1, 1])
        kernel = self.only("--block", "128", "--launches", self.launches(text + 'work = "image.n"\n'), "--arg", "image.n=1280", path=pack)
        self.assertEqual(kernel["results"][0]["configs"][0]["grid"], [10, 1, 1])
        kernel = self.only("--launches", self.launches(text), path=pack)
        self.assertIn("image.n", [a["name"] for a in kernel["results"][0]["assumptions"]])
        swept = self.only("--launches", self.launches(text + 'work = "image.n"\nsweep = "image.n=1024:4096:x2"\n'), path=pack)
        self.assertEqual(len(swept["results"]), 3)

    def test_names_of_fields_that_are_wrong(self):
        pack = self.file("pack.ptx", STRUCT)
        start = '[[kernel]]\nmatch = "pack"\nparams = [{name = "image", fields = {n = '
        self.wrong(start + '"22:u32"}}]\n', "lie beyond parameter", line=3, column=38, path=pack)
        self.wrong(start + '"16:u31"}}]\n', "'u31' is not a type", line=3, path=pack)
        self.wrong(start + '"x:u32"}}]\n', "not a number of bytes", line=3, path=pack)
        self.wrong(start + '16}}]\n', "OFFSET:TYPE", line=3, path=pack)
        self.wrong('[[kernel]]\nmatch = "pack"\nparams = [{fields = {n = "16:u32"}}]\n', "has no name", line=3, path=pack)
        self.wrong('[[kernel]]\nmatch = "pack"\nparams = [{name = "a", filds = {}}]\n', "no key 'filds'", line=3, path=pack)


class Assumed(LaunchCase):
    def test_a_row_is_as_long_as_what_lies_in_it(self):
        path = self.file("rows.ptx", ROWS)
        def pitch(*arguments):
            kernel = self.only(*arguments, "--block", "32,8", path=path)
            return next(a for a in kernel["results"][0]["assumptions"] if a["name"] == "rows_param_3")
        self.assertEqual(pitch("--arg", "1=4096", "--arg", "2=4096")["value"], 4096)
        self.assertIn("at least the extent of x", pitch("--work", "5000,64")["reason"])
        self.assertEqual(pitch("--work", "5000,64")["value"], 5000)
        self.assertEqual(pitch()["value"], 1024, "the contract's, where nothing is known")

    def programs(self, *tiles):
        """A Triton cache of programs that cover so many elements each; None: more than the code shows."""
        os.mkdir(self.path("cache"))
        for tile in tiles:
            folder = os.path.join(self.path("cache"), f"T{tile}")
            os.mkdir(folder)
            index = f"mul.lo.s32 %r3, %r2, {tile};" if tile else "mul.lo.s32 %r3, %r2, %r1;"
            self.file(os.path.join(folder, "fill.ptx"), PROGRAM.format(index=index, tile=tile or 128))
            self.file(os.path.join(folder, "fill.json"), json.dumps({"name": "fill", "num_warps": 4, "num_stages": 2, "shared": 0, "hash": f"T{tile}"}))
        return self.path("cache")

    def test_programs_cover_what_their_index_arithmetic_says(self):
        report = self.report("--variants", path=self.programs(128, 1024))
        grids = sorted(v["grid"][0] for v in report["variants"][0]["ranking"])
        self.assertEqual(grids, [1024, 8192], "2^20 elements for either")
        self.assertIsNone(report["variants"][0]["note"])
        for kernel in report["kernels"]:
            self.assertIn("elements of a program", [a["name"] for a in kernel["results"][0]["assumptions"]])

    def test_programs_that_do_not_show_it_are_a_guess(self):
        cache = self.programs(128, None)
        report = self.report("--variants", path=cache)
        self.assertIn("--variant-table", report["variants"][0]["note"])
        guessed = [k for k in report["kernels"] if "number of programs" in [a["name"] for a in k["results"][0]["assumptions"]]]
        self.assertEqual(len(guessed), 1)
        self.assertEqual(guessed[0]["results"][0]["recommendation"]["confidence"], "low")
        self.assertIn("trust this order little", " ".join(self.expect(0, "analyze", cache, "--gpu", "a100", "--ptxas", "off", "--variants").out.split()))

    def test_the_best_of_one_is_no_confidence(self):
        recommendation = self.only("--launches", self.launches(FILE), "--block", "128")["results"][0]["recommendation"]
        self.assertEqual(recommendation["confidence"], "low")
        # the registers are an estimate in any case; with a log nothing else is open
        log = self.file("log.txt", "ptxas info    : Compiling entry function 'axpy' for 'sm_80'\nptxas info    : Used 12 registers, used 0 barriers, 376 bytes cmem[0]\n")
        done = self.expect(0, "analyze", self.axpy, "--gpu", "a100", "--ptxas-log", log, "--work", "1000000", "--arg", "3=1000000", "--block", "128", "--format", "json")
        recommendation = json.loads(done.out)["kernels"][0]["results"][0]["recommendation"]
        self.assertIn("only one block was compared", recommendation["confidence_reason"])
        self.assertEqual(recommendation["confidence"], "low")

    def test_a_launch_that_is_good_enough_is_kept(self):
        arguments = ("--work", "1000000", "--arg", "3=1000000")
        best = self.only(*arguments)["results"][0]["recommendation"]
        same = ",".join(map(str, best["block"]))
        recommendation = self.only(*arguments, "--current", same)["results"][0]["recommendation"]
        self.assertIs(recommendation["keep_current"], True)
        self.assertIsNone(best["keep_current"])
        text = self.expect(0, "analyze", self.axpy, "--gpu", "a100", "--ptxas", "off", *arguments, "--current", same).out
        self.assertIn("Keep today's launch", text)
        slow = self.only(*arguments, "--current", "1")["results"][0]["recommendation"]
        self.assertIs(slow["keep_current"], False)
        self.assertGreater(slow["gain_over"]["current"]["time_ratio_high"], slow["gain_over"]["current"]["time_ratio"])
        self.assertLess(slow["gain_over"]["current"]["time_ratio_high"], 1)


class Refused(LaunchCase):
    OFF = ("--gpu", "a100", "--ptxas", "off")

    def test_operating_points_that_the_board_has_not(self):
        for option, value, says in (("--clock", "99999", "highest clock is 1410 MHz"), ("--clock", "1", "does not run at 1 MHz"),
                                    ("--power-limit", "1", "lowest limit is 100 W"), ("--power-limit", "999", "highest limit is 400 W")):
            self.expect(2, "analyze", self.axpy, *self.OFF, option, value, says=(option, "FF0754", says))
        self.expect(0, "analyze", self.axpy, *self.OFF, "--gpu", "t4", "--power-limit", "200", "--block", "128")   # one of the two reaches it

    def test_data_that_cannot_be_what_the_kernel_reads(self):
        text = AXPY.replace(".visible .entry axpy", ".visible .entry pick", 1)
        whole = self.file("pick.ptx", text.replace("ld.global.f32", "ld.global.u32").replace(".reg .f32", ".reg .b32"))
        self.expect(2, "analyze", self.axpy, *self.OFF, "--data", f"0={self.file('whole.npy', npy('<i4', [1, 2], 'i'))}", says=("FF0723", "the file holds s32, and the kernel reads f32"))
        real = self.file("real.npy", npy("<f4", [1.0, 2.0], "f"))
        wide = self.file("wide.npy", npy("<i8", [1, 2], "q"))
        self.expect(2, "analyze", whole, *self.OFF, "--data", f"0={real}", says=("FF0723", "the file holds f32, and the kernel reads u32"))
        self.expect(2, "analyze", whole, *self.OFF, "--data", f"0={wide}", says=("FF0723", "the file holds s64"))
        self.expect(2, "analyze", whole, *self.OFF, "--data", f"0={self.file('none.bin', b'')}:u32", says=("FF0721", "is empty"))
        self.expect(2, "analyze", whole, *self.OFF, "--data", f"0={self.file('none.npy', npy('<i4', [], 'i'))}", says=("FF0722", "no elements"))
        self.expect(2, "analyze", whole, *self.OFF, "--data", "0=/proc/self/mem:u32", says="FF0721")
        self.expect(0, "analyze", whole, *self.OFF, "--block", "128", "--data", f"0={self.file('good.npy', npy('<i4', [1, 2], 'i'))}")

    def test_sizes_that_leave_no_work(self):
        for rule in (("--work", "param_3 - 5"), ("--grid-x", "ceil((param_3 - 5) / block.x)")):
            self.expect(2, "analyze", self.axpy, *self.OFF, *rule, "--sweep", "param_3=1:16:x4", says=(rule[0], "FF0744", "less than 1"))

    def test_tables_of_variants(self):
        for text, says in (('variant,B\nx,"1\n', "table.csv:2:1: error[FF0766]: a quote is never closed"), ('variant,B\nx,"1"2\n', "text follows a quoted cell"), ('variant,B\nx,1"2"\n', "a quote stands inside"),
                           ("variant,B,B\nx,1,2\n", "two columns 'B'"), ("variant,\nx,1\n", "column 2 has no name"), ("variant,B\nx,1\nx,2\n", "table.csv:3:1: error[FF0766]: there are two rows for 'x'"),
                           ("variant,B\n,1\n", "names no variant"), ("variant,B\nx,\0\n", "not text")):
            self.expect(2, "analyze", self.axpy, *self.OFF, "--variant-table", self.file("table.csv", text), says=says)

    def test_numbers_that_no_option_takes(self):
        self.expect(2, "analyze", self.axpy, *self.OFF, "--format", "markdown", "--markdown-limit", "1", says="--markdown-limit")
        self.expect(2, "occupancy", "--cc", "8.0", "--regs", "256", "--block", "128", says="--regs")
        self.expect(0, "occupancy", "--cc", "8.0", "--regs", "255", "--block", "128")

    def test_compile_commands_that_are_none(self):
        self.expect(2, "analyze", self.axpy, *self.OFF, "--compile-commands", self.path("none.json"), says=("FF0786", "cannot be read"))
        self.expect(2, "analyze", self.axpy, *self.OFF, "--compile-commands", self.file("bad.json", "{"), says=("FF0786", "not a list"))

    def test_a_pattern_beside_errors_is_an_input_error(self):
        broken = self.file("broken.ptx", AXPY + "\n.visible .entry second() { add.s32 ; }\n")
        done = self.expect(3, "analyze", broken, *self.OFF, "--kernel", "nowhere", says=("error[FF0", "no kernel matches 'nowhere'"))
        self.assertIn("broken.ptx:", done.err)

    def test_what_cannot_be_read_is_no_pass(self):
        done = self.expect(3, "check", self.axpy, self.path("none.ptx"), *self.OFF)
        self.assertIn("NO PASS", done.out)
        self.assertNotIn("pass:", done.out)
        done = self.expect(3, "check", self.axpy, self.path("none.ptx"), *self.OFF, "--format", "json")
        report = json.loads(done.out)
        self.assertEqual((report["verdict"], report["incomplete"]), ("fail", "not everything could be read"))
        self.assertIn("**no pass**", self.expect(3, "check", self.axpy, self.path("none.ptx"), *self.OFF, "--format", "markdown").out)
        self.assertIsNone(json.loads(self.expect(0, "check", self.axpy, *self.OFF, "--format", "json").out)["incomplete"])

    def test_a_damaged_baseline_says_its_line(self):
        self.expect(0, "baseline", self.axpy, *self.OFF, "-o", self.path("base.json"))
        lines = open(self.path("base.json")).read().split("\n")
        at = next(i for i, line in enumerate(lines) if '"time_us"' in line)
        lines[at] = lines[at].replace('"time_us"', '"tme_us"')
        damaged = self.file("damaged.json", "\n".join(lines))
        self.expect(2, "check", self.axpy, "--ptxas", "off", "--baseline", damaged, says=(f"damaged.json:{at + 1}:", 'no "time_us"'))


class Unlaunchable(LaunchCase):
    def test_what_it_would_take(self):
        config = self.only("--work", "1000000", "--block", "2048")["results"][0]["configs"][0]
        self.assertIs(config["launchable"], False)
        self.assertEqual(config["grid"], [489, 1, 1])
        self.assertNotEqual(config["occupancy"]["limiters"], [])
        fixed = self.file("fixed.ptx", AXPY.replace(")\n{", ")\n.reqntid 128, 1, 1\n{", 1))
        config = self.only("--work", "1000000", "--block", "64", path=fixed)["results"][0]["configs"][0]
        self.assertEqual(config["grid"], [15625, 1, 1])

    def test_a_cluster_beyond_the_portable_size_is_told(self):
        path = self.file("new.ptx", AXPY.replace(".target sm_80", ".target sm_90"))
        done = self.expect(0, "analyze", path, "--gpu", "h100", "--ptxas", "off", "--cluster", "16", "--work", "1048576", "--format", "json")
        caveats = json.loads(done.out)["kernels"][0]["results"][0]["recommendation"]["caveats"]
        self.assertTrue(any("portable 8" in c for c in caveats), caveats)
        done = self.expect(0, "analyze", path, "--gpu", "h100", "--ptxas", "off", "--cluster", "8", "--work", "1048576", "--format", "json")
        self.assertNotIn("portable", done.out)


class Places(LaunchCase):
    def test_a_line_of_the_ptx_names_a_branch(self):
        line = next(i for i, text in enumerate(AXPY.split("\n"), 1) if "@%p" in text)
        for place in (f"ptx:{line}", f"axpy.ptx:{line}"):
            self.expect(0, "analyze", self.axpy, "--gpu", "a100", "--ptxas", "off", "--block", "128", "--taken", f"{place}=0.5")
        self.expect(2, "analyze", self.axpy, "--gpu", "a100", "--ptxas", "off", "--taken", "axpy.ptx:1=0.5", says=("FF0731", "no branch is at"))


class Reports(LaunchCase):
    def test_no_hidden_characters_in_json(self):
        odd = self.file("odd\u202egnp.ptx", AXPY)
        done = self.expect(0, "analyze", odd, "--gpu", "a100", "--ptxas", "off", "--block", "128", "--format", "json")
        self.assertNotIn("\u202e", done.out)
        self.assertIn("\\u202e", done.out)
        self.assertIn("\u202e", json.loads(done.out)["inputs"][0]["path"])

    def test_an_overview_says_that_it_is_one(self):
        many = self.file("many.ptx", AXPY.split(".visible", 1)[0] + "\n".join(".visible" + AXPY.split(".visible", 1)[1].replace("axpy", f"axpy{i}") for i in range(12)))
        self.assertIn("overview", self.expect(0, "analyze", many, "--gpu", "a100", "--ptxas", "off").out)
        self.assertNotIn("overview", self.expect(0, "analyze", many, "--gpu", "a100", "--ptxas", "off", "--kernel", "axpy1").out)

    def test_more_text_than_is_kept_gives_the_same(self):
        """Past 16 MiB modules are parsed as they are needed: the same figures, in the same order."""
        small, large = self.path("small"), self.path("large")
        for folder, padding in ((small, 0), (large, 9 << 20)):
            os.mkdir(folder)
            for name in ("a", "b"):
                self.file(os.path.join(folder, name + ".ptx"), AXPY.replace("axpy", "axpy_" + name) + "//" + "x" * padding + "\n")
        reports = [json.loads(self.expect(0, "analyze", f, "--gpu", "a100", "--ptxas", "off", "--arg", "3=4096", "--format", "json").out) for f in (small, large)]
        self.assertEqual(*[[(k["name"], k["results"]) for k in r["kernels"]] for r in reports])
        self.assertEqual(len(reports[0]["kernels"]), 2)

    def test_the_action_takes_no_second_line(self):
        script = os.path.join(SOURCE, "tools", "action", "check.sh")
        output = self.path("output")
        environment = {"PATH": os.environ["PATH"], "FLIPFLOP_COMMAND": "true", "FLIPFLOP_FILES": self.axpy, "FLIPFLOP_SARIF": "a.sarif\nverdict=pass", "GITHUB_OUTPUT": output}
        done = subprocess.run(["bash", script], env=environment, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertEqual(open(output).read(), "verdict=error\n")


class SourceNames(LaunchCase):
    def setUp(self):
        super().setUp()
        self.nvcc = shutil.which("nvcc")
        if not self.nvcc:
            self.skipTest("no nvcc")

    def test_parameters_by_their_names_in_the_source(self):
        self.file("header.cuh", "template <class T> __global__ void halve(T *out, int many) { int i = threadIdx.x; if (i < many) out[i] /= 2; }\n")
        source = self.file("two.cu", '#include "header.cuh"\n__global__ void scale(float *values, float by, int count) {\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < count) values[i] *= by;\n}\n'
                                     "__global__ void scale(double *other, double factor, int n) {\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) other[i] *= factor;\n}\ntemplate __global__ void halve<float>(float *, int);\n")
        done = run("analyze", source, "--gpu", "a100", "--ptxas", "off", "--no-cache", "--block", "128", "--format", "json", "--arg", "count=4096", "--arg", "n=8192", "--arg", "many=64")
        self.assertEqual(done.returncode, 0, done.stderr)
        names = {k["demangled"].split("(")[1].split(",")[0] + k["short_name"]: [p["source_name"] for p in k["parameters"]] for k in json.loads(done.stdout)["kernels"]}
        self.assertEqual(names["float*scale"], ["values", "by", "count"])
        self.assertEqual(names["double*scale"], ["other", "factor", "n"])
        self.assertIn(["out", "many"], names.values())


if __name__ == "__main__":
    main(sys.modules[__name__])
