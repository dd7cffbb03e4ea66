# test_listen.py - LISTEN and NOTIFY of clients that share servers.
# SPDX-License-Identifier: ISC
"""Spec: pooling.md 25. A client of the pooler hears what a connection of its own
would hear (session_state=keep)."""
import os
import random
import signal
import struct

import pytest

import pq
from harness import REFERENCE, wait_until
from test_takeover import take_over

pytestmark = [pytest.mark.skipif(REFERENCE, reason="not so there"),
              pytest.mark.setting("session_state")]

RECONNECTED = "pgsluice.reconnected"


class Ear:
    """A connection, and what it has heard: pairs of channel and payload."""

    def __init__(self, conn):
        self.conn, self.heard, self.pids, self.notices = conn, [], [], []
        self.status = "I"

    def _take(self, kind, body):
        if kind == "N":
            self.notices.append(pq.PgError(pq.fields(body)))
        if kind != "A":
            return
        channel, payload, _ = body[4:].split(b"\0")
        self.pids.append(struct.unpack("!i", body[:4])[0])
        self.heard.append((channel.decode(), payload.decode()))

    def do(self, sql):
        """Tags and codes of errors."""
        res = self.conn.try_query(sql)
        self.status = res.status
        for m in res.messages:
            self._take(*m)
        return res.tags, [e.code for e in res.errors]

    def take_all(self):
        """All of an answer whose query was sent."""
        res = self.conn.recv_until()
        for m in res.messages:
            self._take(*m)

    def value(self, sql):
        res = self.conn.try_query(sql)
        for m in res.messages:
            self._take(*m)
        return res.check().rows[0][0]

    def hear(self, *what):
        """Wait for this to be the last that is heard; all since the last time."""
        while not self.heard or self.heard[-1] != what:
            self._take(*self.conn.recv())
        heard, self.heard = self.heard, []
        return heard


def keep(pooler, **settings):
    return pooler(**{"default_pool_size": 1, "session_state": "keep",
                     **settings})


def direct(pg, user="app"):
    return pq.Conn(port=pg.port).login(user, database="p0")


def wait_moved(p, *counts):
    """So many channels has each client that has any; no server is kept."""
    wait_until(lambda: sorted(
        int(r["channels"]) for r in p.show("clients")
        if r["channels"] != "0") == sorted(counts), what="%r" % (counts,))
    p.wait_pool(sv_active=0)


def listeners(p):
    return [r for r in p.servers() if r["state"] == "listening"]


@pytest.fixture
def other(pg):
    with direct(pg) as c:
        yield c


def test_who_listens_keeps_no_server(pooler, other):
    """notifications come to all that listen, and to no others"""
    p = keep(pooler)
    a, b, c = (Ear(p.raw()) for _ in range(3))
    a.do("listen x")
    b.do("listen X; listen \"Y\"")
    wait_moved(p, 1, 2)
    assert len(listeners(p)) == 1 and len(p.servers()) == 2
    other.query("notify x, '1'; notify \"Y\", '2'; notify y; notify x, '3'")
    assert a.hear("x", "3") == [("x", "1"), ("x", "3")]
    assert b.hear("x", "3") == [("x", "1"), ("Y", "2"), ("x", "3")]
    assert a.pids[0] == int(other.value("select pg_backend_pid()"))
    assert c.do("select 1")[0] == ["SELECT 1"] and c.heard == []


def test_own_notification(pooler):
    """ahead of the end of the query; of what is rolled back none"""
    p = keep(pooler)
    a = Ear(p.raw())
    a.do("listen x")
    wait_moved(p, 1)
    a.do("begin; notify x, '1'; rollback; notify x, '2'")
    assert a.heard == [("x", "2")]
    pid = a.value("select pg_backend_pid()")
    a.do("begin; listen y")
    a.do("select pg_notify('x', '3'), pg_notify('y', '4')")
    assert a.hear("x", "2") == [("x", "2")]
    a.do("commit")
    assert a.heard == [("x", "3"), ("y", "4")]
    a.heard.clear()
    del a.pids[1:]
    assert a.pids == [int(pid)]


