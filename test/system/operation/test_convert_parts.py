# test_convert_parts.py - contrib/convert, part by part, without a process.
# SPDX-License-Identifier: ISC
import os
import random
import re
import sys

import pytest

from harness import HERE, ROOT

sys.path.insert(0, os.path.join(ROOT, "contrib", "convert"))
try:
    import braces
    import facts
    import odyssey
    import pgcat
    import tables
    import writing
finally:
    del sys.path[0]

SAMPLES = [os.path.join(HERE, "convert", name) for name in (
    "pgcat.toml", "pgcat", "odyssey.conf", "odyssey", "names")]


def said(read, text):
    """scope/key=value@line of each fact, or what is wrong"""
    try:
        return " ".join(f"{'.'.join(f.scope)}/{f.key}={f.value}@{f.line}"
                        for f in read(text))
    except facts.Failure as e:
        return f"!{e}"


@pytest.mark.parametrize("text,want", [
    ("", ""),
    ("# nothing", ""),
    ("a 1", "/a=1@1"),
    ('a "x y" # c\nb no', "/a=x y@1 /b=no@2"),
    ('listen { host "*" port 6432 }', "listen/host=*@1 listen/port=6432@1"),
    ('database "shop" {\n user default {\n  pool "session"\n }\n}\na 1',
     "database.shop.user.default/pool=session@3 /a=1@6"),
    ('a "\\"q\\" \\d"', '/a="q" \\d@1'),
    ('a "\\\\"', "/a=\\@1"),
    ('a "x" "y"\nb 1', "/a=x@1 /more of a=y@1 /b=1@2"),
    ('a "#{}"', "/a=#{}@1"),
    ("a", "!line 1: no value behind a key"),
    ("a {", "!line 1: a { without a }"),
    ("a 1\n}", "!line 2: a } without a {"),
    ('"a" 1', "!line 1: no key where one must be"),
    ('a "x', "!line 1: a string does not end"),
    ('a "x\\"', "!line 1: a string does not end"),
    ('a "x" "y', "!line 1: a string does not end"),
    ('a "\x01"', "!line 1: a control character"),
    ("b 1\na \x1f { }", "/b=1@1"),
    ("a \x1f { b 1 }", "!line 1: a control character"),
])
def test_braces_are_read_or_refused(text, want):
    assert said(braces.read, text) == want


@pytest.mark.parametrize("text,want", [
    ("", ""),
    ("# nothing", ""),
    ("a = 1", "/a=1@1"),
    ('\n[t] # c\na = "x" # c\n', "t/a=x@3"),
    ("[a.b]\nc = true", "a.b/c=true@2"),
    ("[a.\"b c\".'d']\ne.f = 1", "a.b c.d.e/f=1@2"),
    ("a = 15_000\r\nb = -1.5", "/a=15000@1 /b=-1.5@2"),
    ("a = 1.50_0", "/a=1.500@1"),
    ('a = "\\"q\\"\\\\"', '/a="q"\\@1'),
    ('a = "\\u0041"', "/a=A@1"),
    ("a = 'it\\n'", "/a=it\\n@1"),
    ('a = [["h", 1],\n # c\n ["i", 2,],]', "/a=h@1 /a=1@1 /a=i@3 /a=2@3"),
    ("a = [ # [[\n['h',\n1], \"]\", {b = 2},\n\n 3]\nc = 4",
     "/a=h@2 /a=1@3 /a=]@3 a/b=2@3 /a=3@5 /c=4@6"),
    ('a = { b = 1, "c" = { d = "x" } }', "a/b=1@1 a.c/d=x@1"),
    ("a = []", ""),
    ('a = """x"""\nb = 1', "/a=x@1 /b=1@2"),
    ("[a.b]\nc = 1\n[d]\ne = 2\n[a]\nf = 3", "a.b/c=1@2 d/e=2@4 a/f=3@6"),
    ('a = """\nx\ny"""', "!line 3: a control character"),
    ('a = "\\n"', "!line 1: a control character"),
    ("[[a]]", "!line 1: an array of tables"),
    ("a = \"" + "x" * 5000 + "\"", "/a=" + "x" * 5000 + "@1"),
])
def test_tables_are_read_or_refused(text, want):
    assert said(tables.read, text) == want


