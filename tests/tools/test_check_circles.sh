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

check this_tree_has_no_new_circles tools/check_circles

tree src/base/a.h= 'src/base/a.c=#include "base/a.h"' 'src/base/b.c=#include "base/a.h"'
check a_module_may_include_its_own_header tools/check_circles "$scratch/tree"

tree 'src/base/a.h=' 'src/base/a.c=#include "base/b.h"' src/base/b.h= 'src/base/b.c=#include "base/a.h"'
check two_sources_that_include_each_others_headers_are_a_circle \
	refuses 'circle of 2 modules: base/a base/b' tools/check_circles "$scratch/tree"
check the_report_names_the_line \
	refuses 'src/base/b.c:1: base/b includes base/a' tools/check_circles "$scratch/tree"

tree 'src/base/a.h=#include "b.h"' 'src/base/b.h=#include "../base/c.h"' 'src/base/c.h=#include "base/a.h"'
check a_circle_through_a_third_module_is_found \
	refuses 'circle of 3 modules: base/a base/b base/c' tools/check_circles "$scratch/tree"

tree src/base/a.h= 'src/base/b.c=#include "base/a.h"' 'src/base/c.c=#include "base/a.h"'
check two_modules_may_include_a_third tools/check_circles "$scratch/tree"

mkdir -p "$scratch/empty/src"
check an_empty_tree_is_refused refuses 'no source file found' tools/check_circles "$scratch/empty"

finish
