# test_settings.py - what settings do that no other file is about; when a
# change of each takes effect.
# SPDX-License-Identifier: ISC
import ctypes
import os
import re
import signal
import socket

import pytest

import harness
import pq
from harness import REFERENCE, wait_until

pytestmark = pytest.mark.skipif(REFERENCE, reason="many are newer")
PID = "select pg_backend_pid()"


def fatal(conn):
    res = conn.recv_all()
    assert res.errors, res.messages
    return res.errors[-1].message


def config(p, key):
    return p.show("config", key=key)[0]["value"]


# --- sockets: asked for in the pooler's own process -------------------------

PIDFD_GETFD = 438


class Remote:
    """The sockets of another process, as our own."""

    def __init__(self, pid):
        self.pid, self.pidfd = pid, os.pidfd_open(pid)
        self.libc = ctypes.CDLL(None, use_errno=True)

    def get(self, fd):
        own = self.libc.syscall(PIDFD_GETFD, self.pidfd, fd, 0)
        if own < 0:
            pytest.skip("sockets of other processes can't be looked at")
        return socket.socket(fileno=own)

    def find(self, wanted):
        """The first socket of which wanted(socket) is true."""
        for name in os.listdir("/proc/%d/fd" % self.pid):
            link = "/proc/%d/fd/%s" % (self.pid, name)
            try:
                if not os.readlink(link).startswith("socket:"):
                    continue
            except OSError:
                continue
            s = self.get(int(name))
            try:
                if wanted(s):
                    return s
            except OSError:
                pass
            s.close()
        raise AssertionError("no such socket")

    def close(self):
        os.close(self.pidfd)


@pytest.fixture
def remote():
    made = []

    def make(p):
        made.append(Remote(p.proc.pid))
        return made[-1]
    yield make
    for r in made:
        r.close()


def both_ends(p, remote):
    """A client's socket in the pooler, and its server's."""
    c = p.raw()
    c.query("begin")
    name = c.sock.getsockname()
    port = int(c.value("select inet_client_port()"))
    r = remote(p)
    return (r.find(lambda s: s.getpeername() == name),
            r.find(lambda s: s.getsockname()[1:] == (port,)))


@pytest.mark.setting("tcp_keepalive", "tcp_keepcnt", "tcp_keepidle",
                     "tcp_keepintvl", "tcp_user_timeout",
                     "tcp_socket_buffer")
def test_tcp_options_are_set_on_both_ends(pooler, remote):
    """settings.md 10: for connections made after a change"""
    tcp, sol = socket.IPPROTO_TCP, socket.SOL_SOCKET
    p = pooler(tcp_keepcnt=7, tcp_keepidle=123, tcp_keepintvl=45,
               tcp_user_timeout=6789, tcp_socket_buffer="20kB")
    old = both_ends(p, remote)
    p.settings.update(tcp_keepalive=0, tcp_user_timeout=0)
    p.reload()
    for s in old:
        assert s.getsockopt(sol, socket.SO_KEEPALIVE) == 1
        assert s.getsockopt(tcp, socket.TCP_KEEPCNT) == 7
        assert s.getsockopt(tcp, socket.TCP_KEEPIDLE) == 123
        assert s.getsockopt(tcp, socket.TCP_KEEPINTVL) == 45
        assert s.getsockopt(tcp, socket.TCP_USER_TIMEOUT) == 6789
        # the kernel doubles what it is asked for
        assert s.getsockopt(sol, socket.SO_SNDBUF) == 2 * 20480
        assert s.getsockopt(tcp, socket.TCP_NODELAY) == 1
        s.close()
    client, server = both_ends(p, remote)
    for s in (client, server):
        assert s.getsockopt(sol, socket.SO_KEEPALIVE) == 0
        assert s.getsockopt(tcp, socket.TCP_USER_TIMEOUT) == 0
        s.close()


@pytest.mark.setting("tcp_keepalive", "tcp_keepcnt", "tcp_keepidle",
                     "tcp_keepintvl", "tcp_user_timeout",
                     "tcp_socket_buffer")
