#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares live and allocated managed memory with what .NET's runtime itself counts.

    proof_dotnet.py RUNS [--whole]      of each program below

GEIGER, DOTNET_RUNTIME: geiger, and script/dotnet_runtime.  Each run writes a trace from its first
object on, with samples, collections, and the runtime's statistics of each generation; free space in
a generation is no live memory.  geiger imports the trace and estimates what was live when the
collection ended.

Bounds: with --whole, at least 94 % of the 95 % intervals hold.  Collections of one run share their
samples, so a few runs say little about that; without --whole, all intervals at 99.9999 % hold.

A background collection stops the program at its end, and reports each object that is not free at
that moment.  It is compared with their sum: the runtime's statistics count the youngest generation
of some earlier moment.  A collection that begins as one in the background may become a blocking
one; its history says so.

With --whole, allocated memory is compared by type.  If both keywords of object allocation are on,
the runtime reports each object with its address, type and size (GCSampledObjectAllocationHigh).
The truth is the sum of these objects, with three corrections:

- A sample has the size that the object takes, which is a multiple of 8 bytes.  The reports have
  the size without this padding, so it is added.
- Literal texts and other objects that are never freed lie outside of the collected heap.  The
  runtime reports them as objects, and does not sample them.  Each collection reports the ranges of
  the heap: an object outside of those of the next collection does not count.
- The runtime does not report the first object of each type and thread.  If such an object is
  sampled, or if no collection follows, its sample gets another type here, before geiger reads the
  trace.

Types of less than LEAST_BYTES are not compared, because many runs do not sample them at all; a type
that is compared, and not sampled, counts as one whose interval does not hold.  The errors of each
type must also be on average 0, in units of the standard deviation that follows from its objects.

With --whole, the processor's time of `geiger attach --only dotnet` to a busy server is measured,
from its start to the end of the profile, for each thousand samples.  It includes the names of all
methods.

Collections of one run share most of their samples, and there may be a thousand of the youngest
generation.  So FEW_YOUNG of these are compared in each run, evenly spread; all others are.
"""

import json
import math
import os
import shutil
import struct
import subprocess
import sys
import threading
import time

from sentences import check, in_scratch, skip
from varint import varint

GEIGER = os.environ["GEIGER"]
RUNS, WHOLE = int(sys.argv[1]), "--whole" in sys.argv
CONFIDENCE = "0.95" if WHOLE else "0.999999"
GC_START, GC_END, SURVIVED, RANGE, HEAP_HISTORY, HISTORY = 1, 2, 21, 23, 204, 205
BACKGROUND = 1
FEW_YOUNG = 40
BIAS_MOST = 3.5  # standard errors of a mean
OBJECT, SAMPLED = 20, 303
INTERVAL_BYTES = 102400
LEAST_BYTES = 5 * INTERVAL_BYTES  # of a type: less than 1 of 100 runs has no sample of it
REQUESTS = 40
SERVED_SECONDS, ATTACHED_SECONDS = 6, 20
COST_MOST = 0.02  # of a processor, for 1000 samples a second
LIMIT = 300


# --- the trace --------------------------------------------------------------------------------


class Event:
    """An event of the runtime; at: where its payload is in the file."""

    def __init__(self, kind, when, thread, at, payload):
        self.kind, self.when, self.thread, self.at, self.payload = kind, when, thread, at, payload


def events_of(block, at_file):
    """The compressed events of a block, whose kinds are numbers of metadata."""
    at = struct.unpack_from("<H", block)[0]
    kind = length = ticks = thread = 0
    while at < len(block):
        flags = block[at]
        at += 1
        if flags & 1:
            kind, at = varint(block, at)
        for _ in range(3 if flags & 2 else 0):
            at = varint(block, at)[1]
        if flags & 4:
            thread, at = varint(block, at)
        if flags & 8:
            at = varint(block, at)[1]
        delta, at = varint(block, at)
        ticks = (ticks + delta) % 2**64
        at += 16 * (bool(flags & 16) + bool(flags & 32))
        if flags & 128:
            length, at = varint(block, at)
        yield Event(kind, ticks, thread, at_file + at, block[at:at + length])
        at += length


def read_trace(path, kinds):
    """The runtime's events of these kinds in a trace, by time in ns."""
    with open(path, "rb") as file:
        data = file.read()
    at, start, ids, found = 12 + struct.unpack_from("<I", data, 8)[0], 0, {}, []
    while data[at] == 5:
        length = struct.unpack_from("<I", data, at + 11)[0]
        name = data[at + 15:at + 15 + length]
        at += 16 + length
        if name == b"Trace":
            start = struct.unpack_from("<q", data, at + 16)[0]
            at += 49
            continue
        size = struct.unpack_from("<I", data, at)[0]
        at = (at + 4 + 3) & ~3
        block, at_block = data[at:at + size], at
        at += size + 1
        for event in events_of(block, at_block) if name in (b"MetadataBlock", b"EventBlock") else ():
            if name == b"EventBlock":
                event.kind = ids.get(event.kind)
                event.when -= start
                if event.kind in kinds:
                    found.append(event)
                continue
            provider = event.payload[4:].split(b"\0\0\0", maxsplit=1)[0] + b"\0"
            if provider == "Microsoft-Windows-DotNETRuntime".encode("utf-16le"):
                ids[struct.unpack_from("<I", event.payload)[0]] = \
                    struct.unpack_from("<I", event.payload, 4 + len(provider) + 2)[0]
    return sorted(found, key=lambda event: event.when)


