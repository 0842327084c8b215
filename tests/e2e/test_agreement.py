#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""All commands that show the same quantity show the same number, over recorded sessions.

A *view* is one way to a quantity of a profile: a command, an export, a table of the page, a query.
Each view returns {quantity: number}; None is a number that is not known.  All views of a quantity
must agree.

GEIGER, AGENT, PROGRAM (agreement_program), STATIC_PROGRAM (the same, not to be profiled): programs.
PYTHON_ADAPTER: folder of the adapter, or empty.
"""

import base64
import csv
import gzip
import io
import json
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from page_cells import Cells  # noqa: E402
from sentences import check, in_scratch
from varint import varint

GEIGER, PROGRAM = os.environ["GEIGER"], os.environ["PROGRAM"]
GROUPINGS = ("function", "line", "stack", "module", "size", "kind", "heap", "type")
METRICS = ("live", "allocated", "peak", "left")
EVERY = "2KiB"


def geiger(*arguments, status=0, **options):
    done = subprocess.run([GEIGER, *arguments], capture_output=True, text=True, **options)
    if done.returncode != status:
        raise RuntimeError(f"geiger {' '.join(arguments)}: status {done.returncode}\n{done.stderr}")
    return done.stdout


def answer(*arguments):
    return json.loads(geiger(*arguments, "--json"))


def point(triple):
    """The estimate of a triple of JSON; None if the triple is null."""
    return None if triple is None else triple["estimate"]


# --- views ---


def head(of):
    """The numbers that all reports have in common."""
    totals = of["totals"]
    return {
        "live bytes": point(totals["live_bytes"]),
        "live count": point(totals["live_count"]),
        "left bytes": point(totals["left_bytes"]),
        "left count": point(totals["left_count"]),
        "allocated bytes": point(totals["allocated_bytes"]),
        "allocated count": point(totals["allocated_count"]),
        "peak bytes": point(totals["peak_bytes"]),
        "peak ns": of["peak_at_ns"],
        "samples": of["samples"],
        "dropped": of["dropped"],
        "duration": of["duration_ns"],
        "unresolved": of["unresolved"] and of["unresolved"]["frames"],
    }


def ends(of):
    """Both ends of the intervals, which must be the same as well."""
    return {
        f"{name} {end}": triple and triple[end]
        for name, triple in of["totals"].items()
        for end in ("low", "high")
    }


def interval(quantity, triple):
    """The estimate of a triple of JSON, and both ends of its interval."""
    name = quantity.replace(" ", "_")
    return {
        quantity: point(triple),
        **{f"{name} {end}": triple and triple[end] for end in ("low", "high")},
    }


def rows_view(path, metric, unit):
    """Sums of rows; of a quantity whose rows are each a part."""
    views = {}
    for by in GROUPINGS:
        of = answer("report", path, "-m", metric, "-u", unit, "--by", by, "--limit", "0")
        sums = sum(point(row["self"]) or 0 for row in of["rows"])
        views[f"report -m {metric} -u {unit} --by {by}"] = {
            f"{metric} {unit}": sums,
            **{key: value for key, value in head(of).items()},
        }
        views[f"report -m {metric} -u {unit} --by {by}, selected"] = interval(
            f"{metric} {unit}", of[f"selected_{unit}"])
    return views


def has_metric(path, metric):
    """A metric that needs history falls back to live, and says so."""
    return metric != "peak" or answer("report", path)["totals"]["peak_bytes"] is not None


def reports(path):
    first = answer("report", path)
    views = {"report": {**head(first), **ends(first)}}
    for metric in METRICS:
        if not has_metric(path, metric):
            continue
        for unit in ("bytes", "count"):
            views |= rows_view(path, metric, unit)
            tree = answer("tree", path, "-m", metric, "-u", unit)
            views[f"tree -m {metric} -u {unit}"] = {
                **interval(f"{metric} {unit}", tree["nodes"][0]["total"]),
                **head(tree), **ends(tree),
            }
            diff = answer("diff", path, path, "-m", metric, "-u", unit)
            views[f"diff -m {metric} -u {unit}"] = {
                **interval(f"{metric} {unit}", diff["total"]["before"]),
                "samples": diff["before"]["samples"], "duration": diff["before"]["duration_ns"],
            }
            views[f"diff -m {metric} -u {unit}, after"] = interval(
                f"{metric} {unit}", diff["total"]["after"])
            views[f"diff -m {metric} -u {unit}, change"] = {
                "zero": 0, "changed rows": 0,
            }
            views[f"diff -m {metric} -u {unit}, of itself"] = {
                "zero": point(diff["total"]["difference"]),
                "changed rows": sum(row["significant"] for row in diff["rows"]),
            }
    return views


NUMBER = r"([0-9]+)"


def text_head(path, of):
    """The head that people see, with whole numbers."""
    text = geiger("report", path, "--bytes", "--ascii")
    view = {}
    for name, quantity in (("live at the end", "live"), ("allocated", "allocated"), ("peak", "peak")):
        line = re.search(rf"^{name} +{NUMBER}(?: |$)", text, re.M)
        # An interval that is wide has its two ends alone.
        if line and of["totals"][f"{quantity}_bytes"]:
            view[f"{quantity} bytes rounded"] = float(line.group(1))
    samples = re.search(r"([0-9]+) samples,", text)
    if samples:
        view["samples"] = int(samples.group(1))
    return {"report, text": view}


def timeline(path, of):
    if not of["has_history"]:
        return {}
    line = answer("timeline", path)
    last = line["points"][-1]
    view = {**interval("live bytes", last["live_bytes"]), **head(line), **ends(line)}
    most = max((p["most_bytes"] or 0 for p in line["points"]), default=0)
    return {
        "timeline": view,
        "timeline, peak": {
            "peak bytes": point(line["peak"]["live_bytes"]) if line["peak"] else 0,
            "peak ns": line["peak"]["time_ns"] if line["peak"] else None,
        },
        "timeline, largest point": {"peak bytes": most},
        "timeline, RSS": {"rss": line["rss_peak"] and line["rss_peak"]["rss_bytes"],
                          "rss is a bound": line["rss_peak"] and line["rss_peak"]["is_upper_bound"]},
        **resident_then(path, line["rss_peak"]),
    }


def resident_then(path, largest):
    """The report of the moment that the timeline names, and no row of v_timeline above it."""
    if not largest or largest["rss_bytes"] is None:
        return {}
    then = answer("report", path, "--at", f"{largest['time_ns']}ns", "-m", "live")["memory"]["at_moment"]
    most, = query(path, "select max(rss_bytes) from v_timeline")
    return {"report --at, RSS": {"rss": then["rss_bytes"], "rss is a bound": then["is_upper_bound"]},
            "sql, v_timeline, RSS": {"at most the rss": most or 0}}


def moments(path, of):
    """The same moments, asked for as moments."""
    if not of["has_history"]:
        return {}
    views = {}
    if of["peak_at_ns"] is not None:
        at = answer("report", path, "--at", f"{of['peak_at_ns']}ns", "-m", "live")
        views["report --at PEAK"] = {"peak bytes": point(at["totals"]["live_bytes"])}
    whole = answer("report", path, "--between", "0s", f"{of['duration_ns']}ns", "-m", "allocated")
    views["report --between START END"] = {"allocated bytes": point(whole["selected_bytes"])}
    return views


def leaks(path, of):
    if not of["has_history"]:
        return {}
    found = answer("leaks", path)
    return {"leaks": {**interval("left bytes", found["live_bytes"]),
                      **interval("left count", found["live_count"]),
                      **head(found), **ends(found)}}


def last_frame(path, of):
    """The last state that top shows."""
    if not of["has_history"]:
        return {}
    frame = json.loads(geiger("top", path, "--json", "-n", "1"))
    return {"top": {**interval("live bytes", frame["live_bytes"]), "samples": frame["samples"],
                    "dropped": frame["dropped"]},
            "top, total": {**interval("live bytes", frame["total"]["self"]),
                           **interval("live count", frame["total"]["count"])}}


def query(path, text):
    rows = list(csv.reader(io.StringIO(geiger("sql", "--csv", path, text))))
    return [float(cell) if cell != "" else None for cell in rows[1]]


def sql(path, of):
    sums = "coalesce(sum(live_bytes), 0), coalesce(sum(live_count), 0), coalesce(sum(allocated_bytes), 0)," \
           " coalesce(sum(allocated_count), 0), coalesce(sum(left_bytes), 0), coalesce(sum(left_count), 0)"
    names = ("live bytes", "live count", "allocated bytes", "allocated count", "left bytes", "left count")
    views = {"sql, v_stack": dict(zip(names, query(path, f"select {sums} from v_stack")))}
    own = re.sub(r"sum\(", "sum(self_", sums)
    views["sql, v_function"] = dict(zip(names, query(path, f"select {own} from v_function")))
    if of["has_history"]:
        last, most = query(path, "select (select live_bytes from v_timeline order by time_ns desc limit 1),"
                                 " (select max(live_bytes) from v_timeline)")
        views["sql, v_timeline"] = {"live bytes": last}
        views["sql, v_timeline, largest"] = {"at most the peak": most}
    return views


def functions(path, of):
    """The row of each function, by report, comparison and view.  Reports give what geiger's own
    libraries allocated to their callers, and the view does not."""
    frames = ("--all-frames", "--native")
    own, = query(path, "select count(*) from v_function where module like '%libgeiger%'"
                       " and self_live_bytes + self_allocated_bytes > 0")
    views = {}
    for metric in ("live", "allocated"):
        rows = answer("report", path, "-m", metric, "--limit", "0", *frames)["rows"]
        diff = answer("diff", path, path, "-m", metric, "--all", "--limit", "0", *frames)["rows"]
        views[f"report -m {metric}, rows"] = by_function(metric, ((row, point(row["self"])) for row in rows))
        views[f"diff -m {metric}, rows"] = by_function(metric, ((row, point(row["before"])) for row in diff))
        if own == 0:
            text = geiger("sql", "--csv", path, f"select full_name, self_{metric}_bytes as own from v_function")
            views[f"sql, v_function, {metric} of rows"] = by_function(
                metric, ((row, float(row["own"] or 0)) for row in csv.DictReader(io.StringIO(text))))
    return views


def by_function(metric, rows):
    sums = {}
    for row, value in rows:
        key = f"{metric} bytes of {row['full_name']}"
        sums[key] = sums.get(key, 0) + (value or 0)
    return sums


def page(path, of):
    geiger("html", path, "--quiet", "-o", "agreement.html")
    text = pathlib.Path("agreement.html").read_text(encoding="utf-8")
    packed = re.search(r'id="geiger-data">([A-Za-z0-9+/=]*)</script>', text).group(1)
    data = json.loads(gzip.decompress(base64.b64decode(packed)))
    meta, cells = data["meta"], Cells(data)
    totals = meta["totals"]
    views = {"html, header": {
        **{name.replace("_", " "): point(triple) for name, triple in totals.items()},
        "samples": meta["samples"], "dropped": meta["dropped"], "duration": meta["duration_ns"],
        "peak ns": meta["peak_at_ns"],
        **{f"{name} {end}": triple and triple[end] for name, triple in totals.items()
           for end in ("low", "high")},
    }}
    live_bytes, live_count = cells.sums(cells.live(cells.bins))
    bytes_, count = cells.sums(cells.allocated(0, cells.bins))
    views["html, cells"] = {"live bytes": live_bytes, "live count": live_count,
                            "allocated bytes": bytes_, "allocated count": count}
    edge = data["times"]["peak_edge"]
    if edge is not None:
        views["html, cells at the peak"] = {"peak bytes": cells.sums(cells.live(edge))[0]}
    series = data["series"]
    if of["has_history"] and series["live"]:
        views["html, chart"] = {"live bytes": series["live"][-1]}
        views["html, top of the chart"] = {"peak bytes": max(max(series["live"]), max(series["most"]))}
        largest = [reading for reading in series["rss"] if reading is not None]
        if largest:
            views["html, RSS"] = {"rss": max(largest), "rss is a bound": series["rss_peak"]["is_upper_bound"]}
    return views


def varints(data):
    at = 0
    while at < len(data):
        value, at = varint(data, at)
        yield value


def fields(data):
    """(number, value) of a message of protocol buffers: whole numbers, and bytes as views of
    `data`."""
    data, at = memoryview(data), 0
    while at < len(data):
        key, at = varint(data, at)
        value, at = varint(data, at)
        if key & 7 == 2:
            value, at = data[at:at + value], at + value
        yield key >> 3, value


def signed(value):
    return value - (1 << 64) if value >= 1 << 63 else value


def pprof(path):
    geiger("export", path, "-f", "pprof", "-o", "agreement.pb.gz")
    message = gzip.decompress(pathlib.Path("agreement.pb.gz").read_bytes())
    strings, types, sums, count = [], [], None, 0
    for number, value in fields(message):
        if number == 6:
            strings.append(bytes(value).decode())
        elif number == 1:
            types.append(dict(fields(value))[1])
        elif number == 2:
            packed = [v for n, v in fields(value) if n == 2][0]
            values = [signed(v) for v in varints(packed)]
            sums = [a + b for a, b in zip(sums or [0] * len(values), values)]
            count += 1
    named = dict(zip([strings[of] for of in types], sums or [0] * len(types)))
    return named, count


def exports(path, of):
    views = {}
    collapsed = {}
    for metric in METRICS:
        if not has_metric(path, metric):
            continue
        lines = geiger("export", path, "-f", "collapsed", "-m", metric, "-o", "-").splitlines()
        collapsed[metric] = sum(int(line.rsplit(" ", 1)[1]) for line in lines)
        views[f"export -f collapsed -m {metric}"] = {f"{metric} bytes whole": (collapsed[metric], len(lines))}
        speedscope = json.loads(geiger("export", path, "-f", "speedscope", "-m", metric, "-o", "-"))
        first = [p for p in speedscope["profiles"] if metric in p["name"].lower()]
        if first:
            views[f"export -f speedscope -m {metric}"] = {
                f"{metric} bytes whole": (sum(first[0]["weights"]), len(first[0]["weights"]))}
    rows = list(csv.DictReader(io.StringIO(geiger("export", path, "-f", "csv", "-o", "-"))))
    views["export -f csv"] = {
        f"{metric} {unit} whole": (sum(float(row[f"{metric}_{unit}"] or 0) for row in rows), len(rows))
        for metric in ("live", "allocated") for unit in ("bytes", "count")}
    named, count = pprof(path)
    for kind, quantity in (("inuse_space", "live bytes"), ("inuse_objects", "live count"),
                           ("alloc_space", "allocated bytes"), ("alloc_objects", "allocated count")):
        if kind in named:
            views[f"export -f pprof, {kind}"] = {f"{quantity} whole": (named[kind], count)}
    return views


def merged_again(path, of):
    """One profile alone, merged: estimates are the same.  Sums know less than samples, so an
    interval may be wider, and none is tighter."""
    geiger("merge", "--quiet", "-o", "alone.geiger", path)
    geiger("merge", "--quiet", "-o", "alone_again.geiger", "alone.geiger")
    keys = ("live bytes", "live count", "allocated bytes", "allocated count", "left bytes", "left count", "samples")
    views = {}
    for name in ("alone", "alone_again"):
        merged = answer("report", f"{name}.geiger")
        numbers = head(merged)
        views[f"merge, {name}"] = {**{key: numbers[key] for key in keys},
                                   "tighter ends": tighter(of["totals"], merged["totals"])}
    return views


def tighter(all_before, all_after):
    """The ends of intervals that are nearer to the estimate than they were."""
    found = []
    for name, before in all_before.items():
        after = all_after[name]
        if before is None or after is None:
            continue
        if (after["low"] or 0) > (before["low"] or 0) * (1 + 1e-6) + 1e-6:
            found.append(f"{name} from {before['low']}, merged {after['low']}")
        # No upper end is the widest.
        if after["high"] is not None and (before["high"] is None or after["high"] < before["high"] * (1 - 1e-6) - 1e-6):
            found.append(f"{name} to {before['high']}, merged {after['high']}")
    return found


def imported_again(path, of):
    """Exported and imported, where a format has the estimates to the byte.  A file without a sample
    is no import."""
    views = {}
    for form in ("pprof", "perfetto") if of["samples"] > 0 else ():
        geiger("export", path, "-f", form, "-o", "again.export")
        geiger("import", "--quiet", "--ignore-files", "-o", "again.geiger", "again.export")
        again = answer("report", "again.geiger", "--by", "stack", "--limit", "0")
        rows = max(again["row_count"], 1)
        views[f"import of {form}"] = {
            f"{metric} {unit} whole": (point(again["totals"][f"{metric}_{unit}"]) or 0, 3 * rows)
            for metric in ("live", "allocated") for unit in ("bytes", "count")}
        os.unlink("again.geiger")
    return views


# --- comparison ---


def is_same(quantity, a, b):
    if a is None or b is None:
        return a is b
    return abs(a - b) <= 1e-6 * max(abs(a), abs(b)) + 1e-6


def disagreements(views, slack):
    """Each view against the first that has the quantity."""
    first, found = {}, []
    for view, quantities in views.items():
        for quantity, value in quantities.items():
            if quantity == "tighter ends":
                found += [f"'{view}': {end}" for end in value]
            if quantity.endswith((" whole", " rounded", "at most the peak", "at most the rss", "tighter ends")):
                continue
            of = first.setdefault(quantity, (view, value))
            if not is_same(quantity, of[1], value):
                found.append(f"{quantity}: {of[1]} by '{of[0]}', {value} by '{view}'")
    for view, quantities in views.items():
        for quantity, value in quantities.items():
            exact = first.get(re.sub(" (whole|rounded)$", "", quantity), (None, None))
            if quantity.endswith(" whole"):
                total, rows = value
                # Whole numbers: each row is off by a half at most, and one more is carried.
                if exact[1] is None or abs(total - exact[1]) > rows / 2 + 1 + 1e-6 * exact[1]:
                    found.append(f"{quantity}: {total} by '{view}', {exact[1]} by '{exact[0]}'")
            elif quantity.endswith(" rounded") and (exact[1] is None or abs(value - exact[1]) > 1):
                found.append(f"{quantity}: {value} by '{view}', {exact[1]} by '{exact[0]}'")
            elif quantity == "at most the peak":
                peak = first["peak bytes"][1]
                if peak is not None and value > peak * (1 + 1e-6):
                    found.append(f"'{view}' has {value}, more than the peak, {peak}")
            elif quantity == "at most the rss" and value > first["rss"][1] * (1 + 1e-6):
                found.append(f"'{view}' has {value}, more than the largest RSS, {first['rss'][1]}")
    return found + slack


def look(name, path, note=None):
    of = answer("report", path)
    views, problems = {}, []
    for make in (reports, timeline, moments, leaks, last_frame, sql, functions, page, exports, text_head,
                 merged_again, imported_again):
        try:
            views |= make(path) if make is reports else make(path, of)
        except (RuntimeError, KeyError, TypeError, ValueError) as error:
            problems.append(f"{make.__name__}: {type(error).__name__} {error}")
    problems = disagreements(views, problems)
    closing = note and re.search(r"wrote \S+: (\d+) samples?", note)
    if closing and int(closing.group(1)) != of["samples"]:
        problems.append(f"record wrote {closing.group(1)} samples, report has {of['samples']}")
    check(f"every_command_has_the_same_numbers_of_{name}", *problems)


def are_known(name, **wanted):
    """Totals of exact counts are the program's own: one number, or at least and at most."""
    totals, problems = answer("report", f"{name}.geiger")["totals"], []
    for key, value in wanted.items():
        least, most = value if isinstance(value, tuple) else (value, value)
        if not least <= point(totals[key]) <= most:
            problems.append(f"{key}: {point(totals[key])}, not {value}")
    check(f"exact_totals_of_{name}_are_the_programs", *problems)


