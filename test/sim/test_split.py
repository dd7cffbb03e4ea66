# test_split.py - every message split at every byte, and many in one segment.
# SPDX-License-Identifier: ISC
import pytest

import pq
from fakepg import (complete, data_row, error, notice, param, ready,
                    row_desc)
from harness import REFERENCE


class Barrier:
    """Returns when the pooler has handled everything sent before."""

    def __init__(self, p):
        self.con = p.console()

    def __call__(self):
        for _ in range(2):
            self.con.query("show version")


STREAMS = {
    "simple": [pq.query("select 1, 'two'"), pq.query(""),
               pq.query("select 1/0"), pq.query("begin"),
               pq.query("select 3; select 4"), pq.query("commit")],
    "extended": [pq.parse("select $1::int, $2::text"), pq.describe("S"),
                 pq.bind("", ("7", None)), pq.describe("P"), pq.execute(),
                 pq.sync(), pq.parse("selec"), pq.bind(), pq.sync()],
    "named": [pq.parse("select $1::text", "stmt", (25,)),
              pq.describe("S", "stmt"), pq.bind("stmt", ("abc",)),
              pq.execute(), pq.close("S", "stmt"), pq.sync(),
              pq.parse("select 5", "stmt"), pq.bind("stmt"),
              pq.execute(), pq.close("S", "stmt"), pq.sync()],
    "portal": [pq.query("begin"), pq.parse("select generate_series(1,4)"),
               pq.bind("", (), "cur"), pq.execute("cur", 3), pq.flush(),
               pq.execute("cur", 3), pq.close("P", "cur"), pq.sync(),
               pq.query("commit")],
    "copy": [pq.query("copy sink from stdin"), pq.copy_data(b"1\tx\n"),
             pq.copy_data(b"2\ty\n"), pq.copy_done(),
             pq.query("copy sink from stdin"), pq.copy_fail("no"),
             pq.query("copy (select 1) to stdout")],
    "call": [pq.function_call(1251, ["-5"]), pq.query("select 2")],
}


def readies(data):
    """ReadyForQuery messages that a stream asks for."""
    kinds = [k for k, _ in pq.split_messages(data)[0]]
    return sum(k in "QSF" for k in kinds)


def normal(replies):
    """Replies without what differs from run to run."""
    return [(k, b) for k, b in replies if k not in "S"]


def exchange(c, pieces, n, barrier=None):
    out = []
    for i, part in enumerate(pieces):
        if i and barrier:
            barrier()
        c.send(part)
    while n:
        m = c.recv()
        out.append(m)
        n -= m[0] == "Z"
    return normal(out)


def direct(pg, data):
    c = pq.Conn(port=pg.port)
    c.login("app", database="p0")
    out = exchange(c, [data], readies(data))
    c.close()
    return out


def may_run(name):
    if REFERENCE and name in ("named", "copy", "extended"):
        pytest.skip("fixed later")


@pytest.mark.parametrize("name", sorted(STREAMS))
def test_client_messages_split_at_every_byte(pooler, pg, name):
    """pooling.md 19: partial messages wait; same results"""
    # regressions: PB#1058, PB 1.6 late header, family 1: splits, lengths,
    #   order
    may_run(name)
    data = b"".join(STREAMS[name])
    want = direct(pg, data)
    p = pooler(default_pool_size=1)
    barrier, c = Barrier(p), p.raw()
    for at in range(1, len(data)):
        got = exchange(c, [data[:at], data[at:]], readies(data), barrier)
        assert got == want, at
    p.wait_pool(sv_active=0)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 6, 11])
@pytest.mark.parametrize("name", sorted(STREAMS))
def test_client_messages_in_small_pieces(pooler, pg, name, size):
    """every segment has `size` bytes"""
    may_run(name)
    data = b"".join(STREAMS[name])
    p = pooler(default_pool_size=1)
    barrier, c = Barrier(p), p.raw()
    pieces = [data[i:i + size] for i in range(0, len(data), size)]
    for b in (barrier, None):
        assert exchange(c, pieces, readies(data), b) == direct(pg, data)


@pytest.mark.parametrize("name", sorted(STREAMS))
def test_many_client_messages_in_one_segment(pooler, pg, name):
    """the same, all at once"""
    may_run(name)
    data = b"".join(STREAMS[name])
    want = direct(pg, data)
    p = pooler(default_pool_size=1)
    c = p.raw()
    for times in (1, 2, 50):
        got = exchange(c, [data * times], readies(data) * times)
        assert got == want * times
    p.wait_pool(sv_active=0)


@pytest.mark.parametrize("mode", ["session", "transaction"])
def test_login_split_at_every_byte(pooler, mode):
    """StartupMessage and PasswordMessage"""
    # regressions: PB#1058, PB 1.6 late header
    if REFERENCE:
        pytest.skip("fixed later (#1058)")
    p = pooler(auth_type="md5", pool_mode=mode, log_connections=0,
               log_disconnections=0)
    barrier = Barrier(p)
    start = pq.untyped(pq.SSL_REQUEST)
    for at in range(1, 8):
        c = p.open()
        c.send(start[:at])
        barrier()
        c.send(start[at:])
        assert c.recv_bytes(1) == b"N"
        c.close(polite=False)
    data = pq.startup({"user": "app", "database": "p0",
                       "application_name": "x"})
    for at in range(1, max(len(data), 42)):
        c = p.open()
        c.send(data[:min(at, len(data))])
        barrier()
        if at < len(data):
            c.send(data[at:])
        salt = c.recv()[1][4:8]
        pw = pq.password(pq.md5_password("app", "apppw", salt))
        c.send(pw[:at])
        barrier()
        c.send(pw[at:])
        c.finish_login("app")
        c.close()
    for data in (pq.untyped(pq.CANCEL_REQUEST, b"12345678"),):
        for at in range(1, len(data)):
            c = p.open()
            c.send(data[:at])
            barrier()
            c.send(data[at:])
            assert c.at_eof()
            c.close(polite=False)


