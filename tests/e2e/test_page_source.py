#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Source lines are in a page only if the user asks, and only of files that are source code.

GEIGER, GOLDEN_PROFILE: programs.  The golden profile names its files without folders.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

from page_pages import page_data
from sentences import check, status

GEIGER = os.environ["GEIGER"]
MARKUP = "</script><script>alert(1)</script>"


def source_of(path, *options):
    """The passages by file and function, and the names of all functions."""
    data = page_data(GEIGER, path, *options)
    names = [data["strings"][name] for name in data["frames"]["name"]]
    return None if data["source"] is None else {(one["file"], names[one["frame"]]): one for one in data["source"]}


def make_files(folder):
    text = [f"line {i} of main.c {MARKUP}" for i in range(1, 100)]
    (folder / "main.c").write_text("\n".join(text) + "\n")
    (folder / "work.c").write_text("\n".join(f"work {i}" for i in range(1, 9)))  # ends within the passage
    (folder / "parse.c").write_bytes(b"binary\0file")
    (folder / "log.c").write_text("x" * 5000 + "\n" * 30)
    os.mkfifo(folder / "serve.c")
    return text


def main():
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        made, text = os.path.join(place, "made.geiger"), make_files(folder)
        subprocess.run([os.environ["GOLDEN_PROFILE"], made], check=True)

        check("a page has no source lines unless the user asks", None if source_of(made) is None else "it has some")
        plain = source_of(made, "--source")
        check("files with relative names are not looked for in the current folder",
              *[None if "relative" in one["problem"] and "lines" not in one else f"{file}: {one}"
                for (file, _), one in plain.items()])

        found = source_of(made, "--source", "--source-path", f"={place}/")
        lines = found[("main.c", "main")]
        first = lines["first"]
        check("a passage begins before the first line of the function and ends after the last one",
              None if first == 32 and lines["lines"] == text[31:64] else f"{first}: {len(lines['lines'])} lines",
              None if found[("work.c", "worker")]["lines"] == [f"work {i}" for i in range(1, 9)] else "work.c")
        check("markup in source lines stays in the packed data",
              "it is in the page" if MARKUP in pathlib.Path(made + ".html").read_text() else None)
        problems = {file: one["problem"] for (file, _), one in found.items()}
        check("files that are missing, no text, or no files say so",
              None if problems["load.c"] == "no such file" else problems["load.c"],
              None if problems["parse.c"] == "not a text" else problems["parse.c"],
              None if problems["serve.c"] == "not a regular file" else problems["serve.c"])
        check("long lines are cut",
              *[None if all(len(line) <= 400 for line in one.get("lines", [])) else str(one) for one in found.values()])
        secret = source_of(made, "--source", "--source-path", "main.c=/etc/passwd")[("main.c", "main")]
        check("a file without the suffix of a programming language is not read",
              None if "suffix" in secret["problem"] and "lines" not in secret else str(secret))
        bad = subprocess.run([GEIGER, "html", made, "--source-path", place, "-o", made + ".html"], capture_output=True)
        check("a path without '=' is refused", None if bad.returncode == 2 else f"exit status {bad.returncode}")
    sys.exit(status())


main()
