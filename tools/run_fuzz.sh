#!/bin/bash
# run_fuzz.sh BUILD_FOLDER SECONDS: every fuzz target for its share of the time, from our own examples and cases.
# FUZZ_SEED=N draws the same mutations every time (CI: a change is judged by itself and not by luck); without it they are new.
# A crash ends that target; the status is then 1 and the input in BUILD_FOLDER/crashes. BUILD_FOLDER/last_tests.txt says how many
# targets found nothing, in the words of ctest (.ci/run adds them up).
set -euo pipefail
build=$(cd "$1" && pwd) seconds=$2
root=$(cd "$(dirname "$0")/.." && pwd)
targets=()
for target in "$build"/tests/fuzz/fuzz_*; do
    [ -x "$target" ] && [ -f "$target" ] && targets+=("$target")
done
[ ${#targets[@]} -gt 0 ] || { echo "no fuzz targets in $build/tests/fuzz" >&2; exit 1; }
mkdir -p "$build/crashes"
share=$((seconds / ${#targets[@]}))
[ "$share" -gt 0 ] || share=1
if command -v python3 >/dev/null; then
    python3 "$root/tests/fuzz/make_seeds.py" "$build/seeds" "$root"/examples/*.ptx
fi
failed=0
rm -f "$build/last_tests.txt"
for target in "${targets[@]}"; do
    name=$(basename "$target")
    corpus=$build/corpus/$name
    mkdir -p "$corpus"
    seeds=("$root/examples")
    for folder in "$root/tests/data" "$root/tests/cases" "$root/tests/known_answers" "$root/tests/fuzz/crashes" "$build/seeds"; do
        [ ! -d "$folder" ] || seeds+=("$folder")
    done
    dictionary=()
    [ ! -f "$root/tests/fuzz/ptx.dict" ] || dictionary=(-dict="$root/tests/fuzz/ptx.dict")
    echo "== $name, $share s"
    "$target" "${dictionary[@]}" "$corpus" "${seeds[@]}" -seed="${FUZZ_SEED:-0}" -max_total_time="$share" -max_len=65536 -rss_limit_mb=2048 -timeout=20 \
        -print_final_stats=1 -verbosity=0 -artifact_prefix="$build/crashes/$name-" </dev/null || failed=$((failed + 1))
done
all=${#targets[@]}
echo "$(((all - failed) * 100 / all))% tests passed, $failed tests failed out of $all" | tee "$build/last_tests.txt"
[ "$failed" -eq 0 ]
