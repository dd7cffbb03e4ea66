# test_console.py - the admin console: commands, columns, rights, texts.
# SPDX-License-Identifier: ISC
import os
import re
import threading

import pytest

import pq
from harness import REFERENCE, wait_until

T, I4, I8, N, BY = 25, 23, 20, 1700, 17
TYPLEN = {T: -1, I4: 4, I8: 8, N: -1, BY: -1}


def cols(spec):
    """'a t, b i4' -> [(name, oid), ...]"""
    types = {"t": T, "i4": I4, "i8": I8, "n": N}
    return [(n, types[k]) for n, k in
            (c.split() for c in spec.split(",") if c.strip())]


CONN = cols("""type t, user t, database t, replication t, state t, addr t,
    port i4, local_addr t, local_port i4, connect_time t, request_time t,
    wait i4, wait_us i4, close_needed i4, ptr t, link t, remote_pid i4,
    tls t, application_name t, prepared_statements i4, id i4""")
STATS = ["server_assignment_count", "xact_count", "query_count", "received",
         "sent", "xact_time", "query_time", "wait_time",
         "client_parse_count", "server_parse_count", "bind_count"]
AVG = ["recv" if s == "received" else s for s in STATS]
COLUMNS = {
    "version": cols("version t"),
    "databases": cols("""name t, host t, port i4, database t, force_user t,
        pool_size i4, min_pool_size i4, reserve_pool_size i4,
        server_lifetime i4, pool_mode t, load_balance_hosts t,
        max_connections i4, current_connections i4,
        max_client_connections i4, current_client_connections i4,
        paused i4, disabled i4"""),
    "pools": cols("""database t, user t, cl_active i4, cl_waiting i4,
        cl_active_cancel_req i4, cl_waiting_cancel_req i4, sv_active i4,
        sv_active_cancel i4, sv_being_canceled i4, sv_idle i4, sv_used i4,
        sv_tested i4, sv_login i4, maxwait i4, maxwait_us i4, pool_mode t,
        load_balance_hosts t"""),
    "clients": CONN, "servers": CONN,
    "users": cols("""name t, pool_size t, reserve_pool_size t, pool_mode t,
        max_user_connections i4, current_connections i4,
        max_user_client_connections i4, current_client_connections i4"""),
    "lists": cols("list t, items i4"),
    "config": cols("key t, value t, default t, changeable t"),
    "dns_hosts": cols("hostname t, ttl i8, addrs t"),
    "dns_zones": cols("zonename t, serial i8, count i4"),
    "mem": cols("name t, size i4, used i4, free i4, memtotal i4"),
    "stats": [("database", T)] + [("total_" + s, N) for s in STATS]
    + [("avg_" + s, N) for s in AVG],
}
LISTS = ["databases", "users", "peers", "pools", "peer_pools",
         "free_clients", "used_clients", "login_clients", "free_servers",
         "used_servers", "dns_names", "dns_zones", "dns_queries",
         "dns_pending"]


@pytest.mark.skipif(REFERENCE, reason="columns are newer")
@pytest.mark.parametrize("topic", sorted(COLUMNS))
def test_show_has_its_columns_in_order(pooler, topic):
    """admin-console.md 5: names, types, order; more only at the end"""
    # regressions: PB#311, Ody #538, PgP 4.6.5 overflow
    p = pooler()
    held = p.raw()
    held.query("begin")
    res = p.console().query("show " + topic)
    want = COLUMNS[topic]
    got = [(c[0], c[3]) for c in res.desc]
    assert got == want
    for name, table, column, oid, typlen, typmod, fmt in res.desc:
        assert (table, column, typmod, fmt) == (0, 0, -1, 0), name
        assert typlen == TYPLEN[oid], name
    assert res.tags == ["SHOW"] and res.kinds[-2:] == "CZ"
    for r in res.dicts:
        for name, oid in want:
            if oid in (I4, I8, N) and r[name] is not None:
                assert re.fullmatch(r"-?\d+", r[name]), (name, r[name])


