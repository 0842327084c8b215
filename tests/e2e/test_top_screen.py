#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The screen of `geiger top`: keys, sizes, suspending, and the terminal as it was afterwards.

The tests in tmux look at what a person sees; they wait for texts and never for times.  Without tmux
they are skipped, and so is everything in a chroot without terminals or a build without ncurses.

GEIGER, AGENT: the program and the preload library.
"""

import ctypes
import os
import pathlib
import pty
import re
import shutil
import signal
import subprocess
import sys
import termios
import time

from sentences import check, in_scratch, skip
from terminals import has_terminals, read_terminal

GEIGER, AGENT = os.environ["GEIGER"], os.environ["AGENT"]
TRIES = 300  # of a tenth of a second
FOOT = "q quit"
COLOR = re.compile(rb"\x1b\[(?:[0-9;]*;)?[349][0-9](?:;[0-9]+)*m")

PROGRAM = """
import sys
def cache_fill():
    return [bytearray(3000 + i % 700) for i in range(3000)]
kept = cache_fill()
print("ready", flush=True)
sys.stdin.read()
"""


def start():
    environment = dict(os.environ, LD_PRELOAD=AGENT, GEIGER_INTERVAL="16384")
    program = subprocess.Popen([os.path.realpath(sys.executable), "-c", PROGRAM, "\x1b[31mred"], text=True,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
    assert program.stdout.readline() == "ready\n"
    return program


class Tmux:
    """A terminal that a person would see, of its own server."""

    count = 0

    def __init__(self, width, height, **environment):
        Tmux.count += 1
        self.socket = os.path.abspath(f"tmux{Tmux.count}")
        settings = {key: value for key, value in os.environ.items() if key != "TMUX"}
        self.environment = {**settings, "LC_ALL": "C.UTF-8", "PS1": "$ ", **environment}
        self.call("-f", "/dev/null", "new-session", "-d", "-x", str(width), "-y", str(height), "sh -i")

    def call(self, *arguments):
        return subprocess.run(["tmux", "-S", self.socket, *arguments], env=self.environment, check=True,
                              capture_output=True, text=True).stdout

    def send(self, *keys):
        self.call("send-keys", *keys)

    def screen(self):
        return self.call("capture-pane", "-p")

    def wait(self, *texts):
        """The screen that has all texts; or the last one, after a long time."""
        for _ in range(TRIES):
            screen = self.screen()
            if all(text in screen for text in texts):
                break
            time.sleep(0.1)
        return screen

    def wait_for_lines(self, count):
        """The screen with its last line, of so many, drawn; or the last one, after a long time."""
        for _ in range(TRIES):
            screen = self.screen()
            if len(screen.rstrip("\n").split("\n")) == count:
                break
            time.sleep(0.1)
        return screen

    def end(self):
        self.call("kill-server")


def missing(screen, *texts):
    """Problems: the texts that the screen lacks."""
    return [f"no {text!r} in\n{screen}" for text in texts if text not in screen]


def whole(profile):
    return subprocess.run([GEIGER, "report", profile], stdout=subprocess.DEVNULL, check=False).returncode == 0


def status_of(program):
    return subprocess.run([GEIGER, "control", str(program.pid), "status"], capture_output=True, text=True,
                          check=True).stdout


def keys(program):
    tmux = Tmux(100, 24)
    try:
        tmux.send("stty -a > before; clear", "Enter")
        tmux.send(f"{GEIGER} top {program.pid} -d 1; stty -a > after; echo over", "Enter")
        screen = tmux.wait("live ", FOOT)
        check("a_screen_has_head_table_and_keys", *missing(screen, str(program.pid), "change", "function", FOOT))
        check("a_long_name_is_cut_with_a_mark", *missing(screen, "…"))
        tmux.send("?")
        check("a_key_shows_the_help", *missing(tmux.wait("set the mark"), "q, F10"))
        tmux.call("resize-window", "-x", "80", "-y", "12")
        tmux.wait("q, F10", "other key goes back")
        tmux.send("G")
        check("the_help_scrolls", *missing(tmux.wait("Ctrl-L, Ctrl-Z"), "suspend", "ask first"))
        tmux.call("resize-window", "-x", "100", "-y", "24")
        tmux.send("Escape")
        tmux.wait(FOOT)
        tmux.send("Enter")
        check("enter_opens_a_row", *missing(tmux.wait("callers", "ages of"), "callers", "callees", "Esc back"))
        tmux.call("resize-window", "-x", "50", "-y", "9")
        check("an_open_row_is_resized", *missing(tmux.wait("callers", "Esc back"), "callers", "Esc back"))
        tmux.call("resize-window", "-x", "100", "-y", "24")
        tmux.send("Escape")
        check("escape_closes_it", *missing(tmux.wait("1-9 rows"), "1-9 rows"))
        tmux.send("t")
        check("a_letter_shows_the_tree", *missing(tmux.wait("  tree", "t table"), "  tree", "  - "))
        tmux.call("resize-window", "-x", "60", "-y", "10")
        check("the_tree_is_resized", *missing(tmux.wait("  tree", "t table"), "  tree"))
        tmux.call("resize-window", "-x", "100", "-y", "24")
        tmux.send("w")
        tmux.wait("write a profile")
        tmux.send("seen.geiger", "Enter")
        check("w_writes_a_profile", *missing(tmux.wait("Wrote seen.geiger"), "Wrote seen.geiger"))
        check("the_profile_is_whole", None if whole("seen.geiger") else "geiger report refuses it")
        tmux.send("w")
        tmux.wait("write a profile")
        tmux.send("seen.geiger", "Enter")
        check("a_file_is_replaced_after_a_question", *missing(tmux.wait("Replace it?"), "Replace it?"))
        tmux.send("n")
        tmux.wait("Nothing was changed")
        tmux.send("o")
        tmux.wait("Switch sampling off")
        tmux.send("y")
        check("o_switches_sampling_off", *missing(tmux.wait("Each thread follows"), "Each thread follows"),
              None if "sampling     on" not in status_of(program) else "it is on")
        tmux.send("i")
        tmux.wait("bytes per sample")
        tmux.send("64k", "Enter")
        tmux.wait("One sample per 64")
        tmux.send("y")
        check("i_sets_the_interval", *missing(tmux.wait("Each thread follows"), "Each thread follows"),
              *missing(status_of(program), "64"))
        tmux.send("6")
        check("a_digit_chooses_rows", *missing(tmux.wait("age  size"), "age  size"))
        tmux.send("m")
        check("a_letter_chooses_the_metric", *missing(tmux.wait("growth"), "growth"))
        tmux.send("Space")
        check("space_pauses", *missing(tmux.wait("PAUSED"), "PAUSED"))
        tmux.send("w")
        check("w_says_which_state_a_paused_screen_writes",
              *missing(tmux.wait("not of the paused display"), "as of now, not of the paused display"))
        tmux.send("Escape")
        tmux.wait("PAUSED")
        for width, height in ((60, 10), (200, 50), (30, 6), (100, 24)):
            tmux.call("resize-window", "-x", str(width), "-y", str(height))
            text = "40 x 8" if width < 40 else FOOT
            check(f"the_screen_fits_{width}_x_{height}", *missing(tmux.wait(text), text))
        tmux.send("C-z")
        check("ctrl_z_gives_the_shell_its_terminal", *missing(tmux.wait("Stopped"), "Stopped"))
        tmux.send("fg", "Enter")
        check("fg_brings_the_screen_back", *missing(tmux.wait("PAUSED"), "PAUSED"))
        tmux.send("q")
        check("q_leaves_one_line", *missing(tmux.wait("over\n"), f"geiger top: process {program.pid}: live "))
        with open("before", encoding="utf-8") as one, open("after", encoding="utf-8") as other:
            check("the_terminal_is_as_it_was", None if one.read() == other.read() else "other settings")
    finally:
        tmux.end()


# Keys that begin a mode, a text of its screen, and what typed characters add to its last line.
MODES = {
    "search": ("/", "search: ", "ab_"),
    "filter": ("f", "only names with: ", "ab_"),
    "write": ("w", "write a profile to the file: ", "ab_"),
    "delay": ("d", "seconds between looks, now 1: ", "ab_"),
    "interval": ("i", "bytes per sample, now ", "ab_"),
    "question": ("o", "Switch sampling ", None),
    "help": ("?", "Keys", None),
    "notes": ("!", "otes on the recording", None),
    "why": ("R", "Where RSS goes, as it was ", None),
    "row": ("Enter", "callers", None),
    "tree": ("t", "t table", None),
}


def modes(program):
    """Each mode stays on a larger and a smaller terminal, and after Ctrl-Z and fg."""
    tmux = Tmux(100, 24)
    try:
        tmux.send(f"{GEIGER} top {program.pid} -d 1", "Enter")
        tmux.wait("1-9 rows")
        for name, (key, text, typed) in MODES.items():
            tmux.send(key)
            tmux.wait(text)
            tmux.call("resize-window", "-x", "110", "-y", "30")
            screen = tmux.wait_for_lines(30)
            check(f"the_mode_{name}_fits_a_larger_terminal", *missing(screen, text))
            tmux.call("resize-window", "-x", "60", "-y", "9")
            if typed:
                tmux.send("ab")
            screen = tmux.wait(text, typed or text)
            check(f"the_mode_{name}_fits_a_smaller_terminal", *missing(screen, text, typed or text))
            tmux.call("resize-window", "-x", "100", "-y", "24")
            tmux.send("C-z")
            tmux.wait("Stopped")
            tmux.send("clear; fg", "Enter")
            check(f"the_mode_{name}_survives_ctrl_z", *missing(tmux.wait(text, typed or text), text, typed or text))
            tmux.send("t" if name == "tree" else "Escape")
            if name == "question":
                tmux.wait("Nothing was changed")
                tmux.send("Escape")
            tmux.wait("1-9 rows")
        tmux.send("q")
        tmux.wait(f"geiger top: process {program.pid}: live ")
    finally:
        tmux.end()


def list_of_processes(program):
    tmux = Tmux(100, 24)
    try:
        tmux.send(f"{GEIGER} top -d 1; echo over", "Enter")
        screen = tmux.wait("under the agent", str(program.pid), FOOT)
        check("without_a_target_there_is_a_list", *missing(screen, "RSS", "state", str(program.pid)))
        tmux.send("f")
        tmux.wait("only names with")
        tmux.send(f"{program.pid} ", "Enter")
        check("a_list_is_filtered", *missing(tmux.wait("1 of 1"), "1 of 1"))
        tmux.send("Enter")
        check("enter_opens_a_process", *missing(tmux.wait("allocates", "function"), "function", str(program.pid)))
        tmux.send("Left")
        check("left_goes_back_to_the_list", *missing(tmux.wait("under the agent", "1 of 1"), "under the agent"))
        tmux.send("Enter")
        tmux.wait("function", "1-9 rows")
        tmux.send("d")
        tmux.wait("now 1: ")
        tmux.send("7", "Enter")
        tmux.wait("1-9 rows")
        tmux.send("2", "m")
        tmux.wait("growth", "line", "1-9 rows")
        tmux.send("Escape")
        check("escape_does_so_as_well", *missing(tmux.wait("under the agent"), "under the agent"))
        tmux.send("d")
        check("the_delay_survives_the_way_back", *missing(tmux.wait("now 7: "), "now 7: "))
        tmux.send("Escape", "Enter")
        check("rows_and_metric_survive_another_target", *missing(tmux.wait("growth", "1-9 rows"), "growth", "line"))
        tmux.send("d")
        check("the_delay_survives_another_target", *missing(tmux.wait("now 7: "), "now 7: "))
        tmux.send("1", "Enter", "Left")
        tmux.wait("under the agent", "1 of 1")
        tmux.send("Escape", "a")
        check("a_key_shows_all_processes", *missing(tmux.wait("no agent"), "no agent", "without it"))
        tmux.send("q")
        tmux.wait("over\n")
    finally:
        tmux.end()


def await_screen(terminal, text):
    """Reads until the terminal got that text."""
    got = b""
    while text not in got:
        got += os.read(terminal, 65536)
    return got


def thread_of_looks(pid):
    """The other thread of the command."""
    for _ in range(TRIES):
        others = [int(task) for task in os.listdir(f"/proc/{pid}/task") if int(task) != pid]
        if others:
            return others[0]
        time.sleep(0.1)
    raise TimeoutError("no thread of looks")


def ended_by(program, number, terminal_type, in_looks=False):
    """How the command ends by that signal, and whether its terminal is as before."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ.update(TERM=terminal_type, LC_ALL="C.UTF-8", LINES="24", COLUMNS="80")
        os.execv(GEIGER, [GEIGER, "top", str(program.pid), "-d", "1"])
    before = termios.tcgetattr(terminal)
    await_screen(terminal, b"function")
    changed = termios.tcgetattr(terminal)[3] != before[3]
    if in_looks:
        ctypes.CDLL(None).tgkill(pid, thread_of_looks(pid), number)
    else:
        os.kill(pid, number)
    try:
        after = termios.tcgetattr(terminal)
        status = None
        while status is None:  # what it prints at its end must be read, or it waits
            done, code = os.waitpid(pid, os.WNOHANG)
            status = code if done else None
            if status is None:
                os.set_blocking(terminal, False)
                try:
                    os.read(terminal, 65536)
                except OSError:
                    time.sleep(0.01)
        after = termios.tcgetattr(terminal)
    finally:
        os.close(terminal)
    yield None if changed else "the screen did not change the terminal"
    yield None if os.WIFSIGNALED(status) and os.WTERMSIG(status) == number else f"status {status}"
    yield None if after == before else f"{after}, not {before}"


