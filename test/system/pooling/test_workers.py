# test_workers.py - several threads serve databases of their own (doc/workers.md).
# SPDX-License-Identifier: ISC
import http.client
import os
import re
import subprocess
import time

import psycopg
import pytest

import pq
from harness import (PASSWORDS, REFERENCE, as_user, binary, free_port,
                     is_forced, wait_until)
from stopped import comm, stopped, thread
from test_http import connect, get, metrics, reasons, value
from test_takeover import take_over

pytestmark = [pytest.mark.skipif(REFERENCE, reason="not known there"),
              pytest.mark.setting("workers")]

# with three workers, one of them has none of these in 1 of 3,000 runs
NAMES = ["d%d" % n for n in range(24)]
WORKERS = 3


@pytest.fixture
def crew(pooler):
    """A pooler with some workers, and databases on each."""
    def start(**settings):
        return pooler({name: "dbname=p0" for name in NAMES},
                      **{"workers": WORKERS, **settings})
    return start


def of_all(p, column):
    return sum(int(r[column]) for r in p.show("workers"))


def most_servers(p):
    """How many the user had at once, by the log, whose order is that of events:
    processes of PostgreSQL may end long after their connections."""
    rows = wait_until(lambda: [r for r in [p.show("servers", user="app")]
                               if all(s["state"] != "login" for s in r)])[0]
    now, most = 0, 0
    for what in re.findall(r" S-\w+: \S+ (new connection|closing)", p.log):
        now += 1 if what.startswith("new") else -1
        most = max(most, now)
    # those that a restart has brought along were there before
    return len(rows) - now + most


def test_databases_are_spread_and_shown_as_one(crew):
    p = crew()
    clients = {name: p.raw(database=name) for name in NAMES}
    for c in clients.values():
        assert c.value("select 1") == "1"
    rows = p.show("workers")
    assert [r["worker"] for r in rows] == ["0", "1", "2"]
    # and the console
    assert of_all(p, "databases") == len(NAMES) + 1
    assert of_all(p, "servers") == len(NAMES)
    for topic in ("pools", "stats"):
        assert [r["database"] for r in p.show(topic)] == \
            sorted([*NAMES, "pgbouncer"])
    stats = {r["database"]: r["total_query_count"] for r in p.show("stats")}
    assert [stats[name] for name in NAMES] == ["1"] * len(NAMES)
    shown = [r for r in p.show("clients") if r["database"] in clients]
    for rows in (shown, p.show("servers")):
        assert [r["database"] for r in rows] == sorted(NAMES)
    assert [r["name"] for r in p.show("databases")] == \
        sorted([*NAMES, "pgbouncer"])
    assert len({r["id"] for r in shown}) == len(NAMES)
    lists = {r["list"]: int(r["items"]) for r in p.show("lists")}
    assert lists["used_servers"] == len(NAMES)
    assert lists["databases"] == len(NAMES) + 1
    mem = p.mem()
    assert mem["server_cache"] == len(NAMES)
    assert mem["db_cache"] == len(NAMES) + 1
    limited = p.admin("select database from pools where database <> "
                      "'pgbouncer' order by database limit 2")
    assert [r["database"] for r in limited] == sorted(NAMES)[:2]


def test_sums_are_those_of_all(crew):
    p = crew()
    clients = [p.raw(user, name) for name in NAMES[:12]
               for user in ("app", "app2")]
    for c in clients:
        assert c.value("select 1") == "1"
        assert c.try_query("nonsense").errors
    users = {r["name"]: r for r in p.show("users")}
    assert list(users) == sorted(users)
    for user in ("app", "app2"):
        assert users[user]["current_connections"] == "12"
        assert users[user]["current_client_connections"] == "12"
    totals = {r["name"]: r["value"] for r in p.show("totals")}
    # and the console's
    assert 48 <= int(totals["total_query_count"]) < 60
    errors = [r for r in p.show("counters") if r["name"] == "errors"]
    assert [(r["label"], r["value"]) for r in errors] == [
        ("source=server, sqlstate_class=42", "24")]
    rows = {(r["database"], r["user"], r["latency"]): r["total_count"]
            for r in p.show("latencies")}
    assert int(rows[None, None, "query"]) >= 48
    assert rows[NAMES[3], "app2", "query"] == "2"
    fds = p.show("fds")
    assert sum(r["task"] == "server" for r in fds) == 24
    assert {r["database"] for r in fds if r["task"] == "client"} >= {
        *NAMES[:12]}


