#!/usr/bin/env python3
"""The command lines that the documentation shows, and running them.

A line that begins with "flipflop " (or "$ flipflop ") in a fenced block of README.md, examples/README.md or docs/*.md is
a command; a trailing comment "# exit N" says that its exit code is N, not 0; "# not run: why" leaves it out.
    doc_commands.py list
    doc_commands.py run FLIPFLOP      each from the root of the sources, in a folder of its own for what it writes
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def documents():
    return [p for p in [ROOT / "README.md", ROOT / "examples" / "README.md", *sorted((ROOT / "docs").rglob("*.md"))] if p.exists()]


def commands(document):
    """(line number, command, expected exit code) of each command of a document."""
    found, fenced, number = [], False, 0
    lines = document.read_text(encoding="utf-8").split("\n")
    while number < len(lines):
        line = lines[number]
        number += 1
        if line.lstrip().startswith("```"):
            fenced = not fenced
            continue
        match = re.match(r"\s*(?:\$ )?(flipflop .*)", line)
        if not fenced or not match:
            continue
        begin, command = number, match.group(1)
        while command.endswith("\\") and number < len(lines):
            command = command[:-1] + " " + lines[number].strip()
            number += 1
        note = re.search(r"\s# (exit (\d+)|not run: .*)$", command)
        if note and not note.group(2):
            continue
        found.append((begin, command[: note.start()] if note else command, int(note.group(2)) if note else 0))
    return found


def run_all(flipflop):
    flipflop = str(pathlib.Path(flipflop).resolve())
    failures = total = 0
    with tempfile.TemporaryDirectory() as folder:
        binary = pathlib.Path(folder) / "bin"
        binary.mkdir()
        (binary / "flipflop").symlink_to(flipflop)
        # What a command writes must not land among the sources.
        scratch = pathlib.Path(folder) / "scratch"
        scratch.mkdir()
        for name in ("examples", "docs", "gpu_profiles", "schema"):
            if (ROOT / name).exists():
                shutil.copytree(ROOT / name, scratch / name)
        environment = {**os.environ, "PATH": f"{binary}:{os.environ['PATH']}", "NO_COLOR": "1"}
        for document in documents():
            for line, command, expected in commands(document):
                total += 1
                done = subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=scratch, env=environment, capture_output=True,
                                      text=True, timeout=120, stdin=subprocess.DEVNULL)
                if done.returncode != expected:
                    failures += 1
                    print(f"{document.relative_to(ROOT)}:{line}: exit {done.returncode}, not {expected}: {command}\n{done.stderr[-800:]}")
    print(f"{total} documented commands, {failures} failed")
    return 1 if failures or not total else 0


if __name__ == "__main__":
    if sys.argv[1:] == ["list"]:
        for doc in documents():
            for line, command, expected in commands(doc):
                print(f"{doc.relative_to(ROOT)}:{line}: {command}" + (f"   # exit {expected}" if expected else ""))
    elif len(sys.argv) == 3 and sys.argv[1] == "run":
        sys.exit(run_all(sys.argv[2]))
    else:
        sys.exit(__doc__)