@pytest.mark.parametrize("sql, left", [
    ("unlisten x", "y"), ("unlisten *", ""), ("discard all", ""),
    ("begin; unlisten x; commit", "y"), ("begin; unlisten *; rollback", "xy"),
    ("begin; savepoint a; unlisten x; rollback to a; unlisten y; commit", "x"),
    ("begin; unlisten *; savepoint a; listen y; rollback to a; commit", ""),
    ("begin; unlisten x; listen z; commit", "yz"),
    ("do $$ begin execute 'unlisten x'; end $$", "y"),
    ("begin; unlisten y; unlisten nothing; select 1/0; commit", "xy"),
])
@pytest.mark.parametrize("split", [False, True])
def test_unlisten(pooler, other, sql, left, split):
    """in one query and in several: what is left, PostgreSQL says"""
    p = keep(pooler)
    a, b = Ear(p.raw()), Ear(p.raw())
    a.do("listen x; listen y")
    b.do("listen x")
    wait_moved(p, 1, 2)
    for part in (sql.split("; ") if split and "$$" not in sql else [sql]):
        a.do(part)
    a.do("rollback")
    wait_moved(p, *([1, len(left)] if left else [1]))
    a.do("listen fence")
    for ch in "xyz":
        other.query("notify %s" % ch)
    other.query("notify fence")
    assert [h[0] for h in a.hear("fence", "")] == list(left) + ["fence"]
    assert b.hear("x", "") == [("x", "")]


def execute(ear, name):
    ear.conn.send(pq.bind(name), pq.execute(), pq.sync())
    assert not ear.conn.recv_until().errors


def test_statement_that_was_prepared_before(pooler, other):
    """by its name it is known what it may do"""
    p = keep(pooler)
    a = Ear(p.raw())
    a.conn.send(pq.parse("unlisten x", "u"), pq.parse("listen y", "l"),
                pq.sync())
    a.conn.recv_until()
    a.do("listen x")
    wait_moved(p, 1)
    execute(a, "l")
    wait_moved(p, 2)
    execute(a, "u")
    wait_moved(p, 1)
    other.query("notify x; notify y")
    assert a.hear("y", "") == [("y", "")]


def test_too_many_channels_keep_the_server(pooler, other):
    p = keep(pooler)
    a = Ear(p.raw())
    a.do("".join("listen c%d;" % i for i in range(1001)))
    other.query("notify c1; notify c1000")
    assert a.hear("c1000", "") == [("c1", ""), ("c1000", "")]
    assert p.pool()["sv_active"] == 1 and not listeners(p)
    a.do("unlisten c0")
    wait_moved(p, 1000)
    other.query("notify c0; notify c1; notify c1000")
    assert a.hear("c1000", "") == [("c1", ""), ("c1000", "")]
    # those that it had before are not counted twice
    a.do("unlisten c2")
    wait_moved(p, 999)
    a.do("listen c0")
    wait_moved(p, 1000)


@pytest.mark.parametrize("named", [0, 200])
@pytest.mark.parametrize("pin", ["select pg_advisory_lock(7)",
                                 "create temp table t (i int)"])
def test_half_a_message_of_who_is_pinned(pooler, other, pin, named):
    """is waited for; its server is not asked again and again meanwhile"""
    p = keep(pooler, max_prepared_statements=named)
    c, k = p.raw(), p.console()
    c.query("listen a")
    wait_moved(p, 1)
    c.query(pin)
    for m in (pq.query("select 1"), pq.query("listen b; select 1"),
              pq.parse("select 1", "s") + pq.bind("s") + pq.execute() +
              pq.close("S", "s") + pq.sync(),
              pq.parse("select 1") + pq.bind() + pq.execute() + pq.sync()):
        for at in range(1, len(m)):
            c.send(m[:at])
            k.query("show clients")     # it has been read by then
            c.send(m[at:])
            assert c.recv_until().check().rows == [["1"]]
    other.query("notify b, 'x'")
    assert c.recv_until("A").messages[-1][1][4:] == b"b\0x\0"


def test_rolled_back_listen_hears_nothing(pooler, other):
    p = keep(pooler)
    a = Ear(p.raw())
    for sql in ("begin; listen x; rollback", "begin", "savepoint a",
                "listen x", "rollback to a", "listen y", "commit"):
        a.do(sql)
    wait_moved(p, 1)
    other.query("notify x; notify y")
    assert a.hear("y", "") == [("y", "")]


