#!/usr/bin/env python3
"""`flipflop validate` and `flipflop accuracy` from outside: test_accuracy.py [CLASS...]. Exit 77: skipped."""
import csv
import io
import json
import os
import subprocess
import sys
import tempfile
import unittest

from test_cli import validator

SOURCE = os.environ.get("FLIPFLOP_SOURCE_DIR", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
FLIPFLOP = os.path.abspath(os.environ.get("FLIPFLOP_EXECUTABLE", os.path.join(SOURCE, "build", "flipflop")))


def run(*arguments, text=None):
    return subprocess.run([FLIPFLOP, *arguments], input=text, capture_output=True, text=True, timeout=60)


def check(test, name, document):
    validator(test, name).validate(document)


class Validate(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w") as file:
            file.write(text)
        return path

    def test_our_own_csv_against_a_tuner_cache(self):
        """The two doors meet: what `analyze` writes joins with what Kernel Tuner measured."""
        example = os.path.join(SOURCE, "examples", "axpy.ptx")
        predictions = os.path.join(self.folder, "p.csv")
        done = run("analyze", example, "--gpu", "a100", "--work", "1048576", "--format", "csv", "-o", predictions)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(predictions) as file:
            rows = list(csv.DictReader(file))
        cache = {"device_name": rows[0]["gpu"], "kernel_name": "axpy", "cache": {}}
        for i, row in enumerate(rows):
            # Half as fast as predicted, in the same order: every rank is right and the scale is 2.
            time = "RuntimeFailedConfig" if i == 3 else float(row["time_us"]) * 2e-3
            cache["cache"][str(i)] = {"block_x": int(row["block_x"]), "time": time}
        measured = self.write("cache.json", json.dumps(cache))
        done = run("validate", predictions, measured, "--on", "block_x", "--format", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(done.stdout)
        check(self, "validate", report)
        self.assertEqual(report["rows"]["invalid_measurements"], 1)
        (only,) = report["sets"]
        self.assertEqual(only["n"], len(rows) - 1)
        self.assertAlmostEqual(only["model"]["spearman"], 1)
        self.assertAlmostEqual(only["scale"], 2)
        self.assertLess(only["mape_one_scale"], 1e-9)
        self.assertAlmostEqual(only["mape"], 0.5)
        self.assertEqual(only["kept_basis"], "predictions")
        self.assertNotIn("why_not", only["baselines"]["occupancy_heuristic"])
        for form in ("text", "csv"):
            self.assertEqual(run("validate", predictions, measured, "--on", "block_x", "--format", form).returncode, 0)

    def test_csv_has_one_row_a_ranking(self):
        p = self.write("p.csv", "b,block_x,time_us\n1,32,1\n2,64,2\n3,96,3\n")
        m = self.write("m.csv", "b,block_x,time_ms\n1,32,1\n2,64,3\n3,96,2\n")
        rows = list(csv.DictReader(io.StringIO(run("validate", p, m, "--format", "csv").stdout)))
        self.assertEqual([row["ranking"] for row in rows], ["model", "threads_per_block", "random"])
        self.assertEqual(float(rows[0]["spearman"]), 0.5)

    def test_standard_input(self):
        m = self.write("m.csv", "b,time_us\n1,1\n2,2\n3,3\n")
        self.assertEqual(run("validate", "-", m, text="b,time_us\n1,1\n2,2\n3,3\n").returncode, 0)

    def test_exit_codes(self):
        good = self.write("good.csv", "b,time_us\n1,1\n2,2\n3,3\n")
        other = self.write("other.csv", "c,time_us\n1,1\n")
        self.assertEqual(run("validate", good).returncode, 2)
        self.assertEqual(run("validate", good, other).returncode, 2)
        self.assertEqual(run("validate", good, os.path.join(self.folder, "missing.csv")).returncode, 3)
        self.assertEqual(run("validate", good, self.write("empty.csv", "")).returncode, 3)
        self.assertEqual(run("validate", good, good, "--keep", "0").returncode, 2)
        self.assertEqual(run("validate", good, good, "-o", good).returncode, 2)
        self.assertIn("FF0781", run("validate", good, other).stderr)

    def test_the_same_bytes_twice(self):
        p = self.write("p.csv", "kernel,b,time_us\n" + "".join(f"k{k},{i},{i * 7 % 11 + 1}\n" for k in range(3) for i in range(9)))
        m = self.write("m.csv", "kernel,b,time_us\n" + "".join(f"k{k},{i},{i * 5 % 11 + k + 1}\n" for k in range(3) for i in range(9)))
        first = run("validate", p, m, "--format", "json").stdout
        self.assertEqual(first, run("validate", p, m, "--format", "json").stdout)
        overall = {row["figure"]: row for row in json.loads(first)["overall"]}
        self.assertEqual(overall["spearman"]["kernels"], 3)
        self.assertLessEqual(overall["spearman"]["low"], overall["spearman"]["mean"])


class Accuracy(unittest.TestCase):
    def test_the_card_is_the_file(self):
        done = run("accuracy", "--format", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(os.path.join(SOURCE, "docs", "accuracy.json")) as file:
            self.assertEqual(done.stdout, file.read())
        check(self, "accuracy", json.loads(done.stdout))

    def test_text_names_what_is_not_reached(self):
        card = json.loads(run("accuracy", "--format", "json").stdout)
        text = run("accuracy").stdout
        for row in card["figures"]["leave_one_kernel_out"]:
            line = next(line for line in text.splitlines() if line.startswith(row["figure"]))
            self.assertEqual("not reached" in line, not row["met"])
            beyond = row["value"] >= row["must"] if row["higher_is_better"] else row["value"] <= row["must"]
            self.assertEqual(row["met"], beyond)

    def test_the_page_shows_the_card(self):
        """docs/accuracy.md and docs/accuracy.json are written together: every figure of the card stands on the page."""
        with open(os.path.join(SOURCE, "docs", "accuracy.md")) as file:
            page = file.read()
        card = json.loads(run("accuracy", "--format", "json").stdout)
        for row in card["figures"]["leave_one_kernel_out"]:
            correlation = "correlation" in row["figure"] or "same" in row["figure"]
            value = f"{row['value']:.3f}" if correlation else f"{row['value'] * 100:.1f} %"
            self.assertIn(f"| {row['figure']} |", page)
            self.assertIn(f"**{value}**", page)
        self.assertEqual(sum(line.startswith("| streams_") for line in page.splitlines()), sum(s["family"] == "streams" for s in card["sets"]))


if __name__ == "__main__":
    names = [name for name in sys.argv[1:] if not name.startswith("-")]
    unittest.main(argv=[sys.argv[0], *names], verbosity=1)
