"""The test stand: a scratch PostgreSQL, the floor relay and poolers.

Everything listens on loopback, lives in one temporary directory and is ended
by pid.  As root, PostgreSQL and the poolers run as an unprivileged user.
SPDX-License-Identifier: ISC
"""
import glob
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "system"))

import idle
import pq

PASSWORD = "bench password"
ITERATIONS = 16  # of SCRAM: they are the client's work, and would be the limit
POOL_SIZE = 20
FLOORS = {"floor": "floor_relay", "floor_pool": "floor_pool"}
START_LIMIT = 300  # seconds for a process to accept logins
STOP_LIMIT = 20   # seconds to end after SIGTERM, before SIGKILL

PG_CONF = """
listen_addresses = '127.0.0.1'
port = {port}
unix_socket_directories = '{dir}'
max_connections = 2200
shared_buffers = 128MB
fsync = off
synchronous_commit = off
full_page_writes = off
autovacuum = off
jit = off
"""

POOLER_INI = """
[databases]
bench = host=127.0.0.1 port={pg_port} dbname=bench
{databases}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = hba
auth_hba_file = {dir}/hba
auth_file = {dir}/userlist.txt
client_tls_sslmode = allow
client_tls_cert_file = {dir}/server.crt
client_tls_key_file = {dir}/server.key
client_tls_ciphers = HIGH:!aNULL
admin_users = bench
pool_mode = transaction
default_pool_size = {pool_size}
max_client_conn = 19000
ignore_startup_parameters = extra_float_digits
log_connections = 0
log_disconnections = 0
log_stats = 0
"""
# Its thread wakes up by time, and would count for the transactions beside it.
OURS_ALONE = "slow_turn = 0\n"

# Who has to prove a password, and who not.
HBA = """
host all scram 127.0.0.1/32 scram-sha-256
host all all 127.0.0.1/32 trust
"""

# Roles that may have few server connections, for the scenarios: one for each
# that is compared, as a pooler keeps what it has opened.
SMALL_ROLES = {name: [f"{name}{i}" for i in range(8)]
               for name in ("latency", "burst", "storm", "serverless")}
SMALL_ROLE_LIMIT = 30

SCHEMA = """
create role scram login superuser;
{roles}
create table bench_table as
    select n as id, repeat(md5(n::text), 3) as filler
    from generate_series(1, 100000) as n;
vacuum analyze bench_table;
grant select on all tables in schema public to public;
"""


class StandError(Exception):
    """Something needed for the benchmark is missing or does not start."""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def find_pg_bin():
    """The directory of initdb and postgres: $PGBIN, 15, else the newest."""
    dirs = glob.glob("/usr/lib/postgresql/*/bin")
    dirs.sort(key=lambda d: (d.split("/")[-2] == "15", d), reverse=True)
    on_path = shutil.which("initdb")
    for d in [os.environ.get("PGBIN", ""), *dirs,
              os.path.dirname(on_path or "")]:
        if d and os.access(os.path.join(d, "initdb"), os.X_OK):
            return d
    raise StandError("no PostgreSQL server found; set PGBIN to its bin/")


def unprivileged():
    """Popen arguments to leave root; none when we are not."""
    if os.getuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        try:
            u = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": u.pw_uid, "group": u.pw_gid, "extra_groups": []}
    raise StandError("running as root, and there is no user to change to")


