# SPDX-License-Identifier: Apache-2.0
"""recordings.py FOLDER [TEST...] - geiger.record() in an ordinary Python: functions are tests."""

import asyncio
import ctypes
import inspect
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
import traceback
import warnings

import geiger
from geiger import _recording

FOLDER = os.path.abspath(sys.argv[1])
COUNT, BYTES = 400, 3000


def path(name):
    return os.path.join(FOLDER, name + ".geiger")


def ask(*arguments):
    return subprocess.run([os.environ["GEIGER"], *arguments], stdout=subprocess.PIPE, check=True).stdout.decode()


def live(name, function, metric="live", what="self"):
    """Live bytes by the profile below a function; at an interval of 1 they are exact."""
    report = json.loads(ask("report", path(name), "--json", "-m", metric, "--focus", "^%s$" % function))
    if what == "total":
        return report["selected_bytes"]["estimate"]
    return sum(row[what]["estimate"] for row in report["rows"])


def equal(a, b):
    assert a == b, f"{a!r} is not {b!r}"


def raises(kind, call, text):
    try:
        call()
    except kind as error:
        assert text in str(error), str(error)
        return
    raise AssertionError(f"no {kind.__name__}")


def hold_before():
    return [bytes(BYTES) for _ in range(COUNT)]


def hold_within():
    return [bytes(BYTES) for _ in range(COUNT)]


def hold_again():
    return [bytes(BYTES) for _ in range(COUNT)]


def hold_in_thread(into, may_begin):
    may_begin.wait()
    into.append([bytes(BYTES) for _ in range(COUNT)])


def hold_in_child():
    return [bytes(BYTES) for _ in range(COUNT)]


HELD_BYTES = COUNT * sys.getsizeof(bytes(BYTES))


def held_bytes(kept):
    """The blocks and the items of the list that holds them; its header is another block."""
    return HELD_BYTES + (sys.getsizeof(kept) - sys.getsizeof([]))


def near(value, kept):
    """Exact, but for the list's own object, and a frame that older releases keep."""
    assert HELD_BYTES <= value <= held_bytes(kept) + 512, f"{value} is not {held_bytes(kept)}"


def exactly_what_is_allocated_within_is_recorded():
    before = hold_before()
    with geiger.record(path("within"), interval=1) as recording:
        kept = hold_within()
        del before
        assert recording.is_recording
    assert not recording.is_recording
    near(live("within", "hold_within"), kept)
    equal(live("within", "hold_before"), 0)


def a_second_recording_has_only_what_is_its_own():
    with geiger.record(path("first"), interval=1):
        first = hold_within()
    between = hold_before()
    with geiger.record(path("second"), interval=1):
        del first, between
        second = hold_again()
    near(live("second", "hold_again"), second)
    equal(live("second", "hold_within"), 0)
    equal(live("second", "hold_before"), 0)
    text = ask("report", path("second"))
    assert "damaged" not in text and "left out" not in text, text


def types_and_heaps_of_a_second_recording_are_right():
    class Other:
        pass

    with geiger.record(path("first"), interval=1):
        sets = [{i} for i in range(100)]
    with geiger.record(path("second"), interval=1):
        held = [Other() for _ in range(1000)]
    text = ask("report", path("second"), "-m", "live", "--by", "type", "--no-head")
    assert "Other" in text, text
    assert not any(line.endswith(" set") for line in text.splitlines()), text
    del sets, held
    assert "python.obj" in ask("report", path("second"), "-m", "live", "--by", "heap")


def a_recording_within_a_recording_is_refused():
    with geiger.record(path("outer"), interval=1):
        raises(RuntimeError, geiger.record(path("inner")).start, "recorded to")
        kept = hold_within()
    near(live("outer", "hold_within"), kept)
    assert not os.path.exists(path("inner"))


def an_exception_leaves_a_complete_profile():
    kept = []

    def fail():
        with geiger.record(path("failed"), interval=1):
            kept.append(hold_within())
            raise KeyError("of the program")

    raises(KeyError, fail, "of the program")
    near(live("failed", "hold_within"), kept[0])


def all_threads_are_recorded():
    """Two that began before the recording, and one that begins within."""
    kept, begin = [], threading.Event()
    threads = [threading.Thread(target=hold_in_thread, args=(kept, begin)) for _ in range(2)]
    for thread in threads:
        thread.start()
    with geiger.record(path("threads"), interval=1):
        begin.set()
        threads.append(threading.Thread(target=hold_in_thread, args=(kept, begin)))
        threads[2].start()
        for thread in threads:
            thread.join()
    value = live("threads", "hold_in_thread")
    # A thread may miss its first 4 KiB if it allocated between two recordings.
    assert 3 * HELD_BYTES - 2 * 4096 <= value <= 3 * (held_bytes(kept[0]) + 512), value


