#!/usr/bin/env python3
"""Containers of our own PTX for the fuzzers to start from: make_seeds.py FOLDER PTX...

Each text plain, as LZ4 and as zstd in fatbins (where the libraries are), those in ELF objects and archives, and between
the banners of cuobjdump. One file a kind and text; a few hundred bytes to a few kilobytes each.
"""
import ctypes
import ctypes.util
import pathlib
import struct
import sys


def entry(text, flags=0x11, kind=1, unpacked=0, packed=0):
    payload = text + b"\0" * (-len(text) % 8)
    return struct.pack("<HHIQIIHHIIIQQQ", kind, 0x101, 64, len(payload), packed, 0, 0, 8, 80, 0, 0, flags, 0, unpacked) + payload


def fatbin(*entries):
    body = b"".join(entries)
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body


def library(name):
    path = ctypes.util.find_library(name)
    return ctypes.CDLL(path) if path else None


def packed_entries(text):
    lz4, zstd = library("lz4"), library("zstd")
    if lz4:
        out = ctypes.create_string_buffer(len(text) + len(text) // 255 + 64)
        size = lz4.LZ4_compress_default(text, out, len(text), len(out))
        yield "lz4", entry(out.raw[:size], 0x2011, unpacked=len(text), packed=size)
    if zstd:
        zstd.ZSTD_compress.restype = ctypes.c_size_t
        zstd.ZSTD_compress.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
        out = ctypes.create_string_buffer(2 * len(text) + 1024)
        size = zstd.ZSTD_compress(out, len(out), text, len(text), 3)
        yield "zstd", entry(out.raw[:size], 0x8011, unpacked=len(text), packed=size)


def elf(section, content):
    names = b"\0" + section + b"\0.shstrtab\0"
    at = 64
    headers = at + len(content) + len(names)
    header = b"\x7fELF\2\1\1" + b"\0" * 9 + struct.pack("<HHIQQQIHHHHHH", 1, 62, 1, 0, 0, headers, 0, 64, 0, 0, 64, 3, 2)
    table = b"\0" * 64 + struct.pack("<IIQQQQIIQQ", 1, 1, 2, 0, at, len(content), 0, 0, 8, 0)
    table += struct.pack("<IIQQQQIIQQ", len(section) + 2, 3, 0, 0, at + len(content), len(names), 0, 0, 1, 0)
    return header + content + names + table


def archive(*members):
    out = b"!<arch>\n"
    for name, content in members:
        out += f"{name + '/':<16}{0:<12}{0:<6}{0:<6}{644:<8}{len(content):<10}`\n".encode() + content + b"\n" * (len(content) % 2)
    return out


def seeds(text):
    plain = entry(text)
    packed = dict(packed_entries(text))
    yield "fatbin", fatbin(plain, entry(b"\x7fELF" + b"\0" * 60, kind=2))
    for kind, one in packed.items():
        yield kind, fatbin(one)
        yield "elf_" + kind, elf(b".nv_fatbin", fatbin(one) + b"\0" * 16 + fatbin(plain))
    yield "archive", archive(("a.o", elf(b"__nv_relfatbin", fatbin(plain))), ("b.ptx", text))
    yield "cuobjdump", b"Fatbin elf code:\n================\narch = sm_80\n\nFatbin ptx code:\n================\narch = sm_80\ncompressed\n\n" + text


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for path in map(pathlib.Path, sys.argv[2:]):
        for kind, content in seeds(path.read_bytes()):
            (folder / f"{path.stem}.{kind}").write_bytes(content)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main()
