# test_faults.py - every fault at every place of a few conversations.
# SPDX-License-Identifier: ISC
"""Whatever a server, or a client, does in the middle of anything: the client
gets what it should, up to that place, and then a clean end; who comes next is
served, by the only server there is, and gets nothing of it.

Places are all ends of messages, and some bytes between (all with BIG=1).
"""
import struct

import pytest

import fakepg
import pq
from harness import BIG, REFERENCE, wait_until

pytestmark = pytest.mark.skipif(REFERENCE, reason="newer than that")

STEP = 1 if BIG else 7

BATCH = [pq.parse("select $1"), pq.describe("S"), pq.bind("", ("1",)),
         pq.describe("P"), pq.execute(), pq.sync()]
NAMED = [pq.parse("select 2", "st"), pq.bind("st"), pq.execute(),
         pq.close("S", "st"), pq.parse("select 2", "again"),
         pq.bind("again"), pq.execute(), pq.sync()]
# what the client sends in one go
TALKS = {
    "query": [pq.query("select 1; select 2")],
    "queries": [pq.query("select 1"), pq.query(""), pq.query("select 3")],
    "batch": BATCH,
    "batches": BATCH + BATCH,
    "named": NAMED,
    "block": [pq.query("begin"), *BATCH, pq.query("commit")],
    "copy in": [pq.query("copy"), pq.copy_data(b"one\n"),
                pq.copy_data(b"two\n"), pq.copy_done()],
    "copy out": [pq.query("dump")],
    "call": [pq.function_call(1, ["x"]), pq.query("select 4")],
    "failed": [pq.parse("select 1"), pq.bind(), pq.execute("bad"),
               pq.execute("bad"), pq.sync(), pq.query("select 5")],
}


def serve(sess, kind, body):
    """As the default, with COPY both ways, and portals called "bad"."""
    skipping, sess.skipping = getattr(sess, "skipping", False), False
    if skipping and kind != "S":
        sess.skipping = True
    elif kind == "Q" and body == b"copy\0":
        sess.send(fakepg.copy_in())
    elif kind == "c":
        sess.send(fakepg.complete("COPY 2"), fakepg.ready())
    elif kind == "Q" and body == b"dump\0":
        sess.send(pq.msg("H", b"\0\0\1\0\0"), pq.copy_data(b"one\n"),
                  pq.copy_data(b"two\n"), pq.msg("c"),
                  fakepg.complete("COPY 2"), fakepg.ready())
    elif kind == "E" and body.startswith(b"bad"):
        sess.skipping = True
        sess.send(fakepg.error("no such portal", "34000"))
    elif kind != "d":
        return False
    return True


class Stage:
    """A pool of one server; each talk with a client of its own."""

    def __init__(self, pooler, make):
        self.f = make(handler=serve)
        self.p = pooler({"p0": self.f.conn}, default_pool_size=1,
                        server_login_retry=0.05, log_connections=0,
                        log_disconnections=0, query_wait_notify=0,
                        max_packet_size=1000000)
        self.console = self.p.console()
        self.other = self.p.raw()
        self.other.query("select 'warm'")

    def talk(self, data, fault):
        """(all that a client gets for data, did the pooler close it?)"""
        c = self.p.raw()
        self.f.fault = fault
        n = sum(k in "QSF" for k, _ in pq.split_messages(data)[0])
        got, closed, c.buf = b"", False, bytearray()
        try:
            c.send(data)
            while pq.split_messages(got)[0][n - 1:] == [] or n > sum(
                    k == "Z" for k, _ in pq.split_messages(got)[0]):
                c._fill(1)
                got += bytes(c.buf)
                c.buf.clear()
        except (pq.Closed, OSError):
            closed = True
            # what it still has to answer must not meet the next fault
            wait_until(lambda: not fault.session or fault.session.ended)
        self.f.fault = None
        c.close(polite=False)
        return got, closed

    def settle(self):
        """Everything that was sent before has been dealt with."""
        for _ in range(2):
            self.console.query("show version")

    def check_next(self):
        """the pool is as good as before"""
        want = "select 'mine'"
        assert self.other.query(want).rows == [[want]]

    def finish(self):
        self.other.close()
        self.p.wait_pool(sv_active=0, sv_login=0, cl_waiting=0, cl_active=0)
        assert len(self.p.servers()) <= 1


