# pq.py - PostgreSQL wire protocol on a plain blocking socket, for tests.
# SPDX-License-Identifier: ISC
"""Build any message, read any message; nothing is hidden from the test."""
import base64
import functools
import hashlib
import hmac
import os
import select
import socket
import struct
import time

V3_0 = 196608
V3_2 = 196610
SSL_REQUEST = 80877103
GSSENC_REQUEST = 80877104
CANCEL_REQUEST = 80877102
TIMEOUT = float(os.environ.get("TEST_TIMEOUT", "60"))


class PgError(Exception):
    """An ErrorResponse (or NoticeResponse), by its fields."""

    def __init__(self, fields):
        self.fields = fields
        super().__init__("%s %s: %s" % (self.severity, self.code,
                                        self.message))

    severity = property(lambda self: self.fields.get("S"))
    code = property(lambda self: self.fields.get("C"))
    message = property(lambda self: self.fields.get("M"))


class Closed(Exception):
    """The peer closed the connection."""


# --- builders -------------------------------------------------------------

def cstr(s):
    return (s if isinstance(s, bytes) else s.encode()) + b"\0"


def msg(kind, body=b""):
    kind = kind if isinstance(kind, bytes) else kind.encode()
    return kind + struct.pack("!i", len(body) + 4) + body


def untyped(code, body=b""):
    return struct.pack("!ii", len(body) + 8, code) + body


def startup(params, version=V3_0):
    items = params.items() if isinstance(params, dict) else params
    return untyped(version, b"".join(cstr(k) + cstr(v) for k, v in items)
                   + b"\0")


def query(sql):
    return msg("Q", cstr(sql))


def parse(sql, name="", types=()):
    return msg("P", cstr(name) + cstr(sql) + struct.pack("!h", len(types))
               + b"".join(struct.pack("!i", t) for t in types))


def bind(stmt="", params=(), portal="", result_formats=()):
    out = cstr(portal) + cstr(stmt) + struct.pack("!hh", 0, len(params))
    for p in params:
        if p is None:
            out += struct.pack("!i", -1)
        else:
            p = p if isinstance(p, bytes) else str(p).encode()
            out += struct.pack("!i", len(p)) + p
    out += struct.pack("!h", len(result_formats))
    out += b"".join(struct.pack("!h", f) for f in result_formats)
    return msg("B", out)


def describe(kind, name=""):
    return msg("D", kind.encode() + cstr(name))


def close(kind, name=""):
    return msg("C", kind.encode() + cstr(name))


def execute(portal="", limit=0):
    return msg("E", cstr(portal) + struct.pack("!i", limit))


def sync():
    return msg("S")


def flush():
    return msg("H")


def terminate():
    return msg("X")


def password(text):
    return msg("p", cstr(text))


def copy_data(data):
    return msg("d", data)


def copy_done():
    return msg("c")


def copy_fail(why):
    return msg("f", cstr(why))


def function_call(oid, args):
    out = struct.pack("!ihh", oid, 0, len(args))
    for a in args:
        if a is None:
            out += struct.pack("!i", -1)
            continue
        a = a if isinstance(a, bytes) else str(a).encode()
        out += struct.pack("!i", len(a)) + a
    return msg("F", out + struct.pack("!h", 0))


def md5_password(user, pw, salt):
    inner = hashlib.md5(pw.encode() + user.encode()).hexdigest()
    return "md5" + hashlib.md5(inner.encode() + salt).hexdigest()


def md5_secret(user, pw):
    return "md5" + hashlib.md5((pw + user).encode()).hexdigest()


def scram_secret(pw, salt=None, iterations=4096):
    salt = salt or os.urandom(16)
    salted = hashlib.pbkdf2_hmac("sha256", pw.encode(), salt, iterations)
    ckey = hmac.digest(salted, b"Client Key", "sha256")
    skey = hmac.digest(salted, b"Server Key", "sha256")
    b64 = lambda b: base64.b64encode(b).decode()  # noqa: E731
    return "SCRAM-SHA-256$%d:%s$%s:%s" % (
        iterations, b64(salt), b64(hashlib.sha256(ckey).digest()), b64(skey))


