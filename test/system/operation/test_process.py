# test_process.py - command line, signals, logs, sockets, pid file.
# SPDX-License-Identifier: ISC
import os
import pwd
import re
import signal
import socket
import subprocess

import pytest

import harness
import pq
from harness import REFERENCE, binary, process_env, run, wait_until

newer = pytest.mark.skipif(REFERENCE, reason="newer than that")
LINE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} UTC \[(\d+)\] "
                  r"(FATAL|ERROR|WARNING|LOG|DEBUG|NOISE) (\S.*)")


def check(p, *args):
    return run([binary(), "--check", p.ini] + list(args), cwd=p.dir)


# --- command line ---------------------------------------------------------

@newer
def test_check_accepts_a_good_file(pooler):
    """--check: exit 0"""
    p = pooler(start=False)
    p.write()
    out = check(p)
    assert out.returncode == 0, out.stderr + out.stdout


@pytest.mark.option("--check")
@newer
def test_check_prints_every_problem(pooler):
    """--check: all problems with file and line, exit 1"""
    p = pooler(start=False)
    p.write()
    with open(p.ini, "w") as f:
        f.write("[databases]\n"                         # 1
                "p0 = host=127.0.0.1 bogus=1\n"         # 2
                "pgbouncer = host=x\n"                  # 3
                "[pgbouncer]\n"                         # 4
                "listen_addr = 127.0.0.1\n"             # 5
                "default_pool_size = many\n"            # 6
                "\n"                                    # 7
                "no_such_setting = 1\n"                 # 8
                "pool_mode = sometimes\n"               # 9
                "query_timeout = 5 parsecs\n"                  # 10
                "auth_file = %s\n" % p.auth)            # 11
    out = check(p)
    assert out.returncode == 1
    text = out.stdout + out.stderr
    for n in (2, 3, 6, 8, 9, 10):
        assert re.search(r"pooler\.ini:%d\b" % n, text), (n, text)
    for n in (1, 4, 5, 7, 11):
        assert not re.search(r"pooler\.ini:%d\b" % n, text), (n, text)


@newer
def test_check_looks_into_includes(pooler):
    """config-files.md 1: include; problems name the included file"""
    p = pooler(start=False)
    p.write()
    inc = p.put("more.ini", "; comment\nbad_key = 1\n")
    with open(p.ini, "a") as f:
        f.write("%%include %s\n" % inc)
    out = check(p)
    assert out.returncode == 1
    assert re.search(r"more\.ini:2\b", out.stdout + out.stderr)


@newer
def test_check_counts_causes_not_lines(pooler):
    """--check: auth file beside other mistakes; an include's are its own"""
    p = pooler(start=False)
    p.write()
    users = p.put("users.txt", 'x\n"a" "b"\ny\n')
    os.chmod(users, 0o600)
    inc = p.put("more.ini", "[pgbouncer]\nauth_file = %s\nbad_key = 1\n"
                % users)
    with open(p.ini, "w") as f:
        f.write("%%include %s\n" % inc)
    out = check(p)
    assert out.returncode == 1
    for place in ("users.txt:1", "users.txt:3", "more.ini:3", "pooler.ini:1"):
        assert place in out.stdout, (place, out.stdout)
    assert out.stdout.endswith("pooler.ini: 3 problems\n"), out.stdout


@newer
def test_check_misses_a_place_to_listen(pooler):
    """--check: what the start would refuse"""
    p = pooler(start=False, listen_addr="", unix_socket_dir="")
    p.write()
    out = check(p)
    assert out.returncode == 1
    assert "nowhere to listen on\n" in out.stdout


@newer
@pytest.mark.parametrize("text", [
    "", "[pgbouncer\n", "key = 1\n", "[nonsense]\n", "[databases]\np0\n",
    "[databases]\np0 = host='x\n", "%include /does/not/exist\n",
    "[users]\nu = nope=1\n", "[peers]\nx = host=a\n", "[peers]\n1 = port=1\n"])
def test_check_refuses_bad_files(pooler, text):
    """config-files.md 1-5"""
    p = pooler(start=False)
    p.write()
    with open(p.ini, "w") as f:
        f.write(text)
    out = check(p)
    assert out.returncode == 1
    assert out.stdout + out.stderr


