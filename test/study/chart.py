"""Line charts as SVG, without another program.

SPDX-License-Identifier: ISC
"""
import collections
import html
import math

# {key: (label, [(x, y)])}; width is in units of one panel
Panel = collections.namedtuple("Panel", "title x_label series width",
                               defaults=(1,))
COLORS = {"direct": "#6b7280", "pgbouncer": "#d9822b",
          "transaction": "#1b6ca8", "keep": "#7c3aed"}
INK, GRID = "#374151", "#e5e7eb"
WIDTH, HEIGHT = 300, 210        # of the plot itself
LEFT, TOP, BOTTOM, GAP = 48, 62, 44, 24
FONT = 'font-family="sans-serif" font-size="%d" fill="%s"'


def nice(limit):
    """A round step that makes about five of them up to the limit."""
    rough = max(limit, 1e-9) / 5
    power = 10 ** math.floor(math.log10(rough))
    return next(m * power for m in (1, 2, 5, 10) if m * power >= rough)


def text(x, y, words, anchor="middle", size=11):
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" '
            f'{FONT % (size, INK)}>{html.escape(words)}</text>')


def ticks(limit):
    step = nice(limit)
    return [i * step for i in range(math.ceil(limit / step) + 1)]


def draw(panel, left):
    """The elements of one panel, and how wide it is."""
    points = [p for _, line in panel.series.values() for p in line]
    width = WIDTH * panel.width + (LEFT + GAP) * (panel.width - 1)
    xs = ticks(max((x for x, _ in points), default=1))
    ys = ticks(max((y for _, y in points), default=1))
    right, bottom = left + width, TOP + HEIGHT

    def at(x, y):
        return left + width * x / xs[-1], bottom - HEIGHT * y / ys[-1]

    out = [text(left, TOP - 12, panel.title, "start", 12)]
    for y in ys:
        _, py = at(0, y)
        out += [f'<path d="M{left} {py:.1f}H{right}" stroke="{GRID}"/>',
                text(left - 6, py + 4, f"{y:g}", "end")]
    out += [text(at(x, 0)[0], bottom + 16, f"{x:g}") for x in xs]
    out.append(text(left + width / 2, bottom + 34, panel.x_label))
    for key, (_, line) in panel.series.items():
        path = " ".join("%.1f,%.1f" % at(x, y) for x, y in line)
        out.append(f'<polyline points="{path}" fill="none" stroke-width="2" '
                   f'stroke="{COLORS[key]}"/>')
        if len(line) < 20:
            out += ['<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>'
                    % (*at(x, y), COLORS[key]) for x, y in line]
    return out, width


def legend(panels):
    """Who is which colour, once for all panels."""
    labels = {k: s[0] for p in panels for k, s in p.series.items()}
    out, x = [], LEFT
    for key, label in labels.items():
        out += [f'<path d="M{x} 20h22" stroke-width="3" '
                f'stroke="{COLORS[key]}"/>', text(x + 28, 24, label, "start")]
        x += 60 + 7 * len(label)
    return out


def write(path, panels):
    out, left = legend(panels), LEFT
    for panel in panels:
        drawn, width = draw(panel, left)
        out += drawn
        left += width + LEFT + GAP
    width, height = left - LEFT, TOP + HEIGHT + BOTTOM
    with open(path, "w") as f:
        f.write(f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" '
                f'height="{height}" viewBox="0 0 {width} {height}">\n'
                '<rect width="100%" height="100%" fill="#fff"/>\n'
                + "\n".join(out) + "\n</svg>\n")
