# test_cancel_stopped.py - SUSPEND and -R wait neither for a cancel request nor
# for the answer to a question of the pooler's own.
# SPDX-License-Identifier: ISC
import pytest

import pq
from fakepg import complete, data_row, error, ready, result, row_desc
from harness import wait_until
from test_cancel_races import SLOW, Stage
from test_takeover_cut import pytestmark, stop  # noqa: F401

CANCELED = error("canceling statement due to user request", "57014")


def test_cancel_that_was_sent_hits_nobody_else(pooler, fakepg, stop):
    """admin-console.md 4.8: the server does not say when the signal comes"""
    st = Stage(pooler, fakepg, suspend_timeout=60)
    c, other = st.p.raw(), st.p.raw()
    s = st.start(c)
    cc = st.request(c)
    st.wait_seen(1)
    still = stop(st.p)
    q = still.go_on()
    s.send(result("done"))
    assert c.recv_until().check().rows == [["done"]]
    other.send(pq.query(SLOW))
    if q is st.p:
        q.wait_pool(sv_being_canceled=1, cl_waiting=1)
        st.cancel_end.set()
        assert cc.at_eof()
    wait_until(lambda: len(st.slow) == 2)
    assert (st.slow[1] is s) == (q is st.p)
    st.cancel_end.set()
    st.slow[1].send(result("its own"))
    assert other.recv_until().check().rows == [["its own"]]
    assert len(st.cancel_seen) == 1


def test_cancel_that_was_not_sent_is_not_lost(pooler, fakepg, stop):
    """admin-console.md 4.8: it waits for the end of the one before"""
    st = Stage(pooler, fakepg, suspend_timeout=60)
    c = st.p.raw()
    s = st.start(c)
    first = st.request(c)
    st.wait_seen(1)
    second = st.request(c)
    st.p.wait_pool(cl_waiting_cancel_req=1)
    q = stop(st.p).go_on()
    if q is st.p:
        assert not second.readable(0)
        st.cancel_end.set()
    st.wait_seen(2)
    st.cancel_end.set()
    assert first.at_eof() and second.at_eof()
    assert [key for _, key in st.cancel_seen] == [s.key, s.key]
    s.send(CANCELED + ready())
    assert c.recv_until().errors[0].code == "57014"


@pytest.mark.parametrize("more", [b"", complete("SELECT 2")])
def test_question_of_the_pooler_is_asked_again(pooler, fakepg, stop, more):
    """pooling.md 25: half of the answer stays behind with -R"""
    asked = []

    def handler(s, kind, body):
        if kind != "Q" or body.startswith(b"select"):
            return False
        if b"pg_show_all_settings" in body:
            asked.append((s, body))
        else:
            s.send(complete("SET") + ready())
        return True
    f = fakepg(handler=handler)
    p = pooler({"p0": f.conn}, default_pool_size=1, suspend_timeout=60,
               session_state="keep")
    c, other = p.raw(), p.raw()
    c.query("set my.own = 'x'").check()
    wait_until(lambda: asked)
    s, question = asked[0]
    assert b"/*base*/" not in question
    half = row_desc("name", "setting") + data_row("role", "none")
    s.send(half + more)
    c.send(pq.query("select mine"))
    still = stop(p)
    q = still.go_on()
    if not more:
        s.send(data_row("my.own", "x"))
    s.send(complete("SELECT 2") * (not more) + ready())
    if q is not p:
        wait_until(lambda: len(asked) == 2)
        assert asked[1] == (s, question)
        s.send(half + data_row("my.own", "y") + complete("SELECT 2")
               + ready())
    else:
        assert len(asked) == 1
    assert c.recv_until().check().rows == [["select mine"]]
    assert other.value("select its own") == "select its own"
