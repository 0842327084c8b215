# SPDX-License-Identifier: Apache-2.0
"""The work that runs: loops that time themselves (bench_agent), and real programs on inputs that
are made here."""

import dataclasses
import json
import os
import random
import re
import subprocess
import time

ADDRESS_SPACE = 6 << 30  # a peer that needs more fails, rather than the machine
SECONDS_MAX = 120

# bench_agent's loops: operations that are timed; of ways that count everything a share of that.
LOOPS = {
    "pair": (6000000, "malloc(64) and free"),
    "mix10k": (1500000, "skewed sizes, 10 000 live blocks"),
    "mix1M": (300000, "skewed sizes, 1 M live blocks"),
    "threads": (700000, "two threads, 10 000 live blocks each"),
    "whole": (500000, "skewed sizes, each at depth 40"),
}
COUNTING_SHARE = 20


@dataclasses.dataclass
class Run:
    """The time and memory of one run; `failure` says why the run failed."""

    wall: float = 0  # seconds, or of a loop nanoseconds each
    cpu: float = 0
    peaks: list = dataclasses.field(default_factory=list)
    failure: str = ""
    text: str = ""


class Runner:
    def __init__(self, build, folder):
        self.build = build
        self.timed = os.path.join(build, "bench", "peers", "peers-timed")
        self.loops = os.path.join(build, "bench", "bench_agent")
        self.sites = os.path.join(build, "bench", "peers", "peers-sites")
        self.folder = folder
        self.environment = {**os.environ, "XDG_CACHE_HOME": os.path.join(folder, "cache"), "LC_ALL": "C",
                            "DEBUGINFOD_URLS": ""}
        for name in [name for name in self.environment if name.startswith(("GEIGER_", "LD_PRELOAD", "MALLOC_"))]:
            del self.environment[name]

    def launch(self, way, command, folder, memory=False, variables=None):
        # Not of all: geiger would have smaller tables, and valgrind needs more.
        limits = ["-a", str(ADDRESS_SPACE)] if way.tool in ("heaptrack", "HEAPPROFILE") else []
        return subprocess.Popen(
            [self.timed, *(["-m"] if memory else []), "-t", str(SECONDS_MAX), *limits, os.path.join(folder, "result"),
             *way.command(command, folder)], cwd=folder, env={**self.environment, **(variables or {})},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        )

    def result(self, process, folder):
        text, _ = process.communicate()
        try:
            with open(os.path.join(folder, "result"), encoding="utf-8") as file:
                told = json.load(file)
        except (OSError, ValueError):
            return Run(failure="could not be started", text=text)
        failure = ""
        if told["late"]:
            failure = f"not done after {SECONDS_MAX} s"
        elif told["status"] != 0:
            said = [line for line in text.splitlines() if line.strip()]
            how = f"signal {-told['status']}" if told["status"] < 0 else f"exit status {told['status']}"
            failure = how + (f": {said[-1].strip()[:80]}" if said else "")
        return Run(told["wall"], told["cpu"], told["peaks"], failure, text)

    def run(self, way, command, folder, memory=False, variables=None):
        return self.result(self.launch(way, command, folder, memory, variables), folder)

    def loop(self, way, name, folder, share=1):
        """Nanoseconds an operation, after the loop has warmed up."""
        count = max(int(LOOPS.get(name, (500000,))[0] * share), 1000)
        # A way that counts everything is no faster once it knows all stacks.
        warm = [str(count)] if share < 1 / 4 else []
        run = self.run(way, [self.loops, "work", name, str(count), *warm], folder)
        told = re.findall(r"^(\d+\.\d+) (\d+\.\d+)$", run.text, re.MULTILINE)
        if not run.failure and not told:
            run.failure = "said nothing"
        if told:
            run.wall, run.cpu = (float(value) for value in told[-1])
        return run


class Program:
    """A real program; `program` is the file that profilers' reports want."""

    name = what = program = ""
    variables: dict = {}
    baseline = "glibc"

    def prepare(self, folder, scale):
        pass

    def command(self, way):
        raise NotImplementedError

    def run(self, runner, way, folder, memory=False):
        return runner.run(way, self.command(way), folder, memory, self.variables)


class Sqlite(Program):
    name, program = "sqlite3", "/usr/bin/sqlite3"
    what = "a table of 200 000 rows in memory, two indexes, joins and sums"

    def prepare(self, folder, scale):
        self.script = os.path.join(folder, "work.sql")
        with open(self.script, "w", encoding="utf-8") as file:
            file.write(
                "create table t(id integer primary key, a int, b text);\n"
                f"with recursive c(x) as (select 1 union all select x + 1 from c where x < {int(200000 * scale)})\n"
                "insert into t select x, x * 7919 % 100003, hex(x * 31) || '-' || x from c;\n"
                "create index t_a on t(a);\ncreate index t_b on t(b);\n"
                "select count(*), sum(t.a) from t join t u on u.a = t.a + 1;\n"
                "select count(distinct substr(b, 1, 5)) from t;\n"
                "select b, count(*) n from t group by a order by n desc, b limit 3;\n"
                "delete from t where a % 3 = 0;\nvacuum;\nselect count(*) from t;\n"
            )

    def command(self, way):
        return [self.program, ":memory:", f".read {self.script}"]


