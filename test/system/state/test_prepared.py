# test_prepared.py - protocol-level prepared statements across servers.
# SPDX-License-Identifier: ISC
import contextlib

import psycopg
import pytest

import pq
from harness import REFERENCE, wait_until
from test_takeover import take_over

pytestmark = pytest.mark.skipif(
    REFERENCE, reason="statement tracking is newer than that")
NAMES = "select name from pg_prepared_statements order by name"


@pytest.fixture
def two(pooler):
    """A pooler with two servers and one client holding the first."""
    def make(**kw):
        kw.setdefault("default_pool_size", 2)
        return pooler(**kw)
    return make


def run(c, name, *params):
    """Bind, Execute and Sync a named statement."""
    c.send(pq.bind(name, params), pq.execute(), pq.sync())
    return c.recv_until()


def prepare(c, name, sql, types=()):
    c.send(pq.parse(sql, name, types), pq.sync())
    return c.recv_until()


@contextlib.contextmanager
def busy(p, pid):
    """The server of this process."""
    held, found = [], None
    while found != pid:
        held.append(p.raw())
        held[-1].query("begin")
        found = held[-1].value("select pg_backend_pid()")
    for c in held[:-1]:
        c.query("commit")
    yield
    held[-1].query("commit")
    for c in held:
        c.close()


def on_other_server(p, c, fn):
    """Run fn while the server that c used last is kept busy."""
    with busy(p, c.value("select pg_backend_pid()")):
        return fn()


def test_psycopg_prepares_transparently(two):
    """pooling.md 16"""
    p = two()
    conns = [p.connect() for _ in range(4)]
    for i in range(20):
        for c in conns:
            cur = c.execute("select %s::int + 1", (i,), prepare=True)
            assert cur.fetchone() == (i + 1,)
    assert p.stats()["total_bind_count"] >= 76


def test_statement_is_prepared_again_on_another_server(two):
    """pooling.md 16: Bind injects a Parse whose reply is swallowed"""
    p = two()
    c = p.raw()
    assert prepare(c, "st", "select $1::int * 2").kinds == "1Z"
    assert run(c, "st", 4).kinds == "2DCZ"
    res = on_other_server(p, c, lambda: run(c, "st", 5))
    assert res.kinds == "2DCZ" and res.rows == [["10"]]


def test_describe_prepares_on_another_server(two):
    """pooling.md 16"""
    p = two()
    c = p.raw()
    prepare(c, "st", "select $1::int as num")

    def describe():
        c.send(pq.describe("S", "st"), pq.sync())
        return c.recv_until()
    res = on_other_server(p, c, describe)
    assert res.kinds == "tTZ" and res.columns == ["num"]


def test_two_clients_same_name_different_text(two):
    """pooling.md 16: names are per client"""
    p = two(default_pool_size=1)
    a, b = p.raw(), p.raw()
    prepare(a, "st", "select 'from a'")
    prepare(b, "st", "select 'from b'")
    for _ in range(3):
        assert run(a, "st").rows == [["from a"]]
        assert run(b, "st").rows == [["from b"]]


def test_same_text_is_prepared_once_per_server(two):
    """pooling.md 16: fake ParseComplete"""
    p = two(default_pool_size=1)
    clients = [p.raw() for _ in range(3)]
    for i, c in enumerate(clients):
        assert prepare(c, "n%d" % i, "select 99").kinds == "1Z"
        assert run(c, "n%d" % i).rows == [["99"]]
    names = clients[0].query(NAMES).rows
    assert len(names) == 1 and names[0][0].startswith("PGBOUNCER_")
    st = p.stats()
    assert st["total_client_parse_count"] == 3
    assert st["total_server_parse_count"] == 1
    assert st["total_bind_count"] == 3


def test_types_belong_to_the_statement(two):
    """pooling.md 16: key = text + parameter types"""
    p = two(default_pool_size=1)
    c = p.raw()
    sql = "select pg_typeof($1)::text"
    prepare(c, "i", sql, (23,))
    prepare(c, "t", sql, (25,))
    assert run(c, "i", "1").rows == [["integer"]]
    assert run(c, "t", "1").rows == [["text"]]
    # of another client, and of one that prepares the name again
    other = p.raw()
    prepare(other, "i", sql, (25,))
    assert run(other, "i", "1").rows == [["text"]]
    c.send(pq.close("S", "i"), pq.parse(sql, "i", (20,)), pq.sync())
    c.recv_until().check()
    assert run(c, "i", "1").rows == [["bigint"]]
    c.send(pq.close("S", "i"), pq.parse(sql, "i"), pq.sync())
    assert c.recv_until().errors[0].code == "42P18"
    assert run(other, "i", "1").rows == [["text"]]


