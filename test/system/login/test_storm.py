# test_storm.py - many logins at once, and those who are in already.
# SPDX-License-Identifier: ISC
import os
import select
import signal
import ssl
import subprocess
import sys
import time

import pytest

import harness
import pq
from harness import BIG, HERE, REFERENCE, wait_until

pytestmark = pytest.mark.skipif(REFERENCE, reason="newer than that")

COUNT = 2000 if BIG else 150
REQUEST = pq.untyped(pq.SSL_REQUEST)


def hello(context):
    """The bytes of a ClientHello."""
    into, out = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = context.wrap_bio(into, out, server_hostname="localhost")
    with pytest.raises(ssl.SSLWantReadError):
        tls.do_handshake()
    return out.read()


def run_storm(p, certs, count):
    return subprocess.Popen(
        [sys.executable, os.path.join(HERE, "storm.py"), str(p.port),
         str(count), certs.crt("ca"), "app", "app pw", "p0"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def answer(storm, want=None):
    """A line of it; it goes on then."""
    line = storm.stdout.readline().strip()
    assert line and line == (want or line), "the storm failed"
    storm.stdin.write("\n")
    storm.stdin.flush()
    return line


def test_storm_of_logins_delays_nobody(pooler, certs):
    """SCRAM over TLS 1.3: all are in, and queries are answered meanwhile;
    with BIG=1 2,000 clients, and a p99 that counts"""
    p = pooler({"p0": "user=app"}, userlist={"app": "app pw"},
               auth_type="scram-sha-256", max_client_conn=COUNT + 100,
               listen_backlog=4096, client_login_timeout=600,
               log_connections=0, log_disconnections=0,
               client_tls_protocols="tlsv1.3", **certs.accept())
    c = p.raw(password="app pw")
    for _ in range(50):
        assert c.value("select 1") == "1"
    storm = run_storm(p, certs, COUNT)
    took = []
    try:
        answer(storm, "ready")
        p.signal(signal.SIGSTOP)
        answer(storm, "sent")    # all of them wait for the pooler now
        p.signal(signal.SIGCONT)
        while not select.select([storm.stdout], [], [], 0.001)[0]:
            begun = time.monotonic()
            assert c.value("select 1") == "1"
            took.append(time.monotonic() - begun)
        line = answer(storm)
        assert storm.wait(300) == 0
    finally:
        p.signal(signal.SIGCONT)
        storm.kill()
        storm.wait()
    took.sort()
    p99 = took[len(took) * 99 // 100]
    print("%d logins in %.2f s; %d queries meanwhile: median %.2f ms, "
          "p99 %.1f ms, max %.1f ms" % (
              COUNT, float(line), len(took), took[len(took) // 2] * 1000,
              p99 * 1000, took[-1] * 1000))
    if BIG:
        assert p99 < float(line) / 20


def test_queries_go_before_logins(pooler, certs):
    """what came in one turn with 300 handshakes does not wait for them"""
    p = pooler({"p0": "user=app"}, **certs.accept())
    c = p.raw()
    assert c.value("select 1") == "1"
    data = hello(certs.client_context())

    def answered():
        """How many logins, when the query is."""
        logins = [p.open() for _ in range(300)]
        for s in logins:
            s.send(REQUEST)
        for s in logins:
            assert s.recv_bytes(1) == b"S"
        p.signal(signal.SIGSTOP)
        try:
            wait_until(lambda: harness.state_of(p.proc.pid) == "T")
            for s in logins:
                s.send(data)
            c.send(pq.query("select 2"))
        finally:
            p.signal(signal.SIGCONT)
        assert c.recv_until().rows == [["2"]]
        count = sum(1 for s in logins if s.readable())
        wait_until(lambda: all(s.readable() for s in logins),
                   what="all to be answered")
        for s in logins:
            s.close(polite=False)
        return count
    # A query takes two turns, its way there and back, and logins have a part
    # of each; a busy machine adds to that before we look. Where logins go
    # first it is all of them every time, so one good try tells.
    assert any(answered() < 150 for _ in range(10))


def test_login_that_leaves_loses_its_turn(pooler, certs):
    """hang-ups that come while it waits for its turn"""
    p = pooler({"p0": "user=app"}, **certs.accept())
    data = hello(certs.client_context())
    logins = [p.open() for _ in range(60)]
    p.signal(signal.SIGSTOP)
    try:
        for i, s in enumerate(logins):
            s.send(REQUEST if i % 2 else data)
            if i % 3 == 0:
                s.abort()
            elif i % 3 == 1:
                s.close(polite=False)
    finally:
        p.signal(signal.SIGCONT)
    assert p.raw().value("select 1") == "1"
    for s in logins:
        s.close(polite=False)
    wait_until(lambda: p.mem()["tls_cache"] == 0, what="all to be freed")
