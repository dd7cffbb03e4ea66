# test_systemd.py - the service manager: notification, sockets, units.
# SPDX-License-Identifier: ISC
"""A test plays systemd: it owns the notification socket, passes sockets."""
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

import pytest

import harness
import pq
from harness import REFERENCE, binary, give, process_env, run, wait_until

pytestmark = pytest.mark.skipif(REFERENCE, reason="newer than that")
ETC = os.path.join(harness.ROOT, "etc")


def has_systemd():
    return "systemd: yes" in run([binary(), "-V"], cwd="/").stdout


@pytest.fixture
def built():
    if not has_systemd():
        pytest.skip("built without systemd")


class Manager:
    """The other end of NOTIFY_SOCKET."""

    def __init__(self):
        self.dir = harness.make_tmp()
        self.path = os.path.join(self.dir, "notify")
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.sock.bind(self.path)
        os.chmod(self.path, 0o777)
        self.sock.settimeout(harness.TIMEOUT)

    def get(self, *skip):
        """The next message that does not begin with one of skip."""
        while True:
            text = self.sock.recv(65536).decode()
            if not any(text.startswith(s) for s in skip):
                return text

    def close(self):
        self.sock.close()
        shutil.rmtree(self.dir, ignore_errors=True)


@pytest.fixture
def manager(monkeypatch):
    m = Manager()
    monkeypatch.setenv("NOTIFY_SOCKET", m.path)
    yield m
    m.close()


def test_notify_socket_is_warned_of(pooler, monkeypatch):
    """config-files.md 18: built without, and NOTIFY_SOCKET set"""
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    assert "NOTIFY_SOCKET" not in pooler().log
    monkeypatch.setenv("NOTIFY_SOCKET", "/does/not/exist")
    assert (" WARNING NOTIFY_SOCKET is set" in pooler().log) != has_systemd()


def test_ready_is_told_when_it_listens(pooler, built, manager):
    """config-files.md 18: READY=1, after the sockets are there"""
    p = pooler(start=False)
    p.write()
    p.launch()
    assert manager.get() == "READY=1"
    assert p.raw().value("select 1") == "1"
    wait_until(p._is_up)


def test_reload_by_signal_is_told_around(pooler, built, manager):
    """config-files.md 18: RELOADING with the clock; the console tells none"""
    p = pooler()
    assert manager.get() == "READY=1"
    p.reload()
    p.signal(signal.SIGHUP)
    text = manager.get()
    m = re.fullmatch(r"RELOADING=1\nMONOTONIC_USEC=(\d+)\n?", text)
    assert m, text
    # not /proc/uptime, which counts the time that the machine was suspended
    assert 0 <= time.monotonic() - int(m.group(1)) / 1e6 < harness.TIMEOUT
    assert manager.get() == "READY=1"


@pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGINT])
def test_stopping_is_told(pooler, built, manager, sig):
    """config-files.md 18: the first SIGTERM or SIGINT"""
    p = pooler()
    a = p.raw()
    a.query("begin")
    assert manager.get() == "READY=1"
    p.signal(sig)
    assert manager.get() == "STOPPING=1"
    a.query("commit")
    a.close()
    assert p.wait_exit() == 0


def test_status_says_whom_a_shutdown_waits_for(pooler, built, manager):
    """systemctl status, while it does not end"""
    p = pooler(stats_period=3600)
    a, b = p.raw(), p.raw()
    assert manager.get() == "READY=1"
    p.signal(signal.SIGTERM)
    assert manager.get() == "STOPPING=1"
    for left, c in ((2, a), (1, b)):
        assert manager.get() == (
            "STATUS=shutting down, waiting for %d clients" % left)
        c.close()
    assert p.wait_exit() == 0


def test_sigquit_tells_nothing(pooler, built, manager):
    """config-files.md 18: not for SIGQUIT"""
    p = pooler()
    assert manager.get() == "READY=1"
    p.signal(signal.SIGQUIT)
    assert p.wait_exit() == 0
    manager.sock.settimeout(0)
    with pytest.raises(BlockingIOError):
        manager.get()


def test_status_has_the_numbers(pooler, built, manager):
    """config-files.md 18: STATUS each stats_period, log_stats or not"""
    p = pooler(stats_period=1, log_stats=0)
    assert manager.get() == "READY=1"
    assert re.fullmatch(
        "STATUS=stats: \\d+ xacts/s, \\d+ queries/s, \\d+ client parses/s, "
        "\\d+ server parses/s, \\d+ binds/s, in \\d+ "
        "B/s, out \\d+ B/s, xact \\d+ \u03bcs, query \\d+ \u03bcs, wait "
        "\\d+ \u03bcs\n?", manager.get())
    assert "stats:" not in p.log


def test_watchdog_is_fed(pooler, built, manager, monkeypatch):
    """WATCHDOG_USEC: at least twice in that time"""
    monkeypatch.setenv("WATCHDOG_USEC", "400000")
    pooler()
    assert manager.get() == "READY=1"
    for _ in range(3):
        assert manager.get("STATUS") == "WATCHDOG=1"


