# schema.py - drivers whose statements outlive a change of the schema, or whose
# questions take two round trips.
# SPDX-License-Identifier: ISC
"""A program in schema/ reads orders of one line and answers each by one line:

  open NAME             connect
  select NAME           run `select * from t where id = $1` as the driver does
  insert NAME VALUE     insert VALUE into t.a
  begin NAME, rollback NAME
  crowd CLIENTS ROUNDS  each client asks its own questions: how many answers
                        were wrong

Connections of the program go the suite's way.  The schema is changed by a
connection that goes directly to the server, so that a pooler cannot know of it.
An outcome is "ok" if no answer was wrong and the last one was right, "refused"
if no answer was wrong and the last one was an error, or "failed" with the first
wrong answer."""
import contextlib
import glob
import os
import re
import select
import shutil
import subprocess

import arena
import cargo
import fetch
import harness
import java
import pytests

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.join(HERE, "schema")
LIB_PQ, PGX = "v1.10.9", "v5.7.6"
POSTGRES_JS, NODE_POSTGRES = "3.4.7", "8.16.3"
USES = 6		# pgjdbc prepares at the fifth
TRIES = 4		# after the change
CLIENTS, ROUNDS = 10, 100
PATIENCE = 60		# seconds for one answer
WAYS = (arena.DIRECT, arena.SESSION, arena.TRANSACTION, arena.KEPT)
TABLE = ("drop table if exists t", "create table t (id int, a int, b text)",
         "insert into t values (1, 10, 'x')")
CHANGES = {
    "names exchanged": ("alter table t rename a to c",
                        "alter table t rename b to a",
                        "alter table t rename c to b"),
    "column made anew": ("alter table t drop a",
                         "alter table t add a int default 10"),
    "column added": ("alter table t add c int default 7",),
    "column dropped": ("alter table t drop b",),
    "type": ("alter table t alter a type float4",),
    "wider type": ("alter table t alter a type bigint",),
}
LARGE = 1 << 40


class Client:
    """A program of a driver, on a suite's way."""

    def __init__(self, place, words, cwd):
        self.proc = subprocess.Popen(
            words, cwd=cwd, env=place.env(), stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            bufsize=1, start_new_session=True, **harness.as_user())

    def ask(self, *words):
        """The answer; a program that ended or hangs has given a wrong one."""
        with contextlib.suppress(BrokenPipeError):
            self.proc.stdin.write(" ".join(map(str, words)) + "\n")
        if not select.select([self.proc.stdout], [], [], PATIENCE)[0]:
            return "no answer"
        return self.proc.stdout.readline().rstrip("\n") or "it has ended"

    def close(self):
        self.proc.kill()
        self.proc.wait()
        self.proc.stdout.close()
        with contextlib.suppress(BrokenPipeError):
            self.proc.stdin.close()


def right_row(pg):
    """What a connection that knows nothing reads: a set of name=value."""
    names = pg.sql("select attname from pg_attribute where attrelid = "
                   "'t'::regclass and attnum > 0 and not attisdropped "
                   "order by attnum")
    values = pg.sql("select * from t where id = 1", db="postgres")[0]
    return {"%s=%s" % (name[0], int(value) if isinstance(value, float)
                       else value) for name, value in zip(names, values)}


def judge(answers, right):
    for said in answers:
        said = re.sub(r"\.0(?= |$)", "", said)	# pgjdbc's binary float4
        if not said.startswith("error") and \
                set(said.split()[1:]) != right:
            return "failed: %s" % said
    return "refused" if answers[-1].startswith("error") else "ok"


def change(client, pg, what, elsewhere):
    """A statement that was used before a change, on the same server
    connection or on another one."""
    pg.sql(*TABLE)
    before = right_row(pg)
    for name in ("c", "d"):
        client.ask("open", name)
    answers = [client.ask("select", "c") for _ in range(USES)]
    if judge(answers, before) != "ok":
        return "failed: before the change: %s" % answers
    pg.sql(*CHANGES[what])
    if elsewhere:
        client.ask("begin", "d")	# it has the server that was used last
    answers = [client.ask("select", "c") for _ in range(TRIES)]
    if elsewhere:
        client.ask("rollback", "d")
    return judge(answers, right_row(pg))


def widen(client, pg):
    """A parameter of a statement that was used before its column grew."""
    pg.sql(*TABLE)
    client.ask("open", "c")
    for value in range(USES):
        client.ask("insert", "c", value)
    pg.sql(*CHANGES["wider type"])
    answers = [client.ask("insert", "c", LARGE) for _ in range(TRIES)]
    stored = pg.sql("select count(*) from t where a = %d" % LARGE)[0][0]
    if stored != sum(said == "ok" for said in answers):
        return "failed: %d rows, %s" % (stored, answers)
    return "ok" if answers[-1] == "ok" else "refused"


