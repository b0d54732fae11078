#!/usr/bin/env python3
"""The command line from outside: test_cli.py [CLASS...]. FLIPFLOP_EXECUTABLE and FLIPFLOP_SOURCE_DIR say what and where.

Exit 77 (ctest: skipped) when nothing of what was asked for can run here; the reason is printed.
"""
import glob
import json
import math
import os
import pty
import signal
import subprocess
import sys
import tempfile
import unittest

SOURCE = os.environ.get("FLIPFLOP_SOURCE_DIR", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
FLIPFLOP = os.path.abspath(os.environ.get("FLIPFLOP_EXECUTABLE", os.path.join(SOURCE, "build", "flipflop")))
SHARED = os.environ.get("FLIPFLOP_SHARED", os.path.join(SOURCE, "..", "shared"))
CLEAN = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "FORCE_COLOR", "COLUMNS")}

AXPY = """//
.version 7.8
.target sm_80
.address_size 64

.visible .entry axpy(
    .param .u64 axpy_param_0,
    .param .u64 axpy_param_1,
    .param .f32 axpy_param_2,
    .param .u32 axpy_param_3
)
{
    .reg .pred %p<2>;
    .reg .f32 %f<5>;
    .reg .b32 %r<6>;
    .reg .b64 %rd<8>;

    ld.param.u64 %rd1, [axpy_param_0];
    ld.param.u64 %rd2, [axpy_param_1];
    ld.param.f32 %f1, [axpy_param_2];
    ld.param.u32 %r2, [axpy_param_3];
    mov.u32 %r3, %ctaid.x;
    mov.u32 %r4, %ntid.x;
    mov.u32 %r5, %tid.x;
    mad.lo.s32 %r1, %r3, %r4, %r5;
    setp.ge.s32 %p1, %r1, %r2;
    @%p1 bra $done;
    cvta.to.global.u64 %rd3, %rd1;
    cvta.to.global.u64 %rd4, %rd2;
    mul.wide.s32 %rd5, %r1, 4;
    add.s64 %rd6, %rd3, %rd5;
    add.s64 %rd7, %rd4, %rd5;
    ld.global.f32 %f2, [%rd6];
    ld.global.f32 %f3, [%rd7];
    fma.rn.f32 %f4, %f2, %f1, %f3;
    st.global.f32 [%rd7], %f4;
$done:
    ret;
}
"""
NO_KERNEL = ".version 7.8\n.target sm_80\n.address_size 64\n\n.func helper()\n{\n    ret;\n}\n"


def run(*arguments, stdin=None, env=None, **more):
    done = subprocess.run([FLIPFLOP, *arguments], input=stdin, capture_output=True, timeout=120, env={**CLEAN, **(env or {})}, **more)
    done.out = done.stdout.decode("utf-8")
    done.err = done.stderr.decode("utf-8")
    return done


