# test_auth_query.py - users that only the server knows.
# SPDX-License-Identifier: ISC
import os

import pytest

import pq
from harness import PASSWORDS, REFERENCE, wait_until
from test_login import refused, secret

LIST = {"postgres": "", "admin": "adminpw", "stats": ""}
CONFIG = "bouncer config error"
FAILED = "server login failed"
# whatever is wrong, and whoever asks
LOOKUP_HINT = "The pooler's log says what is wrong with auth_query, or with " \
    "auth_user and auth_dbname."

pytestmark = [
    pytest.mark.skipif(REFERENCE, reason="newer than that"),
    pytest.mark.setting("auth_user", "auth_query"),
    pytest.mark.database("auth_user", "auth_query"),
]


def asking(pooler, query=None, dbs=None, **kw):
    """A pooler that asks the server for those it does not know."""
    kw.setdefault("userlist", LIST)
    kw.setdefault("auth_type", "scram-sha-256")
    return pooler(dbs, auth_user="postgres", auth_query=query, **kw)


def fixed(name, value):
    """A query that says this of everybody."""
    return "select %s::text, %s::text where $1::text is not null" % (name, value)


# --- secrets --------------------------------------------------------------

@pytest.mark.parametrize("user,method", [
    ("u_scram", "scram-sha-256"), ("u_scram", "md5"), ("u_scram", "plain"),
    ("u_md5", "md5"), ("u_md5", "plain")])
def test_users_of_the_server_log_in(pooler, user, method):
    """authentication.md 6: the default query"""
    p = asking(pooler, auth_type=method, dbs={"p0": "user=app"})
    c = p.raw(user, password=PASSWORDS[user])
    assert c.value("select current_user") == "app"
    with p.connect(user=user, password=PASSWORDS[user]) as c:
        assert c.execute("select 1").fetchone() == (1,)
    assert "authentication failed" in refused(
        p.open(), user=user, password_="wrong", database="p0")


@pytest.mark.parametrize("kind", ["plain", "md5", "scram"])
@pytest.mark.parametrize("method", ["plain", "md5", "scram-sha-256"])
def test_each_kind_of_secret_is_taken(pooler, method, kind):
    """authentication.md 1, 6"""
    if (method, kind) == ("scram-sha-256", "md5"):
        pytest.skip("cannot prove anything")
    text = secret(kind).replace("'", "''")
    p = asking(pooler, fixed("$1", "'%s'" % text), auth_type=method,
               dbs={"p0": "user=app"})
    assert p.raw("app", password="s3cret 'é").value("select 1") == "1"
    assert "authentication failed" in refused(
        p.open(), user="app", password_="wrong", database="p0")


@pytest.mark.parametrize("user", ["u_scram", "u_md5"])
def test_secret_serves_for_server_logins_too(pooler, user):
    """authentication.md 5, 6: kept for the database; SCRAM keys pass on"""
    p = asking(pooler, auth_type="md5")
    for _ in range(2):
        c = p.raw(user, password=PASSWORDS[user])
        assert c.value("select current_user") == user
    c.query("begin")
    # a further connection needs the keys again
    d = p.raw(user, password=PASSWORDS[user])
    assert d.value("select current_user") == user


def test_learned_keys_stay_while_the_secret_does(pooler, pg):
    """authentication.md 3.3: keys stay valid across reconnects"""
    p = asking(pooler)
    c = p.raw("u_scram", password="pw_three")
    pg.terminate(int(c.value("select pg_backend_pid()")))
    wait_until(lambda: not p.servers() or len(p.servers()) == 1)
    for _ in range(2):
        c = p.raw("u_scram", password="pw_three")
        assert c.value("select current_user") == "u_scram"


def test_secrets_are_kept_for_each_database_apart(pooler):
    """authentication.md 6: (requested database, name)"""
    p = asking(pooler, dbs={
        "p0": "auth_query='%s'" % fixed("$1", "''pw one''"),
        "p1": "auth_query='%s'" % fixed("$1", "''other''")},
        auth_type="plain")
    assert p.raw("u_pw", "p0", "pw one").value("select 1") == "1"
    assert refused(p.open(), user="u_pw", password_="pw one",
                   database="p1") == "password authentication failed"
    # its secret is not that of the server, and p0's is not lent to it
    with pytest.raises(pq.PgError) as e:
        p.raw("u_pw", "p1", "other")
    assert e.value.code == "28P01"
    assert p.raw("u_pw", "p0", "pw one").value("select 1") == "1"


@pytest.mark.parametrize("method", ["plain", "md5", "scram-sha-256"])
@pytest.mark.parametrize("value", ["null", "''"])
def test_null_and_empty_secrets_match_nothing(pooler, method, value):
    """authentication.md 6: not even the three letters md5"""
    # regressions: PB NULL secret
    p = asking(pooler, fixed("$1", value), auth_type=method)
    for password in ("md5", "x", " "):
        assert "authentication failed" in refused(
            p.open(), user="app", password_=password, database="p0")
    c = p.open()
    with pytest.raises(pq.PgError) as e:
        c.login("app", "", "p0")
    assert e.value.severity == "FATAL"


