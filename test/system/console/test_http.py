# test_http.py - what is seen of a pooler by HTTP: its health, its numbers.
# SPDX-License-Identifier: ISC
import contextlib
import http.client
import json
import os
import re
import shutil
import socket
import ssl
import sys

import pytest

import pq
from harness import HERE, REFERENCE, free_port, run, wait_until
from test_takeover import take_over

sys.path.append(os.path.join(os.path.dirname(HERE), "sim"))
import fakepg  # noqa: E402

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


def connect(p, source="127.0.0.1"):
    return socket.create_connection(("127.0.0.1", p.http), timeout=60,
                                    source_address=(source, 0))


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


def test_star_is_all_addresses(web):
    """As in listen_addr; etc/kubernetes has it"""
    p = web(http_listen_addr="*")
    for addr in ("127.0.0.1", "127.0.0.9", "::1"):
        with socket.create_connection((addr, p.http)):
            pass
    assert get(p, "/readyz").status == 200
    assert "is not an address" not in p.log


def test_where_clients_connect_to_is_refused(web):
    """http.md: by SET and RELOAD, as at the start"""
    p = web()
    k = p.console()
    text = "http_listen_port %d at 127.0.0.1 is where clients" % p.port
    assert k.try_query("set http_listen_port = %d" % p.port).errors
    p.wait_log(text)
    p.settings["http_listen_port"] = p.port
    p.write()
    assert text in str(k.try_query("reload").errors[0].fields)
    assert get(p, "/healthz").status == 200


def is_ready(p, query=""):
    return {200: True, 503: False}[get(p, "/readyz" + query).status]


def test_paused_pooler_is_ready_and_tells_of_it(web):
    """http.md 3: clients may come and wait; ?database= and ?strict=1 count it"""
    p = web()
    assert reasons(p) == []
    assert is_ready(p, "?strict=1")
    p.admin("pause")
    assert reasons(p) == [("paused", None)]
    assert is_ready(p) and is_ready(p, "?strict=0")
    assert not is_ready(p, "?strict=1")
    assert not is_ready(p, "?database=p0")
    p.admin("resume")
    p.admin("pause p1")
    p.admin("disable p0")
    assert sorted(reasons(p)) == [("disabled", "p0"), ("paused", "p1")]
    assert is_ready(p) and not is_ready(p, "?strict=1")
    assert reasons(p, "/readyz?database=p1") == [("paused", "p1")]
    p.admin("enable p0")
    assert reasons(p, "/readyz?database=p0&strict=1") == []
    assert is_ready(p, "?database=p0") and not is_ready(p, "?database=p1")
    assert get(p, "/readyz?database=other").status == 404
    for query in "other=p0", "strict=yes":
        assert get(p, "/readyz?" + query).status == 400
    assert get(p, "/healthz").status == 200


def test_not_ready_while_suspended_or_shutting_down(web):
    p = web()
    k = p.raw("admin", "pgbouncer")
    k.query("suspend")
    assert reasons(p) == [("suspended", None)]
    assert not is_ready(p)
    k.query("resume")
    assert reasons(p) == []
    c = p.raw()
    k.query("shutdown wait_for_clients")
    assert reasons(p) == [("shutting down", None)]
    assert not is_ready(p)
    c.close()
    k.close()
    assert p.wait_exit() == 0


def test_ready_where_no_server_of_a_database_can_be_had(web):
    dead = free_port()
    p = web({"p0": "", "a.b": "host=127.0.0.1 port=%d" % dead})
    c = p.open()
    c.send(pq.startup({"user": "app", "database": "a.b"}))
    wait_until(lambda: reasons(p) == [("no server", "a.b")],
               what="the failure")
    why = get(p, "/readyz?database=a%2Eb").json["reasons"][0]
    assert "connect" in why["detail"], why
    assert reasons(p, "/readyz?database=p0") == []
    assert is_ready(p) and is_ready(p, "?database=p0")
    assert not is_ready(p, "?database=a.b") and not is_ready(p, "?strict=1")


