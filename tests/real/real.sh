# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# real.sh - real programs, without and with geiger (tests/test.sh has check and finish).
#
#   needs sqlite3                             else the whole file is skipped, with the reason
#   same NAME COMMAND...                      runs it twice, in two folders of their own
#
# `same` is one test: the same exit status, the same standard output and error, the same files left
# in the folder, byte for byte, with and without `geiger record` at an interval of 4 KiB; the
# profile is whole; no sample was dropped.  COMMAND may be a shell function, which runs its server
# by $geiger: empty in the first run, `geiger record ...` in the second.
#
#   real_input      a folder for what both runs read; made before
#   real_seconds    the time limit of one run, by default 500
#   real_ignore     names (as `diff -x` takes them) that may differ
#   real_filter     a command through which both outputs go before they are compared
#   real_least      samples that there must be at least, by default 50
#
# With REAL_WAY=attach the second run is not started by geiger: attach_beside.py attaches to each of
# its processes and detaches again, all the while; there must be $real_attaches of them at
# least (by default 1), unless the run ends so soon that geiger may come too late.  With
# REAL_PRELOAD=LIBRARY both runs have that allocator.
#
# Other values of REAL_WAY have the second run use the allocator libgeiger-malloc, with one sample
# in 64 KiB; several of them have one run each:
#
#   malloc        under `geiger record --malloc`
#   preload       with the library preloaded, and no recorder
#   preload_off   the same with sampling off
#
# With REAL_TABLE=FILE, a row of figures is added to that file for tests/real/table; with
# REAL_KEEP=FOLDER the profiles of what failed are kept there.
# shellcheck source=tests/test.sh
. "$(dirname "${BASH_SOURCE[0]}")/../test.sh"
: "${GEIGER:?the geiger command}"
# Every user can read the folder, because some programs give up their privileges, and the loader
# complains on stderr of libraries that it can preload no longer.
chmod 755 "$scratch"
cp "${GEIGER_AGENT:-$(dirname "$GEIGER")/libgeiger-agent.so}" "$scratch/libgeiger-agent.so"
export GEIGER_AGENT=$scratch/libgeiger-agent.so
real_adapter=$(dirname "$GEIGER")/../bindings/python/libgeiger-python.so
[[ ! -e $real_adapter ]] || cp "$real_adapter" "$scratch/libgeiger-python.so"
real_malloc=$(dirname "$GEIGER")/libgeiger-malloc.so
[[ ! -e $real_malloc ]] || cp "$real_malloc" "$scratch/libgeiger-malloc.so"

real_folder=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
real_ways=${REAL_WAY:-record} real_preload=${REAL_PRELOAD:+env LD_PRELOAD=$REAL_PRELOAD}
real_input=$scratch/input
real_seconds=500 real_ignore=() real_filter=cat real_least=50 real_attaches=1
mkdir "$real_input"
export LC_ALL=C.UTF-8 TZ=UTC
unset PYTHONUNBUFFERED # with it, Python does not write the rest of a short write

# needs PROGRAM... - without one of them, every test of this file is skipped.
needs() {
	local program
	for program; do
		if ! command -v "$program" >/dev/null; then
			echo "skipped - $(basename "$0" .sh): $program is not installed"
			exit 77
		fi
	done
}

# ask SQL - of the profile that $profile names.
ask() {
	"$GEIGER" sql --csv "$profile" "$1" | tail -n +2
}

# once FOLDER COMMAND... - runs it there and keeps what it says beside the folder.
once() {
	local folder=$1 status=0 start
	shift
	mkdir -p "$folder"
	start=$(date +%s%N)
	(cd "$folder" && limited "$@") >"$folder.out" 2>"$folder.err" </dev/null || status=$?
	echo $((($(date +%s%N) - start) / 1000000)) >"$folder.ms"
	echo "$status" >"$folder.status"
}

# A function cannot be run by timeout(1); one that hangs is ended with its group by meson.
limited() {
	if [[ $(type -t "$1") == function ]]; then
		"$@"
	else
		# shellcheck disable=SC2086 # a command of several words, or none
		timeout --kill-after=5 "$real_seconds" $geiger "$@"
	fi
}

compare() {
	local a=$1 b=$2 stream ignored=()
	for stream in "${real_ignore[@]}"; do
		ignored+=(-x "$stream")
	done
	{
		diff -u "$a.status" "$b.status"
		for stream in out err; do
			diff -u <($real_filter <"$a.$stream") <($real_filter <"$b.$stream")
		done
		diff -r "${ignored[@]}" "$a" "$b"
	} >"$b.diff"
	head -50 "$b.diff"
	[[ ! -s $b.diff ]]
}

# The counters that tell of something that was not recorded as it should.
readonly drops="name <> 'events dropped: ring full' and (name like '%dropped%' or name like '%deferred%'
	or name like 'stacks without%' or name like 'threads without%' or name like 'requests for space%')"

# good_profile LEAST - it is whole, and has so many samples at least.
good_profile() {
	local samples dropped
	"$GEIGER" check "$profile" || return
	samples=$(ask "select coalesce(sum(value), 0) as samples from counter where name = 'samples'")
	dropped=$(ask "select process, name, value from counter where $drops")
	echo "$samples samples; dropped: ${dropped:-none}"
	((samples >= $1)) && [[ -z $dropped ]]
}

