#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`geiger attach --dry-run` tells what forbids an attach, with its remedy, and changes nothing.

GEIGER, SURVEY_TARGET, SURVEY_STATIC: the program, a process to look at, the same linked statically.
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

from sentences import check, in_scratch, skip

GEIGER = os.environ["GEIGER"]
TARGET = os.environ["SURVEY_TARGET"]
STATIC = os.environ["SURVEY_STATIC"]


class Started:
    """A process that has printed its first line; ends with the block."""

    def __init__(self, *words, **how):
        self.words, self.how = words, how

    def __enter__(self):
        self.process = subprocess.Popen(self.words, stdout=subprocess.PIPE, text=True, **self.how)
        self.line = self.process.stdout.readline().strip()
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGCONT)
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    @property
    def pid(self):
        return self.process.pid


def look(pid, *options, **how):
    return subprocess.run([GEIGER, "attach", "--dry-run", *options, str(pid)], capture_output=True, text=True, **how)


def found(pid, **how):
    return json.loads(look(pid, "--json", **how).stdout)


def is_refused(name, pid, code, word, **how):
    """The obstacle is in the JSON, the text and the error; the exit status is 1."""
    table, text = found(pid, **how), look(pid, **how)
    codes = [obstacle["code"] for obstacle in table["obstacles"]]
    check(name,
          None if codes[:1] == [code] and table["attachable"] is False else f"{codes}",
          None if text.returncode == 1 and word in text.stderr else f"{text.returncode}: {text.stderr}",
          None if text.stderr.startswith(f"geiger: {pid}: not attached: ") else text.stderr,
          None if f"obstacle     {table['obstacles'][0]['reason']}" in text.stdout else text.stdout)


