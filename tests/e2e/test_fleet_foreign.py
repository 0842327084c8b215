#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Profiles of other agents become slots of the store with the samples that they are made of.

GEIGER: the command.  Times are those of the profiles, so nothing here waits for a slot.
"""

import base64
import gzip
import http.client
import json
import os
import shutil
import subprocess
import sys
import time
import urllib.parse

import pprof_maker
from fleet_store import Receiver, Store, Tmpfs, wait_for
from sentences import check, in_scratch, skip

GEIGER = os.environ["GEIGER"]
SLOT = 600
CLOSE = 1e-9
PUSH, INGEST, OTLP = "/push.v1.PusherService/Push", "/ingest", "/v1development/profiles"
PROTO = {"Content-Type": "application/proto", "Connect-Protocol-Version": "1"}
MAIN, CACHE, LOG = ("main.main",), ("cache.put", "main.main"), ("log.line", "main.main")
R = 524288
GO_TYPES = pprof_maker.GO_TYPES


def ours(service):
    return f"service IN (SELECT service FROM series WHERE service_name = '{service}')"


class Fleet:
    """A store, a receiver, and what is in the store."""

    def __init__(self, store):
        self.store = store
        self.receiver = Receiver(store.folder, "segments")
        now = int(time.time())
        self.start = now - now % SLOT - 20 * SLOT

    def post(self, path, body, headers=None):
        return self.receiver.get(path, body, {**PROTO, **(headers or {})})

    def push(self, labels, *profiles):
        return self.post(PUSH, pprof_maker.push([(labels, profiles)]))[0]

    def rows(self, service, table="draw", columns="allocated, freed"):
        self.receiver.is_drained()
        return [tuple(int(value) for value in row) for row in self.store.ask(
            f"SELECT toUInt32(slot) - {self.start}, size, {columns} FROM {table} FINAL WHERE {ours(service)} "
            f"ORDER BY slot, size, {columns}")]

    def live(self, service):
        return self.rows(service, "live", "n")

    def report(self, service, *more):
        done = subprocess.run([GEIGER, "fleet", "report", service, "--store", self.store.folder, "--json", *more],
                              capture_output=True, text=True, timeout=120, check=False)
        return json.loads(done.stdout) if done.returncode == 0 else {"error": done.stderr}


def same(found, wanted):
    return None if found == wanted else f"{found} is not {wanted}"


def heap(fleet, at, rows, **more):
    return gzip.compress(pprof_maker.heap(rows, time_s=fleet.start + at, **more))


def test_totals(fleet):
    """An agent that counts from the start of the process, such as one that scrapes Go."""
    who = {"__name__": "memory", "service_name": "shop", "instance": "web-1:8080", "version": "1.2"}
    looks = [[(MAIN, 64, 100, 40), (CACHE, 4096, 7, 7), (LOG, 3000000, 2, 1)],
             [(MAIN, 64, 150, 35), (CACHE, 4096, 9, 8), (LOG, 3000000, 2, 1)],
             [(MAIN, 64, 150, 35), (CACHE, 4096, 9, 0), (LOG, 3000000, 5, 3)]]
    between = [(MAIN, 64, 149, 90), (CACHE, 4096, 8, 8), (LOG, 3000000, 2, 1)]
    statuses = [fleet.push(who, heap(fleet, SLOT + 15, looks[0])), fleet.push(who, heap(fleet, SLOT + 30, between)),
                fleet.push(who, heap(fleet, 2 * SLOT + 15, looks[1])), fleet.push(who, heap(fleet, 3 * SLOT + 5, looks[2]))]
    live = [(slot, size, n) for slot, look in zip((0, SLOT, 2 * SLOT), looks) for _, size, _, n in look if n]
    draws = [(SLOT, 64, 50, 55), (SLOT, 4096, 2, 1), (2 * SLOT, 4096, 0, 8), (2 * SLOT, 3000000, 3, 1)]
    check("a slot of a process is one look, with the samples that Go had",
          same(statuses, [200] * 4), same(fleet.live("shop"), live))
    check("what it allocated and freed is the exact difference to the look before", same(fleet.rows("shop"), draws))
    again = [fleet.push(who, heap(fleet, 2 * SLOT + 15, looks[1])), fleet.push(who, heap(fleet, SLOT + 31, between))]
    fleet.receiver.kill()
    fleet.receiver.start()
    again += [fleet.push(who, heap(fleet, 3 * SLOT + 5, looks[2])), fleet.push(who, heap(fleet, 3 * SLOT + 20, between))]
    check("profiles that come again, late, or to a receiver that was killed change nothing",
          same(again, [200] * 4), same(fleet.live("shop"), live), same(fleet.rows("shop"), draws))
    looks.append([(MAIN, 64, 160, 30), (CACHE, 4096, 9, 0), (LOG, 3000000, 5, 3)])
    fleet.push(who, heap(fleet, 4 * SLOT, looks[3]))
    check("a receiver that lost its counters counts nothing for the first look",
          same(fleet.rows("shop"), draws), same([row for row in fleet.live("shop") if row[0] == 3 * SLOT],
                                                [(3 * SLOT, 64, 30), (3 * SLOT, 3000000, 3)]))
    fleet.push(who, heap(fleet, 5 * SLOT, [(MAIN, 64, 12, 6), (CACHE, 4096, 90, 0), (LOG, 3000000, 50, 3)]))
    check("nor does it count a process that began anew", same(fleet.rows("shop"), draws))
    fleet.push(who, heap(fleet, 6 * SLOT, [(MAIN, 64, 13, 6), (CACHE, 4096, 90, 0), (LOG, 3000000, 50, 3)]))
    check("and it goes on from there", same(fleet.rows("shop")[len(draws):], [(5 * SLOT, 64, 1, 1)]))
    report = fleet.report("shop", "--at", f"@{fleet.start + SLOT - 1}")
    wanted = sum(n * size / pprof_maker.chance(size, R) for _, size, _, n in looks[0])
    found = report.get("selected_bytes", report)
    check("a report scales the samples and has an interval",
          None if abs(found.get("estimate", 0) - wanted) < CLOSE * wanted and found["low"] < wanted < found["high"]
          else f"{found}, not {wanted}")
    host = fleet.store.ask(f"SELECT DISTINCT name FROM host WHERE host IN (SELECT host FROM process WHERE {ours('shop')})")
    check("the host is the instance without its port, and the version is that of the label", same(host, [["web-1"]]),
          same(fleet.store.ask(f"SELECT DISTINCT version, kind, heap FROM series WHERE {ours('shop')}"),
               [["1.2", "unknown", "pprof"]]))


def test_differences(fleet):
    """An agent that takes the differences itself."""
    who = {"__name__": "memory", "service_name": "delta", "pod": "delta-1", "__delta__": "false"}
    spans = [(10, [(MAIN, 64, 5, 3), (CACHE, 4096, 1, 1)]), (25, [(MAIN, 64, 5, 9)]), (SLOT + 3, [(MAIN, 64, 0, 4)]),
             (SLOT + 18, [(MAIN, 64, 2, 2)])]
    wanted = [(10, 64, 5, 0), (10, 4096, 1, 0), (25, 64, 5, 0), (SLOT + 18, 64, 2, 0)]
    for _ in range(2):
        for at, rows in spans:
            fleet.push(who, heap(fleet, at, rows))
        found = fleet.rows("delta")
        check("differences add up, also if they come twice to two receivers", same(found, wanted),
              same(fleet.live("delta"), [(-SLOT, 64, 3), (-SLOT, 4096, 1), (0, 64, 4)]))
        fleet.receiver.kill()
        fleet.receiver.start()
    totals = dict(who)
    del totals["__delta__"]
    fleet.push(who, heap(fleet, 2 * SLOT, [(MAIN, 64, 1, 1)]))
    fleet.push(totals, heap(fleet, 3 * SLOT, [(MAIN, 64, 900, 9)]))
    check("an agent that counts from the start is not taken beside one that takes differences",
          same(fleet.rows("delta"), [*wanted, (2 * SLOT, 64, 1, 0)]),
          None if fleet.receiver.metric("geiger_fleet_foreign_unclear_total") == 1 else "not counted")


def test_forms(fleet):
    """JSON, /ingest in its forms, and OTLP say the same as protocol buffers."""
    rows, at = [(MAIN, 64, 30, 20), (CACHE, 4096, 3, 3)], 40
    profile = heap(fleet, at, rows)
    wanted = [(-SLOT, 64, 20), (-SLOT, 4096, 3)]
    body = {"series": [{"labels": [{"name": "service_name", "value": "json"}, {"name": "instance", "value": "é:1"}],
                        "samples": [{"ID": "1", "rawProfile": base64.b64encode(profile).decode()}]}]}
    status, headers, answer = fleet.post(PUSH, json.dumps(body).encode(), {"Content-Type": "application/json"})
    check("a push in JSON is taken", same((status, headers["Content-Type"], answer), (200, "application/json", b"{}")),
          same(fleet.live("json"), wanted))
    form = (b"--XyZ\r\nContent-Disposition: form-data; name=\"profile\"; filename=\"profile.pprof\"\r\n"
            b"Content-Type: application/octet-stream\r\n\r\n" + profile + b"\r\n--XyZ\r\nContent-Disposition: form-data; "
            b"name=\"sample_type_config\"\r\n\r\n" + json.dumps({
                "alloc_objects": {"units": "objects"}, "inuse_space": {"units": "bytes", "aggregation": "average"}
            }).encode() + b"\r\n--XyZ--\r\n")
    status = fleet.post(INGEST + "?name=form%7Bhostname%3Dh-1%2Cregion%3Deu%7D&spyName=gospy&from=1&until=2", form,
                        {"Content-Type": "multipart/form-data; boundary=XyZ"})[0]
    check("a form of an SDK is taken, and its configuration says that allocations are differences", same(status, 200),
          same(fleet.live("form"), wanted), same(fleet.rows("form"), [(at, 64, 30, 0), (at, 4096, 3, 0)]),
          same(fleet.store.ask(f"SELECT keys, vals FROM series WHERE {ours('form')} LIMIT 1"), [["['region']", "['eu']"]]))
    status = fleet.post(INGEST + "?name=raw%7Bhostname%3Dh-1%7D&format=pprof", profile)[0]
    check("so is a profile as the body", same(status, 200), same(fleet.live("raw"), wanted))
    folded = fleet.post(INGEST + "?name=app.cpu&format=folded", b"main;work 10\n")[0]
    memory = fleet.post(INGEST + "?name=app.mem&format=folded&units=bytes", b"main;work 10\n")[0]
    check("stacks of time are accepted and left, and stacks of bytes refused", same((folded, memory), (200, 400)))
    with open("in.pprof", "wb") as file:
        file.write(pprof_maker.heap(rows, time_s=fleet.start + at, duration_s=60, labels={"host.name": "otel-1"}))
    subprocess.run([GEIGER, "import", "-q", "in.pprof", "-o", "in.geiger"], check=True, timeout=60)
    subprocess.run([GEIGER, "export", "--format", "otlp", "-o", "out.pb", "in.geiger"], check=True, timeout=60)
    with open("out.pb", "rb") as file:
        otlp = file.read()
    status, headers, answer = fleet.post(OTLP, otlp, {"Content-Type": "application/x-protobuf"})
    total = fleet.store.number
    fleet.receiver.is_drained()
    service = "unknown_service"
    found = total(f"SELECT sum(bytes + sure_seen + missed_bytes) FROM folded FINAL WHERE {ours(service)} AND metric = 2")
    want = sum(pprof_maker.scaled(n, size, R)[1] for _, size, _, n in rows)
    check("OTLP is taken; without sizes of objects its rows are sums",
          same((status, headers["Content-Type"], answer), (200, "application/x-protobuf", b"")),
          None if abs(found - want) <= 1e-6 * want else f"{found}, not {want}")


def form_of(*parts, boundary="------------------------d74496d66958873e"):
    """A form of (head, content) parts, and the header that names its boundary."""
    body = b"".join(b"--" + boundary.encode() + b"\r\n" + head.encode() + b"\r\n\r\n" + content + b"\r\n"
                    for head, content in parts) + b"--" + boundary.encode() + b"--\r\n"
    return body, {"Content-Type": f"multipart/form-data; boundary={boundary}"}


def file_part(name, filename, content, kind="application/octet-stream"):
    return f'Content-Disposition: form-data; name="{name}"; filename="{filename}"\r\nContent-Type: {kind}', content


GO_CONFIG = {"alloc_objects": {"units": "objects", "cumulative": False}, "alloc_space": {"units": "bytes"},
             "inuse_objects": {"units": "objects", "aggregation": "average"},
             "inuse_space": {"units": "bytes", "aggregation": "average", "cumulative": False}}


def ingest(name, **more):
    query = {"name": name, "from": "1700000000000000000", "until": "1700000015000000000", **more}
    return f"{INGEST}?{urllib.parse.urlencode(query)}"


def chunked(receiver, path, body, headers):
    """The status of a request without a length, in chunks of several sizes."""
    connection = http.client.HTTPConnection(receiver.address, timeout=60)
    pieces = (body[at:at + 1000] for at in range(0, len(body), 1000))
    connection.request("POST", path, body=pieces, headers=headers, encode_chunked=True)
    status = connection.getresponse().status
    connection.close()
    return status


def test_sdks(fleet):
    """Requests in the forms of the SDKs of Pyroscope and of Alloy; bodies are made here."""
    rows, at, problems = [(MAIN, 64, 30, 20), (CACHE, 4096, 3, 3)], 40, []
    live, spans = [(-SLOT, 64, 20), (-SLOT, 4096, 3)], [(at, 64, 30, 0), (at, 4096, 3, 0)]
    packed, plain = heap(fleet, at, rows), pprof_maker.heap(rows, time_s=fleet.start + at)
    cpu = pprof_maker.heap([(MAIN, 64, 3, 2)], types=[("samples", "count"), ("cpu", "nanoseconds")])

    def add(what, status, service=None, draws=None, states=None, wanted=200):
        if status != wanted:
            problems.append(f"{what}: {status}")
        elif service:
            problems.extend(f"{what}: {problem}" for problem in (
                same(fleet.live(service), live if states is None else states),
                same(fleet.rows(service), draws or [])) if problem)

    def post(path, body, headers):
        return fleet.receiver.get(path, body, headers)[0]

    def tagged(service, **tags):
        return service + "{" + ",".join(f"{key}={value}" for key, value in sorted(tags.items())) + "}"

    config = file_part("sample_type_config", "sample_type_config.json", json.dumps(GO_CONFIG).encode())
    body, headers = form_of(file_part("profile", "profile.pprof", packed), config)
    agent = {"User-Agent": "Go-http-client/1.1", "Accept-Encoding": "gzip", **headers}
    add("Go", post(ingest(tagged("sdk-go", __session_id__="9f86d081884c7d65", hostname="g-1"), spyName="gospy",
                          sampleRate="100", units="", aggregationType=""), body, agent), "sdk-go", spans)
    body, headers = form_of(file_part("profile", "profile.pprof", cpu))
    add("Go's processor time", post(ingest(tagged("sdk-go", hostname="g-1"), spyName="gospy", sampleRate="100",
                                           units="samples", aggregationType="sum"), body, headers))
    body, headers = form_of(file_part("profile", "profile.pprof", packed), file_part("prev_profile", "profile.pprof", packed),
                            file_part("sample_type_config", "sample_type_config.json", json.dumps({
                                **GO_CONFIG, "alloc_objects": {"cumulative": True}, "alloc_space": {"cumulative": True},
                            }).encode()))
    add("Go of old, which counts from the start", post(ingest(tagged("sdk-old", hostname="g-1"), spyName="gospy"), body,
                                                       headers), "sdk-old")
    body, headers = form_of(file_part("profile", "profile", packed), boundary="----pyroscope0123456789abcdef")
    add("Node", post(ingest(tagged("sdk-node", hostname="n-1"), spyName="nodespy"), body, headers), "sdk-node")
    types = [("objects", "count"), ("space", "bytes")]
    whole = pprof_maker.heap([(MAIN, 64, 20, 20)], time_s=fleet.start + at, types=types, has_size=False,
                             values={"objects": "inuse_objects", "space": "inuse_space"})
    body, headers = form_of(file_part("profile", "profile", gzip.compress(whole), "text/json"))
    status = post(ingest(tagged("sdk-heap", hostname="n-1"), spyName="nodespy"), body, headers)
    fleet.receiver.is_drained()
    held = fleet.store.number(f"SELECT sum(bytes + sure_seen + missed_bytes) FROM folded FINAL WHERE {ours('sdk-heap')} "
                              "AND metric = 2")
    add("Node's heap", status)
    wanted = pprof_maker.scaled(20, 64, R)[1]
    problems.append(None if abs(held - wanted) < 1e-6 * wanted else f"Node's heap: {held} is not {wanted}")
    dotnet = [("cpu", "nanoseconds"), ("alloc_samples", "count"), ("alloc_size", "bytes"), ("inuse_objects", "count"),
              ("inuse_space", "bytes")]
    body, headers = form_of(file_part("profile", "profile.pprof", pprof_maker.heap(rows, time_s=fleet.start + at, types=dotnet)),
                            file_part("sample_type_config", "sample_type_config.json", json.dumps({
                                "alloc_samples": {"units": "objects"}, "inuse_space": {"units": "bytes"}}).encode()))
    status = post(ingest(tagged("sdk-dotnet", hostname="d-1"), spyName="dotnetspy"), body, headers)
    add(".NET", status)
    problems.append(same(fleet.live("sdk-dotnet"), live))
    jfr, headers = form_of(file_part("jfr", "jfr", b"FLR\0" + bytes(64)), file_part("labels", "labels", gzip.compress(b"\x0a\0"),
                                                                                  "application/x-protobuf"))
    add("Java", post(ingest(tagged("sdk-java", hostname="j-1"), units="samples", aggregationType="sum", spyName="javaspy",
                            sampleRate="100", format="jfr"), jfr, headers))
    add("Python's processor time", post(ingest("sdk-python.cpu", format="pprof", spyName="pyspy", sampleRate="100"),
                                        gzip.compress(cpu), {"Content-Type": "application/octet-stream"}))
    add("folded stacks", post(ingest("sdk-python.cpu", format="folded", spyName="pyspy", sampleRate="100"),
                              b"main;work 10\n", {"Content-Type": "binary/octet-stream"}))
    rust = pprof_maker.push([({"__name__": "memory", "service_name": "sdk-rust", "hostname": "r-1", "__delta__": "false"}, [packed])])
    add("Rust", post(PUSH, gzip.compress(rust), {"Content-Type": "application/x-protobuf", "Content-Encoding": "gzip"}),
        "sdk-rust", spans)
    empty = pprof_maker.heap([], time_s=fleet.start + at, types=GO_TYPES[:2])
    add("Rust without allocations", post(PUSH, pprof_maker.push([({"service_name": "sdk-none", "hostname": "r-1"}, [empty])]),
                                         {"Content-Type": "application/proto"}), "sdk-none", [], [])
    alloy = {"Content-Type": "application/proto", "Connect-Protocol-Version": "1", "Connect-Timeout-Ms": "10000",
             "Accept-Encoding": "gzip", "Content-Encoding": "gzip", "X-Agent-UID": "00000000-0000-0000-0000-000000000000"}
    labels = {"__name__": "memory", "__delta__": "false", "instance": "a-1:8080", "job": "alloy", "service_name": "alloy"}
    add("Alloy", post(PUSH, gzip.compress(pprof_maker.push([(labels, [packed])])), alloy), "alloy", spans)
    add("Alloy's profile that is not compressed", post(PUSH, pprof_maker.push([({**labels, "service_name": "alloy-plain"}, [
        plain])]), {**alloy, "Content-Encoding": "identity"}), "alloy-plain", spans)
    add("a push without a series", post(PUSH, b"", {"Content-Type": "application/proto"}))
    add("a series without a profile", post(PUSH, pprof_maker.push([(labels, [])]), alloy | {"Content-Encoding": "identity"}))
    unknown = pprof_maker.heap([(MAIN, 64, 3, 2)], types=[("goroutines", "count")])
    add("an unknown type", post(PUSH, pprof_maker.push([(labels, [unknown])]), alloy | {"Content-Encoding": "identity"}))
    add("two profiles, one of another kind", post(PUSH, pprof_maker.push([({**labels, "service_name": "alloy-two"}, [
        unknown, packed])]), alloy | {"Content-Encoding": "identity"}), "alloy-two", spans)
    add("chunks", chunked(fleet.receiver, PUSH, pprof_maker.push([({**labels, "service_name": "alloy-chunks"}, [packed])]),
                          {"Content-Type": "application/proto"}), "alloy-chunks", spans)
    text = json.dumps({"series": [{"labels": [{"name": key, "value": value} for key, value in {
        **labels, "service_name": "alloy-json"}.items()], "samples": [{"rawProfile": base64.b64encode(packed).decode()}]}]})
    add("JSON with a charset", post(PUSH, text.encode(), {"Content-Type": "Application/JSON; charset=utf-8"}), "alloy-json", spans)
    odd, headers = form_of(("content-disposition: form-data; filename=profile; name=profile", packed),
                           ("content-disposition: form-data; name=sample_type_config", json.dumps(GO_CONFIG).encode()))
    headers = {"content-type": headers["Content-Type"].replace("boundary=", 'charset=utf-8; boundary="') + '"'}
    add("a form without quotes, after a preamble", post(ingest(tagged("sdk-odd", hostname="o-1")), b"preamble\r\n" + odd,
                                                        headers), "sdk-odd", spans)
    add("an encoding that nobody reads", post(PUSH, b"x", {"Content-Encoding": "br"}), wanted=415)
    check("requests of the SDKs of Pyroscope and of Alloy are taken in their own forms, with the right samples", *problems)


def otlp(resources):
    """OTLP as JSON: (labels, [(type, time, duration, bytes)]) of each resource."""
    texts = ["", "bytes", "space", "main.main"]
    for name in ("alloc_space", "inuse_space", "cpu"):
        texts.append(name)
    return json.dumps({"resourceProfiles": [{
        "resource": {"attributes": [{"key": key, "value": {"stringValue": value}} for key, value in labels.items()]},
        "scopeProfiles": [{"profiles": [{
            "sampleType": {"typeStrindex": texts.index(kind), "unitStrindex": 0 if kind == "cpu" else 1},
            "timeUnixNano": str(at * 10**9), "durationNano": str(duration * 10**9),
            "periodType": {"typeStrindex": 2, "unitStrindex": 1}, "period": str(R),
            "samples": [{"stackIndex": 1, "values": [str(value)]}]} for kind, at, duration, value in profiles]}],
    } for labels, profiles in resources], "dictionary": {
        "stringTable": texts, "stackTable": [{}, {"locationIndices": [1]}],
        "locationTable": [{}, {"lines": [{"functionIndex": 1}]}],
        "functionTable": [{}, {"nameStrindex": 3}], "mappingTable": [{}], "attributeTable": [{}],
        "linkTable": [{}]}}).encode()


def otlp_message(labels, rows, time_s, duration_s=0, types=GO_TYPES):
    """An ExportProfilesServiceRequest of the collector: a profile for each type of values."""
    part, number = pprof_maker.part, pprof_maker.number
    texts, functions, stacks = pprof_maker.Texts(), {}, {}
    profiles = b""
    for kind, unit in types:
        samples = b""
        for stack, size, allocated, live in rows:
            for name in stack:
                functions.setdefault(name, len(functions) + 1)
            stacks.setdefault(stack, len(stacks) + 1)
            value = pprof_maker.scaled(live if kind.startswith("inuse") else allocated, size, R)[unit == "bytes"]
            samples += part(2, number(1, stacks[stack]) + part(4, pprof_maker.varint(value)))
        profiles += part(2, part(1, number(1, texts(kind)) + number(2, texts(unit))) + samples +
                         pprof_maker.fixed64(3, time_s * 10**9) + number(4, duration_s * 10**9) +
                         part(5, number(1, texts("space")) + number(2, texts("bytes"))) + number(6, R) +
                         part(7, os.urandom(16)))
    attributes = b"".join(part(1, part(1, key) + part(2, part(1, value))) for key, value in labels.items())
    scope = part(1, part(1, "otelcol/pprofreceiver") + part(2, "0.140.0"))
    resource = part(1, part(1, attributes) + part(2, scope + profiles))
    tables = part(1, b"") + part(2, b"") + part(3, b"") + part(4, b"") + part(6, b"") + part(7, b"")
    for name in functions:
        tables += part(2, part(3, number(1, functions[name]) + number(2, 7)))
        tables += part(3, number(1, texts(name)))
    for stack in stacks:
        tables += part(7, part(1, b"".join(pprof_maker.varint(functions[name]) for name in stack)))
    return resource + part(2, tables + texts.fields(5))


def test_otlp(fleet):
    """Requests in the forms of OpenTelemetry's collector and of the SDKs that send OTLP."""
    rows, problems = [(MAIN, 64, 30, 20), (CACHE, 4096, 3, 3)], []
    agent = {"Content-Type": "application/x-protobuf", "User-Agent": "OpenTelemetry Collector/0.140.0 (linux/amd64)"}
    expected = {metric: sum(pprof_maker.scaled(row[2 + which], row[1], R)[1] for row in rows)
                for metric, which in ((0, 0), (2, 1))}

    def bytes_of(service, metric):
        fleet.receiver.is_drained()
        return fleet.store.number(f"SELECT sum(bytes + sure_seen + missed_bytes) FROM folded FINAL WHERE {ours(service)} "
                                  f"AND metric = {metric}")

    def add(what, body, headers=None, path=OTLP, service=None, wanted=200, has_spans=False):
        status, answered, answer = fleet.receiver.get(path, body, {**agent, **(headers or {})})
        if status != wanted:
            problems.append(f"{what}: {status} {answer}")
        elif service:
            for metric in (0, 2):
                found, want = bytes_of(service, metric), expected[metric] if metric == 2 or has_spans else 0
                if abs(found - want) > 1e-6 * max(want, 1):
                    problems.append(f"{what}: {found} bytes of metric {metric} are not {want}")
        return answered["Content-Type"], answer

    def message(service, **more):
        return otlp_message({"service.name": service, "host.name": "otel-1", "service.instance.id": service}, rows,
                            fleet.start + 40, **more)

    add("the collector", gzip.compress(message("otel")), {"Content-Encoding": "gzip"}, service="otel")
    add("the collector without compression", message("otel-plain"), service="otel-plain")
    add("profiles of a span", message("otel-spans", duration_s=15), service="otel-spans", has_spans=True)
    add("the path of the stable version", message("otel-stable"), path="/v1/profiles", service="otel-stable")
    add("a charset", message("otel-charset"), {"Content-Type": "application/x-protobuf; charset=utf-8"},
        service="otel-charset")
    status = chunked(fleet.receiver, OTLP, message("otel-chunks"), agent)
    problems.append(same((status, abs(bytes_of("otel-chunks", 2) - expected[2]) < 1), (200, True)))
    add("a request without profiles", otlp_message({"service.name": "otel-none"}, [], fleet.start + 40, types=[]))
    add("a request without a byte", b"")
    add("a compressed request without a byte", gzip.compress(b""), {"Content-Encoding": "gzip"})
    for text in ("{}", '{"resourceProfiles":[]}', '{"resourceProfiles":[{"resource":{},"scopeProfiles":[{}]}]}'):
        add(f"JSON without profiles: {text}", text.encode(), {"Content-Type": "application/json"})
    add("a resource without profiles", pprof_maker.part(1, pprof_maker.part(1, b"")))
    add("a profile without a dictionary", pprof_maker.part(1, pprof_maker.part(2, pprof_maker.part(2, b""))), wanted=400)
    for name in ("gzip ", " GZIP", "gzip,", "identity , gzip"):
        add(f"the encoding {name!r}", gzip.compress(b""), {"Content-Encoding": name}, wanted=415 if "y" in name else 200)
    add("profiles without samples", otlp_message({"service.name": "otel-empty", "service.instance.id": "1"}, [],
                                                 fleet.start + 40), service=None)
    add("an unknown type", otlp_message({"service.name": "otel-cpu", "service.instance.id": "1"}, rows, fleet.start + 40,
                                        types=[("cpu", "nanoseconds")]))
    kind, answer = add("a body that is none", b"\xff\xff", wanted=400)
    problems.append(same((kind, dict(pprof_maker.fields(answer)).get(1)), ("application/x-protobuf", 3)))
    kind, answer = add("JSON that is none", b"{", {"Content-Type": "application/json"}, wanted=400)
    problems.append(same((kind, json.loads(answer).get("code")), ("application/json", 3)))
    add("another encoding", message("otel-snappy"), {"Content-Encoding": "snappy"}, wanted=415)
    stored = fleet.store.ask("SELECT DISTINCT service_name FROM series WHERE service_name IN ('otel-none', 'otel-empty', "
                             "'otel-cpu', 'otel-snappy')")
    check("requests of OpenTelemetry's collector are taken in their forms, with the right sums", *problems, same(stored, []))


