# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# workload.sh - what the workloads of tests/programs share.
#
#   needs PROGRAM...      skips the program, with the reason, unless all are installed
#   record COMMAND...     runs the command under `geiger record`
#   as_nobody COMMAND...  runs the command as a user that is not root
#   wait_for SECONDS COMMAND...  repeats the command until it succeeds
#   serve COMMAND...      starts a server under `geiger record`; `stop SIGNAL` ends it
#
# A workload runs in an empty folder that goes away.  RECORD is the command that records.
set -eu
: "${RECORD:?geiger record and its options}"
export LC_ALL=C.UTF-8 TZ=UTC HOME=$PWD

needs() {
	local program
	for program; do
		if ! command -v "$program" >/dev/null; then
			echo "$program is not installed"
			exit 77
		fi
	done
}

record() {
	# shellcheck disable=SC2086 # a command and its options
	$RECORD "$@"
}

nobody=()
if ((EUID == 0)); then
	nobody=(setpriv --reuid=nobody --regid=nogroup --clear-groups)
fi
as_nobody() {
	"${nobody[@]}" "$@"
}

wait_for() {
	local end=$((SECONDS + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		if ((SECONDS > end)) || ! kill -0 "$server"; then
			echo "the server does not answer: $*" >&2
			return 1
		fi
		sleep 0.05
	done
}

server=''
serve() {
	# Not record(): a function in the background is a shell, which would get the signal.
	# shellcheck disable=SC2086
	$RECORD "$@" &
	server=$!
	trap 'kill -TERM "$server" 2>/dev/null; wait "$server"' EXIT
}

# The recorder passes the signal on to its command.
stop() {
	trap - EXIT
	kill -"$1" "$server"
	wait "$server"
}
