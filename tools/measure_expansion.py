#!/usr/bin/env python3
"""Writes models/expansion.def: how many native instructions of each pipe ptxas emits for one PTX operation.

For each operation a chain of 4 and one of 20 copies is assembled; the difference over 16 is one operation's cost, so
set-up and addressing cancel. Where ptxas puts a rare case (a denormal, a 64-bit quotient that needs all bits) behind a
branch over a CALL, the branch is taken: the common case is counted and the rare one is not.

    tools/measure_expansion.py --ptxas PATH --nvdisasm PATH [--write models/expansion.def] [--dump OP ARCH]
"""
import argparse
import collections
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ARCHS = [75, 80, 86, 90, 100, 120]  # 8.7 and 8.9 emit what 8.6 does
PIPES = ["fma", "imad", "alu", "half", "xu", "fp64", "control", "uniform"]

# SASS opcode (up to the first dot) -> pipe. Sources: Nsight Compute's metric guide (pipe_* descriptions), Jia 2018/2019.
SASS = {
    "fma": "FADD FMUL FFMA FADD32I FMUL32I FFMA32I FSWZADD FADD2 FMUL2 FFMA2",
    "imad": "IMAD IMAD32I IMUL IMUL32I IDP XMAD",
    "alu": "IADD3 IADD VIADD VIADDMNMX VIMNMX VIMNMX3 LOP3 LOP32I LOP SHF SHL SHR ISETP LEA SEL FSEL FSETP FMNMX FMNMX3 FSET IMNMX PRMT PLOP3 MOV "
           "MOV32I I2FP F2FP BMSK SGXT IABS VABSDIFF VABSDIFF4 P2R R2P FCHK CS2R ISCADD IADD32I PSETP VOTE HMNMX2 HSETP2 HSET2 F2IP I2IP MOVM VOTEU REDUX CREDUX",
    "half": "HADD2 HMUL2 HFMA2 HADD2_32 HMUL2_32 HFMA2_32",
    "xu": "MUFU F2I I2F F2F FRND FLO POPC BREV I2I MUFUD",
    "fp64": "DADD DMUL DFMA DSETP DMNMX",
    "control": "BRA BRX JMP BSSY BSYNC CALL RET WARPSYNC EXIT BREAK YIELD BMOV DEPBAR NANOSLEEP",
    "uniform": "R2UR S2UR UMOV UIADD3 ULOP3 USHF UISETP USEL ULEA UIMAD UPRMT UFLO UPOPC UBREV ULDC UPLOP3 UP2UR UR2UP UF2FP UVIADD USETMAXREG UBMSK USGXT LDCU UI2F UF2I UFADD UFMUL UFFMA UFSEL UFSETP UIABS UVIMNMX UFMNMX UI2FP UF2F UFRND UIADD",
}
PIPE_OF = {name: pipe for pipe, names in SASS.items() for name in names.split()}
IGNORED = set("LDC LDG STG S2R LD ST NOP".split())  # part of the frame, or padding

