#!/usr/bin/env python3
"""Writes tests/data/ptx_semantics.tsv: what single PTX instructions compute, worked out from the text of the PTX ISA
(section 9.7) with Python's unbounded integers and exact fractions. It shares no code with the evaluator, which must agree
row by row (tests/unit/evaluator_table.cpp).

Rows: class of the result register, expected bits in hex, statements that leave the result in it.
`--ptx FILE` also writes the rows as a kernel that stores every result, for a compiler that folds constants.
"""
import itertools
import math
import random
import struct
import sys
from fractions import Fraction

random.seed(20)
ROWS = []
REGISTER = {"r": "%r0", "h": "%rs0", "d": "%rd0", "f": "%f0", "g": "%fd0", "p": "%p0"}
MOVE = {"r": ("mov.b32", "%r{}", 32), "h": ("mov.b16", "%rs{}", 16), "d": ("mov.b64", "%rd{}", 64),
        "f": ("mov.b32", "%f{}", 32), "g": ("mov.b64", "%fd{}", 64)}


def row(result, expected, text, *operands):
    """operands: (class, value) in the order of {0}, {1}, ... of text; {d} is the result."""
    names, lines = [], []
    for k, (kind, value) in enumerate(operands):
        if kind == "p":
            names.append(f"%p{k + 1}")
            lines.append(f"setp.eq.u32 %p{k + 1}, 1, {1 if value else 2};")
            continue
        move, name, bits = MOVE[kind]
        names.append(name.format(k + 1))
        lines.append(f"{move} {names[-1]}, 0x{value & ((1 << bits) - 1):x};" if kind not in "fg" else
                     f"{'mov.f32' if kind == 'f' else 'mov.f64'} {names[-1]}, {'0f' if kind == 'f' else '0d'}{value:0{bits // 4}x};")
    lines.append(text.format(*names, d=REGISTER[result]) + ";")
    ROWS.append((result, expected, " ".join(lines)))


def mask(bits):
    return (1 << bits) - 1


def signed(v, bits):
    v &= mask(bits)
    return v - (1 << bits) if v >> (bits - 1) else v


def number(v, type_):
    bits = int(type_[1:])
    return signed(v, bits) if type_[0] == "s" else v & mask(bits)


def clamp(v, type_):
    bits = int(type_[1:])
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if type_[0] == "s" else (0, mask(bits))
    return max(low, min(high, v))


CLASS = {16: "h", 32: "r", 64: "d"}


def of_type(type_):
    return {"f32": "f", "f64": "g"}.get(type_) or CLASS[int(type_[1:])]


EDGES = {16: [0, 1, 0xffff, 0x7fff, 0x8000, 0x1234], 32: [0, 1, 0xffffffff, 0x7fffffff, 0x80000000, 0x12345678, 0xdeadbeef],
         64: [0, 1, mask(64), mask(63), 1 << 63, 0x123456789abcdef0, 0xfedcba9876543210]}


def pick(bits, count):
    return [tuple(random.choice(EDGES[b] + [random.getrandbits(b)]) for b in bits) for _ in range(count)]


# --- integers ------------------------------------------------------------------------------------------------------
def trunc_div(a, b):
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q


