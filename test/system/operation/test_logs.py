# test_logs.py - where log lines go, in which form, and what slow queries say.
# SPDX-License-Identifier: ISC
import json
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import threading
import time

import pytest

import harness
import pq
from harness import REFERENCE, process_env, wait_until

pytestmark = pytest.mark.skipif(REFERENCE, reason="newer than that")


def objects(p):
    return [json.loads(line) for line in p.log.splitlines()
            if line.startswith("{")]


# --- JSON -----------------------------------------------------------------

@pytest.mark.setting("log_format")
def test_json_has_the_same_facts(pooler):
    """one object a line, stable keys"""
    p = pooler(log_format="json")
    c = p.raw(unix=True)
    c.query("select 1")
    c.close()
    p.wait_log("closing because: client close request")
    lines = [x for x in p.log.splitlines() if "TLS" not in x or "{" in x]
    # what is said before the file is read is text
    assert all(x.startswith("{") for x in lines)
    for o in objects(p):
        assert list(o)[:3] == ["time", "pid", "level"], o
        assert list(o)[-1] == "message"
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}"
                            r"\+00:00", o["time"])
        assert o["pid"] == p.proc.pid
        assert o["level"] in ("LOG", "WARNING", "ERROR")
    o = [x for x in objects(p) if x["message"].startswith("login attempt")]
    assert list(o[0]) == ["time", "pid", "level", "side", "ptr", "database",
                          "user", "address", "message"]
    assert (o[0]["side"], o[0]["database"], o[0]["user"]) == (
        "client", "p0", "app")
    assert o[0]["address"] == "unix(%d):%d" % (os.getpid(), p.port)
    assert re.fullmatch(r"0x[0-9a-f]+", o[0]["ptr"])
    assert [x for x in objects(p) if x.get("side") == "server" and
            x["message"].startswith("new connection to server")]


def test_json_holds_any_bytes(pooler):
    """log_format: quotes, controls, what is no UTF-8"""
    p = pooler(log_format="json")
    for user in (b'a"b\\c\nd', b"\xff\xfe", "\u00e9".encode()):
        c = p.open()
        c.send(pq.untyped(pq.V3_0, b"user\0" + user + b"\0database\0p0\0\0"))
        c.recv_all()
    wait_until(lambda: sum("login attempt" in o["message"]
                           for o in objects(p)) >= 3)
    text = [o["message"] for o in objects(p) if "login attempt" in
            o["message"]]
    assert 'user=a"b\\c\nd ' in text[0]
    assert "user=?? " in text[1]
    assert "user=\u00e9 " in text[2]


def test_name_of_no_database_is_cut(pooler):
    """as PostgreSQL cuts names, and no character in two"""
    p = pooler(auth_type="trust")
    kept = "x" + 31 * "\u00e9"
    c = p.open()
    c.login("app", database=kept[:-1] + 900 * "\u00e9", wait=False)
    c.recv_all()
    p.wait_log("pooler error: no such database: %s\n" % kept)
    assert "login attempt: db=%s user=app " % kept in p.log
    assert "login failed: db=%s user=app\n" % kept in p.log


@pytest.mark.parametrize("form", ["text", "json"])
def test_no_byte_of_a_client_controls_a_terminal(pooler, form):
    """C0, DEL and C1, as UTF-8 and raw, ends of lines, what turns text
    around; what can be read stays"""
    p = pooler(log_format=form)
    name = (b"a" + bytes(range(1, 32)) + b"\x7f\x80\x9b2J\x9f" +
            "\u0080\u009b\u009f\u2028\u2029\u202e\u2066\u061c".encode() +
            "\u00e9\u20ac\u041b".encode() + b"z")
    c = p.open()
    c.send(pq.untyped(pq.V3_0, b"user\0" + name + b"\0database\0p0\0\0"))
    c.recv_all()
    p.wait_log("login attempt: db=p0 user=a")
    p.settle()
    with open(p.logname, "rb") as f:
        raw = f.read()
    for line in raw.replace(b"\n\t", b"").splitlines():
        text = line.decode()        # all of it is UTF-8
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f"
                             r"\u2028-\u202e\u2066-\u2069]", text), text
    assert "\u00e9\u20ac\u041bz".encode() in raw