def test_null_secret_is_enough_to_be_trusted(pooler):
    """authentication.md 3: trust wants a known user"""
    p = asking(pooler, auth_type="trust")
    assert p.raw("app").value("select current_user") == "app"
    assert refused(p.open(), user="ghost", database="p0") == \
        '"trust" authentication failed'


def test_expired_password_is_none(pooler, pg):
    """CVE-2025-2291: VALID UNTIL counts"""
    # regressions: CVE-2025-2291
    pg.sql("create role u_late login password 'late' "
           "valid until '2001-01-01'")
    try:
        p = asking(pooler, auth_type="plain", dbs={"p0": "user=app"})
        assert refused(p.open(), user="u_late", password_="late",
                       database="p0") == "password authentication failed"
        pg.sql("alter role u_late valid until 'infinity'")
        assert p.raw("u_late", password="late").value("select 1") == "1"
    finally:
        pg.sql("drop role u_late")


# --- who it is ------------------------------------------------------------

def test_no_row_is_no_such_user(pooler):
    """authentication.md 6; CVE-2015-6817: not let in as auth_user"""
    # regressions: CVE-2015-6817
    p = asking(pooler)
    for user in ("ghost", "", "x' or '1'='1"):
        if not user:
            continue
        assert refused(p.open(), user=user, password_="",
                       database="p0") == "SASL authentication failed"
    assert "no such user: ghost\n" in p.log
    # the connection is good for the next
    assert p.raw("u_scram", "p0", "pw_three").value("select 1") == "1"
    assert p.log.count("p0/postgres@") and p.log.count(
        "new connection to server") == 2


def test_users_of_the_file_are_not_asked_for(pooler):
    """authentication.md 2"""
    p = asking(pooler, "select nothing", userlist=dict(LIST, app="x"))
    assert p.raw("app", password="x").value("select 1") == "1"
    assert "error in auth_query" not in p.log


def test_known_without_a_secret_is_asked_for(pooler):
    """authentication.md 2: known only from [users] or user="""
    p = asking(pooler, dbs={"p0": "user=app", "p1": "user=u_scram"},
               users={"u_scram": "pool_size=3"})
    assert p.raw("u_scram", "p0", "pw_three").value("select 1") == "1"


def test_user_with_an_empty_entry_is_not_asked_for(pooler):
    """config-files.md 7: an empty secret suppresses auth_query"""
    p = asking(pooler, userlist=dict(LIST, u_scram=""))
    assert refused(p.open(), user="u_scram", password_="pw_three",
                   database="p0") == "SASL authentication failed"


def test_last_of_several_rows_counts(pooler):
    """authentication.md 6"""
    p = asking(pooler, "select u, p from (values ('app', 'one'), "
               "('app2', 'two')) v (u, p) where $1 <> ''",
               auth_type="plain")
    assert p.raw("whoever", password="two").value(
        "select current_user") == "app2"
    assert refused(p.open(), user="whoever", password_="one",
                   database="p0") == "password authentication failed"


def test_returned_name_is_who_logs_in(pooler):
    """authentication.md 6: may differ from the requested one"""
    p = asking(pooler, fixed("'app'", "'x'"), auth_type="plain",
               users={"app": "max_user_client_connections=1"})
    c = p.raw("someone", password="x")
    assert c.value("select current_user") == "app"
    assert [r["user"] for r in p.show("clients", database="p0")] == ["app"]
    assert refused(p.open(), user="other", password_="x", database="p0") == \
        "client connections exceeded (max_user_client_connections)"


def test_long_returned_name_is_cut(pooler):
    """authentication.md 6: to 127 bytes"""
    p = asking(pooler, fixed("repeat('n', 300)", "'x'"), auth_type="plain",
               dbs={"p0": "user=app"})
    p.raw("someone", password="x").value("select 1")
    assert [r["user"] for r in p.show("clients", database="p0")] == \
        ["n" * 127]


def test_rules_see_the_returned_name(pooler):
    """authentication.md 4"""
    p = pooler(start=False, auth_type="hba", userlist=LIST,
               auth_user="postgres", auth_query=fixed("'app'", "'x'"))
    p.settings["auth_hba_file"] = p.put(
        "hba.conf", "host pgbouncer admin all trust\n"
        "host p0 someone all trust\nhost p0 app all password\n")
    p.start()
    assert refused(p.open(), user="someone", password_="y",
                   database="p0") == "password authentication failed"
    assert p.raw("someone", password="x").value("select 1") == "1"


# --- mistakes -------------------------------------------------------------

