# test_protocol.py - pipelines, COPY, portals, function calls, notifications.
# SPDX-License-Identifier: ISC
import contextlib

import psycopg
import pytest

import pq
from harness import REFERENCE


@pytest.fixture(params=["transaction", "session", "statement"])
def one(request, pooler):
    """A pooler with a single server, in each mode."""
    p = pooler(pool_mode=request.param, default_pool_size=1)
    p.mode = request.param
    return p


def assert_released(p):
    """The server is free again and clean: another client can use it."""
    if p.mode != "session":
        p.wait_pool(sv_active=0, cl_waiting=0)
        assert p.raw().value("select 'clean'") == "clean"


def test_psycopg_pipeline(one):
    """pooling.md 14"""
    c = one.connect()
    with c.pipeline():
        curs = [c.execute("select %s::int", (i,)) for i in range(100)]
    assert [cur.fetchone()[0] for cur in curs] == list(range(100))
    assert_released(one)


def test_raw_pipeline_of_syncs(one):
    """pooling.md 14: any amount of pipelining, one write"""
    # regressions: PgCat#137, Supavisor d366ef00
    c = one.raw()
    c.send(*[pq.parse("select %d" % i) + pq.bind() + pq.execute()
             + pq.sync() for i in range(200)])
    for i in range(200):
        res = c.recv_until()
        assert res.kinds == "12DCZ" and res.rows == [[str(i)]]
    assert_released(one)


def test_many_simple_queries_in_one_write(one):
    """pooling.md 8: the link stays until the last is answered"""
    c = one.raw()
    c.send(*[pq.query("select %d" % i) for i in range(200)])
    for i in range(200):
        assert c.recv_until().rows == [[str(i)]]
    assert_released(one)


def test_simple_and_extended_mixed_in_one_write(one):
    """pooling.md 14 (#52): SET as Query, then P/B/D/E/S"""
    # regressions: PB#52
    c = one.raw()
    c.send(pq.query("set application_name to 'mix'"), pq.parse("select 1"),
           pq.bind(), pq.describe("P"), pq.execute(), pq.sync(),
           pq.query("select 2"), pq.sync(), pq.sync(), pq.query("select 3"))
    assert c.recv_until().tags == ["SET"]
    assert c.recv_until().rows == [["1"]]
    assert c.recv_until().rows == [["2"]]
    assert c.recv_until().kinds == "Z"
    assert c.recv_until().kinds == "Z"
    assert c.recv_until().rows == [["3"]]
    assert_released(one)


def test_empty_and_multi_statement_queries(one):
    """pooling.md 14: EmptyQueryResponse"""
    c = one.raw()
    assert c.query("").kinds == "IZ"
    assert c.query(";").kinds == "IZ"
    assert c.query("select 1; select 2").rows == [["1"], ["2"]]
    c.send(pq.parse(""), pq.bind(), pq.execute(), pq.sync())
    assert c.recv_until().kinds == "12IZ"
    assert_released(one)


def test_error_in_pipeline_skips_to_sync(one):
    """pooling.md 14: up to and including the next Sync"""
    # regressions: PgDog#776, PgDog#764
    c = one.raw()
    c.send(pq.parse("select 1"), pq.bind(), pq.execute(),
           pq.parse("selec nonsense"), pq.bind(), pq.execute(),
           pq.parse("select 2"), pq.bind(), pq.execute(), pq.sync(),
           pq.parse("select 3"), pq.bind(), pq.execute(), pq.sync())
    first, second = c.recv_until(), c.recv_until()
    assert first.kinds == "12DCEZ" and first.errors[0].code == "42601"
    assert second.rows == [["3"]]
    assert_released(one)


def test_runtime_error_in_pipeline(one):
    """pooling.md 14"""
    c = one.raw()
    c.send(pq.parse("select 1/$1::int"), *[
        pq.bind("", (n,)) + pq.execute() for n in (1, 0, 2)], pq.sync(),
        pq.query("select 'after'"))
    res = c.recv_until()
    assert res.errors[0].code == "22012" and res.kinds.count("E") == 1
    assert c.recv_until().rows == [["after"]]
    assert_released(one)


def test_query_behind_a_failed_batch_is_discarded(one):
    """pooling.md 14 (yb#33915, PgDog #1356): no ReadyForQuery for it"""
    # regressions: yb#33915, PgDog#1356
    c = one.raw()
    c.send(pq.parse("nonsense"), pq.query("select 1"), pq.sync(),
           pq.query("select 2"))
    first = c.recv_until()
    assert first.kinds == "EZ"
    assert c.recv_until().rows == [["2"]]
    assert_released(one)


