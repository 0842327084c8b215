#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Wrong command lines over all commands, and the answers to them.

A row of a table is a command line, its exit status, and what the message must have.  Every answer
obeys one rule: a message on standard error that begins with "geiger: " and ends as a sentence,
nothing on standard output, and every file of the folder as it was before.

Exit statuses: 2, the command line is wrong; 1, the work failed; geiger record has 125 for both,
126 and 127 as env(1), because its other statuses are the command's.

GEIGER, GOLDEN_PROFILE: programs.  AGENT: the agent's library.  A build without it says so where a
line needs it, and the test judges nothing else there.
"""

import hashlib
import os
import pathlib
import re
import resource
import shlex
import subprocess
import sys

from sentences import check, in_scratch, skip

GEIGER = os.environ["GEIGER"]
NO_PID = str((1 << 22) + 1)  # above the kernel's largest pid_max
NO_AGENT = "the agent's library libgeiger-agent.so is not there"
SECONDS = 60

WRONG_LINES = (
    # Commands and help.
    ("reprot golden.geiger", 2, "Did you mean 'report'?"),
    ("--versoin", 2, "Did you mean '--version'?"),
    ("--color", 2, "--color auto|always|never"),
    ("--color=red report golden.geiger", 2, "auto|always|never"),
    ("golden.geiger", 2, "'geiger report golden.geiger' shows it."),
    ("4711", 2, "'geiger report 4711' shows it."),
    ("./golden", 2, "'geiger record ./golden' would profile it"),
    ("help nosuch", 2, "unknown command 'nosuch'"),
    ("help reprot", 2, "Did you mean 'report'?"),
    ("help report extra", 2, "unexpected operand 'extra'"),
    ("help fleet nosuch", 2, "'geiger help fleet' lists the commands."),
    ("fleet", 2, "'geiger help fleet' lists them."),
    ("fleet repotr", 2, "Did you mean 'report'?"),
    ("fleets", 2, "Did you mean 'fleet'?"),
    ("debug regionn", 2, "Did you mean 'region'?"),
    ("lab", 2, "'geiger help lab' lists them."),
    # Values of options.
    ("report golden.geiger --by", 2, "--by: needs a value"),
    ("report golden.geiger --by colour", 2, "Give one of function|line|"),
    ("report golden.geiger -m leftt", 2, "Give one of live|allocated|peak|"),
    ("report golden.geiger --limit x", 2, "'x' is not a whole number"),
    ("report golden.geiger --limit -3", 2, "'-3' is not a whole number"),
    ("report golden.geiger --limit 99999999999999999999", 2, "is too large"),
    ("report golden.geiger --at 3parsecs", 2, "Give a time since the start"),
    ("report golden.geiger --at -1s", 2, "Give a time since the start"),
    ("report golden.geiger --at", 2, "--at: needs a value"),
    ("report golden.geiger --between 5s", 2, "Give two times"),
    ("report golden.geiger --between 5s 1s", 2, "--between: the window ends before it begins"),
    ("report golden.geiger --focus '('", 2, "Give a POSIX extended expression"),
    ("tree golden.geiger --ignore '['", 2, "Give a POSIX extended expression"),
    ("report golden.geiger --confidence 2", 2, "--confidence"),
    ("report golden.geiger -m pinned -u count", 2, "Leave --unit away."),
    ("leaks golden.geiger --fail-above 1parsec", 2, "Give a size such as 4096"),
    ("diff golden.geiger golden.geiger --fail-on-growth 5", 2, "unexpected operand '5'"),
    ("export golden.geiger -f nonsense", 2, "'geiger export --help' lists the formats."),
    ("export golden.geiger", 2, "'geiger export --help' lists the formats."),
    ("serve golden.geiger --listen nowhere", 2, "Give an address and a port"),
    ("serve golden.geiger --listen 127.0.0.1:80000", 2, "Give an address and a port"),
    ("fleet report shop --slot 0.5s", 2, "a slot is a whole number of seconds"),
    ("fleet timeline shop --slot 1000d", 2, "a slot is a whole number of seconds"),
    ("send golden.geiger", 2, "Give --to URL"),
    ("send golden.geiger --to ftp://x", 2, "Give one such as http://localhost:4318"),
    ("env -i 5parsecs", 2, "Give a size such as 4096"),
    ("env --dir", 2, "--dir: needs a value"),
    ("report golden.geiger --process shop", 2, "--process: 'shop' is not a whole number"),
    ("tree golden.geiger --fold 200", 2, "200 is not between 0 and 100. Give a percentage"),
    ("top --delay x", 2, "Give a time such as 90, 1.5s"),
    ("clean --older-than x", 2, "Give a time such as 90, 1.5s"),
    ("clean --keep x", 2, "'x' is not a whole number"),
    ("html golden.geiger -o ''", 2, "--output: '' is not the name of a file. Give a name"),
    ("merge golden.geiger -o ''", 2, "--output: '' is not the name of a file. Give a name"),
    ("leaks golden.geiger -s ''", 2, "--suppressions: '' is not the name of a file. Give a name"),
    ("fleet timeline shop --since x", 2, "Give '2026-11-27 02:40' in UTC, a time ago such as 2h"),
    ("fleet receive --listen nowhere", 2, "geiger: --listen: 'nowhere' is not an address. Give an address and a port"),
    ("lab plan --profile golden.geiger --error x", 2, "'x'"),
    ("lab error --interval 0", 2, "The least is 1"),
    # Operands.
    ("report ''", 1, "'': No such file or directory"),
    ("diff golden.geiger ''", 1, "'': No such file or directory"),
    ("fleet up", 2, "Name one, such as /var/lib/geiger-fleet."),
    ("fleet load", 2, "geiger fleet load --service NAME PROFILE."),
    ("fleet rules", 2, "geiger fleet rules FILE evaluates one."),
    ("fleet report", 2, "geiger fleet services lists them."),
    ("fleet diff shop", 2, "geiger fleet diff SERVICE BEFORE AFTER."),
    ("lab plan", 2, "Try geiger lab plan --heap 4GiB --error 5%."),
    ("detach", 2, "Give its number: geiger detach PID."),
    ("attach 1 2 3", 2, "unexpected operand '2'"),
    ("attach --all", 2, "--all: needs a value: --all NAME."),
    ("sql golden.geiger 'select 1; select 2'", 2, "Ask one after the other."),
    ("sql golden.geiger 'select 1' --csv --json", 2, "Give one of the two."),
    ("control golden.geiger interval", 2, "geiger: control: interval: tell also a size, such as 64KiB."),
    ("control golden.geiger interval 5parsecs", 2, "control: interval: '5parsecs' is not a size from 1 to 256TiB. Give"),
    ("control golden.geiger overhead 900%", 2, "control: overhead: "),
    ("control golden.geiger on now", 2, "control: on: 'now' is one word too many."),
    ("report", 2, "no profile was given"),
    ("report golden.geiger golden.geiger extra", 2, "unexpected operand 'extra'"),
    ("diff golden.geiger", 2, "geiger diff BEFORE AFTER"),
    ("merge -o out.geiger", 2, "geiger merge A B -o FILE"),
    ("merge -o - golden.geiger", 2, "a profile is not written to standard output"),
    ("merge -o golden.geiger golden.geiger", 2, "is the profile itself"),
    ("salvage", 2, "'geiger ls' lists the regions"),
    ("control golden.geiger", 2, "geiger control PID on|off|"),
    ("control golden.geiger fly", 2, "There are: on, off,"),
    ("attach", 2, "geiger attach PID"),
    ("attach 0", 2, "'0' is not a pid"),
    ("attach abc", 2, "attach: 'abc' is not a pid"),
    ("detach abc", 2, "detach: 'abc' is not a pid"),
    ("sql golden.geiger 'select nothing from nowhere'", 2, "lists tables and views"),
    ("sql golden.geiger 'delete from sample'", 2, "a profile is not changed"),
    ("sql golden.geiger ''", 2, "there is no question"),
    # Files that are not what the command needs.
    ("report dir.geiger", 1, "dir.geiger: is a directory"),
    ("report /dev/null", 1, "/dev/null: is not a file"),
    ("report empty.geiger", 1, "it is empty. Profiles are made by"),
    ("report cut.geiger", 1, "truncated: 6000 of its "),
    ("report packed_cut.geiger", 1, "truncated: 3000 of its "),
    ("report text.geiger", 1, "not a profile. Profiles are made by"),
    ("report /bin/sh", 1, "not a profile. Profiles are made by"),
    ("check empty.geiger", 1, "it is empty"),
    ("pack text.geiger", 1, "not a profile"),
    ("diff golden.geiger text.geiger", 1, "text.geiger: not a profile"),
    ("merge -o out.geiger golden.geiger text.geiger", 1, "text.geiger: offset 0: geiger does not know the format"),
    ("import -o out.geiger empty.geiger", 1, "empty.geiger: offset 0: the file is empty"),
    ("import -o out.geiger /bin/sh", 1, "does not know the format"),
    ("import dir.geiger", 1, "dir.geiger: Is a directory"),
    ("salvage golden.geiger", 1, "golden.geiger: is not a region"),
    ("control golden.geiger status", 1, "golden.geiger: is not a region"),
    ("ls golden.geiger", 1, "Not a directory"),
    ("clean golden.geiger", 1, "Not a directory"),
    ("leaks imported.geiger", 1, "Compare two moments instead"),
    ("timeline imported.geiger", 1, "Compare two moments instead"),
    ("why imported.geiger", 1, "Ask the profiles that it was made of"),
    # Processes.
    (f"report {NO_PID}", 1, "there is no such process"),
    (f"attach {NO_PID}", 1, "there is no such process"),
    (f"detach {NO_PID}", 1, "there is no such process"),
    (f"control {NO_PID} status", 1, "there is no such process"),
    (f"top {NO_PID}", 1, "there is no such process"),
    (f"why {NO_PID}", 1, "there is no such process"),
    (f"serve {NO_PID}", 1, "there is no such process"),
    ("attach --all nosuchprogramhere", 1, "there is no such process"),
    ("attach --cgroup /nowhere", 1, "there is no such control group"),
    # Places for output.
    ("merge -o dir.geiger golden.geiger", 1, "is a directory"),
    ("merge -o /dev/full golden.geiger", 1, "is not a file"),
    ("merge -o text.geiger golden.geiger", 1, "something that is not a profile"),
    ("merge -o nowhere/x.geiger golden.geiger", 1, "nowhere/x.geiger: No such file or directory: 'nowhere' is not a"),
    ("pack golden.geiger -o nowhere/x", 1, "'nowhere' is not a directory. Make it first, or give another place."),
    ("import x.folded -o nowhere/x", 1, "'nowhere' is not a directory. Make it first, or give another place."),
    ("html golden.geiger -o nowhere/x", 1, "'nowhere' is not a directory. Make it first, or give another place."),
    ("html golden.geiger -o text.geiger/x", 1, "text.geiger/x: Not a directory: 'text.geiger' is not a directory."),
    ("html golden.geiger --diff nowhere", 1, "nowhere: No such file or directory"),
    ("export golden.geiger -f csv -o dir.geiger", 1, "dir.geiger: Is a directory"),
    ("export golden.geiger -f csv -o /dev/full", 1, "/dev/full: No space left on device"),
    ("export golden.geiger -f pprof -o nowhere/x", 1, "nowhere/x: No such file or directory"),
    ("export text.geiger -f csv -o kept.csv", 1, "not a profile"),
    ("html golden.geiger -o dir.geiger", 1, "dir.geiger: Is a directory"),
    ("html golden.geiger -o /dev/full", 1, "/dev/full: No space left on device"),
    ("html text.geiger -o kept.csv", 1, "not a profile"),
    ("pack golden.geiger -o dir.geiger", 1, "is a directory"),
    # geiger record keeps its own failures apart from the command's.
    ("record", 125, "Name it after the options"),
    ("record -i 5parsecs true", 125, "Give a size such as 4096"),
    ("record -i 0 true", 125, "out of range"),
    ("record -i", 125, "--interval: needs a value"),
    ("record --nonsense true", 125, "unknown option '--nonsense'"),
    ("record --pid 1", 125, "unknown option '--pid'. 'geiger attach PID' records a process that runs already."),
    ("record -p 1", 125, "unknown option '-p'. 'geiger attach PID' records"),
    ("record --follow-fork true", 125, "'--no-children' leaves them out."),
    ("record --exact -i 5k true", 125, "Leave out the other option."),
    ("record -o dir.geiger true", 125, "is a directory"),
    ("record -o nowhere/x.geiger true", 125, "'nowhere' is not a directory. Make it first, or give another place."),
    ("record -o text.geiger/x true", 125, "'text.geiger' is not a directory. Make it first, or give another place."),
    ("record -o '' true", 125, "--output: '' is not the name of a file"),
    ("record --scheme best true", 125, "Give one of poisson|bernoulli|"),
    ("record --overhead 500% true", 125, "Give 0.01% to 100%"),
    ("record --seed x true", 125, "'x' is not a whole number"),
    ("record --max-time x true", 125, "Give a time such as 90, 1.5s"),
    ("record --label x true", 125, "Give a pair such as host=web-3."),
    ("record -o /dev/full true", 125, "is not a file"),
    ("record ./nosuchprogram", 127, "./nosuchprogram: No such file or directory"),
    ("record nosuchprogramhere", 127, "nosuchprogramhere: No such file or directory"),
    ("record .", 126, ".: Permission denied"),
    ("record ./text.geiger", 126, "./text.geiger: Permission denied"),
)

# Commands that open a file first.
READERS = ("report", "tree", "leaks", "timeline", "why", "sql", "check", "symbolize", "html", "pack", "faults",
           "merge", "import", "salvage", "top", "serve", "control")
FULL = ("report", "tree", "leaks", "timeline", "sql", "report --json", "tree --json", "leaks --json",
        "timeline --json", "export -f csv", "export -f collapsed", "export -f pprof -o -")
# Answers to a user who does not own the files and the process.
FOREIGN = (
    ("report secret.geiger", 1, "secret.geiger: Permission denied"),
    ("symbolize golden.geiger", 1, "a readonly database. Write a copy: geiger pack -o FILE."),
    ("merge -o new.geiger golden.geiger", 1, "Permission denied"),
    ("merge -o secret.geiger golden.geiger", 1, "secret.geiger: Permission denied. Give another name."),
    ("html golden.geiger -o page.html", 1, "page.html: Permission denied"),
    ("export golden.geiger -f csv -o new.csv", 1, "new.csv: Permission denied"),
    ("record -o new.geiger true", 125, "Permission denied"),
    ("attach {pid}", 1, "belongs to another user"),
    ("detach {pid}", 1, "another user's"),
    ("report {pid}", 1, "another user's"),
    ("control {pid} status", 1, "another user's"),
)


def snapshot():
    """Hashes of all files of the folder."""
    found = {}
    for path in sorted(pathlib.Path(".").rglob("*")):
        is_file = path.is_file()
        found[str(path)] = hashlib.sha256(path.read_bytes()).hexdigest() if is_file else ""
    return found


def answered(arguments, stdout=subprocess.PIPE, **options):
    return subprocess.run([GEIGER, *arguments], stdout=stdout, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                          text=True, errors="replace", timeout=SECONDS, check=False, **options)


def judge(line, status, fragment, done, before):
    """Each way in which an answer is bad."""
    said = done.stderr.rstrip("\n")
    if "AGENT" not in os.environ and NO_AGENT in said:
        status, fragment = done.returncode, NO_AGENT
    ends_well = re.search(r"[.?\w\])]$", said)
    problems = (
        done.returncode != status and f"status {done.returncode}, not {status}",
        done.stdout and f"standard output has {done.stdout[:80]!r}",
        not said.startswith("geiger: ") and "does not begin with 'geiger: '",
        said.count("\n") > 0 and "more than one message",
        not ends_well and "does not end as a sentence",
        fragment not in said and f"has no {fragment!r}",
        snapshot() != before and "a file is new, gone or changed",
    )
    return [f"geiger {line}: {problem}: {said!r}" for problem in problems if problem]


def judge_lines(name, rows, **options):
    before, problems = snapshot(), []
    for line, status, fragment in rows:
        problems += judge(line, status, fragment, answered(shlex.split(line), **options), before)
    check(name, *problems)


def commands():
    """All commands, as words after "geiger"."""
    listed = answered(["help", "--list"]).stdout.split()
    return [name.split("-")[1:] for name in listed if name != "geiger"]


def runs(words):
    """False for the families, whose commands run."""
    return words not in (["fleet"], ["lab"], ["debug"])


def options_of(words):
    """(option, has a value) of the help of a command."""
    text = answered(["help", *words]).stdout
    return re.findall(r"^ +(?:-\w, )?(--[a-z-]+)( [A-Z]|\s[a-z]+\|)?", text, re.M)


def every_command():
    """Every command answers the same mistakes in the same way."""
    unknown, valueless = [], []
    for words in filter(runs, commands()):
        status = 125 if words == ["record"] else 2
        line = " ".join(words)
        unknown.append((f"{line} --zzzzzz", status, f"{line}: unknown option '--zzzzzz'. "))
        unknown.append((f"{line} --hepl", status, "Did you mean '--help'?"))
        unknown.append((f"{line} --json=yes" if "--json" in dict(options_of(words)) else f"{line} -Z", status,
                        f"{line}: "))
        for option, value in options_of(words):
            if value:
                valueless.append((f"{line} {option}", status, f"{option}: needs a value: {option}"))
    judge_lines("an_unknown_option_is_named", unknown)
    judge_lines("an_option_without_its_value_says_which", valueless)
    check("many_options_have_values", len(valueless) < 60 and f"{len(valueless)} only")


def no_room():
    problems = []
    for line in FULL:
        command, *more = line.split()
        arguments = [command, "golden.geiger", *more, *(["select 1"] if command == "sql" else [])]
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = answered(arguments, stdout=full)
        if done.returncode != 1 or done.stderr != "geiger: standard output: No space left on device.\n":
            problems.append(f"{line}: {done.returncode} {done.stderr!r}")
    check("output_that_has_no_room_is_an_error", *problems)


# A file may not grow beyond 1024 bytes.
SMALL_FILES = (
    ("html golden.geiger -o page.html", 1, "page.html: File too large"),
    ("export golden.geiger -f csv -o kept.csv", 1, "kept.csv: File too large"),
    ("merge -q -o new.geiger golden.geiger", 1, "/new.geiger: cannot be written: File too large"),
    ("import -q -o new.geiger x.folded", 1, "/new.geiger: cannot be written: File too large"),
    ("pack -o new.geiger golden.geiger", 1, "/new.geiger: cannot be written: File too large"),
    ("record -o new.geiger true", 125, "new.geiger: File too large"),
)
# A process may have eight open files.
FEW_FILES = (
    ("record -o new.geiger true", 125, "Too many open files. Allow more open files: ulimit -n."),
)


def limited(name, what, most, rows):
    judge_lines(name, rows, preexec_fn=lambda: resource.setrlimit(what, (most, most)))


def closed_output():
    """Standard output that the caller has closed is an error, and no file gets its number."""
    problems = []
    for line in FULL:
        command, *more = line.split()
        words = [GEIGER, command, "golden.geiger", *more, *(["select 1"] if command == "sql" else [])]
        done = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", *words], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=SECONDS, check=False)
        if done.returncode != 1 or done.stderr != "geiger: standard output: Bad file descriptor.\n":
            problems.append(f"{line}: {done.returncode} {done.stderr!r}")
    check("closed_output_is_an_error", *problems)


def full_disk():
    """On a full disk the message names the file of the command line, and no part of it stays."""
    if os.getuid() != 0:
        skip("a_full_disk_is_named_and_nothing_is_left", "only root mounts")
        return
    os.mkdir("disk")
    script = ("mount -t tmpfs -o size=16k none disk 2>/dev/null || exit 77\n"
              'for line in "html golden.geiger" "merge -q golden.geiger" "import -q x.folded" "pack golden.geiger";\n'
              'do "$0" $line -o disk/new; echo "$?" >&2; find disk -type f >&2; done')
    done = subprocess.run(["unshare", "-m", "sh", "-c", script, GEIGER], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=SECONDS, check=False)
    os.rmdir("disk")
    if done.returncode in (1, 77, 127):
        skip("a_full_disk_is_named_and_nothing_is_left", "no mounts here")
        return
    lines = done.stderr.splitlines()
    check("a_full_disk_is_named_and_nothing_is_left",
          lines[1::2] != ["1"] * 4 and done.stderr,
          [line for line in lines[::2] if not re.match(r"geiger: (\S*/)?disk/new: ", line)],
          "committed" in done.stderr and done.stderr)


def closed_pipe():
    """As of other programs: SIGPIPE ends the command, without a word."""
    problems = []
    for line in FULL:
        command, *more = line.split()
        arguments = [command, "golden.geiger", *more, *(["select 1"] if command == "sql" else [])]
        reading, writing = os.pipe()
        os.close(reading)
        done = answered(arguments, stdout=writing)
        os.close(writing)
        if done.returncode not in (-13, 0) or done.stderr:
            problems.append(f"{line}: {done.returncode} {done.stderr!r}")
    check("a_closed_pipe_ends_a_command_in_silence", *problems)


def foreign():
    if os.getuid() != 0:
        skip("another_user_gets_a_reason", "only root becomes another user")
        return
    os.chmod(".", 0o755)
    rows = [(line.format(pid=os.getpid()), status, fragment) for line, status, fragment in FOREIGN]
    judge_lines("another_user_gets_a_reason", rows, user=65534, group=65534, extra_groups=[])


def make_files():
    subprocess.run([os.environ["GOLDEN_PROFILE"], "golden.geiger"], check=True, capture_output=True)
    os.chmod("golden.geiger", 0o644)
    answered(["pack", "-o", "packed.geiger", "golden.geiger"])
    for path, text in (("x.folded", "main;f 10\n"), ("empty.geiger", ""), ("text.geiger", "hello\n"),
                       ("kept.csv", "kept\n")):
        pathlib.Path(path).write_text(text, encoding="utf-8")
    for path, source, length in (("cut.geiger", "golden.geiger", 6000), ("packed_cut.geiger", "packed.geiger", 3000)):
        pathlib.Path(path).write_bytes(pathlib.Path(source).read_bytes()[:length])
    answered(["import", "-q", "-o", "imported.geiger", "x.folded"])
    os.mkdir("dir.geiger")
    pathlib.Path("secret.geiger").write_bytes(pathlib.Path("golden.geiger").read_bytes())
    os.chmod("secret.geiger", 0)


def main():
    make_files()
    judge_lines("a_wrong_line_gets_a_message_that_helps", WRONG_LINES)
    missing = [(f"{command} missing.geiger" + (" status" if command == "control" else ""), 1, "missing.geiger: ")
               for command in READERS]
    judge_lines("a_missing_file_is_named_by_every_command", missing)
    every_command()
    no_room()
    closed_pipe()
    closed_output()
    limited("a_file_that_may_not_grow_is_an_error", resource.RLIMIT_FSIZE, 1024, SMALL_FILES)
    limited("too_few_open_files_are_named", resource.RLIMIT_NOFILE, 8, FEW_FILES)
    full_disk()
    foreign()
    alone = answered([])
    check("geiger_alone_lists_the_commands", alone.returncode != 2 and f"status {alone.returncode}",
          "Commands:" not in alone.stdout and alone.stdout)


if __name__ == "__main__":
    sys.exit(in_scratch(main))
