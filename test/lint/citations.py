#!/usr/bin/python3
# citations.py - what comments cite of doc/spec exists, and what the map of the
# tree names; --fix writes paths out.
# SPDX-License-Identifier: ISC
import os
import re
import sys

import lint

SPEC = "doc/spec"
NUMBER = r"\d+(?:\.\d+)*"
NAMES = [n[:-3] for n in sorted(os.listdir(os.path.join(lint.ROOT, SPEC)))
         if n.endswith(".md") and n != "README.md"]
# a comment's text may be folded between the file and the section
GAP = r"(?:\s|[*#])+"
CITED = re.compile(
    r"(?P<path>(?:doc/)?spec/)?(?<![\w-])(?P<name>" + "|".join(NAMES) +
    r")\.md(?:(?:" + GAP + r"(?P<word>sections?))?" + GAP +
    r"(?P<numbers>" + NUMBER + r"\b(?:(?:,|,? to|,? and)" + GAP + NUMBER +
    r"\b)*))?")
HEADING = re.compile(r"^#+ (" + NUMBER + r")\.? ", re.M)


def headings():
    return {name: set(HEADING.findall(lint.read(f"{SPEC}/{name}.md")))
            for name in NAMES}


def missing(known, found):
    """Sections that are cited and are not there."""
    return [n for n in re.findall(NUMBER, found["numbers"] or "")
            if n not in known[found["name"]]]


def problems(paths, known, written_out):
    found = []
    count = 0
    for path in paths:
        text = lint.read(path)
        for m in CITED.finditer(text):
            line = text.count("\n", 0, m.start()) + 1
            count += 1
            found += [f"{path}:{line}: {SPEC}/{m['name']}.md has no "
                      f"section {n}" for n in missing(known, m)]
            if written_out and (m["path"] != "spec/" or
                                m["numbers"] and not m["word"]):
                found.append(f"{path}:{line}: write spec/{m['name']}.md "
                             f"section N ({sys.argv[0]} --fix)")
    return found or ([] if count > 20 else [f"{count} citations, no more?"])


def fixed(m):
    if not m["numbers"]:
        return f"spec/{m['name']}.md"
    text = m.group()[len(m["path"] or ""):]
    if not m["word"]:
        word = "sections" if len(re.findall(NUMBER, m["numbers"])) > 1 \
            else "section"
        text = text.replace(m["numbers"], word + " " + m["numbers"], 1)
    return "spec/" + text


MAP = "doc/architecture.md"
FUNCTION = re.compile(r"`(\w+)\(\)`")
FILE = re.compile(r"`([\w/]+\.(?:c|h|def))`")
CONSTANT = re.compile(r"`([A-Z]\w*_\w+|struct \w+)`")


def lacks(text):
    """Functions, files and constants of the map that the tree has not."""
    code = "\n".join(lint.read(p) for p in CODE)
    defined = set(re.findall(r"^(?:\w.*[ *])?(\w+)\(", code, re.M))
    paths = [f"/{p}" for p in CODE]
    return [f"{n}()" for n in FUNCTION.findall(text) if n not in defined] + \
        [n for n in FILE.findall(text)
         if not any(p.endswith(f"/{n}") for p in paths)] + \
        [n for n in CONSTANT.findall(text)
         if not re.search(rf"\b{n}\b", code)]


def unplaced(text):
    """Modules that stand in no row of the ranks, or in the wrong one."""
    rows = {}
    for names, modules in re.findall(r"^\| (`\w+`): ([^|]+\|[^|]+)\|$", text,
                                     re.M):
        rows[names[1:-1]] = set(re.findall(r"`(\w+)`", modules))
    found = []
    for path in lint.files("src", ends=(".c",)):
        rank, name = path.split("/")[1], os.path.basename(path)[:-2]
        if rank != "ctl" and name not in rows.get(rank, ()):
            found.append(f"{path} stands in no row")
    return found if len(rows) > 10 else ["no table of ranks?"]


def of_the_map():
    text = lint.read(MAP)
    return [f"{MAP}: nothing is called {n}" for n in lacks(text)] + \
        [f"{MAP}: {n}" for n in unplaced(text)]


CODE = lint.files("src", "include")
if sys.argv[1:] == ["--fix"]:
    for path in CODE:
        before = lint.read(path)
        after = CITED.sub(fixed, before)
        if after != before:
            with open(os.path.join(lint.ROOT, path), "w",
                      encoding="utf-8") as f:
                f.write(after)

SECTIONS = headings()
lint.finish({
    "code cites what exists": problems(CODE, SECTIONS, True),
    "tests cite what exists": problems(
        lint.files("test", ends=(".c", ".h", ".py")), SECTIONS, False),
    "documents cite what exists": problems(
        lint.files("doc", ends=(".md",)), SECTIONS, False),
    "the map names what exists": of_the_map(),
})
