# screen.py - a program on a terminal, and what it shows there.
# SPDX-License-Identifier: ISC
import fcntl
import os
import pty
import select
import struct
import termios
import time

import pyte

import harness


class Screen:
    """Runs args on a terminal of its own; pyte reads it as a terminal does."""

    def __init__(self, args, rows=24, columns=80, **env):
        self.ours, theirs = pty.openpty()
        self.theirs = theirs    # kept, so that its settings can be looked at
        self.screen = pyte.Screen(columns, rows)
        self.stream = pyte.ByteStream(self.screen)
        self.raw = b""
        self.resize(rows, columns)
        self.before = termios.tcgetattr(theirs)
        self.pid = os.fork()
        if self.pid == 0:
            self._become(theirs, args, env)

    def _become(self, tty, args, env):
        try:
            os.setsid()
            fcntl.ioctl(tty, termios.TIOCSCTTY, 0)
            for fd in (0, 1, 2):
                os.dup2(tty, fd)
            if harness.USER is not None:
                os.setgroups([])
                os.setgid(harness.USER.pw_gid)
                os.setuid(harness.USER.pw_uid)
            os.execve(args[0], args, {**harness.process_env(),
                                      "TERM": "xterm-256color", **env})
        finally:
            os._exit(127)

    def resize(self, rows, columns):
        self.screen.resize(rows, columns)
        fcntl.ioctl(self.ours, termios.TIOCSWINSZ,
                    struct.pack("HHHH", rows, columns, 0, 0))

    def press(self, keys):
        os.write(self.ours, keys)

    def pump(self, timeout):
        """Show what has come; False: nothing did."""
        if not select.select([self.ours], [], [], timeout)[0]:
            return False
        data = os.read(self.ours, 65536)
        self.raw += data
        self.stream.feed(data)
        return True

    @property
    def text(self):
        return "\n".join(line.rstrip() for line in self.screen.display)

    def wait(self, cond, what=""):
        """Until the screen is as cond wants it, or has that text."""
        ok = cond if callable(cond) else lambda text: cond in text
        end = time.monotonic() + harness.TIMEOUT
        while not ok(self.text):
            self.pump(0.1)
            assert time.monotonic() < end, "not %s on:\n%s" % (
                what or cond, self.text)
        return self.text

    def end(self):
        """Wait for the end: the exit code, or minus the signal."""
        end = time.monotonic() + harness.TIMEOUT
        while True:
            while self.pump(0):
                pass
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid != 0:
                self.pid = None
                while self.pump(0):
                    pass
                return os.waitstatus_to_exitcode(status)
            assert time.monotonic() < end, self.text
            self.pump(0.05)

    def is_sane(self):
        """As it was before: settings, cursor, the screen of before."""
        return termios.tcgetattr(self.theirs) == self.before and \
            self.raw.rfind(b"\x1b[?1049l") > self.raw.rfind(b"\x1b[?1049h")

    def close(self):
        if self.pid is not None:
            os.kill(self.pid, 9)
            os.waitpid(self.pid, 0)
        os.close(self.theirs)
        os.close(self.ours)
