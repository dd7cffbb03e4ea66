# test_server.py - scripted servers: logins, oddities, races, faults.
# SPDX-License-Identifier: ISC
import socket
import struct
import threading
import time

import pytest

import pq
from fakedns import with_dns
from fakepg import (Gone, complete, data_row, error, notice, param, ready,
                    result, row_desc)
from harness import REFERENCE, TIMEOUT, wait_until

newer = pytest.mark.skipif(REFERENCE, reason="newer than that")


# --- logins ---------------------------------------------------------------

@pytest.mark.parametrize("auth", ["trust", "password", "md5", "scram"])
def test_server_login(pooler, fakepg, auth):
    """authentication.md 5"""
    f = fakepg(auth=auth, password="apppw")
    p = pooler({"p0": f.conn})
    assert p.raw().value("select 1") == "select 1"


@pytest.mark.parametrize("auth", ["password", "md5", "scram"])
def test_wrong_password(pooler, fakepg, auth):
    """client-errors.md 4"""
    f = fakepg(auth=auth, password="other")
    p = pooler({"p0": f.conn})
    with pytest.raises(pq.PgError) as e:
        p.raw()
    assert e.value.message == \
        'password authentication failed for user "app"'
    assert REFERENCE or e.value.code == "28P01"


def test_startup_message_to_the_server(pooler, fakepg):
    """pooling.md 6: server login"""
    f = fakepg()
    p = pooler({"p0": f.conn + " dbname=real client_encoding=LATIN1 "
                "datestyle=German timezone=Asia/Tokyo "
                "application_name=pool user=u1"})
    p.raw()
    s = f.sessions[0]
    want = {"database": "real", "client_encoding": "LATIN1",
            "datestyle": "German", "timezone": "Asia/Tokyo",
            "application_name": "pool", "user": "u1"}
    assert {k.lower(): v for k, v in s.startup.items()} == want
    assert REFERENCE or [k.lower() for k in s.startup] == list(want)


@newer
def test_closing_line_of_a_refused_server_comes_first(pooler, fakepg):
    """logging.md 5: S closing line, C closing line, C pooler error"""
    f = fakepg(auth="password", password="other")
    p = pooler({"p0": f.conn})
    c = p.open().login("app", database="p0", wait=False)
    assert c.recv_all().errors
    text = 'password authentication failed for user "app"'
    p.wait_log("pooler error: ")
    at = [p.log.index(x + text) for x in (
        "WARNING server login failed: FATAL ", "closing because: ",
        "pooler error: ")]
    assert at == sorted(at)
    lines = [x for x in p.log.splitlines() if "closing because: " + text in x]
    assert ["S-" in lines[0], "C-" in lines[1]] == [True, True]


@newer
def test_failed_lookup_is_logged_with_its_number(pooler, dns):
    """logging.md 9: result=<n>"""
    p = with_dns(pooler, dns, "host=nosuch.test")
    c = p.open().login("app", database="p0", wait=False)
    p.wait_log(r"WARNING DNS lookup failed: nosuch.test: result=[0-9]+\n")
    p.wait_log("S-.*closing because: server DNS lookup failed")
    p.admin("set client_login_timeout = 1")
    assert [e.message for e in c.recv_all().errors] == [
        "client_login_timeout (server down)"]


@newer
def test_cold_pool_grows_in_parallel(pooler, fakepg):
    """server_login_concurrency, default 4"""
    gate, lock, now = threading.Event(), threading.Lock(), [0, 0]

    def on_login(sess):
        with lock:
            now[0] += 1
            now[1] = max(now)
        gate.wait(TIMEOUT)
        with lock:
            now[0] -= 1
    f = fakepg(on_login=on_login)
    p = pooler({"p0": f.conn}, default_pool_size=10)
    clients = [p.open().login("app", database="p0", wait=False)
               for _ in range(12)]
    wait_until(lambda: now[0] == 4)
    wait_until(lambda: p.pool().get("sv_login") == 4)
    gate.set()
    for c in clients:
        c.finish_login("app")
        c.send(pq.query("begin"))
    p.wait_pool(sv_active=10, cl_waiting=2)
    assert now[1] == 4
    assert len(f.sessions) == 10


@newer
def test_one_waiting_client_opens_one_server(pooler, fakepg):
    """as many as there are clients not yet covered"""
    gate = threading.Event()
    f = fakepg(on_login=lambda s: gate.wait(TIMEOUT) and None)
    p = pooler({"p0": f.conn}, default_pool_size=10)
    a = p.open().login("app", database="p0", wait=False)
    wait_until(lambda: len(f.sessions) == 1)
    b = p.open().login("app", database="p0", wait=False)
    wait_until(lambda: len(f.sessions) == 2)
    for _ in range(5):
        p.admin("show pools")
    assert len(f.sessions) == 2
    gate.set()
    a.finish_login("app")
    b.finish_login("app")


@pytest.mark.setting("server_login_concurrency")
@newer
def test_login_concurrency_can_be_set(pooler, fakepg):
    """server_login_concurrency = 1: as the reference does"""
    gate = threading.Event()
    f = fakepg(on_login=lambda s: gate.wait(TIMEOUT) and None)
    p = pooler({"p0": f.conn}, default_pool_size=10,
               server_login_concurrency=1)
    clients = [p.open().login("app", database="p0", wait=False)
               for _ in range(5)]
    wait_until(lambda: p.pool().get("cl_waiting") == 5)
    wait_until(lambda: len(f.sessions) == 1)
    for _ in range(5):
        p.admin("show pools")
    assert len(f.sessions) == 1
    gate.set()
    for c in clients:
        c.finish_login("app")


@newer
def test_one_at_a_time_while_logins_fail(pooler, fakepg):
    """one at a time while the last login failed"""
    gate, fail = threading.Event(), [True]

    def on_login(sess):
        if fail[0]:
            fail[0] = False
            sess.send(error("starting up", "57P03", "FATAL"))
            raise Gone
        gate.wait(TIMEOUT)
    f = fakepg(on_login=on_login)
    p = pooler({"p0": f.conn}, default_pool_size=10, server_login_retry=0.5)
    first = p.open().login("app", database="p0", wait=False)
    wait_until(lambda: not fail[0])
    p.wait_log("server login failed: FATAL starting up")
    rest = [p.open().login("app", database="p0", wait=False)
            for _ in range(6)]
    wait_until(lambda: len(f.sessions) == 2)
    for _ in range(10):
        p.admin("show pools")
    assert len(f.sessions) == 2
    gate.set()
    for c in [first] + rest:
        c.finish_login("app")


@newer
def test_temporary_refusal_keeps_clients_queued(pooler, fakepg):
    """pooling.md 10 (#946): 57P03"""
    # regressions: PB#946
    count = []

    def on_login(sess):
        count.append(1)
        if len(count) < 3:
            sess.send(error("the database system is starting up", "57P03",
                            "FATAL"))
            raise Gone
    f = fakepg(on_login=on_login)
    p = pooler({"p0": f.conn}, server_login_retry=0.2)
    assert p.raw().value("select 1") == "select 1"
    assert len(count) == 3


