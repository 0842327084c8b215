#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/test.sh disable=SC2317,SC2046,SC2086 # what `check` runs; words
#
# test_static.sh GEIGER FOLDER PC_FOLDER - programs that are linked statically, with the agent's
# archives, have the profile that they have when they are linked dynamically.
#
# FOLDER has the archives, and PC_FOLDER the files of pkg-config before their installation.
. tests/test.sh

geiger=$1 folder=$2 pc=$3
unset GEIGER_DIR GEIGER_LOG GEIGER_AGENT GEIGER_ACTIVE LD_PRELOAD
here=$PWD/tests/static
sources=$PWD/tests/musl
include=$PWD/include
cd "$scratch" || exit 1

if ! command -v pkg-config >/dev/null; then
	echo 'skipped - static programs: no pkg-config'
	exit 77
fi

# linked NAME - the options that pkg-config prints of an archive.
linked() {
	PKG_CONFIG_PATH=$pc pkg-config --define-variable=libdir="$folder" --libs "geiger-$1"
}

# An archive with an allocator of its own may not be installed.  Libc's allocator is not wrapped.
linked_with_allocator() {
	linked "$1" | sed -E 's/-Wl,--wrap=(malloc|calloc|realloc|reallocarray|free|free_sized|free_aligned_sized|posix_memalign|aligned_alloc|memalign|valloc|pvalloc) //g
		s/libgeiger-agent/libgeiger-agent-malloc/'
}

options=(-O1 -g -fno-builtin -fno-optimize-sibling-calls -Wall -Wextra)
# glibc's linker warns of dlopen(), which no run here calls.
build() {
	cc "${options[@]}" -o dynamic "$sources/program.c" &&
		cc "${options[@]}" -static -o static "$sources/program.c" $(linked agent) &&
		cc "${options[@]}" -static-pie -o static_pie "$sources/program.c" $(linked agent) &&
		cc "${options[@]}" -static -o stripped "$sources/program.c" $(linked agent) && strip stripped &&
		cc "${options[@]}" -static -o without "$sources/program.c" &&
		cc "${options[@]}" -static -o starter "$sources/starter.c" $(linked agent) &&
		cc "${options[@]}" -static -o with_allocator "$sources/program.c" $(linked_with_allocator agent)
}
if ! echo 'int main(void) { return 0; }' | cc -static -x c - -o nothing 2>/dev/null; then
	echo 'skipped - static programs: no static libc'
	exit 77
fi
check programs_are_linked_statically build

# counts PROGRAM [OPTION]... - what each function allocated: its blocks and bytes, with callees.
counts() {
	local program=$1 unit
	shift
	rm -f x.geiger
	"$geiger" record "$@" -o x.geiger -- "./$program" >out 2>messages || return
	cat messages >&2
	[[ $(<out) == finished ]] || return
	! grep 'to see all' messages >&2 || return
	for unit in count bytes; do
		"$geiger" report x.geiger -m allocated -u $unit --total --all-frames -n 0 --json >$unit.json || return
	done
	python3 "$here/counts.py" count.json bytes.json
}

# same PROGRAM REFERENCE - exact counts agree in each of the functions.
same() {
	counts "$2" --exact >expected || return
	counts "$1" --exact >got || return
	cat expected
	# 13 functions, each with blocks and bytes.
	(($(wc -l <expected) == 26)) && diff expected got
}
for program in static static_pie; do
	check "each_block_is_counted_as_in_the_dynamic_program_${program}" same $program dynamic
done

# A block of 100 bytes is a sample with probability p = 0.79, so the estimate of 1000 of them has a
# standard deviation of sqrt(1000 (1 - p) / p) = 16.3; the bounds are six.
estimates() {
	counts "$1" -i 64 --seed 7 >got || return
	cat got
	awk '$1 == "count" && $2 ~ /^(by_malloc|by_realloc|by_posix_memalign|in_thread|in_child|in_handler)$/ {
		if ($3 < 1000 - 98 || $3 > 1000 + 98) wrong = 1
		rows++
	} END { exit wrong || rows != 6 }' got
}
check samples_estimate_what_was_allocated estimates static
check samples_of_the_allocator_that_is_linked_in_estimate_what_was_allocated estimates with_allocator

stacks_are_whole() {
	sqlite3 x.geiger "select name, sum(value) from counter where name like 'walks:%' group by name" >walks
	cat walks
	grep -q '^walks: complete|[0-9]' walks && ! grep -v '^walks: complete|' walks
}
if command -v sqlite3 >/dev/null; then
	check stacks_of_static_programs_are_whole stacks_are_whole
fi

stripped_is_seen() {
	"$geiger" record -i 64 -o x.geiger -- ./stripped >out 2>messages || return
	cat messages
	! grep 'to see all' messages && "$geiger" report x.geiger -m allocated --by module | tee report.txt | grep -q stripped
}
check a_stripped_program_is_known_by_its_note stripped_is_seen

# Children by fork and exec, of a static program and of dynamic ones.
children_are_seen() {
	"$geiger" record --exact -o x.geiger -- ./starter './static; ls / >/dev/null; ./dynamic' >out 2>messages || return
	cat out messages
	"$geiger" report x.geiger -m allocated --by module --total -n 0 >modules
	cat modules
	grep -q '/static$' modules && grep -q '/libc.so.6$' modules && grep -q '/dynamic$' modules
}
check a_static_program_starts_others children_are_seen