# op -> PTX of one step. Registers: f x,y,z: %f0-2; r: %r0-2; b64: %l0-2; f64: %d0-2; f16x1: %h0-2; predicates %p0-1.
# {i} is the step's number. A pair "snippet | minus:op,op" leaves out what the helpers cost.
OPS = {
    "fp32_add": "add.f32 %f0,%f0,%f1;", "fp32_mul": "mul.f32 %f0,%f0,%f1;", "fp32_fma": "fma.rn.f32 %f0,%f0,%f1,%f2;",
    "fp32_minmax": "min.f32 %f0,%f0,%f1; | swap",
    "fp32_compare": "setp.lt.f32 %p0,%f0,%f1; selp.f32 %f0,%f2,%f0,%p0; add.f32 %f0,%f0,%f1; | minus:fp32_select,fp32_add",
    "fp32_select": "selp.f32 %f0,%f0,%f1,%p1; add.f32 %f0,%f0,%f2; | minus:fp32_add",
    "fp32_abs_neg": "neg.f32 %f0,%f0; fma.rn.f32 %f0,%f0,%f1,%f2; | minus:fp32_fma",
    "fp32_div_rn": "div.rn.f32 %f0,%f0,%f1;", "fp32_div_full": "div.full.f32 %f0,%f0,%f1; add.f32 %f1,%f1,%f2; | minus:fp32_add",
    "fp32_div_approx": "div.approx.f32 %f0,%f1,%f0;", "fp32_rcp_rn": "rcp.rn.f32 %f0,%f0; add.f32 %f0,%f0,%f1; | minus:fp32_add",
    "fp32_rcp_approx": "rcp.approx.ftz.f32 %f0,%f0; add.ftz.f32 %f0,%f0,%f1; | minus:fp32_add", "fp32_sqrt_rn": "sqrt.rn.f32 %f0,%f0; add.f32 %f0,%f0,%f1; | minus:fp32_add",
    "fp32_sqrt_approx": "sqrt.approx.ftz.f32 %f0,%f0; add.ftz.f32 %f0,%f0,%f1; | minus:fp32_add", "fp32_rsqrt": "rsqrt.approx.ftz.f32 %f0,%f0; add.ftz.f32 %f0,%f0,%f1; | minus:fp32_add",
    "sfu_ex2": "ex2.approx.ftz.f32 %f0,%f0; add.ftz.f32 %f0,%f0,%f1; | minus:fp32_add", "sfu_lg2": "lg2.approx.ftz.f32 %f0,%f0; add.ftz.f32 %f0,%f0,%f1; | minus:fp32_add",
    "sfu_sin_cos": "sin.approx.f32 %f0,%f0;", "sfu_tanh": "tanh.approx.f32 %f0,%f0; add.f32 %f0,%f0,%f1; | minus:fp32_add",
    "fp64_add": "add.f64 %d0,%d0,%d1;", "fp64_mul": "mul.f64 %d0,%d0,%d1;", "fp64_fma": "fma.rn.f64 %d0,%d0,%d1,%d2;",
    "fp64_minmax_compare": "setp.lt.f64 %p0,%d0,%d1; selp.f64 %d0,%d2,%d0,%p0; add.f64 %d0,%d0,%d1; | minus:int_select,int_select,fp64_add",
    "fp64_div": "div.rn.f64 %d0,%d0,%d1;", "fp64_rcp": "rcp.rn.f64 %d0,%d0; add.f64 %d0,%d0,%d1; | minus:fp64_add", "fp64_sqrt": "sqrt.rn.f64 %d0,%d0; add.f64 %d0,%d0,%d1; | minus:fp64_add",
    "fp16_op": "add.f16x2 %r0,%r0,%r1;", "fp16_fma": "fma.rn.f16x2 %r0,%r0,%r1,%r2;",
    "bf16_op": "fma.rn.bf16x2 %r0,%r0,%r1,%r2;", "bf16_fma": "fma.rn.bf16x2 %r0,%r0,%r1,%r2;",
    "int_add": "add.s32 %r0,%r0,%r1; xor.b32 %r0,%r0,%r2; | minus:logic", "int_mul": "mul.lo.s32 %r0,%r0,%r1; xor.b32 %r0,%r0,%r2; | minus:logic",
    "int_mad": "mad.lo.s32 %r0,%r0,%r1,%r2;", "int_mul_wide": "mul.wide.s32 %l0,%r0,%r1; cvt.u32.u64 %r0,%l0; shr.u64 %l1,%l0,32; cvt.u32.u64 %r3,%l1; xor.b32 %r0,%r0,%r3; | minus:logic",
    "int_mul_hi": "mul.hi.s32 %r0,%r0,%r1; xor.b32 %r0,%r0,%r2; | minus:logic", "int_mul24": "mul24.lo.s32 %r0,%r0,%r1; xor.b32 %r0,%r0,%r2; | minus:logic",
    "int_minmax": "min.s32 %r0,%r0,%r1; xor.b32 %r0,%r0,%r2; | minus:logic", "int_abs": "abs.s32 %r0,%r0; sub.s32 %r0,%r0,%r1; | minus:int_add",
    "int_compare": "setp.lt.s32 %p0,%r0,%r1; selp.b32 %r0,%r2,%r0,%p0; xor.b32 %r0,%r0,%r3; | minus:int_select,logic", "int_select": "selp.b32 %r0,%r0,%r1,%p1; xor.b32 %r0,%r0,%r2; | minus:logic",
    "int_sad": "sad.u32 %r0,%r0,%r1,%r2;", "int_dp4a": "dp4a.s32.s32 %r0,%r0,%r1,%r2;",
    "int_add64": "add.s64 %l0,%l0,%l1; xor.b64 %l0,%l0,%l2; | minus:logic64", "int_mul64": "mul.lo.s64 %l0,%l0,%l1; xor.b64 %l0,%l0,%l2; | minus:logic64",
    "int_mad64": "mad.lo.s64 %l0,%l0,%l1,%l2;", "int_compare64": "setp.lt.s64 %p0,%l0,%l1; selp.b64 %l0,%l2,%l0,%p0; xor.b64 %l0,%l0,%l1; | minus:int_select64,logic64",
    "int_select64": "selp.b64 %l0,%l0,%l1,%p1; xor.b64 %l0,%l0,%l2; | minus:logic64", "int_minmax64": "min.s64 %l0,%l0,%l1; xor.b64 %l0,%l0,%l2; | minus:logic64",
    "int_div_s32": "div.s32 %r0,%r0,%r1; xor.b32 %r1,%r1,%r2; | minus:logic", "int_div_u32": "div.u32 %r0,%r0,%r1; xor.b32 %r1,%r1,%r2; | minus:logic",
    "int_rem_s32": "rem.s32 %r0,%r2,%r0; xor.b32 %r0,%r0,%r1; | minus:logic", "int_rem_u32": "rem.u32 %r0,%r2,%r0; xor.b32 %r0,%r0,%r1; | minus:logic",
    "int_div64": "div.s64 %l0,%l0,%l1; xor.b64 %l1,%l1,%l2; | minus:logic64", "int_rem64": "rem.s64 %l0,%l2,%l0; xor.b64 %l0,%l0,%l1; | minus:logic64",
    "logic": "xor.b32 %r0,%r0,%r1; add.s32 %r0,%r0,%r2; | iadd", "logic64": "xor.b64 %l0,%l0,%l1; add.s64 %l0,%l0,%l2; | iadd64",
    "shift": "shl.b32 %r0,%r0,%r1; xor.b32 %r0,%r0,%r2; | minus:logic", "shift64": "shl.b64 %l0,%l0,%r1; xor.b64 %l0,%l0,%l2; | minus:logic64",
    "funnel_shift": "shf.l.wrap.b32 %r0,%r0,%r1,%r2;", "bit_field": "bfe.u32 %r0,%r0,4,13; xor.b32 %r0,%r0,%r2; | minus:logic", "popc": "popc.b32 %r0,%r0; add.s32 %r0,%r0,%r1; | minus:int_add",
    "clz_bfind": "bfind.u32 %r0,%r0; add.s32 %r0,%r0,%r1; | minus:int_add", "brev": "brev.b32 %r0,%r0; add.s32 %r0,%r0,%r1; | minus:int_add", "permute": "prmt.b32 %r0,%r0,%r1,%r2;",
    "lop3": "lop3.b32 %r0,%r0,%r1,%r2,0x96; add.s32 %r0,%r0,%r2; | minus:int_add",
    "convert_int_int": "cvt.s32.s8 %r0,%r0; xor.b32 %r0,%r0,%r1; | minus:logic", "convert_int_int64": "cvt.s64.s32 %l0,%r0; add.s64 %l0,%l0,%l1; shr.u64 %l2,%l0,32; cvt.u32.u64 %r3,%l2; cvt.u32.u64 %r0,%l0; xor.b32 %r0,%r0,%r3; | minus:int_add64,logic",
    "convert_int_fp32": "cvt.rn.f32.s32 %f0,%r0; mov.b32 %r0,%f0; xor.b32 %r0,%r0,%r1; | minus:logic", "convert_fp32_int": "cvt.rzi.s32.f32 %r0,%f0; xor.b32 %r0,%r0,%r1; mov.b32 %f0,%r0; | minus:logic",
    "convert_fp32_fp16": "cvt.rn.f16.f32 %h0,%f0; cvt.f32.f16 %f0,%h0; add.f32 %f0,%f0,%f1; | half:fp32_add",
    "convert_fp64_any": "cvt.rn.f32.f64 %f0,%d0; cvt.f64.f32 %d0,%f0; add.f64 %d0,%d0,%d1; | half:fp64_add",
    "convert_64_any": "cvt.rn.f32.s64 %f0,%l0; cvt.rzi.s64.f32 %l0,%f0; xor.b64 %l0,%l0,%l1; | half:logic64",
    "convert_fp8": "cvt.rn.satfinite.e4m3x2.f32 %h0,%f0,%f1; cvt.u32.u16 %r0,%h0; mov.b32 %f0,%r0; add.f32 %f0,%f0,%f1; | minus:fp32_add", "convert_fp32_round": "cvt.rni.f32.f32 %f0,%f0; add.f32 %f0,%f0,%f1; | minus:fp32_add",
    "video": "vadd.s32.s32.s32 %r0,%r0.b0,%r1.h1;",
    "branch": "setp.lt.s32 %p0,%r0,%r1; @%p0 bra B{i}; st.volatile.global.u32 [%l3],%r0; B{i}: xor.b32 %r0,%r0,%r2; | branch",
    "vote": "setp.lt.s32 %p0,%r0,%r1; vote.sync.ballot.b32 %r3,%p0,-1; xor.b32 %r0,%r0,%r3; | minus:int_compare,logic", "match": "match.any.sync.b32 %r0,%r0,-1; | lsu", "redux": "redux.sync.add.s32 %r0,%r0,-1; add.s32 %r0,%r0,%r1; | minus:int_add",
}
FRAME = """.version 9.0
.target sm_{arch}
.address_size 64
.visible .entry k(.param .u64 p){{
.reg .f32 %f<8>; .reg .b32 %r<8>; .reg .b64 %l<8>; .reg .f64 %d<8>; .reg .b16 %h<8>; .reg .pred %p<4>;
ld.param.u64 %l3,[p]; cvta.to.global.u64 %l3,%l3; mov.u32 %r7,%tid.x; mul.wide.u32 %l4,%r7,64; add.s64 %l3,%l3,%l4;
ld.global.f32 %f0,[%l3]; ld.global.f32 %f1,[%l3+4096]; ld.global.f32 %f2,[%l3+8192];
ld.global.b32 %r0,[%l3+16384]; ld.global.b32 %r1,[%l3+20480]; ld.global.b32 %r2,[%l3+24576]; ld.global.b32 %r3,[%l3+28672];
ld.global.b64 %l0,[%l3+32768]; ld.global.b64 %l1,[%l3+36864]; ld.global.b64 %l2,[%l3+40960];
ld.global.f64 %d0,[%l3+45056]; ld.global.f64 %d1,[%l3+49152]; ld.global.f64 %d2,[%l3+53248]; ld.global.b16 %h0,[%l3+57344];
setp.gt.f32 %p1,%f1,%f2;
{body}
st.global.f32 [%l3],%f0; st.global.b32 [%l3+4],%r0; st.global.b64 [%l3+8],%l0; st.global.f64 [%l3+16],%d0; st.global.b16 [%l3+24],%h0;
ret; }}
"""


