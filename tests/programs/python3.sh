#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# python3 parses JSON, and keeps dictionaries, strings and objects.
#
# packages: python3.11-minimal
# modules: python3
# interval: 4k
# reason: Debian's python3 has names of its exported functions alone.
# shellcheck source=tests/programs/workload.sh
. "$(dirname "$0")/workload.sh"
needs /usr/bin/python3

cat >work.py <<'PYTHON'
import json
class Node:
    def __init__(self, name, children):
        self.name, self.children = name, children
def grow(depth):
    return Node(f"node {depth}", [grow(depth - 1) for _ in range(3)] if depth else [])
rows = [{"id": i, "name": f"name {i}", "tags": [i, i + 1]} for i in range(30000)]
again = json.loads(json.dumps(rows))
tree = grow(8)
index = {row["name"]: row for row in again}
print(len(index), flush=True)
import os
os._exit(0)
PYTHON
# Without -S, its start depends on the packages that a machine has.
PYTHONHASHSEED=0 record /usr/bin/python3 -I -S work.py >/dev/null
