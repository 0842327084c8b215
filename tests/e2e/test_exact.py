#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""geiger record --exact: every command that reads profiles shows exact numbers.

GEIGER: the program.  EXACT_PROGRAM: a program whose allocations are known.
"""

import json
import os
import shutil
import subprocess
import sys
import time

from sentences import check, in_scratch, skip

GEIGER, PROGRAM = os.environ["GEIGER"], os.environ["EXACT_PROGRAM"]
# The case forms of tests/agent/exact_program.c.
ALLOCATED = 10001 + 3 * 10001 + 10003 + 10005 + 1000007 + 11 + 10009 + 10048 + 10011 + 10013 + 10015 + 3 * 10017
FREED = 10003 + 10005 + 1000007 + 10001 + 3 * 10001
PEAK = 10001 + 3 * 10001 + 1000007


def geiger(*words):
    return subprocess.run([GEIGER, *words], capture_output=True, text=True, check=False)


def figure(value):
    return {"estimate": value, "low": value, "high": value}


def reports_have_exact_numbers():
    recorded = geiger("record", "--exact", "-o", "a.geiger", "--", PROGRAM, "forms")
    totals = json.loads(geiger("report", "--json", "a.geiger").stdout)
    told = totals["totals"]
    assert recorded.returncode == 0 and "exact: 13 allocations" in recorded.stderr, recorded.stderr
    assert totals["scheme"] == "exact" and told["allocated_count"] == figure(13), told
    assert told["allocated_bytes"] == figure(ALLOCATED), told
    assert told["live_bytes"] == figure(ALLOCATED - FREED), told
    assert told["peak_bytes"]["estimate"] == PEAK, told
    assert "exact: all 13 allocations were counted" in geiger("report", "a.geiger").stdout


def nobody_speaks_of_samples():
    for words in (["report", "-m", "allocated"], ["leaks"]):
        text = geiger(*words, "a.geiger").stdout
        assert "sample" not in text and "allocation" in text, text


def other_commands_read_the_profile():
    for words in (["tree"], ["leaks"], ["timeline"], ["report", "-m", "temporary"], ["diff", "a.geiger"],
                  ["html", "-o", "a.html"], ["export", "--format", "collapsed", "-o", "a.collapsed"], ["check"]):
        run = geiger(*words, "a.geiger")
        assert run.returncode == 0, (words, run.stdout, run.stderr)
    assert "Exact: 0 of" in geiger("diff", "a.geiger", "a.geiger").stdout


def rows(file):
    return [geiger("sql", "--json", file, f"select * from {table}").stdout
            for table in ("coarse", "total", "stack", "v_stack", "v_function", "v_timeline")]


def sql(file, statement):
    return json.loads(geiger("sql", "--json", file, statement).stdout)[0]


def packed_profiles_have_the_same_rows():
    assert geiger("pack", "--undo", "-o", "plain.geiger", "a.geiger").returncode == 0
    assert 3 * os.path.getsize("a.geiger") < os.path.getsize("plain.geiger")
    assert rows("a.geiger") == rows("plain.geiger") and len(rows("plain.geiger")[0]) > 100
    assert geiger("symbolize", "--offline", "a.geiger").returncode == 0
    assert rows("a.geiger") == rows("plain.geiger")
    assert geiger("pack", "plain.geiger").returncode == 0
    assert os.path.getsize("plain.geiger") == os.path.getsize("a.geiger")
    assert geiger("check", "plain.geiger").returncode == 0


PYTHON = """
from itertools import repeat
def churn():
    for _ in repeat(None, 2000):
        bytes(100)
def large():
    for _ in repeat(None, 300):
        bytes(5000)
churn()
large()
"""


def allocated(file, function):
    row = geiger("sql", "--json", file, "select sum(allocated_count) as count, sum(allocated_bytes) as bytes"
                 f" from v_stack where functions like '%;{function}%'")
    found = json.loads(row.stdout)[0]
    return found["count"] or 0, found["bytes"] or 0


def python_objects_count_by_python_functions():
    """Blocks of Python's arenas and of malloc, each once; a loop makes a few objects of its own."""
    run = geiger("record", "--exact", "-o", "p.geiger", "--", sys.executable, "-S", "-c", PYTHON)
    assert run.returncode == 0, run.stderr
    for function, count, length in (("churn", 2000, 100), ("large", 300, 5000)):
        found, size = allocated("p.geiger", function)
        assert count <= found <= count + 10, (function, found)
        assert 0 <= size - count * sys.getsizeof(bytes(length)) <= 2000, (function, size)
    assert geiger("check", "p.geiger").returncode == 0
    arena = [allocated("p.geiger", function) for function in ("churn", "large")]
    run = geiger("record", "--exact", "-o", "m.geiger", "--", "env", "PYTHONMALLOC=malloc", sys.executable, "-S", "-c",
                 PYTHON)
    assert run.returncode == 0, run.stderr
    by_malloc = [allocated("m.geiger", function) for function in ("churn", "large")]
    assert arena == by_malloc, (arena, by_malloc)