@pytest.mark.parametrize("how", ["set", "reload"])
def test_tcp_options_can_be_changed(pooler, remote, how):
    """settings.md 10: each of them, for both ends of later connections"""
    tcp, sol = socket.IPPROTO_TCP, socket.SOL_SOCKET
    options = {"tcp_keepalive": (sol, socket.SO_KEEPALIVE, 0, 1),
               "tcp_keepcnt": (tcp, socket.TCP_KEEPCNT, 3, 4),
               "tcp_keepidle": (tcp, socket.TCP_KEEPIDLE, 100, 101),
               "tcp_keepintvl": (tcp, socket.TCP_KEEPINTVL, 50, 51),
               "tcp_user_timeout": (tcp, socket.TCP_USER_TIMEOUT, 700, 701),
               "tcp_socket_buffer": (sol, socket.SO_SNDBUF, 10240, 20480)}
    p = pooler(**{key: o[2] for key, o in options.items()})
    old = both_ends(p, remote)
    p.settings.update((key, o[3]) for key, o in options.items())
    if how == "reload":
        p.reload()
    else:
        for key in options:
            p.admin("set %s = %d" % (key, p.settings[key]))
    new = both_ends(p, remote)
    for sockets, at in ((old, 2), (new, 3)):
        for s in sockets:
            for key, o in options.items():
                if at == 2 and key in ("tcp_keepcnt", "tcp_keepidle",
                                       "tcp_keepintvl"):
                    continue    # of no use without tcp_keepalive
                # the kernel doubles a buffer
                value = o[at] * (2 if key == "tcp_socket_buffer" else 1)
                assert s.getsockopt(*o[:2]) == value, (key, at)
            s.close()


@pytest.mark.setting("tcp_defer_accept", "listen_addr", "listen_port")
def test_listeners_wait_for_data_if_told(pooler, remote):
    """settings.md 3, 10: several addresses; switched while they are open"""
    p = pooler(listen_addr="127.0.0.1, 127.0.0.5")
    for host in ("127.0.0.1", "127.0.0.5"):
        with pq.Conn(host, p.port) as c:
            assert c.login("app", "", "p0").value("select 1") == "1"

    def deferred():
        s = remote(p).find(lambda s: s.getsockname() == (
            "127.0.0.5", p.port) and s.getsockopt(
                socket.SOL_SOCKET, socket.SO_ACCEPTCONN))
        with s:
            return s.getsockopt(socket.IPPROTO_TCP,
                                socket.TCP_DEFER_ACCEPT) > 0
    assert deferred()
    p.admin("set tcp_defer_accept = 0")
    assert not deferred()
    p.admin("set tcp_defer_accept = 1")
    assert deferred()


@pytest.mark.setting("listen_backlog")
def test_backlog_bounds_those_not_accepted(pooler):
    """settings.md 10: a stopped process has only so many callers"""
    p = pooler(listen_backlog=3)
    p.raw().query("select 1")
    path = os.path.join(p.dir, ".s.PGSQL.%d" % p.port)
    callers = []
    p.signal(signal.SIGSTOP)
    try:
        wait_until(lambda: harness.state_of(p.proc.pid) == "T")
        for _ in range(10):
            s = socket.socket(socket.AF_UNIX)
            s.setblocking(False)
            callers.append(s)
            if s.connect_ex(path) != 0:
                break
        assert len(callers) - 1 == 4    # Linux takes one more than told
    finally:
        p.signal(signal.SIGCONT)
        for s in callers:
            s.close()
    assert p.raw().value("select 1") == "1"


# --- limits -----------------------------------------------------------------

@pytest.mark.setting("max_db_connections")
def test_max_db_connections_counts_over_users(pooler):
    """settings.md 3; the database's own value wins"""
    p = pooler({"p0": "", "p1": "max_db_connections=2"},
               max_db_connections=1)
    a = p.raw()
    a.query("begin")
    b = p.open().login("app2", database="p0", wait=False)
    wait_until(lambda: p.pool("p0", "app2").get("cl_waiting") == 1)
    for _ in range(2):
        p.raw(database="p1").query("begin")
    a.query("commit")
    b.finish_login("app2")
    assert b.value("select current_user") == "app2"


