"""Where the study happens: PostgreSQL, a pooler in front, and who watches.

SPDX-License-Identifier: ISC
"""
import collections
import os
import shutil
import subprocess
import sys
import threading
import time

import psycopg

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "bench"))

import proc
import stand

USER, PASSWORD = "app", "secret"
MAX_CONNECTIONS = 100
NODE_LIMIT = 600        # seconds for one command
SAMPLE = 0.25           # seconds between two looks at the server

PG_CONF = """
listen_addresses = '127.0.0.1'
port = {port}
unix_socket_directories = '{dir}'
max_connections = {max_connections}
fsync = off
"""

HBA = """
host all {user} 127.0.0.1/32 scram-sha-256
local all all trust
host all all 127.0.0.1/32 trust
"""

# An order of each kind for every customer.
ROWS = """
insert into "Customer" (email)
    select 'customer' || n || '@shop.example' from generate_series(1, {n}) n;
insert into "Order" (item, price, "customerId")
    select 'item ' || n, n % 90 + 0.25, 1 + n % {n}
    from generate_series(1, 10 * {n}) n;
analyze
"""

Way = collections.namedtuple("Way", "name label pooler settings")

WAYS = (
    Way("direct", "direct", None, ""),
    Way("pgbouncer", "pgbouncer", "pgbouncer", ""),
    Way("transaction", "pgsluice", "pgsluice", ""),
    Way("keep", "pgsluice, keep", "pgsluice", "session_state = keep\n"),
)


def ticks(pid):
    """CPU time of a process and of all that it started, in seconds."""
    total = 0
    for p in proc.tree(pid):
        try:
            with open(f"/proc/{p}/stat") as f:
                fields = f.read().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        total += sum(int(n) for n in fields[11:15 if p == pid else 13])
    return total / os.sysconf("SC_CLK_TCK")


