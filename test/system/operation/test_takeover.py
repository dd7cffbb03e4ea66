# test_takeover.py - SUSPEND, SHOW FDS, and the online restart they are for.
# SPDX-License-Identifier: ISC
import os
import signal
import socket
import struct
import sys

import pytest

import harness
import pq
from harness import BIG, Load, REFERENCE, binary, run, wait_until
from test_peer import key_of

pytestmark = pytest.mark.skipif(REFERENCE, reason="newer than that")

COLUMNS = ["fd", "task", "user", "database", "addr", "port", "cancel",
           "link", "client_encoding", "std_strings", "datestyle",
           "timezone", "password", "scram_client_key", "scram_server_key"]


def ask(p, unix=True):
    return p.raw("admin", "pgbouncer", unix=unix)


# --- SUSPEND --------------------------------------------------------------

def test_suspend_stops_everything_until_resume(pooler):
    """admin-console.md 4.8"""
    p = pooler()
    a, k = p.raw(), ask(p)
    a.query("select 1")
    assert k.query("suspend").tags == ["SUSPEND"]
    assert dict((r["key"], r["value"]) for r in k.query(
        "show state").dicts) == {"active": "no", "paused": "no",
                                 "suspended": "yes"}
    a.send(pq.query("select 'later'"))
    late = p.open()
    late.send(pq.startup({"user": "app", "database": "p0"}))
    assert not a.readable(0.3) and not late.readable(0)
    assert k.query("resume").tags == ["RESUME"]
    assert a.recv_until().rows == [["later"]]
    late.recv_until()
    assert late.value("select 1") == "1"


def test_suspend_is_refused_where_it_makes_no_sense(pooler):
    """admin-console.md 4.8: already halted, paused databases, arguments"""
    p = pooler()
    k = ask(p)
    k.query("pause p1")
    assert k.try_query("suspend").errors[0].message == \
        "cannot suspend with paused databases"
    k.query("resume p1")
    k.query("pause")
    assert k.try_query("suspend").errors[0].message == \
        "already suspended/paused"
    k.query("resume")
    k.query("suspend")
    for command in ("suspend", "pause", "kill"):
        assert k.try_query(command).errors[0].message == \
            "already suspended/paused"
    assert k.try_query("suspend p0").errors[0].message == \
        "invalid command 'suspend p0', use SHOW HELP;"
    assert k.query("resume").tags == ["RESUME"]
    with p.raw("stats", "pgbouncer") as s:
        assert s.try_query("suspend").errors[0].message == "admin access needed"


def test_suspend_of_those_in_the_queue(pooler):
    """a client that waits for a server waits on afterwards"""
    p = pooler(default_pool_size=1)
    a, b, k = p.raw(), p.raw(), ask(p)
    a.query("begin")
    b.send(pq.query("select 'b'"))
    p.wait_pool(cl_waiting=1)
    assert k.query("suspend").tags == ["SUSPEND"]
    k.query("resume")
    a.query("commit")
    assert b.recv_until().rows == [["b"]]


def test_suspend_while_a_query_runs(pooler, latch):
    """what the server has not said yet is read afterwards"""
    p = pooler()
    a, k = p.raw(), ask(p)
    a.send(pq.query("select %s, 'slow'" % latch.query))
    p.wait_pool(cl_active=1, sv_active=1)
    assert k.query("suspend").tags == ["SUSPEND"]
    latch.open()
    assert not a.readable(0.3)
    k.query("resume")
    assert a.recv_until().rows == [["", "slow"]]


def test_suspend_ends_with_its_last_console(pooler):
    """logging.md 7: admin disappeared when suspended, doing RESUME"""
    p = pooler()
    a, k = p.raw(), ask(p)
    assert k.query("suspend").tags == ["SUSPEND"]
    a.send(pq.query("select 1"))
    k.close()
    assert a.recv_until().rows == [["1"]]
    p.wait_log("admin disappeared when suspended, doing RESUME")


def test_suspend_is_lifted_by_sigusr2(pooler):
    """config-files.md 19; the blocked command is told"""
    p = pooler()
    late = p.open()	# about to log in: waited for, but not for long
    late.send(pq.startup({"user": "app", "database": "p0"})[:7])
    a, k = p.raw(), ask(p)
    k.send(pq.query("suspend"))
    p.wait_log("SUSPEND command issued")
    p.signal(signal.SIGUSR2)
    p.wait_log("got SIGUSR2, continuing from SUSPEND")
    res = k.recv_until()
    assert res.tags == ["SUSPEND"] or res.errors[0].message == \
        "pooler is not paused/suspended"
    assert a.value("select 1") == "1"


@pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGINT])
def test_signal_while_suspended_is_the_end(pooler, sig):
    """config-files.md 19, 20: exit 1; the socket may be a successor's"""
    p = pooler()
    k = ask(p)
    k.query("suspend")
    p.expect_exit = 1
    p.signal(sig)
    assert p.wait_exit() == 1
    assert "FATAL suspend was in progress, going down immediately" in p.log
    assert os.path.exists(os.path.join(p.dir, ".s.PGSQL.%d" % p.port))


# --- SHOW FDS -------------------------------------------------------------

def test_show_fds(pooler):
    """admin-console.md 5.17: columns, rows, who may"""
    p = pooler()
    a, b = p.raw(), p.raw()
    a.query("begin")
    b.query("select 1")
    with p.raw("stats", "pgbouncer") as s:
        assert s.try_query("show fds").errors[0].message == "admin access needed"
    with ask(p) as k:
        r = k.query("show fds")
        more = k.query("show fds extended")
    assert r.columns == COLUMNS and more.columns == COLUMNS + ["state"]
    assert {d["state"] for d in more.dicts} == {None}
    assert [c[3] for c in r.desc] == [23, 25, 25, 25, 25, 23, 20, 23, 25, 25,
                                      25, 25, 25, 17, 17]
    tasks = [d["task"] for d in r.dicts]
    assert tasks == ["pooler"] * 2 + ["client"] * 2 + ["server"] * 2
    poolers = r.dicts[:2]
    assert {d["addr"] for d in poolers} == {"127.0.0.1", "unix"}
    assert all(d["port"] == str(p.port) for d in poolers)
    byfd = {d["fd"]: d for d in r.dicts}
    linked = [d for d in r.dicts if d["link"] not in (None, "0")]
    assert len(linked) == 2
    for d in linked:
        assert byfd[d["link"]]["link"] == d["fd"]
    for d in r.dicts[2:]:
        assert d["user"] == "app" and d["database"] == "p0"
        assert d["client_encoding"] == "UTF8" and d["std_strings"] == "on"
        assert d["password"] is None
    key = int.from_bytes(a.key, "big")
    assert str(key) in [d["cancel"] for d in r.dicts[2:4]]


FDS = """
import array, json, os, socket, struct, sys
sys.path.insert(0, sys.argv[1])
import pq
c = pq.Conn(path=sys.argv[2])
c.login("pgbouncer", None, "pgbouncer")
for command in sys.argv[3:]:
    c.send(pq.query(command))
buf, fds, rows, cols = b"", [], [], None
while not buf.endswith(b"Z\\0\\0\\0\\5I") or not cols:
    data, anc, _, _ = c.sock.recvmsg(65536, socket.CMSG_SPACE(4))
    buf += data
    for level, kind, cdata in anc:
        fds += array.array("i", cdata[:4])
    for kind, body in pq.split_messages(buf)[0]:
        if kind == "T":
            cols = [x[0] for x in pq.row_desc(body)]
for kind, body in pq.split_messages(buf)[0]:
    if kind == "D":
        rows.append(dict(zip(cols, pq.row(body))))
out = []
OPTS = {
    "keepalive": (socket.SOL_SOCKET, socket.SO_KEEPALIVE),
    "sndbuf": (socket.SOL_SOCKET, socket.SO_SNDBUF),
    "rcvbuf": (socket.SOL_SOCKET, socket.SO_RCVBUF),
    "listening": (socket.SOL_SOCKET, socket.SO_ACCEPTCONN),
    "reuseport": (socket.SOL_SOCKET, socket.SO_REUSEPORT),
    "reuseaddr": (socket.SOL_SOCKET, socket.SO_REUSEADDR),
    "nodelay": (socket.IPPROTO_TCP, socket.TCP_NODELAY),
    "keepcnt": (socket.IPPROTO_TCP, socket.TCP_KEEPCNT),
    "keepidle": (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE),
    "keepintvl": (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL),
    "user_timeout": (socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT),
    "defer_accept": (socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT),
}
for row, fd in zip(rows, fds):
    s = socket.socket(fileno=fd)
    row["family"] = s.family
    for name, opt in OPTS.items():
        try:
            row[name] = s.getsockopt(*opt)
        except OSError:
            row[name] = None
    if s.family != socket.AF_UNIX and row["listening"]:
        info = s.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
        row["backlog"] = struct.unpack_from("I", info, 28)[0]
    out.append(row)
print(json.dumps([out, len(fds)]))
"""


