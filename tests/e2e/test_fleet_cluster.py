#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two shards with two replicas: whatever dies, each sample is there once, on both replicas.

GEIGER: the command; SEND_KILL: kills a process at a step; FLEET_PROGRAM: allocates and frees for
some slots.  FLEET_ROUNDS is the number of rounds.  Each shard has a receiver of its own, which
inserts into either replica.
"""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
import urllib.error

from fleet_cluster import Cluster, lacks
from fleet_store import Network, Receiver, Tmpfs, wait_for
from sentences import check, in_scratch, skip
from test_fleet_write import profile_sums

GEIGER = os.environ["GEIGER"]
KILL = os.environ["SEND_KILL"]
ROUNDS = int(os.environ.get("FLEET_ROUNDS", "8"))
FIRST = "two shards with two replicas lose and double nothing"
STEPS = {"receiver": 60, "sender": 25, "replica": 1}  # of a message, at most

# One row for each service, from all tables with numbers.
SUMS = {
    "draw": "SELECT service, sum(allocated), sum(freed), sum(size * allocated), count() FROM draw FINAL GROUP BY service",
    "live": "SELECT service, sum(n), sum(size * n), count() FROM live FINAL GROUP BY service",
    "folded": "SELECT service, sum(n), sum(seen + sure_seen), count() FROM folded FINAL GROUP BY service",
    "process": "SELECT service, sum(processes), count(), sum(rss) FROM process FINAL GROUP BY service",
    "stack": "SELECT service, count() FROM stack FINAL GROUP BY service",
}


def send(receiver, service, environment=None):
    return subprocess.run([GEIGER, "send", "p.geiger", "--to", f"fleet://{receiver.address}", "--slot", "2s",
                           "--service", service, "--state", f"state-{service}", "--timeout", "3s", "--flush", "2s"],
                          capture_output=True, text=True, timeout=300, check=False,
                          env={**os.environ, **(environment or {})})


def start(receiver, environment=None):
    if receiver.process is not None and receiver.process.poll() is not None:
        receiver.kill()
    if receiver.process is None:
        receiver.start(environment)


def play(cluster, receivers, rounds, seed):
    """Sends a service to a shard in each round while something dies; returns them by shard."""
    draw = random.Random(seed)
    services = {1: [], 2: []}
    deaths = {"replica": 0, "receiver": 0, "sender": 0}
    for number in range(rounds):
        shard = number % 2 + 1
        receiver, service = receivers[shard], f"round{number}"
        services[shard].append(service)
        environment = None
        kind = ("replica", "receiver", "sender")[number // 2 % 3]
        for server in cluster.servers:
            server.start()
        at = {"LD_PRELOAD": KILL, "KILL_AT": str(draw.randrange(1, STEPS[kind] + 1))}
        if draw.random() < 0.5:
            at["KILL_AFTER"] = "1"
        if kind == "replica":
            victim = draw.choice(cluster.of(shard))
            timer = threading.Timer(draw.random(), victim.kill)
            timer.start()
        elif kind == "receiver":
            receiver.kill()
        else:
            environment = at
        start(receiver, at if kind == "receiver" else None)
        sent = send(receiver, service, environment)
        if kind == "replica":
            timer.join()
        elif kind == "receiver":
            wait_for(lambda r=receiver: r.process.poll() is not None or not r.segments())
        deaths["replica"] += kind == "replica"
        deaths["receiver"] += kind == "receiver" and receiver.process.poll() is not None
        deaths["sender"] += sent.returncode == -signal.SIGKILL
        if kind == "receiver":
            receiver.kill()
        start(receiver)
        for _ in range(20):
            done = send(receiver, service)
            if done.returncode == 0:
                break
    return services, deaths


def settle(cluster, receivers):
    """All servers are up, nothing waits, and the replicas have the same."""
    for server in cluster.servers:
        server.start()
    if not cluster.is_up():
        return "a server does not come up"
    for receiver in receivers.values():
        receiver.kill()
        receiver.start()
        if not receiver.is_drained():
            return f"segments wait: {receiver.segments()}"

    def everything(server):
        return [sorted(server.ask(statement)) for statement in ("SELECT DISTINCT service FROM series", *SUMS.values())]

    def is_quiet():
        return all(everything(cluster.of(shard)[0]) == everything(other) for shard in receivers
                   for other in cluster.of(shard)[1:])

    return None if wait_for(is_quiet) else "replicas differ"


def verify(cluster, services):
    wanted = {"allocated": profile_sums("p.geiger", "origin is null")[0],
              "freed": profile_sums("p.geiger", "end_ns is not null")[0]}
    problems = []
    for server in cluster.servers:
        place = f"shard {server.shard}, replica {server.replica}"
        names = dict(server.ask("SELECT DISTINCT service, service_name FROM series"))
        if sorted(names.values()) != sorted(services[server.shard]):
            problems.append(f"{place}: services {sorted(set(services[server.shard]) ^ set(names.values()))}")
        for table, statement in SUMS.items():
            rows = {names.get(row[0]): row[1:] for row in server.ask(statement)}
            reference = rows.get(services[server.shard][0])
            problems += [f"{place}, {table}: {name} has {rows.get(name)}, not {reference}"
                         for name in services[server.shard] if rows.get(name) != reference]
        sums = [int(value) for value in server.ask(
            "SELECT sum(allocated), sum(freed) FROM (SELECT sum(allocated) AS allocated, sum(freed) AS freed FROM draw "
            "FINAL UNION ALL SELECT sum(if(metric = 0, n, 0)), sum(if(metric = 1, n, 0)) FROM folded FINAL)")[0]]
        count = len(services[server.shard])
        if sums != [count * wanted["allocated"], count * wanted["freed"]]:
            problems.append(f"{place}: {sums}, not {count} times {wanted}")
    return problems


# Samples by service and metric of raw rows and of rollups, and rows of rollups that come twice.
RAW_SAMPLES = """SELECT service, metric, toUInt64(sum(k)) AS samples FROM (
 SELECT service, 0 AS metric, sum(allocated) AS k FROM draw FINAL GROUP BY service UNION ALL
 SELECT service, 1 AS metric, sum(freed) AS k FROM draw FINAL GROUP BY service UNION ALL
 SELECT service, 2 AS metric, sum(n) AS k FROM live FINAL GROUP BY service UNION ALL
 SELECT service, toUInt8(metric) AS metric, sum(n) AS k FROM folded FINAL GROUP BY service, metric)
 GROUP BY service, metric HAVING samples > 0 ORDER BY service, metric"""
ROLLED_SAMPLES = """SELECT service, metric, toUInt64(sum(n)) AS samples FROM {table} WHERE metric < 3
 GROUP BY service, metric HAVING samples > 0 ORDER BY service, metric"""
DOUBLE_ROWS = "SELECT count() - uniqExact(start, service, metric, stack, series, host_group, folded) FROM {table}"
ROLLED_TABLES = ("rollup_hour", "rollup_day")
ROLLED_DAYS = "SELECT start, parts FROM rolled_day FINAL ORDER BY start"


def roll(server, settle="20m"):
    """Begins a roll in two days, when all hours of the rows and their days are over."""
    return subprocess.Popen([GEIGER, "fleet", "roll", "--store", server.url(), "--settle", settle, "--now",
                             f"@{int(time.time()) + 2 * 86400}"],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def roll_to_end(server):
    """Rolls until nothing is left, so that the last run notes the days; returns a problem."""
    for _ in range(100):
        done = roll(server)
        output, errors = done.communicate(timeout=300)
        if done.returncode == 0 and output.startswith("rolled 0 hours (0 raw rows) and 0 days"):
            return None
        time.sleep(0.2)
    return f"the roll does not end: {output}{errors}"


def insist(server, statement):
    """A server that was started again takes no changes until ZooKeeper knows it."""
    for _ in range(100):
        with contextlib.suppress(urllib.error.HTTPError):
            server.ask(statement)
            return
        time.sleep(0.2)


def allocated(server, service):
    done = subprocess.run([GEIGER, "fleet", "report", service, "--store", server.url(), "--metric", "allocated", "--json"],
                          capture_output=True, text=True, timeout=120, check=False)
    if done.returncode != 0:
        return done.stderr
    # Sums of doubles depend on their order in the last digits.
    report = json.loads(done.stdout, parse_float=lambda text: float(f"{float(text):.9g}"))
    return json.dumps([report["selected_bytes"], report["selected_count"]], sort_keys=True)


def test_rolls(cluster, services):
    """Rolls on both replicas at once, and with servers that die, leave each rollup once."""
    draw = random.Random(5)
    before = {shard: allocated(cluster.of(shard)[0], services[shard][0]) for shard in services}
    for number in range(6 if ROUNDS >= 50 else 2):
        for shard in services:
            replicas = cluster.of(shard)
            runs = [roll(server) for server in replicas]
            if number % 2 == 1:
                time.sleep(2 * draw.random())
                draw.choice(replicas).kill()
            for run in runs:
                run.communicate(timeout=300)
            for server in replicas:
                server.start()
            if not cluster.is_up():
                return ["a server does not come up"]
            if number + 1 < (6 if ROUNDS >= 50 else 2):  # rolls again all of it
                for table in ROLLED_TABLES:
                    for (start,) in replicas[0].ask(f"SELECT DISTINCT start FROM {table}"):
                        insist(replicas[0], f"ALTER TABLE {table} DROP PARTITION {start}")
    problems = []
    for shard in services:
        replicas = cluster.of(shard)
        problems.append(roll_to_end(replicas[shard % 2]))

        def state(server):
            return [server.ask(ROLLED_SAMPLES.format(table=table)) for table in ROLLED_TABLES] + [server.ask(ROLLED_DAYS)]

        wait_for(lambda of=replicas, read=state: read(of[0]) == read(of[1]))
        for server in replicas:
            place = f"shard {server.shard}, replica {server.replica}"
            raw = server.ask(RAW_SAMPLES)
            for table in ROLLED_TABLES:
                if server.ask(ROLLED_SAMPLES.format(table=table)) != raw:
                    problems.append(f"{place}: {table} has not the samples of the raw rows")
                if server.ask(DOUBLE_ROWS.format(table=table)) != [["0"]]:
                    problems.append(f"{place}: rows of {table} come twice")
            if not server.ask(ROLLED_DAYS):
                problems.append(f"{place}: no day is noted")
            found = allocated(server, services[shard][0])
            if found != before[shard]:
                problems.append(f"{place}: {found} from rollups, and {before[shard]} before")
    return problems


def test_behind(cluster):
    """A replica that lacks rows would replace whole rollups, so it does not roll."""
    first, behind = cluster.of(1)
    behind.ask("SYSTEM STOP FETCHES")
    first.ask("INSERT INTO batch VALUES (today(), 1, 1, 0, 0, now())")
    time.sleep(65)
    refused, done = [roll(server, "1s") for server in (behind, first)]
    errors = refused.communicate(timeout=300)[1]
    done.communicate(timeout=300)
    behind.ask("SYSTEM START FETCHES")
    caught_up = wait_for(lambda: roll(behind, "1s").wait(300) == 0)
    return [None if refused.returncode == 1 and "seconds behind" in errors else f"{refused.returncode}: {errors}",
            None if done.returncode == 0 else "the other replica does not roll",
            None if caught_up else "it does not roll after it has fetched its rows"]


def test_network(receivers, services):
    """A fifth of the requests and of the answers lost, a delay of 2 s on each way, and a cut."""
    receiver = receivers[1]
    bad = Network(receiver.address, 2.0 if ROUNDS >= 50 else 0.3, 0.2, 7)
    done, tries = None, 0
    for number in range(6 if ROUNDS >= 50 else 3):
        service = f"network{number}"
        services[1].append(service)
        threading.Timer(1, lambda: setattr(bad, "is_cut", True)).start()
        threading.Timer(5, lambda: setattr(bad, "is_cut", False)).start()
        for tries in range(40):
            done = subprocess.run([GEIGER, "send", "p.geiger", "--to", f"fleet://{bad.address}", "--slot", "2s",
                                   "--service", service, "--state", f"state-{service}", "--timeout", "8s",
                                   "--flush", "20s"], capture_output=True, text=True, timeout=300, check=False)
            if done.returncode == 0:
                break
    bad.listener.close()
    return None if done.returncode == 0 else f"{tries} tries: {done.stderr}"


def test_full_disks(cluster, services):
    """The receiver's disk and the sender's are full, and get room later."""
    small, spool = Tmpfs("full", "4m"), Tmpfs("spool", "64k")  # a slot of the profile has some 500 kB
    try:
        if not (small.is_there and spool.is_there):
            return "no tmpfs"
        receiver = Receiver(",".join(server.url() for server in cluster.of(2)), os.path.join(small.folder, "segments"))
        receiver.start()
        for disk in (small, spool):
            disk.fill()
        services[2].append("full")
        environment = {"TMPDIR": spool.folder}
        command = [GEIGER, "send", "p.geiger", "--to", f"fleet://{receiver.address}", "--slot", "2s", "--service",
                   "full", "--state", os.path.join(spool.folder, "state"), "--timeout", "3s", "--flush", "1s"]
        refused = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False,
                                 env={**os.environ, **environment})
        spool.free()
        waits = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        status = receiver.get("/metrics")[2].decode()
        small.free()
        # The receiver asks to wait for a minute.
        done = subprocess.run([*command[:-1], "200s"], capture_output=True, text=True, timeout=300, check=False)
        problem = None if receiver.is_drained() else "segments wait"
        receiver.kill(signal.SIGTERM)
        if refused.returncode == 0 or waits.returncode == 0:
            problem = f"nothing was full: {refused.returncode} {waits.returncode}"
        if 'reason="disk"} 0' in status:
            problem = "the receiver counted no full disk"
        return problem if done.returncode == 0 else done.stderr
    finally:
        small.done()
        spool.done()


def main():
    if lacks():
        skip(FIRST, lacks())
        return
    subprocess.run([GEIGER, "record", "-q", "-o", "p.geiger", "--interval", "16KiB", "--",
                    os.environ["FLEET_PROGRAM"], "2"], check=True, capture_output=True, timeout=120)
    cluster = Cluster(os.path.abspath("cluster"))
    receivers = {}
    try:
        if not cluster.start():
            check(FIRST, "the servers do not come up")
            return
        for shard in (1, 2):  # the note of the version is a row of each shard
            made = subprocess.run([GEIGER, "fleet", "schema", "--apply", "--cluster", "main", "--store",
                                   cluster.of(shard)[0].url()], capture_output=True, text=True, timeout=300, check=False)
            if made.returncode != 0:
                check(FIRST, made.stderr)
                return
            receivers[shard] = Receiver(",".join(server.url() for server in cluster.of(shard)), f"segments{shard}")
            receivers[shard].start()
        services, deaths = play(cluster, receivers, ROUNDS, 1)
        problem = settle(cluster, receivers)
        check(f"{FIRST} in {ROUNDS} rounds ({deaths['replica']} replicas, {deaths['receiver']} receivers and "
              f"{deaths['sender']} senders killed)", problem, *([] if problem else verify(cluster, services)))
        check("rolls on all replicas, and with servers that die, leave each rollup once",
              *([problem] if problem else test_rolls(cluster, services)))
        if ROUNDS >= 50:
            check("a replica that is behind does not roll", *test_behind(cluster))
        network = test_network(receivers, services)
        problem = settle(cluster, receivers)
        check("a network that loses requests and answers, waits, and is away loses and doubles nothing",
              network, problem, *([] if problem else verify(cluster, services)))
        full = test_full_disks(cluster, services)
        if ROUNDS >= 50:
            print("summary")
            print(f"{ROUNDS} rounds, of which one killed something each: {deaths['replica']} replicas, "
                  f"{deaths['receiver']} receivers, {deaths['sender']} senders.")
        if full == "no tmpfs":
            skip("full disks lose and double nothing", full)
        else:
            problem = settle(cluster, receivers)
            check("full disks lose and double nothing", full, problem,
                  *([] if problem else verify(cluster, services)))
    finally:
        for receiver in receivers.values():
            receiver.kill()
        cluster.stop()


if __name__ == "__main__":
    sys.exit(in_scratch(main))