def integers():
    two = {"add": lambda a, b: a + b, "sub": lambda a, b: a - b, "min": min, "max": max, "mul.lo": lambda a, b: a * b}
    for type_ in ("u16", "s16", "u32", "s32", "u64", "s64"):
        bits = int(type_[1:])
        c = CLASS[bits]
        for name, f in two.items():
            for a, b in pick((bits, bits), 3):
                row(c, f(number(a, type_), number(b, type_)) & mask(bits), f"{name}.{type_} {{d}}, {{0}}, {{1}}", (c, a), (c, b))
        for a, b in pick((bits, bits), 3):
            row(c, ((number(a, type_) * number(b, type_)) >> bits) & mask(bits), f"mul.hi.{type_} {{d}}, {{0}}, {{1}}", (c, a), (c, b))
        for a, b, e in pick((bits, bits, bits), 2):
            row(c, (number(a, type_) * number(b, type_) + e) & mask(bits), f"mad.lo.{type_} {{d}}, {{0}}, {{1}}, {{2}}", (c, a), (c, b), (c, e))
            row(c, (((number(a, type_) * number(b, type_)) >> bits) + e) & mask(bits), f"mad.hi.{type_} {{d}}, {{0}}, {{1}}, {{2}}", (c, a), (c, b), (c, e))
            row(c, (e + abs(number(a, type_) - number(b, type_))) & mask(bits), f"sad.{type_} {{d}}, {{0}}, {{1}}, {{2}}", (c, a), (c, b), (c, e))
        for a, b in pick((bits, bits), 4):
            if b == 0 or (type_[0] == "s" and signed(b, bits) == -1 and a == 1 << (bits - 1)):
                b = 7
            x, y = number(a, type_), number(b, type_)
            row(c, trunc_div(x, y) & mask(bits), f"div.{type_} {{d}}, {{0}}, {{1}}", (c, a), (c, b))
            row(c, (x - trunc_div(x, y) * y) & mask(bits), f"rem.{type_} {{d}}, {{0}}, {{1}}", (c, a), (c, b))
        if bits < 64:
            wide = type_[0] + str(2 * bits)
            w = CLASS[2 * bits]
            for a, b, e in pick((bits, bits, 2 * bits), 2):
                p = number(a, type_) * number(b, type_)
                row(w, p & mask(2 * bits), f"mul.wide.{type_} {{d}}, {{0}}, {{1}}", (c, a), (c, b))
                row(w, (p + number(e, wide)) & mask(2 * bits), f"mad.wide.{type_} {{d}}, {{0}}, {{1}}, {{2}}", (c, a), (c, b), (w, e))
        if type_[0] == "s":
            for (a,) in pick((bits,), 3):
                row(c, abs(signed(a, bits)) & mask(bits), f"abs.{type_} {{d}}, {{0}}", (c, a))
                row(c, -signed(a, bits) & mask(bits), f"neg.{type_} {{d}}, {{0}}", (c, a))
    for a, b in pick((32, 32), 6):
        row("r", clamp(signed(a, 32) + signed(b, 32), "s32") & mask(32), "add.sat.s32 {d}, {0}, {1}", ("r", a), ("r", b))
        row("r", clamp(signed(a, 32) - signed(b, 32), "s32") & mask(32), "sub.sat.s32 {d}, {0}, {1}", ("r", a), ("r", b))
    for a, b, c in pick((32, 32, 32), 6):
        high = (signed(a, 32) * signed(b, 32)) >> 32
        row("r", clamp(high + signed(c, 32), "s32") & mask(32), "mad.hi.sat.s32 {d}, {0}, {1}, {2}", ("r", a), ("r", b), ("r", c))
    for t in ("u32", "s32"):
        for a, b, c in pick((32, 32, 32), 4):
            a24, b24 = number(a, t[0] + "24"), number(b, t[0] + "24")
            p = a24 * b24
            row("r", p & mask(32), f"mul24.lo.{t} {{d}}, {{0}}, {{1}}", ("r", a), ("r", b))
            row("r", (p >> 16) & mask(32), f"mul24.hi.{t} {{d}}, {{0}}, {{1}}", ("r", a), ("r", b))
            row("r", (p + c) & mask(32), f"mad24.lo.{t} {{d}}, {{0}}, {{1}}, {{2}}", ("r", a), ("r", b), ("r", c))
            row("r", ((p >> 16) + c) & mask(32), f"mad24.hi.{t} {{d}}, {{0}}, {{1}}, {{2}}", ("r", a), ("r", b), ("r", c))
            if t == "s32":
                row("r", clamp((p >> 16) + signed(c, 32), "s32") & mask(32), "mad24.hi.sat.s32 {d}, {0}, {1}, {2}", ("r", a), ("r", b), ("r", c))
    for a, b in pick((32, 32), 4):
        row("r", max(0, min(signed(a, 32), signed(b, 32))), "min.relu.s32 {d}, {0}, {1}", ("r", a), ("r", b))
        row("r", max(0, max(signed(a, 32), signed(b, 32))), "max.relu.s32 {d}, {0}, {1}", ("r", a), ("r", b))
        halves = lambda f, t: sum((f(number(a >> s, t), number(b >> s, t)) & 0xffff) << s for s in (0, 16))
        row("r", halves(lambda x, y: x + y, "u16"), "add.u16x2 {d}, {0}, {1}", ("r", a), ("r", b))
        row("r", halves(min, "s16"), "min.s16x2 {d}, {0}, {1}", ("r", a), ("r", b))
        row("r", halves(max, "u16"), "max.u16x2 {d}, {0}, {1}", ("r", a), ("r", b))
        row("r", halves(lambda x, y: max(0, min(x, y)), "s16"), "min.relu.s16x2 {d}, {0}, {1}", ("r", a), ("r", b))


def carries():
    for a, b, c, d in pick((32, 32, 32, 32), 4):
        lo, hi = a + b, c + d
        row("d", ((hi + (lo >> 32)) & mask(32)) << 32 | lo & mask(32),
            "add.cc.u32 %r5, {0}, {1}; addc.u32 %r6, {2}, {3}; mov.b64 {d}, {{%r5, %r6}}", ("r", a), ("r", b), ("r", c), ("r", d))
        borrow = 1 if a < b else 0
        row("d", ((c - d - borrow) & mask(32)) << 32 | (a - b) & mask(32),
            "sub.cc.u32 %r5, {0}, {1}; subc.u32 %r6, {2}, {3}; mov.b64 {d}, {{%r5, %r6}}", ("r", a), ("r", b), ("r", c), ("r", d))
        low = (a * b & mask(32)) + c
        row("d", (((a * b >> 32) + d + (low >> 32)) & mask(32)) << 32 | low & mask(32),
            "mad.lo.cc.u32 %r5, {0}, {1}, {2}; madc.hi.u32 %r6, {0}, {1}, {3}; mov.b64 {d}, {{%r5, %r6}}", ("r", a), ("r", b), ("r", c), ("r", d))
        first = a + b
        second = c + d + (first >> 32)
        row("r", (a + (second >> 32)) & mask(32), "add.cc.u32 %r5, {0}, {1}; addc.cc.u32 %r6, {2}, {3}; addc.u32 {d}, {0}, 0",
            ("r", a), ("r", b), ("r", c), ("r", d))
    for a, b in pick((64, 64), 3):
        row("r", (a + b) >> 64, "add.cc.u64 %rd5, {0}, {1}; addc.u32 {d}, 0, 0", ("d", a), ("d", b))


