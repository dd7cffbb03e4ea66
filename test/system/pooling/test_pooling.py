# test_pooling.py - who gets which server, when, in what order.
# SPDX-License-Identifier: ISC
import re
import time

import pytest

import pq
from harness import REFERENCE, wait_until

PID = "select pg_backend_pid()"


def fatal(conn):
    """The FATAL a connection ends with."""
    res = conn.recv_all()
    assert res.errors, res.messages
    assert res.errors[-1].severity == "FATAL"
    return res.errors[-1].message


def hold(p, n, **kw):
    """n clients, each inside a transaction."""
    out = []
    for _ in range(n):
        c = p.raw(**kw)
        c.query("begin")
        out.append(c)
    return out


# --- modes ----------------------------------------------------------------

@pytest.mark.setting("pool_mode")
def test_session_mode_keeps_the_server_until_disconnect(pooler):
    """pooling.md 8: session"""
    p = pooler(pool_mode="session", default_pool_size=1)
    a, b = p.raw(), p.raw()
    pid = a.value(PID)
    b.send(pq.query(PID))
    p.wait_pool(cl_waiting=1)
    assert a.value(PID) == pid
    assert not b.readable()
    a.close()
    assert b.recv_until().rows == [[pid]]


@pytest.mark.skipif(REFERENCE, reason="lends it again")
def test_server_of_a_role_that_was_dropped_is_lent_no_more(pooler, pg):
    """pooling.md 11: close_needed"""
    def make():
        pg.sql("drop role if exists u_again", "create role u_again login")

    make()
    try:
        c = pooler(userlist={"u_again": ""}).raw("u_again")
        for text in ("select current_user",
                     "alter role current_user reset work_mem"):
            pid = c.value(PID)
            make()
            with pytest.raises(pq.PgError, match=" role "):
                c.query(text)
            assert c.value("select current_user") == "u_again"
            assert c.value(PID) != pid
        c.close()
    finally:
        pg.sql("drop role u_again")


@pytest.mark.setting("server_reset_query")
def test_session_mode_resets_the_server(pooler):
    """pooling.md 8, 9: server_reset_query"""
    # regressions: PB#1567, PB#396, family 6: state of who left
    p = pooler(pool_mode="session", default_pool_size=1)
    a = p.raw()
    a.query("create temp table tt (a int); set work_mem = '7MB'; "
            "prepare pst as select 1; listen chan; "
            "select pg_advisory_lock(5)")
    pid = a.value(PID)
    a.close()
    b = p.raw()
    assert b.value(PID) == pid
    assert b.value("select to_regclass('tt')") is None
    assert b.value("show work_mem") != "7MB"
    assert b.query("select 1 from pg_prepared_statements").rows == []
    assert b.query("select pg_listening_channels()").rows == []
    assert b.value("select count(*) from pg_locks where locktype='advisory' "
                   "and pid=pg_backend_pid()") == "0"


@pytest.mark.setting("server_reset_query_always")
@pytest.mark.parametrize("always", [0, 1])
def test_transaction_mode_resets_only_if_told(pooler, always):
    """pooling.md 9: server_reset_query_always"""
    p = pooler(default_pool_size=1, server_reset_query_always=always)
    p.raw().query("set work_mem = '7MB'")
    b = p.raw()
    assert (b.value("show work_mem") == "7MB") == (not always)


@pytest.mark.skipif(REFERENCE, reason="errors are ignored there")
@pytest.mark.parametrize("query,said", [
    ("nonsense here", 'ERROR: syntax error at or near "nonsense"'),
    ("reset work_mem; select 1/0", "ERROR: division by zero"),
    ("begin; discard all",
     "ERROR: DISCARD ALL cannot run inside a transaction block"),
    ("begin", "it has left a transaction open")])
def test_server_whose_reset_query_fails_is_closed(pooler, query, said):
    """pooling.md 9: nobody gets what the last client has left"""
    p = pooler(pool_mode="session", server_reset_query=query,
               default_pool_size=1)
    a = p.raw()
    a.query("set maintenance_work_mem = '77MB'")
    pid = a.value(PID)
    a.close()
    b = p.raw()
    assert b.value(PID) != pid
    assert b.value("show maintenance_work_mem") != "77MB"
    p.wait_log("WARNING S-.*reset query failed: " + re.escape(said))
    assert "side=server, reason=reset query failed" in [
        r["label"] for r in p.admin("show counters")]


