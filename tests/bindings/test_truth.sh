#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/bindings/adapters.sh disable=SC2317,SC2034 # what `check` runs
#
# test_truth.sh python|lua - the adapter's profiles are true.  At an interval of 1, they equal
# another count to the byte; at larger ones, they are within the confidence intervals, over several
# seeds.
. "$(dirname "$0")/adapters.sh"
here=$(realpath "$(dirname "$0")")
language=$1
cd "$scratch" || exit 1
export PYTHONHASHSEED=0 PYTHONDONTWRITEBYTECODE=1

look() {
	$python "$here/look.py" "$GEIGER" "$@"
}

# record NAME INTERVAL SEED - the program by its adapter, to NAME.geiger.
record() {
	local name=$1 command=("$python" -m geiger "$here/held.py")
	[[ $language == python ]] || command=(lua5.4 -lgeiger "$here/held.lua")
	"$GEIGER" record --quiet --interval "$2" --seed "$3" --output "$name.geiger" -- "${command[@]}" "${@:4}"
}

# notes NAME CONDITION - of the profile NAME.geiger.
notes() {
	"$GEIGER" sql --csv "$1.geiger" "select text from note where $2" | tail -n +2
}

# inside FILE... - runs held.py in a program that has set the interval to 1 by itself.
inside() {
	"$python" -c "import sys, geiger; sys.argv = ['$here/held.py', *sys.argv[1:]]
$1
import runpy; runpy.run_path('$here/held.py', run_name='__main__')" "${@:2}"
}

# Under the agent, with a region of the library's own, with samples that come from malloc: the hooks
# for intervals of 32 KiB and more, at an interval of 1, and where these hooks give place to others.
# Behind tracemalloc's hooks they stay.
witness() {
	if [[ $1 == own ]]; then
		if [[ $language == python ]]; then
			GEIGER=/nowhere inside 'geiger.start(1)' own.region own.truth || return
		else
			GEIGER_INTERVAL=1 lua5.4 -lgeiger "$here/held.lua" own.region own.truth || return
		fi
	elif [[ $1 == from_malloc ]]; then
		HELD_INTERVAL=1 GEIGER_RING=1048576 "$GEIGER" record --quiet --interval 32k \
			--output from_malloc.geiger -- "$python" "$here/held.py" from_malloc.region from_malloc.truth ||
			return
	elif [[ $1 == from_both ]]; then
		export -f inside && export python here
		GEIGER_RING=1048576 "$GEIGER" record --quiet --interval 32k --output from_both.geiger -- \
			bash -c 'inside "$@"' - 'geiger.set_interval(1)' from_both.region from_both.truth || return
	else
		record "$1" 1 1 "$1.region" "$1.truth" || return
	fi
	"$GEIGER" salvage --quiet --output "$1.live.geiger" "$1.region" || return
	if [[ $language == python ]]; then
		look lines "$1.live.geiger" "$1.truth" "$here/held.py"
	else
		look functions "$1.live.geiger" "$1.truth"
	fi
}

over_seeds() {
	local seed profiles=()
	# The exact profile must lose no event, however long the recorder waits for a processor.
	GEIGER_RING=1048576 record exact 1 1 || return
	equals 'what the exact profile lost' "$(notes exact "text like '% lost%'")" '' || return
	for ((seed = 1; seed <= ${GG_TEST_SEEDS:-12}; seed++)); do
		record "seed$seed" 32k "$seed" || return
		profiles+=("seed$seed.geiger")
	done
	look covered exact.geiger "${profiles[@]}"
}

# No block of malloc lies where a block of a heap above it lies at the same time.
counted_once() {
	local twice="select count(*) from sample below join sample above using (process, address)
		where below.heap is null and above.heap is not null
		and below.t_alloc < ifnull(above.t_free, 1e18) and above.t_alloc < ifnull(below.t_free, 1e18)"
	local large="select count(*) > 100 from sample where heap is not null and size > 512"
	local mode

	for mode in '' "$@"; do
		[[ -z $mode ]] || PYTHONMALLOC=$mode GEIGER_RING=1048576 record exact 1 1 || return
		equals "blocks that count twice, $mode" "$("$GEIGER" sql --csv exact.geiger "$twice" | tail -n 1)" 0 &&
			equals 'large blocks are there' "$("$GEIGER" sql --csv exact.geiger "$large" | tail -n 1)" 1 || return
	done
}

# allocated NAME INTERVAL OPTION... - the range of the allocated bytes of a program that has 40 MB.
allocated() {
	local command=("$python" -m geiger large.py)
	[[ $language == python ]] || command=(lua5.4 -lgeiger large.lua)
	GEIGER_RING=1048576 "$GEIGER" record --quiet --interval "$2" --seed 1 --output "$1.geiger" "${@:3}" \
		-- "${command[@]}" || return
	"$GEIGER" report --json --limit 1 "$1.geiger" |
		"$python" -c 'import json, sys; bytes = json.load(sys.stdin)["totals"]["allocated_bytes"]
print(int(bytes["low"]), int(bytes["high"]))'
}

