#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`geiger top -- COMMAND` records a command beside its output, and `geiger top PID` attaches.

The tests in tmux wait for texts and never for times; without tmux they are skipped.

GEIGER, AGENT: the program and the preload library.
"""

import json
import os
import pathlib
import pty
import shutil
import signal
import subprocess
import sys
import time

from sentences import check, in_scratch, skip
from terminals import has_terminals
from test_top_screen import GEIGER, TRIES, Tmux, await_screen, missing, whole

PYTHON = os.path.realpath(sys.executable)

# Prints hostile lines, reads its input, keeps blocks, and ends with status 3 at the file `end`.
PROGRAM = """
import os, signal, sys, time
print("first line \\x1b[2J\\x1b]0;owned\\x07", flush=True)
print("input: " + sys.stdin.read().strip(), flush=True)
print("session", os.getsid(0) == os.getppid(), "error", file=sys.stderr, flush=True)
kept = [bytearray(3000 + i % 700) for i in range(3000)]
print("kept %d" % len(kept), flush=True)
tries = 0
while not os.path.exists("end") and tries < 3000:
    time.sleep(0.02)
    tries += 1
print("last line", flush=True)
sys.exit(3)
"""

IDLE = """
import sys, time
kept = []
def keep():
    kept.append(bytearray(3000))
tries = 0
while tries < 6000:
    keep()
    time.sleep(0.05)
    tries += 1
