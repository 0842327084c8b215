# SPDX-License-Identifier: Apache-2.0
"""session - a program that waits for commands, as the tests of looks drive it, and what the kernel
says of it.

    with Waiting([KEEPER, "peak", "1"]) as program:
        roles, totals = program.truth()
        program.ask("trim")
        rss_bytes(program.pid)
"""

import json
import os
import pathlib
import subprocess
import typing

GEIGER = os.environ["GEIGER"]


class Role(typing.NamedTuple):
    """The live blocks of a function of the program, and their bytes."""

    count: int
    size: int
    usable: int
    pinned: float


class Waiting:
    """A program that has printed "ready"; .said has the lines before, .pid is its own."""

    def __init__(self, command, record=(), **environment):
        """With `record`, options of `geiger record`, it runs below the recorder."""
        wrapped = [GEIGER, "record", "-q", *record, "--", *command] if record else command
        self.child = subprocess.Popen(wrapped, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                      env={**os.environ, **environment})
        self.said = self._lines_until("ready")
        self.pid = self.child.pid
        if record and self.said is not None:
            self.pid = child_of(self.child.pid)

    def _lines_until(self, last):
        lines = []
        for line in self.child.stdout:
            if line.rstrip("\n") == last:
                return lines
            lines.append(line.split())
        return None  # it ended

    def ask(self, line):
        """Returns the words of each line of the answer."""
        self.child.stdin.write(line + "\n")
        self.child.stdin.flush()
        return self._lines_until("done")

    def truth(self):
        """The roles by the names of their functions, and totals in bytes."""
        lines = self.ask("truth")
        roles = {words[1]: Role(*map(int, words[2:5]), float(words[5])) for words in lines if words[0] == "role"}
        return roles, {words[1]: float(words[2]) for words in lines if words[0] == "total"}

    def end(self):
        """Closes its input; returns its exit status."""
        self.child.stdin.close()
        return self.child.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.child.poll() is None:
            self.end()
        self.child.stdout.close()


def child_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as file:
        return int(file.read().split()[0])


def rss_bytes(pid):
    """By a walk of the kernel, as smaps has it: exact."""
    with open(f"/proc/{pid}/smaps_rollup", encoding="utf-8") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("Rss:"))


def agent_environment(folder, *options):
    """The environment of a program whose region shall be in that folder, without a recorder."""
    words = subprocess.run([GEIGER, "env", "--dir", folder, *map(str, options)], check=True, capture_output=True,
                           text=True).stdout.split()
    return dict(word.split("=", 1) for word in words if "=" in word)


def region_of(folder, pid):
    return next(pathlib.Path(folder).glob(f"geiger-{pid}-*.region"))


def rows_by_function(target, metric):
    """The rows of a report by the names of their functions."""
    out = subprocess.run([GEIGER, "report", target, "-m", metric, "--limit", "0", "--json"], check=True,
                         capture_output=True, text=True).stdout
    return {row["function"]: row for row in json.loads(out)["rows"] if row["samples"] > 0}