def test_nothing_is_lost_or_heard_twice_while_it_moves(pooler, other):
    """from the answer to the LISTEN on"""
    p = keep(pooler)
    a = Ear(p.raw())
    want, n = [], 0
    for ch in "abcdefgh":
        a.do("listen %s" % ch)
        for _ in range(20):
            n += 1
            other.query("notify %s, '%d'" % (ch, n))
            want.append((ch, str(n)))
            if n % 7 == 0:
                a.do("select 1")
    assert a.hear(*want[-1]) == want


def hold_commit(pg, other, channel):
    """NOTIFYs that other has sent; the last one's COMMIT waits for a standby."""
    pid = int(other.value("select pg_backend_pid()"))
    waits = "select 1 from pg_stat_activity where wait_event = 'SyncRep' " \
        "and pid = %d" % pid
    for n in range(1, 1000):
        # only who has written waits for a standby
        other.send(pq.query("select pg_logical_emit_message(true, '', ''); "
                            "notify %s, '%d'" % (channel, n)))
        wait_until(lambda: other.readable() or pg.sql(waits))
        if not other.readable():
            break
        other.recv_until().check()
    return [(channel, str(i)) for i in range(1, n + 1)]


def test_commit_that_waits_delays_no_listen(pooler, pg, other):
    """as in PostgreSQL; what it tells is heard once"""
    p = keep(pooler)
    a = Ear(p.raw())
    a.do("listen x")
    wait_moved(p, 1)
    other.query("set synchronous_commit = on")
    pg.sql("alter system set synchronous_standby_names = nobody",
           "select pg_reload_conf()")
    try:
        want = hold_commit(pg, other, "x")
        a.do("listen y")
        a.do("unlisten z")
    finally:
        pg.sql("alter system reset synchronous_standby_names",
               "select pg_reload_conf()")
    other.recv_until().check()
    other.query("notify y")
    assert a.hear("y", "") == want + [("y", "")]


def test_notifications_come_amid_rows(pooler, other, latch):
    """between two messages, while a result is on its way"""
    p = keep(pooler, default_pool_size=2)
    a = Ear(p.raw(rcvbuf=4096))
    a.do("listen x")
    wait_moved(p, 1)
    a.conn.send(pq.query("select repeat('r', 50000) from "
                         "generate_series(1, 400)"))
    a.conn.recv()
    for i in range(50):
        other.query("notify x, '%d'" % i)
    res = a.conn.recv_until()
    for m in res.messages:
        a._take(*m)
    assert len(res.rows) == 400 and not res.errors
    assert len(a.heard) == 50 or \
        a.hear("x", "49") == [("x", str(i)) for i in range(50)]


def test_lost_listener(pooler, pg, other):
    """each client is told when it is replaced, and hears again"""
    p = keep(pooler, server_login_retry=0.1)
    a, b, c = (Ear(p.raw()) for _ in range(3))
    a.do("listen x")
    b.do("listen y")
    c.do("select 1")
    wait_moved(p, 1, 1)
    pg.terminate(listeners(p)[0]["remote_pid"])
    p.wait_log(r"S-.*closing because: .*\(FATAL: terminating "
               "connection due to administrator command")
    for e in (a, b):
        assert e.hear(RECONNECTED, "") == [(RECONNECTED, "")]
        assert "may have been lost" in e.notices[0].message
    other.query("notify x; notify y")
    assert a.hear("x", "") == [("x", "")]
    assert b.hear("y", "") == [("y", "")]
    c.do("select 1")
    assert c.heard == [] and c.notices == []


@pytest.mark.setting("listen_lost")
@pytest.mark.database("listen_lost")
@pytest.mark.user("listen_lost")
@pytest.mark.parametrize("where", ["setting", "database", "user"])
@pytest.mark.parametrize("busy", [False, True], ids=["idle", "busy"])
def test_lost_listener_ends_who_listens(pooler, pg, other, where, busy):
    """listen_lost=close: as PostgreSQL does; nobody else is closed"""
    p = pooler(
        {"p0": "listen_lost=close" if where == "database" else ""},
        users={"app": "listen_lost=close"} if where == "user" else {},
        session_state="keep", server_login_retry=0.1,
        **({"listen_lost": "close"} if where == "setting" else {}))
    a, c = Ear(p.raw()), Ear(p.raw())
    a.do("listen x")
    wait_moved(p, 1)
    c.do("select 1")
    if busy:
        a.do("begin; select 1")
    pg.terminate(listeners(p)[0]["remote_pid"])
    e = a.conn.recv_all().errors[-1]
    assert (e.severity, e.code, e.message) == (
        "FATAL", "57P01", "the connection that listens was lost (listen_lost)")
    assert c.do("select 2") == (["SELECT 1"], [])
    d = Ear(p.raw())
    d.do("listen x")
    wait_moved(p, 1)
    other.query("notify x, '1'")
    assert d.hear("x", "1") == [("x", "1")]


