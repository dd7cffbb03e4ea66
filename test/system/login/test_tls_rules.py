# test_tls_rules.py - what is refused although it would work.
# SPDX-License-Identifier: ISC
"""spec/authentication.md sections 3.4, 5, 9.1, 9.2"""
import ssl
import subprocess

import pytest

import pq
from harness import binary, process_env
from test_login import refused
from test_tls import tls_client

CLEAR = 'the password of "app\\d?" goes to this server in clear text'


def refuses_start(p, text):
    """The start fails with this text, and --check finds it too."""
    p.write()
    p.launch()
    assert p.wait_exit() == 1
    p.expect_exit = 1
    assert text in p.log and "TLS setup failed" in p.log
    out = subprocess.run([binary(), "--check", p.ini], env=process_env(),
                         stdout=subprocess.PIPE, text=True)
    assert out.returncode == 1 and text in out.stdout


# --- channel binding ------------------------------------------------------

@pytest.mark.setting("client_channel_binding")
@pytest.mark.parametrize("method", ["any", "trust", "plain", "cert", "pam",
                                    "ldap"])
def test_binding_with_a_method_that_has_none(pooler, certs, method):
    p = pooler({"p0": "user=app"}, start=False, auth_type=method,
               client_channel_binding="require", **certs.accept("verify-full"))
    refuses_start(p, "client_channel_binding=require cannot be met by "
                  "auth_type=" + method)


@pytest.mark.parametrize("method", ["trust", "password", "cert"])
def test_binding_with_a_rule_that_has_none(pooler, certs, method):
    p = pooler(start=False, auth_type="hba", client_channel_binding="require",
               **certs.accept("require"))
    p.settings["auth_hba_file"] = p.put(
        "hba", "local all all peer\nhost all all 127.0.0.2/32 reject\n"
        "hostssl all all all scram-sha-256\nhost all all all md5\n"
        "hostssl all app2 all " + method + "\n")
    refuses_start(p, "client_channel_binding=require cannot be met by the "
                  'method in line 5 of "%s"' % p.settings["auth_hba_file"])


def test_binding_without_tls(pooler):
    p = pooler(start=False, auth_type="scram-sha-256",
               client_channel_binding="require")
    refuses_start(p, "client_channel_binding=require requires "
                  "client_tls_sslmode")
    p = pooler(start=False, server_tls_sslmode="disable",
               server_channel_binding="require")
    refuses_start(p, "server_channel_binding=require requires "
                  "server_tls_sslmode")


def test_what_cannot_bind_is_refused_at_reload_and_set(pooler, certs):
    p = pooler({"p0": "user=app"}, auth_type="scram-sha-256",
               client_channel_binding="require", **certs.accept("require"))

    def console(cmd):
        with p.raw("pgbouncer", "pgbouncer", unix=True) as c:
            return c.query(cmd)
    text = "cannot be met by auth_type=trust"
    with pytest.raises(pq.PgError, match="SET failed"):
        console("set auth_type = 'trust'")
    p.wait_log(text)
    p.settings["auth_type"] = "trust"
    p.write()
    with pytest.raises(pq.PgError, match="RELOAD failed"):
        console("reload")
    p.wait_log(text, count=2)
    context = certs.client_context()
    c = p.open().start_tls(context)
    with pytest.raises(pq.PgError):
        c.login("app", "wrong", "p0")
    console("set client_channel_binding = 'prefer'")
    console("set auth_type = 'trust'")
    with pytest.raises(pq.PgError, match="SET failed"):
        console("set client_channel_binding = 'require'")
    assert p.open().start_tls(context).login(
        "app", None, "p0").value("select 1") == "1"


@pytest.mark.parametrize("user", ["app", "nobody"])
def test_md5_is_bound_by_scram(pooler, certs, user):
    """a plain secret can do both, and nobody learns who is known"""
    p = pooler({"p0": "user=app"}, {"app": "apppw"}, auth_type="md5",
               client_channel_binding="require", **certs.accept("require"))
    c = p.open().start_tls(certs.client_context())
    c.send(pq.startup({"user": user, "database": "p0"}))
    kind, body = c.recv()
    assert (kind, body) == ("R", b"\0\0\0\x0aSCRAM-SHA-256-PLUS\0\0")


# --- cert -----------------------------------------------------------------

