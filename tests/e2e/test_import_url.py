#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`geiger import http://...` imports what a server sends, and nothing that is not whole.

A server in this process gives one answer to each connection, byte for byte.  GEIGER: the command.
"""

import json
import os
import socket
import subprocess
import sys
import threading

from sentences import check, in_scratch

GEIGER = os.environ["GEIGER"]
PROFILE = b"main;load;grow 65536\nmain;free 4096\n"
OK = b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n"


class Server:
    """Answers one request with `answer`, and closes the connection."""

    def __init__(self, answer, family=socket.AF_INET):
        self.answer, self.request = answer, b""
        self.socket = socket.create_server(("::1" if family == socket.AF_INET6 else "127.0.0.1", 0), family=family)
        self.port = self.socket.getsockname()[1]
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def serve(self):
        connection, _ = self.socket.accept()
        with connection:
            while b"\r\n\r\n" not in self.request:
                self.request += connection.recv(4096)
            connection.sendall(self.answer)

    def close(self):
        self.thread.join()
        self.socket.close()


def fetch(answer, target="/debug/pprof/heap", host="127.0.0.1", family=socket.AF_INET):
    """The result of an import from a server with that answer, and the request that it got."""
    server = Server(answer, family)
    url = f"http://{host}:{server.port}{target}"
    result = subprocess.run([GEIGER, "import", url, "-o", "fetched.geiger"], capture_output=True, text=True)
    server.close()
    return result, server.request


def refusal(result, status, text):
    """The problem, if the command did not refuse with that status and text."""
    if result.returncode == status and text in result.stderr and not os.path.exists("fetched.geiger"):
        return None
    return f"status {result.returncode}: {result.stderr}"


def live():
    text = subprocess.run(
        [GEIGER, "report", "fetched.geiger", "--json"], check=True, capture_output=True, text=True
    ).stdout
    os.remove("fetched.geiger")
    return json.loads(text)["totals"]["live_bytes"]["estimate"]


def answers():
    length = b"Content-Length: %d\r\n\r\n" % len(PROFILE)
    result, request = fetch(OK + length + PROFILE, "/heap?gc=1")
    check("what a server sends is imported", result.returncode and result.stderr, live() != 69632 and "wrong sum")
    lines = request.split(b"\r\n")
    check(
        "the request has the path, the query and the host",
        lines[0] != b"GET /heap?gc=1 HTTP/1.0" and lines[0],
        not any(line.startswith(b"Host: 127.0.0.1:") for line in lines) and request,
    )
    result, _ = fetch(OK + b"\r\n" + PROFILE)
    check("a body may end with the connection", result.returncode and result.stderr, live() != 69632 and "wrong sum")
    if socket.has_ipv6:
        try:
            result, _ = fetch(OK + length + PROFILE, host="[::1]", family=socket.AF_INET6)
            check("a host may be an address of IPv6", result.returncode and result.stderr, live() != 69632 and "sum")
        except OSError:
            pass  # the machine has no such address


def refusals():
    cut = OK + b"Content-Length: %d\r\n\r\n" % (len(PROFILE) + 1) + PROFILE
    for name, answer, text in (
        ("a body that is cut is refused", cut, "the answer is cut"),
        ("a status other than 200 is refused", b"HTTP/1.0 404 Not Found\r\n\r\n" + PROFILE, "status 404"),
        ("a redirect is not followed", b"HTTP/1.1 302 Found\r\nLocation: /x\r\n\r\n", "status 302"),
        ("chunks are refused", OK + b"Transfer-Encoding: chunked\r\n\r\n24\r\n" + PROFILE, "in chunks"),
        ("another protocol is refused", b"SSH-2.0-x\r\n\r\n", "no HTTP"),
        ("a head without an end is refused", OK, "no HTTP"),
        ("an empty answer is refused", b"", "no HTTP"),
        ("a body that is no profile is refused", OK + b"\r\nhello\nworld\n", "format"),
    ):
        result, _ = fetch(answer)
        check(name, refusal(result, 1, text))


def urls():
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    for url, text in (
        (f"http://127.0.0.1:{port}/x", "no connection"),
        ("https://127.0.0.1/x", "only http"),
        ("http:///x", "malformed"),
        ("http://host:port/x", "malformed"),
        ("http://name@host/x", "malformed"),
        ("http://host/a b", "malformed"),
        ("http://[::1/x", "malformed"),
        ("http://host/x\r\nHeader: y", "malformed"),
        ("http://" + "h" * 300 + "/x", "malformed"),
    ):
        result = subprocess.run([GEIGER, "import", url, "-o", "fetched.geiger"], capture_output=True, text=True)
        shown = url[:40].replace(str(port), "PORT")
        check(f"refused: {shown!r}", refusal(result, 1 if text == "no connection" else 2, text))


def main():
    answers()
    refusals()
    urls()


sys.exit(in_scratch(main))
