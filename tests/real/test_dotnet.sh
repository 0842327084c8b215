#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# test_dotnet - traces of a real .NET runtime are imported: random samples, ticks, live objects, and
# a trace that was cut.  Programs are recorded and attached to.
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

# A run has some 45 samples.  In one of ten runs no sample is of a text, or none is below <Main>.
samples_have_types_and_names() {
	local try
	for try in 1 2 3; do
		has_types_and_names && return
		echo "# run $try has them not"
	done
	return 1
}

has_types_and_names() {
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
	"$GEIGER" report --by type --metric allocated "$scratch/ticks.geiger" >"$scratch/ticks.txt" &&
		grep -q ' System.String$' "$scratch/ticks.txt" &&
		! grep -q '±' "$scratch/ticks.txt" &&
		grep -q 'allocation ticks' "$scratch/ticks.txt"
}

a_trace_that_was_cut_is_imported_with_a_note() {
	head -c 100000 "$scratch/sampled.nettrace" >"$scratch/cut.nettrace"
	import cut && ask cut "select text from note" | grep -q 'was cut'
}

# record NAME WORD... - records the program; its output, without the time that it took, is in NAME.
record() {
	local name=$1
	shift
	timeout 300 "$GEIGER" record -q -o "$scratch/$name.geiger" -- "$@" >"$scratch/$name" &&
		"$GEIGER" check "$scratch/$name.geiger" >/dev/null
}

a_recording_has_both_heaps_and_changes_no_output() {
	"$program" tools list | grep -v '"duration"' >"$scratch/plain" &&
		record both "$program" tools list || return 1
	local managed native
	managed=$(ask both "select count(*) from sample where heap is not null")
	native=$(ask both "select count(*) from sample where heap is null")
	echo "# $managed samples of .NET, and $native of malloc"
	grep -v '"duration"' "$scratch/both" | cmp - "$scratch/plain" &&
		((managed >= 15 && native >= 10)) &&
		[[ $(ask both "select count(*) from process") == 1 ]] &&
		[[ $(ask both "select count(*) from note where text like '%NET%'") == 0 ]] &&
		(($(ask both "select count(*) from sample where heap is not null and t_free is null") > 0)) &&
		"$GEIGER" tree --metric allocated "$scratch/both.geiger" |
		grep -q 'Azure.Mcp.Server.Program.<Main>'
}

