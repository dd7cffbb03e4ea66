# test_auth_query_cache.py - answers of auth_query that are kept.
# SPDX-License-Identifier: ISC
import os
import pwd

import pytest

import harness
import pq
from harness import BIG, REFERENCE, is_forced, wait_until
from test_counters import counters
from test_login import refused, secret

pytestmark = [
    pytest.mark.skipif(REFERENCE, reason="newer than that"),
    pytest.mark.setting("auth_query_cache"),
]

LIST = {"asker": "", "admin": "adminpw"}
MANY = 1000 if BIG else 100
# A lock lets a query last until the test has it go on.
SETUP = """
create table auth_roles (name text, secret text)
create sequence auth_asked
create function auth_ask(text) returns setof auth_roles language plpgsql \
security definer as $$ begin perform nextval('auth_asked'); \
perform pg_advisory_xact_lock_shared(1); \
return query select * from auth_roles where name = $1; end $$
create role asker login
"""
DOWN = ["drop function auth_ask", "drop sequence auth_asked",
        "drop table auth_roles", "drop role asker"]


class Roles:
    """What the server knows, and how often it was asked."""

    def __init__(self, pg):
        self.pg = pg
        self.latches = []

    def put(self, name, text="x"):
        self.pg.sql("delete from auth_roles where name = '%s'" % name,
                    "insert into auth_roles values ('%s', '%s')" % (
                        name, text.replace("'", "''")), db="p0")

    def drop(self, name):
        self.pg.sql("delete from auth_roles where name = '%s'" % name,
                    db="p0")

    def asked(self):
        return self.pg.sql("select case when is_called then last_value "
                           "else 0 end from auth_asked", db="p0")[0][0]

    def hang(self):
        """Queries last until the latch that this returns is opened."""
        self.latches.append(harness.Latch(self.pg))
        return self.latches[-1]

    def go_down(self):
        """No server can be asked any more."""
        self.pg.sql("alter role asker nologin",
                    "select pg_terminate_backend(pid, 10000) from "
                    "pg_stat_activity where usename = 'asker'")

    def come_back(self):
        self.pg.sql("alter role asker login")


@pytest.fixture
def roles(pg):
    pg.sql(*SETUP.strip().replace("\\\n", "").splitlines(), db="p0")
    known = Roles(pg)
    known.put("ann")
    yield known
    for latch in known.latches:
        latch.open()
    pg.sql("select pg_terminate_backend(pid, 10000) from pg_stat_activity "
           "where usename = 'asker'")
    pg.sql(*DOWN, db="p0")


def caching(pooler, cache=3600, dbs=None, **kw):
    kw.setdefault("auth_type", "scram-sha-256")
    kw.setdefault("server_login_retry", 0.1)
    return pooler(dbs or {"p0": "user=app"}, userlist=LIST, auth_user="asker",
                  auth_query="select name, secret from auth_ask($1)",
                  auth_query_cache=cache, **kw)


OLD = 0.000001	# older than that is each answer when it is used next


def enter(p, password="x", user="ann", db="p0"):
    with p.raw(user, db, password) as c:
        return c.value("select 1")


def deny(p, password="x", user="ann", db="p0"):
    return refused(p.open(), user=user, password_=password, database=db)


# --- how often -------------------------------------------------------------

@pytest.mark.parametrize("cache,asked", [(3600, 1), (0, 10)])
def test_young_answer_spares_the_query(pooler, roles, cache, asked):
    p = caching(pooler, cache)
    for _ in range(10):
        assert enter(p) == "1"
    assert roles.asked() == asked


@pytest.mark.parametrize("cache,workers", [(3600, 1), (3600, 2), (0, 1)])
def test_storm_asks_once(pooler, roles, cache, workers):
    """one query per name runs at a time, and all wait for it"""
    p = caching(pooler, cache, workers=workers, max_client_conn=MANY + 50,
                dbs={"p0": "user=app", "p1": "user=app auth_dbname=p0"},
                client_login_timeout=600)
    latch = roles.hang()
    conns = [(i, p.open().login("ann", database="p%d" % (i % 2), wait=False))
             for i in range(MANY)]
    wait_until(lambda: roles.asked() > 0)
    latch.open()
    for _, c in conns:
        c.finish_login("ann", "x")
    # a worker keeps its own answers
    print("%d logins sent %d queries" % (MANY, roles.asked()))
    assert 0 < roles.asked() <= workers if cache else \
        roles.asked() == MANY
    for _, c in conns:
        c.close()


def test_each_name_is_asked_for(pooler, roles):
    p = caching(pooler, auth_type="plain")
    for i in range(20):
        roles.put("u%d" % i, "of %d" % i)
    for _ in range(2):
        for i in range(20):
            assert enter(p, "of %d" % i, "u%d" % i) == "1"
    assert roles.asked() == 20
    assert deny(p, "of 1", "u2") == "password authentication failed"


def test_answers_of_one_question_are_not_those_of_another(pooler, roles, pg):
    """the key: user, auth_user, auth_dbname, auth_query"""
    other = "select $1::text, ''%s''::text"
    dbs = {
        "p0": "user=app", "p1": "user=app auth_dbname=p0",
        "p2": "user=app auth_dbname=p0 auth_query='%s'" % (other % "two"),
        "p3": "dbname=p0 user=app auth_user=postgres auth_query='%s'" % (
            other.replace("''%s''", "current_user"))}
    p = pooler(dbs, userlist=dict(LIST, postgres=""), auth_user="asker",
               auth_query="select name, secret from auth_ask($1)",
               auth_query_cache=3600, auth_type="plain")
    for _ in range(2):
        assert enter(p, "x", db="p0") == "1"
        assert enter(p, "x", db="p1") == "1"
        assert enter(p, "two", db="p2") == "1"
        assert enter(p, "postgres", db="p3") == "1"
        for db in ("p0", "p1", "p3"):
            assert deny(p, "two", db=db) == "password authentication failed"
        assert deny(p, "x", db="p2") == "password authentication failed"


def test_absent_name_is_kept_for_a_second(pooler, roles):
    p = caching(pooler)

    def spared():
        before = roles.asked()
        assert deny(p, user="ghost") == "SASL authentication failed"
        return roles.asked() == before
    wait_until(spared)
    roles.put("ghost")
    wait_until(lambda: not isinstance(attempt(p, "ghost"), pq.PgError))


def attempt(p, user="ann", password="x"):
    try:
        return enter(p, password, user)
    except pq.PgError as e:
        return e


def test_invented_names_drive_out_no_known_one(pooler, roles):
    p = caching(pooler, max_client_conn=3000, auth_failure_delay=0,
                log_connections=0)
    assert enter(p) == "1"
    before = p.mem()["auth_query_cache"]
    for i in range(0, 1500, 100):
        conns = [p.open().login("ghost%d" % (i + j), database="p0",
                                wait=False) for j in range(100)]
        for c in conns:
            with pytest.raises(pq.PgError):
                c.finish_login("g", "x")
            c.close()
    asked = roles.asked()
    assert enter(p) == "1"
    assert roles.asked() == asked
    # of each worker a thousand at most, and they go
    assert p.mem()["auth_query_cache"] <= before + 1000
    wait_until(lambda: p.mem()["auth_query_cache"] == before)


# --- how old ---------------------------------------------------------------

def test_old_answer_is_used_while_it_is_asked_again(pooler, roles):
    """the exchange begins; who has proven it is let in when that is answered"""
    p = caching(pooler, OLD, auth_type="md5")
    assert enter(p) == "1"
    latch = roles.hang()
    c = p.open().login("ann", database="p0", wait=False)
    assert c.recv()[0] == "R"
    wait_until(lambda: roles.asked() == 2)
    latch.open()
    c.close(polite=False)
    assert enter(p) == "1"


@pytest.mark.parametrize("method", ["plain", "md5", "scram-sha-256"])
def test_dropped_role_is_refused_by_an_old_answer(pooler, roles, method):
    p = caching(pooler, OLD, auth_type=method)
    assert enter(p) == "1"
    roles.drop("ann")
    assert "authentication failed" in deny(p)
    assert "authentication failed" in deny(p)


@pytest.mark.setting("auth_query_cache_stale")
@pytest.mark.parametrize("stale", [3600, 0])
def test_old_answer_serves_while_no_server_can_be_asked(pooler, roles, stale):
    p = caching(pooler, OLD, auth_query_cache_stale=stale)
    assert enter(p) == "1"
    roles.go_down()
    try:
        if stale > 0:
            for _ in range(5):
                assert enter(p) == "1"
            assert "auth_query cannot be asked" in p.log
            assert deny(p, "wrong") == "SASL authentication failed"
        else:
            assert deny(p) == "server login failed"
    finally:
        roles.come_back()
    roles.drop("ann")
    wait_until(lambda: isinstance(attempt(p), pq.PgError))