def test_console_split_at_every_byte(pooler):
    """admin-console.md 2: buffer it"""
    if REFERENCE:
        pytest.skip("drops the client")
    p = pooler()
    barrier, c = Barrier(p), p.console()
    data = pq.query("show version") + pq.query("nonsense")
    want = exchange(c, [data], 2)
    for at in range(1, len(data)):
        assert exchange(c, [data[:at], data[at:]], 2, barrier) == want


REPLIES = {
    "rows": row_desc("a", "b") + data_row("1", None) + data_row("", "xyz")
    + complete("SELECT 2") + ready(),
    "error": notice("careful") + error("bad thing", "22012") + ready(),
    "status": param("TimeZone", "Asia/Tokyo") + complete("SET") + ready(),
    "notify": complete("LISTEN") + pq.msg("A", b"\0\0\0\1ch\0pay\0")
    + ready(),
    "copyout": pq.msg("H", b"\0\0\1\0\0") + pq.msg("d", b"1\n")
    + pq.msg("d", b"") + pq.msg("c") + complete("COPY 1") + ready(),
    "empty": pq.msg("I") + ready(),
}


class Script:
    """Answers each Query with one reply, split where told."""

    def __init__(self):
        self.pieces, self.barrier = [], None

    def __call__(self, sess, kind, body):
        if kind != "Q" or not body.startswith(b"go"):
            return False
        for i, part in enumerate(self.pieces):
            if i and self.barrier:
                self.barrier()
            sess.sock.sendall(part)
        return True


@pytest.fixture
def scripted(pooler, fakepg):
    s = Script()
    f = fakepg(handler=s)
    p = pooler({"p0": f.conn}, default_pool_size=1)
    s.barrier = Barrier(p)
    return p, s


@pytest.mark.parametrize("name", sorted(REPLIES))
def test_server_messages_split_at_every_byte(scripted, name):
    """both directions: same results"""
    # regressions: family 1: splits, lengths, order
    p, s = scripted
    data = REPLIES[name]
    want = pq.split_messages(data)[0]
    c = p.raw()
    for at in range(1, len(data)):
        s.pieces = [data[:at], data[at:]]
        c.send(pq.query("go"))
        assert c.recv_until().messages == want, at
    p.wait_pool(sv_active=0)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 6, 11])
def test_server_messages_in_small_pieces(scripted, size):
    """every segment has `size` bytes"""
    p, s = scripted
    barrier, c = s.barrier, p.raw()
    for data in REPLIES.values():
        s.pieces = [data[i:i + size] for i in range(0, len(data), size)]
        for s.barrier in (barrier, None):
            c.send(pq.query("go"))
            assert c.recv_until().messages == pq.split_messages(data)[0]


def test_many_server_messages_in_one_segment(pooler, fakepg):
    """replies to a pipeline, held back, then sent in one piece"""
    # regressions: Ody ea9fc2a9, Ody 496aaad0
    data = b"".join(REPLIES.values())
    n, held = len(REPLIES) * 20, []

    def handler(sess, kind, body):
        if kind != "Q" or body != b"go\0":
            return False
        held.append(1)
        if len(held) == n:
            sess.sock.sendall(data * 20)
        return True
    f = fakepg(handler=handler)
    p = pooler({"p0": f.conn}, default_pool_size=1)
    c = p.raw()
    c.send(pq.query("go") * n)
    got = []
    for _ in range(n):
        got += c.recv_until().messages
    assert got == pq.split_messages(data * 20)[0]
    p.wait_pool(sv_active=0)


@pytest.mark.parametrize("auth", ["trust", "password", "md5", "scram"])
@pytest.mark.parametrize("split", [1, 3])
def test_server_login_in_small_pieces(pooler, fakepg, auth, split):
    """pooling.md 6 (#1446): login packets of the server split or large"""
    # regressions: PB#1446, PB#1520
    if REFERENCE:
        pytest.skip("fixed later")
    f = fakepg(auth=auth, password="apppw", split=split,
               extra_welcome=notice("n" * (20000 if split > 1 else 100)))
    p = pooler({"p0": f.conn})
    c = p.raw()
    assert c.params["server_version"] == "15.0"
    assert c.value("select 'hello'") == "select 'hello'"


def test_prepared_replies_split_at_every_byte(pooler, fakepg):
    """pooling.md 14, 16: swallowed and faked replies"""
    if REFERENCE:
        pytest.skip("newer than that")
    f = fakepg(split=1)
    p = pooler({"p0": f.conn}, default_pool_size=1)
    a, b = p.raw(), p.raw()
    for c in (a, b, a):
        c.send(pq.parse("select 1", "s"), pq.bind("s"), pq.execute(),
               pq.close("S", "s"), pq.sync())
        assert c.recv_until().kinds == "12C3Z"
    assert f.sessions[0].kinds().count("P") == 1
