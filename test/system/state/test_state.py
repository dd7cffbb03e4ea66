# test_state.py - what clients leave in the sessions of servers.
# SPDX-License-Identifier: ISC
"""One server, and clients that take turns: what one has left is not there for
the next (session_state=clean). PostgreSQL's own views are the oracle.
"""
import pytest

import pq
from harness import REFERENCE

pytestmark = [pytest.mark.skipif(REFERENCE, reason="not so there"),
              pytest.mark.setting("session_state")]

SHOW = """select concat_ws(' ',
 current_setting('work_mem'), current_setting('search_path'),
 current_setting('statement_timeout'), current_setting('role'),
 current_setting('lc_numeric'), nullif(current_setting('my.own', true), ''),
 nullif(current_setting('local.own', true), ''),
 nullif(current_setting('transaction.own', true), ''),
 nullif(current_setting('session.own', true), ''),
 nullif(current_setting('transaction_own.x', true), ''),
 current_user,
 (select string_agg(name, ',') from pg_prepared_statements where from_sql),
 (select string_agg(name, ',') from pg_cursors where is_holdable),
 (select count(*) from pg_locks where locktype = 'advisory'
  and pid = pg_backend_pid()),
 (select string_agg(c, ',') from pg_listening_channels() c),
 (select count(*) from pg_class where relnamespace = pg_my_temp_schema()))"""

# what leaves something; what of it has no tag is told by words
LEAVES = [
    "set work_mem = '1MB'", "set session search_path = pg_temp, public",
    "set statement_timeout = '10s'", "select set_config('my.own', 'x', false)",
    "select set_config('work_mem', '2MB', false)", "set my.own = 'y'",
    "do $$ begin perform set_config('work_mem', '3MB', false); end $$",
    "select 1; set lc_numeric = 'C.UTF-8'; select 2",
    "begin; set local work_mem = '1MB'; set work_mem = '2MB'; commit",
    "begin; savepoint a; set work_mem = '3MB'; release a; end",
    "prepare leaves as select 1", "prepare \"Quo\"\"ted\" as select 1",
    "declare leaves cursor with hold for select 1",
    "begin; declare leaves cursor with hold for select 1; commit",
    "create temp table leaves (i int)", "select 1 as i into temporary leaves",
    "create table pg_temp.leaves (i int)",
    "select pg_advisory_lock(4711)", "select pg_try_advisory_lock_shared(1, 2)",
    "listen leaves", "create temp view leaves as select 1",
    "set local.own = '42'", "set transaction.own = '42'",
    "set session.own = '42'", "set local . own = '42'",
    "set transaction_own.x = '42'",
    "set statement_timeout = 1",
]


def alone(pooler, **settings):
    return pooler(default_pool_size=1,
                  **{"session_state": "clean", **settings})


def both(p):
    return p.raw(), p.raw()


@pytest.mark.parametrize("how", ["query", "extended"])
def test_nothing_is_left(pooler, how):
    p = alone(pooler)
    a, b = both(p)
    want = b.value(SHOW)
    for sql in LEAVES:
        if how == "query":
            a.query(sql)
        elif ";" not in sql:
            a.extended(sql)
        assert b.value(SHOW) == want, sql
    assert len(p.servers()) == 1 and "S-" not in "".join(
        line for line in p.log.splitlines() if "closing because" in line)


def test_who_leaves_leaves_nothing(pooler):
    """in a transaction, which is rolled back for it"""
    p = alone(pooler, server_rollback_on_disconnect=1)
    b = p.raw()
    want, pid = b.value(SHOW), b.value("select pg_backend_pid()")
    for sql in ("set work_mem = '1MB'", "select pg_advisory_lock(5)",
                "select set_config('my.own', 'x', false)"):
        a = p.raw()
        a.query("begin")
        a.query(sql)
        a.close()
        assert b.value(SHOW) == want, sql
    assert b.value("select pg_backend_pid()") == pid


def test_a_role_is_left(pooler, pg):
    """also one that may not look"""
    p = alone(pooler)
    a, b = p.raw("postgres"), p.raw("postgres")
    want = b.value(SHOW)
    for sql in ("set role app", "set session authorization app",
                "set session authorization app; set role app",
                "begin; set role app; commit"):
        a.query(sql)
        assert b.value(SHOW) == want, sql


def test_sequences_are_forgotten(pooler):
    p = alone(pooler)
    a, b = both(p)
    a.query("begin; create sequence left_seq; select nextval('left_seq'); "
            "commit")
    try:
        r = b.try_query("select lastval()")
        assert [e.code for e in r.errors] == ["55000"]
    finally:
        b.query("drop sequence left_seq")


def test_a_named_statement_that_leaves_something(pooler):
    """its words are known from when it was prepared"""
    p = alone(pooler)
    a, b = both(p)
    want = b.value(SHOW)
    a.extended("select set_config('work_mem', $1, false)", ["1MB"], "leaves")
    assert b.value(SHOW) == want
    for size in ("2MB", "3MB"):
        a.send(pq.bind("leaves", [size]), pq.execute(), pq.sync())
        a.recv_until().check()
        assert b.value(SHOW) == want
    assert p.stats()["total_server_parse_count"] == 1


