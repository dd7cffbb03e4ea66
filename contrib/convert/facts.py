# facts.py - a configuration as a list: where, what, and from which line.
# SPDX-License-Identifier: ISC
import re
from typing import NamedTuple

CONTROL = re.compile("[\0-\x1f\x7f]")     # no line of an ini file has one


class Failure(Exception):
    """The file cannot be converted; the text is for its owner."""


def fail(line, why):
    raise Failure(f"line {line}: {why}")


def fits(scope, pattern):
    """Does the scope have the words of pattern, "*" for any one?"""
    return (len(scope) == len(pattern) and scope[-1:] != ("",)
            and all(want in ("*", have)
                    for have, want in zip(scope, pattern)))


class Fact(NamedTuple):
    scope: tuple    # its words: ("pools", "shop", "users", "0")
    key: str
    value: str
    line: int


class Facts:
    """In file order."""

    def __init__(self):
        self.all = []
        self._first = {}

    def __iter__(self):
        return iter(self.all)

    def __len__(self):
        return len(self.all)

    def add(self, fact):
        if any(map(CONTROL.search, (*fact.scope, fact.key, fact.value))):
            fail(fact.line, "a control character")
        self._first.setdefault((fact.scope, fact.key), fact)
        self.all.append(fact)

    def get(self, scope, key):
        """The first one, or None."""
        return self._first.get((scope, key))

    def value(self, scope, key):
        found = self.get(scope, key)
        return None if found is None else found.value