@pytest.mark.parametrize("query,reason", [
    ("select $1::text", "expected 2 columns from auth_query, not 1"),
    ("select $1::text, 'x', 1", "expected 2 columns from auth_query, not 3"),
    ("select $1::text, 'x', 1 where false",
     "expected 2 columns from auth_query, not 3"),
    ("set datestyle = 'ISO'", "error response from auth_query"),
    ("do 'begin end'", "error response from auth_query"),
    ("select null::text, $1::text",
     "auth_query response contained null user name"),
    ("select 1/0 from pg_class where $1 = ''||$1",
     "error response from auth_query"),
    ("select nonsense", "error response from auth_query"),
    ("select '', $1::text", "unexpected response from auth_query"),
])
def test_bad_query_is_the_operators_business(pooler, query, reason):
    """authentication.md 6: result handling; logging.md 6"""
    p = asking(pooler, query)
    assert refused(p.open(), user="app", database="p0") == CONFIG
    assert "closing because: %s (age=" % reason in p.log
    if reason.startswith("error"):
        assert "ERROR S: error in auth_query: ERROR: " in p.log
    wait_until(lambda: not p.servers())


def test_other_chatter_of_the_server_is_ignored(pooler):
    """authentication.md 6: notices, ParameterStatus"""
    p = asking(pooler, "select $1::text, auth_chat()", auth_type="plain",
               dbs={"p0": "user=app"})
    pg = __import__("harness").cluster()
    pg.sql("create function auth_chat() returns text language plpgsql as "
           "$$ begin raise notice 'hello'; "
           "perform set_config('application_name', 'chat', false); "
           "return 'x'; end $$", db="p0")
    try:
        assert p.raw("u1", password="x").value("select 1") == "1"
    finally:
        pg.sql("drop function auth_chat()", db="p0")


# --- where it runs --------------------------------------------------------

@pytest.mark.setting("auth_dbname")
@pytest.mark.database("auth_dbname")
def test_query_runs_in_the_auth_database(pooler):
    """authentication.md 6: own auth_dbname, global, requested"""
    query = fixed("$1", "current_database()")
    p = asking(pooler, query, dbs={
        "p0": "user=app", "p1": "user=app auth_dbname=p2",
        "p2": "user=app"}, auth_dbname="p0", auth_type="plain")
    assert p.raw("x", "p0", "p0").value("select 1") == "1"
    assert p.raw("x", "p1", "p2").value("select 1") == "1"
    assert p.raw("x", "p2", "p0").value("select 1") == "1"
    del p.settings["auth_dbname"]
    p.stop()
    q = asking(pooler, query, dbs=p.dbs, auth_type="plain")
    assert q.raw("x", "p2", "p2").value("select 1") == "1"


def test_fallback_entry_serves_as_auth_database(pooler):
    """config-files.md 3: * entry"""
    p = asking(pooler, fixed("$1", "current_database()"), dbs={
        "one": "dbname=p0 user=app", "*": ""}, auth_dbname="p1",
        auth_type="plain")
    assert p.raw("x", "one", "p1").value("select 1") == "1"
    assert "registered new auto-database: p1" in p.log


@pytest.mark.setting("autodb_idle_timeout")
def test_fallback_entry_stays_while_a_login_waits_in_it(pooler):
    """config-files.md 3: automatic entries go when unused"""
    p = asking(pooler, fixed("$1", "'x'"), dbs={
        "one": "dbname=p0 user=app", "*": ""}, auth_dbname="p1",
        auth_type="plain", autodb_idle_timeout=1)
    p.admin("pause")
    c = start(p, db="one")
    p.wait_pool("p1", "postgres", cl_waiting=1)
    # one that is made later goes, at last
    p.admin("reconnect p2")
    p.wait_log("dropping database 'p2'")
    assert "dropping database 'p1'" not in p.log
    p.admin("resume")
    assert finish(c).value("select 1") == "1"


def test_each_gets_his_own_secret(pooler):
    """Odyssey #541: an answer meant for another"""
    # regressions: Ody #541
    p = asking(pooler, fixed("$1", "'of ' || $1"), auth_type="plain",
               dbs={"p0": "user=app auth_dbname=auth",
                    "auth": "dbname=p0 pool_size=3"})
    for turn in range(2):
        conns = [(i, start(p, "user%d" % i)) for i in range(30)]
        for i, c in conns:
            name = "user%d" % (i if i % 3 else i + 1)
            if i % 3:
                c.finish_login("x", "of " + name)
                continue
            with pytest.raises(pq.PgError) as e:
                c.finish_login("x", "of " + name)
            assert e.value.message == "password authentication failed"
        for _, c in conns:
            c.close()


def test_database_keys_win(pooler):
    """config-files.md 3: auth_user, auth_query of an entry"""
    p = pooler({"p0": "user=app auth_user=postgres auth_query='%s'"
                % fixed("$1", "current_user"), "p1": ""},
               userlist=LIST, auth_type="plain")
    assert p.raw("x", "p0", "postgres").value("select 1") == "1"
    # no auth_user here: nobody to ask
    assert refused(p.open(), user="x", password_="postgres",
                   database="p1") == "password authentication failed"
    assert [r["name"] for r in p.show("users", name="postgres")]


