# SPDX-License-Identifier: Apache-2.0
"""A picture of the ratios: sampling profilers above, those that count everything below (by powers
of ten).

Each profiler has its colour and its shape, from a palette that colour-blind people can tell apart;
a line goes from the lower to the upper quartile.
"""

import math
from xml.sax.saxutils import escape

WIDTH, LEFT, RIGHT, TOP = 960, 56, 16, 92
PANEL, GAP, LEGEND = 230, 92, 24

SAMPLING = [
    ("geiger over glibc, 512k", "#0072b2", "circle"),
    ("geiger over jemalloc, 512k", "#0072b2", "square"),
    ("jemalloc prof, 512k", "#d55e00", "square"),
    ("geiger over tcmalloc, 512k", "#0072b2", "diamond"),
    ("tcmalloc sampling, 512k", "#e69f00", "diamond"),
]
COUNTING = [
    ("geiger over glibc, 1", "#0072b2", "circle"),
    ("geiger record, 1", "#56b4e9", "square"),
    ("heaptrack", "#009e73", "diamond"),
    ("massif", "#cc79a7", "up"),
    ("HEAPPROFILE", "#d55e00", "down"),
]
SHAPES = {"square": "M-4,-4H4V4H-4Z", "diamond": "M0,-5.5L5.5,0L0,5.5L-5.5,0Z", "up": "M0,-5L5,4H-5Z",
          "down": "M0,5L5,-4H-5Z"}


def mark(x, y, colour, shape):
    if shape == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" fill="{colour}"/>'
    return f'<path transform="translate({x:.1f},{y:.1f})" d="{SHAPES[shape]}" fill="{colour}"/>'


def line(x1, y1, x2, y2, colour):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"/>'


def label(x, y, anchor, text, more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{more}>{escape(text)}</text>'


class Panel:
    def __init__(self, top, title, low, high, ticks, logarithmic):
        self.top, self.low, self.high, self.logarithmic = top, low, high, logarithmic
        self.lines = [label(LEFT, top - 44, "start", title, ' font-weight="bold"')]
        for tick in ticks:
            y = self.y(tick)
            colour = "#333" if tick == 1 else "#ddd"
            self.lines.append(line(LEFT, y, WIDTH - RIGHT, y, colour))
            self.lines.append(label(LEFT - 6, y + 4, "end", f"{tick:g}"))

    def y(self, value):
        value = min(max(value, self.low), self.high)
        if self.logarithmic:
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.top + PANEL * (1 - share)

    def legend(self, ways):
        for i, (name, colour, shape) in enumerate(ways):
            x = LEFT + 6 + i * (WIDTH - LEFT - RIGHT) / len(ways)
            self.lines.append(mark(x, self.top - 26, colour, shape))
            self.lines.append(label(x + 9, self.top - 22, "start", name, ' font-size="11"'))

    def column(self, at, count, name, figures):
        """figures: (figure or None, colour, shape)"""
        step = (WIDTH - LEFT - RIGHT) / count
        self.lines.append(label(LEFT + (at + 0.5) * step, self.top + PANEL + 20, "middle", name))
        if at > 0:
            x = LEFT + at * step
            self.lines.append(line(x, self.top, x, self.top + PANEL, "#eee"))
        for i, (figure, colour, shape) in enumerate(figures):
            if figure is None:
                continue
            x = LEFT + at * step + step * (i + 1) / (len(figures) + 1)
            y, low, high = (self.y(value) for value in figure)
            self.lines.append(line(x, low, x, high, colour))
            self.lines.append(mark(x, y, colour, shape))
            if figure[0] > self.high:
                self.lines.append(label(x, self.top - 4, "middle", f"{figure[0]:.2g}", ' font-size="10"'))


def panel_of(results, baseline_of, parts, ways, top, title, logarithmic):
    columns = [(part, work) for part in parts for work in results.works(part)]
    figures = {(part, work, way): results.ratio(part, work, way, baseline_of(way))
               for part, work in columns for way, _, _ in ways}
    most = max((figure[2] for figure in figures.values() if figure), default=2)
    if logarithmic:
        high = 10 ** math.ceil(math.log10(max(most, 10)))
        ticks = [10**power for power in range(int(math.log10(high)) + 1)]
        panel = Panel(top, title, 0.7, high, ticks, True)
    else:
        high = min(1.5, max(1.2, math.ceil(most * 10) / 10))
        ticks = [0.9 + 0.1 * i for i in range(int(round((high - 0.9) * 10)) + 1)]
        panel = Panel(top, title, 0.9, high, [round(tick, 1) for tick in ticks], False)
    panel.legend(ways)
    for at, (part, work) in enumerate(columns):
        panel.column(at, len(columns), work, [(figures[part, work, way], *look) for way, *look in ways])
    return panel.lines


def draw(results, baseline_of):
    height = TOP + 2 * PANEL + GAP + 2 * LEGEND + 12
    about = results.about
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif"'
        ' font-size="12">',
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
        label(LEFT, 18, "start", "Processor's time, as a ratio to the same allocator without a profiler: median,"
              f" quartiles; {about['machine']['processor']}, {about['date']}"),
        *panel_of(results, baseline_of, ("loops", "programs"), SAMPLING, TOP, "Sampling every 512 KiB", False),
        *panel_of(results, baseline_of, ("counted-loops", "counted-programs"), COUNTING, TOP + PANEL + GAP,
                  "Every allocation counted (powers of ten)", True),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"
