#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/test.sh disable=SC2317 # functions are called through check
#
# test_malloc_preload.sh - libgeiger-malloc.so before programs.  $1: the library, $2: the agent, $3:
# malloc_program, $4: geiger, $5: another library that has malloc()
. "$(dirname "$0")/../test.sh"
library=$1 agent=$2 program=$3 geiger=$4 other=$5
unset GEIGER_LOG GEIGER_ACTIVE

# Prints the samples of each region that the command left.
regions_of() {
	rm -rf "$scratch/regions"
	mkdir "$scratch/regions"
	GEIGER_DIR=$scratch/regions GEIGER_INTERVAL=4k LD_PRELOAD=$preload "$@" >"$scratch/out" || return 1
	"$geiger" ls "$scratch/regions" | awk '$1 ~ /^[0-9]+$/ { print $7 }'
}

samples_in_one_region() {
	local samples
	samples=$(regions_of "$program" churn) || return 1
	echo "samples: $samples"
	[[ $(wc -w <<<"$samples") == 1 ]] && ((samples > 1000))
}

# 20 000 blocks of 100 bytes and one of 1 MiB: 2.91 MiB are live, with a standard error of 0.08.
totals_are_near_the_truth() {
	local live
	GEIGER_AGENT=$library "$geiger" record -q -i 4k -o "$scratch/keep.geiger" "$program" keep || return 1
	live=$("$geiger" report "$scratch/keep.geiger" | awk '/^live at the end .* MiB/ { print int($5 * 100); exit }')
	echo "live: $live / 100 MiB"
	((live > 250 && live < 335))
}

# 1.91 MiB are live: 2000 blocks of 1000 bytes among a million of 64 that come and go.  poisson
# knows 1.2 to 2.7 MiB.  The plan, in use after some 2 MiB, gives a standard error of 0.1 MiB.
optimal_plan_comes_from_counts() {
	local live low
	GEIGER_AGENT=$library "$geiger" record -q -i 64k --scheme optimal -o "$scratch/serve.geiger" "$program" serve ||
		return 1
	read -r live low < <("$geiger" report "$scratch/serve.geiger" |
		awk '/^live at the end .* MiB/ { split($7, ends, /[(-]/); print int($5 * 100), int(ends[2] * 100); exit }')
	echo "live: $live, at least $low / 100 MiB"
	((live > 141 && live < 241 && low > 145))
}

# Prints the samples of `serve` with that error and seed, and its error in per mille.
error_profile() {
	rm -f "$scratch/error.geiger"
	GEIGER_AGENT=$library GEIGER_SEED=$2 "$geiger" record -q --malloc --error "$1" -o "$scratch/error.geiger" \
		"$program" serve >"$scratch/out" || return 1
	"$geiger" report --json "$scratch/error.geiger" | python3 -c 'import json, sys
report = json.load(sys.stdin)
live = report["totals"]["live_bytes"]
print(report["samples"], int(1000 * (live["high"] - live["low"]) / 2 / live["estimate"]))'
}

# 5 % of 2 MB need an interval of 1 KiB, so one interval for all sizes takes 62 000 samples of the
# blocks that come and go.  A plan gives these one of 5 KiB.  The error stays: of the 2000 blocks
# that are live, 62 % are samples in both cases.
an_error_is_kept_with_few_samples_of_blocks_that_pass() {
	local seed samples permille
	for seed in 1 2 3; do
		read -r samples permille < <(error_profile 5% "$seed")
		echo "seed $seed: $samples samples, error $permille per mille"
		((samples < 25000 && permille <= 50)) || return 1
	done
}

output_is_the_same() {
	local plain
	for argument in churn keep threads forks; do
		plain=$("$program" "$argument")
		preload=$library regions_of "$program" "$argument" >/dev/null || return 1
		[[ $(cat "$scratch/out") == "$plain" ]] || return 1
	done
}

nothing_is_sampled_when_off() {
	local samples
	samples=$(GEIGER_ACTIVE=0 regions_of "$program" churn) || return 1
	echo "samples: $samples"
	[[ $samples == 0 ]]
}

