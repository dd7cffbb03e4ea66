# test_tls_server.py - TLS with PostgreSQL: modes, certificates, cancel.
# SPDX-License-Identifier: ISC
import hashlib
import os
import re

import psycopg
import pytest

import pq
from harness import TIMEOUT, cancelling, wait_until

IS_TLS = "select ssl, version from pg_stat_ssl where pid = pg_backend_pid()"
WHO = "select client_dn from pg_stat_ssl where pid = pg_backend_pid()"


def conn(pg, host="localhost", more=""):
    return "host=%s port=%d %s" % (host, pg.port, more)


def fails(p, why, **kw):
    """Log in in vain; the server connection was closed because of that."""
    # from now on: those who get in need more on a busy machine
    p.admin("set query_wait_timeout = 1")
    with pytest.raises(pq.PgError):
        p.raw(**kw)
    p.wait_log("S-.* closing because: .*" + re.escape(why))


# --- modes ----------------------------------------------------------------

@pytest.mark.setting("server_tls_sslmode")
@pytest.mark.parametrize("mode", ["disable", "allow", "prefer", "require",
                                  "verify-ca", "verify-full"])
def test_mode_with_a_server_that_can(pooler, certs, tls_pg, mode):
    """authentication.md 9.2"""
    p = pooler({"p0": conn(tls_pg)}, **certs.connect(mode))
    want = ["f", None] if mode == "disable" else ["t", "TLSv1.3"]
    assert p.raw().query(IS_TLS).rows == [want]
    tls = p.servers()[0]["tls"]
    if mode == "disable":
        assert tls == "" and "SSL established" not in p.log
    else:
        assert tls == "TLSv1.3/TLS_AES_256_GCM_SHA384/ECDH=prime256v1"
        p.wait_log("S-.* SSL established: " + tls)
        assert p.servers()[0]["tls_peer"] == "localhost"


@pytest.mark.parametrize("mode", ["allow", "prefer", "require", "verify-ca"])
def test_mode_with_a_server_that_cannot(pooler, certs, pg, mode):
    """authentication.md 9.2: server refused SSL"""
    p = pooler({"p0": conn(pg, "127.0.0.1")}, server_login_retry=1,
               **certs.connect(mode))
    if mode in ("allow", "prefer"):
        assert p.raw().value("select 1") == "1"
        assert p.servers()[0]["tls"] == ""
    else:
        fails(p, "server refused SSL")


def test_unix_sockets_never_use_tls(pooler, certs, tls_pg):
    """settings.md 9"""
    p = pooler({"p0": conn(tls_pg, tls_pg.dir)},
               **certs.connect("verify-full"))
    assert p.raw().value("select 1") == "1"
    assert p.servers()[0]["tls"] == ""


@pytest.mark.setting("server_tls_ca_file")
def test_wrong_authority_is_refused(pooler, certs, tls_pg):
    """verify-ca looks, require does not"""
    p = pooler({"p0": conn(tls_pg), "p1": conn(
        tls_pg, more="server_tls_sslmode=verify-ca")},
        **certs.connect("require", "other_ca"))
    assert p.raw().value("select 1") == "1"
    fails(p, "TLS handshake failed", database="p1")
    p.wait_log("TLS handshake error: certificate verify failed: ")


@pytest.mark.setting("server_tls_key_file", "server_tls_cert_file")
def test_our_certificate_for_the_server(pooler, certs, tls_pg):
    """server_tls_cert_file, server_tls_key_file; pg_hba.conf: cert"""
    p = pooler({"p0": conn(tls_pg, more="user=app2")},
               **certs.connect("verify-full", cert="client"))
    assert p.raw().value(WHO) == "/CN=app"
    bad = pooler({"p0": conn(tls_pg, more="user=app2")},
                 **certs.connect("verify-full"))
    fails(bad, "certificate")


@pytest.mark.setting("server_tls_protocols", "server_tls_ciphers",
                     "server_tls13_ciphers")
