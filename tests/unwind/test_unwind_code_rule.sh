#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/test.sh disable=SC2317 # what `check` runs
#
# Rules that are derived from code are those of the CFI, in the frames of programs that have it.
. tests/test.sh
: "${CODE_RULE_PRELOAD:?the library}" "${LEAST:?the least number of frames}"

# The first frames of a program and of a thread have no rule, and some behind a call that never
# returns: a third of all at most, as most stacks are deep.
export CODE_RULE_REPORT=$scratch/report
rules_are_equal() {
	: >"$CODE_RULE_REPORT"
	LD_PRELOAD=$CODE_RULE_PRELOAD "$@" >/dev/null || return
	awk -v least="$LEAST" '{ equal += $1; none += $2; different += $3 } END {
		print equal " frames with the same rule, " none " without, " different " differ"
		exit !(different == 0 && equal >= least && none < equal)
	}' "$CODE_RULE_REPORT"
}

if command -v python3 >/dev/null; then
	export PYTHONMALLOC=malloc
	check derived_rules_are_those_of_cfi_in_python rules_are_equal python3 -c '
import json, ast
for i in range(300): json.loads(json.dumps([[i, str(i)] * 30]))
ast.parse("x = [" + ",".join("f(%d)" % j for j in range(300)) + "]")'
	unset PYTHONMALLOC
fi
if command -v sqlite3 >/dev/null; then
	check derived_rules_are_those_of_cfi_in_sqlite rules_are_equal sqlite3 :memory: "create table t(a, b);
		with recursive n(i) as (select 1 union all select i + 1 from n where i < 9000)
		insert into t select i, hex(randomblob(20)) from n; create index x on t(b)"
fi
if command -v cc >/dev/null; then
	check derived_rules_are_those_of_cfi_in_a_compiler rules_are_equal cc -O2 -D_GNU_SOURCE -Isrc -c \
		-o "$scratch/x.o" -DGG_ASSERTIONS=0 src/unwind/walk/step.c
fi
finish
