# test_passwords.py - servers' passwords that change by themselves.
# SPDX-License-Identifier: ISC
import contextlib
import ctypes
import itertools
import os
import signal
import subprocess
import threading

import pytest

import pq
from harness import (BIG, PASSWORDS, Load, as_user, binary, has_ended,
                     process_env, read, state_of, wait_until)
from test_secrets import places

TICK = itertools.count(1)


@contextlib.contextmanager
def rotating(pg, user="u_scram"):
    """set(password) for the user; the old one comes back."""
    def put(password):
        pg.sql("alter role %s password '%s'" % (user, password))
    try:
        yield put
    finally:
        put(PASSWORDS[user])


def script(p, name, *lines):
    """A program of the shell; returns its path."""
    return p.put(name, "\n".join(("#!/bin/sh",) + lines) + "\n", 0o755)


def prints(p, text, name="print"):
    """A command that prints the text, and counts its runs in a file."""
    p.put(name + ".text", text)
    return script(p, name, "echo run >> %s/%s.runs" % (p.dir, name),
                  "cat %s/%s.text" % (p.dir, name))


def runs(p, name="print"):
    try:
        return read("%s/%s.runs" % (p.dir, name)).count(b"\n")
    except OSError:
        return 0


def start(pooler, keys, files=(), **kw):
    """keys: of p0, in which %s is the pooler's folder"""
    p = pooler({"p0": ""}, start=False, **kw)
    for name, text in files:
        p.put(name, text, 0o600)
    p.dbs = {db: k.replace("%s", p.dir) for db, k in
             (keys if isinstance(keys, dict) else {"p0": keys}).items()}
    return p


def fails(p, text, **kw):
    """A login in vain, and why the log says so."""
    p.admin("set query_wait_timeout = 1")
    with pytest.raises(pq.PgError):
        p.raw(**kw).query("select 1")
    p.wait_log(text)


def children(pid):
    """All processes below pid, as ps would list them."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            ppid = int(read("/proc/%s/stat" % name).rsplit(b")", 1)[1]
                       .split()[1])
        except OSError:
            continue
        if ppid == pid:
            found += [int(name)] + children(int(name))
    return found


def names_of(pids):
    found = []
    for pid in pids:
        try:
            found.append(read("/proc/%d/comm" % pid).decode().strip())
        except OSError:
            pass
    return found


# --- where it is from -------------------------------------------------------

@pytest.mark.database("password_file")
@pytest.mark.parametrize("user", ["u_pw", "u_md5", "u_scram"])
@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_password_of_a_file_logs_in(pooler, pg, user, end):
    p = start(pooler, "user=%s password_file=%%s/pw" % user,
              [("pw", PASSWORDS[user] + end)]).start()
    assert p.raw().value("select current_user") == user


@pytest.mark.database("password_command")
@pytest.mark.parametrize("user", ["u_pw", "u_md5", "u_scram"])
def test_password_of_a_command_logs_in(pooler, pg, user):
    p = start(pooler, "user=%s password_command=%%s/print" % user)
    prints(p, PASSWORDS[user] + "\n")
    p.start()
    assert p.raw().value("select current_user") == user
    assert runs(p) == 1


@pytest.mark.user("password_file", "password_command", "password_ttl")
def test_password_of_a_user_logs_in(pooler, pg):
    """[users]: whichever database"""
    p = start(pooler, {"p0": "", "p1": "user=u_pw"},
              [("pw", "pw one")])
    prints(p, "pw_three")
    p.userlist.update({"u_scram": "", "u_pw": "", "app": ""})
    p.users = {"u_scram": "password_command=%s/print password_ttl=60" % p.dir,
               "u_pw": "password_file=%s/pw" % p.dir}
    p.start()
    assert p.raw("u_scram").value("select current_user") == "u_scram"
    assert p.raw().value("select current_user") == "app"
    assert p.raw(database="p1").value("select current_user") == "u_pw"


def test_command_without_a_forced_user_is_run_for_each(pooler, pg):
    """PGUSER tells for whom"""
    p = start(pooler, "password_command=%s/ask")
    p.userlist.update({"u_pw": "", "u_md5": ""})
    script(p, "ask", 'case "$PGUSER" in',
           "u_pw) echo 'pw one';; u_md5) echo pw-two;; esac")
    p.start()
    for user in ("u_pw", "u_md5"):
        assert p.raw(user).value("select current_user") == user


def test_command_has_its_words_and_four_variables_only(pooler, pg):
    p = start(pooler, "dbname=p1 user=u_scram password_command='%s/say \"a "
              "b\"  ''$HOME'' \\$(id) ;x \"''\" \"\" c\\ d'")
    p.env = {"PGPASSWORD": "not for you", "SECRET": "neither"}
    script(p, "say", 'printf "%%s\\n" "$@" > %s/words' % p.dir,
           "cat /proc/$$/environ > %s/env" % p.dir, "echo pw_three")
    p.start()
    assert p.raw().value("select current_user") == "u_scram"
    assert read(p.dir + "/words").decode().split("\n") == [
        "a b", "$HOME", "$(id)", ";x", "'", "", "c d", ""]
    assert sorted(read(p.dir + "/env").decode().split("\0")) == sorted([
        "", "PGHOST=127.0.0.1", "PGPORT=%d" % pg.port, "PGUSER=u_scram",
        "PGDATABASE=p1"])


def test_names_are_data_for_the_command(pooler, pg):
    """A user whose name is a program harms nobody"""
    name = """a b"c'$(touch x)`touch y`"""
    pg.sql('create role "%s" login' % name.replace('"', '""'))
    p = start(pooler, "password_command=%s/say")
    script(p, "say", 'printf "%%s" "$PGUSER" > %s/who' % p.dir, "echo pw")
    p.userlist[name] = ""
    p.start()
    assert p.raw(name).value("select current_user") == name
    assert read(p.dir + "/who").decode() == name
    assert not os.path.exists(p.dir + "/x")
    assert not os.path.exists(p.dir + "/y")


