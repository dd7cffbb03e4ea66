# test_container_others.py - the entry point with the variables of other images.
# SPDX-License-Identifier: ISC
"""What a user of edoburu/pgbouncer, bitnami/pgbouncer, or of the pooler of
Zalando's operator has set, makes the configuration that it makes there."""
import os
import re
import signal
import socket
import subprocess

import pytest

import harness
from test_container import ENTRYPOINT, enter, entry, made, put, url
from test_container import box as plain_box  # noqa: F401

FOLDER = os.path.dirname(ENTRYPOINT)
# a value for each setting whose value is not a number
VALUES = {
    "AUTH_TYPE": "scram-sha-256", "AUTH_USER": "looker", "POOL_MODE": "session",
    "AUTH_QUERY": "select 1, $1", "AUTH_DBNAME": "postgres",
    "IGNORE_STARTUP_PARAMETERS": "extra_float_digits, options",
    "LISTEN_ADDR": "127.0.0.1", "LISTEN_ADDRESS": "127.0.0.1",
    "UNIX_SOCKET_DIR": "/tmp", "SOCKET_DIR": "/tmp", "SOCKET_MODE": "0700",
    "LOGFILE": "/tmp/x.log", "LOG_FILE": "/tmp/x.log", "ADMIN_USERS": "ann",
    "STATS_USERS": "bob", "SERVER_RESET_QUERY": "DISCARD ALL",
    "SERVER_CHECK_QUERY": "select 1", "LISTEN_PORT": "6000", "PORT": "6000",
    "TLS_SSLMODE": "prefer", "TLS_PROTOCOLS": "secure", "TLS_CIPHERS": "fast",
    "TLS_ECDHCURVE": "auto", "TLS_DHEPARAMS": "auto", "PKT_BUF": "8192",
    "MAX_PACKET_SIZE": "1000000", "SOCKET_GROUP": str(os.getgid()),
}


@pytest.fixture
def box(plain_box):  # noqa: F811
    os.symlink("pgsluice", os.path.join(plain_box, "pgbouncer"))
    return plain_box


def table(convention, name):
    """The words of an array of the entry point."""
    with open(os.path.join(FOLDER, convention), encoding="utf-8") as f:
        text = f.read()
    inside = re.search(r"^%s=\(([^)]*)\)" % name, text, re.M).group(1)
    return [w for w in inside.split() if not w.startswith('"')]


def value_of(name, certs):
    part = re.sub(r"^(CLIENT|SERVER)_", "", name)
    files = {"TLS_KEY_FILE": certs.key("server"),
             "TLS_CERT_FILE": certs.crt("server"),
             "TLS_CA_FILE": os.path.join(certs.dir, "ca.crt")}
    return files.get(part) or VALUES.get(name) or VALUES.get(part) or "1"


def settings(text):
    lines = text.split("[pgbouncer]\n")[1].strip().split("\n")
    return dict(line.split(" = ", 1) for line in lines)


def lines_of(text):
    return text.split("[databases]\n")[1].split("\n\n")[0].split("\n")


DB = {"DB_HOST": "db", "DB_USER": "ann", "DB_PASSWORD": "pw",
      "DB_NAME": "shop"}
BACK = {"POSTGRESQL_HOST": "127.0.0.1", "POSTGRESQL_USERNAME": "ann",
        "POSTGRESQL_PASSWORD": "pw", "PGBOUNCER_DATABASE": "shop"}
ZAL = {"PGHOST": "acid", "PGPORT": "5433", "PGUSER": "pooler",
       "PGPASSWORD": "pw", "PGSCHEMA": "pooler", "CONNECTION_POOLER_PORT": "5432",
       "CONNECTION_POOLER_MODE": "transaction",
       "CONNECTION_POOLER_DEFAULT_SIZE": "15",
       "CONNECTION_POOLER_MIN_SIZE": "15",
       "CONNECTION_POOLER_RESERVE_SIZE": "7",
       "CONNECTION_POOLER_MAX_CLIENT_CONN": "10000",
       "CONNECTION_POOLER_MAX_DB_CONN": "30"}


@pytest.fixture
def backend():
    """Something that listens, for which bitnami's waits; its variables."""
    with socket.create_server(("127.0.0.1", 0)) as s:
        yield {**BACK, "POSTGRESQL_PORT": str(s.getsockname()[1])}


