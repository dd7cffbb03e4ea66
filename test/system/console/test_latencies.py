# test_latencies.py - SHOW LATENCIES: what takes how long.
# SPDX-License-Identifier: ISC
import random
import re

import pytest

import pq
from harness import REFERENCE, wait_until
from percentiles import assert_exact

pytestmark = pytest.mark.skipif(REFERENCE, reason="has none")

RANKS = ["p50_us", "p90_us", "p95_us", "p99_us", "p999_us", "max_us"]


def latencies(p, database="p0", user="app"):
    """{latency: {column: number}}"""
    return {r["latency"]: {k: int(v) for k, v in r.items()
                           if k.endswith("_us") or k.endswith("count")}
            for r in p.show("latencies", database=database, user=user)}


def test_each_kind_is_counted_where_it_happens(pooler):
    p = pooler()
    c = p.raw()
    for _ in range(20):
        c.query("select 1")
    c.query("select pg_sleep(0.2)")
    c.query("begin")
    c.query("select 1")
    c.query("commit")
    seen = latencies(p)
    assert {k: v["total_count"] for k, v in seen.items()} == {
        "wait": 22, "query": 24, "transaction": 22, "client login": 1,
        "server connect": 1}
    query = seen["query"]
    assert 200000 <= query["total_max_us"] * 1.05
    assert query["total_p50_us"] < query["total_max_us"]
    for row in seen.values():
        ranks = [row["total_" + r] for r in RANKS]
        assert ranks == sorted(ranks)
    # what never happened has no row
    assert latencies(p, "p1") == {}


def test_who_waits_is_seen(pooler):
    p = pooler(default_pool_size=1)
    holder, waiter = p.raw(), p.raw()
    for _ in range(4):
        holder.query("select 1")
    holder.query("begin")
    waiter.send(b"Q\0\0\0\x0dselect 1\0")
    p.wait_pool(cl_waiting=1)
    wait_until(lambda: p.pool()["wait_us"] >= 100000, what="a long wait")
    holder.query("commit")
    waiter.recv_until().check()
    wait = latencies(p)["wait"]
    assert wait["total_max_us"] >= 100000
    assert wait["total_p50_us"] < wait["total_max_us"]


@pytest.mark.setting("stats_period")
def test_period_is_told_when_it_is_over(pooler):
    p = pooler(stats_period=1)
    with p.raw() as c:
        for _ in range(30):
            c.query("select 1")
    seen = []

    def told():
        seen.append(latencies(p)["query"]["count"])
        return seen[-1] > 0
    wait_until(told, what="the end of the period")
    wait_until(lambda: latencies(p)["query"]["count"] == 0,
               what="a period in which nothing happened")
    row = latencies(p)["query"]
    assert row["total_count"] == 30 and row["max_us"] == 0
    assert row["total_max_us"] > 0


def test_sum_outlives_its_pools(pooler):
    p = pooler()
    for name in ("p0", "p1"):
        with p.raw(database=name) as c:
            c.query("select 1")
    assert latencies(p, None, None)["query"]["total_count"] == 2
    del p.dbs["p1"]
    p.reload()
    assert latencies(p, "p1") == {}
    assert latencies(p, None, None)["query"]["total_count"] == 2


def test_asked_for_by_name(pooler):
    p = pooler()
    p.raw().query("select 1")
    rows = p.console().query(
        "select total_p99_us from latencies where database = 'p0' and "
        "latency = 'query'").rows
    assert len(rows) == 1 and int(rows[0][0]) > 0


def test_percentiles_are_those_of_the_clients(pooler):
    """ten sleeps of 10 ms, one of 100: both are found again"""
    p = pooler()
    with p.raw() as c:
        for ms in [10] * 10 + [100]:
            c.query(f"select pg_sleep({ms / 1000})")
    row = latencies(p)["query"]
    assert row["total_p50_us"] >= 9500
    assert row["total_p999_us"] >= 95000


# --- against the exact ones -----------------------------------------------

SLOW = re.compile(r"slow query: wait (\d+)\.(\d{3}) ms, run (\d+)\.(\d{3}) ms")


def test_percentiles_are_the_exact_ones_of_a_run(pooler):
    """the slow log has the time of each query, to the microsecond"""
    p = pooler(default_pool_size=3, log_min_duration=0.000001)
    clients = [p.raw() for _ in range(10)]
    rand = random.Random(17)
    sleeps = [rand.lognormvariate(-6.5, 1.2) for _ in range(150)]
    while sleeps:
        busy = [(c, sleeps.pop()) for c in clients if sleeps]
        for c, seconds in busy:
            c.send(pq.query("select pg_sleep(%.6f)" % min(seconds, 0.1)))
        for c, _ in busy:
            c.recv_until().check()
    p.wait_log(SLOW.pattern, count=150)
    lines = [tuple(map(int, m)) for m in SLOW.findall(p.log)]
    waits = [ms * 1000 + us for ms, us, *_ in lines]
    queries = [w + ms * 1000 + us for w, (*_, ms, us) in zip(waits, lines)]
    seen = latencies(p)
    assert_exact(seen["wait"], waits)
    assert_exact(seen["query"], queries)
    assert_exact(seen["transaction"], queries)
    assert max(waits) > 0
