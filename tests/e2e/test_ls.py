#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`geiger ls` fits the terminal, and cuts nothing in a pipe.  `geiger export` says what it wrote.

GEIGER: the program.
"""

import os
import subprocess
import sys

from sentences import check, in_scratch

GEIGER = os.environ["GEIGER"]
REGIONS = 25
LONG = "x" * 700


def run(*arguments, **environment):
    settings = {key: value for key, value in os.environ.items() if key != "COLUMNS"}
    return subprocess.run([GEIGER, *arguments], capture_output=True, text=True,
                          env={**settings, "LC_ALL": "C.UTF-8", **environment})


def make_regions():
    """Regions in a directory whose path alone is longer than a narrow terminal."""
    folder = os.path.abspath("d" * 90)
    os.mkdir(folder)
    words = run("env", "--dir", folder).stdout.split()
    environment = {**os.environ, **dict(word.split("=", 1) for word in words if "=" in word)}
    for i in range(REGIONS):
        subprocess.run(["/bin/echo", f"number-{i}", LONG], check=True, env=environment, stdout=subprocess.DEVNULL)
    return folder


def listing(folder):
    for columns in 80, 120:
        lines = run("ls", folder, COLUMNS=str(columns)).stdout.splitlines()
        check(f"each_line_fits_{columns}_columns",
              None if len(lines) == REGIONS + 1 else f"{len(lines)} lines",
              *(line for line in lines if len(line) > columns))
        check(f"a_command_is_cut_with_a_mark_at_{columns}_columns",
              *(line for line in lines[1:] if "…" not in line or "echo" not in line))
        check(f"the_command_has_the_whole_room_of_{columns}_columns",
              *(line for line in lines[1:] if len(line) != columns))
    for name, lines in (("a_pipe_gets_whole_commands_and_paths", run("ls", folder)),
                        ("long_listings_have_whole_commands_and_paths", run("ls", "-l", folder, COLUMNS="80"))):
        check(name, *(line for line in lines.stdout.splitlines()[1:]
                      if LONG not in line or f"{folder}/" not in line or "…" in line))
    ascii_only = run("ls", folder, COLUMNS="80", LC_ALL="C").stdout
    check("an_ascii_terminal_gets_ascii", None if ascii_only.isascii() and "..." in ascii_only else ascii_only)
    check("no_region_is_no_table", None if run("ls", "/nowhere").stdout in ("", "no regions\n") else "a table")


def exports():
    run("record", "-q", "-i", "1", "-o", "e.geiger", "--", "/bin/echo")
    said = run("export", "e.geiger", "-o", "out.pb.gz").stderr
    check("export_says_what_it_wrote",
          None if said.startswith("geiger: wrote out.pb.gz: ") and said.endswith(" of pprof\n") else said,
          None if os.path.getsize("out.pb.gz") > 0 else "it is empty")
    said = [run("export", "e.geiger", "-m", "allocated", *options).stderr
            for options in (("-q", "-o", "quiet.pb.gz"), ("-f", "collapsed"), ("-f", "collapsed", "-o", "-"))]
    check("quiet_exports_and_standard_output_say_nothing", *said)


def main():
    listing(make_regions())
    exports()


if __name__ == "__main__":
    sys.exit(in_scratch(main))
