# SPDX-License-Identifier: Apache-2.0
"""page_looks - functions that add looks to a profile without any, for tests."""

import random
import sqlite3

LAST, PEAK = 1, 2
WALKED = ("glibc.fast", "glibc.cached")  # without these totals of a walk, that of WHOLE is a bound
WHOLE = "glibc.pinned"


def add_look(profile, chooser, process, moments, time_ns, chance):
    """A look that chose some of the live samples, around which the memory is of any kind."""
    live = [row[0] for row in profile.execute(
        "select id from sample where process = ? and t_alloc <= ? and (t_free is null or t_free > ?)", (process, time_ns, time_ns))]
    chosen = sorted(chooser.sample(live, max(1, int(len(live) * chance)))) if live else []
    look = profile.execute("select coalesce(max(id), 0) + 1 from look").fetchone()[0]
    profile.execute(
        "insert into look(id, process, moments, time_ns, span_ns, rss_bytes, page_bytes, live_count, chosen_count, torn_count, allocator)"
        " values(?, ?, ?, ?, 0, ?, 4096, ?, ?, 0, 'glibc')",
        (look, process, moments, time_ns, (1 + moments) << 20, len(live), len(chosen)))
    for sample in chosen:
        pinned = None if chooser.random() < 0.05 else chooser.choice((0, chooser.expovariate(1 / 300), 4000.5))
        profile.execute("insert into look_block values(?, ?, 64, 0, ?, 0)", (look, sample, pinned))
    return look


def add_looks(path, limit_bytes=None):
    """Gives each process a last look and one at the largest RSS, or one for both.

    Every sample of the last process was chosen and stands for itself.  limit_bytes: the exact
    amount that each look found.
    """
    chooser = random.Random(22)
    with sqlite3.connect(path) as profile:
        ends = dict(profile.execute("select id, coalesce(end_ns, 1000000000) from process where id > 0"))
        exact = max(ends)
        profile.execute("update sample set interval = 1 where process = ?", (exact,))
        profile.execute("update process set interval = 1 where id = ?", (exact,))
        for process, end_ns in ends.items():
            begin_ns = profile.execute("select coalesce(start_ns, 0) from process where id = ?", (process,)).fetchone()[0]
            looks = []
            for moments, part in ((LAST, 0.9), (PEAK, 0.6)) if process != 2 else ((LAST | PEAK, 0.7),):
                time_ns = begin_ns + int((end_ns - begin_ns) * part)
                looks.append(add_look(profile, chooser, process, moments, time_ns, 1 if process == exact else 0.6))
            if limit_bytes is not None:
                totals = [(look, name, 0) for look in looks for name in WALKED] + [(look, WHOLE, limit_bytes) for look in looks]
                profile.executemany("insert into look_total values(?, ?, ?)", totals)


def shown(found):
    """A figure as people see it: no estimate is above its high end."""
    if found.get("high") is not None and found.get("estimate") is not None:
        found["estimate"] = min(found["estimate"], found["high"])
    return found
