# test_strangers.py - what those who have not shown who they are can do.
# SPDX-License-Identifier: ISC
import re
import time

import pytest

import pq
from harness import REFERENCE, wait_until
from test_login import refused
from test_storm import hello

pytestmark = pytest.mark.skipif(REFERENCE, reason="newer than that")


def half_way(p, user="app", database="p0"):
    """A login that has been asked for its password."""
    c = p.open().login(user, database=database, wait=False)
    assert c.recv()[0] == "R"
    return c


# --- limits of users and databases -----------------------------------------

@pytest.mark.setting("max_user_client_connections",
                     "max_db_client_connections")
@pytest.mark.parametrize("limit", ["max_user_client_connections",
                                   "max_db_client_connections"])
def test_strangers_take_nobodys_place(pooler, limit):
    """three who know a name only, and one who has the password"""
    p = pooler(auth_type="plain", **{limit: 1})
    strangers = [half_way(p) for _ in range(3)]
    c = p.raw("app", "p0", "apppw")
    assert c.value("select 1") == "1"
    for topic, name in (("databases", "p0"), ("users", "app")):
        assert p.show(topic, name=name)[0]["current_client_connections"] \
            == "1"
    text = "client connections exceeded (%s)" % limit
    assert refused(p.open(), user="app", password_="apppw",
                   database="p0") == text
    # one of those who were half way when it was full
    strangers[0].send(pq.password("apppw"))
    assert strangers[0].recv_all().errors[-1].message == text
    # who does not know the password is told nothing of it
    strangers[1].send(pq.password("wrong"))
    assert strangers[1].recv_all().errors[-1].message == \
        "password authentication failed"
    c.close()
    wait_until(lambda: p.show("databases", name="p0")[0]
               ["current_client_connections"] == "0")
    strangers[2].send(pq.password("apppw"))
    assert strangers[2].finish_login("app").value("select 1") == "1"


# --- how many --------------------------------------------------------------

def text_of(c):
    """What it was refused with: one code, whoever has to go."""
    e = c.recv_all().errors[-1]
    assert e.code == "08P01" or not e.message.startswith("no more conn")
    return e.message


def silent(p, count=1, **kw):
    """Connections that say nothing, each accepted."""
    got = []
    for _ in range(count):
        got.append(p.open(**kw))
        # the answer shows that it is there
        got[-1].send(pq.untyped(80877104))
        assert got[-1].recv_bytes(1) == b"N"
    return got


@pytest.mark.setting("max_unauthenticated")
def test_oldest_stranger_makes_place(pooler):
    """as MaxStartups of OpenSSH, but that nothing is left to chance"""
    p = pooler(auth_type="plain", max_unauthenticated=3)
    inside = p.raw("app", "p0", "apppw")
    old = silent(p, 3)
    assert p.raw("app", "p0", "apppw").value("select 1") == "1"
    assert text_of(old[0]) == "no more connections allowed " \
        "(max_unauthenticated)"
    # a place is free again, and nobody else had to go
    assert silent(p)[0].readable() is False
    assert [c.readable() for c in old[1:]] == [False, False]
    assert inside.value("select 1") == "1"


@pytest.mark.setting("max_unauthenticated")
def test_strangers_are_as_many_as_clients_at_most(pooler):
    """0, the default: max_client_conn"""
    p = pooler(auth_type="plain", max_client_conn=5)
    first, *others = silent(p, 5)
    with p.console() as console:
        assert console.query("show version").rows
        assert text_of(first) == "no more connections allowed " \
            "(max_unauthenticated)"
    assert not any(c.readable() for c in others)


@pytest.mark.setting("max_client_conn")
def test_silent_stranger_leaves_when_the_house_is_full(pooler):
    """or a few connections that say nothing would keep everybody out"""
    p = pooler(auth_type="plain", max_client_conn=3, max_unauthenticated=50)
    inside = p.raw("app", "p0", "apppw")
    old = silent(p, 2)
    wait_until(lambda: gets_in(p))
    assert text_of(old[0]) == "no more connections allowed (max_client_conn)"
    assert not old[1].readable()
    assert inside.value("select 1") == "1"