def test_pause_and_reconnect(pooler, other):
    p = keep(pooler)
    a = Ear(p.raw())
    a.do("listen x")
    wait_moved(p, 1)
    p.admin("pause")
    assert p.servers() == []
    p.admin("resume")
    assert a.hear(RECONNECTED, "") == [(RECONNECTED, "")]
    with p.console() as k:
        k.query("suspend")
        other.query("notify x, '2'")
        assert not a.conn.readable(0.1)
        k.query("resume")
    assert a.hear("x", "2") == [("x", "2")]


def test_pool_that_becomes_one_of_sessions(pooler, other):
    """what a client says LISTEN to from then on, its server tells it"""
    p = keep(pooler)
    a = Ear(p.raw())
    a.do("listen x")
    wait_moved(p, 1)
    p.admin("set pool_mode = session")
    a.do("listen y; listen x")
    other.query("notify x, '1'; notify y, '2'")
    other.query("notify y, '3'")
    wait_until(lambda: a.do("select 1") and len(a.heard) >= 3)
    assert sorted(a.heard) == [("x", "1"), ("y", "2"), ("y", "3")]


@pytest.mark.parametrize("sql, left", [
    ("unlisten x", "y"), ("discard all", ""),
    ("begin; unlisten *; listen z; commit", "z"),
    ("begin; unlisten *; savepoint a; listen z; rollback to a; commit", "")])
@pytest.mark.parametrize("change", ["session_state = forget",
                                    "session_state = clean",
                                    "pool_mode = session"])
def test_who_listened_before_a_reload_may_stop(pooler, other, change, sql,
                                               left):
    """in a pool that is none of keep any more: and nobody else hears it"""
    p = keep(pooler)
    a, b = Ear(p.raw()), Ear(p.raw())
    a.do("listen x; listen y")
    wait_moved(p, 2)
    p.admin("set " + change)
    other.query("notify x, '1'")
    assert a.hear("x", "1") == [("x", "1")]
    for part in sql.split("; "):
        a.do(part)
    a.do("notify x; notify y; notify z")
    a.do("listen fence; notify fence")
    assert [h[0] for h in a.hear("fence", "")] == list(left) + ["fence"]
    if "session" not in change.split():
        b.do("select 1")
        assert b.heard == []


@pytest.mark.parametrize("handed_over", [False, True])
@pytest.mark.parametrize("ahead", ["", "select 1"])
@pytest.mark.parametrize("sql", ["unlisten x", "discard all",
                                 "begin; unlisten x; commit"])
def test_pool_of_sessions_tells_nothing_late(pooler, other, sql, ahead,
                                             handed_over):
    """what the listener has not told yet comes ahead of the end, or never"""
    p = keep(pooler)
    a = Ear(p.raw())
    a.do("listen x")
    wait_moved(p, 1)
    # a request waits for the mark of that move: the listener has to tell it
    other.query("notify x, '0'")
    a.hear("x", "0")
    pid = int(listeners(p)[0]["remote_pid"])
    os.kill(pid, signal.SIGSTOP)
    try:
        p.admin("set pool_mode = session")
        other.query("notify x, '1'")
        for q in [ahead] * bool(ahead) + [sql]:
            a.conn.send(pq.query(q))
        # its server has told the mark: the listener alone has not
        wait_until(lambda: other.value(
            "select count(*) from pg_stat_activity where state = 'idle' and "
            "query like '%LISTEN \"x\";NOTIFY \"pgsluice.%'") != "0")
        assert not a.conn.readable()
        if handed_over:
            take_over(pooler, p, pool_mode="session")
    finally:
        os.kill(pid, signal.SIGCONT)
    for q in [ahead] * bool(ahead) + [sql]:
        a.take_all()
    assert a.heard in ([], [("x", "1")]) or (
        handed_over and (RECONNECTED, "") in a.heard)
    a.heard.clear()
    other.query("notify x, '2'")
    a.do("listen fence; notify fence")
    assert a.hear("fence", "") == [("fence", "")]


