#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# proof_malloc.sh [TEST]... - all real programs do the same with the allocator libgeiger-malloc, in
# the ways that REAL_WAY names (real.sh).  TEST is the name of a file test_TEST.sh, with arguments.
# Prints a summary for script/proof.
set -u

folder=$(cd "$(dirname "$0")" && pwd)
tests=("$@")
if ((!$#)); then
	# Those that compare a program's output; old_glibc and dotnet have questions of their own.
	tests=(archives chromium compilers git imagemagick interpreters memcached nginx openssl perl postgres pypy
		'python malloc' python redis sqlite3)
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
status=0
for test in "${tests[@]}"; do
	read -r name arguments <<<"$test"
	# shellcheck disable=SC2086 # a list of words
	"$folder/test_$name.sh" $arguments 2>&1 | tee -a "$log"
	case ${PIPESTATUS[0]} in
	0 | 77) ;;
	*) status=1 ;;
	esac
done

count() {
	grep -cE "^$1 - .*$2" "$log"
}

echo summary
echo
echo '| way | programs that do the same | that do not | whole profiles, or regions of each process | others |'
echo '|-|-|-|-|-|'
for way in ${REAL_WAY:?}; do
	kept="has_(a_whole_profile|regions)_by_$way$"
	same="does_the_same_with_libgeiger_malloc_by_$way$"
	echo "| $way | $(count ok "$same") | $(count FAILED "$same") | $(count ok "$kept") | $(count FAILED "$kept") |"
done
echo
grep -E '^(FAILED|skipped) - ' "$log" || echo 'Nothing differs, and nothing was skipped.'
exit "$status"
