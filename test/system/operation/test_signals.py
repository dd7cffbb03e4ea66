# test_signals.py - every signal in every state of the process.
# SPDX-License-Identifier: ISC
import os
import signal
import threading

import pytest

import pq
from harness import REFERENCE, wait_until

pytestmark = pytest.mark.skipif(REFERENCE, reason="newer than that")

TERM, INT = "got SIGTERM, shutting down, waiting for all clients disconnect", \
    "got SIGINT, shutting down, waiting for all servers connections to be " \
    "released"
LAST = "suspend was in progress, going down immediately"
HUP = "got SIGHUP, re-reading config"
QUIT = "got SIGQUIT, fast exit"


def ends(code, text):
    return {"exit": code, "text": text}


def lives(text, **state):
    return {"exit": None, "text": text, "state": state}


# state of the process: signal: what it says and does (config-files.md 19)
ROWS = {
    "running": {
        "SIGHUP": lives(HUP, active="yes"),
        "SIGUSR1": lives("got SIGUSR1, pausing all activity", paused="yes"),
        "SIGUSR2": lives("got SIGUSR2, but not paused/suspended",
                         active="yes"),
        "SIGTERM": lives(TERM, active="yes"),
        "SIGINT": lives(INT, paused="yes"),
        "SIGQUIT": ends(0, QUIT),
        "SIGPIPE": lives("", active="yes"),
    },
    "paused": {
        "SIGHUP": lives(HUP, paused="yes"),
        "SIGUSR1": lives("got SIGUSR1, but already paused/suspended",
                         paused="yes"),
        "SIGUSR2": lives("got SIGUSR2, continuing from PAUSE", active="yes"),
        "SIGTERM": lives(TERM, paused="yes"),
        "SIGINT": lives(INT, paused="yes"),
        "SIGQUIT": ends(0, QUIT),
    },
    "suspended": {
        "SIGHUP": lives(HUP, suspended="yes"),
        "SIGUSR1": lives("got SIGUSR1, but already paused/suspended",
                         suspended="yes"),
        "SIGUSR2": lives("got SIGUSR2, continuing from SUSPEND",
                         active="yes"),
        "SIGTERM": ends(1, LAST),
        "SIGINT": ends(1, LAST),
        "SIGQUIT": ends(0, QUIT),
    },
    "waiting for clients": {
        "SIGHUP": lives(HUP, active="yes"),
        "SIGUSR1": lives("got SIGUSR1, pausing all activity", paused="yes"),
        "SIGUSR2": lives("got SIGUSR2 while shutting down, ignoring",
                         active="yes"),
        "SIGTERM": ends(0, "got SIGTERM while shutting down, fast exit"),
        "SIGINT": ends(0, "got SIGINT while shutting down, fast exit"),
        "SIGQUIT": ends(0, QUIT),
    },
    "waiting for servers": {
        "SIGHUP": lives(HUP, paused="yes"),
        "SIGUSR1": lives("got SIGUSR1, but already paused/suspended",
                         paused="yes"),
        "SIGUSR2": lives("got SIGUSR2 while shutting down, ignoring",
                         paused="yes"),
        "SIGTERM": ends(0, "got SIGTERM while shutting down, fast exit"),
        "SIGINT": ends(0, "got SIGINT while shutting down, fast exit"),
        "SIGQUIT": ends(0, QUIT),
    },
}


def enter(p, k, busy, state):
    if state == "paused":
        p.signal(signal.SIGUSR1)
        p.wait_log("pausing all activity")
    elif state == "suspended":
        k.query("suspend")
    elif state == "waiting for clients":
        assert k.query("shutdown wait_for_clients").tags == ["SHUTDOWN"]
    elif state == "waiting for servers":
        busy.query("begin")
        assert k.query("shutdown wait_for_servers").tags == ["SHUTDOWN"]


@pytest.mark.parametrize("state,name", [(s, n) for s in ROWS
                                        for n in ROWS[s]])
def test_signal(pooler, state, name):
    """config-files.md 19, 20; logging.md 7"""
    p = pooler(start=False)
    p.settings["pidfile"] = pidfile = os.path.join(p.dir, "pid")
    p.start()
    path = os.path.join(p.dir, ".s.PGSQL.%d" % p.port)
    k, a = p.raw("admin", "pgbouncer", unix=True), p.raw()
    if name == "SIGINT" and state in ("running", "paused"):
        a.query("begin" if state == "running" else "")
    want = ROWS[state][name]
    enter(p, k, a, state)
    if state == "paused" and name == "SIGINT":
        # nothing is lent, so nothing is waited for
        want = ends(0, "server connections dropped, exiting")
    p.signal(getattr(signal, name))
    if want["exit"] is not None:
        p.expect_exit = want["exit"]
        assert p.wait_exit() == want["exit"]
        assert want["text"] in p.log
        assert os.path.exists(path) == (state == "suspended")
        assert not os.path.exists(pidfile)
        return
    p.wait_log(want["text"])
    assert {r["key"]: r["value"] for r in k.query("show state").dicts
            if r["key"] in want["state"]} == want["state"]
    assert os.path.exists(pidfile) and os.path.exists(path)