def test_server_that_hangs_is_none_that_can_be_asked(pooler, roles):
    p = caching(pooler, OLD)
    assert enter(p) == "1"
    latch = roles.hang()
    assert enter(p) == "1"
    assert "auth_query cannot be asked" in p.log
    latch.open()


@pytest.mark.parametrize("error,serves", [
    ("raise exception 'ann is locked'", False),
    ("raise division_by_zero", False),
    ("raise exception using errcode = '53200'", True),
    ("raise query_canceled", True)])
def test_error_of_the_query_is_what_the_server_says(pooler, roles, pg, error,
                                                    serves):
    """unless it is short of something: an old answer is used if none can be"""
    p = caching(pooler, OLD)
    assert enter(p) == "1"
    pg.sql("create or replace function auth_ask(text) returns setof auth_roles "
           "language plpgsql security definer as $$ begin %s; end $$" % error,
           db="p0")
    for _ in range(2):
        if serves:
            assert enter(p) == "1"
        else:
            assert deny(p) == "bouncer config error"


def test_answer_that_is_none_ends_the_old_one(pooler, roles, pg):
    p = caching(pooler, OLD)
    assert enter(p) == "1"
    pg.sql("create or replace function auth_ask(text) returns setof auth_roles "
           "language sql security definer as $$ select null, 'x' $$", db="p0")
    assert deny(p) == "bouncer config error"
    assert deny(p) == "bouncer config error"


# --- what has changed ------------------------------------------------------

@pytest.mark.parametrize("method,kind", [
    ("plain", "plain"), ("md5", "plain"), ("plain", "scram"),
    ("plain", "md5"), ("md5", "md5")])
def test_new_password_is_judged_by_a_fresh_answer(pooler, roles, method, kind):
    p = caching(pooler, auth_type=method)
    assert enter(p) == "1"
    roles.put("ann", pq_secret(kind))
    assert enter(p, "s3cret 'é") == "1"
    assert roles.asked() == 2
    assert "authentication failed" in deny(p, "x")


def pq_secret(kind):
    """Of the user ann."""
    if kind != "md5":
        return secret(kind)
    import hashlib
    return "md5" + hashlib.md5("s3cret 'éann".encode()).hexdigest()


def test_new_password_by_scram_takes_a_second_login(pooler, roles):
    """a proof is for one salt: the first failure is not counted"""
    p = caching(pooler, auth_failure_delay=3600)
    roles.put("ann", secret("scram"))
    assert enter(p, "s3cret 'é") == "1"
    for i in range(20):
        roles.put("ann", "pw %d" % i)
        assert deny(p, "pw %d" % i) == "SASL authentication failed"
        assert enter(p, "pw %d" % i) == "1"
    assert roles.asked() == 21
    assert p.log.count("the password has changed since auth_query") == 20


def test_wrong_password_counts_and_asks_once(pooler, roles):
    p = caching(pooler)
    assert enter(p) == "1"
    assert deny(p, "wrong") == "SASL authentication failed"
    assert roles.asked() == 2
    assert enter(p) == "1"
    assert roles.asked() == 2
    assert "the password has changed" not in p.log


def test_guesses_are_delayed_by_cached_secrets_too(pooler, roles):
    p = caching(pooler, auth_failure_delay=3600, client_login_timeout=0)
    assert enter(p) == "1"
    late = []
    for _ in range(30):
        c = p.open().login("ann", database="p0", wait=False)
        scram_wrong(c)
        late.append(c)
    wait_until(lambda: roles.asked() > 1)
    assert any(not c.readable(0.1) for c in late)
    # a right password has no delay
    assert enter(p) == "1"


def scram_wrong(c):
    for _ in range(2):
        kind, body = c.recv()
        assert kind == "R"
        c._auth("ann", "wrong", body)


@pytest.mark.parametrize("method,kinds", [
    ("plain", ["plain", "scram", "md5"]), ("md5", ["plain", "md5"])])
def test_same_password_stored_anew_is_right(pooler, roles, method, kinds):
    """by an old answer, and by the new one: it is no other password"""
    p = caching(pooler, OLD, auth_type=method, auth_failure_delay=3600)
    for kind in kinds * 2:
        roles.put("ann", pq_secret(kind))
        assert enter(p, "s3cret 'é") == "1"
    roles.put("ann", "another")
    assert deny(p, "s3cret 'é") == "password authentication failed"


