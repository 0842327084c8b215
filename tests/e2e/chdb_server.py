#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""chdb_server.py LIBRARY FOLDER - answers ClickHouse's HTTP interface by libchdb, on loopback.

The statements of a fleet have to mean the same on a modern engine as on Debian's old server.
libchdb is a modern engine without a server, so this one lends it an address, which it prints.  It
answers one request after the other, and ends with its standard input.
"""

import ctypes
import http.server
import os
import sys
import threading
import urllib.parse


class Engine:
    """One connection to a folder of libchdb, which allows one for each process."""

    def __init__(self, library, folder):
        self.library = ctypes.CDLL(library)
        for name in ("chdb_connect", "chdb_query_n", "chdb_result_buffer", "chdb_result_error"):
            getattr(self.library, name).restype = ctypes.c_void_p
        self.library.chdb_result_length.restype = ctypes.c_size_t
        self.library.chdb_query_n.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p,
                                              ctypes.c_size_t]
        for name in ("chdb_result_buffer", "chdb_result_length", "chdb_result_error", "chdb_destroy_query_result"):
            getattr(self.library, name).argtypes = [ctypes.c_void_p]
        words = [b"clickhouse", b"--path=" + folder.encode()]
        self.connection = ctypes.cast(
            self.library.chdb_connect(len(words), (ctypes.c_char_p * len(words))(*words)),
            ctypes.POINTER(ctypes.c_void_p))
        if not self.connection:
            raise OSError("libchdb does not open the folder")

    def query(self, text):
        """The reply as bytes, and the error as a text or None."""
        result = self.library.chdb_query_n(self.connection[0], text, len(text), b"TabSeparated", 12)
        error = self.library.chdb_result_error(result)
        length = self.library.chdb_result_length(result)
        reply = ctypes.string_at(self.library.chdb_result_buffer(result), length) if length else b""
        error = ctypes.string_at(error).decode(errors="replace") if error else None
        self.library.chdb_destroy_query_result(result)
        return reply, error


def handler_of(engine):
    class Handler(http.server.BaseHTTPRequestHandler):
        def body(self):
            if "chunked" not in self.headers.get("Transfer-Encoding", ""):
                return self.rfile.read(int(self.headers.get("Content-Length", 0)))
            whole = b""
            while length := int(self.rfile.readline().split(b";")[0], 16):
                whole += self.rfile.read(length)
                self.rfile.readline()
            self.rfile.readline()
            return whole

        def do_POST(self):
            words = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)
            statement = words.pop("query", [""])[0]
            body = self.body()
            for name, values in words.items():
                if name.startswith("max_"):
                    engine.query(f"SET {name} = {int(values[0])}".encode())
            reply, error = engine.query(statement.encode() + b"\n" + body if statement else body)
            self.send_response(200 if error is None else 500)
            text = reply if error is None else error.encode()
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *arguments):
            pass

    return Handler


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: chdb_server.py LIBRARY FOLDER")
    server = http.server.HTTPServer(("127.0.0.1", 0), handler_of(Engine(sys.argv[1], os.path.abspath(sys.argv[2]))))
    print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
    threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
    server.serve_forever()


if __name__ == "__main__":
    main()
