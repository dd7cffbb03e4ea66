# test_hba.py - auth_type=hba: rules, maps, what reload does with them.
# SPDX-License-Identifier: ISC
import os
import pwd

import pytest

import pq
from harness import REFERENCE, USER, built_with, code_of, run, wait_until
from test_login import refused, secret

pytestmark = pytest.mark.setting("auth_hba_file", "auth_ident_file")

NONE = "no authentication method is found"
OS_USER = (USER.pw_name if USER else pwd.getpwuid(os.getuid()).pw_name)


def hba(pooler, rules, ident=None, **kw):
    """A pooler that goes by these rules."""
    p = pooler(start=False, auth_type="hba", **kw)
    p.settings["auth_hba_file"] = p.put("hba.conf", rules)
    if ident is not None:
        p.settings["auth_ident_file"] = p.put("ident.conf", ident)
    return p.start()


def own_user(p, command):
    """psql on the console as the user that the pooler runs as."""
    return run(["psql", "-XAtc", command, "-h", p.dir, "-p", str(p.port),
                "-U", "pgbouncer", "pgbouncer"])


ADMIN = "local pgbouncer admin trust\nhost pgbouncer admin all trust\n"


# --- rules ----------------------------------------------------------------

@pytest.mark.setting("auth_hba_file")
def test_first_rule_that_fits_decides(pooler):
    """authentication.md 4"""
    p = hba(pooler, """
# comment
host p0   app   127.0.0.1/32  trust
host p0   app2  127.0.0.0 255.0.0.0  password
host all  u0    all  reject
host p1   all   10.0.0.0/8  trust   # somebody else
host sameuser all 127.0.0.1/32 md5
""", dbs={"p0": "", "p1": "", "app2": "dbname=p0"},
            userlist={"app": "x", "app2": "two", "u0": "x"})
    assert p.raw("app").value("select 1") == "1"
    assert p.raw("app2", password="two").value("select 2") == "2"
    assert refused(p.open(), user="app2", password_="bad",
                   database="p0") == "password authentication failed"
    assert refused(p.open(), user="u0", database="p0") == "login rejected"
    assert refused(p.open(), user="app", database="p1") == NONE
    assert p.raw("app2", "app2").value("select 3") == "3"


@pytest.mark.parametrize("word,kind,code", [
    ("password", "plain", 3), ("md5", "plain", 5), ("md5", "md5", 5),
    ("md5", "scram", 10), ("scram-sha-256", "plain", 10),
    ("scram-sha-256", "scram", 10)])
def test_each_password_method_is_asked_for(pooler, word, kind, code):
    """authentication.md 3, 4: md5 rules use SCRAM for SCRAM secrets"""
    p = hba(pooler, "host all all all " + word, dbs={"p0": "user=app"},
            userlist={"app": secret(kind)})
    c = p.open().login("app", database="p0", wait=False)
    assert c.recv()[1][:4] == bytes([0, 0, 0, code])
    assert p.raw("app", password="s3cret 'é").value("select 1") == "1"
    assert "authentication failed" in refused(
        p.open(), user="app", password_="wrong", database="p0")


def test_unix_and_tcp_rules_are_kept_apart(pooler):
    """authentication.md 4: local, host"""
    p = hba(pooler, "local all app trust\nhost all app2 all trust\n")
    assert p.raw("app", unix=True).value("select 1") == "1"
    assert p.raw("app2").value("select 1") == "1"
    assert refused(p.open(), user="app", database="p0") == NONE
    assert refused(p.open(unix=True), user="app2", database="p0") == NONE


def test_tls_decides_between_hostssl_and_hostnossl(pooler, certs):
    """authentication.md 4: hostssl, hostnossl, host"""
    p = hba(pooler, "hostssl all app all trust\n"
            "hostnossl all app2 all trust\nhost all u0 all trust\n",
            **certs.accept("prefer"))
    for tls, right, wrong in ((False, "app2", "app"), (True, "app", "app2")):
        def conn():
            c = p.open()
            return c.start_tls(certs.client_context()) if tls else c
        assert conn().login(right, None, "p0").value("select 1") == "1"
        assert conn().login("u0", None, "p0").value("select 1") == "1"
        assert refused(conn(), user=wrong, database="p0") == NONE


