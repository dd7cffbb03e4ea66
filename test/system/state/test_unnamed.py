# test_unnamed.py - texts prepared without a name, again and again.
# SPDX-License-Identifier: ISC
"""cache_unnamed_statements: what a client of the pooler sees is what one of
PostgreSQL sees, and the server parses less.
"""
import pytest

import pq
from harness import REFERENCE
from test_takeover import take_over

pytestmark = [pytest.mark.skipif(REFERENCE, reason="not so there"),
              pytest.mark.setting("cache_unnamed_statements")]

ONE = "select $1::int + 1"
NAMES = "select count(*) from pg_prepared_statements"


@pytest.fixture
def caching(pooler):
    def make(**kw):
        return pooler(**{"default_pool_size": 1, "session_state": "keep",
                         "cache_unnamed_statements": 1, **kw})
    return make


def batch(sql, *args, types=(), describe=True):
    return b"".join([pq.parse(sql, "", types), pq.bind("", args)]
                    + [pq.describe("P")] * describe + [pq.execute()])


def ask(c, sql, *args, **kw):
    c.send(batch(sql, *args, **kw), pq.sync())
    return c.recv_until()


def parses(p):
    return p.stats()["total_server_parse_count"]


def warm(c, sql, *args, **kw):
    """... up to where the server is sent the text no more."""
    for _ in range(2):
        res = ask(c, sql, *args, **kw)
    return res


def test_third_time_the_server_is_sent_no_text(caching):
    """pooling.md 16: the first passes, the second is given a name"""
    p = caching()
    c, d = p.raw(), p.raw()
    for i in range(10):
        res = ask(d if i % 2 else c, ONE, i)
        assert res.kinds == "12TDCZ" and res.rows == [[str(i + 1)]]
    assert parses(p) == 1
    assert c.value(NAMES) == "1"


@pytest.mark.parametrize("how", [
    dict(session_state="forget"), dict(cache_unnamed_statements=0),
    dict(max_prepared_statements=0), dict(pool_mode="session"),
    dict(session_state_check="always")])
def test_not_cached_where_nothing_is_known(caching, how):
    """pooling.md 16"""
    p = caching(**how)
    c = p.raw()
    for i in range(5):
        assert ask(c, ONE, i).rows == [[str(i + 1)]]
    assert c.value(NAMES) == "0"


@pytest.mark.parametrize("text", [
    "select 'now'::timestamptz > '-infinity'", "select 'no'\n'w'::text",
    "select '04:05'::text", "select 1 -- now", "select $$x$$",
    "select set_config('a.b', 'x', true)", "show work_mem",
    "select e'\\x41'", "select 1 into temp unn_t"])
def test_text_that_may_mean_something_else_is_not_cached(caching, text):
    """pooling.md 16"""
    p = caching(default_pool_size=2)
    c = p.raw()
    for _ in range(4):
        ask(c, text)
    assert parses(p) == 0


def test_types_make_another_statement(caching):
    """pooling.md 16: text and types"""
    p = caching()
    c = p.raw()
    sql = "select pg_typeof($1)::text"
    for _ in range(3):
        assert ask(c, sql, "1", types=(23,)).rows == [["integer"]]
        assert ask(c, sql, "1", types=(25,)).rows == [["text"]]
    assert parses(p) == 2


OVER = ["create or replace function unn_f(bigint) returns text language sql "
        "as $$select 'big'$$", "drop function if exists unn_f(int)"]
SMALL = "create function unn_f(int) returns text language sql as " \
    "$$select 'small'$$"


def test_what_we_do_between_two_clients_changes_nothing(caching, pg):
    """pooling.md 25: DISCARD SEQUENCES, SETs, cleaning"""
    pg.sql("create table if not exists unn_i (a int)",
           "grant all on unn_i to app", db="p0")
    for state in ("keep", "clean"):
        p = caching(session_state=state)
        c, d = p.raw(), p.raw(application_name="d")
        for x in (c, d) * 4:
            assert ask(x, "insert into unn_i values ($1)", 1).tags == \
                ["INSERT 0 1"]
            x.query("begin")
            assert ask(x, ONE, 1).rows == [["2"]]
            x.query("set local work_mem = '1MB'")
            x.query("commit")
        assert parses(p) == 2
    pg.sql("drop table unn_i", db="p0")


@pytest.mark.parametrize("tag, undo", [
    ("grant app2 to app", "revoke app2 from app"),
    ("do $$ begin end $$", None),
    ("create view unn_v as select 1", "drop view unn_v"),
    ("comment on table tab is 'x'", None), ("discard temp", None)])
