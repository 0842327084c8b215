#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/test.sh
. tests/test.sh

check this_tree_has_enough tools/check_asserts

mkdir -p "$scratch/src/base"
for ((i = 0; i < 150; i++)); do echo "	gg_assert(i < $i);"; done >"$scratch/src/a.c"
check as_many_as_are_wanted_pass tools/check_asserts "$scratch"
sed -i 1d "$scratch/src/a.c"
check one_less_is_found refuses '149 uses of gg_assert()' tools/check_asserts "$scratch"
echo '#define gg_assert(condition)' >"$scratch/src/base/assert.h"
echo ' * gg_assert() states what only a bug can break.' >"$scratch/src/b.h"
check definitions_and_comments_do_not_count refuses '149 uses' tools/check_asserts "$scratch"

finish