@pytest.fixture
def draining(pg):
    """Says which server check_it() does not like: 0 for all of them."""
    pg.sql("create table bad_servers (pid int)",
           "create function check_it() returns int language plpgsql as $$ "
           "begin if exists (select from bad_servers where pid in (0, "
           "pg_backend_pid())) then raise 'draining'; end if; return 1; "
           "end $$", "grant select on bad_servers to public", db="p0")
    yield lambda pid: pg.sql("truncate bad_servers",
                             "insert into bad_servers values (%s)" % pid,
                             db="p0")
    pg.sql("drop function check_it", "drop table bad_servers", db="p0")


@pytest.mark.skipif(REFERENCE, reason="errors are ignored there")
@pytest.mark.parametrize("mode", ["transaction", "session"])
def test_server_whose_check_fails_serves_nobody(pooler, draining, mode):
    """pooling.md 9: its client gets another one"""
    p = pooler(pool_mode=mode, server_check_query="select check_it()",
               server_check_delay=0, server_reset_query="")
    with p.raw() as a:
        pid = a.value(PID)
    draining(pid)
    for _ in range(3):
        with p.raw() as b:
            assert b.value(PID) != pid
    p.wait_log("WARNING S-.*test query failed: ERROR: draining")


@pytest.mark.skipif(REFERENCE, reason="errors are ignored there")
@pytest.mark.parametrize("state", ["forget", "keep"])
def test_new_servers_are_checked_while_checks_fail(pooler, draining, state):
    """pooling.md 9: nobody is served, and each attempt waits for its time,
    until a check passes"""
    p = pooler(server_check_query="select check_it()", server_check_delay=0,
               server_login_retry=0.3, query_wait_timeout=60,
               session_state=state)
    a, b = p.raw(), p.raw()
    a.query("select 1")
    draining(0)
    a.send(pq.query("select 2"))
    wait_until(lambda: p.log.count("test query failed: ERROR: draining") > 3)
    assert not a.readable()
    b.send(pq.query("select 3"))
    assert "test query failed: ERROR: draining" in \
        b.recv_all().errors[-1].message
    begun, n = time.monotonic(), p.log.count("new connection to server")
    wait_until(lambda: p.log.count("new connection to server") > n + 3)
    assert time.monotonic() - begun > 0.6
    draining(-1)
    assert a.recv_until().rows == [["2"]]
    assert p.raw().value("select 4") == "4"


def test_transaction_mode_shares_the_server(pooler):
    """pooling.md 8: transaction"""
    p = pooler(default_pool_size=1)
    a, b = p.raw(), p.raw()
    assert a.value(PID) == b.value(PID)
    a.query("begin")
    b.send(pq.query("select 7"))
    p.wait_pool(cl_waiting=1)
    a.try_query("select 1/0")
    assert not b.readable()
    a.query("rollback")
    assert b.recv_until().rows == [["7"]]


def test_statement_mode_forbids_transactions(pooler):
    """pooling.md 8: statement"""
    p = pooler(pool_mode="statement")
    a, b = p.raw(), p.raw()
    pid = a.value(PID)
    assert b.value(PID) == pid
    a.send(pq.query("begin"))
    assert fatal(a) == ("transaction blocks not allowed in statement "
                        "pooling mode")
    assert b.value(PID) != pid
    assert b.value("begin; select 1; commit") == "1"


@pytest.mark.skipif(REFERENCE, reason="not so there")
@pytest.mark.parametrize("how", ["simple", "extended"])
def test_statement_mode_runs_nothing_behind_a_begin(pooler, pg, how):
    """pooling.md 8: not even what came in the same write"""
    pg.sql("drop table if exists held", "create table held (i int)",
           "grant all on held to public", db="p0")
    p = pooler(pool_mode="statement", default_pool_size=1)

    def ask(sql):
        return pq.query(sql) if how == "simple" else pq.parse(sql) + \
            pq.bind() + pq.execute() + pq.sync()
    a = p.raw()
    a.send(ask("select 1") + ask("select 2"))
    assert [a.recv_until().rows, a.recv_until().rows] == [[["1"]], [["2"]]]
    a.send(ask("begin") + ask("insert into held values (1)") + ask("commit"))
    assert a.recv_all().errors[-1].message == \
        "transaction blocks not allowed in statement pooling mode"
    assert p.raw().value("select count(*) from held") == "0"


