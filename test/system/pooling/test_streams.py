# test_streams.py - hostile and careless streams beside a client that is neither.
# SPDX-License-Identifier: ISC
"""Nobody else is served in a turn of the loop, so no stream may make one long
(spec/pooling.md section 2). What counts is the CPU time of the loop's thread: a
busy machine is not in it. A turn with the stream is compared with the longest
turn of the same client without it."""
import contextlib
import os
import re
import socket
import struct
import threading
import urllib.request

import pytest

import pq
from harness import BIG, REFERENCE, free_port, wait_until
from turn_clock import TurnClock

pytestmark = pytest.mark.skipif(REFERENCE, reason="holds the loop")

MB = 1 << 20
QUERIES = 15                    # of the client that waits its turn
RATIO = 40                      # without a budget it is 500 and more
FLOOR = 1.0                     # ms: a turn of less is not worth comparing


# messages: that are answered here, that are passed on, that have to be run
OURS, PASSED, RUN = 30000, 4000, 400

CLIENTS = {
    "close of nothing": pq.close("S", "x") * OURS,
    "close of no portal": pq.close("P", "x") * PASSED + pq.sync(),
    "parse and close": (pq.parse("select 1", "a")
                        + pq.close("S", "a")) * PASSED,
    "parse of many names": b"".join(
        pq.parse("select 1", "n%d" % n) for n in range(PASSED)),
    "parse of one name": pq.parse("select 1", "a") * PASSED,
    "flush": pq.flush() * OURS,
    "sync": pq.sync() * PASSED,
    "copy data": pq.copy_data(b"x") * OURS,
    "copy done": pq.copy_done() * OURS,
    "copy fail": pq.copy_fail("x") * OURS,
    "empty queries": pq.query("") * PASSED,
    "queries": pq.query("select 1") * PASSED,
    "transactions": (pq.query("begin") + pq.query("rollback")) * RUN,
    "settings": pq.query("set application_name to 'x'") * RUN,
    "discard all": pq.query("discard all") * RUN,
    "deallocate": pq.query("deallocate x") * RUN,
    "bind of nothing": (pq.bind("x") + pq.sync()) * RUN,
    "describe of nothing": (pq.describe("S", "x") + pq.sync()) * RUN,
    "execute of nothing": (pq.execute("x") + pq.sync()) * RUN,
    "unnamed statements": (pq.parse("select 1") + pq.bind() + pq.execute()
                           + pq.sync()) * RUN,
    "function calls": pq.function_call(2026, []) * RUN,
    "many errors": pq.query("x") * RUN,
    "a long query": pq.query("select /*" + "x 37 " * MB + "*/ 1"),
    "a long unnamed parse": pq.parse("s s " * MB) + pq.sync(),
    "a long parameter": pq.parse("select length($1)") + pq.bind(
        params=["x" * 4 * MB]) + pq.execute() + pq.sync(),
}

CONSOLE = {
    "show": pq.query("show config") * RUN,
    "show, extended": (pq.parse("show config") + pq.bind() + pq.execute()
                       + pq.sync()) * RUN,
    "commands that fail": pq.query("show x") * PASSED,
    "syncs of the console": pq.sync() * PASSED,
}