def test_tags_that_have_all_parsed_again(caching, pg, tag, undo):
    """pooling.md 25: rights count, too"""
    p = caching(dbs={
        "p0": "", "super": "dbname=p0 user=postgres pool_mode=session"})
    c = p.raw()
    d = p.raw(database="super")
    warm(c, ONE, 1)
    for i, sql in enumerate([tag, undo][:1 + (undo is not None)]):
        d.query(sql)
        warm(c, ONE, 1)
        assert parses(p) == (1 if "com" in tag or "dis" in tag else 2 + i)
    d.query("begin")
    d.query("create function unn_call() returns int language sql as "
            "'select 1'")
    before = parses(p)
    ask(c, ONE, 1)
    ask(c, ONE, 1)
    assert parses(p) == before + 1
    d.query("rollback")
    ask(c, ONE, 1)
    assert parses(p) == before + 2


@pytest.fixture
def overload(pg):
    pg.sql(*OVER, "grant create on schema public to app", db="p0")
    yield
    pg.sql("drop function if exists unn_f(int)", db="p0")
    pg.sql("drop function unn_f(bigint)", db="p0")


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("block", [False, True])
def test_overload_is_seen_after_ddl(caching, overload, workers, block):
    """pooling.md 16: the change of a schema is told to all, by its COMMIT"""
    p = caching(default_pool_size=2, workers=workers)
    c, d = p.raw(), p.raw()
    others = [p.raw() for _ in range(4)]
    sql = "select unn_f(1)"
    for x in (c, *others):
        assert [ask(x, sql).rows for _ in range(3)] == [[["big"]]] * 3
    if block:
        d.query("begin")
    d.query(SMALL)
    if block:
        assert ask(d, sql).rows == [["small"]]
        assert ask(c, sql).rows == [["big"]]
        d.query("commit")
    for x in (c, *others, d):
        assert [ask(x, sql).rows for _ in range(3)] == [[["small"]]] * 3


def test_rollback_of_ddl(caching, overload):
    """pooling.md 16: what is rolled back nobody has"""
    p = caching()
    c = p.raw()
    sql = "select unn_f(1)"
    warm(c, sql)
    c.query("begin")
    c.query(SMALL)
    assert [ask(c, sql).rows for _ in range(3)] == [[["small"]]] * 3
    c.query("rollback")
    assert [ask(c, sql).rows for _ in range(3)] == [[["big"]]] * 3


def test_ddl_in_the_same_batch(caching, overload):
    """pooling.md 16: behind what may be DDL the server parses"""
    p = caching()
    c = p.raw()
    sql = "select unn_f(1)"
    warm(c, sql)
    c.send(pq.parse("begin"), pq.bind(), pq.execute(), batch(sql),
           batch(SMALL), batch(sql), pq.sync())
    assert c.recv_until().rows == [["big"], ["small"]]
    c.query("rollback")
    assert ask(c, sql).rows == [["big"]]


def test_begin_in_the_same_batch_does_not_matter(caching):
    """as pgjdbc does"""
    p = caching()
    c = p.raw()
    for i in range(5):
        c.send(pq.parse("BEGIN"), pq.bind(), pq.execute(), batch(ONE, i),
               batch("select $1::text", "x"), pq.sync())
        res = c.recv_until()
        assert res.rows == [[str(i + 1)], ["x"]]
        assert ask(c, "COMMIT").tags == ["COMMIT"]
    assert parses(p) == 2


def test_result_type_changed_unseen(caching, pg):
    """pooling.md 16: DDL that is not pooled; cured outside of a transaction"""
    p = caching()
    c = p.raw()
    pg.sql("drop table if exists unn_r", "create table unn_r (a int)",
           "insert into unn_r values (1)", "grant all on unn_r to app",
           db="p0")
    sql = "select * from unn_r"
    assert warm(c, sql).rows == [["1"]]
    pg.sql("alter table unn_r add b int default 2", db="p0")
    for _ in range(3):
        res = ask(c, sql)
        assert res.kinds == "12TDCZ" and res.rows == [["1", "2"]]
    pg.sql("drop table unn_r", db="p0")
    assert [e.code for e in ask(c, sql).errors] == ["42P01"]


SETTINGS = ["set search_path = pg_catalog", "set datestyle = german",
            "set role none", "set xmloption = document", "reset all"]