@pytest.mark.skipif(REFERENCE, reason="sees the last status only")
def test_statement_mode_forbids_transactions_in_a_pipeline(pooler):
    """pooling.md 8: the first ReadyForQuery that is not I ends it"""
    p = pooler(pool_mode="statement")
    for flight in ([pq.query("begin"), pq.query("select 1"),
                    pq.query("commit")],
                   [pq.parse("begin"), pq.bind(), pq.execute(), pq.sync(),
                    pq.query("commit")]):
        a = p.raw()
        a.send(*flight)
        res = a.recv_all()
        assert "Z" not in res.kinds and res.tags == ["BEGIN"]
        assert res.errors[-1].message == ("transaction blocks not allowed in "
                                          "statement pooling mode")


@pytest.mark.skipif(REFERENCE, reason="lends it as it is")
def test_mode_at_link_decides_how_the_server_is_given_back(pooler):
    """pooling.md 8: a session goes on as one, and is reset"""
    p = pooler({"p0": ""}, pool_mode="session", default_pool_size=1,
               server_reset_query="discard all")
    a = p.raw()
    a.query("create temp table tt (a int); set work_mem = '7MB'")
    a.send(pq.parse("select 7", "mine"), pq.sync())
    assert a.recv_until().kinds == "1Z"
    pid = a.value(PID)
    p.settings["pool_mode"] = "transaction"
    p.reload()
    assert a.value("select count(*) from tt") == "0"
    a.send(pq.bind("mine"), pq.execute(), pq.sync())
    assert a.recv_until().rows == [["7"]]
    b = p.raw()
    b.send(pq.query("select to_regclass('tt'); show work_mem; " + PID))
    p.wait_pool(cl_waiting=1)
    a.close()
    (table,), (mem,), (now,) = b.recv_until().rows
    assert table is None and mem != "7MB" and now == pid
    # and the other way round: at the end of the transaction
    b.query("begin")
    p.settings["pool_mode"] = "session"
    p.reload()
    c = p.raw()
    c.send(pq.query(PID))
    p.wait_pool(cl_waiting=1)
    b.query("commit")
    assert c.recv_until().rows == [[pid]]


@pytest.mark.database("pool_mode")
@pytest.mark.user("pool_mode")
def test_mode_is_chosen_per_user_then_database(pooler):
    """pooling.md 1: effective settings"""
    p = pooler({"p0": "pool_mode=session", "p1": ""},
               users={"app2": "pool_mode=statement"})
    for user, db in (("app", "p0"), ("app2", "p0"), ("app", "p1")):
        p.raw(user, db).query("select 1")
    modes = {(r["database"], r["user"]): r["pool_mode"]
             for r in p.admin("show pools")}
    assert modes[("p0", "app")] == "session"
    assert modes[("p0", "app2")] == "statement"
    assert modes[("p1", "app")] == "transaction"


# --- limits and the queue -------------------------------------------------

@pytest.mark.setting("default_pool_size")
def test_pool_size_is_never_exceeded(pooler, pg):
    """pooling.md 6 rule 5"""
    p = pooler(default_pool_size=3)
    hold(p, 1)[0].query("commit")       # the pool has its welcome data
    clients = [p.raw() for _ in range(12)]
    for c in clients:
        c.send(pq.query("begin; select pg_backend_pid()"))
    p.wait_pool(sv_active=3, cl_waiting=9)
    assert len(pg.backends(where="usename='app'")) == 3
    done, seen = set(), set()
    while len(done) < 12:
        assert len(pg.backends(where="usename='app'")) <= 3
        ready = wait_until(lambda: [c for c in clients if c not in done
                                    and c.readable()])
        for c in ready:
            seen.add(c.recv_until().rows[0][0])
            c.query("commit")
            done.add(c)
    assert len(seen) <= 3


@pytest.mark.database("pool_size")
@pytest.mark.user("pool_size")
def test_pool_size_is_taken_from_database_or_user(pooler):
    """pooling.md 1: effective settings"""
    p = pooler({"p0": "pool_size=2", "p1": "pool_size=2"},
               users={"app2": "pool_size=1"})
    p.raw().query("select 1")
    p.raw("app2").query("select 1")
    for user, size in (("app", 2), ("app2", 1)):
        clients = [p.raw(user) for _ in range(4)]
        for c in clients:
            c.send(pq.query("begin"))
        p.wait_pool(user=user, sv_active=size, cl_waiting=4 - size)


def test_queue_is_served_in_order_of_arrival(pooler, pg):
    """pooling.md 5: the queue is FIFO"""
    # regressions: Ody b411dc1d
    pg.sql("truncate seq_log", db="p0")
    p = pooler(default_pool_size=1)
    holder, = hold(p, 1)
    clients = [p.raw() for _ in range(15)]
    for i, c in enumerate(clients):
        c.send(pq.query("insert into seq_log(who) values ('%02d')" % i))
        p.wait_pool(cl_waiting=i + 1)
    holder.query("commit")
    for c in clients:
        c.recv_until().check()
    order = [r[0] for r in pg.sql("select who from seq_log order by n",
                                  db="p0")]
    assert order == ["%02d" % i for i in range(15)]


