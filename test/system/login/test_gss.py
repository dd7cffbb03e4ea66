# test_gss.py - GSSAPI: logins by tickets, spec/authentication.md section 3.9.
# SPDX-License-Identifier: ISC
"""PostgreSQL with the same keytab and the same rules says what is right."""
import os
import shutil
import subprocess

import pytest

import harness
import kdc
import pq
from harness import as_user, binary, give, run, wait_until
from kdc import OTHER, REALM, Initiator
from test_hba import ADMIN, hba

FAILED = "GSSAPI authentication failed"
USERS = ("app", "app2", "admin")


def is_built():
    folder = harness.make_tmp()
    rules = os.path.join(folder, "hba")
    ini = os.path.join(folder, "ini")
    with open(rules, "w") as f:
        f.write("host all all all gss\n")
    with open(ini, "w") as f:
        f.write("[pgbouncer]\nauth_type=hba\nauth_hba_file=%s\n" % rules)
    for path in (rules, ini):
        os.chmod(give(path), 0o644)
    text = run([binary(), "--check", ini], cwd="/").stdout
    shutil.rmtree(folder)
    return "unsupported method" not in text


@pytest.fixture(scope="module")
def realm():
    if not is_built():
        pytest.skip("this build has no GSSAPI")
    assert kdc.KRB5KDC, "krb5-kdc is not installed"
    k = kdc.Kdc(*USERS)
    yield k
    k.stop()


@pytest.fixture(scope="module")
def oracle(realm):
    """PostgreSQL as the same service."""
    pg = harness.Postgres(krb_server_keyfile="'FILE:%s'" % realm.keytab,
                          env=realm.env)
    pg.sql('create role "app@%s" login' % REALM,
           'create role "app@%s" login' % OTHER)
    yield pg
    pg.stop()


def put(pg, rules, ident="", **settings):
    """The rules of PostgreSQL from now on."""
    for name, text in (("pg_hba.conf", "local all all trust\n" + rules),
                       ("pg_ident.conf", ident)):
        with open(os.path.join(pg.data, name), "w") as f:
            f.write(text)
    for name, value in settings.items():
        pg.sql("alter system set %s = %s" % (name, value))
    before = pg.sql("select pg_conf_load_time()")
    pg.sql("select pg_reload_conf()")
    wait_until(lambda: pg.sql("select pg_conf_load_time()") != before,
               what="the reload")
    with pg.connect() as c:
        bad = c.execute("select error from pg_hba_file_rules "
                        "where error is not null").fetchall()
    assert not bad, bad


def pooling(pooler, realm, oracle, rules, ident="", **kw):
    """A pooler in front of it, by the same rules."""
    kw.setdefault("userlist", dict.fromkeys(
        USERS + ("app@" + REALM, "app@" + OTHER, "APP"), ""))
    kw.setdefault("krb_server_keyfile", "FILE:" + realm.keytab)
    p = hba(lambda **k: started(pooler, realm, **k), ADMIN + rules, ident,
            dbs={"p0": "host=%s port=%d" % (oracle.dir, oracle.port)}, **kw)
    return p


def started(pooler, realm, **kw):
    p = pooler(**kw)
    p.env.update({k: realm.env[k] for k in ("KRB5_CONFIG", "KRB5RCACHEDIR")})
    return p


def exchange(c, user, client, database="p0", answer=None):
    """What came, as R7 R8 R0 or E28000; answer(token) changes what is sent."""
    seen = []
    c.login(user, database=database, wait=False)
    try:
        while True:
            kind, body = c.recv()
            if kind == "E":
                # PostgreSQL sends its last token to those it refuses, too
                return [s for s in seen if s != "R8"] + [
                    "E" + pq.PgError(pq.fields(body)).code]
            assert kind == "R"
            code = int.from_bytes(body[:4], "big")
            seen.append("R%d" % code)
            if code == 0:
                c.recv_until()
                return seen
            try:
                said = client.step(body[4:])[0]
            except OSError:
                continue   # it told of an error, which follows
            said = answer(said) if answer and code == 7 else said
            if code == 7 or said:
                c.send(pq.msg("p", said))
    except pq.Closed:
        return seen + ["closed"]