def test_resources(fleet):
    """A collector sends the profiles of several processes in one request."""

    def send(resources):
        return fleet.post(OTLP, otlp(resources), {"Content-Type": "application/json"})[0]

    def bytes_of(service, metric):
        fleet.receiver.is_drained()
        return fleet.store.number(f"SELECT sum(bytes + sure_seen + missed_bytes) FROM folded FINAL WHERE {ours(service)} "
                                  f"AND metric = {metric}")

    def near(found, wanted):
        return None if abs(found - wanted) <= 1e-4 * wanted else f"{found} is not {wanted}"

    mega = 1 << 20
    statuses = []
    for at in (10, 25, SLOT + 10, SLOT + 25):  # 5 s apart, and each counts from its start
        first, second = fleet.start + at, fleet.start + at + 5
        statuses.append(send([
            ({"service.name": "batch", "service.instance.id": "1"},
             [("alloc_space", first, 0, 100 * mega), ("inuse_space", first, 0, 10 * mega), ("cpu", first, 10, 7)]),
            ({"service.name": "batch", "service.instance.id": "2"},
             [("alloc_space", second, 0, 300 * mega), ("inuse_space", second, 0, 20 * mega)])]))
    check("processes of a request whose times differ still count from their start", same(statuses, [200] * 4),
          same(bytes_of("batch", 0), 0), near(bytes_of("batch", 2), 60 * mega))
    spans = [send([({"service.name": "spans", "service.instance.id": "1"}, [("alloc_space", fleet.start + at, 5, 8 * mega)]),
                   ({"service.name": "other", "service.instance.id": "2"}, [("alloc_space", fleet.start + at, 0, mega)])])
             for at in (10, 25)]
    check("those with a duration add up, beside others without one", same(spans, [200] * 2),
          near(bytes_of("spans", 0), 16 * mega), same(bytes_of("other", 0), 0))
    latest = send([({"service.name": "twice", "service.instance.id": "1"}, [("inuse_space", fleet.start + at, 0, size * mega)])
                   for at, size in ((10, 50), (25, 40))])
    check("two messages of one process in a request are one process, whose latest state counts", same(latest, 200),
          near(bytes_of("twice", 2), 40 * mega))
    who = {"service.name": "mixed", "service.instance.id": "1"}
    mixed = send([(who, [("alloc_space", fleet.start, 0, mega), ("alloc_space", fleet.start + 5, 5, mega)])])
    check("a process with both is refused", same(mixed, 400), same(bytes_of("mixed", 0), 0))
    wrong = send([({"service.name": "clock", "service.instance.id": "1"}, [("inuse_space", fleet.start + 60 * SLOT * 10, 0, mega)]),
                  ({"service.name": "right", "service.instance.id": "2"}, [("inuse_space", fleet.start, 0, mega)])])
    check("a wrong clock of one process does not lose the other one", same(wrong, 200), near(bytes_of("right", 2), mega),
          same(bytes_of("clock", 2), 0))