def test_function_call_behind_a_failed_batch(one):
    """pooling.md 14: skipped like a Query"""
    c = one.raw()
    c.send(pq.parse("nonsense"), pq.function_call(1, []), pq.sync())
    assert c.recv_until().kinds == "EZ"
    assert c.value("select 4") == "4"
    assert_released(one)


def test_psycopg_pipeline_with_error(one):
    """pooling.md 14"""
    # regressions: PgDog#776, PgDog#764
    c = one.connect()
    with pytest.raises(psycopg.Error):
        with c.pipeline():
            c.execute("select 1")
            c.execute("select 1/0")
            c.execute("select 2")
    assert c.execute("select 3").fetchone() == (3,)


def test_flush_returns_replies_without_sync(one):
    """pooling.md 14: Flush is not tracked"""
    # regressions: PgP#59
    c = one.raw()
    c.send(pq.parse("select $1::int"), pq.flush())
    assert c.recv()[0] == "1"
    c.send(pq.describe("S"), pq.flush())
    assert c.recv()[0] == "t" and c.recv()[0] == "T"
    c.send(pq.bind("", (8,)), pq.execute(), pq.flush())
    assert [c.recv()[0] for _ in range(3)] == ["2", "D", "C"]
    c.send(pq.sync())
    assert c.recv_until().kinds == "Z"
    assert_released(one)


def test_flush_keeps_the_server_linked(pooler):
    """pooling.md 8 (PgDog #763): not before ReadyForQuery"""
    # regressions: PgDog#763, PgDog#1332
    p = pooler(default_pool_size=1)
    a, b = p.raw(), p.raw()
    a.send(pq.parse("select generate_series(1, 5)"), pq.bind(),
           pq.execute("", 2), pq.flush())
    assert a.recv_until("s").kinds == "12DDs"
    b.send(pq.query("select 'b'"))
    p.wait_pool(cl_waiting=1)
    a.send(pq.execute("", 0), pq.sync())
    assert a.recv_until().kinds == "DDDCZ"
    assert b.recv_until().rows == [["b"]]


@pytest.mark.parametrize("one", ["transaction", "session"], indirect=True)
def test_portals_with_row_limit(one):
    """pooling.md 14: PortalSuspended"""
    # regressions: PgDog#763, PgDog#1332
    c = one.raw()
    c.query("begin")
    c.send(pq.parse("select generate_series(1, 5)"),
           pq.bind(portal="cur"), pq.execute("cur", 2), pq.sync())
    assert c.recv_until().kinds == "12DDsZ"
    c.send(pq.execute("cur", 2), pq.sync())
    assert c.recv_until().kinds == "DDsZ"
    c.send(pq.close("P", "cur"), pq.sync())
    assert c.recv_until().kinds == "3Z"
    c.send(pq.execute("cur"), pq.sync())
    assert c.recv_until().errors[0].code == "34000"
    c.query("rollback")
    assert_released(one)


def test_close_of_nothing_is_answered(one):
    """pooling.md 16: unknown name is fine"""
    # regressions: Ody 9b8ab1ff
    c = one.raw()
    c.send(pq.close("S", "ghost"), pq.close("P", "ghost"),
           pq.close("S", ""), pq.sync())
    assert c.recv_until().kinds == "333Z"
    assert_released(one)


def test_describe_statement_and_portal(one):
    """pooling.md 14: RowDescription, NoData"""
    c = one.raw()
    c.send(pq.parse("select $1::int as num", "", ()), pq.describe("S"),
           pq.bind("", (5,)), pq.describe("P"), pq.execute(),
           pq.parse("create temp table if not exists dd (a int)"),
           pq.describe("S"), pq.sync())
    assert c.recv_until().kinds == "1tT2TDC1tnZ"
    assert_released(one)


@pytest.mark.parametrize("name,args,want", [
    ("int4abs(int4)", ["-5"], b"5"), ("reverse(text)", ["abc"], b"cba")])
def test_function_call(one, pg, name, args, want):
    """pooling.md 14: FunctionCall"""
    # regressions: Ody 6361647d, PgDog#957
    oid = pg.sql("select '%s'::regprocedure::oid::int" % name)[0][0]
    c = one.raw()
    c.send(pq.function_call(oid, args))
    res = c.recv_until()
    assert res.kinds == "VZ" and res.messages[0][1][4:] == want
    c.send(pq.function_call(999999, []), pq.function_call(oid, args))
    assert c.recv_until().kinds == "EZ"
    assert c.recv_until().kinds == "VZ"
    assert_released(one)


# --- COPY -----------------------------------------------------------------

