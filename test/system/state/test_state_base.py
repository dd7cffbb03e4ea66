# test_state_base.py - what servers have by default, and clients set or take back.
# SPDX-License-Identifier: ISC
"""A role and a custom parameter may be there before any client has set one: by
ALTER ROLE, ALTER DATABASE or connect_query. Whatever one client does about that,
others see what they would see on connections of their own.
"""
import contextlib
import time

import pytest

import pq
from harness import REFERENCE, USERLIST as KNOWN, cluster, wait_until
from test_takeover import take_over

pytestmark = [pytest.mark.skipif(REFERENCE, reason="not so there"),
              pytest.mark.setting("session_state")]

SAY = """select session_user, current_user, current_setting('role'),
 coalesce(current_setting('app.tenant', true), ''),
 coalesce(current_setting('late.name', true), ''),
 current_setting('work_mem'), current_setting('log_statement')"""

DEFAULTS = ["role = 'b_poor'", "app.tenant = 'nobody'", "late.name = 'late'",
            "work_mem = '3MB'"]
# what the same is by connect_query
BY_QUERY = "; ".join("set " + d for d in DEFAULTS)
HOW = {"database": "alter database based set ",
       "role": "alter role b_owner set ",
       "both": "alter role b_owner in database based set "}
USERLIST = {**KNOWN, "b_owner": ""}
ROLES = ["b_owner", "b_poor", "b_other", "b_member"]


@pytest.fixture(scope="module")
def roles():
    pg = cluster()
    pg.sql(*["create role %s login" % r for r in ROLES],
           "alter role b_owner superuser", "grant b_member to b_other")
    pg.sql("create database based")
    yield
    pg.sql("drop database based with (force)")
    pg.sql(*["drop role " + r for r in ROLES])


class Pair:
    """A client of the pooler, and one of PostgreSQL, which do the same."""

    def __init__(self, p, pg, first, **params):
        self.pooled = p.raw("b_owner", "based", **params)
        self.own = pq.Conn(port=pg.port).login("b_owner", database="based",
                                               **params)
        if first:
            self.own.query(first).check()

    def do(self, sql, what=None):
        got, want = self.pooled.try_query(sql), self.own.try_query(sql)
        assert (got.rows, got.tags, [e.code for e in got.errors]) == \
            (want.rows, want.tags, [e.code for e in want.errors]), what or sql

    def close(self):
        self.pooled.close()
        self.own.close()


@pytest.fixture
def world(pooler, pg, roles):
    """make(how, ...): a pooler with such defaults, and make.pair()"""
    made, undo = [], contextlib.ExitStack()

    def make(how, size=1, **settings):
        query = BY_QUERY if how == "connect_query" else None
        for d in DEFAULTS if how in HOW else []:
            pg.sql(HOW[how] + d)
        if how in HOW:
            undo.callback(pg.sql, HOW[how][:-len("set ")] + "reset all")
        p = pooler({"based": "connect_query='%s'" % query.replace("'", "''")
                    if query else ""}, default_pool_size=size,
                   userlist=USERLIST, **settings)

        def pair(**params):
            made.append(Pair(p, pg, query, **params))
            return made[-1]
        return p, pair
    yield make
    for b in made:
        b.close()
    undo.close()


ALL = [*HOW, "connect_query", "nothing"]
STEPS = [
    "set role none", "reset role", "set role b_member", "set role b_poor",
    "set session authorization b_other", "set role b_member", "reset role",
    "set log_statement = 'ddl'", "reset session authorization",
    "set app.tenant = ''", "set app.tenant = 't1'", "reset app.tenant",
    "select set_config('app.tenant', '', false)", "set late.name = 'x'",
    "set work_mem = '5MB'", "reset work_mem", "set role none",
    "set log_statement = 'all'", "set session authorization b_other",
    "begin; set session authorization default; rollback",
    "set session authorization default", "set late.name = ''",
    "begin; set local role none; set local app.tenant = 'l'; commit",
]
DISCARDS = ["set role none", "discard all", "set app.tenant = 't1'",
            "discard all", "set session authorization b_other", "discard all",
            "reset role"]


