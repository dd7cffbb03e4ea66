# test_parts.py - a pool that several workers serve (doc/workers.md, "Sub-pools").
# SPDX-License-Identifier: ISC
import os
import random
import threading

import pytest

import pq
from harness import PASSWORDS, REFERENCE, free_port, wait_until
from test_http import get, metrics, value
from test_takeover import take_over

pytestmark = [pytest.mark.skipif(REFERENCE, reason="not known there"),
              pytest.mark.setting("workers")]

SIZE = 8
PART = 'pool of database "%s" and user "%s" is also served by worker'


def begin(p, database="p0", user="app", password=None):
    """the first client has the pool made, and with it its parts"""
    with p.raw(user, database, password) as c:
        assert c.value("select 1") == "1"
    wait_until(lambda: PART % (database, user) in p.log)


@pytest.fixture
def parts(pooler):
    """A pooler whose pools have parts as soon as they can."""
    def start(*args, ready=True, **settings):
        p = pooler(*args, start=False, **{
            "workers": 2, "default_pool_size": SIZE, **settings})
        p.env["PARTS_FORCE"] = "1"
        p.start()
        if ready:
            begin(p)
        return p
    return start


def of_workers(p, column):
    return [int(r[column]) for r in p.show("workers")]


def row(p, topic, **where):
    rows = [r for r in p.show(topic)
            if all(r[k] == v for k, v in where.items())]
    assert len(rows) == 1, rows
    return rows[0]


def test_clients_are_dealt_and_share_the_size(parts, pg):
    p = parts()
    clients = [p.raw() for _ in range(3 * SIZE)]
    # the console's client is one more
    assert min(of_workers(p, "clients")) >= SIZE
    for c in clients:
        c.send(pq.query("select pg_sleep(0.05)"))
    most = 0
    for c in clients:
        most = max(most, len(pg.backends()))
        c.recv_until("Z")
    assert 4 <= most <= SIZE
    # where they are depends on who waited last
    assert 4 <= sum(of_workers(p, "servers")) <= SIZE
    pool = row(p, "pools", database="p0", user="app")
    assert pool["cl_active"] == str(3 * SIZE)
    assert int(pool["sv_idle"]) + int(pool["sv_used"]) == \
        sum(of_workers(p, "servers"))


def test_views_have_one_row_a_pool(parts):
    p = parts()
    clients = [p.raw() for _ in range(2 * SIZE)]
    for c in clients:
        assert c.value("select 1") == "1"
    stats = row(p, "stats", database="p0")
    assert stats["total_query_count"] == str(2 * SIZE + 1)
    assert row(p, "databases", name="p0")["current_connections"] == \
        str(sum(of_workers(p, "servers")))
    assert row(p, "databases", name="p0")["current_client_connections"] == \
        str(2 * SIZE)
    lists = {r["list"]: r["items"] for r in p.show("lists")}
    assert lists["pools"] == str(len(p.show("pools")))
    query = row(p, "latencies", database="p0", user="app", latency="query")
    assert query["total_count"] == str(2 * SIZE + 1)
    assert len([r for r in p.show("clients")
                if r["database"] == "p0"]) == 2 * SIZE


def test_metrics_have_one_series_a_pool(parts):
    port = free_port()
    p = parts(http_listen_port=port)
    p.http = port
    clients = [p.raw() for _ in range(2 * SIZE)]
    for c in clients:
        assert c.value("select 1") == "1"
    at = {"database": "p0", "user": "app"}
    seen = metrics(p)
    assert value(seen, "pgsluice_pool_queries_total", **at) == 2 * SIZE + 1
    assert value(seen, "pgsluice_pool_clients", state="active", **at) == \
        2 * SIZE
    lines = [li.rsplit(" ", 1)[0] for li in get(p, "/metrics").body.splitlines()
             if not li.startswith("#")]
    assert len(lines) == len(set(lines))


def test_waiters_of_all_parts_are_served(parts, pg):
    """as the first come, with turns: nobody starves"""
    p = parts(default_pool_size=SIZE, server_handover_delay=0.05)
    holders = [p.raw() for _ in range(4 * SIZE)]
    done = []

    def work(c):
        for _ in range(10):
            assert c.value("select 1 from pg_sleep(0.005)") == "1"
        done.append(c)

    threads = [threading.Thread(target=work, args=[c]) for c in holders]
    for t in threads:
        t.start()
    while any(t.is_alive() for t in threads):
        assert len(pg.backends()) <= SIZE
    for t in threads:
        t.join()
    assert len(done) == len(holders)


