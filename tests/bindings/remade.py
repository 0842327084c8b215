# SPDX-License-Identifier: Apache-2.0
"""remade.py - makes functions of one shape, one after the other, at the address of the one before.

Their texts differ in where an empty line is: a part of the table of lines has the difference.
Prints how often each line has allocated.
"""

import gc


def text_of(empty):
    lines = [f"    x{i:02} = n" for i in range(60)]
    lines[40] = "    x40 = bytes(3000000)"
    lines.insert(empty, "")
    return "\n".join(["def made(n):", *lines]) + "\n"


found = {42: 0, 43: 0}
for turn in range(80):
    before = 30 + turn % 20
    names = {}
    exec(compile(text_of(before), "made.py", "exec"), names)
    names["made"](1)
    del names
    gc.collect()
    found[43 if before <= 40 else 42] += 1
for line, count in found.items():
    print(f"made.py:{line} {count}")
