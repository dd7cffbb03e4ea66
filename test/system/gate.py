# gate.py - a way to the server that counts how many connections are open at once.
# SPDX-License-Identifier: ISC
import selectors
import socket
import struct
import threading
from collections import Counter

from pq import CANCEL_REQUEST, SSL_REQUEST

ESTABLISHED = 1


def is_open(sock):
    """Has the other side not closed it yet? What is unread does not matter."""
    try:
        info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)
    except OSError:
        return False
    return info[0] == ESTABLISHED


class Gate(threading.Thread):
    """Processes of PostgreSQL may end long after their connections. Here it is
    what the kernel has when one more says whose it is: a connection that is
    counted then had been opened before, and was not closed by then."""

    def __init__(self, to):
        super().__init__()
        self.to = to
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=1000)
        self.port = self.listener.getsockname()[1]
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.listener, selectors.EVENT_READ)
        self.peer, self.of = {}, {}
        self.most, self.over, self.failure = Counter(), False, None
        self.start()

    def now(self):
        """Open ones, by database and by user."""
        n = Counter()
        for sock, (database, user) in list(self.of.items()):
            if is_open(sock):
                n["database", database] += 1
                n["user", user] += 1
        return n

    def end(self):
        self.over = True
        self.join()
        for sock in [self.listener, *self.peer]:
            sock.close()
        self.selector.close()
        assert self.failure is None, self.failure

    # --- the thread ---

    def run(self):
        try:
            while not self.over:
                for key, _ in self.selector.select(0.05):
                    self.step(key.fileobj)
        except Exception as e:
            self.failure = repr(e)

    def step(self, sock):
        if sock is self.listener:
            self.accept()
        elif sock in self.peer:
            try:
                data = sock.recv(65536)
                if data and sock not in self.of:
                    self.note(sock, data)
                self.peer[sock].sendall(data)
            except OSError:
                data = b""
            if not data:
                self.close(sock)

    def accept(self):
        near, _ = self.listener.accept()
        far = socket.create_connection(("127.0.0.1", self.to))
        for a, b in (near, far), (far, near):
            a.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.peer[a] = b
            self.selector.register(a, selectors.EVENT_READ)
        self.of[far] = (None, None)

    def note(self, sock, data):
        """What it is for: a cancel request counts for nothing."""
        code = struct.unpack_from("!i", data, 4)[0]
        if code == SSL_REQUEST:
            return
        self.of[sock] = None, None
        if code != CANCEL_REQUEST:
            words = data[8:].decode().split("\0")
            said = dict(zip(words[::2], words[1::2]))
            self.of[sock] = said["database"], said["user"]
        self.most |= self.now()

    def close(self, sock):
        for s in (sock, self.peer[sock]):
            self.selector.unregister(s)
            del self.peer[s]
            self.of.pop(s, None)
            s.close()