def disassemble(tools, ptx, arch):
    with tempfile.TemporaryDirectory() as folder:
        source, cubin = Path(folder) / "k.ptx", Path(folder) / "k.cubin"
        source.write_text(ptx)
        done = subprocess.run([tools.ptxas, f"-arch=sm_{arch}", source, "-o", cubin], capture_output=True, text=True)
        if done.returncode:
            return None
        return subprocess.run([tools.nvdisasm, "-c", cubin], capture_output=True, text=True, check=True).stdout


def walk(sass):
    """Opcodes on the common path of the kernel: forward conditional branches over a CALL are taken."""
    lines, labels = [], {}
    inside = False
    for line in sass.splitlines():
        if line.startswith(".text.k:"):
            inside = True
        elif inside and re.match(r"\s*\.size\s", line):
            break
        elif inside and (label := re.match(r"(\S+):\s*$", line)):
            labels[label.group(1)] = len(lines)
        elif inside and (code := re.search(r"/\*[0-9a-f]{4,}\*/\s+(?:\{\s*)?(@!?U?P\w+\s+)?([A-Z][A-Z0-9_]*)(\S*)\s*(.*?);", line)):
            lines.append((code.group(1), code.group(2), code.group(3), code.group(4)))
    path, at = [], 0
    while at < len(lines):
        guard, name, suffix, operands = lines[at]
        path.append(name + suffix)
        if name == "EXIT":
            break
        target = re.search(r"`\((\.L_x_\d+)\)", operands)
        if name == "BRA" and target:
            to = labels[target.group(1)]
            skipped = [entry[1] for entry in lines[at + 1:to]] if to > at else []
            if not guard and "!" not in operands and "P" not in operands.split("`")[0]:
                at = to if to > at else len(lines)
                continue
            if "CALL" in skipped:
                at = to
                continue
        at += 1
    return path