NOTES = {
    "listen": ("listen_addr = localhost:6543", "", "listen_addr: "
               '"localhost:6543" is not an address; listen_port sets the port'),
    "unix": ("listen_addr =", "", "listen_addr is empty: pgsluice listens on Unix "
    "sockets only"),
    "http": ("http_listen_port = 9127\nhttp_listen_addr = *, ::1, localhost", "",
             'http_listen_addr: "localhost" is not an address, so HTTP is '
             "not served there"),
    "host": ("", "p1 = host=::1,127.0.0.1:5432", 'database "p1": '
             '"127.0.0.1:5432" is not a host; port= sets the port'),
    "nobody": ("auth_type = md5\nauth_file =", "", "nobody can log in: "
               "auth_file has no users, and auth_user is not set"),
    "md5": ("auth_type = scram-sha-256", "", "nobody can log in: auth_type "
            "is scram-sha-256, and no secret in auth_file is for it"),
    "minimum": ("min_pool_size = 5\ndefault_pool_size = 4", "",
                "min_pool_size is above default_pool_size: pools keep 4 "
                "servers"),
}


@newer
@pytest.mark.parametrize("name", NOTES)
def test_check_notes_what_is_hardly_meant(pooler, name):
    """--check: a note is no problem; one for each, and no other"""
    settings, database, want = NOTES[name]
    p = pooler(start=False, userlist={"app": "md5" + 32 * "a"}, extra=settings)
    if database:
        p.extra += "\n[databases]\n" + database
    p.write()
    out = check(p)
    assert out.returncode == 0, out.stdout
    assert out.stdout.splitlines()[:-1] == ["note: " + want]


HINTS = {
    "[database]\na = port=1\n": '), did you mean "databases"?',
    "[pgbouncer]\nlisten_port = 6432 ; ours\n":
        "(a comment needs a line of its own)",
    '[pgbouncer]\nauth_file = "users.txt"\n':
        "(the quotes are part of the name)",
}


@newer
@pytest.mark.parametrize("text", HINTS)
def test_mistake_of_a_newcomer_is_named(pooler, text):
    """config-files.md 2: behind the reference's text"""
    p = pooler(start=False)
    p.write()
    with open(p.ini, "w") as f:
        f.write(text)
    out = check(p)
    assert out.returncode == 1
    assert HINTS[text] in out.stdout, out.stdout


@newer
def test_check_of_a_missing_file(tmp_path):
    """--check: exit 1"""
    out = run([binary(), "--check", "/does/not/exist.ini"], cwd="/")
    assert out.returncode == 1
    assert "/does/not/exist.ini" in out.stdout + out.stderr


@pytest.mark.option("--version")
def test_version():
    """config-files.md 14: -V"""
    for opt in ("-V", "--version"):
        out = run([binary(), opt], cwd="/")
        assert out.returncode == 0 and out.stderr == ""
        lines = out.stdout.splitlines()
        assert re.match(r"PgBouncer \d+\.\d+", lines[0])
        assert lines[1].startswith("libevent ")
        assert lines[2].startswith("adns: ")
        assert lines[3].startswith("tls: ")


@pytest.mark.skipif(REFERENCE, reason="it is one release")
@pytest.mark.parametrize("text,number", [
    ("", "1.25.2"), ("console_version = 1.26", "1.26.1"),
    ("console_version = 1.25", "1.25.2"), ("nonsense = 1", "1.25.2")])
def test_version_is_the_one_that_a_file_announces(tmp_path, text, number):
    ini = tmp_path / "ini"
    ini.write_text("[databases]\n[pgbouncer]\n%s\n" % text)
    for args in (["-V", str(ini)], [str(ini), "--version"]):
        out = run([binary(), *args], cwd="/")
        assert out.returncode == 0 and out.stderr == ""
        assert out.stdout.startswith("PgBouncer %s (pgsluice " % number)


@pytest.mark.option("--help")
def test_help():
    """config-files.md 14: -h"""
    for opt in ("-h", "--help"):
        out = run([binary(), opt], cwd="/")
        assert out.returncode == 0
        assert "Usage" in out.stdout or "usage" in out.stdout