def talks_on(what):
    """A server that goes on after its ReadyForQuery, in one piece; once."""
    def on_login(sess):
        sess.send(pq.msg("R", struct.pack("!i", 0)), param("once", "x"),
                  pq.msg("K", sess.key), ready(), what)
        sess.logged_in = True
        sess.server.on_login = None
        sess.read(1)
        return True
    return on_login


@newer
@pytest.mark.parametrize("what", [
    notice("by the way"), param("application_name", "x"), ready(), b"N",
    b"A\0\0\0\3"], ids=["notice", "param", "ready", "cut", "bad"])
def test_talking_on_after_login_is_a_failed_login(pooler, fakepg, what):
    """pooling.md 4, 6, 10: it got dirty; there is a pause before the next"""
    f = fakepg()
    p = pooler({"p0": f.conn}, server_login_retry=3600)
    c, d = p.raw(), p.raw()
    f.on_login = talks_on(what)
    p.admin("reconnect p0")
    c.send(pq.query("select 1"))
    p.wait_log("S-.*closing because: idle server got dirty")
    # it stays in the queue; who comes then needn't
    d.send(pq.query("select 2"))
    assert d.recv_all().errors[0].message == (
        "server login has been failing, cached error: idle server got dirty "
        "(server_login_retry)")
    p.wait_pool(cl_waiting=1, sv_login=0)
    assert len(f.sessions) == 2
    assert not c.readable()


@newer
@pytest.mark.parametrize("works", [True, False])
def test_client_waits_for_the_retry_that_is_due(pooler, fakepg, works):
    """pooling.md 10: it gets no error of an earlier attempt"""
    f = fakepg()
    p = pooler({"p0": f.conn}, server_login_retry=3600)
    c, d = p.raw(), p.raw()
    c.query("select 1")
    gate = threading.Event()

    def hold(sess):
        gate.wait(TIMEOUT)
        return None if works else sess.hang_up()
    f.on_login = lambda sess: sess.hang_up()
    p.admin("reconnect p0")
    c.send(pq.query("select 2"))
    p.wait_log("S-.*server conn crashed")
    f.on_login = hold
    p.admin("set server_login_retry = 0")
    wait_until(lambda: len(f.sessions) == 3, what="the retry")
    d.send(pq.query("select 3"))
    p.wait_pool(cl_waiting=2)
    p.admin("set server_login_retry = 3600")
    gate.set()
    if works:
        assert c.recv_until().rows == [["select 2"]]
        assert d.recv_until().rows == [["select 3"]]
    else:
        assert "server conn crashed?" in d.recv_all().errors[0].message
        assert not c.readable()


@newer
def test_welcome_is_of_a_login_that_succeeded(pooler, fakepg):
    """pooling.md 10: who waits for it waits for the next attempt"""
    f = fakepg(on_login=talks_on(notice("by the way")))
    p = pooler({"p0": f.conn}, server_login_retry=0.1)
    c = p.raw()
    assert c.params["server_version"] == "15.0" and "once" not in c.params
    assert c.value("select 1") == "select 1"
    assert len(f.sessions) == 2


def notification(channel):
    return pq.msg("A", struct.pack("!i", 1) + pq.cstr(channel) + b"\0")


@newer
@pytest.mark.parametrize("cut", [0, 1, 7])
def test_notifications_after_login_are_dropped(pooler, fakepg, cut):
    """pooling.md 4, 22: connect_query may LISTEN; an idle server is none's"""
    def handler(sess, kind, body):
        # what is asked when connect_query has run
        if body.startswith(b"SELECT pg_catalog.current_setting"):
            sent = notification("one") + notification("two")
            sess.send(complete("SELECT 0"), ready(), sent[:len(sent) - cut])
            gate.wait(TIMEOUT)
            sess.send(sent[len(sent) - cut:])
            return True
    gate = threading.Event()
    f = fakepg(handler=handler)
    p = pooler({"p0": f.conn + " connect_query='listen one'"},
               server_login_retry=3600)
    c = p.raw()
    gate.set()
    f.wait_logins(1)
    c.send(pq.query("select 1"))
    r = c.recv_until()
    assert r.rows == [["select 1"]]
    assert len(f.sessions) == 1
    assert cut or "A" not in r.kinds


@newer
@pytest.mark.parametrize("code,text", [
    (None, "no code at all"), ("28000", "x" * 3000), ("XX000", "")])
def test_odd_login_errors_reach_the_client(pooler, fakepg, code, text):
    """client-errors.md 4 (CVE-2026-6666)"""
    # regressions: CVE-2026-6666
    def on_login(sess):
        sess.send(error(text, code, "FATAL"))
        raise Gone
    f = fakepg(on_login=on_login)
    p = pooler({"p0": f.conn})
    with pytest.raises(pq.PgError) as e:
        p.raw()
    assert e.value.code == (code or "08P01")
    assert (e.value.message or "").startswith(text[:400])
    assert p.admin("show version")


def in_peace(p):
    """Time-outs that bounded what is hostile bound nobody else."""
    for name in ("server_connect_timeout", "client_login_timeout"):
        p.admin("set %s = %d" % (name, TIMEOUT))


def raw_reply(data):
    def on_login(sess):
        sess.send(data)
        sess.read(1)
        return True
    return on_login


@pytest.mark.parametrize("data", [
    pq.msg("R", b"\0\0\0\7"), pq.msg("R", b"\0\0"), pq.msg("R"),
    pq.msg("R", b"\0\0\0\5ab"), pq.msg("R", b"\0\0\0\nGSS\0\0"),
    pq.msg("R", b"\0\0\0\x0bx"), pq.msg("R", b"\0\0\0\x0cv=x"),
    pq.msg("D", b"\0\0"), pq.msg("T", b"\xff\xff"), pq.msg("E"),
    pq.msg("E", b"Sno end"), b"Z\0\0\0\3", b"R\xff\xff\xff\xff",
    b"R\x7f\xff\xff\xff", b"HTTP/1.1 400 Bad Request\r\n\r\n",
    pq.msg("S", b"only-a-name\0"), pq.msg("S", b"no end")])
def test_hostile_login_answer_only_fails_the_login(pooler, fakepg, data):
    """family 1: hostile server"""
    f = fakepg(on_login=raw_reply(data))
    p = pooler({"p0": f.conn, "p1": ""}, server_login_retry=0.1,
               server_connect_timeout=1, client_login_timeout=2)
    with pytest.raises((pq.PgError, pq.Closed)):
        p.raw()
    in_peace(p)
    assert p.raw(database="p1").value("select 1") == "1"


def scram_first(make):
    """A SASL server whose first message is made by make(client nonce)."""
    def on_login(sess):
        sess.send(pq.msg("R", struct.pack("!i", 10) + b"SCRAM-SHA-256\0\0"))
        body = sess.read_msg()[1]
        nonce = body.rsplit(b"r=", 1)[1]
        sess.send(make(nonce))
        sess.read(1)
        return True
    return on_login


def sasl(text):
    return pq.msg("R", struct.pack("!i", 11) + text)


