# SPDX-License-Identifier: Apache-2.0
"""pytest --geiger: the memory of each test, and markers that limit it (docs/PYTHON_TOOLS.md).

Each test function gets a recording of its own: fixtures are not in it.  A marker fails a test only
if its limit is surely exceeded, since samples give each number with an interval.
"""

import gc
import importlib.util
import json
import os
import re
import shutil
import tempfile

import pytest

from geiger import _library

_UNITS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40, "P": 50}
_INTERVAL = "32k"
_SAMPLES = 2048  # of a limit: its error is some 4 %
_INTERVAL_LEAST = 512
_RISKS = (0.05, 0.01, 0.001, 0.0001)  # that a test fails which is within its limit
_RISK_LEAST = 1e-12
_PEAKS_FACTOR = 4  # see _risk_at_moments()
_LINES = 5


def size_of(text):
    """The bytes of a limit such as "24 MB", "1.5 GiB" or 4096; a unit is a power of 1024."""
    if isinstance(text, int) and text > 0:
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


def _interval_text(estimate):
    if estimate["low"] == estimate["high"]:
        return f"{text_of(estimate['estimate'])} exactly"
    return (
        f"{text_of(estimate['estimate'])} ({text_of(estimate['low'])} to {text_of(estimate['high'])})"
    )


# --- options ---


