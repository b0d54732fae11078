#!/usr/bin/env python3
"""`flipflop inspect` over the CUDA libraries of this machine, held against a plain text search of their PTX.

Looked at are the toolkit's own libraries and those that Python packages and Debian brought (cuDNN, NCCL, ...). Prints
one row a library: PTX modules, kernels, functions, megabytes of text, instructions, how many of them the instruction
table does not know, errors, time and the largest resident set. tools/device_code.py unpacks the same files by a reader
of its own; bytes, kernels (.entry) and functions (.func) of every module are compared, name by name, with what a plain
search of that text finds. PRINT_CHECK (tools/print_check.cpp) prints each module, parses that and compares.
Status 1 when a module had an error, an instruction was not known, or something differs. The libraries are never copied.
Without a toolkit: one line, status 0.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import site
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import device_code  # noqa: E402
import measured  # noqa: E402

COLUMNS = ("modules", "kernels", "functions", "PTX MB", "instructions", "unknown", "errors", "differ", "seconds")
NINE = ("libcublas", "libcublasLt", "libcudnn_adv", "libcudnn_ops", "libcufft", "libcurand", "libcusolver", "libcusparse", "libnccl")
KERNEL = re.compile(rb"\.entry\s+([\w$%]+)")
FUNCTION = re.compile(rb"\.func\s*(?:\.attribute\s*\([^)]*\)+\s*)?(?:\([^)]*\)\s*)?([\w$%]+)")


def library_folders():
    roots = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"]
    nvcc = shutil.which("nvcc")
    if nvcc:
        roots.append(str(pathlib.Path(nvcc).resolve().parent.parent))
    folders = [pathlib.Path(root) / lib for root in roots if root for lib in ("lib64", "lib", "targets/x86_64-linux/lib")]
    for packages in {*site.getsitepackages(), site.getusersitepackages()}:
        folders += sorted(pathlib.Path(packages).glob("nvidia/*/lib")) + sorted(pathlib.Path(packages).glob("nvidia/lib"))
    return folders


def libraries(places):
    found = {}
    for place in places:
        for path in [place] if place.is_file() else sorted(place.glob("*")) if place.is_dir() else []:
            if path.is_file() and (place.is_file() or path.suffix in (".so", ".a") or ".so." in path.name):
                found.setdefault(path.resolve(), path.name)      # libx.so, libx.so.13 and libx.so.13.0 are one file
    for path in sorted(pathlib.Path("/usr/lib/x86_64-linux-gnu").glob("lib*.so")):   # Debian's libcudnn, libnccl, libcublas, ...
        if re.match(r"lib(cublas|cudnn|cudart|cufft|curand|cusolver|cusparse|nccl|npp|nvJPEG|nvjpeg)", path.name) and not places_given:
            found.setdefault(path.resolve(), path.name)
    return sorted(found.items(), key=lambda item: item[1])


def run(command):
    """(exit code, standard output, beginning of standard error, seconds, peak MB)."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        code, seconds, peak = measured.run(command, output, errors)
        output.seek(0)
        errors.seek(0)
        return code, output.read(), errors.read(600).decode(errors="replace"), seconds, peak


def searched(pattern, word, text):
    """Names behind each `word`, in order of their first place."""
    names, at = {}, text.find(word)
    while at >= 0:
        found = pattern.match(text, at)
        if found:
            names.setdefault(found.group(1).decode(), None)
        at = text.find(word, at + len(word))
    return list(names)


