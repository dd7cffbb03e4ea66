# test_state_keep.py - settings that follow clients; servers that are kept.
# SPDX-License-Identifier: ISC
"""Clients that take turns on fewer servers, each with a connection of its own
to PostgreSQL that does the same: both see the same (session_state=keep).
"""
import pytest

import pq
from harness import REFERENCE, wait_until
from test_state import SHOW
from test_takeover import take_over

pytestmark = [pytest.mark.skipif(REFERENCE, reason="not so there"),
              pytest.mark.setting("session_state")]


class Both:
    """A client of the pooler, and one of PostgreSQL: what they see is equal."""

    def __init__(self, p, pg, user="app", **params):
        self.pooled = p.raw(user, **params)
        self.own = pq.Conn(port=pg.port).login(user, database="p0", **params)

    @staticmethod
    def ask(c, sql):
        """Again where a statement_timeout of 1 ms was over before."""
        for _ in range(200):
            res = c.try_query(sql)
            if "57014" not in [e.code for e in res.errors]:
                break
        return res

    def do(self, sql):
        got, want = (self.ask(c, sql) for c in (self.pooled, self.own))
        assert (got.rows, got.tags, [e.code for e in got.errors]) == \
            (want.rows, want.tags, [e.code for e in want.errors]), sql
        return got

    def close(self):
        self.pooled.close()
        self.own.close()


@pytest.fixture
def both(pooler, pg):
    made = []

    def make(count=2, user="app", dbs=None, params=({}, {}, {}), **settings):
        p = pooler(dbs, **{"default_pool_size": 1, "session_state": "keep",
                           **settings})
        made.extend(Both(p, pg, user, **params[i]) for i in range(count))
        return (p, *made[-count:])
    yield make
    for b in made:
        b.close()


SETTINGS = [
    "set work_mem = '1MB'", "set search_path = pg_catalog, \"$user\", \"a,'B\"",
    "set statement_timeout = '10s'", "select set_config('my.own', 'x', false)",
    "select set_config('work_mem', '2MB', false)", "set my.own = 'y\\''z'",
    "do $$ begin perform set_config('my.deep', 'ü', false); end $$",
    "select 1; set lc_numeric = 'C.UTF-8'; select 2",
    "begin; set local work_mem = '1MB'; set work_mem = '5MB'; commit",
    "begin; set work_mem = '6MB'; rollback", "set work_mem = 'nonsense'",
    "begin; savepoint a; set work_mem = '3MB'; release a; end",
    "set session characteristics as transaction read only", "reset work_mem",
    "update pg_settings set setting = '1024' where name = 'work_mem'",
    "set transaction_isolation = 'serializable'; reset all",
    "set default_transaction_isolation to serializable", "set role none",
    "set client_encoding = LATIN1; set my.own = 'caf\u00e9'",
    "set standard_conforming_strings = off", "set my.own = 'b\\\\s'",
    "set statement_timeout = 1", "set statement_timeout to default",
    "discard all", "set datestyle = 'SQL'", "set time zone 'Asia/Tokyo'",
]


@pytest.mark.parametrize("state", ["keep", "clean"])
def test_what_a_block_that_failed_has_committed(both, state):
    """is found, though there is no tag of a DO"""
    p, a, b = both(session_state=state, default_pool_size=2)
    want = b.pooled.value(SHOW)
    for sql in ("set work_mem = 77", "set my.' || 'own = 42", "listen x"):
        text = "do $$ begin execute '%s'; commit; raise 'x'; end $$" % sql
        for ask in (a.pooled.query, a.pooled.extended):
            with pytest.raises(pq.PgError):
                ask(text)
            assert b.pooled.value(SHOW) == want, sql


def test_string_with_a_set_in_it_hides_none(both):
    p, a, b = both()
    for sql in ("begin", "select E'a'\n'\\'; set application_name = 1; --'",
                "set work_mem = '77MB'", "commit"):
        a.do(sql)
    for c in (b, a):
        c.do("show work_mem")


def test_table_of_a_temporary_schema_in_the_path(both):
    p, a, b = both(params=({"search_path": "pg_temp"}, {}),
                   default_pool_size=2)
    a.do("create table mine (i int)")
    b.do("select count(*) from pg_class where relname = 'mine' and "
         "pg_table_is_visible(oid)")
    a.do("select count(*) from mine")


def test_probe_waits_for_nobody(both, pg):
    """whatever the client's defaults for transactions are"""
    p, a, b = both(query_timeout=0)
    other = pq.Conn(port=pg.port).login("app", database="p0")
    other.query("begin isolation level serializable; "
                "create temp table w (i int); insert into w values (1)")
    a.do("set session characteristics as transaction isolation level "
         "serializable, read only, deferrable")
    a.pooled.query("begin; set transaction not deferrable; "
                   "set work_mem = '5MB'; commit")
    assert b.pooled.value("show work_mem") != "5MB"
    other.query("commit")
    other.close()


def test_settings_follow(both):
    """to the other server, and don't stay for the other client"""
    p, a, b = both()
    for sql in SETTINGS:
        a.do(sql)
        for c in (b, a, b):
            c.do(SHOW)
    all_ = "select name, setting from pg_settings where name not like " \
        "'plpgsql.%' order by name"
    for c in (a, b):
        got, want = (x.query(all_).rows for x in (c.pooled, c.own))
        assert [r for r in got if r not in want] == []
    assert len(p.servers()) == 1


