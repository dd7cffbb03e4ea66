# test_ldap.py - LDAP authentication: spec/authentication.md section 3.7.
# SPDX-License-Identifier: ISC
import os
import signal
import time

import pytest

import harness
import pq
from harness import code_of, wait_until
from ldapd import SLAPD, FakeLdap, Slapd

REFUSED = "LDAP authentication failed"
TOO_MANY = "client connections exceeded (max_%s_client_connections)"
BUSY = "too many logins wait to be checked"
# uid, password, cn, base; u_scram's is also that of the server
PEOPLE = [("u_scram", "pw_three"), ("app", "app pässword"),
          ("admin", "adminpw"), ("app2", "app2pw", "twin"),
          ("u0", "u0pw", "twin"),
          ("u1", "u1pw", "deep", "ou=more,ou=people,dc=test")]
SIMPLE = 'ldapprefix="uid=" ldapsuffix=",ou=people,dc=test"'
SEARCH = 'ldapbasedn="dc=test"'


@pytest.fixture(scope="module", autouse=True)
def built():
    if not harness.built_with("ldap"):
        pytest.skip("this build has no LDAP")


@pytest.fixture(scope="module")
def directory():
    assert SLAPD, "slapd is not installed"
    d = Slapd(PEOPLE, tls=True)
    yield d
    d.stop()


@pytest.fixture
def slow():
    d = FakeLdap()
    yield d
    d.stop()


def refused(p, user, password, text, database="p0", code=None):
    with pytest.raises(pq.PgError) as e:
        p.open().login(user, password, database)
    assert (e.value.code, e.value.message) == (code or code_of(text), text)


def at(d, options):
    return "ldapserver=127.0.0.1 ldapport=%d %s" % (d.port, options)


def asking(pooler, options, **kw):
    env = kw.pop("env", {})
    p = pooler(start=False, auth_type="ldap", auth_ldap_options=options,
               **kw)
    p.env.update(env)
    return p.start()


def works(p, user="app", password="app pässword"):
    with p.raw(user=user, password=password) as c:
        return c.value("select current_user") == user


# --- a real directory ---

@pytest.mark.setting("auth_ldap_options")
@pytest.mark.parametrize("options", [
    SIMPLE, SEARCH,
    SEARCH + ' ldapbinddn="cn=root,dc=test" ldapbindpasswd="rootpw"',
    SEARCH + ' ldapsearchfilter="(|(mail=$username@test)(sn=$username))"',
    SEARCH + " ldapsearchattribute=sn",
], ids=["simple", "search", "bind", "filter", "attribute"])
def test_right_password_is_accepted(pooler, directory, options):
    p = asking(pooler, at(directory, options))
    assert works(p)
    refused(p, "app", "wrong", REFUSED)
    refused(p, "nobody", "app pässword", REFUSED)


@pytest.mark.parametrize("url,found", [
    ("ou=people,dc=test?cn?sub", True), ("ou=people,dc=test?uid?one", True),
    ("dc=test?uid?one", False), ("dc=test?uid", False),
    ("uid=app,ou=people,dc=test?uid?base", True),
    ("dc=test??sub?(mail=$username@test)", True),
])
def test_url_says_where_to_search(pooler, directory, url, found):
    p = asking(pooler, 'ldapurl="ldap://127.0.0.1:%d/%s"' % (
        directory.port, url))
    if found:
        assert works(p)
    else:
        refused(p, "app", "app pässword", REFUSED)
        p.wait_log(r"no entry found for \(uid=app\)")


def test_password_is_for_the_server_too(pooler, directory):
    """PgBouncer 1.12 #285: the user loses his password"""
    p = asking(pooler, at(directory, SIMPLE), userlist={"admin": "adminpw"})
    assert works(p, "u_scram", "pw_three")
    p.sighup()
    p.admin("reconnect p0")
    wait_until(lambda: not p.admin("show servers"),
               what="the server to be closed")
    # without a secret that it knows the server would not be asked at all
    assert works(p, "u_scram", "pw_three")


def test_typed_password_is_not_lost_to_a_line_of_the_auth_file(
        pooler, directory):
    """the server wants what he typed, from his very first login on; a newer
    line of the file counts until he types it again"""
    p = asking(pooler, at(directory, SIMPLE), userlist={
        "admin": "adminpw", "u_scram": "wrong for the server"})
    assert works(p, "u_scram", "pw_three")
    p.userlist["u_scram"] = "wrong as well"
    p.reload()
    p.admin("reconnect p0")
    wait_until(lambda: not p.admin("show servers"),
               what="the server to be closed")
    assert works(p, "u_scram", "pw_three")


