# test_races.py - closings, splits and stalls at the worst moment.
# SPDX-License-Identifier: ISC
import signal
import socket
import threading
import time

import pytest

import pq
from fakepg import (Gone, complete, data_row, error, notice, param, ready,
                    row_desc)
from harness import REFERENCE, TIMEOUT, wait_until

pytestmark = pytest.mark.skipif(REFERENCE, reason="newer than that")


# --- replies of our own between the pieces of the server's ----------------

@pytest.mark.parametrize("size", [100, 1 << 20], ids=["short", "long"])
def test_fake_reply_waits_for_the_rest_of_a_row_description(pooler, fakepg,
                                                            size):
    """ParseComplete must not stand inside of another message. The pooler
    passes on the first part of a long description only."""
    gate = threading.Event()
    desc = row_desc("a" * size)

    def handler(sess, kind, body):
        if kind == "D":
            sess.send(desc[:20])
            gate.wait(TIMEOUT)
            sess.send(desc[20:])
            return True
    f = fakepg(handler=handler)
    p = pooler({"p0": f.conn})
    c = p.raw()
    c.send(pq.parse("select 1", "a"), pq.sync())
    assert c.recv_until().kinds == "1Z"
    c.send(pq.describe("S", "a"), pq.parse("select 1", "b"), pq.sync())
    if size > 100:
        c._fill(20)
    wait_until(lambda: p.stats()["total_client_parse_count"] == 2)
    gate.set()
    assert c.recv_until().kinds == "T1Z"


def test_fake_reply_waits_for_the_rest_of_a_notice(pooler, fakepg):
    """family 1: CloseComplete must not stand inside of another message"""
    gate = threading.Event()
    late = notice("x" * 100)

    def handler(sess, kind, body):
        if body == b"go\0":
            sess.send(complete("GO"), ready("T"), late[:20])
            gate.wait(TIMEOUT)
            sess.send(late[20:])
            return True
    f = fakepg(handler=handler)
    p = pooler({"p0": f.conn})
    c = p.raw()
    assert c.query("go").kinds == "CZ"
    c._fill(20)
    c.send(pq.close("S", "none"), pq.query("commit"))
    wait_until(lambda: f.sessions[0].received)
    gate.set()
    assert c.recv_until("Z").kinds == "N3CZ"


# --- somebody leaves --------------------------------------------------------

@pytest.mark.parametrize("missing", [1, 2, 4])
def test_half_a_query_is_not_completed_by_terminate(pooler, fakepg,
                                                    missing):
    """PgDog #805: the client is gone before its message was whole"""
    # regressions: PgDog#805
    f = fakepg()
    p = pooler({"p0": f.conn})
    c = p.raw()
    # a text of less than 64 kB waits until it is whole
    data = pq.query("select /* %s */ 12345" % ("long " * 20000))
    c.send(data[:-missing])
    # not the first one, where parts of the pool have begun meanwhile
    sess = wait_until(lambda: next((
        s for s in f.sessions if len(s.buf) == len(data) - missing - 5), None))
    c.abort()
    wait_until(lambda: sess.ended)
    assert bytes(sess.buf) == data[5:-missing]
    assert sess.received == []


@pytest.mark.parametrize("unix", [False, True])
def test_last_words_are_heard_by_who_sent_more(pooler, unix):
    """A close with bytes unread takes back what was told before."""
    p = pooler(default_pool_size=1)
    owner, c = p.raw(), p.raw(unix=unix, rcvbuf=4096)
    owner.query("begin")
    c.send(pq.query("select repeat('x', 50000)"), pq.query("discard all"),
           pq.msg("P", b"no end"), pq.query("select '%s'" % ("y" * 150000)))
    p.wait_pool(cl_waiting=1)
    owner.query("commit")
    p.wait_log("closing because: failed to parse packet")
    p.admin("show version")
    res = c.recv_all()
    assert len(res.rows[0][0]) == 50000
    assert res.errors[0].message == "failed to parse packet"


HALVES = [pq.parse("select 1", "name"), pq.parse("select 1"),
          pq.bind("name", ("x" * 40,)), pq.bind("name", ("x" * 90000,),
                                                "portal" * 99),
          pq.describe("S", "name"), pq.close("P", "name"),
          pq.query("discard all"),
          pq.parse("select /* %s */ 1" % ("x" * 90000), "name")]


