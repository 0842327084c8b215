#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whatever names, paths and notes say, geiger prints nothing that a terminal would obey.

Every text of a profile, of a region and of a path is hostile here; each command that prints such
text runs on them, and what it prints must be UTF-8 without control characters, C1 and marks of
direction among them.

GEIGER, GOLDEN_PROFILE: programs.  AGENT: the library, where programs can run with it.
"""

import os
import sqlite3
import subprocess
import sys

from sentences import check, in_scratch, skip
from terminals import has_terminals, run_on_terminal

GEIGER = os.environ["GEIGER"]
AGENT = os.environ.get("AGENT", "")


HAS_TERMINALS = has_terminals()

# ESC sequences, BEL, lines, C1 as UTF-8 and as a byte, no UTF-8, directions, a line separator.
HOSTILE = (b"\x1b[31m\x1b]0;owned\x07\r\n99 forged \x7f\xc2\x9b2J\x9b2J\xff\xe2\x80\xae\xe2\x81\xa6\xe2\x80\x8f"
           b"\xe2\x80\xa8end")
FORBIDDEN = {*range(0x20), *range(0x7F, 0xA0), 0x061C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A)}
FORBIDDEN -= {ord("\n")}
TEXTS = {
    "session": ("command", "host", "kernel", "machine", "geiger"),
    "process": ("exe", "command"),
    "thread": ("name",),
    "module": ("path",),
    "symbol": ("function", "full_name", "file"),
    "function_sum": ("function", "file"),
    "note": ("text",),
    "label": ("value",),
}


def problem_of(printed, where, must_print=True):
    try:
        text = printed.decode("utf-8")
    except UnicodeDecodeError as error:
        return f"{where} is no UTF-8: {error}"
    for character in text:
        if ord(character) in FORBIDDEN:
            at = text.index(character)
            return f"{where} has U+{ord(character):04X}: {text[max(at - 60, 0):at + 20]!r}"
    if must_print and "owned" not in text and "forged" not in text:
        return f"{where} has nothing of the hostile text: {text[:300]!r}"
    return None


def hold(name, *arguments, must_print=True):
    done = subprocess.run([os.fsencode(GEIGER), *(os.fsencode(a) if isinstance(a, str) else a for a in arguments)],
                          capture_output=True, check=False)
    problem = problem_of(done.stdout + done.stderr, "what it prints", must_print)
    if done.returncode < 0 or done.returncode > 2:
        problem = problem or f"status {done.returncode}"
    check(name, problem)


def printed_on_terminal(*arguments, **environment):
    printed = run_on_terminal([GEIGER, *arguments], **environment, TERM="dumb")
    return printed.replace(b"\r\n", b"\n").replace(b"\t", b" ")


def on_terminal(name, *arguments):
    """geiger escapes a profile's texts where a terminal shows them."""
    if not HAS_TERMINALS:
        skip(name, "no terminal: /dev/pts is not mounted")
        return
    check(name, problem_of(printed_on_terminal(*arguments), "the terminal"))


def losses():
    """Each loss of a recording has a line of its own on a terminal."""
    if not HAS_TERMINALS:
        skip("record_on_a_terminal", "no terminal: /dev/pts is not mounted")
        return
    printed = printed_on_terminal("record", "-i", "1", "-o", "lossy.geiger", "--", sys.executable, "-c", "pass",
                                  GEIGER_RING="64").decode("utf-8").split("\n")
    wrote = [line for line in printed if line.startswith("geiger: wrote ")]
    lost = [line for line in printed if line.startswith("geiger: times of ")]
    check("record_on_a_terminal", None if len(wrote) == 1 and len(lost) == 1 and ";" not in wrote[0] else f"{printed}")


def make_hostile(path):
    subprocess.run([os.environ["GOLDEN_PROFILE"], path], check=True, capture_output=True)
    profile = sqlite3.connect(path)
    for table, columns in TEXTS.items():
        for column in columns:
            # As text, whatever its bytes are; each row another one, so that they stay apart.
            profile.execute(f"update {table} set {column} = cast(? as text) || abs(random())", (HOSTILE,))
    profile.execute("update process set ending = 'killed by signal 9' || cast(? as text)", (HOSTILE,))
    profile.execute("insert into label values (1, 'host', cast(? as text))", (HOSTILE,))
    profile.commit()
    profile.close()


