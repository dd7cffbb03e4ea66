"""What people do with a pooler: latencies, bursts, and the serverless pattern.

Here it is the client's view that counts, and PostgreSQL itself is one of those
compared.  SPDX-License-Identifier: ISC
"""
import asyncio
import glob
import os
import statistics
import struct
import tempfile
import time
from typing import Callable, NamedTuple

from stand import FLOORS, SMALL_ROLES
from workloads import HOST, Failure, call, pgbench_result

QUERY = b"select abalance from pgbench_accounts where aid = 7"
SAMPLE = 0.05   # seconds between two looks at pg_stat_activity
PACE_CLIENTS = 200  # enough for a rate, however late some are


def percentile(values, share):
    """Of a sorted list."""
    return values[min(len(values) - 1, int(len(values) * share))]


# --- a client of a few lines, so that the poolers are what is measured -------

def message(kind, body):
    return kind + struct.pack("!i", len(body) + 4) + body


def start_up(user):
    body = struct.pack("!i", 196608) + \
        b"user\0%s\0database\0bench\0\0" % user.encode()
    return struct.pack("!i", len(body) + 4) + body


async def until_ready(reader):
    while True:
        head = await reader.readexactly(5)
        body = await reader.readexactly(int.from_bytes(head[1:], "big") - 4)
        if head[:1] == b"E":
            raise ConnectionError(body.replace(b"\0", b" ").decode())
        if head[:1] == b"Z":
            return


async def request(port, user, timeout=30):
    """Connect, one query, go; seconds, or None when it failed."""
    start, writer = time.monotonic(), None
    try:
        async with asyncio.timeout(timeout):
            reader, writer = await asyncio.open_connection(HOST, port)
            writer.write(start_up(user))
            await until_ready(reader)
            writer.write(message(b"Q", QUERY + b"\0"))
            await until_ready(reader)
            writer.write(message(b"X", b""))
        return time.monotonic() - start
    except (OSError, EOFError, TimeoutError):
        return None
    finally:
        if writer:
            writer.close()


class Backends:
    """The most server connections of a role that were seen at once."""

    def __init__(self, at):
        self.at, self.most = at, 0

    async def watch(self):
        reader, writer = await asyncio.open_connection(
            HOST, self.at.pg_port)
        writer.write(start_up("bench"))
        await until_ready(reader)
        sql = (f"select count(*) from pg_stat_activity where "
               f"usename = '{self.at.role}'").encode()
        try:
            while True:
                writer.write(message(b"Q", sql + b"\0"))
                self.most = max(self.most, await self.number(reader))
                await asyncio.sleep(SAMPLE)
        finally:
            writer.close()

    @staticmethod
    async def number(reader):
        found = 0
        while True:
            head = await reader.readexactly(5)
            body = await reader.readexactly(
                int.from_bytes(head[1:], "big") - 4)
            if head[:1] == b"D":
                found = int(body[6:])
            if head[:1] == b"Z":
                return found


def summary(times, backends):
    done = sorted(t * 1e3 for t in times if t is not None)
    row = {"requests": len(times), "failed": len(times) - len(done),
           "servers": backends}
    if done:
        row |= {"median": statistics.median(done),
                "mean": statistics.fmean(done),
                "p99": percentile(done, 0.99), "longest": done[-1]}
    return row


async def watched(at, work):
    """What work() gives, and the most server connections meanwhile."""
    backends = Backends(at)
    watcher = asyncio.create_task(backends.watch())
    try:
        return await work(), backends.most
    finally:
        watcher.cancel()
        await asyncio.gather(watcher, return_exceptions=True)


# --- the scenarios -------------------------------------------------------------

def serverless(at, count, seconds):
    """So many connect, ask, go, and come again."""
    async def worker(times, end):
        while time.monotonic() < end:
            t = await request(at.port, at.role)
            times.append(t)
            if t is None:       # as a client would back off
                await asyncio.sleep(0.05)

    async def crowd():
        times, end = [], time.monotonic() + seconds
        await asyncio.gather(*(worker(times, end) for _ in range(count)))
        return times

    return summary(*asyncio.run(watched(at, crowd)))


def burst(at, count, _seconds):
    """All at once, out of nothing."""
    async def crowd():
        return await asyncio.gather(*(request(at.port, at.role, 60)
                                      for _ in range(count)))

    return summary(*asyncio.run(watched(at, crowd)))


def read_latencies(folder):
    """Milliseconds, sorted, from pgbench's transaction logs."""
    found = []
    for path in glob.glob(os.path.join(folder, "log.*")):
        with open(path) as f:
            found += [int(line.split()[2]) / 1e3 for line in f]
    return sorted(found)


