#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One profile with a known truth goes out in every format; what real consumers find in the files is
that truth, and what they would not notice is checked here.

Environment: GEIGER, MAKE_TRUTH; CONSUMERS is the folder with what script/consumers fetched.
A consumer that is not there is skipped by name.
"""

import csv
import gzip
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree

from browser import Browser

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
HERE = pathlib.Path(__file__).resolve().parent
GEIGER = os.environ["GEIGER"]
CONSUMERS = pathlib.Path(os.environ.get("CONSUMERS", ROOT / "build" / "consumers"))
scratch = pathlib.Path(tempfile.mkdtemp())
profile = scratch / "truth.geiger"
truth = json.loads(
    subprocess.run([os.environ["MAKE_TRUTH"], profile], check=True, capture_output=True).stdout
)
total = truth["total"]

failures = 0
tests = []


class Skipped(Exception):
    pass


def test(function):
    tests.append(function)
    return function


def check(condition, message):
    global failures
    if not condition:
        failures += 1
        print(message)


def same(got, wanted, what):
    check(got == wanted, f"{what}: {got}, not {wanted}")


def run(*command, **how):
    result = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, timeout=500, **how
    )
    if result.returncode != 0:
        raise RuntimeError(f"{command}: exit {result.returncode}\n{result.stdout}{result.stderr}")
    return result.stdout


def need(program):
    found = shutil.which(program)
    if found is None:
        raise Skipped(f"no {program}")
    return found


def export(name, *arguments):
    """The file that geiger makes; its name says the format."""
    path = scratch / name
    run(GEIGER, "export", profile, "-o", path, *arguments)
    return path


# --- collapsed ---------------------------------------------------------------------------------


def read_collapsed(path):
    """Bytes by stack, read as flamegraph.pl does it."""
    stacks = {}
    for line in path.read_text().splitlines():
        match = re.fullmatch(r"(.*)\s+?(\d+)", line)
        check(match, f"not a line of collapsed text: {line}")
        check(match.group(1) not in stacks, f"twice: {line}")
        stacks[match.group(1)] = int(match.group(2))
    return stacks


@test
def collapsed_lines_add_up_to_the_truth():
    for metric, wanted in (("live", total["live_bytes"]), ("pinned", total["pinned_bytes"]),
                           ("allocated", total["allocated_bytes"])):
        stacks = read_collapsed(export(f"{metric}.collapsed", "--metric", metric))
        same(sum(stacks.values()), wanted, metric)
    check(any(s.endswith(';odd:name <&" {x}') for s in stacks), "a ';' in a name")
    same(stacks["made (4711);thr;big_quarter;inl;leaf_alloc"],
         truth["big_quarter"]["allocated_bytes"], "a stack")
    one = read_collapsed(export("one.collapsed", "--process", "4720"))
    same(sum(one.values()), truth["4720"]["live_bytes"], "one process")
    one = read_collapsed(export("one.collapsed", "--process", "4720", "--metric", "pinned"))
    same(sum(one.values()), truth["4720"]["pinned_bytes"], "what one process keeps")
    half = read_collapsed(export("half.collapsed", "--at", "0.5s"))
    same(sum(half.values()), total["half_bytes"], "at a moment")


# --- pprof -------------------------------------------------------------------------------------

# Metrics of the formats with one metric, and their truth.
ONE_METRIC = [(metric, f"{metric}_bytes") for metric in ("live", "allocated", "pinned")]
PPROF = {
    "alloc_objects": "allocated_count",
    "alloc_space": "allocated_bytes",
    "inuse_objects": "live_count",
    "inuse_space": "live_bytes",
}


def pprof_total(pprof, path, index, *options):
    """The total that pprof prints: of all samples, or of those that the options select."""
    out = run(*pprof, "-top", "-nodecount=0", "-nodefraction=0", "-unit=B", f"-sample_index={index}", *options, path)
    match = re.search(r"accounting for (-?[\d.]+)", out)
    return int(float(match.group(1))) if match else out


def pprof_programs():
    go = need("go")
    yield [go, "tool", "pprof"]
    source = pathlib.Path("/usr/share/gocode/src/github.com/google/pprof")
    if source.is_dir():
        program = CONSUMERS / "pprof"
        if not program.exists():
            CONSUMERS.mkdir(parents=True, exist_ok=True)
            run(go, "build", "-o", program, "github.com/google/pprof",
                env={**os.environ, "GO111MODULE": "off", "GOPATH": "/usr/share/gocode",
                     "GOCACHE": str(CONSUMERS / "go-cache")})
        yield [program]


def go_environment():
    os.environ.setdefault("GOCACHE", str(CONSUMERS / "go-cache"))
    os.environ["PPROF_TMPDIR"] = str(scratch)


@test
def pprof_programs_see_the_truth_in_all_four_values():
    go_environment()
    path = export("x.pb.gz")
    for pprof in pprof_programs():
        for index, key in PPROF.items():
            same(pprof_total(pprof, path, index), total[key], f"{pprof[-1]} {index}")
        same(pprof_total(pprof, path, "inuse_space", "-tagfocus=thread=worker"),
             truth["4711/4712"]["live_bytes"], "the label of a thread")
        same(pprof_total(pprof, path, "alloc_space", "-focus=big_quarter"),
             truth["big_quarter"]["allocated_bytes"], "a function")
        out = run(*pprof, "-top", "-nodecount=50", path)
        check("Type: inuse_space" in out, "the default type")
        check("inl (inline)" in out or " inl" in out, out)


@test
def pprof_has_pinned_memory_as_its_only_value():
    go_environment()
    path = export("pinned.pb.gz", "--metric", "pinned")
    for pprof in pprof_programs():
        same(pprof_total(pprof, path, "pinned_space"), total["pinned_bytes"], pprof[-1])
        same(pprof_total(pprof, path, "pinned_space", "-tagfocus=process=made"), total["pinned_bytes"], "a label")
        check("Type: pinned_space" in run(*pprof, "-top", path), "the default type")
        same(pprof_total(pprof, path, "pinned_space", f"-diff_base={path}"), 0, "a difference")
    raw = run(need("go"), "tool", "pprof", "-raw", path)
    check("pinned_space/bytes[dflt]" in raw and "inuse" not in raw and "alloc_" not in raw, raw[:600])
    check("pinned_space_low" in raw and "pinned_space_high" in raw, "intervals as labels")
    check("pinned_space: " in raw, "the interval of the total as a comment")
    usual = run(need("go"), "tool", "pprof", "-raw", export("live.pb.gz"))
    check("pinned" not in usual, "files of other metrics do not mention it")
    result = subprocess.run([GEIGER, "import", path, "-o", scratch / "pinned.geiger"], capture_output=True, text=True)
    check(result.returncode == 1 and "pinned_space" in result.stderr, f"it is not imported as live: {result.stderr}")


@test
def pprof_raw_has_what_a_program_would_not_miss():
    go_environment()
    path = export("x.pb.gz")
    raw = run(need("go"), "tool", "pprof", "-raw", path)
    check("alloc_objects/count alloc_space/bytes inuse_objects/count inuse_space/bytes[dflt]" in raw,
          raw[:600])
    check("PeriodType: space bytes" in raw, "period type")
    check("Period: 100" in raw or "Period: 1\n" in raw, "period")
    check("% confidence interval" in raw, "comments with intervals")
    mappings = raw[raw.index("Mappings"):].splitlines()[1:]
    check("/usr/bin/made" in mappings[0], "the program is the first mapping")
    check(re.search(r"[0-9a-f]{40}", mappings[0]), "a build-id")
    samples = raw[raw.index("Samples:"):raw.index("Locations")]
    check("thread:[worker]" in samples and "type:[Node]" in samples, "labels")
    check("inuse_space_low" in samples, "intervals as labels")
    check("inuse_space_high" not in samples, "no upper end where each allocation counts alike")


def varints(data):
    """The fields of a protobuf message: (number, value); value is an int or bytes."""
    at = 0

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = number()
        if key & 7 == 0:
            yield key >> 3, number()
        elif key & 7 == 2:
            length = number()
            yield key >> 3, data[at:at + length]
            at += length
        elif key & 7 == 1:
            yield key >> 3, data[at:at + 8]
            at += 8
        else:
            raise ValueError("a wire type that we do not write")


def packed(data):
    values, value, shift = [], 0, 0
    for byte in data:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            values.append(value)
            value = shift = 0
    return values


@test
def pprof_files_keep_the_rules_that_no_consumer_checks():
    data = gzip.decompress(export("x.pb.gz", "--metric", "allocated").read_bytes())
    fields = {}
    for number, value in varints(data):
        fields.setdefault(number, []).append(value)
    strings = [value.decode() for value in fields[6]]
    same(strings[0], "", "the first text")
    same(len(strings), len(set(strings)), "texts, each once")
    same(strings[fields[14][0]], "alloc_space", "the default type")
    check(fields[12][0] > 0, "a period")
    mappings = {dict(varints(m))[1] for m in fields[3]}
    same(mappings, set(range(1, len(mappings) + 1)), "ids of mappings")
    functions = {dict(varints(f))[1]: dict(varints(f)) for f in fields[5]}
    locations = {}
    for location in fields[4]:
        parts = {}
        for number, value in varints(location):
            parts.setdefault(number, []).append(value)
        locations[parts[1][0]] = parts
        check(parts.get(2, [0])[0] in mappings, "a location's mapping exists")
        for line in parts[4]:
            check(dict(varints(line))[1] in functions, "a line's function exists")
    same(set(locations), set(range(1, len(locations) + 1)), "ids of locations")
    inlined = [
        [strings[functions[dict(varints(line))[1]][2]] for line in parts[4]]
        for parts in locations.values()
    ]
    check(["inl", "small_half"] in inlined, f"the innermost inlined call is first: {inlined}")
    for sample in fields[2]:
        parts = {}
        for number, value in varints(sample):
            parts.setdefault(number, []).append(value)
        check(set(packed(parts[1][0])) <= set(locations), "a sample's locations exist")
        values = packed(parts[2][0])
        same(len(values), 4, "values of a sample")
        check(all(value < 1 << 62 for value in values), "no value is negative")
        check(values[2] <= values[0] and values[3] <= values[1], "live is part of allocated")
        labels = [dict(varints(label)) for label in parts[3]]
        check(all((2 in label) != (3 in label) for label in labels), "a text or a number")
        intervals = {strings[label[1]]: label.get(3) for label in labels}
        if values[3] > 0:
            # The sampling scheme of this profile knows no upper end (see make_truth.c).
            check("inuse_space_high" not in intervals, f"an upper end: {intervals}")
            check(intervals["inuse_space_low"] <= values[3],
                  f"the interval holds the estimate: {intervals}, {values[3]}")


# --- text dumps ---------------------------------------------------------------------------------


def perl_pprof(program, path, index, *options):
    """Sum of what jeprof or google-pprof list, one line a function."""
    out = run(program, "--text", "--show_bytes", f"--{index}", *options, GEIGER, path)
    match = re.search(r"^Total: ([\d.]+)", out, re.M)
    listed = re.findall(r"^ *(\d+) +[\d.]+% +[\d.]+% ", out, re.M)
    return int(float(match.group(1))) if match else out, sum(map(int, listed))


@test
def jeprof_sees_the_truth_and_each_thread():
    jeprof = need("jeprof")
    path = export("x.heap")
    # The numbers are whole before jeprof scales them, so each of the 10 records may be off by one
    # allocation. jeprof scales only small blocks (8 bytes at an interval of 1: by 0.03 %).
    for index, key in PPROF.items():
        got = perl_pprof(jeprof, path, index)[0]
        check(abs(got - total[key]) <= (100 if "space" in index else 10), f"{index}: {got}")
    threads = {}
    for line in path.read_text().split("@")[0].splitlines():
        match = re.fullmatch(r"  t(\d+): .*\] (\w+)", line)
        if match:
            threads.setdefault(match.group(2), []).append(match.group(1))
    same(set(threads), {"made", "worker"}, "names of threads")
    # With --thread jeprof's total is that of all; the lines are the thread's.
    out = run(jeprof, "--text", "--show_bytes", "--inuse_space", "--thread=" + threads["worker"][0],
              GEIGER, path)
    check(str(truth["4711/4712"]["live_bytes"]) in out, f"one thread: {out}")


@test
def text_dumps_name_their_mappings_and_addresses_are_in_them():
    for name in ("x.heap", "x.gperf"):
        text = export(name).read_text()
        maps = re.findall(r"^([0-9a-f]+)-([0-9a-f]+) r-xp [0-9a-f]+ 00:00 0 +(\S+)$", text, re.M)
        same(sorted(path for _, _, path in maps),
             ["/usr/bin/made", "/usr/lib/libbare.so", "/usr/lib/libpool.so"], name)
        ranges = sorted((int(start, 16), int(end, 16)) for start, end, _ in maps)
        check(all(a[1] <= b[0] for a, b in zip(ranges, ranges[1:])), f"ranges overlap: {ranges}")
        for address in re.findall(r" 0x([0-9a-f]+)", text):
            check(any(start <= int(address, 16) < end for start, end in ranges), address)


@test
def google_pprof_and_pprof_see_the_truth_in_gperftools_text():
    go_environment()
    path = export("x.gperf")
    for index, key in PPROF.items():
        same(perl_pprof(need("google-pprof"), path, index)[0], total[key], index)
    for pprof in pprof_programs():
        for index, key in PPROF.items():
            same(pprof_total(pprof, path, index), total[key], f"{pprof[-1]} {index}")


# --- Perfetto ----------------------------------------------------------------------------------


def node(least=20):
    """A node that is new enough for what npm has."""
    program = need("node")
    version = run(program, "--version").strip()
    if int(version[1:].split(".")[0]) < least:
        raise Skipped(f"node {version} is older than {least}")
    return program


def fetched(path):
    found = CONSUMERS / path
    if not found.exists():
        raise Skipped(f"no {path}: script/consumers fetches it")
    return found


def trace_processor(path, *queries):
    folder = fetched("trace_processor")
    out = run(node(), HERE / "trace_processor.cjs", path, *queries,
              env={**os.environ, "TRACE_PROCESSOR": str(folder)})
    return json.loads(out)


SUMS = ("select {0} sum(size) filter(where size > 0), sum(size), sum(count) filter(where count > 0),"
        " sum(count) from heap_profile_allocation {1}")
KEYS = ("allocated_bytes", "live_bytes", "allocated_count", "live_count")


@test
def trace_processor_sees_the_truth_of_each_process_and_heap():
    complaints, all_of_it, processes, heaps, half, names, modules, rss = trace_processor(
        export("x.pftrace"),
        "select name, idx, value from stats where severity != 'info' and value != 0",
        SUMS.format("", ""),
        SUMS.format("pid,", "join process using (upid) group by pid order by pid"),
        SUMS.format("heap_name,", "group by heap_name order by heap_name"),
        "select sum(size) from heap_profile_allocation where ts <= 1500000000",
        "select distinct name from stack_profile_frame",
        "select distinct build_id, name from stack_profile_mapping",
        "select ts, value from counter join process_counter_track as t on t.id = track_id"
        " join process using (upid) where t.name = 'mem.rss' and pid = 4711 order by ts",
    )
    same(complaints, [], "complaints")
    same(all_of_it, [[total[key] for key in KEYS]], "in all")
    same(processes, [[int(pid)] + [truth[pid][key] for key in KEYS] for pid in ("4711", "4720")],
         "by process")
    pool = [row[1:] for row in heaps if row[0] == "pool"]
    same(pool, [[truth["pool: Node"][key] for key in KEYS]], f"one of {heaps}")
    same([row[0] for row in heaps], ["[not kept]", "libc.malloc", "pool"], "heaps")
    same(half, [[total["half_bytes"]]], "half-way")
    same(rss, [[1100000000, 100 << 20], [1600000000, 300 << 20]], "readings of RSS")
    check({"inl", "small_half", "libbare.so+0x4242"} <= {row[0] for row in names}, names)
    check(all(re.fullmatch(r"[0-9a-f]{40}", row[0]) for row in modules), modules)
    same(sorted({row[1] for row in modules}),
         ["/usr/bin/made", "/usr/lib/libbare.so", "/usr/lib/libpool.so"], "modules")


@test
def a_trace_of_one_process_or_moment_is_its_own():
    one, = trace_processor(export("one.pftrace", "--process", "4720"), SUMS.format("", ""))
    same(one, [[truth["4720"][key] for key in KEYS]], "one process")
    then, = trace_processor(export("then.pftrace", "--at", "0.5s"),
                            "select sum(size) from heap_profile_allocation")
    same(then, [[total["half_bytes"]]], "at a moment")


@test
def trace_processor_reads_pprof_too():
    rows, = trace_processor(
        export("x.pb.gz"),
        "select p.sample_type_type, sum(s.value) from __intrinsic_aggregate_sample s join"
        " __intrinsic_aggregate_profile p on s.aggregate_profile_id = p.id group by 1")
    same(dict(rows), {index: total[key] for index, key in PPROF.items()}, "pprof")


# --- Firefox -----------------------------------------------------------------------------------


class FirefoxProfiler:
    """The viewer's own code behind its command line; a daemon holds the profile."""

    def __init__(self, path):
        self.program = [node(), fetched("node_modules/@firefox-devtools/profiler-cli/package.json")]
        package = json.loads(self.program[1].read_text())
        binary = package["bin"]
        binary = binary["profiler-cli"] if isinstance(binary, dict) else binary
        self.program[1] = self.program[1].parent / binary
        sessions = scratch / "sessions"
        sessions.mkdir(exist_ok=True)
        self.environment = {**os.environ, "PROFILER_CLI_SESSION_DIR": str(sessions)}
        self.path = path

    def ask(self, *arguments):
        return run(*self.program, *arguments, env=self.environment)

    def __enter__(self):
        try:
            self.ask("load", self.path)
        except RuntimeError as error:
            if "did not become ready" not in str(error):
                raise
            for _ in range(60):  # a busy machine: the daemon is still starting
                time.sleep(0.5)
                try:
                    self.ask("profile", "info")
                    return self
                except RuntimeError:
                    pass
            raise
        return self

    def __exit__(self, *_):
        self.ask("stop", "--all")

    def bytes_of(self, thread, strategy):
        out = json.loads(self.ask("thread", "samples", "--thread", f"t-{thread}", "--strategy",
                                  strategy, "--json"))
        return out["categoryBreakdown"]["totalSamples"]


