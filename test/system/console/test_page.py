# test_page.py - the status page in a browser, and what it asks of /api/.
# SPDX-License-Identifier: ISC
import json
import socket

import pytest

import pq
from harness import REFERENCE, free_port, wait_until
from test_http import get, say, web  # noqa: F401

pytestmark = pytest.mark.skipif(REFERENCE, reason="has none")

TOPICS = ("databases pools peer_pools waits clients servers config version "
          "state lists mem stats stats_totals stats_averages totals "
          "latencies peers dns_hosts dns_zones").split()


def rows(p, path):
    page = get(p, "/api/" + path)
    assert (page.status, page.headers["Content-Type"]) == (
        200, "application/json"), page.body
    return page.json


# --- /api/ ----------------------------------------------------------------

def shown(p, topic):
    """As the console has it, but for what HTTP does not tell."""
    out = json.loads(p.admin("show json " + topic)[0]["json"])
    return [{k: v for k, v in r.items() if k not in ("ptr", "link")}
            for r in out]


def but_consoles(rows):
    """Whoever asks the console is a client of its."""
    return [r for r in rows if r.get("name") != "pgbouncer"]


def sort(rows):
    return sorted(json.dumps(r, sort_keys=True) for r in rows)


def test_rows_are_those_of_the_console(web):
    p = web()
    p.raw().query("select 1")
    for topic in ("databases", "config", "state", "version", "peers",
                  "peer_pools"):
        assert sort(but_consoles(rows(p, topic))) == \
            sort(but_consoles(shown(p, topic))), topic


def test_each_topic_is_there_unless_it_has_secrets(web):
    p = web()
    p.raw().query("select 1")
    for topic in TOPICS:
        assert isinstance(rows(p, topic), list), topic
    for topic in ("fds", "FDS", "users", "sockets", "nothing", "", "pools/",
                  "%70ools"):
        page = get(p, "/api/" + topic)
        assert page.status == 404 and page.json["error"], topic
    assert get(p, "/api").status == 404
    text = get(p, "/api/clients").body + get(p, "/api/servers").body
    assert '"ptr"' not in text and "0x" not in text


def test_numbers_of_pools_and_sessions(web):
    p = web(default_pool_size=1)
    holder, waiter = p.raw(), p.raw(application_name='a "b" <i>')
    holder.query("begin")
    waiter.send(pq.query("select 1"))
    p.wait_pool(cl_waiting=1)
    pool, = [r for r in rows(p, "pools") if r["database"] == "p0"]
    assert (pool["cl_active"], pool["cl_waiting"], pool["sv_active"]) == (
        1, 1, 1)
    assert (pool["wait_reason"], pool["pool_size"]) == ("pool_size", 1)
    got, = rows(p, "clients?state=waiting&database=p0")
    assert got["application_name"] == 'a "b" <i>'
    assert len(rows(p, "clients?limit=1")) == 1
    assert rows(p, "clients?user=nobody") == rows(p, "clients?limit=0") == []
    wait, = rows(p, "waits")
    assert (wait["clients"], wait["setting"]) == (1, "default_pool_size")
    for query in ("ptr=1", "limit=-1", "limit=x", "x=1", "user", "&"):
        page = get(p, "/api/clients?" + query)
        assert page.status == 400 and page.json["error"], query


def test_etag_spares_who_knows_already(web):
    p = web()
    first = get(p, "/api/config")
    tag = first.headers["ETag"]
    assert tag.startswith('"') and tag.endswith('"')
    again = get(p, "/api/config", If_None_Match='"x", W/%s' % tag)
    assert (again.status, again.body) == (304, "")
    assert again.headers["ETag"] == tag
    assert get(p, "/api/config", If_None_Match="*").status == 304
    head = get(p, "/api/config", "HEAD")
    assert (head.status, head.body, head.headers["ETag"]) == (200, "", tag)
    p.admin("set default_pool_size = 7")
    other = get(p, "/api/config", If_None_Match=tag)
    assert other.status == 200 and other.headers["ETag"] != tag
    # one connection, one after the other, and one of old
    ask = b"GET /api/config HTTP/1.1\r\nIf-None-Match: *\r\n\r\n"
    both = say(p, ask + b"GET /api/state HTTP/1.0\r\n\r\n")
    assert both.count(b"HTTP/1.1 304") == 1
    assert json.loads(both.rpartition(b"\r\n\r\n")[2])


