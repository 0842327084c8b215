#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/bindings/adapters.sh disable=SC2034 # what `same` reads
#
# A Lua program does by `lua5.4 -lgeiger` what it does by lua5.4.
. "$(dirname "$0")/adapters.sh"
here=$(realpath "$(dirname "$0")")
needs lua5.4

real_least=1
for what in strings tables coroutines collector recursion chunks files exits fails; do
	same "lua_$what" lua "$here/programs.lua" $what
done
same lua_no_such_file lua "$real_input/missing.lua"
same lua_a_command lua -e 'print(#arg, ...) error("here")' a b
same lua_the_input lua - a b
finish
