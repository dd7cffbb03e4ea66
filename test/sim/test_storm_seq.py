# test_storm_seq.py - random pipelines of sequences, discards and work tables.
# SPDX-License-Identifier: ISC
"""Clients of one pool, which has fewer servers than there are clients; each has
a connection of its own to PostgreSQL as well, to another database with the same
tables, where it does the same: what both say is equal (session_state=keep). Only
lastval() and currval() may be an error outside of the transaction that has drawn,
and are never the number of another client. The same while all stands still again
and again, while processes take over from each other, and while servers are killed:
then both begin anew, with the rows that the pooler's client has. With
session_state=clean nothing is left behind a transaction, as behind a DISCARD ALL.
SIM_PROGRAMS is how many pipelines a
seed has, SIM_SEED the first seed.
"""
import os
import random

import pytest

import pq
from harness import REFERENCE
from test_state_programs import FORCED, KILLED, begin, count_moved, disturb

STEPS = int(os.environ.get("SIM_PROGRAMS", "150")) * 4
SEED = int(os.environ.get("SIM_SEED", "1"))
CLIENTS, PINNERS, SERVERS = 12, 3, 5
TOLD = ("lastval", "currval")

pytestmark = pytest.mark.skipif(REFERENCE, reason="not so there")

DRAW = ["insert into n{i} default values",
        "insert into n{i} default values returning id",
        "select nextval('n{i}_id_seq')", "select setval('n{i}_id_seq', {k})",
        "insert into n{i} (id) values (default), (default)",
        "with a as (insert into n{i} default values returning id) "
        "insert into n{i} select id from a returning id",
        "do $$ begin perform nextval('n{i}_id_seq'); end $$",
        "insert into n{i} (id) values (nextval('n{i}_id_seq') / 0)"]
DISCARD = ["discard sequences", "discard plans", "discard all", "reset all",
           "discard temp"]
SET = ["set work_mem = '{m}MB'", "set local work_mem = '{m}MB'",
       "show work_mem", "reset work_mem", "set my.own = '{m}'",
       "select nullif(current_setting('my.own', true), '')"]
BLOCK = ["savepoint a", "rollback to a", "release a", "select 1/0", "select 1"]
WORK = ["create temp table w{i} (v int)", "drop table if exists pg_temp.w{i}",
        "create temp table w{i} as select {m} as v", "discard temp",
        "create temp table w{i} as select 1 as v where false",
        "select {m} as v into temp w{i}", "deallocate all",
        "create temp table w{i} (v int) on commit drop",
        "prepare p as select {m}", "execute p", "deallocate p"]
LOOK = ["select v from w{i} order by v", "insert into w{i} values ({m})",
        "delete from w{i} where v < 0", "select lastval()",
        "select currval('n{i}_id_seq')"]
NAMED = "insert into w%d (v) values ($1)"


class Both:
    """A client of the pooler, and one of PostgreSQL."""

    def __init__(self, storm, i):
        self.storm, self.i = storm, i
        self.open()

    def open(self):
        self.conns = (self.storm.p.raw(database="p0"), pq.Conn(
            port=self.storm.pg.port).login("app", database="p1"))
        self.done = []

    def close(self):
        for c in self.conns:
            c.close()

    def ask(self, messages):
        """Returns the results, up to the last of the ReadyForQuery."""
        ends = sum(m[:1] in b"QS" for m in messages)
        for c in self.conns:
            c.send(*messages)
        want = [self.conns[1].recv_until() for _ in range(ends)]
        got = []
        try:
            while len(got) < ends:
                got.append(self.conns[0].recv_until())
        except pq.Closed:
            assert self.storm.how == "kill", self.done[-12:]
        return got, want

    @staticmethod
    def plain(res):
        return (res.rows, res.tags, [e.code for e in res.errors], res.status)

    def do(self, texts, messages):
        """Returns the state; None: a server was killed amid it"""
        self.storm.stir()
        self.done.append(texts)
        got, want = self.ask(messages)
        for i, (g, w) in enumerate(zip(got, want)):
            g, w = self.plain(g), self.plain(w)
            if any(t in texts[min(i, len(texts) - 1)] for t in TOLD) and \
                    g[2] == ["55000"] and g[3] == "I":
                continue
            if self.storm.how == "kill" and g != w and KILLED & set(g[2]):
                got = []
                break
            assert g == w, (self.i, i, self.done[-12:])
        if len(got) < len(want):
            self.anew()
            return None
        if self.storm.how == "clean" and want[-1].status == "I":
            self.conns[1].query("discard all")
        return want[-1].status

    def anew(self):
        """Nobody knows what was committed"""
        self.storm.lost += 1
        self.close()
        copy = self.storm.pg.sql
        for name in ("n%d" % self.i, "w%d" % self.i):
            rows = copy("select * from %s" % name, db="p0")
            copy("delete from %s" % name, *(
                "insert into %s values (%s)" % (name, row[0])
                for row in rows), db="p1")
        seq = "n%d_id_seq" % self.i
        last, called = copy("select last_value, is_called from " + seq,
                            db="p0")[0]
        copy("select setval('%s', %s, %s)" % (seq, last, called), db="p1")
        self.open()


def one(r, sql):
    """One statement, as a request of its own"""
    if r.random() < 0.5 or ";" in sql:
        return [pq.query(sql)]
    return [pq.parse(sql), pq.bind(), *(
        [pq.describe("P")] if r.random() < 0.5 else []),
            pq.execute(), pq.sync()]