def reports(path):
    for by in ("function", "line", "stack", "module", "thread", "process", "kind", "heap", "size"):
        hold(f"report_by_{by}", "report", path, "--by", by)
    hold("report_by_label", "report", path, "--by-label", "host")
    hold("report_in_ascii", "report", path, "--ascii")
    hold("report_as_json", "report", path, "--json")
    hold("tree", "tree", path)
    hold("tree_as_json", "tree", path, "--json")
    hold("leaks", "leaks", path)
    hold("timeline", "timeline", path)
    hold("diff", "diff", path, "golden.geiger")
    hold("check", "check", path, must_print=False)
    hold("sql", "sql", path, "select text from note union all select name from thread")
    hold("sql_names_of_columns", "sql", path, b"select 1 as \"owned" + HOSTILE + b"\"")
    hold("sql_as_json", "sql", path, "select text from note", "--json")
    hold("sql_that_is_wrong", "sql", path, b"select \"owned" + HOSTILE + b"\" from nowhere", must_print=False)
    hold("symbolize", "symbolize", path, must_print=False)
    on_terminal("csv_on_a_terminal", "sql", path, "select text from note", "--csv")
    for form in ("collapsed", "csv", "heap_v2", "speedscope"):
        on_terminal(f"export_as_{form}_on_a_terminal", "export", path, "--format", form)


def paths():
    """Names of files, there and not there, and what is in them."""
    missing, there = b"no " + HOSTILE.replace(b"/", b"") + b".geiger", b"is " + HOSTILE.replace(b"/", b"") + b".geiger"
    for command in ("report", "tree", "leaks", "timeline", "check", "symbolize", "html", "import", "salvage"):
        hold(f"{command}_of_a_path_that_is_not_there", command, missing)
    hold("export_of_a_path_that_is_not_there", "export", missing, "--format", "csv")
    os.link("golden.geiger", there)
    hold("merge_says_what_it_wrote", "merge", "golden.geiger", "-o", b"out " + there)
    hold("diff_names_its_files", "diff", there, "golden.geiger")
    hold("html_says_what_it_wrote", "html", "golden.geiger", "-o", b"page " + there)
    with open("x.collapsed", "wb") as file:
        file.write(b"main 5\nowned " + HOSTILE.replace(b"\r\n", b"") + b"\n")
    hold("import_of_what_is_wrong", "import", "x.collapsed", "-o", "i.geiger", must_print=False)
    with open("x.gperf", "wb") as file:
        file.write(b"%warn owned" + HOSTILE.replace(b"\r\n", b"") + b"\nheap profile: 1: 9 [ 1: 9] @ heapprofile\n"
                   b"  1: 9 [ 1: 9] @ 0x401011\n\nMAPPED_LIBRARIES:\n")
    hold("import_of_a_warning", "import", "x.gperf", "-o", "i.geiger", must_print=False)
    hold("report_of_a_warning", "report", "i.geiger")
    hold("an_option_that_is_none", b"report", b"--owned" + HOSTILE)
    hold("a_command_that_is_none", b"owned" + HOSTILE)


def regions():
    directory = os.path.join(os.getcwd().encode(), b"owned" + HOSTILE)
    os.mkdir(directory)
    environment = {**os.environb, b"GEIGER_DIR": directory, b"LD_PRELOAD": AGENT.encode(), b"GEIGER_INTERVAL": b"1"}
    subprocess.run(["/bin/ls", "-d", b"owned" + HOSTILE], env=environment, capture_output=True, check=False)
    found = [name for name in os.listdir(directory) if name.endswith(b".region")]
    if not found:
        check("a_program_leaves_a_region_in_a_hostile_directory", f"{os.listdir(directory)}")
        return
    region = os.path.join(directory, found[0])
    hold("ls", "ls", directory)
    hold("debug_region", "debug", "region", region, "--samples", "--stacks")
    hold("control_status", "control", region, "status")
    hold("report_of_a_region", "report", region)
    hold("salvage_says_what_it_wrote", "salvage", region, "-o", b"salvaged" + HOSTILE.replace(b"/", b""))
    hold("clean_in_a_trial", "clean", "-n", "-a", directory)
    hold("clean", "clean", "-a", directory)


def main():
    make_hostile("hostile.geiger")
    subprocess.run([os.environ["GOLDEN_PROFILE"], "golden.geiger"], check=True, capture_output=True)
    reports("hostile.geiger")
    paths()
    if AGENT:
        regions()
        losses()


if __name__ == "__main__":
    sys.exit(in_scratch(main))
