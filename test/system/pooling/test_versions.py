# test_versions.py - what differs between the releases of PostgreSQL.
# SPDX-License-Identifier: ISC
"""Runs with every release that PGBIN may name, as the rest of the core set."""
import os
import shutil
import struct
import subprocess
import sys

import pytest

import pq
from harness import (Postgres, REFERENCE, as_user, give, pg_bin, process_env,
                     server_major, wait_until)

pytestmark = pytest.mark.skipif(REFERENCE, reason="newer than that")
since_18 = pytest.mark.skipif(server_major() < 18, reason="PostgreSQL 18")

SLEEP = "select pg_sleep(600)"


def spoken():
    return pq.V3_2 if server_major() >= 18 else pq.V3_0


def direct(pg, **kw):
    """A raw connection to the server itself."""
    return pq.Conn(port=pg.port).login("app", database="p0", **kw)


def test_the_server_is_the_one_asked_for(pooler):
    """the matrix itself: else it would prove nothing"""
    want = os.path.basename(os.path.dirname(os.environ.get("PGBIN", "")))
    shown = pooler().raw().value("show server_version")
    assert shown.split(".")[0] == str(server_major())
    assert not want.isdigit() or shown.startswith(want + ".")


@pytest.mark.parametrize("mode", ["session", "transaction", "statement"])
def test_every_parameter_that_the_server_reports_is_told(pooler, pg, mode):
    """pooling.md 3: welcome; 14, 16 and 18 report more than those before"""
    want = direct(pg).params
    p = pooler(pool_mode=mode)
    for _ in range(2):		# the server is new, then it is known
        assert p.raw().params == want
    assert ("search_path" in want) == (server_major() >= 18)


@since_18
def test_search_path_follows_its_client(pooler):
    """pooling.md 21: 18 reports it"""
    p = pooler(default_pool_size=1)
    a, b = p.raw(), p.raw()
    a.query("set search_path = pg_catalog, \"odd \"\"name\", public")
    b.query("set search_path to ''")
    plain = p.raw()
    for _ in range(2):
        assert a.value("show search_path") == \
            'pg_catalog, "odd ""name", public'
        assert b.value("show search_path") == '""'
        assert plain.value("show search_path") == '"$user", public'
    c = p.raw(search_path="p1, public")
    assert c.value("show search_path") == "p1, public"


PATH = "show search_path"
SCHEMAS = "select current_schemas(false)::text"


@pytest.mark.parametrize("how", ["by name", "in options"])
def test_search_path_of_the_start_up_packet_is_nobody_elses(pooler, how):
    """pooling.md 21: reported (since 18) or not, neither lost nor leaked"""
    p = pooler(default_pool_size=1)
    plain = p.raw()
    mine = p.raw(search_path="pg_catalog, public") if how == "by name" else \
        p.raw(options="-c search_path=pg_catalog,\\ public")
    other = p.raw(search_path="information_schema")
    for _ in range(2):
        assert mine.value(PATH) == "pg_catalog, public"
        assert plain.value(PATH) == '"$user", public'
        assert other.value(PATH) == "information_schema"
    assert len(p.servers()) == 1


@pytest.mark.parametrize("change", [
    "set search_path = pg_temp", "begin; set local search_path = x; commit",
    "reset search_path", "reset all", "discard all", "set work_mem = '1MB'"])
def test_search_path_that_may_have_changed_is_set_again(pooler, change):
    """pooling.md 21: each client goes on with what it came with, or has set
    where the server reports it"""
    p = pooler(default_pool_size=1)
    plain, mine = p.raw(), p.raw(search_path="pg_catalog, public")
    changing = p.raw(search_path="information_schema")
    sets = change.startswith("set search") and server_major() >= 18
    for _ in range(2):
        assert changing.value(PATH) == ("pg_temp" if sets and _ else
                                        "information_schema")
        for command in change.split("; "):
            changing.query(command)
        assert plain.value(PATH) == '"$user", public'
        assert mine.value(PATH) == "pg_catalog, public"
        assert changing.value(PATH) == ("pg_temp" if sets else
                                        "information_schema")


