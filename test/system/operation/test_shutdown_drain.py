# test_shutdown_drain.py - SHUTDOWN DRAIN: clients go, none of them amid its work.
# SPDX-License-Identifier: ISC
import json
import signal
import threading
import time
import urllib.error
import urllib.request

import pytest

import pq
from harness import BIG, REFERENCE, free_port, wait_until
from test_takeover import take_over

pytestmark = pytest.mark.skipif(REFERENCE, reason="has none")

GONE = ("57P01", "terminating connection due to administrator command")
REFUSED = ("57P03", "pooler is shutting down")


def drain(p, seconds=""):
    """Returns the console, which watches."""
    k = p.raw("admin", "pgbouncer", unix=True)
    assert k.query("shutdown drain %s" % seconds).tags == ["SHUTDOWN"]
    return k


def state(k):
    return {r["key"]: r["value"] for r in k.query("show state").dicts}


def end_of(c):
    """(code, message) of the last words to c."""
    e = c.recv_all().errors[-1]
    return e.code, e.message


def wait_leaving(k):
    wait_until(lambda: state(k)["draining"] == "leaving")


class Worker(threading.Thread):
    """Counts in transactions until it is told to go, and goes to other."""

    def __init__(self, p, other):
        super().__init__()
        self.other, self.back = other, None
        self.conn, self.done, self.told, self.failure = p.raw(), 0, None, None

    def begin(self):
        """False: it was told to go instead."""
        res = pq.Result()
        try:
            self.conn.send(pq.query("begin"))
        except OSError:
            pass
        try:
            self.conn.recv_until(res=res)
        except pq.Closed:
            self.told = [e.code for e in res.errors]
        return self.told is None

    def run(self):
        try:
            while self.begin():
                self.conn.query("insert into seq_log (who) values ('drain')")
                assert self.conn.query("commit").tags == ["COMMIT"]
                self.done += 1
            with self.other.raw() as again:
                assert again.value("select 1") == "1"
                self.back = time.monotonic()
        except BaseException as e:  # reported by the test
            self.failure = repr(e)


def test_stranger_does_not_hold_up_the_end(pooler):
    """one that never logs in did, for all of the time"""
    p = pooler(auth_type="plain", shutdown_grace=0)
    with p.open() as stranger:
        stranger.login("app", database="p0", wait=False)
        assert stranger.recv()[0] == "R"
        drain(p, 600)
        assert end_of(stranger) == GONE
        assert p.wait_exit() == 0