def test_database_limit_holds_over_parts(parts, pg):
    p = parts({"p0": "max_db_connections=9"})
    begin(p, user="app2")
    clients = [p.raw(u) for u in ("app", "app2") for _ in range(2 * SIZE)]
    for _ in range(3):
        for c in clients:
            c.send(pq.query("select pg_sleep(0.02)"))
        for c in clients:
            assert len(pg.backends()) <= 9
            c.recv_until("Z")


def test_client_limit_of_a_database_holds_over_parts(parts):
    p = parts({"p0": "max_db_client_connections=10"})
    clients = [p.raw() for _ in range(10)]
    with pytest.raises(pq.PgError, match="max_db_client_connections"):
        p.raw()
    clients.pop().close()
    wait_until(lambda: row(p, "databases", name="p0")
               ["current_client_connections"] == "9")
    clients.append(p.raw())


def test_pause_and_resume_reach_all_parts(parts, pg):
    p = parts()
    clients = [p.raw() for _ in range(2 * SIZE)]
    for c in clients:
        assert c.value("select 1") == "1"
    p.admin("pause p0")
    wait_until(lambda: pg.backends() == [])
    for c in clients:
        c.send(pq.query("select 2"))
    wait_until(lambda: row(p, "pools", database="p0", user="app")
               ["cl_waiting"] == str(2 * SIZE))
    waits = row(p, "waits", database="p0")
    assert (waits["clients"], waits["wait_reason"]) == \
        (str(2 * SIZE), "paused")
    p.admin("resume p0")
    for c in clients:
        assert c.recv_until("Z").rows == [["2"]]


def test_reconnect_and_wait_close_reach_all_parts(parts, pg):
    p = parts()
    clients = [p.raw() for _ in range(2 * SIZE)]
    for c in clients:
        c.send(pq.query("select pg_sleep(0.01)"))
    for c in clients:
        c.recv_until("Z")
    before = set(pg.backends())
    p.admin("reconnect p0")
    p.admin("wait_close p0")
    wait_until(lambda: not before & set(pg.backends()))
    for c in clients:
        assert c.value("select 1") == "1"


def test_disable_reaches_all_parts(parts):
    p = parts()
    p.admin("disable p0")
    for _ in range(4):
        with pytest.raises(pq.PgError, match="disabled"):
            p.raw()
    p.admin("enable p0")
    clients = [p.raw() for _ in range(2 * SIZE)]
    assert min(of_workers(p, "clients")) >= 4
    for c in clients:
        assert c.value("select 1") == "1"


def test_kill_reaches_all_parts(parts, pg):
    p = parts()
    clients = [p.raw() for _ in range(2 * SIZE)]
    for c in clients:
        assert c.value("select 1") == "1"
    p.admin("kill p0")
    wait_until(lambda: pg.backends() == [])
    for c in clients:
        assert [e.code for e in c.recv_all().errors] == ["08P01"]
    p.admin("resume p0")
    with p.raw() as c:
        assert c.value("select 1") == "1"


# --- servers go where clients wait ---

class Line:
    """clients that all want a server, in an order that is known"""

    def __init__(self, parts, workers, **settings):
        self.size, self.random = 4 * workers, random.Random(workers)
        self.p = parts(workers=workers, default_pool_size=self.size, **settings)
        clients = [self.p.raw() for _ in range(5 * self.size)]
        self.random.shuffle(clients)
        self.busy, self.waiting = clients[:self.size], []
        for c in self.busy:
            c.query("begin")
        self.queue(clients[self.size:])

    def queue(self, clients):
        """one by one, each seen to wait"""
        for c in clients:
            c.send(pq.query("begin"))
            self.waiting.append(c)
            wait_until(lambda: row(self.p, "pools", database="p0", user="app")
                       ["cl_waiting"] == str(len(self.waiting)))

    def serve(self):
        """returns the first that is"""
        wait_until(lambda: any(c.readable() for c in self.waiting))
        c = next(c for c in self.waiting if c.readable())
        c.recv_until("Z").check()
        self.waiting.remove(c)
        self.busy.append(c)
        return c


@pytest.mark.setting("worker_handover_delay")
@pytest.mark.parametrize("workers", [2, 4])
def test_freed_server_goes_to_the_longest_wait(parts, workers):
    """wherever it is freed, where waits differ by more than the delay"""
    line = Line(parts, workers, worker_handover_delay=0.0001)
    for _ in range(6 * line.size):
        c = line.busy.pop(line.random.randrange(line.size))
        first = line.waiting[0]
        c.query("commit")
        assert line.serve() is first
        line.queue([c])