@pytest.mark.parametrize("mode", ["transaction", "session"])
@pytest.mark.parametrize("commands", [
    ["begin", "set search_path to pg_temp", "savepoint s",
     "reset search_path", "select 1", "rollback to s", "commit"],
    ["begin; set search_path to pg_temp; commit; begin; reset search_path",
     "select 1", "rollback"]])
def test_search_path_that_a_rollback_brings_back_is_nobody_elses(
        pooler, mode, commands):
    """pooling.md 21: what we had set in the transaction is undone, too"""
    p = pooler(default_pool_size=1, pool_mode=mode, server_reset_query="")
    mine = p.raw(search_path="pg_catalog")
    for command in commands:
        mine.query(command)
    if mode == "session":
        mine.close()
    assert p.raw(search_path="pg_catalog").value(PATH) == "pg_catalog"


@pytest.mark.parametrize("mode", ["transaction", "session"])
def test_search_path_of_connect_query_is_for_who_asks_for_none(pooler, mode):
    """pooling.md 21: reported or not, no RESET or DISCARD ALL takes it"""
    p = pooler({"p0": "connect_query='set search_path = pg_catalog'"},
               default_pool_size=1, pool_mode=mode)
    for end in ("reset search_path", "reset all", "discard all", "select 1"):
        mine = p.raw(search_path="information_schema")
        assert mine.value(PATH) == "information_schema"
        mine.query(end)
        mine.close()
        plain = p.raw()
        assert plain.value(PATH) == "pg_catalog"
        plain.close()
    assert len(p.servers()) == 1


def test_scram_iterations_is_given_to_who_has_it(pooler):
    """pooling.md 21: servers before 16 do not know it, nor does it harm them"""
    p = pooler(default_pool_size=1)
    mine, other = p.raw(scram_iterations="5000"), p.raw()
    known = server_major() >= 16
    for _ in range(2):
        for c, want in (mine, "5000"), (other, "4096"):
            shown = c.query("select current_setting('scram_iterations', true)")
            assert shown.rows == [[want if known else None]]
    assert p.log.count("new connection to server") == 1


@pytest.fixture
def older(pg, monkeypatch):
    """another server, of Debian's release: the socket has the port of pg"""
    with monkeypatch.context() as m:
        m.delenv("PGBIN", raising=False)
        server = Postgres(port=pg.port, listen_addresses="''")
    yield server
    server.stop()


@since_18
@pytest.mark.parametrize("hosts", ["127.0.0.1,%s", "%s,127.0.0.1"])
def test_servers_of_two_releases_in_one_pool(pooler, pg, older, hosts):
    """pooling.md 21: whoever was the first, only one reports search_path"""
    p = pooler({"p0": "host=%s port=%d" % (hosts % older.dir, pg.port)},
               default_pool_size=2)
    clients = [(p.raw(**asked), want) for asked, want in (
        ({}, '"$user", public'), ({"search_path": "pg_catalog, public"},
                                  "pg_catalog, public"),
        ({"search_path": "public", "scram_iterations": "5000"}, "public"),
        ({}, '"$user", public'))]
    holders = [p.raw(), p.raw()]
    for c in holders:
        c.query("begin")
    release = "show server_version_num"
    of = {c.value(release): c for c in holders}
    assert len(of) == 2
    for _ in range(2):
        for name, holder in of.items():
            holder.query("commit")		# the other is taken
            for c, want in clients:
                assert (c.value(release), c.value(PATH)) == (name, want)
            holder.query("begin")
    new, setter = of[max(of)], clients[3][0]
    new.query("commit")
    setter.query("set search_path = pg_temp")
    assert clients[0][0].value(PATH) == '"$user", public'
    new.query("begin")
    of[min(of)].query("commit")
    assert setter.value(PATH) == "pg_temp"
    assert clients[0][0].value(PATH) == '"$user", public'


@pytest.mark.parametrize("mode", ["forget", "clean", "keep", "session"])
@pytest.mark.parametrize("path", [
    "public", "public, app_2", "public,app", " ", "'a'", "a\\b, a", "x" * 70,
    "user, public", '"user", public', "pg_catalog,  public", '"a ""b", _c',
    '"public"', "PG_CATALOG,public", " pg_catalog , public",
    "tenant-1, public", "1a,public", "default, public", "user,public",
    '"$user", public', "$user,public", "a.b,public,'", '""', "", "Public",
    '"PUBLIC", public', "$$,public", "a;b,public", "é, public"])