@pytest.mark.parametrize("args", [[], ["a", "b"], ["--nonsense", "x"]])
def test_usage_errors(args):
    """config-files.md 14"""
    out = run([binary()] + args, cwd="/")
    assert out.returncode == 1 and out.stdout == ""
    assert "--help" in out.stderr
    if len(args) != 1 and not (args and args[0].startswith("-")):
        assert REFERENCE or "no configuration file specified" in out.stderr


def test_missing_configuration_is_fatal():
    """config-files.md 1: file unreadable"""
    out = run([binary(), "/does/not/exist.ini"], cwd="/")
    assert out.returncode == 1
    assert ('FATAL cannot load config file ("pgsluice --check '
            '/does/not/exist.ini" prints') in out.stderr


@newer
def test_bad_configuration_names_file_and_line(pooler):
    """config-files.md 1: error reporting"""
    p = pooler(start=False, default_pool_size="many")
    p.write()
    out = run([binary(), p.ini], cwd=p.dir)
    assert out.returncode == 1
    with open(p.ini) as f:
        n = f.read().splitlines().index("default_pool_size = many") + 1
    assert ('invalid value "many" for parameter default_pool_size in '
            'configuration (%s:%d)' % (p.ini, n)) in out.stderr


@pytest.mark.root
def test_root_is_refused(pooler):
    """config-files.md 15: step 5"""
    p = pooler(start=False)
    p.write()
    out = subprocess.run([binary(), p.ini], stderr=subprocess.PIPE,
                         text=True, timeout=60, cwd="/", env=process_env())
    assert out.returncode == 1
    assert "PgBouncer should not run as root" in out.stderr


@pytest.mark.option("--user")
@pytest.mark.setting("user")
@pytest.mark.parametrize("how", ["-u", "setting"])
def test_user_is_switched(pooler, how):
    """config-files.md 14, 16: -u, user; from root, or already that user"""
    p = pooler(start=False)
    args, user = [], harness.USER or pwd.getpwuid(os.getuid())
    if how == "-u":
        args = ["-u", user.pw_name]
    else:
        p.settings["user"] = user.pw_name
    p.write()
    p.logfile = open(p.logname, "ab")
    p.proc = subprocess.Popen([binary()] + args + [p.ini],
                              stdout=p.logfile, stderr=p.logfile,
                              cwd=p.dir, env=process_env())
    wait_until(p._is_up)
    assert os.stat("/proc/%d" % p.proc.pid).st_uid == user.pw_uid
    assert p.raw().value("select 1") == "1"


@pytest.mark.option("--quiet")
@pytest.mark.setting("logfile")
def test_quiet_writes_to_the_log_file_only(pooler):
    """logging.md 1: -q, logfile"""
    p = pooler(start=False, args=["-q"])
    p.settings["logfile"] = os.path.join(p.dir, "own.log")
    p.write()
    p.launch()

    def up():
        with open(p.settings["logfile"]) as f:
            return "process up" in f.read()
    wait_until(lambda: os.path.exists(p.settings["logfile"]) and up())
    assert p.raw().value("select 1") == "1"
    assert p.log == ""


@pytest.mark.option("--quiet")
def test_quiet_is_not_silent_about_a_bad_configuration(pooler):
    """where else to log is not known yet"""
    p = pooler(start=False, pool_mode="often")
    p.write()
    out = run([binary(), "-q", p.ini], cwd=p.dir)
    assert out.returncode == 1
    assert "pool_mode must be one of" in out.stderr


def test_log_file_is_reopened(pooler):
    """logging.md 1: reopened after a reload"""
    p = pooler(start=False)
    p.settings["logfile"] = path = os.path.join(p.dir, "own.log")
    p.start()
    os.rename(path, path + ".1")
    p.sighup()
    p.raw().close()
    wait_until(lambda: os.path.exists(path) and os.path.getsize(path))