def signals(program):
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGSEGV, signal.SIGABRT):
        check(f"{signal.Signals(number).name}_restores_the_terminal", *ended_by(program, number, "xterm-256color"))
    check("a_crash_in_a_look_restores_the_terminal",
          *ended_by(program, signal.SIGSEGV, "xterm-256color", in_looks=True))
    for terminal_type in ("vt100", "linux", "screen"):
        check(f"{terminal_type}_is_restored", *ended_by(program, signal.SIGTERM, terminal_type))


def dumb(program):
    """Without a screen one frame is printed."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ.update(TERM="dumb", LC_ALL="C.UTF-8")
        os.execv(GEIGER, [GEIGER, "top", str(program.pid)])
    text = read_terminal(terminal).decode()
    os.waitpid(pid, 0)
    check("a_dumb_terminal_gets_a_frame", None if "function" in text and "\x1b[?" not in text else text)


def plain_bytes(region, **environment):
    """The bytes that a terminal with colors gets of a screen, its help and its end."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ.update(TERM="xterm-256color", LINES="24", COLUMNS="80", **environment)
        os.execv(GEIGER, [GEIGER, "top", region, "-d", "1"])
    got = await_screen(terminal, b"function")
    os.write(terminal, b"?")
    got += await_screen(terminal, b"F10")
    os.write(terminal, b"q")
    os.write(terminal, b"q")
    got += read_terminal(terminal)
    os.waitpid(pid, 0)
    return got


