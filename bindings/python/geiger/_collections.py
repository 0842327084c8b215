# SPDX-License-Identifier: Apache-2.0
"""Records for `geiger record` how PyPy's garbage collector works.

watch() puts hooks into PyPy's collector.  They add up what the collector tells, and write a line of
it now and then into the session's folder, where the recorder reads it when the recording ends:

    [ns of CLOCK_MONOTONIC] [minor collections] [steps of major ones] [major collections]
    [ns of pauses] [ns of the longest] [bytes now] [largest bytes] [bytes of arenas]
    [bytes of large objects]

All but the time and the bytes are of the time since the line before.  -1: not known.
"""

import os
import sys
import time

FIRST_PERIOD_NS = 10_000_000
LINES = 500  # the period grows with the time, so that a long recording has a few thousand lines


def _file_name():
    """The pid, and what tells this process from those of other containers that have the same pid.

    That is the time of its start in clock ticks, and the number in the name of its region, which a
    forked child may not have yet.
    """
    pid, ticks, number = os.getpid(), "0", "0"
    try:
        with open("/proc/self/stat", errors="replace") as stat:
            ticks = stat.read().rpartition(")")[2].split()[19]
        with open("/proc/self/maps", errors="replace") as maps:
            for line in maps:
                name = line.rpartition("/")[2]
                if name.startswith("geiger-%d-" % pid) and ".region" in name:
                    number = name.split("-")[2].partition(".")[0]
                    break
    except (OSError, IndexError):
        pass
    return "collections-%d-%s-%s" % (pid, ticks, number)


class _Watch:
    def __init__(self, folder):
        self.folder = folder
        self.begin()

    def begin(self):
        """Each process has a file of its own."""
        path = os.path.join(self.folder, _file_name())
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            self.file = os.open(path, flags, 0o600)
        except OSError:
            self.file = -1
        self.first_ns = self.last_ns = time.monotonic_ns()
        self.heap_bytes = self.most_bytes = self.arena_bytes = self.large_bytes = -1
        self.clear()

    def clear(self):
        self.minor = self.steps = self.major = 0
        self.pause_ns = self.longest_ns = 0
        self.most_bytes = self.heap_bytes

    def forked(self):
        if self.file >= 0:
            os.close(self.file)
        self.begin()

    def write(self, now_ns):
        numbers = (now_ns, self.minor, self.steps, self.major, self.pause_ns, self.longest_ns)
        numbers += (self.heap_bytes, self.most_bytes, self.arena_bytes, self.large_bytes)
        line = " ".join(map(str, numbers)).encode() + b"\n"
        self.last_ns = now_ns
        self.clear()
        try:
            if self.file >= 0 and os.write(self.file, line) != len(line):
                raise OSError
        except OSError:  # no room: the lines so far are what there is
            os.close(self.file)
            self.file = -1

    def write_if_due(self):
        now_ns = time.monotonic_ns()
        if now_ns - self.last_ns >= max(FIRST_PERIOD_NS, (now_ns - self.first_ns) // LINES):
            self.write(now_ns)

    def end(self):
        if self.minor or self.steps or self.major:
            self.write(time.monotonic_ns())

    def pause(self, stats):
        self.pause_ns += int(stats.duration * 1e9)
        self.longest_ns = max(self.longest_ns, int(stats.duration_max * 1e9))

    # PyPy calls these after a collection, outside of it.

    def on_gc_minor(self, stats):
        self.minor += stats.count
        self.pause(stats)
        self.heap_bytes = stats.total_memory_used
        self.most_bytes = max(self.most_bytes, self.heap_bytes)
        self.write_if_due()

    def on_gc_collect_step(self, stats):
        self.steps += stats.count
        self.pause(stats)

    def on_gc_collect(self, stats):
        self.major += stats.count
        self.arena_bytes = stats.arenas_bytes
        self.large_bytes = stats.rawmalloc_bytes_after
        self.heap_bytes = self.arena_bytes + self.large_bytes
        self.write_if_due()


_watch = None


def watch_collections():
    """Begins to record what PyPy's collector does, in this process and its forks.

    Returns whether it does: False with another Python, and outside of `geiger record`.
    """
    global _watch
    folder = os.environ.get("GEIGER_DIR")
    if sys.implementation.name != "pypy" or not folder or "GEIGER_RECORDER" not in os.environ:
        return False
    if _watch is None:
        import atexit
        import gc

        _watch = _Watch(folder)
        gc.hooks.set(_watch)
        os.register_at_fork(after_in_child=_watch.forked)
        atexit.register(_watch.end)
    return True
