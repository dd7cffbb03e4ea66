# test_rollback.py - clients that leave inside of a transaction.
# SPDX-License-Identifier: ISC
"""server_rollback_on_disconnect: the server is kept if it provably owes
nothing, and closed in any other case.
"""
import threading
import time

import pytest

import pq
from fakepg import Gone, complete, error, notice, param, ready
from harness import REFERENCE, TIMEOUT, wait_until

pytestmark = [
    pytest.mark.skipif(REFERENCE, reason="never rolls back"),
    pytest.mark.setting("server_rollback_on_disconnect")]

PID = "select pg_backend_pid()"
LEAVE = {"terminate": lambda c: c.close(),
         "eof": lambda c: c.close(polite=False),
         "reset": lambda c: c.abort()}


# --- a real server --------------------------------------------------------

@pytest.fixture
def one(pooler):
    def make(mode="transaction", **settings):
        return pooler(pool_mode=mode, default_pool_size=1,
                      server_rollback_on_disconnect=1, **settings)
    return make


@pytest.mark.parametrize("mode", ["session", "transaction"])
@pytest.mark.parametrize("how", LEAVE)
def test_transaction_is_rolled_back_and_the_server_kept(one, pg, how, mode):
    """nothing of it is left, in the database or in the session"""
    p = one(mode)
    pg.sql("truncate sink", db="p0")
    c, d = p.raw(), p.raw()
    c.query("begin; insert into sink values (1, 'x'); set timezone to "
            "'Asia/Tokyo'; savepoint a; lock table tab in access exclusive "
            "mode; declare cur cursor for select 1; "
            "create temp table leftover (a int)")
    pid = c.value(PID)
    d.send(pq.query("select count(*) from sink; select count(*) from tab; "
                    "show timezone; select count(*) from pg_cursors; "
                    "select to_regclass('leftover'); " + PID))
    p.wait_pool(cl_waiting=1)
    LEAVE[how](c)
    assert d.recv_until().check().rows == [
        ["0"], ["1000"], ["UTC"], ["0"], [None], [pid]]
    assert "S-" not in "".join(x for x in p.log.splitlines()
                               if "closing because" in x)


def test_failed_transaction_is_rolled_back(one):
    """status E"""
    p = one()
    c = p.raw()
    pid = c.value(PID)
    c.query("begin")
    assert c.try_query("select 1/0").status == "E"
    c.close()
    assert p.raw().value(PID) == pid


def test_session_is_reset_behind_the_rollback(one):
    """pooling.md 9: the reset query, as usual"""
    p = one("session")
    c = p.raw()
    c.query("set work_mem = '7MB'; create temp table leftover (a int)")
    c.query("begin")
    pid = c.value(PID)
    c.close()
    d = p.raw()
    assert d.value(PID) == pid
    assert d.value("show work_mem") != "7MB"
    assert d.value("select to_regclass('leftover')") is None


def test_statements_prepared_in_it_stay_known(one):
    """PREPARE is no part of a transaction"""
    p = one()
    c = p.raw()
    c.send(pq.query("begin"), pq.parse("select 41 + 1", "s"),
           pq.bind("s"), pq.execute(), pq.sync())
    c.recv_until()
    c.recv_until().check()
    c.close()
    d = p.raw()
    for name in ("a", "b"):
        assert d.extended("select 41 + 1", name=name).rows == [["42"]]
    assert len(p.servers()) == 1


@pytest.mark.parametrize("sent,why", [
    (pq.query("select pg_sleep(60)"), "with query in progress"),
    (pq.parse("select 1") + pq.flush(), "while server was not ready"),
    (pq.parse("selec") + pq.flush(), "while server was not ready"),
    (pq.query("select 1")[:9], "before everything was sent to the server"),
    (pq.query("copy tab from stdin"), "with query in progress"),
    (pq.query("copy tab from stdin") + pq.copy_data(b"7\tx\n"),
     "with query in progress")])