def test_long_shows_wait_for_their_readers_and_keep_nobody(pooler):
    """what they say next is from lists of all workers, which change meanwhile
    (spec/admin-console.md section 5)"""
    many = ["x%04d" % n for n in range(1500)]
    p = pooler({name: "dbname=p0" for name in (*NAMES, *reversed(many))},
               workers=WORKERS)
    readers = [p.raw("admin", "pgbouncer", unix=True) for _ in range(3)]
    for c in readers:
        c.send(pq.query("show databases") * 4)
    left, canceled, reader = readers
    for name in NAMES:
        with p.raw(database=name) as c:
            assert c.value("select 1") == "1"
    left.abort()
    pq.send_cancel(p.port, canceled.key)
    for name in (*many[1::2], *NAMES[::2]):
        del p.dbs[name]
    p.reload()
    staying = [*NAMES[1::2], *many[::2]]
    for c in (canceled, reader):
        for _ in range(4):
            res = c.recv_until("Z")
            names = [r[0] for r in res.rows]
            assert names == sorted(set(names))
            assert res.errors or {*staying, "pgbouncer"} <= {*names}
            assert [e.code for e in res.errors] in ([], ["57014"])
            assert c is canceled or not res.errors
    assert names == sorted([*staying, "pgbouncer"])


@pytest.fixture
def web(crew):
    """The same, with HTTP."""
    def start(**settings):
        port = free_port()
        p = crew(http_listen_port=port, **settings)
        p.http = port
        return p
    return start


def test_http_tells_of_all(web):
    p = web(stats_period=1)
    clients = [p.raw(user, name) for name in NAMES[:12]
               for user in ("app", "app2")]
    for c in clients:
        assert c.value("select 1") == "1"
        assert c.try_query("nonsense").errors
    seen = metrics(p)
    for name in NAMES[:12]:
        for user in ("app", "app2"):
            at = {"database": name, "user": user}
            assert value(seen, "pgsluice_pool_queries_total", **at) == 2
            assert value(seen, "pgbouncer_pools_server_idle_connections",
                         **at) == 1
        assert value(seen, "pgbouncer_stats_queries_pooled_total",
                     database=name) == 4
    for name in ("pgsluice_servers", "pgbouncer_used_servers"):
        assert value(seen, name) == 24
    lists = {r["list"]: int(r["items"]) for r in p.show("lists")}
    for what in ("databases", "users"):
        assert value(seen, "pgsluice_" + what) == lists[what]
    for user in ("app", "app2"):
        for what in ("current_connections", "current_client_connections"):
            assert value(seen, "pgsluice_user_" + what, user=user) == 12
    assert value(seen, "pgsluice_errors_total", source="server",
                 sqlstate_class="42") == 24
    assert value(seen, "pgsluice_memory_objects", kind="server_cache") == 24
    assert value(seen, "pgsluice_latency_seconds_count",
                 latency="query") >= 48
    for topic, column in (("pools", "database"), ("databases", "name"),
                          ("clients", "database"), ("servers", "database")):
        assert sorted({r[column] for r in get(p, "/api/" + topic).json}
                      - {"pgbouncer"}) == sorted(
            NAMES if topic == "databases" else NAMES[:12])
    assert [r["worker"] for r in get(p, "/api/workers").json] == [0, 1, 2]
    # what was until the end of a period
    wait_until(lambda: sum(r["total_count"]
               for r in get(p, "/api/latencies").json
               if (r["database"], r["latency"]) == (None, "query")) >= 48)
    # a query a second later is in the history, whatever worker it was for
    wait_until(lambda: sum(dict(zip(h["columns"], row))["queries"]
               for h in [get(p, "/api/history").json]
               for row in h["rows"]) >= 48)


def test_load_is_measured_of_each(web):
    p = web(stats_period=1)
    # whose worker is busy, as are others' at the end of a piece of a scrape
    with p.raw(database=NAMES[0]) as c:
        assert len(c.query("select repeat('x', 1000) from "
                           "generate_series(1, 1000)").rows) == 1000

    def rows():
        return [(r["load_percent"], r["longest_turn_us"])
                for r in p.show("workers")]

    wait_until(lambda: all(turn is not None and int(turn) > 0
                           for _, turn in rows()))
    assert all(0 <= int(load) <= 100 for load, _ in rows())
    seen = metrics(p)
    for worker in "012":
        at = {"worker": worker}
        assert 0 <= value(seen, "pgsluice_worker_load_ratio", **at) <= 1
        assert 0 < value(seen, "pgsluice_worker_longest_turn_seconds",
                         **at) < 60
    for what in ("clients", "servers"):
        assert sum(value(seen, "pgsluice_worker_" + what, worker=worker)
                   for worker in "012") == value(seen, "pgsluice_" + what)


