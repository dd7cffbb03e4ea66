# test_given_away.py - what the old process of an online restart may still meet.
# SPDX-License-Identifier: ISC
"""Behind SHOW FDS the successor has the sockets. What happens in the old
process until it hears of SHUTDOWN must not be seen on them.
"""
import threading

import pytest

import pq
from fakepg import Gone, complete, error, ready
from harness import REFERENCE
from test_takeover_end import halted, succeeds

__all__ = ["halted"]

pytestmark = pytest.mark.skipif(REFERENCE, reason="not so there")
INSERT = b"insert into t values ('%s')" % (b"x" * 100000)


@pytest.fixture
def refusing(pooler, fakepg):
    """A client without a server, whose only server's login will be refused;
    gives pooler, client, what refuses it, and the statements that came."""
    gate, seen, refuse = threading.Event(), [], [False]

    def on_login(s):
        if refuse.pop():
            assert gate.wait(100)
            s.send(error("role is not permitted to log in", "28000", "FATAL"))
            raise Gone
        refuse.append(False)

    def handler(s, kind, body):
        if kind == "Q" and b"insert" in body:
            seen.append(bytes(body))
            s.send(complete("INSERT 0 1"), ready())
            return True
        return False
    f = fakepg(on_login=on_login, handler=handler)
    p = pooler({"p0": f.conn}, default_pool_size=1, suspend_timeout=60,
               server_login_retry=1)
    c = p.raw()
    refuse[:] = [False, True]
    with p.console() as k:
        k.query("kill_server " + p.show("servers", user="app")[0]["id"])
    yield p, c, gate, seen
    gate.set()


def test_login_that_is_refused_is_told_to_nobody(refusing, halted):
    """one answer, the successor's"""
    p, c, gate, seen = refusing
    c.send(pq.query(INSERT.decode()))
    p.wait_pool(cl_waiting=1, sv_login=1)
    q = halted(p, "SHUTDOWN;")
    gate.set()
    p.wait_log("not permitted to log in")
    succeeds(q)
    res = c.recv_until()
    assert not res.errors and [k for k, _ in res.messages] == ["C", "Z"]
    assert seen == [INSERT + b"\0"]


def test_rest_of_a_message_is_read_by_the_successor(refusing, halted):
    """else what comes behind it is taken for that rest"""
    p, c, gate, seen = refusing
    whole = pq.query(INSERT.decode())
    c.send(whole[:80000])
    p.wait_pool(cl_waiting=1, sv_login=1)
    q = halted(p, "SHUTDOWN;")
    c.send(whole[80000:])
    gate.set()
    p.wait_log("not permitted to log in")
    succeeds(q)
    c.send(pq.query("select 1"))
    res = c.recv_until()
    assert not res.errors and seen == [INSERT + b"\0"]
    assert not c.recv_until().errors
