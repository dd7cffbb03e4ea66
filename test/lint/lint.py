# lint.py - what the lint tests share: the tree, comments, TAP.
# SPDX-License-Identifier: ISC
"""Each lint test is run by make check; run one alone as
`python3 test/lint/NAME.py`. Findings read file:line: text."""
import os
import re
import sys

ROOT = os.path.normpath(os.path.join(os.path.dirname(__file__), "..", ".."))
RANKS = ["base", "sql", "proto", "conf", "io", "pool", "session", "upstream",
         "state", "notify", "broker", "relay", "login", "transfer", "console",
         "http", "app", "ctl"]

NAME = re.compile(r"(\w+)\s*\(")
TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def is_made(path):
    """By a build in the tree itself, as a package's is."""
    with open(path, "rb") as f:
        return f.read(11) == b"/* made by "


def files(*folders, ends=(".c", ".h", ".def")):
    """Paths of sources below the folders, relative to the root, sorted."""
    found = []
    for folder in folders:
        for where, _, names in os.walk(os.path.join(ROOT, folder)):
            found += [os.path.relpath(os.path.join(where, n), ROOT)
                      for n in names if n.endswith(ends)
                      and not n.startswith(".")
                      and not is_made(os.path.join(where, n))]
    return sorted(found)


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
        return f.read()


def blank(text, strings=True):
    """The text with comments (and the inside of strings) as spaces; line
    numbers and columns stay."""
    def hide(match):
        s = match.group()
        if s[0] == "/":
            return re.sub(r"[^\n]", " ", s)
        return s[0] + "_" * (len(s) - 2) + s[0] if strings else s
    return TOKEN.sub(hide, text)


def functions(text):
    """(name, signature, first line, last line) of each definition: in our
    layout its braces stand alone in column 0."""
    lines = text.split("\n")
    start = 0
    for number, line in enumerate(lines):
        if line == "{":
            first = number
            while first > start and lines[first - 1].strip() and not \
                    re.match(r"#|.*[;}\\]\s*$", lines[first - 1]):
                first -= 1
            end = number
            while end < len(lines) - 1 and lines[end] != "}":
                end += 1
            signature = " ".join(lines[first:number])
            name = NAME.search(signature)
            yield (name.group(1) if name else "?", signature, first, end)
            start = end


def table(path):
    """Rows of a data file: (line number, words, comment after #)."""
    rows = []
    for number, line in enumerate(read(path).splitlines(), 1):
        words, _, comment = line.partition("#")
        if words.strip():
            rows.append((number, words.split(), comment.strip()))
    return rows


def finish(results):
    """Print {case: [findings]} as TAP and leave."""
    print(f"1..{len(results)}")
    bad = 0
    for number, (case, findings) in enumerate(results.items(), 1):
        print(f"{'not ok' if findings else 'ok'} {number} - {case}")
        for finding in findings:
            print(f"# {finding}")
        bad += bool(findings)
    sys.exit(1 if bad else 0)


class Waivers:
    """The rows of test/lint/waivers that are about the given rules."""

    def __init__(self, rules):
        self.rows = {}
        self.bad = []
        for number, words, reason in table("test/lint/waivers"):
            where = f"test/lint/waivers:{number}"
            if len(words) != 2 or not reason:
                self.bad.append(f"{where}: want FILE[:FUNCTION] RULE # reason")
            elif words[1] in rules:
                self.rows[tuple(words)] = where
        self.used = set()

    def has(self, what, rule):
        if (what, rule) in self.rows:
            self.used.add((what, rule))
            return True
        return False

    def findings(self):
        return self.bad + [
            f"{where}: {row[0]} needs no waiver for {row[1]}"
            for row, where in self.rows.items() if row not in self.used]