def test_busy_clients_go_between_transactions(pooler, pg):
    """All are told 57P01, what they did counts, they come back in turn"""
    n, seconds = (1000, 10) if BIG else (100, 3)
    p, q = pooler(default_pool_size=5), pooler(default_pool_size=5)
    pg.sql("truncate seq_log", db="p0")
    workers = [Worker(p, q) for _ in range(n)]
    for w in workers:
        w.start()
    wait_until(lambda: all(w.done > 0 or w.failure for w in workers))
    began = time.monotonic()
    drain(p, seconds)
    assert p.wait_exit() == 0
    took = time.monotonic() - began
    for w in workers:
        w.join()
    assert [w.failure for w in workers if w.failure] == []
    assert [w.told for w in workers] == [["57P01"]] * n
    rows = pg.sql("select count(*) from seq_log", db="p0")[0][0]
    assert rows == sum(w.done for w in workers)
    times = sorted(w.back - began for w in workers)
    assert times[n * 3 // 4] - times[n // 4] > seconds / 10, times
    assert "all clients have left" in p.log
    tenths = [0] * 10
    for t in times:
        tenths[min(9, int(t * 10 / seconds))] += 1
    print("%d transactions, over after %.1f s, back in each tenth of the "
          "time: %s" % (rows, took, tenths))


def test_who_goes_when(pooler):
    """Idle ones first, transactions end, who waits is served, sessions last"""
    p = pooler({"p0": "pool_size=1", "p1": "pool_mode=session"})
    busy, waits, idle = p.raw(), p.raw(), p.raw()
    kept = p.raw(database="p1")
    kept.query("select 1")
    half = p.raw()
    half.send(pq.query("select 'half'")[:7])
    busy.query("begin")
    waits.send(pq.query("select 'served'"))
    p.wait_pool(cl_waiting=1)
    k = drain(p, 600)
    assert end_of(idle) == GONE
    wait_until(lambda: state(k)["clients_left"] == "4")
    assert busy.value("select 1") == "1" and not waits.readable()
    busy.send(pq.query("commit"))
    assert busy.recv_until().tags == ["COMMIT"]
    assert waits.recv_until().rows == [["served"]]
    assert (end_of(busy), end_of(waits)) == (GONE, GONE)
    half.send(pq.query("select 'half'")[7:])
    assert half.recv_until().rows == [["half"]]
    assert end_of(half) == GONE
    assert kept.value("select 1") == "1"
    # the sooner end counts, and nobody is left out
    k.query("shutdown drain 3600")
    assert int(state(k)["seconds_left"]) <= 600
    k.query("shutdown wait_for_clients")
    k.query("shutdown drain 0")
    assert (end_of(kept), end_of(k)) == (GONE, GONE)
    assert p.wait_exit() == 0
    assert "time is up, closing 1 clients" in p.log


def test_who_comes_during_a_drain(pooler):
    """Refused by 57P03; cancel requests and consoles are not"""
    p = pooler()
    busy = p.raw()
    busy.send(pq.query("select pg_sleep(600)"))
    early = p.open()
    early.send(pq.startup({"user": "app", "database": "p0"})[:5])
    p.wait_pool(sv_active=1)
    k = drain(p, 600)
    wait_leaving(k)
    for unix in (False, True):
        late = p.open(unix)
        late.send(pq.startup({"user": "app", "database": "p0"}))
        assert end_of(late) == REFUSED
    with p.raw("admin", "pgbouncer") as other:
        assert state(other)["draining"] == "leaving"
    # its login was under way
    early.send(pq.startup({"user": "app", "database": "p0"})[5:])
    assert end_of(early) == GONE
    p.reload()
    pq.send_cancel(p.port, busy.key)
    assert [e.code for e in busy.recv_until().errors] == ["57014"]
    assert end_of(busy) == GONE
    assert p.wait_exit() == 0
    assert end_of(k) == GONE


@pytest.mark.setting("shutdown_grace", "shutdown_drain_timeout")
def test_grace_and_signals(pooler):
    """/readyz fails first; the first SIGTERM joins, the second ends all"""
    port = free_port()
    p = pooler(shutdown_grace=600, shutdown_drain_timeout=600,
               http_listen_port=port)
    a = p.raw()
    p.signal(signal.SIGTERM)
    p.wait_log("clients are disconnected")
    k = p.raw("admin", "pgbouncer")
    assert state(k)["draining"] == "grace"
    assert 600 < int(state(k)["seconds_left"]) <= 1200
    # the console was a client like others while it logged in
    wait_until(lambda: state(k)["clients_left"] == "1")
    try:
        urllib.request.urlopen("http://127.0.0.1:%d/readyz" % port)
    except urllib.error.HTTPError as e:
        reason, = json.load(e)["reasons"]
    assert reason["reason"] == "draining"
    assert reason["detail"].startswith("grace: 1 clients, 1")
    with p.raw() as b:
        assert b.value("select 1") == a.value("select 1") == "1"
    wait_until(lambda: state(k)["clients_left"] == "1")
    text = urllib.request.urlopen(
        "http://127.0.0.1:%d/metrics" % port).read().decode()
    assert "\npgsluice_draining 1\n" in text
    assert "\npgsluice_drain_clients_left 1\n" in text
    # without the grace
    k.query("set shutdown_grace = 0")
    a.query("begin")
    k.query("shutdown drain")
    wait_leaving(k)
    p.signal(signal.SIGTERM)
    assert p.wait_exit() == 0
    assert "got SIGTERM while shutting down, fast exit" in p.log


def test_signals_amid_a_drain_of_the_console(pooler):
    """As at the end of a preStop hook: SIGTERM goes on with what there is"""
    p = pooler()
    a = p.raw()
    a.query("begin")
    k = drain(p, 600)
    p.signal(signal.SIGTERM)
    p.wait_log("clients are disconnected")
    wait_leaving(k)
    assert a.query("commit").tags == ["COMMIT"]
    assert end_of(a) == GONE
    assert p.wait_exit() == 0
    p = pooler()
    p.raw().query("begin")
    drain(p, 600)
    p.signal(signal.SIGINT)
    assert p.wait_exit() == 0


def test_pause_amid_a_drain(pooler):
    """Who waits is served after RESUME, or told at the end"""
    p = pooler()
    a, b = p.raw(), p.raw()
    k = p.raw("admin", "pgbouncer", unix=True)
    k.query("pause")
    a.send(pq.query("select 'a'"))
    p.wait_pool(cl_waiting=1)
    k.query("shutdown drain 600")
    assert end_of(b) == GONE
    assert not a.readable()
    assert k.query("resume").tags == ["RESUME"]
    assert a.recv_until().rows == [["a"]]
    assert end_of(a) == GONE
    assert p.wait_exit() == 0
    p = pooler()
    a = p.raw()
    k = p.raw("admin", "pgbouncer", unix=True)
    k.query("pause")
    a.send(pq.query("select 'a'"))
    p.wait_pool(cl_waiting=1)
    k.query("shutdown wait_for_servers")
    assert p.wait_exit() == 0


def test_suspend_and_takeover_amid_a_drain(pooler):
    """Nobody is told while all stands still; a successor drains nobody"""
    p = pooler(default_pool_size=2)
    a, k = p.raw(), p.raw("admin", "pgbouncer", unix=True)
    a.query("begin")
    k.query("shutdown drain 600")
    wait_leaving(k)
    k.query("suspend")
    a.send(pq.query("commit"))
    assert not a.readable(0.2)
    k.query("resume")
    assert a.recv_until().tags == ["COMMIT"]
    assert end_of(a) == GONE
    assert p.wait_exit() == 0
    p = pooler()
    a = p.raw()
    a.query("begin")
    with drain(p, 600) as k:
        wait_leaving(k)
    q = take_over(pooler, p)
    assert a.query("commit").tags == ["COMMIT"]
    assert a.value("select 1") == "1"
    with q.raw() as b:
        assert b.value("select 1") == "1"


def test_drain_ends_while_suspended(pooler):
    """nothing but a successor may hold it up"""
    p = pooler(shutdown_grace=0)
    c = p.raw()
    c.query("begin")
    watch = p.raw("admin", "pgbouncer", unix=True)
    k = drain(p, 1)
    watch.send(pq.query("suspend"))
    assert end_of(c) == GONE
    assert p.wait_exit() == 0
    del k


@pytest.mark.parametrize("grace", ["", "30"])
def test_who_listens_is_idle(pooler, grace):
    """It is told to go, and the connection that listens holds up nothing"""
    p = pooler(session_state="keep", default_pool_size=2)
    a, b = p.raw(), p.raw()
    for c in (a, b):
        c.query("listen x").check()
    wait_until(lambda: [s for s in p.servers() if s["state"] == "listening"])
    b.query("notify x").check()
    k = drain(p, grace)
    for c in (a, b):
        assert end_of(c) == GONE
    assert p.wait_exit() == 0
    k.close()
