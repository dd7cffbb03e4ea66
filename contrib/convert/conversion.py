# conversion.py - what becomes of a configuration, and what is told about it.
# SPDX-License-Identifier: ISC
#
# Who may use what is converted: never more than before. There, each user of a
# database has a password, a server and a user there. Here, the auth file is that
# of all databases, and a line of [databases] that of all its users. So each login
# needs a rule, and whom the two do not fit gets none.
import re
from typing import NamedTuple, Optional

from facts import Fact, Facts, fits

# What is made has these kinds of scopes. The keys of AUTH are users. A rule of
# logins has a database and a user, each of which may be ALL.
SETTINGS = ()
AUTH = ("auth",)
DATABASES, USERS, RULES = "databases", "users", "rules"
METHOD = "method"
ALL = ""

USER_BYTES = 128    # a longer name has no line in the auth file

# What becomes of a key.
TO_SETTING, TO_ENTRY, TO_LIMIT, LEFT_OUT, BY_CODE = range(5)


class Rule(NamedTuple):
    """
    TO_ENTRY: of the entries that the fact's scope, or a longer one, has become;
    TO_LIMIT: the same, except for 0, which means something else here.
    """
    scope: tuple                # a pattern
    key: str
    place: int
    to: Optional[str] = None    # the name here; LEFT_OUT: why
    unit: str = ""              # what is put behind a number


class Login(NamedTuple):
    """Who may log in, and how."""
    database: str               # or ALL
    user: str                   # or ALL
    method: Optional[str]       # None: nobody
    password: Optional[str]     # the file's one for the user


def is_user(name):
    """Can a rule have this name, meaning nothing else?"""
    # what begins with a slash is a regular expression in a rule
    return (name not in ("", "*") and name[0] != "/"
            and len(name.encode(errors="surrogateescape")) < USER_BYTES)


def is_entry(name):
    """Can a line of [databases] and a rule have it, too?"""
    return is_user(name) and name != "pgbouncer"


def is_one_word(name):
    """Is it the same in a list?"""
    return re.fullmatch(r"[^, \t\r\n\v\f]+", name) is not None


class Conversion:
    def __init__(self, facts):
        self.facts = facts
        self.out = Facts()
        self.routes = []    # (scope of facts, its entry, line)
        self.remarks = {}   # (line, why): key

    # --- what is told ---

    def remark(self, f, why):
        """f is not taken as it is. One setting may be that of several entries."""
        self.remarks.setdefault((f.line, why), f.key)

    def told(self):
        """(line, key, why), in the order of lines."""
        return [(line, self.remarks[line, why], why)
                for line, why in sorted(self.remarks)]

    # --- what is made ---

    def say(self, scope, key, f):
        """f's value, once only: another one is left out."""
        old = self.out.get(scope, key)
        if old is None:
            self.out.add(f._replace(scope=scope, key=key))
        elif old.value != f.value:
            self.remark(f, f"line {old.line} says another value, which counts")

    def route(self, f, name):
        """f's scope has become this line of [databases]."""
        self.routes.append((f.scope, name, f.line))

    def put_value(self, scope, rule, f):
        number = re.fullmatch("[0-9]+", f.value) and f.value != "0"
        self.say(scope, rule.to,
                 f._replace(value=f.value + rule.unit) if number else f)

    def put_entries(self, rule, f):
        """Every entry that came from f's scope, or from below it."""
        for scope, name, _ in list(self.routes):
            if scope[:len(f.scope)] == f.scope:
                self.put_value((DATABASES, name), rule, f)

    def apply(self, rule, f):
        if rule.place == TO_SETTING:
            self.put_value(SETTINGS, rule, f)
        elif rule.place == TO_LIMIT and f.value == "0":
            self.remark(f, "0 is no limit there; here a limit must be chosen, "
                        "see default_pool_size")
        elif rule.place in (TO_ENTRY, TO_LIMIT):
            self.put_entries(rule, f)
        elif rule.place == LEFT_OUT:
            self.remark(f, rule.to)

    def by_rules(self, rules):
        """Facts that no row has are left out, with a remark."""
        for f in self.facts:
            rule = next((r for r in rules
                         if r.key == f.key and fits(f.scope, r.scope)), None)
            if rule is None:
                self.remark(f, "not converted")
            else:
                self.apply(rule, f)

    # --- who gets in ---

    def agrees(self, f, name, users, keys, may_lack=()):
        """
        Does the user that f is of get to what the first user of this line of
        [databases] gets to? All its users share its server and its user there,
        which these keys of the scopes users say; one user may have one of
        may_lack and another not. Told otherwise.
        """
        first, line = next(((scope, line) for scope, entry, line in self.routes
                            if entry == name and fits(scope, users)),
                           (f.scope, f.line))
        for key in keys:
            a = self.facts.value(first, key)
            b = self.facts.value(f.scope, key)
            if a == b or (None in (a, b) and key in may_lack):
                continue
            self.remark(f, f"not let in: {key} is not that of line {line}")
            return False
        return True

    def has_password(self, login):
        """Of this database, where the auth file has one for the user."""
        return self.out.value(AUTH, login.user) in (None, login.password)

    def admit(self, f, login):
        """Let in nobody by what another database's users know."""
        method = login.method or "reject"
        if login.user != ALL and not is_user(login.user):
            self.remark(f, "not let in: no rule has such a name")
            return
        if login.method and not self.has_password(login):
            self.remark(f, "not let in: a user has one password for all "
                        "databases")
            method = "reject"
        self.say((RULES, login.database, login.user), METHOD,
                 f._replace(value=method))

    def except_all(self, rule):
        """The password of another database opens nothing else."""
        reject = Fact((), "user", "reject", rule.line)
        for user in [f.key for f in self.out if f.scope == AUTH]:
            scope = (RULES, rule.scope[1], user)
            if self.out.get(scope, METHOD) is not None:
                continue
            self.remark(reject, "users of the auth file are not let in here: "
                        "a user has one password for all databases")
            self.say(scope, METHOD, reject)

    def except_listed(self):
        """Who is in the auth file gets in by a rule of its own only."""
        for rule in list(self.out):
            if rule.scope[:1] == (RULES,) and rule.scope[2] == ALL and \
                    rule.value not in ("reject", "cert"):
                self.except_all(rule)
