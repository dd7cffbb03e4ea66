# test_no_memory.py - each allocation of the running process fails in turn.
# SPDX-License-Identifier: ISC
"""Whatever it was for: the process goes on, who is concerned is served all the
same or told that there was no memory (53200), nobody else notices, and the
next attempt is as good as the first.

base/mem counts allocations, and lets one fail, for the unit tests. Here that is
switched on, and its two counters are changed, in the memory of the process,
where the system and the binary allow that.
"""
import itertools
import os
import re
import struct
import subprocess

import pytest

import harness
import pq
from harness import BIG, REFERENCE, wait_until

pytestmark = pytest.mark.skipif(REFERENCE, reason="knows base/mem")

STEP = 1 if BIG else 3


class Memory:
    """The allocations of a pooler."""

    def __init__(self, p):
        names = {}
        out = subprocess.run(["nm", harness.binary()], text=True,
                             stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE).stdout
        for at, name in re.findall(r"^(\w+) [bB] (made|fail_at|counting)(?:\.|$)",
                                   out, re.M):
            assert name not in names, "two are called %s" % name
            names[name] = int(at, 16)
        exe = os.readlink("/proc/%d/exe" % p.proc.pid)
        with open("/proc/%d/maps" % p.proc.pid) as f:
            base = min(int(line.split("-", 1)[0], 16) for line in f
                       if line.split()[-1] == exe)
        try:
            self.fd = os.open("/proc/%d/mem" % p.proc.pid, os.O_RDWR)
        except PermissionError:
            pytest.skip("the memory of the pooler can't be written to")
        if len(names) < 3:
            pytest.skip("the binary does not tell its symbols")
        self.made, self.fail_at = (base + names[n]
                                   for n in ("made", "fail_at"))
        os.pwrite(self.fd, b"\1", base + names["counting"])

    def count(self):
        return struct.unpack("=Q", os.pread(self.fd, 8, self.made))[0]

    def fail(self, nth):
        """The nth from now; 0: none."""
        at = self.count() + nth if nth else 0
        os.pwrite(self.fd, struct.pack("=Q", at), self.fail_at)

    def has_failed(self):
        at = struct.unpack("=Q", os.pread(self.fd, 8, self.fail_at))[0]
        return self.count() >= at

    def close(self):
        os.close(self.fd)


@pytest.fixture
def each_fails():
    """each_fails(p, attempt, prepare): attempt with each allocation failing
    that it makes after prepare()."""
    made = []

    def run(p, attempt, prepare=lambda: None):
        m = Memory(p)
        made.append(m)
        for _ in range(2):      # the first one makes what stays
            prepare()
            before = m.count()
            good = attempt()
        rounds = m.count() - before
        assert rounds > 0
        failed = 0
        for n in range(1, rounds + 10):
            if n > 20 and n % STEP:
                continue
            prepare()
            m.fail(n)
            try:
                assert attempt() == good, n
                error = None
            except pq.PgError as e:
                error = e
            except (pq.Closed, ConnectionError):
                error = None
            hit = m.has_failed()
            m.fail(0)
            failed += hit
            if error:
                assert hit, (n, error)
                assert error.code == "53200", (n, error)
            assert p.proc.poll() is None, p.log
            assert again(attempt) == good, n
        assert failed >= min(rounds, 3)
    yield run
    for m in made:
        m.close()


def again(attempt):
    """A server that was lost takes server_login_retry to be back."""
    def works():
        try:
            return [attempt()]
        except pq.PgError:
            return None
    return wait_until(works)[0]


def answer(c, data):
    """All that the pooler says, also when it ends with an error."""
    c.send(data)
    res = pq.Result()
    try:
        c.recv_until(res=res)
    except pq.Closed:
        if not res.errors:
            raise
    for e in res.errors:
        if e.code != "22012":
            raise e
    return res


QUIET = {"log_connections": 0, "log_disconnections": 0,
         "server_login_retry": 0.05}


def other_of(p):
    """Somebody who must notice nothing, with a server of his own."""
    c = p.raw(database="p1")
    c.query("begin")
    return c


def check_other(c):
    assert c.value("select 'other'") == "other"
    c.query("commit")
    assert c.value("select 'other'") == "other"


RULES = "local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n"
LOGINS = {
    "trust": {"auth_type": "trust"},
    "plain": {"auth_type": "plain"},
    "md5": {"auth_type": "md5"},
    "scram": {"auth_type": "scram-sha-256"},
    "hba": {"auth_type": "hba"},
}


@pytest.mark.parametrize("how", list(LOGINS))
@pytest.mark.parametrize("database", ["p0", "auto#", "pgbouncer"])
def test_login(pooler, pg, each_fails, how, database):
    """never told as a wrong password, an unknown user or database"""
    # regressions: PB#1108, PB#1101, PB#1099, PB#1169, PB#1202
    conn = "host=127.0.0.1 port=%d dbname=postgres" % pg.port
    p = pooler({"p0": conn, "p1": conn, "*": conn}, start=False,
               **LOGINS[how], **QUIET)
    if how == "hba":
        p.settings["auth_hba_file"] = p.put("hba.conf", RULES)
    p.start()
    other = other_of(p)
    user = "admin" if database == "pgbouncer" else "app"
    names = itertools.count()

    def login():
        name = database.replace("#", str(next(names)))
        with p.raw(user, name) as c:
            return c.value("show version" if database == "pgbouncer"
                           else "select 1")
    each_fails(p, login)
    check_other(other)