def counts(path):
    result = collections.Counter()
    for opcode in path:
        name = opcode.split(".")[0]
        if name in IGNORED:
            continue
        if name not in PIPE_OF:
            result["lsu:" + name] += 1
            continue
        result[PIPE_OF[name]] += 1
    return result


def cost(tools, snippet, arch):
    def body(n):
        return "\n".join(snippet.replace("{i}", str(i)) for i in range(n))
    small, large = (disassemble(tools, FRAME.format(arch=arch, body=body(n)), arch) for n in (4, 20))
    if small is None or large is None:
        return None
    low, high = counts(walk(small)), counts(walk(large))
    return {pipe: (high[pipe] - low[pipe]) / 16 for pipe in set(low) | set(high)}


def measure(tools, arch):
    table, pending = {}, dict(OPS)
    for name, text in pending.items():
        snippet, _, rule = (part.strip() for part in text.partition("|"))
        if rule == "swap":  # min and max in turn, so that ptxas cannot fold the chain
            pair = " ".join([snippet, snippet.replace("min", "max").replace("%f1", "%f2")])
            value = cost(tools, pair, arch)
            table[name] = value and {k: v / 2 for k, v in value.items()}
        else:
            table[name] = cost(tools, snippet, arch)
    base = {"alu": 1.0}
    for name, helper in (("logic", base), ("logic64", None)):
        if helper:
            table[name] = {"alu": 1.0}  # LOP3: one instruction wherever it exists
        else:
            table[name] = {"alu": 2.0}
    resolved = {}

    def resolve(name):
        if name in resolved:
            return resolved[name]
        value, (_, _, rule) = table.get(name), OPS[name].partition("|")
        rule = rule.strip()
        if value is None:
            return None
        value = dict(value)
        helpers = re.match(r"(minus|half):(.*)", rule)
        if helpers:
            for other in helpers.group(2).split(","):
                for pipe, n in (resolve(other) or {}).items():
                    value[pipe] = value.get(pipe, 0) - n
            # ptxas spreads moves and adds over the integer and multiply pipes: a negative rest is moved across.
            for a, b in (("alu", "imad"), ("imad", "alu"), ("alu", "fma"), ("fma", "alu"), ("alu", "uniform"), ("alu", "half"), ("fma", "half")):
                if value.get(a, 0) < 0:
                    value[b] = value.get(b, 0) + value[a]
                    value[a] = 0
            if helpers.group(1) == "half":
                value = {k: v / 2 for k, v in value.items()}
        resolved[name] = {k: max(0.0, v) for k, v in value.items() if abs(v) > 0.02}
        return resolved[name]
    for name in OPS:
        resolve(name)
    return resolved


