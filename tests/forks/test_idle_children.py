#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_idle_children.py: forked processes that are idle, while their ancestor ends or frees.

All runs count every allocation (-i 1), so each figure must be the truth itself.  The end of a
process that lives shortly is known within bounds alone, so there the interval must hold the truth.

GEIGER, IDLE_PROGRAM: programs.
"""

import base64
import concurrent.futures
import csv
import glob
import gzip
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

GEIGER = os.environ["GEIGER"]
PROGRAM = os.environ["IDLE_PROGRAM"]
BYTES = 200 * 102400
# 16 other processes live at once, with a block each.
OTHERS_BYTES = 16 * 1000 + 1000

failed = 0


def complain(name, text):
    global failed
    failed += 1
    print(f"FAILED {name}: {text}", flush=True)


def query(profile, text):
    out = subprocess.run([GEIGER, "sql", "--csv", profile, text], check=True, capture_output=True, text=True).stdout
    return [[int(float(value)) if value else None for value in row] for row in list(csv.reader(io.StringIO(out)))[1:]]


def report(profile, *options):
    out = subprocess.run([GEIGER, "report", profile, "--limit", "0", "--json", *options], check=True,
                         capture_output=True, text=True).stdout
    return json.loads(out)


def row_of(data, function):
    for row in data["rows"]:
        if row["function"] == function:
            return row["self"]
    return {"low": 0, "estimate": 0, "high": 0}


def check_possible(name, profile, from_ns, until_ns):
    """The blocks may live at each moment of v_timeline between the two."""
    least, = query(profile, "select min(possible_bytes) from v_timeline"
                            f" where time_ns > {from_ns} and time_ns < {until_ns}")[0]
    if least is None or not BYTES <= least <= BYTES + OTHERS_BYTES:
        complain(name, f"possible_bytes is {least}, not {BYTES}")


def possible_at_the_end(profile):
    """Bytes that the page counts as live at the end in upper ends alone."""
    text = subprocess.run([GEIGER, "html", "-q", profile, "-o", "-"], check=True, capture_output=True, text=True).stdout
    packed = re.search(r'id="geiger-data">([A-Za-z0-9+/=]*)</script>', text).group(1)
    data = json.loads(gzip.decompress(base64.b64decode(packed)))
    cells, bins = data["cells"], len(data["times"]["edges_ns"]) - 1
    return sum(n * data["classes"]["bytes"][of] for n, of, gone, later, heirs in zip(
        cells["n"], cells["class"], cells["gone"], cells.get("later", []), cells.get("heirs", []))
        if heirs and gone < bins <= gone + later)


class Run:
    def __init__(self, folder, name, arguments, ring="65536"):
        self.name, self.profile = name, os.path.join(folder, name + ".geiger")
        out = subprocess.run([GEIGER, "record", "-q", "-i", "1", "-o", self.profile, "--",
                              PROGRAM, *map(str, arguments)], check=True, env=dict(os.environ, GEIGER_RING=ring),
                             capture_output=True, text=True).stdout
        idle = [int(pid) for pid in out.split()]
        held = query(self.profile, "select process, min(origin is not null), min(p.parent), min(p.start_ns),"
                                   " min(coalesce(p.end_least_ns, p.end_ns)), min(p.end_ns), min(p.pid) from sample"
                                   " join process as p on p.id = process"
                                   f" where size = {BYTES // 200} group by process order by process")
        self.ancestor = [row for row in held if not row[1]][0]
        self.heirs = [row for row in held if row[1] and row[6] in idle]
        if query(self.profile, "select count(*) from event where kind = 'drop'") != [[0]]:
            complain(name, "events were lost: no figure can be exact")

    def check(self, what, value, truth):
        if value != truth:
            complain(self.name, f"{what} is {value}, not {truth}")

    def is_exact(self, what, interval, truth=BYTES):
        self.check(what, [interval["low"], interval["estimate"], interval["high"]], [truth] * 3)

    def holds(self, what, interval, truth=BYTES):
        if not interval["low"] <= truth <= interval["high"]:
            complain(self.name, f"{what} is {interval}, which does not hold {truth}")

    def at(self, moment_ns, *options):
        return report(self.profile, "--at", f"{moment_ns}ns", *options)

    def freed_ns(self):
        """When the ancestor had freed its last block."""
        return query(self.profile, f"select max(t_free) from sample where process = {self.ancestor[0]}")[0][0]

    def woken_ns(self, wake):
        """Until when the first of the idle processes was idle for certain."""
        ids = ", ".join(str(heir[0]) for heir in self.heirs)
        text = {"frees": f"select min(t_free) from sample where process in ({ids})",
                "allocates": f"select min(t_alloc) from sample where process in ({ids}) and origin is null",
                "dies": f"select min(coalesce(end_least_ns, end_ns)) from process where id in ({ids})"}
        return query(self.profile, text[wake])[0][0]

    def check_once(self):
        """No moment counts a block twice."""
        for column in ("live_bytes", "most_bytes", "possible_bytes"):
            most = query(self.profile, f"select max({column}) from v_timeline")[0][0]
            if not BYTES <= most <= BYTES + OTHERS_BYTES:
                complain(self.name, f"v_timeline has {column} {most}, not {BYTES}")
        self.check("the peak", row_of(report(self.profile, "-m", "peak"), "in_ancestor")["high"], BYTES)

    def check_left(self, truth):
        self.check("left_bytes", query(self.profile, "select sum(left_bytes) from v_function where"
                                                     " function = 'in_ancestor' and self_left_bytes >= 0"),
                   [[truth]])
        self.is_exact("what was left", row_of(report(self.profile, "-m", "left"), "in_ancestor"), truth)

    def check_heirs(self, count):
        """Each idle process is in the profile, with its parent and all that it held."""
        self.check("the number of heirs", len(self.heirs), count)
        for heir in self.heirs:
            self.check("the parent", heir[2], self.ancestor[0])

    def check_between(self, from_ns, until_ns, heirs):
        """Moments between the ancestor's end and that of the heirs: the total, and each heir."""
        for part in (0.01, 0.5, 0.99):
            moment_ns = int(from_ns + part * (until_ns - from_ns))
            self.is_exact(f"live at {moment_ns}", row_of(self.at(moment_ns), "in_ancestor"))
            rows = self.at(moment_ns, "--by", "process")["rows"]
            self.check(f"holders at {moment_ns}", sum(row["self"]["low"] == BYTES for row in rows), heirs)


