"""Logins, one after the other, by a client that costs little.

What a password needs (PBKDF2) is derived once; each login then takes a few
hashes, whoever it is that asks.  Not libpq, which derives it every time.
SPDX-License-Identifier: ISC
"""
import base64
import hashlib
import hmac
import os
import socket
import struct

def digest(key, message):
    return hmac.digest(key, message, "sha256")


class Keys:
    def __init__(self, password, salt, iterations):
        salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt,
                                     iterations)
        self.client = digest(salted, b"Client Key")
        self.stored = hashlib.sha256(self.client).digest()


def message(kind, body):
    return kind + struct.pack("!i", len(body) + 4) + body


class Client:
    """Logs in to the database bench as user, and leaves."""

    def __init__(self, port, user, password):
        self.port, self.password = port, password
        start = (b"\0\3\0\0user\0" + user.encode() +
                 b"\0database\0bench\0\0")
        self.start = struct.pack("!i", len(start) + 4) + start
        self.keys = {}      # by salt and count

    def login(self):
        with socket.create_connection(("127.0.0.1", self.port), 30) as s:
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            s.sendall(self.start)
            data = b""
            while True:
                while len(data) < 5 or len(data) < 1 + struct.unpack_from(
                        "!i", data, 1)[0]:
                    more = s.recv(65536)
                    if not more:
                        raise OSError("connection closed during login")
                    data += more
                size = 1 + struct.unpack_from("!i", data, 1)[0]
                kind, body, data = data[:1], data[5:size], data[size:]
                if kind == b"E":
                    raise OSError(body.replace(b"\0", b" ").decode())
                if kind == b"R":
                    self.answer(s, body)
                if kind == b"Z":
                    s.sendall(message(b"X", b""))
                    return

    def answer(self, s, body):
        code = struct.unpack_from("!i", body)[0]
        if code == 10:
            self.nonce = base64.b64encode(os.urandom(18))
            self.bare = b"n=,r=" + self.nonce
            first = b"n,," + self.bare
            s.sendall(message(b"p", b"SCRAM-SHA-256\0" +
                              struct.pack("!i", len(first)) + first))
        elif code == 11:
            s.sendall(message(b"p", self.final(body[4:])))
        elif code not in (0, 12):
            raise OSError(f"authentication request {code}")

    def final(self, challenge):
        f = dict(p.split(b"=", 1) for p in challenge.split(b","))
        given = (base64.b64decode(f[b"s"]), int(f[b"i"]))
        if given not in self.keys:
            self.keys[given] = Keys(self.password, *given)
        k = self.keys[given]
        without = b"c=biws,r=" + f[b"r"]
        signature = digest(k.stored, self.bare + b"," + challenge + b"," +
                           without)
        proof = bytes(a ^ b for a, b in zip(k.client, signature))
        return without + b",p=" + base64.b64encode(proof)
