# SPDX-License-Identifier: Apache-2.0
"""Who allocates this Python program's memory, and who still holds it.

    python3 -m geiger script.py            record a whole program (python3 -m geiger --help)

    import geiger                          or a part of one, from inside:
    geiger.start(interval=65536)
    ...
    geiger.snapshot("now.region")          what is live now; read it with `geiger salvage`

Python's allocators are sampled, with the Python functions that call them (docs/PYTHON.md).
"""

from geiger import _geiger

__all__ = ["counts", "interval", "place", "set_interval", "snapshot", "start", "stop"]

counts = _geiger.counts  # what was counted, as a dict
interval = _geiger.interval  # mean bytes between two samples
place = _geiger.place  # where samples go: "agent", "own" or "nowhere"
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
