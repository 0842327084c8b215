#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`geiger import --every` makes a time axis of the heap profiles that a server gives.

A server in this process gives a snapshot to each request, of which the truth is known: live and
allocated bytes by function.  Every allocation is a sample, so that numbers are exact.
GEIGER: the command.
"""

import gzip
import http.server
import json
import os
import signal
import subprocess
import sys
import threading
import time

from sentences import check, in_scratch

GEIGER = os.environ["GEIGER"]
EVERY = 0.2
SIZE = 1000


def varint(value):
    text = b""
    while value > 127:
        text += bytes([value & 127 | 128])
        value >>= 7
    return text + bytes([value])


def number(field, value):
    return varint(field << 3) + varint(value)


def message(field, *parts):
    text = b"".join(parts)
    return varint(field << 3 | 2) + varint(len(text)) + text


def profile(rows, period=1):
    """A profile.proto; rows: {function: (allocated, live)} in objects of SIZE bytes."""
    texts = ["", "alloc_objects", "count", "alloc_space", "bytes", "inuse_objects", "inuse_space", "space", *rows]
    out = b""
    for kind, unit in (1, 2), (3, 4), (5, 2), (6, 4):
        out += message(1, number(1, kind), number(2, unit))
    for i, (name, (allocated, live)) in enumerate(rows.items(), 1):
        values = (allocated, allocated * SIZE, live, live * SIZE)
        out += message(2, number(1, i), *(number(2, value) for value in values),
                       message(3, number(1, 4), number(3, SIZE)))
        out += message(4, number(1, i), message(4, number(1, i)))
        out += message(5, number(1, i), number(2, texts.index(name)))
    out += b"".join(message(6, text.encode()) for text in texts)
    return gzip.compress(out + message(11, number(1, 7), number(2, 4)) + number(12, period))


class Server(http.server.ThreadingHTTPServer):
    """Gives the snapshots one by one; None: an error; after the last one no answer at all."""

    def __init__(self, snapshots):
        super().__init__(("127.0.0.1", 0), Handler)
        self.snapshots, self.given = list(snapshots), 0
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}/debug/pprof/heap"


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        at = self.server.given
        self.server.given += 1
        if at >= len(self.server.snapshots) or self.server.snapshots[at] is None:
            self.send_error(500)
            return
        body = self.server.snapshots[at]
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def imported(snapshots, *options, output="series.geiger"):
    server = Server(snapshots)
    done = subprocess.run([GEIGER, "import", "--every", f"{EVERY}s", server.url(), "-o", output, *options],
                          capture_output=True, text=True, timeout=60)
    server.shutdown()
    server.server_close()
    return done


def report(metric, *options, path="series.geiger"):
    text = subprocess.run([GEIGER, "report", path, "--json", "-m", metric, *options], capture_output=True,
                          text=True, check=True).stdout
    answer = json.loads(text)
    return {row["function"]: round(row["self"]["estimate"]) for row in answer["rows"] if row["self"]["estimate"] > 0}


# Allocated and live objects at each time: `keep` grows, `churn` comes and goes, `late` begins late.
SERIES = [{"keep": (10, 10), "churn": (500, 5)},
          {"keep": (20, 20), "churn": (700, 7)},
          {"keep": (30, 30), "churn": (900, 3), "late": (4, 4)},
          {"keep": (30, 12), "churn": (1000, 3), "late": (5, 4)}]


def numbers():
    done = imported([profile(rows) for rows in SERIES])
    check("a_series_ends_with_its_server", done.returncode != 0 and f"status {done.returncode}: {done.stderr}",
          "4 snapshots" not in done.stderr and done.stderr)
    problems = []
    for i, rows in enumerate(SERIES, 1):
        wanted = {name: live * SIZE for name, (_, live) in rows.items() if live}
        got = report("live", "--at", f"{i * EVERY}s")
        problems.append(got != wanted and f"at {i}: {got}, not {wanted}")
    check("live_memory_is_that_of_each_snapshot", *problems)
    wanted = {name: (SERIES[-1][name][0] - first) * SIZE
              for name, first in (("keep", 0), ("churn", 495), ("late", 0))}
    got = report("allocated")
    check("allocated_is_since_the_first_snapshot", got != wanted and f"{got}, not {wanted}")
    got = report("allocated", "--between", f"{EVERY}s", f"{2 * EVERY}s")
    wanted = {"keep": 10 * SIZE, "churn": 200 * SIZE}
    check("windows_have_what_was_allocated_in_them", got != wanted and f"{got}, not {wanted}")
    timeline = json.loads(subprocess.run([GEIGER, "timeline", "series.geiger", "--json"], capture_output=True,
                                         text=True, check=True).stdout)
    got = [round(point["live_bytes"]["estimate"]) for point in timeline["points"]]
    wanted = [0] + [sum(live for _, live in rows.values()) * SIZE for rows in SERIES]
    check("a_timeline_has_the_snapshots_as_points", got != wanted and f"{got}, not {wanted}")
    checked = subprocess.run([GEIGER, "check", "series.geiger"], capture_output=True, text=True)
    check("nothing_contradicts", checked.returncode != 0 and checked.stdout)
    refused = subprocess.run([GEIGER, "leaks", "series.geiger"], capture_output=True, text=True)
    check("leaks_need_more", "Compare two moments" not in refused.stderr and refused.stderr)


def errors_have_intervals():
    done = imported([profile({"f": (100, 100)}, 524288), profile({"f": (180, 150)}, 524288)])
    text = subprocess.run([GEIGER, "report", "series.geiger", "--json"], capture_output=True, text=True).stdout
    live = json.loads(text)["totals"]["live_bytes"]
    once = subprocess.run([GEIGER, "import", "-q", "-", "-o", "once.geiger"],
                          input=profile({"f": (180, 150)}, 524288), capture_output=True)
    text = subprocess.run([GEIGER, "report", "once.geiger", "--json"], capture_output=True, text=True).stdout
    wanted = json.loads(text)["totals"]["live_bytes"]
    far = [key for key in ("estimate", "high") if abs(live[key] - wanted[key]) > 0.02 * wanted[key]]
    checked = subprocess.run([GEIGER, "check", "series.geiger"], capture_output=True, text=True)
    check("the_interval_is_that_of_the_last_snapshot_alone", done.returncode != 0 and done.stderr,
          once.returncode != 0 and once.stderr, far and f"{live}, not {wanted}", checked.returncode != 0 and checked.stdout,
          not live["low"] < live["estimate"] and f"{live}")


def gaps_and_restarts():
    snapshots = [profile({"f": (10, 10)}), None, profile({"f": (30, 20)}), profile({"f": (3, 2)})]
    done = imported(snapshots)
    notes = subprocess.run([GEIGER, "sql", "series.geiger", "select text from note"], capture_output=True, text=True).stdout
    check("a_fetch_that_fails_is_noted", done.returncode != 0 and done.stderr, "1 of 4 fetches failed" not in notes and notes)
    got = [report("live", "--at", f"{i * EVERY}s") for i in (1, 3, 4)]
    wanted = [{"f": 10 * SIZE}, {"f": 20 * SIZE}, {"f": 2 * SIZE}]
    check("a_restart_begins_again", got != wanted and f"{got}, not {wanted}", "started anew" not in notes and notes)
    got = report("allocated")
    check("and_counts_both_processes", got != {"f": 32 * SIZE} and str(got))


def stops():
    for name, number_of_signal in ("a_signal_ends_it_well", signal.SIGINT), ("a_kill_leaves_a_profile", signal.SIGKILL):
        server = Server([profile({"f": (i, i)}) for i in range(1, 1000)])
        child = subprocess.Popen([GEIGER, "import", "--every", f"{EVERY}s", server.url(), "-o", "stop.geiger"],
                                 stderr=subprocess.PIPE, text=True)
        until = time.monotonic() + 30
        while server.given < 5 and time.monotonic() < until:
            time.sleep(0.01)
        child.send_signal(number_of_signal)
        said = child.communicate(timeout=30)[1]
        server.shutdown()
        server.server_close()
        wanted_status = 0 if number_of_signal == signal.SIGINT else -9
        live = report("live", path="stop.geiger").get("f", 0) // SIZE
        check(name, child.returncode != wanted_status and f"{child.returncode}: {said}",
              not server.given - 1 <= live <= server.given and f"{live} of {server.given}")


def refusals():
    os.mkdir("empty")
    for line, text in (("--every 1s x.heap", "needs one URL"), ("--every 1s http://a/b http://a/c", "needs one URL"),
                       ("--for 1s http://a/b", "nothing says how often"), ("--every 0.01s http://a/b", "too short")):
        done = subprocess.run([GEIGER, "import", *line.split(), "-o", "empty/x.geiger"], capture_output=True, text=True)
        check(f"refused: {line}", done.returncode != 2 and f"status {done.returncode}", text not in done.stderr and done.stderr,
              os.listdir("empty"))
    for answer, text in ((None, "500"), (b"nothing", "not a profile.proto")):
        done = imported([answer], output="empty/x.geiger")
        check(f"a first answer that is bad is an error: {text}", done.returncode != 1 and f"status {done.returncode}",
              os.listdir("empty"), not done.stderr.startswith("geiger: ") and done.stderr)


def main():
    numbers()
    errors_have_intervals()
    gaps_and_restarts()
    stops()
    refusals()


if __name__ == "__main__":
    sys.exit(in_scratch(main))
