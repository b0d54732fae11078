#!/usr/bin/env python3
"""Launches from outside: launches.toml, cases and sweeps, calls, the scaffold, and what is wrong with them. As test_cli.py."""
import csv
import io
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from test_cli import AXPY, SOURCE, Case, main, run, validator  # noqa: E402

FILE = """# a team's launches
[[kernel]]
match = "axpy"
params = ["x", "y", "a", "n"]
current = 64
work = ["n"]
calls = 10

[kernel.args]
n = 1000000
a = 2.0
"""
STRUCT = """.version 7.8
.target sm_80
.address_size 64
.visible .entry pack(.param .align 8 .b8 pack_param_0[24])
{
    .reg .pred %p<2>;
    .reg .b32 %r<6>;
    .reg .b64 %rd<5>;
    ld.param.u64 %rd1, [pack_param_0];
    ld.param.u32 %r1, [pack_param_0+16];
    mov.u32 %r3, %ctaid.x;
    mov.u32 %r4, %ntid.x;
    mov.u32 %r5, %tid.x;
    mad.lo.s32 %r2, %r3, %r4, %r5;
    setp.ge.s32 %p1, %r2, %r1;
    @%p1 bra DONE;
    cvta.to.global.u64 %rd2, %rd1;
    mul.wide.s32 %rd3, %r2, 4;
    add.s64 %rd4, %rd2, %rd3;
    st.global.u32 [%rd4], %r2;
DONE:
    ret;
}
"""


class LaunchCase(Case):
    def launches(self, text, name="launches.toml"):
        return self.file(name, text)

    def report(self, *arguments, path=None, code=0):
        done = self.expect(code, "analyze", path or self.axpy, "--gpu", "a100", "--ptxas", "off", "--format", "json", *arguments)
        return json.loads(done.out)

    def only(self, *arguments, **more):
        report = self.report(*arguments, **more)
        self.assertEqual(len(report["kernels"]), 1)
        return report["kernels"][0]

    def wrong(self, text, *says, line=None, column=None, arguments=(), path=None):
        """A launches file that is refused: exit 2, its name, and where it is wrong."""
        file = self.launches(text)
        done = self.expect(2, "analyze", path or self.axpy, "--gpu", "a100", "--ptxas", "off", "--launches", file, *arguments, says=("launches.toml", *says))
        if line is not None:
            self.assertIn(f"launches.toml:{line}:" + (f"{column}:" if column else ""), done.err)
        return done.err