# The reasons for which a process that lives on may be refused: it waits, works, starts, is attached
# to at the moment, has executed another program, is about to do so, or ends.
readonly usual='not attached: (idle|busy)|loader has not started the program|another geiger|has no region|not detached yet|glibc is not among|list of modules cannot be read|executed'
readonly usual_ends='just ending|\(vfork\)|its main thread has ended'

# count_rounds LOG
count_rounds() {
	echo "$(grep -c '"step": "attach", "error": null' "$1") attaches," \
		"$(grep -c '"step": "detach", "error": null' "$1") detaches; other threads stood" \
		"$(sed -n 's/.*"stood_ns": \([0-9]*\).*/\1/p' "$1" | sort -n | tail -1) ns at most"
}

readonly soon_ms=3000 # a run that ends in less may end before an attach

# good_rounds RUN - the rounds were enough, and what failed had a reason that is usual.
good_rounds() {
	local log=$1.rounds attached
	until [[ -e $log.done ]]; do sleep 0.1; done
	attached=$(grep -c '"step": "attach", "error": null' "$log")
	tail -5 "$log"
	echo "$attached of $real_attaches attaches or more; the run took $(<"$1.ms") ms; not usual are:"
	! grep '"ended": false' "$log" | grep -vE "$usual|$usual_ends" &&
		((attached >= real_attaches || $(<"$1.ms") < soon_ms))
}

# name, processes, samples, drops, events lost, walks, incomplete ones by ending, ms, ms under
# geiger
add_row() {
	[[ -n ${REAL_TABLE:-} ]] || return 0
	{
		printf '%s\t' "$1"
		ask "select (select count(*) from process) as a,
			coalesce(sum(value) filter (where name = 'samples'), 0) as b,
			coalesce(sum(value) filter (where ($drops)), 0) as c,
			coalesce(sum(value) filter (where name = 'events dropped: ring full'), 0) as d,
			coalesce(sum(value) filter (where name = 'walks: complete'), 0) as e
			from counter" | tr ',\n' '\t'
		ask "select name || ' ' || sum(value) as a from counter
			where name like 'walks: %' and name <> 'walks: complete' group by name" |
			sed 's/walks: //' | paste -sd' ' | tr '\n' '\t'
		paste "$plain.ms" "$under.ms"
	} >>"$REAL_TABLE"
}

# Regions of processes that libgeiger-malloc served, and the samples in them.
good_regions() {
	local count samples
	read -r count samples < <("$GEIGER" ls "$regions" | awk '$1 ~ /^[0-9]+$/ { n++; s += $7 } END { print n + 0, s + 0 }')
	echo "$count regions with $samples samples; the fewest allowed are $1"
	((count > 0)) && if [[ $way == preload_off ]]; then ((samples == 0)); else ((samples >= $1)); fi
}

same() {
	local name=$1 way plain=$scratch/plain/$1
	shift
	mkdir -p "$scratch/plain"
	geiger=$real_preload once "$plain" "$@"
	for way in $real_ways; do
		run_again "$name" "$@"
	done
}

# run_again NAME COMMAND... - the second run, in the way $way.
run_again() {
	local name=$1 under=$scratch/$way/$1 profile=$scratch/$1.$way.geiger regions=$scratch/$way/$1.regions
	local geiger='' by='' least=$real_least failures_before=$failed_count
	shift
	mkdir -p "$scratch/$way"
	if [[ $way == attach ]]; then
		geiger="$real_preload $real_folder/attach_beside.py $under.rounds"
		once "$under" "$@"
		check "${name}_does_the_same_while_geiger_attaches_and_detaches" compare "$plain" "$under"
		check "${name}_is_attached_and_detached" good_rounds "$under"
		echo "# $name: $(count_rounds "$under.rounds")"
		return
	fi
	case $way in
	record) geiger="$GEIGER record --quiet --interval 4k --seed 1 --output $profile --" ;;
	malloc) geiger="$GEIGER record --malloc --quiet --interval 64k --seed 1 --output $profile --" ;;
	preload*)
		mkdir -m 1777 "$regions" # programs may give up their privileges
		geiger="env GEIGER_DIR=$regions GEIGER_INTERVAL=64k GEIGER_SEED=1"
		[[ $way != preload_off ]] || geiger+=" GEIGER_ACTIVE=0"
		geiger+=" LD_PRELOAD=$scratch/libgeiger-malloc.so"
		;;
	*)
		echo "real.sh: no way '$way'"
		exit 2
		;;
	esac
	[[ $way == record ]] || least=$((real_least / 16)) # an interval of 64 KiB instead of 4
	once "$under" "$@"
	if [[ $way == record ]]; then
		check "${name}_does_the_same_under_geiger" compare "$plain" "$under"
	else
		by=_by_$way
		check "${name}_does_the_same_with_libgeiger_malloc$by" compare "$plain" "$under"
	fi
	if [[ $way == preload* ]]; then
		check "${name}_has_regions$by" good_regions "$least"
	else
		check "${name}_has_a_whole_profile${by}" good_profile "$least"
		((failed_count == failures_before)) || keep_failed "$profile"
		add_row "$name"
	fi
}

keep_failed() {
	[[ -z ${REAL_KEEP:-} ]] || cp "$1" "$REAL_KEEP"
}
