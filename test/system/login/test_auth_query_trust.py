# test_auth_query_trust.py - what clients can write has no say in auth_query.
# SPDX-License-Identifier: ISC
import contextlib

import pytest

import pq
from harness import REFERENCE, wait_until
from test_auth_query import LIST, asking, fixed
from test_login import refused

pytestmark = [
    pytest.mark.skipif(REFERENCE, reason="it does trust them"),
    pytest.mark.setting("auth_user", "auth_query"),
]

LOGINS = "select name, secret from logins where name = $1"


@contextlib.contextmanager
def table(pg, grantee):
    """The logins of this set-up, one of them."""
    pg.sql("create table logins (name text, secret text)",
           "insert into logins values ('alice', 'real')",
           "grant select on logins to " + grantee, db="p0")
    try:
        yield
    finally:
        pg.sql("drop table logins", db="p0")


def shared(pooler, query=LOGINS, **kw):
    """auth_user is the user that clients are served as, too."""
    return asking(pooler, query, userlist=dict(LIST, mallory="m"),
                  dbs={"p0": "user=app auth_user=app"}, auth_type="plain",
                  pool_mode="transaction", **kw)


def log_in(p, user="alice", password="real", db="p0"):
    c = p.raw(user, db, password)
    assert c.value("select 1") == "1"
    c.close()


# --- servers that clients had ----------------------------------------------

@pytest.mark.parametrize("size", [0, 1, 2])
def test_temporary_table_of_a_client_is_not_asked(pooler, pg, size):
    """a client of the user that is auth_user as well shadows the table"""
    with table(pg, "app"):
        p = shared(pooler, default_pool_size=size)
        c = p.raw("mallory", "p0", "m")
        c.query("create temp table logins as select 'admin'::text as name, "
                "'forged'::text as secret union all select 'alice', 'forged'")
        for user in ("alice", "admin"):
            assert refused(p.open(), user=user, password_="forged",
                           database="p0") == "password authentication failed"
        log_in(p)
        assert c.value("select 1") == "1"


@pytest.mark.parametrize("mine", [
    "set search_path = mine", "set role app2", "set statement_timeout = 1",
    "create function pg_temp.x() returns int language sql as 'select 1'",
    "set standard_conforming_strings = off"])
def test_session_of_a_client_is_not_used(pooler, pg, mine):
    """nor anything else that a session has"""
    with table(pg, "app"):
        p = shared(pooler, default_pool_size=1)
        c = p.raw("mallory", "p0", "m")
        c.try_query(mine)
        pid = c.value("select pg_backend_pid()")
        log_in(p)
        assert c.value("select pg_backend_pid()") != pid
        log_in(p)


def test_clean_server_is_used_again(pooler, pg):
    """a server for each login would be too many"""
    with table(pg, "app"):
        p = shared(pooler, default_pool_size=5)
        c = p.raw("mallory", "p0", "m")
        c.query("select 1")
        for _ in range(6):
            for _ in range(3):
                log_in(p)
            c.query("select 1")
        assert p.log.count("new connection to server") == 2
        p.wait_pool("p0", "app", sv_active=0, sv_login=0)


def test_lookup_does_not_keep_clients_waiting(pooler, pg):
    """those behind it get the servers that are not good enough for it"""
    with table(pg, "app"):
        p = shared(pooler, default_pool_size=2)
        busy = [p.raw("mallory", "p0", "m") for _ in range(2)]
        for c in busy:
            c.query("begin")
        late = p.open().login("alice", database="p0", wait=False)
        p.wait_pool("p0", "app", cl_waiting=1, sv_active=2)
        other = p.raw("mallory", "p0", "m")
        other.send(pq.query("select 7"))
        p.wait_pool("p0", "app", cl_waiting=2)
        busy[0].query("commit")
        assert other.recv_until().rows == [["7"]]
        assert late.finish_login("x", "real").value("select 1") == "1"
        busy[1].query("commit")


