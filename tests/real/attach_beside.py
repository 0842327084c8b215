#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a command, and attaches to it and to its descendants and detaches, until all have ended.

    attach_beside.py LOG COMMAND...

The command replaces this process, so it keeps the pid, the descriptors and the exit status.  A
process beside it, which is no child of the command, does the rounds: one thread for each process of
the tree.  It writes a line of JSON for each round to LOG, and makes LOG.done when it is finished.

GEIGER: the program.
"""

import json
import os
import subprocess
import sys
import threading
import time

GEIGER = os.environ["GEIGER"]
PAUSE_SECONDS = 0.03  # between an attach and a detach
LIMIT_SECONDS = 100  # after which something hangs


def read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def identity(pid):
    """The parent of a process that lives and the time of its start; None for another one.

    Pids are used again: a process is known by its pid and its start.
    """
    after = read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    return (int(after[1]), int(after[19])) if len(after) > 19 and after[0] not in (b"Z", b"X") else None


def processes():
    """The parent and the start of each process that lives."""
    found = {int(name): identity(name) for name in os.listdir("/proc") if name.isdigit()}
    return {pid: of for pid, of in found.items() if of is not None}


def is_alive(pid, start):
    of = identity(pid)
    return of is not None and of[1] == start


class Rounds:
    """All processes of the tree that have been seen, each with a thread while it lives."""

    def __init__(self, pid, log):
        self.log, self.lock, self.threads, self.tree = log, threading.Lock(), {}, {}
        of = identity(pid)
        if of is not None:
            self.tree[pid] = of[1]

    def note(self, pid, **what):
        with self.lock:
            print(json.dumps({"pid": pid, **what}), file=self.log, flush=True)

    def run(self, pid, *words):
        try:
            return subprocess.run([GEIGER, *words, str(pid)], capture_output=True, text=True, timeout=LIMIT_SECONDS)
        except subprocess.TimeoutExpired:
            self.note(pid, step=words[0], error="it hangs")
            raise

    def note_error(self, pid, start, step, error):
        """A process that ends meanwhile may be refused for any reason."""
        time.sleep(PAUSE_SECONDS)
        self.note(pid, step=step, error=error, ended=not is_alive(pid, start))

    def follow(self, pid, start):
        """Attaches and detaches until the process has ended."""
        while is_alive(pid, start):
            got = self.run(pid, "attach", "-i", "4k", "--json")
            error, result = got.stderr.strip(), json.loads(got.stdout or "{}")
            # A child of a process to which geiger had attached has its parent's agent.
            is_attached = "profiles it already" in error or "under the agent" in error
            if got.returncode != 0 and not is_attached:
                self.note_error(pid, start, "attach", error)
                continue
            self.note(pid, step="attach", error=None, inherited=result == {}, way=result.get("way"),
                      stood_ns=result.get("others_stood_ns", 0))
            time.sleep(PAUSE_SECONDS)
            left = self.run(pid, "detach")
            if left.returncode != 0:
                self.note_error(pid, start, "detach", left.stderr.strip())
                continue
            self.note(pid, step="detach", error=None)
            time.sleep(PAUSE_SECONDS)

    def look(self):
        """Takes the new processes of the tree in, and leaves those out that have ended."""
        of = processes()
        self.tree = {pid: start for pid, start in self.tree.items() if pid in of and of[pid][1] == start}
        is_grown = True
        while is_grown:  # a child may have a smaller pid than its parent
            new = {pid: start for pid, (parent, start) in of.items() if parent in self.tree and pid not in self.tree}
            self.tree.update(new)
            is_grown = bool(new)

    def until_all_have_ended(self):
        while self.tree:
            for pid, start in self.tree.items():
                if (pid, start) not in self.threads:
                    self.threads[pid, start] = threading.Thread(target=self.follow, args=[pid, start])
                    self.threads[pid, start].start()
            time.sleep(0.01)
            self.look()
        for thread in self.threads.values():
            thread.join()


def beside(pid, before, path):
    """In the process that does the rounds, which shares no descriptor with the command."""
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(nothing, descriptor)
    with open(path, "w", encoding="utf-8") as log:
        os.dup2(log.fileno(), 2)
        while read(f"/proc/{pid}/cmdline") == before:  # until the command has replaced it
            time.sleep(0.001)
        Rounds(pid, log).until_all_have_ended()
    with open(path + ".done", "w", encoding="utf-8"):
        pass


def main():
    pid, path = os.getpid(), os.path.abspath(sys.argv[1])
    before = read("/proc/self/cmdline")
    middle = os.fork()
    if middle == 0:
        if os.fork() == 0:
            try:
                beside(pid, before, path)
            finally:
                os._exit(0)
        os._exit(0)
    os.waitpid(middle, 0)
    os.execvp(sys.argv[2], sys.argv[2:])


if __name__ == "__main__":
    main()
