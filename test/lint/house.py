#!/usr/bin/python3
# house.py - how large and how tangled the tree is, as a table.
# SPDX-License-Identifier: ISC
"""Prints one line for each measure, with its goal. `house.py --show` also
prints what is behind a measure: who writes a struct, which names are shared,
which modules have no unit test of their name. It fails only if it cannot
read the tree: a goal is not a limit."""
import collections
import os
import re
import statistics
import sys

import fields
import lint

# The folders that one folder, session, was split into.
ROOMS = ["session", "upstream", "state", "notify", "broker", "relay", "login",
         "transfer"]
# Kinds of one byte, each of which is a state or part of one.
BYTE = re.compile(r"^(?:const |volatile )*(?:bool|enum \w+|u?int8_t)\b")
MEMBER = re.compile(r"^(?:const |volatile )*struct (\w+) (\w+)(?:\[\w+\])?$")
DECLARED = re.compile(r"\bstruct (\w+) \*(?:const )?(\w+)\b")
WRITE = r"(?:\[[^]]*\])?\s*(?:=(?!=)|[-+|&]=|\+\+|--)"
NO_NAMES = {"main", "__attribute__"}


def own_rank(path):
    return path.split("/")[1]


def sizes():
    paths = lint.files("src", "include")
    lines = {p: lint.read(p).count("\n") for p in paths}
    rooms = collections.Counter()
    for path, n in lines.items():
        rooms[own_rank(path)] += n
    largest = max(ROOMS, key=rooms.__getitem__)
    sources = [n for p, n in lines.items() if p.endswith(".c")]
    return (len(paths), sum(lines.values()), int(statistics.median(sources)),
            f"{rooms[largest]} ({largest})")


def byte_states(all_structs, name, seen=()):
    """One-byte members of a struct and of the structs within it."""
    count = 0
    body = re.sub(r"\bstruct \{(.*?)\} (\w+);", r"\1", all_structs[name],
                  flags=re.S)
    for line in body.split(";"):
        line = " ".join(line.split())
        member = MEMBER.match(line)
        if BYTE.match(line) and "(" not in line and "*" not in line:
            count += line.count(",") + 1
        elif member and member.group(1) in all_structs and \
                member.group(1) not in seen:
            count += byte_states(all_structs, member.group(1),
                                 (*seen, member.group(1)))
    return count


def writers(all_structs):
    """{struct: files that assign to a field of it}, of what client and server
    hold as a member."""
    held = {}
    for root in ("client", "server"):
        for line in all_structs[root].split(";"):
            member = MEMBER.match(" ".join(line.split()))
            if member and member.group(1) in all_structs:
                held[member.group(2)] = member.group(1)
    found = collections.defaultdict(set)
    for path in lint.files(*(f"src/{room}" for room in ROOMS)):
        text = lint.blank(lint.read(path))
        for member, struct in held.items():
            if re.search(rf"(?:->|\.){member}\.\w+(?:\.\w+)*{WRITE}", text):
                found[struct].add(path)
        for struct, pointer in set(DECLARED.findall(text)):
            if struct in held.values() and re.search(
                    rf"\b{pointer}->\w+(?:\.\w+)*{WRITE}", text):
                found[struct].add(path)
    return found


def functions():
    """[(name, path)] of the server program."""
    return [(name, path) for path in lint.files("src", ends=".c")
            if own_rank(path) != "ctl"
            for name, *_ in lint.functions(lint.blank(lint.read(path)))
            if name not in NO_NAMES]


def declared_elsewhere(defined):
    """Functions whose prototype is in a header of another name."""
    home = {}
    for path in lint.files("include", ends=".h"):
        text = lint.blank(lint.read(path))
        for name in re.findall(r"^[a-z][^\n;{}#]*?\b(\w+)\([^;{}]*\)[^;{}]*;",
                               text, re.M):
            home.setdefault(name, os.path.basename(path)[:-2])
    return [(name, path) for name, path in defined if name in home
            and home[name] != os.path.basename(path)[:-2]]


def shared_names(defined):
    count = collections.Counter(name for name, _ in defined)
    return {name: n for name, n in count.items() if n > 1}


def untested():
    """{.c of a room that no test/unit/test_NAME.c tests: its lines}"""
    tests = {os.path.basename(p)[len("test_"):-2]
             for p in lint.files("test/unit", ends=".c")}
    return {path: lint.read(path).count("\n")
            for path in lint.files(*(f"src/{room}" for room in ROOMS),
                                   ends=".c")
            if os.path.basename(path)[:-2] not in tests}


def main():
    all_structs = fields.structs()
    files, lines, median, largest = sizes()
    writing = writers(all_structs)
    most = max(writing, key=lambda struct: len(writing[struct]))
    defined = functions()
    elsewhere, same = declared_elsewhere(defined), shared_names(defined)
    bare = untested()
    upward = [row for _, row, _ in lint.table("test/lint/waivers")
              if row[1:] == ["upward"] and not row[0].startswith("test/")]
    table = [
        ("files", files, 450),
        ("lines", lines, 86000),
        ("median .c", median, 280),
        ("largest room that was session", largest, 7500),
        ("files that write one struct", f"{len(writing[most])} ({most})", 3),
        ("one-byte states of a server",
         byte_states(all_structs, "server"), 32),
        ("one-byte states of a client",
         byte_states(all_structs, "client"), 14),
        ("functions declared in a header of another name",
         len(elsewhere), 60),
        ("functions that share a name", sum(same.values()), 250),
        ("lines of rooms without a unit test of their name",
         sum(bare.values()), 4000),
        ("includes of a higher rank", len(upward), 0),
    ]
    print("1..1\nok 1 - the tree can be read")
    for what, now, goal in table:
        print(f"# {what:50} {now!s:>16}   goal {goal}")
    if "--show" in sys.argv:
        for struct in sorted(writing, key=lambda s: -len(writing[s])):
            print(f"# {struct}: {' '.join(sorted(writing[struct]))}")
        for name in sorted(same, key=lambda n: -same[n]):
            print(f"# {name}: {same[name]}")
        for path in sorted(bare, key=lambda p: -bare[p]):
            print(f"# {path}: {bare[path]}")


main()
