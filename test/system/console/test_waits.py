# test_waits.py - why clients wait: SHOW WAITS, POOLS, CLIENTS, the notice and
# the error say it.
# SPDX-License-Identifier: ISC
import socket

import pytest

import pq
from harness import REFERENCE, wait_until

pytestmark = pytest.mark.skipif(REFERENCE, reason="not known there")


def waits(p):
    return {(r["database"], r["user"]): r for r in p.admin("show waits")}


def reason(p, want, database="p0", user="app"):
    """The three views agree on the reason."""
    wait_until(lambda: waits(p).get((database, user), {}).get("wait_reason")
               == want, what="wait_reason " + want)
    assert p.pool(database, user)["wait_reason"] == want
    rows = p.show("clients", database=database, state="waiting", user=user)
    assert rows and {r["wait_reason"] for r in rows} == {want}
    row = waits(p)[database, user]
    assert int(row["clients"]) == len(rows)
    assert int(row["total_wait_us"]) >= int(row["wait_us"]) > 0
    return row


def waiter(p, **kw):
    c = p.raw(**kw)
    c.send(pq.query("select 1"))
    return c


def test_pool_size(pooler):
    p = pooler(default_pool_size=1)
    a = p.raw()
    a.query("begin")
    b, c = waiter(p), waiter(p)
    row = reason(p, "pool_size")
    assert row["setting"] == "default_pool_size" and row["clients"] == "2"
    assert row["detail"] == ("All 1 server connections of user \"app\" to "
                             "database \"p0\" are in use.")
    idle = p.show("clients", database="p0", state="active")[0]
    assert idle["wait_reason"] is None and idle["waited_us"] == "0"
    first = int(waits(p)["p0", "app"]["wait_us"])
    wait_until(lambda: int(waits(p)["p0", "app"]["wait_us"]) > first)
    a.query("commit")
    assert b.recv_until().rows == c.recv_until().rows == [["1"]]
    assert p.admin("show waits") == []
    assert p.pool()["wait_reason"] is None and p.pool()["wait_us"] == 0


def test_limits_of_database_and_user(pooler):
    p = pooler({"p0": "max_db_connections=1", "p1": ""},
               users={"app2": "max_user_connections=1"})
    a = p.raw()
    a.query("begin")
    b = p.open().login("app2", database="p0", wait=False)
    assert reason(p, "max_db_connections", user="app2")["setting"] == \
        "max_db_connections"
    a.query("commit")
    b.finish_login("app2", None)
    b.query("begin")
    c = p.open().login("app2", database="p1", wait=False)
    reason(p, "max_user_connections", "p1", "app2")
    b.query("commit")
    c.finish_login("app2", None)


def test_pause(pooler):
    p = pooler()
    a = p.raw()
    a.query("select 1")
    con = p.console()
    con.query("pause p0")
    a.send(pq.query("select 1"))
    assert reason(p, "paused")["setting"] == "RESUME"
    con.query("resume p0")
    a.recv_until().check()
    con.query("pause")
    a.send(pq.query("select 1"))
    reason(p, "paused")
    con.query("resume")
    a.recv_until().check()


def test_server_that_does_not_answer_and_one_that_refuses(pooler):
    """server_login while it connects, server_login_failed afterwards"""
    s = socket.socket()
    s.bind(("127.0.0.1", 0))
    s.listen(8)
    p = pooler({"p0": "host=127.0.0.1 port=%d" % s.getsockname()[1]},
               server_login_retry=30)
    c = p.open()
    c.login("app", database="p0", wait=False)
    reason(p, "server_login")
    s.close()
    wait_until(lambda: waits(p)["p0", "app"]["wait_reason"]
               == "server_login_failed")
    row = reason(p, "server_login_failed")
    assert row["setting"] == "server_login_retry"
    assert row["detail"].startswith(
        "The last connection to database \"p0\" failed: ")


def test_notice_and_error_tell_the_reason(pooler):
    """DETAIL says why, HINT names the setting; S, V, C, M as specified"""
    p = pooler(default_pool_size=1, query_wait_notify=1,
               query_wait_timeout=3)
    a = p.raw()
    a.query("begin")
    b = waiter(p)
    res = b.recv_all()
    note, err = res.notices[0].fields, res.errors[0].fields
    assert (note["S"], note["C"]) == ("NOTICE", "00000")
    assert note["M"] == ("No server connection available in postgres "
                         "backend, client being queued")
    assert (err["S"], err["C"], err["M"]) == (
        "FATAL", "08P01", "query_wait_timeout")
    for f in (note, err):
        assert f["D"] == ("All 1 server connections of user \"app\" to "
                          "database \"p0\" are in use.")
        assert "default_pool_size" in f["H"]
        assert set(f) == set("SVCMDH")


