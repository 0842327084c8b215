# SPDX-License-Identifier: Apache-2.0
"""The sentences of docs/BENCHMARKS.md: what is fixed, and what the figures say.

A comparison is told as a difference only where the quartiles of the two do not overlap; of a figure
that was measured once, they are a tenth of it away.
"""

import math

from figures import site_errors

SAMPLED_SHARE = 1 - math.exp(-1 / 4)  # of blocks of 1 KiB at 4 KiB

BUSY = (
    " **Other work kept the machine busy** while this was measured: processes took turns, and even ratios of the"
    " processor's time are rough."
)

LACKING = [
    ["tcmalloc sampling", "no setting makes a file: it is had by calling `MallocExtension` in code "
     "(`bench/peers/tcmalloc_dump.cc` does for these figures); knows what is live, not what was allocated"],
    ["jemalloc prof", "sizes are those of the allocator's classes, not those asked for: its sums come out above"],
    ["mimalloc", "has no profiler; `MIMALLOC_SHOW_STATS` prints sums without stacks. geiger runs over it"],
    ["heaptrack", "tells what leaked and what was live at the peak by function, but of all allocated no bytes"],
    ["massif", "leaves out what holds less than 1 % of the whole; a program's threads run one at a time"],
    ["all but geiger", "no interval, and no word on how sure a number is"],
]

# Peer, and geiger on the same allocator and at the same density.
RIVALS = [
    ("jemalloc prof", "jemalloc prof, {}", "geiger over jemalloc, {}"),
    ("tcmalloc sampling", "tcmalloc sampling, {}", "geiger over tcmalloc, {}"),
]
COUNTING = ["heaptrack", "HEAPPROFILE", "massif"]


def list_of(pairs):
    return "\n".join(f"- `{name}`: {text}" for name, text in pairs)


def widened(figure):
    """One run has no quartiles."""
    margin = 0.1 * abs(figure[0]) if figure[1] == figure[2] else 0
    return figure[0], figure[1] - margin, figure[2] + margin


def compare(peer, own):
    """-1: the peer's is lower, 1: ours is, 0: the quartiles overlap."""
    peer, own = widened(peer), widened(own)
    if peer[2] < own[1]:
        return -1
    return 1 if own[2] < peer[1] else 0


def number(value):
    return f"{value:.2f}" if value < 10 else f"{value:.0f}"


class Sides:
    """Who is better in what: a line for each peer and kind of figure, under one of three heads."""

    HEADS = {
        -1: "### Where a peer is better",
        1: "### Where geiger is better",
        0: "### No difference beyond the spread",
    }

    def __init__(self):
        self.lines = {order: [] for order in self.HEADS}

    def tell(self, who, what, pairs):
        """pairs: (name, the peer's figure, ours)"""
        found = {order: [] for order in self.HEADS}
        for name, peer, own in pairs:
            if peer and own:
                order = compare(peer, own)
                found[order].append(f"{name} ({number(peer[0])}, {number(own[0])})" if order else name)
        for order, names in found.items():
            if names:
                self.lines[order].append(f"- **{who}**, {what}: {', '.join(names)}")

    def text(self):
        heads = [(head, self.lines[order]) for order, head in self.HEADS.items() if self.lines[order]]
        return "\n\n".join(f"{head}\n\n" + "\n".join(lines) for head, lines in heads)


def overhead(sides, results, baseline_of):
    for who, peer, own in RIVALS:
        peer, own = peer.format("512k"), own.format("512k")
        pairs = [(work, results.ratio(part, work, peer, baseline_of(peer)),
                  results.ratio(part, work, own, baseline_of(own)))
                 for part in ("loops", "programs") for work in results.works(part)]
        sides.tell(who, "processor's time at 512 KiB over the same allocator, ratio", pairs)


