#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The data of the page say what the reports say, fit, and cannot become markup.

GEIGER, GOLDEN_PROFILE, PAGE_PROFILE: programs.  PAGE_STACKS: of a large profile; 100 000 fit into
1.5 MB.
"""

import base64
import gzip
import html.parser
import json
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile

from page_cells import Cells
from sentences import check, status

GEIGER = os.environ["GEIGER"]
MOST_BYTES = 1_500_000


def geiger(*arguments):
    return subprocess.run([GEIGER, *arguments], check=True, capture_output=True, text=True).stdout


def report(path, *options):
    return json.loads(geiger("report", path, "--json", "--limit", "0", *options))


def page(path, *options):
    """The text of the page, and its data; `page.said` is what the command has said of it."""
    done = subprocess.run([GEIGER, "html", path, "-o", path + ".html", *options], check=True, capture_output=True, text=True)
    page.said = done.stdout + done.stderr.replace(path, "PATH")
    text = pathlib.Path(path + ".html").read_text(encoding="utf-8")
    packed = re.search(r'id="geiger-data">([A-Za-z0-9+/=]*)</script>', text).group(1)
    return text, json.loads(gzip.decompress(base64.b64decode(packed)))


def differs(what, found, wanted, share=1e-6):
    """A sentence if two numbers (or nulls) are not the same; numbers of the page have seven
    digits."""
    if found is None or wanted is None:
        return None if found == wanted else f"{what}: {found}, not {wanted}"
    return None if abs(found - wanted) <= share * max(abs(wanted), 1) else f"{what}: {found}, not {wanted}"


def compare_sums(what, rows, of, share=1e-8):
    found = Cells.sums(rows)
    return [
        differs(what + " bytes", found[0], of["selected_bytes"]["estimate"], share),
        differs(what + " count", found[1], of["selected_count"]["estimate"], share),
    ]


def compare_functions(what, sums, of):
    """Sums by function against the rows of a report."""
    wanted = {(row["function"], row["module"]): row["self"]["estimate"] for row in of["rows"]}
    problems = [differs(f"{what} {key}", sums.get(key, 0), wanted[key], 1e-8) for key in wanted]
    return problems + [f"{what}: {key} is in no row" for key in sums if sums[key] > 0 and key not in wanted]


def seconds(ns):
    return f"{ns}ns"


def compare_table(data, path, metric):
    problems, table = [], data["tables"]["function"]
    for unit in ("bytes", "count"):
        rows = {(r["function"], r["module"]): r for r in report(path, "--metric", metric, "--unit", unit)["rows"]}
        if metric == "live" and len(rows) > table["row_count"]:
            problems.append(f"{table['row_count']} rows, not {len(rows)}")
        for i, frame in enumerate(table["frame"]):
            key = (
                data["strings"][data["frames"]["name"][frame]],
                data["strings"][data["modules"]["path"][data["frames"]["module"][frame]]],
            )
            if key not in rows:
                continue
            for part in ("self", "total"):
                of = table[metric][part]
                for suffix, end in (("", "estimate"), ("_low", "low"), ("_high", "high")):
                    problems.append(differs(f"{metric} {key} {part} {end}", of[unit + suffix][i], rows[key][part][end]))
    return problems


def check_numbers(folder):
    path = os.path.join(folder, "made.geiger")
    subprocess.run([os.environ["GOLDEN_PROFILE"], path], check=True)
    page(path, "--quiet")
    said_quietly = page.said
    _, data = page(path)
    check_rss(path, data)
    stacks = report(path, "--metric", "allocated", "--by", "stack")["row_count"]
    check(
        "it says what it has written, unless told to be quiet",
        said_quietly,
        None if re.fullmatch(rf"geiger: wrote PATH\.html: [0-9.]+ KiB, {stacks} stacks\n", page.said) else page.said,
    )
    cells, edges, whole = Cells(data), data["times"]["edges_ns"], report(path)
    totals = [
        differs(f"{name} {end}", data["meta"]["totals"][name][end], wanted[end], 0)
        for name, wanted in whole["totals"].items()
        for end in ("estimate", "low", "high")
    ]
    check("totals are those of the report", *totals)
    for metric in ("live", "allocated", "peak"):
        check(f"rows of functions are those of the report: {metric}", *compare_table(data, path, metric))
    problems = compare_sums("live at the end", cells.live(cells.bins), whole)
    problems += compare_functions("live at the end", cells.by_function(cells.live(cells.bins)), whole)
    peak = report(path, "--metric", "peak")
    problems += compare_sums("peak", cells.live(data["times"]["peak_edge"]), peak)
    for edge in (cells.bins // 4, cells.bins // 2, cells.bins - 1):
        at = report(path, "--at", seconds(edges[edge]))
        problems += compare_sums(f"live at edge {edge}", cells.live(edge), at)
        problems += compare_functions(f"live at edge {edge}", cells.by_function(cells.live(edge)), at)
    for i, j in ((0, cells.bins), (cells.bins // 3, 2 * cells.bins // 3), (5, 6)):
        window = report(path, "--metric", "allocated", "--between", f"{seconds(edges[i])},{seconds(edges[j])}")
        problems += compare_sums(f"allocated in edges {i} to {j}", cells.allocated(i, j), window)
    check("what cells add up to is what reports say of any window", *problems)
    series, timeline = data["series"], json.loads(geiger("timeline", path, "--json"))
    at = series["time_ns"].index(peak["peak_at_ns"])
    opens_with = re.search(r"^(live|peak) at ", geiger("report", path), re.MULTILINE)
    check(
        "the chart has the peak of geiger timeline, at an edge, and no bin is above it",
        differs("the bin of the peak", series["most"][at], timeline["peak"]["live_bytes"]["estimate"]),
        differs("its moment", series["peak"]["time_ns"], timeline["peak"]["time_ns"], 0),
        differs("the largest bin", max(series["most"]), max(point["most_bytes"] for point in timeline["points"])),
        differs("v_timeline", float(geiger("sql", path, "select max(most_bytes) from v_timeline", "--csv").split()[1]), timeline["peak"]["live_bytes"]["estimate"]),
        differs("the header", data["meta"]["totals"]["peak_bytes"]["estimate"], series["peak"]["estimate"]),
        None if data["meta"]["opening_metric"] == opens_with.group(1) else "another opening metric than the report's",
    )
    leaks = json.loads(geiger("leaks", path, "--json", "--limit", "0"))
    check(
        "leaks are those of geiger leaks",
        *(
            differs("live", row["live_bytes"]["high"], wanted["live_bytes"]["high"])
            for row, wanted in zip(data["leaks"]["rows"], leaks["rows"])
        ),
        None if data["leaks"]["row_count"] == leaks["row_count"] else "another number of rows",
    )
    return path


def check_rss(path, data):
    """Rows of RSS, and functions that keep pinned memory, are those of the commands."""
    tables = {moment: json.loads(geiger("why", path, "--json", "--moment", moment))["processes"]
              for moment in ("last", "peak")}
    found = {moment: [{name: value for name, value in look.items() if name != "moments"} for look in data["why"]
                      if moment in look["moments"]] for moment in tables}
    check("the rows of RSS are those of the command", None if tables["last"] and found == tables else f"{found}, not {tables}")
    pinned, of = data["pinned"], report(path, "--metric", "pinned")
    # A row without looked-at blocks has no bound but the memory in which blocks may lie.
    wanted = [(row["function"], row["self"]) for row in of["rows"] if not row["self"].get("at_least")]
    names = [data["strings"][name] for name in data["frames"]["name"]]
    rows = [(names[row["frame"]], row["bytes"]) for row in pinned["rows"]]
    check("functions that keep pinned memory are those of the report", None if rows and rows == wanted else f"{rows}, not {wanted}")


def check_diff(folder, path):
    before = os.path.join(folder, "before.geiger")
    geiger("merge", path, "-o", before)
    _, data = page(before)
    cells = Cells(data)
    check(
        "a merged profile, which has sums and no samples, is shown",
        *compare_sums("live", cells.live(cells.bins), report(before)),
        *compare_sums("allocated", cells.allocated(0, cells.bins), report(before, "--metric", "allocated")),
        *compare_table(data, before, "live"),
        "leaks of sums without times" if data["leaks"] is not None else None,
    )
    with sqlite3.connect(before) as profile:  # twice as much of one size as there was
        profile.execute("update coarse set bytes = bytes / 2, size = size / 2 where id % 2")
    for name, options in (
        ("what changed is what geiger diff says, of any memory", ()),
        ("normalized by what was allocated, too", ("--normalize", "allocated")),
        ("normalized by a number, too", ("--normalize", "0.75")),
    ):
        check(name, *compare_diffs(path, before, options))
    check_before_series(folder, path)


def check_before_series(folder, path):
    """The line of the profile before is that of its own page, whatever the scale."""
    early = os.path.join(folder, "early.geiger")
    shutil.copy(path, early)
    _, own = page(early)
    problems = []
    for options in ((), ("--normalize", "0.75")):
        _, data = page(path, "--diff", early, *options)
        found = data["diff"]["before_series"]
        problems += [None if found[name] == own["series"][name] else f"{name}, {options}"
                     for name in ("time_ns", "live", "live_low", "live_high", "most")]
        problems.append(None if max(found["most"]) > 0 else "nothing is live")
    check("a comparison has the line of the profile before", *problems)
    _, data = page(path, "--diff", os.path.join(folder, "before.geiger"))
    check("sums without times have no line", None if data["diff"]["before_series"] is None else "a line")


def compare_diffs(path, before, options):
    _, data = page(path, "--diff", before, *options)
    problems = []
    for metric in ("live", "allocated", "peak", "temporary", "freed"):
        for unit in ("bytes", "count"):
            ask = ("--json", "--all", "--limit", "0", "--metric", metric, "--unit", unit, *options)
            wanted = json.loads(geiger("diff", before, path, *ask))
            found = data["diff"][metric][unit]
            rows = {data["strings"][name]: i for i, name in enumerate(found["rows"]["name"])}
            problems.append(differs("scale", data["diff"]["scale"], wanted["scale"]))
            problems.append(differs("p", found["total"]["p_value"], wanted["total"]["p_value"]))
            for row in wanted["rows"]:
                i = rows.get(row["label"])
                if i is None:
                    problems.append(f"{row['label']} is not compared")
                    continue
                for member in ("before", "after", "difference"):
                    problems.append(differs(member, found["rows"][member][i], row[member]["estimate"]))
                problems.append(differs("low", found["rows"]["difference_low"][i], row["difference"]["low"]))
                problems.append(None if bool(found["rows"]["significant"][i]) == row["significant"] else "significance")
            tree = found["tree"]
            problems.append(differs("root", tree["after"][0], wanted["total"]["after"]["estimate"]))
            problems.append(differs("root", tree["before"][0], wanted["total"]["before"]["estimate"]))
    return problems


class Elements(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags = []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)


def check_hostile(folder):
    path = os.path.join(folder, "</script><script>alert(1)<".replace("/", "_") + ".geiger")
    plain, _ = page(os.path.join(folder, "made.geiger"))
    subprocess.run([os.environ["PAGE_PROFILE"], "hostile", path], check=True)
    with sqlite3.connect(path) as profile:
        profile.execute("update symbol set function = '</script><script>alert(1)</script>' where function = 'main'")
    text, data = page(path)
    elements, wanted = Elements(), Elements()
    elements.feed(text)
    wanted.feed(plain)
    outside = re.sub(r'id="geiger-data">[A-Za-z0-9+/=]*<', "<", text)
    bare = re.sub(r'id="geiger-data">[A-Za-z0-9+/=]*<', "<", plain)
    check(
        "hostile names change nothing of the page but its data",
        None if elements.tags == wanted.tags else "another element",
        None if outside == bare else "text outside of the data",
        None if "alert(1)" in json.dumps(data["strings"]) else "the name is lost",
        None if "<script>" in data["meta"]["command"] else "the command is lost",
    )
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text).group(1)
    check(
        "the page may load and run nothing but itself",
        None if policy.startswith("default-src 'none';") else policy,
        None if re.search(r"script-src 'sha256-[A-Za-z0-9+/=]+';", policy) else policy,
        policy if "unsafe" in policy or "http" in policy else None,
        None if "connect-src 'none'" in policy else policy,
    )


def check_deep(folder, made):
    """Stacks that a damaged or hostile file makes as deep as it likes; and a profile of nothing."""
    path = os.path.join(folder, "deep.geiger")
    pathlib.Path(path).write_bytes(pathlib.Path(made).read_bytes())
    with sqlite3.connect(path) as profile:
        last, frame = profile.execute("select max(id), (select min(id) from frame) from stack").fetchone()
        rows = ((last + i, last + i - 1, frame) for i in range(1, 200_001))
        profile.executemany("insert into stack values(?, ?, ?)", rows)
        profile.execute("update sample set stack = ? where id % 2", (last + 200_000,))
    _, data = page(path)
    cells = Cells(data)
    check(
        "no stack is too deep",
        None if max(data["nodes"]["depth"]) == 2048 else f"depth {max(data['nodes']['depth'])}",
        *compare_sums("live", cells.live(cells.bins), report(path)),
    )
    with sqlite3.connect(path) as profile:
        profile.execute("delete from sample")
        profile.execute("delete from coarse")
    _, data = page(path)
    check("a profile of nothing is a page of nothing", None if len(data["nodes"]["depth"]) == 1 else "nodes")


def check_large(folder):
    path = os.path.join(folder, "large.geiger")
    subprocess.run([os.environ["PAGE_PROFILE"], "large", path], check=True)
    text, data = page(path)
    cells, whole = Cells(data), report(path)
    check(
        "a large profile fits, what is folded is told, and the sum of everything stays exact",
        f"{len(text)} bytes" if len(text) > MOST_BYTES else None,
        None if re.search(r" \d+ of \d+ nodes of the tree, with [\d.]+ % of the bytes allocated, are folded", page.said) else page.said,
        None if data["folds"]["notes"] and data["folds"]["least_share"] > 0 else "no fold is told",
        # Sizes are means over an eighth of an octave, 2.5 % wide; half of 100 000 samples are live.
        *compare_sums("live", cells.live(cells.bins), whole, 3e-3),
        *compare_sums("allocated", cells.allocated(0, cells.bins), report(path, "--metric", "allocated")),
    )


def check_refusals(folder, path):
    for name, arguments, status, text in (
        ("no profile is refused", ("html", __file__, "-o", "x"), 1, "not a profile"),
        ("the profile is not replaced by its page", ("html", path, "-o", path), 2, "is the profile itself"),
        ("a scale of nothing is refused", ("html", path, "--normalize", "time", "-o", "x"), 2, "nothing to compare with"),
        ("a scale that is none is refused", ("html", path, "--diff", path, "--normalize", "0", "-o", "x"), 2, "no ratio above 0"),
        ("a size below that of the page is refused", ("html", path, "--max-size", "1kB", "-o", "x"), 2, "--max-size"),
    ):
        done = subprocess.run([GEIGER, *arguments], capture_output=True, text=True, cwd=folder)
        check(name, None if done.returncode == status and text in done.stderr else f"{done.returncode} {done.stderr}")


with tempfile.TemporaryDirectory() as scratch:
    made = check_numbers(scratch)
    check_diff(scratch, made)
    check_hostile(scratch)
    check_deep(scratch, made)
    check_large(scratch)
    check_refusals(scratch, made)
sys.exit(status())
