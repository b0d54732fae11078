#!/bin/bash
# install_packages.sh GROUP...: installs what is missing of these groups of Debian packages, as root or through sudo.
# Where it may not, it says what is missing and how to get it. Nothing missing: nothing is run, no network is needed.
set -euo pipefail

declare -A groups=(
    [build]="cmake ninja-build g++ pkg-config libcli11-dev nlohmann-json3-dev libtomlplusplus-dev libfmt-dev libexpected-dev liblz4-dev libzstd-dev"
    [test]="catch2 python3 python3-jsonschema python3-yaml git"
    [bench]="libbenchmark-dev python3"
    [sanitize]="clang-19 libclang-rt-19-dev llvm-19 mold"
)
wanted=()
for group in "$@"; do
    [ -n "${groups[$group]:-}" ] || { echo "install_packages.sh: no group '$group'" >&2; exit 2; }
    read -r -a packages <<<"${groups[$group]}"
    wanted+=("${packages[@]}")
done

if ! command -v dpkg-query >/dev/null 2>&1; then
    echo "note: this is no Debian; the build needs the likes of: ${wanted[*]}" >&2
    exit 0    # CMake says what it does not find
fi

installed() { dpkg-query -W -f='${Status}' "$1" 2>/dev/null | grep -q 'ok installed'; }
missing=()
for package in "${wanted[@]}"; do
    installed "$package" || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

if [ "$(id -u)" -eq 0 ]; then
    become=()
elif command -v sudo >/dev/null 2>&1 && { sudo -n true 2>/dev/null || { [ -t 0 ] && [ -z "${CI:-}" ]; }; }; then
    become=(sudo)
else
    echo "These packages are missing, and without root or sudo they cannot be installed:" >&2
    echo "    ${missing[*]}" >&2
    echo "Ask an administrator to run:  apt-get install --no-install-recommends ${missing[*]}" >&2
    exit 1
fi

echo "Installing: ${missing[*]}" >&2
apt=("${become[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Acquire::Retries=3 -o DPkg::Lock::Timeout=120)
install() { "${apt[@]}" install -y --no-install-recommends "${missing[@]}" >/dev/null </dev/null; }
# The package lists of a fresh machine are empty or old: then they are fetched first.
if ! install 2>/dev/null; then
    "${apt[@]}" update </dev/null || echo "apt-get update failed; trying with the lists that are there" >&2
    install || { echo "apt-get could not install: ${missing[*]}" >&2; exit 1; }
fi
