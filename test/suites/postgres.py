# postgres.py - PostgreSQL's own suites: regress, isolation, libpq_pipeline.
# SPDX-License-Identifier: ISC
import os
import re
import shutil
import zlib

import arena
import fetch
import harness

# those that need nothing of test_setup, which needs regress.so
SHORT_REGRESS = """boolean uuid enum txid advisory_lock combocid lock
domain prepared_xacts money""".split()
SHORT_ISOLATION = """read-only-anomaly simple-write-skew lock-update-delete
deadlock-simple nowait skip-locked temp-schema-cleanup""".split()
SHORT_PIPELINE = """nosync pipeline_abort prepared simple_pipeline
singlerow""".split()
HERE = os.path.dirname(os.path.abspath(__file__))
DONE = re.compile(
    r"^(?:test\s+| {5})(\S+)\s+\.\.\.\s+(ok|FAILED|failed \(ignored\))", re.M)
DIFF = re.compile(r"^diff .*/(\S+)\.out \S+\n---.*\n\+\+\+.*\n", re.M)
ROWS = "700"


def fetch_source(folder):
    if os.path.isdir(folder):
        return
    version = fetch.installed("postgresql-15")
    fetch.debian_source("postgresql-15", version, folder)


def build(folder):
    """What the server loads for regress."""
    done = os.path.join(folder, "built")
    if os.path.exists(done):
        return
    fetch.command("./configure", "-q", "--without-readline", "--without-zlib",
                  cwd=folder, CFLAGS="-O0")
    for target in (["-C", "src/backend", "generated-headers"],
                   ["-C", "src/test/regress"]):
        fetch.command("make", "-s", *target, cwd=folder)
    open(done, "w").close()


def prepare(folder):
    fetch_source(folder)
    build(folder)


def prepare_isolation(folder):
    fetch_source(folder)
    shim = os.path.join(folder, "backend_pid.so")
    if not os.path.exists(shim):
        fetch.command("cc", "-shared", "-fPIC", "-O1", "-o", shim,
                      "-I/usr/include/postgresql",
                      os.path.join(HERE, "backend_pid.c"), "-lpq")


def program(name):
    """One that tests, of PostgreSQL's package for clients."""
    path = os.path.join(os.path.dirname(harness.pg_bin("psql")),
                        "../lib/pgxs/src/test", name)
    if not os.path.exists(path):
        raise fetch.Missing("there is no %s here" % os.path.basename(name))
    return path


def prepare_pipeline(folder):
    """This one needs no more than some files of the source, and libpq: a
    matter of seconds."""
    fetch_source(folder)
    if os.path.exists(os.path.join(folder, "libpq_pipeline")):
        return
    source = os.path.join(folder, "src")
    headers = os.path.join(folder, "pipeline-headers")
    shutil.copytree(os.path.join(source, "include"), headers,
                    ignore=shutil.ignore_patterns("pg_config*.h"))
    # in the source as it is published, made already
    shutil.copy(os.path.join(source, "backend/catalog/pg_type_d.h"),
                os.path.join(headers, "catalog"))
    fetch.command(
        "cc", "-O1", "-w", "-DFRONTEND", "-D_GNU_SOURCE", "-o",
        "libpq_pipeline", "-I" + headers, "-I/usr/include/postgresql",
        *["-I%s/%s" % (source, path) for path in (
            "interfaces/libpq", "port")],
        *["%s/%s.c" % (source, path) for path in (
            "test/modules/libpq_pipeline/libpq_pipeline",
            "common/fe_memutils", "common/psprintf", "port/snprintf",
            "port/strerror")], "-lpq", cwd=folder)


def make_database(place, name, options):
    """As pg_regress makes it; what it asks for at login by PGOPTIONS is lost
    on the way through the reference."""
    place.pg.sql('create database "%s" template template0' % name)
    for key, value in (("lc_messages", "C"), ("lc_monetary", "C"),
                       ("lc_numeric", "C"), ("lc_time", "C"),
                       ("bytea_output", "hex"),
                       ("timezone_abbreviations", "Default")):
        place.pg.sql("alter database \"%s\" set %s = '%s'"
                     % (name, key, value))
    if place.way.startswith(arena.REFERENCE):
        for key, value in options:
            place.pg.sql("alter database \"%s\" set %s = '%s'"
                         % (name, key, value))


def regress_command(place, name, folder, source):
    return [program(name), "--use-existing",
            "--inputdir=" + os.path.join(folder, source),
            "--outputdir=" + place.folder,
            "--bindir=" + os.path.dirname(harness.pg_bin("psql")),
            "--dlpath=" + os.path.join(folder, "src/test/regress"),
            "--host=" + place.host, "--port=%d" % place.port,
            "--user=" + place.user, "--max-concurrent-tests=20"]


def marks(folder):
    """{test that failed: a sum of how}"""
    path = os.path.join(folder, "regression.diffs")
    if not os.path.exists(path):
        return {}
    parts = DIFF.split(harness.read(path).decode(errors="replace"))
    return {name: " %08x" % zlib.crc32(part.encode())
            for name, part in zip(parts[1::2], parts[2::2])}


def outcomes(text, folder):
    """What fails in another way is another outcome."""
    how = marks(folder)
    return {name: "ok" if word == "ok" else "failed" + how.get(name, "")
            for name, word in DONE.findall(text)}


def regress(place, folder, short):
    make_database(place, "regression",
                  [("intervalstyle", "postgres_verbose")])
    tests = SHORT_REGRESS if short else [
        "--schedule=" + os.path.join(
            folder, "src/test/regress/parallel_schedule")]
    text = place.run(regress_command(
        place, "regress/pg_regress", folder, "src/test/regress")
        + ["--dbname=regression"] + tests, limit=3600)
    return outcomes(text, place.folder)


def isolation(place, folder, short):
    make_database(place, "isolation_regression", [])
    tests = SHORT_ISOLATION if short else [
        "--schedule=" + os.path.join(
            folder, "src/test/isolation/isolation_schedule")]
    text = place.run(regress_command(
        place, "isolation/pg_isolation_regress", folder,
        "src/test/isolation") + ["--dbname=isolation_regression"] + tests,
        limit=3600, LD_PRELOAD=os.path.join(folder, "backend_pid.so"))
    return outcomes(text, place.folder)


def pipeline(place, folder, short):
    """What it sends and gets is compared, too."""
    traces = os.path.join(folder, "src/test/modules/libpq_pipeline/traces")
    program = os.path.join(folder, "libpq_pipeline")
    found = {}
    conninfo = "host=%s port=%d user=%s dbname=%s" % (
        place.host, place.port, place.user, place.dbname)
    for name in SHORT_PIPELINE if short else place.run(
            [program, "tests"]).split():
        trace = os.path.join(place.folder, name + ".trace")
        code = place.run(["sh", "-c", '"$@"; echo "code $?"', "sh", program,
                          "-r", ROWS, "-t", trace, name, conninfo],
                         limit=120)
        found[name] = "ok" if code.endswith("code 0\n") else "failed"
        want = os.path.join(traces, name + ".trace")
        if os.path.exists(want):
            same = os.path.exists(trace) and harness.read(
                trace) == harness.read(want)
            found[name + " trace"] = "ok" if same else "failed"
    return found