def test_long_answer_has_no_tag_and_is_whole(web):
    names = ["d%04d" % i for i in range(2000)]
    p = web({"p0": "", **{n: "host=127.0.0.1 port=1 dbname=" + n
                          for n in names}})
    page = get(p, "/api/databases")
    assert "ETag" not in page.headers and len(page.body) > 512 * 1024
    assert {r["name"] for r in page.json} == {"p0", "pgbouncer", *names}


def test_history_counts_what_happened(web):
    p = web()
    c = p.raw()
    for _ in range(5):
        c.query("select 1")
    c.query("begin")
    c.query("select 1")
    c.query("commit")

    def table():
        h = rows(p, "history")
        return [dict(zip(h["columns"], r)) for r in h["rows"]]
    wait_until(lambda: sum(r["queries"] for r in table()) >= 8,
               what="the sample")
    seen = table()
    assert sum(r["queries"] for r in seen) == 8
    assert sum(r["transactions"] for r in seen) == 6
    assert sum(r["waits"] for r in seen) >= 6
    assert seen[-1]["query_p50"] <= seen[-1]["query_p99"]
    last = rows(p, "history")["last"]
    assert all(r[0] > last for r in rows(p, "history?since=%d" % last)["rows"])
    assert get(p, "/api/history?before=1").status == 400


@pytest.mark.setting("http_log_lines")
def test_end_of_the_log(web):
    p = web(http_log_lines=5)
    for _ in range(6):
        p.admin("pause p1")
        p.admin("resume p1")
    lines = rows(p, "log")
    assert len(lines) == 5
    assert lines[-1]["number"] - lines[0]["number"] == 4
    assert any("RESUME" in r["text"] for r in lines), lines
    assert {r["level"] for r in lines} <= {"LOG", "WARNING"}
    newer = rows(p, "log?since=%d" % lines[-1]["number"])
    assert all(r["number"] > lines[-1]["number"] for r in newer)
    evil = get(p, "/api/log", Host="evil.example")
    assert evil.status == 403 and "pause" not in evil.body
    passed_on = get(p, "/api/log", Host="127.0.0.1", Via="1.1 proxy")
    assert passed_on.status == 403 and "pause" not in passed_on.body
    p.admin("set http_log_lines = 0")
    assert get(p, "/api/log").status == 404


def test_name_of_another_site_gets_nothing_on_this_machine(web):
    p = web(http_listen_addr="127.0.0.1")
    paths = "/metrics", "/api/clients", "/api/config", "/api/databases"
    for path in paths:
        evil = get(p, path, Host="evil.example")
        assert evil.status == 403 and "localhost" in evil.body
        for host in "localhost:9127", "[::1]", "", socket.gethostname():
            assert get(p, path, Host=host).status == 200
    # health tells nothing that a site could want
    assert get(p, "/healthz", Host="evil.example").status == 200
    p.admin("pause p1")
    evil = get(p, "/readyz?strict=1", Host="evil.example")
    assert (evil.status, evil.json) == (503, {"ready": False})
    for name in "p1", "nobody":
        assert get(p, "/readyz?database=" + name,
                   Host="evil.example").status == 403
    assert "p1" in get(p, "/readyz", Host="localhost").body


def test_token_guards_all_but_the_empty_page(web):
    p = web(start=False)
    p.settings["http_auth_token_file"] = p.put("token", "s3cret\n")
    p.start()
    for path in ("pools", "history", "log", "health", "nothing"):
        assert get(p, "/api/" + path).status == 401
    page = get(p, "/")
    assert page.status == 200 and 'data-token="1"' in page.body
    good = {"Authorization": "Bearer s3cret"}
    assert get(p, "/api/pools", **good).status == 200
    assert get(p, "/api/log", Host="pooler.example", **good).status == 200


def test_page_may_run_only_what_is_in_it(web):
    p = web()
    page = get(p, "/")
    policy = page.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy and "frame-ancestors 'none'" in policy
    assert page.headers["X-Content-Type-Options"] == "nosniff"
    for path in ("/", "/api/", "/metrics"):
        assert get(p, path).headers["Cross-Origin-Resource-Policy"] == \
            "same-origin"
    assert page.headers["Referrer-Policy"] == "no-referrer"
    assert page.headers["X-Frame-Options"] == "DENY"
    assert 'data-token="0" data-log="1"' in page.body
    assert 'data-log="0"' in get(p, "/", Host="evil.example").body
    for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document."
                 "write", "eval(", "http://", "https://", " src=", "style="):
        rest = page.body.replace("http://www.w3.org/2000/svg", "")
        assert word not in rest, word
    head = get(p, "/", "HEAD")
    assert int(head.headers["Content-Length"]) == len(page.body.encode())


