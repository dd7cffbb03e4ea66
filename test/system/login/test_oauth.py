# test_oauth.py - logins by a token: OAUTHBEARER, or a token as a password.
# SPDX-License-Identifier: ISC
import base64
import hashlib
import hmac
import json
import os
import re
import ssl
import struct
import subprocess
import sys
import time

import pytest

import pq
from harness import binary, make_tmp, pg_bin, process_env, run, wait_until

pytestmark = pytest.mark.setting("auth_hba_file")

ISSUER, AUDIENCE, SCOPE = "https://issuer.example/x", "db", "openid sql"
RULE = 'hostssl all all all oauth issuer="%s" audience=%s scope="%s" ' \
    "jwks=keys.json" % (ISSUER, AUDIENCE, SCOPE)
WRONG = 'OAuth bearer authentication failed for user "%s"'
STATUS = {"status": "invalid_token", "scope": SCOPE,
          "openid-configuration": ISSUER +
          "/.well-known/openid-configuration"}


# --- keys and tokens, by openssl -------------------------------------------

def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Key:
    """A private key of one algorithm, and its JWK."""

    KINDS = {"RS256": ["RSA", "-pkeyopt", "rsa_keygen_bits:2048"],
             "ES256": ["EC", "-pkeyopt", "ec_paramgen_curve:P-256"],
             "EdDSA": ["ED25519"]}

    def __init__(self, alg, kid):
        self.alg, self.kid = alg, kid
        self.path = os.path.join(make_tmp(), kid + ".pem")
        self.openssl("genpkey", "-algorithm", *self.KINDS[alg], "-out",
                     self.path)
        self.public = self.openssl("pkey", "-in", self.path, "-pubout",
                                   "-outform", "DER")
        self.jwk = dict(getattr(self, "_" + alg)(), kid=kid, use="sig",
                        alg=alg)

    @staticmethod
    def openssl(*args, data=None):
        return subprocess.run(("openssl",) + args, input=data, check=True,
                              stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL).stdout

    def _RS256(self):
        out = self.openssl("rsa", "-in", self.path, "-noout", "-modulus")
        return {"kty": "RSA", "e": "AQAB",
                "n": b64(bytes.fromhex(out.split(b"=")[1].decode()))}

    def _ES256(self):
        return {"kty": "EC", "crv": "P-256", "x": b64(self.public[-64:-32]),
                "y": b64(self.public[-32:])}

    def _EdDSA(self):
        return {"kty": "OKP", "crv": "Ed25519", "x": b64(self.public[-32:])}

    def sign(self, data):
        name = os.path.join(os.path.dirname(self.path), "text")
        with open(name, "wb") as f:
            f.write(data)
        if self.alg == "EdDSA":
            return self.openssl("pkeyutl", "-sign", "-rawin", "-inkey",
                                self.path, "-in", name)
        out = self.openssl("dgst", "-sha256", "-sign", self.path, name)
        return out if self.alg == "RS256" else raw_of_der(out)

    def token(self, payload=None, header=None, **claims):
        """payload: bytes in place of the claims."""
        head = {"alg": self.alg, "kid": self.kid, "typ": "JWT"}
        head.update(header or {})
        head = {k: v for k, v in head.items() if v is not None}
        body = payload or json.dumps(said(**claims)).encode()
        text = b64(json.dumps(head).encode()) + "." + b64(body)
        return text + "." + b64(self.sign(text.encode()))


def raw_of_der(der):
    """r and s of 32 bytes each; RFC 7518 3.4"""
    out, pos = b"", 2
    for _ in range(2):
        n = der[pos + 1]
        out += der[pos + 2:pos + 2 + n].lstrip(b"\0").rjust(32, b"\0")
        pos += 2 + n
    return out


def said(**claims):
    out = {"iss": ISSUER, "aud": AUDIENCE, "scope": SCOPE, "sub": "app",
           "exp": int(time.time()) + 600}
    out.update(claims)
    return {k: v for k, v in out.items() if v is not None}


@pytest.fixture(scope="module")
def keys():
    return {alg: Key(alg, "key-" + alg) for alg in Key.KINDS}


def key_set(*some):
    return json.dumps({"keys": [k.jwk for k in some]})


# --- the client ------------------------------------------------------------