@pytest.mark.setting("logfile")
def test_log_file_is_not_for_others(pooler):
    """whatever the umask"""
    p = pooler(start=False)
    path = os.path.join(p.dir, "log")
    p.settings["logfile"] = path
    p.write()
    p.launch(preexec_fn=lambda: os.umask(0))
    wait_until(lambda: os.path.exists(path) and "process up: " in p.log)
    assert os.stat(path).st_mode & 0o7777 == 0o640


def test_json_can_be_switched(pooler):
    """log_format: by SET and by reload"""
    p = pooler()
    assert not objects(p)
    p.admin("set log_format = json")
    p.raw().close()
    wait_until(lambda: objects(p))
    p.admin("set log_format = text")
    n = len(objects(p))
    p.raw().close()
    p.wait_log(r"UTC \[\d+\] LOG .*client close request")
    assert len(objects(p)) <= n + 1


# --- slow queries ---------------------------------------------------------

SLOW = re.compile(r"LOG C-0x[0-9a-f]+: p0/app@\S+ slow query: wait "
                  r"(\d+)\.\d{3} ms, run (\d+)\.\d{3} ms(: .*)?$", re.M)


@pytest.mark.setting("log_min_duration")
def test_slow_queries_are_logged_without_their_text(pooler, latch):
    """user, database, client, wait and run time"""
    p = pooler(log_min_duration=3600, default_pool_size=1)
    a, b = p.raw(), p.raw()
    a.query("select 'fast'")
    p.admin("set log_min_duration = '0.3'")
    a.send(pq.query("select %s, 'secret'" % latch.query))
    p.wait_pool(sv_active=1)
    b.send(pq.query("select 'patient'"))
    wait_until(lambda: p.pool()["maxwait"] >= 1)
    latch.open()
    a.recv_until().check()
    b.recv_until().check()
    wait_until(lambda: len(SLOW.findall(p.log)) == 2)
    (wait, run, text), (patient, quick, other) = [
        (int(w), int(r), t) for w, r, t in SLOW.findall(p.log)]
    assert wait < 800 <= run and quick < 800 <= patient
    assert text == other == ""
    assert "secret" not in p.log and "patient" not in p.log
    p.admin("set log_min_duration = 0")
    a.query("select pg_sleep(0.3)")
    assert len(SLOW.findall(p.log)) == 2


def pipeline(a):
    a.send(*[pq.parse("select pg_sleep(%s)" % s) + pq.bind() + pq.execute()
             + pq.sync() for s in (0.3, 0, 0)])
    for n in range(3):
        a.recv_until()


def copy_in(a):
    """Its trigger takes the time."""
    a.send(pq.query("copy slow_copy from stdin"))
    assert a.recv()[0] == "G"
    a.send(pq.copy_data(b"1\n"), pq.copy_done())
    assert a.recv_until().check().tags == ["COPY 1"]


KINDS = {
    "simple": lambda a: a.query("select pg_sleep(0.3)"),
    "several": lambda a: a.query("select 1; select pg_sleep(0.3)"),
    "extended": lambda a: a.extended("select pg_sleep(0.3)"),
    "pipeline": pipeline,
    "copy": lambda a: a.query("copy (select pg_sleep(0.3)) to stdout"),
    "copy in": copy_in,
    "error": lambda a: a.try_query("do $$ begin perform pg_sleep(0.3); "
                                   "raise 'x'; end $$"),
}


@pytest.mark.parametrize("mode", ["session", "transaction", "statement"])
def test_slow_query_of_every_kind(pooler, pg, mode):
    """log_min_duration: one line for each; how long it ran"""
    pg.sql("drop table if exists slow_copy; create table slow_copy (n int)",
           "create or replace function take_time() returns trigger language "
           "plpgsql as 'begin perform pg_sleep(0.3); return new; end'",
           "create trigger slow before insert on slow_copy for each row "
           "execute function take_time()",
           "grant insert on slow_copy to app", db="p0")
    p = pooler(pool_mode=mode)
    a = p.raw()
    a.query("select 1")
    p.admin("set log_min_duration = '0.2'")
    for n, kind in enumerate(KINDS, 1):
        start = time.monotonic()
        KINDS[kind](a)
        whole = (time.monotonic() - start) * 1000
        found = SLOW.findall(p.log)
        assert len(found) == n, (kind, p.log)
        wait, run, text = found[-1]
        assert 299 <= int(run) <= int(wait) + int(run) <= whole, kind
        assert text == ""


