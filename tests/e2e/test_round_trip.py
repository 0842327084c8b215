#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is exported and imported again has the estimates it had, stack by stack.

GEIGER, GOLDEN_PROFILE: programs.  HAS_PROTOBUF: 0 where pprof and Perfetto are not built.
"""

import json
import os
import re
import subprocess
import sys
import tempfile

GEIGER = os.environ["GEIGER"]
PROCESS = re.compile(r".* \(\d+\)$")
failed = 0


def geiger(*arguments):
    return subprocess.run([GEIGER, *arguments], check=True, capture_output=True, text=True).stdout


def report(path, metric):
    return json.loads(geiger("report", path, "--by", "stack", "--limit", "0", "--metric", metric, "--json"))


def stacks(of):
    """Estimates of bytes by the names on the stack; several stacks may have the same."""
    sums = {}
    for row in of["rows"]:
        names = [place["function"] for place in reversed(row["stack"])]
        if PROCESS.match(names[0]):
            names = names[1:]  # formats that know no processes have them as frames
        names = tuple(names)
        sums[names] = sums.get(names, 0) + (row["self"]["estimate"] or 0)
    return sums


def near(is_value, wanted, count, share):
    """Whole numbers: each of `count` rows may be off by a half, and one more is carried."""
    return abs((is_value or 0) - wanted) <= count + share * wanted


def compare(before, after, names, share):
    wanted, found = stacks(before), stacks(after)
    if names:
        if set(wanted) != set(found):
            return f"stacks differ: {sorted(set(wanted) ^ set(found))[:4]}"
        pairs = [(found[key], wanted[key]) for key in wanted]
    else:  # without names some stacks are told apart that have the same
        pairs = [(sum(found.values()), sum(wanted.values())), (max(found.values()), max(wanted.values()))]
    for value, truth in pairs:
        if not near(value, truth, 2, share):
            return f"{value} is not {truth}"
    return None


def check(name, problem):
    global failed
    if problem is None:
        print(f"ok - {name}")
    else:
        failed += 1
        print(problem)
        print(f"FAILED - {name}")


def round_trip(form, metrics, names, share, intervals):
    geiger("export", "made.geiger", "--format", form, "-o", f"x.{form}")
    geiger("import", "--quiet", "--ignore-files", f"x.{form}", "-o", f"{form}.geiger")
    geiger("check", f"{form}.geiger")
    problem = None
    for metric in metrics:
        before, after = report("made.geiger", metric), report(f"{form}.geiger", metric)
        problem = problem or compare(before, after, names, share)
        old, new = before["totals"][f"{metric}_bytes"], after["totals"][f"{metric}_bytes"]
        # Sizes are known no more: intervals may be wider by a little, never narrower by more than rounding.
        if intervals and not (new["low"] <= old["low"] * 1.001 and new["high"] >= old["high"] * 0.999 and
                              new["high"] - new["low"] <= 1.1 * (old["high"] - old["low"])):
            problem = problem or f"{metric}: {new} is not the interval {old}"
        if not intervals and form != "gperftools" and new["interval"] is not None:
            problem = problem or f"{metric} has an interval: {new}"
    check(f"{form}_keeps_every_estimate", problem)


def run():
    subprocess.run([os.environ["GOLDEN_PROFILE"], "made.geiger"], check=True, capture_output=True)
    both = ["live", "allocated"]
    if os.environ["HAS_PROTOBUF"] != "0":
        round_trip("pprof", both, True, 0, True)
        round_trip("perfetto", both, True, 0, True)
    round_trip("heap_v2", both, False, 1e-2, True)
    round_trip("gperftools", both, False, 0, False)
    round_trip("collapsed", ["live"], True, 0, False)
    round_trip("heapprofile", ["live"], True, 0, False)
    return failed > 0


def main():
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        status = run()
        os.chdir("/")
    return status


if __name__ == "__main__":
    sys.exit(main())
