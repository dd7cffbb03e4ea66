# test_server_scram.py - servers that err, lie or chatter while we log in.
# SPDX-License-Identifier: ISC
import struct

import pytest

import fakepg as fake
import pq
from harness import TIMEOUT, wait_until

DETAIL = ("28P01", 'password authentication failed for user "app"')


def auth(code, body=b""):
    return pq.msg("R", struct.pack("!i", code) + body)


def scripted(steps):
    """An on_login that does steps of (name, bytes to send before it)."""
    def on_login(sess):
        srv = pq.ScramServer(pq.scram_secret("apppw"))
        sess.send(steps.get("sasl", b""), auth(10, b"SCRAM-SHA-256\0\0"))
        body = sess.read_msg()[1]
        first = srv.challenge(body[body.index(b"\0") + 5:])
        sess.send(steps.get("continue", b""), auth(11, first))
        ok, sig = srv.verify(sess.read_msg()[1])
        sess.send(steps.get("final", b""), auth(12, sig))
        sess.send(steps.get("ok", b""))
        sess.welcome()
        while True:
            kind, body = sess.read_msg()
            sess.received.append((kind, body))
            if kind == "X":
                return True
            sess.default(kind, body)
    return on_login


WHEN = ["sasl", "continue", "final", "ok"]


@pytest.mark.parametrize("when", WHEN)
def test_error_in_the_exchange_reaches_the_client(pooler, fakepg, when):
    """pgagroal #885: ErrorResponse during SCRAM"""
    # regressions: pgagroal#885
    f = fakepg(on_login=scripted({when: fake.error(
        DETAIL[1], DETAIL[0], "FATAL")}))
    p = pooler({"p0": f.conn, "p1": ""})
    with pytest.raises(pq.PgError) as e:
        p.raw()
    assert (e.value.code, e.value.message) == DETAIL
    assert p.raw(database="p1").value("select 1") == "1"
    wait_until(lambda: f.sessions[0].ended)


@pytest.mark.parametrize("size", [10, 70000])
@pytest.mark.parametrize("when", WHEN)
def test_notice_in_the_exchange_is_no_harm(pooler, fakepg, when, size):
    """authentication.md 5: any length; PB#1.6.1, Supavisor 75ebfde4"""
    f = fakepg(on_login=scripted({when: fake.notice("n" * size)}))
    p = pooler({"p0": f.conn})
    assert p.raw().value("select 1")


@pytest.mark.parametrize("when", WHEN)
def test_long_error_in_the_exchange_is_read_whole(pooler, fakepg, when):
    """authentication.md 5: large ErrorResponse during login; PB#1446"""
    text = "too long " * 12000
    f = fakepg(on_login=scripted({when: fake.error(text, "28000", "FATAL")}))
    p = pooler({"p0": f.conn})
    with pytest.raises(pq.PgError) as e:
        p.raw()
    assert e.value.code == "28000"
    assert e.value.message.startswith("too long too long ")


@pytest.mark.parametrize("when,data", [
    ("continue", auth(10, b"SCRAM-SHA-256\0\0")),	# asked twice
    ("final", auth(11, b"r=x,s=c2FsdA==,i=4096")),	# challenged twice
    ("final", auth(12, b"v=AAAA")),			# a wrong signature
    ("final", auth(12, b"e=other-error")), ("final", auth(0)),
    ("ok", auth(12, b"v=AAAA")), ("ok", auth(3)), ("ok", auth(10)),
    ("sasl", auth(11, b"r=x,s=c2FsdA==,i=1")), ("sasl", auth(12, b"v=AA")),
    ("sasl", auth(99)), ("sasl", pq.msg("R", b"\0")), ("sasl", pq.msg("R")),
    ("continue", b"R\0\0\0\3"), ("continue", b"R\x7f\xff\xff\xff")])
def test_messages_out_of_order_end_the_login(pooler, fakepg, when, data):
    """authentication.md 5: in proper order and not repeated"""
    f = fakepg(on_login=scripted({when: data}))
    p = pooler({"p0": f.conn, "p1": ""}, client_login_timeout=2)
    with pytest.raises((pq.PgError, pq.Closed)):
        p.raw()
    assert not f.sessions[0].received
    p.admin("set client_login_timeout = %d" % TIMEOUT)
    assert p.raw(database="p1").value("select 1") == "1"


def test_wrong_signature_is_told(pooler, fakepg):
    """authentication.md 5; client-errors.md 4"""
    f = fakepg(on_login=scripted({"final": auth(12, b"v=" + b"A" * 43
                                                + b"=")}))
    p = pooler({"p0": f.conn})
    with pytest.raises(pq.PgError) as e:
        p.raw()
    assert e.value.message == "server login failed: invalid server signature"
    assert "invalid server signature" in p.log


@pytest.mark.parametrize("when", ["sasl", "continue", "final"])
def test_server_that_leaves_in_the_exchange(pooler, fakepg, when):
    """bugs of others, family 4"""
    gone = []

    def on_login(sess):
        gone.append(sess)
        if len(gone) > 1:
            return scripted({})(sess)
        srv = pq.ScramServer(pq.scram_secret("apppw"))
        sess.send(auth(10, b"SCRAM-SHA-256\0\0"))
        body = sess.read_msg()[1]
        if when != "sasl":
            first = auth(11, srv.challenge(body[body.index(b"\0") + 5:]))
            sess.send(first if when == "final" else first[:30])
        if when == "final":
            sess.read_msg()
        sess.hang_up()
        return True
    f = fakepg(on_login=on_login)
    p = pooler({"p0": f.conn}, server_login_retry=0.1)
    assert p.raw().value("select 1")
    assert len(gone) == 2