def test_unix_socket_is_named_by_its_directory(pooler, pg):
    p = start(pooler, "host=%s port=%d password_command=%%s/say" % (
        pg.dir, pg.port))
    script(p, "say", 'printf "%%s" "$PGHOST" > %s/host' % p.dir, "echo pw")
    p.start()
    assert p.raw().value("select 1") == "1"
    assert read(p.dir + "/host").decode() == pg.dir


@pytest.mark.parametrize("keys,why", [
    ("user=u password=x password_file=/x", "only one of password"),
    ("user=u password_command=/x password_file=/x", "only one of password"),
    ("password_file=/x", "password_file needs user"),
    ("password_command=ls", "whole path"),
    ("password_command='/bin/ls \"'", "double quote is not closed"),
    ("password_command='/bin/ls '''", "single quote is not closed"),
    ("password_command='/bin/ls \\'", "last backslash"),
    ("password_command=' '", "it is empty"),
    ("password_ttl=x", "invalid time for password_ttl"),
])
def test_keys_that_cannot_be_meant_are_refused(pooler, pg, keys, why):
    p = pooler({"p0": keys}, start=False)
    p.expect_exit = 1
    p.write()
    p.launch()
    p.proc.wait(60)
    assert why in p.log


# --- when it changes --------------------------------------------------------

def test_file_that_changed_is_read_again(pooler, pg):
    """A new connection has the new password; the old one goes on"""
    p = start(pooler, "user=u_scram password_file=%s/pw pool_size=2",
              [("pw", "pw_three")], pool_mode="session").start()
    a = p.raw()
    assert a.value("select 1") == "1"
    with rotating(pg) as put:
        put("number two")
        p.put("pw", "number two", 0o600)
        assert p.raw().value("select 1") == "1"
        assert a.value("select 1") == "1"


