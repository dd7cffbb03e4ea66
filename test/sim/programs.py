# programs.py - random valid programs of the protocol, by seed.
# SPDX-License-Identifier: ISC
"""A program is a list of flights; a flight is a list of units, which are sent
together, and then the client waits, or not. A unit is a list of messages that
belong together: without one of them the program would not be valid, as the
unnamed statement outlives no ReadyForQuery behind a pooler.
"""
import random

import pq

NAMES = ["s1", "s2", "s3"]
PORTALS = ["", "", "", "p1", "p2"]
INT_ABS = 1251

# text, parameters; {t} is the client's own table, the others are shared
TEXTS = [
    ("select 1", 0), ("select 2 as two", 0), ("select $1::int", 1),
    ("select $1::text, 3", 1), ("select 10 / $1::int", 1),
    ("select val from tab where id = $1::int", 1),
    ("insert into {t} values ($1::int, 'p')", 1),
    ("select id, val from {t} order by id, val", 0),
    ("select generate_series(1, 5)", 0), ("selec", 0),
    ("select nosuch from tab", 0), ("", 0), ("select 1; select 2", 0),
    ("rollback", 0), ("commit", 0), ("deallocate all", 0),
    ("discard all", 0),
]
OPENING = [("begin", 0), ("savepoint a", 0), ("rollback to a", 0)]

SIMPLE = [
    "select 1", "select 'a', null, 'b'", "", ";", "select 1; select 2",
    "select 1; select 1/0; select 3", "selec", "select 1/0", "select nosuch",
    "insert into {t} values (1, 'one')", "insert into {t} values (2, 'two')",
    "insert into {t} values (1, 'uno'); insert into {t} values (9, 'n')",
    "delete from {t} where id = 1", "update {t} set val = 'new'",
    "select id, val from {t} order by id, val",
    "select generate_series(1, 40)", "select repeat('x', 9000)",
    "copy (select generate_series(1, 3)) to stdout", "copy nosuch to stdout",
    "begin; select 1; commit", "commit",
    "rollback", "deallocate all", "discard all", "DEALLOCATE PREPARE ALL;",
    "deallocate nosuch", "do $$ begin raise notice 'hi'; end $$",
    "select pg_notify('nobody', 'x')", "select 1;;select 2;",
]
BEGINNINGS = ["begin", "begin", "begin", "begin; select 1", "savepoint a",
              "rollback to a", "release a", "commit; begin",
              "begin; select 1/0; commit", "begin; select 1/0", "begin; savepoint a", "commit and chain"]
DATA = [b"7\tseven\n", b"8\t\\N\n", b"9\tni", b"ne\n", b"x\ty\n", b"1\tdup\n"]


class Flight:
    def __init__(self, units, wait, cut):
        self.units, self.wait, self.cut = units, wait, cut

    @property
    def messages(self):
        return [m for u in self.units for m in u]


