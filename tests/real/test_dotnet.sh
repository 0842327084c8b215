#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# test_dotnet - traces of a real .NET runtime are imported: random samples, ticks, live objects, and
# a trace that was cut.
# shellcheck source=tests/test.sh disable=SC2317 # functions are called through check
. "$(dirname "${BASH_SOURCE[0]}")/../test.sh"
: "${GEIGER:?the geiger command}"

if ! program=$("$(dirname "${BASH_SOURCE[0]}")/../../script/dotnet_runtime" 2>"$scratch/why"); then
	echo "skipped - dotnet: $(head -n 1 "$scratch/why")"
	exit 77
fi
export HOME=$scratch/home AZURE_MCP_COLLECT_TELEMETRY=false
mkdir "$HOME"

# trace NAME KEYWORDS:LEVEL - runs the program, which writes NAME.nettrace.
trace() {
	DOTNET_EnableEventPipe=1 DOTNET_EventPipeOutputPath=$scratch/$1.nettrace \
		DOTNET_EventPipeConfig=Microsoft-Windows-DotNETRuntime:$2 \
		DOTNET_GCgen0size=200000 timeout 300 "$program" --help >/dev/null
}

# import NAME - makes NAME.geiger, which must be whole.
import() {
	"$GEIGER" import -q "$scratch/$1.nettrace" -o "$scratch/$1.geiger" &&
		"$GEIGER" check "$scratch/$1.geiger" >/dev/null
}

# ask NAME SQL
ask() {
	"$GEIGER" sql --csv "$scratch/$1.geiger" "$2" | tail -n +2
}

samples_have_types_and_names() {
	trace sampled 0x80000000000:4 && import sampled || return 1
	local samples named frames
	samples=$(ask sampled "select count(*) from sample where type is not null and heap is not null
		and stack is not null and interval = 102400 and offset < size")
	frames=$(ask sampled "select count(*) from frame")
	named=$(ask sampled "select count(distinct frame) from line")
	echo "# $samples samples; $named of $frames frames have names"
	((samples >= 15 && samples == $(ask sampled "select count(*) from sample"))) &&
		((named * 100 >= frames * 95)) &&
		[[ $(ask sampled "select count(*) from type where name = 'System.String'") == 1 ]] &&
		"$GEIGER" tree --metric allocated "$scratch/sampled.geiger" |
		grep -q 'Azure.Mcp.Server.Program.<Main>'
}

collections_tell_what_is_live() {
	trace lives 0x80000400001:4 && import lives || return 1
	[[ $(ask lives "select has_history from session") == 1 ]] &&
		(($(ask lives "select count(*) from sample where t_free is null") >= 10)) &&
		(($(ask lives "select count(*) from sample where t_free <= t_alloc") == 0)) &&
		(($(ask lives "select count(*) from note") == 0))
}

ticks_have_no_interval() {
	trace ticks 0x1:5 && import ticks || return 1
	"$GEIGER" report --metric allocated "$scratch/ticks.geiger" >"$scratch/ticks.txt" &&
		grep -q 'no intervals' "$scratch/ticks.txt" &&
		grep -q 'new System.String' "$scratch/ticks.txt" &&
		grep -q 'allocation ticks' "$scratch/ticks.txt"
}

a_trace_that_was_cut_is_imported_with_a_note() {
	head -c 100000 "$scratch/sampled.nettrace" >"$scratch/cut.nettrace"
	import cut && ask cut "select text from note" | grep -q 'was cut'
}

check samples_have_types_and_names
check collections_tell_what_is_live
check ticks_have_no_interval
check a_trace_that_was_cut_is_imported_with_a_note
finish
