#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""geiger record --exact: every command that reads profiles shows exact numbers.

GEIGER: the program.  EXACT_PROGRAM: a program whose allocations are known.
"""

import json
import os
import subprocess
import sys

from sentences import check, in_scratch

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


def other_commands_read_the_profile():
    for words in (["tree"], ["leaks"], ["timeline"], ["report", "-m", "temporary"], ["diff", "a.geiger"],
                  ["html", "-o", "a.html"], ["export", "--format", "collapsed", "-o", "a.collapsed"], ["check"]):
        run = geiger(*words, "a.geiger")
        assert run.returncode == 0, (words, run.stdout, run.stderr)
    assert "Exact: 0 of" in geiger("diff", "a.geiger", "a.geiger").stdout


def rows(file):
    return [geiger("sql", "--json", file, f"select * from {table}").stdout
            for table in ("coarse", "total", "stack", "v_stack", "v_function", "v_timeline")]


def packed_profiles_have_the_same_rows():
    assert geiger("pack", "--undo", "-o", "plain.geiger", "a.geiger").returncode == 0
    assert 3 * os.path.getsize("a.geiger") < os.path.getsize("plain.geiger")
    assert rows("a.geiger") == rows("plain.geiger") and len(rows("plain.geiger")[0]) > 100
    assert geiger("symbolize", "--offline", "a.geiger").returncode == 0
    assert rows("a.geiger") == rows("plain.geiger")
    assert geiger("pack", "plain.geiger").returncode == 0
    assert os.path.getsize("plain.geiger") == os.path.getsize("a.geiger")
    assert geiger("check", "plain.geiger").returncode == 0


def options_of_sampling_are_refused():
    for words in (["-i", "4k"], ["--scheme", "stride"], ["--seed", "1"], ["--mmap"], ["--free-stacks"]):
        run = geiger("record", "--exact", *words, "--", "true")
        assert run.returncode == 125 and "--exact" in run.stderr, (words, run)
    assert geiger("attach", "--exact", "1").returncode != 0


def problem(function):
    try:
        function()
    except AssertionError as error:
        return f"{function.__name__}: {error}"
    return None


def main():
    check("reports_have_exact_numbers", problem(reports_have_exact_numbers))
    check("other_commands_read_the_profile", problem(other_commands_read_the_profile))
    check("packed_profiles_have_the_same_rows", problem(packed_profiles_have_the_same_rows))
    check("options_of_sampling_are_refused", problem(options_of_sampling_are_refused))


if __name__ == "__main__":
    sys.exit(in_scratch(main))
