# harness.py - a scratch PostgreSQL and a pooler under test, as black boxes.
# SPDX-License-Identifier: ISC
"""Nothing here knows the pooler's insides: files, sockets, signals, log."""
import collections
import contextlib
import glob
import os
import pwd
import random
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

import psycopg

import pq

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BIG = os.environ.get("BIG", "0") not in ("", "0")
TIMEOUT = pq.TIMEOUT


def find_binary():
    env = os.environ.get("PGSLUICE")
    if env:
        return os.path.abspath(env)
    for rel in ("build/check/pgsluice", "build/pgsluice", "pgsluice"):
        if os.path.exists(os.path.join(ROOT, rel)):
            return os.path.join(ROOT, rel)
    return os.path.join(ROOT, "build/check/pgsluice")


def forget_libpq():
    """What libpq and PostgreSQL's programs read in the environment of whoever
    runs the tests: it would be taken for a choice of the test's."""
    for name in list(os.environ):
        if name.startswith("PG") and name != "PGBIN" and \
                not name.startswith("PGSLUICE"):
            del os.environ[name]


forget_libpq()
BINARY = find_binary()
REFERENCE = "pgbouncer" in os.path.basename(BINARY)
WORKERS = int(os.environ.get("WORKERS") or 1)
SEVERAL = WORKERS > 1


def _is_asan(path):
    try:
        with open(path, "rb") as f:
            return b"__asan_" in f.read()
    except OSError:
        return False


ASAN = _is_asan(BINARY)


def wait_until(cond, timeout=TIMEOUT, what=""):
    """Wait for cond() to be true; returns its value."""
    end = time.monotonic() + timeout
    pause, step = threading.Event(), 0.002
    while True:
        val = cond()
        if val:
            return val
        if time.monotonic() > end:
            raise AssertionError("timeout waiting for %s (last: %r)"
                                 % (what or cond, val))
        pause.wait(step)
        step = min(2 * step, 0.02)


def read(path):
    with open(path, "rb") as f:
        return f.read()


def state_of(pid):
    """A letter, see proc(5); None: there is no such process."""
    try:
        stat = read("/proc/%d/stat" % pid)
    except OSError:
        return None
    return stat.rsplit(b")", 1)[1].split()[0].decode()


def has_ended(pid):
    """Nothing is left of it but what init has to collect."""
    return state_of(pid) in (None, "Z")


@contextlib.contextmanager
def cancelling(c):
    """Cancel what c runs, over and over: a request may come before the query
    does. None is under way afterwards."""
    over = threading.Event()

    def run_on():
        while not over.wait(0.3):
            c.cancel()
    thread = threading.Thread(target=run_on)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


# --- who we are -----------------------------------------------------------

def _test_user():
    if os.getuid() != 0:
        return None
    names = [os.environ.get("TEST_USER"), "pgsluice-test", "postgres",
             "nobody"]
    for name in names:
        try:
            if name:
                return pwd.getpwnam(name)
        except KeyError:
            continue
    raise RuntimeError("no unprivileged user to run as")


USER = _test_user()


def as_user():
    """Popen arguments that drop root."""
    if USER is None:
        return {}
    return {"user": USER.pw_uid, "group": USER.pw_gid, "extra_groups": []}


def give(path):
    if USER is not None:
        os.chown(path, USER.pw_uid, USER.pw_gid)
    return path


def make_tmp():
    d = tempfile.gettempdir()
    # another user must get in, and a socket's path fit into 107 bytes
    if USER is not None or len(d) > 60:
        d = "/tmp"
    d = tempfile.mkdtemp(prefix="pgsl-", dir=d)
    os.chmod(d, 0o755)
    return give(d)


_port = None
_reserved = collections.deque()


def reserve(port):
    """Others who test on this machine ask for UDP ports of this address
    before they use the TCP port of that number."""
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        s.bind(("127.64.0.1", port))
    except OSError:
        s.close()
        return False
    _reserved.append(s)
    if len(_reserved) > 50:	# more than a test uses
        _reserved.popleft().close()
    return True


