"""CPU time and memory of a process with all its threads and children.

SPDX-License-Identifier: ISC
"""
import os


def tree(pid):
    """The pid and those of all its descendants."""
    found, todo = [], [pid]
    while todo:
        p = todo.pop()
        found.append(p)
        try:
            for t in os.listdir(f"/proc/{p}/task"):
                with open(f"/proc/{p}/task/{t}/children") as f:
                    todo += [int(c) for c in f.read().split()]
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


def alive(pid):
    """A zombie is not alive: its CPU time can no longer grow."""
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def cpu_ns(pid):
    """User and system time so far, in nanoseconds, of the living threads."""
    total = 0
    for p in tree(pid):
        try:
            for t in os.listdir(f"/proc/{p}/task"):
                with open(f"/proc/{p}/task/{t}/schedstat") as f:
                    total += int(f.read().split()[0])
        except (FileNotFoundError, ProcessLookupError):
            continue
    return total


def memory(pid):
    """(resident, anonymous) bytes."""
    kib = {"Rss:": 0, "Anonymous:": 0}
    for p in tree(pid):
        with open(f"/proc/{p}/smaps_rollup") as f:
            for line in f:
                fields = line.split()
                if fields[0] in kib:
                    kib[fields[0]] += int(fields[1])
    return kib["Rss:"] * 1024, kib["Anonymous:"] * 1024