def test_auth_user_logs_in_with_its_own_secret(pooler):
    """authentication.md 5: auth pools, also where a user is forced"""
    p = pooler({"p0": "user=app password=forced auth_user=u_scram "
                "auth_query='%s'" % fixed("$1", "current_user")},
               userlist=dict(LIST, u_scram="pw_three"), auth_type="plain")
    assert p.raw("x", "p0", "u_scram").value("select current_user") == "app"


def test_missing_auth_database_is_a_config_error(pooler):
    """authentication.md 6: auth database errors"""
    p = asking(pooler, auth_dbname="nowhere")
    assert refused(p.open(), user="app", database="p0") == CONFIG
    assert 'authentication database "nowhere" is not configured.' in p.log


def test_disabled_auth_database_is_named(pooler):
    """client-errors.md 3; with no auth_dbname it is the requested one"""
    p = asking(pooler, dbs={"p0": "auth_dbname=p1", "p1": ""})
    p.admin("disable p1")
    for db in ("p0", "p1"):
        assert refused(p.open(), user="app", database=db) == \
            'authentication database "p1" is disabled'


def test_console_cannot_be_the_auth_database(pooler):
    """PB#817; admin-console.md 1"""
    # regressions: PB#817
    p = asking(pooler, auth_dbname="pgbouncer",
               dbs={"p0": "", "p1": "auth_dbname=p1"})
    assert refused(p.open(), user="app", database="p0") == CONFIG
    p.wait_log('ERROR C-.*cannot use the reserved "pgbouncer" database as an '
               "auth_dbname")
    assert p.open().login("u_scram", "pw_three", "p1").value("select 1") == "1"
    q = asking(pooler, admin_users="admin, u_scram")
    assert refused(q.open(), user="u_scram", password_="pw_three",
                   database="pgbouncer") == "SASL authentication failed"


def test_console_users_may_be_known_to_the_server_only(pooler):
    """admin-console.md 1: rights by the returned name"""
    # regressions: CVE-2026-6667
    p = asking(pooler, "select case $1 when 'boss' then 'bob' when 'hans' "
               "then 'chief' else $1 end, 'x'", auth_dbname="p0",
               auth_type="plain", admin_users="chief, boss, admin",
               stats_users="look")
    assert refused(p.open(), user="bob", password_="x",
                   database="pgbouncer") == "not allowed"
    # to ask for an admin's name is not enough
    assert refused(p.open(), user="boss", password_="x",
                   database="pgbouncer") == "not allowed"
    assert refused(p.open(), user="chief", password_="y",
                   database="pgbouncer") == "password authentication failed"
    for user, rights in (("chief", True), ("hans", True), ("look", False)):
        c = p.raw(user, "pgbouncer", "x")
        assert c.query("show version").rows
        res = c.try_query("reload")
        assert (not res.errors) == rights
        # CVE-2026-6667
        assert "admin access needed" in str(
            c.try_query("kill_client 1").errors[0].message) or rights


@pytest.mark.parametrize("command", ["kill", "pause", "pause p0"])
@pytest.mark.parametrize("workers", [1, 3])
def test_administrator_gets_in_while_the_database_is_paused(
        pooler, pg, command, workers):
    """admin-console.md 4.4: also one that only the server knows"""
    if REFERENCE:
        pytest.skip("locks it out")
    p = asking(pooler, auth_dbname="p0", admin_users="admin, u_scram",
               workers=workers)
    secret = PASSWORDS["u_scram"]
    p.raw("u_scram", password=secret).query("select 1")
    with p.raw("u_scram", "pgbouncer", secret) as con:
        con.query(command)
    other = p.open().login("u_scram", None, "p0", wait=False)
    con = p.raw("u_scram", "pgbouncer", secret)
    # nothing stays behind, and nobody else was served
    wait_until(lambda: not pg.backends())
    assert not other.readable()
    con.query("resume all")
    assert other.finish_login("u_scram", secret).value("select 1") == "1"


def test_replication_clients_are_asked_for_as_well(pooler, pg):
    """PB#1166; pooling.md 17"""
    # regressions: PB#1166
    pg.sql("create role u_rep login replication password 'rep'")
    try:
        p = asking(pooler, auth_type="plain")
        for kind in ("database", "yes"):
            c = p.raw("u_rep", "p0", "rep", replication=kind)
            assert c.query("IDENTIFY_SYSTEM").rows
            c.close()
        assert refused(p.open(), user="ghost", password_="x",
                       database="p0", replication="yes") == \
            "password authentication failed"
    finally:
        wait_until(lambda: not pg.backends(where="usename='u_rep'"))
        pg.sql("drop role u_rep")


# --- what the client sends has no influence -------------------------------

