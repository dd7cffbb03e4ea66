# test_columns.py - statements whose text means something else by now.
# SPDX-License-Identifier: ISC
"""A client that prepares a text gets the answer that PostgreSQL would give now.
"""
import pytest

import pq
from harness import REFERENCE
from test_prepared import busy, prepare, run

pytestmark = pytest.mark.skipif(REFERENCE, reason="not so there")

INT4, INT8 = 23, 20


@pytest.fixture
def changing(pg):
    """A table and a function, and how anybody but a client changes them."""
    def sql(*stmts):
        pg.sql(*stmts, db="p0")
    undo = ["drop table if exists cols",
            "drop function if exists shout(int), shout(bigint)"]
    sql(*undo, "create table cols (a int, b int)",
        "insert into cols values (1, 2)", "alter table cols owner to app",
        "create function shout(bigint) returns text language sql as "
        "$$ select 'bigint' $$")
    yield sql
    sql(*undo)


def describe(c, name, sql):
    """Parse and Describe: types of parameters, and of columns."""
    c.send(pq.parse(sql, name), pq.describe("S", name), pq.sync())
    res = c.recv_until().check()
    told = dict(res.messages)["t"]
    return ([int.from_bytes(told[i:i + 4]) for i in range(2, len(told), 4)],
            [column[3] for column in getattr(res, "desc", [])])


# --- a Parse of a client's own ------------------------------------------------

INSERT = "insert into cols (a) values ($1)"
OVERLOAD = ("create function shout(int) returns text language sql as "
            "$$ select 'int' $$")
WIDEN = "alter table cols alter a type bigint"


def test_parse_behind_a_change_of_another_client_is_anew(changing, pooler):
    p = pooler(default_pool_size=1)
    a, b = p.raw(), p.raw()
    assert describe(a, "st", INSERT) == ([INT4], [])
    prepare(a, "fn", "select shout(1)")
    assert run(a, "fn").rows == [["bigint"]]
    b.query(WIDEN)
    b.query(OVERLOAD)
    c = p.raw()
    assert describe(c, "st", INSERT) == ([INT8], [])
    assert run(c, "st", 2 ** 40).tags == ["INSERT 0 1"]
    prepare(c, "fn", "select shout(1)")
    assert run(c, "fn").rows == [["int"]]
    # what others have prepared goes on
    assert run(a, "fn").rows[0][0] in ("int", "bigint")


@pytest.mark.parametrize("end", ["commit", "rollback"])
def test_change_of_a_transaction_counts_from_its_end_on(changing, pooler, end):
    """until then others prepare the text as it was"""
    p = pooler(default_pool_size=2)
    a, b, c = p.raw(), p.raw(), p.raw()
    b.query("begin")
    prepare(a, "st", "select shout(1)")
    b.query(OVERLOAD)
    prepare(c, "st", "select shout(1)")
    assert run(c, "st").rows == [["bigint"]]
    b.query(end)
    for pid in {a.value("select pg_backend_pid()")}:
        with busy(p, pid):
            pass
    for _ in range(2):
        d = p.raw()
        prepare(d, "st", "select shout(1)")
        assert run(d, "st").rows == [["int" if end == "commit" else "bigint"]]
        d.query("begin")	# the next one has the other server


@pytest.mark.parametrize("how", [
    "do $$ begin create function shout(int) returns text language sql as "
    "'select ''int'''; end $$",
    "select 'int' into cols2; drop table cols2; " + OVERLOAD])
def test_change_that_no_tag_of_its_own_tells(changing, pooler, how):
    p = pooler(default_pool_size=1)
    a, b = p.raw(), p.raw()
    prepare(a, "st", "select shout(1)")
    b.query(how)
    prepare(b, "st", "select shout(1)")
    assert run(b, "st").rows == [["int"]]


def test_without_a_change_a_text_is_parsed_once(changing, pooler):
    """whatever else is run: a SELECT of no rows, too, or of many"""
    p = pooler(default_pool_size=1)
    others = ["select 1 where false", "select generate_series(1, 20000)",
              "insert into cols values (3)", "begin", "update cols set a = 1",
              "commit", "set work_mem = '5MB'", "reset work_mem",
              "truncate cols", "analyze cols"]
    a = p.raw()
    a.query("select 1")
    for i, sql in enumerate(others):
        prepare(a, "st%d" % i, sql)
        assert run(a, "st%d" % i).check().tags
        a.query(sql)
    before = p.stats()["total_server_parse_count"]
    for _ in range(3):
        b = p.raw()
        for i, sql in enumerate(others[:3]):
            assert prepare(b, "st%d" % i, sql).kinds == "1Z"
            run(b, "st%d" % i).check()
    assert p.stats()["total_server_parse_count"] == before


def test_what_failed_is_parsed_anew_for_the_next_client(changing, pooler):
    """the change came from elsewhere; nobody but the first gets an error"""
    p = pooler(default_pool_size=2)
    a, b = p.raw(), p.raw()
    a.query("begin")
    b.query("begin")
    for c in a, b:
        prepare(c, "st", INSERT)
        c.query("commit")
    changing(WIDEN)
    c = p.raw()
    prepare(c, "st", INSERT)
    assert run(c, "st", 2 ** 40).errors[0].code == "22003"
    for _ in range(2):
        d = p.raw()
        d.query("begin")	# the next one has the other server
        prepare(d, "st", INSERT)
        assert run(d, "st", 2 ** 40).tags == ["INSERT 0 1"]


def test_parse_that_fails_by_now_leaves_nothing_behind(changing, pooler):
    p = pooler(default_pool_size=1)
    a, b = p.raw(), p.raw()
    prepare(a, "st", "select b from cols")
    b.query("alter table cols drop b")
    for _ in range(2):
        assert prepare(b, "st", "select b from cols").errors[0].code == "42703"
    assert run(a, "st").errors[0].code == "42703"
    b.query("alter table cols add b int default 7")
    assert run(a, "st").rows == [["7"]]
    assert prepare(b, "st", "select b from cols").kinds == "1Z"
    assert run(b, "st").rows == [["7"]]


@pytest.mark.setting("workers")
def test_change_is_known_to_all_workers(changing, pooler):
    p = pooler(workers=2, default_pool_size=4)
    clients = [p.raw() for _ in range(8)]
    for c in clients:
        assert describe(c, "st", INSERT) == ([INT4], [])
    clients[0].query(WIDEN)
    for _ in clients:
        assert describe(p.raw(), "st", INSERT) == ([INT8], [])
