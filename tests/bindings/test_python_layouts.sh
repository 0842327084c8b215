#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `check` runs the functions.
# shellcheck source=tests/bindings/adapters.sh disable=SC2317,SC2154
#
# test_python_layouts.sh - the adapter's table of layouts is what the headers of each CPython say
# that is found here.  PRINT_LAYOUT: the program that prints the adapter's.
. "$(dirname "$0")/adapters.sh"
here=$(realpath "$(dirname "$0")")
cd "$scratch" || exit 1

# same MINOR FOLDER - the layout of 3.MINOR, whose headers are in FOLDER.
same() {
	"${CC:-cc}" -w -I"$2" "$here/python_offsets.c" -o offsets || return
	equals "layout of CPython 3.$1" "$("$PRINT_LAYOUT" "$1" | sort)" "$(./offsets | grep -v ' 0$' | sort)"
}

found=0
for folder in /usr/include/python3.* "${PYENV_ROOT:-$HOME/.pyenv}"/versions/*/include/python3.*; do
	minor=${folder##*/python3.}
	[[ -e $folder/Python.h && $minor =~ ^[0-9]+$ && $minor -ge 8 && $minor -le 13 ]] || continue
	check "the_table_has_the_layout_of_the_headers_in_$(tr -c '[:alnum:]\n' _ <<<"$folder")" same "$minor" "$folder"
	found=1
done
if ((!found)); then
	echo 'skipped - test_python_layouts: no headers of Python from 3.8 to 3.13'
	exit 77
fi
finish
