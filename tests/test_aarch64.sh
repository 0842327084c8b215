#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds geiger for aarch64 and runs under qemu's user mode what differs between machines: the
# unwinder, the region, and the agent in real programs.  Tests leave out by themselves what qemu
# cannot do, and say so.  qemu does not reorder memory: what depends on that is not seen here.
# shellcheck source=tests/test.sh
. tests/test.sh

for program in aarch64-linux-gnu-gcc qemu-aarch64; do
	if ! command -v "$program" >/dev/null; then
		echo "skipped - geiger_s_tests_pass_on_aarch64: no $program"
		exit 77
	fi
done

tests=$PWD/build/aarch64/tests
emulator=(qemu-aarch64 -L /usr/aarch64-linux-gnu)

# As the meson.build files of these tests have them.
export TEST_EMULATOR="${emulator[*]}"
export REUSED_SMALL=$tests/unwind/libreused-small.so REUSED_LARGE=$tests/unwind/libreused-large.so
export GEIGER_AGENT=$PWD/build/aarch64/src/libgeiger-agent.so
export TWIN=$tests/agent/libtwin.so TWIN_PROGRAM=$tests/agent/twin_program
export ODD_PROGRAM=$tests/agent/odd_program FAULT_PROGRAM=$tests/agent/fault_program
export GG_TEST_KILLS=60 GG_TEST_SEEDS=10

declare -A preload=(
	[agent_order]=$tests/agent/libscript-allocator.so
	[agent_signals]=$tests/agent/libbump-allocator.so
)

# passes FOLDER/TEST [NAME]...: the test, or those of its parts; what it leaves out is counted (77:
# all).
exec 3>&1
# shellcheck disable=SC2317 # check calls it
passes() {
	local test=${1#*/} folder=${1%/*} output status=0
	shift
	output=$(INSIDE_PRELOAD=${preload[$test]-} "${emulator[@]}" "$tests/$folder/test_$test" "$@") || status=$?
	grep '^skipped - ' <<<"$output" >&3
	echo "$output"
	[[ $status == 0 || $status == 77 ]]
}

check geiger_builds_for_aarch64_without_a_warning script/build aarch64
for program in "$tests"/{unit,unwind}/test_{unwind,region}_* "$tests"/unit/test_{region,runtime_tagged_head}; do
	name=${program##*/test_}
	[[ -x $program && ! -d $program && $name != unwind_live ]] || continue
	folder=$(basename "$(dirname "$program")")
	check "${name}_passes_on_aarch64" passes "$folder/$name"
done
for name in kill coverage mappings options order process signals stacks twin; do
	check "agent_${name}_passes_on_aarch64" passes "agent/agent_$name"
done
# The real programs and other allocators are left out: this machine lacks them for aarch64.
check odd_programs_are_the_same_on_aarch64 passes agent/agent_programs odd_programs_over_glibc
check what_befalls_a_region_does_not_befall_programs_on_aarch64 passes agent/agent_faults \
	a_region_that_is_deleted_is_not_missed \
	a_region_that_is_cut_short_ends_the_profile_and_not_the_program \
	threads_go_on_when_their_region_is_cut_short_under_them \
	a_forked_child_lives_whose_parents_region_was_cut_short \
	a_disk_that_fills_up_drops_and_counts \
	a_disk_that_fills_up_in_a_sandbox_drops_and_counts
check what_keeps_the_agent_from_recording_is_told_on_aarch64 passes agent/agent_programs \
	a_directory_that_is_missing_is_told_in_one_line \
	a_directory_that_cannot_be_written_is_told_in_one_line \
	a_limit_for_file_sizes_is_told_in_one_line \
	a_limit_for_memory_leaves_the_program_what_it_needs \
	values_that_are_not_understood_are_named_with_the_form_that_is \
	a_log_takes_what_would_go_to_stderr
finish