"""


def write(name, text):
    pathlib.Path(name).write_text(text, encoding="utf-8")


def top(*arguments, **options):
    return subprocess.run([GEIGER, "top", *arguments], capture_output=True, text=True, check=False, **options)


def batch():
    """Frames go to stdout, and the output of the command to stderr."""
    with open("words", "w+", encoding="utf-8") as words, open("printed", "w", encoding="utf-8") as printed:
        words.write("words\n")
        words.seek(0)
        process = subprocess.Popen([GEIGER, "top", "--json", "-d", "1", "-i", "16k", "-o", "a.geiger", "--", PYTHON, "program.py"],
                                   stdin=words, stdout=subprocess.PIPE, stderr=printed, text=True)
    frames = []
    for line in process.stdout:
        frames.append(json.loads(line))
        if frames[-1]["live_bytes"]["estimate"] > 5e6:
            write("end", "")
    status = process.wait()
    check("a_command_is_followed_to_its_end_and_its_status_is_handed_on",
          None if status == 3 and frames else status, None if whole("a.geiger") else "no profile")
    check("frames_are_of_the_command", *(frame for frame in frames if "program.py" not in frame["command"]),
          None if not frames[-1]["alive"] else frames[-1])
    check("what_it_prints_goes_to_stderr", *missing(pathlib.Path("printed").read_text(encoding="utf-8"), "first line",
                                                    "input: words", "kept 3000", "last line"))
    few = top("-n", "1", "--", "sh", "-c", "exit 7")
    check("it_is_waited_for_after_the_last_frame", None if few.returncode == 7 and "recorded for" in few.stdout else few)
    logged = top("--batch", "--log", "log", "-o", "b.geiger", "--", PYTHON, "program.py", stdin=subprocess.DEVNULL)
    log = pathlib.Path("log").read_text(encoding="utf-8")
    check("a_log_gets_what_it_prints", *missing(log, "first line", "last line", "error"),
          *missing(logged.stderr, "b.geiger", "log"), None if "first line" not in logged.stderr else logged)
    os.unlink("end")


def refusals():
    for arguments, status in ((["--", "./nothing"], 127), (["--", "/etc/passwd"], 126), (["--"], 2), (["1", "--", "true"], 2),
                              (["1", "2"], 2), (["-o", "x.geiger", "1"], 2), (["--interval", "0", "--", "true"], 2)):
        done = top(*arguments)
        check(f"{' '.join(arguments)}_ends_with_{status}", None if done.returncode == status and done.stderr else done)


def signals():
    """A signal to `geiger top` reaches the command, whose end is waited for."""
    process = subprocess.Popen([GEIGER, "top", "--json", "-d", "1", "--", PYTHON, "program.py"], stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    process.stdout.read()
    check("a_signal_is_passed_on", None if process.wait() == 128 + signal.SIGTERM else process.returncode)


def await_file(name):
    for _ in range(TRIES):
        if pathlib.Path(name).exists():
            return True
        time.sleep(0.1)
    return False


def await_end(pid):
    for _ in range(TRIES):
        try:
            if pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0] == "Z":
                return True
        except FileNotFoundError:
            return True
        time.sleep(0.1)
    return False


def screen():
    before = set(pathlib.Path(".").glob("geiger-top-*"))  # of a command that outlived its terminal
    tmux = Tmux(100, 24)
    try:
        tmux.send(f"echo words | {GEIGER} top -d 1 -i 16k -o c.geiger -- {PYTHON} program.py; echo status $?", "Enter")
        text = tmux.wait("function", "output (v shows more): kept 3000")
        check("the_screen_has_the_last_line_of_the_output", *missing(text, "kept 3000", "program.py", "q quit"))
        tmux.send("v")
        text = tmux.wait("first line", "input: words")
        check("a_key_shows_the_end_of_the_output",
              *missing(text, "first line ", "session True error", "input: words", "any key goes back"))
        tmux.send("x")
        tmux.wait("1-9 rows")
        tmux.send("C-z")
        tmux.wait("Stopped")
        tmux.send("clear; fg", "Enter")
        check("ctrl_z_suspends_the_screen", *missing(tmux.wait("kept 3000", "1-9 rows"), "kept 3000"))
        write("end", "")
        text = tmux.wait("recording ended with status 3")
        check("the_end_of_the_command_is_told", *missing(text, "recording ended with status 3"))
        check("the_last_state_stays", *missing(tmux.wait("has ended with status 3; this"), "has ended with status 3; this"))
        tmux.send("q")
        text = tmux.wait("last line", "status 3")
        check("the_output_follows_the_screen", *missing(text, "input: words", "kept 3000", "last line", "geiger: wrote c.geiger"))
        check("the_profile_is_whole", None if whole("c.geiger") else "geiger report refuses it")
        check("no_file_of_the_output_stays", *set(pathlib.Path(".").glob("geiger-top-*")) - before)
        os.unlink("end")
        tmux.send(f"clear; {GEIGER} top -d 1 -- sh -c '{PYTHON} program.py; echo not reached'; echo status $?", "Enter")
        tmux.wait("function", "kept 3000")
        tmux.send("C-c")
        check("ctrl_c_interrupts_the_command_and_its_children",
              *missing(tmux.wait("recording ended with status 130"), "recording ended with status 130"))
        tmux.send("C-c")
        check("a_second_one_ends_the_screen", *missing(tmux.wait("status 130\n"), "status 130\n", "KeyboardInterrupt"))
        tmux.send(f"clear; {GEIGER} top -- true; echo status $?", "Enter")
        check("a_command_without_a_look_has_its_profile", *missing(tmux.wait("ended with status 0"), "true"))
        tmux.send("q")
        tmux.wait("status 0\n")
        tmux.send(f"clear; {GEIGER} top -d 1 -- {PYTHON} program.py; echo status $?", "Enter")
        tmux.wait("function", "kept 3000")
        tmux.send("q")
        tmux.wait("session True", "kept 3000")
        write("end", "")
        check("after_q_the_output_is_followed_until_the_end",
              *missing(tmux.wait("last line", "status 3"), "session True", "last line", "status 3"))
        os.unlink("end")
    finally:
        tmux.end()


def hangup():
    """The terminal goes away: the command gets the signal, and the profile is completed."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ.update(TERM="xterm-256color", LC_ALL="C.UTF-8")
        signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup ignores it
        os.execv(GEIGER, [GEIGER, "top", "-d", "1", "-o", "d.geiger", "--", PYTHON, "program.py"])
    got = await_screen(terminal, b"function")
    check("no_sequence_of_the_program_reaches_the_terminal", None if b"owned\x07" not in got else got)
    os.close(terminal)
    _, status = os.waitpid(pid, 0)
    check("the_screen_ends_with_its_terminal", None if os.WIFSIGNALED(status) else status)
    check("the_profile_is_completed_without_it", None if await_file("d.geiger") and await_whole("d.geiger") else "not whole")