@pytest.mark.parametrize("query", ["", "?strict=1", "?database=p0"])
def test_balancer_sends_clients_again_after_an_outage(web, query):
    """http.md 3: PostgreSQL is stopped and started; nobody is sent meanwhile"""
    f = fakepg.FakePg()
    p = web({"p0": f.conn}, server_login_retry=0.1)

    def balanced():
        return p.raw() if is_ready(p, query) else None
    c = balanced()
    c.query("select 1")
    f.close()
    p.wait_pool(sv_idle=0)
    c.send(pq.query("select 2"))
    p.wait_log("closing because: connect failed")
    c.close()
    assert is_ready(p, query) == (query == "")
    pool = dict(database="p0", user="app")
    assert value(metrics(p), "pgsluice_pool_failing_seconds", **pool) > 0
    f = fakepg.FakePg(port=f.port)
    try:
        wait_until(lambda: is_ready(p, "?strict=1"), what="the recovery")
        assert p.pool()["cl_active"] == 0
        assert value(metrics(p), "pgsluice_pool_failing_seconds", **pool) == 0
        assert balanced().value("select 3") == "select 3"
    finally:
        f.close()


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


def test_who_has_nothing_more_to_ask_gets_the_answer(web):
    """RFC 9112 9.6: it has shut its side, and the connection ends"""
    p = web()
    with connect(p) as s:
        s.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
        s.shutdown(socket.SHUT_WR)
        s.settimeout(60)
        got = b"".join(iter(lambda: s.recv(65536), b""))
    assert got.endswith(b"\r\n0\r\n\r\n")


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


def test_those_of_one_address_keep_no_others_out(web):
    p = web()
    with socket.create_connection(("127.0.0.1", p.http), timeout=60,
                                  source_address=("127.0.0.2", 0)) as c:
        idle = [connect(p) for _ in range(100)]
        assert idle[83].recv(1) == b""
        c.sendall(b"GET /healthz HTTP/1.1\r\n\r\n")
        assert c.recv(12) == b"HTTP/1.1 200"
        for s in idle:
            s.close()


def is_alive(p):
    try:
        return get(p, "/healthz").status == 200
    except (OSError, http.client.HTTPException):
        return False


def test_those_who_do_not_read_their_answers_make_room(web):
    """all that one may have; who has stood still for a second goes"""
    p = web()
    deaf = [connect(p) for _ in range(16)]
    for s in deaf:
        s.setblocking(False)
        try:
            while True:
                s.send(b"GET /nothing HTTP/1.1\r\n\r\n" * 500)
        except BlockingIOError:
            pass
    wait_until(lambda: is_alive(p), what="an answer")
    for s in deaf:
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


# --- metrics --------------------------------------------------------------

OPEN = "application/openmetrics-text; version=1.0.0"
SAMPLE = re.compile(r'^([a-z_]+)(?:\{(.*)\})? (\S+)$')
LABEL = re.compile(r'([a-z_]+)="((?:[^"\\]|\\.)*)"(?:,|$)')


def metrics(p, **headers):
    """{(name, labels as sorted pairs): value}"""
    page = get(p, "/metrics", **headers)
    assert page.status == 200
    return parsed(page.body)


def parsed(body):
    seen = {}
    for line in body.splitlines():
        if line.startswith("#"):
            continue
        name, labels, value = SAMPLE.match(line).groups()
        key = name, tuple(sorted(LABEL.findall(labels or "")))
        assert key not in seen, key
        seen[key] = float(value)
    return seen


def value(seen, name, /, **labels):
    return seen[name, tuple(sorted(labels.items()))]