@test
def the_firefox_profiler_sees_the_truth_of_each_thread():
    with FirefoxProfiler(export("x.profile.json")) as profiler:
        info = profiler.ask("profile", "info")
        check("3 threads across 2 processes" in info, info)
        check("c-0: Memory" in info and "c-1: Memory" in info, "a memory track for each process")
        for number, name in enumerate(("4711/4711", "4711/4712", "4720/4720")):
            wanted = truth[name]
            same(profiler.bytes_of(number, "native-retained-allocations"), wanted["live_bytes"],
                 f"retained of {name}")
            same(profiler.bytes_of(number, "native-allocations"), wanted["allocated_bytes"],
                 f"allocated of {name}")
        tree = profiler.ask("thread", "samples", "--thread", "t-1", "--strategy",
                            "native-retained-allocations")
        check("big_quarter" in tree and "inl" in tree, tree)


@test
def firefox_files_keep_the_rules_that_no_consumer_checks():
    data = json.loads(export("x.profile.json").read_text())
    shared = data["shared"]
    texts = len(shared["stringArray"])
    tables = [shared[name] for name in ("stackTable", "frameTable", "funcTable", "resourceTable",
                                        "sources", "nativeSymbols")]
    for thread in data["threads"]:
        tables += [thread["samples"], thread["nativeAllocations"], thread["markers"]]
        check(isinstance(thread["pid"], str), "a pid is a text")
    for table in tables:
        for name, column in table.items():
            if isinstance(column, list):
                same(len(column), table["length"], f"length of {name}")

    def within(column, count, what):
        check(all(item is None or -1 <= item < count for item in column), what)

    stacks, frames, funcs = (shared[name] for name in ("stackTable", "frameTable", "funcTable"))
    within(stacks["frame"], frames["length"], "frames")
    check(all(prefix is None or prefix < i for i, prefix in enumerate(stacks["prefix"])), "prefixes")
    within(frames["func"], funcs["length"], "funcs")
    within(frames["category"], len(data["meta"]["categories"]), "categories")
    within(funcs["name"], texts, "names")
    within(funcs["resource"], shared["resourceTable"]["length"], "resources")
    within(funcs["source"], shared["sources"]["length"], "sources")
    within(shared["resourceTable"]["lib"], len(data["libs"]), "libraries")
    within(shared["sources"]["filename"] + shared["resourceTable"]["name"], texts, "names")
    check(all(re.fullmatch(r"[0-9A-F]{32}0", lib["breakpadId"]) for lib in data["libs"]), "ids")
    for thread in data["threads"]:
        table = thread["nativeAllocations"]
        within(table["stack"], stacks["length"], "stacks")
        within(thread["markers"]["name"], texts, "markers")
        same(table["time"], sorted(table["time"]), "times")
        held = {}
        for weight, address in zip(table["weight"], table["memoryAddress"]):
            if weight < 0:
                same(held.pop(address, None), -weight, "what a free gives back")
            else:
                check(address not in held, "an address twice")
                held[address] = weight
        for marker in thread["markers"]["data"]:
            # The sampling scheme of this profile knows no upper end (see make_truth.c).
            check(marker["low"] <= marker["estimate"] and marker["high"] is None,
                  f"an interval: {marker}")
    for counter in data["counters"]:
        pid = counter["pid"]
        same(data["threads"][counter["mainThreadIndex"]]["pid"], pid, "a counter's thread")
        same(sum(counter["samples"]["count"]), truth[pid]["live_bytes"], "a counter's end")


