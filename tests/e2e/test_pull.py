#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Scrapers read profiles and metrics of `geiger serve --pull`; `go tool pprof` shows the report.

GEIGER, AGENT, GOLDEN_PROFILE: programs.
"""

import gzip
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

from otlp_checker import varint
from send_receiver import fields
from sentences import check, in_scratch, skip

GEIGER = os.environ["GEIGER"]
PROGRAM = """
import os, sys, time
kept = [bytearray(20000) for _ in range(3000)]
open("ready", "w").close()
while not os.path.exists("stop"):
    kept[0] = bytearray(20000)
    time.sleep(0.01)
"""


class Server:
    def __init__(self, *arguments):
        self.process = subprocess.Popen([GEIGER, "serve", *arguments], stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)
        url = self.process.stdout.readline().strip()
        self.base, self.token = url.split("/?token=")

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.process.send_signal(signal.SIGINT)
        self.process.wait()
        self.process.stdout.close()

    def ask(self, path, token=False, host=None):
        """Status, headers and body."""
        request = urllib.request.Request(self.base + path)
        if token:
            request.add_header("Authorization", f"Bearer {self.token}")
        if host:
            request.add_header("Host", host)
        try:
            with urllib.request.urlopen(request) as answer:
                return answer.status, answer.headers, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.headers, error.read()


def report(path, metric, *more):
    text = subprocess.run([GEIGER, "report", path, "--json", "--limit", "0", "--metric", metric, *more],
                          check=True, capture_output=True, text=True).stdout
    return json.loads(text)


def metrics_of(text):
    """By name: {labels: value}; fails for what OpenMetrics does not allow."""
    families, values, last = {}, {}, None
    lines = text.split("\n")
    assert lines[-2:] == ["# EOF", ""], "the text does not end with # EOF"
    for line in lines[:-2]:
        if line.startswith("# "):
            what, name, rest = line[2:].split(" ", 2)
            if what == "TYPE":
                assert name not in families, f"{name} occurs twice"
                families[name], last = rest, name
            if what == "UNIT":
                assert name.endswith("_" + rest), f"{name} does not end in its unit {rest}"
            assert name == last, f"{name} is within {last}"
            continue
        match = re.fullmatch(r'([a-z_]+)(?:\{((?:[a-z]+="(?:[^"\\]|\\.)*",?)*)\})? (\S+)', line)
        assert match, line
        wanted = last + ("_total" if families[last] == "counter" else "")
        assert match[1] == wanted, f"{match[1]} is no sample of {last}"
        key = (match[1], match[2])
        assert key not in values, f"{key} occurs twice"
        values[key] = float(match[3])
    return values


def hold_metrics(values, path):
    pids = {re.search(r'pid="(\d+)"', labels)[1] for _, labels in values if labels}
    for pid in pids:
        found = {name: value for (name, labels), value in values.items() if labels and f'pid="{pid}"' in labels}
        for metric, suffix in (("live", "bytes"), ("allocated", "bytes")):
            wanted = report(path, metric, "--process", pid)["totals"][f"{metric}_{suffix}"]
            names = {"estimate": f"geiger_{metric}_bytes" + ("_total" if metric == "allocated" else ""),
                     "low": f"geiger_{metric}_low_bytes", "high": f"geiger_{metric}_high_bytes"}
            for end, name in names.items():
                if wanted[end] is None:
                    continue
                if abs(found[name] - wanted[end]) > 1e-6 * abs(wanted[end]) + 1e-3:
                    return f"{name} of {pid}: {found[name]} is not {wanted[end]}"
    return None if pids else "there is no process"


def top_of(base, path, index):
    """Returns the rows of go tool pprof by function, as (flat, cum), or None without go."""
    go = shutil.which("go")
    if go is None:
        return None
    text = subprocess.run([go, "tool", "pprof", "-top", "-unit=bytes", f"-sample_index={index}", "-nodecount=100000",
                           "-nodefraction=0", "-edgefraction=0", base + path], check=True, capture_output=True,
                          text=True, env={**os.environ, "HOME": os.getcwd(), "PPROF_TMPDIR": os.getcwd()}).stdout
    rows = {}
    for line in text.split("flat%", 1)[1].split("\n")[1:]:
        words = line.split(None, 5)
        if len(words) == 6:
            name = words[5].removesuffix(" (inline)")
            flat, cum = (int(float(word.removesuffix("B"))) for word in (words[0], words[3]))
            rows[name] = (rows.get(name, (0, 0))[0] + flat, rows.get(name, (0, 0))[1] + cum)
    return rows


def hold_top(base, path, index, file, metric):
    top = top_of(base, path, index)
    if top is None:
        return "skipped"
    total = sum(flat for flat, _ in top.values())
    wanted = report(file, metric)["totals"][f"{metric}_bytes"]["estimate"]
    if abs(total - wanted) > 1 + 1e-9 * wanted:
        return f"{index}: pprof's top adds up to {total}, the report to {wanted}"
    self_of = {}
    for row in report(file, metric, "--by", "function", "--all-frames")["rows"]:
        self_of[row["function"]] = self_of.get(row["function"], 0) + row["self"]["estimate"]
    for name, value in self_of.items():
        found = [flat for key, (flat, _) in top.items() if key == name or key.startswith(name + "(")]
        if value > 1e-3 * wanted and found and abs(sum(found) - value) > 100:
            return f"{index}: {name} has {sum(found)} in pprof's top and {value} in the report"
    return None


# --- a profile ---


def profile():
    subprocess.run([os.environ["GOLDEN_PROFILE"], "golden.geiger"], check=True, capture_output=True)
    with Server("golden.geiger", "--pull") as server:
        status, headers, body = server.ask("/metrics")
        check("metrics_need_no_token", None if status == 200 else f"{status} {body}")
        kind = headers["Content-Type"]
        check("metrics_are_openmetrics", None if kind.startswith("application/openmetrics-text; version=1.0.0") else kind)
        try:
            values = metrics_of(body.decode())
            check("metrics_are_those_of_the_report", hold_metrics(values, "golden.geiger"))
        except AssertionError as error:
            check("metrics_are_well_formed", str(error))
        for path, index, metric in (("/debug/pprof/heap", "inuse_space", "live"),
                                    ("/debug/pprof/allocs", "alloc_space", "allocated")):
            status, headers, body = server.ask(path)
            good = status == 200 and len(gzip.decompress(body)) > 100
            check(f"{path}_is_a_profile", None if good else f"{status} {body[:100]}")
            problem = hold_top(server.base, path, index, "golden.geiger", metric)
            if problem == "skipped":
                print(f"skipped - {path}_in_go_tool_pprof: no go")
            else:
                check(f"{path}_in_go_tool_pprof_is_the_report", problem)
        for path in ("/", "/data", "/export?format=pprof", "/profiles", "/debug/pprof/profile"):
            status = server.ask(path)[0]
            check(f"{path}_needs_the_token", None if status == 403 else str(status))
        check("other_names_of_the_host_are_refused",
              None if server.ask("/metrics", host="evil.example")[0] == 421 else "it was answered")
        for path in ("/debug/pprof/heap?seconds=x", "/debug/pprof/heap?debug=1", "/debug/pprof/heap?pid=-1"):
            status = server.ask(path)[0]
            check(f"{path}_is_refused", None if status == 400 else str(status))
    with Server("golden.geiger") as server:
        check("without_pull_the_token_is_needed", None if server.ask("/metrics")[0] == 403 else "it was answered")
        check("with_the_token_it_is_answered",
              None if server.ask("/metrics", token=True)[0] == 200 else "it was not answered")
    result = subprocess.run([GEIGER, "serve", "golden.geiger", "--pull", "--listen", "0.0.0.0"], capture_output=True,
                            text=True)
    check("pull_is_for_this_machine_alone", None if result.returncode == 2 and "--pull" in result.stderr
          else f"{result.returncode} {result.stderr}")


def exports_of_the_page():
    """The page's menu, which is in web/src/main.js, has formats that the server knows."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../web/src/main.js")) as file:
        names = re.findall(r"'(\w+)'", re.search(r"FORMATS = \[(.*)\]", file.read())[1])
    with Server("golden.geiger") as server:
        answers = {name: server.ask(f"/export?format={name}", token=True) for name in names}
    check("the_server_exports_what_the_page_offers", None if {"otlp", "pprof"} <= set(names) else str(names),
          *[f"{name}: {answer[0]}" for name, answer in answers.items() if answer[0] != 200 or not answer[2]])


