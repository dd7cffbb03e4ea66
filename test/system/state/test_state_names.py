# test_state_names.py - custom parameters, whatever their name and its spelling.
# SPDX-License-Identifier: ISC
"""PostgreSQL lists none of them, so that their names are read: in texts, in all
their spellings and however they arrive, in what is bound, and in the bodies of
functions (session_state=keep). One server and two clients: what one has set is
with it again when the other one has been there, who never sees it.
"""
import struct

import pytest

import pq
from harness import REFERENCE, wait_until

pytestmark = [pytest.mark.skipif(REFERENCE, reason="not so there"),
              pytest.mark.setting("session_state")]

# {n} is another name each time: nobody has named it before
SPELLINGS = [
    'set "{n}.tenantId" = 4711', 'set {n}."tenantId" to 4711',
    'set "{N}"."tenantId" = 4711', "set {N} . tenantId = 4711",
    'set U&"{n}.\\0074enantId" = 4711',
    "set /* a */ {n}.tenantid /* /* b */ */ = 4711",
    "set -- c\n session/**/{n}.tenantid to 4711",
    "select set_config(E'{n}.tenantId', '4711', false)",
    "select set_config($${n}.tenantId$$, '4711', false)",
    "select set_config($a${n}.tenantId$a$, '4711', false)",
    "select set_config(U&'{n}.\\0074enantId', '4711', false)",
    "select set_config('{n}.tenantid'::text, '4711', false)",
    'select "pg_catalog"."set_config"(\'{n}.tenantid\', \'4711\', false)',
    "select set_config/* */('{n}.tenantid' -- d\n , '4711', false)",
    "select U&\"set\\005fconfig\"('{n}.tenantid', '4711', false)",
    "do $$ begin perform set_config('{n}.tenantid', '4711', false); end $$",
    "do 'begin perform set_config(''{n}.tenantid'', ''4711'', false); end'",
    "do $$ begin if true then set {n}.tenantid = 4711; end if; end $$",
    "with a as (select set_config('{n}.tenantid', '4711', false)) "
    "select * from a",
]

# by whoever asks nothing else
HIDDEN = [
    "select set_config('{n}.' || 'tenantid', '4711', false)",
    "select set_config(x, '4711', false) from (values ('{n}.tenantid')) v (x)",
    "do $$ begin execute 'set {n}.' || 'tenantid = 4711'; end $$",
    "do $$ begin execute format('set %s.tenantid = 4711', '{n}'); end $$",
]


def current(name):
    return "select coalesce(current_setting('%s', true), '')" % name


@pytest.fixture
def pair(pooler):
    """two clients that take turns"""
    made = []

    def start(state="keep", **settings):
        p = pooler(**{"default_pool_size": 1, "session_state": state,
                      "pool_mode": "transaction", **settings})
        made.extend((p.raw(), p.raw()))
        return (p, *made[-2:])
    yield start
    for c in made:
        c.close()


def reasons(p):
    return [r["pin_reason"] for r in p.show("clients") if r["pin_reason"]]


def kept(mine, other, name, value="4711"):
    """mine has it, however often the other one was there in between"""
    for _ in range(2):
        assert other.value(current(name)) == ""
        assert mine.value(current(name)) == value


def extended(c, sql):
    c.extended(sql)


def named(c, sql):
    """prepared once, run in another transaction"""
    c.send(pq.parse(sql, "s"), pq.sync())
    c.recv_until().check()
    c.send(pq.bind("s"), pq.execute(), pq.close("S", "s"), pq.sync())
    c.recv_until().check()


@pytest.mark.parametrize("way", [pq.Conn.query, extended, named])
def test_names_are_read_in_every_spelling(pair, way):
    p, a, b = pair()
    for i, sql in enumerate(SPELLINGS):
        n = "way%d" % i
        way(a, sql.format(n=n, N=n.upper()))
        kept(a, b, n + ".tenantid")


