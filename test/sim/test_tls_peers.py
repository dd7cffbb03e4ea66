# test_tls_peers.py - servers and clients that get TLS wrong, or cannot do it.
# SPDX-License-Identifier: ISC
import random
import re
import socket
import ssl
import struct

import pytest

import pq
from fakepg import Gone, complete, error, ready
from harness import BIG, TIMEOUT, wait_until

REQUEST = pq.untyped(pq.SSL_REQUEST)


def fails(p, why, **kw):
    """Log in in vain; the server connection was closed because of that."""
    with pytest.raises(pq.PgError) as e:
        p.raw(**kw)
    p.wait_log("S-.* closing because: " + re.escape(why))
    return e.value.message


# --- servers --------------------------------------------------------------

@pytest.mark.parametrize("answer,text", [
    (b"S" + pq.msg("R", b"\0\0\0\0"),
     "received unencrypted data after SSL response"),
    (b"N" + pq.msg("R", b"\0\0\0\0"), "bad sslreq answer"),
    (b"X", "bad sslreq answer"),
    (error("no TLS", "08P01", "FATAL"), "bad sslreq answer"),
    (b"S" + b"\x15\x03\x01\x00\x02\x02\x28",
     "received unencrypted data after SSL response"),
])
def test_bad_answer(pooler, fakepg, answer, text):
    """CVE-2021-3935, CVE-2021-23222: pooling.md 19, server side"""
    f = fakepg(ssl_answer=answer)
    p = pooler({"p0": f.conn}, query_wait_timeout=1)
    fails(p, text)
    assert f.logins() == []


def test_text_before_tls_is_not_passed_on(pooler, fakepg):
    """resembles CVE-2024-10977: nobody has signed that error"""
    f = fakepg(ssl_answer=error("go to evil.example", "08P01", "FATAL"))
    p = pooler({"p0": f.conn}, query_wait_timeout=1)
    assert "evil" not in fails(p, "bad sslreq answer")
    assert "evil" not in p.log


def test_no_clear_text_after_a_failed_handshake(pooler, fakepg, certs):
    """pooling.md 19: no fallback"""
    f = fakepg(ssl_answer=b"S")  # and then it reads TLS as messages
    p = pooler({"p0": f.conn}, query_wait_timeout=1, server_login_retry=0.3,
               server_tls_sslmode="prefer", server_connect_timeout=1)
    fails(p, "")
    assert all(s.startup is None for s in f.sessions)


def test_server_that_hangs_up_in_the_handshake(pooler, fakepg):
    def hang(sess):
        raise Gone
    f = fakepg(ssl_answer=b"S")
    f.tls = type("Context", (), {"wrap_socket": lambda *_, **__: hang(0)})
    p = pooler({"p0": f.conn}, query_wait_timeout=1)
    fails(p, "server conn crashed?")


@pytest.mark.parametrize("cert,ok", [("server", True), ("by_cn", True),
                                     ("wrong", False)])
def test_name_of_the_server(pooler, fakepg, certs, cert, ok):
    """authentication.md 9.2: dNSName; if none matches, CN"""
    f = fakepg(tls=certs.server_context(cert))
    p = pooler({"p0": "host=localhost port=%d" % f.port},
               query_wait_timeout=TIMEOUT if ok else 1,
               **certs.connect("verify-full"))
    if ok:
        assert p.raw().value("select 1") == "select 1"
    else:
        fails(p, "TLS handshake failed")
        p.wait_log('name "localhost" not present in server certificate')
        assert f.logins() == []


@pytest.mark.parametrize("host,ok", [("127.0.0.1", True),
                                     ("127.0.0.2", False)])
def test_address_of_the_server(pooler, fakepg, certs, host, ok):
    """authentication.md 9.2: iPAddress"""
    f = fakepg(tls=certs.server_context(), host=host)
    p = pooler({"p0": "host=%s port=%d" % (host, f.port)},
               query_wait_timeout=TIMEOUT if ok else 1,
               **certs.connect("verify-full"))
    if ok:
        assert p.raw().value("select 1") == "select 1"
    else:
        fails(p, "TLS handshake failed")


def test_name_is_that_of_the_chosen_host(pooler, fakepg, certs):
    """PB#1303: of a list the wrong one was checked"""
    certs.make("two", "/CN=x", "IP:127.0.0.2")
    f = fakepg(tls=certs.server_context("two"), host="127.0.0.2")
    p = pooler({"p0": "host=127.0.0.1,127.0.0.2 port=%d" % f.port},
               server_login_retry=0.2, **certs.connect("verify-full"))
    assert p.raw().value("select 1") == "select 1"
    assert p.servers()[0]["addr"] == "127.0.0.2"


