#!/usr/bin/python3
# options.py - each row of options.def is in the manual and in the sample.
# SPDX-License-Identifier: ISC
import fnmatch
import os
import re
import subprocess

import lint

MANUAL = "doc/pgsluice.ini.5.scd"
SAMPLE = "etc/pgsluice.ini"
ROW = re.compile(r"^OPTION\(\s*\w+\s*,\s*(\w+)", re.M)
DOOR = re.compile(r"listen_(addr|port)$|_token_file$|^auth_|_tls_")
SETTING = re.compile(r"^[;#]? ?([a-z][a-z0-9_]*) ?=", re.M)


def text_of(path):
    return lint.read(path) if os.path.exists(
        os.path.join(lint.ROOT, path)) else ""


def section(sample, name):
    match = re.search(rf"^\[{name}\](.*?)(?=^\[|\Z)", sample, re.M | re.S)
    return match.group(1) if match else ""


def unlocked(names):
    """Settings that let others in, and that SET may change in the sample."""
    locked = re.search(r"^console_locked_settings = (.*)", text_of(SAMPLE),
                       re.M).group(1).split(", ")
    return [f"{SAMPLE}: console_locked_settings lacks {n}" for n in names
            if DOOR.search(n)
            and not any(fnmatch.fnmatchcase(n, p) for p in locked)]


def generated(path, what, text):
    """What optdoc prints stands in the file; run by make check only."""
    tool = os.environ.get("OPTDOC")
    if tool is None:
        return []
    out = subprocess.run([tool, what], stdout=subprocess.PIPE, text=True)
    if out.returncode or not out.stdout.strip():
        return [f"{tool} {what} failed"]
    return [] if out.stdout.strip() in text else [
        f"{path}: differs from what `optdoc {what}` prints"]


def main():
    names = ROW.findall(lint.blank(lint.read("include/conf/options.def")))
    manual = set(re.findall(r"\w+", text_of(MANUAL).replace("\\_", "_")))
    sample = SETTING.findall(section(text_of(SAMPLE), "pgbouncer"))
    twice = sorted({n for n in names if names.count(n) > 1})
    lint.finish({
        "rows": ([] if names else ["include/conf/options.def: no rows"])
                + [f"include/conf/options.def: {n} twice" for n in twice],
        "manual": [f"{MANUAL}: lacks {n}" for n in names if n not in manual],
        "sample": [f"{SAMPLE}: lacks {n}" for n in names if n not in sample]
                  + [f"{SAMPLE}: {n} is no setting" for n in sample
                     if n not in names],
        "sample locks what lets others in": unlocked(names),
        "manual is up to date": generated(MANUAL, "man", text_of(MANUAL)),
        "sample is up to date": generated(SAMPLE, "sample", text_of(SAMPLE)),
    })


main()
