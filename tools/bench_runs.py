#!/usr/bin/env python3
"""Whole runs of the command, as a user waits for them: bench_runs.py FLIPFLOP EXAMPLES [RUNS]

Start-up, `inspect` and the full search of each example (the command lines of EXAMPLES/README.md): median and least
wall time and the largest resident set of RUNS runs (default 11). ptxas over the same file beside it, where it is there.
"""
import os
import pathlib
import resource
import shlex
import shutil
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import doc_commands  # noqa: E402


def measure(command, folder, runs):
    """(median ms, least ms, peak MB), or None when the command fails."""
    times, peak = [], 0
    for _ in range(runs):
        begin = time.perf_counter()
        child = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
        times.append((time.perf_counter() - begin) * 1e3)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode != 0:
            return None
        peak = max(peak, usage.ru_maxrss / 1024)
    return statistics.median(times), min(times), peak


def row(name, result):
    print(f"{name:<44}" + ("   failed" if result is None else f"{result[0]:>10.1f}{result[1]:>10.1f}{result[2]:>10.1f}"))
    return result is not None


def main():
    flipflop, examples = str(pathlib.Path(sys.argv[1]).resolve()), pathlib.Path(sys.argv[2]).resolve()
    runs = int(sys.argv[3]) if len(sys.argv) > 3 else 11
    print(f"\n{'whole runs':<44}{'median ms':>10}{'least ms':>10}{'peak MB':>10}")
    good = row("flipflop --version", measure([flipflop, "--version"], examples, runs))
    good &= row("flipflop inspect examples", measure([flipflop, "inspect", "examples"], examples.parent, runs))
    ptxas = shutil.which("ptxas") or shutil.which("ptxas", path="/usr/local/cuda/bin")
    for _, command, _ in doc_commands.commands(examples / "README.md"):
        words = shlex.split(command)
        if words[1] != "analyze":
            continue
        file = next(w for w in words if w.endswith(".ptx"))
        # Without ptxas the figure is our own.
        good &= row("analyze " + pathlib.Path(file).name, measure([flipflop, *words[1:], "--ptxas", "off"], examples.parent, runs))
        if ptxas:
            row("  ptxas -arch=sm_80 " + pathlib.Path(file).name,
                measure([ptxas, "-arch=sm_80", "-o", os.devnull, str(examples.parent / file)], examples.parent, max(3, runs // 3)))
    return 0 if good else 1


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.exit(main())
