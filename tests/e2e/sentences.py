# SPDX-License-Identifier: Apache-2.0
"""sentences - what the Python tests of the command share, as test.h is for those in C.

A test calls check() or skip() for each sentence and ends with sys.exit(status()).  in_scratch()
runs its main function in an empty folder that goes away.
"""

import os
import tempfile

SHOWN = 8  # problems of one sentence
LONGEST = 4000  # characters of a problem

_counts = {"ok": 0, "FAILED": 0, "skipped": 0}


def check(name, *problems):
    """The sentence holds unless there is a problem; None and "" are no problem."""
    found = [problem for problem in problems if problem]
    for problem in found[:SHOWN]:
        print(str(problem)[:LONGEST])
    if len(found) > SHOWN:
        print(f"and {len(found) - SHOWN} more")
    result = "FAILED" if found else "ok"
    _counts[result] += 1
    print(f"{result} - {name}", flush=True)


def skip(name, why):
    """The sentence cannot be checked on this machine."""
    _counts["skipped"] += 1
    print(f"skipped - {name}: {why}", flush=True)


def status():
    """The program's exit status: 1 if a sentence failed, 77 if all were skipped."""
    if _counts["FAILED"]:
        return 1
    return 77 if _counts["skipped"] and not _counts["ok"] else 0


def in_scratch(main):
    """Calls main() in a scratch folder; its exit status is that of the sentences."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            main()
        finally:
            os.chdir("/")
    return status()
