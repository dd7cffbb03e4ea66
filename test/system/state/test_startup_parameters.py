# test_startup_parameters.py - settings that each server connection begins with.
# SPDX-License-Identifier: ISC
import subprocess

import pytest

import harness
import pq
from harness import REFERENCE, wait_until
from test_takeover import take_over

pytestmark = [
    pytest.mark.skipif(REFERENCE, reason="newer than that"),
    pytest.mark.setting("startup_parameters"),
]

STATES = ["forget", "clean", "keep"]
GIVEN = "statement_timeout=30s work_mem=5MB timezone=Asia/Tokyo"


def giving(pooler, params=GIVEN, dbs=None, **kw):
    kw.setdefault("default_pool_size", 1)
    return pooler(dbs, startup_parameters=params, **kw)


def pid(c):
    return c.value("select pg_backend_pid()")


# --- what a session has ----------------------------------------------------

@pytest.mark.parametrize("state", STATES)
def test_reset_and_discard_return_to_them(pooler, state):
    p = giving(pooler, session_state=state)
    c = p.raw()
    assert c.params["TimeZone"] == "Asia/Tokyo"
    for back in ("reset statement_timeout", "reset all", "discard all",
                 "set statement_timeout to default"):
        assert c.value("show statement_timeout") == "30s"
        c.query("set statement_timeout = '7s'")
        c.query(back)
        assert c.value("show statement_timeout") == "30s"
        assert c.value("show work_mem") == "5MB"
        assert c.value("show timezone") == "Asia/Tokyo"


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("mode", ["transaction", "session"])
def test_next_client_has_them_again(pooler, state, mode):
    p = giving(pooler, session_state=state, pool_mode=mode,
               server_reset_query="DISCARD ALL")
    with p.raw() as c:
        server = pid(c)
        if state != "forget" or mode == "session":
            c.query("set statement_timeout = '7s'")
            c.query("set timezone = 'UTC'")
    with p.raw() as c:
        assert c.value("show statement_timeout") == "30s"
        assert c.value("show timezone") == "Asia/Tokyo"
        assert pid(c) == server


def test_settings_of_a_client_stay_its_own_in_keep(pooler):
    p = giving(pooler, session_state="keep")
    a, b = p.raw(), p.raw()
    a.query("set statement_timeout = '7s'")
    for _ in range(3):
        assert a.value("show statement_timeout") == "7s"
        assert b.value("show statement_timeout") == "30s"
    a.query("reset statement_timeout")
    assert a.value("show statement_timeout") == "30s"
    assert len(p.servers()) == 1


@pytest.mark.database("startup_parameters")
@pytest.mark.user("startup_parameters")
def test_later_level_goes_before_an_earlier_one(pooler):
    p = giving(pooler, "work_mem=1MB statement_timeout=1s lock_timeout=1s",
               dbs={"p0": "startup_parameters='work_mem=2MB "
                    "statement_timeout=2s'", "p1": ""},
               users={"app": "startup_parameters='work_mem=3MB'"})
    for user, db, want in (("app", "p0", ["3MB", "2s", "1s"]),
                           ("app", "p1", ["3MB", "1s", "1s"]),
                           ("app2", "p0", ["2MB", "2s", "1s"]),
                           ("app2", "p1", ["1MB", "1s", "1s"])):
        c = p.raw(user, db)
        assert [c.value("show " + n) for n in (
            "work_mem", "statement_timeout", "lock_timeout")] == want


@pytest.mark.database("startup_parameters")
@pytest.mark.user("startup_parameters")
def test_values_may_have_blanks_and_apostrophes(pooler):
    p = giving(pooler, "application_name='a b''c' search_path=''", dbs={
        "p0": "", "p1": "startup_parameters='search_path=''app, public'' "
        "application_name=''it''''s'''"})
    c = p.raw()
    assert c.value("show application_name") == "a b'c"
    assert c.value("show search_path") in ("", '""')
    c = p.raw(database="p1")
    assert c.value("show search_path") == "app, public"
    assert c.value("show application_name") == "it's"


def test_keys_of_the_database_go_before_its_list(pooler):
    p = giving(pooler, "timezone=Asia/Tokyo", dbs={
        "p0": "timezone=UTC startup_parameters='timezone=Europe/Rome'"},
        users={"app2": "startup_parameters='timezone=Asia/Seoul'"})
    assert p.raw().value("show timezone") == "UTC"
    assert p.raw("app2").value("show timezone") == "Asia/Seoul"


def test_connect_query_runs_behind_them(pooler):
    p = giving(pooler, dbs={"p0": "connect_query='set work_mem = ''6MB'''"})
    c = p.raw()
    assert c.value("show work_mem") == "6MB"
    assert c.value("show statement_timeout") == "30s"


