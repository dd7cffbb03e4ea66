# test_statement_memory.py - a bound on the texts of prepared statements.
# SPDX-License-Identifier: ISC
"""max_prepared_statement_memory: what no client uses goes first; then the next
text is refused, and nothing else.
"""
import pytest

import pq
from harness import REFERENCE, wait_until

pytestmark = [
    pytest.mark.skipif(REFERENCE, reason="has no bound"),
    pytest.mark.setting("max_prepared_statement_memory")]

SIZE = 10000
TEXT = "no room for another prepared statement " \
    "(max_prepared_statement_memory)"


def text(i):
    return "select %d -- %s" % (i, "x" * SIZE)


def prepare(c, *ids):
    """One flight; its replies up to the end."""
    c.send(b"".join(pq.parse(text(i), "s%d" % i) for i in ids), pq.sync())
    return c.recv_until()


def run(c, i):
    c.send(pq.bind("s%d" % i), pq.execute(), pq.sync())
    return c.recv_until()


def cache(p):
    row, = p.show("mem", name="prepared_statement_cache")
    return int(row["used"]), int(row["memtotal"])


@pytest.fixture
def p(pooler):
    return pooler(default_pool_size=1,
                  max_prepared_statement_memory=3 * SIZE + 2000)


def test_one_too_many_is_refused(p):
    """an error of that statement only, as any other of its kind"""
    c = p.raw()
    assert prepare(c, 1, 2, 3).kinds == "111Z"
    assert cache(p)[0] == 3
    res = prepare(c, 4)
    assert res.kinds == "EZ" and res.status == "I"
    e = res.errors[0]
    assert e.fields == {
        "S": "ERROR", "V": "ERROR", "C": "53200", "M": TEXT,
        "H": "Raise max_prepared_statement_memory, or let clients close "
             "statements that they need no more."}
    assert "pooler error: " + TEXT in p.log
    for i in (1, 2, 3):
        assert run(c, i).rows == [[str(i)]]
    # the same text costs nothing
    d = p.raw()
    assert prepare(d, 2).kinds == "1Z"
    assert cache(p)[1] <= 3 * SIZE + 2000


def test_what_no_client_has_goes_first(p):
    """the statements of those who have left, or closed them"""
    c, d = p.raw(), p.raw()
    prepare(c, 1, 2)
    prepare(d, 3)
    d.close()
    assert prepare(c, 4).kinds == "1Z"
    assert cache(p)[0] == 3
    assert prepare(c, 5).kinds == "EZ"
    c.send(pq.close("S", "s1"), pq.sync())
    assert c.recv_until().kinds == "3Z"
    assert prepare(c, 5).kinds == "1Z"
    for i in (2, 4, 5):
        assert run(c, i).rows == [[str(i)]]


def test_order_in_a_flight(p):
    """what stands before it happens, what is behind it does not"""
    c = p.raw()
    prepare(c, 1, 2, 3)
    c.send(pq.parse("select 7"), pq.bind(), pq.execute(),
           pq.parse(text(4), "s4"), pq.bind("s4"), pq.execute(),
           pq.bind("s1"), pq.execute(), pq.sync(),
           pq.bind("s2"), pq.execute(), pq.sync())
    assert c.recv_until().kinds == "12DCEZ"
    assert c.recv_until().rows == [["2"]]


def test_it_fails_its_transaction(p, pg):
    """a batch is all or nothing; so is a transaction"""
    pg.sql("truncate sink", db="p0")
    c = p.raw()
    prepare(c, 1, 2, 3)
    c.send(pq.parse("insert into sink values (1, 'x')"), pq.bind(),
           pq.execute(), pq.parse(text(4), "s4"), pq.sync())
    res = c.recv_until()
    assert res.kinds == "12CEZ" and res.errors[0].code == "53200"
    c.query("begin; insert into sink values (2, 'y')")
    assert prepare(c, 4).status == "E"
    assert c.try_query("select 1").errors[0].code == "25P02"
    assert prepare(c, 4).errors[0].code == "53200"
    c.query("rollback")
    assert pg.sql("select count(*) from sink", db="p0") == [(0,)]
    assert run(c, 3).rows == [["3"]]


def test_unnamed_statements_are_free(p):
    """they are not tracked, whatever their size"""
    c = p.raw()
    prepare(c, 1, 2, 3)
    assert c.extended(text(9)).rows == [["9"]]


