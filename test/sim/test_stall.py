# test_stall.py - servers that stop reading or writing.
# SPDX-License-Identifier: ISC
import select
import threading
import time

import pytest

import pq
from fakepg import complete, copy_in, data_row, error, ready, row_desc
from harness import ASAN, BIG, TIMEOUT, wait_until

MB = 1 << 20
TOTAL = (1024 if BIG else 200) * MB
LIMIT = (200 if ASAN else 10) * MB


class SlowCopy:
    """A server that starts a COPY and then does not read for a while."""

    def __init__(self):
        self.gate, self.data = threading.Event(), 0

    def __call__(self, sess, kind, body):
        if kind == "Q" and body == b"copy\0":
            sess.send(copy_in())
            self.gate.wait(TIMEOUT * 4)
            return True
        if kind == "d":
            self.data += len(body)
            sess.received.clear()
            return True
        if kind == "c":
            sess.send(complete("COPY 1"), ready())
            return True


def push(c, data, stuck=2.0):
    """Send until the peer takes no more for a while; bytes that went."""
    c.sock.setblocking(False)
    sent = 0
    while sent < len(data):
        if not select.select([], [c.sock], [], stuck)[1]:
            break
        try:
            sent += c.sock.send(data[sent:sent + MB])
        except BlockingIOError:
            continue
    c.sock.settimeout(TIMEOUT)
    return sent


def test_copy_to_a_server_that_stops_reading(pooler, fakepg):
    """architecture 4: the client is held back, others are served"""
    # regressions: Ody 376e80fa
    slow = SlowCopy()
    f = fakepg(handler=slow, rcvbuf=65536)
    p = pooler({"p0": f.conn}, default_pool_size=2)
    other = p.raw()
    other.query("begin")
    rss = p.rss()
    c = p.raw(sndbuf=65536)
    c.send(pq.query("copy"))
    assert c.recv()[0] == "G"
    block = pq.copy_data(b"x" * 65531)
    part = block * 16
    total, left = 0, TOTAL
    while left > 0:
        n = push(c, part)
        total += n
        left -= len(part)
        if n < len(part):
            break
    assert total < 64 * MB, "the pooler took everything in"
    rest = part[n:] if n < len(part) else b""
    assert p.rss() - rss < LIMIT
    start = time.monotonic()
    for i in range(200):
        assert other.value("select %d" % i) == "select %d" % i
    assert time.monotonic() - start < TIMEOUT
    cpu, start = p.cpu(), time.monotonic()
    select.select([c.sock], [], [], 1.0)
    assert p.cpu() - cpu < 0.3 * (time.monotonic() - start)
    slow.gate.set()
    c.sock.settimeout(TIMEOUT)
    c.sock.sendall(rest)
    while left > 0:
        c.sock.sendall(part)
        left -= len(part)
    c.send(pq.copy_done())
    assert c.recv_until().tags == ["COPY 1"]
    blocks = -(-TOTAL // len(part)) * 16
    assert slow.data == blocks * 65531
    assert p.rss() - rss < LIMIT
    assert c.value("select 'on'") == "select 'on'"


@pytest.mark.parametrize("how", ["abort", "close"])
def test_client_killed_while_the_server_does_not_read(pooler, fakepg, how):
    """pooling.md 13: bytes still to be sent to the server"""
    slow = SlowCopy()
    f = fakepg(handler=slow, rcvbuf=65536)
    p = pooler({"p0": f.conn}, default_pool_size=1)
    c = p.raw(sndbuf=65536)
    c.send(pq.query("copy"))
    c.recv()
    push(c, pq.copy_data(b"x" * 60000) * 400, stuck=0.5)
    if how == "abort":
        c.abort()
    else:
        c.close(polite=False)
    slow.gate.set()
    assert p.raw().value("select 1") == "select 1"
    wait_until(lambda: p.pool()["cl_active"] == 1)


def test_server_killed_while_its_client_does_not_read(pooler, fakepg):
    """what was sent is delivered, then the end is told"""
    rows = data_row("y" * 1000) * 1000

    def handler(sess, kind, body):
        if body == b"go\0":
            sess.send(row_desc("c"), rows * 3)
            sess.hang_up()
    f = fakepg(handler=handler)
    p = pooler({"p0": f.conn}, default_pool_size=1)
    c, other = p.raw(rcvbuf=65536), p.raw()
    c.send(pq.query("go"))
    wait_until(lambda: f.sessions[0].ended
               or f.sessions[0].queries() == ["go"])
    res = c.recv_all()
    assert len(res.rows) <= 3000
    assert all(r == ["y" * 1000] for r in res.rows)
    assert other.value("select 1") == "select 1"


def test_slow_reader_gets_every_byte_in_order(pooler, fakepg):
    """overflow queue keeps the order"""
    n = 20000

    def handler(sess, kind, body):
        if body == b"go\0":
            sess.send(row_desc("c"))
            for i in range(0, n, 100):
                sess.send(b"".join(data_row("%08d" % j + "z" * 300)
                                   for j in range(i, i + 100)))
            sess.send(complete("SELECT"), ready())
            return True
    f = fakepg(handler=handler)
    p = pooler({"p0": f.conn}, default_pool_size=1)
    c = p.raw(rcvbuf=4096)
    c.send(pq.query("go"))
    seen = 0
    while True:
        kind, body = c.recv()
        if kind == "D":
            assert pq.row(body)[0][:8] == "%08d" % seen
            seen += 1
        if kind == "Z":
            break
    assert seen == n
    assert c.value("select 1") == "select 1"


def test_release_waits_for_delivery(pooler, fakepg):
    """pooling.md 8: delivered = handed to the client socket"""
    # regressions: Supavisor d7079a88
    reply = (row_desc("c") + data_row("w" * 1000) * 20000
             + complete("SELECT") + ready())

    def handler(sess, kind, body):
        if body == b"go\0":
            sess.send(reply)
            return True
    f = fakepg(handler=handler)
    p = pooler({"p0": f.conn}, default_pool_size=1)
    a, b = p.raw(rcvbuf=4096), p.raw()
    a.send(pq.query("go"))
    wait_until(lambda: f.sessions[0].queries() == ["go"])
    b.send(pq.query("select 'b'"))
    p.wait_pool(cl_waiting=1)
    res = a.recv_until()
    assert len(res.rows) == 20000
    assert b.recv_until().rows == [["select 'b'"]]


def test_last_words_of_a_server_that_has_left(pooler, fakepg, tmp_path):
    """pooling.md 13: what it has said before is the client's, all of it,
    however slowly he takes it, although it takes nothing more itself"""
    rows = [data_row("%d" % i, "r" * 1000) for i in range(3000)]
    said = threading.Event()

    def handler(sess, kind, body):
        if kind == "Q" and body == b"much\0":
            sess.send(row_desc("a", "b"), *rows)
            sess.send(error("going", "57P01", "FATAL"))
            said.set()
            sess.hang_up()
    tmp_path.chmod(0o777)
    f = fakepg(handler=handler, folder=str(tmp_path))
    p = pooler({"p0": f.conn}, sbuf_loopcnt=1, tcp_socket_buffer=8192)
    c = p.open(rcvbuf=8192).login("app", "apppw", "p0")
    c.send(pq.query("much"))
    got = b""
    while not said.wait(0):
        part = c.sock.recv(65536)
        assert part, pq.split_messages(got)[0][-1]
        got += part
    c.send(pq.query("more"))
    c.buf[:0] = got
    r = c.recv_all()
    assert len(r.rows) == len(rows)
    assert r.errors[0].code == "57P01"