# one message of n bytes, of each kind and where it is not expected, too
LONG = (64 if BIG else 16) * MB
BIG_CLIENTS = {
    "query": lambda n: pq.query("s s " * (n // 4)),
    # of the others only these are kept whole, and copied
    "named parse": lambda n: pq.parse("s s " * (n // 16), "a") + pq.sync(),
    "named settings": lambda n: pq.parse("set a.b=1;" * (n // 40), "a")
    + pq.sync(),
    "bind": lambda n: pq.parse("select length($1)") + pq.bind(
        params=["x" * n]) + pq.execute() + pq.sync(),
    "bind of a name": lambda n: pq.bind("x" * n) + pq.sync(),
    "describe": lambda n: pq.describe("S", "x" * n) + pq.sync(),
    "close": lambda n: pq.close("S", "x" * n) + pq.sync(),
    "execute": lambda n: pq.execute("x" * n) + pq.sync(),
    "sync": lambda n: pq.msg("S", bytes(n)),
    "flush": lambda n: pq.msg("H", bytes(n)),
    "copy": lambda n: pq.query("copy streams from stdin")
    + pq.copy_data(b"x" * n) + pq.copy_done(),
    "late copy data": lambda n: pq.copy_data(b"x" * n),
    "copy fail": lambda n: pq.query("copy streams from stdin")
    + pq.copy_fail("x" * n),
    "function call": lambda n: pq.msg("F", bytes(n)),
    "unknown": lambda n: pq.msg("y", bytes(n)),
}
BIG_CONSOLE = {
    "console query": lambda n: pq.query("show " + "x" * n),
    "console parse": lambda n: pq.parse("show " + "x" * n) + pq.sync(),
    "console copy": lambda n: pq.copy_data(b"x" * n),
}
BIG_STARTUP = {
    "start-up": lambda n: pq.startup([("user", "app"), ("options", "x" * n)]),
    "password": lambda n: pq.startup([("user", "app"), ("database", "p0")])
    + pq.password("x" * n),
}

STARTUP = {
    "gss requests": pq.untyped(pq.GSSENC_REQUEST) * PASSED,
    "tls requests": pq.untyped(pq.SSL_REQUEST) * PASSED,
    "a long start-up": pq.startup([("user", "app")] + [
        ("options", "-c a=b " * 8)] * 100),
}

OK, KEY = pq.msg("R", struct.pack("!i", 0)), pq.msg("K", bytes(8))
READY, STATUS = pq.msg("Z", b"I"), pq.msg("S", b"TimeZone\0UTC\0")
NOTICE = pq.msg("N", b"SNOTICE\0C00000\0Mx\0\0")
PATH = pq.msg("2") + pq.msg("C", b"SELECT 1\0")
ROW = pq.msg("D", struct.pack("!hi", 2, 3) + b"ann" + struct.pack("!i", 1)
             + b"x")
COLUMN = struct.pack("!ihihih", 0, 0, 25, -1, -1, 0)
ROWS = pq.msg("T", struct.pack("!h", 2) + (b"a\0" + COLUMN) * 2)
ERROR = pq.msg("E", b"SERROR\0CXX000\0Mx\0\0")

# what is said in the login, and then without end; ... and after a query
SERVERS = {
    "parameters ahead of all": (b"", STATUS, None),
    "other parameters": (OK, pq.msg("S", b"x\0y\0"), None),
    "parameters": (OK, STATUS, None),
    "notices": (b"", NOTICE, None),
    "keys": (OK, KEY, None),
    "parameters in a query": (OK + KEY + READY, STATUS, b""),
    "notices in a query": (OK + KEY + READY, NOTICE, b""),
    "rows in a query": (OK + KEY + READY, ROW, ROWS),
    "notices unasked": (OK + KEY + READY, NOTICE, None),
}
BIG_SERVERS = {
    "a row": (OK + KEY + READY, lambda n: pq.msg("D", bytes(n)), ROWS),
    "columns": (OK + KEY + READY, lambda n: pq.msg("T", bytes(n)), b""),
    "a notice": (OK + KEY + READY, lambda n: pq.msg("N", bytes(n)), b""),
    "an error": (OK + KEY + READY, lambda n: pq.msg("E", bytes(n)), b""),
    "a parameter": (OK + KEY + READY, lambda n: pq.msg("S", bytes(n)), b""),
    "a tag": (OK + KEY + READY, lambda n: pq.msg("C", bytes(n)), b""),
    "a notification": (OK + KEY + READY, lambda n: pq.msg("A", bytes(n)),
                       None),
    "a parameter in the login": (OK, lambda n: pq.msg("S", bytes(n)), None),
}
LOOKUPS = {
    "rows of auth_query": (OK + KEY + READY, ROW, PATH + pq.msg("2") + ROWS),
    "notices of auth_query": (OK + KEY + READY, NOTICE, PATH),
    "parameters of auth_query": (OK + KEY + READY, STATUS, PATH),
}
SASL = pq.msg("R", struct.pack("!i", 10) + b"SCRAM-SHA-256\0\0")
LONG_SASL = {
    "mechanisms": (b"", lambda n: pq.msg("R", struct.pack("!i", 10) + bytes(n)),
                   None),
    "a challenge": (SASL, lambda n: pq.msg("R", struct.pack("!i", 11) + b"r=x"
                                           + bytes(n)), None),
    "a proof": (SASL, lambda n: pq.msg("R", struct.pack("!i", 12) + b"v=x"
                                       + bytes(n)), None),
}
FIRST_QUERIES = {
    "rows of connect_query": (OK + KEY + READY, ROW, ROWS),
    "errors of connect_query": (OK + KEY + READY, ERROR, b""),
}


class Flood(threading.Thread):
    """A server that does not stop."""

    def __init__(self, login, flood, answer):
        super().__init__(daemon=True)
        self.login, self.answer = login, answer
        if callable(flood):
            flood = flood(LONG)
        self.flood = flood * max(1, MB // len(flood))
        self.sock = socket.create_server(("127.0.0.1", free_port()))
        self.port = self.sock.getsockname()[1]
        self.sent = 0
        self.start()

    def run(self):
        while True:
            try:
                s, _ = self.sock.accept()
            except OSError:
                return
            with s:
                try:
                    self.serve(s)
                except OSError:
                    pass

    def serve(self, s):
        s.settimeout(20)
        if s.recv(8)[4:] == struct.pack("!i", pq.SSL_REQUEST):
            s.sendall(b"N")
        s.recv(4096)
        s.sendall(self.login)
        if self.answer is not None:
            s.recv(4096)
            s.sendall(self.answer)
        while True:
            self.sent += s.send(self.flood)

    def close(self):
        self.sock.shutdown(socket.SHUT_RDWR)
        self.sock.close()
        self.join(5)


class Stream(threading.Thread):
    """A client that sends all it has, and reads until it is closed."""

    def __init__(self, conn, data):
        super().__init__(daemon=True)
        self.conn, self.data = conn, data
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.start()
        self.reader.start()

    def read(self):
        try:
            while self.conn.sock.recv(65536):
                pass
        except OSError:
            pass

    def run(self):
        try:
            self.conn.sock.sendall(self.data)
            self.conn.sock.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def lasts(self):
        return self.is_alive() or self.reader.is_alive()

    def close(self):
        with contextlib.suppress(OSError):
            self.conn.sock.shutdown(socket.SHUT_RDWR)
        self.join()
        self.reader.join()
        self.conn.close()


class Watched:
    """A pooler, a client of it that is served, and the clock of its turns."""

    def __init__(self, pooler, turn_clock, *args, **kw):
        self.p = pooler(*args, start=False, **kw)
        self.clock = TurnClock(os.path.join(self.p.dir, "turns"))
        self.p.env.update(LD_PRELOAD=turn_clock, TURN_CLOCK=self.clock.path)
        self.p.start()
        self.innocent = self.p.raw("app", "p1")
        for _ in range(3):
            self.innocent.query("select 1")
        self.alone = max(self.longest(), FLOOR)

    def longest(self, beside=lambda: False):
        """Turn, while the client is served and that is so; in ms."""
        self.clock.reset()
        done = 0
        while done < QUERIES or (beside() and done < 100 * QUERIES):
            self.innocent.query("select 1")
            done += 1
        return self.clock.read()[0].longest

    def ratio(self, beside=lambda: False):
        return self.longest(beside) / self.alone


def too_long(ratios):
    return {k: round(v) for k, v in ratios.items() if v > RATIO}


def test_no_stream_of_a_client_makes_a_turn_long(pooler, turn_clock):
    """of one that has logged in, of the console's, and of a stranger"""
    w = Watched(pooler, turn_clock, max_prepared_statements=50,
                default_pool_size=2, log_disconnections=0, log_connections=0)
    ratios = {}
    for kind, data in {**CLIENTS, **CONSOLE, **STARTUP}.items():
        conn = w.p.open() if kind in STARTUP else \
            w.p.raw("admin", "pgbouncer") if kind in CONSOLE else w.p.raw()
        s = Stream(conn, data)
        ratios[kind] = w.ratio(s.lasts)
        s.close()
        w.p.wait_pool(sv_active=0, cl_waiting=0)
    assert too_long(ratios) == {}


def test_no_commands_of_many_databases_make_a_turn_long(pooler, turn_clock):
    """each looks at all of them; so does /metrics"""
    dbs = {"d%d" % n: "" for n in range(3000)}
    http = free_port()
    w = Watched(pooler, turn_clock, {"p0": "", "p1": "", **dbs},
                log_disconnections=0, log_connections=0,
                http_listen_port=http)
    ratios = {}
    for what in ("lists", "totals", "mem", "health", "databases", "/metrics"):
        if what == "/metrics":
            conn = pq.Conn(port=http)
            data = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n" * 10
        else:
            conn = w.p.raw("admin", "pgbouncer")
            data = pq.query("show " + what) * 100
        s = Stream(conn, data)
        ratios[what] = w.ratio(s.lasts)
        s.close()
    assert too_long(ratios) == {}


def test_no_long_message_makes_a_turn_long(pooler, pg, turn_clock):
    """of 16 MB, or 64; of a client, of the console's, of a stranger"""
    pg.sql("create table if not exists streams (t text)",
           "grant all on streams to public", db="p0")
    w = Watched(pooler, turn_clock, max_prepared_statements=50,
                default_pool_size=2, log_disconnections=0, log_connections=0)
    ratios = {}
    for kind, make in {**BIG_CLIENTS, **BIG_CONSOLE, **BIG_STARTUP}.items():
        conn = w.p.open() if kind in BIG_STARTUP else \
            w.p.raw("admin", "pgbouncer") if kind in BIG_CONSOLE else w.p.raw()
        s = Stream(conn, make(LONG))
        ratios[kind] = w.ratio(s.lasts)
        s.close()
        w.p.wait_pool(sv_active=0, cl_waiting=0)
    assert too_long(ratios) == {}


def test_long_sasl_message_of_a_client_makes_no_turn_long(pooler, turn_clock):
    """its first one, and its second one"""
    w = Watched(pooler, turn_clock, auth_type="scram-sha-256",
                log_disconnections=0, log_connections=0)
    said = pq.cstr("SCRAM-SHA-256") + struct.pack("!I", 26) + \
        b"n,,n=,r=abcdefghijklmnopqr"
    ratios = {}
    for kind, ahead in ("first", b""), ("second", pq.msg("p", said)):
        c = w.p.open().login("app", database="p0", wait=False)
        s = Stream(c, ahead + pq.msg("p", bytes(LONG)))
        ratios[kind] = w.ratio(s.lasts)
        s.close()
    assert too_long(ratios) == {}


@pytest.mark.setting("slow_turn")
def test_slow_turn_is_told_with_its_stream(pooler, stops):
    """log (once in 10 s), SHOW STATE, /metrics"""
    http = free_port()
    p = pooler(start=False, slow_turn=0.05, http_listen_port=http)
    p.env.update(LD_PRELOAD=stops, STOP_AT="lasts long", STOP_MS="500")
    p.start()
    c = p.raw()
    assert "slow_turns" not in {r["key"] for r in p.show("state")}
    # to the server, on behalf of its client; and back
    assert c.value("select 'lasts long'") == "lasts long"
    p.wait_log(r"a turn of the loop has lasted \d+ ms \(slow_turn\), at: "
               r"client p0/app@127.0.0.1:\d+ \(relay, linked\)")
    state = {r["key"]: r["value"] for r in p.show("state")}
    assert state["slow_turns"] == "2"
    assert int(state["slow_turn_longest_ms"]) >= 500
    assert re.match(r"server p0/app@127.0.0.1:\d+ \(pooled", state[
        "slow_turn_by"])
    with urllib.request.urlopen("http://127.0.0.1:%d/metrics" % http) as r:
        text = r.read().decode()
    assert '\npgsluice_worker_slow_turns_total{worker="0"} 2\n' in text
    assert p.log.count("(slow_turn), at: ") == 1


@pytest.mark.parametrize("kinds,entry", [
    (SERVERS, ""), (BIG_SERVERS, ""), (FIRST_QUERIES, " connect_query='select 1'"),
    (LOOKUPS, " auth_user=app2"), (LONG_SASL, " user=app password=x")],
    ids=["server", "long", "connect", "lookup", "sasl"])
def test_no_stream_of_a_server_makes_a_turn_long(pooler, turn_clock, kinds,
                                                 entry):
    """in its login, in a client's query, and when it is asked for a secret"""
    floods = {kind: Flood(*said) for kind, said in kinds.items()}
    dbs = {"f%d" % n: "host=127.0.0.1 port=%d%s" % (f.port, entry)
           for n, f in enumerate(floods.values())}
    w = Watched(pooler, turn_clock, {
        "p1": "dbname=p1", **dbs}, log_disconnections=0, log_connections=0,
        server_login_retry=0.1, server_connect_timeout=2, verbose=0)
    ratios = {}
    for n, (kind, f) in enumerate(floods.items()):
        user = "ann" if kinds is LOOKUPS else "app"
        c = w.p.open().login(user, "x", database="f%d" % n, wait=False)
        c.send(pq.query("select 1"))
        wait_until(lambda: f.sent > 0)  # noqa: B023
        ratios[kind] = w.ratio()
        c.abort()
        f.close()
    assert too_long(ratios) == {}
