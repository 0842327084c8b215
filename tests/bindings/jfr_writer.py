# SPDX-License-Identifier: Apache-2.0
"""jfr_writer - writes recordings as async-profiler does, to know what is in them.

    chunk(release, interval, events) - the bytes of a chunk of a VM of that release
    interval: None if the recording does not state it
    by_async: False for a chunk of the JDK's own recorder
    start_seconds: of the chunk, which takes five seconds; the events are spread over it
    hostile: "nested", samples begin with 10 ** 15 values without a byte; "branched", with 10 ** 5;
        "overlapping", a pool of constants lies inside another one
    events: (kind, class, size, [(class, method, line), ...]), the innermost frame first
"""
import struct

# Classes: name, and fields (name, class, is constant, is array).  Ids are positions + 10.
CLASSES = [
    ("boolean", []), ("int", []), ("long", []), ("java.lang.String", []),
    ("jdk.types.Symbol", [("string", "java.lang.String", False, False)]),
    ("java.lang.Class", [("name", "jdk.types.Symbol", True, False)]),
    ("jdk.types.Method", [("type", "java.lang.Class", True, False), ("name", "jdk.types.Symbol", True, False)]),
    ("jdk.types.StackFrame", [("method", "jdk.types.Method", True, False), ("lineNumber", "int", False, False)]),
    ("jdk.types.StackTrace", [("truncated", "boolean", False, False), ("frames", "jdk.types.StackFrame", False, True)]),
    ("java.lang.Thread", [("osThreadId", "long", False, False), ("javaName", "java.lang.String", False, False)]),
    ("jdk.ActiveSetting", [("startTime", "long", False, False), ("name", "java.lang.String", False, False),
                           ("value", "java.lang.String", False, False)]),
    ("jdk.JVMInformation", [("startTime", "long", False, False), ("jvmVersion", "java.lang.String", False, False)]),
] + [(name, [("startTime", "long", False, False), ("eventThread", "java.lang.Thread", True, False),
             ("stackTrace", "jdk.types.StackTrace", True, False), ("objectClass", "java.lang.Class", True, False),
             ("allocationSize", "long", False, False), (other, "long", False, False)])
     for name, other in (("jdk.ObjectAllocationInNewTLAB", "tlabSize"), ("jdk.ObjectAllocationOutsideTLAB", "unused"),
                         ("jdk.ObjectAllocationSample", "weight"), ("profiler.LiveObject", "allocationTime"))]
DURATION_NS = 5 * 10**9
IDS = {name: i + 10 for i, (name, _) in enumerate(CLASSES)}


def number(value):
    out = bytearray()
    for _ in range(8):
        if value < 0x80:
            break
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value & 0xFF)
    return bytes(out)


def text(value):
    return b"\x03" + number(len(value.encode())) + value.encode()


def event(type_id, body):
    rest = number(type_id) + body
    return long_number(len(rest) + 4) + rest


def long_number(value):
    """In four bytes, so that the length of an event is known before it is written."""
    return bytes([value & 0x7F | 0x80, value >> 7 & 0x7F | 0x80, value >> 14 & 0x7F | 0x80, value >> 21 & 0x7F])


DEPTHS = {"nested": 15, "branched": 5}


def nested_classes(depth):
    """A chain of classes: each has ten fields of the next class, and the last one is empty."""
    levels = [(f"Level{i}", [(f"field{j}", f"Level{i + 1}", False, False) for j in range(10)]) for i in range(depth)]
    return levels + [(f"Level{depth}", [])]


def described_classes(by_async, hostile):
    classes = [(name, fields) for name, fields in CLASSES if by_async or not name.startswith("profiler.")]
    if hostile in DEPTHS:
        classes = nested_classes(DEPTHS[hostile]) + [(name, ([("nested", "Level0", False, False)] if "InNewTLAB" in name else []) + fields)
                                                  for name, fields in classes]
    return classes


def metadata(by_async, hostile):
    names = [""]
    ids = {name: IDS.get(name, i + 100) for i, (name, _) in enumerate(described_classes(by_async, hostile))}

    def at(name):
        if name not in names:
            names.append(name)
        return number(names.index(name))

    def element(name, attributes, children=()):
        return at(name) + number(len(attributes)) + b"".join(at(k) + at(v) for k, v in attributes) + number(len(children)) + b"".join(children)

    classes = [element("class", [("name", name), ("id", str(ids[name]))], [
        element("field", [("name", field), ("class", str(ids[of]))] + [("constantPool", "true")] * constant + [("dimension", "1")] * array)
        for field, of, constant, array in fields]) for name, fields in described_classes(by_async, hostile)]
    root = element("root", [], [element("metadata", [], classes), element("region", [])])
    return event(0, number(0) * 3 + number(len(names)) + b"".join(text(name) for name in names) + root)


def link(back, pools):
    """A link of the chain of constants; the previous one begins `back` bytes away."""
    return event(1, number(0) * 2 + number(back & 2**64 - 1) + b"\x01" + number(len(pools)) + b"".join(pools))


def chunk(release, interval, events, by_async=True, start_seconds=0, hostile=None):
    symbols, classes, methods, stacks = [], [], [], []

    def place(known, value):
        if value not in known:
            known.append(value)
        return known.index(value) + 1

    def class_of(name):
        return place(classes, place(symbols, name))

    body = event(IDS["jdk.JVMInformation"], number(1) + text(f"OpenJDK 64-Bit Server VM ({release}.0.1+1) for linux-amd64"))
    if interval is not None:
        body += event(IDS["jdk.ActiveSetting"], number(1) + text("alloc") + text(str(interval)))
    for i, (kind, name, size, frames) in enumerate(events):
        stack = place(stacks, tuple((place(methods, (class_of(of), place(symbols, method))), line) for of, method, line in frames))
        buffer = size if kind.endswith("Sample") else max(size, interval or 65536) if kind.startswith("jdk") else 0
        body += event(IDS[kind], number(1 + i * DURATION_NS // len(events)) + number(1) + number(stack) + number(class_of(name)) + number(size) + number(buffer))

    def pool(name, values):
        return number(IDS[name]) + number(len(values)) + b"".join(number(i + 1) + value for i, value in enumerate(values))

    pools = [
        pool("java.lang.Thread", [number(4711) + text("main")]),
        pool("jdk.types.Symbol", [text(symbol) for symbol in symbols]),
        pool("java.lang.Class", [number(symbol) for symbol in classes]),
        pool("jdk.types.Method", [number(of) + number(name) for of, name in methods]),
        pool("jdk.types.StackTrace", [b"\x00" + number(len(frames)) + b"".join(number(method) + number(line) for method, line in frames)
                                      for frames in stacks]),
    ]
    head = 68
    constants = link(0, pools)
    place_of_constants = head + len(body)
    if hostile == "overlapping":
        # A text of the first link is the second one, which says that the first lies before it.
        second = link(-1, pools)  # as long as with any other negative number
        first = link(0, [pool("jdk.types.Symbol", [b"\x03" + long_number(len(second)) + second])])
        other = link(-first.index(second), pools)
        constants = first.replace(second, other)
        second = other
        place_of_constants += constants.index(second)
    described = metadata(by_async, hostile)
    size = head + len(body) + len(constants) + len(described)
    return (b"FLR\0" + struct.pack(">HHQQQQQQQI", 2, 0, size, place_of_constants, head + len(body) + len(constants), 10**18 + int(start_seconds * 10**9), DURATION_NS, 1, 10**9, 1)
            + body + constants + described)