class Python(Program):
    name, program, variables = "python3", "/usr/bin/python3", {"PYTHONMALLOC": "malloc"}
    what = "dictionaries, text and JSON; PYTHONMALLOC=malloc, so that each object is an allocation"

    def prepare(self, folder, scale):
        self.script = os.path.join(folder, "work.py")
        with open(self.script, "w", encoding="utf-8") as file:
            file.write(
                "import json\n"
                f"rows = [{{'id': i, 'name': f'name {{i % 977}}', 'tags': [str(i), str(i * 3)]}} "
                f"for i in range({int(60000 * scale)})]\n"
                "text = json.dumps(rows)\nback = json.loads(text)\ncounts = {}\n"
                "for row in back:\n    for tag in row['tags']:\n        counts[tag] = counts.get(tag, 0) + 1\n"
                "words = sorted(' '.join(counts).split(), key=lambda word: word[::-1])\n"
                "print(len(text), len(words), sum(counts.values()))\n"
            )

    def command(self, way):
        return [self.program, "-S", self.script]


class Gcc(Program):
    name = "gcc"
    what = "cc1 -O2 on generated C: not position independent, pools of its own"

    def prepare(self, folder, scale):
        self.program = subprocess.run(["gcc", "-print-prog-name=cc1"], capture_output=True, text=True,
                                      check=True).stdout.strip()
        self.source = os.path.join(folder, "work.c")
        numbers = random.Random(7)
        with open(self.source, "w", encoding="utf-8") as file:
            for i in range(max(int(100 * scale), 4)):
                a, b, c = (numbers.randrange(3, 999) for _ in range(3))
                file.write(
                    f"int f{i}(int *v, int n, int k)\n{{\n\tint s = {a};\n\tfor (int i = 0; i < n; i++) {{\n"
                    f"\t\tswitch (v[i] % 7) {{\n\t\tcase 0: s += v[i] * {b}; break;\n"
                    f"\t\tcase 1: s ^= k << (i & 7); break;\n\t\tcase 2: s -= i / {c}; break;\n"
                    f"\t\tcase 5: v[i] = s; break;\n\t\tdefault: s += {a} % (k | 1);\n\t\t}}\n\t}}\n"
                    f"\treturn {f'f{i - 1}(v, n - 1, s)' if i else 's'};\n}}\n"
                )

    def command(self, way):
        return [self.program, "-quiet", "-O2", self.source, "-o", "/dev/null"]


class Redis(Program):
    name = "redis"
    what = "redis-server under redis-benchmark (set, get, lpush, hset; pipelines of 16)"

    def prepare(self, folder, scale):
        self.requests = str(max(int(80000 * scale), 1000))
        # The server is the same file as the checker, and looks at its name; the package that has
        # the name would start a service.
        self.program = os.path.join(folder, "redis-server")
        os.symlink("/usr/bin/redis-check-rdb", self.program)

    def command(self, way):
        return [self.program, "--port", "0", "--unixsocket", "socket", "--save", "", "--logfile", "log",
                "--activedefrag", "no"]

    def run(self, runner, way, folder, memory=False):
        """The server's whole life is its processor's time; wall is that of the clients' work."""
        socket = os.path.join(folder, "socket")
        # Linked to jemalloc: glibc's malloc must be put in front of it.
        if way.over == "glibc":
            way = dataclasses.replace(way, preload=(*way.preload, "libc.so.6"))
        server = runner.launch(way, self.command(way), folder, memory)
        ask = ["redis-cli", "-s", socket]
        for _ in range(1200):
            if server.poll() is not None or "PONG" in subprocess.run(
                [*ask, "ping"], capture_output=True, text=True, check=False
            ).stdout:
                break
            time.sleep(0.02)
        start = time.monotonic()
        clients = subprocess.run(["redis-benchmark", "-s", socket, "-q", "-n", self.requests, "-P", "16", "-d", "100",
                                  "-r", "50000", "-t", "set,get,lpush,hset"], capture_output=True, text=True,
                                 check=False)
        wall = time.monotonic() - start
        subprocess.run([*ask, "shutdown", "nosave"], capture_output=True, check=False)
        run = runner.result(server, folder)
        run.wall = wall
        if not run.failure and clients.returncode != 0:
            run.failure = f"redis-benchmark: {clients.stdout[:80] or clients.stderr[:80]}"
        return run


PROGRAMS = {program.name: program for program in (Sqlite(), Python(), Gcc(), Redis())}
