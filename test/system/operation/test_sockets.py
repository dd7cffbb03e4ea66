# test_sockets.py - listening sockets: full, out of descriptors, closing.
# SPDX-License-Identifier: ISC
import os
import signal
import socket
import time

import pytest

import harness
import pq
from harness import REFERENCE, wait_until

pytestmark = pytest.mark.skipif(REFERENCE, reason="newer than that")
LIMIT = 64


def launch_limited(p, n=LIMIT):
    p.write()
    p.launch(["prlimit", "--nofile=%d:%d" % (n, n)])
    wait_until(p._is_up)
    return p


def fill(p, hello=pq.startup({"user": "app", "database": "p0"})):
    """Use up its descriptors by clients: all that log in, or no one."""
    conns, folder = [p.raw()], "/proc/%d/fd" % p.proc.pid
    while "accept() failed" not in p.log:
        n = len(os.listdir(folder))
        conns.append(p.open())
        conns[-1].send(hello)       # deferred until it says something
        # one by one: nobody but those below stands in the queue
        wait_until(lambda n=n: len(os.listdir(folder)) > n
                   or "accept() failed" in p.log)
    for _ in range(2):          # these wait in the queue
        conns.append(p.open())
        conns[-1].send(hello)
    return conns


# --- descriptors ----------------------------------------------------------

def test_start_warns_when_the_limit_is_too_small(pooler):
    """max_client_conn and the pools don't fit"""
    p = launch_limited(pooler(start=False))
    assert "LOG kernel file descriptor limit: %d (hard: %d); " \
        "max_client_conn: 2000, max expected fd use: " % (
            LIMIT, LIMIT) in p.log
    assert "WARNING max_client_conn and the pools may need" in p.log
    q = launch_limited(pooler(start=False, max_client_conn=10,
                              default_pool_size=1), 1000)
    assert "may need" not in q.log


def test_limit_is_raised_to_the_hard_one(pooler):
    """RLIMIT_NOFILE: as many as we may"""
    p = pooler(start=False)
    p.write()
    p.launch(["prlimit", "--nofile=64:3000"])
    wait_until(p._is_up)
    assert "descriptor limit: 3000 (hard: 3000)" in p.log


def test_out_of_descriptors(pooler):
    """logging.md 7: accept() failed; no busy loop, the console gets in"""
    p = launch_limited(pooler(start=False, auth_type="trust"))
    conns = fill(p)
    assert " ERROR accept() failed: Too many open files\n" in p.log
    assert (" WARNING all %d file descriptors are in use: raise the hard "
            "limit (LimitNOFILE= of the service, ulimit -Hn), or lower "
            "max_client_conn\n" % LIMIT) in p.log
    # who does not want the console has to leave it to others
    for unix in (True, False):
        with pytest.raises(pq.PgError) as e:
            p.raw(unix=unix)
        assert e.value.message == \
            "no more connections allowed (max_client_conn)"
        c = p.raw("admin", "pgbouncer", unix=unix)
        assert c.query("show lists").rows
        with pytest.raises(socket.timeout):
            p.raw(unix=True, timeout=0.2)
        c.close()
    # with the last descriptor lent listeners are not looked at all the time
    with p.raw("admin", "pgbouncer", unix=True) as k:
        late = p.open()
        late.send(pq.startup({"user": "app", "database": "p0"}))
        told = p.log.count("accept() failed")
        cpu, start = p.loop_cpu(), time.monotonic()
        wait_until(lambda: p.log.count("accept() failed") > told + 1)
        assert p.loop_cpu() - cpu < (time.monotonic() - start) / 20
        assert k.query("show version").rows
    for c in conns:
        c.close(polite=False)
    assert p.raw().value("select 1") == "1"


@pytest.mark.parametrize("unix", [False, True])
def test_strangers_with_all_descriptors_keep_nobody_out(pooler, unix):
    """the oldest one makes room for each that comes"""
    p = launch_limited(pooler(start=False, client_login_timeout=60))
    conns = fill(p, b"\0\0\0\x20\0\3\0\0")
    strangers = conns[1:]
    assert "no more connections allowed (open_files)" in \
        strangers[0].recv_all().errors[-1].message
    for _ in range(3):
        assert p.raw(unix=unix).value("select 1") == "1"
        with p.raw("admin", "pgbouncer", unix=unix) as k:
            assert k.query("show version").rows
    # the youngest ones are still there
    assert not strangers[-1].readable()


def test_console_gets_in_by_tcp_where_there_is_nothing_else(pooler):
    """unix_socket_dir empty: the spare descriptor serves TCP"""
    p = launch_limited(pooler(start=False, unix_socket_dir="",
                              auth_type="trust"))
    fill(p)

    def console():
        try:
            c = p.raw("admin", "pgbouncer")
            return c
        except (OSError, pq.PgError, pq.Closed):
            return None
    # others stand in line before it: they are told, one after another
    assert wait_until(console).query("show version").rows


# --- the end of a listener ------------------------------------------------

@pytest.mark.parametrize("shared", [0, 1])
def test_who_is_connected_when_the_end_comes_is_served(pooler, shared):
    """config-files.md 19: SIGTERM finds connections nobody accepted yet"""
    p = pooler(so_reuseport=shared)
    p.raw().value("select 1")
    p.signal(signal.SIGSTOP)
    late = []
    for _ in range(5):
        c = p.open()
        c.send(pq.startup({"user": "app", "database": "p0"}))
        late.append(c)
    p.signal(signal.SIGTERM)
    p.signal(signal.SIGCONT)
    p.wait_log("got SIGTERM, shutting down")
    for c in late:
        c.recv_until()
        assert c.value("select 1") == "1"
    for c in late:
        c.close()
    for c in p.conns:
        c.close()
    assert p.wait_exit() == 0