@pytest.mark.parametrize("method", ["trust", "cert", "peer"])
def test_new_password_is_nothing_to_who_proves_a_name(pooler, roles, certs,
                                                      method):
    p = caching(pooler, OLD, start=False, auth_type="hba",
                **certs.accept("verify-ca"))
    p.settings["auth_hba_file"] = p.put(
        "hba.conf", "local all ann peer map=m\nhostssl all ann all %s\n"
        "host all all all trust\n" % method.replace("peer", "cert"))
    p.settings["auth_ident_file"] = p.put(
        "ident.conf", "m %s ann\n" % pwd.getpwuid(os.getuid()).pw_name)
    p.start()
    certs.make("ann", "/CN=ann")

    def login():
        c = p.open(unix=method == "peer")
        if method != "peer":
            c.start_tls(certs.client_context("ann"))
        with c.login("ann", database="p0") as c:
            return c.value("select 1")
    for i in range(3):
        roles.put("ann", "password %d" % i)
        assert login() == "1"
    roles.drop("ann")
    with pytest.raises(pq.PgError) as e:
        login()
    assert "failed" in e.value.message or "rejected" in e.value.message


# --- forgetting ------------------------------------------------------------

@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("command", ["forget user ann", "reload",
                                     'FORGET USER "ann"'])
def test_command_forgets_the_answer(pooler, roles, command, workers):
    p = caching(pooler, workers=workers)
    roles.put("bob")
    assert enter(p) == enter(p, user="bob") == "1"
    roles.drop("ann")
    assert enter(p) == "1"
    p.admin(command)
    assert deny(p) == "SASL authentication failed"
    asked = roles.asked()
    assert enter(p, user="bob") == "1"
    assert roles.asked() == asked + (command == "reload")


@pytest.mark.parametrize("under_way", [False, True])
def test_forget_knows_the_name_that_another_leads_to(pooler, roles, under_way):
    p = pooler({"p0": "user=app"}, userlist=LIST, auth_user="asker",
               auth_query="select name, secret from auth_ask(lower($1))",
               auth_query_cache=3600, auth_type="plain")
    assert enter(p, user="ANN") == "1"
    if under_way:
        latch = roles.hang()
        c = p.open().login("Ann", database="p0", wait=False)
        wait_until(lambda: roles.asked() == 2)
        p.admin("forget user ann")
        latch.open()
        c.finish_login("Ann", "x")
        assert roles.asked() == 3
        return
    roles.drop("ann")
    assert enter(p, user="ANN") == "1"
    p.admin("forget user ann")
    assert deny(p, user="ANN") == "password authentication failed"


def test_answer_under_way_is_none_any_more_after_forget(pooler, roles, pg):
    p = caching(pooler, auth_type="plain")
    latch = roles.hang()
    c = p.open().login("ann", database="p0", wait=False)
    wait_until(lambda: roles.asked() == 1)
    p.admin("forget user ann")
    latch.open()
    c.finish_login("ann", "x")
    assert roles.asked() == 2


@pytest.mark.parametrize("command", ["forget", "forget ann", "forget user",
                                     "forget user a b"])
def test_forget_wants_a_user(pooler, command):
    p = pooler()
    res = p.console().try_query(command)
    assert "invalid command" in res.errors[0].message


# --- and everything else ---------------------------------------------------

def test_login_waits_for_its_answer_during_a_pause(pooler, roles):
    p = caching(pooler)
    con = p.console()
    con.query("pause")
    c = p.open().login("ann", database="p0", wait=False)
    p.wait_pool("p0", "asker", cl_waiting=1)
    con.query("resume")
    assert c.finish_login("ann", "x").value("select 1") == "1"


def test_login_that_leaves_takes_no_answer_from_others(pooler, roles):
    p = caching(pooler)
    latch = roles.hang()
    first = p.open().login("ann", database="p0", wait=False)
    wait_until(lambda: roles.asked() == 1)
    second = p.open().login("ann", database="p0", wait=False)
    first.abort()
    latch.open()
    assert second.finish_login("ann", "x").value("select 1") == "1"
    assert roles.asked() == 1


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("dbs", ["own", "other", "star"])
def test_strangers_who_left_leave_no_query_behind(pooler, roles, workers, dbs):
    """each name would wait for a server, and others behind it"""
    p = caching(pooler, auth_type="plain", workers=workers, dbs={
        "own": {"p0": "user=app"}, "star": {"*": "user=app"},
        "other": {"p0": "user=app", "p1": "auth_dbname=p0 user=app",
                  "p2": "auth_dbname=p0 user=app"}}[dbs])
    con = p.console()
    con.query("pause")
    for i in range(60):
        name = {"own": "p0", "other": "p%d" % (i % 3), "star": "x%d" % i}[dbs]
        p.open().login("ghost%d" % i, database=name, wait=False).close(
            polite=False)
    wait_until(lambda: lookups(p) == 0)
    stays = p.open().login("ann", database="p0", wait=False)
    leaves = p.open().login("ann", database="p0", wait=False)
    wait_until(lambda: lookups(p) == 1)
    leaves.close(polite=False)
    con.query("resume")
    assert stays.finish_login("ann", "x").value("select 1") == "1"
    assert roles.asked() == 1


