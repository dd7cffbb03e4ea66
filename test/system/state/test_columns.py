# test_columns.py - statements whose text means something else by now.
# SPDX-License-Identifier: ISC
"""A client that prepares a text gets the answer that PostgreSQL would give now.
"""
import pytest

import pq
from harness import REFERENCE, is_forced
from test_moves import restless	# noqa: F401
from test_prepared import busy, prepare, run
from test_takeover import take_over

pytestmark = pytest.mark.skipif(REFERENCE, reason="not so there")

INT4, INT8 = 23, 20


@pytest.fixture
def changing(pg):
    """A table and a function, and how anybody but a client changes them."""
    def sql(*stmts):
        pg.sql(*stmts, db="p0")
    undo = ["drop table if exists cols",
            "drop function if exists shout(int), shout(bigint)"]
    sql(*undo, "create table cols (a int, b int)",
        "insert into cols values (1, 2)", "alter table cols owner to app",
        "create function shout(bigint) returns text language sql as "
        "$$ select 'bigint' $$")
    yield sql
    sql(*undo)


def describe(c, name, sql):
    """Parse and Describe: types of parameters, and of columns."""
    c.send(pq.parse(sql, name), pq.describe("S", name), pq.sync())
    res = c.recv_until().check()
    told = dict(res.messages)["t"]
    return ([int.from_bytes(told[i:i + 4]) for i in range(2, len(told), 4)],
            [column[3] for column in getattr(res, "desc", [])])


# --- a Parse of a client's own ------------------------------------------------

INSERT = "insert into cols (a) values ($1)"
OVERLOAD = ("create function shout(int) returns text language sql as "
            "$$ select 'int' $$")
WIDEN = "alter table cols alter a type bigint"


def test_parse_behind_a_change_of_another_client_is_anew(changing, pooler):
    p = pooler(default_pool_size=1)
    a, b = p.raw(), p.raw()
    assert describe(a, "st", INSERT) == ([INT4], [])
    prepare(a, "fn", "select shout(1)")
    assert run(a, "fn").rows == [["bigint"]]
    b.query(WIDEN)
    b.query(OVERLOAD)
    c = p.raw()
    assert describe(c, "st", INSERT) == ([INT8], [])
    assert run(c, "st", 2 ** 40).tags == ["INSERT 0 1"]
    prepare(c, "fn", "select shout(1)")
    assert run(c, "fn").rows == [["int"]]
    # what others have prepared goes on
    assert run(a, "fn").rows[0][0] in ("int", "bigint")


@pytest.mark.parametrize("end", ["commit", "rollback"])
def test_change_of_a_transaction_counts_from_its_end_on(changing, pooler, end):
    """until then others prepare the text as it was"""
    p = pooler(default_pool_size=2)
    a, b, c = p.raw(), p.raw(), p.raw()
    b.query("begin")
    prepare(a, "st", "select shout(1)")
    b.query(OVERLOAD)
    prepare(c, "st", "select shout(1)")
    assert run(c, "st").rows == [["bigint"]]
    b.query(end)
    for pid in {a.value("select pg_backend_pid()")}:
        with busy(p, pid):
            pass
    for _ in range(2):
        d = p.raw()
        prepare(d, "st", "select shout(1)")
        assert run(d, "st").rows == [["int" if end == "commit" else "bigint"]]
        d.query("begin")	# the next one has the other server


@pytest.mark.parametrize("how", [
    "do $$ begin create function shout(int) returns text language sql as "
    "'select ''int'''; end $$",
    "select 'int' into cols2; drop table cols2; " + OVERLOAD])
def test_change_that_no_tag_of_its_own_tells(changing, pooler, how):
    p = pooler(default_pool_size=1)
    a, b = p.raw(), p.raw()
    prepare(a, "st", "select shout(1)")
    b.query(how)
    prepare(b, "st", "select shout(1)")
    assert run(b, "st").rows == [["int"]]


def test_without_a_change_a_text_is_parsed_once(changing, pooler):
    """whatever else is run: a SELECT of no rows, too, or of many"""
    p = pooler(default_pool_size=1)
    others = ["select 1 where false", "select generate_series(1, 20000)",
              "insert into cols values (3)", "begin", "update cols set a = 1",
              "commit", "set work_mem = '5MB'", "reset work_mem",
              "truncate cols", "analyze cols"]
    a = p.raw()
    a.query("select 1")
    for i, sql in enumerate(others):
        prepare(a, "st%d" % i, sql)
        assert run(a, "st%d" % i).check().tags
        a.query(sql)
    before = p.stats()["total_server_parse_count"]
    for _ in range(3):
        b = p.raw()
        for i, sql in enumerate(others[:3]):
            assert prepare(b, "st%d" % i, sql).kinds == "1Z"
            run(b, "st%d" % i).check()
        b.send(*[pq.bind("st0"), pq.execute()] * 2, pq.sync())
        assert b.recv_until().tags == ["SELECT 0"] * 2
    assert p.stats()["total_server_parse_count"] == before


