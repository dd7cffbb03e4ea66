# fakepg.py - a scripted PostgreSQL server on loopback.
# SPDX-License-Identifier: ISC
"""Accepts logins and answers as told; may split, stall, lie and vanish.

A handler is called as handler(session, type, body) for each message after
the login; it returns True if it took care of it, else the default answer
is given.
"""
import os
import re
import socket
import struct
import threading

import pq
from harness import TIMEOUT, free_port, wait_until

PARAMS = {
    "server_version": "15.0", "server_encoding": "UTF8",
    "client_encoding": "UTF8", "DateStyle": "ISO, MDY", "TimeZone": "UTC",
    "IntervalStyle": "postgres", "standard_conforming_strings": "on",
    "application_name": "", "is_superuser": "off",
    "integer_datetimes": "on", "session_authorization": "app",
}


def error(message, code="XX000", severity="ERROR"):
    body = b"S" + pq.cstr(severity) + b"V" + pq.cstr(severity)
    if code is not None:
        body += b"C" + pq.cstr(code)
    return pq.msg("E", body + b"M" + pq.cstr(message) + b"\0")


def notice(message, code="00000"):
    return pq.msg("N", b"SNOTICE\0VNOTICE\0C" + pq.cstr(code) + b"M"
                  + pq.cstr(message) + b"\0")


def param(name, value):
    return pq.msg("S", pq.cstr(name) + pq.cstr(value))


def ready(status="I"):
    return pq.msg("Z", status.encode())


def complete(tag):
    return pq.msg("C", pq.cstr(tag))


def row_desc(*names):
    return pq.msg("T", struct.pack("!h", len(names)) + b"".join(
        pq.cstr(n) + struct.pack("!ihihih", 0, 0, 25, -1, -1, 0)
        for n in names))


def data_row(*values):
    out = struct.pack("!h", len(values))
    for v in values:
        if v is None:
            out += struct.pack("!i", -1)
        else:
            v = v if isinstance(v, bytes) else str(v).encode()
            out += struct.pack("!i", len(v)) + v
    return pq.msg("D", out)


def result(*values, status="I"):
    """Whole reply to a simple query with one row."""
    cols = ["c%d" % i for i in range(len(values))]
    return (row_desc(*cols) + data_row(*values) + complete("SELECT 1")
            + ready(status))


def copy_in(cols=1):
    return pq.msg("G", struct.pack("!bh", 0, cols)
                  + struct.pack("!h", 0) * cols)


# What the pooler asks each server with session_state = keep, before clients do
# anything: it has no role, and no other setting either.
BASE = row_desc("name", "setting") + data_row("role", "none") \
    + complete("SELECT 1") + ready()


class Gone(Exception):
    pass


