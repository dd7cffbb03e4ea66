# test_reload.py - reloads under load, and of very large configurations.
# SPDX-License-Identifier: ISC
import random
import re
import shutil
import subprocess
import threading
import time

import pytest

import harness
import pq
from harness import ASAN, BIG, REFERENCE, as_user, process_env

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
       "%include /does/not/exist", "just words", "listen_port = 99999999"]


def start_bench(p, *args):
    exe = shutil.which("pgbench") or harness.pg_bin("pgbench")
    return subprocess.Popen(
        [exe, "-n", "-h", "127.0.0.1", "-p", str(p.port), "-U", "app",
         "-c", "4", "-T", "600", "--max-tries=1"] + list(args) + ["bench"],
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
        return [c.query("show " + t).rows for t in ("config", "databases")]


def without_counts(st):
    """SHOW DATABASES without how many are connected just now."""
    return [st[0], [r[:12] + r[13:14] + r[15:] for r in st[1]]]


def test_reloads_under_load(pooler, pg):
    """no transaction fails, memory stays, a bad file changes nothing"""
    pg.make_bench()
    conn = "host=127.0.0.1 port=%d" % pg.port
    p = pooler({"bench": conn, "p0": conn}, log_disconnections=0,
               log_connections=0, max_client_conn=200)
    rnd = random.Random(7)
    loads = [start_bench(p, "-C", "-S"), start_bench(p, "-S"),
             start_bench(p, "-S", "-M", "prepared")]
    rounds, grown = 100 if BIG else 40, None
    for i in range(rounds):
        if i % 2:
            before = without_counts(state(p))
            p.write()
            with open(p.ini, "a") as f:
                f.write(rnd.choice(BAD) + "\n")
            res = p.console().try_query("reload")
            assert res.errors[0].code == "F0000"
            assert without_counts(state(p)) == before
        else:
            for key, values in rnd.sample(GOOD, 3):
                p.settings[key] = rnd.choice(values)
            p.dbs["p%d" % rnd.randrange(3)] = conn + " pool_size=%d" % (
                1 + rnd.randrange(9))
            p.users["app"] = "pool_size=%d" % (4 + rnd.randrange(9))
            p.write()
            assert p.console().try_query("reload").errors == []
        if i == rounds // 4:
            grown = p.rss()
    if not ASAN:
        assert p.rss() < grown + (8 << 20)
    for proc in loads:
        stop_bench(proc)
    assert p.raw(database="bench").value("select 1") == "1"


def longest_wait(p, action):
    """How long another console waited at worst while action() ran."""
    worst, stop = [0.0], threading.Event()
    c = p.console()

    def probe():
        while not stop.is_set():
            start = time.monotonic()
            c.query("show version")
            worst[0] = max(worst[0], time.monotonic() - start)
    t = threading.Thread(target=probe)
    t.start()
    action()
    stop.set()
    t.join()
    return worst[0]


def test_large_configuration(pooler):
    """20,000 databases and 100,000 users: quickly there, and read again
    without a pause that anybody would notice. On a machine with other work
    to do only the CPU time can be held to a bound."""
    dbs = {"db%05d" % i: "host=10.0.0.%d port=5 dbname=app%d pool_size=5"
           % (i % 250, i) for i in range(20000)}
    users = {"user%06d" % i: "md5%032x" % i for i in range(100000)}
    users.update(admin="adminpw", app="")
    p = pooler(dbs, userlist=users)
    factor = 20 if ASAN else 1
    assert p.cpu() < 1 * factor
    p.admin("reload")
    before, n = p.cpu(), 5

    def reload():
        for _ in range(n):
            p.admin("reload")
    waited = longest_wait(p, reload)
    used = (p.cpu() - before) / n
    print("reload: %.0f ms of CPU, others waited %.0f ms" % (
        used * 1e3, waited * 1e3))
    assert used < 0.1 * factor
    rows = p.admin("show lists")
    assert ("databases", "20001") in [(r["list"], r["items"]) for r in rows]
    # a change reaches what it is about
    del p.dbs["db00007"]
    p.dbs["db00008"] = "host=10.0.0.1 port=5 pool_size=6"
    p.userlist["user000001"] = ""
    p.write()
    p.admin("reload")
    assert p.show("databases", name="db00007") == []
    assert p.show("databases", name="db00008")[0]["pool_size"] == "6"


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
