# test_params.py - parameters that follow their clients.
# SPDX-License-Identifier: ISC
"""What a client sees of its parameters is what PostgreSQL itself would show
it: PostgreSQL, asked directly, is the oracle.
"""
import pytest

import pq
from harness import REFERENCE
from test_takeover import take_over

pytestmark = pytest.mark.skipif(REFERENCE, reason="not so there")


@pytest.fixture
def direct(pg):
    """logs in to PostgreSQL itself"""
    conns = []

    def login(**params):
        conns.append(pq.Conn(port=pg.port).login("app", database="p0",
                                                 **params))
        return conns[-1]
    yield login
    for c in conns:
        c.close()


# --- which values differ --------------------------------------------------

def test_case_counts(pooler):
    """names that differ in case only are different ones"""
    p = pooler(default_pool_size=1)
    a, b = p.raw(application_name="Tenant"), p.raw(application_name="TENANT")
    for _ in range(2):
        assert a.value("show application_name") == "Tenant"
        assert b.value("show application_name") == "TENANT"


@pytest.mark.parametrize("spelling", [
    "utf8", "'utf-8'", "Unicode", "latin-1", "ISO_8859-15", "windows1252",
    "win", "KOI8", "euc_jp", "SQL_ASCII", "mskanji", "win949"])
def test_encoding_is_told_as_the_server_spells_it(pooler, direct, spelling):
    """drivers look it up by PostgreSQL's name"""
    p = pooler()
    want = direct(client_encoding=spelling).params["client_encoding"]
    for _ in range(2):
        c = p.raw(client_encoding=spelling)
        assert c.params["client_encoding"] == want
        assert c.value("show client_encoding") == want


def test_encoding_is_set_first(pooler):
    """the others are read in the client's encoding"""
    p = pooler(default_pool_size=1)
    u = p.raw(application_name="\u00e9")
    a = p.raw(client_encoding="LATIN1", application_name=b"caf\xe9")
    for _ in range(2):
        assert a.value("show application_name").startswith("caf?")
        assert u.value("show application_name")[0] == "?"
        assert a.value("show client_encoding") == "LATIN1"
        assert u.value("show client_encoding") == "UTF8"
    assert len(p.servers()) == 1 and "invalid server" not in p.log


def test_parameter_by_name_goes_before_options(pooler, direct):
    """pooling.md 20: wherever it stands in the packet; lib/pq asks so"""
    asked = {"TimeZone": "Asia/Tokyo", "options": "-c timezone=UTC "
             "-c intervalstyle=iso_8601 -c intervalstyle=sql_standard"}
    mine, want = pooler().raw(**asked), direct(**asked)
    for name in ("timezone", "intervalstyle"):
        assert mine.value("show " + name) == want.value("show " + name)
    assert mine.params["TimeZone"] == want.params["TimeZone"] == "Asia/Tokyo"


# --- a value of two halves ------------------------------------------------

STYLES = ["ISO", "iso", "DMY", "German", "Postgres, US", "european",
          "SQL", "sql, ymd", "ISO, DMY", "ymd,german"]


@pytest.mark.parametrize("query", ["", "discard all"])
def test_session_mode_sets_what_came_with_the_login(pooler, direct, query):
    """parameters of any name, until the client leaves"""
    p = pooler(pool_mode="session", default_pool_size=1,
               server_reset_query=query)
    look = ("select current_setting('work_mem'), current_setting("
            "'lock_timeout'), current_setting('my.own', true), "
            "current_setting('extra_float_digits')")
    params = {"work_mem": "8MB", "extra_float_digits": "0",
              "options": "-c lock_timeout=3s -c my.own=x"}
    a, own = p.raw(**params), direct(**params)
    pid = a.value("select pg_backend_pid()")
    for sql in ("select 1", "set work_mem = '1MB'", "set my.own = 'y'",
                "reset work_mem", "set my.own to default",
                "set lock_timeout = 0", "reset all", "set my.own = 'z'",
                "discard all", "begin", "set work_mem = '2MB'",
                "reset work_mem; select 1/0", "rollback", "reset nothing"):
        for c in (a, own):
            c.try_query(sql)
        assert a.try_query(look).rows == own.try_query(look).rows, sql
    for c in (a, own):
        c.send(pq.parse("discard all"), pq.bind(), pq.execute(), pq.sync())
        c.recv_until()
    assert a.query(look).rows == own.query(look).rows
    a.close()
    b = p.raw()
    assert b.query(look).rows in ([["4MB", "0", "", "1"]],
                                  [["4MB", "0", None, "1"]])
    assert b.value("select pg_backend_pid()") == pid


