# SPDX-License-Identifier: Apache-2.0
"""The sentences of docs/BENCHMARKS.md: the fixed ones, and those that compare figures.

Two figures differ if their quartiles do not overlap.  A figure that was measured once counts as if
its quartiles were a tenth of it away.
"""

import math
import textwrap

from figures import site_errors

SAMPLED_SHARE = 1 - math.exp(-1 / 4)  # of blocks of 1 KiB at 4 KiB

BUSY = (
    " **Other work kept the machine busy** while this was measured: processes took turns, and even ratios of the"
    " processor's time are rough."
)

LACKING = [
    ["tcmalloc sampling", "no setting makes a file; code must call `MallocExtension` (`bench/peers/tcmalloc_dump.cc` does for these figures); knows live memory, not allocated memory"],
    ["jemalloc prof", "sizes are those of the allocator's classes, not requested sizes, so its sums are too high"],
    ["mimalloc", "has no profiler; `MIMALLOC_SHOW_STATS` prints sums without stacks. geiger runs over it"],
    ["heaptrack", "reports leaks and the peak by function, but not the bytes allocated"],
    ["massif", "omits functions below 1 % of the whole; a program's threads run one at a time"],
    ["all but geiger", "no confidence interval"],
]

# Peer, and geiger on the same allocator and at the same density.
RIVALS = [
    ("jemalloc prof", "jemalloc prof, {}", "geiger over jemalloc, {}"),
    ("tcmalloc sampling", "tcmalloc sampling, {}", "geiger over tcmalloc, {}"),
]
COUNTING = ["heaptrack", "HEAPPROFILE", "massif"]

# Why a peer is better at a kind of figure, and why that stays.
REASONS = {
    "hooks": "**Processor's time at 512 KiB.** These profilers sit inside of their allocator, which counts bytes"
             " anyway. The agent stands before any allocator: its hooks take 13 instructions of each allocation and"
             " free, which shows where these take 5 ns. `geiger record --malloc` samples inside, too (last section).",
    "region": "**Peak RSS at 512 KiB.** The agent keeps samples and stacks in a region of shared memory, 0.5 to 3 MiB"
              " that count as the program's, so that a kill loses nothing. The peers' samples are on the heap, and"
              " die with it.",
    "names": "**Every allocation counted, python3.** At each allocation geiger reads the interpreter's frames as well,"
             " and so tells functions and lines of Python; the peers tell the interpreter's C functions alone. The"
             " agent without that, `geiger, exact`, is below them.",
    "table": "**Peak RSS, every allocation counted.** Exact counts keep each live block in the region, for the same"
             " reason; heaptrack sends blocks to a second process, which has the 140 to 190 MiB beside the program.",
    "start": "**Start and end.** The agent makes a region, and writes the program's modules to it, before the"
             " first sample; the peers begin with less, and write nothing without a request.",
    "size": "**Size of the files.** A profile has names, lines, the time of each sample and of its free, and the"
            " memory of the process over time; the peers' dumps have sums by stack, as addresses.",
    "print": "**Time to a report.** `ms_print` prints lines that massif has written already.",
}


def wrapped(text):
    """The page with paragraphs and list items of at most 100 columns."""
    paragraphs = []
    is_code = False
    for paragraph in text.split("\n\n"):
        lines = paragraph.split("\n")
        if is_code or lines[0].startswith(("```", "|", "!", "<!--", "#")):
            paragraphs.append(paragraph)
        elif lines[0].startswith("- "):
            paragraphs.append("\n".join(fill(line, "  ") for line in lines))
        else:
            paragraphs.append(fill(" ".join(lines), ""))
        is_code ^= paragraph.count("```") % 2 == 1
    return "\n\n".join(paragraphs)


