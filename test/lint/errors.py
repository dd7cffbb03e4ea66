#!/usr/bin/python3
# errors.py - each error has its row in doc/spec/client-errors.md, and its entry
# in doc/troubleshooting.md.
# SPDX-License-Identifier: ISC
import re

import lint

SPEC = "doc/spec/client-errors.md"
REASONS = "include/pool/close_reason.def"
LITERAL = r'((?:"(?:\\.|[^"\\\n])*"\s*)+)'
REASON = re.compile(r"X\((\w+),\s*" + LITERAL)
# texts of logins and of the console; other err_set() are for the log
SPOKEN = re.compile(
    r"(?:err_set\([^;\"]*?,|auth_(?:deny|refuse)\(a,)\s*" + LITERAL)
SPEAKERS = re.compile(r"src/(login/(?!auth_ldap)|session/cancel\b|console/)")
TOLD = re.compile(r"client_fail\([^;]*?\bCLOSE_(\w+)")
# made at run time: what it tells has rows of its own
KINDS = {"AUTH_QUERY_FAILED", "BAD_PACKET_HEADER", "CACHED_ERROR",
         "FDS_NOT_PASSED", "LOGIN_REFUSED", "SNAPSHOT_UNUSABLE"}
HOLE = re.compile(r"%[-.*\d]*[lz]?[a-z]")
LOG_ONLY = 10			# sections from this one are not for clients
EVEN = 8			# letters by which a text is told from another
HELP = "doc/troubleshooting.md"
SENT = (2, 3, 4, 5, 8)		# sections of what clients and consoles are sent
# rows of what the reference alone sends, and of texts that others have made
NOT_OURS = re.compile(r"the reference's alone|reference-internal|<server's message>")


def text_of(literal):
    parts = re.findall(r'"((?:\\.|[^"\\\n])*)"', literal)
    return "".join(parts).replace('\\"', '"')


def rows():
    """{text: number of its section}"""
    found = {}
    for part in re.split(r"^## ", lint.read(SPEC), flags=re.M)[1:]:
        number = int(part.partition(".")[0])
        for text in re.findall(r"`([^`\n]+)`", part):
            found.setdefault(text, number)
    return found


def section(text):
    """Of its row, or None."""
    pattern = re.compile(".*".join(map(re.escape, HOLE.split(text))))
    return next((number for row, number in ROWS.items()
                 if pattern.fullmatch(row)), None)


def without_row():
    reasons = {name: text_of(text)
               for name, text in REASON.findall(lint.read(REASONS))}
    for name in sorted(reasons.keys() - KINDS):
        if section(reasons[name]) is None:
            yield f"{REASONS}: no row for \"{reasons[name]}\" in {SPEC}"
    for path in lint.files("src", ends=".c"):
        code = lint.read(path)
        for name in TOLD.findall(code):
            if (section(reasons[name]) or 0) >= LOG_ONLY:
                yield (f"{path}: a client is told \"{reasons[name]}\", "
                       f"{SPEC} has it among what is not")
        for text in map(text_of, SPOKEN.findall(code)):
            if SPEAKERS.match(path) and section(text) is None and \
                    len(HOLE.sub("", text)) >= EVEN:
                yield f"{path}: no row for \"{text}\" in {SPEC}"


def first_cells(text):
    """Of the tables: (whole row, what its first cell has between backticks)."""
    for row in re.findall(r"^\|.*\|$", text, re.M):
        yield row, re.findall(r"`([^`]+)`", row.split(" | ")[0])


def without_entry():
    """Errors that a reader of HELP does not find by their text."""
    text = lint.read(HELP)
    entries = set(re.findall(
        r"`([^`]+)`", "\n".join(re.findall(r"^### .*", text, re.M))))
    for _, found in first_cells(text):
        entries.update(found)
    count = 0
    for part in re.split(r"^## ", lint.read(SPEC), flags=re.M)[1:]:
        if int(part.partition(".")[0]) not in SENT:
            continue
        for row, found in first_cells(part):
            if NOT_OURS.search(row):
                continue
            count += len(found)
            for error in found:
                if error not in entries:
                    yield f"{HELP}: no entry for \"{error}\""
    if count < 150:
        yield f"{SPEC}: {count} errors, no more?"


ROWS = rows()
lint.finish({"each has its row": list(without_row()),
             "each has its entry": list(without_entry())})
