# test_strangers.py - what those who have not shown who they are can do.
# SPDX-License-Identifier: ISC
import pytest

import pq
from harness import REFERENCE, wait_until
from test_login import refused

pytestmark = pytest.mark.skipif(REFERENCE, reason="newer than that")


def half_way(p, user="app", database="p0"):
    """A login that has been asked for its password."""
    c = p.open().login(user, database=database, wait=False)
    assert c.recv()[0] == "R"
    return c


# --- limits of users and databases -----------------------------------------

@pytest.mark.setting("max_user_client_connections",
                     "max_db_client_connections")
@pytest.mark.parametrize("limit", ["max_user_client_connections",
                                   "max_db_client_connections"])
def test_strangers_take_nobodys_place(pooler, limit):
    """three who know a name only, and one who has the password"""
    p = pooler(auth_type="plain", **{limit: 1})
    strangers = [half_way(p) for _ in range(3)]
    c = p.raw("app", "p0", "apppw")
    assert c.value("select 1") == "1"
    for topic, name in (("databases", "p0"), ("users", "app")):
        assert p.show(topic, name=name)[0]["current_client_connections"] \
            == "1"
    text = "client connections exceeded (%s)" % limit
    assert refused(p.open(), user="app", password_="apppw",
                   database="p0") == text
    # one of those who were half way when it was full
    strangers[0].send(pq.password("apppw"))
    assert strangers[0].recv_all().errors[-1].message == text
    # who does not know the password is told nothing of it
    strangers[1].send(pq.password("wrong"))
    assert strangers[1].recv_all().errors[-1].message == \
        "password authentication failed"
    c.close()
    wait_until(lambda: p.show("databases", name="p0")[0]
               ["current_client_connections"] == "0")
    strangers[2].send(pq.password("apppw"))
    assert strangers[2].finish_login("app").value("select 1") == "1"