class Collection:
    """A collection, as its events describe it."""

    def __init__(self, payload):
        self.number, self.generation, _, how = struct.unpack_from("<IIII", payload)
        self.may_be_background = self.is_background = how == BACKGROUND
        self.when = self.reported = self.live = self.survived = 0

    @property
    def kind(self):
        if self.is_background:
            return "background"
        return f"generation {self.generation}" + (", begun in the background" if self.may_be_background else "")

    def take(self, event):
        kind, payload = event.kind, event.payload
        if kind == SURVIVED:
            count = struct.unpack_from("<I", payload, 4)[0]
            self.survived += sum(struct.unpack_from("<QQ", payload, 10 + 16 * i)[1] for i in range(count))
            self.reported = event.when
        elif kind == HISTORY and self.may_be_background:
            self.is_background = bool(struct.unpack_from("<I", payload, 24)[0] & 1)
        elif kind == HEAP_HISTORY:
            head = 2 + 6 * 8 + 6 * 4 + 8
            count = struct.unpack_from("<I", payload, head)[0]
            # A row has size, free list and free objects before, then the same afterwards.
            rows = [struct.unpack_from("<10Q", payload, head + 4 + 80 * i) for i in range(count)]
            self.live = sum(row[3] - row[4] - row[5] for row in rows)

    def end(self, when):
        self.when = self.reported if self.is_background else when
        if self.is_background:
            self.live = self.survived


