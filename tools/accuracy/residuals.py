"""What the predictions miss by, and intervals made of it: whole kernel families are held out."""
import csv
import math
import statistics
from pathlib import Path

# Dedispersion misses by counts that the evaluator marks as not known (which widens by itself),
# streams have a width of their own, and the textbook set has five rows.
NOT_FOR_WIDTHS = ("dedispersion", "streams", "textbook")
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


def by_regime(folder, sets):
    """{regime: rows, share inside the predictions' own 90 % intervals, share below, share above}, each set of equal weight within its regime."""
    found = {}
    for measured_set in sets:
        base = Path(folder) / measured_set.name
        keys = header_of(base)
        measured = {}
        with open(f"{base}.measurements.csv") as file:
            for row in csv.DictReader(file):
                if row["time_us"]:
                    measured.setdefault(tuple(row[k] for k in keys), []).append(float(row["time_us"]))
        with open(f"{base}.predictions.csv") as file:
            for row in csv.DictReader(file):
                key = tuple(row[k] for k in keys)
                if key not in measured:
                    continue
                time = statistics.median(measured[key])
                regime = "small" if row["waves"] and float(row["waves"]) < 1 else REGIMES.get(row["bound_by"], "compute")
                found.setdefault(regime, {}).setdefault(measured_set.name, []).append((time < float(row["time_low_us"]), time > float(row["time_high_us"])))
    result = {}
    for regime, per_set in sorted(found.items()):
        below, above = (statistics.mean(statistics.mean(row[side] for row in rows) for rows in per_set.values()) for side in (0, 1))
        result[regime] = {"sets": len(per_set), "rows": sum(map(len, per_set.values())), "inside": 1 - below - above, "below": below, "above": above}
    return result


def block_pairs(folder, measured_set, quantity="time_us"):
    """log ratio of ratios, measured over predicted, of each pair that differs in block shape only: what a comparison of blocks misses by."""
    base = Path(folder) / measured_set.name
    shape = {"block_x", "block_y", "block_z", "block_size_x", "block_size_y", "block_size_z", "BLOCK_SIZE_X", "BLOCK_SIZE_Y", *measured_set.block_columns}
    keys = header_of(base)
    with open(f"{base}.measurements.csv") as file:
        measured = {}
        for row in csv.DictReader(file):
            if row[quantity]:
                measured.setdefault(tuple(row[k] for k in keys), []).append(float(row[quantity]))
    groups = {}
    with open(f"{base}.predictions.csv") as file:
        for row in csv.DictReader(file):
            key = tuple(row[k] for k in keys)
            if key in measured and row[quantity]:
                groups.setdefault(tuple(row[k] for k in keys if k not in shape), []).append(math.log(statistics.median(measured[key]) / float(row[quantity])))
    return [a - b for members in groups.values() for i, a in enumerate(members) for b in members[:i]]


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


def coefficient(groups, families, what, rows):
    """An entry of models/coefficients/common.json: the width over all sets, and what each family's left-out rows say of it."""
    held = held_out(families)
    return {"value": round(half_width(balanced(groups)), 3), "unit": "ln", "basis": "fitted", "source": f"published measurements of docs/accuracy.md; {what}",
            "note": "half of the central 90 % of the residuals over 1.645, sets of equal weight; held_out_coverage: share of a kernel family inside the width of the others",
            "rows": rows, "held_out_coverage": {name: round(row["coverage"], 3) for name, row in held.items()}, "tool": "tools/accuracy"}


