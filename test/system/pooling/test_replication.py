# test_replication.py - replication connections, with PostgreSQL's own tools.
# SPDX-License-Identifier: ISC
import os
import signal
import subprocess

import pytest

import pq
from harness import (Postgres, REFERENCE, as_user, make_tmp, pg_bin,
                     process_env, run, wait_until)

pytestmark = pytest.mark.skipif(REFERENCE, reason="newer than that")

SEGMENT = 1024 * 1024


@pytest.fixture(scope="module")
def source():
    """A cluster that may be replicated from."""
    pg = Postgres(initdb=["--wal-segsize=1"], wal_level="logical",
                  max_wal_senders=10, max_replication_slots=10,
                  wal_sender_timeout="'60s'", full_page_writes="on")
    pg.sql("alter role app replication")
    yield pg
    pg.stop()


@pytest.fixture
def proxy(pooler, source):
    """A pooler before it; every database name leads there."""
    def make(**kw):
        kw.setdefault("default_pool_size", 4)
        return pooler({"*": "host=127.0.0.1 port=%d" % source.port}, **kw)
    return make


@pytest.fixture
def folder():
    path = make_tmp()
    yield path
    subprocess.run(["rm", "-rf", path], check=True)


def conninfo(p, **more):
    out = {"host": "127.0.0.1", "port": p.port, "user": "app"}
    out.update(more)
    return " ".join("%s=%s" % i for i in out.items())


def tool(name, p, *args):
    return run([pg_bin(name), "-d", conninfo(p)] + list(args), cwd="/tmp")


def gone(p, what="replication client was closed"):
    """No server is kept of those who have left."""
    p.wait_log("S-.*closing because: " + what)
    wait_until(lambda: all(r["replication"] == "none"
                           for r in p.show("servers")))


@pytest.mark.parametrize("mode", ["session", "transaction", "statement"])
def test_psql_speaks_to_the_walsender(proxy, source, mode):
    """pooling.md 17: logical; SQL and commands on one connection"""
    p = proxy(pool_mode=mode)
    out = run([pg_bin("psql"), "-XAt", conninfo(
        p, dbname="p0", replication="database"), "-c", "IDENTIFY_SYSTEM",
        "-c", "select current_database()", "-c", "begin",
        "-c", "select 7", "-c", "commit"], cwd="/tmp")
    assert out.returncode == 0, out.stderr
    lines = out.stdout.splitlines()
    assert lines[0].startswith(source.sql(
        "select system_identifier::text from pg_control_system()")[0][0])
    assert lines[0].endswith("|p0") and lines[1:] == [
        "p0", "BEGIN", "7", "COMMIT"]
    gone(p)


def test_options_and_parameters_reach_the_walsender(proxy):
    """pooling.md 17: verbatim, whatever they are"""
    p = proxy()
    c = p.raw(replication="database", TimeZone="Asia/Tokyo",
              options="-c work_mem=5MB -c geqo=off")
    assert c.value("show work_mem") == "5MB"
    assert c.value("show geqo") == "off"
    assert c.value("show timezone") == "Asia/Tokyo"
    assert p.raw().value("show work_mem") != "5MB"


def test_missing_privilege_fails_the_login(proxy):
    """client-errors.md 4: login failed"""
    p = proxy()
    with pytest.raises(pq.PgError) as e:
        p.raw("app2", replication="true")
    assert e.value.message == "login failed"
    p.wait_log("S: login failed: FATAL: (must be superuser or replication "
               "role|permission denied to start WAL sender)")
    p.wait_log("C-.*/app2@.* closing because: login failed")
    assert p.raw("app2").value("select 1") == "1"


def is_of_the_server(name):
    """The tools of an older release refuse newer servers."""
    return os.path.dirname(pg_bin(name)) == os.path.dirname(
        pg_bin("postgres"))


own_tools = pytest.mark.skipif(not is_of_the_server("pg_basebackup"),
                               reason="the release lacks its tools")


@own_tools
@pytest.mark.parametrize("method", ["none", "fetch", "stream"])
def test_basebackup(proxy, folder, method):
    """pooling.md 17: physical; stream needs a second connection"""
    p = proxy()
    out = tool("pg_basebackup", p, "-D", folder + "/copy", "-X", method,
               "-c", "fast")
    assert out.returncode == 0, out.stderr
    assert os.path.exists(folder + "/copy/backup_label")
    out = run([pg_bin("pg_verifybackup"), folder + "/copy"] + (
        ["-n"] if method == "none" else []), cwd="/tmp")
    assert out.returncode == 0, out.stderr
    assert "replication=yes" in p.log
    gone(p)


@own_tools
def test_receivewal(proxy, source, folder):
    """CopyBoth, until the receiver has enough"""
    p = proxy()
    proc = subprocess.Popen(
        [pg_bin("pg_receivewal"), "-d", conninfo(p), "-D", folder, "-n",
         "--synchronous"], stderr=subprocess.PIPE, text=True, cwd="/tmp",
        env=process_env(), **as_user())
    try:
        # it begins where the log ends when it asks
        wait_until(lambda: source.sql(
            "select 1 from pg_stat_replication where state = 'streaming' "
            "and application_name = 'pg_receivewal'"))
        assert p.show("servers", replication="physical", state="active")
        for _ in range(3):
            source.sql("create table if not exists w (t text)",
                       "insert into w select repeat('x', 900) from "
                       "generate_series(1, 500)", "select pg_switch_wal()")

        def segments():
            return [f for f in os.listdir(folder)
                    if not f.endswith(".partial")]
        wait_until(lambda: len(segments()) >= 3, what="three segments")
        assert {os.path.getsize(os.path.join(folder, f))
                for f in segments()} == {SEGMENT}
    finally:
        proc.send_signal(signal.SIGINT)
        err = proc.communicate(timeout=60)[1]
    assert proc.returncode == 0, err
    gone(p)
    for f in segments():
        with open(os.path.join(folder, f), "rb") as got, open(
                os.path.join(source.data, "pg_wal", f), "rb") as sent:
            assert got.read() == sent.read()


@pytest.fixture
def subscriber():
    pg = Postgres()
    yield pg
    pg.stop()


def test_logical_subscription(proxy, source, subscriber):
    """initial copy, then changes as they are made"""
    p = proxy()
    sql = ["create table topic (id int primary key, t text)"]
    source.sql(*sql, "insert into topic select g, 'old ' || g from "
               "generate_series(1, 100) g",
               "grant all on topic to app",
               "create publication pub for table topic", db="p0")
    subscriber.sql(*sql, db="p0")

    def same():
        q = "select count(*), md5(string_agg(t, ',' order by id)) from topic"
        return source.sql(q, db="p0") == subscriber.sql(q, db="p0")
    with subscriber.connect(dbname="p0") as c:
        c.execute("create subscription sub connection '%s' publication pub"
                  % conninfo(p, dbname="p0"))
    wait_until(same, what="the initial copy")
    assert p.show("clients", database="p0", replication="logical")
    source.sql("insert into topic select g, repeat('new', 3000) from "
               "generate_series(101, 2000) g",
               "update topic set t = 'changed' where id = 7",
               "delete from topic where id < 5", db="p0")
    wait_until(same, what="the changes")
    # who copied the table leaves after that
    wait_until(lambda: [r["state"] for r in p.show(
        "servers", replication="logical")] == ["active"], what="one to be left")
    with subscriber.connect(dbname="p0") as c:
        c.execute("drop subscription sub")
    gone(p)
    wait_until(lambda: not p.show("servers", replication="logical"))
    assert "disconnected with quer" not in p.log
