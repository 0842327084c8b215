#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/test.sh disable=SC2317 # functions are called through check
#
# test_agent_exports.sh AGENT - the agent exports only two kinds of names: those that replace
# functions of libc and the allocator, and those that stay hidden unless the allocator has them.
. tests/test.sh

agent=$1
nm -D --defined-only "$agent" >"$scratch/symbols"

# Names with that version; without one: "".
names() {
	awk -v version="$1" '$2 != "A" { split($3, part, "@"); if (part[2] == version) print part[1] }' \
		"$scratch/symbols" | sort
}

open_names() {
	diff <(names '') <(printf '%s\n' malloc calloc realloc reallocarray free free_sized \
		free_aligned_sized posix_memalign aligned_alloc memalign valloc pvalloc mmap mmap64 \
		munmap mremap _Fork _exit _Exit prctl sigaction signal bsd_signal ssignal sysv_signal __sysv_signal \
		geiger_agent_interface geiger_agent_attach geiger_agent_detach | sort)
}

# All that interface.c may take has a hook, and the other way round.
hidden_names() {
	diff <(names GEIGER_HIDDEN) \
		<(sed -n 's/^\t{ "\([A-Za-z_0-9]*\)", \(OWN\|OTHER\|REAL\)(.*/\1/p' src/preload/allocator/extra_functions.c | sort)
}

no_default_version() {
	! grep '@@' "$scratch/symbols"
}

check only_the_names_of_malloc_mmap_and_fork_are_exported_to_all open_names
check what_is_hidden_is_what_may_be_taken hidden_names
check no_name_has_a_default_version no_default_version
finish