def test_slow_query_that_never_ends_is_logged(pooler):
    """its client goes, it takes too long, or waits too long"""
    p = pooler(default_pool_size=1, log_format="json")
    a, b = p.raw(), p.raw()
    a.query("begin")
    p.admin("set log_min_duration = '0.05'")
    # b asks first: were its time up behind a's, it would get a server
    b.send(pq.query("select 1"))
    p.wait_pool(cl_waiting=1)
    p.admin("set query_timeout = '0.3'")
    a.send(pq.query("select pg_sleep(60)"))
    for c in (a, b):
        assert c.recv_all().errors[-1].code == "08P01"
    text = r"slow query: wait (\d+)\.\d{3} ms, run (\d+)\.\d{3} ms" \
        r", unfinished"
    p.wait_log(text, count=2)
    # b waited all the time, a ran
    (w1, r1), (w2, r2) = sorted((int(x), int(y))
                                for x, y in re.findall(text, p.log))
    assert w1 < r1 and r1 >= 300 and w2 > 200 and r2 == 0
    lines = [o["message"] for o in objects(p) if o.get("side") == "client"]
    at = [i for i, m in enumerate(lines) if m.startswith("slow query")]
    assert all(lines[i + 1].startswith("closing because: query")
               for i in at)


@pytest.mark.setting("log_query_text")
def test_slow_queries_with_their_text(pooler):
    """simple, extended, prepared; cut when long"""
    p = pooler(log_query_text=1, max_prepared_statements=10)
    a = p.raw()
    a.send(pq.parse("select pg_sleep(0.1), 'three'", "s"), pq.sync())
    a.recv_until()
    p.admin("set log_min_duration = '0.05'")
    a.query("select pg_sleep(0.1), 'one'\n-- more")
    a.extended("select pg_sleep(0.1), 'two'")
    a.send(pq.bind("s"), pq.execute(), pq.sync())
    a.recv_until()
    a.query("select pg_sleep(0.1), '%s'" % ("x" * 5000))
    wait_until(lambda: len(SLOW.findall(p.log)) == 4)
    texts = [t for _, _, t in SLOW.findall(p.log)]
    assert texts[0] == ": select pg_sleep(0.1), 'one'"
    assert "\n\t-- more" in p.log
    assert texts[1] == ": select pg_sleep(0.1), 'two'"
    assert texts[2] == ": select pg_sleep(0.1), 'three'"
    assert texts[3].startswith(": select pg_sleep(0.1), 'xxx")
    assert len(texts[3]) <= 1002


TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


def test_slow_queries_with_their_trace(pooler):
    """W3C traceparent in a comment, as sqlcommenter writes it"""
    p = pooler(log_format="json", log_min_duration=0.01)
    with p.raw() as c:
        for sql in ("select pg_sleep(0.02), 1 /*traceparent='%s'*/" % TRACE,
                    "select pg_sleep(0.02), 2 /*traceparent='%s'*/" % "x"):
            c.query(sql)
        c.extended("/*traceparent='%s'*/ select pg_sleep(0.02)" % TRACE)
    wait_until(lambda: p.log.count("slow query") == 3)
    slow = [o for o in objects(p) if o["message"].startswith("slow query")]
    assert [o.get("traceparent") for o in slow] == [TRACE, None, TRACE]
    assert slow[0]["message"].endswith(" ms, traceparent " + TRACE)
    assert not any("traceparent" in o for o in objects(p) if o not in slow)


# --- where nobody reads, or nothing can be written -----------------------

LOST = r"UTC \[\d+\] WARNING (\d+) log lines lost: "
FASTER = "they came faster than they were read or written\n"


def wait_up(p):
    """Without its log."""
    def up():
        try:
            return p.raw().value("select 1") == "1"
        except OSError:
            return False
    wait_until(up)


def flood(p, until):
    """Log, query, log: until something is so."""
    c = p.raw()
    while not until():
        assert c.value("select 1") == "1"
        for _ in range(20):
            p.raw().close()


