#!/usr/bin/python3
# sources.py - the lists of Makefile.am against the tree; --fix writes them.
# SPDX-License-Identifier: ISC
import glob
import os
import re
import sys

import lint

PATTERNS = {
    "base_sources": "src/base/*.c",
    "sql_sources": "src/sql/*.c",
    "proto_sources": "src/proto/*.c",
    "conf_sources": "src/conf/*.c",
    "io_sources": "src/io/*.c",
    "pool_sources": "src/pool/*.c",
    "session_sources": "src/session/*.c",
    "upstream_sources": "src/upstream/*.c",
    "state_sources": "src/state/*.c",
    "notify_sources": "src/notify/*.c",
    "broker_sources": "src/broker/*.c",
    "relay_sources": "src/relay/*.c",
    "login_sources": "src/login/*.c",
    "transfer_sources": "src/transfer/*.c",
    "console_sources": "src/console/*.c",
    "http_sources": "src/http/*.c",
    "app_sources": "src/app/*.c",
    "ctl_sources": "src/ctl/*.c",
    "headers": "include/*/*.[hd]*",
    "manuals": "doc/*.scd",
    "dist_convert_DATA": "contrib/convert/*.py",
    "dist_profile_DATA": "contrib/profile/*.py",
    "unit_tests": "test/unit/test_*.c",
    "fuzz_targets": "test/fuzz/fuzz_*.c",
}
PROGRAMS = {"unit_tests", "fuzz_targets"}
# Chosen by configure: rank_sources += ... below a condition.
CHOSEN = re.compile(r"^\w+_sources\s*\+=((?:.*\\\n)*.*)", re.M)
MAIN = re.compile(r"^int main\(", re.M)


def wanted(name, makefile):
    found = {os.path.relpath(p, lint.ROOT)
             for p in glob.glob(os.path.join(lint.ROOT, PATTERNS[name]))}
    for words in CHOSEN.findall(makefile):
        found -= set(words.replace("\\\n", " ").split())
    if name in PROGRAMS:
        found = {p[:-len(".c")] for p in found}
    elif name.endswith("_sources"):
        found = {p for p in found if not MAIN.search(lint.read(p))}
    return sorted(found)


def programs(makefile):
    """Each file with a main() is the source of a program."""
    return [f"Makefile.am: no program is made of {p}"
            for p in lint.files("src", ends=".c")
            if MAIN.search(lint.read(p))
            and not re.search(rf"_SOURCES =.*\b{re.escape(p)}", makefile)]


def same_names():
    """pytest imports its files by their names alone."""
    seen = {}
    for p in lint.files("test", ends=".py"):
        if os.path.basename(p).startswith("test_"):
            seen.setdefault(os.path.basename(p), []).append(p)
    return [f"{' and '.join(paths)}: pytest reads only the first"
            for paths in seen.values() if len(paths) > 1]


def block(name):
    return re.compile(rf"^{name} =((?:[^\n]*\\\n)*[^\n]*)\n", re.M)


def main():
    makefile = lint.read("Makefile.am")
    results, fixed = {}, makefile
    for name in PATTERNS:
        match = block(name).search(makefile)
        listed = match.group(1).replace("\\\n", " ").split() if match else []
        want = wanted(name, makefile)
        results[name] = (
            [f"Makefile.am: {name} lacks {p}" for p in want
             if p not in listed] +
            [f"Makefile.am: {name} has {p}, which is not there"
             for p in listed if p not in want])
        if not results[name] and listed != want:
            results[name] = [f"Makefile.am: {name} is not sorted"]
        lines = " \\\n\t".join([f"{name} ="] + want)
        fixed = block(name).sub(lambda _: lines + "\n", fixed)
    results["programs"] = programs(makefile)
    results["names of tests"] = same_names()
    if "--fix" in sys.argv[1:]:
        with open(os.path.join(lint.ROOT, "Makefile.am"), "w",
                  encoding="utf-8") as f:
            f.write(fixed)
        return
    lint.finish(results)


main()
