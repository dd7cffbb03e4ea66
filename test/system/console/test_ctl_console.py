# test_ctl_console.py - pgsluicectl at the console of a real pooler.
# SPDX-License-Identifier: ISC
import csv
import io
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import threading

import pytest

import harness
import pq
from harness import REFERENCE, as_user, process_env, wait_until
from test_ctl import binary, ctl, ok

pytestmark = pytest.mark.skipif(REFERENCE, reason="pgsluice only")


def start(*args, prefix=(), **kw):
    """prefix: a command that runs it."""
    return subprocess.Popen([*prefix, binary(), *args], text=True,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, cwd="/",
                            env=dict(process_env(), **kw), **as_user())


def done(proc):
    """Its exit code and what it said."""
    out, err = proc.communicate(timeout=harness.TIMEOUT)
    return proc.returncode, out, err


def failed(out, code, *texts):
    assert out.returncode == code, out
    assert out.stderr.startswith("pgsluicectl: ")
    for text in texts:
        assert text in out.stderr


def state(p, key):
    return {r["key"]: r["value"] for r in p.admin("show state")}[key]


# --- finding it -----------------------------------------------------------

def test_console_is_found(pooler):
    """by ini, PG* variables, conninfo, service and password files"""
    p = pooler(auth_type="scram-sha-256")
    want = "version\n%s\n" % p.admin("show version")[0]["version"]
    where = {"PGHOST": "127.0.0.1", "PGPORT": str(p.port)}
    # over its own socket nobody is asked for a password
    assert ok(ctl("show", "version", "-c", p.ini)) == want
    assert ok(ctl("show", "version", "-c", p.ini, PGHOST="nowhere")) == want
    assert ok(ctl("show", "version", "-U", "stats", PGPASSWORD="statspw",
                  **where)) == want
    info = "host=127.0.0.1 port=%d user=admin password=adminpw" % p.port
    assert ok(ctl("show", "version", "--dbname", info)) == want
    service = p.put("service", "[pool]\nhost=127.0.0.1\nport=%d\n"
                    "user=admin\n" % p.port)
    passfile = p.put("pgpass", "127.0.0.1:%d:pgbouncer:admin:adminpw\n"
                     % p.port)
    os.chmod(passfile, 0o600)
    assert ok(ctl("show", "version", PGSERVICEFILE=service, PGSERVICE="pool",
                  PGPASSFILE=passfile)) == want
    # a folder of the file, and the file, from where one stands
    near = p.put("near.ini", "%%include %s\nunix_socket_dir = .\n" % p.ini)
    for args in ["-c", os.path.basename(near)], ["-c", "./near.ini"]:
        assert ok(ctl("show", "version", *args, cwd=p.dir)) == want
    # without a socket: the address, and the first of admin_users
    ini = p.put("tcp.ini", "%%include %s\nunix_socket_dir =\n" % p.ini)
    assert ok(ctl("show", "version", "-c", ini,
                  PGPASSWORD="adminpw")) == want


@pytest.fixture
def curious():
    """An ini at whose socket everybody is asked for a password in clear; and
    what was heard there."""
    folder, heard = harness.make_tmp(), []
    ini = os.path.join(folder, "pooler.ini")
    with open(ini, "w") as f:
        f.write("[pgbouncer]\nlisten_port = 6432\nunix_socket_dir = %s\n"
                % folder)
    path = os.path.join(folder, ".s.PGSQL.6432")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
    for name in (ini, path):
        harness.give(name)

    def ask():
        while True:
            try:
                s = listener.accept()[0]
            except OSError:
                return
            with s:
                heard.append(s.recv(4096))
                s.sendall(b"R\0\0\0\x08\0\0\0\x03")
                heard.append(s.recv(4096))
    thread = threading.Thread(target=ask)
    thread.start()
    yield ini, heard
    listener.shutdown(socket.SHUT_RDWR)
    thread.join()
    listener.close()
    shutil.rmtree(folder)


def test_no_password_goes_over_our_own_socket(curious):
    ini, heard = curious
    out = ctl("show", "version", "-c", ini, PGPASSWORD="secret")
    failed(out, 3, "none was sent")
    assert b"pgbouncer" in heard[0] and b"secret" not in b"".join(heard)


def test_login_that_is_refused(pooler):
    """exit code 3, and no second try"""
    p = pooler(auth_type="scram-sha-256")
    info = "host=127.0.0.1 port=%d user=admin" % p.port
    for args in (["status"], ["wait-ready"], ["reload"], ["show", "pools"]):
        failed(ctl(*args, "-d", info, PGPASSWORD="wrong"), 3,
               "SASL authentication failed")
    failed(ctl("wait-ready", "-d", info), 3, "no password supplied")


