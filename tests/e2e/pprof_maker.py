# SPDX-License-Identifier: Apache-2.0
"""pprof_maker - writes and reads a profile.proto, as Go's runtime makes one of its heap.

heap(rows) takes rows of (stack, size, allocated, live): numbers of samples, which it scales and
rounds down as Go does.
"""

import math

GO_TYPES = [("alloc_objects", "count"), ("alloc_space", "bytes"), ("inuse_objects", "count"), ("inuse_space", "bytes")]


def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field, value):
    return varint(field << 3) + varint(value) if value else b""


def part(field, content):
    content = content.encode() if isinstance(content, str) else content
    return varint(field << 3 | 2) + varint(len(content)) + content


def fixed64(field, value):
    return varint(field << 3 | 1) + value.to_bytes(8, "little")


class Texts:
    """The table of texts; text 0 is empty."""

    def __init__(self):
        self.numbers = {"": 0}

    def __call__(self, text):
        return self.numbers.setdefault(text, len(self.numbers))

    def fields(self, field):
        return b"".join(part(field, text) for text in self.numbers)


def chance(size, interval):
    return 1.0 if interval <= 1 else 1 - math.exp(-size / interval)


def scaled(count, size, interval):
    """Objects and bytes as Go prints them."""
    scale = 1 / chance(size, interval)
    return int(count * scale), int(count * size * scale)


def heap(rows, interval=524288, time_s=0, duration_s=0, types=None, has_size=True, labels=None, mapping=None, each=None,
         values=None):
    """labels: of every sample; each: of each row; mapping: the path of a module; values: the type
    of Go whose values another type has."""
    texts, functions, samples = Texts(), {}, b""
    types = types or GO_TYPES
    for row, (stack, size, allocated, live) in enumerate(rows):
        for name in stack:
            functions.setdefault(name, len(functions) + 1)
        every = {}
        every["alloc_objects"], every["alloc_space"] = scaled(allocated, size, max(interval, 1))
        every["inuse_objects"], every["inuse_space"] = scaled(live, size, max(interval, 1))
        sample = part(1, b"".join(varint(functions[name]) for name in stack))
        sample += part(2, b"".join(varint(every.get((values or {}).get(name, name), 7)) for name, _ in types))
        if has_size:
            sample += part(3, number(1, texts("bytes")) + number(3, size))
        for key, value in {**(labels or {}), **(each[row] if each else {})}.items():
            sample += part(3, number(1, texts(key)) + number(2, texts(value)))
        samples += part(2, sample)
    out = b"".join(part(1, number(1, texts(kind)) + number(2, texts(unit))) for kind, unit in types)
    out += samples
    if mapping:
        out += part(3, number(1, 1) + number(2, 0x1000) + number(3, 0x9000) + number(5, texts(mapping)))
    for name, index in functions.items():
        out += part(4, number(1, index) + (number(2, 1) + number(3, 0x2000 + index) if mapping else b"") +
                    part(4, number(1, index) + number(2, 10 + index)))
        out += part(5, number(1, index) + number(2, texts(name)) + number(4, texts(name + ".go")))
    period_type = part(11, number(1, texts("space")) + number(2, texts("bytes")))
    out += texts.fields(6) + number(9, time_s * 10**9) + number(10, duration_s * 10**9)
    if interval:
        out += period_type + number(12, interval)
    return out


def fields(message):
    """(number, value or bytes) of each field of a message."""
    at = 0

    def next_varint():
        nonlocal at
        value, shift = 0, 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        key = next_varint()
        if key & 7 == 0:
            yield key >> 3, next_varint()
        elif key & 7 == 2:
            length = next_varint()
            yield key >> 3, message[at:at + length]
            at += length
        else:
            width = 8 if key & 7 == 1 else 4
            yield key >> 3, message[at:at + width]
            at += width


def packed(content):
    out, value, shift = [], 0, 0
    for byte in content:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            out.append(value)
            value, shift = 0, 0
    return out


def totals(message):
    """The sums of each type of values, and the number of samples."""
    texts, types, sums, count = [], [], [], 0
    every = list(fields(message))
    texts = [content.decode() for field, content in every if field == 6]
    types = [texts[dict(fields(content)).get(1, 0)] for field, content in every if field == 1]
    sums = [0] * len(types)
    for field, content in every:
        if field != 2:
            continue
        count += 1
        for inner, values in fields(content):
            if inner == 2:
                sums = [a + b for a, b in zip(sums, packed(values))]
    return dict(zip(types, sums)), count


def push(series):
    """A PushRequest of (labels, profiles)."""
    out = b""
    for labels, profiles in series:
        content = b"".join(part(1, part(1, key) + part(2, value)) for key, value in labels.items())
        content += b"".join(part(2, part(1, profile) + part(2, "id")) for profile in profiles)
        out += part(1, content)
    return out
