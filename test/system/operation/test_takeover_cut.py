# test_takeover_cut.py - SUSPEND and -R wherever a client's bytes end.
# SPDX-License-Identifier: ISC
import hashlib
import re
import threading

import pytest

import pq
from harness import REFERENCE, wait_until
from test_takeover import ask, successor

pytestmark = pytest.mark.skipif(REFERENCE, reason="newer than that")

LONG = "x" * 100000
LONGEST = 30	# seconds; what would hold it up lasts for a minute
STILL = r"all sessions are suspended, (\d+\.\d+) s after SUSPEND"


def starvation(p):
    """For how long the pooler could not run, though it wanted to; in seconds."""
    try:
        with open("/proc/%d/schedstat" % p.proc.pid) as f:
            return int(f.read().split()[1]) / 1e9
    except OSError:     # it has ended
        return 0


class Stop:
    """Everything stands still, by SUSPEND or by -R, and goes on."""

    def __init__(self, kind, make, p):
        self.kind, self.p, self.q = kind, p, None
        self.starved = starvation(p)
        self.stops = len(re.findall(STILL, p.log))
        if kind == "restart":
            self.q = successor(make, p)
            self.q.write()
            self.q.launch()
        else:
            self.k = ask(p)
            self.k.send(pq.query("suspend"))
        p.wait_log("SUSPEND command issued")

    def go_on(self):
        """The pooler that runs then. What the machine gave to others is not
        the time that SUSPEND took."""
        starved = starvation(self.p) - self.starved
        if self.q:
            assert self.p.wait_exit() == 0
            wait_until(self.q._is_up, what="the successor's 'process up'")
        else:
            assert self.k.recv_until().tags == ["SUSPEND"]
            self.k.query("resume")
        took = re.findall(STILL, self.p.log)
        assert len(took) > self.stops
        assert float(took[-1]) < LONGEST + max(starved, 0)
        return self.q or self.p


@pytest.fixture(params=["suspend", "restart"])
def stop(request, pooler):
    return lambda p: Stop(request.param, pooler, p)


def test_half_a_message_that_was_held(pooler, latch, stop):
    """pooling.md 23: what a frozen client has sent stays as it is, also when
    its server's reply would let it go on; nothing of it is dropped"""
    p = pooler(default_pool_size=1, suspend_timeout=60)
    a = p.raw()
    a.query("begin")
    bind = pq.bind("s", (LONG,))
    # a Parse whose success is open holds the Bind behind it
    a.send(pq.query("select %s" % latch.query) +
           pq.parse("select length($1::text), 'mine'", "s") + pq.sync() +
           bind[:50000])
    p.wait_pool(cl_active=1, sv_active=1)
    still = stop(p)
    latch.open()
    still.go_on()
    a.recv_until()
    assert not a.recv_until().errors
    a.send(bind[50000:] + pq.execute() + pq.sync() + pq.query("select 2"))
    assert a.recv_until().check().rows == [["100000", "mine"]]
    assert a.recv_until().check().rows == [["2"]]


def test_half_a_message_that_was_passed_on(pooler, stop):
    """pooling.md 23: the rest follows, to the byte, where the server is"""
    p = pooler(default_pool_size=1, suspend_timeout=60)
    a = p.raw()
    data = pq.query("select length('%s'), 'mine'" % LONG)
    a.send(data[:60000])
    wait_until(lambda: p.show("servers", state="active"))
    stop(p).go_on()
    a.send(data[60000:] + pq.query("select 2"))
    assert a.recv_until().check().rows == [["100000", "mine"]]
    assert a.recv_until().check().rows == [["2"]]