def logic():
    for bits in (16, 32, 64):
        c = CLASS[bits]
        for a, b in pick((bits, bits), 2):
            row(c, a & b, f"and.b{bits} {{d}}, {{0}}, {{1}}", (c, a), (c, b))
            row(c, a | b, f"or.b{bits} {{d}}, {{0}}, {{1}}", (c, a), (c, b))
            row(c, a ^ b, f"xor.b{bits} {{d}}, {{0}}, {{1}}", (c, a), (c, b))
            row(c, ~a & mask(bits), f"not.b{bits} {{d}}, {{0}}", (c, a))
            row(c, int(a == 0), f"cnot.b{bits} {{d}}, {{0}}", (c, a))
        row(c, 1, f"cnot.b{bits} {{d}}, {{0}}", (c, 0))
        for a, s in [(random.getrandbits(bits), s) for s in (0, 1, bits - 1, bits, bits + 9, 0xffffffff)]:
            row(c, (a << s) & mask(bits) if s < bits else 0, f"shl.b{bits} {{d}}, {{0}}, {{1}}", (c, a), ("r", s))
            row(c, a >> s if s < bits else 0, f"shr.u{bits} {{d}}, {{0}}, {{1}}", (c, a), ("r", s))
            row(c, (signed(a, bits) >> min(s, bits - 1)) & mask(bits), f"shr.s{bits} {{d}}, {{0}}, {{1}}", (c, a), ("r", s))
    for p, q in itertools.product((0, 1), repeat=2):
        row("p", p & q, "and.pred {d}, {0}, {1}", ("p", p), ("p", q))
        row("p", p | q, "or.pred {d}, {0}, {1}", ("p", p), ("p", q))
        row("p", p ^ q, "xor.pred {d}, {0}, {1}", ("p", p), ("p", q))
        row("p", 1 - p, "not.pred {d}, {0}", ("p", p))
    for lut in (0x00, 0x96, 0xe8, 0xca, 0xf8, 0x80, 0x1e, 0xff, 0x6a):
        a, b, c = (random.getrandbits(32) for _ in range(3))
        r = sum(((lut >> (((a >> k & 1) << 2) | ((b >> k & 1) << 1) | (c >> k & 1))) & 1) << k for k in range(32))
        row("r", r, f"lop3.b32 {{d}}, {{0}}, {{1}}, {{2}}, 0x{lut:x}", ("r", a), ("r", b), ("r", c))
        for q in (0, 1):
            row("p", int(r != 0) | q, f"lop3.or.b32 %r7|{{d}}, {{0}}, {{1}}, {{2}}, 0x{lut:x}, {{3}}", ("r", a), ("r", b), ("r", c), ("p", q))
            row("p", int(r != 0) & q, f"lop3.and.b32 %r7|{{d}}, {{0}}, {{1}}, {{2}}, 0x{lut:x}, {{3}}", ("r", a), ("r", b), ("r", c), ("p", q))
    for s in (0, 1, 8, 31, 32, 33, 63, 64, 255):
        a, b = random.getrandbits(32), random.getrandbits(32)
        for mode in ("wrap", "clamp"):
            n = s & 31 if mode == "wrap" else min(s, 32)
            both = b << 32 | a
            row("r", (both << n) >> 32 & mask(32), f"shf.l.{mode}.b32 {{d}}, {{0}}, {{1}}, {{2}}", ("r", a), ("r", b), ("r", s))
            row("r", both >> n & mask(32), f"shf.r.{mode}.b32 {{d}}, {{0}}, {{1}}, {{2}}", ("r", a), ("r", b), ("r", s))


def prmt_byte(a, b, k):
    return (b << 32 | a) >> 8 * k & 0xff


