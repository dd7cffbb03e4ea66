# test_listen_programs.py - random programs of LISTEN, while others notify.
# SPDX-License-Identifier: ISC
"""Clients of a pool with few servers LISTEN and UNLISTEN in many ways, at the
same time others NOTIFY, and the pooler RECONNECTs, RELOADs, is replaced by
another process, or loses its listener (session_state=keep); or its pool keeps no
more, which is nothing to who listens. A notification's
number is drawn under a lock that is held to its commit: so numbers are in the
order of PostgreSQL's queue. Each client must hear, of each channel that it surely listens to from
one number to another, all of them, but for what lies where it is told that some may
be lost; of others none; no number twice, and none behind a greater one. A direct connection to PostgreSQL is held to the same.
SIM_PROGRAMS is how many statements a client does, SIM_SEED the first seed.
"""
import os
import random
import select
import threading

import pytest

import pq
from harness import REFERENCE
from test_takeover import successor

STEPS = int(os.environ.get("SIM_PROGRAMS", "60"))
SEED = int(os.environ.get("SIM_SEED", "1"))
CLIENTS, NOTIFIERS, CHANNELS = 5, 2, "abcd"
STATES = "forget", "clean", "keep"

pytestmark = pytest.mark.skipif(REFERENCE, reason="not so there")


class Serial:
    """Numbers of notifications, in the order of their commits."""

    def __init__(self):
        self.lock = threading.Lock()
        self.channels = []	# of number i: those it was sent to
        self.done = 0		# committed, and told so

    def send(self, run, rnd):
        with self.lock:
            n = len(self.channels)
            chans = rnd.sample(CHANNELS, rnd.choice([1, 1, 1, 2]))
            self.channels.append(chans)
            text = "; ".join("notify %s, '%d'" % (c, n) for c in chans)
            if rnd.random() < 0.1:
                text = "begin; %s; commit" % text
            run(text)
            self.done = n + 1


class Known:
    """What a client listens to: no, yes, or nobody can say, by time."""

    def __init__(self, serial):
        self.serial = serial
        self.now = dict.fromkeys(CHANNELS, False)
        self.spans = []		# channel, state, from number, to number
        self.since = dict.fromkeys(CHANNELS, 0)

    def change(self, ch, state, at):
        self.spans.append((ch, self.now[ch], self.since[ch], at))
        self.now[ch], self.since[ch] = state, at

    def asked(self, after, since=None):
        """Before the statement is sent: what may change is in doubt. In a
        transaction since it began, as PostgreSQL looks at nothing meanwhile."""
        at = self.serial.done if since is None else since
        for ch in CHANNELS:
            if after[ch] is not self.now[ch]:
                self.change(ch, None, max(at, self.since[ch]))

    def answered(self, after):
        with_all = len(self.serial.channels)
        for ch in CHANNELS:
            if self.now[ch] is None:
                self.change(ch, after[ch], with_all)


