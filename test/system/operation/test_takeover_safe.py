# test_takeover_safe.py - an online restart that can't work changes nothing.
# SPDX-License-Identifier: ISC
"""What can fail in the new process fails before the old one is told to go;
who hands over, and who is handed over to, must be of the same user."""
import os
import re
import signal
import subprocess
import sys
import threading
import time

import pytest

import harness
import pq
from harness import REFERENCE, binary, run, wait_until

pytestmark = pytest.mark.skipif(REFERENCE, reason="newer than that")
DEATHLY_STILL = 8.0     # seconds without an answer: too long


def successor(pooler, p, **settings):
    """A process that is to take over from p."""
    q = pooler(start=False, args=["-R"])
    q.port = p.port
    q.settings = dict(p.settings, **settings)
    q.dbs = dict(p.dbs)
    return q


def fails(q, **popen):
    """q does not become the successor; its log."""
    q.expect_exit = 1
    q.write()
    q.launch(**popen)
    assert q.wait_exit() == 1, q.log
    return q.log


def in_transaction(p):
    c = p.raw()
    c.query("begin")
    c.query("create temp table mine as select 42 as n")
    return c


def goes_on(p, c):
    """As if nothing had happened, for c and for others."""
    assert c.value("select n from mine") == "42"
    c.query("commit")
    assert p.raw().value("select 1") == "1"
    with p.raw(unix=True) as u:
        assert u.value("select 2") == "2"


def unusable(kind, folder):
    """A path that can't become a pid file, and what the log says of it."""
    path = os.path.join(folder, "x.pid")
    if kind == "missing folder":
        return os.path.join(folder, "no", "x.pid"), "No such file"
    if kind == "forbidden folder":
        return "/proc/x.pid", "could not open pidfile '/proc/x.pid"
    if kind == "folder":
        os.mkdir(path)
        return path, "Is a directory"
    if kind == "pipe":
        os.mkfifo(path)
        return harness.give(path), "not a regular file"
    if kind == "dangling link":
        os.symlink("/does/not/exist", path)
        return path, "a link that leads nowhere"
    with open(path, "w") as f:
        f.write("" if kind == "empty" else "%d\n" % os.getpid())
    return harness.give(path), "another instance running?"


@pytest.mark.parametrize("daemon", [False, True])
@pytest.mark.parametrize("kind", ["missing folder", "forbidden folder",
                                  "folder", "pipe", "dangling link", "empty",
                                  "foreign"])
def test_unusable_pidfile_is_found_before_anybody_stands_still(
        pooler, kind, daemon):
    """config-files.md 21: nothing is lost; the status says it"""
    p = pooler()
    c = in_transaction(p)
    q = successor(pooler, p)
    path, text = unusable(kind, q.dir)
    q.settings["pidfile"] = path
    if daemon:
        q.write()
        out = run([binary(), "-d", "-R", q.ini], cwd=q.dir)
        assert out.returncode == 1 and text in out.stderr
    else:
        assert text in fails(q)
    assert "SUSPEND command issued" not in p.log
    goes_on(p, c)


@pytest.mark.setting("pidfile")
def test_stale_pidfile_at_another_path_freezes_nobody(pooler):
    """the file of a process that ended long ago is not waited for"""
    p = pooler()
    c = p.raw()
    q = successor(pooler, p)
    with subprocess.Popen(["true"]) as dead:
        pass
    q.settings["pidfile"] = q.put("stale.pid", "%d\n" % dead.pid)
    over, gaps = threading.Event(), []

    def ask():
        while not over.is_set():
            then = time.monotonic()
            assert c.value("select 1") == "1"
            gaps.append(time.monotonic() - then)
    asking = threading.Thread(target=ask)
    asking.start()
    q.start()
    over.set()
    asking.join()
    assert p.wait_exit() == 0
    assert "stale pidfile, removing" in q.log
    assert max(gaps) < DEATHLY_STILL
    with open(q.settings["pidfile"]) as f:
        assert f.read() == "%d\n" % q.proc.pid