def bits_and_fields():
    for bits in (32, 64):
        c = CLASS[bits]
        for a in (0, 1, mask(bits), 1 << (bits - 1), random.getrandbits(bits), random.getrandbits(bits) >> 9):
            row("r", bin(a).count("1"), f"popc.b{bits} {{d}}, {{0}}", (c, a))
            row("r", bits - a.bit_length(), f"clz.b{bits} {{d}}, {{0}}", (c, a))
            row(c, int(f"{a:0{bits}b}"[::-1], 2), f"brev.b{bits} {{d}}, {{0}}", (c, a))
            for s in "us":
                v = a if s == "u" or not a >> (bits - 1) else ~a & mask(bits)
                found = v.bit_length() - 1
                row("r", found & mask(32), f"bfind.{s}{bits} {{d}}, {{0}}", (c, a))
                row("r", (bits - 1 - found if found >= 0 else -1) & mask(32), f"bfind.shiftamt.{s}{bits} {{d}}, {{0}}", (c, a))
        for pos, length in ((0, 0), (0, bits), (3, 7), (bits - 4, 9), (bits, 3), (255, 255), (5, 1), (0, 255), (bits - 1, 1)):
            a, b = random.getrandbits(bits) | 1 << (bits - 1), random.getrandbits(bits)
            for s in "us":
                # PTX ISA 9.7.1.20: the sign bit is that of the field's last bit that is in the register.
                top = bits - 1
                sbit = 0 if s == "u" or length == 0 else a >> min(pos + length - 1, top) & 1
                r = 0
                for i in range(bits):
                    r |= (a >> (pos + i) & 1 if i < length and pos + i <= top else sbit) << i
                row(c, r, f"bfe.{s}{bits} {{d}}, {{0}}, {{1}}, {{2}}", (c, a), ("r", pos), ("r", length))
            r = b
            for i in range(length):
                if pos + i < bits:
                    r = r & ~(1 << (pos + i)) | (a >> i & 1) << (pos + i)
            row(c, r, f"bfi.b{bits} {{d}}, {{0}}, {{1}}, {{2}}, {{3}}", (c, a), (c, b), ("r", pos), ("r", length))
    for mode in ("wrap", "clamp"):
        for n in (0, 1, 5, 31, 32, 40, 64):
            a = random.getrandbits(32)
            w = n & 31 if mode == "wrap" else min(n, 32)
            row("r", a & mask(w), f"szext.{mode}.u32 {{d}}, {{0}}, {{1}}", ("r", a), ("r", n))
            row("r", signed(a, w) & mask(32) if w else 0, f"szext.{mode}.s32 {{d}}, {{0}}, {{1}}", ("r", a), ("r", n))
        for pos, n in ((0, 0), (3, 5), (0, 32), (31, 4), (32, 2), (33, 33), (8, 24)):
            p, w = (pos & 31, n & 31) if mode == "wrap" else (min(pos, 32), min(n, 32))
            row("r", (mask(w) << p) & mask(32), f"bmsk.{mode}.b32 {{d}}, {{0}}, {{1}}", ("r", pos), ("r", n))
    for m, base, offset in ((0xf0f0, 0, 3), (0xf0f0, 31, -2), (0xf0f0, 4, 0), (0xf0f0, 3, 0), (0, 5, 1), (0xffffffff, 7, 5), (0x80000001, 0, 2)):
        if offset == 0:
            r = base if m >> base & 1 else mask(32)
        else:
            r, count, p = mask(32), abs(offset) - 1, base
            while 0 <= p < 32:
                if m >> p & 1:
                    if count == 0:
                        r = p
                        break
                    count -= 1
                p += 1 if offset > 0 else -1
        row("r", r, "fns.b32 {d}, {0}, {1}, {2}", ("r", m), ("r", base), ("r", offset))
    for _ in range(8):
        a, b, s = (random.getrandbits(32) for _ in range(3))
        r = 0
        for k in range(4):
            n = s >> 4 * k & 15
            v = prmt_byte(a, b, n & 7)
            r |= ((0xff if v & 0x80 else 0) if n & 8 else v) << 8 * k
        row("r", r, "prmt.b32 {d}, {0}, {1}, {2}", ("r", a), ("r", b), ("r", s))
    table = {  # PTX ISA 9.7.9.7, bytes d.b3 d.b2 d.b1 d.b0 by c[1:0]
        "f4e": ["3210", "4321", "5432", "6543"], "b4e": ["5670", "6701", "7012", "0123"], "rc8": ["0000", "1111", "2222", "3333"],
        "ecl": ["3210", "3211", "3222", "3333"], "ecr": ["0000", "1110", "2210", "3210"], "rc16": ["1010", "3232", "1010", "3232"]}
    for mode, entries in table.items():
        for c, order in enumerate(entries):
            a, b = random.getrandbits(32), random.getrandbits(32)
            r = sum(prmt_byte(a, b, int(order[3 - k])) << 8 * k for k in range(4))
            row("r", r, f"prmt.b32.{mode} {{d}}, {{0}}, {{1}}, {{2}}", ("r", a), ("r", b), ("r", c + 4))
    for ta, tb in itertools.product(("u32", "s32"), repeat=2):
        for _ in range(2):
            a, b, c = (random.getrandbits(32) for _ in range(3))
            r = c + sum(number(a >> 8 * k, ta[0] + "8") * number(b >> 8 * k, tb[0] + "8") for k in range(4))
            row("r", r & mask(32), f"dp4a.{ta}.{tb} {{d}}, {{0}}, {{1}}, {{2}}", ("r", a), ("r", b), ("r", c))
            for half in ("lo", "hi"):
                shift = 16 if half == "hi" else 0
                r = c + sum(number(a >> 16 * k, ta[0] + "16") * number(b >> 8 * k + shift, tb[0] + "8") for k in range(2))
                row("r", r & mask(32), f"dp2a.{half}.{ta}.{tb} {{d}}, {{0}}, {{1}}, {{2}}", ("r", a), ("r", b), ("r", c))


# --- floats: exact fractions, rounded by hand ----------------------------------------------------------------------
FORMATS = {"f16": (5, 10), "bf16": (8, 7), "f32": (8, 23), "f64": (11, 52), "tf32": (8, 10)}
INF, NAN = "inf", "nan"


def decode(bits, fmt):
    """(sign, Fraction | INF | NAN)"""
    e, m = FORMATS[fmt]
    sign, exponent, fraction = bits >> (e + m) & 1, bits >> m & mask(e), bits & mask(m)
    if exponent == mask(e):
        return sign, NAN if fraction else INF
    bias = (1 << (e - 1)) - 1
    if exponent == 0:
        return sign, Fraction(fraction, 1) * Fraction(2) ** (1 - bias - m)
    return sign, (Fraction(fraction, 1) / (1 << m) + 1) * Fraction(2) ** (exponent - bias)


def quiet(fmt):
    return {"f16": 0x7fff, "bf16": 0x7fff, "f32": 0x7fffffff, "f64": mask(63), "tf32": mask(18)}[fmt]


