#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures what real programs cost under geiger, at the default sampling interval.

bench_programs.py [-n RUNS] [PROGRAM...]      time and memory: RUNS (15) of each way, taking turns
bench_programs.py instructions [PROGRAM...]   instructions by valgrind, which no other load disturbs

Ways: as it is; with the agent alone (`geiger env`); under `geiger record`.  Time and memory are
those of the program itself, which a process of ours starts and waits for: "end" is what the
recorder does after the program's end.  Ratios are of neighbors in time.  The bars: wall at most 1 %
more in the median, memory at most 3 % and 8 MiB more.

GEIGER is the command, GG_SOURCE the source, which gcc compiles a part of.
"""

import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

GEIGER = os.environ.get("GEIGER", "geiger")
SOURCE = os.environ.get("GG_SOURCE", os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
PYTHON = "/usr/bin/python3"
REGIONS = ""  # where the agent is alone: in memory, as by default

SQL = """CREATE TABLE song (id INTEGER PRIMARY KEY, title TEXT, seconds REAL);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 600000)
INSERT INTO song SELECT i, printf('%08x of %d', i * 2654435761 % 4294967296, i), i % 600 FROM n;
CREATE INDEX song_title ON song (title);
SELECT count(*), round(avg(seconds), 1), max(title) FROM song;
"""
WORDS = """import collections, json, random
random.seed(1)
words = ["".join(random.choices("abcdefgh", k=6)) for _ in range(150000)]
index = collections.defaultdict(list)
for number, word in enumerate(words):
    index[word].append((number, word.upper()))
text = json.dumps(index)
for _ in range(3):
    index = json.loads(text)
