#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# bash fills arrays and an associative array, and splits and joins strings.
#
# packages: bash
# modules: bash
# interval: 16k
# shellcheck source=tests/programs/workload.sh
. "$(dirname "$0")/workload.sh"

cat >work.sh <<'BASH'
declare -A table
declare -a list
for ((i = 0; i < 40000; i++)); do
	table[key$((i % 5000))]+="value $i;"
	list[i]="element number $i"
done
words=(${list[*]})
text="${words[*]/number/no}"
echo "${#table[@]} ${#words[@]} ${#text}"
BASH
record bash work.sh >/dev/null
