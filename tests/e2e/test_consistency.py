#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""All commands speak one language: options, letters, colors, JSON members and variables.

Tables of this file list the places in which two commands differ, with the reasons.  A new
difference is a failure, and so is a row that nothing needs any more.

GEIGER, GOLDEN_PROFILE, LOOKS_PROFILE: programs.  SOURCE: the sources.
"""

import collections
import json
import os
import pathlib
import re
import subprocess
import sys

from sentences import check, in_scratch, skip
from terminals import has_terminals, run_on_terminal

GEIGER = os.environ["GEIGER"]
SOURCE = pathlib.Path(os.environ["SOURCE"])

# Options whose text differs from command to command beyond "with --send:" and defaults, and why.
OTHER_TEXTS = {
    "all": "all of what the command lists",
    "all-frames": "the page has library frames in any case",
    "at": "leaks: the end of the run; diff: the looks; fleet: a time of day",
    "confidence": "send has totals alone, and the lab examines intervals",
    "dir": "attach has a region only without -o",
    "dry-run": "says what is not done",
    "error": "of a recording, or of a plan",
    "every": "a recording has a rate, and send has one only if asked",
    "focus": "of a recording: what is estimated best; of a report: which stacks",
    "format": "of what the command prints",
    "headers": "send has room to say what they are for",
    "host": "fleet load sets it, the questions select it",
    "hosts": "merge makes a label, and fleet receive draws hosts",
    "interval": "import reads with it, and does not sample",
    "json": "says what is printed where that is no report",
    "keep": "regions of clean, rows of a store",
    "label": "of the resource, or of the processes of a profile",
    "limit": "names the rows",
    "max-size": "of what is read, or of what is written",
    "max-time": "attach ends a recording only with -o",
    "metric": "a file of other tools has two, a screen has growth",
    "no-symbols": "attach resolves names only with -o",
    "normalize": "html compares only with --diff",
    "output": "names the file's default",
    "queue": "of the sender, or of the receiver",
    "quiet": "check has an exit status, control prints a status",
    "rate": "of false rows, of false hosts; of allocation in a plan",
    "runs": "of what the lab repeats",
    "samples": "of a table of the lab, or of a region",
    "seed": "of sample points, or of the lab's programs",
    "service": "send and record name the member of OpenTelemetry",
    "since": "of hosts that were seen, or of memory",
    "size": "of an allocation, or of all blocks",
    "slot": "of a fleet",
    "source": "in one page, or in pages",
    "state": "send has room to say what waits",
    "store": "fleet receive has room to say what that is",
    "svg": "what the lab draws",
    "tenant": "fleet up makes it",
    "timeout": "of a request, or of an insert",
    "total": "report sorts, diff compares",
    "version": "fleet load sets it, the questions select it",
}
# Letters with several options; each stands for one option in one command.
LETTERS = {
    "d": {"diff", "delay"},
    "f": {"fold", "format", "full"},
    "i": {"interval", "inverted"},
    "l": {"long", "label", "listen"},
    "n": {"dry-run", "limit", "looks", "frames", "runs"},
    "p": {"process", "pid"},
    "s": {"suppressions", "size", "sizes", "samples", "service"},
}
# Options whose letter means another option in some commands, or that came there later.
SOMETIMES_WITHOUT = {"error", "format", "keep", "label", "limit", "samples", "service", "size"}
OPTION = re.compile(r"^  (?:-(\w), |    )--([\w-]+)(?: ([^\s]+(?: T1)?))?(?:\n {20,}| {2,})(\S.*(?:\n {20,}\S.*)*)", re.M)
CONDITION = re.compile(r"^(?:with(?:out)? --?[\w-]+(?: to a fleet)?|of a (?:command|fleet)): ")
DEFAULT = re.compile(r" ?\([^)]*\)|;.*$")


def run(*arguments, **environment):
    return subprocess.run([GEIGER, *arguments], capture_output=True, text=True, check=False,
                          env={**os.environ, "COLUMNS": "80", "LC_ALL": "C.UTF-8", **environment})


def commands(*words):
    """The commands and verbs, each a tuple of words."""
    text = run("help", *words).stdout
    listed = re.search(r"^Commands:\n((?:  .*\n)+)", text, re.M)
    if not listed:
        return [words]
    names = re.findall(r"^  (\S.*?)  ", listed.group(1), re.M)
    return [each for name in names for each in commands(*(words + (name.split()[-1],)))]


def options_of(words):
    text = run("help", *words).stdout
    at = text.find("\nOptions:\n")
    return [] if at < 0 else OPTION.findall(text[at:])


def meaning(text):
    return DEFAULT.sub("", CONDITION.sub("", re.sub(r"\s+", " ", text))).strip()


def options_agree(tables):
    texts, letters = collections.defaultdict(dict), collections.defaultdict(set)
    for words, table in tables.items():
        for letter, name, value, text in table:
            texts[name].setdefault((letter, bool(value), meaning(text)), []).append(" ".join(words))
            if letter:
                letters[letter].add(name)
    for name, forms in texts.items():
        if len(forms) > 1 and name not in OTHER_TEXTS:
            yield f"--{name} differs: {forms}"
        if len({letter for letter, _, _ in forms}) > 1 and name not in SOMETIMES_WITHOUT:
            yield f"--{name} has a letter in some commands: {forms}"
    for letter, names in letters.items():
        if len(names) > 1 and names != LETTERS.get(letter):
            yield f"-{letter} stands for {names}"
    for name in OTHER_TEXTS:
        if len(texts[name]) < 2:
            yield f"OTHER_TEXTS has {name}, which does not differ"


def answers_of_all(tables):
    for words in tables:
        done = run(*words, "--no-such-option")
        wanted = 125 if words == ("record",) else 2
        if done.returncode != wanted or done.stdout or not done.stderr.startswith("geiger: "):
            yield f"{words} --no-such-option: {done}"
        done = run(*words, "--help")
        if done.returncode != 0 or done.stderr or not done.stdout.startswith("Usage: geiger "):
            yield f"{words} --help: {done}"


# --- JSON ---

JSON_LINES = ("report FILE", "report FILE --by stack", "report FILE --by type", "report FILE --by process",
              "tree FILE", "leaks FILE", "timeline FILE", "diff FILE FILE --all", "why FILE", "faults FILE",
              "top FILE -n 1", "check FILE")
# Members with several shapes: a list of things, and their number or sum.
SHAPES = {
    "processes": "the number in the head of a report; a list in `why` and `top`",
    "before": "a profile in the head of a diff, a triple in its rows",
    "after": "likewise",
    "live_bytes": "a triple; a number in classes, whose sums have no interval",
    "look_moment": "",
    "faults": "the number in the head of a report; the list of `geiger faults`",
    "live_count": "",
    "total": "a row in diff and top, a triple in rows",
    "stack": "",
}


def shape_of(value):
    if isinstance(value, dict):
        return "triple" if {"estimate", "low", "high"} <= value.keys() else "object"
    if isinstance(value, bool):
        return "truth"
    if isinstance(value, (int, float)):
        return "number"
    return {"str": "text", "list": "list", "NoneType": None}[type(value).__name__]


def members_of(value):
    if isinstance(value, list):
        for each in value:
            yield from members_of(each)
    elif isinstance(value, dict):
        for name, member in value.items():
            yield name, member
            yield from members_of(member)


def json_agrees(profiles):
    shapes, printed = collections.defaultdict(dict), 0
    documented = set(re.findall(r"[\w]+", (SOURCE / "docs/reference/JSON.md").read_text()))
    for profile in profiles:
        for line in JSON_LINES:
            done = run(*line.replace("FILE", profile).split(), "--json")
            if done.returncode != 0:
                continue
            printed += 1
            for name, value in members_of(json.loads(done.stdout)):
                shape = shape_of(value)
                if shape:
                    shapes[name].setdefault(shape, line)
                if name.endswith("_ns") and shape == "number" and value != int(value):
                    yield f"{name} in {line} is no whole number: {value}"
    if printed < len(JSON_LINES):
        yield f"only {printed} objects were printed"
    for name, forms in shapes.items():
        if len(forms) > 1 and name not in SHAPES:
            yield f"{name} has several shapes: {forms}"
        if name.endswith(("_bytes", "_count", "_ns", "_seconds")) and not forms.keys() <= {"number", "triple", "list"}:
            yield f"{name} has a unit, and is {forms}"
        if name.startswith(("is_", "has_")) and forms.keys() != {"truth"}:
            yield f"{name} asks a question, and is {forms}"
        if name not in documented:
            yield f"{name} of {forms} is not in docs/reference/JSON.md"


# --- Colors ---

COLORED = ("report FILE --no-pager", "tree FILE --no-pager", "leaks FILE --no-pager", "help")


def colors_follow_the_request(profile):
    for line in COLORED:
        words = line.replace("FILE", profile).split()
        if "\x1b[" not in run(*words, "--color", "always", NO_COLOR="1").stdout:
            yield f"{line} --color always has no color in a pipe"
        if "\x1b" in run(*words, TERM="xterm").stdout:
            yield f"{line} has color in a pipe"


def colors_on_a_terminal(profile):
    for line in COLORED:
        words = [GEIGER, *line.replace("FILE", profile).split()]
        cases = (([], {"NO_COLOR": ""}, True), ([], {"NO_COLOR": "1"}, False), ([], {"TERM": "dumb"}, False),
                 (["--color", "never"], {"NO_COLOR": ""}, False), (["--color=always"], {"NO_COLOR": "1"}, True),
                 (["--color", "auto"], {"NO_COLOR": ""}, True))
        for options, variables, wanted in cases:
            printed = run_on_terminal([*words, *options], **{"TERM": "xterm", "PAGER": "cat", **variables})
            if (b"\x1b[" in printed) != wanted:
                yield f"{line} {options} {variables}: color is {not wanted}: {printed[:200]}"


# --- Variables ---

READ = re.compile(r'"(GEIGER_[A-Z_]+)=?"')
NOT_OURS = {"GEIGER_WHEEL_BUILD", "GEIGER_"}  # a build of the wheel reads the first one


def names_are_known():
    read, listed = set(), set()
    for folder in ("src", "bindings"):
        for path in (SOURCE / folder).rglob("*"):
            if path.suffix in (".c", ".h", ".py", ".in"):
                read |= set(READ.findall(path.read_text(errors="replace")))
    text = (SOURCE / "src/cli/variables.c").read_text()
    table = text[text.index("names[] = {"):text.index("};")]
    listed = {"GEIGER_" + name for name in re.findall(r'"(\w+)"', table)}
    for name in sorted((read - listed - NOT_OURS) | (listed - read)):
        yield f"{name}: src/cli/variables.c and the other sources disagree"


def variables_are_checked():
    cases = (("GEIGER_INTERVL", "1k", "has no effect: did you mean GEIGER_INTERVAL?"),
             ("GEIGER_QQQQQQQQ", "1", "has no effect: geiger-agent(7) lists variables"),
             ("GEIGER_INTERVAL", "fast", "GEIGER_INTERVAL: 'fast' is not a size"),
             ("GEIGER_INTERVAL", "0", "GEIGER_INTERVAL: '0' is not a size"),
             ("GEIGER_SCHEME", "best", "GEIGER_SCHEME: 'best' is not a scheme"),
             ("GEIGER_FOCUS", "peak", "GEIGER_FOCUS: 'peak' is not live or allocated"),
             ("GEIGER_FOCUS", "allocated", ""), ("GEIGER_MODULES", "dlopen", "'dlopen' is not loader or maps"),
             ("GEIGER_MODULES", "maps", ""), ("GEIGER_KEEP", "0", "'0' is not a number from 1 to 512, or all"),
             ("GEIGER_KEEP", "513", "'513' is not a number from 1 to 512"), ("GEIGER_KEEP", "all", ""),
             ("GEIGER_KEEP", "512", ""), ("GEIGER_OVERHEAD", "5%", ""), ("GEIGER_OVERHEAD", "5", "'5' is not a share"),
             ("GEIGER_ERROR", "0.01%", "'0.01%' is not an error"),
             ("GEIGER_STARTUP", "4k", "'4k' is not INTERVAL:BYTES"), ("GEIGER_STARTUP", "4k:64M", ""),
             ("GEIGER_MMAP", "yes", "GEIGER_MMAP: 'yes' is not 0 or 1"), ("GEIGER_MMAP", "1", ""),
             ("GEIGER_MAX_FRAMES", "2000", "'2000' is not a number from 1 to 1024"),
             ("GEIGER_RING", "100", "'100' is not a number of events that is a power of two"),
             ("GEIGER_MAX_FRAMES", "64", ""), ("GEIGER_SEED", "0", "'0' is not a number from 1"),
             ("GEIGER_INTERVAL", "64k", ""), ("GEIGER_INTERVAL", "", ""), ("GEIGER_SCHEME", "stride", ""))
    for name, value, wanted in cases:
        for words in (("env",), ("record", "-q", "-o", "variables.geiger", "true")):
            done = run(*words, **{name: value})
            if done.returncode != 0:
                return
            if (wanted not in done.stderr) or (bool(wanted) != bool(done.stderr)):
                yield f"{name}={value} geiger {words}: {done.stderr!r}"


def main():
    profiles = ["golden.geiger", "looks.geiger"]
    subprocess.run([os.environ["GOLDEN_PROFILE"], profiles[0]], check=True, capture_output=True)
    subprocess.run([os.environ["LOOKS_PROFILE"], profiles[1], "40"], check=True, capture_output=True)
    tables = {words: options_of(words) for words in commands()}
    check("every_command_lists_its_options", *(f"{words} has none" for words in tables if not tables[words]))
    check("an_option_means_the_same_everywhere", *options_agree(tables))
    check("wrong_options_and_help_are_answered_alike", *answers_of_all(tables))
    check("a_json_member_has_one_shape_and_is_documented", *json_agrees(profiles))
    check("color_follows_the_request_in_a_pipe", *colors_follow_the_request(profiles[0]))
    if has_terminals():
        check("color_follows_the_request_on_a_terminal", *colors_on_a_terminal(profiles[0]))
    else:
        skip("color_follows_the_request_on_a_terminal", "no terminals here")
    check("the_names_of_variables_are_known", *names_are_known())
    check("variables_without_an_effect_are_named", *variables_are_checked())
    done = run("symbolize", "--offline", "--debug-dir", "nowhere", profiles[1])
    check("symbolize_names_a_directory_that_is_missing",
          None if done.returncode == 0 and "--debug-dir: 'nowhere' is not a directory" in done.stderr else done)
    done = run("pack", "--undo", profiles[0])
    check("pack_says_that_there_was_nothing_to_do",
          None if done.returncode == 0 and "is an ordinary profile already" in done.stderr else done)


if __name__ == "__main__":
    sys.exit(in_scratch(main))