def widths(folder, sets):
    """The widths that the models take their intervals from: absolute beyond DRAM, and of pairs that differ in block shape only."""
    def entry(of, what, least=2):
        families = {}
        for measured_set in sets:
            rows = of(measured_set)
            if measured_set.family not in NOT_FOR_WIDTHS and len(rows) >= 20:
                families.setdefault(measured_set.family, {})[measured_set.name] = [(r, "") for r in rows]
        groups = [[r for r, _ in rows] for theirs in families.values() for rows in theirs.values()]
        return coefficient(groups, families, what, sum(map(len, groups))) if len(families) >= least else None
    found = {"time_log_sigma": entry(lambda s: [r for r, regime in rows_of(folder, s) if regime not in ("dram", "small")], "launches of a wave and more that DRAM does not bound"),
             "paired_time_log_sigma": entry(lambda s: block_pairs(folder, s), "pairs that differ in block shape only, time"),
             "paired_energy_log_sigma": entry(lambda s: block_pairs(folder, s, "energy_mj"), "pairs that differ in block shape only, energy")}
    for regime in ("compute", "shared", "l1", "l2", "latency"):   # a width of its own from three families on: a left-out one is then held by two
        found[f"time_log_sigma_{regime}"] = entry(lambda s: [r for r, its in rows_of(folder, s) if its == regime], f"launches of a wave and more that {regime} bounds", 3)
    return {name: value for name, value in found.items() if value}


def probability_within(values, sigma, margin=0.05, steps=160):
    """As src/advise/ranking.cpp: chance of each of being within `margin` of the best, every logarithm off by sigma / sqrt 2 on its own."""
    s, slack, best = sigma / math.sqrt(2), math.log1p(margin), min(values)
    m = [math.log(v / best) for v in values]
    survival = lambda z: math.log(max(1e-300, 0.5 * math.erfc(z * math.sqrt(0.5))))
    low, step = -5 * s, (10 * s + slack) / steps
    result = [0.0] * len(m)
    for k in range(steps):
        x = low + (k + 0.5) * step
        logs = [survival((x - slack - mean) / s) for mean in m]
        total = sum(logs)
        for i, mean in enumerate(m):
            z = (x - mean) / s
            if abs(z) <= 6:
                result[i] += math.exp(-0.5 * z * z + total - logs[i]) * step / (s * math.sqrt(2 * math.pi))
    return [min(1.0, p) for p in result]


def picks(folder, measured_set, sigma):
    """Of each group that differs in block shape only, four members and more: the pick's chance as told, and what it measured over the best."""
    base = Path(folder) / measured_set.name
    shape = {"block_x", "block_y", "block_z", "block_size_x", "block_size_y", "block_size_z", "BLOCK_SIZE_X", "BLOCK_SIZE_Y", *measured_set.block_columns}
    keys = header_of(base)
    measured, groups = {}, {}
    with open(f"{base}.measurements.csv") as file:
        for row in csv.DictReader(file):
            measured.setdefault(tuple(row[k] for k in keys), []).append(float(row["time_us"]))
    with open(f"{base}.predictions.csv") as file:
        for row in csv.DictReader(file):
            key = tuple(row[k] for k in keys)
            if key in measured:
                groups.setdefault(tuple(row[k] for k in keys if k not in shape), []).append((float(row["time_us"]), statistics.median(measured[key])))
    found = []
    for members in groups.values():
        if len(members) >= 4:
            chances = probability_within([p for p, _ in members], sigma)
            first = min(range(len(members)), key=lambda i: members[i][0])
            found.append((chances[first], members[first][1] / min(t for _, t in members) - 1))
    return found


LEVELS = (("high", 0.7, 1.01), ("medium", 0.5, 0.7), ("low", 0.0, 0.5))   # as src/advise/recommend.cpp


def hit_rates(folder, sets, sigma):
    """What `confidence` means: of the picks told with a chance of that level, how many were within 5 and 10 % of their group's best."""
    told = [pick for measured_set in sets if measured_set.family != "streams" for pick in picks(folder, measured_set, sigma)]   # streams are flat beyond the knee
    result = {}
    for name, low, high in LEVELS:
        mine = [(chance, over) for chance, over in told if low <= chance < high]
        if mine:
            result[name] = {"groups": len(mine), "told": statistics.mean(c for c, _ in mine), "within_5pct": statistics.mean(o <= 0.05 for _, o in mine),
                            "within_10pct": statistics.mean(o <= 0.10 for _, o in mine), "regret": statistics.mean(o for _, o in mine)}
    return result
