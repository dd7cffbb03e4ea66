"""Flame graphs: folds the output of "perf script", draws an SVG.

SPDX-License-Identifier: ISC
"""
from xml.sax.saxutils import escape

WIDTH, ROW, CHAR = 1200, 17, 6.6
SVG = """<svg xmlns="http://www.w3.org/2000/svg" width="{w}" height="{h}"
 font-family="monospace" font-size="11">
<rect width="100%" height="100%" fill="#fffef8"/>
<text x="4" y="13">{title}</text>
{boxes}
</svg>
"""
BOX = """<g><title>{tip}</title><rect x="{x:.1f}" y="{y}" width="{w:.1f}"
 height="{h}" fill="{fill}" stroke="#fffef8" stroke-width=".5"/>
<text x="{tx:.1f}" y="{ty}">{label}</text></g>"""


def fold(perf_script):
    """{(outermost, ..., innermost): samples}."""
    stacks, frames = {}, []
    for line in perf_script.splitlines() + [""]:
        if line.startswith("\t"):
            name, _, dso = line.split(None, 1)[1].rpartition(" (")
            if name == "[unknown]":
                name = f"[{dso.rstrip(')').rpartition('/')[2]}]"
            frames.append(name)
        elif not line.strip() and frames:
            key = tuple(reversed(frames))
            stacks[key] = stacks.get(key, 0) + 1
            frames = []
    return stacks


def tree(stacks):
    root = [0, {}]
    for stack, n in stacks.items():
        node = root
        node[0] += n
        for name in stack:
            node = node[1].setdefault(name, [0, {}])
            node[0] += n
    return root


def depth(node):
    return 1 + max(map(depth, node[1].values()), default=0)


def box(name, samples, total, at):
    """One frame; at is (x, level from the top, width)."""
    x, level, width = at
    y = level * ROW
    room = int(width / CHAR)
    label = name if len(name) <= room else name[:max(0, room - 2)] + ".."
    shade = sum(map(ord, name)) % 60
    return BOX.format(
        tip=escape(f"{name}: {samples} samples, {samples / total:.1%}"),
        x=x, y=y, w=width, h=ROW - 1, fill=f"rgb(240,{150 + shade},80)",
        tx=x + 2, ty=y + 12, label=escape(label if room > 3 else ""))


def boxes(node, total, x, level):
    for name, child in sorted(node[1].items()):
        width = child[0] / total * WIDTH
        if width >= 0.5:
            yield box(name, child[0], total, (x, level, width))
            yield from boxes(child, total, x, level + 1)
        x += width


def svg(stacks, title):
    root = tree(stacks)
    height = (depth(root) + 1) * ROW
    return SVG.format(w=WIDTH, h=height,
                      title=escape(f"{title}, {root[0]} samples"),
                      boxes="\n".join(boxes(root, root[0], 0, 1)))