def test_insert_order(fleet):
    """A host counts once its row is in `process`, so that row must not come before its memory."""
    fleet.receiver.is_drained()
    errors = fleet.receiver.metric("geiger_fleet_insert_errors_total")
    fleet.store.ask("RENAME TABLE live TO live_away")
    fleet.push({"service_name": "order", "instance": "o"}, heap(fleet, 30, [(MAIN, 64, 10, 9)]))
    has_failed = wait_for(lambda: fleet.receiver.metric("geiger_fleet_insert_errors_total") > errors)
    count = fleet.store.number(f"SELECT count() FROM process WHERE {ours('order')}")
    fleet.store.ask("RENAME TABLE live_away TO live")
    fleet.receiver.is_drained()
    check("no row of a process is there before its memory", None if has_failed else "the insert did not fail",
          same(count, 0), same(fleet.live("order"), [(-SLOT, 64, 9)]),
          same(fleet.store.number(f"SELECT count() FROM process FINAL WHERE {ours('order')}"), 1))


def test_own_senders(fleet):
    """Profiles that geiger sends to receivers of Pyroscope and OTLP."""
    problems = []
    want = sum(pprof_maker.scaled(n, size, R)[1] for size, n in ((64, 20), (4096, 3)))
    for number, scheme in enumerate(("http", "pyroscope+http", "pyroscope-push+http")):
        service = f"via-{number}"
        done = subprocess.run([GEIGER, "send", "in.geiger", "--to", f"{scheme}://{fleet.receiver.address}", "--service",
                               service, "--label", "host.name=h", "--state", "none"],
                              capture_output=True, text=True, timeout=60, check=False)
        fleet.receiver.is_drained()
        found = fleet.store.number("SELECT sum(bytes + sure_seen + missed_bytes) FROM folded FINAL WHERE "
                                   f"{ours(service)} AND metric = 2")
        if done.returncode != 0 or abs(found - want) > 1e-4 * want:
            problems.append(f"{scheme}: {done.stderr} {found}, not {want}")
    check("geiger's own senders to other receivers reach it as well", *problems)