def test_eviction_with_a_small_cache(two):
    """pooling.md 16: LRU of max_prepared_statements"""
    # regressions: PB#1472
    p = two(default_pool_size=1, max_prepared_statements=2)
    c = p.raw()
    for i in range(5):
        assert prepare(c, "s%d" % i, "select %d" % i).kinds == "1Z"
        assert len(c.query(NAMES).rows) <= 2
    for rounds in range(3):
        for i in range(5):
            assert run(c, "s%d" % i).rows == [[str(i)]]
    assert len(c.query(NAMES).rows) == 2
    assert p.show("servers", database="p0")[0]["prepared_statements"] == "2"
    me = [r for r in p.show("clients", database="p0")]
    assert me[0]["prepared_statements"] == "5"


def test_eviction_inside_one_batch(two):
    """pooling.md 16: injected Close after the Parse, replies in order"""
    # regressions: PB#1472, PgDog#712
    p = two(default_pool_size=1, max_prepared_statements=2)
    c = p.raw()
    c.send(*[pq.parse("select %d" % i, "s%d" % i) + pq.bind("s%d" % i)
             + pq.execute() for i in range(6)], pq.sync())
    res = c.recv_until()
    assert res.kinds == "12DC" * 6 + "Z"
    c.send(*[pq.bind("s%d" % i) + pq.execute() for i in range(6)],
           pq.sync())
    res = c.recv_until()
    assert res.kinds == "2DC" * 6 + "Z"
    assert [r[0] for r in res.rows] == list("012345")


def test_whole_cycle_in_one_write_many_times(two):
    """pooling.md 16: P/B/D/E/C/S with a name, pipelined"""
    p = two()
    c = p.raw()
    n = 50
    c.send(*[pq.parse("select $1::int", "x") + pq.bind("x", (i,))
             + pq.describe("P") + pq.execute() + pq.close("S", "x")
             + pq.sync() for i in range(n)])
    for i in range(n):
        res = c.recv_until()
        assert res.kinds == "12TDC3Z" and res.rows == [[str(i)]]


def test_close_is_answered_and_frees_the_name(two):
    """pooling.md 16: Close is never sent"""
    # regressions: PgDog#1067
    p = two(default_pool_size=1)
    c = p.raw()
    prepare(c, "st", "select 1")
    c.send(pq.close("S", "st"), pq.sync())
    assert c.recv_until().kinds == "3Z"
    assert prepare(c, "st", "select 2").kinds == "1Z"
    assert run(c, "st").rows == [["2"]]


def test_close_needs_no_server(two):
    """pooling.md 16: answered at once without a server"""
    # regressions: Ody 9b8ab1ff
    p = two(default_pool_size=1)
    h, c = p.raw(), p.raw()
    prepare(c, "st", "select 1")
    h.query("begin")
    c.send(pq.close("S", "st"))
    assert c.recv() == ("3", b"")
    assert p.pool()["cl_waiting"] == 0
    h.query("commit")
    assert c.value("select 1") == "1"


def test_close_portal_is_no_statement_close(two):
    """pooling.md 16 (PgDog #1338): portal of the same name"""
    # regressions: PgDog#1338
    p = two(default_pool_size=1)
    c = p.raw()
    prepare(c, "same", "select 3")
    c.send(pq.close("P", "same"), pq.sync())
    assert c.recv_until().kinds == "3Z"
    assert run(c, "same").rows == [["3"]]


@pytest.mark.parametrize("cmd", ["deallocate all", "discard all"])
def test_deallocate_all_clears_the_maps(two, cmd):
    """pooling.md 16"""
    # regressions: Ody 6aedf597
    p = two(default_pool_size=1)
    c, d = p.raw(), p.raw()
    prepare(c, "st", "select 1")
    prepare(d, "st", "select 'd'")
    c.query(cmd)
    assert prepare(c, "st", "select 2").kinds == "1Z"
    assert run(c, "st").rows == [["2"]]
    assert run(d, "st").rows == [["d"]]


