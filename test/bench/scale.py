"""Does a transaction cost more where there is much of something?

Each case runs the same work twice, on two processes of the same binary: one
as it is, and one with thousands of databases, pools, clients or statements.
SPDX-License-Identifier: ISC
"""
import contextlib
import os
import sys
import threading
import urllib.request
from typing import Callable, NamedTuple

import bench
import idle
from crowd import idle_cost, raise_limit, started
from stand import HERE, StandError, free_port, pq
from verdict import number
from workloads import WORKLOADS, Done, Failure, pgbench

BEGUN = pq.msg("Z", b"T")
BUSY = WORKLOADS["simple50"].run
PER_SECOND = 4000   # statements of a client, if all goes well
STATEMENTS = "max_prepared_statements = 2000\n"


def prepared(count):
    """Five clients, each of which goes through so many statements of its own;
    once to make them known, which is taken off, and then over and over."""
    script = "".join(f"select {n};\n" for n in range(count))

    def run(port, seconds, rows):
        times = 1 + seconds * PER_SECOND // count
        done = pgbench("-M", "prepared", "-c", "5", "-t", str(times),
                       script=script)(port, 0, rows)
        return Done(done.count * count, done.rate * count,
                    done.latency / count)
    return run


def waiting(port, seconds, rows):
    return pgbench("-S", "-c", "1020")(port, seconds * 3, rows)


# --- what there is much of ---------------------------------------------------

@contextlib.contextmanager
def with_pools(stand, pooler, count):
    """Databases and users, and a pool with a server for each pair."""
    for n in range(count):
        idle.connect(pooler.port, f"d{n}", user=f"u{n}").close()
    yield


@contextlib.contextmanager
def with_clients(stand, pooler, count):
    clients = []
    try:
        for _ in range(count):
            clients.append(idle.connect(pooler.port))
        yield
    finally:
        for c in clients:
            c.close()


@contextlib.contextmanager
def with_nothing(stand, pooler, count):
    yield


def many_pools(stand, count):
    """The configuration of with_pools(): (databases, settings)."""
    port = free_port()
    # as we are: the interpreter may be in somebody's home
    stand.spawn("stub", [sys.executable, os.path.join(HERE, "stub.py"),
                         str(port)], as_user={})
    stand.wait_ready("stub", port)
    users = stand.write("users.txt", '"bench" ""\n' + "".join(
        f'"u{n}" ""\n' for n in range(count)))
    return "".join(f"d{n} = host=127.0.0.1 port={port} dbname=bench\n"
                   for n in range(count)), f"auth_file = {users}\n"


@contextlib.contextmanager
def with_waiters(stand, pooler, count):
    """One client has the only server of a pool, and the others wait."""
    with contextlib.ExitStack() as stack:
        for n in range(count + 1):
            c = idle.connect(pooler.port, "narrow")
            stack.enter_context(c)
            c.sendall(pq.query("begin"))
            if n == 0:
                while not c.recv(4096).endswith(BEGUN):
                    pass
        yield


def one_server(stand, count):
    """The configuration of with_waiters()."""
    return f"narrow = host=127.0.0.1 port={stand.pg_port} dbname=bench " \
        "pool_size=1\n", "query_wait_timeout = 0\nquery_wait_notify = 0\n"


def many_statements(stand, count):
    return "", STATEMENTS


class Watched:
    """Whatever an operator may want to see. Histograms and probes are always
    there; their cost is in that of both."""

    def __init__(self, also=""):
        self.also = also

    def config(self, stand, count):
        self.port = free_port()
        return "", (f"http_listen_port = {self.port}\nlog_min_duration = 1\n"
                    + self.also)

    @contextlib.contextmanager
    def scraped(self, stand, pooler, count):
        """By so many, each once a second."""
        over = threading.Event()
        url = f"http://127.0.0.1:{self.port}/metrics"

        def scrape():
            while not over.wait(1):
                with urllib.request.urlopen(url) as r:
                    r.read()
        threads = [threading.Thread(target=scrape) for _ in range(count)]
        for t in threads:
            t.start()
        try:
            yield
        finally:
            over.set()
            for t in threads:
                t.join()