def test_limit_may_change(p):
    """lower: nothing is dropped that a client holds"""
    c = p.raw()
    prepare(c, 1, 2, 3)
    p.settings["max_prepared_statement_memory"] = 1
    p.reload()
    for i in (1, 2, 3):
        assert run(c, i).rows == [[str(i)]]
    assert prepare(c, 4).kinds == "EZ"
    p.settings["max_prepared_statement_memory"] = 0
    p.reload()
    assert prepare(c, 4).kinds == "1Z"


def test_servers_do_not_pile_up_what_was_forgotten(pooler, pg):
    """past max_prepared_statements of them the connection is replaced"""
    p = pooler(default_pool_size=1, max_prepared_statements=5,
               max_prepared_statement_memory=2 * SIZE + 2000)
    for i in range(20):
        c = p.raw()
        assert prepare(c, i).kinds == "1Z"
        assert run(c, i).rows == [[str(i)]]
        c.close()
    held = int(p.raw().value("select count(*) from pg_prepared_statements"))
    assert held <= 12
    assert p.log.count("closing because: close_needed") >= 1


def test_parses_of_ours_wait_for_the_server(pooler, latch):
    """each Bind of a few bytes has a text of a megabyte sent again"""
    p = pooler(default_pool_size=1, max_prepared_statements=1,
               max_prepared_statement_memory=0)
    c = p.raw()
    big = 1 << 20
    for name in ("a", "b"):
        c.send(pq.parse("select '%s' --%s" % (name, "x" * big), name),
               pq.sync())
        assert c.recv_until().kinds == "1Z"
    c.send(pq.parse("select " + latch.query), pq.bind(), pq.execute(),
           b"".join(pq.bind(name) + pq.execute() for name in "ab" * 125),
           pq.sync())

    def queued():
        row, = p.show("mem", name="iobuf_cache")
        return int(row["memtotal"])

    wait_until(lambda: queued() > 0)
    assert queued() < 3 * big
    latch.open()
    res = c.recv_until()
    assert res.rows[1:] == [["a"], ["b"]] * 125


def test_names_are_counted(pooler):
    """many names for one text"""
    p = pooler(default_pool_size=1, max_prepared_statement_memory=100000)
    c = p.raw()
    names = ["n%d" % i for i in range(3000)]
    kinds = []
    for name in names:
        c.send(pq.parse("select 1", name), pq.sync())
        kinds.append(c.recv_until().kinds)
    done = kinds.index("EZ")
    assert done < 2000 and kinds == ["1Z"] * done + ["EZ"] * (3000 - done)
    assert cache(p)[0] == 1 and 90000 < cache(p)[1] <= 100000
    c.send(b"".join(pq.close("S", name) for name in names), pq.sync())
    assert c.recv_until().kinds == "3" * 3000 + "Z"
    assert cache(p)[1] < 1000
    c.send(pq.parse("select 1", "again"), pq.sync())
    assert c.recv_until().kinds == "1Z"


def flight(c, *parts):
    c.send(*parts, pq.sync())
    res = c.recv_until()
    return res.kinds, res.rows, res.tags


def test_long_names_are_cut_as_by_postgresql(pooler, pg):
    """they are told apart by 63 bytes, and cost no more"""
    name = "n" * 63
    p = pooler(default_pool_size=1)
    direct = pq.Conn(port=pg.port).login("app", database="p0")
    for c in (direct, p.raw()):
        assert flight(c, pq.parse("select 1", name + "x" * 100000))[0] == "1Z"
        assert flight(c, pq.bind(name + "y"), pq.execute()) == \
            ("2DCZ", [["1"]], ["SELECT 1"])
        assert flight(c, pq.describe("S", name))[0] == "tTZ"
        assert flight(c, pq.close("S", name + "z"),
                      pq.parse("select 2", name)) == ("31Z", [], [])
        assert c.query("deallocate " + name + "abc").tags == ["DEALLOCATE"]
        assert flight(c, pq.parse("select 3", name + "q"))[0] == "1Z"
        assert c.query('deallocate "' + name + 'A"').tags == ["DEALLOCATE"]
    assert cache(p)[1] < 1000
    direct.close()


def test_long_name_in_an_error_is_cut(pooler):
    """the text tells as much of it as counts"""
    name = "n" * 63
    p = pooler(default_pool_size=1)
    c = p.raw()
    flight(c, pq.parse("select $1::int", name + "x"))
    with pytest.raises(pq.PgError, match='statement "%s" requires 1' % name):
        c.send(pq.bind(name + "y"), pq.sync())
        c.recv_until().check()