def samples(sides, results, baseline_of):
    for who, peer, own in RIVALS:
        figures = []
        for way in (peer.format("4k"), own.format("4k")):
            more = results.more("sample", "deep", way, baseline_of(way))
            figures.append(tuple(value / SAMPLED_SHARE for value in more) if more else None)
        sides.tell(who, "one sample and its free, ns", [("47 frames", *figures)])


def counting(sides, results, baseline_of):
    for who in COUNTING:
        for own, part, what in (("geiger over glibc, 1", "counted-loops", "cpu"),
                                ("geiger over glibc, 1", "counted-programs", "cpu"),
                                ("geiger record, 1", "counted-programs", "wall")):
            pairs = [(work, results.ratio(part, work, who, baseline_of(who), what),
                      results.ratio(part, work, own, baseline_of(own), what)) for work in results.works(part)]
            time = "wall time beside `geiger record`" if own.startswith("geiger record") else "processor's time"
            kind = "programs" if part.endswith("programs") else "loops"
            sides.tell(who, f"every allocation counted, {kind}, {time}, ratio", pairs)


def peaks(sides, results, baseline_of):
    sampling = ["jemalloc prof, 512k", "tcmalloc sampling, 512k"]
    for part, peers in (("memory", sampling), ("counted-programs", COUNTING)):
        for peer in peers:
            own = f"geiger over {baseline_of(peer)}, 512k" if part == "memory" else "geiger over glibc, 1"
            pairs = []
            for work in results.works(part):
                mine = [results.peak_kib(part, work, way)
                        for way in (peer, baseline_of(peer), own, baseline_of(own))]
                if all(mine):
                    more = [(mine[i][0] - mine[i + 1][0]) / 1024 for i in (0, 2)]
                    pairs.append((work, *((value, value - 0.5, value + 0.5) for value in more)))
            kind = "at 512 KiB" if part == "memory" else "every allocation counted"
            sides.tell(peer.split(",")[0], f"the program's peak RSS over the allocator alone, {kind}, MiB", pairs)


def starts(sides, results, baseline_of):
    for who, peer, own in [*RIVALS, ("heaptrack", "heaptrack", "geiger record, 512k"),
                           ("massif", "massif", "geiger record, 512k")]:
        figures = []
        for way in (peer.format("512k"), own.format("512k")):
            more = results.more("start", "true", way, baseline_of(way), "wall")
            figures.append(tuple(1000 * value for value in more) if more else None)
        sides.tell(who, "start and end of a process, ms more than without", [("`true`", *figures)])


def files(sides, results, baseline_of):
    for part, peers, own in (("memory", ["jemalloc prof, 512k", "tcmalloc sampling, 512k"], "geiger record, 512k"),
                             ("counted-programs", COUNTING, "geiger record, 1")):
        for peer in peers:
            sizes, times = [], []
            for work in results.works(part):
                runs = [next((run for run in results.each(part, work, way) if run.get("files")), None)
                        for way in (peer, own)]
                if all(runs):
                    sizes.append((work, *((run["bytes"] / 1024,) * 3 for run in runs)))
                if all(runs) and all(run["report"] for run in runs):
                    times.append((work, *((run["report"][0],) * 3 for run in runs)))
            sides.tell(peer.split(",")[0], f"size of the files beside `{own}`, KiB", sizes)
            sides.tell(peer.split(",")[0], f"time to a report beside `{own}`, s", times)


def errors(sides, results, _):
    own = site_errors(results.each("sites", "sites", "geiger over glibc, 512k"), "live")
    for way in results.ways("sites"):
        if way.startswith("geiger") or not own:
            continue
        told = site_errors(results.each("sites", "sites", way), "live")
        # Of sampling ones the error is one of chance, and as near as runs go.
        share = 0.2 * own["rms"] if way.endswith("512k") else 0
        figures = [(100 * each["rms"], 100 * (each["rms"] - share), 100 * (each["rms"] + share))
                   for each in (told, own) if each]
        if len(figures) == 2:
            what = "error of live bytes by function, geiger at 512 KiB, %"
            sides.tell(way.split(",")[0], what, [("`sites`", *figures)])


