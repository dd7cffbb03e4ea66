# test_cancel.py - cancel requests hit the right query or nothing.
# SPDX-License-Identifier: ISC
import re
import signal
import struct
import threading
import time

import pytest

import pq
from harness import BIG, REFERENCE, TIMEOUT, wait_until


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


def wait_no_cancel(p):
    """Whatever was to be sent has been sent, and its signal with it."""
    p.wait_pool(cl_active_cancel_req=0, cl_waiting_cancel_req=0,
                sv_active_cancel=0)


def test_cancel_of_a_queued_client_hits_nobody(pooler, pg, latch):
    """pooling.md 18 step 5 (#1222): who runs a query is not touched"""
    # regressions: PB#1222
    p = pooler(default_pool_size=1)
    busy, queued = p.raw(), p.raw()
    busy.send(pq.query("select %s, 'done', 'pg_sleep(6'" % latch.query))
    is_sleeping(pg)
    queued.send(pq.query("select 'q'"))
    p.wait_pool(cl_waiting=1)
    pq.send_cancel(p.port, queued.key)
    assert queued.recv_until().errors[0].code == "57014"
    wait_no_cancel(p)
    latch.open()
    assert busy.recv_until().check().rows[0][1] == "done"
    assert queued.value("select 'q'") == "q"


@pytest.mark.parametrize("key", [
    b"", b"\0" * 4, b"\0" * 8, b"\x7f" * 8, b"\xff" * 8, b"x" * 9,
    b"x" * 32, b"x" * 200])
def test_unknown_key_is_closed_silently(pooler, key):
    """client-errors.md 6"""
    # regressions: PB#141
    p = pooler()
    c = p.open()
    c.send(pq.untyped(pq.CANCEL_REQUEST, key))
    res = c.recv_all()
    if len(key) == 8:
        assert res.messages == []
    assert p.raw().value("select 1") == "1"


def test_key_of_a_gone_client_is_forgotten(pooler, pg, latch):
    """pooling.md 18 step 3"""
    p = pooler(default_pool_size=1)
    a = p.raw()
    key = a.key
    a.query("select 1")
    a.close()
    b = p.raw()
    b.send(pq.query("select %s, 'ok', 'pg_sleep(6'" % latch.query))
    is_sleeping(pg)
    pq.send_cancel(p.port, key)
    wait_no_cancel(p)
    latch.open()
    assert b.recv_until().check().rows[0][1] == "ok"


def test_racing_cancel_never_hits_the_other_client(pooler):
    """pooling.md 18 (#717): two clients, one server"""
    # regressions: PB#717, family 3: cancel in every state
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
    # regressions: PB#245
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


# --- a client that waits in the queue ---

class Busy:
    """A pool of one whose only server is held in a transaction."""

    def __init__(self, pooler, **settings):
        self.p = pooler(default_pool_size=1, **settings)
        self.holder = self.p.raw()
        self.holder.query("begin")

    def waiter(self, *parts):
        c = self.p.raw()
        c.send(*parts)
        self.p.wait_pool(cl_waiting=1)
        return c

    def cancel(self, c):
        pq.send_cancel(self.p.port, c.key)

    def free(self):
        self.holder.query("commit")

    def usable(self, c):
        """Both clients still work, and none gets the other's replies."""
        self.free()
        assert c.value("select 'w'") == "w"
        assert self.holder.value("select 'h'") == "h"
        self.p.wait_pool(cl_waiting=0, sv_active=0,
                         cl_waiting_cancel_req=0, cl_active_cancel_req=0)


def is_canceled(m):
    kind, body = m
    f = pq.fields(body)
    return kind == "E" and (f["S"], f["C"], f["M"]) == (
        "ERROR", "57014", "canceling statement due to user request")


def status(m):
    return m[0] + m[1].decode()


def nothing_more(c):
    return not c.readable(0.2)


