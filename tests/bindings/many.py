# SPDX-License-Identifier: Apache-2.0
"""many.py: holds memory in processes that Python starts in every way, each in its own function."""

import multiprocessing
import os
import subprocess
import sys

kept = []


def hold():
    kept.append([bytes(2000) for _ in range(2000)])


def in_fork():
    hold()


def in_spawn():
    hold()


def in_forkserver():
    hold()


def in_pool(number):
    hold()
    return number


def in_os_fork():
    pid = os.fork()
    if pid == 0:
        hold()
        os._exit(0)
    os.waitpid(pid, 0)


def main():
    for method, function in (("fork", in_fork), ("spawn", in_spawn), ("forkserver", in_forkserver)):
        process = multiprocessing.get_context(method).Process(target=function)
        process.start()
        process.join()
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        print(sorted(pool.map(in_pool, range(4))))
    in_os_fork()
    for options in (["-I"], ["-E", "-s"], ["-O", "-X", "faulthandler"]):
        program = "def in_command(): return [bytes(2000) for _ in range(2000)]\nx = in_command()"
        subprocess.run([sys.executable, *options, "-c", program], check=True)
    subprocess.run([sys.executable, "-m", "json.tool", "/dev/null"], stderr=subprocess.DEVNULL)
    program = "def in_exec(): return [bytes(2000) for _ in range(2000)]\nx = in_exec()"
    first = f"import os, sys; os.execv(sys.executable, [sys.executable, '-c', {program!r}])"
    subprocess.run([sys.executable, "-c", first], check=True)


if __name__ == "__main__":
    main()