@pytest.mark.setting("max_packet_size")
def test_longer_messages_end_the_connection(pooler):
    """settings.md 10: live, both directions; sizes take units"""
    p = pooler(max_packet_size="1kB")
    assert config(p, "max_packet_size") == "1024"
    c, d = p.raw(), p.raw()
    assert c.value("select '%s'" % ("x" * 500)) == "x" * 500
    c.send(pq.query("select '%s'" % ("x" * 2000)))
    c.recv_all()
    assert c.at_eof()
    p.wait_log(r"C-\S+ \S+ closing because: bad packet")
    d.send(pq.query("select repeat('x', 2000)"))
    d.recv_all()
    p.wait_log(r"S-\S+ \S+ closing because: bad pkt header")
    p.admin("set max_packet_size = '1MB'")
    assert p.raw().value("select repeat('x', 2000)") == "x" * 2000


@pytest.mark.setting("pkt_buf")
def test_messages_are_longer_than_pkt_buf(pooler):
    """settings.md 10: accepted, shown, and no limit to anything"""
    p = pooler(pkt_buf=128)
    c = p.raw(application_name="a" * 60)
    assert c.value("select repeat('y', 100000)") == "y" * 100000
    assert c.extended("select $1::text", ("z" * 100000,)).rows == [
        ["z" * 100000]]
    assert config(p, "pkt_buf") == "128"


@pytest.mark.setting("sbuf_loopcnt")
@pytest.mark.parametrize("rounds", [0, 1])
def test_large_results_let_others_have_their_turn(pooler, rounds):
    """settings.md 10: buffer-fulls for one before others are served"""
    p = pooler(sbuf_loopcnt=rounds)
    big, small = p.raw(), p.raw()
    small.query("select 1")
    big.send(pq.query("select repeat('x', 1000) from generate_series(1, %d)"
                      % 30000))
    served = 0
    size = 0
    while True:
        kind, body = big.recv()
        size += len(body)
        if kind == "D" and served < 20:
            assert small.value("select 1") == "1"
            served += 1
        if kind == "Z":
            break
    assert served == 20 and size > 30000000


@pytest.mark.setting("scram_iterations")
def test_iterations_of_a_secret_made_from_a_password(pooler):
    """settings.md 3: for clients, known or not, from the next login on"""
    p = pooler(auth_type="scram-sha-256", scram_iterations=5000)

    def iterations(user):
        with p.open() as c:
            c.send(pq.startup({"user": user, "database": "p0"}))
            c.recv()
            scram = pq.ScramClient("x")
            c.send(pq.msg("p", pq.cstr("SCRAM-SHA-256") + scram.first()))
            kind, body = c.recv()
            scram.reply(body[4:])
            return scram.fields[b"i"]
    assert iterations("app") == b"5000"
    assert iterations("nobody-known") == b"5000"
    assert p.raw().value("select 1") == "1"
    p.admin("set scram_iterations = 4097")
    assert iterations("app2") == b"4097"


# --- time -------------------------------------------------------------------

@pytest.mark.setting("autodb_idle_timeout", "pool_idle_timeout")
@pytest.mark.parametrize("what", ["database", "pool"])
def test_unused_things_are_forgotten(pooler, pg, what):
    """settings.md 3, 7: with their statistics, when nobody uses them"""
    conn = "host=127.0.0.1 port=%d" % pg.port
    own = {"database": "autodb_idle_timeout", "pool": "pool_idle_timeout"}
    p = pooler({"*": conn, "p1": conn}, server_idle_timeout="300ms",
               **{own[what]: "200ms"})
    for db in ("p0", "p1"):
        with p.raw(database=db) as c:
            c.query("select 1")
    if what == "database":
        p.wait_log("dropping database 'p0'")
        # one that is in the file is not
        assert p.show("databases", name="p1")
    else:
        wait_until(lambda: not p.show("pools", database="p1"))
        assert "cleaning up idle pool for user app on db p1" in p.log
    assert p.raw(database="p0").value("select 1") == "1"


@pytest.mark.setting("stats_period", "log_stats")
def test_stats_period_is_live(pooler):
    """settings.md 3 (better than S), 5"""
    p = pooler(stats_period=3600)
    c = p.raw()
    c.query("select 1")

    def average():
        return p.stats()["avg_query_count"]
    assert "stats: " not in p.log
    p.admin("set log_stats = 0")
    p.admin("set stats_period = 1")

    def busy():
        for _ in range(20):
            c.query("select 1")
        return average() > 0
    wait_until(busy)
    wait_until(lambda: average() == 0)
    assert "LOG stats: " not in p.log
    p.admin("set log_stats = 1")
    p.wait_log("LOG stats: ")