def free_port():
    """A loopback port below the ephemeral range that nobody listens on."""
    global _port
    worker = int(re.sub(r"\D", "", os.environ.get("PYTEST_XDIST_WORKER",
                                                  "0")) or 0)
    base, span = 11000 + (worker % 9) * 2000, 2000
    if _port is None:
        _port = random.randrange(span)
    for _ in range(span):
        _port = (_port + 1) % span
        s = socket.socket()
        try:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            s.bind(("127.0.0.1", base + _port))
        except OSError:
            continue
        finally:
            s.close()
        if reserve(base + _port):
            return base + _port
    raise RuntimeError("no free port")


def pg_bin(name):
    dirs = [os.environ.get("PGBIN", "")]
    root = "/usr/lib/postgresql"
    if os.path.isdir(root):
        dirs += [os.path.join(root, v, "bin") for v in
                 sorted(os.listdir(root), key=lambda v: float(v),
                        reverse=True)]
    for d in dirs:
        if d and os.path.exists(os.path.join(d, name)):
            return os.path.join(d, name)
    found = shutil.which(name)
    if not found:
        raise RuntimeError("PostgreSQL's %s not found" % name)
    return found


def server_major():
    """The release of PostgreSQL that the tests run, as 15."""
    out = subprocess.run([pg_bin("postgres"), "-V"], check=True,
                         stdout=subprocess.PIPE, text=True).stdout
    return int(re.search(r"\) (\d+)", out).group(1))


# --- PostgreSQL -----------------------------------------------------------

PASSWORDS = {"u_pw": "pw one", "u_md5": "pw-two", "u_scram": "pw_three"}

HBA = """
local all all trust
host all u_pw 127.0.0.1/32 password
host all u_md5 127.0.0.1/32 md5
host all u_scram,alice,bob 127.0.0.1/32 scram-sha-256
host all all 127.0.0.1/32 trust
host replication all 127.0.0.1/32 trust
"""

SETUP = """
create role app login;
create role app2 login;
create role admin login;
create role u_pw login password 'pw one';
set password_encryption = 'scram-sha-256';
create role u_scram login password 'pw_three';
set password_encryption = 'md5';
create role u_md5 login password 'pw-two';
"""


