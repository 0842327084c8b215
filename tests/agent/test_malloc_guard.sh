#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/test.sh disable=SC2317 # functions are called through check
#
# test_malloc_guard.sh - memory errors that guarded blocks show.  $1: libgeiger-malloc.so, $2:
# guard_program, $3: geiger
. "$(dirname "$0")/../test.sh"
library=$1 program=$2 geiger=$3
unset GEIGER_LOG GEIGER_ACTIVE GEIGER_GUARD GEIGER_GUARD_ENDS
ulimit -c 0

# Runs the program with every block guarded; output and reports are in $scratch/text.
guarded() {
	rm -rf "$scratch/regions"
	mkdir "$scratch/regions"
	env GEIGER_DIR="$scratch/regions" GEIGER_INTERVAL=1 GEIGER_GUARD="${share-1}" LD_PRELOAD="$library" "$program" "$@" \
		>"$scratch/text" 2>&1
}

# kind_of TEXT - the name in GWP-ASan's words.
declare -A names=(
	[overflow]='Buffer Overflow' [underflow]='Buffer Underflow' [read]='Use After Free' [write]='Use After Free'
	[double-free]='Double Free' [invalid-free]='Invalid (Wild) Free' [at-free]='Buffer Overflow (found when'
)
declare -A kinds=(
	[overflow]='buffer overflow' [underflow]='buffer underflow' [read]='use after free' [write]='use after free'
	[double-free]='double free' [invalid-free]='invalid free' [at-free]='buffer overflow'
)
declare -A places=(
	[overflow]='read_at plant' [underflow]='write_at plant' [read]='read_at plant' [write]='write_at plant'
	[double-free]='free_victim plant' [invalid-free]='free_victim plant' [at-free]='free_victim plant'
)

