# test_peer.py - cancel requests that arrive at the wrong process of a group.
# SPDX-License-Identifier: ISC
import os
import re
import signal
import socket
import subprocess
import sys
import threading

import pytest

import harness
import pq
from harness import REFERENCE, free_port, wait_until

pytestmark = pytest.mark.skipif(REFERENCE, reason="newer than that")


def is_sleeping(pg, n=1):
    return wait_until(lambda: len(pg.backends(
        where="state='active' and strpos(query, 'pg_sleep(6') > 0")) == n)


def peers_text(entries):
    return "[peers]\n" + "".join("%s = %s\n" % e for e in entries.items())


def tcp(p):
    return "host=127.0.0.1 port=%d" % p.port


def unix(p):
    return "host=%s port=%d" % (p.dir, p.port)


@pytest.fixture
def group(pooler):
    """Processes 1..n that share one PostgreSQL and know each other."""
    def make(n, ids=None, where=tcp, **settings):
        ids = ids or list(range(1, n + 1))
        procs = [pooler(start=False, peer_id=i, log_disconnections=1,
                        **settings) for i in ids]
        text = peers_text({i: where(p) for i, p in zip(ids, procs)})
        for p in procs:
            p.extra = text
            p.start()
        return procs
    return make


def sleeping_client(p, pg, n=1, **kw):
    c = p.raw(**kw)
    c.send(pq.query("select pg_sleep(60)"))
    is_sleeping(pg, n)
    return c


def request(p, key):
    c = p.open()
    c.send(pq.untyped(pq.CANCEL_REQUEST, key))
    return c


def peer_pool(p, id_):
    for r in p.admin("show peer_pools"):
        if int(r["peer_id"]) == id_:
            return {k: int(v) for k, v in r.items()}
    return None


def wait_peer_pool(p, id_, **want):
    wait_until(lambda: (row := peer_pool(p, id_)) is not None and all(
        row[k] == v for k, v in want.items()),
        what="peer pool %r" % want)


QUIET = dict(cl_active_cancel_req=0, cl_waiting_cancel_req=0,
             sv_active_cancel=0, sv_login=0)


class FakePeer:
    """Takes connections; the test reads and closes them."""

    def __init__(self):
        self.port = free_port()
        self.sock = socket.socket()
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.sock.bind(("127.0.0.1", self.port))
        self.sock.listen(2000)
        self.sock.settimeout(20)
        self.taken = []

    @property
    def conn(self):
        return "host=127.0.0.1 port=%d" % self.port

    def take(self):
        s, _ = self.sock.accept()
        s.settimeout(20)
        self.taken.append(s)
        data = b""
        while len(data) < 16:
            more = s.recv(16 - len(data))
            if not more:
                break
            data += more
        return s, data

    def nobody_else(self, seconds=0.5):
        self.sock.settimeout(seconds)
        try:
            self.sock.accept()
            return False
        except TimeoutError:
            return True
        finally:
            self.sock.settimeout(20)

    def close(self):
        for s in self.taken + [self.sock]:
            s.close()


@pytest.fixture
def fake_peer():
    made = []

    def make():
        made.append(FakePeer())
        return made[-1]
    yield make
    for f in made:
        f.close()


def key_of(id_, budget=3, tail=b"\x11\x22\x33\x44\xfc"):
    return bytes([0x5a, id_ & 0xff, id_ >> 8]) + tail[:4] + bytes(
        [tail[4] & 0xfc | budget])


HEAD = b"\0\0\0\x10\x04\xd2\x16\x2e"


# --- the key ---

@pytest.mark.setting("peer_id")
@pytest.mark.parametrize("id_", [1, 255, 256, 0x1234, 16383, 65535])
def test_key_carries_the_id_and_a_full_budget(pooler, id_):
    """pooling.md 18, "Client key" """
    p = pooler(peer_id=id_)
    for k in {p.raw().key for _ in range(5)}:
        assert k[0] & 0x80 == 0
        assert (k[1], k[2]) == (id_ & 0xff, id_ >> 8)
        assert k[7] & 3 == 3


# --- the way ---

