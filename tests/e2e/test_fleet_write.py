#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The store of a fleet has what the profile has: each sample once, whatever is killed.

GEIGER: the command; SEND_KILL: kills a process at a step; FORKS_PROGRAM: forks children that share
blocks; FLEET_PROGRAM: allocates and frees for some slots.  FLEET_ROUNDS is the number of kills
(all steps if it is 0).
"""

import contextlib
import http.server
import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time

from fleet_store import LateReplica, Network, Receiver, Store, Tmpfs, remove, wait_for
from sentences import check, in_scratch, skip

GEIGER = os.environ["GEIGER"]
KILL = os.environ["SEND_KILL"]
ROUNDS = int(os.environ.get("FLEET_ROUNDS", "12"))
CLOSE = 1e-9  # of a sum of doubles
FLOATS = 1e-6  # of a variance, which folded rows have as a float of 32 bits

# The sums of samples as docs/FLEET.md has them: k samples of size z and sampling interval `gap`.
SUMS = """
SELECT sum(k), sum(k * z / p), sum(k * z * z * m / (p * p)), sum(k / p) FROM
 (SELECT toFloat64({count}) AS k, toFloat64(size) AS z, if(size > 1, toFloat64(size), 1.) AS len,
   if(gap <= 1, 0., exp(-(len / gap))) AS m, if(gap <= 1, 1., 1 - m) AS p FROM {table} FINAL
  WHERE {where})"""


def ours(service):
    return f"service IN (SELECT service FROM series WHERE service_name = '{service}')"


def sums_of(store, table, count, where):
    return [float(value) for value in store.ask(SUMS.format(table=table, count=count, where=where))[0]]


def profile_sums(path, where):
    """Like sums_of(), for a profile, whose view has each block once."""
    with contextlib.closing(sqlite3.connect(path)) as base:
        return list(base.execute("select count(*), total(bytes), total(bytes_variance), total(count) "
                                 f"from v_block where {where}").fetchone())


def differs(what, found, wanted):
    """The number of samples is exact, and sums of doubles are close; variances may be floats."""
    if found[0] != wanted[0]:
        return f"{what}: {found[0]} samples are not {wanted[0]}"
    for place, (a, b) in enumerate(zip(found, wanted)):
        if abs(a - b) > (FLOATS if place == 2 else CLOSE) * max(abs(b), 1):
            return f"{what}: {found} is not {wanted}"
    return None


FOLDED = """SELECT sum(n), sum(bytes + sure_seen + missed_bytes), sum(bytes_var + sure_bytes_var),
 sum(count + sure_n + missed_count) FROM folded FINAL WHERE {where} AND metric = {metric}"""
METRICS = {"allocated": 0, "freed": 1, "live": 2}


def both_sums(store, metric, where):
    """Sums over the samples that came one by one, and those that came folded."""
    table, count = ("live", "n") if metric == "live" else ("draw", metric)
    folded = store.ask(FOLDED.format(where=where, metric=METRICS[metric]))[0]
    return [a + float(b) for a, b in zip(sums_of(store, table, count, where), folded)]


def compare(store, service, path):
    """Problems: allocated, freed and live of a service against a finished profile."""
    where = ours(service)
    last = f"{where} AND toUInt32(slot) = (SELECT max(toUInt32(slot)) FROM process WHERE {where})"
    running = store.number(f"SELECT sum(processes) FROM process FINAL WHERE {last}")
    return [
        differs("allocated", both_sums(store, "allocated", where), profile_sums(path, "origin is null")),
        differs("freed", both_sums(store, "freed", where), profile_sums(path, "end_ns is not null")),
        differs("live after the end", both_sums(store, "live", last), [0, 0, 0, 0]),
        f"{running:.0f} processes run in the last slot" if running else None,
    ]


def lacks_definitions(store, service):
    """Stacks of rows that nobody defined, and frames of stacks that have neither place nor name."""
    stacks = store.number(f"SELECT count() FROM (SELECT DISTINCT stack FROM draw WHERE {ours(service)}) "
                          f"WHERE stack NOT IN (SELECT stack FROM stack WHERE {ours(service)})")
    frames = store.number("SELECT count() FROM (SELECT DISTINCT arrayJoin(frames) AS f FROM stack WHERE "
                          f"{ours(service)}) WHERE f NOT IN (SELECT frame FROM frame) "
                          "AND f NOT IN (SELECT frame FROM symbol)")
    return f"{stacks} stacks and {frames} frames are not defined" if stacks or frames else None


def record(path, receiver, service, *command, slot="2s", more=()):
    return subprocess.run([GEIGER, "record", "-o", path, "--interval", "16KiB", "--send",
                           f"fleet://{receiver.address}", "--slot", slot, "--service", service, "--state",
                           f"state-{service}", *more, "--", *command],
                          capture_output=True, text=True, timeout=300, check=False)


def send(path, receiver, service, *more, environment=None):
    return subprocess.run([GEIGER, "send", path, "--to", f"fleet://{receiver.address}", "--slot", "2s",
                           "--service", service, "--state", f"state-{service}", *more],
                          capture_output=True, text=True, timeout=300, check=False,
                          env={**os.environ, **(environment or {})})


def test_ended(store):
    """A loaded profile counts two slots, unless it says that its processes ended."""
    at = int(time.time()) // 600 * 600 - 6000
    found = {}
    for service, more in (("stays", []), ("ended", ["--ended"])):
        for host, moment, how in (("first", at, more), ("second", at + 600, [])):
            subprocess.run([GEIGER, "fleet", "load", "p.geiger", "--store", store.folder, "--service", service,
                            "--host", host, "--at", f"@{moment}", *how], check=True, capture_output=True, timeout=120)
        reports = [subprocess.run([GEIGER, "fleet", "report", service, "--store", store.folder, "--json", "--at",
                                   f"@{moment}"], capture_output=True, timeout=120, check=True).stdout
                   for moment in (at + 300, at + 900)]
        found[service] = [json.loads(report)["fleet"]["hosts"] for report in reports]
    check("a loaded profile counts in the next slot, unless it says that its processes ended",
          None if found == {"stays": [1, 2], "ended": [1, 1]} else found)


# --- a real program, end to end ---


def test_record(store, receiver):
    """A program recorded for some slots; its profile is that of the tests below."""
    receiver.start()
    done = record("p.geiger", receiver, "shop", os.environ["FLEET_PROGRAM"], "6")
    drained = receiver.is_drained()
    check("what a recorded program sends is in the store, exactly",
          None if done.returncode == 0 else done.stderr, None if drained else "segments wait",
          *compare(store, "shop", "p.geiger"))
    slots = store.ask(f"SELECT toUInt32(slot) FROM process FINAL WHERE {ours('shop')} GROUP BY slot ORDER BY slot")
    check("each slot in which the program ran has a process row",
          None if len(slots) >= 3 else f"{len(slots)} slots",
          *[f"no slot after {a}" for (a,), (b,) in zip(slots, slots[1:]) if int(b) - int(a) != 2])
    balance = []
    for (slot,) in slots:
        where = f"{ours('shop')} AND toUInt32(slot) = {slot}"
        balance.append([slot, *(both_sums(store, metric, where)[0] for metric in METRICS)])
    held, problems = 0, []
    for slot, allocated, freed, live in balance[:-1]:
        held += int(allocated) - int(freed)
        if held != int(live):
            problems.append(f"{slot}: {live} live, but {held} by what was allocated and freed")
    held += int(balance[-1][1]) - int(balance[-1][2])
    check("live at the end of a slot is live before, and allocated, less freed", *problems,
          None if held == profile_sums("p.geiger", "end_ns is null")[0] else f"{held} at the end")
    check("each stack and frame of a row is defined", lacks_definitions(store, "shop"))
    names = store.number(f"""SELECT count() FROM symbol WHERE has(functions, 'keep_some') AND frame IN
       (SELECT arrayJoin(frames) FROM stack WHERE {ours('shop')})""")
    check("functions have their names", None if names else "no frame is called keep_some")


def functions_of(store, service):
    done = fleet("report", service, "--store", store.folder, "--metric", "allocated", "--json", "--all-frames")
    return {row["function"] for row in json.loads(done.stdout)["rows"]} if done.returncode == 0 else {done.stderr}


def test_fetches(store):
    """Senders choose build-ids and paths; requests to debuginfod have a limit."""
    asked, slow = [], threading.Event()

    class Nothing(http.server.BaseHTTPRequestHandler):
        def do_GET(self):  # pylint: disable=invalid-name
            asked.append(self.path)
            if not slow.is_set():
                self.send_error(404)
                return
            self.send_response(200)
            self.send_header("Content-Length", "1000000")
            self.end_headers()
            with contextlib.suppress(OSError):
                while slow.is_set():
                    self.wfile.write(b"x" * 100)
                    time.sleep(0.1)

        def log_message(self, *arguments):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Nothing)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    os.mkfifo("fifo")
    rows = [(f"{number:040x}", os.path.abspath("fifo")) for number in range(1, 7)] + [("no\x1bhex", "/x")]
    for number, (build_id, module) in enumerate(rows):
        store.ask(f"INSERT INTO frame VALUES (202611, {number + 1}, '{build_id}', 16, '{module}')")
    environment = {**os.environ, "DEBUGINFOD_URLS": f"http://127.0.0.1:{server.server_address[1]}",
                   "DEBUGINFOD_CACHE_PATH": os.path.abspath("debuginfod")}

    def run(*options):
        return subprocess.run([GEIGER, "fleet", "symbols", "--store", store.folder, *options], text=True,
                              capture_output=True, timeout=120, check=False, env=environment)

    def builds():
        return {path.split("/")[2] for path in asked}

    done = run("--fetch-most", "3")
    first = builds()
    for _ in range(60 if asked else 0):  # each run asks for half of them or so
        if builds() >= {row[0] for row in rows[:6]}:
            break
        run("--fetch-most", "3")
    ever = builds()
    asked.clear()
    remove("debuginfod")
    slow.set()
    late = run("--fetch-most", "2", "--fetch-time", "5")
    slow.clear()
    server.shutdown()
    store.ask("ALTER TABLE frame DELETE WHERE month = 202611 AND frame < 10")
    if not asked:
        skip("what senders chose costs a limited number of requests", "no libdebuginfod")
        return
    check("what senders chose costs a limited number of requests", None if done.returncode == 0 else done.stderr,
          None if len(first) == 3 else str(first),
          None if "sent debuginfod 3 requests" in done.stdout else done.stdout)
    check("later runs ask for what the first one did not", None if ever >= {row[0] for row in rows[:6]} else str(ever))
    check("a file that comes slowly keeps no request from the next one",
          None if late.returncode == 0 and "did not answer" not in late.stdout else late.stdout + late.stderr,
          None if len(builds()) == 2 else str(asked))
    check("a text that is no build-id is named as one", None if "no build-id" in done.stdout else done.stdout,
          None if "\x1b" not in done.stdout else "it writes to the terminal")


def test_late_replica(store):
    """Each answer of a replica that lags says so, as text and as JSON."""
    for version in "12":
        load = [GEIGER, "fleet", "load", "p.geiger", "--store", store.folder, "--service", "late", "--version", version]
        subprocess.run([*load, "--host", f"late{version}"], check=True, capture_output=True, timeout=120)
    with open("late.rules", "w", encoding="utf-8") as file:
        file.write("large late --above 1KiB --since @0\ngrowth late --before 1 --after 2 --since @0\n")
    late = LateReplica(store, 75)
    note = "This replica is 75 seconds behind the others: rows may be missing."
    verbs = (["services"], ["report", "late"], ["tree", "late"], ["timeline", "late"], ["hosts", "late"],
             ["diff", "late", "1", "2"])

    def ask(*words):
        return subprocess.run([GEIGER, "fleet", *words, "--store", late.url], capture_output=True, text=True,
                              timeout=120, check=False)

    def notes_of(answer):
        return [answer["notes"]] if "notes" in answer else [answer[side]["notes"] for side in ("before", "after")]

    def problem_of(words, is_late):
        asked, done, made = late.asked, ask(*words), ask(*words, "--json")
        text = " ".join(done.stdout.split())
        if done.returncode or made.returncode:
            return f"{words}: {done.stderr}{made.stderr}"
        if late.asked == asked:
            return f"{words}: nobody asked for the delay"
        if (note in text) != is_late or not all((note in notes) == is_late for notes in notes_of(json.loads(made.stdout))):
            return f"{words}: {done.stdout}{made.stdout}"
        return None

    problems = [problem_of(words, True) for words in verbs]
    rules = ask("rules", "late.rules")
    metric = 'geiger_rule_replica_delay_seconds{rule="%s",service="late"} %d'
    problems += [None if metric % (rule, 75) in rules.stdout and f"rule {rule}: note: {note}" in rules.stderr else str(rules)
                 for rule in ("large", "growth")]
    late.seconds = 600  # a whole slot
    rules = ask("rules", "late.rules")
    problems += [None if rules.returncode == 1 and 'evaluated{rule="large",service="late"} 0' in rules.stdout
                 and "geiger_rule_alert{" not in rules.stdout and "may lack a slot" in rules.stderr else str(rules)]
    late.seconds = 0
    problems += [problem_of(words, False) for words in (verbs[0], verbs[-1])]
    rules = ask("rules", "late.rules")
    problems += [None if metric % ("large", 0) in rules.stdout and not rules.stderr else str(rules)]
    late.shutdown()
    late.server_close()
    check("each answer of a replica that is behind says so, and rules alert no more if it lacks a slot", *problems)


def test_root(store):
    """With --root, a path that a sender chose leads to no other file."""
    program = os.environ["GEIGER"]
    notes = subprocess.run(["readelf", "-n", program], capture_output=True, text=True, check=True).stdout
    build_id = re.search(r"Build ID: ([0-9a-f]+)", notes).group(1)
    symbols = subprocess.run(["nm", program], capture_output=True, text=True, check=True).stdout
    address = int(re.search(r"^([0-9a-f]+) T main$", symbols, re.M).group(1), 16) + 4
    os.makedirs("root/bin")
    os.symlink(program, "root/bin/outside")
    shutil.copy(program, "root/bin/inside")
    problems = []
    for path, root, wanted in ((program, [], 1), (program, ["--root", "root"], 0), ("/bin/outside", ["--root", "root"], 0),
                               (f"/../../..{program}", ["--root", "root", "--debug-dir", "/usr/lib"], 0),
                               ("/bin/inside", ["--root", "root"], 1)):
        store.ask(f"INSERT INTO frame VALUES (202611, 5, '{build_id}', {address}, '{path}')")
        remove("cache")  # it knows the names by the build-id
        done = subprocess.run([GEIGER, "fleet", "symbols", "--store", store.folder, "--offline", "--dry-run", *root],
                              capture_output=True, text=True, timeout=120, check=False,
                              env={**os.environ, "XDG_CACHE_HOME": os.path.abspath("cache")})
        line = next((line for line in done.stdout.splitlines() if build_id[:16] in line), "")
        problems.append(None if f": {wanted} of 1 frames" in line else f"{path} {root}: {done.stdout}{done.stderr}")
        store.ask("ALTER TABLE frame DELETE WHERE month = 202611 AND frame = 5")
        gone = wait_for(lambda: not store.number("SELECT count() FROM frame WHERE month = 202611 AND frame = 5"))
        problems.append(None if gone else "the row stays")
    check("with --root, paths of senders lead to files below it alone", *problems)


def test_symbols(store, receiver):
    """A host runs a stripped program; the operator has the debug file, and another build."""
    program, other = os.path.abspath("another-build"), os.environ["GEIGER"]
    subprocess.run(["objcopy", "--dump-section", ".note.gnu.build-id=note", os.environ["FLEET_PROGRAM"], "same"],
                   check=True)
    with open("note", "r+b") as note:  # the store has names for the build of test_record()
        note.seek(-8, os.SEEK_END)
        note.write(os.urandom(8))
    subprocess.run(["objcopy", "--update-section", ".note.gnu.build-id=note", os.environ["FLEET_PROGRAM"], program],
                   check=True)
    subprocess.run(["strip", "-o", "stripped", program], check=True)
    subprocess.run(["objcopy", "--only-keep-debug", program, "anything.debug"], check=True)
    done = record("stripped.geiger", receiver, "stripped", "./stripped", "5")
    receiver.is_drained()
    before = functions_of(store, "stripped")
    check("functions of a stripped program have the addresses that its host knows",
          None if done.returncode == 0 else done.stderr,
          None if any(name.startswith("stripped+0x") for name in before) else str(before),
          None if not {"keep_some", "use_some"} & before else "it has names")
    os.rename("stripped", "elsewhere")  # as on a machine that does not have the program
    wrong = fleet("symbols", other, "--store", store.folder, "--offline")
    none = functions_of(store, "stripped")
    check("a file of another build names nothing", None if wrong.returncode == 0 else wrong.stderr,
          None if none == before else str(none - before))
    dry = fleet("symbols", "anything.debug", "--store", store.folder, "--offline", "--dry-run")
    still = functions_of(store, "stripped")
    check("a dry run writes no names", None if "would name" in dry.stdout else dry.stdout + dry.stderr,
          None if still == before else "it wrote names")
    named = fleet("symbols", "anything.debug", "--store", store.folder, "--offline")
    after = functions_of(store, "stripped")
    check("the debug file names the functions of all hosts",
          None if named.returncode == 0 else named.stderr,
          None if {"keep_some", "use_some", "main"} <= after else f"{named.stdout}: {after}",
          None if not any(name.startswith("stripped+0x") for name in after) else f"{after}")
    lines = store.number("SELECT count() FROM symbol FINAL WHERE has(functions, 'keep_some') AND "
                         f"arrayElement(lines, -1) > 0 AND frame IN (SELECT arrayJoin(frames) FROM stack WHERE "
                         f"{ours('stripped')})")
    check("they have lines", None if lines else "no line")
    # The host says again that it knows only addresses.
    receiver.kill()
    receiver.start()
    remove("state-stripped")
    send("stripped.geiger", receiver, "stripped")
    receiver.is_drained()
    again = functions_of(store, "stripped")
    check("a sender without symbols does not take names away", None if again == after else str(again ^ after))
    test_fetches(store)
    bad = fleet("symbols", __file__, "--store", store.folder)
    check("a file that is no program is refused", None if bad.returncode != 0 and "no ELF file" in bad.stderr
          else bad.stderr)


def test_again(store, receiver):
    """The same profile from a sender that knows nothing of the first one."""
    before = store.number(f"SELECT count() FROM draw FINAL WHERE {ours('shop')}")
    remove("state-shop")
    done = send("p.geiger", receiver, "shop")
    receiver.is_drained()
    check("a profile that is sent again changes no row",
          None if done.returncode == 0 else done.stderr,
          None if store.number(f"SELECT count() FROM draw FINAL WHERE {ours('shop')}") == before else "more rows",
          *compare(store, "shop", "p.geiger"))
    receiver.kill()
    receiver.start()
    remove("state-shop")
    send("p.geiger", receiver, "shop")
    receiver.is_drained()
    check("nor does it if the receiver forgot it, too", *compare(store, "shop", "p.geiger"))


def test_other_slots(store, receiver):
    """The same state, and slots of another length: the store would add both sets up."""
    done = send("p.geiger", receiver, "shop", "--slot", "10m")
    receiver.is_drained()
    check("a session that was sent is not sent in other slots", None if done.returncode == 1 and "twice" in done.stderr
          else done.stderr, *compare(store, "shop", "p.geiger"))


def test_many_sizes(store, receiver):
    """All that the program did in one slot, with more sizes than a slot has rows."""
    done = send("p.geiger", receiver, "wide", "--slot", "1h")
    receiver.is_drained()
    rows = store.number(f"SELECT count() FROM draw FINAL WHERE {ours('wide')}")
    folded = store.number(f"SELECT count() FROM folded FINAL WHERE {ours('wide')}")
    check("a stack with thousands of sizes comes as sums, so that a slot stays small",
          None if done.returncode == 0 else done.stderr,
          None if 0 < rows <= 8000 and 0 < folded <= 6 else f"{rows} rows, {folded} sums",
          *compare(store, "wide", "p.geiger"))


def test_forks(store, receiver):
    done = record("forks.geiger", receiver, "forks", os.environ["FORKS_PROGRAM"], "4", "3000")
    receiver.is_drained()
    with contextlib.closing(sqlite3.connect("forks.geiger")) as base:
        shared = base.execute("select count(*) from sample where origin is not null").fetchone()[0]
    check("a block that forked processes share counts once",
          None if done.returncode == 0 else done.stderr, None if shared else "no block was shared",
          *compare(store, "forks", "forks.geiger"))


# --- programs that nobody records ---


def salvaged(folder):
    """The profile of all regions, which counts shared blocks once."""
    subprocess.run([GEIGER, "salvage", "-q", "-o", "salvaged.geiger", folder], check=True, timeout=120)
    return "salvaged.geiger"


def allocated_of(path):
    """Allocated bytes and blocks of a report, which counts shared blocks once."""
    text = subprocess.run([GEIGER, "report", path, "--json", "--metric", "allocated"], check=True,
                          capture_output=True, text=True, timeout=120).stdout
    totals = json.loads(text)["totals"]
    return [totals["allocated_bytes"]["estimate"], totals["allocated_count"]["estimate"]]


def start_agent(folder, *command):
    os.makedirs(folder)
    words = subprocess.run([GEIGER, "env", "--interval", "16KiB", "--dir", os.path.abspath(folder)], check=True,
                           capture_output=True, text=True, timeout=60).stdout.split()
    return subprocess.Popen(["env", *words, *command])


def send_regions(folder, receiver, service, *more, environment=None):
    return subprocess.Popen([GEIGER, "send", folder, "--to", f"fleet://{receiver.address}", "--slot", "2s",
                             "--service", service, "--state", f"state-{service}", *more],
                            stderr=subprocess.PIPE, text=True, env={**os.environ, **(environment or {})})


def test_regions(store, receiver):
    """A program under the agent alone, with children, and a sender that is killed now and then."""
    receiver.start()
    program = start_agent("regions", os.environ["FLEET_PROGRAM"], "12", "3")
    for _ in range(3):
        sender = send_regions("regions", receiver, "region", "--every", "2s")
        time.sleep(2.3)
        sender.kill()
        sender.communicate()
    program.send_signal(signal.SIGSTOP)
    time.sleep(2)
    state = salvaged("regions")
    before = store.number(f"SELECT toUInt32(max(slot)) FROM process WHERE {ours('region')}")
    sender = send_regions("regions", receiver, "region", "--every", "2s")
    wait_for(lambda: receiver.is_drained() and
             store.number(f"SELECT toUInt32(max(slot)) FROM process WHERE {ours('region')}") > before + 2)
    last = int(store.number(f"SELECT toUInt32(max(slot)) FROM process WHERE {ours('region')}"))
    with contextlib.closing(sqlite3.connect(state)) as base:
        shared = base.execute("select count(*) from sample where origin is not null and origin <> id").fetchone()[0]
    running, rss = store.ask("SELECT sum(processes), sum(rss) FROM process FINAL WHERE "
                             f"{ours('region')} AND toUInt32(slot) = {last}")[0]
    check("processes that do nothing still run, and have a size", None if running == "4" else f"{running} run",
          None if 4 << 20 < int(rss) < 1 << 30 else f"{rss} bytes")
    live = differs("live", sums_of(store, "live", "n", f"{ours('region')} AND toUInt32(slot) = {last}"),
                   profile_sums(state, "end_ns is null"))
    check("live blocks of processes that nobody records are those of their regions, shared ones once",
          None if shared else "no block is shared", live)
    program.send_signal(signal.SIGCONT)
    program.wait(120)
    sender.send_signal(signal.SIGTERM)
    errors = sender.communicate()[1]
    rest = send_regions("regions", receiver, "region")
    rest.communicate()
    receiver.is_drained()
    sums = both_sums(store, "allocated", ours("region"))
    found, wanted = [sums[1], sums[3]], allocated_of(salvaged("regions"))
    check("what they allocated is in the store once, though the sender was killed",
          differs("allocated", [0, *found], [0, *wanted]),
          None if sender.returncode == 0 and rest.returncode == 0 else errors)
    check("stacks of regions are defined", lacks_definitions(store, "region"))
    last = f"{ours('region')} AND toUInt32(slot) = (SELECT max(toUInt32(slot)) FROM process WHERE {ours('region')})"
    check("after the end of all processes their series has none, and nothing live",
          None if store.number(f"SELECT sum(processes) FROM process FINAL WHERE {last}") == 0 else "some run",
          None if store.number(f"SELECT count() FROM live FINAL WHERE {last}") == 0 else "live rows")
    receiver.kill()


def test_wrong_clock(store, receiver):
    """The note of a sender whose clock was ten days ahead."""
    receiver.start()
    program = start_agent("regions-lost", os.environ["FLEET_PROGRAM"], "30")
    words = ["--every", "2s"]
    ahead = send_regions("regions-lost", receiver, "ahead", *words,
                         environment={"LD_PRELOAD": KILL, "CLOCK_SHIFT": "864000"})
    time.sleep(4)
    ahead.kill()
    ahead.communicate()
    sender = send_regions("regions-lost", receiver, "ahead", *words)
    has_any = wait_for(lambda: program.poll() is not None or
                       store.number(f"SELECT count() FROM process WHERE {ours('ahead')}") > 0)
    found = store.number(f"SELECT count() FROM process WHERE {ours('ahead')}")
    check("a note from the future silences no host", None if has_any and found else "nothing was sent")
    # A receiver takes slots that are a minute ahead, so they must not come again.
    near = send_regions("regions-lost", receiver, "near", *words,
                        environment={"LD_PRELOAD": KILL, "CLOCK_SHIFT": "60"})
    has_near = wait_for(lambda: store.number(f"SELECT count() FROM process WHERE {ours('near')}") > 0)
    near.kill()
    near.communicate()
    receiver.is_drained()
    slots = f"SELECT count() FROM (SELECT DISTINCT slot FROM process WHERE {ours('near')})"
    before = store.number(slots)
    again = send_regions("regions-lost", receiver, "near", *words)
    time.sleep(5)
    again.send_signal(signal.SIGTERM)
    again.communicate()
    receiver.is_drained()
    check("a clock that is set back repeats no slot",
          None if has_near else "nothing was sent", None if store.number(slots) == before else "slots came again")
    # Far back: a receiver whose clock was right then has taken the slots that come again.
    back = send_regions("regions-lost", receiver, "back", *words)
    has_back = wait_for(lambda: store.number(f"SELECT count() FROM (SELECT DISTINCT slot FROM process "
                                             f"WHERE {ours('back')})") >= 4)
    back.send_signal(signal.SIGTERM)
    back.communicate()
    receiver.is_drained()
    looks = f"SELECT sum(n) FROM live WHERE {ours('back')}"
    first = store.number(f"SELECT min(toUInt32(slot)) FROM process WHERE {ours('back')}")
    before = store.number(looks)
    shift = {"LD_PRELOAD": KILL, "CLOCK_SHIFT": "3600"}
    hour_ahead = send_regions("regions-lost", receiver, "back", *words, environment=shift)
    time.sleep(5)  # the receiver refuses its slots; the next sender is an hour further back
    hour_ahead.kill()
    hour_ahead.communicate()
    again = send_regions("regions-lost", receiver, "back", *words,
                         environment={"LD_PRELOAD": KILL, "CLOCK_SHIFT": str(round(first + 3 - time.time()))})
    time.sleep(3)
    again.kill()
    again.communicate()
    receiver.is_drained()
    check("a clock that is set back far repeats no slot", None if has_back else "nothing was sent",
          None if store.number(looks) == before else f"{store.number(looks):.0f} live samples, not {before:.0f}")
    program.kill()
    program.communicate()
    sender.send_signal(signal.SIGTERM)
    sender.communicate()
    receiver.kill()


def test_clock_ahead(store, receiver):
    """The clock of a sender is set ahead while it sends a profile that grows."""
    receiver.start()
    recorded = subprocess.Popen([GEIGER, "record", "-q", "-o", "ahead.geiger", "--interval", "16KiB", "--",
                                 os.environ["FLEET_PROGRAM"], "6"], stderr=subprocess.DEVNULL)
    wait_for(lambda: os.path.exists("ahead.geiger"))
    sent = send("ahead.geiger", receiver, "set-ahead", "--every", "1s",
                environment={"LD_PRELOAD": KILL, "CLOCK_SHIFT": "20", "CLOCK_SHIFT_AFTER": "2"})
    recorded.wait(60)
    receiver.is_drained()
    check("a clock that is set ahead loses nothing of a recording", None if sent.returncode == 0 else sent.stderr,
          *compare(store, "set-ahead", "ahead.geiger"))
    # The sender begins when the clock is ahead already, as after a suspension.
    recorded = subprocess.Popen([GEIGER, "record", "-q", "-o", "begins.geiger", "--interval", "16KiB", "--",
                                 os.environ["FLEET_PROGRAM"], "4"], stderr=subprocess.DEVNULL)
    wait_for(lambda: os.path.exists("begins.geiger"))
    sent = send("begins.geiger", receiver, "begins", "--every", "1s",
                environment={"LD_PRELOAD": KILL, "CLOCK_SHIFT": "20"})
    recorded.wait(60)
    receiver.is_drained()
    check("a sender whose clock begins ahead of a recording loses nothing",
          None if sent.returncode == 0 else sent.stderr, *compare(store, "begins", "begins.geiger"))
    receiver.kill()


def test_lost_note(store, receiver):
    """A sender without a note does not send the slot that an earlier one may have sent."""
    receiver.start()
    program = start_agent("regions-new", os.environ["FLEET_PROGRAM"], "30")
    wait_for(lambda: os.listdir("regions-new"))
    time.sleep(1)  # so that it has samples
    before = time.time() // 86400 * 86400
    sender = send_regions("regions-new", receiver, "new", "--slot", "1d", "--every", "1d")
    noted = wait_for(lambda: any("fleet-regions.totals" in names for _, _, names in os.walk("state-new")))
    time.sleep(2)  # for what it may send, although it should not
    sender.kill()
    sender.communicate()
    receiver.is_drained()
    found = store.number(f"SELECT count() FROM process WHERE {ours('new')} AND toUInt32(slot) < {before:.0f}")
    check("a sender without a note begins with the next slot", None if noted else os.listdir("state-new"),
          None if found == 0 else f"{found} rows")
    program.kill()
    program.wait()
    receiver.kill()


# --- kills and outages ---


def count_steps(receiver, name):
    """How many steps a receiver takes for the profile, with nobody killed."""
    receiver.kill()
    receiver.start({"LD_PRELOAD": KILL, "KILL_COUNT": os.path.abspath("steps")})
    send("p.geiger", receiver, name)
    receiver.is_drained()
    receiver.kill(15)
    with open("steps", encoding="utf-8") as file:
        return int(file.read())


def chosen(steps):
    """Pairs of a step and whether the call happens first."""
    every = [(step, after) for step in range(1, steps + 1) for after in (False, True)]
    return every if ROUNDS == 0 else every[:: max(1, len(every) // ROUNDS)]


def test_receiver_kills(store, receiver):
    steps = count_steps(receiver, "counted")
    problems, killed = [], 0
    for step, after in chosen(steps):
        name = f"kill{step}{'a' if after else 'b'}"
        receiver.start({"LD_PRELOAD": KILL, "KILL_AT": str(step), **({"KILL_AFTER": "1"} if after else {})})
        send("p.geiger", receiver, name, "--timeout", "2s", "--flush", "1s")
        wait_for(lambda: receiver.process.poll() is not None or not receiver.segments())
        killed += receiver.process.poll() is not None
        receiver.kill()
        receiver.start()
        done = send("p.geiger", receiver, name)
        if done.returncode != 0:
            problems.append(f"{name}: {done.stderr}")
        if not receiver.is_drained():
            problems.append(f"{name}: segments wait")
        found = [f"{name}: {problem}" for problem in compare(store, name, "p.geiger") if problem]
        problems += found + [lacks_definitions(store, name)]
        receiver.kill()
    check(f"a receiver that is killed at any of its steps ({killed} kills at {steps} steps) loses and "
          "doubles nothing", None if killed else "it was never killed", *problems)


def test_sender_kills(store, receiver):
    receiver.start()
    send("p.geiger", receiver, "steps", environment={"LD_PRELOAD": KILL, "KILL_COUNT": os.path.abspath("steps")})
    with open("steps", encoding="utf-8") as file:
        steps = int(file.read())
    problems = []
    for step, after in chosen(steps):
        name = f"sender{step}{'a' if after else 'b'}"
        send("p.geiger", receiver, name, environment={"LD_PRELOAD": KILL, "KILL_AT": str(step),
                                                       **({"KILL_AFTER": "1"} if after else {})})
        done = send("p.geiger", receiver, name)
        if done.returncode != 0:
            problems.append(f"{name}: {done.stderr}")
        receiver.is_drained()
        problems += [f"{name}: {problem}" for problem in compare(store, name, "p.geiger") if problem]
    check(f"a sender that is killed at any of its {steps} steps loses and doubles nothing", *problems)


def test_outage(store, receiver):
    """The receiver is away while the program runs, and comes back at its end."""
    receiver.kill()
    done = record("away.geiger", receiver, "away", os.environ["FLEET_PROGRAM"], "4")
    waiting = re.search(r"(\d+) wait", done.stderr)
    receiver.start()
    later = send("away.geiger", receiver, "away")
    receiver.is_drained()
    check("slots of an outage wait in the sender's state", None if waiting else done.stderr,
          None if later.returncode == 0 else later.stderr, *compare(store, "away", "away.geiger"))
    receiver.kill()


def test_store_outage(store):
    """The store stops; the receiver answers on, and says so."""
    receiver = Receiver("http://127.0.0.1:9", "segments-off")
    receiver.start()
    done = send("p.geiger", receiver, "off")
    wait_for(lambda: receiver.metric("geiger_fleet_store_failing") == 1)
    waits = len(receiver.segments())
    receiver.kill()
    again = Receiver(store.folder, "segments-off")
    again.start()
    again.is_drained()
    check("segments wait while the store is away, and survive the receiver",
          None if done.returncode == 0 else done.stderr, None if waits else "no segment waits",
          *compare(store, "off", "p.geiger"))
    again.kill()


def test_connections(store):
    """The network between sender and receiver is cut, and that between receiver and store."""
    seconds = float(os.environ.get("FLEET_CUT", "2"))
    to_store = Network(store.url.removeprefix("http://"))
    receiver = Receiver(f"http://default:{store.password}@{to_store.address}", "segments-cut")
    receiver.start()
    to_receiver = Network(receiver.address)
    program = subprocess.Popen([GEIGER, "record", "-q", "-o", "cut.geiger", "--interval", "16KiB", "--send",
                                f"fleet://{to_receiver.address}", "--slot", "1s", "--service", "cut", "--state",
                                "state-cut", "--", os.environ["FLEET_PROGRAM"], str(int(2 * seconds + 2))],
                               stderr=subprocess.DEVNULL)
    time.sleep(1.5)
    for network in (to_receiver, to_store):
        network.cut(seconds)
        time.sleep(seconds)
    program.wait(120)
    later = send("cut.geiger", receiver, "cut", "--slot", "1s")
    drained = receiver.is_drained()
    check("a network that is cut loses and doubles nothing", None if later.returncode == 0 else later.stderr,
          None if drained else "segments wait", *compare(store, "cut", "cut.geiger"))
    receiver.kill()


def test_full_disk(store):
    """The receiver's disk has room for a part of a segment."""
    disk = Tmpfs("small-disk", "4m")
    try:
        if not disk.is_there:
            skip("a full disk keeps no part of a slot", "no tmpfs")
            return
        receiver = Receiver(store.folder, os.path.join(disk.folder, "segments"))
        receiver.start()
        problems = []
        rooms = (4 << 10, 48 << 10, 96 << 10)
        for room in rooms:
            disk.fill(room)
            done = send("p.geiger", receiver, "full", "--timeout", "3s", "--flush", "1s")
            there = os.listdir(receiver.folder)
            disk.free()
            # On a loaded machine the program has allocated less, and a larger room may do.
            problems += [None if done.returncode != 0 or room > rooms[0] else f"there is room in {room} bytes",
                         *[f"{name} is left" for name in there if "part" in name or "tmp" in name]]
        refused = 'reason="disk"} 0' not in receiver.get("/metrics")[2].decode()
        receiver.kill()
        receiver.start()  # it would ask to wait for a minute
        remove("state-full")
        done = send("p.geiger", receiver, "full")
        drained = receiver.is_drained()
        check("a full disk keeps no part of a slot, and the slot comes again", *problems,
              None if refused else "no refusal was counted", None if done.returncode == 0 else done.stderr,
              None if drained else "segments wait", *compare(store, "full", "p.geiger"))
        receiver.kill()
    finally:
        disk.done()


