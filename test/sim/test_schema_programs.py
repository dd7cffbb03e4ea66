# test_schema_programs.py - statements amid changes of the schema by others.
# SPDX-License-Identifier: ISC
"""Clients share fewer servers than there are clients. Each prepares statements
with and without names, and uses them in later round trips, so that another
server has them or none. A connection of its own to PostgreSQL changes the
tables meanwhile: the pooler cannot know of it. Each client decodes a row by the
last description that it has received, as drivers do. It must never read a wrong
value: it reads the right one, or it gets an error that a change of the schema
explains. A statement that a client prepares anew after an error works.
SIM_SCHEMA is how many steps a seed takes, SIM_SEED the first seed, SIM_SEEDS how
many there are.
"""
import os
import random
import struct

import pytest

import pq
from harness import REFERENCE

STEPS = int(os.environ.get("SIM_SCHEMA", "400"))
FIRST = int(os.environ.get("SIM_SEED", "1"))
SEEDS = int(os.environ.get("SIM_SEEDS", "2"))
CLIENTS, SERVERS, TABLES = 6, 3, 2
INT4, INT8, TEXT, FLOAT4 = 23, 20, 25, 700
CHANGED = "0A000"		# cached plan must not change result type
FAILED = "25P02"		# of a transaction that has failed
TOO_MANY = "08P01"		# formats for columns that are gone, or are new

pytestmark = pytest.mark.skipif(REFERENCE, reason="not so there")

CHANGES = [
    ["alter table %s rename a to z", "alter table %s rename b to a",
     "alter table %s rename z to b"],
    ["alter table %s drop a", "alter table %s add a int default 10"],
    ["alter table %s drop b", "alter table %s add b text default 'x'"],
    ["alter table %s drop if exists c", "alter table %s add c int default 7"],
    ["alter table %s drop if exists c"],
    ["alter table %s alter id type bigint"],
    ["alter table %s alter id type int"],
    ["alter table %s alter id type float4"],
    # of nothing that a statement returns
    ["create index on %s (id)"], ["analyze %s"],
]


def fields_of(body):
    """The values of a DataRow, as they came."""
    found, at = [], 2
    for _ in range(struct.unpack_from("!h", body)[0]):
        n, at = struct.unpack_from("!i", body, at)[0], at + 4
        found.append(None if n < 0 else body[at:at + n])
        at += max(n, 0)
    return found


def decode(kind, binary, value):
    if value is None:
        return None
    if not binary:
        return value.decode() if kind == TEXT else float(value)
    form = {INT4: "!i", INT8: "!q", FLOAT4: "!f"}.get(kind)
    return float(struct.unpack(form, value)[0]) if form else value.decode()


def read(res, known, formats):
    """{column: value} of the only row, by the columns that are known."""
    body = next(body for kind, body in res.messages if kind == "D")
    row = fields_of(body)
    binary = list(formats) * len(row) if len(formats) == 1 else \
        list(formats) or [0] * len(row)
    assert len(row) == len(known), (row, known)
    return {name: decode(kind, form, value) for (name, kind), form, value
            in zip(known, binary, row)}


class Truth:
    """The tables, and the connection that changes them."""

    def __init__(self, pg):
        self.pg, self.changes = pg, [0] * TABLES
        for k in range(TABLES):
            pg.sql("drop table if exists s%d" % k,
                   "create table s%d (id int, a int, b text)" % k,
                   "insert into s%d values (1, 10, 'x')" % k,
                   "grant all on s%d to public" % k, db="p0")
        self.conn = pq.Conn(port=pg.port).login("postgres", database="p0")
        # a client may have locked the table in its transaction
        self.conn.query("set lock_timeout = '20ms'")

    def change(self, r):
        k = r.randrange(TABLES)
        table = "s%d" % k
        self.conn.query("begin")
        done = all([not self.conn.try_query(
            sql % table).errors for sql in r.choice(CHANGES)])
        self.conn.query("commit" if done else "rollback")
        self.changes[k] += done

    def row(self, k):
        res = self.conn.query("select * from s%d" % k).check()
        return read(res, [(c[0], c[3]) for c in res.desc], ())


class Statement:
    def __init__(self, table, made, known):
        self.table = table
        self.made = made	# changes of the table before it was prepared
        self.known = known	# [(name, type)] as described, or None