def test_readiness_is_that_of_the_databases_of_all(web):
    p = web()
    for name in NAMES:
        assert reasons(p, "/readyz?database=" + name) == []
    for name in NAMES[:8]:
        p.admin("disable " + name)
        assert ("disabled", name) in reasons(p, "/readyz?database=" + name)
    assert {d for _, d in reasons(p)} == {*NAMES[:8]}
    assert len(get(p, "/api/health").json["reasons"]) == 8
    assert get(p, "/readyz?database=nobody").status == 404


def test_progress_of_a_drain_is_that_of_all(web):
    p = web()
    busy = [p.raw(database=name) for name in NAMES[:12]]
    for c in busy:
        c.query("begin")
    p.admin("shutdown drain 60")
    wait_until(lambda: value(metrics(p), "pgsluice_drain_clients_left")
               == len(busy))
    assert ("draining", None) in reasons(p)
    for c in busy:
        c.send(pq.query("commit"))
        assert c.recv_until("E").errors[0].code == "57P01"
    assert p.wait_exit() == 0


def test_worker_that_hangs_does_not_keep_http_from_answering(web):
    p = web()
    clients = [p.raw(database=name) for name in NAMES]
    others = connect(p)
    others.sendall(b"GET /metrics HTTP/1.1\r\n\r\n" * 3)
    assert others.recv(1)
    with stopped(p.proc.pid, "worker 1"):
        # one waits for it, and may have heard a part
        try:
            page = get(p, "/metrics")
            assert page.status == 503, page.body
        except (http.client.IncompleteRead, ConnectionError):
            pass
        p.wait_log("worker 1 does not answer")
        # from then on nobody does
        assert get(p, "/healthz").status == 503
        assert get(p, "/healthz").json == {"alive": False}
        assert reasons(p) == [("a worker hangs", None)]
        assert get(p, "/metrics").status == 503
        assert get(p, "/api/clients").status == 503
        assert get(p, "/api/log").status == 200
        others.close()
    p.wait_log("worker 1 is back")
    # it was asked where it is, and told that as soon as it could
    p.wait_log(r"worker 1: \S*pgsluice\(\+0x[0-9a-f]+\)")
    assert re.search(r"worker 1: \S*(event_base_loop|epoll)", p.log)
    assert get(p, "/healthz").status == 200
    assert value(metrics(p), "pgsluice_databases") == len(NAMES) + 1
    for c in clients:
        assert c.value("select 1") == "1"


def names_of(p):
    return {comm(p.proc.pid, tid)
            for tid in os.listdir("/proc/%d/task" % p.proc.pid)}


def cpus_of(p, name):
    tid = thread(p.proc.pid, name)
    return sorted(os.sched_getaffinity(tid))


@pytest.mark.setting("worker_cpus")
def test_logins_for_a_worker_that_hangs_slow_no_other_down(crew, many_files):
    """more than there is room for on their way: the rest waits, and its worker
    sleeps between the queries of others"""
    p = crew(workers=2, log_connections=0, log_disconnections=0)
    clients = {name: p.raw(database=name) for name in NAMES}
    homes = {r["database"]: int(r["id"]) % 2
             for r in p.show("clients", user="app")}
    near = clients[next(n for n in NAMES if homes[n] == 0)]
    far = next(n for n in NAMES if homes[n] == 1)
    with stopped(p.proc.pid, "worker 1"):
        p.wait_log("worker 1 hangs")
        late = [p.open() for _ in range(1200)]
        for c in late:
            c.send(pq.startup({"user": "app", "database": far}))
        near.value("select 1")
        before, cpu = time.monotonic(), p.loop_cpu()
        for _ in range(50):
            near.value("select pg_sleep(0.02)")
        assert p.loop_cpu() - cpu < (time.monotonic() - before) / 10
    for c in late:
        c.finish_login("app", "apppw")
        c.close()


def test_workers_are_bound_to_cpus(crew):
    free = sorted(os.sched_getaffinity(0))
    two = [free[0], free[-1]]
    p = crew(worker_cpus="%d,%d" % tuple(two), logfile="pooler.log")
    wait_until(lambda: {"worker 1", "worker 2"} <= names_of(p))
    # it is up a moment before each has gone to its place
    wait_until(lambda: [sorted(os.sched_getaffinity(p.proc.pid)),
                        *(cpus_of(p, "worker %d" % n) for n in (1, 2))]
               == [[two[0]], [two[1]], [two[0]]])
    # who helps one of them is not bound
    p.settings["auth_file"] = p.put("users", '"app" ""\n')
    p.reload()
    for name in ("log", "helper"):
        wait_until(lambda name=name: name in names_of(p) and
                   cpus_of(p, name) == free)
    for name in NAMES[:4]:
        assert p.raw(database=name).value("select 1") == "1"


