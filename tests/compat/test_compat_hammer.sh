#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/test.sh disable=SC2317 # functions are called through check
#
# test_compat_hammer.sh PROGRAM - eight threads make all calls of libgeiger-compat.  PROGRAM links
# the library statically, so that sanitizers see all of its code.  GG_TEST_HAMMER_MS: the duration.
. tests/test.sh

program=$1
export GEIGER_DIR=$scratch

hammer() {
	timeout 200 "$program" "$scratch" "${GG_TEST_HAMMER_MS:-1500}" own
}

check eight_threads_hammer_all_calls_of_a_library_that_is_linked_in hammer
finish
