# storm.py - many clients that connect at once; a process of its own.
# SPDX-License-Identifier: ISC
"""storm.py PORT COUNT CA USER PASSWORD DATABASE

All clients take each step before any of them takes the next one: so the pooler
has as many handshakes to do at once as there are clients. SCRAM over TLS 1.3.
Prints how long it took, and waits for the end of its input.
"""
import os
import resource
import socket
import ssl
import sys
import time

import pq


class Login:
    def __init__(self, port, context):
        self.conn = pq.Conn(port=port, timeout=300)
        self.conn.send(pq.untyped(pq.SSL_REQUEST))
        self.context = context

    def say_hello(self):
        c = self.conn
        assert c.recv_bytes(1) == b"S"
        c.sock.setblocking(False)
        c.sock = self.context.wrap_socket(
            c.sock, server_hostname="localhost",
            do_handshake_on_connect=False)
        try:
            c.sock.do_handshake()
        except ssl.SSLWantReadError:
            pass
        c.sock.settimeout(300)

    def start(self, user, database):
        self.conn.sock.do_handshake()
        self.conn.login(user, None, database, wait=False)

    def answer(self, user, password):
        kind, body = self.conn.recv()
        if kind == "E":
            raise pq.PgError(pq.fields(body))
        self.conn._auth(user, password, body)


def main():
    port, count, ca, user, password, database = sys.argv[1:]
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    os.nice(10)        # who measures shall not wait for us
    context = ssl.create_default_context(cafile=ca)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    begun = time.monotonic()
    logins = [Login(int(port), context) for _ in range(int(count))]
    for step in (Login.say_hello,
                 lambda l: l.start(user, database),
                 lambda l: l.answer(user, password),
                 lambda l: l.answer(user, password),
                 lambda l: l.conn.finish_login(user, password)):
        for login in logins:
            step(login)
    print(time.monotonic() - begun, flush=True)
    sys.stdin.read()
    for login in logins:
        assert login.conn.value("select 1") == "1"


if __name__ == "__main__":
    main()
