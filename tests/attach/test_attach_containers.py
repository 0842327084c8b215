#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`geiger attach` from outside into other root directories, mounts, pids and users.

Containers are made by unshare and chroot, which needs root.
GEIGER, ATTACH_TARGET: the program, and a program that checks itself.
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys

from attach_programs import LIMIT, TARGET, Target, geiger
from sentences import check, in_scratch, skip

OTHER_USER = 54321  # has no process and no file on any machine
RECORDED = "2"  # seconds


def libraries(program):
    lines = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout.split()
    return [word for word in lines if word.startswith("/")]


def make_root(name):
    """A folder that has the target as /target, with its libraries."""
    root = pathlib.Path(name).absolute()
    for folder in ("proc", "dev/shm", "tmp", "run", "var/tmp"):
        (root / folder).mkdir(parents=True)
    shutil.copy(TARGET, root / "target")
    for library in libraries(TARGET):
        (root / library[1:]).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(library, root / library[1:])
    return root


def host_pid(outer):
    """The pid here of the first process in the container that `outer` has made."""
    children = pathlib.Path(f"/proc/{outer}/task/{outer}/children").read_text(encoding="ascii").split()
    return int(children[0]) if children else outer


class Container:
    """A target below a root directory of its own; .end() returns what was wrong."""

    def __init__(self, root, mounts=(), unshare=("--mount", "--pid", "--fork", "--kill-child"), before=()):
        steps = [f"mount --bind {root} {root}", f"mount -t proc proc {root}/proc",
                 *(step.replace("ROOT", str(root)) for step in mounts)] if unshare else []
        script = "; ".join(["set -e", *steps, f"exec chroot {root} /target loops 2"])
        words = [*before, *(("unshare", *unshare) if unshare else ()), "sh", "-c", script]
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.runs = self.process.stdout.readline() != ""
        self.pid = host_pid(self.process.pid) if self.runs else None

    def why(self):
        return self.process.communicate(timeout=LIMIT)[1].strip()

    def end(self):
        os.kill(self.pid, signal.SIGTERM)
        said = self.process.communicate(timeout=LIMIT)[0]
        return None if self.process.returncode == 0 else f"{self.process.returncode}: {said}"


def failures(*runs):
    return [run.stderr or "failed" for run in runs if run.returncode != 0]


def left_over(pid):
    """Files of geiger's that a process can see."""
    folders = [pathlib.Path(f"/proc/{pid}/root/{place}") for place in ("dev/shm", "tmp", "var/tmp", "run")]
    return [f"{path} is left" for folder in folders if folder.is_dir() for path in folder.glob("*geiger*")]


def record(container):
    got = geiger("attach", "-q", "-o", "here.geiger", "--max-time", RECORDED, str(container.pid))
    shown = geiger("report", "--json", "--metric", "allocated", "here.geiger")
    asked = geiger("sql", "--json", "here.geiger", "select exe, older_bytes, missed_frees from v_attach")
    problems = failures(got, shown, asked)
    if not problems and "/target" not in asked.stdout:
        problems = ["no attach in SQL: " + asked.stdout]
    if not problems and "use_blocks" not in shown.stdout:
        problems = ["the functions have no names: " + shown.stdout[:1000]]
    return problems


def attach_and_detach(container):
    got = geiger("attach", "--json", str(container.pid))
    shown = geiger("report", "--json", str(container.pid))
    status = geiger("control", str(container.pid), "status")
    left = geiger("detach", str(container.pid))
    problems = failures(got, shown, status, left)
    if not problems and not os.path.exists(f"/proc/{container.pid}/root{json.loads(got.stdout)['region']}"):
        problems = ["its region is not in its own root"]
    return problems


def inside(sentence, name, **how):
    container = Container(make_root(name), **how)
    if not container.runs:
        skip(sentence, container.why() or "no such container may be made here")
        return
    problems = record(container) + left_over(container.pid) + attach_and_detach(container)
    check(sentence, *problems, container.end())


TINY = "mount -t tmpfs -o size=64m,noexec tmpfs ROOT"
READ_ONLY = "mount -o remount,ro,bind ROOT"
NO_CODE = "echo 2 >ROOT/proc/sys/vm/memfd_noexec"  # of this pid namespace, since Linux 6.3


