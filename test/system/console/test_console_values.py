# test_console_values.py - what SHOW says, under a load that is known.
# SPDX-License-Identifier: ISC
import json
import re

import pytest

import pq
from harness import REFERENCE, wait_until
from test_console import COLUMNS, CONN, N, T, TYPLEN, cols

pytestmark = pytest.mark.skipif(REFERENCE, reason="columns are newer")

S = ["server_assignment_count", "xact_count", "query_count",
     "bytes_received", "bytes_sent", "xact_time", "query_time", "wait_time"]
PS = ["client_parse_count", "server_parse_count", "bind_count"]
TOTALS = ["server_assignment_count", "xact_count", "query_count",
          "client_bytes", "server_bytes", "xact_time", "query_time",
          "wait_time", "ps_client_parse_count", "ps_server_parse_count",
          "ps_bind_count"]
MORE = {
    "sockets": CONN[:21] + cols("""recv_pos i4, pkt_pos i4, pkt_remain i4,
        send_pos i4, send_remain i4, pkt_avail i4, send_avail i4"""),
    "stats_totals": [("database", T)] + [(n, N) for n in S + PS],
    "stats_averages": [("database", T)] + [(n, N) for n in S]
    + [("avg_" + n, N) for n in PS],
    "totals": cols("name t, value n"),
    "state": cols("key t, value t"),
    "health": cols("""state t, reason t, database t, user t, seconds i8,
        detail t"""),
    "counters": cols("name t, label t, value i8"),
    "workers": cols("""worker i4, databases i4, pools i4, clients i4,
        login_clients i4, servers i4, load_percent i4,
        longest_turn_us i8, servers_in i8, servers_out i8,
        clients_in i8, clients_out i8, handover_permille i4"""),
    "peers": cols("peer_id i4, host t, port i4, pool_size i4"),
    "peer_pools": cols("""peer_id i4, cl_active_cancel_req i4,
        cl_waiting_cancel_req i4, sv_active_cancel i4, sv_login i4"""),
    "waits": cols("""database t, user t, wait_reason t, setting t,
        clients i4, wait_us i8, total_wait_us i8, detail t"""),
    "latencies": cols("database t, user t, latency t, " + ", ".join(
        f"{of}{n} i8" for of in ("", "total_") for n in (
            "count", "p50_us", "p90_us", "p95_us", "p99_us", "p999_us",
            "max_us"))),
}
MORE["active_sockets"] = MORE["sockets"]


@pytest.mark.parametrize("topic", sorted(MORE))
def test_show_has_its_columns_in_order(pooler, topic):
    """admin-console.md 5: names, types, order"""
    res = pooler().console().query("show " + topic)
    assert [(c[0], c[3]) for c in res.desc] == MORE[topic]
    for name, table, column, oid, typlen, typmod, fmt in res.desc:
        assert (table, column, typmod, fmt) == (0, 0, -1, 0), name
        assert typlen == TYPLEN[oid], name
    assert res.tags == ["SHOW"] and res.kinds[-2:] == "CZ"


def numbers(row):
    return {k: int(v) if v and re.fullmatch(r"-?\d+", v) else v
            for k, v in row.items()}


@pytest.fixture
def load(pooler):
    """p0: one in a transaction, two waiting, one idle; p1: two idle servers;
    four consoles."""
    p = pooler({"p0": "pool_size=1", "p1": ""}, server_round_robin=1)
    p.a = p.raw(application_name="busy")
    p.a.query("begin")
    p.pid = p.a.value("select pg_backend_pid()")
    p.waiters = [p.raw(), p.raw()]
    for w in p.waiters:
        w.send(pq.query("select 1"))
    p.idle = p.raw()
    p.b, p.c = p.raw(database="p1"), p.raw(database="p1")
    p.b.query("begin")
    p.c.query("begin")
    for c in (p.b, p.c):
        c.query("commit")
    p.four = [p.console() for _ in range(4)]
    p.wait_pool(cl_waiting=2)
    p.con = p.four[0]
    return p


