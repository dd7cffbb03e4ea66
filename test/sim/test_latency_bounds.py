# test_latency_bounds.py - SHOW LATENCIES between what both ends have seen.
# SPDX-License-Identifier: ISC
"""A latency that only the pooler knows is longer than what lies within it and
shorter than what lies around it, and so is each percentile of many. Where the
peers take their time, the two are the same within a few per cent.
"""
import threading
import time

import pq
from harness import TIMEOUT
from percentiles import assert_exact

DELAYS = [0.02 * 1.12 ** n for n in range(20)]      # 20 to 172 ms


def clock():
    return time.perf_counter_ns() // 1000


def take(seconds):
    """What a peer does that is slow."""
    threading.Event().wait(seconds)


def at_once(work):
    """work(n) for each of DELAYS, in a thread each; [(least, most)], in us"""
    took = [None] * len(DELAYS)

    def run(n):
        took[n] = work(n)
    threads = [threading.Thread(target=run, args=(n,))
               for n in range(len(DELAYS))]
    for t in threads:
        t.start()
    for t in threads:
        t.join(TIMEOUT)
    return map(list, zip(*took))


def latency(p, what, database=None):
    row, = [r for r in p.admin("show latencies")
            if r["latency"] == what and r["database"] == database]
    return row


def test_time_to_connect_is_what_the_server_takes(pooler, fakepg):
    """from the connection to its last word; and what a client sees of it"""
    within = {}

    def on_login(session):
        began, name = clock(), session.startup["database"]
        take(DELAYS[int(name[1:])])
        within[name] = clock() - began

    server = fakepg(on_login=on_login)
    names = ["d%d" % n for n in range(len(DELAYS))]
    p = pooler({"p0": "", **{name: server.conn for name in names}})

    def work(n):
        began = clock()
        p.raw(database=names[n])
        return within[names[n]], clock() - began
    low, high = at_once(work)
    assert_exact(latency(p, "server connect"), low, high)


def test_time_of_a_login_is_what_the_client_takes(pooler, fakepg):
    p = pooler({"p0": fakepg().conn})

    def work(n):
        began = clock()
        c = p.open()
        c.send(pq.untyped(pq.SSL_REQUEST))
        assert c.recv_bytes(1) == b"N"
        accepted = clock()
        take(DELAYS[n])
        within = clock() - accepted
        c.login("app", database="p0")
        return within, clock() - began
    low, high = at_once(work)
    assert_exact(latency(p, "client login", "p0"), low, high)


def test_time_of_a_transaction_is_what_its_client_takes(pooler, fakepg):
    p = pooler({"p0": fakepg().conn}, default_pool_size=len(DELAYS))

    def work(n):
        c = p.raw()
        began = clock()
        c.query("begin")
        begun = clock()
        take(DELAYS[n])
        within = clock() - begun
        c.query("commit")
        return within, clock() - began
    low, high = at_once(work)
    assert_exact(latency(p, "transaction"), low, high)