def test_client_that_leaves_the_queue_is_forgotten(pooler):
    """pooling.md 13"""
    p = pooler(default_pool_size=1)
    holder, = hold(p, 1)
    a, b = p.raw(), p.raw()
    a.send(pq.query("select 1"))
    p.wait_pool(cl_waiting=1)
    b.send(pq.query("select 2"))
    p.wait_pool(cl_waiting=2)
    a.abort()
    holder.query("commit")
    assert b.recv_until().rows == [["2"]]
    wait_until(lambda: p.pool()["cl_active"] == 2)


@pytest.mark.setting("reserve_pool_size", "reserve_pool_timeout")
def test_reserve_pool_opens_after_its_timeout(pooler):
    """pooling.md 6: reserve"""
    # regressions: PB 1.5.2 reserve
    p = pooler(default_pool_size=1, reserve_pool_size=1,
               reserve_pool_timeout=1)
    hold(p, 1)
    a, b = p.raw(), p.raw()
    start = time.monotonic()
    a.query("begin")
    assert time.monotonic() - start >= 0.9
    assert "taking connection from reserve_pool" in p.log
    b.send(pq.query("select 1"))
    p.wait_pool(cl_waiting=1, sv_active=2)
    a.query("commit")
    assert b.recv_until().rows == [["1"]]


@pytest.mark.setting("server_round_robin")
@pytest.mark.parametrize("rr", [0, 1])
def test_idle_servers_are_taken_lifo_or_round_robin(pooler, rr):
    """pooling.md 5: order"""
    # regressions: PgDog#703
    p = pooler(default_pool_size=3, server_round_robin=rr)
    clients = hold(p, 3)
    pids = [c.value(PID) for c in clients]
    assert len(set(pids)) == 3
    for c in clients:
        c.query("commit")
    c = clients[0]
    got = [c.value(PID) for _ in range(6)]
    assert got == (pids * 2 if rr else [pids[2]] * 6)


@pytest.mark.database("max_db_connections")
def test_max_db_connections_evicts_idle_servers(pooler):
    """pooling.md 7"""
    p = pooler({"p0": "max_db_connections=2"})
    a, b = hold(p, 2)
    c = p.open().login("app2", database="p0", wait=False)
    wait_until(lambda: p.pool("p0", "app2").get("cl_waiting") == 1)
    a.query("commit")
    c.finish_login("app2")
    assert c.value("select current_user") == "app2"
    assert "closing because: evicted" in p.log
    assert int(p.show("databases", name="p0")[0]["current_connections"]) <= 2


@pytest.mark.setting("max_user_connections")
def test_max_user_connections_counts_over_databases(pooler):
    """pooling.md 6 rule 7"""
    p = pooler(max_user_connections=1)
    a, = hold(p, 1)
    b = p.open().login("app", database="p1", wait=False)
    wait_until(lambda: p.pool("p1").get("cl_waiting") == 1)
    a.query("commit")
    b.finish_login("app")
    assert b.value("select current_database()") == "p1"
    assert p.pool("p0")["sv_idle"] == 0


@pytest.mark.database("min_pool_size", "user")
def test_min_pool_size_is_filled_without_clients(pooler):
    """pooling.md 7; forced user"""
    p = pooler({"p0": "user=app min_pool_size=3"})
    p.wait_pool(sv_idle=3)


@pytest.mark.setting("min_pool_size")
def test_min_pool_size_survives_idle_timeout(pooler):
    """pooling.md 11"""
    # regressions: PB#648
    p = pooler({"p0": "user=app"}, min_pool_size=1, server_idle_timeout=1)
    clients = hold(p, 3)
    for c in clients:
        c.query("commit")
    p.wait_pool(sv_idle=1)
    assert p.log.count("closing because: server idle timeout") == 2


def test_shrunk_pool_closes_surplus_servers(pooler):
    """pooling.md 7: too many servers in the pool"""
    p = pooler(default_pool_size=4)
    for c in hold(p, 4):
        c.query("commit")
    p.wait_pool(sv_idle=4)
    p.settings["default_pool_size"] = 1
    p.reload()
    p.wait_pool(sv_idle=1)
    if not REFERENCE:
        assert p.log.count("too many servers in the pool") == 3


