#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench_closing [ROUNDS]: what `geiger record` does after the end of a program with 2.5 M samples.

For each way the medians of ROUNDS (5): the seconds of the program, those from its end to the end of
geiger, the processor time of both, the size of the profile, and the seconds that `geiger report`
takes on it.  On an idle machine, closing takes at most 3 s, and a report less than 2 s.

"flat out": the program allocates as fast as it can, and the ring loses events.  "paced": it pauses,
and the profile has nearly every sample by itself, which is the most work.

GEIGER is the command, CLOSING_WORK the program.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time

GEIGER = os.path.abspath(os.environ["GEIGER"])
WORK = os.path.abspath(os.environ["CLOSING_WORK"])
WAYS = {"flat out": [], "paced": ["500"]}


def record(arguments):
    """Seconds of the program, seconds after its end, and processor time of geiger and program."""
    before = os.times()
    begin = time.monotonic()
    done = subprocess.run([GEIGER, "record", "-i", "16", "-o", "profile.geiger", "--", WORK, *arguments],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True, text=True)
    after = time.monotonic()
    used = os.times()
    end = float(done.stdout)
    processor = used.children_user + used.children_system - before.children_user - before.children_system
    return end - begin, after - end, processor


def report():
    begin = time.monotonic()
    subprocess.run([GEIGER, "report", "profile.geiger"], stdout=subprocess.PIPE, check=True)
    return time.monotonic() - begin


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    print("| way | program, s | closing, s | processor time of both, s | profile, MB | report, s |")
    print("|-|-|-|-|-|-|")
    for way, arguments in WAYS.items():
        rows = []
        for _ in range(rounds):
            row = record(arguments)
            rows.append((*row, os.path.getsize("profile.geiger") / 1e6, report()))
        print(f"| {way} |", " | ".join(f"{statistics.median(column):.2f}" for column in zip(*rows)), "|", flush=True)
    print(f"load: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        main()
        os.chdir("/")
