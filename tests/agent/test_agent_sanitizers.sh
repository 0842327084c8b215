#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/test.sh disable=SC2317 # functions are called through check
#
# test_agent_sanitizers.sh - a program built with a sanitizer runs under the agent as without it.
# $1: geiger, $2: the agent, $3: the program, $4: what a report of the sanitizer begins with
. "$(dirname "$0")/../test.sh"
geiger=$1 agent=$2 program=$3 words=$4
unset GEIGER_DIR GEIGER_LOG ASAN_OPTIONS TSAN_OPTIONS
export GEIGER_AGENT=$agent
cd "$scratch" || exit 1

"$program" >alone 2>&1 || {
	echo "the program does not run here even alone; skipped"
	exit 77
}

under_agent() {
	GEIGER_DIR=$scratch GEIGER_INTERVAL=1 GEIGER_LOG=$scratch/log LD_PRELOAD=$agent "$@"
}

runs_the_same() {
	under_agent "$program" >under 2>&1 && cmp alone under &&
		! ls geiger-*.region 2>/dev/null
}

says_so_once() {
	[[ $(grep -c 'not profiling: the program is built with a sanitizer' log) == 1 ]]
}

still_reports() {
	under_agent "$program" wrong >errors 2>&1
	local status=$?
	cat errors
	[[ $status != 0 ]] && grep -q "$words" errors
}

session_counts_it() {
	"$geiger" record -q -o s.geiger sh -c "'$program' && '$program' && /bin/true" >out 2>&1 ||
		return 1
	"$geiger" report s.geiger | tr '\n' ' ' | tr -s ' ' >text
	cat text
	grep -q '2 programs were built with a sanitizer' text && ! grep -q 'not profiling' text
}

# LeakSanitizer does not replace malloc, so the agent stays on.  The report of a leak must still
# have the function that caused it.  libgeiger-malloc leaves malloc to it.
leak_has_its_caller() {
	under_agent "$program" leak >told 2>&1
	cat told
	grep -q 'in leak_here' told || return 1
	if [[ $agent == */libgeiger-malloc.so ]]; then
		grep -q 'not profiling: .*liblsan' log && ! compgen -G 'geiger-*.region'
	else
		ls geiger-*.region
	fi
}

if [[ $words == *LeakSanitizer* ]]; then
	check "a leak is told with its caller" leak_has_its_caller
	finish
fi
check "it runs as without the agent" runs_the_same
check "the agent says so once" says_so_once
check "the sanitizer still reports" still_reports
check "a session's note counts such programs" session_counts_it
finish