@pytest.mark.parametrize("behind", ["nothing", "a long query"])
def test_a_batch_without_its_end(pooler, latch, stop, behind):
    """pooling.md 16, 23: names whose fate is open move with their session"""
    p = pooler(default_pool_size=1, suspend_timeout=60)
    a = p.raw()
    if behind != "nothing":
        a.send(pq.query("select %s" % latch.query))
    a.send(pq.parse("select 'one'", "s1"), pq.parse("select 'two'", "s2"),
           pq.close("S", "s2"))
    p.wait_pool(cl_active=1, sv_active=1)
    still = stop(p)
    q = still.go_on()
    latch.open()
    a.send(pq.bind("s1"), pq.execute(), pq.sync())
    if behind != "nothing":
        assert a.recv_until().check().rows == [[""]]
    r = a.recv_until().check()
    assert [k for k, _ in r.messages] == ["1", "1", "3", "2", "D", "C", "Z"]
    assert r.rows == [["one"]]
    a.send(pq.parse("select 'three'", "s2"), pq.bind("s2"), pq.execute(),
           pq.bind("s1"), pq.execute(), pq.sync())
    assert a.recv_until().check().rows == [["three"], ["one"]]
    assert len(q.show("servers", user="app")) == 1


def test_a_batch_that_fails_afterwards(pooler, latch, stop):
    """pooling.md 16, 23: what was undone in the new process is undone"""
    p = pooler(default_pool_size=1, suspend_timeout=60)
    a = p.raw()
    a.send(pq.parse("select %s" % latch.query), pq.bind(), pq.execute(),
           pq.parse("select 1/$1::int", "s"), pq.bind("s", ("0",)),
           pq.execute(), pq.parse("select 'lost'", "t"))
    p.wait_pool(cl_active=1, sv_active=1)
    q = stop(p).go_on()
    latch.open()
    a.send(pq.close("S", "s"), pq.sync())
    assert [e.code for e in a.recv_until().errors] == ["22012"]
    a.send(pq.parse("select 'kept'", "t"), pq.bind("s", ("1",)),
           pq.execute(), pq.bind("t"), pq.execute(), pq.sync())
    assert a.recv_until().check().rows == [["1"], ["kept"]]
    b = q.raw()
    b.send(pq.parse("select 'lost'", "t"), pq.bind("t"), pq.execute(),
           pq.sync())
    assert b.recv_until().check().rows == [["lost"]]


def test_half_a_row(pooler, latch, stop):
    """pooling.md 23: PostgreSQL sends 8 kB, and the rest of the row later"""
    p = pooler(default_pool_size=1, suspend_timeout=60)
    a = p.raw()
    a.send(pq.query("select repeat('y', 20000) union all "
                    "select coalesce(%s::text, '')" % latch.query))
    got = a.sock.recv(8000)
    stop(p).go_on()
    latch.open()
    a.buf[:0] = got
    assert a.recv_until().check().rows == [["y" * 20000], [""]]
    assert a.value("select 1") == "1"


def test_a_client_that_does_not_read(pooler, stop):
    """pooling.md 23: what waits for its socket moves, too"""
    p = pooler(default_pool_size=1, suspend_timeout=60, tcp_socket_buffer=8192)
    a = p.open(rcvbuf=8192).login("app", "apppw", "p0")
    a.send(pq.query("select i, repeat('z', 1000) from "
                    "generate_series(1, 5000) i"))
    wait_until(lambda: any(int(r["send_avail"]) > 0 for r in p.show("sockets")
                           if r["type"] == "C" and r["database"] == "p0"))
    stop(p).go_on()
    rows = a.recv_until().check().rows
    assert rows == [[str(i), "z" * 1000] for i in range(1, 5001)]
    assert a.value("select 1") == "1"