class Case(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.axpy = self.file("axpy.ptx", AXPY)

    def tearDown(self):
        self.folder.cleanup()

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def file(self, name, content):
        with open(self.path(name), "wb") as out:
            out.write(content if isinstance(content, bytes) else content.encode())
        return self.path(name)

    def expect(self, code, *arguments, says=(), **more):
        """Runs, checks the exit code and what standard error must contain; usage errors leave standard output empty."""
        done = run(*arguments, **more)
        self.assertEqual(done.returncode, code, f"{arguments}\n{done.err}\n{done.out[:2000]}")
        for text in [says] if isinstance(says, str) else says:
            self.assertIn(text, done.err, f"{arguments}")
        if code == 2:
            self.assertEqual(done.out, "")
        if code != 0:
            self.assertNotEqual(done.err.strip(), "", "a failure says why")
        self.assertNotIn("internal error", done.err)
        self.assertNotIn("Traceback", done.err)
        return done

    def analyze(self, *arguments, **more):
        return run("analyze", self.axpy, "--gpu", "a100", "--ptxas", "off", *arguments, **more)


class Usage(Case):
    def test_help_and_version_are_0(self):
        self.assertIn("analyze", self.expect(0, "--help").out)
        version = self.expect(0, "--version").out
        with open(os.path.join(SOURCE, "VERSION")) as file:
            self.assertEqual(version.splitlines()[0], "flipflop " + file.read().strip())
        self.assertEqual([line.split()[0] for line in version.splitlines()[1:]], ["ptxas", "nvrtc", "nvcc", "clang", "llc"])
        for command in ("analyze", "inspect", "explain"):
            self.assertIn(command, self.expect(0, command, "--help").out)

    def test_nothing_asked(self):
        self.expect(2, says="analyze")

    def test_unknown_words_get_a_suggestion(self):
        self.expect(2, "anaylze", self.axpy, says=("unknown command 'anaylze'", "did you mean 'analyze'?"))
        self.expect(2, "analyze", self.axpy, "--gpu", "a100", "--blokc", "256", says=("unknown option '--blokc'", "did you mean '--block'?"))
        self.expect(2, "analyze", self.axpy, "--gpu", "a100", "--formt=json", says="did you mean '--format'?")
        self.expect(2, "zzzzqqqq", says="unknown command")

    def test_missing_and_wrong_values(self):
        self.expect(2, "analyze", self.axpy, says="--gpu")
        self.expect(2, "analyze", "--gpu", "a100", says="INPUT")
        self.expect(2, "analyze", self.axpy, "--gpu", "a100", "--clock", "fast", says="--clock")
        self.expect(2, "analyze", self.axpy, "--gpu", "a100", "--clock", "-1", says="--clock")
        self.expect(2, "analyze", self.axpy, "--gpu", "a100", "--clock", "nan", says="--clock")
        self.expect(2, "analyze", self.axpy, "--gpu", "a100", "--objective", "beauty", says="--objective")
        self.expect(2, "analyze", self.axpy, "--gpu", "a100", "--assume-taken", "2", says="--assume-taken")
        self.expect(2, "analyze", self.axpy, "--gpu", "a100", "--carveout", "200", says="--carveout")
        self.expect(2, "analyze", self.axpy, "--gpu", "a100", "--sms", "0", says="--sms")

    def test_formats_that_are_not_there(self):
        for name in ("xml", "pdf"):
            self.expect(2, "analyze", self.axpy, "--gpu", "a100", "--format", name, says=(f"'{name}'", "text, json, csv, markdown"))
        self.expect(2, "inspect", self.axpy, "--format", "csv", says="text, json")
        self.expect(2, "analyze", self.axpy, "--gpu", "a100", "--format", "json", "--format", "csv", says="two formats for one place")
        self.expect(2, "analyze", self.axpy, "--gpu", "a100", "--format", "json=", says="names no file")

    def test_unknown_gpu(self):
        self.expect(2, "analyze", self.axpy, "--gpu", "a1000000", says="a1000000")
        self.expect(2, "analyze", self.axpy, "--gpu", "a10O", says="did you mean")


class BadInput(Case):
    """Issue 2's list: a clear message, the contract's exit code, nothing half-written."""

    def bad(self, path, *says, code=3):
        for command in (["analyze", path, "--gpu", "a100", "--ptxas", "off"], ["inspect", path], ["explain", path, "--gpu", "a100", "--block", "256", "--ptxas", "off"]):
            self.expect(code, *command, says=says)

    def test_missing(self):
        self.bad(self.path("nowhere.ptx"), "nowhere.ptx")

    def test_empty(self):
        self.bad(self.file("empty.ptx", ""), "empty")

    def test_binary(self):
        self.bad(self.file("binary.ptx", bytes(range(256)) * 20), "binary.ptx")

    def test_utf16(self):
        self.bad(self.file("utf16.ptx", AXPY.encode("utf-16")), "UTF-16")

    def test_elf_without_ptx(self):
        self.bad("/proc/self/exe" if not os.path.exists("/bin/true") else "/bin/true", "PTX")

    def test_broken_llvm_ir(self):
        self.bad(self.file("broken.ll", "; ModuleID = 'x'\nsource_filename = \"x.cu\"\ndefine void @f( {\n"), "broken.ll")

    def test_sass_text(self):
        self.bad(self.file("sass.ptx", "\tcode for sm_80\n\t\tFunction : axpy\n\t.headerflags @\"EF_CUDA_SM80\"\n        /*0000*/ IMAD.MOV.U32 R1, RZ, RZ, c[0x0][0x28] ;\n"), "sass.ptx")

    def test_truncated_file_says_where_and_reports_the_rest(self):
        cut = AXPY[: AXPY.index("fma.rn")] + "fma.rn.f32 %f4, %f2"
        path = self.file("cut.ptx", AXPY + "\n" + cut.replace("axpy", "second"))
        done = self.expect(3, "inspect", path, "--format", "json", says="cut.ptx:")
        self.assertRegex(done.err, r"cut\.ptx:\d+:\d+: error\[FF0\d{3}\]")
        names = [k["name"] for i in json.loads(done.out)["inputs"] for m in i["modules"] for k in m["kernels"]]
        self.assertIn("axpy", names)

    def test_syntax_error_says_line_and_column(self):
        path = self.file("typo.ptx", AXPY.replace("mul.wide.s32 %rd5, %r1, 4;", "mul.wide.s32 %rd5, %r1 4;"))
        done = self.expect(3, "analyze", path, "--gpu", "a100", "--ptxas", "off")
        line = 1 + AXPY[: AXPY.index("mul.wide")].count("\n")
        self.assertRegex(done.err, rf"typo\.ptx:{line}:\d+: error\[FF0\d{{3}}\]")
        self.assertIn("^", done.err)

    def test_unknown_opcode_is_a_warning_and_strict_makes_it_an_error(self):
        path = self.file("unknown.ptx", AXPY.replace("fma.rn.f32 %f4, %f2, %f1, %f3;", "fma.rn.f32 %f4, %f2, %f1, %f3;\n    frobnicate.rn.f32 %f4, %f4, %f4;"))
        for command in (["analyze", path, "--gpu", "a100", "--ptxas", "off"], ["inspect", path]):
            self.expect(0, *command, says="frobnicate")
            self.expect(3, *command, "--strict", says="frobnicate")
        report = json.loads(run("inspect", path, "--format", "json").out)
        self.assertEqual(report["summary"]["unknown_instructions"], 1)
        self.assertGreater(report["inputs"][0]["modules"][0]["kernels"][0]["unknown_share"], 0)

    def test_no_kernel(self):
        path = self.file("functions.ptx", NO_KERNEL)
        self.expect(3, "analyze", path, "--gpu", "a100", says="kernel")
        done = self.expect(0, "inspect", path, says="no kernel")
        self.assertIn("No kernel", done.out)
        self.assertEqual(json.loads(run("inspect", path, "--format", "json").out)["summary"]["kernels"], 0)

    def test_one_bad_input_does_not_hide_the_others(self):
        done = self.expect(3, "inspect", self.path("nowhere.ptx"), self.axpy, "--format", "json", says="nowhere.ptx")
        self.assertEqual(json.loads(done.out)["summary"]["kernels"], 1)
        done = self.expect(3, "analyze", self.path("nowhere.ptx"), self.axpy, "--gpu", "a100", "--ptxas", "off", "--format", "json", says="nowhere.ptx")
        self.assertEqual(len(json.loads(done.out)["kernels"]), 1)

    def test_kernel_pattern_that_matches_nothing(self):
        self.expect(2, "analyze", self.axpy, "--gpu", "a100", "--kernel", "gemm*", says=("gemm*", "axpy"))
        self.expect(2, "inspect", self.axpy, "--kernel", "=axp", says="axp")
        self.expect(2, "inspect", self.axpy, "--kernel", "/(/", says="(")

    def test_blocks(self):
        for text in ("0", "16,0", "256,", "x", "1,2,3,4", "", "-1", "99999999999"):
            self.expect(2, "analyze", self.axpy, "--gpu", "a100", "--block", text, says="--block")
        done = self.analyze("--block", "2048", "--block", "256", "--format", "json")
        self.assertEqual(done.returncode, 0, done.err)
        configs = json.loads(done.out)["kernels"][0]["results"][0]["configs"]
        self.assertEqual([c["block"] for c in configs], [[2048, 1, 1], [256, 1, 1]])
        self.assertEqual([c["launchable"] for c in configs], [False, True])
        self.assertIn("1024", configs[0]["why_not"])

    def test_arguments_that_fit_no_kernel(self):
        for text in ("9=1", "nothing=1", "3=abc", "3", "=1"):
            self.expect(2, "analyze", self.axpy, "--gpu", "a100", "--arg", text, says="--arg")

    def test_two_grid_rules_for_one_axis(self):
        self.expect(2, "analyze", self.axpy, "--gpu", "a100", "--grid", "4", "--work", "1024", says=("--grid", "--work"))
        self.expect(2, "analyze", self.axpy, "--gpu", "a100", "--work", "1024", "--grid-x", "4", says=("--work", "--grid-x"))
        done = self.analyze("--block", "64", "--work", "1024", "--grid-y", "3", "--format", "json")
        self.assertEqual(done.returncode, 0, done.err)
        self.assertEqual(json.loads(done.out)["kernels"][0]["results"][0]["configs"][0]["grid"], [16, 3, 1])

    def test_a_grid_that_overflows(self):
        self.expect(2, "analyze", self.axpy, "--gpu", "a100", "--grid", "4294967296", says="--grid")
        self.expect(2, "analyze", self.axpy, "--gpu", "a100", "--block", "32", "--grid-x", "4000000000*4000000000", says="grid")
        self.expect(2, "analyze", self.axpy, "--gpu", "a100", "--block", "32", "--grid", "4294967295", says="2147483647")
        self.expect(2, "analyze", self.axpy, "--gpu", "a100", "--block", "32", "--grid", "1,65536", says="65535")


class Streams(Case):
    def test_standard_input(self):
        done = run("inspect", "-", "--format", "json", stdin=AXPY.encode())
        self.assertEqual(done.returncode, 0, done.err)
        report = json.loads(done.out)
        self.assertEqual(report["inputs"][0]["path"], "-")
        self.assertEqual(report["inputs"][0]["modules"][0]["kernels"][0]["name"], "axpy")
        done = run("analyze", "-", "--gpu", "a100", "--ptxas", "off", "--format", "json", stdin=AXPY.encode())
        self.assertEqual(json.loads(done.out)["kernels"][0]["name"], "axpy")
        self.expect(3, "analyze", "-", "--gpu", "a100", stdin=b"", says="empty")

    def test_report_on_stdout_diagnostics_on_stderr(self):
        path = self.file("unknown.ptx", AXPY.replace("ret;", "frobnicate;\n    ret;"))
        done = run("inspect", path, "--format", "json")
        json.loads(done.out)
        self.assertIn("warning", done.err)
        self.assertEqual(run("inspect", self.axpy).err, "")

    def test_output_file_holds_the_same_bytes(self):
        to_stdout = self.analyze("--format", "json")
        done = self.analyze("--format", "json", "-o", self.path("report.json"))
        self.assertEqual((done.returncode, done.out), (0, ""))
        with open(self.path("report.json"), "rb") as file:
            self.assertEqual(file.read(), to_stdout.stdout)
        self.assertEqual(sorted(os.listdir(self.folder.name)), ["axpy.ptx", "report.json"])

    def test_several_formats_in_one_run(self):
        done = self.analyze("--format", "json=" + self.path("r.json"), "--format", "csv=" + self.path("r.csv"), "--format", "markdown=" + self.path("r.md"), "--format", "text")
        self.assertEqual(done.returncode, 0, done.err)
        self.assertIn("axpy", done.out)
        with open(self.path("r.json")) as file:
            self.assertEqual(json.load(file)["schema"], "flipflop.analysis/1")
        self.assertEqual(sorted(os.listdir(self.folder.name)), ["axpy.ptx", "r.csv", "r.json", "r.md"])

    def test_unwritable_output(self):
        for target in (self.path("no/such/folder/report.json"), self.folder.name, "/proc/flipflop-report.json", self.axpy + "/report"):
            done = self.expect(2, "analyze", self.axpy, "--gpu", "a100", "--ptxas", "off", "-o", target, says="cannot write")
            self.assertEqual(done.out, "")
        self.assertEqual(os.listdir(self.folder.name), ["axpy.ptx"])

    def test_full_device(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        self.expect(2, "inspect", self.axpy, "-o", "/dev/full", says="cannot write '/dev/full'")
        with open("/dev/full", "wb") as full:
            done = subprocess.run([FLIPFLOP, "inspect", self.axpy], stdout=full, stderr=subprocess.PIPE, timeout=60)
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"cannot write", done.stderr)

    def test_a_failure_leaves_the_old_report(self):
        report = self.file("report.json", "old")
        self.expect(2, "analyze", self.axpy, "--gpu", "nothing-like-it", "-o", report)
        self.expect(3, "analyze", self.path("nowhere.ptx"), "--gpu", "a100", "-o", report)
        with open(report) as file:
            self.assertEqual(file.read(), "old")
        self.assertEqual(sorted(os.listdir(self.folder.name)), ["axpy.ptx", "report.json"])

    def test_a_link_stays_a_link_and_rights_stay(self):
        target = self.file("target.json", "old")
        os.chmod(target, 0o640)
        os.symlink("target.json", self.path("link.json"))
        self.assertEqual(run("inspect", self.axpy, "--format", "json", "-o", self.path("link.json")).returncode, 0)
        self.assertTrue(os.path.islink(self.path("link.json")))
        self.assertEqual(os.stat(target).st_mode & 0o777, 0o640)
        with open(target) as file:
            json.load(file)

    def test_closed_standard_output(self):
        done = subprocess.run(["sh", "-c", '"$0" inspect "$1" >&-', FLIPFLOP, self.axpy], capture_output=True, timeout=60)
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"cannot write", done.stderr)
        with open(self.axpy) as file:
            self.assertEqual(file.read(), AXPY, "no report in an input's file")
        done = subprocess.run(["sh", "-c", '"$0" inspect "$1" 2>&-', FLIPFLOP, self.path("nowhere.ptx")], capture_output=True, timeout=60)
        self.assertEqual(done.returncode, 3)

    def test_closed_pipe_is_not_masked(self):
        kernels = "".join(AXPY.replace("axpy", f"axpy_{i}")[AXPY.index(".visible"):] for i in range(400))
        path = self.file("many.ptx", AXPY + kernels)
        for ignored in (signal.SIG_DFL, signal.SIG_IGN):
            process = subprocess.Popen([FLIPFLOP, "inspect", path, "--format", "json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                       restore_signals=False, preexec_fn=lambda: signal.signal(signal.SIGPIPE, ignored))
            process.stdout.read(1)
            process.stdout.close()
            error = process.stderr.read()
            process.stderr.close()
            self.assertEqual(process.wait(60), -signal.SIGPIPE)
            self.assertEqual(error, b"")


class Color(Case):
    def on_terminal(self, *options, env=None):
        """What a terminal would be sent."""
        master, slave = pty.openpty()
        process = subprocess.Popen([FLIPFLOP, "inspect", self.axpy, *options], stdout=slave, stderr=subprocess.DEVNULL, env={**CLEAN, "TERM": "xterm", **(env or {})})
        os.close(slave)
        sent = b""
        while True:
            try:
                piece = os.read(master, 65536)
            except OSError:  # the other side is gone
                break
            if not piece:
                break
            sent += piece
        os.close(master)
        self.assertEqual(process.wait(60), 0)
        return sent

    def test_the_order(self):
        colored = lambda *options, **env: b"\x1b[" in self.on_terminal(*options, env=env)
        self.assertTrue(colored())
        self.assertFalse(colored(NO_COLOR="1"))
        self.assertTrue(colored(NO_COLOR=""), "set to nothing is not set")
        self.assertTrue(colored("--color=always", NO_COLOR="1"))
        self.assertFalse(colored("--color=never", CLICOLOR_FORCE="1"))
        self.assertFalse(colored(NO_COLOR="1", CLICOLOR_FORCE="1"))
        self.assertFalse(colored(TERM="dumb"))
        self.assertTrue(colored(TERM="dumb", CLICOLOR_FORCE="1"))
        self.assertFalse(colored(CLICOLOR="0"))
        self.assertFalse(colored(FORCE_COLOR="0"))

    def test_pipes_and_files_have_none(self):
        self.assertNotIn("\x1b", run("inspect", self.axpy).out)
        self.assertIn("\x1b", run("inspect", self.axpy, env={"CLICOLOR_FORCE": "1"}).out)
        self.assertNotIn("\x1b", run("inspect", self.axpy, env={"CLICOLOR_FORCE": "0"}).out)
        self.assertEqual(run("inspect", self.axpy, "-o", self.path("out.txt"), env={"CLICOLOR_FORCE": "1"}).returncode, 0)
        with open(self.path("out.txt")) as file:
            self.assertNotIn("\x1b", file.read())
        self.assertNotIn("\x1b", run("inspect", self.axpy, "--format", "json", env={"CLICOLOR_FORCE": "1"}).out)


class Formats(Case):
    def test_text(self):
        done = self.analyze("--work", "1048576", "--current", "64")
        self.assertEqual(done.returncode, 0, done.err)
        for text in ("axpy", "A100", "Bound by", "launchable", "Assumed", "Give these first", "current"):
            self.assertIn(text, done.out)
        self.assertLess(max(map(len, done.out.splitlines())), 130)
        self.assertLess(len(done.out.splitlines()), 60, "one screen")

    def test_blocks_in_the_order_given(self):
        done = self.analyze("--block", "512", "--block", "64", "--block", "128", "--format", "json")
        configs = json.loads(done.out)["kernels"][0]["results"][0]["configs"]
        self.assertEqual([c["block"][0] for c in configs], [512, 64, 128])
        self.assertTrue(all(c["detail"] == "full" for c in configs))

    def test_csv_has_one_row_a_configuration(self):
        import csv
        rows = list(csv.DictReader(self.analyze("--format", "csv").out.splitlines()))
        configs = json.loads(self.analyze("--format", "json").out)["kernels"][0]["results"][0]["configs"]
        self.assertEqual(len(rows), len(configs))
        for row, config in zip(rows, configs):
            self.assertEqual([int(row["block_" + a]) for a in "xyz"], config["block"])
            time = config["predicted"]["time_us"]
            self.assertEqual(row["time_us"], "" if time is None else row["time_us"])
            if time is not None:
                self.assertEqual(float(row["time_us"]), time)

    def test_markdown(self):
        done = self.analyze("--format", "markdown")
        self.assertIn("## `axpy`", done.out)
        self.assertIn("| rank | block |", done.out)

    def test_many_kernels_are_an_overview(self):
        kernels = "".join(AXPY.replace("axpy", f"axpy_{i}")[AXPY.index(".visible"):] for i in range(11))
        path = self.file("many.ptx", AXPY + kernels)
        done = run("analyze", path, "--gpu", "a100", "--ptxas", "off")
        self.assertEqual(done.returncode, 0, done.err)
        self.assertIn("12 kernels", done.out)
        self.assertIn("total", done.out)
        self.assertLess(len(done.out.splitlines()), 20)
        done = run("inspect", path)
        self.assertLess(len(done.out.splitlines()), 20)
        self.assertIn("total: 1 input", done.out)


class Explain(Case):
    def refold(self, term):
        values = [self.refold(part) for part in term["parts"]]
        fold = term["fold"]
        value = {"leaf": lambda: term["value"], "sum": lambda: sum(values), "difference": lambda: values[0] - values[1], "product": lambda: math.prod(values),
                 "ratio": lambda: values[0] / values[1], "max": lambda: max(values), "min": lambda: min(values),
                 "norm": lambda: sum(v ** term["p"] for v in values) ** (1 / term["p"])}[fold]()
        self.assertTrue(math.isclose(value, term["value"], rel_tol=1e-9, abs_tol=1e-30), f"{term['id']}: {value} for {term['value']}")
        return value

    def explain(self, *options):
        return run("explain", self.axpy, "--gpu", "a100", "--ptxas", "off", *options)

    def test_terms_refold_at_every_level(self):
        report = json.loads(self.explain("--block", "256", "--format", "json").out)
        config = report["kernels"][0]["configs"][0]["config"]
        value = self.refold(config["terms"])
        key = "energy_mj" if config["predicted"]["energy_mj"] is not None else "time_us"
        self.assertTrue(math.isclose(value, config["predicted"][key], rel_tol=1e-9))
        self.assertEqual(report["kernels"][0]["configs"][0]["dominant_path"][0], config["terms"]["id"])

    def test_beside_another(self):
        done = self.explain("--block", "256", "--versus", "32")
        self.assertEqual(done.returncode, 0, done.err)
        for text in ("256", "32", "change", "unit", "basis", "source"):
            self.assertIn(text, done.out)
        self.assertIn("\n>", done.out, "the dominant path is marked")
        report = json.loads(self.explain("--block", "256", "--versus", "32", "--format", "json").out)
        comparison = report["kernels"][0]["comparisons"][0]
        configs = [c["config"] for c in report["kernels"][0]["configs"]]
        ratio = configs[0]["predicted"]["time_us"] / configs[1]["predicted"]["time_us"]
        self.assertTrue(math.isclose(comparison["time_ratio"], ratio, rel_tol=1e-9))

    def test_why_not(self):
        done = self.explain("--why-not", "32")
        self.assertEqual(done.returncode, 0, done.err)
        self.assertIn("Why not", done.out)
        self.assertIn("cannot launch", self.explain("--block", "256", "--why-not", "2048").out)
        self.assertIn("not among the shapes", self.explain("--block", "256", "--why-not", "40").out)

    def test_usage(self):
        self.expect(2, "explain", self.axpy, "--gpu", "a100", "--block", "0", says="--block")
        self.expect(2, "explain", self.axpy, "--gpu", "a100", "--block", "64", "--versus", "a", says="--versus")


class Inspect(Case):
    def test_parameters_show_what_to_give(self):
        done = run("inspect", self.axpy)
        self.assertEqual(done.returncode, 0, done.err)
        for text in ("param_3", "u32", "guard", "pointer", "address base"):
            self.assertIn(text, done.out)
        report = json.loads(run("inspect", self.axpy, "--format", "json").out)
        parameters = report["inputs"][0]["modules"][0]["kernels"][0]["parameters"]
        self.assertEqual([p["kind"] for p in parameters], ["pointer", "pointer", "scalar", "scalar"])
        self.assertIn("guard", [u["what"] for u in parameters[3]["uses"]])

    def test_a_field_stands_as_arg_takes_it(self):
        path = os.path.join("examples", "blend_persistent.ptx")
        out = run("inspect", path, cwd=SOURCE).out
        row = next(line for line in out.split("\n") if "+8:u32" in line)
        self.assertIn("loop bound", row)
        self.assertLessEqual(max(len(line) for line in out.split("\n")), 120)
        done = run("analyze", path, "--gpu", "a100", "--arg", "2+8:u32=640", "--arg", "2+12:u32=480", "--ptxas", "off", "--format", "json", cwd=SOURCE)
        parameters = json.loads(done.out)["kernels"][0]["parameters"]
        self.assertIn("+8:u32=640", parameters[2]["value"])

    def test_two_modules_in_one_file(self):
        path = self.file("two.ptx", AXPY + AXPY.replace("axpy", "second"))
        report = json.loads(run("inspect", path, "--format", "json").out)
        modules = report["inputs"][0]["modules"]
        self.assertEqual([[k["name"] for k in m["kernels"]] for m in modules], [["axpy"], ["second"]])
        self.assertEqual(sum(m["bytes"] for m in modules), os.path.getsize(path))
        self.assertEqual(report["summary"]["ptx_bytes"], os.path.getsize(path))

    def test_keep_going(self):
        bad = self.file("a_bad.ptx", AXPY.replace("%r1, 4;", "%r1 4;"))
        self.assertEqual(json.loads(run("inspect", bad, self.axpy, "--format", "json").out)["summary"]["inputs"], 2)
        done = self.expect(3, "inspect", bad, self.axpy, "--no-keep-going", "--format", "json")
        self.assertEqual(json.loads(done.out)["summary"]["inputs"], 1)

    def test_a_pattern_that_selects_nothing_hides_no_error(self):
        bad = self.file("bad.ptx", AXPY.replace("%r1, 4;", "%r1 4;"))
        done = self.expect(3, "inspect", bad, "--kernel", "nothing*", says="bad.ptx:")
        self.assertIn("nothing*", done.err)
        self.expect(2, "inspect", self.axpy, "--kernel", "nothing*", says="nothing*")

    def test_names_with_control_bytes_are_harmless(self):
        path = os.path.join(self.folder.name, "a\x1b[31m\nb.ptx")
        with open(path, "w") as file:
            file.write(AXPY)
        for arguments in (("inspect", path), ("inspect", path, "--detail", "full"), ("inspect", path, path, "--format", "json"),
                          *(("analyze", path, "--gpu", "a100", "--ptxas", "off", "--block", "96", "--format", f) for f in ("text", "csv", "markdown", "json"))):
            done = run(*arguments)
            self.assertEqual(done.returncode, 0, done.err)
            self.assertNotIn("\x1b", done.out + done.err, arguments)


class Hostile(Case):
    """What a fuzzer, a careless script and a hostile file found; each once crashed, hung, ate memory or misled."""

    OFF = ("--gpu", "a100", "--ptxas", "off", "-j", "1")

    def kernel(self, name, body, before="", after_signature=""):
        head = ".version 8.0\n.target sm_80\n.address_size 64\n" + before
        return self.file(name, f"{head}.visible .entry k(.param .u64 out){after_signature}\n{{\n.reg .pred %p<9>; .reg .b32 %r<19>; .reg .b64 %rd<19>;\n{body}\nret;\n}}\n")

    def test_a_directive_of_size_zero_bounds_nothing(self):
        for directive in (".reqntid 0", ".reqntid 0,1,1", ".reqntid 32,0", ".reqnctapercluster 0"):
            path = self.kernel("zero.ptx", "ret;", after_signature=" " + directive)
            self.survive("analyze", path, *self.OFF, "--block", "32", codes=(3,))
            self.survive("analyze", path, "--gpu", "h100", "--ptxas", "off", codes=(3,))

    def test_keys_of_a_hundred_thousand_parts(self):
        deep = self.file("deep.toml", "a." * 100_000 + "a=1")
        self.expect(2, "analyze", self.axpy, *self.OFF, "--launches", deep, says=("FF0760", "more than a hundred parts"))
        self.expect(2, "check", self.axpy, *self.OFF[:4], "--policy", self.file("policy.toml", "[" + "a." * 100_000 + "a]"), says=("FF0781", "more than a hundred parts"))
        dots = self.file("dots.toml", "# " + "." * 500 + "\n[[kernel]]\nmatch = \"axpy\"\nparams = [\"" + "x." * 200 + "\"]\n")
        self.assertNotIn("hundred parts", run("analyze", self.axpy, *self.OFF, "--launches", dots).err)

    def test_usage_errors_are_said_once_and_harmless(self):
        for arguments in (("check", self.axpy, "--fail-on", "x\n::error::y"), ("\x1b[31m",), ("completion", "\x1b[31m"), ("analyze", self.axpy, "--objective", "\x1b[31m")):
            done = self.expect(2, *arguments)
            self.assertEqual(done.err.count(": error: "), 1, done.err)
            self.assertNotIn("\x1b", done.err)
            self.assertNotIn("\n::", done.err)

    def test_a_step_that_reaches_nothing(self):
        self.expect(2, "analyze", self.axpy, *self.OFF, "--sweep", "3=1:1000000:x1.0000000000001", says="too small")

    def test_numbers_out_of_range_in_json(self):
        path = self.file("large.json", '{"x": 1e999}')
        self.expect(2, "check", self.axpy, *self.OFF[:4], "--baseline", path, says="FF0780")
        self.expect(3, "tune", path, "--list", says="out of range")

    def test_a_loop_over_64_bits_that_no_box_holds_is_given_up_in_time(self):
        body = """mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mad.lo.s32 %r4, %r1, %r2, %r3; cvt.u64.u32 %rd1, %r4;
mov.u32 %r5, %nctaid.x; mul.wide.u32 %rd2, %r5, %r2; ld.param.u64 %rd3, [out]; mov.u64 %rd6, 16777216;
$top: setp.ge.u64 %p1, %rd1, %rd6; @%p1 bra $end; rem.u64 %rd7, %rd1, 1000003; shl.b64 %rd4, %rd7, 2; add.s64 %rd5, %rd3, %rd4; st.global.u32 [%rd5], %r3; add.s64 %rd1, %rd1, %rd2; bra $top;
$end:"""
        path = self.kernel("wide.ptx", body)
        done = self.survive("analyze", path, *self.OFF, "--grid", "864", "--current", "256", codes=(0,))   # run() ends what takes two minutes
        self.assertRegex(done.out, r"heuristic +1024 .* (unverified|unsafe) ")   # other numbers of threads store other numbers

    def survive(self, *arguments, codes=(0, 3), **more):
        done = run(*arguments, **more)
        self.assertIn(done.returncode, codes, f"{arguments}\n{done.err[-2000:]}")
        return done

    def test_cut_anywhere(self):
        for name in ("axpy.ptx", "reduction.ptx", "gemm_tiled.ptx"):
            with open(os.path.join(SOURCE, "examples", name), "rb") as file:
                text = file.read()
            for end in range(61, len(text), 397 if len(text) > 5000 else 97):
                self.survive("analyze", "-", *self.OFF, "--block", "96", stdin=text[:end])

    def test_operands_missing_or_of_the_wrong_kind(self):
        lines = ["cvta.to.global.u64 %rd1;", "add.s32 %r1;", "add.s32 %r1, %r2;", "add.s32 ;", "add.s32 5, %r1, %r2;", "lop3.b32 %r1, %r2;", "bfi.b32 %r1, %r2, %r3;",
                 "selp.b32 %r1, %r2, %r3;", "setp.lt.s32 %p1, %r1;", "setp.lt.and.s32 %p1, %r1, %r2, q;", "setp.lt.s32 _|%p1, %r1, %r2;", "shfl.sync.idx.b32 %r1, %r2;",
                 "vote.sync.ballot.b32 %r1;", "popc.b32 %r1;", "mul24.lo.s32 %r1;", "isspacep.global %p1;", "mapa.u64 %rd1;", "brx.idx %r1;", "ld.global.u32 %r1;", "st.global.u32 [%rd1];",
                 "mad.lo.s32 %r1, %r2, %r3;", "mov.b64 %rd1, {%r1};", "mov.b64 {%r1, %r2}, %rd1, %rd2;", "addc.u32 %r1;", "prmt.b32 %r1, %r2;", "testp.finite.f32 %p1;"]
        for line in lines:
            path = self.kernel("operands.ptx", f"{line}\nmul.wide.u32 %rd2, %r1, 4;\n@%p1 ld.global.u32 %r5, [%rd2];\nst.global.u32 [%rd1], %r1;")
            for block in ("96", "7,5,3"):
                self.survive("analyze", path, *self.OFF, "--block", block)

    def test_a_lone_dot_ends(self):
        for after in ("\n.", "\n.\n.", " . .maxntid 32", ".."):
            self.expect(3, "analyze", self.kernel("dot.ptx", "", after_signature=after), *self.OFF, says="dot.ptx:")

    def test_loops_without_an_end(self):
        bodies = {"forever": "L: bra L;", "counting": "mov.u32 %r1, 0; L: add.u32 %r1, %r1, 1; st.global.u32 [%rd1], %r1; bra L;",
                  "step 0": "mov.u32 %r1, 0; L: add.u32 %r1, %r1, 0; setp.lt.u32 %p1, %r1, 5; @%p1 bra L;",
                  "irreducible": "mov.u32 %r2, %tid.x; setp.lt.u32 %p1, %r2, 7; @%p1 bra B; A: add.u32 %r1, %r1, 1; B: add.u32 %r1, %r1, 2; bra A;",
                  "xorshift": "mov.u32 %r1, %tid.x; L: shl.b32 %r2, %r1, 13; xor.b32 %r1, %r1, %r2; shr.u32 %r2, %r1, 17; xor.b32 %r1, %r1, %r2; setp.ne.u32 %p1, %r1, 0; @%p1 bra L;"}
        for name, body in bodies.items():
            done = self.expect(0, "analyze", self.kernel("loop.ptx", body), *self.OFF, "--block", "96", "--format", "json")
            configuration = json.loads(done.out)["kernels"][0]["results"][0]["configs"][0]
            self.assertTrue(configuration["launchable"], name)

    def test_messages_cannot_drive_a_terminal(self):
        name = "a\nb\033[31m\u009bc.ptx"
        done = self.expect(3, "inspect", self.path(name), says="a\\x0ab\\x1b[31m\\xc2\\x9bc.ptx: error[FF0801]")
        self.assertNotIn("\033", done.err)
        done = run("analyze", self.axpy, "--gpu", "a100", "--grid-x", b"\xff\x01")
        self.assertEqual(done.returncode, 2)

    def test_an_empty_value_is_no_value(self):
        for option in ("--work", "--grid", "--current", "--grid-x", "--top", "--dynamic-smem", "--block", "--sms", "--arg", "--gpu", "-o"):
            self.expect(2, "analyze", self.axpy, *self.OFF, option, "", says="empty")
        self.expect(2, "occupancy", "--gpu", "a100", "--regs", "", "--block", "128", says="--regs: its value is empty")
        self.expect(3, "inspect", "", says="name of an input is empty")

    def test_numbers_that_are_none(self):
        self.expect(2, "analyze", self.axpy, *self.OFF, "--top", "-1", says="--top: '-1' is not a whole number")
        self.expect(2, "analyze", self.axpy, *self.OFF, "--clock", "fast", says="--clock: 'fast' is not a number")

    def test_an_input_is_never_overwritten(self):
        for command in (["analyze", self.axpy, *self.OFF], ["inspect", self.axpy], ["explain", self.axpy, *self.OFF]):
            self.expect(2, *command, "-o", self.axpy, says="is an input")
            self.expect(2, *command, "--format", f"json={self.folder.name}/./axpy.ptx", says="is an input")
        with open(self.axpy) as file:
            self.assertEqual(file.read(), AXPY)

    def test_regular_expressions_that_explode(self):
        path = self.file("long.ptx", ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry " + "a" * 3000 + "() { ret; }\n")
        for pattern in ("/(a*)*b/", "/(a|aa)+b/", "/((((((a*)*)*)*)*)*)*c/"):
            self.expect(2, "inspect", path, "--kernel", pattern, says="no kernel matches")
        self.expect(0, "inspect", path, "--kernel", "/^(a|aa)+$/")
        self.expect(2, "inspect", path, "--kernel", "/" + "(" * 100000 + ")" * 20000 + "/", says="too long")

    def test_files_that_never_end(self):
        if not os.path.exists("/dev/zero"):
            self.skipTest("no /dev/zero")
        self.expect(3, "inspect", "/dev/zero", says="is larger than")
        self.expect(2, "analyze", self.axpy, "--gpu", "/dev/zero", says="too large")
        self.expect(2, "analyze", self.axpy, "--gpu", "a100", "--ptxas-log", "/dev/zero", says="is larger than")

    def test_a_folder_for_a_file(self):
        self.expect(2, "analyze", self.axpy, "--gpu", "a100", "--ptxas-log", self.folder.name, says="Is a directory")
        self.expect(2, "analyze", self.axpy, "--gpu", self.folder.name, says="is a directory")

    def test_a_profile_with_a_number_too_large(self):
        for text in ("{\"a\": " + "9" * 5000 + "}", "{\"a\": 1e999}"):
            self.expect(2, "analyze", self.axpy, "--gpu", self.file("gpu.json", text), says="FF0902")

    def test_lines_that_end_in_carriage_returns(self):
        self.expect(3, "inspect", self.file("cr.ptx", AXPY.replace("\n", "\r")), says=("carriage return alone", "tr '\\r' '\\n'"))

    def test_llvm_ir_where_no_llc_is(self):
        path = self.file("kernel.ptx", "; ModuleID = 'x'\ntarget triple = \"nvptx64-nvidia-cuda\"\n")
        self.expect(4, "inspect", path, env={"PATH": self.folder.name}, says=("FF0610", "needs llc"))

    def test_a_ptxas_that_is_none_is_told(self):
        tools = os.path.join(self.folder.name, "bin")
        os.mkdir(tools)
        with open(os.path.join(tools, "ptxas"), "w") as file:
            file.write("#!/bin/sh\necho nonsense\n")
        os.chmod(os.path.join(tools, "ptxas"), 0o755)
        env = {"PATH": tools + ":/usr/bin:/bin", "CUDA_HOME": ""}
        self.expect(0, "analyze", self.axpy, "--gpu", "a100", env=env, says="FF0604")
        self.expect(4, "analyze", self.axpy, "--gpu", "a100", "--ptxas", "require", env=env, says="FF0604")


def validator(test, name):
    """Of schema/NAME.schema.json; the test is skipped where it cannot be had."""
    try:
        from jsonschema import Draft202012Validator
    except ImportError:
        test.skipTest("python3-jsonschema is not installed, or too old for draft 2020-12")
    with open(os.path.join(SOURCE, "schema", name + ".schema.json")) as file:
        schema = json.load(file)
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


class Schema(Case):
    """What is emitted is what schema/ says, for the examples and the known answers."""

    def inputs(self):
        found = sorted(glob.glob(os.path.join(SOURCE, "examples", "*.ptx")))
        self.assertTrue(found, "examples/ has PTX")
        known = sorted(glob.glob(os.path.join(SHARED, "known_answers", "*", "*.ptx")))
        if not known:
            print("known answers are not here: examples only", file=sys.stderr)
        return [[self.axpy], *([path] for path in found), *([path, "--block", "128"] for path in known)]

    def check(self, name, *arguments):
        done = run(*arguments)
        self.assertEqual(done.returncode, 0, f"{arguments}: {done.err}")
        errors = [f"{e.json_path}: {e.message[:300]}" for e in validator(self, name).iter_errors(json.loads(done.out))]
        self.assertEqual(errors[:5], [], f"{arguments}")

    def test_analysis(self):
        # A search for ours, one block for the many known answers: the shape of the report is the same.
        for arguments in self.inputs():
            self.check("analysis", "analyze", *arguments, "--gpu", "h100", "--ptxas", "off", "--format", "json")
        self.check("analysis", "analyze", self.axpy, "--gpu", "a100", "--gpu", "t4", "--clock", "1200", "--power-limit", "200", "--current", "64", "--work", "100000", "--detail", "full",
                   "--format", "json", "--ptxas", "off")
        self.check("analysis", "analyze", self.axpy, "--gpu", "a100", "--block", "2048", "--block", "40", "--format", "json", "--ptxas", "off")

    def test_inspect(self):
        for path, *_ in self.inputs():
            self.check("inspect", "inspect", path, "--format", "json")
        self.check("inspect", "inspect", self.file("functions.ptx", NO_KERNEL), "--format", "json")

    def test_explain(self):
        for path, *_ in self.inputs()[:6]:
            self.check("explain", "explain", path, "--gpu", "a100", "--format", "json", "--ptxas", "off", "--block", "128", "--versus", "64")
        self.check("explain", "explain", self.axpy, "--gpu", "a100", "--why-not", "48", "--format", "json", "--ptxas", "off")


class Ptxas(Case):
    """An outside tool is used where it is, never needed, and required only when asked (exit 4)."""

    def test_broken(self):
        self.file("ptxas", "#!/bin/sh\necho no such luck >&2\nexit 1\n")
        os.chmod(self.path("ptxas"), 0o755)
        env = {"PATH": self.folder.name, "CUDA_HOME": self.path("nowhere")}
        self.expect(4, "analyze", self.axpy, "--gpu", "a100", "--ptxas", "require", env=env, says="ptxas")
        done = self.expect(0, "analyze", self.axpy, "--gpu", "a100", "--format", "json", env=env)
        report = json.loads(done.out)
        self.assertIsNone(report["used"]["ptxas"])
        self.assertEqual(report["kernels"][0]["results"][0]["resources"]["registers_basis"], "estimate")

    def test_log_that_is_not_there(self):
        self.expect(2, "analyze", self.axpy, "--gpu", "a100", "--ptxas-log", self.path("nowhere.log"), says="nowhere.log")


class Determinism(Case):
    def test_same_bytes_again(self):
        for options in (["--format", "json"], ["--format", "text"], ["--format", "csv"], ["--format", "markdown"]):
            outputs = {self.analyze(*options, *threads).out for threads in ([], ["-j", "1"], ["-j", "3"])}
            self.assertEqual(len(outputs), 1, options)

    def test_no_machine_in_the_report(self):
        done = run("analyze", "axpy.ptx", "--gpu", "a100", "--ptxas", "off", "--format", "json", cwd=self.folder.name)
        self.assertNotIn(self.folder.name, done.out)
        self.assertNotIn(os.path.abspath(SOURCE), done.out)



def main(module):
    """Runs the classes named on the command line, or all of `module`."""
    names = sys.argv[1:]
    loader = unittest.TestLoader()
    suite = loader.loadTestsFromNames(names, module) if names else loader.loadTestsFromModule(module)
    result = unittest.TextTestRunner(verbosity=1).run(suite)
    for test, reason in result.skipped:
        print(f"skipped {test.id()}: {reason}")
    everything_skipped = result.testsRun > 0 and len(result.skipped) == result.testsRun
    sys.exit(77 if everything_skipped else 0 if result.wasSuccessful() else 1)


if __name__ == "__main__":
    main(sys.modules[__name__])