def test_unknown_error(fleet):
    fleet.push({"service_name": "dark", "instance": "d"}, heap(fleet, 50, [(MAIN, 64, 10, 10)], interval=0))
    fleet.push({"service_name": "sums", "instance": "d"}, heap(fleet, 50, [(MAIN, 64, 10, 10)], has_size=False))
    fleet.receiver.is_drained()
    unknown = [fleet.store.ask(f"SELECT metric, unknown, bytes > 0 FROM folded FINAL WHERE {ours(service)} AND metric = 2")
               for service in ("dark", "sums")]
    low = fleet.report("dark", "--at", f"@{fleet.start - 1}")["selected_bytes"]["low"]
    check("what has no sampling interval has no error, and says so; without sizes the error is a bound",
          same(unknown, [[["2", "3", "1"]], [["2", "0", "1"]]]), same(low, None))
    fleet.push({"service_name": "every", "instance": "d"}, heap(fleet, 50, [(MAIN, 64, 10, 9)], interval=1))
    problems = []
    for kind, labels, slots in (("totals of several sizes", {}, 2), ("differences", {"__delta__": "false"}, 2),
                                ("live memory alone", {}, 2)):
        service = kind.split()[0]
        for slot in range(1, slots + 1):
            more = {"has_size": False} if service == "totals" else {}
            if service == "live":
                more["types"] = pprof_maker.GO_TYPES[2:]
            fleet.push({"service_name": service, "instance": service, **labels},
                       heap(fleet, slot * SLOT + 5, [(MAIN, 64, 1000 * slot, 10)], **more))
        fleet.receiver.is_drained()
        for metric in ("allocated", "freed"):
            found = fleet.report(service, "--metric", metric, "--since", f"@{fleet.start}",
                                 "--until", f"@{fleet.start + 3 * SLOT}").get("selected_bytes", {})
            is_known = (service, metric) == ("differences", "allocated")
            if (found.get("low") is not None) != is_known:
                problems.append(f"{kind}, {metric}: {found}")
    check("what nobody counts has no interval", *problems)
    check("an interval of 1 took everything", same(fleet.store.ask(
        f"SELECT gap, n FROM live FINAL WHERE {ours('every')}") if fleet.receiver.is_drained() else 0, [["0", "9"]]))


