# test_tls_binding.py - SCRAM-SHA-256-PLUS with clients and with servers.
# SPDX-License-Identifier: ISC
import hashlib
import ssl
import struct

import psycopg
import pytest

import pq

BASE, PLUS = b"SCRAM-SHA-256", b"SCRAM-SHA-256-PLUS"
USERS = {"app": pq.scram_secret("apppw"), "app2": "app2pw",
         "admin": "adminpw"}


@pytest.fixture
def scram(pooler, certs):
    """A pooler with SCRAM and TLS."""
    def make(cert="server", dbs=None, **kw):
        return pooler({"p0": "user=app"} if dbs is None else dbs, USERS,
                      auth_type="scram-sha-256",
                      **certs.accept("prefer", cert, **kw))
    return make


def offered(c, user="app"):
    """Begin to log in; the mechanisms."""
    c.send(pq.startup({"user": user, "database": "p0"}))
    kind, body = c.recv()
    if kind == "E":
        raise pq.PgError(pq.fields(body))
    assert (kind, body[:4]) == ("R", b"\0\0\0\x0a")
    return body[4:].rstrip(b"\0").split(b"\0")


def binding(certs, name="server", digest="sha256"):
    with open(certs.crt(name)) as f:
        der = ssl.PEM_cert_to_DER_cert(f.read())
    return hashlib.new(digest, der).digest()


def exchange(c, mechanism, client):
    """The rest of the login; raises what it is refused with."""
    c.send(pq.msg("p", pq.cstr(mechanism) + client.first()))
    kind, body = c.recv()
    if kind == "R":
        assert struct.unpack("!i", body[:4]) == (11,)
        c.send(pq.msg("p", client.reply(body[4:])))
        kind, body = c.recv()
    if kind == "E":
        raise pq.PgError(pq.fields(body))
    assert struct.unpack("!i", body[:4]) == (12,)
    client.final(body[4:])
    return c.recv_until()


def secure(p, certs):
    return p.open().start_tls(certs.client_context())


# --- offers ---------------------------------------------------------------

def test_plus_is_offered_over_tls_only(scram, certs):
    p = scram()
    assert offered(p.open()) == [BASE]
    assert offered(secure(p, certs)) == [PLUS, BASE]
    assert offered(p.open(unix=True)) == [BASE]


def test_unknown_users_are_offered_the_same(scram, certs):
    """authentication.md 7: nobody learns who exists"""
    assert offered(secure(scram(), certs), "nobody_here") == [PLUS, BASE]


def test_disable_offers_no_plus(scram, certs):
    """client_channel_binding"""
    p = scram(client_channel_binding="disable")
    assert offered(secure(p, certs)) == [BASE]
    assert exchange_with(p, certs, b"y,,").status == "I"


@pytest.mark.setting("client_channel_binding")
def test_require_offers_nothing_else(scram, certs):
    """client_channel_binding"""
    p = scram(client_channel_binding="require")
    assert offered(secure(p, certs)) == [PLUS]
    with pytest.raises(pq.PgError, match="SASL authentication failed"):
        offered(p.open())
    p.wait_log("channel binding is required, but not possible")
    with pytest.raises(pq.PgError, match="invalid SASL authentication mech"):
        exchange_with(p, certs, b"n,,")


def exchange_with(p, certs, gs2, mechanism=BASE, data=b""):
    c = secure(p, certs)
    offered(c)
    return exchange(c, mechanism, pq.ScramClient("apppw", gs2, data))


# --- exchanges ------------------------------------------------------------

def test_right_binding_is_accepted(scram, certs):
    p = scram()
    res = exchange_with(p, certs, pq.PLUS, PLUS, binding(certs))
    assert res.status == "I"


