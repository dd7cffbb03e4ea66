# test_live.py - settings that are changed while it runs: whom a change reaches.
# SPDX-License-Identifier: ISC
"""settings.md 2: R counts for everybody at once, R-new for who comes later,
S not before a restart. That values are shown as said is in test_settings."""
import re

import pytest

import pq
from harness import REFERENCE, wait_until

pytestmark = pytest.mark.skipif(REFERENCE, reason="reloads in part")


def change(p, **settings):
    p.settings.update(settings)
    p.reload()


def busy(p, **kw):
    c = p.raw(**kw)
    c.query("begin")
    return c


def queued(p, sql="select 1", **kw):
    """A client that waits for a server."""
    c = p.raw(**kw)
    n = p.pool(kw.get("database", "p0"), kw.get("user", "app"))["cl_waiting"]
    c.send(pq.query(sql))
    wait_until(lambda: p.pool(kw.get("database", "p0"), kw.get(
        "user", "app"))["cl_waiting"] > n, what="the client to wait")
    return c


def reason(c):
    """Why the pooler closed it."""
    return c.recv_all().errors[-1].message


def refusal(p, *args, **kw):
    with pytest.raises(pq.PgError) as e:
        p.raw(*args, **kw)
    return e.value.message


# --- live -----------------------------------------------------------------

@pytest.mark.setting("pool_mode")
def test_pool_mode(pooler):
    """settings.md 3: existing pools switch when a server is lent next"""
    p = pooler(pool_mode="session", default_pool_size=1)
    a = p.raw()
    a.query("create temp table mine ()")
    b = queued(p, "select to_regclass('mine')")
    change(p, pool_mode="transaction")
    # what was lent for a session stays with it, and is reset behind it
    assert a.value("select to_regclass('mine')") == "mine"
    assert p.pool()["cl_waiting"] == 1
    a.close()
    assert b.recv_until().rows == [[None]]
    c = p.raw()
    assert c.value("select 1") == b.value("select 1") == "1"
    change(p, pool_mode="session")
    assert c.value("select 1") == "1"
    d = queued(p)
    c.close()
    assert d.recv_until().rows == [["1"]]


@pytest.mark.setting("default_pool_size")
def test_pool_size(pooler):
    """settings.md 3: a larger one serves who waits, a smaller one closes"""
    p = pooler(default_pool_size=1)
    a = busy(p)
    b = queued(p, "begin")
    change(p, default_pool_size=2)
    assert b.recv_until().tags == ["BEGIN"]
    change(p, default_pool_size=1)
    for c in (a, b):
        c.query("commit")
    wait_until(lambda: len(p.servers()) == 1)
    assert "too many servers in the pool" in p.log


LIMITS = ["default_pool_size", "max_db_connections", "max_user_connections"]


@pytest.mark.parametrize("how", ["reload", "set"])
@pytest.mark.parametrize("key", LIMITS)
@pytest.mark.setting("default_pool_size", "max_db_connections",
                     "max_user_connections")
def test_lowered_limit_counts_at_release(pooler, key, how):
    """pooling.md 9: whose client gives it back first is closed first, though
    somebody waits for it"""
    p = pooler(default_pool_size=10)
    clients = [busy(p) for _ in range(4)]
    pids = [c.value("select pg_backend_pid()") for c in clients]
    if how == "set":
        p.admin("set %s = 2" % key)
    else:
        change(p, **{key: 2})
    last = queued(p, "select pg_backend_pid()")
    wait, = p.admin("show waits")
    assert wait["detail"].endswith(
        "are in use, and 2 more until they are given back.")
    for n, c in enumerate(clients[:2]):
        c.query("commit")
        wait_until(lambda: len(p.servers()) == 3 - n)
        assert not last.readable()
    assert sorted(r["remote_pid"] for r in p.servers()) == sorted(pids[2:])
    clients[2].query("commit")
    assert last.recv_until().rows == [[pids[2]]]
    clients[3].query("commit")
    assert len(p.servers()) == 2


@pytest.mark.parametrize("key", LIMITS)
@pytest.mark.setting("default_pool_size", "max_db_connections",
                     "max_user_connections")
def test_lowered_limit_closes_idle_servers(pooler, key):
    """pooling.md 7: the oldest first, of all its pools"""
    p = pooler(default_pool_size=10)
    clients = [busy(p) for _ in range(4)]
    for c in clients:
        c.query("commit")
    wait_until(lambda: p.pool()["sv_idle"] == 4)
    change(p, **{key: 2})
    wait_until(lambda: len(p.servers()) == 2)
    assert clients[0].value("select 1") == "1"


@pytest.mark.parametrize("key,user", [("max_db_connections", "app2"),
                                      ("max_user_connections", "app")])
