# SPDX-License-Identifier: Apache-2.0
"""Tests that test_python_pytest.sh runs under the plugin of the package geiger."""

import os
import unittest

import pytest

KEPT = []
# The peak of make_many(6000) is 3.68 MiB.
JUST_WITHIN = "3.7 MB"


def make(count):
    return [bytes(60000) for _ in range(count)]


def make_many(count):
    return [bytes(600) for _ in range(count)]


def test_without_limit():
    assert len(make(10 + 50 * int(os.environ.get("CASES_MORE", "0")))) > 0


@pytest.mark.limit_memory(memory_limit="24 MB", current_thread_only=False)
@pytest.mark.limit_leaks(location_limit="24 MB", filter_fn=None)
def test_within_its_limit():
    make(300)


@pytest.mark.limit_memory(JUST_WITHIN)
def test_just_within_its_limit_many_times():
    for _ in range(40):
        make_many(6000)


@pytest.mark.limit_memory("24 MB")
def test_above_its_limit():
    make(450)


@pytest.mark.limit_leaks("1 MB")
def test_that_leaks():
    KEPT.append(make(30))


@pytest.mark.limit_leaks("1 MB")
def test_with_a_cycle_that_is_no_leak():
    cycle = [make(100)]
    cycle.append(cycle)


CACHE = {}


@pytest.mark.limit_leaks("1 MB", 1)
def test_with_a_cache_that_a_warmup_fills():
    if "key" not in CACHE:
        CACHE["key"] = make(100)


@pytest.fixture
def large():
    return make(600)


@pytest.mark.limit_memory("24 MB")
def test_whose_fixture_is_large(large):
    assert len(large) == 600


@pytest.mark.xfail
@pytest.mark.limit_memory("1 MB")
def test_expected_to_exceed():
    make(50)


@pytest.mark.xfail(strict=True, reason="it is large")
@pytest.mark.limit_memory("1 MB")
def test_strictly_expected_to_exceed():
    make(50)


@pytest.mark.xfail(raises=ValueError)
@pytest.mark.limit_memory("1 MB")
def test_expected_to_raise():
    make(50)


def test_that_fails():
    assert len(make(10)) == 3


class TestOfUnittest(unittest.TestCase):
    def setUp(self):
        self.count = 450

    @pytest.mark.limit_memory(limit="24 MB")
    def test_of_unittest_above(self):
        make(self.count)

    @pytest.mark.limit_leaks("1 MB", warmups=1)
    def test_of_unittest_below(self):
        make(self.count)
        CACHE.setdefault("of unittest", make(100))


@pytest.mark.parametrize("change", ["+1", "-1", "x" * 300 + "+1", "x" * 300 + "-1"])
def test_of_a_name(change):
    make(1)


wrong = pytest.mark.skipif("CASES_WRONG" not in os.environ, reason="markers that are wrong")


@wrong
@pytest.mark.limit_memory("24 apples")
def test_wrong_unit():
    make(1)


@wrong
@pytest.mark.limit_memory("24 MB", current_thread_only=True)
def test_wrong_threads():
    make(1)


@wrong
@pytest.mark.limit_leaks("24 MB", filter_fn=len)
def test_wrong_filter():
    make(1)


@wrong
@pytest.mark.limit_memory(True)
def test_wrong_kind():
    make(1)


@wrong
@pytest.mark.limit_memory
def test_wrong_without_a_limit():
    make(1)


@wrong
@pytest.mark.limit_leaks("24 MB", turns=3)
def test_wrong_name():
    make(1)


@wrong
@pytest.mark.limit_leaks("24 MB", "3")
def test_wrong_warmups():
    make(1)


# --- what geiger itself needs is replaced for a test, which is judged all the same ---


@pytest.mark.limit_memory("24 MB")
def test_changed_folder(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)


def no(*arguments, **named):
    raise OSError("replaced")


@pytest.mark.limit_memory("24 MB")
@pytest.mark.parametrize("place", ["subprocess.Popen", "subprocess.run", "json.loads", "os.path.exists", "time.sleep", "builtins.open"])
def test_changed_function(monkeypatch, place):
    monkeypatch.setattr(place, no)


@pytest.fixture
def without_variables(monkeypatch):
    for name in set(os.environ) - {"PYTEST_CURRENT_TEST"}:
        monkeypatch.delenv(name)


@pytest.mark.limit_memory("24 MB")
def test_changed_environment(without_variables):
    pass


@pytest.mark.limit_memory("4 KB")
def test_changed_nothing():
    """geiger's own memory is in no test."""
