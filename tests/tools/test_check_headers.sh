#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/test.sh
. tests/test.sh

mkdir -p "$scratch/include/geiger" "$scratch/src/base"
check a_tree_without_headers_is_fine tools/check_headers "$scratch"

echo 'size_t gg_length(void);' >"$scratch/src/base/needy.h"
check a_header_that_needs_another_first_is_refused \
	refuses 'src/base/needy.h: does not compile alone' tools/check_headers "$scratch"

sed -i '1i #include <stddef.h>' "$scratch/src/base/needy.h"
check a_header_that_includes_what_it_uses_is_fine tools/check_headers "$scratch"

echo 'int geiger_new(int class);' >"$scratch/include/geiger/api.h"
check a_public_header_that_is_no_cxx_is_refused \
	refuses 'include/geiger/api.h: does not compile alone with: g++' \
	tools/check_headers "$scratch"

echo 'static inline int geiger_f(void) { return ({ 1; }); }' >"$scratch/include/geiger/api.h"
check a_public_header_with_extensions_is_refused \
	refuses 'include/geiger/api.h: does not compile alone with: gcc' \
	tools/check_headers "$scratch"
finish