def test_role_may_be_given(pooler, pg):
    pg.sql("create role app_role", "grant app_role to app")
    try:
        for state in STATES:
            p = giving(pooler, "role=app_role", session_state=state)
            c = p.raw()
            assert c.value("select current_user") == "app_role"
            c.query("discard all")
            assert c.value("select current_user") == "app_role"
            p.stop()
    finally:
        pg.sql("drop owned by app_role", "drop role app_role")


@pytest.mark.parametrize("params", ["no_such_thing=1", "work_mem=nonsense",
                                    "log_statement=all"])
def test_what_the_server_refuses_fails_the_login(pooler, params):
    p = giving(pooler, params)
    with pytest.raises(pq.PgError) as e:
        p.raw().query("select 1")
    assert params.split("=")[0] in e.value.message
    assert params.split("=")[0] in p.log


# --- what the client says --------------------------------------------------

@pytest.mark.parametrize("state", STATES)
def test_packet_of_the_client_goes_before_them(pooler, state):
    p = giving(pooler, session_state=state)
    a, b = p.raw(TimeZone="UTC"), p.raw(options="-c timezone=Asia/Seoul")
    c = p.raw()
    assert a.params["TimeZone"] == "UTC"
    for _ in range(2):
        assert a.value("show timezone") == "UTC"
        assert b.value("show timezone") == "Asia/Seoul"
        assert c.value("show timezone") == "Asia/Tokyo"
    if state == "forget":
        return
    d = p.raw(options="-c statement_timeout=9s")
    for _ in range(2):
        assert d.value("show statement_timeout") == "9s"
        assert c.value("show statement_timeout") == "30s"


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("packet", [
    {"TimeZone": "UTC"}, {"options": "-c timezone=UTC"},
    {"statement_timeout": "9s"}, {"options": "-c Statement_Timeout=9s"},
    {"options": "-c statement_timeout=9s -c timezone=UTC"}])
def test_mark_drops_what_the_client_says(pooler, state, packet):
    p = giving(pooler, "statement_timeout!=30s timezone!=Asia/Tokyo",
               session_state=state)
    c = p.raw(**packet)
    assert c.params["TimeZone"] == "Asia/Tokyo"
    for _ in range(2):
        assert c.value("show timezone") == "Asia/Tokyo"
        assert c.value("show statement_timeout") == "30s"
    # what it says later is its own
    c.query("begin")
    c.query("set statement_timeout = '7s'")
    assert c.value("show statement_timeout") == "7s"
    c.query("rollback")


def test_set_of_a_marked_one_is_kept_as_any_other(pooler):
    p = giving(pooler, "statement_timeout!=30s", session_state="keep")
    a, b = p.raw(), p.raw()
    a.query("set statement_timeout = '7s'")
    for _ in range(2):
        assert b.value("show statement_timeout") == "30s"
        assert a.value("show statement_timeout") == "7s"


def test_others_are_refused_as_ever(pooler):
    p = giving(pooler, "statement_timeout!=30s", session_state="forget")
    with pytest.raises(pq.PgError) as e:
        p.raw(statement_timeout="1s", lock_timeout="1s")
    assert e.value.message == "unsupported startup parameter: lock_timeout"
    with pytest.raises(pq.PgError) as e:
        p.raw(options="-c lock_timeout=1s -c statement_timeout=3s")
    assert e.value.message == \
        "unsupported startup parameter in options: lock_timeout"
    assert p.raw(statement_timeout="1s").value("select 1") == "1"


@pytest.mark.database("startup_parameters")
@pytest.mark.user("startup_parameters")
def test_later_level_may_take_the_mark_away(pooler):
    p = giving(pooler, "timezone!=Asia/Tokyo", dbs={
        "p0": "", "p1": "startup_parameters='timezone=UTC'"},
        users={"app2": "startup_parameters='timezone!=Asia/Seoul'"})
    asked = {"TimeZone": "Europe/Rome"}
    assert p.raw(**asked).value("show timezone") == "Asia/Tokyo"
    assert p.raw(database="p1", **asked).value("show timezone") == \
        "Europe/Rome"
    assert p.raw("app2", "p1", **asked).value("show timezone") == "Asia/Seoul"


def test_application_name_of_the_operator(pooler):
    p = giving(pooler, "application_name!=ours", application_name_add_host=1)
    c = p.raw(application_name="theirs")
    assert c.params["application_name"] == "ours"
    assert c.value("show application_name") == "ours"


def test_start_up_packet_in_pieces_is_the_same(pooler):
    p = giving(pooler, "timezone!=Asia/Tokyo")
    packet = pq.startup({"user": "app", "database": "p0", "TimeZone": "UTC"})
    for at in (1, 8, 20, len(packet) - 1):
        c = p.open()
        c.send_split(packet, at)
        c.finish_login("app")
        assert c.value("show timezone") == "Asia/Tokyo"
        c.close()


