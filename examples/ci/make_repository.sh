#!/usr/bin/env bash
# make_repository.sh FOLDER [FLIPFLOP]: the example as a git repository: `main` with its baseline, and four branches, one a
# pull request: pr/1-pass, pr/2-regression, pr/3-waiver, pr/4-rename. Try one: git switch pr/2-regression, then
#     flipflop check kernels/particles.ptx --baseline flipflop.baseline.json --ptxas off
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=${1:?make_repository.sh FOLDER [FLIPFLOP]}
flipflop=$(command -v -- "${2:-flipflop}") || { echo "make_repository.sh: there is no '${2:-flipflop}'" >&2; exit 1; }
flipflop=$(realpath -- "$flipflop")
[ ! -e "$folder" ] || { echo "make_repository.sh: $folder is there already" >&2; exit 1; }

mkdir -p "$folder"
cp -R "$here/repository/." "$folder"
cd "$folder"
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
git init -q -b main .
git config user.name "Example" && git config user.email "example@example.invalid"
git add -A && git commit -q -m "Two kernels of a particle simulation"
"$flipflop" baseline kernels/particles.ptx --gpu a100 --ptxas off -o flipflop.baseline.json
git add -A && git commit -q -m "The baseline that pull requests are compared with"
for request in "$here"/pull-requests/*/; do
    name=$(basename "$request")
    git switch -q -c "pr/$name" main
    cp -R "$request." .
    git commit -q -a -F MESSAGE 2>/dev/null || git commit -q -a -m "$name"
    rm -f MESSAGE
done
git switch -q main
git branch --list --format='%(refname:short)  %(contents:subject)'
