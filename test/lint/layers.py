#!/usr/bin/python3
# layers.py - each #include against test/lint/layers; no rings, no back doors.
# SPDX-License-Identifier: ISC
import fnmatch
import os
import re

import lint

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.M)
OWN = re.compile(r"^(?:src|include)/(\w+)/")
TEST = re.compile(r"^test/\w+/(?:test|fuzz|model)_(\w+)\.c$")
TEST_HEADERS = {"cmocka.h", "setjmp.h"}


def known_by(words, lower):
    """[NAME..., except or only, RANK...] -> names, and what they may know."""
    for word in ("except", "only"):
        if word in words:
            at = words.index(word)
            names, given = words[:at], set(words[at + 1:])
            return names, given if word == "only" else lower - given
    return words, set(lower)


def allowed():
    ranks, groups, headers, lower = {}, {}, [], set()
    for _, words, _ in lint.table("test/lint/layers"):
        if words[0] == "rank":
            names, known = known_by(words[1:], lower)
            for name in names:
                ranks[name] = known | {name}
            lower.update(names)
        elif words[0] == "group":
            groups[words[1]] = words[2:]
        else:
            headers.append((words[1], {rank for word in words[2:] for rank in
                                       groups.get(word, [word])}))
    return ranks, headers


def modules():
    """Rank of each module, by the name of its .c or .h file."""
    found = {}
    for path in lint.files("include", "src"):
        match = OWN.match(path)
        if match:
            name = os.path.splitext(os.path.basename(path))[0]
            found.setdefault(name, match.group(1))
    return found


def rank_of(path, known):
    """The rank a file belongs to; a test that of the module it tests."""
    match = OWN.match(path)
    if match:
        return match.group(1)
    match = TEST.match(path)
    name = match.group(1) if match else ""
    while name and name not in known:
        name = name.rpartition("_")[0]
    return known.get(name)


def check_file(path, rank, rules, waivers):
    ranks, headers = rules
    if rank not in ranks:
        return [f"{path}: no module of that name, so no rank"]
    findings = []
    # strings stay: a quoted name is what we look for
    text = lint.blank(lint.read(path), strings=False)
    for match in INCLUDE.finditer(text):
        kind, name = match.groups()
        line = text.count("\n", 0, match.start()) + 1
        where = f"{path}:{line}"
        if kind == '"':
            lower, slash, _ = name.partition("/")
            if slash and lower not in ranks[rank] and \
                    not waivers.has(f"{path}:{name}", "upward"):
                findings.append(f"{where}: {rank} may not know {name}")
            elif not slash and not path.startswith("test/"):
                findings.append(f'{where}: write "rank/{name}"')
        elif not (path.startswith("test/") and name in TEST_HEADERS):
            rows = [who for pattern, who in headers
                    if fnmatch.fnmatchcase(name, pattern)]
            if not rows:
                findings.append(f"{where}: <{name}> is in no row of layers")
            # a test may look at the world; libraries stay with their rank
            elif rank not in rows[0] and not path.startswith("test/"):
                findings.append(f"{where}: {rank} may not use <{name}>")
    return findings


def rings(paths):
    graph = {}
    for path in paths:
        text = lint.blank(lint.read(path), strings=False)
        graph[path] = ["include/" + n for k, n in INCLUDE.findall(text)
                       if k == '"']
    findings, done = [], set()

    def visit(path, trail):
        if path in trail:
            ring = trail[trail.index(path):] + [path]
            findings.append(f"{path}: ring: {' -> '.join(ring)}")
        elif path not in done:
            for other in graph.get(path, []):
                visit(other, trail + [path])
            done.add(path)
    for path in paths:
        visit(path, [])
    return findings


def back_doors(waivers):
    """x_parts.h is for the files of x: x.c, x_*.c, x_*.h."""
    findings = []
    for path in lint.files("include", "src"):
        text = lint.blank(lint.read(path), strings=False)
        stem = os.path.splitext(os.path.basename(path))[0]
        for match in INCLUDE.finditer(text):
            name, parts, _ = os.path.basename(match.group(2)).partition(
                "_parts.h")
            if parts and stem != name and not stem.startswith(name + "_") \
                    and not waivers.has(path, "parts"):
                findings.append(f"{path}: {match.group(2)} is for {name}*")
    return findings


def main():
    rules, known = allowed(), modules()
    waivers = lint.Waivers({"parts", "upward"})
    results = {}
    for path in lint.files("include", "src"):
        rank = rank_of(path, known)
        results.setdefault(f"includes of {rank}", []).extend(
            check_file(path, rank, rules, waivers))
    results["includes of tests"] = [
        f for path in lint.files("test/unit", "test/fuzz", ends=".c")
        for f in check_file(path, rank_of(path, known), rules,
                            waivers)]
    results["no rings"] = rings(lint.files("include"))
    results["no back doors"] = back_doors(waivers)
    results["waivers"] = waivers.findings()
    lint.finish(results)


main()
