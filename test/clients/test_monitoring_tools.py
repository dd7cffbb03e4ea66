# test_monitoring_tools.py - the console as the field's monitors read it.
# SPDX-License-Identifier: ISC
"""Each test sends what the tool sends and reads the answer as the tool does:
by place or by name, with the tool's own types. What they need is written down
in doc/spec/exporter-metrics.md and the show-shapes."""
import os
import re
import signal
import struct
import uuid

import pytest

import pq
from harness import REFERENCE, ROOT, cluster, wait_until

pytestmark = pytest.mark.skipif(REFERENCE, reason="not meant for that")

# what Go's lib/pq puts into its start-up packet
LIB_PQ = {"client_encoding": "UTF8", "datestyle": "ISO, MDY",
          "extra_float_digits": "2"}


@pytest.fixture(params=["1.25", "1.26"])
def p(request, pooler):
    p = pooler(console_version=request.param, stats_users="stats",
               ignore_startup_parameters="extra_float_digits,options")
    # an idle server, one in a transaction, and a name that is no UTF-8
    p.raw().query("select 1")
    p.raw(database="p1", application_name="caf\xe9").query("begin; select 1")
    return p


def places(topic, shape):
    """{name: oid} in the order of that release"""
    path = os.path.join(ROOT, "doc", "spec", f"show-shapes-{shape}.txt")
    with open(path, encoding="utf-8") as f:
        lines = [line.split() for line in f]
    columns = next(line[1:] for line in lines if line[0] == topic)
    return {c.rpartition(":")[0]: int(c.rpartition(":")[2]) for c in columns}


# --- prometheus-community/pgbouncer_exporter --------------------------------

# topic: the columns that become labels, those that become numbers
EXPORTER = {
    "databases": (
        ["name", "host", "port", "database", "force_user", "pool_mode"],
        ["pool_size", "reserve_pool_size", "max_connections",
         "current_connections", "paused", "disabled"]),
    "stats_totals": (["database"], [
        "query_count", "query_time", "bytes_received", "bytes_sent",
        "wait_time", "xact_count", "xact_time", "client_parse_count",
        "server_parse_count", "bind_count", "server_assignment_count"]),
    "pools": (["database", "user"], [
        "cl_active", "cl_active_cancel_req", "cl_waiting",
        "cl_waiting_cancel_req", "sv_active", "sv_active_cancel",
        "sv_being_canceled", "sv_idle", "sv_used", "sv_tested", "sv_login",
        "maxwait"]),
}
LISTS = ["databases", "users", "pools", "free_clients", "used_clients",
         "login_clients", "free_servers", "used_servers", "dns_names",
         "dns_zones", "dns_queries"]


def test_pgbouncer_exporter(p):
    with p.raw("stats", "pgbouncer", **LIB_PQ) as c:
        assert re.search(r"PgBouncer \d+\.\d+\.\d+",
                         c.query("SHOW VERSION").rows[0][0])
        lists = c.query("SHOW LISTS;")
        assert len(lists.columns) == 2
        values = {name: float(number) for name, number in lists.rows}
        assert set(LISTS) <= set(values) and values["used_clients"] >= 2

        config = c.query("SHOW CONFIG;")
        assert len(config.columns) in (3, 4)
        values = {row[0]: row[1] for row in config.rows}
        assert float(values["max_client_conn"]) == 2000
        assert float(values["max_user_connections"]) == 0

        for topic, (labels, numbers) in EXPORTER.items():
            seen = set()
            for row in c.query(f"SHOW {topic.upper()};").dicts:
                for name in numbers:
                    float(row[name])
                seen.add(tuple(row[name] or "" for name in labels))
            assert len(seen) >= 3, topic	# each its own series

        clients = c.query("SHOW CLIENTS;").dicts
        assert {"database", "user", "application_name", "state"} \
            <= set(clients[0])
        assert "active" in {row["state"] for row in clients}


# --- CloudNativePG's manager ------------------------------------------------