native_frames_in_compiled_methods_have_names() {
	local all named
	all=$(ask both "select count(*) from frame where module is null")
	named=$(ask both "select count(distinct frame) from line join frame on frame.id = line.frame
		where module is null")
	echo "# $named of $all frames without a module have names"
	((all > 100 && named * 10 >= all * 8))
}

two_runtimes_are_two_processes() {
	record two bash -c "'$program' --help & '$program' --help; wait" &&
		[[ $(ask two "select count(distinct process) from sample where heap is not null") == 2 ]]
}

# serve - starts the program's server in the background, as $server, with requests for 60 s at most.
serve() {
	rm -f "$scratch/served" # an earlier server's answer would be taken for this one's
	{
		echo '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2024-11-05",' \
			'"capabilities":{},"clientInfo":{"name":"t","version":"1"}}}'
		echo '{"jsonrpc":"2.0","method":"notifications/initialized"}'
		for ((i = 1; i <= 6000; i++)); do
			echo '{"jsonrpc":"2.0","id":'"$i"',"method":"tools/list"}' || break
			sleep 0.01
		done
	} 2>/dev/null | "$@" >"$scratch/served" 2>"$scratch/server.log" &
	server=$!
	for ((i = 0; i < 300; i++)); do
		[[ -s $scratch/served ]] && return
		sleep 0.1
	done
	return 1
}

# end_server - ends the server, and its client.
end_server() {
	kill "$server" 2>/dev/null
	wait "$server" 2>/dev/null
	return 0
}

attach_needs_nothing_but_the_socket() {
	mkdir -p "$scratch/tmp"
	TMPDIR=$scratch/tmp serve "$program" server start || return 1
	"$GEIGER" attach --only dotnet --max-time 3 -o "$scratch/socket.geiger" "$server"
	local status=$?
	! grep -q libgeiger "/proc/$server/maps" || status=1
	end_server
	"$GEIGER" check "$scratch/socket.geiger" >/dev/null || return 1
	local samples frames named
	samples=$(ask socket "select count(*) from sample where t_free is null or t_free > t_alloc")
	frames=$(ask socket "select count(*) from frame")
	named=$(ask socket "select count(distinct frame) from line")
	echo "# $samples samples; $named of $frames frames have names"
	((status == 0 && samples >= 20 && named * 100 >= frames * 95))
}

attach_records_malloc_as_well() {
	serve "$program" server start || return 1
	"$GEIGER" attach -i 16k --max-time 5 -o "$scratch/attached.geiger" "$server"
	local status=$?
	end_server
	"$GEIGER" check "$scratch/attached.geiger" >/dev/null || return 1
	local managed native
	managed=$(ask attached "select count(*) from sample where heap is not null")
	native=$(ask attached "select count(*) from sample where heap is null")
	echo "# status $status, $managed samples of .NET, and $native of malloc"
	((status == 0 && managed >= 5 && native >= 1)) &&
		[[ $(ask attached "select count(*) from process") == 1 ]]
}

a_killed_program_has_its_samples_and_names() {
	serve "$GEIGER" record -q -o "$scratch/killed.geiger" -- "$program" server start || return 1
	sleep 3
	# Not the recorder's own children, which look up names.
	pkill -KILL -P "$server" -f "^$program server start"
	wait "$server"
	(($? == 137)) && "$GEIGER" check "$scratch/killed.geiger" >/dev/null || return 1
	local frames named samples
	samples=$(ask killed "select count(*) from sample where heap is not null")
	frames=$(ask killed "select count(*) from frame where module is null")
	named=$(ask killed "select count(distinct frame) from line join frame on frame.id = line.frame
		where module is null")
	echo "# $samples samples; $named of $frames frames have names"
	((samples >= 10 && named * 10 >= frames * 8))
}

a_killed_recorder_leaves_samples_to_salvage() {
	serve "$GEIGER" record -q -o "$scratch/lost.geiger" -- "$program" server start || return 1
	sleep 3
	local child
	child=$(pgrep -P "$server" -f "^$program server start")
	kill -KILL "$server"
	wait "$server"
	sleep 0.5
	kill -0 "$child" || return 1 # it goes on
	kill "$child"
	"$GEIGER" salvage -o "$scratch/lost.salvaged.geiger" /dev/shm/geiger-session-"$server"-* &&
		"$GEIGER" check "$scratch/lost.salvaged.geiger" >/dev/null || return 1
	local managed native named
	managed=$(ask lost.salvaged "select count(*) from sample where heap is not null and t_free is null")
	native=$(ask lost.salvaged "select count(*) from sample where heap is null")
	named=$(ask lost.salvaged "select count(*) from symbol where function like 'Azure.Mcp.%'")
	echo "# $managed live samples of .NET, $native of malloc, $named named functions of the program"
	"$GEIGER" clean --all -q /dev/shm/geiger-session-"$server"-*
	((managed >= 10 && native >= 1 && named >= 5))
}

top_shows_the_types_and_methods_of_a_program_that_runs() {
	serve "$GEIGER" record -q --no-dotnet -o "$scratch/watched.geiger" -- "$program" server start || return 1
	local child
	child=$(pgrep -P "$server" -f "^$program server start")
	"$GEIGER" top -n 6 --json --by type "$child" >"$scratch/types.json"
	"$GEIGER" top -n 6 --json --by function "$child" >"$scratch/functions.json"
	end_server
	grep -q '"name":"System\.Byte\[\]"' "$scratch/types.json" &&
		grep -q '"name":"ModelContextProtocol\.' "$scratch/functions.json"
}

# resume_later PATH - plays a tool that waits for runtimes at its own port, and lets them go on.
resume_later() {
	python3 - "$1" <<'END' &
import socket, struct, sys, time
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
listener.listen()
connection = listener.accept()[0]
connection.recv(34, socket.MSG_WAITALL)
time.sleep(1)
connection.sendall(b"DOTNET_IPC_V1\0" + struct.pack("<HBBH", 20, 4, 1, 0))
connection.recv(20, socket.MSG_WAITALL)
spare = listener.accept()[0]
print("resumed", flush=True)
spare.recv(1)
END
}

# The runtime waits for the user's own tool, and is followed from its first object on.
a_program_that_starts_suspended_has_its_first_objects() {
	resume_later "$scratch/mine" >"$scratch/resumed"
	local tool=$!
	while [[ ! -S $scratch/mine ]]; do sleep 0.05; done
	DOTNET_DiagnosticPorts=$scratch/mine,suspend record suspended "$program" tools list || return 1
	wait "$tool"
	local managed
	managed=$(ask suspended "select count(*) from sample where heap is not null")
	echo "# $managed samples of .NET"
	grep -q resumed "$scratch/resumed" && grep -v '"duration"' "$scratch/suspended" | cmp - "$scratch/plain" &&
		((managed >= 20))
}

# The user's own trace goes on beside geiger's, with the same samples.
a_trace_of_the_users_own_is_whole_beside_a_recording() {
	DOTNET_EnableEventPipe=1 DOTNET_EventPipeOutputPath=$scratch/own.nettrace \
		DOTNET_EventPipeConfig=Microsoft-Windows-DotNETRuntime:0x80000000000:4 record beside "$program" tools list &&
		import own || return 1
	local own recorded
	own=$(ask own "select count(*) from sample")
	recorded=$(ask beside "select count(*) from sample where heap is not null")
	echo "# $own samples in the trace, $recorded in the recording"
	grep -v '"duration"' "$scratch/beside" | cmp - "$scratch/plain" &&
		((own >= 20 && recorded >= 15 && recorded <= own))
}

reports_leaks_and_exports_have_managed_types_and_methods() {
	"$GEIGER" report --by type "$scratch/both.geiger" | grep -q ' System\.' &&
		"$GEIGER" leaks "$scratch/both.geiger" >"$scratch/leaks.txt" &&
		"$GEIGER" export -f collapsed --metric allocated -o "$scratch/both.txt" "$scratch/both.geiger" &&
		grep -q 'Azure.Mcp.Server.Program.<Main>' "$scratch/both.txt" &&
		"$GEIGER" export -f pprof -o "$scratch/both.pb.gz" "$scratch/both.geiger" &&
		zcat "$scratch/both.pb.gz" | grep -q -a 'System.String' &&
		zcat "$scratch/both.pb.gz" | grep -q -a 'Azure.Mcp.Server.Program.<Main>'
}

# The runtime reserves 4 MiB and more at a time.
mappings_do_not_count_the_managed_heap_again() {
	timeout 300 "$GEIGER" record -q --mmap -o "$scratch/mapped.geiger" -- "$program" tools list >/dev/null || return 1
	local managed largest
	managed=$(ask mapped "select count(*) from sample where heap is not null")
	largest=$(ask mapped "select max(size) from sample where heap is null and interval <= 1")
	echo "# $managed samples of .NET; the largest mapping has $largest bytes"
	((managed >= 15 && largest > 0 && largest < 4 << 20))
}

check samples_have_types_and_names samples_have_types_and_names
check collections_tell_what_is_live collections_tell_what_is_live
check ticks_have_no_interval ticks_have_no_interval
check a_trace_that_was_cut_is_imported_with_a_note a_trace_that_was_cut_is_imported_with_a_note
check a_recording_has_both_heaps_and_changes_no_output a_recording_has_both_heaps_and_changes_no_output
check native_frames_in_compiled_methods_have_names native_frames_in_compiled_methods_have_names
check two_runtimes_are_two_processes two_runtimes_are_two_processes
check attach_needs_nothing_but_the_socket attach_needs_nothing_but_the_socket
check attach_records_malloc_as_well attach_records_malloc_as_well
check a_killed_program_has_its_samples_and_names a_killed_program_has_its_samples_and_names
check top_shows_the_types_and_methods_of_a_program_that_runs top_shows_the_types_and_methods_of_a_program_that_runs
check a_program_that_starts_suspended_has_its_first_objects a_program_that_starts_suspended_has_its_first_objects
check a_trace_of_the_users_own_is_whole_beside_a_recording a_trace_of_the_users_own_is_whole_beside_a_recording
check reports_leaks_and_exports_have_managed_types_and_methods reports_leaks_and_exports_have_managed_types_and_methods
check mappings_do_not_count_the_managed_heap_again mappings_do_not_count_the_managed_heap_again
check a_killed_recorder_leaves_samples_to_salvage a_killed_recorder_leaves_samples_to_salvage
finish