class Session(threading.Thread):
    """One accepted connection."""

    def __init__(self, server, sock):
        super().__init__(daemon=True)
        self.server, self.sock = server, sock
        self.sock.settimeout(TIMEOUT)
        self.buf = bytearray()
        self.received, self.startup, self.cancel = [], None, None
        self.version = None
        self.params = dict(server.params)
        self.status, self.ended, self.bytes_in = "I", False, 0
        self.logged_in, self.ssl_requests = False, 0
        self.key = struct.pack("!i", 1000 + len(server.sessions)) \
            + server.secret_key

    # --- bytes ---

    def send(self, *parts, split=None):
        data = b"".join(parts)
        if self.server.fault and self.logged_in:
            self.server.fault.send(self, data)
            return
        n = split or self.server.split or len(data) or 1
        for i in range(0, len(data), n):
            self.sock.sendall(data[i:i + n])

    def read(self, n):
        while len(self.buf) < n:
            try:
                data = self.sock.recv(65536)
            except OSError:
                data = b""
            if not data:
                raise Gone
            self.bytes_in += len(data)
            self.buf += data
        out = bytes(self.buf[:n])
        del self.buf[:n]
        return out

    def read_msg(self):
        head = self.read(5)
        return chr(head[0]), self.read(struct.unpack("!i", head[1:])[0] - 4)

    def hang_up(self):
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                             struct.pack("ii", 0, 0))
        self.sock.shutdown(socket.SHUT_RDWR)
        self.sock.close()
        raise Gone

    def reset(self):
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                             struct.pack("ii", 1, 0))
        self.sock.close()
        raise Gone

    def kinds(self):
        return "".join(k for k, _ in self.received)

    def queries(self):
        return [b[:-1].decode() for k, b in self.received if k == "Q"]

    # --- life ---

    def run(self):
        try:
            self._login()
            while True:
                kind, body = self.read_msg()
                if kind == "Q" and b"/*base*/" in body:
                    self.send(BASE)
                    continue
                self.received.append((kind, body))
                if kind == "X":
                    break
                h = self.server.handler
                if not (h and h(self, kind, body)):
                    self.default(kind, body)
        except (Gone, OSError, ValueError):
            pass
        finally:
            self.ended = True
            try:
                self.sock.close()
            except OSError:
                pass

    def start_tls(self):
        self.sock = self.server.tls.wrap_socket(self.sock, server_side=True)

    def _login(self):
        if self.server.direct:
            self.start_tls()
        while True:
            ln, code = struct.unpack("!ii", self.read(8))
            body = self.read(ln - 8)
            if code == pq.SSL_REQUEST:
                self.ssl_requests += 1
            if code in (pq.SSL_REQUEST, pq.GSSENC_REQUEST):
                self.send(self.server.ssl_answer)
                if self.server.ssl_answer == b"S" and self.server.tls:
                    self.start_tls()
            elif code == pq.CANCEL_REQUEST:
                self.cancel = body
                if self.server.on_cancel:
                    self.server.on_cancel(self, body)
                raise Gone
            else:
                break
        self.version = code
        parts = body.split(b"\0")
        self.startup = {parts[i].decode(): parts[i + 1].decode()
                        for i in range(0, len(parts) - 1, 2) if parts[i]}
        if self.server.on_login and self.server.on_login(self):
            return
        for k, v in self.startup.items():
            for name in self.params:
                if name.lower() == k.lower():
                    self.params[name] = v
        self.negotiate()
        self.authenticate()
        self.welcome()

    def negotiate(self):
        """What PostgreSQL does when asked for more than it knows."""
        if self.version > self.server.protocol:
            self.send(pq.msg("v", struct.pack(
                "!ii", self.server.protocol, 0)))

    def authenticate(self):
        s = self.server
        user = self.startup.get("user", "")
        ok = True
        if s.auth == "password":
            self.send(pq.msg("R", struct.pack("!i", 3)))
            ok = self.read_msg()[1] == pq.cstr(s.password)
        elif s.auth == "md5":
            self.send(pq.msg("R", struct.pack("!i", 5) + b"salt"))
            ok = self.read_msg()[1] == pq.cstr(
                pq.md5_password(user, s.password, b"salt"))
        elif s.auth == "scram":
            ok = self._scram()
        if not ok:
            self.send(error('password authentication failed for user "%s"'
                            % user, "28P01", "FATAL"))
            raise Gone

    def _scram(self):
        srv = pq.ScramServer(self.server.secret
                             or pq.scram_secret(self.server.password))
        self.send(pq.msg("R", struct.pack("!i", 10)
                         + b"".join(m + b"\0" for m in
                                    self.server.mechanisms) + b"\0"))
        body = self.read_msg()[1]
        self.mechanism = body[:body.index(b"\0")]
        first = body[body.index(b"\0") + 5:]
        self.send(pq.msg("R", struct.pack("!i", 11)
                         + srv.challenge(first)))
        self.flag = srv.flag
        ok, sig = srv.verify(self.read_msg()[1])
        if ok:
            self.send(pq.msg("R", struct.pack("!i", 12) + sig))
        return ok

    def welcome(self):
        self.send(pq.msg("R", struct.pack("!i", 0)),
                  b"".join(param(k, v) for k, v in self.params.items()),
                  self.server.extra_welcome,
                  pq.msg("K", self.key) if self.server.send_key else b"",
                  ready())
        self.logged_in = True

    # --- default answers ---

    def default(self, kind, body):
        if kind == "Q":
            self.send(self.answer_query(body[:-1].decode()))
        elif kind == "S":
            self.send(ready(self.status))
        elif kind == "D" and body == b"SPGBOUNCER_UNKNOWN\0":
            self.send(error('prepared statement "PGBOUNCER_UNKNOWN" does '
                            'not exist', "26000"))
        elif kind == "D":
            self.send(pq.msg("n") if body[:1] == b"P"
                      else pq.msg("t", struct.pack("!h", 0)) + pq.msg("n"))
        elif kind == "F":
            self.send(pq.msg("V", struct.pack("!i", -1)),
                      ready(self.status))
        else:
            self.send({"P": pq.msg("1"), "B": pq.msg("2"),
                       "C": pq.msg("3"), "E": complete("SELECT 0")}
                      .get(kind, b""))

    def answer_query(self, sql):
        out = b""
        if not sql.strip():
            return pq.msg("I") + ready(self.status)
        for part in [s.strip() for s in sql.split(";") if s.strip()]:
            word = part.split()[0].upper()
            if word == "BEGIN":
                self.status = "T"
            elif word in ("COMMIT", "ROLLBACK"):
                self.status = "I"
            if word == "SET":
                out += self._set(part)
            if word == "SELECT":
                out += row_desc("c0") + data_row(part) + complete("SELECT 1")
            else:
                out += complete("DISCARD ALL" if word == "DISCARD" else word)
        return out + ready(self.status)

    def _set(self, part):
        m = re.match(r"(?i)set\s+(\w+)\s*(?:=|\bto\b)\s*(.*)", part)
        if not m:
            return b""
        val = m.group(2).strip().strip("'").replace("''", "'")
        for name in self.params:
            if name.lower() == m.group(1).lower():
                self.params[name] = val
                return param(name, val)
        return b""


