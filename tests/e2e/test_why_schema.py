#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`geiger why --json`, and `memory.looks` of `geiger report --json`, fit
docs/reference/why.schema.json, and have the sums that docs/reference/JSON.md promises.

GEIGER, GOLDEN_PROFILE, LOOKS_PROFILE: programs.  SCHEMA, DOCUMENT: the two files.
"""

import json
import os
import re
import subprocess
import sys

from sentences import check, in_scratch

GEIGER = os.environ["GEIGER"]
TYPES = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "null": type(None)}

with open(os.environ["SCHEMA"], encoding="utf-8") as file:
    SCHEMA = json.load(file)


def parts_of(schema):
    """The schema and all that it refers to: they hold together."""
    yield schema
    for part in schema.get("allOf", []) + ([{"$ref": schema["$ref"]}] if "$ref" in schema else []):
        name = part["$ref"].rsplit("/", 1)[1]
        yield from parts_of(SCHEMA["$defs"][name])


def misfits_of_number(value, part, path):
    for word, is_wrong in (("minimum", lambda least: value < least), ("exclusiveMinimum", lambda least: value <= least),
                           ("exclusiveMaximum", lambda most: value >= most)):
        if word in part and is_wrong(part[word]):
            yield f"{path}: {value} against {word} {part[word]}"


def misfits(value, schema, path):
    """Lists what JSON Schema forbids in a value, and members that the schema lacks."""
    known = set()
    for part in parts_of(schema):
        wanted = part.get("type", [])
        wanted = [wanted] if isinstance(wanted, str) else wanted
        if wanted and not any(isinstance(value, TYPES[name]) and not isinstance(value, bool) for name in wanted):
            yield f"{path}: {value!r} is no {' or '.join(wanted)}"
            return
        if "enum" in part and value not in part["enum"]:
            yield f"{path}: {value!r} is none of {part['enum']}"
        if isinstance(value, (int, float)):
            yield from misfits_of_number(value, part, path)
        if isinstance(value, list):
            if len(value) < part.get("minItems", 0):
                yield f"{path}: {len(value)} items"
            for index, item in enumerate(value if "items" in part else []):
                yield from misfits(item, part["items"], f"{path}[{index}]")
        if isinstance(value, dict):
            known |= part.get("properties", {}).keys()
            yield from (f"{path}: no member {name}" for name in part.get("required", []) if name not in value)
            for name, of in part.get("properties", {}).items():
                if name in value:
                    yield from misfits(value[name], of, f"{path}.{name}")
    if isinstance(value, dict):
        yield from (f"{path}: the schema has no member {name}" for name in value.keys() - known)


def broken_promises(table):
    """Lists broken promises of JSON.md that no schema can state."""
    rows = table["rows"]
    if sum(row["bytes"] for row in rows) != table["rss_bytes"]:
        yield f"rows add up to {sum(row['bytes'] for row in rows)}, RSS is {table['rss_bytes']}"
    names = [row["name"] for row in rows + table["beside"] if row["name"] != "mappings"]
    yield from (f"{name} twice" for name in set(names) if names.count(name) > 1)
    for row in rows + table["beside"]:
        if not row["low"] <= row["bytes"] <= row["high"]:
            yield f"ends of {row}"
        if row["certainty"] == "exact" and row["low"] != row["high"]:
            yield f"not exact: {row}"
        if (row["advice"] is None) != (row["advice_bytes"] is None):
            yield f"advice without bytes, or bytes without advice: {row}"


def answer_of(*arguments):
    result = subprocess.run([GEIGER, *arguments, "--json"], capture_output=True, text=True)
    check(f"{arguments[0]} answers", None if result.returncode == 0 else f"{arguments}: {result.stderr}")
    return json.loads(result.stdout)


def check_answer(what, *arguments):
    """The answer, which must fit; returns the names of its rows."""
    answer = answer_of("why", *arguments)
    check(f"the answer fits the schema, {what}", *misfits(answer, SCHEMA, "why"))
    tables = answer["processes"]
    check(f"the sums and the ends hold, {what}", *[text for table in tables for text in broken_promises(table)])
    first = {name: value for name, value in answer.items() if name in tables[0]}
    check(f"the first table stands in the object, {what}", None if first == tables[0] else f"{first}\n{tables[0]}")
    sizes = [table["rss_bytes"] for table in tables]
    check(f"the largest RSS comes first, {what}", None if sizes == sorted(sizes, reverse=True) else f"{sizes}")
    return {row["name"] for table in tables for row in table["rows"] + table["beside"]}


def check_report(what, path):
    looks = answer_of("report", path)["memory"]["looks"]
    check(f"memory.looks fits the schema, {what}", *misfits(looks, SCHEMA["$defs"]["looks"], "looks"))
    tables = answer_of("why", path)["processes"]
    check(f"memory.looks has the tables of geiger why, {what}", None if looks == tables else f"{looks}\n{tables}")


def documented_names():
    """The names of rows that JSON.md lists, in both lists."""
    with open(os.environ["DOCUMENT"], encoding="utf-8") as document:
        line = next(line for line in document if line.startswith("| `name` | in `rows`:"))
    return set(re.findall(r"`([a-z-]+)`", line.split("Only")[0])) - {"name", "rows", "beside"}


def names_of_schema():
    table = SCHEMA["$defs"]["table"]["properties"]
    return {name for rows in ("rows", "beside") for name in table[rows]["items"]["properties"]["name"]["enum"]}


def main():
    names = names_of_schema()
    check("JSON.md and the schema list the same rows",
          None if names == documented_names() else f"{names ^ documented_names()}")
    subprocess.run([os.environ["GOLDEN_PROFILE"], "golden.geiger"], check=True)
    subprocess.run([os.environ["LOOKS_PROFILE"], "plain.geiger", "90"], check=True)
    subprocess.run([os.environ["LOOKS_PROFILE"], "walked.geiger", "90", "3000000"], check=True)
    seen = check_answer("of a program", "golden.geiger")
    for path in ("plain.geiger", "walked.geiger"):
        seen |= check_answer("of two processes", path)
        seen |= check_answer("at the peak", path, "--moment", "peak")
        check_answer("of one process", path, "--process", "4720")
        check_answer("with another confidence", path, "--confidence", "0.5")
    for path in ("golden.geiger", "plain.geiger", "walked.geiger"):
        check_report(path, path)
    with subprocess.Popen(["sleep", "60"]) as sleeper:
        seen |= check_answer("of a process without the agent", str(sleeper.pid))
        sleeper.kill()
    often = {"live", "rounding", "pinned", "returnable", "metadata", "stacks", "files", "geiger", "heap", "rest", "pss"}
    check("these answers have most rows", *sorted(often - seen))
    wrong = {**answer_of("why", "plain.geiger"), "confidence": "0.95"}
    wrong["rows"] = [{**row, "name": "lives", "low": -1} for row in wrong["rows"][:1]]
    del wrong["reason"]
    check("a wrong answer does not fit", None if len(list(misfits(wrong, SCHEMA, "why"))) == 4 else
          "\n".join(misfits(wrong, SCHEMA, "why")))


sys.exit(in_scratch(main))
