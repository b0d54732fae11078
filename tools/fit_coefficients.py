#!/usr/bin/env python3
"""Fits models/coefficients/*.json from measurement tables and reports errors on data that the fit did not see.

    tools/fit_coefficients.py --measurements DIR --build DIR [--write]

A board's powers come from `flipflop calibrate`; what is common to boards is chosen here.

Common constants (start of a block, start of a warp, the norm that joins SM and DRAM time, what two FMA pipes reach) are
chosen on all GPUs but one and scored on the one left out. Written are the values from all rows, with the held-out error. A
board's bandwidths are those of its profile (its best stream rows), so the plateau is not held out; the knee is.
"""
import argparse
import collections
import csv
import gzip
import itertools
import json
import math
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools" / "accuracy"))

import calibration
import sets
from compiler import Compiler

STREAM_GPUS = {"Tesla V100 (PCIe/SXM not stated)": "v100-pcie-32gb", "NVIDIA A100 40GB": "a100-sxm4-40gb", "NVIDIA A40": "a40", "NVIDIA L40": "l40"}
STREAMS = {"stream_init fp64": (0, 1, 0), "stream_read fp64": (1, 0, 0), "stream_scale fp64": (1, 1, 0), "stream_triad fp64": (2, 1, 0),
           "stream_3pt fp64": (1, 1, 2), "stream_5pt fp64": (1, 1, 4)}
ROOFLINE_GPUS = {"NVIDIA A40": ("a40", 84), "NVIDIA L40": ("l40", 142), "NVIDIA H200": ("h200-sxm-141gb", 132)}
SOURCE = "gpu-benches raw results, Ernst et al., doi 10.1016/j.jpdc.2022.11.003"
COMMON = {"block_lifetime_cycles": [270, 300, 330, 360, 400], "warp_start_cycles": [4, 8, 12, 16], "norm_memory": [3, 3.5, 4, 4.5, 5, 6]}


def table(folder, name):
    with gzip.open(Path(folder) / f"{name}.csv.gz", "rt") as file:
        return [row for row in csv.DictReader(file) if row["valid"] == "1" and not row["error"]]


class Driver:
    def __init__(self, build):
        self.binary = Path(build) / "model_driver"
        subprocess.run(["g++", "-std=c++20", "-O2", "-Iinclude", "-I.", "tools/model_driver.cpp", f"{build}/libflipflop_core.a", "-lfmt", "-llz4", "-lzstd", "-ltomlplusplus", "-pthread", "-DFMT_SHARED",
                        "-o", self.binary], check=True)

    def ask(self, lines):
        out = subprocess.run([self.binary], input="\n".join(lines) + "\n", capture_output=True, text=True, check=True).stdout
        return [[float(word) if word[0] in "-0123456789" else word for word in line.split()] for line in out.splitlines()]


def settings(grid):
    return [dict(zip(grid, values)) for values in itertools.product(*grid.values())]


def words(setting):
    return " ".join(f"{key}={value}" for key, value in setting.items())


def stream_line(row, setting):
    reads, writes, stencil = STREAMS[row["kernel"]]
    return (f"stream gpu={STREAM_GPUS[row['gpu']]} elements=134217730 block={row['block_x']} resident={row['blocks_per_sm']} reads={reads} "
            f"writes={writes} stencil={stencil} bytes=8 fp64=1 limit=100000 {words(setting)}")


def errors(driver, lines, measured_us):
    return [abs(answer[0] / us - 1) for answer, us in zip(driver.ask(lines), measured_us)]


def held_out(table_of_errors, groups):
    """{setting index: [error a row]} and a group a row -> mean held-out error a group, and the setting best on all rows."""
    names = sorted(set(groups))
    def score(index, keep):
        per = collections.defaultdict(list)
        for error, group in zip(table_of_errors[index], groups):
            if keep(group):
                per[group].append(error)
        return statistics.mean(statistics.mean(values) for values in per.values())
    result = {}
    for name in names:
        best = min(table_of_errors, key=lambda i: score(i, lambda g: g != name))
        result[name] = score(best, lambda g: g == name)
    return result, min(table_of_errors, key=lambda i: score(i, lambda g: True))


