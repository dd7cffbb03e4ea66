# test_hba_oracle.py - rule files made at random: who gets in is who gets in
# at PostgreSQL.
# SPDX-License-Identifier: ISC
"""HBA_FILES=1000 HBA_SEED=7 tries more of them; PGBIN says at which release."""
import os
import random
import re
import struct

import pytest

import pq
from harness import Postgres, REFERENCE, server_major, wait_until
from test_hba import NONE

pytestmark = pytest.mark.skipif(REFERENCE, reason="newer than that")

FILES = int(os.environ.get("HBA_FILES", "16"))
SEED = int(os.environ.get("HBA_SEED", "1"))
SOURCES = [None, "127.0.0.1", "127.0.0.2", "127.9.0.1", "::1"]
NAMES = ["ann", "bob", "d1", "d22", "all", "sameuser", "replication", "+crew",
         "Ann Lee", "a,b", "include", "x#y", "@who"]
PROBES = 16


class Maker:
    """Rule files of the kind that people write, and of others."""

    def __init__(self, rng, major):
        self.rng, self.major = rng, major

    def quote(self, word, often=0.2):
        if re.search(r'[ ,#"]', word) or self.rng.random() < often:
            return '"%s"' % word.replace('"', '""')
        if self.rng.random() < 0.03 and len(word) > 1:
            return word[0] + '"' + word[1:] + '"'
        return word

    def regex(self):
        return self.rng.choice([
            "/^d", "/^d[0-9]+$", r"/\d\d", "/n", '"/^(a,b|bob)$"', "/^.{3}$",
            "/^(ann|bob)$", "/[^a-d]$", r"/^\w+$", r'"/^Ann\sL"',
            "/^[[:alpha:]]+$"])

    def name(self, words):
        if self.major >= 16 and self.rng.random() < 0.15:
            return self.regex()
        if self.rng.random() < 0.06:
            return "@who"
        return self.quote(self.rng.choice(words))

    def names(self, column):
        words = NAMES + ["all"] * 8
        if column == "database":
            words = words + ["sameuser", "replication"] * 3
        else:
            words = [w for w in words if w != "+crew"]
        count = self.rng.choice([1, 1, 1, 2, 3])
        return self.rng.choice([",", ", "]).join(
            self.name(words) for _ in range(count))

    def address(self):
        rng = self.rng
        kind = rng.randrange(8)
        if kind < 2:
            return self.quote(rng.choice(["all", "samehost", "samenet"]), 0)
        if kind < 4:
            return "127.%d.0.%d/%d" % (
                rng.choice([0, 0, 9]), rng.choice([0, 1, 2]),
                rng.choice([0, 8, 16, 24, 30, 31, 32]))
        if kind == 4:
            return "%s/%d" % (rng.choice(["::1", "::", "::2", "fe80::1"]),
                              rng.choice([0, 64, 126, 127, 128]))
        if kind == 5:
            return "127.0.0.%d %s" % (rng.choice([1, 2]), rng.choice(
                ["255.255.255.255", "255.0.0.0", "255.0.0.255", "0.0.0.0"]))
        if kind == 6:
            return "::1 " + rng.choice(["ffff::", "::", "::ffff"])
        return rng.choice(["0.0.0.0/0", "::/0", "all", "10.0.0.0/8"])

    def rule(self):
        rng = self.rng
        kind = rng.choice(["local", "local", "host", "host", "host", "hostssl",
                           "hostnossl", "hostnogssenc"])
        words = [self.quote(kind, 0.1), self.names("database"),
                 self.names("user")]
        if kind != "local":
            words.append(self.address())
        words.append(self.quote(rng.choice(
            ["trust", "trust", "reject"]), 0.1))
        return words

    def spoil(self, words):
        """A mistake of the kind that people make."""
        rng = self.rng
        at = rng.randrange(len(words))
        how = rng.randrange(5)
        if how == 0:
            del words[at]
        elif how == 1:
            words[at] = words[at] + rng.choice(["x", ",", "/33", "\v"])
        elif how == 2:
            words.insert(at, rng.choice(["all", "trust", "hostt", "@none"]))
        elif how == 3:
            words[at] = words[at].upper()
        else:
            words.append(rng.choice(["x=y", "trust", "map=m"]))
        return words

    def line(self, errors=True):
        rng = self.rng
        kind = rng.random()
        if kind < 0.05:
            return rng.choice(["", "  \t", "# all all", "# goes on \\"])
        if kind < 0.09 and self.major >= 16:
            return rng.choice(["include more", "include_if_exists none",
                               '"include" "more"', "include_dir more.d"])
        words = self.rule()
        if errors and rng.random() < 0.03:
            words = self.spoil(words)
        out = words[0]
        for w in words[1:]:
            out += rng.choice([" ", " ", "\t", "  ", " \\\n ", "\\\n\t"]) + w
        return out + rng.choice(["", "", " ", " # rest", "#rest", "\r",
                                 " \\\n"])

    def files(self):
        """name: text"""
        plain = [Maker(self.rng, 15).line(False) for _ in range(2)]
        return {
            "hba.conf": "".join(self.line() + "\n" for _ in range(
                self.rng.randrange(2, 9))),
            "more": plain[0] + "\n", "more.d/b.conf": plain[1] + "\n",
            "more.d/.a.conf": "no rule\n", "more.d/b.txt": "no rule\n",
            "who": self.rng.choice(["bob\n", "ann,\n\nd1 d22\n",
                                    '"@who"\\\n"Ann Lee"  # two\n', "all\n"]),
        }


