# test_hosts.py - host names and host lists: which addresses are used, what
# becomes of dead ones.
# SPDX-License-Identifier: ISC
import socket
import time

import pytest

import pq
from fakedns import SOA, with_dns
from harness import free_port, wait_until


class BlackHole:
    """An address that takes no connection and refuses none: its queue of
    connections is full."""

    def __init__(self, host="127.0.0.1", port=None):
        self.host, self.port = host, port or free_port()
        self.sock = socket.socket()
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.sock.bind((host, self.port))
        self.sock.listen(0)
        self.fill = []
        for _ in range(2):
            s = socket.socket()
            s.setblocking(False)
            s.connect_ex((host, self.port))
            self.fill.append(s)

    def close(self):
        for s in [self.sock] + self.fill:
            s.close()


@pytest.fixture
def blackhole():
    made = []

    def make(*args, **kw):
        made.append(BlackHole(*args, **kw))
        return made[-1]
    yield make
    for b in made:
        b.close()


def addr_of(session):
    return session.sock.getsockname()[0]


# --- names ----------------------------------------------------------------

@pytest.mark.setting("resolv_conf", "dns_max_ttl")
def test_name_is_asked_for_again_when_its_time_is_over(pooler, fakepg, dns):
    """settings.md 8: dns_max_ttl; shown by DNS_HOSTS"""
    f = fakepg()
    dns.hosts["db.test"] = ["127.0.0.1"]
    p = with_dns(pooler, dns, "host=db.test port=%d" % f.port,
                 dns_max_ttl=3600, server_lifetime=0)
    c = p.raw()
    for _ in range(3):
        c.query("select 1")
    assert len(f.logins()) >= 3
    assert dns.questions("db.test") == 1
    row, = p.show("dns_hosts")
    assert (row["hostname"], row["addrs"]) == ("db.test", "127.0.0.1:0")
    assert 0 < int(row["ttl"]) <= 60    # the record's own time is shorter
    p.settings["dns_max_ttl"] = 0
    p.reload()
    # the answer that is known already keeps its time
    dns.hosts["other.test"] = ["127.0.0.1"]
    p.dbs["p0"] = "host=other.test port=%d" % f.port
    p.reload()
    for _ in range(3):
        c.query("select 1")
    assert dns.questions("other.test") >= 3


def test_ttl_of_the_record_counts_when_it_is_shorter(pooler, fakepg, dns):
    """a record that must not be kept is not, whatever dns_max_ttl says"""
    f = fakepg()
    dns.ttl = 0
    dns.hosts["db.test"] = ["127.0.0.1"]
    p = with_dns(pooler, dns, "host=db.test port=%d" % f.port,
                 dns_max_ttl=3600, server_lifetime=0)
    c = p.raw()
    for _ in range(3):
        c.query("select 1")
    assert dns.questions("db.test") >= 3


@pytest.mark.setting("dns_nxdomain_ttl")
def test_failed_lookup_is_remembered(pooler, fakepg, dns):
    """settings.md 8: dns_nxdomain_ttl; logging.md 9"""
    f = fakepg()
    p = with_dns(pooler, dns, "host=db.test port=%d" % f.port,
                 dns_nxdomain_ttl=3600, server_login_retry=0.2)
    c = p.open().login("app", database="p0", wait=False)
    p.wait_log(r"DNS lookup failed: db\.test: result=4", count=3)
    p.wait_log("closing because: server DNS lookup failed")
    assert dns.questions("db.test") == 1
    assert p.show("dns_hosts")[0]["addrs"] == ""
    dns.hosts["db.test"] = ["127.0.0.1"]
    p.settings["dns_nxdomain_ttl"] = 0
    p.dbs["p0"] = "host=DB.test port=%d" % f.port
    p.reload()
    assert c.finish_login("app").query("select 1").tags == ["SELECT 1"]