class Case(NamedTuple):
    count: int
    text: str
    holder: Callable = with_nothing
    config: Callable = lambda stand, count: ("", "")
    small: Callable = BUSY
    large: Callable = BUSY
    floor: bool = False     # what it costs the kernel, beside it


WATCHED = Watched()
TRACED = Watched("log_format = json\n")
CASES = {
    "scale_pools": Case(10000, "databases, users and pools", with_pools,
                        many_pools),
    "scale_idle": Case(10000, "idle clients", with_clients),
    "scale_waiting": Case(1000, "waiting clients", large=waiting,
                          floor=True),
    "scale_prepared": Case(1000, "prepared statements a client",
                           config=many_statements,
                           small=prepared(1), large=prepared(1000)),
    "watched": Case(1, "scrape a second, log_min_duration", WATCHED.scraped,
                    WATCHED.config),
    "traced": Case(1, "the same, JSON log, traceparent in each query",
                   TRACED.scraped, TRACED.config,
                   small=WORKLOADS["traced50"].run,
                   large=WORKLOADS["traced50"].run),
}


def run_of(pooler, work, seconds):
    def run(length):
        return work(pooler.port, length, None)
    return lambda: bench.one_round(pooler.pid, run, seconds)


@contextlib.contextmanager
def started_floor(stand):
    try:
        floor = bench.Pooler(*stand.start_floor("floor_pool", "scale-floor"))
        bench.warm_up(floor)
        yield floor
    finally:
        stand.stop("scale-floor")


def measure(stand, pooler, case, opt):
    """{small, large: row}, and what many of it cost when nobody works; of the
    kernel's part alone, if asked for: {floor_small, floor_large: row}."""
    name, path = pooler
    with started(stand, name, path, "small") as small, \
            contextlib.ExitStack() as stack:
        config = case.config(stand, case.count)
        large = stack.enter_context(
            started(stand, name, path, "large", *config))
        for p in (small, large):
            bench.warm_up(p)
        stack.enter_context(case.holder(stand, large, case.count))
        upkeep = idle_cost(large.pid)
        runs = {"small": run_of(small, case.small, opt.seconds),
                "large": run_of(large, case.large, opt.seconds)}
        if case.floor:
            floor = stack.enter_context(started_floor(stand))
            runs |= {"floor_small": run_of(floor, case.small, opt.seconds),
                     "floor_large": run_of(floor, case.large, opt.seconds)}
        got = bench.interleave(runs, opt.rounds)
    rows = bench.summarize(got, "small")
    rows |= bench.summarize({n: got[n] for n in got if n.startswith("floor")},
                            "floor_small")
    rows["large"]["upkeep"] = upkeep
    return rows


def print_case(figure, case, rows, verdicts):
    large = rows["large"]
    target = verdicts.target(figure)
    mark = verdicts.hold(figure, large["ratio"]) if "ratio" in large else ""
    if not mark:
        verdicts.fail(figure, (large["errors"] + rows["small"]["errors"])[0])
    print(f"  {case.count} {case.text}")
    bench.print_row("  few", rows["small"])
    bench.print_row("  many", large, number(target.limit), mark)
    for name, text in [("floor_small", "  floor, few"),
                       ("floor_large", "  floor, many")]:
        if name in rows:
            bench.print_row(text, rows[name])
    print(f"    {large['upkeep']:.2f} ms of CPU time a second when all are "
          "idle", flush=True)


def run_all(stand, binaries, opt, verdicts):
    """Of the subject only; prints the table, returns {figure: rows}."""
    raise_limit()
    result, subject = {}, dict(binaries)[opt.subject]
    print(f"\n{'scale':<18}{'CPU us/tx':>10}{'ratio':>7}{'90 %':>11}"
          f"{'target':>8}{'tx/s':>9}{'ms':>9}")
    for figure, case in CASES.items():
        try:
            rows = measure(stand, (opt.subject, subject), case, opt)
        except (OSError, StandError, Failure) as e:
            print(f"  {case.count} {case.text}: {e}")
            verdicts.fail(figure, str(e))
            continue
        result[figure] = rows
        print_case(figure, case, rows, verdicts)
        if figure == "scale_pools":
            verdicts.hold("pools_upkeep", rows["large"]["upkeep"])
    return result
