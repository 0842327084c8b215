# SPDX-License-Identifier: Apache-2.0
"""Whole numbers of 7 bits a byte, as protocol buffers and .nettrace files have them."""


def varint(data, at):
    """A number, and where it ends."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at
