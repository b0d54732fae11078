"""The accuracy card: python3 tools/accuracy --measurements DIR [--sets a,b] [--write]. See docs/accuracy.md."""
import argparse
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import json

import ablation
import paper
import residuals
from card import held_out_settings, make, slim, write
from compiler import Compiler, Missing, cache_folder
from figures import best_caps, collect, kept_by_search, show
from pipeline import Driver, run_set
from sets import all_sets


def main():
    root = Path(__file__).resolve().parents[2]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--measurements", default=os.environ.get("FLIPFLOP_SHARED", str(root.parent / "shared")) + "/measurements")
    parser.add_argument("--build", default=str(root / "build"))
    parser.add_argument("--work", default=str(cache_folder() / "work"))
    parser.add_argument("--sets", default="", help="only those whose name begins so")
    parser.add_argument("--evaluate", action="store_true", help="even where facts of an earlier run are there")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a value of every profile, for studies")
    parser.add_argument("--write", action="store_true", help="docs/accuracy.md and docs/accuracy.json")
    parser.add_argument("--replace", action="store_true", help="the figures of the sets that were run, in docs/accuracy.json; the rest of the card stays as it is")
    parser.add_argument("--check", action="store_true", help="fail where a figure of docs/accuracy.json has fallen by more than its noise")
    parser.add_argument("--paper", action="store_true", help="the paper's figures only")
    options = parser.parse_args()
    if options.paper:
        options.sets = "attention"
    if not os.path.isdir(options.measurements):
        print(f"skipped: no measurements at {options.measurements}")
        return 77
    try:
        compiler = Compiler(root / "tests" / "accuracy" / "kernels")
    except Missing as missing:
        print(f"skipped: {missing}")
        return 77
    driver = Driver(root, options.build)
    chosen = []
    wanted = tuple(options.sets.split(",")) if options.sets else ("",)
    for measured_set in all_sets():
        if not measured_set.name.startswith(wanted):
            continue
        if not os.path.exists(f"{options.measurements}/{measured_set.table}.csv.gz"):
            print(f"{measured_set.name}: skipped, no {measured_set.table}")
            continue
        if run_set(measured_set, options, compiler, driver):
            chosen.append(measured_set)
    flipflop = Path(options.build) / "flipflop"
    if options.paper:
        print(paper.markdown(paper.compute(options.measurements, options.work)), end="")
        return 0
    entries = collect(flipflop, options.work, chosen)
    for quantity in ("time", "energy", "power"):
        print(quantity)
        print(show(entries, quantity))
    if options.replace:
        replace([slim(e) for e in entries], root)
    if options.check:
        return compare([slim(e) for e in entries], root)
    if options.write:
        held = held_out(chosen, options, compiler, driver, flipflop)
        predict_again(chosen, [], options, compiler, driver)   # the tables as shipped again
        common = root / "models" / "coefficients" / "common.json"
        document = json.loads(common.read_text())
        stale = [key for key in document["values"] if key.startswith("time_log_sigma_")]
        for key in stale:
            del document["values"][key]
        document["values"] |= residuals.widths(options.work, chosen)
        confidence = residuals.hit_rates(options.work, chosen, document["values"]["paired_time_log_sigma"]["value"])
        for level, row in confidence.items():
            document["values"][f"pick_hit_rate_{level}"] = {"value": round(row["within_5pct"], 3), "unit": "1", "basis": "measured", "source": f"{row['groups']} groups of published measurements, docs/accuracy.md",
                                                            "note": "picks within 5 % of their group's best", "tool": "tools/accuracy"}
        common.write_text(json.dumps(document, indent=1) + "\n")
        caps = best_caps(options.work, "gemm_naive_caps_rtx5000ada") if any(s.name == "gemm_naive_caps_rtx5000ada" for s in chosen) else None
        intervals, paper_rows = intervals_of(chosen, options.work), paper.compute(options.measurements, options.work)
        regimes = residuals.by_regime(options.work, chosen)
        sigma = document["values"]["paired_time_log_sigma"]["value"]
        searched = {s.name: kept_by_search(driver, options.work, s, sigma) for s in chosen if s.family not in ("streams", "attention")}
        def write_card(ablated):
            write(make(entries, *held, intervals, confidence, paper_rows, compiler.version, caps, ablated, regimes, searched), root)
        write_card([])   # the terms' worth takes two thirds of the passes: the card stands before it
        write_card(ablation.run(flipflop, chosen, options, lambda some, settings: predict_again(some, settings, options, compiler, driver)))
    return 0


