# test_tls.py - TLS with clients: modes, certificates, versions, start.
# SPDX-License-Identifier: ISC
import ctypes
import hashlib
import os
import signal
import socket
import ssl
import struct
import subprocess
import threading

import psycopg
import pytest

import pq
from harness import (TIMEOUT, binary, cancelling, give, process_env, run,
                     wait_until)
from test_login import refused
from tlspipe import TlsPipe

MODES = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"]
SSL_REQUEST = pq.untyped(pq.SSL_REQUEST)


def tls_client(p, context, direct=False, login=True, **kw):
    c = p.open().start_tls(context, direct)
    return c.login("app", p.userlist["app"], "p0", **kw) if login else c


# --- modes ----------------------------------------------------------------

@pytest.mark.setting("client_tls_sslmode", "client_tls_key_file",
                     "client_tls_cert_file")
@pytest.mark.parametrize("mode", MODES)
def test_ssl_request_is_answered_by_mode(pooler, certs, mode):
    """client_tls_sslmode; pooling.md 19"""
    p = pooler(**certs.accept(mode))
    c = p.open()
    c.send(SSL_REQUEST)
    assert c.recv_bytes(1) == (b"N" if mode == "disable" else b"S")


@pytest.mark.parametrize("mode", MODES)
def test_plain_login_is_let_in_by_mode(pooler, certs, mode):
    """client_tls_sslmode; client-errors.md: SSL required"""
    p = pooler(**certs.accept(mode))
    if mode in ("disable", "allow", "prefer"):
        assert p.raw().value("select 1") == "1"
    else:
        assert refused(p.open(), user="app", database="p0") == \
            "SSL required"


def test_unix_sockets_are_exempt(pooler, certs):
    """pooling.md 19: never on Unix sockets"""
    p = pooler(**certs.accept("verify-full"))
    c = p.open(unix=True)
    c.send(SSL_REQUEST)
    assert c.recv_bytes(1) == b"N"
    assert c.login("app", "apppw", "p0").value("select 1") == "1"


def test_libpq_checks_our_certificate(pooler, certs):
    p = pooler(**certs.accept("require"))
    with p.connect(host="localhost", sslmode="verify-full",
                   sslrootcert=certs.crt("ca")) as c:
        assert c.execute("select 1").fetchone() == (1,)
    with pytest.raises(psycopg.OperationalError, match="certificate verify"):
        p.connect(host="localhost", sslmode="verify-ca",
                  sslrootcert=certs.crt("other_ca"))
    p.wait_log("TLS handshake error: .*unknown ca")


# --- client certificates --------------------------------------------------

@pytest.mark.setting("client_tls_ca_file")
@pytest.mark.parametrize("mode", ["prefer", "require", "verify-ca",
                                  "verify-full"])
@pytest.mark.parametrize("cert", [None, "client", "stranger", "old"])
def test_client_certificate(pooler, certs, mode, cert):
    """authentication.md 9.1; PB#104, PB#105: it was not asked for, or not
    verified"""
    p = pooler(**certs.accept(mode))
    fits = cert == "client" or (cert is None and mode in ("prefer",
                                                          "require"))
    context = certs.client_context(cert)
    if fits:
        c = tls_client(p, context)
        assert c.value("select 1") == "1"
        row = p.show("clients", database="p0")[0]
        assert row["tls_peer"] == ("app" if cert else "")
        return
    with pytest.raises((pq.Closed, OSError)):
        tls_client(p, context)
    p.wait_log("TLS handshake error: (certificate verify failed: |"
               "peer did not return a certificate)")
    p.wait_log("closing because: failed to accept SSL")
    assert pooler_is_fine(p)


def pooler_is_fine(p):
    with p.open(unix=True) as c:
        return c.login("app", "apppw", "p0").value("select 1") == "1"


def test_certificate_logs_in(pooler, certs):
    """authentication.md 3.4: cert"""
    p = pooler(auth_type="cert", **certs.accept("verify-full"))
    c = p.open().start_tls(certs.client_context("client"))
    assert c.login("app", None, "p0").value("select current_user") == "app"
    c = p.open().start_tls(certs.client_context("client"))
    assert refused(c, user="app2", database="p0") == \
        "certificate authentication failed"
    p.wait_log("TLS certificate name mismatch")