@pytest.mark.parametrize("cmd", ["deallocate all", "discard all"])
def test_deallocate_all_in_a_pipeline(two, cmd):
    """pooling.md 16 (#1535): names parsed after it stay known"""
    # regressions: PB#1535
    p = two(default_pool_size=1)
    c = p.raw()
    prepare(c, "old", "select 0")
    c.send(pq.query(cmd), pq.parse("select 1", "new"), pq.bind("new"),
           pq.execute(), pq.sync())
    assert c.recv_until().kinds == "CZ"
    assert c.recv_until().kinds == "12DCZ"
    assert run(c, "new").rows == [["1"]]


def test_failed_parse_frees_the_name(two):
    """pooling.md 16: as PostgreSQL does"""
    p = two(default_pool_size=1)
    c = p.raw()
    res = prepare(c, "st", "selec bad")
    assert res.kinds == "EZ" and res.errors[0].code == "42601"
    assert prepare(c, "st", "select 6").kinds == "1Z"
    assert run(c, "st").rows == [["6"]]


def test_parse_skipped_after_an_error_is_not_prepared(two):
    """pooling.md 16: entries dropped by an ErrorResponse"""
    p = two(default_pool_size=1)
    c = p.raw()
    c.send(pq.parse("selec bad"), pq.parse("select 8", "st"), pq.sync())
    assert c.recv_until().kinds == "EZ"
    assert prepare(c, "st", "select 8").kinds == "1Z"
    assert run(c, "st").rows == [["8"]]


def test_failed_parse_of_one_client_does_not_hurt_another(two):
    """pooling.md 16"""
    # regressions: PgCat e76d720
    p = two(default_pool_size=1)
    a, b = p.raw(), p.raw()
    sql = "select * from made_later"
    assert prepare(a, "st", sql).kinds == "EZ"
    b.query("create table if not exists made_later (a int)")
    try:
        assert prepare(b, "st", sql).kinds == "1Z"
        assert run(b, "st").kinds == "2CZ"
        assert prepare(a, "st", sql).kinds == "1Z"
        assert run(a, "st").kinds == "2CZ"
    finally:
        b.query("drop table made_later")


def test_injected_parse_that_fails_is_told(two):
    """pooling.md 14: the error stands for the client's own message"""
    p = two(default_pool_size=2)
    c = p.raw()
    c.query("create table if not exists gone_soon (a int)")
    prepare(c, "st", "select * from gone_soon")

    def bind_it():
        c.send(pq.bind("st"), pq.execute(), pq.sync())
        return c.recv_until()

    def drop_and_bind():
        with p.raw() as d:
            d.query("drop table gone_soon")
        return bind_it()
    res = on_other_server(p, c, drop_and_bind)
    assert res.kinds == "EZ" and res.errors[0].code == "42P01"
    assert c.value("select 1") == "1"


@pytest.mark.parametrize("message", [pq.bind("ghost"),
                                     pq.describe("S", "ghost")])
def test_unknown_name_is_an_error_in_its_place(two, message):
    """pooling.md 16: as PostgreSQL"""
    # regressions: PgP 4.6.4 Bind
    p = two()
    c = p.raw()
    pid = c.value("select pg_backend_pid()")
    c.send(pq.query("select 1"), message, pq.execute(), pq.sync())
    assert c.recv_until().kinds == "TDCZ"
    res = c.recv_until()
    assert res.kinds == "EZ" and res.errors[0].severity == "ERROR"
    assert res.errors[0].code == "26000"
    assert res.errors[0].message == 'prepared statement "ghost" does not exist'
    # it is kept; another one may be the next
    assert pid in [s["remote_pid"] for s in p.servers()]


@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize("setting", [
    "set intervalstyle = iso_8601", "select set_config('datestyle', 'sql', "
    "false)"])
@pytest.mark.parametrize("most", [1, 100])
def test_error_has_the_name_by_which_the_statement_was_bound(two, most,
                                                             setting, closed):
    """pooling.md 16: behind what may set something the name stands for
    another statement, also for an answer that comes later
    """
    p = two(default_pool_size=1, max_prepared_statements=most)
    c, other = p.raw(), p.raw()
    assert prepare(c, "mine", "select 1").kinds == "1Z"
    assert prepare(other, "others", "select 1").kinds == "1Z"
    ends = [pq.close("S", "mine"), pq.parse("select 2", "mine")]
    c.send(pq.bind("mine", ["too many"]), pq.describe("S", "mine"),
           pq.sync(), pq.query(setting), pq.bind("mine", ["too many"]),
           pq.sync(), *(ends if closed else []), pq.bind("mine", ["again"]),
           pq.execute(), pq.sync())
    for ended in 1, 0, 1, 1:
        res = c.recv_until()
        assert [(e.code, e.message) for e in res.errors] == [
            ("08P01", 'bind message supplies 1 parameters, but prepared '
             'statement "mine" requires 0')] * ended
    assert run(other, "others").rows == [["1"]]
    if not closed:
        assert run(c, "mine").rows == [["1"]]


