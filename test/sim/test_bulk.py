# test_bulk.py - rows and COPY data in bulk, which are passed on unseen.
# SPDX-License-Identifier: ISC
import bisect
import contextlib
import random
import socket
import threading

import pytest

import pq
from fakepg import complete, copy_in, data_row, error, notice, ready, row_desc
from harness import BIG, wait_until

MB = 1 << 20
TOTAL = (64 if BIG else 6) * MB
# around what a read, a run and a long body begin with
SIZES = (0, 1, 7, 90, 100, 110, 120, 1000, 8187, 16384, 32763, 32768, 40000,
         65531, 65536, 70000, 200000)
PIECES = (1, 3, 5, 4096, 16384, 32767, 32768, 40000, 65535, 65536, 65537,
          300000)


def sizes(rng, total):
    """Long times of short messages, and a long one now and then."""
    while total > 0:
        n = rng.choice(SIZES) if rng.random() < 0.01 else rng.randrange(200)
        total -= n + 5
        yield n


def messages(rng, kinds, total):
    """Messages that are told apart by what is in them."""
    filler = rng.randbytes(1 << 18)
    out = []
    for n in sizes(rng, total):
        at = rng.randrange(len(filler) - n)
        out.append(pq.msg(rng.choice(kinds), filler[at:at + n]))
        if rng.random() < 0.0005:
            out.append(notice("by the way"))
    return b"".join(out)


def send_pieces(send, rng, data):
    at = 0
    while at < len(data):
        n = rng.choice(PIECES)
        send(data[at:at + n])
        at += n


class Bulk:
    """A server that answers "bulk SEED" with that much."""

    def __init__(self, kinds="D", end=lambda sess: [complete("SELECT 1"),
                                                     ready()]):
        self.kinds, self.end = kinds, end

    def body(self, seed):
        return row_desc("c") + messages(random.Random(seed), self.kinds,
                                        TOTAL)

    def __call__(self, sess, kind, body):
        if kind != "Q" or not body.startswith(b"bulk"):
            return False
        seed = int(body[4:-1])
        send_pieces(sess.send, random.Random(seed + 1), self.body(seed))
        sess.send(*self.end(sess))
        return True


def read_exactly(c, rng, size):
    out = bytearray()
    while len(out) < size:
        n = rng.choice(PIECES)
        out += c.recv_bytes(min(n, size - len(out)))
    return bytes(out)