@pytest.mark.setting("server_fast_close")
@pytest.mark.parametrize("fast", [0, 1])
def test_obsolete_servers_are_closed_between_transactions(pooler, fast):
    """settings.md 7: session pooling only"""
    p = pooler(pool_mode="session", server_fast_close=fast)
    idle, busy = p.raw(), p.raw()
    idle.query("select 1")
    busy.query("begin")
    p.admin("reconnect p0")
    if fast:
        assert fatal(idle) == "database configuration changed"
        assert busy.value("select 2") == "2"
        busy.query("commit")
        assert fatal(busy) == "database configuration changed"
    else:
        pid = idle.value(PID)
        busy.query("commit")
        assert idle.value(PID) == pid


# --- the rest ---------------------------------------------------------------

@pytest.mark.setting("track_extra_parameters")
def test_further_parameters_follow_their_client(pooler):
    """settings.md 3: also what the server does not report"""
    name = "statement_timeout"
    p = pooler(default_pool_size=1,
               track_extra_parameters=" %s , IntervalStyle" % name)
    a, b = p.raw(**{name: "1min"}), p.raw()
    for _ in range(2):
        assert a.value("show " + name) == "1min"
        assert b.value("show " + name) == "0"
    assert len(p.servers()) == 1


@pytest.mark.parametrize("name, value, other", [
    ("default_transaction_read_only", "on", "off"),
    ("IntervalStyle", "iso_8601", "postgres")])
def test_reported_parameters_follow_their_client(pooler, name, value, other):
    """pooling.md 21: all that PostgreSQL reports"""
    p = pooler(default_pool_size=1, track_extra_parameters="")
    a, b = p.raw(), p.raw()
    a.query("set %s = '%s'" % (name, value))
    for _ in range(2):
        assert b.value("show " + name) == other
        assert a.value("show " + name) == value
    assert len(p.servers()) == 1


def test_session_authorization_goes_with_its_client(pooler, pg):
    """pooling.md 21: nobody else acts as somebody's other role"""
    pg.sql("create role u_other")
    try:
        p = pooler(dbs={"p0": "user=postgres password=x"},
                   default_pool_size=1)
        a, b = p.raw(), p.raw()
        a.query("set session authorization u_other")
        for _ in range(2):
            assert b.value("select session_user") == "postgres"
            assert a.value("select session_user") == "u_other"
    finally:
        pg.sql("drop role u_other")


def test_other_values_are_set_by_who_has_logged_in(pooler, pg):
    """pooling.md 21: session_authorization takes the right away"""
    pg.sql("create role u_other")
    try:
        p = pooler(dbs={"p0": "user=postgres password=x"},
                   default_pool_size=1, track_extra_parameters="log_statement")
        b = p.raw()
        a = p.open().login("app", database="p0", log_statement="ddl",
                           session_authorization="u_other")
        for _ in range(2):
            assert a.value("show log_statement") == "ddl"
            assert a.value("select session_user") == "u_other"
            assert b.value("show log_statement") == "none"
            assert b.value("select session_user") == "postgres"
        assert len(p.servers()) == 1
    finally:
        pg.sql("drop role u_other")


@pytest.mark.parametrize("encoding,so,strings", [
    ("SJIS", "\u30bd", "on"), ("SJIS", "\u30bd", "off"),
    ("BIG5", "\u529f", "on"), ("GB18030", "\u5213", "off")])
def test_half_a_character_is_no_backslash(pooler, pg, encoding, so, strings):
    """pooling.md 21: the second byte of this one is"""
    # PostgreSQL knows what ends in it
    role = "x\\' " + so
    raw = role.encode(encoding.lower())
    pg.sql('create role "%s"' % role)
    try:
        p = pooler(dbs={"p0": "user=postgres password=x"},
                   default_pool_size=1)
        a, b = p.raw(), p.raw()
        a.query("set client_encoding = " + encoding)
        a.query("set standard_conforming_strings = on")
        a.query(b"set session_authorization = '%s'" %
                raw.replace(b"'", b"''"))
        a.query("set standard_conforming_strings = " + strings)
        for _ in range(2):
            assert b.value("select session_user") == "postgres"
            assert a.value("select session_user") == raw.decode(
                errors="replace")
            assert a.value("show standard_conforming_strings") == strings
    finally:
        pg.sql('drop role "%s"' % role)


