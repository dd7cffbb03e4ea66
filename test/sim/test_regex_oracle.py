# test_regex_oracle.py - regular expressions of rules, made at random: whom they
# fit is whom PostgreSQL's fit.
# SPDX-License-Identifier: ISC
"""REGEX_PATTERNS=3000 REGEX_SEED=7 tries more of them. What is refused here fits
nobody; what is taken here is asked of PostgreSQL, in the locale of its rules."""
import os
import random

import pytest

import pq
from harness import REFERENCE
from test_hba import NONE

pytestmark = pytest.mark.skipif(REFERENCE, reason="newer than that")

PATTERNS = int(os.environ.get("REGEX_PATTERNS", "250"))
SEED = int(os.environ.get("REGEX_SEED", "1"))
USERS = ["a", "b", "ab", "aab", "abc", "bcd", "a1", "_", "a_b", "a.b", "a-b",
         "-", "]", "[", "^", "a^", "\\", "A", "1", "{", "a{", "d1", "a b", "/",
         "*", "$", "a$b", "ann@x.org"]
HAND = [
    "a", "^a$", "^a.$", r"\Aa\Z", "^(a|b)+$", "^a{2}b$", "^a{1,2}", "a{,2}",
    "a{x", "{", r"^\w+$", r"^[\w.-]+$", r"^[\w\.-]+$", r"^[\d_]+$", r"^[\]b]$",
    r"^[\^-]$", "^[]a]$", "^[^]a]$", "^[a[-]$", "^[a-c-]$", "^[-a]$", r"^[\\]$",
    r"^[[\.a]$", r"^[\[\]]$", "^[^-^]$", "^[[:alpha:][:digit:]]+$", r"\.\-\_",
    "]}", "a^b", "(^a|b)c", "[.]", "[$]", r"\$", "[!-~]", "a|^b$", r"\Sb",
    r"^(.*)@x\.org$", r"d\d{1,4}$",
    # what there is to refuse, or to read as PostgreSQL does
    "", "a|", "()", "(", "a)", "*a", "a**", "a*?", "(?:a)", "(?i)A", "***=a",
    r"\y", r"\m", r"\1", r"(a)\1", r"\x61", r"\n", "[", "[b-a]", r"[a-\d]",
    "[a-c-e]", "[[:foo:]]", "[[:word:]]", "[[.a.]]", "[[=a=]]", "[[:<:]]",
    r"[\D]", "a{2,1}", "a{256}", "a{0}", "[--a]", "[]-a]", "[[-a]", "^*"]
ATOMS = ["a", "b", "c", ".", r"\d", r"\w", r"\D", r"\W", "[ab]", "[^a]", "[a-c]",
         r"[\w]", "[[:alpha:]]", r"[^\d]", "[a-]", r"[\.a]", r"[\]a]", "[[]",
         r"\.", r"\-", "]", "-", "_", "^", "$", r"\B", "[[:<:]]", "{"]
QUANTIFIERS = ["*", "+", "?", "{2}", "{1,2}", "{2,}", "*?", "{,1}"]


def made(rng, depth=0):
    """As people write them, and some as nobody does."""
    branches = []
    for _ in range(rng.choice([1, 1, 1, 2])):
        branch = ""
        for _ in range(rng.choice([1, 2, 2, 3])):
            branch += "(%s)" % made(rng, depth + 1) \
                if depth < 2 and rng.random() < 0.25 else rng.choice(ATOMS)
            if rng.random() < 0.35:
                branch += rng.choice(QUANTIFIERS)
        branches.append(branch)
    text = "|".join(branches)
    if depth == 0:
        text = rng.choice(["", "^"]) + text + rng.choice(["", "$"])
    return text


class Ours:
    def __init__(self, pooler):
        self.p = pooler({"p0": "user=app"}, start=False, auth_type="hba",
                        userlist={u: "" for u in USERS + ["admin"]})
        self.p.settings["auth_hba_file"] = self.put("a")
        self.p.start()
        self.path = os.path.join(self.p.dir, ".s.PGSQL.%d" % self.p.port)
        self.console = pq.Conn(path=self.path).login(
            "admin", database="pgbouncer")

    def put(self, pattern):
        return self.p.put("hba.conf", "local pgbouncer admin trust\n"
                          'local all "/%s" trust\n' % pattern)

    def takes(self, pattern):
        self.put(pattern)
        return not self.console.try_query("reload").errors

    def fits(self, user):
        conn = pq.Conn(path=self.path)
        conn.send(pq.startup({"user": user, "database": "p0"}))
        kind, body = conn.recv()
        conn.abort()
        assert kind == "R" or NONE in pq.fields(body)["M"]
        return kind == "R"


def test_who_fits_fits_at_postgresql(pooler, pg):
    """and most of the usual ones are taken"""
    rng = random.Random(SEED)
    patterns = HAND + [made(rng) for _ in range(PATTERNS)]
    ours, taken, fitting = Ours(pooler), 0, 0
    for pattern in patterns:
        if not ours.takes(pattern):
            continue
        taken += 1
        users = rng.sample(USERS, 6)
        want = {user for user, in pg.sql(
            "select u from unnest(%s::text[]) u where "
            'u collate "C" ~ %s collate "C"', args=(users, pattern))}
        found = {user for user in users if ours.fits(user)}
        assert found == want, pattern
        fitting += len(found)
    assert taken > len(patterns) / 3 and fitting > taken / 2
