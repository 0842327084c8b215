#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A program over jemalloc answers while it takes samples.  The last answer of an idle program
counts if the heap is still the same.  Otherwise geiger says why the program gave no answer.  No
answer is wrong.

GEIGER, KEEPER, JEMALLOC: the programs, and the library; empty: it is not installed.
"""

import json
import os
import subprocess
import sys
import time

from sentences import check, in_scratch, skip
from session import GEIGER, Waiting, agent_environment, region_of
from why import bytes_of, problems_of, rows_of, why_of

KEEPER, JEMALLOC = os.environ["KEEPER"], os.environ["JEMALLOC"]
AGE = 1.2  # seconds; totals without blocks are too old after one
TRIES = 20  # of a question whose answer comes late on a loaded machine
NARROW = 0.1  # of what is pinned: the width of an answer that knows nearly all blocks


def pinned_problem(answer, pinned):
    """A problem if the answer states what is pinned, and the truth is outside of its interval."""
    low, high = (sum(row[end] for row in rows_of(answer, "pinned")) for end in ("low", "high"))
    return None if low <= pinned <= high else f"{pinned:.0f} bytes are pinned, not {low:.0f} to {high:.0f}"


def sum_of(roles):
    return sum(role.pinned for role in roles.values())


def is_old(answer):
    return any("last answer" in row["detail"] for row in rows_of(answer, "pinned"))


def width_of(answer):
    return sum(row["high"] - row["low"] for row in rows_of(answer, "pinned"))


def fresh_answer(region):
    """Asks again for an answer of now: on a loaded machine it may be old, or know few blocks."""
    for _ in range(TRIES):
        answer = why_of(region)
        if not is_old(answer) and 0 < width_of(answer) < NARROW * bytes_of(answer, "pinned"):
            return answer, None
    return answer, f"{TRIES} answers were old or wide, the last one: {json.dumps(answer)}"


def says_that_it_is_old(region, idle):
    text, json_text = (subprocess.run([GEIGER, "report", region, "-m", "pinned", *options], check=True,
                                      capture_output=True, text=True).stdout for options in ([], ["--json"]))
    yield None if is_old(idle) else str(rows_of(idle, "pinned"))
    yield None if "last answer" in " ".join(text.split()) else text
    yield None if json.loads(json_text)["pinned"]["changed_bytes"] > 0 else json_text


def stays_idle(program, region):
    pinned = sum_of(program.truth()[0])
    program.ask("serve")
    busy, problem = fresh_answer(region)
    check("a_program_that_takes_samples_answers", busy.get("reason"), problem, pinned_problem(busy, pinned),
          *problems_of(busy))
    program.truth()  # ends the samples
    time.sleep(AGE)
    idle = why_of(region)
    check("an_idle_program_has_its_last_answer", idle.get("reason"), pinned_problem(idle, pinned), *problems_of(idle))
    widths = width_of(busy), width_of(idle)
    check("why_and_report_say_that_the_answer_is_old", *says_that_it_is_old(region, idle))
    check("an_old_answer_is_less_certain", None if widths[1] > widths[0] > 0 else str(widths))


def changes(program, region):
    """Frees a quarter of the blocks within a moment, and then waits."""
    program.ask("free 0")
    pinned = sum_of(program.truth()[0])
    time.sleep(AGE)
    answer = why_of(region)
    reason = answer.get("reason")
    check("a_changed_heap_is_refused_or_right",
          pinned_problem(answer, pinned) if reason is None else None,
          None if reason is None or "has changed" in reason else reason, *problems_of(answer))
    if reason is not None:
        check("without_an_answer_nothing_is_pinned_or_returnable",
              None if bytes_of(answer, "pinned") == bytes_of(answer, "returnable") == 0 else str(answer["rows"]))
    program.ask("serve")
    answer = why_of(region)
    check("new_samples_bring_a_new_answer", answer.get("reason"), pinned_problem(answer, pinned))


def main():
    if not JEMALLOC:
        skip("an_idle_program_has_its_last_answer", "jemalloc is not installed")
        return
    folder = os.path.abspath("regions")
    os.makedirs(folder)
    environment = agent_environment(folder, "-i", "4k", "--seed", "1")
    environment["LD_PRELOAD"] += ":" + JEMALLOC
    with Waiting([KEEPER, "population", "1"], **environment) as program:
        region = region_of(folder, program.pid)
        stays_idle(program, region)
        changes(program, region)


if __name__ == "__main__":
    sys.exit(in_scratch(main))