def oauth(pooler, certs, keys, rules=RULE, start=True, ident=None, **kw):
    settings = dict(certs.accept("allow"), dbs={"p0": "", "p1": "user=app2"},
                    admin_users="admin, app")
    settings.update(kw)
    p = hba_files(pooler, rules, ident, **settings)
    p.put("keys.json", key_set(*keys.values()))
    return p.start() if start else p


def hba_files(pooler, rules, ident, **kw):
    p = pooler(start=False, auth_type="hba", **kw)
    p.settings["auth_hba_file"] = p.put("hba.conf", rules + "\n")
    if ident is not None:
        p.settings["auth_ident_file"] = p.put("ident.conf", ident)
    return p


def begin(p, certs, user="app", database="p0"):
    """Up to what the pooler asks for."""
    c = p.open().start_tls(certs.client_context())
    c.login(user, database=database, wait=False)
    kind, body = c.recv()
    if kind == "E":
        raise pq.PgError(pq.fields(body))
    assert kind == "R"
    return c, body


def initial(response, mechanism="OAUTHBEARER"):
    return pq.msg("p", pq.cstr(mechanism) + (
        struct.pack("!i", -1) if response is None else
        struct.pack("!i", len(response)) + response))


def bearer(token):
    return b"n,,\1auth=" + (b"Bearer " + token.encode() if token else b"") + \
        b"\1\1"


def log_in(p, certs, token, **kw):
    c, body = begin(p, certs, **kw)
    assert body == struct.pack("!i", 10) + b"OAUTHBEARER\0\0"
    c.send(initial(bearer(token)))
    return c.finish_login(c.user)


def told(c):
    """The status that a failure begins with, and the error that ends it."""
    kind, body = c.recv()
    assert kind == "R" and body[:4] == struct.pack("!i", 11), (kind, body)
    c.send(pq.msg("p", b"\1"))
    return json.loads(body[4:]), ended(c)


def ended(c):
    res = c.recv_all()
    assert res.kinds == "E", res.messages
    assert res.errors[0].severity == "FATAL"
    return res.errors[0]


def refused(p, certs, token, user="app", database="p0"):
    """The log's reason for the refusal of a token."""
    before = len(p.log)
    c, _ = begin(p, certs, user=user, database=database)
    c.send(initial(bearer(token)))
    status, err = told(c)
    assert status == STATUS
    assert (err.code, err.message) == ("28000", WRONG % user)
    wait_until(lambda: "OAuth: " in p.log[before:], what="a reason")
    return re.search(r"OAuth: (.*)", p.log[before:]).group(1)


# --- tokens that are right -------------------------------------------------

@pytest.mark.parametrize("alg", Key.KINDS)
def test_token_of_each_algorithm_lets_in(pooler, certs, keys, alg):
    """authentication.md 3.10"""
    p = oauth(pooler, certs, keys)
    token = keys[alg].token()
    assert log_in(p, certs, token).value("select current_user") == "app"
    # the server is the business of the database: its user, its password
    assert log_in(p, certs, token, database="p1").value(
        "select current_user") == "app2"
    for part in token.split("."):
        assert part not in p.log


def test_name_of_the_token_needs_no_line_of_auth_file(pooler, certs, keys):
    """authentication.md 2: any name may be right, also on the console"""
    p = oauth(pooler, certs, keys, userlist={}, auth_user="nobody",
              admin_users="ann", workers=2)
    token = keys["EdDSA"].token(sub="ann")
    assert log_in(p, certs, token, user="ann", database="p1").value(
        "select current_user") == "app2"
    c = log_in(p, certs, token, user="ann", database="pgbouncer")
    assert c.query("show version").rows
    assert refused(p, certs, keys["EdDSA"].token(), user="ann",
                   database="pgbouncer") == "the token is of another user"


def test_claim_goes_through_the_ident_map(pooler, certs, keys):
    """authentication.md 3.10: map, user_claim"""
    p = oauth(pooler, certs, keys, RULE + " map=m user_claim=email", ident="""
m "/^(.*)@example\\.com$" \\1
m boss@other.example all
""")
    key = keys["EdDSA"]
    for mail, user in [("app@example.com", "app"),
                       ("app2@example.com", "app2"),
                       ("boss@other.example", "app")]:
        assert log_in(p, certs, key.token(email=mail), user=user).value(
            "select current_user") == user
    for mail in ["app@example.com.evil.example", "app2@example.com",
                 "x\napp@example.com", "app"]:
        assert "ident map m has no match" in refused(
            p, certs, key.token(email=mail))
    for more in [{}, {"email": ["app@example.com"]}, {"email": ""}]:
        assert "names the user" in refused(p, certs, key.token(**more))