@pytest.mark.parametrize("mode", ["session", "transaction", "statement"])
def test_waiting_query_is_cancelled(pooler, latch, mode):
    """the wait ends with the standard error"""
    # regressions: PB#1222
    p = pooler(default_pool_size=1, pool_mode=mode)
    holder = p.raw()
    holder.send(pq.query("select %s, 'held'" % latch.query))
    p.wait_pool(sv_active=1)
    c = p.raw()
    c.send(pq.query("select 'never'"))
    p.wait_pool(cl_waiting=1)
    pq.send_cancel(p.port, c.key)
    assert is_canceled(c.recv())
    assert status(c.recv()) == "ZI"
    assert p.pool()["cl_waiting"] == 0
    latch.open()
    assert holder.recv_until().check().rows[0][1] == "held"
    if mode == "session":
        holder.close()
    assert c.value("select 'w'") == "w"


def test_query_behind_a_cancelled_wait_is_processed(pooler):
    """bytes behind the query are kept; the cancel meant the first only"""
    b = Busy(pooler)
    c = b.waiter(pq.query("select 'one'"), pq.query("select 'two'"))
    b.cancel(c)
    assert is_canceled(c.recv())
    assert status(c.recv()) == "ZI"
    b.p.wait_pool(cl_waiting=1)
    b.cancel(c)
    assert is_canceled(c.recv())
    assert status(c.recv()) == "ZI"
    b.p.wait_pool(cl_waiting=0)
    c.send(pq.query("select 'three'"))
    b.p.wait_pool(cl_waiting=1)
    b.free()
    assert c.recv_until().check().rows == [["three"]]
    assert c.value("select 'w'") == "w"


FLIGHT = pq.parse("select 'x'") + pq.bind() + pq.execute() + pq.sync()


@pytest.mark.parametrize("prepared", [0, 100])
def test_waiting_flight_is_cancelled_up_to_its_sync(pooler, prepared):
    """one error, one ReadyForQuery; what follows is a flight of its own"""
    b = Busy(pooler, max_prepared_statements=prepared)
    c = b.waiter(pq.parse("select 'a'", "s1") + pq.bind("s1")
                 + pq.execute() + pq.parse("select 'b'", "s2") + pq.sync()
                 + FLIGHT)
    b.cancel(c)
    assert is_canceled(c.recv())
    assert status(c.recv()) == "ZI"
    assert nothing_more(c)
    b.p.wait_pool(cl_waiting=1)
    b.free()
    assert c.recv_until().check().rows == [["x"]]
    # the Parse of a failed flight has not happened
    c.send(pq.bind("s1") + pq.execute() + pq.sync())
    kind, body = c.recv()
    assert kind == "E" and pq.fields(body)["C"] in ("26000", "08P01")


def test_flight_without_sync_is_discarded_till_it_comes(pooler):
    """as the server does: also simple queries before the Sync"""
    b = Busy(pooler)
    c = b.waiter(pq.parse("select 'a'") + pq.bind() + pq.flush())
    b.cancel(c)
    assert is_canceled(c.recv())
    assert nothing_more(c)
    c.send(pq.execute() + pq.flush(), pq.query("select 'ignored'"))
    assert nothing_more(c)
    # a message in pieces is discarded as a whole
    big = pq.query("select '%s'" % ("S\0\0\0\4" * 30000))
    c.send(big[:3])
    c.send(big[3:70000])
    c.send(big[70000:] + pq.sync()[:2])
    assert nothing_more(c)
    assert b.p.pool()["cl_waiting"] == 0
    c.send(pq.sync()[2:])
    assert status(c.recv()) == "ZI"
    assert nothing_more(c)
    b.usable(c)


def test_second_cancel_while_discarding_changes_nothing(pooler):
    """the client is idle as far as the server would know"""
    b = Busy(pooler)
    c = b.waiter(pq.parse("select 'a'") + pq.flush())
    for _ in range(3):
        b.cancel(c)
    assert is_canceled(c.recv())
    assert nothing_more(c)
    c.send(pq.sync())
    assert status(c.recv()) == "ZI"
    b.usable(c)


