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

# Under the agent, and with a region of the library's own.
witness() {
	if [[ $1 == own ]]; then
		if [[ $language == python ]]; then
			GEIGER=/nowhere $python -c "import sys, geiger; sys.argv = ['$here/held.py', 'own.region', 'own.truth']
geiger.start(1)
import runpy; runpy.run_path('$here/held.py', run_name='__main__')" || return
		else
			GEIGER_INTERVAL=1 lua5.4 -lgeiger "$here/held.lua" own.region own.truth || return
		fi
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

without_notes() {
	equals notes "$(notes exact "text like '%malloc%'")" ''
}

mkdir regions
export GEIGER_DIR=$scratch/regions
check "live_bytes_of_${language}_are_what_another_counts" witness agent
check "live_bytes_of_${language}_without_the_agent_are_what_another_counts" witness own
check "estimates_of_${language}_are_within_their_intervals" over_seeds
modes=()
[[ $language == lua ]] || modes=(malloc pymalloc_debug)
check "each_block_of_${language}_counts_once" counted_once "${modes[@]}"
check "a_profile_of_${language}_says_nothing_of_malloc" without_notes
finish