# --- decoders -------------------------------------------------------------

def fields(body):
    out = {}
    for part in body.split(b"\0"):
        if part:
            out[chr(part[0])] = part[1:].decode("utf-8", "replace")
    return out


def row(body):
    n, pos, out = struct.unpack_from("!h", body)[0], 2, []
    for _ in range(n):
        ln = struct.unpack_from("!i", body, pos)[0]
        pos += 4
        if ln < 0:
            out.append(None)
            continue
        out.append(body[pos:pos + ln].decode("utf-8", "replace"))
        pos += ln
    return out


def row_desc(body):
    """[(name, table, column, type, typlen, typmod, format), ...]"""
    n, pos, out = struct.unpack_from("!h", body)[0], 2, []
    for _ in range(n):
        end = body.index(b"\0", pos)
        name = body[pos:end].decode()
        out.append((name,) + struct.unpack_from("!ihihih", body, end + 1))
        pos = end + 1 + 18
    return out


def split_messages(data):
    """Whole typed messages in data, and the rest."""
    out, pos = [], 0
    while len(data) - pos >= 5:
        ln = struct.unpack_from("!i", data, pos + 1)[0] + 1
        if len(data) - pos < ln:
            break
        out.append((chr(data[pos]), data[pos + 5:pos + ln]))
        pos += ln
    return out, data[pos:]


class Result:
    """What one or more replies up to a ReadyForQuery contained."""

    def __init__(self):
        self.messages, self.columns, self.rows = [], [], []
        self.tags, self.errors, self.notices = [], [], []
        self.copy, self.status = [], None

    def add(self, kind, body):
        self.messages.append((kind, body))
        if kind == "T":
            self.columns = [c[0] for c in row_desc(body)]
            self.desc = row_desc(body)
        elif kind == "D":
            self.rows.append(row(body))
        elif kind == "C":
            self.tags.append(body[:-1].decode())
        elif kind == "E":
            self.errors.append(PgError(fields(body)))
        elif kind == "N":
            self.notices.append(PgError(fields(body)))
        elif kind == "d":
            self.copy.append(body)
        elif kind == "Z":
            self.status = body.decode()

    kinds = property(lambda self: "".join(m[0] for m in self.messages))
    dicts = property(lambda self: [dict(zip(self.columns, r))
                                   for r in self.rows])

    def check(self):
        if self.errors:
            raise self.errors[0]
        return self


