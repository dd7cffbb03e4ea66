# pytests.py - suites that pytest runs.
# SPDX-License-Identifier: ISC
import os
import re
import shutil
import xml.etree.ElementTree as tree

import fetch

PYTHON = "/usr/bin/python3"
PG8000, SQLALCHEMY, DJANGO = "1.31.2", "2.0.58", "4.2.30"
PSYCOPG = "3.2.13"		# Django wants a newer one than Debian has
TEST_LIMIT = 60			# seconds of one test


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
        while name in found:	# a class that runs once for each of its values
            name += "'"
        bad = case.find("failure") is not None \
            or case.find("error") is not None
        found[name] = "failed" if bad else \
            "skipped" if case.find("skipped") is not None else "ok"
    return found


def pytest(place, tests, cwd, *more, **env):
    """Those that fail get a second try, without the others: many look at
    the time, and a busy machine is none of their matter."""
    xml = os.path.join(place.folder, "junit.xml")
    words = [PYTHON, "-m", "pytest", "-q", "--tb=short",
             "--timeout=%d" % TEST_LIMIT, "-o", "cache_dir=" + os.path.join(
                 place.folder, "cache"),
             "-o", "junit_family=xunit1", "--junit-xml=" + xml, *more, *tests]
    place.run(words, cwd=cwd, **env)
    found = junit(xml)
    if "failed" in found.values():
        place.run(words + ["--last-failed"], cwd=cwd, **env)
        found.update(junit(xml))
    return found


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
        "transaction", "with", "copy")] if short else [cwd]
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
        "prepare", "transaction")] if short else [cwd]
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
    parts = ["native/test_query.py"] if short else ["dbapi", "legacy",
                                                    "native"]
    return pytest(place, [os.path.join(cwd, part) for part in parts],
                  place.folder,
                  *["--ignore=" + os.path.join(cwd, kind, part)
                    for kind in ("dbapi", "legacy", "native")
                    for part in ("auth", "test_benchmarks.py")],
                  PYTHONPATH=os.path.join(folder, "modules"))


# --- SQLAlchemy: its PostgreSQL dialect, by each of its drivers --------------

def prepare_sqlalchemy(folder):
    if os.path.isdir(folder):
        return
    fresh = folder + ".part"
    shutil.rmtree(fresh, ignore_errors=True)
    fetch.pypi_source("SQLAlchemy", SQLALCHEMY, fresh)
    fetch.pypi_install(os.path.join(fresh, "modules"), "greenlet",
                       "typing-extensions")
    os.rename(fresh, folder)


# asyncpg asks each new connection for its types, which takes long to compile;
# of ranges there are thousands of sums, which are the server's
SLOW = ["-k", "not RangeRoundTripTest"]


def sqlalchemy(driver):
    def run(place, folder, short):
        if driver == "asyncpg":
            place.pg.sql("alter system set jit = off",
                         "select pg_reload_conf()")
        for name in ("hstore", "citext"):
            place.pg.sql("create extension " + name)
        place.pg.sql("create schema test_schema",
                     "create schema test_schema_2")
        cwd = place.copy(folder)
        tests = ["test_on_conflict.py"] if short else [""]
        return pytest(
            place, ["test/dialect/postgresql/" + test for test in tests]
            + ([] if short else ["test/dialect/test_suite.py"]), cwd,
            # Python 3.11 cannot parse what is to be shown of a traceback out of
            # a greenlet's depth, which would end them all
            *(SLOW if driver == "asyncpg" else []), "--maxfail=100000",
            "--tb=line", "--dburi=postgresql+%s://%s@%s:%d/%s" % (
                driver, place.user, place.host, place.port, place.dbname),
            PYTHONPATH=os.path.join(folder, "modules"))
    return run


# --- Django: its tests of databases ------------------------------------------

DJANGO_TESTS = """backends basic bulk_create constraints datetimes db_functions
db_utils delete indexes inspectdb introspection model_indexes postgres_tests
queries raw_query schema select_for_update servers test_utils transaction_hooks
transactions update""".split()
DJANGO_SETTINGS = """
import os
DATABASES = {key: {
    "ENGINE": "django.db.backends.postgresql", "NAME": "postgres",
    "HOST": os.environ["PGHOST"], "PORT": os.environ["PGPORT"],
    "USER": os.environ["PGUSER"], "TEST": {"NAME": "test_" + key},
} for key in ("default", "other")}
SECRET_KEY = "tests"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
USE_TZ = False
"""
UNITTEST = re.compile(r"^(\S+ \(\S+\))(?:\n[^\n]*?)?? \.\.\. (?:.*?)"
                      r"(ok|FAIL|ERROR|skipped|expected failure)\b", re.M)
UNITTEST_WORDS = {"FAIL": "failed", "ERROR": "failed", "skipped": "skipped"}


def prepare_django(folder):
    if os.path.isdir(folder):
        return
    fresh = folder + ".part"
    shutil.rmtree(fresh, ignore_errors=True)
    fetch.pypi_source("Django", DJANGO, fresh)
    fetch.pypi_install(os.path.join(fresh, "modules"), "asgiref", "sqlparse",
                       "pytz", "psycopg==" + PSYCOPG, "typing-extensions",
                       "tzdata")
    os.rename(fresh, folder)


def django(place, folder, short):
    cwd = os.path.join(place.copy(folder), "tests")
    with open(os.path.join(cwd, "suite_settings.py"), "w") as f:
        f.write(DJANGO_SETTINGS)
    text = place.run(
        [PYTHON, "runtests.py", "--settings=suite_settings", "--parallel=1",
         "--noinput", "-v2", *(["transactions"] if short
                               else DJANGO_TESTS)], cwd=cwd, limit=3600,
        PYTHONPATH=":".join([os.path.dirname(cwd), cwd,
                             os.path.join(folder, "modules")]))
    return {name: UNITTEST_WORDS.get(word, "ok")
            for name, word in UNITTEST.findall(text)}