def gets_in(p, **kw):
    """False: the house is full."""
    with p.open(**kw) as c:
        try:
            c.login("app", "apppw", "p0")
            return True
        except pq.PgError as e:
            assert e.message == \
                "no more connections allowed (max_client_conn)"
            return False


@pytest.mark.setting("max_client_conn")
def test_slow_stranger_leaves_when_the_house_is_full(pooler):
    """who sends a byte now and then is not silent, and nobody to wait for"""
    p = pooler(auth_type="plain", max_client_conn=3, max_unauthenticated=50)
    inside = p.raw("app", "p0", "apppw")
    old = silent(p, 2)
    message = pq.startup({"user": "app", "database": "p0",
                          "application_name": "x" * 5000})
    sent = 0

    def drip_and_enter():
        nonlocal sent
        for c in old:
            c.send(message[sent:sent + 1])
        sent += 1
        return gets_in(p)
    wait_until(drip_and_enter)
    assert text_of(old[0]) == "no more connections allowed (max_client_conn)"
    assert not old[1].readable()
    assert inside.value("select 1") == "1"


@pytest.mark.setting("max_client_conn", "auth_failure_delay")
def test_who_serves_a_delay_leaves_when_the_house_is_full(pooler):
    """or a few wrong passwords would keep everybody out; not for another guess
    from there, which would have no delay then"""
    p = pooler(auth_type="plain", max_client_conn=5, max_unauthenticated=50,
               auth_failure_delay=600)
    inside = p.raw("app", "p0", "apppw")
    for _ in range(3):
        assert text_of(guess(p)) == "password authentication failed"
    late = []

    def is_full():
        late.append(p.open())
        late[-1].login("app", database="p0", wait=False)
        if late[-1].recv()[0] == "E":
            return True
        late[-1].send(pq.password("wrong"))
        return False
    # each delay is twice as long: they fill it soon
    wait_until(is_full)
    wait_until(lambda: gets_in(p, source="127.0.0.5"))
    assert inside.value("select 1") == "1"


@pytest.mark.setting("max_unauthenticated_per_address")
def test_strangers_of_one_address_are_limited(pooler):
    """the other addresses are not, nor Unix sockets, nor who is in"""
    p = pooler(auth_type="plain", max_unauthenticated_per_address=2)
    inside = [p.raw("app", "p0", "apppw") for _ in range(3)]
    unix = silent(p, 4, unix=True)
    old = silent(p, 2)
    elsewhere = silent(p, 2, source="127.0.0.2")
    new = silent(p)
    assert text_of(old[0]) == "no more connections allowed " \
        "(max_unauthenticated_per_address)"
    assert not any(c.readable() for c in unix + elsewhere + new + old[1:])
    assert [c.value("select 1") for c in inside] == ["1"] * 3


@pytest.mark.parametrize("auth_type", ["any", "plain"])
def test_names_do_not_stay_behind(pooler, pg, auth_type):
    """those of the console with auth_type any, and those that auth_query knows
    of people who do not know the password"""
    p = pooler({"p0": "", "p1": ""}, auth_type=auth_type, auth_user="postgres",
               userlist={"admin": "x", "postgres": ""})
    database = "pgbouncer" if auth_type == "any" else "p0"
    names = ["stranger%d" % i for i in range(20)] if auth_type == "any" \
        else ["app", "u_scram", "u_md5"]
    unix = p.raw("admin", "pgbouncer", "x")
    before = {r["name"] for r in unix.query("show users").dicts}
    for name in names:
        with p.open() as c:
            c.login(name, "wrong", database, wait=False)
            if auth_type == "any":
                c.finish_login(name)
            else:
                assert c.recv()[0] == "R"
                c.send(pq.password("wrong"))
                assert text_of(c) == "password authentication failed"

    def now():
        return {r["name"] for r in unix.query("show users").dicts}
    wait_until(lambda: now() - {"postgres"} == before - {"postgres"})


