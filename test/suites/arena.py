# arena.py - where a suite runs: a server of its own, and what is before it.
# SPDX-License-Identifier: ISC
"""A way is how a suite reaches PostgreSQL: directly, or through a pooler.
Each suite gets a fresh server on each way, so that none sees what another
left behind."""
import contextlib
import dataclasses
import os
import shutil
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "system"))
import harness  # noqa: E402

DIRECT, SESSION, TRANSACTION = "direct", "session", "transaction"
KEPT = "keep"				# transaction, and the state follows
REFERENCE = "reference"			# the same modes, by the reference
REFERENCE_TRANSACTION = "reference transaction"
KEEP = os.environ.get("KEEP_OUTPUT")
# A test that writes until its server ends must not fill the disk: pgjdbc had
# some that don't know the server's process behind a pooler.
ROOM = 6 << 30			# bytes of a server's folder, a pooler's, a suite's
LOOK = 1			# seconds between looks at them
SERVER = {
    "temp_file_limit": "'1GB'", "max_slot_wal_keep_size": "'1GB'",
    "max_connections": 100, "max_prepared_transactions": 10,
    "shared_buffers": "'128MB'", "wal_level": "logical",
    "lc_messages": "'C'", "lc_monetary": "'C'", "lc_numeric": "'C'",
    "lc_time": "'C'",
}
POOLER = {
    "listen_addr": "127.0.0.1", "auth_type": "trust",
    "auth_user": "postgres", "max_client_conn": 500,
    "default_pool_size": 60, "admin_users": "nobody",
}
# What 1.18 refuses at login. It loses what is asked for, or the suite could
# not run at all.
IGNORED = "extra_float_digits,options,search_path,statement_timeout," \
    "intervalstyle,geqo,jit,default_transaction_isolation," \
    "default_transaction_read_only,bytea_output,lock_timeout,work_mem," \
    "client_min_messages,synchronous_commit"
# What PostgreSQL does not report, and suites ask for at login.
TRACKED = "IntervalStyle,client_min_messages,extra_float_digits," \
    "statement_timeout,geqo,jit,synchronous_commit,work_mem"


class Ended(RuntimeError):
    """A pooler that did not live as long as its suite; says why."""


@dataclasses.dataclass
class Way:
    """A row of the table below: what is before the server."""
    name: str
    program: str = ""		# of the arena
    mode: str = ""
    settings: dict = dataclasses.field(default_factory=dict)


# a user of its own making, who asks for a database that is not there, is told
# so when auth_query can be asked elsewhere
OUR = {"track_extra_parameters": TRACKED, "auth_dbname": "postgres"}
KEEPING = {**OUR, "session_state": "keep", "default_pool_size": 20}
THEIR = {"ignore_startup_parameters": IGNORED}
WAYS = (
    Way(DIRECT),
    Way(SESSION, "pooler", "session", OUR),
    Way(TRANSACTION, "pooler", "transaction", OUR),
    Way(KEPT, "pooler", "transaction", KEEPING),
    Way(REFERENCE, "reference", "session", THEIR),
    Way(REFERENCE_TRANSACTION, "reference", "transaction", THEIR),
)
ALL = tuple(way.name for way in WAYS)
# for suites that need a server of their own for each session
SESSIONS = tuple(way.name for way in WAYS if way.mode != "transaction")
# for suites that are about a session's own state all the time
STATES = tuple(way.name for way in WAYS
               if way.mode != "transaction" or way.name == KEPT)
# where a session's state is whoever's has the server next
FORGETFUL = (TRANSACTION, REFERENCE_TRANSACTION)
OURS = tuple(way.name for way in WAYS if way.program == "pooler")


def hba(users):
    """Rules by which these are asked for a password, and nobody else is."""
    return "".join("host all %s 127.0.0.1/32 %s\n" % (user, method)
                   for user, _, method in users) + \
        "host all all 127.0.0.1/32 trust\n"


def add_users(pg, users):
    if not users:
        return
    with open(os.path.join(pg.data, "pg_hba.conf"), "w") as f:
        f.write(hba(users) + "local all all trust\n"
                "host replication all 127.0.0.1/32 trust\n")
    for name, password, method in users:
        pg.sql("set password_encryption = '%s'" % (
            "md5" if method == "md5" else "scram-sha-256"),
            "create role %s login password '%s'" % (name, password))
    pg.sql("select pg_reload_conf()")


def size(folder):
    """Bytes on the disk; files come and go meanwhile."""
    total = 0
    for path, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(path, name)).st_blocks * 512
    return total


def watch(proc, limit, folders):
    """Wait for its end; why it may not go on, or None."""
    end = time.monotonic() + limit
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            proc.wait(LOOK)
            return None
        if time.monotonic() > end:
            return "not done after %d s" % limit
        if sum(map(size, folders)) > ROOM:
            return "more than %d GB on the disk" % (ROOM >> 30)


