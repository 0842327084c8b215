# SPDX-License-Identifier: Apache-2.0
"""pytest --geiger: the memory of each test, and markers that limit it (docs/PYTHON_TOOLS.md).

Each test function gets a recording of its own: fixtures are not in it.  A marker fails a test only
if its limit is surely exceeded, since samples give each number with an interval.  A test that has a
limit also fails if it cannot be recorded or judged.
"""

import argparse
import gc
import hashlib
import importlib.util
import math
import os
import re
import shutil
import tempfile

# A test may replace functions of modules for itself, and geiger records and judges it meanwhile.
from json import loads
from os.path import exists, isdir

import pytest

from geiger import _arguments, _library, _recording

_UNITS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40, "P": 50}
_INTERVAL = "32k"
_SAMPLES = 2048  # of a limit: its error is some 4 %
_INTERVAL_LEAST = 512
_INTERVAL_MOST = 1 << 48  # of the command
_RISKS = (0.05, 0.01, 0.001, 0.0001)  # that a test fails which is within its limit
_RISK_LEAST = 1e-12
_LINES = 5
_NAME_LENGTH = 200  # of a file, before its digest
_ENDING = ".geiger"


def size_of(text):
    """The bytes of a limit such as "24 MB", "1.5 GiB" or 4096; a unit is a power of 1024."""
    if isinstance(text, int) and not isinstance(text, bool) and text > 0:
        return text
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGTP]?)(?:i?B)?\s*", str(text), re.IGNORECASE)
    if found is None or float(found[1]) == 0:
        raise ValueError(f"{text!r} is no amount of memory, such as '24 MB'")
    return int(float(found[1]) * (1 << _UNITS[found[2].upper()]))


