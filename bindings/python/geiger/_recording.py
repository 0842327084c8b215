# SPDX-License-Identifier: Apache-2.0
"""record() - a recording of this process, which begins and ends while it runs.

A recorder (`geiger attach --from-inside`) runs beside this process.  It is no child of it, so that
os.wait() of the program does not meet it.  Only a process that adopts orphans, such as the first
one of a container, gets it as a child, and then stop() waits for it.  This process loads geiger's
agent itself, which needs no right to trace, and the adapter for Python.  At the end it takes the
agent's hooks out again, and the recorder writes the profile.
"""

import contextlib
import ctypes
import errno
import functools
import inspect
import os
import select
import threading
import time
import warnings

from geiger import _library

_REQUEST_BYTES = 4096
_RESULT_BYTES = 832
_REASON_AT, _REASON_BYTES = 576, 256
_BUSY_TRIES = 1000
_WAIT_MS = 1000

# A test may replace these for itself, and geiger records it meanwhile.
_open = open
_sleep = time.sleep

_lock = threading.RLock()
_current = None  # the recording of this process
_agent = None  # the agent, since the first recording


def _in_child():
    """A forked child belongs to the recording of its parent, and lets go of the pipes to it."""
    global _lock
    _lock = threading.RLock()
    if _current is not None:
        _current._close()


os.register_at_fork(after_in_child=_in_child)