def test_response_may_come_after_an_empty_challenge(pooler, certs, keys):
    """PostgreSQL docs, SASL Authentication: the initial response is optional"""
    p = oauth(pooler, certs, keys)
    c, _ = begin(p, certs)
    c.send(initial(None))
    assert c.recv() == ("R", struct.pack("!i", 11))
    c.send(pq.msg("p", bearer(keys["ES256"].token())))
    assert c.finish_login("app").value("select 1") == "1"


@pytest.mark.parametrize("database,user", [("p0", "app"), ("p1", "app2")])
def test_token_as_password_lets_in_where_the_rule_says_so(
        pooler, certs, keys, database, user):
    """authentication.md 3.10: cleartext"""
    p = oauth(pooler, certs, keys, RULE + " cleartext=1")
    token = keys["RS256"].token()
    c, body = begin(p, certs, database=database)
    assert body == struct.pack("!i", 3)
    c.send(pq.password(token))
    assert c.finish_login("app").value("select current_user") == user
    assert token not in p.log
    for bad, code, text in [
            (token[:-5], "28000", WRONG % "app"),
            ("no token!", "28000", WRONG % "app"),
            ("", "28P01", "empty password returned by client")]:
        c, _ = begin(p, certs, database=database)
        c.send(pq.password(bad))
        err = ended(c)
        assert (err.code, err.message) == (code, text)


# --- tokens that are not ---------------------------------------------------

def forged(key, alg, secret):
    text = b64(json.dumps({"alg": alg, "kid": key.kid}).encode()) + "." + \
        b64(json.dumps(said()).encode())
    mac = hmac.digest(secret, text.encode(), hashlib.sha256) if secret else b""
    return text + "." + b64(mac)


def attacks(key, stranger):
    """Tokens, and why they are refused."""
    now = int(time.time())
    pem = Key.openssl("pkey", "-in", key.path, "-pubout")
    good = key.token()
    head, body, signature = good.split(".")
    raw = json.dumps(said())[:-1].encode()
    return [
        # replayed when it is over; not due yet
        (key.token(exp=now - 31), "expired"),
        (key.token(exp=now - 3600), "expired"),
        (key.token(nbf=now + 300), "not valid yet"),
        # no signature, or one by what everybody knows
        (forged(key, "none", b""), "not signed by RS256"),
        (forged(key, "None", b""), "not signed by RS256"),
        (forged(key, "HS256", pem), "not signed by RS256"),
        (forged(key, "HS256", key.public), "not signed by RS256"),
        (forged(key, "RS256", pem), "signature"),
        # of another key, or altered
        (stranger.token(), "no usable key"),
        (stranger.token(header={"kid": key.kid}), "signature"),
        (stranger.token(header={"kid": key.kid, "jwk": stranger.jwk}),
         "signature"),
        (key.token(header={"kid": None}), "no kid"),
        (key.token(header={"alg": "ES256"}), "another algorithm"),
        (key.token(header={"crit": ["exp"]}), "critical"),
        (key.token(header={"typ": "logout+jwt"}), "neither JWT"),
        (head + "." + body + ".", "signature"),
        (".".join([head, b64(json.dumps(said(sub="postgres")).encode()),
                   signature]), "signature"),
        (good + "." + body + "." + head, "three parts"),
        ("x", "three parts"),
        ("A" * 60000, "three parts"),
        (".".join([head, "A" * 60000, signature]), "signature"),
        # for somebody else
        (key.token(iss=ISSUER + "/"), "another issuer"),
        (key.token(iss=None), "another issuer"),
        (key.token(aud="other"), "another audience"),
        (key.token(aud=[AUDIENCE, 7]), "another audience"),
        (key.token(aud=[[AUDIENCE]]), "another audience"),
        (key.token(scope="openid"), "lacks a scope"),
        (key.token(scope=None), "lacks a scope"),
        (key.token(sub="app2"), "another user"),
        (key.token(sub={"app": "app"}), "names the user"),
        # odd claims
        (key.token(exp=None), "exp of"), (key.token(exp="9e9"), "exp of"),
        (key.token(exp=-1), "exp of"), (key.token(exp=1e300), "exp of"),
        (key.token(exp=2 ** 63 - 1), "exp of"),
        (key.token(exp=2 ** 70), "payload"),
        (key.token(raw + b', "exp": 9999999999}'), "payload"),
        (key.token(raw + b', "sub": "postgres"}'), "payload"),
        (key.token(raw + b', "x": "\xff\xfe"}'), "payload"),
        (key.token(raw + b', "x": "\\u0000"}'), "payload"),
        (key.token(raw + b', "x": ' + b"[" * 9000 + b"]" * 9000 + b"}"),
         "payload"),
        (key.token(b"[]"), "payload"), (key.token(b"null"), "payload"),
    ]


