# test_unknown_names.py - a name that exists looks like one that does not.
# SPDX-License-Identifier: ISC
import base64
import os
import signal
import struct

import pytest

import pq
from harness import REFERENCE
from test_auth_query import running

pytestmark = pytest.mark.skipif(REFERENCE, reason="newer than that")


@pytest.fixture
def pooler(pooler):  # pylint: disable=redefined-outer-name
    """with salts that come of the secrets, as they do by default"""
    def make(*args, **kw):
        return pooler(*args, **{"auth_mock_secret_file": None, **kw})
    return make


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
    secret = pq.scram_secret("x")
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
    # the salt of a secret, too, is the same wherever it is shown
    assert ask(p, "known", "nowhere")[1] == ask(p, "known")[1]


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


# --- the shape of most secrets ---------------------------------------------

def scram(iterations, salt=16):
    return pq.scram_secret("x", os.urandom(salt), iterations)


FILES = {
    "plain": ({"a": "x", "b": "x", "c": scram(5000)}, "a"),
    "md5": ({"a": pq.md5_secret("a", "x"), "b": pq.md5_secret("b", "x"),
             "c": scram(5000)}, "a"),
    "scram": ({"a": scram(5000), "b": scram(5000), "c": scram(7000),
               "d": "x"}, "a"),
    "long": ({"a": scram(6000, 40), "b": scram(6000, 40)}, "b"),
}


@pytest.mark.parametrize("database", ["p0", "pgbouncer", "nowhere"])
@pytest.mark.parametrize("hba", [False, True])
@pytest.mark.parametrize("method", METHODS[:3])
@pytest.mark.parametrize("kind", FILES)
def test_unknown_names_look_like_most(pooler, kind, method, hba, database):
    """authentication.md 7: method, iterations, length of the salt"""
    users, one = FILES[kind]
    if (kind, method) == ("md5", "scram-sha-256"):
        one = "c"   # the others can't prove anything by SCRAM
    p = with_method(pooler, method, hba, userlist=users,
                    admin_users="admin" if database == "p0" else one)
    unknown = transcript(p, "ghost", database)
    assert unknown[-2][0] == "E" and len(unknown) > 2
    assert transcript(p, one, database) == unknown


def test_unusable_secrets_look_like_most(pooler):
    """neither an empty one nor one that is no hash is told from none"""
    p = pooler(userlist={"a": scram(5000), "empty": "", "odd": "SCRAM-SHA-1$x",
                         "b": scram(5000)}, auth_type="md5")
    assert transcript(p, "a") == transcript(p, "ghost") == \
        transcript(p, "empty") == transcript(p, "odd")


def test_lookups_look_like_most_of_them(pooler):
    """as PostgreSQL stores them, until those who log in have others; who
    only asks for a name that exists changes nothing"""
    secret = pq.md5_secret("known", "x")
    p = pooler({"p0": "user=app"}, {"postgres": ""}, auth_type="md5",
               auth_user="postgres", auth_query="select $1::text, '%s' where "
               "$1 = 'known'" % secret)
    before = transcript(p, "ghost")
    assert ("R", 11, b"4096", 16, 48) in before
    assert transcript(p, "known") != before == transcript(p, "ghost")
    p.raw("known", "p0", "x").close()
    assert transcript(p, "ghost") == transcript(p, "known")


# --- salts -----------------------------------------------------------------

USERS = {"known": "x", "stored": scram(4096), "admin": "y", "other": "z"}


def salts(p, **how):
    got = {u: ask(p, u, **how)[1] for u in ("known", "stored", "ghost")}
    assert None not in got.values() and len(set(got.values())) == 3
    return got


def again(p):
    p.signal(signal.SIGQUIT)
    p.wait_exit()
    p.launch()
    p.wait_log("process up", count=2)


def test_salts_stay(pooler):
    """over a reload, a restart, and in a sibling; with and without a secret
    of their own"""
    p = pooler(userlist=USERS, auth_type="scram-sha-256", so_reuseport=1)
    first = salts(p)
    p.admin("reload")
    assert salts(p) == first
    p.reload()      # the file is another, with the same secrets
    assert salts(p) == first
    again(p)
    assert salts(p) == first
    sibling = pooler(userlist=dict(reversed(USERS.items())),
                     auth_type="scram-sha-256", so_reuseport=1)
    assert salts(sibling) == first
    # another file: who has no stored salt is shown another
    sibling.userlist["one_more"] = "w"
    sibling.reload()
    other = salts(sibling)
    assert other["stored"] == first["stored"]
    assert other["known"] != first["known"]
    assert other["ghost"] != first["ghost"]


@pytest.mark.setting("auth_mock_secret_file")
def test_salts_of_a_secret_file_outlive_the_auth_file(pooler):
    """so that no change of it tells who has no stored salt"""
    p = pooler(userlist=USERS, auth_type="scram-sha-256", start=False)
    p.settings["auth_mock_secret_file"] = p.put("salt", "0123456789abcdef")
    p.start()
    first = salts(p)
    p.userlist["one_more"] = "w"
    p.reload()
    assert salts(p) == first
    p.settings["auth_mock_secret_file"] = p.put("salt2", "0123456789abcdeg")
    p.reload()
    other = salts(p)
    assert other["stored"] == first["stored"]
    assert other["known"] != first["known"]
    assert other["ghost"] != first["ghost"]
    # and a file that is none is refused
    for name, why in (("nowhere", "could not open auth_mock_secret_file"),
                      ("short", "is too short: it needs 16 bytes")):
        p.put("short", "0123456789abcde")
        p.settings["auth_mock_secret_file"] = os.path.join(p.dir, name)
        with pytest.raises(pq.PgError) as e:
            p.reload()
        assert why in str(e.value.fields)
        assert salts(p) == other


def test_salts_tell_nothing_without_secrets(pooler):
    """a file of empty secrets is one that everybody knows"""
    users = {"postgres": "", "admin": ""}
    one, two = (pooler(userlist=users, auth_type="scram-sha-256")
                for _ in range(2))
    assert ask(one, "ghost")[1] == ask(one, "ghost")[1]
    assert ask(one, "ghost")[1] != ask(two, "ghost")[1]
