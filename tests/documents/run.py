#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""run.py DOCUMENT... - runs the commands of documents, as their readers would.

All blocks of a document that are fenced as `console` run in one shell and one scratch folder, one
after the other: lines from "$ " on are commands, "> " continues one, the rest is what they print.
A block that is fenced as `sh` is a script.  A command must succeed, and print what the document
shows: numbers may differ, but of the words four fifths must be there.  Rows with so few samples
that bounds follow the estimate ("93.1 KiB (3.2-462)") do not count: chance decides which these are.
<!-- run: COMMAND --> is a command that readers need not see.  If the program of
<!-- needs: PROGRAM --> is missing, the test skips everything up to the next heading, and says so.

The folder has the programs of EXAMPLES.  Programs that would change this machine (sudo, docker) are
played by those of tests/documents/stand_ins.  GG_DOCUMENTS_WRITE=1 puts what was printed into the
documents.

GEIGER is the program, GG_BUILD the build folder, GG_SOURCE the source.
"""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

BUILD = pathlib.Path(os.environ["GG_BUILD"])
SOURCE = pathlib.Path(os.environ["GG_SOURCE"])
WRITES = os.environ.get("GG_DOCUMENTS_WRITE") == "1"
FENCE = re.compile(r"^```(\w*)\s*$")
NEEDS = re.compile(r"^<!-- needs: (.*) -->$")
EXAMPLES = ("songs", "sessions", "checkout")
# A program with the runtime of .NET in it, which `script/dotnet_runtime` downloads for the tests.
DOTNET = pathlib.Path(os.environ.get("GEIGER_DOTNET_CACHE", pathlib.Path.home() / ".cache/geiger/dotnet"))
HIDDEN = re.compile(r"^<!-- run: (.*) -->$")
WORD = re.compile(r"[A-Za-z_]{4,}")
# RSS is read now and then: where a program ends before, a report has less of it.
RSS = re.compile(r"^RSS |^ +(= live|including|slack|stacks|files|geiger itself|the rest|pages) |highest|mappings\)$")
# A row whose interval is a range: few samples, and another time other rows, or none.
RARE = re.compile(r"^\W*[\d.]+ \w+ \([\d.]+-[\d.]+\) ")
# The agent's folder once it is installed, which the documents show.
INSTALLED = "/usr/lib/x86_64-linux-gnu"


class Command:
    """Lines of the document [first, last) are the command, [last, end) what it prints."""

    def __init__(self, text, first, last, is_shown):
        self.text, self.first, self.last, self.end = text, first, last, last
        self.is_shown = is_shown


def commands_of(lines, path):
    """The commands, and the programs that some of them lack on `path`."""
    found, lacks, at, is_skipped = [], [], 0, False
    while at < len(lines):
        hidden, fence, needs = (form.match(lines[at]) for form in (HIDDEN, FENCE, NEEDS))
        if lines[at].startswith("## "):
            is_skipped = False
        if needs and not shutil.which(needs.group(1), path=path):
            is_skipped = True
            lacks.append(needs.group(1))
        if is_skipped:
            at = at + 1
            continue
        if hidden:
            found.append(Command(hidden.group(1), at, at + 1, False))
        if not fence:
            at += 1
            continue
        end = next(i for i in range(at + 1, len(lines)) if lines[i].startswith("```"))
        if fence.group(1) == "sh":
            found.append(Command("\n".join(lines[at + 1 : end]), at + 1, end, False))
        elif fence.group(1) == "console":
            found += commands_of_console(lines, at + 1, end)
        at = end + 1
    return found, lacks


def commands_of_console(lines, at, end):
    found = []
    while at < end:
        if lines[at].startswith("$ "):
            text, first = [lines[at][2:]], at
            while at + 1 < end and lines[at + 1].startswith("> "):
                at += 1
                text.append(lines[at][2:])
            found.append(Command("\n".join(text), first, at + 1, True))
        elif not found:
            raise SystemExit(f"line {at + 1}: output without a command")
        found[-1].end = at + 1
        at += 1
    return found


def path_of(scratch):
    # The python3 that the adapter is for, whatever else there is.
    return f"{scratch}/bin:{SOURCE}/tests/documents/stand_ins:/usr/bin:{os.environ['PATH']}:/usr/sbin"


def run_all(commands, scratch):
    """The output of each command and its exit status, up to the first command that failed."""
    script = ["cd work"]
    for number, command in enumerate(commands):
        (scratch / f"{number}.sh").write_text(command.text + "\n")
        # Sourced: jobs and variables are there for what follows.
        script.append(f". ../{number}.sh >../{number}.out 2>&1 </dev/null; echo $? >../{number}.status")
        script.append(f"read -r status <../{number}.status; [ \"$status\" = 0 ] || exit")
    environment = dict(
        os.environ,
        PATH=path_of(scratch),
        PYTHONPATH=str(BUILD / "bindings/python"),
        PYTHONDONTWRITEBYTECODE="1",
        GEIGER_DIR=str(scratch / "regions"),
        COLUMNS="80",
        LC_ALL="C.UTF-8",
        DEBUGINFOD_URLS="",
        # A reader sets no seed; the test does, so that each run prints the same rows.
        GEIGER_SEED="1",
    )
    environment.pop("GEIGER", None)
    shell = subprocess.Popen(["bash", "-c", "\n".join(script)], cwd=scratch, env=environment,
                             stdin=subprocess.DEVNULL, start_new_session=True)
    try:
        shell.wait(timeout=1500)
    finally:
        # Ends all that the document left running.
        try:
            os.killpg(shell.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        shell.wait()
    results = []
    for number in range(len(commands)):
        status = scratch / f"{number}.status"
        if not (scratch / f"{number}.out").exists():
            break
        text = (scratch / f"{number}.out").read_text(errors="replace")
        text = re.sub(r"^\.\./\d+\.sh: line .*\n", "", text, flags=re.M)  # of bash, about a signal
        text = text.replace(str(BUILD / "src"), INSTALLED)
        text = text.replace(str(scratch / "regions"), "/dev/shm").replace(str(scratch / "work"), "/srv/songs")
        results.append((int(status.read_text()) if status.exists() else -1, text))
    return results


def without_notes(lines):
    """Lines without notes and their continuations: the text of a note depends on versions."""
    is_note = False
    for line in lines:
        is_note = line.startswith("note") or (is_note and line.startswith("  "))
        if not is_note:
            yield line


def problem_of(command, shown, status, text):
    if status != 0:
        return f"exit status {status}:\n{text}"
    shown = [line for line in without_notes(shown) if not (RSS.search(line) or RARE.search(line))]
    wanted = set(WORD.findall(" ".join(shown)))
    missing = wanted - set(WORD.findall(text))
    if len(missing) > max(2, len(wanted) // 5):
        return f"does not print {' '.join(sorted(missing))}:\n{text}"
    return None


def run_document(path):
    lines = path.read_text().split("\n")
    failed = 0
    with tempfile.TemporaryDirectory(prefix="documents-") as folder:
        scratch = pathlib.Path(folder)
        for name in ("work", "regions", "bin"):
            (scratch / name).mkdir()
        (scratch / "bin/geiger").symlink_to(BUILD / "src/geiger")
        for example in EXAMPLES:
            for file in (SOURCE / "examples" / example).iterdir():
                shutil.copy(file, scratch / "work")
        for program in DOTNET.glob("*/package/dist/azmcp"):
            (scratch / "bin/azmcp").symlink_to(program)
        commands, lacks = commands_of(lines, path_of(scratch))
        results = run_all(commands, scratch)
    for command, (status, text) in zip(commands, results):
        shown = lines[command.last : command.end] if command.is_shown else []
        problem = problem_of(command, [] if WRITES else shown, status, text)
        if problem:
            failed += 1
            print(f"{path.name}:{command.first + 1}: {command.text}: {problem}")
    for program in lacks:
        print(f"skipped - {path.name}: no {program} here")
    print(f"{'FAILED' if failed else 'ok'} - {path.name}_is_true ({len(results)} of {len(commands)} commands)")
    if WRITES and not failed:
        for command, (_, text) in reversed(list(zip(commands, results))):
            if command.is_shown:
                lines[command.last : command.end] = [line.rstrip() for line in text.rstrip("\n").split("\n")] if text else []
        path.write_text("\n".join(lines))
    return failed > 0


def main():
    if not pathlib.Path("/usr/bin/sqlite3").exists():
        print("skipped - documents: no sqlite3 here")
        return 0
    return max(run_document(SOURCE / path) for path in sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