def encode(sign, value, fmt, rounding="rn", inexact_up=0):
    """Magnitude `value` (a Fraction; `inexact_up` 1 when the true one is a little larger) as bits."""
    e, m = FORMATS[fmt]
    if value == NAN:
        return quiet(fmt)
    top = mask(e) << m
    if value == INF:
        return sign << (e + m) | top
    bias = (1 << (e - 1)) - 1
    if value == 0 and not inexact_up:
        return sign << (e + m)
    exponent = max(1 - bias, math.floor(math.log2(value)) if value else 1 - bias)
    while value >= Fraction(2) ** (exponent + 1):
        exponent += 1
    while exponent > 1 - bias and value < Fraction(2) ** exponent:
        exponent -= 1
    scaled = value / Fraction(2) ** (exponent - m)
    whole = scaled.numerator // scaled.denominator
    rest = scaled - whole
    exact = rest == 0 and not inexact_up
    half = Fraction(1, 2)
    up = {"rn": rest > half or rest == half and (inexact_up or whole & 1), "rna": rest >= half,
          "rz": False, "rm": bool(sign) and not exact, "rp": not sign and not exact}[rounding]
    whole += bool(up)
    if whole >= 2 << m:
        whole >>= 1
        exponent += 1
    if exponent > bias:
        away = rounding in ("rn", "rna") or rounding == "rm" and sign or rounding == "rp" and not sign
        return sign << (e + m) | (top if away else top - 1)
    if whole < 1 << m:
        return sign << (e + m) | whole
    return sign << (e + m) | (exponent + bias) << m | (whole - (1 << m))


def flush(bits, fmt):
    e, m = FORMATS[fmt]
    return bits & (1 << (e + m)) if not bits >> m & mask(e) else bits


def real(bits, fmt):
    s, v = decode(bits, fmt)
    return v if v == NAN else (-1 if s else 1) * math.inf if v == INF else -v if s else v


def put(value, fmt, rounding, zero_sign=0):
    if value == NAN:
        return quiet(fmt)
    if isinstance(value, float) and math.isinf(value):
        return encode(int(value < 0), INF, fmt)
    return encode(int(value < 0) if value else zero_sign, abs(value), fmt, rounding)


def f_op(name, bits, fmt, rounding):
    e, m = FORMATS[fmt]
    sign = [b >> (e + m) & 1 for b in bits]
    v = [real(b, fmt) for b in bits]
    if NAN in v:
        return quiet(fmt)
    if name == "sub":
        sign[1] ^= 1
        v[1] = -v[1]
        name = "add"
    infinite = [isinstance(x, float) for x in v]
    if name == "add":
        if any(infinite):
            signs = {x for x, i in zip(v, infinite) if i}
            return quiet(fmt) if len(signs) == 2 else put(signs.pop(), fmt, rounding)
        zero = sign[0] if sign[0] == sign[1] else int(rounding == "rm")
        return put(v[0] + v[1], fmt, rounding, zero)
    product_sign = sign[0] ^ sign[1] if len(sign) > 1 else 0
    if name in ("mul", "fma"):
        if any(infinite[:2]):
            if v[0] == 0 or v[1] == 0:
                return quiet(fmt)
            p = -math.inf if product_sign else math.inf
        else:
            p = v[0] * v[1]
        if name == "mul":
            return put(p, fmt, rounding, product_sign)
        if isinstance(p, float) or infinite[2]:
            if isinstance(p, float) and infinite[2] and p != v[2]:
                return quiet(fmt)
            return put(p if isinstance(p, float) else v[2], fmt, rounding)
        zero = product_sign if p == 0 and v[2] == 0 and product_sign == sign[2] else int(rounding == "rm")
        return put(p + v[2], fmt, rounding, zero)
    if name == "div":
        if infinite[0] and infinite[1] or v[0] == 0 and v[1] == 0:
            return quiet(fmt)
        if infinite[0] or v[1] == 0 and not infinite[1]:
            return encode(product_sign, INF, fmt)
        return put(Fraction(0) if infinite[1] else v[0] / v[1], fmt, rounding, product_sign)
    if name == "rcp":
        if v[0] == 0:
            return encode(sign[0], INF, fmt)
        return put(Fraction(0) if infinite[0] else 1 / v[0], fmt, rounding, sign[0])
    assert name == "sqrt"
    if v[0] == 0:
        return bits[0]
    if sign[0]:
        return quiet(fmt)
    if infinite[0]:
        return bits[0]
    shift = 400
    n = (v[0] * (1 << 2 * shift))
    whole = n.numerator // n.denominator
    root = math.isqrt(whole)
    return encode(0, Fraction(root, 1 << shift), fmt, rounding, 0 if root * root == n else 1)


F_EDGES = {"f32": [0, 0x80000000, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000, 0x7fc00000, 1, 0x807fffff, 0x7f7fffff, 0x4b000001, 0x3eaaaaab, 0x42f6e979],
           "f64": [0, 1 << 63, 0x3ff0000000000000, 0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000, 1, 0x7fefffffffffffff, 0x4330000000000001,
                   0x3fd5555555555555, 0xc05edd2f1a9fbe77]}


def f_random(fmt, count, n):
    bits = sum(FORMATS[fmt]) + 1
    near = lambda: struct.unpack("<I", struct.pack("<f", random.uniform(-9, 9)))[0] if fmt == "f32" else struct.unpack("<Q", struct.pack("<d", random.uniform(-9, 9)))[0]
    return [tuple(random.choice(F_EDGES[fmt] + [near()] * 8 + [random.getrandbits(bits)]) for _ in range(n)) for _ in range(count)]


