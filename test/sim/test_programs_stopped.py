# test_programs_stopped.py - random programs while all stands still again and
# again, by SUSPEND and RESUME, or is taken over by another process.
# SPDX-License-Identifier: ISC
"""SIM_STOPPED is how many programs a mode runs, SIM_SEED the first one's
seed, SIM_CLIENTS how many run at once. What a client sends is cut at random,
and after some of the pieces it waits until all has stood still.
"""
import itertools
import os
import random
import threading
import zlib

import pytest

import harness
import programs
from compare import Runner
from harness import REFERENCE, TIMEOUT, cluster, wait_until
from test_programs import BLOCKS, CLIENTS, DDL, SEED, Crew, make_tables, report
from test_takeover import successor, take_over
from test_takeover_end import WORDS, kill

COUNT = int(os.environ.get("SIM_STOPPED", "12"))
OWN = {"blocks", "ddl", "own"}
MODES = {
    "session-one": (OWN, dict(pool_mode="session", default_pool_size=1)),
    "session-two": (OWN, dict(pool_mode="session", default_pool_size=2)),
    "transaction-one": (DDL, dict(default_pool_size=1)),
    "transaction-two": (BLOCKS, dict(default_pool_size=2,
                                     max_prepared_statements=2)),
}

pytestmark = pytest.mark.skipif(REFERENCE, reason="newer than that")


class Stops:
    """Runs once() again and again in a thread, until the block ends."""

    def __init__(self, once):
        self.once, self.count, self.error, self.over = once, 0, None, False
        self.changed = threading.Condition()
        self.thread = threading.Thread(target=self.loop)

    def loop(self):
        try:
            while not self.over:
                self.once()
                with self.changed:
                    self.count += 1
                    self.changed.notify_all()
        except BaseException as e:  # told to the test
            with self.changed:
                self.error = e
                self.changed.notify_all()

    def wait(self):
        """One that began afterwards is over: that is not the next."""
        with self.changed:
            until = self.count + 2
            assert self.changed.wait_for(
                lambda: self.error or self.count >= until, TIMEOUT)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over = True
        self.thread.join()


class Pace:
    """Of one program, and the same each time. One that waits for a server
    waits for all that another waits for who has it: stops, in session mode.
    """
    patience = 10 * TIMEOUT

    def __init__(self, stops, prog, share):
        self.stops, self.share = stops, share
        self.rng = random.Random(zlib.crc32(programs.show(prog).encode()))

    def pieces(self, data):
        ends = sorted(self.rng.randrange(len(data) + 1)
                      for _ in range(self.rng.choice([0, 1, 1, 2, 5])))
        return [data[a:b] for a, b in zip([0] + ends, ends + [len(data)])
                if a < b]

    def wait(self):
        if self.rng.random() < self.share:
            self.stops.wait()


class Suspending:
    share = 0.3

    def __init__(self, pooler, p, _stops):
        self.k = p.raw("admin", "pgbouncer", unix=True)

    def __call__(self):
        assert self.k.query("suspend").tags == ["SUSPEND"]
        assert self.k.query("resume").tags == ["RESUME"]


class Restarting:
    """Each process has another number of workers; before some of them take
    over one is killed that was about to, each time a bit further on.
    """
    share = 0.1

    def __init__(self, pooler, p, stops):
        self.pooler, self.p, self.stops = pooler, p, stops
        self.workers = itertools.cycle([1, 2, 4])
        self.words = itertools.cycle(
            w for word in WORDS for w in (None, None, word))

    def lose_one(self, word):
        q = successor(self.pooler, self.p, workers=next(self.workers))
        q.env.update(LD_PRELOAD=self.stops, STOP_AT=word)
        q.write()
        q.launch()
        wait_until(lambda: harness.state_of(q.proc.pid) == "T")
        kill(q)
        q.logfile.close()

    def __call__(self):
        word = next(self.words)
        if word is not None:
            self.lose_one(word)
        old, self.p = self.p, take_over(self.pooler, self.p,
                                        workers=next(self.workers))
        old.logfile.close()


@pytest.mark.parametrize("how", [Suspending, Restarting])
@pytest.mark.parametrize("mode", MODES)
def test_programs(pooler, stops, mode, how):
    """pooling.md 23: as PostgreSQL, to the byte"""
    make_tables(CLIENTS)
    kinds, settings = MODES[mode]
    p = pooler({"p0": ""}, suspend_timeout=0, server_reset_query="discard all",
               log_connections=0, log_disconnections=0, **settings)
    once = how(pooler, p, stops)
    with Stops(once) as halts:
        runner = Runner((cluster().port, p.port), "app", "p0",
                        settings.get("pool_mode") != "session",
                        lambda prog: Pace(halts, prog, how.share))
        crew = Crew(runner, kinds, SEED, COUNT)
        crew.run()
        found = [report(runner, *f) for f in crew.found]
    assert not halts.error, halts.error
    assert not crew.error, crew.error
    assert not found, "\n".join(found)
    crew.check(COUNT)
    print("%d programs, %d without an answer, %d stops" % (
        crew.ran, crew.skipped, halts.count))
