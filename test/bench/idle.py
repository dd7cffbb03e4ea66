#!/usr/bin/env python3
"""Opens N idle, logged-in clients and prints the pooler's memory per client.

  idle.py [--tls] [--say SQL] PORT PID N

User and database are "bench", with trust authentication.  A pooler reuses
what it once allocated: only the first measurement of a process counts.
SPDX-License-Identifier: ISC
"""
import argparse
import resource
import socket
import ssl
import struct
import sys

sys.dont_write_bytecode = True  # the source tree may be read-only

import proc

WARM_UP = 100  # clients that fill the first slabs and stay connected
SSL_REQUEST = struct.pack("!ii", 8, 80877103)
READY = b"Z\0\0\0\5I"


def tls_context():
    ctx = ssl.create_default_context()
    ctx.check_hostname, ctx.verify_mode = False, ssl.CERT_NONE
    return ctx


def login(sock, database, user):
    body = struct.pack("!i", 196608)
    body += b"user\0%s\0database\0%s\0\0" % (user.encode(),
                                             database.encode())
    sock.sendall(struct.pack("!i", len(body) + 4) + body)
    got = b""
    while not got.endswith(READY):
        data = sock.recv(8192)
        if not data:
            raise ConnectionError(f"login refused: {got!r}")
        got += data


def connect(port, database="bench", tls=None, timeout=30, user="bench"):
    """A socket that is logged in and idle."""
    sock = socket.create_connection(("127.0.0.1", port), timeout=timeout)
    try:
        if tls:
            sock.sendall(SSL_REQUEST)
            if sock.recv(1) != b"S":
                raise ConnectionError("TLS refused")
            sock = tls.wrap_socket(sock)
        login(sock, database, user)
    except BaseException:
        sock.close()
        raise
    return sock


def hear(sock):
    """Up to the ReadyForQuery."""
    got = b""
    while not got.endswith(READY):
        data = sock.recv(8192)
        if not data or data[:1] == b"E":
            raise ConnectionError(f"refused: {data!r}")
        got = (got + data)[-len(READY):]


def measure(port, pid, count, tls=None, say=None):
    """(resident, anonymous) bytes per idle client, which has said that once."""
    need = count + WARM_UP + 100
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < need:
        resource.setrlimit(resource.RLIMIT_NOFILE, (need, max(need, hard)))
    socks = []

    def add(n):
        for _ in range(n):
            sock = connect(port, tls=tls)
            socks.append(sock)
            if say:
                text = say.encode() + b"\0"
                sock.sendall(b"Q" + struct.pack("!i", len(text) + 4) + text)
                hear(sock)

    try:
        add(WARM_UP)
        before = proc.memory(pid)
        add(count)
        after = proc.memory(pid)
    finally:
        for s in socks:
            s.close()
    return tuple((a - b) / count for a, b in zip(after, before))


def main():
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("--tls", action="store_true")
    ap.add_argument("--say", metavar="SQL")
    ap.add_argument("port", type=int)
    ap.add_argument("pid", type=int)
    ap.add_argument("count", type=int)
    a = ap.parse_args()
    rss, anon = measure(a.port, a.pid, a.count,
                        tls_context() if a.tls else None, a.say)
    print(f"{a.count} idle clients: resident {rss:.0f} B, "
          f"anonymous {anon:.0f} B per client")


if __name__ == "__main__":
    main()
