# test_keep_parts.py - what a session has, where servers and clients go from worker
# to worker (doc/workers.md; session_state = keep and clean).
# SPDX-License-Identifier: ISC
import pytest

import pq
from harness import REFERENCE, is_forced, wait_until

pytestmark = [pytest.mark.skipif(REFERENCE, reason="not known there"),
              pytest.mark.skipif(not is_forced(), reason="nothing can be forced"),
              pytest.mark.setting("workers"),
              pytest.mark.setting("session_state")]

CLIENTS = 6
ROUNDS = 12


@pytest.fixture(params=["handover", "moves", "handover,moves"])
def parts(pooler, request):
    """a pool with parts at three workers, none of which keeps anything long"""
    def start(user="app", **settings):
        p = pooler(start=False, **{
            "workers": 3, "default_pool_size": 12, "session_state": "keep",
            **settings})
        p.env.update(PARTS_FORCE="1", PGSLUICE_FORCE=request.param)
        p.start()
        with p.raw(user) as c:
            assert c.value("select 1") == "1"
        wait_until(lambda: p.log.count("is also served by worker") >= 2)
        return p
    return start


@pytest.fixture
def crew(parts):
    """that pool, and clients that came to all of its parts"""
    made = []

    def start(count=CLIENTS, params=lambda n: {}, user="app", **settings):
        p = parts(user, **settings)
        made.extend(p.raw(user, **params(n)) for n in range(count))
        return p, list(made)
    yield start
    for c in made:
        c.close()


def gone(p):
    return sum(int(r[k]) for r in p.show("workers")
               for k in ("servers_in", "clients_in"))


def current(name):
    return "select coalesce(nullif(current_setting('%s', true), ''), '-')" \
        % name


def test_settings_are_of_their_client(crew):
    """those of any name, where only one of the workers has seen the name"""
    p, cs = crew()
    before = gone(p)
    for r in range(ROUNDS):
        name = "round%d.own" % r
        for n, c in enumerate(cs[::2]):
            c.query("set %s = '%d/%d'" % (name, r, n))
            c.query("set work_mem = '%dkB'" % (1000 + n))
        for n, c in enumerate(cs[::2]):
            for other in cs[1::2]:
                assert other.value(current(name)) == "-"
                assert other.value("show work_mem") == "4MB"
            assert c.value(current(name)) == "%d/%d" % (r, n)
            assert c.value("show work_mem") == "%dkB" % (1000 + n)
    assert gone(p) > before + ROUNDS


def test_a_statement_sets_where_it_was_not_prepared(crew):
    """a custom parameter, whose name stands in its text only"""
    p, cs = crew()
    for n, c in enumerate(cs):
        c.send(pq.parse("select set_config('by%d.name', $1, false)" % n, "s"),
               pq.sync())
        c.recv_until().check()
    for r in range(ROUNDS):
        for n, c in enumerate(cs):
            c.send(pq.bind("s", ["v%d" % r]), pq.execute(), pq.sync())
            assert c.recv_until().check().rows == [["v%d" % r]]
        for n in range(len(cs)):
            for k, c in enumerate(cs):
                assert c.value(current("by%d.name" % n)) == \
                    ("v%d" % r if k == n else "-")


def test_what_nobody_can_name_stays_with_its_client(crew):
    """set in a DO, and by an expression"""
    p, cs = crew()
    for r in range(ROUNDS):
        cs[0].query("do $$ begin perform set_config('hidden' || '.x', '%d', "
                    "false); end $$" % r)
        cs[1].query("select set_config('hid' || 'den.y', '%d', false)" % r)
        for c in cs:
            for of, name in ((cs[0], "hidden.x"), (cs[1], "hidden.y")):
                assert c.value(current(name)) == (str(r) if c is of else "-")


def test_numbers_drawn_are_nobody_elses(crew, pg):
    pg.sql("drop table if exists kp_drawn",
           "create table kp_drawn (i serial)",
           "grant all on kp_drawn, kp_drawn_i_seq to public", db="p0")
    p, cs = crew()
    for r in range(ROUNDS):
        for n, c in enumerate(cs):
            if n % 2 == 0:
                c.query("insert into kp_drawn default values")
            else:
                e = c.try_query("select lastval()").errors
                assert [x.code for x in e] == ["55000"]
                e = c.try_query(
                    "select currval('kp_drawn_i_seq')").errors
                assert [x.code for x in e] == ["55000"]
    pg.sql("drop table kp_drawn", db="p0")


def test_temporary_tables_by_search_path_pin(crew):
    """CREATE TABLE AS, whose tag tells nothing"""
    p, cs = crew(count=4)
    for r in range(4):
        for n, c in enumerate(cs[:2]):
            c.query("set search_path = pg_temp, public")
            c.value("select 1")
            c.query("create table own as select %d as i" % n)
            assert c.value("select i from own") == str(n)
        for c in cs[2:]:
            assert [e.code for e in c.try_query(
                "select i from own").errors] == ["42P01"]
            assert c.value("show search_path") == '"$user", public'
        for n, c in enumerate(cs[:2]):
            assert c.value("select i from own") == str(n)
            c.query("discard all")
            assert c.value("show search_path") == '"$user", public'
            assert [e.code for e in c.try_query(
                "select i from own").errors] == ["42P01"]