def test_pools(load):
    p = load
    rows = [numbers(r) for r in p.con.query("show pools extended").dicts]
    assert [(r["database"], r["user"]) for r in rows] == [
        ("p0", "app"), ("p1", "app"), ("pgbouncer", "pgbouncer")]
    zero = ["cl_active_cancel_req", "cl_waiting_cancel_req",
            "sv_active_cancel", "sv_being_canceled", "sv_used",
            "sv_tested", "sv_login"]
    want = [dict(cl_active=2, cl_waiting=2, sv_active=1, sv_idle=0),
            dict(cl_active=2, cl_waiting=0, sv_active=0, sv_idle=2),
            dict(cl_active=4, cl_waiting=0, sv_active=0, sv_idle=0)]
    for r, w in zip(rows, want):
        assert {k: r[k] for k in w} == w
        assert [r[k] for k in zero] == [0] * len(zero)
        assert 0 <= r["maxwait_us"] < 1000000
        assert r["load_balance_hosts"] is None
    assert rows[1]["maxwait"] == rows[1]["maxwait_us"] == 0
    assert rows[0]["maxwait"] * 1000000 + rows[0]["maxwait_us"] == \
        rows[0]["wait_us"] > 0
    assert [r["pool_mode"] for r in rows] == [
        "transaction", "transaction", "statement"]


def test_clients(load):
    p = load
    rows = [numbers(r) for r in p.con.query("show clients").dicts]
    assert [r["state"] for r in rows] == [
        "active", "idle", "waiting", "waiting"] + ["idle"] * 6
    assert [r["database"] for r in rows] == (
        ["p0"] * 4 + ["p1"] * 2 + ["pgbouncer"] * 4)
    assert {r["type"] for r in rows} == {"C"}
    assert {r["user"] for r in rows[:6]} == {"app"}
    assert {r["user"] for r in rows[6:]} == {"admin"}
    assert rows[0]["application_name"] == "busy"
    for r in rows:
        assert (r["addr"], r["local_addr"]) == ("127.0.0.1",) * 2
        assert r["local_port"] == p.port and r["replication"] == "none"
        assert r["close_needed"] == 0 and r["remote_pid"] == 0
        assert r["tls"] == "" and r["prepared_statements"] == 0
        assert (r["link"] != "") == (r["state"] == "active")
        for k in ("connect_time", "request_time"):
            assert re.fullmatch(r"\d{4}(-\d\d){2} \d\d(:\d\d){2} UTC", r[k])
    ports = [c.sock.getsockname()[1] for c in
             [p.a, p.idle] + p.waiters + [p.b, p.c] + p.four]
    assert sorted(r["port"] for r in rows) == sorted(ports)
    assert rows[0]["port"] == ports[0] and rows[1]["port"] == ports[1]
    ids = [r["id"] for r in rows]
    assert len(set(ids)) == len(ids) and min(ids) >= 1
    # ages: who waits, and who is in a transaction without a query
    for r in rows[2:4]:
        assert r["wait"] * 1000000 + r["wait_us"] > 0
    assert rows[1]["wait"] == rows[1]["wait_us"] == 0


def test_servers(load):
    p = load
    rows = [numbers(r) for r in p.con.query("show servers").dicts]
    assert [(r["database"], r["state"]) for r in rows] == [
        ("p0", "active"), ("p1", "idle"), ("p1", "idle")]
    assert rows[0]["remote_pid"] == int(p.pid)
    link = p.con.query("show clients where application_name = busy").dicts
    assert (rows[0]["link"], rows[0]["ptr"]) == (
        link[0]["ptr"], link[0]["link"])
    for r in rows:
        assert r["type"] == "S" and r["user"] == "app"
        assert r["addr"] == "127.0.0.1" and r["local_addr"] == "127.0.0.1"
        assert r["wait"] == r["wait_us"] == r["close_needed"] == 0
        assert (r["link"] != "") == (r["state"] == "active")
    p.con.query("reconnect p0")
    assert p.servers()[0]["close_needed"] == "1"


