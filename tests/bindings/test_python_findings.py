#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""test_python_findings.py - one report finds the place of each problem in findings.py.

A row below is a program, the options of the report, and shares in percent of the rows that must be
first: by marked line, or by name.  Memory is estimated with some 5 %, so shares have room for four
standard deviations.  GEIGER: the command; PYTHON_ADAPTER: the folder of the package.
"""

import glob
import json
import os
import subprocess
import sys
import tempfile

GEIGER = os.environ["GEIGER"]
HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(HERE, "findings.py")
PYTHON = "/usr/bin/python3"  # with Debian's numpy

LINES = ["-m", "peak", "--by", "line", "--only-python"]
FINDINGS = [
    ("a_list_that_a_generator_could_replace", "kept_list", LINES, [("list", 70, 100)]),
    (
        "four_copies_of_an_array_live_at_once",
        "copies",
        LINES,
        [(name, 15, 25) for name in ("shifted", "squared", "doubled", "scaled")],
    ),
    ("a_cache_that_keeps_results", "cache", LINES, [("cached", 30, 60), ("digits", 20, 45)]),
    ("the_types_that_a_cache_keeps", "cache", ["-m", "peak", "--by", "type"], [("int", 15, 40), ("tuple", 10, 35)]),
    ("a_recursion_that_remembers_and_a_list", "recursion", LINES, [("list", 30, 60), ("remembered", 30, 60)]),
    (
        "arrays_of_a_loop_and_its_temporary_ones",
        "arrays",
        LINES,
        [("temporary", 20, 45), ("place", 10, 25), ("value", 10, 25)],
    ),
    ("temporary_arrays_are_most_of_all", "arrays", LINES[2:] + ["-m", "allocated"], [("temporary", 35, 60)]),
    (
        "arrays_of_three_threads",
        "arrays_in_threads",
        ["-m", "allocated", "--by", "thread"],
        [("python3", 25, 40)] * 3,  # 3.11 does not name threads
    ),
    (
        "rows_a_database_and_its_results",
        "database",
        LINES,
        [("found", 25, 50), ("rows", 20, 50), ("database", 6, 20)],
    ),
    ("memory_of_a_library_in_c", "particles", LINES, [("grown", 60, 100)]),
]


def marks():
    found = {}
    with open(PROGRAM, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if "# HERE: " in line:
                found[number] = line.split("# HERE: ")[1].strip()
    return found


def record(name, profile, command):
    subprocess.run(
        [GEIGER, "record", "--quiet", "-i", "16k", "--seed", "1", "-o", profile, "--", *command, PROGRAM, name],
        check=True,
        stdout=subprocess.DEVNULL,
    )


def report(profile, options):
    text = subprocess.run(
        [GEIGER, "report", profile, *options, "--json"], check=True, capture_output=True, text=True
    ).stdout
    return json.loads(text)


def rows_of(profile, options):
    """Name and share of each row of the program's own, in the report's order."""
    document, marked = report(profile, options), marks()
    whole = document["selected_bytes"]["estimate"]
    for row in document["rows"]:
        share = 100 * row["self"]["estimate"] / whole
        if row.get("file") == PROGRAM:
            yield marked.get(row["line"], str(row["line"])), share
        elif "line" not in options:
            yield str(row.get("type") or row.get("thread") or row.get("name") or row), share


def finds(profile, options, expected):
    rows = [row for row in rows_of(profile, options) if row[0] != "[no type]"]
    first, problems = rows[: len(expected)], []
    for name, low, high in expected:
        row = next((row for row in first if row[0] == name and low <= row[1] <= high), None)
        if row is None:
            problems.append(f"no {name} with {low} to {high} %")
        else:
            first.remove(row)
    if problems:
        print(*problems, f"rows: {rows[:6]}", sep="\n")
    return not problems


def peak_of(profile):
    return report(profile, LINES)["totals"]["peak_bytes"]["estimate"]


def cache_is_native(folder):
    """Only native frames name the cache, which Python's own functions do not show."""
    for python in glob.glob((os.environ.get("PYENV_ROOT") or os.path.expanduser("~/.pyenv")) + "/versions/3.11.*/bin/python"):
        profile = os.path.join(folder, "native.geiger")
        os.environ["PYTHONPATH"] = os.environ["PYTHON_ADAPTER"]
        record("cache", profile, [python, "-m", "geiger", "--native"])
        del os.environ["PYTHONPATH"]
        document = report(profile, ["-m", "peak", "--total", "--focus", "product"])
        whole = document["selected_bytes"]["estimate"]
        shares = {row["function"]: row["total"]["estimate"] / whole for row in document["rows"]}
        print(shares.get("infinite_lru_cache_wrapper"))
        return shares.get("infinite_lru_cache_wrapper", 0) > 0.95
    print("skipped: no Python 3.11 with symbols")
    return True


def main():
    failed = 0

    def check(name, holds):
        nonlocal failed
        print("ok -" if holds else "not ok -", name, flush=True)
        failed += not holds

    has_numpy = subprocess.run([PYTHON, "-c", "import numpy"], stderr=subprocess.DEVNULL).returncode == 0
    with tempfile.TemporaryDirectory() as folder:
        for name, program, options, expected in FINDINGS:
            if not has_numpy and program in ("copies", "arrays", "arrays_in_threads"):
                print("skipped -", name, "(python3-numpy)")
                continue
            profile = os.path.join(folder, program + ".geiger")
            if not os.path.exists(profile):
                record(program, profile, [PYTHON])
            check(name, finds(profile, options, expected))
        record("kept_nowhere", os.path.join(folder, "nowhere.geiger"), [PYTHON])
        list_bytes = peak_of(os.path.join(folder, "kept_list.geiger"))
        check("a_generator_needs_less_than_a_third", peak_of(os.path.join(folder, "nowhere.geiger")) < list_bytes / 3)
        check("native_frames_name_the_cache", cache_is_native(folder))
    sys.exit(failed > 0)


main()