def test_query_that_is_still_being_sent_is_cancelled(pooler):
    """the rest of it is dropped as it comes"""
    b = Busy(pooler)
    text = pq.query("select '%s'" % ("Q\0\0\0\4" * 50000))
    c = b.waiter(text[:20])
    b.cancel(c)
    assert is_canceled(c.recv())
    assert status(c.recv()) == "ZI"
    c.send(text[20:90000])
    c.send(text[90000:])
    assert nothing_more(c)
    b.usable(c)


def test_waiting_function_call_is_cancelled(pooler):
    """FunctionCall is answered with its own ReadyForQuery"""
    b = Busy(pooler)
    c = b.waiter(pq.function_call(1598, []))
    b.cancel(c)
    assert is_canceled(c.recv())
    assert status(c.recv()) == "ZI"
    b.usable(c)


def test_waiting_sync_alone_is_cancelled(pooler):
    """error first, then the ReadyForQuery that it asked for"""
    b = Busy(pooler)
    c = b.waiter(pq.sync())
    b.cancel(c)
    assert is_canceled(c.recv())
    assert status(c.recv()) == "ZI"
    b.usable(c)


def test_terminate_behind_a_cancelled_flight(pooler):
    """Terminate is not discarded"""
    b = Busy(pooler)
    c = b.waiter(pq.parse("select 'a'") + pq.terminate())
    b.cancel(c)
    assert is_canceled(c.recv())
    assert c.at_eof()
    b.free()


def test_wait_in_a_paused_pool_is_cancelled(pooler):
    """whatever it waits for"""
    p = pooler()
    c = p.raw()
    c.query("select 1")
    p.admin("pause")
    c.send(pq.query("select 'p'"))
    p.wait_pool(cl_waiting=1)
    pq.send_cancel(p.port, c.key)
    assert is_canceled(c.recv())
    assert status(c.recv()) == "ZI"
    p.admin("resume")
    assert c.value("select 2") == "2"


def test_cancelled_wait_is_counted_and_idle(pooler):
    """the client is idle afterwards: client_idle_timeout applies"""
    b = Busy(pooler, client_idle_timeout=2)
    c = b.waiter(pq.query("select 1"))
    b.cancel(c)
    assert is_canceled(c.recv())
    assert status(c.recv()) == "ZI"
    res = c.recv_all()
    assert res.errors[0].message == "client_idle_timeout"


def test_others_keep_their_place_in_the_queue(pooler):
    """a cancelled waiter leaves; those behind it are served"""
    b = Busy(pooler)
    waiters = []
    for i in range(5):
        c = b.p.raw()
        c.send(pq.query("select 'w%d'" % i))
        waiters.append(c)
        b.p.wait_pool(cl_waiting=i + 1)
    for i in (0, 2, 4):
        b.cancel(waiters[i])
    b.free()
    for i, c in enumerate(waiters):
        if i % 2:
            assert c.recv_until().check().rows == [["w%d" % i]]
        else:
            assert is_canceled(c.recv())
            assert status(c.recv()) == "ZI"


# --- requests ---

def test_sender_that_does_not_wait_is_heeded(pooler, pg):
    """PostgreSQL would heed it too"""
    p = pooler()
    c = p.raw()
    for _ in range(5):
        c.send(pq.query("select pg_sleep(60)"))
        is_sleeping(pg)
        cc = p.open()
        cc.send(pq.untyped(pq.CANCEL_REQUEST, c.key))
        cc.close(polite=False)
        assert c.recv_until().errors[0].code == "57014"


def test_cancel_during_login_is_harmless(pooler):
    """its key is not known to anybody yet"""
    p = pooler(auth_type="scram-sha-256")
    c = p.open()
    c.send(pq.startup({"user": "app", "database": "p0"}))
    c.recv()
    for key in (b"\0" * 8, b"\x01" * 8):
        pq.send_cancel(p.port, key)
    assert p.raw().value("select 1") == "1"


