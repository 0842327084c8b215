# SPDX-License-Identifier: Apache-2.0
"""adapter_work.py NAME: one loop, of the kinds that Python's own benchmarks are; prints its
processor seconds."""

import json
import re
import sys
import time


class Node:
    def __init__(self, left, right):
        self.left, self.right = left, right


def tree(depth):
    return Node(tree(depth - 1), tree(depth - 1)) if depth else None


def objects():
    for _ in range(40):
        tree(14)


def floats():
    points = [(i * 0.5, i * 0.25) for i in range(20000)]
    for _ in range(100):
        points = [(x + y * 0.5, y - x * 0.5) for x, y in points]


def text():
    for i in range(300):
        words = [f"word {j} of {i}" for j in range(5000)]
        " ".join(sorted(words)).upper().split("WORD")


def parse():
    data = json.dumps([{"id": i, "tags": [str(i)], "x": i / 7} for i in range(2000)])
    for _ in range(100):
        json.dumps(json.loads(data))


def patterns():
    line = "".join(f"key{i}=value{i};" for i in range(2000))
    for _ in range(200):
        re.sub(r"(\w+)=(\w+);", r"\2=\1;", line)


def calls():
    def fib(n):
        return n if n < 2 else fib(n - 1) + fib(n - 2)

    fib(30)


def generators():
    for _ in range(100):
        sum(len(s) for s in (str(i) for i in (n * n for n in range(20000))))


def lists():
    for _ in range(40):
        grown = []
        for i in range(40000):
            grown.append([i])
        grown.sort(key=lambda x: -x[0])


start = time.process_time()
globals()[sys.argv[1]]()
print(time.process_time() - start)
