#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_fast_path - callgrind counts each instruction of the example's interpreter while it runs
gcbench.

Three modes: without geiger (nursery-plain), sampling off, sampling on.  The first two execute the
same number of instructions in every function that allocates.  With sampling on, each allocation
comes to the same branch; exactly those that are samples leave the fast path there, and all others
go on with the same instructions.  (The compiler puts what a sample's allocation does next into the
function's cold part.)

NURSERY, NURSERY_PLAIN, NURSERY_PROGRAMS as for test_nursery.  --table prints the counts.
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

DEPTH = "11"
INTERVAL = "4096"  # some hundred samples

# The files whose functions allocate while a program runs.  The cold part of a function is not its
# fast path.
FILES = {"eval.c", "lists.c", "numbers.c", "texts.c"}
COLD = re.compile(r"\.cold(\.\d+)?$")


class Profile:
    """callgrind's counts for one program: instructions by (function, address), and slow calls."""

    def __init__(self, path, program):
        self.at = collections.defaultdict(collections.Counter)
        self.slow_calls = collections.Counter()  # of heap_new_slow(), by caller
        name = object_file = source = called = None
        skip = False
        for line in path.read_text().splitlines():
            key, _, rest = line.partition("=")
            if key == "ob":
                object_file = os.path.basename(rest)
            elif key == "fl":
                source = os.path.basename(rest)
            elif key == "fn":
                name = re.sub(r"'\d+$", "", rest)  # of a recursion, from its second turn on
            elif key == "cfn":
                called = rest
            elif key == "calls":
                skip = True  # the next line is what the call cost
                if called == "heap_new_slow":
                    self.slow_calls[COLD.sub("", name)] += int(rest.split()[0])
            elif line.startswith("0x"):
                wanted = object_file == program and source in FILES and not COLD.search(name)
                if wanted and not skip:
                    address, _, cost = line.split()[:3]
                    self.at[name][int(address, 16)] += int(cost)
                skip = False

    def total(self, name):
        return sum(self.at[name].values())


def count(program, options, folder):
    """Runs it under callgrind."""
    path = pathlib.Path(folder) / "callgrind.out"
    path.unlink(missing_ok=True)
    command = ["valgrind", "--tool=callgrind", "--dump-instr=yes", "--compress-strings=no"]
    command += ["--compress-pos=no", f"--callgrind-out-file={path}"]
    command += [program, "--nursery=65536", *options]
    command += [os.environ["NURSERY_PROGRAMS"] + "/gcbench.scm", DEPTH]
    environment = {**os.environ, "GEIGER_DIR": folder}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=500)
    if done.returncode != 0:
        sys.exit(f"{command}: {done.stderr}")
    return Profile(path, os.path.basename(program)), done.stdout


def branches(program):
    """The branches into the cold part of each function: function -> [(address, next address)]."""
    text = subprocess.run(
        ["objdump", "-d", "--no-show-raw-insn", program], capture_output=True, text=True, check=True
    ).stdout
    found = collections.defaultdict(list)
    name = branch = None
    for line in text.splitlines():
        head = re.match(r"[0-9a-f]+ <([^>]+)>:$", line)
        if head:
            name, branch = head.group(1), None
            continue
        code = re.match(r" +([0-9a-f]+):\t(\w+) *(.*)$", line)
        if not code:
            continue
        address = int(code.group(1), 16)
        if branch is not None:
            found[name].append((branch, address))
        leaves = code.group(2)[0] == "j" and re.search(rf"<{re.escape(name)}\.cold", code.group(3))
        branch = address if leaves and code.group(2) != "jmp" else None
    return found


failed = False


def check(sentence, wrong):
    """`wrong` lists what contradicts the sentence."""
    global failed
    for line in wrong[:20]:
        print(line)
    print(f"{'FAILED' if wrong else 'ok'} - {sentence}")
    failed = failed or bool(wrong)


def main():
    if shutil.which("valgrind") is None:
        print("skipped - the_fast_path_is_the_same: valgrind is not installed")
        return 77
    if platform.machine() != "x86_64":
        print("skipped - the_fast_path_is_the_same: the test knows the branches of x86-64 only")
        return 77
    leaving = branches(os.environ["NURSERY"])
    if "new_environment" not in leaving:
        print("skipped - the_fast_path_is_the_same: this compiler makes no cold parts")
        return 77
    with tempfile.TemporaryDirectory(prefix="nursery-") as folder:
        plain, plain_output = count(os.environ["NURSERY_PLAIN"], [], folder)
        off, off_output = count(os.environ["NURSERY"], ["--off"], folder)
        on, on_output = count(
            os.environ["NURSERY"], ["--record", "--seed=1", f"--interval={INTERVAL}"], folder
        )

    names = sorted(set(plain.at) | set(off.at) | set(on.at))
    samples = {n: on.slow_calls[n] - off.slow_calls[n] for n in names}
    sampled = sum(samples.values())
    allocating = [n for n in names if on.slow_calls[n] > 0]
    if "--table" in sys.argv:
        print("function           not compiled in          off           on      samples")
        for n in sorted(allocating, key=plain.total, reverse=True):
            print(f"{n:18} {plain.total(n):15} {off.total(n):12} {on.total(n):12} {samples[n]:12}")
        totals = [sum(map(p.total, allocating)) for p in (plain, off, on)]
        print(f"{'all':18} {totals[0]:15} {totals[1]:12} {totals[2]:12} {sampled:12}")

    check(
        "the_programs_print_the_same",
        [] if plain_output == off_output == on_output else [plain_output, off_output, on_output],
    )
    check(
        "there_are_hundreds_of_samples_and_collections",
        [] if sampled > 500 and sum(off.slow_calls.values()) > 50 else [f"{samples} {off.slow_calls}"],
    )
    check(
        "an_allocation_executes_the_same_with_sampling_off_as_without_geiger",
        [
            f"{n}: {plain.total(n)} without, {off.total(n)} off"
            for n in allocating
            if plain.total(n) != off.total(n) or plain.slow_calls[n] != off.slow_calls[n]
        ],
    )
    wrong = []
    for n in allocating:
        for profile, how in ((off, "off"), (on, "on")):
            at = profile.at[n]
            left = sum(at[branch] - at[following] for branch, following in leaving[n])
            if left != profile.slow_calls[n]:
                wrong.append(f"{n}, {how}: {left} branches, {profile.slow_calls[n]} slow calls")
        wrong += [
            f"{n} at {branch:#x}: {off.at[n][branch]} times off, {on.at[n][branch]} on"
            for branch, _ in leaving[n]
            if off.at[n][branch] != on.at[n][branch]
        ]
    check("exactly_the_samples_leave_the_fast_path", wrong if allocating else ["no samples"])
    wrong = []
    for n in names:
        for address in set(off.at[n]) | set(on.at[n]):
            less = off.at[n][address] - on.at[n][address]
            if less < 0 or (less > 0 and samples[n] == 0):
                wrong.append(f"{n} at {address:#x}: {-less} more with sampling")
    check("no_instruction_is_executed_more_often_with_sampling_on", wrong)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
