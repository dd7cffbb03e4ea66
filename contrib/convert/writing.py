# writing.py - what has been made, as the texts of files.
# SPDX-License-Identifier: ISC
import re

from conversion import ALL, AUTH, DATABASES, METHOD, RULES, SETTINGS, USERS

PLAIN = re.compile(r"[a-zA-Z0-9_.,:/*-]+")
PLAIN_NAME = re.compile(r"\*|[a-zA-Z0-9_-]+")


def quoted(text, quote):
    return quote + text.replace(quote, quote * 2) + quote


def name_of(text):
    return text if PLAIN_NAME.fullmatch(text) else quoted(text, '"')


def value_of(text):
    return text if PLAIN.fullmatch(text) else quoted(text, "'")


def section(out, kind):
    """[databases] or [users], a line for each name."""
    lines = {}
    for f in out:
        if f.scope[:1] == (kind,):
            lines.setdefault(f.scope[1], []).append(
                f" {f.key}={value_of(f.value)}")
    if lines:
        yield f"[{kind}]\n"
        for name, values in lines.items():
            yield f"{name_of(name)} ={''.join(values)}\n"
        yield "\n"


def ini(out, auth_path, hba_path):
    yield from section(out, DATABASES)
    yield from section(out, USERS)
    yield ("[pgbouncer]\nauth_type = hba\n"
           f"auth_hba_file = {hba_path}\nauth_file = {auth_path}\n")
    for f in out:
        if f.scope == SETTINGS:
            yield f"{f.key} = {f.value}\n"


def auth(out):
    yield "; user and password\n"
    for f in out:
        if f.scope == AUTH:
            yield quoted(f.key, '"') + " " + quoted(f.value, '"') + "\n"


# --- rules ---

def word(name):
    """A word of its own, which no keyword is mistaken for."""
    return "all" if name == ALL else quoted(name, '"')


def rule_lines(out, database, user, method):
    who = f"{word(database)} {word(user)}"
    # a certificate is shown over TLS, which no Unix socket has
    if method != "cert" and out.get(SETTINGS, "unix_socket_dir"):
        yield f"local {who} {method}\n"
    yield f"host {who} all {method}\n"


def database_lines(out, database, rules):
    """The rules of one database: those of all users come behind those of one."""
    for user, method in sorted(rules.items(), key=lambda r: r[0] == ALL):
        yield from rule_lines(out, database, user, method)
    if ALL not in rules:
        yield from rule_lines(out, database, ALL, "reject")


def hba(out):
    """The first rule that fits counts: those of all databases come last."""
    rules = {}      # database: user: method
    for f in out:
        if f.scope[:1] == (RULES,) and f.key == METHOD:
            rules.setdefault(f.scope[1], {})[f.scope[2]] = f.value
    yield "# who may log in to which database, and how\n"
    others = [name for name in rules if name not in ("pgbouncer", ALL)]
    for name in ("pgbouncer", *others, ALL):
        yield from database_lines(out, name, rules.get(name, {}))
