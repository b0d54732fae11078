"""Measured rows as `flipflop calibrate` takes them: the launch, its code, and the readings."""
import csv
import subprocess

from compiler import Compiler

COLUMNS = ["gpu", "input", "kernel", "block_x", "block_y", "block_z", "grid_x", "grid_y", "grid_z", "dynamic_shared_bytes", "clock_mhz", "power_limit_w", "time_ms", "power_w", "registers"]


def registers_of(log):
    """Registers that ptxas reports, or nothing."""
    if not log:
        return ""
    words = log.read_text().split(" registers")[0].split()
    return words[-1] if words and words[-1].isdigit() else ""


def write_table(measured_set, rows, compiler: Compiler, path, capability):
    """A table of the rows whose variant compiles; the PTX files it names."""
    arguments = sorted({a.split("=")[0] for row in rows for a in measured_set.arguments(row)})
    inputs = []
    with open(path, "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(COLUMNS + [f"arg.{name}" for name in arguments])
        for row in rows:
            try:
                ptx = compiler.ptx(measured_set.source, measured_set.macros(row), measured_set.capability)
            except RuntimeError:
                continue
            inputs.append(str(ptx))
            given = dict(a.split("=", 1) for a in measured_set.arguments(row))
            clock, limit = measured_set.target(row)[:2]
            out.writerow([measured_set.gpu_of(row), ptx.name, measured_set.kernel_of(row), *measured_set.block(row), *measured_set.grid(row), measured_set.shared_bytes(row), clock, limit, row["time_ms"],
                          row["power_w"], registers_of(compiler.log(ptx, capability)), *(given.get(name, "") for name in arguments)])
    return sorted(set(inputs))


def calibrate(binary, gpu, table, inputs, output, options=()):
    command = [str(binary), "calibrate", str(table), "--gpu", gpu, "-o", str(output), *options]
    for path in inputs:
        command += ["--kernels", path]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr
