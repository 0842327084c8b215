# SPDX-License-Identifier: Apache-2.0
"""walks.py FILE COUNT [malloc]: makes bytes by every kind of call, and writes where tracemalloc saw
them.

FILE gets a JSON list of [address, [[file, line], ...]], innermost frame first.  With "malloc" these
are blocks of malloc instead, in turns with and without the interpreter's lock, and the frames are
those of sys._current_frames().  It runs on every Python since 3.8.

The sizes are for a sampling interval of 5 KiB.  They are large, so that few samples are of blocks
that nobody compares.
"""

import asyncio
import ctypes
import functools
import json
import random
import re
import sys
import threading
import tracemalloc

kept = []
chosen = random.Random(1)


def make():
    kept.append(bytes(6000 + len(kept) % 1000))


malloc_seen = []
mallocs = [ctypes.CDLL(None).malloc, ctypes.PyDLL(None).malloc]
for function in mallocs:
    function.restype = ctypes.c_void_p


def make_by_malloc():
    make_pair(mallocs[len(malloc_seen) % 2])


def make_pair(malloc):
    frame, frames = sys._current_frames()[threading.get_ident()], []
    while frame is not None:
        frames.append([frame.f_code.co_filename, frame.f_lineno])
        frame = frame.f_back
    address = malloc(20000 + len(malloc_seen))
    frames[0][1] += 2  # the line of the call
    malloc_seen.append([address, frames])
    kept.append(address)


def in_generator():
    for _ in range(2):
        make()
        yield bytes(7000)


def by_yield_from():
    kept.append((yield from in_generator()) or bytes(6000))


async def in_coroutine(depth):
    make()
    if depth:
        await in_coroutine(depth - 1)
    else:
        await asyncio.sleep(0)
    kept.append(bytes(6000))


def recurse(depth):
    if depth:
        recurse(depth - 1)
    else:
        make()


class Thing:
    @property
    def value(self):
        make()
        return 1

    @staticmethod
    def still():
        make()

    @classmethod
    def of_class(cls):
        return [bytes(6000) for _ in range(2)]

    def __lt__(self, other):
        make()
        return True

    def __enter__(self):
        make()
        return self

    def __exit__(self, *_):
        make()

    def __del__(self):
        make()


def größe(
    x=lambda: kept.append(
        bytes(6000)
    ),
):
    x()


def raised():
    try:
        {}["nothing"]
    except KeyError:
        make()
    finally:
        make()


def by_thread():
    thread = threading.Thread(target=recurse, args=(chosen.randrange(30),))
    thread.start()
    thread.join()


def by_match():
    re.sub("a", lambda match: make() or "b", "aa")


def by_class():
    class Made:
        make()
        inner = [bytes(6000) for _ in range(2)]

    kept.extend(Made.inner)


def by_exec():
    exec(compile("make()\n\nmake()", "<made>", "exec"), {"make": make})


def by_other_code():
    """Code that takes the place of other code, with its calls on other lines."""
    text = "x = 1\n" + "\n" * chosen.randrange(100) + "make()"
    exec(compile(text, "<other>", "exec"), {"make": make})


WAYS = [
    make,
    raised,
    größe,
    by_thread,
    by_match,
    by_class,
    by_exec,
    by_other_code,
    Thing.still,
    Thing,
    lambda: kept.extend(in_generator()),
    lambda: list(by_yield_from()),
    lambda: asyncio.run(in_coroutine(chosen.randrange(5))),
    lambda: recurse(chosen.randrange(60)),
    lambda: Thing().value,
    lambda: kept.extend(Thing.of_class()),
    lambda: sorted([Thing(), Thing()]),
    lambda: max([1, 2], key=lambda x: make() or x),
    lambda: functools.partial(recurse, 3)(),
    lambda: kept.extend({i: bytes(6000) for i in range(3)}.values()),
    lambda: [None for _ in map(lambda x: make(), range(2))],
]


def add_greenlets():
    """Adds stacks that are switched in the middle, if greenlet and gevent are there."""
    try:
        import gevent
        from greenlet import getcurrent, greenlet
    except ImportError:
        return

    def switching(depth):
        make()
        if depth:
            switching(depth - 1)
        else:
            getcurrent().parent.switch()
        make()

    def by_greenlets():
        both = [greenlet(switching) for _ in range(2)]
        for one in both:
            one.switch(chosen.randrange(10))
        recurse(3)
        for one in both:
            one.switch()

    def sleeping(depth):
        recurse(depth)
        gevent.sleep(0)
        make()

    WAYS.append(by_greenlets)
    WAYS.append(lambda: gevent.joinall([gevent.spawn(sleeping, chosen.randrange(5)) for _ in range(3)]))


def within():
    with Thing():
        make()


def main_by_malloc(count):
    global make
    make = WAYS[0] = make_by_malloc
    while len(malloc_seen) < count:
        chosen.choice(WAYS)()
    end(malloc_seen)


def main():
    count = int(sys.argv[2])
    WAYS.append(within)
    add_greenlets()
    if sys.argv[3:] == ["malloc"]:
        main_by_malloc(count)
    tracemalloc.start(120)
    while len(kept) < count:
        chosen.choice(WAYS)()
    seen = []
    for block in kept:
        trace = tracemalloc.get_object_traceback(block)
        if trace is not None:
            seen.append([id(block), [[frame.filename, frame.lineno] for frame in reversed(trace)]])
    tracemalloc.stop()
    end(seen)


def end(seen):
    with open(sys.argv[1], "w") as file:
        json.dump(seen, file)
    import os

    os.kill(os.getpid(), 9)  # with every block alive


main()