def test_link_that_leads_elsewhere_is_noticed(pooler, pg):
    """As Kubernetes mounts secrets: a link to a folder is replaced"""
    p = start(pooler, "user=u_scram password_file=%s/data/pw",
              pool_mode="session")
    for folder, text in (("one", "pw_three"), ("two", "number two")):
        os.mkdir("%s/%s" % (p.dir, folder))
        p.put(folder + "/pw", text, 0o644)
    os.symlink("one", p.dir + "/data")
    p.start()
    p.raw().value("select 1")
    with rotating(pg) as put:
        put("number two")
        os.symlink("two", p.dir + "/new")
        os.rename(p.dir + "/new", p.dir + "/data")
        assert p.raw().value("select 1") == "1"


def test_refused_password_is_fetched_again_once(pooler, pg):
    """28P01: the same login tries the next password"""
    p = start(pooler, "user=u_scram password_command=%s/print pool_size=5",
              pool_mode="session")
    prints(p, "pw_three")
    p.start()
    p.raw().value("select 1")
    with rotating(pg) as put:
        put("number two")
        p.put("print.text", "number two")
        assert p.raw().value("select 1") == "1"
    assert runs(p) == 2
    p.wait_log("fetching the password again")


def test_password_never_right_fails_clients_at_once(pooler, pg):
    p = start(pooler, "user=u_scram password_command=%s/print")
    prints(p, "wrong")
    p.start()
    with pytest.raises(pq.PgError) as e:
        p.raw().query("select 1")
    assert e.value.code == "28P01" and "wrong" not in p.log
    assert "password authentication failed" in str(e.value)
    assert runs(p) == 2


@pytest.mark.database("password_ttl")
def test_old_password_is_fetched_in_the_background(pooler, pg):
    """0.8 of password_ttl: without any login"""
    p = start(pooler, "user=u_scram password_command=%s/print "
              "password_ttl=1")
    prints(p, "pw_three")
    p.start()
    p.raw().value("select 1")
    wait_until(lambda: runs(p) >= 4, what="three more runs")
    assert p.raw().value("select 1") == "1"


def test_failure_leaves_the_old_password_in_use(pooler, pg):
    p = start(pooler, "user=u_scram password_command=%s/print "
              "password_ttl=1", pool_mode="session")
    prints(p, "pw_three")
    p.start()
    p.raw().value("select 1")
    prints(p, "")
    p.wait_log('password_command of user "u_scram" at 127.0.0.1: it is empty; '
               "the last password stays in use")
    assert p.raw().value("select 1") == "1"
    assert [(r["state"], r["reason"]) for r in p.admin("show health")
            if r["reason"] == "password"]
    prints(p, "pw_three\n")
    p.wait_log("works again")
    wait_until(lambda: not [r for r in p.admin("show health")
                            if r["reason"] == "password"])


class Rotation(threading.Thread):
    """Changes the password each time when all have the last one."""

    def __init__(self, p, put, count, step):
        super().__init__()
        self.p, self.put, self.left, self.step = p, put, count, step
        self.failure = None
        self.over = threading.Event()

    def run(self):
        try:
            while self.left and not self.over.is_set():
                word = "secret number %d" % next(TICK)
                old = {s["ptr"] for s in self.p.servers()}
                self.step(word)
                self.p.admin("reconnect p0")
                # all have logged in with it
                wait_until(lambda: self.are_new(old), what="new servers")
                self.left -= 1
        except BaseException as e:
            self.failure = e

    def are_new(self, old):
        now = [s for s in self.p.servers() if s["state"] != "new"]
        return self.over.is_set() or (
            now and not any(s["ptr"] in old for s in now))


