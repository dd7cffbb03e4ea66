# test_drain_host.py - DRAIN HOST: nobody connects there, those there go.
# SPDX-License-Identifier: ISC
import pytest

import pq
from harness import REFERENCE, wait_until

pytestmark = pytest.mark.skipif(REFERENCE, reason="not known there")


def test_the_only_host(pooler):
    """clients keep their connections and wait, RESUME HOST undoes it"""
    p = pooler(default_pool_size=2)
    a, b, con = p.raw(), p.raw(), p.console()
    a.query("begin")
    pid = a.value("select pg_backend_pid()")
    b.query("select 1")
    assert con.query("drain host 127.0.0.1").tags == ["DRAIN"]
    assert "DRAIN HOST '127.0.0.1' command issued" in p.log
    assert ["drained", "127.0.0.1"] in con.query("show state").rows
    p.wait_pool(sv_idle=0, sv_active=1)
    assert a.value("select pg_backend_pid()") == pid
    a.query("commit")
    p.wait_pool(sv_idle=0, sv_active=0)
    for c in (a, b):
        c.send(pq.query("select 7"))
    wait_until(lambda: p.pool()["wait_reason"] == "drained")
    assert p.pool()["cl_waiting"] == 2 and p.servers() == []
    assert con.query("resume host 127.0.0.1").tags == ["RESUME"]
    assert [c.recv_until().rows for c in (a, b)] == [[["7"]]] * 2
    res = con.try_query("resume host 127.0.0.1")
    assert res.errors[0].message == "host 127.0.0.1 is not being drained"


def test_one_of_two_hosts(pooler, pg):
    """the other one serves all; plain RESUME takes it back, too"""
    p = pooler({"p0": "host=127.0.0.1,%s port=%d" % (pg.dir, pg.port)},
               default_pool_size=4)
    cs = [p.raw() for _ in range(4)]

    def hosts():
        for c in cs:
            c.query("begin")
        got = {r["addr"] for r in p.servers()}
        for c in cs:
            c.query("commit")
        return got
    assert hosts() == {"127.0.0.1", "unix"}
    con = p.console()
    for host, left in (("127.0.0.1", "unix"), (pg.dir, "127.0.0.1")):
        con.query("drain host '%s'" % host)
        wait_until(lambda: {r["addr"] for r in p.servers()} <= {left})
        assert hosts() == {left}
        assert con.query("resume").tags == ["RESUME"]
    con.query("reconnect")
    assert hosts() == {"127.0.0.1", "unix"}
    assert con.try_query("resume").errors[0].message == \
        "pooler is not paused/suspended"


def test_login_waits_too(pooler):
    p = pooler(min_pool_size=1)
    con = p.console()
    con.query("drain host 127.0.0.1")
    c = p.open().login("app", database="p0", wait=False)
    wait_until(lambda: p.show("waits", wait_reason="drained"))
    assert p.servers() == []
    con.query("resume host 127.0.0.1")
    c.finish_login("app", None)
    assert c.value("select 1") == "1"