def test_labels_of_samples(fleet):
    """tcmalloc labels samples, not processes; a label of a process must be a text."""
    guarded = [(rows, {"guarded_status": status, "access_allocated": access}) for rows, status, access in (
        ([(MAIN, 64, 5, 3)], "NotAttempted", "cold"), ([(MAIN, 64, 2, 2), (CACHE, 4096, 1, 1)], "RateLimited", "hot"))]
    status = fleet.push({"service_name": "tcmalloc", "instance": "t"}, heap(fleet, 30, guarded[0][0] + guarded[1][0], each=[
        labels for rows, labels in guarded for _ in rows]))
    check("labels of samples make no processes", same(status, 200), same(fleet.live("tcmalloc"), [(-SLOT, 64, 5), (-SLOT, 4096, 1)]),
          same(fleet.store.ask(f"SELECT count(), sum(processes) FROM process FINAL WHERE {ours('tcmalloc')}"), [["1", "1"]]))


def test_idle(fleet):
    """An idle process sends the same bytes again and again, perhaps without a time."""
    receiver = Receiver(fleet.store.folder, "segments-idle", "--slot", "2s")
    receiver.start()
    body = pprof_maker.push([({"service_name": "idle", "instance": "i"}, [pprof_maker.heap([(MAIN, 64, 3, 2)])])])
    for _ in range(30):
        receiver.get(PUSH, body, PROTO)
        time.sleep(0.25)
    receiver.is_drained()
    receiver.kill()
    slots = fleet.store.number(f"SELECT uniqExact(slot) FROM live FINAL WHERE {ours('idle')}")
    check("an idle process whose profiles have no time has a look in each slot", None if slots >= 3 else f"{slots} slots")


