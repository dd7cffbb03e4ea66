# java.py - suites of what Maven builds.
# SPDX-License-Identifier: ISC
import glob
import os
import shutil

import arena
import fetch
from pytests import junit

PGJDBC = "42.7.7"
CONSOLE = "1.12.2"		# JUnit's own runner, of the release PGJDBC uses
# it sends copy data until the server has been ended, which it is not: it
# looks for the connection by the process number of its login
ENDLESS = ".*[#.]lockReleaseOnCancelFailure"
# two of all classes are half of the tests, the same in some thousand ways
MANY = r"org\.postgresql\.test\.jdbc2\.(Quotation|RefCursorFetch)Test"
# where LISTEN is of some server connection, it waits for ever
LISTENS = r"org\.postgresql\.test\.jdbc2\.NotifyTest"
# a test that would wait for ever fails: what the driver has from the class path
PATIENCE = "org/postgresql/driverconfig.properties"
SHORT = ("BatchExecuteTest", "CopyTest", "ServerPreparedStmtTest")
PGJDBC_USERS = (("test", "test", "scram-sha-256"),)


def maven(folder, *words):
    fetch.command("mvn", "-q", "-B",
                  "-Dmaven.repo.local=" + os.path.join(folder, "m2"), *words,
                  cwd=folder, limit=1800)


def artifact(folder, to, name):
    """One file of Maven's central repository."""
    maven(folder, "dependency:copy", "-Dartifact=" + name,
          "-DoutputDirectory=" + to)


def prepare_pgjdbc(folder):
    if os.path.isdir(folder):
        return
    fresh = folder + ".part"
    shutil.rmtree(fresh, ignore_errors=True)
    os.makedirs(fresh)
    artifact(fresh, fresh, "org.postgresql:postgresql:%s:tar.gz:jdbc-src"
             % PGJDBC)
    source = os.path.join(fresh, "source")
    fetch.unpack(glob.glob(fresh + "/*.tar.gz")[0], source)
    os.rename(os.path.join(fresh, "m2"), os.path.join(source, "m2"))
    libraries = os.path.join(source, "lib")
    maven(source, "test-compile", "dependency:copy-dependencies",
          "-DoutputDirectory=" + libraries)
    artifact(source, source, "org.junit.platform:"
             "junit-platform-console-standalone:" + CONSOLE)
    shutil.rmtree(os.path.join(source, "m2"))
    os.rename(source, folder)
    shutil.rmtree(fresh)


def have_patience(folder):
    """A folder for the class path."""
    path = os.path.join(folder, "patience", PATIENCE)
    os.makedirs(os.path.dirname(path))
    with open(path, "w") as f:
        f.write("socketTimeout=60\n")
    return "patience"


def pgjdbc(place, folder, short):
    place.pg.sql("create database test owner test")
    place.pg.sql("create extension hstore", "create extension citext",
                 db="test")
    cwd = place.copy(folder)
    reports = os.path.join(place.folder, "reports")
    paths = ["target/classes", "target/test-classes", *[
        p for p in glob.glob(cwd + "/lib/*.jar")
        if "junit-p" not in p and "junit-j" not in p]]
    without = MANY
    if place.way in arena.FORGETFUL:
        paths.append(have_patience(cwd))
        without = "%s|%s" % (MANY, LISTENS)
    what = ["--select-class=org.postgresql.test.jdbc2." + name
            for name in SHORT] if short else \
        ["--scan-classpath=target/test-classes"]
    place.run(["java", "-Xmx1536m", "-Dbuild.properties.relative.path=.",
               "-Dtest.url.PGHOST=" + place.host,
               "-Dtest.url.PGPORT=%d" % place.port,
               "-jar", glob.glob(cwd + "/junit-platform-console-*")[0],
               "execute", "--class-path=" + ":".join(paths),
               "--exclude-methodname=" + ENDLESS, "--reports-dir=" + reports,
               "--config=junit.jupiter.extensions.autodetection.enabled=true",
               "--config=junit.jupiter.execution.timeout.default=2 m",
               "--include-classname=.*", "--exclude-classname=" + without,
               "--details=none", *what],
              cwd=cwd, limit=3600)
    found = {}
    for path in sorted(glob.glob(reports + "/*.xml")):
        found.update(junit(path))
    return found