def brought(n):
    return {"work_mem": "%dkB" % (2000 + n), "mine.start": "s%d" % n,
            "timezone": "Asia/Tokyo" if n % 2 else "Europe/Berlin"} \
        if n % 3 else {}


@pytest.mark.parametrize("state", ["keep", "clean"])
def test_what_a_client_came_with_is_its_default(crew, state):
    p, cs = crew(params=brought, session_state=state)

    def look():
        for n, c in enumerate(cs):
            want = brought(n)
            assert c.value("show work_mem") == want.get("work_mem", "4MB")
            assert c.value("show timezone") == want.get("timezone", "UTC")
            assert c.value(current("mine.start")) == \
                want.get("mine.start", "-")
    for order in ["select 1", "reset all", "discard all",
                  "reset work_mem; reset timezone"]:
        for c in cs:
            if state == "keep":
                c.query("set work_mem = '9MB'")
                assert c.value("show work_mem") == "9MB"
                c.query("set timezone = 'Asia/Kolkata'")
                c.query("reset work_mem")
                c.query("reset timezone")
            c.query(order)
        look()


def test_role_goes_along(crew):
    p, cs = crew(count=4, user="postgres")
    for r in range(ROUNDS):
        for n, c in enumerate(cs[:2]):
            c.query("set role app%s" % ("" if n == 0 else "2"))
        for n, c in enumerate(cs):
            assert c.value("select current_user") == \
                ["app", "app2", "postgres", "postgres"][n]
        for c in cs[:2]:
            c.query(["reset role", "discard all", "set role none"][r % 3])
        for c in cs:
            assert c.value("select current_user") == "postgres"


@pytest.mark.setting("cache_unnamed_statements")
@pytest.mark.parametrize("cached", ["0", "1"])
def test_a_statement_means_what_its_client_has_set(crew, pg, cached):
    """a name that search_path finds elsewhere, of texts that all have"""
    pg.sql("create schema if not exists kp_a", "create schema if not exists "
           "kp_b", "create or replace view kp_a.v as select 'a' as v",
           "create or replace view kp_b.v as select 'b' as v",
           "grant usage on schema kp_a, kp_b to public",
           "grant select on kp_a.v, kp_b.v to public", db="p0")
    p, cs = crew(cache_unnamed_statements=cached)
    for n, c in enumerate(cs):
        c.query("set search_path = kp_%s" % "ab"[n % 2])
        c.send(pq.parse("select v from v", "named"), pq.sync())
        c.recv_until().check()
    for r in range(ROUNDS):
        for n, c in enumerate(cs):
            want = "ab"[(n + r) % 2] if r % 3 == 2 else "ab"[n % 2]
            if r % 3 == 2:
                c.query("set search_path = kp_%s" % want)
            c.send(pq.parse("select v from v"), pq.bind(), pq.execute(),
                   pq.bind("named"), pq.execute(), pq.sync())
            assert c.recv_until().check().rows == [[want], [want]]
            if r % 3 == 2:
                c.query("set search_path = kp_%s" % "ab"[n % 2])


@pytest.mark.setting("max_pinned")
def test_pins_of_all_parts_count_together(crew):
    p, cs = crew(count=9, max_pinned=4)
    kept = []
    for n, c in enumerate(cs):
        r = c.try_query("select pg_advisory_lock(%d)" % n)
        if len(kept) < 4:
            assert not r.errors
            assert c.value("select 1") == "1"
            kept.append(c)
        else:
            wait_until(c.readable)
            assert c.recv_all().errors[0].message == \
                "too many sessions keep a server (max_pinned)"
    for c in kept:
        assert c.value("select count(*) from pg_locks where locktype = "
                       "'advisory' and pid = pg_backend_pid()") == "1"
    kept[0].query("select pg_advisory_unlock_all()")
    assert kept[0].value("select 1") == "1"
    with p.raw() as c:
        c.query("select pg_advisory_lock(100)")
        assert c.value("select 1") == "1"


def test_who_listens_hears_at_whatever_worker(crew, pg):
    """parts end for it, and come again"""
    p, cs = crew()
    for c in cs:
        c.query("listen kp_news")
    for r in range(3):
        pg.sql("notify kp_news, '%d'" % r, db="p0")
        for n, c in enumerate(cs):
            body = c.recv_until("A").messages[-1][1]
            assert body[4:] == b"kp_news\0%d\0" % r
            c.query("set my.turn = '%d'" % n)
        for n, c in enumerate(cs):
            assert c.value(current("my.turn")) == str(n)
    p.wait_log("is served by one worker from now on")
    for c in cs:
        c.query("unlisten *")
    for c in cs:
        assert c.value("select count(*) from pg_listening_channels() c "
                       "where c not like 'pgsluice.%'") == "0"


def test_who_is_pinned_stays_and_may_go_later(crew):
    p, clients = crew()
    c, other = clients[:2]
    c.query("create temp table t (i int)")
    for n in range(ROUNDS):
        c.query("insert into t values (%d)" % n)
        assert other.value("select to_regclass('t')") is None
        assert c.value("select count(*) from t") == str(n + 1)
    c.query("drop table t")
    before = gone(p)
    wait_until(lambda: c.value("select 1") == "1" and gone(p) > before)
