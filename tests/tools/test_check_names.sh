#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/test.sh
. tests/test.sh

# tree FILE=TEXT... - a new tree with these files.
tree() {
	rm -rf "${scratch:?}/tree"
	for file; do
		mkdir -p "$scratch/tree/$(dirname "${file%%=*}")"
		echo "${file#*=}" >"$scratch/tree/${file%%=*}"
	done
}
names=(tools/check_names "$scratch/tree")

check this_tree_has_no_new_duplicates tools/check_names

tree 'src/a/a.c=struct job { int id; };' 'src/b/b.c=struct job { long id; };'
check a_tag_that_two_files_define_is_found refuses 'tag job: src/a/a.c:1 src/b/b.c:1' "${names[@]}"
tree 'src/a/a.c=struct job { int id; };' 'src/b/b.c=union job { long id; };'
check tags_of_structs_and_unions_are_one_kind refuses 'tag job:' "${names[@]}"
tree 'src/a/a.c=struct __attribute__((packed)) job { int id; };' 'src/b/b.c=enum job { A };'
check attributes_hide_no_tag refuses 'tag job:' "${names[@]}"
tree 'src/a/a.h=struct job { int id; };' 'src/b/b.h=struct job; struct job *f(struct job *job);'
check a_declaration_without_a_body_is_no_definition "${names[@]}"
tree 'src/a/a.c=/* struct job { */ char *text = "struct job {";' 'src/b/b.c=struct job { long id; };'
check comments_and_texts_define_nothing "${names[@]}"

tree 'src/a/a.c=enum { A = (1 << 2), B, C };' 'src/b/b.c=enum letter { D, B = 2 };'
check a_constant_that_two_files_define_is_found refuses 'constant B: src/a/a.c:1 src/b/b.c:1' "${names[@]}"
tree 'src/a/a.c=enum { A = (1 << 2), B, C };' 'src/b/b.c=static const enum letter all[] = { A, B };'
check a_constant_that_is_used_is_not_defined "${names[@]}"

tree 'src/a/a.c=#define LIMIT 3' 'src/b/b.c=#define LIMIT 4'
check a_macro_that_two_files_define_is_found refuses 'macro LIMIT:' "${names[@]}"
tree src/a/a.h= 'src/a/a.c=#define LIMIT(x) 3' 'src/b/b.c=#define LIMIT(x) 4'
check macros_with_parameters_may_repeat "${names[@]}"
tree $'src/a/a.c=#ifdef X\n#define LIMIT 3\n#else\n#define LIMIT 4\n#endif'
check one_file_may_define_a_macro_in_two_ways "${names[@]}"

tree src/a/a.h= src/b/a.h=
check two_headers_of_one_name_are_found refuses 'header a.h: src/a/a.h:1 src/b/a.h:1' "${names[@]}"

tree 'src/a/list.h=void gg_list_add(void);' 'src/b/b.h=void gg_list_find(void);'
check a_prefix_of_two_layers_is_found refuses 'prefix gg_list: src/a/list.h:1 src/b/b.h:1' "${names[@]}"
tree 'src/a/list.h=void gg_list_add(void);' 'src/b/list_text.h=void gg_list_text_add(void);'
check the_longest_name_of_a_module_is_the_prefix "${names[@]}"
tree 'src/a/list.h=void gg_list_add(void);' 'src/a/other.h=void gg_list_find(void);'
check headers_of_one_layer_may_share_a_prefix "${names[@]}"

mkdir -p "$scratch/empty/src"
check an_empty_tree_is_refused refuses 'no source file found' tools/check_names "$scratch/empty"

finish