def test_addresses_of_a_name_are_used_in_turn(pooler, fakepg, dns):
    """config-files.md 12: several addresses of one name"""
    f = fakepg(host="0.0.0.0")
    dns.hosts["db.test"] = ["127.0.0.1", "127.0.0.2", "127.0.0.3"]
    p = with_dns(pooler, dns, "host=db.test port=%d" % f.port)
    for _ in range(6):
        p.raw().query("begin")
    used = [addr_of(s) for s in f.logins()]
    assert {a: used.count(a) for a in used} == {
        "127.0.0.1": 2, "127.0.0.2": 2, "127.0.0.3": 2}


def test_name_that_resolves_no_more_stops_nobody(pooler, fakepg, dns):
    """a pool that has servers goes on without the name"""
    f = fakepg()
    dns.hosts["db.test"] = ["127.0.0.1"]
    p = with_dns(pooler, dns, "host=db.test port=%d" % f.port,
                 dns_max_ttl=0, server_login_retry=0.1)
    a, b = p.raw(), p.raw()
    a.query("begin")
    del dns.hosts["db.test"]
    b.send(pq.query("select 1"))
    p.wait_log("server DNS lookup failed")
    a.query("commit")
    assert b.recv_until().tags == ["SELECT 1"]
    assert p.raw().query("select 2").tags == ["SELECT 1"]


@pytest.mark.parametrize("how", ["SERVFAIL", "silence", "long silence"])
def test_last_addresses_are_used_while_name_servers_fail(
        pooler, fakepg, dns, how):
    """a name server that is down is no reason to forget what it said; after
    less than 2 s it is waited for no longer (RFC 8767)"""
    f = fakepg()
    dns.patient = how == "long silence"
    dns.hosts["db.test"] = ["127.0.0.1"]
    p = with_dns(pooler, dns, "host=db.test port=%d" % f.port,
                 dns_max_ttl=0, server_lifetime=0)
    c = p.raw()
    c.query("select 1")
    asked = dns.questions("db.test")
    if how == "SERVFAIL":
        dns.broken.add("db.test")
    else:
        dns.hosts["db.test"] = None
    c.query("select 2")
    c.query("select 3")
    assert dns.questions("db.test") > asked
    assert "DNS lookup failed" not in p.log


def test_lost_address_closes_its_servers(pooler, fakepg, dns):
    """config-files.md 12: address change, of a single name only"""
    f = fakepg(host="0.0.0.0")
    dns.hosts["db.test"] = ["127.0.0.1"]
    dns.hosts["new.test"] = ["127.0.0.1"]
    p = pooler({"p0": "host=db.test port=%d" % f.port,
                "p1": "host=db.test,new.test port=%d" % f.port},
               start=False, dns_max_ttl=0)
    p.settings["resolv_conf"] = p.put("resolv.conf", dns.resolv_conf())
    p.start()
    busy, idle, listed = p.raw(), p.raw(), p.raw(database="p1")
    busy.query("begin")
    idle.query("select 1")
    listed.query("select 1")
    first = f.logins()
    assert {addr_of(s) for s in first} == {"127.0.0.1"}
    dns.hosts["db.test"] = ["127.0.0.2"]
    # the next connection looks the name up
    idle.query("begin")
    p.raw().query("begin")
    wait_until(lambda: "127.0.0.2" in [addr_of(s) for s in f.logins()])
    idle.query("commit")
    busy.query("commit")
    wait_until(lambda: {s["addr"] for s in p.servers()} == {"127.0.0.2"})
    assert busy.query("select 1").tags == ["SELECT 1"]
    assert {s["addr"] for s in p.servers("p1")} == {"127.0.0.1"}