def timed(at, seconds, *args):
    """What pgbench does, and how long each transaction takes."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        try:
            rate = pgbench_result(call(
                ["pgbench", "-n", "-S", "-h", HOST, "-p", str(at.port),
                 "-T", str(seconds), "-l", f"--log-prefix={folder}/log",
                 *args], seconds)).rate
        except Failure as e:
            return {"error": str(e)}
        ms = read_latencies(folder)
    row = {"rate": rate, "p50": percentile(ms, 0.5),
           "p99": percentile(ms, 0.99), "p999": percentile(ms, 0.999)}
    return row | {"p99/p50": row["p99"] / row["p50"]}


def latency(at, count, seconds):
    """Of single transactions under a steady load."""
    return timed(at, seconds + count // 400,    # to connect them
                 "-c", str(count), "-j", str(min(count, 2)))


def pace(at, rate, seconds):
    """
    An open loop: transactions are due at a fixed rate, whether those before are
    done or not. A latency counts from when its transaction was due, so one that
    is late makes those behind it late, too (no coordinated omission).
    """
    return timed(at, seconds + 1, "-c", str(PACE_CLIENTS), "-j", "2",
                 "-R", str(rate))


class Target(NamedTuple):
    """One of those compared."""
    name: str
    port: int
    role: str       # small, of its own
    pg_port: int


class Scenario(NamedTuple):
    run: Callable   # (target, count, seconds) -> row
    of: str         # what count counts
    counts: tuple
    columns: tuple
    repeated: bool  # rounds, of which the medians count
    judged: str = ""    # the column held against another one's; else failures
    floor: bool = False     # beside the floor relay, too


REQUESTS = ("requests", "failed", "median", "mean", "p99", "longest",
            "servers")
SCENARIOS = {
    "latency": Scenario(latency, "clients", (1, 20, 200, 2000),
                        ("rate", "p50", "p99", "p999", "p99/p50"), True,
                        "p99/p50"),
    "pace": Scenario(pace, "a second", (1000, 4000),
                     ("rate", "p50", "p99", "p999"), True, "p99", True),
    "burst": Scenario(burst, "clients", (100, 1000), REQUESTS, True),
    "storm": Scenario(serverless, "workers", (500,), REQUESTS, False),
    "serverless": Scenario(serverless, "workers", (5, 10, 25, 50, 75, 100),
                           REQUESTS, False),
}


def middle(rows):
    """The medians; of what may not happen at all, the sum."""
    ok = [r for r in rows if "error" not in r]
    if not ok:
        return rows[0]
    row = {k: statistics.median(r[k] for r in ok) for k in ok[0]
           if all(k in r for r in ok)}
    if "failed" in row:
        row["failed"] = sum(r["failed"] for r in ok)
        row["requests"] = sum(r["requests"] for r in ok)
    return row | {"rounds": rows}


def cell(value):
    if value is None:
        return f"{'-':>10}"
    return f"{value:>10.2f}" if isinstance(value, float) else f"{value:>10}"


def print_row(name, count, row, columns, mark=""):
    if "error" in row:
        print(f"  {name:<12}{count:>8}  {row['error']}")
        return
    cells = "".join(cell(row.get(c)) for c in columns)
    print(f"  {name:<12}{count:>8}{cells}{mark}", flush=True)


def judge(scenario, count, rows, opt, verdicts):
    """How the subject stands; its mark."""
    mine, key = rows.get(opt.subject, {}), SCENARIOS[scenario].judged
    if not key:
        return note_failed(scenario, mine, verdicts)
    figure = f"{scenario}{count}"
    base = verdicts.target(figure).base
    pairs = [a[key] / b[key] for a, b in
             zip(mine.get("rounds", []), rows.get(base, {}).get("rounds", []))
             if "error" not in a and "error" not in b]
    if not pairs:
        verdicts.fail(figure, mine.get("error", f"no {base}"))
        return ""
    return verdicts.hold(figure, statistics.median(pairs))


def note_failed(figure, row, verdicts):
    """Over all counts of the scenario."""
    name = figure + "_failed"
    before = verdicts.found.get(name, 0)
    return verdicts.hold(name, before + row.get("failed", 0))


def run_count(s, count, targets, opt):
    """{name: row} for one number of clients, rounds interleaved."""
    got = {t.name: [] for t in targets}
    for i in range(opt.tail_rounds if s.repeated else 1):
        k = i % len(targets)
        for t in targets[k:] + targets[:k]:
            got[t.name].append(s.run(t, count, opt.tail_seconds))
    return {name: middle(rows) for name, rows in got.items()}


def run_all(stand, poolers, opt, verdicts):
    """Prints the tables; returns {scenario: {pooler: {count: row}}}."""
    compared = [("postgres", stand.pg_port)] + [
        (p.name, p.port) for p in poolers if p.name not in FLOORS]
    floor = [(p.name, p.port) for p in poolers if p.name == "floor"]
    result = {}
    for name in (p for p in opt.parts if p in SCENARIOS):
        s = SCENARIOS[name]
        targets = [Target(*of, role, stand.pg_port) for of, role
                   in zip(compared + floor * s.floor,
                          SMALL_ROLES.get(name, [""] * 9), strict=False)]
        got = result[name] = {t.name: {} for t in targets}
        print(f"\n{name + ', ms':<14}{s.of:>8}" +
              "".join(f"{c:>10}" for c in s.columns))
        for count in s.counts:
            rows = run_count(s, count, targets, opt)
            mark = judge(name, count, rows, opt, verdicts)
            for t, row in rows.items():
                got[t][count] = row
                print_row(t, count, row, s.columns,
                          mark if t == opt.subject else "")
    return result
