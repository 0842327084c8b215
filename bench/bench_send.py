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

GEIGER, AGENT, SEND_WORK: programs; SEND_PROCESSES: their number (50); SEND_LOOKS: of each kind (5).
"""

import http.server
import os
import statistics
import subprocess
import tempfile
import threading
import time


class Handler(http.server.BaseHTTPRequestHandler):
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


def peak_of(pid):
    with open(f"/proc/{pid}/status") as file:
        return next(int(line.split()[1]) / 1024 for line in file if line.startswith("VmHWM"))


def main():
    geiger, agent, work = (os.environ[name] for name in ("GEIGER", "AGENT", "SEND_WORK"))
    count, looks = (int(os.environ.get(name, default)) for name, default in
                    (("SEND_PROCESSES", "50"), ("SEND_LOOKS", "5")))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        regions = os.path.join(folder, "regions")
        os.mkdir(regions)
        environment = {**os.environ, "LD_PRELOAD": agent, "GEIGER_DIR": regions, "GEIGER_INTERVAL": "64"}
        processes = [subprocess.Popen([work], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
                     for _ in range(count)]

        def allocate(kind):
            for process in processes:
                process.stdin.write(kind.encode() + b"\n")
                process.stdin.flush()
                process.stdout.readline()

        for _ in range(3):
            allocate("all")
        # Each look is long over before the next one: processes allocate in between.
        period = max(1, count / 50)
        sender = subprocess.Popen([geiger, "send", regions, "--quiet", "--every", f"{period}s", "--to",
                                   f"http://127.0.0.1:{server.server_address[1]}", "--state",
                                   os.path.join(folder, "state")], env={**os.environ, "HOME": folder})
        while len(Handler.sizes) < count:
            time.sleep(0.1)
        print(f"{count} processes")
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
        print(f"{peak_of(sender.pid):.0f} MiB of memory")
        sender.terminate()
        sender.wait()
        for process in processes:
            process.stdin.close()
            process.wait()


if __name__ == "__main__":
    main()
