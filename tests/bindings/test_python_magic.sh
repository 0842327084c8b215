#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/bindings/adapters.sh disable=SC2154
#
# test_python_magic.sh - `%%geiger` in IPython, without a terminal: magic_cells.py has the tests.
. "$(dirname "$0")/adapters.sh"
here=$(realpath "$(dirname "$0")")
cd "$scratch" || exit 1
export PYTHONDONTWRITEBYTECODE=1 IPYTHONDIR=$scratch/ipython TMPDIR=$scratch

if ! "$python" -c 'import IPython' 2>/dev/null; then
	echo 'skipped - test_python_magic: no IPython (python3-ipython)'
	exit 77
fi
check 'cells_are_recorded_and_shown' timeout 200 "$python" "$here/magic_cells.py"
finish