def a_forked_child_is_a_part_of_the_recording():
    with geiger.record(path("forked"), interval=1):
        child = os.fork()
        if child == 0:
            kept = hold_in_child()
            os._exit(len(kept) != COUNT)
        equal(os.waitpid(child, 0)[1], 0)
    near(live("forked", "hold_in_child", "left"), [None] * COUNT)


def a_child_may_leave_the_block_before_its_parent():
    with geiger.record(path("left"), interval=1) as recording:
        child = os.fork()
        if child == 0:
            try:
                recording.stop()
                hold_in_child()
                os._exit(recording.is_recording)
            finally:
                os._exit(7)
        equal(os.waitpid(child, 0)[1], 0)
        kept = hold_within()
    near(live("left", "hold_within"), kept)
    equal(live("left", "hold_in_child"), 0)


def the_program_has_no_child_that_it_does_not_know():
    with geiger.record(path("children")):
        raises(ChildProcessError, os.wait, "")


def a_snapshot_is_a_profile_of_what_is_live():
    with geiger.record(path("whole"), interval=1):
        kept = hold_within()
        geiger.snapshot(path("moment"))
        later = hold_again()
    near(live("moment", "hold_within"), kept)
    equal(live("moment", "hold_again"), 0)
    near(live("whole", "hold_again"), later)
    raises(OSError, lambda: geiger.snapshot(path("nothing")), "nothing is recorded here")


def a_function_can_be_decorated():
    @geiger.record(path("decorated"), interval=1)
    def work():
        return hold_within()

    work()
    kept = work()
    near(live("decorated", "hold_within"), kept)


def calls_within_a_decorated_call_are_a_part_of_it():
    """Those of a recursion, and of a thread that goes on for longer."""
    begun, may_end = threading.Event(), threading.Event()
    kept = []

    @geiger.record(path("calls"), interval=1)
    def work(depth):
        if depth > 0:
            return work(depth - 1)
        kept.append(hold_within())
        begun.set()
        if threading.current_thread() is not threading.main_thread():
            may_end.wait()

    thread = threading.Thread(target=work, args=(0,))
    thread.start()
    begun.wait()
    work(3)
    equal(geiger.destination(), "agent")
    may_end.set()
    thread.join()
    equal(geiger.destination(), "nowhere")
    value = live("calls", "hold_within")
    assert 2 * HELD_BYTES <= value <= 2 * (held_bytes(kept[0]) + 512), value


def coroutines_and_generators_are_recorded_to_their_end():
    @geiger.record(path("coroutine"), interval=1)
    async def wait():
        await asyncio.sleep(0)
        return hold_within()

    @geiger.record(path("generator"), interval=1)
    def generate():
        yield 1
        return hold_within()

    def consume():
        return (yield from generate())

    assert inspect.iscoroutinefunction(wait) and inspect.isgeneratorfunction(generate)
    kept = asyncio.run(wait())
    near(live("coroutine", "hold_within"), kept)
    consumer = consume()
    equal(next(consumer), 1)
    try:
        next(consumer)
    except StopIteration as end:
        near(live("generator", "hold_within"), end.value)
    equal(geiger.destination(), "nowhere")

    async def generate_later():
        yield 1

    raises(TypeError, lambda: geiger.record(path("later"))(generate_later), "asynchronous generator")


class AgentBetween:
    """Runs something after each call of the agent, which may replace its result."""

    def __init__(self, attached=None, detach=None):
        self._real, self._attached, self._detach = _recording._agent, attached, detach

    def __enter__(self):
        _recording._agent = self

    def __exit__(self, *ignored):
        _recording._agent = self._real

    def geiger_agent_attach(self, *arguments):
        status = self._real.geiger_agent_attach(*arguments)
        if self._attached is not None:
            self._attached()
        return status

    def geiger_agent_detach(self, *arguments):
        status = self._detach() if self._detach is not None else 0
        return status or self._real.geiger_agent_detach(*arguments)


def records_again(name):
    equal(geiger.destination(), "nowhere")
    with geiger.record(path(name), interval=1):
        kept = hold_again()
    near(live(name, "hold_again"), kept)


def a_recorder_that_ends_during_the_attach_leaves_no_agent():
    with geiger.record(path("before_early")):
        recording = geiger.record(path("early"))

    def kill():
        os.kill(recording._recorder, signal.SIGKILL)
        while not recording._has_ended():
            time.sleep(0.001)

    with AgentBetween(attached=kill):
        raises(RuntimeError, recording.start, "recorder")
    records_again("after_early")


