#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The first report on a real program names that program's own functions.

test_programs.py NAME [NAME]... records NAME.sh and compares the top five rows of its first report
with those stored in rows/NAME.  With GG_PROGRAMS_WRITE=1 it stores them; --table prints all rows as
a table for documents.  README.md beside this file says what is asserted and why.

GEIGER: the command's path.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from sentences import check, skip, status

FOLDER = pathlib.Path(__file__).resolve().parent

GEIGER = os.environ["GEIGER"]
AGENT = os.environ.get("GEIGER_AGENT") or str(pathlib.Path(GEIGER).parent / "libgeiger-agent.so")
ROWS = 5
# A row with at least this share of its report must be in both, the stored and the new top rows.
LARGE = 0.15
# Below this share, rows differ from run to run in programs with threads, and nothing is asserted.
SMALL = 0.05
# Names of functions that only allocate.  This list is not geiger's own: it is wider.
ALLOCATES = re.compile(r"(?i)alloc|strn?dup|operator new|^std::|^<?(alloc|core)::|^__gnu_cxx::|^~?new$")
FIELDS = ("packages", "modules", "interval", "reason", "nameless", "names", "says")


def fields_of(name):
    """The fields in the comment at the head of a workload."""
    fields, last = {field: "" for field in FIELDS}, ""
    for line in (FOLDER / f"{name}.sh").read_text(encoding="utf-8").split("\n"):
        field, _, text = line.removeprefix("# ").partition(": ")
        if line.startswith("# ") and field in fields:
            fields[field], last = text.strip(), field
        elif line.startswith("#   ") and last:
            fields[last] += " " + line[4:].strip()
    return fields


def versions_of(packages):
    done = subprocess.run(["dpkg-query", "-W", "-f", "${Package} ${Version}\n", *packages],
                          check=False, capture_output=True, text=True)
    return sorted(set(done.stdout.split("\n")) - {""})


def record(name, interval, folder):
    """Returns the profile's path, or None and a reason to skip."""
    work = folder / "work"
    work.mkdir()
    agent = shutil.copy(AGENT, folder)
    for path in (folder, work):
        path.chmod(0o755)
    profile = folder / f"{name}.geiger"
    environment = dict(os.environ, GEIGER_AGENT=agent, PATH="/usr/bin:/usr/sbin:" + os.environ["PATH"])
    environment["RECORD"] = f"{GEIGER} record --quiet --interval {interval} --seed 1 --output {profile} --"
    done = subprocess.run(["bash", FOLDER / f"{name}.sh"], cwd=work, env=environment, check=False,
                          capture_output=True, text=True, timeout=600)
    if done.returncode == 77:
        return None, done.stdout.strip()
    sys.stdout.write(done.stderr)
    check(f"{name}_runs", done.returncode and f"exit status {done.returncode}",
          None if profile.exists() else "no profile")
    return (profile, "") if profile.exists() else (None, "it did not run")


def geiger(*arguments):
    return subprocess.run([GEIGER, *map(str, arguments)], check=True, capture_output=True, text=True).stdout


def first_report(profile, *options):
    """The metric of the report without options, and its top rows: (share, name, module)."""
    totals = json.loads(geiger("report", profile, "--json", "--limit", "1"))["totals"]
    live, peak = (totals[key]["estimate"] for key in ("live_bytes", "peak_bytes"))
    metric = "peak" if live < peak / 10 else "live"
    report = json.loads(geiger("report", profile, "--json", "--limit", ROWS, "-m", metric, *options))
    whole = report["selected_bytes"]["estimate"]
    rows = [(row["self"]["estimate"] / whole, row["function"], os.path.basename(row["module"] or ""),
             row.get("via") or "") for row in report["rows"] if row["self"]["estimate"] > 0]
    return metric, rows


def read_stored(name):
    """The stored versions, rows, and first row of all frames, or None."""
    path = FOLDER / "rows" / name
    if not path.exists():
        return None
    versions, rows, unhidden = [], [], ""
    for line in path.read_text(encoding="utf-8").split("\n"):
        kind, _, rest = line.partition(" ")
        if kind == "package":
            versions.append(rest)
        elif kind == "row":
            share, _, title = rest.partition(" % ")
            rows.append((float(share) / 100, title))
        elif kind == "all-frames":
            unhidden = rest.partition(" % ")[2]
    return versions, rows, unhidden