def test_what_failed_is_parsed_anew_for_the_next_client(changing, pooler):
    """the change came from elsewhere; nobody but the first gets an error"""
    p = pooler(default_pool_size=2)
    a, b = p.raw(), p.raw()
    a.query("begin")
    b.query("begin")
    for c in a, b:
        prepare(c, "st", INSERT)
        c.query("commit")
    changing(WIDEN)
    c = p.raw()
    prepare(c, "st", INSERT)
    assert run(c, "st", 2 ** 40).errors[0].code == "22003"
    for _ in range(2):
        d = p.raw()
        d.query("begin")	# the next one has the other server
        prepare(d, "st", INSERT)
        assert run(d, "st", 2 ** 40).tags == ["INSERT 0 1"]


def test_parse_that_fails_by_now_leaves_nothing_behind(changing, pooler):
    p = pooler(default_pool_size=1)
    a, b = p.raw(), p.raw()
    prepare(a, "st", "select b from cols")
    b.query("alter table cols drop b")
    for _ in range(2):
        assert prepare(b, "st", "select b from cols").errors[0].code == "42703"
    assert run(a, "st").errors[0].code == "42703"
    b.query("alter table cols add b int default 7")
    assert run(a, "st").rows == [["7"]]
    assert prepare(b, "st", "select b from cols").kinds == "1Z"
    assert run(b, "st").rows == [["7"]]


@pytest.mark.setting("workers")
def test_change_is_known_to_all_workers(changing, pooler):
    p = pooler(workers=2, default_pool_size=4)
    clients = [p.raw() for _ in range(8)]
    for c in clients:
        assert describe(c, "st", INSERT) == ([INT4], [])
    clients[0].query(WIDEN)
    for _ in clients:
        assert describe(p.raw(), "st", INSERT) == ([INT8], [])


# --- columns that a client was told -------------------------------------------

TEXT = "select * from cols"
SWAP = ("alter table cols rename a to c", "alter table cols rename b to a",
        "alter table cols rename c to b")
CHANGES = {
    "swapped": SWAP,
    "dropped, and one of that name added": (
        "alter table cols drop a", "alter table cols add a text default 'x'"),
    "an int that becomes a float4": (
        "alter table cols alter a type float4",),
}
ROWS = {"swapped": ["1", "2"], "dropped, and one of that name added":
        ["2", "x"], "an int that becomes a float4": ["1", "2"]}
CODE = "0A000"


def pid_of(c):
    return c.value("select pg_backend_pid()")


@pytest.fixture
def told(changing, pooler):
    """A client that one of two servers has told, which others keep busy."""
    made = []

    def make(sql=TEXT, **settings):
        p = pooler(default_pool_size=2, **settings)
        c = p.raw()
        describe(c, "st", sql)
        held = busy(p, pid_of(c))
        held.__enter__()
        made.append(held)
        return p, c
    yield make
    for held in made:
        held.__exit__(None, None, None)


def refused(res):
    error = res.errors[0]
    assert (error.code, error.message, error.fields["R"]) == (
        CODE, "cached plan must not change result type",
        "RevalidateCachedQuery")
    assert not res.rows


@pytest.mark.parametrize("state", ["forget", "keep"])
@pytest.mark.parametrize("change", CHANGES)
def test_columns_of_another_server_are_not_read_as_the_old_ones(
        told, changing, change, state):
    """where PostgreSQL says so a driver asks again"""
    p, c = told(session_state=state)
    changing(*CHANGES[change])
    for _ in range(2):
        refused(run(c, "st"))
    c.send(pq.bind("st", result_formats=[1, 1]), pq.describe("P"),
           pq.execute(), pq.sync())
    refused(c.recv_until())
    c.send(pq.bind("st", result_formats=[0]), pq.describe("P"), pq.execute(),
           pq.sync())
    res = c.recv_until()
    assert (res.kinds, res.rows) == ("2TDCZ", [ROWS[change]])
    # it was told now
    assert run(c, "st").rows == [ROWS[change]]
    c.send(pq.close("S", "st"), pq.parse(TEXT, "st"), pq.describe("S", "st"),
           pq.sync())
    c.recv_until().check()
    assert run(c, "st").rows == [ROWS[change]]


def test_equal_columns_cost_one_question_for_each_server(told, changing, pg):
    p, c = told()
    changing("alter table cols add more int", "alter table cols drop more")
    for _ in range(3):
        assert run(c, "st").rows == [["1", "2"]]
    d = p.raw()
    prepare(d, "st", TEXT)	# it is told nothing
    assert run(d, "st").rows == [["1", "2"]]


def test_in_a_transaction_the_change_fails_it(told, changing):
    p, c = told()
    changing(*SWAP)
    c.query("begin; insert into cols values (5)")
    refused(run(c, "st"))
    assert run(c, "st").errors[0].code == "25P02"
    assert c.query("rollback").status == "I"
    assert c.query("select count(*) from cols").rows == [["1"]]