def colors_and_characters():
    """The screen of a process that has ended, which is a warning in a color."""
    program = start()
    program.kill()
    program.wait()
    region = str(next(pathlib.Path(".").glob(f"geiger-{program.pid}-*.region")))
    colored = plain_bytes(region, LC_ALL="C.UTF-8")
    check("a_warning_has_a_color", None if COLOR.search(colored) else colored)
    check("a_cut_name_has_a_character_of_utf_8", None if not colored.isascii() else colored)
    plain = plain_bytes(region, LC_ALL="C.UTF-8", NO_COLOR="1")
    check("no_color_is_heeded", COLOR.search(plain), None if b"has ended" in plain or b"was killed" in plain else plain)
    ascii_only = plain_bytes(region, LC_ALL="C")
    check("an_ascii_locale_gets_ascii", None if ascii_only.isascii() else ascii_only)


def main():
    os.environ["GEIGER_DIR"] = os.getcwd()
    if not has_terminals() or os.environ.get("HAS_NCURSES") != "1":
        skip("the_screen", "no terminals, or a build without ncurses")
        return
    program = start()
    try:
        signals(program)
        dumb(program)
        colors_and_characters()
        if shutil.which("tmux") is None:
            skip("keys", "no tmux")
        else:
            keys(program)
            modes(program)
            list_of_processes(program)
    finally:
        program.stdin.close()
        program.wait()
    for socket in pathlib.Path(".").glob("tmux*"):
        socket.unlink(missing_ok=True)


if __name__ == "__main__":
    sys.exit(in_scratch(main))