# --- the start of a connection --------------------------------------------

def test_bytes_behind_the_request_are_refused(pooler, certs):
    """CVE-2021-3935"""
    p = pooler(**certs.accept())
    c = p.open()
    c.send(SSL_REQUEST + pq.startup({"user": "app", "database": "p0"}))
    res = c.recv_all()
    assert res.errors[0].message == \
        "received unencrypted data after SSL request"


def test_bytes_behind_the_answer_are_no_login(pooler, certs):
    """CVE-2021-3935: what is not TLS after our S never counts"""
    p = pooler(**certs.accept())
    c = p.open()
    c.send(SSL_REQUEST)
    assert c.recv_bytes(1) == b"S"
    c.send(pq.startup({"user": "app", "database": "p0"}))
    c.buf.clear()
    try:
        assert c.recv_bytes(1) == b"\x15"  # an alert record, or nothing
    except pq.Closed:
        pass
    p.wait_log("TLS handshake error")
    assert "login attempt" not in p.log


def test_tls_follows_a_refused_gss_request(pooler, certs):
    """pooling.md 19: repeatable after N"""
    p = pooler(**certs.accept())
    c = p.open()
    c.send(pq.untyped(pq.GSSENC_REQUEST))
    assert c.recv_bytes(1) == b"N"
    c.start_tls(certs.client_context())
    assert c.login("app", "apppw", "p0").value("select 1") == "1"


def test_request_inside_tls_ends_in_silence(pooler, certs):
    """pooling.md 19"""
    p = pooler(**certs.accept())
    c = tls_client(p, certs.client_context(), login=False)
    c.send(SSL_REQUEST)
    assert c.at_eof()
    p.wait_log("closing because: SSL req inside SSL")


def test_direct_tls(pooler, certs):
    """pooling.md 19: direct TLS"""
    p = pooler(**certs.accept("require"))
    c = tls_client(p, certs.client_context(alpn="postgresql"), direct=True)
    assert c.sock.selected_alpn_protocol() == "postgresql"
    assert c.value("select 1") == "1"


def test_direct_tls_for_another_protocol_is_refused(pooler, certs):
    """pooling.md 19: ALPN without postgresql"""
    p = pooler(**certs.accept())
    with pytest.raises(ssl.SSLError, match="(?i)no.application.protocol"):
        tls_client(p, certs.client_context(alpn="h2"), direct=True)


def test_direct_tls_is_no_message_where_tls_is_off(pooler, certs):
    p = pooler()
    with pytest.raises(OSError):
        tls_client(p, certs.client_context(), direct=True)
    assert pooler_is_fine(p)


def test_direct_tls_only_at_the_very_start(pooler, certs):
    p = pooler(**certs.accept())
    c = p.open()
    c.send(pq.untyped(pq.GSSENC_REQUEST))
    assert c.recv_bytes(1) == b"N"
    with pytest.raises(OSError):
        c.start_tls(certs.client_context(), direct=True)


@pytest.mark.parametrize("direct", [False, True])
@pytest.mark.parametrize("split", [1, 7, 100])
def test_records_split_at_any_byte(pooler, certs, direct, split):
    p = pooler(**certs.accept())
    c = p.open()
    if not direct:
        c.send_split(SSL_REQUEST)
        assert c.recv_bytes(1) == b"S"
    c.sock = TlsPipe(c.sock, certs.client_context(alpn="postgresql"), split)
    c.login("app", "apppw", "p0")
    assert c.value("select 'x'") == "x"
    c.send(pq.query("select repeat('y', 100000)") * 2)
    for _ in range(2):
        assert c.recv_until().rows[0][0] == "y" * 100000


def test_cancel_request_over_tls(pooler, certs):
    """pooling.md 19: CancelRequest is allowed with or without TLS"""
    p = pooler(**certs.accept("require"))
    with p.connect(sslmode="require") as c:
        with cancelling(c), pytest.raises(psycopg.errors.QueryCanceled):
            c.execute("select pg_sleep(%s)", (TIMEOUT,))
    k = p.open().start_tls(certs.client_context())
    k.send(pq.untyped(pq.CANCEL_REQUEST, b"12345678"))
    assert k.at_eof()


# --- what is shown --------------------------------------------------------

