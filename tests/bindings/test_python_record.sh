#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/bindings/adapters.sh disable=SC2154
#
# test_python_record.sh - geiger.record() of the package, with the system's CPython, 3.8 and 3.13:
# recordings.py has the tests.  PYTHONS: an expression for other versions, such as 3\..*.
. "$(dirname "$0")/adapters.sh"
here=$(realpath "$(dirname "$0")")
cd "$scratch" || exit 1
export PYTHONDONTWRITEBYTECODE=1

found=0
for candidate in "$python" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.*/bin/python; do
	version=$("$candidate" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>&1) || continue
	[[ $candidate == "$python" || $version =~ ^${PYTHONS:-3\.(8|13)}$ ]] || continue
	name=$version
	[[ $candidate != "$python" ]] || name=of_the_system
	mkdir "$name"
	check "python_${name}_records_itself" timeout 120 "$candidate" "$here/recordings.py" "$name"
	found=1
done
((found)) || {
	echo 'skipped - test_python_record: no Python from 3.8 to 3.13'
	exit 77
}
finish
