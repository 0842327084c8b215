# SPDX-License-Identifier: Apache-2.0
"""look.py WHAT ARGUMENT... - checks profiles for tests of adapters; prints errors and exits 1.

    lines PROFILE TRUTH FILE      live bytes of FILE's lines are those of TRUTH (JSON, line: bytes)
    covered EXACT PROFILE...      estimates by function against a profile with an interval of 1
    functions PROFILE TRUTH       bytes by function are those of TRUTH (lines of "function bytes")
"""

import json
import math
import sqlite3
import subprocess
import sys

GEIGER = None

INNERMOST = """
    select symbol.function, symbol.file, line.line, {what}
    from sample join stack on stack.id = sample.stack
    join line on line.frame = stack.frame and line.depth = 0
    join symbol on symbol.id = line.symbol
    join heap on heap.id = sample.heap
    where {where} group by 1, 2, 3
"""


def rows(profile, what, where):
    db = sqlite3.connect(f"file:{profile}?mode=ro", uri=True)
    return db.execute(INNERMOST.format(what=what, where=where)).fetchall()


# A list or float that comes from a free list of Python is the new owner's for tracemalloc, and its
# allocator's for geiger: its block was never given back.
FREE_LISTS = 512


def lines(profile, truth, path):
    with open(truth, encoding="utf-8") as file:
        expected = {int(line): size for line, size in json.load(file).items()}
    found = {}
    where = "heap.name in ('python.mem', 'python.obj') and t_free is null"
    for function, file, line, size in rows(profile, "sum(size)", where):
        # Those ran before tracemalloc began to look.
        if file == path and function not in ("<module>", "Node", "Plain"):
            found[line] = found.get(line, 0) + size
    wrong = []
    for line in sorted(expected.keys() | found.keys()):
        known, ours = expected.get(line, 0), found.get(line, 0)
        if abs(known - ours) > FREE_LISTS:
            wrong.append(f"line {line}: {ours} bytes, of which tracemalloc knows {known}")
    # All that a smaller line has may come from free lists.
    large = {line: size for line, size in expected.items() if size > FREE_LISTS}
    exact = sum(found.get(line) == size for line, size in large.items())
    total = sum(expected.values())
    print(f"{total} bytes on {len(expected)} lines, {exact} of the {len(large)} large ones to the byte")
    if total < 10**6 or len(large) < 12 or exact < len(large) - 3:
        wrong.append("that is not enough")
    return wrong


def functions(profile, truth):
    with open(truth, encoding="utf-8") as file:
        expected = dict(line.split() for line in file)
    found = {}
    for function, _, _, size in rows(profile, "sum(size)", "heap.name = 'lua' and t_free is null"):
        found[function] = found.get(function, 0) + size
    return [
        f"{name}: {found.get(name, 0)} bytes, expected {size}"
        for name, size in expected.items()
        if found.get(name, 0) != int(size)
    ]


def fewest_hits(tries, share, alpha):
    """By the binomial law.  It is skewed: four standard deviations occur once in 2000 times."""
    hits = sum_ = 0
    while hits < tries:
        sum_ += math.comb(tries, hits) * share**hits * (1 - share) ** (tries - hits)
        if sum_ > alpha:
            break
        hits += 1
    return hits


def covered(exact, *profiles):
    truth = {}
    for function, file, _, size in rows(exact, "sum(size)", "heap.name like 'python.%' or heap.name = 'lua'"):
        truth[function, file] = truth.get((function, file), 0) + size
    largest = sorted(truth, key=truth.get)[-8:]
    tries = hits = 0
    wrong = []
    for profile in profiles:
        answer = subprocess.run(
            [GEIGER, "sql", "--csv", profile, INTERVALS], check=True, capture_output=True, text=True
        ).stdout
        bounds = {}
        for row in answer.splitlines()[1:]:
            function, file, low, high = row.rsplit(",", 3)
            bounds[function.strip('"'), file.strip('"')] = float(low), float(high)
        for place in largest:
            low, high = bounds.get(place, (0, math.inf))
            tries += 1
            hits += low <= truth[place] <= high
            if not low <= truth[place] <= high:
                wrong.append(f"{profile}: {place}: {truth[place]} is not in {low:.0f}..{high:.0f}")
    # Nominal 95 %; fewer come by chance once in 10^8 times.  The seeds are fixed, the machine is
    # not.
    least = fewest_hits(tries, 0.95, 1e-8)
    print(f"{hits} of {tries} intervals hold the truth, at least {least} should")
    return wrong if hits < least else []


INTERVALS = """
    select symbol.function, symbol.file,
      gg_bytes_low(sample.scheme, sample.interval, sample.offset, sample.marks, sample.size) as low,
      gg_bytes_high(sample.scheme, sample.interval, sample.offset, sample.marks, sample.size) as high
    from sample join stack on stack.id = sample.stack
    join line on line.frame = stack.frame and line.depth = 0
    join symbol on symbol.id = line.symbol
    join heap on heap.id = sample.heap
    where heap.name like 'python.%' or heap.name = 'lua' group by 1, 2
"""


if __name__ == "__main__":
    GEIGER = sys.argv[1]
    problems = {"lines": lines, "covered": covered, "functions": functions}[sys.argv[2]](*sys.argv[3:])
    print(*problems[:20], sep="\n")
    sys.exit(bool(problems))
