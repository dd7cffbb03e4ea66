# book.py - the manual's commands and configurations, run as they stand there.
# SPDX-License-Identifier: ISC
"""What a fence of doc/book says behind its language:

```ini pgsluice.ini    a file of this name (any language)
```ini                 lines that the reader adds to pgsluice.ini: checked
```ini instead         a choice: checked with the file, and forgotten again
```sh                  commands, which must all succeed
```sh postgres         the same, by who has PostgreSQL
```console             "$ command" and what it prints; ... stands for anything
```text                nothing to run; go, js, php: the same

A chapter is read from its beginning, in a folder of its own. Ports and the
PostgreSQL are those of the test.
"""
import collections
import os
import re
import shutil
import signal
import subprocess
import sys

import harness

FOLDER = os.path.join(harness.ROOT, "doc", "book")
FENCE = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.M | re.S)
PASSWORDS = "*:*:*:alice:secret\n*:*:*:bob:secret\n*:*:*:app:secret\n"
OURS = (6432, 6433, 9127, 9090)     # ports that the book speaks of

Block = collections.namedtuple("Block", "kind word text line")


def blocks(path):
    with open(path, encoding="utf-8") as f:
        text = f.read()
    return [Block(m[1], m[2], m[3], text.count("\n", 0, m.start()) + 1)
            for m in FENCE.finditer(text)]


def matches(want, got):
    """line by line, ... for anything: in a line, or any number of them"""
    rx = "".join(re.escape(w) if w != "..." else ".*"
                 for w in re.split(r"(\.\.\.)", want.strip()))
    return re.fullmatch(rx, got.strip(), re.S) is not None


class Reader:
    """Somebody who does what a chapter says."""

    def __init__(self, pg):
        self.dir = harness.make_tmp()
        self.ports = {n: harness.free_port() for n in OURS}
        self.ports[5432] = pg.port
        programs = os.path.join(self.dir, ".bin")
        os.mkdir(programs)
        for name in ("pgsluice", "pgsluicectl"):
            os.symlink(os.path.join(os.path.dirname(harness.binary()), name),
                       os.path.join(programs, name))
        self.env = {
            **harness.process_env(), "HOME": self.dir, "LC_ALL": "C.UTF-8",
            "PATH": ":".join((programs, os.path.dirname(harness.pg_bin(
                "postgres")), "/usr/local/bin:/usr/bin:/bin:/usr/sbin")),
            "PGPASSFILE": self.put(".pgpass", PASSWORDS, 0o600),
            "PSQLRC": "/dev/null", "PAGER": "cat",
            "BOOK": harness.ROOT}
        for name in ("PGHOST", "PGPORT", "PGUSER", "PGDATABASE"):
            self.env.pop(name, None)
        harness.give(self.dir)

    def put(self, name, text, mode=0o644):
        path = os.path.join(self.dir, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(path, mode)
        return harness.give(path)

    def here(self, text):
        """with the ports of this test"""
        return re.sub(r"\b\d{4}\b", lambda m: str(self.ports.get(
            int(m[0]), m[0])), text)

    def there(self, text):
        """with those of the book again"""
        for old, new in self.ports.items():
            text = text.replace(str(new), str(old))
        return text.replace(self.dir, "...")

    def shell(self, text, **env):
        done = subprocess.run(
            ["bash", "-c", "set -e\n" + self.here(text)], cwd=self.dir,
            env={**self.env, **env}, text=True, stdout=subprocess.PIPE,
            stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT, timeout=120,
            **harness.as_user())
        return done.returncode, self.there(done.stdout)

    # --- the kinds ---

    def do(self, block):
        if block.word and "." in block.word:
            self.put(block.word, self.here(block.text), 0o600)
        else:
            getattr(self, block.kind)(block)

    def text(self, block):
        pass

    go = js = php = text

    def sh(self, block):
        env = {"PGUSER": "postgres"} if block.word == "postgres" else {}
        code, out = self.shell(block.text, **env)
        assert code == 0, out + self.log()

    def console(self, block):
        for part in re.split(r"^\$ ", block.text, flags=re.M)[1:]:
            command, _, want = part.partition("\n")
            _, out = self.shell(command)
            assert matches(want, out), \
                "%s\n%s\nbut not\n%s%s" % (command, out, want, self.log())

    def ini(self, block):
        path = os.path.join(self.dir, "pgsluice.ini")
        text = block.text
        if "[pgbouncer]" not in text:
            with open(path, encoding="utf-8") as f:
                text = f.read() + "\n" + self.here(text)
        name = "choice.ini" if block.word == "instead" else "pgsluice.ini"
        self.put(name, self.here(text))
        code, out = self.shell("pgsluice --check " + name)
        assert code == 0, out

    # --- the end ---

    def log(self):
        """What the reader would look at next."""
        path = os.path.join(self.dir, "pgsluice.log")
        if not os.path.exists(path):
            return ""
        with open(path, errors="replace") as f:
            return "\n--- the log\n" + "".join(f.readlines()[-30:])

    def processes(self):
        """those that were started in here, and are there still"""
        mark = ("HOME=%s\0" % self.dir).encode()
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                if mark in harness.read("/proc/%s/environ" % pid) and \
                        not harness.has_ended(int(pid)):
                    yield int(pid)
            except OSError:
                pass

    def leave(self):
        for pid in list(self.processes()):
            try:
                os.kill(pid, signal.SIGQUIT)
            except ProcessLookupError:
                pass
        harness.wait_until(lambda: not list(self.processes()),
                           what="what the chapter started to end")
        log = self.log()
        shutil.rmtree(self.dir, ignore_errors=True)
        assert "Sanitizer" not in log and "runtime error" not in log, log
