#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reports say how much a process held before an attach, and how much of it it still holds.

GEIGER, OLDER_TARGET: the program, and one that knows what it holds.  JEMALLOC: that library, or "".
"""

import json
import os
import subprocess
import sys
import tempfile
import time

import own_regions  # for its effect
from page_pages import page_data
from sentences import check, in_scratch, skip

GEIGER = os.environ["GEIGER"]
TARGET = os.environ["OLDER_TARGET"]
LIMIT = 300  # seconds after which something hangs
# Blocks of libc and of the loader beside those that the target knows: buffers, the list of modules
# that dlopen() of the agent makes, and so on.
OTHERS = 80 << 10


class Target:
    def __init__(self, **environment):
        self.process = subprocess.Popen([TARGET], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env={**os.environ, **environment})
        self.read()

    def read(self):
        self.pid, self.first, self.later = [int(word) for word in self.process.stdout.readline().split()]

    def tell(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        self.read()

    def end(self):
        self.process.stdin.close()
        self.process.wait(LIMIT)


def geiger(*words):
    got = subprocess.run([GEIGER, *words], capture_output=True, text=True, timeout=LIMIT, check=False)
    return got.stdout, None if got.returncode == 0 else f"{words}: {got.returncode}: {got.stderr}"


def attach(target, *options):
    """Returns the JSON of an attach, or a problem; the target waits in read()."""
    out, problem = geiger("attach", "--json", *options, str(target.pid))
    return (json.loads(out), None) if problem is None else (None, problem)


def attach_of(path):
    out, problem = geiger("report", "--json", "--no-pager", path)
    if problem is not None:
        return None, problem
    attaches = json.loads(out)["attaches"]
    return (attaches[0], None) if len(attaches) == 1 else (None, f"{len(attaches)} attaches")


def rows_of(path):
    out, problem = geiger("why", "--json", path)
    if problem is not None:
        return None, problem
    table = json.loads(out)
    if sum(row["bytes"] for row in table["rows"]) != table["rss_bytes"]:
        return None, "the rows do not add up"
    return {row["name"]: row for row in table["rows"]}, None


def check_held(name, target, region, before, slack):
    """Older blocks that are still held are in the interval of the report and of the row."""
    got, problem = attach_of(region)
    rows, other_problem = rows_of(region)
    problems = [problem, other_problem]
    if got is not None and rows is not None:
        held, row, most = got["held_bytes"], rows["older"], target.first + slack
        for what, low, high in [("report", held["low"], held["high"]), ("row", row["low"], row["high"])]:
            if not (low <= most and high >= target.first and low <= high <= got["older_bytes"]):
                problems.append(f"{what}: {target.first} to {most} are held, and {low} to {high} are told")
        if not before <= got["older_bytes"]:
            problems.append(f"{before} were held, and {got['older_bytes']} are told")
        if not 0 <= got["age_ns"] < LIMIT * 1e9:
            problems.append(f"attached {got['age_ns']} ns after the start")
        print(f"# {name}: {target.first} held, {held['low']} to {held['high']} told of {got['older_bytes']}")
    check(name, *problems)
    return got


def every_allocation():
    target = Target()
    before = target.first
    result, problem = attach(target, "-i", "1")
    if problem is not None:
        return check("older_blocks_are_held_at_interval_1", problem)
    target.tell("new 3000")
    check_held("older_blocks_are_held_at_interval_1", target, result["region"], before, OTHERS)
    target.tell("free 15000")
    got = check_held("older_blocks_are_freed_at_interval_1", target, result["region"], before, OTHERS)
    held = got["held_bytes"]
    check("the_interval_is_narrow_at_interval_1",
          None if held["high"] - held["low"] <= 16 << 10 else f"{held['low']} to {held['high']}")
    target.end()
    os.unlink(result["region"])


def some_allocations():
    target = Target()
    before = target.first
    result, problem = attach(target, "-i", "16KiB", "--seed", "7")
    if problem is not None:
        return check("older_blocks_are_held_beside_samples", problem)
    target.tell("new 50000")
    target.tell("free 10000")
    check_held("older_blocks_are_held_beside_samples", target, result["region"], before, OTHERS)
    target.end()
    os.unlink(result["region"])


def over_jemalloc():
    name = "older_blocks_over_jemalloc_have_a_bound"
    if os.environ["JEMALLOC"] == "":
        return skip(name, "jemalloc is not installed")
    target = Target(LD_PRELOAD=os.environ["JEMALLOC"])
    before = target.first
    result, problem = attach(target, "-i", "4KiB")
    if problem is not None:
        return check(name, problem)
    target.tell("new 20000")
    target.tell("free 10000")
    got = check_held(name, target, result["region"], before, 4 << 20)
    check("jemalloc_states_what_is_older",
          None if got is not None and got["older_source"] == "jemalloc" else f"{got}")
    target.end()
    os.unlink(result["region"])


def once_more():
    """Blocks of the first attach are older memory of the second one."""
    target = Target()
    problems = []
    for number in range(2):
        result, problem = attach(target, "-i", "1")
        problems.append(problem)
        if result is None:
            break
        target.tell("new 10000")
        got, problem = attach_of(result["region"])
        problems.append(problem)
        if got is not None and not got["older_bytes"] >= target.first + number * 3000000:
            problems.append(f"{got['older_bytes']} are older at attach {number}")
        problems.append(geiger("detach", str(target.pid))[1] if number == 0 else None)
        os.unlink(result["region"])
    check("a_second_attach_has_older_memory_of_its_own", *problems)
    target.end()


def regions_of_one_process():
    """Two attaches of one process in one profile: it lived on after the first one."""
    target, problems = Target(), []
    for _ in range(2):
        problems.append(attach(target, "-i", "1")[1])
        target.tell("new 100")
        problems.append(geiger("detach", "-q", str(target.pid))[1])
    folder = tempfile.mkdtemp(dir=own_regions.DIRECTORY)
    for name in os.listdir(own_regions.DIRECTORY):
        if name.startswith(f"geiger-{target.pid}-"):
            os.rename(os.path.join(own_regions.DIRECTORY, name), os.path.join(folder, name))
    problems.append(geiger("salvage", "-q", "-o", "twice.geiger", folder)[1])
    endings, problem = geiger("sql", "--json", "twice.geiger", "select pid, ending from process")
    shown, other = geiger("report", "--no-pager", "twice.geiger")
    wanted = [{"pid": target.pid, "ending": "lived on"}] * 2
    check("a_process_that_was_detached_has_lived_on",
          *problems, problem, other, None if json.loads(endings) == wanted else endings,
          None if " ".join(shown.split()).count("it may have freed since what it held then") == 2 else shown)
    target.end()


def top_shows_it():
    target = Target()
    result, problem = attach(target)
    table, other = geiger("top", "--json", "-n", "1", str(target.pid))
    shown, third = geiger("top", "--batch", "-n", "1", str(target.pid))
    check("top_tells_of_older_memory", problem, other, third,
          None if json.loads(table)["older_bytes"] == result["older_bytes"] else table,
          None if "after the start;" in shown and "are older and not shown." in shown else shown)
    target.end()


def recordings():
    """A recorder that ends switches sampling off, which must not last until the next one."""
    target, problems = Target(), []
    for number in range(2):
        path = f"{number}.geiger"
        recorder = subprocess.Popen([GEIGER, "attach", "-q", "-i", "1KiB", "--max-time", "1", "-o", path,
                                     str(target.pid)], stderr=subprocess.PIPE, text=True)
        while recorder.poll() is None:
            target.tell("new 20")
            time.sleep(0.01)
        problems.append(None if recorder.returncode == 0 else recorder.stderr.read())
        recorder.stderr.close()
        out, problem = geiger("sql", "--csv", path, "select count(*) > 0, count(distinct process) from sample")
        problems.append(problem or (None if out.split()[-1] == "1,1" else f"recording {number}: {out}"))
        got, problem = attach_of(path)
        problems.append(problem)
        if got is not None and not got["held_bytes"]["high"] >= target.first:
            problems.append(f"recording {number}: {got}")
    check("a_second_recording_has_samples", *problems)
    target.end()


def quiet_recording():
    """Older memory explains RSS: the recorder must not say that the program maps memory itself."""
    target = Target()
    target.tell("new 2000000")  # more than needs an explanation
    got = subprocess.run([GEIGER, "attach", "--max-time", "1", "-o", "quiet.geiger", str(target.pid)],
                         capture_output=True, text=True, timeout=LIMIT)
    check("older_memory_is_not_taken_for_mappings",
          None if got.returncode == 0 and "nothing was sampled" in got.stderr and
          "maps memory itself" not in got.stderr else f"{got.returncode}: {got.stderr}")
    wanted, problem = attach_of("quiet.geiger")
    shown = page_data(GEIGER, "quiet.geiger")["meta"]["attaches"]
    check("the_page_has_the_attach_of_the_report", problem, None if shown == [wanted] else f"{shown}")
    target.end()


def main():
    every_allocation()
    some_allocations()
    over_jemalloc()
    once_more()
    regions_of_one_process()
    top_shows_it()
    recordings()
    quiet_recording()


if __name__ == "__main__":
    sys.exit(in_scratch(main))