@pytest.mark.setting("conffile")
def test_conffile_is_read_by_the_next_reload(pooler):
    """settings.md 3"""
    p = pooler(default_pool_size=3)
    assert config(p, "conffile") == p.ini
    text = open(p.ini).read().replace("default_pool_size = 3",
                                      "default_pool_size = 4")
    other = p.put("other.ini", text)
    p.admin("set conffile = '%s'" % other)
    assert config(p, "default_pool_size") == "3"
    p.admin("reload")
    assert config(p, "default_pool_size") == "4"
    assert config(p, "conffile") == other


@pytest.mark.setting("job_name")
def test_job_name_is_accepted(pooler):
    """settings.md 3: shown, otherwise unused"""
    p = pooler(job_name="the-job")
    assert config(p, "job_name") == "the-job"
    assert p.raw().value("select 1") == "1"


@pytest.mark.setting("verbose")
def test_verbose_is_live(pooler):
    """settings.md 5: 1 adds DEBUG, 2 adds NOISE"""
    p = pooler()
    p.raw().query("select 1")
    assert " DEBUG " not in p.log and " NOISE " not in p.log
    p.admin("set verbose = 2")
    p.raw().query("select 1")
    p.wait_log(" NOISE ")
    p.settings["verbose"] = 0
    p.reload()
    size = len(p.log)
    p.raw().query("select 1")
    assert " NOISE " not in p.log[size:]


@pytest.mark.setting("unix_socket_group")
def test_unix_socket_gets_its_group(pooler):
    """settings.md 3: by name or number"""
    own = harness.USER.pw_gid if harness.USER else os.getgid()
    p = pooler(unix_socket_group=own, unix_socket_mode="0750")
    st = os.stat(os.path.join(p.dir, ".s.PGSQL.%d" % p.port))
    assert (st.st_gid, st.st_mode & 0o777) == (own, 0o750)
    q = pooler(start=False, unix_socket_group="no-such-group")
    q.write()
    out = harness.run([harness.binary(), q.ini], cwd=q.dir)
    assert out.returncode == 1 and "chown" in out.stderr


# --- when a change counts ---------------------------------------------------

def enums():
    """Settings that take one of a few words."""
    path = os.path.join(harness.ROOT, "include", "conf", "options.def")
    return set(re.findall(r"^OPTION\(enum, (\w+)", open(path).read(), re.M)) \
        if os.path.exists(path) else set()


def other_value(row):
    """A value that the setting does not have, or None: no harmless one."""
    key, value = row["key"], row["value"]
    words = {"pool_mode": "session", "auth_type": "any",
             "unix_socket_mode": "0700", "auth_dbname": "p1",
             "proxy_trusted_nets": "192.0.2.0/24",
             "login_memory": "1048576", "worker_cpus": "0",
             "startup_parameters": "work_mem=5MB"}
    if key in words:
        return words[key]
    if key.endswith("_file") or "tls" in key or key in enums():
        return None
    if key in ("max_packet_size", "memory_limit", "conffile", "logfile",
               "user", "listen_addr", "pidfile",
               "unix_socket_dir", "unix_socket_group", "resolv_conf",
               "admin_users", "stats_users", "syslog", "syslog_facility",
               "console_locked_settings", "server_require_auth",
               "server_require_peer"):
        return None
    return "1" if value in ("0", None) else (
        "7" if re.fullmatch(r"-?[\d.e+]+", value) else value + ",x")


def test_change_counts_as_said(pooler):
    """settings.md 2: S keeps its value, all others change, and go back to
    their default when the line is removed, unless they have none"""
    p = pooler()
    before = {r["key"]: r for r in p.admin("show config")}
    assert len(before) >= 100
    changes = {k: other_value(r) for k, r in before.items()
               if other_value(r) is not None}
    saved = dict(p.settings)
    p.settings.update(changes, disable_pqexec="1", listen_port="1")
    p.reload()
    after = {r["key"]: r["value"] for r in p.admin("show config")}
    for key, value in changes.items():
        if before[key]["changeable"] == "no":
            assert after[key] == before[key]["value"], key
        elif key not in ("unix_socket_mode",):
            assert after[key] == value, key
    p.settings = saved
    p.reload()
    for r in p.admin("show config"):
        if r["default"] is not None:
            assert r["value"] == before[r["key"]]["value"], r["key"]
        elif r["key"] in changes:
            assert r["value"] == after[r["key"]], r["key"]