@pytest.mark.parametrize("host,name", [("localhost", "localhost"),
                                       ("127.0.0.1", None)])
@pytest.mark.parametrize("mode", ["prefer", "verify-full"])
def test_server_is_told_the_name(pooler, fakepg, certs, host, name, mode):
    """SNI: names only"""
    seen = []
    context = certs.server_context()
    context.sni_callback = lambda sock, got, ctx: seen.append(got)
    f = fakepg(tls=context)
    p = pooler({"p0": "host=%s port=%d" % (host, f.port)},
               **certs.connect(mode))
    p.raw().value("select 1")
    assert seen == [name]


@pytest.mark.setting("server_tls_negotiation")
def test_direct_tls(pooler, fakepg, certs):
    """server_tls_negotiation = direct: no SSLRequest, ALPN"""
    f = fakepg(tls=certs.server_context(alpn="postgresql"), direct=True)
    p = pooler({"p0": "host=localhost port=%d" % f.port},
               server_tls_negotiation="direct",
               **certs.connect("verify-full"))
    c = p.raw()
    assert c.value("select 1") == "select 1"
    sess = f.logins()[0]
    assert sess.ssl_requests == 0
    assert sess.sock.selected_alpn_protocol() == "postgresql"


def test_direct_tls_insists_on_the_protocol(pooler, fakepg, certs):
    """who does not answer ALPN may be any server"""
    f = fakepg(tls=certs.server_context(), direct=True)
    p = pooler({"p0": "host=localhost port=%d" % f.port},
               server_tls_negotiation="direct", query_wait_timeout=1,
               **certs.connect("verify-full"))
    fails(p, "TLS handshake failed")
    p.wait_log("no ALPN")


def test_cancel_goes_the_way_of_its_target(pooler, fakepg, certs):
    """never in clear what protects a connection by TLS; also when a server
    no longer offers it"""
    def handler(sess, kind, body):
        return kind == "Q" and b"wait" in body
    f = fakepg(tls=certs.server_context(), handler=handler)
    p = pooler({"p0": "host=localhost port=%d" % f.port},
               **certs.connect("verify-full"))
    c = p.raw()
    c.send(pq.query("wait"))
    wait_until(lambda: f.logins() and "wait" in f.logins()[0].queries())
    p.open().send(pq.untyped(pq.CANCEL_REQUEST, c.key))
    wait_until(lambda: f.cancels(), what="the cancel request")
    k = [s for s in f.sessions if s.cancel][0]
    assert isinstance(k.sock, ssl.SSLSocket) and k.cancel == f.logins()[0].key
    f.tls, f.ssl_answer = None, b"N"
    p.open().send(pq.untyped(pq.CANCEL_REQUEST, c.key))
    p.wait_log("closing because: server refused SSL")
    assert len(f.cancels()) == 1


def test_close_notify_is_sent(pooler, fakepg, certs):
    """an end that is no attack is told from one that is"""
    ends = []

    def handler(sess, kind, body):
        if kind == "Q" and b"bye" in body:
            sess.send(complete("BYE"), ready())
            sess.sock.settimeout(20)
            sess.read_msg()  # Terminate
            ends.append(sess.sock.recv(1))  # raises without close_notify
            return True
    f = fakepg(tls=certs.server_context(), handler=handler)
    p = pooler({"p0": "host=localhost port=%d" % f.port},
               **certs.connect("require"))
    p.raw().query("bye")
    p.admin("reconnect p0")
    wait_until(lambda: ends == [b""], what="close_notify")


@pytest.mark.parametrize("tls,mode,flag", [
    (True, "prefer", b"y"), (True, "disable", b"n"), (False, "prefer", b"n")])
def test_flag_towards_a_server_without_plus(pooler, fakepg, certs, tls, mode,
                                            flag):
    """RFC 5802 section 6: y says that we could, so that a server that does
    offer it notices who took the offer away; server_channel_binding"""
    f = fakepg(auth="scram", password="apppw",
               tls=certs.server_context() if tls else None)
    p = pooler({"p0": "host=localhost port=%d" % f.port},
               server_channel_binding=mode)
    assert p.raw().value("select 1") == "select 1"
    assert f.logins()[0].flag == flag


def test_plus_is_not_taken_without_tls(pooler, fakepg):
    f = fakepg(auth="scram", password="apppw",
               mechanisms=(b"SCRAM-SHA-256-PLUS", b"SCRAM-SHA-256"))
    p = pooler({"p0": f.conn})
    assert p.raw().value("select 1") == "select 1"
    assert f.logins()[0].mechanism == b"SCRAM-SHA-256"