@newer
@pytest.mark.parametrize("make", [
    lambda n: sasl(b"r=" + n + b"z" * 9000 + b",s=c2FsdA==,i=1"),
    lambda n: sasl(b"r=other,s=c2FsdA==,i=4096"),
    lambda n: sasl(b"r=" + n + b",s=!!!,i=4096"),
    lambda n: sasl(b"r=" + n + b"x,s=c2FsdA==,i=0"),
    lambda n: sasl(b"r=" + n + b"x,s=c2FsdA==,i=-1"),
    lambda n: sasl(b"r=" + n + b"x,s=c2FsdA==,i=2147483647"),
    lambda n: sasl(b"r=" + n + b"x,s=c2FsdA==,i=99999999999999999999"),
    lambda n: sasl(b"r=" + n + b"x,s=c2FsdA==,i=4096,junk"),
    lambda n: sasl(b"r=" + n + b"x,s=c2FsdA=="),
    lambda n: sasl(b""), lambda n: sasl(b"e=other-error"),
    lambda n: pq.msg("R", struct.pack("!i", 0)),
    lambda n: pq.msg("R", struct.pack("!i", 12) + b"v=AAAA"),
])
def test_hostile_scram_server_is_refused(pooler, fakepg, make):
    """authentication.md 5 (CVE-2026-6665); iterations are bounded"""
    # regressions: CVE-2026-6665
    f = fakepg(on_login=scram_first(make))
    p = pooler({"p0": f.conn, "p1": ""}, server_login_retry=0.1,
               server_connect_timeout=1, client_login_timeout=2)
    with pytest.raises((pq.PgError, pq.Closed)):
        p.raw()
    in_peace(p)
    assert p.raw(database="p1").value("select 1") == "1"


@newer
def test_ok_before_the_scram_signature_is_refused(pooler, fakepg):
    """authentication.md 5: AuthenticationOk before verification"""
    # regressions: PB unverified signature
    def on_login(sess):
        sess.send(pq.msg("R", struct.pack("!i", 10) + b"SCRAM-SHA-256\0\0"))
        srv = pq.ScramServer(pq.scram_secret("apppw"))
        body = sess.read_msg()[1]
        sess.send(sasl(srv.challenge(body[body.index(b"\0") + 5:])))
        sess.read_msg()
        sess.welcome()
        return True
    f = fakepg(on_login=on_login)
    p = pooler({"p0": f.conn}, client_login_timeout=2)
    with pytest.raises(pq.PgError):
        p.raw()


@pytest.mark.parametrize("answer", [b"N"])
def test_ssl_refusal_is_accepted(pooler, fakepg, answer):
    """authentication.md 9.2: prefer continues in clear"""
    f = fakepg(ssl_answer=answer)
    p = pooler({"p0": f.conn}, server_tls_sslmode="disable")
    assert p.raw().value("select 1") == "select 1"


def test_notices_and_parameters_during_login(pooler, fakepg):
    """family 2: NoticeResponse broke login"""
    # regressions: PB 1.6.1 notice, Supavisor 75ebfde4
    f = fakepg(extra_welcome=notice("hello") + param("one", "1")
               + notice("x" * (100 if REFERENCE else 10000))
               + param("two", "2"))
    p = pooler({"p0": f.conn})
    c = p.raw()
    assert (c.params["one"], c.params["two"]) == ("1", "2")
    assert c.value("select 1") == "select 1"


@newer
def test_server_without_key_data(pooler, fakepg):
    """PgDog #918: no BackendKeyData; cancel is harmless"""
    # regressions: PgDog#918
    f = fakepg(send_key=False)
    p = pooler({"p0": f.conn})
    c = p.raw()
    c.query("begin")
    pq.send_cancel(p.port, c.key)
    assert c.value("select 1") == "select 1"
    assert len(c.key) == 8


@pytest.mark.setting("server_connect_timeout")
def test_silent_server_times_out(pooler, fakepg):
    """pooling.md 12: server_connect_timeout"""
    f = fakepg(on_login=lambda s: s.read(1) and True)
    p = pooler({"p0": f.conn}, server_connect_timeout=1,
               server_login_retry=0.1)
    c = p.open().login("app", database="p0", wait=False)
    p.wait_log("closing because: connect timeout")
    f.on_login = None
    assert c.finish_login("app").value("select 1") == "select 1"


# --- what the server is sent ----------------------------------------------

def test_parameters_are_set_in_one_query(pooler, fakepg):
    """pooling.md 21: one simple Query ahead of the client's"""
    # regressions: PB 1.5.1 empty values
    f = fakepg()
    p = pooler({"p0": f.conn}, default_pool_size=1)
    p.raw().query("select 0")
    c = p.raw(application_name="it's", TimeZone="Asia/Tokyo",
              DateStyle="German, DMY")
    c.send(pq.query("select 1"), pq.query("select 2"))
    c.recv_until()
    c.recv_until()
    qs = f.sessions[0].queries()
    assert qs[0] == "select 0" and qs[2:] == ["select 1", "select 2"]
    sets = [s.strip() for s in qs[1].split(";") if s.strip()]
    assert all(s.upper().startswith("SET ") for s in sets)
    names = [s.split()[1].split("=")[0].lower() for s in sets]
    assert sorted(names) == ["application_name", "datestyle", "timezone"]
    assert "'it''s'" in qs[1]
    if not REFERENCE:
        assert names == ["datestyle", "timezone", "application_name"]
        assert qs[1].startswith("SET DateStyle='German, DMY';")
    p.raw(DateStyle="German, DMY", TimeZone="Asia/Tokyo",
          application_name="it's").query("select 3")
    assert f.sessions[0].queries()[4:] == ["select 3"]


@newer
def test_accepted_spelling_is_not_set_again(pooler, fakepg):
    """pooling.md 21 (#879): SET DateStyle='ISO' reports no change"""
    # regressions: PB#879
    def handler(sess, kind, body):
        if kind == "Q" and body.upper().startswith(b"SET"):
            sess.send(complete("SET"), ready())
            return True
    f = fakepg(handler=handler)
    p = pooler({"p0": f.conn}, default_pool_size=1)
    c = p.raw(DateStyle="ISO")
    for i in range(5):
        c.query("select %d" % i)
    sets = [q for q in f.sessions[0].queries() if q.startswith("SET")]
    assert len(sets) <= 1


@newer
def test_spelling_is_asked_about_once(pooler, fakepg):
    """not again whenever clients who spell it otherwise take turns"""
    def handler(sess, kind, body):
        if kind == "Q" and body.upper().startswith(b"SET"):
            sess.send(complete("SET"), ready())
            return True
    f = fakepg(handler=handler)
    p = pooler({"p0": f.conn}, default_pool_size=1)
    p.raw().query("select 0")
    clients = [p.raw(**params) for params in (
        {"client_encoding": "utf8", "TimeZone": "utc", "DateStyle": "iso"},
        {"client_encoding": "Utf8", "TimeZone": "Utc", "DateStyle": "MDY"},
        {"standard_conforming_strings": "ON", "DateStyle": "us, Iso"})]
    for i in range(3):
        for c in clients:
            c.query("select %d" % i)
    assert all(q.startswith("select") for q in f.sessions[0].queries())
    # another word for the same: it is asked about when it comes first, but
    # for client_encoding, whose names are known
    clients += [p.raw(standard_conforming_strings="true"),
                p.raw(client_encoding="utf-8")]
    for i in range(3):
        for c in clients:
            c.query("select %d" % i)
    sets = [q for q in f.sessions[0].queries() if q.startswith("SET")]
    assert sets == ["SET standard_conforming_strings='true';"]


