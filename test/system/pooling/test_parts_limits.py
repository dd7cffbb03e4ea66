# test_parts_limits.py - limits over parts of pools, counted before the server.
# SPDX-License-Identifier: ISC
import os
import random

import pytest

from gate import Gate
from harness import REFERENCE, is_forced, wait_until
from test_parts import Storm, begin, order, of_workers

pytestmark = [pytest.mark.skipif(REFERENCE, reason="not known there"),
              pytest.mark.setting("max_db_connections",
                                  "max_user_connections")]

DATABASES = ("p0", "p1", "p2")
OF_DATABASE = 11
OF_USER = 13
ORDERS = int(os.environ.get("ORDERS") or 40)


@pytest.fixture
def gate(pg):
    g = Gate(pg.port)
    yield g
    g.end()


class Crowd(Storm):
    """As that one, of all databases."""

    def open(self, user):
        return self.p.raw(user, self.random.choice(DATABASES))


def start(pooler, gate, workers, force):
    at = "host=127.0.0.1 port=%d dbname=" % gate.port
    p = pooler({name: at + name for name in DATABASES}, start=False,
               workers=workers,
               users={"app": "max_user_connections=%d" % OF_USER},
               default_pool_size=8, max_db_connections=OF_DATABASE,
               server_login_retry=0.1, server_handover_delay=0.02,
               reserve_pool_timeout=0.05, server_idle_timeout=1)
    p.env["PARTS_FORCE"] = "1"
    if force:
        p.env["PGSLUICE_FORCE"] = force
    p.start()
    for user in ("app", "app2"):
        begin(p, user=user)
    return p


@pytest.mark.parametrize("force", ["", "handover,moves"])
@pytest.mark.parametrize("workers", [2, 4])
def test_never_more_connections_than_the_limits(pooler, pg, gate, workers,
                                                force):
    """nor does one stay that nobody has"""
    if force and not is_forced():
        pytest.skip("nothing is forced in this build")
    p = start(pooler, gate, workers, force)
    seed = int(os.environ.get("SEED") or workers)
    rnd = random.Random(seed)
    storm = Crowd(p, seed)
    try:
        for _ in range(ORDERS):
            order(p, pg, rnd)
        done = storm.done[0]
        wait_until(lambda: storm.done[0] > done + 100)
        # the limits have been in the way
        wait_until(lambda: gate.most["user", "app"] == OF_USER and
                   all(gate.most["database", d] > 4 for d in DATABASES))
    finally:
        storm.end()
    assert gate.most["user", "app"] == OF_USER
    for database in DATABASES:
        assert gate.most["database", database] <= OF_DATABASE
    wait_until(lambda: sum(gate.now()["user", u] for u in ("app", "app2")) ==
               sum(of_workers(p, "servers")))