def test_forged_and_foreign_tokens_are_refused(pooler, certs, keys):
    """authentication.md 3.10; the log says why, and never what"""
    p = oauth(pooler, certs, keys, verbose=2)
    for token, why in attacks(keys["RS256"], Key("RS256", "stranger")):
        assert why in refused(p, certs, token), token[:200]
        for part in token.split("."):
            assert len(part) < 10 or part not in p.log
    assert log_in(p, certs, keys["RS256"].token()).value("select 1") == "1"


def test_client_without_a_token_is_told_where_to_get_one(pooler, certs, keys):
    """RFC 7628 3.2.3; no error in the log"""
    p = oauth(pooler, certs, keys)
    c, _ = begin(p, certs)
    c.send(initial(bearer(None)))
    status, err = told(c)
    assert status == STATUS
    assert (err.code, err.message) == ("28000", WRONG % "app")
    assert "OAuth: " not in p.log


def test_other_scheme_than_bearer_is_refused(pooler, certs, keys):
    """PostgreSQL source: auth-oauth.c"""
    p = oauth(pooler, certs, keys)
    c, _ = begin(p, certs)
    c.send(initial(b"n,,\1auth=Basic abc\1\1"))
    assert told(c)[1].code == "28000"
    p.wait_log("OAuth: the scheme of the client is not Bearer")


@pytest.mark.parametrize("message,code,text", [
    (initial(b""), "08P01", "malformed OAUTHBEARER message"),
    (initial(b"n,,\1auth=Bearer a"), "08P01",
     "malformed OAUTHBEARER message"),
    (initial(b"n,,\1auth=Bearer a\0\1\1"), "08P01",
     "malformed OAUTHBEARER message"),
    (initial(b"p=x,,\1auth=Bearer a\1\1"), "08P01",
     "malformed OAUTHBEARER message"),
    (initial(b"n,a=app,\1auth=Bearer a\1\1"), "0A000",
     "client uses authorization identity, but it is not supported"),
    (initial(b"n,,\1\1", "SCRAM-SHA-256"), "08P01",
     "client selected an invalid SASL authentication mechanism"),
    (pq.msg("p", pq.cstr("OAUTHBEARER") + struct.pack("!i", 99)), "08P01",
     "malformed SASLInitialResponse"),
    (pq.password("a.b.c"), "08P01", "malformed SASLInitialResponse"),
])
def test_broken_message_ends_the_login(pooler, certs, keys, message, code,
                                       text):
    """PostgreSQL source: auth-oauth.c"""
    p = oauth(pooler, certs, keys)
    c, _ = begin(p, certs)
    c.send(message)
    err = ended(c)
    assert (err.code, err.message) == (code, text)


def test_failure_counts_though_the_client_leaves_without_its_dummy(
        pooler, certs, keys):
    """authentication.md 3.10: as if it had sent it"""
    p = oauth(pooler, certs, keys)
    for polite in True, False:
        for response in bearer(keys["RS256"].token(aud="no")), bearer(None):
            c, _ = begin(p, certs)
            c.send(initial(response))
            assert c.recv()[0] == "R"
            c.close(polite=polite)
    wait_until(lambda: p.log.count("closing because: " + WRONG % "app") == 4,
               what="four refusals")
    assert p.log.count("OAuth: the token is for another audience") == 2


def test_another_answer_than_the_dummy_ends_the_login(pooler, certs, keys):
    """RFC 7628 3.2.3; a second token is not looked at"""
    p = oauth(pooler, certs, keys)
    c, _ = begin(p, certs)
    c.send(initial(bearer(None)))
    assert c.recv()[0] == "R"
    c.send(pq.msg("p", bearer(keys["RS256"].token())))
    assert ended(c).code == "08P01"