@pytest.mark.parametrize("change", ["session_state = forget",
                                    "session_state = clean",
                                    "pool_mode = session"])
def test_reload_just_behind_a_listen_loses_nothing(pooler, other, change):
    """what comes while the server is asked for channels"""
    p = keep(pooler, default_pool_size=12)
    with p.console() as k:
        for _ in range(6):
            a = Ear(p.raw())
            a.do("listen x")
            k.query("set " + change)
            for i in range(4):
                other.query("notify x, '%d'" % i)
            assert a.hear("x", "3") == [("x", str(i)) for i in range(4)]
            k.query("set pool_mode = transaction")
            k.query("set session_state = keep")


GOES = {
    "query": ([pq.query("unlisten x")], 1),
    "all": ([pq.query("discard all")], 1),
    "extended": ([pq.parse("unlisten x"), pq.bind(), pq.execute(),
                  pq.sync()], 1),
    "burst": ([pq.query("select 1"), pq.query("unlisten x"),
               pq.query("select 2")], 3),
    "several": ([pq.query("select 1; unlisten x")], 1),
    "batch": ([pq.parse("select 1"), pq.bind(), pq.execute(),
               pq.parse("unlisten x"), pq.bind(), pq.execute(), pq.sync()], 1),
}
AMID = {
    "move": [], "moved": [],
    "flush": [pq.parse("select 5"), pq.flush()],
    "half": [pq.query("select 7")[:8]],
    "busy": [pq.query("select pg_advisory_xact_lock(7)")],
}
BEHIND = {"flush": [pq.bind(), pq.execute(), pq.sync()],
          "half": [pq.query("select 7")[8:]], "busy": []}


@pytest.mark.parametrize("how", GOES)
@pytest.mark.parametrize("amid", AMID)
@pytest.mark.parametrize("change", ["session_state = forget",
                                    "session_state = clean",
                                    "pool_mode = session"])
def test_who_stops_amid_a_reload_hears_no_more(pooler, other, how, amid,
                                               change):
    """the channel is gone, wherever the client has it from at that moment"""
    p = keep(pooler, default_pool_size=9)
    parts, answers = GOES[how]
    with p.console() as k:
        for _ in range(3):
            a = Ear(p.raw())
            a.do("listen x")
            if amid != "move":
                wait_moved(p, 1)
            other.query("select pg_advisory_lock(7)")
            if AMID[amid]:
                a.conn.send(*AMID[amid])
                wait_until(lambda: amid == "half" or
                           p.pool()["sv_active"] == 1)
            k.query("set " + change)
            other.query("select pg_advisory_unlock(7)")
            a.conn.send(*BEHIND.get(amid, []), *parts)
            for _ in range(answers + (amid in BEHIND)):
                a.take_all()
            for i in "12":
                other.query("notify x, '%s'" % i)
                a.do("select 2")
            a.do("listen fence; notify fence")
            assert a.hear("fence", "") == [("fence", "")]
            a.conn.close()
            k.query("set pool_mode = transaction")
            k.query("set session_state = keep")
            p.wait_pool(sv_active=0)


def test_mark_of_another_client_is_told_to_nobody(pooler, other):
    """the server that a session has to itself listens to it, too"""
    p = keep(pooler, default_pool_size=4)
    a, b = Ear(p.raw()), Ear(p.raw())
    for x in a, b:
        x.do("listen x")
    wait_moved(p, 1, 1)
    p.admin("set pool_mode = session")
    for x in a, a, b, b:
        x.do("select 1")
    other.query("notify x, 'end'")
    for x in a, b:
        assert x.hear("x", "end") == [("x", "end")]


def test_pool_that_keeps_again(pooler, other):
    """who listened all the time does so; its settings follow it again"""
    p = keep(pooler)
    a, b = Ear(p.raw()), Ear(p.raw())
    a.do("listen x")
    wait_moved(p, 1)
    p.admin("set session_state = clean")
    a.do("set work_mem = '5MB'; create temp table t (a int); listen y")
    wait_moved(p, 2)
    assert b.value("show work_mem") != "5MB"
    assert a.do("select * from t")[1] == ["42P01"]
    p.admin("set session_state = keep")
    a.do("set work_mem = '6MB'; unlisten x")
    assert b.value("show work_mem") not in ("5MB", "6MB")
    assert a.value("show work_mem") == "6MB"
    other.query("notify x; notify y")
    assert a.hear("y", "") == [("y", "")]