def test_parameters_of_the_client_are_not_applied(pooler):
    """CVE-2025-12819: not search_path, nor any other"""
    # regressions: CVE-2025-12819
    p = asking(pooler, fixed("$1", "current_setting('DateStyle')||'/'||"
                             "current_setting('application_name')"),
               dbs={"p0": "user=app"}, auth_type="plain",
               track_extra_parameters="search_path, IntervalStyle",
               ignore_startup_parameters="search_path")
    for _ in range(2):
        c = p.raw("x", "p0", "ISO, MDY/", DateStyle="German",
                  application_name="mine", search_path="evil",
                  client_encoding="LATIN1")
        assert c.value("show datestyle").startswith("German")
        assert c.value("show application_name") == "mine"
    assert refused(p.open(), user="x", password_="German, DMY/mine",
                   database="p0", DateStyle="German",
                   application_name="mine") == \
        "password authentication failed"


def test_name_is_data(pooler):
    """PgDog #698: nothing a client sends becomes SQL"""
    # regressions: PgDog#698
    p = asking(pooler, fixed("$1", "'x'"), auth_type="plain",
               dbs={"p0": "user=app"})
    name = "a'b\"c;\\drop"
    p.raw(name, "p0", "x").value("select 1")
    assert [r["user"] for r in p.show("clients", database="p0")] == [name]


def test_hasty_client_is_understood(pooler):
    """pooling.md 14: start-up and password in one segment"""
    p = asking(pooler, fixed("$1", "'x'"), auth_type="plain",
               dbs={"p0": "user=app"})
    c = p.open()
    c.send(pq.startup({"user": "u1", "database": "p0"}), pq.password("x"),
           pq.query("select 5"))
    kinds = c.recv_until().kinds
    assert kinds.startswith("RR") and kinds.endswith("KZ")
    assert c.recv_until().rows == [["5"]]


def test_hasty_client_waits_for_the_end_of_a_slow_query(pooler, pg):
    """what it sent behind its login is nobody's before it has logged in; the
    upkeep, which looks for what was not read, must not hand it to the server"""
    pg.sql("drop table if exists stolen", db="p0")
    p = asking(pooler, "select $1::text, 'x' from pg_sleep(2)",
               auth_type="plain", dbs={"p0": "user=app"})
    c = p.open()
    c.send(pq.startup({"user": "u1", "database": "p0"}),
           pq.query("create table stolen()"))
    assert c.recv() == ("R", b"\0\0\0\3")
    with pytest.raises(pq.Closed):
        c.recv()
    assert p.show("servers")[0]["state"] == "idle"
    assert pg.sql("select to_regclass('stolen')", db="p0") == [(None,)]
    c = p.open()
    c.send(pq.startup({"user": "u1", "database": "p0"}), pq.password("x"),
           pq.query("select 5"))
    kinds = c.recv_until().kinds
    assert kinds.startswith("RR") and kinds.endswith("KZ")
    assert c.recv_until().rows == [["5"]]


def test_negotiation_is_told_once(pooler):
    """PB#1460: not again for who has to wait"""
    # regressions: PB#1460
    p = asking(pooler, fixed("$1", "'x'"), auth_type="plain",
               dbs={"p0": "user=app"})
    c = p.open().login("u1", "x", "p0", version=pq.V3_0 + 99)
    kinds = "".join(k for k, _ in c.login_messages)
    assert kinds.count("v") == 1 and kinds[0] == "v"


# --- an ordinary pool -----------------------------------------------------

SLOW = "select $1::text, 'x' from pg_sleep(%s)"


def running(p, database="p0"):
    """The query runs for a login: wait for it."""
    def linked():
        return [s for s in p.servers(database) if s["link"]]
    return wait_until(linked, what="auth_query to run")


def start(p, user="x", db="p0", **kw):
    return p.open().login(user, database=db, wait=False, **kw)


def finish(c, password="x"):
    return c.finish_login("x", password)


def test_query_waits_its_turn(pooler):
    """authentication.md 6: limits and queue"""
    p = asking(pooler, fixed("$1", "'x'"), auth_type="plain",
               dbs={"p0": "auth_dbname=auth", "auth": "dbname=p0 pool_size=1"},
               userlist=dict(LIST, postgres="pg"))
    busy = p.raw("postgres", "auth")
    busy.query("begin")
    c = start(p)
    p.wait_pool("auth", "postgres", cl_waiting=1, sv_active=1)
    row = p.show("clients", database="auth", state="waiting")[0]
    assert row["user"] == "(nouser)"
    busy.query("commit")
    assert c.recv() == ("R", b"\0\0\0\3")
    c.close()
    assert [r["sv_idle"] for r in p.show("pools", database="auth")] == ["1"]




def test_paused_database_makes_logins_wait(pooler):
    """authentication.md 6: pause"""
    p = asking(pooler, fixed("$1", "'x'"), auth_type="plain",
               dbs={"p0": "user=app"})
    p.admin("pause p0")
    c = start(p)
    p.wait_pool("p0", "postgres", cl_waiting=1)
    p.admin("resume p0")
    assert finish(c).value("select 1") == "1"


