"""The measured sets: which table, which rows, which of our kernels with which macros, and how each row was launched.

Every value here comes from the tables' README (algorithms, grids, problem sizes). Nothing is fitted here.
"""
import csv
import gzip
import hashlib
import math
import struct
from pathlib import Path


def rank_of(text):
    """A number that depends on the text alone: samples are the same everywhere and for ever."""
    return hashlib.sha256(text.encode()).hexdigest()


def ceil(a, b):
    return -(-a // b)


class Set:
    """One measured table (or part of it): one kernel family on one GPU, one problem."""

    family = ""            # for leave-one-kernel-out
    name = ""              # of the set, in files and reports
    table = ""
    gpu = ""               # our profile
    source = ""            # file in tests/accuracy/kernels
    kernel = ""
    capability = 80
    parameters = ()        # columns that make a configuration
    block_columns = ("block_x", "block_y", "block_z")
    overhead_us = 0.0      # what the measured times hold beyond the GPU's own (README part B, fact 2)
    keep_rows = 150
    whole_groups = 4       # groups that differ in block shape only, taken whole
    trust = "full"
    note = ""
    figures = ("time",)

    def rows(self, folder):
        path = Path(folder) / f"{self.table}.csv.gz"
        with gzip.open(path, "rt") as file:
            return [row for row in csv.DictReader(file) if row["valid"] == "1" and self.wanted(row)]

    def wanted(self, row):
        return True

    def macros(self, row):
        return {}

    def block(self, row):
        return int(row["block_x"]), int(row["block_y"]), int(row["block_z"])

    def grid(self, row):
        return int(row["grid_x"]), int(row["grid_y"]), int(row["grid_z"])

    def arguments(self, row):
        return []

    def data(self, row, folder):
        return []

    def shared_bytes(self, row):
        return 0

    def kernel_of(self, row):
        return self.kernel

    def gpu_of(self, row):
        return self.gpu

    def options(self, row):
        """More fields of a job."""
        return []

    def target(self, row):
        """clock, power limit, resident blocks, cold: empty where the model decides."""
        return "", "", "", ""

    def key(self, row):
        return ",".join(row[name] for name in self.parameters)

    def group(self, row):
        blocks = {"block_size_x", "block_size_y", "MDIMC", "NDIMC", *self.block_columns}
        return ",".join(row[name] for name in self.parameters if name not in blocks)

    def variant(self, row):
        return rank_of(str(sorted(self.macros(row).items())) + self.source)

    def sample(self, folder):
        """Whole groups first, then single rows, both in the order of a hash: repeats of a chosen configuration all stay."""
        rows = self.rows(folder)
        by_key = {}
        for row in rows:
            by_key.setdefault(self.key(row), []).append(row)
        groups = {}
        for key, members in by_key.items():
            groups.setdefault(self.group(members[0]), []).append(key)
        chosen = []
        for group in sorted((g for g, keys in groups.items() if 4 <= len(keys) <= 64), key=rank_of)[: self.whole_groups]:
            if len(chosen) + len(groups[group]) <= self.keep_rows:
                chosen += sorted(groups[group], key=rank_of)
        seen = set(chosen)
        for key in sorted(by_key, key=lambda k: rank_of(self.variant(by_key[k][0]) + k)):
            if len(chosen) >= self.keep_rows:
                break
            if key not in seen:
                chosen.append(key)
        return [row for key in chosen for row in by_key[key]]


class Convolution(Set):
    family = "convolution"
    source, kernel = "convolution", "convolution"
    names = ("block_size_x", "block_size_y", "tile_size_x", "tile_size_y", "read_only", "use_padding")
    filter = 15
    note = "tiles of more than 8 outputs a thread are left out: nvcc and NVRTC need up to half a minute for each"

    def __init__(self, name, table, gpu, filter=15, names=None, keep_rows=60):
        self.name, self.table, self.gpu, self.filter, self.keep_rows = name, table, gpu, filter, keep_rows
        self.names = names or self.names
        self.parameters = self.names

    def macros(self, row):
        values = {ours: int(row[theirs]) for ours, theirs in zip(Convolution.names, self.names)}
        return {**values, "FILTER": self.filter}

    def wanted(self, row):
        values = self.macros(row)
        if row.get("use_shmem", "1") != "1":
            return False   # measured with a kernel that is not public
        return values["tile_size_x"] * values["tile_size_y"] <= 8

    def group(self, row):
        return ",".join(row[name] for name in self.names[2:])

    def key(self, row):
        return ",".join(row[name] for name in self.names)


class Dedispersion(Set):
    family, source, kernel = "dedispersion", "dedispersion", "dedispersion"
    parameters = ("block_size_x", "block_size_y", "tile_size_x", "tile_size_y", "tile_stride_x", "tile_stride_y", "loop_unroll_factor_channel")
    note = "the measured shifts are not public: the model is given the quadratic delay law with the largest shift that the padding allows (650)"

    def __init__(self, name, table, gpu):
        self.name, self.table, self.gpu = name, table, gpu

    def macros(self, row):
        return {name: int(row[name]) for name in self.parameters}

    def data(self, row, folder):
        path = Path(folder) / "shifts.f32"
        if not path.exists():
            low, high, channels = 1220.0, 1520.0, 1536
            delay = [1 / (low + (high - low) * i / channels) ** 2 - 1 / high**2 for i in range(channels)]
            scale = 649 / (2047 * 0.02) / delay[0]
            path.write_bytes(struct.pack(f"<{channels}f", *(d * scale for d in delay)))
        return [f"2={path}:f32"]


class Gemm(Set):
    family, source, kernel = "gemm", "gemm", "gemm"
    names = ("MWG", "NWG", "KWG", "MDIMC", "NDIMC", "MDIMA", "NDIMB", "KWI", "VWM", "VWN", "STRM", "STRN", "SA", "SB")
    parameters = names
    block_columns = ("MDIMC", "NDIMC")

    def __init__(self, name, table, gpu, opencl, keep_rows=150):
        self.name, self.table, self.gpu, self.opencl, self.keep_rows = name, table, gpu, opencl, keep_rows
        self.whole_groups = 8

    def macros(self, row):
        values = {name: int(row[name]) for name in self.names}
        if self.opencl:
            values |= {"FIXED_BLOCK": 1, "VECTOR8_ALIGN": 16}
        return values

    def arguments(self, row):
        return ["0=4096", "1=4096", "2=4096", "3=1.0", "4=1.0"]


class Hotspot(Set):
    family, source, kernel = "hotspot", "hotspot", "hotspot"
    parameters = ("grid_width", "grid_height", "block_size_x", "block_size_y", "tile_size_x", "tile_size_y", "temporal_tiling_factor", "max_tfactor",
                  "loop_unroll_factor_t", "sh_power", "blocks_per_sm")

    def __init__(self, name, table, gpu, clock="", figures=("time",)):
        self.name, self.table, self.gpu, self.clock, self.figures = name, table, gpu, clock, figures
        self.whole_groups = 8

    def macros(self, row):
        return {name: int(row[name]) for name in self.parameters}

    def target(self, row):
        return row["clock_mhz"], "", "", ""


class Streams(Set):
    family, source = "streams", "streams"
    table = "gpubenches_stream_blocksize_7gpus"
    parameters = ("kernel", "block_x")
    capability = 75
    whole_groups, keep_rows = 99, 400
    kernels = {"stream_init fp64": "stream_init", "stream_read fp64": "stream_read", "stream_scale fp64": "stream_scale",
               "stream_triad fp64": "stream_triad", "stream_3pt fp64": "stream_3pt", "stream_5pt fp64": "stream_5pt"}
    note = "in-sample but for the knee: the board's bandwidth is that of its best stream rows"

    def __init__(self, name, board, gpu):
        self.name, self.board, self.gpu = name, board, gpu

    def wanted(self, row):
        return row["gpu"] == self.board and row["kernel"] in self.kernels and not row["error"]

    def kernel_of(self, row):
        return self.kernels[row["kernel"]]

    def group(self, row):
        return row["kernel"]

    def arguments(self, row):
        return ["3=134217730", "4=0"]

    def options(self, row):
        return ["taken=1"]   # the branch around the read stream's store: the value that would not take it never comes

    def target(self, row):
        return "", "", "2", ""


class Attention(Set):
    family, source, kernel = "attention", "attention", "attention"
    table = "flipflop_authors_mha_shape_x_seq_rtx5000ada"
    gpu = "rtx-5000-ada"
    parameters = ("block_x", "block_y", "seq_len")
    keep_rows = 99
    figures = ("time", "energy", "power")
    overhead_us = 8.0
    note = "launches as executed: the grid shrinks with block_x, so the work is not constant; measured times hold 8 us of two events and a launch, which are added"

    def __init__(self, steps):
        self.steps = str(steps)
        self.name = f"attention_{steps}_rtx5000ada"

    def wanted(self, row):
        return row["seq_len"] == self.steps and row["time_ok"] == "1" and row["power_ok"] == "1"

    def group(self, row):
        return "all"

    def arguments(self, row):
        return ["3=4", f"4={self.steps}", "5=4096", "6=4096", "7=16", "8=0.0625", "9=64"]

    def shared_bytes(self, row):
        return (256 + int(self.steps)) * 4

    def target(self, row):
        return "", row["power_limit_w"], "", ""


class GemmNaive(Set):
    family, source, kernel = "gemm_naive", "gemm_naive", "gemm_naive"
    table = "flipflop_authors_gemm4096_shape_tile_cap"
    gpu = "rtx-5000-ada"
    parameters = ("precision", "tile_size_x", "tile_size_y", "block_x", "block_y", "power_limit_w")
    figures = ("time", "energy", "power")
    note = "tiles set how far blocks lie apart, so most rows redo or skip outputs; caps of the February runs are inferred"

    def __init__(self, name, runs, keep_rows=150):
        self.name, self.runs, self.keep_rows = name, runs, keep_rows
        self.whole_groups = 3

    def wanted(self, row):
        return row["run"] in self.runs

    def macros(self, row):
        return {"PRECISION": int(row["precision"][2:]), "TILE_X": int(row["tile_size_x"]), "TILE_Y": int(row["tile_size_y"])}

    def group(self, row):
        return ",".join(row[name] for name in ("precision", "tile_size_x", "tile_size_y", "power_limit_w"))

    def arguments(self, row):
        return ["0=4096", "1=4096", "2=4096"]

    def target(self, row):
        return "", row["power_limit_w"], "", ""


class ComplexGemm(Set):
    family, source, kernel = "complex_gemm", "complex_gemm", "complex_gemm"
    table = "powersensor3_complexgemm_AD4000"
    gpu = "rtx-4000-ada"
    parameters = ("block_size_y", "block_size_z", "M_PER_BLOCK", "N_PER_BLOCK", "NBUFFER", "nvml_gr_clock")
    figures = ("time", "energy", "power")
    keep_rows = 300
    whole_groups = 6
    note = "measured on matrices of zeros: the power lies below that of real data"

    def __init__(self, name, clocks):
        self.name, self.clocks = name, clocks

    def wanted(self, row):
        return row["nvml_gr_clock"] in self.clocks

    def macros(self, row):
        return {name: int(row[name]) for name in self.parameters[:-1]}

    def target(self, row):
        return row["clock_mhz"], "", "", ""


class MatMulTiles(Set):
    family, source, kernel = "textbook", "textbook", "mat_mul_tiles"
    table = "nvbench_pmpp_mat_mat_mul_7gpus"
    parameters = ("block_x", "block_y")
    trust = "few rows"

    def __init__(self, name, board, gpu):
        self.name, self.board, self.gpu = name, board, gpu

    def wanted(self, row):
        return row["gpu"] == self.board and row["sweep"].startswith("Matrix Matrix Multiplication with Tiles (Different Grid")

    def group(self, row):
        return "all"

    def macros(self, row):
        return {"TILE": int(row["block_x"])}

    def arguments(self, row):
        return [f"{index}={row[name]}" for index, name in ((3, "Num Rows 1"), (4, "Num Cols 1 / Rows 2"), (5, "Num Cols 2"))]

    def target(self, row):
        return "", "", "", "cold"


def all_sets():
    conv_ktt = ("BLOCK_SIZE_X", "BLOCK_SIZE_Y", "TILE_SIZE_X", "TILE_SIZE_Y", "READ_ONLY", "PADDING")
    clocks = ("1485", "1635", "1815")
    return [
        Convolution("convolution_rtx3090", "hub_convolution_RTX3090", "rtx-3090"),
        Convolution("convolution_ktt_rtx3090", "hub_ktt_convolution_RTX3090", "rtx-3090", names=conv_ktt),
        Convolution("convolution_a100", "hub_convolution_milo_A100", "a100-pcie-40gb"),
        Convolution("convolution_a4000", "hub_convolution_milo_A4000", "rtx-a4000"),
        Convolution("convolution17_a4000", "ktpaper_convolution_varclock_A4000", "rtx-a4000", filter=17),
        Dedispersion("dedispersion_a100", "hub_dedispersion_milo_A100", "a100-pcie-40gb"),
        Dedispersion("dedispersion_a4000", "hub_dedispersion_milo_A4000", "rtx-a4000"),
        Gemm("gemm_rtx3090", "hub_gemm_opencl_RTX3090", "rtx-3090", True),
        Gemm("gemm_a100", "ktpaper_gemm_A100", "a100-pcie-40gb", False),
        Hotspot("hotspot_a4000", "ktpaper_hotspot4096_A4000", "rtx-a4000"),
        Hotspot("hotspot8192_a4000", "ktpaper_hotspot8192_energy_A4000", "rtx-a4000", figures=("time", "energy", "power")),
        *(Streams(f"streams_{gpu.split('-')[0]}", board, gpu) for board, gpu in
          (("Tesla V100 (PCIe/SXM not stated)", "v100-pcie-32gb"), ("NVIDIA A100 40GB", "a100-sxm4-40gb"), ("NVIDIA A40", "a40"), ("NVIDIA L40", "l40"))),
        *(Attention(steps) for steps in (128, 256, 512, 786, 1024, 2048, 4096, 8192)),
        GemmNaive("gemm_naive_115w_rtx5000ada", ("run1", "data_depr")),
        GemmNaive("gemm_naive_caps_rtx5000ada", ("run3",)),
        ComplexGemm("complex_gemm_rtx4000ada", clocks),
        MatMulTiles("mat_mul_tiles_rtx3060laptop", "NVIDIA GeForce RTX 3060 Laptop GPU", "rtx-3060-laptop"),
    ]