@pytest.mark.parametrize("setting", SETTINGS)
def test_settings_are_of_the_statement(caching, setting):
    """pooling.md 16: another world is another Parse"""
    p = caching()
    c, d = p.raw(), p.raw()
    warm(c, ONE, 1)
    assert parses(p) == 1
    c.query("begin")
    c.query(setting)
    assert ask(c, ONE, 1).rows == [["2"]]
    assert parses(p) == 1		# it passed
    c.query("rollback")
    d.query(setting)
    for x in (c, d, c, d):
        assert ask(x, ONE, 1).rows == [["2"]]


def test_schema_that_a_role_may_not_look_into(caching, pg):
    """USAGE is asked for when a statement is parsed"""
    p = caching()
    pg.sql("create schema if not exists unn_s", "grant app2 to app",
           "create table if not exists unn_s.t (a int)",
           "grant select on unn_s.t to app2, app",
           "grant usage on schema unn_s to app", db="p0")
    c, d = p.raw(), p.raw()
    d.query("set role app2")
    sql = "select count(*) from unn_s.t"
    for _ in range(3):
        assert ask(c, sql).rows == [["0"]]
        assert [e.code for e in ask(d, sql).errors] == ["42501"]
    pg.sql("drop schema unn_s cascade", "revoke app2 from app", db="p0")


def test_parse_and_bind_in_batches_of_their_own(caching):
    """as lib/pq does, with another client in between"""
    p = caching()
    c, d = p.raw(), p.raw()
    for i in range(6):
        c.send(pq.parse(ONE), pq.describe("S"), pq.sync())
        assert c.recv_until().kinds == "1tTZ"
        if i > 0:
            assert ask(d, "select $1::text", "d").rows == [["d"]]
        c.send(pq.bind("", (i,)), pq.execute(), pq.sync())
        if i > 0:
            assert c.recv_until().rows == [[str(i + 1)]]
        else:
            assert c.recv_until().kinds == "2DCZ"


GONE = "unnamed prepared statement does not exist"


@pytest.mark.parametrize("ends", [
    [pq.query("select 2")], [pq.close("S"), pq.sync()]])
def test_unnamed_statement_ends_as_it_does(caching, ends):
    """Message Flow: by a Query, a Close and a Parse that fails"""
    p = caching()
    c = p.raw()
    warm(c, ONE, 1)
    for _ in range(3):
        assert ask(c, ONE, 1).rows == [["2"]]
        c.send(*ends)
        c.recv_until()
        c.send(pq.bind("", (1,)), pq.execute(), pq.sync())
        res = c.recv_until()
        assert [(e.code, e.message) for e in res.errors] == [("26000", GONE)]


def test_error_ahead_in_the_batch_leaves_the_statement(caching):
    """Message Flow: what is skipped was not there"""
    p = caching()
    c = p.raw()
    other = "select $1::int * 10"
    for sql in (ONE, other):
        warm(c, sql, 1)
    assert ask(c, other, 1).rows == [["10"]]
    c.send(pq.bind("nosuch"), pq.parse(ONE), pq.bind("", (1,)), pq.execute(),
           pq.sync())
    assert [e.code for e in c.recv_until().errors] == ["26000"]
    c.send(pq.bind("", (2,)), pq.execute(), pq.sync())
    assert c.recv_until().rows == [["20"]]
    c.send(batch("select $1::int / 0", 1), pq.parse(ONE), pq.sync())
    assert [e.code for e in c.recv_until().errors] == ["22012"]
    c.send(pq.bind("", (2,)), pq.execute(), pq.sync())
    assert c.recv_until().rows == []


@pytest.mark.parametrize("stands", [pq.query("select 1"),
                                    pq.function_call(1598, [])])
def test_query_behind_an_error_is_skipped(caching, pg, stands):
    """pooling.md 25: what ends in ReadyForQuery does not end the skipping"""
    p = caching()
    c = p.raw()
    c.query("create table skipped (a int)")
    try:
        warm(c, ONE, 1)
        c.send(batch(ONE, 1), pq.execute("nosuch"), stands,
               pq.query("insert into skipped values (1)"), pq.sync())
        assert c.recv_until().kinds == "12TDCEZ"
        assert c.value("select count(*) from skipped") == "0"
    finally:
        c.query("drop table skipped")


@pytest.mark.parametrize("text, code", [("selec", "42601"),
                                        ("select nosuch", "42703")])
def test_parse_that_fails_leaves_none(caching, text, code):
    """Message Flow: whether it is the server's, or one that has a name there"""
    p = caching()
    c = p.raw()
    warm(c, ONE, 1)
    for _ in range(4):
        assert ask(c, ONE, 1).rows == [["2"]]
        c.send(pq.parse(text), pq.sync())
        assert [e.code for e in c.recv_until().errors] == [code]
        c.send(pq.bind("", (1,)), pq.execute(), pq.sync())
        assert c.recv_until().rows == []