# --- formats for pages ---------------------------------------------------------------------------


def browser(*flags):
    for name in ("chromium-headless-shell", "chromium"):
        if shutil.which(name):
            return Browser(shutil.which(name), *flags)
    raise Skipped("no chromium")


def as_speedscope_prints(count):
    for unit, name in ((1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "KB")):
        if count >= unit:
            return f"{count / unit:.2f} {name}"
    return f"{count:.0f} B"


@test
def speedscope_lists_the_truth_of_its_profiles():
    page = fetched("node_modules/speedscope/dist/release/index.html")
    with browser() as speedscope:
        speedscope.open(page.as_uri())
        speedscope.wait("document.querySelector('input[type=file]') !== null")
        speedscope.choose_file("input[type=file]", export("x.speedscope.json"))
        speedscope.wait("document.body.innerText.includes('live (bytes) (1/4)')")
        for key, shown in (("3", "Symbol Name"), ("t", "Total Weight")):  # sandwich, profiles
            speedscope.command("Input.dispatchKeyEvent", type="keyDown", key=key, text=key)
            speedscope.wait(f"document.body.innerText.includes('{shown}')")
        # The heads of the table come before its rows, which fill in a moment later.
        speedscope.wait("document.body.innerText.includes('made (4720)')")
        text = speedscope.value("document.body.innerText")
    for name, wanted in (
        ("live (bytes)", as_speedscope_prints(total["live_bytes"])),
        ("live (allocations)", f"{total['live_count']:,}"),
        ("allocated (bytes)", as_speedscope_prints(total["allocated_bytes"])),
        ("allocated (allocations)", f"{total['allocated_count']:,}"),
    ):
        check(f"{name}\t{wanted}" in text, f"{name} is not {wanted}: {text[:400]}")
    check(re.search(r"390.63 KB \(\d.*%\)\n\t0 B.*\n\tmade \(4720\)", text), "a process's total")


