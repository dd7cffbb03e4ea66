# test_console_extended.py - the console by the extended query protocol, and
# what drivers ask it when they connect.
# SPDX-License-Identifier: ISC
import datetime
import struct

import pytest

import pq
from harness import REFERENCE, wait_until

pytestmark = pytest.mark.skipif(REFERENCE, reason="there it is refused")
BINARY = (1,)


def sent(c, *parts):
    """Send, and collect up to ReadyForQuery."""
    c.send(*parts, pq.sync())
    return c.recv_until()


def raw_rows(res):
    """Cells as bytes."""
    rows = []
    for kind, body in res.messages:
        if kind != "D":
            continue
        n, pos, cells = struct.unpack_from("!h", body)[0], 2, []
        for _ in range(n):
            ln = struct.unpack_from("!i", body, pos)[0]
            pos += 4
            cells.append(None if ln < 0 else body[pos:pos + ln])
            pos += max(ln, 0)
        rows.append(cells)
    return rows


def test_statement_without_a_name(pooler):
    """Parse, Bind, Describe, Execute, Sync as most drivers send them"""
    c = pooler().console()
    res = c.extended("show databases")
    assert res.kinds == "12T" + "D" * len(res.rows) + "CZ"
    assert res.tags == ["SHOW"] and res.columns[0] == "name"
    assert [r[0] for r in res.rows] == ["p0", "p1", "pgbouncer"]
    assert c.query("show databases").rows == res.rows


def test_statement_with_a_name_runs_again(pooler):
    c = pooler().console()
    res = sent(c, pq.parse("show state", "s1"), pq.describe("S", "s1"))
    assert res.kinds == "1tTZ" and res.columns == ["key", "value"]
    for _ in range(3):
        res = sent(c, pq.bind("s1"), pq.execute())
        assert res.kinds == "2DDDCZ"
    res = sent(c, pq.parse("show lists", "s1"))
    assert res.errors[0].code == "42P05" and res.kinds == "EZ"
    assert sent(c, pq.close("S", "s1"), pq.close("S", "s1")).kinds == "33Z"
    assert sent(c, pq.bind("s1")).errors[0].code == "26000"


def test_binary_results(pooler):
    """int4, int8, numeric and text, one format for all and one each"""
    p = pooler()
    p.raw().query("select 1")
    c = p.console()
    text = c.query("show databases").rows
    res = sent(c, pq.parse("show databases"), pq.bind(
        result_formats=BINARY), pq.describe("P"), pq.execute())
    assert [d[6] for d in res.desc] == [1] * len(res.desc)
    for want, got in zip(text, raw_rows(res)):
        for w, g, d in zip(want, got, res.desc):
            if w is None or d[3] == 25:
                assert g == (None if w is None else w.encode()), d[0]
            else:
                assert struct.unpack("!i", g)[0] == int(w), d[0]
    res = sent(c, pq.parse("show stats_totals where database = p0"),
               pq.bind(result_formats=BINARY), pq.describe("P"),
               pq.execute())
    for g, d in zip(raw_rows(res)[0][1:], res.desc[1:]):
        assert d[3] == 1700
        n, weight, sign, scale = struct.unpack_from("!hhhh", g)
        digits = struct.unpack_from("!%dh" % n, g, 8)
        assert (sign, scale) == (0, 0)
        val = sum(x * 10000 ** (weight - i) for i, x in enumerate(digits))
        assert val == int(c.query("show stats_totals where database = p0")
                          .dicts[0][d[0]])
    res = sent(c, pq.parse("show lists"), pq.bind(result_formats=(0, 1)),
               pq.execute())
    assert raw_rows(res)[0][0] == b"databases"
    assert raw_rows(res)[0][1] == struct.pack("!i", 3)
    for bad, code in (((0, 0, 0), "08P01"), ((2,), "08P01")):
        res = sent(c, pq.parse("show lists"), pq.bind(result_formats=bad))
        assert res.errors[0].code == code and res.kinds == "1EZ"


