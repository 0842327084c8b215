#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Real programs that allocate through wrappers: every command gives their memory to the callers.

GEIGER, WRAPPERS_PROGRAM, WRAPPERS_TEMPLATES: programs.  The sampling interval is 1 byte, so the
numbers are exact.
"""

import base64
import gzip
import json
import os
import shutil
import subprocess
import tempfile
import time

from page_pages import page_data
from sentences import check, status

GEIGER = os.environ["GEIGER"]
PROGRAM = os.environ["WRAPPERS_PROGRAM"]
TEMPLATES = os.environ["WRAPPERS_TEMPLATES"]

USES = {f"use{i}": 10000 + 100 * i for i in range(10)}
NAMES = {f"name{i}": 40000 + 100 * i for i in range(8)}
HINT = "self of my_alloc is shown at its callers; --all-frames shows it"


def geiger(*arguments, expect=0):
    done = subprocess.run([GEIGER, *arguments], capture_output=True, text=True, check=False,
                          env={**os.environ, "LC_ALL": "C.UTF-8"})
    if done.returncode != expect:
        raise SystemExit(f"geiger {' '.join(arguments)}: {done.returncode}: {done.stderr}")
    return done.stdout if expect == 0 else done.stderr


def record(path, *command):
    geiger("record", "-q", "-i", "1", "-o", path, "--", *command)
    return path


def report(path, *options):
    return json.loads(geiger("report", path, "--json", "--limit", "0", *options))


def selves(document, *also):
    """The bytes of each row with a self, of functions that the tests know."""
    known = ("use", "name", "load", "my_", "copy_", "new_node", "parse", "compare", "index_words", "main",
             "tsearch", "fill_", "arena", "[no frame", "helper", *also)
    return {row["function"]: round(row["self"]["estimate"]) for row in document["rows"]
            if row["function"].startswith(known) and row["self"]["estimate"] > 0}


def vias(document):
    return {row["function"]: row["via"] for row in document["rows"] if "via" in row}


def equal(name, found, wanted):
    check(name, *([] if found == wanted else [f"found {found}", f"not   {wanted}"]))


def holds(name, text, *parts):
    flat = " ".join(text.split())
    check(name, *(f"no '{part}' in: {flat[:2000]}" for part in parts if part not in flat))


def lacks(name, text, *parts):
    check(name, *(f"'{part}' in: {text[:2000]}" for part in parts if part in text))


def check_plain(path):
    found = report(path)
    equal("callers of my_alloc have its memory", selves(found), {**USES, "load": 50000})
    equal("and say so", {vias(found).get(use) for use in USES}, {"my_alloc"})
    equal("JSON names what was found", found["found_wrappers"], ["my_alloc"])
    equal("--all-frames shows it", selves(report(path, "--all-frames")),
          {"my_alloc": sum(USES.values()), "load": 50000})
    text = geiger("report", path)
    holds("the report says so", text, HINT, "use9 (wrappers_program) via my_alloc")
    lacks("and not with --all-frames", geiger("report", path, "--all-frames"), HINT)
    equal("--focus finds a hidden function", selves(report(path, "--focus", "^my_alloc$")), USES)
    equal("--ignore as well", selves(report(path, "--ignore", "^my_alloc$")), {"load": 50000})
    equal("other metrics hide the same", selves(report(path, "-m", "peak", "--focus", "my_alloc")),
          USES)
    check_commands(path)


def check_commands(path):
    nodes = json.loads(geiger("tree", path, "--json", "--fold", "0"))["nodes"]
    equal("tree names my_alloc", {node["function"] for node in nodes
                                  if node.get("via") == "my_alloc"}, set(USES))
    holds("tree's text as well", geiger("tree", path), "use9 (wrappers_program) via my_alloc", HINT)
    rows = json.loads(geiger("leaks", path, "--json", "--limit", "0"))["rows"]
    equal("leaks as well", {row["function"] for row in rows if row.get("via") == "my_alloc"},
          set(USES))
    holds("in text", geiger("leaks", path), "use9 wrappers_program.c", "via my_alloc", HINT)
    exported = geiger("export", path, "--format", "collapsed", "--output", "-")
    holds("exports have all frames", exported, "use9;my_alloc")
    exported = geiger("export", path, "--format", "collapsed", "--output", "-", "--hide-wrappers")
    lacks("unless they are to be hidden", exported, "my_alloc")


def check_page(path, folder):
    """The page's frames name my_alloc, and no node is a call of my_alloc."""
    name = f"{folder}/page.html"
    geiger("html", path, "--quiet", "-o", name)
    with open(name, encoding="utf-8") as file:
        packed = file.read().split('id="geiger-data">')[1].split("<")[0]
    data = json.loads(gzip.decompress(base64.b64decode(packed)))
    strings, frames = data["strings"], data["frames"]
    nodes = [strings[frames["name"][frame]] for frame in data["nodes"]["frame"]]
    vias = {node: strings[frames["name"][via]] if via else ""
            for node, via in zip(nodes, data["nodes"]["via"])}
    equal("the page knows via", {use: vias[use] for use in USES}, dict.fromkeys(USES, "my_alloc"))
    equal("of others there is none", (vias["main"], vias["load"], "use0" in nodes,
                                      "my_alloc" in nodes), ("", "", True, False))
    check("and has the note", *([] if HINT in data["meta"]["notes"] else data["meta"]["notes"]))


