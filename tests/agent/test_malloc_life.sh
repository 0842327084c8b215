#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/test.sh disable=SC2317 # functions are called through check
#
# test_malloc_life.sh - libgeiger-malloc.so through the life of processes and threads.  $1: the
# library, $2: the library with delays at every atomic operation, $3: life_program, $4: an audit
# library, $5: deep_module, $6: slow_allocator, $7: how life_program finds deep_module by its own
# list of folders
. "$(dirname "$0")/../test.sh"
library=$1 chaos=$2 program=$3 audit=$4 deep=$5 first=$6 deep_name=$7
unset GEIGER_LOG GEIGER_ACTIVE LD_LIBRARY_PATH
export GEIGER_DIR=$scratch GEIGER_INTERVAL=4k

# The only line of the program says that nothing is wrong.
is_right() {
	local expected=$1
	shift
	"$@" >"$scratch/out" 2>&1
	local status=$?
	rm -f "$scratch"/geiger-*
	echo "status $status: $(cat "$scratch/out")"
	[[ $status == 0 && $(cat "$scratch/out") == "$expected: 0 wrong" ]]
}

threads_come_and_go() {
	is_right threads env LD_PRELOAD="$library" "$program" threads
}

# The loader opens the copy although it is the same library under another name.
a_copy_is_opened() {
	cp "$library" "$scratch/libcopy.so" &&
		is_right copy env LD_PRELOAD="$library" "$program" copy "$scratch/libcopy.so" &&
		is_right copy "$program" copy "$scratch/libcopy.so"
}

foreign_blocks_are_passed_on() {
	is_right foreign env LD_PRELOAD="$library" "$program" foreign
}

# PHP opens its modules so.
a_library_with_bindings_of_its_own() {
	is_right deep env LD_PRELOAD="$library" "$program" deep "$deep" &&
		is_right deep env LD_PRELOAD="$library" "$program" deep "$deep_name"
}

# Blocks of two allocators cannot meet there.
the_flag_stays_behind_another_allocator() {
	GEIGER_LOG=$scratch/log is_right kept env LD_PRELOAD="$first:$library" "$program" kept "$deep" &&
		is_right kept "$program" kept "$deep"
}

forks_among_threads() {
	is_right forks env LD_PRELOAD="$chaos" "$program" forks
}

exec_among_threads() {
	is_right threads env LD_PRELOAD="$library" "$program" exec "$program"
}

# The loader has audit libraries in a namespace of their own, whose libc allocates by itself.
beside_an_audit_library() {
	is_right foreign env LD_AUDIT="$audit" LD_PRELOAD="$library" "$program" foreign
}

check "thousands of threads come and go" threads_come_and_go
check "a copy is opened, used and closed" a_copy_is_opened
check "blocks of libc's own allocator are passed on" foreign_blocks_are_passed_on
check "a library that binds to libc first shares blocks with the program" a_library_with_bindings_of_its_own
check "another allocator serves, and the flag stays" the_flag_stays_behind_another_allocator
check "threads and handlers fork while others allocate" forks_among_threads
check "a thread executes a program while others allocate" exec_among_threads
check "an audit library allocates" beside_an_audit_library
finish