def test_session_mode_tells_of_a_parameter_that_is_wrong(pooler):
    """and the server is the next client's"""
    p = pooler(pool_mode="session", default_pool_size=1)
    with p.raw() as c:
        pid = c.value("select pg_backend_pid()")
    a = p.raw(work_mem="x")
    a.send(pq.query("select 1"))
    assert a.recv_all().errors[0].code == "22023"
    b = p.raw()
    assert b.value("show work_mem") == "4MB"
    assert b.value("select pg_backend_pid()") == pid


def test_extra_float_digits_is_tracked(pooler):
    """lib/pq and pgjdbc send it, whatever the pool_mode is"""
    p = pooler(default_pool_size=1)
    a, b = p.raw(extra_float_digits="-3"), p.raw()
    for _ in range(2):
        assert a.value("select 1::float8 / 3") == "0.333333333333"
        assert b.value("select 1::float8 / 3") == "0.3333333333333333"


def test_hint_names_no_setting_that_would_not_help(pooler):
    """nothing but to be ignored, for replication"""
    p = pooler(session_state="keep")

    def hint(**params):
        with pytest.raises(pq.PgError) as e:
            p.open().login("app", database="p0", **params)
        return e.value.fields["H"]
    assert hint(replication="database", geqo="off") == \
        "Add it to ignore_startup_parameters to ignore it."


def test_search_path_that_is_no_list_is_refused(pooler, pg):
    """as PostgreSQL does: it is no name of one schema either"""
    p = pooler()

    def ends(port, **params):
        with pytest.raises(pq.PgError) as e:
            pq.Conn(port=port).login("app", database="p0", **params)
        return e.value.code, e.value.message
    for value in ("a b", "a,,b", ",", '"a', "a,"):
        for params in ({"search_path": value}, {
                "options": "-c search_path=" + value.replace(" ", "\\ ")}):
            assert ends(p.port, **params) == ends(pg.port, **params)
    for value in ("", ' a , "b ""c" ', "A"):
        assert p.raw(search_path=value).value("select 1") == "1"


@pytest.mark.parametrize("style", STYLES)
def test_half_a_datestyle(pooler, direct, style):
    """the other half is the server's, not that of whoever came before"""
    p = pooler(default_pool_size=1)
    other = p.raw()
    want = direct(DateStyle=style)
    mine = p.raw(DateStyle=style)
    for last in ("SQL, DMY", "Postgres, YMD", "German, MDY"):
        other.query("set datestyle to '%s'" % last)
        for sql in ("show datestyle", "select '01/02/03'::date"):
            assert mine.value(sql) == want.value(sql)
        assert other.value("show datestyle") == last
    assert mine.params["DateStyle"] == want.params["DateStyle"]


@pytest.mark.parametrize("named,options", [
    ("SQL", "-c DateStyle=German"), ("German", "-c DateStyle=SQL"),
    ("YMD", "-c datestyle=sql -c DateStyle=German"),
    (None, "-c DateStyle=German -c DateStyle=SQL"),
    (None, "-c DateStyle=YMD --datestyle=SQL -c DateStyle=ISO"),
    ("SQL, MDY", "-c DateStyle=German"), ("Postgres", "-c geqo=on")])
def test_a_datestyle_that_is_given_twice(pooler, direct, named, options):
    """each names its half: PostgreSQL sets them one after the other"""
    p = pooler(default_pool_size=1, session_state="keep",
               pool_mode="transaction")
    how = dict(options=options, **({"DateStyle": named} if named else {}))
    want, mine = direct(**how), p.raw(**how)
    for sql in ("show datestyle", "select '01/02/03'::date"):
        assert mine.value(sql) == want.value(sql)
    assert mine.params["DateStyle"] == want.params["DateStyle"]


# --- back to what the client came with ------------------------------------

START = dict(TimeZone="Asia/Tokyo", application_name="mine",
             DateStyle="German", IntervalStyle="iso_8601")
SHOW = [n.lower() for n in START]
RESETS = ["reset timezone", "RESET TIME ZONE;", "reset all", "discard all",
          "set session timezone to default", "set time zone default",
          "/* a */ reset \"TimeZone\"", "select 1; reset timezone; select 2",
          "reset timezone; set timezone to 'Europe/Rome'", "reset role",
          "reset application_name; reset datestyle",
          "set local timezone to default", "select 'x'; reset all; select 1/0",
          # to what is the pool's own, too
          "set timezone to 'Europe/Oslo'; reset intervalstyle",
          "reset all; set time zone 'Europe/Oslo'", "set time zone local",
          "reset timezone; set intervalstyle to postgres",
          "set intervalstyle to default; set timezone to 'Europe/Oslo'",
          "set application_name to 'y; reset all'"]


