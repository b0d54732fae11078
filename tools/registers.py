#!/usr/bin/env python3
"""The register estimate held against ptxas: known answers, examples and a sample of the CUDA libraries' PTX.

Each kernel is assembled by the ptxas on PATH for the architectures asked for (a text made for a newer one is retargeted, where
ptxas accepts that) and estimated by tools/register_driver.cpp. Libraries are sampled by tools/kernel_sample.py; their texts
are cut into FOLDER and never committed. Kernel families are split once, by a hash of group and family: constants may be fitted on
half `fit` only, and half `held` is what is reported. "Near" is within 10 % or 2 registers of ptxas, "inside" within the
interval. What ptxas said is kept in FOLDER by the contents of the text, so a second run only estimates.
Without ptxas, or without libraries: what is there, and a line that says what is not. Status 0.

  tools/registers.py DRIVER [--folder build/registers] [--architectures 80,90] [--share 100] [--worst 15] [--facts FILE]
"""
import argparse
import collections
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import corpus  # noqa: E402
import kernel_sample  # noqa: E402

SOURCE = pathlib.Path(__file__).resolve().parent.parent
SAMPLES = {"libcusparse": 100, "libcublas": 80, "libcublasLt": 80, "libcusolver": 100, "libcufft": 80, "libcurand": 30, "libnccl": 15}
SECONDS = 120     # ptxas is cut after these
TARGET = re.compile(rb"^\.target\s+(sm_(\d+)([af]?))", re.M)


def own_texts():
    """(group, family, path) of the known answers (FLIPFLOP_SHARED) and the examples."""
    shared = pathlib.Path(os.environ.get("FLIPFLOP_SHARED", SOURCE.parent / "shared"))
    found = [("known answers", path.parent.name, path) for path in sorted((shared / "known_answers").glob("*/*.ptx"))]
    return found + [("examples", path.name.split(".")[0], path) for path in sorted((SOURCE / "examples").glob("*.ptx"))]


def library_texts(folder, share):
    """(group, family, path) of the sample, cut into `folder` once for each version of a library."""
    found = []
    libraries = dict((name.split(".so")[0], path) for path, name in corpus.libraries(corpus.library_folders()) if ".so" in name)
    for name, count in SAMPLES.items():
        if name not in libraries:
            print(f"note: no {name} on this machine")
            continue
        path, wanted = libraries[name], count * share // 100
        key = hashlib.sha256(f"{path} {path.stat().st_size} {path.stat().st_mtime_ns} {wanted}".encode()).hexdigest()[:12]
        listed = folder / f"{name}-{key}.json"
        if not listed.is_file():
            rows = []
            for family, kernel, text in kernel_sample.sample(path, wanted):
                file = folder / f"{name}-{hashlib.sha256(kernel.encode()).hexdigest()[:12]}.ptx"
                file.write_bytes(text)
                rows.append((family, str(file)))
            listed.write_text(json.dumps(rows))
        found += [(name, family, pathlib.Path(file)) for family, file in json.loads(listed.read_text())]
    return found


def retargeted(text, architecture):
    """(text, ptxas -arch) for sm_`architecture`: as it is where that is newer, else with another target."""
    target = TARGET.search(text)
    if not target:
        return text, f"sm_{architecture}"
    number, special = int(target.group(2)), target.group(3)
    if special and number == architecture:
        return text, target.group(1).decode()
    if number <= architecture and not special:
        return text, f"sm_{architecture}"
    return text[:target.start(1)] + b"sm_%d" % architecture + text[target.end(1):], f"sm_{architecture}"


