# SPDX-License-Identifier: Apache-2.0
"""typed_objects.py FILE SIZES: holds objects of many types, and writes where they are.

FILE gets a JSON list of [address, type].  Objects of the type Gone are freed at once, 500 of them.
SIZES is for sized_types.py.  It runs on every Python since 3.8.
"""

import array
import collections
import decimal
import gc
import json
import os
import sys
import weakref

import sized_types


class Plain:
    def __init__(self, number):
        self.number, self.text = number, str(number)


class Slots:
    __slots__ = ("x", "__weakref__")


class Text(str):
    pass


class Items(list):
    pass


class Gone:
    __slots__ = ("x", "y")


def generate():
    yield


def main():
    makers = [
        Plain,
        lambda i: Slots(),
        lambda i: Text("text %d" % i),
        lambda i: Items([i]),
        lambda i: "long %d" % i * 99,
        lambda i: "größe %d" % i,
        lambda i: bytes(i + 20),
        lambda i: bytearray(50),
        lambda i: {i: i},
        lambda i: {i},
        lambda i: frozenset((i, 1)),
        lambda i: (i, i),
        lambda i: [i],
        lambda i: i + 0.5,
        lambda i: complex(i, 1),
        lambda i: 10**30 + i,
        lambda i: lambda: i,
        lambda i: generate(),
        lambda i: collections.deque((i,)),
        lambda i: collections.OrderedDict(),
        lambda i: array.array("i", [i]),
        lambda i: decimal.Decimal(i),
        lambda i: weakref.ref(Plain),
        lambda i: memoryview(b"view"),
        lambda i: type("Made", (), {}),
        lambda i: iter([i]),
        lambda i: slice(i, i + 1),
        lambda i: property(main),
        lambda i: compile("x", "<%d>" % i, "eval"),
        lambda i: ValueError(i),
    ]
    gc.disable()
    kept = [make(i) for i in range(200) for make in makers]
    for _ in range(500):
        Gone()
    places = [[id(thing), type(thing).__name__] for thing in kept]
    with open(sys.argv[1], "w") as file:
        json.dump(places, file)
    sized_types.hold(sys.argv[2])
    os.kill(os.getpid(), 9)  # with every object alive


main()
