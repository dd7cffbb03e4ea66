# test_auth_answers.py - what a server may answer to auth_query.
# SPDX-License-Identifier: ISC
import struct

import pytest

import fakepg
import pq
from harness import wait_until
from test_login import refused

CONFIG = "bouncer config error"
QUERY = "select name, secret from users where name = $1"


@pytest.fixture
def asking(pooler):
    """A pooler and the scripted server it asks, with this answer."""
    servers = []

    def make(answer, **kw):
        def handler(session, kind, body):
            sync = kind == "S" and session.kinds().endswith("PBEPBDES")
            if sync:
                session.send(answer() if callable(answer) else answer)
            return sync or kind in "PBDE"
        split = kw.pop("split", None)
        f = fakepg.FakePg(handler, split=split)
        servers.append(f)
        kw.setdefault("auth_type", "plain")
        p = pooler({"p0": f.conn + " user=app"}, userlist={
            "boss": "", "app": "", "admin": "adminpw"}, auth_user="boss",
            auth_query=QUERY, **kw)
        return p, f
    yield make
    for f in servers:
        f.close()


# what comes first: the search_path is set, and its value is no answer
PATH = b"".join((pq.msg("1"), pq.msg("2"), fakepg.data_row("pg_catalog"),
                 fakepg.complete("SELECT 1")))


def rows(*values):
    return PATH + b"".join((pq.msg("1"), pq.msg("2"),
                            fakepg.row_desc("n", "s"))
                    ) + b"".join(fakepg.data_row(*v) for v in values) \
        + fakepg.complete("SELECT 1") + fakepg.ready()


def test_query_is_sent_as_agreed(asking):
    """authentication.md 6: the search_path, then Parse, Bind,
    Describe portal, Execute, Sync"""
    # regressions: CVE-2025-12819
    p, f = asking(rows(("ann", "x")))
    p.raw("ann", password="x", DateStyle="German",
          application_name="mine")
    s = f.logins()[0]
    assert s.startup["user"] == "boss"
    # CVE-2025-12819: nothing of the client's, neither SET nor start-up
    assert set(s.startup) == {"user", "database"}
    path = s.received[0][1]
    assert path.startswith(b"\0SELECT pg_catalog.set_config('search_path', ")
    assert path.endswith(b", true)\0\0\0")
    assert s.received[1:3] == [("B", b"\0\0" + b"\0\0" * 3),
                               ("E", b"\0\0\0\0\0")]
    assert s.received[3:] == [
        ("P", pq.cstr("") + pq.cstr(QUERY) + b"\0\0"),
        ("B", b"\0\0" + struct.pack("!hhi", 0, 1, 3) + b"ann\0\0"),
        ("D", b"P\0"), ("E", b"\0\0\0\0\0"), ("S", b"")]


@pytest.mark.parametrize("split", [1, 7])
def test_answer_in_pieces_is_put_together(asking, split):
    """bugs of others, family 1"""
    p, f = asking(fakepg.notice("hi") + fakepg.param("TimeZone", "Mars")
                  + rows(("ann", "x")), split=split)
    for _ in range(2):
        assert p.raw("ann", password="x").key


@pytest.mark.parametrize("size,good", [(60000, True), (65530, True),
                                       (65531, False), (900000, False),
                                       (1200000, False)])
def test_long_secrets_have_a_limit(asking, size, good):
    """authentication.md 1: 65530 bytes"""
    text = "s" * size
    p, f = asking(rows(("ann", text)))
    c = p.open().login("ann", database="p0", wait=False)
    if not good:
        assert c.recv_all().errors[0].message == CONFIG
        return
    assert c.recv()[1] == b"\0\0\0\3"
    c.send(pq.password(text))
    c.finish_login("ann")