def record(name, *command, status=0, environment=None, every=EVERY):
    """Records by samples; an interval of None records every allocation."""
    how = ["--exact"] if every is None else ["-i", every, "--seed", "7"]
    done = subprocess.run([GEIGER, "record", *how, "-o", f"{name}.geiger", "--", *command],
                          capture_output=True, text=True, env={**os.environ, **(environment or {})})
    if done.returncode != status:
        raise RuntimeError(f"{name}: status {done.returncode}: {done.stderr}")
    return done.stderr


def leave_one_round(source, path):
    """One round of readings, of two processes that share most pages with other programs: their Pss
    adds up to less than the plain size of the one that lives longer."""
    shutil.copy(source, path)
    profile = sqlite3.connect(path)
    (first,), = profile.execute("select id from process order by start_ns limit 1")
    (second, time_ns), = profile.execute("select id, (start_ns + end_ns) / 2 from process where id <> ?"
                                         " order by start_ns limit 1", (first,))
    profile.execute("delete from memory")
    profile.executemany("insert into memory (process, time_ns, rss_bytes, pss_bytes, pss_file_bytes)"
                        " values (?, ?, ?, ?, 0)",
                        [(first, time_ns, 2338816, 700000), (second, time_ns, 2100000, 1610144)])
    profile.commit()
    profile.close()