def test_log_that_nobody_reads_does_not_stop_the_loop(pooler):
    """a full pipe on stderr: lines are dropped, and that is told; the file
    gets all of them"""
    p = pooler(start=False, args=["-v", "-v"])
    p.settings["logfile"] = own = os.path.join(p.dir, "own.log")
    p.write()
    r, w = os.pipe()
    p.launch(stderr=w)
    os.close(w)
    wait_up(p)
    flood(p, lambda: os.path.getsize(own) > 700000)
    text, whole = b"", (LOST + FASTER + ".+\n").encode()
    while not re.search(whole, text) or text[-1:] != b"\n":
        text += os.read(r, 65536)
        p.raw().close()
    m = re.search(LOST + FASTER, text.decode())
    assert m and int(m.group(1)) > 10
    # what came before and after is whole, and as it stands in the file
    at = text.decode().index("\n", m.end(0) - 1) + 1
    before = text.decode()[:text.decode().rindex("\n", 0, m.start(0)) + 1]
    behind = text.decode()[at:text.decode().rindex("\n") + 1]
    wait_until(lambda: behind in harness.read(own).decode(),
               what="the same in the file, which has a thread of its own")
    full = harness.read(own).decode()
    assert not re.search(LOST, full)
    assert full.startswith(before)
    # and nothing else: no line is missing that was not counted
    missing = full[len(before):full.index(behind)]
    assert len(re.findall(r"\n(?!\t)", missing)) == int(m.group(1))
    done = threading.Event()

    def drain():
        while os.read(r, 65536):
            pass
        done.set()
    t = threading.Thread(target=drain)
    t.start()
    p.signal(signal.SIGQUIT)
    assert p.wait_exit() == 0
    t.join()
    os.close(r)


