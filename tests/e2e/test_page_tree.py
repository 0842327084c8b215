#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Nodes of the page's call tree, as its own code makes them, are those of geiger tree: callees and
callers, metrics, windows and filters.

GEIGER, GOLDEN_PROFILE, PAGE_PROFILE: programs.  Needs node >= 18; web/test/tree.mjs answers for the
page.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from page_looks import add_looks, shown
from page_pages import page_data
from sentences import check, skip, status

GEIGER = os.environ["GEIGER"]
TREE = pathlib.Path(__file__).resolve().parents[2] / "web/test/tree.mjs"
SHARE = 2e-6  # numbers of the page's classes have seven digits or more


def tree(path, *options):
    """Nodes of geiger tree by path; several nodes of one path are functions of one name."""
    done = subprocess.run([GEIGER, "tree", path, "--json", "--fold", "0", *options],
                          check=True, capture_output=True, text=True)
    nodes, by_path = json.loads(done.stdout, object_hook=shown if "pinned" in options else None)["nodes"], {}
    paths = {}
    for node in nodes:
        if node["parent"] is None:
            paths[node["id"]] = ""
            continue
        above = paths[node["parent"]]
        paths[node["id"]] = f"{above};{node['function']}" if above else node["function"]
        by_path.setdefault(paths[node["id"]], []).append(node)
    return by_path


def differs(what, found, wanted):
    if found is None or wanted is None:
        return None if found == wanted else f"{what}: {found}, not {wanted}"
    return None if abs(found - wanted) <= SHARE * max(abs(wanted), 1) else f"{what}: {found}, not {wanted}"


def compare(rows, wanted, inverted):
    problems, seen = [], set()
    for path, samples, total, own in rows:
        nodes = wanted.get(path, [])
        seen.add(path)
        if len(nodes) != 1:
            problems.append(f"{path}: {len(nodes)} nodes")
            continue
        problems.append(differs(f"{path} samples", samples, nodes[0]["samples"]))
        for i, end in enumerate(("estimate", "low", "high")):
            problems.append(differs(f"{path} total {end}", total[i], nodes[0]["total"][end]))
            if not inverted and own[0] > 0:
                problems.append(differs(f"{path} self {end}", own[i], nodes[0]["self"][end]))
    # Nodes without samples are those that only uncertain times may have memory of.
    problems += [f"{path}: the page has no such node" for path, nodes in wanted.items()
                 if path not in seen and any(node["samples"] > 0 for node in nodes)]
    return problems


def check_pinned(path):
    """At each look, whatever the window, with an exact total that bounds some nodes."""
    add_looks(path, 400000)
    data = page_data(GEIGER, path)
    check_states("pinned", path, data, [
        ({"metric": "pinned", **state}, ("--metric", "pinned", *options))
        for state, options in (
            ({"look": "last"}, ()),
            ({"look": "peak", "from": data["times"]["edges_ns"][2]}, ("--at", "peak")),
            ({"look": "last", "only": ["/parse/"]}, ("--focus", "parse")),
            ({"look": "last", "without": ["/parse/"]}, ("--ignore", "parse")),
        )
    ])


def check_profile(name, path, pid=None):
    data = page_data(GEIGER, path)
    edges = data["times"]["edges_ns"]
    third, half = edges[len(edges) // 3], edges[len(edges) // 2]
    asked = [({"metric": metric, "unit": unit}, ("--metric", metric, "--unit", unit))
             for metric in ("live", "peak", "allocated", "freed", "temporary") for unit in ("bytes", "count")]
    asked += [
        ({"metric": "live", "to": half}, ("--at", f"{half}ns")),
        ({"metric": "allocated", "from": third, "to": half}, ("--metric", "allocated", "--between", f"{third}ns,{half}ns")),
        ({"metric": "allocated", "only": ["/parse/"]}, ("--metric", "allocated", "--focus", "parse")),
        ({"metric": "allocated", "without": ["/parse/"]}, ("--metric", "allocated", "--ignore", "parse")),
    ]
    if pid:
        asked.append(({"metric": "allocated", "who": str(pid)}, ("--metric", "allocated", "--process", str(pid))))
    check_states(name, path, data, asked)


def check_states(name, path, data, asked):
    for inverted in (False, True):
        states = [{**state, "inverted": inverted} for state, _ in asked]
        done = subprocess.run(["node", str(TREE)], input=json.dumps({"data": data, "states": states}),
                              check=True, capture_output=True, text=True)
        problems = [None if answer else "no nodes" for answer in json.loads(done.stdout)[:1]]
        for (_, options), rows in zip(asked, json.loads(done.stdout)):
            wanted = tree(path, *options, *(["--inverted"] if inverted else []))
            problems += [f"{' '.join(options)}: {problem}" for problem in compare(rows, wanted, inverted) if problem]
        check(f"{name}: the {'callers' if inverted else 'callees'} are those of geiger tree", *problems)


def main():
    version = subprocess.run(["node", "-p", "process.versions.node"], capture_output=True, text=True)
    if int(version.stdout.split(".")[0]) < 18:
        skip("call tree of the page", "no node >= 18 here")
        sys.exit(status())
    with tempfile.TemporaryDirectory() as folder:
        made, rich = os.path.join(folder, "made.geiger"), os.path.join(folder, "rich.geiger")
        subprocess.run([os.environ["GOLDEN_PROFILE"], made], check=True)
        subprocess.run([os.environ["PAGE_PROFILE"], "rich", rich], check=True)
        check_profile("golden", made)
        check_profile("rich", rich, page_data(GEIGER, rich)["processes"]["pid"][1])
        check_pinned(rich)
    sys.exit(status())


if shutil.which("node") is None:
    skip("call tree of the page", "no node here")
    sys.exit(status())
main()
