# test_dialect.py - who shares a named statement, by what its text means.
# SPDX-License-Identifier: ISC
"""PostgreSQL reads a literal when it parses the statement, by the settings of
that time. What a client has prepared is for those whose settings have the text
mean the same (pooling.md 16); a direct connection is the oracle.
"""
import pytest

import pq
from harness import REFERENCE, wait_until
from test_takeover import take_over

pytestmark = pytest.mark.skipif(REFERENCE, reason="not so there")

# a setting, two of its values, and a text that means two things
REPORTED = [
    ("timezone", "UTC", "America/New_York",
     "select extract(epoch from timestamptz '2024-01-01 00:00')::bigint"),
    ("timezone", "UTC", "Asia/Tokyo", "select timestamptz $$2024-01-01$$ "
     "at time zone 'UTC'"),
    ("datestyle", "ISO, MDY", "ISO, DMY",
     "select extract(day from date '01/02/2024')"),
    ("intervalstyle", "postgres", "sql_standard",
     "select extract(epoch from interval '-1 1:00:00')::bigint"),
    ("standard_conforming_strings", "on", "off",
     r"select 'x\' as a, ' , 1 as b --'"),
    ("client_encoding", "UTF8", "LATIN1", "select 'é', length('é')"),
]
OTHERS = [
    ("array_nulls", "on", "off",
     "select coalesce(('{null}'::text[])[1], 'none')"),
    ("transform_null_equals", "off", "on", "select null = null"),
    ("xmloption", "content", "document", "select 'a'::xml is null"),
    ("backslash_quote", "off", "on", r"select E'\''"),
]
STATES = ["forget", "clean", "keep"]
CASES = [(s, *c) for s in STATES for c in REPORTED] + \
    [("keep", *c) for c in OTHERS]
IDS = ["-".join(c[:2]) + str(i) for i, c in enumerate(CASES)]


def ask(c, *sent):
    """Rows, and the codes of errors, of all that is sent in one go."""
    c.send(*sent)
    all_ = [c.recv_until() for part in sent if part[:1] in b"QS"]
    return ([row for res in all_ for row in res.rows],
            [e.code for res in all_ for e in res.errors])


def prepare(sql, name="s"):
    return [pq.parse(sql, name), pq.sync()]


def run(name="s"):
    return [pq.bind(name), pq.execute(), pq.sync()]


def both(sql):
    return [*prepare(sql), *run()]


def change(name, value):
    return f"set {name} = '{value}'"


STARTS = ["client_encoding", "datestyle", "timezone"]


def login(p, name=None, value=None, starts=False, **params):
    """... to a pooler or to PostgreSQL, and have the setting."""
    starts = starts and name in STARTS
    if starts:
        params[name] = value
    c = pq.Conn(port=p.port).login("app", database="p0", **params)
    if name and not starts:
        c.query(change(name, value))
    return c


@pytest.fixture
def one(pooler):
    def make(state, **kw):
        return pooler(**{"default_pool_size": 1, "session_state": state,
                         "max_prepared_statements": 50, **kw})
    return make


@pytest.mark.parametrize("starts", [False, True])
@pytest.mark.parametrize("state,name,a,b,sql", CASES, ids=IDS)
def test_settings_are_of_the_statement(one, pg, state, name, a, b, sql,
                                       starts):
    """pooling.md 16"""
    p = one(state)
    want = {}
    for value in (a, b):
        with login(pg, name, value) as c:
            want[value] = ask(c, *both(sql)) + ask(c, *run())
    assert want[a] != want[b]
    for value in (a, b, b, a):
        with login(p, name, value, starts=starts) as c:
            assert ask(c, *both(sql)) + ask(c, *run()) == want[value]
    c, d = login(p, name, a), login(p, name, b)
    assert ask(c, *both(sql)) == want[a][:2]
    assert ask(d, *both(sql)) == want[b][:2]
    for x, value in ((c, a), (d, b)) * 3:
        assert ask(x, *run()) == want[value][2:]
    c.close()
    d.close()


ZONE, UTC, OTHER, EPOCH = REPORTED[0]


def zone(value):
    return change(ZONE, value)