def test_one_of_several_entries_is_not_chosen(pooler, directory):
    p = asking(pooler, at(directory, SEARCH + " ldapsearchattribute=cn"))
    refused(p, "twin", "app2pw", REFUSED)
    p.wait_log(r"more than one entry found for \(cn=twin\)")


@pytest.mark.parametrize("name", ["*", "a(b", "a)b", "a\\2a", "a/b"])
def test_search_takes_no_special_characters(pooler, directory, name):
    p = asking(pooler, at(directory, SEARCH))
    refused(p, name, "adminpw", REFUSED)
    p.wait_log("not allowed in a search")


def test_empty_password_is_never_sent(pooler, directory):
    """RFC 4513 5.1.2: a bind without password succeeds as anonymous"""
    p = asking(pooler, at(directory, SIMPLE))
    refused(p, "app", "", "empty password returned by client")


@pytest.mark.parametrize("how", ["starttls", "ldaps"])
def test_tls_protects_the_password(pooler, directory, how):
    more = ("ldapport=%d ldapscheme=ldaps" % directory.tls_port
            if how == "ldaps" else
            "ldapport=%d ldaptls=1" % directory.port)
    options = "ldapserver=127.0.0.1 %s %s" % (more, SIMPLE)
    p = asking(pooler, options, env={"LDAPTLS_CACERT": directory.ca})
    assert works(p)
    # a certificate that nobody vouches for
    q = asking(pooler, options, env={"LDAPTLS_CACERT": "/dev/null"})
    refused(q, "app", "app pässword", REFUSED)


def test_next_server_of_the_list_is_asked(pooler, directory):
    dead = harness.free_port()
    p = asking(pooler, 'ldapserver="127.0.0.2 127.0.0.1" ldapport=%d %s' % (
        directory.port, SIMPLE))
    assert works(p)
    q = asking(pooler, "ldapserver=127.0.0.1 ldapport=%d %s" % (
        dead, SIMPLE))
    refused(q, "app", "app pässword", REFUSED)
    q.wait_log("Can't contact LDAP server")


def test_no_server_means_to_ask_dns(pooler):
    p = asking(pooler, 'ldapbasedn="ou=x,dc=nowhere,dc=invalid"')
    refused(p, "app", "x", REFUSED)
    p.wait_log('no LDAP servers of domain "nowhere.invalid" in DNS')


@pytest.mark.parametrize("alive", [True, False])
def test_servers_are_found_by_dns(pooler, directory, alive):
    """RFC 2782: SRV records of the domain that ldapbasedn names"""
    port = directory.port if alive else harness.free_port()
    p = pooler(userlist={"admin": "", "app": ""}, auth_type="ldap",
               start=False, auth_ldap_options='ldapbasedn="dc=test"')
    p.put("hosts", "SRV _ldap._tcp.test localhost %d 1 100\n" % port)
    p.env.update(LD_PRELOAD=harness.preload("resolv"),
                 RESOLV_WRAPPER_HOSTS=os.path.join(p.dir, "hosts"))
    p.start()
    if alive:
        assert works(p)
        refused(p, "app", "wrong", REFUSED)
    else:
        refused(p, "app", "app pässword", REFUSED)
        p.wait_log("Can't contact LDAP server")


def test_anonymous_search_may_be_refused(pooler):
    d = Slapd(PEOPLE[:2], anonymous=False)
    try:
        p = asking(pooler, at(d, SEARCH))
        refused(p, "app", "app pässword", REFUSED)
        p.wait_log('could not bind as ""')
        q = asking(pooler, at(d, SEARCH + ' ldapbinddn="cn=root,dc=test" '
                              'ldapbindpasswd="rootpw"'))
        assert works(q)
    finally:
        d.stop()


# --- options ---

@pytest.mark.parametrize("options,text,log", [
    (None, "auth_ldap_options is null", ""),
    ("ldapserver=h", REFUSED, "ldapbasedn, ldapprefix or ldapsuffix must"),
    ("ldapserver=h ldapprefix=a ldapbasedn=b", REFUSED, "cannot be mixed"),
    ("ldapserver= h", REFUSED, "key=value expected"),
    ("ldapprefix=x ldapserver=h ldapfoo=1", REFUSED, 'option "ldapfoo"'),
])
def test_bad_options_let_nobody_in(pooler, options, text, log):
    p = asking(pooler, options)
    refused(p, "app", "x", text)
    p.wait_log(log)


def test_database_with_auth_user_is_refused(pooler, directory):
    p = asking(pooler, at(directory, SIMPLE),
               dbs={"p0": "auth_user=app", "p1": ""})
    refused(p, "app", "app pässword", "bouncer config error")
    with p.raw(user="app", password="app pässword", database="p1") as c:
        assert c.value("select 1") == "1"