@pytest.mark.parametrize("order", ["server first", "file first", "command"])
def test_rotation_under_load_fails_nobody(pooler, pg, order):
    """Each round all servers are replaced while pgbench runs on"""
    pg.make_bench()
    how = "password_command=%s/print" if order == "command" else \
        "password_file=%s/pw"
    p = start(pooler, {"p0": "user=u_scram dbname=bench pool_size=10 "
              "password_ttl=1 " + how}, [("pw", "pw_three")])
    prints(p, "pw_three")
    p.start()
    pg.sql("grant all on all tables in schema public to u_scram", db="bench")
    with rotating(pg) as put:
        def step(word):
            order == "server first" and put(word)
            p.put("pw", word, 0o600)
            p.put("print.text", word)
            order != "server first" and put(word)
        load = Load(p, "-S", db="p0", seconds=8 if not BIG else 60)
        turns = Rotation(p, put, 10 ** 6, step)
        load.start()
        wait_until(lambda: p.show("servers", state="active"),
                   what="the load")
        turns.start()
        load.join()
        turns.over.set()
        turns.join()
        load.check()
        assert turns.failure is None, turns.failure
        # some rounds were done while it ran
        assert 10 ** 6 - turns.left >= 3
    assert "secret number" not in p.log


# --- commands that do harm --------------------------------------------------

BAD = {
    "exits": ("echo pw_three; exit 1", "exited with status 1"),
    "complains": ("echo cannot reach it >&2; exit 3",
                  "exited with status 3: cannot reach it"),
    "dies": ("kill -9 $$", "was ended by signal 9"),
    "says nothing": ("", "it is empty"),
    "two lines": ("echo pw_three; echo more", "it has more than one line"),
    "NUL": ("printf 'pw_three\\0\\n'", "it has a NUL byte"),
    "one byte too long": ("head -c 65537 /dev/zero | tr '\\0' x",
                          "it is longer than 64 kB"),
    "floods": ("exec cat /dev/zero", "prints more than 64 kB"),
    "hangs": ("sleep 1000", "has not ended within password_timeout"),
    "floods stderr": ("exec cat /dev/zero >&2",
                      "has not ended within password_timeout"),
    "closes and hangs": ("echo pw_three; exec >&- 2>&-; sleep 1000",
                         "has not ended within password_timeout"),
}


@pytest.mark.setting("password_timeout")
@pytest.mark.parametrize("kind", list(BAD))
def test_bad_command_is_told_and_the_next_one_works(pooler, pg, kind):
    body, why = BAD[kind]
    p = start(pooler, "user=u_scram password_command=%s/bad",
              password_timeout=1, server_login_retry=1)
    script(p, "bad", "if test -e %s/good; then exec echo pw_three; fi" % p.dir,
           body)
    p.start()
    with contextlib.ExitStack() as stack:
        c = stack.enter_context(p.open())
        c.login("app", database="p0", wait=False)
        p.wait_log('password_command of user "u_scram" at 127.0.0.1: ' + why)
        p.put("good", "")
        p.wait_log("works again")
    assert p.raw().value("select current_user") == "u_scram"
    assert "pw_three" not in p.log


def test_command_is_over_when_its_own_process_is(pooler, pg):
    """What it leaves behind, with the pipe, keeps nobody waiting"""
    p = start(pooler, "user=u_scram password_command=%s/leave")
    script(p, "leave", "sleep 1000 & echo $! > %s/pid" % p.dir,
           "echo pw_three")
    p.start()
    assert p.raw().value("select 1") == "1"
    left = int(read(p.dir + "/pid"))
    wait_until(lambda: has_ended(left), what="the end of what was left")


def adopt():
    """This process gets what those below it leave behind, as process 1 does."""
    assert ctypes.CDLL(None).prctl(36, 1, 0, 0, 0) == 0


def test_what_a_command_leaves_behind_is_waited_for(pooler, pg):
    """No zombie stays where process 1 waits for nobody, as in a container"""
    p = start(pooler, "user=u_scram password_command=%s/leave")
    script(p, "leave", "sleep 1000 & echo $! > %s/pid" % p.dir,
           "echo pw_three")
    p.write()
    p.launch(preexec_fn=adopt)
    p.wait_log("process up: ")
    assert p.raw().value("select 1") == "1"
    left = int(read(p.dir + "/pid"))
    wait_until(lambda: state_of(left) is None, what="its end to be noted")