@pytest.mark.setting("max_db_connections", "max_user_connections")
def test_limits_of_servers(pooler, key, user):
    """settings.md 3"""
    p = pooler(**{key: 1})
    other = dict(user=user, database="p0" if user == "app2" else "p1")
    # it has been served once: it waits for a query, not for its login
    b = p.raw(**other)
    b.query("select 1")
    a = busy(p)
    b.send(pq.query("select 1"))
    wait_until(lambda: p.pool(other["database"], user)["cl_waiting"] == 1)
    change(p, **{key: 2})
    assert b.recv_until().rows == [["1"]]
    assert a.value("select 1") == "1"


@pytest.mark.setting("min_pool_size")
def test_min_pool_size(pooler):
    """settings.md 3"""
    p = pooler()
    a = p.raw()
    a.query("select 1")
    assert len(p.servers()) == 1
    change(p, min_pool_size=3)
    wait_until(lambda: len(p.servers()) == 3)


@pytest.mark.setting("reserve_pool_size", "reserve_pool_timeout")
def test_reserve_pool(pooler):
    """settings.md 3"""
    p = pooler(default_pool_size=1, reserve_pool_timeout=3600)
    a = busy(p)
    b = queued(p)
    change(p, reserve_pool_size=1)
    assert p.pool()["cl_waiting"] == 1
    change(p, reserve_pool_timeout="1ms")
    assert b.recv_until().rows == [["1"]]
    a.query("commit")


@pytest.mark.setting("server_idle_timeout", "server_lifetime")
@pytest.mark.parametrize("key,why", [
    ("server_idle_timeout", "server idle timeout"),
    ("server_lifetime", "server lifetime over")])
def test_age_of_servers(pooler, key, why):
    """settings.md 7"""
    p = pooler()
    p.raw().query("select 1")
    assert len(p.servers()) == 1
    change(p, **{key: "1ms"})
    wait_until(lambda: p.servers() == [])
    assert why in p.log


@pytest.mark.setting("query_wait_timeout", "query_timeout",
                     "idle_transaction_timeout", "transaction_timeout",
                     "client_idle_timeout")
@pytest.mark.parametrize("key,sql,text", [
    ("query_wait_timeout", "select 1", "query_wait_timeout"),
    ("query_timeout", "select pg_sleep(600)", "query timeout"),
    ("idle_transaction_timeout", "begin", "idle transaction timeout"),
    ("transaction_timeout", "begin; select pg_sleep(600)",
     "transaction timeout"),
    ("client_idle_timeout", None, "client_idle_timeout")])
def test_time_outs_reach_who_is_there(pooler, key, sql, text):
    """settings.md 7"""
    p = pooler(default_pool_size=1, query_wait_timeout=0)
    if key == "query_wait_timeout":
        a = busy(p)
        c = queued(p, sql)
    else:
        a, c = None, p.raw()
        if sql is not None:
            c.send(pq.query(sql))
            wait_until(lambda: p.pool()["sv_active"] == 1)
    change(p, **{key: "1ms"})
    assert reason(c) == text
    assert a is None or a.value("select 1") == "1"


@pytest.mark.setting("client_login_timeout")
def test_login_time_out(pooler):
    """settings.md 7"""
    p = pooler(client_login_timeout=0)
    c = p.open()
    c.send(b"\0\0\0")
    wait_until(lambda: "login_clients" in str(p.admin("show lists")))
    change(p, client_login_timeout="1ms")
    assert reason(c) == "client_login_timeout"


@pytest.mark.setting("query_wait_notify")
def test_wait_notice(pooler):
    """settings.md 3"""
    p = pooler(default_pool_size=1, query_wait_notify=0)
    a = busy(p)
    b = queued(p)
    change(p, query_wait_notify=1)
    assert b.recv()[0] == "N"
    a.query("commit")
    assert b.recv_until().rows == [["1"]]


@pytest.mark.setting("server_reset_query", "server_reset_query_always")
def test_reset_query(pooler):
    """settings.md 7: in every mode when it is told so, and another one"""
    p = pooler(default_pool_size=1)
    a, b = p.raw(), p.raw()

    def left_behind():
        a.query("create temp table if not exists mine (n int)")
        return b.value("select to_regclass('mine') is not null")
    assert left_behind() == "t"
    change(p, server_reset_query_always=1)
    assert left_behind() == "f"
    change(p, server_reset_query="select 1")
    assert left_behind() == "t"


@pytest.mark.setting("server_round_robin")
def test_round_robin(pooler):
    """settings.md 3"""
    p = pooler(default_pool_size=2)
    a, b = busy(p), busy(p)
    a.query("commit")
    b.query("commit")

    def used():
        return {a.value("select pg_backend_pid()") for _ in range(6)}
    assert len(used()) == 1
    change(p, server_round_robin=1)
    assert len(used()) == 2


