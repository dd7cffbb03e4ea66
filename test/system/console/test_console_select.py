# test_console_select.py - rows and columns of SHOW by choice, and as JSON.
# SPDX-License-Identifier: ISC
import json

import pytest

import pq

from harness import REFERENCE

pytestmark = pytest.mark.skipif(REFERENCE, reason="not known there")


@pytest.fixture
def con(pooler):
    p = pooler({"a": "pool_size=5", "b": "pool_size=11 host=127.0.0.1,::1",
                "c": "pool_size=9 pool_mode=session"})
    return p.console()


@pytest.mark.parametrize("query,rows", [
    ("show databases (name, pool_size) where name = 'a'", [["a", "5"]]),
    ("SHOW DATABASES(name) WHERE name=b;", [["b"]]),
    ("select name, pool_size from databases where pool_size > 8 "
     "order by pool_size desc", [["b", "11"], ["c", "9"]]),
    ("select name from databases order by pool_size",
     [["pgbouncer"], ["a"], ["c"], ["b"]]),
    ("select name from databases order by name desc limit 2",
     [["pgbouncer"], ["c"]]),
    ("select name from databases where pool_size >= 5 and pool_size <= 9",
     [["a"], ["c"]]),
    ("select name from databases where pool_size <> 5 and name != pgbouncer "
     "and paused = 0", [["b"], ["c"]]),
    ("select name from databases where pool_size < 5", [["pgbouncer"]]),
    ("select name from databases where load_balance_hosts is not null",
     [["b"]]),
    ("select name from databases where pool_mode is null", [["a"], ["b"]]),
    ("select name from databases where pool_mode = 'x'", []),
    ("select name from databases where pool_size = -1", []),
    ("select name from databases where name > 'b'", [["c"], ["pgbouncer"]]),
    ("select name from databases order by load_balance_hosts",
     [["b"], ["a"], ["c"], ["pgbouncer"]]),
    ("select name from databases order by load_balance_hosts desc",
     [["b"], ["a"], ["c"], ["pgbouncer"]]),
    ("show databases (name) limit 0", []),
    ("show databases (NAME, name) limit 1", [["a", "a"]]),
    ("show config (value) where key = 'pool_mode'", [["transaction"]]),
    ("select value from config where key = 'max_client_conn'", [["2000"]]),
])
def test_rows_and_columns(con, query, rows):
    res = con.query(query)
    assert res.rows == rows and res.tags == ["SHOW"]


def test_star_is_all(con):
    assert con.query("select * from databases").rows == \
        con.query("show databases extended").rows
    cols = con.query("show databases extended").columns
    assert con.query("select * from databases limit 1").columns == cols
    assert con.query("show databases (port, name)").columns == \
        ["port", "name"]


@pytest.mark.parametrize("query,code", [
    ("show databases (nme)", "42703"),
    ("show databases where nme = 1", "42703"),
    ("show databases order by nme", "42703"),
    ("show databases where pool_size = 'many'", "22P02"),
    ("show config where value <> default", "0A000"),
    ("select key from config where value = (\"Default\")", "0A000"),
    ("show databases where pool_size > min_pool_size", "0A000"),
    ("show databases where pool_size = ''", "22P02"),
    ("show databases where pool_size = 99999999999999999999", "22P02"),
    ("show databases (name", "08P01"), ("show databases ()", "08P01"),
    ("show databases where", "08P01"),
    ("show databases where name", "08P01"),
    ("show databases where name = a or name = b", "08P01"),
    ("show databases limit", "08P01"), ("show databases limit x", "08P01"),
    ("show databases order name", "08P01"),
    ("show databases limit 1 limit 2", "08P01"),
    ("show databases where " + " and ".join(["port > 1"] * 9), "08P01"),
    ("select name, from databases", "08P01"),
    ("select name from nothing", "08P01"),
])
def test_what_is_wrong_is_told(con, query, code):
    res = con.try_query(query)
    assert res.kinds == "EZ" and res.errors[0].code == code
    if code == "08P01":
        assert res.errors[0].message == \
            "invalid command '%s', use SHOW HELP;" % query
    assert con.query("show version").tags == ["SHOW"]


def test_eight_conditions_are_possible(con):
    q = "select name from databases where " + " and ".join(
        ["pool_size = 5"] * 8)
    assert con.query(q).rows == [["a"]]


def test_json(pooler):
    """one row, one column, types right"""
    p = pooler()
    a = p.raw(application_name="a\"b\\c/")
    a.query("select 1")
    c = p.console()
    for topic in ("databases", "pools", "clients", "servers", "stats",
                  "lists", "config", "users", "mem", "version", "state"):
        res = c.query("show json " + topic)
        assert [d[:1] + d[3:5] for d in res.desc] == [("json", 114, -1)]
        assert len(res.rows) == 1 and res.tags == ["SHOW"]
        got = json.loads(res.rows[0][0])
        plain = c.query(f"show {topic} extended")
        assert [list(r) for r in got] == [plain.columns] * len(plain.rows)
        for r, d in zip(got[:1], [dict((x[0], x[3]) for x in plain.desc)]):
            for k, v in r.items():
                want = str if d[k] not in (20, 23, 1700) else int
                # of these only a server may have no client
                if want is str or k == "client_id":
                    want |= type(None)
                assert isinstance(v, want), (topic, k, v)
    rows = json.loads(c.query("show json clients where database = 'p0'")
                      .rows[0][0])
    assert [r["application_name"] for r in rows] == ["a\"b\\c/"]
    assert json.loads(c.query("show json databases (name, port) where "
                              "name = nope").rows[0][0]) == []
    assert json.loads(c.query(
        "show json databases (name) order by name desc limit 1").rows[0][0]
    ) == [{"name": "pgbouncer"}]
    got = c.query("show databases").dicts
    assert {r["name"]: str(r["port"]) for r in json.loads(
        c.query("show json databases").rows[0][0])} == {
            r["name"]: r["port"] for r in got}


def test_json_of_bytes_that_are_no_text(pooler):
    """a client may name a database by any bytes"""
    p = pooler({"*": "dbname=p0"})
    a = p.open()
    a.send(pq.startup([(b"user", b"app"), (b"database", b"x\xff\xfey")]))
    a.recv_until("Z")
    res = p.console().query("show json clients where user = app")
    assert json.loads(res.rows[0][0])[0]["database"] == "x??y"