@pytest.mark.parametrize("settings,want", [
    ({"server_tls_protocols": "tlsv1.2"}, "TLSv1.2/"),
    ({"server_tls_protocols": "tlsv1.2", "server_tls_ciphers":
      "ECDHE-ECDSA-AES128-GCM-SHA256"},
     "TLSv1.2/ECDHE-ECDSA-AES128-GCM-SHA256/ECDH="),
    ({"server_tls13_ciphers": "TLS_AES_128_GCM_SHA256"},
     "TLSv1.3/TLS_AES_128_GCM_SHA256/"),
])
def test_versions_and_ciphers(pooler, certs, tls_pg, settings, want):
    """server_tls_protocols, server_tls_ciphers, server_tls13_ciphers"""
    p = pooler({"p0": conn(tls_pg)}, **certs.connect("require", **settings))
    p.raw().value("select 1")
    assert p.servers()[0]["tls"].startswith(want)


# --- one database otherwise -----------------------------------------------

@pytest.mark.database("server_tls_sslmode", "server_tls_protocols",
                      "server_tls_ca_file", "server_tls_cert_file",
                      "server_tls_key_file")
def test_databases_with_settings_of_their_own(pooler, certs, tls_pg):
    """server_tls_* in [databases]"""
    own = {
        "clear": "server_tls_sslmode=disable",
        "old": "server_tls_protocols=tlsv1.2",
        "strange": "server_tls_ca_file=" + certs.crt("other_ca"),
        "named": "user=app2 server_tls_cert_file=%s server_tls_key_file=%s"
        % (certs.crt("client"), certs.key("client")),
    }
    dbs = {k: conn(tls_pg, more="dbname=p0 " + v) for k, v in own.items()}
    dbs["*"] = conn(tls_pg, more="server_tls_protocols=tlsv1.2")
    dbs["plain"] = conn(tls_pg, more="dbname=p0")
    p = pooler(dbs, **certs.connect("verify-full"))

    def get(db, sql=IS_TLS):
        return p.raw(database=db).query(sql).rows[0]
    assert get("plain") == ["t", "TLSv1.3"]
    assert get("clear") == ["f", None]
    assert get("old") == ["t", "TLSv1.2"]
    assert get("p1") == ["t", "TLSv1.2"]
    assert get("named", WHO) == ["/CN=app"]
    fails(p, "TLS handshake failed", database="strange")


@pytest.mark.parametrize("text,error", [
    ("server_tls_sslmode=maybe", "invalid server_tls_sslmode: maybe"),
    ("server_tls_cert_file=/nowhere", 'database "bad": '),
    ("server_tls_protocols=x", "invalid server_tls_protocols: x"),
    ("server_tls_negotiation=direct server_tls_sslmode=prefer",
     "server_tls_negotiation=direct requires"),
])
def test_bad_settings_of_a_database(pooler, certs, text, error):
    p = pooler({"p0": ""})
    p.dbs["bad"] = "host=localhost " + text
    p.write()
    with pytest.raises(pq.PgError) as e:
        p.admin("reload")
    assert e.value.code == "F0000"
    p.wait_log(error)
    assert p.raw().value("select 1") == "1"


# --- cancel ---------------------------------------------------------------

def test_cancel_request_goes_by_tls(pooler, certs, tls_pg):
    """the server refuses what does not come that way"""
    p = pooler({"p0": conn(tls_pg)}, **certs.connect("verify-full"))
    with p.connect() as c:
        with cancelling(c), pytest.raises(psycopg.errors.QueryCanceled):
            c.execute("select pg_sleep(%s)", (TIMEOUT,))
        assert c.execute("select 1").fetchone() == (1,)


# --- bulk -----------------------------------------------------------------