def test_errors_have_no_name_of_ours(caching, pg):
    """as of an unnamed statement"""
    p = caching()
    c, own = p.raw(), pq.Conn(port=pg.port).login("app", database="p0")
    warm(c, ONE, 1)
    for args in ((), ("x",), ("1", "2")):
        got, want = ask(c, ONE, *args), ask(own, ONE, *args)
        assert [(e.code, e.message) for e in got.errors] == \
            [(e.code, e.message) for e in want.errors] != []
    own.close()


def test_portal_outlives_another_parse(caching):
    """a portal is of the statement it was bound to"""
    p = caching()
    c = p.raw()
    rows = "select generate_series(1, 3)"
    warm(c, rows)
    warm(c, ONE, 1)
    c.query("begin")
    c.send(pq.parse(rows), pq.bind("", (), "here"), pq.execute("here", 1),
           batch(ONE, 5), pq.execute("here"), pq.sync())
    assert [r[0] for r in c.recv_until().rows] == ["1", "6", "2", "3"]
    c.query("commit")


def test_few_statements(caching):
    """max_prepared_statements: the least recently used goes"""
    p = caching(max_prepared_statements=2)
    c = p.raw()
    for i in range(40):
        assert ask(c, "select $1::int + %d" % (i % 5), 1).rows == \
            [[str(i % 5 + 1)]]
    assert int(c.value(NAMES)) <= 2


def test_memory_is_for_names_first(caching):
    """max_prepared_statement_memory: what has no name goes"""
    p = caching(max_prepared_statement_memory=7500)
    c, d = p.raw(), p.raw()
    texts = ["select $1::int, %s" % ("'%s'" % (ch * 1000)) for ch in "xyz"]
    for sql in texts:
        warm(c, sql, 1)
    for i in range(4):
        d.send(pq.parse("select %d, '%s'" % (i, "n" * 900), "s%d" % i),
               pq.sync())
        assert d.recv_until().kinds == "1Z"
    for sql in texts * 3:
        assert ask(c, sql, 1).rows[0][0] == "1"


def test_reload_and_takeover(caching, pooler):
    """the statement is there, whatever the setting and the process"""
    p = caching()
    c = p.raw()
    warm(c, ONE, 1)
    c.send(pq.parse(ONE), pq.sync())
    assert c.recv_until().kinds == "1Z"
    p.settings["cache_unnamed_statements"] = 0
    p.reload()
    c.send(pq.bind("", (1,)), pq.execute(), pq.sync())
    assert c.recv_until().rows == [["2"]]
    assert [ask(c, ONE, i).rows for i in range(3)] == [[["1"]], [["2"]],
                                                      [["3"]]]
    p.settings["cache_unnamed_statements"] = 1
    p.reload()
    assert warm(c, ONE, 1).rows == [["2"]]
    c.send(pq.parse(ONE), pq.sync())
    assert c.recv_until().kinds == "1Z"
    q = take_over(pooler, p)
    c.send(pq.bind("", (4,)), pq.execute(), pq.sync())
    assert c.recv_until().rows == [["5"]]
    assert [ask(c, ONE, i).rows for i in range(3)] == [[["1"]], [["2"]],
                                                      [["3"]]]
    assert q.stats()["total_server_parse_count"] <= 2


@pytest.mark.parametrize("behind, codes", [
    ([pq.bind("", [2]), pq.execute(), pq.sync()], ["34000"]),
    ([pq.describe("S"), pq.sync()], ["34000"]),
    ([pq.query("select 7"), pq.describe("S"), pq.sync()], ["34000", "26000"]),
    ([pq.close("S"), pq.sync(), pq.describe("S"), pq.sync()],
     ["34000", "26000"])], ids=["bind", "describe", "query", "close"])
def test_skipped_parse_leaves_what_was_cached(caching, behind, codes):
    """pooling.md 16, 25: also for what is sent in the same burst"""
    c = caching().raw()
    warm(c, ONE, 1)
    c.send(pq.parse(ONE), pq.sync(), pq.execute("nosuch"),
           pq.parse("select 'another'"), pq.sync(), *behind)
    ends = 2 + sum(m[:1] in b"SQ" for m in behind)
    said = [c.recv_until() for _ in range(ends)]
    assert [e.code for res in said for e in res.errors] == codes
    assert said[2].rows in ([["3"]], [["7"]], [])
    assert len(codes) > 1 or said[2].kinds in ("2DCZ", "tTZ")
