# test_reload.py - reloads under load, and of very large configurations.
# SPDX-License-Identifier: ISC
import os
import random
import re
import shutil
import signal
import subprocess
import threading
import time

import pytest

import harness
import pq
from harness import (ASAN, BIG, REFERENCE, as_user, process_env,
                     wait_until)

pytestmark = pytest.mark.skipif(REFERENCE, reason="reloads in part")

GOOD = [("default_pool_size", ["5", "20", "7"]),
        ("query_wait_timeout", ["100", "120", "2min"]),
        ("server_lifetime", ["3600", "1h", "1800"]),
        ("max_prepared_statements", ["50", "100", "200"]),
        ("server_round_robin", ["0", "on"]),
        ("log_connections", ["0", "1"]),
        ("server_idle_timeout", ["600", "30s"])]
BAD = ["default_pool_size = many", "no_such_setting = 1",
       "pool_mode = sometimes", "[nonsense]", "[databases]\nbench = hots=1",
       "[users]\napp = pool_size=x", "[peers]\nx = host=a",
       "%include /does/not/exist", "just words", "listen_port = 99999999",
       "auth_type = hba\nauth_hba_file = /does/not/exist",
       "client_tls_sslmode = require\nclient_tls_key_file = /not/there",
       "server_tls_sslmode = verify-full\nserver_tls_ca_file = /not/there",
       "[databases]\np0 = host=127.0.0.1 port=1\nbench = prt=1",
       "default_pool_size = 1\n[users]\napp = pool_size=1\n[peers]\n0 ="]


def start_bench(p, *args):
    """at a rate, so that it leaves the processor to what it is about"""
    exe = shutil.which("pgbench") or harness.pg_bin("pgbench")
    return subprocess.Popen(
        [exe, "-n", "-h", "127.0.0.1", "-p", str(p.port), "-U", "app",
         "-c", "4", "-R", "200", "-T", "600", "--max-tries=1",
         *args, "bench"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        env=process_env(), cwd="/tmp", **as_user())


def stop_bench(proc):
    """SIGINT would lose the summary: look that it runs, then end it."""
    running = proc.poll() is None
    proc.terminate()
    out = proc.communicate(timeout=60)[0]
    assert running, out
    assert not re.search(r"error|FATAL|aborted", out), out


def state(p):
    with p.console() as c:
        return {t: c.query("show " + t).dicts
                for t in ("config", "databases", "users", "peers")}


def without_counts(st):
    """Not how many are connected just now."""
    return {t: [{k: v for k, v in row.items()
                 if not k.startswith("current_")} for row in rows]
            for t, rows in st.items()}


def reload_errors(p):
    with p.console() as c:
        return c.try_query("reload").errors


def test_reloads_under_load(pooler, pg):
    """no transaction fails, memory stays, a bad file changes nothing"""
    pg.make_bench()
    conn = "host=127.0.0.1 port=%d" % pg.port
    p = pooler({"bench": conn, "p0": conn}, log_disconnections=0,
               log_connections=0, max_client_conn=200)
    rnd = random.Random(7)
    loads = [start_bench(p, "-C", "-S"), start_bench(p, "-S"),
             start_bench(p, "-S", "-M", "prepared")]
    rounds, grown = 1000 if BIG else 100, None
    for i in range(rounds):
        if i % 2:
            before = without_counts(state(p))
            p.write()
            with open(p.ini, "a") as f:
                f.write(rnd.choice(BAD) + "\n")
            assert reload_errors(p)[0].code == "F0000"
            assert without_counts(state(p)) == before
        else:
            for key, values in rnd.sample(GOOD, 3):
                p.settings[key] = rnd.choice(values)
            p.dbs["p%d" % rnd.randrange(3)] = conn + " pool_size=%d" % (
                1 + rnd.randrange(9))
            p.users["app"] = "pool_size=%d" % (4 + rnd.randrange(9))
            p.userlist["u%d" % rnd.randrange(9)] = str(rnd.random())
            p.write()
            if i % 10 == 0:
                p.signal(signal.SIGHUP)
            assert reload_errors(p) == []
        if i == rounds // 4:
            grown = p.rss()
    if not ASAN:
        print("memory: %d kB after a quarter of the reloads, %d kB after all"
              % (grown >> 10, p.rss() >> 10))
        assert p.rss() < grown + (4 << 20)
    for proc in loads:
        stop_bench(proc)
    assert p.raw(database="bench").value("select 1") == "1"


class Probe:
    """Another console that asks again and again: worst is its longest wait."""

    def __init__(self, p):
        self.console, self.worst = p.console(), 0.0
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self):
        while not self.over.is_set():
            start = time.monotonic()
            self.console.query("show version")
            self.worst = max(self.worst, time.monotonic() - start)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()
        self.console.close()