def an_interrupt_waits_until_the_agent_is_out():
    busy = [-16, -16, -16]  # EBUSY
    recording = geiger.record(path("interrupted"), interval=1)
    recording.start()

    def interrupt():
        if len(busy) == 2:
            busy.clear()
            raise KeyboardInterrupt("of the user")
        return busy.pop() if busy else 0

    with AgentBetween(detach=interrupt):
        raises(KeyboardInterrupt, recording.stop, "of the user")
    records_again("after_interrupted")


def an_agent_that_stays_is_an_error():
    tries, _recording._BUSY_TRIES = _recording._BUSY_TRIES, 3
    recording = geiger.record(path("busy"), interval=1)
    recording.start()
    with AgentBetween(detach=lambda: -16):
        raises(RuntimeError, recording.stop, "still in this process")
    _recording._BUSY_TRIES = tries
    equal(_recording._agent.geiger_agent_detach(recording._result), 0)
    records_again("after_busy")


def what_a_recorder_wrote_before_its_end_counts():
    """The time of a poll runs out, then the recorder writes and ends, then the process looks."""
    to_read, to_write = os.pipe()
    recording = geiger.record(path("late"))
    recording._from, recording._recorder = to_read, 1 << 30
    real = select.poll

    class Late:
        def __init__(self):
            self._poll, self._count = real(), 0
            self.register = self._poll.register

        def poll(self, timeout):
            self._count += 1
            if self._count == 1:
                os.write(to_write, b"written\n")
                return []
            return self._poll.poll(timeout)

    select.poll = Late
    try:
        equal(recording._line(), "written")
    finally:
        select.poll = real
        os.close(to_write)
        recording._close()


def a_process_that_adopts_orphans_keeps_no_recorder():
    set_child_subreaper = 36
    libc = ctypes.CDLL(None)
    equal(libc.prctl(set_child_subreaper, 1, 0, 0, 0), 0)
    try:
        with geiger.record(path("adopted"), interval=1):
            kept = hold_within()
        raises(ChildProcessError, lambda: os.waitpid(-1, os.WNOHANG), "")
        with AgentBetween(attached=lambda: os.kill(recorder_pids(path("orphan"))[0], signal.SIGKILL)):
            raises(RuntimeError, geiger.record(path("orphan")).start, "recorder")
        raises(ChildProcessError, lambda: os.waitpid(-1, os.WNOHANG), "")
    finally:
        libc.prctl(set_child_subreaper, 0, 0, 0, 0)
    near(live("adopted", "hold_within"), kept)


def a_recorder_that_cannot_fork_is_an_error():
    """Not a recorder and a program that wait for each other."""
    real = os.environ["GEIGER"]
    script = os.path.join(FOLDER, "cannot-fork")
    with open(script, "w") as file:
        file.write(f"#!/bin/sh\nLD_PRELOAD={os.environ['NO_FORK']} exec {real} \"$@\"\n")
    os.chmod(script, 0o755)
    os.environ["GEIGER"] = script
    signal.alarm(60)
    try:
        raises(RuntimeError, geiger.record(path("unforked")).start, os.strerror(11))
    finally:
        signal.alarm(0)
        os.environ["GEIGER"] = real


def a_file_that_cannot_be_written_is_an_error_before_the_block():
    recording = geiger.record(os.path.join(FOLDER, "missing", "x.geiger"))
    raises(RuntimeError, recording.start, "missing")
    assert not recording.is_recording
    equal(geiger.destination(), "nowhere")


def a_bad_interval_is_an_error_before_the_block():
    raises(RuntimeError, geiger.record(path("bad"), interval="many").start, "many")


def mistakes_in_start_are_told():
    """In a process of its own: the agent of a recording stays, and start() would go there."""
    program = (
        "import geiger, sys\n"
        "for mistake in (1 << 64) + 65536, -1, '64k', 1.5:\n"
        "    for call in geiger.start, geiger.set_interval:\n"
        "        try: call(mistake)\n"
        "        except (OSError, TypeError, OverflowError): continue\n"
        "        sys.exit(f'{call} takes {mistake}')\n"
        "with geiger.record(sys.argv[1]): pass\n"
        "try: geiger.start()\n"
        "except OSError as error: print(error)\n"
    )
    command = [sys.executable, "-c", program, path("after")]
    text = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout.decode()
    assert "an agent without a recording" in text, text


def only_a_running_recording_can_be_stopped():
    raises(RuntimeError, geiger.record(path("never")).stop, "not running")


