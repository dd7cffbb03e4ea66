# test_counters.py - SHOW COUNTERS: errors, ends, refusals, logins.
# SPDX-License-Identifier: ISC
import pytest

import pq
from harness import REFERENCE, wait_until
from test_http import get, metrics, value, web  # noqa: F401
from test_tls_server import conn

pytestmark = pytest.mark.skipif(REFERENCE, reason="has none")


def counters(p):
    """{(name, label): value} of those that are not 0"""
    with p.console() as k:
        return {(r["name"], r["label"]): int(r["value"])
                for r in k.query("show counters").dicts if r["value"] != "0"}


def test_each_query_of_a_pipeline_is_counted(pooler):
    """and each transaction, whether its answers come together or not"""
    p = pooler()
    c = p.raw()
    c.query("select 1")

    def totals():
        row = next(r for r in p.show("stats_totals") if r["database"] == "p0")
        return int(row["query_count"]), int(row["xact_count"])
    before = totals()
    one = pq.parse("select 1") + pq.bind() + pq.execute() + pq.sync()
    c.send(one * 6)
    for _ in range(6):
        assert c.recv_until().check().rows == [["1"]]
    c.send(pq.query("begin"), one * 2, pq.query("commit"),
           pq.query("select 'x'::int"), one)
    for _ in range(6):
        c.recv_until()
    assert [now - was for now, was in zip(totals(), before)] == [12, 9]


def refused(p, user, password, database="p0"):
    c = p.open()
    with pytest.raises(pq.PgError):
        c.login(user, password, database)
    c.close(polite=False)


def test_what_happens_is_counted_where_it_belongs(web, tls_pg):  # noqa: F811
    p = web({"p0": "", "dead": "host=127.0.0.1 port=1 user=app min_pool_size=1",
             "tls": conn(tls_pg, more="dbname=p0")},
            auth_type="scram-sha-256", max_user_client_connections=1)
    with p.raw() as c:
        c.try_query("select nothing")
        c.try_query("select 1/0")
        c.try_query("select 2/0")
        refused(p, "app", "apppw")          # one at a time
        p.admin("set query_timeout = '0.2'")
        c.send(pq.query("select pg_sleep(600)"))
        assert c.recv_all().errors[-1].message == "query timeout"
    p.admin("set query_timeout = 0")
    refused(p, "app", "wrong")
    wait_until(lambda: counters(p).get(("server_logins", "result=failed")))
    with p.raw(database="tls") as c:
        c.query("select 1")
    seen = counters(p)
    want = {
        ("errors", "source=server, sqlstate_class=42"): 1,
        ("errors", "source=server, sqlstate_class=22"): 2,
        ("disconnects", "side=client, reason=query timeout"): 1,
        ("disconnects", "side=server, reason=query timeout"): 1,
        ("limits_hit", "limit=max_user_client_connections"): 1,
        ("tls_handshakes", "side=server, result=ok"): 1,
        ("client_logins", "method=scram-sha-256, result=failed"): 2,
        ("server_logins", "result=ok"): 2,
    }
    assert {k: seen.get(k) for k in want} == want
    assert seen["client_logins", "method=scram-sha-256, result=ok"] >= 3
    told = metrics(p)
    assert value(told, "pgsluice_errors_total", source="server",
                 sqlstate_class="22") == 2
    assert value(told, "pgsluice_limits_hit_total",
                 limit="max_client_conn") == 0
    assert value(told, "pgsluice_disconnects_total", side="server",
                 reason="query timeout") == 1
    assert "# TYPE pgsluice_client_logins_total counter" in \
        get(p, "/metrics").body
