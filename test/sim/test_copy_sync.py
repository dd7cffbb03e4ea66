# test_copy_sync.py - an extended COPY whose Sync came before its data.
# SPDX-License-Identifier: ISC
"""If it fails, PostgreSQL answers that Sync, or has read it as data: only the
server knows, so it is asked. pooling.md section 15.
"""
import threading

import pytest

import pq
from compare import Runner
from fakepg import complete, copy_in, error, ready
from harness import REFERENCE, TIMEOUT, cluster
from programs import Flight

pytestmark = pytest.mark.skipif(REFERENCE, reason="loses the answer")

COPY = [pq.parse("copy v from stdin"), pq.bind(), pq.execute(), pq.sync()]
DATA = [pq.copy_data(b"1\tx\n"), pq.copy_done()]
INSERT = [pq.parse("insert"), pq.bind(), pq.execute(), pq.sync()]
REPLIES = {"P": "1", "B": "2", "C": "3"}


class Server:
    """COPY fails before it reads anything, or by its data. The second
    ReadyForQuery of those may have to wait for the client's consent.
    """

    def __init__(self, reads, slow):
        self.reads, self.slow = reads, slow
        self.next, self.skips, self.copies = threading.Event(), False, False
        self.syncs = 0

    def __call__(self, s, kind, body):
        if self.copies:
            if kind != "d":
                return kind in "SH"
            self.copies, self.skips = False, True
            s.send(error("bad data"))
            return True
        if kind == "S":
            self.skips = False
            self.syncs += 1
            if self.slow and self.syncs == 2:
                assert self.next.wait(TIMEOUT)
            s.send(ready())
            return True
        if self.skips or kind in "dcfH":
            return True
        if kind == "P" and b"copy" in body:
            self.statement = "copy"
        elif kind == "P":
            self.statement = "insert"
        if kind == "E" and self.statement == "copy":
            self.copies, self.skips = self.reads, not self.reads
            s.send(copy_in(2), b"" if self.reads else error("a view"))
            return True
        if kind == "E":
            s.send(complete("INSERT 0 1"))
            return True
        if kind in REPLIES:
            s.send(pq.msg(REPLIES[kind]))
            return True
        return False


# what is sent at once, and what it is answered by where the data are read,
# and where not
SENT = {
    "data": (COPY + DATA + [pq.sync()], "12GEZ", "12GEZZ"),
    "insert": (COPY + DATA + [pq.sync()] + INSERT,
               "12GEZ12CZ", "12GEZZ12CZ"),
    "two": (COPY + [pq.sync()] + DATA + [pq.sync(), pq.sync()],
            "12GEZZ", "12GEZZZZ"),
}


def come(c, kinds):
    got = ""
    for k in kinds:
        got += c.recv()[0]
        if got[-1] != k:
            break
    return got


@pytest.mark.parametrize("slow", [False, True])
@pytest.mark.parametrize("reads", [False, True])
@pytest.mark.parametrize("name", SENT)
def test_each_sync_is_answered(pooler, fakepg, name, reads, slow):
    """no answer is lost, none is another client's, and the server is kept"""
    sent, read, unread = SENT[name]
    want = read if reads else unread
    server = Server(reads, slow)
    f = fakepg(handler=server)
    p = pooler({"p0": f.conn}, default_pool_size=1)
    c, d = p.raw(), p.raw()
    c.send(*sent)
    first = want.index("Z") + 1
    assert come(c, want[:first]) == want[:first]
    server.next.set()
    assert come(c, want[first:]) == want[first:]
    assert not c.readable()
    d.send(*INSERT)
    assert come(d, "12CZ") == "12CZ"
    c.send(*INSERT)
    assert come(c, "12CZ") == "12CZ"
    assert len(f.logins()) == 1
    assert "S-" not in "".join(x for x in p.log.splitlines()
                               if "closing because" in x)


