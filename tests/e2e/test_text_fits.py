#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every report fits into 80 columns, is ASCII in the locale C, and has no color in a pipe.

GEIGER, GOLDEN_PROFILE, LOOKS_PROFILE: programs.
"""

import os
import shutil
import sqlite3
import subprocess
import sys

from sentences import check, in_scratch

GEIGER = os.environ["GEIGER"]
COLUMNS = 80
GROUPINGS = ("function", "line", "stack", "module", "size", "kind", "heap", "type", "thread", "process")
REPORTS = (
    *(f"report FILE --by {by}" for by in GROUPINGS),
    *(f"report FILE -m {metric}" for metric in ("live", "allocated", "peak", "temporary", "freed", "left")),
    "report FILE --bytes", "report FILE --by heap --all-columns", "report FILE -u count", "report FILE --at 1s",
    "tree FILE", "tree FILE --inverted", "tree FILE -m allocated", "leaks FILE", "leaks FILE --fail-above 1", "timeline FILE",
    "diff FILE FILE --all", "diff FILE FILE --all --by stack", "faults FILE", "top FILE -n 1", "why FILE",
    "check FILE",
)
# Profiles without times or looks have no such reports; their errors are lines that do not wrap.
REFUSED = ("leaks", "timeline", "why", "top")


def make_profiles():
    made = ["golden.geiger", "looks.geiger", "merged.geiger"]
    subprocess.run([os.environ["GOLDEN_PROFILE"], made[0]], check=True, capture_output=True)
    subprocess.run([os.environ["LOOKS_PROFILE"], made[1], "40"], check=True, capture_output=True)
    subprocess.run([GEIGER, "merge", "-q", "-o", made[2], made[0], made[1]], check=True, capture_output=True)
    return made


def lines_of(profiles):
    for path in profiles:
        for line in REPORTS:
            yield line.replace("FILE", path).split()


def problems_of_text(arguments, text, is_ascii):
    for line in text.split("\n"):
        if len(line) > COLUMNS:
            yield f"{' '.join(arguments)}: {len(line)} columns: {line}"
        if "\x1b" in line or (is_ascii and not line.isascii()):
            yield f"{' '.join(arguments)}: {line!r}"


def in_pipe(profiles, locale):
    problems, printed = [], 0
    environment = {**os.environ, "LC_ALL": locale, "COLUMNS": str(COLUMNS)}
    for arguments in lines_of(profiles):
        done = subprocess.run([GEIGER, *arguments], capture_output=True, env=environment, check=False)
        if done.returncode != 0 and arguments[0] not in REFUSED:
            problems.append(f"{' '.join(arguments)}: status {done.returncode}: {done.stderr!r}")
        printed += done.returncode == 0
        problems += problems_of_text(arguments, done.stdout.decode(), locale == "C")
    if printed < len(REPORTS) * 2:
        problems.append(f"only {printed} reports were printed")
    return problems


def narrow(path):
    """On 60 columns each row of `why` still says what it is, on a line of its own if need be."""
    done = subprocess.run([GEIGER, "why", path], capture_output=True, check=False,
                          env={**os.environ, "LC_ALL": "C.UTF-8", "COLUMNS": "60"})
    text = done.stdout.decode()
    for line in text.split("\n"):
        if len(line) > 60:
            yield f"{len(line)} columns: {line}"
    for words in ("blocks are larger than requested", "free, on pages that live blocks hold"):
        if words not in text:
            yield f"no {words!r}: {text}"


def at_60_columns(path):
    """The chart's legend and the table of a comparison fit 60 columns, and the change stays."""
    for words in (["timeline", path], ["diff", path, path, "--all"], ["diff", path, path, "-m", "peak", "--all"]):
        done = subprocess.run([GEIGER, *words], capture_output=True, check=False,
                              env={**os.environ, "LC_ALL": "C.UTF-8", "COLUMNS": "60"})
        text = done.stdout.decode()
        yield from (f"{words}: {len(line)} columns: {line}" for line in text.split("\n") if len(line) > 60)
        wanted = "Solid: live heap" if words[0] == "timeline" else "difference"
        if done.returncode != 0 or wanted not in text:
            yield f"{words}: {done}"


def long_names(path):
    """Leaks fit 60 columns, and a comparison 80, where the names of files are long."""
    long = "_".join(["a_long_name_of_a_file"] * 3)
    shutil.copy(path, f"{long}.geiger")
    profile = sqlite3.connect(f"{long}.geiger")
    profile.execute("update symbol set file = ? where file is not null", (f"/src/{long}.c",))
    profile.commit()
    profile.close()
    for words, columns in ((["leaks"], 60), (["leaks", "--fail-above", "1"], 60), (["diff", f"{long}.geiger"], 80)):
        for locale in ("C.UTF-8", "C"):
            done = subprocess.run([GEIGER, *words, f"{long}.geiger"], capture_output=True, check=False,
                                  env={**os.environ, "LC_ALL": locale, "COLUMNS": str(columns)})
            lines = done.stdout.decode().split("\n")
            if len(lines) < 3 or done.stderr:
                yield f"{words}: {done}"
            yield from (f"{words}: {len(line)} columns: {line}" for line in lines if len(line) > columns)


def forget_names(profile, in_plugin, elsewhere):
    """So many frames of the plugin, and of other libraries, one each, lose their names."""
    plugin, = profile.execute("select id from module where path like '%libplugin.so'").fetchone()
    profile.execute("update module set status = 'no symbols' where id = ?", (plugin,))
    moved = [17, 18, 19][:in_plugin]
    lost = [1, 9, 22][:elsewhere]
    profile.executemany("update frame set module = ? where id = ?", [(plugin, frame) for frame in moved])
    profile.executemany("delete from line where frame = ?", [(frame,) for frame in moved + lost])


def unnamed(path):
    """How many of the frames without a name the module has that the report names."""
    counts = ((1, 0, "1 of 23 frames has no name: it is in libplugin.so."),
              (3, 0, "3 of 23 frames have no name: all are in libplugin.so."),
              (3, 2, "5 of 23 frames have no name: most are in libplugin.so."),
              (3, 3, "6 of 23 frames have no name: many are in libplugin.so."))
    for in_plugin, elsewhere, wanted in counts:
        shutil.copy(path, "unnamed.geiger")
        profile = sqlite3.connect("unnamed.geiger")
        forget_names(profile, in_plugin, elsewhere)
        profile.commit()
        profile.close()
        text = subprocess.run([GEIGER, "report", "unnamed.geiger"], capture_output=True, check=True).stdout.decode()
        if wanted not in text:
            yield f"not {wanted!r}: {text}"


def main():
    profiles = make_profiles()
    check("reports_fit_80_columns_in_a_pipe", *in_pipe(profiles, "C.UTF-8"))
    check("why_says_what_its_rows_are_on_a_narrow_screen", *narrow("looks.geiger"))
    check("a_chart_and_a_comparison_fit_60_columns", *at_60_columns("golden.geiger"))
    check("long_names_of_files_are_shortened", *long_names("golden.geiger"))
    check("frames_without_a_name_are_told_by_their_part", *unnamed("golden.geiger"))
    check("reports_are_ascii_in_the_locale_c", *in_pipe(profiles, "C"))


if __name__ == "__main__":
    sys.exit(in_scratch(main))
