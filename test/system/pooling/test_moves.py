# test_moves.py - clients go from worker to worker (doc/workers.md, "Moving").
# SPDX-License-Identifier: ISC
import contextlib
import random
import threading

import pytest

import pq
from harness import REFERENCE, is_forced, wait_until
from stopped import stopped
from test_cancel import is_sleeping
from test_takeover import take_over

pytestmark = [pytest.mark.skipif(REFERENCE, reason="not known there"),
              pytest.mark.skipif(not is_forced(), reason="nothing can be forced"),
              pytest.mark.setting("workers")]

SIZE = 16


@pytest.fixture
def restless(pooler):
    """A pooler whose clients move after each transaction."""
    def start(*args, force="moves", **settings):
        p = pooler(*args, start=False, **{
            "workers": 2, "default_pool_size": SIZE, **settings})
        p.env["PARTS_FORCE"] = "1"
        p.env["PGSLUICE_FORCE"] = force
        p.start()
        with p.raw() as c:
            assert c.value("select 1") == "1"
        wait_until(lambda: "is also served by worker" in p.log)
        return p
    return start


def moves(p):
    return sum(int(r["clients_in"]) for r in p.show("workers"))


def test_moved_it_goes_on_as_if_nothing_had_been(restless):
    p = restless()
    c = p.raw()
    c.query("set timezone = 'Asia/Tokyo'")
    c.send(pq.parse("select $1::int + 1", "s1") + pq.sync())
    c.recv_until()
    before = moves(p)
    shown = {r["id"] for r in p.show("clients") if r["database"] == "p0"}
    for n in range(20):
        assert c.value("show timezone") == "Asia/Tokyo"
        c.send(pq.bind("s1", [str(n)]) + pq.execute() + pq.sync())
        assert c.recv_until().check().rows == [[str(n + 1)]]
    assert moves(p) >= before + 20
    assert {r["id"] for r in p.show("clients")
            if r["database"] == "p0"} == shown
    c.send(pq.parse("select 1", "s1") + pq.sync())
    assert c.recv_until().errors[0].code == "42P05"


def test_pipelined_and_half_sent_queries_arrive(restless):
    p = restless()
    c = p.raw()
    data = b"".join(pq.query("select %d" % n) for n in range(200))
    rng = random.Random(7)
    while data:
        n = rng.randint(1, 60)
        c.send(data[:n])
        data = data[n:]
    got = [c.recv_until().check().rows[0][0] for _ in range(200)]
    assert got == [str(n) for n in range(200)]
    assert moves(p) > 0


def test_cancel_finds_who_has_moved(restless, pg):
    p = restless()
    clients = [p.raw() for _ in range(4)]
    for n in range(10):
        for c in clients:
            assert c.value("select %d" % n) == str(n)
        for c in clients:
            c.send(pq.query("select pg_sleep(60)"))
        is_sleeping(pg, 4)
        victim = clients[n % 4]
        pq.send_cancel(p.port, victim.key)
        assert victim.recv_until().errors[0].code == "57014"
        assert not any(c.readable() for c in clients if c is not victim)
        for c in clients:
            if c is not victim:
                pq.send_cancel(p.port, c.key)
                assert c.recv_until().errors[0].code == "57014"


def test_cancel_while_it_moves_is_harmless(restless):
    p = restless()
    c = p.raw()
    stop = threading.Event()

    def storm():
        while not stop.is_set():
            pq.send_cancel(p.port, c.key)
    t = threading.Thread(target=storm)
    t.start()
    try:
        for n in range(200):
            r = c.try_query("select %d" % n)
            assert r.errors == [] or r.errors[0].code == "57014"
    finally:
        stop.set()
        t.join()
    assert c.try_query("select 1") is not None
    p.wait_pool(cl_active_cancel_req=0, cl_waiting_cancel_req=0)