# --- edoburu -----------------------------------------------------------------

def test_edoburu_variables(box):
    out = enter(box, **DB, DB_PORT="6000", POOL_MODE="transaction",
                MAX_CLIENT_CONN="50")
    assert out.returncode == 0, out
    assert out.stderr.startswith(
        "entrypoint: the variables are those of edoburu\n")
    assert entry(made(box)) == ("shop", {
        "host": "db", "port": "6000", "auth_user": "ann"})
    assert made(box, "userlist.txt") == '"ann" "pw"\n\n'
    got = settings(made(box))
    assert got.items() >= {
        "listen_addr": "0.0.0.0", "listen_port": "5432", "auth_type": "md5",
        "pool_mode": "transaction", "max_client_conn": "50",
        "admin_users": "postgres", "session_state": "keep",
        "ignore_startup_parameters": "extra_float_digits"}.items()


def test_edoburu_url_beside_one_of_its_settings(box):
    """... which decides: an image with DATABASE_URL alone is ours"""
    env = {"DATABASE_URL": url(more="?sslmode=require")}
    assert enter(box, **env).returncode == 0
    assert settings(made(box))["listen_port"] == "6432"
    assert settings(made(box))["pool_mode"] == "transaction"
    out = enter(box, **env, POOL_MODE="session")
    assert out.returncode == 0, out
    got = settings(made(box))
    assert got["pool_mode"] == "session" and got["listen_port"] == "5432"
    assert entry(made(box)) == ("shop", {
        "host": "db", "port": "5432", "dbname": "shop", "auth_user": "ann",
        "server_tls_sslmode": "require"})


def test_edoburu_several_urls_and_no_database(box):
    out = enter(box, DATABASE_URLS=url(db="one") + "," +
                "postgres://ann:pw@db2:5432")
    assert out.returncode == 0, out
    first, second = lines_of(made(box))
    assert first.startswith('"one" = host=\'db\' port=5432 dbname=\'one\'')
    assert second == "* = host='db2' port=5432 auth_user='ann'"


def test_edoburu_keys_of_a_database(box):
    """These three are lines of their own there, which nobody understands."""
    out = enter(box, **DB, CLIENT_ENCODING="UTF8", TIMEZONE="Europe/Vienna",
                POOL_SIZE="3")
    assert out.returncode == 0 and "warning" not in out.stderr, out
    assert entry(made(box))[1].items() >= {
        "client_encoding": "UTF8", "timezone": "Europe/Vienna",
        "pool_size": "3"}.items()


def test_edoburu_mounted_auth_file_wins(box):
    path = os.path.join(box, "mine.txt")
    put(path, '"ann" "other"\n')
    os.chmod(path, 0o600)
    out = enter(box, **DB, AUTH_FILE=path)
    assert out.returncode == 0, out
    assert settings(made(box))["auth_file"] == path
    assert not os.path.exists(os.path.join(box, "userlist.txt"))
    out = enter(box, **DB, AUTH_FILE="/nonexistent/userlist.txt")
    assert out.returncode == 0, out
    assert made(box, "userlist.txt") == '"ann" "pw"\n\n'


def test_edoburu_all_settings(box, certs):
    names = [n for n in table("edoburu", "edoburu_markers") +
             table("edoburu", "edoburu_settings")
             if n not in ("AUTH_FILE", "AUTH_HBA_FILE")]
    assert len(names) > 60
    env = {n: value_of(n, certs) for n in names}
    out = enter(box, **DB, **env)
    assert out.returncode == 0 and "warning" not in out.stderr, out
    got = settings(made(box))
    assert {n: got[n.lower()] for n in names} == env


def test_settings_of_ours_go_before(box):
    out = enter(box, **DB, DEFAULT_POOL_SIZE="5", PGSLUICE_SESSION_STATE="clean")
    assert out.returncode == 0, out
    got = settings(made(box))
    assert got["session_state"] == "clean" and got["default_pool_size"] == "5"


# --- bitnami -----------------------------------------------------------------