one_flag_chooses_it() {
	local refusal
	GEIGER_AGENT=$agent "$geiger" record -q --malloc -i 4k -o "$scratch/flag.geiger" cat /proc/self/maps >"$scratch/maps" ||
		return 1
	grep -q "$library" "$scratch/maps" && ! grep -q "$agent" "$scratch/maps" || return 1
	GEIGER_AGENT=$agent "$geiger" env --malloc cat >"$scratch/line" && grep -q "LD_PRELOAD=$library" "$scratch/line" ||
		return 1
	refusal=$(GEIGER_AGENT=$agent "$geiger" attach --malloc $$ 2>&1) && return 1
	echo "$refusal"
	[[ $refusal == *"a running process keeps its allocator"* ]]
}

# per-allocation's interval is a number of allocations, which would be taken for bytes.
other_schemes_are_refused() {
	local scheme line
	for scheme in per-allocation stride bernoulli poisson-count; do
		line=$(GEIGER_AGENT=$agent "$geiger" record -q --malloc --scheme "$scheme" -o "$scratch/no.geiger" true 2>&1) && return 1
		[[ $line == *"libgeiger-malloc has no other schemes"* && ! -e $scratch/no.geiger ]] || return 1
		line=$(GEIGER_SCHEME=$scheme GEIGER_DIR=$scratch LD_PRELOAD=$library "$program" keep 2>&1 >"$scratch/out") || return 1
		rm -f "$scratch"/geiger-*
		echo "$line"
		[[ $line == *"libgeiger-malloc.so has no scheme $scheme; using poisson"* ]] || return 1
	done
	line=$(GEIGER_SCHEME=optimal GEIGER_DIR=$scratch LD_PRELOAD=$library "$program" keep 2>&1 >"$scratch/out") || return 1
	rm -f "$scratch"/geiger-*
	[[ -z $line ]]
}

# The other one is a library of the test's own, so it is always there.
a_session_notes_an_allocator_behind_it() {
	LD_PRELOAD=$other GEIGER_AGENT=$agent "$geiger" record --malloc -o "$scratch/note.geiger" "$program" keep \
		>"$scratch/out" 2>"$scratch/errors" || return 1
	"$geiger" report "$scratch/note.geiger" | tr '\n' ' ' | tr -s ' ' >"$scratch/report"
	grep -o "note: .*" "$scratch/report"
	grep -q "libgeiger-malloc.so serves malloc(), and $other does not" "$scratch/report"
}

behind_another_allocator_it_records_nothing() {
	local line
	line=$(GEIGER_DIR=$scratch LD_PRELOAD=$other:$library "$program" keep 2>&1 >"$scratch/out") || return 1
	echo "$line"
	[[ $line == *"not profiling: $other serves malloc(), and libgeiger-malloc.so does not" &&
		$(cat "$scratch/out") == "keep 3" ]] && ! compgen -G "$scratch/geiger-*"
}

# True if a line begins with 49.2 MiB, within 4 standard errors: 350 samples, 22 % of the blocks.
is_near_the_truth() {
	awk '{ exit !($2 == "MiB" && $1 > 39.8 && $1 < 58.6) }' <<<"$1"
}