def test_sockets(load):
    p = load
    rows = p.con.query("show sockets").dicts
    assert [r["state"] for r in rows] == [
        "cl_active", "cl_active", "cl_waiting", "cl_waiting", "sv_active",
        "cl_active", "cl_active", "sv_idle", "sv_idle"] + ["cl_active"] * 4
    new = p.open()
    wait_until(lambda: p.con.query("show sockets").dicts[-1]["state"]
               == "cl_login")
    new.close(polite=False)
    # a message that is not whole is kept
    p.idle.send(pq.query("select 1")[:-1])
    wait_until(lambda: [r["state"] for r in p.con.query(
        "show active_sockets where database = p0 and pkt_avail > 0").dicts])


def test_very_many_sockets_come_by_age(load):
    """more than 100: bit by bit, clients and then servers, the oldest first"""
    p = load
    few = p.con.query("show sockets").dicts
    new = [p.open() for _ in range(100)]
    wait_until(lambda: len(p.con.query("show sockets").rows)
               == len(few) + len(new))
    rows = p.con.query("show sockets").dicts
    keys = [(r["type"], r["connect_time"]) for r in rows]
    assert keys == sorted(keys)
    logins = [r for r in rows if r["state"] == "cl_login"]
    assert len(logins) == len(new)
    assert sorted((r["ptr"], r["link"], r["state"]) for r in few) == sorted(
        (r["ptr"], r["link"], r["state"]) for r in rows if r not in logins)
    p.idle.send(pq.query("select 1")[:-1])
    wait_until(lambda: "cl_active" in {r["state"] for r in p.con.query(
        "show active_sockets where database = p0").dicts})
    for c in new:
        c.close(polite=False)


def test_lists_users_databases(load):
    p = load
    lists = {r["list"]: int(r["items"])
             for r in p.con.query("show lists").dicts}
    assert lists["databases"] == 3 and lists["pools"] == 3
    assert lists["used_clients"] == 10 and lists["used_servers"] == 3
    assert lists["login_clients"] == lists["free_clients"] == 0
    users = {r["name"]: numbers(r)
             for r in p.con.query("show users").dicts}
    assert lists["users"] == len(users)
    assert users["app"]["current_connections"] == 3
    assert users["app"]["current_client_connections"] == 6
    assert users["admin"]["current_client_connections"] == 4
    dbs = {r["name"]: numbers(r)
           for r in p.con.query("show databases").dicts}
    assert dbs["p0"]["current_connections"] == 1
    assert dbs["p0"]["current_client_connections"] == 4
    assert dbs["p1"]["current_connections"] == 2
    assert dbs["pgbouncer"]["current_client_connections"] == 4
    mem = {r["name"]: numbers(r) for r in p.con.query("show mem").dicts}
    for r in mem.values():
        assert r["size"] * (r["used"] + r["free"]) <= r["memtotal"] or \
            r["used"] == 0 or r["size"] * r["used"] <= r["memtotal"] + \
            r["size"]
    assert sum(1 for r in mem.values() if r["used"] >= 10) >= 1


def test_stats(load):
    """the same numbers in STATS, STATS_TOTALS and TOTALS"""
    p = load
    stats = {r["database"]: numbers(r)
             for r in p.con.query("show stats extended").dicts}
    assert list(stats) == ["p0", "p1", "pgbouncer"]
    # begin, select; what waits has not started
    assert stats["p0"]["total_query_count"] >= 2
    assert stats["p0"]["total_xact_count"] >= 1
    assert stats["p0"]["total_server_assignment_count"] == 1
    assert stats["p0"]["total_client_login_count"] == 4
    assert stats["p1"]["total_query_count"] == 4
    assert stats["p1"]["total_xact_count"] == 2
    assert stats["p1"]["total_client_login_count"] == 2
    for q in ("begin", "commit"):
        assert stats["p1"]["total_received"] >= 2 * len(pq.query(q))
    assert stats["p1"]["total_wait_time"] >= 0
    assert stats["p1"]["total_xact_time"] >= \
        stats["p1"]["total_query_time"] > 0
    totals = {r["database"]: numbers(r)
              for r in p.con.query("show stats_totals").dicts}
    plain = dict(zip(S + PS, ["total_" + n.replace("bytes_", "")
                              for n in S + PS]))
    for db in ("p0", "p1"):
        assert {n: totals[db][n] for n in plain} == {
            n: stats[db][plain[n]] for n in plain}
    rows = p.con.query("show totals").dicts
    assert [r["name"] for r in rows] == [
        "total_" + n for n in TOTALS] + ["avg_" + n for n in TOTALS]
    by = {r["name"]: int(r["value"]) for r in rows}
    assert by["total_xact_count"] >= sum(
        s["total_xact_count"] for s in stats.values()) - 1


