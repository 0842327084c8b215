#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`geiger attach` in hostile places: filters of system calls that refuse, or that end the process.

GEIGER, ATTACH_TARGET, FILTER_TARGET: the program, programs that check themselves, a filter for one.
"""

import json
import os
import signal
import subprocess
import sys

from attach_programs import GEIGER, Target, geiger
from sentences import check, in_scratch, skip

FILTER = os.environ["FILTER_TARGET"]
MEMFD_CREATE, FTRUNCATE, POLL = 319, 77, 7  # numbers of x86-64
SKIPPED = -1  # the number of a call that a tracer skips


def end(target):
    """Ends the program itself; the one before it returns its status."""
    os.kill(target.pid, signal.SIGTERM)
    said = target.process.communicate(timeout=60)[0]
    return None if target.process.returncode == 0 else f"{target.process.returncode}: {said}"


def refused_files():
    target = Target("loops", "2", before=[FILTER, str(MEMFD_CREATE), "errno"])
    got = geiger("attach", "--json", str(target.pid))
    shown = geiger("control", str(target.pid), "status")
    left = geiger("detach", str(target.pid))
    check("a_file_takes_the_place_of_a_memory_file_that_is_refused",
          None if got.returncode == 0 and json.loads(got.stdout)["slots"] > 0 else got.stderr,
          *(run.stderr or "failed" for run in (shown, left) if run.returncode != 0),
          *(f"{folder} has a file of it" for folder in ("/dev/shm", "/tmp", "/var/tmp", "/run")
            if any(name.startswith(f"geiger-agent-{target.pid}-") for name in os.listdir(folder))),
          end(target))


def deadly_filters():
    for name, number in (("memfd_create", MEMFD_CREATE), ("ftruncate", FTRUNCATE), ("poll", POLL)):
        sentence = f"a_filter_that_ends_the_process_for_{name}_is_refused"
        if os.geteuid() != 0:
            skip(sentence, "only root may read filters")
            continue
        target = Target("loops", "2", before=[FILTER, str(number), "kill"])
        got = geiger("attach", str(target.pid))
        check(sentence, None if got.returncode == 1 else "attached",
              None if f"its seccomp filters would end it for {name}()" in got.stderr else got.stderr, end(target))


def skipped_calls():
    """The filters end the process for a call that its tracer skips, and for no other."""
    target = Target("loops", "2", before=[FILTER, str(SKIPPED), "kill"])
    got = geiger("attach", "-q", str(target.pid))
    left = geiger("detach", str(target.pid))
    check("an_attach_skips_no_call_of_the_process",
          *(run.stderr or "failed" for run in (got, left) if run.returncode != 0), end(target))


def attach_and_detach(pid):
    runs = [geiger("attach", "-q", "-i", "4KiB", str(pid)), geiger("report", str(pid)),
            geiger("control", str(pid), "status"), geiger("detach", str(pid))]
    return [run.stderr or "failed" for run in runs if run.returncode != 0]


def own_filters():
    """A service manager installs such filters, which no parent has: geiger reads them first."""
    for name, words in (("a_service_with_a_list_of_calls", ["known", "errno"]),
                        ("a_service_that_may_make_no_code", ["writable", "kill"])):
        sentence = f"{name}_is_attached_to_by_root"
        if os.geteuid() != 0:
            skip(sentence, "only root may read filters")
            continue
        target = Target("loops", "2", before=[FILTER, "own", *words])
        looked = geiger("attach", "--dry-run", str(target.pid))
        check(sentence, None if "geiger reads them first" in looked.stdout else looked.stdout,
              *attach_and_detach(target.pid), target.end())


def unknown_calls():
    """The list of calls that the check knows is whole: any other call would end the program."""
    sentence = "an_attach_makes_no_call_that_the_check_does_not_know"
    if os.geteuid() != 0:
        skip(sentence, "only root may read filters")
        return
    target = Target("loops", "2", before=[FILTER, "own", "known", "kill"])
    check(sentence, *attach_and_detach(target.pid), *attach_and_detach(target.pid), target.end())


def filters_of_a_thread():
    target = Target("filters")
    got = geiger("attach", str(target.pid))
    check("threads_with_different_filters_are_refused",
          None if got.returncode == 1 and "its threads have different seccomp filters" in got.stderr else got.stderr,
          target.end())


def filters_of_another_user():
    """A user cannot read filters, so those of the program's own are an obstacle."""
    sentence = "a_user_is_told_that_root_may_read_filters"
    if os.geteuid() != 0:
        skip(sentence, "not root")
        return
    how = {"user": 65534, "group": 65534, "extra_groups": []}
    try:
        target = Target("loops", "1", before=[FILTER, "own", "known", "kill"], **how)
    except PermissionError:
        skip(sentence, "nobody may not run the program")
        return
    got = subprocess.run([GEIGER, "attach", str(target.pid)], capture_output=True, text=True, **how)
    check(sentence, None if got.returncode == 1 and "Run geiger as root, which reads them first" in got.stderr
          else got.stderr, target.end())


def main():
    refused_files()
    deadly_filters()
    skipped_calls()
    own_filters()
    unknown_calls()
    filters_of_a_thread()
    filters_of_another_user()


if __name__ == "__main__":
    sys.exit(in_scratch(main))