def cost_of_reload(p, change, n=5):
    """CPU seconds that the loop spends on one: the longest pause is no longer.
    The least of n: on a machine with other work to do nothing else can be
    held to a bound."""
    costs = []
    with p.console() as c:
        for i in range(n):
            change(i)
            before = p.loop_cpu()
            c.query("reload")
            costs.append(p.loop_cpu() - before)
    return min(costs)


def test_large_configuration(pooler):
    """20,000 databases and 100,000 users: quickly there, and read again
    without a pause that anybody would notice"""
    def of_size(n):
        dbs = {"db%05d" % i: "host=10.0.0.%d port=5 dbname=app%d pool_size=5"
               % (i % 250, i) for i in range(n)}
        users = {"user%06d" % i: "md5%032x" % i for i in range(5 * n)}
        users.update(admin="adminpw", app="")
        return pooler(dbs, userlist=users)
    quarter, p = of_size(5000), of_size(20000)
    start = p.loop_cpu()
    # sixteen times would be a square
    assert start < 8 * quarter.loop_cpu()
    p.admin("reload")

    def nothing(i):
        pass

    def touch(i):
        os.utime(p.auth)

    def change(i):
        # as many bytes, and another secret for each
        with open(p.auth) as f:
            text = f.read()
        p._put(p.auth, text.replace('"md5', '"MD5') if i % 2 == 0 else
               text.replace('"MD5', '"md5'))
    for what in (nothing, touch, change):
        cost = cost_of_reload(p, what)
        what(0)
        with Probe(p) as probe:
            p.admin("reload")
        print("%s: %.0f ms on the loop, others waited %.0f ms at worst; "
              "the start took %.0f ms" % (what.__name__, cost * 1e3,
                                          probe.worst * 1e3, start * 1e3))
        # what makes most of a start, reading, is not the loop's any more
        assert cost < start * 0.3
    rows = {r["list"]: r["items"] for r in p.admin("show lists")}
    assert rows["databases"] == "20001" and rows["users"] == "100003"
    # a change reaches what it is about
    del p.dbs["db00007"]
    p.dbs["db00008"] = "host=10.0.0.1 port=5 pool_size=6"
    del p.userlist["user000001"]
    p.write()
    p.admin("reload")
    assert p.show("databases", name="db00007") == []
    assert p.show("databases", name="db00008")[0]["pool_size"] == "6"
    assert len(p.admin("show users")) == 100002


# --- while a reload is under way ------------------------------------------

class Slow:
    """A pooler with a file that is read for as long as the test wants."""

    def __init__(self, p):
        self.p = p
        self.path = p.put("part.ini", "")
        p.put("part.ini.hang", "")
        p.extra = "%%include %s" % self.path
        p.write()

    def arrived(self):
        """Wait until it is being read."""
        wait_until(lambda: os.path.exists(self.path + ".waits"),
                   what="the file to be read")

    def go(self, text):
        """One reader may; the next one waits again."""
        self.p.put("part.ini", text + "\n")
        self.p.put("part.ini.go", "")
        wait_until(lambda: not os.path.exists(self.path + ".go"),
                   what="the reader to go on")


@pytest.fixture
def slow_pooler(pooler, slow_disk):
    def make(**settings):
        p = pooler(start=False, **settings)
        p.env.update(LD_PRELOAD=slow_disk)
        return p.start()
    return make


