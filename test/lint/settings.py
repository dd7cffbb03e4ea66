#!/usr/bin/python3
# settings.py - the tables of doc/book/settings.md; --fix writes them anew.
# SPDX-License-Identifier: ISC
"""They are made of pgsluice.ini(5), whose part about settings is made of
options.def (test/lint/options.py), and of what doc/spec says of PgBouncer."""
import os
import re
import sys

import lint

PAGE = "doc/book/settings.md"
MANUAL = "doc/pgsluice.ini.5.scd"
SPEC = "doc/spec/settings.md"
OPTIONS = "include/conf/options.def"
ALIASES = {"default_pool_size": "pool_size",	# the key of an entry
           "user": None}		# a key of the same name is something else
FIRST_OF_OURS = "server_login_concurrency"	# as SHOW CONFIG has them
HEAD = "| setting | type | default | also in a line of | takes effect | " \
    "in PgBouncer |\n|---|---|---|---|---|---|\n"
EFFECTS = {"Requires a restart.": "at a restart",
           "Applies to new connections.": "at the reload, for new connections"}
SETTING = re.compile(r"^\*(\w+)\* \((.*?), (?:default )?(.*)\)\n((?:\t.*\n)+)",
                     re.M)
GENERATED = re.compile(r"(?<=<!-- begin settings -->\n).*?(?=<!-- end settings)",
                       re.S)


def part(text, title):
    """What stands below a heading of the first level."""
    return re.search(rf"^# {title}\n(.*?)(?=^# )", text, re.M | re.S)[1]


def keys(text):
    """Of the entries of a section."""
    heads = re.findall(r"^(\*\w+\*(?:, \*\w+\*)*)$", text, re.M)
    return {key for head in heads for key in re.findall(r"\w+", head)}


def known_to_pgbouncer():
    """{setting: since when}"""
    names = re.findall(r"^OPTION\(\w+, (\w+)", lint.read(OPTIONS), re.M)
    later = re.findall(r"^\| `(\w+)` \*\*\[post-1\.25\.2\]", lint.read(SPEC), re.M)
    return {name: "after 1.25.2" if name in later else "1.25"
            for name in names[:names.index(FIRST_OF_OURS)]}


def default(text):
    text = text.replace("\\", "")
    return text if text in ("empty", "unset") else f"`{text}`"


def tables():
    text = lint.read(MANUAL)
    places = {"`[databases]`": keys(part(text, "DATABASES")),
              "`[users]`": keys(part(text, "USERS"))}
    theirs = known_to_pgbouncer()
    made, count = "", 0
    generated = text.partition("; optdoc: begin")[2].partition("; optdoc: end")[0]
    for group in re.split(r"^## ", generated, flags=re.M)[1:]:
        title, _, body = group.partition("\n")
        made += f"\n## {title}\n\n{HEAD}"
        for name, kind, value, what in SETTING.findall(body):
            count += 1
            key = ALIASES.get(name, name)
            also = [place for place, known in places.items() if key in known]
            alias = f" (as `{key}`)" if also and key != name else ""
            effect = [e for sign, e in EFFECTS.items() if f"\t{sign}\n" in what]
            made += f"| [{name}](../{os.path.basename(MANUAL)}#{name}) " \
                f"| {kind} | {default(value)} | {', '.join(also)}{alias} " \
                f"| {''.join(effect) or 'at the reload'} " \
                f"| {theirs.get(name, 'no')} |\n"
    return made + "\n", count


MADE, COUNT = tables()
NOW = lint.read(PAGE)
if sys.argv[1:] == ["--fix"]:
    NOW = GENERATED.sub(lambda m: MADE, NOW)
    with open(os.path.join(lint.ROOT, PAGE), "w", encoding="utf-8") as f:
        f.write(NOW)
FOUND = [] if GENERATED.search(NOW)[0] == MADE else \
    [f"{PAGE} is not up to date: {sys.argv[0]} --fix"]
if COUNT != len(re.findall(r"^OPTION\(", lint.read(OPTIONS), re.M)):
    FOUND.append(f"{MANUAL}: {COUNT} settings, {OPTIONS} has others")
lint.finish({"tables of settings": FOUND})
