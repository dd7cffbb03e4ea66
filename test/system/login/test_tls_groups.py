# test_tls_groups.py - what a stranger's handshake may cost.
# SPDX-License-Identifier: ISC
"""Keys are agreed on before anybody has proved anything, so the dear ones are
not offered (spec/authentication.md section 9.3), and a crowd of handshakes
goes in turns."""
import os
import ssl
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

import pq
from harness import WORKERS, run, wait_until
from test_storm import hello
from test_tls import pooler_is_fine, tls_client

CHEAP = ["X25519", "P-256", "P-384", "P-521"]
DEAR = ["X448", "ffdhe2048", "ffdhe4096", "ffdhe8192"]
CROWD = 40
THREADS = 2                     # of each worker, for handshakes


@pytest.fixture
def long_keys(certs):
    """server_rsa3072 and client_rsa3072"""
    kind = ["-newkey", "rsa:3072"]
    if not os.path.exists(certs.key("client_rsa3072")):
        certs.make("server_rsa3072", "/CN=localhost", "DNS:localhost",
                   kind=kind)
        certs.make("client_rsa3072", "/CN=app", kind=kind)
    return certs


def s_client(p, *args):
    """What openssl s_client says of a handshake."""
    out = run(["openssl", "s_client", "-connect", "127.0.0.1:%d" % p.port,
               "-starttls", "postgres", *args], stdin=subprocess.DEVNULL)
    return out.stdout


def agrees(p, group):
    return "New, TLSv1.3" in s_client(p, "-tls1_3", "-groups", group)


@pytest.mark.setting("client_tls_groups")
@pytest.mark.parametrize("settings,groups", [
    ({}, CHEAP),
    ({"client_tls_groups": ""}, CHEAP),
    ({"client_tls_groups": "P-384:ffdhe2048"}, ["P-384", "ffdhe2048"]),
    ({"client_tls_groups": "P-384:X25519", "client_tls_ecdhcurve": "auto"},
     ["P-384", "X25519"]),
    ({"client_tls_groups": "P-384", "client_tls_ecdhcurve": "P-521"},
     ["P-521"]),
    ({"client_tls_ecdhcurve": "none"}, CHEAP)])
def test_only_these_groups_are_agreed_on(pooler, certs, settings, groups):
    """settings.md 9"""
    p = pooler(**certs.accept(**settings))
    assert [g for g in CHEAP + DEAR if agrees(p, g)] == \
        sorted(groups, key=(CHEAP + DEAR).index)


def test_groups_change_for_new_clients(pooler, certs):
    p = pooler(**certs.accept())
    old = tls_client(p, certs.client_context())
    p.settings["client_tls_groups"] = "P-521"
    p.reload()
    assert agrees(p, "P-521") and not agrees(p, "X25519")
    p.admin("set client_tls_groups = 'X25519'")
    assert agrees(p, "X25519") and not agrees(p, "P-521")
    p.settings["client_tls_groups"] = "P-521:bogus"
    with pytest.raises(pq.PgError, match="RELOAD failed"):
        p.reload()
    p.wait_log("invalid client_tls_groups: P-521:bogus")
    assert agrees(p, "X25519")
    assert old.value("select 1") == "1"


def test_dhe_is_no_longer_with_a_long_key(pooler, long_keys):
    """spec/authentication.md section 9.3: a key of 4096 bits would have it
    cost ten times as much"""
    p = pooler(**long_keys.accept(cert="server_rsa3072"))
    said = s_client(p, "-tls1_2", "-cipher", "DHE-RSA-AES128-GCM-SHA256")
    assert "Server Temp Key: DH, 2048 bits" in said


def test_dhe_is_left_out_where_the_level_forbids_it(pooler, long_keys):
    p = pooler(**long_keys.accept(cert="server_rsa3072",
                                  client_tls_ciphers="DEFAULT:@SECLEVEL=3"))
    assert "New, TLSv1.2" in s_client(p, "-tls1_2")
    assert "Cipher is (NONE)" in s_client(
        p, "-tls1_2", "-cipher", "DHE-RSA-AES128-GCM-SHA256")


def test_a_crowd_of_handshakes_is_served(pooler, certs):
    """each turn has time for some of them; nobody is forgotten"""
    p = pooler(max_client_conn=2 * CROWD,
               **certs.accept("require", cert="server_rsa"))
    context = certs.client_context(alpn="postgresql")

    def go(i):
        with p.open() as c:
            c.start_tls(context, direct=i % 2 == 1)
            c.login("app", p.userlist["app"], "p0")
            return c.value("select 7")
    with ThreadPoolExecutor(CROWD) as crowd:
        got = list(crowd.map(go, range(CROWD)))
    assert got == ["7"] * CROWD
    assert pooler_is_fine(p)