def test_show_help(pooler):
    """admin-console.md 5.2: one NOTICE with detail"""
    res = pooler().console().query("show help")
    assert res.kinds in ("NCZ",) and res.tags == ["SHOW"]
    f = res.notices[0].fields
    assert (f["S"], f["C"], f["M"]) == ("NOTICE", "00000", "Console usage")
    assert f["D"].startswith("\n\t")
    words = ["SHOW", "RELOAD", "PAUSE", "RESUME", "SHUTDOWN", "POOLS",
             "CLIENTS", "SERVERS", "STATS", "LISTS", "MEM", "CONFIG"]
    assert [w for w in words if w not in f["D"]] == []


def test_show_version(pooler):
    """admin-console.md 5.3"""
    res = pooler().console().query("show version")
    assert len(res.rows) == 1
    assert re.match(r"PgBouncer \d+\.\d+", res.rows[0][0])


def test_show_config_rows(pooler):
    """settings.md 11; admin-console.md 5.18, 6.3"""
    # regressions: pgagroal#773, pgagroal#757, pgagroal#729, pgagroal#399
    p = pooler(default_pool_size=7, query_timeout=0.5,
               idle_transaction_timeout=90)
    rows = p.admin("show config")
    by = {r["key"]: r for r in rows}
    assert by["default_pool_size"]["value"] == "7"
    assert by["default_pool_size"]["changeable"] == "yes"
    assert by["listen_port"]["value"] == str(p.port)
    assert by["listen_port"]["changeable"] == "no"
    assert by["query_timeout"]["value"] == "0.5"
    assert by["idle_transaction_timeout"]["value"] == "90"
    assert by["unix_socket_mode"]["value"] == "511"
    assert by["conffile"]["value"] == p.ini
    assert by["pool_mode"]["value"] == "transaction"
    if REFERENCE:
        return
    assert by["unix_socket_mode"]["default"] == "0777"
    assert by["auth_user"]["value"] is None
    assert by["auth_user"]["default"] is None
    assert by["server_check_query"]["default"] == "<empty>"
    want = CONFIG_ORDER.split()
    keys = [r["key"] for r in rows]
    assert [k for k in keys if k in want] == want
    assert set(want) <= set(keys)


CONFIG_ORDER = """
admin_users application_name_add_host auth_dbname auth_file auth_hba_file
auth_ident_file auth_ldap_options auth_query auth_type auth_user
autodb_idle_timeout cancel_wait_timeout client_idle_timeout
client_login_timeout client_tls13_ciphers client_tls_ca_file
client_tls_cert_file client_tls_ciphers client_tls_dheparams
client_tls_ecdhcurve client_tls_key_file client_tls_protocols
client_tls_sslmode conffile default_pool_size disable_pqexec dns_max_ttl
dns_nxdomain_ttl dns_zone_check_period idle_transaction_timeout
ignore_startup_parameters job_name listen_addr listen_backlog listen_port
log_connections log_disconnections log_pooler_errors log_stats logfile
login_notify_message max_client_conn max_db_client_connections
max_db_connections max_packet_size max_prepared_statements
max_user_client_connections max_user_connections min_pool_size peer_id
pidfile pkt_buf pool_mode pool_idle_timeout query_timeout query_wait_notify
query_wait_timeout reserve_pool_size reserve_pool_timeout resolv_conf
sbuf_loopcnt scram_iterations server_check_delay server_check_query
server_connect_timeout server_fast_close server_idle_timeout server_lifetime
server_login_retry server_reset_query server_reset_query_always
server_round_robin server_tls13_ciphers server_tls_ca_file
server_tls_cert_file server_tls_ciphers server_tls_key_file
server_tls_protocols server_tls_sslmode so_reuseport stats_period
stats_users suspend_timeout syslog syslog_facility syslog_ident
tcp_defer_accept tcp_keepalive tcp_keepcnt tcp_keepidle tcp_keepintvl
tcp_socket_buffer tcp_user_timeout track_extra_parameters
transaction_timeout unix_socket_dir unix_socket_group unix_socket_mode user
verbose
"""


