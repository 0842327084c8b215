#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Commands that show the same number of resident memory, or of one process, show the same figure:
the estimate and both ends of its interval.

GEIGER, LOOKS_PROFILE, GOLDEN_PROFILE: programs.  LATE_FREES: a program that frees while it ends; it
is not set where nothing can be recorded.
"""

import base64
import gzip
import json
import math
import os
import pathlib
import re
import subprocess
import sys

from sentences import check, in_scratch

GEIGER = os.environ["GEIGER"]


def geiger(*arguments):
    return subprocess.run([GEIGER, *arguments], check=True, capture_output=True, text=True).stdout


def answer(*arguments):
    return json.loads(geiger(*arguments, "--json"))


def page(path):
    geiger("html", path, "--quiet", "-o", "page.html")
    text = pathlib.Path("page.html").read_text(encoding="utf-8")
    return json.loads(gzip.decompress(base64.b64decode(
        re.search(r'id="geiger-data">([A-Za-z0-9+/=]*)</script>', text).group(1))))


def is_same(mine, other):
    if isinstance(mine, dict):
        return other is not None and all(is_same(mine[key], other[key]) for key in ("estimate", "low", "high"))
    if isinstance(mine, float) or isinstance(other, float):
        return mine is not None and other is not None and math.isclose(mine, other, rel_tol=1e-9, abs_tol=1e-6)
    return mine == other


def differences(views):
    """Each view against the first."""
    first, *others = views.items()
    return [f"{first[1]} by '{first[0]}', {value} by '{name}'" for name, value in others
            if not is_same(first[1], value)]


# --- rows of resident memory ---


def tables_of(tables):
    """The rows of each process, and what stands beside them."""
    keys = ("name", "bytes", "low", "high", "certainty", "detail", "advice", "advice_bytes")
    return {table["pid"]: (table["rss_bytes"], table["time_ns"],
                           [[row[key] for key in keys] for row in (*table["rows"], *table["beside"])])
            for table in tables}


def tables_agree(path, name):
    data = page(path)
    for moment in ("last", "peak"):
        wanted = tables_of(answer("why", path, "--moment", moment)["processes"])
        found = tables_of(table for table in data["why"] if moment in table["moments"])
        check(f"the page has the rows of why, {name}, {moment}", None if wanted == found else f"{wanted} {found}")
        for pid, of in wanted.items():
            alone = tables_of(answer("why", path, "--moment", moment, "--process", str(pid))["processes"])
            check(f"why of one process has the rows of all, {name}, {moment}, {pid}",
                  None if alone == {pid: of} else f"{alone} {of}")
    wanted = tables_of(answer("why", path)["processes"])
    for command in ("report", "tree", "timeline", "leaks"):
        found = tables_of(answer(command, path)["memory"]["looks"])
        check(f"the head has rows of why, {name}, {command}",
              *[f"{pid}: {table} {wanted.get(pid)}" for pid, table in found.items()
                if table not in (wanted.get(pid), tables_of(answer("why", path, "--moment", "peak")["processes"])[pid])])


def advices_agree(path, name):
    """Text of why: no advice on a row has more bytes than the row's own in the table."""
    problems = []
    for table in answer("why", path, "--all")["processes"]:
        problems += [f"{row['name']}: {row['bytes']} bytes, at most {row['advice_bytes']}" for row in table["rows"]
                     if row["advice_bytes"] is not None and row["advice_bytes"] > row["bytes"]]
    check(f"no advice returns more of a row than it has, {name}", *problems)