@pytest.mark.parametrize("args", [
    ["status"], ["show", "pools"], ["show", "pools", "-w", "9"], ["pause"],
    ["resume"], ["reload"], ["drain"], ["shutdown"],
    ["wait-ready", "-t", "0.2"]])
def test_nobody_is_there(args):
    """exit code 3"""
    failed(ctl(*args, PGHOST="127.0.0.1", PGPORT="1"), 3,
           "Connection refused")


@pytest.mark.parametrize("args,text", [
    (["status", "x"], "too many arguments"),
    (["show"], "an argument is missing"),
    (["status", "--json"], "the command has no such option"),
    (["show", "pools", "--json", "--csv"], "exclude each other"),
    (["show", "pools", "-w", "x"], "bad number of seconds"),
    (["show", "pools", "-w", "0"], "bad number of seconds"),
    (["show", "pools", "--wat"], "wrong options"),
    (["reload", "p0"], "too many arguments"),
    (["check"], "an argument is missing")])
def test_wrong_words(args, text):
    """exit code 2"""
    out = ctl(*args)
    assert out.returncode == 2 and text in out.stderr


def test_wrong_places():
    """exit code 1: nobody was asked"""
    failed(ctl("status", "-c", "/nonexistent.ini"), 1,
           'could not read "/nonexistent.ini": No such file')
    failed(ctl("status", "-d", "frob=1"), 1, "invalid connection option")


# --- status ---------------------------------------------------------------

def test_status_tells_how_it_is(pooler):
    """exit code 0 or 4"""
    p = pooler()
    out = ok(ctl("status", "-c", p.ini))
    assert "state      active\n" in out and out.endswith("\nwell\n")
    assert "up 00:00:" in out and "\x1b" not in out
    assert "%s:%d" % (p.dir, p.port) in out
    p.admin("pause p1")
    out = ctl("status", "-c", p.ini)
    assert out.returncode == 4
    assert 'degraded   database "p1": paused\n' in out.stdout
    assert out.stdout.endswith("\ndegraded\n")
    p.admin("pause")
    out = ctl("status", "-c", p.ini)
    assert out.returncode == 4 and "state      paused" in out.stdout
    assert "down       paused\n" in out.stdout
    assert out.stdout.endswith("\ndown\n")


def test_status_names_the_server_that_is_down(pooler):
    """why clients wait, and for how long"""
    p = pooler({"down": "host=127.0.0.1 port=1"}, server_login_retry=60)
    c = p.open()
    c.send(harness.pq.startup({"user": "app", "database": "down"}))
    wait_until(lambda: [r for r in p.admin("show waits")
                        if r["wait_reason"] == "server_login_failed"])
    out = ctl("status", "-c", p.ini)
    assert out.returncode == 4
    assert "pool down/app: no server for " in out.stdout
    assert "connect failed" in out.stdout
    assert "1 wait, the longest for " in out.stdout
    c.abort()


# --- show -----------------------------------------------------------------

def test_show_has_three_forms(pooler):
    """as a table, --json, --csv; columns, WHERE; one word or many"""
    p = pooler()
    rows = {r["list"]: r["items"] for r in p.admin("show lists")}
    lines = ok(ctl("show", "lists", "-c", p.ini)).splitlines()
    assert lines[0].split() == ["list", "items"]
    assert dict(x.split() for x in lines[1:]).keys() == rows.keys()
    out = ok(ctl("show", "lists", "--csv", "-c", p.ini))
    assert [r["list"] for r in csv.DictReader(io.StringIO(out))] == list(rows)
    out = json.loads(ok(ctl("show", "lists", "--json", "-c", p.ini)))
    assert [r["list"] for r in out] == list(rows)
    for words in (["config (key) where key = listen_port"],
                  ["config", "(key)", "where", "key", "=", "listen_port"]):
        assert ok(ctl("show", *words, "-c", p.ini)) == "key\nlisten_port\n"
    assert "wait_reason" in ok(ctl("show", "pools", "extended", "-c", p.ini))
    assert "SHOW HELP|DATABASES" in ok(ctl("show", "help", "-c", p.ini))


def test_show_of_nothing_known(pooler):
    """exit code 1, and the console's words"""
    p = pooler()
    failed(ctl("show", "frob", "-c", p.ini), 1, "invalid command 'SHOW frob'")
    failed(ctl("show", "pools (frob)", "-c", p.ini), 1, "frob")