def both(pooler, direct, **settings):
    """a client of the pool, one of PostgreSQL, and a stranger to the first"""
    p = pooler({"p0": "timezone=Europe/Oslo"}, default_pool_size=1,
               **settings)
    return p.raw(**START), direct(**START), p.raw() if settings.get(
        "pool_mode") != "session" else None


def hear(c):
    """The answer to a query; what it tells of parameters is noted."""
    res = c.recv_until()
    for kind, body in res.messages:
        if kind == "S":
            name, value = body.split(b"\0")[:2]
            c.params[name.decode()] = value.decode()
    return res


def told(c, *parts, n=1):
    """What a client sees of an exchange, and has been told of its values."""
    c.send(*parts)
    out = []
    for _ in range(n):
        res = hear(c)
        out.append((res.kinds.replace("S", ""), res.tags, res.rows,
                    {n: c.params.get(n) for n in START},
                    sorted(m for m in res.messages if m[0] == "S")))
    return out


def values(c):
    return [c.value("show " + n) for n in SHOW]


@pytest.mark.parametrize("mode", ["transaction", "session"])
@pytest.mark.parametrize("sql", RESETS)
def test_reset_gives_back_what_came_with_the_login(pooler, direct, mode, sql):
    """the tags, the values, and when the client is told of them"""
    mine, want, other = both(pooler, direct, pool_mode=mode)
    zones = ["America/Lima", "Europe/Oslo"]  # the latter is the pool's own
    for zone in zones:
        seen = []
        for c in (mine, want):
            if other is not None:
                other.query("set application_name to 'other'")
            c.query("set timezone to '%s'; set application_name to 'x'" % zone)
            seen.append((told(c, pq.query(sql)), values(c)))
        assert seen[0] == seen[1]


@pytest.mark.parametrize("mode", ["transaction", "session"])
@pytest.mark.parametrize("end", ["commit", "rollback"])
def test_reset_in_a_transaction(pooler, direct, mode, end):
    """it counts at once, and ends with it"""
    mine, want, _ = both(pooler, direct, pool_mode=mode)
    seen = []
    for c in (mine, want):
        c.query("set timezone to 'America/Lima'")
        c.query("begin")
        out = told(c, pq.query("reset timezone"))
        out += [values(c), told(c, pq.query(end)), values(c)]
        seen.append(out)
    assert seen[0] == seen[1]


@pytest.mark.parametrize("mode", ["transaction", "session"])
def test_reset_in_a_pipeline(pooler, direct, mode):
    """what comes behind has the values"""
    mine, want, _ = both(pooler, direct, pool_mode=mode)
    seen = []
    for c in (mine, want):
        c.query("set timezone to 'America/Lima'")
        seen.append(told(c, pq.query("select 1") + pq.query("reset all") +
                         pq.query("show timezone") + pq.query("begin") +
                         pq.query("reset timezone") +
                         pq.query("show timezone") + pq.query("commit"), n=7))
    assert seen[0] == seen[1]


@pytest.mark.parametrize("how", ["query", "batch", "named"])
@pytest.mark.parametrize("settings", [
    {}, {"pool_mode": "session"}, {"session_state": "keep"}],
    ids=["forget", "session", "keep"])
def test_reset_of_another_parameter_takes_back_nothing(
        pooler, direct, settings, how):
    """what was SET beside it stays, though it is the pool's own value"""
    mine, want, _ = both(pooler, direct, **settings)
    seen = []
    for c in (mine, want):
        c.send(pq.parse("reset role", "n") + pq.sync())
        hear(c)
        for sql in ("reset role", "set work_mem to default", "reset work_mem"):
            texts = ["set timezone to 'Europe/Oslo'", sql]
            seen.append(told(c, pq.query("; ".join(texts)) if how == "query"
                             else pq.parse(texts[0]) + pq.bind() +
                             pq.execute() + (pq.bind("n") if how == "named" else
                                             pq.parse(sql) + pq.bind()) +
                             pq.execute() + pq.sync()) + [values(c)])
            seen[-1].append(told(c, pq.query("reset timezone")))
    assert seen[:3] == seen[3:]