class Place(stand.Stand):
    """PostgreSQL as it comes, but for max_connections; and Prisma."""

    def __init__(self, binaries):
        super().__init__()
        self.binaries = binaries

    def start_postgres(self, port=0):
        self.pg_port = port or stand.free_port()
        data = self.path("data")
        self.call([os.path.join(self.pg_bin, "initdb"), "-D", data, "-U",
                   "bench", "-A", "trust", "-E", "UTF8", "--no-sync"],
                  "initdb")
        with open(os.path.join(data, "postgresql.conf"), "a") as f:
            f.write(PG_CONF.format(port=self.pg_port, dir=self.dir,
                                   max_connections=MAX_CONNECTIONS))
        with open(os.path.join(data, "pg_hba.conf"), "w") as f:
            f.write(HBA.format(user=USER))
        self.spawn("postgres",
                   [os.path.join(self.pg_bin, "postgres"), "-D", data])
        self.wait_ready("postgres", self.pg_port, "postgres")
        self.sql("postgres", f"create role {USER} login createdb "
                 f"password '{PASSWORD}'")

    def sql(self, database, *texts):
        with psycopg.connect(host="127.0.0.1", port=self.pg_port,
                             user="bench", dbname=database,
                             autocommit=True) as db:
            for text in texts:
                db.execute(text)

    def count(self, text):
        with psycopg.connect(host="127.0.0.1", port=self.pg_port,
                             user="bench", dbname="postgres") as db:
            return db.execute(text).fetchone()[0]

    def new_database(self, name):
        self.sql("postgres", f"drop database if exists {name} with (force)",
                 f"create database {name} owner {USER}")

    def install(self, modules):
        """What is published, and what is made of it here."""
        for name in ("prisma", "package.json", "prisma.config.ts",
                     "service.ts", "features.ts", "load.js"):
            source = os.path.join(HERE, name)
            copy = shutil.copytree if os.path.isdir(source) else shutil.copy
            copy(source, self.path(name))
        if modules:
            os.symlink(os.path.abspath(modules), self.path("node_modules"))
        else:
            # by who calls us: that one's settings lead to the registry
            subprocess.run(["npm", "install", "--ignore-scripts", "--no-audit",
                            "--no-fund", "--loglevel=error"], cwd=self.dir,
                           check=True, stdin=subprocess.DEVNULL)
        os.environ.update(HOME=self.dir, CHECKPOINT_DISABLE="1",
                          PRISMA_HIDE_UPDATE_MESSAGE="1",
                          # no engine but the one in the packages
                          PRISMA_SCHEMA_ENGINE_BINARY="/bin/true",
                          DATABASE_URL=self.url(0, "none"))
        if self.as_user:
            for folder, _, names in os.walk(self.path("prisma")):
                for path in [folder, *(os.path.join(folder, n)
                                       for n in names)]:
                    os.chown(path, self.as_user["user"],
                             self.as_user["group"])
        self.call(["node_modules/.bin/prisma", "generate"], "generate")
        for name in ("service", "features"):
            self.call(["node_modules/.bin/esbuild", name + ".ts", "--bundle",
                       "--platform=node", "--format=esm",
                       "--packages=external", f"--outfile={name}.js"],
                      "esbuild")

    def url(self, port, database):
        return f"postgresql://{USER}:{PASSWORD}@127.0.0.1:{port}/{database}"

    def start_way(self, way):
        """(port, pid) of what clients connect to; no pid without a pooler."""
        if way.pooler is None:
            return self.pg_port, None
        port, home = stand.free_port(), self.path(way.name)
        os.makedirs(home, exist_ok=True)
        copy = shutil.copy(self.binaries[way.pooler],
                           os.path.join(home, way.pooler))
        with open(os.path.join(HERE, "pooler.ini")) as f:
            ini = f.read().format(
                pg_port=self.pg_port, port=port, userlist=self.write(
                    "userlist.txt", f'"{USER}" "{PASSWORD}"\n'))
        process = self.spawn(way.name, [
            copy, self.write(way.name + ".ini", ini + way.settings)])
        self.wait_login(way.name, process, port)
        return port, process.pid

    def wait_login(self, name, process, port):
        deadline = time.monotonic() + stand.START_LIMIT
        while True:
            try:
                psycopg.connect(self.url(port, "postgres")).close()
                return
            except psycopg.OperationalError as e:
                if process.poll() is not None or time.monotonic() > deadline:
                    raise stand.StandError(f"{name} does not get ready: {e}\n"
                                           + self.tail(name))
            time.sleep(0.05)

    def node(self, url, words, limit=NODE_LIMIT):
        """(status, output) of a program, as the unprivileged user."""
        done = subprocess.run(
            words, cwd=self.dir, stdin=subprocess.DEVNULL, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=limit,
            env={**os.environ, "DATABASE_URL": url}, **self.as_user)
        return done.returncode, done.stdout

    def prisma(self, url, *words):
        return self.node(url, ["node_modules/.bin/prisma", *words])

    def fill(self, customers):
        """The shop's database, as it is before each run."""
        self.new_database("shop")
        status, text = self.prisma(self.url(self.pg_port, "shop"),
                                   "migrate", "deploy")
        if status != 0:
            raise stand.StandError("migrate deploy: " + text)
        self.sql("shop", *ROWS.format(n=customers).split(";"))


def backends(server):
    """Server processes of our clients, those that still log in included,
    which pg_stat_activity does not show, but which take a slot."""
    count = 0
    for pid in proc.tree(server)[1:]:
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                count += f.read().startswith(f"postgres: {USER} shop ".encode())
        except (FileNotFoundError, ProcessLookupError):
            continue
    return count


class Watch(threading.Thread):
    """Looks at the server and at the pooler all the time."""

    def __init__(self, place, pooler):
        super().__init__(daemon=True)
        self.rows = []      # (time, connections, CPU of pooler, of server)
        self.over = threading.Event()
        self.pooler = pooler
        self.server = dict(place.procs)["postgres"].pid

    def run(self):
        while not self.over.is_set():
            self.rows.append((
                time.time(), backends(self.server),
                proc.cpu_ns(self.pooler) / 1e9 if self.pooler else None,
                ticks(self.server)))
            self.over.wait(SAMPLE)

    def end(self):
        self.over.set()
        self.join()
        return self.rows
