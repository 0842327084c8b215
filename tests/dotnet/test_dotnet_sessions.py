#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sessions with runtimes of .NET, which fake_runtime.py plays: `geiger record` follows them, and
`geiger attach` finds them.  A runtime that misbehaves costs its own samples alone.

GEIGER, DOTNET_STREAMS: the programs.
"""

import csv
import gzip
import io
import json
import math
import os
import pathlib
import re
import shutil
import resource
import signal
import subprocess
import sys
import threading
import time
import urllib.request

from send_receiver import Receiver, otlp_profiles
from sentences import check, in_scratch, skip

GEIGER = os.environ["GEIGER"]
FAKE = (sys.executable, str(pathlib.Path(__file__).parent / "fake_runtime.py"))
FAKE_TEXT = " ".join(FAKE)
LIMIT = 200  # seconds after which something hangs
COUNT = 1000
MANAGED_BYTES = COUNT * 200000 / -math.expm1(200000 * math.log1p(-1 / 102400))  # that so many samples stand for
OF_DOTNET = "sample join heap on heap.id = sample.heap where heap.name like '.NET%'"
SAMPLES = "select count(*) from " + OF_DOTNET


def run(*words, **environment):
    return subprocess.run([GEIGER, *words], capture_output=True, text=True, timeout=LIMIT,
                          env={**os.environ, **environment})


def ask(profile, question):
    """The rows of an answer, as lists of texts."""
    got = run("sql", "--csv", profile, question)
    return list(csv.reader(io.StringIO(got.stdout)))[1:] if got.returncode == 0 else [[got.stderr]]


def one(profile, question):
    return ask(profile, question)[0][0]


def is_whole(profile):
    got = run("check", profile)
    return None if got.returncode == 0 else got.stdout + got.stderr


def same(what, found, wanted):
    return None if str(found) == str(wanted) else f"{what}: {found}, not {wanted}"


def record(profile, *words, options=(), **environment):
    """Records a fake runtime; returns what the command printed, or why that failed."""
    got = run("record", "-o", profile, *options, "--", *words, **environment)
    return got.stdout.strip() if got.returncode == 0 else f"status {got.returncode}: {got.stderr}"


def recorded():
    said = record("r.geiger", *FAKE, "good", str(COUNT))
    check("a_recorded_runtime_gets_one_session", same("commands", said, "done 2.6"))
    check("its_samples_are_in_the_profile", same("samples", one("r.geiger", SAMPLES), COUNT), is_whole("r.geiger"))
    check("they_belong_to_the_process_that_malloc_has",
          same("processes", one("r.geiger", "select count(*) from process"), 1),
          same("process", one("r.geiger", SAMPLES + " and process <> 1"), 0))
    check("they_have_names_without_a_list_of_methods",
          same("stacks", ask("r.geiger", "select function from symbol where function like 'Shop%' order by 1"),
               [["Shop.Cart.Add"], ["Shop.Program.Main"]]))
    check("without_a_collection_all_objects_live",
          same("live", one("r.geiger", SAMPLES + " and t_free is null"), COUNT),
          same("notes", one("r.geiger", "select count(*) from note where text like '%live%'"), 0))
    first, last = ask("r.geiger", "select min(t_alloc), max(t_alloc) from " + OF_DOTNET)[0]
    start, end = ask("r.geiger", "select start_ns, end_ns from process")[0]
    check("their_times_are_those_of_the_session",
          None if int(start) < int(first) and int(last) - int(first) == (COUNT - 1) * 1000 and int(last) < int(end)
          else f"{start} {first} {last} {end}")
    said = record("n.geiger", *FAKE, "good", options=["--no-dotnet"], FAKE_SECONDS="0.2")
    check("no_dotnet_leaves_them_out", same("commands", said, "done"), same("samples", one("n.geiger", SAMPLES), 0))
    said = record("x.geiger", *FAKE, "good", options=["--exact"], FAKE_SECONDS="0.2")
    check("exact_counts_leave_them_out", same("commands", said, "done"), is_whole("x.geiger"))


def ports():
    """The user's own port comes first, and works."""
    program = "import os; print(os.environ['DOTNET_DiagnosticPorts'])"
    said = record("p.geiger", sys.executable, "-c", program, DOTNET_DiagnosticPorts="/run/mine,suspend;/run/other")
    check("the_users_own_ports_are_kept",
          None if said.startswith("/run/mine,suspend;/run/other;/") and said.endswith("/dotnet-events,connect,nosuspend")
          else said)
    said = record("p.geiger", sys.executable, "-c", "import os; print(len(os.environ.get('DOTNET_DiagnosticPorts', '')))",
                  options=["--no-dotnet"])
    check("no_dotnet_sets_no_variable", same("length", said, "0"))
    program = "import os; path = os.environ['DOTNET_DiagnosticPorts'].split(',')[0]; print(os.path.exists(path), path)"
    there, path = record("p.geiger", sys.executable, "-c", program).split()
    check("the_socket_is_gone_with_the_session", same("in the session", there, True),
          same("after it", os.path.exists(path), False))
    record("p.geiger", *FAKE, "good", TMPDIR="/proc/none")
    check("a_directory_for_scratch_that_does_not_exist_costs_no_samples", same("samples", one("p.geiger", SAMPLES), COUNT))
    long = os.path.abspath("d" * 100)
    os.mkdir(long)
    said = record("p.geiger", *FAKE, "good", TMPDIR=long, FAKE_SECONDS="0.5", FAKE_WAIT="0")
    check("a_long_name_of_a_directory_does_no_harm", same("output", said[:4], "done"), is_whole("p.geiger"))