@pytest.mark.parametrize("answer,told", [
    (error("no") + ready(), ("08P01", "invalid server parameter")),
    (error("terminating", "57P01", "FATAL"), ("57P01", "terminating"))])
def test_failed_set_ends_client_and_server(pooler, fakepg, answer, told):
    """pooling.md 21: invalid server parameter, or the server's own end"""
    # regressions: Ody 67e3e827
    def handler(sess, kind, body):
        if kind == "Q" and body.upper().startswith(b"SET"):
            sess.send(answer)
            return True
    f = fakepg(handler=handler)
    p = pooler({"p0": f.conn}, default_pool_size=1)
    p.raw().query("select 1")
    c = p.raw(TimeZone="Asia/Tokyo")
    c.send(pq.query("select 2"))
    assert [(e.code, e.message) for e in c.recv_all().errors] == [told]
    wait_until(lambda: f.sessions[0].ended)
    assert "select 2" not in f.sessions[0].queries()
    assert p.raw().value("select 3") == "select 3"


def test_reset_query_and_terminate(pooler, fakepg):
    """pooling.md 9; a deliberate close sends Terminate"""
    f = fakepg()
    p = pooler({"p0": f.conn}, pool_mode="session", server_idle_timeout=1)
    c = p.raw()
    c.query("select 1")
    s = f.sessions[-1]      # the login's may have been idle for too long
    c.close()
    wait_until(lambda: s.queries() == ["select 1", "DISCARD ALL"])
    wait_until(lambda: s.ended)
    assert s.received[-1][0] == "X"


@pytest.mark.setting("server_check_query")
def test_server_is_tested_before_reuse(pooler, fakepg):
    """pooling.md 9: the next client waits for the reset"""
    # regressions: Ody 447bb75a
    gate = threading.Event()

    def handler(sess, kind, body):
        if body == b"DISCARD ALL\0":
            gate.wait(TIMEOUT)
    f = fakepg(handler=handler)
    p = pooler({"p0": f.conn}, pool_mode="session", default_pool_size=1)
    a, b = p.raw(), p.raw()
    a.query("select 1")
    b.send(pq.query("select 2"))
    a.close()
    p.wait_pool(sv_tested=1, cl_waiting=1)
    assert not b.readable()
    gate.set()
    assert b.recv_until().rows == [["select 2"]]


CHECKS = {
    "error": (lambda s: s.send(error("bad"), ready()), "test query failed"),
    "long error": (lambda s: s.send(error("bad" * 99999), ready()),
                   "test query failed"),
    "rows": (lambda s: s.send(row_desc("a"), data_row("1"),
                              complete("SELECT 1"), ready()), None),
    "transaction": (lambda s: s.send(complete("BEGIN"), ready("T")),
                    "test query failed"),
    "garbage": (lambda s: s.send(b"\x01\0\0\0\4"), "unknown pkt"),
    "end": (lambda s: s.hang_up(), "server conn crashed\\?"),
}


@newer
@pytest.mark.parametrize("how", CHECKS)
@pytest.mark.setting("server_check_query", "server_check_delay")
def test_check_query_decides_over_the_server(pooler, fakepg, how):
    """pooling.md 9: it must succeed, and leave the server idle"""
    answer, why = CHECKS[how]

    def handler(sess, kind, body):
        if body == b"check\0" and sess is f.sessions[0]:
            answer(sess)
            return True
    f = fakepg(handler=handler)
    p = pooler({"p0": f.conn}, server_check_query="check",
               server_check_delay=3600, default_pool_size=1)
    c = p.raw()
    c.query("select 1")
    c.query("select 2")		# not silent for long enough
    p.admin("set server_check_delay = '0.3'")
    p.wait_pool(sv_used=1)
    assert c.value("select 3") == "select 3"
    assert f.sessions[0].queries()[:3] == ["select 1", "select 2", "check"]
    assert len(f.sessions) == (2 if why else 1)
    if why:
        p.wait_log("S-.*closing because: " + why)


class Deaf:
    """Sessions from before it was switched on don't answer any more: their
    host has lost power, and nobody says so."""

    def __init__(self, fakepg):
        self.sessions = ()
        self.f = fakepg(handler=self)

    def __call__(self, sess, kind, body):
        return sess in self.sessions

    def begin(self):
        self.sessions = tuple(self.f.sessions)


@newer
def test_server_that_does_not_answer_a_check_is_replaced(pooler, fakepg):
    """pooling.md 9: and with it those that are as silent, all at once"""
    deaf = Deaf(fakepg)
    p = pooler({"p0": deaf.f.conn}, server_check_query="check",
               server_check_delay=0, default_pool_size=3,
               server_connect_timeout=1, query_wait_timeout=0)
    crowd = [p.raw() for _ in range(3)]
    for text in ("begin", "commit"):
        for c in crowd:
            c.query(text)
    p.wait_pool(sv_used=3)
    deaf.begin()
    assert crowd[0].value("select 1") == "select 1"
    wait_until(lambda: all(s.ended for s in deaf.sessions))
    assert sorted(len(s.queries()) for s in deaf.sessions) == [2, 2, 3]
    assert p.log.count("closing because: test query timeout") == 3
    for c in crowd:
        assert c.value("select 2") == "select 2"


@newer
def test_server_that_does_not_answer_a_reset_is_replaced(pooler, fakepg):
    """pooling.md 9"""
    deaf = Deaf(fakepg)
    p = pooler({"p0": deaf.f.conn}, pool_mode="session", default_pool_size=1,
               server_connect_timeout=1, query_wait_timeout=0)
    a, b = p.raw(), p.raw()
    a.query("select 1")
    deaf.begin()
    a.close()
    assert b.value("select 2") == "select 2"
    p.wait_log("closing because: reset query timeout")


@newer
def test_server_that_does_not_answer_to_sets_is_closed(pooler, fakepg):
    """pooling.md 9, 21: and its client is told"""
    deaf = Deaf(fakepg)
    p = pooler({"p0": deaf.f.conn}, default_pool_size=1,
               server_connect_timeout=1)
    p.raw().query("select 1")
    c = p.raw(TimeZone="Asia/Tokyo")
    deaf.begin()
    c.send(pq.query("select 2"))
    e = c.recv_all().errors[-1]
    assert (e.code, e.message) == ("08006", "server parameters timeout")
    assert p.raw().value("select 3") == "select 3"


@newer
def test_slow_answer_to_a_check_is_waited_for(pooler, fakepg):
    """pooling.md 9: no limit is no limit, and the time ends with the check"""
    gate = threading.Event()

    def handler(sess, kind, body):
        if body in (b"check\0", b"select slow\0"):
            gate.wait(TIMEOUT)
            gate.clear()
    f = fakepg(handler=handler)
    p = pooler({"p0": f.conn}, server_check_query="check",
               server_check_delay=0, server_connect_timeout=0)
    c = p.raw()
    c.query("select 1")
    c.send(pq.query("select slow"))
    wait_until(lambda: "check" in f.sessions[0].queries())
    gate.set()
    wait_until(lambda: "select slow" in f.sessions[0].queries())
    p.admin("set server_connect_timeout = 1")
    # the query has no limit, however long ago the check began
    end = time.monotonic() + 1.5
    wait_until(lambda: time.monotonic() > end)
    gate.set()
    assert c.recv_until().rows == [["select slow"]]
    assert len(f.sessions) == 1


