"""Fills doc/serverless.md and its charts from what a run has found.

What stands between <!-- begin NAME --> and <!-- end NAME --> is replaced.
SPDX-License-Identifier: ISC
"""
import json
import os
import re
import sys

import chart

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
LABELS = {"direct": "direct", "pgbouncer": "pgbouncer",
          "transaction": "pgsluice", "keep": "pgsluice, keep"}
COLUMNS = (("requests", "{}"), ("failed", "{}"), ("median", "{:.0f}"),
           ("mean", "{:.0f}"), ("p95", "{:.0f}"), ("p99", "{:.0f}"),
           ("servers", "{}"), ("cpu", "{:.2f}"), ("server_cpu", "{:.1f}"))
HEAD = ("workers", "way", "requests", "failed", "median, ms", "mean", "p95",
        "p99", "connections", "CPU of the pooler, ms", "CPU of PostgreSQL, ms")
SECONDS = ("cpu", "server_cpu")     # told in milliseconds


def table(head, rows, left=1):
    lines = [head, ["---"] * left + ["--:"] * (len(head) - left), *rows]
    return "\n".join("| " + " | ".join(map(str, r)) + " |" for r in lines)


def cell(step, name, form):
    value = step.get(name)
    if value is None:
        return ""
    return form.format(value * 1000 if name in SECONDS else value)


def steps(result):
    ways = result["ways"]
    counts = list(next(iter(ways.values()))["steps"])
    return table(HEAD, [
        [count if way == next(iter(ways)) else "", LABELS[way],
         *(cell(found["steps"][count], *c) for c in COLUMNS)]
        for count in counts for way, found in ways.items()], 2)


def errors(result):
    rows = [[LABELS[way], f"`{text}`", count]
            for way, found in result["ways"].items()
            for text, count in sorted(found["errors"].items(),
                                      key=lambda item: -item[1])[:5]]
    return table(("way", "what the service was told", "times"), rows, 2) \
        if rows else "None."


def features(result):
    ways = result["ways"]
    names = list(next(iter(ways.values()))["features"])
    notes = []

    def word(way, name):
        wrong = ways[way]["features"].get(name, "not tried")
        wrong = wrong.replace("`", "'")
        if not wrong:
            return "yes"
        if wrong not in notes:
            notes.append(wrong)
        return f"no ({notes.index(wrong) + 1})"

    text = table(("", *(LABELS[w] for w in ways)),
                 [[f"`{n}`" if "?" in n or "=" in n else n,
                   *(word(w, n) for w in ways)] for n in names])
    return text + "".join(f"\n{'' if i else chr(10)}{i + 1}. `{note}`"
                          for i, note in enumerate(notes))


def about(result):
    a = result["about"]
    packages = ", ".join(f"{n} {v}" for n, v in a["packages"].items())
    own = re.search(r"pgsluice [\w.]+", a["pgsluice"])[0]
    return (f"{a['postgres']}; {own}; {a['pgbouncer']} of Debian; "
            f"Node {a['node']}; {packages}. {a['cpus']} CPUs, with everything "
            f"on them. {a['seconds']:.0f} s for each number of workers. "
            f"{a['date']}.")


PARTS = {"about": about, "steps": steps, "errors": errors,
         "features": features}
CHARTS = (("failed", "failed requests, %", "failed"),
          ("p95", "p95 of those that succeed, ms", "p95"),
          ("median", "median of those that succeed, ms", "median"))


def series(result, name):
    """{way: [(workers, value)]}; failures as a share of the requests."""
    found = {}
    for way, told in result["ways"].items():
        points = []
        for count, step in told["steps"].items():
            value = step.get(name)
            if name == "failed":
                value = 100 * value / max(1, step["requests"])
            if value is not None:
                points.append((int(count), value))
        found[way] = (LABELS[way], points)
    return found


def charts(result, folder):
    panels = [chart.Panel(title, "workers", series(result, name))
              for name, title, _ in CHARTS]
    chart.write(os.path.join(folder, "study-requests.svg"), panels)
    over_time = {way: (LABELS[way], told["over_time"])
                 for way, told in result["ways"].items()}
    cpu = {way: line for way, line in series(result, "cpu").items() if line[1]}
    cpu = {way: (label, [(x, y * 1000) for x, y in points])
           for way, (label, points) in cpu.items()}
    chart.write(os.path.join(folder, "study-servers.svg"), [
        chart.Panel("server connections, as workers become more",
                    "seconds", over_time, 2),
        chart.Panel("CPU of the pooler, ms a request", "workers", cpu)])


def write(result, path):
    # as it would come from a file
    result = json.loads(json.dumps(result))
    with open(path) as f:
        text = f.read()
    for name in PARTS:
        pattern = rf"(<!-- begin {name} -->\n).*?(<!-- end {name} -->)"
        content = PARTS[name](result)
        text, count = re.subn(
            pattern, lambda m, c=content: m[1] + c + "\n" + m[2], text,
            flags=re.S)
        if count != 1:
            sys.exit(f"study: {count} places for {name} in {path}")
    charts(result, os.path.join(os.path.dirname(path), "charts"))
    with open(path, "w") as f:
        f.write(text)
