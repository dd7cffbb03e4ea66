# test_flight.py - SETs that go with the first request behind them.
# SPDX-License-Identifier: ISC
"""Clients with settings of their own take turns on one server, behind a wire
that counts how often the pooler speaks after it was answered.
"""
import selectors
import socket
import threading

import pytest

import pq
from harness import REFERENCE, TIMEOUT, wait_until

pytestmark = [pytest.mark.skipif(REFERENCE, reason="not so there"),
              pytest.mark.setting("session_state")]

LOOK = "select current_setting('work_mem') || ',' || " \
    "current_setting('TimeZone')"


class Wire(threading.Thread):
    """Passes on what comes to its port, and counts flights upwards."""

    def __init__(self, to):
        super().__init__(daemon=True)
        self.to, self.flights = to, 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.select = selectors.DefaultSelector()
        self.select.register(self.listener, selectors.EVENT_READ, None)
        self.waker, self.wakes = socket.socketpair()
        self.select.register(self.wakes, selectors.EVENT_READ, self)
        self.open = set()
        self.start()

    def accept(self):
        down = self.listener.accept()[0]
        up = socket.create_connection(("127.0.0.1", self.to))
        state = {"up": False}
        for s, other in ((down, up), (up, down)):
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.open.add(s)
            self.select.register(s, selectors.EVENT_READ,
                                 (other, s is down, state))

    def pass_on(self, s, other, is_up, state):
        try:
            data = s.recv(1 << 20)
            other.sendall(data)
        except OSError:
            data = b""
        if not data:
            for x in (s, other):
                if x in self.open:
                    self.open.discard(x)
                    self.select.unregister(x)
                    x.close()
        elif is_up and not state["up"]:
            self.flights += 1
        state["up"] = is_up

    def run(self):
        while True:
            for key, _ in self.select.select():
                if key.data is self:
                    for s in [*self.open, self.listener, self.wakes]:
                        s.close()
                    return
                if key.data is None:
                    self.accept()
                elif key.fileobj in self.open:
                    self.pass_on(key.fileobj, *key.data)

    def stop(self):
        self.waker.close()
        self.join(TIMEOUT)


@pytest.fixture
def wire(pg):
    w = Wire(pg.port)
    yield w
    w.stop()


@pytest.fixture
def crew(pooler, wire):
    """A pooler with one server, and clients that have other settings."""
    made = []

    def make(state="keep", count=2, user="postgres", **settings):
        p = pooler({"p0": "host=127.0.0.1 port=%d" % wire.port},
                   default_pool_size=1, session_state=state, **settings)
        made.extend(p.raw(user, work_mem="%dMB" % (i + 1),
                          timezone=("Asia/Tokyo", "UTC")[i % 2])
                    for i in range(count))
        return (p, *made)
    yield make
    for c in made:
        c.close()


def simple(sql):
    return pq.query(sql)


def extended(sql, name=""):
    return pq.parse(sql, name) + pq.bind(name) + pq.execute() + pq.sync()


def ask(c, *messages):
    c.send(*messages)
    return c.recv_until()


def told(c, *messages):
    """The ParameterStatus of the answer."""
    return [body for kind, body in ask(c, *messages).messages if kind == "S"]


@pytest.mark.parametrize("how", [simple, extended])
@pytest.mark.parametrize("state", ["keep", "clean"])
def test_one_flight_for_a_transaction(crew, wire, state, how):
    """the server has the settings of another client"""
    p, a, b = crew(state)
    want = {a: "1MB,Asia/Tokyo", b: "2MB,UTC"}
    for c in (a, b):
        assert c.value(LOOK) == want[c]
    for n in range(3):
        for c in (a, b):
            before = wire.flights
            assert ask(c, how(LOOK)).check().rows == [[want[c]]]
            assert wire.flights == before + 1, n
    for c in (a, b):
        before = wire.flights
        assert ask(c, how("begin")).status == "T"
        assert c.value(LOOK) == want[c]
        assert c.query("commit").status == "I"
        assert wire.flights == before + 3
    assert p.log.count("new connection to server") == 1