def test_cpu_that_is_not_there_is_told(crew):
    p = crew(worker_cpus="1023")
    p.wait_log("worker_cpus: worker [012] can't have CPU 1023", count=3)
    assert p.raw(database=NAMES[0]).value("select 1") == "1"


def test_cancel_and_kill_find_the_worker(crew, pg):
    p = crew()
    clients = {name: p.raw(database=name) for name in NAMES[:8]}
    for c in clients.values():
        c.send(pq.query("select pg_sleep(60)"))
    wait_until(lambda: len(pg.backends(
        where="state='active' and strpos(query, 'pg_sleep(6') > 0"))
        == len(clients))
    for c in clients.values():
        pq.send_cancel(p.port, c.key)
        assert c.recv_until().errors[0].code == "57014"
        assert c.value("select 1") == "1"
    with p.console() as con:
        ids = {r["database"]: r["id"] for r in p.show("clients")}
        for name, c in clients.items():
            assert con.query(f"kill_client {ids[name]}").tags == [
                "KILL_CLIENT"]
            assert c.recv_until("E").errors[0].message == \
                "admin forced disconnect"


def test_pause_waits_for_all_and_resume_wakes_all(crew):
    p = crew()
    clients = [p.raw(database=name) for name in NAMES]
    for c in clients:
        c.query("begin")
    con = p.console()
    con.send(pq.query("pause"))
    wait_until(lambda: ["paused", "yes"] in p.console().query(
        "show state").rows)
    for c in clients[1:]:
        c.query("commit")
        c.send(pq.query("select 7"))
    wait_until(lambda: sum(int(r["cl_waiting"]) for r in p.show("pools"))
               == len(NAMES) - 1)
    clients[0].query("commit")
    assert con.recv_until().tags == ["PAUSE"]
    assert con.query("resume").tags == ["RESUME"]
    assert all(c.recv_until().rows == [["7"]] for c in clients[1:])


def test_suspend_stops_all_and_resume_wakes_all(crew):
    p = crew()
    clients = [p.raw(database=name) for name in NAMES[:12]]
    for c in clients:
        c.query("select 1")
    con = p.console()
    con.query("pause " + NAMES[0])
    assert "paused databases" in con.try_query("suspend").errors[0].message
    con.query("resume " + NAMES[0])
    for c in clients[:6]:
        c.send(pq.query("select pg_sleep(0.1), 'long'"))
    assert con.query("suspend").tags == ["SUSPEND"]
    assert ["suspended", "yes"] in con.query("show state").rows
    for c in clients[6:]:
        c.send(pq.query("select 7"))
    late = [p.open() for _ in NAMES[:6]]
    for name, c in zip(NAMES, late):
        c.send(pq.startup({"user": "app", "database": name}))
    assert not any(c.readable(0) for c in clients[6:] + late)
    assert con.query("resume").tags == ["RESUME"]
    assert all(c.recv_until().rows == [["", "long"]] for c in clients[:6])
    assert all(c.recv_until().rows == [["7"]] for c in clients[6:])
    assert not any(c.recv_until().errors for c in late)


def test_orders_for_one_database(crew):
    p = crew()
    con = p.console()
    for name in NAMES[:6]:
        c = p.raw(database=name)
        c.query("select 1")
        assert con.query(f"pause {name}").tags == ["PAUSE"]
        c.send(pq.query("select 7"))
        assert con.query(f"resume {name}").tags == ["RESUME"]
        assert c.recv_until().rows == [["7"]]
        assert con.query(f"kill {name}").tags == ["KILL"]
        assert c.recv_until("E").errors
    assert con.try_query("pause nowhere").errors[0].message == \
        "no such database: nowhere"


def test_reload_and_set_reach_all(crew):
    p = crew(default_pool_size=2)
    clients = [p.raw(database=name) for name in NAMES]
    for c in clients:
        c.query("select 1")
    con = p.console()
    con.query("set default_pool_size = 3")
    assert {r["pool_size"] for r in p.show("pools")
            if r["database"] in NAMES} == {"3"}
    p.dbs.update({"new%d" % n: "dbname=p0" for n in range(9)})
    for name in NAMES[:9]:
        del p.dbs[name]
    p.settings["default_pool_size"] = 4
    p.write()
    assert con.query("reload").tags == ["RELOAD"]
    assert {r["pool_size"] for r in p.show("pools")
            if r["database"] in NAMES} == {"4"}
    for n in range(9):
        assert p.raw(database="new%d" % n).value("select 1") == "1"
    assert all(c.recv_until("E").errors for c in clients[:9])
    assert all(c.value("select 2") == "2" for c in clients[9:])


