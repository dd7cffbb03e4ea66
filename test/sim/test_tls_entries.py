# test_tls_entries.py - server_tls_* keys of single databases.
# SPDX-License-Identifier: ISC
import ssl

import pytest

TLS12 = "ECDHE-ECDSA-AES128-GCM-SHA256"
TLS13 = "TLS_AES_128_GCM_SHA256"


@pytest.mark.database("server_tls_negotiation")
def test_direct_tls_of_one_database(pooler, fakepg, certs):
    """no SSLRequest for it, one for the other"""
    f = fakepg(tls=certs.server_context(alpn="postgresql"), direct=True)
    g = fakepg(tls=certs.server_context())
    p = pooler({"p0": f.conn + " server_tls_negotiation=direct",
                "p1": g.conn}, **certs.connect("require"))
    for db in ("p0", "p1"):
        assert p.raw(database=db).value("select 1") == "select 1"
    assert f.logins()[0].ssl_requests == 0
    assert g.logins()[0].ssl_requests == 1


@pytest.mark.database("server_tls_ciphers", "server_tls13_ciphers")
def test_ciphers_of_one_database(pooler, fakepg, certs):
    """for TLS up to 1.2, and for 1.3"""
    old = certs.server_context()
    old.maximum_version = ssl.TLSVersion.TLSv1_2
    f, g = fakepg(tls=old), fakepg(tls=certs.server_context())
    p = pooler({"p0": f.conn + " server_tls_ciphers=" + TLS12, "p1": f.conn,
                "p2": g.conn + " server_tls13_ciphers=" + TLS13,
                "p3": g.conn}, **certs.connect("require"))

    def cipher(db):
        p.raw(database=db).query("begin")
        return p.servers(db)[0]["tls"]
    assert TLS12 in cipher("p0") and TLS12 not in cipher("p1")
    assert TLS13 in cipher("p2") and TLS13 not in cipher("p3")