@pytest.mark.parametrize("state", ["forget", "keep"])
def test_name_in_an_error_that_a_successor_tells(pooler, latch, state):
    """-R, while the name stands for another statement already"""
    p = pooler(default_pool_size=1, max_prepared_statements=1,
               session_state=state)
    c = p.raw()
    assert prepare(c, "mine", "select 1").kinds == "1Z"
    c.send(pq.query("select " + latch.query), pq.bind("mine", ["too many"]),
           pq.sync(), pq.query("set intervalstyle = iso_8601"),
           pq.bind("mine", ["too many"]), pq.sync())
    wait_until(lambda: p.show("servers", state="active"))
    take_over(pooler, p)
    latch.open()
    said = [[e.message for e in c.recv_until().errors] for _ in range(4)]
    wrong = ['bind message supplies 1 parameters, but prepared statement '
             '"mine" requires 0']
    assert said == [[], wrong, [], wrong]
    assert run(c, "mine").rows == [["1"]]


@pytest.mark.parametrize("how", ["kill_client", "kill"])
@pytest.mark.parametrize("workers", [1, 2])
def test_kill_amid_a_pipeline_leaves_nothing_to_the_next_client(
        pooler, latch, workers, how):
    """settings on their way, a name and an unnamed statement in use"""
    p = pooler(default_pool_size=1, session_state="keep", workers=workers)
    a, b = p.raw(), p.raw()
    a.query("set app.tenant = 'own'; set work_mem = '5MB'").check()
    prepare(a, "mine", "select 'a'")
    b.query("set work_mem = '7MB'").check()
    a.send(pq.parse("select 'unnamed'"), pq.sync(),
           pq.query("set app.tenant = 'more'"),
           pq.query("select " + latch.query), pq.bind("mine"), pq.execute(),
           pq.sync(), pq.query("set app.tenant = 'last'"))
    a.recv_until()
    wait_until(lambda: p.show("servers", state="active"))
    if how == "kill":
        p.admin("kill p0")
        p.admin("resume p0")
        assert b.recv_all().errors
        b = p.raw()
        b.query("set work_mem = '7MB'").check()
    else:
        p.admin("kill_client " + [r["link"] and r["id"] for r in
                                  p.show("clients", database="p0")
                                  if r["link"]][0])
    assert a.recv_all().errors[-1].severity == "FATAL"
    latch.open()
    look = "select coalesce(current_setting('app.tenant', true), ''), " \
        "current_setting('work_mem')"
    for _ in range(2):
        assert b.query(look).rows == [["", "7MB"]]
        with p.raw() as new:
            assert new.query(look).rows == [["", "4MB"]]
            new.send(pq.bind(), pq.execute(), pq.sync())
            assert [e.code for e in new.recv_until().errors] == ["26000"]
            assert [e.code for e in run(new, "mine").errors] == ["26000"]


def test_last_words_of_the_server_are_the_last(two, pg):
    """its code, by which a driver tries again, is not hidden by ours"""
    p = two()
    c = p.raw()
    c.query("begin")
    pg.terminate(int(c.value("select pg_backend_pid()")))
    errors = c.recv_all().errors
    assert [e.code for e in errors] == ["57P01"]


@pytest.mark.parametrize("text, code, ends", [
    ("select 2", "42P05", "S"), ("selec 2", "42601", "S"),
    ("select 2", "42P05", "HS"), ("select 2", "25P02", "ES")])