@pytest.mark.parametrize("text,line", [
    ("a", 1), ("\na =", 2), ("a = 1 2", 1), ('a = "x', 1), ("a = [1", 1),
    ("b = 1\na = { b = 1", 2), ("[a", 1), ("= 1", 1), ("a = 1\na = 2", 2),
    ("a = \udce4", 1), ("a = " + "[" * 9999, 1), ("[a]\n[a]", 2)])
def test_what_is_no_toml_is_refused(text, line):
    """with its line"""
    assert said(tables.read, text).startswith(f"!line {line}: ")


def test_facts_keep_the_first_of_a_name():
    found = facts.Facts()
    for value in ("one", "two"):
        found.add(facts.Fact(("a", "b"), "k", value, 7))
    assert found.value(("a", "b"), "k") == "one" and len(found) == 2
    assert found.get(("a",), "k") is None
    for f in ((("a",), "k", "one\n[users]"), (("a",), "\x7f", "v"),
              (("a\n",), "k", "v")):
        with pytest.raises(facts.Failure):
            found.add(facts.Fact(*f, 1))
    assert len(found) == 2


def test_scopes_fit_patterns_word_by_word():
    for scope in ((), ("a", "b")):
        assert facts.fits(scope, scope)
    assert facts.fits(("a", "b"), ("a", "*"))
    assert facts.fits(("a", "b"), ("*", "b"))
    for scope, pattern in ((("a", "b"), ("a",)), (("a",), ("a", "b")),
                           (("a",), ("a", "*")), (("ab",), ("a",)),
                           ((), ("*",)), (("a", ""), ("a", "*"))):
        assert not facts.fits(scope, pattern)


# --- nobody gets more than before: what is made, against what was there ----

NAMES = ["shop", "a", "ann", "bob", "default", "pgbouncer", "*", "/x", "a b",
         "a,b", "it's", 'x"y', "n" * 128, "a_1", "a_ro", "all", ""]
PASSWORDS = ["x", "y", 'say "it"', "it's"]


def quote(text):
    return '"%s"' % text.replace('"', '\\"')


def some(rng, rows, chance=0.6):
    return [row for row in rows if rng.random() < chance]


def pgcat_text(rng):
    def name():
        return quote(rng.choice(NAMES if rng.random() < 0.3 else NAMES[:4]))

    text = ["[general]"] + some(rng, [
        f"admin_username = {name()}", "admin_password = 'x'", "port = 6432",
        "server_tls = true", "idle_timeout = 30_000"])
    for pool in sorted({name() for _ in range(3)}):
        text += [f"[pools.{pool}]", "pool_mode = 'session'"]
        for n in range(rng.randrange(4)):
            text += [f"[pools.{pool}.users.{n}]"] + some(rng, [
                f"username = {name()}",
                f"password = {quote(rng.choice(PASSWORDS))}",
                f"server_username = {name()}",
                f"server_password = {quote(rng.choice(PASSWORDS))}",
                "statement_timeout = 1"], 0.8)
        for n in range(rng.randrange(3)):
            text += [f"[pools.{pool}.shards.{n}]", "servers = [%s]" % ", ".join(
                f"['h{i}', 543{rng.randrange(2)}, "
                f"'{rng.choice(['primary', 'replica'])}']"
                for i in range(rng.randrange(1, 3))), f"database = {name()}"]
    return "\n".join(text)


def odyssey_text(rng):
    def name():
        found = rng.choice(NAMES if rng.random() < 0.3 else NAMES[:4])
        return found if found == "default" else quote(found)

    text = ['unix_socket_dir "/tmp"'] * rng.randrange(2) + [
        'storage "s" { type "remote" host "h" port 1 tls "verify_full" }',
        'storage "t" { host "i" }', 'storage "l" { type "local" }']
    for _ in range(3):
        text.append(f"database {name()} {{")
        for _ in range(rng.randrange(4)):
            method = rng.choice(["md5", "scram-sha-256", "clear_text", "cert",
                                 "none", "block"])
            text.append(f"user {name()} {{ " + " ".join(some(rng, [
                f'authentication "{method}"',
                f'storage "{rng.choice("sstl")}"',
                f"password {quote(rng.choice(PASSWORDS))}",
                'auth_query "select"', f"auth_common_name {name()}",
                f"storage_user {name()}", 'role "admin"', "pool_size 0"],
                0.7)) + " }")
        text.append("}")
    return "\n".join(text)


