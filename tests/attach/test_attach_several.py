#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`geiger attach --all NAME` and `--cgroup PATH` attach to each process, and name the failures.

GEIGER, ATTACH_TARGET: the program, and programs that check themselves.
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

from attach_programs import GEIGER, LIMIT, TARGET, Target, geiger
from sentences import check, in_scratch, skip

GROUPS = (pathlib.Path("/sys/fs/cgroup/unified"), pathlib.Path("/sys/fs/cgroup"), pathlib.Path("/sys/fs/cgroup/pids"))


def copy(name):
    """A program with a name that no other process of this machine has."""
    name = f"{name}{os.getpid()}"
    shutil.copy(TARGET, name)
    return name, os.path.abspath(name)


def stop(target):
    os.kill(target.pid, signal.SIGSTOP)
    while "T (stopped)" not in pathlib.Path(f"/proc/{target.pid}/status").read_text(encoding="ascii"):
        time.sleep(0.01)


def rows(got):
    return {row["pid"]: row for row in json.loads(got.stdout)["processes"]}


def names():
    name, program = copy("several")
    targets = [Target("loops", "2", program=program) for _ in range(3)]
    stop(targets[1])
    looked = geiger("attach", "--all", name, "--dry-run", "--json")
    table = rows(looked)
    check("a_look_at_all_of_a_name_has_each",
          None if looked.returncode == 1 and sorted(table) == sorted(t.pid for t in targets) else looked.stdout,
          None if [table[t.pid]["attachable"] for t in targets] == [True, False, True] else looked.stdout)
    got = geiger("attach", "--all", name)
    lines = got.stderr.splitlines()
    check("all_of_a_name_are_attached_to_but_one_that_is_stopped",
          None if got.returncode == 1 and len(lines) == 4 else got.stderr,
          *(None if f"geiger: attached to process {t.pid} ({name[:15]})" in got.stderr else got.stderr
            for t in (targets[0], targets[2])),
          None if f"geiger: {targets[1].pid} ({name[:15]}): not attached: it is stopped" in got.stderr else got.stderr,
          None if lines[-1:] == [f"geiger: {name}: 1 of 3 processes cannot be attached to."] else got.stderr)
    os.kill(targets[1].pid, signal.SIGCONT)
    again = geiger("attach", "--all", name, "--json")
    table = rows(again)
    check("what_is_profiled_already_is_no_failure",
          None if again.returncode == 0 and again.stderr == "" else again.stderr,
          None if [table[t.pid]["attached"] for t in targets] == [False, True, False] else again.stdout,
          *(None if table[t.pid]["profiled"] and table[t.pid]["code"] == "profiled" else again.stdout
            for t in (targets[0], targets[2])),
          None if os.path.exists(table[targets[1].pid]["region"]) else again.stdout)
    left = [geiger("detach", str(t.pid)) for t in targets]
    check("the_programs_noticed_nothing",
          *(run.stderr for run in left if run.returncode != 0), *(t.end() for t in targets))
    none = geiger("attach", "--all", name)
    check("a_name_without_a_process_is_a_failure",
          None if none.returncode == 1 and f"{name}: there is no such process" in none.stderr else none.stderr)


def long_names():
    name, program = copy("a-name-longer-than-the-kernel-shows-")
    target = Target("loops", "1", program=program)
    got, other = geiger("attach", "--all", name, "-n"), geiger("attach", "--all", name[:20], "-n")
    cut = geiger("attach", "--all", name[:15], "-n")
    check("a_long_name_is_found_whole_and_as_the_kernel_cuts_it",
          None if got.returncode == 0 and f"process      {target.pid} " in got.stdout else got.stderr,
          None if cut.returncode == 0 and f"process      {target.pid} " in cut.stdout else cut.stderr,
          target.end())
    check("a_part_of_a_name_is_no_name", None if other.returncode == 1 and other.stdout == "" else other.stdout)


def make_group():
    """A control group with one below it; None: not allowed here."""
    for mount in GROUPS:
        group = mount / f"geiger-test-{os.getpid()}"
        try:
            (group / "inner").mkdir(parents=True)
        except OSError:
            continue
        if (group / "inner/cgroup.procs").exists():
            return mount, group
        (group / "inner").rmdir()
        group.rmdir()
    return None, None


def groups():
    mount, group = make_group()
    if group is None:
        skip("all_of_a_control_group_are_attached_to", "no control groups may be made here")
        return
    targets = [Target("loops", "1") for _ in range(3)]
    try:
        (group / "cgroup.procs").write_text(str(targets[0].pid), encoding="ascii")
        (group / "inner/cgroup.procs").write_text(str(targets[1].pid), encoding="ascii")
        got = geiger("attach", "--cgroup", str(group), "--json")
        look = geiger("attach", "--cgroup", "/" + str(group.relative_to(mount)), "-n", "--json")
    finally:
        left = [geiger("detach", str(t.pid)) for t in targets[:2]]
        problems = [t.end() for t in targets]
        (group / "inner").rmdir()
        group.rmdir()
    check("all_of_a_control_group_are_attached_to",
          None if got.returncode == 0 and sorted(rows(got)) == sorted(t.pid for t in targets[:2]) else got.stdout,
          *(run.stderr for run in left if run.returncode != 0), *problems)
    if str(mount) != "/sys/fs/cgroup/pids":
        check("a_group_is_found_by_the_path_that_proc_has",
              None if sorted(rows(look)) == sorted(t.pid for t in targets[:2]) else look.stderr)
    gone = geiger("attach", "--cgroup", str(group))
    check("a_group_that_is_not_there_is_a_failure",
          None if gone.returncode == 1 and "there is no such control group" in gone.stderr else gone.stderr)