def containers():
    inside("a_container_with_a_read_only_root_is_recorded_from_outside", "read_only",
           mounts=[f"{TINY}/dev/shm", READ_ONLY])
    inside("a_container_without_dev_shm_has_its_region_in_tmp", "no_shm",
           mounts=["rmdir ROOT/dev/shm", f"{TINY}/tmp", READ_ONLY])
    inside("a_root_directory_without_namespaces_is_a_container_too", "chroot",
           unshare=("--mount",))
    inside("a_container_of_its_own_users_is_recorded_from_outside", "users",
           mounts=[f"{TINY}/dev/shm"],
           unshare=("--user", "--map-root-user", "--mount", "--pid", "--fork", "--kill-child"),
           before=("setpriv", f"--reuid={OTHER_USER}", f"--regid={OTHER_USER}", "--clear-groups"))


def no_memory_files():
    """The kernel forbids code in memory files, so a copy in /dev/shm or /tmp is loaded."""
    inside("a_container_that_forbids_code_in_memory_files_is_recorded", "no_code", mounts=[NO_CODE])
    sentence = "without_a_place_for_code_it_is_refused_and_runs_on"
    container = Container(make_root("no_place"), mounts=[NO_CODE, f"{TINY}/dev/shm", READ_ONLY])
    if not container.runs:
        skip(sentence, container.why())
        return
    got = geiger("attach", str(container.pid))
    check(sentence, None if got.returncode == 1 and "Give it a /dev/shm or /tmp that takes libraries." in got.stderr
          else got.stderr, *left_over(container.pid), container.end())


def nothing_writable():
    sentence = "without_a_writable_place_it_is_refused_and_runs_on"
    container = Container(make_root("nothing"), mounts=[READ_ONLY])
    if not container.runs:
        skip(sentence, container.why())
        return
    recorded = geiger("attach", "-o", "here.geiger", str(container.pid))
    alone = geiger("attach", str(container.pid))
    check(sentence,
          None if recorded.returncode == 1 and "Give it a /dev/shm or /tmp that can be written." in recorded.stderr
          else recorded.stderr,
          None if alone.returncode == 1 and "read-only file system" in alone.stderr else alone.stderr,
          container.end())


def replaced_libc():
    """An upgrade writes new files and moves them to the old names."""
    root = make_root("upgraded")
    container = Container(root, unshare=("--mount",))
    if not container.runs:
        skip("a_program_whose_libc_was_replaced_is_attached_to", container.why())
        return
    for library in libraries(TARGET):
        shutil.copy(library, root / "new")
        os.rename(root / "new", root / library[1:])
    maps = pathlib.Path(f"/proc/{container.pid}/maps").read_text(encoding="ascii")
    check("a_program_whose_libc_was_replaced_is_attached_to",
          None if "libc.so.6 (deleted)" in maps else "its libc was not replaced",
          *attach_and_detach(container), container.end())


def states():
    """`geiger ls` lists a process that is attached, and after a detach."""
    target = Target("loops", "1")
    found = [states_of(target.pid)]
    runs = [geiger("attach", "-i", "1", str(target.pid))]
    found.append(states_of(target.pid))
    runs.append(geiger("detach", str(target.pid)))
    found.append(states_of(target.pid))
    check("ls_shows_which_processes_are_attached_and_detached",
          None if found == [[], ["attached"], ["detached"]] else f"{found}", *failures(*runs), target.end())


def states_of(pid):
    lines = geiger("ls").stdout.splitlines()
    return [line.split()[1] for line in lines if line.split()[0] == str(pid)]


def no_proc():
    container = Container(make_root("no_proc"), unshare=())
    got = geiger("attach", str(container.pid))
    check("a_root_directory_without_proc_is_refused",
          None if got.returncode == 1 and "its root directory has no /proc" in got.stderr else got.stderr,
          container.end())


def main():
    states()
    if os.geteuid() != 0:
        skip("containers_are_recorded_from_outside", "only root may make them")
        return
    os.chmod(".", 0o755)
    containers()
    no_memory_files()
    nothing_writable()
    replaced_libc()
    no_proc()


if __name__ == "__main__":
    sys.exit(in_scratch(main))
