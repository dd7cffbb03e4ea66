# test_half_message.py - a session that ends amid a message of its server.
# SPDX-License-Identifier: ISC
"""What the pooler has to say may not be read as the rest of a row."""
import signal
import struct
import threading

import pytest

import pq
from fakepg import data_row, row_desc
from harness import REFERENCE, TIMEOUT

pytestmark = pytest.mark.skipif(REFERENCE, reason="writes into the message")

ROW = row_desc("a") + data_row("x" * 9000)
HALF = ROW[:-3000]


class Half:
    """Sends a part of a row, and goes on when it is told."""

    def __init__(self):
        self.next, self.end = threading.Event(), b""

    def __call__(self, s, kind, body):
        if kind != "Q" or b"half" not in body:
            return False
        s.send(HALF)
        self.next.wait(TIMEOUT)
        s.send(self.end)
        s.hang_up()


def kill_client(p, c):
    row = next(r for r in p.show("clients") if r["user"] == "app")
    p.admin("kill_client " + row["id"])


def kill(p, c):
    p.admin("kill p0")


def bad_message(p, c):
    c.send(b"Q" + struct.pack("!i", 1))


def unknown_message(p, c):
    c.send(pq.msg("!"))


def remove(p, c):
    p.dbs = {"other": "host=127.0.0.1"}
    p.write()
    p.admin("reload")


def shut_down(p, c):
    p.signal(signal.SIGQUIT)
    p.wait_exit()


def nothing(p, c):
    """a time-out does it"""


WAYS = {
    "kill_client": (kill_client, {}), "kill": (kill, {}),
    "bad_message": (bad_message, {}), "unknown_message": (unknown_message, {}),
    "reload": (remove, {}), "shutdown": (shut_down, {}),
    "query_timeout": (nothing, {"query_timeout": 1}),
    "transaction_timeout": (nothing, {"transaction_timeout": 1}),
}


def read_to_end(c):
    got = bytearray(c.buf)
    c.sock.settimeout(TIMEOUT)
    try:
        while data := c.sock.recv(65536):
            got += data
    except ConnectionResetError:
        pass
    return bytes(got)


@pytest.mark.parametrize("mode", ["session", "transaction"])
@pytest.mark.parametrize("way", WAYS)
def test_end_amid_a_row_is_silent(pooler, fakepg, way, mode):
    """nothing but a part of what the server said"""
    half = Half()
    f = fakepg(handler=half)
    act, settings = WAYS[way]
    p = pooler({"p0": f.conn}, pool_mode=mode, **settings)
    c = p.raw()
    c.send(pq.query("select half"))
    c._fill(len(HALF))
    act(p, c)
    assert read_to_end(c) == HALF
    half.next.set()


@pytest.mark.parametrize("end", [b"", ROW[len(HALF):-1]])
def test_server_gone_amid_a_row(pooler, fakepg, end):
    """the same when the server goes first"""
    half = Half()
    f = fakepg(handler=half)
    p = pooler({"p0": f.conn})
    c = p.raw()
    c.send(pq.query("select half"))
    c._fill(len(HALF))
    half.end = end
    half.next.set()
    assert read_to_end(c) == HALF + end


@pytest.mark.parametrize("way", ["kill_client", "kill", "bad_message"])
def test_end_behind_a_row_is_told(pooler, fakepg, way):
    """a whole message: the client learns why"""
    def handler(s, kind, body):
        if kind != "Q" or b"row" not in body:
            return False
        s.send(ROW)
        return True
    f = fakepg(handler=handler)
    p = pooler({"p0": f.conn})
    c = p.raw()
    c.send(pq.query("select row"))
    assert c.recv()[0] + c.recv()[0] == "TD"
    WAYS[way][0](p, c)
    last = c.recv_all().errors[-1]
    assert last.severity == "FATAL"
