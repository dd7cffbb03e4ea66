# test_deallocate.py - DEALLOCATE of a name that only the pooler knows.
# SPDX-License-Identifier: ISC
"""PB#991 and others: the statement has another name on the servers. What the
client sees must be what PostgreSQL itself says.
"""
import psycopg
import pytest

import pq
from harness import REFERENCE

pytestmark = pytest.mark.skipif(REFERENCE, reason="passes it on")


@pytest.fixture
def p(pooler):
    return pooler(default_pool_size=1)


def prepare(c, *names):
    c.send(b"".join(pq.parse("select '%s'" % n, n) for n in names),
           pq.sync())
    c.recv_until().check()


def run(c, name):
    c.send(pq.bind(name), pq.execute(), pq.sync())
    return c.recv_until()


@pytest.mark.parametrize("sql", [
    "deallocate st", "DEALLOCATE PREPARE ST;", "deallocate\"st\"",
    "/* why */ deallocate -- so\n st ; ; -- end",
    "deallocate st /*%s*/" % ("x" * 900)])
def test_client_name_is_deallocated(p, sql):
    """folded, quoted, with comments"""
    # regressions: PB#991
    c = p.raw()
    prepare(c, "st")
    res = c.query(sql)
    assert (res.kinds, res.tags, res.status) == ("CZ", ["DEALLOCATE"], "I")
    prepare(c, "st")
    assert run(c, "st").rows == [["st"]]


def test_no_server_is_needed(p):
    """as for Close"""
    h, c = p.raw(), p.raw()
    prepare(c, "st", "all")
    h.query("begin")
    assert c.query('deallocate "all"').kinds == "CZ"
    assert c.query("deallocate st").kinds == "CZ"
    assert p.pool()["cl_waiting"] == 0
    h.query("commit")
    assert c.try_query("deallocate st").errors[0].code == "26000"


def test_case_counts_where_it_is_quoted(p):
    """names of the protocol are exact"""
    c = p.raw()
    prepare(c, "St", "st")
    c.query("deallocate St")
    assert run(c, "St").rows == [["St"]]
    assert c.query('deallocate "St"').kinds == "CZ"
    for sql in ('deallocate "St"', "deallocate st"):
        assert c.try_query(sql).errors[0].code == "26000"


def test_names_of_sql_are_the_servers(pooler):
    """PREPARE is not interpreted"""
    p = pooler(default_pool_size=1)
    c = p.raw()
    c.query("begin; prepare mine as select 1")
    assert c.query("deallocate mine").status == "T"
    c.query("rollback")


def test_inside_a_transaction(p):
    """the status is that of the server; a roll-back brings nothing back"""
    c = p.raw()
    prepare(c, "a", "b")
    c.query("begin")
    res = c.query("deallocate a")
    assert (res.kinds, res.tags, res.status) == ("CZ", ["DEALLOCATE"], "T")
    assert run(c, "b").rows == [["b"]]
    c.query("rollback")
    assert c.try_query("deallocate a").errors[0].code == "26000"
    assert run(c, "b").rows == [["b"]]


def test_inside_a_failed_transaction(p, pg):
    """25P02 as the server words it, and the name stays"""
    c = p.raw()
    prepare(c, "st")
    for _ in range(2):
        c.query("begin")
        c.try_query("select 1/0")
        res = c.try_query("deallocate st")
        assert (res.kinds, res.status) == ("EZ", "E")
        with pg.connect(dbname="p0") as d:
            d.execute("begin")
            for sql in ("select 1/0", "deallocate st"):
                with pytest.raises(psycopg.Error) as e:
                    d.execute(sql)
        assert res.errors[0].code == e.value.sqlstate == "25P02"
        assert res.errors[0].message == e.value.diag.message_primary
        c.query("rollback")
        assert run(c, "st").rows == [["st"]]
    assert c.query("deallocate st").tags == ["DEALLOCATE"]


def test_order_in_a_pipeline(p):
    """nothing overtakes it, nothing is overtaken"""
    c = p.raw()
    prepare(c, "a", "b")
    c.send(pq.query("select 1"), pq.query("deallocate a"),
           pq.query("select 2"), pq.bind("b"), pq.execute(), pq.sync(),
           pq.query("deallocate b"), pq.parse("select 'new'", "a"),
           pq.sync(), pq.query("deallocate nosuch"))
    kinds = [c.recv_until().kinds for _ in range(7)]
    assert kinds == ["TDCZ", "CZ", "TDCZ", "2DCZ", "CZ", "1Z", "EZ"]
    assert run(c, "a").rows == [["new"]]