def extended(sql):
    return [pq.parse(sql), pq.bind(), pq.execute()]


# what is sent in one go; the statement is prepared in the other time zone, and
# that has an end
AMID = {
    "query": [pq.query(zone(OTHER)), *both(EPOCH), pq.query(zone(UTC))],
    "batch": [*extended(zone(OTHER)), pq.parse(EPOCH, "s"), pq.bind("s"),
              pq.execute(), *extended(zone(UTC)), pq.sync()],
    "local": [pq.query("begin; set local timezone = '%s'" % OTHER),
              *both(EPOCH), pq.query("commit")],
    "function": [*extended("select set_config('TimeZone', '%s', true)"
                           % OTHER), pq.parse(EPOCH, "s"), pq.bind("s"),
                 pq.execute(), pq.sync()],
    "end": [pq.query("begin; set local timezone = '%s'" % OTHER),
            pq.query("rollback"), *both(EPOCH)],
    "unseen": [*extended("select dia_zone()"), pq.parse(EPOCH, "s"),
               pq.bind("s"), pq.execute(), pq.sync(), pq.query(zone(UTC))],
    "named": [*prepare(zone(OTHER), "z"), pq.bind("z"), pq.execute(),
              pq.parse(EPOCH, "s"), pq.bind("s"), pq.execute(), pq.sync(),
              pq.query(zone(UTC))],
    "portal": [pq.query("begin"), pq.parse(zone(OTHER)), pq.bind("", (), "p"),
               pq.sync(), pq.execute("p"), pq.parse(EPOCH, "s"), pq.bind("s"),
               pq.execute(), pq.sync(), pq.query("rollback")],
    "reset": [pq.query(zone(OTHER)), pq.query("reset timezone"),
              *both(EPOCH)],
}


def in_turn(c, *sent):
    """The same, each answered before the next is sent."""
    rows, codes, waits = [], [], []
    for part in sent:
        waits.append(part)
        if part[:1] in b"QS":
            found = ask(c, *waits)
            rows, codes, waits = rows + found[0], codes + found[1], []
    return rows, codes


@pytest.fixture
def unseen(pg):
    pg.sql("create or replace function dia_zone() returns text language sql "
           "as $$select set_config('TimeZone', '%s', false)$$" % OTHER,
           db="p0")
    yield
    pg.sql("drop function dia_zone()", db="p0")


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("send", [ask, in_turn])
@pytest.mark.parametrize("what", AMID)
def test_what_is_prepared_amid_a_change_poisons_nobody(one, pg, unseen, state,
                                                       what, send):
    """pooling.md 16: as told, or by who prepared it alone"""
    p = one(state)
    with login(pg, ZONE, UTC) as c:
        want = ask(c, *AMID[what])
    with login(p, ZONE, UTC) as c:
        assert send(c, *AMID[what]) == want
    for value in (UTC, OTHER, UTC):
        with login(pg, ZONE, value) as c, login(p, ZONE, value) as d:
            assert ask(d, *both(EPOCH)) == ask(c, *both(EPOCH))


@pytest.mark.parametrize("state", STATES)
def test_set_after_it_was_prepared(one, pg, state):
    """pooling.md 16: a client's statements mean what its settings say"""
    p = one(state, default_pool_size=2)
    hold = p.raw()
    c = login(p, ZONE, UTC)
    old, _ = ask(c, *both(EPOCH))
    c.query(zone(OTHER))
    d = login(p, ZONE, OTHER)
    new, _ = ask(d, *both(EPOCH))
    assert old != new
    hold.query("begin")
    hold.value("select 1")
    for _ in range(3):
        for x in (c, d):
            assert ask(x, *run())[0] == new
        hold.query("commit")
        hold.query("begin")
        hold.value("select 1")
    with login(p, ZONE, UTC) as e:
        assert ask(e, *both(EPOCH)) == (old, [])
    c.query(zone(UTC))
    for _ in range(2):
        assert ask(c, *run())[0] == old
    hold.query("commit")
    for x in (hold, c, d):
        x.close()