@pytest.mark.parametrize("encoding", ["UTF8", "LATIN1", "EUC_JP"])
def test_names_that_are_not_ascii(pair, encoding):
    """in the encoding of their client, not of the other one"""
    p, a, b = pair()
    a.query("set client_encoding = '%s'" % encoding)
    letter = "\u3042" if encoding == "EUC_JP" else "\u00e9"
    python = {"UTF8": "utf-8", "LATIN1": "latin-1",
              "EUC_JP": "euc_jp"}[encoding]
    for sql in ("set app.%s = 4711", 'set "x%s.y" = 4711',
                "select set_config('z.%s', '4711', false)"):
        a.send(pq.msg(b"Q", (sql % letter).encode(python) + b"\0"))
        a.recv_until().check()
    for name in ("app." + letter, "x%s.y" % letter, "z." + letter):
        for _ in range(2):
            assert b.value(current(name)) == ""
            a.send(pq.msg(b"Q", current(name).encode(python) + b"\0"))
            assert a.recv_until().check().rows == [["4711"]]
    # and on a server that goes on without a letter that it can't have
    a.query("discard all")
    assert b.value(current("z." + letter)) == ""


def test_half_a_character_is_no_end_of_a_name(pair):
    """in SJIS the second byte of one may be a backslash; which letters such a
    name has is not known, so its client keeps the server"""
    p, a, b = pair(default_pool_size=2)
    a.query("set client_encoding = 'SJIS'")
    sql = 'set "a.\u8868\u8868" = 4711'.encode("shift_jis")
    assert b"\\" in sql
    a.send(pq.msg(b"Q", sql + b"\0"))
    a.recv_until().check()
    a.send(pq.msg(b"Q", current("a.\u8868\u8868").encode("shift_jis") + b"\0"))
    assert a.recv_until().check().rows == [["4711"]]
    assert b.value(current("a.\u8868\u8868")) == ""
    assert reasons(p) == ["parameter"]


@pytest.mark.parametrize("sql", HIDDEN)
def test_name_that_nobody_can_know_keeps_the_server(pair, sql):
    p, a, b = pair(default_pool_size=2)
    a.query(sql.format(n="hidden"))
    kept(a, b, "hidden.tenantid")
    assert reasons(p) == ["parameter"]
    # as long as it is set
    a.query("discard all")
    wait_until(lambda: reasons(p) == [])
    a.query(sql.format(n="hidden"))
    a.close()
    wait_until(lambda: p.pool()["sv_active"] == 0)
    for _ in range(3):
        assert b.value(current("hidden.tenantid")) == ""


@pytest.mark.parametrize("sql", HIDDEN + SPELLINGS[:1] + SPELLINGS[-1:])
def test_cleaned_it_is_seen_by_nobody(pair, sql):
    p, a, b = pair("clean")
    a.query(sql.format(n="cleaned", N="cleaned"))
    for c in (b, a):
        assert c.value(current("cleaned.tenantid")) == ""


def binary(name, value):
    """a Bind of the unnamed statement, values in binary"""
    return pq.msg(b"B", b"\0\0" + struct.pack("!hhh", 1, 1, 2) + b"".join(
        struct.pack("!i", len(v)) + v.encode() for v in (name, value)) +
        struct.pack("!h", 0))


@pytest.mark.parametrize("statements", [0, 200])
def test_names_that_are_bound(pair, statements):
    p, a, b = pair(max_prepared_statements=statements)
    sql = "select set_config($1, $2, false)"
    a.extended(sql, ["bound.tenantId", "4711"])
    kept(a, b, "bound.tenantid")
    # two round trips; in binary; twice of one statement
    a.send(pq.parse(sql), pq.sync())
    a.recv_until().check()
    a.send(binary("later.x", "1"), pq.execute(),
           pq.bind("", ["later.y", "2"]), pq.execute(), pq.sync())
    a.recv_until().check()
    kept(a, b, "later.x", "1")
    kept(a, b, "later.y", "2")
    # another one behind it, which has no such name
    a.send(pq.parse("select $1::text, $2::text"), pq.bind("", ["n.o", "3"]),
           pq.execute(), pq.sync())
    assert a.recv_until().check().rows == [["n.o", "3"]]
    kept(a, b, "later.y", "2")