def several():
    script = f"{FAKE_TEXT} good 300 & {FAKE_TEXT} good 500 & wait"
    record("two.geiger", "sh", "-c", script)
    check("two_runtimes_are_two_processes",
          same("samples", ask("two.geiger", SAMPLES + " group by process order by 1"), [["300"], ["500"]]), is_whole("two.geiger"))
    record("only.geiger", "sh", "-c", f"{FAKE_TEXT} good; true", options=["--no-children"], FAKE_SECONDS="0.3",
           FAKE_WAIT="0")
    check("no_children_means_no_other_runtime", same("samples", one("only.geiger", SAMPLES), 0))
    bare = f"env -u LD_PRELOAD {FAKE_TEXT} good"
    # The agent certainly samples env, which then executes the runtime without it.
    record("bare.geiger", "sh", "-c", bare + "; true", options=["-i", "256"])
    check("a_runtime_without_the_agent_is_a_process_of_its_own",
          same("samples", one("bare.geiger", SAMPLES), COUNT),
          same("its samples alone", one("bare.geiger", "select count(*) from sample where heap is null and process in "
                                        f"(select process from {OF_DOTNET})"), 0),
          None if int(one("bare.geiger", "select count(*) from sample where heap is null and process in "
                          "(select id from process where command like 'env %')")) > 0 else "env has no samples",
          is_whole("bare.geiger"))
    record("next.geiger", *FAKE, "executes")
    check("a_runtime_keeps_its_samples_when_its_process_executes_another_program",
          same("samples", one("next.geiger", SAMPLES), COUNT),
          same("programs", ask("next.geiger", "select command like '%fake_runtime.py%' from process where id in "
                               f"(select process from {OF_DOTNET})"), [["1"]]),
          same("others", one("next.geiger", "select count(*) from process where command like '%keep = %'"), 1),
          is_whole("next.geiger"))


def old():
    said = record("old.geiger", *FAKE, "old", "400")
    text = run("report", "--metric", "allocated", "old.geiger").stdout
    check("an_older_runtime_is_asked_for_ticks", same("commands", said, "done 2.6 2.3"))
    check("ticks_have_types_and_no_interval",
          same("samples", one("old.geiger", SAMPLES + " and scheme = 6 and size = 200 and type is not null"), 400),
          None if "allocation ticks" in text and re.search(r"39\.1 MiB +\d+ % +39\.1 MiB", text) else text, is_whole("old.geiger"))
    said = record("old.geiger", *FAKE, "ancient", "400")
    text = run("report", "--metric", "allocated", "old.geiger").stdout
    check("ticks_without_sizes_are_sums", same("bytes", one("old.geiger", "select sum(bytes) from coarse"), 400 * 102400),
          None if "new System.String" in text and "allocation ticks" in text else text, is_whole("old.geiger"))


def longer_and_longer(seconds, record_for):
    """
    Calls record_for(seconds), which returns whether the recording was long enough: on a busy
    machine a runtime may not have started when a short one ends.  Returns the seconds.
    """
    while not record_for(seconds) and seconds < LIMIT:
        seconds *= 2
    return seconds


def stopped():
    """A runtime that lives on when the recording ends."""
    for behavior in "good", "deaf":
        results = []

        def record_for(seconds, behavior=behavior, results=results):
            results.append(run("record", "--max-time", str(seconds), "-o", "s.geiger", "--", *FAKE, behavior, FAKE_SECONDS="9"))
            return " 2.6" in results[-1].stdout

        longer_and_longer(3, record_for)
        got = results[-1]
        check(f"a_{behavior}_runtime_that_lives_on_is_told_to_stop",
              same("output", got.stdout.strip(), "done 2.6 2.1"), same("samples", one("s.geiger", SAMPLES), COUNT),
              is_whole("s.geiger"))


def sessions_of(pid):
    """The directories of a recorder's session."""
    return sorted({str(path) for parent in ("/dev/shm", os.environ.get("TMPDIR", "/tmp"), "/tmp")
                   for path in pathlib.Path(parent).glob(f"geiger-session-{pid}-*")})


def wait_for(what, condition):
    """Returns why the condition does not become true."""
    end = time.monotonic() + LIMIT
    while not condition():
        if time.monotonic() > end:
            return f"{what}: never"
        time.sleep(0.05)
    return None


