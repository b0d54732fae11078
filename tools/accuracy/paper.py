"""The paper's two headline figures by its own definitions, its chance level, and ours on the same rows.

83 %: the 51 block shapes sorted by (threads, block_x); a predicted strict local minimum of the energy counts when a measured one lies within
one position; share of the predicted minima, then the mean over sequence lengths. 93.4 %: 1 - |measured Pareto set of time and energy| / 51.
"""
import csv
import gzip
import statistics
from pathlib import Path

TABLE = "flipflop_authors_reference_predictions"
DATASET, RUN = "mha_shape_x_seq_rtx5000ada", "energy_model_results_20250414_173438"
WORK = "flipflop_authors_mha_shape_x_seq_rtx5000ada"


def minima(values):
    return [i for i in range(1, len(values) - 1) if values[i] < values[i - 1] and values[i] < values[i + 1]]


def matched(predicted, measured, length):
    """Share of the predicted minima with a measured one within a position, and what a position drawn at random would reach."""
    near = {i + d for i in measured for d in (-1, 0, 1)}
    hits = sum(i in near for i in predicted)
    inner = range(1, length - 1)
    return (hits / len(predicted) if predicted else None), sum(i in near for i in inner) / len(inner)


def pareto(points):
    return sum(not any(t <= p[0] and e <= p[1] and (t, e) != p for t, e in points) for p in points)


def spearman(a, b):
    def ranks(values):
        order = sorted(range(len(values)), key=values.__getitem__)
        result = [0.0] * len(values)
        i = 0
        while i < len(order):
            j = i
            while j < len(order) and values[order[j]] == values[order[i]]:
                j += 1
            for k in order[i:j]:
                result[k] = (i + j - 1) / 2
            i = j
        return result
    return statistics.correlation(ranks(a), ranks(b))


def regret(predicted, measured):
    return measured[min(range(len(predicted)), key=predicted.__getitem__)] / min(measured) - 1


def read(folder, name):
    with gzip.open(Path(folder) / f"{name}.csv.gz", "rt") as file:
        return list(csv.DictReader(file))


def ours(work, steps):
    with open(Path(work) / f"attention_{steps}_rtx5000ada.predictions.csv") as file:
        return {(int(r["block_x"]), int(r["block_y"])): r for r in csv.DictReader(file)}


def compute(measurements, work):
    rows = [r for r in read(measurements, TABLE) if r["dataset"] == DATASET and r["run"] == RUN]
    shapes = {(r["seq_len"], r["block_x"], r["block_y"]): r for r in read(measurements, WORK) if r["run"] == RUN}
    result = []
    for steps in sorted({r["seq_len"] for r in rows}, key=int):
        mine = sorted((r for r in rows if r["seq_len"] == steps), key=lambda r: (int(r["block_x"]) * int(r["block_y"]), int(r["block_x"])))
        path = Path(work) / f"attention_{steps}_rtx5000ada.predictions.csv"
        if not path.exists():
            continue
        predictions = ours(work, steps)
        energy = [float(r["measured_energy_j_raw"]) for r in mine]
        time = [float(r["time_ms"]) for r in mine]
        theirs = [float(r["predicted_energy_j"]) for r in mine]
        our = [float(predictions[int(r["block_x"]), int(r["block_y"])]["energy_mj"]) for r in mine]
        our_time = [float(predictions[int(r["block_x"]), int(r["block_y"])]["time_us"]) for r in mine]
        threads = [int(r["block_x"]) * int(r["block_y"]) for r in mine]
        measured = minima(energy)
        work_done = [float(shapes[steps, r["block_x"], r["block_y"]]["work_fraction"]) for r in mine]
        most = max(work_done)
        share, chance = matched(minima(theirs), measured, len(mine))
        entry = {"seq_len": int(steps), "rows": len(mine), "rows_of_less_work": sum(w < most for w in work_done), "measured_minima": len(measured), "chance": chance,
                 "crr": 1 - pareto(list(zip(time, energy))) / len(mine),
                 "authors": {"minima": len(minima(theirs)), "matched": share, "spearman_energy": spearman(theirs, energy), "spearman_time": spearman([float(r["predicted_time_ms"]) for r in mine], time),
                             "regret_energy": regret(theirs, energy)},
                 "ours": {"minima": len(minima(our)), "matched": matched(minima(our), measured, len(mine))[0], "spearman_energy": spearman(our, energy), "spearman_time": spearman(our_time, time),
                          "regret_energy": regret(our, energy)},
                 "threads_per_block": {"minima": len(minima(threads)), "matched": None, "spearman_energy": spearman(threads, energy), "spearman_time": spearman(threads, time),
                                       "regret_energy": regret(threads, energy)}}
        result.append(entry)
    return result


def markdown(entries):
    if not entries:
        return "The authors' rows are not here.\n"
    pct = lambda v: "-" if v is None else f"{v * 100:.0f} %"
    lines = ["| sequence length | rows | of them less work | measured minima | chance | authors' 83 % | ours | 93.4 %: measured Pareto set | rank corr. energy: authors / threads a block / ours | time | regret of the energy pick: authors / ours |", "|---|---|---|---|---|---|---|---|---|---|---|"]
    for e in entries:
        a, o, t = e["authors"], e["ours"], e["threads_per_block"]
        lines.append(f"| {e['seq_len']} | {e['rows']} | {e['rows_of_less_work']} | {e['measured_minima']} | {pct(e['chance'])} | {pct(a['matched'])} of {a['minima']} | {pct(o['matched'])} of {o['minima']} | {e['crr'] * 100:.1f} % | "
                     f"{a['spearman_energy']:.2f} / {t['spearman_energy']:.2f} / {o['spearman_energy']:.2f} | {a['spearman_time']:.2f} / {t['spearman_time']:.2f} / {o['spearman_time']:.2f} | {pct(a['regret_energy'])} / {pct(o['regret_energy'])} |")
    mean = lambda f: statistics.mean(v for v in map(f, entries) if v is not None)
    lines.append(f"| mean | | | | {pct(mean(lambda e: e['chance']))} | {pct(mean(lambda e: e['authors']['matched']))} | {pct(mean(lambda e: e['ours']['matched']))} | {mean(lambda e: e['crr']) * 100:.1f} % | "
                 f"{mean(lambda e: e['authors']['spearman_energy']):.2f} / {mean(lambda e: e['threads_per_block']['spearman_energy']):.2f} / {mean(lambda e: e['ours']['spearman_energy']):.2f} | "
                 f"{mean(lambda e: e['authors']['spearman_time']):.2f} / {mean(lambda e: e['threads_per_block']['spearman_time']):.2f} / {mean(lambda e: e['ours']['spearman_time']):.2f} | "
                 f"{pct(mean(lambda e: e['authors']['regret_energy']))} / {pct(mean(lambda e: e['ours']['regret_energy']))} |")
    return "\n".join(lines) + "\n"
