#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`geiger attach` in hostile places: filters of system calls that refuse, or that end the process.

GEIGER, ATTACH_TARGET, FILTER_TARGET: the program, programs that check themselves, a filter for one.
"""

import json
import os
import signal
import sys

from attach_programs import Target, geiger
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


def main():
    refused_files()
    deadly_filters()
    skipped_calls()


if __name__ == "__main__":
    sys.exit(in_scratch(main))
