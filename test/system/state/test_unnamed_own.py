# test_unnamed_own.py - a client meets with its own unnamed statement.
# SPDX-License-Identifier: ISC
"""A Parse and a Sync in one round trip, the Bind in the next: what other clients
do on the same server does not matter, nor does it which server comes next.
"""
import psycopg
import pytest

import pq
from harness import REFERENCE
from test_takeover import take_over

pytestmark = pytest.mark.skipif(REFERENCE, reason="not so there")

MODES = {
    "forget": dict(), "clean": dict(session_state="clean"),
    "keep": dict(session_state="keep"),
    "always": dict(session_state="keep", session_state_check="always"),
    "cached": dict(session_state="keep", cache_unnamed_statements=1),
    "untracked": dict(max_prepared_statements=0),
    "statement": dict(pool_mode="statement"),
}
LONG = "select 'long', $1::text /*%s*/" % ("x" * 9000)


@pytest.fixture(params=MODES)
def one(pooler, request):
    """A pooler with one server, in each mode."""
    return pooler(**{"default_pool_size": 1, **MODES[request.param]})


def ask(c, *messages):
    c.send(*messages, pq.sync())
    return c.recv_until()


def prepare(c, what):
    return ask(c, pq.parse("select '%s', $1::text" % what), pq.describe("S"))


def run(c, arg="x"):
    return ask(c, pq.bind("", [arg]), pq.execute())


def codes(res):
    return [e.code for e in res.errors]


def test_bind_in_the_next_round_trip_is_of_its_own(one):
    """pooling.md 16"""
    a, b = one.raw(), one.raw()
    for i in range(3):
        assert prepare(a, "of a").kinds == prepare(b, "of b").kinds == "1tTZ"
        assert run(a).rows == [["of a", "x"]]
        assert run(b, i).rows == [["of b", str(i)]]
        assert run(a, "again").rows == [["of a", "again"]]
    assert ask(a, pq.describe("S")).kinds == "tTZ"


def test_query_behind_a_skipped_close_ends_it(one):
    """pooling.md 16: in the same burst"""
    a, b = one.raw(), one.raw()
    prepare(a, "of a")
    a.send(pq.execute("nosuch"), pq.close("S"), pq.sync(), pq.query("select 1"))
    assert codes(a.recv_until()) == ["34000"]
    assert a.recv_until().rows == [["1"]]
    prepare(b, "of b")
    assert codes(run(a)) == ["26000"]


def test_client_without_one_has_none(one):
    """pooling.md 16: PostgreSQL's own answer"""
    a, b = one.raw(), one.raw()
    prepare(a, "secret")
    for message in (pq.bind(), pq.describe("S")):
        assert codes(ask(b, message)) == ["26000"]
    for end in (lambda: ask(a, pq.close("S")), lambda: a.query("select 1"),
                lambda: ask(a, pq.parse("selec"))):
        prepare(a, "gone")
        end()
        prepare(b, "other")
        assert codes(run(a)) == ["26000"]
        assert run(b).rows == [["other", "x"]]


def test_our_own_queries_are_nobodys(pooler):
    """pooling.md 16: a COMMIT of ours stays in a server"""
    p = pooler(default_pool_size=1, session_state="keep")
    a, b = p.raw(), p.raw()
    for c, zone in ((a, "GMT"), (b, "CET")):
        c.query("set timezone = '%s'" % zone)
    prepare(a, "of a")
    assert ask(b, pq.parse("select 1"), pq.bind(), pq.execute()).rows
    assert run(a).rows == [["of a", "x"]]
    b.query("select 1")
    c = p.raw()
    assert codes(ask(c, pq.describe("S"))) == ["26000"]


def test_parse_that_was_skipped_changes_nothing(one):
    """pooling.md 16: what stands behind an error has not happened"""
    a, b = one.raw(), one.raw()
    prepare(a, "first")
    prepare(b, "other")
    a.send(pq.bind("nosuch"), pq.parse("select 'second', $1::text"), pq.sync(),
           pq.bind("", ["x"]), pq.execute(), pq.sync())
    assert codes(a.recv_until()) == ["26000"]
    assert a.recv_until().rows == [["first", "x"]]
    prepare(b, "other")
    assert run(a).rows == [["first", "x"]]


def test_several_in_one_batch(one):
    """pooling.md 16: the last one counts"""
    a, b = one.raw(), one.raw()
    two = [pq.parse("select 'one'"), pq.bind(), pq.execute(),
           pq.parse("select 'two', $1::text")]
    for i in range(2):
        assert ask(a, *two).kinds == "12DC1Z"
        prepare(b, "other")
        assert run(a).rows == [["two", "x"]]
    # an error between two: never another client's
    ask(a, pq.parse("select 1 / $1::int"), pq.bind("", [0]), pq.execute(),
        pq.parse("select 'two', $1::text"))
    prepare(b, "other")
    # 22P02: the first one itself
    assert codes(run(a)) in (["26000"], ["22P02"])


