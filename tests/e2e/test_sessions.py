#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Live at the end, and left at exit, of sessions of several processes: the same in every command.

Every allocation is sampled, so numbers are exact but for what the shell and the C library allocate.
GEIGER, PROGRAM (session_program): programs.
"""

import base64
import csv
import gzip
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from page_cells import Cells  # noqa: E402
from sentences import check, status

GEIGER, PROGRAM = os.environ["GEIGER"], os.environ["PROGRAM"]
BLOCK, OTHERS = 10000, 400000  # OTHERS: what shells and libraries may allocate, bytes


def geiger(*arguments):
    return subprocess.run([GEIGER, *arguments], check=True, capture_output=True, text=True).stdout


def answer(*arguments):
    return json.loads(geiger(*arguments, "--json"))


def near(what, found, blocks):
    """About so many blocks of the program."""
    wanted = blocks * BLOCK
    return None if wanted <= found <= wanted + OTHERS else f"{what}: {found}, not {blocks} blocks of {BLOCK}"


def record(name, script):
    subprocess.run([GEIGER, "record", "-q", "-i", "1", "-o", name, "sh", "-c", script], check=True,
                   stdout=subprocess.DEVNULL)
    return answer("report", name)


def views(path, of):
    """(view, live bytes or None, left bytes or None)."""
    at_end = answer("report", path, "--at", f"{of['duration_ns']}ns", "-m", "live")
    yield "report --at END", at_end["selected_bytes"]["estimate"], None
    for metric, column in (("live", 0), ("left", 1)):
        for by in ("function", "stack", "process", "size"):
            report = answer("report", path, "-m", metric, "--by", by, "-n", "0")
            found = report["selected_bytes"]["estimate"]
            yield (f"report -m {metric} --by {by}", *((found, None) if column == 0 else (None, found)))
        found = answer("tree", path, "-m", metric)["nodes"][0]["total"]["estimate"]
        yield (f"tree -m {metric}", *((found, None) if column == 0 else (None, found)))
        found = answer("diff", path, path, "-m", metric)["total"]["after"]["estimate"]
        yield (f"diff -m {metric}", *((found, None) if column == 0 else (None, found)))
    line = answer("timeline", path)
    yield "timeline", line["points"][-1]["live_bytes"]["estimate"], line["totals"]["left_bytes"]["estimate"]
    yield "leaks", None, answer("leaks", path)["live_bytes"]["estimate"]
    for view, prefix in (("v_stack", ""), ("v_function", "self_")):
        text = f"select coalesce(sum({prefix}live_bytes), 0), coalesce(sum({prefix}left_bytes), 0) from {view}"
        live, left = list(csv.reader(io.StringIO(geiger("sql", "--csv", path, text))))[1]
        yield view, float(live), float(left)
    text = "select live_bytes from v_timeline order by time_ns desc limit 1"
    yield "v_timeline", float(list(csv.reader(io.StringIO(geiger("sql", "--csv", path, text))))[1][0]), None
    text = "select coalesce(sum(bytes) filter (where end_ns is null), 0), sum(bytes) filter (where is_left) from v_block"
    live, left = list(csv.reader(io.StringIO(geiger("sql", "--csv", path, text))))[1]
    yield "v_block", float(live), float(left)
    for metric in ("live", "left"):
        lines = geiger("export", path, "-f", "collapsed", "-m", metric, "-o", "-").splitlines()
        found = sum(int(line.rsplit(" ", 1)[1]) for line in lines)
        yield (f"export -m {metric}", *((found, None) if metric == "live" else (None, found)))
    geiger("html", "-q", path, "-o", "x.html")
    text = pathlib.Path("x.html").read_text(encoding="utf-8")
    packed = re.search(r'id="geiger-data">([A-Za-z0-9+/=]*)</script>', text).group(1)
    data = json.loads(gzip.decompress(base64.b64decode(packed)))
    cells, totals = Cells(data), data["meta"]["totals"]
    yield "the page's header", totals["live_bytes"]["estimate"], totals["left_bytes"]["estimate"]
    yield "the page's cells", cells.sums(cells.live(cells.bins))[0], cells.sums(cells.left(0, cells.bins))[0]
    yield "the page's chart", data["series"]["live"][-1], None
    geiger("merge", "-q", "-o", "alone.geiger", path)
    merged = answer("report", "alone.geiger")["totals"]
    yield "merge", merged["live_bytes"]["estimate"], merged["left_bytes"]["estimate"]


def agree(path, of):
    totals = of["totals"]
    wanted = (totals["live_bytes"]["estimate"], totals["left_bytes"]["estimate"])
    problems = []
    for view, *found in views(path, of):
        problems += [f"{view}: {what} {a}, not {b}" for what, a, b in zip(("live", "left"), found, wanted)
                     if a is not None and abs(a - b) > 1e-6 * b + 2]
    return problems


def one_after_another():
    of = record("turn.geiger", f"for i in 1 2 3; do {PROGRAM} 300 {BLOCK}; done; sleep 0.2; :")
    totals = of["totals"]
    check("processes_one_after_another_leave_their_sum_and_are_not_live_together",
          near("live", totals["live_bytes"]["estimate"], 0), near("left", totals["left_bytes"]["estimate"], 900),
          None if of["processes"] >= 4 else f"{of['processes']} processes",
          *agree("turn.geiger", of))
    text = geiger("report", "turn.geiger")
    check("the_head_names_both_figures",
          None if re.search(r"^live at the end ", text, re.M) else text,
          None if re.search(r"^left at exit .*, of \d+ processes$", text, re.M) else text)
    left = geiger("report", "turn.geiger", "-m", "left")
    check("a_report_on_what_was_left_has_the_code_that_left_it",
          None if re.search(r"^left at exit, of \d+ processes: ", left, re.M) and "keep (session_program)" in left
          else left)
    leaks = geiger("leaks", "turn.geiger")
    check("leaks_looks_at_each_process_until_its_own_end",
          None if re.search(r"^left at exit, of \d+ processes: ", leaks, re.M) else leaks,
          "it says that all was given back" if "gave it back" in leaks else None)


def at_once():
    """Two run at once; then one ends, then the shell, and at last the other one of its two."""
    for name in ("first", "second"):
        os.mkfifo(name)
    script = (f"{PROGRAM} 200 {BLOCK} wait <first & {PROGRAM} 500 {BLOCK} wait <second & wait %1; echo over")
    recorder = subprocess.Popen([GEIGER, "record", "-q", "-i", "1", "-o", "once.geiger", "sh", "-c", script],
                                stdout=subprocess.PIPE, text=True)
    with open("second", "w", encoding="utf-8"):
        with open("first", "w", encoding="utf-8"):
            said = [recorder.stdout.readline() for _ in range(2)]  # both hold their blocks
        said.append(recorder.stdout.readline())
        time.sleep(0.5)
    recorder.stdout.close()
    recorder.wait()
    of = answer("report", "once.geiger")
    totals = of["totals"]
    check("a_daemon_that_outlives_its_shell_is_live_at_the_end",
          None if said == ["ready\n", "ready\n", "over\n"] else f"{said}",
          near("live", totals["live_bytes"]["estimate"], 500), near("left", totals["left_bytes"]["estimate"], 700),
          near("peak", totals["peak_bytes"]["estimate"], 700), *agree("once.geiger", of))


def forks():
    of = record("fork.geiger", f"{PROGRAM} 300 {BLOCK} fork; sleep 0.2; :")
    check("an_inherited_block_is_left_once", near("live", of["totals"]["live_bytes"]["estimate"], 0),
          near("left", of["totals"]["left_bytes"]["estimate"], 600), *agree("fork.geiger", of))


def one_process():
    subprocess.run([GEIGER, "record", "-q", "-i", "1", "-o", "one.geiger", PROGRAM, "300", str(BLOCK)], check=True)
    of = answer("report", "one.geiger")
    check("one_process_has_live_at_the_end_what_it_held_at_its_exit",
          near("live", of["totals"]["live_bytes"]["estimate"], 300),
          None if of["totals"]["live_bytes"] == of["totals"]["left_bytes"] else str(of["totals"]),
          "the head has a line for it" if "left at exit" in geiger("report", "one.geiger") else None,
          *agree("one.geiger", of))


def merged():
    geiger("merge", "-q", "-o", "sum.geiger", "one.geiger", "once.geiger", "turn.geiger")
    parts = [answer("report", name)["totals"] for name in ("one.geiger", "once.geiger", "turn.geiger")]
    of = answer("report", "sum.geiger")
    problems = []
    for what in ("live_bytes", "left_bytes"):
        wanted, found = sum(part[what]["estimate"] for part in parts), of["totals"][what]["estimate"]
        problems.append(None if abs(found - wanted) < 1e-6 * wanted + 2 else f"{what}: {found}, not {wanted}")
    check("merged_profiles_are_the_sum_of_each_at_its_own_end", *problems)
    check("merged_profiles_have_no_duration",
          None if of["duration_ns"] == 0 else of["duration_ns"], None if of["processes"] is None else of["processes"])


def intervals():
    for every in ("4k", "512k"):
        subprocess.run([GEIGER, "record", "-q", "-i", every, "-o", f"{every}.geiger", PROGRAM, "300", str(BLOCK)],
                       check=True)
    geiger("merge", "-q", "-o", "mixed.geiger", "4k.geiger", "512k.geiger")
    text = geiger("report", "mixed.geiger")
    check("several_sampling_intervals_are_all_told", None if "\nevery 4 to 512 KiB by poisson" in text else text)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    one_after_another()
    at_once()
    forks()
    one_process()
    merged()
    intervals()
    os.chdir("/")
sys.exit(status())