@pytest.mark.peer("host", "port")
@pytest.mark.parametrize("where", [tcp, unix])
def test_cancel_at_the_wrong_process_reaches_the_right_one(group, pg,
                                                           where):
    """pooling.md 18"""
    a, b = group(2, where=where)
    for owner, other in ((a, b), (b, a)):
        c = sleeping_client(owner, pg)
        cc = request(other, c.key)
        assert c.recv_until().errors[0].code == "57014"
        assert cc.at_eof()
        assert c.value("select 1") == "1"
        wait_peer_pool(other, 2 if owner is b else 1, **QUIET)


def test_own_process_needs_no_peer(group, pg):
    """the own id in [peers] is not used"""
    a, b = group(2)
    c = sleeping_client(a, pg)
    pq.send_cancel(a.port, c.key)
    assert c.recv_until().errors[0].code == "57014"
    assert a.admin("show peer_pools") == []
    assert b.admin("show peer_pools") == []


@pytest.mark.parametrize("budget", [0, 1, 2, 3])
def test_owner_knows_its_key_with_any_budget(pooler, pg, budget):
    """pooling.md 18 step 2"""
    p = pooler(peer_id=5)
    c = sleeping_client(p, pg)
    pq.send_cancel(p.port, c.key[:7] + bytes([c.key[7] & 0xfc | budget]))
    assert c.recv_until().errors[0].code == "57014"


def test_three_processes_hit_the_right_client_only(group, pg):
    """each client's cancel through each process, under load"""
    procs = group(3, where=unix, default_pool_size=4)
    clients = []
    for p in procs:
        for _ in range(2):
            clients.append((p, p.raw()))
    for via in procs:
        for i, (_, c) in enumerate(clients):
            for _, x in clients:
                x.send(pq.query("select pg_sleep(60)"))
            is_sleeping(pg, len(clients))
            cc = request(via, c.key)
            assert c.recv_until().errors[0].code == "57014"
            assert cc.at_eof()
            is_sleeping(pg, len(clients) - 1)
            for p, x in clients[:i] + clients[i + 1:]:
                assert not x.readable()
                pq.send_cancel(p.port, x.key)
                assert x.recv_until().errors[0].code == "57014"


def test_waiting_client_of_another_process_is_cancelled(group):
    """the request is processed there like one that came directly"""
    a, b = group(2, default_pool_size=1)
    holder = a.raw()
    holder.query("begin")
    c = a.raw()
    c.send(pq.query("select 1"))
    a.wait_pool(cl_waiting=1)
    pq.send_cancel(b.port, c.key)
    assert c.recv_until().errors[0].code == "57014"
    assert not holder.readable()
    holder.query("commit")
    assert c.value("select 2") == "2"


def test_console_of_another_process_is_reached(group):
    """admin-console.md 4.12, through a peer"""
    a, b = group(2)
    holder = a.raw()
    holder.query("begin")
    con = a.console()
    con.send(pq.query("pause"))
    wait_until(lambda: [r["value"] for r in a.admin("show state")
                        if r["key"] == "paused"] == ["yes"])
    pq.send_cancel(b.port, con.key)
    assert con.recv_until().errors
    holder.query("commit")
    assert holder.value("select 1") == "1"


def test_chain_of_processes_is_followed(pooler, pg):
    """a process that knows the next one only: two hops"""
    c = pooler(peer_id=3)
    # b's peer 3 is c; a's peer 3 is b
    b = pooler(peer_id=2, extra=peers_text({3: tcp(c)}))
    a = pooler(peer_id=1, extra=peers_text({3: tcp(b)}))
    x = sleeping_client(c, pg)
    cc = request(a, x.key)
    assert x.recv_until().errors[0].code == "57014"
    assert cc.at_eof()


def test_loop_of_processes_ends(pooler):
    """the budget is used up after three hops"""
    a = pooler(start=False, peer_id=1, log_disconnections=1)
    b = pooler(start=False, peer_id=2, log_disconnections=1)
    a.extra, b.extra = peers_text({9: tcp(b)}), peers_text({9: tcp(a)})
    a.start()
    b.start()
    assert request(a, key_of(9)).at_eof()
    b.wait_log("closing because: failed to forward cancel request because "
               "its TTL was exhausted")
    assert "TTL" not in a.log