@pytest.mark.option("--quiet")
@pytest.mark.option("--check")
def test_options_may_stand_behind_the_file(pooler):
    """as scripts have them: pgbouncer x.ini -q"""
    p = pooler(start=False)
    p.write()
    out = run([binary(), p.ini, "--check"], cwd=p.dir)
    assert out.returncode == 0 and "no problems found" in out.stdout
    with open(p.ini, "w") as f:
        f.write("[pgbouncer]\npool_mode = often\n")
    out = run([binary(), p.ini, "-q"], cwd=p.dir)
    assert out.returncode == 1 and "pool_mode must be one of" in out.stderr
    assert run([binary(), p.ini, "-V"], cwd=p.dir).returncode == 0


@pytest.mark.option("--verbose")
def test_verbose_adds_debug_lines(pooler):
    """logging.md 2: -v"""
    p = pooler(args=["-v", "-v"])
    p.raw().query("select 1")
    assert " DEBUG " in p.log or " NOISE " in p.log
    q = pooler()
    q.raw().query("select 1")
    assert " DEBUG " not in q.log and " NOISE " not in q.log


def locked(pid):
    with open("/proc/%d/status" % pid, encoding="ascii") as f:
        return next(line for line in f if line.startswith("VmLck"))


@pytest.mark.option("--daemon")
def test_daemon_with_pid_file(pooler):
    """config-files.md 16: -d"""
    p = pooler(start=False)
    pidfile = os.path.join(p.dir, "p.pid")
    p.settings.update(pidfile=pidfile, logfile=os.path.join(p.dir, "o.log"))
    p.write()
    out = run([binary(), "-d", p.ini], cwd=p.dir)
    assert out.returncode == 0, out.stderr
    wait_until(lambda: os.path.exists(pidfile) and
               open(pidfile).read().endswith("\n"))
    pid = int(open(pidfile).read())
    try:
        assert os.stat(pidfile).st_mode & 0o777 & ~0o022 == 0o644 & ~0o022
        # as much as without -d: memory for secrets is locked again
        assert locked(pid) == locked(pooler().proc.pid)

        def answers():
            try:
                return p.raw().value("select 1")
            except OSError:
                return None
        assert wait_until(answers) == "1"
        assert os.getsid(pid) != os.getsid(0)
        for fd in (0, 1, 2):
            assert os.readlink("/proc/%d/fd/%d" % (pid, fd)) == "/dev/null"
        again = run([binary(), "-d", p.ini], cwd=p.dir)
        assert again.returncode == 1
    finally:
        os.kill(pid, signal.SIGTERM if REFERENCE else signal.SIGQUIT)
        wait_until(lambda: harness.has_ended(pid))
    assert not os.path.exists(pidfile)


@newer
@pytest.mark.parametrize("daemon", [False, True])
def test_first_load_is_in_the_log_file(pooler, daemon):
    """what was found before the log file was known stands there too, once"""
    p = pooler(start=False)
    own, pidfile = os.path.join(p.dir, "own.log"), os.path.join(p.dir, "pid")
    p.settings.update(logfile=own, pidfile=pidfile)
    p.write()
    os.unlink(p.auth)
    p.args = ["-d"] if daemon else []
    p.launch()
    if daemon:
        assert p.wait_exit() == 0
    wait_until(lambda: os.path.exists(own) and
               "process up" in open(own).read(), what="the log file")
    with open(own) as f:
        lines = f.read().splitlines()
    pid = int(open(pidfile).read())
    if daemon:
        os.kill(pid, signal.SIGQUIT)
    for text in (p.log, "\n".join(lines)):
        assert text.count("ERROR could not open auth_file %s: " % p.auth) == 1
    assert "could not open auth_file" in lines[0]
    assert all("[%d]" % pid in line for line in lines[1:])


def test_daemon_needs_a_pid_file(pooler):
    """config-files.md 16"""
    p = pooler(start=False)
    p.write()
    out = run([binary(), "-d", p.ini], cwd=p.dir)
    assert out.returncode == 1
    assert "daemon needs pidfile configured" in out.stderr