def test_set_in_each_transaction_is_one_flight_more(crew, wire):
    """the probe, which the client does not wait for"""
    p, a, b = crew()
    for c in (a, b, a):
        # the last probe has been counted
        p.wait_pool(user="postgres", sv_idle=1)
        before = wire.flights
        c.query("set search_path to pg_catalog, \"%d\"" % before).check()
        assert c.value("show search_path") == "pg_catalog, \"%d\"" % before
        assert wire.flights <= before + 3


# what each begins with ends a transaction that has failed, or needs none
FIRST = [
    [pq.query("insert into flown values (1)")],
    [pq.query("rollback; insert into flown values (2)")],
    [pq.query("commit"), pq.query("insert into flown values (3)")],
    [extended("insert into flown values (4)")],
    [extended("insert into flown values (5)", "s")],
    [pq.parse("rollback"), pq.bind(), pq.execute(),
     pq.parse("insert into flown values (6)"), pq.bind(), pq.execute(),
     pq.sync()],
    [extended("end"), extended("insert into flown values (7)")],
    [pq.query("copy flown from program 'echo 8'")],
]


def test_what_is_behind_refused_sets_has_not_run(crew, pg):
    """a role that is there no more: PostgreSQL's own error is what is told"""
    p, a, b = crew()
    pg.sql("drop role if exists gone")
    b.query("create table flown (i int)").check()
    try:
        for messages in FIRST:
            pg.sql("create role gone superuser")
            with p.raw("postgres") as c:
                c.query("set role gone").check()
                assert b.value(LOOK) == "2MB,UTC"
                pg.sql("drop role gone")
                c.send(*messages)
                with pytest.raises(pq.Closed):
                    while True:
                        assert not c.recv_until().tags
            assert b.query("select * from flown").check().rows == []
            assert b.value(LOOK) == "2MB,UTC"
        assert p.log.count('pooler error: role "gone" does not exist') == \
            len(FIRST)
    finally:
        b.query("drop table flown")
        pg.sql("drop role if exists gone")


def test_requests_that_a_transaction_would_change(crew, pg):
    """they meet with none, and with nothing of ours"""
    p, a, b = crew()
    b.query("create table flown (i int)").check()
    try:
        for n in range(2):
            for how in (simple, extended):
                assert ask(a, how("vacuum flown")).check().status == "I"
                ask(b, how("begin isolation level serializable")).check()
                assert b.value("show transaction_isolation") == \
                    "serializable"
                b.query("rollback")
                res = ask(a, how("select 1/0"))
                assert [e.code for e in res.errors] == ["22012"]
                assert b.value(LOOK) == "2MB,UTC"
                assert a.value(LOOK) == "1MB,Asia/Tokyo"
                # own changes are told, also back to what the server had
                assert told(b, how("set timezone = 'Asia/Tokyo'")) == \
                    [b"TimeZone\0Asia/Tokyo\0"]
                assert told(b, how("set timezone = 'UTC'")) == \
                    [b"TimeZone\0UTC\0"]
                assert told(a, how("select 1")) == []
        b.send(pq.query("select 1"), pq.query("select 2"), extended("select 3"))
        assert [b.recv_until().rows for _ in range(3)] == \
            [[["1"]], [["2"]], [["3"]]]
        a.send(pq.query("copy flown from stdin"))
        assert a.recv()[0] == "G"
        a.send(pq.copy_data(b"1\n"), pq.copy_done())
        assert a.recv_until().check().tags == ["COPY 1"]
        assert b.value("select i from flown") == "1"
        assert p.log.count("new connection to server") == 1
    finally:
        b.query("drop table flown")


