#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/test.sh disable=SC2317 # what `check` runs
#
# Programs of musl under the agent for musl: each block is counted once and at the right place, and
# programs of both libcs start each other.
. tests/test.sh
: "${GEIGER:?the geiger command}" "${GEIGER_AGENT_MUSL:?the agent for musl}"
unset GEIGER_AGENT
sources=$PWD/tests/musl
cd "$scratch" || exit 1

# Without inlining, and with each caller on the stack.
options=(-O1 -g -fno-builtin -fno-optimize-sibling-calls -Wall -Wextra -Werror)
build() {
	musl-gcc "${options[@]}" -o program "$sources/program.c" &&
		musl-gcc "${options[@]}" -Wl,--eh-frame-hdr -o with_cfi "$sources/program.c" &&
		musl-gcc "${options[@]}" -fno-omit-frame-pointer -o with_fp "$sources/program.c" &&
		musl-gcc "${options[@]}" -o filtered "$sources/filtered.c" &&
		musl-gcc "${options[@]}" -o starter "$sources/starter.c" &&
		musl-gcc "${options[@]}" -shared -fPIC -o library.so "$sources/library.c"
}
check programs_are_built_by_musl_gcc build

# counts NAME PROGRAM [OPTION]... - what a function and its callees allocated, by an exact count.
counts() {
	rm -f x.geiger
	"$GEIGER" record --exact -o x.geiger -- "$@" >out 2>messages || return
	cat messages
	[[ $(<out) == finished ]] || return
	"$GEIGER" report x.geiger -m allocated -u count --total --all-frames -n 0 --bytes --no-head >report.txt
}

# has FUNCTION COUNT - the number in the column of totals is this.
has() {
	grep -E " $1( |\$)" report.txt
	awk -v name="$1" -v count="$2" '$0 ~ " " name "( |$)" {
		for (i = 1; i <= NF; i++) if ($i == count) found = 1
	} END { exit !found }' report.txt
}

all_are_counted() {
	counts "./$1" ./library.so || return
	for name in by_malloc by_realloc by_posix_memalign by_aligned_alloc by_memalign by_valloc \
		by_strdup by_asprintf by_qsort in_thread in_child in_handler in_constructor in_library; do
		has "$name" 1000 || { echo "not 1000 of $name"; cat report.txt; return 1; }
	done
	# Each has filled a block before.
	has by_calloc 2000 && has allocate 2000
}

for program in program with_cfi with_fp; do
	check "each_block_is_counted_once_where_it_belongs_${program}" all_are_counted "$program"
done

# Every walk reaches the start of its thread, but those of handlers: raise() of musl has no CFI, and
# its rule is derived as well.
stacks_are_whole() {
	rm -f y.geiger
	"$GEIGER" record -i 64 -o y.geiger -- ./program ./library.so || return
	sqlite3 y.geiger "select name, sum(value) from counter where name like 'walks:%' group by name" >walks
	cat walks
	# No hook is called by the real function of another one.
	[[ -z $(sqlite3 y.geiger "select * from counter where name = 'dropped: interrupted itself'") ]] || return
	grep -q '^walks: complete|[0-9]' walks && ! grep -v '^walks: complete|' walks
}
# A block of 100 bytes is a sample with probability p = 0.79, so the estimate of 1000 of them has a
# standard deviation of sqrt(1000 (1 - p) / p) = 16.3; the bounds are six.  If a function called the
# hook of another one, half as many blocks more would be seen.
samples_are_of_each_block_once() {
	rm -f y.geiger
	"$GEIGER" record -i 64 -o y.geiger -- ./program ./library.so || return
	"$GEIGER" report y.geiger -m allocated -u count --total --all-frames -n 0 --bytes --no-head >report.txt
	for name in by_malloc by_realloc by_posix_memalign by_aligned_alloc by_memalign by_valloc; do
		count=$(awk -v name="$name" '$0 ~ " " name "( |$)" { print $1 }' report.txt)
		echo "$name $count"
		((count > 1000 - 98 && count < 1000 + 98)) || return
	done
	count=$(awk '/ by_calloc( |$)/ { print $1 }' report.txt)
	echo "by_calloc $count"
	((count > 2000 - 139 && count < 2000 + 139))
}
check samples_are_of_each_block_once samples_are_of_each_block_once

