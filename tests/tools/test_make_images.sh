#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2317 # functions are called through check
#
# test_make_images.sh - tools/make_images draws every picture that documents show, each with the
# format and the width of the committed one, and none as large as 150 KB.
. tests/test.sh

for program in chromium-headless-shell tmux sqlite3; do
	if ! command -v "$program" >/dev/null; then
		skip "all pictures can be drawn" "there is no $program"
		finish
	fi
done

draw() {
	local status=0
	tools/make_images "$scratch" >"$scratch/log" 2>&1 || status=$?
	((status == 0)) || cat "$scratch/log"
	return "$status"
}

# pipeline.svg is drawn by hand.
pictures() {
	find docs/images -type f ! -name pipeline.svg -printf '%f\n' | sort
}

# The first bytes of a PNG have its format and, in bytes 16 to 24, its size.
heads_agree() {
	local name status=0
	for name in $(pictures); do
		if ! cmp -s -n 20 "docs/images/$name" "$scratch/$name"; then
			echo "$name was not drawn, or with another width or format"
			status=1
		fi
	done
	return "$status"
}

are_small() {
	local large
	large=$(find docs/images "$scratch" \( -name '*.png' -o -name '*.svg' \) -size +149k)
	[[ -z $large ]] || {
		echo "too large: $large"
		return 1
	}
}

are_shown() {
	local name status=0
	for name in $(pictures); do
		grep -q "images/$name" README.md docs/*.md || {
			echo "no document shows $name"
			status=1
		}
	done
	return "$status"
}

check "all pictures can be drawn" draw
check "they are those of docs/images, in the same form" heads_agree
check "none is large" are_small
check "a document shows each" are_shown
finish
