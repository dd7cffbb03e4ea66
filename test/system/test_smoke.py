# test_smoke.py - the harness itself, and one query.
# SPDX-License-Identifier: ISC


def test_one_query_is_answered(pooler):
    """pooling.md 3, 5: login, one query, one server."""
    p = pooler()
    with p.connect() as c:
        assert c.execute("select 1").fetchone() == (1,)
    c = p.raw()
    assert c.value("select 42") == "42"
    assert p.pool()["sv_idle"] == 1
