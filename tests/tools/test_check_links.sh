#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/test.sh
. tests/test.sh

# tree FILE TEXT... - a new tree with docs/GUIDE.md, which has a heading, and files of these texts.
tree() {
	rm -rf "${scratch:?}/tree"
	mkdir -p "$scratch"/tree/{docs,src/base}
	printf '# Guide\n\n## The first look\n' >"$scratch/tree/docs/GUIDE.md"
	while (($# > 1)); do
		printf '%s\n' "$2" >"$scratch/tree/$1"
		shift 2
	done
}

check references_of_this_tree_hold tools/check_links

tree src/base/a.h '' README.md '[a](docs/GUIDE.md#the-first-look), [b](https://example.com/x.md), src/base/'
check links_that_hold_pass tools/check_links "$scratch/tree"

tree README.md '[a](docs/GONE.md)'
check a_broken_link_is_found refuses 'README.md:1: docs/GONE.md is not there' \
	tools/check_links "$scratch/tree"

tree README.md '[a](docs/GUIDE.md#gone)'
check a_missing_heading_is_found refuses 'README.md:1: docs/GUIDE.md has no heading #gone' \
	tools/check_links "$scratch/tree"

tree src/base/a.h '/* see src/base/gone.h */'
check a_path_in_a_comment_is_followed refuses 'src/base/a.h:1: src/base/gone.h is not there' \
	tools/check_links "$scratch/tree"

tree src/base/a.c 'f("src/base/gone.h"); g("docs/GONE.md");'
check in_strings_only_documents_are refuses 'src/base/a.c:1: docs/GONE.md is not there' \
	tools/check_links "$scratch/tree"

tree src/base/map_a.h '/* src/base/map_NAME.h, src/base/map_* */'
check a_placeholder_stands_for_any_name tools/check_links "$scratch/tree"

finish