def test_taken_name_is_an_error_in_its_place(two, text, code, ends):
    """pooling.md 16: as PostgreSQL, and the connection goes on"""
    p = two(default_pool_size=1)
    c = p.raw()
    prepare(c, "st", "select 1")
    if ends[0] == "E":
        c.query("begin").check()
        c.send(pq.query("select 1/0"))
        assert c.recv_until("Z").errors
    before = [] if ends[0] == "E" else [pq.bind("st"), pq.execute()]
    c.send(*before, pq.parse(text, "st"), *[pq.flush()] * ends.count("H"),
           pq.bind("st"), pq.execute(), pq.sync())
    res = c.recv_until("Z")
    error, = res.errors
    assert (error.severity, error.code) == ("ERROR", code)
    if code == "42P05":
        assert error.message == 'prepared statement "st" already exists'
    assert res.kinds == ("2DCEZ" if before else "EZ")
    c.query("rollback")
    assert run(c, "st").rows == [["1"]]
    assert run(p.raw(), "st").errors[0].code == "26000"


@pytest.mark.parametrize("data", [
    pq.msg("P", b"name-without-end"), pq.msg("P", b"st\0select 1\0"),
    pq.msg("P", b"st\0select 1\0\0\7\0\0"), pq.msg("B", b"portal\0noend"),
    pq.msg("D", b"S"), pq.msg("D", b""), pq.msg("C", b"Sx"),
    pq.msg("C", b"")])
def test_malformed_message_is_refused(two, data):
    """client-errors.md 5: failed to parse packet, broken ... packet"""
    p = two(default_pool_size=1)
    c = p.raw()
    c.send(data, pq.sync())
    res = c.recv_all()
    assert res.errors[-1].severity == "FATAL"
    kind = {"P": "Parse", "B": "Bind", "D": "Describe", "C": "Close"}
    assert res.errors[-1].message in (
        "failed to parse packet",
        "broken %s packet" % kind[chr(data[0])])
    assert p.raw().value("select 1") == "1"


def test_session_mode_leaves_names_alone(two):
    """pooling.md 16: not in session mode"""
    p = two(pool_mode="session")
    c = p.raw()
    prepare(c, "my name", "select 1")
    assert c.query(NAMES).rows == [["my name"]]
    res = run(c, "ghost")
    assert res.errors[0].code == "26000"
    assert prepare(c, "my name", "select 2").errors[0].code == "42P05"


@pytest.mark.setting("max_prepared_statements")
def test_zero_switches_tracking_off(two):
    """settings.md 3: max_prepared_statements = 0"""
    p = two(default_pool_size=1, max_prepared_statements=0)
    c = p.raw()
    prepare(c, "plain", "select 1")
    assert c.query(NAMES).rows == [["plain"]]


@pytest.mark.setting("max_prepared_statements")
@pytest.mark.parametrize("key,value", [("max_prepared_statements", 0),
                                       ("pool_mode", "session")])
def test_names_stay_when_tracking_is_switched_off(two, key, value):
    """better than pooling.md 16: who holds names goes on, others pass"""
    p = two()
    c = p.raw()
    prepare(c, "st", "select $1::int * 2")
    assert on_other_server(p, c, lambda: run(c, "st", 5)).rows == [["10"]]
    p.settings[key] = value
    p.reload()
    # a server that does not have it, and one that does
    p.admin("reconnect p0")
    p.admin("wait_close p0")
    for _ in range(2):
        assert run(c, "st", 6).rows == [["12"]]
    assert prepare(c, "another", "select 'x'").kinds == "1Z"
    assert run(c, "another").rows == [["x"]]
    assert run(c, "st", 7).rows == [["14"]]
    # nobody who comes now is translated
    with p.raw() as d:
        prepare(d, "plain", "select 1")
        assert ["plain"] in d.query(NAMES).rows
    # nor is this one, when its last name is gone
    for name in ("st", "another"):
        c.send(pq.close("S", name), pq.sync())
        assert c.recv_until().kinds == "3Z"
    assert prepare(c, "mine", "select 1").kinds == "1Z"
    assert ["mine"] in c.query(NAMES).rows


def test_large_statement_is_tracked(two):
    """pooling.md 16: Parse must be seen whole"""
    p = two()
    c = p.raw()
    text = "x" * 300000
    prepare(c, "big", "select length('%s')" % text)
    res = on_other_server(p, c, lambda: run(c, "big"))
    assert res.rows == [["300000"]]


def test_bind_with_large_parameter_passes(two):
    """pooling.md 16: rest of the message unchanged"""
    p = two(default_pool_size=1)
    c = p.raw()
    prepare(c, "n" * 60, "select md5($1)")
    import hashlib
    val = "y" * 3000000
    assert run(c, "n" * 60, val).rows == [
        [hashlib.md5(val.encode()).hexdigest()]]