def test_connection_is_described(pooler, certs):
    """authentication.md 9.5; logging.md 4"""
    p = pooler(**certs.accept())
    c = tls_client(p, certs.client_context())
    name = "TLSv1.3/TLS_AES_256_GCM_SHA384"
    assert p.show("clients", database="p0")[0]["tls"] == name
    assert p.show("sockets", database="p0", type="C")[0]["tls"] == name
    p.wait_log("login attempt: db=p0 user=app tls=%s replication=no" % name)
    c.close()
    context = certs.client_context()
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers("ECDHE-ECDSA-AES128-GCM-SHA256")
    context.set_ecdh_curve("prime256v1")
    tls_client(p, context)
    p.wait_log("user=app tls=TLSv1.2/ECDHE-ECDSA-AES128-GCM-SHA256/"
               "ECDH=prime256v1 replication")
    p.raw("app2", "p1")
    p.wait_log("user=app2 tls=no")


# --- versions and ciphers -------------------------------------------------

def version(**kw):
    """What a client gets, or None."""
    def get(p, certs):
        c = certs.client_context()
        c.minimum_version = kw.get("least", ssl.TLSVersion.TLSv1_2)
        c.maximum_version = kw.get("most", ssl.TLSVersion.TLSv1_3)
        if "ciphers" in kw:
            c.set_ciphers(kw["ciphers"])
        try:
            with tls_client(p, c) as conn:
                return conn.sock.version(), conn.sock.cipher()[0]
        except (ssl.SSLError, OSError):
            return None
    return get


only12 = version(most=ssl.TLSVersion.TLSv1_2)
only13 = version(least=ssl.TLSVersion.TLSv1_3)
only11 = version(least=ssl.TLSVersion.TLSv1_1,
                 most=ssl.TLSVersion.TLSv1_1, ciphers="ALL:@SECLEVEL=0")
CHACHA = "TLS_CHACHA20_POLY1305_SHA256"


@pytest.mark.setting("client_tls_protocols", "client_tls_ciphers",
                     "client_tls13_ciphers", "client_tls_ecdhcurve",
                     "client_tls_dheparams")
@pytest.mark.parametrize("settings,get,want", [
    ({}, only12, "TLSv1.2"),
    ({}, only13, "TLSv1.3"),
    ({}, only11, None),
    ({"protocols": "tlsv1.3"}, only12, None),
    ({"protocols": "TLSv1.2"}, only13, None),
    ({"protocols": "all:!tlsv1.3"}, only12, "TLSv1.2"),
    ({"protocols": "all:!tlsv1.3"}, only13, None),
    ({"protocols": "tlsv1.1,tlsv1.3", "ciphers": "ALL:@SECLEVEL=0"}, only11,
     "TLSv1.1"),
    ({"protocols": "tlsv1.1,tlsv1.3", "ciphers": "ALL:@SECLEVEL=0"}, only12,
     None),
    ({"ciphers": "ECDHE-ECDSA-AES128-SHA256"}, only12,
     "ECDHE-ECDSA-AES128-SHA256"),
    ({"ciphers": "fast"}, only12, "TLSv1.2"),
    ({"ecdhcurve": "none"}, only12, None),
    ({"ecdhcurve": "none"}, only13, "TLSv1.3"),
    ({"ecdhcurve": "P-384"}, only13, "TLSv1.3"),
    ({"dheparams": "none"}, only12, "TLSv1.2"),
    ({"dheparams": "legacy"}, only12, "TLSv1.2"),
    ({"13_ciphers": CHACHA}, only13, CHACHA),
])
def test_versions_and_ciphers(pooler, certs, settings, get, want):
    """client_tls_protocols, _ciphers, client_tls13_ciphers, _ecdhcurve,
    _dheparams"""
    p = pooler(**certs.accept(**{
        "client_tls" + ("" if k[0] == "1" else "_") + k: v
        for k, v in settings.items()}))
    got = get(p, certs)
    assert got is None if want is None else want in got


def offering(ciphers=None, curve=None):
    """Does a client of TLS 1.2 that offers these alone get in?"""
    def get(p, certs):
        c = certs.client_context()
        c.maximum_version = ssl.TLSVersion.TLSv1_2
        if ciphers:
            c.set_ciphers(ciphers)
        if curve:
            c.set_ecdh_curve(curve)
        try:
            with tls_client(p, c) as conn:
                return conn.sock.cipher()[0]
        except (ssl.SSLError, OSError):
            return None
    return get