def write_stored(name, metric, versions, rows, before):
    lines = ["# SPDX-License-Identifier: Apache-2.0"]
    lines += [f"package {version}" for version in versions] + [f"metric {metric}"]
    lines += [f"row {row[0] * 100:.1f} % {title(row)}" for row in rows]
    lines += [f"all-frames {row[0] * 100:.1f} % {title(row)}" for row in before[:1]]
    (FOLDER / "rows" / name).write_text("\n".join(lines) + "\n", encoding="utf-8")


def title(row):
    _, function, module, _ = row
    return function if function.startswith(module + "+0x") else f"{function} ({module})"


def same_large_rows(stored, rows):
    """Differences between the large rows, as sentences."""
    now = [(row[0], title(row)) for row in rows]
    missing = [name for share, name in stored if share >= LARGE and name not in [n for _, n in now]]
    more = [name for share, name in now if share >= LARGE * 1.3 and name not in [n for _, n in stored]]
    return [f"missing: {name}" for name in missing] + [f"not stored: {name}" for name in more]


def compare(name, fields, rows):
    stored = read_stored(name)
    if not stored:
        check(f"{name}_has_stored_rows", "GG_PROGRAMS_WRITE=1 stores them")
        return
    versions = versions_of(fields["packages"].split())
    if versions != stored[0]:
        skip(f"{name}_has_its_stored_rows", f"they are of {stored[0]}, here is {versions}")
        return
    check(f"{name}_has_its_stored_rows", *same_large_rows(stored[1], rows))


def run(name):
    fields = fields_of(name)
    if not fields["interval"]:
        skip(f"{name}_names_its_own_functions", fields["reason"])
        return
    with tempfile.TemporaryDirectory() as folder:
        profile, reason = record(name, fields["interval"], pathlib.Path(folder))
        if not profile:
            skip(f"{name}_names_its_own_functions", reason)
            return
        if os.environ.get("GG_PROGRAMS_KEEP"):
            shutil.copy(profile, os.environ["GG_PROGRAMS_KEEP"])
        if fields["says"]:
            examine_silent(name, fields["says"], profile)
        else:
            examine(name, fields, profile)


def examine_silent(name, says, profile):
    """A program of which geiger sees nothing: its report says why."""
    text = geiger("report", profile, "--no-pager")
    check(f"{name}_has_a_report_that_says_why_it_is_empty", None if says in " ".join(text.split()) else text)


def examine(name, fields, profile):
    metric, rows = first_report(profile)
    shown = "\n".join(f"{row[0]:6.1%}  {title(row)}  via {row[3] or '-'}" for row in rows)
    print(shown)
    allowed = fields["names"].split()
    leaders = [row[1] for row in rows if row[0] >= SMALL and ALLOCATES.search(row[1]) and row[1] not in allowed]
    check(f"{name}_has_no_wrapper_among_its_top_rows", *leaders, None if rows else "no rows")
    own = re.compile("|".join(fields["modules"].split()))
    strange = [title(row) for row in rows if row[0] >= SMALL and not own.match(row[2])]
    check(f"{name}_has_rows_of_its_own_modules", *strange)
    known = re.compile(fields["nameless"] or "$^")
    nameless = [title(row) for row in rows if row[0] >= SMALL and "+0x" in row[1] and not known.match(row[2])]
    check(f"{name}_has_names_or_a_reason", *([] if fields["reason"] else nameless))
    text = geiger("report", profile, "--no-pager")
    absent = [row[1] for row in rows if row[1] not in text]
    check(f"{name}_has_the_same_rows_as_text", *absent)
    if os.environ.get("GG_PROGRAMS_WRITE"):
        write_stored(name, metric, versions_of(fields["packages"].split()), rows,
                     first_report(profile, "--all-frames")[1])
    compare(name, fields, rows)


def print_table():
    """The stored rows as a table for README.md."""
    print("| program | first row with `--all-frames` | first row | share |\n|-|-|-|-|")
    for workload in sorted(FOLDER.glob("*.sh")):
        stored = read_stored(workload.stem)
        if stored:
            share, name = stored[1][0]
            print(f"| {workload.stem} | `{stored[2]}` | `{name}` | {share:.0%} |".replace("%", " %"))
        elif workload.stem != "workload":
            print(f"| {workload.stem} | | none: {fields_of(workload.stem)['reason']} | |")


if __name__ == "__main__":
    if sys.argv[1:] == ["--table"]:
        print_table()
    for program in sys.argv[1:]:
        if program != "--table":
            run(program)
    sys.exit(status())
