#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Four threads allocate and free all the time while geiger looks.  Rows still add up, and the
interval of live memory contains what the program logged at that moment.

GEIGER, BUSY_HEAP: the programs.
"""

import os
import pathlib
import signal
import subprocess
import sys
import time

from sentences import check, in_scratch, skip
from session import GEIGER, Waiting
from why import problems_of, rest_problem, rows_of, why_of

BUSY_HEAP = os.environ["BUSY_HEAP"]
PROFILE = "busy.geiger"
LOG = pathlib.Path("live.log")
# A sampled interval may miss the truth once in so many looks.
CONFIDENCE = ("--confidence", "0.9999")
# Blocks beside those of the log: of threads and of the C library.
OTHER_BYTES = 64 << 10
HOLE_NS = 5_000_000
compared = []  # moments of looks for which the log has a truth
REASONS = ("many were freed", "changed during the look", "too large to walk", "changed too fast")


def ask(question):
    return int(subprocess.run([GEIGER, "sql", PROFILE, question], check=True, capture_output=True,
                              text=True).stdout.split()[-1])


def truth_at(moment_ns):
    """The least and the most of the two lines before that moment, and the two after it."""
    lines = [tuple(map(int, line.split())) for line in LOG.read_text(encoding="utf-8").split("\n")[:-1]]
    before = [line for line in lines if line[1] <= moment_ns][-2:]
    after = [line for line in lines if line[0] >= moment_ns][:2]
    # The thread that writes the log may get no processor time for a while.
    if not before or not after or after[0][1] - before[-1][0] > HOLE_NS:
        return None
    bytes_ = [line[2] for line in before + after]
    return min(bytes_), max(bytes_)


def live_problem(answer, start):
    truth = truth_at(start + answer["time_ns"])
    if truth is None:
        return None
    compared.append(answer["time_ns"])
    low, high = (sum(row[end] for row in rows_of(answer, "live")) for end in ("low", "high"))
    if low <= truth[1] + OTHER_BYTES and truth[0] <= high:
        return None
    return f"live: {low} to {high}, and the log has {truth}: {answer}"


def reason_problem(answer, interval):
    """A wide row has a reason, unless it has few samples."""
    if interval == "512k":
        return None
    wide = [row for name in ("live", "pinned", "returnable", "rest") for row in rows_of(answer, name)
            if row["high"] - row["low"] > 0.2 * answer["rss_bytes"]]
    details = " ".join(row["detail"] or "" for row in answer["rows"])
    if not wide or answer["reason"] or any(reason in details for reason in REASONS):
        return None
    return f"no reason for {wide}: {details}"


def unexplained_rest(answer):
    """A recorder may not walk through the heap: it must say so if the rest is large."""
    details = " ".join(row["detail"] for row in rows_of(answer, "rest"))
    is_explained = answer["reason"] or any(reason in details for reason in REASONS)
    return None if is_explained else rest_problem(answer)


def free_problems(shape, busy, stopped):
    """The stopped process has nearly exact rows, and the busy one has them in its intervals.

    In waves, free memory is different a moment later."""
    for name in ("pinned", "returnable"):
        exact = rows_of(stopped, name)
        # It may have been stopped inside of malloc(), where a few chunks contradict each other.
        if len(exact) != 1 or exact[0]["high"] - exact[0]["low"] > 0.005 * stopped["rss_bytes"]:
            yield f"the stopped process: {name}: {exact}"
            continue
        rows = rows_of(busy, name)
        if not rows:
            yield f"the busy process has no {name}: {busy}"
            continue
        row = rows[0]
        if shape == "steady" and not (row["low"] <= exact[0]["high"] and exact[0]["low"] <= row["high"]):
            yield f"{name}: {row}, and the stopped process has {exact[0]}: {busy}"


def stop(pid):
    """Stops the process, and waits until no thread of it runs."""
    os.kill(pid, signal.SIGSTOP)
    tasks = pathlib.Path(f"/proc/{pid}/task")
    while any(path.read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0] != "T"
              for path in tasks.glob("*/stat")):
        time.sleep(0.01)


def look_at(shape, interval):
    sentence = f"{shape}_at_{interval}"
    with Waiting([BUSY_HEAP, shape, str(LOG.resolve())], ["-i", interval, "-o", PROFILE]) as program:
        answer = why_of(program.pid, *CONFIDENCE)
        stop(program.pid)
        stopped = why_of(program.pid, *CONFIDENCE)
        os.kill(program.pid, signal.SIGCONT)
        time.sleep(1)
        program.end()
    session = ask("select start_wall_ns from session")
    start = session + ask("select start_ns from process")
    check(f"{sentence}_adds_up", *problems_of(answer), *problems_of(stopped), rest_problem(answer),
          rest_problem(stopped))
    check(f"{sentence}_has_live_memory_inside_of_its_interval", live_problem(answer, start),
          live_problem(stopped, start))
    check(f"{sentence}_says_why_rows_are_wide", reason_problem(answer, interval))
    check(f"{sentence}_has_free_memory_inside_of_its_interval", *free_problems(shape, answer, stopped))
    stored = why_of(PROFILE, *CONFIDENCE)
    check(f"{sentence}_has_a_profile_with_such_rows", *problems_of(stored), unexplained_rest(stored),
          live_problem(stored, session), reason_problem(stored, interval))


def main():
    for shape in ("steady", "waves"):
        for interval in ("1", "16k", "512k"):
            look_at(shape, interval)
            pathlib.Path(PROFILE).unlink()
    if not compared:
        skip("live_memory_is_compared_with_the_log", "the log has a hole around each look")


if __name__ == "__main__":
    sys.exit(in_scratch(main))