def python_objects_count_once_though_tracemalloc_allocates_behind_them():
    """tracemalloc keeps a record for each object, of at most 200 bytes."""
    run = geiger("record", "--exact", "-o", "t.geiger", "--", "env", "PYTHONMALLOC=debug", "PYTHONTRACEMALLOC=1",
                 "PYTHONPATH=" + os.path.dirname(os.environ["ADAPTER"]), sys.executable, "-S", "-m", "geiger",
                 "-c", KEPT)
    assert run.returncode == 0, run.stderr
    found, size = allocated("t.geiger", "keep")
    assert 300 * 5000 <= size <= 300 * 5400, (found, size)


KEPT = """
from itertools import repeat
def keep():
    kept = []
    for _ in repeat(None, 300):
        kept.append(bytes(5000))
keep()
"""


def memory_that_was_counted_is_not_missing():
    """RSS of 50 MB is malloc's, and no note denies it."""
    geiger("record", "--exact", "-o", "b.geiger", "--", sys.executable, "-S", "-c", "x = b'x' * 50000000")
    notes = geiger("sql", "--json", "b.geiger", "select text from note").stdout
    assert "malloc gave" not in notes, notes


def heaps_of_libgeiger_hide_no_block():
    """The adapter for Lua takes Lua's blocks from malloc, and hides them from sampling."""
    adapter = os.path.join(os.path.dirname(GEIGER), "../bindings/lua/?.so")
    code = "local t = {} for i = 1, 5000 do t[i] = tostring(i) .. 'x' end"
    counts = []
    for words in ([], ["-l", "geiger"]):
        run = geiger("record", "--exact", "-o", "l.geiger", "--", "env", "LUA_CPATH=" + adapter, "lua5.4", *words,
                     "-e", code)
        assert run.returncode == 0, run.stderr
        row = geiger("sql", "--json", "l.geiger", "select sum(count) as count from coarse")
        counts.append(json.loads(row.stdout)[0]["count"])
    assert counts[0] > 5000 and 0 <= counts[1] - counts[0] < 1000, counts


