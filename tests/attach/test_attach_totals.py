#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""From an attach on, everything is counted as in a program that was started with the agent.

GEIGER, ATTACH_TARGET: the program, and one that makes known allocations in threads of before.
"""

import json
import subprocess
import sys

from attach_programs import GEIGER, LIMIT, TARGET, geiger
from sentences import check, in_scratch

SETTINGS = ["-i", "1", "--seed", "7"]


def go_on(process):
    process.stdin.write("x")
    process.stdin.flush()


def run(words, at_ready, at_end):
    """Runs the program; returns what it knows of its allocations, and what was wrong."""
    process = subprocess.Popen([*words, TARGET, "known", "4"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    pid = int(process.stdout.readline())
    process.stdout.readline()
    problems = [at_ready(pid)]
    go_on(process)
    known = tuple(int(word) for word in process.stdout.readline().split())
    problems.append(at_end(pid))
    go_on(process)
    process.communicate(timeout=LIMIT)
    return known, [*problems, f"exit status {process.returncode}" if process.returncode else None]


def of_profile(path):
    """The number and bytes of allocations, and of those that are live, below allocate_known()."""
    numbers = []
    for metric in ("allocated", "live"):
        shown = geiger("report", "--json", "-m", metric, "--focus", "^allocate_known$", path)
        if shown.returncode != 0:
            return shown.stderr
        table = json.loads(shown.stdout)
        for selected in (table["selected_count"], table["selected_bytes"]):
            if selected["low"] != selected["high"]:
                return f"{metric} is no exact number: {selected}"
            numbers.append(int(selected["estimate"]))
    return tuple(numbers)


def missed(path):
    got = geiger("sql", "--csv", path, "select sum(value) from counter where name like '%missed%'")
    return None if got.stdout.split()[1:] in ([], ["0"]) else got.stdout + got.stderr


def failed(got):
    return got.stderr or "failed" if got.returncode != 0 else None


def main():
    nothing = lambda pid: None
    known, problems = run([GEIGER, "record", "-q", *SETTINGS, "-o", "started.geiger", "--"], nothing, nothing)
    started = of_profile("started.geiger")
    # A recording ends after the program, whose threads have freed nothing more.
    check("a_program_that_is_started_with_the_agent_is_counted", *problems,
          None if started == known else f"{started}, not {known}")

    def attach(pid):
        return failed(geiger("attach", *SETTINGS, "-q", str(pid)))

    def leave(pid):
        return failed(geiger("control", str(pid), "snapshot", "attached.geiger")) or failed(geiger("detach", str(pid)))

    known, problems = run([], attach, leave)
    attached = of_profile("attached.geiger")
    check("a_program_to_which_geiger_attaches_is_counted_the_same", *problems,
          None if attached == known == started else f"{attached}, not {known}")
    check("no_free_was_missed", missed("attached.geiger"))


if __name__ == "__main__":
    sys.exit(in_scratch(main))
