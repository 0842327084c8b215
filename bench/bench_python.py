#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench_python.py [-n ROUNDS] [time|instructions] [LOAD...] - what recording costs Python programs.

Loads are of the kinds that Python's own benchmarks are: json, patterns (re), sqlite, template (text
with many small parts), echo (a server and clients of asyncio), and numpy, where it is installed.
PYTHON: the interpreter, by default the system's.  GEIGER: the command.

  time           processor time of the load without a recorder, with the agent and the adapter at
                 512 KiB, and at 32 KiB, in turns: the median of the ratios of each round
  instructions   the same by callgrind, which other programs do not disturb; the difference of a run
                 with one unit of the load and one with three, so that the start does not count
  forks          how much processor time a fork takes with its child's end, and how much is added:
                 the mean of 64 workers of 8 rounds, in turns
"""

import importlib.util
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile

# A second of work each, so that the start of the interpreter and of the agent is a small part.
LOADS = {"json": 360, "patterns": 600, "sqlite": 120, "template": 2400, "echo": 150, "numpy": 36}
WAYS = (("plain", None), ("512k", "524288"), ("32k", "32768"))


def load_json(units):
    rows = [{"id": i, "name": f"name {i}", "tags": [str(j) for j in range(5)], "x": i / 7} for i in range(400)]
    for _ in range(3 * units):
        rows = json.loads(json.dumps(rows))


def load_patterns(units):
    line = "".join(f"key{i}=value{i};" for i in range(400))
    pattern = re.compile(r"(\w+)=(\w+);")
    for _ in range(10 * units):
        pattern.sub(lambda match: match[2] + "=" + match[1] + ";", line)
        pattern.findall(line)


def load_sqlite(units):
    import sqlite3

    base = sqlite3.connect(":memory:")
    base.execute("create table word (id integer primary key, text text, number real)")
    for unit in range(units):
        base.executemany("insert into word (text, number) values (?, ?)", [(f"w{i}", i / 3) for i in range(600)])
        for i in range(0, 600, 3):
            base.execute("select text, number from word where id = ?", (unit * 600 + i,)).fetchall()
        base.execute("select text, count(*) from word group by text order by 2").fetchall()


def load_template(units):
    row = "<tr>%s</tr>"
    for _ in range(units):
        parts = []
        for i in range(250):
            cells = [f"<td class='c{j}'>{i * j}</td>" for j in range(8)]
            parts.append(row % "".join(cells))
        "<table>{}</table>".format("\n".join(parts)).replace("<td", "<th")


def load_echo(units):
    import asyncio

    async def answer(reader, writer):
        while line := await reader.readline():
            writer.write(line)
        writer.close()

    async def ask(path, count):
        reader, writer = await asyncio.open_unix_connection(path)
        for i in range(count):
            writer.write(b"line %d\n" % i)
            await reader.readline()
        writer.close()

    async def serve(path):
        server = await asyncio.start_unix_server(answer, path)
        await asyncio.gather(*(ask(path, 25 * units) for _ in range(4)))
        server.close()

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(serve(folder + "/socket"))


def load_numpy(units):
    """Arrays of 1.6 KiB to 1.6 MiB; one thread multiplies (OPENBLAS_NUM_THREADS)."""
    import numpy

    made = numpy.random.default_rng(1)
    for _ in range(units):
        table = made.random((1000, 200))
        centered = (table - table.mean(axis=0)) / table.std(axis=0)
        centered.T @ centered
        numpy.sort(table[table > 0.5])
        rows = [numpy.cumsum(row) * 2 + row for row in table]
        numpy.concatenate(rows).reshape(table.shape).astype(numpy.float32).sum(axis=1)


def processor_seconds(*whose):
    used = [resource.getrusage(who) for who in whose]
    return sum(one.ru_utime + one.ru_stime for one in used)


def load_forks(units):
    kept = [str(i) for i in range(100000)]
    whose = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    begin = processor_seconds(*whose)
    for _ in range(64 * units):
        pid = os.fork()
        if pid == 0:
            os._exit(len(kept) % 2)
        os.waitpid(pid, 0)
    print((processor_seconds(*whose) - begin) / (64 * units))


def command_of(interval, folder, name, units):
    environment = dict(
        os.environ, PYTHONHASHSEED="0", PYTHONDONTWRITEBYTECODE="1", OPENBLAS_NUM_THREADS="1"
    )
    if interval is not None:
        preload = subprocess.run([GEIGER, "env"], capture_output=True, text=True, check=True).stdout.strip()
        environment.update(one.split("=", 1) for one in preload.split())
        environment.update({"GEIGER_DIR": folder, "GEIGER_INTERVAL": interval, "GEIGER_SEED": "1"})
    return [PYTHON, os.path.abspath(__file__), "run", name, str(units)], environment


def instructions_of(interval, folder, name, units):
    command, environment = command_of(interval, folder, name, units)
    tool = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={KEEP or '/dev/null'}"]
    done = subprocess.run(tool + command, env=environment, capture_output=True, text=True, check=True)
    return int(re.search(r"Collected : (\d+)", done.stderr)[1])


def instructions(names, folder):
    print(f"{'load':10} {'plain':>14}   512 KiB   32 KiB   the start at 512 KiB")
    for name in names:
        ones = [instructions_of(interval, folder, name, 1) for _, interval in WAYS]
        threes = [instructions_of(interval, folder, name, 3) for _, interval in WAYS]
        work = [three - one for one, three in zip(ones, threes)]
        start = [one - each // 2 for one, each in zip(ones, work)]
        print(
            f"{name:10} {work[0]:14,}   {work[1] / work[0]:7.4f}  {work[2] / work[0]:7.4f}"
            f"   {start[1] - start[0]:,} more",
            flush=True,
        )


def seconds_of(interval, folder, name):
    command, environment = command_of(interval, folder, name, LOADS.get(name, 8))
    before = processor_seconds(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    return float(done.stdout) if name == "forks" else processor_seconds(resource.RUSAGE_CHILDREN) - before


def times(names, folder, rounds):
    print("load       seconds   512 KiB   32 KiB   (medians; quartiles)")
    for name in names:
        runs = [[seconds_of(interval, folder, name) for _, interval in WAYS] for _ in range(rounds)]
        line = f"{name:10} {statistics.median(one[0] for one in runs):7.3f}"
        for way in (1, 2):
            ratios = [one[way] / one[0] for one in runs]
            low, middle, high = statistics.quantiles(ratios, n=4)
            line += f"   {middle:.3f} ({low:.3f} to {high:.3f})"
        print(line, flush=True)


def forks(folder, rounds):
    runs = [[seconds_of(interval, folder, "forks") * 1000 for _, interval in WAYS] for _ in range(rounds)]
    print(f"a fork: {statistics.median(one[0] for one in runs):.3f} ms of processor time")
    for way in (1, 2):
        low, middle, high = statistics.quantiles([one[way] - one[0] for one in runs], n=4)
        print(f"{WAYS[way][0]:4}  {middle:.3f} ms more ({low:.3f} to {high:.3f}: the quartiles)")


def main():
    global GEIGER, PYTHON, KEEP
    arguments = sys.argv[1:]
    if arguments[:1] == ["run"]:
        return globals()["load_" + arguments[1]](int(arguments[2]))
    rounds = 15
    if arguments[:1] == ["-n"]:
        rounds, arguments = int(arguments[1]), arguments[2:]
    GEIGER, PYTHON = os.environ["GEIGER"], os.environ.get("PYTHON", "/usr/bin/python3")
    KEEP = os.environ.get("CALLGRIND_OUT")
    loads = [name for name in LOADS if name != "numpy" or importlib.util.find_spec("numpy")]
    what = arguments.pop(0) if arguments[:1] in (["time"], ["instructions"], ["forks"]) else "time"
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        if what == "forks":
            forks(folder, rounds)
        elif what == "instructions":
            instructions(arguments or loads, folder)
        else:
            times(arguments or loads, folder, rounds)


main()
