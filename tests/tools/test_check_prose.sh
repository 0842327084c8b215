#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/test.sh
. tests/test.sh

# tree TEXT - a new tree with a document of that text.
tree() {
	rm -rf "${scratch:?}/tree"
	mkdir -p "$scratch/tree/tools"
	printf '%s\n' "$1" >"$scratch/tree/README.md"
}

# allow COUNT - what tools/prose_allowance says of the document.
allow() {
	printf '# SPDX-License-Identifier: Apache-2.0\n%s README.md\n' "$1" \
		>"$scratch/tree/tools/prose_allowance"
}

# finds FINDING TEXT - a document of that text has the finding.
# shellcheck disable=SC2317 # check calls it
finds() {
	tree "$2"
	refuses "$1" tools/check_prose "$scratch/tree"
}

check this_tree_has_no_more_than_is_allowed tools/check_prose

tree 'A truncated stack ends at a different frame. Who reads this?'
check plain_sentences_pass tools/check_prose "$scratch/tree"

check an_opening_is_found finds 'README.md:1: opening' 'All is well. Of a stack, frames are cut.'
check a_headless_word_is_found finds 'README.md:1: headless' 'It is 0 if there is none.'
check a_hidden_actor_is_found finds 'README.md:1: hidden actor' 'That is told once.'
check an_afterthought_is_found finds 'README.md:1: afterthought' 'Blocks are counted, too.'
check a_wide_line_is_found finds 'README.md:1: width' "$(printf 'word %.0s' {1..21})"

tree "$(printf '| word %.0s' {1..21})"
check a_table_may_be_wide tools/check_prose "$scratch/tree"

tree 'Plain.'
# A tab is four columns of a manual page.
{ printf '# NAME\n\n\t'; printf 'x%.0s' {1..96}; echo; } >"$scratch/tree/a.scd"
check a_manual_page_may_have_100_columns tools/check_prose "$scratch/tree"
{ printf '# NAME\n\n\t'; printf 'x%.0s' {1..97}; echo; } >"$scratch/tree/a.scd"
check a_wide_line_of_a_manual_page_is_found \
	refuses 'a.scd:3: width' tools/check_prose "$scratch/tree"
rm "$scratch/tree/a.scd"

mkdir -p "$scratch/tree/src"
printf '/*\n * What was lost.\n *\n *   Where x = 1\n */\nint a; // "is told"\n' >"$scratch/tree/src/a.c"
check comments_are_read refuses 'src/a.c:2: opening' tools/check_prose "$scratch/tree"
check comments_at_the_end_of_a_line_are_read \
	refuses 'src/a.c:6: hidden actor' tools/check_prose "$scratch/tree"
check examples_are_not \
	refuses 'src/a.c: 2 findings' tools/check_prose "$scratch/tree"

check a_word_at_the_end_is_found finds 'README.md:1: afterthought' 'Blocks are not counted either.'
check a_habit_is_found finds 'README.md:1: afterthought' 'The program runs as ever and ends.'
check a_heading_that_asks_nothing_is_found finds 'README.md:1: opening' '## What is measured'
tree '## What is measured?'
check a_heading_may_ask tools/check_prose "$scratch/tree"

mkdir -p "$scratch/tree/src"
printf 'puts("a text "\n     "is told");\nputs("What it is");\n' >"$scratch/tree/src/a.c"
check printed_texts_are_read refuses 'src/a.c:1: hidden actor: a text is told' tools/check_prose "$scratch/tree"
check of_printed_texts_not_every_rule_holds refuses 'src/a.c: 1 findings' tools/check_prose "$scratch/tree"

tree 'Plain.'
mkdir -p "$scratch/tree/src"
blanks=$(printf '%*s' 100 '')
printf '%s f(/* a cast */ x);\n' "$blanks" >"$scratch/tree/src/a.js"
check a_comment_before_code_may_be_wide tools/check_prose "$scratch/tree"
# shellcheck disable=SC2016 # a template of JavaScript
printf '%s f(`//a`); g(/* a cast */ x)\n' "$blanks" >"$scratch/tree/src/a.js"
check a_template_is_no_comment tools/check_prose "$scratch/tree"
printf 'f(x); %s // Plain.\n' "$blanks" >"$scratch/tree/src/a.js"
check a_comment_after_code_may_not_be_wide refuses 'src/a.js:1: width' tools/check_prose "$scratch/tree"

tree 'Plain.'
echo '{}' >"$scratch/tree/page.map"
check a_file_of_an_unknown_kind_passes tools/check_prose "$scratch/tree/page.map"
tools/check_prose "$scratch/tree/page.map" 2>"$scratch/printed"
check a_file_of_an_unknown_kind_is_named grep -q 'page.map: check_prose does not read' "$scratch/printed"

tree 'Plain.'
printf '#!/bin/sh\n# It\n# is told.\necho "is told" # what is told\n' >"$scratch/tree/tools/a.sh"
printf '"""It\nis told."""\na = """\nis told\n"""\n' >"$scratch/tree/tools/a.py"
check comments_of_scripts_are_read refuses 'tools/a.sh:2: hidden actor: It is told.' \
	tools/check_prose "$scratch/tree"
check docstrings_are_read refuses 'tools/a.py:1: hidden actor: It is told.' tools/check_prose "$scratch/tree"
check other_texts_of_python_are_not refuses 'tools/a.py: 1 findings' tools/check_prose "$scratch/tree"

tree 'That is told once.'
allow 2
check findings_may_be_allowed tools/check_prose "$scratch/tree"
tools/check_prose --shrink "$scratch/tree"
check an_allowance_shrinks grep -qx '1 README.md' "$scratch/tree/tools/prose_allowance"
allow 0
tools/check_prose --shrink "$scratch/tree" >"$scratch/printed"
check an_allowance_never_grows refuses 'tools/prose_allowance allows 0' tools/check_prose "$scratch/tree"

finish