def test_console_rights_are_by_name(pooler, directory):
    p = asking(pooler, at(directory, SIMPLE), userlist={})
    with p.raw("admin", "pgbouncer", password="adminpw") as c:
        assert c.query("show version").rows
    refused(p, "app", "app pässword", "not allowed", "pgbouncer")


def test_limits_count_these_clients(pooler, directory):
    """settings.md 6: the reference does not check the first one"""
    p = asking(pooler, at(directory, SIMPLE), max_db_client_connections=1)
    with p.raw(password="app pässword"):
        refused(p, "app2", "app2pw", TOO_MANY % "db")
    q = asking(pooler, at(directory, SIMPLE), max_user_client_connections=1)
    with q.raw(password="app pässword"):
        refused(q, "app", "app pässword", TOO_MANY % "user",
                "p1")
        assert works(q, "app2", "app2pw")


def test_unknown_database_is_told_after_the_password(pooler, directory):
    p = asking(pooler, at(directory, SIMPLE))
    refused(p, "app", "x", REFUSED, "nodb")
    refused(p, "app", "app pässword", "no such database: nodb", "nodb")


def hba(pooler, rules, **kw):
    p = pooler(start=False, auth_type="hba", **kw)
    p.settings["auth_hba_file"] = p.put("hba.conf", rules)
    return p.start()


def test_rule_has_options_of_its_own(pooler, directory):
    p = hba(pooler, "host all app2 all trust\n"
                    "host all admin all ldap %s\n"
                    "host all all all ldap ldapserver=127.0.0.1 "
                    "ldapport=%d %s\n" % (at(directory, SEARCH),
                                          directory.port, SIMPLE),
            userlist={"app": "x", "app2": ""})
    assert works(p)
    assert works(p, "app2", None)
    assert works(p, "u_scram", "pw_three")    # not in the auth file
    refused(p, "app", "x", REFUSED)
    with p.raw("admin", "pgbouncer", password="adminpw") as c:
        assert c.query("show version").rows
    refused(p, "u0", "u0pw", "not allowed", "pgbouncer")


def test_passwords_are_never_logged(pooler, directory):
    """spec/logging.md section 6"""
    p = asking(pooler, at(directory, SEARCH +
                          ' ldapbinddn="cn=root,dc=test" '
                          'ldapbindpasswd="rootpw"'), verbose=3)
    assert works(p, "u_scram", "pw_three")
    refused(p, "app", "not this one", REFUSED)
    p.sighup()
    for secret in ("pw_three", "not this one", "rootpw"):
        assert secret not in p.log


# --- a directory that takes its time ---

def begin(p, user="app", password="pw"):
    """A login up to the password."""
    c = p.open()
    c.send(pq.startup({"user": user, "database": "p0"}))
    kind, _ = c.recv()
    assert kind == "R"
    c.send(pq.password(password))
    return c


def slow_pooler(pooler, d, **kw):
    """app2 is let in by trust, all others are asked for"""
    return hba(pooler, "host all app2 all trust\nhost all admin all trust\n"
                       "host all u0 all scram-sha-256\n"
                       "host all all all ldap %s\n" % at(d, "ldapprefix=x"),
               userlist={"app2": "", "admin": "", "u0": "u0 pw"}, **kw)


@pytest.mark.parametrize("count", [200 if harness.BIG else 60])
def test_slow_logins_hold_up_nobody(pooler, slow, count):
    """PgBouncer blocks its loop when the queue of 20 is full"""
    p = slow_pooler(pooler, slow, auth_threads=16 * harness.WORKERS)
    with p.raw("app2") as work:
        waiting = [begin(p) for _ in range(count)]
        wait_until(lambda: len(slow.binds) >= 16, what="binds")
        for _ in range(20):
            assert work.value("select 1") == "1"
            assert works(p, "app2", None)
        assert works(p, "u0", "u0 pw")
        assert len(slow.binds) == 16
        assert not any(c.readable() for c in waiting)
        slow.gate.set()
        for c in waiting:
            c.finish_login("app")
            c.close()
        assert len(slow.binds) == count
        assert work.value("select 1") == "1"


