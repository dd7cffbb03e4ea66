# test_ctl_top.py - pgsluicectl top, on a terminal that pyte reads.
# SPDX-License-Identifier: ISC
import os
import signal

import pytest

import pq
from harness import REFERENCE, free_port, wait_until
from test_ctl import binary, ctl

pyte = pytest.importorskip("pyte")
from screen import Screen  # noqa: E402

pytestmark = pytest.mark.skipif(REFERENCE, reason="pgsluice only")


@pytest.fixture
def top():
    """Starts it; it is gone when the test is over."""
    made = []

    def make(p, *args, **kw):
        made.append(Screen([binary(), "-c", p.ini, "top"] + list(args), **kw))
        return made[-1]
    yield make
    for screen in made:
        screen.close()


def test_top_lists_what_there_is(pooler, latch, top):
    """pools, clients, servers, waits; order; help; any size"""
    p = pooler({"p0": "pool_size=9", "p1": ""}, query_wait_timeout=0,
               users={"app": "pool_size=1"})
    clients = [p.raw("app", "p0") for _ in range(2)]
    for c in clients:
        c.send(pq.query("select " + latch.query))
    p.wait_pool(cl_waiting=1)
    s = top(p, "-w", "0.2")
    text = s.wait(lambda t: "QUEUEv" in t and "1/1" in t and "pool_size" in t
                  and "STATE" in t)
    lines = text.split("\n")
    assert lines[0].startswith("well  pgsluice")
    assert lines[1].startswith("waiting 1  longest ")
    assert lines[4].split()[:3] == ["p0", "app", "1"]
    assert lines[23].startswith("q quit")
    s.press(b"2")
    s.wait(lambda t: "QUEUEDv" in t and " waiting " in t and " active " in t)
    s.press(b"3")
    s.wait(lambda t: "[3 servers]" in t and "STATE^" in t and "active" in t)
    s.press(b"r")
    s.wait("STATEv")
    s.press(b"<")
    s.wait("USER^")
    s.press(b"4")
    s.wait("default_pool_size")
    s.press(b"?")
    s.wait("Any key goes back.")
    s.press(b" ")
    s.wait("default_pool_size")
    s.resize(8, 30)
    s.wait(lambda t: len(t.split("\n")) == 8 and "QUEUE" in t and
           t.split("\n")[7].startswith("q quit"))
    s.press(b"\t")          # Tab goes round
    s.wait("[1 pools]")
    s.resize(30, 132)
    s.wait(lambda t: "MODE" in t and "STATE" in t)
    s.press(b" ")
    s.wait("FROZEN")
    s.press(b"q")
    assert s.end() == 0 and s.is_sane()
    latch.open()


def test_top_shows_one_pool_and_ends_a_client(pooler, latch, top):
    """Enter, Esc, selection, filter, k with its question"""
    p = pooler({"p0": "pool_size=9", "p1": ""}, query_wait_timeout=0,
               users={"app": "pool_size=1", "app2": ""})
    holder = p.raw("app", "p0", application_name="culprit")
    holder.query("begin")
    waiter = p.raw("app", "p0", application_name="victim")
    waiter.send(pq.query("select 1"))
    p.wait_pool(cl_waiting=1)
    other = p.raw("app2", "p1", application_name="other")
    other.query("select 1")
    s = top(p, "-w", "0.2", rows=30, columns=132)
    # the selected row in full: the first, at which somebody waits
    s.wait(lambda t: "pool p0/app: clients wait for" in t or
           "STATE pool_size" in t)
    s.press(b"k")
    s.wait("k is for a client or a server")
    s.press(b"\r")
    s.wait(lambda t: "of pool p0/app" in t and "culprit" in t and
           "victim" in t and "other" not in t)
    s.press(b"3")
    s.wait(lambda t: "STATE active  SERVER 127.0.0.1:" in t and
           "CLIENT 127.0.0.1:" in t)
    s.press(b"k")
    s.wait(lambda t: "c cancel its query, k close the connection" in t)
    s.press(b"n")
    s.wait(lambda t: "cancel its query" not in t)
    s.press(b"\x1b")
    s.wait(lambda t: "[1 pools]" in t and "of pool" not in t)
    s.press(b"2")
    s.wait(lambda t: "other" in t and "culprit" in t)
    s.press(b"/culp")
    s.wait(lambda t: "other" not in t and 'with "culp"' in t and "/culp_" in t)
    s.press(b"\r")
    s.wait(lambda t: "1 rows" in t and "APPLICATION culprit" in t)
    s.press(b"kk")
    s.wait(lambda t: "KILL_CLIENT" in t and ": done" in t)
    assert holder.recv_all() is not None
    assert waiter.recv_until("Z")
    s.press(b"\x1b")
    s.wait(lambda t: "other" in t and "culprit" not in t)
    s.press(b"q")
    assert s.end() == 0 and s.is_sane()