def passed(p, *commands):
    """SHOW FDS with descriptors; their options, asked of the kernel."""
    import json
    out = run([sys.executable, "-c", FDS, os.path.dirname(pq.__file__),
               os.path.join(p.dir, ".s.PGSQL.%d" % p.port)] +
              list(commands or ["show fds"]), cwd="/")
    assert out.returncode == 0, out.stderr
    rows, count = json.loads(out.stdout)
    assert len(rows) == count
    return rows


def test_show_fds_passes_descriptors_to_the_own_user(pooler):
    """pooling.md 23: SCM_RIGHTS; PB#311: SHOW FDS crashed"""
    p = pooler()
    a = p.raw()
    a.query("select 1")
    rows = passed(p)
    assert [r["task"] for r in rows] == ["pooler"] * 2 + ["client", "server"]
    assert [r["listening"] for r in rows] == [1, 1, 0, 0]
    assert a.value("select 2") == "2"


def test_what_a_stranger_can_not_know_is_not_passed(pooler):
    """prepared statements, requests under way: only to who reads state"""
    p = pooler(max_prepared_statements=10)
    a, b = p.raw(), p.raw()
    a.send(pq.parse("select 1", "s1"), pq.sync())
    a.recv_until()
    b.send(pq.query("select pg_sleep(60)"))
    wait_until(lambda: p.show("servers", state="active"))
    assert [r["task"] for r in passed(p)] == ["pooler"] * 2


# --- socket options, by the descriptors -----------------------------------

def by_task(rows):
    return {r["task"]: r for r in rows if r["family"] != socket.AF_UNIX}


@pytest.mark.setting("tcp_keepalive", "tcp_keepcnt", "tcp_keepidle",
                     "tcp_keepintvl", "tcp_user_timeout",
                     "tcp_socket_buffer")
def test_tcp_options_reach_every_socket(pooler):
    """settings.md 10: listeners, clients, servers"""
    p = pooler(tcp_keepalive=1, tcp_keepcnt=3, tcp_keepidle=77,
               tcp_keepintvl=11, tcp_user_timeout=12345,
               tcp_socket_buffer=65536)
    a = p.raw()
    a.query("select 1")
    rows = by_task(passed(p))
    for task in ("client", "server"):
        r = rows[task]
        assert (r["keepalive"], r["keepcnt"], r["keepidle"], r["keepintvl"],
                r["user_timeout"], r["nodelay"]) == (1, 3, 77, 11, 12345, 1)
        assert r["sndbuf"] == r["rcvbuf"] == 2 * 65536    # the kernel doubles
    assert rows["pooler"]["reuseaddr"] == 1


@pytest.mark.setting("tcp_keepalive")
def test_tcp_options_off(pooler):
    """settings.md 10: tcp_keepalive = 0"""
    p = pooler(tcp_keepalive=0, tcp_keepidle=77)
    a = p.raw()
    a.query("select 1")
    rows = by_task(passed(p))
    for task in ("client", "server"):
        assert rows[task]["keepalive"] == 0
        assert rows[task]["keepidle"] != 77
        assert rows[task]["nodelay"] == 1


@pytest.mark.setting("listen_backlog", "so_reuseport", "tcp_defer_accept")
def test_listener_options(pooler):
    """settings.md 10"""
    p = pooler(listen_backlog=17, so_reuseport=1)
    r = by_task(passed(p))["pooler"]
    assert r["reuseport"] == 1 and r["backlog"] == 17
    assert r["defer_accept"] > 0
    p.settings["tcp_defer_accept"] = 0
    p.reload()
    assert by_task(passed(p))["pooler"]["defer_accept"] == 0
    q = pooler(tcp_defer_accept=0)
    r = by_task(passed(q))["pooler"]
    assert r["reuseport"] == 0 and r["defer_accept"] == 0
    assert r["backlog"] == 128


# --- online restart -------------------------------------------------------

def successor(pooler, p, **settings):
    """A process that is to take over from p."""
    q = pooler(start=False, args=["-R"])
    q.port = p.port
    q.settings = dict(p.settings, **settings)
    q.dbs = dict(p.dbs)
    return q