def test_control_bytes_stay_away_from_the_terminal(pooler):
    """of what others chose; CSV in a file is true to the byte"""
    p = pooler()
    p.raw(application_name="a\x1b[31m\tb")
    words = ["show", "clients (application_name) where database = p0", "-c",
             p.ini]
    assert "a\\x1b[31m\\tb" in ok(ctl(*words))
    assert "a\\u001b[31m\\tb" in ok(ctl(*words, "--json")).lower()
    assert "a\x1b[31m\tb" in ok(ctl(*words, "--csv"))
    failed(ctl("show", "\x1b[31m", "-c", p.ini), 1, "\\x1b[31m")


def test_watch_ends_with_the_pooler(pooler):
    """exit code 3, and why"""
    p = pooler()
    w = start("show", "version", "-w", "0.1", "-c", p.ini)
    for _ in range(9):      # time and query, a blank, two lines, a blank ...
        w.stdout.readline()
    p.stop()
    code, _, err = done(w)
    assert code == 3 and err.startswith("pgsluicectl: "), err


def test_output_may_be_closed_early(pooler):
    """| head: quiet, and at once"""
    p = pooler()
    w = start("show", "config", "-w", "3600", "-c", p.ini)
    w.stdout.readline()
    w.stdout.close()
    assert w.wait(harness.TIMEOUT) in (1, -signal.SIGPIPE)
    assert w.stderr.read() == ""
    out = subprocess.run(["sh", "-c", '"$0" show config -c "$1" | head -1',
                          binary(), p.ini], stdout=subprocess.PIPE, text=True,
                         stderr=subprocess.PIPE, env=process_env(),
                         **as_user())
    assert out.stderr == "" and out.stdout.startswith("key ")
    with open("/dev/full", "w") as full:
        out = subprocess.run([binary(), "show", "config", "-c", p.ini],
                             stdout=full, stderr=subprocess.PIPE, text=True,
                             env=process_env(), **as_user())
    assert out.returncode == 1 and "could not write" in out.stderr


# --- orders ---------------------------------------------------------------

def test_orders_are_passed_on(pooler):
    """pause, resume, reload, drain DATABASE; refusals are told"""
    p = pooler()
    ok(ctl("pause", "-c", p.ini))
    assert state(p, "paused") == "yes"
    ok(ctl("resume", "-c", p.ini))
    assert state(p, "paused") == "no"
    ok(ctl("pause", "p1", "-c", p.ini))
    assert [r["name"] for r in p.admin("show databases")
            if r["paused"] == "1"] == ["p1"]
    ok(ctl("resume", "p1", "-c", p.ini))
    ok(ctl("drain", "host", "127.0.0.1", "-c", p.ini))
    assert state(p, "drained") == "127.0.0.1"
    ok(ctl("resume", "-c", p.ini))
    p.settings["default_pool_size"] = 7
    p.write()
    ok(ctl("reload", "-c", p.ini))
    assert "7" in ok(ctl("show", "config (value) where "
                         "key = default_pool_size", "-c", p.ini))
    failed(ctl("pause", "no db", "-c", p.ini), 1, "no db")
    failed(ctl("pause", "-c", p.ini, "-U", "stats"), 1, "admin access needed")
    p.put("pooler.ini", "[pgbouncer]\nfrob = 1\n")
    failed(ctl("reload", "-d", "host=%s port=%d" % (p.dir, p.port), "-U",
               "admin"), 1, "frob")
    p.write()


