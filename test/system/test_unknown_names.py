# test_unknown_names.py - a name that exists looks like one that does not.
# SPDX-License-Identifier: ISC
import base64
import struct

import pytest

import pq
from harness import REFERENCE
from test_auth_query import running

pytestmark = pytest.mark.skipif(REFERENCE, reason="newer than that")


def ask(p, user, database="p0", **how):
    """A login with a wrong password: what is said, and the salt of SCRAM."""
    said, salt = [], None
    with p.open(**how) as c:
        c.login(user, database=database, wait=False)
        while True:
            kind, body = c.recv()
            if kind != "R":
                said += [(kind, sorted(pq.fields(body).items())), c.at_eof()]
                return said, salt
            code = struct.unpack_from("!i", body)[0]
            said.append((kind, code, len(body)))
            if code == 10:
                said.append(body)
            c._auth(user, "wrong", body)
            if code == 11:
                salt = c.scram.fields[b"s"]
                said[-1] = (kind, code, c.scram.fields[b"i"],
                            len(base64.b64decode(salt)),
                            len(c.scram.fields[b"r"]))


def transcript(p, user, database="p0"):
    return ask(p, user, database)[0]


METHODS = ["plain", "md5", "scram-sha-256", "trust"]
RULES = {"plain": "password"}


def with_method(pooler, method, hba, **kw):
    """auth_type, or a rule that says the same."""
    p = pooler(start=False, auth_type="hba" if hba else method, **kw)
    if hba:
        p.settings["auth_hba_file"] = p.put(
            "hba.conf", "local all all trust\nhost all all all %s\n" %
            RULES.get(method, method))
    return p.start()


@pytest.mark.setting("auth_query")
@pytest.mark.parametrize("hba", [False, True])
@pytest.mark.parametrize("method", METHODS)
def test_no_row_is_a_wrong_password(pooler, method, hba):
    """authentication.md 6, 7: also for the console"""
    secret = pq.md5_secret("known", "x") if method == "md5" else \
        pq.scram_secret("x")
    query = "select name, secret from (values ('known', '%s'::text), " \
        "('null', null)) v (name, secret) where name = $1" % secret
    p = with_method(pooler, method, hba, auth_user="postgres",
                    auth_query=query, auth_dbname="p1",
                    userlist={"postgres": "", "admin": "y"})
    unknown = transcript(p, "ghost")
    assert unknown[-2][0] == "E"
    assert "no such user: ghost\n" in p.log
    if method == "trust":
        assert ("M", '"trust" authentication failed') in unknown[-2][1]
        return
    for db in ("p0", "nowhere", "pgbouncer"):
        assert transcript(p, "ghost", db) == unknown
        assert transcript(p, "known", db) == unknown
        assert transcript(p, "null", db) == unknown


@pytest.mark.parametrize("method", METHODS[:3])
def test_console_tells_no_names(pooler, method):
    """it is no database for auth_query: its users are those of the file"""
    p = with_method(pooler, method, False, auth_user="postgres",
                    userlist={"postgres": "", "admin": "y"})
    unknown = transcript(p, "ghost", "pgbouncer")
    assert unknown[-2][0] == "E" and len(unknown) > 2
    assert transcript(p, "admin", "pgbouncer") == unknown
    assert transcript(p, "app", "pgbouncer") == unknown


def test_who_is_unknown_to_auth_query_stays_out(pooler, latch):
    """whatever the method has become meanwhile"""
    p = pooler(auth_type="plain", auth_user="postgres", auth_query="select "
               "$1::text, 'x' where %s is null" % latch.query,
               dbs={"p0": "user=app", "p1": ""})
    c = p.open().login("ghost", database="p0", wait=False)
    running(p)
    p.settings["auth_type"] = "any"
    p.reload()
    assert not c.readable()
    latch.open()
    assert c.recv_all().errors[0].message == \
        "no authentication method is found"
