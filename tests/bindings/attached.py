# SPDX-License-Identifier: Apache-2.0
"""attached.py - the programs that test_python_attach.py attaches to.

    attached.py NAME [ARGUMENT...]

Each prints "ready" when it may be attached to, and ends with status 5.  It runs with every CPython
from 3.8 on.
"""

import atexit
import ctypes
import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import tracemalloc


class Node:
    def __init__(self, number):
        self.number = number


def say(text):
    os.write(1, (text + "\n").encode())


def held(count):
    """Allocates between two lines of input, and says how many bytes that is."""
    say("ready")
    os.read(0, 1)
    blocks = [bytes(100 + number % 1900) for number in range(int(count))]  # line of bytes
    nodes = [Node(number) for number in range(int(count))]
    grown = bytearray()
    for _ in range(300):
        grown += bytes(100)
    say(json.dumps({"bytes": sum(map(sys.getsizeof, blocks)), "nodes": len(nodes), "grown": len(grown)}))
    os.read(0, 1)
    return len(blocks) == len(nodes)


def accepts():
    """The only thread waits for a connection."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        say("ready")
        say(str(server.getsockname()[1]))
        client, _ = server.accept()
        kept = serve(client)
        client.close()
        os.read(0, 1)
    return len(kept) > 0


def serve(client):
    client.recv(1)
    kept = [Node(number) for number in range(1000)]
    client.sendall(b"x")
    return kept


def loops(count):
    """The main thread has Python's lock, and looks for nothing; another one waits."""

    def wait():
        with socket.create_server(("127.0.0.1", 0)) as server:
            server.accept()

    threading.Thread(target=wait, daemon=True).start()
    time.sleep(0.2)
    say("ready")
    total = sum(itertools.repeat(1, int(count)))
    say("looped")
    nodes = [Node(number) for number in range(1000)]
    os.read(0, 1)
    return total == int(count) and len(nodes) == 1000


def sleeps():
    """The main thread sleeps, another one works, and one waits for the end."""
    is_over = []

    def work():
        kept = None
        while not is_over:
            kept = [Node(number) for number in range(1000)]
            time.sleep(0.001)
        return kept

    def wait():
        os.read(0, 1)
        is_over.append(True)

    threads = [threading.Thread(target=target) for target in (work, wait)]
    for thread in threads:
        thread.start()
    say("ready")
    while not is_over:
        time.sleep(1)
    for thread in threads:
        thread.join()
    return True


def works(kinds, rounds):
    """Threads that compute a sum, with tracemalloc ("t": always, "m": now and then), and forks.

    They go on until the end of the input, so that each of many attaches finds them at work.  Each
    turn has the same sum, so that the output does not say how many turns there were.
    """
    sums = set()
    is_over = threading.Event()

    def work(factor):
        kept = {}
        for turn in itertools.count():
            if turn >= int(rounds) and is_over.is_set():
                return
            total = 0
            for number in range(2000):
                kept[number % 500] = Node(number * factor)
                text = json.dumps({"a": [number, "x" * (number % 700)]})
                total = (total * 31 + len(text)) & 0xFFFFFFFF
            if "f" in kinds and turn % 8 == 0:
                fork()
            if "m" in kinds and factor == 1 and turn % 3 == 0:
                (tracemalloc.stop if tracemalloc.is_tracing() else tracemalloc.start)()
            sums.add((factor, total))

    def fork():
        pid = os.fork()
        if pid == 0:
            kept = [Node(number) for number in range(1000)]
            os._exit(7 if len(kept) == 1000 else 8)
        if os.waitpid(pid, 0)[1] != 7 << 8:
            sums.add("a child has failed")

    if "t" in kinds:
        tracemalloc.start(3)
    say("ready")
    threads = [threading.Thread(target=work, args=(factor,)) for factor in (1, 2, 3)]
    for thread in threads:
        thread.start()
    os.read(0, 1)
    is_over.set()
    for thread in threads:
        thread.join()
    say(json.dumps(sorted(map(str, sums))))
    if "m" in kinds and not tracemalloc.is_tracing():
        tracemalloc.start()
    if tracemalloc.is_tracing():
        before = tracemalloc.get_traced_memory()[0]
        kept = [bytes(1000) for _ in range(1000)]
        say("traced" if tracemalloc.get_traced_memory()[0] - before >= 1000 * 1033 and kept else "not traced")
    return True


