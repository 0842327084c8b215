#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""After a detach, a process has the slots, the code and the protections of before the attach.

GEIGER, FORK_TARGET: the program, and one that allocates.  FIXED_TARGET, BOUND_TARGET: the same at a
fixed address with slots that are bound late, and with slots that are read-only.  JEMALLOC, TCMALLOC
and MIMALLOC: other allocators.  The Python of a distribution is often at a fixed address as well.
"""

import os
import subprocess
import sys
import time

import process_image
from attach_programs import LIMIT, geiger
from sentences import check, in_scratch, skip

ROUNDS = 2
PYTHON = """
import os, sys, threading
print(os.getpid(), flush=True)
threading.Thread(target=sys.stdin.read).start()
kept = []
while threading.active_count() > 1:
    kept = [bytes(1000 + i) for i in range(100)]
    threading.Event().wait(0.001)
"""


def steady_image(pid):
    """The image of a process that has bound all slots that it uses."""
    image, later = None, process_image.read(pid)
    while image is None or image.slots != later.slots or image.pages != later.pages:
        time.sleep(0.1)
        image, later = later, process_image.read(pid)
    return later


def compare(name, words, *kinds, **environment):
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                               env={**os.environ, **environment})
    pid = int(process.stdout.readline())
    before, problems, changed = steady_image(pid), [], []
    for _ in range(ROUNDS):
        attached = geiger("attach", "-q", "-i", "4KiB", str(pid))
        changed = process_image.changed_slots(before, process_image.read(pid))
        detached = geiger("detach", str(pid))
        problems += [run.stderr for run in (attached, detached) if run.returncode != 0]
        problems.append(process_image.difference(before, process_image.read(pid)))
        problems += [f"the attach changed no {kind}" for kind in kinds if not any(kind in slot for slot in changed)]
    said = process.communicate(timeout=LIMIT)[0]
    problems.append(None if process.returncode == 0 else f"{process.returncode}: {said}")
    check(f"{name}_is_as_before_after_a_detach", *problems)
    print(f"# {name}: {len(before.slots)} slots, of which an attach changed {len(changed)}; "
          f"{sum(map(len, before.code.values())) >> 10} KiB of code, {len(before.pages)} pages")


def main():
    compare("a_program", [os.environ["FORK_TARGET"]], "data slot of malloc", "data slot of free", "table slot of free")
    compare("a_program_at_a_fixed_address", [os.environ["FIXED_TARGET"]], "slot of malloc", "slot of free")
    compare("a_program_with_read_only_slots", [os.environ["BOUND_TARGET"]], "data slot of malloc", "data slot of free")
    for name in ("JEMALLOC", "TCMALLOC", "MIMALLOC"):
        if os.environ.get(name, "") != "":
            compare(f"a_program_over_{name.lower()}", [os.environ["FORK_TARGET"]], "slot of free", LD_PRELOAD=os.environ[name])
    if os.path.exists("/usr/bin/python3"):
        compare("python", ["/usr/bin/python3", "-c", PYTHON], "slot of free")
    else:
        skip("python_is_as_before_after_a_detach", "no Python of a distribution")


if __name__ == "__main__":
    sys.exit(in_scratch(main))
