# test_shapes.py - a plain SHOW has the columns of the release it announces.
# SPDX-License-Identifier: ISC
"""Tools read columns by their place and count them: doc/spec has the shapes
that a running 1.25.2 and 1.26 answer with."""
import os

import pytest

from harness import REFERENCE, ROOT

pytestmark = [pytest.mark.skipif(REFERENCE, reason="has one shape"),
              pytest.mark.setting("console_version")]

NUMBERS = {"1.25": "1.25.2", "1.26": "1.26.1"}
OURS = {
    "config": ["source"],"databases": ["target_session_attrs"],
        "pools": ["wait_reason", "wait_us", "pool_size",
                  "reserve_pool_size", "pinned", "max_pinned"],
        "clients": ["tls_peer", "pinned", "pin_reason", "wait_reason", "waited_us",
                    "channels", "transaction_us", "server_pid"],
        "servers": ["tls_peer", "pinned", "pin_reason", "role",
                    "transaction_us", "client_id", "client"],
        "sockets": ["tls_peer"],
        "active_sockets": ["tls_peer"]}


def shapes(version):
    """{topic: [(name, oid)]}"""
    name = {"1.25": "1.25.2"}.get(version, version)
    path = os.path.join(ROOT, "doc", "spec", f"show-shapes-{name}.txt")
    with open(path, encoding="utf-8") as f:
        rows = [line.split() for line in f if line.strip()]
    return {topic.lower(): [(c.rpartition(":")[0], int(c.rpartition(":")[2]))
                            for c in columns] for topic, *columns in rows}


def columns(result):
    return [(c[0], c[3]) for c in result.desc]


@pytest.mark.parametrize("version", sorted(NUMBERS))
def test_plain_show_is_exact(pooler, version):
    con = pooler(console_version=version).console()
    want = shapes(version)
    assert len(want) == 20
    for topic in want:
        assert columns(con.query("show " + topic)) == want[topic], topic


@pytest.mark.parametrize("version", sorted(NUMBERS))
def test_extended_adds_ours_at_the_end(pooler, version):
    con = pooler(console_version=version).console()
    newest = shapes("1.26")
    for topic in newest:
        want = newest[topic]
        got = columns(con.query(f"show {topic} extended"))
        assert got[:len(want)] == want, topic
        assert [c[0] for c in got[len(want):]] == OURS.get(topic, []), topic
        assert columns(con.query("select * from " + topic)) == got


def test_ours_are_had_by_name(pooler):
    p = pooler()
    con = p.console()
    for query in ("show pools (database, wait_us)",
                  "select database, wait_us from pools"):
        assert [c[0] for c in con.query(query).desc] == ["database",
                                                         "wait_us"]
    assert con.query("show clients where tls_peer = ''").rows
    assert "client_login_count" in con.query("show json stats").rows[0][0]


def test_extended_may_be_followed_by_clauses(pooler):
    con = pooler().console()
    ours = OURS["pools"][-1]
    res = con.query("show pools extended where database = 'pgbouncer' "
                    "order by wait_us limit 1")
    assert len(res.rows) == 1 and res.columns[-1] == ours
    # a prepared statement describes what it will answer
    assert con.query("SHOW POOLS EXTENDED;").columns[-1] == ours


@pytest.mark.parametrize("version", sorted(NUMBERS))
def test_version_is_that_of_the_shapes(pooler, version):
    p = pooler(console_version=version)
    con = p.console()
    number = NUMBERS[version]
    assert con.query("show version").rows[0][0].startswith(
        f"PgBouncer {number} (pgsluice ")
    assert con.query("show server_version").rows == [[f"{number}/bouncer"]]
    assert con.query("select version()").rows[0][0].startswith(
        f"PgBouncer {number} (pgsluice ")
    assert con.params["server_version"] == f"{number}/bouncer"


def test_version_is_changed_while_it_runs(pooler):
    p = pooler()
    con = p.console()
    assert ("client_login_count", 1700) not in columns(
        con.query("show stats_totals"))
    assert "total_client_login_count" not in [
        r[0] for r in con.query("show totals").rows]
    con.query("set console_version = '1.26'")
    assert ("client_login_count", 1700) in columns(
        con.query("show stats_totals"))
    assert "total_client_login_count" in [
        r[0] for r in con.query("show totals").rows]


def test_console_counts_once(pooler):
    """Its first command is a transaction and a query of the console."""
    p = pooler()
    con = p.console()
    for _ in range(3):
        con.query("show version")
    assert p.stats("pgbouncer")["total_query_count"] == 2	# and this one
    row = p.stats("pgbouncer")
    assert row["total_xact_count"] == row["total_query_count"]