class Fault:
    """What a server does wrong once it has sent so many bytes: act(session)
    is called there, then the rest is sent. Notes all that is sent.
    """

    def __init__(self, at=None, act=None):
        self.at, self.act = at, act
        self.session = None     # the one it has befallen
        self._sent, self._sending = b"", threading.RLock()

    @property
    def sent(self):
        """All that is on its way to the pooler by now."""
        with self._sending:
            return self._sent

    def send(self, sess, data):
        with self._sending:
            due = self.act is not None and self.at is not None \
                and len(self._sent) + len(data) >= self.at
            n = self.at - len(self._sent) if due else len(data)
            self._pass(sess, data[:n])
            if due:
                act, self.act, self.session = self.act, None, sess
                act(sess)
                self._pass(sess, data[n:])

    def _pass(self, sess, data):
        self._sent += data
        sess.sock.sendall(data)


class FakePg:
    """The listener; see Session for what it does with a connection."""

    def __init__(self, handler=None, auth="trust", password="", secret=None,
                 params=None, split=None, ssl_answer=b"N", send_key=True,
                 extra_welcome=b"", on_login=None, on_cancel=None,
                 rcvbuf=None, protocol=pq.V3_0,
                 secret_key=struct.pack("!i", 77), tls=None, direct=False,
                 host="127.0.0.1", mechanisms=(b"SCRAM-SHA-256",),
                 port=None, folder=None):
        self.handler, self.auth = handler, auth
        self.password, self.secret = password, secret
        self.params = dict(PARAMS if params is None else params)
        self.split, self.ssl_answer = split, ssl_answer
        self.send_key, self.extra_welcome = send_key, extra_welcome
        self.on_login, self.on_cancel = on_login, on_cancel
        self.protocol, self.secret_key = protocol, secret_key
        # tls: an SSLContext; direct: TLS from the first byte on
        self.tls, self.direct = tls, direct
        if tls and ssl_answer == b"N":
            self.ssl_answer = b"S"
        self.mechanisms = mechanisms
        self.sessions, self.fault = [], None
        self.port = port or free_port()
        # folder: of a Unix socket
        self.folder = folder
        self.sock = socket.socket(socket.AF_UNIX if folder else
                                  socket.AF_INET)
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if rcvbuf:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF,
                                 rcvbuf)
        self.sock.bind(os.path.join(folder, ".s.PGSQL.%d" % self.port)
                       if folder else (host, self.port))
        self.sock.listen(64)
        self.closing = False
        self.thread = threading.Thread(target=self._accept, daemon=True)
        self.thread.start()

    def _accept(self):
        while True:
            try:
                s, _ = self.sock.accept()
            except OSError:
                return
            if not self.folder:
                s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sess = Session(self, s)
            self.sessions.append(sess)
            sess.start()

    @property
    def conn(self):
        """Entry for [databases]."""
        return "host=%s port=%d" % (self.folder or "127.0.0.1", self.port)

    def logins(self):
        return [s for s in self.sessions if s.logged_in]

    def cancels(self):
        return [s.cancel for s in self.sessions if s.cancel is not None]

    def wait_logins(self, n):
        wait_until(lambda: len(self.logins()) >= n, what="%d logins" % n)
        return self.logins()

    def close(self):
        if self.closing:
            return
        self.closing = True
        for s in [self.sock] + [x.sock for x in self.sessions]:
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            s.close()
        for t in [self.thread] + self.sessions:
            t.join(5)
