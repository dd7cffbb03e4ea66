# test_proxy_protocol.py - clients behind a balancer that says who they are.
# SPDX-License-Identifier: ISC
import socket
import struct
import subprocess

import pytest

import pq
from harness import BIG, REFERENCE, binary, wait_until
from test_login import refused
from test_takeover import take_over

pytestmark = [
    pytest.mark.skipif(REFERENCE, reason="newer than that"),
    pytest.mark.setting("client_proxy_protocol", "proxy_trusted_nets"),
]

SOURCE = "192.0.2.7"
SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"


def v1(source=SOURCE, port=12345):
    return b"PROXY TCP4 %s 127.0.0.1 %d 6432\r\n" % (source.encode(), port)


def v2(source=SOURCE, port=12345, command=1, more=b""):
    family = socket.AF_INET6 if ":" in source else socket.AF_INET
    to = "::1" if ":" in source else "127.0.0.1"
    body = socket.inet_pton(family, source) + socket.inet_pton(family, to) \
        + struct.pack("!HH", port, 6432) + more
    return SIGNATURE + bytes((
        0x20 | command, 0x21 if ":" in source else 0x11)) \
        + struct.pack("!H", len(body)) + body


def behind(pooler, how="required", nets="127.0.0.1", **kw):
    return pooler(client_proxy_protocol=how, proxy_trusted_nets=nets, **kw)


def show(p, topic, **columns):
    """By the Unix socket, which takes no header."""
    with p.raw("admin", "pgbouncer", unix=True) as c:
        return [r for r in c.query("show " + topic).dicts
                if all(r[k] == v for k, v in columns.items())]


@pytest.mark.parametrize("header, address, port", [
    (v1(), SOURCE, "12345"),
    (v2(), SOURCE, "12345"),
    (v2("2001:db8::7", 7), "2001:db8::7", "7"),
    (v2("::ffff:192.0.2.7"), SOURCE, "12345"),
    (v2(more=b"\x03\x00\x04\0\0\0\0" + b"\x04\x04\x00" + b"x" * 1024),
     SOURCE, "12345"),
])
def test_client_is_where_the_balancer_says(pooler, header, address, port):
    p = behind(pooler)
    c = p.open()
    c.send(header)
    c.login("app", "apppw", "p0")
    assert c.value("select 1") == "1"
    row, = show(p, "clients", database="p0")
    assert (row["addr"], row["port"]) == (address, port)
    shown = "[%s]" % address if ":" in address else address
    p.wait_log(r"C-0x\S+ p0/app@%s:%s login attempt" % (
        shown.replace("[", r"\[").replace("]", r"\]"), port))


@pytest.mark.parametrize("header", [v1(), v2()])
@pytest.mark.parametrize("how", ["optional", "required"])
def test_header_may_come_byte_by_byte(pooler, header, how):
    p = behind(pooler, how)
    c = p.open()
    c.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for i in range(len(header)):
        c.send(header[i:i + 1])
        if i % 9 == 0:
            # it has been read
            assert show(p, "lists")
    assert c.login("app", "apppw", "p0").value("select 1") == "1"
    assert show(p, "clients", database="p0")[0]["addr"] == SOURCE


def test_rules_go_by_the_address_behind_the_balancer(pooler):
    p = behind(pooler, start=False, auth_type="hba")
    p.settings["auth_hba_file"] = p.put("hba.conf", """
local all all trust
host p0 app 192.0.2.0/24 trust
host p0 app2 127.0.0.1/32 trust
""")
    p.start()
    c = p.open()
    c.send(v2())
    assert c.login("app", None, "p0").value("select 1") == "1"
    for header, user in ((v2("198.51.100.1"), "app"), (v2(), "app2")):
        c = p.open()
        c.send(header)
        assert refused(c, user=user, database="p0") == "no authentication method is found"


def test_balancer_speaks_for_itself(pooler):
    """its health checks: LOCAL, UNKNOWN"""
    p = behind(pooler)
    for header in (v2(command=0), b"PROXY UNKNOWN\r\n",
                   SIGNATURE + b"\x21\x00\x00\x00"):
        c = p.open()
        c.send(header)
        assert c.login("app", "apppw", "p0").value("select 1") == "1"
        assert show(p, "clients", database="p0")[0]["addr"] == "127.0.0.1"
        c.close()
        wait_until(lambda: not show(p, "clients", database="p0"))