def test_pooler_waits_for_what_it_adopts(pooler, pg):
    """As process 1 of a container: all that runs commands is killed"""
    p = start(pooler, "user=u_scram password_command=%s/hang",
              [("pw", "pw_three")], server_login_retry=1)
    hanging(p)
    p.write()
    p.launch(preexec_fn=adopt)
    p.wait_log("process up: ")
    p.open().login("app", database="p0", wait=False)
    wait_until(lambda: runs(p, "hang") == 1, what="the command")
    below = runners(p)
    command = [c for c in children(p.proc.pid) if c not in below][0]
    for pid in below:
        os.kill(pid, signal.SIGKILL)
    for pid in below:
        wait_until(lambda: state_of(pid) is None, what="%d to end" % pid)
    p.put("go", "")
    wait_until(lambda: state_of(command) is None, what="the command to end")


@pytest.mark.parametrize("kind", ["missing", "folder", "not executable",
                                  "no program"])
def test_command_that_cannot_be_run_is_told(pooler, pg, kind):
    p = start(pooler, "user=u_scram password_command=%s/it")
    if kind == "folder":
        os.mkdir(p.dir + "/it")
    elif kind != "missing":
        p.put("it", "no program", 0o755 if kind == "no program" else 0o644)
    p.start()
    fails(p, 'password_command of user "u_scram" at 127.0.0.1: cannot be run')


@pytest.mark.parametrize("kind,why", [
    ("missing", "No such file"), ("folder", "Is a directory"),
    ("pipe", "not a regular file"), ("empty", "it is empty"),
    ("unreadable", "Permission denied"), ("long", "longer than 64 kB")])
def test_file_that_cannot_be_read_is_told(pooler, pg, kind, why):
    p = start(pooler, "user=u_scram password_file=%s/it")
    path = p.dir + "/it"
    if kind == "folder":
        os.mkdir(path)
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind != "missing":
        p.put("it", "x" * 65537 if kind == "long" else "",
              0 if kind == "unreadable" else 0o600)
    p.start()
    fails(p, 'password_file of user "u_scram" at 127.0.0.1: '
          'password_file ".*/it": .*' + why)


def test_check_reads_files_and_looks_for_commands(pooler, pg):
    p = start(pooler, {"p0": "user=a password_file=%s/none",
                       "p1": "user=b password_command=%s/none",
                       "p2": "user=c password_file=%s/pw"}, [("pw", "x")])
    p.users = {"d": "password_command=%s" % script(p, "fine", "touch " +
                                                   p.dir + "/was_run")}
    p.write()
    out = subprocess.run([binary(), "--check", p.ini], text=True,
                         stdout=subprocess.PIPE, env=process_env(),
                         cwd=p.dir, **as_user())
    assert out.returncode == 1
    assert 'database "p0": password_file' in out.stdout
    assert 'database "p1": password_command' in out.stdout
    assert '"p2"' not in out.stdout and '"d"' not in out.stdout
    assert "2 problems" in out.stdout
    assert not os.path.exists(p.dir + "/was_run")


def test_files_that_hang_keep_no_other_file_waiting(pooler, pg, slow_disk):
    """Nor do many of one folder take a thread each"""
    dead = ["d%d" % i for i in range(12)]
    p = start(pooler, dict({d: "dbname=p0 user=u_scram password_file="
                            "%%s/dead/%s" % d
                            for d in dead}, alive="dbname=p0 user=u_scram "
                           "password_file=%s/pw"), [("pw", "pw_three")],
              server_login_retry=1)
    p.env.update(LD_PRELOAD=slow_disk)
    os.mkdir(p.dir + "/dead")
    for d in dead:
        p.put("dead/" + d, "pw_three", 0o600)
        p.put("dead/%s.hang" % d, "")
    p.start()
    before = len(os.listdir("/proc/%d/task" % p.proc.pid))
    waiting = []
    for d in dead:
        waiting.append(p.open())
        waiting[-1].login("app", database=d, wait=False)
    wait_until(lambda: len([n for n in os.listdir(p.dir + "/dead")
                            if n.endswith(".waits")]) >= 2, what="two that hang")
    assert p.raw(database="alive").value("select 1") == "1"
    p.wait_log("another file of its folder does not come")
    assert len(os.listdir("/proc/%d/task" % p.proc.pid)) <= before + 5
    for d in dead:
        os.unlink(p.dir + "/dead/%s.hang" % d)
    for c in waiting:
        c.finish_login("app")
        assert c.value("select 1") == "1"