def direct(oracle):
    return pq.Conn(port=oracle.port)


def both(p, oracle, env, user, **kw):
    """The outcome, which is the same with and without the pooler."""
    how = {k: kw.pop(k) for k in ("service", "flags") if k in kw}
    outcomes = []
    for c in (direct(oracle), p.open()):
        with c:
            outcomes.append(exchange(c, user, Initiator(env, **how), **kw))
    assert outcomes[0] == outcomes[1]
    return outcomes[0]


def psql(realm, ticket, port, user, command="select current_user", more=""):
    return subprocess.run(
        ["psql", "-XAtc", command, "host=localhost hostaddr=127.0.0.1 "
         "port=%d user=%s dbname=p0 sslmode=disable %s" % (port, user, more)],
        env=realm.client_env(ticket), stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, timeout=300, **as_user())


OK = ["R7", "R8", "R0"]
REFUSED = ["R7", "E28000"]
APP = ("app", REALM)
ALIEN = ("app", OTHER)


@pytest.mark.parametrize("options,ident,who,user,outcome", [
    ("", "", APP, "app@" + REALM, OK),
    ("", "", APP, "app", REFUSED),
    ("include_realm=1", "", APP, "app@" + REALM, OK),
    ("include_realm=0", "", APP, "app", OK),
    ("include_realm=0", "", APP, "app2", REFUSED),
    ("include_realm=0", "", ("app2", REALM), "app", REFUSED),
    # PostgreSQL's manual: without krb_realm any realm will do
    ("include_realm=0", "", ALIEN, "app", OK),
    ("include_realm=0 krb_realm=" + REALM, "", ALIEN, "app", REFUSED),
    ("include_realm=0 krb_realm=" + REALM, "", APP, "app", OK),
    ("include_realm=0 krb_realm=" + OTHER, "", ALIEN, "app", OK),
    ("include_realm=0 krb_realm=sluice.test", "", APP, "app", REFUSED),
    ("", "", ALIEN, "app@" + OTHER, OK),
    ("", "", ALIEN, "app@" + REALM, REFUSED),
    ("map=m", r"m /^(.*)@SLUICE\.TEST$ \1", APP, "app", OK),
    ("map=m", r"m /^(.*)@SLUICE\.TEST$ \1", ALIEN, "app", REFUSED),
    ("map=m", "m app@%s app2" % REALM, APP, "app2", OK),
    ("map=m", "m app@%s app2" % REALM, APP, "app", REFUSED),
    ("map=m include_realm=0", "m app app2", APP, "app2", OK),
    ("include_realm=0", "", APP, "APP", REFUSED),
])
def test_rule_says_which_principal_may_be_which_user(
        pooler, realm, oracle, options, ident, who, user, outcome):
    rules = "host all all 127.0.0.1/32 gss %s\n" % options
    put(oracle, rules, ident)
    p = pooling(pooler, realm, oracle, rules, ident)
    env = realm.client_env(realm.ticket(*who))
    assert both(p, oracle, env, user) == outcome
    if outcome == REFUSED:
        p.wait_log('GSSAPI: principal "%s@%s"' % who)


@pytest.mark.setting("krb_caseins_users")
@pytest.mark.parametrize("options,ident,outcome", [
    ("include_realm=0", "", OK),
    ("include_realm=0 krb_realm=sluice.test", "", OK),
    ("map=m", "m APP@sluice.test app", OK),
    ("map=m", r"m /^(.*)@SLUICE\.TEST$ \1", OK),
    ("map=m", r"m /^(.*)@sluice\.test$ \1", REFUSED)])