@pytest.mark.setting("worker_handover_delay")
@pytest.mark.parametrize("workers", [2, 4])
def test_no_wait_is_much_longer_than_by_first_come(parts, workers):
    """where all servers come free in one instant, again and again"""
    line = Line(parts, workers)
    late = {}
    for _ in range(20):
        busy, line.busy = line.busy, []
        first = line.waiting[:line.size]
        for c in busy:
            c.send(pq.query("commit"))
        for c in busy:
            c.recv_until("Z").check()
        for _ in busy:
            late.pop(line.serve(), None)
        late = {c: late.get(c, 0) + 1 for c in first if c in line.waiting}
        assert max(late.values(), default=0) <= 2
        line.queue(busy)


@pytest.mark.parametrize("limit", [
    "pool_size=%d" % SIZE,
    "pool_size=%d max_db_connections=%d" % (2 * SIZE, SIZE)])
def test_idle_servers_go_where_clients_wait(parts, pg, limit):
    """all of them, whatever the leases are, and none is closed for it"""
    p = parts({"p0": limit})
    clients = [p.raw() for _ in range(2 * SIZE)]
    for c in clients:
        c.query("begin")
        c.query("commit")
    before = len(pg.backends())
    # of one worker
    a, b = clients[::2], clients[1::2]
    pids = set()
    for some in (a, b, a):
        for c in some:
            c.query("begin")
            pids.add(c.value("select pg_backend_pid()"))
        for c in some:
            c.query("commit")
    assert len(pids) <= SIZE
    assert before <= SIZE
    out = of_workers(p, "servers_out")
    assert min(out) > 0
    assert out == list(reversed(of_workers(p, "servers_in")))
    assert p.log.count("new connection to server") <= SIZE + 1
    assert "evicted" not in p.log


@pytest.mark.parametrize("first", [0, 1])
def test_login_at_a_part_that_has_had_no_server(parts, pg, first):
    """the welcome is unknown there, and there is no room to open one"""
    p = parts()
    clients = [p.raw() for _ in range(2 * SIZE)]
    p.admin("reconnect p0")
    wait_until(lambda: pg.backends() == [])
    # of one worker
    some = clients[first::2]
    for c in some:
        c.query("begin")
    assert len(pg.backends()) == SIZE
    late = [p.open() for _ in range(4)]
    for c in late:
        c.login("app", "apppw", "p0", wait=False)
    for c in some:
        c.query("commit")
    for c in late:
        c.finish_login("app", "apppw")
        assert c.value("select 1") == "1"


def test_servers_with_large_texts_stay_at_home(parts):
    """to carry them would cost two workers more than a new one costs"""
    p = parts()
    clients = [p.raw() for _ in range(2 * SIZE)]
    some, others = clients[::2], clients[1::2]
    for c in some:
        c.query("begin")
    for c in some:
        c.send(pq.parse("select 'mine' /* %s */" % ("x" * (2 << 20)),
                        "s"), pq.sync())
        c.recv_until().check()
    for c in some:
        c.query("commit")
    before = of_workers(p, "servers_in")
    for c in others:
        c.send(pq.query("select 'light' from pg_sleep(0.01)"))
    for c in others:
        assert c.recv_until().check().rows == [["light"]]
    assert of_workers(p, "servers_in") == before
    assert "closing because: evicted" in p.log
    for c in some:
        c.send(pq.bind("s"), pq.execute(), pq.sync())
        assert c.recv_until().check().rows == [["mine"]]


def test_reload_of_sizes_holds_over_parts(parts):
    """a pool that is too small for parts keeps the clients they have"""
    p = parts()
    clients = [p.raw() for _ in range(3 * SIZE)]
    for size in (3, 12, 7, SIZE):
        p.settings["default_pool_size"] = size
        p.reload()
        for _ in range(2):
            for c in clients:
                c.send(pq.query("select pg_sleep(0.005)"))
            for c in clients:
                c.recv_until("Z")
        wait_until(lambda: sum(of_workers(p, "servers")) <= size)
    for c in clients:
        c.close()
    # one that has none any more gets them again
    begin(p)


def test_parts_end_where_the_pool_must_have_none(parts):
    p = parts()
    clients = [p.raw() for _ in range(2 * SIZE)]
    for c in clients:
        assert c.value("select 1") == "1"
    p.settings["pool_mode"] = "session"
    p.reload()
    wait_until(lambda: "is served by one worker from now on" in p.log)
    late = [p.raw() for _ in range(4)]
    before = of_workers(p, "clients")
    assert sum(before) == 2 * SIZE + 5    # and the console's
    for c in clients:
        assert c.value("select 1") == "1"
        c.close()
    wait_until(lambda: sorted(of_workers(p, "clients")) in ([1, 4], [0, 5]))
    wait_until(lambda: sorted(of_workers(p, "databases")) in
               ([1, 2], [0, 3]))
    for c in late:
        assert c.value("select 1") == "1"