def check_diff(plain, few):
    """In `few` my_alloc has three callers alone, so by itself it would show my_alloc."""
    equal("three callers are too few", selves(report(few)), {
        "my_alloc": USES["use0"] + USES["use1"] + USES["use2"], "load": 50000})
    rows = json.loads(geiger("diff", few, plain, "--json", "--all"))["rows"]
    changes = {row["label"].split()[0]: round(row["difference"]["estimate"]) for row in rows}
    equal("a diff hides the same functions on both sides",
          {name: changes.get(name) for name in [*USES, "load"]},
          {**{use: 0 if use < "use3" else size for use, size in USES.items()}, "load": 0})
    check("and nothing vanished", *(["my_alloc has a row"] if "my_alloc" in changes else []))
    equal("rows name it", {row.get("via") for row in rows
                           if row["label"].startswith("use")}, {"my_alloc"})
    for pair in ((few, plain), (plain, few)):
        holds("text does as well", geiger("diff", *pair, "--all"), "via my_alloc", HINT)
    rows = json.loads(geiger("diff", few, plain, "--json", "--all", "--all-frames"))["rows"]
    equal("--all-frames shows it in both", sum(row["label"].startswith("my_alloc")
                                               for row in rows), 1)


def check_strings(path):
    found = report(path)
    equal("wrappers behind wrappers are hidden", selves(found),
          {**USES, **NAMES, "load": 50000})
    equal("via is the outermost", {vias(found)[name] for name in NAMES}, {"copy_text"})
    equal("both are named", sorted(found["found_wrappers"]), ["copy_text", "my_alloc"])


def check_library(path):
    found = report(path)["rows"]
    everything = sum(round(row["self"]["estimate"]) for row in found)
    nodes = sum(round(row["self"]["estimate"]) for row in found if "tsearch" in row["function"])
    check("tsearch has its nodes", *([] if nodes > 0 else found[:3]))
    found = report(path, "--mine")
    equal("--mine gives them to the caller", selves(found),
          {"compare": everything - nodes, "index_words": nodes})
    holds("and names the library's function", vias(found)["index_words"], "tsearch")
    found = [row for row in report(path, "--module", "libc")["rows"]
             if row["self"]["estimate"] > 0]
    check("--module gives memory to libc",
          *([] if len(found) == 1 and "tsearch" in found[0]["function"] and
            round(found[0]["self"]["estimate"]) == everything else found))
    found = report(path, "--module", "no-such")
    equal("--module without a match has one row", selves(found),
          {"[no frame of no-such]": everything})
    for command in ("report", "tree", "leaks", "diff"):
        files = [path, path] if command == "diff" else [path]
        message = geiger(command, *files, "--mine", "--module", "x", expect=2)
        holds(f"{command}: --mine and --module exclude each other", message, "--mine")
        message = geiger(command, *files, "--module", "(", expect=2)
        holds(f"{command}: a wrong expression is an error", message, "--module")
    nodes = json.loads(geiger("tree", path, "--mine", "--json"))["nodes"]
    holds("tree has --mine", " ".join(node.get("via", "") for node in nodes), "tsearch")


def check_templates(path):
    found = report(path)
    rows = {row["function"].split("(")[0]: row for row in found["rows"]
            if row["self"]["estimate"] > 0}
    equal("instances that call a template's wrapper have rows",
          sorted(name for name in rows if name.startswith("use<")), [f"use<{i}>" for i in range(10)])
    equal("a vector's memory belongs to the program", round(rows["fill_table"]["self"]["estimate"]),
          400000)
    check("a map's as well", *([] if rows["name_things"]["self"]["estimate"] > 500000
                               else [rows["name_things"]]))
    check("the library has no row", *(name for name in rows if name.startswith("std::")))