def test_numbers_are_those_of_the_console(web):
    p = web(default_pool_size=3)
    a, b = p.raw(), p.raw(database="p1")
    for _ in range(5):
        a.query("select 1")
    a.query("begin")
    a.query("set application_name = 'some \"one\"'")
    b.query("select 1")
    seen = metrics(p)
    k = p.console()
    for row in p.show("pools"):
        at = {"database": row["database"], "user": row["user"]}
        if row["database"] == "pgbouncer":
            continue
        for column, name in (
                ("cl_active", "client_active"),
                ("cl_waiting", "client_waiting"),
                ("sv_active", "server_active"),
                ("sv_idle", "server_idle"), ("sv_used", "server_used")):
            assert value(seen, "pgbouncer_pools_%s_connections" % name,
                         **at) == int(row[column]), (column, row)
        assert value(seen, "pgsluice_pool_servers", state="active",
                     **at) == int(row["sv_active"])
    for row in p.show("stats_totals"):
        if row["database"] == "pgbouncer":
            continue
        at = {"database": row["database"]}
        for column, name, scale in (
                ("query_count", "queries_pooled", 1),
                ("xact_count", "sql_transactions_pooled", 1),
                ("bytes_received", "received_bytes", 1),
                ("bytes_sent", "sent_bytes", 1),
                ("query_time", "queries_duration_seconds", 1e6),
                ("wait_time", "client_wait_seconds", 1e6)):
            for family in ("stats", "stats_totals"):
                assert round(scale * value(
                    seen, "pgbouncer_%s_%s_total" % (family, name),
                    **at)) == int(row[column]), (column, row)
    for row in p.show("databases"):
        at = {"name": row["name"], "host": row["host"] or "",
              "port": str(row["port"]), "database": row["database"],
              "force_user": row["force_user"] or "",
              "pool_mode": row["pool_mode"] or ""}
        for column, name in (("pool_size", "pool_size"),
                             ("reserve_pool_size", "reserve_pool"),
                             ("max_connections", "max_connections"),
                             ("paused", "paused")):
            assert value(seen, "pgbouncer_databases_" + name,
                         **at) == int(row[column]), (column, row)
    lists = {r["list"]: int(r["items"]) for r in p.show("lists")}
    for name in ("databases", "users"):
        assert value(seen, "pgbouncer_" + name) == lists[name]
    assert value(seen, "pgbouncer_up") == 1
    assert value(seen, "pgbouncer_version_info",
                 version=p.show("version")[0]["version"]) == 1
    assert value(seen, "pgsluice_setting", name="default_pool_size") == 3
    assert value(seen, "pgbouncer_client_connections", database="p0",
                 user="app", application_name='some \\"one\\"',
                 state="active") == 1
    del k


def test_waiting_clients_are_seen(web):
    p = web(default_pool_size=1)
    holder, waiter = p.raw(), p.raw()
    holder.query("begin")
    waiter.send(pq.query("select 1"))
    p.wait_pool(cl_waiting=1)
    at = {"database": "p0", "user": "app"}
    wait_until(lambda: value(metrics(
        p), "pgsluice_pool_longest_wait_seconds", **at) > 0.1, what="a wait")
    assert value(metrics(p), "pgsluice_pool_waiting_clients",
                 reason=p.pool()["wait_reason"], **at) == 1


@pytest.mark.setting("http_pgbouncer_names")
def test_names_of_the_exporter_can_be_left_out(web):
    names = {name for name, _ in metrics(web(http_pgbouncer_names=0))}
    assert "pgsluice_clients" in names
    assert not [n for n in names if n.startswith("pgbouncer")]


def test_accept_chooses_the_format(web):
    p = web()
    plain, open_ = get(p, "/metrics"), get(p, "/metrics", Accept=OPEN)
    assert plain.headers["Content-Type"].startswith("text/plain; version=0")
    assert open_.headers["Content-Type"].startswith(OPEN)
    assert open_.body.endswith("# EOF\n") and "# EOF" not in plain.body
    assert "# TYPE pgsluice_pool_queries counter" in open_.body
    assert "# TYPE pgsluice_pool_queries_total counter" in plain.body
    assert "# UNIT pgsluice_pool_query_seconds seconds" in open_.body
    assert {n for n, _ in parsed(plain.body)} == \
        {n for n, _ in parsed(open_.body)}
    assert get(p, "/metrics", "HEAD").body == ""
    old = say(p, b"GET /metrics HTTP/1.0\r\n\r\n")
    assert b"chunked" not in old and b"pgbouncer_up 1\n" in old


@pytest.mark.skipif(not shutil.which("promtool"), reason="no promtool")
def test_promtool_finds_nothing_to_say(web):
    p = web()
    p.raw().query("select 1")
    out = run(["promtool", "check", "metrics"],
              input=get(p, "/metrics").body)
    assert (out.returncode, out.stdout + out.stderr) == (0, "")


