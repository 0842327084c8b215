#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""proof_python_tests.py [--whole | --only MODULE,...] [--pythons VERSION,...] [--jobs N]
                      [--malloc LIBRARY]

Python's own tests have the same results with and without the adapter.

Each CPython from 3.8 to 3.13 that is found, and the system's, runs modules of its own test suite:
alone, and under `geiger record` at an interval of 64 KiB.  Compared is the outcome of every single
test, as regrtest writes it (--junit-xml), and the exit status.  If they differ, the module runs
again, up to four times each way.  A test differs if no outcome occurs both under geiger and alone.
Tests with several outcomes are listed as unsteady.

In the profiles, no event was dropped, and fewer than one stack in 10^5

  - ends where its native frames could not be read, or
  - has a frame of the interpreter's loop, and no Python function, though no other interpreter is
    started, ended or entered.

--whole runs 100 modules with each Python.

--malloc is about libgeiger-malloc instead of the adapter: the second run has the library preloaded,
which samples at 64 KiB.  All objects of both runs are from malloc() (PYTHONMALLOC).  There is no
recorder and no profile; only the first Python that is found runs, and with --whole all modules.

GEIGER: the command.  GG_TEST_KEEP: a folder for reports
and profiles.
"""

import argparse
import collections
import concurrent.futures
import glob
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

GEIGER = os.environ["GEIGER"]
ROUNDS = 4
SECONDS = 1200  # for one run of a group
GROUP = 5

# A row of `MODULES` is a group, which one process runs.
MODULES = """
gc weakref generators coroutines sched
frame sys_settrace sys_setprofile traceback list
dict json exceptions fork1 queue
asyncgen code builtin super set
memoryview bytes tuple deque functools
subprocess threading_local threadsignals atexit thread
itertools collections descr class property
contextlib context dataclasses enum typing
re string textwrap struct array
bufio io fileio memoryio tempfile
sqlite sqlite3 ast compile dis
csv configparser argparse optparse getopt
decimal fractions float int long
complex math cmath statistics random
heapq bisect sort operator copy
pickle pickletools copyreg shelve marshal
xml_etree xml_etree_c minidom pulldom sax
hashlib hmac secrets base64 binascii
zlib gzip bz2 lzma zipimport
urlparse urllib http_cookies http_cookiejar html
unicodedata ucn codeop codecs stringprep
types typechecks isinstance iter slice
range enumerate index bool unpack
grammar syntax scope named_expressions fstring
with raise yield_from positional_only_arg keywordonlyarg
metaclass subclassinit abc funcattrs decorators
runpy pkg pkgutil modulefinder imp
cmd_line_script multiprocessing_main_handling wait4 wait3 popen
select selectors poll epoll signal
datetime calendar time strptime timeit
locale gettext shlex fnmatch glob
pathlib posixpath genericpath filecmp linecache
logging warnings threading reprlib pprint
tokenize symtable tabnanny pyclbr keyword
uuid ipaddress mimetypes netrc plistlib
"""


class Python:
    def __init__(self, path, name):
        self.path, self.name = path, name
        script = "import os, test; print(os.path.dirname(test.__file__))"
        folder = subprocess.run([path, "-c", script], capture_output=True, text=True).stdout.strip()
        self.known = {
            os.path.splitext(os.path.basename(file))[0][5:] for file in glob.glob(folder + "/test_*") if folder
        }


def find_pythons():
    root = os.environ.get("PYENV_ROOT") or os.path.expanduser("~/.pyenv")
    found = []
    for path in ["/usr/bin/python3"] + glob.glob(root + "/versions/3.*/bin/python"):
        script = "import sys; print('%d.%d.%d' % sys.version_info[:3])"
        version = subprocess.run([path, "-c", script], capture_output=True, text=True).stdout.strip()
        if re.match(r"3\.(8|9|10|11|12|13)\.", version):
            found.append(Python(path, version if found or path[:5] != "/usr/" else version + " of the system"))
    return found


class Figures:
    """Sums over profiles, and what is wrong with these."""

    def __init__(self):
        self.profiles = self.processes = self.samples = self.walks = self.unread = self.bare = 0
        self.problems = []

    def add(self, profile, where):
        check = subprocess.run([GEIGER, "check", profile], capture_output=True, text=True)
        if check.returncode != 0:
            self.problems.append(f"{where}: geiger check: {check.stdout[-300:]}{check.stderr[-300:]}")
            return
        db = sqlite3.connect(f"file:{profile}?mode=ro", uri=True)
        self.profiles += 1
        self.processes += db.execute("select count(*) from process").fetchone()[0]
        for name, value in db.execute("select name, sum(value) from counter group by name"):
            self.samples += value if name == "samples" else 0
            self.walks += value if name.startswith("walks: ") else 0
            if name.startswith("walks: ") and name not in ("walks: complete", "walks: frame limit"):
                self.unread += value
                print(f"  {where}: {name}: {value}", flush=True)
            if re.search("dropped|deferred|^stacks without|^threads without|^requests for space", name):
                self.problems.append(f"{where}: {name}: {value}")
        self.count_bare(db, where)
        db.close()

    def add_regions(self, folder, where):
        """Counts the processes that libgeiger-malloc served, and their samples."""
        listed = subprocess.run([GEIGER, "ls", folder], capture_output=True, text=True).stdout
        rows = [line.split() for line in listed.splitlines() if line.split()[0].isdigit()]
        self.processes += len(rows)
        self.samples += sum(int(row[6]) for row in rows)
        if not rows:
            self.problems.append(f"{where}: no process has a region")

    def count_bare(self, db, where):
        elsewhere = re.compile("subinterp|_interpreter$|^Py_EndInterpreter$|^interp_|^_testcapi")
        is_loop = {row[0] for row in db.execute(LOOPS)}
        is_python = {row[0] for row in db.execute(FUNCTIONS)}
        parents = {number: (parent, frame) for number, parent, frame in db.execute("select id, parent, frame from stack")}
        for stack, count in db.execute("select stack, count(*) from sample group by stack"):
            frames = []
            while stack is not None:
                stack, frame = parents[stack]
                frames.append(frame)
            if not is_python.isdisjoint(frames) or is_loop.isdisjoint(frames):
                continue
            names = [name_of(db, frame) for frame in frames]
            if any(elsewhere.search(name) for name in names):
                continue  # an interpreter that another one starts or ends, where no Python code runs
            self.bare += count
            print(f"  {where}: {count} samples without a function: {' < '.join(names[:20])}", flush=True)


LOOPS = """select line.frame from line join symbol on symbol.id = line.symbol
    where symbol.function like '_PyEval_EvalFrameDefault%'"""
FUNCTIONS = """select frame.id from frame join line on line.frame = frame.id
    join symbol on symbol.id = line.symbol join module on module.id = frame.module
    where module.path is symbol.file"""


def name_of(db, frame):
    row = db.execute(
        "select function from line join symbol on symbol.id = line.symbol where frame = ? order by depth", (frame,)
    ).fetchone()
    return str(row and row[0])


def outcome(case):
    kinds = sorted({child.tag for child in case if child.tag in ("error", "failure", "skipped")})
    return " ".join(kinds) or "ok"


def outcomes(path):
    """The results of each test by its name; addresses in names differ from run to run."""
    found = collections.defaultdict(list)
    try:
        tree = xml.etree.ElementTree.parse(path)
    except (OSError, xml.etree.ElementTree.ParseError):
        return found
    for case in tree.iter("testcase"):
        found[re.sub("0x[0-9a-f]+|[0-9]{4,}", "N", case.get("name"))].append(outcome(case))
    return {name: sorted(all) for name, all in found.items()}


def run(python, modules, folder, figures, where):
    """One run: by geiger if there are figures to add to.  Returns outcomes by test."""
    scratch = tempfile.mkdtemp(dir=folder)
    report, profile = scratch + "/report.xml", scratch + "/run.geiger"
    os.mkdir(scratch + "/work")
    command = [python.path, "-m", "test", "--junit-xml", report] + ["test_" + name for name in modules]
    if figures is not None and LIBRARY is None:
        command = [GEIGER, "record", "--quiet", "-i", "64k", "--seed", "1", "-o", profile, "--"] + command
    environment = dict(os.environ, TMPDIR=scratch + "/work", LC_ALL="C.UTF-8", GEIGER_DIR=scratch)
    for name in ("PYTHONPATH", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE"):
        environment.pop(name, None)
    if LIBRARY is not None:
        environment["PYTHONMALLOC"] = "malloc"
        if figures is not None:
            environment.update(LD_PRELOAD=LIBRARY, GEIGER_INTERVAL="64k", GEIGER_SEED="1")
    with open(scratch + "/log", "w+b") as log:
        child = subprocess.Popen(
            command,
            cwd=scratch + "/work",
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        try:
            status = child.wait(SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            status = "no end"
    found = outcomes(report)
    found["(exit status)"] = [str(status)]
    if figures is not None and LIBRARY is None:
        figures.add(profile, where)
    elif figures is not None:
        figures.add_regions(scratch, where)
    if KEEP and figures is not None:
        shutil.copytree(scratch, f"{KEEP}/{python.name}-{'-'.join(modules)}-{os.path.basename(scratch)}",
                        ignore=shutil.ignore_patterns("work"), dirs_exist_ok=True)
    shutil.rmtree(scratch, ignore_errors=True)
    return found


KEEP = os.environ.get("GG_TEST_KEEP")
LIBRARY = None  # of --malloc


def unlike(alone, profiled):
    """The tests none of whose outcomes with geiger occurs without."""
    names = set().union(*alone, *profiled)
    return sorted(
        name
        for name in names
        if not any(one.get(name) == other.get(name) for one in alone for other in profiled)
    )


def group(python, modules, folder):
    """Returns figures, the number of tests, those that differ, those that are unsteady."""
    figures, differ, unsteady = Figures(), [], []
    where = f"{python.name}: {' '.join(modules)}"
    alone = run(python, modules, folder, None, where)
    profiled = run(python, modules, folder, figures, where)
    if unlike([alone], [profiled]):
        for module in modules:
            first = None
            one, other = [], []
            for _ in range(ROUNDS):
                one.append(run(python, [module], folder, None, where))
                other.append(run(python, [module], folder, figures, where))
                names = unlike(one, other)
                first = names if first is None else first
                if not names:
                    break
            differ += [f"{python.name}: {module}: {name}: {other[-1].get(name)}, alone {one[-1].get(name)}" for name in names]
            unsteady += [f"{python.name}: {module}: {name}" for name in first if name not in names]
        if not differ and not unsteady:
            names = unlike([alone], [profiled])
            unsteady += [f"{python.name}: {name}: {profiled.get(name)}, alone {alone.get(name)}" for name in names]
    number = sum(len(all) for name, all in profiled.items()) - 1
    print(f"{where}: {number} tests, {len(differ)} differ, {len(unsteady)} unsteady", flush=True)
    return figures, number, differ, unsteady


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--whole", action="store_true")
    parser.add_argument("--pythons")
    parser.add_argument("--only", help="modules, separated by commas")
    parser.add_argument("--jobs", type=int, default=max(2, os.cpu_count() or 1))
    parser.add_argument("--malloc", metavar="LIBRARY")
    options = parser.parse_args()
    global LIBRARY
    LIBRARY = options.malloc
    limit = 2 if not options.whole else 100 if LIBRARY is None else None
    pythons = [p for p in find_pythons() if p.known]
    if LIBRARY is not None:
        del pythons[1:]
    if options.pythons:
        pythons = [p for p in pythons if p.name in options.pythons.split(",")]
    if not pythons:
        print("skipped - proof_python_tests: no Python with its test suite (libpython3.N-testsuite)")
        sys.exit(77)
    work = []
    for python in pythons:
        known = [name for name in MODULES.split() if name in python.known]
        known = options.only.split(",") if options.only else known[:limit]
        work += [(i, python, known[i : i + GROUP]) for i in range(0, len(known), GROUP)]
    work.sort(key=lambda one: one[0])  # all versions at the same time
    with tempfile.TemporaryDirectory() as folder:
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            results = list(pool.map(lambda one: (one, group(one[1], one[2], folder)), work))
    sys.exit(summarize(pythons, results))


def summarize(pythons, results):
    wrong, unsteady = [], []
    print("summary\n")
    print("| Python | modules | tests | processes | samples | walks | could not be read | no function |")
    print("|-|-|-|-|-|-|-|-|")
    samples = walks = unread = bare = 0
    for python in pythons:
        own = [(modules, result) for (_, which, modules), result in results if which is python]
        all = [result[0] for _, result in own]
        print(
            f"| {python.name} | {sum(len(modules) for modules, _ in own)} | {sum(r[1] for _, r in own)}"
            f" | {sum(f.processes for f in all)} | {sum(f.samples for f in all)} | {sum(f.walks for f in all)}"
            f" | {sum(f.unread for f in all)} | {sum(f.bare for f in all)} |"
        )
        for _, result in own:
            wrong += result[0].problems + result[2]
            unsteady += result[3]
        samples += sum(f.samples for f in all)
        walks += sum(f.walks for f in all)
        unread += sum(f.unread for f in all)
        bare += sum(f.bare for f in all)
    if unread * 10**5 >= max(walks, 10**5):
        wrong.append(f"{unread} of {walks} native stacks could not be read")
    if bare * 10**5 >= max(samples, 10**5):
        wrong.append(f"{bare} of {samples} stacks have no function of Python")
    print("\nUnsteady, with and without geiger:" if unsteady else "\nNo test was unsteady.")
    print(*(f"- {line}" for line in unsteady), sep="\n")
    print("\nDifferent:" if wrong else "\nNothing differs.")
    print(*(f"- {line}" for line in wrong), sep="\n")
    what = "the_adapter" if LIBRARY is None else "libgeiger_malloc"
    print("not ok" if wrong else "ok", "- tests_of_python_have_the_same_results_with_" + what)
    return bool(wrong)


main()
