# test_kill.py - clients and servers that vanish at the worst moment.
# SPDX-License-Identifier: ISC
import random

import pytest

import pq
from harness import ASAN, BIG, REFERENCE, cluster, wait_until

PID = "select pg_backend_pid()"


def mid_query(c):
    c.send(pq.query("create temp table dirt (a int); select pg_sleep(60)"))
    wait_until(lambda: cluster().backends(
        where="state='active' and usename='app' and "
              "strpos(query, 'table dirt') > 0"))


def mid_result(c):
    c.send(pq.query("create temp table dirt (a int); "
                    "select repeat('x', 10000) from "
                    "generate_series(1, 3000)"))
    c.recv_until("D")


def mid_transaction(c):
    c.query("begin; create temp table dirt (a int); "
            "insert into sink values (666, 'dirt')")


def mid_failed_transaction(c):
    c.query("begin; create temp table dirt (a int)")
    c.try_query("select 1/0")


def mid_copy_in(c):
    c.send(pq.query("copy sink from stdin"))
    c.recv_until("G")
    c.send(pq.copy_data(b"666\tdirt\n"))


def mid_copy_out(c):
    c.send(pq.query("create temp table dirt (a int); copy (select "
                    "repeat('x', 10000) from generate_series(1, 3000)) "
                    "to stdout"))
    c.recv_until("d")


def mid_extended(c):
    c.send(pq.parse("insert into sink values (666, 'dirt')"), pq.bind(),
           pq.execute(), pq.flush())
    c.recv_until("C")


def mid_message(c):
    c.query("begin; insert into sink values (666, 'dirt')")
    c.send(pq.query("select " + "1" * 5000)[:100])


def mid_first_message(c):
    c.send(pq.query("insert into sink values (666, '%s')" % ("d" * 5000))
           [:2000])


def mid_parse(c):
    c.send(pq.parse("insert into sink values (666, '%s')" % ("d" * 5000),
                    "st")[:3000])


def mid_copy_message(c):
    c.send(pq.query("copy sink from stdin"))
    c.recv_until("G")
    c.send(pq.copy_data(b"666\tdirt\n" * 1000)[:4000])


MOMENTS = [mid_query, mid_result, mid_transaction, mid_failed_transaction,
           mid_copy_in, mid_copy_out, mid_extended, mid_message,
           mid_first_message, mid_parse, mid_copy_message]


@pytest.fixture(autouse=True)
def empty_sink(pg):
    pg.sql("truncate sink", db="p0")


def assert_clean(c):
    """The server behind c shows no trace of a former client."""
    assert c.value("select to_regclass('pg_temp.dirt')") is None
    assert c.value("select count(*) from sink where id = 666") == "0"
    assert c.query("select 1").status == "I"
    assert c.value("select now() = statement_timestamp()") == "t"


@pytest.mark.parametrize("mode", ["session", "transaction"])
@pytest.mark.parametrize("how", ["abort", "close", "terminate"])
@pytest.mark.parametrize("moment", MOMENTS, ids=lambda f: f.__name__)
def test_next_client_gets_a_clean_server(pooler, mode, how, moment):
    """pooling.md 13"""
    # regressions: PB#1567, PB#396, yb#33914, pgagroal#941, family 4: leaving
    #   in every state, family 6: state of who left
    p = pooler(pool_mode=mode, default_pool_size=1)
    a = p.raw()
    pid = a.value(PID)
    moment(a)
    if how == "abort":
        a.abort()
    else:
        a.close(polite=how == "terminate")
    b = p.raw()
    assert_clean(b)
    if "first" not in moment.__name__ and "parse" not in moment.__name__:
        assert b.value(PID) != pid
    b.close()
    wait_until(lambda: p.pool()["cl_active"] == 0
               and p.pool()["sv_active"] == 0)


@pytest.mark.parametrize("auth", ["md5", "scram-sha-256", "plain"])
def test_client_killed_during_login(pooler, auth):
    """pooling.md 13: mid-login"""
    # regressions: PB#928, PB#904, Ody #146, PgCat#557
    p = pooler(auth_type=auth, default_pool_size=1)
    for i in range(20):
        c = p.open()
        data = pq.startup({"user": "app", "database": "p0"})
        c.send(data[:random.randrange(1, len(data))] if i % 2 else data)
        if i % 2 == 0:
            c.recv()
        c.abort()
    assert p.raw().value("select 1") == "1"
    wait_until(lambda: {r["list"]: r["items"] for r in
                        p.admin("show lists")}["login_clients"] == "0")


