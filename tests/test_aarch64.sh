#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds geiger for aarch64 and runs under qemu's user mode what differs between machines: the
# unwinder, the region, and the agent in real programs.  Tests leave out by themselves what qemu
# cannot do, and say so.  qemu does not reorder memory: what depends on that is not seen here.
# shellcheck source=tests/test.sh disable=SC2317 # what `check` runs
. tests/test.sh

for program in aarch64-linux-gnu-gcc qemu-aarch64; do
	if ! command -v "$program" >/dev/null; then
		echo "skipped - geiger_s_tests_pass_on_aarch64: no $program"
		exit 77
	fi
done

tests=$PWD/build/aarch64/tests
# Debian's arm64 libraries, with which the command is built; without them, the agent and its parts.
script/arm64-root || echo 'skipped - programs_are_recorded_on_aarch64: no packages of arm64 are to be had'
root=/usr/aarch64-linux-gnu
[[ ! -e build/arm64-root/complete ]] || root=$PWD/build/arm64-root
# With signed return addresses, and a cheap algorithm for them.
emulator=(qemu-aarch64 -cpu "max,pauth-impdef=on" -L "$root")

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
passes() {
	local test=${1#*/} folder=${1%/*} output status=0
	shift
	output=$(INSIDE_PRELOAD=${preload[$test]-} "${emulator[@]}" "$tests/$folder/test_$test" "$@") || status=$?
	grep '^skipped - ' <<<"$output" >&3
	echo "$output"
	[[ $status == 0 || $status == 77 ]]
}

# The command, its libraries, and the tests below: half of what there is.
libraries='geiger|libgeiger-(agent|agent-2\.28|malloc)\.so|libgeiger\.so[.0-9]*'
units='(unwind|region).*|embed|embed_(bump|bump_laws|dump)|malloc_(bad_free|blocks|handlers|purge|threads)|runtime_tagged.*'
units+='|base_(array|atomic|elf_note|hash|map|maps_line|printable|size)|dump_.*|preload_.*'
geiger_builds() {
	local targets
	script/build aarch64 src/libgeiger-agent.so || return
	mapfile -t targets < <(ninja -C build/aarch64 -t targets all | sed -n 's/: c_LINKER.*//p' |
		grep -E "^src/($libraries)$|^tests/(agent|unwind)/|^tests/unit/test_($units)$")
	script/build aarch64 src/libgeiger.a "${targets[@]}"
}
check geiger_builds_for_aarch64_without_a_warning geiger_builds
for program in "$tests"/{unit,unwind}/test_{unwind,region}_* "$tests"/unit/test_{embed,embed_bump,embed_bump_laws,embed_dump} \
	"$tests"/unit/test_{malloc_{bad_free,blocks,handlers,purge,threads},region,runtime_tagged_head,dump_heap_text,preload_loader_lock} \
	"$tests"/unit/test_base_{array,atomic,elf_note,hash,map,maps_line,printable,size}; do
	name=${program##*/test_}
	[[ -x $program && ! -d $program && $name != unwind_live ]] || continue
	folder=$(basename "$(dirname "$program")")
	check "${name}_passes_on_aarch64" passes "$folder/$name"
done
check versions_of_glibc_on_aarch64_are_those_that_are_stated tests/agent/test_agent_versions.sh \
	build/aarch64/src/libgeiger-{agent,agent-2.28,malloc}.so build/aarch64/src/libgeiger.so.0
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

# --- the command ----------------------------------------------------------------------------

if [[ $root == /usr/* ]]; then
	finish
fi

# An emulated process cannot execute a program for aarch64, since the kernel knows none.  So each
# program has two files of one path: below $files, where the emulated geiger finds it and examines
# it, the program itself; and on this machine a native one that gives it to the emulator.
files=$scratch/root programs=$scratch/programs proc=$scratch/kernels_proc.so
mkdir -p "$files$programs" "$programs"
ln -s "$root"/{lib,usr,etc} "$files"/
# for_aarch64 NAME SOURCE [OPTION]... - makes a program and its two files.
for_aarch64() {
	local name=$1
	shift
	aarch64-linux-gnu-gcc -O1 -g -fno-builtin -fno-optimize-sibling-calls -mbranch-protection=standard \
		-o "$files$programs/$name" "$@" &&
		cc -O1 -static -DROOT="\"$files\"" -DPROC="\"$proc\"" -o "$programs/$name" tests/aarch64/emulated.c
}
aarch64-linux-gnu-gcc -O1 -shared -fPIC -DROOT="\"$files\"" -o "$proc" tests/aarch64/kernels_proc.c
geiger() {
	(unset GEIGER_AGENT && qemu-aarch64 -cpu "max,pauth-impdef=on" -L "$files" \
		-E LD_PRELOAD="$proc" build/aarch64/src/geiger "$@")
}

sources=$PWD/tests
check programs_are_built_for_aarch64 for_aarch64 program "$sources/musl/program.c"
profile=$scratch/a.geiger

# recorded OPTION... - records the program and prints what each function allocated.  Symbols are the
# native command's to find: there is no elfutils for aarch64 in this build.
recorded() {
	rm -f "$profile"
	geiger record "$@" -o "$profile" -- "$programs/program" >"$scratch/out" 2>"$scratch/messages" || return
	cat "$scratch/messages" >&2
	[[ $(<"$scratch/out") == finished ]] || return
	"$NATIVE_GEIGER" symbolize --sysroot "$files" "$profile" >&2 || return
	for unit in count bytes; do
		geiger report "$profile" -m allocated -u "$unit" --total --all-frames -n 0 --json >"$scratch/$unit.json" || return
	done
	python3 tests/static/counts.py "$scratch"/{count,bytes}.json
}
exact_counts_are_right() {
	recorded --exact >"$scratch/counts" || return
	cat "$scratch/counts"
	for name in by_malloc by_realloc by_posix_memalign by_aligned_alloc by_memalign by_valloc by_strdup \
		in_thread in_child in_handler; do
		grep -qx "count $name 1000" "$scratch/counts" || return
	done
	# Each has filled a block before.
	grep -qx 'count by_calloc 2000' "$scratch/counts"
}
check a_recording_on_aarch64_counts_each_block exact_counts_are_right

# A block of 100 bytes is a sample with probability p = 0.79, so the estimate of 1000 of them has a
# standard deviation of sqrt(1000 (1 - p) / p) = 16.3; the bounds are six.
samples_are_right() {
	recorded -i 64 --seed 7 "$@" >"$scratch/counts" || return
	cat "$scratch/counts"
	awk '$1 == "count" && $2 ~ /^(by_malloc|by_realloc|by_posix_memalign|in_thread|in_child|in_handler)$/ {
		if ($3 < 1000 - 98 || $3 > 1000 + 98) wrong = 1
		rows++
	} END { exit wrong || rows != 6 }' "$scratch/counts" || return
	sqlite3 "$profile" "select name, sum(value) from counter where name like 'walks:%' group by name" >"$scratch/walks"
	cat "$scratch/walks"
	grep -q '^walks: complete|[0-9]' "$scratch/walks" && ! grep -v '^walks: complete|' "$scratch/walks"
}
check samples_on_aarch64_estimate_what_was_allocated samples_are_right
check samples_on_aarch64_of_the_allocator_of_our_own_do_so_too samples_are_right --malloc

# The same profile, read by both builds of the command.  JSON has more digits than both have alike:
# aarch64 multiplies and adds in one step.
reports_are_the_same() {
	local command
	for command in "report -n 0" "leaks" "tree" "diff $profile" "check"; do
		# shellcheck disable=SC2086 # words
		geiger $command "$profile" >"$scratch/emulated" 2>&1
		# shellcheck disable=SC2086
		"$NATIVE_GEIGER" $command "$profile" >"$scratch/native" 2>&1
		diff "$scratch/native" "$scratch/emulated" || return
	done
	geiger export --format collapsed -o "$scratch/emulated" "$profile" &&
		"$NATIVE_GEIGER" export --format collapsed -o "$scratch/native" "$profile" &&
		cmp "$scratch/emulated" "$scratch/native"
}
check reports_on_aarch64_are_those_of_this_machine reports_are_the_same

cat >"$scratch/arena.c" <<'END'
#include <geiger/geiger.h>
static char arena[1 << 22];
int main(void)
{
	uint32_t heap = geiger_heap_register("arena", NULL);

	for (size_t at = 0; at < sizeof(arena); at += 64)
		if (geiger_due(64))
			geiger_allocated(heap, arena + at, 64, "row");
	return 0;
}
END
# 4 MiB with one sample in a KiB: the standard deviation is 1.6 %, and the bounds are six.
heaps_are_seen() {
	for_aarch64 arena "$scratch/arena.c" -I include build/aarch64/src/libgeiger.a -lm || return
	rm -f "$profile"
	geiger record -i 1k -o "$profile" -- "$programs/arena" || return
	geiger report "$profile" --by heap -m allocated --bytes --no-head | tee "$scratch/heaps"
	awk '/arena/ { if ($1 > 3791000 && $1 < 4597000) found = 1 } END { exit !found }' "$scratch/heaps"
}
check heaps_of_a_program_on_aarch64_are_recorded heaps_are_seen
finish