def test_cancel_over_the_unix_socket(pooler, pg):
    """pooling.md 18"""
    p = pooler()
    c = p.raw(unix=True)
    c.send(pq.query("select pg_sleep(60)"))
    is_sleeping(pg)
    cc = p.open(unix=True)
    cc.send(pq.untyped(pq.CANCEL_REQUEST, c.key))
    assert cc.at_eof()
    assert c.recv_until().errors[0].code == "57014"


def test_removed_database_closes_requests_silently(pooler, pg):
    """client-errors.md 6: every CancelRequest connection"""
    p = pooler(cancel_wait_timeout=0)
    c = p.raw()
    c.send(pq.query("select pg_sleep(60)"))
    is_sleeping(pg)
    # PostgreSQL takes connections, but answers none of them
    pg.proc.send_signal(signal.SIGSTOP)
    try:
        cc = p.open()
        cc.send(pq.untyped(pq.CANCEL_REQUEST, c.key))
        p.wait_pool(cl_active_cancel_req=1)
        del p.dbs["p0"]
        p.write()
        p.admin("reload")
        assert cc.at_eof()
    finally:
        pg.proc.send_signal(signal.SIGCONT)


def test_burst_of_requests_opens_few_connections(pooler, pg, many_files):
    """1,000 cancels of one query; other clients don't notice"""
    # regressions: PB#329, PB#542, PB#543
    p = pooler(default_pool_size=2, log_connections=1, log_disconnections=1)
    c, other = p.raw(), p.raw()
    c.send(pq.query("select pg_sleep(60)"))
    is_sleeping(pg)
    socks = [p.open() for _ in range(1000)]
    slowest = 0
    for i, s in enumerate(socks):
        s.send(pq.untyped(pq.CANCEL_REQUEST, c.key))
        if i % 50 == 0:
            start = time.monotonic()
            assert other.value("select %d" % i) == str(i)
            slowest = max(slowest, time.monotonic() - start)
    assert c.recv_until().errors[0].code == "57014"
    for s in socks:
        assert s.at_eof()
    assert slowest < TIMEOUT / 2
    carriers = len(re.findall("S-0x[0-9a-f]+: p0/app@.*closing because: "
                              "(successfully sent|client gave up)", p.log))
    assert 1 <= carriers <= 100, carriers
    assert c.value("select 'c'") == "c"
    p.wait_pool(cl_active_cancel_req=0, cl_waiting_cancel_req=0,
                sv_being_canceled=0, sv_active_cancel=0)


def test_all_servers_of_a_pool_can_be_cancelled_at_once(pooler, pg):
    """one carrier for each, up to twice the pool size"""
    # regressions: PB#329, PB#542, PB#543
    p = pooler(default_pool_size=4, max_db_connections=4)
    clients = [p.raw() for _ in range(4)]
    for c in clients:
        c.send(pq.query("select pg_sleep(60)"))
    is_sleeping(pg, 4)
    pg.proc.send_signal(signal.SIGSTOP)
    try:
        requests = []
        for c in clients * 3:
            cc = p.open()
            cc.send(pq.untyped(pq.CANCEL_REQUEST, c.key))
            requests.append(cc)
        p.wait_pool(sv_active_cancel=4)
        # some may be on their way to the pool's worker
        wait_until(lambda: sum(p.pool()[what] for what in (
            "cl_active_cancel_req", "cl_waiting_cancel_req")) == 12)
        assert p.pool()["sv_active_cancel"] == 4
    finally:
        pg.proc.send_signal(signal.SIGCONT)
    for c in clients:
        assert c.recv_until().errors[0].code == "57014"
    for cc in requests:
        assert cc.at_eof()
    for c in clients:
        assert c.value("select 1") == "1"
