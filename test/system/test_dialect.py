# test_dialect.py - who shares a named statement, by what its text means.
# SPDX-License-Identifier: ISC
"""PostgreSQL reads a literal when it parses the statement, by the settings of
that time. What a client has prepared is for those whose settings have the text
mean the same (pooling.md 16); a direct connection is the oracle.
"""
import pytest

import pq
from harness import REFERENCE
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
    """pooling.md 16: its client may have either meaning, all others theirs"""
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
            assert ask(x, *run())[0] in ([old, new] if x is c else [new])
        hold.query("commit")
        hold.query("begin")
        hold.value("select 1")
    with login(p, ZONE, UTC) as e:
        assert ask(e, *both(EPOCH)) == (old, [])
    hold.query("commit")
    for x in (hold, c, d):
        x.close()


@pytest.mark.parametrize("state", STATES)
def test_plain_texts_are_shared_by_all(one, state):
    """pooling.md 16: a text without literals is one statement"""
    p = one(state)
    sql = "select $1::int + 1 as \"plain\""
    for value in (UTC, OTHER, "Asia/Tokyo"):
        with login(p, ZONE, value) as c:
            assert ask(c, *prepare(sql), pq.bind("s", ("1",)),
                       pq.execute(), pq.sync()) == ([["2"]], [])
    assert p.stats()["total_server_parse_count"] == 1


@pytest.mark.parametrize("state", STATES)
def test_literals_are_shared_in_one_dialect(one, state):
    """pooling.md 16: what is no matter to it is none"""
    p = one(state)
    for i in range(3):
        with login(p, ZONE, OTHER, application_name=f"a{i}") as c:
            c.query(f"set statement_timeout = {1000 + i}")
            ask(c, *both(EPOCH))
    assert p.stats()["total_server_parse_count"] == 1


def test_now_is_the_client_s(one):
    """pooling.md 16: 'now' is read when the statement is prepared"""
    p = one("keep")
    sql = "select extract(epoch from 'now'::timestamptz), now()"
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