def test_batch_without_sync_is_ended(p, pg):
    """a simple query commits what came before it in the batch"""
    pg.sql("truncate sink", db="p0")
    c = p.raw()
    prepare(c, "st")
    c.send(pq.parse("insert into sink values (1, 'x')"), pq.bind(),
           pq.execute(), pq.query("deallocate st"))
    assert c.recv_until().kinds == "12CCZ"
    assert pg.sql("select count(*) from sink", db="p0") == [(1,)]


def test_behind_a_parse_that_fails(p):
    """Message Flow: discarded up to Sync; the name was never there"""
    c = p.raw()
    prepare(c, "keep")
    c.send(pq.parse("selec", "st"), pq.query("deallocate keep"), pq.sync(),
           pq.query("deallocate st"))
    assert c.recv_until().kinds == "EZ"
    assert c.recv_until().errors[0].code == "26000"
    assert run(c, "keep").rows == [["keep"]]


def test_behind_an_open_parse(p):
    """neither synced nor flushed yet"""
    c = p.raw()
    c.send(pq.parse("select 1", "st"), pq.query("deallocate st"))
    assert c.recv_until().kinds == "1CZ"
    assert c.try_query("deallocate st").errors[0].code == "26000"


def test_several_statements_are_not_ours(p):
    """only a lone one is answered"""
    c = p.raw()
    prepare(c, "st")
    assert c.try_query("select 1; deallocate st").errors[0].code == "26000"
    assert run(c, "st").rows == [["st"]]


def test_in_pieces(p):
    """every split"""
    c = p.raw()
    data = pq.query("deallocate /* */ st")
    for i in range(1, len(data)):
        prepare(c, "st")
        c.send(data[:i])
        c.send(data[i:])
        assert c.recv_until().tags == ["DEALLOCATE"]


def test_cancelled(p):
    """a statement_timeout may hit it; then the name stays"""
    c = p.raw()
    prepare(c, "st")
    c.query("begin")
    c.send(pq.query("select pg_sleep(0.3); select 1/0"),
           pq.query("deallocate st"), pq.query("rollback"))
    assert [c.recv_until().kinds[-2:] for _ in range(3)] == ["EZ", "EZ", "CZ"]
    assert run(c, "st").rows == [["st"]]


def test_psycopg_deallocates(p):
    """what psycopg does when its cache is full"""
    with p.connect(prepare_threshold=0) as c:
        c.prepared_max = 2
        for _ in range(2):
            for i in range(6):
                assert c.execute("select %d" % i).fetchone() == (i,)


def extended(sql, sync=True):
    return (pq.parse(sql) + pq.bind() + pq.describe("P") + pq.execute()
            + (pq.sync() if sync else b""))


def test_extended_protocol(p):
    """as psycopg and others do"""
    c = p.raw()
    for _ in range(2):
        prepare(c, "a", "b")
        c.send(extended("DEALLOCATE a"), extended("deallocate nosuch"))
        assert c.recv_until().kinds == "12nCZ"
        res = c.recv_until()
        assert res.kinds == "12nEZ" and res.errors[0].code == "26000"
        assert run(c, "b").rows == [["b"]]
        c.send(extended('deallocate "b"', False), extended("select 1"))
        assert c.recv_until().kinds == "12nC12TDCZ"
    c.send(pq.bind("b"), pq.sync())
    assert c.recv_until().errors[-1].message == \
        'prepared statement "b" does not exist'


def test_extended_twice_fails_by_its_own_name(p):
    """the second time it is gone"""
    c = p.raw()
    c.send(pq.parse("select 1", "st"), pq.parse("deallocate st"), pq.bind(),
           pq.execute(), pq.bind(), pq.execute(), pq.sync())
    res = c.recv_until()
    assert res.kinds == "112C2EZ"
    assert res.errors[0].message == 'prepared statement "st" does not exist'
    c.send(pq.parse("select 2", "st"), pq.bind("st"), pq.execute(), pq.sync())
    assert c.recv_until().rows == [["2"]]


def test_extended_in_a_failed_transaction(p):
    """the name stays; nothing of ours is left on the server"""
    c = p.raw()
    prepare(c, "st")
    for _ in range(2):
        c.query("begin")
        c.try_query("select 1/0")
        c.send(extended("deallocate st"))
        assert c.recv_until().errors[0].code == "25P02"
        c.query("rollback")
        assert run(c, "st").rows == [["st"]]
    # parsed, but never executed
    c.send(pq.parse("deallocate st"), pq.sync())
    assert c.recv_until().kinds == "1Z"
    assert run(c, "st").rows == [["st"]]
    c.send(extended("deallocate st"))
    assert c.recv_until().kinds == "12nCZ"
    prepare(c, "st")


