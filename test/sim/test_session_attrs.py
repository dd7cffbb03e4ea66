# test_session_attrs.py - target_session_attrs: which hosts of a list are used,
# and what becomes of clients while none will do.
# SPDX-License-Identifier: ISC
import threading
import time

import pytest

import pq
from fakepg import Gone, complete, error, param, ready, result
from harness import free_port, wait_until

pytestmark = pytest.mark.database("target_session_attrs")

HOSTS = "127.0.0.1", "127.0.0.2"


class Pair:
    """A primary and a standby, on one port of two addresses."""

    def __init__(self, fakepg, **kw):
        self.port = free_port()
        self.standby = [False, True]
        self.read_only = [False, False]
        self.told = True            # as of PostgreSQL 14
        self.stopped = False        # the first lets nobody in, says nothing
        self.fakes = [fakepg(host=h, port=self.port, handler=self.answer,
                             on_login=self.login, **kw) for h in HOSTS]

    def at(self, session):
        return session.server in self.fakes[1:]

    def login(self, session):
        n = self.at(session)
        if self.stopped and n == 0:
            raise Gone
        if self.told:
            session.params["in_hot_standby"] = "on" if self.standby[n] \
                else "off"
            session.params["default_transaction_read_only"] = \
                "on" if self.read_only[n] else "off"

    def answer(self, session, kind, body):
        n = self.at(session)
        if kind != "Q":
            return False
        if self.stopped and n == 0:
            return True
        if b"pg_is_in_recovery" in body:
            session.send(result("t" if self.standby[n] else "f", "on" if
                                self.standby[n] or self.read_only[n]
                                else "off"))
            return True
        if b"insert" in body and self.standby[n]:
            session.send(error("cannot execute INSERT in a read-only "
                               "transaction", "25006"), ready())
            return True
        return False

    def entry(self, attrs):
        return "host=%s port=%d target_session_attrs=%s" % (
            ",".join(HOSTS), self.port, attrs)

    def used(self):
        """Which have answered a query of a client."""
        return [any("select" in q and "pg_" not in q
                    for s in f.sessions for q in s.queries())
                for f in self.fakes]


@pytest.fixture
def pair(fakepg):
    return Pair(fakepg)


@pytest.mark.parametrize("attrs, primary, standby", [
    ("any", True, True), ("read-write", True, False),
    ("read-only", False, True), ("primary", True, False),
    ("standby", False, True), ("prefer-standby", False, True)])
@pytest.mark.parametrize("told", [True, False])
def test_hosts_that_fit_are_used(pooler, pair, attrs, primary, standby, told):
    pair.told = told
    p = pooler({"p0": pair.entry(attrs)})
    clients = [p.raw() for _ in range(4)]
    for c in clients:
        c.query("begin")
        c.query("select 1")
    assert pair.used() == [primary, standby]
    known = attrs != "any" or told
    for r in p.admin("show servers extended"):
        assert r["role"] == (["primary", "standby"][HOSTS.index(r["addr"])]
                             if known else "unknown")
    row, = p.show("databases", name="p0")
    assert row["target_session_attrs"] == attrs


def test_primary_that_is_read_only(pooler, pair):
    """is no host to write at, and a primary all the same"""
    pair.read_only[0] = True
    p = pooler({"p0": pair.entry("primary"), "p1": pair.entry("read-only")},
               query_wait_timeout=1)
    p.raw().query("select 1")
    assert pair.used() == [True, False]
    p.raw(database="p1").query("select 1")


def test_primary_is_taken_where_there_is_no_standby(pooler, pair):
    pair.standby[1] = False
    p = pooler({"p0": pair.entry("prefer-standby")})
    p.raw().query("select 1")
    pair.fakes[1].close()
    p.admin("reconnect")
    p.raw().query("select 1")


def test_clients_wait_for_a_host_that_fits(pooler, pair):
    """told why; and are served at once when one does, whatever
    server_login_retry says"""
    pair.standby[0] = True
    p = pooler({"p0": pair.entry("primary")}, server_login_retry=60)
    c = p.open().login("app", database="p0", wait=False)
    wait_until(lambda: p.pool()["wait_reason"] == "no_host", what="reason")
    row, = p.admin("show waits")
    assert row["setting"] == "target_session_attrs"
    assert row["detail"].endswith("meets target_session_attrs = primary: "
                                  "server is in hot standby mode")
    pair.standby[1] = False
    begun = time.monotonic()
    c.finish_login("app").query("select 1")
    assert time.monotonic() - begun < 30
    assert pair.used() == [False, True]


def test_who_has_logged_in_waits_too(pooler, pair):
    p = pooler({"p0": pair.entry("read-write")}, query_wait_timeout=1,
               server_login_retry=60)
    c = p.raw()
    c.query("select 1")
    pair.standby[0] = True
    p.admin("reconnect p0")
    c.send(pq.query("select 1"))
    failure, = c.recv_all().errors
    assert failure.message == "query_wait_timeout"
    assert "session is read-only" in failure.fields["D"]


