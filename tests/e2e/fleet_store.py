# SPDX-License-Identifier: Apache-2.0
"""fleet_store - a store and a receiver for the tests of a fleet's write side.

Store is one ClickHouse server on loopback, and Receiver one `geiger fleet receive` that inserts
into it.  GEIGER is the command.
"""

import contextlib
import http.client
import os
import shutil
import signal
import subprocess
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


def remove(folder):
    shutil.rmtree(folder, ignore_errors=True)
