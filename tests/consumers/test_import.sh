#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Files of real tools are imported, and the totals are what their own tools say of the same file.
# GEIGER, ALLOCATES: programs; HERE: this folder.
# shellcheck disable=SC2317 # functions are called by `check`
# shellcheck source=tests/test.sh
. "$(dirname "$0")/../test.sh"
cd "$scratch" || exit 1

# import FILE - as FILE.geiger, which `geiger check` has nothing against.
import() {
	"$GEIGER" import --quiet "$1" -o "$1.geiger" && "$GEIGER" check "$1.geiger"
}

# total FILE live|allocated bytes|count - as imported.
total() {
	local where=
	[[ $2 == live ]] && where="where to_ns is null"
	"$GEIGER" sql "$1.geiger" --csv "select round(sum($3), 3) from coarse $where" | tail -n 1
}

# near A B SHARE - are the numbers equal but for rounding?
near() {
	awk -v a="$1" -v b="$2" -v share="${3:-1e-9}" 'BEGIN {
		d = a - b; if (d < 0) d = -d
		if (a == "" || b == "" || b == 0 || d > share * b + 3) { print a " is not " b; exit 1 } }'
}

# perl_totals TOOL FILE - what jeprof and google-pprof have as total, compared with ours.
perl_totals() {
	local option
	for option in inuse_space:live:bytes inuse_objects:live:count \
		alloc_space:allocated:bytes alloc_objects:allocated:count; do
		IFS=: read -r index metric unit <<<"$option"
		near "$(total "$2" "$metric" "$unit")" \
			"$("$1" --text --show_bytes "--$index" "$ALLOCATES" "$2" 2>/dev/null |
				sed -n 's/^Total: \([0-9]*\) .*/\1/p')" || return 1
	done
}

# go_totals FILE - the same of `go tool pprof`.
go_totals() {
	local option
	for option in inuse_space:live:bytes inuse_objects:live:count \
		alloc_space:allocated:bytes alloc_objects:allocated:count; do
		IFS=: read -r index metric unit <<<"$option"
		near "$(total "$1" "$metric" "$unit")" \
			"$(go tool pprof -raw "$1" 2>/dev/null | awk -v want="$index" '
				/^Samples:/ { getline; for (i = 1; i <= NF; i++) if (index($i, want) == 1) at = i; next }
				/^Locations/ { exit }
				at && /:/ && $at ~ /^[0-9]+:?$/ { sub(":", "", $at); sum += $at }
				END { printf "%.0f", sum }')" 2e-6 || return 1
	done
}

jemalloc=$(ldconfig -p | sed -n 's/.*libjemalloc.so.2 .*=> //p' | head -n 1)
if [[ $jemalloc && $(command -v jeprof) ]]; then
	MALLOC_CONF=prof:true,prof_active:true,lg_prof_sample:14,prof_final:true,prof_accum:true,prof_prefix:je \
		LD_PRELOAD=$jemalloc "$ALLOCATES" >/dev/null 2>&1
	mv je.*.heap je.heap
	check a_dump_of_jemalloc_is_imported import je.heap
	check its_totals_are_those_of_jeprof perl_totals jeprof je.heap
	names() {
		"$GEIGER" symbolize je.heap.geiger && "$GEIGER" report je.heap.geiger | grep -w leaf
	}
	check its_frames_get_names names
	# The live memory is known from the usable sizes of the blocks.  jemalloc's sample points
	# differ in each run, because its seed is an address.  So the test uses a confidence
	# interval that misses once in ten million times: 5.3 sigma, or 6 % of the estimate.
	intervals() {
		"$GEIGER" report je.heap.geiger --confidence 0.9999999 --json | python3 -c '
import json, sys
live = json.load(sys.stdin)["totals"]["live_bytes"]
truth = 100000 * 64 + 4000 * (16 + 1024 + 2048 + 3072 + 4096) + 250 * 114688
sys.exit(not (live["low"] <= truth <= live["high"] < 1.2 * live["estimate"]))'
	}
	check its_interval_holds_the_truth intervals
fi

tcmalloc=$(ldconfig -p | sed -n 's/.*libtcmalloc.so.4 .*=> //p' | head -n 1)
if [[ $tcmalloc && $(command -v google-pprof) ]]; then
	HEAPPROFILE=$scratch/gp LD_PRELOAD=$tcmalloc "$ALLOCATES" >/dev/null 2>&1
	mv "$(find . -name 'gp.*.heap' | sort | tail -n 1)" gp.heap
	check a_heap_profile_of_gperftools_is_imported import gp.heap
	check its_totals_are_those_of_google_pprof perl_totals google-pprof gp.heap
	# The same rows as if they had been sampled.
	sed '1s/@.*/@ heap_v2\/65536/' gp.heap >sampled.heap
	check a_sampled_one_is_imported import sampled.heap
	check a_sampled_one_is_scaled_as_google_pprof_does perl_totals google-pprof sampled.heap
fi