def test_bitnami_variables(box, backend):
    out = enter(box, **backend, PGBOUNCER_POOL_MODE="transaction",
                PGBOUNCER_SET_DATABASE_USER="yes",
                PGBOUNCER_SET_DATABASE_PASSWORD="yes",
                PGBOUNCER_CONNECT_QUERY="select 1")
    assert out.returncode == 0 and "warning" not in out.stderr, out
    assert entry(made(box)) == ("shop", {
        "host": "127.0.0.1", "port": backend["POSTGRESQL_PORT"],
        "dbname": "shop", "user": "ann", "password": "pw",
        "connect_query": "select 1"})
    assert "password=***" in out.stderr and "'pw'" not in out.stderr
    assert made(box, "userlist.txt") == '"ann" "pw"\n\n'
    assert settings(made(box)).items() >= {
        "listen_addr": "0.0.0.0", "listen_port": "6432", "admin_users": "ann",
        "auth_type": "scram-sha-256", "pool_mode": "transaction",
        "client_tls_sslmode": "disable", "server_tls_sslmode": "disable",
        "ignore_startup_parameters": "extra_float_digits"}.items()


def test_bitnami_any_database(box, backend):
    out = enter(box, **{**backend, "PGBOUNCER_DATABASE": "*"})
    assert out.returncode == 0, out
    assert lines_of(made(box)) == ["* = host='127.0.0.1' port=" +
                                   backend["POSTGRESQL_PORT"]]


def test_bitnami_values_from_files(box, backend):
    path = os.path.join(box, "secret")
    put(path, "from a file\n")
    del backend["POSTGRESQL_PASSWORD"]
    out = enter(box, **backend, POSTGRESQL_PASSWORD_FILE=path)
    assert out.returncode == 0, out
    assert made(box, "userlist.txt") == '"ann" "from a file"\n\n'


def test_bitnami_dsns_alone(box):
    """... by number, and none is waited for"""
    path = os.path.join(box, "dsn")
    put(path, "filed=host=db3 port=5432 password=hide_me\n")
    out = enter(box, PGBOUNCER_DSN_0="one=host=db1 port=5432 dbname=one",
                PGBOUNCER_DSN_10="ten=host=db10 port=5432",
                PGBOUNCER_DSN_2="two=host=db2 password='hide me' port=5432",
                PGBOUNCER_DSN_3_FILE=path,
                PGBOUNCER_DSN_4_FILE="/nonexistent",
                PGBOUNCER_USERLIST='"bob" "b"')
    assert out.returncode == 0, out
    assert lines_of(made(box)) == [
        '"one" = host=db1 port=5432 dbname=one',
        '"two" = host=db2 password=\'hide me\' port=5432',
        '"filed" = host=db3 port=5432 password=hide_me',
        '"ten" = host=db10 port=5432']
    assert "hide" not in out.stderr and out.stderr.count("***") == 2
    assert "PGBOUNCER_DSN_4_FILE: cannot read /nonexistent" in out.stderr
    assert '"bob" "b"\n' in made(box, "userlist.txt")
    out = enter(box, PGBOUNCER_DSN_4_FILE="/nonexistent",
                PGBOUNCER_FAIL_ON_INVALID_DSN_FILE="yes")
    assert out.returncode == 1 and "cannot read" in out.stderr


def test_bitnami_waits_for_the_backend(box):
    port = harness.free_port()
    env = {**BACK, "POSTGRESQL_PORT": str(port),
           "PGBOUNCER_INIT_SLEEP_TIME": "0.1"}
    out = enter(box, **env, PGBOUNCER_INIT_MAX_RETRIES="2")
    assert out.returncode == 1
    assert out.stderr.endswith("entrypoint: 127.0.0.1:%d does not answer after"
                               " 2 attempts\n" % port)
    assert out.stderr.count("waiting for") == 2
    proc = subprocess.Popen(
        [ENTRYPOINT, "--check"], cwd="/", text=True, stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL, env={
            "PATH": box + ":/usr/bin:/bin", "RUNTIME_DIRECTORY": box,
            "ASAN_OPTIONS": "detect_leaks=0", **env,
            "PGBOUNCER_INIT_MAX_RETRIES": "100000"})
    try:
        while "waiting for" not in proc.stderr.readline():
            assert proc.poll() is None
        with socket.create_server(("127.0.0.1", port)):
            assert proc.wait(60) == 0
    finally:
        if proc.poll() is None:
            proc.kill()
            proc.wait()
        proc.stderr.close()


