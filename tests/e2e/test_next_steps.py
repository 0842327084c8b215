#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""After its closing line, `geiger record` suggests at most two next steps, which follow from what
was recorded.

GEIGER, NEXT_PROGRAM: programs.
"""

import json
import os
import re
import subprocess
import sys

from sentences import check, in_scratch, skip

GEIGER = os.environ["GEIGER"]
PROGRAM = os.environ["NEXT_PROGRAM"]
TOP_ROWS = 5


def record(path, *arguments, command=(PROGRAM,)):
    """All lines that geiger prints, and those after the closing line."""
    run = subprocess.run([GEIGER, "record", "-o", path, *arguments, "--", *command],
                         capture_output=True, text=True, env={**os.environ, "GEIGER_SEED": "1", "LC_ALL": "C.UTF-8"})
    lines = run.stderr.splitlines()
    closing = [i for i, line in enumerate(lines) if line.startswith("geiger: wrote ")]
    return lines, lines[closing[0] + 1:] if closing else None


def equal(name, found, wanted):
    check(name, None if found == wanted else f"{found} is not {wanted}")


def widest(path):
    """Half the width of the widest interval of the largest rows, as a share of its estimate."""
    report = json.loads(subprocess.run([GEIGER, "report", "--json", path], check=True, capture_output=True).stdout)
    own = [row["self"] for row in report["rows"][:TOP_ROWS] if row["samples"] > 0]
    own = [bytes_of for bytes_of in own if bytes_of["estimate"] > 0.05 * own[0]["estimate"]]
    return max(max(of["high"] - of["estimate"], of["estimate"] - of["low"]) / of["estimate"] for of in own)


def growth():
    _, steps = record("grow.geiger", "-i", "16k", command=(PROGRAM, "grow"))
    equal("memory_that_grows_leads_to_leaks", steps,
          ["geiger: memory of grow_list grew until the end: geiger leaks grow.geiger",
           "geiger: to see more: geiger report grow.geiger"])
    leaks = subprocess.run([GEIGER, "leaks", "grow.geiger"], capture_output=True, text=True).stdout
    check("leaks_lists_what_the_step_names", None if re.search("growing.*grow_list", leaks, re.S) else leaks)
    _, steps = record("level.geiger", "-i", "16k", command=(PROGRAM, "level"))
    equal("memory_that_stays_level_leads_to_the_report", steps, ["geiger: to see more: geiger report level.geiger"])
    _, steps = record("free.geiger", "-i", "16k", command=(PROGRAM, "free"))
    equal("memory_that_was_freed_leads_to_the_report", steps, ["geiger: to see more: geiger report free.geiger"])


def width():
    _, steps = record("wide.geiger", "-i", "2M", command=(PROGRAM, "blocks"))
    found = re.fullmatch("geiger: confidence intervals are wide; for ± 10 %: geiger record -i (\\d+k) ...", steps[0])
    check("wide_intervals_lead_to_a_smaller_sampling_interval",
          None if found else f"{steps}",
          None if widest("wide.geiger") > 0.3 else f"{widest('wide.geiger')} is not wide")
    if not found:
        return
    _, steps = record("narrow.geiger", "-i", found[1], command=(PROGRAM, "blocks"))
    equal("that_sampling_interval_is_small_enough", steps, ["geiger: to see more: geiger report narrow.geiger"])
    # The suggestion is made from an estimate, so the error is 10 % only about.
    check("intervals_are_as_narrow_as_was_said",
          None if 0.05 < widest("narrow.geiger") < 0.15 else f"{widest('narrow.geiger')} is not about 10 %")


def both():
    _, steps = record("both.geiger", "-i", "256k", command=(PROGRAM, "grow"))
    check("growth_ranks_before_wide_intervals_and_there_are_two_steps",
          None if len(steps) == 2 and "geiger leaks" in steps[0] and "geiger record -i" in steps[1] else f"{steps}")


def compile_program(name, source, *options):
    """False: this compiler cannot make such a program."""
    return subprocess.run(["cc", "-O1", "-xc", "-", "-o", name, *options], input=source, text=True,
                          capture_output=True).returncode == 0


def unprofiled():
    """Programs that the agent cannot see: the advice is about the first of them."""
    sleeper = "#include <unistd.h>\nint main(void) { usleep(2000000); return 0; }\n"
    if compile_program("static", sleeper, "-static"):
        _, steps = record("static.geiger", command=("./static",))
        equal("a_static_command_has_an_advice_alone", steps,
              ["geiger: to see all of static: link it dynamically, or with libgeiger-agent.a: man geiger-agent"])
        _, steps = record("mixed.geiger", "-i", "16k", command=("sh", "-c", f"{PROGRAM} grow & ./static; wait"))
        equal("a_static_child_ranks_before_all_else", steps[:1],
              ["geiger: to see all of static: link it dynamically, or with libgeiger-agent.a: man geiger-agent"])
        check("there_are_two_steps_at_most", None if len(steps) == 2 else f"{steps}")
    else:
        skip("a_static_command_has_an_advice_alone", "no static libc")
    own = ("#include <stdlib.h>\nstatic char pool[60000000];\nvoid *je_malloc(size_t size) { static size_t used;"
           " return pool + (used += size); }\nint main(void) { for (int i = 0; i < 50000; i++)"
           " *(char *)je_malloc(1000) = 1; void *volatile p = malloc(1000000); (void)p; return 0; }\n")
    if compile_program("own", own, "-rdynamic"):
        _, steps = record("own.geiger", "-i", "16k", command=("./own",))
        equal("an_allocator_of_its_own_has_an_advice", steps[:1],
              ["geiger: to see all of own: build it without that allocator"])
    _, steps = record("env.geiger", "-i", "16k", command=("env", "-i", "/bin/sleep", "2"))
    equal("an_empty_environment_has_an_advice", steps[:1],
          ["geiger: to see all of sleep: keep LD_PRELOAD in its environment: geiger env prints it"])


def names():
    program = ("#include <stdlib.h>\nstatic void __attribute__((noinline)) load(void) { void *volatile p ="
               " malloc(9000000); (void)p; }\nint main(void) { load(); return 0; }\n")
    if not compile_program("stripped", program, "-s"):
        skip("missing_names_lead_to_symbolize", "this compiler cannot strip")
        return
    _, steps = record("stripped.geiger", "-i", "16k", command=("./stripped",))
    check("missing_names_lead_to_symbolize",
          None if len(steps) == 2 and "no name, mainly in stripped" in steps[0] else f"{steps}",
          "it has two lines" if any(line.startswith(" ") for line in steps) else None)


def silence():
    lines, _ = record("quiet.geiger", "-q", command=(PROGRAM, "grow"))
    equal("quiet_means_no_steps", lines, [])
    lines, steps = record("none.geiger", "-i", "1G", command=("true",))
    check("a_session_without_samples_says_so_and_no_more",
          None if steps == [] and "nothing was sampled" in lines[-1] else f"{lines}")


def main():
    growth()
    width()
    both()
    unprofiled()
    names()
    silence()


if __name__ == "__main__":
    sys.exit(in_scratch(main))
