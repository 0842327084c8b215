# SPDX-License-Identifier: Apache-2.0
"""pool.py TRUTH: blocks of Python on both sides of 512 bytes, in a parent and in processes that it
forks.

A bytes object is one block of sys.getsizeof() bytes.  Python makes numbers below 257 once, and the
lists have room for all blocks from the start.  So a function allocates its blocks and hardly
anything more.
"""

import multiprocessing
import os
import sys

SIZES = [40, 100, 400, 479, 480, 600, 1000, 4000, 20000, 65000]
TIMES = 25  # as often each


def in_parent(kept):
    for i in range(250):
        kept[i] = bytes(SIZES[i % 10])


def in_child(kept):
    for i in range(250):
        kept[i] = bytes(SIZES[i % 10])


def in_child_again(kept):
    for i in range(250):
        kept[i] = bytes(SIZES[i % 10])


def child(kept, own):
    in_child(own)
    in_child_again(kept)  # what it inherited goes


def main():
    kept, own = [None] * 250, [None] * 250
    in_parent(kept)
    context = multiprocessing.get_context("fork")
    for processes in (1, 3):
        children = [context.Process(target=child, args=(kept, own)) for _ in range(processes)]
        for process in children:
            process.start()
        for process in children:
            process.join()
            assert process.exitcode == 0
    size = TIMES * sum(sys.getsizeof(bytes(size)) for size in SIZES)
    with open(sys.argv[1], "w", encoding="utf-8") as truth:
        print(f"site in_parent {size} {size} {size}", file=truth)
        print(f"site in_child {4 * size} 0 {4 * size}", file=truth)
        print(f"site in_child_again {4 * size} 0 {4 * size}", file=truth)
    sys.stdout.flush()
    os._exit(0)  # with all that is live


main()
