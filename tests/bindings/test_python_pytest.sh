#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `check` runs the functions.
# shellcheck source=tests/bindings/adapters.sh disable=SC2317,SC2154,SC2012,SC2016
#
# test_python_pytest.sh - `pytest --geiger`: which tests of pytest_cases.py fail, and why.
. "$(dirname "$0")/adapters.sh"
here=$(realpath "$(dirname "$0")")
cd "$scratch" || exit 1
cp "$here/pytest_cases.py" test_cases.py
export PYTHONDONTWRITEBYTECODE=1 GEIGER_SEED=7 COLUMNS=100
command=$GEIGER

if ! "$python" -c 'import pytest' 2>/dev/null; then
	echo 'skipped - test_python_pytest: no pytest (python3-pytest)'
	exit 77
fi

# run OPTION... - its output is in `text`, and its exit status in `status`.
run() {
	status=0
	text=$("$python" -m pytest -p no:cacheprovider -p geiger.pytest_plugin --strict-markers -rfEs "$@" test_cases.py 2>&1) || status=$?
	echo "$text"
}

# failed EXPECTED - the names of the tests that failed, sorted.
failed() {
	local names
	names=$(sed -n 's/^\(FAILED\|ERROR\) test_cases.py::\(TestOfUnittest::\)\?\([a-z_]*\).*/\3/p' <<<"$text" | sort | xargs)
	equals 'tests that failed' "$names" "$1"
}

# has TEXT - the output has a line that matches.
has() {
	grep -qE -- "$1" <<<"$text" || {
		echo "no line matches $1"
		return 1
	}
}

# `make install` puts these two files beside the package.
installed() {
	local facts=$scratch/site/geiger-0.dist-info options text
	mkdir -p "$facts" && cp "$here/../../bindings/python/geiger/entry_points.txt" "$facts" &&
		cp "$PYTHON_ADAPTER/geiger/METADATA" "$facts" || return
	for options in '' '-p geiger.pytest_plugin'; do
		# shellcheck disable=SC2086 # options of two words
		text=$(PYTHONPATH=$scratch/site:$PYTHONPATH "$python" -m pytest -p no:cacheprovider $options --geiger -k test_within test_cases.py)
		grep 'geiger: memory of tests' <<<"$text" || return
	done
}

limited='test_above_its_limit test_expected_to_raise test_of_unittest_above test_that_fails test_that_leaks'

without() {
	run
	failed 'test_strictly_expected_to_exceed test_that_fails' && ! has 'memory of tests'
}

limits() {
	run --geiger
	failed "$limited" &&
		has 'limited to 24.0 MiB, but its peak is 25\.[0-9] MiB \(.* to .*\): 99.99 % sure' &&
		has 'limited to 1.0 MiB, but 1 kept more after the test: 99.99 % sure' &&
		has '^=+ geiger: memory of tests' && has '^test_cases.py::test_above_its_limit$' &&
		has '  peak 25\.[0-9] MiB .* allocations$' && has 'make.* \(test_cases.py:[0-9]+\)' &&
		has '[0-9]+ more tests, each with a smaller peak' && has ' 2 xfailed'
}

# An interval needs no limits, which are checked all the same.
wrong() {
	CASES_WRONG=1 run --geiger --geiger-interval 64k -k wrong
	failed 'test_wrong_filter test_wrong_kind test_wrong_name test_wrong_threads test_wrong_unit test_wrong_warmups test_wrong_without_a_limit' &&
		has "limit_memory of this test is wrong: '24 apples' is no amount of memory" &&
		has 'limit_memory of this test is wrong: True is no amount' &&
		! has 'During handling of' && has 'geiger counts all threads' && has 'geiger has no filter' &&
		has "limit_memory of this test is wrong: limit_memory\(\) missing 1 required .* 'limit'" &&
		has "limit_leaks of this test is wrong: .* 'turns'" &&
		has "limit_leaks of this test is wrong: '3' is no number of warmups"
}

mistaken() {
	local option
	run --geiger --geiger-output test_cases.py
	equals status "$status" 4 && has 'ERROR: --geiger-output /.*/test_cases.py: File exists' || return
	for option in interval:abc interval:0 interval:300T tests:-3 lines:-1 output:; do
		run --geiger "--geiger-${option%:*}=${option#*:}"
		equals status "$status" 4 && has "error: argument --geiger-${option%:*}: .*(a size from|whole number|is empty)" || return
	done
}