def floats():
    for fmt, c in (("f32", "f"), ("f64", "g")):
        for rounding in ("rn", "rz", "rm", "rp"):
            for name, n in (("add", 2), ("sub", 2), ("mul", 2), ("fma", 3), ("div", 2), ("rcp", 1), ("sqrt", 1)):
                for ops in f_random(fmt, 3, n):
                    args = ", ".join("{%d}" % k for k in range(n))
                    row(c, f_op(name, ops, fmt, rounding), f"{name}.{rounding}.{fmt} {{d}}, {args}", *[(c, b) for b in ops])
        e, m = FORMATS[fmt]
        for a, b in f_random(fmt, 6, 2):
            va, vb = real(a, fmt), real(b, fmt)
            for name in ("min", "max"):
                if va == NAN or vb == NAN:
                    r = quiet(fmt) if va == vb == NAN else b if va == NAN else a
                elif va == vb:
                    r = (a | b if name == "min" else a & b) if va == 0 else a     # -0 < +0
                else:
                    r = a if (va < vb) == (name == "min") else b
                row(c, r, f"{name}.{fmt} {{d}}, {{0}}, {{1}}", (c, a), (c, b))
                if fmt == "f32":
                    row(c, quiet(fmt) if NAN in (va, vb) else r, f"{name}.NaN.f32 {{d}}, {{0}}, {{1}}", (c, a), (c, b))
            row(c, (b & mask(e + m)) | (a & (1 << (e + m))), f"copysign.{fmt} {{d}}, {{0}}, {{1}}", (c, a), (c, b))
            for test, want in (("finite", va != NAN and not isinstance(va, float)), ("infinite", isinstance(va, float)), ("number", va != NAN),
                               ("notanumber", va == NAN), ("normal", va != NAN and not isinstance(va, float) and (va == 0 or a >> m & mask(e) != 0)),
                               ("subnormal", va != NAN and va != 0 and a >> m & mask(e) == 0)):
                row("p", int(want), f"testp.{test}.{fmt} {{d}}, {{0}}", (c, a))
    for a, b in f_random("f32", 10, 2):
        x, y = flush(a, "f32"), flush(b, "f32")
        row("f", flush(f_op("add", (x, y), "f32", "rn"), "f32"), "add.ftz.f32 {d}, {0}, {1}", ("f", a), ("f", b))
        row("f", flush(f_op("mul", (x, y), "f32", "rz"), "f32"), "mul.rz.ftz.f32 {d}, {0}, {1}", ("f", a), ("f", b))
        exact = f_op("mul", (a, b), "f32", "rn")
        v = real(exact, "f32")
        row("f", 0 if v == NAN or v <= 0 else 0x3f800000 if v >= 1 else exact, "mul.sat.f32 {d}, {0}, {1}", ("f", a), ("f", b))
        if real(a, "f32") != NAN:
            row("f", a & 0x7fffffff, "abs.f32 {d}, {0}", ("f", a))
            row("f", a ^ 0x80000000, "neg.f32 {d}, {0}", ("f", a))


def to_int(value, type_, how, wide_source):
    bits = int(type_[1:])
    if value == NAN:
        return 1 << (bits - 1) if wide_source or bits == 64 else 0
    if isinstance(value, float):
        return clamp(10 ** 30 if value > 0 else -10 ** 30, type_) & mask(bits)
    floor = value.numerator // value.denominator
    rest = value - floor
    n = {"rni": floor + (1 if rest > Fraction(1, 2) or rest == Fraction(1, 2) and floor & 1 else 0), "rmi": floor, "rpi": floor + (rest != 0),
         "rzi": floor if value >= 0 else floor + (rest != 0)}[how]
    return clamp(n, type_) & mask(bits)


