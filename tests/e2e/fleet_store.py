# SPDX-License-Identifier: Apache-2.0
"""fleet_store - a store and a receiver for the tests of a fleet's write side.

Store is one ClickHouse server on loopback, and Receiver one `geiger fleet receive` that inserts
into it.  GEIGER is the command.
"""

import contextlib
import http.client
import http.server
import os
import random
import shutil
import signal
import socket
import struct
import subprocess
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

GEIGER = os.environ["GEIGER"]
WAIT = 120  # seconds for what is to happen
PAUSE = 0.05


def wait_for(condition):
    """Calls condition() until it is true; False if it never is."""
    for _ in range(int(WAIT / PAUSE)):
        if condition():
            return True
        time.sleep(PAUSE)
    return False


class Store:
    """A server that `geiger fleet up` starts in a folder; None in .url: there is no ClickHouse."""

    def __init__(self, folder):
        self.folder = folder
        self.url = None
        done = subprocess.run([GEIGER, "fleet", "up", folder], capture_output=True, text=True, timeout=600)
        self.why = done.stderr.strip()
        if done.returncode == 0:
            self.read_place()

    def read_place(self):
        with open(os.path.join(self.folder, "server"), encoding="utf-8") as file:
            facts = dict(line.split(None, 1) for line in file.read().splitlines())
        self.pid = int(facts["pid"])
        self.password = facts["password"]
        self.url = f"http://127.0.0.1:{facts['port']}"

    def ask(self, statement, tenant="default"):
        """The rows of a query, as lists of texts."""
        request = urllib.request.Request(f"{self.url}/?database={tenant}", data=statement.encode(),
                                         headers={"X-ClickHouse-User": "default",
                                                  "X-ClickHouse-Key": self.password})
        with urllib.request.urlopen(request, timeout=60) as reply:
            return [line.split("\t") for line in reply.read().decode().splitlines()]

    def number(self, statement, tenant="default"):
        return float(self.ask(statement, tenant)[0][0])

    def down(self):
        subprocess.run([GEIGER, "fleet", "down", self.folder], capture_output=True, timeout=600, check=False)


class LateReplica(http.server.ThreadingHTTPServer):
    """A store's server that claims to be .seconds behind other replicas; .url is its address."""

    def __init__(self, store, seconds):
        super().__init__(("127.0.0.1", 0), LateAnswer)
        self.store, self.seconds = store, seconds
        self.asked = 0  # how often, for its delay
        self.url = f"http://default:{store.password}@127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, daemon=True).start()


class LateAnswer(http.server.BaseHTTPRequestHandler):
    """One request to a LateReplica."""

    def do_POST(self):  # pylint: disable=invalid-name
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if b"absolute_delay" in body:
            self.server.asked += 1
            status, answer = 200, struct.pack("<Q", self.server.seconds)
        else:
            headers = {name: value for name, value in self.headers.items() if name.startswith("X-")}
            request = urllib.request.Request(self.server.store.url + self.path, data=body, headers=headers)
            try:
                with urllib.request.urlopen(request, timeout=60) as reply:
                    status, answer = reply.status, reply.read()
            except urllib.error.HTTPError as error:
                status, answer = error.code, error.read()
        self.send_response(status)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *arguments):
        pass


class Receiver:
    """A receiver in a folder of its own; start() again after it was killed."""

    def __init__(self, store, folder, *arguments):
        self.store = store
        self.folder = folder
        self.arguments = arguments
        self.process = None
        self.address = "127.0.0.1:0"

    def start(self, environment=None, *more):
        self.process = subprocess.Popen(
            [GEIGER, "fleet", "receive", "--store", self.store, "--directory", self.folder, "--listen",
             self.address, *self.arguments, *more],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            env={**os.environ, **(environment or {})})
        line = self.process.stdout.readline().strip()
        self.address = line.removeprefix("fleet://")
        return line

    def kill(self, number=signal.SIGKILL):
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                self.process.send_signal(number)
            self.process.wait(60)
            self.process.stdout.close()
            self.process = None

    def segments(self):
        return [name for name in os.listdir(self.folder) if name.endswith(".segment")]

    def is_drained(self):
        return wait_for(lambda: not self.segments())

    def get(self, path, data=None, headers=None):
        """Status, headers and body of a request."""
        request = urllib.request.Request(f"http://{self.address}{path}", data=data, headers=headers or {})
        try:
            with urllib.request.urlopen(request, timeout=60) as reply:
                return reply.status, reply.headers, reply.read()
        except urllib.error.HTTPError as error:
            return error.code, error.headers, error.read()

    def announce(self, path, length):
        """The status for a POST whose body never comes."""
        connection = http.client.HTTPConnection(self.address, timeout=60)
        connection.putrequest("POST", path)
        connection.putheader("Content-Length", str(length))
        connection.endheaders()
        status = connection.getresponse().status
        connection.close()
        return status

    def metric(self, name):
        for line in self.get("/metrics")[2].decode().splitlines():
            if line.startswith(name + " "):
                return float(line.split()[1])
        return None


class Tmpfs:
    """A small disk; .is_there says whether the kernel lets us have one."""

    def __init__(self, folder, size):
        self.folder = os.path.abspath(folder)
        os.makedirs(self.folder)
        self.is_there = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", self.folder],
                                       capture_output=True, check=False).returncode == 0

    def fill(self, room=0):
        """Leaves about so many bytes."""
        path = os.path.join(self.folder, "ballast")
        file = os.open(path, os.O_WRONLY | os.O_CREAT)
        with contextlib.suppress(OSError):
            while os.write(file, bytes(1024)):
                pass
        os.ftruncate(file, max(os.fstat(file).st_size - room, 0))
        os.close(file)

    def free(self):
        os.unlink(os.path.join(self.folder, "ballast"))

    def done(self):
        if self.is_there:
            subprocess.run(["umount", "-l", self.folder], check=False)


class Network(threading.Thread):
    """A network to an address: each connection waits, some go nowhere, and none if it is cut."""

    def __init__(self, target, delay=0.0, loss=0.0, seed=1):
        super().__init__(daemon=True)
        self.target, self.delay, self.loss = target, delay, loss
        self.draw = random.Random(seed)
        self.is_cut = False
        self.lost = 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.listener.getsockname()[1]}"
        self.start()

    def run(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            if self.is_cut:
                client.close()
                continue
            # Lost requests and lost answers, of which the receiver has the message.
            fate = "request" if self.draw.random() < self.loss else \
                "answer" if self.draw.random() < self.loss else "good"
            self.lost += fate != "good"
            threading.Thread(target=self.carry, args=(client, fate), daemon=True).start()

    def cut(self, seconds):
        """No connection is made for that long; those that there are end."""
        self.is_cut = True
        threading.Timer(seconds, lambda: setattr(self, "is_cut", False)).start()

    def carry(self, client, fate):
        if fate == "request":
            time.sleep(self.delay)
            client.close()
            return
        host, port = self.target.split(":")
        server = socket.create_connection((host, int(port)))
        back = threading.Thread(target=self.pump, args=(server, client, fate == "good"), daemon=True)
        back.start()
        self.pump(client, server, True)
        back.join()
        client.close()
        server.close()

    def pump(self, source, sink, carries):
        try:
            while data := source.recv(65536):
                time.sleep(self.delay)
                if not carries or self.is_cut:
                    break
                sink.sendall(data)
        except OSError:
            pass
        try:
            sink.shutdown(socket.SHUT_RDWR if not carries or self.is_cut else socket.SHUT_WR)
        except OSError:
            pass


def remove(folder):
    shutil.rmtree(folder, ignore_errors=True)