def test_session_mode_passes_it_on(pooler):
    """names are the server's there"""
    p = pooler(pool_mode="session")
    c = p.raw()
    prepare(c, "st")
    assert c.query("deallocate st").tags == ["DEALLOCATE"]
    assert c.try_query("deallocate st").errors[0].code == "26000"


def test_disallowed_query(pooler):
    """client-errors.md 5: PQexec disallowed"""
    p = pooler(disable_pqexec=1)
    c = p.open().login("app", database="p0")
    prepare(c, "st")
    c.send(pq.query("deallocate st"))
    assert c.recv_all().errors[-1].message == "PQexec disallowed"


def test_tag_of_another_request(p):
    """what a query before it deallocates is not the client's statement"""
    c = p.raw()
    prepare(c, "s3")
    c.send(pq.query("prepare q as select 1; deallocate q"),
           pq.parse("deallocate s3"), pq.sync())
    assert c.recv_until().tags == ["PREPARE", "DEALLOCATE"]
    assert c.recv_until().kinds == "1Z"
    assert run(c, "s3").rows == [["s3"]]


@pytest.mark.parametrize("portal", ["", "p"])
def test_tag_of_another_portal(p, portal):
    """only the portal of the rewritten statement takes the name away"""
    c = p.raw()
    prepare(c, "s3")
    c.query("begin; prepare q as select 1")
    c.send(pq.parse("deallocate q", "d"), pq.sync())
    assert c.recv_until().kinds == "1Z"
    c.send(pq.parse("deallocate s3"), pq.bind(portal=portal),
           pq.bind("d", portal=portal + "x"), pq.execute(portal + "x"),
           pq.sync())
    assert c.recv_until().tags == ["DEALLOCATE"]
    assert run(c, "s3").rows == [["s3"]]
    portal *= 2
    c.send(pq.parse("deallocate s3"), pq.bind(portal=portal),
           pq.execute(portal), pq.sync())
    assert c.recv_until().tags == ["DEALLOCATE"]
    c.query("commit")
    prepare(c, "s3")


def test_failed_portal_takes_nothing_away(p):
    """it is replaced by another before it runs"""
    c = p.raw()
    prepare(c, "s3")
    c.query("begin")
    c.send(pq.parse("select 1", "one"), pq.sync())
    c.recv_until().check()
    c.send(pq.parse("deallocate s3"), pq.bind(), pq.bind("one"),
           pq.execute(), pq.sync())
    assert c.recv_until().rows == [["1"]]
    assert run(c, "s3").rows == [["s3"]]
    c.send(pq.parse("deallocate s3"), pq.bind(), pq.parse("select 1 / 0"),
           pq.bind(), pq.execute(), pq.sync())
    c.recv_until()
    c.query("rollback")
    assert run(c, "s3").rows == [["s3"]]


@pytest.mark.parametrize("between", ["", "select 1", "begin"])
def test_unnamed_one_may_be_run_in_another_batch(p, between):
    """as by PQprepare() and PQexecPrepared() without a name"""
    c = p.raw()
    prepare(c, "s3")
    c.send(pq.parse("deallocate s3"), pq.sync())
    assert c.recv_until().kinds == "1Z"
    p.wait_pool(sv_active=0)
    with p.raw() as other:
        other.query("select 1")
    if between:
        c.send(pq.parse(between, "b"), pq.bind("b"), pq.execute(), pq.sync())
        c.recv_until().check()
    for _ in range(2):
        c.send(pq.bind(), pq.execute(), pq.sync())
        res = c.recv_until()
        if res.errors:
            break
        assert res.tags == ["DEALLOCATE"]
    assert [e.code for e in res.errors] == ["26000"]
    if between == "begin":
        c.query("rollback")
    c.send(pq.parse("select 5", "s3"), pq.sync())
    assert c.recv_until().kinds == "1Z"
    assert run(c, "s3").rows == [["5"]]


@pytest.mark.parametrize("sql", [
    'deallocate "PGBOUNCER_1"',
    "do $$ begin execute 'deallocate all'; end $$"])
@pytest.mark.parametrize("again", [False, True])
def test_what_another_client_took_away_is_prepared_again(pooler, sql, again):
    """its transaction fails, but the name is not gone"""
    p = pooler(default_pool_size=1, max_prepared_statements=20)
    a, b = p.raw(), p.raw()
    prepare(a, "s")
    b.query(sql)
    a.query("begin")
    a.send(pq.bind("s"), pq.execute(), pq.sync())
    assert [e.code for e in a.recv_until().errors] == ["26000"]
    a.query("rollback")
    if again:
        prepare(a, "s")
    for _ in range(2):
        assert run(a, "s").rows == [["s"]]