# Where a chain misleads: (value, why).
STATED = {
    "int_add": ({"alu": 1}, "IADD3; ptxas moves some to IMAD.IADD when the ALU is the busier pipe"),
    "int_add64": ({"alu": 2}, "IADD3 and IADD3.X"),
    "fp32_abs_neg": ({}, "an operand modifier of its consumer"),
    "convert_int_int64": ({"alu": 0.5}, "SHF for the sign, nothing for a zero"),
    "branch": ({"control": 1}, "BRA; the compare is counted as itself"),
    "match": ({"xu": 2}, "MATCH.ANY, 16 lanes a clock assumed"),
    "redux": ({"xu": 1, "uniform": 1}, "REDUX, 16 lanes a clock (Programming Guide, warp reduce)"),
    "move": ({"alu": 0.25}, "prototype: ptxas removes most (static_ranking.md section 2)"),
    "predicate_op": ({}, "folded into its consumer (static_ranking.md section 2)"),
    "fp16_op": ({"half": 1}, "HADD2/HMUL2"), "bf16_op": ({"half": 1}, "HFMA2.BF16"),
    "bf16_fma": ({"half": 1}, "HFMA2.BF16"),
}


def rows(measured):
    yield "// Written by tools/measure_expansion.py: native instructions that ptxas 13.0 emits for one PTX operation, by pipe."
    yield "// FF_EXPANSION(operation, from compute capability, fma, imad, alu, half, xu, fp64, lsu, control, uniform)"
    yield "// A row holds from its capability up to the next row of the operation; the first one for older GPUs too."
    for name in list(OPS) + [extra for extra in STATED if extra not in OPS]:
        if name in STATED:
            yield f"// {name}: {STATED[name][1]}"
        last = None
        for arch in ARCHS:
            value = measured[arch].get(name)
            if value is None:
                continue
            row = ", ".join(f"{round(max(0.0, value.get(pipe, 0)) * 16) / 16:g}" for pipe in ("fma", "imad", "alu", "half", "xu", "fp64", "lsu", "control", "uniform"))
            if row != last:
                yield f"FF_EXPANSION({name}, {arch}, {row})"
            last = row


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ptxas", default="ptxas")
    parser.add_argument("--nvdisasm", default="nvdisasm")
    parser.add_argument("--write")
    parser.add_argument("--dump", nargs=2)
    tools = parser.parse_args()
    if tools.dump:
        snippet = OPS[tools.dump[0]].partition("|")[0]
        print(disassemble(tools, FRAME.format(arch=tools.dump[1], body="\n".join(snippet.replace("{i}", str(i)) for i in range(4))), tools.dump[1]))
        return
    measured = {arch: measure(tools, arch) for arch in ARCHS}
    for arch in ARCHS:
        measured[arch].update({name: dict(value) for name, (value, _) in STATED.items()})
        quotient = measured[arch]["int_div_u32"]
        for name in ("int_div64", "int_rem64"):
            measured[arch][name] = {**quotient, "alu": quotient.get("alu", 0) + 4, "control": 3}
    text = "\n".join(rows(measured)) + "\n"
    if tools.write:
        Path(tools.write).write_text(text)
    else:
        print(text, end="")


if __name__ == "__main__":
    sys.exit(main())