def test_empty_check_query(pooler, fakepg):
    """pooling.md 9: <empty> sends a Query with empty text"""
    f = fakepg()
    p = pooler({"p0": f.conn}, server_check_delay=0,
               server_check_query="<empty>" if not REFERENCE else "select 1")
    c = p.raw()
    c.query("select 1")
    c.query("select 2")
    text = "" if not REFERENCE else "select 1"
    assert text in f.sessions[0].queries()[1:]


# --- idle servers ---------------------------------------------------------

@pytest.mark.parametrize("data", [
    param("TimeZone", "x"), error("oops"), notice("psst"),
    error("terminating", "57P01", "FATAL"), complete("SELECT 1")])
def test_idle_server_that_talks_is_not_used(pooler, fakepg, data):
    """pooling.md 4: idle server got dirty"""
    # regressions: PB#220
    f = fakepg()
    p = pooler({"p0": f.conn}, default_pool_size=1)
    c = p.raw()
    c.query("select 1")
    f.sessions[0].send(data)
    p.wait_log("server got dirty|got packet")
    assert c.value("select 2") == "select 2"
    wait_until(lambda: f.sessions[0].ended)
    assert f.sessions[0].queries() == ["select 1"]


def test_idle_server_with_a_notification_is_kept(pooler, fakepg):
    """pooling.md 4: NotificationResponse leaves it ready"""
    # regressions: PB 1.5 notify
    f = fakepg()
    p = pooler({"p0": f.conn}, default_pool_size=1)
    c = p.raw()
    c.query("select 1")
    f.sessions[0].send(pq.msg("A", b"\0\0\0\1ch\0x\0"))
    for _ in range(3):
        p.admin("show servers")
    assert c.value("select 2") == "select 2"
    assert len(f.sessions) == 1


def test_notification_to_nobody_counts_once(pooler, fakepg):
    """admin-console.md 5.5: its bytes are in the average of a period, and in
    no later one, however little else goes on in the pool
    """
    f = fakepg()
    p = pooler({"p0": f.conn}, stats_period=1, server_check_delay=3600)
    p.raw().query("select 1")

    def average():
        return p.stats("p0")["avg_sent"]
    wait_until(lambda: average() == 0)
    f.sessions[0].send(pq.msg("A", b"\0\0\0\1ch\0" + b"x" * 5000 + b"\0"))
    wait_until(lambda: average() > 1000)
    wait_until(lambda: average() == 0)
    # that would wake the pool, too
    assert not f.sessions[0].ended


def test_closed_idle_server_is_not_used(pooler, fakepg):
    """pooling.md 4"""
    # regressions: Ody 447bb75a
    f = fakepg()
    p = pooler({"p0": f.conn}, default_pool_size=1)
    c = p.raw()
    c.query("select 1")
    f.sessions[0].sock.shutdown(2)
    p.wait_pool(sv_idle=0)
    assert c.value("select 2") == "select 2"


# --- busy servers ---------------------------------------------------------

@pytest.mark.parametrize("data,text", [
    (pq.msg("y", b"??"), "unknown pkt"), (b"D\0\0\0\1", "bad pkt header"),
    (b"\0\0\0\0\0\0\0\0", "bad pkt header"),
    (pq.msg("S", b"noend"), "broken ParameterStatus packet")])
def test_garbage_from_a_linked_server(pooler, fakepg, data, text):
    """client-errors.md 5"""
    # regressions: PB#927, PB#822
    def handler(sess, kind, body):
        if body == b"go\0":
            sess.send(data)
            return True
    f = fakepg(handler=handler)
    p = pooler({"p0": f.conn}, default_pool_size=1)
    c = p.raw()
    c.send(pq.query("go"))
    errors = c.recv_all().errors
    assert errors[-1].severity == "FATAL"
    assert REFERENCE or errors[-1].message == text
    assert p.raw().value("select 1") == "select 1"


@pytest.mark.parametrize("sent", [0, 3, 20])
def test_server_that_closes_in_the_middle(pooler, fakepg, sent):
    """pooling.md 13: server conn crashed?"""
    data = notice("x" * 10) + complete("SELECT 1")

    def handler(sess, kind, body):
        if body == b"go\0":
            sess.send(data[:sent])
            sess.hang_up()
    f = fakepg(handler=handler)
    p = pooler({"p0": f.conn}, default_pool_size=1)
    c, other = p.raw(), p.raw()
    c.send(pq.query("go"))
    res = c.recv_all()
    if sent == 0:
        assert res.errors[-1].message == "server conn crashed?"
    assert other.value("select 1") == "select 1"


def test_error_then_close_reaches_the_client_first(pooler, fakepg):
    """pooling.md 13, 22"""
    # regressions: PgDog#841
    def handler(sess, kind, body):
        if body == b"go\0":
            sess.send(error("going down", "57P01", "FATAL"))
            sess.hang_up()
    f = fakepg(handler=handler)
    p = pooler({"p0": f.conn})
    c = p.raw()
    c.send(pq.query("go"))
    assert [e.message for e in c.recv_all().errors] == [
        "going down"]


def test_surplus_ready_for_query_is_no_release_of_work(pooler, fakepg):
    """family 2: a ReadyForQuery nobody asked for"""
    # regressions: Supavisor ba778b82
    def handler(sess, kind, body):
        if body == b"go\0":
            sess.send(complete("A"), ready(), ready())
            return True
    f = fakepg(handler=handler)
    p = pooler({"p0": f.conn}, default_pool_size=1)
    a, b = p.raw(), p.raw()
    a.send(pq.query("go"))
    assert a.recv_until().tags == ["A"]
    for _ in range(5):
        assert b.value("select 1") == "select 1"


def test_half_sent_reply_keeps_the_link(pooler, fakepg):
    """pooling.md 8: not before ReadyForQuery"""
    gate = threading.Event()

    def handler(sess, kind, body):
        if body == b"go\0":
            sess.send(complete("A"))
            gate.wait(TIMEOUT)
            sess.send(ready())
            return True
    f = fakepg(handler=handler)
    p = pooler({"p0": f.conn}, default_pool_size=1)
    a, b = p.raw(), p.raw()
    a.send(pq.query("go"))
    assert a.recv()[0] == "C"
    b.send(pq.query("select 1"))
    p.wait_pool(cl_waiting=1, sv_active=1)
    gate.set()
    assert a.recv_until().kinds == "Z"
    assert b.recv_until().rows == [["select 1"]]


# --- cancel ---------------------------------------------------------------

