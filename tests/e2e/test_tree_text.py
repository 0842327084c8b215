#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`geiger tree` prints a number where it changes, and a run of library frames as one line.

GEIGER, TREE_PROGRAM: programs.  The sampling interval is 1, so that numbers are exact.
"""

import os
import re
import subprocess
import sys

from sentences import check, in_scratch

GEIGER = os.environ["GEIGER"]
PROGRAM = os.environ["TREE_PROGRAM"]
LONG = "the_innermost_function_of_a_chain_with_a_name_that_does_not_fit_into_one_line_of_80_columns"


def tree(*options, **environment):
    """The lines of the tree, between its title and the empty line."""
    settings = {key: value for key, value in os.environ.items() if key != "COLUMNS"}
    text = subprocess.run([GEIGER, "tree", "t.geiger", *options], check=True, capture_output=True, text=True,
                          env={**settings, "LC_ALL": "C.UTF-8", **environment}).stdout
    return re.search(r"by paths of calls\n(.*?)(?:\n\n|\Z)", text, re.S)[1].splitlines()


def parts(line):
    """Splits a line into its number, which may be empty, and its name."""
    found = re.match(r" *([\d.]+ \S?i?B)?(?: *[<\d.]+ %)? *(?:[│├└─ ]*)(\S.*)", line)
    return found[1] or "", found[2].replace(" (tree_program)", "")


def named(lines, name):
    return [parts(line)[0] for line in lines if parts(line)[1].startswith(name)]


def numbers():
    lines = tree()
    check("a_number_stands_where_it_changes",
          None if named(lines, "outer") == ["3.81 MiB"] else f"outer: {lines}",
          None if named(lines, "middle") == [""] else f"middle: {lines}",
          None if named(lines, LONG) == [""] else f"innermost: {lines}",
          None if named(lines, "all")[0] == "9.54 MiB" else f"all: {lines}",
          None if named(lines, "main") == [""] else f"main: {lines}")
    check("a_percentage_stands_beside_each_number_and_nowhere_else",
          *(f"{line}" for line in lines if (" % " in line) != (parts(line)[0] != "")))
    at = [i for i, line in enumerate(lines) if "allocates_and_calls" in line][0]
    below = [parts(line) for line in lines[at:at + 3]]
    check("own_memory_of_a_caller_has_a_line",
          None if [number for number, _ in below] == ["2.86 MiB", "1.91 MiB", "0.95 MiB"]
          and [name for _, name in below][1:] == ["(self)", "callee"] else f"{below}")


def library_frames():
    lines, every = tree(), tree("--all-frames")
    folded = [re.fullmatch(r"\[(\d+) library frames\]", parts(line)[1]) for line in lines]
    hidden = sum(int(found[1]) - 1 for found in folded if found)
    check("start_code_and_the_sort_of_libc_are_one_line_each",
          None if len([1 for found in folded if found]) == 2 else f"{lines}",
          None if len(lines) + hidden == len(every) else f"{len(lines)} + {hidden} lines, {len(every)} with all",
          "qsort has a line" if named(lines, "qsort") or named(lines, "__qsort_r") else None)
    check("all_frames_have_a_line_each",
          None if named(every, "_start") and not any("library frames" in line for line in every) else f"{every}")
    inverted = tree("--inverted")
    check("an_inverted_tree_folds_them_below_the_function_that_allocates",
          None if named(inverted, "compare") == ["2.86 MiB"] else f"{inverted}",
          None if len([1 for line in inverted if "library frames]" in line]) >= 4 else f"{inverted}")


def width():
    narrow = tree(COLUMNS="80")
    check("lines_fit_80_columns", *(line for line in narrow if len(line) > 80))
    check("a_pipe_gets_whole_names", None if any(LONG in line for line in tree()) else f"{tree()}")


def main():
    subprocess.run([GEIGER, "record", "-q", "-i", "1", "-o", "t.geiger", "--", PROGRAM], check=True)
    numbers()
    library_frames()
    width()


if __name__ == "__main__":
    sys.exit(in_scratch(main))