without_says_so() {
	"$geiger" record -o x.geiger -- ./without >out 2>messages
	cat out messages
	[[ $(<out) == finished ]] && grep -q 'statically linked' messages && grep -q 'libgeiger-agent.a' messages
}
check without_the_archive_a_line_says_so without_says_so

# Two agents would sample each block twice.
dynamic_has_one_agent() {
	cc "${options[@]}" -o twice "$sources/program.c" $(linked agent) || return
	"$geiger" record -i 64 -o x.geiger -- ./twice >out 2>messages || return
	cat out messages
	[[ $(<out) == finished && $(sqlite3 x.geiger 'select count(*) from process') == 2 ]] || return
	sqlite3 x.geiger 'select text from note' | grep 'linked dynamically' || return
	GEIGER_ACTIVE=1 ./twice 2>&1 >out | grep 'linked dynamically'
}
check the_archive_does_nothing_in_a_dynamic_program dynamic_has_one_agent

# Without a wish in the environment the program leaves nothing behind.
waits() {
	mkdir -p regions
	for program in static with_allocator; do
		[[ $(GEIGER_DIR=$PWD/regions ./$program) == finished ]] || return
	done
	[[ -z $(ls regions) ]] || return
	[[ $(GEIGER_DIR=$PWD/regions GEIGER_ACTIVE=1 ./static) == finished ]] || return
	compgen -G "regions/*.region" || return
	rm -f regions/*
	[[ $(env $("$geiger" env --dir "$PWD/regions" -i 64) ./static) == finished ]] || return
	"$geiger" salvage -q -o salvaged.geiger regions && "$geiger" report salvaged.geiger -m allocated | tee report.txt
	grep -q by_calloc report.txt
}
check it_records_only_if_the_environment_says_so waits

# The agent and libgeiger in one program: malloc and a heap of its own, in one profile.
cat >arena.c <<'END'
#include <geiger/geiger.h>
#include <stdlib.h>

static char arena[1 << 22];
static void *volatile kept;

static void by_hand(void)
{
	for (int i = 0; i < 1000; i++)
		kept = malloc(1000);
}

int main(void)
{
	uint32_t heap = geiger_heap_register("arena", NULL);

	for (size_t at = 0; at < sizeof(arena); at += 64)
		if (geiger_due(64))
			geiger_allocated(heap, arena + at, 64, "row");
	by_hand();
	return 0;
}
END
both() {
	cc "${options[@]}" -I "$include" -static -o arena arena.c "$folder/libgeiger.a" $(linked agent) -lm || return
	"$geiger" record -i 1k -o x.geiger -- ./arena || return
	"$geiger" report x.geiger -m allocated --by heap | tee report.txt
	"$geiger" report x.geiger -m allocated | tee -a report.txt
	grep -q arena report.txt && grep -q by_hand report.txt && [[ $(sqlite3 x.geiger 'select count(*) from process') == 1 ]]
}
check libgeiger_and_the_agent_share_a_profile both

# Exceptions pass through the hooks, and operator new is counted once.
cat >thrower.cc <<'END'
#include <cstdio>
#include <new>
#include <vector>
static void *volatile kept;
__attribute__((noinline)) static void by_new()
{
	for (int i = 0; i < 1000; i++)
		kept = new char[100];
}
__attribute__((noinline)) static void too_much()
{
	kept = ::operator new(~std::size_t{0} / 4);
}
int main()
{
	by_new();
	try {
		too_much();
	} catch (const std::bad_alloc &) {
		std::puts("finished");
	}
}
END
throws() {
	g++ -O1 -g -static -o thrower thrower.cc $(linked agent) || return
	"$geiger" record --exact -o x.geiger -- ./thrower >out || return
	cat out
	[[ $(<out) == finished ]] || return
	"$geiger" report x.geiger -m allocated -u count --total --all-frames --bytes --no-head -n 0 | tee report.txt
	awk '/ by_new/ { for (i = 1; i <= NF; i++) if ($i == 1000) found = 1 } END { exit !found }' report.txt
}
if command -v g++ >/dev/null; then
	check exceptions_pass_and_operator_new_counts_once throws
fi

if [[ -e $folder/libgeiger-agent-musl.a ]]; then
	build_musl() {
		musl-gcc "${options[@]}" -o dynamic_musl "$sources/program.c" &&
			musl-gcc "${options[@]}" -static -o static_musl "$sources/program.c" $(linked agent-musl) &&
			musl-gcc "${options[@]}" -static -o musl_with_allocator "$sources/program.c" \
				$(linked_with_allocator agent-musl) &&
			musl-gcc "${options[@]}" -static -o musl_without "$sources/program.c"
	}
	check programs_of_musl_are_linked_statically build_musl
	check each_block_is_counted_as_in_the_dynamic_program_of_musl same static_musl dynamic_musl
	check samples_in_static_programs_of_musl_estimate_what_was_allocated estimates static_musl
	check samples_of_the_allocator_in_a_program_of_musl_estimate_what_was_allocated estimates musl_with_allocator
	plain() {
		for program in static_musl musl_with_allocator; do
			[[ $(./$program) == finished ]] || return
		done
		"$geiger" record -o x.geiger -- ./musl_without >out 2>messages
		cat messages
		[[ $(<out) == finished ]] && grep -q 'statically linked' messages
	}
	check static_programs_of_musl_run_without_geiger plain
else
	echo 'skipped - static programs of musl: no musl-gcc'
fi
finish