def test_a_named_statement_that_nobody_knows(pooler):
    p = alone(pooler, max_prepared_statements=0)
    a, b = both(p)
    want = b.value(SHOW)
    a.extended("select set_config('work_mem', $1, false)", ["1MB"], "leaves")
    assert b.value(SHOW) == want
    a.send(pq.bind("leaves", ["2MB"]), pq.execute(), pq.sync())
    a.recv_until().check()
    assert b.value(SHOW) == want


@pytest.mark.setting("session_state_check")
@pytest.mark.parametrize("statements", [0, 200])
@pytest.mark.parametrize("state", ["clean", "keep"])
def test_an_unnamed_statement_lives_until_it_is_run(pooler, state, statements):
    """lib/pq and pg8000 have a Sync behind each step: what is asked or cleaned
    between them would drop it"""
    p = pooler(default_pool_size=1, pool_mode="transaction",
               session_state=state, max_prepared_statements=statements)
    c, other = p.raw(), p.raw()
    for step in ([pq.parse("select set_config($1, $2, false)")],
                 [pq.describe("S")],
                 [pq.bind("", ["work_mem", "1MB"]), pq.execute()]):
        c.send(*step, pq.sync())
        assert not c.recv_until().errors
    assert other.value("show work_mem") == "4MB"
    # neither one that there is not, nor one that is not wanted any more
    c.send(pq.parse("select set_config($1"), pq.sync())
    assert c.recv_until().errors
    assert other.value("select 1") == "1"
    c.send(pq.parse("select set_config($1, '', false)"), pq.sync())
    c.recv_until().check()
    assert c.value("select 2") == "2"
    assert other.value("select 1") == "1"


@pytest.mark.parametrize("check", ["told", "always"])
def test_what_only_a_function_tells(pooler, pg, check):
    """a text without any of the words: then each transaction is looked at"""
    pg.sql("create or replace function leave_it() returns void language plpgsql "
           "as $$ begin set work_mem = '1MB'; end $$",
           "grant execute on function leave_it() to public", db="p0")
    p = alone(pooler, session_state_check=check)
    a, b = both(p)
    want = b.value(SHOW)
    a.query("select leave_it()")
    assert (b.value(SHOW) == want) == (check == "always")


def test_what_leaves_nothing_costs_nothing(pooler, pg):
    """as the server itself counts: no statement of ours"""
    p = alone(pooler)
    a, b = both(p)
    a.query("set statement_timeout = 0")	# the first one is cleaned
    pid = b.value("select pg_backend_pid()")
    for sql in ("select 1", "begin|set local work_mem = '1MB'|commit",
                "set application_name = 'me'", "set timezone to 'Asia/Tokyo'",
                "begin|set transaction read only|end", "discard all",
                "update tab set val = 'temper' where id = -1"):
        for sql in sql.split("|"):
            a.query(sql)
        assert pg.sql("select query from pg_stat_activity where pid = %s"
                      % pid)[0][0] == sql


def test_what_a_client_came_with_stays_its_own(pooler):
    """cleaning takes away what we have set for it ourselves"""
    p = alone(pooler)
    a, b = p.raw(search_path="pg_catalog"), p.raw()
    for sql in "set work_mem = '1MB'", "reset all", "listen x":
        for c, path in (a, "pg_catalog"), (b, '"$user", public'):
            assert c.value("show search_path") == path
            c.query(sql)
            assert c.value("show search_path") == path


def test_connect_query_stays(pooler):
    """all that it has done, by doing it again"""
    p = pooler({"p0": "connect_query='set work_mem = ''7MB''; create temp "
                "table mine (i int); prepare mine as select 1'"},
               default_pool_size=1, session_state="clean")
    a, b = both(p)
    want = b.value(SHOW)
    assert "7MB" in want and "mine" in want
    for sql in ("set work_mem = '1MB'", "discard all", "discard temp",
                "create temp table other (i int)"):
        a.query("set statement_timeout = '9s'; " + sql
                if sql != "discard all" else sql)
        assert b.value(SHOW) == want, sql


def test_a_library_ends_the_server(pooler):
    """nothing unloads it"""
    p = alone(pooler)
    a = p.raw("postgres")
    pid = a.value("select pg_backend_pid()")
    a.query("load 'auto_explain'")
    assert a.value("select pg_backend_pid()") != pid


@pytest.mark.database("session_state")
@pytest.mark.user("session_state")
def test_of_a_database_and_of_a_user(pooler):
    """the user counts first"""
    p = pooler({"p0": "session_state=clean", "p1": ""},
               users={"postgres": "session_state=clean",
                      "app": ""}, default_pool_size=1)
    for user, database, clean in (("app", "p0", True), ("app", "p1", False),
                                  ("postgres", "p1", True)):
        a, b = p.raw(user, database), p.raw(user, database)
        want = b.value(SHOW)
        a.query("set work_mem = '1MB'")
        assert (b.value(SHOW) == want) == clean


def test_from_a_reload_on(pooler):
    """what was left before is gone, too: in idle servers and in busy ones"""
    p = pooler(default_pool_size=2)
    a, b = both(p)
    want = b.value(SHOW)
    b.query("begin")
    a.query("set work_mem = '1MB'")
    b.query("set work_mem = '2MB'")
    p.admin("set session_state = 'clean'")
    assert a.value(SHOW) == want
    b.query("commit")
    for c in (a, b):
        c.query("begin")
        assert c.value(SHOW) == want
    a.close()
    b.close()