def test_roles_follow(both):
    p, a, b = both(user="postgres")
    for sql in ("set role app", "set work_mem = '1MB'", "reset role",
                "set session authorization app", "set role none",
                "set session authorization default",
                "begin; set role app; set my.own = 'x'; commit",
                "set log_statement = 'all'", "reset session authorization"):
        a.do(sql)
        for c in (b, a, b):
            c.do(SHOW)
            c.do("select current_user, session_user")


def test_what_one_came_with_is_its_default(both):
    """search_path is not reported by servers of before 18"""
    p, a, b = both(params=({"search_path": "pg_catalog, public"}, {}))
    for sql in ("show search_path", "set search_path = public",
                "reset search_path", "set search_path = \"$user\"",
                "discard all", "reset all"):
        a.do(sql)
        for c in (b, a):
            c.do("show search_path")


GIVEN_BACK = ["reset role", "set role to default", "discard all", "reset all",
              "set session authorization default", "reset work_mem",
              "reset my.own", "set my.own to default",
              "select 1; reset role", "/* a */ reset role"]


@pytest.mark.parametrize("sql", GIVEN_BACK)
@pytest.mark.parametrize("state", ["clean", "keep"])
def test_reset_gives_a_burst_what_the_client_came_with(pooler, pg, sql, state):
    """what is behind it in the same write waits for that"""
    pg.sql("grant app2 to app", db="p0")
    try:
        p = pooler(default_pool_size=2, session_state=state,
                   max_prepared_statements=10)
        said = "select current_user, current_setting('work_mem'), " \
            "current_setting('my.own', true)"
        got = []
        for port in p.port, pg.port:
            with pq.Conn(port=port).login(
                    "app", database="p0", role="app2",
                    options="-c my.own=x -c work_mem=3MB") as c:
                c.query("select 1")
                if state == "keep":
                    c.query("set work_mem = '5MB'")
                    c.query("set my.own = 'y'")
                c.send(pq.query(sql), pq.query(said))
                c.recv_until().check()
                got.append(c.recv_until().check().rows)
        assert got[0] == got[1]
    finally:
        pg.sql("revoke app2 from app", db="p0")


HIDES = {
    "xml": "select query_to_xml('select set_'||'config(''{}'',''{}'',false)',"
           " true, false, '')",
    "stat": "select * from ts_stat('select to_tsvector(set_'||"
            "'config(''{}'',''{}'',false))')",
    "rewrite": "select ts_rewrite('a'::tsquery, 'select ''a''::tsquery, "
               "''b''::tsquery where set_'||'config(''{}'',''{}'',false) "
               "is not null')",
}


@pytest.mark.parametrize("how", HIDES)
@pytest.mark.parametrize("state", ["clean", "keep"])
@pytest.mark.parametrize("extended", ["", "s", None])
@pytest.mark.parametrize("name, value", [("my.hidden", "evil"),
                                         ("work_mem", "2MB"),
                                         ("timezone", "Asia/Tokyo")])
def test_query_in_a_string_leaks_nothing(pooler, how, state, extended, name,
                                         value):
    """functions of PostgreSQL's own run it, from pieces"""
    p = pooler(default_pool_size=1, session_state=state,
               max_prepared_statements=10)
    a, b, c = p.raw(), p.raw(), p.raw()
    b.query("set my.hidden = 'mine'")
    ask = "select current_setting('%s', true)" % name
    want = b.value(ask), c.value(ask)
    sql = HIDES[how].format(name, value)
    a.query("set my.hidden = 'mine'")
    if extended is None:
        a.query(sql)
    else:
        a.send(pq.parse(sql, extended), pq.bind(extended), pq.execute(),
               pq.sync())
        a.recv_until().check()
    if state == "clean" and name == "my.hidden":
        # on a new server nobody has named it
        want = None, None
    assert (b.value(ask), c.value(ask)) == want


@pytest.mark.parametrize("check", ["told", "always"])
def test_nobody_can_lock_what_the_probe_reads(both, pooler, check):
    """anybody may lock the view pg_settings"""
    p, a = both(1, default_pool_size=3, server_connect_timeout=5,
                session_state_check=check)
    with p.raw("app2") as other:
        other.query("begin; lock table pg_settings in access exclusive mode")
        a.do("set work_mem = '2MB'")
        a.do("show work_mem")
        assert other.try_query(
            "lock table pg_prepared_statements in share mode").errors


@pytest.mark.setting("max_pinned")
def test_one_pin_more_than_may_be_is_refused(both):
    """behind its transaction, so the session ends, and leaves nothing"""
    p, a, b = both(max_pinned=1, default_pool_size=2)
    a.do("create temp table mine (i int)")
    wait_until(lambda: int(p.pool()["pinned"]) == 1)
    for sql in ("create temp table mine (i int)",
                "select pg_advisory_lock(4711)"):
        c = p.raw()
        c.query(sql)
        e = pq.PgError(pq.fields(c.recv()[1]))
        assert (e.severity, e.code) == ("FATAL", "53400")
        assert e.message == "too many sessions keep a server (max_pinned)"
        assert "max_pinned" in e.fields["H"]
        c.close()
        b.do(SHOW)
    a.do("create temp table more (i int)")
    a.do("drop table mine, more")
    p.wait_pool(sv_active=0)
    b.do("create temp table mine (i int)")


@pytest.mark.setting("max_pinned")
@pytest.mark.database("max_pinned")
@pytest.mark.user("max_pinned")
@pytest.mark.parametrize("entry, user, limit", [
    ("max_pinned=0", "", 0), ("max_pinned=-1", "", -1), ("", "", 1),
    ("max_pinned=0", "max_pinned=2", 2), ("max_pinned=3", "max_pinned=0", 0)])
def test_pins_of_a_database_and_of_a_user(pooler, entry, user, limit):
    """user, database, all: who may pin"""
    users = {"app": user} if user else None
    p = pooler({"p0": entry, "p1": ""}, users=users, default_pool_size=4,
               session_state="keep", max_pinned=1)
    conns = [p.raw() for _ in range(4)]
    for c in conns:
        c.query("create temp table mine (i int)")
    want = len(conns) if limit < 0 else limit
    wait_until(lambda: int(p.pool()["pinned"]) == want and
               len(p.show("clients", database="p0")) == want)
    rows = p.admin("show pools extended (database, max_pinned)")
    assert [int(r["max_pinned"]) for r in rows if r["database"] == "p0"] == \
        [limit]


@pytest.mark.setting("pin_timeout")
@pytest.mark.database("pin_timeout")
@pytest.mark.user("pin_timeout")
@pytest.mark.parametrize("entry, user, ends", [
    ("pin_timeout=0.1", "", True), ("pin_timeout=-1", "", False),
    ("pin_timeout=0.1", "pin_timeout=0", False),
    ("pin_timeout=0", "pin_timeout=0.1", True)])
def test_pin_timeout_of_a_database_and_of_a_user(pooler, entry, user, ends):
    """user, database, all: when it is over; a pool of nobody's goes by all"""
    users = {"app": user} if user else None
    p = pooler({"p0": entry, "p1": "pin_timeout=0.1"}, users=users,
               default_pool_size=1, session_state="keep", pin_timeout=900)
    c, other = p.raw(), p.raw("app2", database="p1")
    c.query("create temp table mine (i int)")
    other.query("create temp table mine (i int)")
    e = pq.PgError(pq.fields(other.recv()[1]))
    assert e.message == "pin_timeout"
    if ends:
        assert pq.PgError(pq.fields(c.recv()[1])).message == "pin_timeout"
    else:
        c.query("table mine")
        assert int(p.pool()["pinned"]) == 1


@pytest.mark.setting("max_pinned")
def test_server_that_is_kept_to_listen_is_seen(pooler):
    """in another encoding: it counts as pinned, but not for max_pinned; what is
    made there does"""
    p = pooler(default_pool_size=2, session_state="keep", max_pinned=0)
    a, b = (p.raw(client_encoding="LATIN1") for _ in range(2))
    for c in a, b:
        c.query("listen ch")
    wait_until(lambda: int(p.pool()["pinned"]) == 2)
    with p.raw() as c:
        c.send(pq.query("select 1"))
        wait_until(lambda: p.show("waits", wait_reason="pinned"))
        a.query("create temp table mine (i int)")
        e = pq.PgError(pq.fields(a.recv()[1]))
        assert e.message == "too many sessions keep a server (max_pinned)"
        assert c.recv_until().check().rows == [["1"]]
    assert "would pin a server (temporary,listen): max_pinned is 0" in p.log
    b.query("unlisten *")
    wait_until(lambda: int(p.pool()["pinned"]) == 0)


def pinned(p):
    return [(int(r["pinned"]), r["pin_reason"])
            for r in p.admin("show servers extended (pinned, pin_reason)")]


@pytest.mark.setting("pin_timeout")
def test_pinned_client_that_idles_is_closed(both):
    """and who waited for its server has it; all is told to an operator"""
    p, a, b = both(pin_timeout=900)
    a.do("create temp table mine (i int)")
    a.do("listen mine")
    wait_until(lambda: pinned(p) == [(1, "temporary,listen")])
    # in the order in which they had to wait for their logins
    assert sorted(r["pin_reason"] for r in
                  p.admin("show clients extended (user, pin_reason)")
                  if r["user"] == "app") == ["", "temporary,listen"]
    b.pooled.send(pq.query(SHOW))
    wait_until(lambda: p.show("waits", wait_reason="pinned"))
    assert int(p.pool()["pinned"]) == 1
    p.admin("set pin_timeout = '0.1'")
    e = pq.PgError(pq.fields(a.pooled.recv()[1]))
    assert (e.severity, e.message) == ("FATAL", "pin_timeout")
    assert b.pooled.recv_until().rows == b.own.query(SHOW).rows
    assert pinned(p) == [(0, "")]


def test_takeover_knows_pins(both, pooler):
    """they count there, and an idle one ends in its time"""
    p, a, b = both(max_pinned=1, pin_timeout=900, default_pool_size=3)
    a.do("create temp table mine (i int)")
    wait_until(lambda: int(p.pool()["pinned"]) == 1)
    q = take_over(pooler, p)
    assert int(q.pool()["pinned"]) == 1
    assert (1, "temporary") in pinned(q)
    a.do("insert into mine values (1); select * from mine")
    c = q.raw()
    c.query("create temp table mine (i int)")
    assert pq.PgError(pq.fields(c.recv()[1])).message == \
        "too many sessions keep a server (max_pinned)"
    b.do(SHOW)
    q.admin("set pin_timeout = '0.1'")
    assert pq.PgError(pq.fields(a.pooled.recv()[1])).message == "pin_timeout"
    wait_until(lambda: int(q.pool()["pinned"]) == 0)
    b.do("create temp table mine (i int)")