def fill(line, indent):
    return textwrap.fill(line, 100, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


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
    """The comparison in short: a line for each peer and kind of figure, under three heads."""

    HEADS = {
        -1: "### Peers are better",
        1: "### geiger is better",
        0: "### No difference beyond the spread",
    }

    def __init__(self):
        self.lines = {order: [] for order in self.HEADS}
        self.reasons = {}

    def tell(self, who, what, pairs, reason=None):
        """pairs: (name, the peer's figure, ours); reason: in REASONS, where the peer's is better"""
        found = {order: [] for order in self.HEADS}
        for name, peer, own in pairs:
            if peer and own:
                order = compare(peer, own)
                found[order].append(f"{name} ({number(peer[0])}, {number(own[0])})" if order else name)
        for order, names in found.items():
            if names:
                self.lines[order].append(f"- **{who}**, {what}: {', '.join(names)}")
        if found[-1] and reason:
            self.reasons[reason] = "- " + REASONS[reason]

    def text(self):
        heads = [(head, self.lines[order]) for order, head in self.HEADS.items() if self.lines[order]]
        if self.reasons:
            heads.append(("### Why peers are better there", self.reasons.values()))
        return "\n\n".join(f"{head}\n\n" + "\n".join(lines) for head, lines in heads)


def overhead(sides, results, baseline_of):
    for who, peer, own in RIVALS:
        peer, own = peer.format("512k"), own.format("512k")
        pairs = [(work, results.ratio(part, work, peer, baseline_of(peer)),
                  results.ratio(part, work, own, baseline_of(own)))
                 for part in ("loops", "programs") for work in results.works(part)]
        sides.tell(who, "processor's time at 512 KiB over the same allocator, ratio", pairs, "hooks")


def samples(sides, results, baseline_of):
    for who, peer, own in RIVALS:
        figures = []
        for way in (peer.format("4k"), own.format("4k")):
            more = results.more("sample", "deep", way, baseline_of(way))
            figures.append(tuple(value / SAMPLED_SHARE for value in more) if more else None)
        sides.tell(who, "one sample and its free, ns", [("47 frames", *figures)])


def counting(sides, results, baseline_of):
    for who in COUNTING:
        for own, part, what in (("geiger, exact", "counted-loops", "cpu"),
                                ("geiger record --exact", "counted-programs", "cpu"),
                                ("geiger record --exact", "counted-programs", "wall")):
            pairs = [(work, results.ratio(part, work, who, baseline_of(who), what),
                      results.ratio(part, work, own, baseline_of(own), what)) for work in results.works(part)]
            time = {"wall": "wall time", "cpu": "processor's time"}[what]
            time += f" beside `{own}`"
            kind = "programs" if part.endswith("programs") else "loops"
            sides.tell(who, f"every allocation counted, {kind}, {time}, ratio", pairs, "names")


def peaks(sides, results, baseline_of):
    sampling = ["jemalloc prof, 512k", "tcmalloc sampling, 512k"]
    for part, peers in (("memory", sampling), ("counted-programs", COUNTING)):
        for peer in peers:
            own = f"geiger over {baseline_of(peer)}, 512k" if part == "memory" else "geiger, exact"
            pairs = []
            for work in results.works(part):
                mine = [results.peak_kib(part, work, way)
                        for way in (peer, baseline_of(peer), own, baseline_of(own))]
                if all(mine):
                    more = [(mine[i][0] - mine[i + 1][0]) / 1024 for i in (0, 2)]
                    pairs.append((work, *((value, value - 0.5, value + 0.5) for value in more)))
            kind = "at 512 KiB" if part == "memory" else "every allocation counted"
            sides.tell(peer.split(",")[0], f"the program's peak RSS over the allocator alone, {kind}, MiB", pairs,
                       "region" if part == "memory" else "table")


def starts(sides, results, baseline_of):
    for who, peer, own in [*RIVALS, ("heaptrack", "heaptrack", "geiger record, 512k"),
                           ("massif", "massif", "geiger record, 512k")]:
        figures = []
        for way in (peer.format("512k"), own.format("512k")):
            more = results.more("start", "true", way, baseline_of(way), "wall")
            figures.append(tuple(1000 * value for value in more) if more else None)
        sides.tell(who, "start and end of a process, ms more than without", [("`true`", *figures)], "start")


def files(sides, results, baseline_of):
    for part, peers, own in (("memory", ["jemalloc prof, 512k", "tcmalloc sampling, 512k"], "geiger record, 512k"),
                             ("counted-programs", COUNTING, "geiger record --exact")):
        for peer in peers:
            sizes, times = [], []
            for work in results.works(part):
                runs = [next((run for run in results.each(part, work, way) if run.get("files")), None)
                        for way in (peer, own)]
                if all(runs):
                    sizes.append((work, *((run["bytes"] / 1024,) * 3 for run in runs)))
                if all(runs) and all(run["report"] for run in runs):
                    times.append((work, *((run["report"][0],) * 3 for run in runs)))
            sides.tell(peer.split(",")[0], f"size of the files beside `{own}`, KiB", sizes, "size")
            sides.tell(peer.split(",")[0], f"time to a report beside `{own}`, s", times, "print")


def errors(sides, results, _):
    for way in results.ways("sites"):
        kind = "exact" if way in COUNTING else "512k"
        name = "geiger, exact" if kind == "exact" else "geiger over glibc, 512k"
        own = site_errors(results.each("sites", "sites", name), "live")
        if way.startswith("geiger") or not own:
            continue
        told = site_errors(results.each("sites", "sites", way), "live")
        # The error of sampling tools is random, so small differences mean nothing.
        share = 0.2 * own["rms"] if way.endswith("512k") else 0
        figures = [(100 * each["rms"], 100 * (each["rms"] - share), 100 * (each["rms"] + share))
                   for each in (told, own) if each]
        if len(figures) == 2:
            what = f"error of live bytes by function, beside `{name}`, %"
            sides.tell(way.split(",")[0], what, [("`sites`", *figures)])


def in_short(results, baseline_of):
    sides = Sides()
    for kind in (overhead, samples, counting, peaks, starts, files, errors):
        kind(sides, results, baseline_of)
    return sides.text()


DOCUMENT = """<!-- SPDX-License-Identifier: Apache-2.0 -->
<!-- Written by bench/peers/write from what bench/peers/measure found: do not edit this page. -->
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
is the agent alone, preloaded before X: it leaves a region that reports read. *geiger record* includes the recorder: its processor's time and wall time count, with the time to read symbols and close the profile.

## In short

A difference counts only if the quartiles do not overlap. For memory it must be 1 MiB or more; for figures that were measured once, a fifth or more. Parentheses have the peer's figure, then geiger's.

{short}

## Sampling at 512 KiB

512 KiB is the default of geiger and of jemalloc, and the interval that gperftools recommends. The first table has the processor's time of loops that time themselves after they have warmed up:

{loops}

{loop_words}

Whole programs; the processor's time of all processes that the profiler needs:

{programs_cpu}

Wall time of these programs:

{programs_wall}

{program_words}

redis is linked to jemalloc; in the rows over another allocator, that allocator is preloaded. The processor's time of redis is that of the server, and its wall time is that of the clients' work.

## Denser

The processor's time of a program that works at depth 40, at 32 and 4 KiB:

{dense}

The cost of one sample, with its allocation and its free, in 47 frames, over the allocator alone. In the measured loop more than a fifth of the blocks are samples (4 KiB):

{samples}

## Every allocation counted

The peers of this section count every allocation. geiger does so at an interval of 1, with more room for live blocks than by default (`GEIGER_MAX_LIVE=4M GEIGER_MAX_STACKS=8M GEIGER_MAX_ROWS=1M`), and by exact counts: *geiger, exact* is the agent alone with `GEIGER_EXACT=1`. The table has the processor's time of loops, of the program alone; the second process of heaptrack is not in it:

{counted_loops}

Programs at a quarter of the work; the processor's time of all processes:

{counted_cpu}

Wall time of these programs:

{counted_wall}

## Memory

Peak RSS at 512 KiB: the difference to the same allocator alone, and the largest process that runs beside the program:

{memory}

Every allocation counted, a quarter of the work:

{counted_memory}

## Start

{start}

## Files, and the time to a report

The size of the files that a run leaves, and the time of the tool's text report (`geiger report`, `jeprof --text`, `google-pprof
--text`, `heaptrack_print`, `ms_print`): the first time, when no symbols are cached, and again. The profile of `geiger record` has names, and the time of each sample and free. A dump of jemalloc or tcmalloc has sums by stack, with addresses that only the same files of program and libraries explain.

{files}

Every allocation counted, a quarter of the work:

{counted_files}

## Errors

20 functions allocate known amounts, from 2 to 40 MiB each in blocks of 24 bytes to 256 KiB, and half of them are live
at the end. *Error* is the root mean square of the relative error of all functions in all runs; each run has another order of allocations. *Its sum* is the error of the sum of all functions, which shows a bias. *Covered* is the share of true values inside the tool's 95 % confidence interval.

{sites}

Real programs at half of the work: the estimate of all allocated bytes at 512 KiB, beside a run in which every allocation was counted:

{truth}

## Limits of the tools

{lacking}
"""
