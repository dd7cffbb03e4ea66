# test_require.py - what is required of the other side: lists, methods, users.
# SPDX-License-Identifier: ISC
"""client_tls_crl_file, server_tls_crl_file, server_require_auth,
server_require_peer: spec/settings.md sections 4 and 9"""
import os
import pwd
import re
import subprocess

import pytest

import pq
from harness import USER, binary, process_env
from test_tls import pooler_is_fine, tls_client

UID = USER.pw_uid if USER else os.getuid()


def vain(p, why, **kw):
    """Log in in vain, because of the server."""
    p.admin("set query_wait_timeout = 1")
    with pytest.raises(pq.PgError):
        p.raw(**kw)
    p.wait_log(why)


# --- revocation -----------------------------------------------------------

@pytest.mark.setting("client_tls_crl_file")
def test_revoked_certificate_of_a_client(pooler, certs):
    certs.make("leaver", "/CN=app")
    p = pooler(**certs.accept(
        "verify-full", client_tls_crl_file=certs.make_crl("none_gone")))

    def login(cert):
        with tls_client(p, certs.client_context(cert)) as c:
            return c.value("select 1")
    assert login("leaver") == login("client") == "1"
    p.settings["client_tls_crl_file"] = certs.make_crl("gone", "leaver")
    p.reload()
    with pytest.raises((pq.Closed, OSError)):
        login("leaver")
    p.wait_log("certificate verify failed: certificate revoked")
    assert login("client") == "1"
    # the same name with another content, and SET
    certs.make_crl("gone", "client")
    p.admin("reload")
    with pytest.raises((pq.Closed, OSError)):
        login("client")
    p.admin("set client_tls_crl_file = ''")
    assert login("client") == "1"


@pytest.mark.parametrize("crl", ["other", "old"])
def test_no_list_that_says_it_is_good(pooler, certs, crl):
    """of another authority only, or one that is too old: as PostgreSQL"""
    path = certs.make_crl("crl_" + crl, ca="other_ca") if crl == "other" else \
        certs.make_crl("crl_" + crl, when=(
            "-crl_lastupdate", "20200101000000Z",
            "-crl_nextupdate", "20200201000000Z"))
    p = pooler(**certs.accept("require", client_tls_crl_file=path))
    # who shows none is not looked for
    assert tls_client(p, certs.client_context()).value("select 1") == "1"
    with pytest.raises((pq.Closed, OSError)):
        tls_client(p, certs.client_context("client"))
    p.wait_log("certificate verify failed: " + {
        "other": "unable to get certificate CRL",
        "old": "CRL has expired"}[crl])
    assert pooler_is_fine(p)


@pytest.mark.setting("server_tls_crl_file")
@pytest.mark.database("server_tls_crl_file")
def test_revoked_certificate_of_a_server(pooler, certs):
    far = pooler(**certs.accept("require", cert="server"))
    to = "host=localhost port=%d" % far.port
    good, bad = certs.make_crl("s_good"), certs.make_crl("s_bad", "server")
    p = pooler({"p0": to, "p1": to + " server_tls_crl_file=" + bad,
                "p2": to + " dbname=p0 server_tls_sslmode=require "
                "server_tls_crl_file=" + bad},
               **certs.connect("verify-ca", server_tls_crl_file=good))
    assert p.raw().value("select 1") == "1"
    assert p.raw(database="p2").value("select 1") == "1"  # looks at nothing
    vain(p, "certificate verify failed: certificate revoked", database="p1")
    p.settings["server_tls_crl_file"] = bad
    p.reload()  # which replaces the server
    vain(p, "certificate verify failed: certificate revoked", database="p0")


@pytest.mark.parametrize("side", ["client", "server"])
def test_list_that_cannot_be_read(pooler, certs, side):
    name = side + "_tls_crl_file"
    p = pooler(start=False, **{**certs.accept(), **certs.connect("verify-ca")})
    for path in ("/nowhere", certs.crt("ca")):
        text = 'failed to load CRL file "%s": ' % path
        p.settings[name] = path
        p.write()
        out = subprocess.run([binary(), "--check", p.ini], env=process_env(),
                             stdout=subprocess.PIPE, text=True)
        assert out.returncode == 1 and text in out.stdout
    p.settings[name] = None
    p.start()
    p.settings[name] = "/nowhere"
    p.write()
    with pytest.raises(pq.PgError, match="RELOAD failed"):
        p.admin("reload")
    p.wait_log(text.replace(certs.crt("ca"), "/nowhere"))


# --- how a server asks ----------------------------------------------------

METHODS = {"none": "trust", "password": "plain", "md5": "md5",
           "scram-sha-256": "scram-sha-256"}
FORBIDDEN = "server_require_auth forbids"


@pytest.mark.setting("server_require_auth")
@pytest.mark.parametrize("require,allowed", [
    ("", list(METHODS)),
    ("none", ["none"]),
    ("scram-sha-256", ["scram-sha-256"]),
    ("md5, scram-sha-256", ["md5", "scram-sha-256"]),
    ("password", ["password"]),
    ("!password", ["none", "md5", "scram-sha-256"]),
    ("!none, !password", ["md5", "scram-sha-256"]),
    ("gss", [])])