@pytest.mark.parametrize("begin", [
    b"PROXY TCP4 192.0.2.7 127.0.0.1 123456 1\r\n",
    b"PROXY TCP4 " + b"1" * 120,
    SIGNATURE + b"\x21\x11\x00\x04" + b"x" * 4,
    SIGNATURE + b"\x21\x11\xff\xff",
])
def test_broken_header_is_refused(pooler, begin):
    p = behind(pooler, "optional")
    c = p.open()
    c.send(begin)
    assert c.recv_all().errors[-1].message == "broken PROXY protocol header"
    assert p.raw().value("select 1") == "1"


def test_required_header_is_missed(pooler):
    p = behind(pooler)
    assert refused(p.open(), user="app", database="p0") == \
        "PROXY protocol header expected"
    # a Unix socket comes from nowhere else
    assert p.raw(unix=True).value("select 1") == "1"


def test_word_of_a_stranger_does_not_count(pooler):
    p = behind(pooler, nets="127.0.0.2, 10.0.0.0/8")
    c = p.open()
    assert c.recv_all().errors[-1].message == "not one of proxy_trusted_nets"
    c = p.open(source="127.0.0.2")
    c.send(v2())
    assert c.login("app", "apppw", "p0").value("select 1") == "1"
    assert show(p, "clients", database="p0")[0]["addr"] == SOURCE


@pytest.mark.parametrize("how, nets", [("optional", "127.0.0.2"),
                                       ("off", "127.0.0.1")])
@pytest.mark.parametrize("header", [v1(), v2()])
def test_header_is_no_start(pooler, how, nets, header):
    """and others connect as always"""
    p = behind(pooler, how, nets)
    c = p.open()
    c.send(header + pq.startup({"user": "app", "database": "p0"}))
    c.recv_all()
    p.wait_log("PROXY protocol header from an address that is not trusted")
    assert p.raw().value("select 1") == "1"
    assert show(p, "clients", database="p0")[0]["addr"] == "127.0.0.1"


def test_second_header_is_none(pooler):
    p = behind(pooler)
    c = p.open()
    c.send(v2() + v2("192.0.2.8"))
    c.recv_all()
    p.wait_log("@192.0.2.7:12345 closing because: PROXY protocol header from an "
        "address that is not trusted")


@pytest.mark.setting("max_unauthenticated_per_address")
def test_limits_of_addresses_are_about_clients(pooler):
    """not about the balancer, of which many may be waiting"""
    p = behind(pooler, auth_type="plain", max_unauthenticated_per_address=2)
    silent = [p.open() for _ in range(5)]
    for c in silent:
        c.send(v2()[:20])
    # they were read: nothing of one source is out of turn
    assert show(p, "lists")
    wanted = []
    for _ in range(2):
        wanted.append(p.open())
        wanted[-1].send(v2("192.0.2.8"))
        assert wanted[-1].login("app", wait=False).recv()[0] == "R"
    for c in silent:
        c.send(v2()[20:])
    wait_until(lambda: sum(c.readable() for c in silent) == 3)
    assert not any(c.readable() for c in wanted)


def test_address_survives_an_online_restart(pooler):
    p = behind(pooler)
    c = p.open()
    c.send(v2())
    c.login("app", "apppw", "p0")
    assert c.value("select 1") == "1"
    take_over(pooler, p)
    assert c.value("select 1") == "1"
    row, = show(p, "clients", database="p0")
    assert (row["addr"], row["port"]) == (SOURCE, "12345")


def test_cancel_comes_through_the_balancer(pooler, pg):
    p = behind(pooler)
    c = p.open()
    c.send(v2())
    c.login("app", "apppw", "p0")
    c.send(pq.query("select pg_sleep(60)"))
    wait_until(lambda: pg.backends(
        where="state = 'active' and strpos(query, 'pg_sleep(6') > 0"))
    other = p.open()
    other.send(v2() + pq.untyped(80877102, c.key))
    assert c.recv_until().errors[0].code == "57014"


def test_tls_comes_behind_the_header(pooler, certs):
    p = behind(pooler, **certs.accept("require"))
    context = certs.client_context(alpn="postgresql")
    for direct in (False, True):
        c = p.open()
        c.send(v2())
        c.start_tls(context, direct=direct)
        assert c.login("app", "apppw", "p0").value("select 1") == "1"
        c.close()


@pytest.mark.parametrize("how, nets, text", [
    ("required", "", "client_proxy_protocol needs proxy_trusted_nets"),
    ("optional", "10.0.0.0/33", '"10.0.0.0/33" is not an address or network'),
    ("sometimes", "10.0.0.0/8", "client_proxy_protocol"),
])
def test_bad_configuration_is_refused(pooler, how, nets, text):
    p = behind(pooler, how, nets, start=False)
    p.write()
    out = subprocess.run([binary(), "--check", p.ini], capture_output=True,
                         text=True, cwd=p.dir)
    assert out.returncode != 0
    assert text in out.stdout + out.stderr
