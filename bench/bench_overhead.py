#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench_overhead [ROUNDS] - the requested overhead (GEIGER_OVERHEAD), and the real one.

A program that allocates at a known rate runs without the agent, with the agent switched off (hooks
alone), and with a requested overhead; they take turns.  Printed are medians of the ratios of
processor's time, the interval and the number of samples at the end, and what the agent measured.
`record` is the whole of `geiger record --overhead`: the recorder and the closing count.
"""
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile

GEIGER, WORK = os.environ["GEIGER"], os.environ["OVERHEAD_WORK"]
AGENT = os.environ["GEIGER_AGENT"]
# Allocations, bytes of one, additions after each: 30 000 to some 5 M allocations in a second.
LOADS = {
    "slow": (1.5e5, 1000, 60000),
    "usual": (5e6, 200, 2000),
    "fast": (4e7, 64, 100),
}
SHARES = "0.1%", "0.5%", "1%", "5%", "25%"


def seconds(words, environment=None):
    """The seconds that the program prints, and those of all processes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(words, env={**os.environ, **(environment or {})}, check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    whole = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return float(done.stdout), whole


def status(directory):
    region = next(name for name in os.listdir(directory) if name.endswith(".region"))
    words = [GEIGER, "control", os.path.join(directory, region), "status", "--json"]
    return json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)


def empty(directory):
    for name in os.listdir(directory):
        os.unlink(os.path.join(directory, name))


def measure(load, share, rounds, directory):
    words = [WORK] + [str(int(number)) for number in LOADS[load]]
    agent = {"LD_PRELOAD": AGENT, "GEIGER_DIR": directory}
    profile = os.path.join(directory, "x.geiger")
    ratios = {"hooks": [], "all": [], "record": []}
    for _ in range(rounds):
        empty(directory)
        plain, whole = seconds(words)
        hooks, _ = seconds(words, {**agent, "GEIGER_ACTIVE": "0"})
        _, recorded = seconds([GEIGER, "record", "-q", "--overhead", share, "-o", profile, "--"]
                              + words)
        empty(directory)
        sampled, _ = seconds(words, {**agent, "GEIGER_OVERHEAD": share})
        ratios["hooks"].append(hooks / plain - 1)
        ratios["all"].append(sampled / plain - 1)
        ratios["record"].append(recorded / whole - 1)
    state = status(directory)
    found = state["overhead"]
    median = {name: 100 * statistics.median(values) for name, values in ratios.items()}
    print(f"{load:6} {share:>5}  {median['hooks']:6.2f} %  {median['all']:6.2f} %  "
          f"{median['record']:6.2f} %  {100 * found.get('samples', 0):6.2f} %  "
          f"{100 * found.get('hooks', 0):5.2f} %  {state['interval_bytes']:>12}  "
          f"{state['samples']:>8}", flush=True)


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    print("load   asked     hooks    agent    record   measured:           interval   samples")
    print("                 alone                      samples   hooks")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as directory:
        for load in LOADS:
            for share in SHARES:
                measure(load, share, rounds, directory)


main()