def test_what_is_owed_closes_the_server(one, pg, sent, why):
    """pooling.md 13; PgDog #805: no ROLLBACK into the middle of something"""
    # regressions: yb#33914
    p = one()
    c = p.raw()
    c.query("begin")
    pid = int(c.value(PID))
    if why.startswith("before"):
        sent = pq.query("select '%s'" % ("x" * 200000))[:150000]
    before = p.stats()["total_received"]
    c.send(sent)
    if why.startswith("while"):
        assert c.recv()[0] in "1E"
    elif b"copy" in sent:
        assert c.recv()[0] == "G"
    else:
        wait_until(lambda: p.stats()["total_received"] > before)
    c.abort()
    p.wait_log("closing because: client disconnect(ed)? " + why)
    assert int(p.raw().value(PID)) != pid
    pg.terminate(pid)


# --- a scripted one -------------------------------------------------------

class Stage:
    """One client inside a transaction; what comes for ROLLBACK is scripted."""

    def __init__(self, pooler, fakepg, answer, **settings):
        self.answer, self.asked = answer, threading.Event()
        self.f = fakepg(handler=self.handle)
        settings.setdefault("default_pool_size", 1)
        self.p = pooler({"p0": self.f.conn},
                        server_rollback_on_disconnect=1, **settings)
        self.c = self.p.raw()
        self.c.query("begin")
        self.s = self.f.sessions[0]

    def handle(self, sess, kind, body):
        if body == b"ROLLBACK\0":
            self.asked.set()
            return self.answer(sess)

    def queries(self):
        return [s.queries() for s in self.f.sessions]


def fails(sess):
    sess.send(error("no"), ready("I"))
    return True


def fails_on(sess):
    sess.send(error("no"), ready("E"))
    return True


def stays(sess):
    sess.send(complete("ROLLBACK"), ready("T"))
    return True


def dies(sess):
    sess.hang_up()


def half(sess):
    sess.send(complete("ROLLBACK"), ready()[:4])
    raise Gone


def fatal(sess):
    sess.send(error("terminating connection", "57P01", "FATAL"))
    raise Gone


def garbage(sess):
    sess.send(b"\x01\0\0\0\4")
    return True


def twice(sess):
    sess.send(complete("ROLLBACK"), ready("I"), ready("I"))
    return True


@pytest.mark.parametrize("answer,why", [
    (fails, "rollback failed"), (fails_on, "rollback failed"),
    (stays, "rollback failed"), (dies, "server conn crashed\\?"),
    (half, "server conn crashed\\?"), (fatal, "server conn crashed\\?"),
    (garbage, "unknown pkt"), (twice, "unknown pkt|idle server got dirty")])
def test_rollback_that_fails_closes_the_server(pooler, fakepg, answer, why):
    """the next client gets another one"""
    st = Stage(pooler, fakepg, answer)
    st.c.close()
    d = st.p.raw()
    assert d.value("select 7") == "select 7"
    st.p.wait_log("S-.*closing because: (%s) " % why)
    assert st.queries() == [["begin", "ROLLBACK"], ["select 7"]]


def test_rollback_has_its_time(pooler, fakepg):
    """three seconds"""
    st = Stage(pooler, fakepg, lambda sess: True)
    start = time.monotonic()
    st.c.close()
    assert st.p.raw().value("select 7") == "select 7"
    assert 2.9 < time.monotonic() - start < TIMEOUT / 2
    st.p.wait_log("S-.*closing because: rollback timeout")


@pytest.mark.parametrize("split", [None, 1])
def test_rollback_among_other_messages(pooler, fakepg, split):
    """notices and reports are nobody's; parameters are remembered"""
    def answer(sess):
        sess.send(notice("hm"), param("TimeZone", "Asia/Tokyo"),
                  pq.msg("A", b"\0\0\0\1chan\0\0"), complete("ROLLBACK"),
                  param("DateStyle", "German"), ready(), split=split)
        sess.status = "I"
        return True
    st = Stage(pooler, fakepg, answer)
    st.c.close()
    d = st.p.raw()
    res = d.query("select 7")
    assert res.kinds == "TDCZ"
    wait_until(lambda: len(st.s.queries()) == 4)
    sql = st.s.queries()
    assert sql[:2] == ["begin", "ROLLBACK"] and sql[3] == "select 7"
    assert "TimeZone='UTC'" in sql[2] and "DateStyle='ISO, MDY'" in sql[2]
    assert len(st.f.sessions) == 1