def test_bitnami_all_settings(box, backend, certs):
    plain = [n for n in table("bitnami", "bitnami_settings")
             if n not in ("AUTH_HBA_FILE", "AUTH_IDENT_FILE")]
    other = dict(w.split("=") for w in table("bitnami", "bitnami_renamed"))
    names = {**{n: n.lower() for n in plain}, **other}
    assert len(names) > 45
    env = {n: value_of(n, certs) for n in names}
    out = enter(box, **backend, **{"PGBOUNCER_" + n: v for n, v in env.items()},
                PGBOUNCER_DAEMON_USER="x", PGBOUNCER_FORCE_INITSCRIPTS="yes")
    assert out.returncode == 0 and "warning" not in out.stderr, out
    got = settings(made(box))
    assert {n: got[key] for n, key in names.items()} == env


# --- Zalando -----------------------------------------------------------------

def test_zalando_variables(box):
    out = enter(box, **ZAL, INFRASTRUCTURE_ROLES='"robot" "secret"')
    assert out.returncode == 0 and "warning" not in out.stderr, out
    pairs = "host='acid' port=5433 auth_user='pooler'"
    assert lines_of(made(box)) == ["* = " + pairs, '"postgres" = ' + pairs]
    assert made(box, "userlist.txt") == \
        '"pooler" "pw"\n"robot" "secret"\n\n'
    assert settings(made(box)).items() >= {
        "listen_port": "5432", "listen_addr": "*", "pool_mode": "transaction",
        "default_pool_size": "15", "min_pool_size": "15",
        "reserve_pool_size": "7", "max_client_conn": "10000",
        "max_db_connections": "30", "admin_users": "pooler",
        "auth_type": "md5", "auth_dbname": "postgres",
        "auth_query": "SELECT * FROM pooler.user_lookup($1)",
        "server_tls_sslmode": "require", "client_tls_sslmode": "require",
        "max_prepared_statements": "200", "server_login_retry": "5",
        "idle_transaction_timeout": "600"}.items()
    got = settings(made(box))
    assert os.stat(got["client_tls_key_file"]).st_mode & 0o777 == 0o600


def test_zalando_certificate_of_the_operator(box, certs):
    env = {"CONNECTION_POOLER_CLIENT_TLS_CRT": certs.crt("server"),
           "CONNECTION_POOLER_CLIENT_TLS_KEY": certs.key("server"),
           "CONNECTION_POOLER_CLIENT_CA_FILE":
               os.path.join(certs.dir, "ca.crt")}
    out = enter(box, **ZAL, **env)
    assert out.returncode == 0 and "warning" not in out.stderr, out
    got = settings(made(box))
    assert (got["client_tls_cert_file"], got["client_tls_key_file"],
            got["client_tls_ca_file"]) == tuple(env.values())
    assert not os.path.exists(os.path.join(box, "server.key"))


# --- all of them -------------------------------------------------------------

@pytest.mark.parametrize("env,names", [
    ({"DATABASE_URL": url(), "PGBOUNCER_POOL_MODE": "session",
      "DB_HOST": "db"}, ["PGBOUNCER_POOL_MODE", "DB_HOST"]),
    ({**DB, "DB_PASWORD": "x", "PGBOUNCER_URLS": "y"},
     ["DB_PASWORD", "PGBOUNCER_URLS"]),
    ({**ZAL, "CONNECTION_POOLER_SIZE": "1", "POOL_MODE": "session"},
     ["CONNECTION_POOLER_SIZE", "POOL_MODE"]),
    ({"PGBOUNCER_DSN_0": "a=host=b", "PGBOUNCER_POOLMODE": "session",
      "POSTGRESQL_HOSTS": "x"}, ["PGBOUNCER_POOLMODE", "POSTGRESQL_HOSTS"]),
], ids=["pgsluice", "edoburu", "zalando", "bitnami"])
def test_variable_without_effect_is_named(box, env, names):
    out = enter(box, **env)
    assert out.returncode == 0, out
    found = re.findall(r"warning: (\w+) has no effect", out.stderr)
    assert sorted(found) == sorted(names)


