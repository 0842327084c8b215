#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""test_python_attach.py - an attach shows what a running CPython allocates, and leaves it as it is.

    test_python_attach.py ROUNDS [VERSION...]

It runs the programs of attached.py with the system's Python (static), and with each CPython from
3.8 on that it finds (shared libraries).  ROUNDS: attaches to each program that works.  VERSION:
such as 3.12; others are left out, and so is the system's unless it is "system".

GEIGER: the command; FILTER_TARGET: it installs a filter of system calls; ADAPTER:
libgeiger-python.so; SLOW_ADAPTER: the same, but its load takes long; SANDBOX: functions that
attached.py calls.
"""

import glob
import json
import os
import select
import socket
import subprocess
import sys
import time

from sentences import check, in_scratch, skip, status

GEIGER = os.environ["GEIGER"]
PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "attached.py")
ROUNDS = int(sys.argv[1])
ENVIRONMENT = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "LD_PRELOAD")}
LIMIT = 120  # seconds


def pythons():
    found = {"system": "/usr/bin/python3"}
    for path in glob.glob(os.path.join(os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv")), "versions/3.*")):
        minor = os.path.basename(path).split(".")[1]
        if minor.isdigit() and int(minor) >= 8:
            found["3." + minor] = os.path.join(path, "bin/python")
    asked = sys.argv[2:] or sorted(found)
    return {name: found[name] for name in asked if name in found and os.access(found[name], os.X_OK)}


def geiger(*words):
    return subprocess.run([GEIGER, *map(str, words)], capture_output=True, text=True, timeout=LIMIT, check=False)


class Program:
    """A program of attached.py that is ready, or a word why not."""

    def __init__(self, python, *words, before=(), environment=None):
        self.process = subprocess.Popen(
            [*before, python, "-W", "ignore", PROGRAM, *map(str, words)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**ENVIRONMENT, **(environment or {})},
            text=True,
        )
        self.pid = self.process.pid
        self.line()

    def line(self):
        return self.process.stdout.readline().rstrip("\n")

    def go_on(self):
        try:
            self.process.stdin.write("x")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # end() says how it ended

    def end(self):
        """Waits for the end.  Returns what is wrong with it, or None."""
        try:
            output, errors = self.process.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()
            self.output = self.errors = None
            return "it hangs"
        self.output, self.errors = output, errors
        return None if self.process.returncode == 5 and errors == "" else f"{self.process.returncode}: {errors}"


def attach(program, *options):
    """Returns the JSON of an attach, and what is wrong with it."""
    got = geiger("attach", "--json", *options, program.pid)
    if got.returncode != 0:
        return {}, got.stderr
    result = json.loads(got.stdout)
    return result, None if result.get("python") == "shown" else f"{result}"


def rows(target, by, *options):
    """The rows of a report by their name, with bytes."""
    got = geiger("report", "--json", "--limit", "0", "-m", "live", "--by", by, *options, target)
    if got.returncode != 0:
        return {"error": got.stderr}
    found = {}
    for row in json.loads(got.stdout)["rows"]:
        name = row["type"] if by == "type" else f"{row['function']}:{row['line']}" if by == "line" else row["function"]
        found[name] = row["self"]["estimate"]
    return found


def marked_line():
    with open(PROGRAM, encoding="utf-8") as file:
        return next(number for number, line in enumerate(file, 1) if "# line of bytes" in line)


# --- sentences; each for one Python ---


def truth(name, python):
    """Every block is a sample, so sums are exact."""
    program = Program(python, "held", 3000)
    result, problem = attach(program, "-i", "1")
    program.go_on()
    said = json.loads(program.line())
    types = rows(program.pid, "type")
    lines = rows(program.pid, "line")
    at_line = sum(size for row, size in lines.items() if row.endswith(f":{marked_line()}"))
    # The list of the blocks is made at the same line.
    list_bytes = at_line - said["bytes"]
    program.go_on()
    check(
        f"python_{name}_has_its_bytes_at_their_line_and_by_their_type",
        problem,
        None if types.get("bytes") == said["bytes"] else f"bytes: {types}, expected {said}",
        None if 24000 <= list_bytes <= 40000 else f"line {marked_line()}: {lines}, expected {said}",
        None if types.get("Node", 0) >= 48 * (said["nodes"] - 1) else f"Node: {types}",
        None if said["grown"] <= types.get("bytearray", 0) + types.get("[no type]", 0) else f"{types}",
        None if result.get("way") == "idle" else f"{result}",
        program.end(),
    )


NO_SAFE_POINT = ("no thread was at a safe point", "no thread entered the allocator")
MISSED_MOST = 10 + ROUNDS  # attaches that find no safe point


def rounds(name, python, kinds):
    """Attach and detach, again and again, while the program works."""
    alone = Program(python, "works", kinds, 9)
    problems = [alone.end()]
    program, attached, missed = Program(python, "works", kinds, 9), 0, 0
    while attached < ROUNDS and missed < MISSED_MOST and not any(problems):
        _, problem = attach(program, "-i", ("1k", "64k")[attached % 2])
        if problem is not None:
            missed += 1
            problems.append(None if any(words in problem for words in NO_SAFE_POINT) else problem or "no message")
            continue
        attached += 1
        got = geiger("detach", program.pid)
        problems.append(got.stderr if got.returncode != 0 else None)
    ended = program.end()
    check(
        f"python_{name}_{kinds or 'threads'}_works_on_with_{ROUNDS}_attaches",
        *problems,
        ended,
        None if program.output == alone.output else f"{program.output}, expected {alone.output}",
        None if attached == ROUNDS else f"{attached} attaches, and {missed} that found no safe point",
    )


def accepting(name, python):
    program = Program(python, "accepts")
    port = int(program.line())
    result, problem = attach(program, "-i", "1")
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.sendall(b"x")
        client.recv(1)
    functions = rows(program.pid, "function")
    program.go_on()
    check(
        f"python_{name}_is_seen_from_the_connection_on_for_which_it_waits",
        problem,
        None if functions.get("serve.<locals>.<listcomp>", 0) + functions.get("<listcomp>", 0) + functions.get("serve", 0) > 0
        else f"{result} {functions}",
        program.end(),
    )


def looping(name, python):
    """Nobody gets Python's lock while it is attached to."""
    for count in (100_000_000, 1_000_000_000):
        program = Program(python, "loops", count)
        result, problem = attach(program, "-i", "1")
        is_looping = not select.select([program.process.stdout], [], [], 0)[0]
        looped = program.line()
        time.sleep(0.2)
        types = rows(program.pid, "type")
        program.go_on()
        problem = problem or program.end()
        if is_looping or problem:
            break
    check(
        f"python_{name}_is_attached_to_while_a_loop_in_c_has_its_lock",
        problem,
        None if is_looping and looped == "looped" else f"the loop had ended: {looped}",
        None if types.get("Node", 0) > 0 else f"{result} {types}",
    )


