# fakedns.py - a scripted name server on loopback.
# SPDX-License-Identifier: ISC
"""Knows the names it is told; of all others it says that there are none."""
import socket
import struct
import threading

from harness import TIMEOUT, wait_until

A, SOA, PTR, AAAA = 1, 6, 12, 28
NXDOMAIN, SERVFAIL = 3, 2


def wire_name(text):
    return b"".join(bytes([len(p)]) + p.encode()
                    for p in text.split(".")) + b"\0"


def with_dns(pooler, dns, conn, **kw):
    """A pooler that asks dns for the names of its one database."""
    p = pooler({"p0": conn}, start=False, **kw)
    p.settings["resolv_conf"] = p.put("resolv.conf", dns.resolv_conf())
    return p.start()


class FakeDns:
    def __init__(self):
        self.hosts = {}         # name: [addresses]; None: no answer at all
        self.names = {}         # in-addr.arpa: its name; None: no answer
        self.serials = {}       # zone: serial
        self.broken = set()     # names for which it says SERVFAIL
        self.ttl = 60
        self.patient = False
        self.asked = []         # (name, type), in order, each question once
        self.heard = set()      # their ids and texts: who waits repeats them
        self.sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.sock.bind(("127.0.0.1", 0))
        self.port = self.sock.getsockname()[1]
        self.closing = False
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def resolv_conf(self):
        """With few and quick attempts, unless they shall be patient."""
        return "nameserver 127.0.0.1:%d\n%s" % (
            self.port, "" if self.patient else
            "options retrans:300 retry:2 timeout:1 attempts:2\n")

    def questions(self, name, kind=A):
        return self.asked.count((name, kind))

    def wait_for(self, name, kind=A):
        wait_until(lambda: self.questions(name, kind), what="a question")

    def catch_up(self):
        """It has heard all that was sent to it before this call."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.settimeout(TIMEOUT)
            s.sendto(bytes(12) + wire_name("mark") + struct.pack("!HH", A, 1),
                     self.sock.getsockname())
            s.recv(512)

    def _serve(self):
        while not self.closing:
            try:
                data, peer = self.sock.recvfrom(4096)
            except OSError:
                return
            out = self._answer(data) if len(data) > 16 else None
            if out and not self.closing:
                self.sock.sendto(out, peer)

    def _records(self, name, kind):
        """The answers' data; None: there is no such name."""
        if kind == SOA:
            if name not in self.serials:
                return None
            return [wire_name("ns." + name) + wire_name("root." + name)
                    + struct.pack("!IIIII", self.serials[name], 60, 60, 60,
                                  60)]
        if kind == PTR:
            return [wire_name(self.names[name])] if name in self.names \
                else None
        if name not in self.hosts:
            return None
        family = socket.AF_INET6 if kind == AAAA else socket.AF_INET
        return [socket.inet_pton(family, a) for a in self.hosts[name]
                if (":" in a) == (kind == AAAA)]

    def _answer(self, data):
        labels, at = [], 12
        while data[at]:
            labels.append(data[at + 1:at + 1 + data[at]].decode())
            at += data[at] + 1
        name = ".".join(labels).lower()
        kind = struct.unpack("!H", data[at + 1:at + 3])[0]
        question = data[12:at + 5]
        if data[:2] + question not in self.heard:
            self.heard.add(data[:2] + question)
            self.asked.append((name, kind))
        if self.hosts.get(name, self.names.get(name, "")) is None:
            return None
        found = self._records(name, kind)
        code = SERVFAIL if name in self.broken else \
            NXDOMAIN if found is None else 0
        found = [] if code else found
        head = data[:2] + struct.pack("!HHHHH", 0x8180 | code, 1,
                                      len(found), 0, 0)
        return head + question + b"".join(
            b"\xc0\x0c" + struct.pack("!HHIH", kind, 1, self.ttl, len(d)) + d
            for d in found)

    def close(self):
        self.closing = True
        # wakes the thread
        self.sock.sendto(b"", self.sock.getsockname())
        self.thread.join(5)
        self.sock.close()
