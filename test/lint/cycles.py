#!/usr/bin/python3
# cycles.py - calls between modules form no large ring (CONTRIBUTING.md).
# SPDX-License-Identifier: ISC
"""Reads what the objects of a build define and what they leave undefined, so
macros, tables and inline functions count as well. Without a build there is
nothing to read, and the test is skipped. `cycles.py DIR` reads that build;
--show prints the edges inside each ring that is too large."""
import glob
import os
import subprocess
import sys

import lint

LIMIT = 4	# files that may call one another in a ring
WAIVERS = "test/lint/cycles"
DEFINED, UNDEFINED = "TDBRVWGSC", "U"


def module(path):
    """src/pool/pool.o, or automake's src/pool/program-pool.o."""
    rank, name = path.split(os.sep)[-2:]
    return f"{rank}/{name[:-2].rpartition('-')[2]}"


def objects(build):
    """But not those whose source is gone since they were made, nor those that
    the same source was made into before."""
    here = {os.path.splitext(path)[0] for path in lint.files("src")}
    newest = {}
    for path in sorted(glob.glob(os.path.join(build, "src", "*", "*.o")),
                       key=os.path.getmtime):
        if f"src/{module(path)}" in here:
            newest[module(path)] = path
    return sorted(newest.values())


def symbols(paths):
    """{module: (defined, undefined)} by nm."""
    out = subprocess.run(["nm", "-P", "-A", *paths], check=True, text=True,
                         capture_output=True).stdout
    found = {}
    for line in out.splitlines():
        where, name, kind = line.split()[:3]
        own = found.setdefault(module(where.split("[")[0].rstrip(":")),
                               (set(), set()))
        if kind in DEFINED:
            own[0].add(name)
        elif kind == UNDEFINED:
            own[1].add(name)
    return found


def graph(found):
    home = {name: m for m, (defined, _) in found.items() for name in defined}
    edges = {m: {} for m in found}
    for m, (_, undefined) in found.items():
        for name in undefined:
            if home.get(name, m) != m:
                edges[m].setdefault(home[name], []).append(name)
    return edges


def rings(edges):
    """Strongly connected components of two and more (Tarjan)."""
    index, low, stack, found = {}, {}, [], []

    def visit(m):
        index[m] = low[m] = len(index)
        stack.append(m)
        for other in edges[m]:
            if other not in index:
                visit(other)
            if other in stack:
                low[m] = min(low[m], low[other])
        if low[m] == index[m]:
            ring = []
            while not ring or ring[-1] != m:
                ring.append(stack.pop())
            if len(ring) > 1:
                found.append(sorted(ring))
    for m in sorted(edges):
        if m not in index:
            visit(m)
    return sorted(found, key=lambda r: (-len(r), r))


def waived():
    """{module: the row that allows it in a ring}."""
    return {words[0]: f"{WAIVERS}:{number}"
            for number, words, _ in lint.table(WAIVERS)}


def check(edges, show):
    allowed, needed, findings = waived(), set(), []
    for ring in rings(edges):
        if len(ring) <= LIMIT:
            continue
        new = [m for m in ring if m not in allowed]
        needed |= set(ring)
        if new:
            findings.append(f"{', '.join(new)}: in a ring of {len(ring)} "
                            f"files: {' '.join(ring)}")
        for m in ring if show else []:
            for other, names in sorted(edges[m].items()):
                if other in ring:
                    print(f"# {m} -> {other}: {', '.join(sorted(names))}")
    findings += [f"{where}: {m} is in no large ring any more"
                 for m, where in allowed.items() if m not in needed]
    return findings


def main():
    words = [a for a in sys.argv[1:] if not a.startswith("-")]
    build = words[0] if words else os.getcwd()
    paths = objects(build)
    if not paths:
        print("1..0 # SKIP no objects here: run it in a build folder")
        return
    lint.finish({"rings": check(graph(symbols(paths)), "--show" in sys.argv)})


main()
