#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench_fleet_receive - what a slot costs: a receiver of many hosts, and the sender of one.

The slot is that of a recorded program, with the name of another host in each message.  The sender's
host runs five programs under the agent; its figures are those of three slots after the first ones.

AGENT, GEIGER, FLEET_PROGRAM: programs; FLEET_HOSTS: how many hosts (10 000).
"""

import gzip
import http.client
import http.server
import os
import queue
import subprocess
import tempfile
import threading
import time

GEIGER = os.environ["GEIGER"]
HOSTS = int(os.environ.get("FLEET_HOSTS", "10000"))
THREADS, PROGRAMS, LOOKS, SLOT_SECONDS = 16, 5, 3, 10
SLOT, STACKS = "/v1/fleet/slot", "/v1/fleet/stacks"


def varint(message, at):
    value = shift = 0
    while True:
        byte = message[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def as_varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def on_host(message, name):
    """The message with another host, whose name is its first text."""
    begin = len("GGFLEETS") + 1
    length, at = varint(message, begin)
    return message[:begin] + as_varint(len(name)) + name.encode() + message[at + length:]


class Recorder(http.server.BaseHTTPRequestHandler):
    """Takes the messages of a sender, and asks for all definitions."""

    protocol_version = "HTTP/1.1"
    messages = {SLOT: [], STACKS: []}

    def do_POST(self):  # pylint: disable=invalid-name
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.messages[self.path].append(gzip.decompress(body))
        is_first = self.path == SLOT and len(self.messages[SLOT]) == 1
        answer = b"geiger-fleet 1\n" + (b"unknown 0-9999\n" if is_first else b"")
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


def record(folder):
    """A slot, and the definitions of its stacks."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Recorder)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    profile = os.path.join(folder, "p.geiger")
    subprocess.run([GEIGER, "record", "-q", "-o", profile, "--interval", "64KiB", "--", os.environ["FLEET_PROGRAM"], "2"],
                   check=True, capture_output=True)
    subprocess.run([GEIGER, "send", profile, "--to", f"fleet://127.0.0.1:{server.server_address[1]}", "--slot", "10m",
                    "--service", "bench", "--state", "none"], check=True, capture_output=True)
    server.shutdown()
    return max(Recorder.messages[SLOT], key=len), Recorder.messages[STACKS]


def count_slots():
    return len(Recorder.messages[SLOT])


def measure_sender(folder):
    """Processor time of `geiger send` for a slot, and the bytes of its body."""
    Recorder.messages = {SLOT: [], STACKS: []}
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Recorder)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    regions = os.path.join(folder, "regions")
    os.mkdir(regions)
    programs = [subprocess.Popen([os.environ["FLEET_PROGRAM"], "600"], env={
        **os.environ, "LD_PRELOAD": os.environ["AGENT"], "GEIGER_DIR": regions, "GEIGER_INTERVAL": "16384"})
        for _ in range(PROGRAMS)]
    sender = subprocess.Popen([GEIGER, "send", regions, "--quiet", "--every", f"{SLOT_SECONDS}s", "--slot",
                               f"{SLOT_SECONDS}s", "--to", f"fleet://127.0.0.1:{server.server_address[1]}", "--state",
                               os.path.join(folder, "state")])
    try:
        while count_slots() < 3:
            time.sleep(0.1)
        time.sleep(SLOT_SECONDS / 3)  # for what follows the slot
        before, slots = facts(sender.pid)[0], count_slots()
        while count_slots() < slots + LOOKS:
            time.sleep(0.1)
        time.sleep(SLOT_SECONDS / 3)
        seconds, peak = facts(sender.pid)
        sizes = [len(gzip.compress(message)) for message in Recorder.messages[SLOT][slots:]]
        print(f"the sender of {PROGRAMS} programs: {1000 * (seconds - before) / LOOKS:.0f} ms of processor time a slot, "
              f"bodies of {sum(sizes) / len(sizes):.0f} bytes, at most {peak:.0f} MB")
    finally:
        for process in [sender, *programs]:
            process.kill()
            process.wait()
        server.shutdown()


def facts(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        peak = next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), peak / 1024


def send_all(address, slot, numbers, failed):
    connection = http.client.HTTPConnection(address, timeout=120)
    while True:
        try:
            number = numbers.get_nowait()
        except queue.Empty:
            return
        body = gzip.compress(on_host(slot, f"host-{number:05d}"), 1)
        for _ in range(200):
            connection.request("POST", SLOT, body, {"Content-Type": "application/octet-stream"})
            reply = connection.getresponse()
            reply.read()
            if reply.status not in (429, 503):
                break
            time.sleep(1)
        if reply.status != 200:
            failed.append(reply.status)


def main():
    with tempfile.TemporaryDirectory(prefix="bench-fleet-") as folder:
        slot, definitions = record(folder)
        measure_sender(folder)
        store = os.path.join(folder, "store")
        subprocess.run([GEIGER, "fleet", "up", store], check=True, capture_output=True)
        receiver = subprocess.Popen([GEIGER, "fleet", "receive", "--store", store, "--directory",
                                     os.path.join(folder, "segments"), "--listen", "127.0.0.1:0", "--tenant-rate", "1GiB"],
                                    stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        address = receiver.stdout.readline().strip().removeprefix("fleet://")
        for message in definitions:
            connection = http.client.HTTPConnection(address, timeout=60)
            connection.request("POST", STACKS, gzip.compress(message))
            connection.getresponse().read()
        numbers, failed = queue.Queue(), []
        for number in range(HOSTS):
            numbers.put(number)
        begin = time.monotonic()
        threads = [threading.Thread(target=send_all, args=(address, slot, numbers, failed)) for _ in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        took = time.monotonic() - begin
        while [name for name in os.listdir(os.path.join(folder, "segments")) if name.endswith(".segment")]:
            time.sleep(0.2)
        seconds, peak = facts(receiver.pid)
        print(f"{HOSTS} hosts, a slot of {len(slot)} bytes ({len(gzip.compress(slot))} as gzip): {seconds:.1f} s of "
              f"processor time, at most {peak:.0f} MB; sent in {took:.0f} s; {len(failed)} refused")
        receiver.terminate()
        receiver.wait(60)
        subprocess.run([GEIGER, "fleet", "down", store], check=False, capture_output=True)


if __name__ == "__main__":
    main()