def value(p, key):
    return p.show("config", key=key)[0]["value"]


def answer(c):
    """Its next reply up to ReadyForQuery: the tag, or the error's code."""
    res = c.recv_until()
    return res.errors[0].code if res.errors else res.tags[0]


def test_loop_goes_on_while_files_are_read(slow_pooler):
    """a second RELOAD waits for a second reading, and gets its result"""
    p = slow_pooler()
    a = p.raw()
    slow = Slow(p)
    first, second, third = p.console(), p.console(), p.console()
    first.send(pq.query("reload"))
    slow.arrived()
    assert a.value("select 1") == "1"
    assert p.raw().value("select 1") == "1"
    for c in (second, third):
        c.send(pq.query("reload"))
    p.signal(signal.SIGHUP)
    p.wait_log("got SIGHUP")
    assert value(p, "default_pool_size") == "20"
    p.admin("pause p1")
    slow.go("default_pool_size = 7")
    assert answer(first) == "RELOAD"
    assert value(p, "default_pool_size") == "7"
    slow.arrived()
    assert a.value("select 1") == "1"
    slow.go("default_pool_size = many")
    assert answer(second) == answer(third) == "F0000"
    assert value(p, "default_pool_size") == "7"
    assert p.show("databases", name="p1")[0]["paused"] == "1"
    # all of them were answered by two readings
    assert p.log.count("configuration reloaded") == 1
    assert p.log.count("config file loading failed") == 1
    assert first.value("show version")


def test_set_while_files_are_read_is_not_lost(slow_pooler):
    """it is newer than what is read, and counts on top of it"""
    p = slow_pooler()
    slow = Slow(p)
    p.admin("set server_lifetime = 50")
    c = p.console()
    c.send(pq.query("reload"))
    slow.arrived()
    p.admin("set auth_user = 'app2'")
    p.admin("set default_pool_size = 3")
    p.admin("set reserve_pool_size = 0")    # as it is
    slow.go("query_wait_timeout = 77\nreserve_pool_size = 5\n"
            "default_pool_size = 9")
    assert answer(c) == "RELOAD"
    assert value(p, "auth_user") == "app2"
    assert value(p, "query_wait_timeout") == "77"
    assert value(p, "default_pool_size") == "3"
    assert value(p, "reserve_pool_size") == "0"
    assert value(p, "server_lifetime") == "3600"    # SET before
    # as ever: lost with the next one
    c.send(pq.query("reload"))
    slow.arrived()
    slow.go("default_pool_size = 9")
    assert answer(c) == "RELOAD"
    assert value(p, "default_pool_size") == "9"


def test_set_without_end_does_not_hold_up_a_reload(slow_pooler):
    """one reading is enough, whatever is SET meanwhile; so for the next"""
    p = slow_pooler()
    slow = Slow(p)
    first, second = p.console(), p.console()
    setter = p.console()

    def set_many(n):
        for i in range(n):
            setter.query("set query_wait_timeout = %d" % (1000 + i))
    first.send(pq.query("reload"))
    slow.arrived()
    second.send(pq.query("reload"))
    p.wait_log("RELOAD command issued", count=2)
    for c, size in ((first, 4), (second, 5)):
        set_many(550)
        slow.go("default_pool_size = %d" % size)
        set_many(50)
        assert answer(c) == "RELOAD"
        assert value(p, "default_pool_size") == str(size)
        assert value(p, "query_wait_timeout") == "1049"
        if c is first:
            slow.arrived()
    assert p.log.count("configuration reloaded") == 2


def test_set_during_a_reload_asks_for_what_it_cannot_have(slow_pooler):
    """the reload says so, and nothing of it is in force"""
    p = slow_pooler(auth_type="trust")
    rules = p.put("hba.conf", "host all all 127.0.0.1/32 trust\n")
    p.settings["auth_hba_file"] = rules
    p.reload()
    slow = Slow(p)
    c = p.console()
    c.send(pq.query("reload"))
    slow.arrived()
    p.admin("set auth_type = hba")
    os.rename(rules, rules + ".away")
    slow.go("default_pool_size = 9")
    assert answer(c) == "F0000"
    assert value(p, "default_pool_size") == "20"
    assert value(p, "auth_type") == "hba"
    assert "hba.conf" in p.log
    os.rename(rules + ".away", rules)
    c.send(pq.query("reload"))
    slow.arrived()
    p.admin("set auth_type = hba")
    slow.go("default_pool_size = 9")
    assert answer(c) == "RELOAD"
    assert value(p, "default_pool_size") == "9"
    assert value(p, "auth_type") == "hba"
    assert p.raw().value("select 1") == "1"