# --- in a browser ---------------------------------------------------------

@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    browser = pytest.importorskip("browser")
    driver = browser.start(tmp_path_factory.mktemp("chromium"))
    yield driver
    driver.quit()


@pytest.fixture
def look(chromium):
    """Opens a pooler's page; nothing may be complained of."""
    import browser

    def at(p, path="/", host="127.0.0.1"):
        chromium.get("http://%s:%d%s" % (host, p.http, path))
        return chromium
    yield at
    found = browser.complaints(chromium)
    chromium.get("about:blank")
    assert not found


def wait_renewed(d):
    wait_until(lambda: d.execute_script(
        "return document.body.dataset.renewed"), what="the page's numbers")


def wait_page(d, cond, what):
    """The page asks again at once, as when one comes back to it."""
    d.execute_script("document.dispatchEvent(new Event('visibilitychange'))")
    wait_until(cond, what=what)


def text(d, selector):
    return d.execute_script("const e = document.querySelector(arguments[0]);"
                            "return e === null ? null : e.textContent",
                            selector)


def cells(d, table, key):
    """{title: text} of a row."""
    return d.execute_script(
        "const r = [...document.querySelectorAll('#' + arguments[0] + "
        "' tbody tr')].find(r => r.dataset.key === arguments[1]);"
        "return r ? Object.fromEntries([...r.cells].map(c => "
        "[c.dataset.title, c.textContent])) : null", table, key)


def test_page_shows_what_the_console_shows(web, look):
    dead = free_port()
    p = web({"p0": "", "p1": "", "gone": "host=127.0.0.1 port=%d" % dead},
            default_pool_size=2)
    held = [p.raw() for _ in range(2)]
    for c in held:
        c.query("begin")
    waits = [p.raw(application_name="late") for _ in range(3)]
    for c in waits:
        c.send(pq.query("select 1"))
    p.wait_pool(cl_waiting=3)
    d = look(p)
    wait_renewed(d)
    pool = cells(d, "pools", "p0/app")
    assert pool["Waiting"] == "3" and pool["Servers"] == "2 of 2 busy"
    assert pool["Because of"] == "pool_size" and pool["Clients"] == "2"
    wait = cells(d, "waits", "p0/app")
    assert wait["Clients"] == "3" and wait["Look at"] == "default_pool_size"
    assert text(d, "#tile-waiting .value") == "3"
    assert text(d, "#tile-servers .value") == "2"
    assert text(d, "#tile-clients .value") == "5"
    assert "late" in text(d, "#clients tbody tr:first-child")
    assert cells(d, "settings", "default_pool_size") == {
        "Setting": "default_pool_size", "Value": "2", "Default": "20",
        "By RELOAD": "yes"}
    assert "process up" in text(d, "#log")
    # it lives: what changes is seen without a word from us
    for c in held:
        c.query("commit")
    wait_page(d, lambda: text(d, "#tile-waiting .value") == "0",
              "the queue's end")
    assert text(d, "#waits .empty") == "Nobody waits for a server."
    p.admin("pause")
    wait_page(d, lambda: text(d, "#state") == "Down: paused", "the pause")
    assert "paused" in text(d, "#banner")
    p.admin("resume")
    lost = p.open()
    lost.send(pq.startup({"user": "app", "database": "gone"}))
    wait_until(lambda: get(p, "/api/health").json["reasons"],
               what="the failure")
    wait_page(d, lambda: text(d, "#state") == "Degraded", "the failure")
    assert "gone" in text(d, "#banner") and "connect" in text(d, "#banner")
    wait_until(lambda: d.execute_script(
        "return document.querySelectorAll('#charts path.line[d*=L]').length"),
               what="lines in charts")


def test_page_tells_how_far_a_drain_is(web, look):
    p = web(shutdown_grace=600)
    held = [p.raw() for _ in range(2)]
    for c in held:
        c.query("begin")
    d = look(p)
    wait_renewed(d)
    assert text(d, "#tile-drain") is None
    k = p.raw("admin", "pgbouncer")
    k.query("shutdown drain 600")
    wait_page(d, lambda: "draining" in text(d, "#state"), "the drain")
    assert "who comes is served still" in text(d, "#banner")
    assert text(d, "#tile-drain .value") == "2"
    k.query("set shutdown_grace = 0")
    k.query("shutdown drain")
    wait_page(d, lambda: "new ones are refused" in text(d, "#banner"),
              "the end of the grace")
    held[0].query("commit")
    wait_page(d, lambda: text(d, "#tile-drain .value") == "1", "one to go")
    assert text(d, "#tile-drain .note").startswith("within ")
    assert "draining" in text(d, "#state")


