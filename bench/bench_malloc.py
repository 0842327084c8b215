#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench_malloc.py [instructions|samples|times|sampling|guards] - libgeiger-malloc beside others.

  instructions  of a pair and of mix10k, by callgrind, loop included; machines do not disturb them
  samples       what sampling adds to them: the samples themselves, and all else that the allocator
                does for sampling (cuts, walks, further refills)
  times         processor's time of each work under each allocator, in alternating rounds: medians
                and quartiles of the ratios to the fastest unprofiled peer of that work
  sampling      libgeiger-malloc with sampling against itself without, and one sample at 4 KiB
  guards        instructions that guarded blocks add at the default rate, start included; exit
                status 1 if they are more than 0.1 %

Without an argument it prints all five.  BENCH_ROUNDS: rounds (11).  Variables from meson:
MALLOC_WORK and GEIGER_MALLOC.
"""

import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

import debian_allocators

WORK = os.environ["MALLOC_WORK"]
OURS = os.environ["GEIGER_MALLOC"]
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "11"))
COUNTS = {"pair": 20_000_000, "mix10k": 5_000_000, "mix1M": 3_000_000, "threads": 6_000_000}

OFF = {"GEIGER_ACTIVE": "0"}
PEERS = {"glibc": (None, {}), **{name: (path, {}) for name, path in debian_allocators.INSTALLED.items()}}
GEIGER = {
    "geiger off": (OURS, OFF),
    "geiger 512k": (OURS, {"GEIGER_INTERVAL": "512k"}),
    "geiger 64k": (OURS, {"GEIGER_INTERVAL": "64k"}),
}
PROFILED = {}
if "jemalloc" in PEERS:
    PROFILED["jemalloc prof"] = (
        PEERS["jemalloc"][0],
        {"MALLOC_CONF": "prof:true,prof_active:true,lg_prof_sample:19"},
    )


def environment(way, folder):
    library, variables = way
    env = {k: v for k, v in os.environ.items() if not k.startswith("GEIGER_") and k != "LD_PRELOAD"}
    env.update(variables, GEIGER_DIR=folder)
    if library:
        env["LD_PRELOAD"] = library
    return env


def time_of(way, work, count, folder):
    output = subprocess.run(
        [WORK, work, str(count)], env=environment(way, folder), check=True, capture_output=True, text=True
    ).stdout
    for file in pathlib.Path(folder).iterdir():
        file.unlink()
    return float(output)


def count_instructions(way, work, count, folder, options=(), output="/dev/null"):
    env = environment(way, folder)
    preload = env.pop("LD_PRELOAD", "")
    # valgrind itself must not be preloaded with the allocator, but env may be.
    command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={output}", "--trace-children=yes", *options]
    if preload:
        command += ["env", f"LD_PRELOAD={preload}"]
    report = subprocess.run(
        [*command, WORK, work, str(count)], env=env, check=True, capture_output=True, text=True
    ).stderr
    return int(re.findall(r"Collected : (\d+)", report)[-1])


def instructions_of(way, work, folder):
    """Counts one operation by the difference of two runs."""
    counts = [count_instructions(way, work, count, folder) for count in (100_000, 600_000)]
    return (counts[1] - counts[0]) / 500_000


def print_instructions(folder):
    if shutil.which("valgrind") is None:
        print("instructions: valgrind is not installed")
        return
    print("instructions an operation, loop included (callgrind)")
    for name, way in {**PEERS, **GEIGER}.items():
        figures = [f"{work} {instructions_of(way, work, folder):8.2f}" for work in ("pair", "mix10k")]
        print(f"  {name:14} {'   '.join(figures)}", flush=True)


def calls_of(function, text):
    """How often a callgrind file says that a function was called."""
    number = re.search(rf"\((\d+)\) {function}$", text, re.MULTILINE)
    if number is None:
        return 0
    return sum(map(int, re.findall(rf"^cfn=\({number[1]}\).*\ncalls=(\d+)", text, re.MULTILINE)))


def count_samples(way, work, count, folder):
    """Returns the number of samples of a run, and their instructions with those of their frees."""
    inside = [f"--toggle-collect=gg_malloc_slots_{name}" for name in ("sample", "release")]
    # Valgrind writes a file for env, and one for the program.
    own = count_instructions(way, work, count, folder, inside, f"{folder}/calls.%p")
    texts = [path.read_text() for path in pathlib.Path(folder).glob("calls.*")]
    for path in pathlib.Path(folder).iterdir():
        path.unlink()
    return max(calls_of("gg_malloc_slots_sample", text) for text in texts), own


def print_samples(folder):
    """
    Counts by the difference of two runs, of 1 and 4 million operations: a start with sampling has
    more to do, and the first stacks need the unwinder's tables.
    """
    if shutil.which("valgrind") is None:
        print("samples: valgrind is not installed")
        return
    runs, count = (1_000_000, 4_000_000), 3_000_000

    def difference(way, work):
        counts = [count_instructions(way, work, run, folder) for run in runs]
        return counts[1] - counts[0]

    print("instructions an operation that sampling adds (callgrind)")
    for work in ("pair", "mix10k"):
        off = difference(GEIGER["geiger off"], work)
        for name in ("geiger 512k", "geiger 64k"):
            on = difference(GEIGER[name], work)
            few, many = (count_samples(GEIGER[name], work, run, folder) for run in runs)
            samples, own = many[0] - few[0], many[1] - few[1]
            print(
                f"  {work:8} {name:12} all {(on - off) / count:6.2f} ({(on - off) / off:6.2%})"
                f"   {samples} samples of {own / max(samples, 1):.0f}: {own / count:6.2f} ({own / off:6.2%})"
                f"   all else {(on - off - own) / count:6.2f} ({(on - off - own) / off:6.2%})",
                flush=True,
            )


def rounds(ways, works, folder):
    """{work: {way: [ns]}}, measured in turns."""
    times = {work: {name: [] for name in ways} for work in works}
    for _ in range(ROUNDS):
        for work in works:
            for name, way in ways.items():
                times[work][name].append(time_of(way, work, COUNTS[work], folder))
    return times


def quartiles(values):
    low, middle, high = statistics.quantiles(values, n=4)
    return f"{middle:.3f} ({low:.3f} to {high:.3f})"


def print_times(folder):
    print(f"processor's time, {ROUNDS} rounds, load {os.getloadavg()[0]:.1f}")
    times = rounds({**PEERS, **PROFILED, **GEIGER}, COUNTS, folder)
    for work, by_way in times.items():
        fastest = min(PEERS, key=lambda name: statistics.median(by_way[name]))
        print(f"  {work}: ratios to {fastest}")
        for name, values in by_way.items():
            ratios = [a / b for a, b in zip(values, by_way[fastest])]
            print(f"    {name:14} {statistics.median(values):8.2f} ns   {quartiles(ratios)}")


def print_sampling(folder):
    print(f"sampling on against off, {ROUNDS} rounds, load {os.getloadavg()[0]:.1f}")
    times = rounds(GEIGER, COUNTS, folder)
    for work, by_way in times.items():
        for name in ("geiger 512k", "geiger 64k"):
            ratios = [a / b for a, b in zip(by_way[name], by_way["geiger off"])]
            print(f"  {work:8} {name:12} {quartiles(ratios)}")
    off, on, interval = GEIGER["geiger off"], (OURS, {"GEIGER_INTERVAL": "4k"}), 4096
    costs = []
    for _ in range(ROUNDS):
        plain = time_of(off, "sample", 3_000_000, folder)
        costs.append((time_of(on, "sample", 3_000_000, folder) - plain) * interval / 64)
    print(f"  a sample and its free, 47 frames: {quartiles([c / 1000 for c in costs])} us")


GUARD_SHARE = 500  # the default of --guard
GUARDS_MOST = 0.001


def print_guards(folder):
    """
    The same allocations are samples with guards and without.  Counts of whole runs differ by some
    tenths of a percent, because memory goes back by the clock.  So the cost at the default rate is
    that of runs in which all samples are guarded, divided by the rate.  The first guarded sample
    makes the pool: that is counted apart, and added whole.
    """
    if shutil.which("valgrind") is None:
        print("guards: valgrind is not installed")
        return True
    library, variables = GEIGER["geiger 512k"]

    def count(work, operations, share):
        way = (library, {**variables, "GEIGER_SEED": "1", "GEIGER_GUARD": str(share)})
        return count_instructions(way, work, operations, folder)

    print("instructions of whole runs at 512 KiB that guards add (callgrind)")
    first = max(count("pair", 20_000, 1) - count("pair", 20_000, 0), 0)
    print(f"  the first guarded sample, with the pool: {first / 1e6:.3f} M")
    most = 0
    for work, operations in (("pair", 8_000_000), ("mix10k", 4_000_000), ("mix1M", 1_000_000)):
        off = [count(work, operations, 0) for _ in range(2)]
        added = count(work, operations, 1) - min(off)
        share = (added / GUARD_SHARE + first) / min(off)
        most = max(most, share)
        print(
            f"  {work:8} {operations / 1e6:.0f} M operations: off {off[0] / 1e6:.2f} and {off[1] / 1e6:.2f} M,"
            f" all guarded +{added / 1e6:.2f} M; one in {GUARD_SHARE}: {share:.4%}",
            flush=True,
        )
    print(f"  at most {most:.4%} at the default rate; the bar is {GUARDS_MOST:.1%}")
    return most <= GUARDS_MOST


def main():
    parts = sys.argv[1:] or ["instructions", "samples", "times", "sampling", "guards"]
    holds = True
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        for part in parts:
            holds &= {
                "instructions": print_instructions,
                "samples": print_samples,
                "times": print_times,
                "sampling": print_sampling,
                "guards": print_guards,
            }[part](folder) is not False
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
