# test_console_drivers.py - the admin console as real drivers and tools see it.
# SPDX-License-Identifier: ISC
"""What is not installed is skipped, and the reason says what to install."""
import glob
import os
import shutil
import subprocess

import psycopg
import pytest

from harness import REFERENCE, pg_bin, process_env

pytestmark = pytest.mark.skipif(REFERENCE, reason="not meant for that")
HERE = os.path.dirname(os.path.abspath(__file__))


def need(what, package):
    """A module or program, or the test is skipped."""
    if os.path.isabs(what) or "/" in what:
        found = glob.glob(what)
        if found:
            return sorted(found)[-1]
    elif what.startswith("import "):
        return pytest.importorskip(what[7:], reason="no " + package)
    elif shutil.which(what):
        return shutil.which(what)
    pytest.skip("not installed: " + package)


@pytest.fixture
def p(pooler):
    # JDBC's; otherwise nothing is arranged for anybody
    p = pooler(ignore_startup_parameters="extra_float_digits")
    p.raw().query("select 1")
    return p


def good(args, **env):
    """The program ends with "good"."""
    out = subprocess.run(args, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True, timeout=200,
                         env=dict(process_env(), **env), cwd=HERE)
    assert out.returncode == 0 and out.stdout.strip().endswith("good"), \
        out.stdout


# --- Python ---------------------------------------------------------------

TOPICS = ["databases", "pools", "clients", "servers", "users", "stats",
          "stats_totals", "stats_averages", "totals", "lists", "config",
          "mem", "version", "state", "peers", "peer_pools", "sockets",
          "active_sockets"]


@pytest.mark.parametrize("autocommit", [True, False])
@pytest.mark.parametrize("binary", [True, False])
def test_psycopg_3(p, autocommit, binary):
    """both protocols: it prepares what it sees again"""
    with psycopg.connect(host="127.0.0.1", port=p.port, user="admin",
                         password="adminpw", dbname="pgbouncer",
                         autocommit=autocommit) as c:
        for _ in range(8):
            for t in TOPICS:
                cur = c.execute("show " + t, binary=binary)
                rows = cur.fetchall()
            cur = c.execute("select name, port from databases where "
                            "name = %s", ("p1",), binary=binary)
            rows = cur.fetchall()
            assert rows[0][0] == "p1" and isinstance(rows[0][1], int)
        with c.transaction():
            assert c.execute("show json lists").fetchone()[0][0]["list"] \
                == "databases"
        with c.pipeline():
            cur = [c.execute("show state") for _ in range(5)]
        assert [len(x.fetchall()) for x in cur] == [3] * 5
        with pytest.raises(psycopg.Error) as e:
            c.execute("nonsense")
        assert e.value.sqlstate == "08P01"
        c.rollback()
        assert c.execute("show version").fetchone()[0].startswith("PgB")


def test_psycopg_2(p):
    psycopg2 = need("import psycopg2", "python3-psycopg2")
    c = psycopg2.connect(host="127.0.0.1", port=p.port, user="admin",
                         password="adminpw", dbname="pgbouncer")
    cur = c.cursor()
    for _ in range(3):
        for t in TOPICS:
            cur.execute("show " + t)
            cur.fetchall()
        cur.execute("show databases where name = %s", ("p1",))
        assert cur.fetchone()[0] == "p1"
        c.commit()
    with pytest.raises(psycopg2.Error):
        cur.execute("nonsense")
    c.rollback()
    c.autocommit = True
    cur.execute("show version")
    c.close()


def test_sqlalchemy(p):
    sa = need("import sqlalchemy", "python3-sqlalchemy")
    need("import psycopg2", "python3-psycopg2")
    e = sa.create_engine("postgresql+psycopg2://admin:adminpw@127.0.0.1:%d/"
                         "pgbouncer" % p.port, pool_pre_ping=True)
    for _ in range(3):
        with e.connect() as c:
            rows = c.execute(sa.text("show databases")).fetchall()
            assert rows[0][0] == "p0"
            rows = c.execute(sa.text("select name from databases where "
                                     "name = :n"), {"n": "p1"}).fetchall()
            assert rows == [("p1",)]
            with pytest.raises(sa.exc.DBAPIError):
                c.execute(sa.text("nonsense"))
    e.dispose()


def test_pg8000(p):
    pg8000 = need("import pg8000", "python3-pg8000")
    c = pg8000.connect(host="127.0.0.1", port=p.port, user="admin",
                       password="adminpw", database="pgbouncer")
    cur = c.cursor()
    for _ in range(3):
        cur.execute("show pools")
        assert isinstance(cur.fetchall()[0][2], int)
        cur.execute("select name from databases where name = %s", ("p0",))
        assert list(map(list, cur.fetchall())) == [["p0"]]
        c.commit()
    c.close()