def test_pidfile_that_stays_does_not_end_the_successor(pooler):
    """once the old process is gone nothing is fatal: a foreign file appears
    in the last moment"""
    p = pooler(start=False)
    p.settings["pidfile"] = path = os.path.join(p.dir, "p.pid")
    p.start()
    c = in_transaction(p)
    # the old one removes its own file; a folder in its place stays
    q = successor(pooler, p)
    os.remove(path)
    q.settings["pidfile"] = path
    q.write()
    over = threading.Event()

    def put_in_the_way():
        wait_until(lambda: "got pooler socket" in q.log or over.is_set())
        try:
            os.mkdir(path)
        except FileExistsError:
            pass    # too late: it was written
    q.launch()
    thread = threading.Thread(target=put_in_the_way)
    thread.start()
    try:
        wait_until(lambda: "process up" in q.log)
    finally:
        over.set()
        thread.join()
    assert p.wait_exit() == 0
    assert c.value("select n from mine") == "42"


def test_too_few_descriptors_are_found_before_the_old_one_goes(pooler):
    """config-files.md 21: what does not fit is not taken"""
    p = pooler()
    conns = [p.raw() for _ in range(40)]
    c = in_transaction(p)
    q = successor(pooler, p)
    # it needs a file to look for leaks
    q.env["ASAN_OPTIONS"] = "detect_leaks=0"
    text = fails(q, prefix=["prlimit", "--nofile=40:40"])
    assert "FATAL cannot take over: " in text
    wait_until(lambda: p.show("state", key="suspended")[0]["value"] == "no")
    goes_on(p, c)
    for k in conns:
        assert k.value("select 1") == "1"


@pytest.mark.parametrize("setting,value,text", [
    ("logfile", "/does/not/exist/x.log", "Cannot open logfile"),
    ("client_tls_sslmode", "require", "TLS setup failed"),
    ("auth_type", "nonsense", "cannot load config file")])
def test_configuration_that_can_not_work_freezes_nobody(pooler, setting,
                                                        value, text):
    """config-files.md 21"""
    p = pooler()
    c = in_transaction(p)
    assert text in fails(successor(pooler, p, **{setting: value}))
    assert "SUSPEND command issued" not in p.log
    goes_on(p, c)


def test_stopped_process_is_given_up(pooler):
    """it goes on with all its sessions when it is let"""
    p = pooler()
    c = in_transaction(p)
    p.signal(signal.SIGSTOP)
    try:
        wait_until(lambda: harness.state_of(p.proc.pid) == "T")
        assert "is it stopped?" in fails(successor(pooler, p))
    finally:
        p.signal(signal.SIGCONT)
    goes_on(p, c)


@pytest.mark.option("--daemon")
def test_daemon_that_can_not_start_says_so(pooler):
    """config-files.md 16, 20: the status is that of the whole start"""
    p = pooler()
    q = pooler(start=False)
    q.settings.update(listen_port=p.port, pidfile=os.path.join(q.dir, "pid"),
                      logfile=os.path.join(q.dir, "log"))
    q.write()
    out = run([binary(), "-d", q.ini], cwd=q.dir)
    assert out.returncode == 1
    assert out.stderr.endswith("has ended, its log says why: %s\n"
                               % q.settings["logfile"])
    with open(q.settings["logfile"]) as f:
        assert "failed to listen on any address" in f.read()
    assert run([binary(), "-q", "-d", q.ini], cwd=q.dir).stderr.count(
        "says why") == 0


def test_daemon_is_up_when_its_starter_ends(pooler):
    """config-files.md 16: status 0, and all is there"""
    q = pooler(start=False)
    q.settings.update(pidfile=os.path.join(q.dir, "pid"),
                      logfile=os.path.join(q.dir, "log"))
    q.write()
    out = run([binary(), "-d", q.ini], cwd=q.dir)
    assert out.returncode == 0, out.stderr
    with open(q.settings["pidfile"]) as f:
        pid = int(f.read())
    try:
        assert out.stderr.endswith("process %d runs in the background, its "
                                   "log: %s\n" % (pid, q.settings["logfile"]))
        assert q.raw().value("select 1") == "1"
    finally:
        os.kill(pid, signal.SIGQUIT)
        wait_until(lambda: harness.has_ended(pid))