def test_token_that_no_message_can_hold_ends_the_login(pooler, certs, keys):
    """authentication.md 1: 65535 bytes"""
    p = oauth(pooler, certs, keys)
    c, _ = begin(p, certs)
    try:
        c.send(initial(bearer("A" * 70000)))
        assert ended(c).code == "08P01"
    except (pq.Closed, ssl.SSLError, OSError):
        pass		# it was closed before all was sent
    assert log_in(p, certs, keys["RS256"].token()).value("select 1") == "1"


def test_login_without_tls_is_refused_before_the_token(pooler, certs, keys):
    """authentication.md 3.10"""
    rule = RULE.replace("hostssl", "host")
    p = oauth(pooler, certs, keys,
              rule + "\n" + RULE.replace("hostssl all all all", "local all all"))
    for unix in (False, True):
        c = p.open(unix=unix)
        c.send(pq.startup([("user", "app"), ("database", "p0")]))
        err = ended(c)
        assert (err.code, err.message) == (
            "28000", "the method oauth requires TLS")
    assert "hba line 2: the rule lets nobody in, because oauth needs TLS" in \
        p.log
    assert log_in(p, certs, keys["RS256"].token()).value("select 1") == "1"


# --- the file of the keys --------------------------------------------------

def test_keys_are_read_again_when_their_file_changes(pooler, certs, keys):
    """authentication.md 3.10: without RELOAD; old keys do not count"""
    p = oauth(pooler, certs, keys)
    old, new = keys["ES256"], Key("ES256", "new")
    assert "no usable key" in refused(p, certs, new.token())
    p.put("keys.json", key_set(new))
    assert log_in(p, certs, new.token()).value("select 1") == "1"
    assert "no usable key" in refused(p, certs, old.token())


def test_file_that_cannot_be_used_lets_nobody_in(pooler, certs, keys):
    """authentication.md 3.10: access fails closed, and others are served"""
    p = oauth(pooler, certs, keys, RULE + "\nhost all app2 all trust")
    token = keys["ES256"].token()
    private = dict(keys["ES256"].jwk, d="AA")
    for text, why in [("", "no JSON object"), ("{", "no JSON object"),
                      ("{}", "no JWK Set"), (key_set(), "no usable key"),
                      (json.dumps({"keys": [private]}), "private key"),
                      (key_set(keys["ES256"], keys["ES256"]), "same kid"),
                      (" " * (1 << 20) + key_set(keys["ES256"]), "1 MB")]:
        p.put("keys.json", text)
        assert why in refused(p, certs, token)
    os.unlink(os.path.join(p.dir, "keys.json"))
    assert "No such file" in refused(p, certs, token)
    assert p.raw("app2").value("select 1") == "1"
    p.put("keys.json", key_set(keys["ES256"]))
    assert log_in(p, certs, token).value("select 1") == "1"


# --- the rule --------------------------------------------------------------

def check(p):
    p.write()
    return run([binary(), "--check", p.ini])


def test_check_and_start_tell_of_keys_that_cannot_be_used(pooler, certs,
                                                          keys):
    """config-files.md 9: a warning with file and line, no refusal"""
    p = oauth(pooler, certs, keys, "# a\n" + RULE, start=False)
    assert check(p).returncode == 0
    os.unlink(os.path.join(p.dir, "keys.json"))
    out = check(p)
    why = "hba line 2: the rule lets nobody in, because the JWKS file " \
        "\"%s/keys.json\" cannot be used: No such file" % p.dir
    assert why in out.stdout + out.stderr and out.returncode == 1
    p.start()
    assert why in p.log
    p.put("keys.json", key_set(keys["EdDSA"]))
    assert log_in(p, certs, keys["EdDSA"].token()).value("select 1") == "1"