def test_how_a_server_may_ask(pooler, require, allowed):
    """libpq, require_auth"""
    # neither may keep what would be sent to the other
    far = {m: pooler(auth_type=t, userlist={"app": "apppw"})
           for m, t in METHODS.items()}
    p = pooler({m: "dbname=p0 host=127.0.0.1 port=%d" % f.port
                for m, f in far.items()}, {"app": "apppw", "admin": "adminpw"},
               server_require_auth=require)
    got = []
    for m in METHODS:
        try:
            assert p.raw(database=m).value("select 1") == "1"
            got.append(m)
        except pq.PgError as e:
            assert "authentication method requirement failed" in e.message
    assert got == allowed
    assert (FORBIDDEN in p.log) == (len(allowed) < len(METHODS))


def test_how_a_server_may_ask_changes_for_new_connections(pooler):
    far = pooler(auth_type="plain")
    p = pooler({"p0": "host=127.0.0.1 port=%d" % far.port})
    assert p.raw().value("select 1") == "1"
    p.settings["server_require_auth"] = "!password"
    p.reload()
    assert p.raw().value("select 1") == "1"  # it is connected already
    p.admin("reconnect")
    vain(p, "asked for a password in clear text, which " + FORBIDDEN)
    p.settings["server_require_auth"] = "!password,md5"
    p.write()
    with pytest.raises(pq.PgError, match="RELOAD failed"):
        p.admin("reload")
    p.wait_log('methods with and without "!" cannot be mixed')
    with pytest.raises(pq.PgError):
        p.admin("set server_require_auth = 'x'")


def test_binding_needs_scram(pooler):
    p = pooler(start=False, server_require_auth="md5",
               server_channel_binding="require")
    p.write()
    out = subprocess.run([binary(), "--check", p.ini], env=process_env(),
                         stdout=subprocess.PIPE, text=True)
    assert out.returncode == 1
    assert "which server_require_auth forbids" in out.stdout


# --- whose server it is ---------------------------------------------------

@pytest.mark.setting("server_require_peer")
def test_whose_server_it_is(pooler):
    """libpq, requirepeer"""
    far = pooler()
    p = pooler({"p0": "host=%s port=%d" % (far.dir, far.port),
                "p1": "host=127.0.0.1 port=%d" % far.port},
               server_login_retry=1, server_require_peer=str(UID))
    assert p.raw().value("select 1") == "1"
    p.admin("set server_require_peer = '%s'" % pwd.getpwuid(UID).pw_name)
    p.admin("reconnect")
    assert p.raw().value("select 1") == "1"
    p.settings["server_require_peer"] = str(UID + 1)
    p.reload()
    p.admin("reconnect")
    vain(p, "server_require_peer is \"%d\", but the socket \".*\" is served "
         "by uid %d" % (UID + 1, UID))
    assert p.raw(database="p1").value("select 1") == "1"  # TCP has none
    p.settings["server_require_peer"] = "nobody-of-that-name"
    p.write()
    with pytest.raises(pq.PgError, match="RELOAD failed"):
        p.admin("reload")
    p.wait_log('there is no user "nobody-of-that-name"')
    with pytest.raises(pq.PgError):
        p.admin("set server_require_peer = 'nobody-of-that-name'")
    assert p.show("config", key="server_require_peer")[0]["value"] == \
        str(UID + 1)


# --- who may read our secrets ---------------------------------------------

EVERYBODY = "by everybody (mode %04o)"


@pytest.mark.setting("strict_permissions")
@pytest.mark.parametrize("mode,word", [(0o644, "read"), (0o602, "changed")])
@pytest.mark.parametrize("what", ["auth_file", "client_tls_key_file",
                                  "server_tls_key_file",
                                  "auth_mock_secret_file", "logfile",
                                  "krb_server_keyfile", "krb_client_keyfile"])
def test_secret_that_everybody_may_read(pooler, certs, what, mode, word):
    """settings.md 4; a warning, or no start and no reload"""
    certs.make("loose", "/CN=localhost", "DNS:localhost")
    p = pooler(**certs.accept(cert="loose"),
               **certs.connect("prefer", cert="loose"))
    for name in ("auth_mock_secret_file", "logfile", "krb_server_keyfile",
                 "krb_client_keyfile"):
        p.settings[name] = p.put(name, "0123456789abcdef" * 2)
        os.chmod(p.settings[name], 0o600)
    p.reload()
    assert "by everybody" not in p.log
    path = p.settings[what]
    os.chmod(path, mode)
    p.admin("reload")
    text = '%s "%s" can be %s ' % (what, path, word) + EVERYBODY % mode
    p.wait_log("WARNING " + re.escape(text))
    if what == "auth_file":
        # the harness writes it anew
        return
    p.settings["strict_permissions"] = "1"
    p.write()
    with pytest.raises(pq.PgError, match="RELOAD failed"):
        p.admin("reload")
    p.wait_log(re.escape(text + ": strict_permissions forbids it"))
    out = subprocess.run([binary(), "--check", p.ini], env=process_env(),
                         stdout=subprocess.PIPE, text=True)
    assert out.returncode == 1 and text in out.stdout
    os.chmod(path, 0o640)
    p.admin("reload")
    assert p.show("config", key="strict_permissions")[0]["value"] == "1"


def test_auth_file_that_everybody_may_read_is_refused(pooler):
    p = pooler(strict_permissions="1")
    os.chmod(p.auth, 0o644)
    with pytest.raises(pq.PgError, match="RELOAD failed"):
        p.admin("reload")
    p.wait_log('auth_file "%s" can be read ' % p.auth
               + re.escape(EVERYBODY % 0o644))
    assert p.raw().value("select 1") == "1"
    q = pooler(start=False, strict_permissions="1")
    q.write()
    os.chmod(q.auth, 0o644)
    q.launch()
    assert q.wait_exit() == 1
    q.expect_exit = 1
    assert "strict_permissions forbids it" in q.log