def test_reload_that_nobody_waits_for_any_more(slow_pooler):
    """cancelled, or gone with its connection: it counts all the same"""
    p = slow_pooler()
    slow = Slow(p)
    a, b = p.console(), p.console()
    a.send(pq.query("reload"))
    slow.arrived()
    b.send(pq.query("reload"))
    pq.send_cancel(p.port, a.key)
    assert answer(a) == "57014"
    assert a.value("show version")
    b.close()
    slow.go("default_pool_size = 7")
    slow.arrived()
    slow.go("default_pool_size = 8")
    wait_until(lambda: value(p, "default_pool_size") == "8")


@pytest.mark.parametrize("command,undo", [
    ("pause", "resume"), ("pause p0", "resume p0"), ("suspend", "resume"),
    ("kill p0", "resume p0"), ("disable p0", "enable p0")])
def test_command_while_files_are_read(slow_pooler, command, undo):
    """it counts at once, and the reload does not take it back"""
    p = slow_pooler()
    a = p.raw()
    a.query("select 1")
    slow = Slow(p)
    c, con = p.console(), p.console()
    c.send(pq.query("reload"))
    slow.arrived()
    con.query(command)
    killed, refused = command == "kill p0", command == "disable p0"
    if killed:
        assert a.recv_all().errors[-1].code == "08P01"
    elif not refused:
        a.send(pq.query("select 2"))
    slow.go("default_pool_size = 7")
    assert answer(c) == "RELOAD"
    assert con.query("show config where key = 'default_pool_size'"
                     ).dicts[0]["value"] == "7"
    if refused:
        with pytest.raises(pq.PgError, match="is disabled"):
            p.raw()
    elif not killed:
        assert not a.readable(0.2)
    con.query(undo)
    if killed or refused:
        a = p.raw()
        a.send(pq.query("select 2"))
    assert a.recv_until().rows == [["2"]]


@pytest.mark.parametrize("mode", ["wait_for_clients", "wait_for_servers"])
def test_shutdown_while_files_are_read(slow_pooler, mode):
    """the reload is answered; the end comes when all have left"""
    p = slow_pooler()
    a = p.raw()
    a.query("begin")
    slow = Slow(p)
    c, con = p.console(), p.console()
    c.send(pq.query("reload"))
    slow.arrived()
    assert con.query("shutdown " + mode).tags == ["SHUTDOWN"]
    slow.go("default_pool_size = 7")
    assert answer(c) == "RELOAD"
    assert p.proc.poll() is None
    assert a.value("select 1") == "1"
    a.query("commit")
    for conn in (a, c, con):
        conn.close()
    assert p.wait_exit() == 0


@pytest.mark.parametrize("how", ["SIGTERM", "SIGINT", "shutdown"])
def test_process_ends_while_files_are_read(slow_pooler, how):
    """and does not wait for a disk that does not answer"""
    p = slow_pooler()
    slow = Slow(p)
    c = p.console()
    c.send(pq.query("reload"))
    slow.arrived()
    if how == "shutdown":
        with pytest.raises(pq.Closed):
            p.console().query("shutdown")
    else:
        p.signal(getattr(signal, how))
        p.wait_log("got " + how)
        c.close()
    assert p.wait_exit() == 0


