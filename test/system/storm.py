# storm.py - many clients that connect at once; a process of its own.
# SPDX-License-Identifier: ISC
"""storm.py PORT COUNT CA USER PASSWORD DATABASE

All clients take each step before any of them takes the next one. SCRAM over TLS
1.3. Says when it is about to send all ClientHellos, when it has sent them, and
how long the rest took; waits for a line of input after each.
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

    def await_tls(self):
        assert self.conn.recv_bytes(1) == b"S"

    def say_hello(self):
        c = self.conn
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


def run(logins, step):
    for login in logins:
        step(login)


def say(what):
    print(what, flush=True)
    assert sys.stdin.readline()


def main():
    port, count, ca, user, password, database = sys.argv[1:]
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    os.nice(10)        # who measures shall not wait for us
    context = ssl.create_default_context(cafile=ca)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    logins = [Login(int(port), context) for _ in range(int(count))]
    run(logins, Login.await_tls)
    say("ready")
    run(logins, Login.say_hello)
    say("sent")
    begun = time.monotonic()
    for step in (lambda l: l.start(user, database),
                 lambda l: l.answer(user, password),
                 lambda l: l.answer(user, password),
                 lambda l: l.conn.finish_login(user, password)):
        run(logins, step)
    say(time.monotonic() - begun)
    run(logins, lambda l: l.conn.query("select 1"))


if __name__ == "__main__":
    main()