def state_of(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return [line for line in file if line.startswith(("State", "TracerPid", "SigBlk", "voluntary"))]


def attachable():
    with Started(TARGET, "idle") as target:
        time.sleep(0.1)
        before = state_of(target.pid)
        table, text = found(target.pid), look(target.pid)
        check("a_plain_program_has_no_obstacle",
              None if table["attachable"] and table["obstacles"] == [] else f"{table}",
              None if text.returncode == 0 and text.stderr == "" else text.stderr)
        check("the_allocator_is_named",
              None if (table["allocator"], table["agent"]) == ("glibc", "absent") else f"{table}",
              None if "libc.so.6" in table["allocator_file"] else f"{table}")
        check("the_process_does_not_notice_a_look", None if state_of(target.pid) == before else "it changed")


def other_allocators():
    for name in ("JEMALLOC", "TCMALLOC", "MIMALLOC"):
        library = os.environ.get(name, "")
        if library == "":
            continue
        with Started(TARGET, "idle", env={**os.environ, "LD_PRELOAD": library}) as target:
            table = found(target.pid)
            check(f"{name.lower()}_is_named",
                  None if table["allocator"] == name.lower() and table["attachable"] else f"{table}")


def programs():
    with Started(STATIC, "idle") as target:
        is_refused("a_static_program_is_refused", target.pid, "program", "statically linked")
        why = subprocess.run([GEIGER, "why", str(target.pid)], capture_output=True, text=True, check=True)
        note = " ".join(why.stdout.split("note: ")[-1].split())
        check("geiger_why_says_how_a_static_program_can_have_an_agent",
              None if "it is statically linked" in note and "libgeiger" in note and "attach" not in note else note)
    source = 'void _start(void) { __asm__("int $0x80" : : "a"(4), "b"(1), "c"("32\\n"), "d"(3)); ' \
             'for (;;) __asm__("int $0x80" : : "a"(29)); }'
    built = subprocess.run(["gcc", "-m32", "-nostdlib", "-static", "-x", "c", "-o", "small", "-"],
                           input=source, text=True, capture_output=True)
    if built.returncode != 0:
        skip("a_32_bit_program_is_refused", "the compiler makes none")
        return
    with Started("./small") as target:
        is_refused("a_32_bit_program_is_refused", target.pid, "program", "32-bit")


MUSL = """
#include <stdio.h>
#include <unistd.h>
int main(void) { printf("%d\\n", (int)getpid()); fflush(stdout); for (;;) pause(); }
"""
GO = """
package main
import ("fmt"; "os"; "time")
func main() { fmt.Println(os.Getpid()); for { time.Sleep(time.Hour) } }
"""


def compiled(name, compiler, words, source, file, **environment):
    """Compiles a program that prints its pid; returns False, and says why, if it cannot."""
    if shutil.which(compiler) is None:
        skip(name, f"{compiler} is not installed")
        return False
    pathlib.Path(file).write_text(source, encoding="ascii")
    built = subprocess.run([compiler, *words], capture_output=True, text=True, env={**os.environ, **environment})
    if built.returncode != 0:
        skip(name, built.stderr)
    return built.returncode == 0


def foreign_programs():
    name = "a_program_of_musl_is_refused"
    if compiled(name, "musl-gcc", ["-o", "musl", "musl.c"], MUSL, "musl.c"):
        with Started("./musl") as target:
            is_refused(name, target.pid, "program", "musl")
    name = "a_program_in_go_is_refused"
    if compiled(name, "go", ["build", "-o", "gopher", "gopher.go"], GO, "gopher.go", GOCACHE=os.path.abspath("cache"),
                GO111MODULE="off", CGO_ENABLED="0"):
        with Started("./gopher") as target:
            is_refused(name, target.pid, "program", "Go")


NOBODY = {"user": 65534, "group": 65534, "extra_groups": []}


def yama():
    """The files of a kernel with yama lie over this one's; the target has protected itself."""
    for scope, word in (("1", "only its ancestors may trace it"), ("2", "only processes with CAP_SYS_PTRACE may trace it"),
                        ("3", "no process may trace another one")):
        name = f"ptrace_scope_{scope}_is_named_with_its_remedy"
        if os.geteuid() != 0:
            skip(name, "not root")
            continue
        try:
            target = Started(TARGET, "protected", **NOBODY)
            target.__enter__()
        except PermissionError:
            skip(name, "nobody may not run the program")
            continue
        script = "mount -t tmpfs tmpfs /proc/sys/kernel && mkdir /proc/sys/kernel/yama && " \
            f"echo {scope} >/proc/sys/kernel/yama/ptrace_scope && " \
            f"exec setpriv --reuid=65534 --regid=65534 --clear-groups {GEIGER} attach --dry-run --json {target.pid}"
        got = subprocess.run(["unshare", "--mount", "sh", "-c", script], capture_output=True, text=True)
        target.__exit__()
        if got.stdout == "":
            skip(name, got.stderr)
            continue
        found_first = json.loads(got.stdout)["obstacles"][0]
        remedy = "until the next boot" if scope == "3" else "Run geiger as root"
        check(name, None if found_first["code"] == "yama" and word in found_first["reason"] and
              remedy in found_first["advice"] else f"{found_first}")


def reads_filters():
    """True if the kernel shows filters: to CAP_SYS_ADMIN, without filters itself."""
    with open("/proc/self/status", encoding="ascii") as file:
        facts = dict(line.split(":\t", 1) for line in file if ":\t" in line)
    return int(facts["CapEff"], 16) >> 21 & 1 == 1 and facts.get("Seccomp", "?").strip() == "0"


def states():
    with Started(TARGET, "idle") as target:
        os.kill(target.pid, signal.SIGSTOP)
        while "T (stopped)" not in "".join(state_of(target.pid)):
            time.sleep(0.01)
        is_refused("a_stopped_process_is_refused", target.pid, "stopped", "kill -CONT")
        with Started(TARGET, "trace", str(target.pid)) as tracer:
            is_refused("a_traced_process_is_refused_and_its_tracer_named", target.pid, "traced",
                       f"survey_target (process {tracer.pid}) traces it")
    with Started(TARGET, "zombie") as target:
        is_refused("a_process_that_has_ended_is_refused", int(target.line), "zombie", "has ended")
    with Started(TARGET, "filter") as target:
        if reads_filters():
            found_table = found(target.pid)
            check("filters_of_its_own_are_no_obstacle_for_who_may_read_them",
                  None if found_table["attachable"] else f"{found_table}")
        else:
            is_refused("filters_of_its_own_are_refused", target.pid, "seccomp", "'geiger env'")
    gone = look(target.pid)
    check("a_dead_pid_is_an_error",
          None if gone.returncode == 1 and "there is no such process" in gone.stderr else gone.stderr)


def rights():
    if os.geteuid() != 0:
        skip("another_user_is_refused", "not root")
        return
    with Started(TARGET, "idle") as target:
        how = {"user": 65534, "group": 65534, "extra_groups": []}
        try:
            is_refused("another_user_is_refused", target.pid, "user", "Run geiger as that user or as root", **how)
        except PermissionError:
            skip("another_user_is_refused", "nobody may not run the program")


def profiled():
    with Started(GEIGER, "record", "-q", "-o", "r.geiger", "--", TARGET, "idle") as session:
        is_refused("a_profiled_process_is_refused", int(session.line), "profiled", "'geiger control PID status'")
        os.kill(int(session.line), signal.SIGKILL)
        session.process.wait()


def namespaces():
    words = ["unshare", "--mount", "--pid", "--user", "--map-root-user", "--fork", TARGET, "idle"]
    if subprocess.run([*words[:-2], "true"], capture_output=True).returncode != 0:
        skip("a_container_is_seen", "no namespaces here")
        return
    with Started(*words) as target:
        with open(f"/proc/{target.pid}/task/{target.pid}/children", encoding="ascii") as file:
            inner = int(file.read().split()[0])
        table, text = found(inner), look(inner)
        check("a_container_is_seen_and_no_obstacle",
              None if target.line == "1" and table["attachable"] else f"{table}",
              None if table["other_mounts"] and table["other_pids"] and table["other_users"] else f"{table}",
              None if "mounts, pids (it is 1 there), users" in text.stdout else text.stdout)
        os.kill(inner, signal.SIGKILL)


def requests():
    for name, words in (("no_pid_is_a_wrong_request", []), ("a_name_is_no_pid", ["redis"]), ("0_is_no_pid", ["0"])):
        got = subprocess.run([GEIGER, "attach", *words], capture_output=True, text=True)
        check(name, None if got.returncode == 2 and "geiger attach PID" in got.stderr else got.stderr)


def main():
    attachable()
    other_allocators()
    programs()
    foreign_programs()
    states()
    rights()
    yama()
    profiled()
    namespaces()
    requests()


if __name__ == "__main__":
    sys.exit(in_scratch(main))