BROUGHT = [
    {"options": "-c work_mem=7MB --lock-timeout=3s -cmy.own=a\\ b\\\\c'd "
     "-c WORK_MEM=8MB", "statement_timeout": "9s"},
    {}, {"My.Own": "", "options": "-c my.own=unseen -c role=app2"}]
LOOK = SHOW.replace("nullif(current_setting('my.own', true), '')",
                    "current_setting('my.own', true)") + \
    " || current_setting('lock_timeout')"


@pytest.mark.parametrize("state", ["keep", "clean"])
def test_parameters_of_the_startup_are_defaults(both, state):
    """of any name, and in options; RESET gives them back"""
    p, *crew = both(3, "postgres", params=BROUGHT, session_state=state)
    for sql in ("reset work_mem", "set work_mem = '2MB'", "reset all",
                "set my.own = 'z'", "discard all",
                "set session characteristics as transaction read only"):
        for c in crew:
            if state == "keep" or sql.split()[0] != "set":
                c.do(sql)
        for c in (crew[0], crew[2], crew[1], crew[0]):
            if state == "keep" or sql.split()[0] != "set":
                # where one was set once, it is empty ever after
                c.do((SHOW if c is crew[1] else LOOK) + " -- behind " + sql)
    assert p.log.count("new connection to server") == 1


def test_setting_that_a_used_server_refuses(both):
    """temp_buffers, once it has had temporary tables: another one takes it"""
    p, a, b = both()
    a.do("set temp_buffers = 200")
    b.do("create temp table mine (i int); insert into mine values (1)")
    b.do("drop table mine")
    for c in (a, b):
        c.do("show temp_buffers")
    assert p.log.count("new connection to server") == 2


@pytest.mark.parametrize("state", ["keep", "clean"])
def test_setting_of_another_that_only_superusers_reset(both, pg, state):
    """who comes next has no part in it, and is not told of it"""
    p, a, b, c = both(3, session_state=state, session_state_check="always")
    with pq.Conn(port=pg.port).login("postgres", database="p0") as su:
        su.query("create function raise_log() returns text security definer "
                 "language sql as $$select set_config("
                 "'log_min_duration_statement', '60000', false)$$")
        try:
            a.do("select raise_log()")
            for x in (b, c, b):
                x.do("show log_min_duration_statement")
        finally:
            su.query("drop function raise_log()")
    assert len(p.servers()) == 1


@pytest.mark.parametrize("state", ["keep", "clean"])
def test_wrong_value_is_ones_own_on_a_server_of_others(both, state):
    """it is tried on a clean server, and costs none"""
    p, a = both(1, session_state=state)
    for i in range(3):
        if state == "keep":
            a.do("set my.own = '%d'" % i)
            a.do("set work_mem = '%dMB'" % (i + 1))
        with p.raw(work_mem="nonsense") as c:
            c.send(pq.query("select 1"))
            e = pq.PgError(pq.fields(c.recv()[1]))
        assert (e.severity, e.code) == ("FATAL", "22023"), e
        a.do(SHOW)
    assert p.log.count("new connection to server") == 1


@pytest.mark.parametrize("value", ["nonsense", "1", "-5", "12 apples", ""])
def test_wrong_temp_buffers_cost_no_server(pooler, value):
    p = pooler(default_pool_size=1, session_state="keep")
    assert p.raw().query("create temp table mine (i int); drop table mine")
    for _ in range(3):
        with p.raw(temp_buffers=value) as c:
            with pytest.raises(pq.Closed):
                c.query("select 1")
    assert p.raw().value("select 1") == "1"
    assert p.log.count("new connection to server") == 1
    assert p.log.count('invalid value for parameter "temp_buffers"') >= 3 or \
        p.log.count('outside the valid range for parameter "temp_buf') >= 3


@pytest.mark.parametrize("state", ["keep", "clean"])
def test_idle_session_timeout_ends_no_pooled_server(pooler, state):
    """who is lent it just then would read PostgreSQL's FATAL"""
    p = pooler(default_pool_size=1, session_state=state)
    a = p.raw("app", "p0", idle_session_timeout="200")
    assert a.value("show idle_session_timeout") == "200ms"
    pid = p.raw().value("select pg_backend_pid()")
    if state == "keep":
        b = p.raw()
        b.query("set idle_session_timeout = 200").check()
        assert b.value("show idle_session_timeout") == "200ms"
    assert a.value("select pg_backend_pid()") == pid
    # that others have a second of work is when it would come to its end
    assert p.raw(database="p1").value("select 1 from pg_sleep(1)") == "1"
    assert p.raw().value("select pg_backend_pid()") == pid
    assert a.value("show idle_session_timeout") == "200ms"


def test_empty_custom_parameter_follows(both):
    """as one that was reset; who never had it is on a server that has it"""
    p, a, b = both(default_pool_size=2)
    a.do("set my.empty = ''")
    first = a.pooled.value("select pg_backend_pid()")
    b.pooled.query("begin")
    if b.pooled.value("select pg_backend_pid()") == first:
        a.do("select current_setting('my.empty', true)")
    b.pooled.query("commit")
    for _ in range(2):
        a.do("select current_setting('my.empty', true)")