class Launches(LaunchCase):
    def test_a_file_says_what_the_options_say(self):
        kernel = self.only("--launches", self.launches(FILE))
        options = self.only("--work", "1000000", "--current", "64", "--arg", "3=1000000", "--arg", "2=2.0")
        self.assertEqual([p["source_name"] for p in kernel["parameters"]], ["x", "y", "a", "n"])
        self.assertEqual([(p["value"], p["basis"]) for p in kernel["parameters"][2:]], [(2, "given"), (1000000, "given")])
        self.assertEqual([(c["block"], c["grid"], c["predicted"]) for c in kernel["results"][0]["configs"]],
                         [(c["block"], c["grid"], c["predicted"]) for c in options["results"][0]["configs"]])
        self.assertIsNotNone(kernel["results"][0]["recommendation"]["gain_over"]["current"])

    def test_the_command_line_goes_first(self):
        file = self.launches(FILE)
        kernel = self.only("--launches", file, "--arg", "n=2048", "--current", "128")
        self.assertEqual(kernel["parameters"][3]["value"], 2048)
        grids = {c["grid"][0] for c in kernel["results"][0]["configs"] if c["block"] == [128, 1, 1]}
        self.assertEqual(grids, {16}, "the work follows the argument")
        self.assertEqual(kernel["results"][0]["reblocking"]["reference"]["block"], [128, 1, 1])
        kernel = self.only("--launches", file, "--grid", "7")
        self.assertEqual({c["grid"][0] for c in kernel["results"][0]["configs"]}, {7})

    def test_several_kernels_the_first_match_counts(self):
        second = self.file("second.ptx", AXPY.replace("axpy", "bravo"))
        file = self.launches('[[kernel]]\nmatch = "axpy"\nwork = 4096\n[[kernel]]\nmatch = "*"\nwork = 8192\n')
        done = self.expect(0, "analyze", self.axpy, second, "--gpu", "a100", "--ptxas", "off", "--block", "128", "--format", "json", "--launches", file)
        grids = {k["name"]: k["results"][0]["configs"][0]["grid"][0] for k in json.loads(done.out)["kernels"]}
        self.assertEqual(grids, {"axpy": 32, "bravo": 64})
        hidden = self.launches('[[kernel]]\nmatch = "*"\nwork = 8192\n[[kernel]]\nmatch = "axpy"\nwork = 4096\n')
        self.expect(0, "analyze", self.axpy, "--gpu", "a100", "--ptxas", "off", "--launches", hidden, says=("never used", "launches.toml:5:"))

    def test_kernels_without_an_entry_are_said(self):
        second = self.file("second.ptx", AXPY.replace("axpy", "bravo"))
        done = self.expect(0, "analyze", self.axpy, second, "--gpu", "a100", "--ptxas", "off", "--launches", self.launches(FILE), says=("no entry describes bravo",))
        self.assertIn("axpy", done.out)

    def test_expressions_rule_grids_and_shared_memory(self):
        kernel = self.only("--block", "128", "--block", "256",
                           "--launches", self.launches('[[kernel]]\nmatch = "axpy"\ngrid_x = "gpu.sms * blocks_per_sm"\ndynamic_smem = "block.x * 4"\n'))
        for config in kernel["results"][0]["configs"]:
            self.assertEqual(config["grid"][0], 108 * config["occupancy"]["active_blocks_per_sm"])
            self.assertEqual(config["dynamic_shared_bytes"], config["block"][0] * 4)

    def test_cooperative_grids_must_be_resident(self):
        kernel = self.only("--block", "256", "--launches", self.launches('[[kernel]]\nmatch = "axpy"\ngrid = 100000\ncooperative = true\n'))
        result = kernel["results"][0]
        self.assertFalse(result["configs"][0]["launchable"])
        self.assertEqual(result["space"]["rejected_by"], {"cooperative": 1})
        kernel = self.only("--block", "256", "--launches", self.launches('[[kernel]]\nmatch = "axpy"\ngrid_x = "gpu.sms * blocks_per_sm"\ncooperative = true\n'))
        self.assertTrue(kernel["results"][0]["configs"][0]["launchable"])

    def test_struct_fields_and_blobs(self):
        pack = self.file("pack.ptx", STRUCT)
        kernel = self.only("--launches", self.launches('[[kernel]]\nmatch = "pack"\nparams = ["p"]\n[kernel.args]\n"p+16:u32" = 5000\n'), path=pack)
        config = kernel["results"][0]["configs"][0]
        self.assertEqual(config["block"][0] * config["grid"][0] // config["block"][0], -(-5000 // config["block"][0]))
        self.file("p.bin", (1 << 40).to_bytes(8, "little") + bytes(8) + (3000).to_bytes(4, "little") + bytes(4))
        kernel = self.only("--block", "100", "--launches", self.launches('[[kernel]]\nmatch = "pack"\nparams = ["p"]\nargs = {p = "p.bin"}\n'), path=pack)
        self.assertEqual(kernel["results"][0]["configs"][0]["grid"][0], 30)

    def test_explain_and_the_gate_read_it_too(self):
        file = self.launches(FILE)
        self.assertIn("64", self.expect(0, "explain", self.axpy, "--gpu", "a100", "--ptxas", "off", "--launches", file, "--versus", "64").out)
        base = self.path("base.json")
        self.expect(0, "baseline", self.axpy, "--gpu", "a100", "--ptxas", "off", "--launches", file, "-o", base)
        self.expect(0, "check", self.axpy, "--gpu", "a100", "--ptxas", "off", "--launches", file, "--baseline", base)


class Calls(LaunchCase):
    def test_a_step_over_all_kernels(self):
        second = self.file("second.ptx", AXPY.replace("axpy", "bravo"))
        third = self.file("third.ptx", AXPY.replace("axpy", "charlie"))
        file = self.launches(FILE + '\n[[kernel]]\nmatch = "bravo"\nwork = 16000000\ncalls = 3\n')
        arguments = ("analyze", self.axpy, second, third, "--gpu", "a100", "--ptxas", "off", "--launches", file)
        report = json.loads(self.expect(0, *arguments, "--format", "json").out)
        step = report["steps"][0]
        self.assertEqual(step["dominant"], "bravo")
        self.assertEqual([k["name"] for k in step["kernels"]], ["bravo", "axpy"])
        self.assertEqual(step["uncounted"], ["charlie"])
        self.assertAlmostEqual(sum(k["time_share"] for k in step["kernels"]), 1)
        axpy = next(k for k in report["kernels"] if k["name"] == "axpy")
        current = next(c for c in axpy["results"][0]["configs"] if c["block"] == [64, 1, 1])
        self.assertAlmostEqual(step["kernels"][1]["time_us"], 10 * current["predicted"]["time_us"])
        self.assertAlmostEqual(step["kernels"][1]["energy_mj"], 10 * current["predicted"]["energy_mj"])
        self.assertEqual(step["kernels"][1]["launch"], "current")
        text = self.expect(0, *arguments).out
        self.assertIn("bravo dominates", text)
        self.assertIn("Without calls, so not in the step: charlie", text)
        self.assertIn("A step on", self.expect(0, *arguments, "--format", "markdown").out)


class Cases(LaunchCase):
    CASES = ("--case", "small:n=2048,weight=100", "--case", "large:n=50000000")

    def test_a_recommendation_for_each_and_one_for_all(self):
        kernel = self.only("--launches", self.launches(FILE), *self.CASES)
        self.assertEqual([r["case"] for r in kernel["results"]], ["small", "large"])
        across = kernel["results"][0]["recommendation"]["across_cases"]
        self.assertEqual(across, kernel["results"][1]["recommendation"]["across_cases"])
        costs = {r["case"]: {tuple(c["block"]): c["predicted"]["time_us"] for c in r["configs"] if c["predicted"] and c["safe"] is not False} for r in kernel["results"]}
        best = {line["case"]: line["cost"] for line in across["cases"]}
        for line in across["cases"]:
            self.assertAlmostEqual(line["cost"], costs[line["case"]][tuple(line["block"])])
        # What is chosen is the least of all blocks that can be launched in both: recomputed here from the configurations.
        regret = {b: max(costs[c][b] / best[c] - 1 for c in costs) for b in costs["small"] if b in costs["large"]}
        chosen = across["least_worst_regret"]
        self.assertAlmostEqual(chosen["worst_regret"], min(regret.values()), places=9)
        self.assertAlmostEqual(regret[tuple(chosen["block"])], chosen["worst_regret"], places=9)
        weighted = {b: (100 * costs["small"][b] + costs["large"][b]) / 101 for b in regret}
        self.assertAlmostEqual(across["least_weighted_cost"]["weighted_cost"], min(weighted.values()), places=9)

    def test_a_sweep(self):
        arguments = ("--launches", self.launches(FILE), "--sweep", "n=1024:2097152:x2")
        kernel = self.only(*arguments)
        self.assertEqual(len(kernel["results"]), 12)
        self.assertEqual([r["case"] for r in kernel["results"]], [f"n={1024 << i}" for i in range(12)])
        across = kernel["results"][0]["recommendation"]["across_cases"]
        self.assertEqual(across["swept"], "n")
        points = [line["swept"] for line in across["cases"]]
        self.assertEqual(points, sorted(points))
        for row, after in zip(across["dispatch"], across["dispatch"][1:]):
            self.assertLessEqual(row["to"], row["crossing"])
            self.assertLessEqual(row["crossing"], after["from"])
        covered = [name for row in across["dispatch"] for name in row["cases"]]
        self.assertIn(covered, ([], [line["case"] for line in across["cases"]]))
        text = self.expect(0, "analyze", self.axpy, "--gpu", "a100", "--ptxas", "off", *arguments).out
        self.assertIn("12 cases", text)
        self.assertIn("One launch for all", text)

    def test_a_sweep_needs_no_file(self):
        kernel = self.only("--sweep", "3=1000:3000:+1000", "--block", "128")
        self.assertEqual([r["configs"][0]["grid"][0] for r in kernel["results"]], [8, 16, 24], "the guard's value is the work")
        kernel = self.only("--sweep", "work=1000:3000:+1000", "--block", "128")
        self.assertEqual([r["configs"][0]["grid"][0] for r in kernel["results"]], [8, 16, 24])

    def test_cases_in_the_file_and_every_format(self):
        file = self.launches(FILE + '[[kernel.cases]]\nname = "a"\nargs = {n = 4096}\nweight = 2\n[[kernel.cases]]\nname = "b"\nargs = {n = 8192}\n')
        self.assertEqual([r["case"] for r in self.only("--launches", file)["results"]], ["a", "b"])
        rows = list(csv.DictReader(io.StringIO(self.expect(0, "analyze", self.axpy, "--gpu", "a100", "--ptxas", "off", "--launches", file, "--format", "csv").out)))
        self.assertEqual({r["case"] for r in rows}, {"a", "b"})
        chosen = [r for r in rows if "least_worst_regret" in r["chosen_for"]]
        self.assertEqual([r["case"] for r in chosen], ["a", "b"])
        self.assertEqual(len({r["block_x"] for r in chosen}), 1)
        self.assertGreaterEqual(min(float(r["regret"]) for r in rows if r["regret"]), -1e-9)
        self.assertIn("One launch for all", self.expect(0, "analyze", self.axpy, "--gpu", "a100", "--ptxas", "off", "--launches", file, "--format", "markdown").out)
        full = self.expect(0, "analyze", self.axpy, "--gpu", "a100", "--ptxas", "off", "--launches", file, "--detail", "full").out
        self.assertIn("case b", full)


class Scaffold(LaunchCase):
    def test_it_parses_back_and_works_once_filled_in(self):
        pack = self.file("pack.ptx", STRUCT)
        done = self.expect(0, "inspect", self.axpy, pack, "--scaffold")
        for text in ("guard of x", "address base", 'match = "=axpy"', '"param_0+16:u32"'):
            self.assertIn(text, done.out)
        file = self.launches(done.out)
        plain = self.report()["kernels"][0]["results"][0]["configs"]
        empty = self.only("--launches", file)
        self.assertEqual([c["predicted"] for c in empty["results"][0]["configs"]], [c["predicted"] for c in plain], "as written it says nothing")
        filled = "\n".join(line[2:] if line.startswith(("# param_3 =", "# work =", "# current =")) and "param_3" in line + "param_3" else line for line in done.out.splitlines())
        filled = filled.replace("param_3 = 1024", "param_3 = 5000")
        kernel = self.report("--launches", self.launches(filled.split("# pack")[0], "filled.toml"))["kernels"][0]
        self.assertEqual(kernel["parameters"][3]["value"], 5000)
        self.assertEqual({c["grid"][0] for c in kernel["results"][0]["configs"] if c["block"] == [256, 1, 1]}, {20})
        self.expect(2, "inspect", self.axpy, "--scaffold", "--format", "json", says="json")

    def test_all_examples(self):
        for name in sorted(os.listdir(os.path.join(SOURCE, "examples"))):
            if name.endswith(".ptx"):
                path = os.path.join(SOURCE, "examples", name)
                file = self.launches(self.expect(0, "inspect", path, "--scaffold").out)
                self.expect(0, "analyze", path, "--gpu", "a100", "--ptxas", "off", "--block", "32", "--launches", file)


class Variants(LaunchCase):
    def cache(self):
        """A Triton cache of our own making: one kernel, compiled for 1, 4 and 8 warps and for two tiles."""
        os.mkdir(self.path("cache"))
        for folder, warps, shared in (("AAAA", 1, 0), ("BBBB", 4, 1024), ("CCCC", 8, 49152)):
            os.mkdir(self.path(os.path.join("cache", folder)))
            text = AXPY.replace(")\n{", f")\n.maxntid {32 * warps}, 1, 1\n{{", 1)
            text = text.replace(".visible .entry", ".extern .shared .align 16 .b8 global_smem[];\n.visible .entry", 1)
            text = text.replace("    mov.u32 %r3, %ctaid.x;", "    mov.u32 %r4, global_smem;\n    st.shared.u32 [%r4], %r2;\n    mov.u32 %r3, %ctaid.x;", 1) if shared else text
            self.file(os.path.join("cache", folder, "axpy.ptx"), text)
            self.file(os.path.join("cache", folder, "axpy.json"), json.dumps({"name": "axpy", "num_warps": warps, "num_stages": 2, "shared": shared, "hash": folder}))
        return self.path("cache")

    def test_a_cache_is_ranked(self):
        cache = self.cache()
        report = self.report("--variants", "--work", "1000000", path=cache)
        ranking = report["variants"][0]["ranking"]
        self.assertEqual(len(ranking), 3)
        self.assertEqual([v["rank"] for v in ranking], [1, 2, 3])
        self.assertEqual({tuple(v["block"]): v["parameters"]["num_warps"] for v in ranking}, {(32, 1, 1): "1", (128, 1, 1): "4", (256, 1, 1): "8"})
        self.assertEqual({v["block"][0]: v["dynamic_shared_bytes"] for v in ranking}, {32: 0, 128: 1024, 256: 49152})
        self.assertEqual([v["time_us"] for v in ranking], sorted(v["time_us"] for v in ranking))
        self.assertEqual(ranking[0]["cost_ratio"], 1)
        self.assertAlmostEqual(ranking[2]["cost_ratio"], ranking[2]["time_us"] / ranking[0]["time_us"])
        self.assertEqual(report["variants"][0]["parameters"], ["num_warps", "shared"])
        for kernel in report["kernels"]:
            self.assertEqual(kernel["results"][0]["space"]["launchable"], 1, "the block it was compiled for")
            self.assertIn("--variants", " ".join(kernel["results"][0]["recommendation"]["caveats"]))
        text = self.expect(0, "analyze", cache, "--gpu", "a100", "--ptxas", "off", "--variants").out
        self.assertIn("3 variants of axpy", text)
        self.assertIn("num_warps", text)

    def test_what_was_compiled_in_comes_from_a_table(self):
        cache = self.cache()
        rule = ("--variants", "--grid-x", "ceil(1000000 / BLOCK)")
        self.expect(2, "analyze", cache, "--gpu", "a100", "--ptxas", "off", *rule, says=("'BLOCK' is not known", "--variant-table"))
        table = self.file("table.csv", "variant,BLOCK\nAAAA,32\nBBBB,256\nCCCC,1000\n")
        report = self.report(*rule, "--variant-table", table, path=cache)
        grids = {v["parameters"]["BLOCK"]: v["grid"][0] for v in report["variants"][0]["ranking"]}
        self.assertEqual(grids, {"32": 31250, "256": 3907, "1000": 1000})
        report = self.report("--variants", "--grid-x", "num_warps * 10", path=cache)
        self.assertEqual({v["grid"][0] for v in report["variants"][0]["ranking"]}, {10, 40, 80})
        for text, says in (("variant,B\nAAAA\n", "table.csv:2:"), ("x\n", "header"), ("variant,B\n", "no rows")):
            self.expect(2, "analyze", cache, "--gpu", "a100", "--variant-table", self.file("table.csv", text), says=says)
        self.expect(2, "analyze", cache, "--gpu", "a100", "--variant-table", self.path("none.csv"), says="cannot be read")


class BadLaunches(LaunchCase):
    """Issue 3's list: a message with file, line and column, exit 2."""

    def test_typos_and_types(self):
        self.wrong('[[kernel]]\nmatch = "axpy"\nwrok = 5\n', "no key 'wrok'", "did you mean work?", line=3, column=1)
        self.wrong('[[kernel]]\nmatch = "axpi"\n', "'axpi'", "did you mean 'axpy'?", line=2)
        self.wrong('[[kernels]]\nmatch = "axpy"\n', "no key 'kernels'", line=1)
        self.wrong('[[kernel]]\nmatch = "axpy\n', line=2)
        self.wrong("", "describes no kernel")
        self.wrong('[[kernel]]\nwork = 5\n', "names no kernel", line=1)
        self.wrong('[[kernel]]\nmatch = "axpy"\nwork = 1.5\n', "whole number", line=3, column=8)
        self.wrong('[[kernel]]\nmatch = "axpy"\nblock = [16, 0]\n', "0 is no extent", line=3, column=14)
        self.wrong('[[kernel]]\nmatch = "axpy"\nblock = [1, 1, 1, 1]\n', "4 axes", line=3)
        self.wrong('[[kernel]]\nmatch = "axpy"\ncalls = -1\n', line=3)
        self.wrong('[[kernel]]\nmatch = "axpy"\ncooperative = "yes"\n', "true or false", line=3)
        self.wrong('[[kernel]]\nmatch = "axpy"\nargs = [1]\n', "'args' is a table", line=3)
        self.wrong('[[kernel]]\nmatch = "axpy"\nargs = {3 = []}\n', "an argument is", line=3)
        self.wrong('[[kernel]]\nmatch = "axpy"\nwork = 5\ngrid = 5\n', "both rule the grid", line=4)
        self.wrong('[[kernel]]\nmatch = "/(/"\n', "regular expression", line=2)
        self.wrong('[[kernel]]\nmatch = "axpy"\nparams = ["a", "b", "c", "d", "e"]\n', "5 names for the 4 parameters", line=3)
        self.wrong('[[kernel]]\nmatch = "axpy"\nparams = ["a", "a"]\n', "two parameters 'a'", line=3)

    def test_arguments(self):
        self.wrong('[[kernel]]\nmatch = "axpy"\n[kernel.args]\nm = 5\n', "there is no parameter 'm'", line=4, column=1)
        self.wrong('[[kernel]]\nmatch = "axpy"\n[kernel.args]\n3 = 99999999999\n', "does not fit in 32 bits", line=4)
        self.wrong('[[kernel]]\nmatch = "axpy"\n[kernel.args]\n"3+0:u31" = 9\n', "'u31' is not a type", line=4)
        pack = self.file("pack.ptx", STRUCT)
        self.wrong('[[kernel]]\nmatch = "pack"\n[kernel.args]\n"0+22:u32" = 9\n', "beyond parameter", line=4, path=pack)
        self.wrong('[[kernel]]\nmatch = "pack"\n[kernel.args]\n0 = "missing.bin"\n', "missing.bin", line=4, path=pack)
        self.file("long.bin", bytes(100))
        self.wrong('[[kernel]]\nmatch = "pack"\n[kernel.args]\n0 = "long.bin"\n', "more than the 24 bytes", line=4, path=pack)
        self.wrong('[[kernel]]\nmatch = "axpy"\nparams = ["x", "y", "a", "n"]\nargs = {n = 5, 3 = 6}\n', "gives parameter axpy_param_3 already", line=4)
        done = self.expect(2, "analyze", self.axpy, "--gpu", "a100", "--arg", "3=5", "--arg", "3=6", says="given twice")
        self.assertIn("--arg", done.err)
        self.expect(2, "analyze", self.axpy, "--gpu", "a100", "--ptxas", "off", "--arg", "3=5", "--arg", "param_3=6", says="gives parameter axpy_param_3 already")

    def test_data(self):
        self.wrong('[[kernel]]\nmatch = "axpy"\ndata = {0 = "nowhere.npy"}\n', "cannot read", "nowhere.npy", line=3)
        self.file("short.bin", bytes(7))
        self.wrong('[[kernel]]\nmatch = "axpy"\ndata = {0 = "short.bin:u32"}\n', "no whole number of u32", line=3)
        with open(self.path("huge.bin"), "wb") as huge:
            huge.truncate((1 << 30) + 4)
        self.wrong('[[kernel]]\nmatch = "axpy"\ndata = {0 = "huge.bin:u32"}\n', "more than the", line=3)
        self.wrong('[[kernel]]\nmatch = "axpy"\ndata = {0 = 5}\n', "text in quotes", line=3)

    def test_expressions(self):
        kernel = '[[kernel]]\nmatch = "axpy"\nparams = ["x", "y", "a", "n"]\nargs = {n = 0}\n'
        self.wrong(kernel + 'grid_x = "100 / n"\n', "division by zero", line=5, column=15)
        self.wrong(kernel + 'grid_x = "9223372036854775807 * block.x"\n', "too large", line=5)
        self.wrong(kernel + 'grid_x = "blok.x"\n', "did you mean 'block.x'", line=5, column=11)
        self.wrong(kernel + 'grid_x = "block.x +"\n', "ends where", line=5)
        self.wrong(kernel + 'work = "m"\n', "'m' is not known", line=5)
        self.wrong(kernel + 'dynamic_smem = "1.5"\n', "not whole", line=5)
        self.wrong('[[kernel]]\nmatch = "axpy"\nparams = ["x", "y", "a", "n"]\nwork = ["n"]\n', "no value is given", line=4)

    def test_cases(self):
        kernel = '[[kernel]]\nmatch = "axpy"\nparams = ["x", "y", "a", "n"]\n'
        self.wrong(kernel + '[[kernel.cases]]\nname = "a"\nargs = {n = 5}\n[[kernel.cases]]\nname = "b"\n', "case 'b' gives no value for n", line=7)
        self.wrong(kernel + '[[kernel.cases]]\nargs = {n = 5}\n', "no name", line=4)
        self.wrong(kernel + '[[kernel.cases]]\nname = "a"\n[[kernel.cases]]\nname = "a"\n', "two cases 'a'", line=6)
        self.wrong(kernel + '[[kernel.cases]]\nname = "a"\nweight = 0\n', "weight", line=6)
        self.wrong(kernel + '[[kernel.cases]]\nname = "a"\nargs = {q = 5}\n', "no parameter 'q'", line=6)
        self.wrong(kernel + 'sweep = "n=5:1:x2"\n', "less than FROM", line=4)
        for case, says in (("n=5", "no name"), (":3=5", "name is missing"), ("a:3", "no '='"), ("a:3=5,weight=-1", "weight"), ("a:work=0", "no shape"), ("a:3=5,3=6", "given twice")):
            self.expect(2, "analyze", self.axpy, "--gpu", "a100", "--case", case, says=("--case", says))
        self.expect(2, "analyze", self.axpy, "--gpu", "a100", "--case", "a:3=5", "--case", "b:2=1.0", "--ptxas", "off", says="gives no value for")
        for sweep, says in (("n", "PARAM"), ("3=1", "TO is missing"), ("3=1:x", "TO is not"), ("3=1:9:*2", "neither"), ("3=1:9:x1", "above 1"), ("3=0:9:x2", "not above 0"), ("3=1:100000000:+1", "more than")):
            self.expect(2, "analyze", self.axpy, "--gpu", "a100", "--sweep", sweep, says=("--sweep", says))

    def test_the_file_itself(self):
        self.expect(2, "analyze", self.axpy, "--gpu", "a100", "--launches", self.path("none.toml"), says=("none.toml", "cannot be read"))
        self.expect(2, "analyze", self.axpy, "--gpu", "a100", "--launches", self.folder.name, says="cannot be read")
        self.expect(2, "analyze", self.axpy, "--gpu", "a100", "--launches", self.file("bad.toml", bytes(range(256))), says="bad.toml:1:")
        deep = self.file("deep.toml", "x = " + "[" * 5000 + "]" * 5000)
        self.expect(2, "analyze", self.axpy, "--gpu", "a100", "--launches", deep, says="deep.toml")
        file = self.launches(FILE)
        before = open(file).read()
        self.expect(2, "analyze", self.axpy, "--gpu", "a100", "--launches", file, "-o", file)
        self.assertEqual(open(file).read(), before)

    def test_nonsense_never_crashes(self):
        """Every single-character change of a file is a message or an answer."""
        import random
        random.seed(3)
        text = FILE + '[[kernel.cases]]\nname = "a"\nargs = {n = 5}\n'
        for _ in range(60):
            at = random.randrange(len(text))
            changed = text[:at] + random.choice(["", "[", "]", "=", '"', "#", "9", "-", "\n", "{", ".", "\\"]) + text[at + random.randrange(2):]
            done = run("analyze", self.axpy, "--gpu", "a100", "--ptxas", "off", "--block", "128", "--launches", self.launches(changed))
            self.assertIn(done.returncode, (0, 2), changed + done.err)
            if done.returncode == 2:
                self.assertIn("launches.toml", done.err, changed)


class LaunchSchema(LaunchCase):
    def setUp(self):
        super().setUp()
        try:
            import tomllib
        except ImportError:
            self.skipTest("tomllib is not in this Python")
        self.tomllib = tomllib

    def test_files_are_what_the_schema_says(self):
        schema = validator(self, "launches")
        texts = [FILE]
        for folder, _, names in os.walk(os.path.join(SOURCE, "examples")):
            texts += [open(os.path.join(folder, n)).read() for n in sorted(names) if n.endswith(".toml") and "launches" in n]
        texts.append(self.expect(0, "inspect", self.axpy, "--scaffold").out)
        for text in texts:
            errors = [f"{e.json_path}: {e.message[:300]}" for e in schema.iter_errors(self.tomllib.loads(text))]
            self.assertEqual(errors, [], text)
        for bad in ('[[kernel]]\nmatch = "a"\nwrok = 5\n', '[[kernel]]\nwork = 5\n', '[[kernel]]\nmatch = "a"\nblock = [1, 1, 1, 1]\n', '[[kernel]]\nmatch = "a"\ncalls = 0\n'):
            self.assertTrue(list(schema.iter_errors(self.tomllib.loads(bad))), bad)
            self.wrong(bad.replace('"a"', '"axpy"'))

    def test_reports_are_what_the_schema_says(self):
        schema = validator(self, "analysis")
        file = self.launches(FILE)
        for arguments in (("--launches", file), ("--launches", file, "--sweep", "n=1024:1000000:x4"), (*Cases.CASES, "--launches", file, "--objective", "edp", "--clock", "900", "--clock", "1400")):
            report = self.report(*arguments)
            errors = [f"{e.json_path}: {e.message[:300]}" for e in schema.iter_errors(report)]
            self.assertEqual(errors[:5], [], arguments)


if __name__ == "__main__":
    main(sys.modules[__name__])