def sleeping(name, python):
    program = Program(python, "sleeps")
    _, problem = attach(program, "-i", "1k")
    time.sleep(0.3)
    types = rows(program.pid, "type")
    program.go_on()
    check(
        f"python_{name}_is_seen_while_its_main_thread_sleeps",
        problem,
        None if types.get("Node", 0) > 0 else f"{types}",
        program.end(),
    )


def leaking(name, python):
    """One command finds a leak by name; the profile of a recording has it as well."""
    program = Program(python, "leaks")
    got = geiger("attach", "-i", "4k", "-o", f"{name}.geiger", "--max-time", "1.5", program.pid)
    recorded = geiger("leaks", f"{name}.geiger")
    problem = got.stderr if got.returncode != 0 or "Python's functions and objects are shown" not in got.stderr else None
    _, again = attach(program, "-i", "4k")
    time.sleep(1.5)
    found = geiger("leaks", program.pid)
    shown = geiger("top", "--batch", "-n", "1", program.pid)
    program.process.kill()
    program.process.communicate()
    check(
        f"python_{name}_leaks_by_name",
        problem,
        again,
        None if "remember attached.py" in recorded.stdout and "type bytes" in recorded.stdout else recorded.stdout + recorded.stderr,
        None if "remember attached.py" in found.stdout else found.stdout + found.stderr,
        None if "remember (attached.py)" in shown.stdout else shown.stdout + shown.stderr,
    )


ENDED = ("it ended", "it has ended", "is just ending", "no such process", "executed another program")
ENDING_ROUNDS = 5


