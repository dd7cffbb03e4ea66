# test_state_programs.py - random programs of state, on few servers and direct.
# SPDX-License-Identifier: ISC
"""Clients of one pool, which has fewer servers than there are clients; each has
a connection of its own to PostgreSQL as well, where it does the same: what both
say is equal (session_state=keep). The same while all stands still again and
again, while processes take over from each other, while settings are reloaded and
connections renewed, and while servers are killed:
then a client may be told so, and both begin anew; but nothing else differs. And
with several workers, where each server goes to another one whenever it is given
back, and each client behind each of its transactions. Custom parameters are named
in all spellings, and may have defaults of the role and of the database.
SIM_PROGRAMS is how many statements a seed has, SIM_SEED the first seed.
"""
import os
import random
import re

import pytest

import pq
from harness import REFERENCE, is_forced, wait_until
from test_takeover import take_over

STEPS = int(os.environ.get("SIM_PROGRAMS", "150")) * 2
SEED = int(os.environ.get("SIM_SEED", "1"))
CLIENTS, SERVERS = 20, 3
PARTED = 8		# servers, where several workers are to have some

FORCED = is_forced()

pytestmark = pytest.mark.skipif(REFERENCE, reason="not so there")

NAMES = ["work_mem", "statement_timeout", "lock_timeout", "search_path",
         "my.one", "my.two", "app.tenantid", "zz.\u00e9t\u00e9", "_a.b$1.c",
         "datestyle", "timezone", "extra_float_digits",
         "default_transaction_isolation", "role", "application_name",
         "array_nulls", "standard_conforming_strings", "transform_null_equals",
         "intervalstyle"]
VALUES = {
    "work_mem": ["1MB", "2MB"], "statement_timeout": ["10s", "20s"],
    "lock_timeout": ["1s"], "search_path": ["public", "pg_catalog, \"A'b\""],
    "my.one": ["x", "it''s", "b\\s", "\u00e9", ""], "my.two": ["1"],
    "app.tenantid": ["t1", "t2", ""], "zz.\u00e9t\u00e9": ["e", ""],
    "_a.b$1.c": ["f"],
    "datestyle": ["German", "ISO, DMY"], "timezone": ["Asia/Tokyo", "UTC"],
    "extra_float_digits": ["0", "3"], "role": ["none", "app2"],
    "default_transaction_isolation": ["serializable", "read committed"],
    "application_name": ["a", "b"], "array_nulls": ["off", "on"],
    "standard_conforming_strings": ["off", "on"],
    "transform_null_equals": ["on", "off"],
    "intervalstyle": ["sql_standard", "postgres"],
}
LOOK = "select " + ", ".join(
    "nullif(current_setting('%s', true), '')" % n for n in NAMES) + \
    ", current_user, 1.1::float8, '2020-02-01'::date::text"
# what these mean by that, when they are prepared, is in them
READS = [
    "select '01/02/2020 12:00'::timestamptz", "select '01/02/2020'::date - "
    "'2020-01-01'::date", "select extract(epoch from '-1 1:00'::interval)",
    "select E'a\\\\b', length('\\\\')", "select null = null, '{null}'::text[]",
    "select extract(epoch from timestamptz '2020-02-01')", "select 1 + 1 as two",
    "select current_user, '2020-02-01'::timestamptz::text",
]
LISTS = [
    "select name from pg_prepared_statements where from_sql order by 1",
    "select count(*) from pg_locks where locktype = 'advisory' "
    "and pid = pg_backend_pid()",
    "select relname from pg_class where relnamespace = pg_my_temp_schema() "
    "order by 1",
    "select name from pg_cursors where is_holdable order by 1",
    # a request with this word is answered by who listens, to a mark as well
    "select c from pg_listening_channels() c where c not like 'pgsluice.%' "
    "order by 1",
]
PINS = [
    ("create temp table t%d (i int)", "drop table if exists pg_temp.t%d"),
    ("insert into pg_temp.t%d values (1)", "select * from pg_temp.t%d"),
    ("prepare p%d as select 7", "deallocate p%d"),
    ("prepare p%d as select 8", "execute p%d"),
    ("declare c%d cursor with hold for select generate_series(1, 9)",
     "close c%d"),
    ("fetch 2 from c%d", "fetch 3 from c%d"),
    ("select pg_advisory_lock_shared(%d)", "select pg_advisory_unlock_shared("
     "%d)"), ("listen l%d", "unlisten l%d"),
]


