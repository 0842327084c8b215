#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench_overhead [SECONDS [LOAD[:SHARE]...]] - the requested overhead, and the real one.

Programs that allocate 1000 to 10 million times a second of their own time run under `geiger record
--overhead` for some SECONDS (20).  `whole` is the processor time of all processes, the recorder's
start and end included, less the program's own, over the program's own; `hooks`, `samples` and
`rest` are its parts.  The agent measures what passes inside the program, because the times of two
runs differ by more than that; `rest` is measured from outside.  `finest` says that the interval
ends at its finest bound, where samples cannot cost more.
"""
import os
import resource
import sqlite3
import subprocess
import sys
import tempfile

GEIGER, WORK = os.environ["GEIGER"], os.environ["OVERHEAD_WORK"]
# Bytes of one block, and additions after each allocation.
LOADS = {
    "1k": [(1000, 2500000)],
    "10k": [(1000, 250000)],
    "100k": [(400, 25000)],
    "1m": [(200, 2400)],
    "10m": [(64, 160)],
    "steps": [(200, 2400), (1000, 250000), (64, 160), (1000, 2500000)],
}
SHARES = "0.1%", "0.5%", "1%", "5%", "25%"
FINEST = 1024


def seconds(words, environment=None):
    """The seconds that the program prints, and those of all processes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(words, env={**os.environ, **(environment or {})}, check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    whole = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return float(done.stdout), whole


def calibrate(bytes, work):
    """Allocations of this kind in a second."""
    count = 1000
    while True:
        took = seconds([WORK, str(count), str(bytes), str(work)])[0]
        if took > 0.2:
            return count / took
        count *= 4


def words_of(load, length, rates):
    parts, turns = LOADS[load], 1 if len(LOADS[load]) == 1 else 4
    words = [WORK]
    for bytes, work in parts * turns:
        count = rates[bytes, work] * length / len(parts) / turns
        words += [str(max(int(count), 1)), str(bytes), str(work)]
    return words


def counters(profile):
    rows = sqlite3.connect(profile).execute("select name, sum(value) from counter group by name")
    return dict(rows)


def measure(load, share, length, rates, profile):
    own, all_ = seconds([GEIGER, "record", "-q", "--overhead", share, "-o", profile, "--"]
                        + words_of(load, length, rates))
    found = counters(profile)
    database = sqlite3.connect(profile)
    last = database.execute("select interval from sample order by t_alloc desc limit 1").fetchone()
    samples, = database.execute("select count(*) from sample").fetchone()
    program = found["ns of the program itself"]
    hooks = found["ns of hooks"] / program
    sampling = (found["ns of samples"] - found["ns of the recorder for samples"]) / program
    rest = (all_ - own) * 1e9 / program
    whole, asked = hooks + sampling + rest, float(share.strip("%")) / 100
    said = hooks + sampling + found["ns of the recorder"] / program
    verdict = "met" if whole <= 1.2 * asked else "hooks" if hooks > 0.9 * asked else "MISSED"
    if whole < 0.8 * asked:
        verdict = "finest" if last and last[0] <= FINEST else "BELOW"
    print(f"{load:6} {share:>5} {program / 1e9:7.1f} s {100 * whole:8.3f} % {100 * hooks:7.3f} "
          f"{100 * sampling:7.3f} {100 * rest:7.3f} {100 * said:9.3f} {samples:9}  {verdict}",
          flush=True)


def main():
    length = float(sys.argv[1]) if len(sys.argv) > 1 else 20
    print("load   asked   program     whole    hooks samples  rest(rec)  reported   samples")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as directory:
        os.environ["GEIGER_DIR"] = directory
        rates = {part: calibrate(*part) for parts in LOADS.values() for part in parts}
        for name in sys.argv[2:] or LOADS:
            load, _, only = name.partition(":")
            for share in [only] if only else SHARES:
                profile = os.path.join(directory, "x.geiger")
                measure(load, share, length, rates, profile)
                os.unlink(profile)
                for name in os.listdir(directory):
                    if name.endswith(".region"):
                        os.unlink(os.path.join(directory, name))


main()
