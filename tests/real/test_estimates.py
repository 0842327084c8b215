#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Estimates of real programs hold the truth as often as they say.

Each program does the same in every run.  It is recorded with everything counted, twice, and then
sampled with several seeds.  Groups are functions (by what they asked for themselves) and stacks,
live at the end and allocated, in bytes: within a kind no allocation is in two groups, and samples
are drawn independently, so the misses of a kind are a sum of independent coins.  A group that the
report shows is missed if its interval does not hold the truth; one that it does not show, if that
holds more than the report says of what was never sampled.

Bounds   Intervals hold the truth in 94.5 % at least (docs/ESTIMATION.md, "Measured coverage"): of n
         groups so many are missed at most as the binomial law has but once in 10^8 times.  Seeds
         are fixed, but each machine has programs of its own.
Groups   These expect half a sample or more: smaller ones are hit by their bound nearly always,
         which would hide misses.  Groups that differ between the two counted runs by more than a
         thousandth are left out, and may be a tenth of the bytes; else the truth is what lies
         between the two.
Runs     They have the same addresses: gcc grows tables by hashes of them, and a quarter of its
         bytes is one function's.  On a machine that does not allow it, groups may differ by a
         tenth.

GEIGER is the program.
"""

import json
import math
import os
import shutil
import subprocess
import sys
import tempfile

GEIGER = os.environ["GEIGER"]
SEEDS = 8
INTERVAL = 16384

SQL = """CREATE TABLE song (id INTEGER PRIMARY KEY, title TEXT, seconds REAL);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30000)
INSERT INTO song SELECT i, printf('%08x of %d', i * 2654435761 % 4294967296, i), i % 600 FROM n;
CREATE INDEX song_title ON song (title);
.shell kill -9 $PPID
"""
WORDS = """import collections, os, random
random.seed(1)
words = ["".join(random.choices("abcdefgh", k=6)) for _ in range(10000)]
index = collections.defaultdict(list)
for number, word in enumerate(words):
    index[word].append((number, word.upper()))
os._exit(0)  # with all that is live
"""
CODE = "".join(f"int f{i}(int *a, int n)\n{{\n\tint s = {i};\n\tfor (int j = 0; j < n; j++)\n"
               f"\t\ts += a[j] > j ? a[j] * {i} : j;\n\treturn s;\n}}\n" for i in range(60))
# No sorted sets: those draw the sizes of their nodes.  A server that is not listening yet refuses
# the client, and has allocated nothing for it.
LOAD = "".join(f"set key:{i} {'x' * (1 + i * 37 % 900)}\r\nhset hash:{i % 300} field:{i} {i}\r\n"
               f"rpush list:{i % 50} {'y' * (1 + i * 11 % 200)}\r\nsadd set:{i % 20} member:{i}\r\n" for i in range(10000))
REDIS = """./redis-server --port 0 --unixsocket redis.sock --save '' --slowlog-log-slower-than -1 >/dev/null 2>&1 &
server=$!
unset LD_PRELOAD
for try in $(seq 2000); do
	redis-cli -s redis.sock --pipe <load.redis >/dev/null 2>&1 && break
	sleep 0.05
