# test_secrets.py - where passwords and keys are in memory, and where not.
# SPDX-License-Identifier: ISC
"""The process's memory is searched, not a core dump: what a dump would have is
told by the flag "dd" of each mapping (proc(5), smaps)."""
import base64
import os
import re
import subprocess

import pytest

import pq
from harness import REFERENCE, wait_until

HEAD = re.compile(r"^([0-9a-f]+)-([0-9a-f]+) (\S+) \S+ \S+ \S+\s*(.*)$")
STEP = 1 << 22


def mappings(pid):
    """(from, to, left out of dumps) of each that is private and writable"""
    found, here = [], None
    with open("/proc/%d/smaps" % pid) as f:
        for line in f:
            m = HEAD.match(line)
            if m:
                here = (int(m[1], 16), int(m[2], 16), m[3], m[4])
            elif line.startswith("VmFlags:"):
                start, end, mode, _ = here
                if mode.startswith("rw"):
                    found.append((start, end, "dd" in line.split()))
            elif line.startswith("Rss:") and line.split()[1] == "0":
                here = here[:2] + ("--", here[3])    # nothing is there
    return found


def places(pid, secrets):
    """{secret: {"vault", "elsewhere"}}: where each is to be found."""
    seen = {s: set() for s in secrets}
    with open("/proc/%d/mem" % pid, "rb", 0) as mem:
        for start, end, left_out in mappings(pid):
            if left_out and end - start > 1 << 30:
                continue           # the sanitizer's, not the vault
            old = b""
            for at in range(start, end, STEP):
                try:
                    mem.seek(at)
                    data = old + mem.read(min(STEP, end - at))
                except (OSError, ValueError, OverflowError):
                    break
                for s in secrets:
                    if s in data:
                        seen[s].add("vault" if left_out else "elsewhere")
                old = data[-256:]
    return seen


@pytest.mark.parametrize("auth_type", ["plain", "scram-sha-256"])
def test_secrets_are_in_the_vault_only(pooler, auth_type):
    """pgagroal #876, logging.md 6: no dump, no log has them"""
    scram = pq.scram_secret("kept as a verifier", iterations=4096)
    stored, server = scram.split("$")[2].split(":")
    secrets = {"plain": b"plain secret of app2",
               "forced": b"forced secret of p1",
               "verifier": scram.encode()}
    p = pooler({"p0": "", "p1": "user=app2 password='forced secret of p1'",
                "p2": "user=u_pw password='pw one'"},
               userlist={"app": scram, "app2": "plain secret of app2",
                         "admin": "x"},
               auth_type=auth_type, verbose=3)
    for user, password, db in (
            ("app", "kept as a verifier", "p0"),
            ("app2", "plain secret of app2", "p0"),
            ("app2", "plain secret of app2", "p1")):
        with p.raw(user, db, password) as c:
            assert c.value("select 1") == "1"
    with pytest.raises(pq.PgError):
        p.open().login("app", "a wrong guess", "p0")
    p.sighup()
    where = places(p.proc.pid, list(secrets.values()) + [
        b"kept as a verifier", b"a wrong guess",
        base64.b64decode(stored), base64.b64decode(server)])
    for s in secrets.values():
        assert where[s] == {"vault"}, s
    # what a client sent is gone as soon as it was looked at
    assert where[b"kept as a verifier"] == set()
    assert where[b"a wrong guess"] == set()
    for key in (stored, server):
        assert "elsewhere" not in where[base64.b64decode(key)]
    for s in secrets.values():
        assert s.decode() not in p.log
    for word in ("kept as a verifier", "a wrong guess", stored, server):
        assert word not in p.log


@pytest.mark.parametrize("several", [{}, {"workers": 2}])
def test_secret_that_was_replaced_is_gone(pooler, several):
    if several and REFERENCE:
        pytest.skip("no workers there")
    p = pooler(userlist={"app": "the first secret", "admin": "x"},
               auth_type="plain", **several)
    assert p.raw().value("select 1") == "1"
    for c in p.conns:
        c.close()
    p.userlist["app"] = "another secret"
    p.write()
    p.sighup()
    wait_until(lambda: places(p.proc.pid, [b"the first secret"])[
        b"the first secret"] == set(), what="the old secret to be wiped")
    assert places(p.proc.pid, [b"another secret"])[
        b"another secret"] == {"vault"}


def scalar(certs, name):
    """The private number of an EC key, as bytes."""
    out = subprocess.run(["openssl", "ec", "-in", certs.key(name), "-noout",
                          "-text"], stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL, text=True, check=True)
    digits = re.search(r"priv:\n([0-9a-f:\s]+)pub:", out.stdout)[1]
    return bytes.fromhex(re.sub(r"[:\s]", "", digits)).rjust(32, b"\0")


@pytest.mark.skipif(REFERENCE, reason="newer than that")
def test_private_keys_are_secluded(pooler, certs):
    """of TLS, read twice and used; and passwords for the directory"""
    conf = "ldapbasedn=x ldapbindpasswd=bind_secret ldapserver=127.0.0.1"
    p = pooler(userlist={"app": "x", "admin": "x"}, auth_type="hba",
               auth_hba_file="hba.conf", auth_ldap_options=conf, start=False,
               **certs.accept())
    p.put("hba.conf", "local all all trust\nhost all all all trust\nhost all x all ldap "
          "ldapbasedn=x ldapbindpasswd=rule_secret\n")
    p.settings["auth_hba_file"] = os.path.join(p.dir, "hba.conf")
    p.start()
    for _ in range(2):
        with p.open().start_tls(certs.client_context()) as c:
            assert c.login("app", "x", "p0").value("select 1") == "1"
        p.admin("reload")
    number = scalar(certs, "server")
    with open(certs.key("server"), "rb") as f:
        text = f.read().splitlines()[1]
    where = places(p.proc.pid, [number, number[::-1], text, b"bind_secret",
                                b"rule_secret"])
    assert where[number[::-1]] == {"vault"}      # OpenSSL's way to have it
    assert where[number] == where[text] == set()
    assert where[b"bind_secret"] == where[b"rule_secret"] == {"vault"}


def test_console_never_shows_secrets(pooler):
    """CVE-2023-22332 of Pgpool: watchdog password shown by SHOW"""
    p = pooler({"p0": "", "p1": "user=app2 password=forced_secret"},
               userlist={"app": "app_secret", "admin": "x"},
               auth_ldap_options="ldapbindpasswd=bind_secret ldapbasedn=x")
    with p.console() as c:
        topics = [r[0] for r in c.query("show help").rows] or []
        names = set(re.findall(r"[A-Z_]{4,}", " ".join(
            str(n) for n in c.notices) + " ".join(map(str, topics))))
        for topic in sorted(names | {"DATABASES", "USERS", "POOLS",
                                     "SERVERS", "CLIENTS", "SOCKETS",
                                     "STATE", "MEM"}):
            try:
                text = repr(c.query("show " + topic).rows)
            except pq.PgError:
                continue
            for word in ("app_secret", "forced_secret", "bind_secret"):
                assert word not in text, topic