def test_request_on_the_wire(pooler, fake_peer):
    """clear text, the client's key, one hop less (pooling.md 18)"""
    f = fake_peer()
    p = pooler(peer_id=1, extra=peers_text({0x1234: f.conn}))
    for budget in (3, 2, 1):
        cc = request(p, key_of(0x1234, budget))
        s, data = f.take()
        assert data == HEAD + key_of(0x1234, budget - 1)
        wait_peer_pool(p, 0x1234, cl_active_cancel_req=1,
                       sv_active_cancel=1)
        assert not cc.readable(0.1)
        s.close()
        assert cc.at_eof()
    wait_peer_pool(p, 0x1234, **QUIET)


def test_exhausted_budget_is_dropped(pooler, fake_peer):
    """pooling.md 18 step 1"""
    f = fake_peer()
    p = pooler(peer_id=1, extra=peers_text({2: f.conn}),
               log_disconnections=1)
    assert request(p, key_of(2, 0)).at_eof()
    assert f.nobody_else()
    assert "its TTL was exhausted" in p.log


def test_unknown_peer_is_dropped(pooler):
    """pooling.md 18 step 1"""
    p = pooler(peer_id=1, log_disconnections=1,
               extra=peers_text({2: "host=127.0.0.1"}))
    assert request(p, key_of(3)).at_eof()
    p.wait_log("closing because: could not find peer to forward request to")
    assert p.admin("show peer_pools") == []


def test_without_peer_id_nothing_is_forwarded(pooler, fake_peer):
    """config-files.md 5: used only when peer_id > 0"""
    f = fake_peer()
    p = pooler(extra=peers_text({2: f.conn}))
    assert request(p, key_of(2)).at_eof()
    assert f.nobody_else()


def test_wrong_key_of_the_own_id_is_dropped(pooler, fake_peer):
    """also if the own id is in [peers]"""
    f = fake_peer()
    p = pooler(peer_id=2, extra=peers_text({2: f.conn}))
    assert request(p, key_of(2)).at_eof()
    assert f.nobody_else()
    assert p.admin("show peer_pools") == []


def test_keys_given_before_the_id_changed_still_work(pooler, pg):
    """settings.md: a changed value affects later keys"""
    p = pooler(peer_id=0)
    old = p.raw()
    for id_ in (7, 8):
        p.settings["peer_id"] = id_
        p.reload()
        old.send(pq.query("select pg_sleep(60)"))
        is_sleeping(pg)
        pq.send_cancel(p.port, old.key)
        assert old.recv_until().errors[0].code == "57014"
        old = p.raw()
        assert old.key[1] == id_


# --- failures and limits ---

@pytest.mark.parametrize("where", ["tcp", "unix", "name"])
def test_peer_that_is_down_costs_nothing_but_the_request(pooler, where):
    """silent close; the next request tries again"""
    host = {"tcp": "host=127.0.0.1 port=%d" % free_port(),
            "unix": "host=/nonexistent port=6432",
            "name": "host=no-such-host.invalid"}[where]
    p = pooler(peer_id=1, extra=peers_text({2: host}), log_disconnections=1,
               cancel_wait_timeout=3)
    for _ in range(3):
        requests = [request(p, key_of(2)) for _ in range(5)]
        for cc in requests:
            assert cc.at_eof()
    wait_peer_pool(p, 2, **QUIET)
    assert p.raw().value("select 1") == "1"


IMPOSTOR = """
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1])
s.listen()
print("listens", flush=True)
for _ in range(int(sys.argv[2])):
    c, data = s.accept()[0], b""
    while more := c.recv(100):
        data += more
    print("got", data.hex(), flush=True)
"""


