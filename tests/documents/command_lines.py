#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""command_lines.py [FOLDER] - each command line of geiger in a document names a command and options
that exist.

run.py runs the sessions of a few documents.  All other documents show command lines as well: in
fenced blocks, in backticks, in manual pages.  This test finds options that were renamed or never
existed.

GEIGER is the program.
"""

import os
import pathlib
import re
import subprocess
import sys

GEIGER = os.environ["GEIGER"]
FOLDER = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2]
DOCUMENTS = ("*.md", "docs/*.md", "docs/internals/*.md", "docs/reference/*.md", "docs/man/*.scd", "bindings/**/*.md",
             "examples/**/*.md", "packaging/**/*.md", "script/demo*")
# A command of geiger at the beginning of a line, or behind a word or a sign of a shell.
FENCED = re.compile(r"(?:^|[|;&(] *|\$ |\$\(|sudo |exec |run '?\"?)geiger ([a-z].*)")
QUOTED = re.compile(r"`(?:\$ |sudo )?geiger ([a-z][^`]*)`")
FAMILIES = ("fleet", "debug", "lab")
LABELS = ("docs/BENCHMARKS.md",)  # blocks of figures, whose rows begin with names of ways to profile
RUNS_OTHERS = ("record", "top", "env")  # the words after their first operand are another program's
OPTION = re.compile(r"^(--?[a-zA-Z][a-z-]*)(=.*)?$")


def help_of(*words):
    return subprocess.run([GEIGER, "help", *words], capture_output=True, text=True, check=True).stdout


def tables():
    """The options of each command: {"fleet report": {"--by": True}}; True if it takes a value."""
    found = {}
    for name in help_of("--list").split():
        words = tuple(name.split("-")[1:])
        if not words or words in ((family,) for family in FAMILIES):
            continue
        options = {}
        form = r"^ +(?:(-\w), )?(--[a-z-]+)( +[A-Z][A-Z0-9=]*\b| [a-z0-9]+\|\S+|\[=\w+\])?"
        for letter, option, value in re.findall(form, help_of(*words), re.M):
            for key in filter(None, (letter, option)):
                options[key] = bool(value.strip()) and not value.startswith("[")
        found[" ".join(words)] = options
    return found


def lines_of(path):
    """(line number, words after "geiger") of a document."""
    is_fenced, held, first = False, "", 0
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
        if line.startswith("```"):
            is_fenced = not is_fenced
            continue
        held, first = (held + line.lstrip(), first) if held else (line, number)
        if is_fenced and held.endswith("\\"):
            held = held[:-1]
            continue
        text, held = held, ""
        is_code = is_fenced or path.suffix == ""
        for match in (FENCED if is_code else QUOTED).finditer(text.strip()):
            yield first, match.group(1)


def problem_of(text, known):
    """Returns the first problem of a command line, or None."""
    # Blocks have explanations beside commands.
    text = re.sub(r"  .*| #.*", "", text)
    words = re.split(r"\s+", re.split(r"[;|&<>)]|\$\(", text)[0].strip())
    command = " ".join(words[:2]) if words[0] in FAMILIES else words[0]
    words = words[len(command.split()):]
    if command not in known:
        return None if command in ("help", *FAMILIES) or command.endswith(" ...") else f"no command '{command}'"
    options = known[command]
    at = 0
    while at < len(words):
        word = words[at].strip("[]'\",.:*_\\")
        match = OPTION.match(word)
        at += 1
        if word == "--" or (command in RUNS_OTHERS and not word.startswith("-")):
            return None
        if not match:
            continue
        name = match.group(1)
        if not name.startswith("--") and name not in options and name[:2] in options:
            name = name[:2]  # -i64k
        if name not in options:
            return f"'{command}' has no option {name}"
        at += options[name] and not match.group(2)
    return None


def main():
    known, count, problems = tables(), 0, []
    for path in sorted({path for form in DOCUMENTS for path in FOLDER.glob(form)}):
        name = str(path.relative_to(FOLDER))
        for number, text in lines_of(path) if name not in LABELS else ():
            count += 1
            problem = problem_of(text, known)
            if problem:
                problems.append(f"{name}:{number}: {problem}: geiger {text}")
    for problem in problems:
        print(problem)
    if count < 300:
        problems.append(f"only {count} command lines were found")
        print(problems[-1])
    print(f"{count} command lines, {len(problems)} of them wrong")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
