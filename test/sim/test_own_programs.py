# test_own_programs.py - each client has its own unnamed statement.
# SPDX-License-Identifier: ISC
"""Clients take turns on fewer servers. They use unnamed statements in all ways:
across Syncs, behind errors, in several pieces. Each client has a twin with a
connection of its own to PostgreSQL, and all answers are equal. SIM_OWN is how
many steps a seed takes, SIM_SEED the first seed, SIM_SEEDS how many there are.
"""
import os
import random

import pytest

import pq
from harness import REFERENCE, cluster

STEPS = int(os.environ.get("SIM_OWN", "150"))
FIRST = int(os.environ.get("SIM_SEED", "1"))
SEEDS = int(os.environ.get("SIM_SEEDS", "2"))
CLIENTS, SERVERS = 4, 2
LONG = 9000		# bytes of a text that is not kept

pytestmark = pytest.mark.skipif(REFERENCE, reason="not so there")


BAD = [pq.execute("nosuch"), pq.bind("nosuch"), pq.describe("S", "nosuch")]


class Twins:
    """A client of the pooler, and one of PostgreSQL."""

    def __init__(self, p, n, names):
        self.n, self.texts, self.names = n, 0, names
        self.conns = [p.raw(), pq.Conn(port=cluster().port).login(
            "app", database="p0")]
        self.block = False

    def text(self, pad=""):
        self.texts += 1
        return "select 'client %d, text %d', $1::text%s" % (
            self.n, self.texts, pad)

    def ask(self, r, *messages):
        """In one to three pieces; each Sync and Query has an answer."""
        data = b"".join(messages)
        said = []
        for c in self.conns:
            cuts = sorted(r.randrange(len(data)) for _ in range(r.choice(
                (0, 0, 1, 2))))
            for a, b in zip([0] + cuts, cuts + [len(data)]):
                c.send(data[a:b])
            got = []
            for _ in range(sum(m[:1] in b"SQ" for m in messages)):
                got += c.recv_until().messages
            said.append([view(*m) for m in got if m[0] not in "SN"])
        assert said[0] == said[1], [m[:40] for m in messages]
        self.block = said[1][-1][1] != b"I"
        return said[1]


def view(kind, body):
    f = pq.fields(body) if kind == "E" else {}
    return (kind, f["C"], f["M"]) if f else (kind, body)


def item(r, t):
    """A part of a batch; and does it change the statement?"""
    kind = r.random() * (1 if t.names else 0.88)
    if kind < 0.27:
        return [pq.parse(t.text(), "", r.choice(((), (25,))))], True
    if kind < 0.30:
        return [pq.parse(t.text("/*%s*/" % ("x" * LONG)))], True
    if kind < 0.36:
        return [pq.parse(r.choice(("selec", "select nosuch", "")))], True
    if kind < 0.40:
        return [pq.close("S")], True
    if kind < 0.60:
        return [pq.bind("", ("x",)), pq.execute()], False
    if kind < 0.66:
        return [pq.bind("", ("x",), "portal"), pq.describe("P", "portal"),
                pq.execute("portal", r.choice((0, 1)))], False
    if kind < 0.78:
        return [pq.describe("S")], False
    if kind < 0.81:
        return [pq.execute(r.choice(("", "portal")))], False
    if kind < 0.85:
        return [r.choice(BAD)], False
    if kind < 0.88:
        return [pq.flush()], False
    if kind < 0.93:
        return [pq.close("S", "named"), pq.parse("select 'x'", "named")], False
    return [pq.bind("named"), pq.execute()], False


def flight(r, t):
    """Batches with their Syncs; has one of them several changes?"""
    out, several = [], False
    for _ in range(r.choice((1, 1, 1, 2, 3))):
        changes = 0
        for _ in range(r.choice((1, 1, 2, 2, 3, 4))):
            messages, change = item(r, t)
            out += messages
            changes += change
        out.append(pq.sync())
        several = several or changes > 1
    return out, several


def step(r, t, may_begin):
    if r.random() < 0.1 and (t.block or may_begin):
        t.ask(r, pq.query(r.choice(("commit", "rollback", "selec") if t.block
                                   else ("begin", "begin", "select 1"))))
        return
    messages, several = flight(r, t)
    said = t.ask(r, *messages)
    # what is known elsewhere: not a long one that was used, nor, if something
    # has failed, any but the last of a batch
    if any(len(m) > LONG for m in messages) or (
            several and any(m[0] == "E" for m in said)):
        if not t.block:
            t.ask(r, pq.parse(t.text()), pq.sync())


MODES = {
    "forget": dict(), "keep": dict(session_state="keep"),
    "always": dict(session_state="keep", session_state_check="always"),
    "clean": dict(session_state="clean"),
    "cached": dict(session_state="keep", cache_unnamed_statements=1),
    "untracked": dict(max_prepared_statements=0),
    "statement": dict(pool_mode="statement"),
    "session": dict(pool_mode="session", default_pool_size=CLIENTS),
    "workers": dict(workers=2),
}


@pytest.mark.parametrize("seed", range(FIRST, FIRST + SEEDS))
@pytest.mark.parametrize("mode", MODES)
def test_unnamed_statement_is_as_on_a_connection_of_its_own(
        pooler, mode, seed):
    """pooling.md 16"""
    r = random.Random(seed)
    p = pooler(**{"default_pool_size": SERVERS, **MODES[mode]})
    twins = [Twins(p, n, mode != "untracked") for n in range(CLIENTS)]
    for _ in range(STEPS):
        t = r.choice(twins)
        step(r, t, mode != "statement" and
             not any(other.block for other in twins))
    for t in twins:
        for c in t.conns:
            c.close()