# One error is in the text and in the region, with the stacks of all its moments.
is_reported() {
	local kind=$1 faults place
	guarded "$kind" "$2" || { cat "$scratch/text"; return 1; }
	[[ $(tail -1 "$scratch/text") == "went on" ]] || return 1
	[[ $(grep -c '^\*\*\* GWP-ASan detected a memory error \*\*\*$' "$scratch/text") == 1 &&
		$(grep -c '^\*\*\* End GWP-ASan report \*\*\*$' "$scratch/text") == 1 ]] || return 1
	grep -qF "${names[$kind]} " "$scratch/text" && grep -q ' was allocated by thread [0-9]* here:$' "$scratch/text" ||
		return 1
	faults=$("$geiger" faults "$scratch"/regions/*.region) || return 1
	echo "$faults"
	[[ $(head -1 <<<"$faults") == "${kinds[$kind]}" && $faults == *'allocate_victim (guard_program.c:'* ]] || return 1
	for place in ${places[$kind]}; do
		[[ $faults == *"$place (guard_program.c:"* ]] || return 1
	done
	# The sizes of the blocks.
	[[ $faults == *" $2 byte"* ]]
}

# Seven kinds with six sizes each.
all_planted_errors_are_found() {
	local kind size found=0 missed=""
	for kind in "${!names[@]}"; do
		for size in 16 48 112 1008 4096 20000; do
			# A free checks bytes behind the block within its pages.
			[[ $kind == at-free && $size == 4096 ]] && size=4000
			if is_reported "$kind" "$size" >"$scratch/why" 2>&1; then
				found=$((found + 1))
			else
				missed+=" $kind/$size"
				cat "$scratch/text" "$scratch/why"
			fi
		done
	done
	echo "found $found of 42; missed:$missed"
	((found == 42))
}

nothing_is_guarded_by_default() {
	share=0 guarded read 100 && [[ $(cat "$scratch/text") == "went on" ]] || return 1
	env -u GEIGER_GUARD GEIGER_DIR="$scratch/regions" GEIGER_INTERVAL=1 LD_PRELOAD="$library" "$program" read 100 \
		>"$scratch/text" 2>&1
	[[ $(cat "$scratch/text") == "went on" ]]
}

# As without the library: exit status, signal, and the handler with its siginfo.
other_faults_are_the_programs() {
	local mode plain status
	for mode in handler wild ignored late-handler small-stack deep own-stack killed sandbox; do
		"$program" "$mode" >"$scratch/plain" 2>&1
		plain=$?
		guarded "$mode"
		status=$?
		echo "$mode: $plain, guarded $status"
		[[ $status == "$plain" ]] || return 1
		# The planted error did not end it, also if it ignores the signal.
		[[ $mode != @(handler|ignored) || $(<"$scratch/text") == *"went on"* ]] || return 1
	done
}

well_behaved_programs_see_nothing() {
	local mode
	for mode in behave exhaust churn; do
		guarded "$mode" || return 1
		[[ $(cat "$scratch/text") == "went on" ]] || return 1
	done
	share=3 guarded churn && [[ $(cat "$scratch/text") == "went on" ]]
}

threads_and_children_are_named() {
	guarded threads || return 1
	awk '/deallocated by thread/ { freed = $6 } /was allocated by thread/ { allocated = $6 }
		END { exit !(freed != "" && allocated != "" && freed != allocated) }' "$scratch/text" || return 1
	guarded fork || return 1
	[[ $(grep -c 'Use After Free' "$scratch/text") == 1 ]]
}

an_error_can_end_the_program() {
	local status
	GEIGER_GUARD_ENDS=1 guarded read 100
	status=$?
	[[ $status == 139 ]] && grep -q 'End GWP-ASan' "$scratch/text" || return 1
	[[ $("$geiger" faults "$scratch"/regions/*.region | head -1) == "use after free" ]] || return 1
	GEIGER_GUARD_ENDS=1 guarded double-free 100
	[[ $? == 134 ]]
}

an_error_ends_a_program_that_ignores_abort() {
	GEIGER_GUARD_ENDS=1 guarded abort-ignored
	local status=$?
	echo "status $status"
	((status == 132 || status == 133)) && ! grep -q 'went on' "$scratch/text"
}

# The program's file gets no report, and a pipe that nobody reads does not stop the program.
reports_respect_the_programs_files() {
	guarded database "$scratch/database" || return 1
	[[ ! -s $scratch/database && $(<"$scratch/text") == "went on" ]] || return 1
	[[ $("$geiger" faults "$scratch"/regions/*.region | head -1) == "use after free" ]] || return 1
	guarded full-pipe & local pid=$!
	for _ in {1..300}; do
		kill -0 "$pid" 2>/dev/null || break
		sleep 0.1
	done
	kill "$pid" 2>/dev/null
	wait "$pid" && [[ $(<"$scratch/text") == "went on" ]]
}

reports_go_to_the_log() {
	GEIGER_LOG=$scratch/log guarded read 100 || return 1
	[[ $(<"$scratch/text") == "went on" ]] && grep -q 'End GWP-ASan' "$scratch/log"
}

a_jump_into_a_freed_block_ends_the_program() {
	local status
	guarded jump
	status=$?
	[[ $status == 139 && $(grep -c 'Use After Free' "$scratch/text") == 1 ]] || return 1
	[[ $("$geiger" faults "$scratch"/regions/*.region | sed -n 2p) == "execution of "* || $(uname -m) != x86_64 ]]
}

write_barriers_work() {
	guarded barrier && [[ $(<"$scratch/text") == "went on" ]]
}

handlers_may_touch_closed_blocks() {
	guarded interrupted && [[ $(tail -1 "$scratch/text") == "went on" ]]
}

a_recording_without_guards_says_so() {
	share=0 guarded read 100 || return 1
	[[ $("$geiger" faults "$scratch"/regions/*.region) == *"no block was guarded"* ]] || return 1
	"$geiger" faults --fail "$scratch"/regions/*.region >/dev/null
	[[ $? == 4 ]] || return 1
	guarded exhaust || return 1
	[[ $("$geiger" faults --fail "$scratch"/regions/*.region) == "no memory errors were found" ]]
}

# A kind that a hostile file names is not printed.
unknown_kinds_are_not_printed() {
	command -v sqlite3 >/dev/null || return 0
	cp "$scratch/a.geiger" "$scratch/b.geiger"
	sqlite3 "$scratch/b.geiger" "update fault set kind = char(27) || '[31mX', access = char(27) || 'Y'" || return 1
	"$geiger" faults "$scratch/b.geiger" >"$scratch/text" || return 1
	[[ $(head -1 "$scratch/text") == unknown ]] && ! grep -q $'\e' "$scratch/text"
}

limited_memory_is_no_obstacle() {
	(ulimit -v 400000 && guarded read 100) && grep -q 'Use After Free' "$scratch/text" || return 1
	(ulimit -v 400000 && guarded churn) && [[ $(cat "$scratch/text") == "went on" ]]
}

a_session_has_them() {
	local report
	GEIGER_AGENT=$library "$geiger" record -q --malloc --guard=1 -i 1 -o "$scratch/a.geiger" "$program" read 100 \
		>"$scratch/text" 2>&1 || return 1
	report=$("$geiger" report "$scratch/a.geiger") || return 1
	[[ $report == *"1 memory error: 'geiger faults' shows it"* ]] || return 1
	[[ $("$geiger" report --json "$scratch/a.geiger") == *'"faults":1'* ]] || return 1
	"$geiger" faults --format json "$scratch/a.geiger" | python3 -c '
import json, sys
fault, = json.load(sys.stdin)["faults"]
assert fault["kind"] == "use after free" and fault["access"] in ("read", None), fault
assert fault["size_bytes"] == 100 and not fault["at_free"]
assert int(fault["address"], 16) - int(fault["block"], 16) == 50
for moment, function in ("accessed", "read_at"), ("freed", "free_victim"), ("allocated", "allocate_victim"):
    assert fault[moment]["stack"][0]["function"] == function, fault[moment]
' || return 1
	[[ $("$geiger" sql "$scratch/a.geiger" "select kind, functions from v_fault" --csv) == *"use after free"*"plant;read_at"* ]] ||
		return 1
	"$geiger" check -q "$scratch/a.geiger" || return 1
	"$geiger" faults --fail "$scratch/a.geiger" >/dev/null
	[[ $? == 3 ]]
}

options_are_checked() {
	local text
	text=$(GEIGER_AGENT=$library "$geiger" record -q --guard true 2>&1)
	[[ $? == 125 && $text == *"--malloc"* ]] || return 1
	[[ $(GEIGER_AGENT=$library "$geiger" env --malloc --guard) == *"GEIGER_GUARD=500"* ]] || return 1
	[[ $(GEIGER_AGENT=$library "$geiger" env --malloc --guard=7 true) == *"GEIGER_GUARD=7"* ]]
}

check "42 planted errors of seven kinds are found" all_planted_errors_are_found
check "no block is guarded by default" nothing_is_guarded_by_default
check "other faults end the program, or call its handler, as without the library" other_faults_are_the_programs
check "programs without errors see nothing" well_behaved_programs_see_nothing
check "threads are named, and children find errors of inherited blocks" threads_and_children_are_named
check "with GEIGER_GUARD_ENDS an error ends the program after its report" an_error_can_end_the_program
check "with little address space, blocks are guarded too" limited_memory_is_no_obstacle
check "a recorded profile has the errors" a_session_has_them
check "options are checked" options_are_checked
check "with GEIGER_GUARD_ENDS an error ends a program that ignores SIGABRT" an_error_ends_a_program_that_ignores_abort
check "reports go to no file of the program, and do not wait for a full pipe" reports_respect_the_programs_files
check "reports go to GEIGER_LOG" reports_go_to_the_log
check "a jump into a freed block has a report, and ends the program" a_jump_into_a_freed_block_ends_the_program
check "a program may close pages of its own blocks" write_barriers_work
check "handlers may touch closed blocks" handlers_may_touch_closed_blocks
check "a recording without guards says so" a_recording_without_guards_says_so
check "unknown kinds of a profile are not printed" unknown_kinds_are_not_printed
finish