class Postgres:
    """One scratch cluster: trust for most users, see HBA."""

    def __init__(self, initdb=(), copy=None, env=None, **settings):
        """copy(folder) makes the data folder, where it is not a new one; env
        is more environment of the process"""
        self.dir = make_tmp()
        self.port = settings.get("port") or free_port()
        self.data = os.path.join(self.dir, "data")
        self._bench = False
        self._monitor = None
        self.proc = None
        if copy:
            copy(self.data)
        else:
            self._initdb(initdb)
        self._configure(settings)
        self.log = open(os.path.join(self.dir, "pg.log"), "wb")
        self.proc = subprocess.Popen(
            [pg_bin("postgres"), "-D", self.data], stdout=self.log,
            stderr=self.log, cwd="/tmp", env={**os.environ, **(env or {})},
            **as_user())
        wait_until(self._up, what="PostgreSQL to start")
        if not copy:
            self._fill()

    def _initdb(self, args):
        subprocess.run([pg_bin("initdb"), "-D", self.data, "-U", "postgres",
                        "-A", "trust", "-E", "UTF8", "--locale=C", "-N"]
                       + list(args), check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.STDOUT, cwd="/tmp", **as_user())

    def _configure(self, settings):
        conf = {
            "listen_addresses": "'127.0.0.1'", "port": self.port,
            "unix_socket_directories": "'%s'" % self.dir, "fsync": "off",
            "synchronous_commit": "off", "full_page_writes": "off",
            "max_connections": 200, "shared_buffers": "'64MB'",
            "logging_collector": "off", "log_min_messages": "warning",
            "max_wal_size": "'4GB'", "timezone": "'UTC'",
            "log_timezone": "'UTC'", "autovacuum": "off",
        }
        conf.update(settings)
        with open(os.path.join(self.data, "postgresql.conf"), "a") as f:
            for k, v in conf.items():
                f.write("%s = %s\n" % (k, v))
        with open(os.path.join(self.data, "pg_hba.conf"), "w") as f:
            f.write(HBA)

    def _fill(self):
        for stmt in SETUP.strip().splitlines():
            self.sql_session(stmt)
        self.sql(*["create role u%d login" % i for i in range(4)])
        for db in ("p0", "p1", "p2"):
            self.sql("create database " + db)
            self.sql("grant all on schema public to public", db=db)
        self.sql("create table tab (id int primary key, val text)",
                 "insert into tab select g, 'row ' || g from "
                 "generate_series(1, 1000) g",
                 "create table sink (id bigint, val text)",
                 "create table seq_log (n serial, who text)",
                 "grant all on all tables in schema public to public",
                 "grant all on all sequences in schema public to public",
                 db="p0")

    def _up(self):
        if self.proc.poll() is not None:
            raise RuntimeError("PostgreSQL did not start: " + open(
                self.log.name).read())
        try:
            self.connect().close()
            return True
        except psycopg.OperationalError:
            return False

    def connect(self, user="postgres", dbname="postgres", **kw):
        return psycopg.connect(host=self.dir, port=self.port, user=user,
                               dbname=dbname, autocommit=True, **kw)

    def sql_session(self, stmt):
        """Statements whose SET must reach the following ones."""
        if not hasattr(self, "_session"):
            self._session = self.connect()
        self._session.execute(stmt)

    def sql(self, *stmts, db=None, args=None):
        if db is None:
            return self._execute(self._monitoring(), stmts, args)
        with self.connect(dbname=db) as c:
            return self._execute(c, stmts, args)

    def _monitoring(self):
        """A connection that is kept: tests look again and again."""
        if self._monitor is None or self._monitor.closed:
            self._monitor = self.connect()
        return self._monitor

    @staticmethod
    def _execute(conn, stmts, args):
        cur = None
        for s in stmts:
            cur = conn.execute(s, args)
        return cur.fetchall() if cur is not None and cur.description else None

    def secret(self, user):
        return self.sql("select rolpassword from pg_authid where rolname="
                        "%s", args=(user,))[0][0]

    def backends(self, db="p0", where="true"):
        return [r[0] for r in self.sql(
            "select pid from pg_stat_activity where datname=%s and "
            "backend_type='client backend' and " + where, args=(db,))]

    def terminate(self, pid):
        self.sql("select pg_terminate_backend(%s)", args=(pid,))

    def expel(self):
        """End what poolers left behind, such as a query whose client was
        given up: the next test would count it."""
        left = "select count(pg_terminate_backend(pid)) from " \
            "pg_stat_activity where client_addr is not null"
        wait_until(lambda: self.sql(left)[0][0] == 0, what="backends to end")

    def make_bench(self, scale=5):
        if self._bench:
            return
        self.sql("create database bench")
        subprocess.run([shutil.which("pgbench") or pg_bin("pgbench"), "-i",
                        "-IdtGvp", "-s", str(scale), "-q", "-h", self.dir,
                        "-p", str(self.port), "-U", "postgres", "bench"],
                       check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, **as_user())
        self.sql("grant all on all tables in schema public to public",
                 db="bench")
        self._bench = True

    def stop(self):
        if hasattr(self, "_session"):
            self._session.close()
        if self._monitor is not None:
            self._monitor.close()
        if self.proc and self.proc.poll() is None:
            self.proc.send_signal(signal.SIGINT)
            try:
                self.proc.wait(20)
            except subprocess.TimeoutExpired:
                self.proc.send_signal(signal.SIGQUIT)
                self.proc.wait(20)
        self.log.close()
        shutil.rmtree(self.dir, ignore_errors=True)


class Latch:
    """Makes queries last until the test opens it, however slow the machine
    is: `query` is an expression that waits, and says nothing."""

    def __init__(self, pg, db="p0"):
        self.conn = pg.connect(dbname=db)
        self.query = "pg_advisory_xact_lock_shared(1)"
        self.conn.execute("select pg_advisory_lock(1)")

    def open(self):
        self.conn.close()


TLS_HBA = """
local all all trust
host all u_scram 127.0.0.1/32 scram-sha-256
host all u_pw 127.0.0.1/32 password
host all u_md5 127.0.0.1/32 md5
hostssl all app2 127.0.0.1/32 cert map=certs
hostnossl all app2 127.0.0.1/32 reject
host all all 127.0.0.1/32 trust
"""

