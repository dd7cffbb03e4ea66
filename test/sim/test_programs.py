# test_programs.py - random programs, on PostgreSQL and through the pooler.
# SPDX-License-Identifier: ISC
"""SIM_PROGRAMS is how many a mode runs, SIM_SEED the first one's seed,
SIM_CLIENTS how many run at once.
"""
import os
import threading

import pytest

import programs
from compare import NotAProgram, Runner
from harness import REFERENCE, cluster

COUNT = int(os.environ.get("SIM_PROGRAMS", "150"))
SEED = int(os.environ.get("SIM_SEED", "1"))
CLIENTS = int(os.environ.get("SIM_CLIENTS", "3"))

BLOCKS, DDL, ACROSS = {"blocks"}, {"blocks", "ddl"}, {"blocks", "across"}
MODES = {
    "session": ({"blocks", "ddl", "own"},
                dict(pool_mode="session", default_pool_size=CLIENTS,
                     server_reset_query="discard all")),
    "transaction": (DDL, dict(default_pool_size=1)),
    "transaction-two": (BLOCKS, dict(default_pool_size=2)),
    "transaction-evict": (BLOCKS, dict(default_pool_size=1,
                                       max_prepared_statements=2)),
    "transaction-evict-two": (BLOCKS, dict(default_pool_size=2,
                                           max_prepared_statements=1)),
    "transaction-unnamed": (BLOCKS, dict(
        default_pool_size=2, session_state="keep",
        cache_unnamed_statements=1)),
    "transaction-unnamed-evict": (DDL, dict(
        default_pool_size=1, session_state="clean", max_prepared_statements=2,
        cache_unnamed_statements=1)),
    "transaction-across": (ACROSS, dict(
        default_pool_size=2, session_state="keep")),
    "transaction-across-cached": (ACROSS, dict(
        default_pool_size=2, session_state="keep",
        cache_unnamed_statements=1)),
    "statement": (set(), dict(pool_mode="statement", default_pool_size=1)),
    "statement-evict": (set(), dict(pool_mode="statement",
                                    default_pool_size=2,
                                    max_prepared_statements=2)),
}

pytestmark = pytest.mark.skipif(REFERENCE, reason="differs in two of five")


def make_tables(n):
    pg = cluster()
    for i in range(n):
        pg.sql("create table if not exists prog%d (id int primary key, "
               "val text)" % i, "grant all on prog%d to public" % i,
               "alter table prog%d owner to app" % i, db="p0")


class Crew:
    """Clients that take seeds in turn until one finds a difference. Who gets
    stuck holds up others, so each tells what it found.
    """

    def __init__(self, runner, kinds, first, count):
        self.runner, self.kinds = runner, kinds
        self.left = iter(range(first, first + count))
        self.lock, self.found, self.error = threading.Lock(), [], None
        self.ran = self.skipped = 0

    def next(self):
        with self.lock:
            if self.found or self.error:
                return None
            return next(self.left, None)

    def work(self, slot):
        try:
            while (seed := self.next()) is not None:
                prog = programs.program(seed, "prog%d" % slot, self.kinds)
                try:
                    why = self.runner(prog)
                except NotAProgram:
                    with self.lock:
                        self.skipped += 1
                    continue
                with self.lock:
                    self.ran += 1
                    if why:
                        self.found.append((seed, prog, why))
        except BaseException as e:  # told to the test
            with self.lock:
                self.error = "seed %s: %r" % (seed, e)

    def check(self, count):
        """Hardly any is none that PostgreSQL can answer."""
        assert self.ran + self.skipped == count
        assert self.skipped <= 1 + count / 50, self.skipped

    def run(self):
        threads = [threading.Thread(target=self.work, args=(i,))
                   for i in range(CLIENTS)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()


def report(runner, seed, prog, why):
    small, again = runner.minimise(prog)
    return "seed %d: %s\n%s\nalone: %s\n%s" % (
        seed, why, programs.show(prog), again,
        programs.show(small) if again else "no difference")


@pytest.mark.parametrize("mode", MODES)
def test_programs(pooler, mode):
    """spec pooling.md 14 to 16: as PostgreSQL, to the byte"""
    # regressions: PB#1535, PB#1025, Ody #564, PgCat 7205537, PgDog#763,
    #   PgDog#1332, PgDog#1338, PgDog#1231, PgDog#946, PgDog#863, PgDog#1385,
    #   PgP aed190d02, PgP Execute behind Sync, family 2: counting
    #   ReadyForQuery, family 5: maps of statements
    make_tables(CLIENTS)
    kinds, settings = MODES[mode]
    p = pooler({"p0": ""}, query_wait_notify=0, **settings)
    runner = Runner((cluster().port, p.port), "app", "p0",
                    mode != "session")
    crew = Crew(runner, kinds, SEED, COUNT)
    crew.run()
    assert not crew.error, crew.error
    if crew.found:
        pytest.fail("\n".join(report(runner, *f) for f in crew.found))
    crew.check(COUNT)
