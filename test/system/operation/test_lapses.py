# test_lapses.py - what happens to a process: it is stopped, used and left.
# SPDX-License-Identifier: ISC
"""Time passes here because it has to: more of it than a time-out allows."""
import calendar
import ctypes
import os
import signal
import socket
import ssl
import struct
import time
from concurrent.futures import ThreadPoolExecutor

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


# --- watched, and one of several ------------------------------------------

def set_wall(p, seconds):
    """Ahead of the true time; see wall.c."""
    path = p.put("wall", "")
    os.truncate(path, abs(seconds))
    os.chmod(path, 0o644 if seconds >= 0 else 0o444)
    os.rename(path, p.env["WALL"])


@pytest.mark.parametrize("seconds", [40 * 86400, -40 * 86400])
def test_a_wall_clock_that_is_set_ends_nothing(pooler, latch, wall, seconds):
    """time-outs go by the other clock, and are none the later for it"""
    names = ("client_idle_timeout", "server_idle_timeout", "server_lifetime",
             "idle_transaction_timeout", "query_wait_timeout",
             "client_login_timeout", "server_check_delay")
    p = pooler(start=False, default_pool_size=2, query_timeout=1,
               **dict.fromkeys(names, 3600))
    p.env.update(LD_PRELOAD=wall, WALL=os.path.join(p.dir, "now"))
    p.start()
    idle, inside, late = p.raw(), p.raw(), p.raw()
    login = p.open()
    pid = inside.query("begin; select pg_backend_pid()").rows[0][0]
    login.send(pq.untyped(pq.SSL_REQUEST))
    assert login.recv_bytes(1) == b"N"
    set_wall(p, seconds)
    # the log goes by it
    late.send(pq.query("select %s" % latch.query))
    assert late.recv_all().errors[-1].message == "query timeout"
    stamp = p.log.rstrip().rpartition("\n")[2][:19]
    logged = calendar.timegm(time.strptime(stamp, "%Y-%m-%d %H:%M:%S"))
    assert abs(logged - time.time() - seconds) < 86400
    # many rounds of the janitor later
    assert inside.value("select pg_backend_pid()") == pid
    assert inside.query("commit").tags == ["COMMIT"]
    assert idle.value("select 2") == "2"
    assert login.login("app", None, "p0").value("select 3") == "3"
    assert p.log.count("timeout") == p.log.count("query timeout") > 0


def test_a_stopped_process_feeds_no_watchdog(pooler, monkeypatch):
    """systemd sees that it stands still, and when it goes on"""
    path = os.path.join(harness.make_tmp(), "notify")
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    sock.bind(path)
    os.chmod(path, 0o777)
    monkeypatch.setenv("NOTIFY_SOCKET", path)
    monkeypatch.setenv("WATCHDOG_USEC", "200000")
    p = pooler()
    if "systemd: yes" not in harness.run([harness.binary(), "-V"],
                                         cwd="/").stdout:
        pytest.skip("built without systemd")
    sock.settimeout(harness.TIMEOUT)
    while sock.recv(4096) != b"WATCHDOG=1":
        pass
    stop(p)
    sock.setblocking(False)
    with pytest.raises(BlockingIOError):
        while True:
            sock.recv(4096)
    pass_time(1)
    with pytest.raises(BlockingIOError):
        sock.recv(4096)
    p.signal(signal.SIGCONT)
    sock.settimeout(harness.TIMEOUT)
    while sock.recv(4096) != b"WATCHDOG=1":
        pass
    sock.close()


def siblings(pooler, **settings):
    """Two processes that forward each other's cancel requests."""
    both = [pooler(start=False, peer_id=i, **settings) for i in (1, 2)]
    for p in both:
        p.extra = "[peers]\n" + "\n".join(
            "%d = host=%s port=%d" % (i + 1, other.dir, other.port)
            for i, other in enumerate(both))
        p.start()
    return both


def test_a_stopped_sibling_holds_nobody_up(pooler, pg):
    """pooling.md 18: its cancel requests are given up, others don't notice"""
    a, b = siblings(pooler, cancel_wait_timeout=1)
    mine, other = a.raw(), b.raw()
    other.send(pq.query("select pg_sleep(1000)"))
    b.wait_pool(sv_active=1)
    before = len(os.listdir("/proc/%d/fd" % a.proc.pid))
    stop(b)
    cancels = [a.open() for _ in range(60)]
    for c in cancels:
        c.send(pq.untyped(pq.CANCEL_REQUEST, other.key))
    for _ in range(50):
        assert mine.value("select 1") == "1"
    for c in cancels:
        assert c.at_eof()
    wait_until(lambda: len(os.listdir("/proc/%d/fd" % a.proc.pid)) <= before)
    b.signal(signal.SIGCONT)
    with harness.cancelling(other):
        e = other.recv_until().errors
    assert [x.code for x in e] == ["57014"]