def test_removed_database_takes_its_parts_along(parts, pg):
    p = parts({"p0": "", "p1": ""})
    clients = [p.raw() for _ in range(2 * SIZE)]
    for c in clients:
        c.send(pq.query("select 1"))
    del p.dbs["p0"]
    p.reload()
    wait_until(lambda: pg.backends() == [])
    for c in clients:
        assert [e.code for e in c.recv_all().errors] == ["08P01"]
    with pytest.raises(pq.PgError, match="no such database"):
        p.raw()
    p.dbs["p0"] = ""
    p.reload()
    begin(p)
    assert sum(of_workers(p, "servers")) >= 1


def test_user_of_auth_query_is_dealt_with_his_secret(parts, pg):
    p = parts({"p0": "auth_user=postgres auth_query='select usename, passwd "
               "from pg_shadow where usename=$1'"}, ready=False,
              auth_type="scram-sha-256", userlist={
                  "postgres": "", "admin": "adminpw", "stats": ""})
    begin(p, user="u_scram", password=PASSWORDS["u_scram"])
    clients = [p.raw("u_scram", password=PASSWORDS["u_scram"])
               for _ in range(2 * SIZE)]
    assert min(of_workers(p, "clients")) >= SIZE
    for c in clients:
        assert c.value("select current_user") == "u_scram"


@pytest.mark.parametrize("asked", ["d%d" % n for n in range(4)])
def test_user_is_dealt_to_where_he_was_asked_for(parts, asked):
    """the home of the database that is asked may be the part's worker"""
    p = parts({"p0": "auth_dbname=" + asked, asked: "dbname=p0"}, ready=False,
              auth_type="plain", auth_user="postgres",
              auth_query="select $1::text, 'of ' || $1", userlist={
                  "postgres": "", "admin": "adminpw", "stats": ""})
    begin(p, password="of app")
    clients = [p.raw(password="of app") for _ in range(2 * SIZE)]
    assert min(of_workers(p, "clients")) >= SIZE
    for c in clients:
        assert c.value("select current_user") == "app"


def test_takeover_of_parts(parts, pooler):
    p = parts()
    clients = [p.raw() for _ in range(2 * SIZE)]
    for c in clients:
        c.query("set application_name = 'mine'")
    clients[0].query("begin")
    q = take_over(pooler, p)
    for c in clients:
        assert c.value("show application_name") == "mine"
    assert sum(of_workers(q, "servers")) <= SIZE


# --- all at once ----------------------------------------------------------

LIMIT = 11


class Storm:
    """Clients that come, work, and leave in all ways."""

    def __init__(self, p, seed):
        self.p, self.random = p, random.Random(seed)
        self.over = threading.Event()
        self.done = [0]
        self.threads = [threading.Thread(target=self.run, args=[i])
                        for i in range(12)]
        for t in self.threads:
            t.start()

    def run(self, i):
        while not self.over.is_set():
            try:
                self.session("app" if i % 3 else "app2")
            except (pq.PgError, pq.Closed, OSError):
                self.over.wait(0.01)

    def open(self, user):
        return self.p.raw(user)

    def session(self, user):
        c = self.open(user)
        for _ in range(self.random.randrange(12)):
            if self.over.is_set():
                break
            what = self.random.randrange(6)
            if what == 0:
                c.query("begin")
                c.query("select pg_sleep(0.003)")
                c.query("commit")
            elif what == 1:
                c.send(pq.query("select pg_sleep(0.02)"))
                if self.random.randrange(4) == 0:
                    c.abort()
                    return
                c.recv_until("Z")
            else:
                c.query("select %d" % what)
            self.done[0] += 1
        if self.random.randrange(2):
            c.close()
        else:
            c.abort()

    def end(self):
        self.over.set()
        for t in self.threads:
            t.join()