def an_idle_child_counts_once_whatever_its_ancestor_does(folder):
    cells = [(end, others, wake, generations) for end, others, wake, generations in (
        ("exits", 10, "frees", 1), ("exits", 100, "frees", 1), ("exits", 400, "allocates", 1), ("exits", 100, "dies", 1),
        ("is_killed", 100, "allocates", 1), ("is_killed", 10, "frees", 2), ("is_killed", 100, "dies", 2),
        ("frees", 100, "frees", 1), ("frees", 10, "allocates", 2), ("frees", 100, "dies", 1),
        ("exits", 100, "frees", 2))]

    def run(cell):
        end, others, wake, generations = cell
        r = Run(folder, f"{end}_{others}_{wake}_{generations}", cell)
        r.check_once()
        r.check_heirs(1)
        if not r.heirs:
            return
        r.check_between(r.freed_ns() if end == "frees" else r.ancestor[5], r.woken_ns(wake), 1)
        r.check_left(0 if (end, wake) == ("frees", "frees") else BYTES)

    with concurrent.futures.ThreadPoolExecutor(8) as threads:
        list(threads.map(run, cells))


def siblings_of_an_ancestor_that_is_gone_are_its_children(folder):
    r = Run(folder, "siblings", ("is_killed_at_once", 100, "frees", 1, 4))
    r.check_once()
    r.check_heirs(4)
    r = Run(folder, "siblings_of_a_silent_parent", ("exits_at_once", 10, "allocates", 2, 3))
    r.check_once()
    r.check_heirs(3)


def workers_that_are_killed_idle_hold_what_they_inherited(folder):
    for end in ("keeps", "frees"):
        r = Run(folder, f"workers_{end}", (end, 0, "dies", 1, 4))
        r.check_once()
        r.check_heirs(4)
        if not r.heirs:
            continue
        r.check_between(r.freed_ns() if end == "frees" else max(heir[3] for heir in r.heirs), r.woken_ns("dies"),
                        4 + (end == "keeps"))
        r.check_left(BYTES)


