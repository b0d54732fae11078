#!/usr/bin/env python3
"""`inspect` takes time and memory linear in the text, whatever its shape: test_scale.py [MEGABYTES]

Each shape is made small and four times as large; four times the processor's time, with room for noise, is the most. Once
with 50 MB by hand: test_scale.py 50.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

FLIPFLOP = os.path.abspath(os.environ.get("FLIPFLOP_EXECUTABLE", "build/flipflop"))
HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n\n"
KERNEL = (".visible .entry big_{0}(.param .u64 out)\n{{\n  .reg .b32 %r<4>; .reg .b64 %rd<4>;\n  ld.param.u64 %rd1, [out];\n  cvta.to.global.u64 %rd2, %rd1;\n"
          "  mov.u32 %r1, %tid.x;\n  mul.wide.u32 %rd3, %r1, 4;\n  add.s64 %rd3, %rd2, %rd3;\n  add.s32 %r2, %r1, {0};\n  st.global.u32 [%rd3], %r2;\n  ret;\n}}\n")


def straight(size, end):
    piece = "".join(f" mad.lo.s32 %r{(i + 1) % 60}, %r{i % 60}, {i % 97 + 2}, %r0;{end}" for i in range(5820))
    return (HEAD + f".visible .entry k(.param .u64 out)\n{{{end} .reg .b32 %r<64>; .reg .b64 %rd<4>;{end} ld.param.u64 %rd1, [out]; mov.u32 %r0, %tid.x;{end}"
            + piece * (size // len(piece) + 1) + f" st.global.u32 [%rd1], %r1;{end} ret;{end}}}\n")


def nested(size):
    """Loops in loops as deep as braces may go, again and again, with labels of the same names in scopes of their own."""
    depth = 100
    piece = "".join(f"{{ L{d}: add.u32 %r1, %r1, 1; " for d in range(depth)) + "".join(f"setp.lt.u32 %p1, %r1, {d + 9}; @%p1 bra L{d}; }}\n" for d in reversed(range(depth)))
    return HEAD + ".visible .entry k()\n{ .reg .pred %p<2>; .reg .b32 %r<4>; mov.u32 %r1, 0;\n" + piece * (size // len(piece) + 1) + "ret; }\n"


def calls(size):
    """A chain of functions, each called from two places."""
    one = ".func f{0}() {{ call f{1}; call f{1}; ret; }}\n"
    count = size // 45 + 1
    return HEAD + ".func f0() { ret; }\n" + "".join(one.format(i, i - 1) for i in range(1, count)) + f".visible .entry k() {{ call f{count - 1}; ret; }}\n"


SHAPES = {
    "kernels": lambda size: HEAD + "".join(KERNEL.format(i) for i in range(size // 330 + 1)),
    "straight": lambda size: straight(size, "\n"),
    "oneline": lambda size: straight(size, " "),
    "data": lambda size: HEAD + f".global .align 4 .b8 big[{size // 4}] = {{" + "17, " * (size // 4 - 1) + "17};\n.visible .entry k() { ret; }\n",
    "dwarf": lambda size: HEAD + '.visible .entry k() { ret; }\n.file 1 "a.cu"\n.section .debug_str\n{\n' + (".b8 " + ",".join(["97"] * 16) + "\n") * (size // 52) + "}\n",
    "nested": nested,
    "calls": calls,
    "labels": lambda size: HEAD + ".visible .entry k()\n{ .reg .pred %p; .reg .b32 %r; mov.u32 %r, %tid.x; setp.eq.u32 %p, %r, 0;\n"
                           + "".join(f"@%p bra A{i}; B{i}: add.u32 %r, %r, 1; A{i}:\n" for i in range(size // 52)) + "ret; }\n",
    "unknown": lambda size: HEAD + ".visible .entry k()\n{ .reg .b32 %r<4>;\n" + "".join(f"frob.x{i}.y %r1, %r2;\n" for i in range(size // 27)) + "ret; }\n",
    "errors": lambda size: HEAD + ".visible .entry k()\n{ .reg .b32 %r<4>;\n" + "".join(f"add.s32 %q{i}, %r1, 1;\n" for i in range(size // 27)) + "ret; }\n",
}


def seconds_and_peak(path):
    """Processor time and largest resident set of `inspect`; its exit code may be 0 or 3."""
    child = subprocess.Popen([FLIPFLOP, "inspect", path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    code = os.waitstatus_to_exitcode(status)
    child.returncode = code
    if code not in (0, 3):
        raise RuntimeError(f"exit {code}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main():
    large = int(float(sys.argv[1]) * 1e6) if len(sys.argv) > 1 else 6_000_000
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "large.ptx"
        for name, shape in SHAPES.items():
            figures = []
            for size in (large // 4, large):
                text = shape(size)
                path.write_text(text)
                bytes_ = len(text)
                del text
                figures.append((*min(seconds_and_peak(str(path)) for _ in range(2)), bytes_))
            (small, _, _), (long, peak, bytes_) = figures
            linear = long < 0.1 or long < 7 * max(small, 0.02)    # four times as much; twice that would be quadratic by half
            failed += not linear
            print(f"{name:<10}{bytes_ / 1e6:>8.1f} MB {long:>8.2f} s {bytes_ / 1e6 / max(long, 1e-3):>8.0f} MB/s {peak:>8.0f} MB  {long / max(small, 1e-3):>6.1f} times a quarter's"
                  + ("" if linear else "  NOT LINEAR"), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
