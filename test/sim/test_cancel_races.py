# test_cancel_races.py - cancels whose server or target does as it likes.
# SPDX-License-Identifier: ISC
import re
import socket
import struct
import threading

import pq
from fakepg import FakePg, param, ready, result
from harness import wait_until

SLOW = "select slow"


class Stage:
    """A pooler over a scripted server whose slow queries the test ends."""

    def __init__(self, pooler, fakepg, dbs=None, on_cancel=None, **settings):
        self.slow, self.held = [], threading.Event()
        self.cancel_seen, self.cancel_end = [], threading.Event()
        self.fake = fakepg(handler=self._query,
                           on_cancel=on_cancel or self._cancel,
                           **settings.pop("server", {}))
        settings.setdefault("default_pool_size", 1)
        self.p = pooler(dbs=dbs or {"p0": self.fake.conn}, **settings)

    def _query(self, s, kind, body):
        if kind == "Q" and body[:-1].decode().startswith(SLOW):
            self.slow.append(s)
            return True
        return False

    def _cancel(self, s, key):
        """Keeps the connection open until the test lets it go."""
        self.cancel_seen.append((s, key))
        self.cancel_end.wait(20)

    def start(self, c, n=1):
        c.send(pq.query(SLOW))
        wait_until(lambda: len(self.slow) >= n, what="the slow query")
        return self.slow[n - 1]

    def request(self, c):
        cc = self.p.open()
        cc.send(pq.untyped(pq.CANCEL_REQUEST, c.key))
        return cc

    def wait_seen(self, n):
        wait_until(lambda: len(self.cancel_seen) >= n,
                   what="%d requests at the server" % n)


def test_request_carries_the_key_of_the_server(pooler, fakepg):
    """pooling.md 18: the server's key, in clear"""
    # regressions: PB#38
    st = Stage(pooler, fakepg)
    c = st.p.raw()
    s = st.start(c)
    cc = st.request(c)
    st.wait_seen(1)
    assert st.cancel_seen[0][1] == s.key
    assert not cc.readable(0.1)
    st.cancel_end.set()
    assert cc.at_eof()


def test_target_is_lent_to_nobody_while_a_cancel_is_under_way(pooler,
                                                              fakepg):
    """1.18.0 #717: the cancel arrives after its query ended"""
    # regressions: PB#717, Ody a9ec09e1
    st = Stage(pooler, fakepg)
    c, other = st.p.raw(), st.p.raw()
    s = st.start(c)
    cc = st.request(c)
    st.wait_seen(1)
    s.send(result("done"))
    assert c.recv_until().check().rows == [["done"]]
    other.send(pq.query("select other"))
    st.p.wait_pool(sv_being_canceled=1, cl_waiting=1)
    # nor to the same client
    c.send(pq.query("select mine"))
    st.p.wait_pool(cl_waiting=2)
    st.cancel_end.set()
    assert other.recv_until().check().rows == [["select other"]]
    assert c.recv_until().check().rows == [["select mine"]]
    assert cc.at_eof()


def test_later_request_waits_for_the_end_of_the_first(pooler, fakepg):
    """one carrier a target: those that come later share the next one"""
    st = Stage(pooler, fakepg)
    c = st.p.raw()
    st.start(c)
    first = st.request(c)
    st.wait_seen(1)
    later = [st.request(c) for _ in range(20)]
    st.p.wait_pool(cl_active_cancel_req=1, cl_waiting_cancel_req=20,
                   sv_active_cancel=1)
    st.cancel_end.set()
    for cc in [first] + later:
        assert cc.at_eof()
    assert len(st.cancel_seen) == 2
    st.slow[0].send(result("x"))
    assert c.recv_until().check().rows == [["x"]]


def test_waiting_request_is_dropped_when_its_query_ends(pooler, fakepg):
    """#245: a queued cancel sent late"""
    # regressions: PB#245, PgCat#297, Supavisor f57e71f9
    st = Stage(pooler, fakepg)
    c, other = st.p.raw(), st.p.raw()
    s = st.start(c)
    first = st.request(c)
    st.wait_seen(1)
    late = st.request(c)
    st.p.wait_pool(cl_waiting_cancel_req=1)
    s.send(result("done"))
    assert c.recv_until().check().rows == [["done"]]
    assert late.at_eof()
    assert not first.readable(0.1)
    st.cancel_end.set()
    assert first.at_eof()
    assert other.value("select 1")
    assert len(st.cancel_seen) == 1