def test_many_lookups_among_clients(pooler, pg):
    """however they mix, all get through"""
    with table(pg, "app"):
        p = shared(pooler, default_pool_size=3)
        clients = [p.raw("mallory", "p0", "m") for _ in range(6)]
        for _ in range(5):
            logins = [p.open().login("alice", database="p0", wait=False)
                      for _ in range(8)]
            for c in clients:
                c.send(pq.query("select 3"))
            for c in clients:
                assert c.recv_until().rows == [["3"]]
            for c in logins:
                c.finish_login("x", "real").close()
        pool = p.pool("p0", "app")
        assert pool["sv_idle"] + pool["sv_used"] <= 3


def test_shared_auth_user_is_warned_of(pooler, pg):
    """the operator learns that clients are auth_user as well"""
    with table(pg, "app"):
        p = shared(pooler)
        c = p.raw("mallory", "p0", "m")
        c.query("select 1")
        for _ in range(3):
            log_in(p)
            c.query("select 1")
        warning = 'WARNING auth_user "app" also serves clients of database ' \
            '"p0"'
        assert p.log.count(warning) == 1


# --- the search_path --------------------------------------------------------

EVIL = ["create schema evil",
        "create view evil.pg_authid as select 'postgres'::name as rolname, "
        "'forged'::text as rolpassword, null::timestamptz as rolvaliduntil, "
        "true as rolcanlogin",
        "grant usage on schema evil to public",
        "grant select on evil.pg_authid to public"]


@pytest.fixture
def owned(pg):
    """A database whose owner is no superuser."""
    pg.sql("create role u_owner login",
           "create database evedb owner u_owner")
    try:
        yield pg
    finally:
        pg.sql("drop database evedb with (force)", "drop role u_owner")


def as_owner(pg, *stmts):
    with pg.connect(user="u_owner", dbname="evedb") as c:
        for s in stmts:
            c.execute(s)


@pytest.mark.parametrize("how", [
    "alter database evedb set search_path = evil, pg_catalog",
    "alter database evedb set search_path = pg_temp, evil, public, pg_catalog",
    'alter database evedb set search_path = "$user", evil, pg_catalog'])
def test_owner_of_a_database_does_not_shadow_the_catalog(pooler, owned, how):
    """with auth_dbname unset the query runs where he may write"""
    as_owner(owned, *EVIL, how)
    p = asking(pooler, dbs={"evedb": ""}, userlist={"admin": "adminpw"},
               auth_type="plain")
    assert refused(p.open(), user="postgres", password_="forged",
                   database="evedb") == "password authentication failed"
    with pytest.raises(pq.PgError):
        p.raw("u_scram", "evedb", "forged")
    p.stop()


@pytest.mark.parametrize("shadow,query", [
    ("create function evil.now() returns timestamptz language sql as "
     "$$ select evil.note() $$",
     "select rolname, 'x' from pg_roles where rolname = $1 and "
     "now() is not null"),
    ("create function evil.lower(text) returns text language sql as "
     "$$ select evil.note()::text $$",
     "select rolname, lower('X'::text) from pg_roles where rolname = $1"),
    ("create operator evil.|| (leftarg = text, rightarg = text, "
     "function = evil.noted)",
     "select rolname, 'x'::text || ''::text from pg_roles "
     "where rolname = $1"),
    ("create operator evil.= (leftarg = name, rightarg = name, "
     "function = evil.noted)",
     "select rolname, 'x' from pg_roles where rolname = $1"),
    ("create domain evil.text as pg_catalog.text check "
     "(evil.note() is not null)",
     "select rolname, 'x'::text from pg_roles where rolname = $1"),
    ("create type evil.name as enum ('u_scram', 'x')",
     "select rolname::name, 'x' from pg_roles where rolname = $1"),
])
def test_nothing_of_the_catalog_is_shadowed(pooler, owned, shadow, query):
    """functions, operators and types: code of the owner is not run"""
    as_owner(owned, "create schema evil", "grant all on schema evil to public",
             "create table evil.notes (who text)",
             "grant all on evil.notes to public",
             "create function evil.note() returns timestamptz language sql as "
             "$$ insert into evil.notes values (current_user); "
             "select pg_catalog.now() $$",
             "create function evil.noted(text, text) returns text language "
             "sql as $$ select evil.note(); select 'x'::text $$",
             "create function evil.noted(name, name) returns bool language "
             "sql as $$ select evil.note(); select true $$",
             "alter database evedb set search_path = evil, pg_catalog",
             shadow)
    p = asking(pooler, query, dbs={"evedb": ""}, auth_type="plain")
    c = p.open()
    c.login("u_scram", database="evedb", wait=False)
    assert c.recv() == ("R", b"\0\0\0\3")
    c.close()
    assert owned.sql("select * from evil.notes", db="evedb") == []
    p.stop()


