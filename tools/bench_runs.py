#!/usr/bin/env python3
"""Whole runs of the command, as a user waits for them: bench_runs.py FLIPFLOP EXAMPLES [RUNS]

Start-up, `inspect` and the full search of each example (the command lines of EXAMPLES/README.md): median and least
wall time and the largest resident set of RUNS runs (default 11). ptxas over the same file beside it, where it is there.
Where the CUDA toolkit is: whole libraries, and the largest module of libcusparse as a file of its own.
"""
import os
import pathlib
import resource
import shlex
import shutil
import statistics
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import device_code  # noqa: E402
import doc_commands  # noqa: E402
import measured  # noqa: E402


def measure(command, folder, runs):
    """(median ms, least ms, peak MB), or None when the command fails."""
    times, peak = [], 0
    for _ in range(runs):
        code, seconds, memory = measured.run(command, cwd=folder)
        if code != 0:
            return None
        times.append(seconds * 1e3)
        peak = max(peak, memory)
    return statistics.median(times), min(times), peak


def row(name, result, text_bytes=None):
    rate = f"{text_bytes / 1e3 / result[0]:>10.1f}" if text_bytes and result else ""
    print(f"{name:<44}" + ("   failed" if result is None else f"{result[0]:>10.1f}{result[1]:>10.1f}{result[2]:>10.1f}{rate}"), flush=True)
    return result is not None


def library_rows(flipflop, ptxas, runs):
    """`inspect` over libraries of the toolkit, with megabytes of PTX text a second, and over one large module."""
    folder = pathlib.Path(os.environ.get("CUDA_HOME", "/usr/local/cuda")) / "lib64"
    found = [path for name in ("libcusparse.so", "libcublas.so", "libnccl.so", "libcufft.so", "libcublasLt.so") if (path := folder / name).is_file()]
    good = True
    for path in found:
        texts = 0
        largest = b""
        for text in device_code.texts(path):
            texts += len(text)
            largest = max(largest, text, key=len)
        result = measure([flipflop, "inspect", str(path)], folder, runs)
        good &= row(f"inspect {path.name}, {texts / 1e6:.0f} MB of PTX", result, texts)
        if path.name != "libcusparse.so" or result is None:
            continue
        with tempfile.NamedTemporaryFile(suffix=".ptx") as file:
            file.write(largest)
            file.flush()
            result = measure([flipflop, "inspect", file.name], folder, runs)
            good &= row(f"  its largest module, {len(largest) / 1e6:.1f} MB", result, len(largest))
            if result:
                print(f"  {result[2] * 1048576 / len(largest):.2f} bytes of memory a byte of PTX, the program itself included")
            medium = sorted(device_code.texts(path), key=len)[-60]
            file.seek(0)
            file.truncate()
            file.write(medium)
            file.flush()
            good &= row(f"  a module of {len(medium) / 1e6:.2f} MB", measure([flipflop, "inspect", file.name], folder, runs), len(medium))
            if ptxas:
                target = next((word for word in medium.decode(errors="replace").split() if word.startswith("sm_")), "sm_80").rstrip(",")
                row("  the same, ptxas -O3", measure([ptxas, f"-arch={target}", "-o", os.devnull, file.name], folder, 1), len(medium))
                row("  the same, ptxas -O0", measure([ptxas, "-O0", f"-arch={target}", "-o", os.devnull, file.name], folder, 1), len(medium))
    return good


def main():
    flipflop, examples = str(pathlib.Path(sys.argv[1]).resolve()), pathlib.Path(sys.argv[2]).resolve()
    runs = int(sys.argv[3]) if len(sys.argv) > 3 else 11
    print(f"\n{'whole runs':<44}{'median ms':>10}{'least ms':>10}{'peak MB':>10}{'MB/s':>10}")
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
    good &= library_rows(flipflop, ptxas, max(3, runs // 3))
    return 0 if good else 1


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.exit(main())
