# test_vacate.py - DROP DATABASE and its like, while the pooler keeps servers.
# SPDX-License-Identifier: ISC
"""pooling.md 28: what a test runner of Django or Rails does. To it nobody is
connected any more, so PostgreSQL is to say the same."""
import psycopg
import pytest

import pq
from harness import REFERENCE

pytestmark = pytest.mark.skipif(REFERENCE, reason="not so there")


@pytest.fixture
def owner(pg):
    """A role that may create databases, and those that it has made go."""
    pg.sql("create role maker login createdb")
    yield "maker"
    for name, in pg.sql("select datname from pg_database join pg_roles r on "
                        "datdba = r.oid where rolname = 'maker'"):
        pg.sql('drop database "%s" with (force)' % name)
    pg.sql("drop role maker")


def site(pooler, pg, **settings):
    conn = "host=127.0.0.1 port=%d" % pg.port
    return pooler({"p0": conn, "postgres": conn, "*": conn},
                  userlist={"maker": "", "app": "", "admin": "adminpw"},
                  **settings)


def use(p, database, n=2, user="maker"):
    """So many idle servers."""
    clients = [p.raw(user, database) for _ in range(n)]
    for c in clients:
        c.send(pq.query("select pg_sleep(0.05)"))
    for c in clients:
        c.recv_until()
        c.close()


def names(pg):
    """The databases of that role. Other tests have databases there, too."""
    return {r[0] for r in pg.sql(
        "select datname from pg_database join pg_roles r on datdba = r.oid "
        "where rolname = 'maker'")}


STATEMENTS = {
    "drop": ('drop database "my Shop"', {"other"}),
    "if exists": ('/* x */ DROP DATABASE IF EXISTS "my Shop"', {"other"}),
    "force": ('drop database "my Shop" with (force)', {"other"}),
    "rename": ('alter database "my Shop" rename to market2', {"market2", "other"}),
    "copy": ('create database market2 template "my Shop"',
             {"my Shop", "market2", "other"}),
}


@pytest.mark.parametrize("settings", [
    {"pool_mode": "session"}, {"pool_mode": "transaction"},
    {"pool_mode": "statement"}, {"session_state": "keep"}, {"workers": 3},
    {"min_pool_size": 2}], ids=str)
@pytest.mark.parametrize("what", STATEMENTS)
def test_idle_servers_are_nobody(pooler, pg, owner, settings, what):
    """a runner that makes a database, works there, and is done with it"""
    sql, left = STATEMENTS[what]
    p = site(pooler, pg, **settings)
    with p.connect("postgres", owner) as c:
        c.execute('create database "my Shop"')
        c.execute("create database other")
        use(p, "my Shop")
        use(p, "other")
        c.execute(sql)
    assert names(pg) == left
    # of other databases nothing was closed
    if settings.get("pool_mode") != "session":
        assert len(p.servers("other")) == 2


@pytest.mark.parametrize("how", ["simple", "extended", "named", "two trips"])
def test_any_way_to_send_it(pooler, pg, owner, how):
    p = site(pooler, pg, session_state="keep")
    c = p.raw(owner, "postgres")
    c.query("create database market")
    use(p, "market")
    sql = "drop database market"
    run = [pq.execute(), pq.sync()]
    for parts in {
            "simple": [[pq.query(sql)]],
            "extended": [[pq.parse(sql), pq.bind(), *run]],
            "named": [[pq.parse(sql, "sqlx_s_1"), pq.bind("sqlx_s_1"), *run]],
            "two trips": [[pq.parse(sql), pq.describe("S", ""), pq.sync()],
                          [pq.bind(), *run]]}[how]:
        c.send(*parts)
        assert c.recv_until().errors == []
    assert "market" not in names(pg)


@pytest.mark.parametrize("settings", [
    {"pool_mode": "session"}, {"max_prepared_statements": 0},
    {"session_state": "clean"}], ids=str)
def test_pieces_of_its_text_are_of_no_matter(pooler, pg, owner, settings):
    """whichever byte comes last"""
    p = site(pooler, pg, **settings)
    c = p.raw(owner, "postgres")
    for cut in (6, 7, 12, 30):
        for how in ("simple", "extended"):
            # of a name that was dropped, a login may be known to fail
            name = "%s%d" % (how, cut)
            sql = "drop database " + name
            data = pq.query(sql) if how == "simple" else \
                pq.parse(sql) + pq.bind() + pq.execute() + pq.sync()
            c.query("create database " + name)
            use(p, name)
            c.send(data[:cut])
            # what came is looked at: the others of its turn are served
            assert p.raw(owner, "postgres").value("select 1") == "1"
            c.send(data[cut:])
            assert c.recv_until().errors == []
            assert name not in names(pg)


def test_client_that_is_there_keeps_its_database(pooler, pg, owner):
    """as without a pooler: in a transaction, it uses the database"""
    p = site(pooler, pg)
    c = p.raw(owner, "postgres")
    c.query("create database market")
    use(p, "market")
    a = p.raw(owner, "market")
    a.query("begin; select 1")
    assert [e.code for e in c.try_query("drop database market").errors] == [
        "55006"]
    a.query("commit")
    assert p.log.count("closing because: a client wants the database for "
                       "itself") == 1


@pytest.mark.parametrize("sql", [
    "drop database market", "alter database market rename to market2"])
def test_who_may_not_closes_nothing(pooler, pg, owner, sql):
    """PostgreSQL refuses before the time of the pooler has come; what the
    client runs behind it is another matter"""
    p = site(pooler, pg)
    with p.connect("postgres", owner) as c:
        c.execute("create database market")
    use(p, "market")
    a = p.raw("app", "postgres")
    for _ in range(3):
        a.send(pq.query(sql), pq.query("select pg_sleep(0.4)"))
        assert [e.code for e in a.recv_until().errors] == ["42501"]
        assert a.recv_until().errors == []
    assert len(p.servers("market")) == 2


def test_databases_of_another_host_are_left(pooler, pg, owner):
    """the same name at another port"""
    conn = "host=127.0.0.1 port=%d dbname=%s"
    p = pooler({"postgres": conn % (pg.port, "postgres"),
                "market": conn % (pg.port, "market"),
                "far": "host=%s port=%d dbname=market" % (pg.dir, pg.port)},
               userlist={"maker": "", "admin": "adminpw"})
    with p.connect("postgres", owner) as c:
        c.execute("create database market")
        use(p, "market", 1)
        c.execute("drop database market")
        assert "market" not in names(pg)
        c.execute("create database market")
        use(p, "far", 1)
        with pytest.raises(psycopg.errors.ObjectInUse):
            c.execute("drop database market")
    assert len(p.servers("far")) == 1