def test_two_receivers(store):
    """Two receivers serve one store at once; a sender goes from one to the other."""
    receivers = [Receiver(store.folder, f"segments-two-{number}") for number in range(2)]
    for receiver in receivers:
        receiver.start()
    program = subprocess.Popen([GEIGER, "record", "-q", "-o", "two.geiger", "--interval", "16KiB", "--send",
                                f"fleet://{receivers[0].address}", "--slot", "1s", "--service", "two", "--state",
                                "state-two", "--", os.environ["FLEET_PROGRAM"], "4"], stderr=subprocess.DEVNULL)
    # Meanwhile the same profile comes to both, from senders that know nothing of each other.
    sends = [threading.Thread(target=send, args=("p.geiger", receiver, "both", "--state", f"state-both-{number}"))
             for number, receiver in enumerate(receivers)]
    for thread in sends:
        thread.start()
    time.sleep(2)
    receivers[0].kill()  # with what it has not inserted
    program.wait(120)
    for thread in sends:
        thread.join()
    rest = send("two.geiger", receivers[1], "two", "--slot", "1s")
    again = send("p.geiger", receivers[1], "both", "--state", "state-both-0")
    receivers[0].start()
    drained = all(receiver.is_drained() for receiver in receivers)
    check("two receivers of one store lose and double nothing, whichever of them a sender asks",
          None if rest.returncode == again.returncode == 0 else rest.stderr + again.stderr,
          None if drained else "segments wait", *compare(store, "two", "two.geiger"), *compare(store, "both", "p.geiger"))
    for receiver in receivers:
        receiver.kill()