AGAIN = {
    "analyze": ("select count(*) from dia_t where at >= '2024-01-01'",
                "analyze dia_t"),
    "schema": (EPOCH, "create schema dia_new"),
    "null": ("select count(*) from dia_t where at = null", "analyze dia_t"),
}


@pytest.fixture
def table(pg):
    pg.sql("drop schema if exists dia_new", "create table dia_t "
           "(at timestamptz)", "insert into dia_t values ('2024-01-01 02:00+00')",
           "grant all on dia_t to app", db="p0")
    yield
    pg.sql("drop table dia_t", "drop schema if exists dia_new", db="p0")


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("what", AGAIN)
@pytest.mark.parametrize("burst", [False, True])
def test_statement_that_postgresql_reads_anew(one, pg, table, state, what,
                                              burst):
    """as it does when a table has changed: not for others"""
    p = one(state)
    sql, change_ = AGAIN[what]
    a, b = login(p, ZONE, UTC), login(p, ZONE, UTC)
    want = ask(a, *both(sql))
    assert ask(b, *both(sql)) == want
    pg.sql(change_, db="p0")
    sets = "transform_null_equals = on" if what == "null" else \
        "timezone = '%s'" % OTHER
    parts = [pq.query("begin"), pq.query("set local " + sets), *run(),
             pq.query("commit")]
    (ask if burst else in_turn)(a, *parts)
    for x in (b, a, b):
        assert ask(x, *run()) == want
    with login(p, ZONE, UTC) as c:
        assert ask(c, *both(sql)) == want


@pytest.fixture
def schemas(pg):
    pg.sql("create schema dia_a", "create schema dia_b",
           "grant usage on schema dia_a, dia_b to app",
           "create table dia_a.doc (tok name, day timestamp, id int)",
           "create table dia_b.doc (tok text, day date, id text)",
           "insert into dia_b.doc values (repeat('x', 63), '2024-01-02', 'z')",
           "grant all on dia_a.doc, dia_b.doc to app", db="p0")
    yield
    pg.sql("drop schema dia_a cascade", "drop schema dia_b cascade", db="p0")


GOES = {
    "session": ["set search_path = {}"], "schema": ["set schema '{}'"],
    "local": ["begin", "set local search_path to {}"],
    "twice": ["begin", "set local search_path to public",
              "set local search_path to {}"],
    "comment": ["begin", "/* a */ set local search_path to {}"],
    "several": ["begin", "select 1; set local search_path to {}"],
    "call": ["begin", "select set_config('search_path', '{}', true)"],
    "block": ["begin", "do $$begin execute 'set local search_'||'path to {}'; "
              "end$$"],
    "undone": ["begin", "set local search_path to {}", "savepoint a",
               "set local search_path to public", "rollback to a"],
    "chain": ["begin", "set local search_path to dia_b", "commit and chain",
              "set search_path to {}"],
    "chained": ["begin", "set local search_path to {}; ", "commit and chain"],
    "abort": ["begin", "set local search_path to {}", "rollback and chain"],
    "failed": ["begin", "savepoint a", "set local search_path to {0}",
               "set local search_path = '{0}', pg_catalog = 1",
               "rollback to a"],
    "strings": ["begin", "set local standard_conforming_strings = off",
                r"set local search_path = '{}\', pg_catalog, '",
                "set local standard_conforming_strings = on"],
    "behind": ["begin; set local search_path to public; commit",
               "begin", "set local search_path to {}"],
}


def goes_to(path, how, state):
    """Queries; clean leaves nothing to the next transaction."""
    begins = state == "clean" and how in ("session", "schema")
    return [pq.query(q.format(path)) for q in ["begin"] * begins + GOES[how]]


ASKS = [("select count(*) from doc where tok = $1", "x" * 63 + "WRONG"),
        ("select count(*) from doc where day = $1", "2024-01-02 10:00"),
        ("select count(*) from doc where id = $1", "z"),
        ("select * from doc", None)]


