# test_flow.py - streams in full flow, which are read beat by beat.
# SPDX-License-Identifier: ISC
import ctypes
import fcntl
import os
import socket
import struct
import termios
import threading

import pytest

import pq
from fakepg import (Gone, complete, copy_in, data_row, error, ready,
                    row_desc)
from harness import TIMEOUT, wait_until

PIDFD_GETFD = 438
BLOCK = b"".join(data_row("%0*d" % (20 + i % 80, i)) for i in range(800))
DATA = b"".join(pq.msg("d", b"x" * (20 + i % 80)) for i in range(800))


def ask_tcp(pid, ask):
    """ask(socket) of each TCP connection of the process."""
    libc, out = ctypes.CDLL(None, use_errno=True), []
    with os.fdopen(os.pidfd_open(pid)) as process:
        for name in os.listdir("/proc/%d/fd" % pid):
            fd = libc.syscall(PIDFD_GETFD, process.fileno(), int(name), 0)
            if fd < 0:
                if ctypes.get_errno() == 1:
                    pytest.skip("no permission to look at its sockets")
                continue
            try:
                with socket.socket(fileno=fd) as s:
                    if s.family == socket.AF_INET:
                        out.append(ask(s))
            except OSError:
                os.close(fd)    # no socket
    return out


def heaps(pid):
    return ask_tcp(pid, lambda s: s.getsockopt(socket.SOL_SOCKET,
                                               socket.SO_RCVLOWAT))


def unread(pid):
    def ask(s):
        if s.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
            return 0
        return struct.unpack("i", fcntl.ioctl(s, termios.FIONREAD, b"four"))[0]
    return ask_tcp(pid, ask)


def wait_held(p):
    wait_until(lambda: max(heaps(p.proc.pid)) > 1, what="full flow")


def wait_free(p):
    wait_until(lambda: set(heaps(p.proc.pid)) == {1}, what="ebb")


class Flood:
    """A server that answers "flood" with rows until it is told otherwise."""

    def __init__(self, end=None):
        self.end = end or (lambda sess: sess.send(complete("SELECT 1"),
                                                  ready()))
        self.ebb, self.silent = threading.Event(), threading.Event()
        self.last_word = threading.Event()
        self.sent = 0

    def __call__(self, sess, kind, body):
        if kind != "Q" or body != b"flood\0":
            return False
        sess.send(row_desc("c"))
        while not self.ebb.is_set():
            sess.send(BLOCK)
            self.sent += len(BLOCK)
        self.silent.set()
        assert self.last_word.wait(TIMEOUT * 2)
        self.end(sess)
        return True


class Drinker(threading.Thread):
    """Reads blocks, and what comes behind them."""

    def __init__(self, conn):
        super().__init__(daemon=True)
        self.conn, self.blocks, self.size = conn, BLOCK * 9, len(BLOCK)
        self.got, self.sent = len(conn.buf), None
        self.conn.buf.clear()
        self.thirst = threading.Event()
        self.thirst.set()
        self.conn.sock.settimeout(0.05)
        self.start()

    def run(self):
        while self.got != self.sent and not self.conn.buf:
            self.thirst.wait(TIMEOUT)
            try:
                data = self.conn.sock.recv(8 * self.size)
            except TimeoutError:
                continue
            at = self.got % self.size
            same, want = len(data), self.blocks[at:at + len(data)]
            if data != want:
                same = len(os.path.commonprefix([data, want]))
            self.got += same
            self.conn.buf += data[same:]
            if not data:
                return

    def finish(self, sent):
        """It has all of it."""
        self.sent = sent
        self.join(TIMEOUT)
        assert not self.is_alive() and self.got == sent
        self.conn.sock.settimeout(TIMEOUT)


class Stand:
    """A flood on its way through a pooler to a client, held."""

    def __init__(self, pooler, fakepg, end=None):
        self.flood = Flood(end)
        self.pg = fakepg(handler=self.flood)
        self.p = pooler({"p0": self.pg.conn}, default_pool_size=1)
        self.c = self.p.raw(unix=True)
        self.c.send(pq.query("flood"))
        self.c.recv_until("T")
        self.drinker = Drinker(self.c)
        wait_held(self.p)

    def fall_silent(self):
        self.flood.ebb.set()
        assert self.flood.silent.wait(TIMEOUT)
        self.drinker.finish(self.flood.sent)


def test_server_falls_silent(pooler, fakepg):
    """all it has said is passed on, and what comes later too"""
    s = Stand(pooler, fakepg)
    s.fall_silent()
    wait_free(s.p)
    s.flood.last_word.set()
    assert s.c.recv_until().tags == ["SELECT 1"]
    assert s.c.value("select 1") == "select 1"


def test_last_row_ends_it(pooler, fakepg):
    """nobody who gets the server next waits for a beat"""
    s = Stand(pooler, fakepg)
    s.flood.last_word.set()
    s.fall_silent()
    assert s.c.recv_until().tags == ["SELECT 1"]
    # the last word and the parting are of one turn
    assert s.p.raw(unix=True).value("select 1") == "select 1"
    assert set(heaps(s.p.proc.pid)) == {1}