def test_login_in_vain_tells_the_reason(pooler):
    """the server is down: the client, and the log, hear what was tried"""
    p = pooler({"p0": "host=127.0.0.1 port=1"}, client_login_timeout=1,
               server_down_timeout=0)
    c = p.open()
    c.login("app", database="p0", wait=False)
    err = c.recv_all().errors[0].fields
    assert err["M"] == "client_login_timeout (server down)"
    assert err["D"] == ("The last connection to database \"p0\" failed: "
                        "connect failed")
    assert "server_login_retry" in err["H"]
    p.wait_log("pooler error: client_login_timeout \\(server down\\)\n.* "
               "pooler error detail: The last connection")


@pytest.mark.setting("server_down_timeout")
def test_login_to_a_server_that_is_down_ends_early(pooler):
    """pooling.md 10"""
    p = pooler({"p0": "host=127.0.0.1 port=1"}, server_down_timeout=0.3)
    c = p.open()
    c.login("app", database="p0", wait=False)
    err = c.recv_all().errors[0].fields
    assert (err["C"], err["M"]) == ("57P03", "server is down or cannot be "
                                    "reached (server_down_timeout)")
    assert err["D"] == ("The last connection to database \"p0\" failed: "
                        "connect failed")
    assert "server_login_retry" in err["H"]


@pytest.mark.database("server_down_timeout")
@pytest.mark.user("server_down_timeout")
@pytest.mark.parametrize("entry,user,ends", [
    ("server_down_timeout=0.1", "", True),
    ("host=127.0.0.1,127.0.0.2 server_down_timeout=0.1", "", True),
    ("server_down_timeout=0", "", False),
    ("server_down_timeout=0", "server_down_timeout=0.1", True),
    ("server_down_timeout=0.1", "server_down_timeout=0", False),
    ("server_down_timeout=-1", "", False)])
def test_down_timeout_of_a_database_and_of_a_user(pooler, entry, user, ends):
    """config-files.md 6"""
    p = pooler({"p0": "host=127.0.0.1 " * ("host" not in entry) +
                "port=1 " + entry},
               users={"app": user} if user else {}, server_down_timeout=
               60 if ends or "-1" in entry else 0.1, client_login_timeout=1)
    c = p.open()
    c.login("app", database="p0", wait=False)
    assert c.recv_all().errors[0].fields["M"] == (
        "server is down or cannot be reached (server_down_timeout)" if ends
        else "client_login_timeout (server down)")


@pytest.mark.parametrize("entry", [
    "host=127.0.0.1,127.0.0.2 port=1",
    "host=127.0.0.1 port=1 target_session_attrs=primary"])
def test_login_waits_where_a_host_may_take_over(pooler, entry):
    """server_down_timeout is for the other databases"""
    p = pooler({"p0": entry}, server_down_timeout=0.1, client_login_timeout=1)
    c = p.open()
    c.login("app", database="p0", wait=False)
    assert c.recv_all().errors[0].fields["M"] == \
        "client_login_timeout (server down)"


@pytest.mark.parametrize("mend", ["reload", "resume", "reconnect"])
def test_mended_server_is_tried_at_once(pooler, mend):
    """pooling.md 10: not after server_login_retry only"""
    p = pooler({"p0": "host=127.0.0.1 port=1"}, server_login_retry=3600,
               server_down_timeout=0)
    c = p.open()
    c.login("app", database="p0", wait=False)
    p.wait_log("closing because: connect failed")
    if mend == "resume":
        p.admin("pause p0")
        p.admin("resume p0")
    else:
        p.admin(mend)
    p.wait_log("closing because: connect failed", count=2)


def test_login_into_a_pause_tells_the_reason(pooler):
    """paused before the first server was there"""
    p = pooler(client_login_timeout=1)
    con = p.console()
    con.query("pause p0")
    c = p.open()
    c.login("app", database="p0", wait=False)
    err = c.recv_all().errors[0].fields
    assert err["M"] == "client_login_timeout (server down)"
    assert "paused" in err["D"]
    assert "RESUME" in err["H"]


def test_reset_query_is_waited_for(pooler, latch):
    p = pooler(default_pool_size=1, pool_mode="session",
               server_reset_query="select " + latch.query)
    a = p.raw()
    a.query("select 1")
    a.close()
    b = waiter(p)
    reason(p, "server_check")
    latch.open()
    b.recv_until().check()
