#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `check` runs the functions.
# shellcheck source=tests/bindings/adapters.sh disable=SC2317,SC2154
#
# test_python_every.sh - `geiger record python3 ...` shows the functions of every CPython from 3.8
# to 3.13 that is found here, without a module of geiger's.  BLOCKS: how many blocks to make for
# the comparison of stacks.  PYTHONS: an expression for the versions, such as 3\.1[23].
. "$(dirname "$0")/adapters.sh"
here=$(realpath "$(dirname "$0")")
cd "$scratch" || exit 1
unset PYTHONPATH
export PYTHONDONTWRITEBYTECODE=1
mkdir regions
export GEIGER_DIR=$scratch/regions

# walk PYTHON - each stack is the one that tracemalloc saw.
walk() {
	local blocks=${BLOCKS:-3000}
	GEIGER_RING=1048576 "$GEIGER" record --quiet -i 5k -o walks.geiger -- "$1" "$here/walks.py" walks.json "$blocks"
	# A block of 6000 bytes is a sample with a probability of 0.69.
	"$python" "$here/compare_walks.py" walks.geiger walks.json $((blocks / 2))
}

# malloc PYTHON - the same of blocks of malloc, with and without the interpreter's lock.
malloc() {
	local blocks=${BLOCKS:-3000}
	GEIGER_RING=1048576 "$GEIGER" record --quiet -i 5k -o walks.geiger -- "$1" "$here/walks.py" walks.json "$blocks" malloc
	# A block of 20 000 bytes is a sample with a probability of 0.98.
	"$python" "$here/compare_walks.py" walks.geiger walks.json $((blocks * 9 / 10)) malloc || return
	shows '' 0 && shows --native 1 && shows --all-frames 1 && shows --only-python 0
}

# types PYTHON - no sample has a wrong type, and nearly all objects have one.
types() {
	rm -f types.json sizes.json
	GEIGER_RING=1048576 "$GEIGER" record --quiet -i 1 -o types.geiger -- "$1" "$here/typed_objects.py" types.json sizes.json
	"$python" "$here/compare_types.py" types.geiger types.json
}

# sizes - a report by type has the objects of gc.get_objects() with sys.getsizeof().  The profile is
# that of types().
sizes() {
	"$GEIGER" report types.geiger --by type --metric live --limit 0 --json >report.json
	"$python" "$here/compare_sizes.py" report.json sizes.json
}

# shows OPTION IS_SHOWN - whether a report on stacks with Python functions shows the loop as well.
shows() {
	local loops
	# shellcheck disable=SC2086 # the option may be empty
	loops=$("$GEIGER" report walks.geiger --by function --focus '^make_pair$' --limit 0 $1 | grep -c _PyEval_EvalFrameDefault)
	equals "rows of the loop with '$1'" "$((loops > 0))" "$2"
}

# count_processes - writes into counts.csv how many processes have samples of Python's heaps below
# each function.
count_processes() {
	"$GEIGER" sql --csv many.geiger "with recursive up(process, parent, frame) as (
		select sample.process, stack.parent, stack.frame
		from sample join stack on stack.id = sample.stack where heap is not null
		union select process, stack.parent, stack.frame from up join stack on stack.id = up.parent)
		select substr(function || '.<', 1, instr(function || '.<', '.<') - 1) as name, count(distinct process)
		from up join v_frame on v_frame.frame = up.frame where function like 'in\_%' escape '\'
		group by name" >counts.csv
}

# processes_with FUNCTION - how many processes have samples below that function.
processes_with() {
	sed -n "s/^$1,//p" counts.csv
}

# everywhere PYTHON - children have the adapter as well, however they were started.
everywhere() {
	local name text
	text=$("$GEIGER" record --quiet -i 16k -o many.geiger -- "$1" -W ignore "$here/many.py" 2>&1)
	equals output "$text" '[0, 1, 2, 3]' && count_processes || return
	for name in in_fork:1 in_spawn:1 in_forkserver:1 in_command:3 in_exec:1; do
		equals "processes with ${name%:*}" "$(processes_with "${name%:*}")" "${name#*:}" || return
	done
	# The parent runs that function as well.
	[[ $(processes_with in_os_fork) =~ ^[12]$ ]] || return
	# One worker may do all the work.
	[[ $(processes_with in_pool) =~ ^[12]$ ]]
}