@pytest.mark.parametrize("auth", ["trust", "password", "md5", "scram"])
def test_server_that_does_not_bind(pooler, fakepg, certs, auth):
    """server_channel_binding = require"""
    f = fakepg(auth=auth, password="apppw", tls=certs.server_context())
    p = pooler({"p0": "host=localhost port=%d" % f.port},
               server_channel_binding="require")
    with pytest.raises(pq.PgError, match="channel binding is required"):
        p.raw()


# --- clients --------------------------------------------------------------

def hello(context):
    """The bytes of a ClientHello."""
    into, out = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = context.wrap_bio(into, out, server_hostname="localhost")
    with pytest.raises(ssl.SSLWantReadError):
        tls.do_handshake()
    return out.read()


def mutations(data, rnd, n):
    for _ in range(n):
        kind, m = rnd.randrange(4), bytearray(data)
        if kind == 0:  # some bytes are others
            for _ in range(rnd.randrange(1, 8)):
                m[rnd.randrange(len(m))] = rnd.randrange(256)
        elif kind == 1:  # the end is missing
            del m[rnd.randrange(1, len(m)):]
        elif kind == 2:  # something is in between
            at = rnd.randrange(len(m))
            m[at:at] = rnd.randbytes(rnd.randrange(1, 300))
        else:  # nothing is right
            m = bytearray(rnd.randbytes(rnd.randrange(1, 3000)))
            m[0] = 0x16
        yield bytes(m)


def test_broken_hellos(pooler, fakepg, certs):
    """random and mutated bytes at the TLS port; the seed is fixed"""
    f = fakepg()
    p = pooler({"p0": f.conn}, client_login_timeout=5, **certs.accept())
    rnd = random.Random(7)
    good = hello(certs.client_context(alpn="postgresql"))
    for i, data in enumerate(mutations(good, rnd, 5000 if BIG else 300)):
        with socket.create_connection(("127.0.0.1", p.port)) as s:
            s.settimeout(20)
            direct = i % 2
            if not direct:
                s.sendall(REQUEST)
                assert s.recv(1) == b"S"
            s.sendall(data)
            s.shutdown(socket.SHUT_WR)
            try:
                while s.recv(65536):
                    pass
            except ConnectionResetError:
                pass
    with p.open().start_tls(certs.client_context()) as c:
        assert c.login("app", "apppw", "p0").value("select 1") == "select 1"
    wait_until(lambda: p.mem().get("tls_cache", 0) <= 1, what="no leak")


def test_broken_records_after_the_login(pooler, fakepg, certs):
    """a record that was touched ends the connection, and only that one"""
    f = fakepg()
    p = pooler({"p0": f.conn}, **certs.accept())
    rnd = random.Random(3)
    for _ in range(20):
        c = p.open().start_tls(certs.client_context())
        c.login("app", "apppw", "p0")
        raw = socket.socket(fileno=c.sock.detach())
        body = rnd.randbytes(rnd.randrange(17, 2000))
        raw.sendall(struct.pack("!BHH", 23, 0x303, len(body)) + body)
        raw.settimeout(20)
        try:
            while raw.recv(65536):
                pass
        except ConnectionResetError:
            pass
        raw.close()
    c = p.open().start_tls(certs.client_context())
    assert c.login("app", "apppw", "p0").value("select 1") == "select 1"


def test_half_open_handshakes_stop_nobody(pooler, fakepg, certs):
    """client_login_timeout bounds them"""
    n = 10000 if BIG else 300
    f = fakepg()
    p = pooler({"p0": f.conn}, client_login_timeout=4, max_client_conn=20000,
               **certs.accept())
    data = hello(certs.client_context())
    open_ = []
    for i in range(n):
        s = socket.create_connection(("127.0.0.1", p.port))
        # at the request, in the middle of the hello, after it
        s.sendall((REQUEST, data[:50], data)[i % 3])
        open_.append(s)
    c = p.open().start_tls(certs.client_context())
    assert c.login("app", "apppw", "p0").value("select 1") == "select 1"
    for s in open_:
        s.settimeout(60)
        try:
            while s.recv(65536):
                pass
        except ConnectionResetError:
            pass
        s.close()
    assert c.value("select 2") == "select 2"
    wait_until(lambda: p.mem()["tls_cache"] == 1, what="all to be freed")


def test_client_that_vanishes_at_any_step(pooler, fakepg, certs):
    """PB#796: leak at handshake failure"""
    f = fakepg()
    p = pooler({"p0": f.conn}, **certs.accept())
    data = hello(certs.client_context())
    for n in range(1, len(data), 13):
        with socket.create_connection(("127.0.0.1", p.port)) as s:
            s.sendall(data[:n])
    wait_until(lambda: p.mem()["tls_cache"] == 0, what="all to be freed")
