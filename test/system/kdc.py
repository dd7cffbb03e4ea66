# kdc.py - a Kerberos realm for the tests, and a client that makes tokens.
# SPDX-License-Identifier: ISC
"""MIT's KDC on loopback ports, by its own files: nothing of the machine's
configuration is read or written."""
import contextlib
import ctypes
import os
import shutil
import subprocess

from harness import TIMEOUT, as_user, free_port, give, make_tmp, wait_until

KRB5KDC = next((p for p in ("/usr/sbin/krb5kdc", shutil.which("krb5kdc") or "")
                if os.path.exists(p)), None)
REALM, OTHER = "SLUICE.TEST", "OTHER.TEST"

CONF = """
[libdefaults]
 default_realm = {realm}
 dns_lookup_realm = false
 dns_lookup_kdc = false
 dns_canonicalize_hostname = false
 rdns = false
 udp_preference_limit = 1
 kdc_timeout = 2
 forwardable = true
[realms]
 {realm} = {{
  kdc = 127.0.0.1:{port}
 }}
 {other} = {{
  kdc = 127.0.0.1:{port}
 }}
[domain_realm]
 localhost = {realm}
"""

KDC_CONF = """
[kdcdefaults]
 kdc_listen = 127.0.0.1:{port}
 kdc_tcp_listen = 127.0.0.1:{port}
[realms]
 {realm} = {{
  database_name = {dir}/{realm}
  key_stash_file = {dir}/stash.{realm}
  max_life = 1d
  acl_file = {dir}/acl
 }}
 {other} = {{
  database_name = {dir}/{other}
  key_stash_file = {dir}/stash.{other}
  acl_file = {dir}/acl
 }}
[logging]
 kdc = FILE:{dir}/kdc.log
"""


class Kdc:
    """Two realms that trust each other: the other one's users come with
    tickets for services of the first."""

    def __init__(self, *users):
        self.dir = make_tmp()
        self.port = free_port()
        self.conf = self._put("krb5.conf", CONF)
        self.env = {**os.environ, "KRB5_CONFIG": self.conf,
                    "KRB5_KDC_PROFILE": self._put("kdc.conf", KDC_CONF),
                    "KRB5RCACHEDIR": self.dir, "LC_ALL": "C"}
        for realm in (REALM, OTHER):
            self._run("/usr/sbin/kdb5_util", "create", "-s", "-P", "master",
                      "-r", realm)
            self.admin(realm, "addprinc -pw across krbtgt/%s@%s"
                       % (REALM, OTHER))
            for user in users:
                self.admin(realm, "addprinc -pw pw %s" % user)
        for service in ("postgres", "http"):
            self.admin(REALM, "addprinc -randkey %s/localhost" % service)
        self.keytab = self.make_keytab("server", "postgres/localhost")
        self.proc = None
        self.start()

    def _put(self, name, text):
        path = os.path.join(self.dir, name)
        with open(path, "w") as f:
            f.write(text.format(dir=self.dir, port=self.port, realm=REALM,
                                other=OTHER))
        return give(path)

    def _run(self, *args, **kw):
        return subprocess.run(args, check=True, cwd=self.dir, env=self.env,
                              stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, **kw, **as_user())

    def admin(self, realm, command):
        self._run("/usr/sbin/kadmin.local", "-r", realm, "-q", command)

    def make_keytab(self, name, *principals):
        """The keys as they are: others that have them stay right."""
        path = os.path.join(self.dir, name + ".keytab")
        self.admin(REALM, "ktadd -k %s -norandkey %s"
                   % (path, " ".join(principals)))
        return path

    def ticket(self, user, realm=REALM, password="pw", life=None):
        """A file with a ticket of this user, for KRB5CCNAME."""
        path = os.path.join(self.dir, "%s.%s.%s" % (user.replace("/", "."),
                                                    realm, life))
        args = ["kinit", "-c", path]
        if life:
            args += ["-l", life]
        self._run(*args, "%s@%s" % (user, realm), input=password.encode())
        return path

    def client_env(self, ticket):
        """The environment of a client with that ticket."""
        return {**{k: v for k, v in self.env.items()
                   if not k.startswith("PG")}, "KRB5CCNAME": ticket}

    def start(self):
        self.log = open(os.path.join(self.dir, "kdc.out"), "ab")
        self.proc = subprocess.Popen(
            [KRB5KDC, "-n", "-r", REALM, "-r", OTHER, "-P",
             os.path.join(self.dir, "kdc.pid")], stdout=self.log,
            stderr=self.log, cwd=self.dir, env=self.env, **as_user())
        wait_until(self._up, what="the KDC to start")

    def _up(self):
        assert self.proc.poll() is None, open(self.log.name).read()
        try:
            self.ticket("probe", password="none")
        except subprocess.CalledProcessError as e:
            return b"not found in Kerberos database" in e.stderr
        return True

    def halt(self):
        if self.proc.poll() is None:
            self.proc.terminate()
            self.proc.wait(TIMEOUT)
        self.log.close()

    def stop(self):
        self.halt()
        shutil.rmtree(self.dir, ignore_errors=True)


# --- RFC 2744, as much of it as a client needs ---