def test_portal_gives_its_rows_in_pieces(pooler):
    """Execute with a row limit: PortalSuspended, and the rest later"""
    c = pooler().console()
    want = c.query("show config").rows
    c.send(pq.parse("show config"), pq.bind(portal="p"),
           pq.execute("p", 10), pq.sync())
    res = c.recv_until()
    assert res.kinds == "12" + "D" * 10 + "sZ"
    got = res.rows
    # as within a transaction, it is still there after Sync
    while "s" in res.kinds:
        res = sent(c, pq.execute("p", 7))
        got += res.rows
    assert got == want and res.tags == ["SHOW"]
    res = sent(c, pq.execute("p", 7))
    assert res.kinds == "CZ"
    assert sent(c, pq.close("P", "p"), pq.execute("p")).errors[0].code == \
        "34000"
    # the last piece fits exactly: the end is told at once
    n = len(want)
    res = sent(c, pq.parse("show config"), pq.bind(), pq.execute("", n))
    assert res.kinds == "12" + "D" * n + "CZ"


def test_portals_have_a_limit(pooler):
    c = pooler().console()
    c.extended("show state", name="s")
    for i in range(100):
        res = sent(c, pq.bind("s", portal="p%d" % i))
        if res.errors:
            break
    assert res.errors[0].code == "53400" and i >= 10
    assert sent(c, pq.close("P", "p0"), pq.bind("s", portal="q")).kinds == \
        "32Z"


def test_error_skips_to_sync(pooler):
    c = pooler().console()
    c.send(pq.parse("nonsense"), pq.bind(), pq.execute(),
           pq.query("show state"), pq.flush())
    err = c.recv_until("E").errors[0]
    assert err.message == "invalid command 'nonsense', use SHOW HELP;"
    assert err.code == "08P01" and err.severity == "ERROR"
    c.send(pq.sync())
    assert c.recv_until().kinds == "Z"
    assert c.query("show version").tags == ["SHOW"]
    # a command's own error, too
    res = sent(c, pq.parse("resume"), pq.bind(), pq.execute(),
               pq.parse("show state"))
    assert res.kinds == "12EZ"
    assert res.errors[0].message == "pooler is not paused/suspended"


def test_pipeline_of_several_statements(pooler):
    c = pooler().console()
    parts = []
    for q in ("show version", "set application_name = 'x'", "show lists",
              "begin"):
        parts += [pq.parse(q), pq.bind(), pq.describe("P"), pq.execute()]
    res = sent(c, *parts)
    assert res.tags == ["SHOW", "SET", "SHOW", "BEGIN"]
    assert res.kinds.replace("D", "") == "12TC12nNC12TC12nCZ"


def test_messages_may_come_byte_by_byte(pooler):
    """family 1: every message split at every byte"""
    c = pooler().console()
    c.send_split(pq.parse("show state", "s") + pq.bind("s", portal="p")
                 + pq.describe("S", "s") + pq.describe("P", "p")
                 + pq.execute("p", 2) + pq.close("P", "p")
                 + pq.close("S", "s") + pq.flush() + pq.sync())
    assert c.recv_until().kinds == "12tTTDDs33Z"


def test_parameters(pooler):
    """as text, as binary integers; types are told"""
    p = pooler()
    p.raw().query("select 1")
    c = p.console()
    q = "show databases where name = $1 and port > $2 limit $3"
    res = sent(c, pq.parse(q, "s"), pq.describe("S", "s"))
    types = struct.unpack("!h3i", [b for k, b in res.messages
                                   if k == "t"][0])
    assert types == (3, 25, 20, 20)
    res = sent(c, pq.bind("s", ("p0", 1, 5)), pq.execute())
    assert [r[0] for r in res.rows] == ["p0"]
    # binary values
    body = (pq.cstr("") + pq.cstr("s") + struct.pack("!hh", 1, 1)
            + struct.pack("!h", 3) + struct.pack("!i", 2) + b"p1"
            + struct.pack("!iq", 8, 1) + struct.pack("!iq", 8, 9)
            + struct.pack("!h", 0))
    res = sent(c, pq.msg("B", body), pq.execute())
    assert [r[0] for r in res.rows] == ["p1"]
    # what is not a number, not enough of them, NULL
    res = sent(c, pq.bind("s", ("p0", "x", 1)))
    assert res.errors[0].code == "22P02"
    assert sent(c, pq.bind("s", ("p0",))).errors[0].code == "08P01"
    assert sent(c, pq.bind("s", ("p0", None, 1))).errors[0].code == "22004"
    # no value can end the word it stands for
    res = sent(c, pq.bind("s", ("p0' or 'a' = 'a", 1, 1)), pq.execute())
    assert res.rows == [] and res.tags == ["SHOW"]
    assert sent(c, pq.parse("pause $1"), pq.bind("", ("p0; reload",)),
                pq.execute()).errors[0].message == \
        "no such database: p0; reload"
    res = sent(c, pq.parse("kill_client $1"), pq.bind("", ("999",)),
               pq.execute())
    assert res.errors[0].message == "client not found"
    res = c.try_query("show databases where name = $1")
    assert "invalid command" in res.errors[0].message


