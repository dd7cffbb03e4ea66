# test_state_long.py - texts of more than 64 kB, which are looked at as they pass.
# SPDX-License-Identifier: ISC
"""A long text is not kept until it is whole, but its words are seen. One that has
none leaves nothing: its server serves the next client. One that has some does what
a short one does, or costs its server, because nobody can tell.
"""
import pytest

import pq
from harness import REFERENCE, wait_until
from test_state_names import in_pieces, opening, pair  # noqa: F401
from test_takeover import successor

pytestmark = [pytest.mark.skipif(REFERENCE, reason="not so there"),
              pytest.mark.setting("session_state")]

# what people write, with all that looks like one of the words
PROSE = ("What to do: ''it'' does. Do it! Clients_status = 3; do. {a: \"do\"} "
         "a?menu&\"b\" temperature, settings, advisory, template, nextvalue, "
         "reset, load, execute, language; ")
PLAIN = ["insert into {t} values ('{x}')", "select length('{x}')",
         "update {t} set a = '{x}' where a = 'b'", "/* {x} */ select 1"]


def as_query(sql):
    return pq.query(sql)


def unnamed(sql):
    return pq.parse(sql) + pq.bind() + pq.execute() + pq.sync()


def apart(sql):
    """the Parse and the Bind have a Sync each"""
    return pq.parse(sql) + pq.sync() + pq.bind() + pq.execute() + pq.sync()


def named(sql):
    return pq.parse(sql, "s") + pq.bind("s") + pq.execute() + \
        pq.close("S", "s") + pq.sync()


WAYS = [as_query, unnamed, named]
CUTS = [[], [1000, 90000], [65536, 65540, 65600]]
PID = "select pg_backend_pid()"
SETUP = "select pg_replication_origin_session_setup('opened')"
IS_SETUP = "select pg_replication_origin_session_is_setup()"


