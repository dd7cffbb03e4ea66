# tlspipe.py - a TLS client that sees, splits and spoils its own records.
# SPDX-License-Identifier: ISC
import select
import ssl
import struct


class TlsPipe:
    """Looks like the socket of a pq.Conn; OpenSSL works in memory."""

    def __init__(self, sock, context, split=None, host="localhost"):
        self.sock, self.split = sock, split
        self.records = []  # (type, length) of what came
        self._head = b""
        self.into, self.out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self.into, self.out,
                                    server_hostname=host)
        self._do(self.tls.do_handshake)

    def _flush(self):
        data = self.out.read()
        n = self.split or len(data) or 1
        for i in range(0, len(data), n):
            self.sock.sendall(data[i:i + n])

    def _note(self, data):
        """Follow the record headers (RFC 8446 section 5.1)."""
        self._head += data
        while len(self._head) >= 5:
            kind, _, size = struct.unpack_from("!BHH", self._head)
            if len(self._head) < 5 + size:
                return
            self.records.append((kind, size))
            self._head = self._head[5 + size:]

    def _fill(self):
        data = self.sock.recv(65536)
        if data:
            self._note(data)
            self.into.write(data)
        else:
            self.into.write_eof()

    def _do(self, fn, *args):
        while True:
            try:
                out = fn(*args)
                self._flush()
                return out
            except ssl.SSLWantReadError:
                self._flush()
                self._fill()

    def recv(self, n):
        try:
            return self._do(self.tls.read, min(n, 65536))
        except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
            return b""

    def sendall(self, data):
        view = memoryview(data)
        while view:
            view = view[self._do(self.tls.write, view):]

    def send_while_reading(self, data, done):
        """Send as the socket takes it, read what comes, until done(bytes)."""
        got, out = bytearray(), b""
        self.tls.write(data)
        while not done(got):
            out = out or self.out.read()
            wants = select.select([self.sock], [self.sock] if out else [],
                                  [], self.sock.gettimeout())
            assert wants[0] or wants[1], "both directions stand still"
            if wants[1]:
                out = out[self.sock.send(out):]
            if wants[0]:
                self._fill()
            try:
                while True:
                    got += self.tls.read(65536)
            except ssl.SSLWantReadError:
                pass
        return bytes(got)

    def pending(self):
        return self.tls.pending()

    def settimeout(self, t):
        self.sock.settimeout(t)

    def fileno(self):
        return self.sock.fileno()

    def close(self):
        self.sock.close()
