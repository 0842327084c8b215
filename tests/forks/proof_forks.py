#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""proof_forks.py [--whole] [--runs N] [--first SEED] [--only CELL]... [--jobs N]

Numbers of sessions of many processes hold the truth as often as they say.

A cell is a program of several processes, a sampling interval and a scheme.  Each is recorded with N
seeds, and every report is held to the program's own tally: what each function allocated, what was
live when the last process ended, and what processes left at their exits.

  coverage   the truth is inside the interval; a function without a row holds no more than the
             report says of what it did not see.  At least 94.5 % of them are inside by the
             estimators' law (docs/ESTIMATION.md, "Measured coverage"), so of n independent runs so
             many are outside that the binomial law has more of them but once in 10^6 times.  With
             --whole (200 runs, fresh seeds) it is 10^4 times, and 94 % of all intervals of a kind
             must be inside, too.
  bias       the mean error of the sum of all functions is within 3.5 of its standard errors, by the
             observed variance (6 where there are less than 50 runs, with fixed seeds: that variance
             is uncertain).
  diff       of two equal runs, next to each other: at most 5 % of such pairs have a row that is
             called different, by the binomial law, and with --whole 10 of 100.

GEIGER, PROCESSES_PROGRAM: programs.  PYTHON_ADAPTER: the folder of the package, or unset.
"""

import argparse
import concurrent.futures
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile

GEIGER = os.environ["GEIGER"]
PROGRAM = os.environ["PROCESSES_PROGRAM"]
HERE = os.path.dirname(os.path.realpath(__file__))
ALPHA = 1e-6  # there are some fifty of such bounds, in each run of the tests
METRICS = ("allocated", "live", "left")


def shape(*words):
    return lambda truth: [PROGRAM, *map(str, words), truth]


def script(truth):
    """Programs that a shell starts: in a subshell, by a pipe, in turn."""
    run = f'"{PROGRAM}" script "$n" 20 "{truth}"'
    return ["sh", "-c", f"for n in 5 4 3; do ({run}); done; n=2; {run} | cat; for n in 1 0; do {run}; done"]


def pool(truth):
    return ["/usr/bin/python3", "-m", "geiger", os.path.join(HERE, "pool.py"), truth]


# name: command, interval, options, whether the peak is known
CELLS = {
    "in-turn": (shape("turn", 10, 20), "64k", (), True),
    "at-once": (shape("once", 9, 23), "64k", (), True),
    "at-once-many-samples": (shape("once", 4, 200), "16k", (), True),
    "less-than-one-sample": (shape("turn", 40, 6), "256k", (), False),
    "one-allocation-each": (shape("turn", 100, 1), "64k", (), False),
    "prefork": (shape("prefork", 8, 20), "64k", (), False),
    "family": (shape("family", 4, 10), "64k", (), False),
    "chain": (shape("chain", 9, 20), "64k", (), False),
    "shell": (script, "64k", (), False),
    "bernoulli": (shape("turn", 10, 20), "64k", ("--scheme", "bernoulli"), False),
    "poisson-count": (shape("turn", 10, 20), "64k", ("--scheme", "poisson-count"), False),
    "stride": (shape("turn", 10, 20), "64k", ("--scheme", "stride"), False),
    "optimal": (shape("turn", 10, 20), "64k", ("--scheme", "optimal"), False),
    "per-allocation": (shape("turn", 10, 40), "4", ("--scheme", "per-allocation"), False),
}
if os.environ.get("PYTHON_ADAPTER"):
    CELLS["python-pool"] = (pool, "64k", (), False)
# Programs that are executed begin with the seed that they are given: equal ones would have equal
# samples.
WITHOUT_SEED = ("chain", "shell")

failed = 0
summary = []  # lines of the table that script/proof keeps


def complain(text):
    global failed
    failed += 1
    print("FAILED", text, flush=True)


def most_misses(count, p, alpha):
    """The least k with P(more than k of `count` miss) <= alpha, where each misses with probability
    p."""
    term = (1 - p) ** count
    tail = 1 - term
    k = 0
    while tail > alpha and k < count:
        k += 1
        term *= (count - k + 1) / k * p / (1 - p)
        tail -= term
    return k


def read_truth(path):
    sites, total = {}, None
    with open(path, encoding="utf-8") as file:
        for line in file:
            words = line.split()
            if words[0] == "site":
                sites[words[1]] = {metric: int(words[i + 2]) for i, metric in enumerate(METRICS)}
            else:
                total = {metric: int(words[i + 1]) for i, metric in enumerate((*METRICS, "peak"))}
    return sites, total


def report(profile, metric):
    return json.loads(subprocess.run([GEIGER, "report", profile, "-m", metric, "--limit", "0", "--json"], check=True,
                                     capture_output=True, text=True).stdout)


def is_inside(interval, truth):
    return interval["low"] <= truth and (interval["high"] is None or truth <= interval["high"])


def run_one(cell, seed, folder):
    """The coverage of one run: (kind, metric) to a list of booleans; and the errors of the
    sums."""
    command, interval, options, has_peak = CELLS[cell]
    profile, truth = os.path.join(folder, f"{cell}.{seed}.geiger"), os.path.join(folder, f"{cell}.{seed}.truth")
    seeded = [] if cell in WITHOUT_SEED else ["--seed", str(seed)]
    env = dict(os.environ, PYTHONPATH=os.environ.get("PYTHON_ADAPTER", ""), PYTHONHASHSEED="0",
               PYTHONDONTWRITEBYTECODE="1", GEIGER_RING="65536")
    subprocess.run([GEIGER, "record", "-q", "-i", interval, *options, *seeded, "-o", profile, "--", *command(truth)],
                   check=True, env=env)
    sites, total = read_truth(truth)
    held, errors = {}, {}
    for metric in METRICS:
        data = report(profile, metric)
        rows = {row["function"]: row["self"] for row in data["rows"]}
        unseen = data["unseen_bytes"]
        error = 0
        for site, known in sites.items():
            value = known[metric]
            if site in rows:
                held.setdefault(("function", metric), []).append(is_inside(rows[site], value))
            elif value > 0:
                held.setdefault(("function", metric), []).append(unseen is None or value <= unseen)
            error += (rows[site]["estimate"] if site in rows else 0) - value
        errors[metric] = error
        if total is not None:
            held[("total", metric)] = [is_inside(data["totals"][metric + "_bytes"], total[metric])]
            if has_peak and metric == "allocated":
                held[("total", "peak")] = [is_inside(data["totals"]["peak_bytes"], total["peak"])]
    for path in (truth, truth + ".tally"):
        if os.path.exists(path):
            os.remove(path)
    return profile, held, errors


def has_false_row(before, after, metric):
    out = subprocess.run([GEIGER, "diff", before, after, "-m", metric, "--limit", "0", "--json"], check=True,
                         capture_output=True, text=True).stdout
    return len(json.loads(out)["rows"]) > 0


def check_cell(cell, seeds, jobs, whole, pooled):
    alpha = 1e-4 if whole else ALPHA
    held, errors, profiles = {}, {metric: [] for metric in METRICS}, []
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(jobs) as threads:
        for profile, inside, error in threads.map(lambda seed: run_one(cell, seed, folder), seeds):
            profiles.append(profile)
            for key, values in inside.items():
                held.setdefault(key, []).extend(values)
            for metric in METRICS:
                errors[metric].append(error[metric])
        pairs = list(zip(profiles[::2], profiles[1::2]))
        false = {metric: sum(threads.map(lambda pair, m=metric: has_false_row(*pair, m), pairs)) for metric in METRICS}
    for (kind, metric), values in sorted(held.items()):
        misses, most = values.count(False), most_misses(len(values), 0.055, alpha)
        share = f"{100 * (1 - misses / len(values)):.1f} % of {len(values)}"
        summary.append(f"| {cell} | {metric} by {kind} | {share} | | |")
        print(f"{cell:22} {kind:8} {metric:9} {len(values) - misses:6} of {len(values):6} inside"
              f" ({100 * (1 - misses / len(values)):.1f} %)", flush=True)
        if misses > most:
            complain(f"{cell}, {kind}, {metric}: {misses} are outside, {most} may be")
        sums = pooled.setdefault((kind, metric), [0, 0])
        sums[0] += len(values)
        sums[1] += misses
    for metric in METRICS:
        mean, deviation = statistics.mean(errors[metric]), statistics.stdev(errors[metric])
        sigmas = abs(mean) / (deviation / math.sqrt(len(seeds))) if deviation > 0 else 0
        most = most_misses(len(pairs), 0.05, ALPHA) if not whole else len(pairs) // 10
        print(f"{cell:22} {metric}: bias {mean:+.0f} bytes, {sigmas:.2f} standard errors;"
              f" {false[metric]} of {len(pairs)} pairs with a false row", flush=True)
        summary.append(f"| {cell} | {metric}, the sum | | {mean:+.0f} bytes, {sigmas:.2f} standard errors"
                       f" | {false[metric]} of {len(pairs)} |")
        if sigmas > (3.5 if len(seeds) >= 50 else math.inf if cell in WITHOUT_SEED else 6):
            complain(f"{cell}: {metric} is biased by {mean:+.0f} bytes, {sigmas:.2f} standard errors")
        if false[metric] > most:
            complain(f"{cell}: {false[metric]} of {len(pairs)} pairs have a false row, {most} may")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=4)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", action="append")
    parser.add_argument("--whole", action="store_true")
    arguments = parser.parse_args()
    if arguments.whole:
        arguments.runs, arguments.first = 200, int.from_bytes(os.urandom(4), "little") + 1
    seeds = range(arguments.first, arguments.first + arguments.runs)
    pooled = {}
    for cell in arguments.only or CELLS:
        before = failed
        check_cell(cell, seeds, arguments.jobs, arguments.whole, pooled)
        if failed == before:
            print("ok -", cell.replace("-", "_") + "_holds_the_truth_as_often_as_it_says", flush=True)
    print("summary")
    print(f"{len(arguments.only or CELLS)} cells of {len(seeds)} runs each, seeds from {seeds[0]} on.\n")
    print("| cell | figure | truth inside the interval | bias | pairs with a false row |\n|-|-|-|-|-|")
    print("\n".join(summary))
    for (kind, metric), (count, misses) in sorted(pooled.items()):
        print(f"| all | {metric} by {kind} | {100 * (1 - misses / count):.2f} % of {count} | | |")
        if arguments.whole and misses > 0.06 * count:
            complain(f"{kind}, {metric}: {misses} of {count} are outside")
    sys.exit(failed > 0)


main()
