#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every report, page and export tells functions of one short name apart, with symbols and
without.

GEIGER, NAMES_PROGRAM: programs.
"""

import base64
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from sentences import check, status

GEIGER = os.environ["GEIGER"]
PROGRAM = os.environ["NAMES_PROGRAM"]

# Each function's own allocations, by its name on the screen; interval 1: numbers are exact.
ROWS = {
    "create<apple>": 1000,
    "create<pear>": 2000,
    "basket<apple>::fill": 33000,
    "basket<pear>::fill": 36000,
    "basket<basket<...>>::fill": 48000,
    "grow(int)": 4100,
    "grow(double)": 4200,
    "(anonymous namespace)::hidden [names_program.cc]": 4300,
    "helper [names_program.cc]": 4400,
    "main::{lambda#1}::operator()": 4500,
    "main::{lambda#2}::operator()": 4600,
    "(anonymous namespace)::hidden [names_other.cc]": 5300,
    "helper [names_other.cc]": 5400,
}
FULL = {
    "create<apple>": "apple* create<apple>()",
    "basket<basket<...>>::fill": "basket<basket<pear> >::fill(int)",
    "grow(double)": "grow(double)",
    "helper [names_other.cc]": "helper(int)",
}


def geiger(*arguments):
    return subprocess.run([GEIGER, *arguments], check=True, capture_output=True, text=True).stdout


def report(path, *options):
    return json.loads(geiger("report", path, "--json", "--limit", "0", *options))


def equal(name, found, wanted):
    check(name, *(f"{key}: {found.get(key, 'nothing')} is not {wanted.get(key, 'nothing')}"
                  for key in sorted(set(found) | set(wanted))
                  if found.get(key, "nothing") != wanted.get(key, "nothing")))


def is_ours(text):
    return re.search(r"create|basket|grow|hidden|helper|lambda", text) is not None


def selves(rows):
    return {row["function"]: round(row["self"]["estimate"]) for row in rows
            if is_ours(row["function"]) and row["self"]["estimate"] > 0}


def check_reports(path):
    rows = report(path)["rows"]
    equal("report has a row for each function", selves(rows), ROWS)
    full = {row["function"]: row["full_name"] for row in rows if row["function"] in FULL}
    equal("and full names beside", full, FULL)
    equal("stacks are told apart", selves(report(path, "--by", "stack")["rows"]), ROWS)
    nodes = json.loads(geiger("tree", path, "--json", "--fold", "0"))["nodes"]
    equal("so are nodes of the tree", selves(node for node in nodes if node["function"]), ROWS)
    equal("a focus finds one instance",
          selves(report(path, "--focus", "create<pear>")["rows"]), {"create<pear>": 2000})
    equal("and one overload", selves(report(path, "--focus", r"^grow\(double\)$")["rows"]), {"grow(double)": 4200})
    both = selves(report(path, "--focus", "^create<[.]{3}>$")["rows"])
    equal("a short name means all", both, {key: ROWS[key] for key in ("create<apple>", "create<pear>")})
    printed = geiger("report", path, "--full-names", "--limit", "0")
    named = {name: f" {name} (" in printed for name in
             ("pear* create<pear>()", "basket<basket<pear> >::fill(int)", "grow(int)", "helper(int) [names_other.cc]")}
    equal("--full-names prints full names", named, dict.fromkeys(named, True))
    text = geiger("leaks", path, "--limit", "0", "--full-names")
    equal("leaks, too", {"pear": "pear* create<pear>()" in text}, {"pear": True})
    listed = geiger("sql", path, "--csv",
                    "select full_name, sum(self_live_bytes) from v_function where function like 'create%' group by 1")
    equal("so does SQL", dict(re.findall(r"(\w+)\* create<.*?,(\d+)", listed)), {"apple": "1000", "pear": "2000"})


def check_page(path, folder):
    name = os.path.join(folder, "page.html")
    geiger("html", path, "--quiet", "-o", name)
    with open(name, encoding="utf-8") as file:
        packed = re.search(r'id="geiger-data">([A-Za-z0-9+/=]*)</script>', file.read()).group(1)
    strings = json.loads(gzip.decompress(base64.b64decode(packed)))["strings"]
    equal("the page has all names", {name: name in strings for name in ROWS}, dict.fromkeys(ROWS, True))
    equal("and full ones", {name: name in strings for name in FULL.values()}, dict.fromkeys(FULL.values(), True))


def check_exports(path, folder):
    lines = [line.rsplit(" ", 1) for line in geiger("export", path, "--format", "collapsed").splitlines()]
    leaves = {stack.split(";")[-1]: int(bytes) for stack, bytes in lines}
    equal("collapsed stacks", {name: leaves.get(name, 0) for name in ROWS}, ROWS)
    for format in ("speedscope", "firefox", "svg", "dhat", "csv", "heapprofile"):
        text = geiger("export", path, "--format", format)
        text = text.replace("&lt;", "<").replace("&gt;", ">")
        equal(format, {name: name in text for name in ROWS}, dict.fromkeys(ROWS, True))
    for format in ("collapsed", "pprof", "perfetto"):
        there, back = os.path.join(folder, "there." + format), os.path.join(folder, "back.geiger")
        geiger("export", path, "--format", format, "-o", there)
        geiger("import", there, "-o", back)
        equal(f"{format} and back", selves(report(back)["rows"]), ROWS)
        os.unlink(back)


def changed(before, after):
    rows = json.loads(geiger("diff", before, after, "--all", "--json", "--limit", "0"))["rows"]
    return {row["label"].rsplit(" (", 1)[0]: (round(row["before"]["estimate"]), round(row["after"]["estimate"]))
            for row in rows if is_ours(row["label"])}


def check_two(path, folder):
    merged, one = os.path.join(folder, "merged.geiger"), os.path.join(folder, "one.geiger")
    geiger("merge", path, path, "-o", merged)
    equal("merged profiles", selves(report(merged)["rows"]), {name: 2 * bytes for name, bytes in ROWS.items()})
    equal("differences", changed(path, merged), {name: (bytes, 2 * bytes) for name, bytes in ROWS.items()})
    # In one of the two the short name is unambiguous, which must not make it another row.
    collapsed = geiger("export", path, "--format", "collapsed", "--full-names").splitlines()
    files = []
    for word in ("apple", "pear"):
        files.append(os.path.join(folder, word))
        with open(files[-1] + ".collapsed", "w", encoding="utf-8") as file:
            file.write("\n".join(line for line in collapsed if f"create<{word}>" in line) + "\n")
        geiger("import", files[-1] + ".collapsed", "-o", files[-1] + ".geiger")
    equal("an instance is not another one", changed(files[0] + ".geiger", files[1] + ".geiger"),
          {"apple* create<apple>()": (1000, 0), "pear* create<pear>()": (0, 2000)})


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "names.geiger")
        geiger("record", "-q", "-i", "1", "-o", path, PROGRAM)
        check_reports(path)
        check_page(path, folder)
        check_exports(path, folder)
        check_two(path, folder)
        # Symbol tables alone: no files, so statics of one name are one function.
        stripped = os.path.join(folder, "stripped")
        shutil.copy(PROGRAM, stripped)
        subprocess.run(["objcopy", "--strip-debug", "--remove-section=.note.gnu.build-id", stripped], check=True)
        geiger("record", "-q", "-i", "1", "-o", path, stripped)
        wanted = {name: bytes for name, bytes in ROWS.items() if "[" not in name}
        wanted |= {"(anonymous namespace)::hidden": 9600, "helper": 9800}
        equal("without debug information", selves(report(path)["rows"]), wanted)
    sys.exit(status())


main()