def cycles(command):
    """Attaches to itself, while tracemalloc starts and stops."""
    say("ready")

    def geiger(*words):
        subprocess.run([command, *words, "-q", str(os.getpid())], check=True, stdout=subprocess.DEVNULL)

    def allocate():
        return len([str(number) * 100 for number in range(10000)])

    allocate()
    geiger("attach", "-i", "1k")
    tracemalloc.start()
    allocate()
    geiger("detach")
    geiger("attach", "-i", "1k")
    allocate()
    tracemalloc.stop()
    allocate()
    geiger("detach")
    tracemalloc.start()
    geiger("attach", "-i", "64k")
    allocate()
    tracemalloc.stop()
    geiger("detach")
    return allocate() == 10000


def boxed(library):
    """Enters a sandbox that kills it for a call of the adapter."""
    enter = ctypes.CDLL(library).enter_sandbox
    say("ready")
    os.read(0, 1)
    kept = [Node(number) for number in range(3000)]
    if enter() != 0:
        return False
    kept += [Node(number) for number in range(20000)]
    say("survived")
    os.read(0, 1)
    return len(kept) == 23000


class Allocator(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in ("context", "malloc", "calloc", "realloc", "free")]


def read_allocators():
    """Those of mem and obj."""
    allocators = []
    for domain in (1, 2):
        allocator = Allocator()
        ctypes.pythonapi.PyMem_GetAllocator(domain, ctypes.byref(allocator))
        allocators.append([getattr(allocator, name) for name, _ in Allocator._fields_])
    return allocators


def outlives(library):
    """Compares Python's allocators before an attach that fails, and after it."""
    before = read_allocators()
    if ctypes.CDLL(library).start_thread() != 0:
        return False
    is_over = []

    def wait():
        os.read(0, 1)
        is_over.append(True)

    threading.Thread(target=wait, daemon=True).start()
    say("ready")
    while not is_over:
        kept = [str(number) * 50 for number in range(10000)]
        time.sleep(0.01)
    return read_allocators() == before and len(kept) == 10000


def leaves(command):
    """Compares Python's allocators before an attach, during it, and after it."""
    say("ready")

    before = read_allocators()
    is_right = True
    for interval in ("1k", "64k"):
        subprocess.run([command, "attach", "-q", "-i", interval, str(os.getpid())], check=True)
        is_right &= all(old != new for old, new in zip(before, read_allocators()))
        subprocess.run([command, "detach", "-q", str(os.getpid())], check=True)
        kept = [str(number) * 50 for number in range(200000)]
        is_right &= read_allocators() == before and len(kept) == 200000
    return is_right


def ends(how, seconds):
    """Ends after so long, while other threads work."""
    atexit.register(say, "at exit")

    def work():
        while True:
            [Node(number) for number in range(2000)]

    for _ in range(2):
        threading.Thread(target=work, daemon=True).start()
    say("ready")
    time.sleep(float(seconds))
    print("printed")
    if how == "by_exec":
        sys.stdout.flush()
        os.execv(sys.executable, [sys.executable, "-c", "print('executed'); raise SystemExit(5)"])
    if how == "by_a_kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "at_once":
        os._exit(5)
    return True


cache = []


def remember(number):
    cache.append(bytes(400 + number % 100))


def leaks():
    say("ready")
    for number in itertools.count():
        remember(number)
        if number % 500 == 0:
            time.sleep(0.01)


if __name__ == "__main__":
    sys.exit(5 if globals()[sys.argv[1]](*sys.argv[2:]) else 4)
