"""The workloads: each runs against one port and says what it got done.

SPDX-License-Identifier: ISC
"""
import os
import re
import subprocess
import tempfile
import time
from typing import Callable, NamedTuple, Optional

import login
from stand import PASSWORD

HOST = "127.0.0.1"
GRACE = 60          # seconds a client program may take beyond its time
COPY_ROUNDS = 3     # each is long


class Failure(Exception):
    """The workload did not get through the pooler without an error."""


class Done(NamedTuple):
    count: float    # units of work
    rate: float     # units per second
    latency: float  # milliseconds


NOTHING = Done(0, 0, 0)


class Workload(NamedTuple):
    unit: str
    run: Callable       # (port, seconds, rows) -> Done; 0 s: only start
    floor: Optional[str] = "floor"  # which of FLOORS says anything about it
    most_rounds: int = 1000


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
        cmd = ["pgbench", "-n", "-h", HOST, "-p", str(port), "-j", "1",
               *(["-T", str(seconds)] if seconds else ["-t", "1"]), *args]
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


class Rows:
    """The table's rows in a file, as COPY writes them, so often repeated."""

    def __init__(self, port, size):
        self.dir = tempfile.TemporaryDirectory(prefix="bench-")
        self.path = os.path.join(self.dir.name, "rows")
        psql(port, f"\\copy bench_table to '{self.path}'\n", GRACE)
        one = os.path.getsize(self.path)
        self.times = max(1, round(size / one))
        self.megabytes = self.times * one / 1e6

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.dir.cleanup()


def copy_once(port, script, rows):
    """One command, from beginning to end."""
    start = time.monotonic()
    psql(port, script, GRACE)
    spent = time.monotonic() - start
    return Done(rows.megabytes, rows.megabytes / spent, spent * 1e3)


def copy_out(port, seconds, rows):
    if not seconds:
        return NOTHING
    return copy_once(port, "\\copy (select b.* from bench_table b, "
                     f"generate_series(1, {rows.times})) to '/dev/null'\n",
                     rows)


def copy_in(port, seconds, rows):
    if not seconds:
        return NOTHING
    # The server parses every row and keeps none.
    many = " ".join([rows.path] * rows.times)
    return copy_once(port, f"\\copy bench_table from program 'cat {many}' "
                     "where false\n", rows)


def logins(user):
    """Logs in and leaves, one client at a time."""
    def run(port, seconds, _rows):
        if not seconds:
            return NOTHING
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


PIPELINE = "\\startpipeline\n" + "select 1;\n" * 10 + "\\endpipeline\n"

ROWS = "select * from bench_table limit 100000;\n"
BLOB = "select repeat('x', 1000000);\n"
TLS = {"PGSSLMODE": "require"}
SCRAM = {"PGUSER": "scram", "PGPASSWORD": PASSWORD}

# Each on its own clock, so that they stay together.
BURST = ("\\sleep 500 ms\n" + "select 1;\n" * 10)

# as sqlcommenter does it
TRACED = ("\\set aid random(1, 100000)\nselect abalance from "
          "pgbench_accounts where aid = :aid /*traceparent="
          "'00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'*/;\n")

WORKLOADS = {
    "simple50": Workload("tx", pgbench("-S", "-M", "simple", "-c", "50")),
    "traced50": Workload("tx", pgbench("-c", "50", script=TRACED),
                         floor=None),
    "simple1": Workload("tx", pgbench("-S", "-M", "simple", "-c", "1")),
    "extended50": Workload("tx", pgbench("-S", "-M", "extended", "-c", "50")),
    "prepared50": Workload("tx", pgbench("-S", "-M", "prepared", "-c", "50")),
    "tpcb20": Workload("tx", pgbench("-N", "-M", "simple", "-c", "20")),
    "pipeline20": Workload("tx", pgbench("-M", "extended", "-c", "20",
                                         script=PIPELINE)),
    "rows100k": Workload("tx", pgbench("-c", "2", script=ROWS)),
    "blob1m": Workload("tx", pgbench("-c", "2", script=BLOB)),
    "copyout": Workload("MB", copy_out, most_rounds=COPY_ROUNDS),
    "copyin": Workload("MB", copy_in, most_rounds=COPY_ROUNDS),
    "connect": Workload("tx", pgbench("-S", "-C", "-c", "8"),
                        floor="floor_pool"),
    "connect_scram": Workload("tx", pgbench("-S", "-C", "-c", "8", **SCRAM),
                              floor=None),
    "connect_tls": Workload("tx", pgbench("-S", "-C", "-c", "8", **TLS),
                            floor=None),
    "login": Workload("tx", logins("bench"), floor="floor_pool"),
    "scramlogin": Workload("tx", logins("scram"), floor=None),
    "steady20": Workload("tx", pgbench("-S", "-M", "prepared", "-c", "20",
                                       "-R", "2000"), floor=None),
    "burst200": Workload("tx", pgbench("-c", "200", script=BURST),
                         floor=None),
    "simple50_tls": Workload("tx", pgbench("-S", "-M", "simple", "-c", "50",
                                           **TLS), floor=None),
    "extended50_tls": Workload("tx", pgbench(
        "-S", "-M", "extended", "-c", "50", **TLS), floor=None),
    "rows100k_tls": Workload("tx", pgbench("-c", "2", script=ROWS, **TLS),
                             floor=None),
    "blob1m_tls": Workload("tx", pgbench("-c", "2", script=BLOB, **TLS),
                           floor=None),
}