def test_target_released_before_the_carrier_is_connected(pooler):
    """the unsent request is dropped, its connection closed"""
    # a server that stops accepting: the next connect stays half open
    ls = socket.socket()
    ls.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    ls.bind(("127.0.0.1", 0))
    ls.listen(0)
    port = ls.getsockname()[1]
    p = pooler(dbs={"p0": "host=127.0.0.1 port=%d" % port},
               default_pool_size=1, server_tls_sslmode="disable")
    box = {}
    login = threading.Thread(target=lambda: box.update(c=p.raw()))
    login.start()
    s, _ = ls.accept()
    stuffing = []
    for _ in range(3):
        x = socket.socket()
        x.setblocking(False)
        x.connect_ex(("127.0.0.1", port))
        stuffing.append(x)
    s.settimeout(20)
    ln = struct.unpack("!i", s.recv(4, socket.MSG_WAITALL))[0]
    s.recv(ln - 4, socket.MSG_WAITALL)
    s.sendall(pq.msg("R", struct.pack("!i", 0))
              + param("server_version", "15.0")
              + pq.msg("K", struct.pack("!ii", 4711, 77)) + ready())
    login.join()
    c = box["c"]
    c.send(pq.query("select 1"))
    n = len(pq.query("select 1"))
    assert s.recv(n, socket.MSG_WAITALL) == pq.query("select 1")
    cc = p.open()
    cc.send(pq.untyped(pq.CANCEL_REQUEST, c.key))
    p.wait_pool(sv_active_cancel=1, cl_waiting_cancel_req=1)
    s.sendall(result("1"))
    assert c.recv_until().check().rows == [["1"]]
    assert cc.at_eof()
    p.wait_pool(sv_active_cancel=0, sv_being_canceled=0, sv_idle=1)
    c.send(pq.query("select 2"))
    assert s.recv(n, socket.MSG_WAITALL) == pq.query("select 2")
    s.sendall(result("2"))
    assert c.recv_until().check().rows == [["2"]]
    for x in stuffing + [ls, s]:
        x.close()


def test_server_without_key_cannot_be_asked(pooler, fakepg):
    """dropped silently; the query goes on"""
    st = Stage(pooler, fakepg, server={"send_key": False},
               log_disconnections=1)
    c = st.p.raw()
    s = st.start(c)
    assert st.request(c).at_eof()
    st.p.wait_log("closing because: bad cancel key")
    s.send(result("x"))
    assert c.recv_until().check().rows == [["x"]]
    assert st.cancel_seen == []


def test_cancel_while_parameters_are_set_hits_the_query_behind(pooler,
                                                               fakepg):
    """1.24 #298: nothing cancels the SET; what comes right behind it is what
    the client means"""
    # regressions: PB#298
    held, cancels = [], []

    def query(s, kind, body):
        if kind == "Q" and (b"TimeZone" in body or b"after" in body):
            held.append((s, body))
            return True
        return False

    def cancel(s, key):
        cancels.append(key)
        wait_until(lambda: len(held) == 2, what="the query")
    fake = fakepg(handler=query, on_cancel=cancel)
    p = pooler(dbs={"p0": fake.conn})
    c = p.raw(TimeZone="Asia/Tokyo")
    c.send(pq.query("select after"))
    wait_until(lambda: held, what="the SET")
    cc = p.open()
    cc.send(pq.untyped(pq.CANCEL_REQUEST, c.key))
    p.wait_pool(cl_waiting_cancel_req=1, sv_active_cancel=0)
    s, body = held[0]
    assert cancels == []
    s.send(s.answer_query(body[:-1].decode()))
    assert cc.at_eof()
    assert len(cancels) == 1
    s.send(result("x"))
    assert c.recv_until().check().rows == [["x"]]


def test_target_that_closes_with_a_cancel_under_way(pooler, fakepg):
    """1.19.1 #849: the server goes in any order"""
    # regressions: PB#849, PB#847
    st = Stage(pooler, fakepg, log_disconnections=1)
    for n in range(1, 4):
        c = st.p.raw()
        s = st.start(c, n)
        sent = st.request(c)
        st.wait_seen(n)
        late = st.request(c)
        st.p.wait_pool(cl_waiting_cancel_req=1)
        s.sock.shutdown(socket.SHUT_RDWR)
        assert c.recv_all().errors[0].message == "server conn crashed?"
        assert late.at_eof()
        assert not sent.readable(0.1)
        st.cancel_end.set()
        assert sent.at_eof()
        wait_until(lambda: all(x.ended for x, _ in st.cancel_seen))
        st.cancel_end.clear()
    st.p.wait_pool(sv_active_cancel=0, sv_being_canceled=0,
                   cl_active_cancel_req=0, cl_waiting_cancel_req=0)


def test_client_that_leaves_with_its_cancel_under_way(pooler, fakepg):
    """1.19.0 #815: its server is not lent before the end either"""
    # regressions: PB#815
    st = Stage(pooler, fakepg)
    c = st.p.raw()
    s = st.start(c)
    cc = st.request(c)
    st.wait_seen(1)
    s.send(result("x"))
    c.recv_until()
    c.abort()
    other = st.p.raw()
    other.send(pq.query("select other"))
    st.p.wait_pool(sv_being_canceled=1, cl_waiting=1)
    st.cancel_end.set()
    assert other.recv_until().check().rows == [["select other"]]
    assert cc.at_eof()


