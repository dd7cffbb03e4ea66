# test_welcome.py - what clients are told of a server that has changed.
# SPDX-License-Identifier: ISC
"""pooling.md 3: after a failover or an upgrade the server says other things,
and libpq's target_session_attrs, and drivers, go by what they are told."""
import pytest

import pq
from fakepg import PARAMS, complete, param, ready
from harness import REFERENCE, wait_until
from test_takeover import successor

pytestmark = pytest.mark.skipif(REFERENCE, reason="tells the same for ever")

STANDBY = dict(PARAMS, in_hot_standby="on",
               default_transaction_read_only="off")
PROMOTED = dict(STANDBY, in_hot_standby="off", server_version="17.2",
                default_transaction_read_only="on", TimeZone="Asia/Tokyo")
FIXED = ("in_hot_standby", "server_version")
DEFAULTS = ("default_transaction_read_only", "TimeZone")


def told(c, *names):
    return [c.params.get(n) for n in names or FIXED + DEFAULTS]


def of(params, *names):
    return [params[n] for n in names or FIXED + DEFAULTS]


@pytest.fixture(params=[{}, {"session_state": "keep"}, {"workers": 2}],
                ids=str)
def standby(request, pooler, fakepg):
    f = fakepg(params=STANDBY)
    p = pooler({"p0": f.conn}, server_login_retry=0.1, **request.param)
    return p, f


def ask(c, sql):
    """... and hear what is reported with the answer."""
    res = c.query(sql)
    for kind, body in res.messages:
        if kind == "S":
            name, value = body.split(b"\0")[:2]
            c.params[name.decode()] = value.decode()
    return res


def change(f):
    """Another server, at the same address."""
    f.params = dict(PROMOTED)
    for s in f.sessions:
        if not s.ended:
            s.sock.shutdown(2)


def test_next_server_is_waited_for_when_all_are_lost(standby):
    p, f = standby
    old = p.raw()
    old.query("select 1")
    change(f)
    p.wait_pool(sv_idle=0, sv_active=0)
    assert told(p.raw()) == of(PROMOTED)
    # an old client is told what it cannot have set
    ask(old, "select 1")
    assert told(old) == of(PROMOTED, *FIXED) + of(STANDBY, *DEFAULTS)


def test_old_welcome_does_while_no_server_is_there(pooler, fakepg):
    f = fakepg(params=STANDBY)
    p = pooler({"p0": f.conn}, server_login_retry=60)
    p.raw().query("select 1")
    f.close()
    p.wait_pool(sv_idle=0)
    c, d = p.raw(), p.raw()
    assert told(c) == told(d) == of(STANDBY)


def test_each_login_renews_it(pooler, fakepg):
    """... also while other servers stay"""
    f = fakepg(params=STANDBY)
    p = pooler({"p0": f.conn})
    a = p.raw()
    a.query("begin")
    f.params = dict(PROMOTED)
    p.raw().query("select 1")
    assert told(p.raw()) == of(PROMOTED)
    ask(a, "commit")
    assert told(a) == of(STANDBY)


@pytest.mark.parametrize("when", ["idle", "busy", "checked"])
def test_report_of_a_server_renews_it(pooler, fakepg, when):
    def handler(sess, kind, body):
        if when != "idle" and body == b"next\0":
            sess.send(complete("OK"), param("in_hot_standby", "off"),
                      ready(sess.status))
            return True
    f = fakepg(params=STANDBY, handler=handler)
    p = pooler({"p0": f.conn}, server_check_delay=0,
               server_check_query="next" if when == "checked" else "check")
    old, c = p.raw(), p.raw()
    old.query("select 1")
    c.query("select 1")
    if when == "idle":
        f.sessions[0].send(param("in_hot_standby", "off"))
        wait_until(lambda: told(p.raw(), "in_hot_standby") == ["off"])
    else:
        c.query("next" if when == "busy" else "select 1")
    assert told(p.raw(), "in_hot_standby") == ["off"]
    ask(old, "select 1")
    assert told(old, "in_hot_standby") == ["off"]
    assert len(f.sessions) == 1


def test_what_a_client_has_set_is_not_told_to_others(pooler, fakepg):
    def handler(sess, kind, body):
        if body == b"set\0":
            sess.send(complete("SET"), param("TimeZone", "x"),
                      param("is_superuser", "on"), param("other", "x"),
                      ready(sess.status))
            return True
    f = fakepg(params=dict(STANDBY, other="y"), handler=handler)
    p = pooler({"p0": f.conn})
    c = p.raw()
    ask(c, "set")
    assert told(c, "TimeZone", "is_superuser", "other") == ["x", "on", "x"]
    assert told(p.raw(), "TimeZone", "is_superuser", "other") == [
        "UTC", "off", "y"]


def test_default_that_an_idle_server_reports_is_asked_for_anew(pooler, fakepg):
    """no client has set it: the configuration has changed"""
    f = fakepg(params=STANDBY)
    p = pooler({"p0": f.conn})
    p.raw().query("select 1")
    f.params = dict(PROMOTED)
    f.sessions[0].send(param("default_transaction_read_only", "on"))
    p.wait_log("closing because: idle server got dirty")
    assert told(p.raw()) == of(PROMOTED)


def test_client_that_waits_for_the_news_hears_them_after_a_restart(
        pooler, fakepg):
    """-R: who had not been told yet is told; nobody is told twice"""
    f = fakepg(params=STANDBY)
    p = pooler({"p0": f.conn})
    late, early = p.raw(), p.raw()
    for c in (late, early):
        c.query("select 1")
    f.sessions[0].send(param("in_hot_standby", "off"))
    wait_until(lambda: told(p.raw(), "in_hot_standby") == ["off"])
    early.query("select 1")
    q = successor(pooler, p)
    q.start()
    assert p.wait_exit() == 0
    assert [m[0] for m in early.query("select 1").messages].count("S") == 0
    ask(late, "select 1")
    assert told(late, "in_hot_standby") == ["off"]


def test_libpq_accepts_a_server_that_was_promoted(pooler, fakepg):
    f = fakepg(params=STANDBY)
    p = pooler({"p0": f.conn}, server_login_retry=0.1)
    wanted = dict(dbname="p0", user="app", target_session_attrs="primary")
    with pytest.raises(Exception, match="hot standby"):
        p.connect(**wanted)
    p.raw().query("select 1")
    change(f)
    p.wait_pool(sv_idle=0)
    p.connect(**wanted).close()
