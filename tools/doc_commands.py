#!/usr/bin/env python3
"""The command lines that the documentation shows, and running them.

A line that begins with "flipflop " (or "$ flipflop ") in a fenced block of README.md, examples/README.md or docs/*.md is
a command; a trailing comment "# exit N" says that its exit code is N, not 0; "# not run: why" leaves it out. A block
whose first line is "$ flipflop ..." shows that command's output below it. A block after <!-- test: loads as NAME --> is
written to NAME for the commands of the same document. kernel.ptx stands for a kernel of the reader's own.
    doc_commands.py list
    doc_commands.py run FLIPFLOP      each from a copy of what the sources hold, so that nothing is written among them
    doc_commands.py check FLIPFLOP    the blocks that show an output show today's
    doc_commands.py bless FLIPFLOP    writes today's output into the blocks that show one
"""
import difflib
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def documents():
    return [p for p in [ROOT / "README.md", ROOT / "examples" / "README.md", *sorted((ROOT / "docs").glob("*.md"))] if p.exists()]


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


def files_of(document):
    """(name, content) of each block that the document says to be a file."""
    text = document.read_text(encoding="utf-8")
    return re.findall(r"<!-- test: loads as (\S+) -->\s*```\w*\n(.*?)```", text, re.DOTALL)


def with_outputs(flipflop, text):
    """The document with today's output in each block that begins with "$ flipflop"."""
    def shown(match):
        command = match.group(2)
        done = subprocess.run(["bash", "-o", "pipefail", "-c", command.replace("flipflop", shlex.quote(flipflop), 1)], cwd=ROOT, capture_output=True,
                              text=True, env={**os.environ, "NO_COLOR": "1"}, stdin=subprocess.DEVNULL, check=True)
        return f"{match.group(1)}$ {command}\n{done.stdout.rstrip()}\n```"

    return re.sub(r"(```\w*\n)\$ (flipflop [^\n]*)\n.*?```", shown, text, flags=re.DOTALL)


def bless(flipflop):
    flipflop = str(pathlib.Path(flipflop).resolve())
    for document in documents():
        text = document.read_text(encoding="utf-8")
        blessed = with_outputs(flipflop, text)
        if blessed != text:
            document.write_text(blessed, encoding="utf-8")
            print(f"{document.relative_to(ROOT)}: output written anew")
    return 0


def check(flipflop):
    flipflop = str(pathlib.Path(flipflop).resolve())
    stale = 0
    for document in documents():
        text = document.read_text(encoding="utf-8")
        now = with_outputs(flipflop, text)
        if now != text:
            stale += 1
            name = str(document.relative_to(ROOT))
            sys.stdout.writelines(list(difflib.unified_diff(text.splitlines(True), now.splitlines(True), name, name + " (today)"))[:60])
    if stale:
        print(f"{stale} documents show another output than today's: read the difference, then tools/doc_commands.py bless FLIPFLOP")
    return 1 if stale else 0


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
        shutil.copy(ROOT / "examples" / "axpy.ptx", scratch / "kernel.ptx")
        for document in documents():
            for name, content in files_of(document):
                (scratch / name).write_text(content, encoding="utf-8")
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
    elif len(sys.argv) == 3 and sys.argv[1] in ("run", "bless", "check"):
        sys.exit({"run": run_all, "bless": bless, "check": check}[sys.argv[1]](sys.argv[2]))
    else:
        sys.exit(__doc__)
