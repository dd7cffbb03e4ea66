# test_offload.py - what takes long in a login holds up nobody else.
# SPDX-License-Identifier: ISC
import time

import pytest

import harness
import pq

COSTLY = 400000        # iterations: a fifth of a second of CPU time, or more
MOST = 1000000         # more are not done


def first(p, user, pw="pw"):
    """A login up to the client's first SCRAM message."""
    c = p.open()
    c.send(pq.startup({"user": user, "database": "p0"}))
    kind, body = c.recv()
    assert kind == "R", (kind, body)
    c.send(pq.msg("p", pq.cstr("SCRAM-SHA-256")
                  + pq.ScramClient(pw).first()))
    return c


def test_derivations_do_not_stall_the_loop(pooler):
    """Odyssey 092c344: a peer can make the pooler burn CPU time"""
    names = ["u%d" % i for i in range(6)]
    p = pooler(userlist={"app": "pw", "admin": "pw", **{n: "pw" for n in names}},
               auth_type="scram-sha-256", scram_iterations=100)
    with p.raw(password="pw") as work:
        p.admin("set scram_iterations = %d" % MOST)
        waiting = [first(p, n) for n in names]
        assert work.value("select 1") == "1"
        # six of them, on two threads, take longer than one query
        assert not all(c.readable() for c in waiting)
        for _ in range(20):
            assert work.value("select 1") == "1"
        for c in waiting:
            c.abort()


def test_logins_of_one_user_share_a_derivation(pooler):
    p = pooler(userlist={"app": "pw"}, auth_type="scram-sha-256",
               scram_iterations=200000)
    waiting = [first(p, "app") for _ in range(20)]
    challenges = set()
    for c in waiting:
        kind, body = c.recv()
        assert kind == "R"
        challenges.add(body.split(b",s=")[1])
        c.abort()
    assert len(challenges) == 1        # one salt for all
    with p.raw(password="pw") as c:
        assert c.value("select 1") == "1"


def test_client_may_leave_during_its_derivation(pooler):
    p = pooler(userlist={"app": "pw", "app2": "pw", "admin": "pw"},
               auth_type="scram-sha-256", scram_iterations=COSTLY)
    for c in [first(p, "app") for _ in range(10)]:
        c.abort()
    harness.wait_until(lambda: p.log.count("closing because") >= 10,
                       what="the pooler to see them go")
    p.admin("set scram_iterations = 10")
    with p.raw(user="app2", password="pw") as c:
        assert c.value("select 1") == "1"


@pytest.mark.parametrize("several", [{}, {"workers": 2}])
def test_end_does_not_wait_for_derivations(pooler, several):
    if several and harness.REFERENCE:
        pytest.skip("no workers there")
    names = ["u%d" % i for i in range(8)]
    p = pooler(userlist={n: "pw" for n in names},
               auth_type="scram-sha-256", scram_iterations=COSTLY, **several)
    waiting = [first(p, n) for n in names]
    before = time.monotonic()
    p.stop()
    # all of them would take a second on an idle machine of two cores
    assert time.monotonic() - before < 30
    assert all(c.sock is None for c in waiting)


def test_wrong_guesses_delay_no_server_login(pooler):
    """what is typed waits in a queue of its own"""
    p = pooler({"p0": "user=app", "p1": "dbname=p0 user=u_scram "
                "password=pw_three"},
               userlist={"app": "pw", "admin": "pw"}, auth_type="plain",
               scram_iterations=MOST)
    guesses = [p.open().login("u%d" % i, database="p0", wait=False)
               for i in range(16)]
    for c in guesses:
        kind, _ = c.recv()
        assert kind == "R"
        c.send(pq.password("a guess"))
    # its keys must be derived for the server
    with p.raw(password="pw", database="p1") as c:
        assert c.value("select current_user") == "u_scram"
    # had it waited for its turn, there were two left: on the two threads
    assert sum(not c.readable() for c in guesses) > 2
    for c in guesses:
        c.abort()