class Stand:
    def __init__(self):
        self.pg_bin = find_pg_bin()
        self.as_user = unprivileged()
        self.procs = []     # (name, Popen), in order of start
        self.pg_port = 0
        self.dir = tempfile.mkdtemp(prefix="pgsluice-bench-")
        os.chmod(self.dir, 0o755)
        if self.as_user:
            os.chown(self.dir, self.as_user["user"], self.as_user["group"])
        # For pgbench and psql, here and in bench.py.
        for name in list(os.environ):
            if name.startswith("PG") and name != "PGBIN":
                del os.environ[name]
        os.environ.update(PGUSER="bench", PGDATABASE="bench",
                          PATH=self.pg_bin + os.pathsep + os.environ["PATH"])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop_all()

    def path(self, name):
        return os.path.join(self.dir, name)

    def write(self, name, text):
        with open(self.path(name), "w") as f:
            f.write(text)
        return self.path(name)

    def tail(self, name):
        with open(self.path(name + ".log"), errors="replace") as f:
            return "".join(f.readlines()[-15:])

    def call(self, cmd, name):
        """Runs a command that has to succeed, as the unprivileged user."""
        with open(self.path(name + ".log"), "w") as log:
            r = subprocess.run(cmd, stdin=subprocess.DEVNULL, stdout=log,
                               stderr=log, cwd=self.dir, **self.as_user)
        if r.returncode != 0:
            raise StandError(f"{name} failed:\n{self.tail(name)}")

    def spawn(self, name, cmd, as_user=None):
        # A session of its own: Ctrl-C reaches us only, and we stop the rest.
        with open(self.path(name + ".log"), "w") as log:
            p = subprocess.Popen(cmd, stdin=subprocess.DEVNULL, stdout=log,
                                 stderr=log, cwd=self.dir,
                                 start_new_session=True,
                                 **(self.as_user if as_user is None
                                    else as_user))
        self.procs.append((name, p))
        return p

    def wait_ready(self, name, port, database="bench"):
        proc = dict(self.procs)[name]
        deadline = time.monotonic() + START_LIMIT
        while proc.poll() is None:
            try:
                idle.connect(port, database, timeout=5).close()
                return
            except OSError as e:
                if time.monotonic() > deadline:
                    raise StandError(f"{name} does not get ready: {e}\n"
                                     + self.tail(name))
            time.sleep(0.02)
        raise StandError(f"{name} ended at once, status {proc.returncode}:\n"
                         + self.tail(name))

    def start_postgres(self, port=0):
        self.pg_port = port or free_port()
        data = self.path("data")
        self.call([os.path.join(self.pg_bin, "initdb"), "-D", data, "-U",
                   "bench", "-A", "trust", "-E", "UTF8", "--locale=C",
                   "--no-sync"], "initdb")
        with open(os.path.join(data, "postgresql.conf"), "a") as f:
            f.write(PG_CONF.format(port=self.pg_port, dir=self.dir))
        self.spawn("postgres",
                   [os.path.join(self.pg_bin, "postgres"), "-D", data])
        self.wait_ready("postgres", self.pg_port, "postgres")
        at = ["-h", "127.0.0.1", "-p", str(self.pg_port)]
        self.call(["createdb", *at, "bench"], "createdb")
        self.call(["pgbench", *at, "-i", "-q", "-s", "2", "bench"], "pgbench")
        self.call(["psql", "-X", *at, "-v", "ON_ERROR_STOP=1", "-f",
                   self.write("schema.sql", SCHEMA.format(
                       roles="".join(
                           f"create role {r} login connection limit "
                           f"{SMALL_ROLE_LIMIT};\n" for r in sum(SMALL_ROLES.values(), [])))),
                   "bench"], "schema")

    def make_pooler_files(self):
        """What all poolers share: users, who may log in, a certificate."""
        self.write("userlist.txt", "".join(
            f'"{name}" "{secret}"\n' for name, secret in [
                ("bench", ""), ("scram", pq.scram_secret(PASSWORD, None, ITERATIONS)),
                *((r, "") for r in sum(SMALL_ROLES.values(), []))]))
        self.write("hba", HBA)
        self.call(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                   "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                   "-subj", "/CN=bench", "-keyout", self.path("server.key"),
                   "-out", self.path("server.crt")], "certificate")

    def start_floor(self, floor, label=None):
        """One of FLOORS: (name, port, pid)."""
        name, source, port = label or floor, FLOORS[floor], free_port()
        binary = self.path(source)
        cc = os.environ.get("CC", "cc").split()
        if not os.path.exists(binary):
            self.call([*cc, "-std=gnu17", "-D_GNU_SOURCE", "-O2", "-o", binary,
                       os.path.join(HERE, source + ".c")], "cc")
        p = self.spawn(name, [binary, str(port), str(self.pg_port)])
        self.wait_ready(name, port)
        return name, port, p.pid

    def copy_program(self, binary, name="program"):
        """The unprivileged user may not be able to reach the build directory,
        and a rebuild cannot disturb the run."""
        home = self.path(name)
        os.makedirs(home, exist_ok=True)
        copy = os.path.join(home, os.path.basename(binary))
        shutil.copy(binary, copy)
        os.chmod(copy, 0o755)
        return copy

    def start_pooler(self, name, binary, wrapper=(), databases="",
                     settings=""):
        """Any program that reads a pgbouncer.ini: (name, port, pid)."""
        port, copy = free_port(), self.copy_program(binary, name)
        if not os.path.exists(self.path("server.crt")):
            self.make_pooler_files()
        ini = self.write(name + ".ini", POOLER_INI.format(
            pg_port=self.pg_port, port=port, dir=self.dir,
            pool_size=POOL_SIZE, databases=databases) + settings + (
                "" if "pgbouncer" in os.path.basename(binary) else OURS_ALONE))
        p = self.spawn(name, [*wrapper, copy, ini])
        self.wait_ready(name, port)
        return name, port, p.pid

    def stop(self, name):
        """The process of this name that was started last, if any."""
        found = [p for n, p in self.procs if n == name]
        if not found:
            return
        p = found[-1]
        self.procs.remove((name, p))
        # SIGINT: PostgreSQL's fast shutdown; poolers may linger on it.
        p.send_signal(signal.SIGINT if name == "postgres"
                      else signal.SIGTERM)
        try:
            p.wait(STOP_LIMIT)
        except subprocess.TimeoutExpired:
            p.kill()
            p.wait()

    def stop_all(self):
        while self.procs:
            self.stop(self.procs[-1][0])
        shutil.rmtree(self.dir, ignore_errors=True)
