#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/test.sh disable=SC2317 # functions are called through check
#
# test_agent_versions.sh AGENT AGENT_OLD MALLOC LIBGEIGER - the releases of glibc whose symbols the
# agents, the allocator and libgeiger need.
#
# A glibc loads a library that needs symbols of its own and of earlier releases.  The bounds are
# those of src/attach/survey.h, and of the documents.
. tests/test.sh

# newest LIBRARY - the largest N of the versions GLIBC_2.N that it needs.
newest() {
	readelf --version-info --wide "$1" | sed -n 's/.*Name: GLIBC_2\.\([0-9]*\).*/\1/p' | sort -n | tail -1
}

bound() {
	sed -n "s/^\t$1 = \([0-9]*\),*\$/\1/p" src/attach/survey.h
}

# needs LIBRARY NAME - it needs no later release than that constant of the header says.
needs() {
	local found stated
	found=$(newest "$1") stated=$(bound "$2")
	echo "$1 needs glibc 2.$found, and $2 is $stated"
	[[ -n $found && -n $stated ]] && ((found <= stated))
}

# A name of libpthread or libdl that the header of old versions lacks would be bound to 2.34.
check the_agent_needs_glibc_2_35_at_most needs "$1" GG_SURVEY_GLIBC_OWN
check the_agent_for_old_ones_needs_glibc_2_28_at_most needs "$2" GG_SURVEY_GLIBC_LEAST
check the_allocator_needs_glibc_2_35_at_most needs "$3" GG_SURVEY_GLIBC_OWN
check libgeiger_needs_glibc_2_35_at_most needs "$4" GG_SURVEY_GLIBC_OWN
finish
