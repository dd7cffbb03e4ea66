# test_turns.py - how long a turn of the loop is.
# SPDX-License-Identifier: ISC
"""Nobody else is served in a turn (spec/pooling.md section 2). What counts is
the CPU time of the loop's thread, so a busy machine is not in it. No bound is a
time: machines and builds differ. A bound is a part of the same work, or what a
smaller piece of it takes in the same run. `test/bench/turns` has figures."""
import os
from concurrent.futures import ThreadPoolExecutor

import pytest

import pq
from harness import free_port, wait_until
from turn_clock import TurnClock

CROWD = 20
SMALL, LARGE = 15000, 60000     # bytes of a text
TRIES = 3                       # other work on a machine only adds to a time


@pytest.fixture
def clocked(pooler, turn_clock):
    """A pooler, and the clock of its turns."""
    def start(*args, **kw):
        p = pooler(*args, start=False, **kw)
        clock = TurnClock(os.path.join(p.dir, "turns"))
        p.env.update(LD_PRELOAD=turn_clock, TURN_CLOCK=clock.path)
        return p.start(), clock
    return start


def share(clock):
    """The part of all the work that the longest turn has."""
    of = clock.read()[0]
    return of.longest / (of.turns * of.mean)


def pools(p):
    return next(int(r["items"]) for r in p.admin("show lists")
                if r["list"] == "pools")


def test_upkeep_of_many_pools_is_cut_up(clocked):
    """they all want a server at once, and all are paused at once; a turn has
    some of them"""
    count, closed = 5000, free_port()
    p, clock = clocked(
        {"d%d" % n: "host=127.0.0.1 port=%d user=x min_pool_size=1" % closed
         for n in range(count)}, log_disconnections=0)
    wait_until(lambda: pools(p) > count)
    p.admin("pause")
    p.admin("resume")
    assert share(clock) < 0.1


def test_show_of_many_pools_is_cut_up(clocked):
    """and whoever asks gets all of them, in order"""
    count, closed = 3000, free_port()
    names = ["d%04d" % n for n in range(count)]
    p, clock = clocked(
        {name: "host=127.0.0.1 port=%d user=%s min_pool_size=1" % (
            closed, name) for name in reversed(names)}, log_disconnections=0)
    wait_until(lambda: pools(p) > count)
    users = sorted({*names, *p.userlist, "pgbouncer"})
    with p.console() as c:
        for first in "pools", "users":
            c.query("show " + first)    # the first one sorts
        for sql in "show pools", "show json databases", "show databases", \
                "show json users", \
                "select name from databases order by name":
            shares = []
            for _ in range(TRIES):
                clock.reset()
                res = c.query(sql)
                shares.append(share(clock))
                if len(res.rows) > 1:
                    assert [r[0] for r in res.rows] == names + ["pgbouncer"]
            assert min(shares) < 0.75, sql
        assert [r[0] for r in c.query("show users").rows] == users


@pytest.mark.parametrize("state", ["forget", "clean", "keep"])
@pytest.mark.parametrize("piece", [";/*", "/*;", "/* ", "'a'/*", "--\n;",
                                   "set_config/*", "set_config('"])
def test_no_text_takes_long_to_read(clocked, piece, state):
    """of a Query, and of a Parse with and without a name: four times the text
    takes four times as long. Sixteen times would be a square."""
    p, clock = clocked(session_state=state, max_prepared_statements=20)
    with p.raw() as c:
        c.query("select 1")

        def longest(size, n):
            text = ";%s/*%d*/" % (piece * (size // len(piece)), n)
            took = []
            for parts in ([pq.query(text)], [pq.parse(text), pq.sync()],
                          [pq.parse(text, "s%d" % n), pq.sync()]):
                clock.reset()
                c.send(*parts)
                c.recv_until()
                took.append(clock.read()[0].longest)
            return took
        # each text is another one: none of them is known already
        small, large = ([longest(size, n) for n in range(TRIES)]
                        for size in (SMALL, LARGE))
    for few, many in zip(zip(*small), zip(*large)):
        assert min(many) < 8 * min(few), (small, large)


def test_dearest_handshakes_are_no_work_of_the_loop(clocked, certs):
    """a long key, P-521 and a client's certificate (spec/authentication.md
    section 9.3): a thread has the dear part of each"""
    certs.make("server_rsa4096", "/CN=localhost", "DNS:localhost",
               kind=["-newkey", "rsa:4096"])
    p, clock = clocked(**certs.accept(
        "verify-full", cert="server_rsa4096", client_tls_groups="P-521"))
    context = certs.client_context("client", alpn="postgresql")

    def go(_):
        c = p.open().start_tls(context, direct=True)
        c.login("app", p.userlist["app"], "p0")
        c.close()
    go(0)
    before = p.cpu()
    clock.reset()
    with ThreadPoolExecutor(4) as crowd:
        list(crowd.map(go, range(CROWD)))
    of = clock.read()[0]
    # what the threads and the loop spend on a login, in ms
    spent = (p.cpu() - before) * 1000 / CROWD
    assert of.longest < spent / 4
    assert of.turns * of.mean / CROWD < spent / 4