def test_cloudnative_pg_scans_by_place(pooler):
    """over the Unix socket, as the user pgbouncer"""
    p = pooler(userlist={"app": "apppw", "pgbouncer": ""},
               admin_users="pgbouncer", stats_users="",
               ignore_startup_parameters="extra_float_digits,options")
    p.raw().query("select 1")
    with p.raw("pgbouncer", "pgbouncer", unix=True, **LIB_PQ) as c:
        for name, number in c.query("SHOW LISTS").rows:
            assert name and int(number) >= 0
        for row in c.query("SHOW POOLS").rows:
            database, user, *numbers, mode, balance = row
            assert database and user and len(numbers) == 13
            assert all(int(n) >= 0 for n in numbers)
            assert mode in ("session", "transaction", "statement")
            assert balance in (None, "", "round-robin", "disable")
        for row in c.query("SHOW STATS").rows:
            assert row[0] and len(row) == 23
            assert all(int(n) >= 0 for n in row[1:])


LOG_LINE = re.compile(r"^(.*) \[(\d+)\] ([A-Z]+) (.+)$")


def test_cloudnative_pg_steers(pooler):
    """PAUSE, RESUME and RELOAD by the console, the end by SIGINT; each line
    of the log is one that its reader takes apart"""
    p = pooler(userlist={"app": "apppw", "pgbouncer": ""},
               admin_users="pgbouncer")
    with p.raw("pgbouncer", "pgbouncer", unix=True) as c:
        c.query("PAUSE")
        with pytest.raises(Exception, match="already"):
            c.query("PAUSE")
        c.query("RESUME")
        c.query("RELOAD")
    p.raw().query("select 1")
    p.signal(signal.SIGINT)
    assert p.wait_exit() == 0
    lines = [line for line in p.log.splitlines()
             if not line.startswith("\t")]
    assert len(lines) > 5
    for line in lines:
        assert LOG_LINE.match(line), line


# --- pgbouncer_fdw -----------------------------------------------------------

SQL_TYPES = {20: "bigint", 23: "integer", 25: "text", 1700: "numeric"}
FDW = ["CLIENTS", "SERVERS", "SOCKETS", "POOLS", "STATS", "DATABASES",
       "USERS", "LISTS", "CONFIG", "DNS_HOSTS", "DNS_ZONES", "VERSION"]


@pytest.fixture
def dblink_db():
    name = "fdw_" + uuid.uuid4().hex[:12]
    cluster().sql(f"create database {name}")
    cluster().sql("create extension dblink", db=name)
    yield name
    cluster().sql(f"drop database {name} with (force)")


def test_pgbouncer_fdw(pooler, dblink_db):
    """a real PostgreSQL asks through dblink, with row types that are fixed"""
    p = pooler(ignore_startup_parameters="extra_float_digits,options")
    p.raw().query("select 1")
    where = (f"host=127.0.0.1 port={p.port} dbname=pgbouncer user=stats "
             f"password={p.userlist['stats']}")
    for topic in FDW:
        columns = places(topic, "1.25.2")
        row = ", ".join('"%s" %s' % (
            name, "timestamptz" if name in ("connect_time", "request_time")
            else SQL_TYPES[oid]) for name, oid in columns.items())
        rows = cluster().sql(f"select * from dblink('{where}', "
                             f"'SHOW {topic}') as x({row})", db=dblink_db)
        assert rows or topic.startswith("DNS"), topic
    assert cluster().sql(
        f"select sum(total_query_count) from dblink('{where}', 'SHOW STATS') "
        "as x(database text, " + ", ".join(
            f"{name} numeric" for name in list(
                places("STATS", "1.25.2"))[1:]) + ")",
        db=dblink_db)[0][0] >= 1


# --- by name: Datadog, Telegraf, Netdata ------------------------------------

DATADOG = {
    "stats": ["total_query_time", "total_xact_time", "total_wait_time",
              "avg_xact_count", "avg_query_count", "avg_wait_time",
              "avg_recv", "avg_sent", "avg_xact_time", "avg_query_time"],
    "pools": ["cl_active", "cl_waiting", "sv_active", "sv_idle", "sv_used",
              "sv_tested", "sv_login", "maxwait", "maxwait_us"],
    "databases": ["pool_size", "max_connections", "current_connections"],
}