def test_short_programs(store, receiver):
    """Programs that end within a slot, and their sizes."""
    receiver.start()
    size = 48 << 20
    body = f"import os\nblock = bytearray({size})\nfor at in range(0, {size}, 4096): block[at] = 1\nos._exit(0)\n"
    shared = ["--send", f"fleet://{receiver.address}", "--slot", "1d", "--service", "short", "--state", "state-short"]
    done = subprocess.run([GEIGER, "record", "-q", "-o", "short.geiger", *shared, "--", "/usr/bin/python3", "-S", "-c", body],
                          capture_output=True, text=True, timeout=120, check=False)
    later = send("short.geiger", receiver, "short", "--slot", "1d")
    loaded = fleet("load", "short.geiger", "--store", store.folder, "--service", "short-loaded", "--host", "x")
    receiver.is_drained()
    rows = store.ask(f"SELECT processes, rss, live_bytes FROM process FINAL WHERE {ours('short')}")
    rss = store.number(f"SELECT sum(rss) FROM process FINAL WHERE {ours('short-loaded')}")
    allocated = both_sums(store, "allocated", ours("short"))[1]
    check("a program that is shorter than a slot is none at the slot's end, and what it allocated counts",
          None if done.returncode == later.returncode == 0 else done.stderr + later.stderr,
          *[f"its row is {row}" for row in rows if row != ["0", "0", "0"]],
          None if allocated >= size else f"it allocated {allocated}")
    report = fleet("report", "short", "--store", store.folder, "--metric", "allocated", "--json")
    found = json.loads(report.stdout)["selected_bytes"]["estimate"] if report.returncode == 0 else 0
    listed = [row["hosts"] for row in json.loads(fleet("services", "--store", store.folder, "--json").stdout)["services"]
              if row["service"] == "short"]
    check("a service of short programs is listed, and its report has what they allocated",
          None if size <= found < 2 * size else f"{found} bytes: {report.stderr}", None if listed == [0] else f"hosts {listed}")
    check("the size of a short program's profile is the largest that the kernel saw",
          None if loaded.returncode == 0 else loaded.stderr, None if size < rss < 3 * size else f"{rss} bytes")
    receiver.kill()


