#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# proof_malloc_guard.sh LIBRARY PROGRAM GEIGER BENCH - guarded blocks show all planted errors, ten
# times, and cost at most 0.1 % of the instructions at the default rate.  Chance places each block
# at one of the ends of its slot, so each round is another one.  LIBRARY, PROGRAM and GEIGER are
# those of test_malloc_guard.sh, BENCH is bench_malloc.py with its variables.
set -u

folder=$(cd "$(dirname "$0")" && pwd)
log=$(mktemp)
trap 'rm -f "$log"' EXIT
status=0 found=0
for round in {1..10}; do
	echo "round $round"
	"$folder/test_malloc_guard.sh" "$1" "$2" "$3" >"$log" 2>&1 || status=1
	if grep -q '^ok - 42 planted errors of seven kinds are found$' "$log"; then
		found=$((found + 42))
	else
		cat "$log"
	fi
	grep -v '^ok - ' "$log" | tail -20
done
"$4" guards >"$log" || status=1

echo summary
echo
echo "Planted errors of seven kinds that were found: $found of 420, in ten rounds of test_malloc_guard.sh."
echo
sed 's/^ */- /' "$log"
exit "$status"