def test_datadog(p):
    """psycopg2, rows as dictionaries, autocommit"""
    psycopg2 = pytest.importorskip("psycopg2", reason="no python3-psycopg2")
    extras = pytest.importorskip("psycopg2.extras")
    c = psycopg2.connect(host="127.0.0.1", port=p.port, user="stats",
                         password=p.userlist["stats"], dbname="pgbouncer")
    c.set_isolation_level(0)
    with c.cursor(cursor_factory=extras.DictCursor) as cur:
        for topic, names in DATADOG.items():
            cur.execute("SHOW " + topic.upper())
            for row in cur.fetchall():
                assert all(isinstance(row[n], (int, float)) or
                           float(row[n]) >= 0 for n in names), topic
        cur.execute("SHOW CONFIG")
        assert int({r["key"]: r["value"] for r in cur.fetchall()}
                   ["max_client_conn"]) == 2000
        for topic in ("CLIENTS", "SERVERS"):
            cur.execute("SHOW " + topic)
            for row in cur.fetchall():
                for name in ("connect_time", "request_time"):
                    assert re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d",
                                    row[name]), row
                assert int(row["wait"]) >= 0 and int(row["wait_us"]) >= 0
        cur.execute("SHOW VERSION")
        assert re.search(r"\d+\.\d+\.\d+", cur.fetchone()[0])
    c.close()


def test_telegraf(p):
    """a string of STATS that is no integer fails the whole gathering"""
    with p.raw("stats", "pgbouncer", **LIB_PQ) as c:
        for row in c.query("SHOW STATS").dicts:
            assert all(int(v) >= 0 for k, v in row.items()
                       if k != "database")
        for row in c.query("SHOW POOLS").dicts:
            assert row["database"] and row["user"] and row["pool_mode"]


def test_netdata(p):
    with p.raw("stats", "pgbouncer") as c:
        assert re.match(r"(?i)pgbouncer (\d+)\.(\d+)\.(\d+)",
                        c.query("SHOW VERSION;").rows[0][0])
        config = {r["key"]: r["value"]
                  for r in c.query("SHOW CONFIG;").dicts}
        assert int(config["max_client_conn"]) == 2000
        for row in c.query("SHOW DATABASES;").dicts:
            for name in ("max_connections", "current_connections", "paused",
                         "disabled"):
                assert int(row[name]) >= 0
        for row in c.query("SHOW STATS;").dicts:
            for name in ("total_xact_count", "total_query_count",
                         "total_received", "total_sent", "total_xact_time",
                         "total_query_time", "total_wait_time",
                         "avg_xact_time", "avg_query_time"):
                assert int(row[name]) >= 0
        for row in c.query("SHOW POOLS;").dicts:
            for name in ("cl_active", "cl_waiting", "sv_active", "sv_idle",
                         "sv_used", "sv_tested", "sv_login", "maxwait",
                         "maxwait_us"):
                assert int(row[name]) >= 0


# --- pgwatch, by pgx ---------------------------------------------------------

# OIDs of which pgx wants the binary form, and how that is read
BINARY = {23: "!i", 20: "!q", 16: "!?"}


def collected(c, *parts):
    """What comes up to ReadyForQuery: [(kind, body)]."""
    c.send(*parts, pq.sync())
    out = []
    while not out or out[-1][0] != "Z":
        out.append(c.recv())
    assert "E" not in [kind for kind, _ in out], out
    return out


def described(c, sql, name):
    """pgx prepares a statement, and keeps what it was told of it."""
    got = collected(c, pq.parse(sql, name), pq.describe("S", name))
    kinds = [kind for kind, _ in got]
    assert kinds == ["1", "t", "T", "Z"] and got[1][1] == b"\0\0"
    return [(col[0], col[3]) for col in pq.row_desc(got[2][1])]


def values(body, columns, formats):
    out, at = {}, 2
    for (name, oid), binary in zip(columns, formats):
        n = struct.unpack_from("!i", body, at)[0]
        cell = body[at + 4:at + 4 + max(n, 0)]
        at += 4 + max(n, 0)
        out[name] = None if n < 0 else struct.unpack(BINARY[oid], cell)[0] \
            if binary else cell.decode()
    return out


def executed(c, columns, *begin, name=""):
    formats = [int(oid in BINARY) for _, oid in columns]
    got = collected(c, *begin, pq.bind(name, result_formats=formats),
                    pq.describe("P"), pq.execute())
    shown = [pq.row_desc(body) for kind, body in got if kind == "T"][0]
    assert [(col[0], col[3], col[6]) for col in shown] == [
        (n, oid, f) for (n, oid), f in zip(columns, formats)]
    return [values(body, columns, formats) for kind, body in got
            if kind == "D"]