def test_a_server_that_does_not_read(pooler, latch, stop):
    """pooling.md 23: what it has not taken yet moves, too"""
    p = pooler(default_pool_size=1, suspend_timeout=60)
    a = p.raw()
    texts = [str(i % 10) * 200000 for i in range(60)]
    a.sock.setblocking(False)
    data = pq.query("select %s" % latch.query) + b"".join(
        pq.query("select md5('%s')" % t) for t in texts)
    sent = 0

    def push():
        nonlocal sent
        try:
            while sent < len(data):
                sent += a.sock.send(data[sent:])
        except BlockingIOError:
            return True
        return False
    wait_until(push)
    stop(p).go_on()
    a.sock.settimeout(a.timeout)
    latch.open()
    rest = threading.Thread(target=a.sock.sendall, args=(data[sent:],))
    rest.start()
    a.recv_until()
    for t in texts:
        assert a.recv_until().check().rows == [
            [hashlib.md5(t.encode()).hexdigest()]]
    rest.join()


def test_the_place_in_the_queue(pooler, stop):
    """pooling.md 23: who waited goes on waiting, as long as before"""
    p = pooler(default_pool_size=1, suspend_timeout=60, query_wait_timeout=3)
    a, b, c = p.raw(), p.raw(), p.raw()
    a.query("begin")
    b.send(pq.query("select 'b'"))
    p.wait_pool(cl_waiting=1)
    c.send(pq.query("select 'c'"))
    p.wait_pool(cl_waiting=2)
    q = stop(p).go_on()
    assert len(q.show("clients", state="waiting")) == 2
    assert b.recv_until("E").errors[0].message == "query_wait_timeout"
    assert c.recv_until("E").errors[0].message == "query_wait_timeout"
    assert a.query("commit").status == "I"


# --- who merely waits -----------------------------------------------------

def test_half_a_startup_message(pooler, stop):
    """pooling.md 23: a stranger holds up nobody; SUSPEND does him no harm"""
    p = pooler(suspend_timeout=60)
    a, late = p.raw(), p.open()
    hello = pq.startup({"user": "app", "database": "p0"})
    late.send(hello[:7])
    wait_until(lambda: p.show("lists", list="login_clients")[0]["items"]
               == "1")
    still = stop(p)
    still.go_on()
    assert a.value("select 1") == "1"
    late.send(hello[7:])
    if still.q:
        assert late.recv_all().messages == []
    else:
        late.recv_until()
        assert late.value("select 2") == "2"


def test_who_waits_for_the_first_server(pooler, latch, stop):
    """pooling.md 23: it holds up nobody, and is greeted afterwards"""
    p = pooler(dbs={"p0": "connect_query='select %s'" % latch.query.replace(
        "'", "''"), "p1": ""}, suspend_timeout=60)
    a, c = p.raw(database="p1"), p.open()
    c.send(pq.startup({"user": "app", "database": "p0"}))
    p.wait_pool(cl_waiting=1, sv_login=1)
    q = stop(p).go_on()
    assert a.value("select 1") == "1"
    q.wait_pool(cl_waiting=1, sv_login=1)
    latch.open()
    r = c.recv_until()
    assert [k for k, _ in r.messages if k in "RKZ"] == ["R", "K", "Z"]
    assert c.value("select 2") == "2"


def test_who_waits_for_auth_query(pooler, latch, stop):
    """pooling.md 23: it holds up nobody; with -R it has to try again"""
    p = pooler(auth_type="plain", auth_user="postgres", suspend_timeout=60,
               auth_query="select $1::text, 'pw'::text from (select %s) x" %
               latch.query)
    a, c = p.raw(password="apppw"), p.open()
    c.send(pq.startup({"user": "app2x", "database": "p0"}))
    wait_until(lambda: p.show("pools", user="postgres", sv_active="1"))
    still = stop(p)
    q = still.go_on()
    assert a.value("select 1") == "1"
    latch.open()
    if still.q:
        assert all(k == "E" for k, _ in c.recv_all().messages)
    else:
        c.recv_until("R")
        c.send(pq.password("pw"))
        # that is no role of PostgreSQL: it got as far as to be told so
        assert 'role "app2x" does not exist' in c.recv_until(
            "E").errors[0].message
    assert q.raw(password="apppw").value("select 2") == "2"