def test_rule_with_cert_needs_an_authority(pooler, certs):
    """else whom the system's authorities know would be let in"""
    p = pooler(start=False, auth_type="hba", **certs.accept("require"))
    p.settings["client_tls_ca_file"] = None
    p.settings["auth_hba_file"] = p.put(
        "hba", "local all all md5\nhostssl all all all cert\n")
    refuses_start(p, "the method cert in line 2 of \"%s\" requires "
                  "client_tls_ca_file" % p.settings["auth_hba_file"])
    # without TLS such a rule lets nobody in
    p = pooler(start=False, auth_type="hba")
    p.settings["auth_hba_file"] = p.put(
        "hba", "local all all md5\nhost all all all cert\n")
    p.start()
    assert p.raw(unix=True).value("select 1") == "1"
    assert refused(p.open(), user="app", database="p0") == \
        "certificate authentication failed"


# --- direct TLS -----------------------------------------------------------

@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2,
                                     ssl.TLSVersion.TLSv1_3])
def test_direct_tls_without_alpn_is_refused(pooler, certs, version):
    """as PostgreSQL 17: it may be meant for another service"""
    p = pooler(**certs.accept())
    context = certs.client_context()
    context.maximum_version = version
    with pytest.raises((OSError, pq.Closed)):
        tls_client(p, context, direct=True)
    p.wait_log("closing because: direct TLS without ALPN")
    # not asked of those who asked for TLS first
    assert tls_client(p, context).value("select 1") == "1"
    context.set_alpn_protocols(["postgresql"])
    assert tls_client(p, context, direct=True).value("select 1") == "1"


# --- whose certificate is it ----------------------------------------------

@pytest.mark.setting("server_tls_sslmode")
@pytest.mark.parametrize("host,cn,names,fits", [
    ("localhost", "localhost", None, True),
    ("localhost", "localhost", "DNS:elsewhere.example", False),
    ("localhost", "localhost", "DNS:elsewhere.example,DNS:localhost", True),
    ("localhost", "elsewhere", "DNS:localhost", True),
    ("localhost", "localhost", "IP:10.0.0.1", True),
    ("localhost", "localhost", "email:a@elsewhere.example", True),
    ("127.0.0.1", "127.0.0.1", None, True),
    ("127.0.0.1", "127.0.0.1", "IP:10.0.0.1", False),
    ("127.0.0.1", "127.0.0.1", "DNS:elsewhere.example", False),
    ("127.0.0.1", "x", "IP:10.0.0.1,IP:127.0.0.1", True)])
def test_common_name_counts_where_no_other_does(pooler, certs, host, cn,
                                                names, fits):
    """authentication.md 9.2: as libpq"""
    certs.make("named", "/CN=" + cn, names)
    far = pooler(**certs.accept("require", cert="named"))
    p = pooler({"p0": "host=%s port=%d" % (host, far.port)},
               query_wait_timeout=2, **certs.connect("verify-full"))
    if fits:
        assert p.raw().value("select 1") == "1"
        return
    with pytest.raises(pq.PgError):
        p.raw()
    p.wait_log('name "%s" not present in server certificate' % host)


# --- cleartext ------------------------------------------------------------

def test_cleartext_password_is_warned_of_once(pooler, certs):
    far = pooler({"p0": "", "p1": ""}, auth_type="plain")
    to = "host=127.0.0.1 port=%d" % far.port
    p = pooler({"p0": to, "p1": to + " pool_size=5"})
    for _ in range(2):
        assert p.raw().value("select 1") == "1"
        assert p.raw("app2").value("select 1") == "1"
        p.admin("reconnect")
        p.reload()
    p.wait_log(CLEAR)
    assert p.log.count("in clear text") == 1
    # the next one is another entry
    p.raw(database="p1").value("select 1")
    p.wait_log("WARNING S-.*: p1/app@127.0.0.1:.* " + CLEAR, count=1)
    assert p.log.count("in clear text") == 2


@pytest.mark.parametrize("how", ["tls", "unix", "md5"])
def test_what_nobody_overhears_is_not_warned_of(pooler, certs, how):
    far = pooler(auth_type="md5" if how == "md5" else "plain",
                 **certs.accept("prefer" if how == "tls" else "disable"))
    p = pooler({"p0": "host=%s port=%d" % (
        far.dir if how == "unix" else "127.0.0.1", far.port)})
    assert p.raw().value("select 1") == "1"
    assert "in clear text" not in p.log