def test_max_client_conn_counts_all(crew):
    p = crew(max_client_conn=20)
    clients = [p.raw(database=name) for name in NAMES[:20]]
    c = p.open()
    c.send(pq.startup({"user": "app", "database": NAMES[20]}))
    assert "max_client_conn" in c.recv_until("E").errors[0].message
    for old in clients:
        old.close()
    wait_until(lambda: of_all(p, "clients") == 1)
    assert p.raw(database=NAMES[21]).value("select 1") == "1"


def test_max_user_client_connections_counts_all(crew):
    p = crew(max_user_client_connections=8)
    clients = [p.raw(database=name) for name in NAMES[:8]]
    for name in NAMES[8:12]:
        with pytest.raises(pq.PgError, match="max_user_client_connections"):
            p.raw(database=name)
    assert p.raw("app2", NAMES[8]).value("select 1") == "1"
    clients.pop().close()
    wait_until(lambda: of_all(p, "clients") == 9)
    assert p.raw(database=NAMES[9]).value("select 1") == "1"


def test_max_user_connections_holds_for_all(crew):
    """never one more; idle servers go where clients wait"""
    p = crew(max_user_connections=4, server_handover_delay=0.05)
    clients = [p.raw(database=name) for name in NAMES for _ in range(2)]
    for turn in range(6):
        for n, c in enumerate(clients):
            c.send(pq.query(f"select {n} + {turn}, pg_sleep(0.002)"))
        for n, c in enumerate(clients):
            assert c.recv_until().rows == [[str(n + turn), ""]]
    assert most_servers(p) == 4
    users = {r["name"]: r for r in p.show("users")}
    assert int(users["app"]["current_connections"]) <= 4
    # who is alone gets all of them, and gives them back
    late = clients[2 * 6]
    for name in NAMES[:6]:
        busy = [p.raw(database=name) for _ in range(4)]
        for c in busy:
            c.query("begin")
        late.send(pq.query("select 8"))
        wait_until(lambda: ("max_user_connections", "1") in {
            (r["setting"], r["clients"]) for r in p.show("waits")})
        for c in busy:
            c.query("commit")
        assert late.recv_until().rows == [["8"]]


def test_user_limit_that_is_lowered_or_lifted(crew, pg):
    p = crew(max_user_connections=6)
    con = p.console()
    late = p.raw(database=NAMES[6])
    clients = [p.raw(database=name) for name in NAMES[:6]]
    for c in clients:
        c.query("begin")
    late.send(pq.query("select 8"))
    con.query("set max_user_connections = 2")
    for c in clients[1:]:
        c.query("commit")
    assert late.recv_until().rows == [["8"]]
    wait_until(lambda: len(pg.backends(where="usename = 'app'")) <= 2)
    con.query("set max_user_connections = 0")
    for c in clients[1:]:
        c.query("begin")
    assert len(pg.backends(where="usename = 'app'")) >= 6


def test_logins_in_all_shapes(crew):
    """by password; what comes in pieces, or too early, is not lost"""
    p = crew(auth_type="scram-sha-256")
    for name in NAMES[:6]:
        c = p.open()
        c.send(pq.untyped(pq.SSL_REQUEST))
        assert c.sock.recv(1) == b"N"
        assert c.login("app", p.userlist["app"], name).value(
            "select 1") == "1"
        with pytest.raises(pq.PgError):
            p.raw(database=name, password="wrong")
    p.settings["auth_type"] = "trust"
    p.reload()
    for name in NAMES[:6]:
        hello = pq.startup({"user": "app", "database": name})
        early, slow = p.open(), p.open()
        early.send(hello + pq.query("select 8"))
        for n in range(len(hello)):
            slow.send(hello[n:n + 1])
        for c in (early, slow):
            assert not c.recv_until().errors
        assert early.recv_until().rows == [["8"]]
        assert slow.value("select 9") == "9"


def clients_of_each(con):
    # a console for each look would be a stranger, too
    return [int(r["clients"]) for r in con.query("show workers").dicts]


def test_strangers_are_dealt_to_all(crew):
    p = crew(tcp_defer_accept=0)
    con = p.console()
    strangers = [p.open() for _ in range(12)]
    wait_until(lambda: clients_of_each(con) == [5, 4, 4])
    # and each is served there, whichever database it wants
    for name, c in zip(NAMES, strangers):
        c.send(pq.startup({"user": "app", "database": name}))
        assert not c.recv_until().errors
        assert c.value("select 7") == "7"


