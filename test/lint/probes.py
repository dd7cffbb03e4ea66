#!/usr/bin/python3
# probes.py - each probe is in the guide, with what it tells.
# SPDX-License-Identifier: ISC
import re

import lint

GUIDE = "doc/where-does-the-time-go.md"
PROBE = re.compile(r"\bPROBE\((\w+),\s*([^;]*)\)\s*;")
ROW = re.compile(r"^\| `(\w+__\w+)` \| ([^|]+) \|", re.M)


def placed():
    """{name: {number of arguments: where}} in the code."""
    found = {}
    for path in lint.files("src", "include"):
        if path == "include/base/probe.h":
            continue
        for name, arguments in PROBE.findall(lint.blank(lint.read(path))):
            flat = re.sub(r"\([^()]*\)", "", arguments)
            found.setdefault(name, {})[len(flat.split(","))] = path
    return found


def compare(code, guide):
    for name in sorted(code.keys() | guide.keys()):
        if name not in guide:
            yield f"{GUIDE}: no row for {name}"
        elif name not in code:
            yield f"{GUIDE}: {name} is nowhere in the code"
        for count, path in code.get(name, {}).items():
            if name in guide and count != guide[name]:
                yield (f"{path}: {name} has {count} arguments, "
                       f"{guide[name]} in {GUIDE}")


def pure(code):
    """What an argument calls is called when nobody listens, too."""
    for path in lint.files("src"):
        for name, arguments in PROBE.findall(lint.blank(lint.read(path))):
            calls = [c for c in lint.NAME.findall(arguments)
                     if not c.endswith("_of")]   # container_of()
            if calls:
                yield f"{path}: {name} calls {', '.join(calls)}"


CODE = placed()
TOLD = {name: len(arguments.split(","))
        for name, arguments in ROW.findall(lint.read(GUIDE))}
lint.finish({"guide": list(compare(CODE, TOLD)) or
             ([] if CODE else ["no probe was found"]),
             "arguments": list(pure(CODE))})