SETTINGS = [[f"norm_latency={latency}", f"norm_pipes={pipes}", f"l1_lines_per_clk={lines}"] for latency in (2, 3) for pipes in (3, 6) for lines in (1, 0.5)]


def predict_again(chosen, settings, options, compiler, driver):
    asked = options.evaluate, options.set
    options.evaluate, options.set = False, asked[1] + settings
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:   # the models run in processes of their own
        list(pool.map(lambda measured_set: run_set(measured_set, options, compiler, driver), chosen))
    options.evaluate, options.set = asked


def held_out(chosen, options, compiler, driver, flipflop):
    """Time under each setting; what is chosen without a kernel family, or without a GPU, is what its sets are scored by."""
    results = {}
    for setting in SETTINGS:
        predict_again(chosen, setting, options, compiler, driver)
        results[" ".join(setting)] = {e["set"] + " " + e["kernel"]: e for e in collect(flipflop, options.work, chosen) if e["quantity"] == "time"}
    any_setting = next(iter(results.values()))
    family, gpu = ({name: e[key] for name, e in any_setting.items()} for key in ("family", "gpu"))
    return [[h["entry"] for h in held_out_settings(results, family, gpu, by).values()] for by in ("family", "gpu")]


def intervals_of(chosen, work):
    families = {}
    for measured_set in chosen:
        families.setdefault(measured_set.family, {})[measured_set.name] = residuals.rows_of(work, measured_set)
    plain = residuals.held_out(families)
    pairs = residuals.held_out({f: {name: [(r, 0) for r in residuals.paired(rows)] for name, rows in sets.items()} for f, sets in families.items()})
    return {f: {**plain[f], "paired_sigma": pairs[f]["sigma"], "paired_coverage": pairs[f]["coverage"]} for f in plain}


def replace(sets, root):
    card = root / "docs" / "accuracy.json"
    document = json.loads(card.read_text())
    key = lambda s: (s["set"], s["kernel"], s["quantity"])
    now = {key(s): s for s in sets}
    document["sets"] = [now.get(key(s), s) for s in document["sets"]]
    card.write_text(json.dumps(document, indent=1) + "\n")


def compare(sets, root):
    """CI: a figure that falls by more than its noise against the card in the tree fails. The noise is one pick in a set for shares and regrets."""
    known = {(s["set"], s["kernel"], s["quantity"]): s for s in json.loads((root / "docs" / "accuracy.json").read_text())["sets"]}
    failed = 0
    for now in sets:
        before = known.get((now["set"], now["kernel"], now["quantity"]))
        if not before or before["n"] != now["n"]:
            print(f"{now['set']} {now['quantity']}: no figures of the same rows in docs/accuracy.json")
            failed += before is not None
            continue
        for what, old, new, noise in (("rank correlation", before["model"]["spearman"], now["model"]["spearman"], -0.03), ("error with one scale", before["mape_one_scale"], now["mape_one_scale"], 0.02)):
            if old is not None and (new is None or (new < old + noise if noise < 0 else new > old + noise)):
                print(f"{now['set']} {now['quantity']}: {what} was {old}, is {new}")
                failed += 1
    print(f"{len(sets)} rows of the card looked at, {failed} worse than their noise")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
