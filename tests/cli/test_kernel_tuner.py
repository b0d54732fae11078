#!/usr/bin/env python3
"""The real Kernel Tuner in simulation mode, on measurements of others: what it finds in the whole space, and in what flipflop kept, with the same
number of evaluations. Needs kernel-tuner (PyPI; of this Python or of FLIPFLOP_KERNEL_TUNER_PYTHON), nvcc, and ../shared/measurements; skips with
the reason where one is missing. test_kernel_tuner.py [CLASS...]; with --report N it prints the comparison for a sample of N configurations."""
import csv
import gzip
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from test_cli import SHARED, SOURCE, main  # noqa: E402

PYTHON = os.environ.get("FLIPFLOP_KERNEL_TUNER_PYTHON", sys.executable)
MEASURED = os.path.join(SHARED, "measurements", "hub_convolution_milo_A100.csv.gz")
PARAMETERS = ["block_size_x", "block_size_y", "tile_size_x", "tile_size_y", "read_only", "use_padding", "use_shmem", "filter_width", "filter_height"]
REPEATS, BUDGET = 20, 20

# Runs inside Kernel Tuner's Python: the exported script's own tune(), over its KEPT and over everything that was measured.
DRIVER = r"""
import importlib.util, json, random, sys, warnings
import numpy
script, cache, repeats, budget, kernel = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5]
spec = importlib.util.spec_from_file_location("tune", script)
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
module.arguments = lambda: ([numpy.zeros(1, numpy.float32)] * 2, {})      # nothing runs: a hundred megabytes of random numbers are not needed
with open(cache) as file:
    cached = json.load(file)
names = list(module.tune_params)
everything = {tuple(entry[n] for n in names): None for entry in cached["cache"].values()}
best = min(e["time"] for e in cached["cache"].values() if isinstance(e["time"], float))
kept = {k: v for k, v in module.KEPT.items() if k in everything}

def evaluations(configurations, seed):
    module.KEPT = configurations
    module.tune_params = {n: sorted({c[i] for c in configurations}) for i, n in enumerate(names)}
    random.seed(seed)
    numpy.random.seed(seed)
    results, _ = module.tune(kernel, cache, simulate=True, strategy="random_sample", strategy_options={"max_fevals": min(budget, len(configurations))}, quiet=True)
    times = [r["time"] for r in results if isinstance(r.get("time"), float)]
    within = next((i + 1 for i, t in enumerate(times) if t <= 1.05 * best), None)
    return within, min(times, default=None)

answer = {"configurations": len(everything), "kept": len(kept), "best": best}
for name, configurations in (("full", everything), ("flipflop", kept)):
    runs = [evaluations(configurations, seed) for seed in range(repeats)]
    answer[name] = {"within": [w for w, _ in runs], "regret": [t / best - 1 for _, t in runs if t is not None]}
print("ANSWER " + json.dumps(answer))
"""


def measured():
    with gzip.open(MEASURED, "rt") as file:
        return [row for row in csv.DictReader(file) if row["use_shmem"] == "1"]


def write_cache(rows, path):
    """As Kernel Tuner writes one, from a table of measurements."""
    values = {p: sorted({int(r[p]) for r in rows}) for p in PARAMETERS}
    cache = {}
    for row in rows:
        entry = {p: int(row[p]) for p in PARAMETERS}
        good = row["valid"] == "1" and row["time_ms"]
        entry.update(time=float(row["time_ms"]) if good else "RuntimeFailedConfig", times=[float(row["time_ms"])] if good else [], compile_time=0.0, verification_time=0, benchmark_time=0.0,
                     strategy_time=0, framework_time=0.0, timestamp="2024-01-01T00:00:00")
        if not good:
            entry["__error__"] = "RuntimeFailedConfig"
        cache[",".join(str(entry[p]) for p in PARAMETERS)] = entry
    with open(path, "w") as file:
        json.dump({"device_name": "NVIDIA A100-PCIE-40GB", "kernel_name": "convolution_kernel", "problem_size": [4096, 4096], "tune_params_keys": PARAMETERS,
                   "tune_params": values, "objective": "time", "cache": cache}, file)