@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("how", ALL)
def test_nobody_sees_what_another_client_made_of_a_default(world, how, size):
    p, pair = world(how, size, session_state="keep")
    a, b = pair(), pair()
    for sql in STEPS + (DISCARDS if how != "connect_query" else []):
        a.do(sql)
        c = pair()
        for x in (b, a, c, a):
            x.do(SAY, "behind " + sql)


@pytest.mark.parametrize("how", ALL)
def test_clean_gives_back_each_default(world, how):
    p, pair = world(how, session_state="clean")
    a, b = pair(), pair()
    for sql in STEPS + DISCARDS:
        a.pooled.try_query(sql)
        if "session authorization b_" in sql:
            assert a.pooled.query(SAY).rows[0][0] == "b_other"
        b.do(SAY, "behind " + sql)
        pair().do(SAY, "behind " + sql)


@pytest.mark.parametrize("how", ALL)
@pytest.mark.parametrize("state", ["forget", "clean", "keep"])
def test_role_by_default_outlives_another_user(world, how, state):
    """SET and RESET of session_authorization, which take back any role"""
    p, pair = world(how, session_state=state)
    a, b = pair(), pair()
    for _ in range(2):
        a.do("set session authorization b_other")
        for x in (b, a, b):
            x.do(SAY)
    if how == "connect_query" and state == "forget":
        return      # what A takes back by itself, others find
    a.do("reset session authorization; reset role")
    b.do(SAY)


@pytest.mark.parametrize("how", [*HOW, "connect_query"])
def test_empty_is_a_value_of_its_own(world, how):
    p, pair = world(how, 2, session_state="keep")
    a, b = pair(), pair()
    for sql in ("set app.tenant = ''", "set late.name = ''"):
        a.do(sql)
    with p.raw("b_owner", "based") as other:
        other.query("begin")
        for x in (a, b, a, b):
            x.do(SAY)


def test_default_that_is_changed_later_is_for_those_who_set_nothing(world,
                                                                    pg):
    """who has set the same value explicitly keeps it"""
    p, pair = world("role", session_state="keep")
    a, b = pair(), pair()
    b.do("select 1")
    for d in DEFAULTS[:2]:
        a.do("set " + d)
    for d in "role = 'b_member'", "app.tenant = 'somebody'":
        pg.sql(HOW["role"] + d)
    p.admin("reconnect")
    p.admin("wait_close")
    a.do(SAY)
    pair().do(SAY)
    a.do(SAY)


NEW_QUERY = "set role b_member; set app.tenant = 'new'; " \
    "set app.added = 'added'; set work_mem = '9MB'"
SAY_ADDED = SAY + ", coalesce(current_setting('app.added', true), '')"


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("change", ["reload", "takeover"])
def test_other_connect_query_is_for_clients_that_had_no_server_of_the_old_one(
        world, pooler, monkeypatch, change, workers):
    """pooling.md 25: a client that has had a server of the old one keeps its
    settings. Names that one query alone sets are as on the server. With two
    workers, clients move after each transaction.
    """
    monkeypatch.setenv("PARTS_FORCE", "1")
    monkeypatch.setenv("PGSLUICE_FORCE", "moves" if workers > 1 else "")
    p, _ = world("connect_query", 2, session_state="keep", workers=workers)
    own, asked, looked, idle = cs = [p.raw("b_owner", "based")
                                     for _ in range(4)]
    own.query("set app.tenant = 'own'; set work_mem = '5MB'").check()
    asked.query("set statement_timeout = '50s'").check()
    looked.query("select 1").check()
    with p.raw("b_owner", "based") as busy:
        busy.query("begin")		# has a server of before, still
        p.dbs["based"] = "connect_query='%s'" % NEW_QUERY.replace("'", "''")
        if change == "reload":
            p.reload()
        else:
            p = take_over(pooler, p)
        # no client has named late.name, which the new query does not set
        old = ["b_poor", "b_poor", "nobody", "", "3MB", "added"]
        want = {own: [*old[:2], "own", "", "5MB", "added"],
                asked: old, looked: old,
                idle: ["b_member", "b_member", "new", "", "9MB", "added"]}
        for c in cs * 3:
            row = c.query(SAY_ADDED).rows[0]
            assert [*row[1:6], row[7]] == want[c]
        busy.query("commit")
        with p.raw("b_owner", "based") as new:
            for c in (new, *cs, new):
                row = c.query(SAY_ADDED).rows[0]
                assert [*row[1:6], row[7]] == want.get(c, want[idle])
    for c in cs:
        c.close()


