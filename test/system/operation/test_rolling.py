# test_rolling.py - two processes on one port, restarted in turn under load.
# SPDX-License-Identifier: ISC
import signal
import threading

import psycopg
import pytest

import harness
from harness import BIG, Load, REFERENCE, wait_until

pytestmark = pytest.mark.skipif(REFERENCE, reason="newer than that")
RESTARTS = 50 if BIG else 4


def pair(pooler, pg):
    """Two processes with one port, peers of each other."""
    pg.make_bench()
    a, b = pooler(start=False), pooler(start=False)
    b.port = a.port
    for n, p in enumerate((a, b), 1):
        p.dbs = {"bench": "", "p0": ""}
        p.settings.update(listen_port=a.port, so_reuseport=1, peer_id=n,
                          default_pool_size=4)
        p.extra = "[peers]\n1 = host=%s port=%d\n2 = host=%s port=%d" % (
            a.dir, a.port, b.dir, a.port)
        p.start()
    return a, b


def restart(p):
    """SIGTERM: it waits for its clients, and leaves; then anew."""
    p.signal(signal.SIGTERM)
    assert p.wait_exit() == 0
    assert "client connections dropped, exiting" in p.log
    with open(p.logname, "w"):
        pass
    p.start()


def clients(p):
    """Those of this very process."""
    with p.raw("admin", "pgbouncer", unix=True) as k:
        return [r for r in k.query("show clients").dicts
                if r["user"] == "app"]


class Newcomers:
    """Clients that connect for each transaction, until they are told not to:
    that takes as long as the restarts do, however slow the machine is."""

    def __init__(self, p, prepared, clients=6):
        self.p, self.prepare = p, True if prepared else None
        self.over, self.failures = threading.Event(), []
        self.counts = [0] * clients
        self.threads = [threading.Thread(target=self.run, args=(n,))
                        for n in range(clients)]

    def run(self, n):
        try:
            while not self.over.is_set():
                self.transact(n)
                self.counts[n] += 1
        except psycopg.Error as e:
            self.failures.append(e)

    def transact(self, n):
        with psycopg.connect(host="127.0.0.1", port=self.p.port, user="app",
                             dbname="p0", password="apppw",
                             connect_timeout=int(harness.TIMEOUT)) as c:
            for _ in range(2):
                row = c.execute("select %s::int + 1", [n],
                                prepare=self.prepare).fetchone()
                assert row == (n + 1,)

    def __enter__(self):
        for t in self.threads:
            t.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        for t in self.threads:
            t.join()

    def are_served(self):
        """Each of them anew."""
        before = list(self.counts)
        wait_until(lambda: self.failures or all(
            now > then for now, then in zip(self.counts, before)))
        assert self.failures == []


@pytest.mark.parametrize("prepared", [False, True])
def test_no_transaction_fails_while_processes_restart(pooler, pg, prepared):
    """so_reuseport: new connections all the time"""
    # regressions: family 8: commands under load
    pair_of = pair(pooler, pg)
    with Newcomers(pair_of[0], prepared) as load:
        for n in range(RESTARTS):
            restart(pair_of[n % 2])
            load.are_served()
    assert load.failures == []


def listening(port):
    """How many sockets are at that port, of whatever process."""
    with open("/proc/net/tcp") as f:
        rows = [line.split() for line in f][1:]
    return sum(row[1] == "0100007F:%04X" % port and row[3] == "0A"
               for row in rows)


def test_who_has_connected_may_take_its_time_to_speak(pooler, pg):
    """TCP_DEFER_ACCEPT keeps from us who says nothing: nobody is reset"""
    a, b = pair(pooler, pg)
    # the kernel deals them out: each process has some
    conns = [a.open() for _ in range(16)]
    a.signal(signal.SIGTERM)
    wait_until(lambda: listening(a.port) == 1)
    for c in conns:
        c.login("app", "apppw", "p0")
        assert c.value("select 1") == "1"
        c.close()
    assert a.wait_exit() == 0
    assert b.raw().value("select 1") == "1"


def test_long_connections_are_waited_for(pooler, pg):
    """SHUTDOWN WAIT_FOR_CLIENTS: a client stays as long as it likes"""
    a, b = pair(pooler, pg)
    load = Load(a, "-S", clients=4, seconds=3)
    load.start()
    wait_until(lambda: len(clients(a) + clients(b)) == 4
               or not load.is_alive())
    a.signal(signal.SIGTERM)
    a.wait_log("got SIGTERM, shutting down")
    load.check()
    assert a.wait_exit() == 0
    assert b.raw().value("select 1") == "1"


def test_cancel_finds_its_way_while_one_shuts_down(pooler, pg):
    """peering: the key of a process that takes no new clients any more"""
    a, b = pair(pooler, pg)
    conns = []
    # until there is one in each process
    while not (clients(a) and clients(b)):
        conns.append(a.raw())
    a.signal(signal.SIGTERM)
    a.wait_log("got SIGTERM, shutting down")
    for c in conns:
        c.query("set statement_timeout = '60s'")
        c.send(harness.pq.query("select pg_sleep(60)"))
        wait_until(lambda: pg.sql("select 1 from pg_stat_activity where "
                                  "query = 'select pg_sleep(60)'"))
        cancel(a, c)
        assert c.recv_until().errors[0].code == "57014"
        c.close()


def cancel(p, c):
    """Until it works: the first may come before the query has begun."""
    def go():
        k = p.open()
        k.send(harness.pq.untyped(harness.pq.CANCEL_REQUEST, c.key))
        k.recv_all()
        k.close(polite=False)
        return c.readable(0.5)
    wait_until(go)