class Conn:
    """One connection; every call that waits has a deadline."""

    def __init__(self, host="127.0.0.1", port=None, path=None,
                 timeout=TIMEOUT, rcvbuf=None, sndbuf=None, source=None):
        fam = (socket.AF_UNIX if path else
               socket.AF_INET6 if ":" in host else socket.AF_INET)
        self.sock = socket.socket(fam, socket.SOCK_STREAM)
        self.sock.settimeout(timeout)
        if rcvbuf:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, rcvbuf)
        if sndbuf:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, sndbuf)
        if source:
            self.sock.bind((source, 0))
        self.sock.connect(path if path else (host, port))
        if not path:
            self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.timeout = timeout
        self.buf = bytearray()
        self.params, self.key, self.notices = {}, None, []
        self.param_order = []
        self.login_messages = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def start_tls(self, context, direct=False, host="localhost",
                  session=None):
        """Go on in TLS: asked for by SSLRequest, or at once."""
        if not direct:
            self.send(untyped(SSL_REQUEST))
            answer = self.recv_bytes(1)
            if answer != b"S":
                raise AssertionError("SSLRequest answered %r" % answer)
        self.sock = context.wrap_socket(self.sock, server_hostname=host,
                                        session=session)
        return self

    def fileno(self):
        return self.sock.fileno()

    def close(self, polite=True):
        if self.sock is None:
            return
        try:
            if polite:
                self.sock.settimeout(1)
                self.sock.sendall(terminate())
        except OSError:
            pass
        self.sock.close()
        self.sock = None

    def abort(self):
        """Close with a reset: what a killed client machine looks like."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                             struct.pack("ii", 1, 0))
        self.close(polite=False)

    def send(self, *parts):
        self.sock.sendall(b"".join(parts))

    def send_split(self, data, at=1):
        """Send data in pieces of `at` bytes, each a segment of its own."""
        for i in range(0, len(data), at):
            self.sock.sendall(data[i:i + at])

    def _fill(self, n):
        end = time.monotonic() + self.timeout
        while len(self.buf) < n:
            self.sock.settimeout(max(0.01, end - time.monotonic()))
            try:
                data = self.sock.recv(262144)
            except ConnectionResetError:
                data = b""
            if not data:
                raise Closed("connection closed by peer")
            self.buf += data

    def recv_bytes(self, n):
        self._fill(n)
        out = bytes(self.buf[:n])
        del self.buf[:n]
        return out

    def recv(self):
        """Next message as (type, body)."""
        self._fill(5)
        ln = struct.unpack_from("!i", self.buf, 1)[0]
        if ln < 4:
            raise Closed("bad length %d of message %r" % (ln, self.buf[:1]))
        self._fill(1 + ln)
        kind, body = chr(self.buf[0]), bytes(self.buf[5:1 + ln])
        del self.buf[:1 + ln]
        return kind, body

    def readable(self, timeout=0.0):
        if self.buf or getattr(self.sock, "pending", int)():
            return True
        return bool(select.select([self.sock], [], [], timeout)[0])

    def recv_until(self, stop="Z", res=None):
        """Collect messages up to one of the given types."""
        res = res or Result()
        while True:
            kind, body = self.recv()
            res.add(kind, body)
            if kind in stop:
                return res

    def recv_all(self):
        """Everything up to the end of the connection."""
        res = Result()
        try:
            while True:
                res.add(*self.recv())
        except Closed:
            return res

    def at_eof(self):
        """True if the peer closes without sending another byte."""
        try:
            self._fill(1)
        except Closed:
            return True
        return False

    def query(self, sql):
        """Simple query; raises on an error."""
        self.send(query(sql))
        return self.recv_until().check()

    def try_query(self, sql):
        """Simple query; errors are in the result."""
        self.send(query(sql))
        return self.recv_until()

    def value(self, sql):
        return self.query(sql).rows[0][0]

    def extended(self, sql, args=(), name="", types=()):
        self.send(parse(sql, name, types), bind(name, args),
                  describe("P"), execute(), sync())
        return self.recv_until().check()

    # --- login ---

    def login(self, user="app", password_=None, database=None,
              version=V3_0, wait=True, **params):
        pairs = [("user", user)]
        if database is not None:
            pairs.append(("database", database))
        pairs += params.items()
        self.user = user
        self.send(startup(pairs, version))
        if wait:
            self.finish_login(user, password_)
        return self

    def finish_login(self, user, password_=None):
        while True:
            kind, body = self.recv()
            self.login_messages.append((kind, body))
            if kind == "R":
                self._auth(user, password_, body)
            elif kind == "S":
                k, v = body.split(b"\0")[:2]
                self.params[k.decode()] = v.decode(
                    errors="surrogateescape")
                self.param_order.append(k.decode())
            elif kind == "K":
                self.key = body
            elif kind == "N":
                self.notices.append(PgError(fields(body)))
            elif kind == "E":
                raise PgError(fields(body))
            elif kind == "Z":
                self.status = body.decode()
                return self
            elif kind != "v":
                raise AssertionError("unexpected %r in login" % kind)

    def _auth(self, user, pw, body):
        code = struct.unpack_from("!i", body)[0]
        if code == 0 or code == 12:
            if code == 12:
                self.scram.final(body[4:])
            return
        pw = "" if pw is None else pw
        if code == 3:
            self.send(password(pw))
        elif code == 5:
            self.send(password(md5_password(user, pw, body[4:8])))
        elif code == 10:
            self.scram = ScramClient(pw)
            self.send(msg("p", cstr("SCRAM-SHA-256") + self.scram.first()))
        elif code == 11:
            self.send(msg("p", self.scram.reply(body[4:])))
        else:
            raise AssertionError("unknown authentication request %d" % code)


PLUS = b"p=tls-server-end-point,,"


@functools.lru_cache(16)
def salted_password(pw, salt, iterations):
    return hashlib.pbkdf2_hmac("sha256", pw.encode(), base64.b64decode(salt),
                               iterations)


class ScramClient:
    """RFC 5802 client; binding: what PLUS binds to, a certificate's hash."""

    def __init__(self, pw, gs2=b"n,,", binding=b""):
        self.pw, self.gs2, self.binding = pw, gs2, binding
        self.nonce = base64.b64encode(os.urandom(18))

    def first(self):
        self.bare = b"n=,r=" + self.nonce
        body = self.gs2 + self.bare
        return struct.pack("!i", len(body)) + body

    def reply(self, server_first, nonce=None, spoil=False):
        f = dict(p.split(b"=", 1) for p in server_first.split(b","))
        self.server_first, self.fields = server_first, f
        assert f[b"r"].startswith(self.nonce)
        salted = salted_password(self.pw, f[b"s"], int(f[b"i"]))
        ckey = hmac.digest(salted, b"Client Key", "sha256")
        skey = hmac.digest(salted, b"Server Key", "sha256")
        without = (b"c=" + base64.b64encode(self.gs2 + self.binding) + b",r="
                   + (nonce or f[b"r"]))
        auth = self.bare + b"," + server_first + b"," + without
        sig = hmac.digest(hashlib.sha256(ckey).digest(), auth, "sha256")
        proof = bytes(a ^ b for a, b in zip(ckey, sig))
        if spoil:
            proof = bytes([proof[0] ^ 1]) + proof[1:]
        self.signature = hmac.digest(skey, auth, "sha256")
        return without + b",p=" + base64.b64encode(proof)

    def final(self, body):
        assert body == b"v=" + base64.b64encode(self.signature)


