# test_http.py - what is seen of a pooler by HTTP: its health, its numbers.
# SPDX-License-Identifier: ISC
import http.client
import json
import os
import socket

import pytest

import pq
from harness import REFERENCE, free_port, wait_until
from test_takeover import take_over

pytestmark = pytest.mark.skipif(REFERENCE, reason="has none")


class Page:
    """An answer."""

    def __init__(self, r):
        self.status, self.headers = r.status, r.headers
        self.body = r.read().decode()

    @property
    def json(self):
        return json.loads(self.body)


@pytest.fixture
def web(pooler):
    """Starts a pooler that answers; .http is its port."""
    def make(*args, **kw):
        port = free_port()
        p = pooler(*args, **{"http_listen_port": port, **kw})
        p.http = port
        return p
    return make


def get(p, path, method="GET", **headers):
    c = http.client.HTTPConnection("127.0.0.1", p.http, timeout=60)
    try:
        c.request(method, path, headers={
            k.replace("_", "-"): v for k, v in headers.items()})
        return Page(c.getresponse())
    finally:
        c.close()


def connect(p):
    return socket.create_connection(("127.0.0.1", p.http), timeout=60)


def say(p, data):
    """All that is answered to these bytes until the end."""
    with connect(p) as s:
        s.sendall(data)
        out = b""
        while chunk := s.recv(65536):
            out += chunk
        return out


def reasons(p, path="/readyz"):
    page = get(p, path)
    assert page.status == (503 if page.json["reasons"] else 200)
    assert page.json["ready"] == (page.status == 200)
    return [(r["reason"], r.get("database")) for r in page.json["reasons"]]


# --- health ---------------------------------------------------------------

@pytest.mark.setting("http_listen_port", "http_listen_addr")
def test_nothing_listens_unless_a_port_is_set(pooler, web):
    p = pooler()
    assert "HTTP" not in p.log
    q = web(http_listen_addr="127.0.0.1, ::1")
    assert get(q, "/healthz").json == {"alive": True}
    with socket.create_connection(("::1", q.http)):
        pass
    assert get(q, "/nothing").status == 404


def test_ready_unless_told_to_pause(web):
    p = web()
    assert reasons(p) == []
    p.admin("pause")
    assert reasons(p) == [("paused", None)]
    p.admin("resume")
    p.admin("pause p1")
    p.admin("disable p0")
    assert sorted(reasons(p)) == [("disabled", "p0"), ("paused", "p1")]
    assert reasons(p, "/readyz?database=p1") == [("paused", "p1")]
    p.admin("enable p0")
    assert reasons(p, "/readyz?database=p0") == []
    assert get(p, "/readyz?database=other").status == 404
    assert get(p, "/readyz?other=p0").status == 400
    assert get(p, "/healthz").status == 200


def test_not_ready_while_suspended_or_shutting_down(web):
    p = web()
    k = p.raw("admin", "pgbouncer")
    k.query("suspend")
    assert reasons(p) == [("suspended", None)]
    k.query("resume")
    assert reasons(p) == []
    c = p.raw()
    k.query("shutdown wait_for_clients")
    assert reasons(p) == [("shutting down", None)]
    c.close()
    k.close()
    assert p.wait_exit() == 0


def test_not_ready_where_no_server_can_be_had(web):
    dead = free_port()
    p = web({"p0": "", "a.b": "host=127.0.0.1 port=%d" % dead})
    c = p.open()
    c.send(pq.startup({"user": "app", "database": "a.b"}))
    wait_until(lambda: reasons(p) == [("no server", "a.b")],
               what="the failure")
    why = get(p, "/readyz?database=a%2Eb").json["reasons"][0]
    assert "connect" in why["detail"], why
    assert reasons(p, "/readyz?database=p0") == []


# --- strangers ------------------------------------------------------------

@pytest.mark.parametrize("head, status", [
    (b"POST / HTTP/1.1\r\n\r\n", 405),
    (b"GET / HTTP/3.0\r\n\r\n", 505),
    (b"GET / HTTP/1.1\r\nContent-Length: 9\r\n\r\n", 413),
    (b"\x16\x03\x01\r\n\r\n", 400),
    (b"GET /" + b"x" * 9000, 431)])
def test_what_is_no_request_is_refused(web, head, status):
    p = web()
    answer = say(p, head)
    assert answer.startswith(b"HTTP/1.1 %d " % status), answer
    assert b"Connection: close" in answer


def test_one_connection_serves_many_requests(web):
    p = web()
    one = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
    last = b"HEAD /healthz HTTP/1.1\r\nConnection: close\r\n\r\n"
    answer = say(p, one * 20 + last)
    assert answer.count(b"HTTP/1.1 200 OK") == 21
    assert answer.count(b'{"alive": true}') == 20


def test_host_is_not_believed(web):
    p = web()
    answer = say(p, b"GET /healthz HTTP/1.1\r\nHost: evil.example\r\n"
                 b"Connection: close\r\n\r\n")
    assert b"200 OK" in answer and b"evil" not in answer


def test_those_who_say_nothing_make_room(web):
    p = web()
    idle = [connect(p) for _ in range(200)]
    assert get(p, "/healthz").status == 200
    # the first of them had to go
    assert idle[0].recv(1) == b""
    assert len(os.listdir("/proc/%d/fd" % p.proc.pid)) < 150
    with p.raw() as c:
        assert c.value("select 1") == "1"
    for s in idle:
        s.close()


def test_port_of_another_does_not_keep_us_from_working(web):
    with socket.create_server(("127.0.0.1", free_port())) as other:
        p = web(http_listen_port=other.getsockname()[1])
        p.wait_log("cannot listen on 127.0.0.1:.*trying again")
        with p.raw() as c:
            assert c.value("select 1") == "1"
        p.http = other.getsockname()[1]
    wait_until(lambda: "for HTTP" in p.log, what="the port")
    assert get(p, "/healthz").status == 200


# --- reload, restart ------------------------------------------------------

def test_reload_moves_the_port(web):
    p = web()
    before, p.http = p.http, free_port()
    p.settings["http_listen_port"] = p.http
    p.reload()
    assert get(p, "/healthz").status == 200
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", before))
    p.admin("set http_listen_port = 0")
    with pytest.raises(ConnectionRefusedError):
        connect(p)


def test_successor_takes_the_port(pooler, web):
    p = web()
    assert get(p, "/healthz").status == 200
    q = take_over(pooler, p)
    q.http = p.http
    assert get(q, "/readyz").json["ready"]
