#!/usr/bin/env python3
"""Writes data/*.npy: the arrays that decide addresses and trip counts in gather and spmv_csr. The same bytes each time."""
import pathlib
import struct

FOLDER = pathlib.Path(__file__).resolve().parent / "data"


class Random:
    """A linear congruential generator (Knuth, MMIX): no library, no version that could change it."""

    def __init__(self, seed):
        self.state = seed

    def below(self, limit):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 33) % limit


def write(name, values):
    head = "{'descr': '<i4', 'fortran_order': False, 'shape': (%d,), }" % len(values)
    head += " " * (63 - (10 + len(head)) % 64) + "\n"
    (FOLDER / name).write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + struct.pack("<%di" % len(values), *values))


def gather_indices(count, rows):
    """Half of the accesses go to a twentieth of the table's rows, as embeddings of words do."""
    random = Random(1)
    return [random.below(rows // 20) if random.below(2) else random.below(rows) for _ in range(count)]


def sparse_matrix(rows):
    """Rows of 2 to 9 entries near the diagonal; every 64th row has 40 more, anywhere."""
    random = Random(2)
    begin, column = [0], []
    for row in range(rows):
        here = {min(rows - 1, max(0, row + random.below(65) - 32)) for _ in range(2 + random.below(8))}
        if row % 64 == 5:
            here |= {random.below(rows) for _ in range(40)}
        column += sorted(here)
        begin.append(len(column))
    return begin, column


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    write("gather_index.npy", gather_indices(32768, 32768))
    row_begin, columns = sparse_matrix(8192)
    write("spmv_row_begin.npy", row_begin)
    write("spmv_column.npy", columns)
    print(f"gather_index 32768, spmv_row_begin {len(row_begin)}, spmv_column {len(columns)}")