def test_request_meanwhile_ends_it(pooler, fakepg):
    """its answer may be all that the client waits for"""
    s = Stand(pooler, fakepg)
    s.c.send(pq.query("select 1"))
    wait_free(s.p)
    s.flood.last_word.set()
    s.fall_silent()
    assert s.c.recv_until().tags == ["SELECT 1"]
    assert s.c.recv_until().rows == [["select 1"]]


def test_error_in_the_middle(pooler, fakepg):
    """such as a cancel brings"""
    s = Stand(pooler, fakepg, end=lambda sess: sess.send(
        error("canceling statement", "57014"), ready()))
    pq.send_cancel(s.p.port, s.c.key)
    wait_until(s.pg.cancels)
    s.flood.last_word.set()
    s.fall_silent()
    assert s.c.recv_until().errors[0].code == "57014"
    assert s.c.value("select 1") == "select 1"


def test_server_gone_in_the_middle(pooler, fakepg):
    """what it has said is passed on; nobody waits for more"""
    s = Stand(pooler, fakepg, end=lambda sess: sess.hang_up())
    s.flood.last_word.set()
    s.fall_silent()
    assert s.c.recv_all().tags == []
    assert s.p.raw(unix=True).value("select 1") == "select 1"


def test_client_gone_in_the_middle(pooler, fakepg):
    """its server goes too, and the next one gets its own answers"""
    s = Stand(pooler, fakepg)
    s.drinker.sent = -1
    s.c.sock.shutdown(socket.SHUT_RDWR)
    s.flood.ebb.set()
    s.flood.last_word.set()
    other = s.p.raw(unix=True)
    assert other.value("select 1") == "select 1"
    wait_free(s.p)


def test_client_that_stops_reading(pooler, fakepg):
    """back-pressure ends it; later on all of it arrives"""
    s = Stand(pooler, fakepg)
    s.drinker.thirst.clear()
    wait_free(s.p)
    s.drinker.thirst.set()
    wait_held(s.p)
    s.flood.last_word.set()
    s.fall_silent()
    assert s.c.recv_until().tags == ["SELECT 1"]


def test_takeover_behind_it(pooler, fakepg):
    """sockets are handed over as any other process knows them"""
    s = Stand(pooler, fakepg)
    s.fall_silent()
    q = pooler(start=False, args=["-R"])
    q.port, q.dbs, q.settings = s.p.port, s.p.dbs, dict(s.p.settings)
    q.start()
    assert s.p.wait_exit() == 0
    wait_free(q)
    s.flood.last_word.set()
    assert s.c.recv_until().tags == ["SELECT 1"]
    assert s.c.value("select 1") == "select 1"


def test_copy_from_a_client(pooler, fakepg):
    """the other direction: held, and ended by the server's answer"""
    got = bytearray()

    def sink(sess, kind, body):
        if kind != "Q" or body != b"copy\0":
            return False
        sess.send(copy_in())
        got.extend(sess.buf)
        sess.buf.clear()
        # unparsed: to look at each message is too slow for full flow
        while not got.endswith(pq.copy_done()):
            data = sess.sock.recv(1 << 20)
            if not data:
                raise Gone
            got.extend(data)
        sess.send(complete("COPY 1"), ready())
        return True

    f = fakepg(handler=sink)
    p = pooler({"p0": f.conn}, default_pool_size=1)
    c = p.raw()
    c.send(pq.query("copy"))
    c.recv_until("G")
    held, sent = threading.Event(), 0

    def look():
        wait_held(p)
        held.set()
    watcher = threading.Thread(target=look, daemon=True)
    watcher.start()
    while not held.is_set() and watcher.is_alive():
        c.send(DATA)
        sent += len(DATA)
    assert held.is_set()
    wait_until(lambda: len(got) == sent)
    assert bytes(got) == DATA * (sent // len(DATA))
    c.send(pq.copy_done())
    assert c.recv_until().tags == ["COPY 1"]
    assert c.value("select 1") == "select 1"
    wait_free(p)


def test_cut_header_is_not_left_in_the_socket(pooler, fakepg):
    """it would keep the room of the packets that it came in with"""
    cut = len(BLOCK) * 5 + 3
    go_on = threading.Semaphore(0)

    def answer(sess, kind, body):
        if kind != "Q" or body != b"rounds\0":
            return False
        sess.send(row_desc("c"))
        for _ in range(20):
            sess.send((BLOCK * 6)[:cut])
            go_on.acquire(timeout=TIMEOUT)
            sess.send(BLOCK[3:])
        sess.send(complete("SELECT 1"), ready())
        return True
    p = pooler({"p0": fakepg(handler=answer).conn}, default_pool_size=1)
    c = p.raw(unix=True)
    c.send(pq.query("rounds"))
    c.recv_bytes(len(row_desc("c")))
    for _ in range(20):
        assert c.recv_bytes(cut - 3) == BLOCK * 5
        wait_until(lambda: set(unread(p.proc.pid)) == {0}, what="all is read")
        go_on.release()
        assert c.recv_bytes(len(BLOCK)) == BLOCK
    assert c.recv_until().tags == ["SELECT 1"]