@pytest.mark.database("connect_query")
def test_connect_query_runs_on_each_new_server(pooler):
    """pooling.md 6: connect_query"""
    p = pooler({"p0": "connect_query='set work_mem = ''9MB'''"})
    assert p.raw().value("show work_mem") == "9MB"


@pytest.mark.database("connect_query")
@pytest.mark.skipif(REFERENCE, reason="errors are ignored there")
def test_server_whose_connect_query_fails_serves_nobody(pooler):
    """pooling.md 6: it may be what keeps rows from others"""
    p = pooler({"p0": "connect_query='set role nobody_here'"},
               server_login_retry=0.1)
    c = p.raw(wait=False)
    c.send(pq.query("select 1"))
    e = c.recv_all().errors[-1]
    assert (e.severity, e.code, e.message) == (
        "FATAL", "22023",
        'connect_query failed: role "nobody_here" does not exist')
    assert "S: error while executing exec_on_query: ERROR: " in p.log
    p.wait_log("closing because: connect_query failed: role .nobody_here.")


@pytest.mark.setting("server_check_delay")
@pytest.mark.skipif(REFERENCE, reason="tries again at once, for ever")
def test_connect_query_that_leaves_a_transaction(pooler):
    """pooling.md 6: nobody gets such a server, and it is not tried at once"""
    p = pooler({"p0": "connect_query=begin"}, server_login_retry=60)
    c = p.open().login("app", database="p0", wait=False)
    p.wait_log("S-.*closing because: idle server got dirty")
    p.wait_pool(cl_waiting=1, sv_idle=0, sv_active=0)
    assert not c.readable()
    assert p.log.count("new connection to server") == 1


def test_used_servers_are_checked(pooler):
    """pooling.md 9: server_check_delay = 0"""
    p = pooler(server_check_delay=0, server_check_query="select 1",
               default_pool_size=1)
    c = p.raw()
    pid = c.value(PID)
    p.wait_pool(sv_used=1)
    assert c.value(PID) == pid


# --- time-outs ------------------------------------------------------------

@pytest.mark.setting("query_wait_timeout")
def test_query_wait_timeout(pooler):
    """pooling.md 12"""
    p = pooler(default_pool_size=1, query_wait_timeout=1)
    h, = hold(p, 1)
    c = p.raw()
    c.send(pq.query("select 1"))
    assert fatal(c) == "query_wait_timeout"
    assert h.value("select 1") == "1"


@pytest.mark.setting("query_timeout")
def test_query_timeout_closes_client_and_server(pooler, pg):
    """pooling.md 12: query timeout"""
    p = pooler()
    idle, c = p.raw(), p.raw()
    pid = c.value(PID)
    p.admin("set query_timeout = 1")
    c.send(pq.query("select pg_sleep(60)"))
    assert fatal(c) == "query timeout"
    assert p.pool()["sv_active"] == 0
    assert idle.value(PID) != pid
    pg.terminate(int(pid))


def test_query_timeout_in_the_queue(pooler):
    """client-errors.md 4: query_timeout, with underscore"""
    p = pooler(default_pool_size=1, query_timeout=1, query_wait_timeout=0)
    h, = hold(p, 1)
    c = p.raw()
    c.send(pq.query("select 1"))
    assert fatal(c) == "query_timeout"
    assert REFERENCE or h.value("select 1") == "1"


@pytest.mark.skipif(REFERENCE, reason="fixed later (#1395)")
def test_query_timeout_spares_idle_clients_in_transaction(pooler):
    """pooling.md 12: counts only while a query runs"""
    # regressions: PB#1395
    p = pooler(query_timeout=1, idle_transaction_timeout=3)
    c = hold(p, 1)[0]
    assert fatal(c) == "idle transaction timeout"


@pytest.mark.setting("idle_transaction_timeout")
def test_idle_transaction_timeout(pooler):
    """pooling.md 12"""
    # regressions: PB#125, Ody a7a5a1aa
    p = pooler(idle_transaction_timeout=1, default_pool_size=1)
    c, = hold(p, 1)
    other = p.raw()
    other.send(pq.query("select 1"))
    assert fatal(c) == "idle transaction timeout"
    assert other.recv_until().rows == [["1"]]


@pytest.mark.setting("transaction_timeout")
@pytest.mark.skipif(REFERENCE, reason="newer than that")
def test_transaction_timeout(pooler, pg):
    """pooling.md 12"""
    p = pooler()
    c, = hold(p, 1)
    pid = c.value(PID)
    p.admin("set transaction_timeout = 1")
    c.send(pq.query("select pg_sleep(60)"))
    assert fatal(c) == "transaction timeout"
    pg.terminate(int(pid))


