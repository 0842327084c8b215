#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`geiger send` gives receivers what the report says: each allocation once, whatever is killed.

GEIGER, GOLDEN_PROFILE: programs; AGENT, SEND_PROGRAM, SEND_KILL: a program to send and what kills
the sender, where programs can be recorded.
"""

import concurrent.futures
import contextlib
import http.server
import json
import os
import re
import resource
import shutil
import signal
import ssl
import subprocess
import sys
import time
import urllib.parse

from otlp_checker import attributes_of, decode, profiles_of
from otlp_checker import check as check_otlp
from send_receiver import Receiver, otlp_profiles
from sentences import check, in_scratch, skip

GEIGER = os.environ["GEIGER"]
PROFILE = os.environ.get("GOLDEN_PROFILE_FILE", "golden.geiger")
FORMS = {"http": "/v1development/profiles", "pyroscope+http": "/ingest",
         "pyroscope-push+http": "/push.v1.PusherService/Push", "parca+http": "/api/profiles/writeraw",
         "pprof+http": "/"}
PERIOD = 600  # of waits for what is to happen
SOON = 2  # is less than the five minutes after which an idle process is sent again


def send(*arguments, environment=None, **more):
    clean = {key: value for key, value in os.environ.items() if not key.startswith("OTEL_")}
    return subprocess.run([GEIGER, "send", *arguments], capture_output=True, text=True, timeout=PERIOD,
                          env={**clean, "HOME": os.getcwd(), **(environment or {})}, **more)


def report(path, metric, *more):
    text = subprocess.run([GEIGER, "report", path, "--json", "--metric", metric, *more],
                          check=True, capture_output=True, text=True).stdout
    totals = json.loads(text)["totals"]
    return totals[f"{metric}_bytes"]["estimate"]


def differs(found, wanted, rows):
    """Rows are rounded each for itself."""
    return None if abs(found - wanted) <= rows / 2 + 1 + 1e-9 * wanted else f"{found} is not {wanted}"


def expect(condition, text):
    return None if condition else str(text)


# --- forms ---


def forms():
    live, allocated = report(PROFILE, "live"), report(PROFILE, "allocated")
    with Receiver() as receiver:
        for scheme, path in FORMS.items():
            result = send(PROFILE, "--to", f"{scheme}://127.0.0.1:{receiver.port}", "--state", "none")
            requests, sums = receiver.take(), {}
            for request in requests:
                for name, value in request.sums().items():
                    sums[name] = sums.get(name, 0) + value
            check(f"{scheme}_has_the_numbers_of_the_report",
                  expect(result.returncode == 0, result.stderr),
                  expect(all(request.form == path for request in requests), requests[0].path),
                  differs(sums["inuse_space"], live, 1000), differs(sums["alloc_space"], allocated, 1000),
                  expect(sums["inuse_objects"] > 0 and sums["alloc_objects"] >= sums["inuse_objects"], sums))
            if scheme == "http":
                check("otlp_keeps_the_rules_of_the_format",
                      *[wrong for request in requests for wrong in otlp_profiles(request.body)[1]])
                ids = [profile[0] for request in requests for profile in otlp_profiles(request.body)[0]]
                check("each_profile_has_an_id_of_its_own",
                      expect(None not in ids and len(set(ids)) == len(ids) and len(ids[0]) == 32, ids))
        result = send(PROFILE, "--to", receiver.url, "--state", "twice")
        first = len(receiver.take())
        again = send(PROFILE, "--to", receiver.url, "--state", "twice")
        check("a_finished_profile_is_sent_once",
              expect(result.returncode == 0 and first > 0, result.stderr),
              expect(again.returncode == 0 and not receiver.take() and "sent before" in again.stderr, again.stderr))


def shares_a_connection(name, receiver, url, *options):
    before = len(receiver.connections)
    result = send(PROFILE, "--to", url, "--state", f"shared-{name}", *options)
    requests, connections = len(receiver.take()), len(receiver.connections) - before
    check(f"{name}_sends_all_profiles_by_one_connection", expect(result.returncode == 0, result.stderr),
          expect(requests > 1 and connections == 1, f"{requests} requests, {connections} connections"))
    before = len(receiver.connections)
    send(PROFILE, "--to", url, "--state", f"apart-{name}", "--in-doubt", "drop", *options)
    requests, connections = len(receiver.take()), len(receiver.connections) - before
    check(f"{name}_whose_doubts_drop_has_a_connection_for_each",
          expect(requests > 1 and connections == requests, f"{requests} requests, {connections} connections"))


def settings():
    with Receiver() as receiver:
        shares_a_connection("http", receiver, receiver.url)
    with Receiver() as receiver:
        base = receiver.url
        result = send(PROFILE, "--state", "none", environment={
            "OTEL_EXPORTER_OTLP_ENDPOINT": base + "/", "OTEL_SERVICE_NAME": "songs",
            "OTEL_EXPORTER_OTLP_HEADERS": "api-key=s%20ecret,X-Scope-OrgID=7",
            "OTEL_RESOURCE_ATTRIBUTES": "deployment.environment=test,team=a%2Cb,service.name=no",
            "OTEL_EXPORTER_OTLP_COMPRESSION": "none", "OTEL_EXPORTER_OTLP_TIMEOUT": "5000"})
        requests = receiver.take()
        check("variables_of_opentelemetry_are_honored", expect(result.returncode == 0, result.stderr),
              expect(requests[0].path == "/v1development/profiles", requests[0].path),
              expect(requests[0].headers.get("api-key") == "s ecret", requests[0].headers),
              expect(requests[0].headers.get("X-Scope-OrgID") == "7", requests[0].headers),
              expect(requests[0].headers.get("Content-Encoding") is None, requests[0].headers),
              *[expect(attributes["service.name"] == "songs" and attributes["team"] == "a,b" and
                       attributes["deployment.environment"] == "test", attributes)
                for _, _, _, _, attributes, *_ in otlp_profiles(requests[0].body)[0]])
        with open("headers", "w") as file:
            file.write("# of a tenant\nAuthorization: Bearer x y\n\nX-Scope-OrgID: 8\n")
        send(PROFILE, "--to", f"pyroscope+{base}/at/ingest?x=1", "--headers", "headers", "--service", "a{b}",
             "--label", "a.b=c,d", "--state", "none")
        request = receiver.take()[0]
        query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(request.path).query))
        check("pyroscope_gets_labels_in_its_name",
              expect(request.form == "/at/ingest" and query["x"] == "1" and query["format"] == "pprof", request.path),
              expect(query["name"].startswith("a_b_{a_b=c_d,") and "pid=" in query["name"], query),
              expect(request.headers["Authorization"] == "Bearer x y", request.headers),
              expect(int(query["until"]) > int(query["from"]), query))
        for scheme in ("pyroscope+http", "pyroscope-push+http", "parca+http", "pprof+http", "http"):
            send(PROFILE, "--to", f"{scheme}://127.0.0.1:{receiver.port}", "--state", "none", environment={
                "OTEL_EXPORTER_OTLP_HEADERS": "api-key=secret"})
            keys = {request.headers.get("api-key") for request in receiver.take()}
            check(f"headers_of_otlp_are_for_otlp_alone: {scheme}",
                  expect(keys == {"secret" if scheme == "http" else None}, keys))
        send(PROFILE, "--to", f"parca+{base}", "--label", "a.b=c", "--service", "s", "--state", "none")
        labels = {label["name"]: label["value"]
                  for label in json.loads(receiver.take()[0].body)["series"][0]["labels"]["labels"]}
        check("parca_gets_labels", expect(labels["__name__"] == "memory" and labels["a_b"] == "c" and
                                          labels["service_name"] == "s" and "pid" in labels, labels))
    for url in ("localhost:4318", "http://", "http://a:b@c/", "http://x:99999", "ftp://x", "http://x/a b",
                "http://[::1", "http://x:1x"):
        result = send(PROFILE, "--to", url)
        check(f"a_wrong_url_is_refused: {url}", expect(result.returncode == 2, result.stderr))
    with open("headers", "w") as file:
        file.write("no header\n")
    result = send(PROFILE, "--to", "http://localhost:1", "--headers", "headers")
    check("a_wrong_file_of_headers_is_refused", expect(result.returncode == 2 and "line 1" in result.stderr,
                                                       result.stderr))
    check("a_receiver_is_needed", expect(send(PROFILE).returncode == 2, "no receiver is fine"))


def state_of(name):
    """The directory of the one receiver and target below a --state."""
    return os.path.join(name, os.listdir(name)[0])


def bodies(folder):
    return [entry for entry in os.scandir(folder) if re.fullmatch(r"[0-9a-f]{16}\..*", entry.name)]


# --- receivers that misbehave ---


def sums_by_id(requests):
    """By id of a profile: its type and sum.  The same profile has the same id whenever it comes."""
    return {identity: (name, total) for request in requests
            for identity, _, name, total, *_ in otlp_profiles(request.body)[0]}


def misbehave(plan):
    """Sends a profile to a receiver that acts by the plan; returns result, requests and files."""
    name = "state-" + re.sub("[^a-z0-9]+", "-", str(plan))
    with Receiver() as receiver:
        receiver.plan = list(plan)
        result = send("one.geiger", "--to", receiver.url, "--state", name, "--timeout", "1",
                      "--flush", "60")
        return result, receiver.take(), bodies(state_of(name))


def misbehaving():
    with open("one.collapsed", "w") as file:
        file.write("main;load;read 40960\nmain;serve 81920\n")
    subprocess.run([GEIGER, "import", "one.collapsed", "-o", "one.geiger"], check=True, capture_output=True)
    plans = [[429], [502], [503], [504], [(429, "1")], [503, 429], ["cut"], ["mute"], ["reset"], ["garbage"],
             ["endless"], ["chunked"], ["slow"]]
    with concurrent.futures.ThreadPoolExecutor(len(plans)) as pool:
        results = list(pool.map(misbehave, plans))
    for plan, (result, requests, files) in zip(plans, results):
        ids = [sorted(sums_by_id([request])) for request in requests]
        check(f"a_profile_survives: {plan}", expect(result.returncode == 0, result.stderr),
              expect(all(other == ids[0] for other in ids), f"the ids change: {ids}"),
              expect(requests[-1].taken, "the receiver does not have it"),
              expect(not files, files),
              expect(plan in (["chunked"], ["slow"]) or "takes profiles again" in result.stderr, result.stderr))
    with Receiver() as receiver:
        for status in (400, 401, 404, 413, 500):
            receiver.plan = [status]
            result = send("one.geiger", "--to", receiver.url, "--state", f"no{status}")
            check(f"a_profile_that_is_refused_is_not_sent_again: {status}",
                  expect(result.returncode == 1 and f"status {status}: not now" in result.stderr, result.stderr),
                  expect(len(receiver.take()) == 1, "it was sent again"))
        receiver.plan = ["page"]
        result = send("one.geiger", "--to", f"parca+{receiver.url}/profiles/writeraw", "--state", "page")
        check("a_page_for_people_is_no_acceptance",
              expect(result.returncode == 1 and "is the path of the URL right" in result.stderr, result.stderr),
              expect(len(receiver.take()) == 1, "it was sent again"))
        receiver.plan = ["partial"]
        result = send("one.geiger", "--to", receiver.url, "--state", "partial")
        check("a_partial_success_is_told_and_not_sent_again",
              expect(result.returncode == 1 and "rejected a part of" in result.stderr and "no gut" in result.stderr,
                     result.stderr), expect(len(receiver.take()) == 1, "it was sent again"))
        receiver.plan = ["cut"]
        result = send("one.geiger", "--to", receiver.url, "--state", "doubt", "--in-doubt",
                      "drop")
        check("a_profile_in_doubt_can_be_dropped", expect("nobody knows" in result.stderr, result.stderr),
              expect(len(receiver.take()) == 1, "it was sent again"))
        port = receiver.port
    result = send("one.geiger", "--to", f"http://127.0.0.1:{port}", "--state", "absent", "--flush", "1")
    check("an_absent_receiver_is_told", expect(result.returncode == 1 and "1 waits for the next sender" in result.stderr,
                                               result.stderr),
          expect(f"the receiver at http://127.0.0.1:{port}/v1development/profiles does not take" in result.stderr, result.stderr))
    with Receiver(port) as receiver:
        result = send("one.geiger", "--to", f"http://127.0.0.1:{port}", "--state", "absent")
        check("the_next_sender_sends_what_waits", expect(result.returncode == 0, result.stderr),
              expect(len(receiver.take()) == 1, "nothing came"))


def secure():
    if not shutil.which("openssl"):
        skip("https", "there is no openssl")
        return
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "key.pem", "-out",
                    "cert.pem", "-days", "2", "-subj", "/CN=localhost", "-addext",
                    "subjectAltName=DNS:localhost,IP:127.0.0.1"], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain("cert.pem", "key.pem")
    with Receiver(context=context) as receiver:
        url = f"https://127.0.0.1:{receiver.port}"
        result = send("one.geiger", "--to", url, "--state", "secure", "--ca-file", "cert.pem")
        if "needs" in result.stderr and "libcurl" in result.stderr:
            skip("https", result.stderr.strip())
            return
        check("https_works_by_libcurl", expect(result.returncode == 0, result.stderr),
              expect(len(receiver.take()) == 1, "nothing came"))
        receiver.plan = [(429, "1")]
        result = send("one.geiger", "--to", url, "--state", "secure2", environment={
            "OTEL_EXPORTER_OTLP_CERTIFICATE": "cert.pem"})
        check("https_retries", expect(result.returncode == 0, result.stderr),
              expect(len(receiver.take()) == 2, "no two requests"))
        shares_a_connection("https", receiver, url, "--ca-file", "cert.pem")
        result = send("one.geiger", "--to", url, "--state", "secure3", "--flush", "0.1")
        check("an_unknown_authority_gets_nothing", expect(result.returncode == 1, result.stderr),
              expect(not receiver.take(), "it got the profile"))


# --- processes ---


class Program:
    def __init__(self, folder=".", argv=None, settings=None):
        environment = {**os.environ, "LD_PRELOAD": os.environ["AGENT"], "GEIGER_DIR": os.path.abspath(folder),
                       "GEIGER_INTERVAL": "4096", **(settings or {})}
        self.process = subprocess.Popen(argv or [os.environ["SEND_PROGRAM"]], env=environment,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.folder, self.pid = folder, self.process.pid

    def allocate(self, count):
        self.process.stdin.write(f"{count}\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"

    def region(self):
        names = [name for name in os.listdir(self.folder) if name.startswith(f"geiger-{self.pid}-")]
        return os.path.join(self.folder, names[0])

    def end(self, kill=False):
        if kill:
            self.process.kill()
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


class Sender:
    """A sender that looks at a target again and again."""

    def __init__(self, target, receiver, state, *more, before=(), settings=None, **popen):
        self.process = subprocess.Popen([*before, GEIGER, "send", target, "--every", "0.05", "--state", state, "--to",
                                         receiver.url, *more], text=True, env={**os.environ, **(settings or {})},
                                        **{"stderr": subprocess.PIPE, **popen})

    def end(self):
        """Waits for its end, and returns what it said."""
        text = self.process.stderr.read() if self.process.stderr else ""
        self.process.wait(timeout=PERIOD)
        if self.process.stderr:
            self.process.stderr.close()
        return text


def sum_of(profiles, name):
    return sum(total for type_of, total in profiles.values() if type_of == name)


def deltas(doubt):
    """Kills the sender at each of its steps, before and after it."""
    if "SEND_KILL" not in os.environ:
        return
    folder = f"kills-{doubt}"
    os.mkdir(folder)
    program = Program(folder)
    environment = {"LD_PRELOAD": os.environ["SEND_KILL"], "GEIGER_DIR": os.path.abspath(folder)}
    received, wrong, texts, twice = {}, [], "", 0
    try:
        with Receiver() as receiver:
            def run(more):
                program.allocate(700)
                return send(str(program.pid), "--to", receiver.url, "--state",
                            f"{folder}-state", "--in-doubt", doubt, environment={**environment, **more})

            run({})  # the first one also makes the directory
            result = run({"KILL_COUNT": os.path.abspath("steps")})
            with open("steps") as file:
                count = int(file.read())
            check("the_sender_takes_steps", expect(result.returncode == 0 and 8 < count < 400, f"{count} {result.stderr}"))
            kills = [(at, after) for at in range(1, count + 1) for after in (False, True)]
            for at, after in kills:
                result = run({"KILL_AT": str(at), **({"KILL_AFTER": "1"} if after else {})})
                texts += result.stderr
                wrong.append(expect(result.returncode == -signal.SIGKILL, f"step {at} did not kill: {result}"))
            result = run({})
            texts += result.stderr
            wrong.append(expect(result.returncode == 0, result.stderr))
            for request in receiver.take():
                for identity, value in sums_by_id([request]).items():
                    twice += identity in received
                    wrong.append(expect(received.setdefault(identity, value) == value, "an id has two profiles"))
        total, wanted = sum_of(received, "alloc_space"), report(program.region(), "allocated")
        if doubt == "resend":
            wrong.append(differs(total, wanted, 20 * (len(kills) + 2)))
            wrong.append(expect(twice > 0 and "again: the last sender ended" in texts, f"no doubt: {texts}"))
        else:
            wrong.append(expect(twice == 0, "a profile came twice"))
            wrong.append(expect(total < wanted and "dropped send_program" in texts, f"no doubt: {texts}"))
        check(f"differences_add_up_over_kills_at_{len(kills)}_places" if doubt == "resend" else
              "what_is_dropped_in_doubt_comes_once_at_most", *wrong)
    finally:
        program.end()


def restarts():
    """Programs and the sender begin, end and are killed, while profiles are sent."""
    if "AGENT" not in os.environ:
        return
    os.mkdir("many")
    received, seconds = {}, {}
    paths, programs = [], []
    with Receiver() as receiver:
        receiver.plan = [503, "cut", "ok", 429]
        sender = None
        try:
            for round_ in range(20):
                program = Program("many")
                program.allocate(400 + 50 * round_)
                paths.append(program.region())
                programs.append(program)
                if sender is None:
                    sender = Sender("many", receiver, "many-state", "--every", "0.2", "--timeout", "5",
                                    settings={"HOME": os.getcwd()}, stderr=subprocess.DEVNULL).process
                time.sleep(0.05)
                program.allocate(300)
                if round_ % 3 == 1:
                    programs.pop(0).end(kill=round_ % 2 == 1)
                if round_ % 2 == 1:  # with any state of its own
                    sender.send_signal(signal.SIGKILL if round_ % 4 == 1 else signal.SIGTERM)
                    sender.wait()
                    sender = None
            for program in programs:
                program.end(kill=True)
            if sender is not None:
                sender.kill()
                sender.wait()
            result = send("many", "--to", receiver.url, "--state", "many-state", "--flush",
                          "60")
        finally:
            for program in programs:
                program.process.kill()
        problems = [expect(result.returncode == 0, result.stderr)]
        windows = {}
        for request in receiver.take():
            profiles, wrong = otlp_profiles(request.body)
            problems += wrong
            for identity, pid, name, total, _, begin, duration in profiles:
                received[identity] = (pid, name, total)
                windows[identity] = (pid, name, begin, begin + duration)
        for path in paths:
            pid = int(os.path.basename(path).split("-")[1])
            mine = [total for pid_, name, total in received.values() if pid_ == pid and name == "alloc_space"]
            wrong = differs(sum(mine), report(path, "allocated"), 20 * (len(mine) + 1))
            problems.append(wrong and f"process {pid}, {len(mine)} profiles: {wrong}")
            spans = sorted(window[2:] for window in windows.values() if window[:2] == (pid, "alloc_space"))
            problems += [f"windows of {pid} overlap: {a} {b}" for a, b in zip(spans, spans[1:]) if b[0] < a[1]]
        check("differences_add_up_over_20_restarts", *problems)


def full():
    """While the queue is full nothing that is allocated gets lost."""
    if "AGENT" not in os.environ:
        return
    os.mkdir("full")
    program = Program("full")
    with Receiver() as receiver:
        receiver.default = 503
        arguments = [str(program.pid), "--to", receiver.url, "--state", "full-state",
                     "--queue", "4k", "--flush", "0.01"]
        environment = {"GEIGER_DIR": os.path.abspath("full")}
        texts = []
        for _ in range(6):
            program.allocate(500)
            texts.append(send(*arguments, environment=environment).stderr)
        size = sum(entry.stat().st_size for entry in bodies(state_of("full-state")))
        check("a_full_queue_is_told_and_bounded", expect("queue is full" in texts[-1], texts),
              expect("did not get into the queue" in texts[-1], texts), expect(size <= 4096, size))
        receiver.default = "ok"
        receiver.take()
        program.end()  # so that this is the last look
        result = send(*arguments[:-1], "10", environment=environment)
        total = sum_of(sums_by_id(receiver.take()), "alloc_space")
        check("after_it_nothing_allocated_is_missing", expect(result.returncode == 0, result.stderr),
              differs(total, report(program.region(), "allocated"), 200))
        result = send(PROFILE, "--to", receiver.url, "--state", "small-state", "--queue", "100")
        check("a_profile_larger_than_the_queue_is_told_and_fails",
              expect(result.returncode == 1 and "larger than the queue" in result.stderr and
                     "did not get into the queue" in result.stderr and "until there is room" not in result.stderr,
                     result.stderr))
        result = send(PROFILE, "--to", receiver.url, "--state", "small-state")
        check("a_larger_queue_sends_it", expect(result.returncode == 0 and receiver.take(), result.stderr))


def full_disk():
    """A disk that is full for a while costs nothing that is allocated."""
    if "AGENT" not in os.environ:
        return
    mounted = ["unshare", "--mount", "sh", "-c", "mount -t tmpfs -o size=48k none disk && exec \"$@\"", "sh"]
    os.mkdir("disk")
    if subprocess.run([*mounted, "true"], capture_output=True).returncode != 0:
        skip("a_full_disk_loses_nothing", "no mounts here")
        return
    os.mkdir("full-disk")
    program = Program("full-disk")
    program.allocate(500)
    region = program.region()
    with Receiver() as receiver, open("disk.log", "w") as out, open("disk.log") as log:
        receiver.default = 503
        sender = Sender(region, receiver, "disk/state", "--flush", str(PERIOD), before=mounted, stderr=out)
        text = ""
        while "queue is full" not in text and sender.process.poll() is None:
            program.allocate(50)
            time.sleep(0.05)
            text += log.read()
        receiver.default = "ok"
        program.allocate(500)
        program.end()
        sender.end()
        text += log.read()
        taken = [request for request in receiver.take() if request.taken]
        total = sum_of(sums_by_id(taken), "alloc_space")
    check("a_full_disk_loses_nothing", expect(sender.process.returncode == 0, text), expect("queue is full" in text, text),
          differs(total, report(region, "allocated"), 20 * (len(taken) + 1)))


def ended():
    """The sender sends waiting profiles although their process, region or file has gone."""
    if "AGENT" not in os.environ:
        return
    os.mkdir("ended")
    environment = {"GEIGER_DIR": os.path.abspath("ended")}
    for name in ("process", "region", "late", "profile"):
        program = Program("ended") if name != "profile" else None
        target = "gone.geiger" if program is None else str(program.pid)
        if program is None:
            shutil.copy("one.geiger", target)
        else:
            program.allocate(800)
        with Receiver() as receiver:
            port = receiver.port
        arguments = [target, "--to", f"http://127.0.0.1:{port}", "--state", f"ended-{name}"]
        first = send(*arguments, "--flush", "0.01", environment=environment)
        if program is None:
            wanted = report(target, "allocated")
            os.unlink(target)
        else:
            if name == "late":
                program.allocate(500)
            wanted = report(program.region(), "allocated")
            program.end()
            if name == "region":
                os.unlink(program.region())
            else:
                wanted = report(program.region(), "allocated")
        with Receiver(port) as receiver:
            result = send(*arguments, environment=environment)
            total = sum_of(sums_by_id(receiver.take()), "alloc_space")
            again = send(*arguments, environment=environment)
        check(f"what_waits_survives_the_end_of_its_{name}",
              expect(first.returncode == 1 and "for the next sender" in first.stderr, first.stderr),
              expect(result.returncode == (1 if name == "region" else 0), result.stderr),
              expect(name != "region" or "is gone" in result.stderr, result.stderr), differs(total, wanted, 800),
              expect(again.returncode == 1 and "no such" in again.stderr.lower(), again.stderr))


def failing():
    """A step that fails once, such as at a full disk, costs nothing."""
    if "SEND_KILL" not in os.environ:
        return
    os.mkdir("failing")
    program = Program("failing")
    program.allocate(700)
    program.end()
    wanted, environment = report(program.region(), "allocated"), {"LD_PRELOAD": os.environ["SEND_KILL"]}

    def run(at):
        with Receiver() as receiver:
            result = send("failing", "--to", receiver.url, "--state", f"failing-{at}", "--every",
                          "0.05", "--looks", "3", environment={**environment, **(
                              {"KILL_AT": str(at), "KILL_FAILS": "1"} if at else {"KILL_COUNT": "failing-steps"})})
            total = sum_of(sums_by_id(receiver.take()), "alloc_space")
            return [expect(result.returncode == 0, f"step {at}: {result}"),
                    (wrong := differs(total, wanted, 200)) and f"step {at}: {wrong} {result.stderr}"]

    wrong = run(0)
    with open("failing-steps") as file:
        count = int(file.read())
    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        for more in pool.map(run, range(1, count + 1)):
            wrong += more
    check(f"a_failure_of_any_of_{count}_steps_loses_nothing", *wrong)


def clock_steps():
    """Windows follow the wall clock, which may be set while a program runs."""
    if "SEND_KILL" not in os.environ:
        return
    os.mkdir("clock")
    program = Program("clock")
    program.allocate(500)
    with Receiver() as receiver:
        for shift in (0, 3 * 3600):
            send(program.region(), "--to", receiver.url, "--state", "none", environment={
                "LD_PRELOAD": os.environ["SEND_KILL"], "CLOCK_SHIFT": str(shift)})
            ends = [(begin + duration) / 1e9 - time.time() - shift for request in receiver.take()
                    for *_, begin, duration in otlp_profiles(request.body)[0]]
            check(f"windows_follow_a_clock_that_is_{shift}_s_ahead",
                  expect(ends and all(abs(end) < 1800 for end in ends), ends))
    program.end()


def idle():
    """A process that does nothing is not sent at each look."""
    if "AGENT" not in os.environ:
        return
    os.mkdir("idle")
    program = Program("idle")
    program.allocate(500)
    region = program.region()
    with Receiver() as receiver:
        result = send(region, "--to", receiver.url, "--state", "idle-state", "--every", "0.05", "--looks", "10")
        first = receiver.take()
        check("an_idle_process_is_sent_once", expect(result.returncode == 0, result.stderr),
              expect(len(first) == 1, f"{len(first)} requests"))
        sender = Sender(region, receiver, "idle-state")
        more = []
        for _ in range(3):
            program.allocate(500)
            wanted, until = report(region, "allocated"), time.monotonic() + SOON
            while True:
                more += receiver.take()
                wrong = differs(sum_of(sums_by_id([*first, *more]), "alloc_space"), wanted, 1600)
                if not wrong or time.monotonic() > until:
                    break
                time.sleep(0.02)
            check("and_what_it_does_later_follows_at_the_next_look", wrong)
        program.end()
        sender.end()
        total = sum_of(sums_by_id([*first, *more, *receiver.take()]), "alloc_space")
        check("and_all_of_it_adds_up", differs(total, report(region, "allocated"), 2000))


def pauses():
    """A sender that waits for its next look occupies no connection of a receiver."""
    if "AGENT" not in os.environ:
        return
    os.mkdir("pauses")
    program = Program("pauses")
    program.allocate(500)
    contexts = {"http": None}
    if os.path.exists("cert.pem"):
        contexts["https"] = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        contexts["https"].load_cert_chain("cert.pem", "key.pem")
    for scheme, context in contexts.items():
        more = ["--ca-file", "cert.pem"] if context else []
        # A server with one thread reads from a second connection when the first one has ended.
        with Receiver(context=context, kind=http.server.HTTPServer) as receiver:
            receiver.url = f"{scheme}://127.0.0.1:{receiver.port}"
            sender = Sender(program.region(), receiver, f"pauses-{scheme}", "--every", "3600", *more)
            while not receiver.requests and sender.process.poll() is None:
                time.sleep(0.02)
            result = send("one.geiger", "--to", receiver.url, "--state", "none", "--timeout", "10", "--flush", "0.1",
                          *more)
            check(f"a_sender_that_pauses_leaves_its_receiver_by_{scheme}_to_others",
                  expect(result.returncode == 0, result.stderr),
                  expect(len(receiver.requests) == 2, f"{len(receiver.requests)} requests"))
            sender.process.kill()
            sender.end()
    program.end()


def slow():
    """A slow receiver does not stretch a look: after a second of it, profiles wait for its end."""
    if "AGENT" not in os.environ:
        return
    os.mkdir("slow")
    programs = [Program("slow") for _ in range(3)]
    for program in programs:
        program.allocate(500)
    with Receiver() as receiver:
        receiver.plan = ["late", "held"]
        sender = Sender("slow", receiver, "slow-state", "--every", "3600", "--timeout", "60")
        while len(receiver.requests) < 2 and sender.process.poll() is None:
            time.sleep(0.02)
        waiting = len(bodies(state_of("slow-state")))
        receiver.released.set()
        check("a_look_goes_on_while_its_receiver_is_slow",
              expect(waiting == 2, f"{waiting} profiles when the receiver had the second one"))
        while len(receiver.requests) < 3 and sender.process.poll() is None:
            time.sleep(0.02)
        sender.process.kill()
        sender.end()
    for program in programs:
        program.end()


def by_stack(bodies):
    """By type and stack: the values of the last profile of each type, and the sums of all profiles.

    A stack is the address, functions and lines of each frame."""
    last, sums = {}, {}
    for body in bodies:
        data = decode(body)
        tables = data["dictionary"]
        strings = tables["stringTable"]

        def frame(index):
            location = tables["locationTable"][index]
            return (location.get("address"), *((strings[tables["functionTable"][line["functionIndex"]].get(
                "nameStrindex", 0)], line.get("line")) for line in location.get("lines", ())))

        paths = [tuple(frame(index) for index in stack.get("locationIndices", ())) for stack in tables["stackTable"]]
        for _, profile in profiles_of(data):
            name = strings[profile["sampleType"]["typeStrindex"]]
            last = {key: value for key, value in last.items() if key[0] != name}
            for sample in profile.get("samples", ()):
                key, value = (name, paths[sample.get("stackIndex", 0)]), int(sample["values"][0])
                if value > 0:
                    last[key] = value
                    sums[key] = sums.get(key, 0) + value
    return last, sums


def is_quick(body):
    """Bodies that were made straight from the region have their attributes at their end."""
    return list(decode(body)["dictionary"])[-1] == "attributeTable"


def totals_of(body):
    data = decode(body)
    return {data["dictionary"]["stringTable"][profile["sampleType"]["typeStrindex"]]: attributes_of(data, profile)
            for _, profile in profiles_of(data)}


WORKER = """
import os, sys
kept = {}
def work(count):
    for i in range(count):
        kept[len(kept) if i % 3 == 0 else -1] = bytearray(600 + i % 900)