def test_page_by_keyboard_and_on_a_phone(web, look):
    from selenium.webdriver.common.keys import Keys
    p = web()
    p.raw().query("select 1")
    d = look(p)
    wait_renewed(d)

    def press(*keys):
        d.switch_to.active_element.send_keys(*keys)
        return d.execute_script("return document.activeElement.id || "
                                "document.activeElement.textContent")
    d.execute_script("document.querySelector('.skip').focus()")
    assert press(Keys.TAB) == "pause"
    press(Keys.ENTER)
    assert "Go on" in text(d, "#pause")
    press(Keys.ENTER)
    assert "Pause" in text(d, "#pause")
    assert press(Keys.TAB) == "theme"
    theme = "return document.documentElement.dataset.theme"
    before = d.execute_script(theme)
    press(Keys.ENTER)
    assert {before, d.execute_script(theme)} == {"light", "dark"}
    d.execute_script("document.querySelector('#pools th button').focus()")
    press(Keys.ENTER)
    assert d.execute_script("return document.querySelector('#pools th')"
                            ".ariaSort") == "ascending"
    d.set_window_size(390, 844)
    try:
        # tables scroll by themselves, the page does not
        assert d.execute_script(
            "return document.documentElement.scrollWidth <= innerWidth")
    finally:
        d.set_window_size(1300, 1000)


# Text on a background that makes it hard to read; and does the page scroll?
LEGIBLE = """
const lum = c => { const f = c.map(v => { v /= 255; return v <= .03928 ?
    v / 12.92 : ((v + .055) / 1.055) ** 2.4; });
    return .2126 * f[0] + .7152 * f[1] + .0722 * f[2]; };
const rgb = s => s.match(/[\\d.]+/g).map(Number);
const ground = e => { for (; e; e = e.parentElement) {
    const c = rgb(getComputedStyle(e).backgroundColor);
    if (c.length < 4 || c[3] > 0) return c.slice(0, 3); }
    return [255, 255, 255]; };
const bad = [];
let seen = 0;
for (const e of document.querySelectorAll("body *")) {
    if (!e.checkVisibility() || ![...e.childNodes].some(n =>
        n.nodeType === 3 && n.textContent.trim()))
        continue;
    const drawn = e instanceof SVGElement, style = getComputedStyle(e);
    const a = lum(rgb(drawn ? style.fill : style.color).slice(0, 3));
    const b = lum(ground(drawn ? e.closest("figure") : e));
    const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    seen++;
    if (ratio < 4.5)
        bad.push([ratio.toFixed(2), e.tagName, e.textContent.slice(0, 40)]);
}
return [seen, bad, document.documentElement.scrollWidth <= innerWidth];
"""


def all_legible(d):
    """In both themes, on a screen and on a phone."""
    try:
        for width in (1300, 390):
            d.set_window_size(width, 900)
            for theme in ("light", "dark"):
                d.execute_script("document.documentElement.dataset.theme = "
                                 "arguments[0]", theme)
                seen, bad, fits = d.execute_script(LEGIBLE)
                assert seen > 50 and bad == [] and fits, (width, theme)
    finally:
        d.set_window_size(1300, 1000)


def keys(d, table):
    return d.execute_script(
        "return [...document.querySelectorAll('#' + arguments[0] + "
        "' tbody tr')].map(r => r.dataset.key)", table)


def full_pools(p):
    """A holder and a waiter of p0 and p1; in p0 they are of two users."""
    conns = []
    for user, db in ("app", "p0"), ("app2", "p0"), ("app", "p1"):
        holder = p.raw(user, db, application_name="holder of " + db)
        holder.query("begin")
        waiter = p.raw(user, db, application_name="late")
        waiter.send(pq.query("select 1"))
        conns += holder, waiter
    wait_until(lambda: sum(int(r["cl_waiting"]) for r in
                           p.admin("show pools")) == 3, what="the queue")
    return conns


