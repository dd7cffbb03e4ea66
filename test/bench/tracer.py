"""Counts the system calls of a running process, with strace.

SPDX-License-Identifier: ISC
"""
import contextlib
import re
import signal
import subprocess

from stand import StandError


def wait_for(text, pipe):
    for line in pipe:
        if text in line:
            return
    raise StandError(f"the tracer ended before it said {text!r}")


def parse(text):
    """[(calls, name)] of a table of strace -c."""
    rows = []
    for line in text.splitlines():
        m = re.match(r"\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(?:\d+\s+)?(\w+)$",
                     line)
        if m and m.group(2) != "total":
            rows.append((int(m.group(1)), m.group(2)))
    return sorted(rows, reverse=True)


@contextlib.contextmanager
def count_syscalls(pid, table):
    """While in the block; the list it gives is filled at its end."""
    rows = []
    with subprocess.Popen(["strace", "-c", "-f", "-o", table, "-p", str(pid)],
                          stderr=subprocess.PIPE, text=True) as tracer:
        try:
            wait_for("attached", tracer.stderr)
            yield rows
        finally:
            tracer.send_signal(signal.SIGINT)
            tracer.communicate()
    with open(table) as f:
        rows += parse(f.read())