def text_of(size):
    """Such as "24.6 MiB"."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(size) < 1000 or unit == "GiB":
            return f"{size:.0f} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return ""


def _count_text(count):
    """Such as "151 k", as reports print it."""
    for unit in ("", " k", " M", " G"):
        if count < 999.5 or unit == " G":
            return f"{count:.0f}" if unit == "" else f"{count:#.3g}".rstrip(".") + unit
        count /= 1000
    return ""


def _interval_text(estimate):
    if estimate["low"] == estimate["high"]:
        return f"{text_of(estimate['estimate'])} exactly"
    if text_of(estimate["low"]) == text_of(estimate["high"]):
        reach = max(estimate["high"] - estimate["estimate"], estimate["estimate"] - estimate["low"])
        return f"{text_of(estimate['estimate'])} ± {100 * reach / estimate['estimate']:.2g} %"
    return (
        f"{text_of(estimate['estimate'])} ({text_of(estimate['low'])} to {text_of(estimate['high'])})"
    )


# --- markers ---


def _check_threads(current_thread_only):
    if current_thread_only:
        raise ValueError("current_thread_only: geiger counts all threads")


def _limit_memory(limit, *, current_thread_only=False):
    _check_threads(current_thread_only)
    return size_of(limit), 0


def _limit_leaks(limit, warmups=0, *, filter_fn=None, current_thread_only=False):
    _check_threads(current_thread_only)
    if filter_fn is not None:
        raise ValueError("filter_fn: geiger has no filter")
    if not isinstance(warmups, int) or isinstance(warmups, bool) or warmups < 0:
        raise ValueError(f"{warmups!r} is no number of warmups")
    return size_of(limit), warmups


# The second name is that of the limit in pytest-memray.
_MARKERS = {
    "limit_memory": (_limit_memory, "memory_limit"),
    "limit_leaks": (_limit_leaks, "location_limit"),
}


def limits_of(item):
    """Returns a limit in bytes and a number of warmups for each marker, by its name."""
    limits = {}
    for name, (read, other_name) in _MARKERS.items():
        marker = item.get_closest_marker(name)
        if marker is None:
            continue
        named = dict(marker.kwargs)
        if other_name in named and "limit" not in named:
            named["limit"] = named.pop(other_name)
        try:
            limits[name] = read(*marker.args, **named)
        except (TypeError, ValueError) as error:
            text = str(error).replace(read.__name__, name)
            raise ValueError(f"the marker {name} of this test is wrong: {text}") from None
    return limits


# --- options ---


def _interval(text):
    try:
        in_range = 1 <= size_of(text) <= _INTERVAL_MOST
    except ValueError:
        in_range = False
    if not in_range:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size from 1 to 256 TiB, such as 64k")
    return text


def pytest_addoption(parser):
    group = parser.getgroup("geiger", "memory of tests, by geiger")
    group.addoption("--geiger", action="store_true", help="record the memory of each test")
    group.addoption(
        "--geiger-interval", type=_interval, metavar="SIZE", help=f"sampling interval ({_INTERVAL})"
    )
    group.addoption(
        "--geiger-output", type=_arguments.file_name, metavar="FOLDER", help="keep a profile of each test there"
    )
    group.addoption(
        "--geiger-tests",
        type=_arguments.whole_number,
        default=5,
        metavar="N",
        help="tests in the summary; 0: all (5)",
    )
    group.addoption(
        "--geiger-lines",
        type=_arguments.whole_number,
        default=_LINES,
        metavar="N",
        help=f"lines of each test ({_LINES})",
    )
    group.addoption("--geiger-native", action="store_true", help="show the interpreter's functions")
    group.addoption("--geiger-no-summary", action="store_true", help="print no summary at the end")
    names = ["--geiger-fail-on-increase"]
    # pytest-memray has an option of that name, without a value.
    if importlib.util.find_spec("pytest_memray") is None:
        names.append("--fail-on-increase")
    group.addoption(
        *names,
        dest="geiger_fail_on_increase",
        metavar="PROFILE",
        help="fail a test that allocates more than in this profile, or in that of the same test in "
        "this folder of --geiger-output",
    )
    parser.addini("geiger", "record the memory of each test", type="bool", default=False)


def pytest_configure(config):
    config.addinivalue_line(
        "markers", "limit_memory(limit): with --geiger, fail if the peak is surely above the limit"
    )
    config.addinivalue_line(
        "markers",
        "limit_leaks(limit, warmups=0): with --geiger, fail if what a stack allocated and did not "
        "free is surely above the limit",
    )
    before = config.option.geiger_fail_on_increase
    if before is not None:
        _check_before(before, config.option.geiger_output)
    if config.getoption("geiger") or config.getini("geiger") or before is not None:
        config.pluginmanager.register(Plugin(config), "geiger-recording")


def _check_before(before, output):
    """A comparison with nothing, or with what this session writes, would never fail a test."""
    option = f"--geiger-fail-on-increase {before}"
    folder = before if isdir(before) else os.path.dirname(os.path.abspath(before))
    if not exists(before):
        raise pytest.UsageError(f"{option}: there is no such profile or folder")
    if isdir(before) and not any(name.endswith(_ENDING) for name in os.listdir(before)):
        raise pytest.UsageError(f"{option}: the folder has no profiles of --geiger-output")
    if output is not None and os.path.realpath(output) == os.path.realpath(folder):
        raise pytest.UsageError(
            f"{option}: --geiger-output would replace these profiles; name another folder there"
        )


# --- one test ---


class Judgement:
    """Why a test fails, or None, and the lines to show for it."""

    def __init__(self, failure=None, lines=()):
        self.failure = failure
        self.lines = list(lines)


def _report(profile, *arguments):
    return loads(_library.run("report", "--json", *arguments, profile))


def _sureness(low_at, limit, confidence_of):
    """How sure it is that the limit is exceeded, as the least risk of _RISKS; None: not sure.

    low_at: the lower end of the interval at a confidence.  confidence_of: the confidence that an
    interval needs for a risk.
    """
    surest = None
    for risk in _RISKS:
        if low_at(confidence_of(risk)) <= limit:
            break
        surest = risk
    return surest


def _percent(risk):
    return f"{100 * (1 - risk):g} % sure"


def _lines_of(rows, number):
    lines = []
    for row in [row for row in rows if row["self"]["estimate"] > 0][:number]:
        place = os.path.basename(row["file"] or row["module"] or "?")
        where = f"{place}:{row['line']}" if row["line"] else place
        lines.append(f"{_interval_text(row['self']):32}  {row['function'] or '?'} ({where})")
    return lines


# --- the largest of many moments ---
#
# The peak is the largest of many estimates, and chance is a part of why it is the largest.  Let the
# live set stay at the limit while the test replaces it again and again; less than that is safer.
# The error of the estimate at a moment is a sum over the samples that are live then, so it has the
# same distribution at all moments.  Two moments are correlated as far as the same blocks are live.
#
# A turnover is the time in which as much error is allocated as is live.  If R(x) is the correlation
# over x turnovers, R is convex and R'(0) = -1, whatever the lifetimes are, so R(x) >= 1 - x.
# Equality holds if all blocks live equally long.  By Slepian's inequality that case has the largest
# maximum (D. Slepian, Bell System Technical Journal 41 (1962) 463).  For errors by the normal law,
# the maximum over one turnover in that case exceeds u standard errors with the probability
#
#     1 - F(u)^2 + u f(u) F(u) + f(u)^2
#
# where f and F are density and distribution of that law (L. A. Shepp, Annals of Mathematical
# Statistics 42 (1971) 946).  N turnovers exceed u at most N times as often.


def _above_in_a_turnover(u):
    density = math.exp(-u * u / 2) / math.sqrt(2 * math.pi)
    above = math.erfc(u / math.sqrt(2)) / 2
    return above * (2 - above) + u * density * (1 - above) + density * density


def confidence_at_peak(risk, turnovers):
    """The confidence of an interval of the largest estimate that misses the truth by that risk."""
    low, high = 0.0, 40.0
    for _ in range(60):
        u = (low + high) / 2
        if turnovers * _above_in_a_turnover(u) > risk:
            low = u
        else:
            high = u
    # Intervals leave out as much at either end.
    return 1 - max(math.erfc(high / math.sqrt(2)), _RISK_LEAST)


def turnovers_of(totals, peak, limit):
    """How often the test replaced its live set, at least 1.

    Large blocks are known without error, and count neither as replaced nor as live.
    """
    live_error = peak["estimate"] - peak["low"]
    if live_error <= 0:
        return 1
    allocated = totals["allocated_bytes"]
    # The error grows like the root of bytes.  At a limit that is kept, it is smaller than it seems.
    ratio = ((allocated["estimate"] - allocated["low"]) / live_error) ** 2
    return max(ratio * max(peak["estimate"] / limit, 1), 1)


def judge_peak(profile, limit, number):
    report = _report(profile, "--metric", "peak", "--by", "line", "--limit", str(number))
    totals = report["totals"]
    peak = totals["peak_bytes"] or totals["live_bytes"]

    def low_at(confidence):
        again = _report(profile, "--metric", "peak", "--limit", "1", "--confidence", repr(confidence))
        return (again["totals"]["peak_bytes"] or again["totals"]["live_bytes"])["low"]

    # Most tests are far below their limit.
    surest = None
    if peak["estimate"] > limit:
        turnovers = turnovers_of(totals, peak, limit)
        surest = _sureness(low_at, limit, lambda risk: confidence_at_peak(risk, turnovers))
    if surest is None:
        return Judgement()
    return Judgement(
        f"the test was limited to {text_of(limit)}, but its peak is {_interval_text(peak)}: "
        f"{_percent(surest)}",
        _lines_of(report["rows"], number),
    )


def _stack_lines(row):
    return [
        f"    {frame['function'] or '?'} ({os.path.basename(frame['file'] or frame['module'] or '?')}"
        + (f":{frame['line']})" if frame["line"] else ")")
        for frame in row["stack"]
    ]


def judge_leaks(profile, limit, number):
    arguments = ("--metric", "live", "--by", "stack", "--limit", "0")
    report = _report(profile, *arguments)
    above = [row for row in report["rows"] if row["self"]["estimate"] > limit]
    if not above:
        return Judgement()
    places = max(report["row_count"], 1)
    surest = None
    for risk in _RISKS:
        confidence = repr(1 - max(risk / places, _RISK_LEAST))
        rows = _report(profile, *arguments, "--confidence", confidence)["rows"]
        sure = [row for row in rows if row["self"]["low"] > limit]
        if not sure:
            break
        surest, leaks = risk, sure
    if surest is None:
        return Judgement()
    lines = []
    for row in leaks[:number]:
        lines += [_interval_text(row["self"]), *_stack_lines(row)[:_LINES]]
    return Judgement(
        f"each place was limited to {text_of(limit)}, but {len(leaks)} kept more after the test: "
        f"{_percent(surest)}",
        lines,
    )


def judge_increase(profile, before, shown, tests):
    """By `geiger diff`: at most 5 % of sessions in which nothing changed fail a test.

    shown: the path of `before` in messages.
    """
    rate = max(_RISKS[0] / max(tests, 1), _RISK_LEAST)
    diff = loads(
        _library.run("diff", "--json", "--metric", "allocated", "--rate", repr(rate), before, profile)
    )
    grown = [row for row in diff["rows"] if row["difference"]["estimate"] > 0]
    if not grown:
        return Judgement()
    return Judgement(
        f"the test allocates more than in {shown}: {_percent(_RISKS[0])} in a session of "
        f"{tests} tests",
        [
            f"+{_interval_text(row['difference']):32}  {row['label']}, p = {row['p_value']:.2g}"
            for row in grown[:_LINES]
        ],
    )


# --- tests that are expected to fail ---


_STRICT = "[XPASS(strict)] "


def _is_expected_to_fail(item):
    """Whether an exceeded limit is what xfail expects, rather than some exception."""
    return not any(mark.kwargs.get("raises") for mark in item.iter_markers("xfail"))


def _passed_unexpectedly(item, report):
    """Whether a test failed only because xfail(strict=True) expects a failure of it."""
    return str(report.longrepr).startswith(_STRICT) and _is_expected_to_fail(item)


def _fail(item, report, text):
    """Makes a test fail that passed, or that passed although xfail expects a failure."""
    report.outcome = "failed"
    if str(report.longrepr).startswith(_STRICT):
        report.wasxfail = report.longrepr[len(_STRICT) :]
    report.longrepr = text
    if hasattr(report, "wasxfail"):
        if _is_expected_to_fail(item):
            report.outcome = "skipped"  # as pytest has it
        else:
            del report.wasxfail


# --- the session ---


class Plugin:
    """Records test functions, and judges them."""

    def __init__(self, config):
        self._config = config
        self._interval = config.option.geiger_interval
        self._is_temporary = config.option.geiger_output is None
        # Tests may change the current folder.
        if self._is_temporary:
            self._folder = tempfile.mkdtemp(prefix="geiger-pytest-")
        else:
            self._folder = os.path.abspath(config.option.geiger_output)
        before = config.option.geiger_fail_on_increase
        self._before = os.path.abspath(before) if before is not None else None
        self._results = {}
        self._tests = 1
        self._around = None  # why this process cannot record itself
        if _library.mapped_file("geiger-agent") is not None:
            self._around = "this process has an agent of `geiger record`, `geiger env` or `geiger attach`"
        try:
            os.makedirs(self._folder, exist_ok=True)
        except OSError as error:
            raise pytest.UsageError(f"--geiger-output {self._folder}: {error.strerror}") from None
        _library.keep_command()

    def pytest_collection_finish(self, session):
        self._tests = len(session.items)

    def pytest_unconfigure(self):
        if self._is_temporary:
            shutil.rmtree(self._folder, ignore_errors=True)

    @staticmethod
    def _file_of(nodeid):
        """Different tests have different files, also where the readable part is equal."""
        digest = hashlib.sha256(nodeid.encode(errors="surrogatepass")).hexdigest()[:12]
        readable = re.sub(r"[^\w.\[\]-]+", "-", nodeid, flags=re.ASCII)[-_NAME_LENGTH:]
        return f"{readable}-{digest}{_ENDING}"

    def _interval_of(self, limits):
        """Such that a limit is decided within some per cent of it."""
        if self._interval is not None:
            return self._interval
        least = min((limit for limit, _ in limits.values()), default=1 << 40) // _SAMPLES
        return max(min(least, 32 << 10), _INTERVAL_LEAST)

    # The innermost wrapper: methods of unittest have no pytest_pyfunc_call().
    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_runtest_call(self, item):
        if not isinstance(item, pytest.Function):
            yield
            return
        limits, mistake = {}, None
        try:
            limits = limits_of(item)
        except ValueError as error:
            mistake = str(error)
        if mistake is not None:
            pytest.fail(mistake, pytrace=False)
        if self._around is not None:
            item.geiger_error = self._around
            yield
            return
        has_leaks = "limit_leaks" in limits
        for _ in range(limits["limit_leaks"][1] if has_leaks else 0):
            item.runtest()
        path = os.path.join(self._folder, self._file_of(item.nodeid))
        recording = _recording.record(
            path,
            interval=self._interval_of(limits),
            native=self._config.option.geiger_native,
            symbols=not self._is_temporary,
        )
        if has_leaks:
            gc.collect()  # what the tests before left is not this one's
        try:
            recording.start()
        except (OSError, RuntimeError) as error:
            item.geiger_error = str(error)
            yield
            return
        try:
            yield
        finally:
            if has_leaks:
                gc.collect()  # cycles are no leaks
            try:
                recording.stop()
                item.geiger_path = path
            except (OSError, RuntimeError) as error:
                item.geiger_error = str(error)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item, call):
        outcome = yield
        if call.when != "call":
            return
        report = outcome.get_result()
        # A test that is run again has a recording of its own.
        path = item.__dict__.pop("geiger_path", None)
        error = item.__dict__.pop("geiger_error", None)
        if path is not None:
            try:
                report.geiger = self._result_of(path)
                if report.outcome == "passed" or _passed_unexpectedly(item, report):
                    self._judge_all(item, path, report)
            except Exception as wrong:  # whatever it is, pytest must not end by it
                error = str(wrong) or type(wrong).__name__
            if self._is_temporary and exists(path):
                os.unlink(path)
        if error is not None:
            report.geiger = {"error": error}
            # A limit that nothing can exceed would be none.
            if report.outcome == "passed" and self._around is None and self._is_limited(item):
                report.outcome = "failed"
                report.longrepr = f"the memory of this test is limited, but is not known: {error}"

    def _before_of(self, item):
        """The stored profile that a test is compared with, or None."""
        before = self._before
        if before is not None and isdir(before):
            before = os.path.join(before, self._file_of(item.nodeid))
        return before if before is not None and exists(before) else None

    def _is_limited(self, item):
        return bool(limits_of(item)) or self._before_of(item) is not None

    def _judge_all(self, item, path, report):
        for judgement in self._judge(item, path):
            if judgement.failure is not None:
                lines = ["  " + line for line in judgement.lines]
                _fail(item, report, "\n".join([judgement.failure, *lines]))
                return
        if self._config.option.geiger_fail_on_increase is not None:
            report.geiger["is_new"] = self._before_of(item) is None

    def _judge(self, item, path):
        number = self._config.option.geiger_lines
        limits = limits_of(item)
        for name, judge in (("limit_memory", judge_peak), ("limit_leaks", judge_leaks)):
            if name in limits:
                yield judge(path, limits[name][0], number)
        before = self._before_of(item)
        if before is not None:
            shown = os.path.relpath(before, self._config.invocation_params.dir)
            yield judge_increase(path, before, shown, self._tests)

    def _result_of(self, path):
        """Returns facts for the summary, in types that workers of pytest-xdist can send."""
        number = self._config.option.geiger_lines
        report = _report(path, "--metric", "peak", "--by", "line", "--limit", str(max(number, 1)))
        totals = report["totals"]
        return {
            "peak": totals["peak_bytes"] or totals["live_bytes"],
            "left": totals["live_bytes"],
            "allocations": totals["allocated_count"],
            "samples": report["samples"],
            "lines": _lines_of(report["rows"], number),
        }

    # --- the summary; with pytest-xdist, in the process that has the terminal ---

    def pytest_runtest_logreport(self, report):
        result = getattr(report, "geiger", None)
        if report.when == "call" and result is not None:
            self._results[report.nodeid] = result

    def pytest_terminal_summary(self, terminalreporter):
        write = terminalreporter.write_line
        done = {name: result for name, result in self._results.items() if "error" not in result}
        failed = {result["error"] for result in self._results.values() if "error" in result}
        new_count = sum(result.get("is_new", False) for result in done.values())
        if not self._config.option.geiger_no_summary and self._results:
            terminalreporter.write_sep("=", "geiger: memory of tests")
            self._write_tests(write, done)
        # Without a summary, too: less was judged than the options say.
        if failed:
            number = len(self._results) - len(done)
            write(f"geiger: {number} tests were not recorded: {sorted(failed)[0]}")
        if new_count:
            write(f"geiger: {new_count} tests have no stored profile to compare with")

    def _write_tests(self, write, done):
        order = sorted(done, key=lambda name: -done[name]["peak"]["estimate"])
        number = self._config.option.geiger_tests or len(order)
        for name in order[:number]:
            result = done[name]
            allocations = result["allocations"]["estimate"]
            write(f"{name}")
            write(
                f"  peak {_interval_text(result['peak'])}, left {_interval_text(result['left'])}, "
                f"{_count_text(allocations)} allocations"
            )
            for line in result["lines"]:
                write("    " + line)
        if len(order) > number:
            write(f"{len(order) - number} more tests, each with a smaller peak")
        if not self._is_temporary:
            write(f"profiles: {self._config.option.geiger_output}")