def test_search_path_is_read_and_printed_as_by_postgresql(pooler, pg, path, mode):
    """pooling.md 21: also what is no identifier of SQL, or a word of it"""
    p = pooler(default_pool_size=1, **({"pool_mode": "session"} if
               mode == "session" else {"session_state": mode}))
    with direct(pg, search_path=path) as c:
        right = [c.value(q) for q in (SCHEMAS, PATH)]
    with p.raw() as c:
        c.query("select 1")
    with p.raw(search_path=path) as c:
        assert [c.value(q) for q in (SCHEMAS, PATH)] == right
        c.query("reset search_path")
        assert [c.value(q) for q in (SCHEMAS, PATH)] == right


@pytest.mark.parametrize("mode", ["forget", "session"])
def test_search_path_given_back_in_a_transaction_leaves_its_level_free(
        pooler, mode):
    """pooling.md 21: SETs in a transaction are no query that has a snapshot"""
    p = pooler(default_pool_size=1, **({"pool_mode": "session"} if
               mode == "session" else {}))
    with p.raw(search_path="pg_catalog,public") as c:
        c.query("begin")
        c.query("reset search_path")
        c.query("set transaction isolation level serializable")
        assert c.value(SCHEMAS) == "{pg_catalog,public}"
        assert c.value("show transaction_isolation") == "serializable"
        c.query("commit")


@pytest.mark.parametrize("version", [pq.V3_0, pq.V3_2])
def test_cancel_between_any_two_protocols(pooler, pg, version):
    """a 3.0 client on a 3.2 server and the reverse: each has its own key"""
    # regressions: family 3: cancel in every state
    assert len(direct(pg, version=pq.V3_2).key) == (
        4 + 32 if spoken() == pq.V3_2 else 8)
    p = pooler(default_pool_size=1)
    c = p.open().login("app", "apppw", "p0", version=version)
    assert len(c.key) == (32 if version == pq.V3_2 else 8)
    for _ in range(2):
        c.send(pq.query(SLEEP))
        wait_until(lambda: pg.backends(where="query = '%s'" % SLEEP
                                       + " and state = 'active'"))
        pq.send_cancel(p.port, c.key)
        assert c.recv_until().errors[0].code == "57014"
    assert c.value("select 1") == "1"


def test_servers_are_asked_for_3_2_and_logged_in_once(pooler, pg):
    """PostgreSQL docs, Message Flow, Start-up: those before 18 negotiate"""
    p = pooler(default_pool_size=3)
    clients = [p.raw() for _ in range(3)]
    for c in clients:
        c.query("begin")
    # those of a pooler that has just ended are on their way out
    wait_until(lambda: len(pg.backends(where="usename = 'app'")) == 3)
    assert len(p.servers()) == 3
    assert "server login failed" not in p.log


@pytest.mark.parametrize("minor", [1, 2, 3, 9999])
def test_negotiation_is_as_the_newest_servers(pooler, pg, minor):
    """3.9999 and unknown _pq_ options: as PostgreSQL 18 answers them"""
    # regressions: PgP 7bcb55898
    p = pooler()
    extra = {"_pq_.grease": "1", "_pq_.other": ""}

    def told(c):
        c.login("app", "apppw", "p0", version=pq.V3_0 + minor, **extra)
        assert c.query("select 7").rows == [["7"]]
        return [b for k, b in c.login_messages if k == "v"]
    mine, = told(p.open())
    # 3.1 was never spoken; we lead it down, 18 pretends
    if server_major() >= 18 and minor != 1:
        assert [mine] == told(pq.Conn(port=pg.port))
    assert mine[4:] == struct.pack("!i", 2) + b"_pq_.grease\0_pq_.other\0"


@pytest.mark.parametrize("last", [pq.query("select 2"),
                                  pq.function_call(1251, ["-5"])])