# --- hosts that are gone --------------------------------------------------

SO_ATTACH_FILTER = 26


def vanish(c):
    """From now on its kernel answers nothing: neither FIN, RST nor ACK. Not
    everywhere may everybody have such a filter."""
    drop = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0))
    c.sock.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER,
                      struct.pack("HP", 1, ctypes.addressof(drop)))


def wait_gone(p, c):
    """The pooler has given it up, and nobody else."""
    p.wait_pool(cl_active=1, sv_active=0)
    p.conns.remove(c)
    c.abort()


@pytest.mark.root
def test_a_host_without_power_is_found_out(pooler):
    """tcp_keepalive: its transaction is rolled back, its server is free"""
    p = pooler(tcp_keepidle=1, tcp_keepintvl=1, tcp_keepcnt=2,
               tcp_user_timeout=0)
    inside, other = p.raw(), p.raw()
    inside.query("begin")
    p.wait_pool(sv_active=1)
    vanish(inside)
    wait_gone(p, inside)
    assert other.value("select 1") == "1"


@pytest.mark.root
def test_a_reply_to_a_host_without_power_ends(pooler, latch):
    """tcp_user_timeout: what is sent to it waits for no longer"""
    p = pooler(tcp_keepalive=0, tcp_user_timeout=1000)
    gone, other = p.raw(), p.raw()
    gone.send(pq.query("begin; select %s" % latch.query))
    p.wait_pool(sv_active=1)
    vanish(gone)
    latch.open()
    wait_gone(p, gone)
    assert other.value("select 1") == "1"


def test_a_stopped_sibling_keeps_its_own_alone(pooler):
    """so_reuseport: the kernel gives it clients all the same, and they wait"""
    a, b = pooler(so_reuseport=1), pooler(start=False, so_reuseport=1)
    b.settings["listen_port"] = b.port = a.port
    b.start()
    stop(b)
    crowd = [a.open() for _ in range(24)]
    for c in crowd:
        c.send(pq.startup({"user": "app", "database": "p0"}))

    def served():
        with a.raw("admin", "pgbouncer", unix=True) as k:
            ports = [r["port"] for r in k.query("show clients").dicts
                     if r["user"] == "app"]
        return [c for c in crowd if str(c.sock.getsockname()[1]) in ports]
    wait_until(served)
    for c in served():
        c.recv_until()
        crowd.remove(c)
        assert c.value("select 1") == "1"
    b.signal(signal.SIGCONT)
    for c in crowd:
        c.recv_until()
        assert c.value("select 1") == "1"


# --- short connections ----------------------------------------------------

SHORT = 100000 if harness.BIG else 400


def short_one(p, i, context):
    """Most of them log in; some leave before, in any of the ways there are."""
    c = p.open()
    p.conns.remove(c)
    if i % 10 == 0:     # in the middle of a handshake
        c.send(pq.untyped(pq.SSL_REQUEST))
        c.recv_bytes(1)
        c.send(b"\x16\x03\x01\x02\0\1")
        c.abort()
        return
    c.start_tls(context)
    if i % 10 == 1:     # in the middle of SCRAM
        c.send(pq.startup({"user": "app", "database": "p0"}))
        assert c.recv()[0] == "R"
        c.abort()
        return
    if i % 10 == 2:
        with pytest.raises(pq.PgError):
            c.login("app", "wrong", "p0")
    else:
        c.login("app", "apppw", "p0")
        assert c.value("select 1") == "1"
    c.close(polite=i % 2 == 0)


def test_short_connections_leave_nothing(pooler, certs):
    """TLS and SCRAM: no memory, no descriptor"""
    p = pooler(start=False, auth_type="scram-sha-256", default_pool_size=1,
               **certs.accept("require"))
    # what was freed is kept by the sanitizer, up to that
    p.env["ASAN_OPTIONS"] = harness.process_env()["ASAN_OPTIONS"] \
        + ":quarantine_size_mb=1:thread_local_quarantine_size_kb=64"
    p.start()
    context = ssl.create_default_context(cafile=certs.crt("ca"))

    def descriptors():
        return len(os.listdir("/proc/%d/fd" % p.proc.pid))

    def run(count):
        with ThreadPoolExecutor(8) as crowd:
            list(crowd.map(lambda i: short_one(p, i, context), range(count)))
        wait_until(lambda: not [c for c in p.show("clients")
                                if c["database"] != "pgbouncer"])
        return p.mem(), p.rss()
    run(100)
    wait_until(lambda: len(p.servers()) == 1)
    before, (used, rss) = descriptors(), run(50)
    after, more = run(SHORT)
    assert after == used
    wait_until(lambda: descriptors() <= before)
    assert more - rss < (10 << 20 if harness.ASAN else 1 << 20)