@pytest.mark.setting("client_idle_timeout")
def test_client_idle_timeout(pooler):
    """pooling.md 12; a client in a transaction is not idle"""
    p = pooler(client_idle_timeout=1)
    busy, = hold(p, 1)
    c = p.raw()
    c.query("select 1")
    assert fatal(c) == "client_idle_timeout"
    assert busy.value("select 1") == "1"


@pytest.mark.user("client_idle_timeout", "idle_transaction_timeout")
@pytest.mark.skipif(REFERENCE, reason="newer than that")
def test_user_timeouts_win(pooler):
    """config-files.md 4, 6; 0 means off for all others"""
    p = pooler(users={"app": "client_idle_timeout=1",
                      "app2": "idle_transaction_timeout=1"})
    other = p.raw("u0")
    other.query("select 1")
    c, d = p.raw(), p.raw("app2")
    d.query("begin")
    assert fatal(c) == "client_idle_timeout"
    assert fatal(d) == "idle transaction timeout"
    assert other.value("select 1") == "1"


@pytest.mark.setting("server_lifetime")
def test_server_lifetime(pooler):
    """pooling.md 11"""
    p = pooler(server_lifetime=1, default_pool_size=1)
    c = p.raw()
    pid = c.value(PID)
    p.wait_pool(sv_idle=0)
    assert "closing because: server lifetime over" in p.log
    assert c.value(PID) != pid


@pytest.mark.setting("server_lifetime")
def test_server_lifetime_is_spread(pooler):
    """pooling.md 11: one after the other, life / size apart"""
    if REFERENCE:
        pytest.skip("whole seconds")
    p = pooler(server_lifetime=1.2, default_pool_size=3)
    for c in hold(p, 3):
        c.query("commit")
    p.wait_log("closing because: server lifetime over", count=3)
    ends = [float(sec) for sec in re.findall(
        r":(\d\d\.\d+) .*server lifetime over", p.log)]
    # by the log's clock, and minutes may have passed
    assert all((b - a) % 60 > 0.3 for a, b in zip(ends, ends[1:]))


def test_server_lifetime_zero_uses_each_server_once(pooler):
    """pooling.md 11"""
    p = pooler(server_lifetime=0)
    c = p.raw()
    assert len({c.value(PID) for _ in range(3)}) == 3


@pytest.mark.setting("server_fast_close")
@pytest.mark.parametrize("fast", [0, 1])
def test_fast_close_does_not_wait_for_the_session_to_end(pooler, fast):
    """pooling.md 11: server_fast_close, between transactions only"""
    p = pooler(pool_mode="session", server_fast_close=fast)
    a, b = p.raw(), p.raw()
    pid = a.value(PID)
    b.query("begin")
    p.admin("reconnect p0")
    if fast:
        assert fatal(a) == "database configuration changed"
    else:
        assert a.value(PID) == pid
    assert b.value("select 1") == "1"
    b.send(pq.query("commit"))
    assert b.recv_until().tags == ["COMMIT"]
    if fast:
        assert fatal(b) == "database configuration changed"
    else:
        assert b.value("select 2") == "2"
        a.close()
        p.wait_log("closing because: close_needed")


def test_fast_close_is_of_no_concern_to_transactions(pooler):
    """pooling.md 11: elsewhere the release does it"""
    p = pooler(server_fast_close=1)
    c = p.raw()
    c.query("begin")
    pid = c.value(PID)
    p.admin("reconnect p0")
    p.admin("show version")
    assert c.value(PID) == pid
    c.query("commit")
    assert c.value(PID) != pid


@pytest.mark.setting("server_idle_timeout")
def test_server_idle_timeout(pooler):
    """pooling.md 11"""
    p = pooler(server_idle_timeout=1)
    c = p.raw()
    c.query("select 1")
    p.wait_pool(sv_idle=0)
    assert "closing because: server idle timeout" in p.log
    assert c.value("select 2") == "2"


