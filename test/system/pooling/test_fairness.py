# test_fairness.py - pools that share a limit take turns.
# SPDX-License-Identifier: ISC
"""pooling.md 7: without turns, a released server goes to who waits in the same
pool, and one busy user keeps all others out for good.
"""
import re
import threading
import time

import pytest

import pq
from harness import REFERENCE, TIMEOUT, wait_until

pytestmark = [
    pytest.mark.skipif(REFERENCE, reason="starves them"),
    pytest.mark.setting("server_handover_delay", "max_db_connections",
                        "max_user_connections")]

WORK = "select pg_sleep(0.01)"
FAIR = TIMEOUT / 2	# seconds; without turns it is for ever


class Crowd:
    """Clients of one user that ask again as soon as they are answered."""

    def __init__(self, p, count, user="app", database="p0"):
        self.conns = [p.raw(user, database) for _ in range(count)]
        self.done, self.stopping, self.errors = 0, False, []
        self.threads = [threading.Thread(target=self.work, args=(c,))
                        for c in self.conns]
        for t in self.threads:
            t.start()

    def work(self, conn):
        try:
            while not self.stopping:
                conn.query(WORK)
                self.done += 1
        except Exception as e:  # told to the test
            self.errors.append(e)

    def stop(self):
        self.stopping = True
        for t in self.threads:
            t.join(TIMEOUT)
        assert not self.errors, self.errors


def asked(p, times, user, database):
    """The longest time one client waits for an answer."""
    c = p.open()
    start = time.monotonic()
    c.login(user, p.userlist[user], database)
    worst = time.monotonic() - start
    for _ in range(times):
        start = time.monotonic()
        c.query("select 1")
        worst = max(worst, time.monotonic() - start)
    c.close()
    return worst


@pytest.mark.parametrize("limit,user,database", [
    (dict(max_db_connections=1), "app2", "p0"),
    (dict(max_db_connections=3), "app2", "p0"),
    (dict(max_user_connections=2), "app", "p1")])
def test_busy_user_does_not_starve_another(pooler, limit, user, database):
    """latency of one client beside fifty busy ones is bounded"""
    p = pooler(query_wait_timeout=TIMEOUT, **limit)
    crowd = Crowd(p, 50)
    try:
        wait_until(lambda: crowd.done > 50)
        before = crowd.done
        assert asked(p, 5, user, database) < FAIR
        wait_until(lambda: crowd.done > before + 50)
    finally:
        crowd.stop()


def test_connections_are_not_closed_for_each_transaction(pooler):
    """turns last: server_handover_delay"""
    p = pooler(max_db_connections=1, server_handover_delay=0.5)
    other, a, b = p.raw("app2"), p.raw(), p.raw()
    begin = "begin; select pg_backend_pid()"
    pid = a.query(begin).rows
    for _ in range(3):
        start = time.monotonic()
        other.send(pq.query("select 1"))
        p.wait_pool(user="app2", cl_waiting=1)
        # someone waits at each commit: an idle server would be taken at once
        while True:
            b.send(pq.query(begin))
            p.wait_pool(cl_waiting=1)
            a.query("commit")
            wait_until(lambda: b.readable() or other.readable())
            a, b = b, a
            if other.readable():
                break
            assert a.recv_until().check().rows == pid
        assert time.monotonic() - start > 0.5
        assert other.recv_until().check().rows == [["1"]]
        # and now it is idle
        pid, before = a.recv_until().check().rows, pid
        assert pid != before


def test_zero_means_never(pooler):
    """server_handover_delay = 0: as the reference"""
    p = pooler(max_db_connections=1, server_handover_delay=0)
    a, b = p.raw(), p.raw()
    a.query("begin")
    c = p.open().login("app2", database="p0", wait=False)
    p.wait_pool(user="app2", cl_waiting=1)
    for _ in range(20):
        b.send(pq.query("begin"))
        p.wait_pool(cl_waiting=1)
        a.query("commit")
        assert b.recv_until().tags == ["BEGIN"]
        a, b = b, a
    assert not c.readable()
    assert "because: evicted" not in p.log
    # nobody waits in the other pool any more
    a.query("commit")
    c.finish_login("app2")
    assert c.value("select 1") == "1"


