# SPDX-License-Identifier: Apache-2.0
"""The samples of a page, read as docs/reference/PAGE_DATA.md says; for tests."""


class Cells:
    """The samples of a page, as docs/reference/PAGE_DATA.md says how to read them."""

    def __init__(self, data):
        self.data, self.bins = data, len(data["times"]["edges_ns"]) - 1
        cells, classes = data["cells"], data["classes"]
        self.rows, node = [], 0
        for i, delta in enumerate(cells["node_delta"]):
            node += delta
            born, gone, of = cells["born"][i], cells["gone"][i], cells["class"][i]
            inherited, kept = born > self.bins, gone >= self.bins
            self.rows.append((
                node,
                born - self.bins - 1 if inherited else born,
                gone - self.bins - 1 if gone > self.bins else gone,
                inherited, kept,
                cells["n"][i] * classes["bytes"][of], cells["n"][i] * classes["count"][of],
            ))

    def live(self, edge):
        return [r for r in self.rows if r[1] < edge <= r[2]]

    def left(self, i, j):
        return [r for r in self.rows if r[4] and i <= r[2] and (r[2] < j or j == self.bins)]

    def allocated(self, i, j):
        return [r for r in self.rows if not r[3] and i <= r[1] < j]

    def freed(self, i, j):
        return [r for r in self.rows if not r[4] and i <= r[2] < j]

    @staticmethod
    def sums(rows):
        return sum(r[5] for r in rows), sum(r[6] for r in rows)

    def by_function(self, rows):
        """Self bytes by function and module."""
        data, sums = self.data, {}
        for row in rows:
            frame = data["nodes"]["frame"][row[0]]
            name = data["strings"][data["frames"]["name"][frame]]
            module = data["strings"][data["modules"]["path"][data["frames"]["module"][frame]]]
            sums[name, module] = sums.get((name, module), 0) + row[5]
        return sums