@pytest.mark.setting("pidfile")
def test_pid_file_of_a_live_process_is_respected(pooler):
    """config-files.md 16: existing file; stale pidfile"""
    p = pooler(start=False)
    p.settings["pidfile"] = p.put("p.pid", "%d\n" % os.getpid())
    p.write()
    out = run([binary(), p.ini], cwd=p.dir)
    assert out.returncode == 1
    assert "exists, another instance running?" in out.stderr
    gone = subprocess.Popen(["true"])
    gone.wait()
    p.put("p.pid", "%d\n" % gone.pid)
    p.start()
    assert "stale pidfile, removing" in p.log
    assert open(p.settings["pidfile"]).read() == "%d\n" % p.proc.pid
    p.stop()
    assert not os.path.exists(p.settings["pidfile"])


# --- sockets --------------------------------------------------------------

def test_second_instance_is_refused(pooler):
    """config-files.md 15 step 7"""
    p = pooler()
    q = pooler(start=False)
    q.settings.update(listen_port=p.port, unix_socket_dir=p.dir)
    q.write()
    out = run([binary(), q.ini], cwd=q.dir)
    assert out.returncode == 1
    assert "unix socket is in use, cannot continue" in out.stderr
    assert p.raw().value("select 1") == "1"


@pytest.mark.setting("unix_socket_mode")
def test_stale_socket_file_is_replaced(pooler):
    """config-files.md 17: unlinked first, mode set, unlinked at exit"""
    p = pooler(start=False, unix_socket_mode="0700")
    path = os.path.join(p.dir, ".s.PGSQL.%d" % p.port)
    s = socket.socket(socket.AF_UNIX)
    s.bind(path)
    s.close()
    if os.getuid() == 0:
        harness.give(path)
    p.start()
    assert os.stat(path).st_mode & 0o777 == 0o700
    assert "listening on unix:%s" % path in p.log
    assert "listening on 127.0.0.1:%d" % p.port in p.log
    p.stop()
    assert not os.path.exists(path)


@pytest.mark.setting("unix_socket_dir")
def test_no_unix_socket(pooler, pg):
    """settings.md 3: unix_socket_dir empty"""
    p = pooler(unix_socket_dir="")
    assert p.raw().value("select 1") == "1"
    assert "listening on unix" not in p.log


def test_abstract_unix_socket(pooler):
    """config-files.md 17: @name"""
    name = "pgsl-test-%d" % os.getpid()
    p = pooler(unix_socket_dir="@" + name)
    c = pq.Conn(path="\0%s/.s.PGSQL.%d" % (name, p.port))
    assert c.login("app", "apppw", "p0").value("select 1") == "1"
    c.close()


def test_nowhere_to_listen(pooler):
    """config-files.md 17"""
    p = pooler(start=False, listen_addr="", unix_socket_dir="")
    p.write()
    out = run([binary(), p.ini], cwd=p.dir)
    assert out.returncode == 1
    assert "nowhere to listen on" in out.stderr


def test_unix_console_of_the_own_user(pooler):
    """admin-console.md 1: no authentication for the own uid"""
    import shutil
    p = pooler(auth_type="md5")
    exe = shutil.which("psql") or harness.pg_bin("psql")
    out = run([exe, "-XAt", "-h", p.dir, "-p", str(p.port), "-U",
               "pgbouncer", "-w", "-c", "show version", "pgbouncer"],
              cwd="/tmp")
    assert out.returncode == 0, out.stderr
    # who only looks, as a health check does, leaves no line
    assert ("pgbouncer access from unix socket" in p.log) == REFERENCE
    if not REFERENCE:
        assert "@unix(" not in p.log


@newer
def test_unix_console_is_logged_from_its_first_command_on(pooler):
    """logging.md 5: access, command, end; a mistake is told at any time"""
    p = pooler()
    def ask(*commands):
        out = run([harness.pg_bin("psql"), "-XAt", "-h", p.dir, "-p",
                   str(p.port), "-U", "pgbouncer", "-w", "pgbouncer"] +
                  [w for c in commands for w in ("-c", c)], cwd="/tmp")
        return out.returncode
    assert ask("show pools", "select * from clients") == 0
    assert ask("show pools", "log who is there") == 0
    wait_until(lambda: p.log.count("closing because: close req") == 1)
    lines = [line.split("@unix(")[1].split(" ", 1)[1]
             for line in p.log.split("\n") if "@unix(" in line]
    assert [re.sub(r"age=\d+", "age=0", line) for line in lines] == [
        "pgbouncer access from unix socket", "who is there",
        "closing because: close req (age=0s)"]
    assert ask("show nothing") == 1
    p.wait_log("invalid command '")
    p.admin("set verbose = 1")
    assert ask("show pools") == 0
    wait_until(lambda: p.log.count("closing because: close req") >= 2)
    assert "login attempt: db=pgbouncer user=pgbouncer" in p.log