class Listener:
    """A client, and a model of what PostgreSQL makes of its statements."""

    def __init__(self, conn, serial, name):
        self.conn, self.serial, self.name = conn, serial, name
        self.known = Known(serial)
        self.heard, self.log = [], []
        self.told = []		# that it may have lost something, heard so many
        self.committed = dict.fromkeys(CHANNELS, False)
        self.pending = None	# in a transaction: what is to be
        self.saved = None	# at the savepoint
        self.failed = False
        self.begun = None	# when the transaction began
        self.last = None	# in the place of what leaves no channel

    def take(self, kind, body):
        if kind != "A":
            return
        channel, payload, _ = body[4:].split(b"\0")
        if channel == b"pgsluice.reconnected":
            self.told.append(len(self.heard))
        else:
            self.heard.append((channel.decode(), int(payload)))

    def stay(self):
        """From now on listen to something at any time."""
        self.own("listen base")
        self.last = "unlisten *; listen base"

    def read(self):
        """What is there."""
        while self.conn.readable(0):
            self.take(*self.conn.recv())

    def statement(self, rnd):
        """Text, and what is listened to after it."""
        now = dict(self.committed if self.pending is None else self.pending)
        ch, kind = rnd.choice(CHANNELS), rnd.random()
        if self.failed and kind < 0.5:
            return "rollback to s" if self.saved else "rollback"
        if kind < 0.3:
            now[ch] = True
            text = "listen %s" % ch
        elif kind < 0.5:
            now[ch] = False
            text = "unlisten %s" % ch
        elif kind < 0.55:
            now = dict.fromkeys(CHANNELS, False)
            text = self.last or "unlisten *"
        elif kind < 0.62:
            other = rnd.choice(CHANNELS)
            now[ch] = True
            now[other] = False
            text = "listen %s; unlisten %s" % (ch, other)
        elif kind < 0.66 and self.pending is None:
            now = dict.fromkeys(CHANNELS, False)
            text = self.last or "discard all"
        elif kind < 0.72 and self.pending is None:
            return "begin"
        elif kind < 0.76 and self.pending is not None:
            return "savepoint s"
        elif kind < 0.79 and self.saved is not None:
            return "rollback to s"
        elif kind < 0.86 and self.pending is not None:
            return rnd.choice(["commit", "commit", "rollback"])
        elif kind < 0.88:
            return "select 1/0"
        elif kind < 0.91:
            now[ch] = False
            text = "do $$ begin execute 'unlisten %s'; end $$" % ch
        else:
            return "select 1"
        self.after = now
        return text

    def expect(self, text):
        """What is committed after text; the state of the transaction."""
        if text == "begin":
            self.pending = dict(self.committed)
        elif text == "savepoint s" and not self.failed:
            self.saved = dict(self.pending)
        elif text == "rollback to s":
            self.pending, self.failed = dict(self.saved), False
        elif text in ("commit", "rollback"):
            if text == "commit" and not self.failed:
                self.committed = self.pending
            self.pending = self.saved = None
            self.failed = False
        elif text == "select 1/0":
            self.failed = self.pending is not None
        elif not text.startswith("s") and not self.failed:
            if self.pending is None:
                self.committed = self.after
            else:
                self.pending = self.after

    def send(self, text, extended):
        if extended and ";" not in text:
            self.conn.send(pq.parse(text), pq.bind(), pq.execute(), pq.sync())
        else:
            self.conn.send(pq.query(text))

    def receive(self):
        for m in self.conn.recv_until().messages:
            self.take(*m)

    def own(self, text):
        """It hears its own, too."""
        self.conn.send(pq.query(text))
        self.receive()

    def step(self, rnd):
        if self.pending is None and rnd.random() < 0.1:
            self.serial.send(self.own, rnd)
        text = self.statement(rnd)
        if text == "rollback" and self.pending is None:
            text = "select 1"
        self.log.append("%d %s" % (self.serial.done, text))
        self.read()
        if text == "begin":
            self.begun = self.serial.done
        self.expect(text)
        self.known.asked(self.committed, self.begun)
        if self.pending is None:
            self.begun = None
        self.send(text, rnd.random() < 0.3)
        if rnd.random() < 0.15:
            self.conn.send(pq.query("select 2"))
            self.receive()
        self.receive()
        self.known.answered(self.committed)

    def finish(self):
        if self.pending is not None:
            self.log.append("rollback")
            self.expect("rollback")
            self.conn.send(pq.query("rollback"))
            self.receive()
        self.known.asked(dict.fromkeys(CHANNELS, None))
        self.known.answered(self.known.now)

    def is_told(self, order, n):
        """Where n should have been heard, it was told that it may be lost."""
        return any(order[:at][-1:] < [n] and (
            at == len(order) or n < order[at]) for at in self.told)

    def check(self):
        order = [n for _, n in self.heard]
        assert order == sorted(order), (self.name, order, self.log)
        heard = set(self.heard)
        assert len(heard) == len(self.heard), (self.name, self.heard)
        for ch, state, begin, end in self.known.spans:
            for n in range(begin, end):
                if state is None or ch not in self.serial.channels[n]:
                    continue
                if state and (ch, n) not in heard and \
                        self.is_told(order, n):
                    continue
                assert ((ch, n) in heard) == state, "\n".join([
                    "%s: %s, %d: %s from %d to %d" % (
                        self.name, ch, n, state, begin, end),
                    "told %r" % self.told, "heard %r" % self.heard] + self.log[-20:])