def a_child_that_ends_soon_is_in_the_upper_end(folder):
    r = Run(folder, "soon", ("frees_at_once", 0, "soon", 1, 1))
    for milliseconds in (1, 10, 20):
        r.holds(f"live {milliseconds} ms after the free",
                row_of(r.at(r.freed_ns() + milliseconds * 1000000), "in_ancestor"))
    check_possible("soon, v_timeline", r.profile, r.freed_ns(), r.freed_ns() + 25000000)


def compare_with_itself(profile):
    """A difference of what may be live is as uncertain as both sides."""
    out = subprocess.run([GEIGER, "diff", profile, profile, "--json", "-a", "-m", "live"], check=True,
                         capture_output=True, text=True).stdout
    found = [row["difference"] for row in json.loads(out)["rows"] if row["label"].startswith("in_ancestor")]
    if [(row["low"], row["high"]) for row in found] != [(-BYTES, BYTES)]:
        complain("a profile against itself", f"{found}, not {-BYTES} to {BYTES}")


def exact_counts_do_not_deny_what_lives_on(folder):
    """Exact counts do not tell who holds what was inherited, so the interval has both ends."""
    for end, wake, workers in (("exits", "allocates", 1), ("exits", "dies", 2), ("frees", "frees", 1)):
        profile = os.path.join(folder, f"exact_{end}_{wake}.geiger")
        subprocess.run([GEIGER, "record", "-q", "--exact", "-o", profile, "--", PROGRAM, end, "10", wake, "1",
                        str(workers)], check=True, stdout=subprocess.DEVNULL)
        rows = query(profile, "select process, min(from_ns), max(coalesce(to_ns, p.end_ns)) from coarse"
                              " join process as p on p.id = process where size > 1000000 group by process")
        moment_ns = rows[0][2] + 100000000  # the ancestor has ended, or freed all; the others sleep on
        held = row_of(report(profile, "--at", f"{moment_ns}ns"), "in_ancestor")
        if not (held["low"] == 0 and held["high"] == BYTES):
            complain(f"exact {end} {wake}", f"{held} at {moment_ns}, not 0 to {BYTES}")
        check_possible(f"exact {end} {wake}, v_timeline", profile, moment_ns - 50000000, moment_ns)
        if end == "exits" and wake == "allocates":
            compare_with_itself(profile)


def exact_counts_have_the_last_tick(folder):
    """A process that is killed in the tick in which it allocated held that at its end."""
    profile = os.path.join(folder, "last_tick.geiger")
    subprocess.run([GEIGER, "record", "-q", "--exact", "-o", profile, "--", PROGRAM, "late"], check=True)
    peak = row_of(report(profile, "-m", "peak"), "in_ancestor")
    chart = query(profile, "select max(most_bytes) from v_timeline")[0][0]
    if not (peak["low"] == peak["high"] == BYTES and BYTES <= chart <= BYTES + OTHERS_BYTES):
        complain("the last tick", f"the peak is {peak}, in v_timeline {chart}, not {BYTES}")


def a_salvage_does_not_know_when_a_process_was_killed(folder):
    """Its region knows of the last allocation, and that of its parent when the parent ended."""
    directory, profile = os.path.join(folder, "regions"), os.path.join(folder, "late.geiger")
    os.mkdir(directory)
    words = subprocess.run([GEIGER, "env", "-i", "1", "--dir", directory], check=True, capture_output=True,
                           text=True).stdout.split()
    subprocess.run(["env", *words, PROGRAM, "late"], check=True)
    subprocess.run([GEIGER, "salvage", "-q", "-o", profile, directory], check=True, stderr=subprocess.DEVNULL)
    (last_ns, end_ns), = query(profile, "select max(t_alloc), (select max(end_ns) from process) from sample"
                                        f" where size = {BYTES // 200}")
    middle = f"{(last_ns + end_ns) // 2}ns"
    for options in (["--at", middle], ["-m", "left", "--between", "0", middle],
                    ["-m", "left", "--between", middle, f"{end_ns}ns"]):
        held = row_of(report(profile, *options), "in_ancestor")
        if not (held["low"] == 0 and held["high"] == BYTES):
            complain(f"a salvage, {options}", f"{held}, not 0 to {BYTES}")
    if row_of(report(profile, "-m", "live"), "in_ancestor")["high"] != 0:
        complain("a salvage", "the end of the killed process is that of the session")


