#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Wall times that follow from a profile are those that the recorded program saw.

The program prints wall time, and then becomes another one, which prints it again.  The agent
started in the second program in between, at a time that the profile tells.

GEIGER: the program.
"""

import os
import subprocess
import sys

from sentences import check, in_scratch

GEIGER = os.environ["GEIGER"]
SESSIONS = 5
PROGRAM = "import os, time; print(time.time_ns(), flush=True); os.execv('/bin/date', ['date', '+%s%N'])"
# The clocks are read as of one moment unless the kernel preempts the recorder several times.
CLOCKS_NS = 1_000_000


def ask(question):
    return subprocess.run([GEIGER, "sql", "p.geiger", question], check=True, capture_output=True,
                          text=True).stdout.split("\n")[1:-1]


def start_problem():
    done = subprocess.run([GEIGER, "record", "-q", "-o", "p.geiger", "--", sys.executable, "-c", PROGRAM],
                          check=True, capture_output=True, text=True)
    before_ns, after_ns = map(int, done.stdout.split())
    session_ns = int(ask("select start_wall_ns from session")[0])
    start_ns = session_ns + int(ask("select max(start_ns) from process")[0])
    if before_ns - CLOCKS_NS <= start_ns <= after_ns + CLOCKS_NS:
        return None
    return (f"the agent started {start_ns - before_ns} ns after the first line, and the second line came "
            f"{after_ns - before_ns} ns after it")


def main():
    check("a_profile_tells_the_wall_time_at_which_an_agent_started",
          *(start_problem() for _ in range(SESSIONS)))


if __name__ == "__main__":
    sys.exit(in_scratch(main))