@newer
def test_unix_console_that_asks_for_sockets_is_logged(pooler):
    """logging.md 5: SHOW FDS only looks, but the answer carries sockets"""
    p = pooler()
    out = run([harness.pg_bin("psql"), "-XAt", "-h", p.dir, "-p", str(p.port),
               "-U", "pgbouncer", "-w", "-c", "show fds", "pgbouncer"],
              cwd="/tmp")
    assert out.returncode == 0, out.stderr
    p.wait_log("pgbouncer access from unix socket")


# --- logs -----------------------------------------------------------------

def test_log_lines_have_their_form(pooler):
    """logging.md 2, 3, 5"""
    p = pooler()
    c = p.raw(unix=True)
    c.query("select 1")
    c.close()
    d = p.raw()
    d.send(pq.bind("ghost"), pq.sync())
    d.close()
    with pytest.raises(pq.PgError):
        p.raw("ghost")
    p.wait_log("closing because: client close request")
    p.wait_log("pooler error: \"trust\" authentication failed")
    for line in p.log.splitlines():
        m = LINE.fullmatch(line)
        assert m, line
        assert int(m.group(1)) == p.proc.pid
    pid = os.getpid()
    addr = r"0x[0-9a-f]+: p0/app@"
    patterns = [
        r"LOG kernel file descriptor limit: \d+ \(hard: \d+\); "
        r"max_client_conn: 2000, max expected fd use: \d+",
        r"LOG C-%sunix\(%d\):%d login attempt: db=p0 user=app tls=no" % (
            addr, pid, p.port),
        r"LOG S-%s127\.0\.0\.1:\d+ new connection to server "
        r"\(from 127\.0\.0\.1:\d+\)" % addr,
        r"LOG C-%sunix\(%d\):%d closing because: client close request "
        r"\(age=\d+s\)" % (addr, pid, p.port),
        r"WARNING C-0x[0-9a-f]+: \(nodb\)/\S+@127\.0\.0\.1:\d+ pooler "
        r"error: \"trust\" authentication failed",
    ]
    for pat in patterns:
        assert re.search(pat, p.log), pat
    if not REFERENCE:
        assert "replication=no" in p.log
        assert re.search(r"process up: \S+ \S+.*, libevent \S+ \(\w+\), "
                         r"adns: .*, tls: ", p.log)


@pytest.mark.setting("log_connections", "log_disconnections",
                     "log_pooler_errors")
def test_log_switches(pooler):
    """logging.md 4"""
    p = pooler(log_connections=0, log_disconnections=0,
               log_pooler_errors=0)
    c = p.raw()
    c.query("select 1")
    c.close()
    with pytest.raises(pq.PgError):
        p.raw("ghost")
    p.wait_pool(cl_active=0)
    for text in ("login attempt", "closing because", "pooler error",
                 "new connection to server"):
        assert text not in p.log


@pytest.mark.parametrize("version,logins", [
    ("1.25", ""), ("1.26", r"\d+ client logins/s, ")])
def test_stats_line(pooler, version, logins):
    """logging.md 10: scripts take it apart by its words"""
    p = pooler(stats_period=1, **({} if REFERENCE else {
        "console_version": version}))
    p.raw().query("select 1")
    if REFERENCE:
        p.wait_log("stats: ")
        return
    p.wait_log(r"LOG stats: \d+ xacts/s, \d+ queries/s, \d+ client "
               r"parses/s, \d+ server parses/s, \d+ binds/s, " + logins +
               r"in \d+ B/s, out \d+ B/s, xact \d+ us, query "
               r"\d+ us, wait \d+ us\n")


# --- signals --------------------------------------------------------------