def test_in_a_pipeline_the_batch_is_skipped_up_to_its_sync(told, changing):
    p, c = told()
    changing(*SWAP)
    insert = [pq.parse("insert into cols values (7)"), pq.bind(),
              pq.execute()]
    c.send(*insert, pq.sync(), *insert, pq.bind("st"), pq.execute(), *insert,
           pq.sync(), pq.bind("st"), pq.describe("P"), pq.execute(),
           pq.sync(), pq.query("select count(*) from cols"))
    assert c.recv_until().kinds == "12CZ"
    res = c.recv_until()
    assert res.kinds == "12CEZ"
    refused(res)
    assert c.recv_until().rows[0] == ["1", "2"]
    assert c.recv_until().rows == [["2"]]


@pytest.mark.parametrize("cut", [1, 7, 60])
def test_pieces_of_a_batch_change_nothing(told, changing, cut):
    p, c = told()
    changing(*SWAP)
    batch = [pq.bind("st", result_formats=[0]), pq.describe("P"),
             pq.execute(), pq.sync()]
    c.send_split(b"".join([batch[0], *batch[2:]]), cut)
    refused(c.recv_until())
    c.send_split(b"".join(batch), cut)
    assert c.recv_until().kinds == "2TDCZ"


def test_who_was_told_by_a_portal_alone_is_as_safe(changing, pooler):
    p = pooler(default_pool_size=2)
    c = p.raw()
    prepare(c, "st", TEXT)
    c.send(pq.bind("st"), pq.describe("P"), pq.execute(), pq.sync())
    c.recv_until().check()
    with busy(p, pid_of(c)):
        changing(*SWAP)
        refused(run(c, "st"))


def test_types_of_parameters_count_where_values_are_binary(told, changing):
    p, c = told(INSERT)
    changing(WIDEN)
    binary = pq.msg("B", b"\0st\0" + bytes([0, 1, 0, 1, 0, 1, 0, 0, 0, 4,
                                            0, 0, 0, 9, 0, 0]))
    c.send(binary, pq.execute(), pq.sync())
    refused(c.recv_until())
    assert run(c, "st", 2 ** 40).tags == ["INSERT 0 1"]


def test_close_that_was_skipped_leaves_the_knowledge(told, changing):
    p, c = told()
    c.send(pq.parse("select 1/0"), pq.bind(), pq.execute(),
           pq.close("S", "st"), pq.sync())
    assert c.recv_until().errors[0].code == "22012"
    changing(*SWAP)
    refused(run(c, "st"))


def test_change_back_is_none(told, changing):
    p, c = told()
    changing(*SWAP)
    refused(run(c, "st"))
    d = p.raw()
    for sql in SWAP:
        d.query(sql)
    prepare(d, "st", TEXT)
    assert run(d, "st").rows == [["1", "2"]]
    # that server has it as c was told
    assert run(c, "st").rows == [["1", "2"]]


def test_newer_columns_are_found_where_older_ones_are_prepared(changing,
                                                               pooler):
    """what a server has is too old for who was told elsewhere"""
    p = pooler(default_pool_size=2)
    a, c = p.raw(), p.raw()
    describe(a, "st", TEXT)
    first = pid_of(a)
    with busy(p, first):
        changing(*SWAP)
        describe(c, "st", TEXT)
        second = pid_of(c)
    with busy(p, second):
        c.send(pq.bind("st", result_formats=[0, 0]), pq.execute(), pq.sync())
        res = c.recv_until()
        assert res.rows == [["1", "2"]], res.errors
        refused(run(a, "st"))


def test_list_of_formats_is_not_for_other_columns(changing, pooler):
    """on the server that told them, too: the driver's own cure is waited for"""
    p = pooler(default_pool_size=1)
    c = p.raw()
    describe(c, "st", TEXT)
    changing("alter table cols drop b")
    batch = [pq.bind("st", result_formats=[0, 0]), pq.describe("P"),
             pq.execute(), pq.sync()]
    for _ in range(2):
        c.send(*batch)
        refused(c.recv_until())
    c.send(pq.close("S", "st"), pq.sync())
    c.recv_until()
    describe(c, "st", TEXT)
    assert run(c, "st").rows == [["1"]]


# --- where a session goes on elsewhere ----------------------------------------

def test_successor_knows_what_its_clients_were_told(changing, pooler):
    """-R: of names, and of what servers have"""
    p = pooler(default_pool_size=2)
    c, a = p.raw(), p.raw()
    describe(c, "st", TEXT)
    first = pid_of(c)
    q = take_over(pooler, p)
    with busy(q, first):
        changing(*SWAP)
        refused(run(c, "st"))
    before = q.stats()["total_server_parse_count"]
    assert describe(a, "other", "select 1")[1] == [INT4]
    assert q.stats()["total_server_parse_count"] == before + 1


@pytest.mark.skipif(not is_forced(), reason="nothing can be forced")
def test_client_that_moves_knows_what_it_was_told(changing, restless):
    p = restless()
    clients = [p.raw() for _ in range(4)]
    for c in clients:
        describe(c, "st", TEXT)
    changing(*SWAP)
    for _ in range(4):
        for c in clients:
            # never the old names for the new columns
            refused(run(c, "st"))
