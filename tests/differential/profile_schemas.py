#!/usr/bin/env python3
"""Validates gpu_profiles/*.json, and what `flipflop gpus` and `flipflop occupancy` write, against schema/*.schema.json."""
import glob
import json
import os
import subprocess
import sys

try:
    import jsonschema
except ImportError:
    print("skipped: the Python package jsonschema is not installed (apt install python3-jsonschema)")
    sys.exit(77)

root, flipflop = sys.argv[1:3]
failures = 0


def fail(text):
    global failures
    failures += 1
    print("FAILED:", text)


def validator(name):
    with open(os.path.join(root, "schema", name + ".schema.json")) as file:
        schema = json.load(file)
    kind = jsonschema.validators.validator_for(schema, default=jsonschema.Draft7Validator)
    kind.check_schema(schema)
    return kind(schema)


def check(schema, document, what):
    for error in list(schema.iter_errors(document))[:3]:
        fail(f"{what}: /{'/'.join(map(str, error.absolute_path))}: {error.message[:200]}")


def run(*arguments):
    done = subprocess.run([flipflop, *arguments], capture_output=True, text=True)
    if done.returncode != 0 or done.stderr:
        fail(f"{' '.join(arguments)}: exit {done.returncode}, {done.stderr}")
        return None
    return json.loads(done.stdout)


gpu, capability, occupancy, gpus = map(validator, ("gpu", "compute-capability", "occupancy", "gpus"))

files = sorted(glob.glob(os.path.join(root, "gpu_profiles", "*.json")))
for path in files:
    with open(path) as file:
        document = json.load(file)
    check(capability if os.path.basename(path).startswith("cc_") else gpu, document, os.path.basename(path))

listing = run("gpus", "--format", "json")
if listing:
    check(gpus, listing, "gpus")
    for board in listing["gpus"]:
        profile = run("gpus", board["id"], "--format", "json")
        if profile:
            check(gpu, profile, "gpus " + board["id"])

launches = 0
for board in ("--gpu=a100", "--cc=5.0", "--cc=6.0", "--cc=7.5", "--cc=9.0", "--cc=12.1"):
    for rest in (
        "--regs 32 --block 256",
        "--regs 0 --block 33",
        "--regs 255 --block 1024",
        "--regs 40 --block 32,8 --smem 50000 --dynamic-smem 1000 --no-opt-in",
        "--regs 40 --block 8,8,4 --dynamic-smem 60000 --carveout 50 --barriers 16",
        "--regs 16 --block 512 --max-threads 256",
        "--regs 16 --block 128 --cluster 4",
        "--regs 16 --block 1025",
    ):
        answer = run("occupancy", board, *rest.split(), "--format", "json")
        if answer:
            launches += 1
            check(occupancy, answer, f"occupancy {board} {rest}")
            if (answer["active_blocks_per_sm"] == 0) != (answer["why_not"] is not None):
                fail(f"occupancy {board} {rest}: why_not")

# The schemas themselves must be able to refuse.
broken = json.load(open(os.path.join(root, "gpu_profiles", "a100-sxm4-80gb.json")))
for change in (
    lambda d: d["values"]["sm_count"].pop("source"),
    lambda d: d["values"]["sm_count"].update(value="108"),
    lambda d: d["values"].update(smcount=d["values"]["sm_count"]),
    lambda d: d["values"].pop("sm_count"),
    lambda d: d.update(surprise=1),
):
    document = json.loads(json.dumps(broken))
    change(document)
    if not list(gpu.iter_errors(document)):
        fail("the schema accepts a profile that it should refuse")

print(f"{len(files)} files, {len(listing['gpus']) if listing else 0} boards and {launches} occupancy answers checked, {failures} failures")
sys.exit(1 if failures else 0)