@pytest.mark.setting("dns_zone_check_period")
def test_higher_serial_has_names_looked_up(pooler, fakepg, dns):
    """settings.md 8: dns_zone_check_period; servers at lost addresses go"""
    f = fakepg(host="0.0.0.0")
    dns.hosts["db.one.test"] = ["127.0.0.1"]
    dns.serials["one.test"] = 7
    p = with_dns(pooler, dns, "host=db.one.test port=%d" % f.port,
                 dns_max_ttl=3600, dns_zone_check_period=0.2)
    dns.ttl = 3600
    c = p.raw()
    c.query("select 1")
    wait_until(lambda: p.show("dns_zones", zonename="one.test", serial="7",
                              count="1"))
    asked = dns.questions("one.test", SOA)
    wait_until(lambda: dns.questions("one.test", SOA) > asked + 2)
    assert dns.questions("db.one.test") == 1
    dns.hosts["db.one.test"] = ["127.0.0.2"]
    dns.serials["one.test"] = 8
    wait_until(lambda: not p.servers())
    c.query("select 1")
    assert [s["addr"] for s in p.servers()] == ["127.0.0.2"]
    assert p.show("dns_zones")[0]["serial"] == "8"
    lists = {r["list"]: r["items"] for r in p.admin("show lists")}
    assert (lists["dns_names"], lists["dns_zones"]) == ("1", "1")
    p.settings["dns_zone_check_period"] = 0
    p.reload()
    dns.catch_up()
    asked = len(dns.asked)
    for _ in range(5):
        p.admin("show version")
    dns.catch_up()
    assert len(dns.asked) == asked


# --- DRAIN HOST -----------------------------------------------------------

def in_use(clients):
    """Where each of them gets a server, all at once."""
    for c in clients:
        c.query("begin")
    for c in clients:
        c.query("commit")


@pytest.mark.parametrize("spelt", ["127.0.0.2", "::ffff:127.0.0.2",
                                   "0:0:0:0:0:ffff:7f00:2"])
def test_drained_address_that_a_name_leads_to(pooler, fakepg, dns, spelt):
    """pgsluice-admin(7): its other addresses serve all"""
    f = fakepg(host="0.0.0.0")
    dns.hosts["db.test"] = ["127.0.0.1", "127.0.0.2"]
    p = with_dns(pooler, dns, "host=db.test port=%d" % f.port)
    clients = [p.raw() for _ in range(4)]
    in_use(clients)
    assert {s["addr"] for s in p.servers()} == {"127.0.0.1", "127.0.0.2"}
    p.admin("drain host '%s'" % spelt)
    wait_until(lambda: {s["addr"] for s in p.servers()} <= {"127.0.0.1"})
    logins = len(f.logins())
    in_use(clients)
    assert {addr_of(s) for s in f.logins()[logins:]} == {"127.0.0.1"}
    assert {s["addr"] for s in p.servers()} == {"127.0.0.1"}
    # back again, under any of its spellings
    p.admin("resume host 127.0.0.2")
    p.admin("reconnect")
    in_use(clients)
    assert {s["addr"] for s in p.servers()} == {"127.0.0.1", "127.0.0.2"}


@pytest.mark.parametrize("conn", ["db.test", "db.test,other.test",
                                  "db.test,127.0.0.2"])
def test_names_that_lead_to_drained_addresses_only(
        pooler, fakepg, dns, conn):
    """clients wait, and are told why; RESUME HOST serves them at once"""
    f = fakepg(host="0.0.0.0")
    dns.hosts["db.test"] = dns.hosts["other.test"] = ["127.0.0.2"]
    p = with_dns(pooler, dns, "host=%s port=%d" % (conn, f.port),
                 server_login_retry=3600, min_pool_size=1)
    a, b = p.raw(), p.raw()
    in_use([a, b])
    p.admin("drain host 127.0.0.2")
    wait_until(lambda: p.servers() == [])
    logins = len(f.logins())
    a.send(pq.query("select 1"))
    late = p.open().login("app", database="p0", wait=False)
    wait_until(lambda: p.pool()["wait_reason"] == "drained")
    assert p.pool()["cl_waiting"] == 1
    assert len(f.logins()) == logins and p.servers() == []
    p.admin("resume host 127.0.0.2")
    assert a.recv_until().tags == ["SELECT 1"]
    late.finish_login("app")
    assert late.query("select 1").tags == ["SELECT 1"]
    assert len(f.logins()) > logins