@pytest.mark.skipif(REFERENCE, reason="newer than that")
def test_replication_needs_its_own_rule(pooler):
    """authentication.md 4: only physical replication, and only there"""
    p = hba(pooler, "host p0 postgres all trust\n"
            "host replication app all reject\n")
    assert refused(p.open(), user="postgres", database="p0",
                   replication="yes") == NONE
    assert p.raw("postgres", replication="database").value(
        "select 1") == "1"
    assert refused(p.open(), user="app", database="p0",
                   replication="yes") == "login rejected"
    assert refused(p.open(), user="app", database="p0") == NONE


def test_unknown_user_and_database_meet_the_rules_first(pooler):
    """authentication.md 4: against the requested name, even if missing"""
    p = hba(pooler, "host nodb app all trust\nhost p0 ghost all md5\n"
            "host p0 spook all trust\nhost p0 elf all scram-sha-256\n")
    assert refused(p.open(), user="app", database="nodb") == \
        "no such database: nodb"
    assert refused(p.open(), user="app", database="nodb2") == NONE
    assert refused(p.open(), user="ghost", password_="x",
                   database="p0") == "password authentication failed"
    assert refused(p.open(), user="spook", database="p0") == \
        '"trust" authentication failed'
    assert refused(p.open(), user="elf", password_="x",
                   database="p0") == "SASL authentication failed"


def test_console_is_a_database_to_the_rules(pooler):
    """config-files.md 9: console"""
    p = hba(pooler, "host pgbouncer admin all md5\n"
            "local pgbouncer all reject\n", userlist={"admin": "pw"})
    assert p.raw("admin", "pgbouncer", "pw").query("show version").rows
    assert refused(p.open(), user="admin", password_="bad",
                   database="pgbouncer") == "password authentication failed"
    # the process's own user needs no rule
    assert own_user(p, "show version").returncode == 0


def test_names_come_from_files_too(pooler):
    """config-files.md 9: @file, nested, tolerant of blank lines"""
    p = pooler(start=False, auth_type="hba")
    os.mkdir(os.path.join(p.dir, "lists"), 0o755)
    p.put("lists/who", "# the crew\n\napp,\n@more nobody\n")
    p.put("lists/more", '"app2"')
    p.settings["auth_hba_file"] = p.put(
        "hba.conf", "host all @lists/who all trust\n")
    p.start()
    assert p.raw("app").value("select 1") == "1"
    assert p.raw("app2").value("select 1") == "1"
    assert refused(p.open(), user="u0", database="p0") == NONE


def test_ldap_rule_without_ldap_is_said_so(pooler):
    """client-errors.md 3"""
    p = hba(pooler, "host all app all ldap ldapserver=127.0.0.1\n")
    if built_with("ldap"):
        pytest.skip("built with LDAP")
    assert refused(p.open(), user="app", database="p0") == \
        "ldap is not supported by this build"


# --- mistakes -------------------------------------------------------------

def start_fails(p):
    """It does, and the log says why on stderr; returns that."""
    p.expect_exit = 1
    p.write()
    p.launch()
    assert p.wait_exit() == 1
    return p.log


def reload_fails(p):
    """It does, and the console says why; returns the first line of that."""
    error = p.console().try_query("reload").errors[0]
    assert (error.code, error.message) == (
        "F0000", "RELOAD failed, see logs for additional details")
    return error.fields["D"].split("\n")[0]


@pytest.mark.skipif(REFERENCE, reason="newer than that")
@pytest.mark.parametrize("line,why", [
    ("host all all all rejct", 'unknown method "rejct"'),
    ("hst all all all reject", 'unknown type "hst"'),
    ("host all all 10.0.0.0/33 reject", 'invalid address "10.0.0.0/33"'),
    ("host all +crew all reject", '"+crew" is not supported: '
     "members of roles are not known here"),
    ("host samerole all all reject", '"samerole" is not supported: '
     "members of roles are not known here"),
    ("local all all peer map=none", 'unknown ident map "map=none"'),
    ("include none.conf", 'could not open file "%s/none.conf": '
     "No such file or directory")])