def test_names_die_with_their_client(two):
    """pooling.md 16: entry lives while somebody refers to it"""
    # regressions: PgCat 9514b3b, PgDog#1342, PgDog#1402
    p = two(default_pool_size=1)
    for i in range(30):
        c = p.raw()
        prepare(c, "st", "select %d" % (i % 3))
        c.close()
    d = p.raw()
    c.close()
    assert len(d.query(NAMES).rows) == 3
    d.send(pq.bind("st"), pq.sync())
    assert d.recv_until().errors[0].code == "26000"


def test_schema_change_is_reported_once(two):
    """bugs: cached plan must not change result type"""
    p = two(default_pool_size=1)
    c = p.raw()
    c.query("drop table if exists shape; create table shape (a int)")
    prepare(c, "st", "select * from shape")
    run(c, "st")
    c.query("alter table shape add b int")
    assert run(c, "st").errors[0].code == "0A000"
    c.send(pq.close("S", "st"), pq.sync())
    c.recv_until()
    c.query("deallocate all")
    assert prepare(c, "st2", "select * from shape").kinds == "1Z"
    assert run(c, "st2").kinds == "2CZ"
    c.query("drop table shape")


def test_psycopg_error_then_prepared(two):
    """pooling.md 16: error in a batch keeps the maps right"""
    # regressions: Ody #564
    p = two(default_pool_size=1)
    c, d = p.connect(), p.connect()
    for _ in range(3):
        with pytest.raises(psycopg.errors.DivisionByZero):
            c.execute("select 1/%s::int", (0,), prepare=True)
        assert c.execute("select 1/%s::int", (1,),
                         prepare=True).fetchone() == (1,)
        assert d.execute("select 1/%s::int", (1,),
                         prepare=True).fetchone() == (1,)


def test_client_leaving_mid_batch_keeps_servers_right(two):
    """pooling.md 13, 16"""
    p = two(default_pool_size=1)
    for _ in range(5):
        c = p.raw()
        c.send(pq.parse("select pg_sleep(0.05)", "st"), pq.bind("st"),
               pq.execute())
        c.abort()
    d = p.raw()
    wait_until(lambda: p.pool()["cl_active"] == 1)
    prepare(d, "st", "select 'mine'")
    assert run(d, "st").rows == [["mine"]]


# --- what the server thinks of it changes -----------------------------------

@pytest.fixture
def changing(pg):
    """A table whose column changes its type."""
    pg.sql("drop table if exists changing",
           "create table changing (id int, val text)",
           "insert into changing values (1, 'one')",
           "alter table changing owner to app", db="p0")
    return "select * from changing"


def change(pg, to):
    pg.sql("alter table changing alter val type " + to, db="p0")


def test_changed_result_type_is_cured_by_preparing_again(pooler, pg,
                                                         changing):
    """family 5 (schema change): not "cached plan must not change result
    type" for ever, for nobody
    """
    # regressions: family 5: maps of statements
    p = pooler(default_pool_size=1)
    a, b = p.raw(), p.raw()
    for c in (a, b):
        assert prepare(c, "st", changing).kinds == "1Z"
        assert run(c, "st").rows == [["1", "one"]]
    change(pg, "varchar(9)")
    for _ in range(2):		# as PostgreSQL, till it is prepared again
        assert run(a, "st").errors[0].code == "0A000"
    a.send(pq.close("S", "st"), pq.sync())
    assert a.recv_until().kinds == "3Z"
    assert prepare(a, "st", changing).kinds == "1Z"
    assert run(a, "st").rows == [["1", "one"]]
    assert run(b, "st").errors[0].code == "0A000"
    b.send(pq.close("S", "st"), pq.parse(changing, "st"), pq.bind("st"),
           pq.execute(), pq.sync())
    assert b.recv_until().rows == [["1", "one"]]
    change(pg, "text")
    assert run(a, "st").errors[0].code == "0A000"
    c = p.raw()
    assert prepare(c, "other", changing).kinds == "1Z"
    assert run(c, "other").rows == [["1", "one"]]


@pytest.mark.parametrize("undo", ["rollback", "rollback to a", "select 1/0; commit"])
def test_what_is_prepared_amid_a_change_is_for_that_transaction(
        pooler, changing, undo):
    """pooling.md 16: the change may be taken back"""
    p = pooler(default_pool_size=1)
    a, b = p.raw(), p.raw()
    a.query("begin; savepoint a; alter table changing add more int")
    prepare(a, "st", changing)
    assert run(a, "st").rows == [["1", "one", None]]
    a.try_query(undo)
    if "to" not in undo:
        a.try_query("rollback")
        a = b
    a.query("begin")
    prepare(a, "again", changing)
    assert run(a, "again").rows == [["1", "one"]]