# of the database, and of the role in it
DEFAULTS = [
    "alter database p0 set my.one = 'of the database'",
    "alter database p0 set \"app.tenantId\" = 'nobody'",
    "alter database p0 set role = 'app2'",
    "alter database p0 set lock_timeout = '3s'",
    "alter role postgres in database p0 set app.tenantid = 'of the role'",
    "alter role postgres in database p0 set work_mem = '3MB'",
    "alter role postgres in database p0 set zz.\u00e9t\u00e9 = 'd'",
]
FORGOTTEN = ["alter database p0 reset all",
             "alter role postgres in database p0 reset all"]


class Bound(str):
    """A text, and its parameters."""
    args = ()


def with_cases(r, name):
    return "".join(c.upper() if c.isascii() and r.random() < 0.3 else c
                   for c in name)


def spell(r, name):
    """A name as SET may have it; what is no custom parameter as it is."""
    if "." not in name:
        return name
    name = with_cases(r, name)
    return r.choice([
        name, "\"%s\"" % name, " . ".join(name.split(".")),
        ".".join("\"%s\"" % part for part in name.split(".")),
        name.replace(".", "/* . */.", 1)])


def spell_string(r, name):
    """... and as set_config() may."""
    if "." not in name:
        return "'%s'" % name
    return r.choice(["'%s'", "E'%s'", "$$%s$$", "$n$%s$n$", "'%s'::text",
                     "/* the name */ '%s'"]) % with_cases(r, name)


def bound(r):
    """set_config() of a name, or of a value, that is a parameter."""
    name = r.choice([n for n in NAMES if "." in n])
    value = r.choice([v for v in VALUES[name] if "'" not in v])
    text, args = r.choice([
        ("select set_config($1, $2, false)", (with_cases(r, name), value)),
        ("select set_config($2, $1, false)", (value, with_cases(r, name))),
        ("select set_config(%s, $1, false)" % spell_string(r, name), (value,)),
        ("select set_config($1, $2, true)", (with_cases(r, name), value))])
    out = Bound(text)
    out.args = args
    return out


def change(r):
    """SET, in one of its ways"""
    if r.random() < 0.15:
        return bound(r)
    name = r.choice(NAMES)
    value = r.choice(VALUES[name])
    spelled, string = spell(r, name), spell_string(r, name)
    return r.choice([
        "set %s to %s" % (spelled, value if name == "search_path" and
                          "'" not in value else "E'%s'" % value.replace(
                              "\\", "\\\\").replace("A'b", "Ab")),
        "set session %s to default" % spelled, "reset %s" % spelled,
        "set local %s to default" % spelled,
        "select set_config(%s, E'%s', %s)" % (
            string, value.replace("\\", "\\\\").replace("A'b", "A''b"),
            r.choice(["true", "false"])),
        "reset all" if r.random() < 0.2 else
        # where one was set once, it is empty ever after, not unknown
        "select nullif(current_setting('%s', true), '')" % name])