def test_names_that_others_invent_are_in_nobodys_way(both):
    """more than all servers are asked for"""
    p, a, b = both(default_pool_size=2)
    a.do("set my.early = 'x'")
    with p.raw("app2") as c:
        for i in range(130):
            c.query("set invented%d.x = 'y'" % i)
    look = ("select nullif(current_setting('my.early', true), ''), "
            "nullif(current_setting('late.own', true), ''), "
            "nullif(current_setting('late.more', true), '')")
    for sql in ("set late.own = '1'", "set late.more = '2'", "reset late.own",
                "select set_config('late.own', '3', false)",
                "begin; set local late.own = '4'; commit",
                "begin; set late.own = '5'; rollback", "discard all",
                "set late.own = '6'"):
        a.do(sql)
        b.pooled.query("begin")
        b.pooled.query("select 1")
        for _ in range(2):
            a.do(look)
        b.pooled.query("commit")
        for _ in range(3):
            b.do(look)
            a.do(look)
    assert "cleaning" not in p.log


CAME = {"role": "app", "my.own": "x", "my.too": "y"}


@pytest.mark.parametrize("sql", [
    "set role none", "set my.own = ''", "set my.own = ''; reset role",
    "reset role", "reset my.own", "set my.own to default", "discard all",
    "reset all", "select set_config('my.own', '', false)",
    "select set_config('my.own', null, false)", "set role to default",
    "set session authorization app", "reset session authorization",
    "set session authorization default", 'reset "my"."own"',
    "set role none; reset my.own; set my.too = ''",
    "set role none; discard temp", "set role none; discard plans",
    "set role none; discard sequences", "set my.own = ''; discard temp",
    "set role none -- reset the role", "set role none /* default */",
    "set role none; select set_config('my.own', '', false), null as role",
    "set role none; select 'reset role', 'discard all'",
    "set my.own = ''; select 1 as reset, 2 as own, 3 as all",
    "set role none; reset all", "set my.own = ''; discard all",
    "set role none; set session authorization default",
    "set session authorization app; reset session authorization",
    "set session authorization app; discard temp",
    "select set_config('role', 'none', false); reset my.own",
    "select set_config('session_authorization', null, false)",
    "set session role none", "reset \"Role\"", "set my.own = ''; reset MY.OWN",
    "reset role; set role none", "set my.own = ''; reset my.too"])
@pytest.mark.parametrize("way", ["query", "unnamed", "named"])
def test_what_is_set_is_not_reset(both, sql, way):
    """though a server that was SET to their defaults shows the same then"""
    p, a, b = both(user="postgres", params=(CAME, {}), default_pool_size=2,
                   max_prepared_statements=10)
    look = ("select current_user, session_user, current_setting('role'), "
            "current_setting('my.own', true), current_setting('my.too', true)")
    a.do(look)
    name = "s1" if way == "named" else ""
    for one in sql.split("; "):
        for c in (a.pooled, a.own):
            c.send(pq.query(one) if way == "query" else pq.parse(one, name) +
                   pq.bind(name) + pq.execute() + pq.close("S", name) +
                   pq.sync())
            assert not c.recv_until().errors
        a.do(look)
    # on another server
    b.pooled.query("begin")
    b.pooled.query("select 1")
    for again in ("select 1", "set my.other = 'z'", "reset my.other"):
        a.do(again)
        a.do(look)
    b.pooled.query("commit")
    a.do(look)


@pytest.mark.parametrize("prepared", [0, 200])
def test_role_that_a_named_statement_resets(both, prepared):
    """whether its name is ours or the server's"""
    p, a, b = both(user="postgres", params=(CAME, {}),
                   max_prepared_statements=prepared)
    for name, sql in (("s1", "set role none"),
                      ("s2", "set session role to default")):
        for c in (a.pooled, a.own):
            c.send(pq.parse(sql, name), pq.bind(name), pq.execute(), pq.sync())
            assert not c.recv_until().errors
        a.do("select current_user")


@pytest.mark.parametrize("sql", [
    "begin; reset role; rollback", "begin; set role none; rollback",
    "begin; set role none; commit", "begin; reset role; commit",
    "begin; set role none; reset role; commit",
    "begin; set local role none; reset my.own; commit",
    "begin; reset my.own; select 1/0; rollback", "reset role; select 1/0",
    "begin; savepoint a; set role none; rollback to a; commit"])
@pytest.mark.parametrize("first", [
    "set role none", "set my.own = ''", "select 1"])
def test_what_is_reset_and_rolled_back(both, first, sql):
    """a RESET that did not happen resets nothing"""
    p, a, b = both(user="postgres", params=(CAME, {}), default_pool_size=2)
    look = ("select current_user, session_user, current_setting('role'), "
            "current_setting('my.own', true), current_setting('my.too', true)")
    a.do(first)
    for one in ([sql] if sql.startswith("reset") else sql.split("; ")):
        a.do(one)
    for again in ("select 1", "set my.other = 'z'"):
        with p.raw("postgres") as c:
            c.query("begin; select 1")
            a.do(look)
            c.query("commit")
        a.do(again)
    a.do(look)


