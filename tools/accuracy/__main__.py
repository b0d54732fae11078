"""The accuracy card: python3 tools/accuracy --measurements DIR [--sets a,b] [--write]. See docs/accuracy.md."""
import argparse
import os
import sys
from pathlib import Path

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from compiler import Compiler, Missing, cache_folder
from figures import collect, show
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
    options = parser.parse_args()
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
    entries = collect(Path(options.build) / "flipflop", options.work, chosen)
    for quantity in ("time", "energy", "power"):
        print(quantity)
        print(show(entries, quantity))
    return 0


if __name__ == "__main__":
    sys.exit(main())