@pytest.mark.parametrize("how", [
    "alter role auth in database p0 set search_path = mine",
    "alter role auth set search_path = mine, public",
    "alter database p0 set search_path = mine"])
def test_function_of_a_schema_in_the_path_is_found(pooler, pg, how):
    """set-ups of today: SELECT * FROM user_lookup($1)"""
    pg.sql("create role auth login", "create schema mine",
           "grant usage on schema mine to public",
           "create function mine.user_lookup(text) returns table (u text, "
           "p text) language sql as $$ select $1, 'x'::text $$", how,
           db="p0")
    try:
        p = pooler({"p0": "user=app"}, userlist=LIST, auth_type="plain",
                   auth_user="auth",
                   auth_query="SELECT * FROM user_lookup($1)")
        log_in(p, "anna", "x")
        p.stop()
    finally:
        pg.sql("alter database p0 reset search_path",
               "drop schema mine cascade", "drop role auth", db="p0")


@pytest.mark.parametrize("path", ["''", "\"$user\", public", "nowhere"])
def test_any_search_path_is_a_valid_one(pooler, pg, path):
    """empty ones, quoted ones, and schemas that are not there"""
    pg.sql("alter database p0 set search_path = " + path)
    try:
        p = asking(pooler, fixed("$1", "current_setting('search_path')"),
                   auth_type="plain", dbs={"p0": "user=app"})
        shown = {"''": '""'}.get(path, path)
        log_in(p, "x", "pg_catalog, %s, pg_temp" % shown)
        # it is as it was for who gets this server next
        q = pooler({"p0": "user=postgres"}, userlist=LIST, auth_type="plain",
                   auth_user="postgres", auth_query=fixed("$1", "'x'"))
        c = q.raw("x", "p0", "x")
        assert c.value("show search_path") == shown
        p.stop()
        q.stop()
    finally:
        pg.sql("alter database p0 reset search_path")


def test_default_query_is_qualified(pooler):
    """so that it is safe where somebody copies it"""
    p = asking(pooler)
    text = p.show("config", key="auth_query")[0]["default"]
    assert "FROM pg_catalog.pg_authid" in text
    assert "pg_catalog.now()" in text and "OPERATOR(pg_catalog.=)" in text


# --- what the operator is told ----------------------------------------------

WARNING = 'WARNING auth_user "postgres" is a superuser and auth_dbname is ' \
    'not set: '


@pytest.mark.setting("auth_dbname")
def test_superuser_without_auth_dbname_is_warned_of(pooler):
    """once for each database, and not where one is set"""
    p = asking(pooler, fixed("$1", "'x'"), dbs={
        "p0": "user=app", "p1": "user=app", "p2": "user=app auth_dbname=p1"},
        auth_type="plain")
    for db in ("p0", "p1", "p0", "p2", "p1"):
        log_in(p, "x", "x", db)
    assert p.log.count(WARNING) == 2
    q = asking(pooler, fixed("$1", "'x'"), dbs={"p0": "user=app"},
               auth_dbname="p0", auth_type="plain")
    log_in(q, "x", "x")
    assert WARNING not in q.log


def test_ordinary_auth_user_is_not_warned_of(pooler, pg):
    with table(pg, "app2"):
        p = pooler({"p0": "user=app"}, userlist=LIST, auth_type="plain",
                   auth_user="app2", auth_query=LOGINS)
        log_in(p)
        assert "is a superuser" not in p.log
