#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A recorder walks through a heap that is too large for the budget of a look, once the process has
been quiet for a while.  Then the profile has the same exact rows as a look at the process itself.

GEIGER, LARGE_ROWS: the programs.
"""

import json
import os
import subprocess
import sys
import time

from sentences import check, in_scratch
from session import GEIGER, Waiting
from why import problems_of, rest_problem, rows_of, why_of

LARGE_ROWS = os.environ["LARGE_ROWS"]
PROFILE = "quiet.geiger"
FREE = ("pinned", "returnable")


def is_exact(answer):
    return all(row["certainty"] == "exact" for name in FREE for row in rows_of(answer, name))


def wait_for_walk():
    """Waits for a look with exact rows.  Returns the reasons of the rest before, and that look."""
    details = set()
    end = time.monotonic() + 300
    while time.monotonic() < end:
        done = subprocess.run([GEIGER, "why", PROFILE, "--json"], check=False, capture_output=True, text=True)
        if done.returncode == 0:
            answer = json.loads(done.stdout)
            if is_exact(answer) and all(rows_of(answer, name) for name in FREE):
                return details, answer
            details |= {row["detail"] for row in rows_of(answer, "rest")}
        time.sleep(0.1)
    return details, None


def differences(left, right):
    return [f"{name}: {rows_of(left, name)}, {rows_of(right, name)}" for name in FREE
            if [row["bytes"] for row in rows_of(left, name)] != [row["bytes"] for row in rows_of(right, name)]]


def main():
    with Waiting([LARGE_ROWS, "arenas"], ["--seed", "1", "-o", PROFILE]) as program:
        details, answer = wait_for_walk()
        check("a_quiet_process_has_exact_rows_at_last", None if answer else f"no walk; the rest: {details}")
        if answer is None:
            return
        check("exact_rows_are_those_of_a_look_at_the_process", *differences(answer, why_of(program.pid)),
              *problems_of(answer), rest_problem(answer))
        program.end()
    check("the_end_keeps_exact_rows", *differences(answer, why_of(PROFILE)))


if __name__ == "__main__":
    sys.exit(in_scratch(main))