def test_changed_secrets_count_at_once(pooler):
    """config-files.md 7: added, changed, removed, and added again"""
    p = pooler(auth_type="md5", userlist={"app": "one", "admin": "adminpw",
                                          "app2": "two"})

    def works(user, password):
        try:
            with p.raw(user, password=password) as c:
                return c.value("select 1") == "1"
        except pq.PgError:
            return False
    assert works("app", "one") and works("app2", "two")
    p.userlist["app"] = "three"
    del p.userlist["app2"]
    p.reload()
    assert works("app", "three")
    assert not works("app", "one") and not works("app2", "two")
    p.userlist["app2"] = "four"
    p.reload()
    assert works("app2", "four") and not works("app2", "two")
    # a reload of an unchanged file, and a SET, leave all as it is
    p.admin("reload")
    p.admin("set query_timeout = 77")
    assert works("app2", "four") and works("app", "three")
    assert not works("app2", "two")


@pytest.mark.parametrize("method", ["plain", "md5", "scram-sha-256"])
def test_login_under_way_meets_the_new_secret(pooler, method):
    """authentication.md 2: removed or changed, whoever has asked before"""
    p = pooler(auth_type=method)
    secrets = {"app": "apppw", "app2": "app2pw", "stats": "statspw"}
    asked = {}
    for user in secrets:
        c = p.open().login(user, wait=False,
                           database="pgbouncer" if user == "stats" else "p0")
        kind, body = c.recv()
        assert kind == "R"
        asked[user] = c, body
    del p.userlist["app"]
    p.userlist["app2"] = "another"
    p.reload()

    def finish(user):
        c, body = asked[user]
        c._auth(user, secrets[user], body)
        return c.finish_login(user, secrets[user])
    for user in "app", "app2":
        with pytest.raises(pq.PgError) as e:
            finish(user)
        assert (e.value.code, e.value.message) == (
            "28P01", "password authentication failed")
    assert finish("stats").status == "I"


EMPTY = "auth_file %s is empty and was not before: if this is intended, " \
    "put a comment in it"


BROKEN = ', a line is "user" "password", with the quotes'


@pytest.mark.parametrize("text,why", [
    (None, "could not open auth_file %s: No such file or directory "
     '("pgsluicectl userlist import" or "add" makes it)'),
    ("", EMPTY), ("\n \n", EMPTY),
    ('"admin" "x"\napp secret\n"app2" "x"\n', "broken auth file (%s:2)" + BROKEN),
    ('"admin" "x"\n"%s" "y"\n' % ("x" * 128),
     "username too long in auth file (%s:2)"),
    ('"admin" "x"\n"app" "unfinished\n', "broken auth file (%s:2)" + BROKEN)])
def test_reload_fails_as_a_whole_with_its_auth_file(pooler, text, why):
    """config-files.md 7, 13: the users in force stay, and the settings"""
    p = pooler(auth_type="plain")
    # the harness writes both files on reload(): here, one at a time
    p.settings["default_pool_size"] = 77
    p.write()
    os.unlink(p.auth)
    if text is not None:
        p._put(p.auth, text)
    for _ in range(2):
        res = p.console().try_query("reload")
        assert res.errors[0].code == "F0000"
        assert res.errors[0].fields["D"] == why % p.auth
    assert "ERROR " + why % p.auth in p.log
    assert value(p, "default_pool_size") == "20"
    for user in ("app", "app2"):
        assert p.raw(user).value("select 1") == "1"
    p._put(p.auth, '; all but one are gone\n"admin" "adminpw"\n')
    assert p.console().query("reload").tags == ["RELOAD"]
    assert value(p, "default_pool_size") == "77"
    with pytest.raises(pq.PgError):
        p.raw("app")


def test_start_takes_no_part_of_a_broken_auth_file(pooler):
    """config-files.md 7: a start says no, as a reload does"""
    p = pooler(start=False, auth_type="plain")
    p.expect_exit = 1
    p.write()
    p._put(p.auth, '"admin" "adminpw"\n"app" "apppw"\nx\n"app2" "app2pw"\n')
    p.launch()
    assert p.wait_exit() == 1
    assert "ERROR broken auth file (%s:3)" % p.auth in p.log
    out = harness.run([harness.binary(), "--check", p.ini])
    assert out.returncode == 1
    assert "broken auth file (%s:3)%s\n" % (p.auth, BROKEN) in out.stdout