def test_top_says_how_old_it_is(pooler, top):
    """a process that stands still must not look well"""
    p = pooler()
    s = top(p, "-w", "0.5")
    s.wait("well  pgsluice")
    p.signal(signal.SIGSTOP)
    s.wait("NO ANSWER, this is ")
    p.signal(signal.SIGCONT)
    s.wait(lambda t: t.startswith("well  pgsluice"))
    s.press(b"q")
    assert s.end() == 0


def test_top_forgets_an_order_with_its_connection(pooler, top):
    """in another process the same id may be somebody else's"""
    p = pooler()
    c = p.raw(application_name="culprit")
    c.query("select 1")
    s = top(p, "-w", "0.2", rows=30, columns=132)
    s.press(b"2")
    s.wait("culprit")
    s.press(b"k")
    s.wait("c cancel its query, k close the connection")
    p.signal(signal.SIGQUIT)
    p.proc.wait()
    s.wait("not known whether the order was carried out")
    p.launch()
    wait_until(lambda: p.log.count("process up") == 2)
    d = p.raw(application_name="innocent")
    d.query("select 1")
    s.wait("innocent")
    s.press(b"q")
    assert s.end() == 0
    assert d.value("select 2") == "2"


def test_top_tells_why_a_pool_has_no_server(pooler, top):
    """with nobody waiting, too"""
    p = pooler({"p0": "", "gone": "host=127.0.0.1 port=%d" % free_port()},
               server_down_timeout=0.2)
    c = p.open()
    c.send(pq.startup({"user": "app", "database": "gone"}))
    c.recv_all()
    p.admin("pause p0")
    s = top(p, "-w", "0.2", rows=30, columns=132)
    s.wait(lambda t: "no server" in t and "pool gone/app: no server" in t)
    s.press(b"q")
    assert s.end() == 0


def test_top_outlives_the_pooler(pooler, top):
    """it says that the console is gone, and when it is back"""
    p = pooler()
    s = top(p, "-w", "0.2", NO_COLOR="1")
    s.wait("well  pgsluice")
    p.signal(signal.SIGINT)
    p.wait_exit()
    s.wait("NO CONSOLE, trying again")
    s.press(b"2")
    s.wait("[2 clients]")
    p.launch()
    s.wait("well  pgsluice")
    s.press(b"q")
    assert s.end() == 0 and s.is_sane()
    assert b"\x1b[31" not in s.raw


@pytest.mark.parametrize("sig", ["SIGTERM", "SIGHUP", "SIGINT"])
def test_top_gives_the_terminal_back(pooler, top, sig):
    """whatever ends it, which whoever did it sees"""
    s = top(pooler())
    s.wait("well  pgsluice")
    number = getattr(signal, sig)
    os.kill(s.pid, number)
    assert s.end() == (0 if sig == "SIGINT" else -number)
    assert s.is_sane()


def test_top_needs_a_terminal(pooler, top):
    """one that it knows; and a console"""
    p = pooler()
    out = ctl("top", "-c", p.ini)
    assert out.returncode == 1 and "top needs a terminal" in out.stderr
    s = top(p, TERM="nonsense")
    assert s.end() == 1 and "set TERM" in s.text
    p.signal(signal.SIGINT)
    p.wait_exit()
    s = top(p)
    assert s.end() == 3 and "pgsluicectl: connection" in s.text