def test_strangers_of_all_workers_are_counted_together(crew):
    p = crew(max_unauthenticated=6, auth_type="scram-sha-256",
             tcp_defer_accept=0)
    con = p.console()
    strangers = []
    for n, name in enumerate(NAMES):
        c = p.open()
        strangers.append(c)
        # some wait at the worker of their database, others where they came
        if n % 3:
            c.send(pq.startup({"user": "app", "database": name}))
            c.recv_until("R")
    wait_until(lambda: sum(clients_of_each(con)) == 7)
    for c in strangers[:-6]:
        assert "(max_unauthenticated)" in c.recv_until("E").errors[0].message
    assert not any(c.readable(0) for c in strangers[-6:])
    # they keep nobody out
    assert p.raw(database=NAMES[0]).value("select 1") == "1"
    assert strangers[-6].recv_until("E").errors
    con.query("set max_unauthenticated_per_address = 2")
    p.open()
    assert "(max_unauthenticated_per_address)" in \
        strangers[-5].recv_until("E").errors[0].message


def test_memory_of_strangers_is_counted_together(crew):
    """those who hold much go first, wherever they are"""
    p = crew(login_memory=100000, auth_type="plain", tcp_defer_accept=0)
    con = p.console()
    light = p.open()
    for name in NAMES:
        c = p.open()
        c.send(pq.startup({"user": "app", "database": name}))
        c.recv_until("R")
        # the rest of a password that never comes
        c.send(b"p" + (30000).to_bytes(4, "big") + b"x" * 20000)
    wait_until(lambda: sum(clients_of_each(con)) <= 7)
    assert p.raw(database=NAMES[0]).value("select 1") == "1"
    assert not light.readable(0)


def test_tls_on_both_sides_of_each(tls_pg, pooler, certs):
    """what a client began in TLS with one worker goes on with another"""
    p = pooler({name: f"port={tls_pg.port} host=localhost dbname=p0"
                for name in NAMES[:8]}, workers=WORKERS,
               auth_type="scram-sha-256", **certs.accept("require"),
               **certs.connect("verify-full"))
    con = p.console()

    def login(name):
        # with SCRAM, bound to the certificate
        c = psycopg.connect(
            host="127.0.0.1", port=p.port, dbname=name, user="app",
            password=p.userlist["app"], sslmode="require",
            channel_binding="require", autocommit=True)
        assert c.execute("select ssl from pg_stat_ssl where pid = "
                         "pg_backend_pid()").fetchone() == (True,)
        return c
    clients = [login(name) for name in NAMES[:8]]
    assert con.query("set client_tls_ciphers = 'HIGH'").tags
    clients += [login(name) for name in NAMES[:8]]
    text = "x" * 300000
    for c in clients:
        assert c.execute("select %s", (text,)).fetchone() == (text,)
        c.close()


@pytest.mark.parametrize("state", ["clean", "keep"])
def test_session_state_is_each_worker_s_own(crew, state):
    p = crew(session_state=state, default_pool_size=1)
    pairs = [(p.raw(database=name), p.raw(database=name))
             for name in NAMES[:6]]
    for n, (a, b) in enumerate(pairs):
        a.query(f"set work_mem = '{1000 + n}kB'")
        assert b.value("show work_mem") == "4MB"
    for n, (a, b) in enumerate(pairs):
        assert a.value("show work_mem") == (
            f"{1000 + n}kB" if state == "keep" else "4MB")


@pytest.mark.parametrize("order, ends_at_once", [
    ("shutdown wait_for_clients", False), ("shutdown", True)])
def test_shutdown_ends_all(crew, order, ends_at_once):
    p = crew()
    clients = [p.raw(database=name) for name in NAMES]
    for c in clients:
        c.query("select 1")
    con = p.console()
    con.send(pq.query(order))
    if not ends_at_once:
        assert con.recv_until().tags == ["SHUTDOWN"]
        con.close()
        p.wait_log("SHUTDOWN WAIT_FOR_CLIENTS command issued")
        for c in clients:
            assert c.value("select 1") == "1"
            c.close()
    assert p.wait_exit() == 0


def test_drain_tells_the_clients_of_all_to_go(crew):
    p = crew()
    idle = [p.raw(database=name) for name in NAMES[:12]]
    busy = [p.raw(database=name) for name in NAMES[6:18]]
    for c in idle + busy:
        c.query("select 1")
    for c in busy:
        c.query("begin")
    con = p.console()
    con.query("shutdown drain 60")
    for c in idle:
        assert c.recv_until("E").errors[0].code == "57P01"
    wait_until(lambda: {("draining", "leaving"),
                        ("clients_left", str(len(busy)))} <= {
        tuple(row) for row in con.query("show state").rows})
    for c in busy:
        assert c.value("select 2") == "2"
        c.send(pq.query("commit"))
        assert c.recv_until("E").errors[0].code == "57P01"
    assert p.wait_exit() == 0