@pytest.mark.parametrize("linked", [False, True])
def test_session_of_too_much_state_is_left_behind(pooler, linked):
    """config-files.md 21: alone, and the log says why"""
    p = pooler(max_prepared_statements=200, max_prepared_statement_memory=0)
    huge, c = p.raw(), in_transaction(p)
    if linked:
        huge.query("begin")
    for i in range(175):
        huge.send(pq.parse("select '%s'" % ("%d" % i).ljust(400000, "x"),
                           "s%d" % i), pq.sync())
        assert not huge.recv_until().errors
    q = successor(pooler, p)
    q.start()
    assert p.wait_exit() == 0
    # the server knows as many statements, and is another matter
    lines = [line for line in p.log.splitlines() if " WARNING C-" in line]
    assert len(lines) == 1
    assert "cannot be handed over, because its state needs more than 64 MB" in lines[0]
    assert huge.recv_all().messages == []
    goes_on(p, c)


# --- one that only looks like a pooler ------------------------------------

# It answers like one up to the word it stops at; its argument list: path of
# the socket, port, word.
FAKE = """
import array, os, socket, struct, sys, threading
path, port, stop = sys.argv[1], int(sys.argv[2]), sys.argv[3]
names = ["fd", "task", "user", "database", "link", "password",
         "scram_client_key", "state"]
def message(kind, body):
    return kind + struct.pack("!I", len(body) + 4) + body
def row(*values):
    return message(b"D", struct.pack("!H", len(values)) + b"".join(
        b"\\xff" * 4 if v is None else struct.pack("!I", len(v)) + v.encode()
        for v in values))
ready = message(b"Z", b"I")
unix = socket.socket(socket.AF_UNIX)
unix.bind(path)
unix.listen()
tcp = socket.socket()
tcp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
tcp.bind(("127.0.0.1", port))
tcp.listen()
print("ready", flush=True)
met = threading.Event()
def end_alone():
    sys.stdin.read()
    if not met.is_set():
        os._exit(0)
threading.Thread(target=end_alone, daemon=True).start()
def read(n):
    data = b""
    while len(data) < n:
        more = c.recv(n - len(data))
        if not more:
            print("left", flush=True)
            sys.exit()
        data += more
    return data
while True:
    c, _ = unix.accept()
    head = c.recv(4)
    if head:
        met.set()
        break       # the one before asked whether we are there
read(struct.unpack("!I", head)[0] - 4)
def say(word, data):
    print(word, flush=True)
    if word != stop:
        c.sendall(data)
say("login", message(b"R", b"\\0" * 4) + ready)
while True:
    kind = read(1)
    text = read(struct.unpack("!I", read(4))[0] - 4).rstrip(b"\\0;").decode()
    if text == "SHOW FDS" and stop != text:
        c.sendall(message(b"T", struct.pack("!H", len(names)) + b"".join(
            n.encode() + b"\\0" + b"\\0" * 18 for n in names)))
        for s in (unix, tcp):
            c.sendmsg([row(str(s.fileno()), "pooler", *[None] * 6)],
                [(socket.SOL_SOCKET, socket.SCM_RIGHTS,
                  array.array("i", [s.fileno()]))])
        unix.close()
        tcp.close()
    if text == "SHUTDOWN" and stop != text:
        print(text, flush=True)
        sys.exit()
    say(text, message(b"C", b"OK\\0") + ready)
"""


class Fake:
    def __init__(self, q, stop, **popen):
        how = dict(harness.as_user(), **popen)
        self.proc = subprocess.Popen(
            [sys.executable, "-c", FAKE,
             os.path.join(q.settings["unix_socket_dir"],
                          ".s.PGSQL.%d" % q.port), str(q.port), stop],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            cwd="/", **how)
        assert self.proc.stdout.readline() == "ready\n"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.proc.stdin.close()
        self.words = self.proc.stdout.read().split("\n")
        self.proc.wait()


@pytest.mark.parametrize("word", ["login", "SUSPEND", "SHOW FDS",
                                  "SHOW VERSION"])
def test_process_that_falls_silent_is_given_up(pooler, word):
    """config-files.md 21: at any time before it was told to end"""
    q = pooler(start=False, args=["-R"], suspend_timeout="100ms")
    with Fake(q, word) as fake:
        assert "is it stopped?" in fails(q)
    assert "left" in fake.words and "SHUTDOWN" not in fake.words