def test_bulk_over_tls_on_both_sides(pooler, certs, tls_pg):
    p = pooler({"p0": conn(tls_pg)}, **certs.accept("require"),
               **certs.connect("verify-full"))
    data = os.urandom(1 << 20).hex()
    with p.connect(sslmode="require", autocommit=False) as c:
        got = c.execute("select %s::text || repeat('x', 3000000)",
                        (data,)).fetchone()[0]
        assert got == data + "x" * 3000000
        c.execute("create temp table t (v text) on commit drop")
        with c.cursor().copy("copy t from stdin") as copy:
            for i in range(0, len(data), 5000):
                copy.write(data[i:i + 5000] + "\n")
        with c.cursor().copy("copy t to stdout") as copy:
            back = b"".join(bytes(part) for part in copy)
    assert hashlib.md5(back.replace(b"\n", b"")).digest() == \
        hashlib.md5(data.encode()).digest()


def test_slow_client_does_not_pile_up(pooler, certs, tls_pg):
    """back-pressure: the server is not read while the client is full"""
    p = pooler({"p0": conn(tls_pg)}, **certs.accept(),
               **certs.connect("require"))
    c = p.open(rcvbuf=4096).start_tls(certs.client_context())
    c.login("app", "apppw", "p0")
    before = p.rss()
    c.send(pq.query("select repeat('b', 1000) from generate_series(1, "
                    "60000)"))
    wait_until(lambda: int(p.show("sockets", type="C", database="p0")[0]
                           ["send_avail"]) > 0, what="a full socket")
    assert int(p.show("sockets", type="C", database="p0")[0]
               ["send_avail"]) < 1 << 18
    assert p.rss() - before < 16 << 20
    assert len(c.recv_until().check().rows) == 60000


# --- reload ---------------------------------------------------------------

def pids(p):
    return sorted(r["ptr"] for r in p.servers())


def test_reload_recycles_only_what_changed(pooler, certs, tls_pg):
    """PB 1.24 #1157: each RELOAD replaced all TLS servers"""
    p = pooler({"p0": conn(tls_pg)}, **certs.connect("verify-full"))
    p.raw().value("select 1")
    before = pids(p)
    p.admin("reload")
    os.utime(certs.crt("ca"))
    p.admin("reload")
    p.settings["client_tls_protocols"] = "tlsv1.3"
    p.settings["server_tls13_ciphers"] = "TLS_AES_128_GCM_SHA256"
    p.reload()
    assert pids(p) == before
    p.settings["server_tls_protocols"] = "tlsv1.2"
    p.reload()
    wait_until(lambda: pids(p) != before, what="the server to go")
    assert p.raw().query(IS_TLS).rows == [["t", "TLSv1.2"]]
    before = pids(p)
    p.dbs["p0"] += " server_tls_sslmode=disable"
    p.reload()
    wait_until(lambda: pids(p) != before, what="the server to go")
    assert p.raw().query(IS_TLS).rows == [["f", None]]


def test_set_changes_tls(pooler, certs, tls_pg):
    """admin-console.md 4.11: the notice, and what is in force"""
    p = pooler({"p0": conn(tls_pg)}, **certs.connect("require"))
    assert p.raw().query(IS_TLS).rows == [["t", "TLSv1.3"]]
    with p.console() as c:
        assert c.query("set server_tls_protocols = 'tlsv1.2'").notices == []
        wait_until(lambda: p.servers() == [], what="the server to go")
        assert p.raw().query(IS_TLS).rows == [["t", "TLSv1.2"]]
        res = c.query("set client_tls_sslmode = 'require'")
        assert [n.message for n in res.notices] == [
            "TLS settings could not be applied, still using old "
            "configuration"]
        assert p.raw().value("select 1") == "1"  # not required yet
        c.query("set client_tls_key_file = '%s'" % certs.key("server"))
        res = c.query("set client_tls_cert_file = '%s'" % certs.crt("server"))
        assert res.notices == []
        with pytest.raises(pq.PgError, match="SSL required"):
            p.raw()
        c.query("set server_tls_sslmode = 'disable'")
    wait_until(lambda: pq_unix(p).query(IS_TLS).rows == [["f", None]])


def pq_unix(p):
    return p.raw(unix=True)