def test_case_counts_unless_krb_caseins_users(pooler, realm, oracle, options,
                                              ident, outcome):
    rules = "host all all 127.0.0.1/32 gss %s\n" % options
    put(oracle, rules, ident, krb_caseins_users="on")
    oracle.sql("drop role if exists \"APP\"", 'create role "APP" login')
    p = pooling(pooler, realm, oracle, rules, ident, krb_caseins_users=1)
    env = realm.client_env(realm.ticket("app"))
    assert both(p, oracle, env, "APP") == outcome
    put(oracle, rules, ident, krb_caseins_users="off")
    p.settings["krb_caseins_users"] = 0
    p.reload()
    assert both(p, oracle, env, "APP") == REFUSED


PLAIN = "host all all 127.0.0.1/32 gss include_realm=0\n"


@pytest.fixture
def plain(pooler, realm, oracle):
    put(oracle, PLAIN)
    return pooling(pooler, realm, oracle, PLAIN)


@pytest.mark.setting("krb_server_keyfile")
def test_psql_logs_in_by_its_ticket(plain, realm, oracle):
    ticket = realm.ticket("app")
    for port in (oracle.port, plain.port):
        assert psql(realm, ticket, port, "app",
                    more="gssencmode=disable").stdout == "app\n"
    none = psql(realm, os.path.join(realm.dir, "none"), plain.port, "app",
                more="gssencmode=disable")
    assert none.returncode != 0 and "redential" in none.stderr


def test_exchange_may_have_several_round_trips(plain, realm, oracle):
    """DCE style: the client answers the service's token"""
    env = realm.client_env(realm.ticket("app"))
    assert both(plain, oracle, env, "app",
                flags=kdc.MUTUAL | kdc.DCE_STYLE) == ["R7", "R8", "R0"]


def spoiled(token):
    return token[:-1] + bytes([token[-1] ^ 1])


@pytest.mark.parametrize("answer", [
    lambda t: b"\0", lambda t: b"password\0",
    lambda t: b"x" * 1000, spoiled, lambda t: t[:100], lambda t: t + b"x",
    lambda t: b"x" * 65530], ids=["zero", "password", "noise",
                                  "spoiled", "short", "longer", "huge"])
def test_garbage_is_refused(plain, realm, oracle, answer):
    env = realm.client_env(realm.ticket("app"))
    outcomes = []
    for c in (direct(oracle), plain.open()):
        with c:
            outcomes.append(exchange(c, "app", Initiator(env),
                                     answer=answer))
    assert outcomes[0] == outcomes[1] == REFUSED
    assert both(plain, oracle, env, "app") == OK


def test_empty_token_is_no_proof(plain, realm, oracle):
    """the library answers what it would like to have"""
    for c in (direct(oracle), plain.open()):
        with c:
            c.login("app", database="p0", wait=False)
            assert c.recv() == ("R", b"\0\0\0\x07")
            c.send(pq.msg("p"))
            kind, body = c.recv()
            assert (kind, body[:4]) == ("R", b"\0\0\0\x08")
            c.send(pq.msg("p", b"noise"))
            seen = c.recv_all()
            assert [e.code for e in seen.errors] == ["28000"]


def test_token_that_is_too_long_harms_only_its_sender(plain, realm):
    env = realm.client_env(realm.ticket("app"))
    c = plain.open()
    seen = exchange(c, "app", Initiator(env), answer=lambda t: b"x" * 65536)
    assert seen == ["R7", "closed"] or seen[-1].startswith("E")
    assert exchange(plain.open(), "app", Initiator(env)) == OK


def test_token_that_was_used_is_refused(plain, realm, oracle):
    """by the replay cache"""
    env = realm.client_env(realm.ticket("app"))
    outcomes = []
    for opened in (lambda: direct(oracle), plain.open):
        token = []

        def keep(t):
            token.append(t)
            return t
        assert exchange(opened(), "app", Initiator(env), answer=keep) == OK
        outcomes.append(exchange(opened(), "app", Initiator(env),
                                 answer=lambda t: token[0]))
    assert outcomes[0] == outcomes[1] == REFUSED
    plain.wait_log("GSSAPI: accepting GSS security context failed.*replay")


