#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""bench_adapters [ROUNDS]: what the adapters for Python and Lua cost, as ratios of processor time
within one run.

Every loop runs as it is, under `geiger record` alone, and by its adapter at several sampling
intervals. They take turns, so what else the machine does hits all alike; medians of the ratios of
each round.
"""

import os
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
BUILD = os.environ.get("BENCH_BUILD", os.path.join(HERE, "..", "build", "release"))
GEIGER = os.path.join(BUILD, "src", "geiger")
os.environ["PYTHONPATH"] = os.path.join(BUILD, "bindings", "python")
os.environ["LUA_CPATH"] = os.path.join(BUILD, "bindings", "lua", "?.so") + ";;"

PYTHON = ["objects", "floats", "text", "parse", "patterns", "calls", "generators", "lists"]
LUA = ["trees", "strings", "tables", "coroutines", "closures", "calls"]


def record(interval, folder):
    return [GEIGER, "record", "--quiet", "--no-symbols", "-i", interval, "-o", os.path.join(folder, "x.geiger"), "--"]


def ways(plain, adapted, folder):
    return {
        "plain": plain,
        "agent alone, 512 KiB": record("512k", folder) + plain,
        "adapter, 512 KiB": record("512k", folder) + adapted,
        "adapter, 32 KiB": record("32k", folder) + adapted,
    }


def seconds(command, name):
    out = subprocess.run([*command, name], check=True, capture_output=True, text=True)
    return float(out.stdout.split()[-1])


def measure(title, commands, names, rounds):
    print(f"\n{title}: processor time against plain, medians of {rounds} rounds\n")
    print("| loop | seconds |", " | ".join(list(commands)[1:]), "|")
    print("|-|-|" + "-|" * (len(commands) - 1))
    sums = {way: [] for way in commands}
    for name in names:
        times = {way: [] for way in commands}
        for _ in range(rounds):
            for way, command in commands.items():
                times[way].append(seconds(command, name))
        ratios = {
            way: statistics.median(t / p for t, p in zip(times[way], times["plain"])) for way in commands
        }
        for way, ratio in ratios.items():
            sums[way].append(ratio)
        cells = " | ".join(f"{ratios[way]:.3f}" for way in list(commands)[1:])
        print(f"| {name} | {statistics.median(times['plain']):.3f} | {cells} |", flush=True)
    means = " | ".join(f"{statistics.geometric_mean(sums[way]):.3f}" for way in list(commands)[1:])
    print(f"| geometric mean | | {means} |", flush=True)


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    with tempfile.TemporaryDirectory() as folder:
        python, script = "/usr/bin/python3", os.path.join(HERE, "adapter_work.py")
        if os.path.isdir(os.environ["PYTHONPATH"]):
            measure(
                "Python",
                ways([python, script], [python, "-m", "geiger", script], folder),
                PYTHON,
                rounds,
            )
        script = os.path.join(HERE, "adapter_work.lua")
        if os.path.exists(os.path.join(BUILD, "bindings", "lua", "geiger.so")):
            measure("Lua", ways(["lua5.4", script], ["lua5.4", "-lgeiger", script], folder), LUA, rounds)
    print(f"\n{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f} at the end")


if __name__ == "__main__":
    main()