def run(place, words, cwd):
    found = {}

    def scenario(name, what, *args):
        client = Client(place, words, cwd)
        try:
            found[name] = what(client, *args)
        finally:
            client.close()
    for what in CHANGES:
        for elsewhere in (False, True):
            scenario("%s, %s server" % (what, "another" if elsewhere else
                                        "same"), change, place.pg, what,
                     elsewhere)
    scenario("wider parameter", widen, place.pg)
    scenario("crowd", lambda client: "ok" if (said := client.ask(
        "crowd", CLIENTS, ROUNDS)) == "wrong 0" else "failed: " + said)
    return found


def suite(*drivers):
    """run() of a suite: each driver's scenarios, by its name."""
    def all_of(place, folder, short):
        cwd = place.copy(folder)
        return {"%s: %s" % (driver, name): outcome
                for driver, words in drivers
                for name, outcome in run(
                    place, [w.format(cwd=cwd) for w in words], cwd).items()}
    return all_of


def made(folder, make):
    """`folder`, made whole or not at all."""
    if os.path.isdir(folder):
        return
    fresh = folder + ".part"
    shutil.rmtree(fresh, ignore_errors=True)
    os.makedirs(fresh)
    make(fresh)
    os.rename(fresh, folder)


def copy(folder, *names):
    for name in names:
        shutil.copy(os.path.join(SOURCE, name), folder)


# --- Go ----------------------------------------------------------------------

def make_go(folder):
    copy(folder, "client.go", "go.mod")
    fetch.command("go", "get", "github.com/lib/pq@" + LIB_PQ,
                  "github.com/jackc/pgx/v5@" + PGX, cwd=folder)
    fetch.command("go", "build", "-o", "client", ".", cwd=folder)


def prepare_go(folder):
    made(folder, make_go)


run_go = suite(*[(name, ("{cwd}/client", name)) for name in (
    "lib-pq", "pgx-statement", "pgx-describe", "pgx-two-trips", "pgx-exec",
    "pgx-simple")])


# --- Python ------------------------------------------------------------------

def make_python(folder):
    copy(folder, "client.py")
    fetch.pypi_install(os.path.join(folder, "modules"),
                       "pg8000==" + pytests.PG8000)


def prepare_python(folder):
    made(folder, make_python)


run_python = suite(*[(name, (
    "/usr/bin/env", "PYTHONPATH={cwd}/modules", pytests.PYTHON,
    "{cwd}/client.py", name)) for name in (
        "asyncpg", "psycopg", "pg8000", "pg8000-prepared")])


# --- Node.js -----------------------------------------------------------------

def make_node(folder):
    copy(folder, "client.mjs")
    fetch.command("npm", "install", "--silent", "--no-save", "--prefix", folder,
                  "postgres@" + POSTGRES_JS, "pg@" + NODE_POSTGRES, cwd=folder)


def prepare_node(folder):
    made(folder, make_node)


run_node = suite(*[(name, ("node", "{cwd}/client.mjs", name)) for name in (
    "postgres.js", "postgres.js-unnamed", "pg", "pg-named")])


# --- Rust --------------------------------------------------------------------

def make_rust(folder):
    source = os.path.join(folder, "source")
    shutil.copytree(os.path.join(SOURCE, "rust"), source)
    fetch.command("cargo", "build", "-q", cwd=source, limit=3600, **cargo.LEAN)
    shutil.copy(os.path.join(source, "target/debug/client"), folder)
    shutil.rmtree(source)


def prepare_rust(folder):
    made(folder, make_rust)


run_rust = suite(*[(name, ("{cwd}/client", name)) for name in (
    "tokio-postgres", "sqlx", "sqlx-unnamed", "diesel", "diesel-unnamed")])


# --- Java --------------------------------------------------------------------

def make_java(folder):
    copy(folder, "Client.java")
    java.artifact(folder, folder, "org.postgresql:postgresql:" + java.PGJDBC)
    shutil.rmtree(os.path.join(folder, "m2"))
    os.rename(glob.glob(folder + "/postgresql-*.jar")[0], folder + "/driver.jar")
    fetch.command("javac", "Client.java", cwd=folder)


def prepare_java(folder):
    made(folder, make_java)


run_java = suite(*[("pgjdbc, prepareThreshold=%d" % n, (
    "java", "-cp", "{cwd}:{cwd}/driver.jar", "Client", str(n)))
    for n in (0, 1, 5)])
