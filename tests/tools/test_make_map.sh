#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/test.sh
. tests/test.sh

table=$scratch/tree/docs/internals/MODULES.md

# tree - a new tree with one module, whose table is written.
tree() {
	rm -rf "${scratch:?}/tree"
	mkdir -p "$scratch/tree"/{src/base,tools}
	printf '/* SPDX */\n/*\n * map - keys and\n * values. Not ordered.\n */\n' >"$scratch/tree/src/base/map.h"
	touch "$scratch/tree/src/base/map.c"
	tools/make_map "$scratch/tree"
}

check the_table_of_this_tree_is_up_to_date tools/make_map --check

tree
check a_written_table_is_up_to_date tools/make_map --check "$scratch/tree"
# shellcheck disable=SC2016 # these are Markdown's
check a_purpose_is_its_first_sentence grep -qxF '| `map` | keys and values |' "$table"

sed -i 's/keys/names/' "$scratch/tree/src/base/map.h"
check a_changed_purpose_is_found \
	refuses 'docs/internals/MODULES.md:1: is out of date' tools/make_map --check "$scratch/tree"

tree
printf '/* SPDX */\n/* list - items. */\n' >"$scratch/tree/src/base/array.h"
check a_purpose_line_must_have_the_name_of_its_file \
	refuses "src/base/array.h:2: its first comment must begin with 'array - " \
	tools/make_map "$scratch/tree"

printf '# SPDX-License-Identifier: Apache-2.0\nsrc/base/array.h\n' >"$scratch/tree/tools/map_exceptions"
check a_listed_exception_is_allowed tools/make_map "$scratch/tree"

sed -i 's/list - /array - /' "$scratch/tree/src/base/array.h"
check an_exception_that_is_not_needed_is_found \
	refuses 'tools/map_exceptions:1: is out of date' tools/make_map --check "$scratch/tree"
tools/make_map "$scratch/tree"
check make_map_removes_it tools/make_map --check "$scratch/tree"

finish