@test
def speedscope_files_keep_their_schema():
    data = json.loads(export("x.speedscope.json", "--metric", "allocated").read_text())
    frames = data["shared"]["frames"]
    same(data["activeProfileIndex"], 2, "the profile that is shown first")
    same([p["unit"] for p in data["profiles"]], ["bytes", "none"] * 2, "units")
    check({"name": "inl", "file": "a.h", "line": 5} in frames, "an inlined frame")
    for one in data["profiles"]:
        same(len(one["samples"]), len(one["weights"]), "weights")
        same(sum(one["weights"]), one["endValue"] - one["startValue"], "the end")
        check(all(0 <= i < len(frames) for sample in one["samples"] for i in sample), "frames")


@test
def dh_view_sees_the_truth_in_dhat_files():
    view = pathlib.Path("/usr/libexec/valgrind/dh_view.html")
    if not view.exists():
        raise Skipped("no dh_view.html of Valgrind")
    path = export("x.dhat.json")
    with browser() as page:
        page.open(view.as_uri())
        page.choose_file("input[type=file]", path)
        page.wait("document.body.innerText.includes('t-end:')")
        text = page.value("document.body.innerText")
    root = text[text.index("PP 1/1"):]
    for line, bytes_key, count_key in (("Total", "allocated_bytes", "allocated_count"),
                                       ("At t-end", "live_bytes", "live_count")):
        match = re.search(line + r": +([\d,]+) bytes .* in ([\d,]+) blocks", root)
        same([int(n.replace(",", "")) for n in match.groups()],
             [total[bytes_key], total[count_key]], line)
    check(f"At t-gmax: {total['allocated_bytes']:,} bytes" in root, "all of it was there once")
    check("(a.h:5)" in text or "leaf_alloc (a.c:30)" in text, "lines")