@pytest.mark.setting("log_connections", "log_disconnections",
                     "log_pooler_errors")
@pytest.mark.parametrize("key,text", [
    ("log_connections", "login attempt"),
    ("log_disconnections", "closing because"),
    ("log_pooler_errors", "pooler error")])
def test_log_switches(pooler, key, text):
    """settings.md 5"""
    p = pooler(**{key: 0})

    def come_and_go():
        p.raw().close()
        refusal(p, "ghost")
        # what follows in the log has been written behind it
        p.admin("log 'here %d'" % p.log.count("here"))
    come_and_go()
    assert text not in p.log
    change(p, **{key: 1})
    come_and_go()
    p.wait_log(text)


# --- for who comes later --------------------------------------------------

@pytest.mark.setting("max_client_conn", "max_db_client_connections",
                     "max_user_client_connections")
@pytest.mark.parametrize("key", [
    "max_client_conn", "max_db_client_connections",
    "max_user_client_connections"])
def test_limits_of_clients(pooler, key):
    """settings.md 3: nobody is thrown out"""
    p = pooler()
    a, b = p.raw(), p.raw()
    change(p, **{key: 1})
    assert a.value("select 1") == b.value("select 1") == "1"
    assert "(%s)" % key in refusal(p)
    change(p, **{key: 3})
    assert p.raw().value("select 1") == "1"


@pytest.mark.setting("ignore_startup_parameters", "application_name_add_host",
                     "login_notify_message")
def test_what_a_login_is_told(pooler):
    """settings.md 3"""
    p = pooler()
    a = p.raw()
    assert refusal(p, odd="1") == "unsupported startup parameter: odd"
    change(p, ignore_startup_parameters="odd", application_name_add_host=1,
           login_notify_message="hello")
    b = p.raw(odd="1")
    assert [n.message for n in b.notices] == ["hello"]
    assert b.value("show application_name").startswith("app - 127.0.0.1:")
    assert a.notices == []
    assert not a.value("show application_name").startswith("app - ")


@pytest.mark.setting("admin_users", "stats_users")
def test_rights_on_the_console(pooler):
    """settings.md 6: of who is there they stay as they were"""
    p = pooler(admin_users="admin, app2")
    a, b = p.console("app2"), p.console("stats")
    change(p, admin_users="admin, stats", stats_users="app2")
    a.query("pause p1")
    a.query("resume p1")
    assert b.try_query("pause p1").errors[0].message == "admin access needed"
    assert p.console("app2").try_query("pause p1").errors
    p.console("stats").query("pause p1")
    assert refusal(p, "app", "pgbouncer") == "not allowed"


@pytest.mark.setting("auth_type", "auth_file")
def test_method_and_file(pooler):
    """settings.md 4: for the logins that follow"""
    p = pooler(auth_type="trust")
    a = p.raw(password="wrong")
    other = p.put("other.txt", '"app" "secret"\n"admin" "adminpw"\n')
    change(p, auth_type="plain", auth_file=other)
    assert a.value("select 1") == "1"
    assert refusal(p, password="apppw")
    with p.raw(password="secret") as b:
        assert b.value("select 1") == "1"


@pytest.mark.setting("peer_id")
def test_peer_id(pooler):
    """settings.md 3: of keys that are given out afterwards"""
    p = pooler(peer_id=1)
    a = p.raw()
    change(p, peer_id=2)
    b = p.raw()
    assert [int.from_bytes(c.key[-8:][1:3], "little") for c in (a, b)] == \
        [1, 2]


# --- not before a restart -------------------------------------------------

@pytest.mark.setting("disable_pqexec", "track_extra_parameters", "pkt_buf",
                     "job_name", "listen_backlog", "so_reuseport",
                     "unix_socket_mode", "pidfile")
def test_restart_only(pooler):
    """settings.md 2: neither shown nor in force, but told of"""
    p = pooler(default_pool_size=1)
    change(p, disable_pqexec=1, track_extra_parameters="extra_float_digits",
           listen_backlog=1, so_reuseport=1, pkt_buf=8192, job_name="x",
           unix_socket_mode="0700", pidfile=p.ini + ".pid")
    p.raw().query("select 1")               # disable_pqexec
    for key, value in (("disable_pqexec", "0"), ("listen_backlog", "128"),
                       ("track_extra_parameters", "IntervalStyle"),
                       ("so_reuseport", "0"), ("pkt_buf", "4096"),
                       ("job_name", "pgbouncer"), ("pidfile", ""),
                       ("unix_socket_mode", "511")):
        assert p.show("config", key=key)[0]["value"] == value
        assert re.search('WARNING %s: ".*" takes effect after a restart; '
                         % key, p.log), key
