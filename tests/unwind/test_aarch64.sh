#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds geiger for aarch64 and runs the unwinder's tests under qemu's user mode.
# shellcheck source=tests/test.sh
. tests/test.sh

for program in aarch64-linux-gnu-gcc qemu-aarch64; do
	if ! command -v "$program" >/dev/null; then
		echo "skipped - the_unwinder_s_tests_pass_on_aarch64: no $program"
		exit 77
	fi
done

# For test_unwind_reuse.
export UNWIND_REUSED_SMALL=$PWD/build/aarch64/tests/libreused-small.so
export UNWIND_REUSED_LARGE=$PWD/build/aarch64/tests/libreused-large.so

check geiger_builds_for_aarch64_without_a_warning script/build aarch64
for program in build/aarch64/tests/test_unwind_*; do
	[[ -x $program && ! -d $program && $program != *_live ]] || continue
	check "${program##*/}_passes_on_aarch64" \
		qemu-aarch64 -L /usr/aarch64-linux-gnu "$program"
done
finish