def test_ticket_for_another_service_is_refused(plain, realm, oracle):
    env = realm.client_env(realm.ticket("app"))
    outcomes = []
    for c in (direct(oracle), plain.open()):
        outcomes.append(exchange(c, "app", Initiator(env, "http@localhost")))
    assert outcomes[0] == outcomes[1] == REFUSED


def test_expired_ticket_is_refused(plain, realm, oracle):
    """the token is made in time, and is sent when its ticket has ended; the
    wait is for the KDC's clock, which nobody can set"""
    realm.admin(REALM, "modprinc -maxlife 2s app2")
    env = realm.client_env(realm.ticket("app2", life="2s"))
    assert exchange(plain.open(), "app2", Initiator(env)) == OK

    def is_over():
        try:
            Initiator(env).step()
            return False
        except OSError:
            return True
    wait_until(is_over, what="the ticket to expire")
    none = psql(realm, env["KRB5CCNAME"], plain.port, "app2",
                more="gssencmode=disable")
    assert none.returncode != 0 and "expired" in none.stderr
    realm.admin(REALM, "modprinc -maxlife 1d app2")


def test_login_goes_on_while_the_kdc_is_down(plain, realm, oracle):
    """the keytab is all that the service needs"""
    env = realm.client_env(realm.ticket("app"))
    assert both(plain, oracle, env, "app") == OK
    realm.halt()
    try:
        assert both(plain, oracle, env, "app") == OK
    finally:
        realm.start()


def test_client_that_hangs_up_in_mid_exchange_is_forgotten(plain, realm):
    env = realm.client_env(realm.ticket("app"))
    for polite in (True, False):
        for _ in range(10):
            c = plain.open().login("app", database="p0", wait=False)
            assert c.recv() == ("R", b"\0\0\0\x07")
            c.send(pq.msg("p", Initiator(env).step()[0]))
            if polite:
                c.close()
            else:
                c.abort()
    assert exchange(plain.open(), "app", Initiator(env)) == OK
    wait_until(lambda: len(plain.admin("show clients")) == 2,
               what="the clients to be forgotten")


def test_unknown_user_is_refused_after_the_exchange(pooler, realm, oracle):
    p = pooling(pooler, realm, oracle, PLAIN, userlist={"admin": ""})
    env = realm.client_env(realm.ticket("app"))
    assert exchange(p.open(), "app", Initiator(env)) == REFUSED


@pytest.mark.parametrize("keytab", ["missing", "unreadable", "text"])
def test_keytab_that_cannot_be_used_is_reported(pooler, realm, oracle,
                                                keytab):
    path = os.path.join(realm.dir, keytab)
    if keytab != "missing":
        with open(path, "w") as f:
            f.write("no keytab\n")
    if keytab == "unreadable":
        os.chmod(path, 0)
    p = pooling(pooler, realm, oracle, PLAIN, krb_server_keyfile=path)
    out = run([binary(), "--check", p.ini], cwd="/")
    assert out.returncode == 1
    assert '%s/hba.conf:3: the method gss cannot use krb_server_keyfile ' \
        '"%s": ' % (p.dir, path) in out.stdout
    env = realm.client_env(realm.ticket("app"))
    assert exchange(p.open(), "app", Initiator(env)) == REFUSED
    p.wait_log("GSSAPI: could not use the keytab")


def test_key_that_is_new_counts_at_once(plain, realm, oracle):
    env = realm.client_env(realm.ticket("app"))
    assert both(plain, oracle, env, "app") == OK
    realm.admin(REALM, "ktadd -k %s postgres/localhost" % realm.keytab)
    fresh = realm.client_env(realm.ticket("app"))
    assert both(plain, oracle, fresh, "app") == OK
    # the old key is still in the file
    assert both(plain, oracle, env, "app") == OK