def test_commands_run_once(pooler):
    p = pooler()
    c = p.console()
    res = sent(c, pq.parse("reload"), pq.bind(), pq.describe("P"),
               pq.execute(), pq.execute())
    assert res.kinds == "12nCEZ" and res.errors[0].code == "55000"
    assert p.log.count("RELOAD command issued") == 1


def test_blocked_command_replies_before_what_follows(pooler):
    """PAUSE by Execute: the pipeline waits for it"""
    p = pooler()
    a = p.raw()
    a.query("begin")
    c = p.console()
    c.send(pq.parse("pause"), pq.bind(), pq.execute(),
           pq.parse("show state"), pq.bind(), pq.execute(), pq.sync())
    wait_until(lambda: "PAUSE command issued" in p.log)
    assert c.recv()[0] == "1" and c.recv()[0] == "2"
    assert not c.readable()
    a.query("commit")
    res = c.recv_until()
    assert res.tags == ["PAUSE", "SHOW"] and res.rows[1] == ["paused", "yes"]
    assert sent(c, pq.parse("resume"), pq.bind(), pq.execute()).tags == \
        ["RESUME"]


def test_cancel_of_a_blocked_execute(pooler):
    """admin-console.md 4.12"""
    p = pooler()
    a = p.raw()
    a.query("begin")
    c = p.console()
    c.send(pq.parse("pause"), pq.bind(), pq.execute(), pq.parse("reload"),
           pq.bind(), pq.execute(), pq.sync())
    wait_until(lambda: "PAUSE command issued" in p.log)
    pq.send_cancel(p.port, c.key)
    res = c.recv_until()
    assert res.errors[0].code == "57014" and res.kinds == "12EZ"
    assert "RELOAD command issued" not in p.log
    assert p.show("state", key="active")[0]["value"] == "yes"


def test_rights_are_the_same(pooler):
    """CVE-2026-6667: not another way in"""
    c = pooler().console("stats")
    for cmd in ("reload", "pause", "kill_client 1", "kill", "shutdown",
                "set verbose = 1"):
        res = sent(c, pq.parse(cmd), pq.bind(), pq.execute())
        assert res.errors[0].message == "admin access needed", cmd
        assert res.kinds == "12EZ"
    assert sent(c, pq.parse("show pools"), pq.bind(), pq.execute()).tags == \
        ["SHOW"]


@pytest.mark.parametrize("data", [
    pq.msg("P", b"x"), pq.msg("P", b"a\0b"), pq.msg("P", b"a\0show state\0"),
    pq.msg("P", b"a\0show state\0\0\1"), pq.msg("B", b"a"),
    pq.msg("D", b"S"), pq.msg("D", b"Xa\0"), pq.msg("E", b"a\0\0"),
    pq.msg("C", b""), pq.msg("P", b"\0show state\0\x7f\xff")])
def test_broken_messages_are_refused(pooler, data):
    c = pooler().console()
    res = sent(c, data)
    assert res.kinds == "EZ" and res.errors[0].code in ("08P01", "26000")
    assert c.query("show version").tags == ["SHOW"]


