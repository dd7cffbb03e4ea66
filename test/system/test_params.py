# test_params.py - parameters that follow their clients.
# SPDX-License-Identifier: ISC
"""What a client sees of its parameters is what PostgreSQL itself would show
it: PostgreSQL, asked directly, is the oracle.
"""
import pytest

import pq
from harness import REFERENCE

pytestmark = pytest.mark.skipif(REFERENCE, reason="not so there")


@pytest.fixture
def direct(pg):
    """logs in to PostgreSQL itself"""
    conns = []

    def login(**params):
        conns.append(pq.Conn(port=pg.port).login("app", database="p0",
                                                 **params))
        return conns[-1]
    yield login
    for c in conns:
        c.close()


# --- which values differ --------------------------------------------------

def test_case_counts(pooler):
    """names that differ in case only are different ones"""
    p = pooler(default_pool_size=1)
    a, b = p.raw(application_name="Tenant"), p.raw(application_name="TENANT")
    for _ in range(2):
        assert a.value("show application_name") == "Tenant"
        assert b.value("show application_name") == "TENANT"


def test_encoding_is_set_first(pooler):
    """the others are read in the client's encoding"""
    p = pooler(default_pool_size=1)
    u = p.raw(application_name="\u00e9")
    a = p.raw(client_encoding="LATIN1", application_name=b"caf\xe9")
    for _ in range(2):
        assert a.value("show application_name").startswith("caf?")
        assert u.value("show application_name")[0] == "?"
        assert a.value("show client_encoding") == "LATIN1"
        assert u.value("show client_encoding") == "UTF8"
    assert len(p.servers()) == 1 and "invalid server" not in p.log


# --- a value of two halves ------------------------------------------------

STYLES = ["ISO", "iso", "DMY", "German", "Postgres, US", "european",
          "SQL", "sql, ymd", "ISO, DMY", "ymd,german"]


@pytest.mark.parametrize("style", STYLES)
def test_half_a_datestyle(pooler, direct, style):
    """the other half is the server's, not that of whoever came before"""
    p = pooler(default_pool_size=1)
    other = p.raw()
    want = direct(DateStyle=style)
    mine = p.raw(DateStyle=style)
    for last in ("SQL, DMY", "Postgres, YMD", "German, MDY"):
        other.query("set datestyle to '%s'" % last)
        for sql in ("show datestyle", "select '01/02/03'::date"):
            assert mine.value(sql) == want.value(sql)
        assert other.value("show datestyle") == last
    assert mine.params["DateStyle"] == want.params["DateStyle"]
