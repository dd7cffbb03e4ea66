# test_entries.py - keys of [databases] and [users], odd names, the fallback
# entry, and what becomes of all that at a reload.
# SPDX-License-Identifier: ISC

import pytest

import pq
from harness import REFERENCE, wait_until

pytestmark = pytest.mark.skipif(REFERENCE, reason="many are newer")
PID = "select pg_backend_pid()"


def fatal(conn):
    res = conn.recv_all()
    assert res.errors, res.messages
    return res.errors[-1].message


def refusal(p, **kw):
    with pytest.raises(pq.PgError) as e:
        p.raw(**kw)
    return e.value.message


def hold(p, n, **kw):
    out = [p.raw(**kw) for _ in range(n)]
    for c in out:
        c.query("begin")
    return out


# --- [databases] ------------------------------------------------------------

@pytest.mark.database("dbname", "client_encoding", "datestyle", "timezone",
                      "application_name")
def test_what_servers_begin_with(pooler):
    """config-files.md 3: sent when the server logs in; for new ones only"""
    p = pooler({"p0": "dbname=p1 client_encoding=LATIN1 datestyle=German "
                "timezone=Asia/Tokyo application_name='it''s me'"})
    c = p.raw()
    assert c.value("select current_database()") == "p1"
    # the client's own values are put on top; these are what RESET goes to
    rows = dict(c.query("select name, reset_val from pg_settings").rows)
    assert rows["client_encoding"] == "LATIN1"
    assert rows["DateStyle"].startswith("German")
    assert rows["TimeZone"] == "Asia/Tokyo"
    assert rows["application_name"] == "it's me"
    pid = c.value(PID)
    p.dbs["p0"] = "dbname=p1 timezone=America/New_York"
    p.reload()
    assert c.value(PID) == pid
    p.admin("reconnect p0")
    assert c.value("select reset_val from pg_settings where name='TimeZone'"
                   ) == "America/New_York"


@pytest.mark.database("reserve_pool_size", "reserve_pool")
@pytest.mark.parametrize("key", ["reserve_pool_size", "reserve_pool"])
def test_reserve_of_a_database(pooler, key):
    """config-files.md 3: reserve_pool is the older name"""
    p = pooler({"p0": key + "=1", "p1": ""}, default_pool_size=1,
               reserve_pool_timeout=0.3)
    hold(p, 1)
    hold(p, 1, database="p1")
    assert p.raw().query("begin").tags == ["BEGIN"]
    c = p.raw(database="p1")
    c.send(pq.query("select 1"))
    p.wait_pool("p1", cl_waiting=1)
    assert p.pool("p1")["sv_active"] == 1


@pytest.mark.database("max_db_client_connections")
def test_clients_of_a_database(pooler):
    """config-files.md 3: overrides the general limit, in either direction"""
    p = pooler({"p0": "max_db_client_connections=1",
                "p1": "max_db_client_connections=3", "p2": "",
                "p3": "dbname=p0 max_db_client_connections=0"},
               max_db_client_connections=2)
    for db, limit in (("p0", 1), ("p1", 3), ("p2", 2), ("p3", 2)):
        for _ in range(limit):
            p.open().login("app", database=db, wait=False)
        wait_until(lambda: int(p.show("databases", name=db)[0]
                               ["current_client_connections"]) == limit)
        assert refusal(p, database=db) == \
            "client connections exceeded (max_db_client_connections)"


@pytest.mark.database("server_lifetime")
def test_lifetime_of_the_servers_of_a_database(pooler):
    """config-files.md 3: wins when larger than 0"""
    p = pooler({"p0": "server_lifetime=1", "p1": "server_lifetime=0"},
               default_pool_size=1)
    a, b = p.raw(), p.raw(database="p1")
    b.query("select 1")
    a.query("select 1")
    p.wait_pool(sv_idle=0)
    assert "closing because: server lifetime over" in p.log
    assert p.pool("p1")["sv_idle"] == 1
    assert p.show("databases", name="p0")[0]["server_lifetime"] == "1"


@pytest.mark.database("query_wait_timeout")
@pytest.mark.user("query_wait_timeout")
def test_wait_of_a_database_and_of_a_user(pooler):
    """config-files.md 6: user, database, global; 0 is no limit, -1 unset"""
    p = pooler({"p0": "query_wait_timeout=1", "p1": "query_wait_timeout=-1",
                "p2": "query_wait_timeout=0"},
               users={"app2": "query_wait_timeout=0",
                      "u0": "query_wait_timeout=1"},
               default_pool_size=1, query_wait_timeout=1)
    waiting = {}
    for db, user in (("p0", "app"), ("p1", "app"), ("p2", "u0"),
                     ("p0", "app2"), ("p2", "app")):
        hold(p, 1, database=db, user=user)
        c = waiting[db, user] = p.raw(user, db)
        c.send(pq.query("select 1"))
    for key in (("p0", "app"), ("p1", "app"), ("p2", "u0")):
        assert fatal(waiting[key]) == "query_wait_timeout"
    assert p.pool("p0", "app2")["cl_waiting"] == 1
    assert p.pool("p2", "app")["cl_waiting"] == 1


