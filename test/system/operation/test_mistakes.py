# test_mistakes.py - what somebody makes wrong on the first day, and is told.
# SPDX-License-Identifier: ISC
"""One row a mistake: what the client gets, with its HINT, what the log has, and
what pgsluicectl status says. A client that was told nothing would hang until the
harness gives up: the time-out of logins is longer."""
import socket

import pytest

import pq
from harness import REFERENCE, free_port, wait_until
from test_ctl import ctl
from test_http import web  # noqa: F401

pytestmark = pytest.mark.skipif(REFERENCE, reason="says less")

def many_clients(p):
    return [p.raw()]


SCRAM = dict(auth_type="scram-sha-256")
NOWHERE = "host=127.0.0.1 port=%d"

# name: settings, [databases], before, login, then what is told
MISTAKES = {
    "wrong password": dict(
        settings=SCRAM, login=dict(password="wrong"),
        says="SASL authentication failed", hint="Check the user name",
        log="password authentication failed"),
    "no such user": dict(
        settings=SCRAM, login=dict(user="nobody", password="x"),
        says="SASL authentication failed", hint="Check the user name",
        log="no such user: nobody"),
    "no such database": dict(
        login=dict(database="nope"), says="no such database: nope",
        hint="Add a line for it", log="no such database: nope"),
    "wrong dbname=": dict(
        databases={"p0": "dbname=nope"}, says='database "nope" does not exist',
        hint="dbname=", log="server login failed hint: The name is that",
        status='no server for 0 s: database "nope" does not exist'),
    "PostgreSQL is down": dict(
        databases={"p0": NOWHERE}, says="server is down or cannot be reached",
        hint="host and port in [databases]", detail="connect failed",
        log="connect failed: Connection refused",
        status="connect failed: Connection refused (127.0.0.1:{dead})"),
    "server without TLS": dict(
        settings=dict(server_tls_sslmode="require"),
        says="server is down or cannot be reached", detail="server refused SSL",
        hint="the log says more", log="server refused SSL",
        status="server refused SSL"),
    "too many clients": dict(
        settings=dict(max_client_conn=1), before=many_clients,
        says="no more connections allowed (max_client_conn)",
        hint="Raise max_client_conn", log="(max_client_conn)",
        status="many clients: 1 of 1 (max_client_conn)"),
    "no auth file": dict(
        settings=dict(SCRAM, auth_file="/nowhere/at.all"),
        says="SASL authentication failed", hint="Check the user name",
        log="could not open auth_file /nowhere/at.all",
        status="nobody can log in: auth_file has no users"),
    "wrong auth_query": dict(
        settings=dict(SCRAM, auth_user="app",
                      auth_query="select a, b from nowhere where c = $1"),
        login=dict(user="stranger", password="x"),
        says="bouncer config error", hint="auth_query",
        log='error in auth_query: ERROR: relation "nowhere" does not exist'),
    "unknown auth_dbname": dict(
        settings=dict(SCRAM, auth_user="app", auth_dbname="nowhere"),
        login=dict(user="stranger", password="x"),
        says="bouncer config error", hint="auth_dbname",
        log='authentication database "nowhere" is not configured.'),
    "unknown auth_user": dict(
        settings=dict(SCRAM, auth_user="nobody_there"),
        login=dict(user="stranger", password="x"),
        says="server login failed", hint="auth_user",
        log='server login failed: FATAL role "nobody_there" does not exist',
        status='role "nobody_there" does not exist'),
}


def begin(web, row):  # noqa: F811
    dead = free_port()
    dbs = {k: v % dead if "%d" in v else v
           for k, v in row.get("databases", {"p0": ""}).items()}
    p = web(dbs, start=False)
    # a silence is longer than the harness has patience
    p.settings["client_login_timeout"] = 600
    p.settings.update(row.get("settings", {}))
    p.start()
    return p, dead


def answer(p, row):
    """The error that the client gets."""
    how = dict(user="app", database="p0", password="apppw")
    how.update(row.get("login", {}))
    with pytest.raises(pq.PgError) as e:
        p.raw(how["user"], how["database"], password=how["password"])
    return e.value.fields


@pytest.mark.parametrize("name", sorted(MISTAKES))
def test_each_mistake_is_answered_everywhere(web, name):  # noqa: F811
    row = MISTAKES[name]
    p, dead = begin(web, row)
    held = row.get("before", lambda p: [])(p)
    told = answer(p, row)
    assert row["says"] in told["M"], told
    assert row.get("detail", "") in told.get("D", ""), told
    assert row["hint"] in told["H"], told
    p.wait_log(row["log"])
    if "status" in row:
        want = row["status"].format(dead=dead)
        out = ctl("status", "-c", p.ini)
        assert out.returncode == 4 and want in out.stdout, out
    del held


def test_client_that_wants_tls_is_told_of_in_the_log(web):  # noqa: F811
    p = web()
    with socket.create_connection(("127.0.0.1", p.port)) as s:
        s.sendall(b"\0\0\0\x08\x04\xd2\x16\x2f")
        assert s.recv(1) == b"N"
    p.wait_log("the client wants TLS, and client_tls_sslmode does not offer it")
    # who goes on without TLS, as sslmode=prefer does, is no mistake
    p.raw().query("select 1")
    assert p.log.count("the client wants TLS") == 1


@pytest.mark.parametrize("line,meant", [
    ("x = database=y", "dbname"), ("x = username=y", "user"),
    ("x = sslmode=require", "server_tls_sslmode"), ("x = hots=y", "host")])
def test_key_of_others_has_its_name_here(web, line, meant):  # noqa: F811
    p = web()
    out = ctl("check", p.put("bad.ini", "[databases]\n%s\n[pgbouncer]\n"
                             % line))
    assert out.returncode == 1
    assert '(did you mean "%s"?)' % meant in out.stdout


def test_set_of_a_misspelt_setting_says_what_was_meant(web):  # noqa: F811
    p = web()
    out = ctl("set", "default_pool_siz", "1", "-c", p.ini)
    assert out.returncode == 1
    assert 'did you mean "default_pool_size"?' in out.stderr


def test_mended_server_is_used_at_once_after_a_reload(web):  # noqa: F811
    """server_login_retry, which is longer than the harness waits, is over"""
    p = web({"p0": "dbname=nope"}, server_login_retry=600)
    with pytest.raises(pq.PgError):
        p.raw().query("select 1")
    p.dbs["p0"] = ""
    p.write()
    assert ctl("reload", "-c", p.ini).returncode == 0
    wait_until(lambda: p.raw().query("select 1"), what="the server")
