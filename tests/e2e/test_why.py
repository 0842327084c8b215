#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""geiger why: the rows of real processes add up to their RSS, with the agent and without.

GEIGER: the program.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from sentences import check, status

GEIGER = os.environ["GEIGER"]
os.environ.pop("MALLOC_PERTURB_", None)  # it touches every byte of a block


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
    hold("no agent" in text.stdout, f"and a note says so: {text.stdout}")


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


def refusals(folder):
    missing = run("why", "4194999")
    hold(missing.returncode == 1 and "4194999" in missing.stderr, f"no such process: {missing.stderr}")
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
    refusals(scratch)
sys.exit(status())