@pytest.fixture
def stage(pooler, fakepg):
    s = Stage(pooler, fakepg)
    yield s
    s.finish()


def ends(data):
    """Where the messages of data end, its beginning included."""
    at, out = 0, [0]
    for _, body in pq.split_messages(data)[0]:
        at += 5 + len(body)
        out.append(at)
    return out


def places(data):
    return sorted(set(ends(data)[:-1]) | set(
        range(1, len(data), STEP)))


def right(stage, data, known=True):
    """(what the client gets, what the server sends) without any fault; and
    has the server got the statements already?
    """
    if known:
        stage.talk(data, fakepg.Fault())
    fault = fakepg.Fault()
    got, closed = stage.talk(data, fault)
    assert not closed
    return got, fault.sent


def check_end(got, want, at, texts):
    """A prefix of want; the pooler adds an error only to whole messages."""
    n = 0
    while n < min(len(got), len(want)) and got[n] == want[n]:
        n += 1
    rest = got[n:]
    if not rest:
        return
    whole = max(e for e in ends(want) if e <= n)
    messages, cut = pq.split_messages(got[whole:])
    assert cut == b"" and messages, (at, got[whole:])
    for kind, body in messages:
        f = pq.fields(body)
        assert kind == "E" and f["M"] in texts, (at, kind, f)


GONE = {"server conn crashed?", "server connection closed"}


@pytest.mark.parametrize("how", ["hang_up", "reset"])
@pytest.mark.parametrize("name", TALKS)
def test_server_that_vanishes_anywhere(stage, name, how):
    """pooling.md 13 (families 2, 4): cut at every byte of its reply"""
    # regressions: PB#700, PB#730, PB#1376, PgP 05208cd74
    data = b"".join(TALKS[name])
    want, sent = right(stage, data, known=False)
    for at in places(sent):
        got, closed = stage.talk(data, fakepg.Fault(
            at, lambda sess: getattr(sess, how)()))
        assert closed, at
        check_end(got, want, at, GONE)
        stage.check_next()


ASIDE = {
    "notice": fakepg.notice("by the way"),
    "tracked parameter": fakepg.param("TimeZone", "Asia/Tokyo"),
    "other parameter": fakepg.param("is_superuser", "on"),
    "notification": pq.msg("A", struct.pack("!i", 1) + b"ch\0what\0"),
    "long notice": fakepg.notice("n" * 100000),
}


@pytest.mark.parametrize("aside", ASIDE)
@pytest.mark.parametrize("name", TALKS)
def test_asides_anywhere_are_passed_on(stage, name, aside):
    """Message Flow, Asynchronous Operations; 14 (PgDog #705, PB 1.5)"""
    # regressions: PB 1.5 notify, Ody 644e23e4, PgDog#705
    data, more = b"".join(TALKS[name]), ASIDE[aside]
    want, sent = right(stage, data)
    whole = pq.split_messages(want)[0]
    for at in ends(sent)[:-1]:
        got, closed = stage.talk(data, fakepg.Fault(
            at, lambda sess: sess.sock.sendall(more)))
        assert not closed, at
        messages = pq.split_messages(got)[0]
        assert [m for m in messages if m not in pq.split_messages(more)[0]] \
            == whole
        assert len(messages) == len(whole) + 1, at
        stage.check_next()


@pytest.mark.parametrize("name", TALKS)
def test_fatal_error_anywhere_is_told_first(stage, name):
    """pooling.md 13, 22 (PgDog #841, PgP 57P01): then the end"""
    # regressions: PgDog#841
    data = b"".join(TALKS[name])
    want, sent = right(stage, data, known=False)

    def die(sess):
        sess.sock.sendall(fakepg.error("by an administrator", "57P01",
                                       "FATAL"))
        sess.hang_up()
    for at in ends(sent)[:-1]:
        got, closed = stage.talk(data, fakepg.Fault(at, die))
        assert closed, at
        check_end(got, want, at, GONE | {"by an administrator"})
        assert b"by an administrator" in got
        stage.check_next()


HOSTILE = {
    "unknown type": pq.msg("!", b"what"),
    "frontend type": pq.msg("Q", b"select\0"),
    "short length": b"D\0\0\0\3",
    "negative length": b"D\xff\xff\xff\xff",
    "huge length": b"D\x7f\xff\xff\xff",
    "login message": pq.msg("R", struct.pack("!i", 0)),
    "bad status": pq.msg("Z", b""),
    "long ready": pq.msg("Z", b"II"),
    "bad parameter": pq.msg("S", b"TimeZone"),
}