def order(p, pg, rnd):
    """something that an administrator, or PostgreSQL, may do at any time"""
    what = rnd.randrange(12)
    if what < 3:
        pg.sql("select pg_terminate_backend(pid) from pg_stat_activity "
               "where datname='p0' and backend_type='client backend' "
               "order by random() limit %d" % rnd.randrange(1, 5))
    elif what == 3:
        p.settings["default_pool_size"] = rnd.choice([4, 8, 10, 20])
        p.settings["reserve_pool_size"] = rnd.choice([0, 2])
        p.reload()
    elif what == 4:
        p.admin("reconnect p0")
    elif what == 5:
        p.admin("pause p0")
        p.admin("resume p0")
    elif what == 6:
        p.admin("disable p0")
        p.admin("enable p0")
    elif what == 7:
        with p.raw("admin", "pgbouncer", unix=True) as con:
            con.query("suspend")
            con.query("resume")
    elif what == 8:
        p.admin("kill p0")
        p.admin("resume p0")
    elif what == 9:
        p.settings["pool_mode"] = rnd.choice(
            ["session", "transaction", "transaction"])
        p.reload()
    elif what == 10:
        rows = [r for r in p.show("clients") if r["database"] == "p0"]
        if rows:
            try:
                p.admin("kill_client " + rnd.choice(rows)["id"])
            except Exception:     # it has gone meanwhile
                pass
    else:
        p.show("pools")
        p.show("servers")


@pytest.mark.parametrize("seed", range(int(os.environ.get("SEEDS") or 1)))
def test_storms_orders_and_kills_leave_nothing_behind(parts, pg, seed):
    """PARTS_FORCE has each look compare the ledgers with what there is"""
    seed += int(os.environ.get("SEED") or 0)
    rnd = random.Random(seed)
    p = parts({"p0": "max_db_connections=%d" % LIMIT},
              server_login_retry=0.1, server_handover_delay=0.02,
              reserve_pool_timeout=0.05, max_client_conn=200,
              server_idle_timeout=1)
    storm = Storm(p, seed)
    try:
        for _ in range(int(os.environ.get("ORDERS") or 25)):
            order(p, pg, rnd)
            # what the pooler has; PostgreSQL may take a while to see it
            assert sum(of_workers(p, "servers")) <= LIMIT
            storm.over.wait(0.02)
    finally:
        storm.end()
    p.settings.update(default_pool_size=SIZE, pool_mode="transaction")
    p.reload()
    wait_until(lambda: len(pg.backends()) <= LIMIT)
    # all may be used: nothing is taken that nobody has
    clients = [p.raw() for _ in range(3 * SIZE)]
    for c in clients:
        c.send(pq.query("select pg_sleep(0.3)"))
    wait_until(lambda: int(row(p, "pools", database="p0", user="app")
                           ["sv_active"]) == SIZE)
    for c in clients:
        c.recv_until("Z")


# --- by load --------------------------------------------------------------

class Busy(threading.Thread):
    """Has statements made and closed that the server has already: nobody but
    the pooler has to do anything."""
    DATA = (pq.parse("select 1", "s") + pq.close("S", "s")) * 3000 + pq.sync()

    def __init__(self, p, stop):
        super().__init__()
        self.p, self.stop, self.failure = p, stop, None
        self.start()

    def run(self):
        try:
            while not self.stop.is_set():
                with self.p.raw() as c:
                    for _ in range(20):
                        c.send(self.DATA)
                        # ParseComplete, CloseComplete; ReadyForQuery
                        c.recv_bytes(3000 * 10)
                        assert c.recv() == ("Z", b"I")
        except Exception as e:
            self.failure = repr(e)


@pytest.mark.skipif("PARTS_FORCE" in os.environ, reason="they begin at once")
def test_parts_begin_by_load_and_end_when_it_is_quiet(pooler, monkeypatch):
    """new clients are dealt to them meanwhile"""
    # beside other tests a worker has a part of a core only
    monkeypatch.setenv("PARTS_SHORT", "15")
    p = pooler(workers=2, default_pool_size=SIZE, log_connections=0,
               log_disconnections=0)
    stop = threading.Event()
    clients = [Busy(p, stop) for _ in range(6)]
    try:
        p.wait_log("is also served by worker")
        wait_until(lambda: min(of_workers(p, "clients")) > 0 and
                   min(of_workers(p, "servers")) > 0)
        stay = [p.raw() for _ in range(SIZE)]
    finally:
        stop.set()
        for r in clients:
            r.join()
    assert [r.failure for r in clients if r.failure] == []
    p.wait_log("is served by one worker from now on")
    # whoever is elsewhere goes home
    wait_until(lambda: sorted(of_workers(p, "clients")) in
               ([1, SIZE], [0, SIZE + 1]))    # and the console's
    wait_until(lambda: min(of_workers(p, "servers")) == 0)
    for c in stay:
        assert c.value("select 1") == "1"
