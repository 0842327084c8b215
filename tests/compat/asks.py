# SPDX-License-Identifier: Apache-2.0
"""asks.py DIRECTORY - tests names of newer jemallocs, and texts in JSON, under libgeiger-compat."""

import ctypes
import json
import sys

mallctl = ctypes.CDLL(None).mallctl


def read(name, kind):
    value, size = kind(), ctypes.c_size_t(ctypes.sizeof(kind))
    assert mallctl(name.encode(), ctypes.byref(value), ctypes.byref(size), None, ctypes.c_size_t(0)) == 0, name
    return value.value


def write(name, value):
    size = ctypes.c_size_t(ctypes.sizeof(value))
    assert mallctl(name.encode(), None, None, ctypes.byref(value), size) == 0, name


class Writer(ctypes.Structure):
    FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p)
    _fields_ = [("write", FUNCTION), ("context", ctypes.c_void_p)]


def options():
    assert read("opt.prof_bt_max", ctypes.c_uint) == 77
    assert read("opt.prof_pid_namespace", ctypes.c_bool) is True
    assert read("config.prof_frameptr", ctypes.c_bool) is False
    assert read("version", ctypes.c_char_p).startswith(b"5.3.0-")
    assert read("thread.allocated", ctypes.c_uint64) > 0


def recent():
    pieces = []
    write("experimental.prof_recent.alloc_max", ctypes.c_ssize_t(100))
    keep = [bytes(5000 + i) for i in range(200)]
    del keep[100:]
    write("experimental.prof_recent.alloc_dump", Writer(Writer.FUNCTION(lambda _, text: pieces.append(text)), None))
    dump = json.loads(b"".join(pieces))
    assert dump["sample_interval"] == 1 and dump["recent_alloc_max"] == 100
    assert 50 <= len(dump["recent_alloc"]) <= 100
    for sample in dump["recent_alloc"]:
        assert sample["usize"] >= sample["size"] and all(int(pc, 16) for pc in sample["alloc_trace"])
        assert ("dalloc_time" in sample) == sample["released"]
        assert 1 <= len(sample["alloc_trace"]) <= 77
    assert any(sample["released"] for sample in dump["recent_alloc"])


def log(path):
    write("prof.log_start", ctypes.c_char_p(path.encode()))
    keep = [bytes(7000 + i) for i in range(200)]
    del keep
    assert mallctl(b"prof.log_stop", None, None, None, ctypes.c_size_t(0)) == 0
    with open(path, encoding="utf-8") as file:
        written = json.load(file)
    assert written["info"]["lg_sample_rate"] == 0 and written["info"]["duration"] > 0
    ours = [a for a in written["allocations"] if 7000 <= a["usize"] < 7400]
    assert len(ours) >= 200
    for a in written["allocations"]:
        assert a["alloc_timestamp"] <= a["free_timestamp"]
        for end in ("alloc", "free"):
            assert 0 <= a[end + "_trace"] < len(written["stack_traces"])
            assert 0 <= a[end + "_thread"] < len(written["threads"])


options()
recent()
log(sys.argv[1] + "/log.json")
print("all as it should be")
