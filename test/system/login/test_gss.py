# test_gss.py - GSSAPI: logins by tickets, spec/authentication.md section 3.9.
# SPDX-License-Identifier: ISC
"""PostgreSQL with the same keytab and the same rules says what is right."""
import hashlib
import os
import shutil
import socket
import subprocess

import pytest

import harness
import kdc
import pq
from harness import as_user, binary, give, run, wait_until
from kdc import OTHER, REALM, Initiator
from test_hba import ADMIN, hba
from test_takeover import take_over

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
                        "where error is not null and error not like "
                        "'hostssl record cannot match%'").fetchall()
    assert not bad, bad


def pooling(pooler, realm, oracle, rules, ident="", **kw):
    """A pooler in front of it, by the same rules."""
    kw.setdefault("userlist", dict.fromkeys(
        USERS + ("app@" + REALM, "app@" + OTHER, "APP"), ""))
    kw.setdefault("krb_server_keyfile", "FILE:" + realm.keytab)
    kw.setdefault("dbs", {"p0": "host=%s port=%d" % (oracle.dir, oracle.port)})
    return hba(lambda **k: started(pooler, realm, **k), ADMIN + rules, ident,
               **kw)


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


# --- encryption -----------------------------------------------------------

def opened(where, env, sealed=True, flags=kdc.SEALED):
    """A connection; encrypted, unless that is refused."""
    client = Initiator(env, flags=flags)
    if sealed and not kdc.start_encryption(where, client):
        where.close()
        raise ConnectionRefusedError
    return where


@pytest.mark.parametrize("rule,sealed,clear", [
    ("host all all all gss include_realm=0", ["R0"], OK),
    ("hostgssenc all all all gss include_realm=0", ["R0"], ["E28000"]),
    ("hostnogssenc all all all gss include_realm=0", ["E28000"], OK),
    ("hostgssenc all all all gss include_realm=0 krb_realm=" + OTHER,
     ["E28000"], ["E28000"]),
    ("hostgssenc all all all gss", ["E28000"], ["E28000"]),
    ("hostgssenc all all all trust", ["R0"], ["E28000"]),
    ("hostgssenc all all all reject", ["E28000"], ["E28000"]),
    ("hostssl all all all trust", ["E28000"], ["E28000"]),
    ("hostnossl all all all trust", ["R0"], ["R0"]),
])
def test_rule_says_what_encryption_is_for(pooler, realm, oracle, rule, sealed,
                                          clear):
    put(oracle, rule + "\n")
    p = pooling(pooler, realm, oracle, rule + "\n")
    env = realm.client_env(realm.ticket("app"))
    for c in (direct(oracle), p.open()):
        with opened(c, env):
            assert exchange(c, "app", None) == sealed
    for c in (direct(oracle), p.open()):
        with c:
            assert exchange(c, "app", Initiator(env)) == clear


def test_password_goes_through_the_encryption(pooler, realm, oracle):
    rule = "hostgssenc all all all scram-sha-256\n"
    p = pooling(pooler, realm, oracle, rule, userlist={
        "admin": "", "u_scram": "pw_three"})
    env = realm.client_env(realm.ticket("app"))
    with opened(p.open(), env) as c:
        assert c.login("u_scram", "pw_three", "p0").value(
            "select current_user") == "u_scram"


def digest(realm, port, command, **kw):
    out = psql(realm, realm.ticket("app"), port, "app", command,
               "gssencmode=require", **kw)
    assert out.returncode == 0, out.stderr
    return hashlib.sha256(out.stdout.encode()).hexdigest()


@pytest.mark.parametrize("command", [
    "select current_user",
    "select repeat('x', g % 20000) from generate_series(1, 2000) g",
    "copy (select g, repeat('y', g % 300) from generate_series(1, 50000) g)"
    " to stdout"])
def test_psql_reads_what_it_reads_of_the_server(plain, realm, oracle, command):
    assert digest(realm, plain.port, command) == \
        digest(realm, oracle.port, command)


