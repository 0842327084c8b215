# SPDX-License-Identifier: Apache-2.0
"""why - what each answer of `geiger why --json` must satisfy, whatever the process.

    answer = why_of(pid)                 the JSON of `geiger why`
    check("sentence", *problems_of(answer), rest_problem(answer))
    bytes_of(answer, "stacks")           the sum of the rows of that name
"""

import json
import subprocess

from session import GEIGER

ROWS = {"live", "rounding", "pinned", "returnable", "caches", "metadata", "huge", "lazy-free", "stacks", "mappings",
        "data", "files", "shared", "geiger", "older", "heap", "rest"}
BESIDE = {"live-not-resident", "live-swapped", "live-in-heaps", "pss", "swap", "cgroup-anonymous", "cgroup-file",
          "cgroup-kernel"}
CERTAINTIES = {"exact", "interval", "bound"}
REST = 0.02  # of RSS


def why_of(target, *options):
    done = subprocess.run([GEIGER, "why", str(target), "--json", *options], check=False, capture_output=True,
                          text=True)
    if done.returncode != 0:
        raise SystemExit(f"geiger why {target}: exit status {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)


def rows_of(answer, name):
    return [row for row in answer["rows"] if row["name"] == name]


def bytes_of(answer, name):
    return sum(row["bytes"] for row in rows_of(answer, name))


def beside(answer, name):
    """The figure beside the sum, or None."""
    found = [row["bytes"] for row in answer.get("beside", []) if row["name"] == name]
    return found[0] if found else None


def problems_of(answer):
    """Sentences about an answer that contradicts itself."""
    problems = []
    total = sum(row["bytes"] for row in answer["rows"])
    if total != answer["rss_bytes"]:
        problems.append(f"rows add up to {total}, RSS is {answer['rss_bytes']}")
    for row in answer["rows"]:
        low, high = row["low"], row["high"]
        if row["name"] not in ROWS or row["certainty"] not in CERTAINTIES:
            problems.append(f"unknown name or certainty: {row}")
        if low > row["bytes"] or (high is not None and high < row["bytes"]):
            problems.append(f"the estimate is outside of its interval: {row}")
        if row["certainty"] == "exact" and not low == row["bytes"] == high:
            problems.append(f"exact, with an interval: {row}")
        if row["bytes"] < 0:
            problems.append(f"negative: {row}")
    problems += [f"unknown figure beside: {row}" for row in answer.get("beside", []) if row["name"] not in BESIDE]
    return problems


def rest_problem(answer):
    """A problem if the rest is large.  A rest that is estimated is as small as its lower end."""
    rest = sum(row["low"] for row in rows_of(answer, "rest"))
    if rest <= REST * answer["rss_bytes"]:
        return None
    return f"the rest is {rest} of {answer['rss_bytes']}: {json.dumps(answer['rows'])}"


def row_problem(answer, name, least, most):
    """A problem if the rows of that name do not have between `least` and `most` bytes."""
    found = bytes_of(answer, name)
    if least <= found <= most:
        return None
    return f"{name} has {found} bytes, not {least:.0f} to {most:.0f}: {json.dumps(answer['rows'])}"
