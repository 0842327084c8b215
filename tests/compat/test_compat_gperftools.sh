#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/test.sh disable=SC2317 # functions are called through check
#
# test_compat_gperftools.sh PROGRAM AGENT COMPAT - runs a program that uses gperftools' headers,
# with gperftools' variables, over glibc and over tcmalloc.
. tests/test.sh

program=$1 agent=$2 compat=$3
export GEIGER_DIR=$scratch/regions
mkdir "$GEIGER_DIR"

# ours MODE [VARIABLE=VALUE]... - what the program prints, in an empty folder.
ours() {
	rm -rf "$scratch/files"
	mkdir "$scratch/files"
	(cd "$scratch/files" && env LD_PRELOAD="$agent:$compat" "${@:2}" "$program" "$1" "$scratch/files/x" 2>&1)
}

files() {
	(cd "$scratch/files" && printf '%s ' *)
}

# allocated FILE - the bytes that its head says were allocated.
allocated() {
	sed -n '1s/.*: *\([0-9]*\)\] @ heapprofile$/\1/p' "$scratch/files/$1"
}

dumps_by_bytes() {
	local count
	[[ $(ours env HEAPPROFILE=x TCMALLOC_SAMPLE_PARAMETER=1 HEAP_PROFILE_ALLOCATION_INTERVAL=500000) == "running: 1" ]]
	files
	# 3 MB and a little, and the one at the end.
	count=$(files | wc -w)
	[[ $count == $(($(allocated "x.$(printf %04d "$count").heap") / 500000 + 1)) ]] &&
		[[ -f $scratch/files/x.0001.heap && -f $scratch/files/x.0007.heap ]] &&
		(($(allocated x.0007.heap) >= 3000000 && $(allocated x.0001.heap) < 510000))
}

# in_use FILE - the bytes that its head says are in use.
in_use() {
	sed -n '1s/^heap profile: *[0-9]*: *\([0-9]*\) .*/\1/p' "$scratch/files/$1"
}

dumps_by_freed_bytes() {
	ours frees HEAPPROFILE=x TCMALLOC_SAMPLE_PARAMETER=1 HEAP_PROFILE_DEALLOCATION_INTERVAL=500000
	files
	in_use x.0001.heap
	# At 0.5, 1, 1.5 and 2 MB, and at the end; what is freed is not in use any more.
	[[ $(files) == "x.0001.heap x.0002.heap x.0003.heap x.0004.heap x.0005.heap " ]] &&
		(($(in_use x.0001.heap) >= 2500000 && $(in_use x.0001.heap) < 2510000 &&
			$(in_use x.0004.heap) >= 1000000 && $(in_use x.0004.heap) < 1010000))
}

dumps_at_highs() {
	ours env HEAPPROFILE=x TCMALLOC_SAMPLE_PARAMETER=1 HEAP_PROFILE_INUSE_INTERVAL=900000
	# At 0.9, 1.8 and 2.7 MB, and at the end.
	[[ $(files) == "x.0001.heap x.0002.heap x.0003.heap x.0004.heap " ]]
}

only_the_end_by_default() {
	[[ $(ours env HEAPPROFILE=x) == "running: 1" && $(files) == "x.0001.heap " ]]
}

nothing_without_its_variables() {
	rm -f "$GEIGER_DIR"/*
	[[ $(ours env) == "running: 0" && $(files) == "* " && -z $(ls "$GEIGER_DIR") ]]
}

samples_without_dumps() {
	rm -f "$GEIGER_DIR"/*
	[[ $(ours env TCMALLOC_SAMPLE_PARAMETER=4096) == "running: 0" && $(files) == "* " &&
		$(ls "$GEIGER_DIR") == *.region ]]
}

signals() {
	ours signal HEAPPROFILE=x HEAPPROFILESIGNAL=12 && [[ $(files) == "x.0001.heap x.0002.heap " ]]
}

# The plain name is the first program's.
executed_programs_have_names_of_their_own() {
	rm -rf "$scratch/files"
	mkdir "$scratch/files"
	(
		cd "$scratch/files" || exit 1
		# shellcheck disable=SC2016 # the inner shell's
		LD_PRELOAD=$agent:$compat HEAPPROFILE=x bash -c '"$1" env; "$1" env; true' - "$program"
	) >"$scratch/out"
	files
	[[ $(files) =~ ^x\.0001\.heap\ x_[0-9]+\.0001\.heap\ x_[0-9]+\.0001\.heap\ $ ]]
}

use_pid() {
	ours env HEAPPROFILE=x HEAPPROFILE_USE_PID=1 && [[ $(files) =~ ^x_[0-9]+\.0001\.heap\ $ ]]
}

calls_start_and_stop() {
	local printed
	printed=$(ours calls GEIGER_INTERVAL=1 HEAP_PROFILE_INUSE_INTERVAL=0)
	echo "$printed"
	diff <(echo "$printed") - <<-EXPECTED || return 1
		running: 0, text: ""
		running: 1
		text: heap profile:, mappings: 1
		running: 0
	EXPECTED
	files
	# Blocks from before the start do not count, and the end writes no dump.
	[[ $(files) == "x.0001.heap " ]] &&
		(($(allocated x.0001.heap) >= 50000000 && $(allocated x.0001.heap) < 51000000))
}

extension_answers() {
	local printed
	printed=$(ours extension)
	diff <(echo "$printed") - <<-EXPECTED
		verify: 1111
		stats: 1
		sizes: 1 1
		owned: 1
		cache: 1
		allocated: 0
		set: 1
		period: 1 4096
	EXPECTED
}

# It has a heap profiler, and all of this is its own.
a_tcmalloc_underneath_answers() {
	[[ $(ours extension LD_PRELOAD="$agent:$compat:libtcmalloc.so.4") == *"allocated: 1"* ]] &&
		ours calls LD_PRELOAD="$agent:$compat:libtcmalloc.so.4" | grep -q "Starting tracking the heap"
}

without_the_agent_nothing_happens() {
	[[ $(ours env LD_PRELOAD="$compat" HEAPPROFILE=x) == "running: 0" && $(files) == "* " ]] &&
		ours calls LD_PRELOAD="$compat" | grep -q 'running: 0, text: ""'
}

check each_half_a_megabyte_allocated_is_a_dump_and_the_end_is_one dumps_by_bytes
check each_half_a_megabyte_freed_is_a_dump dumps_by_freed_bytes
check new_highs_are_dumps dumps_at_highs
check by_default_a_small_program_has_the_dump_at_its_end only_the_end_by_default
check without_the_variables_nothing_is_recorded nothing_without_its_variables
check a_sampling_parameter_alone_samples samples_without_dumps
check the_signal_of_heapprofilesignal_is_a_dump signals
check executed_programs_have_names_of_their_own executed_programs_have_names_of_their_own
check heapprofile_use_pid_is_obeyed use_pid
check calls_start_dump_and_stop calls_start_and_stop
check malloc_extension_answers_as_its_base_class extension_answers
if [[ $(ldconfig -p) == *libtcmalloc.so.4* ]]; then
	check a_tcmalloc_underneath_answers_itself a_tcmalloc_underneath_answers
else
	echo "skipped - a_tcmalloc_underneath_answers_itself: libtcmalloc.so.4 is not installed"
fi
check without_the_agent_nothing_happens without_the_agent_nothing_happens
finish