def test_names_that_are_bound_to_named_statements(pair):
    p, a, b = pair()
    a.send(pq.parse("select set_config($2, $1, false), "
                    "set_config('text.x', $1, false)", "s"), pq.sync())
    a.recv_until().check()
    for i in range(3):
        a.send(pq.bind("s", ["v%d" % i, "named.n%d" % i]), pq.execute(),
               pq.sync())
        a.recv_until().check()
        kept(a, b, "named.n%d" % i, "v%d" % i)
        kept(a, b, "text.x", "v%d" % i)


def in_pieces(p, c, data, at):
    """each piece is read by itself"""
    at = sorted({0, len(data), *(n for n in at if 0 < n < len(data))})
    for start, end in zip(at, at[1:]):
        c.send(data[start:end])
        p.show("version")
    c.recv_until().check()


@pytest.mark.parametrize("size", [10, 1100, 20000, 60000])
@pytest.mark.parametrize("way", ["query", "unnamed", "named", "bound"])
def test_texts_in_pieces_mean_the_same(pair, way, size):
    p, a, b = pair()
    blank = " " * size
    for i, sql in enumerate(("{b}set \"{n}.tenantId\" = 4711",
                             "set \"{n}.tenantId\"{b} = 4711",
                             "select set_config('{n}.tenantid',{b} '4711', "
                             "false)")):
        n = "cut%d" % i
        sql = sql.format(n=n, b=blank)
        where = [sql.index(n) + 1, sql.index(n) + len(n), size + 2]
        if way == "query":
            data, where = pq.query(sql), [5, *(w + 5 for w in where)]
        elif way == "bound":
            data = pq.parse("select set_config($1,%s $2, false)" % blank)
            where = [len(data) + 3, len(data) + 20, size // 2]
            data += pq.bind("", [n + ".tenantid", "4711"]) + \
                pq.execute() + pq.sync()
        else:
            name = "s" if way == "named" else ""
            data = pq.parse(sql, name) + pq.bind(name) + pq.execute() + \
                pq.close("S", name) + pq.sync()
            where = [w + 7 for w in where]
        in_pieces(p, a, data, where)
        kept(a, b, n + ".tenantid")


def test_what_is_longer_leaves_nothing_to_others(pair):
    """it is not read, and its server is cleaned: it keeps none"""
    p, a, b = pair()
    for pieces in ([], [100], [65000]):
        in_pieces(p, a, pq.query("set long.own = 1%s" % (" " * 66000)), pieces)
        assert b.value(current("long.own")) == ""
    assert reasons(p) == []


def test_to_create_a_function_is_not_to_call_it(pair):
    p, a, b = pair()
    a.query("create function pg_temp.f(n text) returns text as "
            "$$select set_config(n, 'x', false)$$ language sql")
    assert a.value("select 1") == "1"
    assert reasons(p) == ["temporary"]


@pytest.mark.setting("workers")
def test_all_workers_know_names_that_are_not_plain(pooler):
    p = pooler(workers=2, default_pool_size=2, session_state="keep")
    cs = [p.raw() for _ in range(4)]
    for i, c in enumerate(cs):
        c.query('set "\u00e9%d.own" = %d' % (i, i))
        c.extended("select set_config($1, $2, false)", ["b%d.own" % i, str(i)])
    for _ in range(3):
        for i, c in enumerate(cs):
            for k in range(4):
                want = str(i) if i == k else ""
                assert c.value(current("\u00e9%d.own" % k)) == want
                assert c.value(current("b%d.own" % k)) == want
    for c in cs:
        c.close()


OPENS = [
    ("select dblink_connect('mine', 'host={host} port={port} dbname=p0 "
     "user=postgres')", "select dblink_get_connections()", "{{mine}}", None),
    ("select pg_replication_origin_session_setup('opened')",
     "select pg_replication_origin_session_is_setup()", "t", "f"),
    ("select pg_create_physical_replication_slot('opened', false, true)",
     "select count(*) from pg_replication_slots where active_pid = "
     "pg_backend_pid()", "1", "0"),
    ("do 'begin load ''auto_explain''; end'",
     "select count(*) from pg_settings where name = "
     "'auto_explain.log_analyze'", "1", "0"),
]


@pytest.fixture
def opening(pg):
    """an owner of connections, origins and slots"""
    pg.sql("create extension if not exists dblink",
           "create extension if not exists pg_trgm",
           "select pg_replication_origin_create('opened')", db="p0")
    yield
    pg.expel()  # the session that has the origin may still be about to end
    pg.sql("select pg_replication_origin_drop('opened')", db="p0")


@pytest.mark.parametrize("way", [pq.Conn.query, extended, named])
@pytest.mark.parametrize("state", ["clean", "keep"])
def test_what_only_the_end_of_a_session_closes(pooler, pg, opening, state,
                                               way):
    """is there for its client alone, and for nobody when that has left"""
    p = pooler(default_pool_size=2, session_state=state,
               pool_mode="transaction")
    for sql, look, mine, none in OPENS:
        a, b = p.raw("postgres"), p.raw("postgres")
        way(a, sql.format(host="127.0.0.1", port=pg.port))
        for _ in range(2):
            assert b.value(look) == none, sql
            assert a.value(look) == (mine.format() if state == "keep"
                                     else none), sql
        a.close()
        wait_until(lambda: p.pool(user="postgres")["cl_active"] == 1)
        for _ in range(3):
            assert b.value(look) == none, sql
        b.close()


def by_function_call(c, _):
    oid = c.value("select 'pg_replication_origin_session_setup'::regproc::oid")
    c.send(pq.function_call(int(oid), ["opened"]))
    assert not c.recv_until().errors


# how a call may be written so that no word tells it
VEILS = {
    "unicode": "select U&\"pg\\005f{0}\"('opened')",
    "block": "do $$ begin execute 'select pg_' || '{0}(''opened'')'; end $$",
    "language": "do language plpgsql 'begin perform pg_{0}(''opened''); end'",
    "xml": "select query_to_xml('select pg_' || '{0}(''opened'')', true, true, "
           "'')",
    "long": "select /*%s*/ pg_{0}('opened')" % ("x" * 70000),
    "long name": "select pg_{0}('opened') /*%s*/" % ("x" * 70000),
}
SETUP = "replication_origin_session_setup"


@pytest.mark.parametrize("way", [pq.Conn.query, extended, named])
@pytest.mark.parametrize("state", ["clean", "keep"])
def test_what_is_opened_by_a_text_that_nobody_reads(pooler, pg, opening, state,
                                                     way):
    """is there for nobody else: its server is closed"""
    p = pooler(default_pool_size=1, session_state=state,
               pool_mode="transaction")
    look = "select pg_replication_origin_session_is_setup()"
    ways = [(name, way, sql.format(SETUP)) for name, sql in VEILS.items()]
    for name, how, sql in ways + [("call", by_function_call, "")]:
        a, b = p.raw("postgres"), p.raw("postgres")
        how(a, sql)
        a.close()
        assert b.value(look) == "f", name
        # the next one can have the origin when the backend of a is gone
        left = [int(b.value("select pg_backend_pid()"))]
        wait_until(lambda: pg.backends("p0") == left, what="a backend to end")
        b.close()


@pytest.mark.parametrize("check", ["told", "always"])
def test_bind_of_a_name_that_comes_in_pieces_is_read_whole(pooler, check):
    """others are served meanwhile"""
    p = pooler(default_pool_size=1, session_state="keep",
               session_state_check=check)
    with p.raw() as a, p.raw() as b:
        value = "x" * 20000
        a.send(pq.parse("select set_config($1, $2, false)", "st"), pq.sync())
        a.recv_until().check()
        data = pq.bind("st", ["late.name", value]) + pq.execute() + pq.sync()
        for cut in (9000, 15000):
            a.send(data[:cut])
            for _ in range(5):
                assert b.query("select 1").rows == [["1"]]
            a.send(data[cut:])
            a.recv_until().check()
            assert a.value("select current_setting('late.name')") == value
            assert b.value("select current_setting('late.name', true)") in \
                (None, "")


@pytest.mark.parametrize("state", ["clean", "keep"])
def test_limit_of_pg_trgm_is_of_its_client(pooler, opening, state):
    p = pooler(default_pool_size=1, session_state=state,
               pool_mode="transaction")
    with p.raw("postgres") as a, p.raw("postgres") as b:
        a.query("select set_limit(0.95)")
        assert b.value("select show_limit()") == "0.3"
        assert a.value("select show_limit()") == \
            ("0.95" if state == "keep" else "0.3")


BODIES = ["perform set_config('{n}.tenantId', '4711', false);",
          'set "{n}.tenantId" = 4711;', "set {n}.tenantid to '4711';",
          'set session {n}."tenantId" = 4711;',
          "execute 'select set_config(''{n}.tenantid'', ''4711'', false)';"]


@pytest.mark.setting("session_state_check")
def test_names_in_bodies_of_functions(pair, pg):
    """that no client has told: session_state_check=always"""
    p, a, b = pair(session_state_check="always")
    try:
        for i, body in enumerate(BODIES):
            n = "body%d" % i
            pg.sql("create function body_%d() returns void language plpgsql "
                   "as $$ begin %s end $$" % (i, body.format(n=n)), db="p0")
            a.query("select body_%d()" % i)
            kept(a, b, n + ".tenantid")
    finally:
        for i in range(len(BODIES)):
            pg.sql("drop function if exists body_%d()" % i, db="p0")


@pytest.mark.parametrize("way", [pq.Conn.query, extended])
@pytest.mark.parametrize("state", ["clean", "keep"])
def test_temporary_tables_of_another_refuse_no_temp_buffers(pair, state, way):
    """which PostgreSQL does in a session that has had some"""
    p, a, b = pair(state)
    for make in ("create temp table mine (i int) on commit drop",
                 "begin; create table pg_temp.m (i int); rollback"):
        if way is pq.Conn.query or ";" not in make:
            way(a, make)
        way(b, "set temp_buffers = '16MB'")
        assert b.value("show temp_buffers") == \
            ("16MB" if state == "keep" else "8MB")
        b.query("reset temp_buffers")
        assert a.value("show temp_buffers") == "8MB"


@pytest.mark.parametrize("way", [pq.Conn.query, extended])
def test_temporary_tables_of_another_session(pooler, way):
    """DISCARD ALL takes them away, but PostgreSQL goes on refusing"""
    p = pooler(default_pool_size=1, pool_mode="session")
    with p.raw() as a:
        way(a, "create temp table mine (i int)")
        a.query("insert into mine values (1)")
    with p.raw() as b:
        way(b, "set temp_buffers = '16MB'")
        assert b.value("show temp_buffers") == "16MB"


def test_quotes_of_another_are_in_no_value(pair):
    """default_text_search_config is written as quote_all_identifiers says"""
    p, a, b = pair()
    b.query("set default_text_search_config = 'pg_catalog.english'")
    want = b.value("show default_text_search_config")
    a.query("set quote_all_identifiers = on")
    for _ in range(2):
        assert a.value("select quote_ident('a')") == '"a"'
        assert b.value("show default_text_search_config") == want
        assert b.value("select quote_ident('a')") == "a"
