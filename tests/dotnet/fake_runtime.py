#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fake_runtime - speaks the diagnostics protocol of .NET, well or badly.

    fake_runtime.py BEHAVIOR [COUNT]       prints "done" and the commands that it got

COUNT events are in its stream (DOTNET_STREAMS: the program that makes it).

A runtime that drips ignores the command to stop, and sends a byte each 0.2 s; it prints how many
of them its reader took.  "many" plays COUNT runtimes that live beside each other, and "one by one"
COUNT runtimes that follow each other.

A runtime that lasts ends the session that a command to stop names, and goes on.  One that "ends"
does so by itself, each time it has sent its stream.

With FAKE_SPACING, events are that many nanoseconds apart.  With FAKE_UID, the runtime takes that
user before it connects.

It connects to each port in DOTNET_DiagnosticPorts.  With FAKE_LISTEN it makes the socket of a
runtime in its TMPDIR instead.
"""

import contextlib
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import time

MAGIC = b"DOTNET_IPC_V1\0"
COLLECT_2, COLLECT_5, STOP = (2, 3), (2, 6), (2, 1)
INFO_2, INFO_3 = (4, 4), (4, 8)
LIMIT = 60  # seconds
DRIPS = 5 * LIMIT


def message(group, command, payload=b""):
    return MAGIC + struct.pack("<HBBH", 20 + len(payload), group, command, 0) + payload


def text(value):
    return struct.pack("<I", len(value) + 1) + (value + "\0").encode("utf-16le")


ERROR = message(0xFF, 0xFF, struct.pack("<I", 0x80131384))


def make_stream(kind, count):
    """A stream of this process that starts now."""
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    return subprocess.run([os.environ["DOTNET_STREAMS"], kind, count, str(os.getpid()), os.environ.get("FAKE_SPACING", "1000")], env=environment, check=True,
                          stdout=subprocess.PIPE).stdout


class Runtime:
    def __init__(self, behavior, stream):
        self.behavior, self.stream = behavior, stream
        self.version = {"old": "8.0.11", "ancient": "3.1.32"}.get(behavior, "10.0.9")
        self.stopped = False
        self.sessions = []  # connections; the number of one is 7 and its place
        self.drips = 0
        self.commands = []

    def info(self, with_version):
        head = struct.pack("<I", 1) if with_version else b""
        return head + struct.pack("<Q", os.getpid()) + b"c" * 16 + text("shop --all") + text("linux") + text("x64") + \
            text("shop") + text(self.version) + text("linux-x64")

    def answer(self, connection, command, payload=b""):
        """Returns true if the connection stays open."""
        self.commands.append(command)
        old = self.behavior in ("old", "ancient")
        if command == INFO_3 and not old:
            connection.sendall(message(0xFF, 0, self.info(True)))
        elif command == INFO_2 and self.behavior != "ancient":
            connection.sendall(message(0xFF, 0, self.info(False)))
        elif command == COLLECT_5 and not old or command == COLLECT_2:
            return self.collect(connection)
        elif command == STOP:
            if self.behavior == "drips":
                print("told", flush=True)
                self.drip()
            elif self.behavior == "lasts":
                session = struct.unpack("<Q", payload)[0]
                connection.sendall(message(0xFF, 0, payload))
                self.sessions[session - 7].close()
            elif self.behavior == "ends":
                with contextlib.suppress(OSError):
                    connection.sendall(message(0xFF, 0, payload))
            elif self.behavior != "deaf":
                self.stopped = True
                connection.sendall(message(0xFF, 0, struct.pack("<Q", 7)))
                for session in self.sessions:
                    session.close()
                self.sessions = []
        else:
            connection.sendall(ERROR)
        return False

    def drip(self):
        try:
            while self.drips < DRIPS:
                self.sessions[0].sendall(b"N")
                self.drips += 1
                time.sleep(LIMIT / DRIPS)
        except OSError:  # its reader has gone
            self.stopped = True

    def collect(self, connection):
        how = self.behavior
        ok = message(0xFF, 0, struct.pack("<Q", 7 + len(self.sessions) if how == "lasts" else 7))
        if how == "refuses":
            connection.sendall(ERROR)
        elif how == "babbles":
            connection.sendall(b"\x00\xff" * 5000)
        elif how == "hangs up":
            pass
        elif how == "half a reply":
            connection.sendall(ok[:15])
        elif how == "a huge reply":
            connection.sendall(MAGIC + struct.pack("<HBBH", 65535, 0xFF, 0, 0) + b"x" * 1000)
        elif how == "silent":
            self.sessions.append(connection)
            return True
        elif how == "damaged":
            connection.sendall(ok + b"Nettrace" + os.urandom(5000))
        elif how == "nothing":
            connection.sendall(ok)
        elif how == "ends":
            with contextlib.suppress(OSError):  # its reader has gone
                connection.sendall(ok + self.stream)
        elif how == "cut":
            connection.sendall(ok + self.stream[:len(self.stream) * 2 // 3])
        elif how == "executes":
            connection.sendall(ok + self.stream)
            os.execv(sys.executable, [sys.executable, "-c", "import time; keep = [bytes(10000)] * 10000; time.sleep(1)"])
        elif how == "byte by byte":
            for byte in ok + self.stream:
                connection.sendall(bytes([byte]))
        else:
            with contextlib.suppress(OSError) if how == "lasts" else contextlib.nullcontext():
                connection.sendall(ok + self.stream)
            self.sessions.append(connection)
            return True
        return False


def command_of(connection):
    """
    The next command and its payload; None: the connection has ended, as it does while the recorder
    is busy.
    """
    try:
        head = connection.recv(20, socket.MSG_WAITALL)
    except ConnectionResetError:
        return None
    if len(head) < 20:
        return None
    length = struct.unpack("<H", head[14:16])[0] - 20
    payload = connection.recv(length, socket.MSG_WAITALL) if length > 0 else b""
    return (head[16], head[17]), payload


def connect(path, greeting):
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(path)
    connection.sendall(greeting)
    return connection


def follow_ports(runtime, seconds):
    """Connects, answers, and connects again, as a runtime does."""
    greeting = b"ADVR_V1\0" + struct.pack("<QQ", os.getpid(), time.monotonic_ns()) + struct.pack("<QH", os.getpid(), 0)
    if runtime.behavior == "rude":
        greeting = b"GET / HTTP/1.0\r\n\r\n" + b"x" * 100
    if runtime.behavior == "shy":
        greeting = greeting[:20]
    if runtime.behavior == "mute":
        greeting = b""
    ports = [port.split(",")[0] for port in os.environ.get("DOTNET_DiagnosticPorts", "").split(";") if port]
    if runtime.behavior == "crowd":
        crowd = [socket.socket(socket.AF_UNIX) for _ in range(100)]
        for one in crowd:
            one.connect(ports[-1])
        time.sleep(0.3)
        for one in crowd:
            one.close()
    open_ones = {path: None for path in ports}
    # On a busy machine the session may be late.
    waits = ports and os.environ.get("FAKE_WAIT") != "0" and runtime.behavior in (
        "executes", "good", "old", "ancient", "deaf", "crowd", "drips")
    end = time.monotonic() + (LIMIT if waits else seconds)
    while time.monotonic() < end and not runtime.stopped:
        if waits and runtime.sessions:
            waits, end = False, time.monotonic() + seconds
        for path, connection in open_ones.items():
            if connection is None:
                try:
                    open_ones[path] = connect(path, greeting)
                except OSError:
                    time.sleep(0.02)
                    # The recording has ended before it could answer: nobody will.
                    runtime.stopped = runtime.stopped or waits and not os.path.exists(path)
        ready = select.select([one for one in open_ones.values() if one is not None], [], [], 0.05)[0]
        for path, connection in open_ones.items():
            if connection in ready:
                command = command_of(connection)
                if command is None or not runtime.answer(connection, *command):
                    connection.close()
                open_ones[path] = None


def listen(runtime, seconds):
    with open("/proc/self/stat", encoding="ascii") as file:
        start = file.read().rsplit(")", 1)[1].split()[19]
    path = f"{os.environ.get('TMPDIR', '/tmp')}/dotnet-diagnostic-{os.getpid()}-{start}-socket"
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(8)
    listener.settimeout(0.05)
    print(os.getpid(), flush=True)
    end = time.monotonic() + seconds
    keep = []
    while time.monotonic() < end and not runtime.stopped:
        keep = [bytes(10000) for _ in range(1000)] if "FAKE_BUSY" in os.environ else keep
        try:
            if runtime.behavior == "absent":
                raise TimeoutError(time.sleep(0.05))
            connection = listener.accept()[0]
        except TimeoutError:
            continue
        connection.settimeout(None)
        command = command_of(connection)
        if command is None or not runtime.answer(connection, *command):
            connection.close()
    os.unlink(path)


def play_one_by_one(count):
    """Runtimes that follow each other, in one process."""
    path = os.environ["DOTNET_DiagnosticPorts"].split(";")[-1].split(",")[0]
    answer = message(0xFF, 0, struct.pack("<Q", 7)) + make_stream("samples", "10")
    for number in range(count):
        greeting = b"ADVR_V1\0" + struct.pack("<QQ", os.getpid(), number) + struct.pack("<QH", os.getpid(), 0)
        connection = connect(path, greeting)
        while command_of(connection) is None:  # all places were taken
            connection = connect(path, greeting)
        connection.sendall(answer)
        connection.close()


def live_beside_others(path, end):
    """Answers, connects again, and lives until the pipe ends."""
    greeting = b"ADVR_V1\0" + struct.pack("<QQ", os.getpid(), 1) + struct.pack("<QH", os.getpid(), 0)
    try:
        session = connect(path, greeting)
        time.sleep(0.5)
        session.sendall(message(0xFF, 0, struct.pack("<Q", 7)))
        spare = connect(path, greeting)
        os.read(end, 1)
        spare.close()
    except OSError:
        os.read(end, 1)  # it is left out


def play_many(count):
    """Runtimes that live beside each other, each in a process, and a program with the agent."""
    path = os.environ["DOTNET_DiagnosticPorts"].split(";")[-1].split(",")[0]
    end, keep_open = os.pipe()
    for _ in range(count):
        if os.fork() == 0:
            os.close(keep_open)
            live_beside_others(path, end)
            os._exit(0)
    time.sleep(1.5)
    subprocess.run([sys.executable, "-c", "keep = [bytes(10000) for _ in range(10000)]"], check=True,
                   env={**os.environ, "LD_PRELOAD": os.environ["FAKE_PRELOAD"]})
    os.close(keep_open)
    for _ in range(count):
        os.wait()


def main():
    behavior = sys.argv[1]
    if behavior in ("many", "one by one"):
        (play_many if behavior == "many" else play_one_by_one)(int(sys.argv[2]))
        print("done")
        return
    if behavior == "drips":
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    kind = {"old": "ticks", "ancient": "old-ticks"}.get(behavior, "samples")
    runtime = Runtime(behavior, make_stream(kind, sys.argv[2] if len(sys.argv) > 2 else "1000"))
    if "FAKE_UID" in os.environ:
        os.setuid(int(os.environ["FAKE_UID"]))
    try:
        if "FAKE_LISTEN" in os.environ:
            listen(runtime, 4 * LIMIT if behavior in ("lasts", "ends") else LIMIT)
        else:
            follow_ports(runtime, float(os.environ.get("FAKE_SECONDS", "1")))
    except (BrokenPipeError, ConnectionResetError):
        pass  # its reader has gone, which a runtime survives
    for session in runtime.sessions:
        session.close()
    print("done", *("%d.%d" % command for command in runtime.commands))
    if behavior == "drips":
        print("drips", runtime.drips, flush=True)


if __name__ == "__main__":
    main()
