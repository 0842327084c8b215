#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_dump.py - compares the dumps of a program with a copy of its region.

A program under the agent dumps itself and copies its region at one moment. jeprof and google-pprof
must print of the dumps what geiger reports of the copy.

Environment: GEIGER, GEIGER_AGENT, DUMPED_PROGRAM.
"""

import json
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

GEIGER = os.environ["GEIGER"]
PROGRAM = os.environ["DUMPED_PROGRAM"]
METRICS = {  # of the readers, and of ours: metric, count or bytes
    "--inuse_space": ("live", "bytes"),
    "--inuse_objects": ("live", "count"),
    "--alloc_space": ("allocated", "bytes"),
    "--alloc_objects": ("allocated", "count"),
}
failures = 0


def check(condition, message):
    global failures
    if not condition:
        failures += 1
        print(message)


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, check=True, **options).stdout


def printed(reader, metric, dump, *more):
    """Total, and by function what it has itself."""
    text = run(reader, "--text", "--show_bytes", "--nodefraction=0", metric, *more, PROGRAM, dump)
    total, functions = None, {}
    for line in text.splitlines():
        words = line.split()
        if line.startswith("Total:"):
            total = float(words[1])
        elif len(words) >= 6 and words[1].endswith("%"):
            functions[words[5]] = functions.get(words[5], 0) + float(words[0])
    return total, functions


def reported(profile, metric, unit):
    report = json.loads(
        run(GEIGER, "report", "--json", "--metric", metric, "--unit", unit, "--limit", "0", profile)
    )
    rows = {}
    for row in report["rows"]:
        rows[row["function"]] = rows.get(row["function"], 0) + row["self"]["estimate"]
    return report["totals"][f"{metric}_{unit}"]["estimate"], rows


def rounding(dump, metric):
    """The largest error of jeprof: for each stack, half of one of its counted samples."""
    interval, error = 0, 2
    objects = metric.endswith("_objects")
    for line in dump.read_text().splitlines():
        if line.startswith("heap_v2/"):
            interval = int(line.split("/")[1])
        elif line.startswith("  t*:"):
            numbers = [int(word) for word in re.findall(r"\d+", line)]
            count, size = numbers[:2] if metric.startswith("--inuse") else numbers[2:]
            if count > 0 and size > 0:
                scale = 1 / -math.expm1(-size / count / interval)
                error += (count if objects else size) * scale / (2 * count)
    return error


def compare(reader, dump, profile, tolerance):
    for metric, (ours, unit) in METRICS.items():
        total, functions = printed(reader, metric, dump)
        want_total, want = reported(profile, ours, unit)
        most = tolerance(dump, metric)
        check(
            total is not None and abs(total - want_total) <= most,
            f"{reader} {metric} {dump}: {total}, not {want_total} +- {most}",
        )
        for name in ("small", "large", "mixed"):
            got = functions.get(name, 0)
            check(
                abs(got - want.get(name, 0)) <= most,
                f"{reader} {metric} {dump}: {name} {got}, not {want.get(name, 0)} +- {most}",
            )


def main():
    scratch = pathlib.Path(tempfile.mkdtemp())
    readers = {"heap": "jeprof", "gperf": "google-pprof"}
    for reader in readers.values():
        if shutil.which(reader) is None:
            print(f"skipped - a_dump_is_what_we_report: {reader} is not installed")
            return 77
    for interval in ("1", "32k"):
        folder = scratch / interval
        folder.mkdir()
        run(
            PROGRAM,
            folder,
            env=os.environ
            | {
                "LD_PRELOAD": os.environ["GEIGER_AGENT"],
                "GEIGER_INTERVAL": interval,
                "GEIGER_DIR": str(folder),
                "GEIGER_SEED": "1",
            },
        )
        profile = folder / "now.region"
        compare("jeprof", folder / "now.heap", profile, rounding)
        compare("google-pprof", folder / "now.gperf", profile, lambda *_: 20)  # stacks, rounded
        total, _ = printed("jeprof", "--inuse_space", folder / "live.heap")
        want, _ = reported(profile, "live", "bytes")
        check(abs(total - want) <= rounding(folder / "live.heap", "--inuse_space"), f"without what was allocated: {total}, not {want}")
        # Dumps that were written by themselves: each is read by its reader.
        for dump in sorted(folder.glob("d.*.heap"))[:3]:
            total, _ = printed("jeprof", "--alloc_space", dump)
            check(total is not None and total > 0, f"jeprof does not read {dump.name}")
    shutil.rmtree(scratch)
    print("FAILED - a_dump_is_what_we_report" if failures else "ok - a_dump_is_what_we_report")
    return 1 if failures else 0


sys.exit(main())