# --- who waits --------------------------------------------------------------

def hanging(p, name="hang"):
    """A command that waits for a file of the name "go"."""
    return script(p, name, "echo run >> %s/%s.runs" % (p.dir, name),
                  "while ! test -e %s/go; do sleep 0.01; done" % p.dir,
                  "cat %s/pw" % p.dir)


def test_many_logins_wait_for_one_command(pooler, pg):
    """SHOW WAITS says for what"""
    p = start(pooler, {"p0": "user=u_scram password_command=%s/hang",
                       "p1": "user=u_scram password_command=%s/hang"},
              [("pw", "pw_three")], server_login_concurrency=5)
    hanging(p)
    p.start()
    waiting = []
    for db in ("p0", "p1", "p0"):
        c = p.open()
        c.login("app", database=db, wait=False)
        waiting.append(c)
    wait_until(lambda: len([r for r in p.show("waits")
                            if r["wait_reason"] == "password"]) == 2,
               what="both pools in SHOW WAITS")
    p.put("go", "")
    for c in waiting:
        c.finish_login("app")
        assert c.value("select current_user") == "u_scram"
    assert runs(p, "hang") == 1


def test_slow_command_makes_no_host_a_misfit(pooler, pg):
    """What a list of hosts waits for is the server, not the password"""
    p = start(pooler, "user=u_scram password_command=%%s/hang host=127.0.0.1,"
              "127.0.0.1 port=%d target_session_attrs=read-write" % pg.port,
              [("pw", "pw_three")])
    hanging(p)
    p.start()
    c = p.open()
    c.login("app", database="p0", wait=False)
    # longer than an answer of the host may take
    wait_until(lambda: [r for r in p.show("clients", database="p0")
                        if int(r["wait"]) >= 2], what="two seconds of waiting")
    p.put("go", "")
    c.finish_login("app")
    assert c.value("select 1") == "1"
    assert runs(p, "hang") == 1 and "connect timeout" not in p.log


def test_many_orders_at_once_are_all_run(pooler, pg):
    """More than the socket to the process that runs commands has room for"""
    dbs = ["d%d" % i for i in range(40)]
    p = start(pooler, dict({d: "dbname=p0 user=u_scram password_command='%%s/say"
                            " %s%d'" % ("x" * 7000, i)
                            for i, d in enumerate(dbs)},
                           first="dbname=p0 user=u_scram "
                           "password_command=%s/say"))
    script(p, "say", "echo pw_three")
    p.start()
    # so that it is there
    assert p.raw(database="first").value("select 1") == "1"
    serving = runners(p)[1]
    os.kill(serving, signal.SIGSTOP)
    try:
        waiting = []
        for d in dbs:
            waiting.append(p.open())
            waiting[-1].login("app", database=d, wait=False)
        wait_until(lambda: len([r for r in p.show("waits")
                                if r["wait_reason"] == "password"]) ==
                   len(dbs), what="all to wait for their passwords")
    finally:
        os.kill(serving, signal.SIGCONT)
    for c in waiting:
        c.finish_login("app")
        assert c.value("select 1") == "1"
    assert "is gone" not in p.log


def password_findings(p):
    return [r for r in p.admin("show health") if r["reason"] == "password"]