def test_directory_of_two_seconds(pooler, slow):
    """each bind takes its time (2 s with BIG=1, for 200 logins)"""
    count, slow.patience = (200, 2) if harness.BIG else (40, 0.2)
    p = slow_pooler(pooler, slow)
    with p.raw("app2") as work:
        begun = time.monotonic()
        for _ in range(20):
            assert work.value("select 1") == "1"
        # where a query takes its time, too, let it be short beside a bind
        slow.patience = max(slow.patience, time.monotonic() - begun)
        begun = time.monotonic()
        waiting, took = [], []
        # at least one sample for each login, however slowly they come
        while len(slow.binds) < count:
            if len(waiting) < count:
                waiting.append(begin(p))
            else:
                waiting[0].readable(0.01)
            before = time.monotonic()
            assert work.value("select 1") == "1"
            took.append(time.monotonic() - before)
        for c in waiting:
            c.finish_login("app")
        total = time.monotonic() - begun
    took.sort()
    print("%d logins in %.1f s, %d queries meanwhile: p99 %.1f ms, max %.1f "
          "ms" % (count, total, len(took), took[len(took) * 99 // 100] * 1000,
                  took[-1] * 1000))
    # nobody waited for a bind, nor one bind for all others
    assert took[len(took) // 2] < slow.patience / 4
    assert total < count * slow.patience


@pytest.mark.setting("auth_queue")
def test_full_queue_refuses_at_once(pooler, slow):
    """spec/authentication.md section 3.8"""
    p = slow_pooler(pooler, slow, auth_threads=2 * harness.WORKERS,
                    auth_queue=3)
    waiting = [begin(p) for _ in range(12)]
    told = wait_until(lambda: (lambda r: r if len(r) == 7 else None)(
        [c for c in waiting if c.readable()]), what="refusals")
    for c in told:
        e = c.recv_all().errors[-1]
        assert (e.code, e.message) == ("53300", BUSY)
    p.wait_log("LDAP queue is full", count=7)
    slow.gate.set()
    for c in waiting:
        if c not in told:
            c.finish_login("app")
    assert len(slow.binds) == 5


def test_who_leaves_is_not_asked_for_any_more(pooler, slow):
    p = slow_pooler(pooler, slow, auth_threads=1)
    first = begin(p, "app")
    wait_until(lambda: slow.binds == ["xapp"], what="the first bind")
    gone = [begin(p, "u1") for _ in range(5)]
    last = begin(p, "u2")
    for c in gone:
        c.abort()
    first.abort()
    wait_until(lambda: p.log.count("closing because: client unexpected eof")
               == 6, what="them to be gone")
    slow.gate.set()
    last.finish_login("u2")
    assert slow.binds == ["xapp", "xu2"]


def test_login_timeout_ends_the_wait(pooler, slow):
    p = slow_pooler(pooler, slow)
    con, c = p.console(), begin(p)
    con.query("set client_login_timeout = '0.5'")
    assert c.recv_all().errors[-1].message == "client_login_timeout"
    con.query("set client_login_timeout = 60")
    with p.raw("app2") as work:
        assert work.value("select 1") == "1"


@pytest.mark.setting("auth_threads")
def test_threads_can_be_added_while_running(pooler, slow):
    p = slow_pooler(pooler, slow, auth_threads=harness.WORKERS)
    begin(p)
    begin(p)
    wait_until(lambda: len(slow.binds) == 1, what="one bind")
    p.admin("set auth_threads = %d" % (3 * harness.WORKERS))
    wait_until(lambda: len(slow.binds) == 2, what="the bind that waited")
    begin(p)
    wait_until(lambda: len(slow.binds) == 3, what="three binds")


def test_client_that_is_gone_as_its_password_comes(pooler, slow):
    """the reset and the bytes are told by one edge"""
    p = slow_pooler(pooler, slow)
    c = p.open()
    c.send(pq.startup({"user": "app", "database": "p0"}))
    assert c.recv()[0] == "R"
    p.signal(signal.SIGSTOP)
    try:
        c.send(pq.password("pw"))
        c.abort()
    finally:
        p.signal(signal.SIGCONT)
    wait_until(lambda: p.show("lists", list="login_clients")[0]["items"]
               == "0")


@pytest.mark.parametrize("sig", [signal.SIGQUIT, signal.SIGTERM,
                                 signal.SIGINT])
def test_end_does_not_wait_for_the_directory(pooler, slow, sig):
    p = slow_pooler(pooler, slow, auth_threads=16 * harness.WORKERS)
    waiting = [begin(p) for _ in range(20)]
    wait_until(lambda: len(slow.binds) == 16, what="binds")
    if sig != signal.SIGQUIT:      # they wait for clients to leave
        for c in waiting:
            c.abort()
    p.signal(sig)
    p.wait_exit()   # the directory never answers
    assert p.proc.returncode == 0


def test_directory_that_hangs_up_is_no_yes(pooler, slow):
    p = slow_pooler(pooler, slow)
    c = begin(p)
    wait_until(lambda: len(slow.binds) == 1, what="a bind")
    for peer in list(slow.peers):
        peer.shutdown(2)
    kind, body = c.recv()
    assert kind == "E" and pq.fields(body)["M"] == REFUSED
    p.wait_log("Can't contact LDAP server")