@test
def dhat_files_keep_the_rules_that_no_consumer_checks():
    for arguments in ((), ("--between", "0.25s", "0.5s"), ("--at", "0.3s")):
        data = json.loads(export("y.dhat.json", *arguments).read_text())
        table = data["ftbl"]
        same(len(table), len(set(table)), "frames, each once")
        check(0 <= data["tg"] <= data["te"], "the moment of the peak")
        for point in data["pps"]:
            check(max(point["gb"], point["eb"]) <= point["tb"], f"bytes: {point}")
            check(point["gb"] <= point["mb"] <= point["tb"], f"most: {point}")
            check(max(point["gbk"], point["ebk"], point["mbk"]) <= point["tbk"], f"{point}")
            check(all(0 < i < len(table) for i in point["fs"]), "frames")


@test
def the_devtools_of_chromium_see_the_truth_in_heapprofiles():
    for metric, key in ONE_METRIC:
        text = export("x.heapprofile", "--metric", metric).read_text()
        with browser("--remote-debugging-port=0") as page:
            port = page.folder / "DevToolsActivePort"
            while not port.exists():
                time.sleep(0.1)
            page.open(f"http://127.0.0.1:{port.read_text().split()[0]}/devtools/inspector.html")
            got = page.value(
                "(async () => {"
                " const { HeapProfileView } = await import('./panels/profiler/profiler.js');"
                " const model = new HeapProfileView.SamplingHeapProfileModel("
                f"JSON.parse({json.dumps(text)}), 0, Number.MAX_VALUE, null);"
                " return JSON.stringify([model.total,"
                " model.root.children.map(c => [c.functionName, c.total])]); })()")
        same(json.loads(got), [total[key], [[f"made ({pid})", truth[pid][key]]
                                            for pid in ("4711", "4720")]], metric)