@pytest.mark.parametrize("state", ["clean", "keep"])
@pytest.mark.parametrize("how", GOES)
@pytest.mark.parametrize("sql, value", ASKS, ids=["name", "day", "id", "all"])
@pytest.mark.parametrize("burst", [False, True])
def test_types_are_those_of_the_search_path(one, pg, schemas, state, how, sql,
                                            value, burst):
    """those of parameters too, which PostgreSQL keeps when it plans anew"""
    p = one(state)
    goes = ask if burst else in_turn

    def go(x, path):
        runs = [pq.bind("s", [value.encode()] if value else ()), pq.execute(),
                pq.sync()]
        ahead = goes_to(path, how, state)
        first = goes(x, *ahead, *prepare(sql), *runs, pq.query("rollback"))
        return first, goes(x, *ahead, *runs, pq.query("rollback"))

    for path in "dia_a", "dia_b", "dia_a", "dia_b":
        with login(p) as c, login(pg) as d:
            assert go(c, path) == go(d, path)


ROLES = {
    "local": ["begin", "set local role {}"],
    "session": ["begin", "set session role '{}'"],
    "reset": ["begin", "set local role {}", "reset role", "set role {}"],
    "chain": ["begin", "set local role app2", "commit and chain",
              "set local role {}"],
    "undone": ["begin", "set local role {}", "savepoint a",
               "set local role none", "rollback to a"],
}


@pytest.mark.parametrize("state", ["clean", "keep"])
@pytest.mark.parametrize("how", ROLES)
@pytest.mark.parametrize("sql, value", ASKS, ids=["name", "day", "id", "all"])
def test_types_are_those_of_the_role(one, pg, schemas, state, how, sql, value):
    """whose schema comes first in the search_path"""
    pg.sql("create role dia_a", "create role dia_b", "grant dia_a, dia_b to app",
           "grant app2 to app", "grant all on schema dia_a to dia_a, app2",
           "grant all on schema dia_b to dia_b, app2", "grant all on "
           "dia_a.doc, dia_b.doc to dia_a, dia_b, app2", db="p0")
    try:
        p = one(state)
        runs = [pq.bind("s", [value.encode()] if value else ()),
                pq.execute(), pq.sync()]
        for role in "dia_a", "dia_b", "dia_a", "dia_b":
            with login(p) as c, login(pg) as d:
                ahead = [pq.query(q.format(role)) for q in ROLES[how]]
                got = [in_turn(x, *ahead, *prepare(sql), *runs,
                               pq.query("rollback"), *ahead, *runs,
                               pq.query("rollback")) for x in (c, d)]
                assert got[0] == got[1]
    finally:
        pg.sql("drop owned by dia_a, dia_b", "drop role dia_a, dia_b",
               "revoke app2 from app", db="p0")


PARTS = {
    "not run": [pq.parse("set local search_path to dia_a"), pq.sync()],
    "not bound": [pq.parse("set local search_path to dia_a", "x"), pq.sync()],
    "bound": [pq.parse("set local search_path to dia_a", "x"), pq.bind("x"),
              pq.sync()],
    "run": [pq.parse("set local search_path to dia_a"), pq.bind(),
            pq.execute(), pq.sync()],
    "named": [pq.parse("set local search_path to dia_a", "x"), pq.bind("x"),
              pq.execute(), pq.sync()],
    "other": [pq.parse("set local search_path to dia_a", "x"),
              pq.query("set local work_mem = '2MB'")],
    "again": [pq.parse("set local search_path to dia_a"), pq.bind(),
              pq.execute(), pq.sync(), pq.parse(
                  "set local search_path to dia_b", "y"), pq.bind("y"),
              pq.execute(), pq.sync(), pq.bind(), pq.execute(), pq.sync()],
    "portal": [pq.parse("set local search_path to dia_a"),
               pq.bind(portal="p"), pq.parse("set local work_mem = '2MB'"),
               pq.bind(), pq.execute(), pq.sync(), pq.execute("p"),
               pq.sync()],
    "more": [pq.query("set local work_mem = '2MB'"),
             pq.parse("set local search_path to dia_a"), pq.bind(),
             pq.describe("P"), pq.execute(), pq.sync(),
             pq.query("set local work_mem = '3MB'")],
    "two": [pq.parse("set local search_path to dia_b"),
            pq.parse("set local search_path to dia_a"), pq.bind(),
            pq.execute(), pq.sync()],
}


