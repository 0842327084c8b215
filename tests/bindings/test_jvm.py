#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_jvm.py PART COUNT - tests the adapter for Java VMs, with each JDK of this machine.

The VM's own counts are the truth: bytes by thread, and the class histogram after a collection.

  names      functions, files, lines and types; heaps; control
  truth      every allocation at an interval of 1; COUNT runs with intervals that hold the truth
  bias       the VMs before 25, and that no interval pretends otherwise
  live       the live set against the VM's histogram, COUNT runs
  collections  leaks are what survived the last full collection, with each collector
  same       output and exit status of real programs, with and without geiger
  kill       COUNT programs that are killed at any time
  attach     COUNT attaches to a program that works
  again      COUNT times three attaches to the same threads, with other intervals: right sums
  socket     the attach socket, VMs without it, and sockets that hold up their clients (COUNT 2: a
             minute longer)
  other      another agent has the VM's sampler before, between and after attaches
  jfr        recordings of the JDK's Flight Recorder, and some that are made as async-profiler does
  proof      all that have a count, with those of PROOF, and a summary for script/proof

GEIGER: the command.  JVM_ADAPTER: libgeiger-jvm.so.  OTHER_AGENT: the library of jvm/other_agent.c.
JDKS: folders of JDKs; by default those below /usr/lib/jvm.  CLASSES: what jvm/*.java gives; by
default the oldest JDK compiles it.
"""
import base64
import ctypes
import glob
import gzip
import json
import math
import os
import random
import re
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
import time

import jfr_writer

GEIGER, ADAPTER = os.environ["GEIGER"], os.environ["JVM_ADAPTER"]
CLASSES = os.environ.get("CLASSES", "classes")
HERE = os.path.dirname(os.path.realpath(__file__))
QUICK = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]  # a VM that starts with less work
SECONDS = 500  # the time limit of one program: for what hangs
PROOF = {"truth": 100, "bias": 1, "live": 30, "collections": 1, "same": 500, "kill": 200, "attach": 100, "again": 20, "socket": 2, "other": 1}
checked = failed = 0
figures = []  # of one part, for the summary


def check(sentence, holds, *values):
    global checked, failed
    print(f"{'ok' if holds else 'FAILED'} - {sentence}", *(values if not holds else ()), flush=True)
    checked += 1
    failed += not holds


def note(figure):
    """A figure beside the checks."""
    print(figure, flush=True)
    figures.append(figure)


class Jdk:
    def __init__(self, folder):
        with open(f"{folder}/release", encoding="utf-8") as text:
            self.release = int(re.search(r'JAVA_VERSION="(\d+)', text.read()).group(1))
        self.folder = folder
        self.java, self.javac = f"{folder}/bin/java", f"{folder}/bin/javac"
        self.work = [self.java, *QUICK, "-cp", CLASSES, "Work"]
        self.is_right = self.release >= 25
        self.name = f"jdk_{self.release}"


def find_jdks():
    found = {}
    for folder in os.environ.get("JDKS", "").split() or sorted(glob.glob("/usr/lib/jvm/*")):
        folder = os.path.realpath(folder)
        if os.path.exists(f"{folder}/bin/javac") and os.path.exists(f"{folder}/lib/server/libjvm.so") \
                and os.path.exists(f"{folder}/release"):
            jdk = Jdk(folder)
            if jdk.release >= 11:
                found.setdefault(jdk.release, jdk)
    return sorted(found.values(), key=lambda jdk: jdk.release)


def run(command, **more):
    return subprocess.run(command, capture_output=True, timeout=SECONDS, check=False, **more)


def record(profile, command, interval="64k", **more):
    return run([GEIGER, "record", "-q", "-i", interval, "-o", profile, "--", *command], **more)


def report(profile, *options):
    done = run([GEIGER, "report", "--json", *options, profile])
    if done.returncode != 0:
        raise RuntimeError(done.stderr.decode())
    return json.loads(done.stdout)


def rows(profile, *options):
    """By function or type, without a limit."""
    return {row.get("function") or row.get("type"): row for row in report(profile, "-n", "100000", *options)["rows"]}


def from_start(jdk, *words):
    """A program with the adapter from the first object on."""
    return [jdk.java, f"-agentpath:{ADAPTER}", "-cp", CLASSES, *words]


def compile_java(jdk, folder, sources):
    done = run([jdk.javac, "-J-XX:+UseSerialGC", "-J-XX:TieredStopAtLevel=1", "-nowarn", "-d", folder, *sources])
    if done.returncode != 0:
        raise RuntimeError(done.stderr.decode())


def holds(figure, truth):
    return figure["low"] <= truth and (figure["high"] is None or truth <= figure["high"])


def line_of(text):
    with open(f"{HERE}/jvm/Work.java", encoding="utf-8") as source:
        return 1 + next(i for i, line in enumerate(source) if text in line)


# --- names ---


def names(jdk, _count):
    done = record("a.geiger", [*jdk.work, "loop", "20", "500000"])
    check(f"{jdk.name}_joins_from_inside_without_a_word", done.returncode == 0 and done.stderr == b"", done)
    lines = [row for row in report("a.geiger", "--metric", "allocated", "--by", "line")["rows"]
             if row["function"] == "Work.deep" and row["self"]["estimate"] > 0]
    check(f"{jdk.name}_functions_have_files_and_lines",
          [(row["file"], row["line"]) for row in lines] == [("Work.java", line_of("sink = new byte[24]"))], lines)
    stack = run([GEIGER, "report", "--metric", "allocated", "--by", "stack", "-n", "1", "a.geiger"]).stdout.decode()
    check(f"{jdk.name}_stacks_are_whole", stack.count("Work.deep") == 21 and "Work.main" in stack, stack)
    types = rows("a.geiger", "--metric", "allocated", "--by", "type")
    check(f"{jdk.name}_types_are_classes", "byte[]" in types and types["byte[]"]["samples"] > 200, list(types))
    kinds = run([GEIGER, "sql", "a.geiger", "select distinct heap from v_sample where type is not null"]).stdout.decode()
    check(f"{jdk.name}_has_a_heap_of_its_own", kinds.split()[-1] == "java", kinds)

    done = record("b.geiger", [*jdk.work, "unload", "150"], "8k")
    found = rows("b.geiger", "--metric", "allocated")
    check(f"{jdk.name}_classes_that_unload_keep_their_names", "Passing.make" in found and
          found["Passing.make"]["samples"] > 1000 and "[unknown Java method]" not in found, list(found)[:20])
    left_out = record("c.geiger", [*jdk.work, "loop", "1", "100000"], env={**os.environ, "GEIGER_JVM": "0"})
    check(f"{jdk.name}_is_left_out_on_request", left_out.returncode == 0 and "Work.deep" not in rows("c.geiger", "--metric", "allocated"))
    exact = run([GEIGER, "record", "-q", "--exact", "-o", "e.geiger", "--", *jdk.work, "loop", "1", "100000"])
    seen = [name for name in rows("e.geiger", "--metric", "allocated") if "sampled_internal" in name or name == "Work.deep"]
    check(f"{jdk.name}_exact_counts_are_of_malloc_alone", exact.returncode == 0 and not seen, exact, seen)
    native_stacks(jdk)
    doors(jdk)
    control(jdk)


def native_stacks(jdk):
    """Java's compiled frames between native ones, by the options that the report names."""
    record("n.geiger", [jdk.java, "-XX:MaxDirectMemorySize=1g", "-cp", CLASSES, "Work", "buffers", "20000"], "256k")
    text = run([GEIGER, "report", "--metric", "allocated", "n.geiger"]).stdout.decode()
    check(f"{jdk.name}_the_report_names_the_options_that_give_more", "-XX:+PreserveFramePointer" in text and "-XX:+DumpPerfMapAtExit" in text, text)
    options = ["-XX:+PreserveFramePointer", "-XX:+UnlockDiagnosticVMOptions", "-XX:+DumpPerfMapAtExit"]
    done = record("n.geiger", [jdk.java, "-Xbatch", "-XX:MaxDirectMemorySize=1g", *options, "-cp", CLASSES, "Work", "buffers", "20000"], "256k")
    with sqlite3.connect("n.geiger") as profile:
        maps = [path for (path,) in profile.execute("select path from module where path like '/tmp/perf-%.map'")]
    for path in maps:
        os.unlink(path)
    stack = run([GEIGER, "report", "--metric", "allocated", "--by", "stack", "-n", "5", "n.geiger"]).stdout.decode()
    at = [stack.find(name) for name in ("os::malloc", "java.nio.DirectByteBuffer.<init>", "Work.wanted", "JavaMain")]
    check(f"{jdk.name}_java_frames_stand_between_native_ones", done.returncode == 0 and -1 not in at and at == sorted(at), done, at, stack)


def doors(jdk):
    """-agentpath: without geiger record."""
    where = {**os.environ, "GEIGER_DIR": os.path.join(os.getcwd(), "regions")}
    os.makedirs("regions", exist_ok=True)
    words = [*jdk.work[1:], "loop", "1", "1000"]
    done = run([jdk.java, f"-agentpath:{ADAPTER}=interval=64k", *words], env=where)
    check(f"{jdk.name}_takes_an_interval_with_a_unit", done.returncode == 0 and done.stderr == b"", done)
    done = run([jdk.java, f"-agentpath:{ADAPTER}=interval=64q", *words], env=where)
    check(f"{jdk.name}_a_wrong_option_does_not_end_the_program", done.returncode == 0 and done.stdout != b"" and b"64k" in done.stderr, done)
    done = record("f.geiger", [jdk.java, f"-agentpath:{ADAPTER}=interval=16k", *words[:-1], "100000"])
    text = run([GEIGER, "sql", "--csv", "f.geiger", "select distinct interval from v_sample where heap = 'java'"]).stdout.decode()
    check(f"{jdk.name}_the_interval_of_geiger_record_wins", done.stderr == b"" and text.split()[1:] == ["65536"], done, text)
    check(f"{jdk.name}_and_a_note_says_so", any("interval= of -agentpath" in note for note in report("f.geiger")["notes"]))
    done = run([jdk.java, f"-agentpath:{ADAPTER}", *words], env={**where, "GEIGER_DIR": "/proc/none"})
    check(f"{jdk.name}_without_a_region_the_program_runs", done.returncode == 0 and done.stdout != b"", done)


def control(jdk):
    program = subprocess.Popen([GEIGER, "record", "-q", "-i", "64k", "-o", "d.geiger", "--", jdk.java, *QUICK, "-Xmx64m",
                                "-cp", CLASSES, "Work", "forever"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        program.stdout.readline()
        pid = subprocess.run(["pgrep", "-P", str(program.pid)], capture_output=True, check=True).stdout.split()[0].decode()
        wait_for_more(pid, 0)
        run([GEIGER, "control", pid, "interval", "16k"])
        wait_for_more(pid, sample_count(pid) + 10000)
        run([GEIGER, "control", pid, "off"])
        time.sleep(0.5)
        before = sample_count(pid)
        time.sleep(0.5)
        check(f"{jdk.name}_is_silent_when_off", before == sample_count(pid), before, sample_count(pid))
        run([GEIGER, "control", pid, "on"])
        check(f"{jdk.name}_goes_on_when_on", wait_for_more(pid, before))
        os.kill(int(pid), signal.SIGKILL)
    finally:
        program.communicate(timeout=SECONDS)
    text = run([GEIGER, "sql", "--csv", "d.geiger", "select interval, count(*) from v_sample where heap = 'java' group by 1"]).stdout.decode()
    counts = {float(line.split(",")[0]): int(line.split(",")[1]) for line in text.splitlines()[1:]}
    check(f"{jdk.name}_takes_a_new_interval", counts.get(65536.0, 0) > 10 and counts.get(16384.0, 0) > 1000, counts)
    # From 25 on, a thread that exists already may have passed it, so its first event is no sample.
    check(f"{jdk.name}_knows_what_the_first_sample_point_was_drawn_with", counts.get(524288.0, 0) in range(0 if jdk.is_right else 1, 40), counts)


def wait_for_more(pid, count, while_it_runs=None):
    until = time.monotonic() + 100
    while sample_count(pid) <= count and time.monotonic() < until and (while_it_runs is None or while_it_runs.poll() is None):
        time.sleep(0.2)
    return sample_count(pid) > count


def sample_count(pid):
    """Samples of the function that allocates, as the region counts them so far."""
    done = run([GEIGER, "report", "--json", "--metric", "allocated", "-n", "100000", pid])
    if done.returncode != 0:
        return 0  # there is no region yet
    return sum(row["samples"] for row in json.loads(done.stdout)["rows"] if row["function"] == "Work.deep")


# --- truth ---


def changes(jdk):
    """The interval changes again and again under several threads."""
    threads, count = 4, 15000000
    program = subprocess.Popen([GEIGER, "record", "-q", "-i", "64k", "-o", "g.geiger", "--", jdk.java, *QUICK, "-Xmx64m",
                                "-cp", CLASSES, "Work", "parallel", str(threads), str(count)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    program.stdout.readline()
    pid = subprocess.run(["pgrep", "-P", str(program.pid)], capture_output=True, check=True).stdout.split()[0].decode()
    made = 0
    while program.poll() is None:
        made += run([GEIGER, "control", pid, "interval", ("16k", "256k")[made % 2]]).returncode == 0
    program.communicate(timeout=SECONDS)
    text = run([GEIGER, "sql", "--csv", "g.geiger", "select interval, count(*) from v_sample where heap = 'java' and size = 40 group by 1"])
    seen = {int(line.split(",")[0]): int(line.split(",")[1]) for line in text.stdout.decode().splitlines()[1:]}
    bytes_, estimate = 40 * threads * count, rows("g.geiger", "--metric", "allocated")["Work.deep"]["self"]["estimate"]
    error = math.sqrt(sum(samples * interval * interval for interval, samples in seen.items()))
    note(f"{made} changes of the interval: {(estimate - bytes_) / error:+.2f} standard errors")
    check(f"{jdk.name}_sums_are_right_while_the_interval_changes", made > 0 and len(seen) > 1 and abs(estimate - bytes_) < 4.5 * error,
          made, seen, estimate, bytes_)


SITES = 40


def make_sites(seed):
    """Sites{seed}.java, a program of SITES methods, each of which allocates arrays of one size."""
    choose = random.Random(seed)
    methods, calls, truth = [], [], {}
    for i in range(SITES):
        size = int(16 * 2 ** (choose.random() * 12))
        bytes_each = (16 + size + 7) // 8 * 8
        count = max(1, int(2 ** (choose.random() * 6) * 60000 / bytes_each))
        truth[f"Sites{seed}.site{i}"] = (count * 20 * bytes_each, count * 20)
        methods.append(f"static void site{i}() {{ for (int i = 0; i < {count}; i++) sink = new byte[{size}]; }}")
        calls.append(f"site{i}();")
    with open(f"Sites{seed}.java", "w", encoding="utf-8") as source:
        source.write(f"public class Sites{seed} {{ static volatile Object sink; " + "\n".join(methods) +
                     "\npublic static void main(String[] a) { for (int r = 0; r < 20; r++) {" + " ".join(calls) + "} } }\n")
    return truth


def truth(jdk, count):
    done = record("a.geiger", from_start(jdk, *QUICK, "Work", "loop", "3", "20000"), "1")
    counted, row = int(done.stdout), rows("a.geiger", "--metric", "allocated")["Work.deep"]
    check(f"{jdk.name}_sees_each_object_at_an_interval_of_1", row["samples"] == 20000 and row["self"]["estimate"] == 800000, row)
    check(f"{jdk.name}_agrees_with_the_vm_s_count_of_the_thread", 0 <= counted - 800000 < 4096, counted)
    changes(jdk)
    tried = held = 0
    sums = {"estimate": 0.0, "truth": 0.0, "variance": 0.0}
    made = {seed: make_sites(seed) for seed in range(1, count + 1)}
    if not os.path.exists("sites"):
        compile_java(jdk, "sites", [f"Sites{seed}.java" for seed in made])
    for seed, expected in made.items():
        record("a.geiger", [jdk.java, f"-agentpath:{ADAPTER}", *QUICK, "-cp", "sites", f"Sites{seed}"])
        found = rows("a.geiger", "--metric", "allocated")
        for site, (size, _number) in expected.items():
            row = found.get(site)
            each = size / _number
            p = -math.expm1(-each / 65536)
            sums["truth"] += size
            sums["variance"] += _number * each * each * (1 - p) / p
            if row is None:
                continue
            sums["estimate"] += row["self"]["estimate"]
            if jdk.is_right:
                tried += 1
                held += holds(row["self"], size)
    # Streams of small objects alone are right in all VMs.
    z = (sums["estimate"] - sums["truth"]) / math.sqrt(sums["variance"])
    check(f"{jdk.name}_sums_are_right_within_4.5_standard_errors", abs(z) < 4.5, z, sums)
    note((f"{held} of {tried} intervals hold the truth; " if jdk.is_right else "") + f"the sum: {z:+.2f} standard errors")
    if jdk.is_right:
        # 94 % must hold; the binomial law allows fewer once in 10 000 times.
        least = 0.94 * tried - 3.7 * math.sqrt(0.94 * 0.06 * tried)
        check(f"{jdk.name}_intervals_hold_the_truth", held >= least, held, tried)
        if tried >= 2000:
            check(f"{jdk.name}_coverage_is_94_percent", held >= 0.94 * tried, held, tried)


# --- bias ---


def bias(jdk, _count):
    done = record("a.geiger", from_start(jdk, "-XX:+UseG1GC", "-Xmx1g", "Work", "mixed", "1500", "1048576", "4000"), "512k")
    seen = report("a.geiger", "--metric", "allocated", "-n", "100000")
    found = {row["function"]: row for row in seen["rows"]}
    expected = 1500 * 4000 * 96 / 524288
    small = found["Work.small"]
    share = small["samples"] / expected - 1
    note(f"small objects {share:+.1%}")
    if jdk.is_right:
        check(f"{jdk.name}_small_objects_between_arrays_are_right", abs(share) < 4.5 / math.sqrt(expected), share)
        check(f"{jdk.name}_has_intervals", holds(small["self"], 1500 * 4000 * 96), small)
        check(f"{jdk.name}_has_no_note", not any("JDK-8356372" in note for note in seen["notes"]), seen["notes"])
    else:
        check(f"{jdk.name}_small_objects_between_arrays_are_too_many", share > 0.15, share)
        check(f"{jdk.name}_has_no_interval", small["self"].get("low") is None and small["self"].get("high") is None, small)
        check(f"{jdk.name}_says_so", any("JDK-8356372" in note for note in seen["notes"]), seen["notes"])
        text = run([GEIGER, "report", "--metric", "allocated", "a.geiger"]).stdout.decode()
        line = next(line for line in text.splitlines() if "Work.small" in line)
        check(f"{jdk.name}_shows_none_as_text", "±" not in line and "(" not in line.split("%")[0], line)
    check(f"{jdk.name}_ends_as_it_does", done.returncode == 0 and done.stderr == b"", done)


# --- live ---


def live(jdk, count):
    tried = held = 0
    deviations = []
    for run_number in range(count):
        objects = 20000 + 1000 * run_number
        done = record("a.geiger", from_start(jdk, "-Xmx256m", "Work", "live", str(objects)), "16k")
        histogram = {line.split()[3]: int(line.split()[2]) for line in done.stdout.decode().splitlines() if "Work$" in line}
        found = rows("a.geiger", "--by", "type")
        size = histogram["Work$Kept"]
        row = found["Work$Kept"]
        each = size / objects
        p = -math.expm1(-each / 16384)
        deviations.append((row["self"]["estimate"] - size) / (each * math.sqrt(objects * (1 - p) / p)))
        dropped = found.get("Work$Dropped", {"samples": 0})["samples"]
        allocated = rows("a.geiger", "--by", "type", "--metric", "allocated")["Work$Dropped"]["samples"]
        check(f"{jdk.name}_what_the_collector_freed_is_gone", dropped == 0 and allocated > 50, dropped, allocated)
        if jdk.is_right:
            # Each of a few runs must hold the truth; such an interval fails once in 100 000 times.
            wide = row if count >= 30 else rows("a.geiger", "--by", "type", "--confidence", "0.99999")["Work$Kept"]
            tried += 1
            held += holds(wide["self"], size)
    mean = sum(deviations) / math.sqrt(count)
    note((f"{held} of {tried} intervals hold the histogram's bytes; " if jdk.is_right else "") + f"their sum: {mean:+.2f} standard errors")
    check(f"{jdk.name}_live_bytes_are_those_of_the_histogram", abs(mean) < 4.5, deviations)
    if jdk.is_right:
        check(f"{jdk.name}_live_intervals_hold_the_truth", held >= (0.94 * tried - 3.7 * math.sqrt(0.94 * 0.06 * tried) if count >= 30 else tried), held, tried)


# --- leaks ---


def leaks_reply(profile, *options):
    return json.loads(run([GEIGER, "leaks", "--json", "-n", "0", *options, profile]).stdout)


def page_leaks(profile):
    run([GEIGER, "html", "-o", "a.html", profile])
    with open("a.html", encoding="utf-8") as page:
        packed = re.search(r'id="geiger-data">([^<]*)<', page.read()).group(1)
    return json.loads(gzip.decompress(base64.b64decode(packed)))["leaks"]


def leaks(profile, *options):
    """The reply, and live samples by the functions of Work that allocated."""
    reply = leaks_reply(profile, *options)
    by_function = {}
    for row in reply["rows"]:
        names = [frame["function"] for frame in row["stack"] if frame["function"].startswith("Work.")]
        for name in names[:1]:
            by_function[name] = by_function.get(name, 0) + row["samples"]
    return reply.get("full_collections"), by_function


def deaths_are_proofs(name, jdk, collector):
    """No garbage is left that is older than a full collection which deaths alone prove.  The loop
    itself holds a few objects then, and on a busy machine it has few collections."""
    record("a.geiger", [jdk.java, f"-XX:+Use{collector}GC", "-Xmx256m", "-cp", CLASSES, "Work", "loop", "3", "40000000"], "64k")
    text = run([GEIGER, "sql", "--csv", "a.geiger", "select count(*), sum(t_free is null) from v_sample where heap = 'java' and size = 40 "
                "and t_alloc < (select max(time_ns) from event where kind = 'full_collection')"]).stdout.decode()
    older, left = (int(word or 0) for word in text.split()[-1].split(","))
    check(f"{name}_no_collection_is_claimed_that_left_older_garbage", older > 100 and left <= 4, text)


def collections(jdk, _count):
    """Leaks are what survived the last full collection, also if the program ends right then."""
    for collector in ("Serial", "Parallel", "G1", "Z", "Shenandoah"):
        name = f"{jdk.name}_{collector.lower()}"
        program = [jdk.java, f"-XX:+Use{collector}GC", "-Xmx512m", "-cp", CLASSES, "Work", "survive"]
        if run([*program[:3], "-version"]).returncode != 0:
            continue
        done = record("a.geiger", [*program, "1", "3000"], "8k")
        check(f"{name}_ends_as_it_does", (done.returncode, done.stdout, done.stderr) == (0, b"20000\n", b""), done)
        told, found = leaks("a.geiger")
        everything = leaks("a.geiger", "--uncollected")
        check(f"{name}_all_live_objects_on_request", everything[0] is None and everything[1]["Work.lateObjects"] > 100, everything)
        text = run([GEIGER, "leaks", "a.geiger"], env={**os.environ, "COLUMNS": "80"}).stdout.decode()
        # A collector that runs beside the program may keep a few of the 20000 once more.
        passing_most = 4 if collector in ("Z", "Shenandoah") else 0
        check(f"{name}_leaks_are_what_survived", found.get("Work.keepObjects", 0) > 1500 and
              found.get("Work.passingObjects", 0) <= passing_most and "Work.lateObjects" not in found, found)
        check(f"{name}_says_what_is_left_out", told["collected_processes"] == 1 and told["younger_samples"] > 100 and
              "survived the last full" in text and "Left out:" in text, told, text[:900])
        check(f"{name}_lines_fit", all(len(line) <= 80 for line in text.splitlines() if line.startswith("Java")), text)
        page = page_leaks("a.geiger")
        check(f"{name}_the_page_has_the_same", "survived the last full" in page["collections"] and
              math.isclose(page["live_bytes"]["estimate"], leaks_reply("a.geiger")["live_bytes"]["estimate"],
                           rel_tol=1e-6), page)
        events = run([GEIGER, "sql", "a.geiger", "select count(*) from event where kind = 'full_collection'"]).stdout.decode()
        check(f"{name}_the_profile_keeps_times", int(events.split()[-1]) >= 1, events)
        if collector in ("Z", "Shenandoah"):
            deaths_are_proofs(name, jdk, collector)
    generational = [jdk.java, "-XX:+UseShenandoahGC", "-XX:ShenandoahGCMode=generational", "-Xmx512m", "-cp", CLASSES, "Work"]
    if run([*generational[:4], "-version"]).returncode == 0:
        record("a.geiger", [*generational, "survive", "1", "3000"], "8k")
        told, found = leaks("a.geiger")
        text = run([GEIGER, "leaks", "a.geiger"], env={**os.environ, "COLUMNS": "80"}).stdout.decode()
        check(f"{jdk.name}_generational_shenandoah_says_that_no_full_collection_was_seen", told["collected_processes"] == 0 and
              found["Work.lateObjects"] > 100 and "GC.run" in text, told, text[:900])
    record("a.geiger", [*jdk.work[:-1], "-XX:-UsePerfData", "Work", "survive", "1", "3000"], "8k")
    check(f"{jdk.name}_without_its_counts_nothing_is_claimed", leaks("a.geiger")[0]["collected_processes"] == 0)


# --- same ---


def many_sources(number):
    os.makedirs("sources", exist_ok=True)
    for i in range(number):
        with open(f"sources/C{i}.java", "w", encoding="utf-8") as source:
            source.write(f"public class C{i} {{ int f{i}; int g(int x) {{ return x * {i} + C{(i + 1) % number}.h(x); }} "
                         f"static int h(int x) {{ java.util.List<String> l = java.util.List.of(\"a{i}\"); return x + l.size(); }} }}\n")
    return sorted(glob.glob("sources/*.java"))


def digest(folder):
    done = subprocess.run("find . -type f | sort | xargs sha256sum", shell=True, cwd=folder, capture_output=True, check=True)
    return done.stdout


def same(jdk, count):
    java = [jdk.java, "-cp", CLASSES, "Work"]
    quick = ["-J-XX:+UseSerialGC", "-J-XX:TieredStopAtLevel=1"] if count < 500 else []
    shell = [f"{jdk.folder}/bin/jshell", *quick, "-J-Djava.util.prefs.userRoot=.", "--execution", "local", "-"]
    programs = {"an_exception": (java + ["none"], {})}
    if count >= 500 or jdk.is_right:
        programs["jshell"] = (shell, {"input": b"int x = 6;\nx * 7\n/exit 3\n"})
        run(shell, input=programs["jshell"][1]["input"])  # which writes its preferences
    if count >= 500:
        programs.update({
            "tasks": (java + ["tasks", "10000"], {}),
            "threads": (java + ["threads", "2000"], {}),
            "server": (java + ["server", "400"], {}),
            "direct": (java + ["direct", "100"], {}),
            "unload": (java + ["unload", "60"], {}),
            "no_class": ([jdk.java, "-cp", CLASSES, "Missing"], {}),
            "version": ([jdk.java, "-version"], {}),
            "out_of_memory": ([jdk.java, "-Xmx64m", "-cp", CLASSES, "Work", "exhaust"], {}),
        })
    else:
        programs["several"] = (java + ["several", "10000", "400", "40", "100"], {})
    for collector in ("Serial", "Parallel", "G1", "Z", "Shenandoah", "Epsilon") if count >= 500 else ("Z",):
        options = [f"-XX:+Use{collector}GC"] + (["-XX:+UnlockExperimentalVMOptions", "-Xmx1g"] if collector == "Epsilon" else ["-Xmx256m"])
        options.sort(reverse=True)
        programs[f"collector_{collector}"] = ([jdk.java, *options, "-cp", CLASSES, "Work", "live", "20000"], {})
    for name, (command, more) in programs.items():
        without = run(command, **more)
        beside = record("s.geiger", command, "32k", **more)
        check(f"{jdk.name}_{name}_is_the_same", (without.returncode, without.stdout, without.stderr) ==
              (beside.returncode, beside.stdout, beside.stderr), without, beside)
    sources = many_sources(count)
    os.makedirs("without", exist_ok=True)
    os.makedirs("with", exist_ok=True)
    without = run([jdk.javac, *quick, "-d", "without", *sources])
    beside = record("s.geiger", [jdk.javac, *quick, "-d", "with", *sources])
    check(f"{jdk.name}_javac_of_{count}_files_is_the_same", (without.returncode, without.stdout, without.stderr) ==
          (beside.returncode, beside.stdout, beside.stderr) and digest("without") == digest("with"), without, beside)
    types = rows("s.geiger", "--metric", "allocated", "--by", "type")
    check(f"{jdk.name}_javac_has_java_objects", any(name.startswith("com.sun.tools.javac") for name in types if name), list(types)[:9])
    shutil.rmtree("without")
    shutil.rmtree("with")


# --- kill ---


def kill(jdk, count):
    choose = random.Random(jdk.release)
    wrong, with_objects, samples = [], 0, []
    for _ in range(count):
        profile = "k.geiger"
        program = subprocess.Popen([GEIGER, "record", "-q", "-i", "4k", "-o", profile, "--", *from_start(jdk, *QUICK, "-Xmx64m", "Work", "forever")],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        program.stdout.readline()
        pid = int(subprocess.run(["pgrep", "-P", str(program.pid)], capture_output=True, check=True).stdout.split()[0])
        time.sleep(choose.random() * 0.3)
        os.kill(pid, signal.SIGKILL)
        program.communicate(timeout=SECONDS)
        seen = report(profile, "--metric", "allocated")
        left = report(profile, "--metric", "live")
        deep = [row["samples"] for row in seen["rows"] if row["function"] == "Work.deep"]
        with_objects += len(deep) > 0
        samples += deep
        if left["selected_bytes"]["estimate"] > seen["selected_bytes"]["estimate"] \
                or sqlite3.connect(profile).execute("pragma integrity_check").fetchone() != ("ok",):
            wrong.append((seen["selected_bytes"], left["selected_bytes"]))
        os.unlink(profile)
    note(f"{count} kills: {count - len(wrong)} profiles add up, {with_objects} have Java objects, {min(samples, default=0)} to "
         f"{max(samples, default=0)} samples each")
    check(f"{jdk.name}_{count}_kills_leave_profiles_that_add_up", not wrong and with_objects == count, wrong, with_objects)


# --- attach ---


def attach(jdk, count):
    program = subprocess.Popen([jdk.java, "-Xmx64m", "-cp", CLASSES, "Work", "until"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
    program.stdout.readline()
    pid = str(program.pid)
    attached = with_objects = 0
    reasons = []
    began = time.monotonic()
    for _ in range(count):
        recorder = subprocess.Popen([GEIGER, "attach", "-q", "-i", "16k", "-o", "t.geiger", pid], stderr=subprocess.PIPE)
        # The recording ends when it has objects, however long the program waits for a processor.
        seen = wait_for_more(pid, 10, recorder)
        recorder.send_signal(signal.SIGINT)
        reasons.append(recorder.communicate(timeout=SECONDS)[1])
        attached += recorder.returncode == 0
        with_objects += seen and rows("t.geiger", "--metric", "allocated")["Work.deep"]["samples"] > 10
    seconds = time.monotonic() - began
    output, errors = program.communicate(timeout=SECONDS)
    note(f"{count} attaches: {attached} went well, {with_objects} saw Java objects, {seconds / count:.1f} s each; the program ended with "
         f"{program.returncode}, {output!r} on stdout and {errors!r} on stderr")
    check(f"{jdk.name}_{count}_attaches_leave_the_program_as_it_is", program.returncode == 5 and output == b"ended\n" and errors == b"",
          program.returncode, output, errors)
    check(f"{jdk.name}_attaches_see_java_objects", attached == count and with_objects == count, attached, with_objects, reasons[:3])
    os.environ["GEIGER_DIR"] = os.path.join(os.getcwd(), "attached")  # for the regions that stay
    os.makedirs("attached", exist_ok=True)
    older_buffers(jdk)
    several(jdk)
    del os.environ["GEIGER_DIR"]


def several(jdk):
    """An attach to several VMs tells the state of each."""
    name = f"jvm{os.getpid()}"
    os.symlink(jdk.java, name)
    programs = [subprocess.Popen([f"./{name}", *QUICK, "-cp", CLASSES, "Work", "until"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
                for _ in range(3)]
    for program in programs:
        program.stdout.readline()
    refused = run([f"{jdk.folder}/bin/jcmd", str(programs[2].pid), "JVMTI.agent_load", os.environ["OTHER_AGENT"], "take"])
    done = run([GEIGER, "attach", "--all", name])
    lines = {int(line.split()[4]): line for line in done.stderr.decode().splitlines() if "attached to process" in line}
    words = [lines.get(program.pid, "").rpartition(", ")[2] for program in programs]
    check(f"{jdk.name}_an_attach_to_several_tells_the_state_of_each", done.returncode == 0 and
          words == ["Java objects are shown"] * 2 + ["no Java objects are shown"], done, refused)
    for program in programs:
        run([GEIGER, "detach", str(program.pid)])
    again = run([GEIGER, "attach", "--only", "jvm", str(programs[0].pid)])
    check(f"{jdk.name}_a_detached_agent_is_named_where_its_adapter_cannot_begin", again.returncode == 1 and
          b"its agent was detached" in again.stderr and b"Attach without --only jvm" in again.stderr, again)
    for program in programs:
        program.communicate(timeout=SECONDS)
    os.unlink(name)


def older_buffers(jdk):
    """An attach does not see what a thread allocates in the buffer that it has, and says so."""
    program = subprocess.Popen([jdk.java, *QUICK, "-cp", CLASSES, "Work", "still"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def work(times=1, letter=b"x"):
        for _ in range(times):
            program.stdin.write(letter)
            program.stdin.flush()
            program.stdout.readline()

    def look():
        seen = report(str(program.pid), "--metric", "allocated", "-n", "100000")
        note = next((note for note in seen["notes"] if "ran at the attach" in note), "")
        return seen, {row["function"]: row for row in seen["rows"]}.get("Work.deep", {"samples": 0}), note

    program.stdout.readline()
    work()
    done = run([GEIGER, "attach", "-i", "1", str(program.pid)])
    work()
    seen, row, note = look()
    check(f"{jdk.name}_an_attach_says_when_java_objects_are_shown", done.returncode == 0 and b"next sample point" in done.stderr, done)
    # By chance the thread may come to a sample point right now.
    check(f"{jdk.name}_what_an_older_buffer_hides_leaves_no_upper_end", row["samples"] < 1000 and seen["selected_bytes"]["high"] is None and
          "1 Java thread ran" in note and ("not come to that point" in note) == (row["samples"] == 0), seen["selected_bytes"], row, note)
    while row["samples"] < 1000:
        work(100)
        seen, row, note = look()
    before = row["samples"]
    work(10)
    seen, row, note = look()
    check(f"{jdk.name}_then_each_object_is_seen", row["samples"] == before + 10000 and row["self"]["high"] is None and
          "1 Java thread ran" in note and "not come" not in note and ("lower bounds" in note or not jdk.is_right), before, row, note)
    heaps = {row["heap"]: row["self"]["high"] for row in report(str(program.pid), "--metric", "allocated", "--by", "heap")["rows"]}
    check(f"{jdk.name}_malloc_lacks_nothing_after_an_attach", heaps["java"] is None and heaps["malloc"] is not None, heaps)
    # The second attach comes before any callback: the VM's sampler is still that of the first.
    run([GEIGER, "detach", str(program.pid)])
    work(letter=b"i")
    run([GEIGER, "attach", "-i", "512k", str(program.pid)])
    run([GEIGER, "detach", str(program.pid)])
    run([GEIGER, "attach", "-i", "1", str(program.pid)])
    seen, row, note = look()
    check(f"{jdk.name}_an_attach_before_the_sampler_was_given_back_is_like_a_new_one", seen["selected_bytes"]["high"] is None and
          "2 Java threads ran" in note and "not come" in note, seen["selected_bytes"], note)
    work(letter=b"e")
    seen, row, note = look()
    while row["samples"] < 1000:
        work(100)
        seen, row, note = look()
    check(f"{jdk.name}_a_thread_that_ended_does_not_have_to_come", "1 of them ended" in note and "not come" not in note and
          row["self"]["high"] is None, row, note)
    program.communicate(timeout=SECONDS)


# --- again ---


def again(jdk, count):
    """Threads have sample points from before: an earlier attach drew them, or they have passed."""
    threads, objects, intervals = 200, 50000, {"512k": 524288, "128k": 131072, "16k": 16384}
    bytes_ = 40 * threads * objects
    deviations = {interval: [] for interval in intervals}
    seen = {interval: {} for interval in intervals}
    for _ in range(count):
        # Small buffers: the rest of a buffer that was begun before is not sampled.
        program = subprocess.Popen([jdk.java, "-Xmx256m", "-XX:TLABSize=16k", "-XX:-ResizeTLAB", "-cp", CLASSES, "Work", "rounds", str(threads),
                                    str(objects)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

        def work():
            program.stdin.write(b"x")
            program.stdin.flush()
            return program.stdout.readline()

        program.stdout.readline()
        for interval in intervals:
            recorder = subprocess.Popen([GEIGER, "attach", "-i", interval, "-o", "r.geiger", str(program.pid)], stderr=subprocess.PIPE)
            recorder.stderr.readline()  # it has attached
            work()
            recorder.send_signal(signal.SIGINT)
            recorder.communicate(timeout=SECONDS)
            work()  # whose first sample gives the sampler back
            text = run([GEIGER, "sql", "--csv", "r.geiger", "select interval, count(*) from v_sample where heap = 'java' and size = 40 group by 1"])
            for line in text.stdout.decode().split()[1:]:
                drawn, samples = (int(word) for word in line.split(","))
                seen[interval][drawn] = seen[interval].get(drawn, 0) + samples
            estimate = rows("r.geiger", "--metric", "allocated")["Work.deep"]["self"]["estimate"]
            error = math.sqrt(bytes_ * intervals[interval])
            # Before 25 each thread's first sample is of the interval before.
            if not jdk.is_right:
                error = math.sqrt(error * error + threads * 524288 ** 2)
            deviations[interval].append((estimate - bytes_) / error)
        program.communicate(b"", timeout=SECONDS)
    for interval, values in deviations.items():
        z = sum(values) / math.sqrt(count)
        note(f"attach at {interval}: {z:+.2f} standard errors")
        check(f"{jdk.name}_an_attach_at_{interval}_after_others_is_right_within_4.5_standard_errors", abs(z) < 4.5, values, seen[interval])
        drawn = set(seen[interval])
        check(f"{jdk.name}_samples_at_{interval}_know_the_interval_of_their_sample_point", drawn <= set(intervals.values()) and
              intervals[interval] in drawn and (not jdk.is_right or len(drawn) == 1), seen[interval])


# --- socket ---


def traced(pid):
    """An attach while this process traces the program's main thread, without stopping it."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    seize, interrupt, detach = 0x4206, 0x4207, 17
    if libc.ptrace(seize, pid, None, None) != 0:
        raise OSError(ctypes.get_errno(), "ptrace")
    done = run([GEIGER, "attach", "-q", "-o", "never.geiger", str(pid)])
    libc.ptrace(interrupt, pid, None, None)
    os.waitpid(pid, os.WUNTRACED)
    libc.ptrace(detach, pid, None, None)
    return done


# This program looks like a VM, and does not serve its socket: it takes no clients ("full"), sends
# its answer byte after byte ("drip"), leaves the socket to another process ("other"), or never
# opens one ("silent").  It may also open its socket after a line on its standard input ("late").
PRETENDER = """
import mmap, os, signal, socket, sys, time
library = mmap.mmap(os.open("libjvm.so", os.O_RDONLY), 4096, prot=mmap.PROT_READ)
signal.signal(signal.SIGQUIT, lambda *_: None)
path = f"/tmp/.java_pid{os.getpid()}"
kind, server = sys.argv[1], socket.socket(socket.AF_UNIX)
if kind in ("late", "silent"):
    print(path, flush=True)
    if kind == "late":
        sys.stdin.readline()
        server.bind(path)
        server.listen(1)
elif kind != "other" or os.fork() == 0:
    server.bind(path)
    server.listen(0)
    clients = [socket.socket(socket.AF_UNIX)]
    if kind == "full":
        clients[0].connect(path)
    print(path, flush=True)
    if kind == "drip":
        client, _ = server.accept()
        try:
            while True:
                client.send(b"0")
                time.sleep(1)
        except OSError:
            pass
sys.stdin.read()
"""


def pretend(kind):
    """An attach to a pretender: the two processes, and the file of its socket."""
    program = subprocess.Popen([sys.executable, "-c", PRETENDER, kind], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    path = program.stdout.readline().decode().strip()
    attach = subprocess.Popen([GEIGER, "attach", "-q", "--only", "jvm", str(program.pid)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return program, attach, path


def pretenders(count):
    """Each attach ends by its own limit, the last one after a minute; they wait side by side."""
    with open("libjvm.so", "wb") as library:
        library.write(bytes(4096))
    kinds = (("other", b"another process"), ("full", b"took no client"), ("silent", b"opened no attach socket"), ("drip", b"did not answer"))
    begun = [(kind, word, pretend(kind)) for kind, word in kinds[:2 + count]]
    interrupted()
    for kind, word, (program, attach, path) in begun:
        try:
            _output, errors = attach.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            attach.kill()
            _output, errors = attach.communicate()
        check(f"an_attach_to_a_vm_whose_socket_is_{kind}_ends_with_a_clear_line", attach.returncode == 1 and word in errors, attach.returncode, errors)
        if kind == "silent":  # which may come to its signal later
            left = triggers(program.pid)
            check("the_line_names_the_file_that_stays", len(left) == 1 and f".attach_pid{program.pid}".encode() in errors, left, errors)
            os.unlink(left[0])
        program.communicate(b"", timeout=SECONDS)
        if kind != "silent":
            os.unlink(path)


def triggers(pid):
    """Files that ask this process for its socket."""
    return [path for path in (f"/proc/{pid}/cwd/.attach_pid{pid}", f"/tmp/.attach_pid{pid}") if os.path.exists(path)]


def interrupted():
    """Signals that come while an attach waits for the socket leave no file."""
    # nohup and a shell's background jobs ignore these, and children would inherit that.
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        program, attach, path = pretend("late")
        until = time.monotonic() + 100
        while not triggers(program.pid) and attach.poll() is None and time.monotonic() < until:
            time.sleep(0.01)
        asked = len(triggers(program.pid))
        attach.send_signal(number)
        time.sleep(0.1)  # in which an attach without care would end
        program.stdin.write(b"\n")
        program.stdin.flush()
        attach.communicate(timeout=SECONDS)
        left = triggers(program.pid)
        check(f"a_{number.name}_ends_an_attach_and_leaves_no_file", asked == 1 and attach.returncode == -number and not left,
              asked, attach.returncode, left)
        program.communicate(b"", timeout=SECONDS)
        if os.path.exists(path):
            os.unlink(path)


def socket(jdk, count):
    if jdk.release == find_jdks()[0].release:
        pretenders(count)
    os.environ["GEIGER_DIR"] = os.path.join(os.getcwd(), "socket")  # which the VM has as well
    os.makedirs("socket", exist_ok=True)
    for option, words in (("-Xmx64m", None), ("-XX:+DisableAttachMechanism", b"DisableAttachMechanism"), ("-Xrs", b"-Xrs")):
        program = subprocess.Popen([jdk.java, *QUICK, option, "-cp", CLASSES, "Work", "until"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        program.stdout.readline()
        pid = str(program.pid)
        look = run([GEIGER, "attach", "--only", "jvm", "-n", pid])
        done = run([GEIGER, "attach", "--only", "jvm", "-i", "16k", pid])
        if words is not None:
            check(f"{jdk.name}_{option}_is_refused_with_a_clear_line", done.returncode == look.returncode == 1 and words in done.stderr, look, done)
        else:
            check(f"{jdk.name}_that_is_traced_is_sent_to_its_socket", b"--only jvm" in traced(program.pid).stderr)
            check(f"{jdk.name}_loads_the_adapter_by_its_socket", done.returncode == look.returncode == 0 and b"lines on the program" in done.stderr, done)
            check(f"{jdk.name}_samples_its_objects", wait_for_more(pid, 1000))
            seen = report(pid, "--metric", "allocated")
            check(f"{jdk.name}_has_java_objects_alone", any(row["function"] == "Work.deep" for row in seen["rows"]) and
                  not any("libjvm" in str(row) for row in seen["rows"]), seen["rows"][:5])
            check(f"{jdk.name}_leaves_no_file", not triggers(pid), triggers(pid))
        output, errors = program.communicate(timeout=SECONDS)
        warned = words is None and jdk.release >= 21
        check(f"{jdk.name}_with_{option}_works_on", output == b"ended\n" and program.returncode == 5 and
              (errors.count(b"\n") == 3 and b"WARNING: A JVM TI agent" in errors if warned else errors == b""), output, errors)


# --- other ---


def other(jdk, _count):
    program = subprocess.Popen([jdk.java, "-Xmx64m", "-cp", CLASSES, "Work", "until"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
    program.stdout.readline()

    def load(option):
        done = run([f"{jdk.folder}/bin/jcmd", str(program.pid), "JVMTI.agent_load", os.environ["OTHER_AGENT"], option])
        return b"return code: 0" in done.stdout

    told = []

    def sees_objects(attaches=1, interval="1"):
        """Also whether the profile says that another agent has the sampler."""
        for _ in range(attaches):
            done = run([GEIGER, "attach", "--json", "-i", interval, "-o", "t.geiger", "--max-time", "0.5", str(program.pid)])
            told.append(json.loads(done.stdout)["java"])
            seen = report("t.geiger", "--metric", "allocated", "-n", "100000")
            has_note = any("another agent has the VM's sampler" in note for note in seen["notes"])
            if done.returncode == 0 and any(row["function"] == "Work.deep" for row in seen["rows"]):
                return True, has_note
        return False, has_note

    def gives_back():
        """The next sample gives the sampler back."""
        return any(load("take") or time.sleep(0.1) for _ in range(600))

    check(f"{jdk.name}_an_attach_sees_objects", sees_objects(20, "64k") == (True, False))
    check(f"{jdk.name}_a_detach_gives_the_sampler_back", gives_back())
    check(f"{jdk.name}_an_attach_says_that_objects_are_shown", set(told) == {"shown"}, told)
    check(f"{jdk.name}_while_another_agent_has_it_there_are_none_and_a_note", sees_objects() == (False, True))
    check(f"{jdk.name}_an_attach_says_that_none_are", told[-1] == "refused", told)
    check(f"{jdk.name}_the_other_agent_gives_it_back", load("give"))
    check(f"{jdk.name}_a_later_attach_takes_it_again", sees_objects(20) == (True, False))
    text = run([GEIGER, "sql", "--csv", "t.geiger", "select distinct interval from v_sample where heap = 'java'"]).stdout.decode()
    check(f"{jdk.name}_sample_points_that_another_agent_may_have_drawn_do_not_count", text.split()[1:] == ["1"], text)
    output, _errors = program.communicate(timeout=SECONDS)
    check(f"{jdk.name}_the_program_works_on", output == b"ended\n" and program.returncode == 5, output)


# --- jfr ---


def imported(recording):
    done = run([GEIGER, "import", "-q", "-o", "i.geiger", recording])
    if done.returncode != 0:
        raise RuntimeError(done.stderr.decode())
    return report("i.geiger", "--metric", "allocated", "-n", "100000")


def chunks_of(path):
    """The time in seconds at which each chunk of a recording begins, and how long it is."""
    with open(path, "rb") as recording:
        content = recording.read()
    found, at = [], 0
    while at < len(content):
        size, _constants, _metadata, start, duration = struct.unpack_from(">5q", content, at + 8)
        found.append((start / 1e9, duration / 1e9))
        at += size
    return found


def jfr(jdk, _count):
    # Events of small buffers fill the first chunk, so the recording has several.
    run([jdk.java, "-XX:StartFlightRecording:filename=x.jfr,settings=profile,jdk.ObjectAllocationInNewTLAB#enabled=true",
         "-XX:FlightRecorderOptions:maxchunksize=1M", "-XX:TLABSize=8k", "-XX:-ResizeTLAB", *jdk.work[1:], "loop", "10", "20000000"])
    printed = run([f"{jdk.folder}/bin/jfr", "print", "--json", "--events", "ObjectAllocationSample", "x.jfr"])
    weights = {}
    for event in json.loads(printed.stdout)["recording"]["events"]:
        name = event["values"]["objectClass"]["name"]
        weights[name] = weights.get(name, 0) + event["values"]["weight"]
    seen = imported("x.jfr")
    found = {row["function"]: row for row in seen["rows"]}
    check(f"{jdk.name}_weights_of_flight_recorder_are_those_that_the_jdk_prints", weights.get("[B", 0) > 10000000 and
          found["byte[]"]["self"]["estimate"] == weights["[B"], weights, found.get("byte[]"))
    check(f"{jdk.name}_they_have_no_interval", found["byte[]"]["self"]["low"] is None and any("not random" in note for note in seen["notes"]),
          seen["notes"])
    check(f"{jdk.name}_they_have_stacks", found["Work.deep"]["total"]["estimate"] > 0.9 * weights["[B"], list(found))
    chunks = chunks_of("x.jfr")
    check(f"{jdk.name}_a_recording_of_several_chunks_begins_with_the_first_and_is_as_long_as_all", len(chunks) > 1 and
          abs(seen["start_seconds"] - chunks[0][0]) < 1e-3 and abs(seen["duration_ns"] / 1e9 - sum(length for _, length in chunks)) < 1e-3,
          chunks, seen["start_seconds"], seen["duration_ns"])
    with open("x.jfr", "rb") as recording, open("xx.jfr", "wb") as twice:
        twice.write(2 * recording.read())
    joined = {row["function"]: row["self"]["estimate"] for row in imported("xx.jfr")["rows"]}
    check(f"{jdk.name}_recordings_that_are_joined_add_up", joined["byte[]"] == 2 * weights["[B"], joined, weights)
    made_recordings()


def made_recordings():
    """Once is enough, but it takes no time."""
    frames = [("p/Main", "make", 7), ("p/Main", "main", 3)]
    events = [("jdk.ObjectAllocationInNewTLAB", "[J", 4096, frames)] * 50 + [("jdk.ObjectAllocationInNewTLAB", "p/Big", 10**7, frames[1:])] * 3
    weight = 4096 / -math.expm1(-4096 / 65536)
    for release, interval, has_error in ((25, 65536, True), (25, None, True), (17, 65536, False)):
        with open("made.jfr", "wb") as recording:
            recording.write(jfr_writer.chunk(release, interval, events) + jfr_writer.chunk(release, interval, events))
        seen = imported("made.jfr")
        found = {row["function"]: row["self"] for row in seen["rows"]}
        good = abs(found["long[]"]["estimate"] / (100 * weight) - 1) < 1e-6 and abs(found["p.Big"]["estimate"] / 6e7 - 1) < 1e-6
        check(f"samples_of_release_{release}_at_{interval}_weigh_by_size_and_interval", good, found)
        # The relative standard error of 100 samples of one size is that of a binomial number.
        half = 1.96 * math.sqrt(100 * math.exp(-1 / 16)) / 100
        check(f"samples_of_release_{release}_at_{interval}_have_{'an' if has_error else 'no'}_interval",
              (found["long[]"]["low"] is not None) == has_error and
              (not has_error or abs((found["long[]"]["high"] / found["long[]"]["estimate"] - 1) / half - 1) < 0.3), found)
        check(f"release_{release}_is_told_if_it_is_biased", any("JDK-8356372" in note for note in seen["notes"]) != has_error, seen["notes"])
    with open("made.jfr", "wb") as recording:
        recording.write(jfr_writer.chunk(25, 65536, [("profiler.LiveObject", "p/Kept", 4096, frames)] * 10))
    imported("made.jfr")
    live_rows = rows("i.geiger", "--metric", "live")
    check("live_objects_are_live", abs(live_rows["p.Kept"]["self"]["estimate"] / (10 * weight) - 1) < 1e-6, live_rows)
    line = report("i.geiger", "--by", "line")["rows"]
    later, earlier = (jfr_writer.chunk(25, 65536, events, start_seconds=start) for start in (100, 0))
    with open("made.jfr", "wb") as recording:
        recording.write(later + earlier)
    check("a_file_begins_with_the_earliest_of_its_recordings", imported("made.jfr")["start_seconds"] == chunks_of("made.jfr")[1][0],
          chunks_of("made.jfr"))
    callers = [("jdk.ObjectAllocationInNewTLAB", "[B", 4096, [(f"p/C{i}", "make", 7), *frames]) for i in range(20)]
    with open("made.jfr", "wb") as recording:
        recording.write(jfr_writer.chunk(25, 65536, callers))
    imported("made.jfr")
    by_function = rows("i.geiger", "--metric", "allocated")
    check("a_class_is_no_wrapper_of_the_allocator", "byte[]" in by_function and abs(by_function["byte[]"]["self"]["estimate"] / (20 * weight) - 1) < 1e-6,
          list(by_function))
    check("frames_have_lines", any(row["function"] == "p.Main.make" and row["line"] == 7 for row in line), line)
    doubled_recordings(frames)
    for name, wrong, chunks in (("nested", b"entangled", 1), ("branched", b"entangled", 40), ("overlapping", b"constants", 1)):
        with open("made.jfr", "wb") as recording:
            recording.write(jfr_writer.chunk(25, 65536, [("jdk.ObjectAllocationInNewTLAB", "[J", 4096, frames)], hostile=name) * chunks)
        done = run([GEIGER, "import", "-q", "-o", "i.geiger", "made.jfr"])
        check(f"{name}_values_are_refused", done.returncode == 1 and wrong in done.stderr, done)


def doubled_recordings(frames):
    """Kinds of events that describe the same allocations: the best one counts, where it is."""
    in_buffer, outside, scaled = (f"jdk.ObjectAllocation{kind}" for kind in ("InNewTLAB", "OutsideTLAB", "Sample"))
    buffers = jfr_writer.chunk(25, 65536, [(in_buffer, "[J", 4096, frames), (outside, "[J", 10**6, frames)] * 10, by_async=False)
    both = jfr_writer.chunk(25, 65536, [(in_buffer, "[J", 4096, frames), (scaled, "[J", 10**5, frames)] * 10, by_async=False)
    large = jfr_writer.chunk(25, 65536, [(outside, "[J", 10**6, frames)] * 20, by_async=False)
    samples, halfway, between, later = (jfr_writer.chunk(25, 65536, [(in_buffer, "[J", 10**7, frames)] * 3, start_seconds=start)
                                        for start in (0, 2.5, 4, 10))
    kept = jfr_writer.chunk(25, 65536, [("profiler.LiveObject", "[J", 4096, frames)] * 3)
    for name, chunks, bytes_, left_out in (
            ("buffers_and_large_objects_add_up", buffers, 10 * (65536 + 10**6), []),
            ("samples_of_flight_recorder_count_without_its_buffers", both, 10**6, [10]),
            ("chunks_of_other_settings_count_by_their_own_kinds", buffers + both, 10 * (65536 + 10**6) + 10**6, [10]),
            ("samples_of_async_profiler_count_alone", both + samples, 3 * 10**7, [20]),
            ("samples_of_async_profiler_come_first", samples + both, 3 * 10**7, [20]),
            ("at_another_time_both_count", both + later, 10**6 + 3 * 10**7, [10]),
            ("large_objects_count_until_async_profiler_begins", large + halfway, 10**7 + 3 * 10**7, [10]),
            ("times_that_overlap_leave_out_once", large + later + between + halfway, 10**7 + 9 * 10**7, [10]),
            ("each_rank_has_a_note", both + halfway, 5 * 10**5 + 3 * 10**7, [10, 5]),
            ("live_objects_leave_no_allocation_out", large + kept, 2 * 10**7 + 3 * 4096 / -math.expm1(-1 / 16), [])):
        with open("made.jfr", "wb") as recording:
            recording.write(chunks)
        seen = imported("made.jfr")
        found = {row["function"]: row["self"]["estimate"] for row in seen["rows"]}
        notes = [note for note in seen["notes"] if "No byte counts twice" in note]
        check(name, abs(found["long[]"] / bytes_ - 1) < 1e-6 and [int(note.split()[0]) for note in notes] == left_out, found, seen["notes"])


def run_part(part, count, jdks):
    """Returns a row of the summary for each JDK."""
    lines = []
    for jdk in jdks:
        before, wrong = checked, failed
        figures.clear()
        globals()[part](jdk, count)
        lines.append(f"| {part} {count} | {jdk.release} | {checked - before} | {failed - wrong} | {'; '.join(figures)} |")
    return lines


def prove(jdks):
    lines = []
    for part, count in PROOF.items():
        lines += run_part(part, count, jdks)
    print("summary\n\n| part | JDK | checks | failed | figures |\n|-|-|-|-|-|")
    print("\n".join(lines), flush=True)


def main():
    part, count = sys.argv[1], int(sys.argv[2])
    jdks = find_jdks()
    if not jdks:
        print("skipped - test_jvm: no JDK from 11 on")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        for name in ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"):
            os.environ.pop(name, None)
        if CLASSES == "classes":
            compile_java(jdks[0], "classes", glob.glob(f"{HERE}/jvm/*.java"))
        if part == "proof":
            prove(jdks)
        else:
            run_part(part, count, jdks)
        os.chdir("/")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