DHE = "DHE-RSA-AES128-GCM-SHA256"


@pytest.mark.setting("client_tls_dheparams", "client_tls_ecdhcurve")
@pytest.mark.parametrize("settings,get,works", [
    ({}, offering(DHE), True),
    ({"client_tls_dheparams": "legacy"}, offering(DHE), True),
    ({"client_tls_dheparams": "none"}, offering(DHE), False),
    ({}, offering(curve="secp384r1"), True),
    ({}, offering(curve="prime256v1"), True),
    ({"client_tls_ecdhcurve": "secp384r1"}, offering(curve="secp384r1"),
     True),
    ({"client_tls_ecdhcurve": "secp384r1"}, offering(
        "ECDHE-RSA-AES128-GCM-SHA256", "prime256v1"), False),
    ({"client_tls_ecdhcurve": "none"}, offering(
        "ECDHE-RSA-AES128-GCM-SHA256", "prime256v1"), False)])
def test_keys_are_agreed_on_as_set(pooler, certs, settings, get, works):
    """settings.md 9: finite fields and curves, where the client offers one"""
    p = pooler(**certs.accept(client_tls_key_file=certs.key("server_rsa"),
                              client_tls_cert_file=certs.crt("server_rsa"),
                              **settings))
    assert (get(p, certs) is not None) == works


