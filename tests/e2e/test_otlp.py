#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""OTLP files hold the rules of the format, and add up to the report; damaged ones are refused.

GEIGER, GOLDEN_PROFILE, ROUND_TRIP_PROFILE: programs.
"""

import copy
import gzip
import json
import os
import subprocess
import sys

import otlp_checker
from sentences import check, in_scratch

GEIGER = os.environ["GEIGER"]
TYPES = {"inuse_space": "live_bytes", "inuse_objects": "live_count", "alloc_space": "allocated_bytes",
         "alloc_objects": "allocated_count"}


def geiger(*arguments):
    return subprocess.run([GEIGER, *arguments], check=True, capture_output=True, text=True).stdout


def export(profile, name, *more):
    geiger("export", profile, "-o", name, "--quiet", *more)
    with (gzip.open if name.endswith(".gz") else open)(name, "rb") as file:
        return file.read()


def report(profile, metric, *more):
    return json.loads(geiger("report", profile, "--json", "--metric", metric, "--limit", "0", *more))


def hold_totals(profile, data):
    """The whole numbers of a file add up to the report's estimates."""
    sums = otlp_checker.totals(data)
    rows = len(report(profile, "allocated", "--by", "stack")["rows"]) + 2
    for kind, member in TYPES.items():
        wanted = report(profile, member.split("_")[0])["totals"][member]["estimate"]
        found = sum(value for (_, type), value in sums.items() if type == kind)
        if abs(found - wanted) > (1.5 if member.endswith("bytes") else rows):
            return f"{kind}: {found} is not {wanted}"
    return None


def hold_confidence(profile, data):
    """The interval of a profile's total is that of the report of its process.

    A block that a fork shared counts once in the file, but in the report of each process.
    """
    strings, sums = data["dictionary"]["stringTable"], otlp_checker.totals(data)
    for attributes, one in otlp_checker.profiles_of(data):
        member = TYPES[strings[one["sampleType"]["typeStrindex"]]]
        pid = attributes["process.pid"]["intValue"]
        if sum(1 for other, _ in otlp_checker.profiles_of(data)
               if other["process.pid"]["intValue"] == pid) != len(TYPES):
            continue
        wanted = report(profile, member.split("_")[0], "--process", pid)["totals"][member]
        space = member.split("_")[0] + "_bytes"
        kind = next(kind for kind, name in TYPES.items() if name == space)
        estimate = report(profile, member.split("_")[0], "--process", pid)["totals"][space]["estimate"]
        if abs(sums[int(pid), kind] - estimate) > 100:
            continue
        found = otlp_checker.attributes_of(data, one)
        for end in ("low", "high"):
            value = found.get(f"geiger.total.{end}")
            if wanted[end] is None and value is None:
                continue
            if value is None or abs(value - wanted[end]) > 1 + 2e-2 * abs(wanted[end]):
                return f"{member} of {pid}, {end}: {value} is not {wanted[end]}"
    return None


def encodings(profile):
    """One message, whether it is compressed or JSON."""
    plain = export(profile, "x.otlp.pb")
    data = otlp_checker.decode(plain)
    check(f"{profile}_holds_the_rules", "\n".join(otlp_checker.check(data)) or None)
    check(f"{profile}_gzip_is_the_same", None if export(profile, "x.otlp.pb.gz") == plain else "differs")
    same = json.loads(export(profile, "x.otlp.json")) == data
    check(f"{profile}_json_is_the_same", None if same else "differs")
    zipped = json.loads(export(profile, "x.otlp.json.gz")) == data
    check(f"{profile}_zipped_json_is_the_same", None if zipped else "differs")
    check(f"{profile}_adds_up_to_the_report", hold_totals(profile, data))
    check(f"{profile}_has_the_intervals_of_the_report", hold_confidence(profile, data))
    return data


def the_checker_finds_faults(data):
    def spoil(change):
        spoilt = copy.deepcopy(data)
        change(spoilt["dictionary"], spoilt["resourceProfiles"][0]["scopeProfiles"][0]["profiles"][0])
        return spoilt

    faults = {
        "orphan": lambda tables, profile: tables["stringTable"].append("nobody"),
        "twice": lambda tables, profile: tables["functionTable"].append(tables["functionTable"][1]),
        "zero": lambda tables, profile: tables["stackTable"].__setitem__(0, {"locationIndices": [1]}),
        "range": lambda tables, profile: profile["samples"][0].__setitem__("stackIndex", 999999),
        "values": lambda tables, profile: profile["samples"][0]["values"].append("1"),
        "identity": lambda tables, profile: profile["samples"].append(profile["samples"][0]),
    }
    for name, change in faults.items():
        found = otlp_checker.check(spoil(change))
        check(f"the_checker_finds: {name}", None if found else "nothing was found")


