# SPDX-License-Identifier: Apache-2.0
"""process_image - reads the code and the slots of a process through /proc, without geiger.

    before = process_image.read(pid)
    ...
    problem = process_image.difference(before, process_image.read(pid))

A slot is a word that the loader fills with the address of a symbol: in the global offset table, in
the table of calls, or in data.  The tables are read from the memory of the process, as the loader
sees them.  The agent's library and its own memory are no part of an image.
"""

import collections
import struct

PT_LOAD, PT_DYNAMIC, PT_GNU_RELRO = 1, 2, 0x6474E552
DT_PLTRELSZ, DT_STRTAB, DT_SYMTAB, DT_RELA, DT_RELASZ, DT_JMPREL = 2, 5, 6, 7, 8, 23
WORD_RELOCATIONS = {1: "data", 6: "table", 7: "call"}  # R_X86_64_64, GLOB_DAT, JUMP_SLOT
PAGE = 4096

Mapping = collections.namedtuple("Mapping", "begin end protection path")
Image = collections.namedtuple("Image", "slots code pages mappings")


def mappings_of(pid):
    found = []
    with open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as file:
        for line in file:
            fields = line.split(None, 5)
            begin, end = (int(text, 16) for text in fields[0].split("-"))
            found.append(Mapping(begin, end, fields[1], fields[5].strip() if len(fields) > 5 else ""))
    return found


def is_of_agent(path):
    return "geiger" in path.rsplit("/", 1)[-1]


class Module:
    """A library or the program, as it lies in memory."""

    def __init__(self, memory, begin, path):
        self.memory, self.path = memory, path
        header = self.read(begin, 64)
        kind, offset, size, count = (struct.unpack_from(form, header, at)[0]
                                     for form, at in (("<H", 16), ("<Q", 32), ("<H", 54), ("<H", 56)))
        self.base = begin if kind == 3 else 0
        self.dynamic, self.relro = {}, (0, 0)
        for i in range(count):
            kind, _, _, address, _, _, bytes_count, _ = struct.unpack("<IIQQQQQQ", self.read(begin + offset + i * size, 56))
            if kind == PT_DYNAMIC:
                words = struct.unpack(f"<{bytes_count // 8}Q", self.read(self.base + address, bytes_count // 8 * 8))
                self.dynamic = dict(zip(words[::2], words[1::2]))
            elif kind == PT_GNU_RELRO:
                self.relro = (self.base + address, self.base + address + bytes_count)

    def read(self, address, count):
        self.memory.seek(address)
        return self.memory.read(count)

    def table(self, tag):
        """The loader has added the base to the addresses of most tables."""
        address = self.dynamic.get(tag, 0)
        return address if address == 0 or address >= self.base else self.base + address

    def name(self, symbol):
        at = struct.unpack("<I", self.read(self.table(DT_SYMTAB) + 24 * symbol, 4))[0]
        return self.read(self.table(DT_STRTAB) + at, 64).split(b"\0")[0].decode("ascii", "replace")

    def slots(self):
        """Yields the address, the kind and the name of each slot."""
        for table, size in ((DT_RELA, DT_RELASZ), (DT_JMPREL, DT_PLTRELSZ)):
            count = self.dynamic.get(size, 0) // 24
            entries = self.read(self.table(table), 24 * count) if count > 0 else b""
            for i in range(count):
                offset, info, _ = struct.unpack_from("<QQq", entries, 24 * i)
                if info & 0xFFFFFFFF in WORD_RELOCATIONS and info >> 32 != 0:
                    yield self.base + offset, WORD_RELOCATIONS[info & 0xFFFFFFFF], info >> 32


def modules_of(memory, mappings):
    seen = set()
    for mapping in mappings:
        if mapping.path[:1] != "/" or mapping.path in seen or "r" not in mapping.protection or is_of_agent(mapping.path):
            continue
        memory.seek(mapping.begin)
        if memory.read(4) == b"\x7fELF":
            seen.add(mapping.path)
            yield Module(memory, mapping.begin, mapping.path)


def read(pid):
    mappings = mappings_of(pid)
    slots, code, pages = {}, {}, {}
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for module in modules_of(memory, mappings):
            for address, kind, symbol in module.slots():
                value = struct.unpack("<Q", module.read(address, 8))[0]
                slots[address] = (value, kind, module, symbol)
        # Names are read here, while the memory is open.
        slots = {at: (value, f"{kind} slot of {module.name(symbol)} in {module.path}")
                 for at, (value, kind, module, symbol) in slots.items()}
        for mapping in mappings:
            if mapping.path[:1] != "/" or is_of_agent(mapping.path):
                continue
            for page in range(mapping.begin, mapping.end, PAGE):
                pages[page] = mapping.protection
            if "x" in mapping.protection:
                memory.seek(mapping.begin)
                code[mapping.begin] = memory.read(mapping.end - mapping.begin)
    return Image(slots, code, pages, mappings)


def holder_of(image, value):
    """The file in whose mapping the address is; "" for other memory."""
    return next((mapping.path for mapping in image.mappings if mapping.begin <= value < mapping.end), "")


def is_just_bound(before, path, value, now):
    """True if the slot led into its own module, and leads to a function that was there before."""
    return holder_of(before, value) == path and now is not None and holder_of(before, now)[:1] == "/"


def difference(before, after):
    """Describes the first difference, or returns None.  The program may bind slots meanwhile."""
    for address, (value, name) in before.slots.items():
        now = after.slots.get(address, (None, ""))[0]
        if now != value and not is_just_bound(before, name.rsplit(" ", 1)[-1], value, now):
            return f"{name}: {value:#x} before, {now if now is None else hex(now)} after"
    for begin, code in before.code.items():
        if after.code.get(begin) != code:
            return f"the code at {begin:#x} has changed"
    for page, protection in before.pages.items():
        if after.pages.get(page) != protection:
            return f"the page at {page:#x} is {after.pages.get(page)}, and was {protection}"
    return None


def changed_slots(before, after):
    """The names of the slots that differ: while an agent is attached, there should be some."""
    return [name for address, (value, name) in before.slots.items() if after.slots.get(address, (None,))[0] != value]