def asking(strangers):
    """How many are asked for a password."""
    return sum(bool(c.readable(0)) for c in strangers)


@pytest.mark.setting("auth_query")
@pytest.mark.parametrize("several", [{}, {"workers": 2}])
def test_invented_databases_open_few_servers(pooler, pg, several):
    """authentication.md 6: 20 at a time, in all of them; those of an address are
    half of what others leave, so that two do not keep out the third"""
    p = pooler({"*": "dbname=p0"}, auth_type="plain", auth_user="postgres",
               auth_query="select 'app'::text, 'secret'::text "
               "where $1 <> ''", **several)
    strangers = [p.open().login("x", database="name%d" % i, wait=False)
                 for i in range(15)]
    wait_until(lambda: asking(strangers) == 10)
    for host, places in [(2, 15), (3, 17), (4, 18), (5, 19), (6, 20), (7, 20)]:
        strangers += [p.open(source="127.0.0.%d" % host).login(
            "x", database="name%d" % (15 * host + i), wait=False)
            for i in range(15)]
        wait_until(lambda: asking(strangers) == places)
    assert asking(strangers[:15]) == 10
    assert len(p.show("servers")) == len(pg.backends()) == 20
    # who is right makes room at once, and whoever leaves, too
    right = next(n for n, c in enumerate(strangers) if c.readable(0))
    c = strangers.pop(right)
    c.recv()
    c.send(pq.password("secret"))
    assert c.finish_login("app").value("select 1") == "1"
    wait_until(lambda: asking(strangers) == 20)
    for c in strangers:
        c.abort()
    wait_until(lambda: len(p.show("servers")) <= 2)
    wait_until(lambda: [d["name"] for d in p.show("databases")
                        if d["name"].startswith("name")] ==
               ["name%d" % right])


def test_who_waits_to_ask_may_have_nobody_to_ask(pooler):
    """auth_query has ended when its turn comes"""
    p = pooler({"*": "dbname=p0"}, auth_type="plain", auth_user="postgres",
               auth_query="select 'app'::text, 'secret'::text "
               "where $1 <> ''")
    strangers = [p.open().login("x", database="name%d" % i, wait=False)
                 for i in range(11)]
    wait_until(lambda: asking(strangers) == 10)
    late, = [c for c in strangers if not c.readable()]
    late.send(pq.password("secret"))
    p.admin("set auth_user = ''")
    for c in strangers:
        if c is not late:
            c.abort()
    assert late.recv()[0] == "R"
    assert text_of(late) == "password authentication failed"
    assert len(p.show("servers")) == 0


# --- how much --------------------------------------------------------------

@pytest.mark.setting("login_memory")
def test_half_passwords_do_not_fill_the_memory(pooler):
    """65 kB announced, and all but the last byte sent, by many"""
    p = pooler(auth_type="plain", login_memory="1MB")
    light = half_way(p)
    head = b"p" + (65535).to_bytes(4, "big") + b"x" * 65530
    heavy = []
    for _ in range(40):
        heavy.append(half_way(p))
        heavy[-1].send(head)
    wait_until(lambda: p.log.count("(login_memory)") >= 2 * 20)
    gone = [c for c in heavy if c.readable()]
    assert len(gone) >= 20 and gone == heavy[:len(gone)]
    assert text_of(gone[0]) == "no more connections allowed (login_memory)"
    # who holds little stays, and may send a long password himself
    assert p.raw("app", "p0", "apppw").value("select 1") == "1"
    light.send(pq.password("apppw"))
    assert light.finish_login("app").value("select 1") == "1"


@pytest.mark.setting("login_memory")
def test_handshakes_do_not_fill_the_memory(pooler, certs):
    """OpenSSL holds 46 kB for each that stops in the middle of one"""
    p = pooler(auth_type="plain", login_memory="1MB", **certs.accept())
    data = hello(certs.client_context(alpn="postgresql"))
    begun = []
    for _ in range(40):
        begun.append(p.open())
        begun[-1].send(data)
        wait_until(begun[-1].readable)
    wait_until(lambda: p.log.count("(login_memory)") >= 2 * 17)
    assert p.mem()["tls_cache"] <= 1048576 // 46000
    c = p.open().start_tls(certs.client_context())
    assert c.login("app", "apppw", "p0").value("select 1") == "1"