@pytest.mark.skipif(REFERENCE, reason="columns are newer")
def test_show_databases_rows(pooler, pg):
    """admin-console.md 5.16"""
    p = pooler({"b": "dbname=p1 user=app2 pool_size=4 pool_mode=session "
                     "min_pool_size=1 reserve_pool_size=2 "
                     "server_lifetime=30 max_db_connections=9 "
                     "max_db_client_connections=8",
                "a": "host=127.0.0.1,localhost port=7",
                "c": "port=%d" % pg.port}, default_pool_size=11)
    rows = p.admin("show databases")
    assert [r["name"] for r in rows] == ["a", "b", "c", "pgbouncer"]
    a, b, c, con = rows
    assert a["host"] == "127.0.0.1,localhost"
    assert a["load_balance_hosts"] == "round-robin"
    assert a["pool_size"] == "11" and a["force_user"] is None
    want = {"host": "127.0.0.1", "port": str(pg.port), "database": "p1",
            "force_user": "app2", "pool_size": "4", "min_pool_size": "1",
            "reserve_pool_size": "2", "server_lifetime": "30",
            "pool_mode": "session", "load_balance_hosts": None,
            "max_connections": "9", "max_client_connections": "8",
            "paused": "0", "disabled": "0"}
    assert {k: b[k] for k in want} == want
    assert c["host"] is None and c["database"] == "c"
    assert con["host"] is None and con["port"] == str(p.port)
    assert (con["database"], con["force_user"]) == ("pgbouncer",) * 2
    assert (con["pool_size"], con["pool_mode"]) == ("2", "statement")


def test_show_pools_rows(pooler):
    """admin-console.md 5.11"""
    p = pooler(default_pool_size=1)
    a, b, c = p.raw(), p.raw(), p.raw()
    a.query("begin")
    b.send(pq.query("select 1"))
    p.wait_pool(cl_active=2, cl_waiting=1, sv_active=1, sv_idle=0)
    rows = p.admin("show pools")
    assert [(r["database"], r["user"]) for r in rows] == [
        ("p0", "app"), ("pgbouncer", "pgbouncer")]
    assert rows[1]["pool_mode"] == "statement"
    wait_until(lambda: p.pool()["maxwait"] >= 1)
    a.query("commit")
    b.recv_until()
    p.wait_pool(cl_active=3, cl_waiting=0, sv_active=0, sv_idle=1)
    assert p.pool()["maxwait"] == 0
    assert c.value("select 1") == "1"


def test_show_clients_and_servers_are_linked(pooler):
    """admin-console.md 5.9"""
    p = pooler(default_pool_size=1)
    a = p.raw(application_name="alpha")
    a.query("begin")
    pid = a.value("select pg_backend_pid()")
    b = p.raw(application_name="beta")
    b.send(pq.query("select 1"))
    p.wait_pool(cl_waiting=1)
    i = p.raw()
    cl = p.show("clients", database="p0")
    sv = p.servers()
    assert len(sv) == 1 and sv[0]["type"] == "S"
    assert sv[0]["state"] == "active"
    by = {r["application_name"]: r for r in cl} if not REFERENCE else {}
    active = [r for r in cl if r["link"]]
    assert len(active) == 1 and active[0]["link"] == sv[0]["ptr"]
    assert sv[0]["link"] == active[0]["ptr"]
    assert active[0]["port"] == str(a.sock.getsockname()[1])
    assert active[0]["local_port"] == str(p.port)
    assert active[0]["addr"] == "127.0.0.1" and active[0]["tls"] == ""
    assert sv[0]["remote_pid"] == pid
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \w+",
                        sv[0]["connect_time"])
    if not REFERENCE:
        assert by["alpha"]["state"] == "active"
        assert by["beta"]["state"] == "waiting"
        assert by[""]["state"] == "idle"
        ids = [int(r["id"]) for r in cl + sv]
        assert len(set(ids)) == 4 and min(ids) >= 1
        con = p.show("clients", database="pgbouncer")
        assert con[0]["state"] == "idle" and con[0]["user"] == "admin"
    i.close()