def salvage(name, *command):
    """The agent alone, and its region afterwards."""
    os.mkdir(f"{name}.regions")
    environment = {**os.environ, "LD_PRELOAD": os.environ["AGENT"], "GEIGER_INTERVAL": EVERY, "GEIGER_SEED": "7",
                   "GEIGER_DIR": os.path.abspath(f"{name}.regions")}
    subprocess.run(command, env=environment, check=True)
    geiger("salvage", "--quiet", "-o", f"{name}.geiger", *map(str, pathlib.Path(f"{name}.regions").glob("*.region")))


PYTHON_WORK = """
kept = [bytearray(n) for n in (100, 400, 600, 5000, 70000) for _ in range(40)]
more = [bytes(3000) for _ in range(400)]
del more
text = {str(n): "x" * n for n in range(800)}
"""


def run():
    look("one_process", "one.geiger", record("one", PROGRAM, "work"))
    look("exact", "exact.geiger", record("exact", PROGRAM, "work", every=None))
    look("exact_forks", "exact_forks.geiger", record("exact_forks", PROGRAM, "forks", every=None))
    # The parent keeps blocks of 1000, 20000 and 5000 bytes, and child i keeps 100 of 500 + 10 i.
    parent = 300 * 1000 + 20 * 20000 + 10 * 5000
    are_known("exact_forks", live_bytes=parent, left_bytes=parent + 100 * sum(500 + 10 * i for i in range(30)))
    look("forks", "forks.geiger", record("forks", PROGRAM, "forks"))
    turns = f"for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do {PROGRAM} work; done; true"
    look("processes_in_turn", "turns.geiger", record("turns", "sh", "-c", turns))
    turns = f"{PROGRAM} work; {PROGRAM} work; sleep 0.05; true"
    look("exact_processes_in_turn", "exact_turns.geiger", record("exact_turns", "sh", "-c", turns, every=None))
    are_known("exact_turns", live_bytes=(0, 20000))  # the shell's
    leave_one_round("turns.geiger", "shares.geiger")
    look("processes_that_share_pages_with_others", "shares.geiger")
    look("killed", "killed.geiger", record("killed", PROGRAM, "killed", status=137))
    look("lossy", "lossy.geiger", record("lossy", PROGRAM, "lossy", environment={"GEIGER_RING": "4096"}, every="64"))
    adapter = os.environ.get("PYTHON_ADAPTER")
    if adapter:
        look("python", "python.geiger", record("python", "/usr/bin/python3", "-m", "geiger", "-c", PYTHON_WORK,
                                               environment={"PYTHONPATH": adapter, "PYTHONHASHSEED": "0"}))
    geiger("merge", "--quiet", "-o", "merged.geiger", "one.geiger", "turns.geiger", "forks.geiger")
    look("merged", "merged.geiger")
    salvage("salvaged", PROGRAM, "work")
    look("salvaged", "salvaged.geiger")
    salvage("salvaged_forks", PROGRAM, "forks")
    look("salvaged_forks", "salvaged_forks.geiger")
    geiger("export", "one.geiger", "-f", "heap_v2", "-o", "one.heap")
    geiger("import", "--quiet", "-o", "imported.geiger", "one.heap")
    look("imported", "imported.geiger")
    look("unprofiled", "unprofiled.geiger", record("unprofiled", os.environ["STATIC_PROGRAM"], "work"))


if __name__ == "__main__":
    sys.exit(in_scratch(run))
