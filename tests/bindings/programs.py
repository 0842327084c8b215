# SPDX-License-Identifier: Apache-2.0
"""programs.py NAME - uses the standard library like real programs, and prints sums of results."""

import asyncio
import functools
import hashlib
import json
import multiprocessing
import os
import re
import sqlite3
import subprocess
import sys
import threading
import weakref


def digest(value):
    return hashlib.sha256(repr(value).encode()).hexdigest()[:16]


def run_json():
    rows = [{"id": i, "tags": [str(i), f"t{i % 7}"], "deep": {"x": i / 3}} for i in range(4000)]
    return digest(json.loads(json.dumps(rows, indent=1)))


def run_re():
    text = " ".join(f"key{i}=value{i * 37 % 101};" for i in range(8000))
    found = re.findall(r"(\w+)=(\w+?)(\d+);", text)
    return digest(found), digest(re.sub(r"\d+", lambda m: str(int(m[0]) + 1), text))


def run_sqlite3():
    db = sqlite3.connect(":memory:")
    db.execute("create table t(a integer, b text)")
    db.executemany("insert into t values (?, ?)", ((i, f"row {i}" * 3) for i in range(8000)))
    db.create_function("twist", 1, lambda text: text[::-1])
    return db.execute("select count(*), max(twist(b)), sum(a) from t where a % 3 = 0").fetchall()


def run_asyncio():
    async def worker(queue, sums):
        while (item := await queue.get()) is not None:
            await asyncio.sleep(0)
            sums.append(sum([x async for x in numbers(item)]))

    async def numbers(n):
        for i in range(n):
            if i % 50 == 0:
                await asyncio.sleep(0)
            yield i

    async def main():
        queue, sums = asyncio.Queue(), []
        tasks = [asyncio.create_task(worker(queue, sums)) for _ in range(8)]
        for i in range(300):
            await queue.put(i)
        for _ in tasks:
            await queue.put(None)
        await asyncio.gather(*tasks)
        return sum(sums)

    return asyncio.run(main())


def run_threads():
    results, lock = {}, threading.Lock()

    def work(n):
        words = [str(i) * 5 for i in range(n * 500)]
        with lock:
            results[n] = digest(sorted(words))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(1, 9)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return sorted(results.items())


def square_text(n):
    return len(json.dumps([n] * 500))


def run_processes():
    sums = []
    for how in ("fork", "spawn"):
        with multiprocessing.get_context(how).Pool(3) as pool:
            sums.append(sum(pool.map(square_text, range(60))))
    child = os.fork()
    if child == 0:
        data = [str(i) for i in range(20000)]
        os._exit(len(data) % 100)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    code = "import sys; print(sum(range(9999))); sys.exit(3)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    return sums, status, run.stdout, run.returncode


def run_objects():
    class Node:
        def __init__(self, left):
            self.left, self.cycle = left, self

        def __del__(self):
            deaths.append(1)

    deaths, seen = [], []
    node = None
    for i in range(3000):
        node = Node(node if i % 10 else None)
    seen.append(weakref.ref(node, lambda _: seen.append("gone")))
    del node
    import gc

    gc.collect()

    @functools.lru_cache(None)
    def fib(n):
        return n if n < 2 else fib(n - 1) + fib(n - 2)

    def deep(n):
        return 0 if n == 0 else 1 + deep(n - 1)

    try:
        deep(10**6)
    except RecursionError as error:
        seen.append(str(error))
    chain = functools.reduce(lambda inner, i: (x + i for x in inner), range(50), iter(range(200)))
    return len(deaths), len(seen), fib(150), sum(chain), deep(800)


def run_interpreters():
    import _xxsubinterpreters as interpreters

    one = interpreters.create()
    interpreters.run_string(one, "import json; x = [json.dumps(i) for i in range(5000)]; print(len(x))")
    interpreters.destroy(one)
    return "back"


def run_hooks_of_others():
    """Puts allocators in front of ours, and removes them again."""
    import tracemalloc

    tracemalloc.start()
    kept = [bytes(1000) for _ in range(100)]
    sizes = sum(s.size for s in tracemalloc.take_snapshot().statistics("lineno") if s.size > 100000)
    tracemalloc.stop()
    return sizes >= 100000, len(kept)


if __name__ == "__main__":
    print(sys.argv, globals()["run_" + sys.argv[1]]())
