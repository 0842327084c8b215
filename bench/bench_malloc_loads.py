#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench_malloc_loads.py [loads|programs|rest] [write] [NAME]... - libgeiger-malloc beside others.

  loads      works that each ask something else of an allocator (malloc_loads.c)
  programs   real programs with an allocator preloaded
  rest       what the process of a load has resident after three seconds of little work

Times are the processor's, user and system, of all threads and processes; wall-clock time stands
beside.  All allocators run in turns, and in another order in each round.  A ratio is the median of
the ratios of the rounds.  A peak is the median over the rounds, for the largest process.

Without an argument it prints all three as Markdown; `write` puts them into docs/BENCHMARKS.md, as
its last section.  NAMEs leave other works out.  BENCH_ROUNDS: rounds (5).  Variables from meson:
MALLOC_LOADS, GEIGER_MALLOC and GG_SOURCE.
"""

import concurrent.futures
import math
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import textwrap
import time

import debian_allocators

LOADS = os.environ["MALLOC_LOADS"]
OURS = os.environ["GEIGER_MALLOC"]
SOURCE = os.environ["GG_SOURCE"]
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "5"))
NAMES = (
    "numbers cubes pareto simple large text larson xmalloc scratch thrash mstress pareto_threads rptest"
    " glibc_thread batches_remote churn"
).split()

# libc by its name, before an allocator that a program is linked with.
PEERS = {"glibc": ("libc.so.6", {}), **{name: (path, {}) for name, path in debian_allocators.INSTALLED.items()}}
SAMPLED = "geiger 512k"
WAYS = {
    **PEERS,
    "geiger off": (OURS, {"GEIGER_ACTIVE": "0"}),
    SAMPLED: (OURS, {"GEIGER_INTERVAL": "512k"}),
}
BASE = "mimalloc" if "mimalloc" in PEERS else "glibc"
LOSS = 1.3  # a ratio to the best above it is named
INTRODUCTION = """
libgeiger-malloc ([MALLOC.md](MALLOC.md)) beside Debian's allocators, none of which profiles, as
each is preloaded. `bench/bench_malloc_loads.py write` makes this section. *geiger off* samples
nothing, *geiger 512k* is the default interval, and records its samples. All allocators run in
turns; a ratio is the median of the ratios of the rounds. bench/malloc_loads.c says what the loads
do; their threads share two processors, so the times of loads with threads vary most.

Each process under libgeiger-malloc has some 1 MiB of its own, and its region, which is why small
loads have high ratios of memory. `large` and `text` are losses: glibc and tcmalloc keep all memory
that a program ever had, and glibc lets the last block grow in place.
"""


class Run:
    """One run of a work: seconds of the processor and of the clock, and the peak of its memory."""

    def __init__(self, way, command, folder, input=None, variables=None, serve=None):
        library, own = WAYS[way]
        env = {k: v for k, v in os.environ.items() if not k.startswith("GEIGER_") and k != "LD_PRELOAD"}
        env.update(variables or {})
        regions = pathlib.Path(folder, "regions")
        regions.mkdir(exist_ok=True)
        env.update(own, GEIGER_DIR=str(regions), LC_ALL="C.UTF-8")
        used = os.path.join(folder, "used")
        output = open(os.path.join(folder, "output"), "w+b")
        begin = time.monotonic()
        child = subprocess.Popen(
            [LOADS, "run", used, library, *command],
            cwd=folder,
            env=env,
            stdin=open(input) if input else subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        if serve:
            serve(child)
        child.wait()
        self.wall_s = time.monotonic() - begin
        output.seek(0)
        self.output = output.read()
        output.close()
        if child.returncode != 0:
            sys.exit(f"{way}: {command}: exit status {child.returncode}: {self.output[-500:]}")
        with open(used) as file:
            cpu_s, peak_kib = file.read().split()
        self.cpu_s, self.peak_kib = float(cpu_s), int(peak_kib)
        for file in regions.iterdir():
            file.unlink()


SCRIPTS = {
    "work.lua": """
