# SPDX-License-Identifier: Apache-2.0
"""look.py WHAT ARGUMENT...: what tests of adapters ask of profiles; prints what is wrong and exits 1.

    lines PROFILE TRUTH FILE      live bytes of FILE's lines are those of TRUTH (JSON, line: bytes), exactly
    covered EXACT PROFILE...      estimates by function against a profile with an interval of 1
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


def lines(profile, truth, path):
    with open(truth, encoding="utf-8") as file:
        expected = {int(line): size for line, size in json.load(file).items()}
    found = {}
    for _, file, line, size in rows(
        profile, "sum(size)", "heap.name in ('python.mem', 'python.obj') and t_free is null"
    ):
        if file == path:
            found[line] = found.get(line, 0) + size
    wrong = [
        f"line {line}: {found.get(line, 0)} bytes, of which tracemalloc knows {expected.get(line, 0)}"
        for line in sorted(expected.keys() | found.keys())
        if expected.get(line, 0) != found.get(line, 0) and line not in EXEMPT
    ]
    total = sum(expected.values())
    if total < 10**6 or len(expected) < 15:
        wrong.append(f"only {total} bytes on {len(expected)} lines")
    return wrong


# Of compare() itself: what it makes after the moment of the one and before that of the other.
EXEMPT = set()


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
    # Nominal 95 %; four standard deviations of that many tries.
    least = 0.95 * tries - 4 * math.sqrt(0.95 * 0.05 * tries)
    print(f"{hits} of {tries} intervals hold the truth, at least {least:.0f} should")
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
    problems = {"lines": lines, "covered": covered}[sys.argv[2]](*sys.argv[3:])
    print(*problems[:20], sep="\n")
    sys.exit(bool(problems))
