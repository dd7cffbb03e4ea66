#!/usr/bin/python3
# run.py - the suites of PostgreSQL and of its drivers, on every way.
# SPDX-License-Identifier: ISC
"""run.py [--short] [--cache DIR] [--ways WAY,...] [NAME...]: runs all suites,
or those named, and writes their sections of doc/conformance.md. With --short, a
handful of tests of each, pgsluice in session mode only, and nothing is written.
Ends with 1 when something differs for no reason that is known; see README.md.
"""
import argparse
import concurrent.futures
import dataclasses
import fnmatch
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import traceback
import typing

import arena
import cargo
import fetch
import go
import harness
import java
import postgres
import pytests
import schema

HERE = os.path.dirname(os.path.abspath(__file__))
REPORT = os.path.join(harness.ROOT, "doc", "conformance.md")
TREES = "trees"			# in a file of results, beside the ways
ENDED = "ended"			# of the reference, in the place of its tests
FATAL = re.compile(r"FATAL (?:@\S+ in function \S+: )?(.+)")
NAMED = 12		# differences of the reference that are worth a name
INTRODUCTION = """# Conformance

The suites of PostgreSQL and of its drivers, as they come, run directly and
through a pooler; `./bootstrap suites` wrote this, see
[test/suites](../test/suites/README.md). A test *differs* when its outcome is
not the one of the direct run. "reference" is Debian's package pgbouncer, in
session mode and in transaction mode, by the same settings. "tree" is the last
commit to the program before the way was run; where it is empty, an older one.
Of the suites about changes of the schema, the tests that are neither ok nor
failed were refused: the last answer was an error, and no answer was wrong.

"""


@dataclasses.dataclass
class Suite:
    """A row of the table below."""
    name: str
    title: str
    source: str			# what folder it is made in; some share one
    prepare: typing.Callable	# (folder): fetch and build, unless it is there
    run: typing.Callable	# (place, folder, short) -> {test: outcome}
    ways: tuple = arena.ALL
    users: tuple = ()		# who log in with a password
    # what is needed for --short, in seconds; None: prepare() takes no longer
    glance: typing.Callable | None = None


SUITES = (
    Suite("regress", "PostgreSQL's regression tests", "postgresql",
          postgres.prepare, postgres.regress, arena.STATES,
          glance=postgres.fetch_source),
    Suite("isolation", "PostgreSQL's isolation tests", "postgresql",
          postgres.prepare_isolation, postgres.isolation, arena.SESSIONS),
    Suite("libpq_pipeline", "PostgreSQL's tests of libpq's pipelines",
          "postgresql", postgres.prepare_pipeline, postgres.pipeline),
    Suite("psycopg2", "psycopg2", "psycopg2", pytests.prepare_psycopg2,
          pytests.psycopg2),
    Suite("asyncpg", "asyncpg", "asyncpg", pytests.prepare_asyncpg,
          pytests.asyncpg),
    Suite("pg8000", "pg8000", "pg8000", pytests.prepare_pg8000,
          pytests.pg8000),
    Suite("sqlalchemy-psycopg2", "SQLAlchemy's PostgreSQL dialect, psycopg2",
          "sqlalchemy", pytests.prepare_sqlalchemy,
          pytests.sqlalchemy("psycopg2")),
    Suite("sqlalchemy-asyncpg", "SQLAlchemy's PostgreSQL dialect, asyncpg",
          "sqlalchemy", pytests.prepare_sqlalchemy,
          pytests.sqlalchemy("asyncpg")),
    Suite("sqlalchemy-psycopg", "SQLAlchemy's PostgreSQL dialect, psycopg 3",
          "sqlalchemy", pytests.prepare_sqlalchemy,
          pytests.sqlalchemy("psycopg")),
    Suite("django", "Django's tests of databases, psycopg 3", "django",
          pytests.prepare_django, pytests.django),
    Suite("lib-pq", "lib/pq", "lib-pq", go.prepare_lib_pq, go.lib_pq),
    Suite("pgjdbc", "pgjdbc", "pgjdbc", java.prepare_pgjdbc, java.pgjdbc,
          users=java.PGJDBC_USERS, glance=fetch.at_hand),
    Suite("tokio-postgres", "tokio-postgres", "tokio-postgres",
          cargo.prepare_tokio_postgres, cargo.tokio_postgres,
          users=cargo.TOKIO_USERS, glance=fetch.at_hand),
    Suite("sqlx", "sqlx", "sqlx", cargo.prepare_sqlx, cargo.sqlx,
          glance=fetch.at_hand),
    Suite("schema-go", "lib/pq and pgx through changes of the schema",
          "schema-go", schema.prepare_go, schema.run_go, schema.WAYS,
          glance=fetch.at_hand),
    Suite("schema-python", "asyncpg, psycopg and pg8000 through changes of the "
          "schema", "schema-python", schema.prepare_python, schema.run_python,
          schema.WAYS, glance=fetch.at_hand),
    Suite("schema-node", "postgres.js and node-postgres through changes of the "
          "schema", "schema-node", schema.prepare_node, schema.run_node,
          schema.WAYS, glance=fetch.at_hand),
    Suite("schema-rust", "tokio-postgres, sqlx and Diesel through changes of "
          "the schema", "schema-rust", schema.prepare_rust, schema.run_rust,
          schema.WAYS, glance=fetch.at_hand),
    Suite("schema-java", "pgjdbc through changes of the schema", "schema-java",
          schema.prepare_java, schema.run_java, schema.WAYS,
          glance=fetch.at_hand),
)