RUST = """
use std::collections::HashMap;
#[inline(never)]
fn fill_table() -> Vec<u64> { vec![7u64; 50_000] }
#[inline(never)]
fn name_things() -> HashMap<u32, String> {
    (0..200u32).map(|i| (i, "x".repeat(3000 + i as usize))).collect()
}
fn main() {
    let table = fill_table();
    let names = name_things();
    println!("{} {}", table.len(), names.len());
    std::process::exit(0);
}
"""


def check_rust(folder):
    compiler = shutil.which("rustc") or os.path.expanduser("~/.cargo/bin/rustc")
    if not os.path.exists(compiler):
        print("no rustc: Rust is not tested")
        return
    source, program = f"{folder}/main.rs", f"{folder}/rust_program"
    with open(source, "w", encoding="utf-8") as file:
        file.write(RUST)
    done = subprocess.run([compiler, "-g", "-C", "opt-level=1", "-o", program, source],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print("rustc does not work: Rust is not tested")
        return
    rows = report(record(f"{folder}/rust.geiger", program))["rows"]
    own = [(row["function"], row["self"]["estimate"]) for row in rows[:2]]
    check("Rust: strings belong to the program",
          *([] if "name_things" in own[0][0] and own[0][1] >= 600000 else [own]))
    check("Rust: the vector belongs to the program",
          *([] if "fill_table" in own[1][0] and own[1][1] == 400000 else [own]))


def check_processes(path):
    """Two programs of one session have a wrapper each."""
    found = report(path, "-m", "allocated")
    equal("each program's wrapper is found", sorted(name.split("<")[0].split("(")[0]
                                                    for name in found["found_wrappers"]),
          ["arena", "my_alloc"])
    sizes = selves(found)
    equal("and hidden", {name: sizes.get(name) for name in USES}, USES)


def mapping_rows(tables):
    return [(row["detail"], row["bytes"]) for table in tables for row in table["rows"] if row["name"] == "mappings"]


def check_mapping(path):
    """A mapping is called by the caller of the wrapper, in geiger why and on the page alike."""
    command = [GEIGER, "record", "-q", "-i", "4k", "--mmap", "-o", path, "--", PROGRAM, "mapping"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as recorder:
        recorder.stdout.readline()
        for _ in range(1000):  # until the recorder took a look at the mapping
            done = subprocess.run([GEIGER, "why", path, "--json"], capture_output=True, text=True, check=False)
            if done.returncode == 0 and max((row[1] for row in mapping_rows(json.loads(done.stdout)["processes"])),
                                            default=0) >= 8 << 20:
                break
            time.sleep(0.02)
        recorder.communicate()
    found = mapping_rows(json.loads(geiger("why", path, "--json"))["processes"])
    check("a mapping has the name of the wrapper's caller",
          *([] if ("load_image", 8 << 20) in found else [found]))
    looks = [look for look in page_data(GEIGER, path)["why"] if "last" in look["moments"]]
    equal("and on the page as well", mapping_rows(looks), found)


def main():
    with tempfile.TemporaryDirectory(prefix="geiger-wrappers-") as folder:
        plain = record(f"{folder}/plain.geiger", PROGRAM, "plain")
        check_plain(plain)
        check_page(plain, folder)
        check_diff(plain, record(f"{folder}/few.geiger", PROGRAM, "few"))
        check_strings(record(f"{folder}/strings.geiger", PROGRAM, "strings"))
        parser = report(record(f"{folder}/parser.geiger", PROGRAM, "parser"))
        equal("the maker of a parser's nodes keeps them", selves(parser),
              {"new_node": 20 * 61 * 64})
        equal("and is no wrapper", parser["found_wrappers"], [])
        check_library(record(f"{folder}/library.geiger", PROGRAM, "library"))
        check_templates(record(f"{folder}/templates.geiger", TEMPLATES))
        check_processes(record(f"{folder}/both.geiger", "sh", "-c",
                               f"'{PROGRAM}' plain; '{TEMPLATES}'"))
        check_mapping(f"{folder}/mapping.geiger")
        check_rust(folder)
    return status()


raise SystemExit(main())
