# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# test.sh - the counterpart of test.h for shell: source it, call `check` for each sentence, end with
# `finish`.  $scratch is an empty folder that goes away.
set -u

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failed_count=0

# check SENTENCE COMMAND... - the command must succeed; what it printed is shown if it does not.
check() {
	local name=$1 output="no command"
	shift
	# Without a command, nothing would be checked.
	if (($# > 0)) && output=$("$@" 2>&1); then
		echo "ok - $name"
	else
		echo "$output"
		echo "FAILED - $name"
		failed_count=$((failed_count + 1))
	fi
}

# refuses TEXT COMMAND... - the command must exit with 1 and print the text.
refuses() {
	local text=$1 output status=0
	shift
	output=$("$@" 2>&1) || status=$?
	echo "exit status $status, printed:"
	echo "$output"
	[[ $status == 1 && $output == *"$text"* ]]
}

# skip SENTENCE REASON - counts the sentence as one that cannot be checked here.
skip() {
	echo "skipped - $1: $2"
}

finish() {
	exit $((failed_count > 0))
}