def lookups(p):
    return sum(int(r["cl_waiting"]) for r in p.show("pools", user="asker"))


def test_answer_is_wanted_by_who_comes_later(pooler, roles):
    """the first login leaves, and another one comes before that is noticed"""
    p = caching(pooler, auth_type="plain", workers=2, auth_dbname="p0",
                dbs={"p%d" % i: "dbname=p0 user=app" for i in range(4)})
    con = p.console()
    con.query("pause")
    conns = []
    for i in range(40):
        db = "p%d" % (i % 4)
        p.open().login("ann", database=db, wait=False).close(polite=False)
        conns.append(p.open().login("ann", database=db, wait=False))
    con.query("resume")
    for c in conns:
        assert c.finish_login("ann", "x").value("select 1") == "1"


def test_login_in_pieces_is_the_same(pooler, roles):
    p = caching(pooler, OLD, auth_type="plain")
    for _ in range(3):
        c = p.open()
        c.send_split(pq.startup({"user": "ann", "database": "p0"}), 5)
        assert c.recv()[0] == "R"
        c.send_split(pq.msg("p", b"x\0"), 6)
        assert c.recv_until().kinds.endswith("Z")
        c.close()


def test_password_behind_the_startup_packet_is_read(pooler, roles):
    """what a hasty client sends while its answer is on its way"""
    p = caching(pooler, OLD, auth_type="plain")
    for _ in range(3):
        c = p.open()
        c.send(pq.startup({"user": "ann", "database": "p0"}) +
               pq.msg("p", b"x\0") + pq.query("select 7"))
        assert c.recv_until().kinds.endswith("Z")
        assert c.recv_until().rows == [["7"]]
        c.close()


@pytest.mark.skipif(not is_forced(), reason="nothing can be forced")
def test_wrong_password_at_another_worker_asks_once(pooler, roles):
    """the worker that has a part of the pool counts queries of its own"""
    p = caching(pooler, start=False, workers=2, auth_type="plain",
                default_pool_size=16, dbs={"p0": ""}, auth_failure_delay=0)
    p.env.update(PARTS_FORCE="1", PGSLUICE_FORCE="moves")
    p.start()
    roles.put("app", "apppw")
    with p.raw("app", password="apppw") as c:
        assert c.value("select 1") == "1"
    wait_until(lambda: "is also served by worker" in p.log)
    for i in range(40):
        deny(p, user="ghost%d" % i)
    for _ in range(10):
        before = roles.asked()
        deny(p, "wrong", "app")
        assert roles.asked() <= before + 1


@pytest.mark.parametrize("database", ["p0", "p1", "p2", "p3"])
def test_other_worker_asks(pooler, roles, database):
    """auth_dbname may belong to another worker: the answer is kept here"""
    p = caching(pooler, workers=3, auth_dbname="p0",
                dbs={"p%d" % i: "dbname=p0 user=app" for i in range(4)})
    for _ in range(5):
        assert enter(p, db=database) == "1"
    assert roles.asked() == 1
    roles.put("ann", "new")
    assert deny(p, "new", db=database) == "SASL authentication failed"
    assert enter(p, "new", db=database) == "1"
    assert deny(p, db=database) == "SASL authentication failed"


def test_uses_are_counted(pooler, roles):
    """SHOW COUNTERS: of each login by auth_query"""
    p = caching(pooler, auth_type="plain")

    def uses():
        return {label[4:]: n for (name, label), n in counters(p).items()
                if name == "auth_query_cache"}
    enter(p)
    enter(p)
    deny(p, "wrong")
    assert uses() == {"miss": 1, "hit": 2}
    p.admin("set auth_query_cache = '%s'" % OLD)
    enter(p)
    enter(p)
    assert uses() == {"miss": 2, "hit": 2, "old": 1}
    roles.go_down()
    try:
        enter(p)
    finally:
        roles.come_back()
    assert uses() == {"miss": 2, "hit": 2, "old": 2, "stale": 1}