def test_name_that_leads_elsewhere_meanwhile(pooler, fakepg, dns):
    """it is looked up again after server_login_retry"""
    f = fakepg(host="0.0.0.0")
    dns.hosts["db.test"] = ["127.0.0.2"]
    p = with_dns(pooler, dns, "host=db.test port=%d" % f.port,
                 server_login_retry=0.2, dns_max_ttl=0)
    c = p.raw()
    p.admin("drain host 127.0.0.2")
    c.send(pq.query("select 1"))
    p.wait_log("closing because: host is being drained", count=3)
    dns.hosts["db.test"] = ["127.0.0.3"]
    assert c.recv_until().tags == ["SELECT 1"]
    assert {s["addr"] for s in p.servers()} == {"127.0.0.3"}


def test_drained_host_beside_one_that_is_dead(pooler, fakepg):
    """no host is left: who waits is told what is wrong with the other"""
    f = fakepg()
    p = pooler({"p0": "host=127.0.0.1,127.0.0.9 port=%d" % f.port},
               server_login_retry=0.2)
    c = p.raw()
    p.admin("drain host 127.0.0.1")
    c.send(pq.query("select 1"))
    p.wait_log("127.0.0.9:%d connect failed" % f.port, count=3)
    assert p.log.count("connect failed: ") < 20
    b = p.raw()
    b.send(pq.query("select 2"))
    assert "server login has been failing" in b.recv_all().errors[0].message
    p.admin("resume host 127.0.0.1")
    assert c.recv_until().tags == ["SELECT 1"]


def test_drained_pool_keeps_no_slot_from_others(pooler, fakepg):
    """max_user_connections: who can't connect anywhere is not next in line"""
    f = fakepg(host="0.0.0.0")
    p = pooler({"p0": "host=127.0.0.1 port=%d" % f.port,
                "p1": "host=127.0.0.2 port=%d" % f.port},
               users={"app": "max_user_connections=1"})
    first, second = p.raw(), p.raw(database="p1")
    busy = p.raw(database="p1")
    busy.query("begin")
    first.send(pq.query("select 1"))
    p.wait_pool(cl_waiting=1)
    p.admin("drain host 127.0.0.1")
    busy.query("rollback")
    busy.close()
    p.admin("reconnect p1")
    assert second.query("select 1").tags == ["SELECT 1"]
    p.admin("resume host 127.0.0.1")
    assert first.recv_until().tags == ["SELECT 1"]


# --- dead hosts -----------------------------------------------------------

def test_refusing_host_of_a_list_costs_nothing(pooler, fakepg):
    """the next host is tried at once, not after server_login_retry"""
    f = fakepg()
    p = pooler({"p0": "host=127.0.0.9,127.0.0.1 port=%d" % f.port},
               server_login_retry=3600, server_lifetime=0)
    c = p.raw()
    for _ in range(6):
        c.query("select 1")
    assert len(f.logins()) >= 6
    # it is left alone until server_login_retry is over
    assert p.log.count("connect failed: Connection refused") == 1


def test_silent_host_of_a_list_has_a_head_start_only(
        pooler, fakepg, blackhole):
    """RFC 8305: the next attempt begins beside the first"""
    f = fakepg()
    hole = blackhole("127.0.0.9", f.port)
    dbs = ["p%d" % i for i in range(5)]
    p = pooler({db: "host=127.0.0.9,127.0.0.1 port=%d" % f.port
                for db in dbs},
               server_connect_timeout=60, server_login_retry=3600,
               server_lifetime=0)
    clients, times = [], []

    def took(what):
        start = time.monotonic()
        what()
        return time.monotonic() - start
    # the silent one is the first, and has 250 ms for itself
    for db in dbs:
        times.append(took(lambda db=db: clients.append(
            p.raw(database=db))))
    assert 0.2 < min(times)
    # and is left alone until server_login_retry is over
    assert min(took(lambda c=c: c.query("select 1"))
               for c in clients for _ in range(3)) < min(times)
    assert len(f.logins()) >= 15 and hole.sock
    assert "connect timeout" not in p.log


