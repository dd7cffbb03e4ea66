"""What idle clients cost: memory, and the work of those who are busy.

Each figure is of a process of its own, as poolers keep the memory they have
had.  SPDX-License-Identifier: ISC
"""
import contextlib
import resource
import time

import bench
import idle
import proc
from stand import StandError
from verdict import number
from workloads import WORKLOADS, Failure

IDLE_CLIENTS = 2000     # to measure memory
CROWD = 18000           # beside those who are busy
SPARE = 1500            # descriptors for the rest
WATCHED = 3             # seconds
BUSY = WORKLOADS["simple50"]
SETTINGS = ";".join(f"SET {name} = '{value}'" for name, value in {
    "work_mem": "8MB", "search_path": "public, pg_catalog",
    "statement_timeout": "1min", "lock_timeout": "10s",
    "idle_in_transaction_session_timeout": "1min", "jit": "off",
    "random_page_cost": "1.1", "enable_seqscan": "on",
    "app.tenant": "seventeen", "app.request": "none"}.items())


def raise_limit():
    """As many descriptors as there may be, for us and whom we start."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


@contextlib.contextmanager
def started(stand, name, path, label, *config):
    """A pooler for the time of the block."""
    try:
        yield bench.Pooler(*stand.start_pooler(f"{name}-{label}", path,
                                               (), *config))
    finally:
        stand.stop(f"{name}-{label}")


def memory(stand, binaries, opt, verdicts, figure, tls, say=None):
    """Resident bytes per idle client. What is said, others can't keep."""
    target, rows = verdicts.target(figure), {}
    print(f"\n{figure:<18}{'B/client':>10}{'target':>8}   "
          f"({IDLE_CLIENTS} clients, resident memory)")
    for name, path in binaries:
        if say and name != opt.subject:
            continue
        try:
            with started(stand, name, path, figure, "",
                         "session_state = keep\n" if say else "") as p:
                size = idle.measure(p.port, p.pid, IDLE_CLIENTS, tls, say)[0]
        except (OSError, StandError) as e:
            print(f"  {name:<16}{'-':>10}  {e}")
            rows[name] = {"errors": [str(e)]}
            if name == opt.subject:
                verdicts.fail(figure, str(e))
            continue
        rows[name] = {"bytes": size}
        mine = name == opt.subject
        print(f"  {name:<16}{size:>10.0f}"
              f"{number(target.limit) if mine else '':>8}"
              f"{verdicts.hold(figure, size) if mine else ''}", flush=True)
    if target.reference:
        print(f"  (PgBouncer 1.25.2 in an earlier run: "
              f"{target.reference:.0f})")
    return rows


def idle_cost(pid):
    """CPU time per second, in ms, of a pooler whose clients do nothing."""
    start, before = time.monotonic(), proc.cpu_ns(pid)
    time.sleep(WATCHED)
    return (proc.cpu_ns(pid) - before) / 1e6 / (time.monotonic() - start)


def busy_beside(stand, pooler, opt, count):
    """Two processes, one with a crowd; the same work for both."""
    name, path = pooler
    clients = []
    with started(stand, name, path, "alone") as alone, \
            started(stand, name, path, "crowd") as crowded:
        try:
            for p in (alone, crowded):
                bench.warm_up(p)
            clients += [idle.connect(crowded.port) for _ in range(count)]
            upkeep = idle_cost(crowded.pid)
            rows = bench.summarize(bench.interleave({
                "alone": bench.work_run(alone, BUSY, opt.seconds, None),
                "crowd": bench.work_run(crowded, BUSY, opt.seconds, None)},
                opt.rounds), "alone")
            rows["crowd"]["upkeep"] = upkeep
            return rows
        finally:
            for c in clients:
                c.close()


def print_crowd(name, rows, opt, verdicts):
    mine = name == opt.subject
    for label, row in rows.items():
        mark = ""
        if mine and label == "crowd" and "ratio" in row:
            mark = verdicts.hold("crowd", row["ratio"])
        limit = number(verdicts.target("crowd").limit) if mark else ""
        bench.print_row(f"{name} {label}", row, limit, mark)
    if mine and "rate" in rows["crowd"] and "rate" in rows["alone"]:
        verdicts.hold("crowd_speed",
                      rows["alone"]["rate"] / rows["crowd"]["rate"])
    if mine:
        verdicts.hold("crowd_upkeep", rows["crowd"]["upkeep"])
    print(f"    {rows['crowd']['upkeep']:.2f} ms of CPU time a second when "
          "all are idle", flush=True)


def run_crowd(stand, binaries, opt, verdicts):
    """50 busy clients, with and without a crowd of idle ones."""
    count = min(opt.crowd, raise_limit() - SPARE)
    print(f"\n{f'beside {count} idle':<18}{'CPU us/tx':>10}{'ratio':>7}"
          f"{'90 %':>11}{'target':>8}{'tx/s':>9}{'ms':>9}")
    result = {}
    for pooler in binaries:
        try:
            rows = busy_beside(stand, pooler, opt, count)
        except (OSError, StandError, Failure) as e:
            print(f"  {pooler[0]:<16}{'-':>10}  {e}")
            result[pooler[0]] = {"errors": [str(e)]}
            if pooler[0] == opt.subject:
                verdicts.fail("crowd", str(e))
            continue
        result[pooler[0]] = rows
        print_crowd(pooler[0], rows, opt, verdicts)
    return result | {"count": count}


def run_all(stand, binaries, opt, verdicts):
    """Prints the tables; returns {figure: {pooler: row}}."""
    raise_limit()
    return {
        "idle": memory(stand, binaries, opt, verdicts, "idle", None),
        "idle_tls": memory(stand, binaries, opt, verdicts, "idle_tls",
                           idle.tls_context()),
        "idle_settings": memory(stand, binaries, opt, verdicts,
                                "idle_settings", None, SETTINGS),
        "crowd": run_crowd(stand, binaries, opt, verdicts),
    }
