#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `check` runs the functions; texts have backquotes.
# shellcheck source=tests/bindings/adapters.sh disable=SC2317,SC2016,SC2154
#
# test_python_versions.sh - Pythons that the adapter was not built for say so, each that is found
# here.
. "$(dirname "$0")/adapters.sh"
cd "$scratch" || exit 1
export PYTHONDONTWRITEBYTECODE=1

# refuses PYTHON
refuses() {
	local version status=0 text expected
	version=$("$1" -c 'import sys; print(sys.version.split()[0])')
	expected="this module was built for CPython 3.11, and this is CPython $version"
	text=$("$1" -m geiger nothing.py 2>&1) || status=$?
	equals "status of python -m geiger" "$status" 1 || return
	equals "lines of it" "$(wc -l <<<"$text")" 1 || return
	[[ $text == "python3 -m geiger: $expected"*'`geiger record python3 ...` shows'* ]] || {
		echo "$text"
		return 1
	}
	text=$("$1" -c 'import geiger' 2>&1)
	[[ $text == *"ImportError: geiger: $expected"* ]] || {
		echo "$text"
		return 1
	}
}

found=0
for candidate in /usr/bin/python3.[0-9]* "${PYENV_ROOT:-$HOME/.pyenv}"/versions/*/bin/python; do
	name=$("$candidate" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>&1) || continue
	[[ $candidate != *-config && $name != 3.11 ]] || continue
	check "python_${name}_is_told_which_python_the_adapter_is_for" refuses "$candidate"
	found=1
done
if ((!found)); then
	echo 'skipped - test_python_versions: no Python but the one that the adapter is for'
	exit 77
fi
finish