def fit_streams(driver, rows):
    us = [float(row["time_ms"]) * 1e3 for row in rows]
    grid = settings(COMMON)
    all_errors = {i: errors(driver, [stream_line(row, s) for row in rows], us) for i, s in enumerate(grid)}
    scores, best = held_out(all_errors, [row["gpu"] for row in rows])
    return grid[best], scores, len(rows)


def fit_dual_pipe(driver, rows, common):
    rows = [row for row in rows if row["gpu"] in ROOFLINE_GPUS and int(row["N"]) >= 192 and int(row["device_index"]) == 0]
    lines, us = [], []
    for row in rows:
        gpu, sms = ROOFLINE_GPUS[row["gpu"]]
        lines.append(f"roofline gpu={gpu} fma={row['N']} clock={row['clock_mhz']} limit=100000 resident={int(row['grid_x']) // sms} {words(common)}")
        us.append(float(row["time_ms"]) * 1e3)
    grid = settings({"fp32_dual_pipe_share": [0.6, 0.65, 0.7, 0.75, 0.8, 0.9, 1.0]})
    all_errors = {i: errors(driver, [f"{line} {words(s)}" for line in lines], us) for i, s in enumerate(grid)}
    scores, best = held_out(all_errors, [row["gpu"] for row in rows])
    return grid[best], scores, len(rows)


POWER_GPUS = {"a100-sxm4-40gb": "NVIDIA A100 40GB", "a40": "NVIDIA A40", "h200-sxm-141gb": "NVIDIA H200"}
COMPLEX_GEMM = {"configurations": 100, "clocks": ("1515", "1665", "1815")}


def calibrated(build, folder, gpu, table_rows, inputs, options=()):
    """What `flipflop calibrate` makes of the rows: its document, or nothing where it refuses."""
    measured, output = Path(folder) / f"{gpu}.csv", Path(folder) / f"{gpu}.json"
    with open(measured, "w", newline="") as file:
        out = csv.DictWriter(file, table_rows[0].keys())
        out.writeheader()
        out.writerows(table_rows)
    command = [f"{build}/flipflop", "calibrate", str(measured), "--gpu", gpu, "-o", str(output), "--fit", "power", *options]
    for path in inputs:
        command += ["--kernels", path]
    done = subprocess.run(command, capture_output=True, text=True)
    print(done.stdout + done.stderr)
    return json.loads(output.read_text()) if done.returncode == 0 else None


def complex_gemm(measurements, kernels, folder):
    """Rows of the tensor-core GEMM that the accuracy card does not score: other configurations, other clocks but one."""
    scored = sets.ComplexGemm("complex_gemm_rtx4000ada", ("1485", "1635", "1815"))
    def configuration(row):
        return ",".join(row[name] for name in scored.parameters[:-1])
    known = {configuration(row) for row in scored.sample(measurements)}
    rows = [row for row in sets.ComplexGemm("fit", COMPLEX_GEMM["clocks"]).rows(measurements) if configuration(row) not in known]
    chosen = set(sorted({configuration(row) for row in rows}, key=sets.rank_of)[: COMPLEX_GEMM["configurations"]])
    path = Path(folder) / "powersensor3_complexgemm_AD4000.csv"
    inputs = calibration.write_table(scored, [row for row in rows if configuration(row) in chosen], Compiler(kernels), path, 89)
    with open(path) as file:
        return list(csv.DictReader(file)), inputs


def entry(value, unit, note, data, rows, scores):
    return {"value": value, "unit": unit, "basis": "fitted", "source": f"{SOURCE}; {data}", "note": note, "rows": rows,
            "held_out_mape": {name: round(score, 4) for name, score in sorted(scores.items())}}


