#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `check` runs the functions.
# shellcheck source=tests/bindings/adapters.sh disable=SC2317,SC2154
#
# test_python_versions.sh - `python -m geiger` with Pythons that the module in C was not built for,
# each that is found here.
. "$(dirname "$0")/adapters.sh"
cd "$scratch" || exit 1
export PYTHONDONTWRITEBYTECODE=1
echo 'import sys; kept = [bytes(3000) for i in range(2000)]; print(sys.argv, sys.flags.optimize); sys.exit(7)' >own.py

# refuses PYTHON - one that is too old.
refuses() {
	local version status=0 text
	version=$("$1" -c 'import sys; print(sys.version.split()[0])')
	text=$("$1" -m geiger own.py 2>&1) || status=$?
	equals "status of python -m geiger" "$status" 1 || return
	[[ $text == *"geiger: this package is for Python 3.8 or later, and this is $version"* ]] || {
		echo "$text"
		return 1
	}
}

# runs PYTHON - it starts the program anew under `geiger record`.
runs() {
	local text status=0
	text=$("$1" -O -m geiger -i 16k -o "$2.geiger" own.py a -b 2>errors) || status=$?
	equals status "$status" 7 || return
	equals output "$text" "['own.py', 'a', '-b'] 1" || return
	"$GEIGER" report "$2.geiger" --metric allocated --by line --no-head |
		grep '^ *[0-9].* own.py:1 ' || return
	status=0
	text=$("$GEIGER" record --quiet -o "$2.within.geiger" -- "$1" -m geiger own.py c) || status=$?
	equals 'status under geiger record' "$status" 7 || return
	equals 'output under geiger record' "$text" "['own.py', 'c'] 0" || return
	status=0
	text=$("$1" -m geiger --native own.py 2>&1) || status=$?
	equals 'status of --native' "$status" 2
}

found=0
for candidate in /usr/bin/python3.[0-9]* "${PYENV_ROOT:-$HOME/.pyenv}"/versions/*/bin/python; do
	name=$("$candidate" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>&1) || continue
	[[ $candidate != *-config ]] || continue
	case $name in
	2.* | 3.[0-7]) check "python_${name}_is_told_that_it_is_too_old" refuses "$candidate" ;;
	3.11) continue ;;
	*) check "python_${name}_starts_the_program_anew" runs "$candidate" "$name" ;;
	esac
	found=1
done
if ((!found)); then
	echo 'skipped - test_python_versions: no Python but the one that the module is for'
	exit 77
fi
finish