# --- a process ---


def allocated_in(server, path):
    """The sum of alloc_space, which is the second value of a sample."""
    total = 0
    for number, sample in fields(gzip.decompress(server.ask(path)[2])):
        if number != 2:
            continue
        values = next(value for number, value in fields(sample) if number == 2)
        total += varint(values, varint(values, 0)[1])[0]
    return total


def running():
    if "AGENT" not in os.environ:
        return
    environment = {**os.environ, "LD_PRELOAD": os.environ["AGENT"], "GEIGER_DIR": os.getcwd(),
                   "GEIGER_INTERVAL": "16384", "GEIGER_PYTHON": "0"}
    program = subprocess.Popen([os.path.realpath(sys.executable), "-c", PROGRAM], env=environment)
    os.environ["GEIGER_DIR"] = os.getcwd()
    try:
        while not os.path.exists("ready"):
            time.sleep(0.05)
        with Server("--pid", str(program.pid), "--pull") as server:
            values = metrics_of(server.ask("/metrics")[2].decode())
            found = {name: value for (name, labels), value in values.items()
                     if labels and f'pid="{program.pid}"' in labels}
            live, rss = found["geiger_live_bytes"], found["geiger_resident_memory_bytes"]
            good = found["geiger_live_low_bytes"] <= 3000 * 20000 * 1.2 and live > 3000 * 20000 * 0.8
            check("a_process_has_its_live_memory", None if good else str(found))
            check("and_its_rss", None if rss > 3000 * 20000 * 0.9 else str(found))
            own = [name for name, labels in values if labels is None]
            check("the_server_has_its_own_cost",
                  None if {"process_cpu_seconds_total", "process_resident_memory_bytes"} <= set(own) else str(own))
            ever, before = 0, allocated_in(server, "/debug/pprof/allocs")
            while ever < before + 8e6:  # some seconds later
                time.sleep(0.2)
                ever = allocated_in(server, "/debug/pprof/allocs")
            window = allocated_in(server, "/debug/pprof/allocs?seconds=1")
            for _ in range(100):  # looks are rarer on a busy machine, and a window may lie between two
                if 0 < window < ever / 2:
                    break
                time.sleep(0.1)
                window = allocated_in(server, "/debug/pprof/allocs?seconds=1")
            check("a_window_has_what_was_allocated_in_it", None if 0 < window < ever / 2 else f"{window} of {ever}")
    finally:
        open("stop", "w").close()
        program.wait()


