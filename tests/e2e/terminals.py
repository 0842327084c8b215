# SPDX-License-Identifier: Apache-2.0
"""terminals - runs a program on a terminal of its own, and returns what the terminal gets."""

import os
import pty


def has_terminals():
    """False in a chroot without /dev/pts, for example."""
    try:
        for end in pty.openpty():
            os.close(end)
    except OSError:
        return False
    return True


def read_terminal(terminal):
    """The bytes that a terminal gets until nobody has it open any more; closes it."""
    printed = b""
    while True:
        try:
            some = os.read(terminal, 65536)
        except OSError:
            break
        if not some:
            break
        printed += some
    os.close(terminal)
    return printed


def run_on_terminal(command, **environment):
    """The bytes that the terminal gets from the command, whose exit status does not count."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ.update(environment)
        os.execv(command[0], command)
    printed = read_terminal(terminal)
    os.waitpid(pid, 0)
    return printed