# --- auth_query of another worker -----------------------------------------

@pytest.fixture
def asking(crew):
    """One that asks d0 for users that it does not know, for all databases."""
    def start(**settings):
        return crew(auth_dbname="d0", auth_user="postgres",
                    auth_type="scram-sha-256", userlist={
                        "postgres": "", "admin": "adminpw", "stats": ""},
                    log_disconnections=1, **settings)
    return start


def test_auth_query_of_another_worker(asking, pg):
    """what a client has said is known when it comes back"""
    p = asking()
    for name in NAMES[:12]:
        c = p.raw("u_scram", name, PASSWORDS["u_scram"],
                  application_name="me", timezone="Asia/Tokyo")
        assert c.query("select current_user, current_setting('timezone'), "
                       "current_setting('application_name')").rows == [
            ["u_scram", "Asia/Tokyo", "me"]]
        for user in ("u_scram", "nobody"):
            with pytest.raises(pq.PgError, match="authentication failed"):
                p.raw(user, name, "wrong")
    for name in ("nowhere", "neither", "nor_here"):
        with pytest.raises(pq.PgError, match="no such database: " + name):
            p.raw("u_scram", name, PASSWORDS["u_scram"])
    assert len(pg.backends(where="usename = 'postgres' and application_name "
                           "<> '' and query ~ 'pg_shadow'")) <= 1
    wait_until(lambda: of_all(p, "login_clients") == 0)


def begin_login(p, name):
    c = p.open()
    c.send(pq.startup({"user": "u_scram", "database": name}))
    return c


def wait_asking(p, n):
    wait_until(lambda: sum(int(r["cl_waiting"]) for r in p.show("pools")
                           if r["database"] == "d0") == n)


def test_changes_while_another_worker_is_asked(asking):
    """who leaves is not waited for; what was removed lets nobody in"""
    p = asking()
    con = p.console()
    con.query("pause d0")
    clients = {name: begin_login(p, name) for name in NAMES[:12]}
    wait_asking(p, 12)
    for name in NAMES[:4]:
        clients.pop(name).close()
    wait_asking(p, 8)
    gone = NAMES[4:8]
    for name in gone:
        del p.dbs[name]
    p.reload()
    con.query("resume d0")
    for name, c in clients.items():
        res = c.recv_until("RE")
        if name in gone:
            assert "removed" in res.errors[0].message
        else:
            assert not res.errors
            c.close()
    # and the one that is asked
    for name in NAMES[8:12]:
        con.query("pause d0")
        begin_login(p, name)
    wait_asking(p, 4)
    late = [begin_login(p, name) for name in NAMES[12:18]]
    wait_asking(p, 10)
    del p.dbs["d0"]
    p.reload()
    for c in late:
        assert c.recv_until("E").errors
    with pytest.raises(pq.PgError, match="bouncer config error"):
        p.raw("u_scram", NAMES[9], PASSWORDS["u_scram"])
    wait_until(lambda: of_all(p, "login_clients") == 0)


def test_query_is_replaced_while_another_worker_is_asked(asking):
    """the answer to the old one lets nobody in, the one to the new one does"""
    query = "select $1::text, '%s'"
    p = asking(auth_query=query % "old")
    con = p.console()
    con.query("pause d0")
    clients = [begin_login(p, name) for name in NAMES[:6]]
    wait_asking(p, 6)
    con.query("set auth_query = '%s'" % (
        query % PASSWORDS["u_scram"]).replace("'", "''"))
    con.query("resume d0")
    for c in clients[::2]:
        c.finish_login("u_scram", PASSWORDS["u_scram"])
    for c in clients[1::2]:
        with pytest.raises(pq.PgError, match="authentication failed"):
            c.finish_login("u_scram", "old")


def test_suspend_and_restart_while_another_worker_is_asked(asking, pooler):
    p = asking()
    with p.console() as con:
        con.query("pause d0")
        waiting = [begin_login(p, name) for name in NAMES[:6]]
        wait_asking(p, 6)
        con.query("resume d0")
        con.query("suspend")
        more = [begin_login(p, name) for name in NAMES[:6]]
        con.query("resume")
        for c in waiting + more:
            assert not c.recv_until("R").errors
            c.close()
    early = p.raw("u_scram", NAMES[3], PASSWORDS["u_scram"])
    p = take_over(pooler, p, workers=2)
    assert early.value("select 1") == "1"
    assert p.raw("u_scram", NAMES[5], PASSWORDS["u_scram"]).value(
        "select 1") == "1"


# --- online restart: to another number of workers -------------------------

