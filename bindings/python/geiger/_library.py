# SPDX-License-Identifier: Apache-2.0
"""The functions of geiger's library in this process, and the places of geiger's files.

The library is libgeiger-python.so, the adapter for CPython, which includes libgeiger.  It is loaded
by ctypes, so nothing here depends on the version of Python.
"""

import ctypes
import errno
import operator
import os
import shutil
import subprocess
import sys
import tempfile

_HERE = os.path.dirname(os.path.abspath(__file__))
_ADAPTER = "libgeiger-python.so"
_DESTINATIONS = ("nowhere", "agent", "own")
_INTERVAL_MOST = 1 << 48
_COUNTS = (
    "samples",
    "freed",
    "moved",
    "promoted",
    "dropped",
    "nested",
    "unknown_heaps",
    "bad_samples",
    "names_dropped",
)

_loaded = None  # the adapter

# keep_command() sets it: a path, or the error of a command that is not found.
_kept_command = None

# A test may replace these for itself, and geiger records it meanwhile.
_open = open
_Popen = subprocess.Popen


class _Options(ctypes.Structure):
    _fields_ = [
        ("interval_bytes", ctypes.c_uint64),
        ("directory", ctypes.c_char_p),
        ("seed", ctypes.c_uint64),
    ]


class _Counts(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in _COUNTS]


# --- files ---


def command():
    """The path of the geiger command: $GEIGER, that of this package, or the one in PATH."""
    if isinstance(_kept_command, FileNotFoundError):
        raise FileNotFoundError(*_kept_command.args)
    if _kept_command is not None:
        return _kept_command
    asked = os.environ.get("GEIGER")
    if asked:
        found = asked if "/" in asked else shutil.which(asked)
        if found is None:
            raise FileNotFoundError(f"geiger: $GEIGER is `{asked}`, which is not in PATH")
        return found
    own = os.path.join(_HERE, "_native", "geiger")
    found = own if os.access(own, os.X_OK) else shutil.which("geiger")
    if found is None:
        raise FileNotFoundError("geiger: the command `geiger` is not in PATH; $GEIGER may name it")
    return found


def keep_command():
    """Finds the command now: the program may change its environment and folder later."""
    global _kept_command
    try:
        _kept_command = os.path.abspath(command())
    except FileNotFoundError as error:  # command() raises it whenever somebody needs the command
        _kept_command = error


def environment():
    """The environment for the geiger command, which must not be profiled itself."""
    return {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}


def start_command(arguments, **streams):
    """Starts the geiger command, and returns the process."""
    return _Popen([command(), *arguments], env=environment(), **streams)