def has_region(pid):
    return ".region" in pathlib.Path(f"/proc/{pid}/maps").read_text(encoding="ascii")


def pair(program):
    """A busy process and one that only sleeps, which takes geiger 10 s, in the order of pids."""
    while True:
        busy, idle = Target("loops", "1", program=program), Target("sleep", program=program)
        if busy.pid < idle.pid:
            return busy, idle
        check("pids_are_used_again", busy.end(), idle.end())


def interrupted():
    name, program = copy("ended")
    busy, idle = pair(program)
    got = subprocess.Popen([GEIGER, "attach", "--all", name, "--json"], stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True)
    while not has_region(busy.pid) and got.poll() is None:
        time.sleep(0.01)
    got.send_signal(signal.SIGINT)
    said, why = got.communicate(timeout=LIMIT)
    result = json.loads(said) if said else {"processes": []}
    left = geiger("detach", str(busy.pid))
    check("ctrl_c_prints_the_results_of_before",
          None if got.returncode == -signal.SIGINT else f"{got.returncode}: {why}",
          None if [row["pid"] for row in result["processes"]] == [busy.pid] else said + why,
          None if result.get("complete") is False and result.get("not_tried") == 1 else said,
          left.stderr if left.returncode != 0 else None, busy.end(), idle.end())


def make_groups(mount):
    """A group below that mount, or None."""
    group = pathlib.Path(f"/sys/fs/cgroup/{mount}/geiger-frozen-{os.getpid()}")
    try:
        group.mkdir()
    except OSError:
        return None
    return group


def freeze(sentence, mount, file, words):
    group = make_groups(mount)
    if group is None or not (group / file).exists():
        if group is not None:
            group.rmdir()
        skip(sentence, "no such control group may be made here")
        return
    target = Target("loops", "1")
    (group / "cgroup.procs").write_text(str(target.pid), encoding="ascii")
    (group / file).write_text(words[0], encoding="ascii")
    states = {"cgroup.freeze": "cgroup.events"}
    while words[2] not in (group / states.get(file, file)).read_text(encoding="ascii"):
        time.sleep(0.01)
    got = geiger("attach", "-n", str(target.pid))
    (group / file).write_text(words[1], encoding="ascii")
    (group.parent / "cgroup.procs").write_text(str(target.pid), encoding="ascii")
    after = geiger("attach", "-n", str(target.pid))
    problem = target.end()
    group.rmdir()
    check(sentence, None if got.returncode == 1 and "its control group is frozen" in got.stdout + got.stderr
          else got.stdout + got.stderr, after.stderr if after.returncode != 0 else None, problem)


def frozen():
    for mount in ("unified", "."):
        if pathlib.Path(f"/sys/fs/cgroup/{mount}/cgroup.controllers").exists():
            freeze("a_frozen_group_of_version_2_is_refused", mount, "cgroup.freeze", ("1", "0", "frozen 1"))
    freeze("a_frozen_group_of_version_1_is_refused", "freezer", "freezer.state", ("FROZEN", "THAWED", "FROZEN"))


def threads():
    """The kernel does not tell the processes of a group of threads."""
    sentence = "a_group_that_cannot_be_read_is_not_taken_for_an_empty_one"
    mounts = [mount for mount in ("unified", ".")
              if pathlib.Path(f"/sys/fs/cgroup/{mount}/cgroup.controllers").exists()]
    group = make_groups(mounts[0]) if mounts else None
    if group is None:
        skip(sentence, "no control group of version 2 may be made here")
        return
    inner = group / "inner"
    inner.mkdir()
    (inner / "cgroup.type").write_text("threaded", encoding="ascii")
    got = geiger("attach", "-n", "--cgroup", str(group))
    inner.rmdir()
    group.rmdir()
    check(sentence, None if got.returncode == 1 and "the processes of 1 control groups cannot be read" in got.stderr
          else got.stderr)


def requests():
    for name, words, said in (
            ("a_name_and_a_pid_are_too_much", ["--all", "x", "1"], "give a pid, --all NAME or --cgroup PATH"),
            ("a_name_and_a_group_are_too_much", ["--all", "x", "--cgroup", "y"], "give a pid, --all NAME"),
            ("several_have_no_recording", ["--all", "x", "-o", "f"], "a recording follows one process"),
            ("only_dotnet_needs_a_profile", ["--only", "dotnet", "1"], "memory can only be recorded"),
            ("only_python_is_not_to_be_had", ["--only", "python", "1"], "an attach cannot sample the heaps of Python alone"),
            ("only_another_is_a_wrong_request", ["--only", "ruby", "1"], "native|jvm|dotnet|python")):
        got = geiger("attach", *words)
        check(name, None if got.returncode == 2 and said in got.stderr else f"{got.returncode}: {got.stderr}")


def main():
    names()
    long_names()
    interrupted()
    groups()
    frozen()
    threads()
    requests()


if __name__ == "__main__":
    sys.exit(in_scratch(main))