def take_over(pooler, p, **settings):
    q = successor(pooler, p, **settings)
    q.start()
    assert p.wait_exit() == 0
    return q


def test_takeover_keeps_parameters_of_the_start_up_packet(pooler):
    """pooling.md 21: also where the server does not report search_path"""
    p = pooler(default_pool_size=1)
    plain, mine = p.raw(), p.raw(search_path="pg_catalog")
    for c, path in (plain, '"$user", public'), (mine, "pg_catalog"):
        assert c.value("show search_path") == path
    take_over(pooler, p)
    for c, path in (plain, '"$user", public'), (mine, "pg_catalog"):
        assert c.value("show search_path") == path


def test_takeover_makes_the_successor_the_peer_of_unix_clients(pooler):
    """SO_PEERCRED: pgsluicectl drain waits for the end of this process"""
    p = pooler()
    q = take_over(pooler, p)
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(os.path.join(p.dir, ".s.PGSQL.%d" % p.port))
        pid, _, _ = struct.unpack("3i", s.getsockopt(
            socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i")))
    assert pid == q.proc.pid


@pytest.mark.option("--reboot")
def test_takeover_of_idle_and_busy_sessions(pooler, latch):
    """config-files.md 21: -R"""
    p = pooler(default_pool_size=3)
    idle, busy, running = p.raw(), p.raw(), p.raw()
    assert idle.value("select 1") == "1"
    busy.query("begin")
    busy.query("create temp table mine as select 42 as n")
    pid = busy.value("select pg_backend_pid()")
    running.send(pq.query("select %s, 'done'" % latch.query))
    wait_until(lambda: len(p.show("servers", state="active")) == 2)
    q = take_over(pooler, p)
    assert ("WARNING Online restart is deprecated, use so_reuseport instead"
            in q.log)
    assert "LOG got pooler socket: 127.0.0.1:%d" % p.port in q.log
    assert "LOG got pooler socket: unix:%s" % os.path.join(
        p.dir, ".s.PGSQL.%d" % p.port) in q.log
    assert busy.value("select n from mine") == "42"
    assert busy.value("select pg_backend_pid()") == pid
    assert busy.query("commit").status == "I"
    latch.open()
    assert running.recv_until().rows == [["", "done"]]
    assert idle.value("select 2") == "2"
    assert q.raw().value("select 3") == "3"
    assert q.raw(unix=False, user="app2").value("select 4") == "4"
    assert [c["state"] for c in q.show("clients", user="app")]
    # servers came along: no others were opened for this user
    assert len(q.servers()) <= 4


def test_takeover_keeps_cancel_keys(pooler, pg):
    """a key that the old process gave out"""
    p = pooler()
    a = p.raw()
    a.send(pq.query("select pg_sleep(60)"))
    wait_until(lambda: p.show("servers", state="active"))
    q = take_over(pooler, p)

    def cancel():
        with q.open() as k:
            k.send(pq.untyped(pq.CANCEL_REQUEST, a.key))
            k.recv_all()
        return a.readable(0.5)
    wait_until(cancel)
    assert a.recv_until().errors[0].code == "57014"
    assert a.value("select 1") == "1"


def test_takeover_keeps_prepared_statements_apart(pooler):
    """names of clients, names on servers, new ones: none is mixed up"""
    p = pooler(max_prepared_statements=20, default_pool_size=2)
    conns = [p.raw() for _ in range(4)]
    for i, c in enumerate(conns):
        c.send(pq.parse("select 'old %d'" % i, "s"), pq.sync())
        assert not c.recv_until().errors
    q = take_over(pooler, p)
    fresh = [q.raw() for _ in range(4)]
    for i, c in enumerate(fresh):
        c.send(pq.parse("select 'new %d'" % i, "s"), pq.sync())
        assert not c.recv_until().errors
    for _ in range(2):
        for kind, group in (("old", conns), ("new", fresh)):
            for i, c in enumerate(group):
                c.send(pq.bind("s"), pq.execute(), pq.sync())
                assert c.recv_until().check().rows == [["%s %d" % (kind, i)]]
    conns[0].send(pq.close("S", "s"), pq.sync())
    conns[0].recv_until()
    conns[0].send(pq.parse("select 'again'", "s"), pq.bind("s"),
                  pq.execute(), pq.sync())
    assert conns[0].recv_until().check().rows == [["again"]]


def test_takeover_keeps_a_batch_that_will_have_to_be_repeated(pooler, pg):
    """the server waits for a lock, and says then that the columns changed"""
    pg.sql("drop table if exists changing", "create table changing (a int)",
           "grant all on changing to public", db="p0")
    p = pooler(default_pool_size=1)
    c = p.raw()
    c.send(pq.parse("select * from changing", "s"), pq.sync())
    assert not c.recv_until().errors
    with pg.connect(dbname="p0") as owner:
        owner.execute("begin; alter table changing add b int")
        c.send(pq.bind("s"), pq.describe("P"), pq.execute(), pq.sync())
        wait_until(lambda: pg.sql("select 1 from pg_locks where not granted",
                                  db="p0"))
        take_over(pooler, p)
        owner.execute("commit")
    assert c.recv_until().kinds == "2TCZ"


def test_takeover_keeps_names_whose_result_has_changed(pooler, pg):
    """who was told so once is told so again, until it prepares anew; who has
    the text since then has the new result"""
    pg.sql("drop table if exists changing", "create table changing (a int)",
           "grant all on changing to public", db="p0")
    p = pooler(default_pool_size=1)
    a, b = p.raw(), p.raw()
    for c in (a, b):
        c.send(pq.parse("select * from changing", "s"), pq.bind("s"),
               pq.execute(), pq.sync())
        assert not c.recv_until().errors
    pg.sql("alter table changing add b int", db="p0")
    a.send(pq.bind("s"), pq.execute(), pq.sync())
    assert a.recv_until().errors[0].code == "0A000"
    b.send(pq.close("S", "s"), pq.parse("select * from changing", "s"),
           pq.sync())
    assert not b.recv_until().errors
    q = take_over(pooler, p)
    for _ in range(2):
        a.send(pq.bind("s"), pq.execute(), pq.sync())
        assert a.recv_until().errors[0].code == "0A000"
        b.send(pq.bind("s"), pq.execute(), pq.sync())
        assert not b.recv_until().errors
    a.send(pq.close("S", "s"), pq.parse("select * from changing", "s"),
           pq.bind("s"), pq.execute(), pq.sync())
    assert not a.recv_until().errors
    assert "can't be handed over" not in p.log
    assert len(q.show("servers", user="app")) == 1


def test_takeover_of_waiting_clients(pooler):
    """their queries are asked by the new process"""
    p = pooler(default_pool_size=1)
    a = p.raw()
    waiting = [p.raw() for _ in range(5)]
    a.query("begin")
    for i, c in enumerate(waiting):
        c.send(pq.query("select %d" % i))
    p.wait_pool(cl_waiting=5)
    q = take_over(pooler, p)
    a.query("commit")
    for i, c in enumerate(waiting):
        assert c.recv_until().rows == [[str(i)]]
    assert len(q.servers()) == 1


def test_takeover_keeps_parameters(pooler):
    """tracked parameters follow their client"""
    p = pooler(default_pool_size=1)
    a, b = p.raw(application_name="first"), p.raw()
    a.query("set timezone = 'Asia/Tokyo'")
    b.query("set datestyle = 'German'")
    take_over(pooler, p)
    for _ in range(2):
        assert a.value("show timezone") == "Asia/Tokyo"
        assert a.value("show application_name") == "first"
        assert b.value("show datestyle").startswith("German")
        assert b.value("show timezone") != "Asia/Tokyo"


@pytest.mark.setting("session_state")
def test_takeover_keeps_settings_and_pins(pooler):
    """session_state=keep: all settings, and the server of a temporary table"""
    p = pooler(default_pool_size=2, session_state="keep")
    a, b = p.raw(), p.raw()
    a.query("set work_mem = '1MB'; set my.own = 'x'")
    b.query("create temp table pinned (i int); set work_mem = '2MB'")
    a.query("begin; set local work_mem = '3MB'; set my.two = 'y'")
    take_over(pooler, p)
    a.query("commit")
    show = "select current_setting('work_mem') || " \
        "coalesce(current_setting('my.own', true), '')"
    c = p.raw()
    for _ in range(2):
        assert a.value(show) == "1MBx"
        assert b.value(show) == "2MB"
        assert c.value(show) == "4MB"
        assert b.value("select count(*) from pinned") == "0"
        assert a.value("select current_setting('my.two')") == "y"


def test_takeover_keeps_what_reset_gives_back(pooler, latch):
    """pooling.md 21: also where the RESET is on its way"""
    p = pooler({"p0": "timezone=Europe/Oslo"}, default_pool_size=2)
    a, b = p.raw(timezone="Asia/Tokyo"), p.raw(timezone="Asia/Tokyo")
    a.query("set timezone = 'America/Lima'")
    b.query("set timezone = 'America/Lima'")
    b.send(pq.query("select %s" % latch.query), pq.query("reset timezone"))
    wait_until(lambda: len(p.show("servers", state="active")) == 1)
    take_over(pooler, p)
    latch.open()
    for c in (a, b):
        if c is a:
            c.query("reset timezone")
        else:
            c.recv_until()
            c.recv_until()
        assert c.value("show timezone") == "Asia/Tokyo"


@pytest.mark.parametrize("sql", ["reset all", "reset role; reset my.own",
                                 "set role to default; set my.own to default"])
def test_takeover_keeps_a_reset_of_what_was_brought(pooler, sql):
    """in a transaction that goes on: the client's start-up values, not none"""
    p = pooler(default_pool_size=1, session_state="keep")
    look = "select current_user || current_setting('my.own')"
    a = p.raw("postgres", **{"options": "-c role=app -c my.own=came"})
    assert a.value(look) == "appcame"
    a.query("begin")
    for one in ["set my.own = 'else'", *sql.split("; ")]:
        a.query(one)
    take_over(pooler, p)
    a.query("commit")
    other = p.raw("postgres")
    assert other.value("select current_user") == "postgres"
    assert a.value(look) == "appcame"


@pytest.mark.parametrize("state", ["keep", "clean"])
def test_takeover_keeps_a_library_from_others(pooler, state):
    """LOAD in a transaction that goes on: nobody else is lent that server"""
    p = pooler(default_pool_size=1, session_state=state)
    a, b = p.raw("postgres"), p.raw("postgres")
    a.query("begin; load 'auto_explain'")
    pid = a.value("select pg_backend_pid()")
    take_over(pooler, p)
    a.query("commit")
    a.close()
    assert b.value("select pg_backend_pid()") != pid


def test_takeover_keeps_a_temporary_schema_in_search_path(pooler):
    """a table that a SELECT makes there keeps its server"""
    p = pooler(default_pool_size=2, session_state="keep")
    a, b = p.raw(search_path="pg_temp"), p.raw()
    a.query("begin; select 1")
    take_over(pooler, p)
    a.query("select 1 as i into made; commit")
    b.query("begin; select 1")
    assert a.value("select i from made") == "1"


def test_takeover_keeps_names_that_a_server_has_lost(pooler):
    """who was told 26000 prepares again, as drivers do"""
    p = pooler(default_pool_size=1)
    c = p.raw()
    c.send(pq.parse("select 1", "s"), pq.bind("s"), pq.execute(), pq.sync())
    assert not c.recv_until().errors
    c.query("begin; do $$ begin execute 'deallocate all'; end $$")
    c.send(pq.bind("s"), pq.execute(), pq.sync())
    assert c.recv_until().errors[0].code == "26000"
    c.query("rollback")
    take_over(pooler, p)
    c.send(pq.parse("select 1", "s"), pq.bind("s"), pq.execute(), pq.sync())
    assert c.recv_until().check().rows == [["1"]]


def test_takeover_brings_what_users_have_proved(pooler, pg):
    """SCRAM keys, secrets of auth_query: servers are opened with them"""
    p = pooler(auth_type="scram-sha-256", auth_user="postgres",
               userlist=dict(harness.USERLIST, u_scram=pg.secret("u_scram")))
    q = None
    a = p.raw("u_scram", password=harness.PASSWORDS["u_scram"])
    p.userlist.pop("u_scram")
    r = pooler(auth_type="scram-sha-256", auth_user="postgres")
    b = r.raw("u_scram", password=harness.PASSWORDS["u_scram"])
    for old, c in ((p, a), (r, b)):
        assert c.value("select 1") == "1"
        old.userlist["u_scram"] = pg.secret("u_scram")
        if old is r:
            old.userlist.pop("u_scram")
        q = successor(pooler, old)
        q.userlist = old.userlist
        q.start()
        assert old.wait_exit() == 0
        pid = c.value("select pg_backend_pid()")
        q.admin("reconnect")
        assert c.value("select pg_backend_pid()") != pid


def test_takeover_in_the_middle_of_a_copy(pooler):
    """rows from before and after are one COPY"""
    p = pooler()
    a = p.raw()
    a.query("begin")
    a.query("create temp table t (n int)")
    a.send(pq.query("copy t from stdin"))
    a.recv_until("G")
    a.send(pq.copy_data(b"1\n"))
    take_over(pooler, p)
    a.send(pq.copy_data(b"2\n"), pq.copy_done())
    assert a.recv_until().tags == ["COPY 2"]
    assert a.value("select sum(n) from t") == "3"


def test_takeover_of_session_pooling(pooler):
    """the server stays with its client"""
    p = pooler(pool_mode="session", server_reset_query="discard all")
    a = p.raw()
    a.query("create temp table mine as select 7 as n")
    a.query("prepare mine as select 8")
    q = take_over(pooler, p)
    assert a.value("select n from mine") == "7"
    assert a.value("execute mine") == "8"
    a.close()
    assert q.raw().value("select to_regclass('mine') is null") == "t"


def test_takeover_with_other_servers_in_mind(pooler, pg):
    """a changed database: its servers are not used for what it means now"""
    p = pooler(dbs={"x": "dbname=p0", "gone": "dbname=p0"})
    a, b, c = p.raw(database="x"), p.raw(database="x"), \
        p.raw(database="gone")
    a.query("begin")
    for conn in (a, b, c):
        assert conn.value("select current_database()") == "p0"
    q = successor(pooler, p)
    q.dbs = {"x": "dbname=p1"}
    q.start()
    assert p.wait_exit() == 0
    assert "WARNING no place for a client of user app, database gone" in q.log
    assert c.recv_all().messages == []
    assert a.value("select current_database()") == "p0"    # in its transaction
    a.query("commit")
    assert a.value("select current_database()") == "p1"
    assert b.value("select current_database()") == "p1"


def prepared(p):
    c = p.raw()
    c.send(pq.parse("select 1", "s"), pq.sync())
    assert c.recv_until().kinds == "1Z"
    return c


@pytest.mark.parametrize("key,value", [("pool_mode", "session"),
                                       ("max_prepared_statements", 0)])
def test_takeover_by_one_that_keeps_no_names(pooler, key, value):
    """it does for who holds some"""
    p = pooler(max_prepared_statements=10)
    a, b = prepared(p), p.raw()
    q = take_over(pooler, p, **{key: value})
    a.send(pq.bind("s"), pq.execute(), pq.sync())
    assert a.recv_until().rows == [["1"]]
    assert b.value("select 1") == "1"
    assert q.raw().value("select 1") == "1"


def test_takeover_by_one_that_keeps_names(pooler):
    """the server is the client's, as it was linked: it has them"""
    p = pooler(pool_mode="session", server_reset_query="discard all",
               default_pool_size=1)
    a = prepared(p)
    a.query("set work_mem = '7MB'")
    q = take_over(pooler, p, pool_mode="transaction", default_pool_size=1,
                  server_reset_query="discard all")
    a.send(pq.bind("s"), pq.execute(), pq.sync())
    res = a.recv_until()
    assert res.check().rows == [["1"]]
    pid = a.value("select pg_backend_pid()")
    a.close()
    b = q.raw()
    assert b.value("select pg_backend_pid()") == pid
    assert b.value("show work_mem") != "7MB"


def test_takeover_that_fails_leaves_all_as_it_was(pooler):
    """config-files.md 21: the old process resumes"""
    p = pooler()
    a = p.raw()
    a.query("begin")
    a.query("create temp table mine as select 42 as n")
    q = successor(pooler, p, listen_addr="127.0.0.1, no-such-host.invalid")
    q.expect_exit = 1
    q.write()
    q.launch()
    assert q.wait_exit() == 1
    assert "cannot resolve listen_addr" in q.log
    p.wait_log("admin disappeared when suspended, doing RESUME")
    assert a.value("select n from mine") == "42"
    a.query("commit")
    assert p.raw(unix=True).value("select 1") == "1"
    assert os.path.exists(os.path.join(p.dir, ".s.PGSQL.%d" % p.port))


@pytest.mark.root
def test_takeover_by_another_user_is_refused(pooler):
    """own uid only: the console asks others for a password"""
    p = pooler(auth_type="md5")
    q = successor(pooler, p)
    q.expect_exit = 1
    # a file that only the other user may read ends it before
    del q.settings["auth_mock_secret_file"]
    q.write()
    user = harness.pwd.getpwnam("daemon")
    q.launch(user=user.pw_uid, group=user.pw_gid)
    assert q.wait_exit() == 1
    assert "FATAL cannot take over: " in q.log
    assert p.raw().value("select 1") == "1"


@pytest.mark.parametrize("unix,text", [
    ("", "online restart needs unix_socket_dir"),
    ("@abstract", "online restart can't be done with an abstract")])
def test_takeover_needs_a_socket_file(pooler, unix, text):
    """config-files.md 21: preconditions"""
    p = pooler(start=False, args=["-R"], unix_socket_dir=unix)
    p.write()
    p.expect_exit = 1
    p.launch()
    assert p.wait_exit() == 1
    assert text in p.log


def test_takeover_of_nobody_is_a_start(pooler):
    """config-files.md 21: nothing listens"""
    p = pooler(args=["-R"])
    assert "old process not found, try to continue normally" in p.log
    assert p.raw().value("select 1") == "1"


def test_takeover_by_a_daemon(pooler):
    """-d -R: pid file changes hands, and the socket file stays"""
    p = pooler(start=False)
    pidfile = os.path.join(p.dir, "p.pid")
    p.settings["pidfile"] = pidfile
    p.start()
    a = p.raw()
    assert a.value("select 1") == "1"
    q = successor(pooler, p, logfile=os.path.join(p.dir, "q.log"))
    q.write()
    out = run([binary(), "-d", "-R", q.ini], cwd=q.dir)
    assert out.returncode == 0, out.stderr
    assert p.wait_exit() == 0
    wait_until(lambda: os.path.exists(pidfile) and
               open(pidfile).read().endswith("\n"))
    pid = int(open(pidfile).read())
    try:
        assert pid != p.proc.pid
        assert a.value("select 2") == "2"
        with p.raw(unix=True) as c:
            assert c.value("select 3") == "3"
    finally:
        os.kill(pid, signal.SIGQUIT)
        wait_until(lambda: harness.has_ended(pid))
    assert not os.path.exists(pidfile)


def test_takeover_leaves_tls_behind(pooler, pg, certs):
    """config-files.md 21: those sessions break, and lose nothing"""
    pg.sql("truncate sink", db="p0")
    p = pooler(**certs.accept("allow"))
    plain = p.raw()
    idle = p.open().start_tls(certs.client_context()).login("app", "apppw", "p0")
    busy = p.open().start_tls(certs.client_context()).login("app", "apppw", "p0")
    busy.query("begin")
    busy.query("insert into sink values (1, 'lost')")
    plain.query("begin")
    plain.query("insert into sink values (2, 'kept')")
    q = take_over(pooler, p)
    assert (" WARNING 2 clients can't be handed over (TLS, replication, login): "
            "their sessions will end\n" in p.log)
    for c in (idle, busy):
        assert c.recv_all().messages == []
    plain.query("commit")
    wait_until(lambda: not pg.backends(where="state like 'idle in%%'"))
    assert pg.sql("select val from sink", db="p0") == [("kept",)]
    with q.open().start_tls(certs.client_context()) as c:
        assert c.login("app", "apppw", "p0").value("select 1") == "1"


TAKEOVERS = 50 if BIG else 10


@pytest.mark.parametrize("mode", ["simple", "extended", "prepared"])
def test_takeover_under_load(pooler, pg, mode):
    """no transaction fails, in any mode of the protocol"""
    pg.make_bench()
    p = pooler(dbs={"bench": ""}, default_pool_size=4,
               max_prepared_statements=50)
    done = 0
    while done < TAKEOVERS:
        # a thread each: pgbench's PQprepare() blocks the others
        load = Load(p, "-M", mode, "-j", "12", clients=12, seconds=3)
        load.start()
        wait_until(lambda: len(p.show("clients", user="app")) == 12
                   or not load.is_alive())
        while load.is_alive() and done < TAKEOVERS:
            q = successor(pooler, p)
            q.start()
            assert p.wait_exit() == 0
            p = q
            wait_until(lambda: p.stats("bench").get(
                "total_xact_count", 0) > 50 or not load.is_alive())
            done += load.is_alive()
        load.check()