@pytest.mark.setting("http_max_series")
def test_cap_on_series_is_told(web):
    p = web(http_max_series=5)
    p.raw().query("select 1")
    seen = metrics(p)
    assert len([1 for _, labels in seen if labels]) == 5
    assert value(seen, "pgsluice_http_left_out_series") > 100
    assert value(seen, "pgbouncer_up") == 1
    p.wait_log("http_max_series: [0-9]+ series left out of a scrape")


@pytest.mark.parametrize("name", [b"\xff\xfe", b"x" * 5000, b"a\n\"\\"])
def test_odd_names_of_applications_spoil_nothing(web, name):
    p = web()
    c = p.open()
    c.send(pq.startup({"user": "app", "database": "p0",
                       "application_name": name}))
    c.recv_until()
    assert value(metrics(p), "pgbouncer_used_clients") == 1


@pytest.mark.skipif(not shutil.which("promtool"), reason="no promtool")
def test_databases_that_clients_name_spoil_nothing(web):
    """the entry "*": what a client asks for is a label of ours"""
    p = web({"*": "host=127.0.0.1 port=1"})
    names = [b'"} 1\nevil 1\n#', b"\xff\xfe", b"\xff\xfd", b"\\", b"\xe2\x80",
             b"\xe2\x80\xae", b"a\x01\x1b[2J", b"{}=,", b"x" * 60,
             b"y" * 500 + b"1", b"y" * 500 + b"2"]
    clients = [p.open() for _ in names]
    for c, name in zip(clients, names):
        c.send(pq.startup({"user": "app", "database": name}))

    def all_told(accept):
        """Each pool once, and nothing that is none."""
        seen = metrics(p, Accept=accept)
        assert ("evil", ()) not in seen
        told = [k for k in seen if k[0] == "pgsluice_pool_queries_total"]
        return len(told) == value(seen, "pgsluice_pools") > 8
    for accept in ("text/plain", OPEN):
        wait_until(lambda: all_told(accept), what="the pools")
    out = run(["promtool", "check", "metrics"],
              input=get(p, "/metrics").body)
    assert (out.returncode, out.stdout + out.stderr) == (0, "")
    del clients


def test_very_many_applications_are_told_together(web):
    p = web()
    many = [p.raw(application_name="app %d" % i) for i in range(48)]
    # their sum is nobody's own series
    many += [p.raw(application_name="<other>") for _ in range(2)]
    text = get(p, "/metrics").body
    names = [line.rpartition(" ")[0] for line in text.splitlines()
             if line.startswith("pgbouncer_client_connections{")]
    assert len(names) == len(set(names))
    seen = {k: v for k, v in metrics(p).items()
            if k[0] == "pgbouncer_client_connections"}
    assert len(seen) <= 25 and sum(seen.values()) == 50
    assert any(("application_name", "<other>") in k[1] for k in seen)
    del many


# --- who may know ---------------------------------------------------------

@pytest.mark.setting("http_auth_token_file")
def test_token_is_asked_for(web):
    p = web(start=False)
    p.settings["http_auth_token_file"] = p.put("token", "s3cret\n")
    p.start()
    for given in ({}, {"Authorization": "Bearer s3cre"},
                  {"Authorization": "Basic s3cret"},
                  {"Authorization": "Bearer s3cret2"}):
        page = get(p, "/metrics", **given)
        assert page.status == 401 and "s3cret" not in page.body
        assert page.headers["WWW-Authenticate"] == "Bearer"
    good = {"Authorization": "bearer s3cret"}
    assert get(p, "/metrics", **good).status == 200
    # health is for all, what there is, is not
    assert get(p, "/healthz").status == 200
    p.admin("pause p1")
    assert get(p, "/readyz").json == {"ready": True}
    assert get(p, "/readyz?strict=1").json == {"ready": False}
    assert get(p, "/readyz?database=p0").status == 401
    assert get(p, "/readyz", **good).json["reasons"][0]["database"] == "p1"
    assert "s3cret" not in p.log
    p.put("token", "other\n")
    p.reload()
    assert get(p, "/metrics", **good).status == 401
    assert get(p, "/metrics", Authorization="Bearer other").status == 200