# Once the interval is small, samples do not come from malloc, where each takes 528 bytes.
small_interval() {
	local now later

	cat >floats.py <<-'END'
		import geiger, sys
		if len(sys.argv) > 1:
		    geiger.set_interval(256)
		kept = [float(i) for i in range(1500000)]
		print(*[line.split()[1] for line in open("/proc/self/status") if line.startswith("RssAnon")])
	END
	now=$("$GEIGER" record --quiet -i 256 -o small.geiger -- "$python" floats.py) &&
		later=$("$GEIGER" record --quiet -i 512k -o small.geiger -- "$python" floats.py later) || return
	echo "RssAnon: $now kB at 256 from the start, $later kB if it is set later"
	((later < now * 5 / 4))
}

# libgeiger-malloc.so does not count the blocks that the language takes from it a second time.
over_own_allocator() {
	local low high low_own high_own twice interval

	cp "$(dirname "$GEIGER")/libgeiger-malloc.so" "$scratch" || return
	echo 'kept = [bytes(900 + i % 100) for i in range(30000)] + [float(i) for i in range(300000)]' >large.py
	echo 'kept = {} for i = 1, 40000 do kept[i] = ("x"):rep(900) .. i end' >large.lua
	for interval in 16k 64k; do
		read -r low high <<<"$(allocated agent "$interval")"
		read -r low_own high_own <<<"$(allocated own "$interval" --malloc)"
		echo "allocated at $interval: $low to $high, with --malloc $low_own to $high_own"
		((low > 20 << 20 && low <= high_own && low_own <= high)) || return
	done
	allocated own 2k --malloc || return
	twice="select count(*) from sample below join sample above using (process, address)
		where below.heap is null and above.heap is not null
		and below.t_alloc < ifnull(above.t_free, 1e18) and above.t_alloc < ifnull(below.t_free, 1e18)"
	equals 'blocks that count twice' "$("$GEIGER" sql --csv own.geiger "$twice" | tail -n 1)" 0
}

# No two samples lie in one place at a time, whichever heaps they belong to.  Most blocks of the raw
# domain serve the other domains, so few samples of 32 KiB are its own.
in_one_heap() {
	local twice="select count(*) from (
		select t_alloc, max(ifnull(t_free, 1e18)) over (partition by process, address
			order by t_alloc, ifnull(t_free, 1e18)
			rows between unbounded preceding and 1 preceding) as held from sample)
		where held > t_alloc"
	local raw

	equals 'what the profile lost' "$(notes from_malloc "text like '% lost%'")" '' &&
		equals 'samples in one place' "$("$GEIGER" sql --csv from_malloc.geiger "$twice" | tail -n 1)" 0 ||
		return
	raw=$("$GEIGER" report seed1.geiger --by heap --metric allocated |
		sed -n 's/.* \([0-9]*\)  python\.raw$/\1/p')
	echo "samples of python.raw: $raw, at most 20"
	((raw > 0 && raw <= 20))
}

# A block whose resize fails is live and a sample, with each kind of hooks.
fails_to_resize() {
	local interval live

	cat >fails.py <<-'END'
		block = bytearray(50 << 20)
		try:
		    block *= 1 << 21
		except MemoryError:
		    print("failed", flush=True)
		__import__("os")._exit(0)
	END
	for interval in 512k 1k; do
		equals 'the resize' "$("$GEIGER" record --quiet -i "$interval" -o fails.geiger -- "$python" fails.py)" failed ||
			return
		live=$("$GEIGER" sql --csv fails.geiger \
			"select count(*) from sample where size >= 50 << 20 and t_free is null" | tail -n 1)
		equals "live samples of the block at $interval" "$live" 1 || return
	done
}

without_notes() {
	equals notes "$(notes exact "text like '%malloc%'")" ''
}

mkdir regions
export GEIGER_DIR=$scratch/regions
check "live_bytes_of_${language}_are_what_another_counts" witness agent
check "live_bytes_of_${language}_without_the_agent_are_what_another_counts" witness own
if [[ $language == python ]]; then
	check 'live_bytes_of_python_are_what_another_counts_where_samples_come_from_malloc' witness from_malloc
	check 'live_bytes_of_python_are_what_another_counts_where_the_hooks_change' witness from_both
	check 'samples_of_a_small_interval_do_not_come_from_malloc' small_interval
fi
check "estimates_of_${language}_are_within_their_intervals" over_seeds
modes=()
[[ $language == lua ]] || modes=(malloc pymalloc_debug)
check "each_block_of_${language}_counts_once" counted_once "${modes[@]}"
check "each_block_of_${language}_over_the_own_allocator_counts_once" over_own_allocator
if [[ $language == python ]]; then
	check 'a_sample_from_malloc_is_in_one_heap' in_one_heap
	check 'a_resize_that_fails_leaves_the_sample' fails_to_resize
fi
check "a_profile_of_${language}_says_nothing_of_malloc" without_notes
finish