def test_all_of_the_console_is_within_reach(pooler):
    """each command but SUSPEND, which needs somebody who stays, has a verb"""
    p = pooler()
    c = p.raw(application_name="mine")
    c.query("begin")
    (client,) = [r for r in p.admin("show clients")
                 if r["application_name"] == "mine"]
    ok(ctl("reconnect", "p0", "-c", p.ini))
    ok(ctl("wait-close", "p1", "-c", p.ini))
    ok(ctl("disable", "p1", "-c", p.ini))
    assert p.show("databases", name="p1")[0]["disabled"] == "1"
    ok(ctl("enable", "p1", "-c", p.ini))
    assert p.show("databases", name="p1")[0]["disabled"] == "0"
    c.send(pq.query("select pg_sleep(600)"))
    wait_until(lambda: ctl("cancel-client", client["id"], "-c",
                           p.ini).returncode == 0 and c.recv_until("Z"))
    ok(ctl("forget", "user", "ann smith", "-c", p.ini))
    assert "FORGET USER 'ann smith' command issued" in p.log
    ok(ctl("kill-client", client["id"], "-c", p.ini))
    assert c.recv_all() is not None
    c = p.raw()
    c.query("begin")
    (server,) = p.show("servers", database="p0", state="active")
    ok(ctl("kill-server", server["id"], "-c", p.ini))
    assert c.recv_all() is not None
    ok(ctl("kill", "p0", "-c", p.ini))
    ok(ctl("resume", "all", "-c", p.ini))
    ok(ctl("set", "query_timeout", "7.5", "-c", p.ini))
    ok(ctl("set", "persist", "default_pool_size", "9", "-c", p.ini))
    assert p.show("config", key="query_timeout")[0]["value"] == "7.5"
    assert p.show("config", key="default_pool_size")[0]["value"] == "9"
    ok(ctl("log", "night", "shift", "-c", p.ini))
    p.wait_log("night shift")
    assert "p1 " in ok(ctl("do", "show databases", "-c", p.ini))
    assert ok(ctl("do", "disable", "p1", "-c", p.ini)) == ""
    assert p.show("databases", name="p1")[0]["disabled"] == "1"
    failed(ctl("do", "kill_client 1", "-c", p.ini), 1, "client not found")
    verbs = ok(ctl("--help"))
    words = re.findall("^\t([A-Z_]+)", ok(ctl("show", "help", "-c", p.ini)),
                       re.M)
    for word in set(words) - {"SHOW", "SELECT", "SUSPEND"}:
        assert "\n  %s" % word.lower().replace("_", "-") in verbs, word
    assert ok(ctl("do", "shutdown", "-c", p.ini)) == ""
    assert harness.has_ended(p.proc.pid)


def test_reload_prints_what_waits_for_a_restart(pooler):
    """and where the log is if it fails"""
    p = pooler(logfile="own.log")
    assert ok(ctl("reload", "-c", p.ini)) == ""
    p.settings["listen_port"] = 7
    p.write()
    # the file names another socket now
    at = "host=%s port=%d user=admin" % (p.dir, p.port)
    out = ctl("reload", "-d", at)
    assert (out.returncode, out.stdout) == (0, "")
    assert out.stderr == ('listen_port: "7" takes effect after a restart; '
                          '"%d" is in use\n' % p.port)
    p.put("pooler.ini", "[pgbouncer]\nfrob = 1\n")
    folder = os.readlink("/proc/%d/cwd" % p.proc.pid)
    failed(ctl("reload", "-d", at), 1, "frob",
           "The log: %s" % os.path.join(folder, "own.log"))


def test_log_is_named(pooler):
    """by status, and where nobody answers"""
    p = pooler()
    own = os.path.join(p.dir, "own.log")
    log = [line for line in ctl("status", "-c", p.ini).stdout.split("\n")
           if line.startswith("log ")]
    assert log and log[0].split(None, 1)[1].startswith(
        ("standard error", "/")), log
    p = pooler(logfile=own)
    assert "\nlog        %s\n" % own in ctl("status", "-c", p.ini).stdout
    p.signal(signal.SIGINT)
    p.wait_exit()
    failed(ctl("status", "-c", p.ini), 3, "The log of the pooler is %s." % own)


def test_status_does_not_count_the_console(pooler):
    """else nobody would ever see 0 clients"""
    p = pooler()
    k = p.console()
    k.query("show version")
    assert "clients    0, none waits" in ok(ctl("status", "-c", p.ini))
    c = p.raw()
    c.query("select 1")
    assert "clients    1, none waits" in ok(ctl("status", "-c", p.ini))


def test_interrupt_calls_a_pause_off(pooler):
    """Ctrl-C: the console forgets it"""
    p = pooler(pool_mode="session")
    p.connect("p0").execute("select 1")
    w = start("pause", "-c", p.ini)
    wait_until(lambda: state(p, "paused") == "yes")
    w.send_signal(signal.SIGINT)
    code, out, err = done(w)
    assert (code, out) == (1, "") and "cancel" in err
    assert state(p, "paused") == "no"


@pytest.mark.parametrize("way", ["ini", "tcp"])
def test_shutdown_waits_for_the_end(pooler, way):
    """exit code 0: the process has gone"""
    p = pooler()
    args = ["-c", p.ini] if way == "ini" else [
        "-d", "host=127.0.0.1 port=%d user=admin" % p.port]
    c = p.connect()
    w = start("shutdown", "wait_for_clients", *args)
    p.wait_log("SHUTDOWN WAIT_FOR_CLIENTS command issued")
    # over TCP the last that is seen of it is that it does not listen, which
    # may be while clients are still there
    assert way == "tcp" or w.poll() is None
    c.close()
    assert done(w) == (0, "", "")
    assert way == "tcp" or harness.has_ended(p.proc.pid)
    p.wait_exit()