@pytest.mark.skipif(REFERENCE, reason="columns are newer")
def test_show_users_rows(pooler):
    """admin-console.md 5.15"""
    p = pooler(users={"app": "pool_size=3 pool_mode=session "
                             "max_user_connections=5"},
               max_user_connections=7)
    p.raw().query("select 1")
    rows = {r["name"]: r for r in p.admin("show users")}
    assert set(rows) >= set(p.userlist) | {"pgbouncer"}
    assert list(rows) == sorted(rows)
    assert rows["app"]["pool_size"].strip() == "3"
    assert rows["app"]["pool_mode"] == "session"
    assert rows["app"]["max_user_connections"] == "5"
    assert rows["app2"]["max_user_connections"] == "7"
    assert rows["app2"]["pool_size"] == "" and \
        rows["app2"]["pool_mode"] is None


def test_show_lists_rows(pooler):
    """admin-console.md 5.14"""
    p = pooler()
    p.raw().query("select 1")
    rows = p.admin("show lists")
    got = [r["list"] for r in rows]
    assert REFERENCE or got[:len(LISTS)] == LISTS
    by = {r["list"]: int(r["items"]) for r in rows}
    assert by["databases"] == 3 and by["pools"] == 2
    assert by["used_clients"] >= 1 and by["used_servers"] == 1


def test_show_stats_counts(pooler):
    """admin-console.md 5.5: a pipelined batch counts once"""
    # regressions: PB#727, PB#565
    p = pooler()
    c = p.raw()
    for i in range(10):
        c.query("select 1")
    c.query("begin")
    c.query("select 1")
    c.query("commit")
    st = p.stats()
    assert st["total_query_count"] == 13
    assert st["total_xact_count"] == 11
    assert st["total_received"] > 100 and st["total_sent"] > 500
    assert st["total_query_time"] > 0 and st["total_xact_time"] > 0
    if not REFERENCE:
        assert st["total_server_assignment_count"] == 11
        assert st["total_client_login_count"] == 1
    names = [r["database"] for r in p.admin("show stats")]
    assert names == ["p0", "pgbouncer"]


def test_console_welcome(pooler):
    """admin-console.md 1: login reply"""
    c = pooler().console()
    want = ["server_version", "client_encoding", "server_encoding",
            "DateStyle", "TimeZone", "standard_conforming_strings",
            "is_superuser"]
    assert c.param_order[:7] == want
    assert c.params["server_version"].endswith("/bouncer")
    assert [c.params[k] for k in want[1:]] == [
        "UTF8", "UTF8", "ISO", "GMT", "on", "on"]
    assert len(c.key) == 8 and c.status == "I"


# --- rights ---------------------------------------------------------------

@pytest.mark.setting("admin_users")
def test_others_are_not_allowed(pooler):
    """admin-console.md 1: behind the password, so that no name is told"""
    p = pooler(auth_type="md5")
    for user, password, text in (
            ("app", "apppw", "not allowed"),
            ("app", "wrong", "password authentication failed"),
            ("nobody", "wrong", "password authentication failed")):
        with p.open() as c, pytest.raises(pq.PgError) as e:
            c.login(user, password, "pgbouncer")
        assert (e.value.severity, e.value.message) == ("FATAL", text)


def test_admin_needs_its_password(pooler):
    """admin-console.md 1: normal client authentication"""
    p = pooler(auth_type="scram-sha-256")
    with pytest.raises(pq.PgError):
        p.raw("admin", "pgbouncer", password="wrong")
    assert p.admin("show version")


