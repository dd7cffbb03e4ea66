"""Reads a callgrind dump: instructions spent in each function itself.

callgrind_annotate is no help here: in a dump that begins in the middle of a
call it books everything on the outermost frame.
SPDX-License-Identifier: ISC
"""
import os
import re

NAME = re.compile(r"(c?)(ob|fn)=(?:(\(\d+\)) ?)?(.*)")
COST = re.compile(r"(?:\d+|\+\d+|-\d+|\*) (\d+)$")


class Reader:
    def __init__(self):
        self.names = {}     # ("ob" or "fn", number) -> name, said once
        self.at = {"ob": "", "fn": ""}
        self.self_cost = {}

    def name(self, match):
        called, kind, number, text = match.groups()
        if number and text:
            self.names[kind, number] = text
        elif number:
            text = self.names.get((kind, number), number)
        if not called:
            self.at[kind] = text

    def cost(self, count):
        name = self.at["fn"]
        if name.startswith("0x"):   # no symbol
            name = f"[{os.path.basename(self.at['ob'])}] {name}"
        self.self_cost[name] = self.self_cost.get(name, 0) + count


def self_costs(lines):
    """(total, [(count, function)]), the dearest first."""
    reader, inclusive = Reader(), False
    for line in lines:
        line = line.rstrip()
        match = NAME.match(line)
        cost = COST.match(line)
        if match:
            reader.name(match)
        elif cost and not inclusive:
            reader.cost(int(cost.group(1)))
        inclusive = line.startswith("calls=")   # so is the line after it
    rows = [(n, name) for name, n in reader.self_cost.items()]
    return sum(n for n, _ in rows), sorted(rows, reverse=True)