@pytest.mark.parametrize("change,why", [
    (("jwks=keys.json", ""), "the method oauth needs jwks="),
    (("audience=db", ""), "the method oauth needs audience="),
    (('issuer="%s"' % ISSUER, ""), "the method oauth needs issuer="),
    (('scope="%s"' % SCOPE, ""), "the method oauth needs scope="),
    (('scope="%s"' % SCOPE, 'scope="a  b"'), '"scope=" wants words'),
    (('issuer="%s"' % ISSUER, "issuer=issuer.example"),
     '"issuer=" wants a URL'),
    (("audience=db", "audience=db audience=x"), '"audience=" is given twice'),
    (("audience=db", "audience="), '"audience=" wants a text'),
    (("audience=db", "audience=db cleartext=yes"), '"cleartext=" wants 0 or 1'),
    (("audience=db", "audience=db validator=x"), 'unknown option "validator"'),
    (("audience=db", "audience=db map=none"), "unknown ident map"),
])
def test_faulty_rule_refuses_the_file(pooler, certs, keys, change, why):
    """config-files.md 9: with file and line"""
    p = oauth(pooler, certs, keys, RULE.replace(*change), start=False)
    out = check(p)
    assert out.returncode == 1
    assert "hba line 1: " + why in out.stdout + out.stderr
    assert "hba.conf:1" in out.stdout + out.stderr


# --- libpq of PostgreSQL 18 ------------------------------------------------

LIBPQ = """
import ctypes, sys
path, conninfo, token = sys.argv[1:]
pq = ctypes.CDLL(path)


class Request(ctypes.Structure):
    _fields_ = [("configuration", ctypes.c_char_p), ("scope", ctypes.c_char_p),
                ("run", ctypes.c_void_p), ("cleanup", ctypes.c_void_p),
                ("token", ctypes.c_char_p), ("user", ctypes.c_void_p)]


@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_void_p,
                  ctypes.POINTER(Request))
def hook(kind, conn, request):
    if kind != 1:
        return 0
    print("asked", request[0].configuration.decode(),
          (request[0].scope or b"").decode(), sep="|")
    request[0].token = token.encode()
    return 1


pq.PQsetAuthDataHook(hook)
for name in ("PQconnectdb", "PQexec"):
    getattr(pq, name).restype = ctypes.c_void_p
for name in ("PQerrorMessage", "PQgetvalue"):
    getattr(pq, name).restype = ctypes.c_char_p
conn = ctypes.c_void_p(pq.PQconnectdb(conninfo.encode()))
if pq.PQstatus(conn) != 0:
    print("failed", pq.PQerrorMessage(conn).decode(), sep="|")
else:
    res = ctypes.c_void_p(pq.PQexec(conn, b"select current_user"))
    print("in", pq.PQgetvalue(res, 0, 0).decode(), sep="|")
"""


def libpq_18():
    """The client's library beside the server's programs, if it has OAuth."""
    path = os.path.join(os.path.dirname(os.path.dirname(pg_bin("postgres"))),
                        "lib", "libpq.so.5")
    if os.path.exists(path):
        with open(path, "rb") as f:
            if b"PQsetAuthDataHook" in f.read():
                return path
    pytest.skip("needs libpq of PostgreSQL 18")


def by_libpq(p, certs, token, issuer):
    out = subprocess.run(
        [sys.executable, "-c", LIBPQ, libpq_18(),
         "host=localhost port=%d user=app dbname=p0 sslmode=verify-full "
         "sslrootcert=%s oauth_issuer=%s oauth_client_id=x" %
         (p.port, certs.crt("ca"), issuer), token],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=process_env(), timeout=60)
    assert out.returncode == 0, out.stderr
    return [line.split("|") for line in out.stdout.splitlines() if line]


@pytest.mark.parametrize("issuer", [
    ISSUER, ISSUER + "/.well-known/openid-configuration"])
def test_libpq_logs_in_with_a_token(pooler, certs, keys, issuer):
    """The client's side of PostgreSQL 18: it asks first, then it shows it"""
    p = oauth(pooler, certs, keys)
    asked = ["asked", STATUS["openid-configuration"], SCOPE]
    got = by_libpq(p, certs, keys["RS256"].token(), issuer)
    assert got[-1] == ["in", "app"] and got[0][:2] == asked[:2], got
    assert issuer != ISSUER or got[0] == asked
    got = by_libpq(p, certs, keys["RS256"].token(exp=1), issuer)
    # one line of the error for each of its connections
    assert "failed" in [row[0] for row in got], got
    assert "in" not in [row[0] for row in got], got
    assert WRONG % "app" in str(got) or "invalid_token" in str(got)
    p.wait_log("OAuth: the token has expired")