done
kill -9 $server
wait
rm redis.sock
"""
PROGRAMS = {
    "sqlite3": ["sh", "-c", "exec sqlite3 < load.sql"],
    "python3": ["env", "PYTHONMALLOC=malloc", "PYTHONHASHSEED=0", "/usr/bin/python3", "-s", "words.py"],
    "redis-cli": ["sh", "redis.sh"],
    "gcc": ["gcc", "-O2", "-pipe", "-S", "-o", "code.s", "code.c"],
}


# Addresses are the same each time; []: they cannot be, in some containers.
SAME_ADDRESSES = ["setarch", "-R"]
try:
    subprocess.run([*SAME_ADDRESSES, "true"], check=True, stderr=subprocess.DEVNULL)
except (OSError, subprocess.CalledProcessError):
    SAME_ADDRESSES = []


def record(path, options, command):
    # Totals are the region's, and exact whatever history a full ring has lost.
    subprocess.run([GEIGER, "record", "-q", "-o", path, *options, "--", *SAME_ADDRESSES, *command],
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)


def report(path, metric, by):
    out = subprocess.run([GEIGER, "report", path, "--json", "--limit", "0", "--metric", metric, "--by", by],
                         check=True, capture_output=True, text=True).stdout
    return json.loads(out)


def groups(of, by):
    """The bytes of each group, or their interval; several rows may have the same name."""
    sums = {}
    for row in of["rows"]:
        if by == "function":
            name = (row["module"], row["function"])
        else:
            name = tuple((place["module"], place["function"], place.get("line")) for place in row["stack"])
        one = row["self"]
        if name in sums:
            sums[name] = None  # what is called alike is not one group
        elif one["estimate"] is not None:
            sums[name] = (one["low"], one["high"])
    return {name: range_ for name, range_ in sums.items() if range_}


def truth_of(metric, by):
    first, second = (groups(report(path, metric, by), by) for path in ("one.geiger", "two.geiger"))
    same = {}
    for name, (one, _) in first.items():
        other = second.get(name, (0, 0))[0]
        if abs(one - other) < max(one, other) / (1000 if SAME_ADDRESSES else 10):
            same[name] = (min(one, other), max(one, other))
    everything = sum(low for low, _ in first.values())
    return same, sum(low for low, _ in same.values()) / max(everything, 1)


def most_missed(count, share, alpha):
    """How many of `count` groups may be missed, each with the probability `share` at most: more are
    only with the probability alpha."""
    missed, rest = count, 0.0
    while missed > 0:
        rest += math.exp(math.lgamma(count + 1) - math.lgamma(missed + 1) - math.lgamma(count - missed + 1)
                         + missed * math.log(share) + (count - missed) * math.log1p(-share))
        if rest > alpha:
            break
        missed -= 1
    return missed


def check(name, command):
    for path in ("one.geiger", "two.geiger"):
        record(path, ["--scheme", "per-allocation", "-i", "1"], command)
    truths = {(metric, by): truth_of(metric, by) for metric in ("left", "allocated") for by in ("function", "stack")}
    seen = {kind: [0, 0] for kind in truths}
    for seed in range(1, SEEDS + 1):
        record("sampled.geiger", ["-i", str(INTERVAL), "--seed", str(seed)], command)
        for (metric, by), (truth, _) in truths.items():
            sampled = report("sampled.geiger", metric, by)
            shown = groups(sampled, by)
            for group, (least, most) in truth.items():
                # p of a block is at most size / interval.
                if least < INTERVAL / 2:
                    continue
                low, high = shown.get(group, (0, sampled["unseen_bytes"]))
                seen[metric, by][0] += 1
                seen[metric, by][1] += not low <= most * (1 + 1e-9) or not least * (1 - 1e-9) <= high
    failed = 0
    for (metric, by), (count, missed) in seen.items():
        allowed = most_missed(count, 0.055, 1e-8)
        share = truths[metric, by][1]
        sentence = f"{name}_{metric}_bytes_by_{by}_are_within_their_intervals"
        text = f"{missed} of {count} missed, {allowed} allowed; {100 * share:.0f} % of the bytes are the same each time"
        # Anything else is no evidence.
        good = missed <= allowed and share > 0.9 and count >= SEEDS
        failed += not good
        print(f"{'ok' if good else 'FAILED'} - {sentence}" if good else f"{text}\nFAILED - {sentence}")
        print(f"  {text}")
    return failed > 0


def main():
    failed = False
    with tempfile.TemporaryDirectory(prefix="estimates-") as scratch:
        os.chdir(scratch)
        for name, text in (("load.sql", SQL), ("words.py", WORDS), ("code.c", CODE), ("load.redis", LOAD), ("redis.sh", REDIS)):
            with open(name, "w", encoding="ascii") as file:
                file.write(text)
        # The server is the same file as the checker, and looks at its name.
        os.symlink(shutil.which("redis-check-rdb") or "/nowhere", "redis-server")
        for name, command in PROGRAMS.items():
            if shutil.which(name):
                failed |= check(name, command)
            else:
                print(f"skipped - {name}_is_within_its_intervals: it is not installed")
        os.chdir("/")
    return failed


if __name__ == "__main__":
    sys.exit(main())