@pytest.mark.setting("stats_users")
@pytest.mark.parametrize("cmd", [
    "reload", "pause", "pause p0", "resume", "resume p0", "shutdown",
    "shutdown wait_for_clients", "shutdown wait_for_servers"])
def test_stats_user_may_only_look(pooler, cmd):
    """admin-console.md 3, 6.1"""
    if REFERENCE and "wait_for" in cmd:
        pytest.skip("newer than that")
    p = pooler()
    c = p.console("stats")
    res = c.try_query(cmd)
    assert res.errors[0].message == "admin access needed"
    assert (res.errors[0].severity, res.errors[0].code) == (
        "ERROR", "08P01")
    assert set(res.errors[0].fields) == {"S", "V", "C", "M"} or REFERENCE
    assert res.status == "I"
    for topic in ("help", "version", "config", "databases", "users",
                  "pools", "clients", "servers", "stats", "lists", "mem"):
        assert c.query("show " + topic).tags == ["SHOW"]
    assert p.raw().value("select 1") == "1"


def test_auth_any_console_is_read_only_for_others(pooler):
    """admin-console.md 1: auth_type=any"""
    p = pooler({"p0": "user=app"}, auth_type="any")
    assert p.raw("admin", "pgbouncer").try_query("reload").errors == []
    res = p.raw("whoever", "pgbouncer").try_query("reload")
    assert res.errors[0].message == "admin access needed"


# --- grammar --------------------------------------------------------------

@pytest.mark.parametrize("cmd", [
    "nonsense", "show", "show nonsense", "", "  ", "select x",
    "begin; show pools", "show pools; show pools", "reload p0",
    "shutdown now", "show pools x", "set", "set x", "show help where a = 1",
    "show pools where", "show pools limit -1", "show pools (", "kill $1",
    "select 1; show pools", "kill host x", "drain host x y", "log", "-- x\nreload"])
def test_invalid_command(pooler, cmd):
    """admin-console.md 2: command grammar"""
    # regressions: PgCat be549f3, PgCat 8f9a2b8
    if REFERENCE and cmd in ("show pools x", "", "  ", "shutdown now"):
        pytest.skip("older texts")
    p = pooler()
    res = p.console().try_query(cmd)
    assert res.kinds == "EZ" and res.status == "I"
    assert res.errors[0].message == \
        "invalid command '%s', use SHOW HELP;" % cmd
    assert res.errors[0].code == "08P01"


@pytest.mark.parametrize("cmd", [
    "show version", "SHOW VERSION;", " \t\n show\r\n Version ; ",
    "select version", 'show "version"'])
def test_command_spelling(pooler, cmd):
    """admin-console.md 2: case, white space, one semicolon"""
    # regressions: PgCat be549f3, PgCat 8f9a2b8
    if REFERENCE and '"' in cmd:
        pytest.skip("older grammar")
    assert pooler().console().query(cmd).tags == ["SHOW"]


def test_overlong_words_are_refused(pooler):
    """admin-console.md 2: maximum lengths"""
    c = pooler().console()
    for cmd in ("pause " + "d" * 64, "x" * 16 + " y"):
        err = c.try_query(cmd).errors[0]
        assert err.message == "bad arguments"
    c.try_query("y" * 100000)
    assert c.query("show version").tags == ["SHOW"]


def test_query_message_in_pieces(pooler):
    """admin-console.md 2: buffer it"""
    if REFERENCE:
        pytest.skip("drops the client")
    c = pooler().console()
    for at in (1, 3, 7):
        c.send_split(pq.query("show version"), at)
        assert c.recv_until().tags == ["SHOW"]
    c.send(pq.query("show version") * 20)
    for _ in range(20):
        assert c.recv_until().tags == ["SHOW"]