def conversions():
    ints = ("u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64")
    for to, source in itertools.product(ints, repeat=2):
        # Registers may be wider than the type: 8-bit values live in 16-bit registers.
        cs, ct = CLASS[max(16, int(source[1:]))], CLASS[max(16, int(to[1:]))]
        for (v,) in pick((max(16, int(source[1:])),), 2):
            n = number(v, source)
            width = max(16, int(to[1:]))
            span = lambda t: (-(1 << int(t[1:]) - 1), mask(int(t[1:]) - 1)) if t[0] == "s" else (0, mask(int(t[1:])))
            inside = span(to)[0] <= span(source)[0] and span(source)[1] <= span(to)[1]    # ptxas refuses .sat there
            for sat in ("",) if inside else ("", ".sat"):
                r = clamp(n, to) if sat else number(n, to)
                row(ct, r & mask(width), f"cvt{sat}.{to}.{source} {{d}}, {{0}}", (cs, v))
    for fmt, c in (("f32", "f"), ("f64", "g")):
        for source in ints[2:]:
            cs = CLASS[int(source[1:])]
            for rounding in ("rn", "rz", "rm", "rp"):
                for (v,) in pick((int(source[1:]),), 2):
                    n = Fraction(number(v, source))
                    row(c, put(n, fmt, rounding), f"cvt.{rounding}.{fmt}.{source} {{d}}, {{0}}", (cs, v))
        some = {"f32": [0x3fc00000, 0x40200000, 0xbfc00000, 0xc0200000, 0x4f800000, 0xcf000001, 0x7fc00000, 0x7f800000, 0xff800000, 0x3f000000, 0x5f000000],
                "f64": [0x3ff8000000000000, 0x4004000000000000, 0xbff8000000000000, 0xc1e0000000200000, 0x7ff8000000000000, 0x7ff0000000000000, 0x43e0000000000000]}[fmt]
        for to in ints[2:]:
            for how in ("rni", "rzi", "rmi", "rpi"):
                for v in random.sample(some, 4):
                    row(CLASS[int(to[1:])], to_int(real(v, fmt), to, how, fmt == "f64"), f"cvt.{how}.{to}.{fmt} {{d}}, {{0}}", (c, v))
        for how in ("rni", "rzi", "rmi", "rpi"):
            for (v,) in f_random(fmt, 3, 1):
                x = real(v, fmt)
                if x == NAN or isinstance(x, float):
                    continue
                e, m = FORMATS[fmt]
                n = to_int(x, "s20000", how, False)
                row(c, put(Fraction(signed(n, 20000)), fmt, "rn", v >> (e + m)), f"cvt.{how}.{fmt}.{fmt} {{d}}, {{0}}", (c, v))
    for (v,) in f_random("f32", 6, 1):
        if real(v, "f32") != NAN:
            row("g", put(real(v, "f32"), "f64", "rn", v >> 31), "cvt.f64.f32 {d}, {0}", ("f", v))
    narrow_edges = {"f16": [0x477fe000, 0x477ff000, 0x38800000, 0x33800000, 0x33000000, 0xb3000001], "bf16": [0x3f808000, 0x3f818000, 0x7f7fffff, 0x00008000]}
    for rounding in ("rn", "rz", "rm", "rp"):
        for (v,) in f_random("f64", 5, 1):
            row("f", put(real(v, "f64"), "f32", rounding, v >> 63), f"cvt.{rounding}.f32.f64 {{d}}, {{0}}", ("g", v))
    for to in ("f16", "bf16"):
        for rounding in ("rn", "rz"):
            for v in narrow_edges[to] + [x for (x,) in f_random("f32", 4, 1)]:
                row("h", put(real(v, "f32"), to, rounding, v >> 31), f"cvt.{rounding}.{to}.f32 {{d}}, {{0}}", ("f", v))
                r = put(real(v, "f32"), to, rounding, v >> 31)
                row("h", 0 if r >> 15 and r & 0x7fff != 0x7fff else r, f"cvt.{rounding}.relu.{to}.f32 {{d}}, {{0}}", ("f", v))
        for v in (0, 0x8000, 0x3c00, 0x3555, 0x0001, 0x83ff, 0xfbff, 0x3f80, 0xc2f7):
            x = real(v, to)
            if x != NAN:
                row("f", put(x, "f32", "rn", v >> 15), f"cvt.f32.{to} {{d}}, {{0}}", ("h", v))
    for v in (0, 0x3c00, 0xc500, 0x3e00, 0x4100, 0x7bff, 0xfc00):
        for how in ("rni", "rzi", "rmi", "rpi"):
            row("r", to_int(real(v, "f16"), "s32", how, False), f"cvt.{how}.s32.f16 {{d}}, {{0}}", ("h", v))
    for v in (0, 1, 2049, 65519, 65520, 0xffff):
        row("h", put(Fraction(v), "f16", "rn"), "cvt.rn.f16.u32 {d}, {0}", ("r", v))
    for a, b in f_random("f32", 4, 2):
        for to in ("f16", "bf16"):
            hi, lo = (put(real(x, "f32"), to, "rn", x >> 31) for x in (a, b))
            row("r", hi << 16 | lo, f"cvt.rn.{to}x2.f32 {{d}}, {{0}}, {{1}}", ("f", a), ("f", b))
    for v in (0x3f800fff, 0x3f801000, 0x3f803000, 0xbf801001, 0x40490fdb):
        row("r", put(real(v, "f32"), "tf32", "rna", v >> 31) << 13, "cvt.rna.tf32.f32 {d}, {0}", ("f", v))
    for (v,) in f_random("f32", 5, 1):
        x = real(v, "f32")
        row("f", 0 if x == NAN or x <= 0 else 0x3f800000 if x >= 1 else v, "cvt.sat.f32.f32 {d}, {0}", ("f", v))