def test_reconnect_loses_nothing(pooler, other):
    """another connection takes the place of the listener, at a mark"""
    p = keep(pooler)
    a = Ear(p.raw())
    a.do("listen x")
    wait_moved(p, 1)
    want, pids = [], set()
    while len(pids) < 4:
        if not pids or listeners(p)[0]["remote_pid"] not in pids:
            pids.add(listeners(p)[0]["remote_pid"])
            p.admin("reconnect")
        want.append(("x", str(len(want))))
        other.query("notify x, '%s'" % want[-1][1])
    assert a.hear(*want[-1]) == want and not a.notices


@pytest.mark.parametrize("sql, left", [
    ("unlisten x", []), ("discard all", []),
    ("begin; unlisten x; listen y; commit", ["y"])])
def test_who_leaves_while_nobody_listens_is_told(pooler, pg, other, sql, left):
    """that something may be lost; what it listens to from then on is heard"""
    p = keep(pooler)
    a = Ear(p.raw())
    a.do("listen x")
    wait_moved(p, 1)
    pg.sql("alter database p0 allow_connections false", db="postgres")
    try:
        pg.terminate(listeners(p)[0]["remote_pid"])
        wait_until(lambda: not listeners(p))
        a.do(sql)
        assert a.heard == [(RECONNECTED, "")]
        for ch in "xy":
            other.query("notify %s" % ch)
        a.do("listen z; notify z")
    finally:
        pg.sql("alter database p0 allow_connections true", db="postgres")
    assert a.hear("z", "") == [(RECONNECTED, ""), *[(ch, "") for ch in left],
                               ("z", "")]


def test_listener_of_another_server_is_told(pooler, pg, other):
    """what is heard there has no place in what was heard before"""
    p = keep(pooler)
    a = Ear(p.raw())
    a.do("listen x")
    wait_moved(p, 1)
    p.dbs["p0"] = "host=127.0.0.1 port=%d dbname=p1" % pg.port
    p.reload()
    assert a.hear(RECONNECTED, "") == [(RECONNECTED, "")]


def test_online_restart(pooler, other):
    """-R: the connection that listens is handed over, nothing is lost"""
    p = keep(pooler)
    a = Ear(p.raw())
    a.do("listen x")
    wait_moved(p, 1)
    pid = listeners(p)[0]["remote_pid"]
    other.query("notify x, '1'")
    q = take_over(pooler, p)
    assert listeners(q)[0]["remote_pid"] == pid
    other.query("notify x, '2'")
    assert a.hear("x", "2") == [("x", "1"), ("x", "2")] and not a.notices
    a.do("unlisten x")
    wait_moved(q)


def test_online_restart_before_it_has_moved(pooler, other):
    """the server goes on to listen"""
    p = keep(pooler, max_db_connections=1)
    a = Ear(p.raw())
    a.do("listen x")
    q = take_over(pooler, p, max_db_connections=2)
    other.query("notify x")
    assert a.hear("x", "") == [("x", "")]
    a.do("select 1")
    wait_moved(q, 1)
    other.query("notify x")
    assert a.hear("x", "") == [("x", "")]


def test_connection_is_closed_when_nobody_listens(pooler):
    p = keep(pooler, server_idle_timeout=0.5)
    a = Ear(p.raw())
    a.do("listen x")
    wait_moved(p, 1)
    a.do("unlisten x")
    wait_until(lambda: not listeners(p))
    a.do("listen x")
    wait_moved(p, 1)
    a.conn.close()
    wait_until(lambda: not p.servers())


def test_no_room_for_a_listener(pooler, other):
    """then the client keeps its server, and hears all the same"""
    p = keep(pooler, max_db_connections=1)
    a = Ear(p.raw())
    a.do("listen x")
    other.query("notify x")
    assert a.hear("x", "") == [("x", "")]
    assert len(p.servers()) == 1 and not listeners(p)
    a.do("unlisten x")
    p.wait_pool(sv_active=0)


def test_other_encoding_keeps_the_server(pooler, other):
    """names and payloads are those of its client_encoding"""
    p = keep(pooler, default_pool_size=2)
    a = Ear(p.raw(client_encoding="LATIN1"))
    a.do("listen x")
    other.query("notify x, '\u00e9'")
    kind, body = a.conn.recv()
    assert kind == "A" and body[4:] == b"x\0\xe9\0"
    assert p.pool()["sv_active"] == 1


