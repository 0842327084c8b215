# SPDX-License-Identifier: Apache-2.0
"""Records which functions allocate the memory of this Python program.

    python3 -m geiger script.py               record a whole program (python3 -m geiger --help)

    import geiger                             or a part of the program, from inside:
    with geiger.record("work.geiger"):
        work()

`geiger report work.geiger` shows the result.  docs/PYTHON_TOOLS.md has the rest: the plugin for
pytest, and the magic for IPython and Jupyter (%load_ext geiger).
"""

import sys

# Python 2.7 can read this file.
if sys.version_info < (3, 8):
    raise ImportError("geiger: this package is for Python 3.8 or later, and this is %s" % sys.version.split()[0])

__all__ = [
    "Recording",
    "counts",
    "destination",
    "interval",
    "record",
    "set_interval",
    "snapshot",
    "start",
    "stop",
    "watch_collections",
]

_LATER = {
    "Recording": "_recording",
    "counts": "_library",
    "destination": "_library",
    "interval": "_library",
    "load_ipython_extension": "_magic",
    "record": "_recording",
    "set_interval": "_library",
    "snapshot": "_library",
    "start": "_library",
    "stop": "_library",
    "watch_collections": "_collections",
}


def __getattr__(name):
    """Imports a function at its first use: `python3 -m geiger` needs none of these imports."""
    if name not in _LATER:
        raise AttributeError("module 'geiger' has no attribute %r" % name)
    from importlib import import_module

    value = getattr(import_module("geiger." + _LATER[name]), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted(set(globals()) | set(__all__))
