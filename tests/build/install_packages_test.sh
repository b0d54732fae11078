#!/bin/bash
# tools/install_packages.sh on machines that are not this one: stand-ins for dpkg-query, apt-get, sudo and id say what
# the machine is; apt-get writes down what it is asked.
set -uo pipefail
script=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failures=0

stand_in() { printf '#!/bin/bash\n%s\n' "$2" >"$folder/bin/$1"; chmod +x "$folder/bin/$1"; }
machine() {   # machine MISSING_PACKAGE UID SUDO(yes|no) LISTS(fresh|empty)
    rm -rf "$folder/bin"
    mkdir -p "$folder/bin"
    for tool in bash env grep; do ln -s "$(command -v $tool)" "$folder/bin/$tool"; done
    : >"$folder/asked"
    stand_in dpkg-query "[ \"\${@: -1}\" = '$1' ] && [ ! -e $folder/installed ] || echo 'install ok installed'"
    stand_in id "echo $2"
    rm -f "$folder/installed" "$folder/updated"
    [ "$4" = empty ] || : >"$folder/updated"
    stand_in apt-get "echo \"apt-get \$*\" >>$folder/asked; case \"\$*\" in *update*) : >$folder/updated;; *install*) [ -e $folder/updated ] && : >$folder/installed;; esac"
    [ "$3" = no ] || stand_in sudo "echo \"sudo \$*\" >>$folder/asked; [ \"\$1\" = -n ] && exit 0; exec \"\$@\""
}
run() { output=$(PATH="$folder/bin" CI=true bash "$script" build test 2>&1 </dev/null); status=$?; }
expect() { [ "$2" = "$3" ] || { echo "$1: '$2' where '$3' was expected; output: $output"; failures=$((failures + 1)); }; }
asked() { grep -c -- "$1" "$folder/asked"; }

machine nothing-is-missing 1000 no fresh; run
expect "nothing missing: status" $status 0
expect "nothing missing: apt-get is not asked" "$(asked apt-get)" 0

machine catch2 0 no fresh; run
expect "root: status" $status 0
expect "root: one package installed" "$(asked 'install -y --no-install-recommends catch2$')" 1
expect "root: no update when the lists are there" "$(asked update)" 0

machine catch2 0 no empty; run
expect "empty lists: status" $status 0
expect "empty lists: one update" "$(asked update)" 1
expect "empty lists: installed after it" "$(asked 'install -y')" 2

machine catch2 1000 yes fresh; run
expect "sudo: status" $status 0
expect "sudo: through it" "$(asked 'sudo env DEBIAN_FRONTEND=noninteractive apt-get .*install .*catch2')" 1

machine catch2 1000 no fresh; run
expect "no right: status" $status 1
expect "no right: says which package and what to run" "$(grep -c 'apt-get install --no-install-recommends catch2$' <<<"$output")" 1
expect "no right: apt-get is not asked" "$(asked apt-get)" 0

machine catch2 0 no fresh; stand_in apt-get 'exit 100'; run
expect "apt fails: status" $status 1
expect "apt fails: says so" "$(grep -c 'could not install: catch2' <<<"$output")" 1

machine catch2 0 no fresh; rm "$folder/bin/dpkg-query"; run
expect "no Debian: goes on, with a note" $status 0
expect "no Debian: names what is needed" "$(grep -c 'ninja-build' <<<"$output")" 1

[ $failures -eq 0 ] && echo "all as expected"
exit $((failures > 0))