def await_whole(profile):
    """A profile is whole when its session has an end."""
    for _ in range(TRIES):
        done = subprocess.run([GEIGER, "sql", profile, "select end_ns is not null from session"], capture_output=True, text=True,
                              check=False)
        if "1" in done.stdout.split():
            return True
        time.sleep(0.1)
    return False


def can_attach(pid):
    return subprocess.run([GEIGER, "attach", "-n", str(pid)], capture_output=True, check=False).returncode == 0


def attaches():
    """A process without the agent gets it after a question."""
    program = subprocess.Popen([PYTHON, "idle.py"])
    refused = top("--batch", "-n", "1", str(program.pid))
    check("without_a_screen_attach_is_named", None if refused.returncode == 1 else refused,
          *missing(refused.stderr, "geiger attach"))
    tmux = Tmux(100, 24)
    try:
        if not can_attach(program.pid):
            skip("attaches", "geiger attach cannot attach here")
            return
        tmux.send(f"{GEIGER} top --readonly {program.pid}; echo status $?", "Enter")
        check("readonly_does_not_attach", *missing(tmux.wait("status 1"), "without the agent", "status 1"))
        tmux.send(f"clear; {GEIGER} top {program.pid}; echo status $?", "Enter")
        tmux.wait("Attach it?")
        tmux.send("n")
        check("no_leaves_the_process_alone", *missing(tmux.wait("status 1"), "without the agent", "status 1"))
        tmux.send("clear", "Enter", f"{GEIGER} top -a -d 1; echo status $?", "Enter")
        tmux.wait("under the agent", "q quit")
        tmux.send("f", f"{program.pid} ", "Enter")
        tmux.wait("1 of 1", "no agent")
        tmux.send("Enter")
        check("the_list_asks", *missing(tmux.wait("Attach it?"), f"Process {program.pid} has no agent"))
        tmux.send("n")
        check("the_list_stays", *missing(tmux.wait("Nothing was changed"), "no agent"))
        tmux.send("q")
        tmux.wait("status 0")
        tmux.send(f"clear; {GEIGER} top -d 1 {program.pid}; echo status $?", "Enter")
        tmux.wait("Attach it?")
        tmux.send("y")
        check("yes_attaches_and_shows_the_process", *missing(tmux.wait("recorded for", "function"), "idle.py", "function"))
        tmux.send("0")
        check("the_list_has_the_cursor_on_it", *missing(tmux.wait("attached", str(program.pid)), "attached"))
        tmux.send("Enter")
        tmux.wait("recorded for", "1-9 rows")
        tmux.send("q")
        check("the_last_line_says_how_the_agent_goes",
              *missing(tmux.wait("status 0"), f"until: geiger detach {program.pid}"))
    finally:
        tmux.end()
        program.kill()
        program.wait()


def main():
    os.environ["GEIGER_DIR"] = os.environ["TMPDIR"] = os.getcwd()
    write("program.py", PROGRAM)
    write("idle.py", IDLE)
    batch()
    refusals()
    signals()
    if not has_terminals() or os.environ.get("HAS_NCURSES") != "1":
        skip("the_screen", "no terminals, or a build without ncurses")
        return
    hangup()
    if shutil.which("tmux") is None:
        skip("keys", "no tmux")
    else:
        screen()
        attaches()
    for socket in pathlib.Path(".").glob("tmux*"):
        socket.unlink(missing_ok=True)


if __name__ == "__main__":
    sys.exit(in_scratch(main))
