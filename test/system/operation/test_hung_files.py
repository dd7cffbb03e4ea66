# test_hung_files.py - files on a disk that does not answer any more.
# SPDX-License-Identifier: ISC
import os

import pytest

import harness
from harness import REFERENCE, wait_until

pytestmark = pytest.mark.skipif(REFERENCE, reason="never comes back")

STILL = "reload still reading %s"
BACK = "%s has been read after all"


class Disk:
    """Of p: it answers, or not."""

    def __init__(self, p):
        self.p = p

    def hang(self, path):
        self.p.put(os.path.basename(path) + ".hang", "")

    def answer(self, path, readers=1):
        os.unlink(path + ".hang")
        wait_until(lambda: self.p.log.count(BACK % path) == readers,
                   what="the threads to come back")


@pytest.fixture
def disk(pooler, slow_disk):
    def make(**settings):
        settings.setdefault("reload_file_timeout", 1)
        p = pooler(start=False, **settings)
        p.env.update(LD_PRELOAD=slow_disk)
        p.start()
        return p, Disk(p)
    return make


def try_reload(p):
    with p.console() as k:
        r = k.try_query("reload")
        return r.errors[0].fields["D"] if r.errors else r.tags


def use(p, key, certs):
    """Configure a file of that kind; its path."""
    if key == "conffile":
        return p.ini
    if key == "persist":
        p.admin("set persist query_timeout = 70")
        return p.ini + ".persist.ini"
    if key == "client_tls_key_file":
        p.settings.update(certs.accept("allow"))
        path = p.settings[key] = p.put("key", open(p.settings[key]).read())
        os.chmod(path, 0o600)
        return path
    if key == "auth_hba_file":
        p.settings.update(auth_type="hba")
    path = p.settings[key] = p.put(key, {
        "auth_hba_file": "local all all trust\nhost all all all trust\n",
        "auth_file": '"admin" ""\n"app" ""\n'}[key])
    return path


@pytest.mark.setting("reload_file_timeout")
@pytest.mark.parametrize("key", ["conffile", "auth_file", "auth_hba_file",
                                 "persist", "client_tls_key_file"])
def test_reload_is_given_up(disk, certs, key):
    """config-files.md 13: said with the file; the next one is as any"""
    p, d = disk()
    path = use(p, key, certs)
    p.write()
    d.hang(path)
    c = p.raw()
    with p.console() as k:
        k.send(harness.pq.query("reload"))
        assert c.value("select 1") == "1"
        r = k.recv_until()
        assert r.errors[0].code == "F0000"
        assert r.errors[0].fields["D"] == STILL % path
    assert STILL % path in p.log
    assert c.value("select 2") == "2"
    d.answer(path)
    p.settings["query_wait_timeout"] = 77
    p.write()
    assert try_reload(p) == ["RELOAD"]
    assert p.show("config", key="query_wait_timeout")[0]["value"] == "77"


def test_owner_of_what_was_persisted_is_given_up(disk):
    """config-files.md 13: whose the file is, is asked in the same way"""
    p, d = disk()
    p.admin("set persist query_timeout = 70")
    path = p.ini + ".persist.ini"
    hang = p.put(os.path.basename(path) + ".look.hang", "")
    c = p.raw()
    assert try_reload(p) == STILL % path
    assert c.value("select 1") == "1"
    os.unlink(hang)
    p.wait_log(BACK % path)
    assert try_reload(p) == ["RELOAD"]


def test_two_threads_are_lost_to_a_file_and_the_next_is_refused(disk):
    """config-files.md 13: another file counts all the same"""
    p, d = disk(auth_type="trust")
    before = p.settings["auth_file"]
    path = p.settings["auth_file"] = p.put("users", '"admin" ""\n')
    p.write()
    d.hang(path)
    for _ in range(2):
        assert try_reload(p) == STILL % path
    assert ("could not open auth_file %s: earlier reloads still read it"
            % path) in try_reload(p)
    p.settings["auth_file"] = before
    p.settings["query_wait_timeout"] = 77
    p.write()
    assert try_reload(p) == ["RELOAD"]
    assert p.show("config", key="query_wait_timeout")[0]["value"] == "77"
    p.settings["auth_file"] = path
    p.write()
    d.answer(path, 2)
    assert try_reload(p) == ["RELOAD"]


def test_no_more_than_three_threads_are_lost(disk):
    """config-files.md 13: refused at once then, and the loop goes on"""
    p, d = disk(auth_type="trust")
    users = p.settings["auth_file"] = p.put("users", '"admin" ""\n')
    p.write()
    d.hang(users)
    assert try_reload(p) == STILL % users
    assert try_reload(p) == STILL % users
    d.hang(p.ini)
    assert try_reload(p) == STILL % p.ini
    threads = os.listdir("/proc/%d/task" % p.proc.pid)
    for _ in range(20):
        assert STILL % "" in try_reload(p)
    assert os.listdir("/proc/%d/task" % p.proc.pid) == threads
    os.unlink(users + ".hang")
    d.answer(p.ini)
    wait_until(lambda: p.log.count(BACK % users) == 2)
    assert try_reload(p) == ["RELOAD"]


def test_set_persist_is_given_up(disk):
    """admin-console.md 4.11: it reads as a reload does"""
    p, d = disk(auth_type="trust")
    users = p.settings["auth_file"] = p.put("users", '"admin" ""\n')
    p.reload()
    p.put("users", '"admin" ""\n"other" ""\n')
    d.hang(users)
    with p.console() as k:
        err = k.try_query("set persist query_timeout = 77").errors[0]
        assert err.fields["D"] == STILL % users
        assert not os.path.exists(p.ini + ".persist.ini")
        d.answer(users)
        assert k.query("set persist query_timeout = 77").tags == [
            "SET query_timeout=77"]


def test_set_persist_waits_for_the_disk_alone(disk):
    """admin-console.md 4.11: a thread writes; RELOAD and all others go on"""
    p, d = disk()
    path = p.ini + ".persist.ini"
    fresh = path + ".new"
    d.hang(fresh)
    c, first, second = p.raw(), p.console(), p.console()
    first.send(harness.pq.query("set persist query_timeout = 77"))
    wait_until(lambda: os.path.exists(fresh + ".waits"))
    second.send(harness.pq.query("set persist query_timeout = 78"))
    assert c.value("select 1") == "1"
    assert try_reload(p) == ["RELOAD"]
    assert not first.readable() and not second.readable()
    assert not os.path.exists(path)
    # in force when it is written, and not before
    assert p.show("config", key="query_timeout")[0]["value"] == "0"
    os.unlink(fresh + ".hang")
    assert first.recv_until().tags == ["SET query_timeout=77"]
    assert second.recv_until().tags == ["SET query_timeout=78"]
    with open(path) as f:
        assert "query_timeout = 78" in f.read()


def test_process_ends_while_a_setting_is_written(disk):
    """config-files.md 19"""
    p, d = disk()
    fresh = p.ini + ".persist.ini.new"
    d.hang(fresh)
    k = p.console()
    k.send(harness.pq.query("set persist query_timeout = 77"))
    wait_until(lambda: os.path.exists(fresh + ".waits"))
    p.stop()


def test_process_ends_while_a_file_hangs(disk):
    """config-files.md 19"""
    p, d = disk()
    d.hang(p.ini)
    assert try_reload(p) == STILL % p.ini
    p.stop()