def compares():
    int_ops = {"eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b, "le": lambda a, b: a <= b, "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b}
    for type_ in ("u16", "s16", "u32", "s32", "u64", "s64"):
        c = CLASS[int(type_[1:])]
        for name, f in int_ops.items():
            for a, b in pick((int(type_[1:]),) * 2, 1):
                row("p", int(f(number(a, type_), number(b, type_))), f"setp.{name}.{type_} {{d}}, {{0}}, {{1}}", (c, a), (c, b))
    for name, base in (("lo", "lt"), ("ls", "le"), ("hi", "gt"), ("hs", "ge")):
        for a, b in pick((32, 32), 2):
            row("p", int(int_ops[base](a, b)), f"setp.{name}.u32 {{d}}, {{0}}, {{1}}", ("r", a), ("r", b))
    for boolean, f in (("and", lambda t, c: t and c), ("or", lambda t, c: t or c), ("xor", lambda t, c: t != c)):
        for a, b, q in itertools.product((3, 9), (5,), (0, 1)):
            t = a < b
            row("p", int(f(t, bool(q))), f"setp.lt.{boolean}.s32 {{d}}, {{0}}, {{1}}, {{2}}", ("r", a), ("r", b), ("p", q))
            row("p", int(f(not t, bool(q))), f"setp.lt.{boolean}.s32 %p9|{{d}}, {{0}}, {{1}}, {{2}}", ("r", a), ("r", b), ("p", q))
            row("p", int(f(t, not q)), f"setp.lt.{boolean}.s32 {{d}}, {{0}}, {{1}}, !{{2}}", ("r", a), ("r", b), ("p", q))
            row("r", 0xffffffff if f(t, bool(q)) else 0, f"set.lt.{boolean}.u32.s32 {{d}}, {{0}}, {{1}}, {{2}}", ("r", a), ("r", b), ("p", q))
    for fmt, c in (("f32", "f"), ("f64", "g")):
        for a, b in f_random(fmt, 4, 2) + [(F_EDGES[fmt][0], F_EDGES[fmt][1])]:
            x, y = real(a, fmt), real(b, fmt)
            unordered = NAN in (x, y)
            for name, f in int_ops.items():
                t = not unordered and f(x, y)
                row("p", int(t), f"setp.{name}.{fmt} {{d}}, {{0}}, {{1}}", (c, a), (c, b))
                row("p", int(unordered or t), f"setp.{name}u.{fmt} {{d}}, {{0}}, {{1}}", (c, a), (c, b))
            row("p", int(not unordered), f"setp.num.{fmt} {{d}}, {{0}}, {{1}}", (c, a), (c, b))
            row("p", int(unordered), f"setp.nan.{fmt} {{d}}, {{0}}, {{1}}", (c, a), (c, b))
            row("f", 0x3f800000 if not unordered and x > y else 0, f"set.gt.f32.{fmt} {{d}}, {{0}}, {{1}}", (c, a), (c, b))
    for bits in (16, 32, 64):
        c = CLASS[bits]
        a, b = random.getrandbits(bits), random.getrandbits(bits)
        for q in (0, 1):
            row(c, a if q else b, f"selp.b{bits} {{d}}, {{0}}, {{1}}, {{2}}", (c, a), (c, b), ("p", q))
        for k in (0, 5, 0x80000000, 0xffffffff):
            row(c, a if signed(k, 32) >= 0 else b, f"slct.b{bits}.s32 {{d}}, {{0}}, {{1}}, {{2}}", (c, a), (c, b), ("r", k))
        for k in (0, 0x80000000, 0x3f800000, 0xbf800000, 0x7fc00000, 0x80000001):
            v = real(k, "f32")
            row(c, a if v != NAN and v >= 0 else b, f"slct.u{bits}.f32 {{d}}, {{0}}, {{1}}, {{2}}", (c, a), (c, b), ("f", k))
            v = real(flush(k, "f32"), "f32")
            row(c, a if v != NAN and v >= 0 else b, f"slct.ftz.u{bits}.f32 {{d}}, {{0}}, {{1}}, {{2}}", (c, a), (c, b), ("f", k))


def moves():
    a, b = 0x12345678, 0x9abcdef0
    row("d", b << 32 | a, "mov.b64 {d}, {{{0}, {1}}}", ("r", a), ("r", b))
    row("r", b, "mov.b64 {{%r7, {d}}}, {0}", ("d", b << 32 | a))
    row("r", 0x43214321, "mov.b32 {d}, {{{0}, {0}}}", ("h", 0x4321))
    row("h", 0x1234, "mov.b32 {{%rs7, {d}}}, {0}", ("r", a))
    row("d", 0x4444333322221111, "mov.b64 {d}, {{{0}, {1}, {2}, {3}}}", ("h", 0x1111), ("h", 0x2222), ("h", 0x3333), ("h", 0x4444))
    row("r", 0x3f800000, "mov.b32 {d}, {0}", ("f", 0x3f800000))


def main():
    for part in (integers, carries, logic, bits_and_fields, floats, conversions, compares, moves):
        part()
    with open("tests/data/ptx_semantics.tsv", "w", encoding="ascii") as out:
        out.write("# written by tools/ptx_semantics.py: result class, expected bits, statements\n")
        for result, expected, text in ROWS:
            out.write(f"{result}\t{expected:x}\t{text}\n")
    if "--ptx" in sys.argv:
        finish = {"r": "cvt.u64.u32 %rd0, %r0;", "h": "cvt.u64.u16 %rd0, %rs0;", "d": "", "p": "selp.u64 %rd0, 1, 0, %p0;",
                  "f": "mov.b32 %r0, %f0; cvt.u64.u32 %rd0, %r0;", "g": "mov.b64 %rd0, %fd0;"}
        with open(sys.argv[sys.argv.index("--ptx") + 1], "w", encoding="ascii") as out:
            out.write(".version 8.8\n.target sm_90a\n.address_size 64\n")
            for k, (result, expected, text) in enumerate(ROWS):
                out.write(f".visible .entry k{k}(.param .u64 p) {{\n.reg .pred %p<10>; .reg .b16 %rs<10>; .reg .b32 %r<10>; .reg .b64 %rd<20>; .reg .f32 %f<10>; .reg .f64 %fd<10>;\n"
                          f"ld.param.u64 %rd15, [p];\n{text}\n{finish[result]}\nst.global.u64 [%rd15], %rd0;\nret;\n}}\n")
    print(len(ROWS), "rows")


if __name__ == "__main__":
    main()