def run(*arguments):
    """Runs the geiger command, and returns what it prints."""
    with start_command(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        printed, errors = process.communicate()
    if process.returncode != 0:
        raise RuntimeError(errors.decode(errors="replace").strip() or f"geiger ended with {process.returncode}")
    return printed.decode(errors="replace")


def mapped_file(part):
    """The path of a library in this process whose name contains `part`, or None."""
    with _open("/proc/self/maps", errors="replace") as maps:
        for line in maps:
            path = line.rstrip("\n").split(maxsplit=5)
            if len(path) == 6 and part in path[5].rpartition("/")[2]:
                return path[5]
    return None


def _adapter_path():
    """The path of the adapter as the command knows it: two copies would record all twice."""
    found = mapped_file(_ADAPTER)
    if found is None:
        try:
            from geiger import _geiger  # noqa: F401  its loader knows where the library is
        except ImportError:
            pass
        found = mapped_file(_ADAPTER)
    for folder in (os.path.join(_HERE, "_native"), os.path.dirname(_HERE)):
        if found is None and os.path.exists(os.path.join(folder, _ADAPTER)):
            found = os.path.join(folder, _ADAPTER)
    if found is None:
        for line in run("env").splitlines():
            if line.startswith("GEIGER_PYTHON="):
                found = line.partition("=")[2]
    if found is None:
        raise FileNotFoundError(f"geiger: {_ADAPTER} is not beside geiger's agent")
    return found


# --- the library ---


def load(path=None):
    """The adapter, from `path` unless this process has it.  Hooks need the interpreter's lock."""
    global _loaded
    if _loaded is None:
        found = mapped_file(_ADAPTER) if path is not None else None
        library = ctypes.PyDLL(found or path or _adapter_path())
        library.gg_python_install.argtypes = [ctypes.c_bool]
        library.gg_python_install.restype = ctypes.c_char_p
        library.geiger_start.argtypes = [ctypes.POINTER(_Options)]
        library.geiger_snapshot.argtypes = [ctypes.c_char_p]
        library.geiger_set_interval.argtypes = [ctypes.c_uint64]
        library.geiger_thread_interval.argtypes = [ctypes.c_uint64]
        library.geiger_thread_interval.restype = None
        library.geiger_interval.restype = ctypes.c_uint64
        library.geiger_read_counts.argtypes = [ctypes.POINTER(_Counts)]
        library.geiger_read_counts.restype = None
        library.geiger_stop.restype = None
        library.gg_python_uninstall.restype = None
        _loaded = library
    return _loaded


def install(native=False):
    """Puts sampling in front of Python's allocators.  Returns the reason if that is impossible."""
    why = load().gg_python_install(native)
    load().geiger_thread_interval(0)  # applies the settings to this thread at once
    return None if why is None else why.decode(errors="replace")


def uninstall():
    """Takes it out of Python's allocators again, where nothing else is in front."""
    if _loaded is not None:
        _loaded.geiger_recording_to()  # this thread hears of the end
        _loaded.gg_python_uninstall()


def _check(status, path=None):
    if status < 0:
        raise OSError(-status, os.strerror(-status), path)


def _interval_bytes(value, least):
    """ctypes would take a larger number for what its lower 64 bits are."""
    size = operator.index(value)
    if not least <= size <= _INTERVAL_MOST:
        raise OSError(errno.EINVAL, f"geiger: an interval is from 1 to 2**48 bytes, and not {size}")
    return size


def start(interval=0, native=False):
    """Samples from now on, one in `interval` bytes on average; 0: the recorder's, or 512 KiB.

    Blocks that were allocated before are left alone.  Without a recorder, samples go to a file in
    $GEIGER_DIR, which snapshot() copies and `geiger salvage` reads; record() is simpler.  native:
    stacks have the interpreter's own frames, too.
    """
    options = _Options(interval_bytes=_interval_bytes(interval, 0))
    status = load().geiger_start(ctypes.byref(options))
    if status == -errno.ENODEV:
        text = "geiger: this process has an agent without a recording; record() begins another one"
        raise OSError(errno.ENODEV, text)
    _check(status)
    why = install(native)
    if why is not None:
        raise RuntimeError("geiger: " + why)


def stop():
    """No new samples; frees are still recorded."""
    load().geiger_stop()


def destination():
    """The destination of samples: "agent", "own" (a region of this process) or "nowhere"."""
    return _DESTINATIONS[load().geiger_recording_to()]


def interval():
    """The mean number of bytes between two samples."""
    return load().geiger_interval()


def set_interval(bytes):
    """Changes the mean number of bytes between two samples."""
    if operator.index(bytes) < 0:
        raise OverflowError("can't convert negative int to unsigned")
    _check(load().geiger_set_interval(_interval_bytes(bytes, 1)))
    load().geiger_thread_interval(0)


def counts():
    """The counters of this process, as a dict."""
    read = _Counts()
    load().geiger_read_counts(ctypes.byref(read))
    return {name: getattr(read, name) for name in _COUNTS}


def snapshot(path):
    """Writes what is live now, and all totals, to a new file, while recording goes on.

    path: a profile if it ends with ".geiger"; otherwise a region, of which `geiger salvage -o
    now.geiger` makes a profile.  Raises OSError if nothing is recorded, or if the file cannot be
    written.
    """
    name = os.fsdecode(path)
    if load().geiger_recording_to() == 0:
        raise OSError(errno.ENOENT, "geiger: nothing is recorded here, so there is no snapshot", name)
    if not name.endswith(".geiger"):
        _check(load().geiger_snapshot(os.fsencode(name)), name)
        return
    with tempfile.TemporaryDirectory(prefix="geiger-") as folder:
        region = os.path.join(folder, "snapshot.region")
        _check(load().geiger_snapshot(os.fsencode(region)), name)
        run("salvage", "--quiet", "-o", name, region)


def python_name():
    """Such as "CPython 3.11.2"."""
    name = sys.implementation.name
    return f"{'CPython' if name == 'cpython' else name} {sys.version.split()[0]}"