def test_line_that_cannot_be_used_refuses_the_file(pooler, line, why):
    """config-files.md 9: start and reload, with file and line"""
    p = hba(pooler, ADMIN + "host all app2 all trust\n")
    good = ADMIN + "host all app all trust\n"
    p.put("hba.conf", good + line + "\nhost all all all trust\n")
    path = p.settings["auth_hba_file"]
    want = "hba line 4: %s (%s:4)" % (
        why % p.dir if "%" in why else why, path)
    assert reload_fails(p) == want
    assert "ERROR " + want in p.log
    assert "ERROR could not parse hba config line 4" in p.log
    assert p.raw("app2").value("select 1") == "1"
    assert refused(p.open(), user="app", database="p0") == NONE

    q = pooler(start=False, auth_type="hba", auth_hba_file=path)
    assert "ERROR " + want in start_fails(q)
    p.put("hba.conf", good)
    assert p.console().query("reload").tags == ["RELOAD"]
    assert p.raw("app").value("select 1") == "1"


@pytest.mark.setting("auth_hba_unknown")
@pytest.mark.skipif(REFERENCE, reason="newer than that")
def test_lines_that_only_postgresql_knows_can_be_skipped(pooler):
    """config-files.md 9: auth_hba_unknown"""
    p = hba(pooler, ADMIN + "host all +crew all reject\n"
            "host all all all sspi\nhost all app all trust\n",
            auth_hba_unknown="skip")
    assert p.raw("app").value("select 1") == "1"
    for line in (3, 4):
        assert "WARNING could not parse hba config line %d" % line in p.log
    assert "WARNING hba line 3: \"+crew\" is not supported" in p.log
    con = p.console()
    res = con.try_query("set auth_hba_unknown = 'refuse'")
    assert "hba line 3: " in res.errors[0].message + \
        res.errors[0].fields.get("D", "")
    assert p.raw("app").value("select 1") == "1"
    # what is wrong for PostgreSQL, too, is never skipped
    p.put("hba.conf", ADMIN + "host all app all trust\nhost all x y z\n")
    assert reload_fails(p).startswith("hba line 4: unknown method")


@pytest.mark.skipif(REFERENCE, reason="newer than that")
def test_reload_with_a_broken_ident_file_is_refused(pooler):
    """config-files.md 10"""
    p = hba(pooler, ADMIN + "local all app peer map=m\n",
            "m %s app\n" % OS_USER, userlist={"app": "", "admin": ""})
    cmd = ["psql", "-XAtc", "select 1", "-h", p.dir, "-p", str(p.port),
           "-U", "app", "p0"]
    assert run(cmd).stdout == "1\n"
    p.put("ident.conf", "m nobody app\nm %s\n" % OS_USER)
    why = "ident line 2: a name is missing (%s:2)" % \
        p.settings["auth_ident_file"]
    assert reload_fails(p) == why
    assert run(cmd).stdout == "1\n"
    assert "ERROR " + why in start_fails(pooler(
        start=False, auth_type="hba", **{k: p.settings[k] for k in (
            "auth_hba_file", "auth_ident_file")}))
    p.put("ident.conf", "m /^(.)(.*)$ app\\1\nm nobody app\n")
    assert p.console().query("reload").tags == ["RELOAD"]
    assert "unix socket login rejected" in run(cmd).stderr
    p.put("ident.conf", "m /^%s$ /^a[p]{2}$\n" % OS_USER)
    assert p.console().query("reload").tags == ["RELOAD"]
    assert run(cmd).stdout == "1\n"


@pytest.mark.skipif(REFERENCE, reason="newer than that")
def test_start_needs_the_file(pooler):
    """authentication.md 4: no usable file"""
    none = "/does/not/exist.conf"
    for value, why in (
            (none, "could not open hba config file %s: No such file" % none),
            ("", "auth_type=hba needs auth_hba_file")):
        p = pooler(start=False, auth_type="hba", auth_hba_file=value)
        assert "ERROR " + why in start_fails(p)
    p = pooler(start=False, auth_type="hba")
    p.settings["auth_hba_file"] = p.put("hba.conf", "# to be written\n")
    assert "ERROR hba config file %s has no rules" % \
        p.settings["auth_hba_file"] in start_fails(p)


