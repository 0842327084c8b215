# SPDX-License-Identifier: Apache-2.0
"""An OTLP message of profiles as plain Python values, and the rules of the format.

`decode` reads protocol buffers by a table of its own, and gives what `json.load` would give for the
same message as OTLP's JSON.  `check` lists what is wrong with a message.
"""

import base64
import struct

from varint import varint

INT, TEXT64, FIXED, DOUBLE, BOOL, TEXT, HEXADECIMAL, BASE64 = range(8)

# By message: field number -> (name in JSON, kind or message, repeated).
MESSAGES = {
    "data": {1: ("resourceProfiles", "resource_profiles", True), 2: ("dictionary", "dictionary", False)},
    "dictionary": {
        1: ("mappingTable", "mapping", True), 2: ("locationTable", "location", True),
        3: ("functionTable", "function", True), 4: ("linkTable", "link", True),
        5: ("stringTable", TEXT, True), 6: ("attributeTable", "attribute", True),
        7: ("stackTable", "stack", True),
    },
    "resource_profiles": {1: ("resource", "resource", False), 2: ("scopeProfiles", "scope_profiles", True)},
    "resource": {1: ("attributes", "key_value", True)},
    "scope_profiles": {1: ("scope", "scope", False), 2: ("profiles", "profile", True)},
    "scope": {1: ("name", TEXT, False), 2: ("version", TEXT, False)},
    "profile": {
        1: ("sampleType", "value_type", False), 2: ("samples", "sample", True),
        3: ("timeUnixNano", FIXED, False), 4: ("durationNano", TEXT64, False),
        5: ("periodType", "value_type", False), 6: ("period", TEXT64, False),
        7: ("profileId", HEXADECIMAL, False), 11: ("attributeIndices", INT, True),
    },
    "value_type": {1: ("typeStrindex", INT, False), 2: ("unitStrindex", INT, False)},
    "sample": {
        1: ("stackIndex", INT, False), 2: ("attributeIndices", INT, True), 4: ("values", TEXT64, True),
    },
    "stack": {1: ("locationIndices", INT, True)},
    "location": {
        1: ("mappingIndex", INT, False), 2: ("address", TEXT64, False), 3: ("lines", "line", True),
        4: ("attributeIndices", INT, True),
    },
    "line": {1: ("functionIndex", INT, False), 2: ("line", TEXT64, False)},
    "function": {
        1: ("nameStrindex", INT, False), 2: ("systemNameStrindex", INT, False),
        3: ("filenameStrindex", INT, False),
    },
    "mapping": {
        1: ("memoryStart", TEXT64, False), 2: ("memoryLimit", TEXT64, False),
        3: ("fileOffset", TEXT64, False), 4: ("filenameStrindex", INT, False),
        5: ("attributeIndices", INT, True),
    },
    "link": {1: ("traceId", HEXADECIMAL, False), 2: ("spanId", HEXADECIMAL, False)},
    "attribute": {
        1: ("keyStrindex", INT, False), 2: ("value", "any_value", False), 3: ("unitStrindex", INT, False),
    },
    "key_value": {1: ("key", TEXT, False), 2: ("value", "any_value", False)},
    "any_value": {1: ("stringValue", TEXT, False), 3: ("intValue", TEXT64, False), 4: ("doubleValue", DOUBLE, False)},
}


def number(kind, value):
    return value if kind == INT else str(value)


def decode(data, message="data"):
    """Raises KeyError for a field that the table does not have."""
    result, at = {}, 0
    while at < len(data):
        key, at = varint(data, at)
        name, kind, is_list = MESSAGES[message][key >> 3]
        if key & 7 == 0:
            value, at = varint(data, at)
            assert not is_list, f"{message}.{name} is not packed"
            result[name] = number(kind, value)
        elif key & 7 == 1:
            (value,) = struct.unpack("<d" if kind == DOUBLE else "<Q", data[at : at + 8])
            at += 8
            result[name] = value if kind == DOUBLE else str(value)
        else:
            assert key & 7 == 2, f"{message}.{name} has the wire type {key & 7}"
            length, at = varint(data, at)
            part, at = data[at : at + length], at + length
            assert len(part) == length, f"{message}.{name} is truncated"
            if kind in (INT, TEXT64):
                items, inner = [], 0
                while inner < length:
                    value, inner = varint(part, inner)
                    items.append(number(kind, value))
                assert items, f"{message}.{name} is an empty packed field"
                result.setdefault(name, []).extend(items)
                continue
            value = (decode(part, kind) if isinstance(kind, str) else part.decode() if kind == TEXT
                     else part.hex() if kind == HEXADECIMAL else base64.b64encode(part).decode())
            if is_list:
                result.setdefault(name, []).append(value)
            else:
                assert name not in result, f"{message}.{name} occurs twice"
                result[name] = value
    return result


