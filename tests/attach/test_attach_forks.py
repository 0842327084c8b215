#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The agent leaves forked processes of an attached one, also before they have recorded anything.

GEIGER, FORK_TARGET: the program, and one that makes processes.
"""

import os
import shutil
import signal
import subprocess
import sys
import time

import process_image
from attach_programs import GEIGER, LIMIT, geiger
from sentences import check, in_scratch

INTERVAL = "1GiB"  # no child takes a sample by chance


class Family:
    """The target with its children; .end() returns what was wrong."""

    def __init__(self):
        self.process = subprocess.Popen([os.environ["FORK_TARGET"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.pid = int(self.process.stdout.readline())

    def child(self, way):
        self.process.stdin.write(f"{way}\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def end(self):
        try:
            said = self.process.communicate(timeout=LIMIT)[0]
        except subprocess.TimeoutExpired:
            self.process.kill()
            return "it hangs"
        return None if self.process.returncode == 0 else f"{self.process.returncode}: {said}"


def failed(got, words=""):
    return None if got.returncode == 1 and words in got.stderr else f"{got.returncode}: {got.stderr}"


def worked(got):
    return None if got.returncode == 0 else got.stderr


def recording(pid):
    """Returns a problem if its region has ended."""
    got = geiger("control", str(pid), "status")
    return None if ", alive" in got.stdout else got.stderr or got.stdout


def maps_a_region(pid):
    return any(".region" in mapping.path for mapping in process_image.mappings_of(pid))


def is_hooked(before, pid):
    return len(process_image.changed_slots(before, process_image.read(pid))) > 0


def left(before, pid):
    """Returns what the agent has left behind in a process, or None."""
    return process_image.difference(before, process_image.read(pid)) or \
        ("a region is still mapped" if maps_a_region(pid) else None)


def child_without_region(way):
    family = Family()
    before = process_image.read(family.pid)
    attached = geiger("attach", "-q", "-i", INTERVAL, str(family.pid))
    child = family.child(way)
    problems = [worked(attached), None if is_hooked(before, child) else "it was not forked under the agent"]
    words = f"forked from process {family.pid} under the agent"
    for line in ("control {} status", "control {} off", "report {}"):
        problems.append(failed(geiger(*line.format(child).split()), words))
    problems += [failed(geiger("attach", str(child)), words), worked(geiger("detach", str(child))), left(before, child),
                 None if is_hooked(before, family.pid) else "its parent was detached as well",
                 recording(family.pid),
                 failed(geiger("detach", str(child)))]
    problems += [worked(geiger("attach", "-q", "-i", INTERVAL, str(child))),
                 recording(child),
                 worked(geiger("detach", str(child))), left(before, child)]
    problems += [worked(geiger("detach", str(family.pid))), left(before, family.pid), family.end()]
    check(f"a_child_by_{way}_is_detached_before_it_records", *problems)


def recorded_children():
    """A recorder that ends also takes the agent out of children that have recorded nothing."""
    family = Family()
    before = process_image.read(family.pid)
    with subprocess.Popen([GEIGER, "attach", "-i", INTERVAL, "-o", "family.geiger", str(family.pid)],
                          stderr=subprocess.PIPE, text=True) as recorder:
        said = recorder.stderr.readline()
        children = [family.child(way) for way in ("fork", "forkloop")]
        problems = [None if all(is_hooked(before, pid) for pid in children) else "they were not forked under the agent"]
        recorder.send_signal(signal.SIGINT)
        said += recorder.communicate(timeout=LIMIT)[1]
    problems += [None if recorder.returncode == 0 else f"{recorder.returncode}: {said}",
                 *(left(before, pid) for pid in [family.pid, *children]), family.end()]
    check("a_recording_takes_the_agent_out_of_children_that_recorded_nothing", *problems)


def lost_region():
    """The recorder was killed, and its directory removed: no request reaches anybody."""
    family = Family()
    before = process_image.read(family.pid)
    with subprocess.Popen([GEIGER, "attach", "-i", "1", "-o", "lost.geiger", str(family.pid)],
                          stderr=subprocess.PIPE, text=True) as recorder:
        recorder.stderr.readline()
        maps = [mapping.path for mapping in process_image.mappings_of(family.pid) if ".region" in mapping.path]
        recorder.kill()
    folder = os.path.dirname(maps[0])
    shutil.rmtree(folder)
    child = family.child("forkloop")
    time.sleep(0.5)  # it takes its first sample, for which it finds no place
    problems = [worked(geiger("detach", str(child))), left(before, child),
                worked(geiger("attach", "-q", str(child))), recording(child),
                worked(geiger("detach", str(child))), left(before, child),
                worked(geiger("detach", str(family.pid))), left(before, family.pid), family.end()]
    check("a_process_whose_region_was_removed_is_detached", *problems)


def all_of_a_family():
    family = Family()
    before = process_image.read(family.pid)
    problems = [worked(geiger("attach", "-q", "-i", INTERVAL, str(family.pid)))]
    child = family.child("fork")
    problems += [worked(geiger("detach", "-q", "--all")), left(before, family.pid), left(before, child), family.end()]
    check("detach_all_finds_children_that_recorded_nothing", *problems)


def vforked():
    family = Family()
    before = process_image.read(family.pid)
    problems = [worked(geiger("attach", "-q", "-i", INTERVAL, str(family.pid)))]
    child = family.child("vfork")
    words = f"shares the memory of fork_target (process {family.pid})"
    problems += [failed(geiger("detach", str(child)), words), failed(geiger("attach", str(child)), words),
                 None if is_hooked(before, family.pid) else "its parent was detached", recording(family.pid)]
    os.kill(child, signal.SIGTERM)
    problems += [worked(geiger("detach", str(family.pid))), left(before, family.pid), family.end()]
    check("a_vfork_child_is_never_entered", *problems)


def main():
    for way in ("fork", "forkloop", "clone"):
        child_without_region(way)
    recorded_children()
    lost_region()
    all_of_a_family()
    vforked()


if __name__ == "__main__":
    sys.exit(in_scratch(main))