def test_orders_find_it(restless):
    p = restless()
    c = p.raw()
    stop = threading.Event()
    said = []

    def talk():
        with contextlib.suppress(pq.Closed, OSError):
            while not stop.is_set():
                r = c.try_query("select 1")
                if r.errors:
                    said.append(r.errors[0])
    t = threading.Thread(target=talk)
    t.start()
    k = p.raw("admin", "pgbouncer")
    try:
        for _ in range(20):
            rows = [r for r in p.show("clients") if r["database"] == "p0"]
            assert len(rows) == 1
            for order in ("suspend", "resume", "pause", "resume"):
                k.query(order)
        p.admin("kill_client %s" % rows[0]["id"])
        wait_until(lambda: not t.is_alive())
        assert "admin forced disconnect" in str(said) or c.at_eof()
    finally:
        stop.set()
        t.join()
    assert [r for r in p.show("clients") if r["database"] == "p0"] == []


def test_limit_of_clients_holds_meanwhile(restless):
    p = restless(max_user_client_connections=8)
    clients = [p.raw() for _ in range(8)]
    for n in range(20):
        for c in clients:
            c.send(pq.query("select 1"))
        with pytest.raises(pq.PgError):
            p.raw()
        for c in clients:
            c.recv_until().check()
    clients.pop().close()
    wait_until(lambda: len([r for r in p.show("clients")
                            if r["database"] == "p0"]) == 7)
    assert p.raw().value("select 1") == "1"


class Talker(threading.Thread):
    """Says what it can in pieces, and compares the answers."""
    def __init__(self, c, number, stop):
        super().__init__()
        self.c, self.stop = c, stop
        self.rng = random.Random(number)
        self.error, self.said = None, 0

    def say(self, data):
        at = 0
        while at < len(data):
            n = self.rng.randint(1, len(data))
            self.c.send(data[at:at + n])
            at += n

    def answer(self, expected):
        r = self.c.recv_until()
        if r.errors:
            assert r.errors[0].code == "57014", r.errors[0]
        else:
            assert r.rows == [[expected]], r.rows

    def one(self, n):
        kind = self.rng.randint(0, 3)
        if kind == 0:
            self.say(pq.query("select %d" % n) * 2)
            self.answer(str(n))
            self.answer(str(n))
        elif kind == 1:
            name = "s%d" % n
            self.say(pq.parse("select $1::int + %d" % n, name) +
                     pq.sync())
            if self.c.recv_until().errors:
                return
            for k in range(3):
                self.say(pq.bind(name, [str(k)]) + pq.execute() + pq.sync())
                self.answer(str(n + k))
        elif kind == 2:
            self.say(pq.query("begin"))
            if not self.c.recv_until().errors:
                self.say(pq.query("select %d" % n))
                self.answer(str(n))
            self.say(pq.query("rollback"))
            self.c.recv_until()
        else:
            self.say(pq.query("set application_name = 'a%d'" % n))
            if not self.c.recv_until().errors:
                self.say(pq.query("show application_name"))
                self.answer("a%d" % n)

    def run(self):
        try:
            while not self.stop.is_set():
                self.said += 1
                self.one(self.said)
        except Exception as e:
            self.error = e


def orders(p, k, rng, talkers):
    kind = rng.randint(0, 6)
    if kind <= 1:
        k.query(("suspend", "pause")[kind])
        k.query("resume")
    elif kind == 2:
        k.query("reload")
    elif kind == 3:
        for topic in ("clients", "workers", "pools"):
            k.query("show %s" % topic)
    elif kind == 4:
        k.query("reconnect p0")
    else:
        pq.send_cancel(p.port, rng.choice(talkers).c.key)


def told_to_go(error):
    return isinstance(error, (pq.Closed, ConnectionError)) or \
        "57P01" in str(error)


@contextlib.contextmanager
def talking(clients, seed=0):
    """Each of them must have had what it asked for, and nothing else."""
    stop = threading.Event()
    talkers = [Talker(c, 100 * seed + n, stop) for n, c in enumerate(clients)]
    for t in talkers:
        t.start()
    try:
        yield talkers
    finally:
        stop.set()
        for t in talkers:
            t.join()
    assert [t.error for t in talkers if t.error is not None] == []
    assert all(t.said > 1 for t in talkers)