@pytest.mark.parametrize("kept", ["statement", "description"])
def test_pgwatch(p, kept):
    """pgx's two caches: of statements, with names, or of descriptions alone"""
    with p.raw("stats", "pgbouncer", application_name="pgwatch") as c:
        for n, sql in enumerate(["SHOW VERSION", "SHOW STATS", "SHOW POOLS"]):
            name = "stmtcache_%040x" % n
            columns = described(c, sql, name)
            for _ in range(3):
                if kept == "statement":
                    rows = executed(c, columns, name=name)
                else:
                    rows = executed(c, columns, pq.parse(sql))
                assert rows
            if sql == "SHOW VERSION":
                assert re.search(r"\d+\.\d+\.\d+", rows[0]["version"])
            elif sql == "SHOW STATS":
                assert all(int(v) >= 0 for row in rows
                           for k, v in row.items() if k != "database")
            else:
                assert all(isinstance(row["cl_active"], int) for row in rows)


# --- New Relic, and two exporters for Prometheus -----------------------------

POOLS = ["database", "user", "cl_active", "cl_waiting", "sv_active", "sv_idle",
         "sv_used", "sv_tested", "sv_login", "maxwait", "pool_mode"]
STATS = ["database", "total_query_count", "total_xact_count", "total_received",
         "total_sent", "total_query_time", "total_xact_time",
         "total_wait_time", "avg_query_count", "avg_xact_count", "avg_recv",
         "avg_sent", "avg_query_time", "avg_xact_time", "avg_wait_time"]
TEXT = ("database", "user", "pool_mode", "name", "host", "force_user", "list",
        "key", "value")


def by_name(rows, names):
    """A struct in Go, or a dictionary: names to numbers and texts."""
    assert rows
    for row in rows:
        assert set(names) <= set(row)
        for name in set(names) - set(TEXT):
            float(row[name])


def test_new_relic(p):
    """lib/pq: its startup parameters, and the simple protocol"""
    with p.raw("stats", "pgbouncer", **LIB_PQ) as c:
        by_name(c.query("SHOW STATS").dicts, STATS)
        by_name(c.query("SHOW POOLS").dicts, POOLS + ["maxwait_us"])


def test_jbub_exporter(p):
    """lib/pq as well, and a topic that has two columns"""
    with p.raw("stats", "pgbouncer", **LIB_PQ) as c:
        by_name(c.query("SHOW STATS").dicts, STATS)
        by_name(c.query("SHOW POOLS").dicts, POOLS)
        by_name(c.query("SHOW DATABASES").dicts,
                ["name", "pool_size", "reserve_pool_size", "max_connections",
                 "current_connections", "paused", "disabled"])
        lists = c.query("SHOW LISTS").dicts
        by_name(lists, ["list", "items"])
        assert set(LISTS) <= {row["list"] for row in lists}


def test_spreaker_exporter(p):
    """psycopg2 with a connection string; each topic by one of its cursors"""
    psycopg2 = pytest.importorskip("psycopg2", reason="no python3-psycopg2")
    extras = pytest.importorskip("psycopg2.extras")
    c = psycopg2.connect("postgresql://stats:%s@127.0.0.1:%d/pgbouncer" % (
        p.userlist["stats"], p.port))
    c.set_session(autocommit=True)
    for topic, names in (("STATS", STATS), ("POOLS", POOLS), (
            "DATABASES", ["name", "pool_size", "current_connections"]), (
            "CONFIG", ["key", "value"])):
        with c.cursor(cursor_factory=extras.RealDictCursor) as cur:
            cur.execute("SHOW %s;" % topic)
            by_name(cur.fetchall(), names)
    c.close()


def test_scrapes_leave_nothing(p):
    """each is a connection: ten thousand a day"""
    def clients():
        return len(p.admin("show clients"))
    before = clients()
    for _ in range(50):
        with p.raw("stats", "pgbouncer", **LIB_PQ) as c:
            c.query("SHOW STATS;")
    wait_until(lambda: clients() <= before, what="the scrapes' clients go")