def test_reset_on_a_server_that_is_to_go(pooler):
    """what it was started with is its own: the pool may not know it"""
    p = pooler({"p0": "timezone=Europe/Oslo"}, default_pool_size=1)
    c = p.raw(TimeZone="Asia/Tokyo")
    c.query("begin")
    p.admin("reconnect")
    for _ in range(2):
        c.query("reset timezone")
        assert c.value("show timezone") == "Asia/Tokyo"
        p = take_over(pooler, p)


@pytest.mark.parametrize("name", ["", "s"])
@pytest.mark.parametrize("sql", ["reset timezone", "reset all", "discard all"])
@pytest.mark.parametrize("mode", ["transaction", "session"])
def test_reset_by_the_extended_protocol(pooler, direct, mode, sql, name):
    """the same for a Parse"""
    mine, want, _ = both(pooler, direct, pool_mode=mode)
    seen = []
    for c in (mine, want):
        c.query("set timezone to 'America/Lima'")
        seen.append((told(c, pq.parse(sql, name), pq.bind(name), pq.execute(),
                          pq.sync()), values(c)))
    assert seen[0] == seen[1]


@pytest.mark.parametrize("mode", ["transaction", "session"])
def test_reset_behind_a_set(pooler, direct, mode):
    """the client is told of both"""
    mine, want, _ = both(pooler, direct, pool_mode=mode)
    seen = []
    for c in (mine, want):
        c.query("set timezone to 'Europe/Rome'")
        c.send(pq.query("set timezone to 'Europe/Oslo'"),
               pq.query("reset timezone"))
        zones = []
        for _ in range(2):
            hear(c)
            zones.append(c.params["TimeZone"])
        seen.append((zones, values(c)))
    assert seen[0] == seen[1]


def test_reset_by_the_extended_protocol_in_a_pipeline(pooler, direct):
    """what comes behind its Sync: the pool's own value is a new one then"""
    mine, want, _ = both(pooler, direct)
    seen = []
    for c in (mine, want):
        seen.append(told(c, pq.parse("discard all") + pq.bind() +
                         pq.execute() + pq.sync() +
                         pq.query("set timezone to 'Europe/Oslo'") +
                         pq.query("show timezone"), n=3))
        seen[-1].append(values(c))
    assert seen[0] == seen[1]


@pytest.mark.parametrize("sql", ["discard all", "reset timezone",
                                 "select set_config('timezone', null, false)"
                                 " is null"])
@pytest.mark.parametrize("mode", ["transaction", "session"])
def test_reset_by_the_extended_protocol_behind_a_query(
        pooler, direct, mode, sql):
    """the Query, to the pool's own value, is answered as if it were alone"""
    mine, want, _ = both(pooler, direct, pool_mode=mode)
    query = pq.query("set timezone to 'Europe/Oslo'")
    reset = pq.parse(sql) + pq.bind() + pq.execute()
    seen = []
    for c in (mine, want):
        seen.append(told(c, query + reset + pq.sync() + query + query +
                         pq.parse("select 1") + reset + pq.sync() + query, n=6))
        seen[-1].append(values(c))
    assert seen[0] == seen[1]


@pytest.mark.parametrize("behind", [
    pq.query("begin"), pq.query("select 1/0"), pq.query("reset application_name"),
    pq.parse("select 1") + pq.bind() + pq.execute() + pq.sync()])
@pytest.mark.parametrize("mode", ["transaction", "session"])
def test_reset_with_more_behind_it(pooler, direct, mode, behind):
    """the server gets the values when it has nothing else to do"""
    mine, want, _ = both(pooler, direct, pool_mode=mode)
    seen = []
    for c in (mine, want):
        c.query("set timezone to 'America/Lima'")
        seen.append((told(c, pq.parse("reset all"), pq.bind(), pq.execute(),
                          pq.sync(), behind, n=2)[-1], values(c)))
    assert seen[0] == seen[1]


def test_reset_behind_what_fails(pooler, direct):
    """the Sync is sent, though what it ends is discarded"""
    mine, want, _ = both(pooler, direct)
    seen = []
    for c in (mine, want):
        c.query("begin")
        c.try_query("select 1/0")
        seen.append((told(c, pq.query("select 1"), pq.parse("reset all"),
                          pq.bind(), pq.execute(), pq.sync(), n=2),
                     c.query("rollback").status, values(c)))
    assert seen[0] == seen[1]


