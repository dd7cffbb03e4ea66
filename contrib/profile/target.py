# target.py - which process is looked at.
# SPDX-License-Identifier: ISC
import os

from perf import Refused

CANDIDATES = 8      # named when there are several


def read_proc(pid, name):
    try:
        with open(f"/proc/{pid}/{name}", "rb") as f:
            return f.read(4095).decode(errors="surrogateescape")
    except OSError:
        return ""


def program_of(pid):
    """The program of pid; if we may not know, the process's own name."""
    name = read_proc(pid, "comm").split("\n")[0]
    if name == "pgsluice-runner":   # the same program, for commands
        return name
    try:
        path = os.readlink(f"/proc/{pid}/exe")
    except OSError:
        return name[:63]
    return path.split(" (deleted)")[0].rpartition("/")[2][:63]


def command_of(pid):
    """Its arguments with blanks between; empty: none, or it is gone."""
    return read_proc(pid, "cmdline").rstrip("\0").replace("\0", " ")


def is_name(name):
    """The pooler's program, and none of its companions?"""
    # our replacement of the package pgbouncer goes by its name
    return name == "pgbouncer" or (
        name.startswith("pgsluice") and
        not name.startswith(("pgsluicectl", "pgsluice-runner")))


def lives(pid):
    # an ended process may wait for its parent to notice: state Z
    _, mark, behind = read_proc(pid, "stat").rpartition(")")
    return bool(mark) and behind[:2] not in (" Z", " X")


def take(pid, source=None):
    if not lives(pid):
        raise Refused(f"no process {pid}" + (
            f", which is what is in {source}" if source else ""))
    return pid


def by_pidfile(path):
    try:
        with open(path, "rb") as f:
            text = f.read(31).split(b"\n")[0].decode(errors="replace")
    except OSError as e:
        raise Refused(f'could not read the pidfile "{path}": '
                      f"{e.strerror}") from e
    if not (text.isascii() and text.isdigit()) or \
            not 0 < int(text) < 2**31:
        raise Refused(f'no number in "{path}"')
    return take(int(text), path)


def by_looking(pattern):
    """The only one whose command line has the pattern in it, or at all."""
    found = [(pid, command_of(pid)) for pid in map(
        int, filter(str.isdigit, os.listdir("/proc")))
        if is_name(program_of(pid)) and lives(pid)]
    found = [(pid, command) for pid, command in found
             if command and (pattern or "") in command]
    if not found:
        raise Refused("no pgsluice runs" + (
            " whose command line has the pattern in it" if pattern is not None
            else ""))
    if len(found) > 1:
        lines = [f"\n  {pid}  {command[:79]}"
                 for pid, command in found[:CANDIDATES]]
        if len(found) > CANDIDATES:
            lines.append(f"\n  and {len(found) - CANDIDATES} more")
        raise Refused(f"{len(found)} processes: choose one by --pid, --config "
                      "or --pattern" + "".join(lines))
    return found[0][0]


def find(pid, pidfile, pattern):
    if pid:
        return take(pid)
    return by_pidfile(pidfile) if pidfile else by_looking(pattern)
