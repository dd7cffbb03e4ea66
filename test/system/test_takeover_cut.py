# test_takeover_cut.py - SUSPEND and -R wherever a client's bytes end.
# SPDX-License-Identifier: ISC
import pytest

import pq
from harness import REFERENCE, wait_until
from test_takeover import ask, successor

pytestmark = pytest.mark.skipif(REFERENCE, reason="newer than that")

LONG = "x" * 100000


def begin_take_over(pooler, p):
    """The successor is on its way, the old process is told to stand still."""
    q = successor(pooler, p)
    q.write()
    q.launch()
    p.wait_log("SUSPEND command issued")
    return q


def end_take_over(p, q):
    assert p.wait_exit() == 0
    wait_until(q._is_up, what="the successor's 'process up'")


@pytest.mark.parametrize("restart", [False, True], ids=["suspend", "restart"])
def test_half_a_message_that_was_held(pooler, latch, restart):
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
    if restart:
        q = begin_take_over(pooler, p)
    else:
        k = ask(p)
        k.send(pq.query("suspend"))
        p.wait_log("SUSPEND command issued")
    latch.open()
    if restart:
        end_take_over(p, q)
    else:
        assert k.recv_until().tags == ["SUSPEND"]
        k.query("resume")
    a.recv_until()
    assert not a.recv_until().errors
    a.send(bind[50000:] + pq.execute() + pq.sync() + pq.query("select 2"))
    assert a.recv_until().check().rows == [["100000", "mine"]]
    assert a.recv_until().check().rows == [["2"]]
