# test_unnamed_programs.py - few texts without a name, many times, amid DDL.
# SPDX-License-Identifier: ISC
"""Clients take turns on fewer servers, with cache_unnamed_statements, and each has
a twin with a connection of its own to another database of PostgreSQL: all
answers are equal. SIM_UNNAMED is how many steps a seed takes, SIM_SEED the first
seed, SIM_SEEDS how many there are.
"""
import os
import random

import pytest

import pq
from harness import REFERENCE, cluster

STEPS = int(os.environ.get("SIM_UNNAMED", "250"))
FIRST = int(os.environ.get("SIM_SEED", "1"))
SEEDS = int(os.environ.get("SIM_SEEDS", "3"))
CLIENTS = 5

pytestmark = [pytest.mark.skipif(REFERENCE, reason="not so there"),
              pytest.mark.setting("cache_unnamed_statements")]

START = [
    "create schema one", "create schema two", "create table one.t (a int)",
    "create table two.t (a int)", "insert into one.t values (1), (11)",
    "insert into two.t values (2), (22)",
    "create function one.f(bigint) returns text language sql as "
    "$$select 'one big'$$",
    "create type one.mood as enum ('sad', 'ok')",
    "create view one.v as select 'view' as x",
    "grant all on schema one, two to app, app2", "grant all on database %s to app",
    "grant all on all tables in schema one, two to app, app2",
    "alter table one.t owner to app", "alter table two.t owner to app",
    "alter view one.v owner to app", "alter schema two owner to app",
    "alter schema one owner to app", "alter type one.mood owner to app",
    "alter function one.f(bigint) owner to app"]

# text, parameters, types
TEXTS = [
    ("select f(1)", (), ()), ("select f($1)", (7,), (23,)),
    ("select f($1)", (7,), (20,)), ("select * from t order by a", (), ()),
    ("select a from t where a > $1 order by a", (1,), ()),
    ("select count(*) from one.t", (), ()), ("select * from v", (), ()),
    ("select 'ok'::one.mood::text", (), ()),
    ("select $1::one.mood", ("sad",), ()), ("select x, f(1) from v", (), ()),
    ("insert into two.t values ($1)", (3,), ()),
    ("delete from two.t where a = $1", (3,), ()),
    ("update one.t set a = a + $1 where a < $2", (0, 5), ()),
    ("select to_date($1, $2)", ("2020-02-01", "YYYY-MM-DD"), ()),
    ("select '01/02/2003'::date", (), ()), ("select $1::date", ("01/02/2003",), ()),
    ("select pg_typeof($1)::text", ("1",), (25,)), ("select nosuch", (), ()),
    ("select 10 / $1::int", (0,), ()), ("select current_setting($1)", ("search_path",), ()),
    ("select current_user", (), ()), ("select 1 as \"one\"", (), ()),
]
QUERIES = [
    "set search_path = one, two", "set search_path = two, one",
    "reset search_path", "set datestyle = german", "set datestyle = 'iso, mdy'",
    "set role app2", "reset role", "set local search_path = two, one",
    "set local datestyle = german", "select 1", "reset all", "discard all",
]
DDL = [
    "create function one.f(int) returns text language sql as "
    "$$select 'one small'$$", "drop function one.f(int)",
    "create function two.f(int) returns text language sql as "
    "$$select 'two small'$$", "drop function two.f(int)",
    "alter table one.t add b int default 5", "alter table one.t drop b",
    "alter table two.t rename to u", "alter table two.u rename to t",
    "create or replace view one.v as select 'other' as x",
    "alter type one.mood rename value 'ok' to 'fine'",
    "alter type one.mood rename value 'fine' to 'ok'",
    "revoke usage on schema one from app2", "grant usage on schema one to app2",
    "drop view one.v", "create view one.v as select 'again' as x",
    "create temp table t as select 77 as a", "drop table pg_temp.t",
]


def batch(text, args, types, how):
    head = [pq.parse(text, "", types)]
    if how == "statement":
        head.append(pq.describe("S"))
    tail = [pq.bind("", args)] + [pq.describe("P")] * (how != "blind")
    return b"".join(head + tail + [pq.execute()])


class Twins:
    """A client of the pooler, and one of PostgreSQL."""

    def __init__(self, p, n):
        self.conns = [p.raw(), pq.Conn(port=cluster().port).login(
            "app", database="unn_own")]
        for c in self.conns:
            c.query("set search_path = one, two")
        self.block = False

    def ask(self, *parts):
        said = []
        for c in self.conns:
            c.send(*parts)
            res = c.recv_until()
            said.append((res.rows, res.tags, res.kinds.replace("S", ""),
                         [(e.code, e.message) for e in res.errors]))
        got, want = said
        assert got == want, parts
        return got


def steps(r, twins, n):
    owner = None		# of what is open: who changes schemas, changes alone
    for _ in range(n):
        t = r.choice(twins)
        kind = r.random()
        if owner is not None and t is not owner:
            # it would wait for the lock of the one that has changed something
            t = owner
        if kind < 0.72:
            count = r.choice((1, 1, 1, 2, 3))
            begin = [pq.parse("begin") + pq.bind() + pq.execute()] * (
                not t.block and r.random() < 0.2)
            parts = begin + [batch(*r.choice(TEXTS), r.choice(
                ("plain", "statement", "blind"))) for _ in range(count)]
            t.block = t.block or bool(begin)
            t.ask(*parts, pq.sync())
        elif kind < 0.80:
            t.ask(pq.query(r.choice(QUERIES[:-1] if t.block else QUERIES)))
        elif kind < 0.90:
            sql = r.choice(DDL)
            # a pinned server is one less for the others
            t.ask(pq.query(sql if t is twins[0] or "temp" not in sql else
                           "select 1"))
            owner = t if t.block else None
        elif not t.block:
            t.ask(pq.query("begin"))
            t.block = True
        else:
            t.ask(pq.query(r.choice(("commit", "rollback"))))
            t.block, owner = False, None
        # nobody waits for a lock of a transaction that is open
        for other in twins:
            if other.block and other is not owner and r.random() < 0.5:
                other.ask(pq.query("commit"))
                other.block = False
        if any(x.block for x in twins):
            owner = next(x for x in twins if x.block)


@pytest.mark.parametrize("seed", range(FIRST, FIRST + SEEDS))
@pytest.mark.parametrize("how", [
    dict(session_state="keep"),
    dict(session_state="keep", max_prepared_statements=3),
    dict(session_state="keep", workers=2)], ids=["keep", "few", "workers"])
def test_answers_are_those_of_postgresql(pooler, how, seed):
    """pooling.md 25"""
    pg = cluster()
    for db in ("unn_own", "unn_pooled"):
        pg.sql("drop database if exists %s with (force)" % db)
        pg.sql("create database %s" % db)
        pg.sql("grant app2 to app")
        pg.sql(*[s % db if "%s" in s else s for s in START], db=db)
    p = pooler({"p0": "dbname=unn_pooled"}, default_pool_size=2,
               cache_unnamed_statements=1, **how)
    twins = [Twins(p, n) for n in range(CLIENTS)]
    try:
        steps(random.Random(seed), twins, STEPS)
        st = p.stats()
        assert st["total_client_parse_count"] > \
            st["total_server_parse_count"] > 0
    finally:
        for t in twins:
            for c in t.conns:
                c.close()
        p.stop()
        for db in ("unn_own", "unn_pooled"):
            pg.sql("drop database if exists %s with (force)" % db)
        pg.sql("revoke app2 from app")