@pytest.mark.parametrize("how", ["role", "connect_query"])
def test_what_a_client_brings_is_its_default(world, how):
    p, pair = world(how, session_state="keep")
    a = pair(options="-c app.tenant=came")
    b = pair()
    for sql in ("select 1", "set app.tenant = 't1'",
                "select set_config('app.tenant', '', false)"):
        a.do(sql)
        for x in (b, a):
            x.do("select current_setting('app.tenant')", "behind " + sql)\
                if how == "role" or x is b else None
    a.pooled.query("reset app.tenant").check()
    assert a.pooled.value("show app.tenant") == "came"
    b.do(SAY)


# --- a pool that kept, and does not any more ---------------------------------

NEW_RULES = [{"session_state": "forget"}, {"session_state": "clean"},
             {"pool_mode": "session"},
             {"pool_mode": "session", "session_state": "clean"}]


@pytest.mark.parametrize("rules", NEW_RULES, ids=str)
@pytest.mark.parametrize("before", ["keep", "clean"])
@pytest.mark.parametrize("change", ["reload", "takeover"])
def test_end_of_keep_gives_nobody_the_settings_of_others(
        world, pooler, rules, before, change):
    """pooling.md 25: idle servers, and busy ones"""
    p, pair = world("database", 6, session_state=before)
    cs = [p.raw("b_owner", "based", role="b_member",
                options="-c app.tenant=t%d" % i) for i in range(6)]
    for c in cs:
        c.query("begin; set work_mem = '9MB'").check()
        c.query(SAY).check()
    for c in cs[:3]:
        c.query("commit").check()
    if change == "takeover":
        p = take_over(pooler, p, **rules)
    else:
        p.settings.update(rules)
        p.reload()
    for c in cs[3:]:
        c.query("commit").check()
        c.close()
    for c in cs[:3]:
        c.close()
    want = pair().own.query(SAY).rows
    wait_until(lambda: all(r["state"] != "active" for r in p.show("servers")
                           if r["database"] == "based"))
    new = [p.raw("b_owner", "based") for _ in range(6)]
    for c in new:
        c.query("begin").check()
    assert [c.query(SAY).rows for c in new] == [want] * 6
    for c in new:
        c.close()


# --- settings of a superuser -------------------------------------------------

@pytest.mark.parametrize("how", ["nothing", "role"])
def test_superuser_s_settings_go_with_another_user(world, how):
    """they are set before the session is that user's"""
    p, pair = world(how, session_state="keep")
    a, b = pair(), pair()
    say = SAY + ", current_setting('session_replication_role'), " \
        "current_setting('commit_delay')"
    for sql in ("set role none", "set session_replication_role = replica",
                "set commit_delay = 7", "set session authorization b_other",
                "set role b_member", "reset role",
                "set session authorization default"):
        a.do(sql)
        for x in (b, a, b, a):
            x.do(say, "behind " + sql)


def served(p, database):
    """until the next attempt, a client is refused"""
    try:
        with p.raw(database=database) as c:
            return c.value("select 1") == "1"
    except (pq.PgError, pq.Closed):
        return False


def test_base_that_cannot_be_read_is_a_failure_of_the_pool(pooler, pg):
    """pooling.md 25: the log says why, and each attempt waits for its time"""
    functions = "function current_setting(text), current_setting(text, bool)"
    said = "reading the state of the session failed: ERROR: permission denied"
    pg.sql("create database unread")
    try:
        pg.sql("revoke execute on %s from public" % functions, db="unread")
        p = pooler({"unread": ""}, session_state="keep",
                   server_login_retry=0.3)
        a, b = p.raw(database="unread"), p.raw(database="unread")
        a.send(pq.query("select 1"))
        p.wait_log("WARNING S-.*" + said)
        b.send(pq.query("select 2"))
        assert said in b.recv_all().errors[-1].message
        begun, n = time.monotonic(), p.log.count("new connection to server")
        p.wait_log("new connection to server", count=n + 4)
        assert time.monotonic() - begun > 0.6
        pg.sql("grant execute on %s to public" % functions, db="unread")
        wait_until(lambda: served(p, "unread"))
        p.stop()
    finally:
        pg.sql("drop database unread with (force)")
