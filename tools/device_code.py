#!/usr/bin/env python3
"""The PTX texts of a library, read by a reader of its own: a second opinion on src/inputs.

It looks for fatbins by their magic number anywhere in the file and unpacks their entries with liblz4 and libzstd through
ctypes. It shares nothing with the C++ reader but the layout of the headers.  device_code.py FILE FOLDER writes them out.
"""
import ctypes
import ctypes.util
import mmap
import pathlib
import struct
import sys

MAGIC = b"\x50\xed\x55\xba\x01\x00\x10\x00"
LZ4, ZSTD = 0x2000, 0x8000


def _library(name):
    path = ctypes.util.find_library(name)
    return ctypes.CDLL(path) if path else None


_lz4, _zstd = _library("lz4"), _library("zstd")
if _zstd:
    _zstd.ZSTD_decompress.restype = ctypes.c_size_t
    _zstd.ZSTD_decompress.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_size_t]


def unpack(packed, size, flags):
    out = ctypes.create_string_buffer(size)
    if flags & ZSTD:
        made = _zstd.ZSTD_decompress(out, size, packed, len(packed))
    else:
        made = _lz4.LZ4_decompress_safe(packed, out, len(packed), size)
    if made != size:
        raise ValueError(f"unpacks to {made} bytes instead of {size}")
    return out.raw


def entries(data, at, end):
    """(kind, payload, compressed bytes, unpacked bytes, flags) of one container; ValueError when it is none."""
    while at < end:
        if end - at < 64:
            raise ValueError("header cut off")
        kind, _, header, payload, compressed = struct.unpack_from("<HHIQI", data, at)
        flags, = struct.unpack_from("<Q", data, at + 40)
        unpacked, = struct.unpack_from("<Q", data, at + 56)
        if header < 64 or at + header + payload > end:
            raise ValueError("entry too long")
        yield kind, at + header, payload, compressed, unpacked, flags
        at += header + payload


def texts(path):
    """Every PTX text of the file, in the order of the file, up to its first NUL."""
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        at = data.find(MAGIC)
        while at >= 0:
            size, = struct.unpack_from("<Q", data, at + 8)
            end = at + 16 + size
            try:
                if end > len(data):
                    raise ValueError("container too long")
                found = list(entries(data, at + 16, end))
            except ValueError:
                at = data.find(MAGIC, at + 8)    # only looked like one
                continue
            for kind, begin, payload, compressed, unpacked, flags in found:
                if kind != 1:
                    continue
                raw = data[begin:begin + (compressed or payload if flags & (LZ4 | ZSTD) else payload)]
                text = unpack(raw, unpacked, flags) if flags & (LZ4 | ZSTD) else raw
                yield text.split(b"\0", 1)[0]
            at = data.find(MAGIC, end)


def main():
    folder = pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    for number, text in enumerate(texts(sys.argv[1]), 1):
        (folder / f"{number:05}.ptx").write_bytes(text)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main()
