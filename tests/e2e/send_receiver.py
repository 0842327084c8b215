# SPDX-License-Identifier: Apache-2.0
"""A receiver of profiles that misbehaves by a plan, and keeps its requests.

Receiver.plan is a list of what to do with the next requests; "ok" if it is empty:

  "ok", "partial"      200; of OTLP, with a part rejected
  "page"               200, with a page for people
  429, 503, ...        this status; ("status", "3") has Retry-After as well
  "cut", "mute"        takes the request, and closes in the reply's head, or says nothing
  "reset"              closes before it reads the body
  "slow"               takes and answers each byte on its own
  "late", "held"       200 after more than a second, or after Receiver.released
  "garbage", "endless" a reply that is no HTTP, or one without end
"""

import base64
import contextlib
import gzip
import http.server
import json
import re
import socket
import struct
import threading
import time

from otlp_checker import check as check_otlp
from otlp_checker import decode, profiles_of, varint


def fields(data):
    """Each (field number, value) of a message of protocol buffers; bytes for a message."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 1:
            value, at = struct.unpack("<Q", data[at : at + 8])[0], at + 8
        else:
            value, at = varint(data, at)
        if key & 7 == 2:
            value, at = data[at : at + value], at + value
        yield key >> 3, value


def pprof_sums(packed):
    """By type's name: the sum of the values of a pprof file."""
    types, strings, rows = [], [], []
    for number, value in fields(gzip.decompress(packed)):
        if number == 1:
            types.append(dict(fields(value))[1])
        if number == 6:
            strings.append(value.decode())
        if number == 2:
            numbers, at, values = dict(fields(value))[2], 0, []
            while at < len(numbers):
                item, at = varint(numbers, at)
                values.append(item)
            rows.append(values)
    return {strings[text]: sum(row[i] for row in rows) for i, text in enumerate(types)}


def otlp_profiles(body):
    """Each profile's id, pid, type, sum, attributes and window; and what breaks the rules."""
    data = decode(body)
    strings, result = data["dictionary"]["stringTable"], []
    for attributes, profile in profiles_of(data):
        total = sum(int(sample["values"][0]) for sample in profile.get("samples", ()))
        result.append((profile.get("profileId"), int(attributes.get("process.pid", {}).get("intValue", 0)),
                       strings[profile["sampleType"]["typeStrindex"]], total,
                       {key: next(iter(value.values())) for key, value in attributes.items()},
                       int(profile["timeUnixNano"]), int(profile.get("durationNano", 0))))
    return result, check_otlp(data)


class Request:
    def __init__(self, path, headers, body, taken):
        self.path, self.headers, self.taken = path, headers, taken
        self.body = gzip.decompress(body) if headers.get("Content-Encoding") == "gzip" else body
        self.form = path.split("?")[0]

    def sums(self):
        """By type's name: the sum of the values."""
        if self.form == "/v1development/profiles":
            found = {}
            for _, _, name, total, *_ in otlp_profiles(self.body)[0]:
                found[name] = found.get(name, 0) + total
            return found
        if self.form == "/ingest":
            boundary = re.search("boundary=(.*)", self.headers["Content-Type"])[1].encode()
            parts = self.body.split(b"--" + boundary)
            assert parts[0] == b"" and parts[-1] == b"--\r\n" and len(parts) == 4, "not multipart"
            profile = parts[1].split(b"\r\n\r\n", 1)[1].removesuffix(b"\r\n")
            types = json.loads(parts[2].split(b"\r\n\r\n", 1)[1])
            assert types["inuse_space"]["aggregation"] == "average"
            assert types["alloc_space"]["aggregation"] == "sum" and not types["alloc_space"]["sampled"]
            return pprof_sums(profile)
        if self.form in ("/push.v1.PusherService/Push", "/api/profiles/writeraw"):
            series = json.loads(self.body)["series"]
            assert len(series) == 1 and len(series[0]["samples"]) == 1
            return pprof_sums(base64.b64decode(series[0]["samples"][0]["rawProfile"]))
        return pprof_sums(self.body)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def setup(self):
        super().setup()
        with self.server.receiver.lock:
            self.server.receiver.connections.append(self.connection)

    def handle(self):
        with contextlib.suppress(ConnectionResetError):  # the sender was killed
            super().handle()

    def log_message(self, *_):
        pass

    def reply(self, status, body=b"", more=()):
        self.send_response(status)
        for key, value in (("Content-Length", str(len(body))), *more):
            self.send_header(key, value)
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        receiver = self.server.receiver
        with receiver.lock:
            what = receiver.plan.pop(0) if receiver.plan else receiver.default
        # The next request may come by the same connection where this one ends well.
        self.close_connection = not (what in ("ok", "partial", "page", "late", "held") or isinstance(what, (int, tuple)))
        if what == "reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
            return
        length = int(self.headers["Content-Length"])
        body = b"".join(self.rfile.read(1) for _ in range(length)) if what == "slow" else self.rfile.read(length)
        if len(body) < length:
            self.close_connection = True
            return  # the sender was killed
        taken = what in ("ok", "partial", "cut", "mute", "chunked", "garbage", "endless", "slow", "late", "held")
        with receiver.lock:
            receiver.requests.append(Request(self.path, self.headers, body, taken))
        try:
            self.answer(what)
        except OSError:
            pass  # the sender was killed, or has enough

    def answer(self, what):
        if what == "ok":
            self.reply(200)
        elif what == "chunked":
            self.connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked"
                                    b"\r\n\r\n3\r\nabc\r\n0\r\n\r\n")
        elif what == "page":
            self.reply(200, b"<html></html>", [("Content-Type", "text/html; charset=utf-8")])
        elif what == "partial":
            self.reply(200, b"\x0a\x0a\x08\x02\x12\x06no gut", [("Content-Type", "application/x-protobuf")])
        elif what == "slow":
            for byte in b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok":
                self.connection.sendall(bytes([byte]))
                time.sleep(0.002)
        elif what in ("late", "held"):
            if what == "late":
                time.sleep(1.1)
            else:
                self.server.receiver.released.wait(60)
            self.reply(200)
        elif what == "cut":
            self.connection.sendall(b"HTTP/1.1 20")
        elif what == "mute":
            self.server.receiver.stopped.wait(60)
        elif what == "garbage":
            self.connection.sendall(b"\0\xff" * 5000)
        elif what == "endless":
            self.connection.sendall(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 2000000)
        else:
            status, after = what if isinstance(what, tuple) else (what, None)
            self.reply(status, b"not now", [("Retry-After", after)] if after else ())


class Receiver:
    def __init__(self, port=0, context=None, kind=http.server.ThreadingHTTPServer):
        self.plan, self.requests, self.connections, self.default = [], [], [], "ok"
        self.lock, self.stopped, self.released = threading.Lock(), threading.Event(), threading.Event()
        kind.allow_reuse_address, kind.request_queue_size = True, 64
        self.server = kind(("127.0.0.1", port), Handler)
        self.server.receiver, self.server.daemon_threads = self, True
        if context:
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.port = self.server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *error):
        self.stopped.set()
        self.server.shutdown()
        self.server.server_close()
        with self.lock:
            for connection in self.connections:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def take(self):
        """The requests since the last call."""
        with self.lock:
            requests, self.requests = self.requests, []
        return requests