def cancel_each(p, pg, clients):
    """Each key ends the query of its client, and no other."""
    for c in clients:
        c.send(pq.query("select pg_sleep(60), 'busy'"))
    wait_until(lambda: len(pg.backends(
        where="state = 'active' and query ~ 'bus[y]'")) == len(clients))
    for n, c in enumerate(clients):
        pq.send_cancel(p.port, c.key)
        assert c.recv_until().errors[0].code == "57014"
        assert not any(o.readable() for o in clients[n + 1:])


def test_cancel_by_way_of_a_peer(crew, pg):
    """the first worker passes it on, and gives away what comes from a peer"""
    both = [crew(start=False, peer_id=n) for n in (1, 2)]
    for p in both:
        p.extra = "[peers]\n" + "".join(
            f"{o.settings['peer_id']} = host=127.0.0.1 port={o.port}\n"
            for o in both)
        p.start()
    for p, other in (both, both[::-1]):
        cancel_each(other, pg, [p.raw(database=n) for n in NAMES[:6]])
        assert len(other.show("peer_pools")) == 1


def test_restart_with_other_workers(crew, pooler, pg):
    """Sessions find their homes, whatever they are amid; one text that has had
    a name from each worker goes on to have all of them."""
    p = crew(workers=1, max_prepared_statements=5, session_state="keep",
             default_pool_size=1)
    clients = [p.raw(database=name) for name in NAMES[:12]]
    for n, c in enumerate(clients):
        c.query(f"set work_mem = '{1000 + n}kB'")
    for c in clients[:6]:
        c.query("begin")
        c.query("create temp table t (a int)")
    for turn, workers in enumerate((2, 4, 2, 1, 3)):
        # known to some under a name of the last process, to others not
        for n, c in enumerate(clients):
            assert c.extended("select $1::int + 1", ["1"]).rows == [["2"]]
            c.extended(f"select $1::int + {n % 3}", ["1"], f"s{turn}")
        p = take_over(pooler, p, workers=workers)
        for n, c in enumerate(clients):
            assert c.value("show work_mem") == f"{1000 + n}kB"
            for known in range(turn + 1):
                c.send(pq.bind(f"s{known}", ["40"]), pq.execute(), pq.sync())
                assert c.recv_until().rows == [[str(40 + n % 3)]]
        for name in NAMES[6:10]:
            with p.raw(database=name) as late:
                assert late.extended("select $1::int + 1", ["1"], "s0").rows \
                    == [["2"]]
        cancel_each(p, pg, clients[6:])
    for c in clients[:6]:
        assert c.value("select count(*) from t") == "0"
        c.query("rollback")


def test_limits_hold_after_a_restart(crew, pooler):
    """what sessions brought along counts for all workers"""
    p = crew(workers=1, max_user_connections=4, server_handover_delay=0.05,
             max_user_client_connections=10)
    clients = [p.raw(database=name) for name in NAMES[:9]]
    for workers in (3, 2, 1):
        p = take_over(pooler, p, workers=workers)
        for turn in range(3):
            for n, c in enumerate(clients):
                c.send(pq.query(f"select {n} + {turn}, pg_sleep(0.002)"))
            for n, c in enumerate(clients):
                assert c.recv_until().rows == [[str(n + turn), ""]]
        assert most_servers(p) == 4
        users = {r["name"]: r for r in p.show("users")}
        assert users["app"]["current_client_connections"] == "9"
        assert int(users["app"]["current_connections"]) <= 4
        with p.raw(database=NAMES[9]):
            with pytest.raises(pq.PgError,
                               match="max_user_client_connections"):
                p.raw(database=NAMES[10])
        wait_until(lambda: {r["name"]: r for r in p.show("users")}["app"][
            "current_client_connections"] == "9")


# --- servers that go to another worker ---

@pytest.fixture
def movers(crew, monkeypatch):
    """Each server that is released goes to another worker, and comes back."""
    if not is_forced():
        pytest.skip("nothing is forced in this build")
    monkeypatch.setenv("PGSLUICE_FORCE", "handover")
    return crew


def test_server_that_travels_is_the_same(movers):
    p = movers(default_pool_size=1)
    with p.raw(database=NAMES[0]) as c:
        assert c.value("select 1") == "1"
        [server] = p.show("servers")
        for n in range(20):
            assert c.value("select %d" % n) == str(n)
        [later] = p.show("servers")
        assert later["id"] == server["id"]
        assert later["state"] == "idle"
        assert later["remote_pid"] == server["remote_pid"]
    assert of_all(p, "servers") == 1
    wait_until(lambda: of_all(p, "servers_out") >= 20)
    assert of_all(p, "servers_in") == of_all(p, "servers_out")
