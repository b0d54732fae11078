#!/usr/bin/env bash
# The step of action.yml: runs `flipflop check`, shows its report in the step summary and as annotations, then, where it is
# asked for and allowed, in one comment of the pull request. Its inputs are environment variables (FLIPFLOP_*); its status is
# the gate's. What goes wrong with a surface (no permission, no network) is a warning and never changes the verdict.
set -uo pipefail

output() { printf '%s=%s\n' "$1" "$2" >>"${GITHUB_OUTPUT:-/dev/null}"; }
# Text inside a workflow command: a line break would begin another command.
escaped() { local text=${1//'%'/%25}; text=${text//$'\r'/%0D}; printf '%s' "${text//$'\n'/%0A}"; }
stop() { printf '::error title=flipflop::%s\n' "$(escaped "$1")"; output verdict error; exit 2; }

command=${FLIPFLOP_COMMAND:-flipflop}
command -v -- "$command" >/dev/null 2>&1 || stop "there is no '$command' here: install flipflop in a step before this one"
[ -n "${FLIPFLOP_FILES//[[:space:]]/}" ] || stop "the input 'files' is empty"
[ -z "${FLIPFLOP_BASELINE:-}" ] || [ -z "${FLIPFLOP_BASE:-}" ] || stop "'baseline' and 'base' are two: give one"

for name in BASELINE BASE SARIF; do   # each is one line; what follows a break would be another output
    value=FLIPFLOP_$name
    [[ ${!value:-} != *[$'\n\r']* ]] || stop "the input '${name,,}' holds a line break"
done

shopt -s globstar nullglob
files=()
read -r -d '' -a patterns <<<"$FLIPFLOP_FILES"
for pattern in "${patterns[@]}"; do
    [[ $pattern != -* ]] || stop "the input 'files' holds an option: '$pattern'"   # what follows -- is for compilers
    mapfile -t found < <(compgen -G "$pattern")
    if [ ${#found[@]} -gt 0 ]; then files+=("${found[@]/#-/./-}"); else files+=("$pattern"); fi
done
arguments=()
read -r -a gpus <<<"${FLIPFLOP_GPU:-}"
for gpu in ${gpus[@]+"${gpus[@]}"}; do arguments+=("--gpu=$gpu"); done
[ -z "${FLIPFLOP_BASELINE:-}" ] || arguments+=("--baseline=$FLIPFLOP_BASELINE")
[ -z "${FLIPFLOP_BASE:-}" ] || arguments+=("--base=$FLIPFLOP_BASE")
[ -z "${FLIPFLOP_FAIL_ON:-}" ] || arguments+=("--fail-on=$FLIPFLOP_FAIL_ON")
read -r -a more <<<"${FLIPFLOP_OPTIONS:-}"

folder=${RUNNER_TEMP:-$(mktemp -d)}
report=$folder/flipflop.json markdown=$folder/flipflop.md
rm -f "$report" "$markdown"
arguments+=("--format=json=$report" "--format=markdown=$markdown" --format=github)
[ -z "${FLIPFLOP_SARIF:-}" ] || arguments+=("--format=sarif=$FLIPFLOP_SARIF")
"$command" check "${files[@]}" ${arguments[@]+"${arguments[@]}"} ${more[@]+"${more[@]}"}
status=$?

case $status in 0) output verdict pass ;; 1) output verdict fail ;; *) output verdict error ;; esac
[ ! -s "$report" ] || output report "$report"
[ -z "${FLIPFLOP_SARIF:-}" ] || [ ! -s "$FLIPFLOP_SARIF" ] || output sarif "$FLIPFLOP_SARIF"
if [ -s "$markdown" ]; then
    cat "$markdown" >>"${GITHUB_STEP_SUMMARY:-/dev/null}" || echo "::warning title=flipflop::the step summary could not be written"
fi
if [ "${FLIPFLOP_COMMENT:-false}" = true ] && [ -s "$markdown" ]; then
    python3 "$(dirname -- "${BASH_SOURCE[0]}")/comment.py" "$report" "$markdown" ||
        echo "::warning title=flipflop::the comment on the pull request could not be written; the report is in the step summary"
fi
exit $status
