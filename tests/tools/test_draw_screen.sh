#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/test.sh disable=SC2317 # functions are called through check
. tests/test.sh

printf 'a\033[31mred  b\033[0m\n\033[7m\342\226\210<\033[0m\342\240\201\n' | tools/draw_screen >"$scratch/screen.svg"
has() {
	grep -qF -- "$1" "$scratch/screen.svg"
}
check a_screen_is_a_document python3 -c \
	'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' "$scratch/screen.svg"
check a_run_of_words_has_its_color_and_place has \
	'<text x="20.4" y="25" textLength="25.2" fill="#e0777d">red</text>'
check several_blanks_divide_a_run has '<text x="62.4" y="25" textLength="8.4" fill="#e0777d">b</text>'
check inverse_cells_exchange_their_colors has 'fill="#1d1f21">&lt;</text>'
check a_block_and_a_dot_are_shapes has '<circle cx="31.1"'
finish
