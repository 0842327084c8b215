#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench_attach [ROUNDS]: how long threads stand still while geiger attaches and detaches.

The program has threads that read the clock all the time; a gap between two readings is a time for
which the thread stood still.  Each round begins a program, attaches, detaches, attaches again and
detaches again.  For each step, and for a time without any, the longest gap of the borrowed thread
(the allocating one) and that of another thread: medians, 99th percentiles and maxima of ROUNDS
(50), in milliseconds.  "ready" is without the time for which the thread waited
for a processor, which on a busy machine is most of it.  If root runs it, the program has the
highest usual priority, and so has geiger, so that other programs matter less.

An attach lets a thread stand still for at most 5 ms, a detach for no longer than gaps are without.

GEIGER is the command, ATTACH_WORK the program.
"""

import json
import mmap
import os
import struct
import subprocess
import sys
import tempfile
import time

GEIGER = os.path.abspath(os.environ["GEIGER"])
WORK = os.path.abspath(os.environ["ATTACH_WORK"])
ALLOCATING, OTHER = 1, 1
WORD_BYTES = 8
STEPS = ["nothing", "attach", "detach", "attach again", "detach again"]


def prefer():
    if os.geteuid() == 0:
        os.nice(-20)


class Program:
    """A running program; .measure() returns the gaps of its threads during a call."""

    def __init__(self):
        self.process = subprocess.Popen([WORK, "gaps", str(ALLOCATING), str(OTHER)], stdout=subprocess.PIPE, text=True,
                                        preexec_fn=prefer)
        self.pid = int(self.process.stdout.readline())
        with open("gaps", "r+b") as file:
            self.gaps = mmap.mmap(file.fileno(), 0)

    def measure(self, step):
        self.gaps[:] = bytes(len(self.gaps))
        time.sleep(0.001)  # a gap that began before ends
        self.gaps[:] = bytes(len(self.gaps))
        result = step()
        words = struct.unpack(f"{len(self.gaps) // WORD_BYTES}Q", self.gaps)
        return list(zip(words[::2], words[1::2])), result

    def end(self):
        self.process.kill()
        self.process.wait()
        os.unlink("gaps")


def run(*words):
    done = subprocess.run([GEIGER, *words], capture_output=True, text=True, check=True, preexec_fn=prefer)
    return json.loads(done.stdout)


def one_round(found, stated):
    program = Program()
    steps = [lambda: time.sleep(0.05), lambda: run("attach", "--json", str(program.pid)),
             lambda: run("detach", "--json", str(program.pid))]
    for name, step in zip(STEPS, steps + steps[1:]):
        gaps, result = program.measure(step)
        time.sleep(0.02)
        for kind in (0, 1):
            allocating = sorted(gap[kind] for gap in gaps[:ALLOCATING])
            others = allocating[:-1] + [gap[kind] for gap in gaps[ALLOCATING:]]
            found.setdefault((name, "borrowed", kind), []).append(allocating[-1])
            found.setdefault((name, "others", kind), []).append(max(others))
        if name.startswith("attach"):
            stated.setdefault(name, []).append((result["borrowed_ns"], result["others_stood_ns"]))
    program.end()


def numbers(values):
    values = sorted(values)
    places = (len(values) // 2, min(len(values) - 1, len(values) * 99 // 100), len(values) - 1)
    return [values[place] / 1e6 for place in places]


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    found, stated = {}, {}
    for _ in range(rounds):
        one_round(found, stated)
    print("| step | threads | median | p99 | max | ready: median | p99 | max | median, of nothing |")
    print("|-|-|-|-|-|-|-|-|-|")
    for name, threads in ((name, threads) for name in STEPS for threads in ("borrowed", "others")):
        all_of_it, ready = (numbers(found[name, threads, kind]) for kind in (0, 1))
        nothing = numbers(found["nothing", threads, 1])
        print(f"| {name} | {threads} |", " | ".join(f"{value:.2f}" for value in all_of_it + ready),
              f"| {ready[0] / max(nothing[0], 1e-6):.1f} |")
    for name, pairs in stated.items():
        print(f"{name}: geiger states", ", ".join(
            f"{what} {numbers(column)[0]:.2f} ms (median), {numbers(column)[2]:.2f} ms (max)"
            for what, column in zip(("borrowed", "others"), zip(*pairs))))
    print(f"load: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")


if __name__ == "__main__":
    # geiger puts regions there by itself; on a disk, an attach takes some milliseconds more.
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
        os.chdir(folder)
        os.environ["GEIGER_DIR"] = folder
        main()
        os.chdir("/")