def test_odd_names_are_quoted_either_way(pooler):
    """config-files.md 1: quoted keys"""
    p = pooler({"'my shop'": "dbname=p0", '"a ""b"" \'c\'"': "dbname=p0",
                "'x;y=z'": "dbname=p0"},
               users={"'odd; user'": "pool_size=3",
                      '"q""u"': "pool_mode=session"},
               userlist={"odd; user": "", 'q"u': "", "admin": "adminpw"},
               server_login_retry=0)
    for db in ("my shop", "a \"b\" 'c'", "x;y=z"):
        assert p.show("databases", name=db)[0]["database"] == "p0"
    users = {r["name"]: r for r in p.admin("show users")}
    assert users["odd; user"]["pool_size"].strip() == "3"
    assert users['q"u']["pool_mode"] == "session"


def test_keys_that_do_not_exist_are_named(pooler):
    """config-files.md 2: with the one that was probably meant"""
    p = pooler()
    for section, line, why in (
            ("databases", "x = hots=a", "unrecognized connection parameter: "
             'hots (did you mean "host"?)'),
            ("users", "x = pool_siz=1", "unrecognized user parameter: "
             'pool_siz (did you mean "pool_size"?)'),
            ("peers", "1 = host=a prt=1", "unrecognized connection "
             'parameter: prt (did you mean "port"?)'),
            ("databases", "x = port=0", "invalid port: 0"),
            ("databases", "x = pool_mode=often", "invalid pool mode: often"),
            ("databases", "x = load_balance_hosts=no",
             "invalid load_balance_hosts: no"),
            ("databases", "x = host=a,,b", "empty entry in host list"),
            ("databases", "pgbouncer = host=a",
             'database name "pgbouncer" is reserved'),
            ("databases", "y" * 64 + " = host=a", "too long db name: yyy")):
        p.write()
        with open(p.ini, "a") as f:
            f.write("[%s]\n%s\n" % (section, line))
        err = p.console().try_query("reload").errors[0]
        assert why in err.fields["D"], (line, err.fields)


# --- [users] ----------------------------------------------------------------

@pytest.mark.user("reserve_pool_size")
def test_reserve_of_a_user(pooler):
    """config-files.md 4, 6: the user's value beats the database's"""
    p = pooler({"p0": "reserve_pool_size=5"},
               users={"app": "reserve_pool_size=0"}, default_pool_size=1,
               reserve_pool_timeout=0.3)
    hold(p, 1)
    hold(p, 1, user="app2")
    assert p.raw("app2").query("begin").tags == ["BEGIN"]
    c = p.raw()
    c.send(pq.query("select 1"))
    p.wait_pool(cl_waiting=1)
    assert p.pool()["sv_active"] == 1


@pytest.mark.user("max_user_connections", "max_user_client_connections")
def test_limits_of_a_user(pooler):
    """config-files.md 4: count over all databases"""
    p = pooler(users={"app": "max_user_connections=1 "
                      "max_user_client_connections=2"},
               max_user_client_connections=1)
    a, = hold(p, 1)
    b = p.open().login("app", database="p1", wait=False)
    wait_until(lambda: p.pool("p1").get("cl_waiting") == 1)
    assert refusal(p) == \
        "client connections exceeded (max_user_client_connections)"
    p.raw("app2").query("select 1")
    assert refusal(p, user="app2") == \
        "client connections exceeded (max_user_client_connections)"
    a.query("commit")
    b.finish_login("app")
    row = p.show("users", name="app")[0]
    assert (row["max_user_connections"],
            row["max_user_client_connections"]) == ("1", "2")


@pytest.mark.user("query_timeout", "transaction_timeout")
def test_time_outs_of_a_user(pooler, pg):
    """config-files.md 4: of the pool's user"""
    p = pooler({"p0": "", "p1": "user=app"},
               users={"app": "query_timeout=1",
                      "app2": "transaction_timeout=1"})
    for kw, why in (({"user": "app"}, "query timeout"),
                    ({"user": "u0", "database": "p1"}, "query timeout"),
                    ({"user": "app2"}, "transaction timeout")):
        c = p.raw(**kw)
        c.query("begin")
        pid = c.value(PID)
        c.send(pq.query("select pg_sleep(60)"))
        assert fatal(c) == why
        pg.terminate(int(pid))