@pytest.mark.parametrize("between", [
    [pq.close("S", ""), pq.sync()],
    [pq.bind("nosuch"), pq.parse("deallocate s3"), pq.sync()],
    [pq.parse("select 1 / 0"), pq.bind(), pq.execute(), pq.sync()]])
def test_unnamed_one_that_is_gone_deallocates_nothing(p, between):
    """closed, skipped behind an error, or another one by now"""
    c = p.raw()
    prepare(c, "s3")
    if between[0] != pq.bind("nosuch"):
        c.send(pq.parse("deallocate s3"), pq.sync())
        c.recv_until().check()
    c.send(*between)
    c.recv_until()
    c.send(pq.bind(), pq.execute(), pq.sync())
    c.recv_until()
    assert run(c, "s3").rows == [["s3"]]


@pytest.mark.parametrize("batches", [1, 2, 4])
def test_a_name_that_is_prepared_before_it_is_run(p, pg, batches):
    """the statement was parsed before there was that name"""
    texts = [pq.parse("deallocate st"), pq.parse("select 'mine'", "st"),
             pq.bind() + pq.execute(), pq.bind("st") + pq.execute()]
    with pq.Conn(port=pg.port).login("app", database="p0") as own, \
            p.raw() as c, p.raw() as other:
        seen = []
        for conn in (own, c):
            seen.append([])
            for i in range(0, 4, 4 // batches):
                conn.send(*texts[i:i + 4 // batches], pq.sync())
                res = conn.recv_until()
                seen[-1].append((res.tags, [e.code for e in res.errors]))
                other.query("select 1")
        assert seen[0] == seen[1]
        # it is run again, with and without the name
        for conn in (own, c):
            seen.append([])
            for extra in (b"", pq.parse("select 2", "st"), b""):
                conn.send(extra, texts[2], pq.sync())
                res = conn.recv_until()
                seen[-1].append((res.tags, [e.code for e in res.errors]))
        assert seen[2] == seen[3]


EARLY = [b"", pq.bind("nosuch"), pq.bind("st") + pq.execute()]


@pytest.mark.parametrize("error", range(len(EARLY)))
@pytest.mark.parametrize("outside", [True, False])
def test_name_is_free_behind_its_stand_in(p, pg, error, outside):
    """the text was parsed before there was the name; then it runs, and fails or not"""
    with pq.Conn(port=pg.port).login("app", database="p0") as own, \
            p.raw() as c, p.raw() as other:
        seen = []
        for conn in (own, c):
            seen.append([])
            batches = [pq.parse("deallocate st"),
                       pq.parse("select 'mine'", "st"),
                       pq.bind() + pq.execute() + EARLY[error],
                       pq.parse("select 'anew'", "st"),
                       pq.bind("st") + pq.execute()]
            if not outside:
                conn.query("begin")
            for batch in batches:
                conn.send(batch, pq.sync())
                res = conn.recv_until()
                seen[-1].append((res.tags, res.rows, res.status,
                                 [(e.code, e.message) for e in res.errors]))
            if not outside:
                conn.query("rollback")
            # whoever is next has the name for itself, on the same server
            if conn is c:
                for _ in range(2):
                    prepare(other, "st")
                    assert run(other, "st").rows == [["st"]]
                    assert other.query("deallocate st").tags == ["DEALLOCATE"]
            seen[-1].append([run(conn, "st").rows, codes_of(conn, "st")])
        assert seen[0] == seen[1]


def codes_of(c, name):
    """The name is there or not: of its Parse, and of a DEALLOCATE behind that."""
    c.send(pq.parse("select 3", name), pq.sync())
    errors = [e.code for e in c.recv_until().errors]
    c.query("deallocate " + name)
    return errors


@pytest.mark.parametrize("error", [False, True])
def test_stand_in_is_gone_when_its_server_is_lent(p, error):
    """pooling.md 16: nothing of it is left to the next client"""
    c, other = p.raw(), p.raw()
    c.send(pq.parse("deallocate st"), pq.sync())
    c.recv_until().check()
    prepare(c, "st")
    c.send(pq.bind(), pq.execute() if not error else pq.bind("nosuch"),
           pq.execute(), pq.sync())
    c.recv_until()
    assert other.query("select name from pg_prepared_statements "
                       "where name = 'st'").rows == []
    if error:
        c.query("deallocate st")
    prepare(c, "st")
    assert run(c, "st").rows == [["st"]]
