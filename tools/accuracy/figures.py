"""The figures of the accuracy card, from what `flipflop validate --format json` says of each set."""
import csv
import json
import os
import statistics
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path


def validate(binary, folder, measured_set, extra=()):
    base = Path(folder) / measured_set.name
    command = [str(binary), "validate", f"{base}.predictions.csv", f"{base}.measurements.csv", "--format", "json", *extra]
    if measured_set.block_columns[0] == "MDIMC":
        command += ["--block-columns", "MDIMC,NDIMC"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{measured_set.name}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def collect(binary, folder, sets):
    """One entry a set, GPU, kernel and quantity, in a fixed order."""
    able = [s for s in sets if (Path(folder) / f"{s.name}.predictions.csv").exists()]
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        answers = pool.map(lambda measured_set: validate(binary, folder, measured_set)["sets"], able)
    return [{"set": s.name, "family": s.family, "trust": s.trust, **entry} for s, entries in zip(able, answers) for entry in entries]


def kept_by_search(driver, folder, measured_set, sigma):
    """What the short list of a search keeps of a set (6.6 % and ties), and how far the best of it lies over the set's best."""
    base = Path(folder) / measured_set.name
    with open(f"{base}.measurements.csv") as file:
        rows = list(csv.DictReader(file))
    keys = [name for name in rows[0] if name not in ("time_us", "power_w", "energy_mj")]
    measured = {}
    for row in rows:
        measured.setdefault(tuple(row[k] for k in keys), []).append(float(row["time_us"]))
    with open(f"{base}.predictions.csv") as file:
        pairs = [(row["time_us"], statistics.median(measured[key])) for row in csv.DictReader(file) if (key := tuple(row[k] for k in keys)) in measured]
    done = subprocess.run([str(driver.binary), "keep", str(sigma)], input="".join(f"{predicted}\n" for predicted, _ in pairs), capture_output=True, text=True, check=True)
    kept = [time for (_, time), answer in zip(pairs, done.stdout.split()) if answer == "1"]
    regret = min(kept) / min(time for _, time in pairs) - 1
    return {"rows": len(kept), "share": len(kept) / len(pairs), "regret": regret, "within_5pct": regret <= 0.05}


def best_caps(folder, name):
    """Launches measured under three power caps and more: how often the cap that is predicted to take least energy is the measured one, or next to it."""
    def read(kind):
        with open(Path(folder) / f"{name}.{kind}.csv") as file:
            return list(csv.DictReader(file))
    keys = ("precision", "tile_size_x", "tile_size_y", "block_x", "block_y")
    key = lambda row: tuple(row[k] for k in keys)
    predicted = {(key(row), row["power_limit_w"]): float(row["energy_mj"]) for row in read("predictions") if row["energy_mj"]}
    launches = {}
    for row in read("measurements"):
        cap = row["power_limit_w"]
        if row["energy_mj"] and (key(row), cap) in predicted:
            launches.setdefault(key(row), {})[float(cap)] = (float(row["energy_mj"]), predicted[key(row), cap])
    far = []
    for caps in (caps for caps in launches.values() if len(caps) >= 3):
        order = sorted(caps)
        measured, ours = (min(order, key=lambda cap: caps[cap][which]) for which in (0, 1))
        far.append(abs(order.index(measured) - order.index(ours)))
    return {"launches": len(far), "right": sum(f == 0 for f in far) / max(1, len(far)), "near": sum(f <= 1 for f in far) / max(1, len(far))}


def show(entries, quantity="time"):
    lines = [f"{'set':34}{'n':>5}{'spread':>7}{'rho':>7}{'tau':>7}{'first':>7}{'in5':>5}{'k.reg':>6}{'b5':>6}{'b10':>6}{'grp':>4}{'MAPE':>7}{'scaled':>7}{'scale':>6}{'cover':>6}  baselines rho (heur thr roof) / in5 random"]
    for e in entries:
        if e["quantity"] != quantity:
            continue
        m, block = e["model"], e["model"]["block_shape"]
        number = lambda v, w=7: f"{v:{w}.3f}" if v is not None else " " * (w - 1) + "-"
        base = [e["baselines"][k].get("spearman") for k in ("occupancy_heuristic", "threads_per_block", "roofline")]
        lines.append(f"{e['set'] + ('/' + e['kernel'].replace('stream_', '') if e['family'] == 'streams' else ''):34}{e['n']:5}{e['median_over_best']:7.2f}{number(m['spearman'])}{number(m['kendall'])}{number(m['first_regret'])}"
                     f"{m['kept_within_5pct']:5.2f}{number(m['kept_regret'], 6)}{number(block['within_5pct'] if block else None, 6)}{number(block['within_10pct'] if block else None, 6)}{block['groups'] if block else 0:4}"
                     f"{e['mape']:7.3f}{e['mape_one_scale']:7.3f}{e['scale']:6.2f}{number(e['interval']['coverage'] if e['interval'] else None, 6)}  " + " ".join(number(v, 6) for v in base) + f" / {e['baselines']['random']['kept_within_5pct']:.2f}")
    return "\n".join(lines)