def test_drain_ends_the_process(pooler):
    """drain [SECONDS]"""
    p = pooler()
    assert ok(ctl("drain", "1", "-c", p.ini)) == ""
    assert harness.has_ended(p.proc.pid)


def test_shutdown_at_once(pooler):
    """the answer is the end of the connection"""
    p = pooler()
    assert ok(ctl("shutdown", "-c", p.ini)) == ""
    assert harness.has_ended(p.proc.pid)


# --- wait-ready, check ----------------------------------------------------

def test_wait_ready(pooler):
    """until it is up, and not paused: exit codes 0, 3, 4"""
    p = pooler(start=False)
    p.write()
    w = start("wait-ready", "-c", p.ini)
    p.start()
    assert done(w) == (0, "", "")
    p.admin("pause")
    failed(ctl("wait-ready", "--timeout", "0.2", "-c", p.ini), 4,
           "not ready: paused")
    w = start("wait-ready", "-c", p.ini)
    p.admin("resume")
    assert done(w) == (0, "", "")


def test_check(pooler):
    """what pgsluice --check says, with its exit code"""
    p = pooler(start=False)
    p.write()
    out = ctl("check", p.ini)
    assert out.returncode == 0 and "no problems found" in out.stdout
    bad = p.put("bad.ini", "[databases]\nx = frob=1\n[pgbouncer]\nfrob = 1\n")
    out = ctl("check", bad)
    assert out.returncode == 1 and "%s: " % bad in out.stdout
    assert "frob" in out.stdout


# --- completion -----------------------------------------------------------

COMPLETE = """. "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _pgsluicectl
printf '%s\\n' "${COMPREPLY[@]}"
"""


def complete(*words):
    path = os.path.join(harness.ROOT, "etc/completion/pgsluicectl")
    return harness.run(["bash", "-c", COMPLETE, "bash", path, "pgsluicectl"] +
                       list(words)).stdout.split()


def test_completion_knows_what_there_is(pooler):
    """each command and topic, in bash and in zsh"""
    p = pooler()
    zsh = open(os.path.join(harness.ROOT,
                            "etc/completion/_pgsluicectl")).read()
    commands = {line.split()[0] for line in
                ok(ctl("--help")).partition("Commands:\n")[2].partition(
                    "\n\n")[0].split("\n") if line[2:3] not in (" ", "")}
    assert commands == {w for w in complete("") if not w.startswith("-")}
    for word in commands:
        assert "'%s:" % word in zsh
    topics = re.findall(r"[A-Z_]{2,}", ok(ctl(
        "show", "help", "-c", p.ini)).partition("SHOW ")[2].partition(
            "SHOW [JSON]")[0])
    found = complete("show", "")
    for topic in set(topics) - {"SHOW"}:
        assert topic.lower() in found and topic.lower() in zsh, topic
    assert complete("-c", "x", "show", "pools", "--j") == ["--json"]
    assert complete("shutdown", "wait_for_c") == ["wait_for_clients"]
    assert complete("profile", "--o") == ["--off-cpu", "--output"]
    assert complete("-o", "x", "profile", "--se") == ["--seconds"]
    assert complete("userlist", "a") == ["add"]


@pytest.fixture
def zsh():
    """On a terminal, with our completion; tab(line): what stands there."""
    shell = shutil.which("zsh")
    if shell is None:
        pytest.skip("no zsh")
    screen = pytest.importorskip("screen")
    s = screen.Screen([shell, "-f", "-i"], rows=40, columns=100)
    s.press(b"PS1='> '; unsetopt beep; autoload -U compinit; "
            b"fpath=(%s $fpath); compinit -u -D; echo REA''DY\r"
            % os.path.join(harness.ROOT, "etc/completion").encode())
    s.wait("READY")

    def tab(line, *wanted):
        s.press(b"\x15\x0c")         # an empty line, and nothing else
        s.wait(lambda t: t.strip() == ">")
        s.press(line.encode() + b"\t")
        return s.wait(lambda t: all(w in t for w in wanted))
    yield tab
    s.close()


def test_zsh_completes(zsh):
    """skipped where there is no zsh"""
    zsh("pgsluicectl ", "check       -- print every problem",
        "wait-ready  -- wait until clients may come")
    zsh("pgsluicectl sho", "pgsluicectl show")
    zsh("pgsluicectl show ", "active_sockets", "stats_totals", "waits")
    zsh("pgsluicectl -c x show stats_t", "show stats_totals")
    zsh("pgsluicectl show pools --j", "pools --json")
    zsh("pgsluicectl shutdown ", "shutdown wait_for_")
    zsh("pgsluicectl userlist ", "add     import  list    remove")
