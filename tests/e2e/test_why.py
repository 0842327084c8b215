#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""geiger why: the rows of real processes add up to their RSS, with the agent and without.

GEIGER: the program.
"""

import contextlib
import json
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from page_pages import page_data
from sentences import check, status

GEIGER = os.environ["GEIGER"]
os.environ.pop("MALLOC_PERTURB_", None)  # it touches every byte of a block
os.environ["GEIGER_PYTHON"] = "0"  # blocks of malloc are wanted here, not those of Python's heaps


def run(*arguments):
    return subprocess.run([GEIGER, *arguments], capture_output=True, text=True)


def hold(is_true, sentence):
    check(sentence.split(": ")[0], None if is_true else sentence)


def check_table(what, table):
    rows = table["rows"]
    hold(sum(row["bytes"] for row in rows) == table["rss_bytes"], f"rows add up to RSS, {what}")
    hold(all(0 <= row["low"] <= row["bytes"] <= row["high"] for row in rows), f"ends of rows are in order, {what}")
    names = [row["name"] for row in rows if row["name"] != "mappings"]
    hold(len(names) == len(set(names)), f"only mappings have several rows, {what}: {names}")


def without_agent():
    with subprocess.Popen(["sleep", "60"]) as sleeper:
        answer = run("why", str(sleeper.pid), "--json")
        text = run("why", str(sleeper.pid))
        sleeper.kill()
    hold(answer.returncode == 0, f"a process without the agent: {answer.stderr}")
    table = json.loads(answer.stdout)
    check_table("without the agent", table)
    hold("heap" in [row["name"] for row in table["rows"]], "without the agent, the heap is one row")
    hold(f"no agent is inside the process, so its heap is one row; geiger attach {sleeper.pid} brings it in"
         in " ".join(text.stdout.split()), f"and a note says so, and what to do: {text.stdout}")
    hold(text.stdout.startswith(f"sleep 60 ({sleeper.pid}), RSS ") and " at 0 s" not in text.stdout,
         f"the title has the command, and no time: {text.stdout}")
    units = {line.split()[1] for line in text.stdout.split("beside RSS")[1].split("\n\n")[0].strip().split("\n")}
    hold("cgroup" not in text.stdout.split("beside RSS")[1].split("\n\n")[0] and len(units) == 1,
         f"figures of the control group have a table of their own: {text.stdout}")


KEEPER = """
import ctypes, os
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
blocks = [libc.malloc(ctypes.c_size_t(1 << 20)) for _ in range(40)]
for block in blocks[:20]:
    ctypes.memset(block, 1, 1 << 20)
