# test_handover.py - servers that go from worker to worker, while all sorts of
# things happen (doc/workers.md, "Sub-pools").
# SPDX-License-Identifier: ISC
import contextlib
import os
import random
import signal
import threading

import pytest

import pq
from harness import BIG, REFERENCE, is_forced, wait_until

pytestmark = [pytest.mark.skipif(REFERENCE, reason="not known there"),
              pytest.mark.setting("worker_handover_delay")]

SIZE = 8
CLIENTS = 24
ORDERS = 400 if BIG else 60
# what a client may hear of that, and how it ends then
ENDS = ("57P01", "08006", "08P01", "58000", "08000")


@pytest.fixture(params=["handover", "handover,moves", "by need"])
def parts(pooler, request, monkeypatch):
    """a pool with parts at two workers, whose servers and clients travel"""
    forced = request.param != "by need"
    if forced and not is_forced():
        pytest.skip("nothing is forced in this build")
    monkeypatch.setenv("PARTS_FORCE", "1")
    if forced:
        monkeypatch.setenv("PGSLUICE_FORCE", request.param)

    def start(**settings):
        return pooler(workers=2, default_pool_size=SIZE,
                      server_reset_query="", **settings)
    return start


class Traffic:
    """Clients that notice what is not theirs, and come again."""

    def __init__(self, p):
        self.p = p
        self.stop = threading.Event()
        self.wrong = []
        self.done = 0
        self.threads = [threading.Thread(target=self.run, args=(n,))
                        for n in range(CLIENTS)]
        for t in self.threads:
            t.start()

    def end(self):
        self.stop.set()
        for t in self.threads:
            t.join()
        assert not self.wrong, self.wrong[:3]

    def run(self, n):
        while not self.stop.is_set():
            try:
                with pq.Conn(port=self.p.port) as c:
                    c.login("app", self.p.userlist.get("app"), "p0")
                    self.talk(c, n)
            except (pq.Closed, ConnectionError):
                continue
            except pq.PgError as e:
                if e.code not in ENDS:
                    self.wrong.append(repr(e))
            except Exception as e:
                self.wrong.append(repr(e))
                return

    def talk(self, c, n):
        dice = random.Random(n)
        c.send(pq.parse("select %d + $1::int" % (n % 3), "own"), pq.sync())
        c.recv_until("Z")
        for k in range(10000):
            if self.stop.is_set():
                return
            if dice.random() < .5:
                assert c.value("select '%d/%d'" % (n, k)) == "%d/%d" % (n, k)
            elif dice.random() < .5:
                c.send(pq.bind("own", params=[str(k)]), pq.execute(),
                       pq.sync())
                res = c.recv_until("Z")
                if res.errors:
                    raise pq.PgError(res.errors[0].fields)
                assert res.rows == [[str(n % 3 + k)]], res.rows
            else:
                c.query("begin")
                pid = c.value("select pg_backend_pid()")
                assert c.value("select pg_backend_pid()") == pid
                c.query("commit")
            self.done += 1


def order(p, pg, dice):
    what = dice.choice(["terminate", "reload", "reconnect", "pause", "kill",
                        "disable", "suspend", "shrink", "remove", "show",
                        "drain"])
    if what == "terminate":
        for pid in pg.backends():
            if dice.random() < .5:
                pg.terminate(pid)
    elif what == "reload":
        p.reload()
    elif what == "shrink":
        for size in (SIZE // 2, SIZE):
            p.settings["default_pool_size"] = size
            p.reload()
    elif what == "remove":
        line = p.dbs.pop("p0")
        p.reload()
        p.dbs["p0"] = line
        p.reload()
    elif what in ("pause", "kill", "suspend"):
        # all goes on when who has suspended it leaves
        with p.raw("admin", "pgbouncer") as console:
            of = "" if what == "suspend" else " p0"
            console.query(what + of)
            console.query("resume" + of)
    elif what == "disable":
        p.admin("disable p0")
        p.admin("enable p0")
    elif what == "drain":
        p.admin("drain host 127.0.0.1")
        p.admin("resume host 127.0.0.1")
    elif what == "reconnect":
        p.admin("reconnect p0")
    else:
        p.show("servers")


def test_nothing_is_lost_while_all_happens(parts, pg):
    p = parts(query_wait_timeout=60)
    dice = random.Random(int(os.environ.get("SEED", 7)))
    traffic = Traffic(p)
    try:
        for _ in range(ORDERS):
            order(p, pg, dice)
            # those that were ended may be there a moment longer
            wait_until(lambda: len(pg.backends()) <= SIZE)
        done = traffic.done
        wait_until(lambda: traffic.done > done + 100)
        wait_until(lambda: sum(int(r["servers_out"])
                               for r in p.show("workers")) > 0)
    finally:
        traffic.end()
    wait_until(lambda: len(pg.backends()) == sum(
        int(r["servers"]) for r in p.show("workers")))
    # each slot is there
    clients = [p.raw() for _ in range(SIZE)]
    for c in clients:
        c.query("begin")
    # one that was closed for another part may be there a moment longer
    wait_until(lambda: len(pg.backends()) == SIZE)
    # but for a server that was terminated as its login was over
    amid = "idle server got dirty (server_login_retry)"
    assert "login_retry" not in p.log.replace(amid, "")


def test_statements_that_were_forgotten_get_in_nobodys_way(parts):
    """a server goes where somebody may prepare one of that name"""
    p = parts(max_prepared_statement_memory=2 * 6000)
    with p.raw() as c:
        assert c.value("select 1") == "1"
    wait_until(lambda: "is also served by worker" in p.log)
    failed = []

    def work(n):
        rng, c = random.Random(n), p.raw()
        for k in range(200):
            of = str(rng.randrange(40))
            c.send(pq.parse("select $1::text, %s /* %0300d */" % (of, 0),
                            "s"), pq.bind("s", [str(k)]), pq.execute(),
                   pq.close("S", "s"), pq.sync())
            r = c.recv_until()
            if r.errors or r.rows != [[str(k), of]]:
                failed.append(r.errors or r.rows)
    threads = [threading.Thread(target=work, args=(n,)) for n in range(12)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sum(int(r["servers_in"]) for r in p.show("workers")) > 0
    assert failed == []


@pytest.mark.skipif(not is_forced(), reason="nothing can be forced")
@pytest.mark.parametrize("n", range(12))
def test_end_meets_servers_on_their_way(pooler, monkeypatch, n):
    """to workers that have no such pool, and would send them back"""
    monkeypatch.setenv("PGSLUICE_FORCE", "handover")
    p = pooler(workers=4, default_pool_size=4, server_reset_query="")
    stop = threading.Event()

    def talk():
        with contextlib.suppress(pq.Closed, OSError), p.raw() as c:
            while not stop.is_set():
                c.try_query("select 1")
    threads = [threading.Thread(target=talk) for _ in range(12)]
    for t in threads:
        t.start()
    wait_until(lambda: sum(int(r["servers_in"])
                           for r in p.show("workers")) > 50)
    p.signal(signal.SIGQUIT)
    p.wait_exit()
    stop.set()
    for t in threads:
        t.join()