def test_carrier_without_end_costs_the_target_its_reuse(pooler, fakepg):
    """nobody knows whether the signal is still to come"""
    st = Stage(pooler, fakepg, log_disconnections=1)
    c = st.p.raw()
    s = st.start(c)
    cc = st.request(c)
    st.wait_seen(1)
    s.send(result("x"))
    assert c.recv_until().check().rows == [["x"]]
    st.p.wait_pool(sv_being_canceled=1)
    # for the carrier only: it counts from its start, and for logins, too
    st.p.admin("set server_connect_timeout = 1")
    assert cc.at_eof()
    st.p.admin("set server_connect_timeout = 60")
    assert c.value("select 1") == "select 1"
    st.p.wait_log("closing because: close_needed")
    assert len(st.fake.logins()) == 2
    st.cancel_end.set()


def test_carrier_that_is_refused_drops_its_requests(pooler, fakepg):
    """silently, and the query goes on"""
    # regressions: PB#1383
    st = Stage(pooler, fakepg, log_disconnections=1)
    c = st.p.raw()
    s = st.start(c)
    st.fake.sock.shutdown(socket.SHUT_RDWR)
    st.fake.sock.close()
    for _ in range(3):
        assert st.request(c).at_eof()
    st.p.wait_log("closing because: failed cancel request", count=3)
    s.send(result("x"))
    assert c.recv_until().check().rows == [["x"]]
    st.p.wait_pool(sv_active_cancel=0, cl_waiting_cancel_req=0)


def test_bytes_from_the_server_do_not_end_a_carrier(pooler, fakepg):
    """only the end of the connection says that the signal was sent"""
    # regressions: PB#927, PB#822
    def talk(s, key):
        s.send(b"E\0\0\0\5\0" * 10)
        st.cancel_seen.append((s, key))
        st.cancel_end.wait(20)
    st = Stage(pooler, fakepg, on_cancel=talk)
    c, other = st.p.raw(), st.p.raw()
    s = st.start(c)
    cc = st.request(c)
    st.wait_seen(1)
    s.send(result("x"))
    c.recv_until()
    other.send(pq.query("select other"))
    st.p.wait_pool(sv_being_canceled=1, cl_waiting=1)
    assert not cc.readable(0.1)
    st.cancel_end.set()
    assert other.recv_until().check().rows == [["select other"]]
    assert cc.at_eof()


def test_host_list_sends_it_to_the_server_that_runs_the_query(pooler,
                                                              fakepg):
    """pooling.md 18 [Q]: not to the next host of the rotation"""
    # regressions: PB#38
    slow = []

    def query(s, kind, body):
        if kind == "Q" and body.startswith(SLOW.encode()):
            slow.append(s)
            return True
        return False
    one = fakepg(handler=query)
    # the same port on another loopback address
    two = FakePg(query)
    try:
        two.sock.shutdown(socket.SHUT_RDWR)
        two.sock.close()
        two.sock = socket.socket()
        two.sock.bind(("127.0.0.2", one.port))
        two.sock.listen(64)
        two.thread = threading.Thread(target=two._accept, daemon=True)
        two.thread.start()
        p = pooler(dbs={"p0": "host=127.0.0.1,127.0.0.2 port=%d"
                              % one.port}, default_pool_size=4)
        clients = []
        for n in range(1, 5):
            c = p.raw()
            c.send(pq.query(SLOW))
            wait_until(lambda: len(slow) == n)
            clients.append((c, slow[-1]))
        assert {s.server for _, s in clients} == {one, two}
        for c, s in clients:
            before = len(one.cancels()), len(two.cancels())
            cc = p.open()
            cc.send(pq.untyped(pq.CANCEL_REQUEST, c.key))
            assert cc.at_eof()
            assert s.server.cancels()[-1] == s.key
            after = len(one.cancels()), len(two.cancels())
            assert sum(after) == sum(before) + 1
            s.send(result("x"))
            c.recv_until().check()
    finally:
        two.close()


def test_prefix_of_a_carrier_in_the_log(pooler, fakepg):
    """logging.md 3, 6: the pool's, and the reasons"""
    st = Stage(pooler, fakepg, log_disconnections=1)
    c = st.p.raw()
    s = st.start(c)
    cc = st.request(c)
    st.wait_seen(1)
    st.cancel_end.set()
    assert cc.at_eof()
    st.p.wait_log(r"S-0x[0-9a-f]+: p0/app@127.0.0.1:%d closing because: "
                  "successfully sent cancel request" % st.fake.port)
    assert re.search(r"C-0x[0-9a-f]+: p0/\(nouser\)@127.0.0.1:\d+ closing "
                     "because: successfully sent cancel request", st.p.log)
    s.send(result("x"))
    c.recv_until()
