# test_state_discard.py - what is done behind a DISCARD in one pipeline.
# SPDX-License-Identifier: ISC
"""Only what was there before it is taken back by it (session_state=keep and
clean; pooling.md 25).
"""
import pytest

import pq
from harness import REFERENCE, wait_until
from test_state_keep import both  # noqa: F401, pylint: disable=unused-import

pytestmark = [pytest.mark.skipif(REFERENCE, reason="not so there"),
              pytest.mark.setting("session_state")]


def run(sql):
    return [pq.parse(sql), pq.bind(), pq.execute()]


INSERT = "insert into drawn default values"
NEXT = "select nextval('drawn_id_seq')"
DISCARDS = ["discard all", "discard sequences", "commit; discard sequences"]
# each ends in numbers drawn, whatever is discarded ahead of that
BEHIND = [
    lambda sql: [pq.query(sql), pq.query(INSERT)],
    lambda sql: [pq.query(sql + "; " + INSERT)],
    lambda sql: [*run(sql), *run(INSERT), pq.sync()],
    lambda sql: [*run(INSERT), pq.sync(), *run(sql), *run(INSERT), pq.sync()],
    lambda sql: [*run(sql), *run(NEXT), pq.sync()],
    lambda sql: [pq.parse(NEXT), pq.bind("", (), "p"), *run(sql),
                 pq.execute("p"), pq.sync()],
    lambda sql: [pq.parse(INSERT, "ins"), pq.sync(), *run(sql), pq.bind("ins"),
                 pq.execute(), pq.sync()],
    # the unnamed statement outlives it
    lambda sql: [pq.parse(NEXT), pq.parse(sql, "d"), pq.bind("d"),
                 pq.execute(), pq.bind(), pq.execute(), pq.sync()],
    lambda sql: [pq.parse(INSERT), pq.parse(sql, "d"), pq.bind("d"),
                 pq.execute(), pq.bind(), pq.execute(), pq.sync()],
]


@pytest.mark.parametrize("prepared", [0, 100])
@pytest.mark.parametrize("state", ["keep", "clean"])
def test_numbers_drawn_behind_a_discard(both, state, prepared):  # noqa: F811
    """are not for the next client"""
    p, a, b = both(session_state=state, max_prepared_statements=prepared)
    b.pooled.query("create table drawn (id serial)").check()
    try:
        for i, make in enumerate(BEHIND):
            for sql in DISCARDS:
                c = p.raw("app")
                c.send(*make(sql), pq.query("select 1"))
                while "SELECT 1" not in c.recv_until().tags:
                    pass
                r = b.pooled.try_query("select lastval()")
                assert [e.code for e in r.errors] == ["55000"], (i, sql)
                c.close()
    finally:
        b.pooled.query("drop table drawn")


@pytest.mark.parametrize("state", ["keep", "clean"])
@pytest.mark.parametrize("sql, seen", [
    ("select set_config('work_mem', '77MB', false)",
     "select count(*) from pg_settings where name = 'work_mem' and "
     "setting = '78848'"),
    ("select pg_advisory_lock(4242) is null",
     "select count(*) from pg_locks where locktype = 'advisory'"),
    ("create temp table mine (i int)",
     "select count(*) from pg_class where relname = 'mine'")])
def test_unnamed_statement_that_outlives_a_discard(
        both, state, sql, seen):  # noqa: F811
    """leaves nothing to others"""
    p, _, b = both(session_state=state)
    c = p.raw("app")
    c.send(pq.parse(sql), pq.parse("discard all", "d"), pq.bind("d"),
           pq.execute(), pq.bind(), pq.execute(), pq.sync())
    c.recv_until().check()
    if state == "keep":
        assert c.value(seen) == "1"
    c.close()
    assert b.pooled.value(seen) == "0"


@pytest.mark.parametrize("pins", ["create temp table mine (i int)", "listen x"])
def test_pinned_client_whose_next_message_has_begun(both, pins):  # noqa: F811
    """is asked once what a statement may have left, not until it is whole"""
    _, a, b = both(max_prepared_statements=0)
    seen = ("select query_start from pg_stat_activity where pid = " +
            a.pooled.value("select pg_backend_pid()"))
    a.pooled.query(pins).check()
    a.pooled.send(pq.parse("select set_config('work_mem', '2MB', false)",
                           "st"), pq.sync())
    a.pooled.recv_until().check()
    message = pq.query("select 1")
    a.pooled.send(message[:3])

    def rests():
        before = b.own.value(seen)
        for _ in range(20):
            b.own.value("select count(*) from pg_class")
        return b.own.value(seen) == before
    wait_until(rests)
    a.pooled.send(message[3:])
    assert a.pooled.recv_until().rows == [["1"]]


def test_whoever_runs_a_statement_of_a_name_of_its_own(both):  # noqa: F811
    """max_prepared_statements = 0: others may have its name, too"""
    _, a, b = both(max_prepared_statements=0)
    a.pooled.send(pq.parse("select set_config('work_mem', '77MB', false)",
                           "st"), pq.sync())
    a.pooled.recv_until().check()
    show = b.pooled.value("show work_mem")
    for run_it in ([pq.bind("st"), pq.execute(), pq.sync()],
                   [pq.query("execute st")]):
        for own in (a.pooled, b.pooled):
            own.send(*run_it)
            own.recv_until().check()
            other = b.pooled if own is a.pooled else a.pooled
            assert other.value("show work_mem") == show
            assert own.value("show work_mem") == "77MB"
            own.query("reset work_mem").check()