def killed():
    """A killed recorder leaves what its runtimes have sent, in its session's directories."""
    script = f"{FAKE_TEXT} good 300 & {FAKE_TEXT} good 500 & wait"
    with subprocess.Popen([GEIGER, "record", "-q", "-i", "4k", "-o", "k.geiger", "--", "sh", "-c", script],
                          stdout=subprocess.PIPE, env={**os.environ, "FAKE_SECONDS": "9"}) as recorder:

        def streams():
            return [path for folder in sessions_of(recorder.pid) for path in pathlib.Path(folder).rglob("dotnet-*.nettrace")]

        late = wait_for("the streams", lambda: len([path for path in streams() if path.stat().st_size > 10000]) == 2)
        modes = {oct(path.stat().st_mode & 0o777) for path in streams()}
        recorder.kill()
        said = recorder.stdout.read().decode()
    check("a_recorder_that_is_killed_holds_nobody_up", same("output", [line.split()[0] for line in said.splitlines()], ["done"] * 2))
    folders = sessions_of(recorder.pid)
    if len({os.stat(folder).st_dev for folder in folders}) < 2:
        skip("the_events_of_a_killed_recorder_are_salvaged", "there is no second file system for them")
        return
    first = [folder for folder in folders if folder.startswith("/dev/shm")]
    got = run("salvage", "-o", "salvaged.geiger", *first)
    live = ask("salvaged.geiger", SAMPLES + " and t_free is null group by process order by 1")
    check("the_events_of_a_killed_recorder_are_salvaged", late, same("status", got.returncode, 0),
          None if "and 800 samples of 2 .NET runtimes" in got.stderr else got.stderr, same("live", live, [["300"], ["500"]]),
          same("files for others", modes, {"0o600"}),
          same("others", one("salvaged.geiger", f"select count(*) > 0 from sample where heap is null and process in (select process from {OF_DOTNET})"), 1),
          same("stacks", one("salvaged.geiger", "select count(*) from symbol where function like 'Shop.Cart.Add'"), 1),
          is_whole("salvaged.geiger"))
    times = ask("salvaged.geiger", "select max(t_alloc) <= (select end_ns from session), min(t_alloc) > 0 from " + OF_DOTNET)
    check("salvaged_samples_have_times_of_the_session", same("times", times, [["1", "1"]]))
    left_events(recorder.pid, folders, first)
    cleaned = run("clean", "--all", *first).stderr
    check("clean_removes_the_events", same("directories", sessions_of(recorder.pid), []),
          None if re.search(r" removed \d+ regions? and 63 \.NET event files, ", cleaned) else cleaned)


def left_events(recorder, folders, first):
    """More streams than descriptors, and one that an earlier boot has left."""
    (stream, *_) = (path for folder in folders for path in pathlib.Path(folder).rglob("dotnet-*.nettrace"))
    for number in range(61):
        copy = stream.with_name(f"dotnet-{recorder}-{number}.nettrace")
        shutil.copyfile(stream, copy)
    os.utime(copy, (1, 1))
    got = subprocess.run(["prlimit", "--nofile=48", GEIGER, "salvage", "-o", "left.geiger", *first], capture_output=True, text=True)
    check("events_of_many_runtimes_are_salvaged_with_few_descriptors", same("status", got.returncode, 0),
          None if " samples of 62 .NET runtimes" in got.stderr else got.stderr)
    check("events_of_an_earlier_boot_are_left_out",
          same("notes", one("left.geiger", "select count(*) from note where text like '%of 1 .NET runtime is missing%before this boot%'"), 1))


def killed_attach():
    """Without the agent there is no session: the stream is beside the profile."""
    with subprocess.Popen([*FAKE, "good"], stdout=subprocess.PIPE, text=True, env={**os.environ, "FAKE_LISTEN": "1"}) as fake:
        pid = fake.stdout.readline().strip()
        with subprocess.Popen([GEIGER, "attach", "-q", "--only", "dotnet", "-o", "ka.geiger", pid]) as geiger:
            late = wait_for("the stream", lambda: os.path.exists("ka.geiger.nettrace") and
                            os.path.getsize("ka.geiger.nettrace") > 10000)
            geiger.kill()
        fake.stdout.read()
    run("import", "-q", "ka.geiger.nettrace", "-o", "ka.geiger")
    check("the_events_of_a_killed_attach_can_be_imported", late, same("samples", one("ka.geiger", SAMPLES), COUNT))


