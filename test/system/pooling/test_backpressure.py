# test_backpressure.py - peers that stop reading cost no memory.
# SPDX-License-Identifier: ISC
import threading
import time

import pytest

import pq
from harness import ASAN, BIG, TIMEOUT, wait_until

MB = 1 << 20
TOTAL = (1024 if BIG else 200) * MB
LIMIT = (200 if ASAN else 10) * MB
KERNEL = 256 << 10


def burst(c, n=300):
    """Seconds for n small queries."""
    start = time.monotonic()
    for i in range(n):
        assert c.value("select %d" % i) == str(i)
    return time.monotonic() - start


def server_waits(pg, event):
    return pg.sql("select count(*) from pg_stat_activity where "
                  "usename='app' and state='active' and wait_event=%s",
                  args=(event,))[0][0] > 0


def assert_no_spin(p, pg):
    """A blocked pair costs no CPU time."""
    before, start = p.cpu(), time.monotonic()
    pg.sql("select pg_sleep(1)")
    assert p.cpu() - before < 0.3 * (time.monotonic() - start)


def drain(c, kind):
    """Read up to ReadyForQuery; bytes in messages of one kind."""
    total = 0
    while True:
        k, body = c.recv()
        if k == kind:
            total += len(body)
        elif k == "E":
            raise pq.PgError(pq.fields(body))
        elif k == "Z":
            return total


@pytest.mark.parametrize("how", ["rows", "copy"])
def test_client_that_stops_reading_a_large_result(pooler, pg, how):
    """architecture 4: back-pressure; others are served meanwhile"""
    p = pooler(default_pool_size=2)
    other = p.raw()
    alone = burst(other)
    rss = p.rss()
    n = TOTAL // MB
    sql = "select repeat('x', %d) from generate_series(1, %d)" % (MB, n)
    if how == "copy":
        sql = "copy (%s) to stdout" % sql
    c = p.raw(rcvbuf=65536, timeout=120)
    c.send(pq.query(sql))
    wait_until(lambda: server_waits(pg, "ClientWrite"))
    assert burst(other) < alone * 5 + TIMEOUT / 2
    assert_no_spin(p, pg)
    assert server_waits(pg, "ClientWrite")
    assert p.rss() - rss < LIMIT
    got = drain(c, "D" if how == "rows" else "d")
    assert got == n * (MB + (6 if how == "rows" else 1))
    assert p.rss() - rss < LIMIT
    assert c.value("select 'on'") == "on"


def test_many_clients_stop_reading_at_once(pooler, pg):
    """memory is bounded per connection"""
    # a system's own buffers may hold it all
    p = pooler(default_pool_size=10, tcp_socket_buffer=KERNEL)
    rss = p.rss()
    clients = [p.raw(rcvbuf=65536, timeout=120) for _ in range(10)]
    for c in clients:
        c.send(pq.query("select repeat('x', 1000000) from "
                        "generate_series(1, 20)"))
    wait_until(lambda: pg.sql(
        "select count(*) from pg_stat_activity where usename='app' and "
        "wait_event='ClientWrite'")[0][0] == 10)
    assert p.rss() - rss < LIMIT
    for c in clients:
        assert drain(c, "D") == 20 * 1000006


def test_one_huge_row(pooler):
    """messages are not assembled"""
    p = pooler()
    p.raw().query("select 1")
    rss = p.rss()
    c = p.raw(timeout=120)
    size = 200 * MB
    c.send(pq.query("select repeat('y', %d)" % size))
    kind, total = None, 0
    while kind != "Z":
        head = c.recv_bytes(5)
        kind, left = chr(head[0]), int.from_bytes(head[1:], "big") - 4
        while left:
            left -= len(c.recv_bytes(min(left, MB)))
            total += min(left, MB)
    assert p.rss("VmHWM") - rss < LIMIT
    assert c.value("select 1") == "1"


def test_one_huge_query(pooler):
    """messages are not assembled, client side"""
    p = pooler()
    p.raw().query("select 1")
    rss = p.rss()
    c = p.raw(timeout=120)
    c.send(pq.query("select length('%s')" % ("z" * (50 * MB))))
    assert c.recv_until().rows == [[str(50 * MB)]]
    assert p.rss("VmHWM") - rss < LIMIT


def test_client_that_stops_reading_a_long_error(pooler, pg):
    """an error is looked into where it may name a statement; one that long
    passes like a row, whatever the server has to say"""
    p = pooler(max_prepared_statements=10, tcp_socket_buffer=KERNEL)
    c = p.raw(rcvbuf=65536, timeout=120)
    size = 24 * MB
    c.send(pq.query("do $$begin raise 'x%', repeat('x', {}); end$$"
                    .format(size)))
    wait_until(lambda: server_waits(pg, "ClientWrite"))
    caches = {r["name"]: int(r["memtotal"]) for r in p.show("mem")}
    assert caches["carry_cache"] + caches["iobuf_cache"] < MB
    kind, body = c.recv()
    assert kind == "E" and len(pq.fields(body)["M"]) == size + 1
    assert c.recv_until().kinds == "Z"
    assert c.value("select 'on'") == "on"


@pytest.mark.parametrize("mode", ["transaction", "session"])
def test_both_directions_full_do_not_deadlock(pooler, mode):
    """client sends without reading, server answers without pause"""
    # regressions: Ody 376e80fa, family 7: back-pressure
    p = pooler(pool_mode=mode)
    c = p.raw(rcvbuf=65536, sndbuf=65536, timeout=120)
    n, pad = 100, "-- " + "p" * 200000
    err = []

    def send():
        try:
            for i in range(n):
                c.sock.sendall(pq.query("select repeat('x', 200000) %s"
                                        % pad))
        except OSError as e:
            err.append(e)
    c.sock.settimeout(120)
    t = threading.Thread(target=send)
    t.start()
    wait_until(lambda: p.pool()["sv_active"] == 1)
    for _ in range(n):
        assert drain(c, "D") == 200006
    t.join()
    assert err == []
    assert p.raw().value("select 1") == "1"


def test_large_copy_in_arrives_whole(pooler, pg):
    """pooling.md 15; memory stays small"""
    pg.sql("truncate sink", db="p0")
    p = pooler()
    p.raw().query("select 1")
    rss = p.rss()
    c = p.raw(timeout=120)
    c.send(pq.query("copy sink from stdin"))
    c.recv_until("G")
    line = b"1\t" + b"x" * 65000 + b"\n"
    n = (TOTAL // 4) // len(line)
    for _ in range(n):
        c.send(pq.copy_data(line))
    c.send(pq.copy_done())
    assert c.recv_until().tags == ["COPY %d" % n]
    assert p.rss("VmHWM") - rss < LIMIT
    pg.sql("truncate sink", db="p0")
