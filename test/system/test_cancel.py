# test_cancel.py - cancel requests hit the right query or nothing.
# SPDX-License-Identifier: ISC
import struct
import threading

import pytest

import pq
from harness import BIG, REFERENCE, wait_until


def is_sleeping(pg, n=1):
    return wait_until(lambda: len(pg.backends(
        where="state='active' and strpos(query, 'pg_sleep(6') > 0")) == n)


@pytest.mark.parametrize("mode", ["session", "transaction", "statement"])
def test_running_query_is_cancelled(pooler, pg, mode):
    """pooling.md 18"""
    p = pooler(pool_mode=mode)
    c = p.raw()
    c.send(pq.query("select pg_sleep(60)"))
    is_sleeping(pg)
    pq.send_cancel(p.port, c.key)
    res = c.recv_until()
    assert res.errors[0].code == "57014"
    assert c.value("select 1") == "1"
    p.wait_pool(cl_active_cancel_req=0, cl_waiting_cancel_req=0)


def test_psycopg_cancel(pooler, pg):
    """pooling.md 18"""
    import psycopg
    p = pooler()
    c = p.connect()
    t = threading.Thread(target=lambda: (is_sleeping(pg), c.cancel()))
    t.start()
    with pytest.raises(psycopg.errors.QueryCanceled):
        c.execute("select pg_sleep(60)")
    t.join()


def test_cancel_works_with_a_full_pool(pooler, pg):
    """pooling.md 6 rule 4: all other limits bypassed"""
    p = pooler(default_pool_size=2, max_db_connections=2)
    clients = [p.raw(), p.raw()]
    for c in clients:
        c.send(pq.query("select pg_sleep(60)"))
    is_sleeping(pg, 2)
    waiter = p.raw()
    waiter.send(pq.query("select 'w'"))
    p.wait_pool(cl_waiting=1)
    for c in clients:
        pq.send_cancel(p.port, c.key)
        assert c.recv_until().errors[0].code == "57014"
    assert waiter.recv_until().rows == [["w"]]


@pytest.mark.parametrize("mode", ["session", "transaction"])
def test_cancel_of_an_idle_client_is_harmless(pooler, mode):
    """pooling.md 18 step 5"""
    p = pooler(pool_mode=mode)
    c = p.raw()
    c.query("select 1")
    for _ in range(5):
        pq.send_cancel(p.port, c.key)
    assert c.value("select 2") == "2"


def test_cancel_of_a_queued_client_hits_nobody(pooler, pg):
    """pooling.md 18 step 5 (#1222)"""
    p = pooler(default_pool_size=1)
    busy, queued = p.raw(), p.raw()
    busy.send(pq.query("select pg_sleep(0.7), 'done', 'pg_sleep(6'"))
    is_sleeping(pg)
    queued.send(pq.query("select 'q'"))
    p.wait_pool(cl_waiting=1)
    pq.send_cancel(p.port, queued.key)
    assert busy.recv_until().check().rows[0][1] == "done"
    assert queued.recv_until().rows == [["q"]]


@pytest.mark.parametrize("key", [
    b"", b"\0" * 4, b"\0" * 8, b"\x7f" * 8, b"\xff" * 8, b"x" * 9,
    b"x" * 32, b"x" * 200])
def test_unknown_key_is_closed_silently(pooler, key):
    """client-errors.md 6"""
    p = pooler()
    c = p.open()
    c.send(pq.untyped(pq.CANCEL_REQUEST, key))
    res = c.recv_all()
    if len(key) == 8:
        assert res.messages == []
    assert p.raw().value("select 1") == "1"


def test_key_of_a_gone_client_is_forgotten(pooler, pg):
    """pooling.md 18 step 3"""
    p = pooler(default_pool_size=1)
    a = p.raw()
    key = a.key
    a.query("select 1")
    a.close()
    b = p.raw()
    b.send(pq.query("select pg_sleep(0.5), 'ok', 'pg_sleep(6'"))
    is_sleeping(pg)
    pq.send_cancel(p.port, key)
    assert b.recv_until().check().rows[0][1] == "ok"


def test_racing_cancel_never_hits_the_other_client(pooler):
    """pooling.md 18 (#717): two clients, one server"""
    p = pooler(default_pool_size=1)
    victim, other = p.raw(), p.raw()
    stop, count = threading.Event(), [0]

    def shoot():
        while not stop.is_set():
            pq.send_cancel(p.port, victim.key)
            count[0] += 1
    shooters = [threading.Thread(target=shoot) for _ in range(2)]
    for t in shooters:
        t.start()
    hit = 0
    try:
        for i in range(2000 if BIG else 300):
            victim.send(pq.query("select %d, pg_sleep(0.001)" % i))
            other.send(pq.query("select 'o%d', pg_sleep(0.001)" % i))
            mine, theirs = victim.recv_until(), other.recv_until()
            assert not theirs.errors, theirs.errors[0]
            assert theirs.rows[0][0] == "o%d" % i
            if mine.errors:
                assert mine.errors[0].code == "57014"
                hit += 1
            else:
                assert mine.rows[0][0] == str(i)
    finally:
        stop.set()
        for t in shooters:
            t.join()
    assert count[0] > 50
    p.wait_pool(sv_active=0, sv_being_canceled=0, cl_waiting=0)
    p.wait_pool(cl_active_cancel_req=0, cl_waiting_cancel_req=0,
                sv_active_cancel=0)


def test_cancel_with_a_gone_target_is_dropped(pooler, pg):
    """pooling.md 18: no longer bound, dropped unsent"""
    p = pooler(default_pool_size=1)
    for _ in range(20):
        c = p.raw()
        c.send(pq.query("select pg_sleep(0.001)"))
        cc = p.open()
        cc.send(pq.untyped(pq.CANCEL_REQUEST, c.key))
        c.abort()
        assert cc.at_eof()
    assert p.raw().value("select 'x'") == "x"
    p.wait_pool(cl_active_cancel_req=0, cl_waiting_cancel_req=0,
                sv_being_canceled=0, sv_active_cancel=0)


def test_keys_look_random(pooler):
    """pooling.md 18: client key"""
    p = pooler()
    keys = {p.raw().key for _ in range(20)}
    assert len(keys) == 20
    assert REFERENCE or all(not k[0] & 0x80 for k in keys)
    assert len({struct.unpack("!i", k[4:])[0] for k in keys}) == 20


def test_many_cancels_do_not_starve_the_pool(pooler, pg):
    """pooling.md 18 (#245, #542)"""
    p = pooler(default_pool_size=2)
    c = p.raw()
    c.send(pq.query("select pg_sleep(60)"))
    is_sleeping(pg)
    conns = [p.open() for _ in range(30)]
    for k in conns:
        k.send(pq.untyped(pq.CANCEL_REQUEST, c.key))
    assert c.recv_until().errors[0].code == "57014"
    for k in conns:
        assert k.at_eof()
    assert p.raw().value("select 1") == "1"
    assert c.value("select 2") == "2"
