#!/usr/bin/env python3
"""The gate from outside: baseline, check, diff and rules, as a CI job runs them. test_gate.py [CLASS...], as test_cli.py."""
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from test_cli import AXPY, NO_KERNEL, SOURCE, Case, main, run, validator  # noqa: E402

# The same work by eight times the traffic: neighbours are 32 bytes apart.
STRIDED = AXPY.replace("mul.wide.s32 %rd5, %r1, 4;", "mul.wide.s32 %rd5, %r1, 32;")
PTXAS_OFF = ("--ptxas", "off")


class GateCase(Case):
    def setUp(self):
        super().setUp()
        os.mkdir(self.path(".git"))  # a repository of its own: no policy from elsewhere

    def baseline(self, *inputs, options=("--gpu", "a100")):
        self.expect(0, "baseline", *(inputs or (self.axpy,)), *options, *PTXAS_OFF, "-o", self.path("base.json"))
        return self.path("base.json")

    def check_json(self, code, *arguments, **more):
        done = self.expect(code, "check", *arguments, *PTXAS_OFF, "--format", "json", **more)
        return json.loads(done.out), done

    def policy(self, text):
        return self.file("flipflop.toml", text)

    @staticmethod
    def change(report, metric, kernel=0):
        return {c["metric"]: c for c in report["kernels"][kernel]["changes"] if not c["budget"]}.get(metric)


