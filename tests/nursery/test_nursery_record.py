#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_nursery_record - the example under `geiger record`, and what reports say of it.

GEIGER, NURSERY, NURSERY_LIVE: the programs; NURSERY_PROGRAMS: the folder of the Scheme ones.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

GEIGER = os.environ["GEIGER"]
NURSERY = os.environ["NURSERY"]
PROGRAMS = pathlib.Path(os.environ["NURSERY_PROGRAMS"])
LIVE_PROGRAM = pathlib.Path(__file__).with_name("live.scm")
TYPES = ["pair", "closure", "environment", "vector", "string", "flonum"]

failed = False


def check(sentence, wrong):
    """`wrong` lists what contradicts the sentence."""
    global failed
    for line in wrong[:20]:
        print(line)
    print(f"{'FAILED' if wrong else 'ok'} - {sentence}")
    failed = failed or bool(wrong)


def run(*command, status=0):
    """Returns the output of a command, which must end with that status."""
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, timeout=300
    )
    if done.returncode != status:
        check(f"{command}: status {done.returncode}", [done.stdout, done.stderr])
        sys.exit(1)
    return done.stdout


def report(profile, *options):
    """The rows of a report."""
    return json.loads(run(GEIGER, "report", profile, "--json", "--limit", 0, *options))["rows"]


def by_name(rows, key):
    return {row[key]: row for row in rows}


def test_record(folder):
    """One run, sampled: its names and numbers."""
    profile = folder / "gcbench.geiger"
    program = (NURSERY, "--seed=1", "--interval=4096", PROGRAMS / "gcbench.scm", 12)
    alone = run(*program)
    recorded = run(GEIGER, "record", "--quiet", "-o", profile, *program)
    check("a_recorded_program_prints_the_same", [] if recorded == alone else [recorded, alone])

    heaps = by_name(report(profile, "--by", "heap", "-m", "allocated"), "heap")
    check(
        "the_heap_of_the_runtime_stands_beside_malloc",
        [] if {"scheme", "malloc"} <= set(heaps) else [str(sorted(heaps))],
    )
    types = by_name(report(profile, "--by", "type", "-m", "allocated"), "type")
    wrong = [f"no {name} in {sorted(types)}" for name in TYPES[2:4] + TYPES[5:] if name not in types]
    check("types_are_those_of_the_interpreted_program", wrong)
    parts = sum(types[name]["self"]["estimate"] for name in TYPES if name in types)
    whole = heaps["scheme"]["self"]["estimate"]
    check(
        "types_add_up_to_their_heap",
        [] if abs(parts - whole) <= 1e-6 * whole else [f"{parts} in types, {whole} in the heap"],
    )

    functions = report(profile, "--by", "function", "--total", "-m", "allocated")
    names = {row["function"]: row for row in functions}
    wrong = [f"no {n}" for n in ("make-tree", "populate!", "make-node", "eval") if n not in names]
    check("functions_of_the_program_and_of_the_interpreter_are_rows", wrong)
    lines = {
        (row["function"], os.path.basename(row["file"] or ""), row["line"])
        for row in report(profile, "--by", "line", "--total", "-m", "allocated")
    }
    source = (PROGRAMS / "gcbench.scm").read_text().splitlines()
    vector = 1 + next(i for i, text in enumerate(source) if text.startswith("  (vector left"))
    call = 1 + next(i for i, text in enumerate(source) if "(make-node (make-tree" in text)
    wanted = [("make-node", "gcbench.scm", vector), ("make-tree", "gcbench.scm", call)]
    check("frames_have_file_and_line", [f"no {w} in {lines}" for w in wanted if w not in lines])
    return profile


def test_frames(profile):
    """Scheme frames stand between the native ones that run them."""
    stacks = run(GEIGER, "sql", profile, "--json", "select functions from v_stack")
    wrong = []
    seen = 0
    for row in json.loads(stacks):
        frames = (row["functions"] or "").split(";")  # outermost first
        scheme = [i for i, name in enumerate(frames) if name in ("make-node", "make-tree")]
        seen += len(scheme)
        for i in scheme:
            # Around it the C function whose frame it is in, inside it the evaluation of its body.
            if frames[i - 1] != "call_closure" or frames[i + 1] != "eval":
                wrong.append(";".join(frames[max(0, i - 2) : i + 3]))
    check("scheme_frames_are_between_the_native_frames_that_run_them", wrong if seen else ["none"])


def check_snapshots(folder, printed):
    """Compares each snapshot with what the heap counted at the same moment."""
    truth = {}
    for line in printed.splitlines():
        number, name, objects, size = line.split()
        truth.setdefault(int(number), {})[name] = (int(objects), int(size))
    wrong = []
    for number, counts in truth.items():
        region = folder / f"{number}.region"
        sizes = by_name(report(region, "--by", "type"), "type")
        objects = by_name(report(region, "--by", "type", "--unit", "count"), "type")
        for name, wanted in counts.items():
            found = tuple(
                rows[name]["self"]["estimate"] if name in rows else 0 for rows in (objects, sizes)
            )
            if found != wanted:
                wrong.append(f"check {number}, {name}: {found} recorded, {wanted} in truth")
        region.unlink()
    return wrong if len(truth) > 5 else [f"{len(truth)} checks"]


def test_live(folder):
    """Every object a sample: what lives is what the heap holds, after each collection."""
    live = (os.environ["NURSERY_LIVE"], 0, 1, folder, LIVE_PROGRAM)
    check("live_bytes_and_objects_are_the_truth_by_type", check_snapshots(folder, run(*live)))
    printed = run(GEIGER, "record", "--quiet", "-o", folder / "live.geiger", *live)
    check("so_they_are_under_the_agent", check_snapshots(folder, printed))
    left = by_name(report(folder / "live.geiger", "--by", "type"), "type")
    check("a_heap_that_is_given_back_holds_nothing", [name for name in TYPES if name in left])


def main():
    with tempfile.TemporaryDirectory(prefix="nursery-") as path:
        folder = pathlib.Path(path)
        os.environ["GEIGER_DIR"] = path
        profile = test_record(folder)
        test_frames(profile)
        test_live(folder)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
