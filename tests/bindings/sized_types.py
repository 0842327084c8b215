# SPDX-License-Identifier: Apache-2.0
"""Holds objects of known types, and writes what Python says that they take."""

import gc
import json
import sys

kept = []


def make_class(number):
    slots = tuple(f"slot_{i}" for i in range(number))
    return type(f"Slots{number}", (), {"__slots__": slots})


class Numbers(tuple):
    __slots__ = ()


def hold(path):
    """The file gets {type: [number, bytes]} of gc.get_objects() and sys.getsizeof().

    The types are those whose objects are one block each.
    """
    classes = [make_class(number) for number in (0, 1, 2, 5, 17, 40)]
    for i, chosen in enumerate(classes):
        kept.append([chosen() for _ in range(300 + 100 * i)])
        del [chosen() for _ in range(50)][:]  # these do not count
        kept.append([Numbers(range(i)) for _ in range(200)])

    gc.collect()
    held = {}
    untracked = [one for row in kept for one in row if not gc.is_tracked(one)]
    for found in gc.get_objects() + untracked:
        if type(found) in classes or type(found) is Numbers:
            row = held.setdefault(type(found).__name__, [0, 0])
            row[0] += 1
            row[1] += sys.getsizeof(found)
            # Python allocates one item more for a class that is made by a class statement.
            row[1] += tuple.__itemsize__ if type(found) is Numbers else 0
    with open(path, "w", encoding="utf-8") as file:
        json.dump(held, file)