def test_no_watchdog_without_being_asked(pooler, built, manager,
                                         monkeypatch):
    """WATCHDOG_PID names another process"""
    monkeypatch.setenv("WATCHDOG_USEC", "100000")
    monkeypatch.setenv("WATCHDOG_PID", "1")
    p = pooler(stats_period=1)
    assert manager.get() == "READY=1"
    assert manager.get().startswith("STATUS=")
    assert p.raw().value("select 1") == "1"


# --- socket activation ----------------------------------------------------

RUNNER = """
import os, sys
fds = [int(a) for a in sys.argv[1].split(",")]
for i, fd in enumerate(fds):
    os.dup2(fd, 100 + i)
for i in range(len(fds)):
    os.dup2(100 + i, 3 + i, inheritable=True)
os.environ["LISTEN_PID"] = str(os.getpid())
os.environ["LISTEN_FDS"] = str(len(fds))
os.execv(sys.argv[2], sys.argv[2:])
"""


def activate(p, *socks):
    fds = [s.fileno() for s in socks]
    p.launch([sys.executable, "-c", RUNNER, ",".join(map(str, fds))],
             pass_fds=fds)


def listen_unix(path):
    s = socket.socket(socket.AF_UNIX)
    s.bind(path)
    os.chmod(path, 0o777)
    s.listen(5)
    return s


def listen_tcp(port):
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind(("127.0.0.1", port))
    s.listen(5)
    return s


def test_passed_sockets_are_the_only_ones(pooler, built):
    """config-files.md 18: socket activation"""
    p = pooler(start=False)
    tcp, port = listen_tcp(p.port), p.port
    path = os.path.join(p.dir, "passed.sock")
    unix = listen_unix(path)
    give(path)
    p.settings["listen_port"] = harness.free_port()
    p.write()
    activate(p, tcp, unix)
    wait_until(p._is_up)
    for text in ("LOG socket passed from service manager (fd 3)",
                 "LOG socket passed from service manager (fd 4)",
                 "sockets passed from service manager, cf_listen_addr "
                 "ignored",
                 "sockets passed from service manager, cf_unix_socket_dir "
                 "ignored",
                 "LOG listening on 127.0.0.1:%d\n" % port,
                 "LOG listening on unix:%s\n" % path):
        assert text in p.log, text
    assert p.log.count("listening on") == 2
    assert p.raw().value("select 1") == "1"
    c = pq.Conn(path=path).login("app", "apppw", "p0")
    assert c.value("select 2") == "2"
    c.close()
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", p.settings["listen_port"]))
    assert not os.path.exists(os.path.join(
        p.dir, ".s.PGSQL.%d" % p.settings["listen_port"]))
    p.signal(signal.SIGQUIT)
    assert p.wait_exit() == 0
    assert os.path.exists(path)     # it belongs to systemd
    tcp.close()
    unix.close()


def listen_both(port):
    """As ListenStream=6432 does: IPv4 and IPv6 by one socket."""
    s = socket.socket(socket.AF_INET6)
    s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind(("::", port))
    s.listen(5)
    return s


def test_ipv4_is_ipv4_by_a_socket_for_both(pooler, built):
    """authentication.md 4: rules, the log, SHOW and names of applications"""
    p = pooler(start=False, auth_type="hba", application_name_add_host=1)
    p.settings["auth_hba_file"] = p.put("hba.conf", """
host all app 127.0.0.1/32 trust
host all app2 127.0.0.0/8 reject
host all app2 all trust
host all stats ::/0 reject
host all stats ::ffff:127.0.0.0/104 reject
host all stats 127.0.0.0/8 trust
host pgbouncer admin 127.0.0.1 255.255.255.255 trust
host all all ::1/128 trust
""")
    p.write()
    both = listen_both(p.port)
    activate(p, both)
    wait_until(p._is_up)
    c = p.raw(application_name="mine")
    assert re.fullmatch(r"mine - 127\.0\.0\.1:\d+",
                        c.value("show application_name"))
    with pytest.raises(pq.PgError) as e:
        p.raw("app2")
    assert e.value.message == "login rejected"
    assert p.raw("stats", "pgbouncer").query("show version").rows
    row, = p.show("clients", user="app")
    assert row["addr"] == row["local_addr"] == "127.0.0.1"
    assert "app@127.0.0.1:" in p.log
    assert "ffff" not in p.log
    six = pq.Conn("::1", p.port).login("app2", "app2pw", "p0")
    assert six.value("select 1") == "1"
    six.close()
    both.close()