def cancel_setup(pooler, fakepg, gate, hold):
    def handler(sess, kind, body):
        if body == b"go\0":
            gate.wait(TIMEOUT)
            sess.send(complete("GO"), ready())
            return True

    def on_cancel(sess, key):
        hold.wait(TIMEOUT)
    f = fakepg(handler=handler, on_cancel=on_cancel)
    p = pooler({"p0": f.conn}, default_pool_size=1)
    return f, p


def test_cancel_carries_the_servers_key(pooler, fakepg):
    """pooling.md 18: in clear, with the server's key"""
    gate, hold = threading.Event(), threading.Event()
    hold.set()
    f, p = cancel_setup(pooler, fakepg, gate, hold)
    c = p.raw()
    c.send(pq.query("go"))
    wait_until(lambda: f.sessions[0].queries() == ["go"])
    pq.send_cancel(p.port, c.key)
    wait_until(lambda: f.cancels() == [f.sessions[0].key])
    gate.set()
    c.recv_until()


def test_server_waits_for_its_cancel_to_finish(pooler, fakepg):
    """pooling.md 18 (#717): being_canceled"""
    gate, hold = threading.Event(), threading.Event()
    f, p = cancel_setup(pooler, fakepg, gate, hold)
    a, b = p.raw(), p.raw()
    a.send(pq.query("go"))
    wait_until(lambda: f.sessions[0].queries() == ["go"])
    cc = p.open()
    cc.send(pq.untyped(pq.CANCEL_REQUEST, a.key))
    wait_until(lambda: len(f.cancels()) == 1)
    b.send(pq.query("select 'b'"))
    p.wait_pool(cl_waiting=1)
    gate.set()
    assert a.recv_until().tags == ["GO"]
    if not REFERENCE:
        p.wait_pool(sv_being_canceled=1, sv_active_cancel=1)
        assert not b.readable()
        assert f.sessions[0].queries() == ["go"]
    hold.set()
    assert b.recv_until().check().kinds == "TDCZ"
    assert cc.at_eof()


def test_cancel_for_a_finished_query_is_not_sent(pooler, fakepg):
    """pooling.md 18: dropped if the client is idle"""
    gate, hold = threading.Event(), threading.Event()
    gate.set()
    hold.set()
    f, p = cancel_setup(pooler, fakepg, gate, hold)
    a, b = p.raw(), p.raw()
    a.query("go")
    b.query("begin")
    pq.send_cancel(p.port, a.key)
    b.query("commit")
    assert f.cancels() == []


# --- protocol 3.2 ---------------------------------------------------------

def long_key(fakepg, pooler, **kw):
    """A query that runs at a scripted server, for somebody to cancel."""
    gate = threading.Event()

    def handler(sess, kind, body):
        if body == b"go\0":
            gate.wait(TIMEOUT)
            sess.send(complete("GO"), ready())
            return True
    f = fakepg(handler=handler, **kw)
    return f, pooler({"p0": f.conn}), gate


@newer
@pytest.mark.parametrize("spoken", [pq.V3_0, pq.V3_2])
@pytest.mark.parametrize("size", [4, 32, 256])
def test_cancel_carries_a_key_of_any_length(pooler, fakepg, spoken, size):
    """PostgreSQL docs, Message Formats: CancelRequest"""
    f, p, gate = long_key(fakepg, pooler, protocol=pq.V3_2,
                          secret_key=bytes(range(256))[-size:])
    c = p.open().login("app", "apppw", "p0", version=spoken)
    c.send(pq.query("go"))
    wait_until(lambda: f.sessions and f.sessions[0].queries() == ["go"])
    assert f.sessions[0].version == pq.V3_2
    pq.send_cancel(p.port, c.key)
    wait_until(lambda: f.cancels() == [f.sessions[0].key])
    assert len(f.cancels()[0]) == 4 + size
    gate.set()
    c.recv_until()


@newer
@pytest.mark.parametrize("spoil", [
    lambda k: k[:8], lambda k: k[:-1], lambda k: k + b"\0",
    lambda k: k[:-1] + bytes([k[-1] ^ 1]), lambda k: b""])
def test_part_of_a_long_key_cancels_nothing(pooler, fakepg, spoil):
    """pooling.md 18: the whole key counts"""
    f, p, gate = long_key(fakepg, pooler)
    c = p.open().login("app", "apppw", "p0", version=pq.V3_2)
    c.send(pq.query("go"))
    wait_until(lambda: f.sessions and f.sessions[0].queries() == ["go"])
    pq.send_cancel(p.port, spoil(c.key))
    p.wait_log("closing because: bad cancel request")
    assert f.cancels() == []
    gate.set()
    c.recv_until()


@newer
@pytest.mark.parametrize("size", [3, 257])
def test_server_key_of_impossible_length_ends_the_login(pooler, fakepg, size):
    """PostgreSQL docs, Message Formats: BackendKeyData"""
    f = fakepg(protocol=pq.V3_2, secret_key=b"k" * size)
    p = pooler({"p0": f.conn})
    p.open().login("app", database="p0", wait=False)
    p.wait_log("S-.*closing because: bad cancel key")


@newer
@pytest.mark.parametrize("code", ["0A000", "08P01"])
def test_server_that_refuses_protocol_3_2_is_asked_for_3_0(pooler, fakepg,
                                                           code):
    """and the next ones are not bothered"""
    def on_login(sess):
        if sess.version != pq.V3_0:
            sess.send(error("unsupported frontend protocol 3.2", code,
                            "FATAL"))
            raise Gone
    f = fakepg(on_login=on_login)
    p = pooler({"p0": f.conn})
    a, b = p.raw(), p.raw()
    a.query("begin")
    assert b.value("select 1") == "select 1"
    assert [s.version for s in f.sessions] == [pq.V3_2, pq.V3_0, pq.V3_0]
    assert p.log.count("server login failed") == 0


@newer
def test_refusal_of_both_protocols_reaches_the_client(pooler, fakepg):
    """client-errors.md 4"""
    def on_login(sess):
        sess.send(error("go away", "08P01", "FATAL"))
        raise Gone
    f = fakepg(on_login=on_login)
    p = pooler({"p0": f.conn})
    with pytest.raises(pq.PgError) as e:
        p.raw()
    assert (e.value.message, e.value.code) == ("go away", "08P01")
    assert [s.version for s in f.sessions] == [pq.V3_2, pq.V3_0]


@newer
@pytest.mark.parametrize("answer", [
    struct.pack("!i", pq.V3_0), struct.pack("!ii", 131072, 0),
    struct.pack("!ii", pq.V3_2 + 1, 0), "twice", "late"])
def test_wrong_negotiation_ends_the_login(pooler, fakepg, answer):
    """PostgreSQL docs, Message Flow, Start-up"""
    good = pq.msg("v", struct.pack("!ii", pq.V3_0, 0))

    def on_login(sess):
        sess.send({"twice": good + good,
                   "late": pq.msg("R", struct.pack("!i", 0)) + good}.get(
                       answer) or pq.msg("v", answer))
        return True
    f = fakepg(on_login=on_login)
    p = pooler({"p0": f.conn})
    p.open().login("app", database="p0", wait=False)
    p.wait_log("S-.*closing because: unknown pkt from server")


# --- replication ----------------------------------------------------------

