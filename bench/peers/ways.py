# SPDX-License-Identifier: Apache-2.0
"""The ways to run a program: each allocator as it is, under its own profiler, and under geiger.

A way has a baseline, the same allocator without a profiler, to which its figures are ratios.  It
says how to start a command in a folder, which files that leaves, and which command makes a text of
them.
"""

import dataclasses
import glob
import os
import shutil
import subprocess

GEIGER_512K = "geiger, 512 KiB"


@dataclasses.dataclass
class Way:
    name: str  # unique
    over: str  # the allocator: glibc, jemalloc, tcmalloc, mimalloc
    kind: str  # plain, sampling, or counting: it sees each allocation
    tool: str = ""  # whose: geiger, jemalloc, ...; the same in all its ways
    preload: tuple = ()
    environment: dict = dataclasses.field(default_factory=dict)  # {folder} is replaced, as in the rest
    wrap: tuple = ()  # before the command
    files: str = ""  # a pattern
    report: tuple = ()  # {file} the newest of these files, {program} what ran
    processes: bool = False  # it has processes of its own, so wall and processor's time are those of all
    loops: bool = True  # also measured in loops that time themselves
    interval: int = 0  # of samples, in bytes

    def command(self, command, folder):
        def fill(text):
            return text.replace("{folder}", folder)

        variables = {key: fill(value) for key, value in self.environment.items()}
        if self.preload:
            variables["LD_PRELOAD"] = ":".join(self.preload)
        wrapped = [fill(word) for word in self.wrap] + list(command)
        return ["env", *(f"{key}={value}" for key, value in variables.items()), *wrapped]

    def left_files(self, folder):
        return sorted(glob.glob(self.files.replace("{folder}", folder)), key=os.path.getmtime) if self.files else []

    def report_command(self, folder, program):
        files = self.left_files(folder)
        if not files or not self.report:
            return None
        return [word.replace("{file}", files[-1]).replace("{program}", program) for word in self.report]


LIBRARIES = {
    "glibc": (),
    "jemalloc": ("libjemalloc.so.2",),
    "tcmalloc": ("libtcmalloc.so.4",),
    "mimalloc": ("libmimalloc.so.2",),
}
# The names of Debian's packages, for the versions.
PACKAGES = ["libc6", "libjemalloc2", "libgoogle-perftools4", "libmimalloc2.0", "heaptrack", "valgrind",
            "redis-tools", "sqlite3", "python3", "gcc"]
# Compared with where there is a package.
WANTED = {"memray": ["memray", "python3-memray"], "bytehound": ["bytehound"], "async-profiler": ["async-profiler"]}

# More blocks may be live at once, and more stacks be met, than samples are.
COUNTING_CAPACITIES = {"GEIGER_MAX_LIVE": "4M", "GEIGER_MAX_STACKS": "8M", "GEIGER_MAX_ROWS": "1M"}


def geiger_ways(build, over, interval, kind="sampling", scheme=None):
    """The agent alone: a region is left, which reports read."""
    geiger = os.path.join(build, "src", "geiger")
    size = {1: "1", 4096: "4k", 32768: "32k", 524288: "512k"}[interval]
    environment = {"GEIGER_DIR": "{folder}", "GEIGER_INTERVAL": size}
    if scheme:
        environment["GEIGER_SCHEME"] = scheme
    if interval == 1:
        environment |= COUNTING_CAPACITIES
    return Way(f"geiger over {over}, {size}" + (f", {scheme}" if scheme else ""), over, kind, "geiger",
               (os.path.join(build, "src", "libgeiger-agent.so"), *LIBRARIES[over]), environment,
               files="{folder}/*.region", report=(geiger, "report", "--no-pager", "{file}"), interval=interval)


def recorded(build, interval, kind):
    """geiger record: with the history, and a recorder beside the program."""
    environment = COUNTING_CAPACITIES if interval == 1 else {}
    geiger, size = os.path.join(build, "src", "geiger"), {1: "1", 524288: "512k"}[interval]
    return Way(f"geiger record, {size}", "glibc", kind, "geiger record",
               environment=environment, wrap=(geiger, "record", "--quiet", "-i", size, "-o", "{folder}/x.geiger", "--"),
               files="{folder}/x.geiger", report=(geiger, "report", "--no-pager", "{file}"),
               processes=True, loops=False, interval=interval)