def wait_talk(talkers, more=5):
    before = [t.said for t in talkers]
    wait_until(lambda: all(t.error or t.said >= n + more
                           for t, n in zip(talkers, before)))


@pytest.mark.parametrize("seed", range(3))
def test_nobody_loses_anything_amid_orders(pooler, restless, seed):
    p = restless()
    rng = random.Random(seed)
    k = p.raw("admin", "pgbouncer")
    with talking([p.raw() for _ in range(12)], seed) as talkers:
        for _ in range(100):
            orders(p, k, rng, talkers)
        assert moves(p) > 10
        take_over(pooler, p)


@pytest.mark.parametrize("force", ["moves", "handover,moves"])
def test_restart_with_other_workers_amid_moves(pooler, restless, force):
    p = restless(force=force)
    with talking([p.raw() for _ in range(12)]) as talkers:
        for workers in (3, 1, 4, 2):
            p = take_over(pooler, p, workers=workers)
            wait_talk(talkers)


def test_tls_moves_along(restless, certs):
    """with what is not decrypted yet, and what is not sent yet"""
    p = restless(force="handover,moves", **certs.accept("allow"))
    p.settings["client_tls_sslmode"] = "require"
    p.reload()
    clients = [p.open().start_tls(certs.client_context()).login(
        "app", None, "p0") for _ in range(6)]
    text = "x" * 100000
    with talking(clients) as talkers:
        wait_talk(talkers, 30)
        p.console().query("set client_tls_ciphers = 'HIGH'")
        wait_talk(talkers, 30)
    for c in clients:
        c.send(pq.query("select '%s'" % text) * 5)
    for c in clients:
        for _ in range(5):
            assert c.recv_until().check().rows == [[text]]
    assert moves(p) > 100


def test_drain_amid_moves(pg, restless):
    """each is told between two of its transactions, wherever it is"""
    p = restless(force="handover,moves")
    clients = [p.raw() for _ in range(12)]
    for c in clients[:4]:
        c.query("begin")
    with talking(clients[4:]) as talkers:
        wait_talk(talkers)
        k = p.raw("admin", "pgbouncer")
        k.query("shutdown drain 60")
        wait_until(lambda: not any(t.is_alive() for t in talkers))
        for t in talkers:
            assert told_to_go(t.error), t.error
            t.error = None
    for c in clients[:4]:
        assert c.value("select 2") == "2"
        c.send(pq.query("commit"))
        assert c.recv_until("E").errors[0].code == "57P01"
    assert p.wait_exit() == 0
    wait_until(lambda: pg.backends() == [])


@pytest.mark.parametrize("force", ["moves", "handover,moves"])
def test_worker_that_hangs_with_movers_in_its_mail(pg, restless, force):
    """orders fail and say so; who is on the way there waits, and is not lost"""
    p = restless(force=force)
    clients = [p.raw() for _ in range(12)]
    for c in clients:
        assert c.value("select 0") == "0"
    k = p.raw("admin", "pgbouncer")
    with stopped(p.proc.pid, "worker 1"):
        p.wait_log("worker 1 does not answer")
        # those of the first worker are answered as long as it has servers,
        # and leave
        for c in clients:
            c.send(pq.query("select 1"))
        if force == "moves":
            wait_until(lambda: any(c.readable() for c in clients))
        near = [c for c in clients if c.readable(0.02)]
        for c in near:
            assert c.recv_until().check().rows == [["1"]]
            c.send(pq.query("select 1"))
        for order in ("show clients", "pause p0", "kill p0", "reload",
                      "suspend", "reconnect p0", "show servers"):
            errors = k.try_query(order).errors
            assert "a worker does not answer" in str(errors), order
    p.wait_log("worker 1 is back")
    for c in clients:
        assert c.recv_until().check().rows == [["1"]]
        assert c.value("select 2") == "2"
    assert len(p.show("clients", database="p0")) == len(clients)
    wait_until(lambda: len(pg.backends()) == len(p.servers()))
    p.admin("kill p0")
    p.admin("resume p0")
    assert p.raw().value("select 4") == "4"