def test_load_goes_on_while_no_log_is_read(pooler, pg):
    """neither stderr nor the log file, which is a named pipe: the process
    serves, reloads and ends"""
    pg.make_bench()
    p = pooler(start=False, dbs={"bench": "", "p0": ""},
               args=["-v", "-v"])
    p.settings["logfile"] = fifo = os.path.join(p.dir, "fifo")
    os.mkfifo(fifo)
    harness.give(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    writer = os.open(fifo, os.O_WRONLY | os.O_NONBLOCK)
    p.write()
    r, w = os.pipe()
    p.launch(stderr=w)
    wait_up(p)
    flood(p, lambda: full(w) and full(writer))
    for _ in range(3):
        harness.pgbench(p, "-C", "-S", clients=4, seconds=1)
        p.admin("reload")
    p.signal(signal.SIGQUIT)
    assert p.wait_exit() == 0
    for fd in r, w, reader, writer:
        os.close(fd)


def full(fd):
    """The pipe takes no more. Not a matter of bytes: a write that does not
    fit into what is left of the last page begins a new one."""
    return not select.select([], [fd], [], 0)[1]


def test_full_disk_costs_lines_only(pooler):
    """ENOSPC: told in the log when there is room again"""
    p = pooler(start=False)
    p.settings["logfile"] = path = os.path.join(p.dir, "own.log")
    os.symlink("/dev/full", path)
    p.start()
    for _ in range(10):
        assert p.raw().value("select 1") == "1"
    p.wait_log("login attempt", count=10)
    os.unlink(path)
    p.admin("reload")
    p.raw().close()
    # of this client, not of the one that gave the command
    wait_until(lambda: b"client close request" in harness.read(path))
    text = harness.read(path).decode()
    m = re.match(r"\S+ \S+ " + LOST + "No space left on device\n", text)
    assert m and int(m.group(1)) == p.log.count("\n") - text.count("\n") + 1
    assert "log lines lost" not in p.log


def test_log_file_that_goes_away_does_not_end_a_running_process(pooler):
    """a reload that can't open it: told elsewhere, the old one is kept"""
    p = pooler(start=False)
    folder = os.path.join(p.dir, "logs")
    os.mkdir(folder)
    harness.give(folder)
    p.settings["logfile"] = path = os.path.join(folder, "own.log")
    p.start()
    a = p.raw()
    os.rename(folder, folder + ".old")
    p.admin("reload")
    p.wait_log(" ERROR Cannot open logfile: '%s': No such file or directory"
               % path)
    assert a.value("select 1") == "1"
    kept = os.path.join(folder + ".old", "own.log")
    wait_until(lambda: b"Cannot open logfile" in harness.read(kept))
    os.rename(folder + ".old", folder)
    p.admin("reload")
    p.raw("app2").close()
    wait_until(lambda: b"user=app2" in harness.read(path))


def test_rotation_loses_no_line(pooler):
    """rename and SIGHUP, time and again, while clients come"""
    p = pooler(start=False)
    p.settings["logfile"] = path = os.path.join(p.dir, "own.log")
    p.start()
    n = 0
    for i in range(8):
        for _ in range(15):
            p.raw("app2").close()
            n += 1
        os.rename(path, "%s.%d" % (path, i))
        for _ in range(5):
            p.raw("app2").close()
            n += 1
        p.sighup()
    p.signal(signal.SIGQUIT)
    assert p.wait_exit() == 0
    names = ["%s.%d" % (path, i) for i in range(8)] + [path]
    text = b"".join(harness.read(name) for name in names)
    assert text.count(b"login attempt: db=p0 user=app2") == n
    assert text == harness.read(p.logname)


def test_crash_comes_with_its_last_lines(pooler):
    """SIGABRT, as the watchdog of systemd sends it, and as assert() does"""
    p = pooler(start=False)
    p.settings["logfile"] = path = os.path.join(p.dir, "own.log")
    p.start()
    p.expect_exit = -signal.SIGABRT
    for i in range(20):
        p.raw("app2")
    p.signal(signal.SIGABRT)
    assert p.wait_exit() == -signal.SIGABRT
    assert harness.read(path).count(b"user=app2") == 20


def test_stderr_may_be_closed(pooler):
    """what is closed does not get a number that a socket could have"""
    p = pooler(start=False)
    p.settings["logfile"] = path = os.path.join(p.dir, "own.log")
    p.write()
    p.launch(["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh"])
    wait_up(p)
    assert b"process up: " in harness.read(path)
    for fd in "012":
        assert os.readlink("/proc/%d/fd/%s" % (p.proc.pid, fd)) == "/dev/null"


def test_last_words_are_all_there(pooler):
    """Odyssey 74f0ea48: lines lost at shutdown"""
    p = pooler(start=False)
    p.settings["logfile"] = own = os.path.join(p.dir, "own.log")
    p.start()
    for _ in range(20):
        p.raw()
    p.signal(signal.SIGQUIT)
    assert p.wait_exit() == 0
    text = harness.read(own).decode()
    assert text.endswith("LOG got SIGQUIT, fast exit\n")
    assert text.count("login attempt") == 20


def refused(p):
    c = p.open()
    c.send(pq.startup({"user": "app", "database": "none"}))
    return c, "pooler error: no such database: none\n"


def let_in(p):
    c = p.open()
    c.send(pq.startup({"user": "app", "database": "p0"}))
    return c, "login attempt: db=p0 user=app "


def misled(p):
    c = p.console()
    c.send(pq.query("show nothing"))
    return c, "pooler error: "


@pytest.mark.parametrize("act", [refused, let_in, misled],
                         ids=lambda f: f.__name__)
def test_who_has_an_answer_finds_the_line_in_the_file(pooler, act):
    """whoever reads the log right after sees why"""
    p = pooler(start=False)
    p.settings["logfile"] = own = os.path.join(p.dir, "own.log")
    p.start()
    for n in range(30):
        before = os.path.getsize(own)
        c, line = act(p)
        c.recv()
        assert line in harness.read(own).decode()[before:], n
        c.close()


def test_log_file_that_can_not_be_opened_is_the_end(pooler):
    """logging.md 1: on stderr, in the form of all lines; exit 1"""
    p = pooler(start=False, logfile="/does/not/exist/log")
    p.write()
    p.expect_exit = 1
    p.launch()
    assert p.wait_exit() == 1
    assert re.search(r"^\S+ \S+ UTC \[%d\] FATAL Cannot open logfile: "
                     r"'/does/not/exist/log': No such file or directory$"
                     % p.proc.pid, p.log, re.M)


# --- syslog ---------------------------------------------------------------

NAMESPACE = """
mkdir -p $0/dev && mount -t tmpfs none $0/dev || exit 1
for f in null zero urandom; do
    touch $0/dev/$f && mount --bind /dev/$f $0/dev/$f || exit 1
done
ln -s $0/log $0/dev/log
mount --rbind $0/dev /dev || exit 1
exec "$@"
"""


@pytest.fixture
def syslog():
    """A syslog daemon of our own, and the command that shows it /dev/log."""
    d = harness.make_tmp()
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    sock.bind(os.path.join(d, "log"))
    os.chmod(os.path.join(d, "log"), 0o777)
    sock.settimeout(harness.TIMEOUT)
    wrap = ["unshare", "-m", "sh", "-c", NAMESPACE, d]
    if os.getuid() != 0 or subprocess.run(
            wrap + ["true"], stderr=subprocess.DEVNULL).returncode != 0:
        pytest.skip("no mount namespace to be had")
    user = harness.USER
    yield sock, wrap + ["setpriv", "--reuid", str(user.pw_uid), "--regid",
                        str(user.pw_gid), "--clear-groups"]
    sock.close()
    shutil.rmtree(d, ignore_errors=True)


@pytest.mark.setting("syslog", "syslog_ident", "syslog_facility")
def test_syslog_gets_messages(pooler, syslog):
    """logging.md 1, 2"""
    sock, wrap = syslog
    p = pooler(start=False, syslog=1, syslog_ident="slu ice",
               syslog_facility="local3", verbose=2)
    p.write()
    p.launch(wrap, env=process_env(), user=None, group=None,
             extra_groups=None)
    seen = []

    def until(text):
        while not any(text in s for s in seen):
            seen.append(sock.recv(65536).decode().rstrip("\0\n"))
        return [s for s in seen if text in s][0]
    line = until("process up: ")
    # local3 is 19, info is 6
    assert re.match(r"<158>\w{3} [ \d]\d \d\d:\d\d:\d\d slu ice\[%d\]: "
                    r"process up: " % p.proc.pid, line)
    p.raw().close()
    assert re.search(r": C-0x[0-9a-f]+: p0/app@\S+ closing because: ",
                     until("client close request"))
    with pytest.raises(pq.PgError):
        p.raw("ghost")
    assert until("pooler error: ").startswith("<156>")      # warning
    assert not [s for s in seen if s.startswith("<159>")]    # debug
    assert " DEBUG " in p.log or " NOISE " in p.log


def test_syslog_that_is_stuck_stops_nobody(pooler, syslog):
    """its socket is full: clients are served, and the file has every line"""
    sock, wrap = syslog
    p = pooler(start=False, syslog=1, syslog_ident="sluice")
    p.settings["logfile"] = own = os.path.join(p.dir, "own.log")
    p.write()
    p.launch(wrap, env=process_env(), user=None, group=None,
             extra_groups=None)
    wait_up(p)
    # 256 KiB are queued
    flood(p, lambda: os.path.getsize(own) > 700000)
    with open(own) as f:
        logins = f.read().count("login attempt")
    assert logins > 2000
    lost = None
    while lost is None:
        text = sock.recv(65536).decode()
        lost = re.search(r"^<28>.* sluice\[\d+\]: (\d+) log lines lost: "
                         "they came faster", text)
    assert int(lost.group(1)) > 100
    p.raw("app2").close()
    while "user=app2" not in sock.recv(65536).decode():
        pass
    p.signal(signal.SIGQUIT)
    assert p.wait_exit() == 0


# --- the rest of settings.md 5 --------------------------------------------

@pytest.mark.setting("log_stats", "stats_period")
def test_stats_line_comes_each_period_or_never(pooler):
    """logging.md 10"""
    q, begun = pooler(stats_period=1, log_stats=0), time.monotonic()
    p = pooler(stats_period=1)
    p.wait_log(" LOG stats: ", count=2)
    # a line may be late, none is early
    assert p.log.count(" LOG stats: ") <= time.monotonic() - begun
    assert "stats: " not in q.log


@pytest.mark.setting("verbose")
def test_verbose_can_be_set(pooler):
    """logging.md 2: DEBUG from 1, NOISE from 2; by file, reload and SET"""
    p = pooler(verbose=1)
    p.raw().query("select 1")
    assert " DEBUG " in p.log and " NOISE " not in p.log
    p.admin("set verbose = 2")
    p.raw().query("select 1")
    p.wait_log(" NOISE ")
    p.settings["verbose"] = 0
    p.reload()
    n = len(p.log)
    p.raw().query("select 1")
    p.wait_pool(sv_active=0)
    assert " DEBUG " not in p.log[n:] and " NOISE " not in p.log[n:]


@pytest.mark.setting("job_name")
def test_job_name_is_shown_and_does_nothing(pooler):
    """settings.md 3"""
    p = pooler(job_name="other")
    assert p.show("config", key="job_name")[0]["value"] == "other"