if command -v sqlite3 >/dev/null; then
	check stacks_lead_through_code_without_cfi_to_the_first_frame stacks_are_whole
fi

# The agent takes the thread id from musl where gettid() is forbidden.
filtered() {
	counts ./filtered && has allocate 2000
}
check under_a_filter_of_system_calls_threads_are_sampled filtered

# both_see PROGRAM... - the shell has glibc, and the program musl: each is under its own agent.
both_see() {
	rm -f z.geiger
	"$GEIGER" record --exact -o z.geiger -- "$@" >out 2>messages
	local status=$?
	cat out messages
	[[ $status == 0 ]] && grep -qx finished out || return
	! grep -i 'ld.so\|preload' messages || return
	"$GEIGER" report z.geiger -m allocated --by module --total -n 0 | tee modules
	grep -q '/program$' modules && grep -q '/libc.so.6$' modules
}
check a_program_of_musl_starts_one_of_glibc_that_starts_one_of_musl both_see ./starter \
	'./program; ls / >/dev/null'
check a_program_of_glibc_starts_one_of_musl both_see sh -c './program; ls / >/dev/null'

# The control calls of other profilers, and the allocator of our own, are for glibc.  Under these
# options a program of musl has its own agent, and the shell of glibc has what the option says.
with_option() {
	rm -f z.geiger
	"$GEIGER" record "$1" -i 64 -o z.geiger -- sh -c './program; ls / >/dev/null' >out 2>messages
	local status=$?
	cat out messages
	[[ $status == 0 ]] && grep -qx finished out || return
	! grep -i 'error\|preload' messages || return
	"$GEIGER" report z.geiger -m allocated --by module --total -n 0 | tee modules
	grep -q '/program$' modules && grep -q '/libc.so.6$' modules || return
	"$GEIGER" record "$1" -i 64 -o z.geiger -- ./program >out 2>messages || return
	cat messages
	"$GEIGER" report z.geiger -m allocated | grep by_malloc
}
check programs_of_musl_are_sampled_beside_compat with_option --compat
check programs_of_musl_are_sampled_beside_the_allocator_of_our_own with_option --malloc

# `geiger env` prints the agent of the command that it is given.
by_environment() {
	local option
	rm -rf regions
	mkdir regions
	for option in --interval=64 --compat --malloc; do
		[[ $(eval "$("$GEIGER" env "$option" --dir "$PWD/regions" ./program)") == finished ]] || return
		"$GEIGER" salvage -q -o z.geiger regions && "$GEIGER" report z.geiger -m allocated | tee report.txt
		grep -q in_child report.txt || grep -q by_calloc report.txt || return
		rm -f regions/* z.geiger
	done
}
check the_environment_of_a_program_of_musl_has_its_agent by_environment

# Without the agent for musl beside the agent.
mkdir -p alone
cp "$(dirname "$GEIGER_AGENT_MUSL")/libgeiger-agent.so" alone
without() {
	rm -f x.geiger
	GEIGER_AGENT=$PWD/alone/libgeiger-agent.so "$GEIGER" record -o x.geiger -- ./program ./library.so \
		>out 2>messages
	local status=$?
	cat out messages
	[[ $status == 0 && $(<out) == finished ]] && grep -q 'libgeiger-agent-musl.so' messages
}
check without_that_agent_the_program_runs_and_a_line_says_so without

# Installed elsewhere, without the folder for both: the agent that fits the program is taken.
mkdir -p plain
cp "$(dirname "$GEIGER_AGENT_MUSL")"/libgeiger-agent{,-musl}.so plain
chosen() {
	export GEIGER_AGENT=$PWD/plain/libgeiger-agent.so
	counts ./program ./library.so && has by_malloc 1000
}
check the_agent_is_chosen_by_the_program chosen
finish
