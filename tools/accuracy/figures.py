"""The figures of the accuracy card, from what `flipflop validate --format json` says of each set."""
import json
import statistics
import subprocess
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
    entries = []
    for measured_set in sets:
        if not (Path(folder) / f"{measured_set.name}.predictions.csv").exists():
            continue
        for entry in validate(binary, folder, measured_set)["sets"]:
            entries.append({"set": measured_set.name, "family": measured_set.family, "trust": measured_set.trust, **entry})
    return entries


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
