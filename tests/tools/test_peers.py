#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench/peers: it measures, and what it writes is what was measured.

BUILD: the build's folder.
"""

import json
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

PEERS = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "bench", "peers")
BUILD = os.environ["BUILD"]
failed = 0


def check(name, holds, what=""):
    global failed
    failed += not holds
    print(f"ok - {name}" if holds else f"{what}\nFAILED - {name}")


def write(results, folder):
    path = os.path.join(folder, "results.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(results, file)
    subprocess.run([os.path.join(PEERS, "write"), path, folder], check=True)
    xml.etree.ElementTree.parse(os.path.join(folder, "benchmarks.svg"))
    with open(os.path.join(folder, "BENCHMARKS.md"), encoding="utf-8") as file:
        return file.read()


def row_of(text, section, name):
    """Cells of the first row with this name after a heading."""
    after = text[text.index(f"\n## {section}\n"):]
    lines = [line for line in after.splitlines() if line.startswith(f"| {name} |")]
    return [cell.strip() for cell in lines[0].strip("|").split("|")][1:]


def runs(part, work, way, cpus, **more):
    return [{"part": part, "work": work, "way": way, "round": i, "cpu": cpu, "wall": 2 * cpu, **more}
            for i, cpu in enumerate(cpus)]


def made():
    """Figures that can be worked out by hand."""
    sites = [["site_00", 1000, 1100, 900, 1300], ["site_01", 1000, 700, 600, 800]]
    rows = [
        # Ratios 1.1, 1.0, 1.2 of the same rounds, though the medians' is 2 / 2.
        *runs("loops", "pair", "jemalloc", [1, 2, 4]),
        *runs("loops", "pair", "geiger over jemalloc, 512k", [1.1, 2, 4.8]),
        *runs("loops", "pair", "jemalloc prof, 512k", [0.9, 1.8, 3.6]),
        *runs("loops", "whole", "jemalloc", [1, 1, 1]),
        *runs("loops", "whole", "geiger over jemalloc, 512k", [1, 1, 1]),
        *runs("loops", "whole", "jemalloc prof, 512k", [2, 2, 2]),
        *runs("sites", "sites", "geiger over glibc, 512k", [1], estimates={"live": sites}),
    ]
    return {
        "version": 1, "date": "2001-02-03", "rounds": 3, "scale": 1, "seconds": 60, "load": [0.1, 0.2],
        "machine": {"processor": "a processor", "processors": 2, "memory_bytes": 1 << 30, "system": "a system",
                    "kernel": "6.1", "virtual": False},
        "versions": {"geiger": "0"}, "absent": {"memray": "no Debian package"}, "unusable": {"heaptrack": "not there"},
        "failures": [["counted-programs", "gcc", "massif", "signal 11"]], "rows": rows,
    }


def made_results_are_worked_out(folder):
    text = write(made(), folder)
    sampling = "Sampling at 512 KiB"
    check("a_ratio_is_the_median_of_those_of_its_rounds",
          row_of(text, sampling, "geiger over jemalloc, 512k") == ["1.100 (1.050 to 1.150)", "1.000"], text)
    better, worse = text.index("### Peers are better"), text.index("### geiger is better")
    check("it_says_in_words_where_a_peer_is_better",
          better < text.index("pair (0.90, 1.10)") < worse < text.index("whole (2.00, 1.00)"), text)
    # sqrt((0.1^2 + 0.3^2) / 2) = 22.4 %; the sum is 1800 of 2000; one of two intervals has the
    # truth.
    check("errors_bias_and_coverage_are_those_of_the_functions",
          row_of(text, "Errors", "geiger over glibc, 512k")[:4] == ["1", "22.4 %", "-10.0 %", "50 %"], text)
    check("what_failed_or_is_not_there_is_a_row",
          row_of(text, "Limits of the tools", "memray") == ["not measured: no Debian package"]
          and row_of(text, "Limits of the tools", "heaptrack") == ["not measured: not there"]
          and "failed: signal 11" not in row_of(text, sampling, "geiger over jemalloc, 512k")
          and row_of(text, "Limits of the tools", "massif") == ["gcc (counted-programs): signal 11"], text)
    check("a_quiet_machine_is_not_called_busy", "kept the machine busy" not in text)


def a_small_run_is_measured_and_written(folder):
    output = os.path.join(folder, "measured.json")
    subprocess.run([os.path.join(PEERS, "measure"), "--build", BUILD, "--rounds", "1", "--scale", "0.05", "--only",
                    "programs", "sites", "--programs", "sqlite3", "--ways", "glibc", "jemalloc", "geiger",
                    "geiger record", "jemalloc prof", "massif", "--output", output],
                   check=True, stdout=subprocess.DEVNULL)
    with open(output, encoding="utf-8") as file:
        results = json.load(file)
    text = write(results, folder)
    check("nothing_fails", not results["failures"], results["failures"])
    counted = [row for row in results["rows"] if row["part"] == "sites" and row["way"] == "geiger over glibc, 1"]
    sites = counted[0]["estimates"]
    check("counting_every_allocation_gives_the_truth",
          all(len(sites[metric]) == 20 and all(truth == estimate for _, truth, estimate, _, _ in sites[metric])
              for metric in ("live", "allocated")), sites)
    ways = {row["way"]: row for row in results["rows"] if row["part"] == "memory"}
    names = ["geiger over glibc, 512k", "geiger record, 512k"]
    if "jemalloc prof, 512k" not in results["unusable"]:
        names.append("jemalloc prof, 512k")
    peers = {"jemalloc prof, 512k": "allocated", "massif": "live"}
    largest = {way: 0 for way in peers if way not in results["unusable"]}
    for row in results["rows"]:
        if row["part"] == "sites" and row["way"] in largest:
            estimates = [estimate for _, _, estimate, *_ in row["estimates"][peers[row["way"]]]]
            largest[row["way"]] = max(largest[row["way"]], *estimates)
    check("peers_estimates_are_read", largest and all(most > 1 << 16 for most in largest.values()), largest)
    check("each_profiler_leaves_a_file_and_a_report",
          all(ways[name]["bytes"] > 0 and len(ways[name]["report"]) == 3 for name in names), ways)
    check("each_profiler_has_a_row", all(row_of(text, "Memory", name)[0].count("MiB") for name in names), text)


def main():
    with tempfile.TemporaryDirectory() as folder:
        made_results_are_worked_out(folder)
        a_small_run_is_measured_and_written(folder)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
