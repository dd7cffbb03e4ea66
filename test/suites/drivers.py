# drivers.py - suites of drivers.
# SPDX-License-Identifier: ISC
import os
import re
import shutil
import xml.etree.ElementTree as tree

import fetch

PYTHON = "/usr/bin/python3"
LIB_PQ = "v1.10.9"
PG8000 = "1.31.2"


def debian_version(package):
    """The version its makers gave it: 2.9.5-1+b1 is 2.9.5."""
    return fetch.installed(package).partition("-")[0]


def junit(path):
    """Outcomes out of what pytest writes."""
    if not os.path.exists(path):
        return {}
    found = {}
    for case in tree.parse(path).getroot().iter("testcase"):
        name = "%s.%s" % (case.get("classname"), case.get("name"))
        bad = case.find("failure") is not None \
            or case.find("error") is not None
        found[name] = "failed" if bad else \
            "skipped" if case.find("skipped") is not None else "ok"
    return found


def pytest(place, tests, cwd, *more, **env):
    xml = os.path.join(place.folder, "junit.xml")
    place.run([PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider",
               "--tb=short", "--junit-xml=" + xml, *more, *tests],
              cwd=cwd, **env)
    return junit(xml)


# --- psycopg2: the installed module, the tests of its release ----------------

def prepare_psycopg2(folder):
    version = debian_version("python3-psycopg2")
    if not os.path.isdir(folder):
        fetch.pypi_source("psycopg2", version, folder)


def psycopg2(place, folder, short):
    place.pg.sql("create database psycopg2_test",
                 "create extension hstore")
    place.pg.sql("create extension hstore", db="psycopg2_test")
    cwd = place.copy(os.path.join(folder, "tests"))
    tests = [os.path.join(cwd, "test_%s.py" % name) for name in (
        "transaction", "cursor", "with", "copy", "sql")] if short else [cwd]
    return pytest(place, tests, place.folder, PSYCOPG2_TEST_REPL_DSN="",
                  PSYCOPG2_TEST_FAST="1")


# --- asyncpg: likewise -------------------------------------------------------

def prepare_asyncpg(folder):
    version = debian_version("python3-asyncpg")
    if not os.path.isdir(folder):
        fetch.pypi_source("asyncpg", version, folder)


def asyncpg(place, folder, short):
    cwd = place.copy(os.path.join(folder, "tests"))
    tests = [os.path.join(cwd, "test_%s.py" % name) for name in (
        "execute", "prepare", "transaction", "cursor")] if short else [cwd]
    return pytest(place, tests, place.folder)


# --- pg8000: in Python alone -------------------------------------------------

def prepare_pg8000(folder):
    if os.path.isdir(folder):
        return
    fresh = folder + ".part"
    shutil.rmtree(fresh, ignore_errors=True)
    fetch.pypi_source("pg8000", PG8000, fresh, "hatchling", "versioningit")
    fetch.pypi_install(os.path.join(fresh, "modules"), "pg8000==" + PG8000,
                       "pytest-mock", "pytz", "pytest")
    os.rename(fresh, folder)


def pg8000(place, folder, short):
    place.pg.sql("create extension hstore")
    cwd = place.copy(os.path.join(folder, "test"))
    parts = ["native/test_query.py", "dbapi/test_query.py",
             "native/test_copy.py"] if short else ["dbapi", "legacy",
                                                   "native"]
    return pytest(place, [os.path.join(cwd, part) for part in parts],
                  place.folder,
                  *["--ignore=" + os.path.join(cwd, kind, "auth")
                    for kind in ("dbapi", "legacy", "native")],
                  PYTHONPATH=os.path.join(folder, "modules"))


# --- lib/pq ------------------------------------------------------------------

def prepare_lib_pq(folder):
    if not os.path.isdir(folder):
        fetch.go_module("github.com/lib/pq", LIB_PQ, folder)
    if not os.path.exists(os.path.join(folder, "pq.test")):
        fetch.command("go", "test", "-c", "-o", "pq.test", ".", cwd=folder,
                      GOFLAGS="-p=1")


GO = re.compile(r"^\s*--- (PASS|FAIL|SKIP): (\S+)", re.M)
GO_WORDS = {"PASS": "ok", "FAIL": "failed", "SKIP": "skipped"}


def lib_pq(place, folder, short):
    place.pg.sql("create database pqgotest")
    for role in ("pqgossltest", "pqgosslcert"):
        place.pg.sql("create role %s login" % role)
    cwd = place.copy(folder)
    words = [os.path.join(cwd, "pq.test"), "-test.v", "-test.timeout=15m"]
    if short:
        words.append("-test.run=Test(Query|Exec|Statement|Row|Copy|Error|"
                     "Null|Txn|Return|Bad|Simple)")
    text = place.run(words, cwd=cwd, PGSSLMODE="disable",
                     PGDATABASE="pqgotest", PQGOSSLTESTS="0")
    return {name: GO_WORDS[word] for word, name in GO.findall(text)}