@pytest.mark.parametrize("data", HALVES, ids=lambda d: chr(d[0])
                         + str(len(d)))
@pytest.mark.parametrize("here", [5, 6, 9])
def test_half_a_message_takes_no_server(pooler, fakepg, data, here):
    """Three of them kept handing the only server around: nobody was read,
    and the loop never slept.
    """
    # regressions: PgDog#805, PgDog#762
    f = fakepg()
    p = pooler({"p0": f.conn}, default_pool_size=1, verbose=2)
    clients = [p.raw() for _ in range(3)]
    owner = p.raw()
    owner.query("begin")
    parted = p.log.count("parted from")
    for c in clients:
        c.send(data[:here])
    p.admin("show version")
    assert p.pool()["cl_waiting"] == 0
    owner.query("commit")
    if data[:1] in b"PB":
        data += pq.sync()
    for c in clients[:1] if data[:1] in b"BDC" else clients:
        c.send(data[here:])
        assert c.recv()[0] in "E13C"
    assert p.log.count("parted from") - parted < 30


@pytest.mark.parametrize("how", ["close", "shutdown"])
def test_cancel_of_who_does_not_wait_is_sent_on(pooler, fakepg, how):
    """family 3: some drivers close right behind the CancelRequest"""
    gate = threading.Event()

    def handler(sess, kind, body):
        if body == b"go\0":
            gate.wait(TIMEOUT)
            sess.send(complete("GO"), ready())
            return True
    f = fakepg(handler=handler)
    p = pooler({"p0": f.conn}, default_pool_size=1)
    c = p.raw()
    c.send(pq.query("go"))
    wait_until(lambda: f.sessions[0].queries() == ["go"])
    cc = p.open()
    cc.send(pq.untyped(pq.CANCEL_REQUEST, c.key))
    if how == "close":
        cc.close(polite=False)
    else:
        cc.sock.shutdown(socket.SHUT_WR)
    try:
        wait_until(lambda: f.cancels() == [f.sessions[0].key])
    finally:
        gate.set()
    c.recv_until()


def test_server_that_answers_and_leaves_at_once_is_not_lent(pooler, fakepg):
    """PgDog #1318: the end of file comes along with ReadyForQuery"""
    # regressions: PgDog#1318
    gate = threading.Event()

    def handler(sess, kind, body):
        if body == b"bye\0":
            gate.wait(TIMEOUT)
            sess.send(complete("BYE"), ready())
            sess.sock.shutdown(socket.SHUT_RDWR)
            raise Gone
    f = fakepg(handler=handler)
    p = pooler({"p0": f.conn}, default_pool_size=1)
    a, b = p.raw(), p.raw()
    a.send(pq.query("bye"))
    wait_until(lambda: f.sessions[0].queries() == ["bye"])
    b.send(pq.query("select 'b'"))
    p.wait_pool(cl_waiting=1)
    p.signal(signal.SIGSTOP)
    gate.set()
    wait_until(lambda: f.sessions[0].ended)
    p.signal(signal.SIGCONT)
    assert a.recv_until().tags == ["BYE"]
    assert b.recv_until().rows == [["select 'b'"]]
    assert a.value("select 'a'") == "select 'a'"


@pytest.mark.parametrize("told", [b"", complete("BYE")],
                         ids=["silent", "half a result"])
def test_server_that_resets_is_noticed_with_its_last_words(pooler, fakepg,
                                                           told):
    """bytes and the reset come with one event"""
    gate = threading.Event()

    def handler(sess, kind, body):
        if body == b"bye\0":
            gate.wait(TIMEOUT)
            sess.send(told)
            sess.reset()
    f = fakepg(handler=handler)
    p = pooler({"p0": f.conn}, default_pool_size=1)
    c = p.raw()
    c.send(pq.query("bye"))
    wait_until(lambda: f.sessions[0].queries() == ["bye"])
    p.signal(signal.SIGSTOP)
    gate.set()
    wait_until(lambda: f.sessions[0].ended)
    p.signal(signal.SIGCONT)
    res = c.recv_all()
    assert res.tags == (["BYE"] if told else [])
    assert res.errors[-1].message == "server conn crashed?"


