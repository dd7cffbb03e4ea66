# programs.py - random valid programs of the protocol, by seed.
# SPDX-License-Identifier: ISC
"""A program is a list of flights; a flight is a list of units, which are sent
together, and then the client waits, or not. A unit is a list of messages that
belong together: without one of them the program would not be valid.
"""
import random
import re

import pq

NAMES = ["s1", "s2", "s3"]
PORTALS = ["", "", "", "p1", "p2", "s1"]	# one is a statement's name, too
INT_ABS = 1251
LO_CREATE, LO_OPEN, LO_SEEK, LO_READ, LO_WRITE, LO_UNLINK = \
    715, 952, 956, 954, 955, 964
BIG = 70000		# more than any buffer
KEPT = 8192		# bytes of an unnamed Parse that is kept: pooling.md 16

# not folded into a plan, whether that is for one execution or for all
DIVIDE = "select 10 / ($1::int + pg_backend_pid() * 0)"
# text, parameters; {t} is the client's own table, the others are shared
TEXTS = [
    ("select 1", 0), ("select 2 as two", 0), ("select $1::int", 1),
    ("select $1::text, 3", 1), (DIVIDE, 1),
    ("select val from tab where id = $1::int", 1),
    ("insert into {t} values ($1::int, 'p')", 1),
    ("select id, val from {t} order by id, val", 0),
    ("select generate_series(1, 5)", 0), ("selec", 0),
    ("select nosuch from tab", 0), ("", 0), ("select 1; select 2", 0),
    ("rollback", 0), ("commit", 0), ("deallocate all", 0),
    ("discard all", 0), ("; deallocate all", 0),
    ("copy (select generate_series(1, 3)) to stdout", 0),
    ("set timezone to 'Asia/Tokyo'", 0), ("show timezone", 0),
    ("set datestyle to 'German'", 0), ("reset all", 0),
    ("select '2020-02-01'::date, '1 day 2 hours'::interval", 0),
    ("select '%s', $1::int" % ("y" * BIG), 1),
]
# only as the unnamed statement: texts of others are shared between clients
LEAVING = ["deallocate s1", "Deallocate prepare S2 ;", "deallocate \"s3\""]
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
    "deallocate nosuch", "deallocate s1", "DEALLOCATE PREPARE S2;",
    "/* a */ deallocate \"s3\" -- b", "deallocate \"S1\"", "do $$ begin raise notice 'hi'; end $$",
    "select pg_notify('nobody', 'x')", "select 1;;select 2;",
    "select 1; deallocate all", "deallocate all; select 2",
    "/* all */ DEALLOCATE /* of them */ ALL; select 1/0",
    "deallocate all; select 1/0; select 2",
    "prepare q_{t} (int) as select $1 + 1; execute q_{t}(4); "
    "deallocate q_{t}",
]
SETTINGS = [
    "set datestyle to 'German'", "set datestyle = 'ISO, DMY'",
    "set timezone to 'Asia/Tokyo'", "set timezone to default",
    "set application_name = 'it''s {t}'", "set intervalstyle = sql_standard",
    "set standard_conforming_strings = off", "set client_encoding = LATIN1",
    "reset all", "reset timezone", "set timezone to 'nowhere'",
    "set datestyle to 'SQL'; select 1/0", "show timezone", "show datestyle",
    "select current_setting('application_name'), "
    "current_setting('client_encoding'), '2020-02-01'::date, "
    "'1 day 2 hours'::interval",
    "begin; set timezone = 'Asia/Tokyo'; rollback",
    "begin; set timezone = 'Asia/Tokyo'; set intervalstyle = iso_8601; "
    "commit", "set datestyle to 'ISO, MDY'; set timezone to 'UTC'",
]
LOCAL = ["set local timezone = 'PST8PDT'", "set local datestyle = 'SQL'",
         "declare c cursor for select generate_series(1, 9)",
         "fetch 2 from c", "move 1 in c", "close c", "fetch all from c",
         "begin; listen n_{t}; commit; begin; notify n_{t}, 'x'; commit; "
         "unlisten n_{t}"]
# where the server is the client's own till it leaves; no EXECUTE of what the
# protocol has prepared: PostgreSQL crashes if that is an empty query
OWN = ["listen n_{t}", "notify n_{t}, 'hi'", "unlisten *",
       "create temp table if not exists tt (a int); insert into tt values "
       "(1); select count(*) from tt", "prepare q as select 42", "execute q",
       "deallocate q", "declare w cursor with hold for select "
       "generate_series(1, 5)", "fetch 2 from w", "close w",
       "set work_mem = '5MB'", "show work_mem", "deallocate s1",
       "prepare s1 as select 7"]
# what a statement returns must not change while a client has it
DDL = ["alter table {t} alter val type varchar(90)",
       "alter table {t} alter val type text",
       "begin; alter table {t} alter val type char(9); rollback"]
BEGINNINGS = ["begin", "begin", "begin", "begin; select 1", "savepoint a",
              "rollback to a", "release a", "commit; begin",
              "begin; select 1/0; commit", "begin; select 1/0",
              "begin; savepoint a", "commit and chain"]