# --- files of others ---


def imported(data, name="other.otlp.json"):
    with open(name, "w", encoding="utf-8") as file:
        json.dump(data, file)
    result = subprocess.run([GEIGER, "import", "--quiet", "--ignore-files", name, "-o", "other.geiger"],
                            capture_output=True, text=True)
    return result


def profile_of(kind, time, *values, stack=1):
    return {"sampleType": {"typeStrindex": kind, "unitStrindex": 3},
            "samples": [{"stackIndex": stack, "values": [str(value) for value in values]}],
            "timeUnixNano": str(time), "periodType": {"typeStrindex": 4, "unitStrindex": 3}, "period": "1"}


def other_file(*profiles):
    return {
        "resourceProfiles": [{"scopeProfiles": [{"profiles": list(profiles)}]}],
        "dictionary": {
            "stringTable": ["", "inuse_space", "alloc_space", "bytes", "allocated_bytes", "main", "héap"],
            "functionTable": [{}, {"nameStrindex": 5}, {"nameStrindex": 6}],
            "locationTable": [{}, {"lines": [{"functionIndex": 1}]}, {"lines": [{"functionIndex": 2}]}],
            "stackTable": [{}, {"locationIndices": [2, 1]}],
        },
    }


def others():
    result = imported(other_file(profile_of(1, 10, 5000), profile_of(2, 10, 7000), profile_of(1, 20, 100),
                                 profile_of(2, 20, 2000, 1000)))
    problem = result.stderr if result.returncode != 0 else None
    if problem is None:
        live, allocated = (report("other.geiger", metric) for metric in ("live", "allocated"))
        found = (live["totals"]["live_bytes"]["estimate"], allocated["totals"]["allocated_bytes"]["estimate"])
        if found != (100, 10000):
            problem = f"{found}: the latest state is 100, and allocations add up to 10000"
        elif live["rows"][0]["function"] != "héap":
            problem = f"{live['rows'][0]}"
        elif not any("latest" in note for note in live["notes"]):
            problem = "no note says that a state was left out"
    check("states_are_the_latest_and_allocations_add_up", problem)


def damaged():
    good = other_file(profile_of(1, 10, 5000))
    faults = {
        "no_stack": (lambda data: data["resourceProfiles"][0]["scopeProfiles"][0]["profiles"][0]["samples"][0]
                     .__setitem__("stackIndex", 7), "stack 7"),
        "no_location": (lambda data: data["dictionary"]["stackTable"][1].__setitem__("locationIndices", [9]),
                        "location 9"),
        "no_function": (lambda data: data["dictionary"]["locationTable"][1]["lines"][0]
                        .__setitem__("functionIndex", 5), "function 5"),
        "no_string": (lambda data: data["dictionary"]["functionTable"][1].__setitem__("nameStrindex", 77),
                      "string 77"),
        "negative": (lambda data: data["resourceProfiles"][0]["scopeProfiles"][0]["profiles"][0]["samples"][0]
                     .__setitem__("values", ["-5"]), "negative"),
        "no_dictionary": (lambda data: data.pop("dictionary"), "no dictionary"),
    }
    for name, (change, said) in faults.items():
        data = copy.deepcopy(good)
        change(data)
        result = imported(data)
        check(f"damaged: {name}", None if result.returncode == 1 and said in result.stderr
              else f"{result.returncode} {result.stderr}")
    whole = export("made.geiger", "x.otlp.pb")
    for end in (len(whole) // 2, len(whole) - 3):
        with open("cut.otlp.pb", "wb") as file:
            file.write(whole[:end])
        result = subprocess.run([GEIGER, "import", "--quiet", "cut.otlp.pb", "-o", "cut.geiger"],
                                capture_output=True, text=True)
        check(f"truncated: {end}", None if result.returncode == 1 and "offset" in result.stderr
              else f"{result.returncode} {result.stderr}")


def run():
    subprocess.run([os.environ["GOLDEN_PROFILE"], "golden.geiger"], check=True, capture_output=True)
    subprocess.run([os.environ["ROUND_TRIP_PROFILE"], "made.geiger", "524288"], check=True)
    encodings("made.geiger")
    the_checker_finds_faults(encodings("golden.geiger"))
    others()
    damaged()
    result = subprocess.run([GEIGER, "export", "golden.geiger", "-o", "x.otlp.pb", "--metric", "freed"],
                            capture_output=True, text=True)
    check("freed_memory_has_no_place", None if result.returncode == 2 else f"{result.returncode}")


if __name__ == "__main__":
    sys.exit(in_scratch(run))
