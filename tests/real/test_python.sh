#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/real/real.sh disable=SC2317,SC2086,SC2034 # what `same` runs; numbers
#
# test_python.sh [ALLOCATOR] - a fixed part of Python's own test suite, in one process of the
# system's Python; ALLOCATOR is a value of PYTHONMALLOC.
. "$(dirname "$0")/real.sh"

# Not another Python that PATH may have: the suite is packaged for this one.
python=/usr/bin/python3
needs $python
if ! $python -c 'import test.test_dict' 2>/dev/null; then
	echo "skipped - python: its test suite is not installed (libpython3.N-testsuite)"
	exit 77
fi

modules=(
	abc argparse asyncgen atexit augassign base64 binascii bisect bool class cmath code
	collections configparser copy coroutines csv dataclasses decorators defaultdict deque
	dict dis enum extcall file fnmatch fork1 genexps getopt glob grammar hash hmac html
	index int ipaddress isinstance keyword list listcomps marshal memoryview mmap operator
	os pkgutil plistlib posix pprint property pty reprlib richcmp scope shelve shlex shutil
	slice sort string struct subprocess super tempfile textwrap thread traceback types
	urlparse userdict uuid with zipimport
)
[[ -z ${1:-} ]] || export PYTHONMALLOC=$1

# How long it took and how busy the machine was; asyncio complains of what took longer than 0.1 s.
without_times() {
	sed -E '/^Executing <.* took [0-9.]+ seconds$/d; s/^[0-9:]+ load avg: [0-9.]+ //; s/ -- test_[a-z_0-9]+ passed in .*//
		s/^(Total duration:|test_[a-z_0-9]+ passed in) .*/\1/; s/^(Ran [0-9]+ tests?) in .*/\1/'
}
real_filter=without_times
real_seconds=1700 # a minute or two where nobody else is at work
same "python_${1:-objects}" $python -m test "${modules[@]/#/test_}"
finish
