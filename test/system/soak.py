# soak.py - clients of every kind at once, each of which knows its own bytes.
# SPDX-License-Identifier: ISC
"""soak.py PORT CLIENTS SECONDS SEED: prints what they did as JSON.

Whatever a client asks for carries a token of its own, so that a reply meant
for another is seen at once. The first thing that is wrong ends the program.
"""
import collections
import json
import random
import sys
import threading
import time

import pq

SHARED = ["select $1::text", "select $1::text, 1", "select upper($1::text)",
          "select $1::text from generate_series(1, 20)"]


class Wrong(Exception):
    pass


class Client:
    """One thread; does one thing after the other till the time is up."""

    def __init__(self, port, number, seed, tally):
        self.port, self.number = port, number
        self.rng = random.Random("%s %s" % (seed, number))
        self.tally, self.serial, self.conn = tally, 0, None
        self.named = {}

    # --- what all of them use ---

    def token(self):
        self.serial += 1
        return "c%d-%d-%x" % (self.number, self.serial,
                              self.rng.getrandbits(40))

    def count(self, what, n=1):
        self.tally[what] += n

    def connect(self):
        if self.conn is None:
            version = self.rng.choice([pq.V3_0, pq.V3_2])
            self.conn = pq.Conn(port=self.port).login(
                "app", "apppw", "p0", version=version)
            self.named = {}
            self.count("logins")
        return self.conn

    def flight(self, *parts, readies=1):
        """Send in one go, perhaps in pieces; results up to each ready."""
        c, data = self.connect(), b"".join(parts)
        # what it may count as: one or, if the first was answered before
        # the rest was there, as many as it has ends
        self.count("flights")
        self.count("ends", readies)
        cut = self.rng.choice([0, 0, 0, 1, 7, 100])
        if cut and len(data) < 2000:
            c.send_split(data, cut)
        else:
            c.send(data)
        return [c.recv_until() for _ in range(readies)]

    def expect(self, got, want, what):
        if got != want:
            raise Wrong("client %d: %s: %r, not %r" % (
                self.number, what, got, want))

    def rows(self, res, want, what):
        if res.errors:
            raise Wrong("client %d: %s: %s" % (self.number, what,
                                               res.errors[0]))
        self.expect(res.rows, want, what)

    # --- what they do ---

    def simple(self):
        t = self.token()
        r, = self.flight(pq.query("select '%s'; select '%s', 2" % (t, t)))
        self.rows(r, [[t], [t, "2"]], "simple")

    def pipeline(self):
        tokens = [self.token() for _ in range(self.rng.choice([2, 5, 30]))]
        syncs = self.rng.random() < 0.5
        parts = []
        for t in tokens:
            parts += [pq.parse("select $1::text"), pq.bind("", (t,)),
                      pq.execute()] + ([pq.sync()] if syncs else [])
        if syncs:
            for t, r in zip(tokens, self.flight(*parts,
                                                readies=len(tokens))):
                self.rows(r, [[t]], "pipeline of syncs")
        else:
            r, = self.flight(*parts, pq.sync())
            self.rows(r, [[t] for t in tokens], "pipeline")

    def prepared(self):
        name = "s%d" % self.rng.randrange(6)
        self.connect()
        parts = []
        if name not in self.named:
            self.named[name] = self.rng.randrange(len(SHARED))
            parts.append(pq.parse(SHARED[self.named[name]], name))
        t = self.token()
        r, = self.flight(*parts, pq.bind(name, (t,)), pq.execute(), pq.sync())
        self.rows(r, [[[t]], [[t, "1"]], [[t.upper()]], [[t]] * 20][
            self.named[name]], "prepared")
        if self.rng.random() < 0.2:
            r, = self.flight(pq.close("S", name), pq.sync())
            self.expect(r.kinds, "3Z", "close")
            del self.named[name]

    def failed_batch(self):
        t, u = self.token(), self.token()
        a, b = self.flight(
            pq.parse("select $1::int"), pq.bind("", (t,)), pq.execute(),
            pq.parse("select 'never'"), pq.bind(), pq.execute(), pq.sync(),
            pq.query("select '%s'" % u), readies=2)
        self.expect(a.kinds, "1EZ", "failed batch")
        if t not in a.errors[0].message:
            raise Wrong("another's error: %s" % a.errors[0])
        self.rows(b, [[u]], "behind a failed batch")

    def copy_out(self):
        t, n = self.token(), self.rng.choice([1, 50, 3000])
        r, = self.flight(pq.query("copy (select '%s-' || g from "
                                  "generate_series(1, %d) g) to stdout"
                                  % (t, n)))
        self.expect(b"".join(r.copy), b"".join(
            b"%s-%d\n" % (t.encode(), i + 1) for i in range(n)), "copy out")

    def copy_in(self):
        t, n = self.token(), self.rng.choice([1, 20, 500])
        good = self.rng.random() < 0.8
        data = [pq.copy_data(b"%d\t%s\n" % (i, t.encode()))
                for i in range(n)]
        end = pq.copy_done() if good else pq.copy_fail(t)
        parts = [pq.query("begin"), pq.query("copy sink from stdin"), *data,
                 end]
        res = self.flight(*parts, readies=2)[1]
        if good:
            self.expect(res.tags, ["COPY %d" % n], "copy in")
            r, = self.flight(pq.query("select distinct val from sink where "
                                      "val = '%s'" % t))
            self.rows(r, [[t]], "what was copied")
        elif t not in res.errors[0].message:
            raise Wrong("another's error: %s" % res.errors[0])
        r, = self.flight(pq.query("rollback"))
        self.expect(r.status, "I", "after rollback")

    def long_result(self):
        t, n = self.token(), self.rng.choice([2000, 20000])
        r, = self.flight(pq.query("select repeat('%s', %d)" % (t, n)))
        self.rows(r, [[t * n]], "long value")

    def transaction(self):
        t = self.token()
        r, = self.flight(pq.query("begin; set local application_name = '%s'"
                                  % t))
        self.expect(r.status, "T", "begin")
        pids = set()
        for _ in range(self.rng.choice([1, 3])):
            r, = self.flight(pq.query("select current_setting("
                                      "'application_name'), "
                                      "pg_backend_pid()"))
            self.expect(r.rows[0][0], t, "local setting")
            pids.add(r.rows[0][1])
        self.expect(len(pids), 1, "servers of a transaction")
        if self.rng.random() < 0.3:
            r, = self.flight(pq.query("select '%s'::int" % t))
            self.expect(r.status, "E", "failed transaction")
        r, = self.flight(pq.query(self.rng.choice(["commit", "rollback"])))
        self.expect(r.status, "I", "end of transaction")

    def setting(self):
        t = self.token()
        self.flight(pq.query("set application_name = '%s'" % t))
        for _ in range(2):
            r, = self.flight(pq.query("show application_name"))
            self.rows(r, [[t]], "setting")

    def portal(self):
        t = self.token()
        c = self.connect()
        c.send(pq.query("begin"))
        self.count("flights")
        self.count("ends", 2)
        c.recv_until()
        c.send(pq.parse("select '%s' || g from generate_series(1, 5) g" % t),
               pq.bind("", (), "p"), pq.execute("p", 2), pq.flush())
        first = c.recv_until("s")
        r, = self.flight(pq.execute("p", 9), pq.close("P", "p"), pq.sync())
        self.rows(first, [[t + "1"], [t + "2"]], "portal")
        self.rows(r, [[t + str(i)] for i in (3, 4, 5)], "rest of the portal")
        self.flight(pq.query("commit"))

    def call(self):
        n = self.rng.randrange(1 << 30)
        r, = self.flight(pq.function_call(1251, [-n]))
        want = str(n).encode()
        self.expect(r.messages[0], ("V", len(want).to_bytes(4, "big") + want),
                    "function call")

    def cancel(self):
        c, t = self.connect(), self.token()
        c.send(pq.query("select '%s', pg_sleep(300)" % t))
        self.count("flights")
        self.count("ends")
        while not c.readable(0.05):
            pq.send_cancel(self.port, c.key)
            self.count("cancels")
        r = c.recv_until()
        self.expect([e.code for e in r.errors], ["57014"], "cancelled query")
        # one of ours may still be under way, and hit what we do next: PG's
        # own protocol has it so; a query that nobody minds takes it
        for _ in range(2):
            self.flight(pq.query("select 'whatever'"))

    def leave(self):
        """in the middle of anything"""
        c, t = self.connect(), self.token()
        data = self.rng.choice([
            pq.query("select '%s', pg_sleep(0.01)" % t),
            pq.query("begin; select '%s'" % t),
            pq.query("select repeat('%s', 100000)" % t),
            pq.query("begin") + pq.query("copy sink from stdin")
            + pq.copy_data(b"1\t" + t.encode() + b"\n"),
            pq.parse("select $1::text", "gone") + pq.bind("gone", (t,))
            + pq.flush(), pq.parse("select '%s'" % t), pq.sync(),
            pq.query("set application_name = 'gone'; begin"),
            pq.query("copy (select '%s' || g from generate_series(1, 99999) "
                     "g) to stdout" % t)])
        if self.rng.random() < 0.4:
            data = data[:self.rng.randrange(len(data))]
        c.send(data)
        self.count("ends", 3)
        if self.rng.random() < 0.5:
            c.readable(self.rng.random() * 0.02)
        if self.rng.random() < 0.5:
            c.abort()
        else:
            c.close(polite=self.rng.random() < 0.5)
        self.conn = None
        self.count("left")

    KINDS = [(simple, 8), (pipeline, 8), (prepared, 12), (failed_batch, 4),
             (copy_out, 3), (copy_in, 4), (long_result, 3), (transaction, 6),
             (setting, 3), (portal, 3), (call, 2), (cancel, 1), (leave, 3)]

    def run(self, end):
        kinds, often = zip(*self.KINDS)
        while time.monotonic() < end and not self.tally["stop"]:
            kind = self.rng.choices(kinds, often)[0]
            try:
                kind(self)
            except Exception as e:
                if not self.tally["stop"]:
                    self.tally["stop"] = "%s: %s: %s" % (
                        kind.__name__, type(e).__name__, e)
                return
            self.count(kind.__name__)
        if self.conn:
            self.conn.close()


def main(port, clients, seconds, seed):
    tallies = [collections.Counter() for _ in range(clients)]
    end = time.monotonic() + seconds
    threads = [threading.Thread(target=Client(port, i, seed, t).run,
                                args=(end,)) for i, t in enumerate(tallies)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    wrong = [t.pop("stop") for t in tallies if t["stop"]]
    total = collections.Counter()
    for t in tallies:
        total.update({k: v for k, v in t.items() if k != "stop"})
    json.dump({"wrong": wrong, "done": total}, sys.stdout)


if __name__ == "__main__":
    main(*[int(a) for a in sys.argv[1:]])
