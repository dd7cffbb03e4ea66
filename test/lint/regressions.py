#!/usr/bin/python3
# regressions.py - doc/regressions.md against the tests that it names.
# SPDX-License-Identifier: ISC
import os
import re

import lint

TABLE = "doc/regressions.md"
ROW = re.compile(r"^\| (?!bug |--)(.+?) \| (.+) \|$", re.M)
TEST = re.compile(r"`([\w/]+\.(?:py|c))::(test_\w+)`")
NOTE = re.compile(r"(?:#|/\*) regressions: (.*?)(?=\n\s*[^#\s]|\*/|\Z)", re.S)


def words(text):
    return re.sub(r"[\s#]+", " ", text)


def note_of(path, name):
    """What the comment at that test says; None: there is no such test."""
    path = os.path.join("test", path)
    if not os.path.exists(os.path.join(lint.ROOT, path)):
        return None
    text = lint.read(path)
    if path.endswith(".py"):
        body = re.search(rf"^def {name}\(.*?(?=^\S|\Z)", text, re.M | re.S)
        # a signature that is folded has its end in the first column at most
        note = body and NOTE.search(text, body.start(), body.end())
    else:
        body = re.search(rf"(/\*[^*]*\*/\n)?^static void {name}\(", text,
                         re.M)
        note = body and NOTE.search(body.group())
    if body is None:
        return None
    return words(note.group(1)) if note else ""


def problems():
    found = []
    rows = ROW.findall(lint.read(TABLE))
    for bug, what in rows:
        tests = TEST.findall(what)
        if not tests and ("::" in what or len(what) < 20):
            found.append(f"{TABLE}: {bug}: neither a test nor a reason")
        for path, name in tests:
            note = note_of(path, name)
            if note is None:
                found.append(f"{TABLE}: {bug}: no {name} in test/{path}")
            elif words(bug) not in note:
                found.append(f"test/{path}: {name} does not name {bug}")
    return found or ([] if len(rows) > 100 else [f"{TABLE}: lacks rows"])


lint.finish({"bugs of others": problems()})
