"""The workloads: each runs against one port and says what it got done.

SPDX-License-Identifier: ISC
"""
import os
import re
import subprocess
import tempfile
import time
from typing import Callable, NamedTuple

import idle
import login
from stand import PASSWORD

HOST = "127.0.0.1"
GRACE = 60          # seconds a client program may take beyond its time
COPIES = 10         # COPY commands per psql
IDLE_CLIENTS = 2000


class Failure(Exception):
    """The workload did not get through the pooler without an error."""


class Done(NamedTuple):
    count: float    # units of work
    rate: float     # units per second
    latency: float  # milliseconds


class Workload(NamedTuple):
    unit: str
    run: Callable   # (port, seconds, rows) -> Done


def call(cmd, seconds, env=()):
    try:
        r = subprocess.run(cmd, capture_output=True, text=True,
                           stdin=subprocess.DEVNULL, timeout=seconds + GRACE,
                           env=os.environ | {"PGSSLMODE": "disable"}
                           | dict(env))
    except subprocess.TimeoutExpired:
        raise Failure(f"{cmd[0]} was still running {GRACE} s after its time")
    if r.returncode != 0:
        lines = [s for s in r.stderr.splitlines() if "ERROR" in s or
                 "error" in s] or r.stderr.splitlines() or ["no message"]
        raise Failure(lines[0].strip()[:160])
    return r.stdout


def script_file(text):
    f = tempfile.NamedTemporaryFile("w", prefix="bench-", suffix=".sql")
    f.write(text)
    f.flush()
    return f


def pgbench(*args, script=None, **env):
    def run(port, seconds, _rows):
        cmd = ["pgbench", "-n", "-h", HOST, "-p", str(port),
               "-T", str(seconds), "-j", "1", *args]
        if script is None:
            return pgbench_result(call(cmd, seconds, env))
        with script_file(script) as f:
            return pgbench_result(call([*cmd, "-f", f.name], seconds, env))
    return run


def pgbench_result(out):
    def number(pattern):
        m = re.search(pattern, out)
        return float(m.group(1)) if m else 0.0

    if number(r"number of failed transactions: (\d+)"):
        raise Failure("pgbench counted failed transactions")
    count = number(r"transactions actually processed: (\d+)")
    if not count:
        raise Failure("no transaction was processed")
    return Done(count, number(r"tps = ([\d.]+)"),
                number(r"latency average = ([\d.]+) ms"))


def psql(port, script, seconds):
    with script_file(script) as f:
        call(["psql", "-X", "-q", "-h", HOST, "-p", str(port),
              "-v", "ON_ERROR_STOP=1", "-f", f.name], seconds)


def copy_for(port, script, size, seconds):
    """Repeats a script of COPIES commands; counts megabytes of copied data."""
    start, rounds, spent = time.monotonic(), 0, 0.0
    while spent < seconds:
        psql(port, script, seconds)
        rounds += 1
        spent = time.monotonic() - start
    megabytes = rounds * COPIES * size / 1e6
    return Done(megabytes, megabytes / spent, spent * 1e3 / rounds / COPIES)


class Rows:
    """The table's rows in a file, as COPY writes them."""

    def __init__(self, port):
        self.dir = tempfile.TemporaryDirectory(prefix="bench-")
        self.path = os.path.join(self.dir.name, "rows")
        psql(port, f"\\copy bench_table to '{self.path}'\n", GRACE)
        self.size = os.path.getsize(self.path)


def copy_out(port, seconds, rows):
    script = "\\copy bench_table to '/dev/null'\n" * COPIES
    return copy_for(port, script, rows.size, seconds)


def copy_in(port, seconds, rows):
    # The server parses every row and keeps none.
    script = f"\\copy bench_table from '{rows.path}' where false\n" * COPIES
    return copy_for(port, script, rows.size, seconds)


def logins(user):
    """Logs in and leaves, one client at a time."""
    def run(port, seconds, _rows):
        client, count = login.Client(port, user, PASSWORD), 0
        try:
            client.login()      # may have to wait for a first server
            start = time.monotonic()
            while (spent := time.monotonic() - start) < seconds:
                client.login()
                count += 1
        except OSError as e:
            raise Failure(str(e)[:160])
        return Done(count, count / spent, spent * 1e3 / max(count, 1))
    return run


def idle_memory(port, pid):
    """Resident bytes per idle client."""
    try:
        return idle.measure(port, pid, IDLE_CLIENTS)[0]
    except OSError as e:
        raise Failure(str(e)[:160])


PIPELINE = "\\startpipeline\n" + "select 1;\n" * 10 + "\\endpipeline\n"

WORKLOADS = {
    "simple50": Workload("tx", pgbench("-S", "-M", "simple", "-c", "50")),
    "simple1": Workload("tx", pgbench("-S", "-M", "simple", "-c", "1")),
    "extended50": Workload("tx", pgbench("-S", "-M", "extended", "-c", "50")),
    "prepared50": Workload("tx", pgbench("-S", "-M", "prepared", "-c", "50")),
    "tpcb20": Workload("tx", pgbench("-N", "-M", "simple", "-c", "20")),
    "pipeline20": Workload("tx", pgbench("-M", "extended", "-c", "20",
                                         script=PIPELINE)),
    "connect": Workload("tx", pgbench("-S", "-C", "-M", "simple",
                                      "-c", "8")),
    "connect_scram": Workload("tx", pgbench(
        "-S", "-C", "-M", "simple", "-c", "8", PGUSER="scram",
        PGPASSWORD=PASSWORD)),
    "connect_tls": Workload("tx", pgbench(
        "-S", "-C", "-M", "simple", "-c", "8", PGSSLMODE="require")),
    "simple50_tls": Workload("tx", pgbench(
        "-S", "-M", "simple", "-c", "50", PGSSLMODE="require")),
    "extended50_tls": Workload("tx", pgbench(
        "-S", "-M", "extended", "-c", "50", PGSSLMODE="require")),
    "rows100k_tls": Workload("tx", pgbench(
        "-M", "simple", "-c", "2", PGSSLMODE="require",
        script="select * from bench_table limit 100000;\n")),
    "login": Workload("tx", logins("bench")),
    "scramlogin": Workload("tx", logins("scram")),
    "rows100k": Workload("tx", pgbench(
        "-M", "simple", "-c", "2",
        script="select * from bench_table limit 100000;\n")),
    "blob1m": Workload("tx", pgbench(
        "-M", "simple", "-c", "2",
        script="select repeat('x', 1000000);\n")),
    "copyout": Workload("MB", copy_out),
    "copyin": Workload("MB", copy_in),
}