@pytest.mark.parametrize("hostile", HOSTILE)
@pytest.mark.parametrize("name", ["query", "batch", "named", "copy in"])
def test_nonsense_anywhere_ends_both(stage, name, hostile):
    """client-errors.md 5 (family 1): hostile server"""
    # regressions: PgCat d66b377, family 1: splits, lengths, order
    data = b"".join(TALKS[name])
    want, sent = right(stage, data, known=False)
    for at in ends(sent)[:-1]:
        got, closed = stage.talk(data, fakepg.Fault(
            at, lambda sess: sess.sock.sendall(HOSTILE[hostile])))
        assert closed, at
        check_end(got, want, at, {"unknown pkt", "bad pkt header",
                                  "broken ParameterStatus packet"})
        stage.check_next()


ODD = {
    "ready": fakepg.ready(), "open block": fakepg.ready("T"),
    "error": fakepg.error("out of turn"),
    "no code": fakepg.error("out of turn", None),
    "empty error": pq.msg("E", b"\0"), "complete": fakepg.complete("ODD"),
    "parsed": pq.msg("1"), "copy": fakepg.copy_in(), "row": fakepg.data_row(1),
    "end of copy": pq.msg("c"),
}


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("name", TALKS)
def test_replies_nobody_asked_for_hurt_nobody_else(stage, name, odd):
    """CVE-2026-6666; PgDog #1356, PgCat #137: whatever this client makes of
    it, or never gets, the next one is served
    """
    # regressions: yb#29428, PgCat#137, PgDog#1356
    data = b"".join(TALKS[name])
    sent = right(stage, data)[1]
    for at in ends(sent):
        c = stage.p.raw()
        stage.f.fault = fakepg.Fault(
            at, lambda sess: sess.sock.sendall(ODD[odd]))
        c.send(data)
        # all of it was heard, or it has ended; else it might be taken for
        # an answer to the next client
        wait_until(lambda: len(stage.f.fault.sent) >= len(sent)
                   or stage.f.sessions[-1].ended)
        stage.settle()
        stage.f.fault = None
        c.close(polite=False)
        stage.check_next()


@pytest.mark.parametrize("how", ["close", "abort", "terminate"])
@pytest.mark.parametrize("name", TALKS)
def test_client_that_leaves_anywhere(stage, name, how):
    """pooling.md 13 (family 4; PgDog #805, #848, pgagroal #708)"""
    # regressions: PB#846, PB#801, Ody 3901886e, PgDog#848, pgagroal#708,
    #   family 4: leaving in every state
    data = b"".join(TALKS[name])
    right(stage, data)
    for at in range(0, len(data) + 1, STEP):
        c = stage.p.raw()
        c.send(data[:at])
        if how == "abort":
            c.abort()
        else:
            c.close(polite=how == "terminate")
        stage.check_next()


class Cut:
    """A socket that hangs up once it has sent so many bytes."""

    def __init__(self, sess, left):
        self.sess, self.sock, self.left, self.sent = sess, sess.sock, left, 0

    def sendall(self, data):
        self.sent += len(data)
        if self.left is not None and self.left < self.sent:
            self.sess.sock = self.sock
            self.sock.sendall(data[:self.left - self.sent])
            self.sess.hang_up()
        self.sock.sendall(data)

    def __getattr__(self, name):
        return getattr(self.sock, name)


@pytest.mark.parametrize("auth", ["trust", "md5", "scram"])
def test_server_that_vanishes_during_login(pooler, fakepg, auth):
    """pooling.md 10 (families 3, 4): the next attempt serves who waits"""
    f = fakepg(auth=auth, password="apppw")
    p = pooler({"*": f.conn}, server_login_retry=0.02, log_connections=0,
               log_disconnections=0)
    cuts, at = [], []

    def on_login(sess):
        cuts.append(Cut(sess, at.pop() if at else None))
        sess.sock = cuts[-1]
    f.on_login = on_login
    p.raw(database="whole")
    for n in range(0, cuts[0].sent, 1 if BIG else 29):
        at.append(n)
        c = p.raw(database="d%d" % n)
        assert c.value("select 1") == "select 1"
        c.close()
        assert not at
