# test_faults_at_once.py - all attacks and faults at once, beside clients that behave.
# SPDX-License-Identifier: ISC
"""STORM_SECONDS=600 makes a long one of it (with BIG=1, or a test may not take so
long). What must hold: no row is written
twice, none that was confirmed is missing, nobody reads what is another's, nobody
waits without end, an administrator always gets in, and all that the storm took is
given back."""
import contextlib
import os
import random
import threading

import pytest

import pq
from harness import REFERENCE, TIMEOUT, wait_until
from test_streams import CLIENTS, SERVERS, STARTUP, Flood, Stream

pytestmark = pytest.mark.skipif(REFERENCE, reason="it would not survive")

SECONDS = float(os.environ.get("STORM_SECONDS") or 6)
SEED = int(os.environ.get("STORM_SEED") or 1)
SIZES = {"p0": 4, "p1": 3}	# of pools
FAILURES = (pq.PgError, pq.Closed, OSError)


class Actor(threading.Thread):
    """Does something again and again, until the storm is over."""

    def __init__(self, storm, n):
        super().__init__(daemon=True)
        self.storm, self.n = storm, n
        self.random = random.Random("%d %s %d" % (
            SEED, type(self).__name__, n))
        self.turns, self.wrong = 0, None
        self.start()

    def run(self):
        try:
            while not self.storm.over.is_set():
                try:
                    self.act()
                except TimeoutError:
                    raise AssertionError("no answer in %d s" % TIMEOUT) \
                        from None
                except FAILURES:
                    pass
                self.turns += 1
        except BaseException as e:
            self.wrong = "%s %d: %r" % (type(self).__name__, self.n, e)


class Writer(Actor):
    """A client that behaves: knows what it wrote, and reads its own only."""

    def __init__(self, storm, n):
        self.sent, self.confirmed = [], []
        super().__init__(storm, n)

    def act(self):
        c = self.storm.p.raw("app", "p0")
        me = "writer %d" % self.n
        try:
            c.query("set application_name = '%s'" % me)
            for _ in range(50):
                if self.storm.over.is_set():
                    return
                self.write(c)
                assert c.value("show application_name") == me
                self.check_unnamed(c)
        finally:
            c.close()

    def write(self, c):
        key = len(self.sent)
        self.sent.append(key)
        c.send(pq.parse("insert into storm values (%d, $1)" % self.n),
               pq.bind(params=[str(key)]), pq.execute(), pq.sync())
        res = c.recv_until("Z")
        if res.tags == ["INSERT 0 1"] and not res.errors:
            self.confirmed.append(key)

    def check_unnamed(self, c):
        """the statement is of an earlier round trip"""
        c.send(pq.parse("select 'of %d'" % self.n), pq.sync())
        if c.recv_until("Z").errors:
            return
        c.send(pq.bind(), pq.execute(), pq.sync())
        res = c.recv_until("Z")
        assert res.errors or res.rows == [["of %d" % self.n]], res.rows


class Attacker(Actor):
    """A stream of test_streams: whole, cut off, or not read."""

    def act(self):
        p = self.storm.p
        kind = self.random.choice(sorted({**CLIENTS, **STARTUP}))
        data = {**CLIENTS, **STARTUP}[kind]
        data = data[:self.random.choice([9, 1000, 1 << 16, 1 << 20])]
        c = p.open() if kind in STARTUP else p.raw("app2", "p1")
        s = Stream(c, data)
        self.storm.over.wait(self.random.random() * 0.3)
        s.close()


class Stranger(Actor):
    """Opens connections, sends half of something, and stays."""

    def act(self):
        held = []
        for _ in range(20):
            c = self.storm.p.open()
            held.append(c)
            c.sock.sendall(pq.startup({"user": "app", "database": "p0"})[
                :self.random.randrange(40)])
        self.storm.over.wait(0.2)
        for c in held:
            c.abort()


class Victim(Actor):
    """Needs a server that never stops sending, or that is not there."""

    def act(self):
        name = self.random.choice(self.storm.bad)
        c = self.storm.p.open()
        try:
            c.login("app", database=name, wait=False)
            c.send(pq.query("select 1"))
            self.storm.over.wait(0.3)
        finally:
            c.abort()


class SlowReader(Actor):
    """Asks for much, and reads little of it."""

    def act(self):
        c = self.storm.p.raw("app2", "p1")
        try:
            c.send(pq.query("select repeat('x', 1000000) "
                            "from generate_series(1, 20)"))
            c.recv_bytes(100)
            self.storm.over.wait(0.5)
        finally:
            c.abort()


