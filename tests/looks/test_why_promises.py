#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""RSS falls by what `geiger why` promises: a trim returns the row "returnable".

GEIGER, KEEPER: the programs.
"""

import os
import sys

from sentences import check, in_scratch
from session import Waiting, agent_environment, rss_bytes
from why import bytes_of, problems_of, why_of

KEEPER = os.environ["KEEPER"]
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


def main():
    folder = os.path.abspath("regions")
    os.mkdir(folder)
    environment = agent_environment(folder, "-i", "16k", "--seed", "1")
    for shape in ("sixty-fourth", "peak", "producers", "population", "large"):
        trims(shape, environment)


if __name__ == "__main__":
    sys.exit(in_scratch(main))