@pytest.mark.setting("server_login_retry")
def test_failing_logins_fail_fast(pooler, pg):
    """pooling.md 10: fast fail, server_login_retry"""
    # regressions: PB#998
    p = pooler({"p2": ""}, server_login_retry=3600)
    a, b, c = [p.raw(database="p2") for _ in range(3)]
    a.query("select 1")
    try:
        pg.sql("alter database p2 allow_connections false")
        for pid in pg.backends("p2"):
            pg.terminate(pid)
        p.wait_pool("p2", sv_idle=0)
        text = 'database "p2" is not currently accepting connections'
        a.send(pq.query("select 1"))
        err = a.recv_all().errors[-1]
        assert err.message == text
        assert REFERENCE or err.code == "55000"
        b.send(pq.query("select 1"))
        assert fatal(b).startswith(
            "server login has been failing, cached error: " + text[:30])
    finally:
        pg.sql("alter database p2 allow_connections true")
    p.admin("set server_login_retry = 1")

    def works():
        with p.open() as d:
            try:
                return d.login("app", database="p2").value("select 1")
            except (pq.PgError, pq.Closed):
                return None
    assert wait_until(works) == "1"
    assert c.value("select 3") == "3"


@pytest.mark.database("port")
def test_connect_failure_keeps_clients_queued(pooler, pg):
    """pooling.md 10: TCP failure"""
    # regressions: Supavisor b1a680a9
    p = pooler({"p0": "host=127.0.0.1 port=1"}, server_login_retry=0.3)
    c = p.open().login("app", database="p0", wait=False)
    p.wait_log("closing because: connect failed", count=2)
    p.dbs["p0"] = ""
    p.reload()
    assert c.finish_login("app").value("select 1") == "1"


# --- tracked parameters ---------------------------------------------------

TRACKED = [("client_encoding", "LATIN1", "UTF8"),
           ("DateStyle", "German, DMY", "ISO, YMD"),
           ("TimeZone", "Asia/Tokyo", "America/New_York"),
           ("application_name", "one \"x\" 'y' \\z", ""),
           ("IntervalStyle", "iso_8601", "sql_standard"),
           ("standard_conforming_strings", "off", "on")]


@pytest.mark.parametrize("name,one,two", TRACKED)
def test_parameter_follows_its_client(pooler, name, one, two):
    """pooling.md 21: a SET is remembered per client and does not leak"""
    # regressions: PB#999
    if REFERENCE and name == "IntervalStyle":
        pytest.skip("newer than that")
    p = pooler(default_pool_size=1)
    a, b, c = p.raw(), p.raw(), p.raw()
    start = c.value("show " + name)
    a.query("set %s to E'%s'" % (name, one.replace("\\", "\\\\")
                                 .replace("'", "\\'")))
    b.query("set %s to '%s'" % (name, two))
    for _ in range(3):
        assert a.value("show " + name) == one
        assert b.value("show " + name) == two
        assert c.value("show " + name) == start
    assert len(p.servers()) == 1


@pytest.mark.parametrize("name,one,two", TRACKED[:4])
def test_startup_parameter_follows_its_client(pooler, name, one, two):
    """pooling.md 20, 21: values from the StartupMessage"""
    p = pooler(default_pool_size=1)
    a = p.raw(**{name: one})
    b = p.raw(**{name: two})
    for _ in range(2):
        assert a.value("show " + name) == one
        assert b.value("show " + name) == two


def test_empty_value_follows_its_client(pooler):
    """pooling.md 21: empty is a value like any other"""
    # regressions: PB 1.5.1 empty values, PB#999
    p = pooler(default_pool_size=1)
    named, empty = p.raw(application_name="x"), p.raw(application_name="")
    for _ in range(2):
        assert named.value("show application_name") == "x"
        assert empty.value("show application_name") == ""
    named.query("set application_name = ''")
    empty.query("set application_name = 'y'")
    for _ in range(2):
        assert named.value("show application_name") == ""
        assert empty.value("show application_name") == "y"


def test_rolled_back_set_is_forgotten(pooler):
    """pooling.md 21: ParameterStatus updates the client's value"""
    p = pooler(default_pool_size=1)
    a, b = p.raw(), p.raw()
    a.query("begin; set timezone to 'Asia/Tokyo'; rollback")
    b.query("set timezone to 'America/New_York'")
    assert a.value("show timezone") == "UTC"


def test_bad_startup_value_is_refused_at_first_use(pooler):
    """client-errors.md 4: invalid server parameter"""
    p = pooler(default_pool_size=1)
    p.raw().query("select 1")
    c = p.raw(TimeZone="No/Where")
    c.send(pq.query("select 1"))
    assert fatal(c) == "invalid server parameter"
    assert p.raw().value("show timezone") == "UTC"


def test_quoted_value_cannot_break_out(pooler):
    """pooling.md 21: quoting (injection through SET)"""
    p = pooler(default_pool_size=1)
    evil = "x'; select pg_sleep(0); drop table tab; --"
    c = p.raw(application_name=evil)
    assert c.value("show application_name") == evil[:63]
    assert c.value("select count(*) from tab") == "1000"