@pytest.mark.parametrize("sql", ["reset timezone", "discard all"])
def test_reset_in_pieces(pooler, direct, sql):
    """the text is known when it is whole"""
    mine, want, _ = both(pooler, direct, pool_mode="session")
    seen = []
    for c in (mine, want):
        c.query("set timezone to 'America/Lima'")
        data = pq.query(sql) + pq.query("show timezone")
        for i in range(len(data) - 1):
            c.send(data[i:i + 1])
        seen.append(told(c, data[-1:], n=2))
    assert seen[0] == seen[1]


def test_reset_that_fails_changes_nothing(pooler, direct):
    """in a transaction that has failed"""
    mine, want, _ = both(pooler, direct)
    seen = []
    for c in (mine, want):
        c.query("set timezone to 'America/Lima'")
        c.try_query("begin; select 1/0")
        out = told(c, pq.query("reset timezone"))
        seen.append((out, told(c, pq.query("rollback")), values(c)))
    assert seen[0] == seen[1]


# two of them to what is the pool's own
NAMES = {"application_name": "", "TimeZone": "Europe/Rome",
         "DateStyle": "ISO, MDY"}
# what it returns is the server's own default: see the manual
CONFIG = "select pg_catalog.set_config('{}', {}, false) is null"
WAYS = ["set {} to default", "set session {} = default", "reset {}",
        CONFIG.format("{}", "null"), CONFIG.format("{}", "(NULL)::text"),
        "with a as materialized (" + CONFIG.format("{}", "null") +
        ") table a",
        "select 'a' where set_config ( E'{}' , nullif('', ''), 'f') is null",
        "do $$ begin reset {}; end $$", "do 'begin set {} to default; end'",
        "do $$ begin perform set_config('{}', null, false); end $$",
        "do $$ begin execute 'reset {}'; end $$",
        "/* a */ do language plpgsql $a$ begin if true then"
        " execute 'reset all'; else set {} = 'x'; end if; end $a$"]


def ask(c, how, sql, values=()):
    """the exchange, and what the client has been told of its parameters"""
    bind = pq.bind("n" if how == "named" else "", values) + pq.execute()
    name = "n" if how == "named" else ""
    if how == "simple":
        return told(c, pq.query(sql))
    if how == "extended":
        return told(c, pq.parse(sql), bind, pq.sync())
    c.send(pq.msg("C", b"Sn\0") + pq.parse(sql, name) + pq.sync())
    hear(c)
    return told(c, bind, pq.sync())


@pytest.mark.parametrize("how", ["simple", "extended", "twice", "named"])
@pytest.mark.parametrize("settings", [
    {}, {"pool_mode": "session"}, {"session_state": "keep"},
    {"max_prepared_statements": 0}], ids=["forget", "session", "keep", "plain"])
def test_default_in_each_way_is_what_came_with_the_login(
        pooler, direct, settings, how):
    """the tags, the values, and when the client is told of them"""
    mine, want, _ = both(pooler, direct, **settings)
    if how != "simple" and settings == {"max_prepared_statements": 0}:
        mine.query("begin")     # names are the server's
        want.query("begin")
    for name, other in NAMES.items():
        for way in WAYS:
            seen = []
            for c in (mine, want):
                c.query(f"set {name} to '{other}'")
                seen.append((ask(c, how, way.format(name)), values(c)))
            assert seen[0] == seen[1], (name, way)


@pytest.mark.parametrize("how", ["extended", "twice", "named"])
@pytest.mark.parametrize("mode", ["transaction", "session"])
def test_default_by_a_bound_null(pooler, direct, mode, how):
    """a value, though it is the pool's own, stays; so does what is local"""
    mine, want, _ = both(pooler, direct, pool_mode=mode)
    one = CONFIG.format("timezone", "$1")
    both_bound = "select set_config($1::text, $2, $3) is null"
    for sql, bound in ((one, [None]), (one, ["Europe/Oslo"]), (one, [None]),
                       (both_bound, ["TimeZone", None, "f"]),
                       (both_bound, ["TimeZone", "Europe/Oslo", "f"]),
                       (both_bound, ["DateStyle", None, "f"]),
                       (both_bound, ["TimeZone", None, "t"])):
        seen = []
        for c in (mine, want):
            c.query("set timezone to 'Europe/Oslo'; set datestyle to 'SQL'")
            seen.append((ask(c, how, sql, bound), values(c)))
        assert seen[0] == seen[1], (sql, bound)


