#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A program lives on when geiger is killed at any step of an attach or a detach.

    test_attach_kills.py KILLS      in each of the programs below

GEIGER, ATTACH_TARGET: geiger, and programs that check themselves.  KILL_AT kills geiger's helper at
its Nth step.  TINY_AGENT: stands for the agent.  The steps of a series are as far apart as their
number allows; the last line of each says at which system calls the helper was killed.
"""

import collections
import os
import re
import signal
import subprocess
import sys
import time

import process_image
from attach_programs import GEIGER, TARGET, text_of
from sentences import check, in_scratch

KILL_AT = os.environ["KILL_AT"]
TINY = {**os.environ, "GEIGER_AGENT": os.environ["TINY_AGENT"]}
KILLS = int(sys.argv[1])
LIMIT = 120  # seconds after which something hangs
LATE_ATTEMPTS = 5  # a call may end before geiger has to interrupt it
STEPS_MOST = 60  # of an attach until traps are in the code, and some more


class Target:
    """A running target; .end() returns what was wrong."""

    def __init__(self, words):
        self.process = subprocess.Popen([TARGET, *words], stdout=subprocess.PIPE, text=True)
        self.pid = int(self.process.stdout.readline())
        self.text = text_of(self.pid)
        time.sleep(0.02)

    def end(self):
        if self.process.poll() is None and text_of(self.pid) != self.text:
            return self.kill("the code of the allocator has changed")
        self.process.send_signal(signal.SIGTERM)
        try:
            said = self.process.communicate(timeout=LIMIT)[0]
        except subprocess.TimeoutExpired:
            return self.kill("it hangs")
        return None if self.process.returncode == 0 else f"{self.process.returncode}: {said}"

    def kill(self, problem):
        self.process.kill()
        self.process.wait()
        return problem


def kill_at(step, words, env):
    """Runs geiger.  Returns the call at which its helper was killed, or None and its steps."""
    got = subprocess.run([KILL_AT, "helper", str(step), GEIGER, *words], capture_output=True, text=True, env=env,
                         timeout=LIMIT)
    killed = re.search(r"killed at (\d+)", got.stderr)
    ended = re.search(r"ended after (\d+) steps", got.stderr)
    if killed is None and ended is None:
        raise RuntimeError(got.stderr)
    return (killed.group(1) if killed else None), int(ended.group(1)) if ended else 0


def one_kill(words, env, step, calls):
    """Kills an attach at a step.  Afterwards a whole attach and a detach succeed."""
    target = Target(words)
    call, _ = kill_at(step, ["attach", "-q", "-i", "64KiB", str(target.pid)], env)
    calls[call or "none"] += 1
    problems = []
    if env is None:
        # Either nothing is left, or an agent that detach finds.
        left = subprocess.run([GEIGER, "detach", str(target.pid)], capture_output=True, text=True)
        if left.returncode != 0:
            again = subprocess.run([GEIGER, "attach", "-q", str(target.pid)], capture_output=True, text=True)
            problems.append(again.stderr if again.returncode != 0 else None)
    problem = target.end()
    return [f"step {step}, call {call}: {p}" for p in [*problems, problem] if p]


def left_over(target, before):
    """Detaches again, and returns what is left of the agent."""
    again = subprocess.run([GEIGER, "detach", str(target.pid)], capture_output=True, text=True, timeout=LIMIT)
    is_gone = again.returncode == 0 or "no region" in again.stderr or "runs without the agent" in again.stderr
    return None if is_gone and not process_image.difference(before, process_image.read(target.pid)) else \
        again.stderr or process_image.difference(before, process_image.read(target.pid))


def detaches(name, words, kills):
    """Kills the helper of a detach that enters the program."""
    problems, calls, count = [], collections.Counter(), 0
    for i in range(kills + 1):
        target = Target(words)
        before = process_image.read(target.pid)
        attached = subprocess.run([GEIGER, "attach", "-q", "-i", "1GiB", str(target.pid)], capture_output=True, text=True)
        call, steps = kill_at(0 if i == 0 else 1 + count * (i - 1) // kills, ["detach", "-q", str(target.pid)], None)
        count = steps if i == 0 else count
        calls[call or "none"] += 1
        found = [attached.stderr if attached.returncode != 0 else None, left_over(target, before), target.end()]
        problems += [f"round {i}, call {call}: {problem}" for problem in found if problem]
    check(f"{name}_lives_when_a_detach_is_killed", None if count > 0 else "no detach entered it", *problems)
    print(f"# {name}: {count} steps; killed at", ", ".join(f"{call}: {n}" for call, n in sorted(calls.items())))


def series(name, words, env):
    target = Target(words)
    _, count = kill_at(0, ["attach", "-q", "-i", "64KiB", str(target.pid)], env)
    problems, calls = [target.end()], collections.Counter()
    for i in range(KILLS):
        problems += one_kill(words, env, 1 + count * i // KILLS, calls)
    check(f"{name}_lives_when_geiger_is_killed", *problems)
    print(f"# {name}: {count} steps; killed at", ", ".join(f"{call}: {n}" for call, n in sorted(calls.items())))


def both():
    """Geiger and its guardian end together; the next command takes the traps out."""
    problems, repaired = [], {"attach": 0, "detach": 0}
    for step in range(1, STEPS_MOST):
        if min(repaired.values()) > 0:
            break
        target = Target(["loops", "2"])
        subprocess.run([KILL_AT, "both", str(step), GEIGER, "attach", "-q", str(target.pid)], capture_output=True,
                       env=TINY, timeout=LIMIT)
        command = min(repaired, key=repaired.get)
        if text_of(target.pid) != target.text:
            repaired[command] += 1
            got = subprocess.run([GEIGER, command, str(target.pid)], capture_output=True, text=True, env=TINY,
                                 timeout=LIMIT)
            problems.append(None if (got.returncode == 0) == (command == "attach") and
                            "was killed had left standing still" in got.stderr else f"{command}: {got.stderr}")
        problem = target.end()
        problems.append(f"step {step}, {command}: {problem}" if problem else None)
    problems.append(None if min(repaired.values()) > 0 else f"no trap was left: {repaired}")
    check("traps_of_a_killed_geiger_are_taken_out_by_the_next_one", *problems)


def late():
    """A borrowed thread that waits too long goes home by itself, and is then left alone."""
    target, problems, late_count = Target(["loops", "1"]), [], 0
    for _ in range(LATE_ATTEMPTS):
        if late_count > 0:
            break
        got = subprocess.run([KILL_AT, "late", "1", GEIGER, "attach", "-q", str(target.pid)],
                             capture_output=True, text=True, env=TINY, timeout=LIMIT)
        is_late = "too little time of the processors" in got.stderr
        problems.append(None if got.returncode == 0 or is_late else got.stderr)
        late_count += is_late
    problems.append(None if late_count > 0 else "geiger was never late")
    check("a_program_lives_when_geiger_is_late", *problems, target.end())


def late_agent():
    """Whatever an attach had done before it failed for being late, no agent stays."""
    problems, late_count = [], 0
    for step in range(1, 9):
        target = Target(["loops", "1"])
        got = subprocess.run([KILL_AT, "late", str(step), GEIGER, "attach", "-q", str(target.pid)], capture_output=True,
                             text=True, timeout=LIMIT)
        if got.returncode != 0:
            late_count += 1
            again = subprocess.run([GEIGER, "attach", "-q", str(target.pid)], capture_output=True, text=True)
            problems.append(None if "too little time of the processors" in got.stderr else got.stderr)
            problems.append(None if again.returncode == 0 else f"late at call {step}: {got.stderr}{again.stderr}")
        problems.append(target.end())
    problems.append(None if late_count > 1 else f"geiger was late {late_count} times")
    check("an_attach_that_is_late_leaves_no_agent", *problems)


def main():
    late()
    late_agent()
    both()
    series("a_loop", ["loops", "1"], TINY)
    series("threads", ["loops", "3"], None)
    series("a_program_that_forks", ["forks"], TINY)
    series("a_program_that_raises_signals", ["signals"], TINY)
    series("an_idle_program", ["wait", "read"], None)
    detaches("an_idle_program", ["wait", "read"], max(2, KILLS // 2))


if __name__ == "__main__":
    sys.exit(in_scratch(main))
