"""From measured sets to predictions: sample, compile, evaluate, predict. One CSV of predictions and one of measurements a set."""
import csv
import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from compiler import Compiler


CAPABILITY = {"rtx-3090": 86, "a100-pcie-40gb": 80, "rtx-a4000": 86, "v100-pcie-32gb": 70, "a100-sxm4-40gb": 80, "a40": 86, "l40": 89, "rtx-5000-ada": 89,
              "rtx-4000-ada": 89, "rtx-3060-laptop": 86}


class Driver:
    """tools/accuracy_driver.cpp, built against the library of a build folder."""

    def __init__(self, root, build):
        self.binary = Path(build) / "accuracy_driver"
        if (Path(build) / "CMakeCache.txt").exists():
            subprocess.run(["cmake", "--build", str(build), "--target", "accuracy_driver"], check=True, cwd=root, stdout=subprocess.DEVNULL)
        elif not self.binary.exists():
            raise FileNotFoundError(f"no accuracy_driver in {build}")

    def facts(self, jobs, path):
        done = subprocess.run([self.binary, "facts", str(path)], input="\n".join(jobs) + "\n", text=True, capture_output=True)
        return done.stderr.splitlines()

    def predict(self, path, settings=()):
        done = subprocess.run([self.binary, "predict", str(path), *settings], text=True, capture_output=True, check=True)
        return list(csv.DictReader(done.stdout.splitlines()))


def jobs_of(measured_set, rows, compiler, folder):
    """One job a launch; the targets of rows that share it ride together. Rows whose variant does not compile are told."""
    def compiled(row):
        try:
            ptx = compiler.ptx(measured_set.source, measured_set.macros(row), measured_set.capability)
            return ptx, compiler.log(ptx, CAPABILITY[measured_set.gpu_of(row)])
        except RuntimeError as error:
            return str(error).splitlines()[0], None
    distinct = {str(sorted(measured_set.macros(row).items())): row for row in rows}
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:   # NVRTC and ptxas run outside the interpreter's lock
        variants = dict(zip(distinct, pool.map(compiled, distinct.values())))
    jobs, failures = {}, []
    for row in rows:
        ptx, log = variants[str(sorted(measured_set.macros(row).items()))]
        if isinstance(ptx, str):
            failures.append((measured_set.key(row), ptx))
            continue
        gpu = measured_set.gpu_of(row)
        fields = [f"ptx={ptx}", f"kernel={measured_set.kernel_of(row)}", "block=%d,%d,%d" % measured_set.block(row), "grid=%d,%d,%d" % measured_set.grid(row), f"smem={measured_set.shared_bytes(row)}"]
        fields += [f"arg={argument}" for argument in measured_set.arguments(row)] + [f"data={item}" for item in measured_set.data(row, folder)] + measured_set.options(row)
        job = jobs.setdefault("\t".join(fields), {"logs": {}, "targets": {}})
        if log:
            job["logs"][CAPABILITY[gpu]] = log
        job["targets"].setdefault(";".join([measured_set.key(row).replace(",", "|"), gpu, *measured_set.target(row)]))
    lines = []
    for fields, job in jobs.items():
        extra = [f"log.{sm}={log}" for sm, log in sorted(job["logs"].items())] + [f"target={target}" for target in job["targets"]]
        lines.append("\t".join([fields, *extra]))
    return lines, failures


RESULT_COLUMNS = ["time_us", "time_low_us", "time_high_us", "power_w", "power_low_w", "power_high_w", "energy_mj", "floor_us", "occupancy", "bound_by", "registers", "blocks_per_sm", "waves"]


def write_tables(measured_set, rows, predictions, folder):
    """NAME.predictions.csv and NAME.measurements.csv: what `flipflop validate` takes. Joined on the parameters."""
    by_id = {p["id"]: p for p in predictions}
    written = set()
    names = [name for name in measured_set.parameters if name not in ("gpu", "kernel", "block_x", "block_y", "block_z")] + ["block_x", "block_y", "block_z"]
    with open(folder / f"{measured_set.name}.predictions.csv", "w", newline="") as left, open(folder / f"{measured_set.name}.measurements.csv", "w", newline="") as right:
        predicted, measured = csv.writer(left), csv.writer(right)
        predicted.writerow(["gpu", "kernel", "problem", *names, *[{"floor_us": "floor_time_us", "blocks_per_sm": "resident_blocks"}.get(c, c) for c in RESULT_COLUMNS]])
        measured.writerow(["gpu", "kernel", "problem", *names, "time_us", "power_w", "energy_mj"])
        for row in rows:
            key = measured_set.key(row).replace(",", "|")
            answer = by_id.get(key)
            if not answer:
                continue
            shared = [measured_set.gpu_of(row), measured_set.kernel_of(row), measured_set.name, *(row[name] for name in names)]
            if key not in written:
                written.add(key)
                adjusted = dict(answer)
                for name in ("time_us", "time_low_us", "time_high_us", "floor_us"):
                    adjusted[name] = repr(float(answer[name]) + measured_set.overhead_us)
                adjusted["energy_mj"] = repr(float(answer["power_w"]) * float(adjusted["time_us"]) * 1e-3)
                if float(answer["power_w"]) <= 0:
                    for name in ("power_w", "power_low_w", "power_high_w", "energy_mj"):
                        adjusted[name] = ""
                predicted.writerow([*shared, *(adjusted[name] for name in RESULT_COLUMNS)])
            power = row["power_w"] if "power" in measured_set.figures else ""
            energy = repr(float(row["energy_j"]) * 1e3) if "energy" in measured_set.figures and row["energy_j"] else ""
            measured.writerow([*shared, repr(float(row["time_ms"]) * 1e3), power, energy])


def run_set(measured_set, options, compiler, driver):
    """Compiles and evaluates where that is asked for; predicts always."""
    folder = Path(options.work)
    folder.mkdir(parents=True, exist_ok=True)
    rows = measured_set.sample(options.measurements)
    if not rows:
        print(f"{measured_set.name}: skipped, {measured_set.table} has no such row", file=sys.stderr)
        return False
    facts = folder / f"{measured_set.name}.facts"
    began = time.time()
    if options.evaluate or not facts.exists():
        jobs, failures = jobs_of(measured_set, rows, compiler, folder)
        compiled = time.time()
        complaints = driver.facts(jobs, facts)
        for line in complaints[:3]:
            print("  ", line, file=sys.stderr)
        (folder / f"{measured_set.name}.failures.json").write_text(json.dumps(failures))
        print(f"{measured_set.name}: {len(rows)} rows, {len(jobs)} launches, {len(failures)} do not compile, {compiled - began:.1f} s compiling, {time.time() - compiled:.1f} s evaluating", file=sys.stderr, flush=True)
    predictions = driver.predict(facts, options.set)
    write_tables(measured_set, rows, predictions, folder)
    return True
