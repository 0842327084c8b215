#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Windows of a process that nobody records are what geiger serve has seen: differences of two
reports on its region.

A program works in steps and waits between them; after each its region is reported on, and in the
end a page of the server must have the differences of these reports in its windows.

GEIGER, AGENT: the program and the preload library.
"""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

from page_cells import Cells
from sentences import check, status

GEIGER, AGENT = os.environ["GEIGER"], os.environ["AGENT"]
TRIES = 600  # of a tenth of a second

# Steps of one function each; the first is over when nobody has looked yet.
PROGRAM = """
import sys
kept = {}
def early():
    kept["early"] = [bytearray(3000 + i % 500) for i in range(4000)]
    for i in range(4000):
        bytearray(3000)
def grow():
    kept["grown"] = [bytearray(5000 + i % 700) for i in range(3000)]
def churn():
    for i in range(6000):
        bytearray(2500)
def shrink():
    del kept["early"]
    kept["grown"] = kept["grown"][:1000]
def end():
    kept.clear()
for step in sys.stdin:
    globals()[step.strip()]()
    print(step, end="", flush=True)
"""


def report(region, metric):
    """Bytes and allocations in all, and bytes by function."""
    ask = [GEIGER, "report", region, "--json", "--limit", "0", "--metric", metric]
    of = json.loads(subprocess.run(ask, check=True, capture_output=True, text=True).stdout)
    rows = {(row["function"], row["module"]): row["self"]["estimate"] for row in of["rows"]}
    return of["selected_bytes"]["estimate"], of["selected_count"]["estimate"], rows


def compare(what, found, cells, wanted):
    """Sums of a window against those of reports; numbers of the page have ten digits, differences
    fewer."""
    problems, (count_bytes, count) = [], Cells.sums(found)
    slack = 1e-7 * max(wanted[0], 1e6)
    if abs(count_bytes - wanted[0]) > slack:
        problems.append(f"{what}: {count_bytes} bytes, not {wanted[0]}")
    if abs(count - wanted[1]) > 1e-6 * max(wanted[1], 1e3):
        problems.append(f"{what}: {count} allocations, not {wanted[1]}")
    by_function = cells.by_function(found)
    for key in by_function.keys() | wanted[2].keys():
        if abs(by_function.get(key, 0) - wanted[2].get(key, 0)) > slack:
            problems.append(f"{what}: {key} {by_function.get(key, 0)}, not {wanted[2].get(key, 0)}")
    return problems


def minus(after, before):
    keys = after[2].keys() | before[2].keys()
    rows = {key: after[2].get(key, 0) - before[2].get(key, 0) for key in keys}
    return after[0] - before[0], after[1] - before[1], rows


class Server:
    def __init__(self, pid):
        self.process = subprocess.Popen([GEIGER, "serve", "--pid", str(pid)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        address = self.process.stdout.readline()
        self.base, self.token = re.fullmatch(r"(http://[^/]*)/\?token=(\w+)\n", address).groups()

    def data(self):
        request = urllib.request.Request(self.base + "/data", headers={"Authorization": "Bearer " + self.token})
        with urllib.request.urlopen(request, timeout=120) as answer:
            return json.load(answer)

    def end(self):
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(timeout=120)


def region_of(folder, pid):
    for _ in range(TRIES):
        found = list(pathlib.Path(folder).glob(f"geiger-{pid}-*.region"))
        if found:
            return str(found[0])
        time.sleep(0.1)
    raise TimeoutError("no region")


def take_step(program, step):
    program.stdin.write(step + "\n")
    program.stdin.flush()
    assert program.stdout.readline() == step + "\n"


def seen(server, allocated, freed):
    """Waits until the server has looked at what there is; returns the edge up to which it has."""
    for _ in range(TRIES):
        data = server.data()
        cells = Cells(data)
        bytes_now, freed_now = Cells.sums(cells.allocated(0, cells.bins))[0], Cells.sums(cells.freed(0, cells.bins))[0]
        if abs(bytes_now - allocated) <= 1e-7 * allocated and abs(freed_now - freed) <= 1e-7 * max(freed, 1e6):
            return data["times"]["edges_ns"][-1]
        time.sleep(0.1)
    raise TimeoutError(f"{bytes_now} allocated and {freed_now} freed are seen, not {allocated} and {freed}")


def pass_edge(server, edge_ns):
    """Waits until what happens next is after that edge."""
    for _ in range(TRIES):
        if server.data()["times"]["edges_ns"][-1] > edge_ns:
            return
        time.sleep(0.1)
    raise TimeoutError("no look")


def main():
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(os.environ, LD_PRELOAD=AGENT, GEIGER_DIR=folder, GEIGER_INTERVAL="16384")
        os.environ["GEIGER_DIR"] = folder
        python = os.path.realpath(sys.executable)
        program = subprocess.Popen(
            [python, "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        region = region_of(folder, program.pid)
        take_step(program, "early")
        server = Server(program.pid)
        states = []
        for step in (None, "grow", "churn", "shrink", "end"):
            if step is not None:
                take_step(program, step)
            told = {metric: report(region, metric) for metric in ("allocated", "freed", "live")}
            edge_ns = seen(server, told["allocated"][0], told["freed"][0])
            pass_edge(server, edge_ns)
            states.append((step, edge_ns, told))
        data = server.data()
        cells, edges = Cells(data), data["times"]["edges_ns"]
        at = {edge: i for i, edge in enumerate(edges)}
        problems = []
        for (_, from_ns, before), (step, to_ns, after) in zip(states, states[1:]):
            i, j = at[from_ns], at[to_ns]
            for metric, found in (("allocated", cells.allocated(i, j)), ("freed", cells.freed(i, j))):
                problems += compare(f"{metric} by {step}", found, cells, minus(after[metric], before[metric]))
        check("what a step has allocated and freed is in its window, by function", *problems)
        problems = []
        for step, edge_ns, told in states:
            problems += compare(f"live after {step}", cells.live(at[edge_ns]), cells, told["live"])
        check("what was live between steps is what a report said then", *problems)
        check(
            "it is told since when there are windows, and that there is no other history",
            None if edges[1] == data["meta"]["watched_ns"] <= states[0][1] else f"{edges[:3]}",
            "has_history" if data["meta"]["has_history"] else None,
            None if not states[0][2]["freed"][0] < 1e6 else "nothing was freed before",
        )
        program.stdin.close()
        program.wait()
        check("the server ends in order", None if server.end() == 0 else "another status")
    return status()


sys.exit(main())