def ending(name, python):
    """The program ends while it is attached to, by each of the ways to end, as it does alone."""
    program = Program(python, "sleeps")
    begin = time.monotonic()
    _, problem = attach(program)
    seconds = time.monotonic() - begin
    program.go_on()
    problem = problem or program.end()
    for how in ("by_its_return", "at_once", "by_a_kill", "by_exec"):
        alone = Program(python, "ends", how, 0)
        alone.end()
        problems, said = [problem], set()
        for number in range(ENDING_ROUNDS):
            program = Program(python, "ends", how, seconds * number / ENDING_ROUNDS)
            got = geiger("attach", "-i", "4k", program.pid)
            said.add(got.stderr.replace(str(program.pid), "PID").split("\n")[0])
            if got.returncode != 0 and not any(words in got.stderr for words in (*ENDED, *NO_SAFE_POINT)):
                problems.append(f"{got.returncode}: {got.stderr or 'no message'}")
            program.end()
            ends = [(ended.process.returncode, ended.output, ended.errors) for ended in (program, alone)]
            problems.append(None if ends[0] == ends[1] else f"it ended with {ends[0]}, and alone with {ends[1]}")
        check(f"python_{name}_ends_{how}_during_an_attach_as_without", *problems)
        print(f"# {said}")


def choices(python):
    for before in [(), (os.environ["FILTER_TARGET"], "own", "310", "kill")]:
        if before and os.geteuid() != 0:
            skip("only_native_leaves_python_out_of_a_sandbox", "only root may read filters")
            continue
        program = Program(python, "held", 3000, before=before)
        result = json.loads(geiger("attach", "--json", "--only", "native", "-i", "1", program.pid).stdout)
        program.go_on()
        program.line()
        types = rows(program.pid, "type")
        program.go_on()
        check(
            "only_native_leaves_python_out" + ("_of_a_sandbox" if before else ""),
            None if result["python"] is None and "python_reason" not in result else f"{result}",
            None if set(types) == {"[no type]"} else f"{types}",
            program.end(),
        )


def refusals(python):
    """A file that is no adapter; the agent attaches all the same."""
    program = Program(python, "held", 10)
    with open("no-adapter.so", "w", encoding="ascii") as file:
        file.write("This is no library.\n" * 300)
    got = subprocess.run(
        [GEIGER, "attach", str(program.pid)],
        capture_output=True,
        text=True,
        env={**os.environ, "GEIGER_PYTHON": os.path.abspath("no-adapter.so")},
        check=False,
    )
    program.go_on()
    program.line()
    program.go_on()
    check(
        "an_adapter_that_cannot_be_loaded_is_named_and_the_attach_goes_on",
        None if got.returncode == 0 and "no Python functions are shown:" in got.stderr and "no-adapter.so" in got.stderr
        else f"{got.returncode}: {got.stderr}",
        program.end(),
    )


def hidden(python):
    """The process does not see the adapter's file: it is of another user, or has other mounts."""
    if os.geteuid() != 0:
        skip("an_adapter_whose_file_is_hidden_travels", "only root may hide it")
        return
    folder = os.path.dirname(os.environ["ADAPTER"])
    cover = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none "$0" && exec "$@"', folder]
    for kind, before in (
        ("other_mounts", cover),
        ("another_user", ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]),
    ):
        sentence = f"an_adapter_travels_to_a_process_of_{kind}"
        if subprocess.run([*before, "true"], capture_output=True, check=False).returncode != 0:
            skip(sentence, "it cannot be made here")
            continue
        program = Program(python, "held", 3000, before=before)
        _, problem = attach(program, "-i", "1")
        problems = [problem]
        # Again, with the agent and the adapter there.
        got = geiger("detach", program.pid)
        problems.append(got.stderr if got.returncode != 0 else None)
        problems.append(attach(program, "-i", "1")[1])
        program.go_on()
        said = json.loads(program.line())
        types = rows(program.pid, "type")
        program.go_on()
        check(sentence, *problems, None if types.get("bytes") == said["bytes"] else f"{types}", program.end())


def cycles(name, python):
    """tracemalloc starts and stops between attaches, above geiger's hooks and below."""
    program = Program(python, "cycles", GEIGER)
    check(f"python_{name}_has_no_hooks_in_front_of_each_other", program.end())


def leaving(name, python):
    program = Program(python, "leaves", GEIGER)
    check(f"python_{name}_has_its_own_allocators_after_a_detach", program.end())