def test_freed_slot_goes_to_the_longest_wait(pooler):
    """the order of arrival counts over all pools"""
    # regressions: Ody b411dc1d
    p = pooler(max_db_connections=1, server_handover_delay=0)
    users = ["app2", "u0", "u1", "u2"]
    h = p.raw()
    h.query("begin")
    waiting = []
    for u in users:
        c = p.open().login(u, database="p0", wait=False)
        wait_until(lambda: p.pool("p0", u).get("cl_waiting") == 1)
        waiting.append(c)
    h.send(pq.terminate())
    for u, c in zip(users, waiting):
        c.finish_login(u)
    got = re.findall(r"p0/(\w+)@.*new connection to server", p.log)
    assert got[1:] == users


def test_a_used_server_is_kept_beside_a_busy_pool(pooler):
    """no eviction between two transactions of a steady client"""
    p = pooler(max_db_connections=3, server_handover_delay=1)
    crowd = Crowd(p, 10)
    try:
        wait_until(lambda: crowd.done > 50)
        c = p.raw("app2")
        c.query("select 1")
        start = time.monotonic()
        pids = {c.value("select pg_backend_pid()") for _ in range(50)}
        # a turn may end after server_handover_delay, not a transaction
        assert len(pids) <= 2 + (time.monotonic() - start)
    finally:
        crowd.stop()


def test_other_limits_do_not_block_the_line(pooler):
    """who can't use the slot is passed over"""
    p = pooler({"p0": "max_db_connections=1", "p1": ""},
               users={"app2": "max_user_connections=1"})
    a = p.raw("app2", "p1")
    a.query("begin")
    h = p.raw()
    h.query("begin")
    stuck = p.open().login("app2", database="p0", wait=False)
    wait_until(lambda: p.pool("p0", "app2").get("cl_waiting") == 1)
    c = p.open().login("u0", database="p0", wait=False)
    wait_until(lambda: p.pool("p0", "u0").get("cl_waiting") == 1)
    h.close()
    c.finish_login("u0")
    assert c.value("select 1") == "1"
    a.query("commit")
    stuck.finish_login("app2")
    assert stuck.value("select 1") == "1"


def test_failed_login_gives_its_slot_back(pooler, pg):
    """pgagroal #746, #875: a dead connection kept its slot"""
    p = pooler({"p0": "max_db_connections=1"}, server_login_retry=60)
    pg.sql("alter role app2 nologin")
    try:
        c = p.open().login("app2", database="p0", wait=False)
        assert c.recv_all().errors[-1].code == "28000"
        assert p.raw().value("select 1") == "1"
    finally:
        pg.sql("alter role app2 login")


def test_minimum_evicts_nobody(pooler):
    """PB#648: only who waits makes room"""
    p = pooler({"p0": "max_db_connections=1 min_pool_size=1", "p1": ""})
    a, b = p.raw(), p.raw("app2")
    a.query("select 1")
    pid = a.value("select pg_backend_pid()")
    seen = p.log.count("because: evicted")
    # several rounds of upkeep, in which the other pool wants its minimum
    idle = p.raw("u0", "p1")
    idle.send(pq.query("select pg_sleep(0.5)"))
    idle.recv_until()
    assert a.value("select pg_backend_pid()") == pid
    assert p.log.count("because: evicted") == seen


def test_released_server_is_not_stolen(pooler):
    """Odyssey b411dc1d: the first who waits gets it, not who comes by"""
    p = pooler(default_pool_size=1)
    a, b = p.raw(), p.raw()
    a.query("begin")
    b.send(pq.query("select 'b'"))
    p.wait_pool(cl_waiting=1)
    a.send(pq.query("commit"), pq.query("select 'a'"), pq.query("begin"))
    kinds = [a.recv_until().tags for _ in range(3)]
    assert kinds == [["COMMIT"], ["SELECT 1"], ["BEGIN"]]
    assert not b.readable()		# no gap between a's requests
    a.query("commit")
    a.send(pq.query("begin"))
    assert b.recv_until().rows == [["b"]]
    a.recv_until()