def test_message_that_arrives_in_pieces(one):
    """pooling.md 16"""
    a, b = one.raw(), one.raw()
    data = pq.parse("select 'of a', $1::text") + pq.sync()
    for at in (1, 7, 20):
        a.send_split(data, at)
        a.recv_until().check()
        prepare(b, "of b")
        a.send_split(pq.bind("", ["x"]) + pq.execute() + pq.sync(), at)
        assert a.recv_until().rows == [["of a", "x"]]


def test_long_text_keeps_its_server_until_it_is_used(one):
    """pooling.md 16: more than 8 kB is not kept"""
    a, b = one.raw(), one.raw()
    for use in ([pq.bind("", ["x"]), pq.execute()], [pq.close("S")],
                [pq.parse("select 1")]):
        assert ask(a, pq.parse(LONG)).kinds == "1Z"
        b.send(pq.parse("select 'b'"), pq.bind(), pq.execute(), pq.sync())
        res = ask(a, *use)
        assert not res.errors
        assert b.recv_until().rows == [["b"]]
    assert codes(run(b)) != []


def test_text_that_leaves_something_is_noticed_again(pooler):
    """pooling.md 25: what is sent again is watched, too"""
    p = pooler(default_pool_size=1, session_state="keep")
    a, b = p.raw(), p.raw()
    b.query("set app.who = 'b'")
    ask(a, pq.parse("select set_config('app.who', $1::text, false)"))
    for name in ("one", "two"):
        assert run(a, name).rows == [[name]]
        assert b.value("select current_setting('app.who')") == "b"
    assert a.value("select current_setting('app.who')") == "two"


@pytest.mark.parametrize("pinned", [False, True])
def test_text_that_leaves_something_is_noticed_on_the_same_server(
        pooler, pinned):
    """pooling.md 25: nobody else has used the server, but its trace is over"""
    p = pooler(default_pool_size=1, session_state="keep")
    a = p.raw()
    if pinned:
        a.query("create temp table pins (a int)")
    ask(a, pq.parse("select set_config('app.who', $1::text, false)"))
    for name in ("one", "two", "three"):
        assert run(a, name).rows == [[name]]
    if pinned:
        a.query("drop table pins")
    b = p.raw()
    assert b.value("select current_setting('app.who', true)") in (None, "")
    assert a.value("select current_setting('app.who')") == "three"


def test_unnamed_portal_is_of_its_transaction(one):
    """pooling.md 16"""
    a, b = one.raw(), one.raw()
    ask(b, pq.parse("select 'of b'"), pq.bind(), pq.execute("", 1))
    assert codes(ask(a, pq.execute())) == ["34000"]


def test_session_pooling_begins_without_one(pooler):
    """pooling.md 16"""
    p = pooler(pool_mode="session", default_pool_size=1,
               server_reset_query="")
    a = p.raw()
    prepare(a, "of a")
    a.close()
    b = p.raw()
    assert codes(run(b)) == ["26000"]
    prepare(b, "of b")
    assert run(b).rows == [["of b", "x"]]


@pytest.mark.parametrize("linked", [False, True])
def test_takeover_brings_it_along(pooler, linked):
    """pooling.md 23: with the server, or without"""
    p = pooler(default_pool_size=1)
    a, b = p.raw(), p.raw()
    if linked:
        a.query("begin")
    prepare(a, "of a")
    if not linked:
        prepare(b, "of b")
    q = take_over(pooler, p)
    assert run(a).rows == [["of a", "x"]]
    if linked:
        a.query("commit")
        prepare(a, "of a")
    prepare(b, "of b")
    assert run(a).rows == [["of a", "x"]]
    assert q.stats()


def test_moves_between_workers_bring_it_along(pooler):
    """workers.md"""
    p = pooler(default_pool_size=2, workers=2)
    clients = [p.raw() for _ in range(6)]
    for i in range(8):
        for n, c in enumerate(clients):
            prepare(c, "client %d %d" % (n, i))
        for n, c in enumerate(clients):
            assert run(c).rows == [["client %d %d" % (n, i), "x"]]


def bind_and(c, *then, values=(), formats=()):
    return ask(c, pq.bind("", values, result_formats=formats), *then,
               pq.execute())


def tell(c):
    """Names of the columns."""
    return [f[0] for f in ask(c, pq.parse("select * from of_others"),
                              pq.describe("S")).check().desc]


CHANGE = ["alter table of_others rename a to z",
          "alter table of_others rename b to a",
          "alter table of_others rename z to b"]