class Recording:
    """A recording of this process into one profile: see record()."""

    def __init__(self, path, *, interval=None, native=False, symbols=True, options=()):
        self.path = os.fspath(path)
        self._arguments = ["attach", "--from-inside", "--quiet", "--output", os.path.abspath(self.path)]
        # The agent takes its settings from the recorder, not from the environment.
        for name, value, variable in (("interval", interval, "GEIGER_INTERVAL"), ("seed", None, "GEIGER_SEED")):
            value = value if value is not None else os.environ.get(variable)
            if value is not None:
                self._arguments += ["--" + name, str(value)]
        if not symbols:
            self._arguments.append("--no-symbols")
        self._arguments += options
        self._native = native
        self._pid = None  # of the process that started it
        self._recorder = None  # its pid
        self._calls = 0  # of decorated functions that run within it
        self._is_by_call = False  # such a call started it
        self._to = self._from = self._errors = None
        self._result = ctypes.create_string_buffer(_RESULT_BYTES)

    def __repr__(self):
        return f"<geiger.Recording {self.path!r}, {'recording' if self.is_recording else 'not recording'}>"

    @property
    def is_recording(self):
        """True between start() and stop(), also in forked children."""
        return _current is self

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, kind, error, trace):
        if error is None:
            self.stop()
            return
        # The exception of the program is more important than one of geiger's.
        try:
            self.stop()
        except Exception as own:
            warnings.warn(f"geiger: {self.path} is not complete: {own}", RuntimeWarning, stacklevel=2)

    # --- decorated functions ---

    def __call__(self, function):
        """Records each call of the function, with all calls that run at the same time."""
        if inspect.isasyncgenfunction(function):
            raise TypeError("geiger: an asynchronous generator cannot be decorated; record its consumer")
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def recorded(*arguments, **named):
                with self._call():
                    return await function(*arguments, **named)

        elif inspect.isgeneratorfunction(function):

            @functools.wraps(function)
            def recorded(*arguments, **named):
                with self._call():
                    return (yield from function(*arguments, **named))

        else:

            @functools.wraps(function)
            def recorded(*arguments, **named):
                with self._call():
                    return function(*arguments, **named)

        return recorded

    @contextlib.contextmanager
    def _call(self):
        """A call within another one, or beside it in another thread, is a part of its recording."""
        with _lock:
            if _current is not self:
                self.start()
                self._calls, self._is_by_call = 0, True
            self._calls += 1
        kind = error = None
        try:
            yield
        except BaseException as raised:
            kind, error = type(raised), raised
            raise
        finally:
            with _lock:
                self._calls -= 1
                # Somebody may have stopped it, or begun it with a `with` block.
                if self._calls == 0 and self._is_by_call and _current is self:
                    self._is_by_call = False
                    self.__exit__(kind, error, None)

    # --- beginning ---

    def start(self):
        """Begins to record.  Raises RuntimeError if this process is recorded already."""
        global _current
        with _lock:
            if _current is not None:
                raise RuntimeError(f"geiger: this process is recorded to {_current.path} already")
            self._refuse_others()
            # Before anything is sampled: the program's allocations are of interest, not these.
            self._is_by_call = False
            self._pid = os.getpid()
            try:
                self._open()
                self._attach()
                _current = self
            except BaseException:
                self._close()
                self._reap()
                raise

    def _refuse_others(self):
        found = _library.mapped_file("geiger-agent")
        if _agent is None and found is not None:
            raise RuntimeError(
                "geiger: this process has an agent of `geiger record`, `geiger env` or `geiger attach`; "
                "`geiger report --between` shows a part of such a recording"
            )
        if _library.mapped_file("libgeiger-python") is not None and _library.destination() == "own":
            raise RuntimeError("geiger: geiger.start() records this process already")

    def _open(self):
        """Starts the recorder, which waits for the attach."""
        self._recorder = None
        self._errors = os.memfd_create("geiger-errors")
        to_read, self._to = os.pipe()
        self._from, from_write = os.pipe()
        arguments = [*self._arguments, str(os.getpid())]
        try:
            # It forks, and its parent ends at once.
            with _library.start_command(arguments, stdin=to_read, stdout=from_write, stderr=self._errors):
                pass
        finally:
            os.close(to_read)
            os.close(from_write)

    def _attach(self):
        """Loads the agent and the adapter.  From the return on, both record."""
        global _agent
        self._recorder = int(self._line())
        agent, adapter = self._line(), self._line()
        request = self._read(_REQUEST_BYTES)
        if _agent is None:
            # Global, so that the adapter finds it.  libc comes first in every look-up of malloc.
            _agent = ctypes.CDLL(agent, mode=ctypes.RTLD_GLOBAL)
        # Before the attach: what this allocates is geiger's.
        if adapter:
            _library.load(adapter)
        status = 0
        try:
            status = _agent.geiger_agent_attach(request, self._result)
            self._write(self._result.raw)
            if status < 0:
                raise OSError(-status, self._reason())
            if adapter:
                self._install()
            if self._line() != "recording":
                raise self._failure()
        except BaseException:
            # Nobody else would: the recorder may have ended.
            if status >= 0:
                self._detach()
            raise

    def _install(self):
        why = _library.install(self._native)
        if why is not None:
            warnings.warn(f"geiger: no Python functions are shown: {why}", RuntimeWarning, stacklevel=5)

    # --- ending ---

    def stop(self):
        """Ends the recording, and returns when the profile is complete."""
        global _current
        with _lock:
            if _current is not self:
                raise RuntimeError("geiger: this recording is not running")
            _current = None
            try:
                is_detached = self._detach()
                # A child of a fork was a part of the recording, which goes on in its parent.
                if self._pid == os.getpid():
                    # The recorder may have seen the end of the last region, and be ready.
                    with contextlib.suppress(BrokenPipeError):
                        os.write(self._to, b"\n")
                    if self._line() != "written":
                        raise self._failure()
                if not is_detached:
                    raise RuntimeError(
                        f"geiger: {self.path} is complete, but another thread has taken a sample all the "
                        "time, so that the agent is still in this process"
                    )
            finally:
                self._close()
                self._reap()

    def _detach(self):
        """Returns False if the agent stays.  An exception, such as of Ctrl-C, waits meanwhile."""
        pending = None
        is_detached = False
        for _ in range(_BUSY_TRIES):
            try:
                # Another thread may be taking a sample.
                is_detached = _agent.geiger_agent_detach(self._result) != -errno.EBUSY
                if is_detached:
                    break
                _sleep(0.001)
            except BaseException as raised:
                pending = raised
        _library.uninstall()
        if pending is not None:
            raise pending
        return is_detached

    # --- the recorder ---

    def _failure(self):
        """Why the recorder has ended."""
        text = os.pread(self._errors, 1 << 16, 0).decode(errors="replace").strip()
        return RuntimeError(text or "geiger: the recorder has ended")

    def _reason(self):
        reason = self._result.raw[_REASON_AT : _REASON_AT + _REASON_BYTES].partition(b"\0")[0]
        return "geiger: " + (reason.decode(errors="replace") or "the agent cannot be attached")

    def _write(self, data):
        try:
            os.write(self._to, data)
        except BrokenPipeError:
            raise self._failure() from None

    def _wait(self):
        """Waits for the recorder to write, or to end.

        A child that another thread forked while the pipe was made may keep its other end open, so
        that the end of the recorder would not be seen.
        """
        poll = select.poll()
        poll.register(self._from, select.POLLIN)
        while not poll.poll(_WAIT_MS):
            # It may have written between the two.
            if self._recorder is not None and self._has_ended() and not poll.poll(0):
                raise self._failure()

    def _has_ended(self):
        return self._read_stat()[0] in "ZX"

    def _read_stat(self):
        """The state of the recorder and the pid of its parent: "X" and 0 if it is gone."""
        try:
            with _open(f"/proc/{self._recorder}/stat", errors="replace") as stat:
                state, parent = stat.read().rpartition(")")[2].split()[:2]
        except OSError:
            return "X", 0
        return state, int(parent)

    def _reap(self):
        """Leaves no zombie in a process that has adopted the recorder, which ends by now."""
        if self._recorder is None or self._pid != os.getpid() or self._read_stat()[1] != self._pid:
            return
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self._recorder, 0)

    def _read(self, length):
        data = b""
        while len(data) < length:
            self._wait()
            more = os.read(self._from, length - len(data))
            if not more:
                raise self._failure()
            data += more
        return data

    def _line(self):
        line = b""
        while not line.endswith(b"\n"):
            line += self._read(1)
        return os.fsdecode(line[:-1])

    def _close(self):
        for fd in (self._to, self._from, self._errors):
            if fd is not None:
                os.close(fd)
        self._to = self._from = self._errors = None


def record(path, *, interval=None, native=False, symbols=True):
    """Records this process from now on, and writes a profile:

        with geiger.record("work.geiger"):
            work()

    As a decorator it records each call of a function, and replaces the profile of the call before.
    Calls within that one, and calls of other threads or tasks meanwhile, are in the same profile.
    `recording = geiger.record(...)` with recording.start() and recording.stop() does the same in
    separate places.

    path: of the profile; one that exists is replaced.
    interval: mean bytes between two samples, such as "64k" or 65536 ($GEIGER_INTERVAL, or 512 KiB).
    native: stacks have the interpreter's own functions, too.
    symbols: look up the names of native functions at the end; `geiger symbolize` can do that later.

    All threads are recorded, and children that the process forks meanwhile.  Blocks that are older
    are in no report.  A process can have one recording at a time; under `geiger record` it has one.
    """
    return Recording(path, interval=interval, native=native, symbols=symbols)
