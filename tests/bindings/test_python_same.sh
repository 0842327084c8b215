#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/bindings/adapters.sh disable=SC2317,SC2034 # what `same` runs
#
# A Python program behaves the same under `python3 -m geiger` as under python3: its output, exit
# status, tracebacks, and all that it can see of its start.
. "$(dirname "$0")/adapters.sh"
here=$(realpath "$(dirname "$0")")
cd "$scratch" || exit 1

cat >"$real_input/seen.py" <<'END'
import inspect, sys
print(sys.argv, sys.orig_argv[1:], sys.path, sys.flags, __name__, globals().get("__file__"))
print(__spec__ and __spec__.name, __package__, sorted(vars()), type(__loader__).__name__)
print(len(inspect.stack()), list(sys.modules))
def down(n):
    try:
        return down(n + 1)
    except RecursionError:
        return n
print(down(0), sys.modules["__main__"].__dict__ is globals())
what = sys.argv[1] if len(sys.argv) > 1 else "nothing"
if what == "status":
    sys.exit(7)
if what == "text":
    sys.exit("a text")
if what == "interrupt":
    raise KeyboardInterrupt
if what == "hard":
    import os
    os._exit(9)
if what == "late":
    import atexit, threading, time
    atexit.register(lambda: print("atexit"))
    threading.Thread(target=lambda: (time.sleep(0.2), print("thread"))).start()
def outer():
    try:
        inner()
    except ZeroDivisionError as error:
        raise ValueError("outer") from error
def inner():
    return 1 / 0
outer()
END
mkdir "$real_input/package"
echo 'import sys; print(__file__, sys.argv, __name__, __package__)' >"$real_input/package/__main__.py"
echo 'def f(:' >"$real_input/syntax.py"
printf 'print("no newline at the end")' >"$real_input/short.py"
(cd "$real_input" && $python -m zipfile -c package.zip package/__main__.py && $python -m zipfile -c main.zip seen.py)

real_least=1
same python_a_script python "$real_input/seen.py"
for what in status text interrupt hard late; do
	same "python_ends_by_$what" python "$real_input/seen.py" $what -m -c --
done
from_input() {
	cd "$real_input" || return
	python "$@"
}
same python_a_relative_script from_input seen.py a
same python_a_relative_script_with_a_dot from_input ./seen.py status
same python_a_module from_input -m seen status
same python_a_package from_input -m package 1 2
same python_a_folder from_input package 1 2
same python_this_folder from_input .
same python_an_archive from_input package.zip
same python_a_command python -c 'import sys; print(sys.argv, sys.path[0], __name__); 1 / 0' -x -m
same python_a_syntax_error python "$real_input/syntax.py"
same python_a_bad_command python -c 'def f(:'
same python_no_such_file python "$real_input/missing.py"
same python_no_such_module python -m missing
same python_the_input python - a b
same python_a_file_without_newline python "$real_input/short.py"
# Options of python3 itself stand before -m geiger, in any case.
options() {
	if [[ -n $geiger ]]; then
		# shellcheck disable=SC2086 # a command of several words
		$geiger $python -B -O -W error -X dev -m geiger "$@"
	else
		$python -B -O -W error -X dev "$@"
	fi
}
same python_with_options options "$real_input/seen.py" status

for what in json re sqlite3 asyncio threads processes objects interpreters hooks_of_others; do
	same "python_$what" python "$here/programs.py" $what
done

# The result does not depend on the allocators behind ours, nor on earlier hooks.
for allocator in malloc debug pymalloc_debug; do
	export PYTHONMALLOC=$allocator
	same "python_objects_over_$allocator" python "$here/programs.py" objects
done
unset PYTHONMALLOC
traced() {
	if [[ -n $geiger ]]; then
		# shellcheck disable=SC2086 # a command of several words
		$geiger $python -X tracemalloc -m geiger "$@"
	else
		$python -X tracemalloc "$@"
	fi
}
same python_traced_from_the_start traced "$here/programs.py" hooks_of_others
finish
