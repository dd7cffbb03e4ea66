# test_faults.py - what happens to a process: it is stopped, clocks jump.
# SPDX-License-Identifier: ISC
"""Time passes here because it has to: more of it than a time-out allows."""
import signal
import time

import pytest

import harness
import pq
from harness import REFERENCE, wait_until

pytestmark = pytest.mark.skipif(REFERENCE, reason="newer than that")

LIMIT = 3       # seconds of each time-out here
CROWD = 300     # more sockets than a turn of the loop looks at


def pass_time(seconds):
    end = time.monotonic() + seconds
    wait_until(lambda: time.monotonic() > end, what="time to pass")


def stop(p):
    p.signal(signal.SIGSTOP)
    wait_until(lambda: harness.state_of(p.proc.pid) == "T")


def limited(pooler, **settings):
    names = ("client_idle_timeout", "idle_transaction_timeout",
             "transaction_timeout", "query_timeout", "query_wait_timeout",
             "client_login_timeout", "server_connect_timeout")
    return pooler(**{**dict.fromkeys(names, LIMIT), "default_pool_size": 5,
                     **settings})


def test_a_stop_is_held_against_nobody(pooler, pg):
    """SIGSTOP, a frozen container: what arrived meanwhile is read first"""
    p = limited(pooler)
    idle = [p.raw() for _ in range(CROWD)]
    latch = harness.Latch(pg)
    busy, inside = p.raw(), p.raw()
    inside.query("begin")
    busy.send(pq.query("select %s" % latch.query))
    p.wait_pool(sv_active=2)
    stop(p)
    latch.open()        # the reply comes while nobody reads it
    for c in idle:
        c.send(pq.query("select 1"))
    inside.send(pq.query("select 2"))
    login = p.open()
    login.send(pq.startup({"user": "app", "database": "p0"}))
    pass_time(LIMIT + 2)
    p.signal(signal.SIGCONT)
    busy.recv_until()
    inside.recv_until()
    login.recv_until()
    for c in idle:
        c.recv_until()
    assert login.value("select 3") == "3"
    assert "timeout" not in p.log


def test_suspend_is_held_against_nobody(pooler):
    """the same for what all stood still for by SUSPEND"""
    p = limited(pooler)
    idle = [p.raw() for _ in range(CROWD)]
    with p.console() as console:
        console.query("suspend")
        for c in idle:
            c.send(pq.query("select 1"))
        pass_time(LIMIT + 2)
        console.query("resume")
    for c in idle:
        c.recv_until()
    assert "timeout" not in p.log


def test_limits_count_again_after_a_stop(pooler):
    """who is idle for as long again is closed"""
    p = limited(pooler)
    c = p.raw()
    stop(p)
    pass_time(LIMIT + 2)
    p.signal(signal.SIGCONT)
    kind, body = c.recv()
    assert kind == "E" and b"client_idle_timeout" in body
