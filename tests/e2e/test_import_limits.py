#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""geiger import and files that are larger than they look: refused by size and by ratio, and nothing
is left behind.

GEIGER: the program.
"""

import gzip
import os
import subprocess
import sys

from sentences import check, in_scratch

GEIGER = os.environ["GEIGER"]


def run(*arguments):
    return subprocess.run([GEIGER, "import", *arguments, "-o", "out.geiger"], capture_output=True, text=True)


def left():
    return sorted(name for name in os.listdir(".") if name.startswith("out."))


def refused(name, words, *arguments):
    done = run(*arguments)
    problem = None
    if done.returncode != 1 or any(word not in done.stderr for word in words):
        problem = f"status {done.returncode}: {done.stderr}"
    elif left():
        problem = f"left behind: {left()}"
    check(name, problem)


def taken(name, wanted, *arguments):
    done = run("--quiet", *arguments)
    problem = f"status {done.returncode}: {done.stderr}" if done.returncode != 0 else None
    if problem is None:
        rows = subprocess.run([GEIGER, "sql", "out.geiger", "select count(*), sum(bytes) from coarse", "--csv"],
                              capture_output=True, text=True, check=True).stdout.splitlines()[1]
        problem = None if rows == wanted else f"{rows} is not {wanted}"
        os.remove("out.geiger")
    check(name, problem)


def bombs():
    lines = b"main;grow 1\n" * 100000
    with open("bomb.gz", "wb") as file:
        file.write(gzip.compress(lines) * 57)  # members follow each other
    with open("plain", "wb") as file:
        file.write(lines)
    refused("max_size_holds_for_plain_files", ("more than 1 MiB",), "--max-size", "1M", "plain")
    taken("a_plain_file_has_no_limit_of_its_own_and_equal_stacks_are_one_row", "1,100000", "plain")
    refused("a_file_that_was_compressed_too_well_is_refused", ("1/200", "--max-size"), "bomb.gz")
    refused("max_size_holds_for_compressed_files", ("more than 2 MiB",), "--max-size", "2M", "bomb.gz")
    taken("with_max_size_it_is_read", "1,5700000", "--max-size", "1G", "bomb.gz")


if __name__ == "__main__":
    sys.exit(in_scratch(bombs))
