#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Long work shows a line on a terminal, which is gone before anything is printed.

GEIGER_PROGRESS_MS=0 draws each report at once, so that no test depends on time.

GEIGER, GOLDEN_PROFILE: programs.  AGENT: the library, where programs can run with it.
"""

import os
import re
import signal
import subprocess
import sys
import urllib.request

from sentences import check, in_scratch, skip
from terminals import has_terminals, read_terminal, run_on_terminal

GEIGER = os.environ["GEIGER"]
AGENT = os.environ.get("AGENT", "")


def on_terminal(*arguments, after_ms="0", term="xterm"):
    """The bytes that a terminal gets from geiger."""
    return run_on_terminal([GEIGER, *arguments], TERM=term, GEIGER_PROGRESS_MS=after_ms,
                           GEIGER_PAGER="").decode("utf-8")


def screen(printed):
    """The lines that a terminal shows in the end."""
    lines, column = [[]], 0
    for part in re.findall(r"\x1b\[[0-9;]*[A-Za-z]|.", printed, re.DOTALL):
        if part == "\r":
            column = 0
        elif part == "\n":
            lines.append([])
            column = 0
        elif part == "\x1b[K":
            del lines[-1][column:]
        elif not part.startswith("\x1b"):
            lines[-1][column:column + 1] = [part]
            column += 1
    return "\n".join("".join(line).rstrip() for line in lines)


def shows(name, steps, *arguments):
    """Each step of the command has a line, and the screen ends as it does without lines."""
    printed = on_terminal(*arguments)
    without = on_terminal(*arguments, after_ms="1000000000")
    missing = [step for step in steps if f"\rgeiger: {step} ... " not in printed]
    check(f"{name}_shows_what_it_does", missing and f"{missing} in {printed!r}")
    check(f"{name}_erases_its_lines", None if "..." not in re.sub("geiger: (next|peak|live).*", "", screen(printed))
          else screen(printed))
    check(f"{name}_draws_nothing_before_its_time", "\x1b[K" in without and without)
    return screen(printed), screen(without)


def same(name, screens):
    check(f"{name}_prints_the_same_with_lines", None if screens[0] == screens[1] else f"{screens}")


def in_a_pipe(name, *arguments):
    environment = {**os.environ, "GEIGER_PROGRESS_MS": "0", "TERM": "xterm"}
    done = subprocess.run([GEIGER, *arguments], capture_output=True, check=False, env=environment)
    check(f"{name}_draws_nothing_in_a_pipe", (b"\r" in done.stderr or b"\x1b[K" in done.stdout) and f"{done.stderr}")


def quiet(name, *arguments):
    printed = on_terminal(*arguments)
    check(f"{name}_draws_nothing_with_q", ("\x1b[K" in printed or "..." in printed) and printed)


def reports():
    for command in ("report", "tree", "leaks", "timeline"):
        same(command, shows(command, ["reading samples"], command, "golden.geiger"))
        in_a_pipe(command, command, "golden.geiger")
    same("diff", shows("diff", ["reading samples"], "diff", "golden.geiger", "golden.geiger"))
    same("html", shows("html", ["reading samples", "computing the page"], "html", "golden.geiger", "-o", "page.html"))
    quiet("html", "html", "-q", "golden.geiger", "-o", "page.html")
    same("export", shows("export", ["reading samples", "exporting"], "export", "golden.geiger", "-o", "out.pb.gz"))
    check("a_terminal_that_cannot_erase_gets_no_lines",
          "..." in on_terminal("export", "golden.geiger", "-o", "out.pb.gz", term="dumb") and "it does")


def writers():
    with open("x.collapsed", "w", encoding="utf-8") as file:
        # The importer reports every few thousand lines.
        file.writelines(f"main;f{i} 5\n" for i in range(100000))
    commands = {
        "merge": (["merging profiles"], "golden.geiger", "-o", "merged.geiger"),
        "import": (["reading"], "x.collapsed", "-o", "imported.geiger"),
    }
    for command, (steps, *arguments) in commands.items():
        same(command, shows(command, steps, command, *arguments))
        quiet(command, command, "-q", *arguments)
        in_a_pipe(command, command, *arguments)
    shows("symbolize", ["adding up samples"], "symbolize", "golden.geiger")
    in_a_pipe("symbolize", "symbolize", "golden.geiger")


def recordings():
    shows("record", ["writing samples", "looking up names", "adding up samples", "reading samples"],
          "record", "-i", "1", "-o", "r.geiger", "--", "/bin/ls", ".")
    quiet("record", "record", "-q", "-i", "1", "-o", "r.geiger", "--", "/bin/ls", "r.geiger")
    in_a_pipe("record", "record", "-i", "1", "-o", "r.geiger", "--", "/bin/ls", "r.geiger")
    environment = {**os.environ, "GEIGER_DIR": os.getcwd(), "LD_PRELOAD": AGENT, "GEIGER_INTERVAL": "1"}
    subprocess.run(["/bin/ls", "-l"], env=environment, capture_output=True, check=False)
    regions = [name for name in os.listdir(".") if name.endswith(".region")]
    if not regions:
        check("a_program_leaves_a_region", f"{os.listdir('.')}")
        return
    shows("salvage", ["writing samples", "looking up names"], "salvage", regions[0], "-o", "salvaged.geiger")
    quiet("salvage", "salvage", "-q", regions[0], "-o", "salvaged.geiger")
    shows("report_of_a_region", ["looking up names"], "report", regions[0])
    shows("sql_of_a_region", ["looking up names"], "sql", regions[0], "select count(*) from v_function")
    shows("merge_of_a_region", ["merging profiles", "looking up names"], "merge", regions[0], "-o", "merged.geiger")


def serves():
    """A request makes lines, and Ctrl-C is what ends them; the address stays on the screen."""
    environment = {**os.environ, "GEIGER_PROGRESS_MS": "0", "TERM": "xterm"}
    master, slave = os.openpty()
    with subprocess.Popen([GEIGER, "serve", "golden.geiger"], stdout=subprocess.PIPE, stderr=slave,
                          env=environment) as server:
        os.close(slave)
        address = server.stdout.readline().decode("utf-8").strip()
        token = address.rpartition("token=")[2]
        request = urllib.request.Request(address.partition("?")[0] + "data",
                                         headers={"Authorization": f"Bearer {token}"})
        try:
            with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request) as answer:
                answer.read()
        finally:
            server.send_signal(signal.SIGINT)
        printed = read_terminal(master).decode("utf-8")
    missing = [step for step in ("reading samples", "computing the page")
               if f"\rgeiger: {step} ... " not in printed]
    check("serve_shows_what_it_does", missing and f"{missing} in {printed!r}")
    check("serve_erases_its_lines", "..." in screen(printed) and screen(printed))


def main():
    if not has_terminals():
        skip("progress", "no terminal: /dev/pts is not mounted")
        return
    subprocess.run([os.environ["GOLDEN_PROFILE"], "golden.geiger"], check=True, capture_output=True)
    reports()
    writers()
    serves()
    if AGENT:
        recordings()


if __name__ == "__main__":
    sys.exit(in_scratch(main))
