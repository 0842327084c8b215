#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""RSS falls by what `geiger why` promises: a trim returns the row "returnable", and fewer arenas
return at most what their advice says.

GEIGER, KEEPER, LARGE_ROWS: the programs.
"""

import os
import re
import sys

from sentences import check, in_scratch
from session import Waiting, agent_environment, rss_bytes
from why import bytes_of, problems_of, why_of

KEEPER, LARGE_ROWS = os.environ["KEEPER"], os.environ["LARGE_ROWS"]
SLACK = 128 << 10  # pages that the program touches while it answers


def trims(shape, environment):
    with Waiting([KEEPER, shape, "1"], **environment) as program:
        answer = why_of(program.pid)
        before = rss_bytes(program.pid)
        program.ask("trim")
        fall, promised = before - rss_bytes(program.pid), bytes_of(answer, "returnable")
        check(f"a_trim_of_{shape}_returns_the_row_returnable", *problems_of(answer),
              None if abs(fall - promised) <= 0.05 * promised + SLACK
              else f"RSS fell by {fall}, {promised} was promised")


def bounds_fewer_arenas(environment):
    """With fewer arenas the program has no less RSS than the advice says."""
    with Waiting([LARGE_ROWS, "arenas"], **environment) as program:
        answer = why_of(program.pid)
    advices = [row["advice"] for row in answer["rows"] if "MALLOC_ARENA_MAX" in (row["advice"] or "")]
    match = re.search(r"([0-9]+) arenas beside the main one hold .* by ([0-9.]+) MiB at most", " ".join(advices))
    if not match:
        check("fewer_arenas_have_an_advice", f"{answer['rows']}")
        return
    with Waiting([LARGE_ROWS, "arenas"], **environment, MALLOC_ARENA_MAX="2") as program:
        fall = answer["rss_bytes"] - rss_bytes(program.pid)
    bound = float(match[2]) * 1.005 * (1 << 20)
    check("fewer_arenas_return_at_most_what_is_promised", None if int(match[1]) >= 16 else f"{match[1]} arenas",
          None if fall <= bound else f"RSS fell by {fall}, {bound:.0f} is the bound")


def main():
    folder = os.path.abspath("regions")
    os.mkdir(folder)
    environment = agent_environment(folder, "-i", "16k", "--seed", "1")
    for shape in ("sixty-fourth", "peak", "producers", "population", "large"):
        trims(shape, environment)
    bounds_fewer_arenas(environment)


if __name__ == "__main__":
    sys.exit(in_scratch(main))