def test_averages_are_per_second_of_the_last_periods(pooler):
    """admin-console.md 5.5: window of one to two periods"""
    p = pooler(stats_period=1)
    c = p.raw()

    def work():
        for _ in range(50):
            c.query("select 1")
        st = p.stats()
        return 10 <= st["avg_query_count"] <= st["total_query_count"] and st
    st = wait_until(work)
    assert 0 < st["avg_query_time"] < 1000000
    assert st["avg_recv"] > 100 and st["avg_sent"] > 100
    # and they end when the work does
    wait_until(lambda: p.stats()["avg_query_count"] == 0)
    assert p.stats()["avg_query_time"] == 0


def test_state(pooler):
    """admin-console.md 5.4"""
    con = pooler().console()

    def state():
        return [r[1] for r in con.query("show state").rows[:3]]
    assert state() == ["yes", "no", "no"]
    con.query("pause")
    assert state() == ["no", "yes", "no"]
    con.query("resume")
    con.query("pause p0")
    assert state() == ["yes", "no", "no"]


def test_peers(pooler):
    """admin-console.md 5.13: all entries, by id"""
    p = pooler(peer_id=2, extra="[peers]\n3 = host=127.0.0.1 port=7 "
               "pool_size=5\n2 = host=/tmp\n1 = host=::1")
    rows = p.admin("show peers")
    assert [list(r.values())[:4] for r in rows] == [
        ["1", "::1", "6432", "20"], ["2", "/tmp", "6432", "20"],
        ["3", "127.0.0.1", "7", "5"]]


SECRETS = ["sekret-of-the-database", "sekret-of-the-user",
           "sekret-of-the-client", "SCRAM-SHA-256$", "md5a1b2c3"]


def test_no_secret_is_ever_shown(pooler, pg):
    """CVE-2023-22332: whoever looks, at whatever"""
    p = pooler({"p0": "user=u_scram password=sekret-of-the-database",
                "p1": "", "*": "password=sekret-of-the-database"},
               userlist={"admin": "adminpw", "stats": "sekret-of-the-user",
                         "u1": "sekret-of-the-client",
                         "u2": pg.secret("u_scram"),
                         "u3": "md5a1b2c3" + "0" * 26},
               auth_type="scram-sha-256")
    c = p.raw("u1", "p1", password="sekret-of-the-client")
    c.query("select 1")
    bad = p.open().login("u1", "sekret-of-the-client", "p0", wait=False)
    for user, pw in (("stats", "sekret-of-the-user"), ("admin", "adminpw")):
        con = p.raw(user, "pgbouncer", password=pw)
        help_ = con.query("show help").notices[0].fields["D"]
        topics = set(re.findall(r"[A-Z_]{3,}", help_.split("\n\tSET")[0]))
        topics = [t for t in topics if con.try_query(
            "show " + t).errors == []]
        assert {"CLIENTS", "CONFIG", "DATABASES", "USERS", "WAITS"} <= \
            set(topics)
        said = ""
        for t in topics:
            said += repr(con.query("show " + t).messages)
            if t != "HELP":
                said += json.dumps(con.query("show json " + t).rows)
        for secret in SECRETS:
            assert secret not in said, secret
    bad.close()


def test_columns_of_all_topics_are_pinned(pooler):
    """a new topic comes with a test of its columns"""
    con = pooler().console()
    help_ = con.query("show help").notices[0].fields["D"]
    topics = re.findall(r"[A-Z_]+", help_.split("\n\tSHOW [JSON]")[0])
    known = {t.upper() for t in list(COLUMNS) + list(MORE)}
    assert set(topics) - known <= {"SHOW", "HELP", "FDS", "DNS_HOSTS",
                                   "DNS_ZONES"}
