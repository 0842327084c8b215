#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench_send - the cost of `geiger send` for each process and look.

Each process has live memory of a thousand stacks.  Processor time is that of the sender and of its
workers; the first look, which reads symbols, is printed apart.  The last lines are for a thousand
processes and a look a minute.

GEIGER, AGENT, SEND_WORK: programs; SEND_PROCESSES: their number (20).
"""

import http.server
import os
import subprocess
import sys
import tempfile
import threading


class Handler(http.server.BaseHTTPRequestHandler):
    sizes = []

    def do_POST(self):
        Handler.sizes.append(len(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass

INNER = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
print(usage.ru_utime + usage.ru_stime, usage.ru_maxrss)
"""


def main():
    geiger, agent, work = (os.environ[name] for name in ("GEIGER", "AGENT", "SEND_WORK"))
    count = int(os.environ.get("SEND_PROCESSES", "20"))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as folder:
        regions = os.path.join(folder, "regions")
        os.mkdir(regions)
        environment = {**os.environ, "LD_PRELOAD": agent, "GEIGER_DIR": regions, "GEIGER_INTERVAL": "512"}
        processes = [subprocess.Popen([work], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
                     for _ in range(count)]

        def allocate():
            for process in processes:
                process.stdin.write(b"\n")
                process.stdin.flush()
                process.stdout.readline()

        def look():
            """Processor time in seconds and peak memory in MiB of a sender."""
            text = subprocess.run(
                [sys.executable, "-c", INNER, geiger, "send", regions, "--quiet", "--to",
                 f"http://127.0.0.1:{server.server_address[1]}", "--state", os.path.join(folder, "state")],
                check=True, capture_output=True, text=True, env={**os.environ, "HOME": folder}).stdout
            seconds, peak = text.split()
            return float(seconds), int(peak) / 1024

        allocate()
        first, _ = look()
        times = []
        for _ in range(3):
            allocate()
            times.append(look())
        seconds, peak = min(time for time, _ in times), max(peak for _, peak in times)
        for process in processes:
            process.stdin.close()
            process.wait()
    print(f"{count} processes, {1000 * first / count:.2f} ms for each at the first look")
    print(f"{1000 * seconds / count:.2f} ms for each process and look, the least of {len(times)} looks")
    print(f"{sum(Handler.sizes) / len(Handler.sizes) / 1024:.1f} KiB for each profile, {peak:.0f} MiB of memory")
    print(f"1000 processes, a look each minute: {100 * seconds / count * 1000 / 60:.1f} % of a processor")


if __name__ == "__main__":
    main()
