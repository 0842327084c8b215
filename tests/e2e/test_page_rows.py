#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rows of the page's tables, as its own code makes them, are those of geiger report: every
grouping, metric and window.

GEIGER, GOLDEN_PROFILE, PAGE_PROFILE: programs.  AGENT, PROGRAM (agreement_program): where there is
an agent.  Needs node >= 18; web/test/rows.mjs answers for the page.
"""

import json
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile

from page_looks import add_looks, shown
from page_pages import page_data
from sentences import check, skip, status

GEIGER = os.environ["GEIGER"]
ROWS = pathlib.Path(__file__).resolve().parents[2] / "web/test/rows.mjs"
PAGE_FILE = ROWS.parents[1] / "dist/page.html"
DATA_BYTES = 340_000  # the page keeps threads from 320 kB on, and all its nodes from far more
GROUPINGS = ("function", "line", "stack", "module", "size", "kind", "heap", "type", "thread", "process")
SHARE = 2e-6  # numbers of the page's classes and tables have seven digits or more


def page(path, *options):
    return page_data(GEIGER, path, *options)


def report(path, by, options):
    grouping = ["--by-label", by[len("label:"):]] if by.startswith("label:") else ["--by", by]
    done = subprocess.run([GEIGER, "report", path, "--json", "--limit", "0", *grouping, *options],
                          check=True, capture_output=True, text=True)
    return json.loads(done.stdout, object_hook=shown if "pinned" in options else None)


UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


def report_key(by, row):
    """The key of a report's row: the function, type, ... that the row is about."""
    if by == "function":
        return row["function"], row["module"]
    if by == "line":
        place = f"{row['file']}:{row['line']} " if row["file"] else ""
        return place + row["function"], row["module"]
    if by == "stack":
        return ";".join(frame["function"] for frame in reversed(row["stack"]))
    if by == "size":
        upper = row["size"].split("..")[-1].removeprefix("up to ").split(" ")
        return float(upper[0]) * UNITS[upper[1]] if len(upper) == 2 and upper[0][0] != "[" else row["size"]
    if by == "thread":
        return f"{row['pid']}/{row['tid']}"
    if by == "process":
        return str(row["pid"])
    return row["label" if by.startswith("label:") else by]


def page_key(by, row):
    if by in ("function", "line"):
        return row["label"], row["module"]
    if by == "stack":
        return row["label"]
    if by == "size":
        return row["key"] or row["label"]
    if by in ("thread", "process"):
        return row["who"]
    if by == "module":
        return row["detail"] or row["label"]
    return row["label"]


def differs(what, found, wanted):
    if found is None or wanted is None:
        return None if found == wanted else f"{what}: {found}, not {wanted}"
    return None if abs(found - wanted) <= SHARE * max(abs(wanted), 1) else f"{what}: {found}, not {wanted}"


def compare(what, by, answer, wanted):
    if answer["isWholeRun"]:
        return [f"{what}: the page knows the whole run alone"]
    rows = {}
    for row in answer["rows"]:
        rows.setdefault(page_key(by, row), []).append(row)
    problems, seen = [], {}
    for row in wanted["rows"]:
        seen.setdefault(report_key(by, row), []).append(row)
    for key, reported in seen.items():
        found = rows.pop(key, [])
        if len(found) != 1:
            problems.append(f"{what}: {len(found)} rows of {key}")
            continue
        if len(reported) > 1:  # stacks of one path, at several addresses
            problems.append(differs(f"{what} {key} in all", found[0]["self"][0],
                                    sum(row["self"]["estimate"] for row in reported)))
            continue
        problems.append(differs(f"{what} {key} samples", found[0]["samples"], reported[0]["samples"]))
        for side in ("self", "total"):
            for i, end in enumerate(("estimate", "low", "high")):
                problems.append(differs(f"{what} {key} {side} {end}", found[0][side][i], reported[0][side][end]))
    problems += [f"{what}: {key} is in no row of the report" for key in rows]
    of = wanted["selected_" + ("count" if wanted["query"]["unit"] == "count" else "bytes")]
    problems += [differs(f"{what}: all, {end}", answer["all"][i], of[end])
                 for i, end in enumerate(("estimate", "low", "high"))]
    return problems