def test_statement_is_prepared_again_behind_sets(crew, pg):
    """where it has other columns since"""
    p, a, b = crew(max_prepared_statements=10)
    b.query("create table flown (i int)").check()
    try:
        ask(a, pq.parse("select * from flown", "s"), pq.sync()).check()
        ask(a, pq.bind("s"), pq.describe("P"), pq.execute(),
            pq.sync()).check()
        b.query("alter table flown add j int").check()
        ask(a, pq.bind("s"), pq.describe("P"), pq.execute(),
            pq.sync()).check()
        assert a.value(LOOK) == "1MB,Asia/Tokyo"
    finally:
        b.query("drop table flown")


def test_server_of_a_request_that_has_flown_is_given_back(crew):
    """a batch of its own, with a word that may leave something"""
    p, a, b = crew()
    for c in (a, b, a):
        ask(c, extended("select set_config('work_mem', '9MB', true)")).check()
    assert p.log.count("new connection to server") == 1


def test_request_that_has_flown_can_be_canceled(crew, pg):
    p, a, b = crew()
    assert b.value(LOOK) == "2MB,UTC"
    a.send(pq.query("select 'long' from pg_sleep(60)"))
    wait_until(lambda: pg.sql(
        "select 1 from pg_stat_activity where state = 'active' and "
        "query like 'select ''long''%'"), what="the query to run")
    with p.open() as c:
        c.send(pq.untyped(pq.CANCEL_REQUEST, a.key))
        assert [e.code for e in a.recv_until().errors] == ["57014"]
    assert a.value(LOOK) == "1MB,Asia/Tokyo"
    assert b.value(LOOK) == "2MB,UTC"


def test_setting_of_which_only_used_servers_say_no(crew):
    """the request is sent again, by another server"""
    p, a, b = crew(count=2)
    a.query("set temp_buffers = 200").check()
    b.query("create temp table mine (i int); insert into mine values (1);"
            "drop table mine").check()
    for how in (simple, extended):
        assert ask(a, how("show temp_buffers")).check().rows == [["1600kB"]]
    assert b.value(LOOK) == "2MB,UTC"


RESETS = ["select pg_advisory_unlock_all();\nclose all;\nunlisten *;\n"
          "reset all;", "discard all",
          "set session characteristics as transaction isolation level "
          "serializable", "set search_path to pg_catalog, \"$user\""]


@pytest.mark.parametrize("sql", RESETS)
def test_what_was_set_before_is_not_asked_for(crew, wire, sql):
    """what drivers send each time a connection goes back to their pool"""
    p, a, b = crew()
    for how in (simple, extended) if ";" not in sql else (simple,):
        ask(a, how(sql)).check()
        ask(a, how("show default_transaction_isolation"))
    want = [c.value(LOOK + " || current_setting('search_path')")
            for c in (a, b)]
    before = wire.flights
    for _ in range(3):
        assert a.query(sql).check().status == "I"
        for c in (a, b):
            assert c.value(LOOK + " || current_setting('search_path')") == \
                want[c is b]
    # what resets goes behind SETs that are waited for, of two queries
    assert wire.flights <= before + 3 * (3 + 2 * ("all" in sql))
    a.query("set work_mem = '7MB'; select set_config('work_mem', '8MB', "
            "false)").check()
    for c in (b, a, b, a):
        assert c.value(LOOK) == ("8MB,Asia/Tokyo" if c is a else "2MB,UTC")


def test_who_leaves_at_the_end_of_a_query_leaves_its_server(crew, wire):
    """it is free by then: the Sync behind the Query is answered"""
    p, a, b = crew(user="app")
    pid = a.value("select pg_backend_pid()")
    for i in range(300):
        c = p.raw("app", work_mem="%dMB" % (i % 7 + 1))
        c.send(pq.query("select 1"))
        assert c.recv_until().rows == [["1"]]
        c.close(polite=i % 2 == 0)
    assert b.value("select pg_backend_pid()") == pid
    assert "with query in progress" not in p.log