class Generator:
    """Makes one program; table is the client's own."""

    def __init__(self, seed, table, opening):
        self.rng = random.Random(seed)
        self.table, self.opening = table, opening
        self.named = {}		# what is prepared if all goes well
        self.texts = TEXTS + (OPENING if opening else [])
        self.simple = SIMPLE + (BEGINNINGS * 2 if opening else [])

    def chance(self, p):
        return self.rng.random() < p

    def text(self):
        sql, n = self.rng.choice(self.texts)
        return sql.format(t=self.table), n

    def params(self, n):
        if self.chance(0.03):
            n += 1		# an error: wrong number of parameters
        return [self.rng.choice(["0", "1", "2", "5", "7", "x", None])
                if self.chance(0.4) else self.rng.choice(["3", "4", "6"])
                for _ in range(n)]

    # --- units ---

    def end(self, out):
        """Perhaps ask for the answers."""
        x = self.rng.random()
        if x < 0.6:
            out.append(pq.sync())
        elif x < 0.7:
            out.append(pq.flush())
        return out

    def run_portal(self, out, portal):
        if self.chance(0.3):
            out.append(pq.describe("P", portal))
        if self.chance(0.9):
            limit = self.rng.choice([0, 0, 0, 1, 2])
            out.append(pq.execute(portal, limit))
            while limit and self.chance(0.5):
                out.append(pq.execute(portal, limit))
        if self.chance(0.1):
            out.append(pq.flush())
        if self.chance(0.2):
            out.append(pq.close("P", portal))

    def unnamed(self):
        sql, n = self.text()
        portal = self.rng.choice(PORTALS)
        out = [pq.parse(sql)]
        if self.chance(0.3):
            out.append(pq.describe("S"))
        for _ in range(self.rng.choice([1, 1, 2])):
            out.append(pq.bind("", self.params(n), portal))
            self.run_portal(out, portal)
        if self.chance(0.1):
            out.append(pq.close("S"))
        return [self.end(out)]

    def parse_named(self, name):
        sql, n = self.text()
        self.named[name] = n
        return [[pq.parse(sql, name)]]

    def use_named(self, name):
        portal = self.rng.choice(PORTALS)
        out = [pq.bind(name, self.params(self.named[name]), portal)]
        self.run_portal(out, portal)
        return [[m] for m in self.end(out)]

    def close_named(self, name):
        self.named.pop(name, None)
        out = [pq.close("S", name)]
        return [[m] for m in self.end(out)]

    def describe_named(self, name):
        return [[m] for m in self.end([pq.describe("S", name)])]

    def named_units(self):
        out = []
        for _ in range(self.rng.choice([1, 2, 3])):
            name = self.rng.choice(NAMES)
            known = name in self.named
            if self.chance(0.02):
                known = not known	# an error
                self.named.setdefault(name, 0)
            x = self.rng.random()
            if not known and x < 0.9:
                out += self.parse_named(name)
                if self.chance(0.7):
                    out += self.use_named(name)
            elif not known or x < 0.3:
                out += self.close_named(name)
            elif x < 0.45:
                out += self.describe_named(name)
            else:
                out += self.use_named(name)
        return out

    def query(self):
        sql = self.rng.choice(self.simple).format(t=self.table)
        if "all" in sql.lower():
            self.named.clear()
        return [[pq.query(sql)]]

    def copy_tail(self):
        out = [pq.copy_data(self.rng.choice(DATA[:4] if self.chance(0.7)
                                            else DATA))
               for _ in range(self.rng.choice([0, 1, 2, 3]))]
        if self.chance(0.2):
            return out + [pq.copy_fail("enough")]
        return out + [pq.copy_done()]

    def copy(self):
        table = "nosuch" if self.chance(0.1) else self.table
        sql = "copy %s from stdin" % table
        x = self.rng.random()
        if x < 0.5:
            if self.chance(0.2):
                sql = "select 1; " + sql + "; select 2"
            return [[pq.query(sql)] + self.copy_tail()]
        early = [pq.sync()] if x > 0.9 else []
        return [[pq.parse(sql), pq.bind(), pq.execute()] + early
                + self.copy_tail() + [pq.sync()]]

    def call(self):
        oid = 999999 if self.chance(0.1) else INT_ABS
        arg = "x" if self.chance(0.1) else "-5"
        return [[pq.function_call(oid, [arg])]]

    def odd(self):
        return [[self.rng.choice([
            pq.execute("nosuch"), pq.describe("P", "nosuch"),
            pq.close("P", "nosuch"), pq.close("S", "nosuch"), pq.sync(),
            pq.flush(), pq.sync()])]]

    # --- the whole ---

    def unit(self):
        kind = self.rng.choices(
            [self.unnamed, self.named_units, self.query, self.copy,
             self.call, self.odd], [20, 40, 25, 6, 4, 5])[0]
        return kind()

    def flight(self):
        units = []
        for _ in range(self.rng.choice([1, 1, 2, 3, 5])):
            units += self.unit()
        cut = self.rng.choice([0, 0, 0, 1, 3, 7, 20, 50])
        return Flight(units, self.chance(0.5), cut)

    def program(self):
        flights = [self.flight()
                   for _ in range(self.rng.choice([1, 2, 4, 8]))]
        return [opening(self.table)] + flights + [closing()]


def opening(table):
    return Flight([[pq.query("truncate %s" % table)]], True, 0)


def closing():
    return Flight([[pq.sync(), pq.query("rollback"),
                    pq.query("select 'end'")]], True, 0)


def program(seed, table, opening_allowed):
    return Generator(seed, table, opening_allowed).program()


# --- printing -------------------------------------------------------------

def show(prog):
    """The program as text, a flight a line."""
    lines = []
    for f in prog:
        parts = []
        for m in f.messages:
            text = m[5:].replace(b"\0", b"|").decode("latin-1")
            parts.append("%s(%s)" % (chr(m[0]), "".join(
                c if c.isprintable() else "." for c in text[:70])))
        lines.append("  " + " ".join(parts)
                     + ("  -- wait" if f.wait else "")
                     + ("  -- cut %d" % f.cut if f.cut else ""))
    return "\n".join(lines)
