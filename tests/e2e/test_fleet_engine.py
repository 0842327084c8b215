#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every statement of a fleet means the same on a modern engine as on Debian's ClickHouse.

CHDB: libchdb, which script/chdb fetches; FLEET_STORE: test_fleet_store, whose sentences compare the
store's answers with those of merged profiles and of samples to 1e-9.  They hold on Debian's
server by the ordinary test, and here on libchdb.
"""

import os
import re
import subprocess
import sys
import urllib.request

from sentences import check, in_scratch, skip

LIBRARY = os.environ["CHDB"]
# Sentences about the server itself, and about its limits and folders.
OF_SERVER = {"the_server_s_errors_are_clear", "a_store_is_not_mistaken_for_another_process"}


def ask(url, statement):
    with urllib.request.urlopen(urllib.request.Request(url, data=statement.encode()), timeout=60) as reply:
        return reply.read().decode().strip()


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
    failed_here = [name for name in re.findall(r"^FAILED - (\S+)", inside.stdout, re.M) if name not in OF_SERVER]
    check("the statements mean the same inside the command", *failed_here,
          None if not failed_here else inside.stdout[-3000:],
          None if len(here) >= 37 else f"only {len(here)} sentences hold: {inside.stdout[-2000:]}{inside.stderr[-500:]}")
    print("summary")
    print(f"On libchdb {version}, {len(held)} sentences of test_fleet_store hold, and {len(failed)} fail.")


if __name__ == "__main__":
    sys.exit(in_scratch(main))
