# SPDX-License-Identifier: Apache-2.0
"""Compares what profilers report of each function with the truth.

`sites` knows what its 20 functions allocated and what of it is live at the end.  The module
reads each profiler's own report.  A real program's truth is geiger's count of every allocation.
"""

import collections
import json
import os
import re
import subprocess

METRICS = {"allocated": "--alloc_space", "live": "--inuse_space"}


def said_by(command):
    return subprocess.run(command, capture_output=True, text=True, errors="replace", check=True).stdout


def truth_of_sites(text):
    """{metric: {function: bytes}}"""
    truth = {"allocated": {}, "live": {}}
    for line in text.splitlines():
        words = line.split()
        if len(words) == 5 and words[0].startswith("site_"):
            truth["allocated"][words[0]] = int(words[1])
            truth["live"][words[0]] = int(words[3])
    return truth


def from_geiger(geiger, file, metric):
    """{function: (estimate, low, high)}, the reported total, and the upper bound of all functions
    that were never sampled."""
    told = json.loads(said_by([geiger, "report", file, "--by", "function", "-m", metric, "--limit", "0", "--json"]))
    rows = {}
    for row in told["rows"]:
        own = row["self"]
        if own["estimate"]:
            rows[row["function"]] = (own["estimate"], own["low"], own["high"])
    return rows, told["totals"][f"{metric}_bytes"], told["unseen_bytes"] or 0


def from_pprof(reporter, program, file, metric):
    text = said_by([reporter, "--text", "--show_bytes", METRICS[metric], program, file])
    rows = {}
    for match in re.finditer(r"^ *(\d+) +[\d.]+% +[\d.]+% +\d+ +[\d.]+% +(\S+)", text, re.MULTILINE):
        rows[match[2]] = (int(match[1]), None, None)
    total = re.search(r"^Total: (\d+) B", text, re.MULTILINE)
    return rows, int(total[1]) if total else None


def from_heaptrack(file, folder):
    """Bytes that were never freed, by the function that called malloc."""
    collapsed = os.path.join(folder, "collapsed")
    said_by(["heaptrack_print", "-f", file, "--print-flamegraph", collapsed, "--flamegraph-cost-type", "leaked"])
    rows = {}
    with open(collapsed, encoding="utf-8", errors="replace") as stacks:
        for line in stacks:
            match = re.search(r"\b(site_\d\d)\b[^;]*(?:;[^;]*)? (\d+)$", line)
            if match:
                rows[match[1]] = (rows.get(match[1], (0,))[0] + int(match[2]), None, None)
    return rows


def from_massif(file):
    """The rows of the detailed snapshot with the most; those below its threshold of 1 % are
    missing."""
    most, rows = -1, {}
    with open(file, encoding="utf-8", errors="replace") as out:
        for snapshot in out.read().split("snapshot=")[1:]:
            total = int(re.search(r"mem_heap_B=(\d+)", snapshot)[1])
            nodes = re.findall(r"^ *n\d+: (\d+) 0x[0-9A-F]+: (\S+)", snapshot, re.MULTILINE)
            if nodes and total > most:
                most = total
                rows = {name: (int(size), None, None) for size, name in nodes}
    return rows


def estimates(way, runner, folder, program, metric):
    """{function: (estimate, low, high)}; None: this tool has no such estimate."""
    files = way.left_files(folder)
    if not files:
        return None
    if way.tool.startswith("geiger"):
        rows, _, unseen = from_geiger(way.report[0], files[-1], metric)
        return collections.defaultdict(lambda: (0, 0, unseen), rows)
    if way.tool == "jemalloc prof":
        return from_pprof("jeprof", program, files[-1], metric)[0]
    if way.tool == "HEAPPROFILE":
        return from_pprof("google-pprof", program, files[-1], metric)[0]
    if metric != "live":
        return None
    if way.tool == "tcmalloc sampling":
        return from_pprof("google-pprof", program, files[-1], metric)[0]
    if way.tool == "heaptrack":
        return from_heaptrack(files[-1], folder)
    if way.tool == "massif":
        return from_massif(files[-1])
    return None


def rows_against(truth, told):
    """One row a function: the truth, the estimate, and the interval if there is one; nothing seen
    is 0."""
    nothing = told[""] if isinstance(told, collections.defaultdict) else (0, None, None)
    return [[name, was, *told.get(name, nothing)] for name, was in sorted(truth.items())]


def program_against(geiger, counted, sampled, metric, least_bytes):
    """Functions of a real program that allocated much, and their total: counted, estimate, low,
    high."""
    truth, whole, _ = from_geiger(geiger, counted, metric)
    told, total, unseen = from_geiger(geiger, sampled, metric)
    rows = [[name, was[0], *told.get(name, (0, 0, unseen))] for name, was in truth.items() if was[0] >= least_bytes]
    return rows, [whole["estimate"], total["estimate"], total["low"], total["high"]]