def test_parts(fleet):
    """A slot that is larger than a message."""
    stacks = 17000
    status = fleet.push({"service_name": "large", "pod": "large-1"},
                        heap(fleet, 80, [((f"f{i}",), 3000000, 1, 1) for i in range(stacks)]))
    fleet.receiver.is_drained()
    found = fleet.store.number(f"SELECT sum(n) FROM live FINAL WHERE {ours('large')}")
    check("a slot of several parts is stored as a whole", same((status, found), (200, stacks)))


def test_full_disk(fleet):
    """The disk has room for the first parts of a slot, but not for all of them."""
    disk = Tmpfs("small", "8m")
    try:
        if not disk.is_there:
            skip("a full disk keeps no part of a look", "no tmpfs")
            return
        receiver = Receiver(fleet.store.folder, os.path.join(disk.folder, "segments"))
        receiver.start()
        stacks, statuses = 17000, []
        body = pprof_maker.push([({"service_name": "disk", "pod": "disk-1"}, [
            heap(fleet, 90, [((f"f{i}",), 3000000, 1, 1) for i in range(stacks)])])])
        for room in (16 << 10, 1500 << 10, 0):
            if room:
                disk.fill(room)
            statuses.append(receiver.get(PUSH, body, PROTO)[0])
            if room:
                disk.free()
        receiver.is_drained()
        found = fleet.store.number(f"SELECT sum(n) FROM live FINAL WHERE {ours('disk')}")
        check("a full disk keeps no part of a look, which comes again as a whole", same(statuses, [503, 503, 200]),
              same(found, stacks))
        receiver.kill()
    finally:
        disk.done()