def test_reload_works_while_it_shuts_down(pooler):
    """config-files.md 13: new settings count for those who are left"""
    p = pooler(query_timeout=0)
    a = p.raw()
    p.signal(signal.SIGTERM)
    p.wait_log("got SIGTERM, shutting down")
    p.settings["query_timeout"] = 0.2
    p.write()
    p.signal(signal.SIGHUP)
    p.wait_log("got SIGHUP")
    a.send(pq.query("select pg_sleep(60)"))
    assert a.recv_all().errors[-1].message == "query timeout"
    assert p.wait_exit() == 0


def test_who_is_refused_anyway_is_not_waited_for(pooler):
    """a Unix socket that somebody touches now and then kept it for ever"""
    p = pooler(client_login_timeout=600)
    a = p.raw()
    p.signal(signal.SIGTERM)
    p.wait_log("got SIGTERM, shutting down")
    with p.open(unix=True) as late:
        # it is there: the answer shows it
        late.send(pq.untyped(80877104))
        assert late.recv_bytes(1) == b"N"
        assert a.value("select 1") == "1"
        a.close()
        assert p.wait_exit() == 0


@pytest.mark.setting("shutdown_drain_timeout")
def test_a_pair_that_hangs_does_not_keep_the_process(pooler):
    """config-files.md 19: SIGINT waits for transactions, but not for ever"""
    p = pooler(shutdown_drain_timeout=1, default_pool_size=3)
    a, b, c = p.raw(), p.raw(rcvbuf=4096), p.raw()
    a.query("begin")
    b.send(pq.query("select repeat('x', 1000000) from "
                    "generate_series(1, 100)"))
    p.wait_pool(sv_active=2)
    p.signal(signal.SIGINT)
    c.send(pq.query("select 1"))
    assert c.recv_all().errors[-1].message == "server shutting down"
    assert p.wait_exit() == 0
    assert a.recv_all().errors[-1].code == "57P01"


OTHERS = [signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2]
ENDINGS = [signal.SIGTERM, signal.SIGINT, signal.SIGQUIT]


@pytest.fixture
def starting(pooler, slow_disk):
    """A process that is about to read its configuration."""
    p = pooler(start=False)
    p.write()
    p.env.update(LD_PRELOAD=slow_disk)
    p.put("pooler.ini.hang", "")
    p.launch()
    wait_until(lambda: os.path.exists(p.ini + ".waits"), what="the start")
    return p


def test_no_signal_kills_a_process_that_starts(starting):
    """config-files.md 19: it counts once there is a loop"""
    p = starting
    for signo in OTHERS:
        p.signal(signo)
    os.unlink(p.ini + ".hang")
    p.wait_log("got SIGHUP, re-reading config")
    p.wait_log("got SIGUSR1, pausing all activity|got SIGUSR1, but already")
    p.wait_log("configuration reloaded")


@pytest.mark.parametrize("signo", ENDINGS)
def test_start_may_be_ended(starting, signo):
    """config-files.md 19, 20: at once, and in order"""
    p = starting
    p.signal(signo)
    assert p.wait_exit() == 0


def test_no_signal_kills_a_process_that_ends(pooler):
    """config-files.md 20: it has its status, whatever comes meanwhile"""
    p = pooler()
    over = threading.Event()

    def hail():
        while not over.is_set():
            for signo in ENDINGS + OTHERS:
                p.signal(signo)
    thread = threading.Thread(target=hail)
    thread.start()
    try:
        assert p.wait_exit() == 0
    finally:
        over.set()
        thread.join()


def test_console_is_a_client_that_is_waited_for(pooler):
    """config-files.md 19: console sessions count, new ones are let in"""
    p = pooler()
    p.signal(signal.SIGTERM)
    assert p.wait_exit() == 0
    p = pooler()
    k = p.raw("admin", "pgbouncer", unix=True)
    p.signal(signal.SIGTERM)
    p.wait_log("got SIGTERM, shutting down")
    late = p.raw("admin", "pgbouncer", unix=True)
    k.close()
    assert late.query("show version").rows
    late.close()
    assert p.wait_exit() == 0
    assert "client connections dropped, exiting" in p.log


def test_mode_of_the_shutdown_may_change(pooler):
    """admin-console.md 4.9: a further SHUTDOWN; a client goes on meanwhile"""
    p = pooler(default_pool_size=1)
    a, b = p.raw(), p.raw()
    k = p.raw("admin", "pgbouncer", unix=True)
    k.query("shutdown wait_for_clients")
    a.query("begin")
    b.send(pq.query("select 'queued'"))
    wait_until(lambda: k.query("show pools").dicts and any(
        r["cl_waiting"] == "1" for r in k.query("show pools").dicts))
    k.query("shutdown wait_for_servers")
    assert b.recv_all().errors[-1].message == "server shutting down"
    assert a.query("commit").tags == ["COMMIT"]
    assert p.wait_exit() == 0
    assert "server connections dropped, exiting" in p.log
