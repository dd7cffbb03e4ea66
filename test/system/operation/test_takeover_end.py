# test_takeover_end.py - either process has all sessions, and never both.
# SPDX-License-Identifier: ISC
"""Whatever ends, or stops, amid an online restart."""
import os
import signal
import time

import pytest

import harness
from harness import REFERENCE, wait_until
from test_takeover import ask, successor
from test_takeover_safe import DEATHLY_STILL, goes_on, in_transaction

pytestmark = pytest.mark.skipif(REFERENCE, reason="newer than that")

# what the new process says, in this order
WORDS = ["SUSPEND;", "SHOW FDS;", "SHOW VERSION;", "SHUTDOWN;"]


@pytest.fixture
def halted(pooler, stops):
    """A successor that has stopped before it says a certain word."""
    started = []

    def make(p, word, **settings):
        q = successor(pooler, p, **settings)
        q.env.update(LD_PRELOAD=stops, STOP_AT=word)
        q.write()
        q.launch()
        started.append(q)
        wait_until(lambda: harness.state_of(q.proc.pid) == "T")
        return q
    yield make
    for q in started:
        if q.proc.poll() is None:
            q.signal(signal.SIGCONT)


def kill(p):
    p.expect_exit = -signal.SIGKILL
    p.signal(signal.SIGKILL)
    p.wait_exit()


def serves(q, c):
    """As goes_on(), by another process."""
    assert c.value("select n from mine") == "42"
    c.query("commit")
    assert q.raw().value("select 1") == "1"


def fails(q):
    q.expect_exit = 1
    q.signal(signal.SIGCONT)
    assert q.wait_exit() == 1, q.log


def succeeds(q):
    q.signal(signal.SIGCONT)
    wait_until(q._is_up, what="the successor's 'process up'")


@pytest.mark.parametrize("word", WORDS)
def test_successor_that_is_killed_leaves_all_as_it_was(pooler, halted, word):
    """config-files.md 21: also where somebody else looks on"""
    p = pooler()
    c, k = in_transaction(p), ask(p)
    kill(halted(p, word))
    goes_on(p, c)
    assert k.query("show version").rows


@pytest.mark.parametrize("how", ["RESUME", "SIGUSR2"])
@pytest.mark.parametrize("word", WORDS[1:])
def test_resume_takes_back_what_is_handed_over(pooler, halted, word, how):
    """config-files.md 21: sessions that have gone on here do not go on there
    as they were"""
    p = pooler()
    c, k = in_transaction(p), ask(p)
    q = halted(p, word)
    if how == "RESUME":
        k.query("resume")
    else:
        p.signal(signal.SIGUSR2)
    assert c.value("select n from mine") == "42"
    c.query("update mine set n = 43")
    fails(q)
    assert "not handed over any more" in q.log
    assert c.value("select n from mine") == "43"
    c.query("update mine set n = 42")
    goes_on(p, c)


def test_successor_that_was_late_does_not_go_on(pooler, halted):
    """config-files.md 21: not even when the other has ended since"""
    p = pooler()
    c, k = in_transaction(p), ask(p)
    q = halted(p, "SHUTDOWN;")
    k.query("resume")
    assert c.value("select n from mine") == "42"
    kill(p)
    fails(q)
    assert c.recv_all().messages == []


@pytest.mark.parametrize("word", WORDS[2:])
def test_old_process_that_is_killed_has_handed_over(pooler, halted, word):
    """config-files.md 21: what the new one has, it serves"""
    p = pooler()
    c = in_transaction(p)
    q = halted(p, word)
    kill(p)
    succeeds(q)
    assert "has ended by itself; its sessions were taken over" in q.log
    serves(q, c)


@pytest.mark.parametrize("lives", [True, False])
def test_old_process_that_is_stopped_at_its_end(pooler, halted, lives):
    """config-files.md 21: nobody waits for it, and it serves nobody again"""
    p = pooler(start=False)
    p.settings["pidfile"] = path = os.path.join(p.dir, "p.pid")
    p.start()
    c = in_transaction(p)
    q = halted(p, "SHUTDOWN;")
    p.signal(signal.SIGSTOP)
    wait_until(lambda: harness.state_of(p.proc.pid) == "T")
    then = time.monotonic()
    q.signal(signal.SIGCONT)
    try:
        serves(q, c)
        assert time.monotonic() - then < DEATHLY_STILL
        if not lives:
            kill(q)
    finally:
        p.signal(signal.SIGCONT)
    assert p.wait_exit() == 0
    if not lives:
        assert c.recv_all().messages == []
        return
    wait_until(q._is_up, what="the successor's 'process up'")
    with open(path) as f:
        assert f.read() == "%d\n" % q.proc.pid


@pytest.mark.parametrize("word", [WORDS[0], WORDS[2]])
def test_two_successors_at_once(pooler, halted, word):
    """config-files.md 21: one gets all, and the other one is told so, when
    nobody answers any more, too"""
    p = pooler()
    c = in_transaction(p)
    first = halted(p, word)
    second = successor(pooler, p)
    second.write()
    then = time.monotonic()
    second.launch()
    fails(second)
    assert time.monotonic() - then < DEATHLY_STILL
    assert "cannot take over: another process is about to do so" in second.log
    succeeds(first)
    assert p.wait_exit() == 0
    serves(first, c)


def test_nothing_is_changed_while_sessions_are_handed_over(pooler, halted):
    """config-files.md 21: what the other one has is not touched"""
    p = pooler()
    c, k = in_transaction(p), ask(p)
    number = p.show("clients", user="app")[0]["id"]
    server = p.show("servers", user="app")[0]["id"]
    q = halted(p, "SHUTDOWN;")
    for command in ["kill_client " + number, "kill_server " + server, "reload",
                    "kill p0", "reconnect", "set max_client_conn = 5",
                    "shutdown wait_for_clients", "shutdown"]:
        assert k.try_query(command).errors[0].message == (
            "process %d is taking over: RESUME would prevent that"
            % q.proc.pid)
    del p.dbs["p1"]
    p.write()
    p.signal(signal.SIGHUP)
    p.wait_log("got SIGHUP")
    assert k.query("show databases").rows
    assert "configuration reloaded" not in p.log
    kill(q)
    p.wait_log("configuration reloaded")
    goes_on(p, c)


@pytest.mark.setting("suspend_timeout")
def test_successor_that_is_silent_is_given_up(pooler, halted):
    """config-files.md 21: nobody stands still for ever"""
    p = pooler(suspend_timeout="100ms")
    c = in_transaction(p)
    q = halted(p, "SHUTDOWN;")
    assert c.value("select n from mine") == "42"
    assert "WARNING process %d takes too long to take over" % q.proc.pid \
        in p.log
    fails(q)
    goes_on(p, c)