def test_wrong_tokens_are_logged_and_summed_up(web):
    p = web(start=False, auth_failure_log_rate=2)
    p.settings["http_auth_token_file"] = p.put("token", "s3cret\n")
    p.start()
    assert get(p, "/metrics").status == 401
    for n in range(10):
        path = ("/metrics", "/api/state", "/readyz")[n % 3]
        get(p, path, Authorization="Bearer gu3ss")

    def told():
        return p.log.count("WARNING HTTP: wrong token from 127.0.0.1:") + sum(
            map(int, re.findall(r"WARNING (\d+) more logins were refused",
                                p.log)))
    wait_until(lambda: told() == 10)
    assert "gu3ss" not in p.log


def test_token_that_was_not_read_lets_nobody_in(web):
    p = web()
    assert get(p, "/metrics").status == 200
    p.admin("set http_auth_token_file = '%s'" % p.put("token", "x\n"))
    assert get(p, "/metrics", Authorization="Bearer x").status == 401
    p.settings["http_auth_token_file"] = os.path.join(p.dir, "none")
    p.write()
    with p.console() as k:
        refused = k.try_query("reload").errors[0]
    assert "RELOAD failed" in refused.message
    assert get(p, "/metrics").status == 401


@pytest.mark.setting("http_tls_cert_file", "http_tls_key_file")
def test_https(web, certs):
    p = web(http_tls_cert_file=certs.crt("server"),
            http_tls_key_file=certs.key("server"))
    with pytest.raises((http.client.HTTPException, OSError)):
        get(p, "/healthz")
    context = ssl.create_default_context(cafile=certs.crt("ca"))
    for _ in range(2):
        c = http.client.HTTPSConnection("127.0.0.1", p.http, timeout=60,
                                        context=context)
        c.request("GET", "/metrics")
        assert value(parsed(Page(c.getresponse()).body), "pgbouncer_up") == 1
        c.close()
    del p.settings["http_tls_cert_file"], p.settings["http_tls_key_file"]
    p.reload()
    assert get(p, "/healthz").status == 200


# --- scrapes that last ----------------------------------------------------

def test_scrape_of_many_pools_while_they_come_and_go(web):
    """Each is told once, in pieces; who is slow costs no memory."""
    names = ["d%d" % i for i in range(300)]
    dead = free_port()
    p = web({"p0": "", **{n: "host=127.0.0.1 port=%d" % dead
                          for n in names}}, http_max_series=0)
    clients = [p.open() for n in names]
    for c, name in zip(clients, names):
        c.send(pq.startup({"user": "app", "database": name}))
    wait_until(lambda: len(p.show("pools")) > 300, what="the pools")
    with connect(p) as slow:
        slow.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
        first = slow.recv(1)
        assert first
        for n in names[100:200]:
            del p.dbs[n]
        p.reload()
        assert len(parsed(get(p, "/metrics").body)) > 10000
        body = first
        while chunk := slow.recv(65536):
            body += chunk
    text = body.decode().split("\r\n\r\n", 1)[1]
    assert value(parsed(text), "pgsluice_http_left_out_series") == 0
    # a piece is what is made in a turn
    whole = say(p, b"GET /metrics HTTP/1.1\r\nConnection: close\r\n\r\n")
    sizes = [int(n, 16) for n in re.findall(
        rb"\r\n([0-9a-f]+)\r\n(?=[#p])", whole)]
    assert len(sizes) > 10 and max(sizes) <= 65536, sizes
    with connect(p) as gone:
        gone.sendall(b"GET /metrics HTTP/1.1\r\n\r\n" * 3)
        gone.recv(1)
    assert get(p, "/healthz").status == 200
    del clients


def test_very_many_scrapers_take_turns(web):
    """all are answered, and so are clients meanwhile"""
    names = ["d%d" % i for i in range(300)]
    p = web({"p0": "", **{n: "host=127.0.0.1 port=1" for n in names}})
    with p.raw() as c, contextlib.ExitStack() as stack:
        # of one address as many as it may have
        asked = [stack.enter_context(connect(p, "127.0.0.%d" % (i // 15 + 1)))
                 for i in range(60)]
        for s in asked:
            s.sendall(b"GET /metrics HTTP/1.1\r\nConnection: close\r\n\r\n")
        assert c.value("select 1") == "1"
        for s in asked:
            body = b"".join(iter(lambda: s.recv(65536), b""))
            assert body.endswith(b"\r\n0\r\n\r\n")
        assert c.value("select 1") == "1"