def test_sighup_reloads(pooler):
    """config-files.md 19"""
    p = pooler()
    p.settings["default_pool_size"] = 4
    p.write()
    p.sighup()
    assert "got SIGHUP, re-reading config" in p.log
    wait_until(lambda: p.show("config", key="default_pool_size")[0]
               ["value"] == "4")


def test_sighup_with_a_bad_file_changes_nothing(pooler):
    """config-files.md 13"""
    p = pooler()
    p.put("pooler.ini", "[pgbouncer]\nnonsense = 1\n")
    p.signal(signal.SIGHUP)
    p.wait_log("config file loading failed")
    if not REFERENCE:
        assert p.raw().value("select 1") == "1"
        assert p.show("databases", name="p0")


@newer
def test_sigterm_waits_for_clients(pooler):
    """config-files.md 19"""
    # regressions: Ody face7b70
    p = pooler()
    a = p.raw()
    p.signal(signal.SIGTERM)
    p.wait_log("got SIGTERM, shutting down, waiting for all clients "
               "disconnect")
    assert a.value("select 1") == "1"
    wait_until(lambda: refuses(p))
    a.close()
    assert p.wait_exit() == 0
    assert "client connections dropped, exiting" in p.log


@newer
def test_sigterm_that_was_ignored_at_the_start_stays_ignored(pooler):
    """config-files.md 19"""
    p = pooler(start=False)
    p.write()
    p.launch(preexec_fn=lambda: signal.signal(signal.SIGTERM, signal.SIG_IGN))
    wait_until(p._is_up)
    p.signal(signal.SIGTERM)
    p.signal(signal.SIGHUP)     # it is heard later than SIGTERM would be
    p.wait_log("got SIGHUP")
    assert p.raw().value("select 1") == "1"
    assert "got SIGTERM" not in p.log
    p.signal(signal.SIGINT)
    assert p.wait_exit() == 0


def refuses(p):
    try:
        p.open().close()
        return False
    except OSError:
        return True


@newer
@pytest.mark.parametrize("second", [signal.SIGTERM, signal.SIGINT])
def test_second_signal_is_fast(pooler, second):
    """config-files.md 19"""
    p = pooler()
    a = p.raw()
    a.query("begin")
    p.signal(signal.SIGTERM)
    p.wait_log("got SIGTERM, shutting down")
    p.signal(second)
    assert p.wait_exit() == 0
    assert "got %s while shutting down, fast exit" % second.name in p.log
    assert a.recv_all().messages == []


def test_sigint_waits_for_servers(pooler):
    """config-files.md 19"""
    p = pooler(default_pool_size=1)
    p.expect_exit = 0
    a, b = p.raw(), p.raw()
    a.query("begin")
    p.signal(signal.SIGINT)
    p.wait_log("got SIGINT, shutting down")
    if not REFERENCE:
        b.send(pq.query("select 1"))
        assert b.recv_all().errors[-1].message == "server shutting down"
    assert a.value("select 2") == "2"
    a.query("commit")
    assert p.wait_exit() == 0
    if not REFERENCE:
        assert "server connections dropped, exiting" in p.log


@newer
def test_sigquit_is_immediate(pooler):
    """config-files.md 19"""
    p = pooler()
    a = p.raw()
    a.query("begin")
    p.signal(signal.SIGQUIT)
    assert p.wait_exit() == 0
    assert "got SIGQUIT, fast exit" in p.log
    assert a.recv_all().messages == []


def test_usr1_pauses_usr2_resumes(pooler):
    """config-files.md 19"""
    p = pooler()
    a = p.raw()
    a.query("select 1")
    p.signal(signal.SIGUSR1)
    p.wait_log("got SIGUSR1, pausing all activity")
    p.wait_pool(sv_idle=0)
    a.send(pq.query("select 'later'"))
    p.wait_pool(cl_waiting=1)
    p.signal(signal.SIGUSR1)
    p.wait_log("got SIGUSR1, but already paused/suspended")
    p.signal(signal.SIGUSR2)
    p.wait_log("got SIGUSR2, continuing from PAUSE")
    assert a.recv_until().rows == [["later"]]
    p.signal(signal.SIGUSR2)
    p.wait_log("got SIGUSR2, but not paused/suspended")