@pytest.fixture
def changing(one, pg):
    """A client that was told of its statement; another one has the server now,
    and the table has changed."""
    pg.sql("drop table if exists of_others",
           "create table of_others (a int, b int)",
           "insert into of_others values (1, 2)",
           "grant all on of_others to public", db="p0")
    a, b = one.raw(), one.raw()
    assert tell(a) == ["a", "b"]
    prepare(b, "of b")
    yield a, b, lambda: pg.sql(*CHANGE, db="p0")
    a.close()
    b.close()


def test_columns_that_changed_are_refused(changing):
    """pooling.md 16"""
    a, b, change = changing
    assert bind_and(a).rows == [["1", "2"]]
    prepare(b, "of b")
    change()
    for _ in range(2):
        assert codes(bind_and(a)) == ["0A000"]
    assert tell(a) == ["b", "a"]
    assert bind_and(a).rows == [["1", "2"]]
    assert run(b).rows == [["of b", "x"]]


def test_columns_that_are_told_again_are_not_refused(changing):
    """pooling.md 16"""
    a, b, change = changing
    change()
    res = bind_and(a, pq.describe("P"))
    assert [c[0] for c in res.desc] == ["b", "a"] and res.rows == [["1", "2"]]
    # a list of formats was made for the columns of before
    assert codes(bind_and(a, pq.describe("P"), formats=(0, 0))) == ["0A000"]
    assert codes(bind_and(a)) == ["0A000"]
    # it was told both
    prepare(b, "of b")
    for _ in range(2):
        change()
        assert codes(bind_and(a)) == ["0A000"]
    ask(a, pq.describe("S")).check()
    assert bind_and(a).rows == [["1", "2"]]


def test_types_of_parameters_that_changed_are_refused(changing, pg):
    """pooling.md 16: of a binary value, not of a text"""
    a, b, _ = changing
    ask(a, pq.parse("select 'is' from of_others where a = $1"),
        pq.describe("S")).check()
    prepare(b, "of b")
    pg.sql("alter table of_others alter a type bigint", db="p0")
    assert bind_and(a, values=["1"]).rows == [["is"]]
    prepare(b, "of b")
    binary = pq.msg("B", b"\0\0" b"\0\1\0\1" b"\0\1\0\0\0\4\0\0\0\1" b"\0\0")
    assert codes(ask(a, binary, pq.execute())) == ["0A000"]


def test_takeover_brings_along_what_was_told(pooler, pg):
    """pooling.md 23"""
    p = pooler(default_pool_size=1)
    pg.sql("drop table if exists of_others",
           "create table of_others (a int, b int)",
           "grant all on of_others to public", db="p0")
    a, b = p.raw(), p.raw()
    assert tell(a) == ["a", "b"]
    prepare(b, "of b")
    take_over(pooler, p)
    pg.sql(*CHANGE, db="p0")
    assert codes(bind_and(a)) == ["0A000"]


def test_columns_that_were_not_told_are_not_asked_for(changing):
    """pooling.md 16"""
    a, b, change = changing
    ask(a, pq.parse("select a.* from of_others a")).check()
    prepare(b, "of b")
    change()
    assert bind_and(a).rows == [["1", "2"]]


@pytest.mark.setting("max_prepared_statement_memory")
def test_kept_texts_count(pooler):
    """settings.md: without room the server is kept until the text is used"""
    p = pooler(default_pool_size=1, max_prepared_statement_memory=1)
    a, b = p.raw(), p.raw()
    prepare(a, "of a")
    b.send(pq.parse("select 'b'"), pq.bind(), pq.execute(), pq.sync())
    assert run(a).rows == [["of a", "x"]]
    assert b.recv_until().rows == [["b"]]


def test_deallocate_without_a_name_on_another_server(pooler):
    """pooling.md 16: a name of the client's, in its unnamed statement"""
    p = pooler(default_pool_size=1)
    a, b = p.raw(), p.raw()
    for _ in range(2):
        ask(a, pq.parse("select 1", "s")).check()
        ask(a, pq.parse("deallocate s")).check()
        prepare(b, "other")
        assert ask(a, pq.bind(), pq.execute()).tags == ["DEALLOCATE"]
        assert codes(ask(a, pq.bind("s"))) == ["26000"]


def test_psycopg_pipelines(one):
    """pooling.md 16: no driver notices"""
    with one.connect() as c, one.connect() as d:
        for i in range(3):
            with c.pipeline():
                cursors = [c.execute("select %s::int", [n]) for n in range(5)]
            assert [x.fetchone()[0] for x in cursors] == list(range(5))
            assert d.execute("select %s::text", [i]).fetchone()[0] == str(i)
            with pytest.raises(psycopg.errors.DivisionByZero):
                c.execute("select 1 / %s::int", [0])