@pytest.mark.parametrize("gs2,mechanism,data,text", [
    (pq.PLUS, PLUS, b"x" * 32, "does not match the flag"),
    (pq.PLUS, PLUS, b"", "does not match the flag"),
    (b"p=tls-unique,,", PLUS, b"x" * 12, "channel binding type"),
    (b"n,,", PLUS, b"", "channel binding type"),
    (b"y,,", PLUS, b"", "channel binding type"),
    (pq.PLUS, BASE, b"x" * 32, "client asks for SCRAM channel binding"),
    (b"y,,", BASE, b"", "client thinks that we don't support"),
])
def test_wrong_binding_is_refused(scram, certs, gs2, mechanism, data, text):
    """RFC 5802 section 6: the flag y while we offer PLUS is a downgrade"""
    p = scram()
    with pytest.raises(pq.PgError, match="SASL authentication failed"):
        exchange_with(p, certs, gs2, mechanism, data)
    p.wait_log(text)


def test_client_need_not_bind(scram, certs):
    assert exchange_with(scram(), certs, b"n,,").status == "I"


# --- with libpq -----------------------------------------------------------

PSS = ["-sigopt", "rsa_padding_mode:pss"]


@pytest.mark.parametrize("name,how", [
    ("server", None), ("server_rsa", None),
    ("sha384", {"digest": "-sha384"}),
    ("sha512", {"digest": "-sha512"}),
    ("pss", {"ca": "rsa_ca", "extra": PSS}),
])
@pytest.mark.parametrize("user", ["app", "app2"])
def test_libpq_insists_on_binding(scram, certs, name, how, user):
    """RFC 5929 section 4.1: the digest is that of the signature"""
    if name == "pss":
        certs.make_ca("rsa_ca", ["-newkey", "rsa:2048"])
    if how is not None:
        certs.make(name, "/CN=localhost", "DNS:localhost", **how)
    p = scram(name)
    with p.connect(user=user, password=user + "pw", sslmode="require",
                   channel_binding="require") as c:
        assert c.execute("select 1").fetchone() == (1,)
    with pytest.raises(psycopg.OperationalError, match="authentication fail"):
        p.connect(user=user, password="wrong", sslmode="require",
                  channel_binding="require")


def test_certificate_without_a_digest_is_not_offered(scram, certs):
    """RFC 5929 leaves Ed25519 out: libpq could not answer"""
    certs.make_ca("ed_ca", ["-newkey", "ed25519"])
    certs.make("ed", "/CN=localhost", "DNS:localhost", ca="ed_ca",
               digest=None)
    p = scram("ed")
    with p.connect(password="apppw", sslmode="require",
                   channel_binding="prefer") as c:
        assert c.execute("select 1").fetchone() == (1,)
    with pytest.raises(psycopg.OperationalError, match="hannel binding"):
        p.connect(password="apppw", sslmode="require",
                  channel_binding="require")


# --- with servers ---------------------------------------------------------

def server(pg, more=""):
    return "host=localhost port=%d %s" % (pg.port, more)


@pytest.mark.setting("server_channel_binding")
def test_server_is_bound_to(pooler, certs, tls_pg):
    """server_channel_binding = require: PostgreSQL offers it"""
    p = pooler({"p0": server(tls_pg, "user=u_scram password=pw_three"),
                "p1": server(tls_pg)},
               server_channel_binding="require", query_wait_timeout=2,
               **certs.connect("verify-full"))
    assert p.raw().value("select current_user") == "u_scram"
    # who is let in without an exchange has bound to nothing
    with pytest.raises(pq.PgError, match="channel binding is required"):
        p.raw(database="p1")


def test_keys_of_the_client_bind_too(pooler, certs, tls_pg):
    """authentication.md 3.3, with PLUS on both sides"""
    p = pooler({"p0": server(tls_pg)},
               {"u_scram": tls_pg.secret("u_scram")},
               auth_type="scram-sha-256", server_channel_binding="require",
               **certs.accept("require"), **certs.connect("verify-full"))
    with p.connect(user="u_scram", password="pw_three", sslmode="require",
                   channel_binding="require") as c:
        assert c.execute("select current_user").fetchone() == ("u_scram",)