@pytest.mark.parametrize("state", ["clean", "keep"])
@pytest.mark.parametrize("what", PARTS)
@pytest.mark.parametrize("first", [False, True])
def test_search_path_by_the_extended_protocol(one, pg, schemas, state, what,
                                              first):
    """what is not run sets nothing"""
    p = one(state)
    sql, value = ASKS[0]
    runs = [pq.bind("s", [value.encode()]), pq.execute(), pq.sync()]
    real = [pq.query("set local search_path to dia_a")]
    for ahead in [PARTS[what], real] if first else [real, PARTS[what]]:
        with login(p) as c, login(pg) as d:
            got = [in_turn(x, pq.query("begin"), pq.query(
                "set local search_path = dia_b"), *ahead, *prepare(sql),
                *runs, pq.query("rollback")) for x in (c, d)]
            assert got[0] == got[1]


@pytest.mark.parametrize("state", STATES)
def test_search_path_of_the_start_is_of_the_dialect(one, pg, schemas, state):
    """also where no report tells of it"""
    p = one(state)
    for path in "dia_a", "dia_b", "dia_a", "dia_b":
        with login(p, search_path=path) as c, login(
                pg, search_path=path) as d:
            for x in c, d:
                x.got = [ask(x, *prepare(sql, str(i)), pq.bind(
                    str(i), [value.encode()] if value else ()), pq.execute(),
                    pq.sync()) for i, (sql, value) in enumerate(ASKS)]
            assert c.got == d.got


def by_extended(query, name=""):
    sql = query[5:-1].decode()
    return [pq.parse(sql, name), pq.bind(name), pq.execute(), pq.sync()]


@pytest.mark.parametrize("state", ["clean", "keep"])
@pytest.mark.parametrize("how", ["session", "schema", "local", "twice"])
@pytest.mark.parametrize("extended", [False, True])
def test_same_search_path_is_shared(one, schemas, state, how, extended):
    """the texts of what has set it are the same"""
    p = one(state)
    for _ in range(5):
        for path in "dia_a", "dia_b":
            with login(p) as c:
                ahead = goes_to(path, how, state)
                if extended:
                    ahead = [part for q in ahead for part in by_extended(q)]
                assert in_turn(c, *ahead, *both("select * from doc"),
                               pq.query("rollback"))[1] == []
    assert p.stats()["total_server_parse_count"] <= 2


NULLS = OTHERS[0][3]
HIDDEN = {
    "parameters": [pq.parse("select set_config($1, $2, true)"),
                   pq.bind("", ("array_nulls", "off")), pq.execute(),
                   pq.sync()],
    "named": [pq.parse("select set_config($1, $2, true)", "sc"),
              pq.bind("sc", ("array_nulls", "off")), pq.execute(), pq.sync()],
    "escape": [pq.query(r'set local U&"array\005fnulls" = off')],
    "made": [pq.query("select set_config('array'||'_nulls', 'off', true)")],
    "block": [pq.query("do $$begin execute 'set local array'||'_nulls = off';"
                       " end$$")],
    "prefix": [pq.query("/* a */ set local array_nulls = off")],
    "session": [pq.query("set session array_nulls = off")],
    "several": [pq.query("select 1; set local array_nulls = off")],
    "view": [pq.query("update pg_settings set setting = 'off' where name like "
                      "'array%nulls'")],
}


@pytest.mark.parametrize("state", ["clean", "keep"])
@pytest.mark.parametrize("how", HIDDEN)
@pytest.mark.parametrize("first", [False, True])
def test_setting_that_no_report_tells(one, pg, state, how, first):
    """and whose name may not be in the text"""
    p = one(state)
    with login(pg) as d:
        want = ask(d, *both(NULLS))
    if first:
        with login(p) as c:
            assert ask(c, *both(NULLS)) == want
    with login(p) as c, login(pg) as d:
        parts = [pq.query("begin"), *HIDDEN[how], *both(NULLS),
                 pq.query("rollback")]
        assert in_turn(c, *parts) == in_turn(d, *parts)
    with login(p) as c:
        assert ask(c, *both(NULLS)) == want