def test_asyncpg(p):
    """binary only, and its own reset"""
    asyncpg = need("import asyncpg", "python3-asyncpg")
    import asyncio

    async def work():
        pool = await asyncpg.create_pool(
            host="127.0.0.1", port=p.port, user="admin",
            password="adminpw", database="pgbouncer", min_size=1,
            max_size=2)
        for _ in range(5):
            async with pool.acquire() as c:
                rows = await c.fetch("show databases")
                assert rows[0]["name"] == "p0"
                assert isinstance(rows[0]["port"], int)
                rows = await c.fetch("show stats_totals")
                assert rows[0]["xact_count"] >= 0
                assert await c.fetchval(
                    "select name from databases where name = $1 limit $2",
                    "p1", 3) == "p1"
                with pytest.raises(asyncpg.PostgresError):
                    await c.execute("nonsense")
                async with c.transaction():
                    n = 0
                    async for _row in c.cursor("show config", prefetch=9):
                        n += 1
                    assert n > 80
        await pool.close()
    asyncio.run(asyncio.wait_for(work(), 60))


# --- others ---------------------------------------------------------------

def test_jdbc(p):
    java = need("javac", "default-jdk-headless") and need("java", "java")
    jar = need("/usr/share/java/postgresql.jar", "libpostgresql-jdbc-java")
    good([java, "-Xshare:auto", "-XX:TieredStopAtLevel=1", "-cp", jar,
          os.path.join(HERE, "Console.java"), str(p.port)])


def test_pgx(p, tmp_path):
    go = need("/usr/lib/go-*/bin/go", "golang-go")
    need("/usr/share/gocode/src/github.com/jackc/pgx/v4",
         "golang-github-jackc-pgx-v4-dev")
    env = {"GO111MODULE": "off", "GOPATH": "/usr/share/gocode",
           "GOCACHE": str(tmp_path), "GOFLAGS": "", "HOME": str(tmp_path)}
    exe = str(tmp_path / "console")
    subprocess.run([go, "build", "-o", exe, "console.go"], check=True,
                   cwd=HERE, env=dict(os.environ, **env), timeout=200)
    good([exe, str(p.port)])


def test_node_postgres(p):
    node = need("node", "nodejs")
    path = os.environ.get("NODE_PATH", "/usr/share/nodejs")
    if not os.path.exists(os.path.join(path, "pg")):
        pytest.skip("not installed: node-pg")
    good([node, "console.js", str(p.port)], NODE_PATH=path)


def test_dbd_pg(p):
    need("/usr/lib/*/perl5/*/DBD/Pg.pm", "libdbd-pg-perl")
    good(["perl", "console.pl", str(p.port)])


def psql(p, script, *args):
    exe = shutil.which("psql") or pg_bin("psql")
    return subprocess.run(
        [exe, "-X", "-h", "127.0.0.1", "-p", str(p.port), "-U", "admin",
         *args, "pgbouncer"], input=script, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, timeout=60, cwd="/tmp",
        env=dict(process_env(), PGPASSWORD="adminpw"))


def test_psql(p):
    """\\watch, \\gdesc, \\d and the queries behind tab completion"""
    out = psql(p, "show databases \\gx\nshow version\\g\n\\conninfo\n\\d\n\\dt\n"
               "\\l\nbegin;\nshow state;\ncommit;\n"
               "SELECT pg_catalog.quote_ident(c.relname) FROM "
               "pg_catalog.pg_class c WHERE c.relkind IN ('r') LIMIT 1000;\n"
               "\\echo still here\n", "-v", "ON_ERROR_STOP=1")
    assert out.returncode == 0, out.stderr
    assert "still here" in out.stdout and "PgBouncer 1." in out.stdout


def test_check_postgres(p, tmp_path):
    """the actions that are for this console"""
    # it refuses a folder that others may write to
    env = {**process_env(), "TMPDIR": str(tmp_path)}
    exe = need("check_postgres", "check-postgres")
    for action, more in [
            ("pgb_pool_cl_active", ["-w", "50", "-c", "60"]),
            ("pgb_pool_cl_waiting", ["-w", "50", "-c", "60"]),
            ("pgb_pool_sv_active", ["-w", "50", "-c", "60"]),
            ("pgb_pool_sv_idle", ["-w", "50", "-c", "60"]),
            ("pgb_pool_sv_used", ["-w", "50", "-c", "60"]),
            ("pgb_pool_sv_tested", ["-w", "50", "-c", "60"]),
            ("pgb_pool_sv_login", ["-w", "50", "-c", "60"]),
            ("pgb_pool_maxwait", ["-w", "50", "-c", "60"]),
            ("pgbouncer_backends", ["-w", "80%", "-c", "90%"])]:
        out = subprocess.run(
            [exe, "--action=" + action, "--host=127.0.0.1",
             "--port=%d" % p.port, "--dbuser=admin", "--dbpass=adminpw"]
            + more, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, timeout=60, cwd="/tmp", env=env)
        assert out.returncode == 0, (action, out.stdout)
        assert " OK: " in out.stdout, out.stdout