def test_kill_says_nothing_to_who_cancels(pooler, fakepg):
    """client-errors.md 6: every CancelRequest connection"""
    gate, hold = threading.Event(), threading.Event()

    def handler(sess, kind, body):
        if body == b"go\0":
            gate.wait(TIMEOUT)
            raise Gone
    f = fakepg(handler=handler, on_cancel=lambda s, k: hold.wait(TIMEOUT))
    p = pooler({"p0": f.conn}, default_pool_size=1)
    c = p.raw()
    c.send(pq.query("go"))
    wait_until(lambda: f.sessions[0].queries() == ["go"])
    cc = p.open()
    cc.send(pq.untyped(pq.CANCEL_REQUEST, c.key))
    wait_until(lambda: len(f.cancels()) == 1)
    p.admin("kill p0")
    assert cc.at_eof()
    gate.set()
    hold.set()


# --- somebody is slow -------------------------------------------------------

def test_query_waits_for_slow_parameters(pooler, fakepg):
    """pooling.md 21: nothing is sent behind the SETs, no row is lost"""
    slow = threading.Event()

    def handler(sess, kind, body):
        if body.startswith(b"SET"):
            slow.wait(1.5)      # the server takes its time
    f = fakepg(handler=handler)
    p = pooler({"p0": f.conn}, default_pool_size=1)
    p.raw().query("select 0")
    c = p.raw(TimeZone="Asia/Tokyo")
    c.send(pq.query("select 1"))
    assert c.recv_until().rows == [["select 1"]]


# --- the end of trying ------------------------------------------------------

def test_no_server_and_no_pause_between_attempts(pooler):
    """server_login_retry = 0: one attempt a turn, not all in one"""
    p = pooler({"p0": "host=/nowhere/at/all"}, server_login_retry=0)
    p.open().login("app", database="p0", wait=False)
    p.wait_log("sbuf_connect failed")
    with p.raw("admin", "pgbouncer") as con:
        assert con.query("show version").rows


def test_oversized_greeting_does_not_open_servers_for_ever(pooler, fakepg):
    """family 1: the welcome data of a hostile server"""
    f = fakepg(extra_welcome=param("big", "x" * 600000)
               + param("big2", "x" * 600000))
    p = pooler({"p0": f.conn}, default_pool_size=2)
    p.open().login("app", database="p0", wait=False)
    f.wait_logins(1)
    for _ in range(30):
        p.admin("show pools")
    assert len(f.sessions) <= 3


def test_who_shares_a_limit_is_served_without_delay(pooler, fakepg):
    """pooling.md 7: an idle server of the neighbour is evicted at once"""
    f = fakepg()
    p = pooler({"p0": f.conn, "p1": f.conn}, max_db_connections=1)
    a, b, c = p.raw("app"), p.raw("app2"), p.raw(database="p1")

    def handed_over():
        a.query("begin")
        b.send(pq.query("select 2"))
        p.wait_pool(user="app2", cl_waiting=1)
        began = time.monotonic()
        a.query("commit")
        assert b.recv_until().rows
        return time.monotonic() - began

    def alone():
        """the same without a neighbour: a connection and a query"""
        p.admin("reconnect p1")
        wait_until(lambda: not p.servers("p1"))
        began = time.monotonic()
        c.query("begin")
        c.query("commit")
        return time.monotonic() - began
    # to wait for the upkeep would cost 50 ms on the average
    found = []
    while not found or found[-1][0] > found[-1][1] + 20 * 0.03:
        found.append([sum(what() for _ in range(20))
                      for what in (handed_over, alone)])
        assert len(found) < 10, found


def test_failing_fast_keeps_the_limit_of_the_database(pooler, fakepg):
    """pooling.md 10: the attempt that is made then is no exception"""
    bad = []

    def on_login(sess):
        if bad and sess.startup["user"] == "app":
            bad.append(1)
            sess.send(error("no", "28000", "FATAL"))
            raise Gone

    def handler(sess, kind, body):
        if body == b"bye\0":
            sess.send(complete("BYE"), ready())
            raise Gone
    f = fakepg(on_login=on_login, handler=handler)
    p = pooler({"p0": f.conn}, max_db_connections=1, server_login_retry=0.1)
    a = p.raw("app")
    a.query("bye")
    wait_until(lambda: f.sessions[0].ended)
    p.wait_pool(sv_idle=0, sv_used=0)
    bad.append(1)
    with pytest.raises((pq.PgError, pq.Closed)):
        a.query("select 1")
    b = p.raw("app2")
    b.query("begin")
    tried = len(bad)
    old = time.monotonic()
    wait_until(lambda: time.monotonic() - old > 0.2)
    c = p.raw("app")
    c.send(pq.query("select 1"))
    p.wait_pool(user="app", cl_waiting=1)
    for _ in range(5):
        p.admin("show pools")
    assert len(bad) == tried
    b.query("commit")
    assert "cached error: no" in c.recv_all().errors[0].message
    assert len(bad) == tried + 1


