#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`geiger why` knows the object arenas of Python, as Python's own statistics do.

GEIGER: the program.
"""

import os
import re
import subprocess
import sys

from sentences import check, in_scratch, skip
from session import agent_environment
from why import problems_of, rest_problem, rows_of, why_of

ARENAS = "object arenas of Python"
# Many objects, of which each second one is freed, and larger blocks of malloc() between arenas.
PROGRAM = """
import sys
kept = []
for part in range(8):
    kept.append([str(number) * 2 for number in range(40000)])
    kept.append(bytearray(200000))
for objects in kept[::2]:
    del objects[::2]
sys._debugmallocstats()
sys.stderr.flush()
print("ready", flush=True)
input()
"""


def own_numbers(text):
    """Python's statistics in bytes: what blocks and headers use, and all arenas."""
    def number(what):
        return int(re.search(rf"{what} *= *([0-9,]+)", text)[1].replace(",", ""))

    used = ("in allocated blocks", "lost to pool headers", "lost to quantization")
    return {"used": sum(number(f"# bytes {name}") for name in used), "free": number("# bytes in available blocks"),
            "arenas": number("arenas [*] [0-9]+ bytes/arena")}


def look_at(name, environment):
    python = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable
    with subprocess.Popen([python, "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, env={**os.environ, **environment}) as child:
        child.stdout.readline()
        answer = why_of(child.pid)
        text = child.communicate("\n")[1]
    if "bytes/arena" not in text:
        skip(f"arenas_are_known_{name}", "this Python has another allocator")
        return
    own = own_numbers(text)
    rows = [row for row in rows_of(answer, "mappings") if row["detail"].startswith(ARENAS)]
    found = sum(row["bytes"] for row in rows)
    print(f"Python: {own}, geiger: {found:.0f}, {[row['detail'] for row in rows]}")
    check(f"the_rows_add_up_{name}", *problems_of(answer))
    check(f"the_arenas_have_one_row_{name}", None if len(rows) == 1 else str(answer["rows"]))
    least = own["used"] + own["free"]
    # The last pages of a pool may be untouched.
    check(f"the_row_has_all_pools_of_python_{name}",
          None if 0.98 * least <= found <= own["arenas"] else f"{found}, Python has {own}")
    check(f"the_row_says_what_helps_{name}",
          None if any("PYTHONMALLOC=malloc" in (row["advice"] or "") for row in rows) else str(rows))
    if environment:
        others = sum(row["bytes"] for row in rows_of(answer, "mappings")) - found
        check("blocks_of_malloc_between_arenas_are_no_mappings", None if others <= 1 << 20 else str(answer["rows"]))
        check("nearly_nothing_is_left", rest_problem(answer))


def without_arenas(environment):
    """If malloc() serves objects, Python has no arenas."""
    program = "kept = [str(number) * 2 for number in range(40000)]; print(flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                          env={**os.environ, **environment, "PYTHONMALLOC": "malloc"}) as child:
        child.stdout.readline()
        answer = why_of(child.pid)
        child.communicate("\n")
    rows = [row for row in rows_of(answer, "mappings") if row["detail"].startswith(ARENAS)]
    check("without_pools_no_row_names_them", None if not rows else str(rows))


def main():
    folder = os.path.abspath("regions")
    os.mkdir(folder)
    # As with a release that the adapter does not know.
    os.environ["GEIGER_PYTHON"] = "0"
    environment = agent_environment(folder, "-i", "8k", "--seed", "1")
    look_at("without_the_agent", {})
    look_at("with_the_agent", environment)
    without_arenas(environment)


if __name__ == "__main__":
    sys.exit(in_scratch(main))