def test_login_under_way_when_the_end_comes_is_served(pooler):
    """config-files.md 19: it is a client to wait for"""
    p = pooler(auth_type="scram-sha-256")
    c = p.open(unix=True)
    c.send(pq.startup({"user": "app", "database": "p0"}))
    c.recv()
    p.signal(signal.SIGTERM)
    p.wait_log("got SIGTERM, shutting down")
    # too late: those who come by the Unix socket now
    with pytest.raises(pq.PgError) as e:
        p.raw(unix=True)
    assert e.value.message == "pooler is shutting down"
    with p.raw("admin", "pgbouncer", unix=True) as k:
        assert k.query("show version").rows
    c.close(polite=False)
    assert p.wait_exit() == 0


@pytest.mark.setting("so_reuseport")
def test_shared_port_is_left_to_the_other(pooler):
    """so_reuseport: after one has ended all connections reach the other"""
    p = pooler(so_reuseport=1)
    q = pooler(start=False, so_reuseport=1)
    q.settings["listen_port"] = q.port = p.port
    q.start()
    p.signal(signal.SIGTERM)
    assert p.wait_exit() == 0
    for _ in range(10):
        c = q.raw()
        assert c.value("select 1") == "1"
        c.close()


@pytest.mark.setting("unix_socket_group", "unix_socket_mode")
def test_group_of_the_unix_socket(pooler):
    """settings.md 3: unix_socket_group by name and number; unknown: fatal"""
    import grp
    gid = harness.USER.pw_gid if harness.USER else os.getgid()
    name = grp.getgrgid(gid).gr_name
    for group in (name, str(gid)):
        p = pooler(unix_socket_group=group, unix_socket_mode="0770")
        st = os.stat(os.path.join(p.dir, ".s.PGSQL.%d" % p.port))
        assert st.st_gid == gid and st.st_mode & 0o777 == 0o770
        p.stop()
    p = pooler(start=False, unix_socket_group="no-such-group")
    p.write()
    out = harness.run([harness.binary(), p.ini], cwd=p.dir)
    assert out.returncode == 1 and "chown()" in out.stderr


def test_lock_file_is_respected(pooler):
    """config-files.md 17: <path>.lock"""
    p = pooler(start=False)
    p.put(".s.PGSQL.%d.lock" % p.port, "1\n")
    p.write()
    out = harness.run([harness.binary(), p.ini], cwd=p.dir)
    assert out.returncode == 1
    assert "FATAL unix port %d is in use" % p.port in out.stderr


# --- where to listen ------------------------------------------------------

def ipv6():
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
        return True
    except OSError:
        return False


@pytest.mark.setting("listen_addr", "listen_port")
@pytest.mark.parametrize("words,hosts", [
    ("127.0.0.1", ["127.0.0.1"]),
    (" 127.0.0.1 ,, 127.0.0.2,", ["127.0.0.1", "127.0.0.2"]),
    ("localhost", ["127.0.0.1"]),
    ("*", ["127.0.0.1", "127.0.0.3"])])
def test_listen_addr(pooler, words, hosts):
    """settings.md 3: lists, names, all addresses"""
    p = pooler(listen_addr=words)
    for host in hosts:
        c = pq.Conn(host=host, port=p.port)
        assert c.login("app", "apppw", "p0").value("select 1") == "1"
        c.close()
    if "*" not in words:
        with pytest.raises(OSError):
            socket.create_connection(("127.0.0.4", p.port)).close()
    elif ipv6():
        assert "listening on [::]:%d\n" % p.port in p.log
        assert "listening on 0.0.0.0:%d\n" % p.port in p.log
        c = socket.create_connection(("::1", p.port))
        c.close()


@pytest.mark.setting("listen_addr")
def test_address_that_can_not_be_had(pooler):
    """settings.md 3: one only warns, all are fatal, as is no address"""
    with socket.create_server(("127.0.0.1", 0)) as s:
        port = s.getsockname()[1]
        p = pooler(start=False, listen_addr="127.0.0.1, 127.0.0.2")
        p.settings["listen_port"] = p.port = port
        p.start()
        assert ("WARNING cannot listen on 127.0.0.1:%d: bind(): Address "
                "already in use" % port) in p.log
        assert 'ss -ltnp' in p.log and "change listen_port" in p.log
        c = pq.Conn(host="127.0.0.2", port=port)
        assert c.login("app", "apppw", "p0").value("select 1") == "1"
        c.close()
        q = pooler(start=False, listen_addr="127.0.0.1", listen_port=port)
        q.write()
        out = harness.run([harness.binary(), q.ini], cwd=q.dir)
        assert out.returncode == 1
        assert ("FATAL failed to listen on any address in listen_addr list: "
                "127.0.0.1") in out.stderr
    r = pooler(start=False, listen_addr="no-such-host.invalid")
    r.write()
    out = harness.run([harness.binary(), r.ini], cwd=r.dir)
    assert out.returncode == 1
    assert "FATAL cannot resolve listen_addr " in out.stderr