@pytest.mark.parametrize("mode", ["transaction", "session"])
def test_default_in_a_pipeline(pooler, direct, mode):
    """each batch has the values that those before it have left"""
    mine, want, _ = both(pooler, direct, pool_mode=mode)
    back = CONFIG.format("timezone", "null")

    def batch(sql):
        return pq.parse(sql) + pq.bind() + pq.execute()
    seen = []
    for c in (mine, want):
        c.query("set timezone to 'America/Lima'")
        c.send(pq.parse(back, "b") + pq.sync())
        hear(c)
        seen.append(told(
            c, batch("select 1") + pq.sync() + batch(back) + pq.sync() +
            batch("show timezone") + pq.sync() +
            batch("set timezone to 'Europe/Rome'") + pq.bind("b") +
            pq.execute() + pq.sync() + pq.query("show timezone") +
            pq.bind("b") + pq.execute() + batch("set timezone to 'UTC'") +
            pq.sync() + pq.query("show timezone") +
            batch("set timezone to default") + batch("select 1/0") +
            pq.sync() + pq.query("show timezone"), n=9))
        seen[-1] += values(c)
    assert seen[0] == seen[1]


OWN = {"work_mem": "9MB", "my.own": "start", "TimeZone": "Asia/Tokyo"}
OWN_WAYS = ["reset {}", "set {} to default", "reset all", "discard all",
            CONFIG.format("{}", "null"), "do $$ begin reset {}; end $$",
            "do 'begin perform set_config(''{}'', null, false); end'"]


def own(c):
    return [c.value(f"select current_setting('{n}')") for n in OWN]


@pytest.mark.parametrize("how", ["simple", "extended", "twice", "named"])
@pytest.mark.parametrize("settings", [
    {"pool_mode": "session"}, {"session_state": "keep"},
    {"pool_mode": "session", "session_state": "keep"},
    {"pool_mode": "session", "max_prepared_statements": 0}],
    ids=["session", "keep", "both", "plain"])
def test_default_of_any_parameter(pooler, direct, settings, how):
    """of those of the start-up packet that the server does not report, too"""
    p = pooler(default_pool_size=1, **settings)
    mine, want = p.raw(**OWN), direct(**OWN)
    for name, other in (("work_mem", "3MB"), ("my.own", "x")):
        for way in OWN_WAYS:
            seen = []
            for c in (mine, want):
                c.query(f"set {name} to '{other}'; set timezone to 'GMT'")
                out = ask(c, how, way.format(name))[0]
                seen.append((out[:3], own(c)))
            assert seen[0] == seen[1], (name, way)


@pytest.fixture
def acting(pg):
    """a login that may be two others"""
    pg.sql("create role acts login superuser", "create role one",
           "create role two", "grant one, two to acts")
    yield "acts"
    pg.expel()
    pg.sql("drop role one, two, acts")


@pytest.mark.parametrize("first", ["one", ""])
@pytest.mark.parametrize("inside", [False, True])
def test_role_of_now_stays_where_others_are_reset(pooler, pg, acting, inside,
                                                  first):
    """in session mode, with or without a role in the start-up packet; one
    setting a superuser alone may set
    """
    own = {"work_mem": "9MB", "log_min_messages": "error",
           "statement_timeout": "50s"}
    if first:
        own["role"] = first
    p = pooler(pool_mode="session", userlist={"acts": "", "admin": "adminpw"})
    mine = p.raw(acting, **own)
    want = pq.Conn(port=pg.port).login(acting, database="p0", **own)
    look = "select %s" % "||' '||".join(
        "current_setting('%s')" % name for name in [
            "role", "work_mem", "log_min_messages", "statement_timeout"])
    seen = []
    for c in (mine, want):
        seen.append([])
        for role in ("role two", "local role two", "role none", "role one"):
            for way in ("reset all", "reset work_mem", "reset role"):
                if inside:
                    c.query("begin")
                c.query("set " + role)
                c.query("set work_mem = '1MB'")
                c.query(way)
                seen[-1].append((role, way, c.value(look)))
                if inside:
                    c.query("commit")
                    seen[-1].append(c.value(look))
        c.close()
    assert seen[0] == seen[1]


@pytest.mark.parametrize("how", ["extended", "twice", "named"])
def test_default_in_session_mode_by_a_bound_null(pooler, direct, how):
    """what is set, or may be, stays"""
    mine = pooler(pool_mode="session").raw(**OWN)
    want = direct(**OWN)
    for sql, bound in (
            ("select set_config($1, $2, false) is null", ["work_mem", None]),
            ("select set_config($1, $2, false) is null", ["work_mem", "5MB"]),
            ("select set_config('work_mem', $1 || '', $2) is null",
             ["6MB", "f"]),
            ("select set_config('my.own', $1, $2) is null", [None, "f"]),
            ("do $$ begin if false then reset work_mem; end if; end $$", []),
            ("do $$ begin reset work_mem; set work_mem to '7MB'; end $$", [])):
        seen = []
        for c in (mine, want):
            c.query("set work_mem to '3MB'; set my.own to 'x'")
            seen.append((ask(c, how, sql, bound)[0][:3], own(c)))
        assert seen[0] == seen[1], (sql, bound)