@pytest.mark.parametrize("drop", ["", "on commit drop"])
def test_who_prepares_behind_create_writes_to_what_it_has_made(
        pooler, changing, drop):
    """pooling.md 16: and not to the table of that name that all have"""
    text = "insert into changing values ($1)"
    p = pooler(default_pool_size=1)
    a, b = p.raw(), p.raw()
    b.query("create temp table first (i int); drop table first")
    prepare(a, "st", text)
    b.query("begin; create temp table changing (i int) " + drop)
    prepare(b, "st", text)
    assert run(b, "st", "7").tags == ["INSERT 0 1"]
    assert b.query("select * from changing").rows == [["7"]]
    b.query("drop table changing; commit" if drop == "" else "commit")
    assert a.query("select * from changing").rows == [["1", "one"]]
    assert run(a, "st", "8").tags == ["INSERT 0 1"]
    prepare(b, "again", text)
    assert run(b, "again", "9").tags == ["INSERT 0 1"]
    assert a.query("select id from changing order by id").rows == \
        [["1"], ["8"], ["9"]]


def test_work_table_of_each_transaction_has_its_own_columns(pooler):
    """pooling.md 16"""
    p = pooler(default_pool_size=1)
    c = p.raw()
    for n, kind in enumerate(("int", "text", "date")):
        c.query("begin; create temp table work (a %s) on commit drop" % kind)
        prepare(c, "st%d" % n, "select * from work")
        assert run(c, "st%d" % n).tags == ["SELECT 0"]
        c.query("commit")


def run_described(c, name, *params):
    c.send(pq.bind(name, params), pq.describe("P"), pq.execute(), pq.sync())
    return c.recv_until()


def test_schema_change_is_not_noticed_by_who_is_told_of_columns(
        pooler, pg, changing):
    """pooling.md 16: on each server, by each client, once only in between"""
    p = pooler(default_pool_size=2)
    clients = [p.raw() for _ in range(2)]
    for c in clients:
        assert prepare(c, "st", changing + " where id = $1").kinds == "1Z"
    for to in "varchar(9)", "text", "char(3)", "text":
        change(pg, to)
        for c in clients:
            for res in (on_other_server(p, c, lambda: run_described(
                    c, "st", 1)), run_described(c, "st", 1)):
                assert res.kinds == "2TDCZ", (to, res.errors)
                assert [v.strip() for v in res.rows[0]] == ["1", "one"]


def test_schema_change_is_not_noticed_where_one_of_two_has_seen_the_last(
        two, pg, changing):
    """what a prepares anew is too old where b comes to need it"""
    p = two()
    a, b = p.raw(), p.raw()
    x = a.value("select pg_backend_pid()")
    with busy(p, x):
        y = a.value("select pg_backend_pid()")
    with busy(p, y):
        for c in a, b:
            prepare(c, "st", changing + " where id = $1")
    change(pg, "varchar(9)")
    for c, other in (a, x), (a, y), (b, x):
        with busy(p, other):
            assert run_described(c, "st", 1).kinds == "2TDCZ"
    change(pg, "char(3)")
    for c, other in (a, x), (b, y):
        with busy(p, other):
            assert run_described(c, "st", 1).kinds == "2TDCZ"


def test_schema_change_is_not_noticed_by_who_describes(pooler, pg, changing):
    p = pooler(default_pool_size=1)
    c = p.raw()
    prepare(c, "st", changing)
    change(pg, "varchar(9)")
    c.send(pq.describe("S", "st"), pq.sync())
    assert c.recv_until().kinds == "tTZ"
    assert run(c, "st").rows == [["1", "one"]]


def test_type_that_is_made_anew_is_found_by_who_describes(pooler, changing):
    """the same text, of two clients"""
    p = pooler(default_pool_size=1)
    for n in range(3):
        c = p.raw()
        c.query("create type remade as (n int)")
        c.send(pq.parse("select $1::remade", "st"), pq.describe("S", "st"),
               pq.sync())
        try:
            assert c.recv_until().kinds == "1tTZ"
            c.send(pq.bind("st", ["(%d)" % n]), pq.execute(), pq.sync())
            assert c.recv_until().rows == [["(%d)" % n]]
        finally:
            c.query("drop type remade")