def filtered(python):
    """A filter that ends the process for a call of the adapter; without it, malloc is sampled."""
    sentence = "an_adapter_whose_calls_end_the_process_stays_out"
    if os.geteuid() != 0 or "FILTER_TARGET" not in os.environ:
        skip(sentence, "only root may read filters")
        return
    for action, state in (("kill", "refused"), ("errno", "shown")):
        program = Program(python, "held", 3000, before=[os.environ["FILTER_TARGET"], "own", "310", action])
        got = geiger("attach", "--json", "-i", "1", program.pid)
        result = json.loads(got.stdout) if got.returncode == 0 else {}
        program.go_on()
        program.line()
        types = rows(program.pid, "type")
        program.go_on()
        check(
            sentence if action == "kill" else "an_adapter_that_may_not_read_memory_shows_no_types",
            None if result.get("python") == state else f"{got.stderr} {result}",
            None if action == "errno" or "process_vm_readv" in result.get("python_reason", "") else f"{result}",
            None if set(types) == {"[no type]"} else f"{types}",
            program.end(),
        )


def sandboxed(python):
    """The program forbids itself a call of the adapter later."""
    program = Program(python, "boxed", os.environ["SANDBOX"])
    result, problem = attach(program, "-i", "1")
    program.go_on()
    survived = program.line()
    types = rows(program.pid, "type")
    program.go_on()
    check(
        "a_sandbox_that_is_entered_after_the_attach_kills_for_no_type",
        problem,
        None if survived == "survived" else f"no answer: {survived}",
        # Those of before have types.
        None if 2900 * 48 <= types.get("Node", 0) <= 3100 * 56 else f"{result} {types}",
        program.end(),
    )
    words = ["record", "-q", "-i", "1", "-o", "boxed.geiger", "--", python, PROGRAM, "boxed", os.environ["SANDBOX"]]
    got = subprocess.run(
        [GEIGER, *words], input="xx", capture_output=True, text=True, env=ENVIRONMENT, timeout=LIMIT, check=False
    )
    check(
        "a_sandbox_that_is_entered_under_record_kills_for_no_type",
        None if got.returncode == 5 and "survived" in got.stdout else f"{got.returncode}: {got.stdout} {got.stderr}",
    )


def environments(python):
    """The program's own environment is for recordings that it begins itself."""
    for name in ("GEIGER_ACTIVE", "GEIGER_RECORDER"):
        program = Program(python, "held", 3000, environment={name: "1"})
        _, problem = attach(program, "-i", "1")
        program.go_on()
        said = json.loads(program.line())
        types = rows(program.pid, "type")
        program.go_on()
        check(
            f"an_attach_records_alone_with_{name}_in_the_environment",
            problem,
            None if types.get("bytes") == said["bytes"] else f"bytes: {types}, expected {said}",
            program.end(),
        )


def outliving(python):
    """The attach fails and detaches, and the adapter's load ends later."""
    go = os.path.abspath("go")
    program = Program(python, "outlives", os.environ["SANDBOX"], environment={"SLOW_ADAPTER_GO": go})
    got = subprocess.run(
        [GEIGER, "attach", "-i", "1k", str(program.pid)],
        capture_output=True,
        text=True,
        env={**os.environ, "GEIGER_PYTHON": os.environ["SLOW_ADAPTER"]},
        timeout=LIMIT,
        check=False,
    )
    with open(go, "w", encoding="ascii"):
        pass
    time.sleep(2)
    with open(f"/proc/{program.pid}/maps", encoding="ascii") as file:
        is_loaded = "slow-adapter" in file.read()
    program.go_on()
    check(
        "an_adapter_that_comes_after_the_detach_leaves_no_hooks",
        None if "The agent is out again" in got.stderr and is_loaded else f"{got.returncode} {got.stderr}",
        program.end(),
    )


def main():
    found = pythons()
    if not found:
        skip("python_is_attached_to", "no Python from 3.8 on")
    for name, python in found.items():
        truth(name, python)
        for kinds in ("", "t", "mf"):
            rounds(name, python, kinds)
        if name in ("system", "3.8", "3.13"):
            accepting(name, python)
            sleeping(name, python)
            leaking(name, python)
            cycles(name, python)
            leaving(name, python)
        if name in ("system", "3.12"):
            looping(name, python)
    if "system" in found:
        ending("system", found["system"])
        filtered(found["system"])
        hidden(found["system"])
        sandboxed(found["system"])
        environments(found["system"])
        outliving(found["system"])
        choices(found["system"])
        refusals(found["system"])


if __name__ == "__main__":
    in_scratch(main)
    sys.exit(status())
