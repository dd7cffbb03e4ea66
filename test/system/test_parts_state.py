# test_parts_state.py - pools with parts whose clients leave something behind
# (session_state = clean and keep; doc/workers.md, "Sub-pools").
# SPDX-License-Identifier: ISC
import pytest

import pq
from harness import BINARY, REFERENCE, wait_until
from test_listen import Ear
from test_parts import begin, of_workers

with open(BINARY, "rb") as f:
    FORCED = b"PGSLUICE_FORCE" in f.read()

pytestmark = [pytest.mark.skipif(REFERENCE, reason="not known there"),
              pytest.mark.skipif(not FORCED, reason="nothing can be forced"),
              pytest.mark.setting("workers", "session_state")]

SIZE = 8


@pytest.fixture
def roaming(pooler):
    """Each server and each client goes to another worker again and again."""
    def start(force="handover,moves", user="app", **settings):
        p = pooler(start=False, **{
            "workers": 2, "default_pool_size": SIZE, "session_state": "keep",
            **settings})
        p.env.update(PARTS_FORCE="1", PGSLUICE_FORCE=force)
        p.start()
        begin(p, user=user)
        return p
    return start


def moved(p):
    return sum(of_workers(p, "clients_in"))


def own(c, name):
    return c.value("select coalesce(current_setting('%s', true), '')" % name)


def test_settings_go_along_to_each_worker(roaming):
    p = roaming()
    clients = [p.raw() for _ in range(2 * SIZE)]
    for i, c in enumerate(clients):
        c.query("set work_mem = '%dMB'" % (i + 1))
        c.query("set my.own%d = 'v%d'" % (i % 3, i))
    before = moved(p)
    for _ in range(5):
        for i, c in enumerate(clients):
            assert c.value("show work_mem") == "%dMB" % (i + 1)
            assert [own(c, "my.own%d" % n) for n in range(3)] == [
                "v%d" % i if n == i % 3 else "" for n in range(3)]
    assert moved(p) - before >= 10 * SIZE
    stranger = p.raw()
    for _ in range(2 * SIZE):
        assert stranger.value("show work_mem") == "4MB"
        assert own(stranger, "my.own0") == ""


@pytest.mark.parametrize("state", ["clean", "keep"])
def test_what_a_statement_sets_is_known_where_its_client_goes(roaming, state):
    """it was prepared, and its name read, at another worker"""
    p = roaming(session_state=state, max_prepared_statements=50)
    c, others = p.raw(), [p.raw() for _ in range(SIZE)]
    c.send(pq.parse("select set_config('my.name', $1, false)", "s"), pq.sync())
    c.recv_until()
    for n in range(20):
        c.send(pq.bind("s", ["x%d" % n]), pq.execute(), pq.sync())
        assert c.recv_until().rows == [["x%d" % n]]
        for o in others:
            assert own(o, "my.name") == ""
        assert own(c, "my.name") == ("x%d" % n if state == "keep" else "")


def test_name_that_none_can_read_is_taken_away(roaming):
    """whichever worker has read the text"""
    p = roaming()
    c, others = p.raw(), [p.raw() for _ in range(SIZE)]
    c.send(pq.parse("select set_config('my.' || $1, 'x', false)", "s"),
           pq.sync())
    c.recv_until()
    for _ in range(10):
        c.send(pq.bind("s", ["hidden"]), pq.execute(), pq.sync())
        c.recv_until()
        for o in others:
            assert own(o, "my.hidden") == ""


def test_start_parameters_are_what_reset_gives_anywhere(roaming):
    p = roaming()
    clients = [p.raw(options="-c work_mem=%dMB -c my.start=s%d" % (i + 1, i))
               for i in range(SIZE)]
    for n in range(6):
        for i, c in enumerate(clients):
            c.query("set work_mem = '99MB'")
            assert c.value("show work_mem") == "99MB"
            c.query(["reset work_mem", "reset all", "discard all"][n % 3])
            assert c.value("show work_mem") == "%dMB" % (i + 1)
            assert own(c, "my.start") == "s%d" % i


def test_role_and_path_go_along(roaming, pg):
    p = roaming(user="postgres")
    a, b = p.raw("postgres"), p.raw("postgres")
    a.query("set role app2")
    a.query("set search_path = pg_temp, public")
    for _ in range(10):
        assert a.value("select current_user") == "app2"
        assert a.value("show search_path") == "pg_temp, public"
        assert b.value("select current_user") == "postgres"
        assert b.value("show search_path") == '"$user", public'


def test_numbers_drawn_are_nobody_elses(roaming, pg):
    """a server that has given some is told to forget them, wherever it is"""
    pg.sql("create sequence roam_seq", "alter sequence roam_seq owner to app",
           db="p0")
    p = roaming()
    clients = [p.raw() for _ in range(SIZE)]
    for n in range(40):
        clients[n % SIZE].query("select nextval('roam_seq')")
        other = clients[(n + 1) % SIZE]
        other.send(pq.query("select lastval()"))
        assert [e.code for e in other.recv_until().errors] == ["55000"]
    pg.sql("drop sequence roam_seq", db="p0")


def test_who_is_pinned_stays(roaming):
    p = roaming()
    c, other = p.raw(), p.raw()
    c.query("create temp table t (i int)")
    for n in range(10):
        c.query("insert into t values (%d)" % n)
        assert other.value("select to_regclass('t')") is None
        assert c.value("select count(*) from t") == str(n + 1)
    c.query("drop table t")
    before = moved(p)
    wait_until(lambda: c.value("select 1") == "1" and moved(p) > before)


def test_all_hear_though_their_pool_had_parts(roaming, pg):
    """a part has a listener for as long as somebody listens there"""
    p = roaming(force="moves")
    ears = [Ear(p.raw()) for _ in range(2 * SIZE)]
    assert min(of_workers(p, "clients")) > 1
    for e in ears:
        e.do("listen all_of_us")
    with pq.Conn(port=pg.port).login("app", database="p0") as other:
        for n in range(5):
            other.query("notify all_of_us, '%d'" % n)
    for e in ears:
        assert e.hear("all_of_us", "4") == [
            ("all_of_us", str(n)) for n in range(5)]
        e.do("unlisten *")
    wait_until(lambda: "has one worker from now on" in p.log)
    for e in ears:
        assert e.value("select 1") == "1"