@pytest.mark.parametrize("unix", [False, True])
@pytest.mark.parametrize("kinds", ["D", "d", "DDDd"])
def test_rows_arrive_as_they_were_sent(pooler, fakepg, unix, kinds):
    """every split, two clients at once, one of which is slow to read"""
    bulk = Bulk(kinds)
    p = pooler({"p0": fakepg(handler=bulk).conn}, default_pool_size=2)
    same = {}

    def run(seed):
        c = p.raw(unix=unix, rcvbuf=4096 if seed == 1 else None, timeout=60)
        for i in range(2):
            c.send(pq.query("bulk %d" % (seed * 10 + i)))
            want = bulk.body(seed * 10 + i)
            got = read_exactly(c, random.Random(seed), len(want))
            same[seed, i] = got == want and c.recv_until().tags == ["SELECT 1"]
        c.close()
    threads = [threading.Thread(target=run, args=(i,)) for i in (1, 2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert same == {(s, i): True for s in (1, 2) for i in (0, 1)}


def test_error_behind_rows(pooler, fakepg):
    """it ends the result where it stands"""
    bulk = Bulk(end=lambda sess: [error("out of rows"), ready()])
    p = pooler({"p0": fakepg(handler=bulk).conn}, default_pool_size=1)
    c = p.raw(timeout=60)
    for seed in range(3):
        c.send(pq.query("bulk %d" % seed))
        want = bulk.body(seed)
        assert c.recv_bytes(len(want)) == want
        assert "out of rows" in str(c.recv_until().errors[0])
        assert c.value("select %d" % seed) == "select %d" % seed


@pytest.mark.parametrize("end", ["hang_up", "reset"])
def test_server_gone_behind_rows(pooler, fakepg, end):
    """a message that was begun is not followed by another"""
    # 3 bytes of a header: what is said next would be part of it
    def leave(sess):
        sess.send(data_row("x")[:3])
        getattr(sess, end)()

    bulk = Bulk(end=leave)
    p = pooler({"p0": fakepg(handler=bulk).conn}, default_pool_size=1)
    for seed in range(3):
        c = p.raw(timeout=60)
        c.send(pq.query("bulk %d" % seed))
        want, got = bulk.body(seed) + data_row("x")[:3], bytearray()
        with contextlib.suppress(ConnectionResetError):
            while data := c.sock.recv(MB):
                got += data
        same = bisect.bisect_left(range(min(len(got), len(want))), True,
                                  key=lambda n: got[:n + 1] != want[:n + 1])
        # what the reset has not overtaken, and then an error or nothing
        whole = sum(len(pq.msg(k, b)) for k, b in
                    pq.split_messages(bytes(want[:same]))[0])
        rest = bytes(got[whole:])
        assert same == len(got) or rest[:1] == b"E", rest[:20]


def test_client_gone_in_the_middle_of_rows(pooler, fakepg):
    """the next one gets its own answer"""
    f = fakepg(handler=Bulk())
    p = pooler({"p0": f.conn}, default_pool_size=1)
    for seed in range(3):
        c = p.raw(timeout=60)
        c.send(pq.query("bulk %d" % seed))
        c.recv_bytes(MB)
        c.abort()
        other = p.raw()
        for i in range(5):
            assert other.value("select %d" % i) == "select %d" % i
        other.close()


class Sink:
    """A server that keeps what a COPY brings it."""

    def __init__(self, slow=False):
        self.got, self.slow = bytearray(), slow

    def __call__(self, sess, kind, body):
        if kind == "Q" and body == b"copy\0":
            sess.send(copy_in())
            return True
        if kind == "d":
            self.got += pq.msg(kind, body)
            return True
        if kind == "c":
            sess.send(complete("COPY 1"), ready())
            return True


@pytest.mark.parametrize("unix", [False, True])
def test_copy_data_arrives_as_it_was_sent(pooler, fakepg, unix):
    """every split, to a server that lags behind"""
    sink = Sink()
    f = fakepg(handler=sink, rcvbuf=4096)
    p = pooler({"p0": f.conn}, default_pool_size=1)
    c = p.raw(unix=unix, timeout=60)
    for seed in range(2):
        rng = random.Random(seed)
        data = b"".join(pq.msg("d", rng.randbytes(n))
                        for n in sizes(rng, TOTAL))
        c.send(pq.query("copy"))
        assert c.recv()[0] == "G"
        send_pieces(c.send, rng, data)
        c.send(pq.copy_done())
        assert c.recv_until().tags == ["COPY 1"]
        assert sink.got == data
        sink.got.clear()
        assert c.value("select 1") == "select 1"


def test_wrong_message_behind_copy_data(pooler, fakepg):
    """unseen is only what is data: the client is closed"""
    f = fakepg(handler=Sink())
    p = pooler({"p0": f.conn}, default_pool_size=1)
    c = p.raw(timeout=60)
    c.send(pq.query("copy"))
    assert c.recv()[0] == "G"
    data = pq.msg("d", b"x" * 95) * 10000
    with contextlib.suppress(OSError):
        c.send(data + pq.msg("\0", b"x" * 95) * 100 + data)
    with pytest.raises(pq.Closed):
        c.recv_until()
    assert p.raw().value("select 1") == "select 1"


def test_urgent_bytes_in_copy_data(pooler, fakepg):
    """what is moved is what was looked at, or the client is closed"""
    f = fakepg(handler=Sink())
    p = pooler({"p0": f.conn}, default_pool_size=1)
    for seed in range(3):
        rng = random.Random(seed)
        c = p.raw(timeout=60)
        c.send(pq.query("copy"))
        assert c.recv()[0] == "G"
        with contextlib.suppress(OSError):
            for _ in range(200):
                c.send(pq.msg("d", b"x" * 95) * rng.randrange(1, 1000))
                c.sock.send(b"d", socket.MSG_OOB)
            c.send(pq.msg("Q", b"select 'not counted'\0"))
        c.abort()
        wait_until(lambda: p.pool()["cl_active"] == 0)
        with p.raw() as other:
            for i in range(5):
                assert other.value("select %d" % i) == "select %d" % i