# --- limits, tokens, tenants ---


def varint(value):
    made = bytearray()
    while value >= 128:
        made.append(value & 127 | 128)
        value >>= 7
    return bytes([*made, value])


def test_limits(store):
    receiver = Receiver("http://127.0.0.1:9", "segments-small", "--queue", "1KiB")
    receiver.start()
    send("p.geiger", receiver, "small", "--flush", "1s")
    status, headers, _ = receiver.get("/v1/fleet/slot", b"x")
    check("a full queue answers 429 with a time", None if status == 429 else status,
          None if int(headers.get("Retry-After", "0")) > 0 else "no Retry-After")
    receiver.kill()
    receiver = Receiver(store.folder, "segments-limits")
    receiver.start()
    answers = {
        "rubbish": (receiver.get("/v1/fleet/slot", b"GGFLEETS\x01" + b"\xff" * 40)[0], 400),
        "nothing": (receiver.get("/v1/fleet/slot", b"")[0], 400),
        "5 MB": (receiver.announce("/v1/fleet/slot", 5 << 20), 413),
        "names of the past": (receiver.get("/v1/fleet/stacks", b"GGFLEETD\x01\x01h\x01\0\0\0")[0], 400),
        "names of now": (receiver.get("/v1/fleet/stacks", b"GGFLEETD\x01\x01h" + varint(int(time.time())) +
                                      b"\0\0\0")[0], 200),
        "another path": (receiver.get("/v1/fleet/other", b"x")[0], 404),
        "another method": (receiver.get("/v1/fleet/slot")[0], 405),
        "health": (receiver.get("/healthz")[0], 200),
    }
    check("a message that the receiver cannot take gets the answer that says so",
          *[f"{what}: {found} is not {wanted}" for what, (found, wanted) in answers.items() if found != wanted])
    old = send("p.geiger", receiver, "ancient", environment={"LD_PRELOAD": KILL, "CLOCK_SHIFT": "0"})
    receiver.kill()
    receiver.start(None, "--oldest", "1s")
    late = send("p.geiger", receiver, "late")
    check("a slot that is too old is refused, counted, and reported",
          None if old.returncode == 0 else old.stderr,
          None if late.returncode == 1 and "older" in late.stderr else late.stderr,
          None if receiver.get("/metrics")[2].decode().count('reason="time"} 0') == 0 else "not counted")
    receiver.kill()


