#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_held_fast_path - callgrind counts each instruction of the hooks with and without an overhead
or an error to hold.

A call that is no sample executes the same instructions in all cases.  Calls that are samples, a
small part, leave the path.  So the instructions of a hook that more than half of its calls execute
are the fast path, and the path of an overhead or an error is that of a fixed interval.

AGENT, HELD_PROGRAM: paths.
"""

import collections
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile

HOOKS = "malloc", "free"
MODES = {
    "a fixed interval": ("GEIGER_INTERVAL", "512k"),
    "an overhead": ("GEIGER_OVERHEAD", "1%"),
    "an error": ("GEIGER_ERROR", "5%"),
}


def read(path, agent):
    """Returns the executions of each address of the hooks: name -> address -> count."""
    at = {name: collections.Counter() for name in HOOKS}
    name = object_file = None
    skip = False
    for line in path.read_text().splitlines():
        key, _, rest = line.partition("=")
        if key == "ob":
            object_file = os.path.basename(rest)
        elif key == "fn":
            name = re.sub(r"'\d+$", "", rest)
        elif key == "calls":
            skip = True  # the next line is the cost of the called function
        elif line.startswith("0x"):
            if object_file == os.path.basename(agent) and name in at and not skip:
                address, _, cost = line.split()[:3]
                at[name][int(address, 16)] += int(cost)
            skip = False
    return at


def count(setting, folder):
    """Runs the program under callgrind; returns the executions, and the changes of the interval."""
    path = pathlib.Path(folder) / "callgrind.out"
    command = ["valgrind", "--tool=callgrind", "--dump-instr=yes", "--compress-strings=no"]
    command += ["--compress-pos=no", f"--callgrind-out-file={path}"]
    command += [os.environ["HELD_PROGRAM"], "2000", "100"]
    environment = {**os.environ, "GEIGER_DIR": folder, "LD_PRELOAD": os.environ["AGENT"]}
    environment[setting[0]] = setting[1]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=500)
    if done.returncode != 0:
        sys.exit(f"{command}: {done.stderr}")
    for region in pathlib.Path(folder).glob("*.region"):
        region.unlink()
    return read(path, os.environ["AGENT"])


def fast_path(counts):
    """The addresses that more than half of the calls execute."""
    most = max(counts.values())
    return {address for address, times in counts.items() if times > most / 2}


def main():
    if shutil.which("valgrind") is None:
        print("skipped - hooks_execute_the_same_instructions: valgrind is not installed")
        return 77
    if platform.machine() != "x86_64":
        print("skipped - hooks_execute_the_same_instructions: valgrind is too slow here")
        return 77
    failed = False
    with tempfile.TemporaryDirectory(prefix="held-") as folder:
        found = {mode: count(setting, folder) for mode, setting in MODES.items()}
    for hook in HOOKS:
        paths = {mode: fast_path(at[hook]) for mode, at in found.items()}
        for mode, path in paths.items():
            print(f"{hook}, {mode}: {len(path)} instructions, "
                  f"{max(found[mode][hook].values())} calls, "
                  f"{len(found[mode][hook]) - len(path)} others")
        failed |= len(set(map(frozenset, paths.values()))) != 1
    print(f"{'FAILED' if failed else 'ok'} - hooks_execute_the_same_instructions")
    return 1 if failed else 0


sys.exit(main())