def test_copy_into_a_table_arrives_whole(plain, realm, oracle):
    path = os.path.join(realm.dir, "rows")
    with open(path, "w") as f:
        for n in range(100000):
            f.write("%d\t%s\n" % (n, "z" * (n % 90)))
    give(path)
    oracle.sql("truncate sink", db="p0")
    digest(realm, plain.port, "\\copy sink from '%s'" % path)
    assert oracle.sql("select count(*), sum(id), sum(length(val)) from sink",
                      db="p0") == [(100000, sum(range(100000)),
                                    sum(n % 90 for n in range(100000)))]


def test_show_clients_tells_of_the_encryption(plain, realm):
    env = realm.client_env(realm.ticket("app"))
    with opened(plain.open(), env) as c:
        c.login("app", database="p0").value("select 1")
        assert [r["tls"] for r in plain.show("clients")
                if r["user"] == "app"] == ["GSSAPI"]
    plain.wait_log("login attempt: db=p0 user=app tls=GSSAPI")


@pytest.mark.setting("client_gssencmode")
@pytest.mark.parametrize("mode,key,tls,answer", [
    ("disable", True, None, b"N"), ("allow", True, None, b"G"),
    ("allow", False, None, b"N"), ("require", True, None, b"G"),
    ("allow", True, "allow", b"G"), ("allow", True, "require", b"N")])
def test_setting_says_whether_to_encrypt(pooler, realm, oracle, certs, mode,
                                         key, tls, answer):
    more = {} if key else {"krb_server_keyfile": None}
    if tls:
        more.update(certs.accept(tls))
    p = pooling(pooler, realm, oracle, "host all all all trust\n",
                client_gssencmode=mode, **more)
    with p.open() as c:
        c.send(kdc.GSSENC)
        assert c.recv_bytes(1) == answer
    with p.open(unix=True) as c:
        c.send(kdc.GSSENC)
        assert c.recv_bytes(1) == b"N"
    if mode == "require":
        seen = p.open().login("app", database="p0", wait=False).recv_all()
        assert [(e.code, e.message) for e in seen.errors] == [
            ("28000", "GSSAPI encryption required")]
    elif tls != "require":
        assert p.raw("app").value("select 1") == "1"


def test_two_encryptions_that_are_required_are_refused(pooler, realm, oracle,
                                                       certs):
    p = pooling(pooler, realm, oracle, PLAIN)
    p.settings.update(client_gssencmode="require", **certs.accept("require"))
    p.write()
    out = run([binary(), "--check", p.ini], cwd="/")
    assert out.returncode == 1
    assert "client_gssencmode=require and client_tls_sslmode=require exclude" \
        in out.stdout


def test_nothing_else_begins_inside_of_it(plain, realm, oracle):
    """neither TLS nor another one, as with PostgreSQL"""
    env = realm.client_env(realm.ticket("app"))
    for code in (pq.SSL_REQUEST, pq.GSSENC_REQUEST):
        for c in (direct(oracle), plain.open()):
            with opened(c, env):
                c.send(pq.untyped(code))
                assert len(c.recv_all().errors) == 1


@pytest.mark.parametrize("data", [
    b"\0\0\0\0", b"\0\0\x40\0", b"\xff\xff\xff\xff", b"\0\0\0\x05hello",
    b"\0\0\x3f\xfc" + b"x" * 16380, b"\0\0\0", b"Q\0\0\0\x0dselect 1\0"],
    ids=["zero", "long", "huge", "noise", "full", "short", "clear"])
@pytest.mark.parametrize("when", ["first", "up", "in"])
def test_wrong_packet_ends_its_connection_only(plain, realm, data, when):
    env = realm.client_env(realm.ticket("app"))
    c = plain.open()
    if when == "first":
        c.send(kdc.GSSENC)
        assert c.recv_bytes(1) == b"G"
    else:
        opened(c, env)
    if when == "in":
        assert c.login("app", database="p0").value("select 1") == "1"
    raw = getattr(c.sock, "sock", c.sock)
    raw.sendall(data)
    raw.shutdown(socket.SHUT_WR)
    assert raw.recv(100) == b""
    assert exchange(opened(plain.open(), env), "app", None) == ["R0"]