def test_connections_wait_while_the_service_restarts(pooler, built):
    """sockets stay with systemd: nobody is refused meanwhile"""
    p = pooler(start=False, listen_addr="")
    tcp = listen_tcp(p.port)
    p.write()
    activate(p, tcp)
    wait_until(p._is_up)
    p.signal(signal.SIGQUIT)
    assert p.wait_exit() == 0
    c = p.open()
    c.send(pq.startup({"user": "app", "database": "p0"}))
    os.rename(p.logname, p.logname + ".old")
    activate(p, tcp)
    wait_until(p._is_up)
    c.recv_until()
    assert c.value("select 1") == "1"
    tcp.close()


def test_reboot_is_refused_under_a_service_manager(pooler, built):
    """config-files.md 18: -R"""
    p = pooler(start=False, args=["-R"])
    tcp = listen_tcp(p.port)
    p.write()
    p.expect_exit = 1
    activate(p, tcp)
    assert p.wait_exit() == 1
    assert "FATAL cannot reboot under service manager" in p.log
    tcp.close()


def test_what_does_not_listen_is_refused(pooler, built):
    """a descriptor that is no listening socket"""
    p = pooler(start=False)
    s = socket.socket()
    p.write()
    p.expect_exit = 1
    activate(p, s)
    assert p.wait_exit() == 1
    assert "FATAL descriptor 3 is not a listening stream socket" in p.log
    s.close()


# --- journal --------------------------------------------------------------

def test_journal_lines_have_priorities(pooler):
    """logging.md 1: stderr is the journal. In a build without systemd lines
    begin with <priority>; with it they go to its socket, none to stderr"""
    p = pooler(start=False, stats_period=1)
    p.write()
    with open(p.logname, "ab") as f:
        st = os.fstat(f.fileno())
    env = dict(process_env(), JOURNAL_STREAM="%d:%d" % (st.st_dev,
                                                         st.st_ino))
    p.launch(env=env)

    def up():
        try:
            return p.raw().value("select 1") == "1"
        except OSError:
            return False
    wait_until(up)
    if has_systemd():
        assert p.log == ""
    else:
        assert re.search(r"^<6>process up: ", p.log, re.M)
        assert not re.search(r"^(?!<\d>)", p.log.strip(), re.M)


JOURNAL = "/run/systemd/journal"

def test_journal_entries_are_native(pooler, built):
    """logging.md 1: one entry a message, text without time and pid"""
    d = harness.make_tmp()
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    sock.bind(os.path.join(d, "socket"))
    os.chmod(os.path.join(d, "socket"), 0o777)
    sock.settimeout(harness.TIMEOUT)
    wrap = ["unshare", "-m", "sh", "-c", "mkdir -p %s && mount --bind \"$0\" "
            "%s && exec setpriv --reuid %d --regid %d --clear-groups \"$@\""
            % (JOURNAL, JOURNAL, *((harness.USER.pw_uid, harness.USER.pw_gid)
                                   if harness.USER else (0, 0))), d]
    if os.getuid() != 0 or subprocess.run(
            wrap + ["true"], stderr=subprocess.DEVNULL).returncode != 0:
        pytest.skip("no mount namespace to be had")
    p = pooler(start=False)
    p.write()
    with open(p.logname, "ab") as f:
        st = os.fstat(f.fileno())
    env = dict(process_env(), JOURNAL_STREAM="%d:%d" % (st.st_dev,
                                                         st.st_ino))
    p.launch(wrap, env=env, user=None, group=None, extra_groups=None)
    seen = []
    while not any(e.get("MESSAGE", "").startswith("process up: ")
                  for e in seen):
        seen.append(dict(line.split("=", 1) for line in sock.recv(
            65536).decode().splitlines() if "=" in line))
    assert seen[-1]["PRIORITY"] == "6"
    assert "CODE_FILE" not in seen[-1]
    assert p.log == ""
    sock.close()
    shutil.rmtree(d)


# --- units ----------------------------------------------------------------

@pytest.mark.skipif(shutil.which("systemd-analyze") is None,
                    reason="no systemd-analyze")
def test_units_are_sound_and_hardened(tmp_path):
    """etc/: systemd-analyze finds nothing, exposure is low"""
    for name in ("pgsluice.service", "pgsluice.socket"):
        with open(os.path.join(ETC, name)) as f:
            text = f.read()
        text = text.replace("/usr/bin/pgsluice ", "/bin/true ")
        text = re.sub(r"Documentation=.*\n", "", text)
        (tmp_path / name).write_text(text)
    env = dict(os.environ, SYSTEMD_COLORS="0")
    out = subprocess.run(
        ["systemd-analyze", "verify"] + [str(tmp_path / n) for n in
                                         ("pgsluice.service",
                                          "pgsluice.socket")],
        capture_output=True, text=True, timeout=60, env=env)
    assert "pgsluice" not in out.stdout + out.stderr, out.stderr
    out = subprocess.run(
        ["systemd-analyze", "security", "--offline=yes", "--threshold=13",
         str(tmp_path / "pgsluice.service")],
        capture_output=True, text=True, timeout=60, env=env)
    assert out.returncode == 0, out.stdout[-300:]
