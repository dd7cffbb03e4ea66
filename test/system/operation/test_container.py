# test_container.py - etc/container/entrypoint: settings from the environment.
# SPDX-License-Identifier: ISC
import os
import re
import shutil
import subprocess
import urllib.parse

import pytest
import yaml

import harness

ENTRYPOINT = os.path.join(harness.ROOT, "etc", "container", "entrypoint")
NASTY = ["it's", 'say "x"', "a b", "back\\slash", "per%cent", "ü€", "@:/?#[]",
         "$(id)`id`", "; c", "[users]", "%include /etc/passwd", "&\\1&", "*"]


@pytest.fixture
def box():
    """Folders as in the image: programs, and one that can be written."""
    folder = harness.make_tmp()
    for name in ("pgsluice", "pgsluicectl"):
        path = os.path.join(os.path.dirname(harness.binary()), name)
        os.symlink(path, os.path.join(folder, name))
    yield folder
    shutil.rmtree(folder)


def enter(box, *args, **env):
    """Run it as in a container: nothing else is in the environment."""
    env = {"PATH": box + ":/usr/bin:/bin", "RUNTIME_DIRECTORY": box,
           "ASAN_OPTIONS": "detect_leaks=0", **env}
    return subprocess.run([ENTRYPOINT, *(args or ["--check"])], env=env,
                          cwd="/", text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=60)


def put(path, text):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def made(box, name="pgsluice.ini"):
    with open(os.path.join(box, name), encoding="utf-8") as f:
        return f.read()


def url(user="ann", password="pw", host="db", port=5432, db="shop", more=""):
    def quote(text):
        return urllib.parse.quote(text, safe="")
    return "postgres://%s:%s@%s:%d/%s%s" % (
        quote(user), quote(password), host, port, quote(db), more)


def entry(text):
    """{key: value} of the only line of [databases], and its name."""
    line = text.split("[databases]\n")[1].split("\n")[0]
    name, _, pairs = line.partition(" = ")
    found = re.findall(r"(\w+)=('(?:[^']|'')*'|\S+)", pairs)
    return (name[1:-1].replace('""', '"'),
            {k: v[1:-1].replace("''", "'") if v[0] == "'" else v
             for k, v in found})


def test_url_becomes_a_database_and_a_user(box):
    out = enter(box, DATABASE_URL=url(), PGSLUICE_DEFAULT_POOL_SIZE="7")
    assert out.returncode == 0, out
    assert entry(made(box)) == ("shop", {
        "host": "db", "port": "5432", "dbname": "shop"})
    assert made(box, "userlist.txt") == '"ann" "pw"\n\n'
    assert "\ndefault_pool_size = 7\n" in made(box)
    assert "\nlisten_addr = *\n" in made(box)
    assert out.stderr == made(box)
    for name in ("pgsluice.ini", "userlist.txt"):
        assert os.stat(os.path.join(box, name)).st_mode & 0o777 == 0o600


@pytest.mark.parametrize("text", NASTY)
def test_any_character_comes_through(box, text):
    """... in names and passwords, and the file is still understood."""
    out = enter(box, DATABASE_URL=url(text, text, db=text))
    assert out.returncode == 0, out
    name, pairs = entry(made(box))
    assert (name, pairs["dbname"]) == (text, text)
    quoted = '"%s"' % text.replace('"', '""')
    assert made(box, "userlist.txt") == quoted + " " + quoted + "\n\n"


@pytest.mark.parametrize("host,want", [
    ("[::1]", "::1"), ("[fe80::1]", "fe80::1"), ("10.0.0.1", "10.0.0.1"),
    ("%2Fvar%2Frun%2Fpostgresql", "/var/run/postgresql"), ("a.b", "a.b")])
def test_hosts(box, host, want):
    out = enter(box, DATABASE_URL=url(host=host, port=6000))
    assert out.returncode == 0, out
    _, pairs = entry(made(box))
    assert (pairs["host"], pairs["port"]) == (want, "6000")


def test_several_hosts_and_parameters(box):
    more = "?sslmode=require&pool_size=3&schema=public&connection_limit=1"
    out = enter(box, DATABASE_URL="postgresql://ann@h1:7000,h2:7000/shop" + more)
    assert out.returncode == 0, out
    assert entry(made(box)) == ("shop", {
        "host": "h1,h2", "port": "7000", "dbname": "shop",
        "server_tls_sslmode": "require", "pool_size": "3"})
    assert "parameter schema is left out" in out.stderr


def test_secrets_are_not_printed(box):
    out = enter(box, DATABASE_URL=url(password="se'cr\"xyzzy"),
                PGSLUICE_USERLIST='"bob" "hidden1"')
    assert out.returncode == 0, out
    assert "xyzzy" not in out.stdout + out.stderr
    assert "hidden1" not in out.stdout + out.stderr
    assert '"bob" "hidden1"' in made(box, "userlist.txt")
    path = os.path.join(box, "mine")
    shutil.copy(os.path.join(box, "userlist.txt"), path)
    out = enter(box, DATABASE_URL=url(password="sesame"),
                PGSLUICE_AUTH_FILE=path)
    assert out.returncode == 0, out
    assert "sesame" not in out.stderr and "password=***" in out.stderr
    assert entry(made(box))[1]["password"] == "sesame"


