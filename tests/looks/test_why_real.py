#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_why_real.py NAME... - `geiger why` on real programs: rows add up to RSS, and all but 2 % of
it has a name.  Redis knows its own numbers, and geiger's agree with them.

The names are those of workloads in tests/programs, and "redis-itself".  GEIGER: the command's path.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import time

from sentences import check, skip, status
from session import GEIGER, agent_environment
from test_programs import fields_of, record
from why import problems_of, rest_problem, rows_of, why_of

CERTAIN = "0.99999"  # a test must not fail by chance
SMALL = 4 << 20  # a process with less RSS may have a rest above 2 %


def workload(name):
    with tempfile.TemporaryDirectory() as folder:
        profile, reason = record(name, fields_of(name)["interval"], pathlib.Path(folder))
        if not profile:
            skip(f"{name}_has_rows_that_add_up", reason)
            return
        tables = why_of(profile)["processes"]
    for table in tables:
        print(table["pid"], table["command"][:60], table["rss_bytes"],
              *(f"{row['name']}={row['bytes'] / 2**20:.1f}" for row in table["rows"]))
    check(f"{name}_has_looks", None if tables else "no process has one")
    check(f"{name}_has_rows_that_add_up", *(problem for table in tables for problem in problems_of(table)))
    check(f"{name}_has_a_name_for_all_but_2_percent",
          *(rest_problem(table) for table in tables if table["rss_bytes"] > SMALL))


# --- redis ---


def wait_until(condition):
    end = time.monotonic() + 60
    while not condition():
        if time.monotonic() > end:
            raise SystemExit("the server does not answer")
        time.sleep(0.05)


def fill_and_delete(redis):
    """Nine of ten keys go, here and there, so slabs are nearly empty."""
    commands = [f"SET key:{i} {'x' * (40 + i * 7919 % 300)}" for i in range(200000)]
    commands += [f"DEL key:{i}" for i in range(200000) if i * 7919 % 10]
    subprocess.run([*redis, "--pipe"], input="\n".join(commands) + "\n", text=True, check=True, capture_output=True)


def own_numbers(redis):
    text = subprocess.run([*redis, "INFO", "memory"], check=True, capture_output=True, text=True).stdout
    return {key: int(value) for key, _, value in (line.partition(":") for line in text.split("\n"))
            if value.strip().isdigit()}


def traffic(redis):
    """Some clients, one after the other: a server that is all idle takes no samples.  Each client
    has buffers of 16 KiB and more.  The last one gets the numbers, a second after the others."""
    for _ in range(10):
        subprocess.run([*redis, "PING"], check=True, capture_output=True)
    time.sleep(1.2)
    return own_numbers(redis)


def ends(answer, *names):
    """The sums of the ends of all rows of these names."""
    rows = [row for name in names for row in rows_of(answer, name)]
    return sum(row["low"] for row in rows), sum(row["high"] for row in rows)


def disagreement(what, own, low, high):
    """A problem if redis's own number is outside of geiger's interval."""
    print(f"{what}: {own} by redis, {low:.0f} to {high:.0f} by geiger")
    return None if low <= own <= high else f"{what}: {own} by redis, {low:.0f} to {high:.0f} by geiger"


def compare(answer, before, after):
    """jemalloc's numbers, as redis shows them.  The command that shows them takes some memory, so
    those of two moments allow for it; its bytes may be in a slab more for each size class."""
    slack = 128 * 1024 + max(abs(after[key] - before[key]) for key in before if key.startswith("allocator_"))
    rows = [("allocated", ("live", "rounding", "caches"), "allocator_allocated"),
            ("fragmentation, which live blocks pin", ("pinned",), "allocator_frag_bytes"),
            ("active", ("live", "rounding", "caches", "pinned"), "allocator_active"),
            ("resident", ("live", "rounding", "caches", "pinned", "returnable", "metadata", "lazy-free", "rest"),
             "allocator_resident")]
    for what, names, key in rows:
        low, high = ends(answer, *names)
        check(f"redis_agrees_about_{what.split(',')[0]}", disagreement(what, after[key], low - slack, high + slack))
    check("redis_has_an_answer", answer.get("reason"))
    check("redis_has_rows_that_add_up", *problems_of(answer))
    check("redis_has_a_name_for_all_but_2_percent", rest_problem(answer))


def redis_itself():
    checker = "/usr/bin/redis-check-rdb"
    if not os.path.exists(checker):
        skip("redis_agrees_about_what_is_pinned", "redis is not installed")
        return
    with tempfile.TemporaryDirectory() as folder:
        server = f"{folder}/redis-server"  # one file, which looks at its name
        os.symlink(checker, server)
        redis = ["redis-cli", "-s", f"{folder}/socket"]
        environment = agent_environment(folder, "-i", "16k", "--seed", "1")
        child = subprocess.Popen([server, "--port", "0", "--unixsocket", f"{folder}/socket", "--save", "", "--hz", "1",
                                  "--activedefrag", "no", "--dir", folder, "--logfile", "log"],
                                 env={**os.environ, **environment})
        try:
            wait_until(lambda: subprocess.run([*redis, "PING"], check=False, capture_output=True).returncode == 0)
            fill_and_delete(redis)
            time.sleep(2)  # its cron reads the allocator's numbers once a second
            before = traffic(redis)
            answer = why_of(child.pid, "--confidence", CERTAIN)
            compare(answer, before, traffic(redis))
        finally:
            child.terminate()
            child.wait()


if __name__ == "__main__":
    assert GEIGER
    for program in sys.argv[1:]:
        if program == "redis-itself":
            redis_itself()
        else:
            workload(program)
    sys.exit(status())