def test_half_ended_transaction_is_nobody_elses(pooler, last):
    """18 fails the next command after a Query in a batch without Sync"""
    p = pooler(default_pool_size=1)
    a, b = p.raw(), p.raw(TimeZone="Asia/Tokyo")
    for _ in range(2):
        a.send(pq.parse("select 1"), pq.bind(), pq.execute(), last,
               pq.sync())
        assert a.recv_until().errors == []
        assert a.recv_until().status == "I"
        assert b.value("show timezone") == "Asia/Tokyo"


LIBPQ = """
import psycopg, threading
assert psycopg.pq.version() // 10000 == %(major)d, psycopg.pq.version()
for version in %(versions)r:
    with psycopg.connect(
            "host=127.0.0.1 port=%(port)d user=app dbname=p0 "
            "password=apppw" + version, autocommit=True) as c:
        for i in range(20):
            assert c.execute("select %%s::int", (i,),
                             prepare=True).fetchone() == (i,)
        with c.pipeline():
            curs = [c.execute("select %%s::text", (str(i),))
                    for i in range(10)]
        assert [x.fetchone()[0] for x in curs] == list("0123456789")
        with c.cursor().copy("copy (select generate_series(1, 9)) "
                             "to stdout") as copy:
            assert [r for r in copy.rows()] == [
                (str(i),) for i in range(1, 10)]
        stop = threading.Event()

        def cancel():
            while not stop.wait(0.05):
                c.cancel()
        t = threading.Thread(target=cancel)
        t.start()
        try:
            c.execute("select pg_sleep(600)")
            raise SystemExit("not cancelled")
        except psycopg.errors.QueryCanceled:
            pass
        finally:
            stop.set()
            t.join()
print("well")
"""


def test_libpq_of_this_release(pooler):
    """its libpq under psycopg: statements, pipelines, COPY, cancel"""
    lib = os.path.join(os.path.dirname(os.path.dirname(pg_bin("postgres"))),
                       "lib")
    if not os.path.exists(os.path.join(lib, "libpq.so.5")):
        pytest.skip("no libpq beside this server")
    p = pooler(auth_type="scram-sha-256", default_pool_size=2)
    major = server_major()
    versions = [""] if major < 18 else [
        "", " min_protocol_version=3.2 max_protocol_version=latest",
        " max_protocol_version=3.0"]
    code = LIBPQ % {"major": major, "port": p.port, "versions": versions}
    out = subprocess.run(
        [sys.executable, "-c", code], timeout=60, cwd="/tmp", text=True,
        env=dict(process_env(), LD_LIBRARY_PATH=lib), stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, **as_user())
    assert out.stdout == "well\n"


@pytest.fixture
def primary():
    pg = Postgres(wal_level="replica", max_wal_senders=5,
                  full_page_writes="on")
    pg.sql("alter role app replication")
    yield pg
    pg.stop()


def base_copy(primary, to):
    """What pg_basebackup makes, without it: it must be of the release."""
    with primary.connect() as c:
        c.execute("select pg_backup_start('copy', true)")
        shutil.copytree(primary.data, to, ignore=shutil.ignore_patterns(
            "postmaster.*"))
        label = c.execute("select labelfile from pg_backup_stop(false)"
                          ).fetchone()[0]
    for name, text in (("backup_label", label), ("standby.signal", "")):
        with open(os.path.join(to, name), "w") as f:
            f.write(text)
    for top, _, files in os.walk(to):
        give(top)
        for name in files:
            give(os.path.join(top, name))
    os.chmod(to, 0o700)


def test_standby_streams_through_the_pooler(pooler, primary):
    """pooling.md 17: the server's own walreceiver, physical"""
    p = pooler({"*": "host=127.0.0.1 port=%d" % primary.port})
    standby = Postgres(
        copy=lambda to: base_copy(primary, to), primary_conninfo="'host="
        "127.0.0.1 port=%d user=app password=apppw'" % p.port)
    try:
        primary.sql("insert into sink select g, 'x' from "
                    "generate_series(1, 5000) g", db="p0")
        wait_until(lambda: standby.sql("select count(*) from sink", db="p0")
                   == [(5000,)], what="the standby")
        assert [r["state"] for r in p.show("servers",
                                           replication="physical")] \
            == ["active"]
    finally:
        standby.stop()