def read_reasons(name):
    """[(way, pattern of tests, why)] of a suite, or of those of one source."""
    path = os.path.join(HERE, "reasons", name)
    if not os.path.exists(path):
        return []
    with open(path) as f:
        rows = [line.strip().split(": ", 1) for line in f
                if line.strip() and not line.startswith("#")]
    return [(*head.split(" ", 1), why) for head, why in rows]


def reason(reasons, way, test):
    for ways, pattern, why in reasons:
        if way in ways.split(",") and fnmatch.fnmatchcase(test, pattern):
            return why
    return None


def differences(direct, found):
    """[(test, outcome directly, outcome here)]"""
    return [(test, direct.get(test, "not run"), found.get(test, "not run"))
            for test in sorted(direct.keys() | found.keys())
            if direct.get(test) != found.get(test)]


def word(outcome):
    """Without how it failed, which some suites have behind it."""
    return "failed" if outcome.startswith("failed") else outcome


def count(found, what):
    return sum(word(outcome) == what for outcome in found.values())


def tree():
    """What is run: its last commit, with the day."""
    try:
        return subprocess.run(
            ["git", "log", "-1", "--format=%cs %h", "--", "include", "src"],
            cwd=harness.ROOT, stdout=subprocess.PIPE, check=True,
            text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return time.strftime("%Y-%m-%d")	# a release has no commits


def table(results, trees):
    lines = ["| way | tests | ok | failed | skipped | differ | tree |",
             "|---|---|---|---|---|---|---|"]
    direct = results[arena.DIRECT]
    for way, found in results.items():
        if ENDED in found:
            lines.append("| %s | ended | | | | | %s |" % (
                way, trees.get(way, "")))
            continue
        counts = [len(found)] + [count(found, what) for what in (
            "ok", "failed", "skipped")]
        differ = "" if way == arena.DIRECT else len(
            differences(direct, found))
        lines.append("| %s | %d | %d | %d | %d | %s | %s |" % (
            way, *counts, differ, trees.get(way, "")))
    return lines


def explain_direct(reasons, direct):
    """Lines about what fails without a pooler, and hides what differs."""
    failed = [(test, reason(reasons, arena.DIRECT, test))
              for test in sorted(direct) if word(direct[test]) == "failed"]
    if not any(why for _, why in failed):
        return []
    return ["", "| fails directly | why |", "|---|---|"] + [
        "| `%s` | %s |" % (test.replace("|", "\\|"), why or "")
        for test, why in failed]


def explain(suite, results):
    """Lines about what differs, and how much of it nobody can explain."""
    names, unexplained = dict.fromkeys((suite.name, suite.source)), 0
    reasons = [row for name in names for row in read_reasons(name)]
    direct = results[arena.DIRECT]
    lines = explain_direct(reasons, direct)
    for way, found in results.items():
        if ENDED in found:
            lines += ["", "%s: it ended amid the suite, `%s`." % (
                way.capitalize(), found[ENDED])]
            continue
        differ = differences(direct, found) if way != arena.DIRECT else []
        if not differ:
            continue
        if way not in arena.OURS:
            names = ["`%s`" % test for test, _, _ in differ]
            more = len(names) - NAMED
            lines += ["", "%s: %s%s" % (
                way.capitalize(), ", ".join(names[:NAMED]),
                " and %d more" % more if more > 0 else "")]
            continue
        lines += ["", "| %s | directly | here | why |" % way,
                  "|---|---|---|---|"]
        for test, before, here in differ:
            why = reason(reasons, way, test)
            unexplained += why is None
            lines.append("| `%s` | %s | %s | %s |" % (
                test.replace("|", "\\|"), word(before), word(here),
                why or "**unexplained**"))
    return lines, unexplained


def run_way(suite, ground, way, args):
    """{test: outcome}"""
    begun = time.monotonic()
    try:
        with ground.place(way, suite.users) as place:
            found = suite.run(place, os.path.join(args.cache, suite.source),
                              args.short)
    except (RuntimeError, AssertionError) as e:
        # a pooler that ends badly is what must not be overlooked
        traceback.print_exc()
        found = {"(the way itself)": "failed"}
        if isinstance(e, arena.Ended) and way not in arena.OURS:
            found = {ENDED: (FATAL.findall(str(e)) or ["no word"])[-1]}
    print("%-20s%-24s%5d tests, %d failed, %.0f s" % (
        suite.name, way, len(found), count(found, "failed"),
        time.monotonic() - begun), flush=True)
    return found


def compare_short(suite, ground, args):
    """{way: {test: outcome}}; what is right needs no comparison."""
    found = run_way(suite, ground, arena.SESSION, args)
    if found and not count(found, "failed"):
        return {arena.DIRECT: found, arena.SESSION: found}
    print("once more, and directly: " + suite.name, flush=True)
    return {way: run_way(suite, ground, way, args)
            for way in (arena.DIRECT, arena.SESSION)}


def run_suite(suite, ground, args):
    """({way: {test: outcome}}, {way: tree}); what is not asked for is as it
    was last time, and what is stays so until it is there."""
    path = os.path.join(args.cache, "results", suite.name)
    kept = {}
    if os.path.exists(path):
        with open(path) as f:
            kept = json.load(f)
    trees = kept.pop(TREES, {})
    for way in suite.ways:
        if args.ways and way not in args.ways:
            continue
        kept[way] = run_way(suite, ground, way, args)
        trees[way] = tree()
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as f:
            json.dump({**kept, TREES: trees}, f, indent=0)
    return {way: kept[way] for way in suite.ways if way in kept}, trees


def read_report():
    """{suite: its section}"""
    if not os.path.exists(REPORT):
        return {}
    with open(REPORT) as f:
        parts = re.split(r"^## (\S+)\n", f.read(), flags=re.M)
    return {name: text.strip("\n") for name, text in zip(
        parts[1::2], parts[2::2])}


def write_report(sections):
    with open(REPORT, "w") as f:
        f.write(INTRODUCTION + "\n\n".join(
            "## %s\n\n%s" % (s.name, sections[s.name]) for s in SUITES
            if s.name in sections) + "\n")


def count_same(results):
    """How many tests came out as directly, on ways through pgsluice."""
    direct = results[arena.DIRECT]
    return sum(len(found) - len(differences(direct, found))
               for way, found in results.items() if way in arena.OURS)


def run_one(suite, ground, args):
    """(tests as they are directly, differences nobody can explain)"""
    results, trees = (compare_short(suite, ground, args), {}) if args.short \
        else run_suite(suite, ground, args)
    if not results.get(arena.DIRECT):
        raise fetch.Missing("its direct run has no results")
    lines, bad = explain(suite, results)
    if bad or args.short:
        print("\n".join(line for line in lines if line), flush=True)
    if not args.short:
        sections = read_report()
        sections[suite.name] = "\n".join(
            [suite.title + ".", ""] + table(results, trees) + lines)
        write_report(sections)
    return count_same(results), bad


def prepare(suites, args):
    """Fetch and make all of a folder, one after the other; why not, or None"""
    try:
        for suite in suites:
            make = args.short and suite.glance or suite.prepare
            make(os.path.join(args.cache, suite.source))
    except fetch.Missing as e:
        return e
    return None


def prepare_all(suites, args):
    """{folder: why there is none, or None}; --short fetches all at a time"""
    sources = {}
    for suite in suites:
        sources.setdefault(suite.source, []).append(suite)
    with concurrent.futures.ThreadPoolExecutor(
            len(sources) if args.short else 1) as threads:
        return dict(zip(sources, threads.map(
            lambda users: prepare(users, args), sources.values())))


def run_all(suites, ground, args):
    """Sums of run_one(), and how many suites were skipped."""
    same = unexplained = skipped = 0
    missing = prepare_all(suites, args)
    for suite in suites:
        try:
            if missing[suite.source]:
                raise missing[suite.source]
            good, bad = run_one(suite, ground, args)
        except fetch.Missing as e:
            print("%-20sskipped: %s" % (suite.name, e), flush=True)
            skipped += 1
            continue
        same += good
        unexplained += bad
    return same, unexplained, skipped


def find_reference(cache):
    """The program, fetched when it is not installed; it is run, not read."""
    path = shutil.which("pgbouncer", path="/usr/sbin:/usr/bin") or \
        os.path.join(cache, "pgbouncer")
    if not os.path.exists(path):
        fetch.debian_program("pgbouncer", "usr/sbin/pgbouncer", path)
    return path


def main():
    names = [s.name for s in SUITES]
    parser = argparse.ArgumentParser(prog="run.py")
    parser.add_argument("--short", action="store_true",
                        help="a handful of tests of each")
    parser.add_argument("--cache", help="where to keep what was fetched and "
                        "built; without it, nothing is kept")
    parser.add_argument("--ways", type=lambda text: text.split(","),
                        help="run only these, with commas between; the "
                        "others' results are taken from the cache")
    parser.add_argument("names", nargs="*", metavar="NAME",
                        help=", ".join(names))
    args = parser.parse_args()
    # what was started is ended whatever ends this
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    for name in args.names:
        if name not in names:
            parser.error("no such suite: %s" % name)
    scratch = harness.make_tmp()
    args.cache = os.path.abspath(args.cache or os.path.join(
        scratch, "cache"))
    os.makedirs(args.cache, exist_ok=True)
    ground = None
    try:
        ground = arena.Arena(harness.binary(), None if args.short else
                             find_reference(args.cache))
        same, unexplained, skipped = run_all(
            [s for s in SUITES if not args.names or s.name in args.names],
            ground, args)
    finally:
        if ground:
            ground.close()
        harness.shutdown()
        shutil.rmtree(scratch, ignore_errors=True)
    print("%d passed, %d failed, %d skipped" % (same, unexplained, skipped))
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