# same PYTHON - output, errors and status are those of the program alone.
same_as_alone() {
	local program='import sys, gc
print(sys.argv, sys.flags, sorted(sys.modules)[:5], len(gc.get_objects()) > 0)
def f(n): return f(n - 1)
try: f(0)
except RecursionError as error: print(error)
raise SystemExit(7)'
	local mode alone profiled
	for mode in '' '-X dev' -I '-W error' -S; do
		# shellcheck disable=SC2086 # options of several words
		alone=$("$1" $mode -c "$program" a b 2>&1; echo "status $?")
		# shellcheck disable=SC2086
		profiled=$("$GEIGER" record --quiet -i 4k -o same.geiger -- "$1" $mode -c "$program" a b 2>&1; echo "status $?")
		equals "output with $mode" "$profiled" "$alone" || return
	done
}

# at_exit PYTHON - new arenas while the interpreter ends; 3.8 takes no pending calls then.
at_exit() {
	local program='import atexit
def late():
    import argparse, tokenize
    print(len([(i, str(i)) for i in range(100000)]))
atexit.register(late)'
	local mode text
	for mode in '' '-X dev' '-X tracemalloc'; do
		# shellcheck disable=SC2086 # options of several words
		text=$("$GEIGER" record --quiet -i 64k -o exit.geiger -- "$1" $mode -c "$program" 2>&1; echo "status $?")
		equals "output with $mode" "$text" $'100000\nstatus 0' || return
	done
}

# dev PYTHON - Python replaces the hooks when it starts; they come back with the next arena.
dev() {
	local mode bytes
	for mode in '-X dev' '-X tracemalloc'; do
		# shellcheck disable=SC2086 # options of several words
		"$GEIGER" record --quiet -i 16k -o dev.geiger -- "$1" $mode -c 'def hold(n): return [(i, str(i)) for i in range(n)]
kept = hold(100000)'
		bytes=$("$GEIGER" report dev.geiger -m peak --by heap --json | sed 's/.*"totals"//; s/.*"peak_bytes":{"estimate":\([0-9]*\).*/\1/')
		echo "peak with $mode: $bytes"
		((bytes > 10000000)) || return
	done
}

# remade PYTHON - code objects that are freed leave no lines to those that take their addresses.
remade() {
	local expected lines
	expected=$("$GEIGER" record --quiet -i 64k -o remade.geiger -- "$1" "$here/remade.py")
	lines=$("$GEIGER" report remade.geiger -m allocated -u count --by line --limit 0 |
		sed -n 's/.* \([0-9]*\)  \(made.py:[0-9]*\) made$/\2 \1/p' | sort)
	equals 'allocations by line' "$lines" "$expected"
}

switched_off() {
	local heaps
	GEIGER_PYTHON=0 "$GEIGER" record --quiet -i 16k -o off.geiger -- "$1" -c 'x = [bytes(2000) for _ in range(2000)]'
	heaps=$("$GEIGER" sql --csv off.geiger "select count(*) from heap where name like 'python.%'" | tail -n 1)
	equals 'heaps of Python' "$heaps" 0
}

found=0
for candidate in "$python" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.*/bin/python; do
	version=$("$candidate" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>&1) || continue
	[[ $version =~ ^(${PYTHONS:-3\.(8|9|10|11|12|13)})$ ]] || continue
	name=$version
	[[ $candidate != "$python" ]] || name=of_the_system
	check "stacks_of_python_${name}_are_those_of_tracemalloc" walk "$candidate"
	check "stacks_of_malloc_in_python_${name}_are_those_of_current_frames" malloc "$candidate"
	check "types_in_python_${name}_are_those_of_the_objects" types "$candidate"
	check "live_types_in_python_${name}_have_the_sizes_that_python_tells" sizes
	check "children_of_python_${name}_are_seen_however_they_are_started" everywhere "$candidate"
	check "python_${name}_runs_as_it_does_alone" same_as_alone "$candidate"
	check "python_${name}_may_allocate_while_it_ends" at_exit "$candidate"
	check "lines_of_python_${name}_are_those_of_the_code_that_runs" remade "$candidate"
	check "hooks_that_python_${name}_replaces_come_back" dev "$candidate"
	found=1
done
((found)) || {
	echo 'skipped - test_python_every: no Python from 3.8 to 3.13'
	exit 77
}
check 'the_adapter_for_python_can_be_switched_off' switched_off "$python"
finish