def differences(path, report):
    """What the report says otherwise than a plain search of the texts, as lines."""
    modules = [module for entry in report["inputs"] for module in entry["modules"]] if report else []
    said, count = [], 0
    for count, text in enumerate(device_code.texts(path), 1):
        if count > len(modules):
            continue
        module = modules[count - 1]
        where = f"module {count} ({module['name'].rsplit('#', 1)[-1]})"
        if module["bytes"] != len(text):
            said.append(f"{where}: {module['bytes']} bytes, unpacked are {len(text)}")
        for what, names in (("kernels", searched(KERNEL, b".entry", text)), ("functions", searched(FUNCTION, b".func", text))):
            ours = [item["name"] for item in module[what]]
            if sorted(ours) != sorted(names):
                odd = sorted(set(ours) ^ set(names))[:3]
                said.append(f"{where}: {len(ours)} {what}, a search of the text finds {len(names)}: {', '.join(odd)}")
    if count != len(modules):
        said.append(f"{len(modules)} modules, the file holds {count}")
    return said


def look(flipflop, print_check, path, name):
    """The row's values and peak, None for a library without PTX, or a complaint."""
    code, output, complaint, seconds, peak = run([flipflop, "inspect", "--format", "json", "--keep-going", str(path)])
    try:
        report = json.loads(output) if output.strip() else None
    except ValueError:
        report = None
    if report is None and not ("FF0806" in complaint or "FF0809" in complaint):
        return f"exit {code}: {(complaint.strip().splitlines() or ['no report'])[0]}"
    lines = differences(path, report)
    if report is None or not report["summary"]["modules"]:
        return "\n".join(lines) or None
    if print_check:
        code, output, _, _, _ = run([print_check, str(path)])
        if code != 0:
            lines += output.decode(errors="replace").strip().splitlines()[:10] or [f"{print_check}: exit {code}"]
    for line in lines[:10]:
        print(f"  {name}: {line}")
    s = report["summary"]
    functions = sum(len(module["functions"]) for entry in report["inputs"] for module in entry["modules"])
    return dict(zip(COLUMNS, (s["modules"], s["kernels"], functions, s["ptx_bytes"] / 1e6, s["instructions"], s["unknown_instructions"],
                              s["errors"], len(lines), seconds))), peak


def print_row(name, v, peak):
    speed = v["PTX MB"] / v["seconds"] if v["seconds"] else 0.0
    cells = "".join(f"{v[c]:>13.1f}" if c == "PTX MB" else f"{v[c]:>10.2f}" if c == "seconds" else f"{v[c]:>10}" if c in ("unknown", "errors", "differ") else f"{v[c]:>13}"
                    for c in COLUMNS)
    print(f"{name:<32}{cells}{speed:>8.0f}" + (f"{peak:>9.0f}" if peak is not None else ""), flush=True)


def main():
    files = libraries([pathlib.Path(place) for place in arguments.places] or library_folders())
    if not files:
        print("corpus: no CUDA libraries on this machine (CUDA_HOME, nvcc on PATH, /usr/local/cuda, Python packages): nothing to read")
        return 0
    print(f"{'library':<32}" + "".join(f"{c:>10}" if c in ("unknown", "errors", "differ", "seconds") else f"{c:>13}" for c in COLUMNS) + f"{'MB/s':>8}{'peak MB':>9}", flush=True)
    total, nine = dict.fromkeys(COLUMNS, 0), dict.fromkeys(COLUMNS, 0)
    bad = without = 0
    for path, name in files:
        result = look(arguments.flipflop, arguments.print_check, path, name)
        if result is None:
            without += 1
        elif isinstance(result, str):
            bad += 1
            print(f"{name:<32}{result}", flush=True)
        else:
            values, peak = result
            for key, value in values.items():
                total[key] += value
                nine[key] += value if name.split(".so")[0] in NINE else 0
            print_row(name, values, peak)
    print_row("all", total, None)
    if nine["modules"] not in (0, total["modules"]):
        print_row("the nine of docs/performance.md", nine, None)
    print(f"{without} libraries hold no PTX. Compared with a search of the texts" + (", printed and parsed again." if arguments.print_check else "."))
    return 1 if bad or total["errors"] or total["unknown"] or total["differ"] else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("flipflop")
    parser.add_argument("-p", "--print-check")
    parser.add_argument("places", nargs="*")
    arguments = parser.parse_args()
    places_given = bool(arguments.places)
    sys.exit(main())