def test_psycopg_copy_both_ways(one, pg):
    """pooling.md 15"""
    pg.sql("truncate sink", db="p0")
    c = one.connect()
    with c.cursor().copy("copy sink from stdin") as cp:
        for i in range(1000):
            cp.write_row((i, "row %d" % i))
    with c.cursor().copy("copy sink to stdout") as cp:
        assert len(b"".join(cp).splitlines()) == 1000
    assert_released(one)


def test_copy_in_simple(one):
    """pooling.md 15"""
    # regressions: PB#1025
    c = one.raw()
    c.send(pq.query("copy sink from stdin"))
    assert c.recv()[0] == "G"
    c.send(pq.copy_data(b"1\ta\n"), pq.copy_data(b"2\tb\n"), pq.copy_done())
    assert c.recv_until().tags == ["COPY 2"]
    assert_released(one)


def test_copy_in_all_in_one_write(one):
    """pooling.md 15: data before the CopyInResponse"""
    c = one.raw()
    c.send(pq.query("copy sink from stdin"), pq.copy_data(b"1\ta\n"),
           pq.copy_done(), pq.query("select 'next'"))
    res = c.recv_until()
    assert res.kinds == "GCZ" and res.tags == ["COPY 1"]
    assert c.recv_until().rows == [["next"]]
    assert_released(one)


def test_copy_out_simple_and_extended(one):
    """pooling.md 15: CopyOut needs no handling"""
    # regressions: PgP#133
    c = one.raw()
    res = c.query("copy (select generate_series(1, 500)) to stdout")
    assert len(res.copy) == 500
    c.send(pq.parse("copy (select 1) to stdout"), pq.bind(), pq.execute(),
           pq.sync())
    assert c.recv_until().kinds == "12HdcCZ"
    assert_released(one)


@pytest.mark.parametrize("early_sync", [False, True])
def test_copy_in_extended(one, early_sync):
    """pooling.md 15: Sync is ignored by the server in COPY-in"""
    # regressions: PgCat 2a8f365, PgDog#885, PgDog#886, PgP#162, PgP
    #   23363900b, PgP#79
    c = one.raw()
    c.send(pq.parse("copy sink from stdin"), pq.bind(), pq.execute(),
           pq.sync() if early_sync else pq.flush())
    assert c.recv_until("G").kinds == "12G"
    c.send(pq.copy_data(b"1\ta\n"), pq.flush(), pq.sync(), pq.copy_done(),
           pq.sync())
    res = c.recv_until()
    assert res.tags == ["COPY 1"]
    assert c.value("select 'x'") == "x"
    assert_released(one)


def test_copy_fail(one):
    """pooling.md 15: CopyFail"""
    c = one.raw()
    c.send(pq.query("copy sink from stdin"), pq.copy_data(b"1\ta\n"),
           pq.copy_fail("changed my mind"))
    res = c.recv_until()
    assert res.errors[0].code == "57014"
    c.send(pq.parse("copy sink from stdin"), pq.bind(), pq.execute(),
           pq.copy_fail("no"), pq.sync())
    assert c.recv_until().errors[0].code == "57014"
    assert_released(one)


@pytest.mark.parametrize("one,block", [
    ("transaction", False), ("transaction", True), ("session", False),
    ("session", True), ("statement", False)], indirect=["one"])
@pytest.mark.parametrize("simple", [True, False])
def test_copy_error_while_client_streams(one, block, simple):
    """pooling.md 15 (#1471): CopyData after ErrorResponse is harmless"""
    # regressions: PB#1471, PB#1470
    if REFERENCE:
        pytest.skip("fixed later")
    c = one.raw()
    if block:
        c.query("begin")
    if simple:
        c.send(pq.query("copy sink from stdin"))
    else:
        c.send(pq.parse("copy sink from stdin"), pq.bind(), pq.execute(),
               pq.flush())
    c.recv_until("G")
    c.send(pq.copy_data(b"not a number\tb\n") + pq.copy_data(b"1\tx\n") * 50)
    if simple:
        res = c.recv_until()
    else:
        res = c.recv_until("E")
    assert res.errors[0].code == "22P02"
    c.send(pq.copy_data(b"2\tx\n") * 50, pq.copy_done())
    if not simple:
        c.send(pq.sync())
        c.recv_until()
    if block:
        c.query("rollback")
    assert c.value("select 'fine'") == "fine"
    assert_released(one)


@pytest.mark.parametrize("late", [
    pq.copy_data(b"x\n"), pq.copy_done(), pq.copy_fail("late")])