@pytest.mark.parametrize("settings", [
    {}, {"pool_mode": "session"}, {"session_state": "keep"}],
    ids=["forget", "session", "keep"])
def test_set_config_by_function_call(pooler, direct, pg, settings):
    """what it sets is the client's, and NULL resets"""
    oid = pg.sql("select 'set_config'::regproc::oid::int")[0][0]
    start = OWN if settings else {"TimeZone": "Asia/Tokyo"}
    p = pooler({"p0": "timezone=Europe/Oslo"}, default_pool_size=1, **settings)
    mine, want = p.raw(**start), direct(**start)
    names = list(start) + (["my.other"] if settings else [])
    seen = []
    for c in (mine, want):
        out = []
        for args in (["TimeZone", "GMT", "f"], ["TimeZone", None, "f"],
                     ["TimeZone", "GMT", "t"], ["work_mem", "3MB", "f"],
                     ["my.other", "x", "f"], ["work_mem", None, "f"],
                     ["TimeZone", "Europe/Oslo", "f"]):
            if args[0] not in names:
                continue
            c.send(pq.query("select 1") + pq.function_call(oid, args) +
                   pq.query("show timezone"))
            res = [hear(c) for _ in range(3)]
            out.append((args, [r.kinds.replace("S", "") for r in res],
                        res[2].rows, c.params["TimeZone"],
                        [c.value(f"select current_setting('{n}', true)") or ""
                         for n in names]))
        seen.append(out)
    assert seen[0] == seen[1]


@pytest.mark.parametrize("mode", ["transaction", "session"])
def test_default_by_a_binary_false(pooler, direct, mode):
    """as asyncpg sends it: not local"""
    mine, want, _ = both(pooler, direct, pool_mode=mode)
    sql = "select set_config('timezone', null, $1) is null"
    seen = []
    for c in (mine, want):
        c.query("set timezone to 'Europe/Oslo'")
        c.send(pq.parse(sql) + pq.msg("B", b"\0\0\0\1\0\1\0\1\0\0\0\1\0\0\0") +
               pq.execute() + pq.sync())
        seen.append((hear(c).rows, c.params["TimeZone"], values(c)))
    assert seen[0] == seen[1]


@pytest.mark.parametrize("how", ["query", "batch"])
def test_default_in_session_mode_in_a_pipeline(pooler, direct, how):
    """what stands ahead of a reset does not end it, and its failure counts"""
    mine = pooler(pool_mode="session").raw(**OWN)
    want = direct(**OWN)

    def batch(*texts):
        return b"".join(pq.parse(t) + pq.bind() + pq.execute()
                        for t in texts) + pq.sync()
    for reset in ("reset work_mem", CONFIG.format("work_mem", "null"),
                  "do $$ begin reset work_mem; end $$"):
        one = pq.query(reset) if how == "query" else batch(reset)
        for ahead in (pq.query("set local a.b to 1") + batch("begin", "fail"),
                      batch("fail"), pq.query("select 1/0"),
                      batch("set timezone to 'GMT'"), pq.query("begin")):
            seen = []
            for c in (mine, want):
                c.query("set work_mem to '3MB'")
                c.send(ahead + one + pq.query("show work_mem") +
                       pq.query("rollback; select 'end'"))
                rows = []
                while ["end"] not in rows:
                    rows += hear(c).rows or [[]]
                seen.append((rows, own(c)))
            assert seen[0] == seen[1], (reset, ahead)


def test_default_of_what_is_not_reported(pooler, direct):
    """the server does not tell of a change of its search_path before 18"""
    p = pooler({"p0": ""}, default_pool_size=1,
               track_extra_parameters="search_path")
    want = direct(search_path="a")
    mine, other = p.raw(search_path="a"), p.raw()
    for sql in ("set search_path to default", CONFIG.format(
            "search_path", "null"), "do 'begin reset search_path; end'"):
        for c in (mine, want):
            c.query("set search_path to b")
            ask(c, "extended", sql)
            assert c.value("show search_path") == "a", sql
        assert other.value("show search_path") == '"$user", public'


BACK = ["reset {}", "set {} to default", CONFIG.format("{}", "null"),
        "do $$ begin reset {}; end $$"]


