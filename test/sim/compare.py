# compare.py - run a program on PostgreSQL and through the pooler.
# SPDX-License-Identifier: ISC
"""What the client sees must be the same to the byte.

Only these may differ: file, line and routine of 25P02 (a statement that has
to be prepared first fails a step earlier), and by which of its names a
statement is called in an error.
"""
import re
import select
import time

import pq
from programs import Flight

PATIENCE = pq.TIMEOUT / 2
ENDS = {"1": "P", "2": "B", "3": "C", "T": "D", "n": "D", "C": "E",
        "I": "E", "s": "E"}
NO_BLOCKS = "transaction blocks not allowed in statement pooling mode"


class Owed:
    """Which requests the server has not answered: Message Flow. "s" is a Sync
    that a COPY may have read: its answer is not waited for.
    """

    def __init__(self):
        self.queue, self.copy_in, self.aborted = [], False, False

    def sent(self, kind):
        if kind in "dHX" or (self.aborted and kind != "S"):
            return
        if kind in "cf" and not self.queue:
            return
        self.aborted = False
        self.queue.append(kind)

    def end_copy(self):
        self.copy_in = False
        for i, k in enumerate(self.queue):
            if k in "cf":
                del self.queue[1:i + 1]
                return

    def doubt(self):
        self.copy_in = False
        early = []
        if not set(self.queue) & set("cf"):
            return early	# it has read none of them
        while self.queue[1:2] == ["S"]:
            early.append("s")
            self.queue.pop(1)
        return early

    def settle(self):
        if self.queue[:1] == ["s"]:
            while self.queue and self.queue[0] in "scf":
                self.queue.pop(0)

    def error(self):
        self.settle()
        early = self.doubt() if self.copy_in else []
        if self.queue and self.queue[0] not in "QFSs":
            while self.queue and self.queue[0] != "S":
                self.queue.pop(0)
            self.aborted = not self.queue
            self.queue = early + self.queue
        else:
            self.queue[1:1] = early

    def ready(self):
        i = next((i for i, k in enumerate(self.queue) if k not in "scf"), 0)
        if not self.queue or self.queue.pop(
                i if self.queue[i] == "S" else 0) not in "QSFs":
            raise NotAProgram("an answer too many")

    def came(self, kind):
        if kind == "G":
            self.copy_in = True
        elif kind == "E":
            self.error()
        elif kind == "Z":
            self.ready()
        elif kind in ENDS:
            self.settle()
            if kind == "C" and self.copy_in:
                self.end_copy()
            if self.queue and self.queue[0] == ENDS[kind]:
                self.queue.pop(0)
        while self.queue and self.queue[0] in "cf":
            self.queue.pop(0)

    def done(self):
        return set(self.queue) <= set("scf")


class Stuck(Exception):
    pass


class NotAProgram(AssertionError):
    """PostgreSQL by itself does not answer all of it, or not as it reads: a
    COPY that fails with a Sync on its way may have read that, or not.
    """


class Peer:
    """A connection that never blocks in a write while replies wait."""

    def __init__(self, port, user, db, pace=None):
        self.pace = pace
        self.patience = PATIENCE if pace is None else pace.patience
        self.conn = self.enter(port, user, db)
        self.buf, self.got, self.closed = bytes(self.conn.buf), [], False
        self.reset = False

    def enter(self, port, user, db):
        """Who is amid the login is not handed over, and told nothing."""
        while True:
            conn = pq.Conn(port=port, timeout=self.patience)
            try:
                conn.login(user, database=db)
                return conn
            except (pq.Closed, ConnectionError):
                conn.close(polite=False)
                if self.pace is None:
                    raise

    def fill(self, end):
        left = end - time.monotonic()
        if left <= 0 or not select.select([self.conn.sock], [], [], left)[0]:
            raise Stuck
        try:
            data = self.conn.sock.recv(1 << 18)
        except ConnectionResetError:
            data, self.reset = b"", True
        self.closed = not data
        more, self.buf = pq.split_messages(self.buf + data)
        self.got += more
        return more

    def send(self, flight):
        data = b"".join(flight.messages)
        step = flight.cut or len(data) or 1
        pieces = [data[i:i + step] for i in range(0, len(data), step)]
        for piece in self.pace.pieces(data) if self.pace else pieces:
            try:
                self.conn.sock.sendall(piece)
            except OSError:
                return		# reading tells
            if self.pace:
                self.pace.wait()

    def fatal(self):
        return any(k == "E" and pq.fields(b).get("S") == "FATAL"
                   for k, b in self.got)

    def finish(self):
        """Nothing may come behind the last reply."""
        end = time.monotonic() + self.patience
        try:
            self.conn.sock.sendall(pq.terminate())
        except OSError:
            pass
        while not self.closed:
            self.fill(end)
        self.conn.sock.close()


def waits(flight):
    kinds = [chr(m[0]) for m in flight.messages]
    return flight.wait and kinds and kinds[-1] in "QSFHcf"


def run_direct(prog, port, user, db):
    """(messages, how many of them had come at the end of each flight)"""
    p, owed, counts = Peer(port, user, db), Owed(), []
    end = time.monotonic() + PATIENCE
    try:
        for f in prog:
            p.send(f)
            for m in f.messages:
                owed.sent(chr(m[0]))
            while waits(f) and not owed.done() and not p.closed:
                for kind, _ in p.fill(end):
                    owed.came(kind)
            counts.append(len(p.got))
        p.finish()
    except Stuck:
        raise NotAProgram("the program itself got stuck at %s after %s"
                          % (owed.queue, p.got[-5:]))
    finally:
        p.conn.sock.close()
    return p.got, counts