NAMED = "show databases where name = $1"
NUMBER = "show databases where port = $1"
WRONG = {
    "cannot insert multiple commands into a prepared statement":
        ("42601", pq.parse("select 1; select 2")),
    "bind message supplies 0 parameters, but prepared statement \"\" "
    "requires 1": ("08P01", pq.parse(NAMED), pq.bind()),
    "bind message has 3 result formats but query has 2 columns":
        ("08P01", pq.parse("show state"),
         pq.bind(result_formats=(0, 0, 0))),
    "too many format codes":
        ("08P01", pq.parse("show state"),
         pq.bind(result_formats=(0,) * 30000)),
    "unsupported format code: 2":
        ("08P01", pq.parse("show state"), pq.bind(result_formats=(2,))),
    "invalid Bind message": ("08P01", pq.msg("B", b"a")),
    "invalid Execute message": ("08P01", pq.msg("E", b"a\0\0")),
    "a parameter must not be null":
        ("22004", pq.parse(NAMED), pq.bind(params=(None,))),
    "a parameter has a zero byte":
        ("22021", pq.parse(NAMED), pq.bind(params=(b"a\0b",))),
    "a parameter is no number, or there is no memory":
        ("22P03", pq.parse(NUMBER), pq.msg("B", struct.pack(
            "!hhhhi3sh", 0, 1, 1, 1, 3, b"abc", 0))),
    "portal \"p\" cannot be run":
        ("55000", pq.parse("reload"), pq.bind(portal="p"), pq.execute("p"),
         pq.execute("p")),
    "column \"nonsense\" does not exist":
        ("42703", pq.parse("select nonsense from databases")),
    "columns can't be compared with each other: write 'host' if the word is "
    "meant": ("0A000", pq.parse("show databases where name = host")),
    "invalid input for column \"port\", a number: \"x\"":
        ("22P02", pq.parse(NUMBER), pq.bind(params=("x",)), pq.execute()),
}


def test_errors_say_what_is_wrong(pooler):
    """client-errors.md 8"""
    c = pooler().console()
    said = {text: sent(c, *parts).errors[0]
            for text, (_, *parts) in WRONG.items()}
    assert {e.message: e.code for e in said.values()} == {
        text: code for text, (code, *_) in WRONG.items()}


# --- what drivers ask -----------------------------------------------------

ANSWERS = [
    ("select 1", [["1"]]), ("SELECT 1;", [["1"]]),
    ("select 1 as one, 'x' as two", [["1", "x"]]),
    ("SELECT current_setting('server_version_num')", [["150000"]]),
    ("select pg_catalog.current_setting('is_superuser')", [["on"]]),
    ("SHOW transaction_read_only", [["off"]]),
    ("show transaction isolation level", [["read committed"]]),
    ("SHOW TRANSACTION ISOLATION LEVEL", [["read committed"]]),
    ("show standard_conforming_strings", [["on"]]),
    ("show server_version", [["1.25.2/bouncer"]]),
    ("show search_path", [["\"$user\", public"]]),
    ("select pg_is_in_recovery()", [["f"]]),
    ("SELECT pg_catalog.pg_is_in_recovery(), current_database()",
     [["f", "pgbouncer"]]),
    ("select current_user, session_user", [["admin", "admin"]]),
    ("select current_schema()", [["public"]]),
    ("SELECT CAST('test plain returns' AS VARCHAR(60)) AS anon_1",
     [["test plain returns"]]),
    ("select set_config('search_path', '', false)", [[""]]),
    ("/* hi */ select 1 -- one", [["1"]]),
    ("SELECT oid, typname FROM pg_catalog.pg_type WHERE typname = 'x'", []),
    ("SELECT t.oid, typarray FROM pg_type t JOIN pg_namespace ns ON true",
     []),
]


def test_start_time_stays(pooler):
    """pg_postmaster_start_time() is a timestamptz that does not wander"""
    c = pooler().console()
    sql = "select pg_postmaster_start_time()"
    began = c.value(sql)
    at = datetime.datetime.fromisoformat(began + ":00")
    now = datetime.datetime.now(datetime.timezone.utc)
    assert datetime.timedelta(0) <= now - at < datetime.timedelta(minutes=10)
    assert c.value(sql) == began


@pytest.mark.parametrize("query,rows", ANSWERS)
def test_what_drivers_ask(pooler, query, rows):
    for user in ("admin", "stats"):
        c = pooler().console(user)
        want = [["stats" if v == "admin" else v for v in r] for r in rows] \
            if user == "stats" else rows
        assert c.query(query).rows == want
        assert c.extended(query).rows == want