def test_xml_option(one, pg):
    """SET XML OPTION has not the name of what it sets"""
    p = one("keep")
    sql = "select 'a'::xml is null"
    for _ in range(2):
        with login(p) as c, login(pg) as d:
            assert ask(c, *both(sql)) == ask(d, *both(sql))
            parts = [pq.query("begin"), pq.query("set local xml option "
                                                 "document"),
                     *prepare(sql, "t"), *run("t"), pq.query("rollback")]
            assert in_turn(c, *parts) == in_turn(d, *parts)


@pytest.fixture
def functions(pg):
    pg.sql("create or replace function dia_loc() returns text language sql as "
           "$$select set_config('TimeZone', 'America/New_York', true)$$",
           "create or replace function dia_in() returns timestamptz language "
           "sql stable as $$select timestamptz '2024-01-01'$$", db="p0")
    yield
    pg.sql("drop function dia_loc()", "drop function dia_in()", db="p0")


PARSE = [pq.parse(EPOCH, "s"), pq.bind("s"), pq.execute(), pq.sync()]
AHEAD = {
    "function": [[*extended("select dia_loc()"), *PARSE]],
    "named function": [prepare("select dia_loc()", "f"), [
        pq.bind("f"), pq.execute(), *PARSE]],
    "fetch": [[pq.query("begin; declare cu cursor for select set_config("
                        "'TimeZone', 'America/New_York', true)")],
              [*extended("fetch 1 from cu"), *PARSE], [pq.query("rollback")]],
    "skipped": [[pq.parse("select set_config('timezone', '%s', true)" % OTHER),
                 pq.sync()],
                [pq.parse("selec", "e"), pq.parse("select 1"), pq.sync(),
                 pq.bind(), pq.execute(), *PARSE]],
}


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("what", AHEAD)
def test_what_no_report_tells_in_time(one, pg, functions, state, what):
    """a parameter is reported at the end of a batch, if it is so then"""
    p = one(state)
    with login(p, ZONE, UTC) as c, login(pg, ZONE, UTC) as d:
        for parts in AHEAD[what]:
            assert ask(c, *parts) == ask(d, *parts)
    for value in (UTC, OTHER, UTC):
        with login(pg, ZONE, value) as c, login(p, ZONE, value) as d:
            assert ask(d, *both(EPOCH)) == ask(c, *both(EPOCH))


PLANNED = [
    (ZONE, UTC, OTHER, "select extract(epoch from dia_in())::bigint"),
    ("extra_float_digits", "1", "0", "select (0.1::float8+0.2::float8)::text"),
    ("bytea_output", "hex", "escape", "select int4send(5)::text"),
    ("quote_all_identifiers", "off", "on", "select quote_ident('a')"),
]


@pytest.mark.parametrize("state", ["clean", "keep"])
@pytest.mark.parametrize("name,a,b,sql", PLANNED)
def test_what_is_read_when_it_is_planned(one, pg, functions, state, name, a, b,
                                         sql):
    """functions that are put in place, or are called IMMUTABLE"""
    p = one(state)
    for value in (a, b, a):
        with login(p, name, value) as c, login(pg, name, value) as d:
            if state == "clean" and name != ZONE:
                parts = [pq.query("begin"), pq.query("set local " + change(
                    name, value)[4:]), *both(sql), pq.query("commit")]
            else:
                parts = both(sql)
            assert in_turn(c, *parts) == in_turn(d, *parts)
            if state == "keep":
                assert ask(c, *run()) == ask(d, *run())


def test_default_that_has_changed(one, pg):
    """the server takes it up before it reads the text"""
    p = one("keep")
    with login(p) as c:
        c.value("select 1")
    pg.sql("alter system set timezone = 'America/New_York'")
    try:
        pg.sql("select pg_reload_conf()")
        with login(p) as c:
            ask(c, *both(EPOCH))
        with login(p, ZONE, UTC, starts=True) as c, \
                login(pg, ZONE, UTC) as d:
            assert ask(c, *both(EPOCH)) == ask(d, *both(EPOCH))
    finally:
        pg.sql("alter system reset timezone", "select pg_reload_conf()")
        wait_until(lambda: pg.sql("show timezone")[0][0] != OTHER)


