# SPDX-License-Identifier: Apache-2.0
"""Figures of measured runs: medians, quartiles, and ratios to the baseline of the same round."""

import json
import math
import statistics


def spread(values):
    """Median and quartiles; None without values."""
    values = sorted(values)
    if not values:
        return None
    if len(values) < 3:
        return statistics.median(values), values[0], values[-1]
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return statistics.median(values), low, high


class Results:
    """The file of `measure`, and what follows from it."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            self.about = json.load(file)
        self.rows = self.about["rows"]
        self.failures = {(part, work, way): why for part, work, way, why in self.about["failures"]}

    def ways(self, part):
        seen = dict.fromkeys(row["way"] for row in self.rows if row["part"] == part)
        for failed in self.failures:
            if failed[0] == part:
                seen.setdefault(failed[2])
        return list(seen)

    def works(self, part):
        return list(dict.fromkeys(row["work"] for row in self.rows if row["part"] == part))

    def each(self, part, work, way):
        return [row for row in self.rows if (row["part"], row["work"], row["way"]) == (part, work, way)]

    def values(self, part, work, way, what="cpu"):
        return {row["round"]: row[what] for row in self.each(part, work, way)}

    def ratio(self, part, work, way, baseline, what="cpu"):
        mine, base = self.values(part, work, way, what), self.values(part, work, baseline, what)
        return spread([mine[number] / base[number] for number in mine if base.get(number)])

    def more(self, part, work, way, baseline, what="cpu"):
        mine, base = self.values(part, work, way, what), self.values(part, work, baseline, what)
        return spread([mine[number] - base[number] for number in mine if number in base])

    def peak_kib(self, part, work, way):
        """Peaks of the program, and of the largest process beside it."""
        peaks = [row["peaks"] for row in self.each(part, work, way) if row.get("peaks")]
        if not peaks:
            return None
        names = ({"gcc": "cc1", "redis": "redis-server"}.get(work, work), "massif")
        own = [max([kib for name, kib in run if name.startswith(names)], default=0) for run in peaks]
        others = [max([kib for name, kib in run if not name.startswith(names)], default=0) for run in peaks]
        return statistics.median(own), statistics.median(others)


def site_errors(rows, metric):
    """Figures of all functions in all runs: relative errors' root mean square, bias of the sum,
    share
    covered."""
    errors, covered, told, truth_sum, estimate_sum = [], 0, 0, 0, 0
    for row in rows:
        for _, truth, estimate, low, high in row.get("estimates", {}).get(metric, []):
            if truth == 0:
                continue
            errors.append(estimate / truth - 1)
            truth_sum, estimate_sum = truth_sum + truth, estimate_sum + estimate
            if low is not None:
                told += 1
                covered += low <= truth and (high is None or truth <= high)
    if not errors:
        return None
    rms = math.sqrt(sum(error * error for error in errors) / len(errors))
    return {"rms": rms, "sum": estimate_sum / truth_sum, "covered": covered / told if told == len(errors) else None}