def test_renegotiation_ends_the_connection(pooler, certs):
    """authentication.md 9.3"""
    p = pooler(**certs.accept(client_tls_protocols="tlsv1.2"))
    proc = subprocess.Popen(
        ["openssl", "s_client", "-connect", "127.0.0.1:%d" % p.port,
         "-starttls", "postgres", "-tls1_2"], stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        wait_until(lambda: b"Verify return code" in proc.stdout.readline())
        proc.stdin.write(b"R\n")
        proc.stdin.flush()
        assert proc.wait(TIMEOUT) is not None
    finally:
        proc.kill()
        proc.communicate()
    assert pooler_is_fine(p)


def test_s_client_of_openssl(pooler, certs):
    p = pooler(**certs.accept())
    out = run(["openssl", "s_client", "-connect", "127.0.0.1:%d" % p.port,
               "-starttls", "postgres", "-verify_return_error", "-CAfile",
               certs.crt("ca")], stdin=subprocess.DEVNULL)
    assert "Verification: OK" in out.stdout, out.stdout + out.stderr
    assert "TLSv1.3" in out.stdout


# --- bulk -----------------------------------------------------------------

def test_records_fit_libpq(pooler, certs):
    """Supavisor #993: clients that work asynchronously with libpq hang at
    records of more than 8 kB"""
    p = pooler(**certs.accept())
    c = p.open()
    c.send(SSL_REQUEST)
    assert c.recv_bytes(1) == b"S"
    c.sock = TlsPipe(c.sock, certs.client_context())
    c.login("app", "apppw", "p0")
    assert len(c.value("select repeat('x', 3000000)")) == 3000000
    sizes = [n for kind, n in c.sock.records if kind == 23]
    assert max(sizes) <= 8192 + 256
    # and they are not wastefully short either
    assert len(sizes) < 3000000 / 8192 * 1.5


def test_asynchronous_libpq_gets_big_rows(pooler, certs):
    """the same, with the real one: psycopg waits for the socket only"""
    p = pooler(**certs.accept())
    with p.connect(sslmode="require") as c:
        for n in (8000, 16000, 100000, 5000000):
            row = c.execute("select repeat('x', %s), 1 from generate_series("
                            "1, 3)", (n,)).fetchall()
            assert [len(r[0]) for r in row] == [n] * 3


def test_slow_reader_gets_every_byte(pooler, certs):
    p = pooler(**certs.accept())
    c = p.open(rcvbuf=4096).start_tls(certs.client_context())
    c.login("app", "apppw", "p0")
    c.send(pq.query("select md5(g::text) || repeat('z', 500) from "
                    "generate_series(1, 20000) g"))
    wait_until(lambda: int(p.show("sockets", type="C", database="p0")[0]
                           ["send_avail"]) > 0, what="a full socket")
    rows = c.recv_until().check().rows
    want = [hashlib.md5(b"%d" % g).hexdigest() + "z" * 500
            for g in range(1, 20001)]
    assert [r[0] for r in rows] == want


def test_copy_both_ways(pooler, certs, pg):
    p = pooler(**certs.accept())
    data = os.urandom(3 << 20).hex()
    lines = [data[i:i + 4000] for i in range(0, len(data), 4000)]
    with p.connect(sslmode="require", autocommit=False) as c:
        c.execute("create temp table t (n serial, v text) on commit drop")
        with c.cursor().copy("copy t (v) from stdin") as copy:
            for line in lines:
                copy.write(line + "\n")
        with c.cursor().copy("copy (select v from t order by n) to stdout") \
                as copy:
            back = b"".join(bytes(part) for part in copy)
        c.rollback()
    assert hashlib.sha256(back).digest() == hashlib.sha256(
        ("\n".join(lines) + "\n").encode()).digest()


def test_both_directions_full_at_once(pooler, certs):
    """a client that sends on and on while it reads must not deadlock"""
    p = pooler(**certs.accept())
    c = p.open()
    c.send(SSL_REQUEST)
    assert c.recv_bytes(1) == b"S"
    c.sock = TlsPipe(c.sock, certs.client_context())
    c.login("app", "apppw", "p0")
    n, sql = 300, "select repeat('q', 20000), '%s'" % ("p" * 20000)
    one = c.query(sql)
    size = sum(5 + len(body) for _, body in one.messages)
    got = c.sock.send_while_reading(pq.query(sql) * n,
                                    lambda got: len(got) >= n * size)
    messages, rest = pq.split_messages(got)
    assert rest == b"" and messages == one.messages * n


# --- resumption -----------------------------------------------------------

def resumed(p, certs, cert=None, session=None, version_=None):
    """(resumed?, session) of one login."""
    context = resumed.context.setdefault(cert, certs.client_context(cert))
    context.maximum_version = version_ or ssl.TLSVersion.TLSv1_3
    c = p.open().start_tls(context, session=session)
    c.login("app", "apppw", "p0")
    c.value("select 1")
    out = c.sock.session_reused, c.sock.session
    c.close()
    return out


resumed.context = {}


@pytest.mark.parametrize("cert", [None, "client"])
@pytest.mark.parametrize("v", [ssl.TLSVersion.TLSv1_2,
                               ssl.TLSVersion.TLSv1_3])
def test_session_is_resumed(pooler, certs, cert, v):
    p = pooler(**certs.accept("verify-full" if cert else "require"))
    resumed.context.clear()
    first, session = resumed(p, certs, cert, version_=v)
    second, _ = resumed(p, certs, cert, session, v)
    assert (first, second) == (False, True)


def test_session_ends_with_its_configuration(pooler, certs):
    """what was verified by an authority that is no longer trusted"""
    p = pooler(**certs.accept("verify-ca"))
    resumed.context.clear()
    _, session = resumed(p, certs, "client")
    p.settings["client_tls_ca_file"] = certs.crt("other_ca")
    p.reload()
    with pytest.raises((pq.Closed, OSError)):
        resumed(p, certs, "client", session)


def test_tickets_get_rare_while_nobody_uses_them(pooler, certs):
    p = pooler(**certs.accept("require"))
    resumed.context.clear()
    kept = [resumed(p, certs)[1] for _ in range(48)]
    given = [s is not None and s.has_ticket for s in kept]
    assert all(given[:32]) and 1 <= sum(given[32:]) <= 2
    # one that is used shows that they are worth it
    assert resumed(p, certs, session=kept[0])[0]
    assert all(resumed(p, certs)[1].has_ticket for _ in range(4))


# --- the chain ------------------------------------------------------------

@pytest.mark.parametrize("whole", [False, True])
def test_intermediate_certificate_is_sent(pooler, certs, whole):
    """from the certificate file, or else found among the authorities"""
    if not os.path.exists(certs.crt("below")):
        certs.make("between", "/CN=test between", is_ca=True)
        certs.make("below", "/CN=localhost", "DNS:localhost,IP:127.0.0.1",
                   ca="between")
    paths = certs.crt("both"), certs.crt("chain")
    for path, names in zip(paths, (("ca", "between"), ("below", "between"))):
        with open(path, "w") as f:
            for name in names:
                with open(certs.crt(name)) as part:
                    f.write(part.read())
        give(path)
    p = pooler(**certs.accept("require", cert="below",
                              ca="ca" if whole else "both"))
    if whole:
        p.settings["client_tls_cert_file"] = certs.crt("chain")
        p.reload()
    c = p.open().start_tls(certs.client_context())
    c.login("app", "apppw", "p0")
    assert c.value("select 1") == "1"
    c.close()


# --- configuration --------------------------------------------------------

BAD = [
    ({"client_tls_key_file": None}, "To allow TLS connections from clients, "
     "client_tls_key_file and client_tls_cert_file must be set."),
    ({"client_tls_cert_file": "/nowhere"}, "failed to load certificate file "
     "\"/nowhere\": No such file or directory"),
    ({"client_tls_key_file": "{other}"}, "key values mismatch"),
    ({"client_tls_ca_file": "/nowhere"}, "failed to load CA file"),
    ({"client_tls_protocols": "tlsv9"}, "invalid client_tls_protocols: tlsv9"),
    ({"client_tls_ciphers": "bogus"}, "invalid client_tls_ciphers: bogus"),
    ({"client_tls13_ciphers": "bogus"}, "failed to set the TLSv1.3 cipher "
     "suites: client_tls13_ciphers = bogus"),
    ({"client_tls_dheparams": "bogus"}, "invalid client_tls_dheparams: bogus"),
    ({"client_tls_ecdhcurve": "bogus"}, "invalid client_tls_ecdhecurve: bogus"),
    ({"client_tls_groups": "P-256:x"}, "invalid client_tls_groups: P-256:x"),
    ({"client_tls_sslmode": "verify-full", "client_tls_ca_file": None},
     "client_tls_sslmode requires client_tls_ca_file"),
    ({"auth_type": "cert"},
     "auth_type=cert requires client_tls_sslmode=SSLMODE_VERIFY_FULL"),
    ({"server_tls_protocols": "x"}, "invalid server_tls_protocols: x"),
    ({"server_tls_sslmode": "verify-ca", "server_tls_ca_file": "/nowhere"},
     "failed to load CA file"),
    ({"server_tls_negotiation": "direct"}, "server_tls_negotiation=direct "
     "requires server_tls_sslmode=require or stricter"),
]


@pytest.mark.parametrize("change,text", BAD, ids=lambda v: str(v)[:40])
def test_bad_configuration_is_fatal_at_the_start(pooler, certs, change, text):
    """settings.md 9; --check finds it too"""
    p = pooler(start=False, **certs.accept())
    p.settings.update({k: v and v.format(other=certs.key("wrong"))
                       for k, v in change.items()})
    p.write()
    p.launch()
    assert p.wait_exit() == 1
    p.expect_exit = 1
    assert text in p.log and "TLS setup failed" in p.log
    out = subprocess.run([binary(), "--check", p.ini], env=process_env(),
                         stdout=subprocess.PIPE, text=True)
    assert out.returncode == 1 and text in out.stdout


def test_key_with_a_passphrase_is_refused(pooler, certs, tmp_path):
    """nobody is there to type it in"""
    p = pooler(start=False, **certs.accept())
    key = p.put("locked.key", subprocess.run(
        ["openssl", "ec", "-in", certs.key("server"), "-aes128", "-passout",
         "pass:secret"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        text=True, check=True).stdout)
    p.settings["client_tls_key_file"] = key
    p.write()
    p.launch()
    assert p.wait_exit() == 1
    p.expect_exit = 1
    assert "failed to load key file" in p.log


# --- reload ---------------------------------------------------------------

def served(p, certs):
    """The serial number of the certificate that new clients see."""
    with p.open().start_tls(certs.client_context()) as c:
        return c.sock.getpeercert()["serialNumber"]


def own_files(p, certs):
    """Certificate and key in files of the pooler's own."""
    p.settings.update({"client_tls_cert_file": os.path.join(p.dir, "crt"),
                       "client_tls_key_file": os.path.join(p.dir, "key")})
    copy_files(p, certs, "server")


def copy_files(p, certs, name):
    for what, path in (("crt", certs.crt(name)), ("key", certs.key(name))):
        with open(path) as f:
            p.put(what, f.read())


def test_certificates_are_read_again_under_load(pooler, certs, pg):
    """authentication.md 9.4: no connection is lost"""
    certs.make("next", "/CN=localhost", "DNS:localhost")
    p = pooler(start=False, **certs.accept("prefer"))
    own_files(p, certs)
    p.start()
    stop, errors, counts = threading.Event(), [], [0] * 4

    def work(i):
        try:
            with p.connect(sslmode="require") as c:
                while not stop.is_set() or counts[i] < 20:
                    c.execute("select repeat('x', 20000)").fetchone()
                    counts[i] += 1
        except Exception as e:  # whatever it is, it is wrong
            errors.append(e)
    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    seen = []
    for i in range(6):
        copy_files(p, certs, ("next", "server")[i % 2])
        p.admin("reload")
        seen.append(served(p, certs))
    stop.set()
    for t in threads:
        t.join(TIMEOUT)
    assert errors == []
    assert seen[0] != seen[1] and seen == seen[:2] * 3


@pytest.mark.parametrize("how", ["console", "SIGHUP"])
def test_broken_certificate_keeps_the_old_one(pooler, certs, how):
    """config-files.md 13: RELOAD fails, nothing of it is in force"""
    p = pooler(start=False, **certs.accept("prefer"))
    own_files(p, certs)
    p.start()
    before = served(p, certs)
    p.put("crt", "no certificate\n")
    p.settings["max_client_conn"] = 77
    p.write()
    if how == "SIGHUP":
        p.sighup()
    else:
        with pytest.raises(pq.PgError) as e:
            p.admin("reload")
        assert (e.value.code, e.value.message) == (
            "F0000", "RELOAD failed, see logs for additional details")
    p.wait_log("ERROR TLS configuration could not be reloaded, keeping old "
               "configuration")
    p.wait_log("ERROR TLS setup failed: failed to load certificate file")
    assert served(p, certs) == before
    assert p.show("config", key="max_client_conn")[0]["value"] == "2000"
    copy_files(p, certs, "server_rsa")
    p.admin("reload")
    assert served(p, certs) != before


def test_mode_changes_for_new_clients_only(pooler, certs):
    p = pooler(**certs.accept("prefer"))
    old = p.raw()
    p.settings["client_tls_sslmode"] = "require"
    p.reload()
    assert old.value("select 1") == "1"
    assert refused(p.open(), user="app", database="p0") == "SSL required"
    p.settings["client_tls_sslmode"] = "disable"
    p.reload()
    assert p.raw().value("select 1") == "1"


# --- what TLS itself has to say -------------------------------------------

class KeyUpdater:
    """Asks for new keys again and again, and never reads an answer."""

    def __init__(self, c):
        c.send(SSL_REQUEST)
        assert c.recv_bytes(1) == b"S"
        # OpenSSL waits itself, but not for ever
        c.sock.settimeout(None)
        c.sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO,
                          struct.pack("ll", 10, 0))
        self.lib = ctypes.CDLL("libssl.so.3")
        self.context = self._get("SSL_CTX_new", self._get(
            "TLS_client_method"))
        self.ssl = self._get("SSL_new", self.context)
        self.lib.SSL_set_fd(self.ssl, c.sock.fileno())
        assert self.lib.SSL_connect(self.ssl) == 1

    def _get(self, name, *args):
        fn = getattr(self.lib, name)
        fn.restype = ctypes.c_void_p
        return ctypes.c_void_p(fn(*args))

    def ask(self):
        """Returns False when nobody listens any more."""
        assert self.lib.SSL_key_update(self.ssl, 1) == 1
        return self.lib.SSL_do_handshake(self.ssl) == 1

    def close(self):
        self.lib.SSL_free(self.ssl)
        self.lib.SSL_CTX_free(self.context)


def test_flood_of_key_updates_is_not_answered_without_end(pooler, certs):
    """each request has an answer, which who does not read leaves to us; no
    login is needed for that"""
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    p = pooler(**certs.accept("require"), tcp_socket_buffer=8192)
    c = p.open(rcvbuf=4096)
    peer = KeyUpdater(c)
    try:
        assert any(not peer.ask() for _ in range(200000))
    finally:
        peer.close()
    p.wait_log("closing because: client unexpected eof")
    with tls_client(p, certs.client_context(None)) as other:
        assert other.value("select 1") == "1"