@pytest.mark.parametrize("pairs", [
    "password='two words sesame'", "password = sesame", "PassWord=x'sesame",
    "password='a''b sesame' pool_size=2", "password=\udcff\udcfesesame"])
def test_log_shows_nothing_behind_password_in_pairs(box, pairs):
    out = enter(box, PGBOUNCER_DSN_0="shop=host=db " + pairs,
                POSTGRESQL_USERNAME="ann", POSTGRESQL_PASSWORD="pw")
    assert "sesame" not in out.stdout + out.stderr
    assert "password=***" in out.stderr


def test_log_hides_password_of_directory(box):
    out = enter(box, DATABASE_URL=url(), PGSLUICE_AUTH_TYPE="ldap",
                PGSLUICE_AUTH_LDAP_OPTIONS='ldapserver=a ldapbindpasswd="x y '
                                           'sesame"')
    assert "sesame" in made(box)
    assert "sesame" not in out.stdout + out.stderr
    assert "ldapbindpasswd=***" in out.stderr


def test_files_that_exist_are_replaced(box):
    """neither a wide mode nor the place that a link points at stays"""
    elsewhere = os.path.join(box, "elsewhere")
    put(elsewhere, "old")
    os.symlink(elsewhere, os.path.join(box, "pgsluice.ini"))
    put(os.path.join(box, "userlist.txt"), "old")
    os.chmod(os.path.join(box, "userlist.txt"), 0o644)
    out = enter(box, DATABASE_URL=url())
    assert out.returncode == 0, out
    with open(elsewhere, encoding="utf-8") as f:
        assert f.read() == "old"
    for name in ("pgsluice.ini", "userlist.txt"):
        path = os.path.join(box, name)
        assert not os.path.islink(path)
        assert os.stat(path).st_mode & 0o777 == 0o600


def test_values_from_files(box):
    path = os.path.join(box, "url")
    put(path, url(db="filed") + "\n")
    out = enter(box, DATABASE_URL_FILE=path, DATABASE_URL_2=url(db="other"))
    assert out.returncode == 0, out
    assert '"filed" = ' in made(box) and '"other" = ' in made(box)


def test_variables_of_a_kubernetes_service_are_no_settings(box):
    out = enter(box, DATABASE_URL=url(), PGSLUICE_PORT="tcp://10.0.0.1:6432",
                PGSLUICE_SERVICE_HOST="10.0.0.1", PGSLUICE_SERVICE_PORT="1",
                PGSLUICE_PORT_6432_TCP_ADDR="10.0.0.1")
    assert out.returncode == 0, out


@pytest.mark.parametrize("env,text", [
    ({}, "set DATABASE_URL="),
    ({"DATABASE_URL": "mysql://a"}, "DATABASE_URL: not postgres://"),
    ({"DATABASE_URL": "postgres://a:b@h:1"}, "no database"),
    ({"DATABASE_URL": "postgres://a:b@/d"}, "no host"),
    ({"DATABASE_URL": "postgres://a:b@::1/d"}, "brackets"),
    ({"DATABASE_URL": "postgres://a:b@h:x/d"}, "cannot be understood"),
    ({"DATABASE_URL": "postgres://a:b@h:1,i:2/d"}, "the same port"),
    ({"DATABASE_URL": "postgres://a:%zz@h/d"}, "bad percent-encoding"),
    ({"DATABASE_URL": "postgres://a:%00@h/d"}, "%00"),
    ({"DATABASE_URL": "postgres://a:%0Ab@h/d"}, "line end"),
    ({"DATABASE_URL": "postgres://a:b@h/d%0A[users]"}, "line end"),
    ({"DATABASE_URL": url() + "\n[users]"}, "line end"),
    ({"DATABASE_URL": url(), "PGSLUICE_POOL_MODE": "session\nx = y"},
     "PGSLUICE_POOL_MODE has a line end"),
    ({"DATABASE_URL": url(), "DATABASE_URL_FILE": "/x"}, "both set"),
    ({"DATABASE_URL_FILE": "/nonexistent"}, "cannot read"),
])
def test_what_cannot_be_meant_is_refused(box, env, text):
    out = enter(box, **env)
    assert out.returncode == 1 and text in out.stderr, out
    assert out.stderr.startswith("entrypoint: ") and out.stderr.count("\n") == 1
    assert not os.path.exists(os.path.join(box, "pgsluice.ini"))


def test_unknown_setting_is_named(box):
    out = enter(box, DATABASE_URL=url(), PGSLUICE_DEFUALT_POOL_SIZE="1")
    assert out.returncode == 1 and "did you mean" in out.stdout


def literal(name, key):
    """The block below `key: |` in a manifest."""
    path = os.path.join(harness.ROOT, "etc", "kubernetes", name)
    with open(path, encoding="utf-8") as f:
        text = f.read()
    block = re.search(r"^( *)%s: \|\n((?:\1  .*\n|\n)+)" % re.escape(key), text,
                      re.M)
    return re.sub(r"^" + block.group(1) + "  ", "", block.group(2), flags=re.M)


