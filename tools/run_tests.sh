#!/bin/bash
# run_tests.sh BUILD_FOLDER JOBS [ctest options]: every test; ends on the line "N passed, M failed", alone.
set -uo pipefail
build=$1 jobs=$2
shift 2
log=$build/last_tests.txt
ctest --test-dir "$build" -j "$jobs" --output-on-failure --no-tests=error "$@" </dev/null 2>&1 | tee "$log"
status=${PIPESTATUS[0]}
summary=$(grep -E '^[0-9]+% tests passed, [0-9]+ tests? failed out of [0-9]+' "$log" | tail -1)
failed=$(sed -E 's/.*passed, ([0-9]+) tests? failed.*/\1/' <<<"$summary")
total=$(sed -E 's/.*out of ([0-9]+).*/\1/' <<<"$summary")
if [ -z "$summary" ]; then
    echo "0 passed, 1 failed"
    exit 1
fi
echo
echo "$((total - failed)) passed, $failed failed"
[ "$status" -eq 0 ] && [ "$failed" -eq 0 ]
