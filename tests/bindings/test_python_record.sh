#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/bindings/adapters.sh disable=SC2154
#
# test_python_record.sh [whole] - geiger.record() of the package, with the system's CPython, 3.8 and
# 3.13: recordings.py has the tests.  Those that depend on the version run with each, and `whole`
# runs all with all.  PYTHONS: an expression for other versions, such as 3\..*.
. "$(dirname "$0")/adapters.sh"
here=$(realpath "$(dirname "$0")")
cd "$scratch" || exit 1
export PYTHONDONTWRITEBYTECODE=1

others=(
	exactly_what_is_allocated_within_is_recorded types_and_heaps_of_a_second_recording_are_right
	all_threads_are_recorded a_forked_child_is_a_part_of_the_recording
	coroutines_and_generators_are_recorded_to_their_end hooks_that_tracemalloc_removes_come_back
	arrays_of_numpy_have_the_python_functions_that_made_them
)
[[ ${1:-} != whole ]] || others=()
found=0
for candidate in "$python" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.*/bin/python; do
	version=$("$candidate" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>&1) || continue
	[[ $candidate == "$python" || $version =~ ^${PYTHONS:-3\.(8|13)}$ ]] || continue
	name=$version tests=("${others[@]}")
	[[ $candidate != "$python" ]] || name=of_the_system tests=()
	mkdir "$name"
	check "python_${name}_records_itself" timeout 180 "$candidate" "$here/recordings.py" "$name" "${tests[@]}"
	found=1
done
((found)) || {
	echo 'skipped - test_python_record: no Python from 3.8 to 3.13'
	exit 77
}
finish