def test_process_that_falls_silent_at_its_end_is_replaced(pooler):
    """it stands still, and what it does next is to end"""
    q = pooler(start=False, args=["-R"], suspend_timeout="100ms")
    with Fake(q, "SHUTDOWN") as fake:
        q.start()
        assert ("WARNING the old process (%d) was asked to end, and has "
                "not ended" % fake.proc.pid) in q.log
        assert q.raw().value("select 1") == "1"
        # our end of the connection would let it go on
        with pytest.raises(subprocess.TimeoutExpired):
            fake.proc.wait(0.2)
        q.stop()
    assert "left" in fake.words


def two_users():
    """The keyword arguments that start a process as another one."""
    user = harness.pwd.getpwnam("daemon")
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


@pytest.mark.root
@pytest.mark.parametrize("args", [["-R"], []])
def test_impostor_hands_over_nothing(pooler, args):
    """config-files.md 17, 21: a folder that all may write. Without -R it is
    the TCP port that keeps the pooler from starting."""
    other = two_users()
    q = pooler(start=False, args=args)
    shared = os.path.join(q.dir, "shared")
    os.mkdir(shared)
    os.chmod(shared, 0o1777)
    q.settings["unix_socket_dir"] = shared
    with Fake(q, "nothing", **other) as fake:
        text = fails(q)
    assert ("belongs to user 'daemon'" if args else
            "failed to listen on any address") in text
    assert "login" not in fake.words


@pytest.mark.root
def test_impostor_behind_a_file_of_ours_hands_over_nothing(pooler):
    """config-files.md 21: the file is ours, who answers is not"""
    other = two_users()
    q = pooler(start=False, args=["-R"])
    shared = os.path.join(q.dir, "shared")
    os.mkdir(shared)
    os.chmod(shared, 0o1777)
    q.settings["unix_socket_dir"] = shared
    with Fake(q, "nothing", **other) as fake:
        harness.give(os.path.join(shared, ".s.PGSQL.%d" % q.port))
        os.chmod(os.path.join(shared, ".s.PGSQL.%d" % q.port), 0o777)
        text = fails(q)
    assert "a process of user 'daemon' listens" in text
    assert "login" not in fake.words


@pytest.mark.root
@pytest.mark.parametrize("name", ["", ".lock"])
def test_file_of_another_user_leaves_tcp(pooler, name):
    """config-files.md 17: the log says whose file is in the way"""
    other = two_users()
    q = pooler(start=False)
    shared = os.path.join(q.dir, "shared")
    os.mkdir(shared)
    os.chmod(shared, 0o1777)
    q.settings["unix_socket_dir"] = shared
    path = os.path.join(shared, ".s.PGSQL.%d%s" % (q.port, name))
    run_as = dict(other, cwd="/")
    subprocess.run([sys.executable, "-c", "import socket, sys; "
                    "socket.socket(socket.AF_UNIX).bind(sys.argv[1])", path],
                   check=True, **run_as)
    q.start()
    q.wait_log("WARNING unix port .* '%s' belongs to user 'daemon'.*: only TCP "
               "is served" % re.escape(path))
    assert q.raw().value("select 1") == "1"
    assert os.stat(path).st_uid == other["user"]


def test_what_is_no_socket_is_not_removed(pooler):
    """config-files.md 17: only a socket can be a stale one"""
    q = pooler(start=False)
    path = q.put(".s.PGSQL.%d" % q.port, "precious\n")
    assert "the file is not a socket" in fails(q)
    with open(path) as f:
        assert f.read() == "precious\n"


def test_successor_that_does_not_read_is_given_up(pooler):
    """admin-console.md 5.17: in suspend_timeout, then all go on"""
    p = pooler(suspend_timeout=1)
    c = p.raw()
    c.send(pq.parse("select 1 /* %s */" % ("x" * 3000000), "big"), pq.sync())
    c.recv_until().check()
    k = p.raw("pgbouncer", "pgbouncer", unix=True,
              application_name="pgsluice-takeover-1")
    k.query("suspend")
    before = time.monotonic()
    k.send(pq.query("show fds"))
    assert c.value("select 1") == "1"
    assert time.monotonic() - before < 25
    assert "could not pass descriptors: Connection timed out" in p.log
