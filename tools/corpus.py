#!/usr/bin/env python3
"""`flipflop inspect` over the libraries of the CUDA toolkit that lie on this machine: corpus.py FLIPFLOP [FOLDER...]

Prints one row a library: PTX modules, kernels, megabytes of text, instructions, how many of them the instruction table
does not know, errors, time and the largest resident set. Status 1 when a module had an error or an instruction was not
known. The libraries are never copied. Without a toolkit: one line, status 0.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time


def toolkit_folders():
    roots = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"]
    nvcc = shutil.which("nvcc")
    if nvcc:
        roots.append(str(pathlib.Path(nvcc).resolve().parent.parent))
    folders = [pathlib.Path(root) / lib for root in roots if root for lib in ("lib64", "lib", "targets/x86_64-linux/lib")]
    return [folder for folder in folders if folder.is_dir()]


def libraries(folders):
    found = {}
    for folder in folders:
        for path in sorted(folder.glob("*")):
            if (path.suffix in (".so", ".a") or ".so." in path.name) and path.is_file():
                found.setdefault(path.resolve(), path.name)      # libx.so, libx.so.13 and libx.so.13.0 are one file
    return sorted(found.items(), key=lambda item: item[1])


def inspect(flipflop, path):
    """(exit code, report or None, first lines of stderr, seconds, peak MB)."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        begin = time.perf_counter()
        child = subprocess.Popen([flipflop, "inspect", "--format", "json", "--keep-going", str(path)], stdout=output, stderr=errors,
                                 stdin=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - begin
        child.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        errors.seek(0)
        text = output.read()
        try:
            report = json.loads(text) if text.strip() else None
        except ValueError:
            report = None
        return child.returncode, report, errors.read(600).decode(errors="replace"), seconds, usage.ru_maxrss / 1024


def main():
    flipflop = str(pathlib.Path(sys.argv[1]).resolve())
    folders = [pathlib.Path(folder) for folder in sys.argv[2:]] or toolkit_folders()
    files = libraries(folders)
    if not files:
        print("corpus: no CUDA toolkit on this machine (CUDA_HOME, nvcc on PATH, /usr/local/cuda): nothing to read")
        return 0
    columns = ("modules", "kernels", "PTX MB", "instructions", "unknown", "errors", "seconds", "MB/s", "peak MB")
    print(f"{'library':<36}" + "".join(f"{c:>13}" for c in columns), flush=True)
    total = dict.fromkeys(columns[:7], 0)
    bad = without = 0
    for path, name in files:
        code, report, complaint, seconds, peak = inspect(flipflop, path)
        if report is None:
            if "FF0806" in complaint or "FF0809" in complaint:
                without += 1                                     # no PTX in it: nothing to say
                continue
            bad += 1
            print(f"{name:<36} exit {code}: {complaint.strip().splitlines()[0] if complaint.strip() else 'no report'}", flush=True)
            continue
        s = report["summary"]
        if not s["modules"]:
            without += 1
            continue
        values = {"modules": s["modules"], "kernels": s["kernels"], "PTX MB": s["ptx_bytes"] / 1e6, "instructions": s["instructions"],
                  "unknown": s["unknown_instructions"], "errors": s["errors"], "seconds": seconds}
        for key, value in values.items():
            total[key] += value
        bad += bool(s["errors"] or s["unknown_instructions"] or code not in (0,))
        print_row(name, values, peak)
    print_row("all", total, None)
    print(f"{without} libraries hold no PTX")
    return 1 if bad else 0


def print_row(name, v, peak):
    speed = v["PTX MB"] / v["seconds"] if v["seconds"] else 0.0
    print(f"{name:<36}{v['modules']:>13}{v['kernels']:>13}{v['PTX MB']:>13.1f}{v['instructions']:>13}{v['unknown']:>13}{v['errors']:>13}"
          f"{v['seconds']:>13.2f}{speed:>13.0f}" + (f"{peak:>13.0f}" if peak is not None else ""), flush=True)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main())