def test_set_of_what_counts_at_start_is_ignored(pooler):
    """settings.md 2: SET answers success"""
    p = pooler()
    c = p.console()
    res = c.query("set listen_port = 5")
    assert res.tags == ["SET listen_port=5"]
    assert [n.message for n in res.notices] == [
        "this setting is read only at the start, so the present value stays"]
    assert config(p, "listen_port") == str(p.port)
    e = c.try_query("set listen_port = many").errors[0]
    assert e.message == "SET failed"
    assert e.fields["D"].startswith("listen_port must be")


def test_reload_names_what_needs_a_restart(pooler):
    """what is in the file and does not count must not go unnoticed"""
    p = pooler()
    saved = p.settings["listen_port"], p.settings["unix_socket_dir"]
    k = p.console()
    assert k.query("reload").notices == []
    assert "takes effect after a restart" not in p.log
    p.settings["listen_port"] = 5
    p.write()
    want = ('listen_port: "5" takes effect after a restart; "%s" is in use'
            % saved[0])
    # the one who asks is told at once, all others by the log
    assert [n.message for n in k.query("reload").notices] == [want]
    p.wait_log(want)
    assert p.log.count("takes effect after a restart") == 1


@pytest.mark.parametrize("line,why", [
    ("default_pool_siz = 1", 'did you mean "default_pool_size"?'),
    ("listen_port = 70000", "listen_port must be from 0 to 65535"),
    ("query_timeout = 5 parsecs", "query_timeout must be a number of"),
    ("max_packet_size = 5 pages", "max_packet_size must be a whole number"),
    ("log_stats = maybe", "log_stats must be 0 or 1"),
    ("worker_cpus = 0,3-1", 'worker_cpus must be CPUs such as 0-3,8, not "3-1"'),
    ("pool_mode = often", "pool_mode must be one of session, transaction"),
])
def test_bad_values_say_what_is_wrong(pooler, line, why):
    """the reload names file, line and reason, and changes nothing"""
    p = pooler()
    before = p.admin("show config")
    with open(p.ini, "a") as f:
        f.write(line + "\n")
    number = open(p.ini).read().count("\n")
    err = p.console().try_query("reload").errors[0]
    assert why in err.fields["D"]
    assert "(%s:%d)" % (p.ini, number) in err.fields["D"]
    assert p.admin("show config") == before


@pytest.mark.parametrize("key,text,shown", [
    ("query_timeout", "1500ms", "1.5"), ("query_timeout", "2 min", None),
    ("query_timeout", "2min", "120"), ("server_lifetime", "1h", "3600"),
    ("server_lifetime", "1d", "86400"), ("query_timeout", "250us", "0.00025"),
    ("query_timeout", "0.5", "0.5"), ("query_timeout", "1e3", "1000"),
    ("max_packet_size", "16MB", "16777216"), ("pkt_buf", "8kB", "4096"),
    ("tcp_socket_buffer", "1MB", "1048576"),
    ("log_stats", "off", "0"), ("log_stats", "Yes", "1"),
    ("server_round_robin", "true", "1"), ("default_pool_size", "0x10", "16"),
    ("default_pool_size", "010", "8"), ("default_pool_size", "-1", "-1")])
def test_values_take_units_and_words(pooler_once, key, text, shown):
    """settings.md 1, and units beyond it"""
    p = pooler_once
    p.settings["query_timeout"] = None
    saved = dict(p.settings)
    p.settings[key] = text
    p.write()
    res = p.console().try_query("reload")
    p.settings = saved
    assert bool(res.errors) == (shown is None)
    if shown is not None:
        assert config(p, key) == shown


@pytest.fixture(scope="module")
def pooler_once():
    """One for many tests that only look at SHOW CONFIG."""
    p = harness.Pooler()
    yield p
    p.stop()


def test_second_header_resets_all(pooler):
    """settings.md 2: also one in an included file"""
    p = pooler(default_pool_size=3)
    inc = p.put("more.ini", "[pgbouncer]\n")
    text = open(p.ini).read()
    keep = "\n".join(line for line in text.split("\n")
                     if not line.startswith("default_pool_size"))
    p.put("pooler.ini", "%s\n%%include %s\n%s" % (
        text, inc, keep[keep.index("[pgbouncer]") + 11:]))
    p.admin("reload")
    assert config(p, "default_pool_size") == "20"