@pytest.mark.parametrize("settings", [
    {}, {"pool_mode": "session"}, {"session_state": "keep"},
    {"pool_mode": "session", "session_state": "keep"}],
    ids=["forget", "session", "keep", "both"])
def test_reset_of_another_parameter_leaves_what_is_not_reported(
        pooler, direct, settings):
    """a search_path that was SET stays until it is reset itself"""
    p = pooler(default_pool_size=1, server_reset_query="", **settings)
    mine, want = p.raw(search_path="zz"), direct(search_path="zz")
    pid = mine.value("select pg_backend_pid()")
    others = [[w.format("datestyle")] for w in BACK]
    others.append(["reset datestyle", "set search_path to b"])
    ways = others + [[w.format("search_path")] for w in BACK] + [
        ["reset all"], ["reset search_path", "set search_path to b"]]
    # forget ends with the transaction; keep gives back behind it
    blocks = [("begin", "rollback"), ("begin", "commit")]
    tries = [(b, e, w) for b, e in blocks
             for w in (others if settings == {"session_state": "keep"}
                       else ways)]
    tries += [("select 1", "discard all", w) for w in ways if settings]
    for begin, end, texts in tries:
        for how in ("simple", "extended"):
            seen = []
            for c in (mine, want):
                for ahead in (begin, "set search_path to a"):
                    c.query(ahead)
                told(c, pq.query("; ".join(texts)) if how == "simple" else
                     b"".join(pq.parse(t) + pq.bind() + pq.execute()
                              for t in texts) + pq.sync())
                seen.append([c.value("show search_path")])
                c.query(end)
                if settings or end == "rollback":
                    seen[-1].append(c.value("show search_path"))
            assert seen[0] == seen[1], (begin, end, how, texts)
    mine.query("set search_path to a; reset datestyle")
    mine.close()
    other = p.raw()
    assert other.value("show search_path") == '"$user", public'
    assert other.value("select pg_backend_pid()") == pid


def test_reset_of_another_parameter_leaves_what_connect_query_had_set(pooler):
    """the same where the server had a search_path at first"""
    p = pooler({"p0": "connect_query='set search_path to tenant'"},
               pool_mode="session", default_pool_size=1)
    c = p.raw(DateStyle="German")
    for sql, path in (("select 1", "tenant"), ("set search_path to a", "a"),
                      ("reset datestyle", "a"), ("reset search_path", "tenant"),
                      ("set search_path to a", "a"), ("reset all", "tenant")):
        c.query(sql)
        assert c.value("show search_path") == path, sql


def test_default_by_a_statement_of_before_a_takeover(pooler):
    """its text goes along, by the client's name"""
    p = pooler({"p0": "timezone=Europe/Oslo"}, pool_mode="session")
    c = p.raw(TimeZone="Asia/Tokyo")
    c.query("set timezone to 'America/Lima'")
    for name in ("", "n"):
        c.send(pq.parse("set timezone to default", name) + pq.sync())
        hear(c)
    take_over(pooler, p)
    for name in ("n",):
        told(c, pq.bind(name) + pq.execute() + pq.sync())
        assert c.value("show timezone") == "Asia/Tokyo"
        c.query("set timezone to 'America/Lima'")


def test_reset_without_values_of_its_own(pooler):
    """the pool's are the client's"""
    p = pooler({"p0": "timezone=Europe/Oslo"}, default_pool_size=1)
    c = p.raw()
    c.query("set timezone to 'Asia/Tokyo'")
    told(c, pq.query("reset timezone"))
    assert c.value("show timezone") == c.params["TimeZone"] == "Europe/Oslo"


@pytest.mark.skipif(REFERENCE, reason="refuses the parameter")
@pytest.mark.parametrize("sql", [
    "set work_mem to default", "select set_config('work_mem', null, false)"])
def test_client_with_names_has_its_own_value_again_if_a_reload_ends_keep(
        pooler, sql):
    """pooling.md 21: its names stay, and its pool is one of sessions"""
    p = pooler(pool_mode="transaction", session_state="keep")
    c = p.raw(work_mem="5MB")
    c.send(pq.parse("select 1", "named"), pq.sync())
    assert c.recv_until().kinds == "1Z"
    p.settings["pool_mode"] = "session"
    p.reload()
    for text, value in (("set work_mem to '7MB'", "7MB"), (sql, "5MB")):
        c.send(pq.parse(text), pq.bind(), pq.execute(), pq.sync())
        assert not c.recv_until().errors
        assert c.value("show work_mem") == value
