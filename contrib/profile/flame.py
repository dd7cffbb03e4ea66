# flame.py - a flame graph: stacks as a picture, an SVG that needs nothing else.
# SPDX-License-Identifier: ISC
#
# The outermost functions are at the top, as wide as what was spent in them and in
# what they called; a tooltip has the name and the share. Sorted stacks are a tree
# that is walked: from one to the next the frames that are no more are closed, and
# drawn, and new ones are opened.
import re

from perf_script import FRAMES_MAX

WIDTH = 1200.0
ROW = 17
HEAD = 2 * ROW
CHAR_WIDTH = 6.7
NARROW = 0.25       # not drawn

XML = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"}
SPECIAL = re.compile("[&<>\"'\0-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e"
                     "\u2066-\u2069\ufffe\uffff\udc80-\udcff]")


def decoded(name):
    """A name, whose characters are bytes, as text."""
    return name.encode("latin-1").decode(errors="surrogateescape")


def xml(text):
    return SPECIAL.sub(lambda m: XML.get(m[0], "?"), text)


def colour(name):
    """The program's own functions stand out; each function has one shade."""
    kernel = name.startswith("kernel:")
    own = not kernel and ":" not in name and not name.startswith("[")
    shade = 0
    for c in name:
        shade = (shade * 31 + ord(c)) & 0xffffffff
    shade %= 50
    return "rgb(%d,%d,%d)" % (
        120 + shade if kernel else 240,
        170 + shade // 2 if kernel else (130 if own else 190) + shade,
        230 if kernel else 80 if own else 90)


class Flame:
    """per_unit: of weight."""

    def __init__(self, stacks, unit, per_unit):
        self.stacks, self.unit, self.per_unit = stacks, unit, per_unit
        self.open = []      # (name, the weight to its left)
        self.at = 0         # weight so far
        self.scale = WIDTH / stacks.weight if stacks.weight else 0
        self.out = []

    def draw(self, name, begin, level):
        weight = self.at - begin
        x, width = begin * self.scale, weight * self.scale
        y, room = HEAD + level * ROW, int(width / CHAR_WIDTH)
        if width < NARROW:
            return
        text = decoded(name)
        self.out.append(
            "<g><title>%s: %.*f %s, %.1f %%</title><rect x=\"%.2f\" y=\"%d\" "
            "width=\"%.2f\" height=\"%d\" fill=\"%s\"/>" % (
                xml(text), self.per_unit > 1, weight / self.per_unit,
                self.unit, 100 * weight / self.stacks.weight, x, y, width,
                ROW - 1, colour(name)))
        if room > 3:
            fits = room if len(name) <= room else room - 2
            self.out.append('<text x="%.2f" y="%d">%s%s</text>' % (
                x + 2, y + 12, xml(text[:fits]),
                ".." if len(text) > fits else ""))
        self.out.append("</g>\n")

    def close_to(self, depth):
        while len(self.open) > depth:
            name, begin = self.open.pop()
            self.draw(name, begin, len(self.open) + 1)

    def walk(self, stack, weight):
        names = stack.split(";")[:FRAMES_MAX]
        same = 0
        while same < min(len(names), len(self.open)) and \
                self.open[same][0] == names[same]:
            same += 1
        self.close_to(same)
        self.open += [(name, self.at) for name in names[same:]]
        self.at += weight

    def svg(self, title):
        deepest = max([1] + [s.count(";") + 1 for s in self.stacks.all])
        height = HEAD + (min(deepest, FRAMES_MAX) + 1) * ROW + 4
        for stack, weight in self.stacks.all.items():
            self.walk(stack, weight)
        self.close_to(0)
        self.at = self.stacks.weight
        self.draw("all", 0, 0)
        return (
            '<?xml version="1.0" encoding="UTF-8"?>\n'
            '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" '
            'width="%d" height="%d"\n font-family="monospace" '
            'font-size="11">\n'
            '<rect width="100%%" height="100%%" fill="#fffef8"/>\n'
            "<style>rect:hover{stroke:#000}text{pointer-events:none}</style>\n"
            '<text x="4" y="20" font-size="14">%s</text>\n' % (
                WIDTH, height, WIDTH, height, xml(decoded(title)[:160]))
            + "".join(self.out) + "</svg>\n")
