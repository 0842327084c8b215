# SPDX-License-Identifier: Apache-2.0
"""findings.py NAME - programs that hold more memory than their author thinks.

test_python_findings.py finds each place by one command.

Each is of a kind that tutorials of memory profilers teach: a list where a generator does, copies
that variables keep alive, a cache that keeps its arguments, temporary arrays, threads, a database.
Comments "# HERE: name" mark the lines that are to be found.
"""

import ctypes
import functools
import sqlite3
import sys
import threading


def doubling_list(count):
    numbers = [1, 1]
    for i in range(count):
        numbers.append(numbers[i] + numbers[i + 1])  # HERE: list
    return numbers


def doubling_generator(count):
    left = right = 1
    for _ in range(count):
        yield left
        left, right = right, left + right


def checksum(numbers):
    return functools.reduce(lambda a, b: (a + b) % 10**9, numbers, 0)


def kept_list():
    checksum(doubling_list(20000))


def kept_nowhere():
    checksum(doubling_generator(20000))


def copies():
    import numpy

    data = numpy.ones(8 << 20, dtype=numpy.uint8)
    shifted = data + 1  # HERE: shifted
    del data
    squared = numpy.power(shifted, 2)  # HERE: squared
    scale(squared * 2)  # HERE: doubled


def scale(data):
    return data - 1  # HERE: scaled


class Series:
    def __init__(self, step):
        self.step = step

    @functools.lru_cache(maxsize=None)
    def product(self, n):
        return n * self.product(n - 1) + self.step if n else 1  # HERE: cached


def last_digits(series, count):
    return sum(series.product(n) % 10 for n in range(count))  # HERE: digits


def cache():
    print(sum(last_digits(Series(step), 150) for step in range(300)))


def remembered(n, known={0: 0, 1: 1}):
    if n not in known:
        known[n] = remembered(n - 1) + remembered(n - 2)  # HERE: remembered
    return known[n]


def recursion():
    for n in range(500, 15001, 500):
        remembered(n)
    doubling_list(15000)


def escape(rows, columns):
    import numpy

    place = numpy.linspace(-2, 1, columns) + 1j * numpy.linspace(-1, 1, rows).reshape((rows, 1))  # HERE: place
    value = numpy.zeros(place.shape, dtype=numpy.complex128)  # HERE: value
    inside = numpy.full(place.shape, True)
    for _ in range(20):
        value[inside] = value[inside] ** 2 + place[inside]  # HERE: temporary
        inside[numpy.abs(value) > 2] = False
    return inside.sum()


def arrays():
    escape(400, 1000)


def arrays_in_threads():
    threads = [threading.Thread(target=escape, args=(400, 1000)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def make_rows(count):
    for i in range(count):
        yield (f"symbol {i % 300}", i, i / 3, i / 7, i / 11)  # HERE: rows


def database():
    rows = list(make_rows(40000))
    base = sqlite3.connect(":memory:")
    base.execute("create table price (symbol text, time integer, a real, b real, c real, primary key (symbol, time))")
    base.executemany("insert into price values (?, ?, ?, ?, ?)", rows)  # HERE: database
    found = base.execute("select * from price").fetchall()  # HERE: found
    print(len(found), len(rows))


realloc = ctypes.CDLL(None).realloc
realloc.restype, realloc.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_size_t]


class Particles:
    """Stands for an extension that keeps its data in C."""

    def __init__(self):
        self.address, self.count, self.room = None, 0, 0

    def add(self):
        if self.count == self.room:
            self.room = max(1024, 2 * self.room)
            self.address = realloc(self.address, 96 * self.room)  # HERE: grown
        self.count += 1


def particles():
    simulation = Particles()
    for _ in range(100000):
        simulation.add()


globals()[sys.argv[1]]()