print(len(index), len(text))
"""


class Program:
    """A command as a shell has it; `load` runs beside it, without geiger, and is timed in its
    place."""

    def __init__(self, needs, command, load=None, environment=None):
        self.needs, self.command, self.load, self.environment = needs, command, load, environment or {}


PROGRAMS = {
    "sqlite3": Program("sqlite3", ["sh", "-c", "exec sqlite3 < load.sql"]),
    "redis": Program(
        "redis-server",
        ["redis-server", "--port", "0", "--unixsocket", "redis.sock", "--save", "", "--daemonize", "no"],
        load="until redis-cli -s redis.sock ping; do sleep 0.01; done; "
        "redis-benchmark -s redis.sock -q -n 60000 -r 100000 -d 100 -t set,get,lpush,hset,zadd",
    ),
    "python3": Program(PYTHON, [PYTHON, "words.py"]),
    "python3 by malloc": Program(PYTHON, [PYTHON, "words.py"], environment={"PYTHONMALLOC": "malloc"}),
    "gcc": Program("g++", ["g++", "-O2", "-c", f"{SOURCE}/bench/symbol_module.cc"]),
    # Some 50 processes that end soon: what counts is what a start costs.
    "gcc, many files": Program("gcc", ["sh", "-c", f"exec gcc -O2 -I{SOURCE}/src -I{SOURCE}/include -D_GNU_SOURCE "
                                                   f"-c {SOURCE}/src/stats/*.c"]),
}


# --- the side of the program ---


def child(result, name):
    """Runs the program, and writes seconds of wall and processor, and KiB of memory to a file."""
    program = PROGRAMS[name]
    environment = dict(os.environ, **program.environment)
    begin = time.monotonic()
    with open("out", "w") as out:
        pid = os.posix_spawnp(program.command[0], program.command, environment,
                              file_actions=[(os.POSIX_SPAWN_DUP2, out.fileno(), 1)])
        if program.load:
            plain = {key: value for key, value in os.environ.items() if key not in ("LD_PRELOAD", "GEIGER_DIR")}
            # Until it answers does not count.
            wait, load = program.load.split("; redis-benchmark")
            subprocess.run(["sh", "-c", wait], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=plain)
            begin = time.monotonic()
            subprocess.run(["sh", "-c", "redis-benchmark" + load], stdout=subprocess.DEVNULL, env=plain, check=True)
            wall = time.monotonic() - begin
            os.kill(pid, signal.SIGTERM)
    _, status, usage = os.wait4(pid, 0)
    if not program.load:
        wall = time.monotonic() - begin
    if status != 0:
        sys.exit(f"{name}: exit status {status}")
    with open(result, "w") as file:
        print(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss, time.monotonic(), file=file)


# --- the side of the measurement ---


def run(way, name):
    """Wall, processor, MiB, and seconds that the recorder took afterwards."""
    command = [sys.executable, os.path.realpath(__file__), "child", "result", name]
    environment = dict(os.environ)
    if way == "agent":
        preload = subprocess.run([GEIGER, "env"], capture_output=True, text=True, check=True).stdout.strip()
        environment[preload.split("=", 1)[0]] = preload.split("=", 1)[1]
        environment["GEIGER_DIR"] = REGIONS
    elif way == "record":
        command = [GEIGER, "record", "-q", "-o", "profile.geiger", "--", *command]
    subprocess.run(command, check=True, env=environment)
    ended = time.monotonic()
    with open("result") as file:
        wall, processor, kib, at = map(float, file.read().split())
    return wall, processor, kib / 1024, ended - at


def median_of(values):
    values = sorted(values)
    low, high = values[len(values) // 4], values[-1 - len(values) // 4]
    return f"{statistics.median(values):.4f} ({low:.3f} to {high:.3f})"


def report_ms():
    times = []
    for _ in range(5):
        begin = time.monotonic()
        subprocess.run([GEIGER, "report", "profile.geiger"], stdout=subprocess.DEVNULL, check=True)
        times.append(time.monotonic() - begin)
    return statistics.median(times) * 1000


def measure(names, runs):
    print(f"{'program':18} {'way':7} {'wall, median (quartiles)':27} {'processor':27} {'MiB':>6} {'more':>5} "
          f"{'allowed':>7} {'end, ms':>7} {'report, ms':>10}")
    for name in names:
        rounds = []
        for _ in range(runs + 1):
            rounds.append({way: run(way, name) for way in ("plain", "agent", "record")})
        rounds = rounds[1:]  # the first fills caches
        plain = statistics.median(one["plain"][2] for one in rounds)
        seconds = statistics.median(one["plain"][0] for one in rounds)
        print(f"{name:18} {'plain':7} {f'{seconds:.2f} s':27} {'':27} {plain:6.1f}")
        for way in ("agent", "record"):
            walls = [one[way][0] / one["plain"][0] for one in rounds]
            processors = [one[way][1] / one["plain"][1] for one in rounds]
            mib = statistics.median(one[way][2] for one in rounds)
            line = (f"{'':18} {way:7} {median_of(walls):27} {median_of(processors):27} {mib:6.1f} {mib - plain:5.1f} "
                    f"{0.03 * plain + 8:7.1f}")
            if way == "record":
                end = statistics.median(one[way][3] for one in rounds) * 1000
                line += f" {end:7.0f} {report_ms():10.0f}"
            print(line, flush=True)


def instructions(names):
    preload = subprocess.run([GEIGER, "env"], capture_output=True, text=True, check=True).stdout.strip()
    print(f"{'program':18} {'as it is':>16} {'with the agent':>16}   ratio")
    for name in names:
        program = PROGRAMS[name]
        command = program.command
        if program.load:
            continue  # how much it does depends on time
        if "gcc" in name:  # a tenth of the work, as for the others
            command = ["g++", "-O0", *command[2:]] if name == "gcc" else [*command[:2], command[2].replace("/*.c", "/s*.c")]
        counts = []
        for way in ([], [preload, "GEIGER_DIR=" + REGIONS]):
            out = subprocess.run(
                ["valgrind", "--tool=callgrind", "--trace-children=yes", "--callgrind-out-file=/dev/null",
                 "env", *way, *command],
                env=dict(os.environ, **program.environment), capture_output=True, text=True, check=True)
            counts.append(sum(int(count.replace(",", "")) for count in re.findall(r"Collected : ([\d,]+)", out.stderr)))
        print(f"{name:18} {counts[0]:16,} {counts[1]:16,}   {counts[1] / counts[0]:.4f}", flush=True)


def main():
    arguments = sys.argv[1:]
    if arguments[:1] == ["child"]:
        return child(*arguments[1:])
    runs = 15
    if arguments[:1] == ["-n"]:
        runs, arguments = int(arguments[1]), arguments[2:]
    what = measure
    if arguments[:1] == ["instructions"]:
        what, arguments = instructions, arguments[1:]
    names = arguments or [name for name in PROGRAMS if shutil.which(PROGRAMS[name].needs)]
    global REGIONS
    with tempfile.TemporaryDirectory(prefix="bench-programs-") as folder, \
            tempfile.TemporaryDirectory(prefix="bench-regions-", dir="/dev/shm") as REGIONS:
        os.chdir(folder)
        texts = {"load.sql": SQL, "words.py": WORDS}
        if what is instructions:  # valgrind is slow: a tenth of the work
            texts = {name: re.sub(r"(\d+)0(?=[)\n])", r"\1", text, count=1) for name, text in texts.items()}
        for name, text in texts.items():
            with open(name, "w") as file:
                file.write(text)
        measure(names, runs) if what is measure else instructions(names)
        os.chdir("/")


if __name__ == "__main__":
    main()
