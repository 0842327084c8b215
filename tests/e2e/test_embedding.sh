#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2317 # functions are called through check
#
# test_embedding.sh GEIGER LIBRARIES - libgeiger in programs: with the agent, without it, linked
# statically; and the example of docs/EMBEDDING.md, as it stands there.
. tests/test.sh

geiger=$1
libraries=$2
warnings=(-O1 -g -Wall -Wextra -Werror -pedantic -I include)
shared=("-L$libraries" -lgeiger "-Wl,-rpath,$libraries")
export GEIGER_DIR=
mkdir "$scratch/regions"
export GEIGER_LOG=$scratch/log

# Compiles as C99 with what is linked: compile OUTPUT SOURCE LINKED...
compile() {
	local output=$1 source=$2
	shift 2
	cc -std=c99 "${warnings[@]}" "$source" -o "$output" "$@"
}

# One number of a profile.
ask() {
	"$geiger" sql --csv "$1" "$2" | tail -n +2 | tr -d "\"\r"
}

# shellcheck disable=SC2016 # the backquotes are the page's
sed -n '/^```c$/,/^```$/p' docs/EMBEDDING.md | sed '/^```/d' >"$scratch/example.c"
cp "$scratch/example.c" "$scratch/example.cc"

example_is_c99() {
	compile "$scratch/example" "$scratch/example.c" "${shared[@]}"
}

example_is_cxx17() {
	command -v c++ >/dev/null || return 0
	c++ -std=c++17 "${warnings[@]}" "$scratch/example.cc" -o "$scratch/example-cxx" "${shared[@]}" &&
		[[ $("$scratch/example-cxx") == "not sampled" ]]
}

example_alone_samples_nothing() {
	[[ $(GEIGER_DIR=$scratch/regions "$scratch/example") == "not sampled" ]] &&
		[[ -z $(ls "$scratch/regions") ]]
}

example_without_geiger() {
	cc -std=c99 "${warnings[@]}" -DGEIGER_DISABLED "$scratch/example.c" -o "$scratch/disabled" &&
		[[ $("$scratch/disabled") == "not sampled" ]] &&
		! nm "$scratch/disabled" | grep 'geiger_'
}

# 999 requests of 1000 points and 100 lines: 16 million and 20 million bytes; half of them ended by
# a reset.
example_is_recorded() {
	local sql="select abs(sum(bytes) / 999 / 1000 / 16 - 1) < 0.1 from v_sample where heap = 'requests'
		and type = 'point'"

	[[ $("$geiger" record -q --seed 1 -i 4k -o "$scratch/e.geiger" "$scratch/example") == sampled ]] &&
		"$geiger" check "$scratch/e.geiger" &&
		[[ $(ask "$scratch/e.geiger" "$sql") == 1 ]] &&
		"$geiger" report "$scratch/e.geiger" -m allocated --by heap | grep -q ' requests$' &&
		"$geiger" report "$scratch/e.geiger" -m allocated --by type | grep -q ' line$' &&
		"$geiger" report "$scratch/e.geiger" --focus serve | grep -q arena_alloc
}

check the_example_is_c99_without_a_warning example_is_c99
check the_example_is_cxx17_without_a_warning example_is_cxx17
check the_example_alone_samples_nothing_and_leaves_nothing example_alone_samples_nothing
check disabled_headers_need_no_library_and_leave_no_symbol example_without_geiger
check the_example_under_geiger_record_is_in_the_profile example_is_recorded