def collections(path):
    """Returns the collections that are to be compared."""
    found, running = [], []
    for event in read_trace(path, (GC_START, GC_END, SURVIVED, HEAP_HISTORY, HISTORY)):
        if event.kind == GC_START:
            running.append(Collection(event.payload))
        elif event.kind == GC_END:
            number = struct.unpack_from("<I", event.payload)[0]
            ended = [one for one in running if one.number == number]
            running = [one for one in running if one.number != number]
            for one in ended:
                one.end(event.when)
            found += ended
        elif running:
            running[-1].take(event)
    young = [one for one in found if one.kind == "generation 0"]
    kept = set(young[::max(1, len(young) // FEW_YOUNG)])
    # The next one after a full collection would show objects that the full one ended wrongly.
    kept |= {after for before, after in zip(found, found[1:]) if before.generation == 2}
    return [one for one in found if one.generation > 0 or one in kept]


class Truth:
    """The bytes of a type, and the variance of an estimate of them from random samples."""

    def __init__(self):
        self.bytes = self.variance = 0

    def add(self, size):
        chance = 1 - math.exp(-size / INTERVAL_BYTES)
        self.bytes += size
        self.variance += size * size * (1 - chance) / chance

    def join(self, other):
        self.bytes += other.bytes
        self.variance += other.variance


def objects_in_the_heap(events):
    """Of each object that was reported before the last collection: is it in the collected heap?"""
    judged, before, since, ranges = {}, [], [], []

    def judge():
        for event in before:
            address = struct.unpack_from("<Q", event.payload)[0]
            judged[event] = any(base <= address < base + size for base, size in ranges)

    for event in events:
        if event.kind == OBJECT:
            since.append(event)
        elif event.kind == RANGE:
            _, base, _, reserved = struct.unpack_from("<BQQQ", event.payload)
            ranges.append((base, reserved))
        elif event.kind == GC_START:
            if ranges:
                judge()
                before, ranges = [], []
            before, since = before + since, []
    if ranges:
        judge()
    return judged


def cut_types(path):
    """
    Changes the types of samples whose objects are not in the truth.

    Returns the truth of each type's number, and the number of each other sample's type by its time.
    """
    events = read_trace(path, (GC_START, RANGE, OBJECT, SAMPLED))
    judged, truths, samples, types = objects_in_the_heap(events), {}, {}, {}
    for event in events:
        if event.kind == SAMPLED:
            number = struct.unpack_from("<Q", event.payload, 6)[0]
            address = struct.unpack_from("<Q", event.payload, len(event.payload) - 24)[0]
            samples[event.thread, address, number] = event
        elif event.kind == OBJECT and event in judged:
            address, number, _, size = struct.unpack_from("<QQIQ", event.payload)
            if judged[event]:
                truths.setdefault(number, Truth()).add((size + 7) & ~7)
                # The object is sampled first, and then reported by the same thread.
                sample = samples.pop((event.thread, address, number), None)
                if sample is not None:
                    types[sample.when] = number
    with open(path, "r+b") as file:
        for event in events:
            if event.kind == SAMPLED and event.when not in types:
                file.seek(event.at + 14)
                file.write("~".encode("utf-16le"))
    return truths, types


# --- runs ---------------------------------------------------------------------------------------


def environment(trace, **settings):
    return {**os.environ, "HOME": os.getcwd(), "AZURE_MCP_COLLECT_TELEMETRY": "false", "DOTNET_EnableEventPipe": "1",
            "DOTNET_EventPipeOutputPath": trace, "DOTNET_EventPipeRundown": "0",
            "DOTNET_EventPipeConfig": "Microsoft-Windows-DotNETRuntime:0x80000400001:4", **settings}


def run_command(program, trace):
    subprocess.run([program, "tools", "list"], stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL, check=True,
                   timeout=LIMIT, env=environment(trace, DOTNET_GCgen0size="80000"))


def send(server, message):
    server.stdin.write(json.dumps(message) + "\n")
    server.stdin.flush()


def begin_to_ask(server):
    send(server, {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": {"name": "proof", "version": "1"}}})
    server.stdout.readline()
    send(server, {"jsonrpc": "2.0", "method": "notifications/initialized"})


def ask(server, number):
    """Returns the answer; "": the server has ended."""
    send(server, {"jsonrpc": "2.0", "id": number, "method": "tools/list"})
    return server.stdout.readline()


def ask_on_and_on(server, stop):
    begin_to_ask(server)
    number = 1
    while not stop.is_set() and ask(server, number):
        number += 1


def run_server(program, trace, are_types=False):
    """
    Little memory makes the runtime collect all generations, also in the background.  are_types: so
    many requests, and a report of each object.
    """
    settings = ({"DOTNET_EventPipeConfig": "Microsoft-Windows-DotNETRuntime:0x80002600001:4",
                 "DOTNET_EventPipeEnableStackwalk": "0", "DOTNET_EventPipeCircularMB": "512",
                 "DOTNET_GCgen0size": "200000"} if are_types
                else {"DOTNET_GCgen0size": "200000", "DOTNET_GCHeapHardLimit": "1800000"})
    with subprocess.Popen([program, "server", "start"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                          stderr=subprocess.DEVNULL, env=environment(trace, **settings)) as server:
        begin_to_ask(server)
        end, number = time.monotonic() + SERVED_SECONDS, 0
        while number < REQUESTS if are_types else time.monotonic() < end:
            number += 1
            if not ask(server, number):
                break
        server.stdin.close()
        server.stdout.read()


def estimate(profile, when):
    got = subprocess.run([GEIGER, "report", "--json", "--limit", "1", "--confidence", CONFIDENCE, "--at",
                          f"{when / 1e9:.9f}s", profile], capture_output=True, text=True, check=True)
    return json.loads(got.stdout)["totals"]["live_bytes"]


def compare(name, run, program):
    """Runs a program; returns its collections as (kind, holds)."""
    results, problems = [], []
    for _ in range(RUNS):
        run(program, "t.nettrace")
        subprocess.run([GEIGER, "import", "-q", "t.nettrace", "-o", "t.geiger"], check=True)
        for one in collections("t.nettrace"):
            figure = estimate("t.geiger", one.when)
            holds = figure["low"] <= one.live <= figure["high"]
            results.append((one.kind, holds))
            if not holds and not WHOLE:
                problems.append(f"{one.kind} {one.number}: {one.live} live, "
                                f"{figure['low']:.0f} to {figure['high']:.0f} estimated")
    check(f"live_memory_of_{name}_is_what_the_runtime_counts", *problems,
          None if results else "there was no collection")
    return results


def ask_profile(question):
    got = subprocess.run([GEIGER, "sql", "--csv", "t.geiger", question], capture_output=True, text=True, check=True)
    return got.stdout.splitlines()[1:]


def truths_by_name(truths, types):
    """Several types of the runtime may have one name."""
    names, joined = {}, {}
    for row in ask_profile("select t_alloc, type.name from sample join type on type.id = sample.type"):
        when, name = row.split(",", maxsplit=1)
        if int(when) in types:
            names.setdefault(types[int(when)], name.strip('"'))
    for number, truth in truths.items():
        joined.setdefault(names.get(number, f"[{number:x}]"), Truth()).join(truth)
    return joined


def compare_types(program):
    """Returns for each type and run whether its interval holds, and the errors by type."""
    results, errors, problems = [], {}, []
    for _ in range(2 * RUNS):
        run_server(program, "t.nettrace", are_types=True)
        truths, types = cut_types("t.nettrace")
        subprocess.run([GEIGER, "import", "-q", "t.nettrace", "-o", "t.geiger"], check=True)
        problems += [note for note in ask_profile("select text from note") if "dropped" in note]
        got = subprocess.run([GEIGER, "report", "--json", "--by", "type", "--metric", "allocated", "--limit", "10000",
                              "--confidence", CONFIDENCE, "t.geiger"], capture_output=True, text=True, check=True)
        figures = {row["type"]: row["self"] for row in json.loads(got.stdout)["rows"]}
        for name, truth in truths_by_name(truths, types).items():
            if truth.bytes < LEAST_BYTES:
                continue
            figure = figures.get(name, {"estimate": 0, "low": 0, "high": 0})
            holds = figure["low"] <= truth.bytes <= figure["high"]
            results.append(holds)
            errors.setdefault(name, []).append((figure["estimate"] - truth.bytes) / math.sqrt(truth.variance))
            if not holds:
                print(f"# {name}: {truth.bytes} bytes, {figure['low']:.0f} to {figure['high']:.0f} estimated")
    for name, found in errors.items():
        mean = sum(found) / len(found)
        if abs(mean) * math.sqrt(len(found)) > BIAS_MOST:
            problems.append(f"the errors of {name} are {mean:.2f} on average")
    check("types_are_large_enough_to_be_compared", None if results else "none is")
    check("estimates_by_type_have_no_bias", *problems)
    return results, errors


def measure_cost(program):
    """Returns geiger's seconds of processor time, and the samples, of an attach."""
    stop = threading.Event()
    env = {**os.environ, "HOME": os.getcwd(), "AZURE_MCP_COLLECT_TELEMETRY": "false"}
    with subprocess.Popen([program, "server", "start"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                          stderr=subprocess.DEVNULL, env=env) as server:
        serve = threading.Thread(target=ask_on_and_on, args=(server, stop))
        serve.start()
        time.sleep(SERVED_SECONDS)
        geiger = subprocess.Popen([GEIGER, "attach", "-q", "--only", "dotnet", "--max-time", str(ATTACHED_SECONDS),
                                   "-o", "cost.geiger", str(server.pid)])
        _, status, usage = os.wait4(geiger.pid, 0)
        geiger.returncode = os.waitstatus_to_exitcode(status)
        stop.set()
        serve.join()
        server.stdin.close()
        server.stdout.read()
    got = subprocess.run([GEIGER, "sql", "--csv", "cost.geiger", "select count(*) from sample"], capture_output=True,
                         text=True, check=True)
    check("an_attach_to_a_busy_server_succeeds", None if geiger.returncode == 0 else f"status {geiger.returncode}")
    return usage.ru_utime + usage.ru_stime, int(got.stdout.split()[1])


def main():
    got = subprocess.run([os.environ["DOTNET_RUNTIME"]], capture_output=True, text=True, check=False)
    if got.returncode != 0 or shutil.which(GEIGER) is None:
        skip("managed_memory_is_what_the_runtime_counts", got.stderr.strip())
        return
    program = got.stdout.strip()
    results = compare("a_command", run_command, program) + compare("a_server", run_server, program)
    compared = [holds for _, holds in results]
    share = sum(compared) / len(compared)
    if WHOLE:
        types, errors = compare_types(program)
        types_share = sum(types) / max(1, len(types))
        seconds, samples = measure_cost(program)
        cost = seconds * 1000 / samples
        check("a_thousand_samples_a_second_cost_little", None if cost <= COST_MOST else f"{cost:.2%}")
        check("the_intervals_hold", None if share >= 0.94 else f"{share:.1%}",
              None if types_share >= 0.94 else f"by type: {types_share:.1%}")
    print("summary")
    print(f"Live managed memory at the ends of {len(compared)} collections of {2 * RUNS} runs of .NET's runtime: "
          f"{share:.1%} of the intervals at {CONFIDENCE} hold.\n")
    print("| collection | compared | hold |\n|-|-|-|")
    for kind in sorted({kind for kind, _ in results}):
        mine = [holds for one, holds in results if one == kind]
        print(f"| {kind} | {len(mine)} | {sum(mine)} |")
    if WHOLE:
        print(f"\nAllocated memory of the types with {LEAST_BYTES} bytes and more, in {2 * RUNS} runs of a server: "
              f"{types_share:.1%} of the {len(types)} intervals at {CONFIDENCE} hold.\n")
        print("| type | runs | mean error, in standard deviations | its standard error |\n|-|-|-|-|")
        for name, found in sorted(errors.items()):
            print(f"| `{name}` | {len(found)} | {sum(found) / len(found):+.2f} | {len(found) ** -0.5:.2f} |")
        print(f"\n`geiger attach --only dotnet` for {ATTACHED_SECONDS} s, {samples} samples: 1000 samples a second take "
              f"{cost:.2%} of a processor.")


if __name__ == "__main__":
    sys.exit(in_scratch(main))