def test_removed_line_of_a_user_counts_no_more(pooler):
    """config-files.md 4: the reference keeps the values until a restart"""
    p = pooler(users={"app": "pool_size=1 pool_mode=session"},
               default_pool_size=5)
    a, b = p.raw(), p.raw()
    a.query("begin")
    b.send(pq.query("begin"))
    p.wait_pool(cl_waiting=1)
    p.users = {}
    p.reload()
    assert b.recv_until().tags == ["BEGIN"]
    assert p.pool()["pool_mode"] == "transaction"


# --- reload -----------------------------------------------------------------

def test_forced_user_can_be_removed(pooler):
    """PB#355: removing user= takes effect at the reload"""
    p = pooler({"p0": "user=app"})
    old = p.raw("app2")
    assert old.value("select current_user") == "app"
    p.dbs["p0"] = ""
    p.reload()
    assert "losing forced user" not in p.log
    assert p.raw("app2").value("select current_user") == "app2"
    assert p.show("databases", name="p0")[0]["force_user"] is None
    # and can be given again, without a restart too
    p.dbs["p0"] = "user=app"
    p.reload()
    assert p.raw("app2").value("select current_user") == "app"
    # who was there goes on working
    assert old.value("select 1") == "1"


def test_fallback_outlives_reloads(pooler, pg):
    """PB#280: the wildcard entry, and what was made from it, stay"""
    conn = "host=127.0.0.1 port=%d" % pg.port
    p = pooler({"*": conn})
    c = p.raw(database="p1")
    pid = c.value(PID)
    for _ in range(3):
        p.reload()
    assert c.value(PID) == pid
    assert p.raw(database="p2").value("select current_database()") == "p2"


def test_fallback_can_be_removed_and_changed(pooler, pg):
    """config-files.md 3: in the reference its removal waits for a restart"""
    conn = "host=127.0.0.1 port=%d" % pg.port
    p = pooler({"*": conn, "p0": ""})
    c = p.raw(database="p1")
    pid = c.value(PID)
    p.dbs["*"] = conn + " application_name=changed"
    p.reload()
    # a changed text replaces all servers
    assert c.value(PID) != pid
    assert c.value("select reset_val from pg_settings where name="
                   "'application_name'") == "changed"
    del p.dbs["*"]
    p.reload()
    assert refusal(p, database="p2") == "no such database: p2"
    # who is there already stays
    assert c.value("select 1") == "1"
    # an entry of its own takes the automatic one's place
    p.dbs["p1"] = "dbname=p0"
    p.reload()
    assert c.value("select current_database()") == "p0"


def test_line_for_a_database_that_a_login_has_made(pooler, pg):
    """it is one like others at once, whatever becomes of the login"""
    p = pooler({"*": "host=127.0.0.1 port=%d" % pg.port, "p0": ""},
               auth_type="plain")
    half = p.open()
    half.send(pq.startup({"user": "app", "database": "p1"}))
    assert half.recv()[0] == "R"
    p.dbs["p1"] = "dbname=p0 user=app min_pool_size=1"
    p.reload()
    wait_until(lambda: len(p.servers("p1")) == 1)
    half.abort()
    p.raw().query("select 1")
    assert len(p.servers("p1")) == 1
    assert "dropping database 'p1'" not in p.log


def test_new_limits_help_who_waits_already(pooler):
    """config-files.md 3: live"""
    p = pooler({"p0": "pool_size=1"})
    hold(p, 1)
    c = p.raw()
    c.send(pq.query("select 1"))
    p.wait_pool(cl_waiting=1)
    p.dbs["p0"] = "pool_size=2"
    p.reload()
    assert c.recv_until().rows == [["1"]]


def test_unknown_include_changes_nothing(pooler):
    """config-files.md 1: missing, bad and too deep includes"""
    p = pooler(default_pool_size=3)
    deep = p.put("deep.ini", "%%include %s/deep.ini\n" % p.dir)
    bad = p.put("bad.ini", "[databases]\nx\n")
    p.settings["default_pool_size"] = 4
    for path, why in (("/does/not/exist", "could not load file"),
                      (deep, "include nesting level too deep"),
                      (bad, "syntax error in configuration (%s:2)" % bad)):
        p.write()
        with open(p.ini, "a") as f:
            f.write("%%include %s\n" % path)
        err = p.console().try_query("reload").errors[0]
        assert why in err.fields["D"], err.fields
        assert p.show("config", key="default_pool_size")[0]["value"] == "3"