def prometheus():
    """A real Prometheus scrapes a server, and has the numbers that it answered."""
    program = shutil.which("prometheus")
    if program is None:
        skip("prometheus_has_the_numbers_of_the_server", "there is no prometheus")
        return
    names = ("geiger_live_bytes", "geiger_live_low_bytes", "geiger_allocated_bytes_total")
    with Server("golden.geiger", "--pull") as server:
        answered = metrics_of(server.ask("/metrics")[2].decode())
        wanted = {name: sorted(value for (of, _), value in answered.items() if of == name) for name in names}
        with open("prometheus.yml", "w") as file:
            file.write("global: { scrape_interval: 1s }\nscrape_configs:\n  - job_name: geiger\n    static_configs:\n"
                       f"      - targets: ['{server.base.removeprefix('http://')}']\n")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            base = f"127.0.0.1:{free.getsockname()[1]}"
        scraper = subprocess.Popen([program, "--config.file=prometheus.yml", "--storage.tsdb.path=tsdb",
                                    f"--web.listen-address={base}"], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        try:
            found, until = {}, time.monotonic() + 120
            while len(found) < len(names) and time.monotonic() < until:
                time.sleep(0.2)
                for name in names:
                    try:
                        with urllib.request.urlopen(f"http://{base}/api/v1/query?query={name}") as answer:
                            rows = json.load(answer)["data"]["result"]
                    except OSError:
                        continue
                    if rows:
                        found[name] = sorted(float(row["value"][1]) for row in rows)
            check("prometheus_has_the_numbers_of_the_server", None if found == wanted and all(wanted.values())
                  else f"{found} is not {wanted}")
        finally:
            scraper.terminate()
            scraper.wait()


def run():
    profile()
    exports_of_the_page()
    prometheus()
    running()


if __name__ == "__main__":
    sys.exit(in_scratch(run))
