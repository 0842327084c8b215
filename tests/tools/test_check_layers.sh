#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/test.sh
. tests/test.sh

# tree FILE=LINE... - a new tree with one-line files.
tree() {
	rm -rf "${scratch:?}/tree"
	for file; do
		mkdir -p "$scratch/tree/$(dirname "${file%%=*}")"
		echo "${file#*=}" >"$scratch/tree/${file%%=*}"
	done
}

check this_tree_keeps_the_order tools/check_layers

tree src/base/a.h= 'src/stats/b.c=#include "base/a.h"'
check a_folder_may_include_those_above_it tools/check_layers "$scratch/tree"

tree src/stats/b.h= 'src/base/a.c=#include "stats/b.h"'
check an_upward_layer_may_not_include_a_lower_one \
	refuses 'src/base/a.c:1: includes "stats/b.h": src/stats is below src/base' \
	tools/check_layers "$scratch/tree"

tree src/stats/b.h= 'src/base/a.h=	#  include "../stats/b.h"'
check a_relative_path_does_not_hide_it \
	refuses 'src/stats is below src/base' tools/check_layers "$scratch/tree"

tree src/preload/a.h= 'src/record/b.c=#include "preload/a.h"'
check nobody_includes_the_agent \
	refuses 'nothing may include src/preload' tools/check_layers "$scratch/tree"

tree src/base/clock.h= 'src/stats/b.c=#include "base/clock.h"'
check statistics_ask_no_operating_system \
	refuses 'src/stats may not include it' tools/check_layers "$scratch/tree"

tree src/misc/a.c=
check a_folder_without_a_layer_is_refused \
	refuses 'src/misc/a.c:1: this folder is not in the list' tools/check_layers "$scratch/tree"

tree 'src/base/a.c=#include "base/gone.h"'
check a_missing_header_is_refused refuses 'no such file' tools/check_layers "$scratch/tree"

# shellcheck disable=SC2016 # these are Markdown's
tree src/base/a.c= 'docs/ARCHITECTURE.md=| `src/base/` | errors |'
check a_document_with_another_table_is_refused \
	refuses 'docs/ARCHITECTURE.md:1: its table' tools/check_layers "$scratch/tree"

finish