def test_dead_addresses_of_a_name_are_passed_over(
        pooler, fakepg, dns, blackhole):
    """the other addresses of the name serve, and dead ones are avoided"""
    f = fakepg()
    blackhole("127.0.0.8", f.port)
    dns.hosts["db.test"] = ["127.0.0.8", "127.0.0.9", "127.0.0.1"]
    p = with_dns(pooler, dns, "host=db.test port=%d" % f.port,
                 server_connect_timeout=60, server_login_retry=3600,
                 server_lifetime=0)
    c = p.raw()
    for _ in range(9):
        c.query("select 1")
    assert len(f.logins()) >= 9
    assert p.log.count("connect failed: Connection refused") == 1


def test_host_that_refuses_logins_is_left_for_the_next(pooler, fakepg):
    """a server that starts up sends everybody to the other"""
    import fakepg as module

    def refuse(session):
        session.send(module.error("the database system is starting up",
                                  "57P03", "FATAL"))
        raise module.Gone
    f = fakepg()
    bad = fakepg(host="127.0.0.9", port=f.port, on_login=refuse)
    p = pooler({"p0": "host=127.0.0.9,127.0.0.1 port=%d" % f.port},
               server_login_retry=3600, server_lifetime=0)
    c = p.raw()
    for _ in range(5):
        c.query("select 1")
    assert len(f.logins()) >= 5
    assert len(bad.sessions) == 1


@pytest.mark.database("load_balance_hosts")
def test_disable_stays_with_the_host_that_works(pooler, fakepg):
    """config-files.md 12: load_balance_hosts=disable"""
    f = fakepg()
    g = fakepg(host="127.0.0.9", port=f.port)
    p = pooler({"p0": "host=127.0.0.9,127.0.0.1 port=%d "
                "load_balance_hosts=disable" % f.port},
               server_login_retry=0.1, server_lifetime=0)
    c = p.raw()
    for _ in range(4):
        c.query("select 1")
    assert len(g.logins()) >= 4 and f.logins() == []
    g.close()
    for _ in range(4):
        c.query("select 1")
    assert len(f.logins()) >= 4
    assert p.show("databases", name="p0")[0]["load_balance_hosts"] == \
        "disable"


def test_all_hosts_dead_is_one_failure_of_the_pool(pooler):
    """server_login_retry paces the pool when nothing is left to try"""
    p = pooler({"p0": "host=127.0.0.8,127.0.0.9 port=1"},
               server_login_retry=3600)
    c = p.open().login("app", database="p0", wait=False)
    p.wait_log("closing because: connect failed")
    for _ in range(3):
        p.admin("show version")
    assert p.log.count("connect failed: Connection refused") == 2
    assert p.pool()["sv_login"] == 0
    assert not c.readable()


def test_removed_database_gives_up_connecting(pooler, blackhole, dns):
    """no callback after the end: lookups and connects under way"""
    hole = blackhole()
    dns.hosts["db.test"] = None
    p = pooler({"p0": "host=%s port=%d" % (hole.host, hole.port),
                "p1": "host=db.test", "p2": ""}, start=False)
    p.settings["resolv_conf"] = p.put("resolv.conf", dns.resolv_conf())
    p.start()
    clients = [p.open().login("app", database=d, wait=False)
               for d in ("p0", "p1")]
    wait_until(lambda: sum(int(r["sv_login"]) for r in
                           p.admin("show pools")) == 2)
    del p.dbs["p0"], p.dbs["p1"]
    p.reload()
    for c in clients:
        assert c.recv_all().errors[-1].message == "database removed"
    assert p.raw(database="p2").value("select 1") == "1"


def test_socket_that_cannot_be_reached_is_told(pooler, pg):
    """logging.md: sbuf_connect failed to connect"""
    p = pooler({"p0": "host=%s/none port=5" % pg.dir},
               server_login_retry=3600)
    p.open().login("app", database="p0", wait=False)
    p.wait_log(r"sbuf_connect failed to connect to .*/none/\.s\.PGSQL\.5: "
               "No such file or directory")
    p.wait_log("closing because: connect failed")
