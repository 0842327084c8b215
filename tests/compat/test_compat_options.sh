#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/test.sh disable=SC2317 # functions are called through check
#
# test_compat_options.sh GEIGER HAMMER AGENT COMPAT [CHAOS_AGENT] - checks how libgeiger-compat
# applies the environment: whether and how it records, and the lines that it logs.
. tests/test.sh

geiger=$1 hammer=$2 agent=$3 compat=$4 chaos=${5-}
jemalloc=libjemalloc.so.2
export GEIGER_DIR=$scratch/regions
unset MALLOC_CONF GEIGER_CONF GEIGER_INTERVAL GEIGER_ACTIVE
mkdir "$GEIGER_DIR"

# under VARIABLE=VALUE... COMMAND... - runs it with both libraries; its regions, dumps and stderr
# are alone.
under() {
	rm -rf "$GEIGER_DIR" "$scratch/files"
	mkdir "$GEIGER_DIR" "$scratch/files"
	(cd "$scratch/files" && env LD_PRELOAD="${preload:-$agent:$compat}" "$@" 2>"$scratch/errors")
}

regions() {
	find "$GEIGER_DIR" -name '*.region' | wc -l
}

# files PATTERN - how many dumps have such a name
files() {
	find "$scratch/files" -type f | sed 's,.*/,,' | grep -cE "$1"
}

program=(perl -e 'my @a = map { "x" x 100 } 1 .. 20000; print "ran\n"')

nothing_is_recorded_unless_asked() {
	[[ $(under "${program[@]}") == ran && $(regions) == 0 && ! -s $scratch/errors ]] &&
		[[ $(under MALLOC_CONF=narenas:2 "${program[@]}") == ran && $(regions) == 0 ]] &&
		[[ $(under MALLOC_CONF=prof:false "${program[@]}") == ran && $(regions) == 0 ]] &&
		[[ $(under MALLOC_CONF=prof:true "${program[@]}") == ran && $(regions) == 1 ]] &&
		[[ $(under GEIGER_CONF=prof:true "${program[@]}") == ran && $(regions) == 1 ]] &&
		[[ $(under GEIGER_ACTIVE=1 "${program[@]}") == ran && $(regions) == 1 ]] &&
		[[ ! -s $scratch/errors && -z $(ls "$scratch/files") ]]
}