_cluster = None
_tls_cluster = None


def tls_cluster(certs):
    """The cluster that speaks TLS, made at first use."""
    global _tls_cluster
    if _tls_cluster is None:
        pg = Postgres(ssl="on", ssl_cert_file="'%s'" % certs.crt("server"),
                      ssl_key_file="'%s'" % certs.key("server"),
                      ssl_ca_file="'%s'" % certs.crt("ca"))
        for name, text in (("pg_hba.conf", TLS_HBA),
                           ("pg_ident.conf", "certs app app2\n")):
            with open(os.path.join(pg.data, name), "w") as f:
                f.write(text)
        pg.sql("select pg_reload_conf()")
        _tls_cluster = pg
    return _tls_cluster


def cluster():
    """The cluster of this test process, made at first use."""
    global _cluster
    if _cluster is None:
        _cluster = Postgres()
    return _cluster


def expel():
    """No test finds what another one left on a server."""
    for pg in (_cluster, _tls_cluster):
        if pg is not None:
            pg.expel()


def shutdown():
    global _cluster, _tls_cluster, _bin_dir
    if _tls_cluster is not None:
        _tls_cluster.stop()
        _tls_cluster = None
    if _cluster is not None:
        _cluster.stop()
        _cluster = None
    if _bin_dir is not None:
        shutil.rmtree(_bin_dir, ignore_errors=True)
        _bin_dir = None


# --- the pooler -----------------------------------------------------------

_bin_dir = None
_bin_path = None


def binary():
    """The pooler, at a path that the test user may execute."""
    global _bin_dir, _bin_path
    if _bin_path is None:
        if not os.path.exists(BINARY):
            raise RuntimeError("no pooler at %s (set PGSLUICE)" % BINARY)
        _bin_path = BINARY
        try:
            subprocess.run([BINARY, "-V"], stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL, cwd="/", **as_user())
        except PermissionError:
            _bin_dir = make_tmp()
            _bin_path = os.path.join(_bin_dir, os.path.basename(BINARY))
            shutil.copy2(BINARY, _bin_path)
            os.chmod(_bin_path, 0o755)
    return _bin_path


def is_forced():
    """Does the build heed PGSLUICE_FORCE? (include/base/force.h) Each knows the
    name, so that no build takes it for a setting."""
    with open(BINARY, "rb") as f:
        program = f.read()
    return b"__asan_init" in program or b"__tsan_init" in program


def preload(name):
    """For LD_PRELOAD: a cwrap library, behind what the sanitizer wants to be
    first."""
    wrapper = glob.glob("/usr/lib/*/lib%s_wrapper.so" % name)
    assert wrapper, "lib%s-wrapper is not installed" % name
    return preload_file(*wrapper)


def preload_file(*paths):
    """The same for others."""
    libs = run(["ldd", binary()], cwd="/").stdout
    return " ".join([line.split()[2] for line in libs.splitlines()
                     if "libasan" in line] + list(paths))


def built_with(auth_type):
    """Does the pooler know an auth_type that configure may leave out?"""
    folder = make_tmp()
    path = os.path.join(folder, "check.ini")
    with open(path, "w") as f:
        f.write("[pgbouncer]\nauth_type = %s\n" % auth_type)
    os.chmod(path, 0o644)
    known = run([binary(), "--check", path], cwd="/").returncode == 0
    shutil.rmtree(folder)
    return known


SANITIZER = re.compile(r"AddressSanitizer|LeakSanitizer|ThreadSanitizer"
                       r"|UndefinedBehaviorSanitizer|runtime error:"
                       r"|Assertion .* failed|DEADLYSIGNAL")

USERLIST = {"app": "apppw", "app2": "app2pw", "admin": "adminpw",
            "stats": "statspw", "u0": "", "u1": "", "u2": "", "u3": "",
            "postgres": ""}


def process_env():
    env = dict(os.environ)
    for k in list(env):
        if k.startswith("PG") and k not in ("PGBIN", "PGSLUICE_FORCE"):
            del env[k]
    env["ASAN_OPTIONS"] = "detect_leaks=1:exitcode=99:" + env.get(
        "ASAN_OPTIONS", "")
    env["UBSAN_OPTIONS"] = "print_stacktrace=1:" + env.get(
        "UBSAN_OPTIONS", "")
    env["TZ"] = "UTC"
    env["PGSLUICECTL_LIBEXEC"] = os.path.join(ROOT, "contrib")
    return env