def test_packet_of_another_connection_is_refused(plain, realm):
    """replayed, and so is one that was sent before"""
    env = realm.client_env(realm.ticket("app"))
    a, b = (opened(plain.open(), env).login("app", database="p0")
            for _ in range(2))
    packet = a.sock.packet(pq.query("select 1"))
    for c in (b, a, a):
        c.sock.sock.sendall(packet)
        if c is a and not getattr(a, "asked", None):
            a.asked = a.recv_until().check()
            continue
        assert c.sock.sock.recv(1) == b""


def test_bytes_may_come_one_by_one(plain, realm):
    env = realm.client_env(realm.ticket("app"))
    c, client = plain.open(), Initiator(env, flags=kdc.SEALED)
    c.send_split(kdc.GSSENC)
    assert c.recv_bytes(1) == b"G"
    token = client.step()[0]
    c.send_split(len(token).to_bytes(4, "big") + token)
    n = int.from_bytes(c.recv_bytes(4), "big")
    client.step(c.recv_bytes(n))
    c.sock = kdc.SealedSocket(c.sock, client)
    for message in (pq.startup({"user": "app", "database": "p0"}),
                    pq.query("select 7")):
        packet = c.sock.packet(message)
        for i in range(len(packet)):
            c.sock.sock.sendall(packet[i:i + 1])
        got = c.recv_until()
    assert got.rows == [["7"]]
    # several packets in one write
    c.sock.sock.sendall(b"".join(c.sock.packet(pq.query("select %d" % i))
                                 for i in range(200)))
    assert [c.recv_until().rows[0][0] for _ in range(200)] == [
        str(i) for i in range(200)]


def test_client_that_hangs_up_in_the_handshake_is_forgotten(plain, realm):
    env = realm.client_env(realm.ticket("app"))
    for polite in (True, False):
        for part in (0, 2, 100, None):
            c = plain.open()
            c.send(kdc.GSSENC)
            assert c.recv_bytes(1) == b"G"
            token = Initiator(env, flags=kdc.SEALED).step()[0]
            c.send((len(token).to_bytes(4, "big") + token)[:part])
            if polite:
                c.sock.close()
                c.sock = None
            else:
                c.abort()
    assert exchange(opened(plain.open(), env), "app", None) == ["R0"]
    wait_until(lambda: len(plain.admin("show clients")) <= 2,
               what="the clients to be forgotten")


def test_cancel_goes_through_the_encryption(plain, realm, oracle):
    env = realm.client_env(realm.ticket("app"))
    with opened(plain.open(), env) as c:
        c.login("app", database="p0")
        c.send(pq.query("select pg_sleep(1000)"))
        wait_until(lambda: oracle.backends(where="query like '%%pg_sleep(10%%'"),
                   what="the query to run")
        with opened(plain.open(), env) as other:
            other.send(pq.untyped(pq.CANCEL_REQUEST, c.key))
        assert [e.code for e in c.recv_until().errors] == ["57014"]


def test_takeover_leaves_it_behind(pooler, realm, oracle):
    """as TLS: the session ends, and loses nothing"""
    p = pooling(pooler, realm, oracle, PLAIN)
    env = realm.client_env(realm.ticket("app"))
    c = opened(p.open(), env).login("app", database="p0")
    assert c.value("select 1") == "1"
    q = take_over(lambda **kw: started(pooler, realm, **kw), p)
    assert "1 clients can't be handed over" in p.log
    assert c.recv_all().messages == []
    assert exchange(opened(q.open(), env), "app", None) == ["R0"]