# interval EXPECTED VARIABLE... - the sampling interval of a run
interval() {
	local expected=$1
	shift
	under "$@" "${program[@]}" >/dev/null
	"$geiger" debug region "$GEIGER_DIR"/*.region | grep -q "interval.* $expected\b" || {
		"$geiger" debug region "$GEIGER_DIR"/*.region | grep interval
		return 1
	}
}

the_interval_is_the_one_asked_for() {
	interval 524288 MALLOC_CONF=prof:true &&
		interval 4096 MALLOC_CONF=prof:true,lg_prof_sample:12 &&
		interval 8192 MALLOC_CONF=prof:true GEIGER_INTERVAL=8k &&
		interval 4096 MALLOC_CONF=prof:true,lg_prof_sample:12 GEIGER_INTERVAL=8k &&
		interval 2048 MALLOC_CONF=prof:true,lg_prof_sample:12 GEIGER_CONF=lg_prof_sample:11
}

the_libraries_may_stand_in_any_order() {
	local preload=$compat:$agent
	under "${program[@]}" >/dev/null
	[[ $(regions) == 0 ]] && interval 4096 MALLOC_CONF=prof:true,lg_prof_sample:12
}

malformed_pairs_are_told_once() {
	under MALLOC_CONF=prof:true,lg_prof_sample:many,what:ever GEIGER_CONF=prof_final:yes \
		"${program[@]}" >/dev/null
	diff <(sed 's/^geiger\[[0-9]*\]: //' "$scratch/errors") - <<-'END'
		MALLOC_CONF: 'lg_prof_sample:many' is not a number from 0 to 63; ignored
		GEIGER_CONF: 'prof_final:yes' is not true or false; ignored
	END
}

dumps_come_at_intervals_and_at_the_end() {
	under MALLOC_CONF=prof:true,lg_prof_sample:12,lg_prof_interval:19,prof_final:true,prof_prefix:heap \
		"${program[@]}" >/dev/null
	ls "$scratch/files"
	[[ $(files '^heap\.[0-9]+\.[0-9]+\.i[0-9]+\.heap$') -ge 2 &&
		$(files '^heap\.[0-9]+\.[0-9]+\.f\.heap$') == 1 ]] &&
		grep -q '^heap_v2/4096$' "$scratch"/files/*.f.heap
}

switched_off_it_dumps_nothing_but_the_end() {
	under MALLOC_CONF=prof:true,prof_active:false,lg_prof_sample:12,lg_prof_interval:16,prof_gdump:true,prof_final:true,prof_prefix:heap \
		"${program[@]}" >/dev/null
	[[ $(ls "$scratch/files") == heap.*.0.f.heap ]] && grep -q 't\*: 0: 0 ' "$scratch"/files/*.heap
}

a_record_session_records_whatever_the_options_say() {
	local answer
	answer=$("$geiger" record --compat -q -o "$scratch/x.geiger" -- "${program[@]}")
	[[ $answer == ran ]] && "$geiger" report "$scratch/x.geiger" | grep -q 'allocated' &&
		answer=$(MALLOC_CONF=prof:true,lg_prof_sample:10 "$geiger" record --compat -q \
			-o "$scratch/x.geiger" -- "${program[@]}") && [[ $answer == ran ]] &&
		"$geiger" report "$scratch/x.geiger" | grep -q 'every 1 KiB'
}

env_names_both_libraries() {
	local line
	line=$(GEIGER_AGENT=$agent "$geiger" env --compat)
	[[ $line == *"LD_PRELOAD=$agent:$compat"* ]]
}

# MALLOC_CONF belongs to the jemalloc, which writes its own dumps.  geiger profiles only by
# GEIGER_CONF.
a_jemalloc_that_profiles_keeps_its_options() {
	local preload=$agent:$compat:$jemalloc
	under MALLOC_CONF=prof:true,prof_final:true,prof_prefix:je "${program[@]}" >/dev/null
	[[ $(regions) == 0 && $(files '^je\..*\.f\.heap$') == 1 &&
		$(wc -l <"$scratch/errors") == 1 ]] && grep -q 'GEIGER_CONF' "$scratch/errors" || return 1
	under MALLOC_CONF=prof:true,prof_final:true,prof_prefix:je \
		GEIGER_CONF=prof:true,prof_final:true,prof_prefix:gg "${program[@]}" >/dev/null
	[[ $(regions) == 1 && $(files '^je\..*\.f\.heap$') == 1 &&
		$(files '^gg\..*\.f\.heap$') == 1 ]]
}

# Programs run normally with the libraries in another order, without the agent, and with another
# allocator.
programs_run_with_every_set_of_libraries() {
	local preload each
	for each in "$compat" "$compat:$agent" "$agent:$compat:$jemalloc" "$compat:$jemalloc" \
		"$agent:$compat:libtcmalloc.so.4" "$agent:$compat:libmimalloc.so.2"; do
		preload=$each
		[[ $(under MALLOC_CONF=prof:true GEIGER_LOG=/dev/null "${program[@]}") == ran ]] || {
			echo "with $each"
			return 1
		}
	done
}

texts_are_json_and_newer_names_are_there() {
	local asks=$PWD/tests/compat/asks.py
	[[ $(under MALLOC_CONF=prof:true,lg_prof_sample:0,prof_bt_max:77,prof_pid_namespace:true PYTHONMALLOC=malloc \
		python3 "$asks" "$scratch/files") == 'all as it should be' ]] || {
		cat "$scratch/errors"
		return 1
	}
}

eight_threads_hammer() {
	local log=$scratch/hammer.log
	mkdir -p "$scratch/dumps"
	MALLOC_CONF=prof:true,lg_prof_sample:8,prof_prefix:$scratch/dumps/p LD_PRELOAD=$1:$compat \
		timeout 100 "$hammer" "$scratch/dumps" "${GG_TEST_HAMMER_MS:-2000}" >"$log" 2>&1
	local status=$?
	tail -5 "$log"
	rm -rf "$scratch/dumps"
	[[ $status == 0 ]]
}

check nothing_is_recorded_unless_it_is_asked_for nothing_is_recorded_unless_asked
check the_interval_is_the_one_asked_for the_interval_is_the_one_asked_for
check the_libraries_may_stand_in_any_order the_libraries_may_stand_in_any_order
check malformed_pairs_are_told_once_and_others_work malformed_pairs_are_told_once
check dumps_come_at_intervals_and_at_the_end dumps_come_at_intervals_and_at_the_end
check while_it_is_switched_off_only_the_final_dump_is_written switched_off_it_dumps_nothing_but_the_end
check a_record_session_records_whatever_the_options_say a_record_session_records_whatever_the_options_say
check env_names_both_libraries env_names_both_libraries
if LD_PRELOAD=$jemalloc true 2>&1 | diff - /dev/null >/dev/null; then
	check a_jemalloc_that_profiles_keeps_its_options a_jemalloc_that_profiles_keeps_its_options
	check programs_run_with_every_set_of_libraries programs_run_with_every_set_of_libraries
fi
check texts_are_json_and_newer_names_are_there texts_are_json_and_newer_names_are_there
check eight_threads_hammer_all_calls_at_once eight_threads_hammer "$agent"
if [[ -e $chaos ]]; then
	check and_with_delays_at_every_atomic_operation eight_threads_hammer "$chaos"
fi
finish