def write(path, gpu, values, calibrated_document=None):
    """`calibrated_document`: of `flipflop calibrate`; its values stand beside those fitted over several boards."""
    kept = json.loads(path.read_text())["values"] if path.exists() else {}   # widths of intervals are tools/accuracy's
    values = {**values, **{name: value for name, value in kept.items() if name not in values and value.get("tool") == "tools/accuracy"}}
    document = {"schema": "flipflop.coefficients/1", "gpu": gpu, "method": "grid search on mean absolute relative error; held-out error by leaving one group out",
                "tool": "tools/fit_coefficients.py", "values": values}
    if calibrated_document:
        source = "gpu-benches roofline, uncapped rows" if calibrated_document["gpu"] in POWER_GPUS else "PowerSensor3 complex GEMM on matrices of zeros, configurations that the accuracy card does not score"
        for value in calibrated_document["values"].values():
            value["source"] = f"{source}; {value['source']}"
        document = {**calibrated_document, "tool": "tools/fit_coefficients.py, flipflop calibrate", "values": {**calibrated_document["values"], **values}}
    path.write_text(json.dumps(document, indent=1) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--measurements", required=True)
    parser.add_argument("--build", default="build")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    driver = Driver(options.build)
    streams = [row for row in table(options.measurements, "gpubenches_stream_blocksize_7gpus") if row["kernel"] in STREAMS and row["gpu"] in STREAM_GPUS]
    common, scores, n = fit_streams(driver, streams)
    print("streams, held-out GPU:", common, {k: round(v, 4) for k, v in scores.items()}, "mean", round(statistics.mean(scores.values()), 4), "rows", n)
    dual, dual_scores, dual_n = fit_dual_pipe(driver, table(options.measurements, "gpubenches_roofline_power_4gpus"), common)
    print("two FMA pipes, held-out GPU:", dual, {k: round(v, 4) for k, v in dual_scores.items()}, "rows", dual_n)
    data = "streams over block size, 2 resident blocks, V100, A100, A40, L40"
    values = {key: entry(value, unit, "one value for all GPUs", data, n, scores) for (key, value), unit in zip(common.items(), ["cycles", "cycles", "1"])}
    values["fp32_dual_pipe_share"] = entry(dual["fp32_dual_pipe_share"], "1", "FMAs with three register operands, eight warps and more a sub-partition",
                                           "roofline, 192 and more FMAs an element, A40, L40, H200", dual_n, dual_scores)
    folder = Path("models/coefficients")
    if options.write:
        folder.mkdir(exist_ok=True)
        write(folder / "common.json", "common", values)
    boards = {}
    for name, gpu in STREAM_GPUS.items():
        # Constants of the board alone do not beat the common ones on a stream kernel left out (A100 6.6 against 4.8 %), so
        # none is kept; the mean absolute error of a lognormal is 0.8 of its sigma.
        boards.setdefault(gpu, {})["dram_log_sigma"] = entry(round(max(0.05, scores[name] / 0.8), 4), "ln", "DRAM-bound kernels only",
                                                             f"streams over block size, {name}, held out", sum(row["gpu"] == name for row in streams), {name: scores[name]})
    roofline = table(options.measurements, "gpubenches_roofline_power_4gpus")
    work = tempfile.mkdtemp(prefix="flipflop_fit_")
    fits = {gpu: ([row for row in roofline if row["gpu"] == name], []) for gpu, name in POWER_GPUS.items()}
    fits["rtx-4000-ada"] = complex_gemm(options.measurements, ROOT / "tests" / "accuracy" / "kernels", work)
    documents = {gpu: calibrated(options.build, work, gpu, rows, inputs) for gpu, (rows, inputs) in fits.items()}
    if options.write:
        for gpu in sorted({*boards, *documents}):
            write(folder / f"{gpu}.json", gpu, boards.get(gpu, {}), documents.get(gpu))


if __name__ == "__main__":
    main()