@pytest.mark.skipif(not harness.is_forced(), reason="nothing can be forced")
def test_it_moves_along_between_workers(pooler, realm, oracle):
    p = pooling(lambda **kw: restless_env(pooler(**kw)), realm, oracle, PLAIN,
                workers=2, default_pool_size=16)
    env = realm.client_env(realm.ticket("app"))
    wait_until(lambda: p.raw_sealed(env) and "is also served by worker" in p.log)
    c = opened(p.open(), env).login("app", database="p0")
    before = sum(int(r["clients_in"]) for r in p.show("workers"))
    for n in range(50):
        assert c.value("select %d" % n) == str(n)
    assert len(c.value("select repeat('x', 1000000)")) == 1000000
    assert sum(int(r["clients_in"]) for r in p.show("workers")) > before


def restless_env(p):
    p.env.update(PARTS_FORCE="1", PGSLUICE_FORCE="moves")

    def raw_sealed(env):
        with opened(p.open(), env) as c:
            return c.login("app", database="p0").value("select 1") == "1"
    p.raw_sealed = raw_sealed
    return p


# --- logins to servers ----------------------------------------------------

SERVER = "host all all 127.0.0.1/32 gss map=pool\n"
POOL = "pool pooler@%s app\npool pooler@%s app2\npool other@%s app2\n" % (
    (REALM,) * 3)


@pytest.fixture(scope="module")
def own_key(realm):
    """The keytab of a principal that is the pooler."""
    for name in ("pooler", "other"):
        realm.admin(REALM, "addprinc -randkey " + name)
    return realm.make_keytab("client", "pooler")


def fronting(pooler, realm, oracle, key, db="", rules=SERVER, **kw):
    put(oracle, rules, POOL)
    return pooling(pooler, realm, oracle, "host all all all trust\n", dbs={
        name: "host=localhost port=%d dbname=p0 %s" % (oracle.port, db)
        for name in ("p0", "p1")}, **{
            "server_gss": 1, "krb_client_keyfile": key,
            "server_login_retry": 0.1, **kw})


def login_fails(p, user="app"):
    seen = p.open().login(user, database="p0", wait=False).recv_all()
    return seen.errors[0].message


@pytest.mark.setting("server_gss", "krb_client_keyfile")
def test_pooler_logs_in_to_the_server_by_its_keytab(pooler, realm, oracle,
                                                    own_key):
    p = fronting(pooler, realm, oracle, own_key)
    for user in ("app", "app2"):
        assert p.raw(user).query(
            "select current_user, gss_authenticated, principal from "
            "pg_stat_gssapi where pid = pg_backend_pid()").rows == [
                [user, "t", "pooler@" + REALM]]


WRONG_TYPE = "server login failed: wrong password type"


@pytest.mark.database("server_gss")
@pytest.mark.parametrize("setting,key,works", [
    (0, "", False), (1, "server_gss=0", False), (0, "server_gss=1", True)])
def test_key_of_the_database_overrides_server_gss(
        pooler, realm, oracle, own_key, setting, key, works):
    p = fronting(pooler, realm, oracle, own_key, key, server_gss=setting)
    if works:
        assert p.raw("app").value("select 1") == "1"
        return
    assert login_fails(p) == WRONG_TYPE
    p.wait_log("unknown/unsupported auth method: 7")


@pytest.mark.setting("krb_client_principal", "krbsrvname")
@pytest.mark.parametrize("settings,user,works", [
    ({}, "app", True),
    ({"krb_client_principal": "other"}, "app2", True),
    ({"krb_client_principal": "other@" + REALM}, "app", False),
    ({"krb_client_principal": "nobody"}, "app", False),
    ({"krbsrvname": "http"}, "app", False),
    ({"krbsrvname": "nothing"}, "app", False)])
def test_settings_say_who_logs_in_at_which_service(
        pooler, realm, oracle, own_key, settings, user, works):
    both = realm.make_keytab("two", "pooler", "other")
    p = fronting(pooler, realm, oracle, both, **settings)
    if works:
        assert p.raw(user).value("select current_user") == user
    else:
        assert "GSSAPI authentication failed" in login_fails(p, user)


