#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_pinned_estimates.py [--seeds N] [--over LIBRARY] [SHAPE]... - what functions pin is
estimated without bias, and intervals hold the truth as often as they say.

  exact      at interval 1, each function pins what the program itself knows, to the byte
  bias       the mean error of a function's estimate over the seeds is within 4.5 of its standard
             errors, by the observed variance (7 below 50 seeds, where that variance is uncertain)
  coverage   of rows with five samples or more, so many hold the truth that fewer have a chance of
             10^-6 if 94 % do

  pooled     of all such rows of all shapes at least 94 % hold the truth, if they are 5000 or more
  nobody     in a population whose functions are all alike, the comparison with other blocks of the
             same size names at most 5 % of the rows, by the same chance of 10^-6
  promise    when the survivors of one function are freed and the heap is trimmed, RSS falls by
             what these blocks have and pin

With --over, the program runs over this allocator instead of glibc's.

GEIGER, KEEPER: the programs.
"""

import argparse
import math
import os
import statistics
import sys
import typing

from sentences import check, in_scratch
from session import Waiting, agent_environment, region_of, rows_by_function, rss_bytes

KEEPER = os.environ["KEEPER"]
ALPHA = 1e-6
SLACK = 128 << 10  # pages that the program touches while it answers
FEWEST = 5  # samples of a row whose coverage counts
NAMED = 0.05  # the p value from which on a comparison names a row
POOL, COVERAGE = 5000, 0.94  # rows of all shapes, and the share of them that must hold the truth
# Sampling intervals with which a role has some 20 to 60 samples.
INTERVALS = {"sixty-fourth": 2048, "peak": 8192, "producers": 16384, "aligned": 65536, "reallocated": 131072,
             "large": 524288, "population": 16384, "guilty": 65536, "untouched": 65536}
# Over jemalloc one block in a hundred, the smallest ones, keeps nearly all that this function pins.
# Intervals know nothing of blocks smaller than all samples of the row, so some must be sampled.
# With this sampling interval, 181 of 200 rows hold the truth (a cell of 200 may have 174).
SLAB_INTERVALS = INTERVALS | {"reallocated": 8192}


def most_misses(count, share):
    """The least number of misses that more than this many exceed with a chance of ALPHA at most."""
    tail = 1.0
    for misses in range(count + 1):
        tail -= math.comb(count, misses) * share**misses * (1 - share) ** (count - misses)
        if tail <= ALPHA:
            return misses
    return count


def by_stack(shape, roles):
    """Pinned bytes by the function of a report, which is the one that reallocated a block."""
    pinned = {name: role.pinned for name, role in roles.items()}
    return {"reallocated": sum(pinned.values())} if shape == "reallocated" else pinned


def estimate_of(rows, name):
    return rows[name]["self"]["estimate"] if name in rows else 0


class Setting(typing.NamedTuple):
    """The allocator underneath, and the words that sentences about it have behind the shape."""

    library: str
    words: str

    def run(self, shape, interval, seed):
        """The program under the agent, and the folder of its region."""
        folder = os.path.abspath("regions")
        os.makedirs(folder, exist_ok=True)
        environment = agent_environment(folder, "-i", interval, "--seed", seed)
        if self.library:
            environment["LD_PRELOAD"] += ":" + self.library
        return Waiting([KEEPER, shape, "1"], **environment), folder


def run_one(setting, shape, interval, seed):
    """The pinned bytes and the rows of each function, of the same moment."""
    program, folder = setting.run(shape, interval, seed)
    with program:
        roles = by_stack(shape, program.truth()[0])
        region = region_of(folder, program.pid)
        if setting.library:
            program.ask("serve")  # the agent answers where the program takes samples
        rows = rows_by_function(region, "pinned")
    region.unlink()
    return roles, rows


def is_exact(setting, shape):
    roles, rows = run_one(setting, shape, 1, 1)
    wrong = [f"{name} pins {pinned}, the row has {estimate_of(rows, name)}" for name, pinned in roles.items()
             if abs(estimate_of(rows, name) - pinned) > 1]
    check(f"at_interval_1_functions_of_{shape}{setting.words}_pin_what_they_know_to_the_byte", *wrong)


def are_right(setting, shape, seeds):
    errors, inside, p_values = {}, [], []
    for seed in range(1, seeds + 1):
        roles, rows = run_one(setting, shape, (SLAB_INTERVALS if setting.library else INTERVALS)[shape], seed)
        for name, pinned in roles.items():
            row = rows.get(name)
            errors.setdefault(name, []).append(estimate_of(rows, name) - pinned)
            if row and row["size_ratio_p"] is not None:
                p_values.append(row["size_ratio_p"])
            if row and row["samples"] >= FEWEST:
                high = row["self"]["high"]
                inside.append(row["self"]["low"] <= pinned and (high is None or pinned <= high))
    far = []
    for name, values in errors.items():
        mean, error = statistics.mean(values), statistics.stdev(values) / math.sqrt(len(values))
        print(f"{shape} {name}: mean error {mean:.0f}, standard error {error:.0f}")
        if abs(mean) > (4.5 if seeds >= 50 else 7) * error + 1:
            far.append(f"{name}: the mean error is {mean:.0f}, its standard error {error:.0f}")
    check(f"estimates_of_{shape}{setting.words}_have_no_bias", *far)
    misses = inside.count(False)
    print(f"{shape}: {len(inside) - misses} of {len(inside)} rows hold the truth")
    check(f"intervals_of_{shape}{setting.words}_hold_the_truth",
          None if misses <= most_misses(len(inside), 0.06) else f"{misses} of {len(inside)} do not")
    if shape == "population":
        names_nobody(setting, p_values)
    return inside


def names_nobody(setting, p_values):
    named = sum(p <= NAMED for p in p_values)
    print(f"population: the comparison names {named} of {len(p_values)} rows")
    check(f"a_population_that_is_all_alike{setting.words}_names_nobody_too_often",
          None if p_values and named <= most_misses(len(p_values), NAMED) else f"{named} of {len(p_values)}")


def holds_pooled(setting, inside):
    share = inside.count(True) / len(inside)
    print(f"all shapes: {inside.count(True)} of {len(inside)} rows hold the truth, {100 * share:.1f} %")
    if len(inside) >= POOL:
        check(f"intervals_of_all_shapes{setting.words}_hold_the_truth",
              None if share >= COVERAGE else f"{100 * share:.2f} % do")


def frees_the_guilty(setting):
    program, folder = setting.run("guilty", "16k", 1)
    with program:
        program.ask("trim")
        region = region_of(folder, program.pid)
        program.ask("serve")
        pinned, live = (rows_by_function(region, metric) for metric in ("pinned", "live"))
        check(f"the_guilty_function{setting.words}_is_the_first_row",
              None if next(iter(pinned)) == "keep_index" else str(list(pinned)))
        program.ask("trim")
        before = rss_bytes(program.pid)
        program.ask("free 0")
        program.ask("trim")
        fall = before - rss_bytes(program.pid)
        low, high = (sum(rows["keep_index"]["self"][end] for rows in (pinned, live)) for end in ("low", "high"))
        check(f"freeing_its_survivors{setting.words}_returns_what_they_have_and_pin",
              None if low - SLACK <= fall <= high + SLACK else f"RSS fell by {fall}, not by {low:.0f} to {high:.0f}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--over", metavar="LIBRARY", default="")
    parser.add_argument("shapes", nargs="*")
    arguments = parser.parse_args()
    setting = Setting(arguments.over, "_over_" + os.path.basename(arguments.over).split(".")[0] if arguments.over else "")
    inside = []
    for shape in arguments.shapes or INTERVALS:
        if shape != "guilty":  # it has more live blocks than a look chooses
            is_exact(setting, shape)
        inside += are_right(setting, shape, arguments.seeds)
    holds_pooled(setting, inside)
    frees_the_guilty(setting)


if __name__ == "__main__":
    sys.exit(in_scratch(main))