@pytest.mark.skipif(REFERENCE, reason="newer than that")
def test_unreadable_file_keeps_the_rules_in_force(pooler):
    """authentication.md 4: reload"""
    p = hba(pooler, ADMIN + "host all app all trust\n")
    path = p.settings["auth_hba_file"]
    p.put("hba.conf", ADMIN + "host all app2 all trust\n")
    assert p.console().query("reload").tags == ["RELOAD"]
    assert p.raw("app2").value("select 1") == "1"
    assert refused(p.open(), user="app", database="p0") == NONE
    os.unlink(path)
    res = p.console().try_query("reload")
    assert (res.errors[0].code, res.errors[0].message) == (
        "F0000", "RELOAD failed, see logs for additional details")
    assert "could not open hba config file" in p.log
    assert p.raw("app2").value("select 1") == "1"
    assert refused(p.open(), user="app", database="p0") == NONE
    p.put("hba.conf", ADMIN + "host all app all trust\n")
    assert p.console().query("reload").tags == ["RELOAD"]
    assert p.raw("app").value("select 1") == "1"


def test_rules_of_a_login_under_way_outlive_a_reload(pooler):
    """config-files.md 13: new rules for new logins only"""
    p = hba(pooler, ADMIN + "host all app all md5\n")
    c = p.open().login("app", database="p0", wait=False)
    kind, body = c.recv()
    assert kind == "R"
    p.put("hba.conf", ADMIN + "host all all all reject\n")
    p.console().query("reload")
    c.send(pq.password(pq.md5_password("app", "apppw", body[4:])))
    c.finish_login("app")
    assert c.value("select 1") == "1"
    assert refused(p.open(), user="app", database="p0") == "login rejected"


@pytest.mark.skipif(REFERENCE, reason="newer than that")
def test_console_set_reads_the_rules(pooler):
    """settings.md 5: SET auth_type, auth_hba_file"""
    p = pooler()
    con = p.console()
    assert con.try_query("set auth_type = 'hba'").errors
    assert p.raw("app").value("select 1") == "1"
    path = p.put("hba.conf", "host all app2 all trust\n")
    con.query("set auth_hba_file = '%s'" % path)
    con.query("set auth_type = 'hba'")
    assert refused(p.open(), user="app", database="p0") == NONE
    assert p.raw("app2").value("select 1") == "1"
    con.query("set auth_type = 'trust'")
    assert p.raw("app").value("select 1") == "1"


@pytest.mark.skipif(REFERENCE, reason="newer than that")
def test_check_tells_of_faulty_rules(pooler):
    """--check: a faulty line is a problem, once"""
    p = hba(pooler, "host all all all trust\n")
    p.put("hba.conf", "host all all all trust\nhost all all all pan\n")
    out = run([p.proc.args[0], "--check", p.ini])
    assert out.returncode == 1
    assert "hba line 2: unknown method \"pan\" (%s:2)\n" % \
        p.settings["auth_hba_file"] in out.stdout
    assert out.stdout.endswith(": 1 problem\n")


# --- peer -----------------------------------------------------------------

def test_peer_lets_the_os_user_in(pooler):
    """authentication.md 3.5"""
    p = hba(pooler, "local all all peer\nhost all all all peer\n",
            dbs={"p0": "user=app"}, userlist={OS_USER: "", "app": ""})
    run_as = ["psql", "-XAtc", "select 1", "-h", p.dir, "-p", str(p.port),
              "p0"]
    ok = run(run_as + ["-U", OS_USER])
    assert (ok.returncode, ok.stdout) == (0, "1\n"), ok.stderr
    bad = run(run_as + ["-U", "app"])
    assert "unix socket login rejected" in bad.stderr
    assert refused(p.open(), user=OS_USER, database="p0") == \
        "unix socket login rejected"


def test_peer_needs_a_known_user(pooler):
    """authentication.md 3.5, 7"""
    p = hba(pooler, "local all all peer\n", dbs={"p0": "user=app"},
            userlist={"app": ""})
    out = run(["psql", "-XAtc", "select 1", "-h", p.dir, "-p", str(p.port),
               "-U", OS_USER, "p0"])
    assert "unix socket login rejected" in out.stderr


