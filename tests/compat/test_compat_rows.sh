#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/test.sh disable=SC2317 # functions are called through check
#
# test_compat_rows.sh PROGRAM PHASES AGENT COMPAT [own] - compares the answers of mallctl() with
# jemalloc's.
#
# PROGRAM uses only jemalloc's header, and calls mallctl() with every name in every way, errors
# included. It runs under libjemalloc2, whose build for Debian has the profiler, and over glibc
# under the agent.  All lines must be equal.  PHASES controls the profiler while it runs, with every
# allocation as a sample; its lines must be equal as well.
#
# own: AGENT is libgeiger-malloc.so.  It samples nothing of the lists that a thread was handed
# before sampling was switched on, and ignores switches of single threads.  The script leaves the
# rows out that need these.
. tests/test.sh

program=$1 phases=$2 agent=$3 compat=$4 own=${5:-}
jemalloc=libjemalloc.so.2
export GEIGER_DIR=$scratch/regions
mkdir "$GEIGER_DIR"

# transcript NAME PRELOAD CONF - the program's output, and the files that it leaves.  Those at
# high-water marks differ, because jemalloc's marks are of address space, and geiger's of live
# bytes.
transcript() {
	rm -rf "$scratch/files"
	mkdir "$scratch/files"
	(
		cd "$scratch/files" || exit 1
		MALLOC_CONF=$3 LD_PRELOAD=$2 "$program" "$scratch/files" 2>"$scratch/$1.errors"
		echo "exit status $?"
		for file in *; do
			[[ $file == *.u*.heap ]] || echo "$file" | sed -E 's/\.[0-9]+\.[0-9]+\./.PID.N./'
		done
	) >"$scratch/$1"
}

# Before the first sample, jemalloc does not know how the system calls a thread.
without_system_names() {
	sed -E "s/^(thread.prof.name read.* length 8) '.*'/\1/" "$1"
}

same_answers() {
	transcript theirs "$jemalloc" "$1"
	transcript ours "$agent:$compat" "$1"
	if [[ $1 == *sys_thread_name* ]]; then
		diff <(without_system_names "$scratch/theirs") <(without_system_names "$scratch/ours")
	else
		diff "$scratch/theirs" "$scratch/ours"
	fi
	[[ $? == 0 && $(wc -l <"$scratch/ours") -gt 600 ]]
}

same_phases() {
	local conf=prof:true,lg_prof_sample:0,prof_accum:true,prof_stats:true
	mkdir -p "$scratch/phases"
	MALLOC_CONF=$conf LD_PRELOAD=$jemalloc "$phases" "$scratch/phases" >"$scratch/theirs"
	MALLOC_CONF=$conf LD_PRELOAD=$agent:$compat "$phases" "$scratch/phases" >"$scratch/ours"
	diff "$scratch/theirs" "$scratch/ours" && [[ $(wc -l <"$scratch/ours") -gt 20 ]]
}

# Without the agent nobody profiles: as a jemalloc says that was built without its profiler.
alone_it_has_no_profiler() {
	local answers
	answers=$(cd "$scratch" && MALLOC_CONF=prof:true LD_PRELOAD=$compat "$program" "$scratch")
	[[ $answers == *"config.prof read: ok length 1 0"* ]] &&
		! grep -E '^(opt|prof|thread\.prof|experimental)\.' <<<"$answers" |
			grep -vE ': ENOENT| in [0-9]: '
}

# The jemalloc itself answers the names that geiger does not have.
jemalloc_answers_what_is_its_own() {
	local theirs
	theirs=$(cd "$scratch" && MALLOC_CONF=prof:true LD_PRELOAD=$jemalloc "$program" "$scratch" |
		head -300)
	diff <(echo "$theirs") <(cd "$scratch" && MALLOC_CONF=prof:true GEIGER_LOG=/dev/null \
		LD_PRELOAD=$agent:$compat:$jemalloc "$program" "$scratch" | head -300)
}

if ! LD_PRELOAD=$jemalloc true 2>&1 | diff - /dev/null >/dev/null; then
	echo "skipped - mallctl_answers_as_jemalloc: there is no libjemalloc.so.2"
	exit 77
fi
check mallctl_answers_as_jemalloc_that_does_not_profile same_answers ''
check mallctl_answers_as_jemalloc_that_profiles same_answers prof:true
check mallctl_answers_as_jemalloc_that_is_switched_off same_answers \
	prof:true,prof_stats:true,prof_active:false,lg_prof_interval:34,prof_prefix:pre,prof_recent_alloc_max:7
[[ $own ]] || check mallctl_answers_as_jemalloc_with_all_it_can_have same_answers \
	prof:true,prof_thread_active_init:false,lg_prof_sample:100,prof_gdump:true,prof_accum:true,prof_sys_thread_name:true,prof_prefix:pre,prof_stats:true
check mallctl_answers_as_jemalloc_that_looks_for_leaks same_answers \
	prof_leak:true,prof_final:true,prof_prefix:pre
[[ $own ]] || check switches_threads_classes_history_and_resets_do_what_they_do_with_jemalloc same_phases
check without_the_agent_there_is_no_profiler alone_it_has_no_profiler
check a_jemalloc_that_profiles_answers_by_itself jemalloc_answers_what_is_its_own
finish