def pytest_addoption(parser):
    group = parser.getgroup("geiger", "memory of tests, by geiger")
    group.addoption("--geiger", action="store_true", help="record the memory of each test")
    group.addoption("--geiger-interval", metavar="SIZE", help=f"sampling interval ({_INTERVAL})")
    group.addoption("--geiger-output", metavar="FOLDER", help="keep a profile of each test there")
    group.addoption(
        "--geiger-tests", type=int, default=5, metavar="N", help="tests in the summary; 0: all (5)"
    )
    group.addoption(
        "--geiger-lines", type=int, default=_LINES, metavar="N", help=f"lines of each test ({_LINES})"
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
    if config.getoption("geiger") or config.getini("geiger") or config.option.geiger_fail_on_increase:
        config.pluginmanager.register(Plugin(config), "geiger-recording")


# --- one test ---


class Judgement:
    """Why a test fails, or None, and the lines to show for it."""

    def __init__(self, failure=None, lines=()):
        self.failure = failure
        self.lines = list(lines)


def _report(profile, *arguments):
    return json.loads(_library.run("report", "--json", *arguments, profile))


def _sureness(low_at, limit, share):
    """How sure it is that the limit is exceeded, as the least risk of _RISKS; None: not sure.

    low_at: the lower end of the interval at a confidence.  share: divides the risk among places or
    moments, of which chance chooses the largest.
    """
    surest = None
    for risk in _RISKS:
        if low_at(1 - max(risk / share, _RISK_LEAST)) <= limit:
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


def _moments(totals):
    """The number of live sets that a test had, as far as its allocations tell.

    The peak is the largest of many estimates, and chance is a part of why it is the largest.  An
    estimate differs from an earlier one as far as its live set is another one.
    """
    peak = max(totals["peak_bytes"]["estimate"], 1)
    return _PEAKS_FACTOR * (1 + totals["allocated_bytes"]["estimate"] / peak)


def judge_peak(profile, limit_text, number):
    limit = size_of(limit_text)
    report = _report(profile, "--metric", "peak", "--by", "line", "--limit", str(number))
    totals = report["totals"]
    peak = totals["peak_bytes"] or totals["live_bytes"]

    def low_at(confidence):
        again = _report(profile, "--metric", "peak", "--limit", "1", "--confidence", repr(confidence))
        return (again["totals"]["peak_bytes"] or again["totals"]["live_bytes"])["low"]

    # Most tests are far below their limit.
    surest = None
    if peak["estimate"] > limit:
        surest = _sureness(low_at, limit, _moments({**totals, "peak_bytes": peak}))
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


def judge_leaks(profile, limit_text, number):
    limit = size_of(limit_text)
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


def judge_increase(profile, before, tests):
    """By `geiger diff`: at most 5 % of sessions in which nothing changed fail a test."""
    if not os.path.exists(before):
        return Judgement()
    rate = max(_RISKS[0] / max(tests, 1), _RISK_LEAST)
    diff = json.loads(
        _library.run("diff", "--json", "--metric", "allocated", "--rate", repr(rate), before, profile)
    )
    grown = [row for row in diff["rows"] if row["difference"]["estimate"] > 0]
    if not grown:
        return Judgement()
    return Judgement(
        f"the test allocates more than in {before}: {_percent(_RISKS[0])} in a session of "
        f"{tests} tests",
        [
            f"+{_interval_text(row['difference']):32}  {row['label']}, p = {row['p_value']:.2g}"
            for row in grown[:_LINES]
        ],
    )


# --- the session ---


class Plugin:
    """Records test functions, and judges them."""

    def __init__(self, config):
        self._config = config
        self._interval = config.option.geiger_interval
        self._folder = config.option.geiger_output
        self._is_temporary = self._folder is None
        if self._is_temporary:
            self._folder = tempfile.mkdtemp(prefix="geiger-pytest-")
        self._results = {}
        self._tests = 1
        os.makedirs(self._folder, exist_ok=True)

    def pytest_collection_finish(self, session):
        self._tests = len(session.items)

    def pytest_unconfigure(self):
        if self._is_temporary:
            shutil.rmtree(self._folder, ignore_errors=True)

    @staticmethod
    def _file_of(nodeid):
        return re.sub(r"[^\w.\[\]-]+", "-", nodeid)[-200:] + ".geiger"

    def _interval_of(self, item):
        """Such that a limit is decided within some per cent of it."""
        if self._interval is not None:
            return self._interval
        limits = [
            size_of(marker.args[0])
            for name in ("limit_memory", "limit_leaks")
            for marker in item.iter_markers(name)
        ]
        least = min(limits, default=1 << 40) // _SAMPLES
        return max(min(least, 32 << 10), _INTERVAL_LEAST)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_pyfunc_call(self, pyfuncitem):
        import geiger

        item = pyfuncitem
        leaks = item.get_closest_marker("limit_leaks")
        for _ in range(int(leaks.kwargs.get("warmups", 0)) if leaks is not None else 0):
            arguments = {name: item.funcargs[name] for name in item._fixtureinfo.argnames}
            item.obj(**arguments)
        path = os.path.join(self._folder, self._file_of(item.nodeid))
        try:
            interval = self._interval_of(item)
        except (IndexError, ValueError) as error:
            pytest.fail(f"a marker of this test is wrong: {error}", pytrace=False)
        recording = geiger.record(
            path,
            interval=interval,
            native=self._config.option.geiger_native,
            symbols=not self._is_temporary,
        )
        if leaks is not None:
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
            if leaks is not None:
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
        path = getattr(item, "geiger_path", None)
        error = getattr(item, "geiger_error", None)
        if error is not None:
            report.sections.append(("geiger", f"not recorded: {error}"))
            report.geiger = {"error": error}
        if path is None:
            return
        try:
            report.geiger = self._result_of(path)
            if report.outcome == "passed":
                self._judge_all(item, path, report)
        except (OSError, RuntimeError, ValueError) as wrong:
            report.sections.append(("geiger", f"not judged: {wrong}"))
            report.geiger = {"error": str(wrong)}
        if self._is_temporary:
            os.unlink(path)

    def _judge_all(self, item, path, report):
        for judgement in self._judge(item, path):
            if judgement.failure is not None:
                report.outcome = "failed"
                lines = ["  " + line for line in judgement.lines]
                report.longrepr = "\n".join([judgement.failure, *lines])
                return

    def _judge(self, item, path):
        number = self._config.option.geiger_lines
        for name, judge in (("limit_memory", judge_peak), ("limit_leaks", judge_leaks)):
            marker = item.get_closest_marker(name)
            if marker is not None:
                yield judge(path, marker.args[0], number)
        before = self._config.option.geiger_fail_on_increase
        if before is not None:
            if os.path.isdir(before):
                before = os.path.join(before, self._file_of(item.nodeid))
            yield judge_increase(path, before, self._tests)

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
        if self._config.option.geiger_no_summary or not self._results:
            return
        write = terminalreporter.write_line
        done = {name: result for name, result in self._results.items() if "error" not in result}
        order = sorted(done, key=lambda name: -done[name]["peak"]["estimate"])
        number = self._config.option.geiger_tests or len(order)
        terminalreporter.write_sep("=", "geiger: memory of tests")
        for name in order[:number]:
            result = done[name]
            allocations = result["allocations"]["estimate"]
            write(f"{name}")
            write(
                f"  peak {_interval_text(result['peak'])}, left {_interval_text(result['left'])}, "
                f"{allocations:.3g} allocations"
            )
            for line in result["lines"]:
                write("    " + line)
        if len(order) > number:
            write(f"{len(order) - number} more tests, each with a smaller peak")
        failed = {result["error"] for result in self._results.values() if "error" in result}
        if failed:
            write(f"{len(self._results) - len(done)} tests were not recorded: {sorted(failed)[0]}")
        if not self._is_temporary:
            write(f"profiles: {self._folder}")