TABLES = ("mappingTable", "locationTable", "functionTable", "linkTable", "stringTable", "attributeTable",
          "stackTable")
# Members that are indices, and their tables.
INDICES = {
    "stackIndex": "stackTable", "mappingIndex": "mappingTable", "functionIndex": "functionTable",
    "attributeIndices": "attributeTable", "locationIndices": "locationTable",
}


def walk(value):
    """Each (name, index) in a message that refers to a table."""
    if isinstance(value, dict):
        for name, item in value.items():
            if name in INDICES or name.endswith("Strindex"):
                for index in item if isinstance(item, list) else [item]:
                    yield INDICES.get(name, "stringTable"), index
            else:
                yield from walk(item)
    elif isinstance(value, list):
        for item in value:
            yield from walk(item)


def profiles_of(data):
    """Each (resource's attributes, profile)."""
    for resource in data["resourceProfiles"]:
        attributes = {item["key"]: item["value"] for item in resource["resource"]["attributes"]}
        for scope in resource["scopeProfiles"]:
            for profile in scope["profiles"]:
                yield attributes, profile


def check_tables(data):
    tables = data["dictionary"]
    for name in TABLES:
        table = tables.get(name)
        if not table:
            yield f"{name} is missing"
            continue
        zero = {"stringTable": "", "linkTable": {"traceId": "0" * 32, "spanId": "0" * 16}}.get(name, {})
        if table[0] != zero:
            yield f"{name} begins with {table[0]}"
        texts = [repr(item) for item in table]
        if len(set(texts)) != len(texts):
            yield f"{name} has an element twice"
    used = {name: {0} for name in TABLES}
    for name, index in walk(data):
        if not 0 <= index < len(tables[name]):
            yield f"{name} has no element {index}"
        used[name].add(index)
    for name in TABLES:
        if len(used[name]) != len(tables[name]):
            yield f"{name} has elements that nothing refers to: {set(range(len(tables[name]))) - used[name]}"


def check_profiles(data):
    zeros = []
    for attributes, profile in profiles_of(data):
        if "service.name" not in attributes:
            yield "a resource has no service.name"
        seen = set()
        for sample in profile.get("samples", ()):
            identity = (sample.get("stackIndex", 0), tuple(sorted(sample.get("attributeIndices", ()))))
            if identity in seen:
                yield f"two samples have the identity {identity}"
            seen.add(identity)
            if len(sample["values"]) != 1 or int(sample["values"][0]) < 0:
                yield f"a sample has the values {sample['values']}"
            if int(sample["values"][0]) == 0:
                zeros.append((profile, sample))
        if int(profile.get("period", 0)) <= 0:
            yield "a profile has no period"
        strings = data["dictionary"]["stringTable"]
        if strings[profile["periodType"]["typeStrindex"]] != "memory":
            yield "the type of the period is not memory"
    # A stack that holds nothing now has a sample of 0 bytes, and no other one.
    strings, uses = data["dictionary"]["stringTable"], {}
    for _, profile in profiles_of(data):
        for sample in profile.get("samples", ()):
            uses[sample.get("stackIndex", 0)] = uses.get(sample.get("stackIndex", 0), 0) + 1
    for profile, sample in zeros:
        if strings[profile["sampleType"]["typeStrindex"]] != "inuse_space" or uses[sample.get("stackIndex", 0)] > 1:
            yield "a sample of 0 says nothing"


def check(data):
    return [*check_tables(data), *check_profiles(data)]


def totals(data):
    """By process and type: the sum of the values."""
    sums = {}
    strings = data["dictionary"]["stringTable"]
    for attributes, profile in profiles_of(data):
        key = (int(attributes.get("process.pid", {}).get("intValue", 0)),
               strings[profile["sampleType"]["typeStrindex"]])
        sums[key] = sums.get(key, 0) + sum(int(sample["values"][0]) for sample in profile.get("samples", ()))
    return sums


def attributes_of(data, profile):
    table, strings = data["dictionary"]["attributeTable"], data["dictionary"]["stringTable"]
    return {strings[table[index]["keyStrindex"]]: next(iter(table[index]["value"].values()))
            for index in profile.get("attributeIndices", ())}
