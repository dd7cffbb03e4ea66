# test_attacks.py - those who take what all share, beside a client that does not.
# SPDX-License-Identifier: ISC
"""Descriptors, places, threads, memory, the log and servers are there for all. Each
attack goes on while a client asks for its rows, another one logs in and an
administrator looks around. A turn of the loop is compared with the longest one of
the same client alone (see test_streams.py), and what the attack took is given back.
ATTACK_SECONDS=5 makes each last that long; `-s` prints waits and memory."""
import contextlib
import os
import socket
import ssl
import struct
import threading
import time

import pytest

import pq
from harness import REFERENCE, TIMEOUT, free_port, wait_until
from test_streams import FLOOR, RATIO
from turn_clock import TurnClock

pytestmark = pytest.mark.skipif(REFERENCE, reason="it has no such limits")

SECONDS = float(os.environ.get("ATTACK_SECONDS") or 1)
THREADS, MB = 4, 1 << 20
FAILURES = (pq.PgError, pq.Closed, OSError)
HALF = b"\0\0\0\x20\0\3\0\0"


class Attack:
    """step() is called again and again by each thread, with a list for what it
    wants to hold on to."""
    settings, prefix, held_most = {}, (), 40
    newcomers = True            # can log in meanwhile

    def __init__(self, p):
        self.p = p

    def entries(self):
        return {"p0": "", "p1": ""}

    def files(self, fixture):
        pass

    def begin(self):
        pass

    def end(self):
        pass


class Descriptors(Attack):
    """More connections than there are descriptors, each with half a start-up."""
    settings = {"max_client_conn": 1000, "client_login_timeout": 60}
    prefix = ("prlimit", "--nofile=150:150")

    def step(self, held):
        c = self.p.open()
        held.append(c)
        c.sock.sendall(HALF)


class Consoles(Attack):
    """One who may look opens consoles, and asks for all there is."""
    settings = {"max_console_conn": 8, "max_client_conn": 60}

    def step(self, held):
        c = self.p.open()
        held.append(c)
        c.login("stats", database="pgbouncer")
        c.send(pq.query("show config") * 50)