if [[ $(command -v go) ]]; then
	GOCACHE=$scratch/cache GOFLAGS=-p=1 go build -o go_heap "$HERE/heap.go" 2>&1
	coproc GO_HEAP { ./go_heap go.pb.gz go.txt; }
	read -r address <&"${GO_HEAP[0]}"
	check a_heap_profile_of_go_is_imported import go.pb.gz
	check its_totals_are_those_of_go_tool_pprof go_totals go.pb.gz
	check the_text_of_the_same_is_imported import go.txt
	same() {
		near "$(total go.txt live bytes)" "$(total go.pb.gz live bytes)" 1e-5 &&
			near "$(total go.txt allocated bytes)" "$(total go.pb.gz allocated bytes)" 1e-5
	}
	check text_and_protocol_buffers_say_the_same same
	# The server itself allocates a little.
	fetched() {
		"$GEIGER" import --quiet "http://$address/debug/pprof/heap" -o fetched.geiger &&
			near "$(total fetched live bytes)" "$(total go.pb.gz live bytes)" 0.05
	}
	check the_server_of_a_program_of_go_says_it_too fetched
	eval "exec ${GO_HEAP[1]}>&-"
	wait "$GO_HEAP_PID"
fi

if [[ $(command -v heaptrack) ]]; then
	heaptrack -o ht "$ALLOCATES" >/dev/null 2>&1
	ht=$(find . -name 'ht.*' | head -n 1)
	check what_heaptrack_recorded_is_imported import "$ht"
	# "leaked: 71.72M" and "calls to allocation functions: 221003 (...)"
	printed() {
		heaptrack_print -f "$ht" 2>/dev/null >printed
		near "$(total "$ht" allocated count)" \
			"$(sed -n 's/^calls to allocation functions: \([0-9]*\) .*/\1/p' printed)" &&
			near "$(total "$ht" live bytes)" \
				"$(sed -n 's/^total memory leaked: \([0-9.]*\)M$/\1e6/p' printed)" 1e-3
	}
	check its_totals_are_those_of_heaptrack_print printed
fi

if [[ $(command -v node) ]]; then
	node --heap-prof --heap-prof-interval=4096 --heap-prof-name=v8.heapprofile -e '
const kept = []; function make() { for (let i = 0; i < 100000; i++) kept.push({ i, list: [i] }); } make();'
	check a_heapprofile_of_node_is_imported import v8.heapprofile
	sum() {
		# The tree has rounded the weights of large objects.
		near "$(total v8.heapprofile live bytes)" "$(node -e '
const sum = (node) => node.selfSize + node.children.reduce((all, child) => all + sum(child), 0);
console.log(sum(JSON.parse(require("fs").readFileSync("v8.heapprofile")).head));')" 0.02
	}
	check its_total_is_the_sum_of_its_tree sum
	node --heap-prof --heap-prof-interval=65536 --heap-prof-name=known.heapprofile -e '
globalThis.kept = [];
function fill() { for (let i = 0; i < 4000; i++) kept.push(new Array(1000).fill(1.5)); }
fill();'
	check a_heapprofile_of_known_arrays_is_imported import known.heapprofile
	# The arrays have 4000 x 8016 bytes.  An interval of 95 % would fail in one of 20 runs.
	known() {
		"$GEIGER" report known.heapprofile.geiger --json --confidence 0.9999999 \
			--focus '^fill$' | python3 -c '
import json, sys
bytes = json.load(sys.stdin)["selected_bytes"]
print(bytes)
sys.exit(not bytes["low"] < 4000 * 8016 < bytes["high"] < 1.5 * 4000 * 8016)'
	}
	check its_interval_holds_the_truth known
fi

printf 'main;parse;grow 65536\nmain;free 4096\n' >plain.collapsed
check collapsed_stacks_are_imported import plain.collapsed
no_error() {
	"$GEIGER" report plain.collapsed.geiger --json | python3 -c '
import json, sys
live = json.load(sys.stdin)["totals"]["live_bytes"]
sys.exit(not (live["estimate"] == 69632 and live["interval"] is None and live["low"] is None))'
}
check they_have_no_confidence_interval no_error
piped() {
	"$GEIGER" import --quiet - -o piped.geiger <plain.collapsed && "$GEIGER" check piped.geiger
}
check standard_input_is_a_file_like_any piped

files=(*.geiger)
all() {
	local sum
	"$GEIGER" merge --quiet "${files[@]}" -o all.geiger && "$GEIGER" check all.geiger || return 1
	sum=$(for file in "${files[@]}"; do total "${file%.geiger}" live bytes; done | awk "{ sum += \$1 } END { printf \"%.3f\\n\", sum }")
	near "$(total all live bytes)" "$sum" 1e-6
}
check all_of_them_are_merged all

check leaks_are_not_told_of_sums refuses "no times" "$GEIGER" leaks all.geiger

head -c 300 gp.heap >cut.heap 2>/dev/null || printf 'heap profile: 1: 1 [1: 1] @ heapprofile\n' >cut.heap
check a_file_that_is_cut_is_refused refuses "cut.heap: offset" "$GEIGER" import cut.heap -o kept.geiger
check nothing_is_written_then test ! -e kept.geiger
cp all.geiger kept.geiger
kept() {
	"$GEIGER" import --quiet cut.heap -o kept.geiger
	cmp all.geiger kept.geiger && [[ $(find . -name 'kept*' | wc -l) == 1 ]]
}
check what_was_there_stays kept
finish