def test_tokens(store):
    token, proxy = "a" * 32, "b" * 32
    with open("tokens", "w", encoding="utf-8") as file:
        file.write(f"# tokens\n{token} acme\n{proxy} *\n")
    os.chmod("tokens", 0o600)
    for name, line in {"good": token, "bad": "c" * 32}.items():
        with open(f"headers-{name}", "w", encoding="utf-8") as file:
            file.write(f"Authorization: Bearer {line}\n")
    subprocess.run([GEIGER, "fleet", "schema", "--apply", "--store", store.folder, "--tenant", "acme"],
                   check=True, capture_output=True, timeout=120)
    receiver = Receiver(store.folder, "segments-tokens", "--tokens", "tokens")
    receiver.start()
    # A tenant without tables comes first, and must not hold up the other one.
    with open("headers-ghost", "w", encoding="utf-8") as file:
        file.write(f"Authorization: Bearer {proxy}\nX-Scope-OrgID: ghost\n")
    ghost = send("p.geiger", receiver, "shop", "--headers", "headers-ghost", "--state", "state-ghost")
    good = send("p.geiger", receiver, "shop", "--headers", "headers-good", "--state", "state-good")
    bad = send("p.geiger", receiver, "shop", "--headers", "headers-bad", "--state", "state-bad")
    wanted = profile_sums("p.geiger", "origin is null")[0]

    def has_all():
        return wanted == (store.number("SELECT sum(allocated) FROM draw FINAL", "acme") +
                          store.number("SELECT sum(n) FROM folded FINAL WHERE metric = 0", "acme"))

    wait_for(has_all)
    waits = len(receiver.segments())
    subprocess.run([GEIGER, "fleet", "schema", "--apply", "--store", store.folder, "--tenant", "ghost"],
                   check=True, capture_output=True, timeout=120)
    check("a tenant without tables waits, and holds up no other one", None if ghost.returncode == 0 else ghost.stderr,
          None if waits else "nothing waits", None if receiver.is_drained() else "segments wait")
    there = (store.number("SELECT sum(allocated) FROM draw FINAL", "acme") +
             store.number("SELECT sum(n) FROM folded FINAL WHERE metric = 0", "acme"))
    check("a token says whose database a slot belongs to", None if good.returncode == 0 else good.stderr,
          None if there == wanted else there,
          None if bad.returncode == 1 and "token" in bad.stderr else bad.stderr)
    cases = [({}, 401), ({"Authorization": "Bearer "}, 401), ({"Authorization": f"Bearer {token}x"}, 401),
             ({"Authorization": f"Bearer {token}", "X-Scope-OrgID": "other"}, 403),
             ({"Authorization": f"Bearer {proxy}"}, 403),
             ({"Authorization": f"Bearer {proxy}", "X-Scope-OrgID": "system"}, 403),
             ({"Authorization": f"Bearer {proxy}", "X-Scope-OrgID": "a`; DROP"}, 403),
             ({"Authorization": f"Bearer {proxy}", "X-Scope-OrgID": "acme"}, 400),
             ({"Authorization": "Basic !!!!"}, 401)]
    found = [receiver.get("/v1/fleet/slot", b"x", headers)[0] for headers, _ in cases]
    check("no other token, tenant or text gets in",
          *[f"{headers}: {status} is not {wanted}"
            for status, (headers, wanted) in zip(found, cases) if status != wanted])
    os.chmod("tokens", 0o644)
    receiver.kill()
    refused = subprocess.run([GEIGER, "fleet", "receive", "--store", store.folder, "--directory", "other",
                              "--tokens", "tokens"], capture_output=True, text=True, timeout=60, check=False)
    public = subprocess.run([GEIGER, "fleet", "receive", "--store", store.folder, "--directory", "other",
                             "--listen", "0.0.0.0:0"], capture_output=True, text=True, timeout=60, check=False)
    check("tokens that everybody can read, and a public address without tokens, are refused",
          None if refused.returncode == 1 and "read" in refused.stderr else refused.stderr,
          None if public.returncode == 2 and "token" in public.stderr else public.stderr)