@pytest.mark.root
@pytest.mark.parametrize("file_is_ours", [False, True])
def test_process_of_another_user_learns_no_key(pooler, file_is_ours):
    """config-files.md 5: a folder that all may write"""
    other = harness.pwd.getpwnam("daemon")
    p = pooler(start=False, peer_id=1, log_disconnections=1)
    shared = os.path.join(p.dir, "shared")
    os.mkdir(shared)
    os.chmod(shared, 0o1777)
    path = os.path.join(shared, ".s.PGSQL.6432")
    p.extra = peers_text({2: "host=%s port=6432" % shared})
    p.start()
    with subprocess.Popen(
            [sys.executable, "-c", IMPOSTOR, path, "2"], cwd="/", text=True,
            stdout=subprocess.PIPE, user=other.pw_uid, group=other.pw_gid,
            extra_groups=[]) as proc:
        try:
            assert proc.stdout.readline() == "listens\n"
            os.chmod(path, 0o777)
            if file_is_ours:
                harness.give(path)
            for _ in range(2):
                assert request(p, key_of(2)).at_eof()
                assert proc.stdout.readline() == "got \n"
        finally:
            proc.kill()
    p.wait_log("peer-2@unix.*no cancel request is passed on: at '%s' a "
               "process of user 'daemon' listens" % re.escape(path))
    wait_peer_pool(p, 2, **QUIET)
    assert p.raw().value("select 1") == "1"


@pytest.mark.setting("cancel_wait_timeout")
def test_silent_peer_is_given_up(pooler, fake_peer):
    """cancel_wait_timeout also bounds connections to peers"""
    f = fake_peer()
    p = pooler(peer_id=1, extra=peers_text({2: f.conn}),
               cancel_wait_timeout=1, log_disconnections=1)
    cc = request(p, key_of(2))
    s, data = f.take()
    assert len(data) == 16
    assert cc.at_eof()
    assert s.recv(1) == b""
    p.wait_log(r"S-0x[0-9a-f]+: peer-2@127.0.0.1:%d closing because: "
               "cancel_wait_timeout" % f.port)
    wait_peer_pool(p, 2, **QUIET)


@pytest.mark.peer("pool_size")
def test_pool_size_bounds_the_connections(pooler, fake_peer):
    """config-files.md 5"""
    f = fake_peer()
    p = pooler(peer_id=1, extra=peers_text({2: f.conn + " pool_size=3"}))
    keys = [key_of(2, 3, bytes([i, 0, 0, 0, 0])) for i in range(8)]
    requests = [request(p, k) for k in keys]
    seen = []
    for _ in range(3):
        seen.append(f.take())
    assert f.nobody_else()
    wait_peer_pool(p, 2, cl_active_cancel_req=3, cl_waiting_cancel_req=5,
                   sv_active_cancel=3, sv_login=0)
    while len(seen) < 8:
        seen[len(seen) - 3][0].close()
        seen.append(f.take())
    for s, _ in seen:
        s.close()
    for cc in requests:
        assert cc.at_eof()
    assert sorted(d[8:15] for _, d in seen) == sorted(k[:7] for k in keys)
    wait_peer_pool(p, 2, **QUIET)


def test_burst_for_one_client_of_a_peer_opens_few_connections(pooler,
                                                              fake_peer):
    """requests with the same key share a connection, one at a time"""
    f = fake_peer()
    p = pooler(peer_id=1, extra=peers_text({2: f.conn}))
    # all of them fit into the 1024 files that a process may have open, and
    # into cancel_wait_timeout
    requests = [request(p, key_of(2)) for _ in range(400)]
    first, _ = f.take()
    wait_until(lambda: (row := peer_pool(p, 2))["cl_active_cancel_req"]
               + row["cl_waiting_cancel_req"] == 400)
    assert f.nobody_else()
    assert p.raw().value("select 1") == "1"
    first.close()
    second, _ = f.take()
    second.close()
    for cc in requests:
        assert cc.at_eof()
    assert f.nobody_else()
    wait_peer_pool(p, 2, **QUIET)


def test_sender_that_hangs_up_is_heeded(group, pg):
    """as a PostgreSQL server would"""
    a, b = group(2)
    c = sleeping_client(a, pg)
    cc = request(b, c.key)
    cc.close(polite=False)
    assert c.recv_until().errors[0].code == "57014"


