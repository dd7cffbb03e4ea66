# test_hba_hosts.py - rules that go by the name of the client's machine.
# SPDX-License-Identifier: ISC
import socket

import pytest

import pq
from fakedns import FakeDns, PTR
from harness import REFERENCE, SEVERAL

pytestmark = pytest.mark.skipif(REFERENCE, reason="newer than that")

NONE = "no authentication method is found"


@pytest.fixture
def dns():
    d = FakeDns()
    yield d
    d.close()


def by_name(pooler, dns, rules):
    p = pooler({"p0": ""}, start=False, auth_type="hba")
    p.settings["resolv_conf"] = p.put("resolv.conf", dns.resolv_conf())
    p.settings["auth_hba_file"] = p.put("hba.conf", rules)
    return p.start()


def answer(p, source, user="app", database="p0"):
    """What keeps the client out; None: he is in."""
    c = pq.Conn(port=p.port, source=source)
    try:
        c.login(user, None, database)
        assert c.value("select 1") == "1"
    except pq.PgError as e:
        return e.message
    finally:
        c.close()
    return None


def ptr(ip):
    return ".".join(reversed(ip.split("."))) + ".in-addr.arpa"


def test_name_counts_where_it_leads_back(pooler, dns):
    """authentication.md 4: host names, as PostgreSQL's pg_hba.conf"""
    dns.names = {ptr("127.0.0.7"): "Ann.example.com",
                 ptr("127.0.0.8"): "ann.example.com",
                 ptr("127.0.0.9"): "bob.example.com",
                 ptr("127.0.0.10"): "lost.example.com",
                 ptr("127.0.0.11"): "fakeexample.com"}
    dns.hosts = {"ann.example.com": ["127.0.0.1", "127.0.0.7"],
                 "bob.example.com": ["127.0.0.9"],
                 "fakeexample.com": ["127.0.0.11"]}
    p = by_name(pooler, dns, "host p0 app ann.EXAMPLE.com trust\n"
                "host p0 app2 .example.com trust\n"
                "host p0 u0 all trust\n")
    assert answer(p, "127.0.0.7") is None
    assert answer(p, "127.0.0.7", "app2") is None
    # he says that he is ann, but ann does not
    assert answer(p, "127.0.0.8") == NONE
    assert answer(p, "127.0.0.8", "app2") == NONE
    assert answer(p, "127.0.0.9") == NONE
    assert answer(p, "127.0.0.9", "app2") is None
    # no such name, no name at all, the end of another name
    for source in ("127.0.0.10", "127.0.0.12", "127.0.0.11"):
        assert answer(p, source, "app2") == NONE
        assert answer(p, source, "u0") is None


def test_name_is_asked_for_only_where_a_rule_may_need_it(pooler, dns):
    """authentication.md 4: strangers cause no questions for nothing"""
    dns.names = {ptr("127.0.0.7"): "ann.example.com"}
    dns.hosts = {"ann.example.com": ["127.0.0.7"]}
    p = by_name(pooler, dns, "local all all trust\n"
                "host p1 all ann.example.com trust\n"
                "host p0 all 127.0.0.0/8 trust\n"
                "host p0 all ann.example.com reject\n")
    assert answer(p, "127.0.0.7") is None
    assert p.raw("app", unix=True).value("select 1") == "1"
    dns.catch_up()
    assert dns.questions(ptr("127.0.0.7"), PTR) == 0
    assert answer(p, "127.0.0.7", database="p1") == "no such database: p1"
    assert dns.questions(ptr("127.0.0.7"), PTR) == 1


def test_silent_resolver_lets_nobody_in(pooler, dns):
    """authentication.md 4: in doubt a rule that rejects fits"""
    dns.names = {ptr("127.0.0.7"): None, ptr("127.0.0.8"): "bad.example.com"}
    dns.hosts = {"bad.example.com": ["127.0.0.8"]}
    dns.broken = {"bad.example.com"}
    p = by_name(pooler, dns, "host p0 app2 ann.example.com trust\n"
                "host p0 app bad.example.com reject\n"
                "host p0 app all trust\n")
    for source in ("127.0.0.7", "127.0.0.8"):
        assert answer(p, source, "app2") == NONE
        assert answer(p, source) == "login rejected"
    assert answer(p, "127.0.0.12") is None
    p.wait_log("WARNING C-.* the resolver gives no answer", count=4)


def test_client_that_leaves_while_its_name_is_asked_for(pooler, dns):
    """nothing is left of it, and the process ends well"""
    dns.names = {ptr("127.0.0.7"): None}
    dns.patient = True
    p = by_name(pooler, dns, "host p0 app ann.example.com trust\n"
                "local all all trust\n")
    c = pq.Conn(port=p.port, source="127.0.0.7").login(
        "app", None, "p0", wait=False)
    dns.wait_for(ptr("127.0.0.7"), PTR)
    c.abort()
    assert p.raw("app", unix=True).value("select 1") == "1"


def strangers(p, dns, sources):
    for source in sources:
        with pq.Conn(port=p.port, source=source) as c:
            c.login("app", None, "p0", wait=False)
            # who leaves on the way to another worker asks nothing
            if SEVERAL:
                dns.wait_for(ptr(source), PTR)
            # so that it has been read, and the question asked
            c.sock.shutdown(socket.SHUT_WR)
            assert c.at_eof()


def test_who_comes_again_asks_no_new_question(pooler, dns):
    """a stranger whose name servers are silent holds the ids of all questions
    otherwise"""
    dns.names = {ptr("127.0.0.7"): None, ptr("127.0.0.8"): "ann.example.com"}
    dns.hosts = {"ann.example.com": ["127.0.0.8"]}
    dns.patient = True
    p = by_name(pooler, dns, "host p0 app ann.example.com trust\n"
                "local all all trust\n")
    strangers(p, dns, ["127.0.0.7"] * 50)
    assert answer(p, "127.0.0.8") is None
    dns.catch_up()
    assert dns.questions(ptr("127.0.0.7"), PTR) == 1


def test_questions_for_names_are_limited(pooler, dns):
    """whoever has a network has many addresses"""
    sources = ["127.1.%d.%d" % (i // 250, i % 250 + 1) for i in range(4200)]
    dns.names = {ptr(s): None for s in sources}
    dns.names[ptr("127.0.0.8")] = "ann.example.com"
    dns.hosts = {"ann.example.com": ["127.0.0.8"]}
    dns.patient = True
    p = by_name(pooler, dns, "host p0 app ann.example.com trust\n"
                "local all all trust\n")
    strangers(p, dns, sources[:4096])
    assert answer(p, "127.0.0.8") == NONE
    dns.catch_up()
    assert len({q for q in dns.asked if q[1] == PTR}) <= 4096
