#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/test.sh
. tests/test.sh

# file NAME LINE... - writes a file of a new tree below $scratch/tree.
file() {
	mkdir -p "$scratch/tree/$(dirname "$1")"
	printf '%s\n' "${@:2}" >"$scratch/tree/$1"
}
new_tree() {
	rm -rf "$scratch/tree"
}

# copies N - lines of a.c and b.c that share N lines of code.
copies() {
	local lines=()
	for ((i = 0; i < $1; i++)); do
		lines+=("	call($i);")
	done
	new_tree
	file src/a.c 'int a;' "${lines[@]}" 'int c;'
	file src/b.c 'int b;' '' "${lines[@]}" 'int d;'
}

check this_tree_has_no_more_copies_than_it_may tools/check_copies

copies 6
check two_places_with_six_lines_are_a_copy \
	refuses 'src/a.c:2 src/b.c:3: 6 lines' tools/check_copies "$scratch/tree"
copies 9
check a_longer_copy_is_one_pair \
	refuses 'src and include: 1 pairs of places' tools/check_copies "$scratch/tree"
copies 5
check five_lines_are_no_copy tools/check_copies "$scratch/tree"

copies 6
file src/c.c "$(sed 1d "$scratch/tree/src/a.c")"
check three_copies_are_three_pairs \
	refuses 'src and include: 3 pairs of places' tools/check_copies "$scratch/tree"

copies 6
file src/b.c 'int b;' '  call( 0 );' '	call(0); /* why' ' * not */ ' 'call(1);' '' '	call(2);	// here' \
	'	call(3);' 'call(4);' '	call(5);'
check comments_blank_lines_and_indentation_do_not_tell_copies_apart \
	refuses 'src/a.c:2 src/b.c:3: 6 lines' tools/check_copies "$scratch/tree"

head=('/* SPDX-License-Identifier: Apache-2.0 */' '/*' ' * a - the same' ' *' ' * and more' ' */' '#pragma once'
	'#include <a.h>' '#include <b.h>' '#include <c.h>' '#include "d.h"' '#include "e.h"' '#include "f.h"')
new_tree
file src/a.c "${head[@]}" 'int a;'
file src/b.c "${head[@]}" 'int b;'
check the_head_of_a_file_is_no_copy tools/check_copies "$scratch/tree"

new_tree
file src/a.c 'a();' '}' '}' 'return 0;' '}' '}' '{'
file src/b.c 'b();' '}' '}' 'return 0;' '}' '}' '{'
check braces_around_a_run_do_not_count tools/check_copies "$scratch/tree"

new_tree
file src/a.c 'f("/*");' 'a();' 'b();' 'c();' 'd();' 'e("*/");'
file src/b.c 'f("/*");' 'a();' 'b();' 'c();' 'd();' 'e("*/");'
check a_comment_in_a_string_is_none \
	refuses 'src/a.c:1 src/b.c:1: 6 lines' tools/check_copies "$scratch/tree"

new_tree
file tests/a.c 'x();' 'x();' 'x();' 'x();' 'x();' 'x();' 'x();' 'x();'
check a_place_is_no_copy_of_itself tools/check_copies "$scratch/tree"
file tests/a.c a b c d e f a b c d e f
check two_places_of_one_file_may_be_copies \
	refuses 'tests/a.c:1 tests/a.c:7: 6 lines' tools/check_copies "$scratch/tree"

mkdir -p "$scratch/empty/src"
check an_empty_tree_is_refused refuses 'no source file found' tools/check_copies "$scratch/empty"

finish