class Gate(GateCase):
    def test_what_was_compared_with_nothing_is_not_called_changed(self):
        base = self.baseline()
        other = self.file("other.ptx", STRIDED.replace("axpy", "bravo"))   # another computation: else it is a renamed one
        done = self.expect(0, "check", other, "--baseline", base, *PTXAS_OFF)
        last = done.out.strip().splitlines()[-1]
        self.assertIn("1 new (compared with nothing)", last)
        self.assertIn("1 gone", last)
        self.assertNotIn("changed", last)

    def test_baseline_is_sorted_one_line_a_kernel_and_stable(self):
        second = self.file("second.ptx", AXPY.replace("axpy", "bravo"))
        first = self.file("zulu.ptx", AXPY.replace("axpy", "zulu"))
        path = self.baseline(first, self.axpy, second)
        with open(path) as file:
            text = file.read()
        document = json.loads(text)
        self.assertEqual(document["schema"], "flipflop.baseline/1")
        self.assertEqual([k["name"] for k in document["kernels"]], ["axpy", "bravo", "zulu"])
        lines = [line for line in text.splitlines() if '"fingerprint"' in line]
        self.assertEqual(len(lines), 3)
        self.assertNotIn(self.folder.name, text, "no machine paths")
        # An edit of one kernel changes its line and no other, in whatever order the inputs come.
        self.file("second.ptx", STRIDED.replace("axpy", "bravo"))
        self.baseline(second, first, self.axpy)
        with open(path) as file:
            now = [line for line in file.read().splitlines() if '"fingerprint"' in line]
        self.assertEqual([a == b for a, b in zip(lines, now)], [True, False, True])

    def test_nothing_changed_is_one_line(self):
        base = self.baseline()
        done = self.expect(0, "check", self.axpy, "--baseline", base, *PTXAS_OFF)
        self.assertEqual(len(done.out.splitlines()), 1)
        self.assertIn("nothing changed", done.out)
        report, _ = self.check_json(0, self.axpy, "--baseline", base)
        self.assertEqual((report["schema"], report["verdict"]), ("flipflop.check/1", "pass"))
        self.assertEqual([(k["name"], k["status"], k["changes"]) for k in report["kernels"]], [("axpy", "same", [])])

    def test_a_regression_fails_and_says_so(self):
        base = self.baseline()
        head = self.file("axpy.ptx", STRIDED)
        done = run("check", head, "--baseline", base, *PTXAS_OFF, "--format", "json")
        self.assertEqual(done.returncode, 1, done.err)
        report = json.loads(done.out)
        self.assertEqual(report["verdict"], "fail")
        change = self.change(report, "time_us")
        self.assertEqual(change["verdict"], "regressed")
        self.assertGreater(change["head"], change["base"])
        self.assertLess(change["change_low"], change["change"])
        self.assertLess(change["change"], change["change_high"])
        self.assertGreater(change["change_low"], change["threshold"])
        self.assertAlmostEqual(change["change"], change["head"] / change["base"] - 1, places=6)
        done = run("check", head, "--baseline", base, *PTXAS_OFF)
        self.assertEqual(done.returncode, 1)
        self.assertIn("FAIL", done.out)
        self.assertEqual(run("check", head, "--baseline", base, *PTXAS_OFF, "--exit-zero").returncode, 0)
        self.assertEqual(run("check", head, "--baseline", base, *PTXAS_OFF, "--fail-on", "never").returncode, 0)
        # The other way round it is an improvement.
        done = run("check", self.file("good.ptx", AXPY), "--base", head, "--gpu", "a100", *PTXAS_OFF, "--format", "json")
        self.assertEqual(done.returncode, 0, done.err)
        self.assertEqual(self.change(json.loads(done.out), "time_us")["verdict"], "improved")

    def test_an_input_as_base(self):
        head = self.file("head.ptx", STRIDED)
        done = run("check", head, "--base", self.axpy, "--gpu", "a100", *PTXAS_OFF, "--format", "json")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(self.change(json.loads(done.out), "time_us")["verdict"], "regressed")

    def test_gpu_and_launch_come_from_the_baseline(self):
        base = self.baseline(options=("--gpu", "a100", "--gpu", "t4", "--work", "100000", "--block", "128"))
        report, _ = self.check_json(0, self.axpy, "--baseline", base)
        self.assertEqual(sorted(k["gpu"] for k in report["kernels"]), ["A100-SXM4-80GB", "Tesla T4"])
        self.assertTrue(all(k["status"] == "same" for k in report["kernels"]), report)
        report, _ = self.check_json(0, self.axpy, "--baseline", base, "--work", "200000", "--block", "128")
        self.assertEqual(self.change(report, "time_us")["verdict"], "incomparable")
        self.assertIn("launch", [n["kind"] for n in report["notes"]])

    def test_another_toolchain_or_model_is_incomparable_and_passes(self):
        base = self.baseline()
        with open(base) as file:
            text = file.read()
        head = self.file("axpy.ptx", STRIDED)
        document = json.loads(text)
        document["models"] = "0" * 12
        other = self.file("other.json", json.dumps(document))
        report, _ = self.check_json(0, head, "--baseline", other)
        self.assertEqual(self.change(report, "time_us")["verdict"], "incomparable")
        self.assertEqual(self.change(report, "sectors_per_request")["verdict"], "ok")
        self.assertEqual(report["verdict"], "pass")
        document = json.loads(text)
        for kernel in document["kernels"]:
            kernel["registers_basis"], kernel["registers"] = "ptxas", 8
        document["used"]["ptxas"] = "11.0.1"
        report, _ = self.check_json(0, head, "--baseline", self.file("other.json", json.dumps(document)))
        self.assertEqual(self.change(report, "registers")["verdict"], "incomparable")
        self.assertIn("11.0.1", json.dumps(report["notes"]))

    def test_a_rename_survives_and_is_a_note(self):
        base = self.baseline()
        head = self.file("head.ptx", AXPY.replace("axpy", "saxpy"))
        report, _ = self.check_json(0, head, "--baseline", base)
        self.assertEqual([(k["name"], k["status"], k["renamed_from"]) for k in report["kernels"]], [("saxpy", "renamed", "axpy")])
        self.assertIn("renamed", [n["kind"] for n in report["notes"]])

    def test_added_and_removed(self):
        base = self.baseline()
        head = self.file("head.ptx", STRIDED.replace("axpy", "other"))
        report, _ = self.check_json(0, head, "--baseline", base)
        self.assertEqual({k["name"]: k["status"] for k in report["kernels"]}, {"axpy": "removed", "other": "added"})

    def test_zero_kernels_never_pass(self):
        base = self.baseline()
        self.expect(3, "check", self.file("none.ptx", NO_KERNEL), "--baseline", base, says="kernel")
        self.expect(3, "check", self.file("none.ptx", NO_KERNEL), "--gpu", "a100", "--exit-zero", says="kernel")
        self.expect(3, "baseline", self.file("none.ptx", NO_KERNEL), "--gpu", "a100", "-o", self.path("b2.json"), says="kernel")
        self.assertFalse(os.path.exists(self.path("b2.json")))

    def test_no_gpu_anywhere(self):
        self.expect(2, "check", self.axpy, says="GPU")
        self.policy('gpu = "a100"\n')
        self.expect(0, "check", self.axpy, *PTXAS_OFF)

    def test_budget_without_a_baseline(self):
        self.policy('[[budgets]]\nmatch = "ax*"\nmetric = "registers"\nmax = 4\n')
        done = run("check", self.axpy, "--gpu", "a100", *PTXAS_OFF, "--format", "json")
        self.assertEqual(done.returncode, 1, done.err)
        change = json.loads(done.out)["kernels"][0]["changes"][0]
        self.assertEqual((change["metric"], change["budget"], change["threshold"], change["verdict"]), ("registers", True, 4, "regressed"))

    def test_waiver_used_unused_expired(self):
        base = self.baseline()
        head = self.file("axpy.ptx", STRIDED)
        waivers = "".join(f'[[waivers]]\nmatch = "axpy"\nmetric = "{m}"\nreason = "wider type"\nowner = "team"\nexpires = 2030-01-31\n' for m in ("time_us", "energy_mj"))
        self.policy(waivers)
        report, _ = self.check_json(0, head, "--baseline", base, "--today", "2030-01-31")
        self.assertEqual([w["used"] for w in report["waivers"]], [True, True])
        self.assertEqual(self.change(report, "time_us")["verdict"], "waived")
        done = run("check", head, "--baseline", base, *PTXAS_OFF, "--today", "2030-02-01")
        self.assertEqual(done.returncode, 1)
        self.assertIn("expired on 2030-01-31", done.err)
        self.assertEqual(run("check", head, "--baseline", base, *PTXAS_OFF, env={"SOURCE_DATE_EPOCH": "1900000000"}).returncode, 1)
        done = run("check", self.file("good.ptx", AXPY), "--baseline", base, *PTXAS_OFF, "--today", "2030-01-01")
        self.assertEqual(done.returncode, 0)
        self.assertIn("not used", done.err)
        self.assertEqual(run("check", head, "--baseline", base, *PTXAS_OFF, "--no-policy").returncode, 1)

    def test_a_day_is_one_of_the_calendar(self):
        base = self.baseline()
        self.expect(0, "check", self.axpy, "--baseline", base, *PTXAS_OFF, "--today", "2028-02-29")
        for day in ("2026-13-45", "2027-02-29", "2027-1-1", "2027-01-3x", "20270131"):
            self.expect(2, "check", self.axpy, "--baseline", base, *PTXAS_OFF, "--today", day, says="2027-01-31")

    def test_bad_policies(self):
        for text, where, says in (('[[waivers]]\nmatch = "*"\nmetric = "time_us"\n', ":1:1", "reason"), ("treshold = 1\n", ":1:1", "did you mean"), ("a = = 1\n", ":1:", "")):
            path = self.policy(text)
            self.expect(2, "check", self.axpy, "--gpu", "a100", says=("flipflop.toml" + where, "FF0781", says))
            self.expect(2, "check", self.axpy, "--gpu", "a100", "--policy", path, says=where)
        self.expect(2, "check", self.axpy, "--gpu", "a100", "--policy", self.path("nowhere.toml"), says="nowhere.toml")

    def test_bad_baselines(self):
        with open(self.baseline()) as file:
            good = file.read()
        for name, text, says in (("version.json", good.replace("baseline/1", "baseline/9"), "flipflop.baseline/9"), ("cut.json", good[: len(good) // 2], "cut.json:"),
                                 ("conflict.json", good.replace('  "kernels"', '<<<<<<< HEAD\n  "kernels"'), "merge conflict"), ("empty.json", "", "empty"),
                                 ("binary.json", bytes(range(256)), "binary.json"), ("list.json", "[]", "schema"), ("options.json", good.replace('"options": []', '"options": ["--rm=-rf"]'), "options")):
            self.expect(2, "check", self.axpy, "--baseline", self.file(name, text), *PTXAS_OFF, says=says)
        self.expect(2, "check", self.axpy, "--baseline", self.path("nowhere.json"), says="nowhere.json")
        self.expect(2, "check", self.axpy, "--baseline", self.path("base.json"), "--base", self.axpy, says="--base")
        self.expect(3, "check", self.axpy, "--base", self.path("nowhere.ptx"), "--gpu", "a100", says="nowhere.ptx")

    def test_a_baseline_names_no_program(self):
        canary = self.path("canary")
        program = self.file("evil.sh", f"#!/bin/sh\ntouch {canary}\n")
        os.chmod(program, 0o755)
        source = self.file("k.cu", "extern \"C\" __global__ void k(float* a) { a[0] = 1; }\n")
        path = self.baseline()
        with open(path) as file:
            document = json.load(file)
        for option in (f"--compiler={program}", f"--llc={program}", f"--ptxas={program}", "--output=x", "--no-such=1"):
            document["options"] = [option]
            with open(path, "w") as file:
                json.dump(document, file)
            self.expect(2, "check", source, "--baseline", path, says=("FF0780", "describes no launch"))
            self.assertFalse(os.path.exists(canary), option)

    def test_bad_input_beats_the_gate(self):
        base = self.baseline()
        broken = self.file("broken.ptx", AXPY.replace("axpy", "b").replace("%r1, 4;", "%r1 4;"))
        self.expect(3, "check", self.file("axpy.ptx", STRIDED), broken, "--baseline", base, *PTXAS_OFF)
        self.expect(3, "baseline", self.axpy, broken, "--gpu", "a100", *PTXAS_OFF, "-o", self.path("b2.json"))
        self.assertFalse(os.path.exists(self.path("b2.json")))

    def test_read_only_output(self):
        self.expect(2, "baseline", self.axpy, "--gpu", "a100", *PTXAS_OFF, "-o", "/proc/base.json", says="cannot write")
        self.expect(2, "check", self.axpy, "--gpu", "a100", *PTXAS_OFF, "-o", "/proc/report.txt", says="cannot write")

    def test_names_from_a_baseline_inject_nothing(self):
        with open(self.baseline()) as file:
            document = json.load(file)
        evil = "\n::error::owned\x1b[31m<script>alert(1)</script>|`**x**##[command]"
        document["kernels"].append({**document["kernels"][0], "name": evil, "fingerprint": "f" * 32})
        base = self.file("evil.json", json.dumps(document))
        done = self.expect(0, "check", self.axpy, "--baseline", base, *PTXAS_OFF)
        self.assertNotIn("\x1b", done.out)
        self.assertNotIn("##[", done.out)
        self.assertFalse([line for line in done.out.splitlines() if line.lstrip().startswith("::")])

    def test_same_bytes_again(self):
        base = self.baseline()
        head = self.file("axpy.ptx", STRIDED)
        for form in ("text", "json"):
            outputs = {run("check", head, "--baseline", base, *PTXAS_OFF, "--format", form, *threads).out for threads in ((), ("-j", "1"), ("-j", "3"))}
            self.assertEqual(len(outputs), 1)


class Diff(GateCase):
    def test_terms_add_up_and_lines_are_named(self):
        head = self.file("head.ptx", STRIDED)
        done = run("diff", self.axpy, head, "--gpu", "a100", *PTXAS_OFF, "--format", "json")
        self.assertEqual(done.returncode, 0, done.err)
        kernel = json.loads(done.out)["kernels"][0]
        change = {c["metric"]: c for c in kernel["changes"]}["time_us"]
        self.assertTrue(kernel["explained"])
        whole = change["head"] - change["base"]
        self.assertLess(abs(sum(t["delta"] for t in kernel["time_terms"]) - whole), 0.1 * whole)
        lines = {a["head"]["ptx_line"] for a in kernel["accesses"]}
        expected = {n for n, line in enumerate(STRIDED.splitlines(), 1) if "ld.global" in line or "st.global" in line}
        self.assertEqual(lines, expected)
        for access in kernel["accesses"]:
            self.assertEqual((access["base"]["sectors_per_request"], access["head"]["sectors_per_request"]), (4, 32))

    def test_exit_codes(self):
        head = self.file("head.ptx", STRIDED)
        self.expect(0, "diff", self.axpy, head, "--gpu", "a100", *PTXAS_OFF)
        for word, code in (("regression", 1), ("change", 1), ("error", 1)):
            self.assertEqual(run("diff", self.axpy, head, "--gpu", "a100", *PTXAS_OFF, "--fail-on", word).returncode, code)
            self.assertEqual(run("diff", self.axpy, self.axpy, "--gpu", "a100", *PTXAS_OFF, "--fail-on", word).returncode, 0)
        self.assertEqual(run("diff", head, self.axpy, "--gpu", "a100", *PTXAS_OFF, "--fail-on", "regression").returncode, 0)
        self.expect(3, "diff", self.path("nowhere.ptx"), self.axpy, "--gpu", "a100", says="nowhere.ptx")
        self.expect(2, "diff", self.axpy, head, says="GPU")

    def test_baseline_files_on_either_side(self):
        base = self.baseline()
        head = self.file("axpy.ptx", STRIDED)
        other = self.path("head.json")
        self.expect(0, "baseline", head, "--gpu", "a100", *PTXAS_OFF, "-o", other)
        for pair in ((base, head), (base, other)):
            done = run("diff", *pair, *PTXAS_OFF, "--format", "json", "--fail-on", "regression")
            self.assertEqual(done.returncode, 1, done.err)
            change = {c["metric"]: c for c in json.loads(done.out)["kernels"][0]["changes"]}["time_us"]
            self.assertEqual(change["verdict"], "regressed")
            self.assertLess(change["change_low"], change["change_high"])
        self.assertEqual(run("diff", base, base, "--format", "text").out, "nothing changed\n")
        with open(base) as file:
            text = file.read()
        self.expect(2, "diff", self.file("v9.json", text.replace("baseline/1", "baseline/9")), head, says="baseline/9")


class Rules(Case):
    def test_list_and_page(self):
        listed = [line.split()[0] for line in self.expect(0, "rules").out.splitlines() if line.startswith("FF")]
        pages = sorted(name[:-3] for name in os.listdir(os.path.join(SOURCE, "docs", "rules")) if name.startswith("FF"))
        self.assertEqual(listed, pages)
        with open(os.path.join(SOURCE, "docs", "rules", "FF101.md")) as file:
            self.assertEqual(self.expect(0, "rules", "ff101").out, file.read())
        self.expect(2, "rules", "FF1O1", says="did you mean 'FF101'")


class Surfaces(GateCase):
    def alerts(self, *arguments):
        done = run(*arguments, *PTXAS_OFF, "--format", "sarif=" + self.path("o.sarif"), "--format", "github", cwd=self.folder.name)
        with open(self.path("o.sarif")) as file:
            return json.load(file)["runs"], done

    def test_check(self):
        head = self.file("head.ptx", STRIDED)
        runs, done = self.alerts("check", head, "--base", self.axpy, "--gpu", "a100")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(len(runs), 1)
        self.assertEqual(runs[0]["results"][0]["level"], "error")
        self.assertEqual(runs[0]["results"][0]["ruleId"], "FF501")
        self.assertTrue(done.out.startswith("::error file=head.ptx,line="), done.out)
        for result in runs[0]["results"]:
            place = result["locations"][0]["physicalLocation"]
            self.assertFalse(place["artifactLocation"]["uri"].startswith(("/", "..")))
            self.assertGreaterEqual(place["region"]["startLine"], 1)
        # What was there before is in the SARIF and no annotation.
        runs, done = self.alerts("check", head, "--base", head, "--gpu", "a100")
        self.assertEqual((done.returncode, done.out), (0, ""))
        self.assertEqual({r["baselineState"] for r in runs[0]["results"]}, {"unchanged"})

    def test_analyze(self):
        runs, done = self.alerts("analyze", self.file("head.ptx", STRIDED), "--gpu", "a100")
        self.assertEqual(done.returncode, 0, done.err)
        self.assertIn("FF101", {r["ruleId"] for r in runs[0]["results"]})

    def test_a_source_path_outside_the_repository_is_not_shown(self):
        located = STRIDED.replace(".address_size 64\n", '.address_size 64\n.file 1 "../../etc/passwd"\n.file 2 "/etc/hosts"\n', 1)
        located = located.replace("    ld.global.f32 %f2", "    .loc 1 3 0\n    ld.global.f32 %f2", 1).replace("    ld.global.f32 %f3", "    .loc 2 4 0\n    ld.global.f32 %f3", 1)
        runs, done = self.alerts("analyze", self.file("head.ptx", located), "--gpu", "a100")
        self.assertEqual(done.returncode, 0, done.err)
        self.assertEqual({r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for r in runs[0]["results"]}, {"head.ptx"})

    def test_markdown(self):
        head = self.file("head.ptx", STRIDED)
        done = run("check", head, "--base", self.axpy, "--gpu", "a100", *PTXAS_OFF, "--format", "markdown")
        self.assertTrue(done.out.startswith("<!-- flipflop:"))
        self.assertIn("**regressed**", done.out)
        done = run("check", head, "--base", head, "--gpu", "a100", *PTXAS_OFF, "--format", "markdown")
        self.assertLessEqual(len(done.out.splitlines()), 5)


class GateSchema(GateCase):
    def valid(self, name, text):
        errors = [f"{e.json_path}: {e.message[:300]}" for e in validator(self, name).iter_errors(json.loads(text))]
        self.assertEqual(errors[:5], [])

    def test_baseline_and_check(self):
        examples = [os.path.join(SOURCE, "examples", name) for name in ("axpy.ptx", "transpose_naive.ptx", "gemm_tiled.ptx", "reduction.ptx")]
        base = self.baseline(*examples, options=("--gpu", "a100", "--gpu", "l40s", "--block", "2048", "--block", "256"))
        with open(base) as file:
            self.valid("baseline", file.read())
        base = self.baseline(*examples)
        with open(base) as file:
            self.valid("baseline", file.read())
        self.policy('[rules]\nFF101 = "error"\n[[budgets]]\nmetric = "registers"\nmax = 1\n[[waivers]]\nmatch = "*"\nmetric = "registers"\nreason = "r"\n[[thresholds]]\nmetric = "occupancy"\nabsolute = 0.1\nrelative = 0.1\n')
        strided = self.file("axpy.ptx", STRIDED)
        for arguments in ((strided, "--baseline", base), (*examples[1:], strided, "--baseline", base), (strided, "--gpu", "a100"), (examples[0], "--base", examples[1], "--gpu", "t4")):
            done = run("check", *arguments, *PTXAS_OFF, "--format", "json")
            self.assertIn(done.returncode, (0, 1), done.err)
            self.valid("check", done.out)

    def test_diff_and_rules(self):
        head = self.file("head.ptx", STRIDED)
        for arguments in ((self.axpy, head, "--gpu", "a100"), (self.baseline(), head), (os.path.join(SOURCE, "examples", "transpose_naive.ptx"), os.path.join(SOURCE, "examples", "gemm_tiled.ptx"), "--gpu", "t4")):
            done = run("diff", *arguments, *PTXAS_OFF, "--format", "json")
            self.assertEqual(done.returncode, 0, done.err)
            self.valid("diff", done.out)
        self.valid("rules", run("rules", "--format", "json").out)


if __name__ == "__main__":
    main(sys.modules[__name__])
