#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`geiger why` on programs that make one row large on purpose: rows add up to the kernel's RSS to
the byte, the large row has what the program knows, and the rest is small.

GEIGER, LARGE_ROWS: the programs.  Arguments: parts; without them, all of them.
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time

from sentences import check, in_scratch, skip
from session import GEIGER, Waiting, rss_bytes
from why import beside, bytes_of, problems_of, rest_problem, row_problem, why_of

LARGE_ROWS = os.environ["LARGE_ROWS"]
MIB = 1 << 20
# The row, and how it relates to the key that the program prints.
PARTS = {
    "arenas": "",
    "caches": "caches",
    "code": "mapped",
    "data": "data",
    "direct": "mapped",
    "file-read": "files",
    "file-written": "data",
    "heap": "",
    "huge": "mapped",
    "joined": "live",
    "lazy-free": "lazy-free",
    "live": "live",
    "named": "named",
    "shared": "shared",
    "stacks": "stacks",
    "swap": "swap",
    "top": "returnable",
    "untouched": "live-not-resident",
}
ROW_OF_KEY = {"mapped": ("mappings", "huge"), "named": ("mappings",)}


def known_problem(part, said, answer):
    """The program knows about its own part to within 2 MiB and 5 %, or the interval of the row."""
    key = PARTS[part]
    known = int(said.get(key, 0))
    if key == "live-not-resident":
        found = beside(answer, key)
        return None if found and abs(found - known) <= 0.05 * known else f"{key}: {found}, not {known}"
    if key == "swap":
        found = beside(answer, key)
        return None if found and abs(found - known) <= 0.05 * known else f"{key}: {found}, not {known}"
    if key == "caches":
        high = sum(row["high"] or 0 for row in answer["rows"] if row["name"] == key)
        return None if high >= 0.95 * known else f"caches: at most {high}, and the program has {known} in them"
    if key == "live":
        rows = [row for row in answer["rows"] if row["name"] == "live"]
        low, high = (sum(row[end] for row in rows) for end in ("low", "high"))
        return None if low <= known <= high else f"live: {low} to {high}, not {known}"
    names = ROW_OF_KEY.get(key, (key,))
    found = sum(bytes_of(answer, name) for name in names)
    near = abs(found - known) <= 0.05 * known + 2 * MIB
    # Other libraries and data of the process are part of these rows as well.
    more = key in ("files", "data", "stacks", "mapped") and known <= found <= known + 12 * MIB
    return None if near or more else f"{key}: {found}, not {known}: {json.dumps(answer['rows'])}"


def problems_of_sums(part, said, answer):
    """Problems of the rows that the part makes large."""
    if part == "heap":
        return row_problem(answer, "returnable", 50 * MIB, 64 * MIB), row_problem(answer, "pinned", 2 * MIB, 12 * MIB)
    if part == "arenas":
        peak = int(said["peak"])
        return (row_problem(answer, "returnable", 0.8 * peak, peak),
                row_problem(answer, "pinned", 0.03 * peak, 0.2 * peak))
    if part == "joined":
        mapped = int(said["mapped"])
        return known_problem(part, said, answer), row_problem(answer, "mappings", mapped, mapped + MIB)
    return known_problem(part, said, answer),


def wait_for_look(profile, answer):
    """Waits until the recorder has looked at the process as it is now, and walked through its heap.
    On a slow machine the walk takes longer than a look may, and comes when the process is quiet."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        done = subprocess.run([GEIGER, "why", profile, "--json"], check=False, capture_output=True, text=True)
        stored = json.loads(done.stdout) if done.returncode == 0 else {"rss_bytes": 0}
        if abs(stored["rss_bytes"] - answer["rss_bytes"]) < MIB and not rest_problem(stored):
            return
        time.sleep(0.1)


def live_part(part):
    """A look at the process while it waits, and the look that a profile keeps when it is killed."""
    profile = f"{part}.geiger"
    program = Waiting([LARGE_ROWS, part], ["-i", "16k", "--seed", "1", "-o", profile])
    with program:
        if program.said is None:
            program.child.wait()
            skip(f"{part}_has_its_row", "the machine cannot do it")
            return
        said = dict(program.said)
        before = rss_bytes(program.pid)
        answer = why_of(program.pid)
        after = rss_bytes(program.pid)
        check(f"{part}_has_rows_that_add_up_to_the_rss_of_the_kernel", *problems_of(answer),
              None if min(before, after) <= answer["rss_bytes"] <= max(before, after)
              else f"{before} before, {after} after, {answer['rss_bytes']} in the answer")
        check(f"{part}_leaves_a_rest_below_2_percent", rest_problem(answer))
        check(f"{part}_has_its_row", *problems_of_sums(part, said, answer))
        wait_for_look(profile, answer)
        os.kill(program.pid, signal.SIGKILL)
        program.child.wait()
    stored = why_of(profile)
    check(f"{part}_keeps_its_last_look_when_it_is_killed", *problems_of(stored), rest_problem(stored))


def foreign(part):
    """A process without geiger has rows as well."""
    with Waiting([LARGE_ROWS, part]) as program:
        answer = why_of(program.pid)
        check(f"{part}_adds_up_without_the_agent", *problems_of(answer),
              None if answer["rss_bytes"] == rss_bytes(program.pid) else "another RSS than the kernel's")


def main():
    parts = subprocess.run([LARGE_ROWS], check=True, capture_output=True, text=True).stdout.split()
    check("all_parts_are_known", *(set(parts) ^ set(PARTS)))
    for part in sys.argv[1:] or parts:
        live_part(part)
        pathlib.Path(f"{part}.geiger").unlink(missing_ok=True)
    for part in ("stacks", "direct", "heap"):
        foreign(part)


if __name__ == "__main__":
    sys.exit(in_scratch(main))