def test_replication_has_them_too(pooler):
    p = giving(pooler)
    with p.raw("postgres", replication="database") as c:
        assert c.value("show statement_timeout") == "30s"
        assert c.value("show timezone") == "Asia/Tokyo"
    with p.raw("postgres", replication="database", TimeZone="UTC") as c:
        assert c.value("show timezone") == "UTC"
        assert c.params["TimeZone"] == "UTC"
    p.settings["startup_parameters"] = "timezone!=Asia/Tokyo"
    p.reload()
    with p.raw("postgres", replication="database", TimeZone="UTC") as c:
        assert c.value("show timezone") == "Asia/Tokyo"


# --- changes ---------------------------------------------------------------

@pytest.mark.parametrize("how", ["setting", "database", "user", "star"])
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.database("startup_parameters")
@pytest.mark.user("startup_parameters")
def test_change_replaces_servers(pooler, how, workers):
    p = giving(pooler, "", dbs={"p0": "", "*": ""}, workers=workers)
    db = "p1" if how == "star" else "p0"
    c = p.raw(database=db)
    d = p.raw("app2", db)
    c.query("begin")
    before, other = pid(c), pid(d)
    text = "work_mem=5MB"
    if how == "setting":
        p.settings["startup_parameters"] = text
    elif how == "user":
        p.users["app"] = "startup_parameters='%s'" % text
    else:
        p.dbs["*" if how == "star" else "p0"] = \
            "startup_parameters='%s'" % text
    p.reload()
    # it goes on until it is released
    assert pid(c) == before
    c.query("commit")
    assert c.value("show work_mem") == "5MB"
    assert pid(c) != before
    assert (d.value("show work_mem") == "5MB") == (how != "user")
    assert (pid(d) != other) == (how != "user")
    # nothing new: nothing goes
    before = pid(c)
    p.reload()
    assert pid(c) == before
    assert p.raw(database=db).value("show work_mem") == "5MB"


def test_welcome_is_that_of_the_new_servers(pooler):
    p = giving(pooler, "timezone=Asia/Tokyo")
    c = p.raw()
    assert c.value("select 1") == "1"
    p.admin("set startup_parameters = 'timezone=Asia/Seoul'")
    d = p.raw()
    assert d.params["TimeZone"] == d.value("show timezone") == "Asia/Seoul"
    # one that was told of another value keeps that
    assert c.value("show timezone") == "Asia/Tokyo"


@pytest.mark.parametrize("state", STATES)
def test_takeover_lends_no_server_with_others(pooler, state):
    p = giving(pooler, session_state=state)
    c = p.raw()
    before = pid(c)
    q = take_over(pooler, p, startup_parameters=GIVEN)
    assert pid(c) == before
    r = take_over(pooler, q, startup_parameters="work_mem=6MB")
    assert c.value("show work_mem") == "6MB"
    assert pid(c) != before
    assert r.raw().value("show statement_timeout") == "0"


def test_move_to_another_worker_changes_nothing(pooler):
    p = giving(pooler, "timezone!=Asia/Tokyo statement_timeout=30s",
               workers=3, dbs={"p%d" % i: "dbname=p0" for i in range(6)})
    conns = [p.raw(database="p%d" % (i % 6), TimeZone="UTC")
             for i in range(24)]
    for _ in range(3):
        for c in conns:
            assert c.value("show timezone") == "Asia/Tokyo"
            assert c.value("show statement_timeout") == "30s"


# --- mistakes --------------------------------------------------------------

@pytest.mark.parametrize("text", ["user=x", "database=x", "replication=1",
                                  "options=-cx=1", "_pq_.a=1", "a", "a='b",
                                  "USER!=x"])
@pytest.mark.parametrize("where", ["setting", "database", "user"])
def test_mistake_is_told_with_file_and_line(pooler, text, where):
    p = pooler(start=False)
    if where == "setting":
        p.settings["startup_parameters"] = text
    else:
        entry = "startup_parameters='%s'" % text.replace("'", "''")
        (p.dbs if where == "database" else p.users)["app"] = entry
    p.write()
    lines = harness.read(p.ini).decode().splitlines()
    line = next(i for i, at in enumerate(lines, 1)
                if "startup_parameters" in at)
    done = subprocess.run([harness.binary(), "--check", p.ini],
                          capture_output=True, text=True, check=False,
                          **harness.as_user())
    said = done.stdout + done.stderr
    assert done.returncode != 0
    assert "%s:%d" % (p.ini, line) in said
    assert "startup_parameters: " in said


def test_bad_set_changes_nothing(pooler):
    p = giving(pooler)
    res = p.console().try_query("set startup_parameters = 'user=x'")
    assert "not a setting of a session: user" in res.errors[0].fields.get(
        "D", "") + res.errors[0].message
    assert p.raw().value("show statement_timeout") == "30s"


def test_change_under_load_loses_nothing(pooler):
    p = giving(pooler, "work_mem=1MB", default_pool_size=5)
    conns = [p.raw() for _ in range(10)]
    for i in range(2, 22):
        p.admin("set startup_parameters = 'work_mem=%dMB'" % i)
        for c in conns:
            assert c.value("show work_mem") == "%dMB" % i
    wait_until(lambda: len(p.servers()) <= 5)
