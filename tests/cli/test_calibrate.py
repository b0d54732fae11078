#!/usr/bin/env python3
"""`flipflop calibrate` from outside: test_calibrate.py [CLASS...]."""
import csv
import io
import json
import os
import subprocess
import sys
import tempfile
import unittest

SOURCE = os.environ.get("FLIPFLOP_SOURCE_DIR", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
FLIPFLOP = os.path.abspath(os.environ.get("FLIPFLOP_EXECUTABLE", os.path.join(SOURCE, "build", "flipflop")))
EXAMPLE = os.path.join(SOURCE, "examples", "axpy.ptx")
COLUMNS = ["gpu", "kernel", "N", "block_x", "grid_x", "time_ms", "power_w", "clock_mhz", "power_limit_w"]


def run(*arguments, text=None):
    return subprocess.run([FLIPFLOP, *arguments], input=text, capture_output=True, text=True, timeout=120)


def rooflines(scale=1.0):
    """Rows of an A40 whose power is a plain sum: 90 W, 15 pJ a multiply-add, 110 pJ a byte."""
    out = io.StringIO()
    rows = csv.writer(out)
    rows.writerow(COLUMNS)
    threads, steps = 84 * 8 * 256, 4000
    for n in (0, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 640):
        multiply_adds, moved = threads * steps * (n + 1), threads * steps * 8
        seconds = max(multiply_adds / (84 * 128 * 0.7 * 1.3e9), moved / 650e9)
        watts = 90 + (multiply_adds * 15e-12 + moved * 110e-12) / seconds * scale
        rows.writerow(["a40", "roofline testfun", n, 256, 84 * 8, seconds * 1e3, watts, 1300, 1000])
    return out.getvalue()


class Calibrate(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.fit = os.path.join(folder.name, "fit.json")
        self.table = os.path.join(folder.name, "rows.csv")
        with open(self.table, "w") as file:
            file.write(rooflines())

    def calibrate(self, *more, text=None):
        return run("calibrate", self.table if text is None else "-", "--gpu", "a40", "-o", self.fit, *more, text=text)

    def read(self):
        with open(self.fit) as file:
            return json.load(file)

    def test_a_fit_says_where_it_comes_from_and_is_a_gpu(self):
        done = self.calibrate("--fit", "power")
        self.assertEqual(done.returncode, 0, done.stderr)
        document = self.read()
        self.assertEqual((document["schema"], document["gpu"], document["rows"]), ("flipflop.coefficients/1", "a40", 14))
        self.assertEqual(document["data_sets"], [{"table": "rows.csv", "rows_in_table": 14}])
        self.assertLess(document["held_out"]["power"]["mape"], document["held_out"]["power"]["mape_without_fit"])
        for name, value in document["values"].items():
            self.assertEqual(value["basis"], "fitted", name)
            self.assertGreater(value["value"], 0, name)
        self.assertIn("fp32_fma_energy_pj", document["values"])
        self.assertIn("shared_energy_pj_per_byte", document["refused"])
        self.assertIn("shared_energy_pj_per_byte", done.stdout)
        used = run("analyze", EXAMPLE, "--gpu", self.fit, "--work", "1048576", "--format", "json")
        self.assertEqual(used.returncode, 0, used.stderr)

    def test_a_fit_on_standard_output_is_json_alone(self):
        done = run("calibrate", self.table, "--gpu", "a40", "--fit", "power")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)["gpu"], "a40")
        self.assertIn("coefficients from", done.stderr)

    def test_what_the_rows_do_not_tell_is_an_error_by_name(self):
        lines = rooflines().splitlines(keepends=True)
        done = self.calibrate("--fit", "fp32_fma_energy_pj,dram_energy_pj_per_byte", text=lines[0] + lines[5] * 12)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("FF0793", done.stderr)
        self.assertIn("dram_energy_pj_per_byte cannot be fitted", done.stderr)
        self.assertFalse(os.path.exists(self.fit))

    def test_zero_and_capped_readings_are_counted_and_not_fitted(self):
        plain = self.calibrate("--fit", "power")
        before = self.read()["values"]
        lines = rooflines().splitlines(keepends=True)
        zero = "a40,roofline testfun,64,256,672,5,0,1300,1000\n" * 20
        capped = "a40,roofline testfun,64,256,672,5,299,,300\n" * 20
        done = self.calibrate("--fit", "power", text="".join(lines) + zero + capped)
        self.assertEqual((plain.returncode, done.returncode), (0, 0), done.stderr)
        after = self.read()
        self.assertEqual((after["rows_left_out"]["a reading of zero"], after["rows_left_out"]["power at the limit"]), (20, 20))
        self.assertEqual({k: v["value"] for k, v in after["values"].items()}, {k: v["value"] for k, v in before.items()})

    def test_an_update_keeps_what_was_known(self):
        self.assertEqual(self.calibrate("--fit", "power").returncode, 0)
        before = self.read()
        first = self.fit + ".first"
        os.rename(self.fit, first)
        lines = rooflines().splitlines(keepends=True)
        done = self.calibrate("--fit", "power", "--update", first, text=lines[0] + lines[9] * 6)
        self.assertEqual(done.returncode, 0, done.stderr)
        after = self.read()
        self.assertEqual(after["rows"], 20)
        self.assertEqual(len(after["data_sets"]), 2)
        for name in before["information"]["power"]["coefficients"]:
            self.assertAlmostEqual(after["values"][name]["value"] / before["values"][name]["value"], 1, delta=0.05, msg=name)

    def test_bad_input(self):
        for arguments, code, what in ((("calibrate", "nowhere.csv", "--gpu", "a40"), 3, "nowhere.csv"), (("calibrate", self.table, "--gpu", "a41"), 2, "a41"), (("calibrate", self.table, "--gpu", "h200"), 3, "of another GPU: a40"),
                                      (("calibrate", self.table, "--gpu", "a40", "--fit", "magic"), 2, "no such coefficient"), (("calibrate", self.table, "--gpu", "a40", "--where", "x=1"), 2, "no such column"),
                                      (("calibrate", self.table, "--gpu", "a40", "--where", "x"), 2, "COLUMN=VALUE"), (("calibrate", self.table, "--gpu", "a40", "--update", self.table), 3, "flipflop.coefficients/1"),
                                      (("calibrate", self.table, "--gpu", "a40", "-o", self.table), 2, "rows.csv"), (("calibrate", self.table), 2, "--gpu")):
            done = run(*arguments)
            self.assertEqual(done.returncode, code, (arguments, done.stderr))
            self.assertIn(what, done.stderr)

    def test_rows_of_a_kernel_that_is_given(self):
        """Time and power of axpy at many sizes; without its code nothing is known of them."""
        predicted = []
        for exponent in range(20, 27):
            done = run("analyze", EXAMPLE, "--gpu", "a40", "--work", str(2**exponent), "--block", "256", "--format", "csv")
            self.assertEqual(done.returncode, 0, done.stderr)
            predicted.append((2**exponent, next(csv.DictReader(io.StringIO(done.stdout)))))
        text = "kernel,block_x,grid_x,time_us,power_w,power_limit_w,arg.3\n"
        for n, row in predicted:
            text += f"{row['kernel']},256,{n // 256},{float(row['time_us']) * 1.3},{float(row['power_w']) * 0.7},2000,{n}\n"
        without = self.calibrate(text=text)
        self.assertEqual(without.returncode, 3)
        self.assertIn("what its kernel does is not known", without.stderr)
        done = self.calibrate("--kernels", EXAMPLE, text=text)
        self.assertIn(done.returncode, (0, 3), done.stderr)
        self.assertNotIn("what its kernel does is not known", done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