class ScramServer:
    """RFC 5802 server from a SCRAM-SHA-256$... secret."""

    def __init__(self, secret):
        _, mid, keys = secret.split("$")
        self.iterations, self.salt = mid.split(":")
        self.stored, self.server = [base64.b64decode(k)
                                    for k in keys.split(":")]

    def challenge(self, client_first):
        self.flag, _, self.bare = client_first.split(b",", 2)
        cnonce = dict(p.split(b"=", 1) for p in self.bare.split(b","))[b"r"]
        self.first = b"r=%s%s,s=%s,i=%s" % (
            cnonce, base64.b64encode(os.urandom(18)), self.salt.encode(),
            self.iterations.encode())
        return self.first

    def verify(self, client_final):
        without, proof = client_final.rsplit(b",p=", 1)
        auth = self.bare + b"," + self.first + b"," + without
        sig = hmac.digest(self.stored, auth, "sha256")
        ckey = bytes(a ^ b for a, b in zip(base64.b64decode(proof), sig))
        ok = hashlib.sha256(ckey).digest() == self.stored
        return ok, b"v=" + base64.b64encode(
            hmac.digest(self.server, auth, "sha256"))


def send_cancel(port, key, host="127.0.0.1"):
    """CancelRequest; returns when the other side has closed."""
    c = Conn(host, port)
    c.send(untyped(CANCEL_REQUEST, key))
    assert c.at_eof()
    c.close(polite=False)
