#!/bin/bash
# demo.sh FLIPFLOP: the main job on a real kernel: 16 heads of attention over 512 positions, on an A100.
set -euo pipefail
flipflop=$1
cd "$(dirname "$0")/.."
command=(analyze examples/attention.ptx --gpu a100 --grid-x 'ceil(512 / block.y)' --grid-y 16 --arg 4=512 --arg 5=64 --arg 6=0.125)
printf '\n$ flipflop'
printf ' %q' "${command[@]}"
printf '\n\n'
"$flipflop" "${command[@]}"