class Buffer(ctypes.Structure):
    _fields_ = [("length", ctypes.c_size_t), ("value", ctypes.c_void_p)]

    def bytes(self):
        return ctypes.string_at(self.value, self.length) if self.length \
            else b""


class Oid(ctypes.Structure):
    _fields_ = [("length", ctypes.c_uint32), ("elements", ctypes.c_void_p)]


HOSTBASED = bytes.fromhex("2a864886f712010201 04".replace(" ", ""))
DCE_STYLE, MUTUAL, DELEGATE = 0x1000, 2, 1
SEALED = 2 | 4 | 8 | 16 | 32   # mutual, replay, sequence, confidential, whole


def _buffer(data):
    keep = ctypes.create_string_buffer(data, len(data))
    return Buffer(len(data), ctypes.cast(keep, ctypes.c_void_p)), keep


@contextlib.contextmanager
def _environment(env):
    names = ("KRB5_CONFIG", "KRB5CCNAME")
    old = {n: os.environ.get(n) for n in names}
    os.environ.update({n: env[n] for n in names})
    yield
    for n in names:
        if old[n] is None:
            del os.environ[n]
        else:
            os.environ[n] = old[n]


class Initiator:
    """A client's side of an exchange, token by token."""

    lib = None

    def __init__(self, env, service="postgres@localhost", flags=MUTUAL):
        if Initiator.lib is None:
            Initiator.lib = ctypes.CDLL("libgssapi_krb5.so.2")
        self.env, self.flags = env, flags
        self.context = ctypes.c_void_p()
        self.name = ctypes.c_void_p()
        self.minor = ctypes.c_uint32()
        oid = ctypes.create_string_buffer(HOSTBASED, len(HOSTBASED))
        self.oid = Oid(len(HOSTBASED), ctypes.cast(oid, ctypes.c_void_p))
        text, self._keep = _buffer(service.encode())
        major = self.lib.gss_import_name(
            ctypes.byref(self.minor), ctypes.byref(text),
            ctypes.byref(self.oid), ctypes.byref(self.name))
        self._oid = oid
        assert major == 0

    def _taken(self, out):
        """The bytes of what the library has made, which is freed."""
        made = out.bytes()
        self.lib.gss_release_buffer(ctypes.byref(self.minor),
                                    ctypes.byref(out))
        return made

    def step(self, token=b""):
        """The next token for the peer; (token, whether more must come)."""
        given, keep = _buffer(token)
        out = Buffer()
        with _environment(self.env):
            major = self.lib.gss_init_sec_context(
                ctypes.byref(self.minor), None, ctypes.byref(self.context),
                self.name, None, self.flags, 0, None, ctypes.byref(given),
                None, ctypes.byref(out), None, None)
        del keep
        if major & 0xffff0000:
            raise OSError("GSS error %x, %d" % (major, self.minor.value))
        return self._taken(out), bool(major & 1)

    def wrap(self, data):
        plain, keep = _buffer(data)
        out = Buffer()
        major = self.lib.gss_wrap(
            ctypes.byref(self.minor), self.context, 1, 0,
            ctypes.byref(plain), None, ctypes.byref(out))
        del keep
        assert major == 0
        return self._taken(out)

    def unwrap(self, data):
        sealed, keep = _buffer(data)
        out = Buffer()
        major = self.lib.gss_unwrap(
            ctypes.byref(self.minor), self.context, ctypes.byref(sealed),
            ctypes.byref(out), None, None)
        del keep
        assert major == 0
        return self._taken(out)


PACKET = 16384         # with its length; of PostgreSQL and libpq


class SealedSocket:
    """A socket in which PostgreSQL's GSSAPI encryption runs."""

    def __init__(self, sock, client):
        self.sock, self.client = sock, client
        self.raw, self.plain = b"", b""

    def sendall(self, data):
        for i in range(0, len(data), 8192):
            self.sock.sendall(self.packet(data[i:i + 8192]))

    def packet(self, data):
        sealed = self.client.wrap(data)
        return len(sealed).to_bytes(4, "big") + sealed

    def recv(self, size):
        while not self.plain:
            while len(self.raw) < 4 or \
                    len(self.raw) < 4 + int.from_bytes(self.raw[:4], "big"):
                more = self.sock.recv(65536)
                if not more:
                    return b""
                self.raw += more
            n = int.from_bytes(self.raw[:4], "big")
            assert n <= PACKET - 4
            self.plain = self.client.unwrap(self.raw[4:4 + n])
            self.raw = self.raw[4 + n:]
        out, self.plain = self.plain[:size], self.plain[size:]
        return out

    def pending(self):
        return len(self.plain) + len(self.raw)

    def __getattr__(self, name):
        return getattr(self.sock, name)


def start_encryption(c, client):
    """Ask for it, on a new pq.Conn, and go on in it. False: refused."""
    c.send(GSSENC)
    if c.recv_bytes(1) != b"G":
        return False
    token = client.step()[0]
    while token:
        c.send(len(token).to_bytes(4, "big") + token)
        n = int.from_bytes(c.recv_bytes(4), "big")
        token = client.step(c.recv_bytes(n))[0]
    c.sock = SealedSocket(c.sock, client)
    return True


GSSENC = (8).to_bytes(4, "big") + (80877104).to_bytes(4, "big")
