# test_silence.py - queries that last longer than a server may be silent.
# SPDX-License-Identifier: ISC
"""The pooler asks a silent server by a Sync of its own: PostgreSQL's answers are
those that it gives directly (spec/pooling.md section 12). What an answer that is
lost leads to is in sim/test_lost_answers.py."""
import pytest

import pq
from harness import REFERENCE

pytestmark = pytest.mark.skipif(REFERENCE, reason="asks nothing")


def batch(sql):
    return pq.parse(sql) + pq.bind() + pq.execute()


def data(*lines):
    return b"".join(pq.copy_data(b"%d\n" % n) for n in lines)


BAD = pq.copy_data(b"x\n") + pq.copy_done()
COPY = "copy silent from stdin"
LOCK = "lock silent in access share mode"

# what is sent before the server falls silent, and, once the lock is free, what
# it answers up to, and what is sent then
PROGRAMS = {
    "query": ([pq.query("select 1 from silent where n < 0")], "Z", b""),
    "queries": ([pq.query("begin; " + LOCK + "; commit; select 1") + pq.query("select 2")],
                "ZZ", b""),
    "batch": ([batch("insert into silent values (2)") + pq.sync()], "Z", b""),
    "batch, query": ([batch("insert into silent values (3)") + pq.sync()
                      + pq.query("select 3")], "ZZ", b""),
    "an error": ([pq.query("begin; " + LOCK + "; select 1/0")], "Z",
                 pq.query("rollback")),
    "a block": ([pq.query("begin; insert into silent values (4)")], "Z",
                pq.query("rollback")),
    "copy": ([pq.query(COPY)], "G", data(5) + pq.copy_done()),
    "copy in one piece": ([pq.query(COPY) + data(6) + pq.copy_done()], "Z",
                          pq.query("select 6")),
    "copy that fails": ([pq.query(COPY)], "G", BAD),
    "copy that is given up": ([pq.query(COPY)], "G", pq.copy_fail("no")),
    "copy behind a query": ([pq.query("begin; " + LOCK + "; commit") + pq.query(COPY)], "ZG",
                            data(7) + pq.copy_done()),
    "extended copy": ([batch(COPY) + pq.sync()], "G",
                      data(8) + pq.copy_done() + pq.sync()),
    "extended copy that fails": ([batch(COPY) + pq.sync()], "G",
                                 BAD + pq.sync()),
    "open batch": ([batch("insert into silent values (9)") + pq.flush()], "C",
                   pq.query("rollback") + pq.sync()),
}


def tell(c, program):
    """All that is answered."""
    _, ends, then = program
    got = []

    def hear(kinds):
        for end in kinds:
            while True:
                kind, body = c.recv()
                got.append((kind, pq.fields(body).get("C") if kind == "E"
                            else body))
                if kind == end:
                    break
    hear(ends)
    if then:
        c.send(then)
        hear("Z" * (then.count(b"Q\0") + then.count(b"S\0\0\0\4")
                    or 1))
    c.send(pq.query("select 'end'"))
    hear("Z")
    return got


@pytest.fixture
def table(pg):
    pg.sql("create table silent (n int)", "grant all on silent to public",
           db="p0")
    yield
    pg.sql("drop table silent", db="p0")


@pytest.mark.parametrize("mode", ["session", "transaction"])
def test_what_lasts_long_is_not_disturbed(pooler, pg, table, mode):
    """each answer as without a pooler, and in order; nothing is run twice"""
    p = pooler(pool_mode=mode, server_connect_timeout=1.5, verbose=1,
               default_pool_size=len(PROGRAMS), session_state="forget")
    want, seen = {}, {}
    with pg.connect(dbname="p0") as holder:
        for port, got in ((pg.port, want), (p.port, seen)):
            clients = {k: pq.Conn(port=port).login("app", database="p0")
                       for k in PROGRAMS}
            holder.execute("truncate silent")
            holder.execute("begin")
            holder.execute("lock silent in access exclusive mode")
            for k, c in clients.items():
                c.send(*PROGRAMS[k][0])
            if port == p.port:
                p.wait_log("silent for long", count=len(PROGRAMS) - 1)
            holder.execute("rollback")
            for k, c in clients.items():
                got[k] = tell(c, PROGRAMS[k])
                c.close()
            got["rows"] = sorted(pg.sql("select n from silent", db="p0"))
    assert seen == want