def test_pods(fleet):
    """Ten pods that follow each other, of which none says that it ended."""
    size, n, slots = 3000000, 5, 20
    fleet.receiver.is_drained()
    for slot in range(slots):
        fleet.push({"service_name": "rollout", "pod": f"rollout-{slot // 2}"},
                   heap(fleet, (slot - slots // 2) * SLOT + 5, [(MAIN, size, n * (1 + slot % 2), n)]))
        if slot == slots // 2:  # a receiver that forgot everything changes nothing
            fleet.receiver.kill()
            fleet.receiver.start()
    fleet.receiver.is_drained()
    report = fleet.report("rollout", "--since", f"@{fleet.start - (slots // 2 + 1) * SLOT}",
                          "--until", f"@{fleet.start + (slots // 2 - 1) * SLOT}")
    wanted = n * size / pprof_maker.chance(size, R)
    found = report.get("selected_bytes", report).get("estimate", 0)
    check("pods that follow each other hold what one of them holds",
          None if abs(found - wanted) < CLOSE * wanted else f"{found} is not {wanted}: {report.get('fleet', report)}")


def test_hostile(fleet):
    profile = heap(fleet, 60, [(MAIN, 64, 30, 20), (CACHE, 4096, 3, 3)])
    who = {"service_name": "evil", "instance": "e"}
    body = pprof_maker.push([(who, [profile])])
    bad = {fleet.post(PUSH, body[:cut])[0] for cut in range(1, len(body))}
    plain = pprof_maker.heap([(MAIN, 64, 30, 20)], time_s=fleet.start + 60)
    bad |= {fleet.push({**who, "instance": f"cut{cut}"}, plain[:cut]) for cut in range(1, len(plain), 7)}
    check("a request or profile that is cut is refused", same(sorted(bad - {200}), [400]))
    fleet.receiver.is_drained()
    drop = {name: fleet.store.number(f"SELECT count() FROM {name}") for name in ("live", "draw", "folded")}
    cpu = pprof_maker.heap([(MAIN, 64, 3, 2)], types=[("samples", "count"), ("cpu", "nanoseconds")])
    answers = {
        "processor's time": (fleet.push(who, cpu), 200),
        "no label that names the process": (fleet.push({"service_name": "evil"}, profile), 400),
        "a pid, which each container has": (fleet.push({"service_name": "evil", "pid": "1"}, profile), 400),
        "61 labels": (fleet.push({**who, **{f"l{i}": "x" for i in range(60)}}, profile), 400),
        "a zero byte": (fleet.push({**who, "x": "a\0b"}, profile), 400),
        "a label twice": (fleet.post(PUSH, pprof_maker.push([({"a": "1"}, [])])[:-1] + b"")[0], 400),
        "a few bytes with a million frames": (fleet.push(who, gzip.compress(pprof_maker.heap(
            [(("f",) * 1000, 64 + i, 3, 2) for i in range(1000)], time_s=fleet.start + 60))), 400),
        "a label that is no UTF-8": (fleet.push({**who, "zone": b"eu\xff\xfe"}, profile), 400),
        "a label of a sample that is none": (fleet.push(who, heap(fleet, 60, [(MAIN, 64, 3, 2)], labels={
            "version": b"\xc0\x80"})), 400),
        "a long text": (fleet.push({**who, "x": "a" * 2049}, profile), 400),
        "300 profiles": (fleet.push(who, *[b"x"] * 300), 400),
        "a bomb": (fleet.push(who, gzip.compress(b"\0" * (40 << 20))), 400),
        "values of no use": (fleet.push(who, heap(fleet, 60, [(MAIN, 64, 2**33, 2**33)])), 400),
        "tomorrow": (fleet.push(who, heap(fleet, 60 * SLOT * 10, [(MAIN, 64, 3, 2)])), 400),
        "too old": (fleet.push(who, heap(fleet, -3 * 86400, [(MAIN, 64, 3, 2)])), 400),
        "JSON that is none": (fleet.post(PUSH, b"{\"series\":[", {"Content-Type": "application/json"})[0], 400),
        "base64 that is none": (fleet.post(PUSH, b'{"series":[{"samples":[{"rawProfile":"%%"}]}]}',
                                           {"Content-Type": "application/json"})[0], 400),
        "a form without an end": (fleet.post(INGEST + "?name=x", b"--b\r\n\r\nx", {
            "Content-Type": "multipart/form-data; boundary=b"})[0], 400),
        "no name": (fleet.post(INGEST + "?format=pprof", profile)[0], 400),
        "GET": (fleet.receiver.get(PUSH)[0], 405),
        "5 MB": (fleet.receiver.announce(PUSH, 5 << 20), 413),
    }
    fleet.receiver.is_drained()
    check("what cannot be taken is refused", *[f"{what}: {found} is not {wanted}" for what, (found, wanted)
                                               in answers.items() if found != wanted],
          same({name: fleet.store.number(f"SELECT count() FROM {name}") for name in drop}, drop))
    status, headers, answer = fleet.post(PUSH, b"\xff")
    check("and the answer is one that agents of Pyroscope read",
          same((status, headers["Content-Type"], json.loads(answer)["code"]),
               (400, "application/json", "invalid_argument")))
    os.mkfifo("pipe")  # opening it waits forever
    status = fleet.push({**who, "instance": "files"}, heap(fleet, 60, [(MAIN, 64, 3, 2)], mapping=os.path.abspath("pipe")))
    check("no file that a profile names is opened", same(status, 200))


def test_tenants(store):
    token = "t" * 32
    with open("tokens", "w", encoding="utf-8") as file:
        file.write(f"{token} acme\n")
    os.chmod("tokens", 0o600)
    subprocess.run([GEIGER, "fleet", "schema", "--apply", "--store", store.folder, "--tenant", "acme"],
                   check=True, capture_output=True, timeout=120)
    fleet = Fleet(store)
    fleet.receiver = Receiver(store.folder, "segments-tenants", "--tokens", "tokens", "--tenant-rate", "64KiB")
    fleet.receiver.start()
    body = pprof_maker.push([({"service_name": "secret", "instance": "s"}, [heap(fleet, 70, [(MAIN, 64, 3, 2)])])])
    cases = [({}, 401, "unauthenticated"), ({"Authorization": "Bearer " + "x" * 32}, 401, "unauthenticated"),
             ({"Authorization": f"Bearer {token}", "X-Scope-OrgID": "other"}, 403, "permission_denied"),
             ({"Authorization": "Basic " + base64.b64encode(f"acme:{token}".encode()).decode()}, 200, None)]
    problems = []
    for headers, wanted, code in cases:
        status, _, answer = fleet.post(PUSH, body, headers)
        if status != wanted or (code and json.loads(answer)["code"] != code):
            problems.append(f"{headers}: {status} {answer}")
    fleet.receiver.is_drained()
    check("tokens and tenants hold for other agents as well", *problems,
          same([store.number(f"SELECT count() FROM live WHERE {ours('secret')}", tenant)
                for tenant in ("acme", "default")], [1, 0]))
    large = gzip.compress(pprof_maker.heap([((f"f{i}" * 50,), 64, 1, 1) for i in range(9000)]))
    statuses = [fleet.post(PUSH, pprof_maker.push([({"service_name": "big", "instance": f"b{i}"}, [large])]),
                           {"Authorization": f"Bearer {token}"})[0] for i in range(2)]
    check("a tenant's rate is one of unpacked bytes", same(statuses, [200, 429]))
    fleet.receiver.kill()
    fleet.receiver.start()
    deep = gzip.compress(pprof_maker.heap([(("f",) * 1000, 64 + i, 1, 1) for i in range(80)]))
    statuses = [fleet.post(PUSH, pprof_maker.push([({"service_name": "deep", "instance": f"b{i}"}, [deep])]),
                           {"Authorization": f"Bearer {token}"})[0] for i in range(2)]
    check("and of frames", same(statuses, [200, 429]))
    fleet.receiver.kill()


def test_go(fleet):
    """A real program: its own numbers against the store's."""
    if shutil.which("go") is None:
        skip("a program in Go is stored as it counts itself", "no Go here")
        return
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fleet_heap.go")
    subprocess.run(["go", "build", "-o", "fleet_heap", source], check=True, timeout=300, env={
        **os.environ, "GOCACHE": os.path.abspath("go-cache"), "GO111MODULE": "off", "CGO_ENABLED": "0"})
    program = subprocess.Popen([os.path.abspath("fleet_heap")], stdout=subprocess.PIPE, text=True)
    try:
        address = program.stdout.readline().strip()
        receiver = Receiver("127.0.0.1", "unused")
        receiver.address = address
        first = receiver.get("/debug/pprof/heap?gc=1")[2]
        with open("targets.json", "w", encoding="utf-8") as file:
            json.dump([{"targets": [address], "labels": {"service_name": "gopher", "zone": "a"}}], file)
        fleet.push({"service_name": "go", "instance": address}, first)
        fleet.receiver.is_drained()
        sums, count = pprof_maker.totals(gzip.decompress(first))
        found = fleet.store.ask(
            "SELECT sum(n * size / p), sum(n / p), count() FROM (SELECT n, toFloat64(size) AS size, "
            f"if(gap <= 1, 1., 1 - exp(-size / gap)) AS p FROM live FINAL WHERE {ours('go')})")[0]
        folded = fleet.store.number(f"SELECT count() FROM folded FINAL WHERE {ours('go')}")
        problems = [f"{what}: {value} is not {sums[what]}" for what, value in
                    (("inuse_space", float(found[0])), ("inuse_objects", float(found[1])))
                    if not sums[what] <= value <= sums[what] + count]
        names = fleet.store.number("SELECT count() FROM symbol WHERE has(functions, 'main.hold')")
        check("a program in Go is stored as it counts itself", *problems,
              None if sums["inuse_space"] > 32 << 20 else f"it holds {sums}",
              None if folded == 0 else f"{folded} sums: Go's rows have one size",
              None if names else "main.hold is no name")
        test_scrape(fleet, address)
    finally:
        program.kill()
        program.wait()
        program.stdout.close()


def test_scrape(fleet, address):
    scraper = Receiver(fleet.store.folder, "segments-scrape", "--scrape", "targets.json", "--slot", "2s")
    scraper.start()
    where = f"FROM live FINAL WHERE {ours('gopher')}"
    has_rows = wait_for(lambda: fleet.store.number(f"SELECT count() {where}") > 0)
    live = wait_for(lambda: fleet.store.number(f"SELECT uniqExact(slot) {where}") >= 3)
    with open("targets.json", "w", encoding="utf-8") as file:
        json.dump([{"targets": ["127.0.0.1:9", address], "labels": {"service_name": "renamed"}}], file)
    renamed = wait_for(lambda: fleet.store.number(f"SELECT count() FROM live WHERE {ours('renamed')}") > 0)
    failed = wait_for(lambda: (scraper.metric("geiger_fleet_scrape_errors_total") or 0) > 0)
    scraper.kill()
    drawn = fleet.store.number(f"SELECT sum(allocated) FROM draw FINAL WHERE {ours('gopher')}")
    check("targets of a file of Prometheus are fetched, once a slot, also after the file changed",
          None if has_rows and live else "no rows", None if renamed else "the new file is not read",
          None if failed else "a target that is away is not counted",
          None if drawn > 0 else "nothing was allocated between two looks")


def main():
    store = Store(os.path.abspath("store"))
    if store.url is None:
        skip("a slot of a process is one look, with the samples that Go had", store.why)
        return
    fleet = Fleet(store)
    try:
        fleet.receiver.start()
        test_totals(fleet)
        test_differences(fleet)
        test_forms(fleet)
        test_sdks(fleet)
        test_otlp(fleet)
        test_resources(fleet)
        test_insert_order(fleet)
        test_own_senders(fleet)
        test_unknown_error(fleet)
        test_labels_of_samples(fleet)
        test_idle(fleet)
        test_parts(fleet)
        test_full_disk(fleet)
        test_pods(fleet)
        test_hostile(fleet)
        test_tenants(store)
        test_go(fleet)
    finally:
        fleet.receiver.kill()
        store.down()


if __name__ == "__main__":
    sys.exit(in_scratch(main))
