# SPDX-License-Identifier: Apache-2.0
"""held.py [REGION TRUTH]: functions that hold memory, each on lines of its own, in every way that
Python has.

With arguments it is also measured by tracemalloc: the state of geiger is written to REGION, and
what tracemalloc counts by line at the same moment to TRUTH, as JSON.  HELD_INTERVAL: an interval
that is set once tracemalloc's hooks are in front of geiger's.
"""

import asyncio
import functools
import json
import os
import sys
import threading

kept = []


def hold_bytes(n):
    kept.append([bytes(900 + i % 100) for i in range(n)])


def hold_text(n):
    texts = []
    for i in range(n):
        texts.append("text %d " % i * 9)
    kept.append(texts)


def hold_dictionary(n):
    kept.append({i: str(i) for i in range(10**6, 10**6 + n)})


class Node:
    __slots__ = ("left", "value")

    def __init__(self, left, value):
        self.left = left
        self.value = [value] * 20


class Plain:
    def größe(self, n):
        self.data = bytearray(n)
        self.grown = []
        for i in range(n // 40):
            self.grown.append(float(i))


def hold_objects(n):
    node = None
    for i in range(n):
        node = Node(node, i)
    kept.append(node)
    plain = Plain()
    plain.größe(n * 20)
    kept.append(plain)


def generate(n):
    for i in range(n):
        yield b"g" * (700 + i % 10)


async def hold_in_coroutine(n):
    for i in range(n):
        kept.append(bytearray(800 + i % 10))
        if i % 100 == 0:
            await asyncio.sleep(0)


@functools.cache
def hold_in_cache(n):
    return str(n) * 50


def shrink(n):
    data = bytearray(n)
    del data[n // 2 :]
    data += bytes(10)
    kept.append(data)
    lists = list(range(n // 100))
    del lists[10:]
    kept.append(lists)


def work(n):
    """Everything, and what is temporary."""
    hold_bytes(n)
    hold_text(n)
    hold_dictionary(n)
    hold_objects(n)
    kept.extend(generate(n // 2))
    asyncio.run(hold_in_coroutine(n // 2))
    for i in range(n // 2):
        hold_in_cache(i)
    shrink(100 * n)
    threads = [threading.Thread(target=hold_bytes, args=(n // 4,)) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for i in range(n):
        json.loads('{"a": [1, 2, 3], "b": "%s"}' % ("x" * 200))
    del kept[0][n // 2 :]


def compare(region, truth):
    import tracemalloc

    import geiger

    tracemalloc.start(1)
    if "HELD_INTERVAL" in os.environ:
        geiger.set_interval(int(os.environ["HELD_INTERVAL"]))
    work(600)
    snapshot = tracemalloc.take_snapshot()
    geiger.snapshot(region)
    lines = {}
    for trace in snapshot.traces:
        frame = trace.traceback[0]
        if frame.filename == __file__:
            lines[frame.lineno] = lines.get(frame.lineno, 0) + trace.size
    with open(truth, "w", encoding="utf-8") as file:
        json.dump(lines, file)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        compare(*sys.argv[1:])
    else:
        work(1500)