@newer
@pytest.mark.parametrize("value,sent,shown,logged", [
    ("database", "database", "logical", "database"),
    ("true", "yes", "physical", "yes"), ("ON", "yes", "physical", "yes"),
    ("0", None, "none", "no")])
def test_replication_startup_is_passed_on(pooler, fakepg, value, sent, shown,
                                          logged):
    """pooling.md 17: options verbatim, parameters, a server of its own"""
    f = fakepg()
    p = pooler({"p0": f.conn + " datestyle=German"})
    options = "-c work_mem=1MB --any\\ thing" if sent else "-c datestyle=ISO"
    c = p.raw(options=options, TimeZone="Asia/Tokyo", replication=value)
    assert c.value("select 1") == "select 1"
    p.wait_log("login attempt: db=p0 user=app tls=no replication=%s"
               % logged)
    assert [r["replication"] for r in p.show("clients", database="p0")] \
        == [shown]
    assert [r["replication"] for r in p.servers()] == [shown]
    s = f.sessions[0]
    assert s.startup.get("replication") == sent
    if not sent:
        return
    assert s.startup["options"] == options
    assert s.startup["TimeZone"] == "Asia/Tokyo"
    assert list(s.startup)[-1] == "user"
    assert s.queries() == ["select 1"]
    c.close()
    p.wait_log("S-.*closing because: replication client was closed")
    wait_until(lambda: s.ended)
    assert s.queries() == ["select 1"]
    assert p.servers() == []


@newer
def test_replication_server_welcomes_its_own_client_only(pooler, fakepg):
    """pooling.md 17: what it reports is that client's"""
    f = fakepg()
    p = pooler({"p0": f.conn})
    r = p.raw(replication="true", application_name="standby")
    assert r.params["application_name"] == "standby"
    assert r.params["server_version"] == "15.0"
    c = p.raw()
    assert c.params["application_name"] == ""
    assert len(f.sessions) == 2
    # the pool can welcome now: no server before there is work
    r2 = p.raw(replication="database")
    assert len(f.sessions) == 2
    r2.query("select 2")
    assert len(f.sessions) == 3
    assert c.value("select 1") == "select 1"
    assert "replication" not in f.sessions[1].startup


@newer
def test_refused_replication_concerns_its_client_only(pooler, fakepg):
    """pooling.md 10, client-errors.md 4: login failed"""
    def on_login(sess):
        if "replication" in sess.startup:
            sess.send(error("must be superuser", "42501", "FATAL"))
            raise Gone
    f = fakepg(on_login=on_login)
    p = pooler({"p0": f.conn}, default_pool_size=2, server_login_retry=60)
    with pytest.raises(pq.PgError) as e:
        p.raw(replication="true")
    assert (e.value.message, e.value.code) == ("login failed", "08P01")
    p.wait_log("S: login failed: FATAL: must be superuser")
    p.wait_log("S-.*closing because: login failed")
    a, b = p.raw(), p.raw()
    a.query("begin")
    b.query("begin")
    c = p.raw()
    c.send(pq.query("select 1"))
    p.wait_pool(cl_waiting=1)
    a.query("commit")
    assert c.recv_until().rows == [["select 1"]]
    r = p.raw(replication="true")
    r.send(pq.query("IDENTIFY_SYSTEM"))
    wait_until(lambda: not p.show("clients", replication="physical"))
    assert [x.message for x in r.recv_all().errors] == ["login failed"]


@newer
def test_replication_makes_room_and_counts(pooler, fakepg):
    """pooling.md 6 step 5: idle servers make room, busy ones don't"""
    f = fakepg()
    p = pooler({"p0": f.conn}, default_pool_size=2)
    a, b = p.raw(), p.raw()
    a.query("begin")
    b.query("select 1")
    r1, r2 = p.raw(replication="true"), p.raw(replication="true")
    assert r1.value("select r1") == "select r1"
    p.wait_log("S-.*closing because: evicted")
    r2.send(pq.query("select r2"))
    p.wait_pool(cl_waiting=1, sv_active=2)
    a.query("commit")
    assert r2.recv_until().rows == [["select r2"]]
    p.wait_pool(sv_active=2, sv_idle=0)
    b.send(pq.query("select 2"))
    p.wait_pool(cl_waiting=1)
    r1.close()
    assert b.recv_until().rows == [["select 2"]]


@newer
def test_replication_waits_out_what_is_down(pooler, fakepg):
    """pooling.md 10: nothing was said yet, so it stays queued"""
    f = fakepg()
    p = pooler({"p0": f.conn}, server_login_retry=0.2,
               server_idle_timeout=0)
    p.raw().query("select 0")
    r = p.raw(replication="true")
    f.sock.shutdown(socket.SHUT_RDWR)
    f.thread.join()
    f.sock.close()
    r.send(pq.query("IDENTIFY_SYSTEM"))
    p.wait_log("closing because: connect failed", count=2)
    assert not r.readable()
    p.wait_pool(cl_waiting=1, sv_login=0)
    assert f.sessions[0].queries() == ["select 0"]


@newer
def test_replication_client_that_leaves_takes_its_login_along(pooler, fakepg):
    """pooling.md 13"""
    gate = threading.Event()

    def on_login(sess):
        gate.wait(TIMEOUT)
    f = fakepg(on_login=on_login)
    p = pooler({"p0": f.conn})
    r = p.open().login("app", database="p0", wait=False, replication="true")
    p.wait_pool(cl_waiting=1, sv_login=1)
    r.close(polite=False)
    p.wait_log("S-.*closing because: replication client disconnected")
    p.wait_pool(cl_waiting=0, sv_login=0)
    gate.set()


@newer
@pytest.mark.parametrize("mode", ["transaction", "statement"])
def test_replication_is_session_pooling(pooler, fakepg, mode):
    """pooling.md 17: statements untouched, linked to the end"""
    f = fakepg()
    p = pooler({"p0": f.conn}, pool_mode=mode, server_reset_query_always=1)
    r = p.raw(replication="database")
    r.extended("select 1", name="mine")
    r.query("begin")
    r.query("commit")
    assert [b.split(b"\0")[0] for k, b in f.sessions[0].received
            if k == "P"] == [b"mine"]
    p.wait_pool(sv_active=1, sv_idle=0, cl_active=1)


def copy_both(ends, sess):
    sess.send(pq.msg("W", struct.pack("!bh", 0, 0)))
    if ends == "server":
        sess.send(pq.msg("d", b"w1"), pq.msg("c"))
    while sess.read_msg() != ("c", b""):
        sess.send(pq.msg("d", b"w1"))
    if ends == "client":
        sess.send(pq.msg("c"))
    sess.send(row_desc("next"), data_row("2"), complete("SELECT 1"),
              complete("START_STREAMING"), ready())
    return True


@newer
@pytest.mark.parametrize("split", [None, 1])
@pytest.mark.parametrize("ends", ["client", "server"])
def test_copy_both_ends_from_either_side(pooler, fakepg, ends, split):
    """PostgreSQL docs, Message Flow, COPY Operations: copy-both mode"""
    def handler(sess, kind, body):
        return body.startswith(b"START") and copy_both(ends, sess)
    f = fakepg(handler=handler, split=split)
    p = pooler({"p0": f.conn})
    r = p.raw(replication="true")
    for _ in range(2):
        r.send(pq.query("START_REPLICATION 0/0"))
        assert r.recv()[0] == "W"
        r.send(pq.copy_data(b"status"))
        kinds = r.recv_until("d").kinds
        r.send(pq.copy_done())
        kinds += r.recv_until().kinds
        assert set(kinds[:kinds.index("T")]) == {"c", "d"}
        assert kinds.endswith("TDCCZ")
    assert r.value("select 1") == "select 1"


