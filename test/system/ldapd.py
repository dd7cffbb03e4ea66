# ldapd.py - directories for the tests: OpenLDAP's slapd, and a scripted one.
# SPDX-License-Identifier: ISC
import os
import shutil
import socket
import subprocess
import threading

from harness import TIMEOUT, as_user, free_port, give, make_tmp, wait_until

SLAPD = next((p for p in ("/usr/sbin/slapd", shutil.which("slapd") or "")
              if os.path.exists(p)), None)

CONF = """
include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/inetorgperson.schema
modulepath /usr/lib/ldap
moduleload back_mdb
pidfile {dir}/slapd.pid
{tls}
{access}
database mdb
suffix "dc=test"
rootdn "cn=root,dc=test"
rootpw rootpw
directory {dir}/db
maxsize 10485760
"""

TREE = """dn: dc=test
objectClass: dcObject
objectClass: organization
o: test
dc: test

dn: ou=people,dc=test
objectClass: organizationalUnit
ou: people

dn: ou=more,ou=people,dc=test
objectClass: organizationalUnit
ou: more
"""

PERSON = """
dn: uid={uid},{base}
objectClass: inetOrgPerson
uid: {uid}
cn: {cn}
sn: {uid}
mail: {uid}@test
userPassword: {password}
"""


def certificate(folder):
    """CA and a server certificate for 127.0.0.1 and localhost."""
    def openssl(*args):
        subprocess.run(("openssl",) + args, check=True, cwd=folder,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with open(os.path.join(folder, "ext"), "w") as f:
        f.write("subjectAltName=IP:127.0.0.1,DNS:localhost\n")
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt",
            "ec_paramgen_curve:P-256", "-nodes", "-keyout", "ca.key", "-out",
            "ca.pem", "-subj", "/CN=test CA", "-days", "2")
    openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
            "-nodes", "-keyout", "ldap.key", "-out", "ldap.csr", "-subj",
            "/CN=localhost")
    openssl("x509", "-req", "-in", "ldap.csr", "-CA", "ca.pem", "-CAkey",
            "ca.key", "-CAcreateserial", "-out", "ldap.pem", "-days", "2",
            "-extfile", "ext")
    for name in ("ca.pem", "ldap.pem", "ldap.key"):
        give(os.path.join(folder, name))


class Slapd:
    """A real directory with dc=test and some people below it."""

    def __init__(self, people=(), tls=False, anonymous=True):
        """people: (uid, password[, cn[, base]])"""
        self.dir = make_tmp()
        self.port, self.tls_port = free_port(), free_port()
        db = os.path.join(self.dir, "db")
        os.mkdir(db)
        give(db)
        lines = ""
        if tls:
            certificate(self.dir)
            lines = "\n".join("%s %s/%s" % (k, self.dir, v) for k, v in (
                ("TLSCACertificateFile", "ca.pem"),
                ("TLSCertificateFile", "ldap.pem"),
                ("TLSCertificateKeyFile", "ldap.key")))
        self.conf = self._put("slapd.conf", CONF.format(
            dir=self.dir, tls=lines,
            access="" if anonymous else "disallow bind_anon\nrequire authc"))
        self._put("tree.ldif", TREE + "".join(map(person, people)))
        subprocess.run(["/usr/sbin/slapadd", "-f", self.conf, "-l",
                        os.path.join(self.dir, "tree.ldif")], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       **as_user())
        urls = "ldap://127.0.0.1:%d/" % self.port
        if tls:
            urls += " ldaps://127.0.0.1:%d/" % self.tls_port
        self.log = open(os.path.join(self.dir, "slapd.log"), "wb")
        self.proc = subprocess.Popen(
            [SLAPD, "-f", self.conf, "-h", urls, "-d", "0"], stdout=self.log,
            stderr=self.log, cwd="/tmp", **as_user())
        wait_until(self._up, what="slapd to start")

    def _put(self, name, text):
        path = os.path.join(self.dir, name)
        with open(path, "w") as f:
            f.write(text)
        return give(path)

    def _up(self):
        assert self.proc.poll() is None, open(self.log.name).read()
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
            return True
        except OSError:
            return False

    @property
    def ca(self):
        return os.path.join(self.dir, "ca.pem")

    def stop(self):
        if self.proc.poll() is None:
            self.proc.terminate()
            self.proc.wait(TIMEOUT)
        self.log.close()
        shutil.rmtree(self.dir, ignore_errors=True)


def person(p):
    uid, password, cn, base = (tuple(p) + (None, None))[:4]
    return PERSON.format(uid=uid, password=password, cn=cn or uid,
                         base=base or "ou=people,dc=test")


# --- RFC 4511, as much as a scripted directory needs ---

def ber(tag, *parts):
    body = b"".join(parts)
    n = len(body)
    if n < 128:
        return bytes([tag, n]) + body
    size = (n.bit_length() + 7) // 8
    return bytes([tag, 128 | size]) + n.to_bytes(size, "big") + body


def unber(data):
    """(tag, body, rest) of the first element."""
    n, at = data[1], 2
    if n & 128:
        at += n & 127
        n = int.from_bytes(data[2:at], "big")
    if len(data) < at + n:
        raise IndexError
    return data[0], data[at:at + n], data[at + n:]


def result(tag, code):
    return ber(tag, ber(10, bytes([code])), ber(4), ber(4))


class FakeLdap:
    """Accepts binds with a certain password, as soon as the gate is open or
    its patience is at an end."""

    def __init__(self, password="pw"):
        self.password = password.encode()
        self.gate = threading.Event()
        self.patience = TIMEOUT
        self.binds = []            # DNs, in the order they came
        self.peers = set()         # connections that are open
        self.sock = socket.create_server(("127.0.0.1", free_port()),
                                         backlog=256)
        self.port = self.sock.getsockname()[1]
        self.lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                conn, _ = self.sock.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(conn,),
                             daemon=True).start()

    def _serve(self, conn):
        with self.lock:
            self.peers.add(conn)
        data = b""
        try:
            while True:
                try:
                    _, message, data = unber(data)
                except IndexError:
                    more = conn.recv(65536)
                    if not more:
                        return
                    data += more
                    continue
                _, ident, op = unber(message)
                self._answer(conn, ident, unber(op))
        except OSError:
            pass
        finally:
            with self.lock:
                self.peers.discard(conn)
            conn.close()

    def _answer(self, conn, ident, op):
        tag, body, _ = op
        if tag != 0x60:            # all else is goodbye
            return
        _, _, rest = unber(body)   # version
        _, dn, rest = unber(rest)
        _, given, _ = unber(rest)
        with self.lock:
            self.binds.append(dn.decode())
        self.gate.wait(self.patience)
        code = 0 if given == self.password else 49
        conn.sendall(ber(0x30, ber(2, ident), result(0x61, code)))

    def stop(self):
        self.gate.set()
        self.sock.close()
        for conn in list(self.peers):
            conn.close()