def test_function_call_is_refused(pooler):
    """admin-console.md 2: protocol"""
    c = pooler().console()
    c.send(pq.function_call(1, []))
    errors = c.recv_all().errors
    assert errors[0].message == (
        "unsupported packet type for admin console: 70")
    assert errors[-1].message == "bad packet" or REFERENCE


def test_psql_talks_to_the_console(pooler):
    """admin-console.md: psql"""
    import shutil
    from harness import run, pg_bin
    p = pooler()
    exe = shutil.which("psql") or pg_bin("psql")
    out = run([exe, "-XAt", "-h", "127.0.0.1", "-p", str(p.port), "-U",
               "admin", "-c", "show version", "pgbouncer"], cwd="/tmp")
    assert out.returncode == 0 and out.stdout.startswith("PgBouncer ")


def test_show_fake_settings(pooler):
    """admin-console.md 5.1"""
    if REFERENCE:
        pytest.skip("older values")
    c = pooler().console()
    for key, val in (("client_encoding", "UTF-8"), ("datestyle", "ISO"),
                     ("timezone", "GMT"),
                     ("standard_conforming_strings", "on"),
                     ("default_transaction_isolation", "read committed")):
        res = c.query("show " + key.upper())
        assert res.columns == [key] and res.rows == [[val]]


# --- commands -------------------------------------------------------------

def test_reload_applies_changes(pooler):
    """admin-console.md 4.10"""
    # regressions: PgDog#961, PgDog#941, pgagroal#773, pgagroal#757,
    #   pgagroal#729, pgagroal#399
    p = pooler({"p0": "", "p1": ""})
    a, b = p.raw(), p.raw(database="p1")
    del p.dbs["p1"]
    p.dbs["p2"] = "dbname=p0"
    p.settings["default_pool_size"] = 3
    p.write()
    assert p.console().query("reload").tags == ["RELOAD"]
    assert b.recv_all().errors[-1].message == "database removed"
    assert p.raw(database="p2").value("select 1") == "1"
    assert p.show("config", key="default_pool_size")[0]["value"] == "3"
    assert a.value("select 1") == "1"
    assert "RELOAD command issued" in p.log


def test_failed_reload_changes_nothing(pooler):
    """architecture 1.4; config-files.md 13"""
    # regressions: PgDog#961, PgDog#941
    if REFERENCE:
        pytest.skip("reloads in part")
    p = pooler(default_pool_size=5)
    c = p.raw()
    p.settings["default_pool_size"] = 6
    p.settings["no_such_setting"] = 1
    p.write()
    res = p.console().try_query("reload")
    assert res.errors[0].code == "F0000"
    assert res.errors[0].message == \
        "RELOAD failed, see logs for additional details"
    assert re.search(r"%s:\d+" % re.escape(p.ini), p.log)
    # the detail names file, line and reason
    line = open(p.ini).read().split("\n").index("no_such_setting = 1") + 1
    assert res.errors[0].fields["D"] == (
        'unknown parameter: pgbouncer/no_such_setting\n'
        'invalid value "1" for parameter no_such_setting in configuration '
        '(%s:%d)' % (p.ini, line))
    assert p.show("config", key="default_pool_size")[0]["value"] == "5"
    assert c.value("select 1") == "1"
    del p.settings["no_such_setting"]
    p.reload()
    assert p.show("config", key="default_pool_size")[0]["value"] == "6"


def test_reload_recycles_changed_databases(pooler):
    """config-files.md 13: recycle"""
    # regressions: PB 1.5.1 connect string, PB#1157
    p = pooler({"p0": "dbname=p0"}, default_pool_size=1)
    c = p.raw()
    c.query("begin")
    p.dbs["p0"] = "dbname=p1"
    p.reload()
    assert c.value("select current_database()") == "p0"
    c.query("commit")
    assert c.value("select current_database()") == "p1"


def test_reload_reads_the_auth_file(pooler):
    """authentication.md 2; config-files.md 7"""
    p = pooler(auth_type="md5")
    p.userlist["app"] = "a new password"
    del p.userlist["app2"]
    p.reload()
    assert p.raw("app").value("select 1") == "1"
    with pytest.raises(pq.PgError):
        p.raw("app2", password="app2pw")