@pytest.mark.parametrize("change", ["key", "database", "port"])
def test_source_that_nobody_names_is_no_fault(pooler, pg, change):
    """A RELOAD that takes the broken one away mends SHOW HEALTH"""
    p = start(pooler, {"p0": "", "p1": "user=u_scram password_command=%s/bad"},
              server_login_retry=1)
    script(p, "bad", "exit 1")
    p.start()
    with p.open() as c:
        c.login("app", database="p1", wait=False)
        p.wait_log("exited with status 1")
        assert password_findings(p)
    if change == "database":
        del p.dbs["p1"]
    elif change == "key":
        p.dbs["p1"] = "user=u_scram password=" + PASSWORDS["u_scram"]
    else:
        p.dbs["p1"] += " port=1"
    p.write()
    p.reload()
    wait_until(lambda: not password_findings(p), what="nothing to tell")


def test_reload_meanwhile_disturbs_no_fetch(pooler, pg):
    p = start(pooler, "user=u_scram password_command=%s/hang",
              [("pw", "pw_three")])
    hanging(p)
    p.start()
    c = p.open()
    c.login("app", database="p0", wait=False)
    wait_until(lambda: runs(p, "hang") == 1, what="the command")
    p.reload()
    p.put("go", "")
    c.finish_login("app")
    assert c.value("select 1") == "1"
    # the runner is there for what a reload brings
    p.dbs["p1"] = "user=u_pw password_command=%s" % prints(p, "pw one")
    p.write()
    p.reload()
    assert p.raw(database="p1").value("select current_user") == "u_pw"


def test_thousand_users_have_a_command_each(pooler, pg):
    count = 1000 if BIG else 200
    users = ["many%d" % i for i in range(count)]
    pg.sql(*["create role %s login" % u for u in users])
    p = start(pooler, "password_command=%s/say pool_size=1")
    script(p, "say", "echo $PGUSER >> %s/who" % p.dir, "echo $PGUSER")
    p.userlist.update({u: "" for u in users})
    p.settings.update(server_idle_timeout=1)
    p.start()
    for u in users:
        with p.raw(u) as c:
            assert c.value("select current_user") == u
    assert sorted(read(p.dir + "/who").decode().split()) == sorted(users)
    pg.sql(*["drop role %s" % u for u in users])


# --- the process that runs commands -----------------------------------------

def runners(p):
    return [c for c in children(p.proc.pid)
            if names_of([c]) == ["pgsluice-runner"]]


def sockets(pid):
    found = []
    for fd in os.listdir("/proc/%d/fd" % pid):
        try:
            found.append(os.readlink("/proc/%d/fd/%s" % (pid, fd)))
        except OSError:
            pass
    return found


def test_runner_that_is_killed_is_replaced(pooler, pg):
    p = start(pooler, "user=u_scram password_command=%s/hang",
              [("pw", "pw_three")])
    hanging(p)
    p.start()
    c = p.open()
    c.login("app", database="p0", wait=False)
    wait_until(lambda: runs(p, "hang") == 1, what="the command")
    watcher, serving = runners(p)
    os.kill(serving, signal.SIGKILL)
    p.wait_log("the process that runs password_command has died")
    wait_until(lambda: runs(p, "hang") == 2, what="the command again")
    p.put("go", "")
    c.finish_login("app")
    assert c.value("select 1") == "1"


def test_runner_that_is_gone_for_good_is_told(pooler, pg):
    p = start(pooler, "user=u_scram password_command=%s/print",
              pool_mode="session")
    prints(p, "pw_three")
    p.start()
    p.raw().value("select 1")
    for pid in runners(p):
        os.kill(pid, signal.SIGKILL)
    p.wait_log("the process that runs password_command has died")
    # what is known stays known
    assert p.raw().value("select 1") == "1"


@pytest.mark.parametrize("how", ["SIGKILL", "SIGQUIT"])
def test_runner_and_its_commands_end_with_the_pooler(pooler, pg, how):
    p = start(pooler, "user=u_scram password_command=%s/hang",
              [("pw", "pw_three")])
    hanging(p)
    p.start()
    p.open().login("app", database="p0", wait=False)
    wait_until(lambda: runs(p, "hang") == 1, what="the command")
    left = runners(p)
    below = [c for c in children(p.proc.pid) if c not in left]
    assert len(left) == 2 and below
    p.expect_exit = -signal.SIGKILL if how == "SIGKILL" else 0
    p.signal(getattr(signal, how))
    p.wait_exit()
    for pid in left + below:
        wait_until(lambda: has_ended(pid), what="%d to end" % pid)


