"""What the predictions miss by, and intervals made of it: whole kernel families are held out."""
import csv
import math
import statistics
from pathlib import Path

REGIMES = {"dram": "dram", "launch": "small", "latency": "latency", "shared": "shared", "l1": "l1", "l2": "l2"}   # the rest: compute


def rows_of(folder, measured_set, quantity="time_us"):
    """(log measured/predicted, regime, block-shape group) of each configuration of a set."""
    base = Path(folder) / measured_set.name
    with open(f"{base}.measurements.csv") as file:
        measured = {}
        for row in csv.DictReader(file):
            if row[quantity]:
                measured.setdefault(tuple(v for k, v in row.items() if k not in ("time_us", "power_w", "energy_mj")), []).append(float(row[quantity]))
    result = []
    with open(f"{base}.predictions.csv") as file:
        for row in csv.DictReader(file):
            key = tuple(v for k, v in row.items() if k in header_of(base))
            if key in measured and row[quantity]:
                regime = "small" if row["waves"] and float(row["waves"]) < 1 else REGIMES.get(row["bound_by"], "compute")
                result.append((math.log(statistics.median(measured[key]) / float(row[quantity])), regime))
    return result


def header_of(base, known={}):
    if base not in known:
        with open(f"{base}.measurements.csv") as file:
            known[base] = [name for name in file.readline().strip().split(",") if name not in ("time_us", "power_w", "energy_mj")]
    return known[base]


def half_width(residuals, share=0.9):
    """sigma of the lognormal whose central `share` around 1 holds that share of the residuals."""
    ordered = sorted(abs(r) for r in residuals)
    return ordered[min(len(ordered) - 1, math.ceil(share * len(ordered)) - 1)] / 1.645


def balanced(groups):
    """Each set weighs the same: the mean over sets of the residuals' quantile would hide the worst, so rows are thinned to equal numbers."""
    smallest = min(len(rows) for rows in groups)
    return [r for rows in groups for r in rows[:: max(1, len(rows) // smallest)]]


def paired(rows):
    """Residuals about their set's own median: what is left where two configurations of one kernel on one GPU are compared."""
    middle = statistics.median(r for r, _ in rows)
    return [r - middle for r, _ in rows]


def held_out(by_family):
    """{family: {set: rows}} -> sigma from all, and for each family the sigma from the others and the share of its rows inside."""
    result = {}
    for family, sets in by_family.items():
        others = [[r for r, _ in rows] for other, theirs in by_family.items() if other != family for rows in theirs.values() if len(rows) >= 30]
        if not others:
            continue
        sigma = half_width(balanced(others))
        mine = [r for rows in sets.values() for r, _ in rows]
        result[family] = {"sigma": sigma, "n": len(mine), "coverage": sum(abs(r) <= 1.645 * sigma for r in mine) / len(mine)}
    return result