def pad(text, size=100000):
    return text * (size // len(text) + 1)


@pytest.fixture
def table(pg):
    pg.sql("create table long_text (a text)", "grant all on long_text to public",
           db="p0")
    yield "long_text"
    pg.sql("drop table long_text", db="p0")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("state", ["clean", "keep"])
def test_a_plain_text_leaves_its_server(pair, table, state, way):  # noqa: F811
    """as it was: neither closed, nor cleaned, nor asked"""
    p, a, b = pair(state)
    b.query("select 1")
    pid = b.value(PID)
    for sql in PLAIN:
        data = way(sql.format(t=table, x=pad(PROSE)))
        for cuts in CUTS:
            in_pieces(p, a, data, cuts)
            assert b.value(PID) == pid, sql
    assert "cleaning" not in p.log


@pytest.mark.parametrize("cached", [0, 100])
def test_a_plain_text_between_two_batches(pair, table, cached):  # noqa: F811
    """the unnamed statement is there, where nobody translates names, too"""
    p, a, b = pair(max_prepared_statements=cached)
    pid = b.value(PID)
    for sql in PLAIN:
        a.send(pq.parse(sql.format(t=table, x=pad(PROSE))), pq.sync())
        a.recv_until().check()
        a.send(pq.bind(), pq.execute(), pq.sync())
        a.recv_until().check()
        assert b.value(PID) == pid


def test_a_long_statement_whose_name_the_server_knows(pair):  # noqa: F811
    p, a, b = pair(max_prepared_statements=0)
    pid = b.value(PID)
    a.send(named("select length('%s')" % pad(PROSE)))
    a.recv_until().check()
    assert b.value(PID) == pid
    a.send(named("%s /* %s */" % (SETUP.replace("'opened'", "null"),
                                  pad(PROSE))))
    assert a.recv_until().rows == [[None]]
    a.close()
    wait_until(lambda: p.pool()["cl_active"] == 1)
    assert b.value(PID) != pid


@pytest.mark.parametrize("state", ["clean", "keep"])
def test_a_statement_that_is_too_long_to_look_at(pair, state):  # noqa: F811
    """costs its server, but nobody is pinned by it"""
    p, a, b = pair(state)
    pid = b.value(PID)
    a.send(named("select length('%s')" % pad(PROSE, 300000)))
    a.recv_until().check()
    assert b.value(PID) != pid
    assert not any(r["pin_reason"] for r in p.show("clients"))


# each word stands behind what is looked at in one go
OPENS = [SETUP, "select U&\"pg\\005freplication_origin_session_setup\"('opened')",
         "do $$begin execute 'select pg_' || "
         "'replication_origin_session_setup(''opened'')'; end$$",
         "select query_to_xml('select pg_' || "
         "'replication_origin_session_setup(''opened'')', true, true, '')"]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("state", ["clean", "keep"])
def test_what_a_long_text_opens(pg, opening, pooler,  # noqa: F811
                                state, way):
    """is there for nobody else, wherever the word stands"""
    p = pooler(default_pool_size=1, session_state=state,
               pool_mode="transaction")
    for sql in OPENS:
        for long in ("/*%s*/ " % pad(PROSE) + sql,
                     sql + " /*%s*/" % pad(PROSE)):
            data = way(long)
            at = data.find(b"replication_origin")
            for cuts in ([], [at + 3], [at - 1, at + 20]):
                a, b = p.raw("postgres"), p.raw("postgres")
                in_pieces(p, a, data, cuts)
                a.close()
                assert b.value(IS_SETUP) == "f", sql
                b.close()
                # an origin is free when the session that had it has ended
                wait_until(lambda: len(pg.backends()) <= 1)


@pytest.mark.parametrize("way", [as_query, apart, named])
def test_what_a_long_text_makes_pins(pair, way):  # noqa: F811
    p, a, b = pair(default_pool_size=2)
    long = "create temp table mine as select '%s' a" % pad(PROSE)
    a.send(way(long))
    for _ in range(1 + (way is apart)):
        a.recv_until().check()
    b.query("select 1")
    assert a.value("select count(*) from mine") == "1"
    assert [r["pin_reason"] for r in p.show("clients")
            if r["pin_reason"]] == ["temporary"]


SETS = ["set long.own = 1; {x}", "{x}; set long.own = 1",
        "select set_config('long.own', '1', false) {x}",
        "{x} select set_config('long.' || 'own', '1', false)"]


@pytest.mark.parametrize("state", ["clean", "keep"])
def test_a_parameter_of_a_long_text(pair, state):  # noqa: F811
    """is nobody else's, and that of no name is needed to take it back"""
    p, a, b = pair(state)
    for sql in SETS:
        for cuts in CUTS:
            in_pieces(p, a, pq.query(sql.format(x="/*%s*/" % pad(PROSE))),
                      cuts)
            assert b.value("select current_setting('long.own', true)") in \
                (None, ""), sql


def test_a_setting_of_a_long_text_goes_with_its_client(pair):  # noqa: F811
    p, a, b = pair()
    for i, way in enumerate(WAYS):
        a.send(way("/*%s*/ set work_mem = '%d1MB'" % (pad(PROSE), i + 1)))
        a.recv_until().check()
        assert b.value("show work_mem") == "4MB"
        assert a.value("show work_mem") == "%d1MB" % (i + 1)


def test_numbers_of_a_long_text_are_of_its_client(pair, pg):  # noqa: F811
    pg.sql("create sequence long_numbers", "grant all on sequence "
           "long_numbers to public", db="p0")
    try:
        p, a, b = pair()
        for way in WAYS:
            a.send(way("/*%s*/ select nextval('long_numbers')" % pad(PROSE)))
            a.recv_until().check()
            with pytest.raises(pq.PgError) as e:
                b.value("select lastval()")
            assert e.value.code == "55000"
    finally:
        pg.sql("drop sequence long_numbers", db="p0")


def test_a_takeover_amid_a_long_text(pooler, opening):  # noqa: F811
    """what comes behind it is not looked at: nobody else gets that server"""
    p = pooler(default_pool_size=1, session_state="keep",
               pool_mode="transaction")
    a = p.raw("postgres")
    data = pq.query("/*%s*/ %s" % (pad(PROSE), SETUP))
    a.send(data[:90000])
    p.wait_pool(user="postgres", cl_active=1, sv_active=1)
    q = successor(pooler, p)
    q.start()
    assert p.wait_exit() == 0
    a.send(data[90000:])
    a.recv_until().check()
    a.close()
    with q.raw("postgres") as b:
        assert b.value(IS_SETUP) == "f"


def test_parameter_of_a_function_that_a_long_text_makes(pair, pg):
    """is not there for the next client: no reader saw its name"""
    p, a, b = pair("keep")
    pg.sql("create schema made", "grant all on schema made to public", db="p0")
    try:
        a.query("create function made.f() returns void language plpgsql as "
                "$$begin set my.made = 'A'; end$$; select made.f() "
                "/* %s */" % pad("prose "))
        assert b.value("select current_setting('my.made', true)") in (None, "")
        a.close()
        assert b.value("select current_setting('my.made', true)") in (None, "")
    finally:
        pg.sql("drop schema made cascade", db="p0")


def test_named_set_that_is_long_runs_later(pair):
    """max_prepared_statements = 0: its transaction shows no text"""
    p, a, b = pair("keep", max_prepared_statements=0)
    a.send(pq.parse("set my.later = 'A' /* %s */" % pad("prose "), "s1"),
           pq.sync())
    a.recv_until().check()
    a.send(pq.bind("s1"), pq.execute(), pq.sync())
    a.recv_until()
    assert b.value("select current_setting('my.later', true)") in (None, "")
    assert b.value("select current_setting('my.later', true)") in (None, "")


RESETS = ["reset app.tenant", "set app.tenant to default", "reset all",
          "begin; reset app.tenant; commit"]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("sql", RESETS)
def test_a_long_text_resets_what_its_client_came_with(pooler, sql, way):
    """the first 64 kB are read, in whatever pieces they come"""
    if ";" in sql and way is not as_query:
        pytest.skip("several statements")
    p = pooler(default_pool_size=1, session_state="keep",
               pool_mode="transaction")
    a, b = p.raw(**{"app.tenant": "came"}), p.raw()
    look = "select current_setting('app.tenant', true)"
    data = way("%s /*%s*/" % (sql, pad(PROSE)))
    for cuts in CUTS + [[data.index(b"set ") + 2], [9, 60000]]:
        a.query("set app.tenant = 'own'")
        assert a.value(look) == "own"
        in_pieces(p, a, data, cuts)
        assert b.value(look) == ""
        assert a.value(look) == "came", cuts
    # what is set to nothing stays so
    a.query("set app.tenant = ''")
    in_pieces(p, a, way("reset work_mem /*%s*/" % pad(PROSE)), [])
    assert a.value(look) == ""