def test_configuration_for_kubernetes_is_right(box):
    users = os.path.join(box, "userlist.txt")
    ini = os.path.join(box, "mounted.ini")
    put(users, literal("secret.yaml", "userlist.txt"))
    os.chmod(users, 0o600)
    put(ini, literal("configmap.yaml", "pgsluice.ini").replace(
        "/etc/pgsluice/userlist.txt", users))
    out = enter(box, "pgsluice", "--check", ini)
    assert out.returncode == 0 and "note" not in out.stdout, out


def test_compose_file_is_right(box):
    with open(os.path.join(os.path.dirname(ENTRYPOINT), "compose.yaml"),
              encoding="utf-8") as f:
        services = yaml.safe_load(f)["services"]
    one = services["pgsluice"]
    out = enter(box, **one["environment"])
    assert out.returncode == 0 and "note" not in out.stdout, out
    name, pairs = entry(made(box))
    assert name == services["postgres"]["environment"]["POSTGRES_DB"]
    assert pairs["host"] == "postgres"
    for published in one["ports"]:
        assert "port = %s\n" % published.split(":")[-1] in made(box)


def test_quadlet_is_right(box):
    with open(os.path.join(os.path.dirname(ENTRYPOINT),
                           "pgsluice.container"), encoding="utf-8") as f:
        text = f.read()
    env = dict(word.split("=") for word in re.search(
        "^Environment=(.*)", text, re.M).group(1).split())
    out = enter(box, DATABASE_URL=url(), **env)
    assert out.returncode == 0 and "note" not in out.stdout, out
    for published in re.findall("^PublishPort=.*:([0-9]+)$", text, re.M):
        assert "port = %s\n" % published in made(box)


def test_changed_file_is_a_reload(box):
    """The container "reload" of etc/kubernetes"""
    ini, calls = os.path.join(box, "pgsluice.ini"), os.path.join(box, "calls")
    os.unlink(os.path.join(box, "pgsluicectl"))
    put(os.path.join(box, "pgsluicectl"),
        '#!/bin/sh\necho "$@" >>%s\n' % calls)
    os.chmod(os.path.join(box, "pgsluicectl"), 0o755)
    put(ini, "one")
    proc = subprocess.Popen(
        [ENTRYPOINT, "watch", ini], cwd="/", stderr=subprocess.PIPE, text=True,
        env={"PATH": box + ":/usr/bin:/bin", "RUNTIME_DIRECTORY": box,
             "WATCH_INTERVAL": "0.05"})
    try:
        # again and again: it may not have looked for the first time yet
        harness.wait_until(lambda: put(ini, os.urandom(8).hex()) or
                           os.path.exists(calls))
        assert proc.stderr.readline() == "entrypoint: reloaded\n"
        with open(calls, encoding="utf-8") as f:
            assert f.readline() == "-c %s reload\n" % ini
        proc.terminate()
        assert proc.wait(30) == 0
    finally:
        if proc.poll() is None:
            proc.kill()
            proc.wait()


@pytest.mark.parametrize("more", [
    {}, {"PGUSER": "nobody", "PGDATABASE": "none", "PGSERVICE": "none",
         "PGOPTIONS": "-c none=1", "PGREQUIREAUTH": "none,md5"}])
def test_it_serves_and_is_looked_after(box, pg, more):
    """From the environment to the first query; the health check; the end.
    What an application's libpq is to do says nothing about our console."""
    port = harness.free_port()
    harness.give(box)
    env = {**os.environ, **more, "PATH": box + ":" + os.environ["PATH"],
           "RUNTIME_DIRECTORY": box, "PGSLUICE_LISTEN_PORT": str(port),
           "PGSLUICE_LISTEN_ADDR": "127.0.0.1",
           "DATABASE_URL": url("app", "apppw", "127.0.0.1", pg.port, "p0")}
    with open(os.path.join(box, "log"), "w", encoding="utf-8") as log:
        proc = subprocess.Popen([ENTRYPOINT], env=env, stderr=log, cwd="/",
                                **harness.as_user())
    try:
        def ctl(*args):
            return subprocess.run([ENTRYPOINT, "ctl", *args], env=env, cwd="/",
                                  timeout=60, **harness.as_user()).returncode
        ini = os.path.join(box, "pgsluice.ini")
        harness.wait_until(lambda: os.path.exists(ini) and made(box))
        assert ctl("wait-ready", "-t", "30") == 0, made(box, "log")
        psql = harness.pg_bin("psql")
        out = subprocess.run(
            [psql, "-XAtc", "select 6 * 7", "-h", "127.0.0.1", "-p", str(port),
             "-U", "app", "p0"],
            env={**os.environ, "PGPASSWORD": "apppw"}, text=True,
            stdout=subprocess.PIPE, timeout=60, check=False)
        assert out.stdout == "42\n", made(box, "log")
        assert ctl("drain", "5") == 0
        assert proc.wait(30) == 0
    finally:
        if proc.poll() is None:
            proc.kill()
            proc.wait()