def test_long_parameter_value_is_applied(pooler):
    """pooling.md 21: any length"""
    if REFERENCE:
        pytest.skip("value too long for the reference")
    p = pooler(track_extra_parameters="IntervalStyle")
    zone = "A" * 60 + "1"
    a = p.raw(TimeZone="<%s>-3" % zone)
    p.raw().query("select 1")
    assert zone in a.value("show timezone")


# --- time of life of a server ---------------------------------------------

def test_terminated_idle_server_is_not_handed_out(pooler, pg):
    """pooling.md 4: idle server got dirty"""
    # regressions: yb#33018, PgP idle_session_timeout
    p = pooler(default_pool_size=1)
    c = p.raw()
    pid = int(c.value(PID))
    pg.terminate(pid)
    p.wait_pool(sv_idle=0)
    assert int(c.value(PID)) != pid


def test_terminated_busy_server_tells_its_client(pooler, pg):
    """pooling.md 13: the server's last words are the last ones"""
    # regressions: PgP failover
    p = pooler()
    c = p.raw()
    c.query("begin")
    pid = int(c.value(PID))
    c.send(pq.query("select pg_sleep(60)"))
    wait_until(lambda: pid in pg.backends(where="state='active' and "
                                          "strpos(query, 'pg_sleep') > 0"))
    pg.terminate(pid)
    res = c.recv_all()
    assert [e.code for e in res.errors] == (
        ["57P01", "08P01"] if REFERENCE else ["57P01"])
    assert p.raw().value("select 1") == "1"


@pytest.mark.database("host")
def test_unix_socket_to_the_server(pooler, pg):
    """pooling.md 6: host starts with /"""
    p = pooler({"p0": "host=%s port=%d" % (pg.dir, pg.port)})
    assert p.raw().value("select inet_client_addr()") is None


def test_host_list_is_used_in_turn(pooler, pg):
    """config-files.md 12: round-robin"""
    # regressions: PB#747
    p = pooler({"p0": "host=127.0.0.1,%s port=%d" % (pg.dir, pg.port)})
    seen = {c.value("select inet_client_addr() is null")
            for c in hold(p, 4)}
    assert seen == {"t", "f"}


@pytest.mark.setting("query_wait_notify")
def test_wait_notice_is_sent_once(pooler):
    """pooling.md 5: query_wait_notify"""
    if REFERENCE:
        pytest.skip("newer than that")
    p = pooler(default_pool_size=1, query_wait_notify=1)
    h, = hold(p, 1)
    c = p.raw()
    c.send(pq.query("select 1"))
    kind, body = c.recv()
    assert kind == "N"
    got = pq.fields(body)
    assert {k: got[k] for k in "SCM"} == {
        "S": "NOTICE", "C": "00000", "M": "No server connection available "
        "in postgres backend, client being queued"}
    h.query("commit")
    assert c.recv_until().notices == []


def test_client_without_reading_still_releases(pooler):
    """pooling.md 8: small replies are delivered to the socket at once"""
    p = pooler(default_pool_size=1)
    a, b = p.raw(), p.raw()
    a.send(pq.query("select 1"))
    assert b.value("select 2") == "2"
    assert a.recv_until().rows == [["1"]]


def test_pool_serves_many_users_apart(pooler):
    """pooling.md 1: one pool per (database, user)"""
    p = pooler()
    for u in ("app", "app2", "u0", "u1"):
        assert p.raw(u).value("select current_user") == u
    assert {r["user"] for r in p.show("pools", database="p0")} == {
        "app", "app2", "u0", "u1"}


@pytest.mark.parametrize("size", [5000, 1 << 20])
def test_large_queries_and_rows_pass(pooler, size):
    """pooling.md 19: messages larger than any buffer"""
    p = pooler()
    text = "x" * size
    c = p.raw()
    assert c.value("select '%s'" % text) == text
    assert c.extended("select $1::text", (text,)).rows == [[text]]


def test_copy_behind_a_sync_goes_on_by_statement(pooler, pg):
    """the server reads that Sync as a part of the data, and waits for another"""
    p = pooler(pool_mode="statement", default_pool_size=1)
    pg.sql("create table if not exists behind (t text)",
           "grant all on behind to app", db="p0")
    with p.raw("app") as c:
        c.send(pq.parse("copy behind from stdin"), pq.bind(), pq.execute(),
               pq.sync(), pq.copy_data(b"x\n"), pq.copy_done(), pq.sync())
        assert c.recv_until().check().tags == ["COPY 1"]