@pytest.mark.setting("query_wait_timeout")
def test_wait_for_the_query_has_its_limits(pooler):
    """pooling.md 12: query_wait_timeout, client_login_timeout"""
    p = asking(pooler, fixed("$1", "'x'"), auth_type="plain",
               query_wait_timeout=1)
    p.admin("pause p0")
    c = start(p)
    assert c.recv_all().errors[0].message == "query_wait_timeout"
    p.settings.update(query_wait_timeout=0, client_login_timeout=1)
    p.reload()
    c = start(p)
    assert c.recv_all().errors[0].message == "client_login_timeout"


def test_slow_query_meets_the_login_timeout(pooler):
    """pooling.md 12: the server is closed with its client"""
    p = asking(pooler, SLOW % 60, auth_type="plain", client_login_timeout=1)
    c = start(p)
    assert c.recv_all().errors[0].message == "client_login_timeout"
    wait_until(lambda: "client disconnect while server was not ready"
               in p.log)
    wait_until(lambda: not p.servers())


def test_auth_server_that_is_down_fails_fast(pooler):
    """pooling.md 10: also a login about to run auth_query"""
    p = asking(pooler, dbs={"p0": "auth_dbname=down",
                            "down": "host=127.0.0.1 port=1"},
               client_login_timeout=1)
    first = start(p)
    assert first.recv_all().errors[0].message == "client_login_timeout"
    assert refused(p.open(), user="x", database="p0") == FAILED


def ask_stranger(p, db):
    with p.open() as c:
        return c.login("x", database=db, wait=False).recv_all().errors[0]


def test_stranger_does_not_read_what_the_server_says(pooler):
    """client-errors.md 4: neither at once nor from memory, nor while he
    waits"""
    p = asking(pooler, dbs={"*": ""})
    told = [ask_stranger(p, "ghost") for _ in range(2)]
    assert 'database "ghost" does not exist' in p.log
    for e in told:
        assert (e.code, e.message) == ("08P01", FAILED)
        assert not e.fields.get("D") and e.fields["H"] == LOOKUP_HINT


def test_stranger_who_waits_is_not_told_why(pooler):
    """query_wait_timeout: of the failure that he waits for the end of"""
    p = asking(pooler, dbs={"p0": "auth_dbname=down",
                            "down": "host=127.0.0.1 port=1"},
               query_wait_timeout=1)
    e = ask_stranger(p, "p0")
    assert e.message == "query_wait_timeout"
    assert not e.fields.get("D") and not e.fields.get("H")


@pytest.mark.parametrize("when", ["waiting", "running"])
def test_client_that_leaves_takes_its_query_along(pooler, when):
    """authentication.md 6: the server is closed; PB#1101"""
    # regressions: PB#1101
    p = asking(pooler, SLOW % 60, auth_type="plain")
    if when == "waiting":
        p.admin("pause p0")
    c = start(p)
    if when == "waiting":
        p.wait_pool("p0", "postgres", cl_waiting=1)
    else:
        running(p)
    c.close()
    wait_until(lambda: "client unexpected eof" in p.log)
    wait_until(lambda: not p.servers())
    p.wait_pool("p0", "postgres", cl_waiting=0)
    if when == "waiting":
        p.admin("resume p0")
    p.settings["auth_query"] = fixed("$1", "'x'")
    p.reload()
    assert refused(p.open(), user="app", password_="y", database="p0") == \
        "password authentication failed"
    mem = p.mem()
    assert mem["client_cache"] == 1


def test_server_that_dies_meanwhile_is_a_config_error(pooler, pg):
    """pooling.md 13: client still in login"""
    p = asking(pooler, SLOW % 60, auth_type="plain")
    c = start(p)
    pg.terminate(int(running(p)[0]["remote_pid"]))
    res = c.recv_all()
    assert [e.message for e in res.errors] == [CONFIG]
    assert res.errors[0].code == "08P01"
    wait_until(lambda: not p.servers())


@pytest.mark.parametrize("what", ["kill p0", "reconnect p0", "reload"])
def test_commands_meet_running_queries(pooler, what):
    """bugs of others, family 8: KILL, RECONNECT, RELOAD with auth_user"""
    p = asking(pooler, SLOW % 4, auth_type="plain", dbs={"p0": "user=app"})
    c = start(p)
    running(p)
    p.admin(what)
    if what.startswith("kill"):
        assert [e.message for e in c.recv_all().errors][0] in (
            CONFIG, "database removed")
        p.admin("resume p0")
        return
    assert finish(c).value("select 1") == "1"