@test
def nodes_and_samples_of_heapprofiles_say_the_same():
    data = json.loads(export("x.heapprofile").read_text())
    nodes, left = {}, [data["head"]]
    while left:
        node = left.pop()
        check(node["id"] not in nodes, "an id twice")
        nodes[node["id"]] = node
        left += node["children"]
    same(sum(node["selfSize"] for node in nodes.values()), total["live_bytes"], "nodes")
    same(sum(sample["size"] for sample in data["samples"]), total["live_bytes"], "samples")
    for sample in data["samples"]:
        same(sample["size"], nodes[sample["nodeId"]]["selfSize"], "a node's samples")


@test
def trace_processor_reads_collapsed_stacks_too():
    rows, = trace_processor(export("x.collapsed"),
                            "select sum(value) from __intrinsic_aggregate_sample")
    same(rows, [[total["live_bytes"]]], "collapsed")
    rows, = trace_processor(export("x.collapsed", "--metric", "pinned"),
                            "select sum(value) from __intrinsic_aggregate_sample")
    same(rows, [[total["pinned_bytes"]]], "pinned")


# --- tables and pictures -------------------------------------------------------------------------


@test
def csv_files_have_the_truth_and_intervals_that_hold_their_estimates():
    with export("x.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    for metric in ("live", "allocated"):
        for unit in ("bytes", "count"):
            column = f"{metric}_{unit}"
            same(sum(int(row[column]) for row in rows), total[column], column)
            for row in rows:
                low, high = int(row[column + "_low"] or 0), float(row[column + "_high"] or "inf")
                check(low <= int(row[column]) <= high, f"{column} of {row}")
    by_thread = sum(int(row["live_bytes"]) for row in rows if row["thread"] == "worker")
    same(by_thread, truth["4711/4712"]["live_bytes"], "a thread")
    by_kind = sum(int(row["live_bytes"]) for row in rows if row["kind"] == "pool: Node")
    same(by_kind, truth["pool: Node"]["live_bytes"], "a type")
    check(any(row["function"] == 'odd;name <&" {x}' for row in rows), "a name with quotes")


@test
def csv_files_have_pinned_memory_with_its_own_bounds():
    with export("x.csv", "--metric", "pinned").open(newline="") as file:
        rows = list(csv.DictReader(file))
    same([name for name in rows[0] if name.startswith("pinned")],
         ["pinned_samples", "pinned_bytes", "pinned_bytes_low", "pinned_bytes_high"], "columns")
    same(sum(int(row["pinned_bytes"]) for row in rows), total["pinned_bytes"], "pinned")
    same(sum(int(row["allocated_bytes"]) for row in rows), total["allocated_bytes"], "beside it")
    for row in rows:  # a stack of which the look chose no block has no upper end
        same(row["pinned_bytes_high"] == "", row["pinned_samples"] == "0", f"an end of {row}")
    name = "big_quarter"
    row, = (row for row in rows if name in row["stack"])
    same(int(row["pinned_bytes"]), truth[name]["pinned_bytes"], name)
    check(int(row["pinned_bytes_low"]) < int(row["pinned_bytes"]) < int(row["pinned_bytes_high"]), row)
    data = json.loads(run(GEIGER, "report", profile, "--metric", "pinned", "--by", "stack", "--json"))
    interval, = (row["self"] for row in data["rows"] if any(f["function"] == name for f in row["stack"]))
    same([row["pinned_bytes_low"], row["pinned_bytes_high"]],
         [f"{interval['low']:.0f}", f"{interval['high']:.0f}"], "the interval of a report")


@test
def speedscope_has_pinned_bytes_and_no_count_of_them():
    data = json.loads(export("x.speedscope.json", "--metric", "pinned").read_text())
    same([p["name"] for p in data["profiles"]],
         ["pinned (bytes)", "allocated (bytes)", "allocated (allocations)"], "profiles")
    same(sum(data["profiles"][0]["weights"]), total["pinned_bytes"], "pinned")


@test
def boxes_of_flame_graphs_are_as_wide_as_their_bytes():
    space = "{http://www.w3.org/2000/svg}"
    for metric, key in ONE_METRIC:
        root = xml.etree.ElementTree.parse(export("x.svg", "--metric", metric)).getroot()
        boxes = {}
        for group in root.iter(space + "g"):
            title, rect = group.find(space + "title").text, group.find(space + "rect")
            name, size = re.match(r"(.*): [\d.]+ \w+, .*\((\d+) bytes\), 95 %: .* to ", title).groups()
            box = int(size), *(float(rect.get(k)) for k in ("x", "y", "width"))
            boxes.setdefault(name, []).append(box)
        whole = boxes["all"][0]
        same(whole[0], total[key], metric)
        for name, same_name in boxes.items():
            for size, x, y, width in same_name:
                check(abs(width - size / whole[0] * whole[3]) < 0.02, f"the width of {name}")
                check(whole[1] - 0.02 <= x and x + width <= whole[1] + whole[3] + 0.02, name)
        by_row = {}
        for same_name in boxes.values():
            for _, x, y, width in same_name:
                by_row.setdefault(y, []).append((x, width))
        for row in by_row.values():
            row.sort()
            check(all(a[0] + a[1] <= b[0] + 0.02 for a, b in zip(row, row[1:])), "boxes overlap")
        check(sum(size for size, *_ in boxes["big_quarter"]) == truth["big_quarter"][key], "a box")


# --- a program that was recorded -----------------------------------------------------------------

def record(folder, program, interval):
    folder.mkdir()
    run(GEIGER, "record", "--seed", "1", "--interval", interval, "-o", folder / "x.geiger", "--", program,
        env={**os.environ, "XDG_RUNTIME_DIR": str(folder), "XDG_CACHE_HOME": str(folder)})
    return folder / "x.geiger"


# Bytes of known_program, live and allocated, by function.
KNOWN = {"keep_small": (128000, 128000), "keep_big": (3000000, 3000000), "drop": (0, 512000)}


@test
def programs_that_look_names_up_find_those_of_a_recorded_program():
    if "KNOWN_PROGRAM" not in os.environ:
        raise Skipped("this build cannot record")
    go_environment()
    program, folder = os.environ["KNOWN_PROGRAM"], scratch / "recorded"
    recorded = record(folder, program, "1")
    heap, gperf = folder / "x.heap", folder / "x.gperf"
    for path in (heap, gperf):
        run(GEIGER, "export", recorded, "-o", path)
    for index, which in (("inuse_space", 0), ("alloc_space", 1)):
        for reader, path in ((need("jeprof"), heap), (need("google-pprof"), gperf)):
            out = run(reader, "--text", "--show_bytes", "--lines", f"--{index}", program, path)
            for function, sizes in KNOWN.items():
                found = re.findall(rf"(\d+) +[\d.]+% {function} \S*known_program\.c:\d+", out)
                same(sum(map(int, found)), sizes[which], f"{reader} {index} of {function}: {out}")
        for pprof in pprof_programs():
            if pprof[1:] == ["tool", "pprof"]:
                continue  # Go's own looks up no names of C
            out = run(*pprof, "-top", "-unit=B", f"-sample_index={index}", program, gperf)
            for function, sizes in KNOWN.items():
                if sizes[which] > 0:
                    check(re.search(rf" {sizes[which]}B +[\d.]+% +{function}$", out, re.M), out)


@test
def jeprof_scales_what_was_sampled_to_our_estimates():
    if "KNOWN_PROGRAM" not in os.environ:
        raise Skipped("this build cannot record")
    folder = scratch / "sampled"
    recorded = record(folder, os.environ["KNOWN_PROGRAM"], "4KiB")
    heap, table = folder / "x.heap", folder / "x.csv"
    for path in (heap, table):
        run(GEIGER, "export", recorded, "-o", path)
    check(heap.read_text().startswith("heap_v2/4096\n"), "the sampling interval in the head")
    with table.open(newline="") as file:
        rows = list(csv.DictReader(file))
    # Each stack has blocks of one size, so its count is that of its samples. Only bytes are
    # rounded, and each stack has at least 64 of them.
    for index, column in (("inuse_space", "live_bytes"), ("alloc_space", "allocated_bytes"),
                          ("inuse_objects", "live_count"), ("alloc_objects", "allocated_count")):
        wanted = sum(int(row[column]) for row in rows)
        got = perl_pprof(need("jeprof"), heap, index)[0]
        check(abs(got - wanted) <= 0.01 * wanted, f"{index}: {got}, not {wanted}")


@test
def intervals_of_a_recorded_program_hold_its_estimates():
    if "KNOWN_PROGRAM" not in os.environ:
        raise Skipped("this build cannot record")
    folder = scratch / "intervals"
    recorded = record(folder, os.environ["KNOWN_PROGRAM"], "4KiB")
    pprof, firefox = folder / "x.pb.gz", folder / "x.json"
    run(GEIGER, "export", recorded, "--format", "pprof", "-o", pprof)
    run(GEIGER, "export", recorded, "--format", "firefox", "-o", firefox)

    fields = {}
    for number, value in varints(gzip.decompress(pprof.read_bytes())):
        fields.setdefault(number, []).append(value)
    strings = [value.decode() for value in fields[6]]
    held = 0
    for sample in fields[2]:
        parts = list(varints(sample))
        live = packed(dict(parts)[2])[3]
        labels = [dict(varints(value)) for number, value in parts if number == 3]
        numbers = {strings[label[1]]: label.get(3, 0) for label in labels}
        if live > 0:
            check(numbers["inuse_space_low"] <= live <= numbers["inuse_space_high"],
                  f"pprof: {numbers}, {live}")
            held += 1
    check(held > 0, "a sample that is live")

    markers = [marker for thread in json.loads(firefox.read_text())["threads"]
               for marker in thread["markers"]["data"]]
    check(markers, "markers")
    for marker in markers:
        check(marker["low"] <= marker["estimate"] <= marker["high"], f"firefox: {marker}")


# --- the command ---------------------------------------------------------------------------------


def fails(status, text, *arguments):
    result = subprocess.run([GEIGER, "export", *map(str, arguments)], capture_output=True, text=True)
    same(result.returncode, status, f"exit status of {arguments}")
    check(text in result.stderr, f"{arguments}: {result.stderr}")


@test
def wrong_use_is_told_and_leaves_no_file():
    folder = scratch / "wrong"
    folder.mkdir()
    out = folder / "x.heap"
    fails(2, "no profile was given")
    fails(2, "no format was given", profile)
    fails(2, "Did you mean 'firefox'", profile, "--format", "firefix")
    fails(2, "cannot hold freed memory", profile, "-o", out, "--metric", "freed")
    for name in ("heap", "gperf", "pftrace", "profile.json", "dhat.json"):
        fails(2, "cannot hold pinned memory", profile, "-o", folder / f"x.{name}", "--metric", "pinned")
    fails(2, "only at the moments of looks", profile, "-o", folder / "x.csv", "-m", "pinned", "--at", "0.5s")
    fails(2, "no process 1", profile, "-o", out, "--process", "1")
    fails(2, "the profile itself", profile, "--format", "csv", "-o", profile)
    fails(1, "No such file", folder / "none.geiger", "-o", out)
    fails(1, "No such file", profile, "-o", folder / "none" / "x.csv")
    same(list(folder.iterdir()), [], "files")


@test
def a_file_is_replaced_as_a_whole_and_through_a_link():
    folder = scratch / "place"
    folder.mkdir()
    (folder / "old.csv").write_text("old")
    (folder / "link.csv").symlink_to("old.csv")
    run(GEIGER, "export", profile, "-o", folder / "link.csv")
    check((folder / "link.csv").is_symlink(), "the link stays")
    check((folder / "old.csv").read_text().startswith("pid,"), "the file it means is the new one")
    same(sorted(f.name for f in folder.iterdir()), ["link.csv", "old.csv"], "nothing is left beside")
    same(run(GEIGER, "export", profile, "--format", "csv").splitlines(),
         (folder / "old.csv").read_text().splitlines(), "standard output")


@test
def every_metric_goes_out_in_the_formats_that_take_it():
    for metric in ("freed", "temporary", "peak"):
        stacks = read_collapsed(export("m.collapsed", "--metric", metric))
        root = xml.etree.ElementTree.parse(export("m.svg", "--metric", metric)).getroot()
        with export("m.csv", "--metric", metric).open(newline="") as file:
            table = sum(int(row[f"{metric}_bytes"]) for row in csv.DictReader(file))
        same(sum(stacks.values()), table, metric)
        check(root is not None, metric)
        if metric == "freed":
            same(table, total["allocated_bytes"] - total["live_bytes"], metric)
        if metric == "peak":
            same(table, total["allocated_bytes"], metric)


def main():
    skipped = failed = ran = 0
    for function in tests:
        global failures
        failures = 0
        if len(sys.argv) > 1 and function.__name__ not in sys.argv[1:]:
            continue
        ran += 1
        try:
            function()
        except Skipped as why:
            skipped += 1
            print(f"skipped - {function.__name__}: {why}")
            continue
        except Exception as error:  # the other tests still run
            failures += 1
            print(f"{type(error).__name__}: {error}")
        failed += failures > 0
        print(f"{'FAILED' if failures else 'ok'} - {function.__name__}", flush=True)
    shutil.rmtree(scratch)
    return 1 if failed or ran == 0 else 77 if skipped == ran else 0


sys.exit(main())
