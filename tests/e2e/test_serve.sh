#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2317 # functions are called through check
#
# test_serve.sh GEIGER GOLDEN_PROFILE [AGENT] - geiger serve as curl sees it: which clients may ask,
# what geiger answers, and that a process is shown as it is now.  Without AGENT there is no such
# process.
. tests/test.sh

geiger=$1
golden=$2
agent=${3:-}
export GEIGER_DIR=$scratch/regions
mkdir "$GEIGER_DIR" "$scratch/folder" "$scratch/folder/below"
hostile="</script><script>alert(1)<"
hostile=${hostile//\//_}.geiger
"$golden" "$scratch/folder/made.geiger"
cp "$scratch/folder/made.geiger" "$scratch/folder/$hostile"
cp "$scratch/folder/made.geiger" "$scratch/folder/below/secret.geiger"
ln -s below/secret.geiger "$scratch/folder/link.geiger"
server=
program=

# Starts it and waits for the address that it prints: url, base and token.
begin() {
	# The redirection below empties the file once the new process runs, which may be later than
	# the loop below reads the address of the server before.
	: >"$scratch/url"
	"$geiger" serve "$@" >"$scratch/url" 2>"$scratch/err" &
	server=$!
	for _ in $(seq 600); do
		url=$(head -n 1 "$scratch/url")
		[[ -n $url ]] && break
		kill -0 "$server" 2>/dev/null || break
		sleep 0.1
	done
	base=${url%%/\?*}
	token=${url##*=}
	port=${base##*:}
}

# Interrupts it; `status` is what it ends with.  Not for `check`, which runs in a shell of its own.
end() {
	kill -INT "$server"
	status=0
	wait "$server" || status=$?
	server=
}

clean_up() {
	local pid
	for pid in $server $program; do
		kill "$pid" 2>/dev/null
	done
	rm -rf "$scratch"
}
trap clean_up EXIT

# ask PATH [OPTION]... - with the token; prints the body.
ask() {
	local path=$1
	shift
	curl -sS --max-time 120 --compressed -H "Authorization: Bearer $token" "$@" "$base$path"
}

# status_of PATH [OPTION]... - without a token.
status_of() {
	local path=$1
	shift
	curl -sS --max-time 120 -o "$scratch/body" -w '%{http_code}' "$@" "$base$path"
}

headers_of() {
	ask "$1" -o /dev/null -D - | tr -d '\r'
}

# The value of an expression of the data on standard input, as Python has it.
value_of() {
	python3 -c "import json,sys; data = json.load(sys.stdin); print($1)"
}

begin "$scratch/folder"

rows_of_rss_are_those_of_the_command() {
	ask "/why?profile=made.geiger" >"$scratch/why" &&
		"$geiger" why "$scratch/folder/made.geiger" --json | cmp - "$scratch/why" &&
		ask "/why?profile=made.geiger&pid=1" | value_of 'data["processes"]' | grep -qx '\[\]' &&
		[[ $(ask "/why?profile=made.geiger&moment=noon" -o /dev/null -w '%{http_code}') == 400 ]] &&
		[[ $(ask "/why?profile=made.geiger&pid=-1" -o /dev/null -w '%{http_code}') == 400 ]] &&
		[[ $(ask "/why?profile=none.geiger" -o /dev/null -w '%{http_code}') == 404 ]]
}

announced() {
	[[ $url =~ ^http://127\.0\.0\.1:[0-9]+/\?token=[0-9a-f]{64}$ ]]
}

nothing_without_the_token() {
	local path
	for path in / /page /data /profiles "/export?format=pprof" /diff /why /nothing; do
		[[ $(status_of "$path") == 403 ]] || return 1
		[[ $(status_of "$path" -H "Authorization: Bearer ${token%?}") == 403 ]] || return 1
		[[ $(status_of "$path" -b "geiger_$port=0$token") == 403 ]] || return 1
	done
	[[ $(status_of "/?token=${token}0") == 403 ]]
}

first_request_moves_the_token() {
	curl -sS -o /dev/null -D - "$url" | tr -d '\r' >"$scratch/headers"
	grep -q '^HTTP/1.1 303' "$scratch/headers" && grep -qx 'Location: /' "$scratch/headers" &&
		grep -qx "Set-Cookie: geiger_$port=$token; HttpOnly; SameSite=Strict; Path=/" "$scratch/headers" &&
		[[ $(status_of / -b "a=b; geiger_$port=$token") == 200 ]]
}

other_names_are_refused() {
	[[ $(status_of / -b "geiger_$port=$token" -H "Host: evil.example:$port") == 421 ]] &&
		[[ $(status_of / -b "geiger_$port=$token" -H "Host: 127.0.0.1.evil.example:$port") == 421 ]] &&
		[[ $(status_of / -b "geiger_$port=$token" -H "Host: 127.0.0.1") == 421 ]] &&
		[[ $(status_of / -b "geiger_$port=$token" -H "Host: localhost:$port") == 200 ]]
}

reads_alone() {
	local method
	for method in POST PUT DELETE PATCH OPTIONS; do
		[[ $(status_of / -X "$method" -H "Authorization: Bearer $token") == 405 ]] || return 1
	done
	head -c 3000000 /dev/zero >"$scratch/zero"
	# It may answer, or hang up, before all of it is sent.
	curl -s --max-time 60 -o /dev/null -H "Authorization: Bearer $token" --data-binary "@$scratch/zero" "$base/"
	[[ $(status_of / -I -H "Authorization: Bearer $token") == 200 ]]
}

every_answer_is_guarded() {
	local path header
	for path in / "/page?profile=made.geiger" "/data?profile=made.geiger" /nothing; do
		headers_of "$path" >"$scratch/headers"
		for header in "Content-Security-Policy: default-src 'none'; .*frame-ancestors 'none'" \
			"X-Content-Type-Options: nosniff" "X-Frame-Options: DENY" "Referrer-Policy: no-referrer" \
			"Cross-Origin-Resource-Policy: same-origin" "Cache-Control: no-store"; do
			grep -qx "$header" "$scratch/headers" || { echo "$path: $header"; return 1; }
		done
		! grep -qi "script-src[^;]*unsafe" "$scratch/headers" || return 1
	done
}

list_has_summaries() {
	local list
	for _ in $(seq 50); do
		list=$(ask "/?sort=peak&order=d")
		grep -q 'http-equiv="refresh"' <<<"$list" || break
		sleep 0.1
	done
	! grep -q 'http-equiv="refresh"' <<<"$list" && ! grep -q '<h1>\.' <<<"$list" &&
		grep -q 'data-l="Peak">[^<]*MiB' <<<"$list" && grep -q 'made --by test' <<<"$list" &&
		grep -q 'aria-sort="descending"><a[^>]*>Peak' <<<"$list" &&
		[[ $(ask '/?q=nothing+has+this+name') == *'No profile matches'* ]] &&
		[[ $(ask /profiles | value_of 'max(p.get("peak_bytes", {}).get("estimate", 0) for p in data["profiles"]) > 3e8') == True ]]
}

page_runs_its_own_script_alone() {
	headers_of "/page?profile=made.geiger" | grep -q "script-src 'sha256-.*connect-src 'self'" &&
		ask "/page?profile=made.geiger" |
		grep -q 'id="geiger-data" data-source="/data?profile=made.geiger"'
}

names_are_text() {
	ask / >"$scratch/list"
	grep -qF '_script&#62;&#60;script&#62;alert(1)&#60;.geiger' "$scratch/list" &&
		! grep -qi '<script' "$scratch/list" &&
		[[ $(ask /profiles | value_of 'sorted(p["name"] for p in data["profiles"])[0]') == "$hostile" ]] &&
		ask "/page?profile=%3C_script%3E%3Cscript%3Ealert(1)%3C.geiger" |
		grep -q 'data-source="/data?profile=%3C_script%3E%3Cscript%3Ealert%281%29%3C.geiger"'
}

only_what_is_listed_is_opened() {
	local name
	for name in ../folder/made.geiger below/secret.geiger link.geiger /etc/passwd none.geiger "%00" ""; do
		ask "/data?profile=$name" -o /dev/null -w '%{http_code}\n' | grep -qx 404 || { echo "$name"; return 1; }
	done
}

data_are_those_of_the_file() {
	"$geiger" html "$scratch/folder/made.geiger" -o "$scratch/made.html"
	python3 - "$scratch/made.html" <(ask "/data?profile=made.geiger") <<-'END'
		import base64, gzip, json, re, sys
		text = open(sys.argv[1]).read()
		packed = re.search('id="geiger-data">([^<]*)<', text).group(1)
		file = json.loads(gzip.decompress(base64.b64decode(packed)))
		served = json.load(open(sys.argv[2]))
		assert [e["href"] for e in served.pop("exports")][0].startswith("/export?profile=made.geiger&format=")
		assert file.pop("exports") == []
		assert file == served, [key for key in file if file[key] != served.get(key)]
	END
}

plain_json_for_who_knows_no_gzip() {
	curl -sS -H "Authorization: Bearer $token" "$base/data?profile=made.geiger" | value_of 'data["format"]' |
		grep -qx geiger-page
}

unchanged_is_304() {
	local tag
	tag=$(headers_of "/data?profile=made.geiger" | sed -n 's/^ETag: //p')
	[[ -n $tag ]] && ask "/data?profile=made.geiger" -o /dev/null -w '%{http_code}' -H "If-None-Match: $tag" |
		grep -qx 304
}

exports_are_those_of_the_command() {
	"$geiger" export "$scratch/folder/made.geiger" --format collapsed -m allocated -o "$scratch/stacks"
	ask "/export?profile=made.geiger&format=collapsed&metric=allocated" | cmp - "$scratch/stacks" &&
		headers_of "/export?profile=made.geiger&format=speedscope" |
		grep -qx 'Content-Disposition: attachment; filename="made.speedscope.json"' &&
		ask "/export?profile=made.geiger&format=none" -o /dev/null -w '%{http_code}' | grep -qx 400
}

differences_are_those_of_the_command() {
	"$geiger" diff "$scratch/folder/made.geiger" "$scratch/folder/made.geiger" --json |
		value_of '(data["total"], data["row_count"])' >"$scratch/wanted"
	ask "/diff?before=made.geiger&profile=made.geiger" | value_of '(data["total"], data["row_count"])' |
		cmp - "$scratch/wanted" &&
		ask "/data?profile=made.geiger&before=made.geiger" | value_of 'data["diff"]["before"]["title"]' |
		grep -qx made.geiger
}

# differs_as QUERY OPTION... - a request with that query has the rows of the command.
differs_as() {
	local rows='sorted((row["label"], row.get("via")) for row in data["rows"])'
	"$geiger" diff "$scratch/folder/made.geiger" "$scratch/folder/made.geiger" --all --json "${@:2}" |
		value_of "$rows" >"$scratch/wanted"
	ask "/diff?before=made.geiger&profile=made.geiger&all=1&$1" | value_of "$rows" |
		cmp - "$scratch/wanted"
}

differences_have_the_frames_that_a_request_selects() {
	differs_as mine=0 && cp "$scratch/wanted" "$scratch/default" &&
		differs_as all_frames=1 --all-frames && ! cmp -s "$scratch/wanted" "$scratch/default" &&
		differs_as hide=parse_document --hide parse_document &&
		! cmp -s "$scratch/wanted" "$scratch/default" &&
		differs_as module=libstdc --module libstdc && grep -q 'no frame of libstdc' "$scratch/wanted" &&
		differs_as mine=1 --mine &&
		ask "/diff?before=made.geiger&profile=made.geiger&mine=1&module=made" -o /dev/null \
			-w '%{http_code}' | grep -qx 400
}

# Heads that never end, more than the server lets in: as any local user may send them.
slow_heads_lock_nobody_out() {
	local fds=() fd
	for _ in $(seq 80); do
		{ exec {fd}<>"/dev/tcp/127.0.0.1/$port"; } 2>/dev/null || continue
		fds+=("$fd")
		{ printf 'GET / HT' >&"$fd"; } 2>/dev/null || true
	done
	for _ in $(seq 50); do
		ask /profiles 2>/dev/null | grep -q made && break
		sleep 0.1
	done
	ask /profiles | grep -q made
	local status=$?
	for fd in "${fds[@]}"; do
		exec {fd}>&-
	done
	return "$status"
}

a_port_in_use_is_said() {
	refuses "Address already in use" "$geiger" serve "$scratch/folder" --listen "127.0.0.1:$port"
}

no_such_process_is_said() {
	refuses "no such process" "$geiger" serve --pid 99999999
}

no_profile_is_said() {
	refuses "not a profile" "$geiger" serve tests/test.sh
}

a_public_address_is_warned_of() {
	"$geiger" serve "$scratch/folder" --listen 0.0.0.0:0 >"$scratch/public" 2>&1 &
	for _ in $(seq 300); do
		grep -q "Ctrl-C" "$scratch/public" && break
		sleep 0.1
	done
	kill -INT $!
	grep -q "other machines can reach it" "$scratch/public" && ! grep -q "other machines" "$scratch/err"
}

check the_address_that_is_printed_has_a_token announced
check nothing_is_answered_without_the_token nothing_without_the_token
check the_first_request_moves_the_token_into_a_cookie first_request_moves_the_token
check a_name_that_is_no_address_is_refused other_names_are_refused
check nothing_can_be_changed reads_alone
check every_answer_has_its_headers every_answer_is_guarded
check the_page_may_run_its_own_script_alone page_runs_its_own_script_alone
check names_of_files_are_text names_are_text
check list_has_summaries list_has_summaries
check only_what_the_folder_lists_is_opened only_what_is_listed_is_opened
check the_data_are_those_of_the_file data_are_those_of_the_file
check json_is_plain_for_who_knows_no_gzip plain_json_for_who_knows_no_gzip
check what_has_not_changed_is_not_sent_again unchanged_is_304
check exports_are_those_of_the_command exports_are_those_of_the_command
check differences_are_those_of_the_command differences_are_those_of_the_command
check differences_have_the_frames_that_a_request_selects differences_have_the_frames_that_a_request_selects
check rows_of_rss_are_those_of_the_command rows_of_rss_are_those_of_the_command
check heads_that_never_end_lock_nobody_out slow_heads_lock_nobody_out
check a_port_in_use_is_said a_port_in_use_is_said
check a_public_address_is_warned_of a_public_address_is_warned_of
check no_such_process_is_said no_such_process_is_said
check what_is_no_profile_is_said no_profile_is_said
end
check an_interrupt_ends_it_with_status_0 test "$status" = 0

a_process_is_shown_as_it_is_now() {
	local first later
	first=$(ask /data | value_of 'data["meta"]["is_live"] and data["meta"]["samples"]')
	for _ in $(seq 100); do
		sleep 0.3
		later=$(ask /data | value_of '(data["meta"]["samples"] > int(sys.argv[1]) and len(data["series"]["live"]) > 1)' "$first")
		[[ $later == True ]] && break
	done
	[[ $later == True ]] && ask / | grep -q 'data-live="1"' &&
		[[ $(ask /data | value_of '0 < data["meta"]["duration_ns"] < 3600e9') == True ]]
}

# The rows of RSS add up to it, on the page and at /why, and pinned memory is of the same look.
its_memory_is_divided() {
	local found
	for _ in $(seq 100); do
		found=$(ask /data | value_of '[(look["pid"], abs(sum(row["bytes"] for row in look["rows"]) - look["rss_bytes"]) < 1, look["rss_bytes"] > 1 << 20) for look in data["why"] if "last" in look["moments"]]')
		[[ $found != "[]" ]] && break
		sleep 0.3
	done
	[[ $found == "[($1, True, True)]" ]] || { echo "the page has $found"; return 1; }
	# A live process may have another look between the two questions.
	for _ in $(seq 20); do
		ask "/why?moment=$2" >"$scratch/why"
		found=$(ask /data | value_of '[look for look in data["why"] if sys.argv[1] in look["moments"]][0]["rss_bytes"] == json.load(open(sys.argv[2]))["processes"][0]["rss_bytes"]' "$2" "$scratch/why")
		[[ $found == True ]] && break
		sleep 0.3
	done
	[[ $found == True ]] || { echo "/why has another RSS at the $2 look"; return 1; }
	[[ $(ask "/why?pid=1" | value_of 'data["processes"]') == "[]" ]] || { echo "another process"; return 1; }
	# The first look may be at a process without samples; the next one is ten seconds later.
	for _ in $(seq 100); do
		found=$(ask /data | value_of 'len(data["pinned_looks"]) > 0 and data["pinned"]["total"]["estimate"] >= 0 and sum(data["pinned_looks"][0]["n"]) > 0')
		[[ $found == True ]] && break
		sleep 0.3
	done
	[[ $found == True ]] || { echo "no pinned memory: $found"; return 1; }
}

its_last_state_stays() {
	for _ in $(seq 100); do
		[[ $(ask /data | value_of 'data["meta"]["is_live"]') == False ]] && break
		sleep 0.3
	done
	[[ $(ask /data | value_of 'data["meta"]["is_live"], data["meta"]["samples"] > 0') == "False True" ]]
}

# The page names native functions during the recording; the file gets those names at its end.
names_in_file() {
	python3 -c "import sqlite3,sys; print(*sqlite3.connect(sys.argv[1]).execute('select count(*) from symbol').fetchone())" "$1"
}

frames_have_names_before_the_end() {
	local named=0
	for _ in $(seq 100); do
		named=$(ask /data | value_of 'data["meta"]["is_live"] and data["frames"]["flags"][1:].count(0)')
		[[ $named != False && $named -gt 5 ]] && break
		sleep 0.3
	done
	[[ $named -gt 5 ]] || { echo "$named frames have a name"; return 1; }
	[[ $(names_in_file "$scratch/live.geiger") == 0 ]] || { echo "the file has names already"; return 1; }
}

if [[ -n $agent ]]; then
	value_of() {
		python3 -c "import json,sys; data = json.load(sys.stdin); print($1)" "${@:2}"
	}
	cat >"$scratch/grow.py" <<-'END'
		import os, sys, time
		kept = []
		while not os.path.exists(sys.argv[1]):
		    if len(kept) < 3000:
		        kept.append(bytearray(20000))
		    time.sleep(0.01)
	END
	# The interpreter itself: what is called python3 may be a script.
	python=$(python3 -c 'import sys; print(sys.executable)')
	LD_PRELOAD=$agent GEIGER_INTERVAL=65536 "$python" "$scratch/grow.py" "$scratch/stop" &
	program=$!
	for _ in $(seq 300); do
		[[ -n $(find "$GEIGER_DIR" -name "geiger-$program-*.region") ]] && break
		sleep 0.1
	done
	begin --pid "$program"
	check a_process_that_runs_is_shown_as_it_is_now a_process_is_shown_as_it_is_now
	check why_its_rss_is_what_it_is_is_said_as_well its_memory_is_divided "$program" last
	kill "$program"
	wait "$program" 2>/dev/null
	ended=$program
	program=
	check its_last_state_stays_when_it_has_ended its_last_state_stays
	check so_do_the_rows_of_its_rss its_memory_is_divided "$ended" peak
	end
	check an_interrupt_ends_that_with_status_0 test "$status" = 0

	GEIGER_PYTHON=0 "$geiger" record -q -i 64k -o "$scratch/live.geiger" "$python" "$scratch/grow.py" "$scratch/stop" &
	program=$!
	for _ in $(seq 300); do
		[[ -s $scratch/live.geiger ]] && break
		sleep 0.1
	done
	begin "$scratch/live.geiger"
	check frames_have_names_before_a_recording_ends frames_have_names_before_the_end
	end
	: >"$scratch/stop"
	wait "$program" 2>/dev/null
	program=
	check and_the_file_has_them_when_it_has test "$(names_in_file "$scratch/live.geiger")" -gt 5
fi
finish