# --- how often -------------------------------------------------------------

def guess(p, **kw):
    c = p.open(**kw)
    c.login("app", database="p0", wait=False)
    assert c.recv()[0] == "R"
    c.send(pq.password("wrong"))
    return c


@pytest.mark.setting("auth_failure_delay")
def test_failures_are_answered_late(pooler):
    """and nobody else is: neither a good login nor a Unix socket"""
    p = pooler(auth_type="plain", auth_failure_delay=1)
    begin = time.monotonic()
    for _ in range(3 + 4):
        assert text_of(guess(p)) == "password authentication failed"
    # 0.125 + 0.25 + 0.5 + 1
    assert time.monotonic() - begin > 1.8
    begin = time.monotonic()
    late = guess(p)
    assert p.raw("app", "p0", "apppw").value("select 1") == "1"
    assert text_of(guess(p, unix=True)) == "password authentication failed"
    assert text_of(guess(p, source="127.0.0.3")) == \
        "password authentication failed"
    # a second: more is over only where all of them took so long
    assert not late.readable() or time.monotonic() - begin > 0.9
    assert text_of(late) == "password authentication failed"


@pytest.mark.setting("auth_failure_delay", "max_unauthenticated_per_address")
def test_hanging_up_does_not_shorten_the_delay(pooler):
    """the place stays taken: guesses in parallel are bounded, too"""
    p = pooler(auth_type="plain", auth_failure_delay=600,
               max_unauthenticated_per_address=2)
    refusals = 0
    end = time.monotonic() + 2
    while time.monotonic() < end:
        with p.open() as c:
            c.login("app", database="p0", wait=False)
            if c.recv()[0] == "R":
                c.send(pq.password("wrong"))
            else:
                refusals += 1
    # three at once, then one for each 0.125, 0.25, 0.5 ... seconds of a place
    tried = len(re.findall("closing because: (?!no more)", p.log))
    assert 3 < tried < 15 and refusals > 0
    with p.open(source="127.0.0.4") as c:
        assert c.login("app", "apppw", "p0").value("select 1") == "1"


# --- what the log says -----------------------------------------------------

@pytest.mark.setting("auth_failure_log_rate")
def test_refusals_are_summed_up(pooler):
    """one client wrote megabytes a second into the log"""
    p = pooler(auth_type="plain", auth_failure_log_rate=3)
    sent = 300
    for _ in range(sent):
        assert text_of(guess(p)) == "password authentication failed"
    good = p.raw("app", "p0", "apppw")
    assert good.value("select 1") == "1"

    def told():
        said = p.log.count("pooler error: password authentication failed")
        return said + sum(map(int, re.findall(
            r"WARNING (\d+) more logins were refused", p.log)))
    wait_until(lambda: told() == sent)
    assert p.log.count("pooler error") < sent / 2
    # each has all its lines, and who got in is not left out
    assert p.log.count("login attempt") == p.log.count("pooler error") + 1


# --- what they are told ----------------------------------------------------

@pytest.mark.parametrize("rule,text", [
    ("host all all 127.0.0.1/32 reject", "login rejected"),
    ("local all all trust", "no authentication method is found")])
def test_rejected_source_starts_no_auth_query(pooler, pg, rule, text):
    """the same words for known and unknown names, and no server is asked"""
    p = pooler({"p0": "", "p1": ""}, userlist={"app": "apppw", "admin": "x"},
               start=False, auth_type="hba", auth_user="app")
    p.settings["auth_hba_file"] = p.put(
        "hba.conf", "host all admin 127.0.0.1/32 trust\n" + rule + "\n")
    p.start()
    for name in ("app", "u_scram", "nobody"):
        assert refused(p.open(), user=name, database="p0") == text
    assert "no such user" not in p.log
    assert "new connection to server" not in p.log
    assert p.show("pools", database="p0") == []
