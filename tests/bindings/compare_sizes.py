# SPDX-License-Identifier: Apache-2.0
"""compare_sizes.py REPORT FILE - compares live memory by type with Python's own (sized_types.py).

REPORT is that of `geiger report --by type --metric live --json` at an interval of 1, so each block
is there.  It exits with 1 if a type has another number of bytes.  The last object before the end
may lack its type, as may one whose block the adapter could not read.
"""

import json
import sys

MISSING = 2  # objects of a type


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        rows = {row["type"]: row["total"]["estimate"] for row in json.load(file)["rows"]}
    with open(sys.argv[2], encoding="utf-8") as file:
        held = json.load(file)
    wrong = []
    for name, (number, size) in sorted(held.items()):
        found = rows.get(name, 0)
        if not size - MISSING * size / number <= found <= size:
            wrong.append(f"{name}: {found} bytes, expected {size} of {number} objects")
    print(f"{len(held)} types with {sum(number for number, _ in held.values())} objects, {len(wrong)} wrong")
    print(*wrong, sep="\n")
    sys.exit(bool(wrong) or len(held) != 7)


main()