def test_a_crowd_of_handshakes_with_servers_is_served(pooler, certs, tls_pg):
    """all pools connect at once when a server comes back"""
    dbs = {"d%d" % i: "host=localhost port=%d dbname=p0" % tls_pg.port
           for i in range(CROWD)}
    p = pooler(dbs, **certs.connect("verify-full"))
    with ThreadPoolExecutor(CROWD) as crowd:
        got = list(crowd.map(
            lambda db: p.raw(database=db).value("select 7"), dbs))
    assert got == ["7"] * CROWD


# --- signatures that take long ---

def held(pooler, certs, slow_disk, **settings):
    """No signature is finished as long as there is a file p.sign + .hang."""
    p = pooler(start=False, **certs.accept(**settings))
    p.sign = os.path.join(p.dir, "sign")
    p.env.update(LD_PRELOAD=slow_disk, SIGNS=p.sign)
    return p.start()


def test_long_key_holds_nobody_up(pooler, long_keys, slow_disk):
    """spec/authentication.md section 9.3: a thread signs with it"""
    certs = long_keys
    p = held(pooler, certs, slow_disk, cert="server_rsa3072")
    other, context = p.raw(), certs.client_context()
    open(p.sign + ".hang", "w").close()
    with ThreadPoolExecutor(3) as crowd:
        logins = [crowd.submit(tls_client, p, context) for _ in range(3)]
        try:
            wait_until(lambda: os.path.exists(p.sign + ".waits"))
            assert other.value("select 1") == "1"
            wait_until(lambda: p.mem()["tls_cache"] == 3)
            assert not any(done.done() for done in logins)
        finally:
            os.unlink(p.sign + ".hang")
        assert [done.result().value("select 2") for done in logins] == \
            ["2"] * 3


def test_who_leaves_while_a_key_is_worked_with(pooler, long_keys, slow_disk):
    """nothing is left of it: neither of one that a thread has begun with nor of
    one that waits for a thread"""
    p = held(pooler, long_keys, slow_disk, cert="server_rsa3072")
    other = p.raw()
    data = hello(long_keys.client_context(alpn="postgresql"))
    open(p.sign + ".hang", "w").close()
    crowd = [p.open() for _ in range(6 * WORKERS)]
    try:
        for c in crowd:
            c.send(data)
        wait_until(lambda: p.mem()["tls_cache"] == len(crowd))
        wait_until(lambda: os.path.exists(p.sign + ".waits"))
        for i, c in enumerate(crowd):
            if i % 2:
                c.abort()
            else:
                c.close(polite=False)
        assert other.value("select 1") == "1"
        # those that no thread has are gone at once
        wait_until(lambda: p.mem()["tls_cache"] <= THREADS * WORKERS)
        assert p.mem()["tls_cache"] > 0
    finally:
        os.unlink(p.sign + ".hang")
    wait_until(lambda: p.mem()["tls_cache"] == 0)
    assert pooler_is_fine(p)


@pytest.mark.parametrize("version", ["TLSv1_2", "TLSv1_3"])
def test_dearest_handshake_is_made(pooler, long_keys, version):
    """a long key, P-521, a client's certificate; what comes behind the
    handshake at once is not lost"""
    certs = long_keys
    p = pooler(**certs.accept("verify-full", cert="server_rsa3072",
                              client_tls_groups="P-521"))
    context = certs.client_context("client_rsa3072", alpn="postgresql")
    context.minimum_version = getattr(ssl.TLSVersion, version)
    context.maximum_version = context.minimum_version
    for direct in (False, True):
        c = p.open().start_tls(context, direct=direct)
        c.login("app", p.userlist["app"], "p0")
        assert c.value("select 3") == "3"
        text = "x" * 200000
        assert c.value("select '%s'" % text) == text
    # nobody whom we trust has signed this one
    stranger = certs.client_context("stranger")
    with pytest.raises((ssl.SSLError, OSError, pq.Closed)):
        p.open().start_tls(stranger).login("app", None, "p0")
    p.wait_log("TLS handshake error: certificate verify failed")


def test_long_key_towards_a_server(pooler, long_keys, tls_pg):
    """server_tls_key_file"""
    p = pooler({"p0": "host=localhost port=%d user=app2" % tls_pg.port},
               pool_mode="session", default_pool_size=3,
               **long_keys.connect("verify-full", cert="client_rsa3072"))
    assert [p.raw().value("select session_user") for _ in range(3)] == \
        ["app2"] * 3