def test_page_says_which_pooler_it_is_of(web, look):
    p = web()
    d = look(p)
    wait_renewed(d)
    assert text(d, "#where") == "%s:%d" % (socket.gethostname(), p.port)
    assert d.title == "%s:%d – pgsluice" % (socket.gethostname(), p.port)
    assert text(d, "#process").startswith("process %d, up " % p.proc.pid)
    own = get(p, "/api/process").json
    assert (own["pid"], own["port"]) == (p.proc.pid, p.port)
    assert own["started"] <= own["now"]
    # the server's clock everywhere, and its zone beside it
    zone = own["clock"].split(" ")[-1]
    assert text(d, "#updated").endswith(" " + zone)
    assert text(d, "#log th .zone") == zone
    order = d.execute_script("return [...document.querySelectorAll('h2')]"
                             ".map(e => e.textContent.trim())")
    assert order.index("End of the log") < [
        i for i, o in enumerate(order) if o.startswith("Settings")][0]


def test_page_shows_who_holds_the_servers(web, look):
    p = web(default_pool_size=1, users={"app2": ""})
    conns = full_pools(p)
    d = look(p)
    wait_renewed(d)
    assert len(keys(d, "holders")) == 3
    pid, = [r["remote_pid"] for r in p.show("servers", database="p1")]
    row, = [r for r in (cells(d, "holders", k) for k in keys(d, "holders"))
            if r["Server process"] == pid]
    assert row["Application"] == "holder of p1"
    assert row["Client"].startswith("127.0.0.1:")
    assert row["In transaction"] != "none"
    waiting, = rows(p, "clients?state=waiting&database=p1")
    assert (waiting["transaction_us"], waiting["server_pid"]) == (0, 0)
    all_legible(d)
    for c in conns[::2]:
        c.query("commit")
    wait_page(d, lambda: d.execute_script(
        "return document.getElementById('holding').hidden"), "the end")


def test_click_on_a_pool_leaves_only_what_is_its_own(web, look):
    p = web(default_pool_size=1, users={"app2": ""})
    conns = full_pools(p)
    d = look(p)
    wait_renewed(d)
    assert len(keys(d, "clients")) == 6 and len(keys(d, "waits")) == 3
    d.execute_script(
        "[...document.querySelectorAll('#pools tbody tr')].find(r => "
        "r.dataset.key === 'p0/app2').querySelector('button').click()")
    wait_until(lambda: len(keys(d, "clients")) == 2, what="its clients")
    assert keys(d, "pools") == keys(d, "waits") == ["p0/app2"]
    assert len(keys(d, "servers")) == len(keys(d, "holders")) == 1
    assert keys(d, "databases") == ["p0"]
    assert text(d, "#pool") == "p0/app2 ×"
    d.execute_script("document.getElementById('pool').click()")
    wait_until(lambda: len(keys(d, "clients")) == 6, what="all clients")
    del conns


def test_search_and_switch_find_rows_of_all_tables(web, look):
    from selenium.webdriver.common.keys import Keys
    p = web(default_pool_size=1, users={"app2": ""})
    conns = full_pools(p)
    p.raw(database="p1", user="app2").query("select 1")
    d = look(p)
    wait_renewed(d)
    assert len(keys(d, "pools")) == 4
    d.execute_script("document.getElementById('trouble').click()")
    assert sorted(keys(d, "pools")) == ["p0/app", "p0/app2", "p1/app"]
    d.execute_script("document.getElementById('trouble').click()")
    d.execute_script("document.body.focus()")
    d.find_element("css selector", "body").send_keys("/")
    field = d.switch_to.active_element
    assert field.get_attribute("id") == "search"
    field.send_keys("P1 app2")
    assert keys(d, "pools") == ["p1/app2"]
    assert keys(d, "waits") == []
    assert text(d, "#waits .empty") == "None of 3 is what you look for."
    field.send_keys(Keys.ESCAPE)
    assert len(keys(d, "pools")) == 4
    del conns


def test_selection_outlives_what_changes_around_it(web, look):
    p = web()
    c = p.raw(application_name="copy me")
    c.query("begin")
    d = look(p)
    wait_renewed(d)
    d.execute_script(
        "const c = [...document.querySelectorAll('#clients td')].find(e => "
        "e.textContent === 'copy me'); getSelection().selectAllChildren(c)")
    c.query("commit")
    late = p.raw(application_name="late")
    late.query("select 1")
    wait_page(d, lambda: text(d, "#tile-clients .value") == "2", "the other")
    assert d.execute_script("return String(getSelection())") == "copy me"
    d.execute_script("getSelection().removeAllRanges()")
    wait_page(d, lambda: "late" in text(d, "#clients"), "the other's row")


