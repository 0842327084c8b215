#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# vim edits 20 000 lines, undoes, and fills a list and a dictionary in its script.
#
# packages: vim
# modules: vim
# interval: 4k
# reason: Debian's vim has no symbols, so functions are named by their first address.
# shellcheck source=tests/programs/workload.sh
. "$(dirname "$0")/workload.sh"
needs vim

seq -f 'line %g of the text' 1 20000 >text
cat >work.vim <<'VIM'
set nocompatible undolevels=1000 nomore
edit text
%s/line/the line/
global/7/delete
undo
%s/\d\+/[&]/g
let table = {}
for i in range(1, 8000)
	let table['key ' . i] = ['value ' . i, i, i * 2]
endfor
sort! n
normal ggVGyGp
write! other
qall!
VIM
record vim -u NONE -i NONE -n -N -es -S work.vim </dev/null