@pytest.mark.setting("auth_ident_file")
def test_peer_map_says_who_may_be_whom(pooler):
    """authentication.md 3.5; config-files.md 10"""
    p = hba(pooler, "local all all peer map=m\n",
            "# maps\nm  %s  app\nm  somebody all\nother %s all\n"
            % (OS_USER, OS_USER))
    cmd = ["psql", "-XAtc", "select 1", "-h", p.dir, "-p", str(p.port)]
    ok = run(cmd + ["-U", "app", "p0"])
    assert (ok.returncode, ok.stdout) == (0, "1\n"), ok.stderr
    bad = run(cmd + ["-U", "app2", "p0"])
    assert "unix socket login rejected" in bad.stderr
    assert "ident map m cannot be matched" in p.log


# --- cert -----------------------------------------------------------------

FAILED = "certificate authentication failed"


def by_cert(p, certs, cert, user):
    """Log in with a certificate; returns the refusal, or None."""
    c = p.open().start_tls(certs.client_context(cert))
    try:
        c.login(user, None, "p0")
    except pq.PgError as e:
        assert e.code == code_of(e.message)
        return e.message
    return None


def test_cert_name_is_compared_to_the_letter(pooler, certs):
    """authentication.md 3.4: the CommonName, nothing else"""
    p = hba(pooler, "hostssl all all all cert\n", **certs.accept("verify-ca"),
            userlist={"app": "", "App": "", "ghost2": "", "x.app": ""})
    certs.make("case", "/CN=APP")
    certs.make("wild", "/CN=*.app", "DNS:app,DNS:*.app")
    certs.make("two", "/CN=app/CN=ghost2")
    assert by_cert(p, certs, "client", "app") is None
    for cert, user in (("client", "App"), ("case", "app"), ("wild", "x.app"),
                       ("wild", "app"), ("two", "app"), ("two", "ghost2")):
        assert by_cert(p, certs, cert, user) == FAILED, (cert, user)
    p.wait_log("TLS certificate name mismatch")
    # the name is right, but nobody is called so
    certs.make("ghost", "/CN=ghost")
    assert by_cert(p, certs, "ghost", "ghost") == FAILED


def test_cert_map_says_who_may_be_whom(pooler, certs):
    """authentication.md 3.4; config-files.md 10"""
    certs.make("boss", "/CN=The Boss")
    certs.make("plus", "/CN=app2")
    p = hba(pooler, "hostssl all all all cert map=m\n",
            '# who may be whom\nm app app2\nm "The Boss" all\n'
            "other app u0\n", **certs.accept("verify-ca"))
    assert by_cert(p, certs, "client", "app2") is None
    assert by_cert(p, certs, "boss", "u0") is None
    assert by_cert(p, certs, "client", "app") == FAILED
    assert by_cert(p, certs, "client", "u0") == FAILED
    assert by_cert(p, certs, "plus", "app2") == FAILED
    p.wait_log("ident map: m does not have a match")
    assert by_cert(p, certs, "boss", "ghost") == FAILED


def test_cert_wants_a_certificate(pooler, certs):
    """authentication.md 3.4: the TLS mode need not ask for one"""
    p = hba(pooler, "hostssl all all all cert\n", **certs.accept("prefer"))
    assert by_cert(p, certs, None, "app") == FAILED
    p.wait_log("TLS client certificate required")
    assert by_cert(p, certs, "client", "app") is None


def test_cert_and_password_rules_side_by_side(pooler, certs):
    """authentication.md 4: first match decides, no falling through"""
    p = hba(pooler, "hostssl all app all cert\nhost all all all md5\n",
            **certs.accept("prefer"), userlist={"app": "x", "app2": "y"})
    assert by_cert(p, certs, None, "app") == FAILED
    c = p.open().start_tls(certs.client_context())
    assert c.login("app2", "y", "p0").value("select 1") == "1"
    assert p.raw("app", password="x").value("select 1") == "1"


def test_cert_without_tls_is_refused(pooler):
    """authentication.md 3.4"""
    p = hba(pooler, "host all all all cert\nlocal all all cert\n")
    for unix in (False, True):
        assert refused(p.open(unix), user="app", database="p0") == \
            "certificate authentication failed"
    wait_until(lambda: p.log.count("TLS connection required") == 2)
