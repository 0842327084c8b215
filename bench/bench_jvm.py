#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench_jvm [ROUNDS]: what samples of Java objects cost a thread that does nothing but allocate, at
512 KiB, and how much of that the VM itself needs.

Within one process the ways take turns: for the VM's own share without samples, with an empty
callback, with the stack, and with all that geiger asks the VM for (jvm/floor_agent.c); for geiger
switched off and on. Processor time of the whole process, as ratios to the way before them without
samples: medians, quartiles, and the microseconds for each sample.

GEIGER: the command.  FLOOR_AGENT: the library of jvm/floor_agent.c.  JDKS: folders of JDKs; by
default those below /usr/lib/jvm.
"""
import glob
import os
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.realpath(__file__))
GEIGER, FLOOR_AGENT = os.environ["GEIGER"], os.environ["FLOOR_AGENT"]
COUNT, BYTES_EACH, INTERVAL = 40_000_000, 40, 512 << 10
WAYS = ("an empty callback", "with the stack", "with class and tag")
OPTIONS = ["-Xmx256m", "-cp", "."]


def processor_seconds(pid):
    return time.clock_gettime((~pid << 3) | 2)  # the clock of another process


class Program:
    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.pid = self.process.pid

    def say(self, line):
        print(line, file=self.process.stdin, flush=True)
        return self.process.stdout.readline()

    def seconds(self, line):
        self.say(line)
        before = processor_seconds(self.pid)
        self.say("")
        return processor_seconds(self.pid) - before

    def end(self):
        self.process.communicate()


def ratios(times):
    """Medians and quartiles against the way without samples, and microseconds for each sample."""
    samples = COUNT * BYTES_EACH / INTERVAL
    for way in list(times)[1:]:
        each = [a / b for a, b in zip(times[way], times["off"])]
        low, middle, high = statistics.quantiles(each, n=4)
        cost = statistics.median(a - b for a, b in zip(times[way], times["off"])) / samples * 1e6
        yield way, f"{middle:.3f} ({low:.3f} to {high:.3f}), {cost:.1f} µs"


def floor(java, frames, rounds):
    program = Program([java, *OPTIONS, "Allocate", str(frames), str(COUNT), FLOOR_AGENT])
    times = {"off": [], **{way: [] for way in WAYS}}
    for _ in range(rounds):
        for number, way in enumerate(times):
            times[way].append(program.seconds(str(number)))
    program.end()
    yield from ratios(times)


def geiger(java, frames, rounds):
    program = Program([GEIGER, "record", "-q", "-i", str(INTERVAL), "-o", "x.geiger", "--", java, *OPTIONS, "Allocate", str(frames), str(COUNT)])
    children = f"/proc/{program.pid}/task/{program.pid}/children"
    while not open(children, encoding="ascii").read():
        time.sleep(0.01)
    program.pid = int(open(children, encoding="ascii").read().split()[0])
    times = {"off": [], "geiger": []}
    time.sleep(1)  # it has joined
    for _ in range(rounds):
        for way, word in (("off", "off"), ("geiger", "on")):
            subprocess.run([GEIGER, "control", str(program.pid), word], check=True, capture_output=True)
            times[way].append(program.seconds("x"))
    program.end()
    yield from ratios(times)


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    folders = os.environ.get("JDKS", "").split() or sorted({os.path.realpath(path) for path in glob.glob("/usr/lib/jvm/*")})
    javas = [f"{folder}/bin/java" for folder in folders if os.path.exists(f"{folder}/bin/javac")]
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        for java in javas:
            subprocess.run([f"{java}c", "-d", ".", f"{HERE}/jvm/Allocate.java"], check=True)
            for frames in (14, 64):
                print(f"{java}, {frames} frames, {rounds} rounds, load {os.getloadavg()[0]:.1f}")
                for way, text in [*floor(java, frames, rounds), *geiger(java, frames, rounds)]:
                    print(f"  {way:20} {text}", flush=True)
        os.chdir("/")


if __name__ == "__main__":
    main()
