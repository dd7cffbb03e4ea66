# test_bodies.py - bodies of long messages, which go from socket to socket.
# SPDX-License-Identifier: ISC
import contextlib
import random
import threading

import pytest

import pq
from harness import BIG, wait_until

MB = 1 << 20
SIZE = (200 if BIG else 24) * MB
ECHO = "select $1::text"


def text(rng, size):
    """Random, printable, and cheap: a block of it in random order."""
    blocks = [bytes(rng.choices(b"abcdefghijklmnopqrstuvwxyz012345", k=4001))
              for _ in range(32)]
    out = bytearray()
    while len(out) < size:
        out += rng.choice(blocks)
    return bytes(out[:size])


def send_in_pieces(c, rng, data, errors):
    at = 0
    try:
        while at < len(data):
            n = rng.choice((1, 5, 4096, 65536, 65537, 300000, MB))
            c.sock.sendall(data[at:at + n])
            at += n
    except OSError as e:
        errors.append(e)


def read_in_pieces(c, rng, size):
    out = bytearray()
    while len(out) < size:
        n = rng.choice((1, 100, 4096, 65536, 100000, MB))
        out += c.recv_bytes(min(n, size - len(out)))
    return bytes(out)


def echo(p, seed, size):
    """Send a text, get it back; returns whether it is the same."""
    rng = random.Random(seed)
    c = p.raw(rcvbuf=rng.choice((4096, 65536, MB)), sndbuf=65536, timeout=120)
    data = text(rng, size)
    errors = []
    t = threading.Thread(target=send_in_pieces, args=(
        c, random.Random(seed), pq.parse(ECHO) + pq.bind(params=[data])
        + pq.execute() + pq.sync(), errors))
    t.start()
    assert c.recv()[0] == "1" and c.recv()[0] == "2"
    head = c.recv_bytes(5)
    left = int.from_bytes(head[1:], "big") - 4
    got = read_in_pieces(c, rng, left)
    t.join()
    assert errors == []
    assert head[:1] == b"D" and left == size + 6
    rest = c.recv_until()
    assert rest.tags == ["SELECT 1"]
    c.close()
    return got[6:] == data


def test_every_byte_arrives_in_order(pooler):
    """three at once on two servers, sizes around the limits too"""
    # regressions: family 7: back-pressure
    p = pooler(default_pool_size=2)
    sizes = [65535, 65536, 65537, 131072, MB, SIZE]
    results = {}

    def run(seed):
        results[seed] = all(echo(p, seed * 100 + i, n)
                            for i, n in enumerate(sizes))
    threads = [threading.Thread(target=run, args=(i,)) for i in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert results == {0: True, 1: True, 2: True}
    stats, all_bytes = p.stats(), 3 * sum(sizes)
    for way in ("total_received", "total_sent"):
        assert all_bytes < stats[way] < all_bytes * 1.01


@pytest.mark.parametrize("way", ["up", "down"])
def test_client_gone_in_the_middle(pooler, way):
    """pooling.md 13; the next client gets its own answer"""
    p = pooler(default_pool_size=1)
    c = p.raw(rcvbuf=4096, sndbuf=65536)
    if way == "up":
        whole = pq.query("select length('%s')" % ("z" * 8 * MB))
        c.send(whole[:4 * MB])
        wait_until(lambda: p.pool()["sv_active"] == 1)
    else:
        c.send(pq.query("select repeat('y', %d)" % (64 * MB)))
        c.recv_bytes(2 * MB)
    c.abort()
    other = p.raw()
    for i in range(20):
        assert other.value("select 'mine %d'" % i) == "mine %d" % i


def test_server_gone_in_the_middle(pooler, pg):
    """what came is delivered, then the end"""
    p = pooler(default_pool_size=1)
    c = p.raw(rcvbuf=4096, timeout=120)
    c.send(pq.query("select repeat('y', %d)" % (64 * MB)))
    c.recv_bytes(2 * MB)
    pid = pg.sql("select pid from pg_stat_activity where usename='app' and "
                 "query like 'select repeat%%'")[0][0]
    # it is blocked in send(), where it only listens to SIGTERM at a row's end
    pg.sql("select pg_terminate_backend(%s)", args=(pid,))
    size = 0
    with contextlib.suppress(ConnectionResetError):
        while data := c.sock.recv(MB):
            assert size > MB or set(data) == {ord("y")}
            size += len(data)
    assert 0 < size < 65 * MB
    assert p.raw().value("select 1") == "1"