def run_pooled(prog, want, counts, server, pace=None):
    """(messages, how it ended); stops at the first difference, so that
    nobody waits for what can't come, and others for the server meanwhile.
    """
    p = Peer(*server, pace)
    try:
        for f, n in zip(prog, counts):
            p.send(f)
            end = time.monotonic() + p.patience
            while waits(f) and len(p.got) < n and not p.closed:
                seen = len(p.got)
                p.fill(end)
                if differ(want[seen:], p.got[seen:]) and not p.fatal():
                    return p.got, "stopped"
        p.finish()
    except Stuck:
        return p.got, "stuck"
    finally:
        p.conn.sock.close()
    return p.got, "reset" if p.reset else "closed"


def normal(message):
    kind, body = message
    if kind == "A":
        return kind, body[4:]	# whose it is
    if kind != "E":
        return message
    f = pq.fields(body)
    if f.get("C") == "25P02":
        for name in "FLR":
            f.pop(name, None)
    if f.get("C") == "08P01":
        # two names of a client may stand for one text
        f["M"] = re.sub(r'statement "s[0-9]"', 'statement "s"', f["M"])
    return kind, sorted(f.items())


def differ(want, got):
    return any(normal(a) != normal(b) for a, b in zip(want, got))


def is_missing(want, w, g):
    """A Parse of the pooler's failed before a Describe, or a bad Bind."""
    if g.get("C") != "25P02" or g.get("R") != "exec_parse_message":
        return False
    return want[0] == "t" or w.get("R") == "exec_bind_message"


def is_exception(want, got):
    """The pooler may say itself in statement mode that there may be no
    transactions: since 17 a FunctionCall without a Sync before it is told
    that it is in one. And a server that lacks a statement can't get it in
    a failed transaction.
    """
    if got[0] != "E":
        return False
    w, g = pq.fields(want[1]), pq.fields(got[1])
    if is_missing(want, w, g):
        return True
    return want[0] == "Z" and want[1] != b"I" and g.get("M") == NO_BLOCKS


def difference(want, got, how, exceptions):
    """None, or what differs first."""
    for i, (a, b) in enumerate(zip(want, got)):
        if normal(a) == normal(b):
            continue
        if exceptions and a[0] == "E" and b"CXX000\0" in a[1]:
            return None		# of 18: see track_is_in_batch()
        if exceptions and is_exception(a, b) and (
                pq.fields(b[1])["S"] == "ERROR" or len(got) == i + 1):
            return None
        return "message %d is\n    %r, not\n    %r" % (i, b, a)
    if len(got) < len(want):
        return "%s after %d of %d messages, next should be\n    %r" % (
            how, len(got), len(want), want[len(got)])
    if len(got) > len(want):
        return "surplus: %r" % (got[len(want):][:3],)
    return None if how == "closed" else how


class Runner:
    """Runs programs both ways; port 0 is PostgreSQL's, 1 the pooler's. pace:
    how what goes to the pooler is cut, and what is waited for in between.
    """

    def __init__(self, ports, user, db, exceptions, pace=None):
        self.ports, self.user, self.db, self.pace = ports, user, db, pace
        self.exceptions = exceptions

    def __call__(self, prog):
        want, counts = run_direct(prog, self.ports[0], self.user, self.db)
        got, how = run_pooled(prog, want, counts,
                              (self.ports[1], self.user, self.db),
                              self.pace and self.pace(prog))
        return difference(want, got, how, self.exceptions)

    def differs(self, prog, times=3):
        try:
            for _ in range(times):
                d = self(prog)
                if d:
                    return d
        except AssertionError:
            pass		# not a program any more
        return None

    def minimise(self, prog, seconds=60):
        """The first and the last flight stay."""
        end = time.monotonic() + seconds
        why = self.differs(prog, 5)
        if not why:
            return prog, None
        changed = True
        while changed and time.monotonic() < end:
            changed = False
            for smaller in shrunk(prog):
                if time.monotonic() > end:
                    break
                d = self.differs(smaller)
                if d:
                    prog, why, changed = smaller, d, True
                    break
        return prog, why


def shrunk(prog):
    """Programs with one thing less."""
    for i in range(len(prog) - 2, 0, -1):
        yield prog[:i] + prog[i + 1:]
    for i in range(1, len(prog) - 1):
        f = prog[i]
        for j in range(len(f.units)):
            g = Flight(f.units[:j] + f.units[j + 1:], f.wait, f.cut)
            yield prog[:i] + [g] + prog[i + 1:]
        if f.cut:
            yield prog[:i] + [Flight(f.units, f.wait, 0)] + prog[i + 1:]
        if not f.wait:
            yield prog[:i] + [Flight(f.units, True, f.cut)] + prog[i + 1:]
        for j, u in enumerate(f.units):
            for k in range(len(u) - 1, -1, -1):
                if u[k][:1] in b"PQ" or len(u) == 1:
                    continue
                less = u[:k] + u[k + 1:]
                g = Flight(f.units[:j] + [less] + f.units[j + 1:], f.wait,
                           f.cut)
                yield prog[:i] + [g] + prog[i + 1:]