@pytest.mark.parametrize("reads", [False, True])
def test_sync_that_follows_later(pooler, fakepg, reads):
    """it is not known that it comes, so nobody waits for it"""
    f = fakepg(handler=Server(reads, False))
    p = pooler({"p0": f.conn}, default_pool_size=1)
    c = p.raw()
    c.send(*COPY + DATA)
    want = "12GE" if reads else "12GEZ"
    assert come(c, want) == want
    c.send(pq.sync())
    assert come(c, "Z") == "Z"
    c.send(*INSERT)
    assert come(c, "12CZ") == "12CZ"
    assert len(f.logins()) == 1


def test_unnamed_statement_is_left_alone(pooler, fakepg):
    """session mode: what asks the server must not change anything"""
    f = fakepg(handler=Server(True, False))
    p = pooler({"p0": f.conn}, pool_mode="session")
    c = p.raw()
    c.send(*COPY + DATA + [pq.sync()] + INSERT)
    assert come(c, "12GEZ12CZ") == "12GEZ12CZ"
    got = f.logins()[0].kinds()
    assert "Q" not in got


def test_request_behind_it_that_nobody_can_place(pooler, fakepg):
    """without a Sync behind the data it is discarded or executed: the client
    is told that this is not known, and nobody else gets the server
    """
    f = fakepg(handler=Server(False, False))
    p = pooler({"p0": f.conn}, default_pool_size=1)
    c, d = p.raw(), p.raw()
    c.send(*COPY + DATA + INSERT)
    assert come(c, "12GE") == "12GE"
    last = c.recv_all().errors[-1].fields
    assert last["S"] == "FATAL"
    assert last["M"] == "COPY failed, and the state of the " \
        "messages after it is unknown"
    d.send(*INSERT)
    assert come(d, "12CZ") == "12CZ"
    assert len(f.logins()) == 2


# --- PostgreSQL -----------------------------------------------------------

VIEW = [pq.parse("copy cview from stdin"), pq.bind(), pq.execute(), pq.sync()]
BAD = [pq.parse("copy ctab from stdin"), pq.bind(), pq.execute(), pq.sync(),
       pq.copy_data(b"x\n"), pq.copy_done(), pq.sync()]
ADD = [pq.parse("insert into ctab values (7)"), pq.bind(), pq.execute(),
       pq.sync()]
FLIGHTS = {
    "view": [VIEW + DATA + [pq.sync()]],
    "view_insert": [VIEW + DATA + [pq.sync()] + ADD],
    "view_no_data": [VIEW, ADD],
    "view_data_later": [VIEW, DATA + [pq.sync()] + ADD],
    "view_many": [VIEW + [pq.sync()] + DATA + [pq.sync(), pq.sync()]],
    "bad": [BAD],
    "bad_insert": [BAD + ADD],
    "bad_in_block": [[pq.query("begin")] + BAD + [pq.query("rollback")]],
    "named": [VIEW + DATA + [pq.sync(), pq.parse("select 1", "s1"),
              pq.sync(), pq.close("S", "s1"), pq.bind("s1"), pq.sync()]],
    "simple": [[pq.query("copy cview from stdin"), pq.sync()] + DATA],
    "simple_insert": [[pq.query("copy cview from stdin"), pq.sync()] + DATA
                      + ADD],
}


@pytest.mark.parametrize("mode", ["transaction", "session"])
def test_as_postgresql(pooler, mode):
    """spec pooling.md 15: as PostgreSQL, to the byte, however it is read"""
    cluster().sql("create table if not exists ctab (a int)",
                  "create or replace view cview as select * from ctab "
                  "union all select 1",
                  "grant all on ctab, cview to public", db="p0")
    p = pooler({"p0": ""}, default_pool_size=1, pool_mode=mode)
    runner = Runner((cluster().port, p.port), "app", "p0", True)
    pids = set()
    for name, flights in FLIGHTS.items():
        for cut in [0] * 60 + [1, 7]:
            prog = [Flight([f], True, cut) for f in flights]
            prog.append(Flight([[pq.query("select 'end'")]], True, 0))
            why = runner(prog)
            assert not why, "%s: %s" % (name, why)
        with p.raw() as c:
            pids.add(c.value("select pg_backend_pid()"))
    assert len(pids) == 1