def test_database_that_is_removed_takes_its_logins_along(pooler):
    """config-files.md 13: database removed"""
    # regressions: Ody 50499d30
    p = asking(pooler, SLOW % 60, auth_type="plain",
               dbs={"p0": "auth_dbname=auth", "auth": "dbname=p0", "p1": ""})
    c = start(p)
    running(p, "auth")
    del p.dbs["p0"]
    p.reload()
    assert c.recv_all().errors[0].message == "database removed"
    d = start(p, db="p1", **{})
    d.close()


def test_auth_server_is_reset_by_the_rule_of_its_pool(pooler, pg):
    """authentication.md 6: reset query by the pool's rule"""
    p = asking(pooler, fixed("$1", "'x'"), auth_type="plain",
               pool_mode="session", dbs={"p0": "user=app"},
               server_reset_query="select 'reset here'")
    p.raw("u1", "p0", "x").value("select 1")
    wait_until(lambda: pg.sql(
        "select 1 from pg_stat_activity where usename='postgres' and "
        "datname='p0' and query like '%%reset here%%' and state='idle'"))


def test_many_logins_share_the_auth_pool(pooler):
    """authentication.md 6: an ordinary pool; SHOW POOLS"""
    p = asking(pooler, fixed("$1", "'x'"), auth_type="plain",
               dbs={"p0": "user=app auth_dbname=auth",
                    "auth": "dbname=p0 pool_size=2"})
    conns = [start(p, "u%d" % (i % 4)) for i in range(40)]
    for c in conns:
        assert c.finish_login("x", "x").value("select 1") == "1"
    pool = p.pool("auth", "postgres")
    assert pool["sv_idle"] + pool["sv_used"] <= 2
    assert pool["cl_waiting"] == pool["cl_active"] == 0


def test_same_user_in_every_role(pooler):
    """PB#1105, PB#1120, PB#1103, PB#968: auth_user, listed and forced"""
    # regressions: PB#1105, PB#1120, PB#1103, PB#968
    p = pooler({"p0": "user=u_scram password=pw_three auth_user=u_scram",
                "p1": "auth_user=u_scram"},
               userlist=dict(LIST, u_scram="pw_three", app="x"),
               users={"u_scram": "pool_size=5"}, auth_user="u_scram",
               auth_query="select rolname, 'x' from pg_roles where "
               "rolname=$1", auth_type="md5")
    for _ in range(3):
        for user, password in (("u_scram", "pw_three"), ("app", "x"),
                               ("app2", "x")):
            c = p.raw(user, "p0", password)
            assert c.value("select current_user") == "u_scram"
            c.close()
        p.userlist["u%d" % _] = "later"
        p.reload()
        os.utime(p.auth)
        p.admin("reload")
    assert p.show("users", name="u_scram")
    assert len(p.show("users", name="u_scram")) == 1


def test_unknown_database_is_not_asked(pooler):
    """authentication.md 7: another is, if auth_dbname names one"""
    p = asking(pooler, auth_type="plain")
    login = dict(user="u_md5", database="nodb")
    assert refused(p.open(), password_="pw-two", **login) == \
        "password authentication failed"
    assert not p.servers()
    p.admin("set auth_dbname = 'p0'")
    assert refused(p.open(), password_="pw-two", **login) == \
        "no such database: nodb"
    assert refused(p.open(), password_="wrong", **login) == \
        "password authentication failed"


def test_reload_finds_new_users_of_the_file(pooler):
    """authentication.md 2: an entry ends the asking"""
    p = asking(pooler, fixed("$1", "'x'"), auth_type="plain",
               dbs={"p0": "user=app"})
    p.raw("u1", "p0", "x").close()
    p.userlist["u1"] = "listed"
    p.reload()
    assert refused(p.open(), user="u1", password_="x", database="p0") == \
        "password authentication failed"
    p.raw("u1", "p0", "listed").close()
    del p.userlist["u1"]
    p.reload()
    p.raw("u1", "p0", "x").close()


# --- what changes while the query runs ------------------------------------

LATCHED = "select $1::text, 'x' from %s"
OTHERS = "\nhost all admin all trust\nlocal all all trust\n"
RULES = [("password", "reject", "login rejected"),
         ("cert", "password", None),
         ("trust", "cert", "certificate authentication failed"),
         ("trust", "md5", None)]


@pytest.mark.parametrize("before,after,text", RULES)
def test_rule_changes_while_the_query_runs(pooler, latch, before, after, text):
    """the rule that counts is the one in force when the answer is there"""
    p = asking(pooler, LATCHED % latch.query, auth_type="hba",
               dbs={"p0": "user=app"}, start=False)
    rule = "host all x all %s" + OTHERS
    p.settings["auth_hba_file"] = p.put("hba.conf", rule % before)
    p.start()
    c = start(p)
    running(p)
    p.put("hba.conf", rule % after)
    p.reload()
    latch.open()
    if text is not None:
        assert c.recv_all().errors[0].message == text
        return
    kind, body = c.recv()
    assert kind == "R" and body[:4] in (b"\0\0\0\3", b"\0\0\0\5")
    c._auth("x", "x", body)
    assert finish(c).value("select 1") == "1"


