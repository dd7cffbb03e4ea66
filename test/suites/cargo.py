# cargo.py - suites of crates.
# SPDX-License-Identifier: ISC
import glob
import json
import os
import re
import shutil

import arena
import fetch
import harness

TOKIO_POSTGRES, SQLX = "0.7.18", "0.8.6"
TOKIO_FEATURES = "array-impls,with-chrono-0_4,with-serde_json-1," \
    "with-time-0_3,with-uuid-1"
TOKIO_PORT = "5433"		# written into its tests
TOKIO_USERS = (("pass_user", "password", "password"),
               ("md5_user", "password", "md5"),
               ("scram_user", "password", "scram-sha-256"))
SQLX_FEATURES = "any,macros,migrate,postgres,runtime-tokio,bigdecimal," \
    "bit-vec,chrono,ipnet,ipnetwork,json,mac_address,rust_decimal,time,uuid"
# macros asks a server while it is compiled; rustsec is about its own checks
SQLX_TESTS = ("postgres", "postgres-types", "postgres-describe",
              "postgres-derives", "postgres-error", "postgres-test-attr",
              "postgres-migrate", "postgres-query-builder")
DONE = re.compile(r"^test (\S+)(?: - should panic)? \.\.\. (ok|FAILED|ignored)",
                  re.M)
WORDS = {"ok": "ok", "FAILED": "failed", "ignored": "skipped"}
# where state is forgotten, they wait for ever: for a lock of their session's,
# for what another session was told
SQLX_SESSION = ("test_advisory_locks", "test_pg_listener_implements_acquire")
SQLX_LEFT_OUT = {arena.TRANSACTION: SQLX_SESSION,
                 # a COPY of 1 GB, which gets stuck there
                 arena.REFERENCE_TRANSACTION: (*SQLX_SESSION,
                                               "test_pg_copy_chunked")}
LIMIT = 300			# seconds of a program of tests; one may wait for ever
LEAN = {"CARGO_PROFILE_DEV_DEBUG": "0", "CARGO_INCREMENTAL": "0"}
HERE = os.path.dirname(os.path.abspath(__file__))


def crate(name, version, folder):
    """A crate with its tests, by a package that depends on it."""
    asks = folder + ".asks"
    shutil.rmtree(asks, ignore_errors=True)
    os.makedirs(asks + "/src")
    open(asks + "/src/lib.rs", "w").close()
    with open(asks + "/Cargo.toml", "w") as f:
        f.write('[package]\nname = "asks"\nversion = "0.0.0"\n'
                'edition = "2021"\n[dependencies]\n%s = { version = "=%s", '
                'default-features = false }\n' % (name, version))
    told = json.loads(fetch.command(
        "cargo", "metadata", "-q", "--format-version=1", cwd=asks,
        CARGO_TERM_COLOR="never"))
    path = next(p["manifest_path"] for p in told["packages"]
                if p["name"] == name)
    # the Rust of its makers is not ours
    shutil.copytree(os.path.dirname(path), folder,
                    ignore=shutil.ignore_patterns("rust-toolchain*"))
    shutil.rmtree(asks)


def build(folder, features, tests, **env):
    """Its test programs, each under the name of its test."""
    out = fetch.command(
        "cargo", "test", "-q", "--no-run", "--message-format=json",
        "--no-default-features", "--features=" + features,
        *["--test=" + test for test in tests], cwd=folder, limit=3600,
        CARGO_TARGET_DIR=folder + ".target", **LEAN, **env)
    os.makedirs(folder + "/programs")
    for line in out.splitlines():
        row = json.loads(line) if line.startswith("{") else {}
        if row.get("executable") and row["target"]["name"] in tests:
            shutil.copy2(row["executable"], os.path.join(
                folder, "programs", row["target"]["name"]))
    shutil.rmtree(folder + ".target")


def run(place, folder, words=(), **env):
    """Outcomes of all its programs, one test at a time: one that ends its
    server may end others' otherwise."""
    found = {}
    cwd = place.copy(folder)
    for program in sorted(glob.glob(cwd + "/programs/*")):
        text = place.run([program, "--test-threads=1", *words], LIMIT, cwd,
                         **env)
        name = os.path.basename(program)
        found.update(("%s %s" % (name, test), WORDS[word])
                     for test, word in DONE.findall(text))
    return found


# --- tokio-postgres ----------------------------------------------------------

def prepare_tokio_postgres(folder):
    if os.path.isdir(folder):
        return
    fresh = folder + ".part"
    shutil.rmtree(fresh, ignore_errors=True)
    crate("tokio-postgres", TOKIO_POSTGRES, fresh)
    build(fresh, "runtime," + TOKIO_FEATURES, ["test"])
    fetch.command("cc", "-shared", "-fPIC", "-O1", "-o",
                  fresh + "/redirect.so", os.path.join(HERE, "redirect.c"))
    os.rename(fresh, folder)


def tokio_postgres(place, folder, short):
    place.pg.sql(*["create extension " + name
                   for name in ("hstore", "citext", "ltree")])
    return run(place, folder, ["parse", "types", "binary_copy"]
               if short else [], LD_PRELOAD=folder + "/redirect.so",
               REDIRECT_FROM=TOKIO_PORT, REDIRECT_TO=str(place.port))


# --- sqlx --------------------------------------------------------------------

def set_up_sqlx(pg, folder):
    """The tables of its tests."""
    fetch.command("psql", "-X", "-q", "-h", pg.dir, "-p", str(pg.port), "-U",
                  "postgres", "-f", folder + "/tests/postgres/setup.sql")


def sqlx_url(host, port):
    return "postgres://postgres@%s:%d/postgres?sslmode=disable" % (host, port)


def prepare_sqlx(folder):
    """The crate has its tests, but not the helpers they use. Some of its tests
    ask a server at compile time what their queries return."""
    if os.path.isdir(folder):
        return
    fresh = folder + ".part"
    shutil.rmtree(fresh, ignore_errors=True)
    crate("sqlx", SQLX, fresh)
    shutil.copytree(os.path.join(HERE, "sqlx-test"), fresh + "/sqlx-test")
    with open(fresh + "/Cargo.toml", "a") as f:
        f.write('\n[dev-dependencies.sqlx-test]\npath = "sqlx-test"\n')
    pg = harness.Postgres()
    try:
        set_up_sqlx(pg, fresh)
        build(fresh, SQLX_FEATURES, SQLX_TESTS,
              DATABASE_URL=sqlx_url("127.0.0.1", pg.port))
    finally:
        pg.stop()
    os.rename(fresh, folder)


def sqlx(place, folder, short):
    set_up_sqlx(place.pg, folder)
    words = ["types", "describe"] if short else []
    words += ["--skip=" + name for name in SQLX_LEFT_OUT.get(place.way, ())]
    return run(place, folder, words,
               DATABASE_URL=sqlx_url(place.host, place.port))