def first_word(conn, user, database, replication):
    """What the first message of a login says: may he come in?"""
    params = {"user": user, "database": database}
    if replication:
        params["replication"] = "yes"
    conn.send(pq.startup(params))
    kind, body = conn.recv()
    conn.abort()
    if kind == "R":
        assert struct.unpack("!I", body[:4])[0] == 0, body
        return None
    assert kind == "E", kind
    return pq.fields(body)["M"]


def put(folder, files):
    os.makedirs(os.path.join(folder, "more.d"), mode=0o755, exist_ok=True)
    for name, text in files.items():
        path = os.path.join(folder, name)
        with open(path + "~", "w") as f:
            f.write(text)
        os.chmod(path + "~", 0o644)
        os.rename(path + "~", path)


class Oracle:
    """PostgreSQL with these rules."""

    def __init__(self):
        self.pg = Postgres(listen_addresses="'127.0.0.1,::1'")
        self.path = os.path.join(self.pg.dir, ".s.PGSQL.%d" % self.pg.port)
        self.pg.sql("select 1")		# is let in, and stays

    def load(self, files):
        """False: PostgreSQL takes the file for invalid."""
        put(self.pg.data, dict(files, **{"pg_hba.conf": files["hba.conf"]}))
        if self.pg.sql("select error from pg_hba_file_rules where error is "
                       "not null and error not like '%cannot match%'"):
            return False
        mark = re.search("mark[0-9]+", files["hba.conf"]).group()
        self.pg.sql("select pg_reload_conf()")
        wait_until(lambda: self.admits(None, ("sync", mark, False)),
                   what="the rules to be in force")
        return True

    def admits(self, source, who):
        said = first_word(open_from(source, self.path, self.pg.port), *who)
        assert said is None or "pg_hba.conf" in said, said
        return said is None


class Ours:
    def __init__(self, pooler):
        self.p = pooler(start=False, auth_type="hba",
                        listen_addr="127.0.0.1, ::1")
        self.path = self.p.put("hba.conf", "local pgbouncer admin trust\n")
        self.p.settings["auth_hba_file"] = self.path
        self.p.start()
        self.socket = os.path.join(self.p.dir, ".s.PGSQL.%d" % self.p.port)
        self.console = pq.Conn(path=self.socket).login(
            "admin", database="pgbouncer")

    def load(self, files):
        put(self.p.dir, files)
        return not self.console.try_query("reload").errors

    def admits(self, source, who):
        said = first_word(open_from(source, self.socket, self.p.port), *who)
        return said not in (NONE, "login rejected")


def open_from(source, path, port):
    if source is None:
        return pq.Conn(path=path)
    if source == "::1":
        return pq.Conn(host=source, port=port)
    return pq.Conn(port=port, source=source)


def logins(rng):
    for _ in range(PROBES):
        yield rng.choice(SOURCES), (rng.choice(NAMES), rng.choice(NAMES),
                                    rng.random() < 0.1)


@pytest.fixture
def oracle():
    made = Oracle()
    yield made
    made.pg.stop()


@pytest.mark.setting("auth_hba_file")
def test_who_gets_in_gets_in_at_postgresql(pooler, oracle):
    """authentication.md 4: and what it refuses as a file is refused"""
    rng = random.Random(SEED)
    ours = Ours(pooler)
    valid = tried = admitted = 0
    for i in range(FILES):
        files = Maker(rng, server_major()).files()
        files["hba.conf"] = "local mark%d sync trust\n" % i + files["hba.conf"]
        theirs, here = oracle.load(files), ours.load(files)
        # PostgreSQL overlooks some mistakes: a comma behind the last word
        assert theirs or not here, (i, files)
        valid += here
        for source, who in logins(rng) if here else ():
            want = oracle.admits(source, who)
            assert ours.admits(source, who) == want, (
                i, source, who, want, files)
            tried += 1
            admitted += want
    print("%d files, %d valid; %d logins, %d admitted" % (
        FILES, valid, tried, admitted))
    assert valid > FILES / 2
    assert tried / 30 < admitted < tried * 9 / 10
