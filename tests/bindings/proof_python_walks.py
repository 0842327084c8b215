#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""proof_python_walks.py COUNT - stacks are those that Python itself reports, COUNT times a version.

walks.py runs with each CPython from 3.8 to 3.13 that is found, and with the system's.  Stacks of
malloc's blocks are compared with sys._current_frames(), and those of objects with tracemalloc.
adapter_python_every does the same with a fiftieth.  GEIGER: the command.
"""

import glob
import os
import re
import subprocess
import sys
import tempfile

GEIGER = os.environ["GEIGER"]
HERE = os.path.dirname(os.path.abspath(__file__))
COUNT = int(sys.argv[1])
# A block of malloc is a sample with a probability of 0.98, and an object with 0.69 or more.
MODES = (("malloc", ["malloc"], 1.03, "sys._current_frames()"), ("objects", [], 1.5, "tracemalloc"))


def version_of(python):
    script = "import sys; print('%d.%d.%d' % sys.version_info[:3])"
    return subprocess.run([python, "-c", script], capture_output=True, text=True, check=False).stdout.strip()


def walk(python, arguments, blocks, folder):
    profile, seen = folder + "/walks.geiger", folder + "/walks.json"
    environment = dict(os.environ, GEIGER_DIR=folder, GEIGER_RING="4194304")
    environment.pop("PYTHONPATH", None)
    subprocess.run(
        [GEIGER, "record", "--quiet", "-i", "5k", "-o", profile, "--", python, HERE + "/walks.py", seen, str(blocks)]
        + arguments,
        env=environment,
        check=False,  # it kills itself
    )
    command = [sys.executable, HERE + "/compare_walks.py", profile, seen, str(COUNT)]
    done = subprocess.run(command + arguments, capture_output=True, text=True, check=False)
    print(done.stdout, done.stderr, flush=True)
    found = re.search(r"(\d+) of (\d+) blocks are samples, (\d+) stacks differ", done.stdout)
    return done.returncode == 0, found.groups() if found else ("no", "no", "no")


def main():
    root = os.environ.get("PYENV_ROOT") or os.path.expanduser("~/.pyenv")
    pythons = ["/usr/bin/python3"] + glob.glob(root + "/versions/3.*/bin/python")
    pythons = [python for python in pythons if re.match(r"3\.(8|9|10|11|12|13)\.", version_of(python))]
    if not pythons:
        print("skipped - proof_python_walks: no Python from 3.8 to 3.13")
        sys.exit(77)
    rows, failed = [], 0
    for python in pythons:
        for mode, arguments, factor, truth in MODES:
            with tempfile.TemporaryDirectory() as folder:
                holds, (compared, blocks, wrong) = walk(python, arguments, int(COUNT * factor) + 500, folder)
            failed += not holds
            rows.append(f"| {version_of(python)} | {mode} | {truth} | {blocks} | {compared} | {wrong} |")
    print("summary\n")
    print("| Python | blocks of | compared with | blocks | compared | differ |")
    print("|-|-|-|-|-|-|")
    print(*rows, sep="\n")
    print("not ok" if failed else "ok", "- stacks_are_those_that_python_reports")
    sys.exit(failed > 0)


main()