def pgcat_lets_in(cv, f, entry, user):
    if f.key == "admin_username" and f.scope == pgcat.GENERAL:
        return entry == "pgbouncer" and f.value == user
    return (f.key == "username" and facts.fits(f.scope, pgcat.USER)
            and f.value == user and entry.startswith(f.scope[1])
            and knows(cv, f, user)
            and leads_to(cv, f, entry, "server_username", "server_password"))


def odyssey_lets_in(cv, f, entry, user):
    how = cv.facts.value(f.scope, "authentication")
    if f.key != "storage" or not facts.fits(f.scope, odyssey.ROUTE) or \
            how in (None, "none", "block"):
        return False
    _, database, _, who = f.scope
    if odyssey.is_local(cv, f.value):
        return entry == "pgbouncer" and who == user
    return (database in (entry, "default") and who in (user, "default")
            and (how == "cert" or (who != "default" and knows(cv, f, user))
                 or cv.out.get(("auth",), user) is None)
            and leads_to(cv, f, "*" if database == "default" else entry,
                         "storage_user", "storage_password"))


def knows(cv, f, user):
    return cv.out.value(("auth",), user) in (
        None, cv.facts.value(f.scope, "password"))


def leads_to(cv, f, entry, user, password):
    """Does this user of the input get to what the entry leads to?"""
    to = ("databases", entry)
    return (cv.facts.value(f.scope, user) == cv.out.value(to, "user")
            and cv.facts.value(f.scope, password)
            == cv.out.value(to, "password"))


RULE = re.compile(r'(?:local|host) (all|"(?:[^"]|"")*") (all|"(?:[^"]|"")*") '
                  r"(?:all )?([a-z0-9-]+)")


def method_of(hba, entry, user):
    """As the first rule that fits says."""
    for line in hba[1:]:
        database, who, method = RULE.fullmatch(line).groups()
        if database in ("all", writing.quoted(entry, '"')) and \
                who in ("all", writing.quoted(user, '"')):
            return method
    return "reject"


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("reader,text_of,lets_in", [
    (pgcat, pgcat_text, pgcat_lets_in),
    (odyssey, odyssey_text, odyssey_lets_in)], ids=["pgcat", "odyssey"])
def test_who_gets_in_got_in_before(reader, text_of, lets_in, seed):
    """by the same password, to the same place; and some do"""
    rng, entered = random.Random(seed), 0
    for _ in range(60):
        cv = reader.read(text_of(rng))
        try:
            reader.convert(cv)
        except facts.Failure:
            continue
        hba = "".join(writing.hba(cv.out)).splitlines()
        entries = {"pgbouncer", "elsewhere", *(to for _, to, _ in cv.routes)}
        for entry in sorted(entries - {"*"}):
            for user in [*NAMES, "a stranger"]:
                if method_of(hba, entry, user) == "reject":
                    continue
                entered += 1
                assert any(lets_in(cv, f, entry, user) for f in cv.facts), \
                    (seed, entry, user, "\n".join(hba))
    assert entered > 20


@pytest.mark.parametrize("path", SAMPLES, ids=os.path.basename)
def test_torn_and_mixed_texts_end(path):
    """read or refused, and nothing else"""
    with open(path, encoding="utf-8") as f:
        text = f.read()
    rng = random.Random(path.rpartition("/")[2])
    words = re.findall(r'"[^"\n]*"|\w+|\s+|.', text)
    texts = [text[:n] for n in range(0, len(text), 19)]
    for _ in range(100):
        mixed = list(words)
        for _ in range(3):
            mixed[rng.randrange(len(mixed))] = rng.choice(
                words + ["", '"', "{", "}", "\x1f", "default", "[", "]"])
        texts.append("".join(mixed))
    for one in texts:
        for reader in (pgcat, odyssey):
            try:
                cv = reader.read(one)
                reader.convert(cv)
                "".join([*writing.ini(cv.out, "/auth", "/hba"),
                         *writing.auth(cv.out), *writing.hba(cv.out)])
            except facts.Failure as e:
                assert re.match(r"line [1-9]\d*: .", str(e))