# --- configuration and what is shown ---

def test_reload_adds_changes_and_removes_peers(pooler, fake_peer):
    """config-files.md 13"""
    f, g = fake_peer(), fake_peer()
    p = pooler(peer_id=1, log_disconnections=1)
    assert request(p, key_of(2)).at_eof()
    p.extra = peers_text({2: f.conn})
    p.reload()
    one = request(p, key_of(2))
    s, _ = f.take()
    # a changed address: the connection at hand stays, the next is there
    p.extra = peers_text({2: g.conn})
    p.reload()
    two = request(p, key_of(2, 3, b"other"))
    t, _ = g.take()
    assert not one.readable(0.1)
    s.close()
    assert one.at_eof()
    assert not two.readable(0.1)
    p.extra = ""
    p.reload()
    assert two.at_eof()
    assert t.recv(1) == b""
    assert "dropping peer 2 as it does not exist anymore" in p.log
    assert re.search(r"S-0x[0-9a-f]+: peer-2@127.0.0.1:%d closing because: "
                     "peer removed" % g.port, p.log)
    assert re.search(r"C-0x[0-9a-f]+: peer-2@127.0.0.1:\d+ closing "
                     "because: peer removed", p.log)
    assert p.admin("show peer_pools") == []
    assert request(p, key_of(2)).at_eof()


def test_removal_while_it_connects(pooler):
    """a connection that is not there yet goes with its peer"""
    full = socket.socket()
    full.bind(("127.0.0.1", 0))
    full.listen(0)
    port = full.getsockname()[1]
    stuffing = []
    for _ in range(3):
        s = socket.socket()
        s.setblocking(False)
        s.connect_ex(("127.0.0.1", port))
        stuffing.append(s)
    p = pooler(peer_id=1, log_disconnections=1,
               extra=peers_text({2: "host=127.0.0.1 port=%d" % port}))
    cc = request(p, key_of(2))
    wait_peer_pool(p, 2, sv_login=1, cl_waiting_cancel_req=1)
    assert [r["state"] for r in p.admin("show servers")] == ["new"]
    p.extra = ""
    p.reload()
    assert cc.at_eof()
    assert p.admin("show servers") == []
    for s in stuffing + [full]:
        s.close()


def test_show_peers_and_peer_pools(pooler, fake_peer):
    """admin-console.md 5.12, 5.13"""
    f = fake_peer()
    p = pooler(peer_id=3, default_pool_size=7, extra=peers_text({
        12: f.conn + " pool_size=2", 3: "host=/tmp/x", 4: f.conn}))
    con = p.console()
    res = con.query("show peers")
    assert res.columns == ["peer_id", "host", "port", "pool_size"]
    assert [d[3] for d in res.desc] == [23, 25, 23, 23]
    assert res.rows == [["3", "/tmp/x", "6432", "7"],
                        ["4", "127.0.0.1", str(f.port), "7"],
                        ["12", "127.0.0.1", str(f.port), "2"]]
    res = con.query("show peer_pools")
    assert res.columns == ["peer_id", "cl_active_cancel_req",
                           "cl_waiting_cancel_req", "sv_active_cancel",
                           "sv_login"]
    assert [d[3] for d in res.desc] == [23] * 5
    assert res.rows == []
    for id_ in (12, 4):
        request(p, key_of(id_))
        f.take()
    assert con.query("show peer_pools").rows == [
        ["4", "1", "0", "1", "0"], ["12", "1", "0", "1", "0"]]
    lists = {r["list"]: r["items"] for r in con.query("show lists").dicts}
    assert (lists["peers"], lists["peer_pools"]) == ("3", "2")
    rows = con.query("show clients").dicts
    assert [(r["database"], r["state"]) for r in rows
            if r["state"].endswith("_req")] == [
                ("(nodb)", "active_cancel_req")] * 2
    rows = con.query("show servers").dicts
    assert [(r["database"], r["state"], r["port"]) for r in rows] == [
        ("(nodb)", "active_cancel", str(f.port))] * 2