def without_a_socket():
    """Without /dev/shm, the session is in TMPDIR; the name of a socket must not have a comma."""
    sentence = "a_session_without_a_socket_says_so"
    folder = os.path.abspath("a,b")
    os.mkdir(folder)
    hidden = "mount -t tmpfs -o ro,size=4k tmpfs /dev/shm && exec \"$@\""
    with subprocess.Popen(["unshare", "--mount", "sh", "-c", hidden, "sh", GEIGER, "record", "-o", "no.geiger", "--", *FAKE, "good"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env={**os.environ, "TMPDIR": folder, "FAKE_SECONDS": "0.3", "FAKE_WAIT": "0"}) as recorder:
        said = recorder.communicate(timeout=LIMIT)[1]
    if "unshare:" in said or "mount:" in said:
        skip(sentence, "no namespaces may be made here")
        return
    check(sentence, None if ".NET's runtimes are not followed: the socket" in said else said,
          same("notes", one("no.geiger", "select count(*) from note where text like '%socket to which they connect cannot be made%'"), 1),
          is_whole("no.geiger"))


def rows_of(look, by):
    """The rows of a look of `top --json`, by name."""
    return {row["name"]: row for row in look["rows"]} if look["by"] == by else {}


def watch(pid, by, name):
    """Watches with top until a row has that name; returns the last look."""
    look = {"by": by, "rows": []}
    end = time.monotonic() + LIMIT
    while name not in rows_of(look, by) and time.monotonic() < end:
        got = run("top", "-n", "3", "--json", "--by", by, pid)
        look = json.loads(got.stdout.splitlines()[-1])
    return look


def served(pid):
    """The metrics and the profile that a server gives to a scraper, with managed memory."""
    with subprocess.Popen([GEIGER, "serve", "--pid", pid, "--pull", "--listen", "127.0.0.1:0"], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True) as server:
        address = re.search(r"http://[0-9.]+:\d+", server.stdout.readline())[0]
        end, metrics = time.monotonic() + LIMIT, ""
        while live_of(metrics) < MANAGED_BYTES and time.monotonic() < end:
            time.sleep(0.5)
            with urllib.request.urlopen(address + "/metrics", timeout=LIMIT) as answer:
                metrics = answer.read().decode()
        with urllib.request.urlopen(address + "/debug/pprof/heap", timeout=LIMIT) as answer:
            profile = gzip.decompress(answer.read())
        server.terminate()
        server.stdout.read()
    return metrics, profile


def sent_labels(pid, *labels, **environment):
    """
    Sends with labels.  Returns what the sender said of .NET, and the labels of each live memory
    that arrived.
    """
    found = {}
    with Receiver() as receiver, subprocess.Popen([GEIGER, "send", "--every", "1s", "--state", "labels", "--looks", "6", "--to",
                                                   f"http://127.0.0.1:{receiver.port}", *labels, pid], stderr=subprocess.PIPE,
                                                  text=True, env={**os.environ, **environment}) as sender:
        said = sender.stderr.read()
        for request in receiver.take():
            for _, _, name, total, attributes, *_ in otlp_profiles(request.body)[0]:
                if name == "inuse_space":
                    found[attributes.get("heap"), attributes.get("geiger.heap")] = total
    return [line for line in said.splitlines() if ".NET" in line], found


def sent_managed(pid, sessions=1):
    """
    Sends with a state until managed memory of so many sessions has arrived, and ends.  Returns the
    last live bytes, and the sum of allocated bytes, of profiles with the label of managed memory
    and of those without.
    """
    live, allocated = {}, {True: 0, False: 0}
    with Receiver() as receiver, subprocess.Popen([GEIGER, "send", "-q", "--every", "1s", "--state", "state", "--to",
                                                   f"http://127.0.0.1:{receiver.port}", pid]) as sender:
        end = time.monotonic() + LIMIT
        while not (True in live and False in live and allocated[True] >= sessions * round(MANAGED_BYTES)) and time.monotonic() < end:
            time.sleep(0.5)
            for request in receiver.take():
                for _, _, name, total, attributes, *_ in otlp_profiles(request.body)[0]:
                    is_managed = attributes.get("heap") == "managed"
                    if name == "inuse_space":
                        live[is_managed] = total
                    elif name == "alloc_space":
                        allocated[is_managed] += total
        sender.terminate()
    return live, allocated


def live_of(metrics):
    found = re.search(r"^geiger_live_bytes\{.*\} (\S+)$", metrics, re.MULTILINE)
    return float(found[1]) if found else 0


def live_of_malloc(sent):
    return sent[0].get(False, 0)


def looked_at():
    """Looks at a region while its program runs."""
    with subprocess.Popen([GEIGER, "record", "-q", "-o", "look.geiger", "--", *FAKE, "lasts"], stdout=subprocess.PIPE, text=True,
                          env={**os.environ, "FAKE_LISTEN": "1", "FAKE_BUSY": "1"}) as recorder:
        pid = recorder.stdout.readline().strip()
        time.sleep(1)
        types, functions = watch(pid, "type", "System.String"), watch(pid, "function", "Shop.Cart.Add")
        metrics, profile = served(pid)
        first, second = sent_managed(pid), sent_managed(pid)
        report = run("report", "--json", *(str(path) for path in pathlib.Path("/dev/shm").rglob(f"geiger-{pid}-*.region")))
        sent = run("send", "--to", "http://127.0.0.1:9", "--state", "none", "--flush", "1s", pid)
        os.kill(int(pid), signal.SIGKILL)
        recorder.stdout.read()
    text = f"Process {pid} runs .NET, and this is malloc's memory alone."
    check("top_shows_managed_memory_by_type_and_function",
          *(None if name in rows_of(look, look["by"]) and
            abs(rows_of(look, look["by"])[name]["self"]["estimate"] / MANAGED_BYTES - 1) < 1e-9 else str(look)[:2000]
            for look, name in ((types, "System.String"), (functions, "Shop.Cart.Add"))))
    check("top_says_what_is_older", None if any("since geiger began to look" in note for note in types["notes"]) else str(types["notes"]))
    check("serve_gives_managed_memory_to_scrapers", None if MANAGED_BYTES <= live_of(metrics) < 1.3 * MANAGED_BYTES else metrics,
          None if b"Shop.Cart.Add" in profile else "no frame of it")
    # The second sender has another session with the runtime, and the same allocations of malloc.
    check("send_gives_managed_memory_its_own_profiles",
          *(None if live.get(True) == allocated[True] == round(MANAGED_BYTES) else f"{live} {allocated}"
            for live, allocated in (first, second)),
          None if 0 < live_of_malloc(first) < MANAGED_BYTES / 2 else str(first))
    check("a_report_of_a_region_says_that_it_shows_malloc_alone", None if text in report.stdout else report.stdout + report.stderr)
    check("a_single_send_says_that_it_sends_malloc_alone", None if f"process {pid} runs .NET, and malloc's memory alone is sent" in sent.stderr
          else sent.stderr)
    with subprocess.Popen([GEIGER, "record", "-q", "-o", "look.geiger", "--", "sleep", "60"]) as recorder:
        end = time.monotonic() + LIMIT
        while not (pids := pathlib.Path(f"/proc/{recorder.pid}/task/{recorder.pid}/children").read_text(encoding="ascii").split()) \
                and time.monotonic() < end:
            time.sleep(0.05)
        time.sleep(1)
        top = run("top", "-n", "1", "--json", pids[0])
        os.kill(int(pids[0]), signal.SIGKILL)
    check("nothing_is_said_of_a_program_without_a_runtime", None if top.stdout and ".NET" not in top.stdout else top.stdout + top.stderr)


def live_runtime(behavior, count=str(COUNT)):
    """A program under the agent, with a runtime that plays; its recorder and its pid."""
    recorder = subprocess.Popen([GEIGER, "record", "-q", "-o", "look.geiger", "--", *FAKE, behavior, count], stdout=subprocess.PIPE,
                                text=True, env={**os.environ, "FAKE_LISTEN": "1", "FAKE_BUSY": "1"})
    pid = recorder.stdout.readline().strip()
    time.sleep(1)
    return recorder, pid


def end_runtime(recorder, pid):
    os.kill(int(pid), signal.SIGKILL)
    recorder.stdout.read()
    recorder.wait()


def little_room():
    """Files of the process that calls it end at 32 KiB, a third of a stream, as on a full disk."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (32768, 32768))


def top_until(pid, condition, preexec=None, looks=100):
    """Looks with top until one meets the condition, or so many times; returns the last look."""
    look = None
    with subprocess.Popen([GEIGER, "top", "-n", str(looks), "--json", "--metric", "allocated", "--by", "type", pid], stdout=subprocess.PIPE,
                          text=True, preexec_fn=preexec, restore_signals=preexec is None) as top:
        for line in top.stdout:
            look = json.loads(line)
            if condition(look):
                break
        top.terminate()
    return look


def managed_of(look):
    row = rows_of(look, "type").get("System.String")
    return row["self"]["estimate"] if row else 0


def ended():
    """A session that ends while its process lives is followed by another one."""
    recorder, pid = live_runtime("ends")
    twice = top_until(pid, lambda look: managed_of(look) > 1.9 * MANAGED_BYTES)
    live, allocated = sent_managed(pid, sessions=2)
    end_runtime(recorder, pid)
    check("top_begins_another_session_when_one_ends",
          None if abs(managed_of(twice) / MANAGED_BYTES - 2) < 1e-9 else str(twice)[:2000],
          None if any("ended" in note and "the runtime ended it" in note for note in twice["notes"]) else str(twice["notes"]))
    check("objects_of_an_ended_session_are_live_no_longer",
          None if twice["live_bytes"]["estimate"] < 1.5 * MANAGED_BYTES else str(twice["live_bytes"]))
    check("send_begins_another_session_when_one_ends", same("live", live.get(True), round(MANAGED_BYTES)),
          None if allocated[True] >= 2 * round(MANAGED_BYTES) else str(allocated))
    recorder, pid = live_runtime("lasts")
    cut = top_until(pid, lambda look: any("cannot be written" in note for note in look["notes"]), little_room)
    end_runtime(recorder, pid)
    check("top_says_that_events_cannot_be_written", None if any("cannot be written (errno" in note for note in cut["notes"]) else str(cut["notes"]),
          None if 0 < managed_of(cut) else str(cut)[:2000])


def long():
    """Events of 70 MB, which is more than a session of top may have."""
    recorder, pid = live_runtime("lasts", "1000000")
    full = top_until(pid, lambda look: any("ended" in note for note in look["notes"]))
    end_runtime(recorder, pid)
    check("a_long_session_of_top_ends_so_that_looks_stay_short",
          None if any("its events take 64 MiB, and geiger keeps no more" in note for note in full["notes"]) else str(full["notes"]),
          None if managed_of(full) > 900 * MANAGED_BYTES else str(managed_of(full)))


def labeled():
    """Managed memory never has the labels of malloc's."""
    recorder, pid = live_runtime("lasts")
    said, taken = sent_labels(pid, "--label", "heap=main")
    full_said, full = sent_labels(pid, OTEL_RESOURCE_ATTRIBUTES=",".join(f"l{number}=x" for number in range(64)))
    end_runtime(recorder, pid)
    check("managed_memory_has_another_label_if_heap_is_taken", same("labels", sorted(taken, key=str), [("main", "managed"), ("main", None)]),
          same("managed", taken.get(("main", "managed")), round(MANAGED_BYTES)), None if "geiger.heap=managed" in " ".join(said) else str(said))
    check("managed_memory_without_room_for_a_label_is_not_sent", same("labels", list(full), [(None, None)]),
          same("lines", len(full_said), 1), None if "malloc's memory alone is sent: too many labels" in " ".join(full_said) else str(full_said),
          None if full.get((None, None), 0) < MANAGED_BYTES / 2 else str(full))


def remembered(state):
    """The owners that a sender left for the next one."""
    return [path.read_text(encoding="utf-8").splitlines()[1] for path in pathlib.Path(state).rglob("region")]


def remove_region(pid):
    for path in pathlib.Path("/dev/shm").rglob(f"geiger-{pid}-*.region"):
        path.unlink()


def send_until(pid, state, *words, then=None):
    """
    Sends until a session with the runtime has ended, and kills the sender before its next look, or
    does something and lets it end.  Returns its lines.
    """
    said = []
    with subprocess.Popen([GEIGER, "send", "--every", "5s", "--state", state, *words, pid], stderr=subprocess.PIPE, text=True) as sender:
        for line in sender.stderr:
            said.append(line)
            if "has ended (" in line:
                break
        if then is None:
            time.sleep(1)
            sender.kill()
        else:
            then()
            said += sender.stderr.readlines()
    return said


def closed():
    """A session that has ended leaves no debts of the sender."""
    recorder, pid = live_runtime("ends")
    with Receiver() as receiver:
        to = ("--to", f"http://127.0.0.1:{receiver.port}")
        run("send", "-q", "--every", "1s", "--looks", "1", "--state", "closed", *to, pid)
        owners = remembered("closed")
        said = send_until(pid, "closed", *to)
        kept = remembered("closed")
        # A profile of managed memory takes some 750 bytes, and malloc's is larger than that queue.
        full = run("send", "--every", "1s", "--looks", "8", "--state", "full", "--queue", "800", "--flush", "1s", "--to",
                   "http://127.0.0.1:9", pid)
        gone = send_until(pid, "gone", *to, then=lambda: remove_region(pid))
    end_runtime(recorder, pid)
    check("the_next_sender_finds_the_region_after_a_session_has_ended", same("owners", kept, owners),
          None if len(owners) == 1 and "has ended (" in said[-1] else f"{owners} {said}")
    check("a_session_that_ended_is_not_lost_with_the_region", same("lines", len([line for line in gone if " is gone: " in line]), 1),
          None if any("has ended (" in line for line in gone) else str(gone))
    check("managed_memory_stays_while_the_queue_is_full_and_is_lost_once",
          same("lost", full.stderr.count("managed memory since the last profile"), 1),
          same("ended", full.stderr.count("has ended ("), 1),
          None if " 1 lost" in full.stderr or "; 1 did not get into the queue" in full.stderr else full.stderr)


def vanished():
    """The region goes when the runtime has sent its events, and no look has sent them yet."""
    recorder, pid = live_runtime("lasts")
    allocated = 0
    with Receiver() as receiver:
        with subprocess.Popen([GEIGER, "send", "--every", "8s", "--state", "vanished", "--to", f"http://127.0.0.1:{receiver.port}", pid],
                              stderr=subprocess.PIPE, text=True) as sender:
            for line in sender.stderr:
                if "runs .NET" in line:
                    break
            time.sleep(5.5)  # the list of methods is awaited for 5 s
            remove_region(pid)
            sender.stderr.read()
        for request in receiver.take():
            for _, _, name, total, attributes, *_ in otlp_profiles(request.body)[0]:
                allocated += total if name == "alloc_space" and attributes.get("heap") == "managed" else 0
    end_runtime(recorder, pid)
    check("managed_memory_is_sent_a_last_time_when_the_region_is_gone", same("allocated", allocated, round(MANAGED_BYTES)))


def hostile():
    """Each costs its own samples; the good one beside it loses none, and nothing hangs."""
    for behavior in ("refuses", "babbles", "hangs up", "half a reply", "a huge reply", "silent", "damaged", "nothing",
                     "cut", "byte by byte", "rude", "shy", "mute", "crowd"):
        record("h.geiger", "sh", "-c", f"{FAKE_TEXT} '{behavior}' 200 & {FAKE_TEXT} good & wait", FAKE_SECONDS="0.5")
        good = int(one("h.geiger", SAMPLES))
        wanted = {"cut": range(COUNT + 1, COUNT + 200), "byte by byte": [COUNT + 200], "crowd": [COUNT + 200]}
        check("one_that_is_or_does_" + behavior.replace(" ", "_") + "_costs_its_own_samples",
              None if good in wanted.get(behavior, [COUNT]) else f"{good} samples", is_whole("h.geiger"))
    record("h.geiger", *FAKE, "damaged")
    check("a_damaged_stream_leaves_a_note",
          same("notes", one("h.geiger", "select count(*) from note where text like '%are damaged%'"), 1))


def attach(behavior, *words, **environment):
    """Attaches to a fake runtime.  Returns geiger's result, and the output of a fake that ended."""
    with subprocess.Popen([*FAKE, behavior], stdout=subprocess.PIPE, text=True,
                          env={**os.environ, "FAKE_LISTEN": "1", **environment}) as fake:
        pid = fake.stdout.readline().strip()
        got = run("attach", "--only", "dotnet", *words, pid)
        if got.returncode != 0 or "-n" in words:
            fake.kill()
        said = fake.stdout.read().strip()
    return got, said


def attached():
    os.mkdir("tmp")
    here = {"TMPDIR": os.path.abspath("tmp")}
    got, said = attach("good", "--max-time", "1", "-o", "a.geiger", **here)
    check("attach_asks_who_it_is_then_records_then_stops", same("commands", said, "done 4.8 2.6 2.1"),
          same("status", got.returncode, 0), same("samples", one("a.geiger", SAMPLES), COUNT), is_whole("a.geiger"))
    got, said = attach("old", "--max-time", "1", "-o", "a.geiger", **here)
    check("attach_takes_ticks_of_an_older_runtime", same("commands", said, "done 4.8 4.4 2.3 2.1"),
          same("samples", one("a.geiger", SAMPLES), COUNT))
    got, said = attach("ancient", "--max-time", "1", "-o", "a.geiger", **here)
    check("attach_takes_ticks_of_one_that_does_not_know_its_version",
          same("commands", said, "done 4.8 4.4 2.3 2.1"), same("status", got.returncode, 0))
    got, said = attach("good", "-n", **here)
    check("a_dry_run_only_asks_who_it_is", same("said", " ".join(got.stdout.split()[2:]),
                                                "runs .NET 10.0.9, which gives random samples"))
    record("before.geiger", "true")
    before = pathlib.Path("before.geiger").read_bytes()
    for behavior, why in (("refuses", "refuses the session"), ("babbles", "refuses the session"),
                          ("nothing", "sent no events"), ("damaged", "")):
        got, said = attach(behavior, "--max-time", "5", "-o", "before.geiger", **here)
        check(f"attach_to_one_that_is_or_does_{behavior}_fails_and_leaves_an_earlier_profile",
              None if got.returncode == 1 and why in got.stderr else f"{got.returncode}: {got.stderr}",
              None if pathlib.Path("before.geiger").read_bytes() == before else "it is another")
    got = run("attach", "--only", "dotnet", "-o", "a.geiger", str(os.getpid()))
    check("a_process_without_a_runtime_is_refused",
          None if got.returncode == 1 and "no .NET runtime answers there" in got.stderr else got.stderr)


def attached_with_the_agent():
    """The runtime is followed beside malloc, and no answer is waited for."""
    for behavior, commands, count in (("good", "done 2.6 2.1", COUNT), ("old", "done 2.6 2.3 2.1", COUNT), ("absent", "", 0)):
        with subprocess.Popen([*FAKE, behavior], stdout=subprocess.PIPE, text=True,
                              env={**os.environ, "FAKE_LISTEN": "1", "FAKE_BUSY": "1"}) as fake:
            pid = fake.stdout.readline().strip()
            got = run("attach", "--max-time", "3", "-o", "both.geiger", pid)
            if got.returncode != 0 or behavior == "absent":
                fake.kill()
            said = fake.stdout.read().strip()
        end = float(one("both.geiger", "select end_ns from session"))
        check(f"attach_follows_a_{behavior}_runtime_beside_malloc", same("status", got.returncode, 0),
              same("commands", said, commands), same("samples", one("both.geiger", SAMPLES), count),
              None if end < 7e9 else f"it ends at {end} ns", is_whole("both.geiger"))


def interrupted():
    with subprocess.Popen([*FAKE, "good"], stdout=subprocess.PIPE, text=True,
                          env={**os.environ, "FAKE_LISTEN": "1"}) as fake:
        pid = fake.stdout.readline().strip()
        with subprocess.Popen([GEIGER, "attach", "--only", "dotnet", "-o", "i.geiger", pid], stderr=subprocess.PIPE,
                              text=True) as geiger:
            first = geiger.stderr.readline()
            time.sleep(0.5)
            geiger.send_signal(signal.SIGINT)
            geiger.communicate(timeout=LIMIT)
        said = fake.stdout.read().strip()
    check("ctrl_c_ends_the_recording_and_not_the_process", same("status", geiger.returncode, 0),
          None if "Ctrl-C ends" in first else first, same("commands", said, "done 4.8 2.6 2.1"),
          same("samples", one("i.geiger", SAMPLES), COUNT))


def contained():
    """A runtime with a pid namespace, and a /tmp, of its own."""
    sentence = "attach_finds_a_runtime_in_a_container"
    inside = f"mount -t tmpfs tmpfs /tmp && exec {FAKE_TEXT} good"
    with subprocess.Popen(["unshare", "--pid", "--mount", "--fork", "--mount-proc", "sh", "-c", inside],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          env={**os.environ, "FAKE_LISTEN": "1", "TMPDIR": "/tmp"}) as outer:
        inner = outer.stdout.readline().strip()
        if not inner:
            skip(sentence, "no namespaces may be made here")
            return
        pid = pathlib.Path(f"/proc/{outer.pid}/task/{outer.pid}/children").read_text(encoding="ascii").split()[0]
        got = run("attach", "--only", "dotnet", "--max-time", "1", "-o", "c.geiger", pid)
        if got.returncode != 0:
            os.kill(int(pid), signal.SIGKILL)
        said = outer.stdout.read().strip()
    check(sentence, None if inner != pid else "it is in this pid namespace", got.stderr if got.returncode != 0 else None,
          same("commands", said, "done 4.8 2.6 2.1"), same("samples", one("c.geiger", SAMPLES), COUNT))


STRANGER = """
import os, socket, sys
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
for line in open("/proc/net/unix"):
    path = line.split()[-1]
    if path.endswith("/dotnet-events") and f"geiger-session-{sys.argv[1]}-" in path:
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.connect(path)
            connection.sendall(b"ADVR_V1\\0" + bytes(26))
            print("answer", len(connection.recv(100)))
        except OSError:
            print("answer", 0)
        try:
            open(os.path.dirname(path) + "/mine", "w")
            print("made a file")
        except OSError:
            print("made none")
"""


def strangers():
    """All users see the name of the socket."""
    sentences = ("a_process_of_another_user_cannot_join_a_session_of_root",
                 "a_runtime_of_the_session_that_gave_up_its_user_is_followed")
    if os.geteuid() != 0:
        for sentence in sentences:
            skip(sentence, "root alone has sessions of several users")
        return
    with subprocess.Popen([GEIGER, "record", "-q", "-o", "own.geiger", "--", "cat"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as recorder:
        recorder.stdin.write("runs\n")
        recorder.stdin.flush()
        recorder.stdout.readline()
        said = subprocess.run([sys.executable, "-c", STRANGER, str(recorder.pid)], capture_output=True, text=True,
                              timeout=LIMIT, check=False).stdout
        recorder.communicate(timeout=LIMIT)
    check(sentences[0], same("output", said, "answer 0\nmade none\n"))
    said = record("user.geiger", *FAKE, "good", FAKE_UID="65534")
    check(sentences[1], same("output", said, "done 2.6"), same("samples", one("user.geiger", SAMPLES), COUNT),
          is_whole("user.geiger"))


def timely():
    """The recording ends at its time, although a runtime does not answer the command to stop."""
    churn = "while True: keep = [bytes(1000) for _ in range(10000)]"
    script = f"{sys.executable} -c '{churn}' & {FAKE_TEXT} deaf; kill $!"

    def record_for(seconds):
        """The stream is twice as long as the recording."""
        said = record("time.geiger", "sh", "-c", script, options=["--max-time", str(seconds)], FAKE_SECONDS="8",
                      FAKE_SPACING=str(2 * seconds * 10**9 // COUNT))
        return " 2.6" in said

    seconds = longer_and_longer(2, record_for)
    last = float(one("time.geiger", "select max(t_alloc) from sample"))
    check("the_recording_ends_at_its_time_although_a_runtime_is_deaf", None if last < (seconds + 3) * 1e9 else f"{last} ns",
          is_whole("time.geiger"))
    count, times = ask("time.geiger", f"select count(*), count(distinct t_alloc) from {OF_DOTNET}")[0]
    check("samples_after_the_recording_are_left_out", same("times", times, count),
          None if 0 < int(count) < COUNT else f"{count} samples")


def drips_of(text):
    found = re.search(r"^drips (\d+)$", text, re.MULTILINE)
    return int(found[1]) if found else -1


def drip_recorded(results, interrupts):
    def record_for(seconds):
        with subprocess.Popen([GEIGER, "record", "--max-time", str(seconds), "-o", f"drip{interrupts:d}.geiger", "--", *FAKE,
                               "drips"], stdout=subprocess.PIPE, text=True, env={**os.environ, "FAKE_SECONDS": "9"}) as recorder:
            said = recorder.stdout.readline()
            if interrupts and said == "told\n":
                recorder.send_signal(signal.SIGINT)
            said += recorder.communicate(timeout=LIMIT)[0]
        results["record", interrupts] = drips_of(said), recorder.returncode
        return " 2.6" in said

    longer_and_longer(1, record_for)


def drip_attached(results, interrupts):
    with subprocess.Popen([*FAKE, "drips"], stdout=subprocess.PIPE, text=True,
                          env={**os.environ, "FAKE_LISTEN": "1"}) as fake:
        pid = fake.stdout.readline().strip()
        with subprocess.Popen([GEIGER, "attach", "--only", "dotnet", "--max-time", "1", "-o", f"drop{interrupts:d}.geiger",
                               pid]) as geiger:
            said = fake.stdout.readline()
            if interrupts:
                geiger.send_signal(signal.SIGINT)
            geiger.communicate(timeout=LIMIT)
        said += fake.stdout.read()
    results["attach", interrupts] = drips_of(said), geiger.returncode


def endless():
    """A runtime that never stops to send: five bytes a second, for a minute."""
    results = {}
    threads = [threading.Thread(target=target, args=(results, interrupts))
               for target in (drip_recorded, drip_attached) for interrupts in (False, True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for command in "record", "attach":
        drips, status = results[command, False]
        check(f"a_{command}_does_not_wait_for_ever_for_the_end_of_a_stream", same("status", status, 0),
              None if 0 <= drips < 200 else f"{drips} bytes")
        drips, status = results[command, True]
        check(f"a_signal_ends_the_wait_of_{command}", same("status", status, 0),
              None if 0 <= drips < 25 else f"{drips} bytes")
    check("a_stream_that_does_not_end_keeps_its_samples", same("samples", one("drip0.geiger", SAMPLES), COUNT),
          same("attached", one("drop0.geiger", SAMPLES), COUNT), is_whole("drip0.geiger"), is_whole("drop0.geiger"))


def with_few_descriptors(profile, *words):
    with subprocess.Popen([GEIGER, "record", "-o", profile, "--", *words], stdout=subprocess.PIPE, text=True,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (128, 128))) as recorder:
        said = recorder.stdout.read().strip()
    return said, recorder.returncode


def crowded():
    many = f'env -u LD_PRELOAD FAKE_PRELOAD="$LD_PRELOAD" {FAKE_TEXT} many 60; true'
    said, status = with_few_descriptors("many.geiger", "sh", "-c", many)
    note = "select count(*) from note where text like '%too few descriptors%'"
    check("runtimes_beyond_the_descriptors_are_left_out_with_a_note", same("status", status, 0), same("output", said, "done"),
          same("notes", one("many.geiger", note), 1), same("processes", one("many.geiger", "select count(*) from process where command like '%keep = %'"), 1),
          is_whole("many.geiger"))
    said, status = with_few_descriptors("each.geiger", *FAKE, "one by one", "150")
    check("runtimes_that_have_ended_take_no_descriptors", same("status", status, 0), same("output", said, "done"),
          same("samples", one("each.geiger", SAMPLES), 1500), same("notes", one("each.geiger", note), 0),
          is_whole("each.geiger"))


def main():
    if len(sys.argv) > 1:
        for name in sys.argv[1:]:
            globals()[name]()
        return
    recorded()
    ports()
    several()
    old()
    stopped()
    killed()
    killed_attach()
    without_a_socket()
    looked_at()
    ended()
    long()
    labeled()
    closed()
    vanished()
    hostile()
    attached()
    attached_with_the_agent()
    interrupted()
    contained()
    strangers()
    timely()
    endless()
    crowded()


if __name__ == "__main__":
    sys.exit(in_scratch(main))
