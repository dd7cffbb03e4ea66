#!/usr/bin/python3
# prose.py - manual pages, spelling, links between documents, texts of errors.
# SPDX-License-Identifier: ISC
"""Needs scdoc and mandoc, and codespell; what is not there is left out."""
import os
import re
import shutil
import subprocess

import lint

# what scdoc writes, whatever the source says; its lines are those of the source
SCDOC = re.compile(r"skipping paragraph macro|lower case character in document "
                   r"title|input text line longer than 80 bytes")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
PATH = re.compile(r"`((?:src|include|doc|test|etc|debian|m4)/[\w./-]+)`")
MANUAL = re.compile(r"\*((?:pgsluice|userlist)[\w.-]*)\*\((\d)\)")
PROSE = [p for p in lint.files("doc", ends=(".md", ".scd"))
         + ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "NEWS.md", "SECURITY.md"]
         + lint.files("test", ends=("README.md",))]
SPELT = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "NEWS.md", "SECURITY.md", "bootstrap",
         "configure.ac", "Makefile.am", "debian", "doc", "etc", "include", "m4", "src", "test"]


def tool(name, *args, text=None):
    """What it prints, or None where it is not installed."""
    if shutil.which(name) is None:
        return None
    out = subprocess.run([name, *args], input=text, cwd=lint.ROOT, text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return out.stdout


def manuals():
    found = []
    for path in lint.files("doc", ends=(".scd",)):
        page = tool("scdoc", text=lint.read(path))
        said = None if page is None else tool("mandoc", "-Tlint", text=page)
        if said is None:
            return None
        found += [line.replace("mandoc: <stdin>", path)
                  for line in said.splitlines() if not SCDOC.search(line)]
    return found


def spelling():
    said = tool("codespell", "-q", "3", "-I", "test/lint/words", "-S",
                "*.svg,*.o,*.log,*.trs,*.[157],corpus,sql_texts,__pycache__,.deps",
                *SPELT)
    return None if said is None else said.splitlines()


def anchors(text):
    """As the usual viewers make them of headings, and the book of settings."""
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-")
            for h in re.findall(r"^#+ (.+?)\s*$", text, re.M)} | \
        set(re.findall(r"^\*(\w+)\* \(", text, re.M))


def leads_nowhere(path, target):
    if re.match(r"[a-z]+:", target):
        return False
    name, _, anchor = target.partition("#")
    there = os.path.normpath(os.path.join(os.path.dirname(path), name)) \
        if name else path
    if not os.path.exists(os.path.join(lint.ROOT, there)):
        return True
    return bool(anchor) and anchor not in anchors(lint.read(there))


def links():
    found = []
    count = 0
    for path in PROSE:
        text = lint.read(path)
        bad = []
        if path.endswith(".md"):
            bad = [t for t in LINK.findall(text) if leads_nowhere(path, t)]
            count += len(LINK.findall(text))
        bad += [t for t in PATH.findall(text) if "NAME" not in t and
                not os.path.exists(os.path.join(lint.ROOT, t))]
        bad += [f"{n}({s})" for n, s in MANUAL.findall(text)
                if not os.path.exists(
                    os.path.join(lint.ROOT, f"doc/{n}.{s}.scd"))]
        found += [f"{path}: {t} leads nowhere" for t in bad]
    return found or ([] if count > 5 else [f"{count} links, no more?"])


# in doc/troubleshooting.md: what others say
FOREIGN = {"server does not support SSL, but SSL was required",
           'prepared statement "<name>" does not exist',
           "password authentication failed for user", "SET",
           "no pg_hba.conf entry for host",
           "sorry, too many clients already"}


def errors():
    """What troubleshooting explains is what the program says."""
    path = "doc/troubleshooting.md"
    said = "".join(re.sub(r'"[\s\\]*"', "", lint.read(p)).replace('\\"', '"')
                   for p in lint.files("src", "include"))
    told = re.findall(r"^### `(.+?)`", lint.read(path), re.M)
    found = [f"{path}: nothing says {text}" for text in told
             if text not in FOREIGN and
             not all(part in said for part in re.split(r"<\w+>", text))]
    return found or ([] if len(told) > 10 else [f"{path}: no more?"])


# documents for users, the manual pages, and the map of the code
PLAIN = lint.files("doc/book", ends=(".md",)) + lint.files("doc", ends=(".scd",)) \
    + ["README.md", "CHANGELOG.md", "SECURITY.md"] + ["doc/%s.md" % name for name in (
        "architecture", "container", "contributors", "fleet", "glossary", "migrating",
        "performance", "serverless", "troubleshooting", "where-does-the-time-go")]
# what a reader has to read twice: no subject, or one that is far away
IDIOMS = re.compile(
    r"\bbut for\b|\b(?:is|are|be) told\b(?! apart)|\btill\b|\bto be had\b"
    r"|\b[Ww]ho(?:m)?ever\b|\b(?:he|him|his)\b|\bcounts? no more\b"
    r"|(?:^|(?<=[.;:] ))(?:Whom?|Whose|What) "
    r"(?:is|are|was|has|have|does|can|cannot|wants|needs|looks|comes|belongs)\b"
    r"(?![^.]*\?)", re.M)


def plain():
    """Idioms that CONTRIBUTING.md forbids."""
    found = []
    for path in PLAIN:
        text = re.sub(r"^```.*?^```$|`[^`\n]*`", lambda m: re.sub(
            r"[^\n]", "-", m[0]), lint.read(path), flags=re.M | re.S)
        found += [f"{path}:{text.count(chr(10), 0, m.start()) + 1}: "
                  f"\"{m[0].strip()}\": name the subject"
                  for m in IDIOMS.finditer(text)]
    return found


def main():
    results = {"manual pages": manuals(), "spelling": spelling(),
               "links": links(), "errors": errors(),
               "plain English": plain()}
    lint.finish({name if found is not None else f"{name} # SKIP no tool": found
                 or [] for name, found in results.items()})


main()
