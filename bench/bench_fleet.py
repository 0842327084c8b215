#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench_fleet - what a store of a fleet costs: bytes of a row, and times of questions and rolls.

A service has 50 hosts and 5000 stacks of 30 frames; six tenths of the stacks have one size.  The
rows are made by the server itself, so the times of inserts are not those of a receiver.

GEIGER: the command; FLEET_DRAWS: rows of `draw` of the day (5 million); FLEET_SLOTS: snapshots of
live rows (10), of FLEET_LIVE rows a host (2000); FLEET_KEEP: the folder of the store, which stays
and is used again.
"""

import os
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

GEIGER = os.environ["GEIGER"]
DRAWS = int(os.environ.get("FLEET_DRAWS", "5000000"))
SLOTS = int(os.environ.get("FLEET_SLOTS", "10"))
LIVE = int(os.environ.get("FLEET_LIVE", "2000"))
HOSTS, STACKS, FRAMES = 50, 5000, 30
DAY = 1700006400  # 2023-11-15 00:00
TICKS = os.sysconf("SC_CLK_TCK")

# A stack, by its number; some stacks are in many rows.
PICK = f"toUInt32(pow((cityHash64({{0}}) % 1000000) / 1000000, 3) * {STACKS})"
SIZE = ("if(stack_number % 10 < 6, 16 * (1 + cityHash64(stack_number) % 200), "
        "toUInt64(exp(3 + (cityHash64({0}, 7) % 1000) / 125)))")


class Server:
    def __init__(self, folder):
        self.folder = folder
        subprocess.run([GEIGER, "fleet", "up", folder, "--memory", "4GiB"], check=True, capture_output=True)
        with open(os.path.join(folder, "server"), encoding="utf-8") as file:
            facts = dict(line.split(None, 1) for line in file.read().splitlines())
        self.pid, self.password = int(facts["pid"]), facts["password"]
        self.url = f"http://127.0.0.1:{facts['port']}"

    def ask(self, statement):
        request = urllib.request.Request(self.url, data=statement.encode(), headers={
            "X-ClickHouse-User": "default", "X-ClickHouse-Key": self.password})
        try:
            with urllib.request.urlopen(request, timeout=3600) as reply:
                return [line.split("\t") for line in reply.read().decode().splitlines()]
        except urllib.error.HTTPError as error:
            raise SystemExit(f"{statement}: {error.read().decode()}") from error

    def seconds(self):
        with open(f"/proc/{self.pid}/stat", encoding="utf-8") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def sizes(self, table):
        """Rows, and bytes of each column."""
        self.ask(f"OPTIMIZE TABLE {table} FINAL")
        for (partition,) in self.ask(f"SELECT DISTINCT partition FROM system.parts WHERE active AND table = '{table}' "
                                     "AND database = 'default'"):
            self.ask(f"OPTIMIZE TABLE {table} PARTITION '{partition}' FINAL")
        rows = int(self.ask(f"SELECT count() FROM {table}")[0][0])
        whole = int(self.ask(f"SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND table = '{table}' AND "
                             "database = 'default'")[0][0])
        columns = self.ask("SELECT name, data_compressed_bytes FROM system.columns WHERE database = 'default' AND "
                           f"table = '{table}' ORDER BY data_compressed_bytes DESC")
        return rows, whole / max(rows, 1), {name: int(size) / max(rows, 1) for name, size in columns if int(size) > rows / 50}


def service_id(server):
    """The id of the service, by a profile in another tenant."""
    profile = os.path.join(server.folder, "id.geiger")
    tenant = ["--store", server.folder, "--tenant", "id"]
    for words in (["record", "-q", "-o", profile, "--", "true"], ["fleet", "schema", "--apply", *tenant],
                  ["fleet", "load", profile, "--service", "bench", "--host", "x", *tenant]):
        subprocess.run([GEIGER, *words], check=True, capture_output=True)
    return int(server.ask("SELECT service FROM id.series WHERE service_name = 'bench'")[0][0])


def fill(server, service):
    series, hosts = 77, [f"cityHash64('host', toUInt64({i}))" for i in range(HOSTS)]
    of_host = f"cityHash64('host', toUInt64(number % {HOSTS}))"
    server.ask(f"INSERT INTO host SELECT 202311, {of_host}, concat('h', toString(number)), emptyArrayString(), "
               f"emptyArrayString() FROM system.numbers LIMIT {len(hosts)}")
    server.ask(f"INSERT INTO stack SELECT 202311, toUInt64({service}), MD5(toString(number)), arrayMap(x -> toUInt64("
               f"if(x > 20, 100000 + x, cityHash64(number, x) % (x * 200 + 1) + 1000 * x)), range({FRAMES})) "
               f"FROM system.numbers LIMIT {STACKS}")
    server.ask("INSERT INTO symbol SELECT DISTINCT f, toDateTime(0), [concat('function_', toString(f))], ['file.c'], "
               f"[toUInt32(7)] FROM (SELECT arrayJoin(frames) AS f FROM stack WHERE service = {service})")
    server.ask("INSERT INTO frame SELECT DISTINCT 202311, f, 'ab', f, '/bin/x' FROM (SELECT arrayJoin(frames) AS f "
               f"FROM stack WHERE service = {service})")
    minutes = 1440
    server.ask("INSERT INTO draw SELECT toDateTime({day} + 60 * intDiv(number * {minutes}, {rows})), {service}, "
               "MD5(toString(stack_number)), {series}, {host}, {size}, 524288, toUInt32(1 + cityHash64(number, 3) % 3), "
               "toUInt32(cityHash64(number, 4) % 3), 0 FROM (SELECT number, {pick} AS stack_number FROM system.numbers "
               "LIMIT {rows})".format(day=DAY, minutes=minutes, rows=DRAWS, service=service, series=series,
                                      host=of_host, size=SIZE.format("number"), pick=PICK.format("number")))
    rows = HOSTS * LIVE * SLOTS
    # Most blocks that are live in a slot were live in the slot before.
    same = f"number % {HOSTS * LIVE}"
    server.ask("INSERT INTO live SELECT toDateTime({day} + 600 * intDiv(number, {each})), {service}, "
               "MD5(toString(stack_number)), {series}, {host}, {size}, 524288, toUInt32(1 + cityHash64(number, 3) % 9), 0 "
               "FROM (SELECT number, {pick} AS stack_number FROM system.numbers LIMIT {rows})".format(
                   day=DAY, each=HOSTS * LIVE, rows=rows, service=service, series=series, host=of_host,
                   size=SIZE.format(same), pick=PICK.format(same)))
    server.ask(f"INSERT INTO process SELECT toDateTime({DAY} + 600 * intDiv(number, {HOSTS})), {service}, {series}, "
               f"{of_host}, 1, 1000000, 524288, 0, 1000000000, 5e8, 1e9, 600, 0 FROM system.numbers LIMIT {144 * HOSTS}")
    # The last statement: a folder that has the service has all of its rows.
    server.ask(f"INSERT INTO series VALUES (202311, {service}, {series}, 'bench', '1', 'native', '', '', [], [])")


def timed(server, what, *words, repeat=3):
    best = None
    for _ in range(repeat):
        begin, before = time.monotonic(), server.seconds()
        done = subprocess.run([GEIGER, "fleet", *words, "--store", server.folder], capture_output=True, text=True,
                              check=False)
        took = (time.monotonic() - begin, server.seconds() - before)
        if done.returncode != 0:
            print(f"{what}: {done.stderr.strip()}")
            return
        best = min(best or took, took)
    print(f"{what}: {best[0]:.2f} s, of which the server's processors {best[1]:.2f} s", flush=True)


def main():
    keep = os.environ.get("FLEET_KEEP")
    folder = keep or tempfile.mkdtemp(prefix="bench-fleet-")
    server = Server(folder)
    try:
        if not server.ask("SELECT service FROM series WHERE service_name = 'bench'"):
            service = service_id(server)
            begin = time.monotonic()
            fill(server, service)
            print(f"made in {time.monotonic() - begin:.0f} s", flush=True)
        for table in ("draw", "live"):
            rows, size, columns = server.sizes(table)
            print(f"{table}: {rows} rows of {size:.2f} bytes: " + ", ".join(
                f"{name} {bytes_:.2f}" for name, bytes_ in columns.items()), flush=True)
        day = ["--since", f"@{DAY}", "--until", f"@{DAY + 86400}", "--limit", "50"]
        timed(server, "report of a day, allocated, raw", "report", "bench", "--metric", "allocated", *day)
        timed(server, "roll of the day", "roll", repeat=1)
        timed(server, "roll that notes the day", "roll", repeat=1)
        timed(server, "report of a day, allocated, rolled", "report", "bench", "--metric", "allocated", *day)
        timed(server, "report of 23 hours, allocated, rolled", "report", "bench", "--metric", "allocated", *day[:3],
              f"@{DAY + 23 * 3600}", *day[4:])
        timed(server, "report of a day, live, averaged", "report", "bench", *day)
        timed(server, "report of a moment, live", "report", "bench", "--at", f"@{DAY + 3000}", "--limit", "50")
    finally:
        if not keep:
            subprocess.run([GEIGER, "fleet", "down", folder], check=False, capture_output=True)
            subprocess.run(["rm", "-rf", folder], check=False)


if __name__ == "__main__":
    main()
