# SPDX-License-Identifier: Apache-2.0
"""compare_walks.py PROFILE FILE LEAST [malloc] - the stacks of walks.py in the profile are those in
FILE.

Exits 1 if one differs, or if fewer than LEAST of those blocks are samples.  With "malloc" these are
blocks of malloc, and native frames stand at the right places: each frame of the interpreter's loop
has a frame of Python inside, and each run of Python's frames lies inside a frame of the loop.
"""

import json
import sqlite3
import sys

# The outermost of the functions that are inlined into a frame has the greatest depth.
FRAMES = """
    select line.frame, symbol.file, line.line, symbol.function, module.path is symbol.file
    from line join symbol on symbol.id = line.symbol join frame on frame.id = line.frame
    join module on module.id = frame.module order by line.frame, line.depth
"""


class Stacks:
    """Reads them once: a query for each sample would take longer than the recording."""

    def __init__(self, db):
        self._frames = {row[0]: row[1:] for row in db.execute(FRAMES)}
        self._stacks = {number: (parent, frame) for number, parent, frame in db.execute("select id, parent, frame from stack")}

    def frames_of(self, stack):
        """From the innermost on."""
        frames = []
        while stack is not None:
            stack, frame = self._stacks[stack]
            if frame in self._frames:
                frames.append(self._frames[frame])
        return frames


def is_loop(frame):
    return frame[2].startswith("_PyEval_EvalFrameDefault")


def own_part(frames):
    """The stack of the greenlet that runs: outside of it are loops whose Python frames rest."""
    for i, frame in enumerate(frames):
        if frame[2].startswith("greenlet::"):
            return frames[: i + 1]
    return frames


def are_places_right(frames):
    """Whether Python's frames stand inside the loop's, in a stack from the innermost on."""
    frames = own_part(frames)
    for i, (_, _, _, is_python) in enumerate(frames):
        if is_python and i + 1 < len(frames) and not frames[i + 1][3] and not is_loop(frames[i + 1]):
            return False
        if is_loop(frames[i]) and (i == 0 or not frames[i - 1][3]):
            return False
    return not frames[0][3] and not frames[-1][3]


def main():
    profile, path, least = sys.argv[1:4]
    of_malloc = sys.argv[4:] == ["malloc"]
    db = sqlite3.connect(f"file:{profile}?mode=ro", uri=True)
    with open(path, encoding="utf-8") as file:
        expected = json.load(file)
    samples = dict(
        db.execute(
            "select address, stack from sample left join heap on heap.id = sample.heap"
            " where (heap.name is null and ?1 or heap.name = 'python.obj' and not ?1) and t_free is null",
            (of_malloc,),
        )
    )
    stacks = Stacks(db)
    wrong = compared = 0
    for address, frames in expected:
        if address not in samples:
            continue
        compared += 1
        stack = stacks.frames_of(samples[address])
        found = [list(frame[:2]) for frame in stack if frame[3]]
        if found != frames or (of_malloc and not are_places_right(stack)):
            wrong += 1
            if wrong <= 3:
                print(f"{address:#x}:\n  found    {found}\n  expected {frames}\n  stack    {stack}")
    print(f"{compared} of {len(expected)} blocks are samples, {wrong} stacks differ")
    sys.exit(wrong > 0 or compared < int(least))


main()
