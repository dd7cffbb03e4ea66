# braces.py - reads what odyssey.conf is made of.
# SPDX-License-Identifier: ISC
import re

from facts import Fact, Facts, fail

SPACE = re.compile(r"(?:[ \t\r\n]+|#[^\n]*)*")
TOKEN = re.compile(r"""
    (?P<open>\{) | (?P<close>\}) |
    "(?P<quoted>(?:\\["\\] | \\(?!["\\]) | [^"\\\n])*)" |
    (?P<torn>") | (?P<word>[^ \t\r\n{}"\#]+) | (?P<end>\Z)""", re.X)


class Reader:
    def __init__(self, text):
        self.text = text
        self.at = 0
        self.line = 1
        self.facts = Facts()
        self.scope = ()
        self.outer = []     # of each open block: the scope around it

    def peek(self):
        """The next token, as a match of TOKEN; line is its line."""
        end = SPACE.match(self.text, self.at).end()
        self.line += self.text.count("\n", self.at, end)
        self.at = end
        return TOKEN.match(self.text, end)

    def take(self, token):
        self.at = token.end()
        if token.lastgroup == "torn":
            fail(self.line, "a string does not end")
        if token.lastgroup == "word":
            return token["word"]
        # a backslash keeps its meaning, unless a quote or another follows
        return re.sub(r'\\(["\\])', r"\1", token["quoted"])

    def enter(self, token, *names):
        self.at = token.end()
        self.outer.append(self.scope)
        self.scope += names

    def leave(self, token):
        self.at = token.end()
        if not self.outer:
            fail(self.line, "a } without a {")
        self.scope = self.outer.pop()

    def add(self, key, value, line):
        self.facts.add(Fact(self.scope, key, value, line))

    def entry(self, token):
        """`key value`, `key { }` or `key name { }`"""
        key = self.take(token)
        token = self.peek()
        if token.lastgroup == "open":
            return self.enter(token, key)
        if token.lastgroup in ("close", "end"):
            fail(self.line, "no value behind a key")
        value, line = self.take(token), self.line
        quoted, token = token.lastgroup == "quoted", self.peek()
        if token.lastgroup == "open":
            if quoted and value == "default":
                fail(self.line, "a name that without its quotes means all "
                     "others")
            return self.enter(token, key, *filter(None, [value]))
        self.add(key, value, line)
        while (token := self.peek()).lastgroup in ("quoted", "torn"):
            self.add(f"more of {key}", self.take(token), self.line)
        return None

    def read(self):
        while (token := self.peek()).lastgroup != "end":
            if token.lastgroup == "close":
                self.leave(token)
            elif token.lastgroup == "word":
                self.entry(token)
            else:
                fail(self.line, "no key where one must be")
        if self.outer:
            fail(self.line, "a { without a }")
        return self.facts


def read(text):
    """
    Facts: `key value` is one; `key { }` and `key "name" { }` are scopes of one
    and of two words. More quoted values of a key are facts of "more of KEY".
    """
    return Reader(text).read()