@pytest.mark.parametrize("state", ["keep", "clean"])
@pytest.mark.parametrize("then", ["select 1", "discard temp", "reset role",
                                  "reset all"])
def test_role_of_the_start_up_and_another_user(both, state, then):
    """that has it no more; nor may have it set"""
    p, a, b = both(user="postgres", params=({"role": "app2"}, {}),
                   session_state=state, default_pool_size=2)
    look = "select current_user, session_user, current_setting('role')"
    a.do(look)
    a.do("set session authorization app")
    a.do(look)
    if then != "reset role":
        a.do(then)
        a.do(look)
    else:
        a.pooled.query(then)
        assert a.pooled.value("select session_user") == "app"
        a.own.query(then)
    a.do("reset session authorization")
    a.do(look)


@pytest.mark.parametrize("path", ["pg_temp, public", "PG_TEMP, public",
                                  '"pg_temp", public'])
def test_table_in_a_temporary_schema_by_set_config(both, path):
    """which takes a name as SET does, in any case"""
    p, a, b = both(default_pool_size=2)
    for c in (a.pooled, a.own):
        c.query("select set_config('search_path', '%s', false)" % path)
    for c in (a, b):
        a.do("create table capital as select 7 as i")
        for _ in range(2):
            b.do("select count(*) from pg_class where relname = 'capital' and "
                 "pg_table_is_visible(oid)")
            a.do("select i from capital")
        a.do("drop table capital")


@pytest.mark.parametrize("how", ["start", "set"])
def test_table_of_a_query_in_a_temporary_schema(both, how):
    """its tag is that of a SELECT"""
    p, a, b = both(default_pool_size=2, params=(
        {"search_path": "pg_temp"} if how == "start" else {}, {}))
    if how == "set":
        a.do("set search_path = pg_temp, public")
    for sql in ("create table mine as select 7 as i",
                "select 8 as i into more"):
        a.do(sql)
        b.do("select count(*) from pg_class where relname = 'mine' and "
             "pg_table_is_visible(oid)")
        a.do("select * from mine")


@pytest.mark.parametrize("state", ["keep", "clean"])
def test_numbers_of_a_column_are_for_the_transaction(both, state):
    """lastval() of an INSERT, which names no sequence"""
    p, a, b = both(session_state=state)
    a.pooled.query("create table drawn (id serial, i int)")
    try:
        for sql in ("insert into drawn (i) values (1)",
                    "copy drawn (i) from program 'echo 1'"):
            a.pooled.query("begin")
            if sql.startswith("insert"):
                a.pooled.query(sql)
                assert a.pooled.value("select lastval()") == "1"
            a.pooled.query("commit")
            for c in (b.pooled, a.pooled):
                r = c.try_query("select lastval()")
                assert [e.code for e in r.errors] == ["55000"]
    finally:
        b.pooled.query("drop table drawn")


def test_numbers_of_a_pinned_client_are_its_own_alone(both):
    """it gives back its server with what it has drawn there"""
    p, a, b = both()
    a.pooled.query("create sequence drawn").check()
    try:
        a.pooled.query("create temp table pins (i int)").check()
        a.pooled.query("select nextval('drawn')").check()
        assert a.pooled.value("select lastval()") == "1"
        a.pooled.query("drop table pins").check()
        r = b.pooled.try_query("select lastval()")
        assert [e.code for e in r.errors] == ["55000"]
    finally:
        b.pooled.query("drop sequence drawn")


DRAWS = [
    [pq.query("insert into drawn values (default, null)")],
    [pq.query("alter table drawn add other serial")],
    [pq.query("explain analyze insert into drawn (i) values (1)")],
    [pq.parse("insert into drawn (i) values (1), (2) returning i"), pq.bind(),
     pq.execute(limit=1), pq.sync()],
]


@pytest.mark.parametrize("state", ["keep", "clean"])
def test_numbers_drawn_without_an_insert_told(both, state):
    """of all that has no tag of an INSERT, whether there are SETs to send"""
    p, a, b = both(session_state=state,
                   params=({}, {"timezone": "Asia/Tokyo"}))
    c = p.raw("app")
    a.pooled.query("create table drawn (id serial, i int not null)")
    try:
        for messages in DRAWS:
            a.pooled.send(*messages)
            a.pooled.recv_until()
            r = (b.pooled if messages is DRAWS[0] else c).try_query(
                "select lastval()")
            assert [e.code for e in r.errors] == ["55000"], messages
    finally:
        c.query("drop table drawn")
        c.close()


@pytest.mark.parametrize("state", ["keep", "clean"])
def test_what_postgresql_has_no_statement_to_take_back(both, state):
    """by DISCARD ALL neither: the manual says so"""
    p, a, b = both(user="postgres", session_state=state)
    for c in (a.own, a.pooled):
        c.query("select setseed(0.5)").check()
    assert b.pooled.value("select random()") == a.own.value("select random()")


def test_library_of_one_client_stops_no_other(both):
    """the name is known, the library loaded, and app may not set the value"""
    p, a, b = both()
    a.pooled.query("select 'set plpgsql.variable_conflict = error'")
    for c in (a, b):
        c.do("do $$ begin end $$")
        c.do("set work_mem = '%dMB'" % (1 if c is a else 2))
    for c in (a, b, a):
        c.do("show work_mem")
    assert len(p.servers()) == 1


