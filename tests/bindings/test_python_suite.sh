#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/bindings/adapters.sh disable=SC2317,SC2034 # what `same` runs and reads
#
# A part of Python's own test suite by the adapter: what looks most closely at frames, generators,
# reference counts, the collector, threads and forks.
. "$(dirname "$0")/adapters.sh"
if ! $python -c 'import test.test_dict' 2>/dev/null; then
	echo "skipped - python: its test suite is not installed (libpython3.N-testsuite)"
	exit 77
fi

modules=(
	asyncgen code coroutines dict exceptions fork1 frame gc generators json list queue sys_setprofile
	sys_settrace thread traceback weakref
)
# How long it took and how busy the machine was.
without_times() {
	sed -E 's/^[0-9:]+ load avg: [0-9.]+ //; s/ -- test_[a-z_0-9]+ passed in .*//
		/^test_[a-z_0-9]+ passed in /d; s/^(Total duration:) .*/\1/; s/^(Ran [0-9]+ tests?) in .*/\1/'
}
real_filter=without_times
real_seconds=1700
same python_own_suite python -m test "${modules[@]/#/test_}"
finish