def statement(r, i, pinned, how):
    """
    Of client i; only few of them may pin, or there would be no servers. Who
    listens has one worker.
    """
    kind = r.random()
    if how == "moves" and 0.35 <= kind < 0.45 and pinned:
        return r.choice(r.choice(PINS[:-1])) % r.randrange(2)
    if kind < 0.35:
        return change(r)
    if kind < 0.45 and pinned:
        return r.choice(r.choice(PINS)) % r.randrange(2)
    if kind < 0.50:
        return r.choice(READS)
    if kind < 0.57:
        return LOOK if not pinned or r.random() < 0.7 else r.choice(LISTS)
    if kind < 0.75:
        return r.choice(["begin", "commit", "rollback", "savepoint a",
                         "rollback to a", "commit", "end"])
    if kind < 0.78:
        return "discard all"
    if kind < 0.83:
        return "select 1/0"
    if kind < 0.85:
        return "notify l%d, '%d'" % (r.randrange(2), i)
    if kind < 0.89:
        return "do $$ begin perform set_config('my.one', 'do', %s); end $$" \
            % r.choice(["true", "false"])
    return LOOK


# of a server that was killed, and of what it was amid
KILLED = {"57P01", "08P01", "58000", "57014"}


# what some come with, and have again behind a RESET
CAME = [{}, {"role": "app2", "my.one": "came"},
        {"search_path": "pg_catalog, public", "my.one": "'", "my.two": "x"}]
RESETS = re.compile("reset|default|discard")
ENDS = {"commit", "rollback", "end"}


class Both:
    def __init__(self, p, pg, came):
        self.p, self.pg, self.came, self.count = p, pg, came, 0
        self.begin()

    def begin(self):
        self.pooled = self.p.raw("postgres", **self.came)
        self.own = pq.Conn(port=self.pg.port).login("postgres", database="p0",
                                                    **self.came)
        self.done, self.status = [], "I"

    def end(self):
        for c in (self.pooled, self.own):
            c.close()

    def do(self, sql, killed=False):
        self.count += 1
        # what is brought to a server in a transaction is not there yet
        if self.status != "I" and "pg_listening_channels" in sql:
            sql = LOOK
        # until the end of a transaction a RESET gives what the role has
        if self.came and self.status != "I" and RESETS.search(sql):
            sql = LOOK
        extended = (0, 0, 1, 2, 2)[self.count % 5] if ";" not in sql else 0
        args = getattr(sql, "args", ())
        if args:
            # nobody reads what is bound to a name that is not translated
            extended = max(1, extended) if self.translates() else 1
        # a name that is not translated stays at its server: only a transaction
        # that goes on brings the Close there, too
        if extended == 2 and not self.translates() and (
                self.status == "I" or sql in ENDS):
            extended = 1
        self.done.append(sql + str(args) * bool(args))
        want = self.one(self.own, sql, extended)
        try:
            got = self.one(self.pooled, sql, extended)
        except pq.Closed:
            got = None, None, [], None
        if killed and (got[-1] is None or (got != want and
                                           KILLED & set(got[2]))):
            self.end()
            self.begin()
            return "I"
        assert got == want, "\n".join(self.done[-30:])
        self.status = got[-1]
        return got[-1]

    def translates(self):
        return self.p.settings.get("max_prepared_statements") != 0

    @staticmethod
    def one(c, sql, extended):
        if extended:
            # of a name, to be shared with others where it means the same
            name = "" if extended == 1 else "s1"
            c.send(pq.parse(sql, name), pq.bind(
                name, getattr(sql, "args", ())), pq.execute(), pq.sync())
        else:
            c.send(pq.query(sql))
        res = c.recv_until()
        if extended == 2:
            c.send(pq.close("S", "s1"), pq.sync())
            c.recv_until()
        return res.rows, res.tags, [e.code for e in res.errors], res.status


def disturb(pooler, p, pg, how, r):
    """Returns who serves from now on."""
    if how == "suspend":
        with p.console() as k:
            k.query("suspend")
            k.query("resume")
    elif how in ("restart", "defaults"):
        return take_over(pooler, p)
    elif how == "reload":
        p.settings["cache_unnamed_statements"] = r.randrange(2)
        p.settings["max_prepared_statements"] = r.choice([0, 200])
        p.settings["default_pool_size"] = SERVERS + r.randrange(2)
        p.reload()
        p.admin("reconnect p0")
    elif how == "kill":
        pg.terminate(r.choice(p.servers())["remote_pid"])
    return p