def pick(r, i, inside):
    """lastval() is asked alone, outside: it may be an error there"""
    kinds = [DRAW, DRAW, SET, DISCARD] + [LOOK] * 3 + \
        [WORK] * (3 if i < PINNERS else 0) + [BLOCK] * (2 if inside else 0)
    while True:
        sql = r.choice(r.choice(kinds)).format(
            i=i, m=r.randrange(1, 90), k=r.randrange(1, 1000) + 10000 * i)
        if inside and (sql in ("discard all", "reset all") or
                       any(t in sql for t in TOLD)):
            continue
        return sql


def named(r, i, moves):
    """
    The work table by a statement of the protocol, prepared just now. Behind a Sync
    it is there for sure only where it moves with its client.
    """
    return [pq.close("S", "st"), pq.parse(NAMED % i, "st"),
            *([pq.sync()] if moves and r.random() < 0.5 else []),
            pq.bind("st", [str(r.randrange(90))]), pq.execute(), pq.sync()]


def pipeline(r, i, inside, moves, most=4):
    """Returns the texts, one for each ReadyForQuery, and the messages."""
    texts, messages = [], []
    for _ in range(min(r.choice([1, 1, 2, 3, 4]), most)):
        if most > 1 and r.random() < 0.2:
            more, sql = named(r, i, moves or inside), NAMED % i
        else:
            sql = pick(r, i, inside)
            more = one(r, sql)
        texts += [sql] * sum(m[:1] in b"QS" for m in more)
        messages += more
    return texts, messages


def program(b, r, moves):
    """One transaction block, or a pipeline outside of one"""
    if r.random() < 0.5:
        b.do(*pipeline(r, b.i, False, moves, b.storm.most))
        return
    begin = r.choice(["begin", "begin; savepoint a"])
    if r.random() < 0.5:
        texts, messages = pipeline(r, b.i, True, moves)
        status = b.do([begin] + texts, [pq.query(begin)] + messages)
    else:
        status = b.do([begin], [pq.query(begin)])
    for _ in range(r.randrange(4)):
        status = status and b.do(*pipeline(r, b.i, True, moves))
    for sql in [r.choice(["commit", "rollback", "end"]), "select 1"]:
        status = status and b.do([sql], [pq.query(sql)])


@pytest.fixture
def tables(pg):
    for db in ("p0", "p1"):
        for i in range(CLIENTS):
            pg.sql("drop table if exists n%d, w%d" % (i, i),
                   "create table n%d (id serial)" % i,
                   "create table w%d (v int)" % i,
                   "alter table n%d owner to app" % i,
                   "alter table w%d owner to app" % i,
                   "select setval('n%d_id_seq', %d)" % (i, 10000 * i + 1),
                   db=db)
    yield
    for db in ("p0", "p1"):
        for i in range(CLIENTS):
            pg.sql("drop table n%d, w%d" % (i, i), db=db)


@pytest.mark.parametrize("prepared", [0, 100])
@pytest.mark.parametrize("seed", [SEED, SEED + 1, SEED + 2])
def test_numbers_and_rows_are_where_they_belong(tables, pooler, pg, seed,
                                                prepared):
    """also where what decides that is in the same pipeline"""
    p = pooler(default_pool_size=SERVERS, session_state="keep",
               max_prepared_statements=prepared)
    Storm(pooler, p, pg, "seq %d %d" % (seed, prepared)).run(prepared > 0)


@pytest.mark.parametrize("how, every", [
    ("suspend", 20), ("restart", 400), ("kill", 40), ("clean", 0)])
def test_so_they_are_amid_orders_and_kills(tables, pooler, pg, how, every):
    """also in the midst of transactions"""
    p = pooler(default_pool_size=SERVERS, max_prepared_statements=100,
               session_state="clean" if how == "clean" else "keep")
    Storm(pooler, p, pg, "seq %d %s" % (SEED, how), how, every).run(True)


@pytest.mark.skipif(not FORCED, reason="nothing can be forced")
@pytest.mark.parametrize("how", ["handover", "moves"])
def test_so_they_are_wherever_servers_and_clients_go(tables, pooler, pg, how):
    """each time that one is given back, or has ended its transaction"""
    p = begin(pooler, how, SERVERS)
    Storm(pooler, p, pg, "seq %d %s" % (SEED, how)).run(True)
    assert count_moved(p) > 4


class Storm:
    """every so many pipelines something is done to the pooler, by its name"""

    def __init__(self, pooler, p, pg, seed, how="", every=0):
        self.pooler, self.p, self.pg, self.how = pooler, p, pg, how
        self.every, self.count, self.lost = every, 0, 0
        # behind one of several its server may be cleaned, or not
        self.most = 1 if how == "clean" else 4
        self.r = random.Random(seed)

    def stir(self):
        self.count += 1
        if self.every and self.count % self.every == 0 and self.p.servers():
            self.p = disturb(self.pooler, self.p, self.pg, self.how, self.r)

    def run(self, moves):
        """moves: do named statements move with their clients?"""
        r = self.r
        crew = [Both(self, i) for i in range(CLIENTS)]
        for _ in range(STEPS):
            b = r.choice(crew)
            program(b, r, moves)
            if r.random() < 0.01:
                b.close()
                crew[b.i] = Both(self, b.i)
        for b in crew:
            b.close()
        if self.every:
            assert self.count > self.every
        assert (self.lost > 0) == (self.how == "kill")
        same = self.pg.sql
        for i in range(CLIENTS):
            for sql in ("select id from n%d order by 1", "select v from w%d "
                        "order by 1", "select last_value from n%d_id_seq"):
                assert same(sql % i, db="p0") == same(sql % i, db="p1")