class Client:
    def __init__(self, p, truth, r):
        self.conn, self.truth, self.r = p.raw("app"), truth, r
        self.statements, self.status, self.done = {}, "I", []

    def send(self, *messages):
        self.conn.send(*messages, pq.sync())
        res = self.conn.recv_until()
        self.status = res.status
        return res

    def note(self, *words):
        self.done = self.done[-20:] + [words]

    def explain(self, *words):
        return "\n".join(map(str, self.done + [words]))

    def prepare(self, name, table, described):
        """False: an old statement of this text was refused."""
        messages = [pq.close("S", name)] if name in self.statements else []
        messages.append(pq.parse("select * from s%d" % table, name))
        if described:
            messages.append(pq.describe("S", name))
        self.note("prepare", name, table, described)
        self.statements.pop(name, None)
        res = self.send(*messages)
        if res.errors:
            code = res.errors[0].code
            assert code == CHANGED and self.truth.changes[table], \
                self.explain(code)
            if name:
                self.send(pq.close("S", name))
            return False
        self.statements[name] = Statement(
            table, self.truth.changes[table],
            [(c[0], c[3]) for c in res.desc] if described else None)
        return True

    def run(self, name, described):
        made = self.statements[name]
        formats = self.r.choice([(), (1,)] + (
            [(1,) * len(made.known)] if made.known else []))
        messages = [pq.bind(name, result_formats=formats)]
        if described:
            messages.append(pq.describe("P"))
        self.note("run", name, described, formats)
        res = self.send(*messages, pq.execute())
        if res.errors:
            self.refused(name, made, formats, res.errors[0].code)
            return
        known = [(c[0], c[3]) for c in res.desc] if described else made.known
        if name:
            # of "" that is remembered of the statement alone: see pooling.md 16
            made.known = known
        if known:
            want = self.truth.row(made.table)
            assert read(res, known, formats) == want, self.explain(want)

    def refused(self, name, made, formats, code):
        allowed = [FAILED] if self.status == "E" else []
        changes = self.truth.changes[made.table]
        # a server may have the text from before: that shows when it is
        # described or run
        if changes > (0 if name and made.known is None else made.made):
            allowed += [CHANGED] + ([TOO_MANY] if len(formats) > 1 else [])
        assert code in allowed, self.explain(code)
        if self.status == "I":
            # it works as soon as it is prepared anew
            assert self.prepare(name, made.table, True) or \
                self.prepare(name, made.table, True), self.explain()
            self.run_after(name)

    def run_after(self, name):
        made = self.statements[name]
        res = self.send(pq.bind(name), pq.execute())
        assert not res.errors, self.explain(res.errors[0].code)
        assert read(res, made.known, ()) == self.truth.row(made.table), \
            self.explain()

    def query(self, sql):
        self.note(sql)
        res = self.conn.query(sql)
        # a Query ends the unnamed statement, as in PostgreSQL
        self.statements.pop("", None)
        self.status = res.status

    def step(self):
        if self.status == "E":
            return self.query("rollback")
        kind, name = self.r.random(), self.r.choice(["", "s1", "s2"])
        if kind < 0.08:
            return self.query("begin" if self.status == "I" else "commit")
        if kind < 0.12:
            return self.query("select 1")
        if kind < 0.3 or name not in self.statements:
            return self.prepare(name, self.r.randrange(TABLES),
                                self.r.random() < 0.7)
        return self.run(name, self.r.random() < 0.2)


@pytest.mark.parametrize("state", ["forget", "keep"])
@pytest.mark.parametrize("seed", range(FIRST, FIRST + SEEDS))
def test_changes_of_the_schema_show_no_wrong_value(pooler, pg, seed, state):
    r = random.Random("%d %s" % (seed, state))
    truth = Truth(pg)
    p = pooler(default_pool_size=SERVERS, session_state=state)
    crew = [Client(p, truth, r) for _ in range(CLIENTS)]
    for _ in range(STEPS):
        if r.random() < 0.05:
            truth.change(r)
        busy = [c for c in crew if c.status != "I"]
        # each transaction holds a server
        r.choice(busy if len(busy) >= SERVERS - 1 else crew).step()
    for c in crew:
        c.conn.close()
    truth.conn.close()