def serve():
    for line in sys.stdin:
        work(int(line))
        print("done", flush=True)
work(700)
child = os.fork() if sys.argv[1] == "fork" else 0
if child:
    sys.stdin.close()
    os.waitpid(child, 0)
else:
    serve()
    sys.stdin.close()
"""


def two_ways():
    """Bodies made straight from the region have the numbers of those by a profile of the region."""
    if "AGENT" not in os.environ:
        return
    with open("worker.py", "w") as file:
        file.write(WORKER)
    kinds = {"plain": {}, "lossy": {"GEIGER_MAX_LIVE": "1024", "GEIGER_INTERVAL": "64"}, "exact": {"GEIGER_EXACT": "1"},
             "points": {"GEIGER_SCHEME": "poisson-count"}, "stride": {"GEIGER_SCHEME": "stride"},
             "python": {"argv": ["/usr/bin/python3", "worker.py", "no"]},
             "forked": {"argv": ["/usr/bin/python3", "worker.py", "fork"]}}
    for kind, settings in kinds.items():
        settings = dict(settings)
        argv = settings.pop("argv", [os.environ["SEND_PROGRAM"]])
        folder = f"ways-{kind}"
        os.mkdir(folder)
        program = Program(folder, argv, settings)
        program.allocate(400)
        region = max((os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".region")),
                     key=os.path.getmtime) if kind == "forked" else program.region()
        with Receiver() as receiver, Receiver() as other:
            sender = Sender(region, receiver, f"{folder}-state")
            bodies_, wrong = [], []
            for count in (300, 700, 1, 700):
                program.allocate(count * (4 if kind == "lossy" else 1))
                until = time.monotonic() + SOON
                while True:  # the program may do a little after its answer
                    send(region, "--to", other.url, "--state", "none")
                    whole = other.take()[0].body
                    bodies_ += [request.body for request in receiver.take()]
                    last, sums = by_stack(bodies_)
                    last_whole, sums_whole = by_stack([whole])
                    wrong_now = []
                    for key in {*sums, *sums_whole, *last}:
                        found = (last if key[0].startswith("inuse") else sums).get(key, 0)
                        wanted = sums_whole.get(key, 0)
                        if found != wanted if key[0].startswith("inuse") else abs(found - wanted) > len(bodies_):
                            wrong_now.append(f"{key[0]} {key[1][:2]}: {found} is not {wanted}")
                    if not wrong_now or time.monotonic() > until:
                        break
                    time.sleep(0.02)
                wrong += wrong_now[:3]
                ends, wanted = totals_of(bodies_[-1])["inuse_space"], totals_of(whole)["inuse_space"]
                wrong += [f"{name} is {ends.get(name)}, not {wanted[name]}" for name in wanted
                          if isinstance(wanted[name], float) and abs(ends[name] - wanted[name]) > 1e-9 * wanted[name]]
            program.end()
            sender.end()
            quick = sum(is_quick(body) for body in bodies_)
            wrong += [text for body in bodies_ for text in check_otlp(decode(body))]
            # The body that first lacks something is made anew, and a full table changes no more.
            check(f"both_ways_have_the_same_numbers: {kind}", *wrong[:5],
                  expect(kind == "lossy" or (quick > 0) == (kind != "exact"),
                         f"{quick} of {len(bodies_)} bodies are quick"))


def heirs():
    """Blocks that a forked process inherited and freed are not what it allocated."""
    if "AGENT" not in os.environ:
        return
    os.mkdir("heirs")
    program = Program("heirs", [os.environ["SEND_PROGRAM"], "fork"])
    program.allocate(500)
    region = next(path for name in os.listdir("heirs") if name.endswith(".region") and not name.startswith(
        f"geiger-{program.pid}-") and (path := os.path.join("heirs", name)))
    with Receiver() as receiver:
        sender = Sender(region, receiver, "heirs-state")
        received, live = [], []
        for _ in range(4):
            while not (more := receiver.take()):
                time.sleep(0.02)
            received += more
            live.append(more[-1].sums().get("inuse_space", 0))
            program.allocate(300)
        program.end()
        sender.end()
        received += receiver.take()
    total = sum_of(sums_by_id(received), "alloc_space")
    check("inherited_blocks_that_are_freed_are_not_allocated", differs(total, report(region, "allocated"), 100),
          expect(live[0] > live[-1] > 0, f"nothing was freed: {live}"),
          expect(total < 100000, f"{total} bytes"), expect(any(is_quick(request.body) for request in received), "none is quick"))


def by_process(profile):
    """The sums that processes allocated, sorted, since pids differ from run to run."""
    text = subprocess.run([GEIGER, "report", profile, "--json", "--metric", "allocated", "--by", "process",
                           "--limit", "0"], check=True, capture_output=True, text=True).stdout
    return sorted(row["self"]["estimate"] for row in json.loads(text)["rows"])


def forks():
    """Forked processes free what they inherited, and end or are killed; the sender ends often."""
    if "AGENT" not in os.environ:
        return
    argv = [os.environ["SEND_PROGRAM"], "share", "3"]
    lines = [300 + 90 * i + {6: 1000000, 13: 3000000}.get(i, 0) for i in range(20)]
    seed = {"GEIGER_SEED": "5"}
    recorded = subprocess.run([GEIGER, "record", "-q", "-i", "4096", "-o", "forks.geiger", *argv], text=True,
                              input="".join(f"{line}\n" for line in lines), env={**os.environ, **seed},
                              capture_output=True, timeout=PERIOD)
    os.mkdir("forks")
    program = Program("forks", argv, seed)
    with Receiver() as receiver:
        receiver.plan = ["ok", 503, "cut"]
        sender, text = None, ""
        for number, line in enumerate(lines):
            program.allocate(line)
            if number >= 2:  # children have freed before the first look
                sender = Sender("forks", receiver, "forks-state", settings={"HOME": os.getcwd()})
                until = time.monotonic() + 0.1 * (number % 4)
                while time.monotonic() < until:
                    time.sleep(0.01)
                sender.process.send_signal(signal.SIGKILL if number % 2 else signal.SIGTERM)
                text += sender.end()
        program.end()
        for _ in range(2):
            result = send("forks", "--to", receiver.url, "--state", "forks-state", "--flush", "60")
        received = sums_by_pid(receiver.take())
    regions = {int(name.split("-")[1]): os.path.join("forks", name) for name in os.listdir("forks")
               if name.endswith(".region")}
    wanted, found = by_process("forks.geiger"), sorted(total for total, _ in received.values())
    check("what_forked_processes_inherited_is_not_what_they_allocated",
          expect(recorded.returncode == 0 and result.returncode == 0, recorded.stderr + result.stderr),
          expect(len(wanted) == len(found) == 4, f"{len(wanted)} and {len(found)} processes"),
          *[differs(a, b, 20 * max(count for _, count in received.values())) for a, b in zip(found, wanted)],
          *[differs(received[pid][0], report(region, "allocated"), 20 * received[pid][1])
            for pid, region in regions.items()])


def sums_by_pid(requests):
    """By pid: what it allocated, and the number of its profiles.  An id counts once."""
    sums = {}
    for identity, (pid, total) in {profile[0]: (profile[1], profile[3]) for request in requests
                                   for profile in otlp_profiles(request.body)[0] if profile[2] == "alloc_space"}.items():
        before, count = sums.get(pid, (0, 0))
        sums[pid] = before + total, count + 1
    return sums


def short_of_files():
    """A sender that has no files left for a while goes on."""
    if "AGENT" not in os.environ:
        return
    os.mkdir("short")
    program = Program("short")
    program.allocate(500)
    region = program.region()
    with Receiver() as receiver:
        sender = Sender(region, receiver, "short-state")
        while not receiver.requests:
            time.sleep(0.02)
        limits = resource.prlimit(sender.process.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(sender.process.pid, resource.RLIMIT_NOFILE, (0, limits[1]))
        program.allocate(500)
        text = sender.process.stderr.readline()
        resource.prlimit(sender.process.pid, resource.RLIMIT_NOFILE, limits)
        program.end()
        text += sender.end()
        total = sum_of(sums_by_id(receiver.take()), "alloc_space")
        check("a_shortage_of_files_ends_no_sender", expect("open files" in text, text),
              expect(sender.process.returncode == 0, text), differs(total, report(region, "allocated"), 400))


def cleaning():
    """Directories of targets that are gone go after a day, unless something waits there."""
    with Receiver() as receiver:
        port = receiver.port
    folders = {}
    for name in ("gone", "waits", "here", "fresh", "unmounted/gone"):
        os.makedirs("c-unmounted", exist_ok=True)
        shutil.copy("one.geiger", f"c-{name}.geiger")
        before = set(os.listdir("clean")) if os.path.exists("clean") else set()
        with contextlib.nullcontext() if name == "waits" else Receiver(port):
            send(f"c-{name}.geiger", "--to", f"http://127.0.0.1:{port}", "--state", "clean", "--flush",
                 "0.01" if name == "waits" else "9")
        folders[name] = os.path.join("clean", (set(os.listdir("clean")) - before).pop())
        if name != "here":
            os.unlink(f"c-{name}.geiger")
        if name != "fresh":
            for entry in os.scandir(folders[name]):
                os.utime(entry.path, (1, 1) if "/" not in name else (int(time.time()) - 7 * 86400,) * 2)
    os.rmdir("c-unmounted")
    with Receiver() as receiver:
        send("one.geiger", "--to", receiver.url, "--state", "clean")
    left = {name for name, folder in folders.items() if os.path.exists(folder)}
    check("directories_of_targets_that_are_gone_go", expect(left == {"waits", "here", "fresh", "unmounted/gone"}, left))
    with Receiver() as receiver:
        send("one.geiger", "--to", receiver.url, "--state", "clean", "--queue", "300")
        stays = os.path.exists(folders["waits"])
        with open(os.path.join(folders["waits"], "limit"), "w") as file:
            file.write("300\n")
        os.mkdir(os.path.join(folders["waits"], "other"))
        result = send("one.geiger", "--to", receiver.url, "--state", "clean")
    left = {name for name, folder in folders.items() if os.path.exists(folder) and bodies(folder)}
    check("what_waits_for_targets_that_are_gone_is_bounded_by_their_own_queues", expect(stays, "it went too early"),
          expect(not left, left), expect("targets which are gone" in result.stderr, result.stderr))


def memory():
    """Without a state, a process that ran before begins with its live memory alone."""
    if "AGENT" not in os.environ:
        return
    os.mkdir("memory")
    program = Program("memory")
    program.allocate(3000)
    before = report(program.region(), "allocated")
    with Receiver() as receiver:
        sender = Sender(str(program.pid), receiver, "none", settings={"GEIGER_DIR": os.path.abspath("memory")})
        while not receiver.requests:
            time.sleep(0.02)
        first = receiver.requests[0].sums()
        program.allocate(1000)
        after = report(program.region(), "allocated")
        region = program.region()
        program.end()
        text = sender.end()
        total = sum_of(sums_by_id(receiver.take()), "alloc_space")
        check("without_a_state_the_first_profile_has_live_memory_alone",
              expect(first.get("alloc_space", 0) == 0 and first["inuse_space"] > 0, first))
        check("and_the_rest_adds_up", differs(total, report(region, "allocated") - before, 2000),
              expect(after > before, "nothing was allocated"))
        check("the_sender_ends_with_its_process", expect(sender.process.returncode == 0, text))


def recording():
    """The recorder sends its profile while it grows."""
    if "AGENT" not in os.environ:
        return
    feed = "for i in 1 2 3 4 5 6; do echo 500; sleep 0.2; done"
    with Receiver() as receiver:
        base = ["-q", "-i", "4k", "--send", receiver.url, "--every", "0.3", "--label", "x=y"]
        inside = ["sh", "-c", f"({feed}) | {os.environ['SEND_PROGRAM']}; exit 7"]
        starts = {"": [], "as_the_first_process_of_a_container_": ["unshare", "--pid", "--fork", "--mount-proc"]}
        for name, before in starts.items():
            if before and subprocess.run([*before, "true"], capture_output=True).returncode != 0:
                skip(f"{name}record_sends", "no namespaces here")
                continue
            result = subprocess.run([*before, GEIGER, "record", *base, "--state", f"r{len(before)}", "-o", "r.geiger",
                                     *inside], capture_output=True, text=True, timeout=PERIOD)
            requests, received = receiver.take(), {}
            for request in requests:
                received.update(sums_by_id([request]))
            labels = [profile[4].get("x") for request in requests for profile in otlp_profiles(request.body)[0]]
            check(f"{name}record_sends_while_it_records", expect(result.returncode == 7, result),
                  expect(len(requests) > 2 and set(labels) == {"y"}, labels),
                  differs(sum_of(received, "alloc_space"), report("r.geiger", "allocated"), 200 * len(requests)))
        recorder = subprocess.Popen([GEIGER, "record", *base, "--state", "rk", "-o", "k.geiger",
                                     os.environ["SEND_PROGRAM"]], stdin=subprocess.PIPE, text=True)
        recorder.stdin.write("3000\n")
        recorder.stdin.flush()
        while not receiver.requests:
            time.sleep(0.02)
        recorder.kill()
        recorder.stdin.close()
        recorder.wait()
        while True:  # the sender holds a lock until it has ended
            again = send("k.geiger", "--to", base[4], "--state", "rk")
            if "another sender" not in again.stderr:
                break
            time.sleep(0.05)
        port = receiver.port
        total = sum_of(sums_by_id(receiver.take()), "alloc_space")
        check("a_kill_of_the_recorder_loses_nothing_that_it_wrote", expect(again.returncode == 0, again.stderr),
              differs(total, report("k.geiger", "allocated"), 200))
    result = subprocess.run([GEIGER, "record", "-q", "-o", "a.geiger", "--send", "http://127.0.0.1:1", "--state", "ra",
                             "--", "sh", "-c", "exit 3"], capture_output=True, text=True, timeout=PERIOD)
    check("an_absent_receiver_changes_no_exit_status", expect(result.returncode == 3, result))
    result = subprocess.run([GEIGER, "record", "-i", "4k", "--seed", "1", "-o", "b.geiger",
                             "--send", f"http://127.0.0.1:{port}", "--state", "rb",
                             "--", os.environ["SEND_PROGRAM"]], input="500\n", capture_output=True, text=True,
                            timeout=PERIOD)
    # A slow machine takes a look, and so a profile, before the program ends.
    command = re.search(r"(\d+) waits?\. Later: (geiger send .*)", result.stderr)
    with Receiver(port) as receiver:
        later = send(*(command[2].split()[2:] if command else ()))
        check("the_recorder_says_how_to_send_what_waits",
              expect(command and later.returncode == 0 and len(receiver.take()) == int(command[1]),
                     result.stderr + later.stderr))


def run():
    global PROFILE
    subprocess.run([os.environ["GOLDEN_PROFILE"], PROFILE], check=True, capture_output=True)
    forms()
    settings()
    misbehaving()
    secure()
    deltas("resend")
    deltas("drop")
    restarts()
    full()
    full_disk()
    ended()
    failing()
    clock_steps()
    idle()
    pauses()
    slow()
    two_ways()
    heirs()
    forks()
    short_of_files()
    cleaning()
    memory()
    recording()


if __name__ == "__main__":
    sys.exit(in_scratch(run))
