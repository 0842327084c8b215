#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `check` runs the functions.
# shellcheck source=tests/bindings/adapters.sh disable=SC2317,SC2154
#
# test_python_pytest.sh - `pytest --geiger`: which tests of pytest_cases.py fail, and why.
. "$(dirname "$0")/adapters.sh"
here=$(realpath "$(dirname "$0")")
cd "$scratch" || exit 1
cp "$here/pytest_cases.py" test_cases.py
export PYTHONDONTWRITEBYTECODE=1 GEIGER_SEED=7 COLUMNS=100

if ! "$python" -c 'import pytest' 2>/dev/null; then
	echo 'skipped - test_python_pytest: no pytest (python3-pytest)'
	exit 77
fi

# run OPTION... - its output is in `text`.
run() {
	text=$("$python" -m pytest -p no:cacheprovider -p geiger.pytest_plugin --strict-markers -rfEs "$@" test_cases.py 2>&1)
	echo "$text"
}

# failed EXPECTED - the names of the tests that failed, sorted.
failed() {
	local names
	names=$(sed -n 's/^\(FAILED\|ERROR\) test_cases.py::\([a-z_]*\).*/\2/p' <<<"$text" | sort | xargs)
	equals 'tests that failed' "$names" "$1"
}

# has TEXT - the output has a line that matches.
has() {
	grep -qE -- "$1" <<<"$text" || {
		echo "no line matches $1"
		return 1
	}
}

limited='test_above_its_limit test_that_fails test_that_leaks'

without() {
	run
	failed test_that_fails && ! has 'memory of tests'
}

limits() {
	CASES_WRONG=1 run --geiger
	failed "$limited test_with_a_wrong_limit" && has "'24 apples' is no amount of memory" &&
		has 'limited to 24.0 MiB, but its peak is 25\.[0-9] MiB \(.* to .*\): 99.99 % sure' &&
		has 'limited to 1.0 MiB, but 1 kept more after the test: 99.99 % sure' &&
		has '^=+ geiger: memory of tests' && has '^test_cases.py::test_above_its_limit$' &&
		has '  peak 25\.[0-9] MiB .* allocations$' && has 'make.* \(test_cases.py:[0-9]+\)' &&
		has '4 more tests, each with a smaller peak'
}

workers() {
	printf '[pytest]\ngeiger = true\n' >pytest.ini
	run -n 2 --geiger-tests 0
	rm pytest.ini
	failed "$limited" && has '^test_cases.py::test_without_limit$' &&
		equals 'summaries' "$(grep -c 'geiger: memory of tests' <<<"$text")" 1
}

increase() {
	run --geiger --geiger-output before
	has '^profiles: before' && [[ -s before/test_cases.py-test_without_limit.geiger ]] || return
	run --geiger-fail-on-increase before
	failed "$limited" || return
	CASES_MORE=1 run --fail-on-increase before
	failed "$limited test_without_limit" && has 'allocates more than in before/.*: 95 % sure' && has 'p = '
}

within() {
	text=$("$GEIGER" record --quiet -o around.geiger -- "$python" -m pytest -p no:cacheprovider -p geiger.pytest_plugin -rf --geiger test_cases.py 2>&1)
	echo "$text"
	failed test_that_fails && has 'tests were not recorded: .*this process has an agent'
}

check 'markers_do_nothing_without_the_option' without
check 'limits_fail_only_what_is_surely_above' limits
if "$python" -c 'import xdist' 2>/dev/null; then
	check 'workers_of_xdist_judge_and_the_summary_has_all_of_them' workers
else
	skip 'workers_of_xdist_judge_and_the_summary_has_all_of_them' 'no python3-pytest-xdist'
fi
check 'a_test_that_allocates_more_than_in_a_stored_profile_fails' increase
check 'tests_under_a_recorder_run_without_limits' within
finish