DATA = [b"7\tseven\n", b"8\t\\N\n", b"9\tni", b"ne\n", b"x\ty\n", b"1\tdup\n"]


class Flight:
    def __init__(self, units, wait, cut):
        self.units, self.wait, self.cut = units, wait, cut

    @property
    def messages(self):
        return [m for u in self.units for m in u]


class Generator:
    """Makes one program; table is the client's own. Kinds may contain
    "blocks": transactions are allowed; "own": the server is the client's
    own; "ddl": every statement stays on one server; "across": unnamed
    statements are used in later batches.
    """

    def __init__(self, seed, table, kinds):
        self.rng = random.Random(seed)
        self.table, self.kinds = table, kinds
        self.named = {}		# what is prepared if all goes well
        # of this batch: messages, changes of the unnamed statement, and the
        # parameters of the one that is parsed first; those of the one that
        # later batches have, or None
        self.begun = self.changes = 0
        self.making = self.first = self.kept = None
        self.texts = TEXTS + (OPENING if "blocks" in kinds else [])
        self.simple = SIMPLE + SETTINGS
        if "blocks" in kinds:
            self.simple = self.simple + BEGINNINGS * 3 + LOCAL
        if "own" in kinds:
            self.simple = self.simple + OWN
        if "ddl" in kinds:
            self.simple = self.simple + DDL

    def chance(self, p):
        return self.rng.random() < p

    def text(self):
        while True:
            sql, n = self.rng.choice(self.texts)
            if len(sql) < BIG or self.chance(0.1):
                return sql.replace("{t}", self.table), n

    def params(self, n):
        if self.chance(0.03):
            n += 1		# an error: wrong number of parameters
        out = [self.rng.choice(["0", "1", "2", "5", "7", "x", None])
               if self.chance(0.4) else self.rng.choice(["3", "4", "6"])
               for _ in range(n)]
        if out and self.chance(0.01):
            out[0] = "z" * BIG
        return out

    def bind(self, name, n, portal):
        formats = [1] if self.chance(0.1) else []
        return pq.bind(name, self.params(n), portal, formats)

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

    def forget(self, sql):
        for name in NAMES if "deallocate" in sql.lower() else ():
            if name in sql or name.upper() in sql.split('"')[0]:
                self.named.pop(name, None)

    def unnamed(self):
        sql, n = self.text()
        if self.chance(0.05):
            sql, n = self.rng.choice(LEAVING), 0
            self.forget(sql)
        portal = self.rng.choice(PORTALS)
        out = [pq.parse(sql)]
        if self.chance(0.3):
            out.append(pq.describe("S"))
        for _ in range(self.rng.choice([1, 1, 2])):
            out.append(self.bind("", n, portal))
            self.run_portal(out, portal)
        if self.chance(0.1):
            out.append(pq.close("S"))
        return [self.end(out)]

    def follow(self, messages):
        """Behind an error, or if it is long, nobody has an unnamed statement
        for sure but the one that was parsed first in its batch, and last."""
        for m in messages:
            if m[:1] == b"S":
                if self.changes:
                    self.kept = self.first if self.changes == 1 else None
                self.begun = self.changes = 0
                self.first = None
            elif m[:1] == b"Q" or m[5:6] == b"\0" and m[:1] == b"P" or \
                    m[:1] == b"C" and m[5:7] == b"S\0":
                self.first = self.making if not self.begun else self.first
                self.making = None
                self.changes += 1
            self.begun += m[:1] not in b"SH"

    def pad(self, sql):
        """Some are as long as those that are kept may be."""
        if self.chance(0.9):
            return sql
        size = self.rng.choice([KEPT - 1, KEPT, 4096, 4097])
        return "%s/*%s*/" % (sql, "x" * (size - len(pq.parse(sql + "/**/"))))

    def across(self):
        """an unnamed statement, and its use later"""
        n = self.kept if not self.changes else \
            self.first if self.changes == 1 else None
        out = []
        if n is None or self.chance(0.1):
            sql, n = self.rng.choice([t for t in self.texts
                                      if len(t[0]) < BIG])
            self.making = n
            out += [pq.sync()] if self.begun else []
            out.append(pq.parse(self.pad(sql.replace("{t}", self.table))))
        for _ in range(self.rng.choice([0, 1, 1, 2])):
            if self.chance(0.3):
                out.append(pq.describe("S"))
                continue
            portal = self.rng.choice(["", "", "p1"])
            out.append(self.bind("", n, portal))
            self.run_portal(out, portal)
        if self.chance(0.05):
            out.append(pq.close("S"))
        if self.chance(0.75):
            out.append(pq.sync())
        return [[m] for m in out]

    def parse_named(self, name):
        sql, n = self.text()
        self.named[name] = n
        types = [23] if n == 1 and self.chance(0.1) else []
        return [[pq.parse(sql, name, types)]]

    def use_named(self, name):
        portal = self.rng.choice(PORTALS)
        out = [self.bind(name, self.named[name], portal)]
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
        sql = self.rng.choice(self.simple).replace("{t}", self.table)
        if "all" in sql.lower():
            self.named.clear()
        self.forget(sql)
        return [[pq.query(sql)]]

    def copy_tail(self):
        out = [pq.copy_data(self.rng.choice(DATA[:4] if self.chance(0.7)
                                            else DATA))
               for _ in range(self.rng.choice([0, 1, 2, 3]))]
        if self.chance(0.1):
            out.insert(self.rng.randint(0, len(out)), pq.flush())
        if self.chance(0.2):
            return out + [pq.copy_fail("enough")]
        return out + [pq.copy_done()]

    def copy(self):
        table = "nosuch" if self.chance(0.1) else self.table
        sql = "copy %s from stdin" % table
        x = self.rng.random()
        if x < 0.5:
            if self.chance(0.2):
                sql = "select 1; " + sql + self.rng.choice(
                    ["; select 2", "; deallocate all"])
            return [[pq.query(sql)] + self.copy_tail()]
        early = [pq.sync()] if x > 0.9 else []
        return [[pq.parse(sql), pq.bind(), pq.execute()] + early
                + self.copy_tail() + [pq.sync()]]

    def call(self):
        oid = 999999 if self.chance(0.1) else INT_ABS
        arg = "x" if self.chance(0.1) else "-5"
        return [[pq.function_call(oid, [arg])]]

    def large_object(self):
        """made, used and removed by function calls"""
        oid = 990000 + int(re.sub(r"\D", "", self.table))
        out = [pq.query("begin"), pq.function_call(LO_CREATE, [oid]),
               pq.function_call(LO_OPEN, [oid, 0x60000])]
        if self.chance(0.1):
            out.append(pq.query("select 1/0"))
        out += [pq.function_call(LO_WRITE, [0, "some bytes"]),
                pq.function_call(LO_SEEK, [0, 2, 0]),
                pq.function_call(LO_READ, [0, 5]),
                pq.function_call(LO_UNLINK, [oid]), pq.query("commit")]
        return [out]

    def odd(self):
        portal = self.rng.choice(PORTALS + ["nosuch", "c"])
        return [[self.rng.choice([
            pq.execute(portal), pq.execute(portal, 1),
            pq.describe("P", portal), pq.close("P", portal),
            pq.close("S", "nosuch"), pq.sync(), pq.flush(), pq.sync()])]]

    def portal_flights(self):
        """a portal that is fetched from in several flights"""
        name = self.rng.choice(PORTALS)
        sql = self.rng.choice(["select generate_series(1, 7)",
                               "select id, val from %s" % self.table,
                               "select 10 / (3 - generate_series(1, 5))"])
        stop = self.rng.choice([pq.flush, pq.flush, pq.sync])
        start = [pq.query("begin")] if self.chance(0.7) else []
        start += [pq.parse(sql), pq.bind("", (), name)]
        if self.chance(0.5):
            start.append(pq.describe("P", name))
        flights = [[start + [pq.execute(name, 2), stop()]]]
        for _ in range(self.rng.choice([1, 2, 3])):
            units = [[pq.execute(name, self.rng.choice([1, 2, 3, 0])),
                      stop()]]
            if self.chance(0.2):
                units.insert(0, [pq.flush()])
            flights.append(units)
        end = [pq.close("P", name)] if self.chance(0.5) else []
        flights.append([end + [pq.sync()], [pq.query("commit")]])
        return [Flight(u, self.chance(0.8), 0) for u in flights]

    # --- the whole ---

    def unit(self):
        units = [self.unnamed, self.named_units, self.query, self.copy,
                 self.call, self.odd, self.large_object]
        often = [20, 40, 28, 6, 4, 6, "blocks" in self.kinds]
        if "across" in self.kinds:
            units, often = units + [self.across], often + [150]
        out = self.rng.choices(units, often)[0]()
        self.follow(m for unit in out for m in unit)
        return out

    def flight(self):
        units = []
        for _ in range(self.rng.choice([1, 1, 2, 3, 5])):
            units += self.unit()
        cut = self.rng.choice([0, 0, 0, 1, 3, 7, 20, 50])
        if sum(len(m) for u in units for m in u) > BIG:
            cut *= 1000
        return Flight(units, self.chance(0.5), cut)

    def program(self):
        flights = []
        for _ in range(self.rng.choice([1, 2, 4, 8])):
            if "blocks" in self.kinds and self.chance(0.05):
                flights += self.portal_flights()
                self.follow(m for f in flights[-6:] for m in f.messages)
                self.kept = None
            else:
                flights.append(self.flight())
        return [self.opening()] + flights + [closing()]

    def opening(self):
        sql = "truncate %s" % self.table
        if "ddl" in self.kinds:
            sql += "; alter table %s alter val type text" % self.table
        return Flight([[pq.query(sql)]], True, 0)


def closing():
    return Flight([[pq.sync(), pq.query("rollback"),
                    pq.query("select 'end'")]], True, 0)


def program(seed, table, kinds):
    return Generator(seed, table, kinds).program()


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