class Pooler:
    """One pooler before a server; it is ended by stop()."""

    def __init__(self, program, pg, mode, users, settings):
        self.folder = harness.make_tmp()
        self.port = harness.free_port()
        self.log = os.path.join(self.folder, "log")
        names, rules, ini = (os.path.join(self.folder, name)
                             for name in ("users", "hba", "ini"))
        self._put(names, '"postgres" ""\n' + "".join(
            '"%s" "%s"\n' % user[:2] for user in users))
        self._put(rules, hba(users))
        values = {**POOLER, "listen_port": self.port, "pool_mode": mode,
                  "unix_socket_dir": self.folder, "auth_file": names,
                  "auth_hba_file": rules, **settings}
        if users:
            values["auth_type"] = "hba"
        self._put(ini, "[databases]\n* = host=127.0.0.1 port=%d\n"
                  "[pgbouncer]\n" % pg.port + "".join(
                      "%s = %s\n" % item for item in values.items()))
        with open(self.log, "wb") as log:
            self.proc = subprocess.Popen(
                [program, ini], stdout=log, stderr=log,
                stdin=subprocess.DEVNULL, cwd=self.folder,
                env=harness.process_env(), **harness.as_user())
        harness.wait_until(self._is_up, what="the pooler to start")

    def _put(self, path, text):
        with open(path, "w") as f:
            f.write(text)
        os.chmod(harness.give(path), 0o644)

    def _is_up(self):
        if self.proc.poll() is not None:
            raise RuntimeError("%s has ended:\n%s" % (
                self.proc.args[0], self.text()))
        return "process up: " in self.text()

    def text(self):
        with open(self.log, errors="replace") as f:
            return f.read()

    def stop(self):
        """What is wrong with its end, or None."""
        early = self.proc.poll()
        if early is None:
            self.proc.send_signal(signal.SIGQUIT)
            try:
                self.proc.wait(harness.TIMEOUT)
            except subprocess.TimeoutExpired:
                self.proc.kill()
                self.proc.wait()
        text = self.text()
        shutil.rmtree(self.folder, ignore_errors=True)
        bad = harness.SANITIZER.search(text)
        if bad:
            return text[bad.start():bad.start() + 3000]
        return None if early is None else \
            "it had ended with %d:\n%s" % (early, text[-3000:])


class Place:
    """What a suite's run() is given: where to connect, and a folder."""

    user, dbname, host = "postgres", "postgres", "127.0.0.1"

    def __init__(self, way, pg, before):
        self.way, self.pg = way, pg
        self.port = before.port if before else pg.port
        self.folder = harness.make_tmp()
        self.folders = [self.folder, pg.dir] + (
            [before.folder] if before else [])

    def env(self, **more):
        """The environment of a client program, with libpq's variables."""
        kept = {k: v for k, v in os.environ.items()
                if not k.startswith(("PG", "LC_", "PYTHON"))
                and k != "LANGUAGE"}
        return {**kept, "HOME": self.folder, "TMPDIR": self.folder,
                "LC_ALL": "C.UTF-8", "TZ": "UTC", "PYTHONUNBUFFERED": "1",
                "PYTHONDONTWRITEBYTECODE": "1",
                "PGHOST": self.host, "PGPORT": str(self.port),
                "PGUSER": self.user, "PGDATABASE": self.dbname, **more}

    def run(self, command, limit=1800, cwd=None, **env):
        """Output of a client program; it runs as the unprivileged user, in a
        process group of its own that does not outlive it."""
        with open(os.path.join(self.folder, "output"), "a+b") as out:
            begun = out.seek(0, os.SEEK_END)
            proc = subprocess.Popen(
                command, cwd=cwd or self.folder, env=self.env(**env),
                stdin=subprocess.DEVNULL, stdout=out,
                stderr=subprocess.STDOUT, start_new_session=True,
                **harness.as_user())
            try:
                bad = watch(proc, limit, self.folders)
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(proc.pid, signal.SIGKILL)
                proc.wait()
            if bad:
                print("%s: %s" % (command[0], bad), flush=True)
            out.seek(begun)
            return out.read().decode(errors="replace")

    def keep(self, to):
        """For who looks for a reason: what the suite printed."""
        to = os.path.join(to, self.way.replace(" ", "-"))
        os.makedirs(to, exist_ok=True)
        for name in ("output", "regression.diffs", "junit.xml", "reports"):
            path = os.path.join(self.folder, name)
            if os.path.isdir(path):
                shutil.copytree(path, os.path.join(to, name),
                                dirs_exist_ok=True)
            elif os.path.exists(path):
                shutil.copy(path, to)

    def copy(self, folder):
        """A copy that the user may write to."""
        to = os.path.join(self.folder, os.path.basename(folder))
        shutil.copytree(folder, to, symlinks=True)
        if harness.USER:
            subprocess.run(["chown", "-R", "%d:%d" % (
                harness.USER.pw_uid, harness.USER.pw_gid), to], check=True)
        return to


class Arena:
    """The programs, and a data folder to copy new servers from."""

    def __init__(self, pooler, reference):
        self.pooler, self.reference = pooler, reference
        self.seed = harness.make_tmp()
        self.data = os.path.join(self.seed, "data")
        subprocess.run([harness.pg_bin("initdb"), "-D", self.data,
                        "-U", "postgres", "-A", "trust", "-E", "UTF8",
                        "--locale=C", "-N"], check=True,
                       stdout=subprocess.DEVNULL, cwd="/",
                       **harness.as_user())

    def close(self):
        shutil.rmtree(self.seed, ignore_errors=True)

    def _copy(self, to):
        subprocess.run(["cp", "-R", self.data, to], check=True, cwd="/",
                       **harness.as_user())

    def _before(self, way, pg, users):
        if not way.program:
            return None
        return Pooler(getattr(self, way.program), pg, way.mode, users,
                      way.settings)

    @contextlib.contextmanager
    def place(self, name, users=()):
        """A server, and what is before it on this way; `users` are
        (name, password, how they are asked for it)."""
        way = next(w for w in WAYS if w.name == name)
        pg = harness.Postgres(copy=self._copy, **SERVER)
        before = place = wrong = None
        try:
            add_users(pg, users)
            before = self._before(way, pg, users)
            place = Place(name, pg, before)
            yield place
        finally:
            if before:
                wrong = before.stop()
            pg.stop()
            if place:
                if KEEP:
                    place.keep(KEEP)
                shutil.rmtree(place.folder, ignore_errors=True)
        if wrong:
            raise Ended("%s: %s" % (name, wrong))