def recorder_pids(word):
    """The recorders with that word on their command lines."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
        except OSError:
            continue
        if b"--from-inside" in words and word.encode() in words:
            found.append(int(pid))
    return found


def a_recorder_that_is_killed_is_an_error_and_the_program_goes_on():
    recording = geiger.record(path("killed"), interval=1)
    recording.start()
    (pid,) = recorder_pids(path("killed"))
    os.kill(pid, signal.SIGKILL)
    hold_within()
    raises(RuntimeError, recording.stop, "recorder")
    with geiger.record(path("after"), interval=1):
        kept = hold_again()
    near(live("after", "hold_again"), kept)


def what_the_program_raises_is_more_important_than_what_geiger_says():
    def fail():
        with geiger.record(path("both")):
            os.kill(recorder_pids(path("both"))[0], signal.SIGKILL)
            raise KeyError("of the program")

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        raises(KeyError, fail, "of the program")
    assert any("not complete" in str(one.message) for one in caught), caught


def a_program_that_ends_within_leaves_a_profile():
    program = (
        "import geiger, os, sys\n"
        "geiger.record(sys.argv[1], interval=1).start()\n"
        "kept = [bytes(3000) for _ in range(400)]\n"
        "os._exit(3)\n"
    )
    equal(subprocess.run([sys.executable, "-c", program, path("ended")], check=False).returncode, 3)
    # The recorder is nobody's child: a profile that can be read is whole.
    while recorder_pids(path("ended")):
        time.sleep(0.05)
    assert "<module>" in ask("report", path("ended"), "-m", "left")


def a_recorded_program_says_that_it_is_recorded():
    program = (
        "import geiger, sys\n"
        "try: geiger.record(sys.argv[1]).start()\n"
        "except RuntimeError as error: print(error)\n"
    )
    command = [os.environ["GEIGER"], "record", "--quiet", "-o", path("around"), sys.executable, "-c", program, path("in")]
    text = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout.decode()
    assert "--between" in text, text


def a_program_that_another_process_attached_to_says_so():
    program = (
        "import geiger, os, subprocess, sys\n"
        "pid = str(os.getpid())\n"
        "if subprocess.run([os.environ['GEIGER'], 'attach', '--quiet', pid]).returncode: sys.exit(77)\n"
        "for _ in range(2):\n"
        "    try: geiger.record(sys.argv[1]).start()\n"
        "    except RuntimeError as error: print(error)\n"
        "    subprocess.run([os.environ['GEIGER'], 'detach', '--quiet', pid])\n"
    )
    command = [sys.executable, "-c", program, path("twice")]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    if done.returncode == 77:
        print("skipped: no right to trace")
        return
    text = done.stdout.decode()
    assert text.count("this process has an agent") == 2, text


def hold_small(count):
    return [(i, str(i)) for i in range(count)]


def hooks_that_tracemalloc_removes_come_back():
    """It restores what it found: here that is Python without geiger's hooks."""
    import tracemalloc

    tracemalloc.start()
    with geiger.record(path("traced"), interval=2048):
        tracemalloc.stop()
        kept = hold_small(100000)
    value = live("traced", "hold_small")
    del kept
    # A tuple and a text have 56 to 64 and 54 bytes; what is before the next arena is lost.  Some
    # 5400 samples have a standard deviation of 1.4 %.
    assert 9e6 < value < 15e6, value
    with geiger.record(path("traced"), interval=2048):
        tracemalloc.start()
        kept = hold_small(50000)
        tracemalloc.stop()
        kept += hold_small(50000)
    value = live("traced", "hold_small")
    assert 9e6 < value < 15e6, value


def arrays_of_numpy_have_the_python_functions_that_made_them():
    try:
        import numpy
    except ImportError:
        print("skipped: no numpy")
        return

    def make_arrays(count):
        return [numpy.ones(10000) for _ in range(count)]

    with geiger.record(path("arrays"), interval=1):
        kept = make_arrays(50)
    value = live("arrays", ".*make_arrays.*", "live", "total")
    assert 50 * 80000 <= value <= 50 * 80000 + 32768, value
    del kept


def main():
    failed = 0
    for name, test in list(globals().items()):
        if not callable(test) or name.count("_") < 3 or getattr(test, "__module__", None) != "__main__":
            continue
        if len(sys.argv) > 2 and name not in sys.argv[2:]:
            continue
        try:
            test()
            print("ok -", name)
        except BaseException as error:
            traceback.print_exc(file=sys.stdout)
            print("not ok -", name, error)
            failed += 1
    sys.exit(failed > 0)


main()
