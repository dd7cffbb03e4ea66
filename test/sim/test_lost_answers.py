# test_lost_answers.py - an answer that never comes, a client that leaves unread.
# SPDX-License-Identifier: ISC
"""No state of ours holds a pair for ever (spec/pooling.md section 12)."""
import socket
import struct

import pytest

import pq
from fakepg import error, ready, result
from harness import REFERENCE, wait_until

pytestmark = pytest.mark.skipif(REFERENCE, reason="waits for ever")

LOST = "server is idle, but has not answered all requests"
BATCH = pq.parse("select 1") + pq.bind() + pq.execute()


class Server:
    """Says of a text what it is to say; else it is silent, but a Sync is
    answered as soon as nothing is at work."""

    def __init__(self, answers):
        self.answers, self.late = answers, None
        self.syncs = 0

    def __call__(self, s, kind, body):
        self.session = s
        text = body[:-1].decode(errors="replace") if kind == "Q" else kind
        if text in self.answers:
            s.send(self.answers[text])
            return True
        if kind == "Q" and text == "slow":
            self.late = result("slow")
            return True
        if kind == "S":
            self.syncs += 1
        if self.late is None:
            return False
        # behind what is at work
        self.late += ready() if kind == "S" else s.answer_query(text)
        return True

    def finish(self):
        self.session.send(self.late)
        self.late = None


# what is sent, and what the server says of a text
LOSSES = {
    "an error alone": (pq.query("x"), {"x": error("x")}),
    "nothing": (pq.query("x"), {"x": b""}),
    "nothing of the second": (pq.query("select 1") + pq.query("x"),
                              {"x": b""}),
    "nothing of two": (pq.query("x") * 2, {"x": b""}),
    "an error alone, amid a batch": (
        pq.query("x") + BATCH, {"x": error("x"), "P": b"", "B": b"",
                                "E": b""}),
    "nothing behind a batch": (BATCH + pq.sync() + pq.query("x"),
                               {"x": b""}),
    "nothing of a call": (pq.function_call(1, []), {"F": b""}),
}


@pytest.mark.parametrize("mode", ["session", "transaction"])
def test_answer_that_never_comes_ends_the_pair(pooler, fakepg, mode):
    """the server's place is free again, and no end of a query is made up"""
    fakes = {"d%d" % n: fakepg(handler=Server(answers))
             for n, (_, answers) in enumerate(LOSSES.values())}
    p = pooler({d: f.conn + " pool_size=1" for d, f in fakes.items()},
               server_connect_timeout=1.5, pool_mode=mode)
    clients = {d: p.raw(database=d) for d in fakes}
    for c, (sent, _) in zip(clients.values(), LOSSES.values()):
        c.send(sent)
    got = {kind: c.recv_all() for kind, c in zip(LOSSES, clients.values())}
    assert {k: (r.errors[-1].code, r.errors[-1].message)
            for k, r in got.items()} == dict.fromkeys(LOSSES, ("08P01", LOST))
    assert [p.raw(database=d).value("select 2") for d in fakes] == \
        ["select 2"] * len(fakes)


def test_long_query_is_not_disturbed(pooler, fakepg):
    """one Sync behind it; its answer is not the client's"""
    h = Server({"first": result("1")})
    f = fakepg(handler=h)
    p = pooler({"p0": f.conn}, server_connect_timeout=1.5, verbose=2)
    c = p.raw()
    c.send(pq.query("first") + pq.query("slow") + pq.query("select 3"))
    assert c.recv_until().rows == [["1"]]
    p.wait_log("silent for long")
    wait_until(lambda: h.syncs == 1)
    h.finish()
    assert c.recv_until().rows == [["slow"]]
    assert c.recv_until().rows == [["select 3"]]
    assert c.value("select 4") == "select 4"
    assert not c.readable()
    assert len(f.sessions) == 1 and h.syncs == 1


def test_open_batch_is_left_alone(pooler, fakepg):
    """a Sync would commit it"""
    h = Server({"P": b"", "B": b"", "E": b""})
    open_, lost = fakepg(handler=h), fakepg(handler=Server({"x": b""}))
    p = pooler({"p0": open_.conn, "p1": lost.conn},
               server_connect_timeout=1.5)
    p.raw().send(BATCH + pq.flush())
    # another client, which came later, has had its limit twice
    c = p.raw(database="p1")
    c.send(pq.query("x"))
    assert c.recv_all().errors[-1].message == LOST
    assert h.syncs == 0


def leave(c, how):
    if how == "reset":
        c.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                          struct.pack("ii", 1, 0))
        c.sock.close()
    elif how == "half":
        c.sock.shutdown(socket.SHUT_WR)
    else:
        c.sock.close()


@pytest.mark.parametrize("how,unread", [
    ("reset", b""), ("close", pq.sync()), ("half", b""), ("half", pq.sync())])
def test_client_that_leaves_unread_is_noticed(pooler, fakepg, how, unread):
    """it waits for an answer, and is not read"""
    f = fakepg(handler=Server({"discard all": b""}))
    p = pooler({"p0": f.conn}, max_prepared_statements=10)
    c = p.raw()
    c.send(pq.query("discard all") + unread)
    p.wait_pool(sv_active=1)
    leave(c, how)
    p.wait_pool(sv_active=0)
    assert p.raw().value("select 2") == "select 2"