class Administrator(Actor):
    """What people and PostgreSQL do at any time; the console lets him in."""

    ORDERS = ["reload", "pause p0", "resume p0", "reconnect p0", "kill p1",
              "resume p1", "reconnect", "show health", "show clients",
              "show mem", "wait_close p0"]

    def act(self):
        pg, p = self.storm.pg, self.storm.p
        if self.random.randrange(3) == 0:
            pg.sql("select pg_terminate_backend(pid) from pg_stat_activity "
                   "where datname in ('p0', 'p1') and backend_type = "
                   "'client backend' and usename <> 'postgres' "
                   "order by random() limit 2")
        try:
            c = p.raw("admin", "pgbouncer", password="adminpw")
        except FAILURES as e:
            raise AssertionError("the console is shut: %r" % e) from None
        try:
            what = self.random.choice(self.ORDERS)
            c.send(pq.query(what))
            if not what.startswith("wait"):
                with contextlib.suppress(pq.PgError):
                    c.recv_until("Z")
        finally:
            c.close()
        self.storm.over.wait(0.05)
        if self.random.randrange(2):
            for db in ("p0", "p1"):
                with contextlib.suppress(pq.PgError):
                    p.admin("resume " + db)


class Storm:
    def __init__(self, p, pg, bad):
        self.p, self.pg, self.bad = p, pg, bad
        self.over = threading.Event()
        self.actors = [kind(self, n) for kind, count in (
            (Writer, 4), (Attacker, 4), (Stranger, 1), (Victim, 2),
            (SlowReader, 2), (Administrator, 1)) for n in range(count)]

    def end(self):
        self.over.set()
        for a in self.actors:
            a.join(TIMEOUT)
        assert [a.wrong for a in self.actors if a.wrong] == []
        assert [a for a in self.actors if a.is_alive()] == []


def used(p):
    """{kind of object: how many} of SHOW MEM"""
    return {r["name"]: int(r["used"]) for r in p.show("mem")}


def busy(p):
    """A server is "used" that was idle for longer than server_check_delay."""
    return [r for r in p.show("servers") if r["state"] not in ("idle", "used")]


def await_idle(p):
    try:
        wait_until(lambda: not busy(p))
    except AssertionError:
        raise AssertionError("servers are not idle: %r; clients: %r" % (
            busy(p), p.show("clients"))) from None


def lend_all(p, user, db, size):
    """As many clients as the pool has places get a server at the same time."""
    clients = [p.raw(user, db) for _ in range(size)]
    for c in clients:
        c.query("begin")
    assert len(p.show("servers", database=db, user=user, state="active")) == \
        size
    for c in clients:
        c.query("rollback")
        c.close()


def resident(p):
    """kB; for the reader: a sanitizer's allocator keeps what was freed"""
    with open("/proc/%d/status" % p.proc.pid) as f:
        return [int(line.split()[1]) for line in f
                if line.startswith("VmRSS:")][0]


@pytest.mark.parametrize("how", [
    {}, {"session_state": "keep", "workers": 2}], ids=["forget", "keep"])
def test_storm_loses_nothing_and_takes_nothing_with_it(pooler, pg, how):
    floods = [Flood(*said) for said in SERVERS.values()]
    bad = ["f%d" % n for n in range(len(floods))]
    pg.sql("create table if not exists storm (who int, key int)",
           "truncate storm", "grant all on storm to app", db="p0")
    p = pooler({**{db: "pool_size=%d" % n for db, n in SIZES.items()}, **{
        name: "host=127.0.0.1 port=%d" % f.port
        for name, f in zip(bad, floods)}}, server_login_retry=0.1,
        server_connect_timeout=1, server_down_timeout=1, log_connections=0,
        log_disconnections=0, log_pooler_errors=0, query_wait_timeout=5,
        client_login_timeout=3, **how)
    for db in ("p0", "p1"):
        p.raw(database=db).query("select 1")
    before = resident(p)
    storm = Storm(p, pg, bad)
    try:
        storm.over.wait(SECONDS)
    finally:
        storm.end()
        for f in floods:
            f.close()
    for db in ("p0", "p1"):
        with contextlib.suppress(pq.PgError):
            p.admin("resume " + db)
    c = p.raw(database="p0")
    assert c.value("select 1") == "1"
    for a in storm.actors:
        if isinstance(a, Writer):
            there = [int(r[0]) for r in pg.sql(
                "select key from storm where who = %d" % a.n, db="p0")]
            assert len(there) == len(set(there)), "a row is there twice"
            assert set(a.confirmed) <= set(there) <= set(a.sent)
            assert a.confirmed, "writer %d was never served" % a.n
    assert sum(a.turns for a in storm.actors) > len(storm.actors)
    # what the storm held is given back
    wait_until(lambda: used(p)["client_cache"] <= 4, what="clients to be gone")
    await_idle(p)
    lend_all(p, "app", "p0", SIZES["p0"])
    lend_all(p, "app2", "p1", SIZES["p1"])
    await_idle(p)
    p.admin("reconnect")
    wait_until(lambda: used(p)["server_cache"] <= 8, what="servers to be gone")
    pg.sql("drop table storm", db="p0")
    print("resident:", before, resident(p), "turns:", {type(a).__name__: a.turns for a in storm.actors})