def test_pause_waits_for_transactions(pooler):
    """admin-console.md 4.1, 4.2"""
    p = pooler()
    a, b = p.raw(), p.raw()
    a.query("begin")
    con = p.console()
    con.send(pq.query("pause"))
    wait_until(lambda: "PAUSE command issued" in p.log)
    b.send(pq.query("select 'b'"))
    p.wait_pool(cl_waiting=1)
    assert not con.readable()
    assert p.console().try_query("pause").errors[0].message == \
        "already suspended/paused"
    a.query("commit")
    assert con.recv_until().tags == ["PAUSE"]
    p.wait_pool(sv_active=0, sv_idle=0, cl_waiting=1)
    assert not b.readable()
    # a new login is welcomed at once, its query waits
    d = p.raw()
    d.send(pq.query("select 'd'"))
    p.wait_pool(cl_waiting=2)
    assert con.query("resume").tags == ["RESUME"]
    assert b.recv_until().rows == [["b"]]
    assert d.recv_until().rows == [["d"]]
    assert con.try_query("resume").errors[0].message == \
        "pooler is not paused/suspended"


def test_pause_of_one_database(pooler):
    """admin-console.md 4.1, 4.2"""
    p = pooler()
    a, b = p.raw(), p.raw(database="p1")
    a.query("select 1")
    con = p.console()
    assert con.query("pause p0").tags == ["PAUSE"]
    assert p.show("databases", name="p0")[0]["paused"] == "1"
    a.send(pq.query("select 'a'"))
    p.wait_pool(cl_waiting=1)
    assert b.value("select 'b'") == "b"
    assert con.query("resume p0").tags == ["RESUME"]
    assert a.recv_until().rows == [["a"]]
    texts = {"resume p0": "database p0 is not paused",
             "resume nodb": "no such database: nodb",
             "pause nodb": "no such database: nodb",
             "pause pgbouncer": "cannot pause admin db: pgbouncer"}
    for cmd, text in texts.items():
        if not REFERENCE:
            assert con.try_query(cmd).errors[0].message == text


def test_pause_under_load(pooler):
    """family 8: PAUSE/RESUME under load loses nothing"""
    # regressions: PB#420, family 8: commands under load
    p = pooler(default_pool_size=3)
    stop, errors, counts = threading.Event(), [], [0] * 6

    def work(me):
        try:
            c = p.raw()
            while not stop.is_set():
                assert c.value("select 7") == "7"
                counts[me] += 1
        except Exception as e:  # reported below
            errors.append(repr(e))
    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for t in threads:
        t.start()
    con = p.console()
    for _ in range(10):
        con.query("pause")
        assert p.pool().get("sv_active", 0) == 0
        con.query("resume")
        con.query("reload")
        then = list(counts)
        wait_until(lambda: errors or all(
            n > m for n, m in zip(counts, then)))
    stop.set()
    for t in threads:
        t.join()
    assert errors == []


def test_shutdown_ends_at_once(pooler):
    """admin-console.md 4.9"""
    p = pooler()
    a = p.raw()
    a.query("begin")
    con = p.console()
    p.expect_exit = 0
    con.send(pq.query("shutdown"))
    assert p.wait_exit() == p.expect_exit
    assert con.recv_all().kinds == ""
    assert a.recv_all().messages == []
    assert not os.path.exists(os.path.join(p.dir, ".s.PGSQL.%d" % p.port))