# Checks the profile of embed_program, regardless of its writer: the blocks of malloc if the writer
# saw them, and the dead blocks if the profile has a history.
is_as_it_was() {
	local profile=$1 sees_malloc=$2 pairs=${3-100} young="heap = 'young [cells]'"

	[[ $(ask "$profile" "select count(*) from v_sample where $young and type = 'pair'") == "$pairs" ]] &&
		[[ $(ask "$profile" "select count(*) from v_sample where $young and t_free is null") == 47 ]] &&
		[[ $(ask "$profile" "select count(*) from v_sample where $young and type = 'pair'
			and t_free is null and address between 100061 and 100100 and flags & 4") == 40 ]] &&
		[[ $(ask "$profile" "select count(*) from v_sample where $young and type = 'string'
			and address between 201 and 207 and flags & 4 = 0") == 7 ]] &&
		[[ $(ask "$profile" "select sum(bytes) from v_sample where heap = 'old'
			and type = 'vector' and t_free is null") == 10000* ]] &&
		[[ $(ask "$profile" "select count(*) from v_sample where heap is null and size = 12345") == "$sees_malloc" ]] &&
		"$geiger" check "$profile"
}

# Runtime frames between native ones: allocate < load < main < interpret.
has_frames() {
	local functions

	functions=$(ask "$1" "select functions from v_stack where functions like '%load%' limit 1")
	echo "$functions"
	[[ $functions == *"main;interpret;main;load"* ]] &&
		"$geiger" report "$1" --by line | grep 'json.scm:40 load' &&
		"$geiger" report "$1" --total | grep -F 'load (json.scm)' &&
		"$geiger" symbolize "$1" && "$geiger" report "$1" --by line | grep 'json.scm:40 load'
}

program=$scratch/program
compile "$program" tests/e2e/embed_program.c "${shared[@]}" || exit 1

with_the_agent() {
	[[ $("$geiger" record -q -i 1 -o "$scratch/a.geiger" "$program") == 1 ]] &&
		is_as_it_was "$scratch/a.geiger" 1 && has_frames "$scratch/a.geiger"
}

# The agent's own control, and its being switched off from the start.
agent_switched_off() {
	[[ $(GEIGER_ACTIVE=0 "$geiger" record -q -i 1 -o "$scratch/off.geiger" "$program") == 0 ]] &&
		[[ $(ask "$scratch/off.geiger" "select count(*) from sample") == 0 ]]
}

start_under_the_agent() {
	[[ $(GEIGER_ACTIVE=0 "$geiger" record -q -i 512k -o "$scratch/on.geiger" "$program" start) == 1 ]] &&
		is_as_it_was "$scratch/on.geiger" 1
}

killed() {
	"$geiger" record -q -i 1 -o "$scratch/k.geiger" "$program" abort >/dev/null
	is_as_it_was "$scratch/k.geiger" 1
}

snapshot() {
	"$geiger" record -q -i 1 -o "$scratch/whole.geiger" "$program" snapshot "$scratch/snapshot" >/dev/null &&
		[[ ! -e $scratch/snapshot.part ]] &&
		"$geiger" salvage -o "$scratch/snapshot.geiger" "$scratch/snapshot" &&
		is_as_it_was "$scratch/snapshot.geiger" 1 40 && has_frames "$scratch/snapshot.geiger" &&
		"$geiger" debug region --samples "$scratch/snapshot" | grep 'load (/lib/json.scm:40) main'
}

# Sparse but for its thread, malloc included.
a_dense_thread() {
	[[ $("$geiger" record -q -i 1g -o "$scratch/d.geiger" "$program" dense) == 1 ]] &&
		is_as_it_was "$scratch/d.geiger" 1
}

# The process was exposed to the coarser interval, which hides blocks, so no total is exact.
a_sparse_thread() {
	[[ $("$geiger" record -q -i 1 -o "$scratch/s.geiger" "$program" sparse) == 1 ]] &&
		[[ $(ask "$scratch/s.geiger" "select interval from process") == 65536* ]]
}

a_sparse_start() {
	[[ $(GEIGER_STARTUP=64k:1m "$geiger" record -q -i 1 -o "$scratch/s.geiger" "$program") == 1 ]] &&
		[[ $(ask "$scratch/s.geiger" "select interval from process") == 65536* ]]
}

an_exact_start() {
	[[ $(GEIGER_STARTUP=64k:1m "$geiger" record -q --exact -o "$scratch/s.geiger" "$program" sparse) == [01] ]] &&
		[[ $(ask "$scratch/s.geiger" "select interval from process") == 1* ]] &&
		[[ $(ask "$scratch/s.geiger" "select interval from process") != 10* ]]
}

check heaps_are_beside_malloc_in_the_region_of_the_agent with_the_agent
check nothing_is_sampled_while_the_agent_is_switched_off agent_switched_off
check a_program_may_switch_the_agent_on start_under_the_agent
check what_was_recorded_survives_the_program killed
check a_thread_may_be_seen_better_than_the_others a_dense_thread
check a_thread_may_be_seen_worse_than_the_others a_sparse_thread
check a_start_may_be_seen_worse_than_the_rest a_sparse_start
check exact_counts_are_exposed_to_no_interval an_exact_start
check a_snapshot_is_what_a_profile_is_made_of snapshot

on_its_own() {
	[[ $(GEIGER_DIR=$scratch/regions "$program" start) == 2 ]] &&
		"$geiger" salvage -o "$scratch/own.geiger" "$scratch"/regions/*.region &&
		is_as_it_was "$scratch/own.geiger" 0 40 && has_frames "$scratch/own.geiger"
}

by_environment() {
	rm -f "$scratch"/regions/*
	[[ $(GEIGER_DIR=$scratch/regions GEIGER_ACTIVE=1 GEIGER_INTERVAL=1 "$program") == 2 ]] &&
		"$geiger" report "$scratch"/regions/*.region --by heap | grep -q ' old$'
}

linked_statically() {
	compile "$program-static" tests/e2e/embed_program.c -static "$libraries/libgeiger.a" \
		-pthread -Wl,--eh-frame-hdr &&
		[[ $("$program-static") == 0 ]] &&
		[[ $("$geiger" record -q -i 1 -o "$scratch/s.geiger" "$program-static") == 2 ]] &&
		is_as_it_was "$scratch/s.geiger" 0 && has_frames "$scratch/s.geiger"
}

linked_from_the_archive() {
	compile "$program-archive" tests/e2e/embed_program.c "$libraries/libgeiger.a" -pthread &&
		[[ $("$geiger" record -q -i 1 -o "$scratch/l.geiger" "$program-archive") == 1 ]] &&
		is_as_it_was "$scratch/l.geiger" 1
}

opened_later() {
	cat >"$scratch/opens.c" <<-END
		#include <dlfcn.h>
		#include <stdio.h>
		int main(int argc, char **argv)
		{
			void *library = dlopen(argv[argc - 1], RTLD_NOW);
			const char *(*version)(void);

			if (library == NULL)
				return puts(dlerror()), 1;
			*(void **)&version = dlsym(library, "geiger_version");
			return puts(version()), 0;
		}
	END
	cc -O1 "$scratch/opens.c" -o "$scratch/opens" &&
		[[ $("$scratch/opens" "$libraries/libgeiger.so.0") == [0-9]* ]]
}

# An agent of another time is as none.
another_version() {
	echo 'static const unsigned table[64] = { 99, 256 };
		const void *const geiger_agent_interface = table;' >"$scratch/agent.c"
	cc -O1 -fPIC -shared "$scratch/agent.c" -o "$scratch/agent.so" && rm -f "$scratch"/regions/* &&
		[[ $(LD_PRELOAD=$scratch/agent.so "$program") == 0 ]] &&
		[[ $(LD_PRELOAD=$scratch/agent.so GEIGER_DIR=$scratch/regions "$program" start) == 2 ]]
}

only_its_names() {
	! nm -D --defined-only "$libraries/libgeiger.so.0" | awk '$2 != "A" && $3 !~ /^geiger_/' | grep .
}

probes() {
	command -v readelf >/dev/null || return 0
	! readelf -n "$libraries/libgeiger.so.0" | grep -q stapsdt ||
		readelf -n "$libraries/libgeiger.so.0" | grep -A1 'Provider: geiger' | grep allocation_sampled
}

check a_program_that_starts_it_has_a_region_of_its_own on_its_own
check the_environment_may_start_it by_environment
check a_static_program_is_followed_by_the_recorder linked_statically
check the_archive_links_into_a_dynamic_program_too linked_from_the_archive
check an_agent_of_another_version_is_as_none another_version
check the_library_can_be_opened_later opened_later
check the_library_exports_its_own_names_alone only_its_names
check the_probe_is_there_where_probes_are_built probes
finish
