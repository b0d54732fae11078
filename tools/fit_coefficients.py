#!/usr/bin/env python3
"""Fits models/coefficients/*.json from measurement tables and reports errors on data that the fit did not see.

    tools/fit_coefficients.py --measurements DIR --build DIR [--write]

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
from pathlib import Path

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
        subprocess.run(["g++", "-std=c++20", "-O2", "-Iinclude", "-I.", "tools/model_driver.cpp", f"{build}/libflipflop_core.a", "-lfmt", "-llz4", "-lzstd",
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


POWER_GPUS = {"NVIDIA A100 40GB": ("a100-sxm4-40gb", 108, 400), "NVIDIA A40": ("a40", 84, 300), "NVIDIA H200": ("h200-sxm-141gb", 132, 700)}
# Other classes follow the FMA's energy at AccelWattch's ratios (gpu_profiles), so that one figure is fitted and not seven.
RATIOS = {"fp32_fma_energy_pj": 1.0, "int32_add_energy_pj": 1.052, "int32_mul_energy_pj": 1.053, "instruction_energy_pj": 9.355}
PARAMETERS = ["constant_power_w", "fp32_fma_energy_pj", "dram_energy_pj_per_byte"]


def power_setting(values):
    constant, fma, dram = values
    return {"constant_power_w": constant, "dram_energy_pj_per_byte": dram, **{key: fma * ratio for key, ratio in RATIOS.items()}}


def solve(matrix, right):
    """Gauss with pivoting; None where the columns do not tell the parameters apart (condition worse than 1e8)."""
    n = len(right)
    rows = [list(map(float, row)) + [value] for row, value in zip(matrix, right)]
    first = None
    for i in range(n):
        pivot = max(range(i, n), key=lambda r: abs(rows[r][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        first = first or abs(rows[i][i])
        if abs(rows[i][i]) < 1e-8 * first:
            return None
        for r in range(n):
            if r != i:
                factor = rows[r][i] / rows[i][i]
                rows[r] = [a - factor * b for a, b in zip(rows[r], rows[i])]
    return [rows[i][n] / rows[i][i] for i in range(n)]


def fit_power(driver, rows, name):
    """Power is linear in the three parameters: their columns come from the model itself, one at a time."""
    gpu, sms, limit = POWER_GPUS[name]
    rows = [row for row in rows if row["gpu"] == name and float(row["power_w"]) < 0.96 * limit]   # a capped reading is no measurement of demand
    lines = [f"roofline gpu={gpu} fma={row['N']} clock={row['clock_mhz']} limit=100000 resident={int(row['grid_x']) // sms}" for row in rows]
    watts = [float(row["power_w"]) for row in rows]
    # Energies are fitted over the measured time: an error of the predicted time must not end up in a picojoule.
    stretch = [answer[0] / 1e3 / float(row["time_ms"]) for answer, row in zip(driver.ask(lines), rows)]
    def ask(values):
        return [answer[1] for answer in driver.ask([f"{line} {words(power_setting(values))}" for line in lines])]
    start = [400.0, 0.0, 0.0]    # above idle, where power is linear in the constant
    base = ask(start)
    columns = []
    for i, step in enumerate([100.0, 10.0, 100.0]):
        moved = list(start)
        moved[i] += step
        columns.append([(b - a) / step for a, b in zip(base, ask(moved))])
    offset = [b - start[0] * c for b, c in zip(base, columns[0])]
    columns[1:] = [[value * factor for value, factor in zip(column, stretch)] for column in columns[1:]]
    def least_squares(chosen):
        scaled = [[column[i] / watts[i] for column in columns] for i in chosen]
        target = [(watts[i] - offset[i]) / watts[i] for i in chosen]
        normal = [[sum(row[a] * row[b] for row in scaled) for b in range(3)] for a in range(3)]
        return solve(normal, [sum(row[a] * t for row, t in zip(scaled, target)) for a in range(3)])
    def predict(values, i):
        return offset[i] + sum(v * column[i] for v, column in zip(values, columns))
    devices = sorted({row["device_index"] for row in rows})
    groups = [row["device_index"] if len(devices) > 1 else str(int(row["N"]) // 8 % 5) for row in rows]
    everything = range(len(rows))
    held = {}
    for group in sorted(set(groups)):
        values = least_squares([i for i in everything if groups[i] != group])
        if values is None or min(values) < 0:
            print(gpu, "refused: the rows do not tell the parameters apart")
            return None
        held[("device " if len(devices) > 1 else "every fifth intensity, ") + group] = statistics.mean(abs(predict(values, i) / watts[i] - 1) for i in everything if groups[i] == group)
    return least_squares(everything), held, len(rows)


def entry(value, unit, note, data, rows, scores):
    return {"value": value, "unit": unit, "basis": "fitted", "source": f"{SOURCE}; {data}", "note": note, "rows": rows,
            "held_out_mape": {name: round(score, 4) for name, score in sorted(scores.items())}}


def write(path, gpu, values):
    kept = json.loads(path.read_text())["values"] if path.exists() else {}   # widths of intervals are tools/accuracy's
    values = {**values, **{name: value for name, value in kept.items() if name not in values and value.get("tool") == "tools/accuracy"}}
    document = {"schema": "flipflop.coefficients/1", "gpu": gpu, "method": "grid search on mean absolute relative error; held-out error by leaving one group out",
                "tool": "tools/fit_coefficients.py", "values": values}
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
    for name, (gpu, _, _) in POWER_GPUS.items():
        fitted = fit_power(driver, roofline, name)
        if not fitted:
            continue
        values, held, rows = fitted
        mean = statistics.mean(held.values())
        print(gpu, "power, held out:", [round(v, 2) for v in values], {k: round(v, 4) for k, v in held.items()}, "mean", round(mean, 4), "rows", rows)
        what = f"roofline, {name}, uncapped rows"
        board = boards.setdefault(gpu, {})
        for key, value, unit in zip(PARAMETERS, values, ["W", "pJ", "pJ/B"]):
            board[key] = entry(round(value, 2), unit, "board level, over the measured time", what, rows, held)
        for key, ratio in RATIOS.items():
            if key not in board:
                board[key] = entry(round(values[1] * ratio, 2), "pJ", "the fitted FMA at AccelWattch's ratio", what, rows, held)
        # One kernel: of others, operand values alone move power by up to 40 % (Gregersen 2024), so the width stays far above the held-out error.
        board["power_log_sigma"] = entry(0.12, "ln", "held-out error of one kernel, widened for other kernels' data", what, rows, held)
    if options.write:
        for gpu, values in boards.items():
            write(folder / f"{gpu}.json", gpu, values)


if __name__ == "__main__":
    main()
