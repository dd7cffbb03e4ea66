# test_load.py - many clients, few servers.
# SPDX-License-Identifier: ISC
import random
import re
import selectors
import struct
import threading
import time

import pytest

import pq
from harness import ASAN, BIG, REFERENCE, binary, pgbench, run, wait_until

SECONDS = 30 if BIG else 4

pytestmark = pytest.mark.usefixtures("many_files")


class Watch(threading.Thread):
    """The highest number of server connections seen."""

    def __init__(self, pg, db="bench"):
        super().__init__(daemon=True)
        self.pg, self.db, self.most = pg, db, 0
        self.stop = threading.Event()

    def run(self):
        with self.pg.connect() as c:
            while not self.stop.wait(0.05):
                n = c.execute("select count(*) from pg_stat_activity where "
                              "datname=%s and usename='app'",
                              (self.db,)).fetchone()[0]
                self.most = max(self.most, n)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.join()


@pytest.mark.parametrize("script", ["-S", "-btpcb-like"])
@pytest.mark.parametrize("mode", ["simple", "extended", "prepared"])
def test_pgbench_through_a_pool_of_20(pooler, pg, mode, script):
    """100 clients, pool of 20: no error, SHOW agrees with pgbench"""
    if REFERENCE and mode == "prepared":
        pytest.skip("newer than that")
    pg.make_bench()
    p = pooler({"bench": ""}, default_pool_size=20)
    # pgbench prepares without leaving its thread: a thread that waits for a
    # server must not be the one whose other clients hold them all
    jobs = "100" if mode == "prepared" else "2"
    with Watch(pg) as w:
        done, text = pgbench(p, "-M", mode, script, "-j", jobs, clients=100,
                             seconds=SECONDS)
    assert done > 100 and "aborted" not in text
    assert 1 <= w.most <= 20
    st = p.stats("bench")
    stmts = 7 if script != "-S" else 1
    slack = 100 * stmts if mode == "prepared" else 0
    assert done <= st["total_xact_count"] <= done + slack + 10
    assert st["total_query_count"] >= done * stmts
    p.wait_pool("bench", cl_active=0, cl_waiting=0, sv_active=0)
    assert len(p.servers("bench")) <= 20
    if not REFERENCE:
        m = re.search(r"average = ([\d.]+) ms", text)
        assert m and st["total_client_login_count"] in (100, 101)


def test_pgbench_with_a_connection_per_transaction(pooler, pg):
    """pgbench -C: logins under load"""
    pg.make_bench()
    p = pooler({"bench": ""}, default_pool_size=5, log_connections=0,
               log_disconnections=0)
    done, _ = pgbench(p, "-S", "-C", clients=10, seconds=SECONDS // 2)
    assert done > 10
    p.wait_pool("bench", cl_active=0, cl_waiting=0, sv_active=0)


@pytest.mark.parametrize("mode", ["session", "statement"])
def test_pgbench_in_other_modes(pooler, pg, mode):
    """pooling.md 8"""
    pg.make_bench()
    p = pooler({"bench": ""}, default_pool_size=20, pool_mode=mode)
    n = 10 if mode == "session" else 40
    done, _ = pgbench(p, "-S", "-M", "extended", clients=n,
                      seconds=SECONDS // 2)
    assert done > 10


def open_many(p, n):
    """n raw logged-in clients, opened with many logins in flight."""
    out = []
    while len(out) < n:
        batch = [p.open() for _ in range(min(100, n - len(out)))]
        for c in batch:
            c.login("app", database="p0", wait=False)
        for c in batch:
            c.finish_login("app")
        out += batch
    return out


def test_a_thousand_clients_queue_on_one_server(pooler, pg):
    """pooling.md 5: all are served, in order"""
    n = 1000
    pg.sql("truncate seq_log", db="p0")
    p = pooler(default_pool_size=1, log_connections=0, log_disconnections=0)
    holder = p.raw()
    holder.query("begin")
    clients = open_many(p, n)
    step = 50
    for at in range(0, n, step):
        for i in range(at, at + step):
            clients[i].send(pq.query(
                "insert into seq_log(who) values ('%04d')" % i))
            if i % 10 == 0:
                p.wait_pool(cl_waiting=i + 1)
        p.wait_pool(cl_waiting=at + step)
    holder.query("commit")
    sel = selectors.DefaultSelector()
    for c in clients:
        sel.register(c.sock, selectors.EVENT_READ, c)
    left, end = n, time.monotonic() + 120
    while left:
        assert time.monotonic() < end
        for key, _ in sel.select(10):
            key.data.recv_until().check()
            sel.unregister(key.fileobj)
            left -= 1
    servers = p.servers()
    for c in clients:       # psycopg can't wait for descriptors past 1,024
        c.close()
    order = [int(r[0]) for r in pg.sql(
        "select who from seq_log order by n", db="p0")]
    assert sorted(order) == list(range(n))
    # sent one after another by one thread; arrival may swap only within a
    # burst that the pooler read in one turn
    assert all(abs(pos - i) <= 10 for pos, i in enumerate(order))
    assert len(servers) == 1


def test_idle_crowd_and_busy_few(pooler):
    """5,000 idle clients (BIG) plus 50 busy ones"""
    n = 5000 if BIG else 1000
    p = pooler(default_pool_size=10, max_client_conn=n + 200,
               log_connections=0, log_disconnections=0)
    p.raw().query("select 1")
    rss = p.rss()
    idle = open_many(p, n)
    p.wait_pool(cl_active=n + 1, cl_waiting=0)
    # what libevent keeps of each socket, if it polls them
    more = 400 if "poller: libevent" in \
        run([binary(), "-V"], cwd="/").stdout else 0
    if not (ASAN or REFERENCE):
        assert (p.rss() - rss) / n < 1000 + more
    busy = open_many(p, 50)
    for r in range(20 if not BIG else 200):
        for i, c in enumerate(busy):
            c.send(pq.query("select %d" % (r * 100 + i)))
        for i, c in enumerate(busy):
            assert c.recv_until().rows == [[str(r * 100 + i)]]
    rnd = random.Random(1)
    for c in rnd.sample(idle, 100):
        assert c.value("select 'awake'") == "awake"
    for c in idle:
        c.close()
    p.wait_pool(cl_active=51)
    assert len(p.servers()) <= 10


def test_connection_storm(pooler):
    """family 2: many logins at once, some of them leave half way"""
    # regressions: Ody #352, PgCat 976b406
    p = pooler(default_pool_size=3, log_connections=0,
               log_disconnections=0, listen_backlog=1024)
    conns = [p.open() for _ in range(500)]
    for i, c in enumerate(conns):
        c.login("app", database="p0", wait=False)
        if i % 3 == 0:
            c.sock.setsockopt(1, 13, struct.pack("ii", 1, 0))
            c.close(polite=False)
    for i, c in enumerate(conns):
        if i % 3:
            c.finish_login("app")
            c.send(pq.query("select %d" % i))
    for i, c in enumerate(conns):
        if i % 3:
            assert c.recv_until().rows == [[str(i)]]
    p.wait_pool(cl_waiting=0, sv_active=0)
    wait_until(lambda: p.pool()["cl_active"] == 333)