@pytest.mark.skipif(REFERENCE, reason="newer than that")
def test_shutdown_wait_for_clients(pooler):
    """admin-console.md 4.9"""
    p = pooler()
    a, con = p.raw(), p.console()
    res = con.query("shutdown wait_for_clients")
    assert res.tags == ["SHUTDOWN"]
    assert a.value("select 1") == "1"
    with pytest.raises(OSError):
        p.open()
    late = p.open(unix=True)
    late.login("app", database="p0", wait=False)
    assert late.recv_all().errors[-1].message == "pooler is shutting down"
    assert con.query("pause").tags == ["PAUSE"]
    assert con.try_query("resume").errors[0].message == \
        "pooler is shutting down"
    a.close()
    con.close()
    assert p.wait_exit() == 0
    assert "client connections dropped, exiting" in p.log


@pytest.mark.skipif(REFERENCE, reason="newer than that")
def test_shutdown_wait_for_servers(pooler):
    """admin-console.md 4.9"""
    p = pooler(default_pool_size=1)
    a, b, con = p.raw(), p.raw(), p.console()
    a.query("begin")
    b.send(pq.query("select 1"))
    p.wait_pool(cl_waiting=1)
    assert con.query("shutdown wait_for_servers").tags == ["SHUTDOWN"]
    assert b.recv_all().errors[-1].message == "server shutting down"
    assert a.value("select 1") == "1"
    a.query("commit")
    assert p.wait_exit() == 0
    assert "server connections dropped, exiting" in p.log


def test_console_error_is_logged(pooler):
    """logging.md 8"""
    p = pooler()
    p.console().try_query("bogus")
    text = "invalid command 'bogus', use SHOW HELP;"
    p.wait_log("pooler error: " + re.escape(text))


def test_mistyped_command_is_logged_without_its_arguments(pooler):
    """they may be a password that was meant for another server"""
    p = pooler()
    con = p.console()
    text = "alter user app password 'hunter2'"
    err = con.try_query(text).errors[0]
    assert err.message == "invalid command '%s', use SHOW HELP;" % text
    con.try_query("hunter2")
    con.send(pq.parse("selct hunter2") + pq.sync())
    assert con.recv_until().errors
    p.wait_log(r"WARNING C-0x\w+: pgbouncer/admin@[^ ]+ pooler error: invalid "
               r"command 'alter \.\.\.', use SHOW HELP;")
    wait_until(lambda: p.log.count("pooler error: invalid command") == 3)
    assert "hunter2" not in p.log


def test_mistyped_command_is_told_what_was_meant(pooler):
    p = pooler()
    con = p.console()
    for cmd, meant in (("show pool", "SHOW POOLS"), ("relaod", "RELOAD"),
                       ("show clientz", "SHOW CLIENTS"), ("pasue", "PAUSE"),
                       ("frobnicate", None), ("reload x", None)):
        err = con.try_query(cmd).errors[0]
        assert err.message == "invalid command '%s', use SHOW HELP;" % cmd
        assert err.fields.get("D") == (
            meant and 'Did you mean "%s"?' % meant)


# --- how many -------------------------------------------------------------

@pytest.mark.skipif(REFERENCE, reason="newer than that")
@pytest.mark.setting("max_console_conn")
def test_consoles_have_a_limit_of_their_own(pooler):
    """an admin takes the place of a stats user, and no place of a client"""
    p = pooler(max_console_conn=3, max_client_conn=2, stats_users="stats")

    def console(user):
        return p.raw(user, "pgbouncer")
    guests = [console("stats") for _ in range(3)]
    clients = [p.raw() for _ in range(2)]
    with pytest.raises(pq.PgError) as e:
        console("stats")
    assert (e.value.code, e.value.message) == (
        "53300", "no more connections allowed (max_console_conn)")
    admins = []
    for k in guests:
        admins.append(console("admin"))
        assert k.recv_all().errors[-1].message == e.value.message
    with pytest.raises(pq.PgError):
        console("admin")
    for c in clients:
        assert c.value("select 1") == "1"
    with pytest.raises(pq.PgError) as e:
        p.raw()
    assert e.value.message == "no more connections allowed (max_client_conn)"
    admins[0].close()
    wait_until(lambda: console("admin").query("show version").rows)