# A recorder, and a report, that fail.
unknown() {
	GEIGER=/bin/false run --geiger --geiger-no-summary -k 'test_within or without_limit'
	failed test_within_its_limit && has 'limited, but is not known' &&
		has '^geiger: 2 tests were not recorded: ' || return
	printf '#!/bin/sh\n[ "$1" != report ] || exit 3\nexec "%s" "$@"\n' "$GEIGER" >no-report
	chmod +x no-report
	GEIGER=$PWD/no-report run --geiger --geiger-no-summary -k 'test_within or without_limit'
	failed test_within_its_limit && has 'limited, but is not known: geiger ended with 3'
}

# The command is in PATH, and the profiles are in a folder of the current one.
replaced() {
	(
		unset GEIGER
		PATH=$(dirname "$command"):$PATH
		run --geiger --geiger-output changed -k test_changed
		failed '' && equals status "$status" 0 && ! has 'not recorded' &&
			equals profiles "$(ls changed/*.geiger | wc -l)" 9 || exit 1
		run --geiger-fail-on-increase changed -k 'test_changed_folder'
		equals status "$status" 0 && ! has 'no stored profile' || exit 1
		# A name without a slash is that of a command in PATH, which a test may remove.
		ln -s "$command" named-otherwise
		PATH=$PWD:$PATH GEIGER=named-otherwise run --geiger -k test_changed_environment
		failed '' && equals status "$status" 0 && ! has 'not recorded' || exit 1
		GEIGER=not-a-command run --geiger -k test_changed_environment
		has '\$GEIGER is `not-a-command`, which is not in PATH'
	)
}

workers() {
	printf '[pytest]\ngeiger = true\n' >pytest.ini
	run -n 2 --geiger-tests 0 -k 'above_its or without_limit'
	rm pytest.ini
	failed 'test_above_its_limit' && has '^test_cases.py::test_without_limit$' &&
		equals 'summaries' "$(grep -c 'geiger: memory of tests' <<<"$text")" 1
}

increase() {
	local few='without_limit or of_a_name'
	run --geiger --geiger-output before -k "$few"
	has '^profiles: before' && equals profiles "$(ls before/*.geiger | wc -l)" 5 &&
		[[ -s $(echo before/test_cases.py-test_without_limit-*.geiger) ]] || return
	run --geiger-fail-on-increase before -k "$few"
	equals status "$status" 0 || return
	CASES_MORE=1 run --fail-on-increase before -k 'without_limit or that_fails'
	failed 'test_that_fails test_without_limit' && has 'allocates more than in before/.*: 95 % sure' && has 'p = '
}

# Each would pass every test.
nothing() {
	mkdir empty
	ln -s before link
	sha256sum before/* >sums
	run --geiger-fail-on-increase missing
	equals status "$status" 4 && has 'increase missing: there is no such profile' || return
	run --geiger-fail-on-increase empty
	equals status "$status" 4 && has 'increase empty: the folder has no profiles' || return
	run --geiger-fail-on-increase before --geiger-output link
	equals status "$status" 4 && has 'would replace these profiles' && sha256sum --quiet -c sums || return
	run --geiger-fail-on-increase before -k test_within
	equals status "$status" 0 && has '^geiger: 1 tests have no stored profile'
}

within() {
	text=$("$GEIGER" record --quiet -o around.geiger -- "$python" -m pytest -p no:cacheprovider -p geiger.pytest_plugin -rf --geiger -k 'above_its or that_fails' test_cases.py 2>&1)
	echo "$text"
	failed test_that_fails && has 'tests were not recorded: .*this process has an agent'
}

check pytest_finds_the_plugin_of_an_installed_package installed
check 'markers_do_nothing_without_the_option' without
check 'limits_fail_only_what_is_surely_above' limits
check 'markers_that_are_wrong_fail_their_tests' wrong
check 'options_that_are_wrong_run_no_test' mistaken
check 'a_limited_test_fails_if_its_memory_is_not_known' unknown
check 'a_test_that_replaces_what_geiger_needs_is_judged' replaced
if "$python" -c 'import xdist' 2>/dev/null; then
	check 'workers_of_xdist_judge_and_the_summary_has_all_of_them' workers
else
	skip 'workers_of_xdist_judge_and_the_summary_has_all_of_them' 'no python3-pytest-xdist'
fi
check 'a_test_that_allocates_more_than_in_a_stored_profile_fails' increase
check 'a_comparison_with_nothing_is_refused' nothing
check 'tests_under_a_recorder_run_without_limits' within
finish