def test_runner_has_nothing_that_is_not_its_own(pooler, pg):
    """No listening socket, no client, no log, no terminal"""
    p = start(pooler, "user=u_scram password_command=%s/print")
    prints(p, "pw_three")
    p.start()
    p.raw().value("select 1")
    ours = set(sockets(p.proc.pid))
    for pid in runners(p):
        if os.getuid() == 0 or os.access("/proc/%d/fd" % pid, os.R_OK):
            theirs = [s for s in sockets(pid) if s != "/dev/null"]
            assert not [s for s in theirs if s in ours]
            assert not [s for s in theirs if s.startswith("/")]


def test_signals_for_the_group_leave_the_runner(pooler, pg):
    """As a terminal and systemd send them; a drain still fetches passwords"""
    p = start(pooler, "user=u_scram password_command=%s/print",
              pool_mode="session")
    prints(p, "pw_three")
    p.start()
    watcher = runners(p)[0]
    for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP,
                signal.SIGQUIT):
        os.kill(watcher, sig)
    assert p.raw().value("select 1") == "1"


def test_online_restart_fetches_anew(pooler, pg):
    """-R while a command runs: the old one's ends, the new one asks again"""
    p = start(pooler, "user=u_scram password_command=%s/print "
              "password_ttl=1")
    prints(p, "pw_three")
    p.start()
    c = p.connect()
    c.execute("select 1")
    old = p.proc
    p.args = ["-R"]
    p.launch()
    try:
        wait_until(lambda: old.poll() is not None, what="the old process")
        assert old.returncode == 0
        c.execute("select 1")
        before = runs(p)
        p.admin("reconnect p0")
        c.execute("select 1")
        wait_until(lambda: runs(p) > before, what="a run by the new one")
        assert len(runners(p)) == 2
    finally:
        old.kill()
        old.wait()


@pytest.mark.parametrize("workers", [3])
def test_one_command_serves_all_workers(pooler, pg, workers):
    dbs = ["p0", "p1", "p2"]
    p = start(pooler, {d: "user=u_scram password_ttl=2 "
                       "password_command=%s/print" for d in dbs},
              workers=workers, pool_mode="session")
    prints(p, "pw_three")
    p.start()
    for _ in range(2):
        for d in dbs:
            assert p.raw(database=d).value("select 1") == "1"
    # each worker has asked once at most
    assert runs(p) <= workers
    with rotating(pg) as put:
        put("number two")
        p.put("print.text", "number two")
        for d in dbs:
            assert p.raw(database=d).value("select 1") == "1"


# --- where the text is ------------------------------------------------------

@pytest.mark.parametrize("how", ["file", "command"])
def test_password_is_in_the_vault_only(pooler, pg, how):
    p = start(pooler, "user=u_scram password_%s=%%s/%s" % (
        how, "print" if how == "command" else "pw"),
        [("pw", "a rare password")], verbose=3)
    prints(p, "a rare password")
    with rotating(pg) as put:
        put("a rare password")
        p.start()
        assert p.raw().value("select 1") == "1"
        p.admin("show fds")
        found = places(p.proc.pid, [b"a rare password"])
        assert found[b"a rare password"] <= {"vault"}
        for topic in ("config", "databases", "users", "servers", "health",
                      "fds", "pools"):
            assert "a rare password" not in str(p.admin("show " + topic))
    assert "a rare password" not in p.log


@pytest.mark.setting("strict_permissions")
def test_file_that_everybody_reads_is_refused_if_that_is_wanted(pooler, pg):
    p = start(pooler, "user=u_scram password_file=%s/pw",
              strict_permissions=1)
    p.put("pw", "x", 0o644)
    p.expect_exit = 1
    p.write()
    p.launch()
    p.proc.wait(60)
    assert 'password_file "' in p.log and "strict_permissions" in p.log