def test_long_text_is_looked_at_once(one):
    """each of its Binds costs the same as that of a short one"""
    p = one("keep", default_pool_size=2)
    c, d = login(p), login(p)
    before = p.cpu()
    ask(c, *prepare("select 1 /*" + "x y " * 2000000 + "*/", "b"))
    once = p.cpu() - before
    ask(c, *prepare("select 1", "short"))
    ask(d, *run("none"))
    spent = {}
    for name in ("short", "b"):
        before = p.cpu()
        for _ in range(5):
            ask(c, *[pq.bind(name)] * 150, pq.parse("select 'a'", "t" + name),
                pq.sync())
            ask(c, pq.close("S", "t" + name), pq.sync())
        spent[name] = p.cpu() - before
    assert spent["b"] < 2 * spent["short"] + 5 * once


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("sql", [
    "select set_config('my.tenant', '7', true)", "set local work_mem = '1MB'",
    "insert into tab select where false on conflict do nothing",
    "select 'a'"])
def test_setting_of_no_matter_ends_no_sharing(one, state, sql):
    """as a tenant's, ahead of each batch"""
    p = one(state)
    with login(p) as c:
        ask(c, *prepare(sql, "t"), *prepare("select 'x'"))
        parts = [pq.bind("t"), pq.execute(), *run()[:2], pq.bind("t"),
                 pq.execute(), *run()]
        for _ in range(3):
            assert ask(c, *parts)[1] == []
        before = p.stats()["total_server_parse_count"]
        for _ in range(20):
            ask(c, *parts)
        assert p.stats()["total_server_parse_count"] == before


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("sql", [
    "set work_mem = 1000", "select set_config('my.x', 'v', true)",
    "select set_config('array_nulls', 'on', true)", "reset role",
    "select 'a' as temp"])
def test_long_text_that_sets_is_not_read_for_each_bind(one, state, sql):
    """by the bytes of a Bind"""
    p = one(state)
    with login(p) as c:
        spent = []
        for name, text in (("short", sql), ("long", sql + " /*" + "x y " *
                                            1500000 + "*/")):
            ask(c, *prepare(text, name))
            before = p.cpu()
            for n in range(10):
                ask(c, *prepare(text, name + str(n)))
            parses = p.cpu() - before
            ask(c, pq.query("begin"), *run(name))
            before = p.cpu()
            for _ in range(2):
                ask(c, *[pq.bind(name), pq.execute()] * 100, pq.sync())
            spent.append(p.cpu() - before)
            ask(c, pq.query("rollback"))
        assert spent[1] < 2 * spent[0] + parses


@pytest.mark.parametrize("ahead", [
    "update dia_t set at = now() where false",
    "select case when true then 1 end from dia_t"])
def test_sharing_comes_back(one, table, ahead):
    """what nobody knew for sure in a batch, is known with the next"""
    p = one("keep")
    crew = [login(p) for _ in range(4)]
    for c in crew:
        assert ask(c, *extended(ahead), pq.parse("select 'lit'", "s"),
                   pq.bind("s"), pq.execute(), pq.sync())[0][-1:] == [["lit"]]
        for _ in range(2):
            assert ask(c, *run()) == ([["lit"]], [])
    before = p.stats()["total_server_parse_count"]
    for c in crew:
        for _ in range(2):
            assert ask(c, *run()) == ([["lit"]], [])
    assert p.stats()["total_server_parse_count"] == before
    # each client's own, until it was known, and that of all
    assert int(crew[0].value("select count(*) from pg_prepared_statements "
                             "where statement ~ '.lit.'")) <= 5
    for c in crew:
        c.close()


@pytest.mark.parametrize("state", STATES)
def test_literals_are_shared_in_one_dialect(one, state):
    """pooling.md 16: what is no matter to it is none"""
    p = one(state)
    for i in range(3):
        with login(p, ZONE, OTHER, application_name=f"a{i}") as c:
            c.query(f"set statement_timeout = {1000 + i}")
            ask(c, *both(EPOCH))
    assert p.stats()["total_server_parse_count"] == 1


