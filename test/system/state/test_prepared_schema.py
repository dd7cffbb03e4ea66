# test_prepared_schema.py - what is prepared behind a change of schemas.
# SPDX-License-Identifier: ISC
"""A text that the server knows already may mean another table by then: rows go
where a connection of the client's own would put them (pooling.md 16).
"""
import pytest

import pq
from harness import REFERENCE

pytestmark = pytest.mark.skipif(REFERENCE, reason="not so there")

TEXT = "insert into work (id) values ($1)"
MAKE = [
    "create temp table work (id int)",
    "create temp table work as select 0 as id",
    "create temp table work as select 0 as id where false",
    "select 0 as id into temp work",
    "with a as (select 0 as id) select * into temp work from a",
    "/**/ select id into temporary table\nwork from work where false",
]
RUN = [pq.bind("st", ["7"]), pq.execute(), pq.sync()]
PREPARE = [pq.parse(TEXT, "st"), pq.sync()]


def extended(sql, *more):
    return [pq.parse(sql), pq.bind(), *more, pq.execute()]


# what is sent in one go, before the next is sent
WAYS = {
    "queries": lambda sql: [[pq.query("begin")], [pq.query(sql)], PREPARE,
                            RUN],
    "behind others": lambda sql: [
        [pq.query("begin")], [pq.query("select 1; " + sql)], PREPARE, RUN],
    "ahead of others": lambda sql: [
        [pq.query("begin; " + sql + "; select 1")], PREPARE, RUN],
    "queries, piped": lambda sql: [[pq.query("begin"), pq.query(sql),
                                    *PREPARE, *RUN]],
    "begin with it": lambda sql: [[pq.query("begin; " + sql)],
                                  [*PREPARE, *RUN]],
    "extended": lambda sql: [[pq.query("begin")],
                             [*extended(sql), pq.sync()], PREPARE, RUN],
    "described": lambda sql: [
        [pq.query("begin")], [*extended(sql, pq.describe("P")), pq.sync()],
        PREPARE, RUN],
    "one batch": lambda sql: [[*extended(sql), pq.parse(TEXT, "st"), *RUN]],
    "named": lambda sql: [[pq.parse(sql, "mk"), pq.sync()],
                          [pq.bind("mk"), pq.execute(), pq.parse(TEXT, "st"),
                           *RUN]],
    "named, later": lambda sql: [
        [pq.query("begin"), pq.parse(sql, "mk"), pq.sync()],
        [pq.bind("mk"), pq.execute(), pq.sync()], PREPARE, RUN],
}


@pytest.fixture
def work(pg):
    pg.sql("drop table if exists work", "create table work (id int)",
           "alter table work owner to app", db="p0")
    yield lambda: pg.sql("select id from work order by id", db="p0")
    pg.sql("drop table work", db="p0")


def ask(c, parts):
    for part in parts:
        c.send(*part)
        for one in part:
            if one[:1] in b"QS":
                c.recv_until().check()


@pytest.mark.parametrize("state", ["forget", "keep"])
@pytest.mark.parametrize("way", WAYS)
def test_rows_go_to_the_table_made_just_now(work, pooler, way, state):
    """however it was made, and whether that is known before the Parse comes"""
    p = pooler(default_pool_size=1, session_state=state)
    a = p.raw()
    a.query("create temp table first (i int); drop table first")
    ask(a, [PREPARE, [pq.bind("st", ["1"]), *RUN[1:]]])
    before = work()
    for i, sql in enumerate(MAKE):
        b = p.raw()
        ask(b, WAYS[way](sql))
        assert b.query("select id from work where id = 7 and tableoid = "
                       "to_regclass('pg_temp.work')").rows == [["7"]], i
        b.query("drop table pg_temp.work; commit")
        assert work() == before, (i, sql)
        b.close()
    ask(a, [RUN])
    assert len(work()) == len(before) + 1


def test_change_that_is_not_answered_yet(work, pooler):
    """the Parse behind it comes later, but before its tag"""
    p = pooler(default_pool_size=1)
    a, b = p.raw(), p.raw()
    a.query("create temp table first (i int); drop table first")
    ask(a, [PREPARE])
    b.send(*extended("create temp table work as select pg_sleep(0.3) is null"
                     " and false as b, 0 as id"))
    # it has come once the pooler has asked for a server
    b.send(pq.flush())
    assert b.recv()[0] == "1"
    b.send(pq.parse(TEXT, "st"), *RUN)
    b.recv_until().check()
    assert b.query("select id from pg_temp.work where id = 7").rows == [["7"]]
    assert not work()


def test_texts_that_only_read_share_one_statement(work, pooler):
    """pipelined or not: nothing is prepared twice on a server"""
    p = pooler(default_pool_size=1)
    a, b = p.raw(), p.raw()
    ask(a, [PREPARE])
    ask(b, [[pq.query("begin"), pq.query("select * from work where id = 5"),
             pq.query("insert into work values (1)"), *PREPARE, *RUN]])
    b.query("commit")
    assert work() == [(1,), (7,)]
    assert [s["prepared_statements"] for s in p.servers()] == ["1"]