def pinned_agrees(path, name):
    for pid in sorted(tables_of(answer("why", path)["processes"])):
        options = ("-m", "pinned", "-p", str(pid))
        views = {f"report --by {by}": answer("report", path, *options, "--by", by)["selected_bytes"]
                 for by in ("function", "stack", "module", "process")}
        views["tree"] = answer("tree", path, *options)["nodes"][0]["total"]
        check(f"pinned memory of one process, {name}, {pid}", *differences(views))
    total = answer("report", path, "-m", "pinned")["selected_bytes"]
    check(f"pinned memory of all, {name}", *differences(
        {"report": total, "tree": answer("tree", path, "-m", "pinned")["nodes"][0]["total"]}))
    lines = geiger("export", path, "-f", "collapsed", "-m", "pinned", "-o", "-").splitlines()
    exported = sum(int(line.rsplit(" ", 1)[1]) for line in lines)
    check(f"pinned memory as exported, {name}", None if abs(exported - total["estimate"]) <= len(lines) / 2 + 1
          else f"{exported} in {len(lines)} lines, not {total}")
    # Text and page show no estimate above the exact total.
    shown = total | {"estimate": min(total["estimate"], total["high"] or math.inf)}
    check(f"pinned memory on the page, {name}", *differences({"report": shown, "html": page(path)["pinned"]["total"]}))
    text = geiger("report", path, "-m", "pinned", "--bytes", "--ascii").split(" in ")[0]
    number = re.search(r": ([0-9]+)", text)
    check(f"pinned memory as text, {name}", None if number and abs(int(number[1]) - shown["estimate"]) <= 1
          else f"{text}, not {shown}")


# --- one process ---


def process_agrees(path):
    pids = {row["pid"] for row in answer("report", path, "--by", "process", "-m", "allocated")["rows"]}
    for pid in sorted(pids):
        for metric in ("live", "left", "peak", "allocated", "freed"):
            options = ("-m", metric, "-p", str(pid))
            views = {f"report --by {by}": answer("report", path, *options, "--by", by)["selected_bytes"]
                     for by in ("function", "stack", "process", "size")}
            views["tree"] = answer("tree", path, *options)["nodes"][0]["total"]
            line = answer("timeline", path, "-p", str(pid))
            if metric == "peak":
                views |= {"timeline": line["peak"]["live_bytes"], "the head": line["totals"]["peak_bytes"]}
            elif metric == "live":
                views |= {"timeline": line["points"][-1]["live_bytes"], "the head": line["totals"]["live_bytes"]}
            check(f"--metric {metric} --process {pid}", *differences(views))
        moments = {"report": answer("report", path, "-m", "peak", "-p", str(pid))["peak_at_ns"],
                   "tree": answer("tree", path, "-m", "peak", "-p", str(pid))["peak_at_ns"],
                   "timeline": answer("timeline", path, "-p", str(pid))["peak"]["time_ns"]}
        check(f"the moment of the peak of process {pid}", *differences(moments))


def late_frees():
    """A recorded process ends after the last free of its blocks, so all views have the same end."""
    for name, options in (("returns", []), ("exits at once", ["now"])):
        path = f"{len(options)}.geiger"
        geiger("record", "--quiet", "-i", "4k", "--seed", "1", "-o", path, "--", os.environ["LATE_FREES"], *options)
        late = geiger("sql", path, "select count(*) from v_sample join process on process.id = process "
                      "where t_free > process.end_ns").split()[-1]
        check(f"no block is freed after the end of a process that {name}", None if late == "0" else f"{late} are")
        process_agrees(path)


def main():
    subprocess.run([os.environ["GOLDEN_PROFILE"], "golden.geiger"], check=True)
    subprocess.run([os.environ["LOOKS_PROFILE"], "plain.geiger", "120"], check=True)
    subprocess.run([os.environ["LOOKS_PROFILE"], "walked.geiger", "120", "3000000"], check=True)
    for name in ("golden", "plain", "walked"):
        tables_agree(f"{name}.geiger", name)
        advices_agree(f"{name}.geiger", name)
        pinned_agrees(f"{name}.geiger", name)
    # The golden profile frees blocks after the end of their process, which no recording does.
    process_agrees("plain.geiger")
    if os.environ.get("LATE_FREES"):
        late_frees()


sys.exit(in_scratch(main))
