# SPDX-License-Identifier: Apache-2.0
"""compare_types.py PROFILE FILE - compares types of samples with those in FILE (typed_objects.py).

It exits with 1 if a type differs, if over 5 % of the objects have no type, or if temporary ones
lack it.  The profile has an interval of 1.  Most floats have no type here: complex() made and
freed them first, and Python's free list overwrote the type before the next sample.
"""

import json
import sqlite3
import sys

# An object may have two heads of 16 bytes before it.
HEADS = (0, 16, 32)


def main():
    profile, path = sys.argv[1:]
    db = sqlite3.connect(f"file:{profile}?mode=ro", uri=True)
    with open(path, encoding="utf-8") as file:
        expected = json.load(file)
    rows = db.execute(
        "select address, size, type.name, t_free is null from sample join heap on heap.id = sample.heap"
        " left join type on type.id = sample.type where heap.name = 'python.obj'"
    ).fetchall()
    live = {address: (size, name) for address, size, name, is_live in rows if is_live}
    wrong, told, untold = [], 0, 0
    for address, name in expected:
        block = next((address - head for head in HEADS if address - head in live), None)
        if block is None:
            continue  # of a free list, or made before the first sample
        found = live[block][1]
        told += found is not None
        untold += found is None
        if found is not None and found.rpartition(".")[2] != name:
            wrong.append(f"{address:#x}: {found}, expected {name}")
    gone = sum(name == "Gone" and not is_live for _, _, name, is_live in rows)
    print(f"{told} types told, {len(wrong)} wrong, {untold} untold; {gone} temporary objects")
    print(*wrong[:5], sep="\n")
    sys.exit(bool(wrong) or told < 4000 or untold * 19 > told or gone < 495)


main()
