#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/test.sh disable=SC2317 # functions are called through check
#
# test_malloc_beside.sh - libgeiger-malloc.so serves alone, whatever other allocator is loaded
# behind it.  $1: the library with delays at every atomic operation, $2: odd_program, $3 and $4:
# new_program, plain and with operators of its own; further arguments: other allocators.
. "$(dirname "$0")/../test.sh"
library=$1 odd=$2 new=$3 replaced=$4
shift 4
unset GEIGER_LOG GEIGER_ACTIVE
export GEIGER_DIR=$scratch

# Leaves the output with its exit status in a file.
run() {
	"${@:2}" >"$scratch/$1" 2>&1
	echo "status $?" >>"$scratch/$1"
	rm -f "$scratch"/geiger-*
}

# The same as under libc's allocator.
runs_the_same() {
	run plain "$@"
	run ours env GEIGER_INTERVAL=4k LD_PRELOAD="$library $behind" "$@"
	diff "$scratch/plain" "$scratch/ours"
}

# Threads take more than 0.1 s, after which the agent asks the allocator that it knows for totals.
odd_program_is_the_same() {
	local what
	for what in threads children contents; do
		runs_the_same "$odd" "$what" || return 1
	done
}

operators_are_the_same() {
	runs_the_same "$new" && runs_the_same "$replaced"
}

for behind in "" "$@"; do
	name=$(basename "${behind:-nothing}")
	check "odd programs are the same before $name" odd_program_is_the_same
	check "operators new and delete are the same before $name" operators_are_the_same
done
finish