def test_client_killed_while_waiting_for_welcome(pooler):
    """pooling.md 3 step 7"""
    # regressions: PB#928, PB#904
    p = pooler({"p0": "host=127.0.0.1 port=1"}, server_login_retry=0.2)
    for _ in range(10):
        c = p.open().login("app", database="p0", wait=False)
        c.abort()
    p.wait_log("connect failed")
    p.dbs["p0"] = ""
    p.reload()
    wait_until(lambda: p.pool().get("cl_waiting", 0) == 0)
    assert p.raw().value("select 1") == "1"
    wait_until(lambda: p.pool()["cl_active"] == 1)


@pytest.mark.parametrize("moment", ["query", "result", "transaction",
                                    "copy"])
def test_backend_killed_while_busy(pooler, pg, moment):
    """pooling.md 13: the linked server goes away"""
    # regressions: PgP 05208cd74
    p = pooler(default_pool_size=1)
    c, other = p.raw(), p.raw()
    c.query("begin")
    pid = int(c.value(PID))
    if moment == "query":
        c.send(pq.query("select pg_sleep(60)"))
    elif moment == "result":
        c.send(pq.query("select repeat('x', 100000) from "
                        "generate_series(1, 2000)"))
        c.recv_until("D")
    elif moment == "copy":
        c.send(pq.query("copy sink from stdin"))
        c.recv_until("G")
    other.send(pq.query(PID))
    p.wait_pool(cl_waiting=1)
    pg.terminate(pid)
    res = c.recv_all()
    if moment == "result":
        # in the middle of a DataRow nothing can be said, only closed
        assert REFERENCE or b"crashed" not in c.buf
    else:
        # the reason is the server's; ours behind it would hide it
        codes = ["57P01", "08P01"] if REFERENCE else ["57P01"]
        assert [e.code for e in res.errors] == codes
        assert res.errors[-1].severity == "FATAL"
    assert int(other.recv_until().rows[0][0]) != pid
    assert_clean(other)


def test_backends_killed_again_and_again(pooler, pg):
    """family 4: nobody is handed a dead server"""
    # regressions: PB#1376
    p = pooler(default_pool_size=3)
    c = p.raw()
    for _ in range(30):
        for pid in pg.backends(where="usename='app'"):
            pg.terminate(pid)
        wait_until(lambda: p.pool()["sv_idle"] == 0)
        assert c.value("select 'ok'") == "ok"


def test_nothing_leaks_over_many_killed_clients(pooler, pg):
    """SHOW MEM stays flat"""
    # regressions: PB#1422, PB#1519, PgCat 61db13f, pgagroal#708
    p = pooler(default_pool_size=3, log_connections=0,
               log_disconnections=0, log_pooler_errors=0)
    quick = [m for m in MOMENTS if m not in (mid_query, mid_result,
                                             mid_copy_out)]
    rnd = random.Random(7)

    def settle():
        wait_until(lambda: p.pool()["cl_active"] == 0 and
                   p.pool()["cl_waiting"] == 0 and
                   p.pool()["sv_active"] == 0)

    def round_of(n):
        for i in range(n):
            if i % 20 == 19:
                c = p.open()
                c.send(pq.startup({"user": "app", "database": "p0"})
                       [:rnd.randrange(1, 30)])
                c.abort()
                continue
            c = p.raw()
            (mid_result if i % 200 == 50 else mid_copy_out
             if i % 200 == 150 else rnd.choice(quick))(c)
            c.abort()
            p.conns.clear()
        settle()
    round_of(200)
    mem, rss = p.mem(), p.rss()
    round_of(10000 if BIG else 400)
    after = p.mem()
    for name, used in after.items():
        assert used <= mem.get(name, 0) + 10, (name, mem, after)
    if not (ASAN or REFERENCE):
        assert p.rss() - rss < 2 << 20
    assert_clean(p.raw())