def test_variables_of_services_are_none_of_ours(box):
    """Kubernetes makes these for the Services db, pgbouncer and postgresql."""
    out = enter(box, **DB, DB_PORT="tcp://10.0.0.1:5432",
                DB_SERVICE_HOST="10.0.0.1", DB_PORT_5432_TCP_ADDR="10.0.0.1",
                PGBOUNCER_PORT="tcp://10.0.0.1:1", POSTGRESQL_SERVICE_PORT="1",
                PGSLUICE_POOLER_PORT_6432_TCP="tcp://10.0.0.1:6432",
                PGSLUICE_LISTEN_PORT="tcp://10.0.0.1:6432")
    assert out.returncode == 0 and "warning" not in out.stderr, out
    assert entry(made(box))[1]["port"] == "5432"
    assert settings(made(box))["listen_port"] == "5432"


def test_port_of_http_is_open_to_others(box):
    """http_listen_addr is 127.0.0.1 otherwise, where nobody else is."""
    for env in ({"DATABASE_URL": url()}, DB):
        out = enter(box, **env, PGSLUICE_HTTP_LISTEN_PORT="9127")
        assert out.returncode == 0, out
        assert settings(made(box))["http_listen_addr"] == "*"
    out = enter(box, DATABASE_URL=url(), PGSLUICE_HTTP_LISTEN_PORT="9127",
                PGSLUICE_HTTP_LISTEN_ADDR="127.0.0.1")
    assert settings(made(box))["http_listen_addr"] == "127.0.0.1"
    out = enter(box, DATABASE_URL=url())
    assert "http_listen_addr" not in settings(made(box))


@pytest.mark.parametrize("command", [
    ["pgbouncer", "/nonexistent/pgbouncer.ini"],
    ["pgbouncer", "/nonexistent/pgbouncer.ini", "-v"], ["pgbouncer"],
    ["/opt/bitnami/scripts/pgbouncer/run.sh"]])
def test_command_of_another_image(box, pg, command):
    """It is called pgbouncer, answers, and ends by the signal for that name."""
    harness.give(box)
    port = harness.free_port()
    env = {**os.environ, "PATH": box + ":" + os.environ["PATH"],
           "RUNTIME_DIRECTORY": box, "LISTEN_PORT": str(port),
           "LISTEN_ADDR": "127.0.0.1", "DB_HOST": "127.0.0.1",
           "DB_PORT": str(pg.port), "DB_USER": "app", "DB_PASSWORD": "apppw",
           "PGHOST": "nowhere.invalid", "PGPORT": "1", "PGDATABASE": "none",
           "PGUSER": "nobody"}
    with open(os.path.join(box, "log"), "w", encoding="utf-8") as log:
        proc = subprocess.Popen([ENTRYPOINT, *command], env=env, stderr=log,
                                cwd="/", **harness.as_user())
    try:
        def ctl(*args):
            return subprocess.run([ENTRYPOINT, "ctl", *args], env=env, cwd="/",
                                  timeout=60, **harness.as_user()).returncode
        harness.wait_until(lambda: os.path.exists(
            os.path.join(box, "pgsluice.ini")) and made(box))
        assert ctl("wait-ready", "-t", "30") == 0, made(box, "log")
        with open("/proc/%d/comm" % proc.pid, encoding="utf-8") as f:
            assert f.read() == "pgbouncer\n"
        out = subprocess.run(
            [harness.pg_bin("psql"), "-XAtc", "select current_user", "-h",
             "127.0.0.1", "-p", str(port), "-U", "app", "p0"], text=True,
            env={**os.environ, "PGPASSWORD": "apppw"},
            stdout=subprocess.PIPE, timeout=60, check=False)
        assert out.stdout == "app\n", made(box, "log")
        proc.send_signal(signal.SIGINT)
        assert proc.wait(30) == 0
    finally:
        if proc.poll() is None:
            proc.kill()
            proc.wait()


def test_file_that_is_there_is_what_the_command_names(box):
    path = os.path.join(box, "own.ini")
    put(path, "[pgbouncer]\nlisten_port = 1\nno_such = 1\n")
    out = enter(box, "pgbouncer", "--check", path, **DB)
    assert out.returncode == 1 and "no_such" in out.stdout
    assert not os.path.exists(os.path.join(box, "pgsluice.ini"))