@pytest.mark.parametrize("answer,reason", [
    (PATH + pq.msg("1") + pq.msg("2") + pq.msg("n") + fakepg.complete("SET")
     + fakepg.ready(), "expected 2 columns from auth_query, not 0"),
    (rows(("ann",)), "expected 2 columns from auth_query, not 1"),
    (rows((None, "x")), "auth_query response contained null user name"),
    (rows(("", "x")), "unexpected response from auth_query"),
    (rows((b"ann\0root", "x")), "unexpected response from auth_query"),
    (rows(("ann", b"x\0y")), "unexpected response from auth_query"),
    (PATH + fakepg.row_desc("n", "s") + pq.msg("D", struct.pack("!hi", 2, 9999)
                                        + b"ann"),
     "unexpected response from auth_query"),
    (PATH + fakepg.row_desc("n", "s") + pq.msg("D", struct.pack("!hi", 2, 3)
                                        + b"ann"),
     "unexpected response from auth_query"),
    (PATH + fakepg.row_desc("n", "s") + pq.msg("D", struct.pack("!hii", 2, -2, -1)),
     "unexpected response from auth_query"),
    (PATH + pq.msg("D", b"\0"), "unexpected response from auth_query"),
    (PATH + fakepg.row_desc("n", "s") + fakepg.data_row("ann", "x")
     + pq.msg("s"), "unexpected response from auth_query"),
    (rows(("ann", "x"))[len(PATH):], "unexpected response from auth_query"),
    (rows(("ann", "x"))[:-6] + fakepg.complete("SELECT 1") + fakepg.ready(),
     "unexpected response from auth_query"),
    (fakepg.ready(), "unexpected response from auth_query"),
    (PATH + fakepg.ready(), "unexpected response from auth_query"),
    (fakepg.copy_in(), "unexpected response from auth_query"),
    (b"?\0\0\0\4", "unexpected response from auth_query"),
    (rows(("ann", "x"))[:-1] + b"T", "unexpected response from auth_query"),
    (rows(("ann", "x")) + fakepg.ready(),
     "unexpected response from auth_query"),
    (b"D\0\0\0\3", "bad pkt header"),
    (b"D\xff\xff\xff\xff", "bad pkt header"),
    (b"D\x7f\xff\xff\xff", "bad pkt header"),
    (fakepg.error("no", None), "error response from auth_query"),
    (fakepg.error("no", "57P01", "FATAL"), "error response from auth_query"),
    (pq.msg("E", b"\1"), "error response from auth_query"),
])
def test_bad_answers_close_the_server(asking, answer, reason):
    """authentication.md 6: result handling (CVE-2026-6666: no SQLSTATE)"""
    # regressions: CVE-2026-6666
    p, f = asking(answer)
    assert refused(p.open(), user="ann", database="p0") == CONFIG
    assert "closing because: %s (age=" % reason in p.log
    wait_until(lambda: f.sessions[-1].ended)
    assert p.pool("p0", "boss")["cl_waiting"] == 0


def test_silent_server_holds_up_one_login_only(asking):
    """architecture: one loop, nothing blocks"""
    answers = [b"", rows(("ann", "x"))]
    p, f = asking(lambda: answers.pop(0))
    slow = p.open().login("ann", database="p0", wait=False)
    f.wait_logins(1)
    wait_until(lambda: f.logins()[0].kinds() == "PBEPBDES")
    assert p.raw("ann", password="x").key
    f.logins()[0].sock.shutdown(2)
    assert slow.recv_all().errors[0].message == CONFIG


def test_client_may_leave_at_any_byte_of_the_answer(asking):
    """bugs of others, family 4: disconnect during auth_query"""
    whole = rows(("ann", "x"))
    cut = [0]
    p, f = asking(lambda: whole[:cut[0]])
    for n in range(0, len(whole), 7):
        cut[0] = n
        c = p.open().login("ann", database="p0", wait=False)
        f.wait_logins(n // 7 + 1)
        wait_until(lambda: f.logins()[-1].kinds() == "PBEPBDES")
        c.close()
        wait_until(lambda: f.logins()[-1].ended)
    wait_until(lambda: p.mem()["client_cache"] == 1)
    assert p.mem()["server_cache"] == 0
