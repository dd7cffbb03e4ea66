#!/usr/bin/python3
# citations.py - what comments cite of doc/spec exists; --fix writes paths out.
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
})