def test_shutdown_waits_for_requests(pooler, fake_peer):
    """config-files.md 19: cancel requests count as clients"""
    f = fake_peer()
    p = pooler(peer_id=1, extra=peers_text({2: f.conn}))
    cc = request(p, key_of(2))
    s, _ = f.take()
    p.signal(signal.SIGTERM)
    p.wait_log("got SIGTERM")
    assert not cc.readable(0.5)
    s.close()
    assert cc.at_eof()
    assert p.wait_exit() == 0


def test_immediate_shutdown_with_requests_under_way(pooler, fake_peer):
    """nobody is told anything, nothing leaks"""
    f = fake_peer()
    p = pooler(peer_id=1, extra=peers_text({2: f.conn + " pool_size=1"}))
    sent = request(p, key_of(2))
    f.take()
    waiting = request(p, key_of(2, 3, b"other"))
    wait_peer_pool(p, 2, cl_waiting_cancel_req=1)
    p.signal(signal.SIGQUIT)
    assert sent.at_eof() and waiting.at_eof()
    assert p.wait_exit() == 0


def test_racing_cancel_through_peers_never_hits_the_other(group):
    """pooling.md 18 (#717): two clients, one server, requests elsewhere"""
    a, b, c = group(3, default_pool_size=1, where=unix)
    victim, other = a.raw(), a.raw()
    stop, count = threading.Event(), [0]

    def shoot(p):
        while not stop.is_set():
            pq.send_cancel(p.port, victim.key)
            count[0] += 1
    shooters = [threading.Thread(target=shoot, args=(p,)) for p in (b, c)]
    for t in shooters:
        t.start()
    hit = 0
    try:
        i = 0
        while i < 200 or hit == 0:
            i += 1
            victim.send(pq.query("select %d, pg_sleep(0.002)" % i))
            other.send(pq.query("select 'o%d', pg_sleep(0.001)" % i))
            mine, theirs = victim.recv_until(), other.recv_until()
            assert not theirs.errors, theirs.errors[0]
            assert theirs.rows[0][0] == "o%d" % i
            if mine.errors:
                assert mine.errors[0].code == "57014"
                hit += 1
            else:
                assert mine.rows[0][0] == str(i)
    finally:
        stop.set()
        for t in shooters:
            t.join()
    assert count[0] > 20
    a.wait_pool(sv_active=0, sv_being_canceled=0, cl_waiting=0,
                cl_active_cancel_req=0, cl_waiting_cancel_req=0)
    for p in (b, c):
        wait_peer_pool(p, 1, **QUIET)


def test_request_for_a_peer_can_be_killed(pooler, fake_peer):
    """admin-console.md 4.5: cancel-request clients too, silently"""
    f = fake_peer()
    p = pooler(peer_id=1, extra=peers_text({2: f.conn}))
    cc = request(p, key_of(2))
    s, _ = f.take()
    id_ = [r["id"] for r in p.admin("show clients")
           if r["state"] == "active_cancel_req"][0]
    p.admin("kill_client " + id_)
    assert cc.at_eof()
    s.close()
    wait_peer_pool(p, 2, **QUIET)


# --- strangers ---

def test_requests_for_a_dead_peer_keep_nobody_out(pooler, fake_peer):
    """whoever knows an id can send them (pooling.md section 3)"""
    silent = fake_peer()
    p = pooler(peer_id=1, max_client_conn=4, max_unauthenticated=6,
               cancel_wait_timeout=0,
               extra=peers_text({2: silent.conn + " pool_size=1"}))
    sent = []
    for i in range(20):
        sent.append(request(p, key_of(2, tail=bytes([i, 0, 0, 0, 0]))))
        if i == 0:
            silent.take()
        elif i >= 6:
            p.wait_log("too many cancel requests for peers", count=i - 5)
    # the oldest had to go, but for the one that the peer has been told
    wait_until(lambda: sum(bool(c.readable()) for c in sent) == 14)
    kept = [i for i, c in enumerate(sent) if not c.readable()]
    assert kept == [0] + list(range(15, 20))
    clients = [p.raw() for _ in range(4)]
    assert [c.value("select 1") for c in clients] == ["1"] * 4
