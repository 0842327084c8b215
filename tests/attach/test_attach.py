#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A program does not notice that geiger attaches to it and detaches again.

    test_attach.py ROUNDS

GEIGER, ATTACH_TARGET, ATTACH_MODULE: the program, programs that check themselves, a module that one
of them loads.  TINY_AGENT: stands for the agent; it tests the way in alone.
"""

import collections
import json
import os
import random
import resource
import signal
import subprocess
import sys
import threading
import time

from attach_programs import GEIGER, LIMIT, TARGET, Target, geiger, text_of
from sentences import check, in_scratch, skip

MODULE = os.environ["ATTACH_MODULE"]
TINY = {**os.environ, "GEIGER_AGENT": os.environ["TINY_AGENT"]}
ROUNDS = int(sys.argv[1])

# The programs that allocate, and those that only wait; a wait costs half a second a round.
BUSY = [["loops", "1"], ["loops", "4"], ["modules", MODULE], ["forks"], ["handlers"], ["churn"], ["masked"], ["traps"],
        ["signals"], ["coroutine"], ["stacks"], ["sleepers"]]
ENDED = ["it has ended", "is just ending", "it ended", "no such process"]
CALLS = ["read", "futex", "accept", "wait4", "epoll", "poll", "select", "pselect", "ppoll", "sigwait", "flock", "msgrcv",
         "until"]


def attach(target, env, *options):
    """Returns the JSON of an attach, or a problem.

    On a machine with forty times the work that it can do, an attach may find no thread at a safe
    point in its time.  It says so, and asks for another attach, which it gets, twice.
    """
    for _ in range(3):
        got = geiger("attach", "--json", *options, str(target.pid), env=env)
        if got.returncode == 0 or "no thread was at a safe point" not in got.stderr:
            break
    return (json.loads(got.stdout), None) if got.returncode == 0 else (None, f"{got.returncode}: {got.stderr}")


def way_in(words, rounds, way):
    """Attaches the stand-in again and again; no region comes, so nothing is detached.

    Each attach goes one of the ways, and at least one goes the first of them, in more rounds if
    need be: a thread that is idle may be found before one that allocates.
    """
    target, problems, longest, ways = Target(*words), [], 0, set()
    for i in range(rounds * (10 if len(way) > 1 else 1)):
        if i >= rounds and way[0] in ways:
            break
        result, problem = attach(target, TINY)
        problems.append(problem)
        if result is None:
            break
        problems.append(None if result["way"] in way else f"{result}")
        ways.add(result["way"])
        longest = max(longest, result["others_stood_ns"])
    problems.append(None if way[0] in ways else f"no attach went the way {way[0]}: {ways}")
    name = "_".join(os.path.basename(word).split(".")[0].replace("-", "_") for word in words)
    check(f"{name}_goes_on_while_it_is_entered", *problems, target.end())
    print(f"# {name}: other threads stood {longest / 1e6:.2f} ms at most")


def attach_and_detach(words, rounds, name="", **environment):
    target, problems = Target(*words, env={**os.environ, **environment}), []
    text = text_of(target.pid)
    for _ in range(rounds):
        result, problem = attach(target, None, "-i", "64KiB")
        problems.append(problem)
        if result is None:
            break
        problems.append(None if result["slots"] > 0 and os.path.exists(result["region"]) else f"{result}")
        time.sleep(0.02)
        got = geiger("detach", str(target.pid))
        problems.append(None if got.returncode == 0 else got.stderr)
    problems.append(None if text_of(target.pid) == text else "the code of the allocator has changed")
    check(f"{words[0]}{name}_goes_on_with_the_agent_and_without", *problems, target.end())


def other_allocators():
    for name in ("JEMALLOC", "TCMALLOC", "MIMALLOC"):
        if os.environ.get(name, "") != "":
            attach_and_detach(["loops", "3"], 3, f"_over_{name.lower()}", LD_PRELOAD=os.environ[name])


def container():
    """It has namespaces of its own for mounts, pids and users; one has the /proc of the host."""
    for name, option in (("of_its_own", ["--mount-proc"]), ("of_the_host", [])):
        words = ["unshare", "--mount", "--pid", "--user", "--map-root-user", "--fork", *option, TARGET, "loops", "2"]
        if subprocess.run([*words[:-3], "true"], capture_output=True).returncode != 0:
            skip(f"a_container_with_a_proc_{name}_is_entered", "no namespaces here")
            continue
        outer = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        outer.stdout.readline()
        pid = children_of(outer.pid)[0]
        got, status = geiger("attach", str(pid)), geiger("control", str(pid), "status")
        left = geiger("detach", str(pid))
        os.kill(pid, signal.SIGTERM)
        said = outer.communicate(timeout=30)[0]
        check(f"a_container_with_a_proc_{name}_is_entered",
              *(run.stderr or "failed" for run in (got, status, left) if run.returncode != 0),
              None if outer.returncode == 0 else f"{outer.returncode}: {said}")


def idle():
    target = Target("sleep")
    got = geiger("attach", str(target.pid), env=TINY)
    check("a_sleeper_is_not_entered", None if got.returncode == 1 and "idle" in got.stderr else got.stderr, target.end())


def fifo():
    """A thread at a trap keeps its only processor, which geiger needs as well."""
    cpu = min(os.sched_getaffinity(0))
    try:
        target = Target("fifo", str(cpu))
    except ValueError:
        skip("a_real_time_program_on_one_processor_is_entered", "no right to run in real time")
        return
    problems = []
    for _ in range(3):
        got = subprocess.run(["taskset", "-c", str(cpu), GEIGER, "attach", "-q", str(target.pid)], capture_output=True,
                             text=True, env=TINY, timeout=LIMIT)
        problems.append(None if got.returncode == 0 else got.stderr)
    check("a_real_time_program_on_one_processor_is_entered", *problems, target.end())


def executing():
    """An attach that comes in between says what happened."""
    target, problems, said = Target("execs"), [], collections.Counter()
    for _ in range(max(10, ROUNDS)):
        got = geiger("attach", "-q", str(target.pid), env=TINY)
        said[got.stderr] += 1
        problems.append(None if got.returncode == 0 or "executed another program" in got.stderr or
                        "modules cannot be read" in got.stderr or
                        "has not started the program yet" in got.stderr else f"{got.returncode}: {got.stderr}")
    problems.append(None if target.process.poll() is None else f"it ended: {target.process.returncode}")
    target.end()
    check("an_attach_to_a_program_that_executes_itself_says_so", *problems)
    print(f"# {dict(said)}")


def ending():
    """So does one to a program that ends."""
    problems, said = [], collections.Counter()
    for i in range(max(10, ROUNDS)):
        with subprocess.Popen(["sleep", f"{0.002 * (i % 10)}"]) as process:
            got = geiger("attach", "-q", str(process.pid), env=TINY)
        said[got.stderr.split(":")[-1]] += 1
        problems.append(None if any(words in got.stderr for words in ENDED) else f"{got.returncode}: {got.stderr}")
    check("an_attach_to_a_program_that_ends_says_so", *problems)
    print(f"# {dict(said)}")


def refused():
    """The loader's words reach the user, and the program goes on."""
    target = Target("loops", "1")
    with open("no-agent.so", "w", encoding="ascii") as file:
        file.write("This is no library.\n" * 300)
    got = geiger("attach", str(target.pid), env={**os.environ, "GEIGER_AGENT": os.path.abspath("no-agent.so")})
    check("the_words_of_the_loader_are_printed",
          None if got.returncode == 1 and "invalid ELF header" in got.stderr else got.stderr, target.end())


