#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every statement of a fleet means the same on a modern engine as on Debian's ClickHouse.

CHDB: libchdb, which script/chdb fetches; FLEET_STORE: test_fleet_store, whose sentences compare the
store's answers with those of merged profiles and of samples to 1e-9.  They hold on Debian's
server by the ordinary test, and here on libchdb.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request

import pprof_maker
from fleet_store import Receiver
from sentences import check, in_scratch, skip

LIBRARY = os.environ["CHDB"]
# A sentence about the server itself: its limits, and errors as HTTP has them.
OF_SERVER = {"the_server_s_errors_are_clear"}


def ask(url, statement):
    with urllib.request.urlopen(urllib.request.Request(url, data=statement.encode()), timeout=60) as reply:
        return reply.read().decode().strip()


def test_receiver():
    """A profile goes in while the receiver runs; the next process of the store answers."""
    os.environ["GEIGER_CHDB"] = LIBRARY
    place, rows, problems = "chdb:received", [(("main.main",), 3000000, 40, 20)], []

    def fleet(*words):
        done = subprocess.run([os.environ["GEIGER"], "fleet", *words, "--store", place], capture_output=True, text=True,
                              timeout=600, check=False)
        return done.returncode, done.stdout, done.stderr

    problems.append(None if fleet("schema", "--apply")[0] == 0 else "there are no tables")
    receiver = Receiver(place, "segments")
    receiver.start()
    body = pprof_maker.push([({"service_name": "inside", "instance": "i"}, [pprof_maker.heap(rows, time_s=int(time.time()))])])
    status = receiver.get("/push.v1.PusherService/Push", body,
                          {"Content-Type": "application/proto", "Connect-Protocol-Version": "1"})[0]
    is_drained = receiver.is_drained()
    busy = fleet("report", "inside")
    problems += [None if status == 200 and is_drained else f"the receiver answers {status}, drained: {is_drained}",
                 None if busy[0] == 1 and "another process uses this store" in busy[2] else str(busy)]
    receiver.process.send_signal(signal.SIGTERM)
    ended = receiver.process.wait(600)
    problems.append(None if ended == 0 else f"the receiver ends with {ended}")
    for _ in range(5):  # threads of libchdb once ended commands by a signal, one in three
        status, text, why = fleet("report", "inside", "--json")
        found = json.loads(text)["selected_bytes"]["estimate"] if status == 0 else 0
        problems.append(None if abs(found / (20 * 3000000) - 1) < 0.01 else f"{status}: {found} {why}")
    return problems


def main():
    if not os.path.exists(LIBRARY):
        skip("the statements mean the same on a modern engine", "there is no libchdb: script/chdb fetches it")
        return
    server = subprocess.Popen(
        [sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "chdb_server.py"), LIBRARY, "chdb"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        url = server.stdout.readline().strip()
        version = ask(url, "SELECT version()")
        done = subprocess.run([os.environ["FLEET_STORE"]], env={**os.environ, "GG_TEST_FLEET_STORE": url},
                              capture_output=True, text=True, timeout=3000, check=False)
    finally:
        server.stdin.close()
        server.stdout.close()
        server.wait(60)
    held = re.findall(r"^ok - (\S+)", done.stdout, re.M)
    failed = [name for name in re.findall(r"^FAILED - (\S+)", done.stdout, re.M) if name not in OF_SERVER]
    check("the statements mean the same on a modern engine", *failed, None if not failed else done.stdout[-3000:],
          None if len(held) >= 37 else f"only {len(held)} sentences hold: {done.stdout[-2000:]}")
    inside = subprocess.run([os.environ["FLEET_STORE"]], capture_output=True, text=True, timeout=3000, check=False,
                            env={**os.environ, "GG_TEST_FLEET_STORE": "chdb:inside", "GEIGER_CHDB": LIBRARY})
    here = re.findall(r"^ok - (\S+)", inside.stdout, re.M)
    failed_here = re.findall(r"^FAILED - (\S+)", inside.stdout, re.M)
    check("the statements mean the same inside the command", *failed_here,
          None if not failed_here else inside.stdout[-3000:],
          None if inside.returncode == 0 else f"it ends with {inside.returncode}",
          None if len(here) >= 37 else f"only {len(here)} sentences hold: {inside.stdout[-2000:]}{inside.stderr[-500:]}")
    check("a receiver inserts into a store without a server", *test_receiver())
    print("summary")
    print(f"On libchdb {version}, {len(held)} sentences of test_fleet_store hold, and {len(failed)} fail; inside the "
          f"command {len(here)} hold, and {len(failed_here)} fail.")


if __name__ == "__main__":
    sys.exit(in_scratch(main))
