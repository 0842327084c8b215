#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The truth that the tests of looks compare with is that of the kernel: malloc_trim(0) and freeing
give back what the walk says.

GEIGER, KEEPER: the programs.
"""

import os
import subprocess
import sys

from sentences import check, status
from session import Waiting, rss_bytes

KEEPER = os.environ["KEEPER"]
SLACK = 128 << 10  # pages that the program touches while it answers


def far(name, fall, promised, share=0.05):
    """A problem if RSS fell by another amount than was promised."""
    is_near = abs(fall - promised) <= share * promised + SLACK
    return None if is_near else f"{name}: RSS fell by {fall}, {promised:.0f} was promised"


def trims(shape):
    with Waiting([KEEPER, shape, "1"]) as program:
        program.truth()  # touches what a walk needs
        roles, totals = program.truth()
        before = rss_bytes(program.pid)
        program.ask("trim")
        check(f"a_trim_of_{shape}_returns_what_the_walk_calls_returnable",
              far(shape, before - rss_bytes(program.pid), totals["returnable"]))
        listed = sum(role.pinned for role in roles.values())
        check(f"shares_of_{shape}_add_up_to_what_is_pinned",
              None if abs(listed + totals["other-pinned"] - totals["pinned"]) < 1 else f"{listed} of {totals}")
        after = program.truth()[1]
        # Blocks that were cached are free after a trim, and pin nothing any more.
        check(f"a_trim_of_{shape}_leaves_nothing_more_to_return_than_first_pages_of_gaps",
              None if after["returnable"] <= 0.02 * totals["walked"] + SLACK else str(after))


def frees_the_guilty():
    """The survivors among requests have their pages for themselves."""
    with Waiting([KEEPER, "guilty", "2"]) as program:
        roles = program.truth()[0]
        program.ask("trim")
        before = rss_bytes(program.pid)
        program.ask("free 0")
        program.ask("trim")
        index = roles["keep_index"]
        check("freeing_survivors_returns_their_blocks_and_what_they_pin",
              far("keep_index", before - rss_bytes(program.pid), index.usable + index.pinned))
        check("others_pin_nothing",
              *(f"{name}: {role}" for name, role in roles.items() if name != "keep_index" and role.pinned > SLACK))


def main():
    shapes = subprocess.run([KEEPER], check=True, capture_output=True, text=True).stdout.split()
    check("there_are_shapes", None if len(shapes) >= 8 else str(shapes))
    for shape in shapes:
        trims(shape)
    frees_the_guilty()
    return status()


if __name__ == "__main__":
    sys.exit(main())
