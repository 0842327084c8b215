# SPDX-License-Identifier: Apache-2.0
"""Records which functions allocate the memory of this Python program.

    python3 -m geiger script.py            record a whole program (python3 -m geiger --help)

    import geiger                          or a part of the program, from inside:
    geiger.start(interval=65536)
    ...
    geiger.snapshot("now.region")          what is live now; read it with `geiger salvage`

Python's allocators are sampled, with the Python functions that call them (docs/LANGUAGES.md).
"""

import sys


def _other_python():
    """The reason why this Python cannot have the adapter, or None.  Python 2.7 can run this."""
    name = getattr(getattr(sys, "implementation", None), "name", "cpython")
    if name == "cpython" and sys.version_info[:2] == (3, 11):
        return None
    return (
        "this module was built for CPython 3.11, and this is %s %s (%s). `geiger record python3 ...` "
        "shows the functions of CPython 3.8 to 3.13 without it."
        % ("CPython" if name == "cpython" else name, sys.version.split()[0], sys.executable)
    )


def _is_run_by_dash_m():
    """Does runpy import this package for `python3 -m geiger`?"""
    frame = sys._getframe(3)
    while frame is not None and "importlib" in frame.f_code.co_filename:
        frame = frame.f_back
    return frame is not None and frame.f_globals.get("__name__") == "runpy"


def _refuse_other_python():
    why = _other_python()
    if why is not None and _is_run_by_dash_m():
        sys.exit("python3 -m geiger: " + why)
    if why is not None:
        raise ImportError("geiger: " + why)


_refuse_other_python()

from geiger import _geiger  # noqa: E402

__all__ = ["counts", "destination", "interval", "set_interval", "snapshot", "start", "stop"]

counts = _geiger.counts  # what was counted, as a dict
interval = _geiger.interval  # mean bytes between two samples
destination = _geiger.destination  # of samples: "agent", "own" or "nowhere"
set_interval = _geiger.set_interval
snapshot = _geiger.snapshot  # writes what is recorded to a file
stop = _geiger.stop  # no new samples; frees are still recorded


def start(interval=0, native=False):
    """Samples from now on, one in `interval` bytes on average; 0: the recorder's, or 512 KiB.

    Blocks that were allocated before are left alone.  native: stacks have the interpreter's own
    frames, too.
    """
    _geiger.start(interval)
    _geiger.install(native)
