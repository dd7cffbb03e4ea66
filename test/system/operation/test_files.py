# test_files.py - files that would keep a reload waiting, or trick root.
# SPDX-License-Identifier: ISC
import os
import re
import socket
import subprocess

import pytest

import harness
import pq
from harness import REFERENCE, binary, process_env, run

pytestmark = pytest.mark.skipif(REFERENCE, reason="newer than that")


def pipe(p, name="pipe"):
    """One that nobody writes to."""
    path = os.path.join(p.dir, name)
    os.mkfifo(path)
    return harness.give(path)


def in_the_way(p, key, path, certs):
    """The configuration names the pipe; the settings to go back to."""
    before = dict(p.settings), p.extra
    if key == "include":
        p.extra = "%%include %s" % path
    elif key == "auth_ident_file":
        p.settings.update(auth_type="hba", auth_ident_file=path,
                          auth_hba_file=p.put("hba", "local all all trust\n"
                                              "host all all all trust\n"))
    elif key == "auth_hba_file":
        p.settings.update(auth_type="hba", auth_hba_file=path)
    elif "tls" in key:
        p.settings.update(certs.accept("allow"))
        p.settings[key] = path
    else:
        p.settings[key] = path
    return before


@pytest.mark.parametrize("key", [
    "auth_file", "auth_hba_file", "auth_ident_file", "include", "conffile",
    "client_tls_cert_file", "client_tls_key_file", "client_tls_ca_file"])
def test_pipe_does_not_end_all_reloads(pooler, certs, key):
    """config-files.md 13: refused at once, and the next reload counts"""
    p = pooler()
    path = pipe(p)
    before = in_the_way(p, key, path, certs)
    p.write()
    if key == "conffile":
        p.admin("set conffile = '%s'" % path)
    with p.console() as k:
        r = k.try_query("reload")
        assert r.errors and "not a regular file" in p.log
        if key == "conffile":
            k.query("set conffile = '%s'" % p.ini)
        p.settings, p.extra = before
        p.settings["query_timeout"] = 77
        p.write()
        assert k.query("reload").tags == ["RELOAD"]
        assert [r["value"] for r in k.query("show config").dicts
                if r["key"] == "query_timeout"] == ["77"]


def test_pipe_does_not_hold_up_the_start(pooler):
    """config-files.md 15"""
    p = pooler(start=False)
    p.expect_exit = 1
    p.extra = "%%include %s" % pipe(p)
    p.write()
    p.launch()
    assert p.wait_exit() == 1
    assert "not a regular file" in p.log


def as_root(p):
    """Start p as root, to become the user of the tests; its exit status."""
    p.settings["user"] = harness.USER.pw_name
    p.write()
    env = dict(process_env(), ASAN_OPTIONS="detect_leaks=0")
    with open(p.logname, "ab") as log:
        return subprocess.run([binary(), p.ini], stdout=log, stderr=log,
                              cwd=p.dir, env=env, check=False,
                              timeout=harness.TIMEOUT).returncode


@pytest.fixture
def rooted(pooler):
    p = pooler(start=False)
    yield p


def link(p, name, to):
    """Of the user that the process is to become."""
    path = os.path.join(p.dir, name)
    os.symlink(to, path)
    os.lchown(path, harness.USER.pw_uid, harness.USER.pw_gid)
    return path


@pytest.mark.root
def test_root_writes_no_log_through_a_link(rooted, tmp_path):
    """config-files.md 15: the log is opened by the later user, also when the
    start fails"""
    p = rooted
    target = str(tmp_path / "precious")
    with open(target, "w") as f:
        f.write("precious\n")
    os.chmod(target, 0o600)
    p.settings.update(logfile=link(p, "log", target),
                      client_tls_sslmode="require",
                      client_tls_key_file="/does/not/exist",
                      client_tls_cert_file="/does/not/exist")
    assert as_root(p) == 1
    assert "TLS setup failed" in p.log
    for key in list(p.settings):
        if "tls" in key:
            del p.settings[key]
    assert as_root(p) == 1
    assert "Cannot open logfile" in p.log
    with open(target) as f:
        assert f.read() == "precious\n"


@pytest.mark.root
@pytest.mark.parametrize("key", ["include", "client_tls_key_file"])
def test_root_reads_no_file_through_a_link_of_another(rooted, certs, tmp_path,
                                                      key):
    """config-files.md 15"""
    p = rooted
    if "tls" in key:
        p.settings.update(certs.accept("require"))
    target = str(tmp_path / "secret")
    with open(target, "w") as f:
        f.write("[pgbouncer]\n")
    os.chmod(target, 0o600)
    path = link(p, "theirs", target)
    if key == "include":
        p.extra = "%%include %s" % path
    else:
        p.settings[key] = path
    assert as_root(p) == 1
    assert "a link of another user leads there" in p.log


@pytest.mark.root
@pytest.mark.setting("logfile")
def test_log_is_not_written_through_a_link_of_another(rooted, tmp_path):
    """in a folder that all may write, whatever the kernel does"""
    p = rooted
    target = p.put("target", "")
    theirs = os.path.join(p.dir, "theirs")
    os.chmod(p.dir, 0o1777)
    os.symlink(target, theirs)
    os.lchown(theirs, 65534, 65534)
    p.settings["logfile"] = theirs
    assert as_root(p) == 1
    assert "Cannot open logfile: '%s': Permission denied" % theirs in p.log
    p.settings["logfile"] = link(p, "ours", target)
    p.start()
    assert "process up" in p.log
    with open(target) as f:
        assert "process up" in f.read()


@pytest.mark.root
@pytest.mark.parametrize("kind", ["file", "link", "folder", "socket", "lock"])
def test_another_user_at_the_socket_does_not_keep_tcp_away(rooted, kind):
    """config-files.md 17"""
    p = rooted
    path = os.path.join(p.dir, ".s.PGSQL.%d" % p.port)
    path += ".lock" if kind == "lock" else ""
    os.chown(p.dir, 0, 0)
    os.chmod(p.dir, 0o1777)
    if kind == "folder":
        os.mkdir(path)
    elif kind == "link":
        os.symlink("/nowhere", path)
    elif kind == "socket":
        theirs = socket.socket(socket.AF_UNIX)
        theirs.bind(path)
        theirs.listen()
        os.chmod(path, 0o777)
    else:
        p.put(os.path.basename(path), "1\n")
    os.lchown(path, 65534, 65534)
    p.start()
    assert p.raw().value("select 1") == "1"
    assert re.search(r"WARNING .*: only TCP is served", p.log)
