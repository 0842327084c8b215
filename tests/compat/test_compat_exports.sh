#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/test.sh disable=SC2317 # functions are called through check
#
# test_compat_exports.sh LIBRARY - libgeiger-compat exports only the names in its version script.
# Programs look for some of them to find out which allocator they have.
. tests/test.sh

library=$1

exports_the_names_of_its_map() {
	diff <(nm -D --defined-only "$library" | awk '$2 != "A" { print $3 }' | sort) \
		<(sed -n 's/^\t\([A-Za-z_0-9]*\);$/\1/p' src/compat/compat.map | sort)
}

links_to_libc_alone() {
	diff <(readelf -d "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort) \
		<(echo libc.so.6)
}

exports_no_allocator() {
	! nm -D --defined-only "$library" |
		grep -E ' (malloc|free|mallocx|rallocx|dallocx|malloc_stats_print|malloc_usable_size)$'
}

check exports_the_names_of_its_map exports_the_names_of_its_map
check links_to_libc_alone links_to_libc_alone
check exports_nothing_by_which_programs_take_it_for_an_allocator exports_no_allocator
finish
