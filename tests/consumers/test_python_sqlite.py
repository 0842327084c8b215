#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Python's sqlite3 reads a profile, and every example of docs/internals/PROFILE.md works.

Environment: MAKE_PROFILE, GEIGER.
"""

import csv
import io
import os
import pathlib
import re
import sqlite3
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
failures = 0


def check(condition, message):
    global failures
    if not condition:
        failures += 1
        print(message)


def test(function):
    global failures
    failures = 0
    function()
    name = function.__name__
    print(f"FAILED - {name}" if failures else f"ok - {name}")
    return failures


with tempfile.TemporaryDirectory() as directory:
    path = os.path.join(directory, "x.geiger")
    weights = subprocess.run(
        [os.environ["MAKE_PROFILE"], path], check=True, capture_output=True, text=True
    ).stdout
    profile = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    document = (ROOT / "docs/internals/PROFILE.md").read_text()

    def python_sees_what_was_written():
        check(os.listdir(directory) == ["x.geiger"], "something is beside the file")
        check(profile.execute("pragma application_id").fetchone() == (0x47454947,), "id")
        check(profile.execute("pragma journal_mode").fetchone() == ("delete",), "journal")
        check(profile.execute("pragma integrity_check").fetchone() == ("ok",), "integrity")
        check(profile.execute("pragma foreign_key_check").fetchall() == [], "references")
        row = profile.execute(
            "select t_free is null, size, interval, t_free from sample where id in (1, 2)"
        ).fetchall()
        check(row == [(1, 4096, 524288.0, None), (0, 4096, 524288.0, 200000000000)], str(row))

    def weights_in_sql_are_those_of_the_library():
        rows = {
            row[0]: row[1:]
            for row in profile.execute(
                "select id, count, count_variance, bytes, bytes_variance from v_sample"
            )
        }
        check(len(weights.splitlines()) > 300, "few samples")
        for line in weights.splitlines():
            number, *wanted = line.split()
            for got, want in zip(rows[int(number)], map(float.fromhex, wanted)):
                # 1e-290: exp(-x) of a sample that is all but certain has no digits left.
                good = got is not None and abs(got - want) <= 1e-9 * abs(want) + 1e-290
                check(good, f"sample {number}: {got}, not {want}")

    def examples_of_the_document_work():
        examples = re.findall(r"```sql\n(.*?)```", document, re.S)
        check(len(examples) >= 6, "few examples")
        for example in examples:
            cursor = profile.execute(example)
            rows = cursor.fetchall()
            check(len(rows) > 0, f"{example}: nothing")
            out = subprocess.run(
                [os.environ["GEIGER"], "sql", "--csv", path, example],
                check=True, capture_output=True, text=True,
            ).stdout
            lines = list(csv.reader(io.StringIO(out)))
            check(lines[0] == [column[0] for column in cursor.description], f"{example}: names")
            check(len(lines) == len(rows) + 1, f"{example}: {len(lines)} lines")

    def every_column_is_documented():
        tables = profile.execute(
            "select name from sqlite_schema where type = 'table' and name not like 'sqlite%'"
        ).fetchall()
        summary = ("stack_sum", "function_sum")  # by their views
        check(len(tables) > 15, "few tables")
        for (table,) in tables:
            check(f"**{table}**" in document, f"table {table}")
            for column in profile.execute(f"select name from pragma_table_info('{table}')"):
                known = column[0] == "id" or table in summary
                known |= f"`{column[0]}`" in document or f"`{column[0].split('_', 1)[-1]}`" in document
                check(known, f"column {table}.{column[0]}")
        for (view,) in profile.execute("select name from sqlite_schema where type = 'view'"):
            check(f"**{view}**" in document, f"view {view}")

    tests = [
        python_sees_what_was_written,
        weights_in_sql_are_those_of_the_library,
        examples_of_the_document_work,
        every_column_is_documented,
    ]
    if sqlite3.sqlite_version_info < (3, 35):
        for one in tests:
            print(f"skipped - {one.__name__}: Python's SQLite is too old for views")
        sys.exit(77)
    results = [test(one) for one in tests]
    profile.close()
sys.exit(1 if any(results) else 0)
