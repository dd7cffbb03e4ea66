#!/usr/bin/python3
# shared.py - every object of the process that may change is known (doc/workers.md).
# SPDX-License-Identifier: ISC
"""What is neither the stack's nor the heap's, and is not constant, is seen by all
threads. Reads where the objects of a build have their variables, and the list of
those that may be there, which says what keeps threads from one another. Without
a build there is nothing to read, and the test is skipped. `shared.py DIR` reads
that build."""
import glob
import os
import re
import subprocess
import sys

import lint

TABLE = "test/lint/shared"
WAYS = {"thread", "lock", "atomic", "main", "once", "tests"}
VARIABLE = re.compile(
    r"^\S+ .{7} (\.t?(?:data|bss)\S*)\s+\S+\s+(?:\.hidden )?(\S+)$")
OF_TOOLS = re.compile(r"^(\.|_*(asan|tsan|ubsan|odr|sanitizer)|Lubsan|__)")


def objects(build):
    """The newest of each source that is there, but for the companion command."""
    here = {os.path.splitext(path)[0] for path in lint.files("src")}
    newest = {}
    for path in sorted(glob.glob(os.path.join(build, "src", "*", "*.o")),
                       key=os.path.getmtime):
        rank, name = path.split(os.sep)[-2:]
        source = f"src/{rank}/{name[:-2].rpartition('-')[2]}"
        if source in here and rank != "ctl":
            newest[source + ".c"] = path
    return newest


def variables(path):
    """{name: is it of a thread} of what may change."""
    out = subprocess.run(["objdump", "-t", path], check=True, text=True,
                         capture_output=True).stdout
    found = {}
    for line in out.splitlines():
        match = VARIABLE.match(line)
        if not match or match[1].startswith(".data.rel.ro"):
            continue
        name = match[2].split(".")[0]
        if match[2] != match[1] and not OF_TOOLS.match(match[2]):
            found[name] = match[1].startswith(".t")
    return found


def known():
    """{(source, name): (way, where)}"""
    rows = {}
    for number, words, reason in lint.table(TABLE):
        if len(words) != 3 or words[2] not in WAYS or not reason:
            sys.exit(f"{TABLE}:{number}: want FILE OBJECT WAY # reason")
        rows[words[0], words[1]] = words[2], f"{TABLE}:{number}"
    return rows


def compare(build):
    rows = known()
    found = {(source, name): own for source, path in objects(build).items()
             for name, own in variables(path).items()}
    for source, name in sorted(found.keys() | rows.keys()):
        way, where = rows.get((source, name), (None, None))
        if way is None:
            yield (f"{source}: {name} may change, and {TABLE} does not say "
                   "what keeps two threads from it")
        elif (source, name) in found and \
                (way == "thread") != found[source, name]:
            yield f"{where}: {name} is {'not ' * (way == 'thread')}thread-local"
        elif (source, name) not in found and os.path.exists(
                os.path.join(build, source[:-1] + "o")):
            yield f"{where}: {source} has no such object that may change"


def main():
    build = sys.argv[1] if len(sys.argv) > 1 else os.getcwd()
    if not objects(build):
        print("1..0 # SKIP no objects here: run it in a build folder")
        return
    lint.finish({"shared": list(compare(build))})


main()
