#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/test.sh disable=SC2317 # functions are called through check
#
# test_malloc_limits.sh - memory that libgeiger-malloc.so gives back, and limits that it respects.
# $1: the library, $2: limits_program, $3: exhaust_program
. "$(dirname "$0")/../test.sh"
library=$1 program=$2 exhaust_program=$3
unset GEIGER_LOG GEIGER_ACTIVE GEIGER_INTERVAL
export GEIGER_DIR=$scratch

# The only line of the program says that nothing is wrong.
is_right() {
	LD_PRELOAD=$library "$program" "$1" >"$scratch/out" 2>&1
	local status=$?
	rm -f "$scratch"/geiger-*
	echo "status $status: $(cat "$scratch/out")"
	[[ $status == 0 && $(cat "$scratch/out") == "$1: 0 wrong" ]]
}

an_idle_process_falls() {
	is_right rest
}

blocks_behind_a_queue_go_back() {
	is_right consumer
}

buffers_keep_their_pages() {
	is_right buffers
}

threads_hardly_wait() {
	is_right crowd
}

mappings_stay_few() {
	is_right mappings
}

# The agent is off, because it makes system calls of its own.
nothing_new_is_called() {
	GEIGER_ACTIVE=0 is_right sandbox
}

# With assertions, an invariant that breaks stops the program.
a_kernel_may_refuse() {
	is_right refused
}

limited_address_space() {
	(ulimit -v 300000 && is_right fill)
}

limited_data() {
	(ulimit -d 300000 && is_right fill)
}

# The region is small, so that the limit is the allocator's alone.
threads_may_exhaust_a_later_limit() {
	GEIGER_MAX_LIVE=16384 GEIGER_MAX_STACKS=16384 GEIGER_MAX_ROWS=16384 GEIGER_INTERVAL=64k LD_PRELOAD=$library \
		timeout 100 "$exhaust_program" >"$scratch/out" 2>&1 || return 1
	rm -f "$scratch"/geiger-*
	cat "$scratch/out"
	[[ $(cat "$scratch/out") == "exhaust: 0 wrong" ]]
}

check "a process that does little falls to live + 10 %" an_idle_process_falls
check "blocks that another thread frees are used again" blocks_behind_a_queue_go_back
check "buffers of 5 to 25 MiB keep their pages" buffers_keep_their_pages
check "64 threads hardly ever wait for each other" threads_hardly_wait
check "giving memory back splits no mapping" mappings_stay_few
check "in a sandbox no new system call is made" nothing_new_is_called
check "the kernel may refuse to take memory back" a_kernel_may_refuse
check "with 293 MiB of address space, 150 MiB are allocated and threads run" limited_address_space
check "with 293 MiB of data, 150 MiB are allocated and threads run" limited_data
check "a program limits its address space after its start, and threads exhaust it" threads_may_exhaust_a_later_limit
finish