@pytest.mark.parametrize("how", list(LOGINS))
def test_login_with_a_new_secret(pooler, each_fails, how):
    """which nobody has asked for since the auth file was read"""
    p = pooler(start=False, **LOGINS[how], **QUIET)
    if how == "hba":
        p.settings["auth_hba_file"] = p.put("hba.conf", RULES)
    p.start()
    other = other_of(p)
    secrets = itertools.count()

    def change():
        p.userlist["app"] = "secret%d" % next(secrets)
        p.reload()

    def login():
        with p.raw() as c:
            return c.value("select 1")
    each_fails(p, login, change)
    check_other(other)


def test_login_by_auth_query(pooler, pg, each_fails):
    p = pooler({"p0": "", "p1": ""}, auth_type="scram-sha-256",
               auth_user="postgres",
               auth_query="select 'u_scram', 'pw_three' where $1 <> ''",
               userlist={"postgres": "", "admin": "adminpw",
                         "app": "apppw"}, **QUIET)
    other = other_of(p)

    def login():
        with p.raw("u_scram", password="pw_three") as c:
            return c.value("select 1")
    each_fails(p, login)
    check_other(other)


TALKS = {
    "query": [pq.query("select 1; select 2")],
    "set": [pq.query("set timezone = 'Asia/Tokyo'; show timezone")],
    "unnamed": [pq.parse("select $1::text"), pq.bind("", ("1",)),
                pq.describe("P"), pq.execute(), pq.sync()],
    "named": [pq.parse("select 2", "st"), pq.bind("st"), pq.execute(),
              pq.describe("S", "st"), pq.close("S", "st"), pq.sync()],
    "pipeline": [pq.parse("select 2", "a"), pq.bind("a"), pq.execute(),
                 pq.sync(), pq.parse("select 3", "b"), pq.bind("b"),
                 pq.execute(), pq.sync(), pq.query("select 4")],
    "deallocate": [pq.parse("select 2", "st"), pq.sync(),
                   pq.query("deallocate st")],
    "big": [pq.query("select repeat('x', 300000)")],
    "failed": [pq.query("select 1/0")],
}


@pytest.mark.parametrize("cold", ["", "cold"])
@pytest.mark.parametrize("talk", list(TALKS))
def test_queries(pooler, pg, each_fails, talk, cold):
    """a client gets all of the answer, or its session ends with an error"""
    # regressions: PB#1108, PB#1101, PB#1099, PB#1169, PB#1202
    p = pooler(max_prepared_statements=10, default_pool_size=1, **QUIET)
    other = other_of(p)
    data = TALKS[talk]
    syncs = sum(m[:1] in b"QS" for m in data)

    def run():
        with p.raw() as c:
            all_of_it = [answer(c, b"".join(data))]
            while len(all_of_it) < syncs:
                all_of_it.append(answer(c, b""))
            return [(r.rows, r.tags, len(r.errors)) for r in all_of_it]
    each_fails(p, run, lambda: cold and p.admin("reconnect p0"))
    check_other(other)


@pytest.mark.parametrize("what", [
    "show pools", "show json clients", "select name from databases",
    "set query_timeout = 7", "show config", "pause p0; resume p0"])
def test_console(pooler, each_fails, what):
    """the console, too"""
    p = pooler(**QUIET)
    other = other_of(p)

    def run():
        with p.console() as c:
            for q in what.split("; "):
                tags = answer(c, pq.query(q)).tags
            return tags
    each_fails(p, run)
    check_other(other)


def test_reload(pooler, pg, each_fails):
    """it is in force, or nothing of it"""
    p = pooler({"p0": "", "p1": "", "*": "host=127.0.0.1 port=%d" % pg.port},
               users={"app": "pool_size=3"}, **QUIET)
    other = other_of(p)
    sizes = itertools.count(100)

    def change():
        p.settings["default_pool_size"] = next(sizes)
        p.dbs["p%d" % p.settings["default_pool_size"]] = "host=127.0.0.1"
        p.userlist["x%d" % p.settings["default_pool_size"]] = "x"
        p.write()

    def reload():
        with p.console() as c:
            res = c.try_query("reload")
        if res.errors:
            # the console itself may lack it, too
            assert res.errors[0].code in ("F0000", "53200")
        size = int(p.show("config", key="default_pool_size")[0]["value"])
        now = p.settings["default_pool_size"]
        assert (size == now) == (not res.errors), res.errors
        assert bool(p.show("databases", name="p%d" % now)) == \
            (not res.errors)
        return True
    each_fails(p, reload, change)
    p.admin("reload")
    check_other(other)
