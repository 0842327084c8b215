#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/test.sh disable=SC2317 # functions are called through check
#
# test_agent_operators.sh - dumps of C++ programs begin at the caller of operator new.  $1: the
# agent, $2: operator_program
. "$(dirname "$0")/../test.sh"
agent=$1 program=$2
unset GEIGER_LOG MALLOC_CONF

# First addresses of stacks of 16 blocks or more, in the form.
first_addresses() {
	grep '^@' "$scratch/$1."*.heap -A1 | sed -n 's/^@ \(0x[0-9a-f]*\).*/\1/p'
	sed -n 's/^ *\(16\|17\): .* @ \(0x[0-9a-f]*\).*/\2/p' "$scratch/$1."*.heap
}

begins_at_the_caller() {
	local form=$1 begin end found=0 address
	read -r begin end < <(GEIGER_DIR=$scratch GEIGER_INTERVAL=1 GEIGER_DUMP=$scratch/$form \
		GEIGER_DUMP_FINAL=1 GEIGER_DUMP_FORM=$form LD_PRELOAD=$agent "$program")
	for address in $(first_addresses "$form"); do
		echo "$address of $begin to $end"
		((address >= begin && address < end)) && found=$((found + 1))
	done
	((found >= 4))
}

check "heap_v2 begins at the caller" begins_at_the_caller heap_v2
check "gperftools' form begins at the caller" begins_at_the_caller gperftools
finish
