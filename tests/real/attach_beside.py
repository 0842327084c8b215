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


def state_and_parent(pid):
    """The state and the parent of a process that lives; None for another one."""
    after = read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    return after[:2] if len(after) > 1 and after[0] not in (b"Z", b"X") else None


def parents():
    """The parent of each process."""
    found = {int(name): state_and_parent(name) for name in os.listdir("/proc") if name.isdigit()}
    return {pid: int(stat[1]) for pid, stat in found.items() if stat is not None}


def is_alive(pid):
    return state_and_parent(pid) is not None


class Rounds:
    """All processes of the tree that have been seen, each with a thread while it lives."""

    def __init__(self, pid, log):
        self.log, self.lock, self.threads, self.tree = log, threading.Lock(), {}, {pid}

    def note(self, pid, **what):
        with self.lock:
            print(json.dumps({"pid": pid, **what}), file=self.log, flush=True)

    def run(self, pid, *words):
        try:
            return subprocess.run([GEIGER, *words, str(pid)], capture_output=True, text=True, timeout=LIMIT_SECONDS)
        except subprocess.TimeoutExpired:
            self.note(pid, step=words[0], error="it hangs")
            raise

    def note_error(self, pid, step, error, **what):
        """A process that ends meanwhile may be refused for any reason."""
        time.sleep(PAUSE_SECONDS)
        self.note(pid, step=step, error=error, ended=not is_alive(pid), **what)

    def follow(self, pid):
        """Attaches and detaches until the process has ended."""
        while is_alive(pid):
            got = self.run(pid, "attach", "-i", "4k", "--json")
            error, result = got.stderr.strip(), json.loads(got.stdout or "{}")
            # A child of a process to which geiger had attached has its parent's agent.
            if got.returncode != 0 and "profiles it already" not in error:
                self.note_error(pid, "attach", error)
                continue
            self.note(pid, step="attach", error=None, inherited=result == {}, way=result.get("way"),
                      stood_ns=result.get("others_stood_ns", 0))
            time.sleep(PAUSE_SECONDS)
            left = self.run(pid, "detach")
            if left.returncode != 0:
                self.note_error(pid, "detach", left.stderr.strip())
                continue
            self.note(pid, step="detach", error=None)
            time.sleep(PAUSE_SECONDS)

    def until_all_have_ended(self):
        while True:
            of = parents()
            for pid, parent in of.items():
                if parent in self.tree:
                    self.tree.add(pid)
            living = [pid for pid in self.tree if pid in of]
            if not living:
                break
            for pid in living:
                if pid not in self.threads:
                    self.threads[pid] = threading.Thread(target=self.follow, args=[pid])
                    self.threads[pid].start()
            time.sleep(0.01)
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