# --- behind an error the server discards up to Sync ------------------------

def fail_and_flush(c):
    c.send(pq.parse("selec bad"), pq.msg("H"))
    assert c.recv()[0] == "E"


@pytest.mark.parametrize("data", [
    pq.parse("select 42 /* %s */" % ("x" * 3000), "new"), pq.bind("none"),
    pq.describe("S", "none"), pq.parse("select 0", "taken"),
    pq.close("S", "taken"), b"".join(
        [pq.parse("select 43", "new"), pq.bind("new"), pq.execute()])],
    ids=["parse", "bind", "describe", "taken", "close", "batch"])
def test_prepared_messages_behind_an_error_are_discarded(pooler, data):
    """family 5: as PostgreSQL, which reads on only at Sync"""
    p = pooler(default_pool_size=1)
    c = p.raw()
    c.send(pq.parse("select 0", "taken"), pq.sync())
    assert c.recv_until().kinds == "1Z"
    fail_and_flush(c)
    c.send(data)
    c.send(pq.sync())
    assert c.recv_until().kinds == "Z"
    c.send(pq.bind("taken"), pq.execute(), pq.sync())
    assert c.recv_until().kinds == "2DCZ"
    c.send(pq.parse("select 44", "new"), pq.bind("new"), pq.execute(),
           pq.sync())
    assert c.recv_until().rows == [["44"]]


def test_eviction_behind_an_error_ends(pooler):
    """family 5: the limit was lowered, and nothing can be closed now"""
    p = pooler(default_pool_size=1)
    c = p.raw()
    for i in range(4):
        c.send(pq.parse("select %d" % i, "s%d" % i), pq.sync())
        assert c.recv_until().kinds == "1Z"
    p.admin("set max_prepared_statements = 1")
    fail_and_flush(c)
    c.send(pq.parse("select 9", "new"), pq.sync())
    assert c.recv_until().kinds == "Z"
    c.send(pq.bind("s3"), pq.execute(), pq.sync())
    assert c.recv_until().rows == [["3"]]


def test_failed_batch_does_not_unprepare_the_next_one(pooler):
    """family 5: a Parse of ours is discarded, the next Bind needs it"""
    p = pooler(default_pool_size=2)
    c, other = p.raw(), p.raw()
    c.send(pq.parse("select 7", "st"), pq.sync())
    assert c.recv_until().kinds == "1Z"
    pid = c.value("select pg_backend_pid()")
    # somebody holds the server that has the statement; the other one is free
    other.query("begin")
    if other.value("select pg_backend_pid()") != pid:
        holder = p.raw()
        holder.query("begin")
        other.query("commit")
        other = holder
    c.send(pq.parse("selec bad"), pq.bind("st"), pq.execute(), pq.sync(),
           pq.bind("st"), pq.execute(), pq.sync())
    assert c.recv_until().kinds == "EZ"
    res = c.recv_until()
    assert res.kinds == "2DCZ", res.errors
    other.query("commit")


@pytest.mark.parametrize("how", ["parse", "same name", "good"])
def test_statement_of_the_batch_before_is_waited_for(pooler, how):
    """family 5: and the unfinished batch in between does not hold it up"""
    p = pooler(default_pool_size=1)
    c = p.raw()
    first = [pq.parse("select 8" if how == "good" else "selec bad"),
             pq.parse("select 7", "st"), pq.sync()]
    if how == "parse":
        c.send(*first, pq.parse("select 7", "st2"), pq.bind("st2"),
               pq.execute(), pq.sync())
    elif how == "good":
        c.send(*first, pq.parse("select 5"), pq.bind(), pq.execute(),
               pq.bind("st"), pq.execute(), pq.sync())
    else:
        c.send(*first, pq.parse("select 7", "st"), pq.bind("st"),
               pq.execute(), pq.sync())
    assert c.recv_until().kinds == ("11Z" if how == "good" else "EZ")
    res = c.recv_until()
    assert res.kinds == ("12DC2DCZ" if how == "good" else "12DCZ")
    assert res.rows[-1] == ["7"]