# The 800 slabs of 64 KiB have 0.78 MiB of live blocks, and keep 49.2 MiB.
pinned_memory_is_known_by_stack() {
	local pid line='' tries
	rm -rf "$scratch/regions" "$scratch/pipe"
	mkdir "$scratch/regions"
	mkfifo "$scratch/pipe"
	GEIGER_DIR=$scratch/regions GEIGER_INTERVAL=2k GEIGER_SEED=7 LD_PRELOAD=$library \
		"$program" fragment <"$scratch/pipe" >"$scratch/out" &
	pid=$!
	exec 3>"$scratch/pipe"
	# Until the program has freed all that it does, and has answered.
	for ((tries = 0; tries < 200; tries++)); do
		line=$("$geiger" report --metric pinned --no-head "$scratch"/regions/* 2>/dev/null |
			grep 'keep_block (')
		is_near_the_truth "$line" && break
	done
	"$geiger" why "$scratch"/regions/* >"$scratch/why" 2>&1
	exec 3>&-
	wait "$pid"
	echo "$line"
	grep ' pinned  ' "$scratch/why"
	is_near_the_truth "$line" && is_near_the_truth "$(grep ' pinned  ' "$scratch/why")"
}

# A list that was handed has some blocks more.
malloc_info_has_classes() {
	LD_PRELOAD=$library GEIGER_ACTIVE=0 "$program" info >"$scratch/out" 2>"$scratch/info.xml" || return 1
	python3 - "$scratch/info.xml" <<'END'
import sys
import xml.etree.ElementTree as tree

root = tree.parse(sys.argv[1]).getroot()
heap = root.find("heap")
of_512 = heap.find("classes/class[@size='512']").attrib
free_512 = heap.find("sizes/size[@to='512']").attrib
print(of_512, free_512, heap.find("runs").attrib)
assert 1000 <= int(of_512["used"]) <= 1128 and int(of_512["allocated"]) == int(of_512["used"])
assert int(of_512["used"]) + int(of_512["free"]) == 128 * int(of_512["slabs"])
assert free_512["from"] == "481" and int(free_512["total"]) == 512 * int(of_512["free"])
assert int(heap.find("runs").get("count")) >= 3 and int(heap.find("runs").get("size")) >= 3 * 48 * 1024
assert int(root.find("system[@type='current']").get("size")) >= 64 << 20
END
}

# The child of a fork in the middle of it: the thread that brought new settings is not there.
a_child_applies_settings_that_its_parent_was_applying() {
	local at
	at=$(nm "$library" | awk '$3 == "applying_pid" { print $1 }')
	[[ -n $at ]] || return 1
	GEIGER_DIR=$scratch GEIGER_INTERVAL=4k PYTHONMALLOC=malloc LD_PRELOAD=$library python3 -S - "$library" "$at" <<-'END'
		import ctypes, os, sys
		name = os.path.basename(os.path.realpath(sys.argv[1]))
		base = next(int(line.split("-")[0], 16) for line in open("/proc/self/maps") if name in line)
		applying = ctypes.c_uint32.from_address(base + int(sys.argv[2], 16))
		def work():
		    for i in range(200000):
		        bytes(i % 1000 + 100)
		work()
		assert applying.value == 0
		applying.value = os.getpid()
		child = os.fork()
		if child == 0:
		    work()
		    print("in the child:", applying.value, flush=True)
		    os._exit(applying.value != 0)
		sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
	END
}

# The agent holds locks of its own at a fork if it counts all blocks.
no_fork_waits_for_a_stream() {
	mkdir -p "$scratch/streams"
	timeout 60 env GEIGER_DIR="$scratch/streams" LD_PRELOAD="$library" "$program" stream_forks | grep -qx 'stream_forks 500' &&
		timeout 60 env GEIGER_DIR="$scratch/streams" GEIGER_EXACT=1 LD_PRELOAD="$agent" "$program" stream_forks |
		grep -qx 'stream_forks 500'
}

check "no fork waits for a stream whose owner allocates" no_fork_waits_for_a_stream
check "malloc_info tells what each class has" malloc_info_has_classes
check "pinned memory is known by stack, from the allocator's own numbers" pinned_memory_is_known_by_stack
check "one flag chooses it" one_flag_chooses_it
check "schemes that it does not have are refused, or named once" other_schemes_are_refused
check "a session notes an allocator that is loaded behind it" a_session_notes_an_allocator_behind_it
check "behind another allocator it says so, and records nothing" behind_another_allocator_it_records_nothing
if command -v nm >/dev/null && command -v python3 >/dev/null; then
	check "a child applies settings that its parent was applying" a_child_applies_settings_that_its_parent_was_applying
else
	skip "a child applies settings that its parent was applying" "there is no nm or no python3"
fi
preload=$library
check "a program has one region with samples" samples_in_one_region
check "programs print the same with the library" output_is_the_same
check "totals of a recording are near the truth" totals_are_near_the_truth
check "the optimal plan comes from counts" optimal_plan_comes_from_counts
check "an error is kept with few samples of blocks that pass" an_error_is_kept_with_few_samples_of_blocks_that_pass
check "nothing is sampled when sampling is off" nothing_is_sampled_when_off
preload=$library:$agent
check "before the agent, one of the two records" samples_in_one_region
preload=$agent:$library
check "behind the agent, one of the two records" samples_in_one_region
finish