TAGS = [
    ("begin", "BEGIN"), ("BEGIN TRANSACTION READ ONLY", "BEGIN"),
    ("start transaction isolation level serializable", "START TRANSACTION"),
    ("commit", "COMMIT"), ("end", "COMMIT"), ("ROLLBACK;", "ROLLBACK"),
    ("abort", "ROLLBACK"), ("discard all", "DISCARD ALL"),
    ("deallocate all", "DEALLOCATE ALL"), ("savepoint a", "SAVEPOINT"),
    ("set extra_float_digits = 3", "SET"),
    ("SET application_name = 'psql'", "SET"),
    ("SET client_encoding TO 'UTF8'", "SET"), ("set names 'utf8'", "SET"),
    ("set search_path to a, b", "SET"), ("SET TIME ZONE 'UTC'", "SET"),
    ("set session characteristics as transaction read only", "SET"),
    ("set local statement_timeout = 0", "SET"), ("reset all", "RESET"),
    ("unlisten *", "UNLISTEN"), ("close all", "CLOSE CURSOR ALL"),
]


@pytest.mark.parametrize("query,tag", TAGS)
def test_what_drivers_say(pooler, query, tag):
    c = pooler().console("stats")
    res = c.query(query)
    assert res.tags == [tag] and res.status == "I" and res.rows == []
    res = c.extended(query)
    assert res.tags == [tag] and res.status == "I"


def test_several_such_statements_in_one_query(pooler):
    """what drivers send to reset a connection, and at connect"""
    c = pooler().console()
    res = c.query("SELECT pg_advisory_unlock_all();\nCLOSE ALL;\n"
                  "UNLISTEN *;\nRESET ALL;")
    assert res.tags == ["SELECT 1", "CLOSE CURSOR ALL", "UNLISTEN", "RESET"]
    assert res.kinds.count("Z") == 1
    res = c.query("SELECT version();\n\nSELECT ns.nspname, t.oid, t.typname, "
                  "t.typtype, t.typnotnull, t.elemtypoid\nFROM (\n    -- x\n"
                  "    SELECT typ.oid FROM pg_type AS typ) AS t\n"
                  "JOIN pg_namespace AS ns ON ns.oid = typnamespace;\n\n"
                  "-- Load field definitions\nSELECT typ.oid, att.attname, "
                  "att.atttypid\nFROM pg_type AS typ;\n"
                  "SELECT pg_type.oid, enumlabel FROM pg_enum JOIN pg_type "
                  "ON pg_type.oid=enumtypid;")
    assert res.kinds.replace("D", "") == "TCTCTCTCZ"
    rows = [r for r in res.rows if len(r) == 6]
    assert ["pg_catalog", "23", "int4", "b", "f", None] in rows
    assert res.columns == ["oid", "enumlabel"]
    assert c.query("show version").tags == ["SHOW"]


def test_pings_that_say_nothing(pooler):
    c = pooler().console()
    for q in (";", "-- ping", "/* ping */"):
        assert c.query(q).kinds == "IZ"
    for q in ("", " ", "-- ping"):
        assert c.extended(q).kinds == "12nIZ"


def test_deallocate_forgets(pooler):
    c = pooler().console()
    c.extended("show state", name="a")
    c.extended("show state", name="b")
    assert c.query('deallocate "a"').tags == ["DEALLOCATE"]
    assert sent(c, pq.bind("a")).errors[0].code == "26000"
    assert sent(c, pq.bind("b")).kinds == "2Z"
    c.query("discard all")
    assert sent(c, pq.bind("b")).errors[0].code == "26000"


def test_only_answers_may_stand_together(pooler):
    c = pooler().console()
    for q in ("begin; reload", "select 1; pause; select 1"):
        res = c.try_query(q)
        assert res.kinds == "EZ"
        assert res.errors[0].message == \
            "invalid command '%s', use SHOW HELP;" % q
    res = sent(c, pq.parse("select 1; select 2"))
    assert res.errors[0].code == "42601"


def test_settings_of_the_pooler_are_no_game(pooler):
    """a real setting needs the rights, one that does not exist fails"""
    p = pooler()
    c, s = p.console(), p.console("stats")
    assert c.query("set query_timeout = 7").tags == ["SET query_timeout=7"]
    assert s.try_query("set query_timeout = 7").errors[0].message == \
        "admin access needed"
    assert c.try_query("set no_such = 7").errors[0].message == "SET failed"
    assert p.show("config", key="query_timeout")[0]["value"] == "7"