def exact_ways(build):
    """Every allocation counted: the agent alone, and geiger record --exact."""
    geiger, agent = os.path.join(build, "src", "geiger"), os.path.join(build, "src", "libgeiger-agent.so")
    report = (geiger, "report", "--no-pager", "{file}")
    return [
        Way("geiger, exact", "glibc", "counting", "geiger", (agent,),
            {"GEIGER_DIR": "{folder}", "GEIGER_EXACT": "1"}, files="{folder}/*.region", report=report, interval=1),
        Way("geiger record --exact", "glibc", "counting", "geiger record",
            wrap=(geiger, "record", "--quiet", "--exact", "-o", "{folder}/x.geiger", "--"), files="{folder}/x.geiger",
            report=report, processes=True, loops=False, interval=1),
    ]


def jemalloc_way(interval, accumulates=False):
    settings = f"prof:true,prof_active:true,lg_prof_sample:{interval.bit_length() - 1},prof_final:true"
    settings += ",prof_prefix:{folder}/je" + (",prof_accum:true" if accumulates else "")
    return Way(f"jemalloc prof, {interval >> 10}k", "jemalloc", "sampling", "jemalloc prof", LIBRARIES["jemalloc"],
               {"MALLOC_CONF": settings}, files="{folder}/je.*.heap",
               report=("jeprof", "--text", "{program}", "{file}"), interval=interval)


def tcmalloc_way(build, interval, dumps=False):
    """Without the helper there is no file: no setting makes one."""
    helper = (os.path.join(build, "bench", "peers", "libtcmalloc-dump.so"),) if dumps else ()
    environment = {"TCMALLOC_SAMPLE_PARAMETER": str(interval)}
    if dumps:
        environment["TCMALLOC_DUMP"] = "{folder}/tc.heap"
    return Way(f"tcmalloc sampling, {interval >> 10}k", "tcmalloc", "sampling", "tcmalloc sampling",
               (*helper, *LIBRARIES["tcmalloc"]), environment, files="{folder}/tc.heap",
               report=("google-pprof", "--text", "{program}", "{file}"), interval=interval)


def counting_ways(build):
    return [
        geiger_ways(build, "glibc", 1, "counting"),
        recorded(build, 1, "counting"),
        Way("heaptrack", "glibc", "counting", "heaptrack", wrap=("heaptrack", "-o", "{folder}/ht"),
            files="{folder}/ht*", report=("heaptrack_print", "{file}"), processes=True),
        Way("HEAPPROFILE", "tcmalloc", "counting", "HEAPPROFILE", LIBRARIES["tcmalloc"],
            {"HEAPPROFILE": "{folder}/hp"}, files="{folder}/hp.*.heap",
            report=("google-pprof", "--text", "{program}", "{file}")),
        Way("massif", "glibc", "counting", "massif",
            wrap=("valgrind", "--tool=massif", "-q", "--massif-out-file={folder}/massif.out"),
            files="{folder}/massif.out", report=("ms_print", "{file}")),
        *exact_ways(build),
    ]


def plain_ways():
    return [Way(name, name, "plain", preload=libraries) for name, libraries in LIBRARIES.items()]


def sampling_ways(build, interval=524288):
    ways = [geiger_ways(build, over, interval) for over in LIBRARIES]
    if interval == 524288:
        ways.insert(1, recorded(build, interval, "sampling"))
    return [*ways, jemalloc_way(interval), tcmalloc_way(build, interval)]


def output(command, **more):
    run = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, **more)
    return run.stdout + run.stderr


def missing(way):
    """Why this way cannot be measured here; None: it can."""
    loaders = [word for word in way.preload if "/" not in word]
    for library in loaders:
        if "cannot be preloaded" in output(["env", f"LD_PRELOAD={library}", "true"]):
            return f"{library} is not installed"
    for file in (word for word in way.preload if "/" in word):
        if not os.path.exists(file):
            return f"{os.path.basename(file)} is not built: its headers are not installed"
    for program in (way.wrap[:1], way.report[:1]):
        if program and not shutil.which(program[0]):
            return f"{program[0]} is not installed"
    if way.tool == "jemalloc prof":
        said = output(["env", "LD_PRELOAD=libjemalloc.so.2", "MALLOC_CONF=prof:true", "true"])
        if "Invalid conf" in said:
            return "the distribution's build has no profiling"
    return None


def absent_tools():
    """Tools that were looked for in the distribution, and what was found."""
    found = {}
    for tool, packages in WANTED.items():
        known = [name for name in packages if "Package:" in output(["apt-cache", "show", name])]
        found[tool] = f"there is a package {known[0]}, which this does not run" if known else "no Debian package"
    return found


def versions():
    query = output(["dpkg-query", "-W", "-f", "${Package} ${Version}\n", *PACKAGES])
    return dict(line.split(" ", 1) for line in query.splitlines() if line.count(" ") == 1)
