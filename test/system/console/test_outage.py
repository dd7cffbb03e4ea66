# test_outage.py - what is said of a pooler that does not serve as it should.
# SPDX-License-Identifier: ISC
"""The same word, and the same reason, wherever it is asked for."""
import contextlib

import pytest

import pq
from certs import certs
from harness import REFERENCE, free_port, wait_until
from test_ctl import ctl
from test_ctl_top import top  # noqa: F401
from test_page import (chromium, look, text as page_text,  # noqa: F401
                       wait_renewed)
from test_http import fakepg, get, metrics, value, web  # noqa: F401

pytestmark = pytest.mark.skipif(REFERENCE, reason="has no such judgement")


def first_word(d):
    """What the badge of the status page shows: Down, or Down: paused"""
    return d.execute_script("return document.querySelector('#state')"
                            ".textContent").split(":")[0].lower()


def words(p):
    """{report: its word}, of all reports except top and the status page"""
    seen = metrics(p)
    status = ctl("status", "-c", p.ini)
    word = status.stdout.split("\n")[-2]
    assert status.returncode == (0 if word == "well" else 4)
    return {"show": show_health(p)[0]["state"],
            "readyz": get(p, "/readyz").json["state"],
            "api": get(p, "/api/health").json["state"],
            "status": word,
            "metrics": [s for s in ("well", "degraded", "down") if value(
                seen, "pgsluice_health", state=s) == 1][0]}


def show_health(p):
    """By who needs no password, and is in no limit."""
    with p.raw("pgbouncer", "pgbouncer", unix=True) as c:
        return c.query("show health").dicts


def findings(p):
    return [(r["state"], r["reason"], r["database"], r["user"])
            for r in show_health(p)[1:]]


def attempt(p, user="app", database="p0", password=None):
    """A login that need not succeed; the client, which may be gone."""
    c = p.open()
    c.login(user, password, database, wait=False)
    return c


def refused(p, n, **kw):
    for _ in range(n):
        with pytest.raises((pq.PgError, pq.Closed)):
            p.open().login(**kw)


# --- faults: start, provoke, and what is to be seen ------------------------

def nobody(web):
    p = web(userlist={}, auth_type="scram-sha-256")
    return p, ("down", "nobody can log in", None, None), "down"


def fake(**kw):
    return contextlib.closing(fakepg.FakePg(**kw))


def secrets_differ(web):
    with fake(auth="password", password="right") as f:
        p = web({"p0": f.conn + " password=wrong", "p1": ""})
        p.raw(database="p1").query("select 1")
        attempt(p).recv_all()
    return p, ("degraded", "no server", "p0", "app"), "degraded"


def server_down(web):
    p = web({"p0": "host=127.0.0.1 port=%d" % free_port()},
            server_down_timeout=0.2)
    attempt(p).recv_all()
    return p, ("degraded", "no server", "p0", "app"), "down"


def no_tls(web):
    with fake() as f:
        p = web({"p0": f.conn + " server_tls_sslmode=require", "p1": ""},
                server_down_timeout=0.2)
        p.raw(database="p1").query("select 1")
        attempt(p).recv_all()
    return p, ("degraded", "no server", "p0", "app"), "degraded"


def wrong_dbname(web):
    p = web({"p0": "", "p1": "dbname=nowhere"})
    p.raw().query("select 1")
    attempt(p, database="p1").recv_all()
    return p, ("degraded", "no server", "p1", "app"), "degraded"


def auth_query(web):
    p = web(auth_type="scram-sha-256", auth_user="postgres",
            auth_query="select broken")
    refused(p, 5, user="u_scram", password_="x", database="p0")
    return p, ("degraded", "logins fail", None, None), "degraded"


def full_pool(web):
    p = web({"p0": "pool_size=1", "p1": ""})
    p.raw().query("begin")
    p.raw().send(pq.query("select 1"))
    wait_until(lambda: findings(p), what="the wait")
    return p, ("degraded", "clients wait", "p0", "app"), "degraded"


def many_clients(web):
    p = web(max_client_conn=20)
    for _ in range(19):         # the last place is for the questions
        p.raw().query("select 1")
    return p, ("degraded", "many clients", None, None), "degraded"


def one_paused(web):
    p = web()
    p.admin("pause p1")
    return p, ("degraded", "paused", "p1", None), "degraded"


def one_disabled(web):
    p = web()
    p.admin("disable p1")
    return p, ("degraded", "disabled", "p1", None), "degraded"


def all_paused(web):
    p = web()
    p.admin("pause")
    return p, ("down", "paused", None, None), "down"


def each_paused(web):
    p = web({"p0": "", "p1": ""})
    p.raw().query("select 1")
    p.admin("pause p1")
    p.admin("kill p0")
    return p, ("degraded", "paused", "p0", None), "down"


def old_certificate(web):
    p = web(**certs().accept("allow", cert="old"))
    return p, ("degraded", "certificate", None, None), "degraded"


FAULTS = [nobody, secrets_differ, server_down, no_tls, wrong_dbname,
          auth_query, full_pool, many_clients, one_paused, one_disabled,
          all_paused, each_paused, old_certificate]
# what does not concern whether clients are served
TOLD = ["logins fail", "clients wait", "many clients", "certificate"]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f.__name__)
def test_all_reports_agree(web, look, top, fault):  # noqa: F811
    """http.md 3. Each report knows the fault as soon as its provocation is
    over: nothing here waits for a report."""
    p, finding, word = fault(web)
    assert finding in findings(p)
    assert set(words(p).values()) == {word}
    d = look(p)
    wait_renewed(d)
    assert first_word(d) == word and finding[1] in page_text(d, "#banner")
    screen = top(p, "-w", "0.2")
    screen.wait(lambda t: t.startswith((word + "  pgsluice", word + ", ")))
    body = get(p, "/readyz").json
    said = [r for r in body["reasons"] if r["reason"] == finding[1]]
    assert (said[0]["state"], said[0].get("database"),
            said[0].get("user")) == (finding[0], *finding[2:])
    # nothing of this makes the process unready
    assert body["ready"] and get(p, "/readyz").status == 200
    assert get(p, "/readyz?strict=1").status == (
        200 if finding[1] in TOLD else 503)
    assert finding[1] in ctl("status", "-c", p.ini).stdout


def test_well_is_well_everywhere(web):  # noqa: F811
    p = web()
    p.raw().query("select 1")
    refused(p, 2, user="app", database="nowhere")
    assert findings(p) == []
    assert set(words(p).values()) == {"well"}
    assert get(p, "/readyz?strict=1").status == 200
