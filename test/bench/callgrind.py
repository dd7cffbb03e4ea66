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
        self.total = 0      # of the dump; not the sum of what follows: a
                            # function that ends in a jump to another may be
                            # booked with what that one cost, too
        self.self_cost, self.object_cost = {}, {}   # count by name
        self.called, self.callee = {}, ""   # the same, with all it calls

    def name(self, match):
        called, kind, number, text = match.groups()
        text = text.split(".lto_priv")[0]   # the linker made it public
        if number and text:
            self.names[kind, number] = text
        elif number:
            text = self.names.get((kind, number), number)
        if not called:
            self.at[kind] = text
        elif kind == "fn":
            self.callee = text

    def call(self, count):
        self.called[self.callee] = self.called.get(self.callee, 0) + count

    def cost(self, count):
        at = self.at["ob"]
        self.object_cost[at] = self.object_cost.get(at, 0) + count
        name = self.at["fn"]
        if name.startswith("0x"):   # no symbol
            name = f"[{os.path.basename(self.at['ob'])}] {name}"
        self.self_cost[name] = self.self_cost.get(name, 0) + count


def read(lines):
    reader, inclusive = Reader(), False
    for line in lines:
        line = line.rstrip()
        match = NAME.match(line)
        cost = COST.match(line)
        if match:
            reader.name(match)
        elif cost and inclusive:
            reader.call(int(cost.group(1)))
        elif cost:
            reader.cost(int(cost.group(1)))
        elif line.startswith("summary:"):
            reader.total = int(line.split()[1])
        inclusive = line.startswith("calls=")   # so is the line after it
    return reader


def self_costs(lines):
    """(total, [(count, function)]), the dearest first."""
    rows = [(n, name) for name, n in read(lines).self_cost.items()]
    return sum(n for n, _ in rows), sorted(rows, reverse=True)