print("ready", os.getpid(), flush=True)
input()
"""


def with_agent(folder):
    profile = os.path.join(folder, "kept.geiger")
    command = [GEIGER, "record", "--quiet", "-o", profile, sys.executable, "-c", KEEPER]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as recorder:
        pid = recorder.stdout.readline().split()[1]
        answer = run("why", pid, "--json")
        recorder.stdin.write("\n")
        recorder.stdin.close()
        recorder.wait()
    hold(answer.returncode == 0, f"a process with the agent: {answer.stderr}")
    table = json.loads(answer.stdout)
    check_table("with the agent", table)
    live = {row["name"]: row for row in table["rows"]}["live"]
    beside = {row["name"]: row for row in table["beside"]}["live-not-resident"]
    hold(live["high"] >= 20 << 20, f"20 MiB are live and resident: {live}")
    hold(beside["high"] >= 19 << 20, f"20 MiB are live and untouched: {beside}")
    hold(live["low"] <= 40 << 20, f"untouched memory is not in the row: {live}")
    hold(table["ended_after_ns"] is None, f"a look at a process that runs knows no end: {table}")
    stored = json.loads(run("why", profile, "--json").stdout)
    end = int(run("sql", profile, "select end_ns from process").stdout.split()[-1])
    hold(stored["ended_after_ns"] == end - stored["time_ns"], f"a profile tells how old its last look is: {stored}")


AGED = """
import sys, time
kept = bytearray(60 << 20)
print("ready", flush=True)
input()
del kept
time.sleep(1.5)
"""


def with_old_look(folder):
    """The look with the largest RSS is older than the end, and the text says so."""
    profile = os.path.join(folder, "aged.geiger")
    command = [GEIGER, "record", "--quiet", "-o", profile, sys.executable, "-c", AGED]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as recorder:
        recorder.stdout.readline()
        end = time.monotonic() + 60
        while time.monotonic() < end:
            answer = run("why", profile, "--json")
            if answer.returncode == 0 and json.loads(answer.stdout)["rss_bytes"] > 60 << 20:
                break
            time.sleep(0.05)
        recorder.communicate("\n")
    peak = json.loads(run("why", profile, "--json", "--moment", "peak").stdout)
    text = " ".join(run("why", profile, "--moment", "peak").stdout.split())
    hold(peak["ended_after_ns"] >= 1.5e9, f"the largest look is older than the sleep: {peak}")
    hold(peak["last_rss_bytes"] < peak["rss_bytes"] - (50 << 20), f"RSS fell after the look: {peak}")
    hold("note: the process ended" in text and "after this look; the last RSS that was read is" in text,
         f"the text tells that the look is old: {text}")


PARENT = """
import subprocess, sys
sizes = sys.argv[1:]
script = (
    "import mmap, sys; size = int(sys.argv[1]) << 20; kept = bytearray(size); mapped = mmap.mmap(-1, size, mmap.MAP_PRIVATE);"
    "mapped.write(b'x' * (size // 2)); print(flush=True); input()"
)
children = [subprocess.Popen([sys.executable, "-c", script, size], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            for size in sizes]
for child in children:
    child.stdout.readline()
print("ready", flush=True)
input()
for child in children:
    child.communicate(b"\\n")
"""


def has_looked(answer, sizes):
    """Whether the looks saw the parent and each child's mapping; a first look may be too early."""
    tables = json.loads(answer.stdout)["processes"] if answer.returncode == 0 else []
    mapped = sorted((sum(row["bytes"] for row in table["rows"] if row["name"] == "mappings")
                     for table in tables), reverse=True)
    wanted = sorted((int(size) << 19 for size in sizes), reverse=True)
    return len(tables) > len(sizes) and all(bytes_ >= least for bytes_, least in zip(mapped, wanted))


def recorded(folder, name, *sizes):
    """The profile of a process that has children of so many MiB, after a look at each of them."""
    profile = os.path.join(folder, name)
    command = [GEIGER, "record", "--quiet", "--mmap", "-i", "64k", "-o", profile, sys.executable, "-c", PARENT, *sizes]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as recorder:
        recorder.stdout.readline()
        end = time.monotonic() + 60
        while time.monotonic() < end:
            if has_looked(run("why", profile, "--json"), sizes):
                break
            time.sleep(0.05)
        recorder.communicate("\n")
    return profile


def head_of(profile, *options):
    """The rows of RSS in the head of the report, and its text."""
    text = run("report", profile, "--bytes", "--limit", "1", *options).stdout
    parts = re.search(r"^  (process \d+ )?= (.*?)\(geiger why\)", text, re.MULTILINE | re.DOTALL)
    if not parts:
        return {}, text
    rows = re.findall(r"([a-z-]+) ([0-9]+)(?=[ ,])", parts[2].replace("\n", " "))
    return {name: int(number) for name, number in rows}, text


def same_on_page(profile, what):
    """The page has the tables of `geiger why` of both moments, to the last byte and word."""
    tables = page_data(GEIGER, profile)["why"]
    for moment in ("last", "peak"):
        wanted = json.loads(run("why", profile, "--json", "--moment", moment).stdout)["processes"]
        found = [{name: value for name, value in table.items() if name != "moments"}
                 for table in tables if moment in table["moments"]]
        by_pid = sorted(wanted, key=lambda table: table["pid"])
        hold(sorted(found, key=lambda table: table["pid"]) == by_pid and found,
             f"the page has the tables of geiger why, {what}, {moment}: {found} {wanted}")


def compared_on_page(profile, before):
    """A comparison has the tables of both profiles."""
    data = page_data(GEIGER, profile, "--diff", before)
    for key, path in (("why", profile), ("why_before", before)):
        wanted = json.loads(run("why", path, "--json").stdout)["processes"]
        found = [{name: value for name, value in table.items() if name != "moments"}
                 for table in data[key] if "last" in table["moments"]]
        hold(sorted(found, key=lambda table: table["pid"]) == sorted(wanted, key=lambda table: table["pid"]) and found,
             f"a comparison has the tables of geiger why, {key}: {found} {wanted}")
    hold("why_before" not in page_data(GEIGER, profile), "a page of one profile has no tables before")


def same_everywhere(profile, process_count, what):
    """The page, the report's head, its JSON and `geiger why` have the same rows and numbers."""
    same_on_page(profile, what)
    answer = json.loads(run("why", profile, "--json").stdout)
    tables = answer["processes"]
    hold(len(tables) == process_count, f"a look at each process, {what}: {len(tables)}")
    memory = json.loads(run("report", profile, "--json").stdout)["memory"]
    hold(memory["looks"] == tables, f"the JSON of a report has the tables of geiger why, {what}")
    head, text = head_of(profile)
    sums = {}
    for row in answer["rows"]:
        if row["bytes"] >= 0.03 * answer["rss_bytes"]:
            sums.setdefault(row["name"], []).append(int(row["bytes"]))
    hold({"of": answer["rss_bytes"], **head} == {**head, "of": answer["rss_bytes"]} and
         all(head.get(name) in values for name, values in sums.items()),
         f"the head of a report has the rows of geiger why, {what}: {sums} {text}")
    hold(set(head) - set(sums) <= {"of", "others", "at"}, f"the head of a report has no other rows, {what}: {text}")
    for other in (["--process", str(table["pid"])] for table in tables):
        one = json.loads(run("why", profile, "--json", *other).stdout)
        alone = head_of(profile, "--head", *other)[0]
        hold(alone.get("of") == one["rss_bytes"], f"--process selects rows and head alike, {what}: {alone}")


def of_several(folder):
    single = recorded(folder, "single.geiger")
    same_everywhere(single, 1, "one process")
    several = recorded(folder, "several.geiger", "30", "10", "9")
    # The last look may be of a child that is ending.
    rows = json.loads(run("why", several, "--json", "--moment", "peak").stdout)["rows"]
    mapped = [row["detail"] for row in rows if row["name"] == "mappings"]
    hold(any("new_mmap_object" in (detail or "") for detail in mapped), f"mappings have the names of their callers: {mapped}")
    same_everywhere(several, 4, "several processes")
    compared_on_page(several, single)
    tables = json.loads(run("why", several, "--json").stdout)["processes"]
    sizes = [table["rss_bytes"] for table in tables]
    hold(sizes == sorted(sizes, reverse=True), f"the largest process is the first: {sizes}")
    text, everything = run("why", several).stdout, run("why", several, "--all").stdout
    hold(text.count("beside RSS") == 1 and "and 3 processes with less RSS" in text,
         f"one table, and a line for the others: {text}")
    hold(everything.count("beside RSS") == 4 and "less RSS" not in everything, f"--all has all tables: {everything}")
    hold(all(f"({table['pid']}), RSS" in everything for table in tables), f"each table has a title: {everything}")
    hold("less RSS" not in run("why", single).stdout, "one process has no line for others")


def of_own_heaps(folder):
    """The same profile, but a heap of the program has the samples: its memory is not malloc's."""
    single = os.path.join(folder, "single.geiger")
    other = os.path.join(folder, "heap.geiger")
    shutil.copy(single, other)
    with contextlib.closing(sqlite3.connect(other)) as database:
        database.execute("insert into heap(id, name) values (1, 'objects')")
        database.execute("delete from look_block")
        database.execute("update sample set heap = 1")
        database.commit()
    before, after = (json.loads(run("why", profile, "--json").stdout) for profile in (single, other))
    check_table("with a heap of the program", after)
    lives = [sum(row["bytes"] for row in table["rows"] if row["name"] == "live") for table in (before, after)]
    beside = {row["name"]: row["bytes"] for row in after["beside"]}
    hold(lives[0] > 0 and lives[1] == 0, f"blocks of own heaps are not in the row live: {lives}")
    hold(beside.get("live-in-heaps", 0) >= lives[0], f"blocks of own heaps are beside RSS: {beside}")
    hold(beside.get("live-not-resident", 0) == 0, f"nobody knows whether they are resident: {beside}")


def refusals(folder):
    missing = run("why", "4194999")
    hold(missing.returncode == 1 and "4194999" in missing.stderr, f"no such process: {missing.stderr}")
    if os.path.exists("/proc/2/smaps") and not os.path.exists("/proc/2/exe"):
        kernel = run("why", "2")
        hold(kernel.returncode == 1 and ("kernel" in kernel.stderr or "another user" in kernel.stderr),
             f"a thread of the kernel has no memory: {kernel.stderr}")
    nothing = run("why")
    hold(nothing.returncode == 2, f"no operand: {nothing.stderr}")
    wrong = run("why", "1", "--moment", "never")
    hold(wrong.returncode == 2, f"no such moment: {wrong.stderr}")
    with open(os.path.join(folder, "empty.geiger"), "w", encoding="utf-8"):
        pass
    empty = run("why", os.path.join(folder, "empty.geiger"))
    hold(empty.returncode == 1 and empty.stderr != "", "an empty file is no profile")


with tempfile.TemporaryDirectory() as scratch:
    without_agent()
    with_agent(scratch)
    with_old_look(scratch)
    of_several(scratch)
    of_own_heaps(scratch)
    refusals(scratch)
sys.exit(status())