class Handshakes(Attack):
    """A ClientHello, byte by byte; and half of one."""
    settings = {"client_tls_sslmode": "allow"}

    def files(self, fixture):
        self.p.settings.update(fixture("certs").accept("allow"))
        out = ssl.MemoryBIO()
        context = ssl.create_default_context()
        hello = context.wrap_bio(ssl.MemoryBIO(), out, server_hostname="x")
        with contextlib.suppress(ssl.SSLWantReadError):
            hello.do_handshake()
        self.hello = out.read()

    def step(self, held):
        c = self.p.open()
        held.append(c)
        c.send(pq.untyped(pq.SSL_REQUEST))
        c.recv_bytes(1)
        for n in range(0, len(self.hello) // 2, 8):
            c.sock.sendall(self.hello[n:n + 8])


class LogLines(Attack):
    """Whatever is worth a line, with the longest names."""
    settings = {"log_connections": 1, "log_disconnections": 1,
                "log_pooler_errors": 1, "verbose": 1}

    def step(self, held):
        c = self.p.open()
        c.send(pq.startup({"user": "\\\n\x1b" * 20, "database": "x" * 60,
                           "application_name": "\x01" * 60}))
        with contextlib.suppress(*FAILURES):
            c.recv_all()
        c.close()


class HalfMessages(Attack):
    """Half a message, in each state that a client can be in."""
    settings = {"memory_limit": "96MB"}
    newcomers = False           # they may be refused for a moment
    held_most = 15
    kinds = (
        (b"", b"P", b"s\0select /*"), (b"", b"Q", b"select /*"),
        (b"", b"B", b"\0\0"), (b"", b"y", b""), (b"", b"d", b""),
        (pq.query("begin"), b"P", b"s\0select /*"),
        (pq.query("begin"), b"B", b"\0\0"),
        (pq.query("copy attacks from stdin"), b"d", b"x"),
        (pq.query("begin") + pq.query("x"), b"Q", b"select /*"),
        (pq.parse("select 1", "a"), b"P", b"b\0select /*"),
    )

    def begin(self):
        self.n = 0

    def step(self, held):
        self.n += 1
        ahead, kind, body = self.kinds[self.n % len(self.kinds)]
        c = self.p.raw("app2", "p0", sndbuf=1 << 16)
        held.append(c)
        c.sock.settimeout(0.2)
        c.sock.sendall(ahead + kind + struct.pack("!I", 16 * MB) + body)
        c.sock.sendall(b"x" * 4 * MB)


class SlowScrapers(Attack):
    """They ask for /metrics, much of it, and read nothing."""

    def files(self, fixture):
        self.http = self.p.settings["http_listen_port"] = free_port()

    def entries(self):
        return {"p0": "", "p1": "", **{"d%d" % n: "" for n in range(300)}}

    def step(self, held):
        c = pq.Conn(port=self.http)
        held.append(c)
        c.sock.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n" * 5)


class Lookups(Attack):
    """Names that nobody has: each costs a query."""
    settings = {"auth_type": "scram-sha-256", "auth_user": "app"}

    def begin(self):
        self.n = 0

    def step(self, held):
        self.n += 1
        c = self.p.open()
        held.append(c)
        c.login("nobody%d" % self.n, database="p0", wait=False)


class Cancels(Attack):
    """Requests with a key of a client, and with keys of nobody."""

    def begin(self):
        self.key = self.p.raw("app2", "p0").key

    def step(self, held):
        for key in (self.key, os.urandom(8)):
            c = self.p.open()
            held.append(c)
            c.send(pq.untyped(pq.CANCEL_REQUEST, key))


class Peers(Attack):
    """Requests that are for another process, which does not answer."""
    settings = {"peer_id": 1}

    def files(self, fixture):
        self.silent = socket.create_server(("127.0.0.1", free_port()))
        self.p.extra = "[peers]\n2 = host=127.0.0.1 port=%d" % \
            self.silent.getsockname()[1]

    def step(self, held):
        c = self.p.open()
        held.append(c)
        c.send(pq.untyped(pq.CANCEL_REQUEST, struct.pack("!H", 2) + os.urandom(
            5) + b"\0"))

    def end(self):
        self.silent.close()


class Restarts(Attack):
    """Words of an online restart, by those who may not say them."""

    def step(self, held):
        c = self.p.open(unix=True)
        held.append(c)
        c.login("stats", database="pgbouncer")
        for said in "suspend", "show fds", "shutdown", "kill p1", "pause":
            c.send(pq.query(said))
        c.recv_until()


ATTACKS = {a.__name__: a for a in Attack.__subclasses__()}


def resident(p):
    with open("/proc/%d/status" % p.proc.pid, encoding="ascii") as f:
        return int(f.read().split("VmRSS:")[1].split()[0]) // 1024


def held_by(p):
    """What sessions hold, in objects"""
    kinds = ("client_cache", "login_cache", "carry_cache", "http_cache",
             "prepared_statement_cache", "iobuf_cache")
    return {r["name"]: int(r["used"]) for r in p.show("mem")
            if r["name"] in kinds}


class Siege:
    """The attack goes on from __enter__ to __exit__."""

    def __init__(self, attack):
        self.attack, self.over, self.steps = attack, threading.Event(), 0
        self.threads = [threading.Thread(target=self.run, daemon=True)
                        for _ in range(THREADS)]

    def run(self):
        held = []
        while not self.over.is_set():
            with contextlib.suppress(*FAILURES):
                self.attack.step(held)
            self.steps += 1
            while len(held) > self.attack.held_most:
                held.pop(0).abort()
        for c in held:
            c.abort()

    def __enter__(self):
        for t in self.threads:
            t.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        for t in self.threads:
            t.join(TIMEOUT)
        assert not any(t.is_alive() for t in self.threads)


def serve(clock, innocent, seconds, beside=lambda: None):
    """(longest turn, worst wait) in ms, of a client that is served meanwhile"""
    clock.reset()
    waits, end = [], time.monotonic() + seconds
    while time.monotonic() < end or len(waits) < 50:
        begun = time.monotonic()
        assert innocent.value("select 1") == "1"
        waits.append((time.monotonic() - begun) * 1000)
        if len(waits) in (20, 40):
            beside()
    return clock.read()[0].longest, max(waits)


@pytest.mark.parametrize("name", list(ATTACKS))
def test_attack_takes_nothing_from_others(pooler, pg, turn_clock, request,
                                          name):
    pg.sql("create table if not exists attacks (t text)",
           "grant all on attacks to public", db="p0")
    p = pooler(start=False)
    attack = ATTACKS[name](p)
    p.dbs = attack.entries()
    p.settings.update(log_connections=0, log_disconnections=0,
                      server_connect_timeout=5)
    p.settings.update(attack.settings)
    attack.files(request.getfixturevalue)
    clock = TurnClock(os.path.join(p.dir, "turns"))
    p.env.update(LD_PRELOAD=turn_clock, TURN_CLOCK=clock.path)
    p.write()
    p.launch(attack.prefix)
    p.wait_log("process up: ")
    innocent = p.raw("app", "p1")
    attack.begin()
    alone = serve(clock, innocent, SECONDS / 4)
    first, memory = held_by(p), [resident(p)]

    def beside():
        memory.append(resident(p))
        if attack.newcomers:
            with p.raw("app", "p1") as c:
                assert c.value("select 1") == "1"
        assert p.admin("show version")
    with Siege(attack) as siege:
        wait_until(lambda: siege.steps > THREADS, what="the attack")
        worst = serve(clock, innocent, SECONDS, beside)
    attack.end()
    # as before, with the one that asks
    wait_until(lambda: all(n <= first[kind] + 2 for kind, n in
                           held_by(p).items()), what="all to be given back")
    memory.append(resident(p))
    assert innocent.value("select 1") == "1"
    print("%s: %d steps, longest turn %.2f ms (alone %.2f), worst wait %.1f ms"
          " (alone %.1f), MB resident %s" % (
              name, siege.steps, worst[0], alone[0], worst[1], alone[1], memory))
    assert worst[0] / max(alone[0], FLOOR) < RATIO
