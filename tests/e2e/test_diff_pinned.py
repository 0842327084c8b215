#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`geiger diff --metric pinned`: what a table shows agrees with itself, with the exact totals, and
with reports of the two profiles.

GEIGER, LOOKS_PROFILE: programs.
"""

import json
import os
import re
import sqlite3
import subprocess
import sys

from sentences import check, in_scratch

GEIGER = os.environ["GEIGER"]


def geiger(*arguments):
    command = [GEIGER, *arguments, "--metric", "pinned"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def make(path, *arguments):
    subprocess.run([os.environ["LOOKS_PROFILE"], path, *arguments], check=True)
    return path


def diff(before, after, *more):
    return json.loads(geiger("diff", before, after, "--json", "--limit", "0", *more))


def report(path):
    return json.loads(geiger("report", path, "--json", "--limit", "0"))


def numbers_of(text):
    """Before, after, difference and its ends, by row, of a table with --bytes."""
    figure = r"(\d+)(?: \(\d+-\d+\))? +"
    row = re.compile(rf"[* ] +{figure}{figure}([-+]\d+) \(([-+]\d+) to ([-+]\d+)\) +[-+]\d+ % +\S+  (.*)")
    found = [row.fullmatch(line) for line in text.splitlines()]
    return {match.group(6): [float(number) for number in match.groups()[:5]] for match in found if match}


def unfolded(text):
    return re.sub(r"\s+", " ", text)


def shown_problems(text, most_before, most_after):
    rows = numbers_of(text)
    if len(rows) < 3:
        yield f"{len(rows)} rows:\n{text}"
    for name, (before, after, change, low, high) in rows.items():
        if abs(after - before - change) > 1:
            yield f"{name}: from {before} to {after} is no change of {change}"
        if before > most_before or after > most_after:
            yield f"{name}: {before} or {after} is above an exact total"
        if not -most_before - 1 <= low <= change <= high <= most_after + 1:
            yield f"{name}: {low} to {high} around {change}"


def refusals(before, after):
    make("unseen.geiger", "60")
    with sqlite3.connect("unseen.geiger") as file:
        for table in ("look", "look_mapping", "look_block", "look_total"):
            file.execute(f"delete from {table}")
    for arguments, exit_status, text in (
            (("unseen.geiger", after, "--metric", "pinned"), 1, "pinned memory before: "),
            ((before, "unseen.geiger", "--metric", "pinned"), 1, "pinned memory after: "),
            ((before, after, "--metric", "pinned", "--at", "0.5s"), 2, "no moment in common but 'peak'"),
            ((before, after, "--metric", "live", "--at", "peak"), 2, "belongs to --metric pinned"),
            ((before, after, "--at", "peak"), 2, "belongs to --metric pinned"),
            ((before, after, "--metric", "pinned", "--unit", "count"), 2, "has bytes, and no allocations")):
        result = subprocess.run([GEIGER, "diff", *arguments], capture_output=True, text=True)
        is_right = result.returncode == exit_status and text in result.stderr
        check(f"refused: {' '.join(arguments[2:]) or arguments[0]}",
              None if is_right else f"{result.returncode}: {result.stderr}")


def main():
    before, after = make("before.geiger", "150"), make("after.geiger", "60")
    make("walked_before.geiger", "150", "2000000")
    make("walked_after.geiger", "60", "800000")

    sides = diff(before, after)
    for side, path in (("before", before), ("after", after)):
        whole = report(path)
        check(f"a side is a report of its profile, {side}",
              None if sides["total"][side] == whole["selected_bytes"] else f"{sides['total']} {whole['selected_bytes']}",
              None if sides[side]["pinned"] == whole["pinned"] else f"{sides[side]} {whole['pinned']}",
              None if sides[side]["interval_bytes"] == whole["interval_bytes"] == 1024 else f"{sides[side]}")
    rows = {row["label"].split()[0]: row for row in sides["rows"]}
    found = [name for name, row in rows.items() if row["significant"]]
    check("the function that keeps less is found, and no other", None if found == ["keep"] else f"{found}")
    check("it shrank", None if rows["keep"]["difference"]["high"] < 0 and sides["grown_count"] == 0 else f"{rows}")
    same = diff(before, before)
    check("a profile does not differ from itself", None if same["significant_count"] == 0 else f"{same}")

    peaks = diff(before, after, "--at", "peak")
    whole = [json.loads(geiger("report", path, "--json", "--at", "peak"))["selected_bytes"] for path in (before, after)]
    check("the looks at the largest RSS can be compared", None if peaks["look_moment"] == "peak" and
          [peaks["total"][side] for side in ("before", "after")] == whole else f"{peaks['total']} {whole}")
    text = unfolded(geiger("diff", before, after, "--at", "peak"))
    check("and the table says so", None if "at its largest RSS" in text else text)
    refusals(before, after)

    plain = geiger("diff", before, after, "--all", "--bytes")
    check("a table agrees with itself", *shown_problems(plain, float("inf"), float("inf")))
    check("a table says what its rows are", None if "live blocks keep" in plain and "exactly" not in plain else plain)
    walked = geiger("diff", "walked_before.geiger", "walked_after.geiger", "--all", "--bytes")
    check("no number is above an exact total", *shown_problems(walked, 3000000, 1200000))
    check("a table has the exact totals", None if "exactly 3000000 before and 1200000 after." in unfolded(walked) else walked)
    one = geiger("diff", before, "walked_after.geiger", "--all", "--bytes")
    check("one side may have an exact total", *shown_problems(one, float("inf"), 1200000),
          None if "exactly 1200000 after." in unfolded(one) else one)


sys.exit(in_scratch(main))
