#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A profile that is exported and imported again has the totals and the rows that it had.

`FORMATS` says what each format cannot carry; everything else must be equal, row by row.  Formats
that are written only are parsed here, and their sums are held to the report's.  A merged profile is
held to the profiles that it is made of.

GEIGER, GOLDEN_PROFILE, ROUND_TRIP_PROFILE: programs.
"""

import csv
import functools
import gzip
import io
import json
import os
import re
import subprocess
import sys

from otlp_checker import varint as read_varint
from sentences import check, in_scratch

GEIGER = os.environ["GEIGER"]
PIDS = (4711, 4712, 4713)


def geiger(*arguments):
    return subprocess.run([GEIGER, *arguments], check=True, capture_output=True, text=True).stdout


@functools.lru_cache(maxsize=None)
def report(path, metric, *more):
    """Rows by stack, unless `more` asks for others."""
    by = () if any(word.startswith("--by") for word in more) else ("--by", "stack")
    return json.loads(geiger("report", path, *by, "--limit", "0", "--metric", metric, "--json", *more))


# --- what a format leaves of a stack: (function, file, line, module), innermost first ---


def as_it_is(place):
    return place


def collapsed_name(place):
    name = "".join(":" if c == ";" else " " if c < " " else c for c in place[0])
    return (name, None, None, "[unknown]")


def without_module(place):
    return (*place[:3], "[unknown]")


class Format:
    """The kinds of data that a format can carry."""

    def __init__(self, metrics=("live",), counts=False, intervals=False, place=as_it_is, share=0.0,
                 processes="frames", threads=False, labels=False):
        self.metrics = metrics  # that one file has, side by side
        self.counts = counts  # numbers of allocations
        self.intervals = intervals
        self.place = place  # what is left of a place
        self.share = share  # by which an estimate may be off, beside rounding
        self.processes = processes  # "kept", or "frames": outermost frames where there are several
        self.threads = threads
        self.labels = labels


BOTH = ("live", "allocated")
FORMATS = {
    # Two processes of one pid are one: nothing else tells them apart.  Lost: heaps and types, which
    # become labels.
    "pprof": Format(BOTH, True, True, processes="kept", threads=True, labels=True),
    # As pprof.
    "otlp": Format(BOTH, True, True, processes="kept", threads=True, labels=True),
    "otlp_json": Format(BOTH, True, True, processes="kept", threads=True, labels=True),
    # Lost: threads, labels, heaps and types.
    "perfetto": Format(BOTH, True, True, processes="kept"),
    # Lost: all but names and bytes; ';' and control characters in names.
    "collapsed": Format(place=collapsed_name),
    # Lost: modules, threads, numbers of allocations.
    "heapprofile": Format(place=without_module),
}


def stack_of(row):
    return [(place["function"], place["file"], place["line"], place["module"]) for place in row["stack"]]


PROCESS = re.compile(r"made \((\d+)\)$")


def rows_of(before, form):
    """Sums of bytes, of as many rows, by stack as the format has it."""
    sums = {}
    for row in before["rows"]:
        stack = [form.place(place) if form else place for place in stack_of(row)]
        add(sums, tuple(stack), row["self"]["estimate"] or 0)
    return sums


def add(sums, key, value):
    old, count = sums.get(key, (0, 0))
    sums[key] = (old + value, count + 1)


def differ(wanted, found, share=0.0, slack=1):
    """Whole numbers: each row may be off by a half, and one more is carried.  Rows that round to 0
    may lack."""
    for key in set(wanted) | set(found):
        truth, count = wanted.get(key, (0, 0))
        value = found.get(key, (0, 0))[0]
        if abs(value - truth) > 2 * count + slack + share * truth:
            return f"{key}: {value} is not {truth}"
    return None


def is_near(new, old, share=1e-3):
    return abs(new - old) <= 2 + share * abs(old)


def hold_interval(what, new, old):
    """Sizes are known no more: intervals may be wider by a little, never narrower by more than
    rounding."""
    if "interval" in new:
        return f"{what}: no interval, where {old} was"
    if new["low"] > old["low"] * 1.001 + 2 or (old["high"] is not None and new["high"] is not None and
                                               new["high"] < old["high"] * 0.999 - 2):
        return f"{what}: {new} is narrower than {old}"
    return None


def hold_totals(name, form, old, new, metric):
    units = ("bytes", "count") if form.counts else ("bytes",)
    for unit in units:
        key = f"{metric}_{unit}"
        before, after = old["totals"][key], new["totals"][key]
        rows = old["row_count"] + 2
        if abs(after["estimate"] - before["estimate"]) > rows + (1e-9 + form.share) * before["estimate"]:
            return f"{name}: {key} {after['estimate']} is not {before['estimate']}"
        if form.intervals and unit == "bytes":
            problem = hold_interval(f"{name}: {key}", after, before)
            if problem:
                return problem
        # A number without its error must not look exact.
        if not form.intervals and (after["low"] is not None or after["high"] is not None):
            return f"{name}: {key} looks exact: {after}"
    return None


def hold_row_intervals(old, new):
    """Each row holds its own estimate.  A row of very different sizes is wider than it was, as the
    file has no sizes, but never as wide as if nothing were known.
    """
    ends = {}
    for row in old["rows"]:
        ends.setdefault(tuple(stack_of(row)), []).append(row["self"])
    for row in new["rows"]:
        of = ends.get(tuple(stack_of(row)))
        if of is None or len(of) != 1 or row["self"]["high"] is None or of[0]["high"] is None:
            continue
        width, wanted = row["self"]["high"] - row["self"]["low"], of[0]["high"] - of[0]["low"]
        if not row["self"]["low"] <= of[0]["estimate"] + 2 or row["self"]["high"] < of[0]["estimate"] - 2:
            return f"{row['function']}: {row['self']} does not hold {of[0]}"
        if width > 2.5 * wanted + 4 and width > 0.5 * of[0]["estimate"] + 4:
            return f"{row['function']}: {row['self']} is far wider than {of[0]}"
    return None


def by_value(of):
    sums = {}
    for row in of["rows"]:
        add(sums, row.get("function") or row.get("name"), row["self"]["estimate"] or 0)
    return sums


def hold_processes(form, path, made, metric):
    """Rows of each process, where the format has processes; as one tree of frames where it has
    not."""
    if form.processes == "kept":
        for pid in PIDS:
            old, new = (report(of, metric, "--process", str(pid)) for of in (made, path))
            problem = differ(rows_of(old, form), rows_of(new, None), form.share)
            if problem:
                return f"process {pid}, {metric}: {problem}"
        return None
    wanted, found = {}, {}
    for pid in PIDS:
        for key, value in rows_of(report(made, metric, "--process", str(pid)), form).items():
            add(wanted, (pid, key), value[0])
    for key, value in rows_of(report(path, metric), None).items():
        match = PROCESS.match(key[-1][0])
        if match is None:
            return f"{key}: its outermost frame is no process"
        add(found, (int(match.group(1)), key[:-1]), value[0])
    return differ(wanted, found, form.share)


def hold_peak(form, path, made):
    """The file's live memory is that of the peak of all; its processes are those of the other
    metrics."""
    found = {}
    for key, value in rows_of(report(path, "live"), None).items():
        add(found, key[:-1] if form.processes == "frames" else key, value[0])
    return differ(rows_of(report(made, "peak"), form), found, form.share)


def round_trip(name, made, interval):
    form, path = FORMATS[name], f"{name}.geiger"
    problem = None
    for export in ("live", "allocated", "peak") if len(form.metrics) == 1 else ("live", "peak"):
        geiger("export", made, "--format", name, "--metric", export, "-o", f"x.{name}")
        option = ("--metric", "allocated") if export == "allocated" and len(form.metrics) == 1 else ()
        geiger("import", "--quiet", "--ignore-files", *option, f"x.{name}", "-o", path)
        report.cache_clear()
        geiger("check", path)
        if export == "peak":
            problem = problem or hold_peak(form, path, made)
            continue
        for metric in (export,) if len(form.metrics) == 1 else form.metrics:
            old, new = report(made, metric), report(path, metric)
            problem = problem or hold_processes(form, path, made, metric) or hold_totals(name, form, old, new, metric)
            if form.intervals:
                problem = problem or hold_row_intervals(old, new)
        if form.threads and export == "live":
            old, new = (report(of, "live", "--by", "thread") for of in (made, path))
            problem = problem or differ(by_value(old), by_value(new))
        if form.labels and export == "live":
            for label in ("host", "version"):
                old, new = (report(of, "live", "--by-label", label) for of in (made, path))
                problem = problem or differ(by_value(old), by_value(new))
    check(f"{name}_keeps_every_row_at_an_interval_of_{interval}", problem)


def one_process(name):
    """Without frames of processes a line may begin with any name."""
    form = FORMATS[name]
    geiger("export", "made.geiger", "--format", name, "--process", "4712", "-o", f"x.{name}")
    geiger("import", "--quiet", "--ignore-files", f"x.{name}", "-o", "alone.geiger")
    report.cache_clear()
    wanted = rows_of(report("made.geiger", "live", "--process", "4712"), form)
    if name == "collapsed":  # a line that begins with '#' is a comment
        wanted = {tuple((" " + place[0] if place[0][0] == "#" else place[0], *place[1:]) for place in key): value
                  for key, value in wanted.items()}
    check(f"{name}_keeps_every_row_of_one_process", differ(wanted, rows_of(report("alone.geiger", "live"), None)))


# --- formats of addresses ---


def by_address(of, is_import):
    """By module and address, processes added up.  The innermost address is not that of a call for
    the tools that read these files, so importers find it one byte lower.  Modules are named by
    their file's last part.
    """
    sums = {}
    for row in of["rows"]:
        stack = []
        for at, place in enumerate(row["stack"]):
            name, plus, number = place["function"].rpartition("0x")
            address = int(number, 16) if plus else 0
            stack.append((name, address - (at == 0 and not is_import and address > 0)))
        add(sums, tuple(stack), row["self"]["estimate"] or 0)
    return sums


def without_stack(sums):
    """A block without a stack has one address, 0, in these files, as a block of an unknown stack
    has."""
    return {key: value for key, value in sums.items() if any(address > 0 for _, address in key)}


def round_trip_addresses(name, share, interval):
    geiger("export", "nameless.geiger", "--format", name, "-o", f"x.{name}")
    geiger("import", "--quiet", "--ignore-files", f"x.{name}", "-o", f"{name}.geiger")
    geiger("check", f"{name}.geiger")
    report.cache_clear()
    problem = None
    for metric in BOTH:
        old, new = report("nameless.geiger", metric), report(f"{name}.geiger", metric)
        problem = problem or differ(without_stack(by_address(old, False)), without_stack(by_address(new, True)), share, 8)
        before, after = (of["totals"][f"{metric}_bytes"]["estimate"] for of in (old, new))
        if abs(before - after) > 200 + share * before:
            problem = problem or f"{metric}: {after} is not {before}"
    if name == "heap_v2":
        old, new = (report(of, "live", "--by", "thread") for of in ("nameless.geiger", f"{name}.geiger"))
        values = [sorted(value for value, _ in by_value(of).values() if value > 0) for of in (old, new)]
        if len(values[0]) != len(values[1]) or not all(abs(a - b) <= 50 + 2 * share * a for a, b in zip(*values)):
            problem = problem or f"threads: {values[1]} are not {values[0]}"
    check(f"{name}_keeps_every_stack_of_addresses_at_an_interval_of_{interval}", problem)


# --- formats that are written only ---


def export(name):
    return geiger("export", "made.geiger", "--format", name, "-o", "-")


def sums_of_csv():
    rows = list(csv.DictReader(io.StringIO(export("csv"), newline="")))
    cells = [cell for row in rows for cell in row.values() if not re.fullmatch("-?[0-9]*", cell)]
    formula = [cell for cell in cells if cell[:1] in "=+-@"]
    if formula:
        raise ValueError(f"a spreadsheet would run {formula[0]}")
    return {unit: sum(int(row[unit]) for row in rows)
            for unit in ("live_bytes", "live_count", "allocated_bytes", "allocated_count")}


def sums_of_dhat():
    points = json.loads(export("dhat"))["pps"]
    return {unit: sum(point[key] for point in points)
            for unit, key in (("live_bytes", "eb"), ("live_count", "ebk"), ("allocated_bytes", "tb"),
                              ("allocated_count", "tbk"))}


def sums_of_speedscope():
    profiles = json.loads(export("speedscope"))["profiles"]
    units = ("live_bytes", "live_count", "allocated_bytes", "allocated_count")
    return dict(zip(units, (sum(profile["weights"]) for profile in profiles)))


def sums_of_firefox():
    live = allocated = 0
    for process in [json.loads(export("firefox"))]:
        for thread in process["threads"]:
            weights = thread.get("nativeAllocations", {}).get("weight", [])
            live += sum(weights)
            allocated += sum(weight for weight in weights if weight > 0)
    return {"live_bytes": live, "allocated_bytes": allocated}


def written_only():
    old = report("made.geiger", "live")
    for name, sums in (("csv", sums_of_csv), ("dhat", sums_of_dhat), ("speedscope", sums_of_speedscope),
                       ("firefox", sums_of_firefox)):
        problem = None
        for unit, value in sums().items():
            wanted = old["totals"][unit]["estimate"]
            if not is_near(value, wanted, 1e-9) and abs(value - wanted) > 100:
                problem = problem or f"{unit}: {value} is not {wanted}"
        check(f"{name}_adds_up_to_the_totals_of_the_report", problem)


# --- traces that others write ---


def varint(value):
    encoded = b""
    while value >= 128:
        encoded += bytes((value & 127 | 128,))
        value >>= 7
    return encoded + bytes((value,))


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def packet(*fields):
    return field(1, b"".join(field(number, value) for number, value in ((10, 1), *fields)))


def interned(first):
    """Two callstacks of one name, at two addresses, and one with recursion; numbers from `first`
    on."""
    frames = b"".join(field(6, field(1, first + k) + field(2, 1) + field(3, 1) + field(4, 0x1000 + 16 * k))
                      for k in range(2))
    stacks = b"".join(field(7, field(1, first + k) + b"".join(field(2, first + frame) for frame in of))
                      for k, of in enumerate(((0,), (1,), (1, 1))))
    texts = field(5, field(1, 1) + field(2, b"grow")) + field(17, field(1, 1) + field(2, b"app"))
    return texts + field(19, field(1, 1) + field(7, 1)) + frames + stacks


def dump(first, values):
    samples = b"".join(field(2, field(1, first + k) + field(2, allocated) + field(3, freed) + field(5, 9) + field(6, 1))
                       for k, (allocated, freed) in values)
    return field(5, field(1, 42) + samples + field(11, b"libc.malloc") + field(12, 4096))


def traces():
    """A callstack is its number until the sequence begins anew; then it is its frames."""
    with open("made.pftrace", "wb") as file:
        file.write(packet((13, 1), (12, interned(1))))
        file.write(packet((13, 2), (37, dump(1, enumerate(((1000, 0), (2000, 0), (4000, 0)))))))
        file.write(packet((13, 2), (37, dump(1, [(0, (10000, 2000))]))))  # the others did not change
        file.write(packet((13, 1), (12, interned(7))))
        file.write(packet((13, 2), (37, dump(7, [(1, (20000, 5000))]))))  # nor now
    geiger("import", "--quiet", "--ignore-files", "made.pftrace", "-o", "trace.geiger")
    live, allocated = report("trace.geiger", "live"), report("trace.geiger", "allocated")
    wanted = {"live": 8000 + 15000 + 4000, "allocated": 10000 + 20000 + 4000}
    problem = None
    for metric, of in (("live", live), ("allocated", allocated)):
        if of["totals"][f"{metric}_bytes"]["estimate"] != wanted[metric]:
            problem = f"{metric}: {of['totals']} is not {wanted[metric]}"
    depths = sorted((len(row["stack"]), row["self"]["estimate"]) for row in live["rows"])
    if sum(value for depth, value in depths if depth == 1) != 23000 or (2, 4000) not in depths:
        problem = problem or f"{depths}"
    check("callstacks_of_a_trace_are_told_by_number_and_then_by_address", problem)


# --- merge ---


def merged(out, *profiles):
    geiger("merge", "--quiet", *profiles, "-o", out)
    geiger("check", out)
    return out


def whole_rows(of):
    """Frames without a build-id are the same by function, file and line: rows of equal names are
    one row."""
    sums = {}
    for row in of["rows"]:
        place = (row.get("function"), row.get("file"), row.get("line"), row.get("module"), row.get("name"))
        for what in ("self", "total"):
            add(sums, (what, place, json.dumps(row.get("stack"))), row[what]["estimate"] or 0)
        add(sums, ("samples", place, json.dumps(row.get("stack"))), row["samples"])
    return sums


def hold_equal(one, other, share=1e-6):
    for metric in BOTH:
        old, new = report(one, metric), report(other, metric)
        for key in (f"{metric}_bytes", f"{metric}_count"):
            for end in ("estimate", "low", "high"):
                if not is_near(new["totals"][key][end], old["totals"][key][end], share):
                    return f"{key}: {new['totals'][key]} is not {old['totals'][key]}"
        for more in ((), ("--by", "function"), ("--by", "line"), ("--by", "module"), ("--by-label", "host")):
            problem = differ(*(whole_rows(report(of, metric, *more)) for of in (one, other)))
            if problem:
                return f"{metric} {more}: {problem}"
    return None


def merges():
    report.cache_clear()
    merged("one.geiger", "made.geiger")
    check("a_merge_of_one_profile_is_that_profile", hold_equal("made.geiger", "one.geiger"))
    merged("ab.geiger", "made.geiger", "golden.geiger")
    merged("bc.geiger", "golden.geiger", "exact.geiger")
    merged("all.geiger", "made.geiger", "golden.geiger", "exact.geiger")
    merged("left.geiger", "ab.geiger", "exact.geiger")
    merged("right.geiger", "made.geiger", "bc.geiger")
    check("merging_in_steps_is_merging_at_once",
          hold_equal("all.geiger", "left.geiger") or hold_equal("all.geiger", "right.geiger"))
    lost_looks()


def lost_looks():
    """The looks of golden.geiger are in no sum, and commands on the sum say so."""
    for path, wanted in (("one.geiger", 0), ("ab.geiger", 1), ("all.geiger", 1), ("left.geiger", 1),
                         ("right.geiger", 1)):
        notes = [note for note in report(path, "live")["notes"] if "because it was merged" in note]
        check(f"a_note_says_that_looks_are_lost: {path}", None if len(notes) == wanted else f"{notes}")
    for arguments in (("why", "all.geiger"), ("report", "all.geiger", "--metric", "pinned"),
                      ("tree", "all.geiger", "--metric", "pinned"),
                      ("export", "all.geiger", "--metric", "pinned", "--format", "csv"),
                      ("diff", "golden.geiger", "all.geiger", "--metric", "pinned")):
        result = subprocess.run([GEIGER, *arguments], capture_output=True, text=True)
        is_right = result.returncode == 1 and "no look at memory, because it was merged" in result.stderr
        check(f"a_sum_has_no_looks: {arguments[0]}", None if is_right else f"{result.returncode} {result.stderr}")


# --- the golden profile: estimates of a program of some size ---


def golden(name, share):
    old = "golden.geiger"
    geiger("export", old, "--format", name, "-o", f"g.{name}")
    geiger("import", "--quiet", "--ignore-files", f"g.{name}", "-o", "back.geiger")
    report.cache_clear()
    problem = None
    for metric in FORMATS[name].metrics if name in FORMATS else BOTH:
        before, after = (report(of, metric)["totals"][f"{metric}_bytes"] for of in (old, "back.geiger"))
        if not is_near(after["estimate"], before["estimate"], share):
            problem = problem or f"{metric}: {after} is not {before}"
        if name in ("pprof", "otlp", "otlp_json", "perfetto", "heap_v2"):
            problem = problem or hold_interval(metric, after, before)
            if after["high"] - after["low"] > 1.1 * (before["high"] - before["low"]):
                problem = problem or f"{metric}: {after} is wider than {before}"
    check(f"{name}_keeps_the_intervals_of_totals", problem)


def nothing_is_left_in_a_file():
    """A file does not tell what each process left at its exit, so no bound of that is printed."""
    for name, said in (("made.geiger", True), ("back.geiger", False)):
        text = geiger("report", name)
        check(f"{name}_says_what_was_left: {said}", None if ("left at exit" in text) == said else text)


def message(number, body):
    return varint(number << 3 | 2) + varint(len(body)) + body


def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def number(field, value):
    return varint(field << 3) + varint(value)


def locations_in(data):
    """The locations of a pprof file, as bytes."""
    at, found = 0, []
    while at < len(data):
        key, at = read_varint(data, at)
        value, at = read_varint(data, at)
        if key & 7 == 2:
            at += value
            if key >> 3 == 4:
                found.append(data[at - value : at])
    return found


def neighbors():
    """Locations of two modules at the same and at neighboring addresses stay apart."""
    places = [(module, 0x1000 + at) for module in (1, 2) for at in range(64)]
    texts = ["", "space", "bytes", "/one.so", "/two.so"]
    wanted = {f"{texts[2 + module][1:]}+0x{address:x}" for module, address in places}
    file = message(1, number(1, 1) + number(2, 2))
    for module in (1, 2):
        file += message(3, number(1, module) + number(2, 0x100000 * module) + number(3, 0x100000 * module + 0x10000)
                        + number(5, 2 + module))
    for i, (module, address) in enumerate(places, 1):
        file += message(2, message(1, varint(i)) + message(2, varint(4096)))
        file += message(4, number(1, i) + number(2, module) + number(3, 0x100000 * module + address))
    for text in texts:
        file += message(6, text.encode())
    with open("neighbors.pb.gz", "wb") as out:
        out.write(gzip.compress(file))
    geiger("import", "neighbors.pb.gz", "-o", "neighbors.geiger")
    wrong = []
    for _ in range(4):  # the table of locations has another seed each time
        geiger("export", "neighbors.geiger", "-o", "again.pb.gz")
        geiger("export", "neighbors.geiger", "-o", "again.pftrace")
        with gzip.open("again.pb.gz") as exported:
            count = len(locations_in(exported.read()))
        with open("again.pftrace", "rb") as exported:
            found = {text.decode() for text in re.findall(rb"(?:one|two)\.so\+0x[0-9a-f]+", exported.read())}
        wrong += [f"pprof has {count} of {len(wanted)} locations"] if count != len(wanted) else []
        wrong += [f"perfetto lacks {len(wanted - found)} frames"] if found != wanted else []
    check("neighboring_addresses_of_two_modules_are_locations_of_their_own", *wrong)


def run():
    names = list(FORMATS)
    subprocess.run([os.environ["GOLDEN_PROFILE"], "golden.geiger"], check=True, capture_output=True)
    for interval in ("524288", "1"):
        for path, more in (("made.geiger", ()), ("nameless.geiger", ("nameless",))):
            if os.path.exists(path):
                os.remove(path)
            subprocess.run([os.environ["ROUND_TRIP_PROFILE"], path, interval, *more], check=True)
        report.cache_clear()
        for name in names:
            round_trip(name, "made.geiger", interval)
        # A record of few samples of different sizes is off by part of one of them, one of some
        # bytes by a few.
        round_trip_addresses("heap_v2", 0.5 if interval != "1" else 1e-9, interval)
        round_trip_addresses("gperftools", 0, interval)
        written_only()
    os.rename("made.geiger", "exact.geiger")
    subprocess.run([os.environ["ROUND_TRIP_PROFILE"], "made.geiger", "524288"], check=True)
    for name in names:
        one_process(name)
    traces()
    merges()
    neighbors()
    if "pprof" in names:
        geiger("export", "made.geiger", "--format", "pprof", "-o", "left.pb.gz")
        geiger("import", "--quiet", "--ignore-files", "left.pb.gz", "-o", "back.geiger")
        nothing_is_left_in_a_file()
    for name in names:
        golden(name, 1e-6)
    golden("heap_v2", 1e-2)
    golden("gperftools", 1e-6)


if __name__ == "__main__":
    sys.exit(in_scratch(run))