# --- stores that fail, and clients that are slow ---


class FailingStore:
    """Answers inserts: an error for one tenant, nothing at all when it hangs, else success."""

    def __init__(self):
        outer = self
        self.hangs = threading.Event()
        self.served = {"bad": 0, "good": 0}

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):  # pylint: disable=invalid-name
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                if outer.hangs.is_set():
                    time.sleep(1000)
                tenant = "bad" if "%60bad%60" in self.path else "good"
                outer.served[tenant] += 1
                text = b"Code: 252, e.displayText() = DB::Exception: Too many parts" if tenant == "bad" else b""
                self.send_response(500 if text else 200)
                self.send_header("Content-Length", str(len(text)))
                self.send_header("Connection", "close")
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *arguments):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


def test_failing_tenant():
    store = FailingStore()
    with open("tokens-two", "w", encoding="utf-8") as file:
        file.write(f"{'d' * 32} bad\n{'e' * 32} good\n")
    os.chmod("tokens-two", 0o600)
    receiver = Receiver(store.url, "segments-two", "--tokens", "tokens-two")
    receiver.start()
    for tenant, letter in (("bad", "d"), ("good", "e")):
        with open(f"headers-{tenant}-one", "w", encoding="utf-8") as file:
            file.write(f"Authorization: Bearer {letter * 32}\n")
        send("p.geiger", receiver, tenant, "--headers", f"headers-{tenant}-one")
        if tenant == "bad":
            wait_for(lambda: store.served["bad"] > 0)
    good = wait_for(lambda: receiver.metric("geiger_fleet_inserted_segments_total"))
    check("a tenant whose inserts fail holds up no other one, and keeps its segments",
          None if good else "nothing was inserted", None if receiver.segments() else "no segment waits",
          None if not [name for name in os.listdir("segments-two") if "damaged" in name] else "some are damaged")
    store.hangs.set()
    send("p.geiger", receiver, "late", "--headers", "headers-good-one")
    receiver.kill(signal.SIGTERM)
    check("a receiver ends soon after SIGTERM, though the store does not answer")