# who was refused, and who did not prove who he is; all others: 08P01
CODES = {"28000": ["SSL required", "no username supplied",
                   '"trust" authentication failed',
                   "certificate authentication failed",
                   "GSSAPI authentication failed",
                   "GSSAPI encryption required",
                   "unix socket login rejected", "login rejected",
                   "no authentication method is found", "not allowed",
                   "auth_ldap_options is null",
                   "ldap is not supported by this build"],
         "28P01": ["password authentication failed",
                   "SASL authentication failed",
                   "empty password returned by client",
                   "PAM authentication failed",
                   "LDAP authentication failed"]}


def code_of(text):
    """The SQLSTATE of an error of the pooler's own that ends a login."""
    return "08P01" if REFERENCE else next(
        (code for code, texts in CODES.items() if text in texts), "08P01")


def quote_secret(s):
    return '"' + s.replace('"', '""') + '"'


class Pooler:
    """One pooler process with its own directory, configuration and log."""

    def __init__(self, dbs=None, userlist=None, users=None, extra="",
                 args=(), start=True, **settings):
        self.dir = make_tmp()
        self.port = free_port()
        self.ini = os.path.join(self.dir, "pooler.ini")
        self.auth = os.path.join(self.dir, "userlist.txt")
        self.logname = os.path.join(self.dir, "stderr.log")
        self.args, self.extra = list(args), extra
        self.dbs = {"p0": "", "p1": ""} if dbs is None else dict(dbs)
        self.users = dict(users or {})
        self.userlist = dict(USERLIST if userlist is None else userlist)
        self.settings = {
            "listen_addr": "127.0.0.1", "listen_port": self.port,
            "unix_socket_dir": self.dir, "auth_type": "trust",
            "auth_file": self.auth, "admin_users": "admin",
            "stats_users": "stats", "max_client_conn": 2000,
            "pool_mode": "transaction",
        }
        if not REFERENCE:
            # a notice where a machine is slow would surprise
            self.settings["query_wait_notify"] = 0
            self.settings["slow_turn"] = 0
            # tests fail to log in more often than anybody
            self.settings["auth_failure_delay"] = 0
            self.settings["auth_failure_log_rate"] = 0
            # without it, each start derives salts for a twentieth of a second
            self.settings["auth_mock_secret_file"] = os.path.join(
                self.dir, "mock_secret")
        if os.environ.get("WORKERS"):
            self.settings["workers"] = os.environ["WORKERS"]
        self.settings.update(settings)
        self.env = {}              # more environment of the process
        self.proc, self.conns = None, []
        self.expect_exit = 1 if REFERENCE else 0
        self.checked = False
        if start:
            self.start()

    # --- files ---

    def write(self):
        pg = cluster() if any("host=" not in v and "port=" not in v
                              for v in self.dbs.values()) else None
        lines = ["[databases]"]
        for name, conn in self.dbs.items():
            if pg and "host=" not in conn and "port=" not in conn:
                conn = "host=127.0.0.1 port=%d " % pg.port + conn
            lines.append("%s = %s" % (name, conn))
        if self.users:
            lines.append("[users]")
            lines += ["%s = %s" % i for i in self.users.items()]
        lines.append("[pgbouncer]")
        lines += ["%s = %s" % (k, v) for k, v in self.settings.items()
                  if v is not None]
        if self.extra:
            lines.append(self.extra)
        self._put(self.ini, "\n".join(lines) + "\n")
        self._put(self.auth, "".join(
            "%s %s\n" % (quote_secret(u), quote_secret(s))
            for u, s in self.userlist.items()), 0o600)
        if not REFERENCE:
            self.put("mock_secret", "sixteen bytes or more\n", 0o600)

    def _put(self, path, text, mode=0o644):
        with open(path + ".new", "w") as f:
            f.write(text)
        os.chmod(path + ".new", mode)
        os.rename(give(path + ".new"), path)

    def put(self, name, text, mode=0o644):
        path = os.path.join(self.dir, name)
        self._put(path, text, mode)
        return path

    # --- the process ---

    def start(self):
        self.write()
        self.launch()
        wait_until(lambda: self._is_up(), what="the pooler's 'process up'")
        return self

    def launch(self, prefix=(), **popen):
        """prefix: a command that runs the pooler, such as prlimit."""
        self.logfile = open(self.logname, "ab")
        how = dict(stdout=self.logfile, stderr=self.logfile,
                   stdin=subprocess.DEVNULL, cwd=self.dir,
                   env={**process_env(), **self.env}, **as_user())
        how.update(popen)
        self.proc = subprocess.Popen(
            list(prefix) + [binary()] + self.args + [self.ini], **how)

    def _is_up(self):
        if self.proc.poll() is not None:
            raise AssertionError("pooler ended with %r:\n%s" % (
                self.proc.returncode, self.log))
        return "process up: " in self.log

    def settle(self):
        """The log is written by threads: wait until they have nothing to do.
        Who has got an answer finds what was logged before it."""
        if self.proc is None or REFERENCE:
            return
        tasks = "/proc/%d/task" % self.proc.pid
        try:
            for t in os.listdir(tasks):
                stat = os.path.join(tasks, t, "stat")
                # asleep: for want of work, or because nobody reads
                wait_until(lambda: not re.search(rb"\(log\) [^S]",
                                                 read(stat)),
                           what="the log's threads")
        except OSError:
            pass    # it has ended

    @property
    def log(self):
        self.settle()
        if not os.path.exists(self.logname):
            return ""
        with open(self.logname, errors="replace") as f:
            return f.read()

    def wait_log(self, text, timeout=TIMEOUT, count=1):
        rx = re.compile(text)
        wait_until(lambda: len(rx.findall(self.log)) >= count, timeout,
                   "log line %r" % text)

    def signal(self, sig):
        self.proc.send_signal(sig)

    def sighup(self):
        done = "got SIGHUP" if REFERENCE else \
            "configuration reloaded|config file loading failed"
        n = len(re.findall(done, self.log))
        self.signal(signal.SIGHUP)
        self.wait_log(done, count=n + 1)
        # the reference's console answers after the reload of this turn
        self.admin("show version")

    def reload(self):
        self.write()
        self.admin("reload")

    def wait_exit(self, timeout=TIMEOUT):
        try:
            rc = self.proc.wait(timeout)
        except subprocess.TimeoutExpired:
            raise AssertionError("pooler did not exit:\n"
                                 + self.log[-3000:])
        return rc

    def rss(self, what="VmRSS"):
        """Resident memory in bytes."""
        with open("/proc/%d/status" % self.proc.pid) as f:
            for line in f:
                if line.startswith(what + ":"):
                    return int(line.split()[1]) * 1024
        raise AssertionError("no %s" % what)

    def loop_cpu(self):
        """Seconds of CPU that the loop has used, without its helpers."""
        with open("/proc/%d/task/%d/schedstat" % (
                self.proc.pid, self.proc.pid)) as f:
            return int(f.read().split()[0]) / 1e9

    def cpu(self):
        with open("/proc/%d/stat" % self.proc.pid) as f:
            p = f.read().rsplit(")", 1)[1].split()
        return (int(p[11]) + int(p[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self):
        """End the process and check that it ended well; idempotent."""
        if self.checked:
            return
        self.checked = True
        for c in self.conns:
            try:
                c.close()
            except Exception:  # a dead connection is fine here
                pass
        died = None
        if self.proc is not None:
            if self.proc.poll() is None:
                self.signal(signal.SIGTERM if REFERENCE
                            else signal.SIGQUIT)
                try:
                    self.wait_exit()
                except AssertionError as e:
                    died = str(e)
                    self.proc.kill()
                    self.proc.wait()
            if died is None and self.proc.returncode != self.expect_exit:
                died = "pooler exited with %d" % self.proc.returncode
            self.logfile.close()
        text = self.log if os.path.exists(self.logname) else ""
        san = SANITIZER.search(text)
        keep = os.environ.get("KEEP")
        if not keep:
            shutil.rmtree(self.dir, ignore_errors=True)
        if died or san:
            at = san.start() if san else max(0, len(text) - 4000)
            raise AssertionError("%s\n%s" % (died or "sanitizer report",
                                             text[max(0, at - 1500):
                                                  at + 6000]))

    # --- clients ---

    def connect(self, dbname="p0", user="app", autocommit=True, **kw):
        """A psycopg connection."""
        kw.setdefault("password", self.userlist.get(user) or None)
        kw.setdefault("host", "127.0.0.1")
        c = psycopg.connect(port=self.port, dbname=dbname, user=user,
                            autocommit=autocommit, connect_timeout=int(
                                TIMEOUT), **kw)
        self.conns.append(c)
        return c

    def open(self, unix=False, **kw):
        """A raw connection without login."""
        if unix:
            kw["path"] = os.path.join(self.dir, ".s.PGSQL.%d" % self.port)
        c = pq.Conn(port=self.port, **kw)
        self.conns.append(c)
        return c

    def raw(self, user="app", database="p0", password=None, unix=False,
            timeout=TIMEOUT, rcvbuf=None, sndbuf=None, **params):
        """A raw connection, logged in."""
        c = self.open(unix, timeout=timeout, rcvbuf=rcvbuf, sndbuf=sndbuf)
        if password is None:
            password = self.userlist.get(user)
        return c.login(user, password, database, **params)

    def console(self, user="admin"):
        # plain TCP may be refused where TLS is set up
        return self.raw(user, "pgbouncer",
                        unix="client_tls_sslmode" in self.settings)

    def admin(self, cmd, user="admin"):
        """Run one console command; rows as dicts."""
        with self.console(user) as c:
            return c.query(cmd).dicts

    def pool(self, database="p0", user="app"):
        for r in self.show("pools"):
            if r["database"] == database and r["user"] == user:
                return {k: int(v) if v and v.isdigit() else v
                        for k, v in r.items()}
        return {}

    def show(self, topic, **where):
        ours = "" if REFERENCE else " extended"
        return [r for r in self.admin(f"show {topic}{ours}")
                if all(r.get(k) == v for k, v in where.items())]

    def servers(self, database="p0"):
        return self.show("servers", database=database)

    def stats(self, database="p0"):
        rows = self.show("stats", database=database)
        return {k: int(v) for k, v in rows[0].items()
                if k != "database"} if rows else {}

    def mem(self):
        """used objects per cache, from SHOW MEM"""
        return {r["name"]: int(r["used"]) for r in self.admin("show mem")}

    def wait_pool(self, database="p0", user="app", timeout=TIMEOUT, **want):
        def ok():
            p = self.pool(database, user)
            return p and all(p[k] == v for k, v in want.items())
        try:
            wait_until(ok, timeout)
        except AssertionError:
            raise AssertionError("pool is %r, not %r" % (
                self.pool(database, user), want))


def run(args, **kw):
    """Run a command as the test user, output captured as text."""
    kw.setdefault("timeout", 300)
    return subprocess.run(args, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True,
                          env=process_env(), **as_user(), **kw)


def pgbench(p, *args, db="bench", user="app", clients=20, seconds=3):
    """Run pgbench through pooler p; returns (transactions, output)."""
    exe = shutil.which("pgbench") or pg_bin("pgbench")
    out = run([exe, "-n", "-h", "127.0.0.1", "-p", str(p.port), "-U", user,
               "-c", str(clients), "-T", str(seconds)] + list(args) + [db],
              cwd="/tmp")
    text = out.stdout + out.stderr
    m = re.search(r"number of transactions actually processed: (\d+)", text)
    assert out.returncode == 0 and m, text
    failed = re.search(r"number of failed transactions: (\d+)", text)
    assert failed is None or failed.group(1) == "0", text
    return int(m.group(1)), text


class Load(threading.Thread):
    """pgbench in the background."""

    def __init__(self, p, *args, **kw):
        super().__init__()
        self.args, self.kw, self.p = args, kw, p
        self.count, self.failure = 0, None

    def run(self):
        try:
            self.count, _ = pgbench(self.p, *self.args, **self.kw)
        except BaseException as e:
            self.failure = e

    def check(self):
        self.join()
        if self.failure:
            raise self.failure
        assert self.count > 0
