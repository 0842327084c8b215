#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Attaches the agent and detaches it again and again, in programs that check themselves.

    proof_attach.py ROUNDS      of an attach and a detach, in each of the programs below

With PROOF_MINUTES=N in the environment, the rounds end after so long; the summary counts them.
With PROOF_PROGRAMS="NAME ...", only programs of these names run.

GEIGER, ATTACH_TARGET, ATTACH_MODULE: the program, programs that check themselves, a module that one
of them loads.  Programs that wait are entered after half a second, so all of them run at once.
Programs that work run eight at a time: a round waits for processors more than it uses them.  The
one that runs in real time takes a processor from all others, so it runs first, and alone.

Bounds: no program ends, hangs, or notices anything; each attach and each detach works.  The program
`stands` measures by its own clock for how long its threads do not get on: in an attach, at most
5 ms of its processor's time.  The time of the wall has the machine's load in it; the summary shows
it without a bound.
"""

import concurrent.futures
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import time

from attach_programs import GEIGER, LIMIT, Target, text_of
from sentences import check, in_scratch, skip

MODULE = os.environ["ATTACH_MODULE"]
ROUNDS = int(sys.argv[1])
STANDS_MOST = 5.0  # ms, of an attach
REAL_TIME = ["fifo", str(min(os.sched_getaffinity(0)))]
WORKING = [["loops", "1"], ["loops", "4"], ["modules", MODULE], ["forks"], ["handlers"], ["churn"], ["sleepers"]]
FURTHER = [["masked"], ["traps"], ["signals"], ["coroutine"], ["stacks"]]  # with a fifth of the rounds
WAITING = [["wait", call] for call in ("read", "futex", "accept", "wait4", "epoll", "poll", "select", "pselect", "ppoll",
                                       "sigwait", "flock", "msgrcv", "until")]
WORKERS = 8  # programs that work at a time
MINUTES = float(os.environ.get("PROOF_MINUTES", "inf"))
END = time.monotonic() + 60 * MINUTES
CHOSEN = os.environ.get("PROOF_PROGRAMS", "").split()
IS_ROOT = os.geteuid() == 0  # it may put geiger before the programs, which would wait for it otherwise


def name_of(words):
    return " ".join(os.path.basename(word) for word in words)


class Figures:
    """The times of the rounds of one program, in ms."""

    def __init__(self, words):
        self.words, self.rounds, self.problems = words, 0, []
        self.ways, self.borrowed, self.run, self.stood, self.entered = {}, [], [], [], 0

    def add(self, attached, detached):
        self.rounds += 1
        self.ways[attached["way"]] = self.ways.get(attached["way"], 0) + 1
        self.borrowed.append(attached["borrowed_ns"] / 1e6)
        self.run.append(attached["borrowed_run_ns"] / 1e6)
        self.stood.append(attached["others_stood_ns"] / 1e6)
        self.entered += detached["way"] == "entered"

    def row(self):
        ways = ", ".join(f"{count} {way}" for way, count in sorted(self.ways.items()))
        return f"| {name_of(self.words)} | {self.rounds} | {len(self.problems)} | {ways} | {self.entered} | " \
            f"{spread(self.run)} | {spread(self.borrowed)} | {spread(self.stood)} |"


def spread(values):
    if not values:
        return "-"
    values = sorted(values)
    return f"{statistics.median(values):.1f}, {values[len(values) * 99 // 100]:.1f}, {values[-1]:.1f}"


def geiger(*words):
    return subprocess.run([*(("nice", "-n", "-5") if IS_ROOT else ()), GEIGER, *words], capture_output=True, text=True,
                          timeout=LIMIT)


def round_of(pid):
    """Attaches and detaches.  Returns both results, or a problem."""
    got = geiger("attach", "--json", "-i", "64KiB", str(pid))
    if got.returncode != 0:
        return None, None, f"attach: {got.returncode}: {got.stderr}"
    attached = json.loads(got.stdout)
    if attached["slots"] == 0 or not attached["settled"]:
        return None, None, f"{attached}"
    got = geiger("detach", "--json", str(pid))
    if got.returncode != 0:
        return None, None, f"detach: {got.returncode}: {got.stderr}"
    pathlib.Path(attached["region"]).unlink(missing_ok=True)
    return attached, json.loads(got.stdout)["processes"][0], None


def rounds_of(words, rounds=ROUNDS):
    figures = Figures(words)
    try:
        target = Target(*words)
    except ValueError:
        figures.problems.append("it does not start")
        return figures
    text = text_of(target.pid)
    for i in range(rounds):
        if time.monotonic() > END:
            break
        try:
            attached, detached, problem = round_of(target.pid)
        except (OSError, subprocess.TimeoutExpired, json.JSONDecodeError) as error:
            problem = repr(error)
        if problem is not None:
            figures.problems.append(f"round {i}: {problem}")
            if target.process.poll() is not None:
                break
            continue
        figures.add(attached, detached)
    if target.process.poll() is None and text_of(target.pid) != text:
        figures.problems.append("the code of the allocator has changed")
    problem = target.end()
    figures.problems += [problem] if problem else []
    print(figures.row(), flush=True)
    return figures


class Clock:
    """A program that measures; .read() returns by how much its threads were late since the last."""

    def __init__(self):
        self.target = Target("stands")

    def read(self):
        self.target.process.send_signal(signal.SIGUSR1)
        return [int(word) / 1e6 for word in self.target.process.stdout.readline().split()]


def stands():
    """Returns rows of a table, and the processor's time of the longest attach."""
    clock, found, problems = Clock(), {"nothing": [], "attach": [], "detach": []}, []
    for i in range(max(3, ROUNDS // 10)):
        clock.read()
        time.sleep(0.02)
        found["nothing"].append(clock.read())
        got = geiger("attach", "-q", "-i", "64KiB", str(clock.target.pid))
        found["attach"].append(clock.read())
        left = geiger("detach", "-q", str(clock.target.pid))
        found["detach"].append(clock.read())
        problems += [f"round {i}: {run.stderr}" for run in (got, left) if run.returncode != 0]
    problem = clock.target.end()
    problems += [problem] if problem else []
    rows = [f"| {name} | {spread([r[0] for r in of])} | {spread([r[1] for r in of])} |" for name, of in found.items()]
    return rows, max(r[0] for r in found["attach"]), problems


def chosen(programs):
    return [words for words in programs if not CHOSEN or words[0] in CHOSEN]


def main():
    rows, longest, problems = stands()
    check("a_program_stands_still_for_5_ms_of_its_clock_at_most",
          *problems, None if longest <= STANDS_MOST else f"{longest} ms")
    real_time = [rounds_of(words) for words in chosen([REAL_TIME])]
    with concurrent.futures.ThreadPoolExecutor(len(WAITING)) as waiting, \
            concurrent.futures.ThreadPoolExecutor(WORKERS) as working:
        runs = [working.submit(rounds_of, words) for words in chosen(WORKING)]
        runs += [working.submit(rounds_of, words, max(2, ROUNDS // 5)) for words in chosen(FURTHER)]
        runs += [waiting.submit(rounds_of, words) for words in chosen(WAITING)]
        results = real_time + [run.result() for run in runs]
    for figures in results:
        sentence = f"{name_of(figures.words).replace(' ', '_')}_goes_on_through_all_rounds"
        if figures.problems == ["it does not start"] and figures.words[0] == "fifo":
            skip(sentence, "no right to run in real time")
        else:
            check(sentence, *figures.problems)
    print("summary")
    limit = "" if MINUTES == float("inf") else f"; the rounds end after {MINUTES:g} minutes"
    print(f"At most {ROUNDS} rounds of each program{limit}. Times are in ms: the median,\n"
          "the 99th percentile and the largest.\n")
    print("| program | rounds that worked | problems | way in | detaches that entered it | borrowed, on a processor | "
          "borrowed, by the wall | others stood, by the wall |\n|-|-|-|-|-|-|-|-|")
    for figures in results:
        print(figures.row())
    print("\nBy the program's own clocks, two threads that allocate were late in all by:\n")
    print("| while | by the processor's time | by the wall |\n|-|-|-|", *rows, sep="\n", flush=True)


if __name__ == "__main__":
    sys.exit(in_scratch(main))