@pytest.mark.parametrize("sql", [
    "select extract(epoch from 'now'::timestamptz), now()",
    "-- don't\nselect extract(epoch from timestamptz 'now')",
    "/* it's */ select extract(epoch from timestamptz ' NOW ')",
    r"select extract(epoch from timestamptz 'now'), E'\'' ",
    "select extract(epoch from timestamptz 'now') as \"it's\"",
    "select extract(epoch from timestamptz 'n'\n'ow')",
    r"select extract(epoch from timestamptz E'no\x77')",
    r"select extract(epoch from timestamptz U&'no\0077')",
    "select extract(epoch from $$now$$::timestamptz)",
    "select extract(epoch from timestamptz 'n' -- x\n'ow')",
    "select extract(epoch from ('{n\\ow}'::timestamptz[])[1])",
    "select extract(epoch from lower('[\"n\"ow,)'::tstzrange))"])
def test_now_is_the_client_s(one, sql):
    """pooling.md 16: 'now' is read when the statement is prepared"""
    p = one("keep")
    seen = set()
    for _ in range(3):
        with login(p) as c:
            rows = [ask(c, *both(sql))[0][0]] + \
                [ask(c, *run())[0][0] for _ in range(2)]
            assert len({r[0] for r in rows}) == 1
            seen.add(rows[0][0])
    assert len(seen) == 3


@pytest.fixture
def hidden(pg):
    pg.sql("create schema if not exists dia_s", "grant app2 to app",
           "create table if not exists dia_s.t (a int)",
           "grant select on dia_s.t to app2, app",
           "grant usage on schema dia_s to app", db="p0")
    yield "select count(*) from dia_s.t"
    pg.sql("drop schema dia_s cascade", "revoke app2 from app", db="p0")


@pytest.mark.parametrize("how", ["set role app2", "begin; set local role app2",
                                 "begin; select set_config('role', 'app2', "
                                 "true)"])
def test_schema_that_a_role_may_not_look_into(one, hidden, how):
    """USAGE is asked for when a statement is parsed"""
    p = one("keep")
    for _ in range(2):
        with login(p) as c:
            assert ask(c, *prepare(hidden)) == ([], [])
            assert ask(c, *run()) == ([["0"]], [])
        with login(p) as c:
            c.query(how)
            assert ask(c, *prepare(hidden))[1] == ["42501"]


def test_takeover_knows_what_was_read_in_doubt(one, pooler, pg):
    """what was prepared behind something unanswered is not the client's for
    good: another server reads it by what is set when it is run"""
    p = one("keep")
    with login(p, ZONE, OTHER) as c, login(pg, ZONE, OTHER) as own:
        for x in c, own:
            assert ask(x, pq.query("select now()"), *prepare(EPOCH))[1] == []
        # a server that is asked what the client has left is the client's
        q = take_over(pooler, p)
        q.wait_pool(sv_idle=1)
        for pid in pg.backends("p0"):
            if pid != int(own.value("select pg_backend_pid()")):
                pg.terminate(pid)
        # a client that came ahead of the news would read it as the server's end
        q.wait_pool(sv_idle=0, sv_active=0)
        for zone in UTC, OTHER, UTC, OTHER:
            for x in c, own:
                x.query(change(ZONE, zone))
            got = ask(c, *run())
            assert zone != OTHER or got == ask(own, *run())


def test_takeover(one, pooler):
    """-R: the statements keep what they are"""
    p = one("keep", default_pool_size=2)
    c, d = login(p, ZONE, UTC), login(p, ZONE, OTHER)
    want = {x: ask(x, *both(EPOCH)) for x in (c, d)}
    q = take_over(pooler, p)
    for x in (c, d, c, d):
        assert ask(x, *run()) == want[x]
    for value, x in ((UTC, c), (OTHER, d)):
        with login(q, ZONE, value) as e:
            assert ask(e, *both(EPOCH)) == want[x]
    assert q.stats()["total_server_parse_count"] <= 2
    c.close()
    d.close()