def compare(rows, folder):
    """flipflop tunes the example over `rows`; Kernel Tuner searches both. Empty string and the answer, or what went wrong."""
    table, cache, script, driver = (os.path.join(folder, name) for name in ("configs.csv", "cache.json", "tune.py", "driver.py"))
    with open(table, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(PARAMETERS)
        writer.writerows([row[p] for p in PARAMETERS] for row in rows)
    write_cache(rows, cache)
    with open(driver, "w") as file:
        file.write(DRIVER)
    done = run_long("tune", os.path.join(SOURCE, "examples", "convolution.t1.json"), "--gpu", "a100-pcie", "--configs", table, "--export", "kernel-tuner=" + script)
    if done.returncode != 0:
        return done.stderr, None
    ran = subprocess.run([PYTHON, driver, script, cache, str(REPEATS), str(BUDGET), os.path.join(SOURCE, "examples", "tune", "convolution.cu")], capture_output=True, text=True, timeout=600, cwd=folder)
    answers = [line for line in ran.stdout.splitlines() if line.startswith("ANSWER ")]
    return ("", json.loads(answers[0][7:])) if answers else (ran.stdout + ran.stderr, None)


def run_long(*arguments):
    from test_cli import CLEAN, FLIPFLOP
    return subprocess.run([FLIPFLOP, *arguments], capture_output=True, text=True, timeout=7200, env=CLEAN)


def words(answer, name):
    within = answer[name]["within"]
    found = [w for w in within if w is not None]
    mean = sum(found) / len(found) if found else float("nan")
    return f"{name}: within 5 % of the best in {len(found)} of {len(within)} runs, after {mean:.1f} evaluations on average; mean regret {100 * sum(answer[name]['regret']) / max(1, len(answer[name]['regret'])):.1f} %"


def missing():
    if not os.path.exists(MEASURED):
        return "no ../shared/measurements"
    if not (shutil.which("nvcc") or os.path.exists("/usr/local/cuda/bin/nvcc")):
        return "nvcc is not installed"
    if subprocess.run([PYTHON, "-c", "import kernel_tuner"], capture_output=True).returncode != 0:
        return "kernel-tuner is not installed (PyPI); FLIPFLOP_KERNEL_TUNER_PYTHON may name a Python that has it"
    return ""


class KernelTuner(unittest.TestCase):
    def test_the_kept_set_needs_no_more_evaluations(self):
        if missing():
            self.skipTest(missing())
        rows = [r for r in measured() if int(r["tile_size_x"]) * int(r["tile_size_y"]) <= 2]
        random.Random(5).shuffle(rows)
        with tempfile.TemporaryDirectory() as folder:
            problem, answer = compare(rows[:40], folder)
        self.assertIsNotNone(answer, problem)
        print(words(answer, "full"), words(answer, "flipflop"), sep="\n")
        self.assertEqual(answer["configurations"], 40)
        self.assertGreater(answer["kept"], 0)
        self.assertLess(answer["kept"], 20)
        # Whatever it kept, it costs less to measure than the budget, and the best of it is no worse than a random search's mean.
        mean = lambda values: sum(values) / len(values)  # noqa: E731
        self.assertLessEqual(mean(answer["flipflop"]["regret"]), mean(answer["full"]["regret"]) + 0.05)


if __name__ == "__main__":
    if "--report" in sys.argv:
        sys.exit(missing()) if missing() else None
        chosen = measured()
        random.Random(1).shuffle(chosen)
        with tempfile.TemporaryDirectory() as where:
            trouble, result = compare(chosen[: int(sys.argv[sys.argv.index("--report") + 1])], where)
        print(trouble if result is None else f"{result['configurations']} configurations, {result['kept']} kept, best {result['best']:.3f} ms\n" + words(result, "full") + "\n" + words(result, "flipflop"))
        sys.exit(result is None)
    main(sys.modules[__name__])