def in_short(results, baseline_of):
    sides = Sides()
    for kind in (overhead, samples, counting, peaks, starts, files, errors):
        kind(sides, results, baseline_of)
    return sides.text()


DOCUMENT = """<!-- SPDX-License-Identifier: Apache-2.0 -->
<!-- Written by bench/peers/write from what bench/peers/measure found: change those, not this. -->
# geiger beside other heap profilers

Measured {date} on {where}: {rounds} rounds in {minutes} minutes, {load}.{busy}{scale}
Versions: {versions}.

```
make bench-peers                          measures, and writes this page and the picture
bench/peers/measure --rounds 15 --only programs --programs sqlite3
bench/peers/write                         writes them again from build/peers/results.json
```

![Processor's time against the same allocator without a profiler](benchmarks.svg)

A figure such as `1.020 (1.010 to 1.031)` is the median of the rounds' ratios and their quartiles. Each ratio is to
the same allocator without a profiler, in the same round; all ways to run take turns within a round. *geiger over X*
is the agent alone, preloaded before X: it leaves a region that reports read. *geiger record* is the recorder, too: its
time, processor's and wall, counts, with reading symbols and closing the profile.

## In short

A difference is told only where the quartiles do not overlap (memory: where it is 1 MiB or more; of what was measured
once: where it is a fifth or more). In parentheses the peer's figure, then geiger's.

{short}

## Sampling at 512 KiB

The default of geiger and of jemalloc, and what gperftools recommends. Processor's time of loops that time themselves,
after they have warmed up:

{loops}

{loop_words}

Whole programs, processor's time, of all processes that the profiler needs:

{programs_cpu}

The same, wall time:

{programs_wall}

{program_words}

redis is linked to jemalloc; for the rows over another allocator that one is put before it. Its processor's time is the
server's, its wall time that of the clients' work.

## Denser

A program that works at depth 40, and the processor's time at 32 and 4 KiB:

{dense}

One sample, its allocation and its free, in 47 frames, from a loop in which more than a fifth of the blocks are
samples (4 KiB), over the allocator alone:

{samples}

## Every allocation counted

What these tools always do, and geiger at an interval of 1 (with more room for live blocks than by default:
`GEIGER_MAX_LIVE=4M GEIGER_MAX_STACKS=8M GEIGER_MAX_ROWS=1M`). Loops, processor's time of the program alone;
heaptrack has a second process, whose time is not in this table:

{counted_loops}

Programs at a quarter of the work, processor's time of all processes:

{counted_cpu}

The same, wall time:

{counted_wall}

## Memory

Peak RSS at 512 KiB: over the same allocator alone, and of the largest process that runs beside:

{memory}

Every allocation counted, a quarter of the work:

{counted_memory}

## Start

{start}

## Files, and the time to a report

The space of what a run leaves; the time of the tool's text report (`geiger report`, `jeprof --text`, `google-pprof
--text`, `heaptrack_print`, `ms_print`): the first time, when no symbols are cached, and again. What `geiger record`
leaves has the time of each sample and free, and the names; a dump of jemalloc or tcmalloc is sums by stack, as addresses
that only the same files of program and libraries explain.

{files}

Every allocation counted, a quarter of the work:

{counted_files}

## Errors

20 functions allocate known amounts, from 2 to 40 MiB each in blocks of 24 bytes to 256 KiB, and half of them are live
at the end. *Error* is the root mean square of the relative error of all functions in all runs, with another order of
allocations in each; *its sum* how far the sum of all functions is off, which says whether there is a bias;
*covered* the share of truths inside the 95 % interval that the tool tells.

{sites}

Real programs at half of the work: all that was allocated, sampled at 512 KiB, against a run in which every allocation
was counted:

{truth}

## What is missing

{lacking}
"""