def test_databases_tell_their_health_and_its_age(web, look):
    p = web({"p0": "", "p1": "", "gone": "host=127.0.0.1 port=%d"
             % free_port()}, server_down_timeout=0.2)
    p.admin("pause p1")
    c = p.open()
    c.send(pq.startup({"user": "app", "database": "gone"}))
    c.recv_all()
    d = look(p)
    wait_renewed(d)

    def health(name):
        return cells(d, "databases", name)["Health"]
    assert health("p0") == "well" and "paused" in health("p1")
    wait_page(d, lambda: "no server for " in health("gone"), "its age")
    assert keys(d, "databases")[-1] == "p0"
    assert {r["database"] for r in rows(p, "findings")[1:]} == {"gone", "p1"}
    all_legible(d)


def test_errors_and_logins_are_counted(web, look):
    p = web(auth_type="scram-sha-256")
    c = p.raw()
    for _ in range(3):
        c.try_query("select 1/0")
    d = look(p)
    wait_renewed(d)
    wait_until(lambda: text(d, "#errors tbody") and
               cells(d, "errors", "22server"), what="the errors")
    row = cells(d, "errors", "22server")
    assert (row["About"], row["Since the start"]) == ("data", "3")
    before = row["In the last minute"]
    c.try_query("select 1/0")
    wait_page(d, lambda: cells(d, "errors", "22server")[
        "Since the start"] == "4", "one more")
    assert int(cells(d, "errors", "22server")["In the last minute"]) == \
        int(before) + 1
    c = p.open()
    c.send(pq.startup({"user": "nobody", "database": "p0"}))
    assert c.recv_until("ER")

    def total(name):
        h = rows(p, "history")
        return sum(dict(zip(h["columns"], r))[name] for r in h["rows"])
    wait_until(lambda: total("errors") >= 4, what="the sample")
    assert total("logins") >= 1


EVIL = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'&"


def test_hostile_names_are_only_text(web, look):
    evil, long = "<b onclick=alert(3)>", "n" * 10000
    p = web({"p0": "", '"%s"' % evil: "dbname=p0"}, default_pool_size=9,
            server_check_query="select '%s'" % long)
    names = [EVIL.encode(), b"\xff\xfe<b>", b"x" * 1900, b"\xe2\x80\xaeabc",
             b"a\x01\x1b[2Jb"]
    conns = []
    for name in names:
        c = p.open()
        c.send(pq.startup({"user": "app", "database": "p0",
                           "application_name": name}))
        c.recv_until()
        conns.append(c)
    # what the log has of a stranger
    c = p.open()
    c.send(pq.startup({"user": EVIL, "database": EVIL}))
    c.recv_all()
    d = look(p)
    wait_renewed(d)
    shown = text(d, "#clients")
    assert EVIL in shown and "\ufffd\ufffd<b>" in shown
    assert "x" * 300 in shown
    assert EVIL[:20] in text(d, "#log")
    assert cells(d, "databases", evil)["Name"] == evil
    assert long[:200] in text(d, "#settings")
    assert long in get(p, "/api/config").body
    assert d.execute_script("return document.scripts.length") == 1
    assert d.execute_script("return document.images.length") == 0
    assert d.execute_script(
        "return document.documentElement.scrollWidth <= innerWidth")
    del conns


def test_page_asks_for_the_token_and_forgets_it(web, look):
    p = web(start=False)
    p.settings["http_auth_token_file"] = p.put("token", "s3cret\n")
    p.start()
    d = look(p)
    wait_until(lambda: text(d, "#state") == "Token needed", what="the form")
    assert d.execute_script("return document.getElementById('main').hidden")
    field = d.switch_to.active_element
    assert field.get_attribute("id") == "token"
    field.send_keys("s3cret\n")
    wait_renewed(d)
    assert text(d, "#state") == "Well"
    assert d.execute_script("return localStorage.length + "
                            "document.cookie.length") == 0
    assert "s3cret" not in d.page_source and "s3cret" not in d.current_url
    d.execute_script("sessionStorage.clear()")


def test_page_says_when_nobody_answers(web, chromium):
    import browser
    p = web()
    chromium.get("http://127.0.0.1:%d/" % p.http)
    wait_renewed(chromium)
    p.stop()
    wait_page(chromium, lambda: text(chromium, "#state") == "No answer",
              "the end")
    assert "No answer since" in text(chromium, "#banner")
    chromium.get("about:blank")
    browser.complaints(chromium)