@newer
@pytest.mark.parametrize("late", [b"", pq.copy_data(b"x") + pq.copy_done()])
def test_error_in_a_stream_leaves_the_connection_usable(pooler, fakepg, late):
    """what the client still sends of the stream means nothing"""
    def handler(sess, kind, body):
        if body.startswith(b"START"):
            sess.send(pq.msg("W", struct.pack("!bh", 0, 0)),
                      pq.msg("d", b"wal"), error("no such segment"), ready())
            return True
    f = fakepg(handler=handler)
    p = pooler({"p0": f.conn})
    r = p.raw(replication="true")
    for _ in range(2):
        r.send(pq.query("START_REPLICATION 0/0"))
        assert r.recv_until().kinds == "WdEZ"
        r.send(late, pq.query("select 1"))
        assert r.recv_until().kinds == "TDCZ"


@newer
def test_client_that_leaves_a_stream_ends_it(pooler, fakepg):
    """pooling.md 13"""
    # regressions: Ody c663eabe
    def handler(sess, kind, body):
        if body.startswith(b"START"):
            sess.send(pq.msg("W", struct.pack("!bh", 0, 0)),
                      pq.msg("d", b"wal"))
            return True
    f = fakepg(handler=handler)
    p = pooler({"p0": f.conn})
    r = p.raw(replication="true")
    r.send(pq.query("START_REPLICATION 0/0"))
    assert r.recv_until("d").kinds == "Wd"
    r.close(polite=False)
    p.wait_log("S-.*closing because: replication client was closed")
    wait_until(lambda: f.sessions[0].ended)


@newer
def test_reconnect_ends_replication(pooler, fakepg):
    """pooling.md 11: replication server with close_needed"""
    f = fakepg()
    p = pooler({"p0": f.conn})
    r = p.raw(replication="true")
    r.query("select 1")
    p.admin("reconnect p0")
    assert r.recv_all().errors[0].message == "database configuration changed"


@newer
def test_pause_and_reconnect_relaunch_a_waiting_replication(pooler, fakepg):
    """its client keeps its place"""
    gate = threading.Event()

    def on_login(sess):
        gate.wait(TIMEOUT)
    f = fakepg(on_login=on_login)
    p = pooler({"p0": f.conn})
    r = p.open().login("app", database="p0", wait=False, replication="true")
    p.wait_pool(cl_waiting=1, sv_login=1)
    p.admin("pause p0")
    p.wait_pool(cl_waiting=1, sv_login=0)
    p.admin("resume p0")
    p.wait_pool(cl_waiting=1, sv_login=1)
    p.admin("reconnect p0")
    p.wait_log("S-.*closing because: connect string changed")
    gate.set()
    r.finish_login("app", None)
    assert r.value("select 1") == "select 1"


# --- SETs in one flight with a request --------------------------------------

class Canceled:
    """Somebody cancels each other DISCARD SEQUENCES."""

    def __init__(self):
        self.discards, self.ran, self.found = 0, [], []

    def discard(self, s, sql):
        self.discards += 1
        s.skips = False
        if self.discards % 2 == 0:
            s.drew = False
            return False
        s.status = "E" if sql.startswith("BEGIN") else s.status
        s.send(error("canceling statement", "57014"), ready(s.status))
        return True

    def insert(self, s, kind, sql):
        if kind != "E":
            self.ran.append(sql)
            self.found.append(getattr(s, "drew", False))
        if kind != "P":
            s.drew = True
            s.send(complete("INSERT 0 1"),
                   ready(s.status) if kind == "Q" else b"")
        return kind != "P"

    def __call__(self, s, kind, body):
        sql = body.strip(b"\0").decode("latin-1").strip("\0")
        s.last = sql if kind in "QP" else s.last
        if kind == "S":
            s.skips = False
            return False
        if getattr(s, "skips", False):
            return True
        if kind == "P" and s.status == "E":
            s.skips = True
            s.send(error("transaction is aborted", "25P02"))
            return True
        if kind == "E" and s.last.startswith("COMMIT"):
            s.status = "I"
        if kind == "Q" and "DISCARD SEQUENCES" in sql:
            return self.discard(s, sql)
        return kind in "QPE" and s.last.startswith("INSERT") and \
            self.insert(s, kind, sql)


@newer
@pytest.mark.setting("session_state")
@pytest.mark.parametrize("zones", [("UTC", "UTC"), ("Asia/Tokyo", "UTC")])
@pytest.mark.parametrize("more", ["", " copy"])
def test_discard_that_is_canceled_runs_nothing(pooler, fakepg, zones, more):
    """pooling.md 25, "One flight": what others drew is nobody's to see"""
    h = Canceled()
    f = fakepg(handler=h)
    p = pooler({"p0": f.conn}, default_pool_size=1, session_state="clean")
    a, b = (p.raw(timezone=zone) for zone in zones)
    for n in range(4):
        for c, sql in ((a, "INSERT a%d" % n), (b, "INSERT b%d" % n)):
            c.send(*([pq.query(sql + more)] if n % 2 else
                     [pq.parse(sql), pq.bind(), pq.execute(), pq.sync()]))
            assert c.recv_until().check().tags == ["INSERT 0 1"]
    assert [sql[:9] for sql in h.ran] == \
        ["INSERT %s%d" % (x, n) for n in range(4) for x in "ab"]
    assert not any(h.found) and h.discards > 4


@newer
@pytest.mark.setting("session_state")
def test_a_deallocate_that_has_rows(pooler, fakepg):
    """is no PostgreSQL's: its server is closed, not asked again for ever"""
    asked = []

    def handler(s, kind, body):
        if kind == "Q":
            asked.append(body)
            s.send(result("mine"))
        return kind == "Q"

    f = fakepg(handler=handler)
    p = pooler({"p0": f.conn}, default_pool_size=1, session_state="clean",
               session_state_check="always")
    p.raw().query("select 1")
    p.wait_log("cleaning the session failed")
    assert sum(b"DEALLOCATE" in q for q in asked) == 1


@newer
@pytest.mark.parametrize("said,fits", [
    (param("x", "y") * 200, True), (param("x", "y") * 257, False),
    (notice("x" * 1000) * 900, True), (notice("x" * 1000) * 1100, False)],
    ids=["few parameters", "many parameters", "few notices", "many notices"])
def test_a_login_has_at_most_so_much(pooler, fakepg, said, fits):
    """pooling.md 6: 256 ParameterStatus, and 1 MB"""
    p = pooler({"p0": fakepg(extra_welcome=said).conn})
    if fits:
        assert p.raw().query("SELECT 1").tags == ["SELECT 1"]
    else:
        p.open().login("app", database="p0", wait=False)
        p.wait_log("closing because: server said too much in its login")