def children_of(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return [int(word) for word in file.read().split()]
    except FileNotFoundError:
        return []


def recording():
    target = Target("loops", "2")
    got = geiger("attach", "-q", "-i", "64KiB", "--max-time", "1", "-o", "a.geiger", str(target.pid))
    shown = geiger("report", "--json", "-m", "allocated", "a.geiger")
    check("a_recording_begins_and_ends_beside_the_program",
          None if got.returncode == 0 else got.stderr,
          None if shown.returncode == 0 and "use_blocks" in shown.stdout else shown.stderr or "no use_blocks()",
          target.end())


def reports_of_a_pid():
    target = Target("loops", "2")
    without = geiger("report", str(target.pid))
    got = geiger("attach", "-q", "-i", "64KiB", str(target.pid))
    problems = [None if got.returncode == 0 else got.stderr]
    for line in ("report -m allocated", "tree -m allocated", "leaks", "why", "top --batch -n 1"):
        shown = geiger(*line.split(), str(target.pid))
        problems.append(None if shown.returncode == 0 else f"{line}: {shown.stderr}")
    check("commands_take_the_pid_of_an_attached_process",
          None if without.returncode == 1 and "runs without the agent" in without.stderr else without.stderr or "no error",
          *problems, target.end())


def recording_over_exec():
    """The agent ends with the program; the recorder says how the next program is had."""
    with subprocess.Popen(["sh", "-c", "while [ ! -e go ]; do set -- $(:); done; exec sleep 300"]) as target:
        with subprocess.Popen([GEIGER, "attach", "-i", "1", "--max-time", "60", "-o", "exec.geiger", str(target.pid)],
                              stderr=subprocess.PIPE, text=True) as recorder:
            said = recorder.stderr.readline()
            with open("go", "w", encoding="ascii"):
                pass
            while os.path.basename(os.readlink(f"/proc/{target.pid}/exe")) != "sleep":
                time.sleep(0.01)
            recorder.send_signal(signal.SIGINT)
            said += recorder.communicate(timeout=LIMIT)[1]
        target.kill()
    said = " ".join(said.split())
    check("a_recording_over_an_exec_says_how_to_have_the_next_program",
          None if "attach ends with the program: attach again, or start it with the agent (geiger env)" in said and
          "LD_PRELOAD" not in said else f"{recorder.returncode}: {said}")


def stopping():
    """Something stops the program and lets it go on all the while."""
    target, problems, over = Target("loops", "3"), [], threading.Event()

    def stop():
        pauses = random.Random(1)
        while not over.is_set():
            os.kill(target.pid, signal.SIGSTOP)
            time.sleep(pauses.random() * 0.004)
            os.kill(target.pid, signal.SIGCONT)
            time.sleep(pauses.random() * 0.01)

    stopper = threading.Thread(target=stop)
    stopper.start()
    worked = 0
    for _ in range(max(6, ROUNDS // 2)):
        got = geiger("attach", "-q", str(target.pid))
        worked += got.returncode == 0
        problems.append(None if got.returncode == 0 or "it is stopped" in got.stderr else got.stderr)
        if got.returncode == 0:
            left = geiger("detach", str(target.pid))
            problems.append(None if left.returncode == 0 else left.stderr)
    over.set()
    stopper.join()
    check("a_program_that_is_stopped_meanwhile_goes_on", *problems, target.end(), None if worked > 0 else "always stopped")


def recording_in(pid):
    with open(f"/proc/{pid}/maps", encoding="ascii") as file:
        return ".region" in file.read()


def failing_attach():
    target = Target("loops", "1")
    made = geiger("record", "-q", "-o", "earlier.geiger", "--", sys.executable, "-c", "")
    with open("earlier.geiger", "rb") as file:
        earlier = file.read()
    with open("no_agent.so", "w", encoding="ascii") as file:
        file.write("this is no library\n" * 100)
    got = geiger("attach", "-o", "earlier.geiger", str(target.pid),
                 env={**os.environ, "GEIGER_AGENT": os.path.abspath("no_agent.so")})
    with open("earlier.geiger", "rb") as file:
        stays = file.read() == earlier
    check("an_attach_that_fails_replaces_no_profile",
          None if made.returncode == 0 else made.stderr,
          None if got.returncode == 1 and "refused the agent" in got.stderr else f"{got.returncode}: {got.stderr}",
          None if stays else "it is another file",
          None if not [name for name in os.listdir(".") if name.startswith("earlier.geiger.")] else "a part is left",
          target.end())


def failing_profile():
    target = Target("loops", "1")
    with subprocess.Popen([GEIGER, "attach", "-i", "64KiB", "-o", "full.geiger", str(target.pid)],
                          stderr=subprocess.PIPE, text=True,
                          preexec_fn=lambda: signal.signal(signal.SIGXFSZ, signal.SIG_IGN)) as recorder:
        said = recorder.stderr.readline()
        resource.prlimit(recorder.pid, resource.RLIMIT_FSIZE, (1 << 16, 1 << 16))
        said += recorder.communicate(timeout=LIMIT)[1]
    check("a_recording_whose_profile_fails_exits_with_1",
          None if recorder.returncode == 1 and "the profile is not complete" in said else f"{recorder.returncode}: {said}",
          None if not recording_in(target.pid) else "the agent is still there",
          target.end())


def main():
    for words in BUSY:
        # Their main threads wait for other threads and processes most of the time.
        way_in(words, ROUNDS, ("entry", "idle") if words[0] in ("stacks", "churn", "forks") else ("entry",))
    for call in CALLS:
        way_in(["wait", call], max(2, ROUNDS // 10), ("idle", "entry"))
    for words in BUSY[:4]:
        attach_and_detach(words, max(3, ROUNDS // 4))
    recording()
    reports_of_a_pid()
    recording_over_exec()
    stopping()
    failing_attach()
    failing_profile()
    executing()
    ending()
    refused()
    fifo()
    other_allocators()
    container()
    if ROUNDS >= 10:  # this takes ten seconds
        idle()


if __name__ == "__main__":
    sys.exit(in_scratch(main))