def test_slow_clients(store):
    receiver = Receiver(store.folder, "segments-slow")
    receiver.start()
    host, port = receiver.address.split(":")
    clients = []
    for _ in range(520):
        client = socket.socket()
        client.bind(("127.0.0.2", 0))
        client.connect((host, int(port)))
        with contextlib.suppress(OSError):
            client.send(b"POST /v1/fleet/slot HTTP/1.1\r\n")
        clients.append(client)
    status = receiver.get("/healthz")[0]
    check("connections of one address leave some to others", None if status == 200 else status)

    for client in clients[1:]:
        client.close()
    return receiver, clients[0]


def test_trickle(receiver, client):
    """The client of test_slow_clients() has sent its head for a while now, and goes on."""

    def is_closed():
        try:
            client.send(b"A")
            client.settimeout(1)
            return client.recv(1) == b""
        except TimeoutError:
            return False
        except OSError:
            return True

    closed = False
    for _ in range(90):
        closed = closed or is_closed()
    check("a request that comes a byte at a time loses its connection", None if closed else "it is open")
    client.close()
    receiver.kill()


# --- the folder of a store ---


def started_ticks(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        return file.read().rsplit(")", 1)[1].split()[19]


def make_place(folder, pid):
    """A folder whose file names a process as its server."""
    os.makedirs(folder, mode=0o700)
    with open(os.path.join(folder, "server"), "w", encoding="utf-8") as file:
        file.write(f"pid {pid}\nstart {started_ticks(pid) if pid else 0}\nport 9\npassword {'0' * 32}\n")


def fleet(*words):
    return subprocess.run([GEIGER, "fleet", *words], capture_output=True, text=True, timeout=600, check=False)


def test_owner():
    sleeper = subprocess.Popen(["sleep", "1000"])
    try:
        problems = []
        make_place("shared", sleeper.pid)
        os.chmod("shared", 0o777)
        make_place("shared-file", sleeper.pid)
        os.chmod("shared-file/server", 0o666)
        make_place("linked", sleeper.pid)
        os.rename("linked/server", "linked-server")
        os.symlink("../linked-server", "linked/server")
        places = ["shared", "shared-file", "linked"]
        if os.geteuid() == 0:
            make_place("foreign", sleeper.pid)
            os.chown("foreign", 65534, 65534)
            make_place("foreign-file", sleeper.pid)
            os.chown("foreign-file/server", 65534, 65534)
            places += ["foreign", "foreign-file"]
        for place in places:
            for verb in ("down", "up"):
                done = fleet(verb, place)
                if done.returncode == 0 or sleeper.poll() is not None:
                    problems.append(f"fleet {verb} {place}: {done.stdout} {done.stderr}")
        check("a folder that another user may write is no store, and no process is ended for it", *problems)
    finally:
        sleeper.kill()
        sleeper.wait()
    make_place("idle", 0)
    was = os.umask(0o022)
    done = fleet("down", "idle")
    os.umask(was)
    mode = os.stat("idle/server").st_mode & 0o777
    check("only the owner reads the password of a store that was stopped",
          None if done.returncode == 0 else done.stderr, None if mode == 0o600 else oct(mode))


# --- shares of hosts ---


def mixed(key, seed):
    """gg_hash_integer()"""
    mask = (1 << 64) - 1
    key ^= seed
    for factor in (0xff51afd7ed558ccd, 0xc4ceb9fe1a85ec53):
        key = (key ^ key >> 33) * factor & mask
    return key ^ key >> 33


def test_shares(store):
    """Five of forty hosts should send stacks; then six more run for some slots."""
    receiver = Receiver(store.folder, "segments-shares", "--hosts", "5", "--tenant-rate", "1GiB")
    receiver.start()
    for number in range(40):
        send("p.geiger", receiver, "many", "--label", f"host.name=old{number}", "--state", "none")
    programs = [subprocess.Popen([GEIGER, "record", "-q", "-o", f"many{number}.geiger", "--interval", "64KiB",
                                  "--send", f"fleet://{receiver.address}", "--slot", "1s", "--service", "many",
                                  "--label", f"host.name=new{number}", "--state", "none", "--",
                                  os.environ["FLEET_PROGRAM"], "7"], stderr=subprocess.DEVNULL)
                for number in range(6)]
    for program in programs:
        program.wait(120)
    receiver.is_drained()
    service = int(store.ask("SELECT any(service) FROM series WHERE service_name = 'many'")[0][0])
    # A slot in which nothing was allocated has nothing to send.
    rows = store.ask(f"SELECT host, toUInt32(slot), selected_ppm FROM process FINAL WHERE {ours('many')} "
                     "AND selected_ppm < 1000000 AND allocated_bytes > 0")
    sent = {tuple(row) for table in ("draw", "folded") for row in store.ask(
        f"SELECT host, toUInt32(slot) FROM {table} WHERE {ours('many')} GROUP BY host, slot")}
    problems = []
    for host, slot, ppm in rows:
        # A share between 5 of 46 and 5 of 40, but for the error of the estimate.
        chance = mixed(mixed(int(host), service), int(slot) // 3600) % 1000000
        if ((host, slot) in sent) != (int(ppm) > 0):
            problems.append(f"host {host}, slot {slot}: {ppm} of a million, and {(host, slot) in sent}")
        if (int(ppm) > 0) != (chance < (int(ppm) or 125000)) and not 60000 < chance < 250000:
            problems.append(f"host {host} drew {chance}, but its row says {ppm}")
        if int(ppm) > 0 and not 60000 < int(ppm) < 250000:
            problems.append(f"{ppm} of a million hosts is far from 5 of 40 to 46")
    check("hosts of a large service send stacks by the share that the receiver answers, and it is recorded",
          None if len({host for host, _, _ in rows}) == 6 else f"{len(rows)} rows with a share", *problems)
    receiver.kill()


def main():
    store = Store(os.path.abspath("store"))
    if store.url is None:
        skip("what a recorded program sends is in the store, exactly", store.why)
        return
    receiver = Receiver(store.folder, "segments")
    try:
        test_owner()
        test_record(store, receiver)
        test_ended(store)
        test_late_replica(store)
        test_root(store)
        test_symbols(store, receiver)
        test_again(store, receiver)
        test_other_slots(store, receiver)
        test_many_sizes(store, receiver)
        test_forks(store, receiver)
        receiver.kill()
        test_regions(store, receiver)
        test_lost_note(store, receiver)
        test_wrong_clock(store, receiver)
        test_clock_ahead(store, receiver)
        test_receiver_kills(store, receiver)
        test_sender_kills(store, receiver)
        test_outage(store, receiver)
        test_store_outage(store)
        test_connections(store)
        test_full_disk(store)
        test_two_receivers(store)
        test_short_programs(store, receiver)
        slow = test_slow_clients(store)
        test_failing_tenant()
        test_limits(store)
        test_tokens(store)
        test_shares(store)
        test_trickle(*slow)
    finally:
        receiver.kill()
        store.down()


if __name__ == "__main__":
    sys.exit(in_scratch(main))
