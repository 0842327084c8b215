#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/test.sh
. tests/test.sh

# tree EXAMPLE... - a new tree with one header, whose head shows these lines.
tree() {
	rm -rf "${scratch:?}/tree"
	mkdir -p "$scratch/tree/src/base"
	{
		printf '/*\n * map - keys and values.\n *\n'
		printf ' *   %s\n' "$@"
		printf ' */\nint gg_map_put(struct gg_map *map, const char *key,\n\t\tuint64_t value);\n'
		printf 'void gg_map_print(const char *form, ...);\n'
	} >"$scratch/tree/src/base/map.h"
}

check examples_of_this_tree_are_true tools/check_examples

tree 'if (gg_map_put(&map, "a, b", f(1, 2)) < 0)' '        gg_map_print("%s", key);'
check true_examples_pass tools/check_examples "$scratch/tree"

tree 'gg_map_put(&map, key);'
check a_missing_argument_is_found \
	refuses 'src/base/map.h:4: gg_map_put() takes 3 arguments, not 2' \
	tools/check_examples "$scratch/tree"

tree 'gg_map_set(&map, key, 1);'
check an_unknown_name_is_found \
	refuses 'src/base/map.h:4: gg_map_set() is declared in no header' \
	tools/check_examples "$scratch/tree"

tree 'gg_map_put(...)' 'gg_map_put() copies the key'
check a_name_in_a_sentence_is_no_call tools/check_examples "$scratch/tree"

finish