def assemble(text, architecture):
    """By kernel: registers and bytes of spill stores; {} where ptxas does not accept the text for this architecture."""
    text, arch = retargeted(text, architecture)
    try:
        done = subprocess.run(["nice", "-n", "12", "ptxas", "-v", "-arch", arch, "-o", os.devnull, "/dev/stdin"], input=text,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return {}
    kernels, kernel = {}, None
    for line in done.stdout.decode(errors="replace").splitlines() if done.returncode == 0 else []:
        if found := re.search(r"Compiling entry function '(\S+)' for", line):
            kernel = kernels.setdefault(found.group(1), {"registers": None, "spill_stores": 0})
        elif kernel is not None and (found := re.search(r"(\d+) bytes spill stores", line)):
            kernel["spill_stores"] += int(found.group(1))
        elif kernel is not None and (found := re.search(r"Used (\d+) registers", line)):
            kernel["registers"] = int(found.group(1))
    return {name: row for name, row in kernels.items() if row["registers"] is not None}


def truths(jobs, cache_file, version):
    """What ptxas says of every (path, architecture)."""
    cache = {}
    if cache_file.is_file():
        for line in cache_file.read_text().splitlines():
            key, row = json.loads(line)
            cache[key] = row
    texts = {path: path.read_bytes() for path in {path for path, _ in jobs}}
    key_of = {(path, sm): hashlib.sha256(texts[path] + f" {sm} {version}".encode()).hexdigest()[:24] for path, sm in jobs}
    missing = [job for job in jobs if key_of[job] not in cache]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool, open(cache_file, "a", encoding="utf-8") as out:
        futures = {pool.submit(assemble, texts[path], sm): (path, sm) for path, sm in missing}
        for count, future in enumerate(concurrent.futures.as_completed(futures), 1):
            key = key_of[futures[future]]
            cache[key] = future.result()
            out.write(json.dumps([key, cache[key]]) + "\n")
            out.flush()
            if sys.stderr.isatty():
                print(f"\rptxas {count}/{len(missing)}", end="", file=sys.stderr)
    return {job: cache[key_of[job]] for job in jobs}


def estimates(driver, jobs):
    """(path, architecture, kernel) -> estimate, low, high, spilled bytes."""
    done = subprocess.run([driver], input="".join(f"{sm} {path}\n" for path, sm in jobs), stdout=subprocess.PIPE, text=True, check=True)
    found = {}
    for line in done.stdout.splitlines():
        path, sm, kernel, *numbers = line.split("\t")
        found[pathlib.Path(path), int(sm), kernel] = [int(number) for number in numbers[:4]]
    return found


def near(estimate, truth):
    return abs(estimate - truth) <= max(2, 0.1 * truth)


def half(group, family):
    return ("fit", "held")[hashlib.sha256(f"{group}:{family}".replace(" ", "_").encode()).digest()[-1] & 1]


def rows_of(texts, architectures, driver, folder, version):
    jobs = [(path, sm) for _, _, path in texts for sm in architectures]
    about = {path: (group, family) for group, family, path in texts}
    truth, made, rows = truths(jobs, folder / "ptxas.jsonl", version), estimates(driver, jobs), []
    for (path, sm), kernels in truth.items():
        for kernel, row in kernels.items():
            if (path, sm, kernel) not in made:
                continue
            group, family = about[path]
            estimate, low, high, spills = made[path, sm, kernel]
            rows.append({"group": group, "half": half(group, family), "file": path.name, "kernel": kernel, "sm": sm, "ptxas": row["registers"],
                         "estimate": estimate, "low": low, "high": high, "spills": row["spill_stores"], "spills_estimated": spills})
    return rows


def table(rows, title, key):
    print(f"\n{title:<22}{'n':>6}{'near':>8}{'inside':>8}   ptxas / estimate: 10 %, median, 90 %")
    groups = collections.defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    for name, members in sorted(groups.items(), key=lambda item: str(item[0])):
        ratios = sorted(row["ptxas"] / row["estimate"] for row in members)
        count = len(members)
        print(f"{str(name):<22}{count:>6}{100 * sum(near(row['estimate'], row['ptxas']) for row in members) / count:>6.0f} %"
              f"{100 * sum(row['low'] <= row['ptxas'] <= row['high'] for row in members) / count:>6.0f} %"
              f"   {ratios[count // 10]:.2f} {statistics.median(ratios):.2f} {ratios[count * 9 // 10]:.2f}")


def report(rows, worst):
    table(rows, "all", lambda row: "all kernels")
    table(rows, "half", lambda row: row["half"])
    table(rows, "group", lambda row: row["group"])
    table([row for row in rows if row["half"] == "held"], "group, held half", lambda row: row["group"])
    table(rows, "architecture", lambda row: f"sm_{row['sm']}")
    table(rows, "registers of ptxas", lambda row: next(f"up to {top:3}" for top in (16, 32, 64, 128, 255) if row["ptxas"] <= top))
    spilled = [row for row in rows if row["spills"]]
    print(f"\nspills: ptxas in {len(spilled)} kernels; predicted in {sum(row['spills_estimated'] > 0 for row in spilled)} of them,"
          f" and in {sum(row['spills_estimated'] > 0 and not row['spills'] for row in rows)} others")
    off = sorted((row for row in rows if not near(row["estimate"], row["ptxas"])),
                 key=lambda row: -abs(row["estimate"] - row["ptxas"]) / max(row["ptxas"], 20))
    print(f"\nworst of {len(off)} that are not near")
    for row in off[:worst]:
        print(f"  sm_{row['sm']:<4} ptxas {row['ptxas']:>3}, estimate {row['estimate']:>3} [{row['low']}, {row['high']}]  {row['group']}  {row['kernel'][:70]}")


def write_facts(rows, path, version):
    """The registers of our own kernels (examples) as ptxas counts them: what CI holds the estimate to where there is no ptxas."""
    own = sorted((row["file"], row["kernel"], row["sm"], row["ptxas"]) for row in rows if row["group"] == "examples")
    path.write_text(f"# file kernel architecture registers: ptxas {version}, written by tools/registers.py --facts\n" +
                    "".join("{} {} {} {}\n".format(*row) for row in own), encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("driver")
    parser.add_argument("--folder", type=pathlib.Path, default=SOURCE / "build" / "registers")
    parser.add_argument("--architectures", default="75,80,86,90,100,120")
    parser.add_argument("--share", type=int, default=100, help="percent of the libraries' sample (0: none)")
    parser.add_argument("--worst", type=int, default=15)
    parser.add_argument("--facts", type=pathlib.Path)
    options = parser.parse_args()
    if shutil.which("ptxas") is None:
        print("registers: no ptxas on PATH: nothing to compare with")
        return 0
    options.folder.mkdir(parents=True, exist_ok=True)
    version = re.search(r"V([\d.]+)", subprocess.run(["ptxas", "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout).group(1)
    texts = own_texts() + (library_texts(options.folder, options.share) if options.share > 0 else [])
    rows = rows_of(texts, [int(sm) for sm in options.architectures.split(",")], options.driver, options.folder, version)
    print(f"ptxas {version}, {len(texts)} texts, {len(rows)} kernels and architectures")
    if rows:
        report(rows, options.worst)
    if options.facts:
        write_facts(rows, options.facts, version)
    return 0


if __name__ == "__main__":
    sys.exit(main())