WRONG = [
    ({"options": "-c nonsense=1"}, "42704"), ({"work_mem": "x"}, "22023"),
    ({"options": "-c log_statement=all"}, "42501"),
    ({"role": "postgres"}, "42501"), ({"is_superuser": "on"}, "55P02"),
    ({"ignore_system_indexes": "on"}, "55P02"), ({"a\"b": "x"}, "42704"),
    ({"a.\"b": "x"}, "42602"), ({"timezone": "x"}, "22023"),
]


@pytest.mark.parametrize("state", ["keep", "clean"])
def test_wrong_startup_parameter_harms_nobody_else(both, state):
    """the error is PostgreSQL's, and the server lives on, as it was"""
    p, other = both(1, session_state=state)
    pid = other.pooled.value("select pg_backend_pid()")
    for params, code in WRONG * 2:
        c = p.raw(datestyle="German", **params)
        c.send(pq.query("select 1"))
        e = pq.PgError(pq.fields(c.recv()[1]))
        c.close()
        assert (e.severity, e.code) == ("FATAL", code), e
        other.do(SHOW)
        other.do("select '2020-02-01'::date")
    assert other.pooled.value("select pg_backend_pid()") == pid


@pytest.mark.parametrize("pieces", [1, 3])
def test_startup_packet_as_long_as_postgresql_takes(both, pieces):
    """however it comes"""
    p, a = both(1)
    packet = pq.startup({"user": "app", "database": "p0",
                         "my.own": "x" * 9940})
    assert 9970 < len(packet) <= 10000
    c = p.open()
    step = len(packet) // pieces + 1
    for at in range(0, len(packet), step):
        c.send(packet[at:at + step])
        assert p.raw().value("select 1") == "1"
    c.finish_login("app", "apppw")
    assert c.value("show my.own") == "x" * 9940


def test_only_so_many_startup_parameters(both):
    p, c = both(1)
    with pytest.raises(pq.PgError) as e:
        p.raw(options=" -c a.b=c" * 201)
    assert e.value.code == "53400"


def test_forget_takes_none_where_others_keep(pooler):
    """and what is to be ignored is ignored"""
    p = pooler({"p0": "session_state=forget", "p1": "dbname=p0"},
               session_state="keep", ignore_startup_parameters="jit")
    with pytest.raises(pq.PgError) as e:
        p.raw(work_mem="8MB")
    assert e.value.message == "unsupported startup parameter: work_mem"
    c = p.raw(database="p1", work_mem="8MB", jit="nonsense")
    assert c.value("show work_mem") == "8MB"


PINS = [
    ("create temp table mine (i int)", "drop table mine"),
    ("select 1 as i into temp mine", "discard temp"),
    ("create table pg_temp.mine (i int)", "drop table mine"),
    ("declare mine cursor with hold for select 7", "close mine"),
    ("select pg_advisory_lock_shared(4711)", "select pg_advisory_unlock_shared(4711)"),
    ("select pg_advisory_lock_shared(4711)", "select pg_advisory_unlock_all()"),
    ("prepare mine as select 8", "deallocate mine"),
    ("prepare mine as select 8", "deallocate all"),
    ("begin; create temp table mine (i int); savepoint a; "
     "create temp table more (i int); rollback to a; commit",
     "begin; drop table mine; commit"),
    ("create temp table mine (i int)", "discard all"),
]


def test_what_cannot_move_keeps_the_server(both):
    """for as long as it is there"""
    p, a, b = both(default_pool_size=2)
    c = p.raw()
    for pins, unpins in PINS:
        a.do(pins)
        pid = a.pooled.value("select pg_backend_pid()")
        for _ in range(2):
            a.do(SHOW)
            b.do(SHOW)
            c.query(SHOW)
            assert a.pooled.value("select pg_backend_pid()") == pid, pins
            assert c.value("select pg_backend_pid()") != pid, pins
        a.do(unpins)
        # now either may have it: somebody inside a transaction needs one
        b.pooled.query("begin")
        c.query("select 1")
        b.pooled.query("commit")
        a.do(SHOW)
        p.wait_pool(sv_active=0)
    assert len(p.servers()) == 2


def test_what_is_gone_by_the_end_pins_nothing(both):
    p, a, b = both()
    for sql in ("begin; create temp table t (i int) on commit drop; commit",
                "begin; create temp table t (i int); rollback",
                "begin; select pg_advisory_xact_lock(1); commit",
                "begin; declare c cursor for select 1; commit",
                "prepare t as select 1; deallocate t"):
        a.do(sql)
        b.do(SHOW)
        p.wait_pool(sv_active=0)


def test_who_leaves_takes_all_along(both):
    """pinned, or with the answer to the probe on its way"""
    p, a, b = both()
    b.do(SHOW)
    for sql in ("create temp table mine (i int)", "set work_mem = '1MB'",
                "select pg_advisory_lock(5)", "begin; set work_mem = '1MB'",
                "select set_config('m' || 'y.own', 'x', false)"):
        c = p.raw()
        c.send(pq.query(sql), pq.msg("X"))
        c.close()
        b.do(SHOW)


