# test_memory.py - memory_limit: who waits, who goes, and who is served on.
# SPDX-License-Identifier: ISC
import struct

import pytest

import pq
from harness import ASAN, REFERENCE, wait_until

pytestmark = [pytest.mark.skipif(REFERENCE, reason="newer than that"),
              pytest.mark.setting("memory_limit")]
MB = 1 << 20


def half(c, size):
    """The first half of a Parse with a name."""
    c.send(b"P" + struct.pack("!I", size) + b"s\0select /*")
    try:
        c.sock.settimeout(0.2)
        c.sock.sendall(b"x" * (size // 2))
    except OSError:
        pass                    # it is not read, or was closed
    return c


def used(p):
    return sum(int(r["memtotal"]) for r in p.admin("show mem"))


def codes(conns):
    """SQLSTATEs of those that were closed."""
    found = []
    for c in conns:
        if c.readable():
            c.sock.settimeout(5)
            found += [(e.code, e.fields.get("H", "")) for e in
                      c.recv_all().errors]
    return found


@pytest.mark.parametrize("workers", [1, 4])
def test_half_sent_messages_stay_within_the_limit(pooler, workers):
    """the largest goes, others are served, and so is the console"""
    p = pooler(memory_limit="64MB", workers=workers)
    good = p.raw()
    conns = [half(p.raw(), 16 * MB) for _ in range(12)]
    seen = []
    for _ in range(20):
        assert good.value("select 1") == "1"
        seen.append(used(p))
    assert max(seen) < 64 * MB
    wait_until(lambda: any(c.readable() for c in conns))
    for code, hint in codes(conns):
        assert code == "53200" and "memory_limit" in hint
    assert good.value("select 1") == "1"
    for c in conns:
        c.close(polite=False)
    wait_until(lambda: used(p) < 32 * MB)
    wait_until(lambda: not [r for r in p.admin("show health")
                            if r["reason"] == "memory is short"])
    assert p.raw().value("select 1") == "1"


@pytest.mark.parametrize("workers", [1, 4])
def test_client_with_most_statements_goes_first(pooler, workers):
    """what is held in small pieces counts, too; of all workers' clients"""
    p = pooler(memory_limit="48MB", max_prepared_statement_memory=0,
               workers=workers)
    good, modest, greedy = p.raw(), p.raw(), p.raw()

    def prepare(c, first, n):
        c.send(b"".join(pq.parse("select %d /*%s*/" % (i, "x" * 20000),
                                 "s%d" % i) for i in range(first, first + n))
               + pq.sync())
        return c.recv_until()
    assert not prepare(modest, 0, 50).errors
    for i in range(1, 100):
        try:
            r = prepare(greedy, 1000 * i, 50)
        except (OSError, pq.Closed):
            break
        if r.errors:
            assert r.errors[0].code == "53200"
            break
    p.wait_log("closing because: memory limit reached")
    assert "memory is short (" in p.log
    for c in (good, modest):
        assert c.value("select 1") == "1"
    assert p.log.count("closing because: memory limit reached") == 1
    wait_until(lambda: used(p) < 8 * MB)


@pytest.mark.skipif(ASAN, reason="what is resident is not known")
def test_new_clients_are_refused_while_memory_is_short(pooler):
    """pooling.md 29: no client holds it, so none has to go"""
    p = pooler({"p0": "", **{"d%d" % n: "host=127.0.0.1 port=1"
                             for n in range(30000)}})
    assert p.rss() > 20 * MB
    inside = p.raw()
    p.admin("set memory_limit = '16MB'")

    def refusal():
        with p.open() as c:
            c.login("app", database="p0", wait=False)
            return [(e.code, "memory_limit" in e.fields.get("H", ""))
                    for e in c.recv_until("EZ").errors]
    wait_until(lambda: refusal() == [("53200", True)])
    assert inside.value("select 1") == "1"
    p.admin("set memory_limit = 0")
    assert p.raw().value("select 1") == "1"


@pytest.mark.skipif(ASAN, reason="its allocator keeps what was freed")
@pytest.mark.parametrize("workers", [1, 4])
def test_what_strangers_held_is_given_back(pooler, workers):
    """pooling.md 29: to the system, where no limit is set, too"""
    p = pooler(auth_type="plain", workers=workers)
    head = b"p" + struct.pack("!I", 65535) + b"x" * 65000
    p.raw("app", "p0", "apppw").query("select 1")
    before, strangers = p.rss(), []
    for _ in range(600):
        strangers.append(p.open().login("app", database="p0", wait=False))
    for c in strangers:
        assert c.recv()[0] == "R"
        c.send(head)
    wait_until(lambda: p.rss() - before > 32 * MB)
    for c in strangers:
        c.abort()
    wait_until(lambda: p.rss() - before < 16 * MB)


@pytest.mark.parametrize("value", ["0", "auto", "1GB"])
def test_limit_is_told_and_can_be_changed(pooler, value):
    p = pooler(memory_limit=value)
    assert ("LOG memory limit: " in p.log) == (value != "0")
    assert value != "1GB" or "LOG memory limit: 1024 MB" in p.log
    p.admin("set memory_limit = '32MB'")
    p.wait_log("LOG memory limit: 32 MB")
    with p.console() as k:
        for value, why in (("much", "must be a whole number"),
                           ("1MB", "must be 0 or at least 16 MB")):
            assert k.try_query("set memory_limit = '%s'" % value).errors
            p.wait_log("SET memory_limit: memory_limit " + why)
