# test_tls_reload.py - tls_reload: certificates that change on disk.
# SPDX-License-Identifier: ISC
import hashlib
import os
import shutil
import socket
import ssl
import re
import subprocess
import threading

import pytest

import pq
from harness import as_user, binary, give, process_env, wait_until

READ = "TLS files have changed on disk and were read again"
CHANGING = "they are read when a second look finds them the same"
KEPT = "TLS files have changed on disk and cannot be used as they are"


@pytest.fixture
def files(certs, tmp_path):
    """put(name, as_name): a copy of a file that the test may replace."""
    folder = str(tmp_path)
    os.chmod(folder, 0o755)
    give(folder)

    def put(source, name):
        path = os.path.join(folder, name)
        shutil.copy(source, path + ".new")
        os.chmod(path + ".new", 0o600)
        os.rename(give(path + ".new"), path)
        return path
    return put


def shown(p):
    """The digest of the certificate that a client is shown."""
    s = socket.create_connection(("127.0.0.1", p.port))
    s.sendall(bytes([0, 0, 0, 8, 4, 210, 22, 47]))
    assert s.recv(1) == b"S"
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with context.wrap_socket(s) as tls:
        return hashlib.sha256(tls.getpeercert(True)).hexdigest()


def digest(path):
    out = subprocess.run(["openssl", "x509", "-in", path, "-outform", "der"],
                         check=True, stdout=subprocess.PIPE).stdout
    return hashlib.sha256(out).hexdigest()


def start(pooler, certs, files, name="server", **kw):
    return pooler(client_tls_sslmode="allow",
                  client_tls_cert_file=files(certs.crt(name), "pool.crt"),
                  client_tls_key_file=files(certs.key(name), "pool.key"), **kw)


@pytest.fixture
def pair(certs):
    """Two certificates of the pooler."""
    certs.make("first", "/CN=localhost", "DNS:localhost")
    certs.make("second", "/CN=localhost", "DNS:localhost")
    return "first", "second"


@pytest.mark.setting("tls_reload")
@pytest.mark.parametrize("workers", [1, 3])
def test_certificate_that_changed_is_shown(pooler, certs, files, pair,
                                           workers):
    """Whichever worker accepts; open connections go on"""
    first, second = pair
    p = start(pooler, certs, files, first, tls_reload="auto", workers=workers)
    old = p.connect(sslmode="require")
    old.execute("select 1")
    assert shown(p) == digest(certs.crt(first))
    files(certs.crt(second), "pool.crt")
    files(certs.key(second), "pool.key")
    p.wait_log(READ)
    for _ in range(2 * workers):
        assert shown(p) == digest(certs.crt(second))
    old.execute("select 1")


def test_half_of_a_pair_keeps_the_old_one_and_warns_once(pooler, certs, files,
                                                         pair):
    first, second = pair
    p = start(pooler, certs, files, first, tls_reload="auto")
    files(certs.crt(second), "pool.crt")
    p.wait_log(KEPT)
    assert shown(p) == digest(certs.crt(first))
    # two looks that find the same print have come and gone
    files(certs.key(second), "pool.key")
    p.wait_log(READ)
    assert shown(p) == digest(certs.crt(second))
    assert p.log.count(KEPT) == 1


def test_file_that_is_being_written_is_not_read(pooler, certs, files, pair):
    """A part of a list of authorities is a list, too"""
    p = start(pooler, certs, files, pair[0], tls_reload="auto", verbose=1,
              client_tls_ca_file=files(certs.crt("ca"), "ca.crt"))
    path = p.settings["client_tls_ca_file"]
    over = threading.Event()

    def write():
        while not over.wait(0.01):
            with open(path, "a", encoding="ascii") as f:
                f.write("\n")
    writer = threading.Thread(target=write)
    writer.start()
    try:
        wait_until(lambda: p.log.count(CHANGING) >= 2, what="two looks")
        assert READ not in p.log
    finally:
        over.set()
        writer.join()
    p.wait_log(READ)


def test_missing_file_keeps_the_old_one(pooler, certs, files, pair):
    p = start(pooler, certs, files, pair[0], tls_reload="auto")
    os.unlink(p.settings["client_tls_key_file"])
    p.wait_log(KEPT + ".*No such file")
    assert shown(p) == digest(certs.crt(pair[0]))


def test_link_that_leads_elsewhere_is_noticed(pooler, certs, tmp_path, pair):
    """As Kubernetes mounts secrets"""
    os.chmod(tmp_path, 0o755)
    for name in pair:
        folder = tmp_path / name
        folder.mkdir()
        give(str(folder))
        for source, to in ((certs.crt(name), "tls.crt"),
                           (certs.key(name), "tls.key")):
            shutil.copy(source, folder / to)
            os.chmod(folder / to, 0o600)
            give(str(folder / to))
    os.symlink(pair[0], tmp_path / "data")
    p = pooler(client_tls_sslmode="allow", tls_reload="auto",
               client_tls_cert_file=str(tmp_path / "data" / "tls.crt"),
               client_tls_key_file=str(tmp_path / "data" / "tls.key"))
    os.symlink(pair[1], tmp_path / "new")
    os.rename(tmp_path / "new", tmp_path / "data")
    p.wait_log(READ)
    assert shown(p) == digest(certs.crt(pair[1]))


def test_off_reads_at_a_reload_only(pooler, certs, files, pair):
    p = start(pooler, certs, files, pair[0])
    files(certs.crt(pair[1]), "pool.crt")
    files(certs.key(pair[1]), "pool.key")
    # a tick of the pooler comes with each row of its statistics
    p.admin("set tls_reload = 'off'")
    assert shown(p) == digest(certs.crt(pair[0]))
    p.reload()
    assert shown(p) == digest(certs.crt(pair[1]))
    assert READ not in p.log


def test_authority_of_servers_that_changed_counts(pooler, certs, tls_pg,
                                                  files):
    """server_tls_ca_file of a database"""
    path = files(certs.crt("other_ca"), "ca.crt")
    p = pooler({"p0": "host=localhost port=%d server_tls_sslmode=verify-ca "
                "server_tls_ca_file=%s" % (tls_pg.port, path)},
               tls_reload="auto", server_login_retry=1)
    p.admin("set query_wait_timeout = 1")
    with pytest.raises(pq.PgError):
        p.raw().query("select 1")
    files(certs.crt("ca"), "ca.crt")
    p.wait_log(READ)
    p.admin("reconnect p0")
    wait_until(lambda: works(p), what="a login")


def works(p):
    try:
        return p.raw().value("select 1") == "1"
    except pq.PgError:
        return False


def test_days_until_expiry_are_told(pooler, certs, files):
    certs.make("brief", "/CN=localhost", "DNS:localhost", days="20")
    p = start(pooler, certs, files, "brief",
              server_tls_cert_file=certs.crt("client"),
              server_tls_key_file=certs.key("client"),
              server_tls_sslmode="prefer")
    state = {r["key"]: r["value"] for r in p.admin("show state")}
    assert state["client_tls_cert_file_days"] in ("19", "20")
    assert 0 <= int(state["server_tls_cert_file_days"]) <= 30
    assert "http_tls_cert_file_days" not in state
    out = subprocess.run([binary(), "--check", p.ini], text=True,
                         stdout=subprocess.PIPE, env=process_env(),
                         cwd=p.dir, **as_user()).stdout
    # the twentieth day ends within a second of the start
    assert re.search("note: client_tls_cert_file expires in (19|20) days", out)