local state, kept = 1, {}
for i = 1, 900000 do
    state = (state * 1103515245 + 12345) % 2147483648
    kept[state % 20000] = { name = "item " .. state, values = { i, state }, next = kept[i % 20000] and i }
end
local words = {}
for i = 1, 300000 do words[#words + 1] = tostring(i * 7919 % 100003) end
table.sort(words)
print(#table.concat(words, ","))
""",
    "work.sql": """
create table t(a integer primary key, b text, c real);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 200000)
    insert into t select i, printf('row %d %s', i, hex(i * 7919)), i * 1.5 from n;
create index tb on t(b);
select count(*), sum(a), max(b) from t;
select count(*) from (select substr(b, 5, 3) k, group_concat(b) from t group by k);
select count(*) from t x join t y on x.b = y.b where x.a % 7 = 0;
select length(json_group_array(b)) from t;
delete from t where a % 3 = 0;
""",
    "work.py": """
import collections, json
words = collections.defaultdict(list)
for i in range(400000):
    words[str(i * 7919 % 50021)].append((i, "value %d" % i))
text = json.dumps(words)
print(len(text), len(json.loads(text)), sum(len(w) for w in sorted(words)))
class Node:
    def __init__(self, n, left, right): self.n, self.left, self.right = n, left, right
def grow(n): return Node(n, grow(n - 1), grow(n - 1)) if n else None
for i in range(6): grow(15)
""",
    "work.pl": """
my %words;
for my $i (1 .. 500000) { my $w = join '', map { chr(97 + ($i * $_) % 26) } 1 .. 4 + $i % 5; push @{$words{$w}}, "$i,"; }
my $text = join "\\n", map { $_ . join '', @{$words{$_}} } sort keys %words;
$text =~ s/(\\d+),(\\d+)/$2+$1/g;
print length $text, "\\n";
""",
    "work.rb": """
kept = {}
700_000.times { |i| kept["key #{i * 7919 % 30011}"] = [i, "value #{i}" * (1 + i % 4), { a: i }] }
words = kept.map { |k, v| "#{k}=#{v[1]}" }.sort
puts words.join(",").gsub(/\\d+/) { |m| (m.to_i + 1).to_s }.length
""",
    "work.ps": """%!PS
/random { 1103515245 mul 12345 add cvi 65535 and } bind def
1 1 12 { /page exch def
  /Helvetica findfont 9 scalefont setfont
  1 1 700 { /i exch def
    i 37 mul page add 560 mod 20 add i 61 mul 760 mod 20 add moveto
    (number ) show i 20 string cvs show
    i 13 mul 560 mod i 17 mul 760 mod moveto 20 30 40 -10 50 20 rcurveto stroke } for
  showpage } for
""",
}


def write_c(path):
    """150 functions that call each other."""
    with open(path, "w") as file:
        print("#include <stdio.h>\n#include <string.h>\nstruct s { int a[8]; double d; char text[32]; };", file=file)
        for i in range(400):
            cases = "".join(f"case {c}: x += s->a[{c}] * {i + c}; s->d *= 1.{c}; break; " for c in range(4))
            call = f"f{i - 1}(s, n - 1)" if i else "0"
            print(
                f"int f{i}(struct s *s, int n) {{ int x = {i}; for (int i = 0; i < n; i++) {{ s->a[i & 7] += i * n;"
                f' switch ((i ^ n) % 5) {{ {cases} default: snprintf(s->text, 32, "{i} %d", x); }} }}'
                f" return n > 0 && x % 3 ? x + {call} : (int)strlen(s->text); }}",
                file=file,
            )


def write_smt(path):
    """A sum of 12 bounded numbers and products that has solutions."""
    with open(path, "w") as file:
        print("(set-logic QF_BV)", file=file)
        for i in range(10):
            print(f"(declare-const x{i} (_ BitVec 24))", file=file)
        for i in range(9):
            print(f"(assert (bvult (bvmul x{i} x{i + 1}) (bvadd x{(i + 2) % 10} #x{i * 7919 + 40000:06x})))", file=file)
            print(f"(assert (distinct x{i} x{i + 1} (bvor x{(i + 3) % 10} #x000101)))", file=file)
        print("(check-sat)", file=file)


def redis_command(folder):
    """Debian's server is the file of its checker; its package would start a service."""
    server = os.path.join(folder, "redis-server")
    if not os.path.exists(server):
        os.symlink(shutil.which("redis-check-rdb"), server)
    return [server, "--port", "0", "--unixsocket", folder + "/socket", "--save", "", "--daemonize", "no"]


def serve_redis(folder):
    def serve(child):
        socket = folder + "/socket"

        def call(*words):
            return subprocess.run([words[0], "-s", socket, *words[1:]], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

        while call("redis-cli", "ping").returncode != 0:
            if child.poll() is not None:
                return
            time.sleep(0.05)
        call("redis-benchmark", "-q", "-n", "200000", "-P", "16", "-c", "20", "-r", "20000", "-d", "200", "-t", "set,lpush,hset")
        call("redis-benchmark", "-q", "-n", "2000", "-P", "16", "-c", "20", "-t", "lrange_600")
        call("redis-cli", "shutdown", "nosave")

    return serve


def programs(folder):
    """{name: arguments of Run()}, of those that are installed."""
    for name, text in SCRIPTS.items():
        pathlib.Path(folder, name).write_text(text)
    write_c(folder + "/work.c")
    write_smt(folder + "/work.smt2")
    subprocess.run(["gcc", "-E", folder + "/work.c", "-o", folder + "/work.i"], check=True)
    cc1 = subprocess.run(["gcc", "-print-prog-name=cc1"], capture_output=True, text=True).stdout.strip()
    known = {
        "lua5.4": (["lua5.4", "work.lua"], {}),
        "sqlite3": (["sqlite3", ":memory:"], {"input": folder + "/work.sql"}),
        "python3": (["/usr/bin/python3", "work.py"], {"variables": {"PYTHONMALLOC": "malloc"}}),
        "perl": (["perl", "work.pl"], {}),
        "ruby": (["ruby", "work.rb"], {}),
        "gs": (["gs", "-q", "-sDEVICE=pdfwrite", "-o", "out.pdf", "work.ps"], {}),
        "cc1": ([cc1, "-quiet", "-fpreprocessed", "-O2", "work.i", "-o", "out.s"], {}),
        "z3": (["z3", "work.smt2"], {}),
        "git": (["git", "-C", SOURCE, "log", "--stat", "--no-color", "-n", "400"], {}),
        "convert": (["convert", "-size", "1200x1200", "plasma:red-blue", "-blur", "0x2", "-resize", "50%", "out.png"], {}),
    }
    if shutil.which("redis-check-rdb") and shutil.which("redis-benchmark"):
        known["redis"] = (redis_command(folder), {"serve": serve_redis(folder)})
    works = {}
    for name, (command, more) in known.items():
        if shutil.which(command[0]) and (name != "git" or os.path.exists(SOURCE + "/.git")):
            works[name] = (command, more)
        else:
            print(f"(without {name}: it is not installed)")
    return works


def measure(works, folder):
    """{work: {way: [runs]}}, in turns."""
    runs = {work: {way: [] for way in WAYS} for work in works}
    for number in range(ROUNDS):
        for work, (command, more) in works.items():
            ways = list(WAYS)
            ways = ways[number % len(ways) :] + ways[: number % len(ways)]
            for way in ways:
                runs[work][way].append(Run(way, command, folder, **more))
            print(f"round {number + 1} of {ROUNDS}: {work}", file=sys.stderr, flush=True)
    return runs


def ratio(by_way, way, base, member):
    return statistics.median(getattr(a, member) / getattr(b, member) for a, b in zip(by_way[way], by_way[base]))


def median(runs, member):
    return statistics.median(getattr(run, member) for run in runs)


def geometric_mean(values):
    return math.exp(statistics.fmean(map(math.log, values)))


lines = []  # of the section


def say(text=""):
    lines.append(text)
    print(text, flush=True)


def say_table(heads, rows):
    say("| " + " | ".join(heads) + " |")
    say("|-" * len(heads) + "|")
    for row in rows:
        say("| " + " | ".join(row) + " |")


def say_ratios(runs, title, member, unit, scale, base):
    """Ratios to `base`, and those of our own to the best peer of each work."""
    others = [way for way in WAYS if way != base]
    ratios = {way: [] for way in (*others, "best")}
    rows, losses = [], []
    for work, by_way in runs.items():
        best = min(PEERS, key=lambda way: median(by_way[way], member))
        for way in others:
            ratios[way].append(ratio(by_way, way, base, member))
        ratios["best"].append(ratio(by_way, SAMPLED, best, member))
        if ratios["best"][-1] > LOSS:
            losses.append(f"{work} ({ratios['best'][-1]:.2f})")
        rows.append([work, f"{median(by_way[base], member) * scale:.2f}"])
        rows[-1] += [f"{ratios[way][-1]:.2f}" for way in others] + [f"{ratios['best'][-1]:.2f} ({best})"]
    means = [f"{geometric_mean(values):.3f}" for values in ratios.values()]
    say(f"\n{title}:\n")
    say_table(["", f"{base}, {unit}", *others, f"{SAMPLED} to the best"], [*rows, ["geometric mean", "", *means]])
    if member != "wall_s":
        say("\n" + textwrap.fill(f"Above {LOSS} of the best: {', '.join(losses) or 'none'}.", 100))


def say_all(runs, what):
    say(f"\n### {what}\n\n{ROUNDS} rounds; the machine had a load of {os.getloadavg()[0]:.0f} from other work.")
    say_ratios(runs, f"Processor's time, as ratios to {BASE}", "cpu_s", "s", 1, BASE)
    say_ratios(runs, f"Wall-clock time, as ratios to {BASE}", "wall_s", "s", 1, BASE)
    say_ratios(runs, "Resident memory at the peak, as ratios to glibc", "peak_kib", "MiB", 1 / 1024, "glibc")


def say_rest(names, folder):
    ratios, rows = [], []

    def rest_of(way, name):
        own = os.path.join(folder, way.replace(" ", "-"))
        os.makedirs(own, exist_ok=True)
        return int(Run(way, [LOADS, name, "rest"], own).output) / 1024

    for name in names:
        # At once, since they sleep most of the time.
        with concurrent.futures.ThreadPoolExecutor(len(WAYS)) as pool:
            mib = dict(zip(WAYS, pool.map(lambda way: rest_of(way, name), WAYS)))
        ratios.append(mib[SAMPLED] / min(mib[way] for way in PEERS))
        rows.append([name, *(f"{mib[way]:.1f}" for way in WAYS), f"{ratios[-1]:.2f}"])
    say("\n### At rest\n\nResident MiB after three seconds of little work, when all blocks of a load are free:\n")
    mean = [f"{geometric_mean(ratios):.3f}"]
    say_table(["", *WAYS, f"{SAMPLED} to the best"], [*rows, ["geometric mean", *[""] * len(WAYS), *mean]])


HEADING = "\n## Allocators\n"


def write_section():
    path = pathlib.Path(SOURCE, "docs", "BENCHMARKS.md")
    page = path.read_text().partition(HEADING)[0]
    path.write_text(page + HEADING + INTRODUCTION + "\n".join(lines) + "\n")


def main():
    parts = ("loads", "programs", "rest")
    asked = [word for word in sys.argv[1:] if word in parts] or parts
    only = [word for word in sys.argv[1:] if word not in (*parts, "write")]
    # Not on a disk: a region is a file.
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        names = [name for name in NAMES if not only or name in only]
        if "loads" in asked:
            works = {name: ([LOADS, name], {}) for name in names}
            say_all(measure(works, folder), "Loads")
        if "programs" in asked:
            works = {name: work for name, work in programs(folder).items() if not only or name in only}
            say_all(measure(works, folder), "Programs")
        if "rest" in asked:
            say_rest(names, folder)
    if "write" in sys.argv:
        write_section()


if __name__ == "__main__":
    main()
