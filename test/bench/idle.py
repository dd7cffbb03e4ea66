#!/usr/bin/env python3
"""Opens N idle, logged-in clients and prints the pooler's memory per client.

  idle.py [--tls] PORT PID N

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


def measure(port, pid, count, tls=None):
    """(resident, anonymous) bytes per idle client."""
    need = count + WARM_UP + 100
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < need:
        resource.setrlimit(resource.RLIMIT_NOFILE, (need, max(need, hard)))
    socks = []
    try:
        for _ in range(WARM_UP):
            socks.append(connect(port, tls=tls))
        before = proc.memory(pid)
        for _ in range(count):
            socks.append(connect(port, tls=tls))
        after = proc.memory(pid)
    finally:
        for s in socks:
            s.close()
    return tuple((a - b) / count for a, b in zip(after, before))


def main():
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("--tls", action="store_true")
    ap.add_argument("port", type=int)
    ap.add_argument("pid", type=int)
    ap.add_argument("count", type=int)
    a = ap.parse_args()
    rss, anon = measure(a.port, a.pid, a.count,
                        tls_context() if a.tls else None)
    print(f"{a.count} idle clients: resident {rss:.0f} B, "
          f"anonymous {anon:.0f} B per client")


if __name__ == "__main__":
    main()