def test_late_copy_messages_take_no_server(pooler, late):
    """pooling.md 15: discarded silently without a server"""
    # regressions: PB#1471, PB#1470
    if REFERENCE:
        pytest.skip("newer than that")
    p = pooler(default_pool_size=1)
    h, c = p.raw(), p.raw()
    h.query("begin")
    c.send(late * 3)
    # the answered query of h proves that the pooler has had its turn
    for _ in range(3):
        h.query("select 1")
    assert p.pool()["cl_waiting"] == 0
    c.send(late, pq.query("select 'alive'"))
    p.wait_pool(cl_waiting=1)
    h.query("commit")
    assert c.recv_until().rows == [["alive"]]


def test_copy_statement_that_fails_at_once(one):
    """pooling.md 15: ErrorResponse instead of CopyInResponse"""
    c = one.raw()
    c.send(pq.query("copy no_such_table from stdin"),
           pq.copy_data(b"1\n"), pq.copy_done(), pq.query("select 1"))
    assert c.recv_until().errors[0].code == "42P01"
    assert c.recv_until().rows == [["1"]]
    assert_released(one)


# --- asynchronous messages ------------------------------------------------

def test_notification_reaches_an_idle_session_client(pooler, pg):
    """pooling.md 22"""
    # regressions: Ody 644e23e4
    p = pooler(pool_mode="session")
    c = p.raw()
    c.query("listen chan_a")
    pg.sql("notify chan_a, 'hello'", db="p0")
    kind, body = c.recv()
    assert kind == "A" and body[4:] == b"chan_a\0hello\0"
    assert c.value("select 1") == "1"


def test_notification_inside_a_query(pooler):
    """pooling.md 22: forwarded while linked"""
    # regressions: PgDog#1285
    p = pooler(default_pool_size=1)
    c = p.raw()
    res = c.query("listen chan_b; notify chan_b, 'x'; select 1")
    assert "A" in res.kinds
    assert p.raw().value("select 1") == "1"


def test_notice_is_forwarded(one):
    """pooling.md 22"""
    res = one.raw().query("do $$begin raise notice 'hi'; end$$")
    assert res.notices[0].message == "hi"
    assert_released(one)


def test_server_error_is_forwarded_unchanged(one):
    """client-errors.md 1"""
    res = one.raw().try_query("select * from no_such_table_x")
    f = res.errors[0].fields
    assert f["C"] == "42P01" and f["V"] == "ERROR" and f["P"] == "15"
    assert_released(one)


@pytest.mark.parametrize("bad", [
    b"Y\0\0\0\4", b"Q\0\0\0\3", b"Q\0\0\0\0", b"Q\xff\xff\xff\xff",
    b"Q\x80\0\0\0", b"\1\0\0\0\4"])
def test_bad_message_ends_only_its_client(pooler, bad):
    """client-errors.md 2, 5: bad packet header, unknown pkt"""
    # regressions: PgCat d66b377, PgDog#1228
    p = pooler(default_pool_size=1)
    a, b = p.raw(), p.raw()
    a.query("begin")
    a.send(bad)
    res = a.recv_all()
    assert res.errors[-1].severity == "FATAL"
    if bad[:1] in b"Y\1":
        assert res.errors[-1].message == "unknown pkt"
    else:
        assert res.errors[-1].message == \
            "bad packet header: '%s'" % bad.hex()
    assert b.value("select 1") == "1"
    assert b.value("select pg_current_xact_id_if_assigned()") is None


BROKEN = b"x" * 43              # a body, or too much of one


@pytest.mark.skipif(REFERENCE, reason="newer")
@pytest.mark.parametrize("before", [
    [], [pq.parse("select 1", "n")], [pq.query("begin")],
    [pq.query("copy b from stdin")],
    [pq.query("copy (select 1) to stdout")]],
    ids=["first", "parse", "begin", "copy-in", "copy-out"])
def test_a_malformed_message_keeps_no_server(pooler, before):
    """of each kind, ahead of requests of which the server may ignore any: the
    client leaves, and its server serves others"""
    p = pooler(default_pool_size=1)
    with p.raw() as c:
        c.query("drop table if exists b; create table b (t text)").check()
    for kind in "QPBEDCFSHdcfX":
        c = p.raw()
        c.send(*before, pq.msg(kind, BROKEN), pq.query("select 1"),
               pq.bind("n"), pq.parse("select 2", "n"), pq.copy_done(),
               pq.sync())
        with contextlib.suppress(pq.Closed):
            c.recv()
        c.close()
        with p.raw() as c:
            assert c.value("select 'clean'") == "clean"


@pytest.mark.setting("disable_pqexec")
def test_pqexec_can_be_disallowed(pooler):
    """pooling.md 14: disable_pqexec"""
    p = pooler(disable_pqexec=1)
    c = p.raw()
    assert c.extended("select 1").rows == [["1"]]
    c.send(pq.query("select 1"))
    assert c.recv_all().errors[-1].message == "PQexec disallowed"