class Asking:
    """Questions to the page and to the report, each of which answers all of them at once."""

    def __init__(self, path, data):
        self.path, self.data, self.questions = path, data, []
        self.edges = data["times"]["edges_ns"]

    def ask(self, what, by, state, *options):
        self.questions.append((what, by, state, options))

    def windows(self, by, metric, unit="bytes", state=None, options=()):
        """A metric of the report in the whole run and in some windows."""
        edges, count = self.edges, len(self.edges) - 1
        for i, j in ((0, count), (count // 3, 2 * count // 3), (count // 2, count // 2 + 1), (count // 2, count)):
            bounds = {"from": edges[i] if i > 0 else None, "to": edges[j] if j < count else None}
            if metric == "live":
                bounds["from"] = None
                when = ("--at", f"{edges[j]}ns") if j < count else ()
            else:
                # The report's window is open below; the page's first bin has what was there at the
                # start.
                when = ("--between", f"{edges[i] if i > 0 else 0}ns,{edges[j]}ns") if (i, j) != (0, count) else ()
            self.ask(f"{metric} in edges {i} to {j}, {unit}, {' '.join(options)}", by,
                     {"metric": metric, "unit": unit, **bounds, **(state or {})},
                     "--metric", metric, "--unit", unit, *when, *options)

    def problems(self):
        asked = [{"by": by, "state": state} for _, by, state, _ in self.questions]
        done = subprocess.run(["node", str(ROWS)], input=json.dumps({"data": self.data, "questions": asked}),
                              check=True, capture_output=True, text=True)
        problems = []
        for (what, by, _, options), answer in zip(self.questions, json.loads(done.stdout)):
            problems += compare(f"{by}, {what}", by, answer, report(self.path, by, options))
        return problems


def check_profile(name, path, groupings):
    data = page(path)
    for by in groupings:
        asking = Asking(path, data)
        for metric in ("live", "allocated", "freed", "temporary"):
            asking.windows(by, metric)
        asking.windows(by, "live", "count")
        asking.ask("peak", by, {"metric": "peak"}, "--metric", "peak")
        check(f"{name}: rows by {by} are those of the report, in every window", *asking.problems())
    return data


def ask_pinned(asking, by, state=None, options=()):
    for look, moment in (("last", ()), ("peak", ("--at", "peak"))):
        asking.ask(f"pinned, {look}, {' '.join(options)}", by, {"metric": "pinned", "look": look, **(state or {})},
                   "--metric", "pinned", *moment, *options)


def check_pinned(folder, rich):
    """Pinned memory, of several processes, at two looks, with and without exact totals."""
    for name, limit in (("pinned", None), ("pinned, walked", 40000)):
        path = os.path.join(folder, f"{name}.geiger")
        shutil.copy(rich, path)
        add_looks(path, limit)
        data = page(path)
        looks = data["pinned_looks"]
        check(f"{name}: the page has the looks of both moments",
              None if [look["moments"] for look in looks] == [["last"], ["peak"]] else f"{[look['moments'] for look in looks]}",
              None if all(look["hides"] and any(look["unsure"]) and len(look["n"]) > 50 for look in looks) else "another kind of look",
              None if all(min(look["reserve_bytes"]) == 0 for look in looks) else "no look is exact",
              None if all((look["limit_bytes"] is None) == (limit is None) for look in looks) else "the limit")
        for by in (*GROUPINGS, "label:host", "label:a,b<i>%"):
            if by == "stack" and limit is not None:
                continue  # a stack of the page may be several of the report, each within the limit
            asking = Asking(path, data)
            ask_pinned(asking, by)
            # A window of the chart changes nothing.
            ask_pinned(asking, by, {"from": asking.edges[3], "to": asking.edges[9]})
            ask_pinned(asking, by, {"only": ["/^(load|node)$/"], "without": ["/step/"]}, ("--focus", "^(load|node)$", "--ignore", "step"))
            check(f"{name}: rows by {by} are those of the report, at each look", *asking.problems())
        check_library(name, path, data, [("pinned", "bytes")])


def check_temporary(path, data):
    asking = Asking(path, data)
    for ns in data["brief_ns"]:
        asking.windows("line", "temporary", "count", {"within": ns}, ("--temporary", f"{ns}ns"))
    check("temporary memory is that of the report, for each of its lives", *asking.problems())


def check_one_process(path, data):
    asking = Asking(path, data)
    for pid in data["processes"]["pid"][1:]:
        for metric in ("live", "left", "allocated", "freed", "temporary"):
            asking.windows("line", metric, "bytes", {"who": str(pid)}, ("--process", str(pid)))
        asking.ask("peak of a process", "line", {"metric": "peak", "who": str(pid)}, "--metric", "peak", "--process", str(pid))
    check("one process alone is that of the report", *asking.problems())


def check_searches(path, data):
    asking = Asking(path, data)
    for only, without, options in (
        ("/^(load|node)$/", None, ("--focus", "^(load|node)$")),
        (None, "/^pa/", ("--ignore", "^pa")),
        ("/step/", "/load/", ("--focus", "step", "--ignore", "load")),
    ):
        state = {"only": [only] if only else [], "without": [without] if without else []}
        for metric in ("live", "temporary"):
            asking.windows("line", metric, "bytes", state, options)
            asking.windows("process", metric, "bytes", state, options)
        for by in ("line", "process"):
            asking.ask(f"peak, {' '.join(options)}", by, {"metric": "peak", **state}, "--metric", "peak", *options)
    check("only stacks that a search finds, and those without, are those of --focus and --ignore", *asking.problems())


def check_named(path, data, name):
    """A row that a filter names was not found by its samples, so its low end is another one."""
    asking = Asking(path, data)
    for state in ({"only": [name]}, {"only": [f"/^{name}$/"]}, {"focus": [name]}):
        for metric in ("live", "allocated"):
            asking.windows("function", metric, "bytes", state, ("--focus", f"^{name}$"))
    check("a function that a filter names has the row of --focus", *asking.problems())
    of = report(path, "function", ("--focus", name, "--metric", "allocated"))["selected_bytes"]
    done = subprocess.run(["node", str(ROWS)], input=json.dumps({"data": data, "questions": [{"search": name, "state": {"metric": "allocated"}}]}),
                          check=True, capture_output=True, text=True)
    check("a search has the sum of --focus",
          *[differs(end, found, of[end]) for end, found in zip(("estimate", "low", "high"), json.loads(done.stdout)[0])])


def check_chart(path, data):
    """The chart's line of a selected part has the numbers of reports at its moments."""
    edges, count = data["times"]["edges_ns"], len(data["times"]["edges_ns"]) - 1
    pid, last = data["processes"]["pid"][1], str(data["processes"]["pid"][-1])
    tid = next(tid for tid, of in zip(data["threads"]["tid"], data["threads"]["process"]) if of == 1 and tid)
    moments = sorted({count // 5, count // 2, data["times"]["peak_edge"], count - 1, count})
    parts = (
        ({}, ()),
        ({"search": "load"}, ("--focus", "load")),
        ({"focus": ["load"]}, ("--focus", "^load$")),
        ({"sandwich": "parse"}, ("--focus", "^parse$")),
        ({"hide": ["load"]}, ("--ignore", "^load$")),
        ({"who": str(pid)}, ("--process", str(pid))),
        ({"who": last, "search": "node"}, ("--process", last, "--focus", "node")),
        ({"who": f"{pid}/{tid}"}, None),
    )
    asked = [{"state": state, "edges": moments} for state, _ in parts]
    done = subprocess.run(["node", str(ROWS)], input=json.dumps({"data": data, "questions": asked}),
                          check=True, capture_output=True, text=True)
    problems, has_memory = [], 0
    for (state, options), answer in zip(parts, json.loads(done.stdout)):
        for edge, figure in zip(moments, answer):
            at = ("--at", f"{edges[edge]}ns") if edge < count else ()
            if options is None:
                # A thread is a row, whose low end allows for its discovery.
                rows = report(path, "thread", ("--metric", "live", *at))["rows"]
                wanted = next((row["self"] for row in rows if f"{row['pid']}/{row['tid']}" == state["who"]), None)
            else:
                wanted = report(path, "function", ("--metric", "live", *at, *options))["selected_bytes"]
            if wanted is None:
                problems.append(f"{state} at edge {edge}: no row" if figure[0] > 0 else None)
                continue
            problems += [differs(f"{state} at edge {edge}, {end}", figure[i], wanted[end])
                         for i, end in enumerate(("estimate", "low", "high")) if options is not None or end != "low"]
            has_memory += figure[0] > 0
    problems.append(None if has_memory > len(parts) * len(moments) / 2 else f"{has_memory} moments have memory")
    check("the chart of a search, function, thread or process has the numbers of reports at its moments", *problems)


def check_texts(path, data):
    """The page writes estimates as the command does."""
    figures, wanted = [], []
    for metric in ("live", "allocated", "freed", "temporary", "peak"):
        for part in ("", "load", "^node$", "parse", "step", "nothing has this name"):
            options = ("--metric", metric, *(("--focus", part) if part else ()))
            figures.append(report(path, "function", options)["selected_bytes"])
            text = subprocess.run([GEIGER, "report", path, *options], check=True, capture_output=True, text=True).stdout
            wanted.append(re.search(r"^[a-z ]+(?: at [^:]*)?(?: \(.*\))?: (.*?) in \d+ rows?, by function", text, re.M)
                          or text)
    done = subprocess.run(["node", str(ROWS)], input=json.dumps({"data": data, "questions": [{"figures": figures}]}),
                          check=True, capture_output=True, text=True)
    problems = [None if not isinstance(match, str) and match.group(1) == text else f"{text}, not {match}"
                for text, match in zip(json.loads(done.stdout)[0], wanted)]
    check("the page writes an estimate and its error as the report does", *problems)


METRICS = [(metric, unit) for metric in ("live", "peak", "allocated", "freed") for unit in ("bytes", "count")]


def check_library(name, path, data, metrics=METRICS):
    """Without library frames, self is that of --mine."""
    for by in ("function", "line"):
        asked = [{"by": by, "state": {"metric": metric, "unit": unit, "hideLibrary": True}} for metric, unit in metrics]
        done = subprocess.run(["node", str(ROWS)], input=json.dumps({"data": data, "questions": asked}),
                              check=True, capture_output=True, text=True)
        problems, moved = [], 0
        for (metric, unit), answer in zip(metrics, json.loads(done.stdout)):
            rows = {}
            for row in answer["rows"]:
                if row["self"][0] > 0:
                    rows.setdefault(row["label"], []).append(row)
            wanted = report(path, by, ("--mine", "--metric", metric, "--unit", unit))
            for row in wanted["rows"]:
                if row["self"]["estimate"] == 0:
                    continue
                moved += row.get("via") is not None
                key = page_label(by, row)
                found = rows.pop(key, [])
                problems.append(None if len(found) == 1 else f"{metric} {key}: {len(found)} rows")
                for i, end in enumerate(("estimate", "low", "high")):
                    problems.append(differs(f"{metric} {key} {end}", found[0]["self"][i] if found else None, row["self"][end]))
            problems += [f"{metric} {key} is in no row of the report" for key in rows]
        problems.append(None if moved or name != "golden" else "no row has memory of a library")
        check(f"{name}: without library frames, rows by {by} are those of --mine", *problems)


def page_label(by, row):
    place = f"{row['file']}:{row['line']} " if by == "line" and row["file"] else ""
    return place + row["function"]


def check_folded(folder):
    """A page that had no room: what is folded is a row, so that rows add up to everything."""
    path = os.path.join(folder, "large.geiger")
    subprocess.run([os.environ["PAGE_PROFILE"], "large", path], check=True, env={**os.environ, "PAGE_STACKS": "8000"})
    # The limit is for the whole file, whose scripts and styles have a size of their own.
    data = page(path, "--max-size", str(PAGE_FILE.stat().st_size + DATA_BYTES))
    edges = data["times"]["edges_ns"]
    window = {"metric": "allocated", "from": None, "to": edges[-2]}
    asked = [{"by": by, "state": window} for by in ("function", "line", "stack", "thread", "process")]
    done = subprocess.run(["node", str(ROWS)], input=json.dumps({"data": data, "questions": asked}),
                          check=True, capture_output=True, text=True)
    problems = [None if data["folds"]["least_share"] > 0 and data["folds"]["lines"] else f"{data['folds']}"]
    for question, answer in zip(asked, json.loads(done.stdout)):
        problems.append("the whole run alone" if answer["isWholeRun"] else None)
        problems.append(differs(question["by"], sum(row["self"][0] for row in answer["rows"]), answer["all"][0]))
        least = max(row["total"][0] for row in answer["rows"])
        problems.append(f"{question['by']}: a total above all" if least > answer["all"][0] * (1 + SHARE) else None)
    check("rows of a folded page add up to everything", *problems)


def check_lossy(folder):
    """Rows have the bounds of reports even where times were lost."""
    if "AGENT" not in os.environ:
        return
    path = os.path.join(folder, "lossy.geiger")
    subprocess.run([GEIGER, "record", "--quiet", "--seed", "7", "-i", "64", "-o", path, os.environ["PROGRAM"], "lossy"],
                   check=True, env={**os.environ, "GEIGER_RING": "4096"})
    check_profile("lossy", path, ("function", "size", "thread"))


def check_left(name, path, data):
    asking = Asking(path, data)
    asking.windows("function", "left")
    check(f"{name}: what was left is that of the report", *asking.problems())


def check_heirs(folder, rich):
    """Upper ends have the same blocks that children without a region may hold, or may have left."""
    path, ms = os.path.join(folder, "heirs.geiger"), 1_000_000
    shutil.copy(rich, path)
    with sqlite3.connect(path) as db:
        for number, start_ns, end_ns in ((4, 100 * ms, 500 * ms), (5, 300 * ms, 1000 * ms)):
            db.execute("insert into process(id, parent, pid, start_ns, end_ns, interval) values (?, 1, ?, ?, ?, 4096)",
                       (number, 6000 + number, start_ns, end_ns))
            db.execute("insert into counter values (?, 'samples held by an idle child', 1)", (number,))
        db.execute("insert into counter values (2, 'forked processes that were not noted', 1)")
        # The second process left at its end what the first one frees later.
        db.execute("update process set end_ns = 600000000 where id = 2")
        first = "process = 1 and origin is null and t_alloc < 400000000 and id % 7 = 0"
        db.execute(f"update sample set t_free = 950000000 where {first}")
        db.execute("insert into sample(t_alloc, process, stack, size, usable, address, scheme, interval, offset, marks,"
                   " origin) select t_alloc, 2, stack, size, usable, address, scheme, interval, offset, marks, id"
                   f" from sample where {first}")
    data = page(path)
    check("heirs: the page knows of them", *[None if any(data["cells"].get(name, [])) else f"no {name}"
                                             for name in ("heirs", "left", "left_first", "left_last")])
    asking = Asking(path, data)
    for metric in ("live", "left", "freed", "temporary"):
        asking.windows("function", metric)
    for metric in ("live", "left"):
        asking.windows("function", metric, "bytes", {"who": "4711"}, ("--process", "4711"))
    check("heirs: rows are those of the report, also of one process", *asking.problems())


def has_upper_ends(path):
    """True if live memory is uncertain at one of twenty moments."""
    moments = [report(path, "function", ("--metric", "live"))["duration_ns"] * i // 20 for i in range(1, 20)]
    of = (report(path, "function", ("--metric", "live", "--at", f"{moment}ns"))["selected_bytes"] for moment in moments)
    return any(end["high"] > end["low"] for end in of)


def check_exact(folder):
    """Exact counts have upper ends, because forked processes may hold what they inherited."""
    if "AGENT" not in os.environ:
        return
    for name, what, most in (("forks", "forks", {}), ("an heir", "heir", {}),
                             ("a full table", "many", {"GEIGER_MAX_LIVE": "1024"})):
        path = os.path.join(folder, f"exact-{what}.geiger")
        # Forks that all come within one tick of the counts leave nothing uncertain.
        for _ in range(20):
            subprocess.run([GEIGER, "record", "--quiet", "--exact", "-o", path, os.environ["PROGRAM"], what],
                           check=True, env={**os.environ, **most})
            if has_upper_ends(path):
                break
        data = check_profile(f"exact, {name}", path, ("function", "size"))
        check_left(f"exact, {name}", path, data)
        check(f"exact, {name}: there are upper ends", None if has_upper_ends(path) else "none")


def main():
    version = subprocess.run(["node", "-p", "process.versions.node"], capture_output=True, text=True)
    if int(version.stdout.split(".")[0]) < 18:
        skip("rows of the page", "no node >= 18 here")
        sys.exit(status())
    with tempfile.TemporaryDirectory() as folder:
        made, rich = os.path.join(folder, "made.geiger"), os.path.join(folder, "rich.geiger")
        subprocess.run([os.environ["GOLDEN_PROFILE"], made], check=True)
        subprocess.run([os.environ["PAGE_PROFILE"], "rich", rich], check=True)
        data = check_profile("golden", made, ("function", "line", "size", "process"))
        check_library("golden", made, data)
        check_named(made, data, "log_line")
        data = check_profile("rich", rich, (*GROUPINGS, "label:host", "label:a,b<i>%"))
        check_library("rich", rich, data)
        check_left("rich", rich, data)
        check_heirs(folder, rich)
        check_pinned(folder, rich)
        check_lossy(folder)
        check_exact(folder)
        check_temporary(rich, data)
        check_one_process(rich, data)
        check_searches(rich, data)
        check_chart(rich, data)
        check_texts(rich, data)
        check_folded(folder)
    sys.exit(status())


if shutil.which("node") is None:
    skip("rows of the page", "no node here")
    sys.exit(status())
main()