def test_connect_query_is_the_base(both):
    p, a, b = both(dbs={"p0": "connect_query='set work_mem = ''7MB'''"})
    for c in (a, b):
        c.own.query("set work_mem = '7MB'")
    for sql in ("set work_mem = '1MB'", "set my.own = 'x'",
                "select set_config($$my.own$$, 'z', false)"):
        a.do(sql)
        b.do(SHOW)
    assert a.pooled.value("show work_mem") == "1MB"


def test_a_reset_query_takes_nothing_from_the_client(both):
    """server_reset_query_always: then it is set again"""
    p, a, b = both(server_reset_query_always=1,
                   server_reset_query="discard all")
    for sql in ("set work_mem = '1MB'", "set my.own = 'x'", "select 1"):
        a.do(sql)
        for c in (a, b, a):
            c.do(SHOW)


def test_equal_settings_cost_nothing(both, pg):
    """two clients with the same ones: no statement of ours"""
    p, a, b = both()
    a.do("set work_mem = '1MB'")
    b.do("set work_mem = '1MB'")
    pid = b.pooled.value("select pg_backend_pid()")
    for c in (a, b, a, b):
        c.pooled.query("select 'mine'")
        c.pooled.query("set application_name = 'n'")
        assert pg.sql("select query from pg_stat_activity where pid = %s"
                      % pid)[0][0] == "set application_name = 'n'"


def test_names_that_are_translated_no_more(pooler):
    """what was prepared without a name, and run since, keeps no server"""
    p = pooler(default_pool_size=1, session_state="keep",
               max_prepared_statements=10)
    a, b = p.raw(), p.raw()
    a.extended("reset work_mem")
    p.settings["max_prepared_statements"] = 0
    p.reload()
    a.extended("select set_config('my.own', 'x', false)")
    assert b.value("select 1") == "1"
    assert a.value("show my.own") == "x"


@pytest.mark.parametrize("state", ["keep", "clean"])
@pytest.mark.parametrize("sql", [
    "select pg_advisory_xact_lock(1)", "select nextval('cheap_seq')",
    "select setval('cheap_seq', 7)",
    "select set_config('my.tenant', '7', true)",
    "begin; select set_config('my.tenant', '7', true); commit"])
@pytest.mark.parametrize("way", ["query", "unnamed", "named"])
def test_what_leaves_nothing_is_not_asked_for(pooler, pg, state, sql, way):
    """pooling.md 25: nor is anything cleaned"""
    pg.sql("create sequence if not exists cheap_seq",
           "grant all on cheap_seq to app", db="p0")
    p = pooler(default_pool_size=1, session_state=state, log_stats=0)
    a, b = p.raw(), p.raw()
    look = ("select current_setting('my.tenant', true), "
            "(select count(*) from pg_locks where locktype = 'advisory')")
    b.query(look)
    texts = "select count(*) from pg_stat_activity where pid = %s and " \
        "query ~ 'pg_my_temp_schema|RESET ALL'"
    pid = b.value("select pg_backend_pid()")
    for _ in range(3):
        for part in sql.split("; "):
            if way == "query":
                a.query(part)
            else:
                name = "" if way == "unnamed" else "s1"
                a.send(pq.parse(part, name), pq.bind(name), pq.execute(),
                       pq.sync())
                a.recv_until().check()
                a.send(pq.close("S", name), pq.sync())
                a.recv_until()
        assert pg.sql(texts % pid, db="p0")[0][0] == 0
        e = b.try_query("select lastval()").errors
        assert [x.code for x in e] == ["55000"]
        assert b.query(look).rows[0] in ([[None, "0"][0], "0"], ["", "0"])
    pg.sql("drop sequence cheap_seq", db="p0")


@pytest.mark.parametrize("state", ["keep", "clean"])
@pytest.mark.parametrize("sql", [
    "update dr_t set id = default", "UPDATE dr_t SET (id, x) = (DEFAULT, 1)",
    "with x as (insert into dr_t default values returning id) select * from x",
    "with x as (update dr_t set id = default returning id) select * from x",
    "select 1; update dr_t set id = default",
    "select nextval('dr_t_id_seq')", "insert into dr_t values (default, 1)"])
@pytest.mark.parametrize("way", ["query", "unnamed", "apart", "named", "again"])
def test_numbers_are_for_who_drew_them(pooler, pg, state, sql, way):
    """pooling.md 25: whatever the tag is"""
    if ";" in sql and way != "query":
        pytest.skip("one statement")
    pg.sql("drop table if exists dr_t", "create table dr_t (id serial, x int)",
           "insert into dr_t values (0, 0)", "grant all on dr_t, dr_t_id_seq "
           "to app", db="p0")
    p = pooler(default_pool_size=1, session_state=state)
    a, b = p.raw(), p.raw()
    for _ in range(3):
        if way == "query":
            a.query(sql)
        else:
            name = "" if way in ("unnamed", "apart") else "s1"
            parts = [pq.parse(sql, name)]
            if way == "apart":
                parts.append(pq.sync())
            parts += [pq.bind(name), pq.execute(), pq.sync()]
            if way == "again" and _ > 0:
                parts = parts[1:]
            for part in parts:
                a.send(part)
                if part[:1] == b"S":
                    a.recv_until().check()
            if way == "named":
                a.send(pq.close("S", name), pq.sync())
                a.recv_until()
        assert [e.code for e in b.try_query("select lastval()").errors] == \
            ["55000"]
    pg.sql("drop table dr_t", db="p0")
