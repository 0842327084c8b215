# SPDX-License-Identifier: Apache-2.0
"""compare_walks.py PROFILE FILE LEAST - the stacks of walks.py in the profile are those in FILE.

Exits 1 if one differs, or if fewer than LEAST of those blocks are samples.
"""

import json
import sqlite3
import sys

FRAMES = """
    with recursive up(sample, parent, frame, level) as (
      select sample.id, stack.parent, stack.frame, 0 from sample join stack on stack.id = sample.stack
        where sample.id = ?
      union all
      select sample, stack.parent, stack.frame, level + 1 from up join stack on stack.id = up.parent)
    select symbol.file, line.line from up join line on line.frame = up.frame and line.depth = 0
    join symbol on symbol.id = line.symbol order by level
"""


def main():
    profile, path, least = sys.argv[1:]
    db = sqlite3.connect(f"file:{profile}?mode=ro", uri=True)
    with open(path, encoding="utf-8") as file:
        expected = json.load(file)
    samples = dict(
        db.execute(
            "select address, sample.id from sample join heap on heap.id = sample.heap"
            " where heap.name = 'python.obj' and t_free is null"
        )
    )
    wrong = compared = 0
    for address, frames in expected:
        if address not in samples:
            continue
        compared += 1
        found = [list(frame) for frame in db.execute(FRAMES, (samples[address],))]
        if found != frames:
            wrong += 1
            if wrong <= 3:
                print(f"{address:#x}:\n  found    {found}\n  expected {frames}")
    print(f"{compared} of {len(expected)} blocks are samples, {wrong} stacks differ")
    sys.exit(wrong > 0 or compared < int(least))


main()
