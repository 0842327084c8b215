#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`geiger sql` and `geiger report --metric pinned` show the same rows: estimates and both ends of
their confidence intervals, with an exact total and without one.

GEIGER, LOOKS_PROFILE: programs.
"""

import json
import math
import os
import sqlite3
import subprocess
import sys

from sentences import check, in_scratch

GEIGER = os.environ["GEIGER"]
BY_STACK = """select functions as name, gg_pinned_bytes(sample, '{0}') as bytes,
  gg_pinned_low(sample, '{0}') as low, gg_pinned_high(sample, '{0}') as high
  from v_pinned join v_stack using (stack) where moments & {1} group by stack"""
TOTAL = """select gg_pinned_bytes(sample, '{0}') as bytes, gg_pinned_low(sample, '{0}') as low,
  gg_pinned_high(sample, '{0}') as high from v_pinned where moments & {1}"""
MOMENTS = {"last": (1, ()), "peak": (2, ("--at", "peak"))}


def geiger(*arguments):
    return subprocess.run([GEIGER, *arguments], capture_output=True, text=True)


def make(path, *arguments):
    subprocess.run([os.environ["LOOKS_PROFILE"], path, *arguments], check=True)
    return path


def ask(path, question):
    answer = geiger("sql", path, question, "--json")
    return json.loads(answer.stdout) if answer.returncode == 0 else [{"error": answer.stderr}]


def report(path, *arguments):
    answer = geiger("report", path, "--metric", "pinned", "--json", "--limit", "0", *arguments)
    return json.loads(answer.stdout)


def differs(mine, other, tolerance):
    """Two numbers, or null, that are not the same."""
    if mine is None or other is None:
        return mine is not other
    return not math.isclose(mine, other, rel_tol=tolerance, abs_tol=1e-6)


def problems_of(name, row, figure, tolerance=1e-9):
    wanted = {"bytes": figure["estimate"], "low": figure["low"], "high": figure["high"]}
    return [f"{name}: {key} is {row.get(key)}, and {wanted[key]} in the report: {row}"
            for key in wanted if differs(row.get(key), wanted[key], tolerance)]


def compare(path, what, *filters):
    """All rows and the total, at both moments; returns the report's last total."""
    for moment, (bit, options) in MOMENTS.items():
        answer = report(path, "--by", "stack", *options, *filters)
        rows = {";".join(reversed([frame["function"] for frame in row["stack"]])): row for row in answer["rows"]}
        found = ask(path, BY_STACK.format(moment, bit))
        # A group of blocks that other processes represent has no number, and the report no row.
        mine = {row.get("name", row.get("error")): row for row in found if row.get("bytes", 0) is not None}
        problems = [] if rows.keys() == mine.keys() else [f"rows {sorted(mine)}, in the report {sorted(rows)}"]
        for name in rows.keys() & mine.keys():
            problems += problems_of(name, mine[name], rows[name]["self"])
        check(f"rows are those of the report, {what}, {moment}", *problems)
        total = ask(path, TOTAL.format(moment, bit))[0]
        # The ends of SQL are those of a row, which differ a little from those of a whole.
        check(f"the total is that of the report, {what}, {moment}",
              *problems_of("total", total, answer["selected_bytes"], 1e-5))
        yield answer


def main():
    plain = list(compare(make("plain.geiger", "120"), "without an exact total"))
    walked = list(compare(make("walked.geiger", "120", "3000000"), "with an exact total"))
    check("the exact total is known where all heaps were walked",
          *[f"{answer['pinned']}" for answer in plain if answer["pinned"]["total_bytes"] is not None],
          *[f"{answer['pinned']}" for answer in walked if answer["pinned"]["total_bytes"] is None])
    bounds = [(answer["selected_bytes"]["high"], answer["pinned"]["total_bytes"]) for answer in walked]
    check("the exact total bounds something here", None if all(high == most for high, most in bounds) else bounds)

    with sqlite3.connect("walked.geiger") as file:
        file.execute("insert into event (time_ns, process, kind) values (1000, 1, 'off')")
        file.execute("delete from look_total where look = (select max(look) from look_total)")
    list(compare("walked.geiger", "with a heap that was not walked, and sampling off"))

    estimates = ask("plain.geiger", "select sum(bytes) as bytes from v_pinned where moments & 1 and process = 1")
    alone = report("plain.geiger", "--process", "4711")
    check("any program can add up estimates", *problems_of("process", estimates[0] | {
        "low": alone["selected_bytes"]["low"], "high": alone["selected_bytes"]["high"]}, alone["selected_bytes"]))
    unknown = ask("plain.geiger", "select count(*) as n from v_pinned where pinned_bytes is null and moments & 1")
    check("blocks of unknown memory are rows", None if unknown[0]["n"] == plain[0]["pinned"]["unknown_count"]
          else f"{unknown}, {plain[0]['pinned']}")

    mixed = geiger("sql", "plain.geiger", "select gg_pinned_low(sample) from v_pinned")
    check("rows of another moment are refused", None if mixed.returncode == 2 and "where moments & 1" in mixed.stderr
          else mixed.stderr)
    wrong = geiger("sql", "plain.geiger", "select gg_pinned_low(sample, 'first') from v_pinned")
    check("other moments are refused", None if wrong.returncode == 2 and "'last' or 'peak'" in wrong.stderr
          else wrong.stderr)
    none = ask("plain.geiger", "select gg_pinned_low(sample) as low from v_pinned where look = 99")
    check("a group without rows is NULL", None if none == [{"low": None}] else f"{none}")


sys.exit(in_scratch(main))