def begin(pooler, how, servers=SERVERS):
    if how not in ("handover", "moves"):
        return pooler(default_pool_size=servers, session_state="keep")
    p = pooler(start=False, session_state="keep",
               workers=3 if how == "moves" else 2,
               default_pool_size=PARTED if how == "moves" else servers)
    p.env.update(PGSLUICE_FORCE=how, PARTS_FORCE="1")
    p.start()
    p.raw("postgres").query("select 1")
    if how == "moves":
        wait_until(lambda: "is also served by worker" in p.log)
    return p


def count_moved(p):
    return sum(int(row[k]) for row in p.show("workers")
               for k in ("servers_in", "clients_in"))


def pinned(p, crew):
    """Of whom each has a server to itself between its transactions."""
    ports = {int(row["port"]) for row in p.show("clients")
             if row["pin_reason"]}
    return {i for i, b in enumerate(crew)
            if b.pooled.sock.getsockname()[1] in ports}


def release(r, busy, pins):
    """One that holds a server gives it back: who, and by what."""
    if busy:
        return r.choice(busy), "rollback"
    return r.choice(sorted(pins)), "discard all"


@pytest.mark.parametrize("seed, how, every", [
    (SEED, "", 0), (SEED + 1, "", 0), (SEED + 2, "", 0), (SEED, "suspend", 5),
    (SEED, "restart", 60), (SEED, "kill", 10), (SEED, "reload", 10),
    (SEED, "defaults", 0), (SEED + 1, "defaults", 60), *(
        pytest.param(s, how, 0, marks=pytest.mark.skipif(
            not FORCED, reason="nothing can be forced"))
        for s in (SEED, SEED + 1) for how in ("handover", "moves"))])
def test_all_see_what_postgresql_shows(request, pooler, pg, seed, how, every):
    """also where errors and rollbacks take back what was set"""
    r = random.Random("%d %s" % (seed, how))
    if how == "defaults":
        pg.sql(*DEFAULTS)
        request.addfinalizer(lambda: pg.sql(*FORGOTTEN))
    p = begin(pooler, how)
    crew = [Both(p, pg, CAME[i % len(CAME)]) for i in range(CLIENTS)]
    busy, pinner = [], r.randrange(CLIENTS)
    for n in range(STEPS):
        if every and n % every == every - 1:
            p = disturb(pooler, p, pg, how, r)
            for b in crew:
                b.p = p
        # one may hold a server by a transaction, one by a pin
        i = r.choice(busy) if busy and r.random() < 0.7 else \
            r.choice([pinner, r.randrange(CLIENTS)])
        if busy and i not in busy and i != pinner and len(busy) > 0:
            sql = LOOK if r.random() < 0.3 else change(r)
        else:
            sql = statement(r, i, i == pinner, how)
        # a name that nobody can know pins others, too
        pins = pinned(p, crew)
        if i not in busy and i not in pins and \
                len(pins | set(busy)) >= SERVERS:
            i, sql = release(r, busy, pins)
        status = crew[i].do(sql, how == "kill")
        if status == "I" and i in busy:
            busy.remove(i)
        elif status != "I" and i not in busy and i != pinner:
            busy.append(i)
    for b in crew:
        if b.own and b.done:
            b.do("rollback", how == "kill")
            b.do(LOOK, how == "kill")
            b.own.close()
    if how in ("handover", "moves"):
        # not while anybody listens
        assert count_moved(p) > 0
    assert len([s for s in p.servers() if s["state"] != "listening"]) <= \
        (PARTED if how == "moves" else SERVERS + (how == "reload"))
