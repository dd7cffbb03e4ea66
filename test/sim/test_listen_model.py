# test_listen_model.py - all interleavings of a small model of LISTEN.
# SPDX-License-Identifier: ISC
"""What listener.c and listener_take.c do, in a few lines, and
PostgreSQL by what is relied on: one queue; a connection tells what it listens
to in its order, at any time, and answers a query behind all that was committed
before it was sent. A client says LISTEN y and UNLISTEN x while others notify
and the connection is replaced by another. (spec/pooling.md section 25)
"""
import os

import pytest

STATEMENTS = (("y", True), ("x", False))
ON, COME, GO = "on", "to come", "to go"


class Conn:
    """A backend that listens, and what is on its way from and to it."""
    def __init__(self, pos):
        self.pos, self.chans, self.todo, self.out = pos, (), (), ()
        self.knows, self.asked = (), ()	# the pooler's view of chans

    def key(self):
        return (self.pos, self.chans, self.todo, self.out, self.knows,
                self.asked)

    def copy(self):
        c = Conn(0)
        c.pos, c.chans, c.todo, c.out, c.knows, c.asked = self.key()
        return c


class World:
    def __init__(self, notify, reconnects):
        self.queue, self.notify, self.reconnects = (), notify, reconnects
        self.cur, self.next = Conn(0), None
        self.cur.chans = self.cur.knows = ("m", "x")
        self.past, self.stage, self.ahead = (), "", ()
        self.subs, self.settles = (("x", ON),), 0
        self.asked = self.answered = 0
        self.step, self.sent = 0, None	# of the client
        self.bounds, self.heard = (), ()

    def key(self):
        return (self.queue, self.notify, self.reconnects, self.cur.key(),
                self.next and self.next.key(), self.past, self.stage,
                self.ahead, self.subs, self.settles, self.asked,
                self.answered, self.step, self.sent, self.bounds, self.heard)

    def copy(self):
        w = World.__new__(World)
        w.__dict__.update(self.__dict__)
        w.cur, w.next = self.cur.copy(), self.next and self.next.copy()
        return w

    # --- the pooler ---

    def tell(self, n, ch):
        if dict(self.subs).get(ch, COME) != COME:
            self.heard += ((n, ch),)

    def take(self, c, message):
        if message[0] == "answer":
            c.knows, c.asked = tuple(sorted(c.asked)), ()
            if self.stage == "marked" and c is self.next:
                self.stage = "told"
            elif self.stage == "asked" and c is self.cur:
                self.stage = "answered"
            elif c is self.cur:
                self.answered = self.asked
            return
        n, ch = message
        which = "cur" if c is self.cur else "next"
        if ch == "m":
            self.past += (which,)
        elif which == "cur" and "cur" not in self.past:
            self.tell(n, ch)
        elif which == "next" and "next" in self.past:
            self.ahead += (message,)

    def query(self, c, mark=False):
        wanted = ("m",) + tuple(sorted(ch for ch, _ in self.subs))
        c.asked = c.knows if self.stage else wanted
        c.todo = (len(self.queue), c.asked, mark)

    def turn(self):
        """At the end of each turn of the loop."""
        subs, cur = dict(self.subs), self.cur
        if self.settles and self.settles <= self.answered and all(
                ch in cur.knows for ch, is_ in subs.items() if is_ == COME):
            self.subs = tuple(sorted((ch, ON) for ch, is_ in subs.items()
                                     if is_ != GO))
            self.settles = 0
            self.bounds += ((self.sent, len(self.queue)),)
            self.sent, self.step = None, self.step + 1
        wanted = ("m",) + tuple(sorted(ch for ch, _ in self.subs))
        if self.stage == "" and self.next and not self.next.asked:
            if self.next.knows != wanted:
                self.query(self.next)
            elif "m" in cur.knows:
                self.stage = "marked"
                self.query(self.next, True)
        elif self.stage == "answered" or (self.stage == "told" and
                                          set(self.past) == {"cur", "next"}):
            assert "cur" in self.past
            self.cur, self.next = self.next, None
            self.stage, self.past, ahead = "", (), self.ahead
            self.ahead = ()
            for message in ahead:
                self.tell(*message)
        elif self.stage == "told" and not cur.asked:
            self.stage = "asked"
            self.query(cur)
        if self.stage == "" and not self.cur.asked and (
                self.cur.knows != wanted or self.settles > self.answered):
            self.asked += 1
            self.query(self.cur)

    # --- what may happen next ---

    def moves(self):
        for i in range(len(self.notify)):
            yield "notify", i
        for name in ("cur", "next"):
            c = getattr(self, name)
            if c is None:
                continue
            if c.pos < len(self.queue):
                yield "deliver", name
            if c.todo and len(c.todo) == 3:
                yield "execute", name
            if c.todo and len(c.todo) == 1 and c.pos >= c.todo[0]:
                yield "answer", name
            if c.out:
                yield "read", name
        if self.sent is None and self.step < len(STATEMENTS):
            yield "send", None
        if self.sent is not None and not self.settles:
            yield "commit", None
        if self.reconnects and self.next is None:
            yield "reconnect", None

    def do(self, what, arg):
        c = getattr(self, arg) if arg in ("cur", "next") else None
        if what == "notify":
            self.queue += (self.notify[arg],)
            self.notify = self.notify[:arg] + self.notify[arg + 1:]
        elif what == "deliver":
            if self.queue[c.pos] in c.chans:
                c.out += ((c.pos, self.queue[c.pos]),)
            c.pos += 1
        elif what == "execute":
            since, c.chans, mark = c.todo
            if mark:
                self.queue += ("m",)
                since = len(self.queue)
            c.todo = (since,)
        elif what == "answer":
            c.todo = ()
            c.out += (("answer",),)
        elif what == "read":
            message, c.out = c.out[0], c.out[1:]
            self.take(c, message)
        elif what == "send":
            self.sent = len(self.queue)
        elif what == "commit":
            ch, listens = STATEMENTS[self.step]
            subs = dict(self.subs)
            subs[ch] = COME if listens else GO
            self.subs = tuple(sorted(subs.items()))
            self.settles = self.asked + 1
        elif what == "reconnect":
            self.reconnects -= 1
            self.next = Conn(len(self.queue))
        self.turn()

    def check(self):
        (y_sent, y_answered), (x_sent, x_answered) = self.bounds
        assert list(self.heard) == sorted(set(self.heard)), self.heard
        for n, ch in enumerate(self.queue):
            if ch == "y":
                must, may = n >= y_answered, n >= y_sent
            elif ch == "x":
                must, may = n < x_sent, n < x_answered
            else:
                continue
            assert may or (n, ch) not in self.heard, (n, ch, self.heard)
            assert not must or (n, ch) in self.heard, (n, ch, self.heard)


BIG = [("xy", 1), ("xxyy", 0)] if os.environ.get("BIG") else []


@pytest.mark.parametrize("notify, reconnects", [
    ("xyx", 0), ("x", 1), ("y", 1)] + BIG)
def test_all_interleavings_keep_the_promise(notify, reconnects):
    """exactly once, in order, from the answer on to what was sent"""
    start = World(tuple(notify), reconnects)
    seen, todo, ends = {start.key()}, [start], 0
    while todo:
        w = todo.pop()
        moves = list(w.moves())
        if not moves:
            w.check()
            ends += 1
        for move in moves:
            after = w.copy()
            after.do(*move)
            if after.key() not in seen:
                seen.add(after.key())
                todo.append(after)
    assert ends > 0