def operators_of_each_allocator_count_once():
    """16 blocks by each of four operators, of which some call the allocator's own malloc."""
    tried = 0
    for library in ("", "libjemalloc.so.2", "libtcmalloc.so.4", "libmimalloc.so.2"):
        if "cannot be preloaded" in subprocess.run(["env", f"LD_PRELOAD={library}", "true"], capture_output=True,
                                                   text=True, check=False).stderr:
            continue
        tried += 1
        run = subprocess.run([GEIGER, "record", "--exact", "-o", "o.geiger", "--", os.environ["OPERATOR_PROGRAM"]],
                             env={**os.environ, "LD_PRELOAD": library}, capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stderr
        found, size = allocated("o.geiger", "allocate")
        assert (found, size) == (64, 16 * (4001 + 4002 + 4003 + 4032)), (library, found, size)
        missed = geiger("sql", "--json", "o.geiger", "select count(*) as n from counter where name = 'missed frees'")
        assert json.loads(missed.stdout)[0]["n"] == 0, (library, missed.stdout)
    assert tried > 0


HOLDER = """
import ctypes, sys
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
held = [libc.malloc(1000003) for _ in range(7)]
for p in held[:3]:
    libc.free(ctypes.c_void_p(p))
print("ready", flush=True)
sys.stdin.read()
"""


def figures_of(file):
    """The blocks of a million bytes, live and in all."""
    row = geiger("sql", "--json", file, "select sum(iif(to_ns is null, count, 0)) as live, sum(count) as count"
                 " from coarse where bytes >= 1000003")
    return tuple(json.loads(row.stdout)[0].values()) if row.returncode == 0 else None


def a_profile_that_is_being_recorded_has_each_block_once():
    command = [GEIGER, "record", "--quiet", "--exact", "-o", "h.geiger", "--", sys.executable, "-S", "-c", HOLDER]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as run:
        run.stdout.readline()
        begin = time.monotonic()
        while figures_of("h.geiger") != (4, 7) and time.monotonic() - begin < 60:
            time.sleep(0.1)
        seen, top = figures_of("h.geiger"), geiger("top", "-n", "1", "h.geiger")
        found = geiger("top", "-n", "1", "--json", "h.geiger")
        run.stdin.close()
    assert seen == (4, 7), seen
    assert "  exact  " in top.stdout and "3.81 MiB" in top.stdout, top
    assert json.loads(found.stdout)["is_exact"], found
    assert figures_of("h.geiger") == (4, 7), figures_of("h.geiger")


# Each tick of the recorder sees as many frees as allocations, and their sizes differ.
REPLACER = """
import ctypes, time
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.malloc.argtypes, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_size_t], [ctypes.c_void_p]
held = libc.malloc(10)
for i in range(16):
    time.sleep(0.15)
    new = libc.malloc(10 if i & 1 else 1000000)
    libc.free(held)
    held = new
libc.free(held)
"""


def bytes_that_replace_other_bytes_are_in_all_readers():
    recorded = geiger("record", "--exact", "-o", "i.geiger", "--", sys.executable, "-S", "-c", REPLACER)
    assert recorded.returncode == 0, recorded.stderr
    alone = sql("i.geiger", "select count(*) as n from coarse where samples = 0 and size > 0")["n"]
    truth = sql("i.geiger", "select sum(allocated_size) as bytes, sum(allocated_count) as count from total")
    assert alone > 0 and truth["bytes"] > 8000000, (alone, truth)
    totals = json.loads(geiger("report", "--json", "i.geiger").stdout)["totals"]
    assert totals["allocated_bytes"] == figure(truth["bytes"]), (totals, truth)
    assert totals["allocated_count"] == figure(truth["count"]), (totals, truth)
    assert sql("i.geiger", "select sum(allocated_bytes) as bytes from v_stack_sum")["bytes"] == truth["bytes"]
    assert geiger("merge", "-o", "j.geiger", "i.geiger").returncode == 0
    merged = json.loads(geiger("report", "--json", "j.geiger").stdout)["totals"]
    assert merged["allocated_bytes"]["estimate"] == truth["bytes"], (merged, truth)
    collapsed = geiger("export", "--format", "collapsed", "-m", "allocated", "i.geiger").stdout
    assert sum(int(line.rsplit(" ", 1)[1]) for line in collapsed.splitlines()) == truth["bytes"], truth
    assert geiger("html", "-o", "i.html", "i.geiger").returncode == 0
    assert geiger("check", "i.geiger").returncode == 0


def options_of_sampling_are_refused():
    for words in (["-i", "4k"], ["--scheme", "stride"], ["--seed", "1"], ["--mmap"], ["--free-stacks"]):
        run = geiger("record", "--exact", *words, "--", "true")
        assert run.returncode == 125 and "--exact" in run.stderr, (words, run)
    assert geiger("attach", "--exact", "1").returncode != 0


KEEPER = "import time; held = [bytes(1000) for i in range(50000)]; time.sleep(1.5)"


def why_knows_live_memory_and_whose_tables_it_is():
    """At a look, the row has what a report has; the table of live blocks is geiger's memory."""
    geiger("record", "--quiet", "--exact", "-o", "w.geiger", "--", sys.executable, "-S", "-c", KEEPER)
    found = json.loads(geiger("why", "--json", "w.geiger").stdout)
    told = json.loads(geiger("report", "--json", "--at", f"{found['time_ns'] / 1e9:.9f}s", "w.geiger").stdout)
    held = told["selected_bytes"]["estimate"]
    live = [row for row in found["rows"] if row["name"] == "live"]
    unnamed = sum(row["bytes"] for row in found["rows"] if row["name"] == "mappings" and row["detail"].startswith("without"))
    # The kernel counts RSS some milliseconds before the look ends.
    assert len(live) == 1 and held > 1e6 and live[0]["low"] <= held <= 1.05 * live[0]["high"], (live, held)
    assert unnamed < 1 << 20, found["rows"]


def problem(function):
    try:
        function()
    except AssertionError as error:
        return f"{function.__name__}: {error}"
    return None


def main():
    check("reports_have_exact_numbers", problem(reports_have_exact_numbers))
    check("nobody_speaks_of_samples", problem(nobody_speaks_of_samples))
    check("other_commands_read_the_profile", problem(other_commands_read_the_profile))
    check("packed_profiles_have_the_same_rows", problem(packed_profiles_have_the_same_rows))
    check("python_objects_count_by_python_functions", problem(python_objects_count_by_python_functions))
    check("python_objects_count_once_though_tracemalloc_allocates_behind_them",
          problem(python_objects_count_once_though_tracemalloc_allocates_behind_them))
    check("memory_that_was_counted_is_not_missing", problem(memory_that_was_counted_is_not_missing))
    if shutil.which("lua5.4"):
        check("heaps_of_libgeiger_hide_no_block", problem(heaps_of_libgeiger_hide_no_block))
    else:
        skip("heaps_of_libgeiger_hide_no_block", "there is no lua5.4")
    if "OPERATOR_PROGRAM" in os.environ:
        check("operators_of_each_allocator_count_once", problem(operators_of_each_allocator_count_once))
    else:
        skip("operators_of_each_allocator_count_once", "there is no C++ compiler")
    check("why_knows_live_memory_and_whose_tables_it_is", problem(why_knows_live_memory_and_whose_tables_it_is))
    check("a_profile_that_is_being_recorded_has_each_block_once",
          problem(a_profile_that_is_being_recorded_has_each_block_once))
    check("bytes_that_replace_other_bytes_are_in_all_readers",
          problem(bytes_that_replace_other_bytes_are_in_all_readers))
    check("options_of_sampling_are_refused", problem(options_of_sampling_are_refused))


if __name__ == "__main__":
    sys.exit(in_scratch(main))