def test_who_is_killed_before_it_is_settled_leaves_nothing(pooler, other):
    """the next client of its server is asked for all that it listens to"""
    p = keep(pooler)
    a, b = Ear(p.raw()), Ear(p.raw())
    a.do("listen x")
    b.do("listen y; listen z")
    wait_moved(p, 1, 2)
    pid = int(listeners(p)[0]["remote_pid"])
    os.kill(pid, signal.SIGSTOP)
    try:
        a.conn.send(pq.query("discard all"))
        wait_until(lambda: "active" in [r["state"] for r in p.servers()])
        p.admin("kill_client " + [r["id"] for r in p.show("clients")
                                  if r["channels"] == "1"][0])
    finally:
        os.kill(pid, signal.SIGCONT)
    wait_moved(p, 2)
    b.do("unlisten z")
    wait_moved(p, 1)
    other.query("notify y")
    assert b.hear("y", "") == [("y", "")]


@pytest.mark.parametrize("mode, tags", [("transaction", ["UNLISTEN"]),
                                        ("session", [])])
def test_query_timeout_counts_until_the_end_is_told(pooler, mode, tags):
    """the connection that listens stands still; in a pool that becomes one of
    sessions, the query waits for it"""
    p = keep(pooler)
    a = Ear(p.raw())
    a.do("listen x; listen y")
    wait_moved(p, 2)
    p.admin("set query_timeout='0.3'")
    pid = int(listeners(p)[0]["remote_pid"])
    os.kill(pid, signal.SIGSTOP)
    try:
        p.admin("set pool_mode = " + mode)
        a.conn.send(pq.query("unlisten x"))
        res = a.conn.recv_all()
    finally:
        os.kill(pid, signal.SIGCONT)
    assert res.tags == tags
    assert [e.message for e in res.errors] == ["query timeout"]


def test_who_does_not_read_is_closed(pooler, other):
    """no more than 1 MB waits for it"""
    p = keep(pooler)
    a = Ear(p.raw(rcvbuf=4096))
    a.do("listen x")
    wait_moved(p, 1)

    def closed():
        other.query("".join("notify x, '%s%d';" % ("n" * 7900, i)
                            for i in range(100)))
        return "too many notifications wait to be read" in p.log
    wait_until(closed)


class Model:
    """A client of the pooler and one of PostgreSQL, that do the same."""

    def __init__(self, p, pg, name):
        self.name, self.n = name, 0
        self.pooled, self.own = Ear(p.raw()), Ear(direct(pg))

    def do(self, sql):
        assert self.pooled.do(sql) == self.own.do(sql), sql

    def compare(self):
        """What both have heard by now."""
        self.do("select 1")
        while len(self.pooled.heard) < len(self.own.heard):
            self.pooled._take(*self.pooled.conn.recv())
        assert self.pooled.heard == self.own.heard, self.name

    def step(self, rnd):
        self.n += 1
        ch = rnd.choice("abc")
        self.do(rnd.choice([
            "listen %s" % ch, "unlisten %s" % ch, "listen %s" % ch,
            "begin", "commit", "rollback", "savepoint s", "rollback to s",
            "begin; listen %s; savepoint s; unlisten *" % ch, "unlisten *",
            "select 1", "discard all", "select 1/0",
            "do $$ begin execute 'unlisten %s'; end $$" % ch,
            "reset all", "set work_mem = '1MB'"]))


@pytest.mark.parametrize("seed, check", [(1, "told"), (2, "told"),
                                         (3, "always")])
def test_random_programs(pooler, pg, other, seed, check):
    """several clients: each hears what a connection of its own does"""
    p = keep(pooler, default_pool_size=4, session_state_check=check)
    rnd = random.Random(seed)
    both = [Model(p, pg, "m%d" % i) for i in range(4)]
    for n in range(150):
        m = rnd.choice(both)
        m.step(rnd)
        # in a transaction PostgreSQL tells nothing
        if all(m.own.status == "I" for m in both):
            for ch in "abc":
                other.query("notify %s, '%d'" % (ch, n))
            for m in both:
                m.compare()
    for m in both:
        m.do("rollback")
        m.do("listen fence")
    other.query("notify fence")
    for m in both:
        got, want = m.pooled.hear("fence", ""), m.own.hear("fence", "")
        assert got == want, m.name
        m.own.conn.close()