def notify_for_ever(conn, serial, rnd, stop):
    while not stop.is_set():
        serial.send(conn.query, rnd)
        stop.wait(rnd.choice([0, 0, 0.001, 0.004]))


def run(listener, rnd, stop, errors):
    try:
        for _ in range(STEPS):
            listener.step(rnd)
            if rnd.random() < 0.3:
                select.select([], [], [], rnd.random() / 100)
        listener.finish()
    except Exception as e:
        errors.append("%s: %r %r" % (listener.name, e, listener.log[-10:]))


def fence(listener, conn):
    """All that was before this, it has heard."""
    listener.conn.send(pq.query("listen fence"))
    listener.receive()
    told = None
    while ("fence", -1) not in listener.heard:
        if told != len(listener.told):
            # while nobody listened it was lost
            told = len(listener.told)
            conn.query("notify fence, '-1'")
        listener.take(*listener.conn.recv())
    listener.heard.remove(("fence", -1))


def disturb(pooler, p, pg, how, rnd):
    """Returns who serves now."""
    if how == "any":
        how = rnd.choice(["reconnect", "reload", "suspend", "restart"])
    if how == "reconnect":
        p.admin("reconnect")
    elif how == "reload":
        p.settings["server_idle_timeout"] = rnd.randrange(100, 200)
        p.reload()
    elif how == "suspend":
        with p.console() as k:
            k.query("suspend")
            k.query("resume")
    elif how == "state":
        p.admin("set session_state = %s" % rnd.choice(STATES))
    elif how == "kill":
        for s in p.show("servers", state="listening"):
            pg.terminate(s["remote_pid"])
    elif how == "restart":
        q = successor(pooler, p)
        q.start()
        assert p.wait_exit() == 0
        return q
    return p


@pytest.mark.parametrize("how", ["", "reconnect", "suspend", "restart",
                                 "any", "kill", "state", "direct"])
def test_each_hears_all_that_it_listens_to(pooler, pg, how):
    """once, and in the order of PostgreSQL"""
    rnd = random.Random("%s %d" % (how, SEED))
    p = None if how == "direct" else pooler(
        default_pool_size=4, session_state="keep", max_client_conn=50,
        server_login_retry=0.01, session_state_check=rnd.choice(
            ["told", "told", "always"]))
    serial, stop, errors = Serial(), threading.Event(), []

    def direct():
        return pq.Conn(port=pg.port).login("app", database="p0")

    crew = [Listener(direct() if p is None else p.raw(), serial, "m%d" % i)
            for i in range(CLIENTS)]
    if how == "state":
        for m in crew:
            m.stay()
    others = [direct() for _ in range(NOTIFIERS)]
    threads = [threading.Thread(target=notify_for_ever, args=(
        c, serial, random.Random(rnd.random()), stop)) for c in others]
    crews = [threading.Thread(target=run, args=(
        m, random.Random(rnd.random()), stop, errors)) for m in crew]
    for t in threads + crews:
        t.start()
    while any(t.is_alive() for t in crews):
        if p is not None:
            p = disturb(pooler, p, pg, how, rnd)
        select.select([], [], [], 0.05)
    stop.set()
    for t in threads + crews:
        t.join()
    assert errors == []
    for m in crew:
        fence(m, others[0])
        m.check()
        # a process waits for marks on their way for a quarter of a second
        assert not m.told or how in ("restart", "any", "kill")
    for c in [m.conn for m in crew] + others:
        c.close()