def test_nobody_gets_the_server_before_it_is_done(pooler, fakepg):
    """and the client that waits gets it then"""
    gate = threading.Event()

    def answer(sess):
        assert gate.wait(TIMEOUT)
    st = Stage(pooler, fakepg, answer, pool_mode="session")
    d = st.p.raw()
    d.send(pq.query("select 7"))
    st.p.wait_pool(cl_waiting=1)
    st.c.close()
    assert st.asked.wait(TIMEOUT)
    st.p.wait_pool(sv_tested=1, cl_waiting=1)
    assert not d.readable()
    gate.set()
    assert d.recv_until().rows == [["select 7"]]
    assert st.queries() == [["begin", "ROLLBACK", "DISCARD ALL", "select 7"]]


@pytest.mark.parametrize("cmd,why", [("reconnect p0", "close_needed"),
                                     ("pause p0", "pause mode"),
                                     ("kill p0", "database removed")])
def test_console_reaches_a_server_that_rolls_back(pooler, fakepg, cmd, why):
    """it is not handed out afterwards"""
    gate = threading.Event()

    def answer(sess):
        assert gate.wait(TIMEOUT)
    st = Stage(pooler, fakepg, answer)
    with st.p.console() as admin:
        st.c.close()
        assert st.asked.wait(TIMEOUT)
        admin.send(pq.query(cmd))
        if "pause" not in cmd:
            admin.recv_until().check()
        else:
            st.p.wait_log("PAUSE 'p0' command issued")
        gate.set()
        if "pause" in cmd:
            admin.recv_until().check()
    st.p.wait_log("S-.*closing because: " + why)
    wait_until(lambda: st.s.ended)


def test_cancel_on_its_way_closes_the_server(pooler, fakepg):
    """PB#717: the signal might hit the next client's query"""
    gate = threading.Event()
    st = Stage(pooler, fakepg, lambda sess: None, default_pool_size=2)
    st.f.on_cancel = lambda *_: gate.wait(TIMEOUT)
    st.f.handler = lambda sess, kind, body: body.startswith(b"sleep") and (
        wait_until(lambda: st.f.cancels()) and sess.send(
            complete("SLEEP"), ready("T")) is None)
    st.c.send(pq.query("sleep"))
    x = st.p.open()
    x.send(pq.untyped(pq.CANCEL_REQUEST, st.c.key))
    assert st.c.recv_until().status == "T"
    st.c.close()
    st.p.wait_log("closing because: client disconnect while server was not "
                  "ready")
    gate.set()
    assert x.at_eof()
    assert "ROLLBACK" not in st.s.queries()


def test_replication_is_not_rolled_back(pooler, fakepg):
    """such a server is of its client only"""
    st = Stage(pooler, fakepg, lambda sess: None)
    st.c.close()
    assert st.asked.wait(TIMEOUT)
    st.p.wait_pool(sv_idle=1)
    r = st.p.raw(replication="database")
    r.query("begin")
    r.close()
    st.p.wait_log("S-.*closing because: client disconnect while server was "
                  "not ready")
    assert st.queries()[1] == ["begin"]


def test_off_by_default(pooler, fakepg):
    """pooling.md 13: closing the connection is the clean-up"""
    f = fakepg()
    p = pooler({"p0": f.conn})
    c = p.raw()
    c.query("begin")
    c.close()
    p.wait_log("closing because: client disconnect while server was not "
               "ready")
    assert f.sessions[0].queries() == ["begin"]