@pytest.mark.setting("auth_ident_file")
@pytest.mark.parametrize("before,after,good", [
    ("x", "somebody", False), ("somebody", "all", True)])
def test_map_changes_while_the_query_runs(pooler, certs, latch, before, after,
                                          good):
    """the map that counts is the one in force when the answer is there"""
    p = asking(pooler, LATCHED % latch.query, auth_type="hba",
               dbs={"p0": "user=app"}, start=False,
               **certs.accept("verify-ca"))
    p.settings["auth_ident_file"] = p.put("map", "m app %s\n" % before)
    p.settings["auth_hba_file"] = p.put(
        "hba.conf", "hostssl all x all cert map=m\nlocal all all trust\n")
    p.start()
    c = p.open().start_tls(certs.client_context("client"))
    c.login("x", database="p0", wait=False)
    running(p)
    p.put("map", "m app %s\n" % after)
    p.sighup()
    latch.open()
    if good:
        assert finish(c).value("select 1") == "1"
    else:
        assert c.recv_all().errors[0].message == \
            "certificate authentication failed"


def test_user_gets_an_entry_while_the_query_runs(pooler, latch):
    """an entry ends the asking, and so the answer is none"""
    p = asking(pooler, LATCHED % latch.query, auth_type="plain",
               dbs={"p0": "user=app"})
    ends = start(p), start(p)
    wait_until(lambda: len(running(p)) == 2)
    p.userlist["x"] = "of the file"
    p.reload()
    latch.open()
    old, new = ends
    with pytest.raises(pq.PgError, match="password authentication failed"):
        finish(old)
    assert finish(new, "of the file").value("select 1") == "1"


def test_auth_user_is_removed_while_the_query_runs(pooler, latch):
    """whom nobody would ask for any more is not known"""
    p = asking(pooler, LATCHED % latch.query, auth_type="plain",
               dbs={"p0": "user=app"})
    c = start(p)
    running(p)
    p.admin("set auth_user = ''")
    latch.open()
    with pytest.raises(pq.PgError, match="password authentication failed"):
        finish(c)


@pytest.mark.parametrize("other", [
    "auth_query = 'select $1::text, ''y'''", "auth_user = 'app'",
    "auth_dbname = 'auth'"])
def test_query_is_replaced_while_it_runs(pooler, latch, other):
    """who waits for the answer to the old one is asked for by the new one"""
    query = "select $1::text, case when current_user = 'app' or " \
        "current_database() <> 'p0' then 'y' else 'x' end from " + latch.query
    p = asking(pooler, query, auth_type="plain", dbs={
        "p0": "user=app", "auth": "dbname=p1"})
    old, new = start(p), start(p)
    wait_until(lambda: len(running(p)) == 2)
    p.admin("set " + other)
    latch.open()
    with pytest.raises(pq.PgError, match="password authentication failed"):
        finish(old)
    assert finish(new, "y").value("select 1") == "1"


def test_auth_database_moves_while_the_query_runs(pooler, latch):
    """nor does it count what the server has said that was asked before"""
    query = "select $1::text, current_database()::text from " + latch.query
    p = asking(pooler, query, auth_type="plain", auth_dbname="auth", dbs={
        "p2": "user=app", "auth": "dbname=p0"})
    old, new, asked = (start(p, db="p2") for _ in range(3))
    wait_until(lambda: len(running(p, "auth")) == 3)
    p.dbs["auth"] = "dbname=p1"
    p.reload()
    latch.open()
    with pytest.raises(pq.PgError, match="password authentication failed"):
        finish(old, "p0")
    assert finish(new, "p1").value("select 1") == "1"
    # nor in the midst of the exchange
    assert asked.recv() == ("R", b"\0\0\0\3")
    p.dbs["auth"] = "dbname=p0"
    p.reload()
    asked.send(pq.password("p1"))
    assert asked.recv_all().errors[0].message == \
        "password authentication failed"


def test_user_is_removed_while_the_query_runs(pooler, pg, latch):
    """one row when the query begins, none when it ends: then nobody"""
    pg.sql("create table if not exists q_users (name text, secret text)",
           db="p0")
    pg.sql("truncate q_users; insert into q_users values ('x', 'x')",
           db="p0")
    p = asking(pooler, "select name, secret from q_users, %s where name = $1"
               % latch.query, auth_type="plain", dbs={"p0": "user=app"})
    c = start(p)
    running(p)
    # sent is not begun: what it sees is settled where it waits
    wait_until(lambda: pg.backends(where="wait_event='advisory'"),
               what="the query to wait")
    pg.sql("delete from q_users", db="p0")
    latch.open()
    # its statement began before: the row is still there for this one
    assert finish(c).value("select 1") == "1"
    assert refused(p.open(), user="x", password_="x", database="p0") == \
        "password authentication failed"
