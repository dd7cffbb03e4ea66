# test_tls_groups.py - what a stranger's handshake may cost.
# SPDX-License-Identifier: ISC
"""Keys are agreed on before anybody has proved anything, so the dear ones are
not offered (spec/authentication.md section 9.3), and a crowd of handshakes
goes in turns."""
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

import pq
from harness import run
from test_tls import pooler_is_fine, tls_client

CHEAP = ["X25519", "P-256", "P-384", "P-521"]
DEAR = ["X448", "ffdhe2048", "ffdhe4096", "ffdhe8192"]
CROWD = 40


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


def test_dhe_is_no_longer_with_a_long_key(pooler, certs):
    """spec/authentication.md section 9.3: a key of 4096 bits would have it
    cost ten times as much"""
    certs.make("server_rsa3072", "/CN=localhost", "DNS:localhost",
               kind=["-newkey", "rsa:3072"])
    p = pooler(**certs.accept(cert="server_rsa3072"))
    said = s_client(p, "-tls1_2", "-cipher", "DHE-RSA-AES128-GCM-SHA256")
    assert "Server Temp Key: DH, 2048 bits" in said


def test_dhe_is_left_out_where_the_level_forbids_it(pooler, certs):
    certs.make("server_rsa3072", "/CN=localhost", "DNS:localhost",
               kind=["-newkey", "rsa:3072"])
    p = pooler(**certs.accept(cert="server_rsa3072",
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