def test_server_that_has_turned_read_only_is_not_lent_again(pooler, pair):
    """25006 behind a write"""
    p = pooler({"p0": pair.entry("read-write")}, default_pool_size=1)
    c = p.raw()
    c.query("select 1")
    pair.standby[:] = [True, False]
    res = c.try_query("insert into t values (1)")
    assert res.errors[0].code == "25006"
    c.query("select 1")
    assert pair.used() == [True, True]


def test_host_that_was_promoted_is_left(pooler, pair):
    """reported behind a query: that server, and the idle ones of its host"""
    def report(session, kind, body):
        if kind == "Q" and b"tell" in body:
            session.send(complete("SELECT 0"), param("in_hot_standby", "off"),
                         ready())
            return True
        return pair.answer(session, kind, body)
    for f in pair.fakes:
        f.handler = report
    pair.standby[0] = True
    p = pooler({"p0": pair.entry("standby")}, default_pool_size=4)
    clients = [p.raw() for _ in range(4)]
    for c in clients:
        c.query("begin")
    for c in clients:
        c.query("commit")
    assert len(p.servers()) == 4
    old, = {r["addr"] for r in p.servers()} - {HOSTS[0]} or {HOSTS[0]}
    left = HOSTS.index(old)
    pair.standby[left] = False
    while any(r["addr"] == old for r in p.servers()):
        clients[0].query("tell")
    clients[0].query("select 1")
    assert {r["addr"] for r in p.servers()} == {HOSTS[1 - left]}


@pytest.mark.parametrize("attrs", ["primary", "read-write"])
def test_nobody_stays_at_a_primary_that_has_stopped(pooler, pair, attrs):
    """nor do other pools' connections, once another host is the primary"""
    p = pooler({"p0": pair.entry(attrs), "p1": pair.entry(attrs)},
               default_pool_size=4)
    stuck, idle = p.raw(), p.raw(database="p1")
    others = [p.raw() for _ in range(2)]    # a login goes to each host
    stuck.query("begin")
    idle.query("select 1")
    pair.stopped, pair.standby[1] = True, False
    stuck.send(pq.query("select 1"))
    for c in others:
        c.query("begin")
    failure, = stuck.recv_all().errors
    assert failure.message == "host does not meet target_session_attrs"
    assert {r["addr"] for r in p.servers()} == {HOSTS[1]}
    # p1 may be another worker's, which is told
    wait_until(lambda: p.show("servers", addr=HOSTS[0]) == [], what="word")
    idle.query("select 1")


@pytest.mark.setting("workers")
@pytest.mark.parametrize("how", ["stopped", "demoted"])
def test_other_workers_leave_the_host_too(pooler, pair, how):
    """what one has learned of it holds for the databases of all"""
    def report(session, kind, body):
        if kind == "Q" and b"tell" in body:
            session.send(complete("SELECT 0"), param("in_hot_standby", "on"),
                         ready())
            return True
        return pair.answer(session, kind, body)
    for f in pair.fakes:
        f.handler = report
    # with three workers, one has none of these in 1 of 3,000 runs
    names = ["p%d" % n for n in range(24)]
    p = pooler({n: pair.entry("primary") for n in names}, workers=3)
    clients = [p.raw(database=n) for n in names]
    for c in clients:
        c.query("select 1")
    assert len(p.show("servers", addr=HOSTS[0])) == len(names)
    pair.stopped, pair.standby[:] = how == "stopped", [True, False]
    if how == "stopped":
        others = [p.raw() for _ in range(3)]
        for c in others:
            c.send(pq.query("begin"))
    else:
        clients[0].query("tell")
    wait_until(lambda: p.show("servers", addr=HOSTS[0]) == [], what="word")
    for c in clients[1:]:
        c.query("select 1")


@pytest.mark.parametrize("promoted", [True, False])
def test_login_that_is_not_answered_holds_up_nobody(pooler, pair, promoted):
    """a stopped primary: the kernel accepts, and nobody says a word; nor is
    one that takes its time given up for ever"""
    gate, real = threading.Event(), pair.login

    def login(session):
        if pair.at(session) == 0:
            # slow at first, where there is no other
            gate.wait(60 if promoted else 1.5)
        elif promoted:
            # asked while it still was the standby, and once more
            real(session)
            pair.standby[1] = False
            return
        real(session)
    for f in pair.fakes:
        f.on_login = login
    p = pooler({"p0": pair.entry("primary")}, server_connect_timeout=60)
    try:
        begun = time.monotonic()
        p.raw().query("select 1")
        assert time.monotonic() - begun < 45
    finally:
        gate.set()
    assert pair.used() == [not promoted, promoted]


def test_two_that_say_they_are_the_primary_are_both_used(pooler, pair):
    """as long as both let everybody in: a word alone ends nothing"""
    pair.standby[1] = False
    p = pooler({"p0": pair.entry("primary")}, default_pool_size=4)
    clients = [p.raw() for _ in range(4)]
    for _ in range(2):
        for c in clients:
            c.query("begin")
    for c in clients:
        c.query("commit")
    assert {r["addr"] for r in p.servers()} == set(HOSTS)


def test_unknown_word_is_refused(pooler):
    p = pooler()
    p.dbs["x"] = "target_session_attrs=master"
    p.write()
    p.sighup()
    p.wait_log("invalid target_session_attrs: master")
    del p.dbs["x"]
