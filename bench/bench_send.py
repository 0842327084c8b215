#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench_send - the cost of `geiger send --every` for each process and look.

Each process has live memory of a thousand stacks.  Processor time is that of the sender and of its
workers, user and system.  The first look reads symbols.  At the next ones,

  idle  no process does anything
  some  each process allocates in 10 of its stacks
  all   each process allocates in all of them
  new   as all, and in ten stacks that it did not have before

Figures are medians of several looks.  The last column is for 1000 processes and a look a minute.
Many processes are few programs that run, and copies of their regions: a copy has its owner's pid
and another time of start, and so it is a process of its own for the sender.

GEIGER, AGENT, SEND_WORK: programs; SEND_PROCESSES: how many processes (50); SEND_PROGRAMS: how many
of them run (all, 20 at most); SEND_LOOKS: looks of each kind (5); SEND_WRAPPER: a command before
the sender's, such as valgrind.
"""

import fcntl
import http.server
import os
import resource
import shlex
import statistics
import struct
import subprocess
import tempfile
import threading
import time

START_WALL_AT = 40  # in the header of a region (src/region/layout.h)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    sizes = []

    def do_POST(self):
        Handler.sizes.append(len(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def seconds_of(pid):
    """Processor time of a process to the nanosecond, and of its children to the tick."""
    with open(f"/proc/{pid}/schedstat") as file:
        own = int(file.read().split()[0]) * 1e-9
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return own + (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")


def memory_of(pid, name):
    with open(f"/proc/{pid}/status") as file:
        return next(int(line.split()[1]) / 1024 for line in file if line.startswith(name))


def pss_of(pid):
    with open(f"/proc/{pid}/smaps_rollup") as file:
        return next(int(line.split()[1]) / 1024 for line in file if line.startswith("Pss:"))


def data_of(path):
    """The parts of a file that are no holes: offsets and bytes."""
    parts = []
    with open(path, "rb", buffering=0) as file:
        end = os.fstat(file.fileno()).st_size
        at = 0
        while at < end:
            try:
                at = os.lseek(file.fileno(), at, os.SEEK_DATA)
            except OSError:
                break
            stop = os.lseek(file.fileno(), at, os.SEEK_HOLE)
            parts.append((at, os.pread(file.fileno(), stop - at, at)))
            at = stop
    return end, parts


locks = {}


def lock(path):
    """Holds a region as its process does (src/region/region_file.c)."""
    locks[path] = os.open(path, os.O_RDWR)
    fcntl.fcntl(locks[path], fcntl.F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_RDLCK, 0, 0, 1, 0))


def copy_region(path, folder, first, count):
    """Writes copies of a region in place; each gets another time of start."""
    end, parts = data_of(path)
    start = struct.unpack_from("<Q", parts[0][1], START_WALL_AT)[0]
    for number in range(first, first + count):
        below = os.path.join(folder, f"geiger-session-{number}")
        os.makedirs(below, exist_ok=True)
        copy = os.path.join(below, os.path.basename(path))
        file = os.open(copy, os.O_RDWR | os.O_CREAT, 0o600)
        os.ftruncate(file, end)
        for at, part in parts:
            os.pwrite(file, part, at)
        os.pwrite(file, struct.pack("<Q", start + 1 + number), START_WALL_AT)
        os.close(file)
        if copy not in locks:
            lock(copy)


def main():
    geiger, agent, work = (os.environ[name] for name in ("GEIGER", "AGENT", "SEND_WORK"))
    count, looks = (int(os.environ.get(name, default)) for name, default in
                    (("SEND_PROCESSES", "50"), ("SEND_LOOKS", "5")))
    programs = int(os.environ.get("SEND_PROGRAMS", min(count, 20)))
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]  # each copy has a lock
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        regions = os.path.join(folder, "regions")
        os.mkdir(regions)
        environment = {**os.environ, "LD_PRELOAD": agent, "GEIGER_DIR": regions, "GEIGER_INTERVAL": "64"}
        processes = [subprocess.Popen([work], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
                     for _ in range(programs)]

        def copy():
            paths = sorted(entry.path for entry in os.scandir(regions) if entry.is_file())
            for i, path in enumerate(paths):
                first, end = ((count - programs) * at // programs for at in (i, i + 1))
                copy_region(path, regions, first, end - first)

        def allocate(kind):
            for process in processes:
                process.stdin.write(kind.encode() + b"\n")
                process.stdin.flush()
                process.stdout.readline()
            copy()

        for _ in range(3):
            allocate("all")
        # Each look is long over before the next one: processes allocate in between.
        period = max(1, count / 50)
        command = [geiger, "send", regions, "--quiet", "--every", f"{period}s", "--to",
                   f"http://127.0.0.1:{server.server_address[1]}", "--state", os.path.join(folder, "state")]
        sender = subprocess.Popen(shlex.split(os.environ.get("SEND_WRAPPER", "")) + command,
                                  env={**os.environ, "HOME": folder})
        while len(Handler.sizes) < count:
            time.sleep(0.1)
        print(f"{count} processes, {programs} of them programs that run, load {os.getloadavg()[0]:.0f}")
        print(f"first  {1000 * seconds_of(sender.pid) / count:7.3f} ms for each process")
        # Profiles of zeros begin once a stack holds nothing; the first quick look makes its memory.
        for kind in ("all", "idle", "some", "all", "new"):
            times, sizes = [], []
            for _ in range(looks):
                before, sent = seconds_of(sender.pid), len(Handler.sizes)
                if kind == "idle":
                    time.sleep(period)
                else:
                    allocate(kind)
                    while len(Handler.sizes) < sent + count:
                        time.sleep(0.05)
                    time.sleep(period / 3)
                times.append(seconds_of(sender.pid) - before)
                sizes += Handler.sizes[sent:]
            each = statistics.median(times) / count
            size = f", {statistics.mean(sizes) / 1024:.1f} KiB a profile" if sizes else ""
            print(f"{kind:5}  {1000 * each:7.3f} ms for each process and look, "
                  f"{100 * each * 1000 / 60:5.2f} % of a processor{size}", flush=True)
        print(f"{memory_of(sender.pid, 'VmHWM'):.1f} MiB of memory at most, "
              f"{memory_of(sender.pid, 'VmRSS'):.1f} MiB now, PSS {pss_of(sender.pid):.1f} MiB")
        sender.terminate()
        sender.wait()
        for process in processes:
            process.stdin.close()
            process.wait()


if __name__ == "__main__":
    main()
