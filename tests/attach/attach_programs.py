# SPDX-License-Identifier: Apache-2.0
"""attach_programs - what the tests of `geiger attach` share: targets that run, and geiger.

GEIGER, ATTACH_TARGET: the program, and programs that check themselves.
"""

import os
import signal
import subprocess
import time

import own_regions  # for its effect

GEIGER = os.environ["GEIGER"]
TARGET = os.environ["ATTACH_TARGET"]
LIMIT = 300  # seconds after which something hangs


class Target:
    """A running target; .end() returns what was wrong."""

    def __init__(self, *words, program=TARGET, before=(), **how):
        self.process = subprocess.Popen([*before, program, *words], stdout=subprocess.PIPE, text=True, **how)
        self.pid = int(self.process.stdout.readline())
        time.sleep(0.1)

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            said = self.process.communicate(timeout=LIMIT)[0]
        except subprocess.TimeoutExpired:
            self.process.kill()
            return "it hangs"
        return None if self.process.returncode == 0 else f"{self.process.returncode}: {said}"


def geiger(*words, env=None):
    return subprocess.run([GEIGER, *words], capture_output=True, text=True, env=env, timeout=LIMIT)


def text_of(pid):
    """The code of libc in the process: no trap is left in it."""
    with open(f"/proc/{pid}/maps", encoding="ascii") as file:
        begin, end = next([int(n, 16) for n in line.split()[0].split("-")] for line in file
                          if "libc.so.6" in line and "r-xp" in line)
    with open(f"/proc/{pid}/mem", "rb") as memory:
        memory.seek(begin)
        return memory.read(end - begin)