def test_schema_change_during_the_wait_for_a_lock(pooler, pg, changing):
    """the server is late: the batch is still at hand"""
    p = pooler(default_pool_size=1)
    c = p.raw()
    prepare(c, "st", changing)
    with pg.connect(dbname="p0") as owner:
        owner.execute("begin")
        owner.execute("alter table changing add more int default 7")
        c.send(pq.bind("st"), pq.describe("P"), pq.execute(), pq.sync())
        wait_until(lambda: pg.sql("select 1 from pg_locks where not granted",
                                  db="p0"))
        owner.execute("commit")
    assert c.recv_until().rows == [["1", "one", "7"]]


def test_schema_change_in_a_transaction_is_postgresql_s_error(pooler, pg,
                                                              changing):
    p = pooler(default_pool_size=1)
    c = p.raw()
    prepare(c, "st", changing)
    c.query("begin")
    change(pg, "varchar(9)")
    assert run_described(c, "st").errors[0].code == "0A000"
    c.query("rollback")
    assert run_described(c, "st").rows == [["1", "one"]]


def test_statement_that_vanished_is_prepared_again(pooler):
    p = pooler(default_pool_size=1)
    c = p.raw()
    assert prepare(c, "st", "select $1::int").kinds == "1Z"
    for n in range(3):
        c.query("do $$ begin execute 'deallocate all'; end $$")
        assert run(c, "st", n).rows == [[str(n)]]


def test_error_of_a_function_is_not_taken_for_a_schema_change(pooler):
    """what runs is run once, whatever SQLSTATE it ends with"""
    p = pooler(default_pool_size=1)
    c = p.raw()
    c.query("create sequence once; create or replace function fails() "
            "returns int language plpgsql as $$ begin "
            "perform nextval('once'); raise 'cached plan must not change "
            "result type' using errcode = '0A000'; end $$")
    try:
        prepare(c, "st", "select fails()")
        assert run_described(c, "st").errors[0].code == "0A000"
        assert c.value("select nextval('once')") == "2"
    finally:
        c.query("drop function fails(); drop sequence once")


def test_changed_result_type_is_cured_on_every_server(pooler, pg, changing):
    """after one client was told, none that prepares is told on any server"""
    p = pooler(default_pool_size=3)
    clients = [p.raw() for _ in range(3)]
    for c in clients:
        c.query("begin")
    for c in clients:
        assert prepare(c, "st", changing).kinds == "1Z"
        c.query("commit")
    change(pg, "varchar(9)")
    assert run(clients[0], "st").errors[0].code == "0A000"
    others = [p.raw() for _ in range(3)]
    for c in others:
        c.query("begin")
    for c in others:
        assert prepare(c, "st", changing).kinds == "1Z"
        assert run(c, "st").rows == [["1", "one"]]
        c.query("commit")


def test_statements_lost_behind_our_back_are_not_relied_on(pooler):
    """the server says 26000 for what we know it had: it is not lent again"""
    p = pooler(default_pool_size=1)
    a, b = p.raw(), p.raw()
    for c in (a, b):
        assert prepare(c, "st", "select 5").kinds == "1Z"
    a.query("begin; do $$ begin execute 'deallocate all'; end $$")
    err = run(a, "st").errors[0]
    assert (err.code, err.message) == (
        "26000", 'prepared statement "st" does not exist')
    a.query("rollback")
    assert run(b, "st").rows == [["5"]]
    assert prepare(a, "st", "select 5").kinds == "1Z"
    assert run(a, "st").rows == [["5"]]
    p.wait_log("S-.*closing because: close_needed")


def test_warnings_of_a_text_come_once(pooler):
    """not again where the pooler prepares it on another server"""
    p = pooler(default_pool_size=2)
    a, b = p.raw(standard_conforming_strings="off"), p.raw()
    a.send(pq.parse(r"select 'a\\b'", "s"), pq.sync())
    assert [n.code for n in a.recv_until().check().notices] == ["22P06"]
    pid = a.value("select pg_backend_pid()")
    b.query("begin")
    assert b.value("select pg_backend_pid()") == pid
    a.send(pq.bind("s"), pq.execute(), pq.sync())
    res = a.recv_until().check()
    assert res.rows == [["a\\b"]] and res.notices == []
    assert a.value("select pg_backend_pid()") != pid
