#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/test.sh disable=SC2317 # functions are called through check
. tests/test.sh

# log NAME RESULT STATUS STDOUT - one program's line of a testlog.json.
log() {
	printf '{"name":"%s","result":"%s","returncode":%d,"duration":0.1,"stdout":"%s"}\n' "$@"
}
# summary_is STATUS TEXT - the summary of $scratch/log exits so and prints so.
summary_is() {
	local output status=0
	output=$(tools/test_summary "$scratch/log") || status=$?
	echo "$output"
	[[ $status == "$1" && $output == *"$2"* ]]
}

{
	log a OK 0 'ok - one\nnoise\nok - two\n'
	log b OK 0 'ok - three\nskipped - four: no perf here\n'
} >"$scratch/log"
check each_sentence_counts summary_is 0 '3 passed, 0 failed, 1 skipped'
check what_is_skipped_is_named summary_is 0 'skipped: b: four: no perf here'

log c SKIP 77 'skipped - five: no python\n' >>"$scratch/log"
check a_program_that_skips_all_is_not_a_failure summary_is 0 '3 passed, 0 failed, 2 skipped'

log d FAIL 1 'x.c:3: bad\nFAILED - six\nok - seven\n' >>"$scratch/log"
check a_failed_sentence_fails_the_run summary_is 1 '4 passed, 1 failed, 2 skipped'
check what_failed_is_shown summary_is 1 'x.c:3: bad'

log e FAIL -11 'ok - eight\n' >"$scratch/log"
check a_crash_counts_as_a_failure summary_is 1 '1 passed, 1 failed, 0 skipped'
log f TIMEOUT -9 '' >"$scratch/log"
check a_time_limit_counts_as_a_failure summary_is 1 '0 passed, 1 failed, 0 skipped'
log g OK 0 '' >"$scratch/log"
check a_silent_program_counts_as_one summary_is 0 '1 passed, 0 failed, 0 skipped'
rm "$scratch/log"
check an_empty_suite_has_no_tests summary_is 0 '0 passed, 0 failed, 0 skipped'
finish