def live_of(profile, name):
    """The live memory of the ancestor, and whether a note tells of forked processes."""
    data = report(profile, "-m", "live")
    if "forked process" not in " ".join(data["notes"]) and name != "a killed recorder":
        complain(name, f"no note of {data['notes']} tells of forked processes")
    return row_of(data, "in_ancestor")


def a_recorder_that_is_killed_leaves_heirs_in_upper_ends(folder):
    """Neither its profile, nor a salvage, nor a sum of them denies what the idle processes hold."""
    profile = os.path.join(folder, "killed.geiger")
    command = [GEIGER, "record", "-q", "-i", "1", "-o", profile, "--", PROGRAM, "frees", "0", "never", "1", "2"]
    recorder = subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True)
    last_ns = time.monotonic_ns() + 60 * 10**9
    idle = [int(recorder.stdout.readline()) for _ in range(2)]
    counted = "select count(*) from counter where name = 'forked processes that were not noted' and value = 2"
    while query(profile, counted) != [[1]] and time.monotonic_ns() < last_ns:
        time.sleep(0.1)
    recorder.kill()
    recorder.wait()
    directory, = glob.glob(f"/dev/shm/geiger-session-{recorder.pid}-*")
    try:
        held = {"a killed recorder": live_of(profile, "a killed recorder")}
        for name in ("the idle live", "one idle lives", "all are killed"):
            salvaged = os.path.join(folder, "salvaged.geiger")
            subprocess.run([GEIGER, "salvage", "-o", salvaged, directory], check=True, capture_output=True)
            held[name] = live_of(salvaged, name)
            if name == "the idle live":
                os.kill(idle[0], signal.SIGKILL)
            else:
                os.killpg(recorder.pid, signal.SIGKILL)
        page_bytes = possible_at_the_end(profile)
        if not BYTES <= page_bytes <= BYTES + OTHERS_BYTES:
            complain("the page", f"{page_bytes} bytes may be live at the end, not {BYTES}")
        held["left"] = row_of(report(profile, "-m", "left"), "in_ancestor")
        sums = [os.path.join(folder, f"sum_{number}.geiger") for number in range(2)]
        for result, parts in ((sums[0], [profile]), (sums[1], [sums[0], salvaged])):
            subprocess.run([GEIGER, "merge", "-q", "-o", result, *parts], check=True)
        held["a sum"] = row_of(report(sums[0], "-m", "live"), "in_ancestor")
        held["a sum, left"] = row_of(report(sums[0], "-m", "left"), "in_ancestor")
        held["a sum of a sum"] = row_of(report(sums[1], "-m", "live"), "in_ancestor")
        for name, interval in held.items():
            truth = 2 * BYTES if name == "a sum of a sum" else BYTES
            if not (interval["low"] == 0 and interval["high"] == truth):
                complain(name, f"{interval}, not 0 to {truth}")
    finally:
        try:
            os.killpg(recorder.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        shutil.rmtree(directory)


def main():
    with tempfile.TemporaryDirectory() as folder:
        for test in (an_idle_child_counts_once_whatever_its_ancestor_does,
                     siblings_of_an_ancestor_that_is_gone_are_its_children,
                     workers_that_are_killed_idle_hold_what_they_inherited, a_child_that_ends_soon_is_in_the_upper_end,
                     exact_counts_do_not_deny_what_lives_on, exact_counts_have_the_last_tick,
                     a_salvage_does_not_know_when_a_process_was_killed,
                     a_recorder_that_is_killed_leaves_heirs_in_upper_ends):
            before = failed
            test(folder)
            if failed == before:
                print("ok -", test.__name__, flush=True)
    sys.exit(failed > 0)


main()