def test_without_a_key_the_login_fails_with_a_reason(pooler, realm, oracle):
    p = fronting(pooler, realm, oracle, os.path.join(realm.dir, "none"))
    assert login_fails(p) == \
        "server login failed: GSSAPI authentication failed"
    p.wait_log("ERROR .*could not use the client keytab")
    out = run([binary(), "--check", p.ini], cwd="/")
    assert 'krb_client_keyfile "%s" cannot be used: No such file' \
        % os.path.join(realm.dir, "none") in out.stdout


def test_server_require_auth_may_forbid_it(pooler, realm, oracle, own_key):
    p = fronting(pooler, realm, oracle, own_key, server_require_auth="!gss")
    assert login_fails(p) == "server login failed: authentication method " \
        "requirement failed"
    p = fronting(pooler, realm, oracle, own_key, server_require_auth="gss")
    assert p.raw("app").value("select 1") == "1"
    put(oracle, "host all all all trust\n")
    p.admin("reconnect p0")
    wait_until(lambda: not p.admin("show servers"), what="servers to close")
    assert "requirement failed" in login_fails(p)


def test_kdc_that_is_down_stops_only_new_servers(pooler, realm, oracle,
                                                 own_key):
    p = fronting(pooler, realm, oracle, own_key)
    c = p.raw("app")
    assert c.value("select 1") == "1"
    realm.halt()
    try:
        assert c.value("select 2") == "2"
        assert "GSSAPI" in login_fails(p, "app2")
    finally:
        realm.start()
    wait_until(lambda: works_now(p, "app2"), what="the pool to work again")


def works_now(p, user):
    seen = p.open().login(user, database="p0", wait=False)
    kinds = seen.recv_until("ZE").kinds
    seen.close()
    return kinds[-1] == "Z"


def test_kdc_that_is_silent_holds_nobody_up(pooler, realm, oracle, own_key):
    """the one thread for servers waits for it, and their login ends by its own
    limit; a client that comes by a ticket needs another thread"""
    env = realm.client_env(realm.ticket("app"))
    with socket.create_server(("127.0.0.1", harness.free_port())) as silent, \
            open(realm.conf) as f:
        conf = f.read().replace("127.0.0.1:%d" % realm.port, "127.0.0.1:%d"
                                % silent.getsockname()[1])
        path = os.path.join(realm.dir, "silent.conf")
        with open(path, "w") as out:
            out.write(conf)
        give(path)

        def slow(**kw):
            p = started(pooler, realm, **kw)
            p.env["KRB5_CONFIG"] = path
            return p
        put(oracle, SERVER, POOL)
        p = hba(slow, ADMIN + "host p1 all 127.0.0.1/32 gss include_realm=0\n"
                "host all all all trust\n", dbs={
            "p0": "host=localhost port=%d" % oracle.port,
            "p1": "host=%s port=%d dbname=p0" % (oracle.dir, oracle.port)},
            server_gss=1, krb_client_keyfile=own_key, workers=1,
            krb_server_keyfile="FILE:" + realm.keytab, auth_threads=1,
            server_connect_timeout=0.5, query_wait_timeout=2)
        c = p.open().login("app", database="p0", wait=False)
        with silent.accept()[0] as asked:
            with p.open() as other:
                assert exchange(other, "app", Initiator(env), "p1") == OK
            # the thread for servers waits still
            asked.setblocking(False)
            with pytest.raises(BlockingIOError):
                while asked.recv(1 << 16):
                    pass
            assert c.recv_all().errors
            p.wait_log("closing because: connect timeout")


def test_new_key_of_the_server_counts_at_once(pooler, realm, oracle, own_key):
    p = fronting(pooler, realm, oracle, own_key)
    assert p.raw("app").value("select 1") == "1"
    os.unlink(realm.keytab)
    realm.admin(REALM, "ktadd -k %s postgres/localhost" % realm.keytab)
    p.admin("reconnect p0")
    wait_until(lambda: not p.admin("show servers"), what="servers to close")
    assert p.raw("app").value("select 2") == "2"
